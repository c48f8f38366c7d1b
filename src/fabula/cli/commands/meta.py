"""`fabula meta`."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fabula.app.item_files import read_items
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import write_atomically
from fabula.cli.opening import terminal_of
from fabula.cli.options import Common, bundled
from fabula.cli.session import near
from fabula.cli.terminal import table
from fabula.measure.ratings import SAME, read_ratings
from fabula.measure.report import Report, Row, csv_of
from fabula.measure.report.page import Section, bullets, joined, page, report_section
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.meta import PEOPLE
from fabula.stats.meta import meta as compared
from fabula.stats.verdicts import JUDGE, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.ratings import Rating
    from fabula.stats.meta import Meta

_MAIN = ("pairs: accuracy", "stories: accuracy", "stories: spearman", "systems: spearman")
ALL: Final = "all questions"
_YES: Final = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}
_REFERENCE: Final = "reference:"
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Comparing:
    """What is compared, and how."""

    stories: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="The stories, for length and type-token ratio. Repeatable."),
    ] = None
    question: Annotated[str, typer.Option(metavar="NAME", help="One question only.")] = ""
    rater: Annotated[str, typer.Option(metavar="NAME", help="One rater of VERDICTS only.")] = ""
    evaluator: Annotated[str, typer.Option(metavar="NAME", help="One evaluator of VERDICTS only.")] = ""
    html: Annotated[str, typer.Option(metavar="FILE", help="Write the whole comparison as a page.")] = ""
    csv: Annotated[str, typer.Option("--csv", metavar="FILE", help="Every number as a line of CSV.")] = ""
    seed: Annotated[int, typer.Option(help="Of the random baseline.")] = 1


@bundled
def meta(
    common: Common,
    comparing: Comparing,
    verdicts: Annotated[str, typer.Argument(metavar="VERDICTS", help="The judge's ratings.jsonl.", show_default=False)],
    human: Annotated[str, typer.Argument(metavar="HUMAN", help="People's ratings.jsonl.", show_default=False)],
) -> None:
    """Say how far a judge agrees with people, beside trivial baselines."""
    terminal = terminal_of(common)
    judge = side_of(_chosen(read_ratings(Path(verdicts)), comparing, verdicts), verdicts)
    people = side_of(read_ratings(Path(human)), human)
    questions = common_questions(judge, people, comparing.question)
    texts = _texts(comparing)
    found = {name: compared(mine, theirs, texts, comparing.seed) for name, (mine, theirs) in questions.items()}
    report = _report(found, judge, people, comparing)
    if comparing.html:
        _write(Path(comparing.html), found, report)
    if comparing.csv:
        write_atomically(Path(comparing.csv), csv_of([report]))
    for name, result in found.items():
        terminal.say(f"{name}\n\n{_table(result)}\n\n{result.sentence}\n")
    terminal.say("\n".join(report.notes))
    if comparing.html:
        terminal.say(f"\n{near(Path(comparing.html))}")
    else:
        terminal.advise(
            "All numbers (Kendall, Pearson, legacy definitions, n, methods): --json, --csv FILE or --html FILE."
        )
    terminal.document(report.as_data() | {"questions": {name: _rendered(result) for name, result in found.items()}})


def _chosen(ratings: tuple[Rating, ...], comparing: Comparing, name: str) -> list[Rating]:
    """The judge's ratings that the options leave.

    Raises:
        UsageError: none is left.
    """
    kept = [
        rating
        for rating in ratings
        if comparing.rater in ("", rating.rater) and comparing.evaluator in ("", rating.evaluator)
    ]
    if not kept:
        raters = ", ".join(sorted({f"{r.rater} ({r.evaluator or 'no evaluator'})" for r in ratings})) or "nobody"
        raise UsageError(f"{name} has no rating that is asked for; it has those of {raters}.")
    return kept


def _texts(comparing: Comparing) -> dict[str, str]:
    """The texts of the stories by id."""
    if not comparing.stories:
        return {}
    return {item.id: item.story.text for item in read_items([Path(path) for path in comparing.stories])}


def _report(found: dict[str, Meta], judge: Side, people: Side, comparing: Comparing) -> Report:
    rows = tuple(
        Row(f.of, f"{name}: {f.what}", f.scored, baseline=f.of not in (JUDGE, PEOPLE))
        for name, result in found.items()
        for f in result.findings
    )
    notes = [*judge.notes(), *people.notes()]
    if len(judge.raters) > 1:
        notes.append(
            f"{judge.name}: {len(judge.raters)} raters are averaged ({', '.join(judge.raters)}); --rater takes one."
        )
    if ALL in found:
        notes.append(f"{ALL}: each story's mean over the questions, or its share of all comparisons.")
    notes += [f"{name}: {note}" for name, result in found.items() for note in result.notes]
    how = {
        "judge": ", ".join(judge.raters),
        "people": ", ".join(people.raters),
        "seed": comparing.seed,
        "accuracy": "symmetric: a tie of one side counts half, of both sides not",
    }
    sentences = [f"{name}: {result.sentence}" for name, result in found.items()]
    return Report("meta", how, rows, notes=tuple(notes), details={"sentences": sentences})


def _rendered(result: Meta) -> dict[str, Any]:
    return {"sentence": result.sentence, "beats_baselines": result.beats, "notes": list(result.notes)}


def _write(file: Path, found: dict[str, Meta], report: Report) -> None:
    sentences = bullets(f"{name}: {result.sentence}" for name, result in found.items())
    numbers = report_section(report)
    sections = [Section("In short", joined(sentences)), Section("All numbers", numbers.body)]
    write_atomically(file, page("A judge beside people", sections))


def _table(result: Meta) -> str:
    """The main measures of the judge and the baselines, a row each; and how far people agree among themselves."""
    known = {(f.of, f.what): f.scored for f in result.findings}
    columns = [what for what in _MAIN if (JUDGE, what) in known]
    names = list(dict.fromkeys(f.of for f in result.findings if f.of != PEOPLE))
    rows = [("", *columns)]
    rows += [(name, *(_short(known.get((name, what))) for what in columns)) for name in names]
    lines = [table(rows)]
    rest = [(f.what, str(f.scored)) for f in result.findings if f.of == PEOPLE or f.what.endswith("kappa")]
    named = [("judge's kappa" if what.endswith(": kappa") else f"people: {what}", shown) for what, shown in rest]
    return "\n\n".join([*lines, table(named)])


def _short(scored: Estimate | Unscored | None) -> str:
    return str(scored) if isinstance(scored, Estimate) else "-"


@dataclass(frozen=True)
class Side:
    """One ratings file, read: verdicts by question.

    Attributes:
        name: of the file, for messages.
        unscored: ratings without an answer.
        unreadable: answers that are no number, no yes or no, and none of the stories shown.
    """

    name: str
    questions: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    unscored: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)

    @property
    def raters(self) -> list[str]:
        """Everybody whose verdicts are there."""
        return sorted({verdict.rater for verdicts in self.questions.values() for verdict in verdicts})

    @property
    def stories(self) -> set[str]:
        """The stories on which there are verdicts."""
        return {item for verdicts in self.questions.values() for verdict in verdicts for item in verdict.items}

    def notes(self) -> list[str]:
        """What was left out of the comparison."""
        found = [f"{self.name}: {self.unscored} ratings have no answer and are left out."] if self.unscored else []
        if self.unreadable:
            shown = ", ".join(f"{answer!r} ({count})" for answer, count in self.unreadable.most_common(3))
            found.append(f"{self.name}: answers that are no score and no choice are left out: {shown}.")
        return found


def side_of(ratings: Sequence[Rating], name: str) -> Side:
    """The verdicts in a file's ratings. A score is a number, or yes (1) and no (0)."""
    questions: dict[str, list[Verdict]] = defaultdict(list)
    unscored, unreadable = 0, Counter[str]()
    for rating in ratings:
        if rating.answer is None:
            unscored += 1
        elif (verdict := _verdict(rating)) is None:
            unreadable[str(rating.answer)] += 1
        else:
            questions[rating.question].append(verdict)
    return Side(name, questions, unscored, unreadable)


def _verdict(rating: Rating) -> Verdict | None:
    """A rating as a verdict; one of a story beside its reference is a score of the story."""
    answer, items, systems = rating.answer, rating.items, rating.systems
    if len(items) == _PAIR and isinstance(answer, str):
        choices = {items[0]: 1.0, items[1]: 0.0, SAME: 0.5}
        if answer not in choices:
            return None
        return Verdict(rating.rater, items, choices[answer], systems, rating.prompt)
    own = [place for place, item in enumerate(items) if not item.startswith(_REFERENCE)]
    value = _YES.get(answer.strip().casefold()) if isinstance(answer, str) else answer
    if value is None or len(own) != 1:
        return None
    system = (systems[own[0]],) if systems else ()
    return Verdict(rating.rater, (items[own[0]],), float(value), system, rating.prompt)


def common_questions(judge: Side, human: Side, wanted: str = "") -> dict[str, tuple[list[Verdict], list[Verdict]]]:
    """The questions that both sides answered, with their verdicts; several are taken together too, as `ALL`.

    Raises:
        UnknownNameError: a question is wanted that one side did not answer.
        UsageError: there is no common question, or no common story.
    """
    common = [name for name in judge.questions if name in human.questions]
    if wanted and wanted not in common:
        raise UnknownNameError("common question", wanted, common)
    if not common:
        asked = (", ".join(sorted(side.questions)) or "nothing" for side in (judge, human))
        mine, theirs = asked
        raise UsageError(
            f"{judge.name} and {human.name} answer no common question: {mine} in the one, {theirs} in the other. "
            "Use one name for one question."
        )
    if not judge.stories & human.stories:
        raise UsageError(
            f"{judge.name} and {human.name} have no story in common: {_some(judge)} in the one, {_some(human)} in the "
            "other. Use one id for one story."
        )
    found = {name: (judge.questions[name], human.questions[name]) for name in ([wanted] if wanted else common)}
    found = {name: both for name, both in found.items() if _stories(both[0]) & _stories(both[1])}
    if len(found) > 1:
        found[ALL] = ([v for mine, _ in found.values() for v in mine], [v for _, them in found.values() for v in them])
    return found


def _stories(verdicts: Sequence[Verdict]) -> set[str]:
    return {item for verdict in verdicts for item in verdict.items}


def _some(side: Side) -> str:
    return ", ".join(repr(item) for item in sorted(side.stories)[:3]) or "none"
