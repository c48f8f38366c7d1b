"""`fabula measure`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.evaluating import Task, evaluate_in
from fabula.app.item_files import read_all, sources_of
from fabula.app.writing import Options
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.opening import named_or_here, terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.stories import Selecting, say_licences, stories_of
from fabula.cli.terminal import table
from fabula.cli.verdict_tables import differences_table
from fabula.craft.measuring import MEAN, by_system
from fabula.engine.methods import settings_of
from fabula.evaluators import find
from fabula.measure.report import Report, Row, csv_of
from fabula.project.settings import Settings
from fabula.stats.estimate import Estimate, Unscored, figures
from fabula.story import Brief

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.app.item_files import Selection
    from fabula.cli.terminal import Terminal
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item


_NAMES: Final = ("surface", "rouge", "bertscore")
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
        help="Story files (.md, .txt), .jsonl or .csv files, projects, folders of these, data sets.",
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
    chosen = ["surface"]
    if any(item.reference for item in items):
        chosen.append("rouge")
    if asked.bertscore:
        if "rouge" not in chosen:
            raise UsageError("BERTScore compares with a reference. Give one with --reference PATH.")
        chosen.append("bertscore")
    configs = _configs(asked, chosen)
    reports = [_report(name, items, config, terminal) for name, config in configs.items()]
    if asked.csv:
        _write_csv(asked.csv, reports, empty, terminal)
    if asked.csv != "-":
        _show(terminal, items, reports)
    for problem in empty[:_SHOWN]:
        terminal.message(f"Left out: {problem}")
    if empty:
        terminal.message(f"{len(empty)} of {len(empty) + len(items)} stories have no text and are left out.")
    found = {report.evaluator: report.as_data() for report in reports}
    terminal.document(
        {
            "stories": len(items),
            "data": [asdict(source) for source in sources_of(items)],
            "left_out": list(empty),
            "reports": found,
        }
    )


# what is measured ---------------------------------------------------------------------------------------------------


def _items(
    terminal: Terminal, common: Common, asked: Measures, stories: Sequence[str], selection: Selection
) -> tuple[tuple[Item, ...], tuple[str, ...]]:
    """What is measured, and why some stories cannot be."""
    if not (stories or common.folder or Path("brief.md").is_file()):
        raise UsageError(
            "Name a story to measure: a .md, .txt, .jsonl or .csv file, a project, a data set, or a folder."
        )
    items, empty = read_all([Path(story) for story in named_or_here(common, stories)], selection)
    if asked.brief:
        prompts = {item.prompt for item in items}
        if len(prompts) > 1:
            raise UsageError(
                f"--brief {asked.brief} is one brief, but the stories answer {len(prompts)} prompts. Give their "
                "briefs in the field `brief` of a .jsonl file."
            )
        brief = Brief.read(Path(asked.brief))
        items = tuple(replace(item, brief=brief) for item in items)
    return (_with_references(terminal, items, asked.reference) if asked.reference else items), empty


def _with_references(terminal: Terminal, items: Sequence[Item], path: str) -> tuple[Item, ...]:
    """The items with the reference story in `path`, or with the one there of their prompt."""
    references = stories_of(terminal, [path])
    if len(references) == 1:
        return tuple(replace(item, reference=references[0].story) for item in items)
    known = {item.prompt or item.id: item.story for item in references}
    if len(known) < len(references):
        raise UsageError(f"{path} holds two references for one prompt. Leave one of them.")
    found = tuple(replace(item, reference=known.get(item.prompt or item.id, item.reference)) for item in items)
    if not any(item.reference for item in found):
        raise UsageError(
            f"None of the {len(known)} references in {path} is for a prompt of the stories. Name the files after the "
            f"prompts: {', '.join(sorted({item.prompt or item.id for item in items})[:3])} ..."
        )
    return found


def _configs(asked: Measures, chosen: Sequence[str]) -> dict[str, Any]:
    """The `Config` of every evaluator that runs; a setting without a name before it is for all that have it."""
    preset: Preset = "faithful" if asked.preset == "faithful" else "improved"
    if asked.preset != preset:
        raise UnknownNameError("preset", asked.preset, ("faithful", "improved"))
    known = {name: {setting.name for setting in settings_of(find(name).config(preset))} for name in _NAMES}
    said: dict[str, dict[str, str]] = {name: {} for name in _NAMES}
    for value in asked.set_ or ():
        name, equals, text = (part.strip() for part in value.partition("="))
        if not (name and equals and text):
            raise UsageError(f"--set {value!r} is not of the form FIELD=VALUE.")
        for owner, setting in _owners(name.replace("-", "_"), known, chosen):
            said[owner][setting] = text
    return {name: find(name).config(preset, said[name]) for name in chosen}


def _owners(name: str, known: Mapping[str, set[str]], chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Which evaluators a setting is for."""
    owner, dot, setting = name.rpartition(".")
    if dot and owner not in known:
        raise UnknownNameError("evaluator of `fabula measure`", owner, known)
    owners = [owner] if dot else [evaluator for evaluator, settings in known.items() if setting in settings]
    if not owners or setting not in known[owners[0]]:
        options = known[owner] if dot else set[str]().union(*known.values())
        raise UnknownNameError(
            f"setting of {owner}" if dot else "setting of `fabula measure`", setting, sorted(options)
        )
    running = [evaluator for evaluator in owners if evaluator in chosen]
    if not running:
        raise UsageError(
            f"--set {name} is for {' and '.join(owners)}, which is not run here. Give --reference PATH"
            + (" and --bertscore." if "bertscore" in owners else ".")
        )
    return [(evaluator, setting) for evaluator in running]


def _report(name: str, items: Sequence[Item], config: Any, terminal: Terminal) -> Report:  # noqa: ANN401 - each evaluator has its own
    task = Task(find(name), items, config)
    return asyncio.run(evaluate_in(task, Settings(), Options(environ=terminal.environ))).report


# where the numbers go -----------------------------------------------------------------------------------------------


def _write_csv(where: str, reports: Sequence[Report], empty: Sequence[str], terminal: Terminal) -> None:
    """Every number a line, and every story that has none."""
    left_out = tuple(Row("", "story", Unscored(problem)) for problem in empty)
    text = csv_of([*reports, *([Report("", rows=left_out)] if left_out else [])])
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
