"""`fabula check`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.check_formats import Format, as_annotations, as_sarif
from fabula.app.checking import OUT, Checked, dismiss, project_alone, stored_check, stories_to_check
from fabula.base.errors import UsageError
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import STDIN, named_or_here, terminal_of
from fabula.cli.options import Judges, ProjectOptions, SpendingLimits, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.stories import Selecting, named_stories, say_licences
from fabula.cli.terminal import table
from fabula.data.story_files import LINES, said_of_encoding, text_and_encoding
from fabula.evaluators import find
from fabula.evaluators.atlas.dismissed import FILE
from fabula.evaluators.atlas.page import all_findings, dismissed_in, headline, place_of, shown_value
from fabula.project.folder import MAX_STORY, ProjectFolder
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.bills import Bill
    from fabula.cli.terminal import Terminal
    from fabula.measure.items import Item

_CHECKING: Final = "Checking"
_WIDE: Final = 140
_INDENT: Final = " " * 12


@dataclass(frozen=True, slots=True)
class Checks:
    """How stories are checked, and what is done about findings."""

    no_model: Annotated[
        bool,
        typer.Option("--no-model", hidden=True, help="Explains that a model is needed: no rule found errors reliably."),
    ] = False
    gold: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Known errors, as in `planted.json` of `inject`.",
            rich_help_panel=_CHECKING,
        ),
    ] = ""
    dismiss: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=REASON",
            help="A finding that is not an error, and why. Repeatable.",
            rich_help_panel=_CHECKING,
        ),
    ] = None
    format: Annotated[
        Format,
        typer.Option(
            metavar="text|sarif|github",
            help="Format of the output: text, SARIF, or GitHub annotations.",
            rich_help_panel=_CHECKING,
        ),
    ] = "text"
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Exit with 1 if findings remain, or if the check could not run.",
            rich_help_panel=_CHECKING,
        ),
    ] = False


@bundled
def check(
    common: ProjectOptions,
    judges: Judges,
    limits: SpendingLimits,
    selecting: Selecting,
    checks: Checks,
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORY]...",
            help="Text, DOCX, ODT, EPUB, RTF, Fountain, JSON; a project or folder; - reads stdin.",
            show_default="the project here",
        ),
    ] = None,
) -> None:
    """Find where a story contradicts itself: both passages, quoted."""
    terminal = terminal_of(common)
    if checks.no_model:
        raise UsageError(
            "A check needs a model that reads. The rules that looked without one found none of 101 errors in stories "
            "that nobody had tuned them to, and are gone. Leave --no-model out, and choose a model with --model."
        )
    if terminal.json and checks.format != "text":
        raise UsageError(f"--json prints one form and --format {checks.format} another. Leave one of them out.")
    if checks.dismiss:
        refuse("--dismiss takes the last check as it is, and asks nobody", judges, limits, selecting, but=("out",))
    stories = named_or_here(common, stories)
    command, judges = _command(stories, judges), _of_project(stories, judges)
    folder = Path(judges.out)
    if checks.dismiss:
        report = stored_check(folder)
        dismiss(folder, report, dict(_reason(value) for value in checks.dismiss))
        found = Checked.in_(folder, report, command)
    else:
        selection = selecting.selection(judges.seed)
        items = stories_to_check(named_stories(stories), selection)
        _say_encodings(terminal, stories)
        found = Checked.in_(folder, *_checked(terminal, items, judges, limits, checks, command))
    if checks.format != "text":
        files = [Path(story) for story in stories if story != STDIN]
        shown = as_annotations(found, files) if checks.format == "github" else _indented(as_sarif(found, files))
        if shown:
            terminal.say(shown.rstrip("\n"))
    else:
        _say(terminal, found)
    terminal.advise(f"Both passages of each: {near(found.page)}. One that is none: --dismiss ID=REASON.")
    terminal.document(found.to_dict())
    if not found.complete or (checks.strict and found.findings):
        raise typer.Exit(1)


def _indented(data: Mapping[str, Any]) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def _of_project(stories: Sequence[str], judges: Judges) -> Judges:
    """The options for a single project: its report stands in its own folder, and its model reads it.

    What was said on the command line goes before both. A model whose address the project names has to be named here.
    """
    alone = project_alone([Path(story) for story in stories])
    if alone is None:
        return judges
    project = ProjectFolder.open(alone)
    settings, said = project.settings, judges.model or []
    named = settings.model in settings.models or any("=" not in model for model in said)
    out = str(project.folder / OUT) if judges.out == OUT else judges.out
    return replace(judges, out=out, model=said if named else [settings.model, *said])


def _say_encodings(terminal: Terminal, stories: Sequence[str]) -> None:
    """Say of each file in which older encoding it was read, where that was guessed."""
    for file in (one for one in map(Path, stories) if one.suffix.casefold() in LINES and one.is_file()):
        if said := said_of_encoding(str(file), text_and_encoding(file, MAX_STORY)[1]):
            terminal.message(said)


def _checked(
    terminal: Terminal,
    items: Sequence[Item],
    judges: Judges,
    limits: SpendingLimits,
    checks: Checks,
    command: Sequence[str],
) -> tuple[dict[str, Any], Sequence[str], Bill]:
    """The report of a new check, as data, with the command that makes it again and its bill."""
    say_licences(terminal, items)
    said = [*(judges.set_ or ()), *([f"gold={checks.gold}"] if checks.gold else [])]
    evaluator = find("atlas")
    evaluating = Evaluating(terminal, evaluator, replace(judges, set_=said), limits)
    report = evaluating.run(items)
    if checks.format == "text":
        evaluating.show_bill()
    return report.as_data(), command, evaluating.bill


def _reason(value: str) -> tuple[str, str]:
    """The key and the reason that `--dismiss` gives."""
    key, equals, reason = (part.strip() for part in value.partition("="))
    if not equals or not key or not count_words(reason):
        raise UsageError(f"--dismiss {value!r} is not of the form ID=REASON. Say why it is no error.")
    return key, reason


def _command(stories: Sequence[str], judges: Judges) -> list[str]:
    out = ["--out", judges.out] if judges.out != OUT else []
    return ["fabula", "check", *stories, *out]


def _say(terminal: Terminal, found: Checked) -> None:
    """Print what is left, what was dismissed, and the numbers."""
    report = found.report
    for story in found.stories:
        open_ = found.left_in(story)
        gone = len(all_findings(story)) - len(open_)
        shown = f", {gone} dismissed (see {FILE})" if gone else ""
        part = ", partial (see below)" if story.get("partial") else ""
        terminal.say(f"{story['id']}: {counted(len(open_), 'finding')}{shown}{part}")
        for one in open_:
            for line in _told(one):
                terminal.say(line)
        if undecided := story.get("undecided"):
            terminal.say(f"\nWithout a verdict: {counted(len(undecided), 'suspicion')}")
            for line in (line for one in undecided for line in _told(one)):
                terminal.say(line)
        terminal.say("")
    numbers = dismissed_in(report, found.dismissed)
    rows = [("of", "measure", "value"), *((r["of"], _what(r), _value(r, numbers)) for r in report["rows"])]
    terminal.say(table(rows))
    for note in report["notes"]:
        terminal.say(f"\n{note}")


def _told(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A finding in a few lines: by paragraphs and with the reason, where these are known."""
    if "key" not in one:
        return (f"\n  {one['hallucination']}",)
    if not one.get("paragraph_x"):
        head, why = one["hallucination"], tuple[str, ...]()
    else:
        head = f"{headline(one)} ({one['category']}, {one['sure']})"
        why = (f"{_INDENT}{one['reason']}",) if one["reason"] else ()
    quoted = (f"{_INDENT}{place_of(one, end)}: {_quoted(one[f'quote_{end}'])}" for end in "xy")
    return f"\n  {one['key']}  {head}", *quoted, *why


def _quoted(words: str) -> str:
    return f'"{words if len(words) <= _WIDE else words[: _WIDE - 5] + " ..."}"'


def _what(row: Mapping[str, Any]) -> str:
    return f"{row['what']} (baseline)" if row.get("baseline") else str(row["what"])


def _value(row: Mapping[str, Any], gone: Mapping[str, int]) -> str:
    if row.get("unscored"):
        return f"not scored: {row['unscored']}"
    interval = "" if row.get("low") is None else f" [{row['low']:z.2f}, {row['high']:z.2f}]"
    return f"{shown_value(row, gone)}{interval} (n {row['n']})"
