"""Values that a shell can complete: systems, presets, models, formats, roles, settings, artefacts.

A shell asks at every press of a key, so nothing here asks a server, writes or fails: what cannot be known is not
offered.
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
"""What a shell takes as it stands. It would run the rest: a folder of somebody else's may be called `$(...)`."""
_BREAKS: Final = re.compile(r"[=:]+")  # at which bash takes words apart


def _quiet(offered: Callable[[Any, str], Iterable[str | tuple[str, str]]]) -> Callable[[typer.Context, str], Found]:
    """The values that begin with what is typed; those that cannot be had are left out."""

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
    """The beginning of a text: a shell shows one line of it."""
    return str(text).partition(". ")[0][:_LINE]


@_quiet
def systems(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Writing systems, with what they are."""
    from fabula.systems import systems as known  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    for name, system in known().items():
        yield name, _brief(system.paper.get("summary", ""))


@_quiet
def evaluators(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Evaluators, with what they measure."""
    from fabula.evaluators import evaluators as known  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    for name, evaluator in known().items():
        yield name, _brief(evaluator.paper.get("summary", ""))


@_quiet
def presets(ctx: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """The presets of every method."""
    del ctx, incomplete
    yield from (("faithful", "the paper as it is"), ("improved", "with our checks"))


@_quiet
def formats(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """The formats that stories are written in."""
    from fabula.story.export import formats  # noqa: PLC0415 - only where a shell asks

    del ctx, incomplete
    yield from formats()


@_quiet
def models(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Models that are here, and the kinds there are; of one role behind `ROLE=`."""
    from fabula.project.casting import names  # noqa: PLC0415 - only where a shell asks

    role, equals, _ = incomplete.rpartition("=")
    for name in names():
        yield f"{role}{equals}{name}"
    if not equals:
        yield from (f"{one}=" for one in _method(ctx).roles)


@_quiet
def players(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Roles, each played by the person at the terminal."""
    del incomplete
    yield from (f"{role}=me" for role in _method(ctx).roles)


@_quiet
def settings(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Names of the method's settings."""
    from fabula.engine.methods import settings_of  # noqa: PLC0415 - only where a shell asks

    del incomplete
    yield from (f"{one.name}=" for one in settings_of(_method(ctx).config("improved")))


@_quiet
def sampling(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Names of sampling values; of one role behind `ROLE.`."""
    from fabula.models.base import Sampling  # noqa: PLC0415 - only where a shell asks

    del ctx
    role, dot, _ = incomplete.rpartition(".")
    yield from (f"{role}{dot}{one.name}=" for one in fields(Sampling))


@_quiet
def artefacts(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """The artefacts of the project that is meant, and where none is, the projects here."""
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
    """Whose roles and settings are meant: the system that is named, the project's, else the default; an evaluator's."""
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
    """A system's name, where it is one: the code in a folder is run by commands, and not by the key that completes.

    Raises:
        UsageError: it is a path.
    """
    if is_path(name):
        raise UsageError(f"{name} is a folder, whose settings are not completed.")
    return name


@contextmanager
def whole_words() -> Iterator[None]:
    """While this is open, bash is answered as if it had not taken `ROLE=MODEL` and `ollama:NAME` apart."""
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
