"""`fabula trust`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.studies import acts_of_study
from fabula.app.writing import settings_as_last_time
from fabula.base.errors import ConfigError, UsageError
from fabula.base.files import read_text
from fabula.base.tomltext import parse
from fabula.cli.opening import place_named, terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.session import near
from fabula.measure.studies.study import STUDY, Study, is_study
from fabula.project.folder import ProjectFolder
from fabula.project.trust import Act, Trust, acts_in

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


_LARGEST: Final = 2_000_000
_NAME_ONE: Final = "Specify the folder of a project or study, or the file of an experiment."


@bundled
def trust(
    common: ProjectOptions,
    where: Annotated[
        str,
        typer.Argument(
            metavar="[PROJECT]",
            help="Folder of a project or study, or an experiment's file.",
            show_default="this folder",
        ),
    ] = "",
    *,
    list_: Annotated[bool, typer.Option("--list", help="List what is trusted.")] = False,
    forget: Annotated[bool, typer.Option("--forget", help="Withdraw the trust.")] = False,
) -> None:
    """Allow a project or study from someone else to run its programs and contact its servers."""
    terminal, known = terminal_of(common), Trust()
    if list_ and forget:
        raise UsageError("--list and --forget cannot be used together. Use only one.")
    if list_ and (where or common.folder):
        raise UsageError("--list lists all trusted files and does not accept a project. Leave one of them out.")
    if list_:
        trusted = known.all()
        for name, acts in trusted.items():
            terminal.say(f"{name} may\n" + _lines(acts))
        if not trusted:
            terminal.say("Only what you type is trusted.")
        _document(terminal, trusted)
        return
    file = _file(Path(place_named(common, where) or "."))
    if forget:
        gone = known.forget(file)
        terminal.say(f"{near(file)} is {'no longer' if gone else 'not'} trusted.")
        _document(terminal, {str(file): []})
        return
    acts = sorted(_acts(file))
    if acts:
        known.give(file, acts)
        terminal.say(f"From now on {near(file)} may\n" + _lines(acts))
        terminal.advise("fabula asks again when one of these changes; `fabula trust --forget` withdraws the trust.")
    else:
        terminal.say(
            f"{near(file)} does not run programs or connect to servers of its own, so it does not need your trust."
        )
    _document(terminal, {str(file): acts})


def _document(terminal: Terminal, trusted: Mapping[str, Sequence[Act]]) -> None:
    terminal.document({"trusted": {name: [str(act) for act in acts] for name, acts in trusted.items()}})


def _file(where: Path) -> Path:
    """The settings file to trust."""
    if is_study(where):
        return where / STUDY
    return where / "fabula.toml" if where.is_dir() or not where.suffix else where


def _acts(file: Path) -> frozenset[Act]:
    """What a settings file could do."""
    if file.name == STUDY and is_study(file.parent):
        return acts_of_study(Study.read(file.parent))
    return acts_in(_tables(file), file.parent) | _as_last_time(file.parent)


def _as_last_time(folder: Path) -> frozenset[Act]:
    """What the options of its last run let the project in a folder do, beyond its settings file."""
    if not (folder / "brief.md").is_file():
        return frozenset()
    return acts_in(settings_as_last_time(ProjectFolder.open(folder)).model_dump(), folder)


def _tables(file: Path) -> dict[str, object]:
    if not file.exists():
        if (file.parent / "brief.md").is_file():  # a project with no settings of its own
            return {}
        raise UsageError(f"There is nothing to trust: {near(file)} does not exist. {_NAME_ONE}")
    try:
        return parse(read_text(file, _LARGEST))
    except tomllib.TOMLDecodeError as error:
        advice = "Correct the line." if file.suffix == ".toml" else _NAME_ONE
        raise ConfigError(f"{near(file)} is not valid TOML: {error}. {advice}") from error


def _lines(acts: list[Act]) -> str:
    return "\n".join(f"  {act}" for act in acts)
