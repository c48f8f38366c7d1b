"""`fabula measure`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.item_files import read_all
from fabula.app.measuring import chosen_measures, measure_configs, measured_in, with_brief, with_references
from fabula.app.sources import items_of
from fabula.app.writing import Options
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.opening import named_or_here, terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.reports import say_report
from fabula.cli.stories import Selecting, named_stories, say_licences, stories_of
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.measure.report import Report


_SHOWN: Final = 40  # stories without a text that are named
Stories = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[STORY]...",
        help="Story files (.md, .txt), .jsonl or .csv files, projects, folders of these, data sets; - reads stdin.",
        show_default="the project here",
    ),
]


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured against what, and where the numbers go."""

    reference: Annotated[
        str,
        typer.Option(
            metavar="PATH", help="A reference for all stories; or a folder or .jsonl with one for each prompt."
        ),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief that all the stories answer.")] = ""
    bertscore: Annotated[bool, typer.Option("--bertscore", help="BERTScore too; needs the extra `bertscore`.")] = False
    csv: Annotated[str, typer.Option("--csv", metavar="FILE|-", help="Every number as a line of CSV.")] = ""
    seed: Annotated[int, typer.Option(help="Seed of the draw of --limit.")] = 0
    preset: Annotated[
        str,
        typer.Option(
            autocompletion=completing.presets, metavar="faithful|improved", help="The papers' measures, or ours too."
        ),
    ] = "improved"
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting, as tokens=words or rouge.stemmer=true."),
    ] = None


@bundled
def measure(common: ProjectOptions, asked: Measures, selecting: Selecting, stories: Stories = None) -> None:
    """Count what can be counted in stories: words, openings, repetition, overlap, dialogue; ROUGE, BERTScore.

    No model is asked for any of these but BERTScore, and nothing is kept. No number here says how good a story is.
    """
    terminal = terminal_of(common)
    if asked.seed and selecting.limit is None:
        raise UsageError("--seed is that of the draw of --limit, and no --limit is given. Leave it out.")
    if asked.csv == "-" and common.json:
        raise UsageError("--csv - and --json both print on stdout. Give one of them, or --csv FILE.")
    items, empty = _items(terminal, common, asked, stories or (), selecting.selection(asked.seed))
    say_licences(terminal, items)
    configs = measure_configs(_preset(asked), dict(_settings(asked)), chosen_measures(items, bertscore=asked.bertscore))
    found = asyncio.run(measured_in(items, configs, Options(environ=terminal.environ), empty))
    if asked.csv:
        _write_csv(asked.csv, found.csv, terminal)
    if asked.csv != "-":
        _show(terminal, found.items, found.reports)
    for problem in empty[:_SHOWN]:
        terminal.message(f"Left out: {problem}")
    if empty:
        terminal.message(f"{len(empty)} of {len(empty) + len(items)} stories have no text and are left out.")
    terminal.document(found.to_dict())


# what is measured ---------------------------------------------------------------------------------------------------


def _items(
    terminal: Terminal, common: ProjectOptions, asked: Measures, stories: Sequence[str], selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """What is measured, and why some stories cannot be."""
    if not (stories or common.folder or Path("brief.md").is_file()):
        raise UsageError(
            "Name a story to measure: a .md, .txt, .jsonl or .csv file, a project, a data set, or a folder."
        )
    sources = named_stories(named_or_here(common, stories))
    files = [source for source in sources if isinstance(source, Path)]
    items, empty = read_all(files, selection) if len(files) == len(sources) else (items_of(sources, selection), ())
    if asked.brief:
        items = with_brief(items, Brief.read(Path(asked.brief)), f"--brief {asked.brief}")
    if asked.reference:
        items = with_references(items, stories_of(terminal, [asked.reference]), asked.reference)
    return items, empty


def _preset(asked: Measures) -> Preset:
    preset: Preset = "faithful" if asked.preset == "faithful" else "improved"
    if asked.preset != preset:
        raise UnknownNameError("preset", asked.preset, ("faithful", "improved"))
    return preset


def _settings(asked: Measures) -> Iterator[tuple[str, str]]:
    """The settings that `--set` gives."""
    for value in asked.set_ or ():
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals and text):
            raise UsageError(f"--set {value!r} is not of the form FIELD=VALUE.")
        yield name, text


# where the numbers go -----------------------------------------------------------------------------------------------


def _write_csv(where: str, text: str, terminal: Terminal) -> None:
    if where == "-":
        terminal.say(text.rstrip("\n"))
        return
    write_atomically(Path(where), text)
    terminal.advise(f"Every number is in {where}.")


def _show(terminal: Terminal, items: Sequence[Item], reports: Sequence[Report]) -> None:
    for report in reports:
        say_report(terminal, report, items)
        settings = ", ".join(f"{name} {_value(value)}" for name, value in report.how.items())
        terminal.say(terminal.wrapped(f"\n{report.evaluator}: {settings}\n"))
    terminal.advise("--json and --csv FILE give every number with its n, interval and method.")


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
