"""`fabula check`."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.check_formats import Format, as_annotations, as_sarif
from fabula.app.checking import (
    OUT,
    Checked,
    dismiss,
    project_alone,
    stored_check,
    stories_to_check,
    take_dismissal_back,
)
from fabula.app.corpora.numbers import STORIES as FOUND
from fabula.app.corpora.numbers import Found, write_numbers
from fabula.app.corpora.stories import Corpus
from fabula.app.corpora.working import CorpusTask, work_through
from fabula.app.evaluating import EvaluationTask, dry_run_evaluation
from fabula.app.findings import findings_of
from fabula.app.workers.spread import Spread
from fabula.app.writing import settings_as_last_time
from fabula.base.errors import UsageError
from fabula.cli.evaluation import Evaluating
from fabula.cli.opening import STDIN, named_or_here, terminal_of
from fabula.cli.options import Judges, ProjectOptions, SpendingLimits, bundled, refuse
from fabula.cli.progress import counted
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.spreading import Spreading, say_part
from fabula.cli.stories import Selecting, named_stories, say_licences
from fabula.cli.terminal import table
from fabula.data.story_files import LINES, reading_of
from fabula.evaluators import find
from fabula.evaluators.atlas.dismissed import FILE
from fabula.evaluators.atlas.page import all_findings, dismissed_in, headline, place_of, shown_value
from fabula.project.folder import MAX_STORY, ProjectFolder, was_project
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
    """How to check stories, and what to do with findings."""

    no_model: Annotated[
        bool,
        typer.Option(
            "--no-model", hidden=True, help="Explain why a check needs a model (no rule found errors reliably)."
        ),
    ] = False
    gold: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="File of known errors, as a list or as a story with planted errors.",
            rich_help_panel=_CHECKING,
        ),
    ] = ""
    dismiss: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID=REASON",
            help="Dismiss a finding that is not an error, and record the reason. Repeatable.",
            rich_help_panel=_CHECKING,
        ),
    ] = None
    count_again: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Count a dismissed finding again. Repeatable.",
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
            help="Exit with code 1 if findings remain or the check could not run.",
            rich_help_panel=_CHECKING,
        ),
    ] = False


_SMALL: Final = (
    "This is a small model, and one of 1.5 billion parameters found none of 12 errors. To stop, press Ctrl-C; "
    "--model names another model."
)


@bundled
def check(
    common: ProjectOptions,
    judges: Judges,
    limits: SpendingLimits,
    selecting: Selecting,
    checks: Checks,
    spreading: Spreading,
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[STORY]...",
            help="Story files, projects or folders; - reads stdin.",
            show_default="the project here",
        ),
    ] = None,
) -> None:
    """Find contradictions in a story, and quote both passages of each."""
    terminal = terminal_of(common)
    if checks.no_model:
        raise UsageError(
            "A check needs a model. Rules without a model found none of 101 errors in stories on which they had not "
            "been tuned, so we removed them. Leave --no-model out, and choose a model with --model."
        )
    if terminal.json and checks.format != "text":
        raise UsageError(f"--json and --format {checks.format} print different formats. Leave one of them out.")
    if spreading.is_asked:
        refuse("several processes check many stories", checks)
        _check_corpus(terminal, stories or [], judges, limits, selecting, spreading)
        return
    decided = bool(checks.dismiss or checks.count_again)
    if decided:
        name = "--dismiss" if checks.dismiss else "--count-again"
        refuse(f"{name} changes the last check and calls no model", judges, limits, selecting, but=("out",))
    stories = named_or_here(common, stories)
    command, judges = _command(stories, judges), _of_project(stories, judges)
    folder = Path(judges.out)
    if decided:
        found = Checked.in_(folder, _decided(terminal, folder, checks, command), command)
    else:
        selection = selecting.selection(judges.seed)
        items = stories_to_check(named_stories(stories), selection)
        _say_encodings(terminal, stories)
        found = Checked.in_(folder, *_checked(terminal, items, judges, limits, checks, command))
    if checks.format != "text":
        files = [Path(story) for story in stories if story != STDIN]
        if checks.format == "github":
            shown = as_annotations(found, files)
        else:
            shown = json.dumps(as_sarif(found, files), indent=2, ensure_ascii=False)
        if shown:
            terminal.say(shown.rstrip("\n"))
    else:
        changed = _changed_since(folder) if decided else frozenset[str]()
        _say(terminal, found, changed, numbers=bool(checks.gold) or len(found.stories) > 1)
    fix = "To fix a finding, change one of its two passages. If it is on purpose, use --dismiss ID=REASON. "
    terminal.advise(f"{fix * bool(found.findings)}{near(found.page)} shows both passages whole, and all numbers.")
    terminal.document(found.to_dict())
    if not found.complete or (checks.strict and found.findings):
        raise typer.Exit(1)


def _check_corpus(
    terminal: Terminal,
    stories: Sequence[str],
    judges: Judges,
    limits: SpendingLimits,
    selecting: Selecting,
    spreading: Spreading,
) -> None:
    """Have workers check any number of stories and write the findings of each story as a line of a file."""
    if not stories or STDIN in stories:
        raise UsageError("Specify the files, folders or data sets whose stories the processes should check.")
    corpus, out = Corpus([Path(one) for one in stories], selecting.selection(judges.seed)), Path(judges.out)
    say_licences(terminal, corpus)
    judges = replace(judges, out=str(spreading.folder(out)))
    evaluating = Evaluating(terminal, find("atlas"), judges, spreading.limits(limits))
    finding = Found({"atlas": evaluating.config})
    task = CorpusTask(corpus, finding, evaluating.settings, evaluating.folder, spreading.part)
    sample = EvaluationTask(evaluating.evaluator, task.sample(), evaluating.config, task.folder)
    count = evaluating.asking.run(
        f"For the first {counted(len(sample.items), 'story', 'stories')}",
        lambda options: dry_run_evaluation(sample, task.settings, options),
        lambda options: work_through(task, options, spreading.spread or Spread(1)),
    )
    if spreading.shard:
        evaluating.show_bill()
        say_part(terminal, spreading, count, str(out), evaluating.bill)
        return
    found = write_numbers(task, finding)
    for report in found.reports:
        say_report(terminal, report, ())
    evaluating.show_bill()
    terminal.advise(f"{near(task.folder / FOUND)} lists the findings in each story.")
    terminal.document(found.to_dict(task) | evaluating.bill.as_data())


def _of_project(stories: Sequence[str], judges: Judges) -> Judges:
    """The options for a single project: its report is written to its own folder, and its model reads it.

    Options on the command line override both. A model whose address the project names must be named here.
    """
    alone = project_alone([Path(story) for story in stories])
    if alone is None:
        return judges
    project = ProjectFolder.open(alone)
    settings, said = project.settings, judges.model or []
    if "model" not in settings.model_fields_set:
        settings = settings_as_last_time(project)
    named = settings.model in settings.models or any("=" not in model for model in said)
    named = named or "model" not in settings.model_fields_set  # the model used last, as in other commands
    out = str(project.folder / OUT) if judges.out == OUT else judges.out
    return replace(judges, out=out, model=said if named else [settings.model, *said])


def _say_encodings(terminal: Terminal, stories: Sequence[str]) -> None:
    """Name each file whose encoding was guessed, with the encoding."""
    for file in (one for one in map(Path, stories) if one.suffix.casefold() in LINES and one.is_file()):
        for said in reading_of(file, MAX_STORY).notices(str(file)):
            terminal.message(said)


def _checked(
    terminal: Terminal,
    items: Sequence[Item],
    judges: Judges,
    limits: SpendingLimits,
    checks: Checks,
    command: Sequence[str],
) -> tuple[dict[str, Any], Sequence[str], Bill]:
    """The report of a new check as data, with its bill and the command that repeats it."""
    say_licences(terminal, items)
    said = [*(judges.set_ or ()), *([f"gold={checks.gold}"] if checks.gold else [])]
    evaluator = find("atlas")
    evaluating = Evaluating(terminal, evaluator, replace(judges, set_=said), limits, of_small=_SMALL)
    report = evaluating.run(items)
    if checks.format == "text":
        evaluating.show_bill()
    return report.as_data(), command, evaluating.bill


def _decided(terminal: Terminal, folder: Path, checks: Checks, command: Sequence[str]) -> dict[str, Any]:
    """The report of the last check, after findings were dismissed or count again."""
    report = stored_check(folder)
    for key in checks.count_again or ():
        take_dismissal_back(folder, report, key)
    if reasons := dict(map(_reason, checks.dismiss or ())):
        dismiss(folder, report, reasons)
        again = [word for key in reasons for word in ("--count-again", key)]
        terminal.advise(f"To take this back, run `{shlex.join([*command, *again])}`.")
    return report


def _reason(value: str) -> tuple[str, str]:
    """The key and the reason that `--dismiss` gives."""
    key, equals, reason = (part.strip() for part in value.partition("="))
    if not equals or not key or not count_words(reason):
        raise UsageError(
            f"--dismiss {value!r} does not have the form ID=REASON. Give a reason why the finding is not an error."
        )
    return key, reason


def _command(stories: Sequence[str], judges: Judges) -> list[str]:
    out = ["--out", judges.out] if judges.out != OUT else []
    return ["fabula", "check", *stories, *out]


def _changed_since(folder: Path) -> frozenset[str]:
    """The findings of a project's last check of which a sentence has changed since; none in another folder."""
    if folder.name != OUT or not was_project(folder.parent):
        return frozenset()
    return frozenset(one.key for one in findings_of(ProjectFolder.open(folder.parent)).settled)


def _say(terminal: Terminal, found: Checked, changed: frozenset[str], *, numbers: bool) -> None:
    """Print the findings that remain, those dismissed, what is missing, and on request the numbers."""
    report = found.report
    blind = {row["of"]: row["unscored"] for row in report["rows"] if row["what"] == "findings" and row.get("unscored")}
    for story in found.stories:
        open_ = found.left_in(story)
        gone = len(all_findings(story)) - len(open_)
        shown = f", {gone} dismissed (see {FILE})" if gone else ""
        part = ", partial (see below)" if story.get("partial") else ""
        count = f"not scored: {blind[story['id']]}" if story["id"] in blind else counted(len(open_), "finding")
        terminal.say(f"{story['id']}: {count}{shown}{part}")
        for one in open_:
            head, *quoted = _told(one)
            for line in (head + "; changed since the check" * (one.get("key") in changed), *quoted):
                terminal.say(line)
        if undecided := story.get("undecided"):
            terminal.say(f"\nWithout a verdict: {counted(len(undecided), 'suspicion')}")
            for line in (line for one in undecided for line in _told(one)):
                terminal.say(line)
        terminal.say("")
    if numbers:
        gone_in = dismissed_in(report, found.dismissed)
        rows = [("of", "measure", "value"), *((r["of"], _what(r), _value(r, gone_in)) for r in report["rows"])]
        terminal.say(table(rows))
    for note in report["notes"]:
        terminal.say(f"\n{note}")


def _told(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A finding in a few lines, with its paragraphs and its reason if they are known."""
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
