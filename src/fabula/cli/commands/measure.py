"""`fabula eval measure`."""

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
from fabula.cli.options import Common, bundled
from fabula.cli.stories import Selecting, named_stories, say_licences, stories_of
from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.craft.measuring import MEAN, by_system
from fabula.stats.estimate import Estimate, figures
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.measure.report import Report, Row


_SHOWN: Final = 40  # stories in the table
_WIDE: Final = 30  # of a story's id there
_WHOLE: Final = 1000  # from here on figures behind the point say nothing
_PARTS: Final = ("/precision", "/recall")  # in JSON and CSV alone
_SHORT: Final = {
    "paragraphs": "para",
    "sentences": "sent",
    "article starts": "article %",
    "pronoun starts": "pron %",
    "unique words": "unique %",
    "intra-story repetition": "intra %",
    "inter-story repetition": "inter-story repetition %",
    "prompt overlap": "overlap",
    "dialogue": "dialogue %",
    "sentence length": "length",
    "sentence spread": "spread",
}
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
        typer.Option(metavar="PATH", help="A reference for all stories; or a folder or .jsonl with one a prompt."),
    ] = ""
    brief: Annotated[str, typer.Option(metavar="FILE", help="The brief that all the stories answer.")] = ""
    bertscore: Annotated[bool, typer.Option("--bertscore", help="BERTScore too; needs the extra `bertscore`.")] = False
    csv: Annotated[str, typer.Option("--csv", metavar="FILE|-", help="Every number as a line of CSV.")] = ""
    seed: Annotated[int, typer.Option(help="Of the draw of --limit.")] = 0
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
def measure(common: Common, asked: Measures, selecting: Selecting, stories: Stories = None) -> None:
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
    terminal: Terminal, common: Common, asked: Measures, stories: Sequence[str], selection: Selection
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
    rows = [row for report in reports for row in report.rows if not row.what.endswith(_PARTS)]
    terminal.say(_stories_table(items, rows))
    if len(items) > 1:
        terminal.say("\n" + _systems_table(items, rows))
        if apart := differences_table(rows):
            terminal.say("\n" + apart)
    for report in reports:
        settings = ", ".join(f"{name} {_value(value)}" for name, value in report.how.items())
        terminal.say(terminal.wrapped(f"\n{report.evaluator}: {settings}"))
        for note in report.notes:
            terminal.say(terminal.wrapped(f"  {note}"))
    terminal.advise("--json and --csv FILE give every number with its n, interval and method.")


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _stories_table(items: Sequence[Item], rows: Sequence[Row]) -> str:
    shown = [item.id for item in items[:_SHOWN]]
    cells: dict[str, dict[str, str]] = {name: {} for name in shown}
    for row in rows:
        if row.of in cells and not _of_a_system(row):
            cells[row.of][row.what] = _number(row)
    heads = list(cells[shown[0]])
    lines = [("story", *(_SHORT.get(head, head) for head in heads))]
    lines += [(_short(name), *(cells[name][head] for head in heads)) for name in shown]
    more = len(items) - len(shown)
    return table(lines, right=range(1, len(heads) + 1)) + (f"\n... and {more} more stories" if more else "")


def _of_a_system(row: Row) -> bool:
    return row.what.startswith(MEAN) or row.what == "inter-story repetition"


def _systems_table(items: Sequence[Item], rows: Sequence[Row]) -> str:
    """The means, those of one measure under each other."""
    systems = list(by_system(items))
    found = [row for row in rows if _of_a_system(row)]
    whats = list(dict.fromkeys(row.what for row in found))
    lines: list[tuple[str, ...]] = [("mean of stories", "system", "value", "95 % interval", "n")]
    for what in whats:
        lines += list(_system_lines(what, [row for row in found if row.what == what], systems))
    return table(lines, right=(2, 4))


def _system_lines(what: str, rows: Sequence[Row], systems: Sequence[str]) -> Iterator[tuple[str, ...]]:
    name = what.removeprefix(MEAN)
    for row in sorted(rows, key=lambda row: systems.index(row.of)):
        yield (_SHORT.get(name, name), row.of, _number(row), _interval(row), str(row.scored.n))
        name = ""


def _number(row: Row) -> str:
    return _figures(row.scored.value) if isinstance(row.scored, Estimate) else "-"


def _figures(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= _WHOLE else figures(value)


def _interval(row: Row) -> str:
    scored = row.scored
    if not isinstance(scored, Estimate):
        return scored.reason
    return "none" if scored.low is None or scored.high is None else f"{_figures(scored.low)} to {_figures(scored.high)}"


def _short(name: str) -> str:
    return name if len(name) <= _WIDE else "…" + name[1 - _WIDE :]
