"""`fabula evaluate`: run any evaluator on any stories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from fabula.app.bills import Bill
from fabula.app.item_files import MAX_STORY_BYTES, Selection
from fabula.app.judging import Judged, as_pair
from fabula.app.measuring import with_references
from fabula.app.ranking import Ranked, as_stories, ranked_by
from fabula.app.verdict_files import beside_people
from fabula.base.errors import UsageError
from fabula.base.files import write_atomically
from fabula.cli import completing
from fabula.cli.bill import say_bill, say_dry_run
from fabula.cli.evaluation import Evaluating
from fabula.cli.help import MORE
from fabula.cli.methods import say_method
from fabula.cli.opening import STDIN, read_given, terminal_of
from fabula.cli.options import Judges, Output, SpendingLimits, bundled, refuse
from fabula.cli.reports import say_report
from fabula.cli.session import near
from fabula.cli.stories import Selecting, stories_of
from fabula.cli.terminal import Terminal, table
from fabula.data.ttcw import published_tests
from fabula.engine.methods import settings_of
from fabula.evaluators import CATALOGUE, Evaluator, evaluators, find
from fabula.evaluators.editorial.agreement import accepted, annotations_of, named
from fabula.evaluators.rubric.agreement import decided
from fabula.evaluators.ttcw.making import MAKING
from fabula.measure.ratings import Rating, read_ratings
from fabula.measure.report import Report
from fabula.measure.report.page import page, report_section
from fabula.story import Story, slug
from fabula.verbs.methods import MethodList

if TYPE_CHECKING:
    from fabula.measure.items import Item


PAIRWISE: Final = "pairwise"
EDITORIAL: Final = "editorial"
PAIR: Final = 2
_BESIDE: Final = "Beside what"


@dataclass(frozen=True, slots=True)
class Beside:
    """What to compare the stories with, and who else judged them."""

    reference: Annotated[
        str,
        typer.Option(
            metavar="FILE|DIR",
            help="A story for comparison. The stories of a folder or set are matched by prompt or name.",
            rich_help_panel=_BESIDE,
        ),
    ] = ""
    narrative: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Narrative for dialogues that have none; - reads stdin.", rich_help_panel=_BESIDE
        ),
    ] = ""
    people: Annotated[
        str,
        typer.Option(metavar="FILE", help="People's ratings, to compare with.", rich_help_panel=_BESIDE),
    ] = ""
    ratings: Annotated[
        str,
        typer.Option(metavar="FILE", help="pairwise: rank by these verdicts, without a model.", rich_help_panel=MORE),
    ] = ""
    as_stories: Annotated[
        bool,
        typer.Option("--as-stories", help="pairwise: rank stories instead of systems.", rich_help_panel=MORE),
    ] = False
    make: Annotated[
        Literal["plot", "candidate"] | None,
        typer.Option(help="ttcw: only print a story's plot, or a story for a plot.", rich_help_panel=MORE),
    ] = None


@bundled
def evaluate(
    common: Output,
    judges: Judges,
    limits: SpendingLimits,
    selecting: Selecting,
    beside: Beside,
    name: Annotated[
        str,
        typer.Argument(
            autocompletion=completing.evaluators,
            metavar="NAME|FOLDER",
            help="An evaluator, several evaluators (editorial,rubric), or your own (./FOLDER).",
            show_default="list",
        ),
    ] = "",
    stories: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="STORY...",
            help="Files, DIR/SYSTEM/PROMPT.md, sets (.jsonl, .csv), projects, data sets; - reads stdin.",
            show_default="describe the evaluator",
        ),
    ] = None,
) -> None:
    """Compare, rank, test, rate or review stories, or list evaluators."""
    terminal = terminal_of(common)
    chosen = [find(one.strip()) for one in name.split(",")] if name else []
    if not (stories or beside.ratings):
        refuse("no story is evaluated", judges, limits, selecting, beside)
        for one in chosen:
            say_method(terminal, one)
        if not chosen:
            _list(terminal)
        return
    _check([one.name for one in chosen], limits, judges, stories or (), beside)
    if beside.make:
        _make(terminal, replace(judges, set_=[f"what={beside.make}", *(judges.set_ or ())]), limits, stories or [])
        return
    bill = Bill()
    running = [Evaluating(terminal, one, _settings(judges, one, chosen, selecting), limits, bill) for one in chosen]
    people = read_ratings(Path(beside.people)) if beside.people else ()
    items = _items(terminal, stories or (), selecting.selection(judges.seed), beside, chosen)
    reports = _reports(terminal, running, items, beside, dry_run=limits.dry_run)
    agreements = [_agreement(report, people, items) for report in reports] if people else []
    files = _written(Path(judges.out), chosen, reports, agreements, beside, bill)
    judged = Judged(*items, reports[0], bill) if chosen[0].name == PAIRWISE and len(items) == PAIR else None
    if judged is not None:
        terminal.say(table(judged.table) + "\n")
    for report in (*reports, *agreements):
        say_report(terminal, report, items)
        if report.evaluator == EDITORIAL and len(items) == 1:
            _say_comments(terminal, report)
        terminal.say("")
    say_bill(terminal, bill)
    _advise(terminal, files, reports, items)
    terminal.document(
        {
            "reports": {report.evaluator: report.as_data() for report in reports},
            "agreement": {report.evaluator: one.as_data() for report, one in zip(reports, agreements, strict=False)},
            "verdicts": judged.to_dict()["verdicts"] if judged is not None else [],
            "files": [str(file) for file in files],
            **bill.as_data(),
        }
    )


# what is run, on what -------------------------------------------------------------------------------------------------


def _check(
    names: Sequence[str], limits: SpendingLimits, judges: Judges, stories: Sequence[str], beside: Beside
) -> None:
    """Refuse options that cannot be combined."""
    if beside.make and names != ["ttcw"]:
        raise UsageError("--make prepares material for the tests of creativity. Use it with `fabula evaluate ttcw`.")
    if (beside.ratings or beside.as_stories) and names != [PAIRWISE]:
        raise UsageError("--ratings and --as-stories are for ranking. Use them with `fabula evaluate pairwise`.")
    if beside.ratings:
        refuse("--ratings supplies the verdicts, so no model is called", judges, limits, but=("out", "set_", "preset"))
    if beside.make:
        refuse("--make tests no story", replace(beside, make=None))
        if not stories:
            raise UsageError("--make needs a source. Specify a story or a plot.")


def _reports(
    terminal: Terminal, running: Sequence[Evaluating], items: Sequence[Item], beside: Beside, *, dry_run: bool
) -> list[Report]:
    """The report of each evaluator, new or from existing verdicts.

    Raises:
        Exit: it was a dry run.
    """
    if beside.ratings:
        return [ranked_by(Path(beside.ratings), items, running[0].config)]
    for evaluating in running:
        evaluating.check(items)
        evaluating.asking.budget = running[0].asking.budget
    if dry_run and len(running) > 1:
        say_dry_run(terminal, *(evaluating.expected(items) for evaluating in running))
        raise typer.Exit
    return [evaluating.run(items) for evaluating in running]


def _settings(judges: Judges, evaluator: Evaluator, chosen: Sequence[Evaluator], selecting: Selecting) -> Judges:
    """The options for one evaluator: if several run, each gets the settings that it knows.

    A setting that none of them knows goes to all, so that the error names it.
    """
    known = {one.name: {setting.name for setting in settings_of(one.config())} for one in chosen}

    def its(setting: str) -> bool:
        field = setting.partition("=")[0].strip().replace("-", "_").rpartition(".")[2]
        return field in known[evaluator.name] or not any(field in theirs for theirs in known.values())

    said = [setting for setting in judges.set_ or () if its(setting)]
    own = any(one.partition("=")[0].strip().endswith("tests") for one in said)
    if evaluator.name == "ttcw" and judges.preset == "faithful" and selecting.data and not own:
        said += [f"tests={file}" for file in [published_tests(Path(selecting.data))] if file]
    return replace(judges, set_=said)


def _items(
    terminal: Terminal, stories: Sequence[str], selection: Selection, beside: Beside, chosen: Sequence[Evaluator]
) -> tuple[Item, ...]:
    """The stories to evaluate, with reference and narrative. Two stories alone count as answers to one prompt."""
    items = stories_of(terminal, stories, selection) if stories else ()
    if stories and not items:
        raise UsageError("No story was found. Specify a story file, a set or a project.")
    if chosen[0].name == PAIRWISE and len(stories) == len(items) == PAIR:
        items = as_pair(*items)
    if beside.as_stories:
        items = as_stories(items)
    if beside.reference:
        references = stories_of(terminal, [beside.reference])
        items = with_references(items, references, beside.reference, each="ttcw" in [one.name for one in chosen])
    if beside.narrative:
        items = _with_narrative(items, beside.narrative, chosen)
    return items


def _with_narrative(items: Sequence[Item], where: str, chosen: Sequence[Evaluator]) -> tuple[Item, ...]:
    """The items, with the narrative in `where` for those without one; these count as played from one prompt.

    Raises:
        UsageError: the file cannot be read or is empty, every item has a narrative, or no evaluator reads it.
    """
    if not any(one.reads_narrative for one in chosen):
        raise UsageError(f"{chosen[0].name} does not use a narrative. Leave --narrative out.")
    text = Story.parse(read_given(where, MAX_STORY_BYTES)).text
    if not text.strip():
        raise UsageError(f"The narrative in {where} is empty. Specify the text that the dialogues act out.")
    lacking = {item.id for item in items if not (item.narrative or item.reference or item.brief)}
    if not lacking:
        raise UsageError(
            f"Every dialogue has its own narrative, so fabula would not read {where}. Leave --narrative out."
        )
    prompt = "narrative" if where == STDIN else slug(Path(where).stem)
    return tuple(
        replace(item, narrative=text, prompt=item.prompt or prompt) if item.id in lacking else item for item in items
    )


def _make(terminal: Terminal, judges: Judges, limits: SpendingLimits, stories: Sequence[str]) -> None:
    """Print plots or candidates; the bill goes to stderr, so that you can redirect the text to a file."""
    evaluating = Evaluating(terminal, MAKING, judges, limits)
    texts = evaluating.run(stories_of(terminal, stories)).details["texts"]
    terminal.say("\n\n".join(texts.values()))
    terminal.document({"texts": texts, **evaluating.bill.as_data()})


# what comes of it -----------------------------------------------------------------------------------------------------


def _say_comments(terminal: Terminal, report: Report) -> None:
    for one in annotations_of(report):
        terminal.say(terminal.wrapped(f'\n{named(one)}, {one.category}: {one.comment}\n  "{one.quote}"'))


def _agreement(report: Report, people: Sequence[Rating], items: Sequence[Item]) -> Report:
    """How well people agree with a report: with an editor's comments, with choices by scores, or with its verdicts."""
    if report.evaluator == EDITORIAL:
        rows, notes = accepted(report, people)
    elif report.evaluator == "rubric":
        rows, notes = decided(report, people, {item.id: item.story.words for item in items})
    else:
        return beside_people(report.ratings, people)
    raters = ", ".join(sorted({rating.rater for rating in people if rating.answer is not None}))
    return Report("agreement", {"raters": raters}, tuple(rows), notes=tuple(notes))


def _written(
    folder: Path,
    chosen: Sequence[Evaluator],
    reports: Sequence[Report],
    agreements: Sequence[Report],
    beside: Beside,
    bill: Bill,
) -> list[Path]:
    """Write a page for each report. Returns the files with the numbers and reasons."""
    files: list[Path] = []
    for number, (evaluator, report) in enumerate(zip(chosen, reports, strict=True)):
        if evaluator.name == PAIRWISE:
            name = Path(beside.ratings).stem if beside.ratings else report.evaluator
            files += Ranked.in_(folder, name, report, bill).files
            continue
        sections = [*map(report_section, agreements[number : number + 1]), *evaluator.sections(report)]
        title = f"{evaluator.name[:1].upper()}{evaluator.name[1:]}"
        files.append(folder / f"{report.evaluator}.html")
        write_atomically(files[-1], page(title, sections, lead=str(evaluator.paper["summary"])))
    return files


def _advise(terminal: Terminal, files: Sequence[Path], reports: Sequence[Report], items: Sequence[Item]) -> None:
    shown = ", ".join(near(file) for file in files if file.suffix == ".html")
    terminal.advise(f"\n{shown} contains every number and reason. The data is next to it.")
    report = reports[0]
    if report.evaluator == PAIRWISE and len(items) == PAIR:
        terminal.advise("A single pair is weak evidence. To rank many stories, run `fabula evaluate pairwise DIR`.")
    if report.evaluator == "ttcw" and len(items) == 1 and report.how["method"] == "plain":
        terminal.advise("Next: use --reference FILE to compare it with a story that you admire.")


def _list(terminal: Terminal) -> None:
    found, problems = evaluators(), CATALOGUE.problems()
    rows = [("evaluator", "asks a model", "from", "what it does")]
    rows += [
        (one.name, "yes" if one.roles else "no", one.source or "fabula", str(one.paper["summary"]))
        for one in found.values()
    ]
    terminal.say(table(rows))
    for problem in problems.values():
        terminal.message(problem)
    terminal.advise(
        "\nTo read about an evaluator, run `fabula evaluate NAME`. To use it, run `fabula evaluate NAME STORY...`."
    )
    terminal.document(MethodList.of(found, problems))
