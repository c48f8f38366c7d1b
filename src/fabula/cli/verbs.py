"""Turn a verb into a command: its arguments become options, and its result becomes the document.

A hand-written function of the terminal, the project and the result prints the text for people::

    @command("rename")
    def rename(terminal: Terminal, project: Project, done: Saved) -> None:
        terminal.say(f"{done.file} has its new title.")
"""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from pydantic.fields import FieldInfo

from fabula.base.errors import UsageError
from fabula.cli.bill import say_estimate
from fabula.cli.opening import project_and_artefact, project_and_name, project_of, terminal_of
from fabula.cli.options import Artefact, ProjectOptions, Where, bundled, maybe_artefact
from fabula.cli.progress import Waiting
from fabula.verbs.base import PAGE_ONLY, every
from fabula.verbs.home import Project
from fabula.verbs.projects import ProjectLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.cli.terminal import Terminal
    from fabula.project import folder
    from fabula.verbs.base import Verb

ARTEFACT = "artefact"


def opened(terminal: Terminal, project: folder.ProjectFolder) -> Project:
    """Return a named project; the terminal shows what verbs report about its files."""
    door = Project(project.folder, terminal.environ)
    door.told, door.listeners = terminal.message, (Waiting(terminal),)
    return door


def line_of(terminal: Terminal, project: folder.ProjectFolder) -> ProjectLine:
    """Return a new project in the form that the verbs for creating projects return."""
    door = opened(terminal, project)
    return ProjectLine.at(door, door.name)


def command(name: str, nothing: str = "") -> Callable[[Callable[[Terminal, Project, Any], None]], Callable[..., None]]:
    """Make a command from a verb and a function that prints its result; `nothing` describes the default artefact."""
    verb = every()[name]
    taken = [one for one in verb.signature.parameters.values() if one.name != ARTEFACT]

    def made(shown: Callable[[Terminal, Project, Any], None]) -> Callable[..., None]:
        def run(common: ProjectOptions, *, where: Any = None, **given: Any) -> None:  # noqa: ANN401 - as the verb has them
            terminal = terminal_of(common)
            if ARTEFACT not in verb.signature.parameters:
                if where and given.get("name") == "":
                    _check_place(verb, where, common.folder)
                found = project_of(common, where or "")
            else:
                needed = verb.signature.parameters[ARTEFACT].default is inspect.Parameter.empty
                found, given[ARTEFACT] = (project_and_artefact if needed else project_and_name)(common, where)
            project = opened(terminal, found)
            if verb.long and given.pop(_DRY_RUN.name):
                say_estimate(terminal, project.estimated(verb, verb.bound((), given)))
                return
            result = project.do(verb, verb.bound((), given))
            shown(terminal, project, result)
            terminal.document(result)

        parameters = [_COMMON, _where(verb, nothing), *map(_option, taken), *([_DRY_RUN] if verb.long else [])]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # what typer reads
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__name__, run.__doc__ = name, f"{verb.summary}."
        return bundled(run)

    return made


def _check_place(verb: Verb, where: str, folder: str) -> None:
    """Check that a project stands where the name of an entry may have been written instead.

    Raises:
        UsageError: it does not exist; the message says what to type.
    """
    if not Path(where).exists():
        line = ["fabula", *verb.command.split(), "--name", where, *(["-C", folder] if folder else [])]
        raise UsageError(
            f"There is no project folder {where}. If it is the name of an entry, write `{shlex.join(line)}`."
        )


_COMMON = inspect.Parameter("common", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ProjectOptions)

_DRY_RUN = inspect.Parameter(
    "dry_run",
    inspect.Parameter.KEYWORD_ONLY,
    annotation=Annotated[bool, typer.Option("--dry-run", help="Estimate the calls and their cost.")],
    default=False,
)


def _where(verb: Verb, nothing: str) -> inspect.Parameter:
    """The argument that names the project, and the artefact if the verb takes one."""
    kind = inspect.Parameter.KEYWORD_ONLY
    artefact = verb.signature.parameters.get(ARTEFACT)
    if artefact is None:
        return inspect.Parameter("where", kind, annotation=Where, default="")
    if artefact.default is inspect.Parameter.empty:
        return inspect.Parameter("where", kind, annotation=Artefact)
    maybe = Annotated[list[str] | None, maybe_artefact(nothing)]
    return inspect.Parameter("where", kind, annotation=maybe, default=None)


def _option(one: inspect.Parameter) -> inspect.Parameter:
    """An argument of a verb as an option, with the verb's own bounds and help."""
    kind, *about = get_args(one.annotation) if get_origin(one.annotation) is Annotated else (one.annotation,)
    info = next((found for found in about if isinstance(found, FieldInfo)), None)
    said = info.description if info and info.description else ""
    bounds: dict[str, Any] = {}
    for found in info.metadata if info else ():
        bounds |= {end: getattr(found, has) for end, has in (("min", "ge"), ("max", "le")) if hasattr(found, has)}
    names = [f"--{one.name.replace('_', '-')}"]
    is_text = not {kind, *get_args(kind)}.isdisjoint((str, list[str]))
    hidden = PAGE_ONLY in about
    option = typer.Option(*names, help=said, metavar="TEXT" if is_text else None, hidden=hidden, **bounds)
    return one.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option])
