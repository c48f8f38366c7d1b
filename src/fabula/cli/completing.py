"""Values for shell completion: systems, presets, models, formats, roles, settings and artefacts.

A shell calls this at every key press, so it never contacts a server, writes or fails, and it omits unknown values.
"""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from fabula.base.errors import FabulaError, UsageError
from fabula.engine.folders import is_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Found: TypeAlias = list[str | tuple[str, str]]

VARIABLE: Final = "_FABULA_COMPLETE"
_LINE: Final = 60
_PLAIN: Final = re.compile(r"[\w@%+=:,./-]+")
"""Characters that a shell reads literally. Others could run a program: a stranger's folder may be called `$(...)`."""
_BREAKS: Final = re.compile(r"[=:]+")  # at which bash takes words apart


def _quiet(offered: Callable[[Any, str], Iterable[str | tuple[str, str]]]) -> Callable[[typer.Context, str], Found]:
    """The values that begin with the typed text; failures are silent."""

    def complete(ctx: typer.Context, incomplete: str) -> Found:
        found: Found = []
        with suppress(FabulaError, OSError, ValueError):
            for one in offered(ctx, incomplete):
                name = one if isinstance(one, str) else one[0]
                if name.startswith(incomplete) and _PLAIN.fullmatch(name):
                    found.append(one)  # what came before an error stays
        return found

    complete.__doc__ = offered.__doc__  # not `wraps`: typer reads the parameters of what is wrapped
    complete.__annotations__ = {"ctx": typer.Context, "incomplete": str, "return": list}
    return complete


def _brief(text: object) -> str:
    """The beginning of a text, since a shell shows one line of it."""
    return str(text).partition(". ")[0][:_LINE]


@_quiet
def systems(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Writing systems, with descriptions."""
    from fabula.systems import systems as known  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    for name, system in known().items():
        yield name, _brief(system.paper.get("summary", ""))


@_quiet
def evaluators(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Evaluators, with descriptions."""
    from fabula.evaluators import evaluators as known  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    for name, evaluator in known().items():
        yield name, _brief(evaluator.paper.get("summary", ""))


@_quiet
def presets(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Return the presets of all methods."""
    del ctx, incomplete
    yield from (("faithful", "the paper as it is"), ("improved", "with our checks"))


@_quiet
def formats(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return the output formats for stories."""
    from fabula.story.export import formats  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    yield from formats()


@_quiet
def models(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return the models on this machine and the kinds of models; after `ROLE=`, for one role."""
    from fabula.project.casting import names  # noqa: PLC0415 - only where a shell asks

    role, equals, _ = incomplete.rpartition("=")
    for name in names():
        yield f"{role}{equals}{name}"
    if not equals:
        yield from (f"{one}=" for one in _method(ctx).roles)


@_quiet
def players(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return `ROLE=me` for each role."""
    del incomplete
    yield from (f"{role}=me" for role in _method(ctx).roles)


@_quiet
def settings(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return the names of the method's settings."""
    from fabula.engine.methods import settings_of  # noqa: PLC0415 - only where a shell asks

    del incomplete
    yield from (f"{one.name}=" for one in settings_of(_method(ctx).config("improved")))


@_quiet
def sampling(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return the names of sampling values; after `ROLE.`, for one role."""
    from fabula.models.base import Sampling  # noqa: PLC0415 - only where a shell asks

    del ctx
    role, dot, _ = incomplete.rpartition(".")
    yield from (f"{role}{dot}{one.name}=" for one in fields(Sampling))


@_quiet
def artefacts(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Return the artefacts of the project, or the local projects if no project is open."""
    from fabula.app.deciding import authored  # noqa: PLC0415 - only where a shell asks
    from fabula.project.folder import ProjectFolder  # noqa: PLC0415 - only where a shell asks

    del incomplete
    named = [one for one in ctx.params.get("artefact") or () if (Path(one) / "brief.md").is_file()]
    folder = Path(ctx.params.get("folder") or (named[0] if named else "."))
    if not named:
        yield from sorted(brief.parent.name for brief in Path().glob("*/brief.md"))
    with ProjectFolder.open(folder).journal as journal:
        yield from authored(journal)


def _method(ctx: typer.Context) -> Any:  # noqa: ANN401 - a system or an evaluator
    """The method whose roles and settings are completed: the named one, the project's, or the default."""
    from fabula import evaluators as measuring  # noqa: PLC0415 - only where a shell asks
    from fabula.project.folder import ProjectFolder  # noqa: PLC0415 - only where a shell asks
    from fabula.project.settings import Settings  # noqa: PLC0415 - only where a shell asks
    from fabula.systems import find, system_of  # noqa: PLC0415 - only where a shell asks

    name = {"evaluate": str(ctx.params.get("name")), "check": "atlas"}.get(str(ctx.info_name), "")
    if name in measuring.evaluators():
        return measuring.find(name)
    said = ctx.params.get("system")
    if said:
        return find(_no_path(said[0] if isinstance(said, list | tuple) else said))
    folder = Path(ctx.params.get("folder") or ctx.params.get("where") or ".")
    with suppress(FabulaError):
        return system_of(ProjectFolder.open(folder).settings)
    return find(Settings().system)


def _no_path(name: str) -> str:
    """A system's name if it is not a path: commands run the code in a folder, but the completion key must not.

    Raises:
        UsageError: it is a path.
    """
    if is_path(name):
        raise UsageError(f"{name} is a folder, so its settings cannot be completed.")
    return name


@contextmanager
def whole_words() -> Iterator[None]:
    """Answer bash within this context as if it had not split `ROLE=MODEL` and `ollama:NAME`."""
    if os.environ.get(VARIABLE) != "complete_bash":
        yield
        return
    words, at = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD", "0"))
    joined: list[str] = []
    for word in words[: at + 1]:
        if joined and len(joined) > 1 and (_BREAKS.fullmatch(word) or joined[-1][-1:] in ("=", ":")):
            joined[-1] += word
        else:
            joined.append(word)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)
    cut = max(joined[-1].rfind("="), joined[-1].rfind(":")) + 1 if joined else 0
    heard = io.StringIO()
    try:
        with redirect_stdout(heard):
            yield
    finally:
        lines = heard.getvalue().splitlines(keepends=True)
        sys.stdout.write("".join(line[cut:] if line.startswith(joined[-1][:cut]) else line for line in lines))
        sys.stdout.flush()
