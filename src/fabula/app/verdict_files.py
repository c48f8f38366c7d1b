"""Reading the verdicts that `fabula lab meta` compares: a judge's and people's, each from a file of ratings.

The evaluator that asked for a verdict defines its form: `fabula evaluate pairwise` counts pairs of stories, and
`fabula evaluate ttcw` decides creativity tests. Any other number is used as a score without changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.evaluators.pairwise.config import MARGIN
from fabula.evaluators.pairwise.verdicts import PairChoice, PairwiseChoice, choice_of, pair_choices
from fabula.evaluators.ttcw.verdicts import EVALUATOR, REFERENCE, TestVerdict, outcomes_in
from fabula.measure.ratings import SAME, Rating
from fabula.measure.report import Report, Row
from fabula.stats.meta import PEOPLE, MetaResult, meta
from fabula.stats.verdicts import JUDGE, PAIR, Verdict

ALL: Final = "all questions"
PASSED: Final = "tests passed"
_YES: Final = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}
_BOTH: Final = 0.5


@dataclass(frozen=True)
class Side:
    """The contents of one file of ratings: verdicts by question.

    Attributes:
        name: the name of the file, for messages.
        questions: the verdicts on each question.
        tests: outcomes of creativity tests that `fabula evaluate ttcw` asked for.
        unscored: ratings without an answer.
        pairs: pairs compared by a rater on a question.
        weighed: the pairs weighed by probabilities.
        unsettled: the pairs judged in one order only.
        unreadable: answers that are not a number, not yes or no, and not one of the stories shown.
    """

    name: str
    questions: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    tests: tuple[TestVerdict, ...] = ()
    unscored: int = 0
    pairs: int = 0
    weighed: int = 0
    unsettled: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)

    @property
    def raters(self) -> list[str]:
        """The names of all raters with verdicts."""
        return sorted({verdict.rater for verdicts in self.questions.values() for verdict in verdicts})

    @property
    def stories(self) -> set[str]:
        """The stories that have verdicts."""
        return {item for verdicts in self.questions.values() for item in _stories(verdicts)}

    def method(self, margin: float) -> str:
        """How choices between two stories were read."""
        if not self.weighed:
            return "as they were given"
        return f"{self.weighed} of {self.pairs} weighed by probabilities over both orders, margin {margin:g}"

    def notes(self) -> list[str]:
        """What was left out of the comparison."""
        found = [f"{self.name}: {self.unscored} ratings have no answer and were left out."] if self.unscored else []
        lost = sum(test.passed is None for test in self.tests)
        if lost:
            found.append(
                f"{self.name}: {lost} of {len(self.tests)} tests have no outcome because the answer for one "
                f"order could not be read. They are left out, and count as not passed in {PASSED!r}."
            )
        if self.unsettled:
            found.append(
                f"{self.name}: {self.unsettled} of {self.pairs} pairs were judged in one order only and are "
                "undecided: written choices count only for the stories, and weighted choices do not count."
            )
        if self.unreadable:
            shown = ", ".join(f"{answer!r} ({count})" for answer, count in self.unreadable.most_common(3))
            found.append(f"{self.name}: answers that are neither a score nor a choice were left out: {shown}.")
        return found


@dataclass(frozen=True, slots=True)
class CommonVerdicts:
    """The verdicts of both sides on one question.

    Attributes:
        raters: people's single verdicts, if `human` has what several people decided together.
    """

    judge: list[Verdict]
    human: list[Verdict]
    raters: list[Verdict] | None = None


def side_of(ratings: Sequence[Rating], name: str, margin: float = MARGIN) -> Side:
    """The verdicts in a file's ratings. A score is a number, or yes (1) and no (0).

    Args:
        ratings: the ratings of one side.
        name: the name of the file.
        margin: the margin for weighed choices, as in `fabula evaluate pairwise`.
    """
    questions: dict[str, list[Verdict]] = defaultdict(list)
    choices: dict[str, list[PairwiseChoice]] = defaultdict(list)
    unscored, unreadable = 0, Counter[str]()
    tests = tuple(outcomes_in(ratings))
    for test in tests:
        if test.passed is not None:
            system = (test.system,) if test.system else ()
            questions[test.test].append(Verdict(test.rater, (test.item,), float(test.passed), system, test.prompt))
    for rating in ratings:
        if rating.answer is None:
            unscored += 1
        elif rating.evaluator == EVALUATOR:
            continue
        elif _is_choice(rating):
            choices[rating.question].append(choice_of(rating))
        elif (verdict := _score(rating)) is None:
            unreadable[str(rating.answer)] += 1
        else:
            questions[rating.question].append(verdict)
    pairs = {question: _in_order(given, margin) for question, given in choices.items()}
    for question, found in pairs.items():
        questions[question] += [verdict for pair in found for verdict in _counted(pair)]
    every = [pair for found in pairs.values() for pair in found]
    weighed, settled = sum(pair.weighed for pair in every), sum(pair.settled for pair in every)
    return Side(name, questions, tests, unscored, len(every), weighed, len(every) - settled, unreadable)


def _is_choice(rating: Rating) -> bool:
    return len(rating.items) == PAIR and rating.answer in (*rating.items, SAME)


def _in_order(choices: Sequence[PairwiseChoice], margin: float) -> list[PairChoice]:
    """The pairs as `fabula evaluate pairwise` decides them, in the order of the file."""
    place = {id(choice): number for number, choice in enumerate(choices)}
    return sorted(pair_choices(choices, margin), key=lambda pair: place[id(pair.verdicts[0])])


def _counted(pair: PairChoice) -> Iterator[Verdict]:
    """The wins that `fabula evaluate pairwise` counts for a pair."""
    first = _BOTH if pair.weighed else 1.0
    for choice, score in pair.counted:
        systems = tuple(name if name != item else "" for name, item in zip(choice.names, choice.items, strict=True))
        named = systems if any(systems) else ()
        yield Verdict(pair.rater, choice.items, score, named, pair.prompt, first, pair.settled)


def _score(rating: Rating) -> Verdict | None:
    """A rating as a verdict; a rating of a story next to its reference is a score of the story."""
    answer, items, systems = rating.answer, rating.items, rating.systems
    own = [place for place, item in enumerate(items) if not item.startswith(REFERENCE)]
    value = _YES.get(answer.strip().casefold()) if isinstance(answer, str) else answer
    if value is None or len(own) != 1:
        return None
    system = (systems[own[0]],) if systems else ()
    return Verdict(rating.rater, (items[own[0]],), float(value), system, rating.prompt)


# what both sides answered ---------------------------------------------------------------------------------------------


def common_questions(judge: Side, human: Side, wanted: str = "") -> dict[str, CommonVerdicts]:
    """The questions that both sides answered, with their verdicts and a combination of several questions.

    Creativity tests are combined into the number of tests passed, in all and for each dimension (sections 4.3 and 5 of
    the TTCW paper); these come first. Other questions are combined as `ALL`.

    Raises:
        UnknownNameError: one side did not answer the requested question.
        UsageError: the sides have no question or no story in common.
    """
    common = [name for name in judge.questions if name in human.questions]
    if not common:
        asked = (", ".join(sorted(side.questions)) or "nothing" for side in (judge, human))
        mine, theirs = asked
        raise UsageError(
            f"{judge.name} and {human.name} have no question in common: the first contains {mine}, the second "
            f"{theirs}. Use the same name for the same question."
        )
    for side in (judge, human):
        if side.unsettled and not side.stories:
            raise UsageError(
                f"{side.name}: all {side.pairs} pairs are weighted by probabilities and were judged in one "
                "order only, so none of them is decided. Judge them in the other order, too."
            )
    if not judge.stories & human.stories:
        raise UsageError(
            f"{judge.name} and {human.name} have no story in common: the first contains {_some(judge)}, the "
            f"second {_some(human)}. Use the same id for the same story."
        )
    found = {name: CommonVerdicts(judge.questions[name], human.questions[name]) for name in common}
    found = {name: both for name, both in found.items() if _stories(both.judge) & _stories(both.human)}
    passed = _tests_passed(judge, human, [test.test for test in judge.tests if test.test in found])
    if wanted and wanted not in passed | found:
        raise UnknownNameError("common question", wanted, [*passed, *found])
    if wanted:
        return {wanted: (passed | found)[wanted]}
    if not passed and len(found) > 1:
        judged, read = ([v for both in found.values() for v in getattr(both, side)] for side in ("judge", "human"))
        found[ALL] = CommonVerdicts(judged, read)
    return passed | found


def _tests_passed(judge: Side, human: Side, tests: Sequence[str]) -> dict[str, CommonVerdicts]:
    """The number of tests that each story passes, by the judge and by the majority of people: in all and by dimension.

    Only tests of a story with people's verdicts count.
    """
    if not tests:
        return {}
    people = human.tests or tuple(
        TestVerdict(v.rater, v.items[0], v.systems[0] if v.systems else "", v.prompt, test, passed=v.value > _BOTH)
        for test in dict.fromkeys(tests)
        for v in human.questions[test]
    )
    wanted = set(tests)
    theirs = [verdict for verdict in people if verdict.test in wanted and verdict.passed is not None]
    cells = {(verdict.item, verdict.test) for verdict in theirs}
    mine = [verdict for verdict in judge.tests if (verdict.item, verdict.test) in cells]
    dimensions = dict.fromkeys(test.partition("/")[0] for test in tests)
    groups = {PASSED: sorted(wanted)} | {
        f"{PASSED}: {name}": [test for test in sorted(wanted) if test.partition("/")[0] == name]
        for name in (dimensions if len(dimensions) > 1 else ())
    }
    return {
        name: CommonVerdicts(_counts(mine, of), _counts(_by_majority(theirs), of), _counts(theirs, of))
        for name, of in groups.items()
    }


def _by_majority(verdicts: Sequence[TestVerdict]) -> list[TestVerdict]:
    """One verdict on each test of each story: passed if more than half of the raters say so."""
    votes: dict[tuple[str, str], list[TestVerdict]] = defaultdict(list)
    for verdict in verdicts:
        votes[verdict.item, verdict.test].append(verdict)
    found = []
    for given in votes.values():
        yes = [verdict.passed for verdict in given].count(True)
        found.append(replace(given[0], rater="majority", passed=2 * yes > len(given)))
    return found


def _counts(verdicts: Sequence[TestVerdict], tests: Sequence[str]) -> list[Verdict]:
    """Tests passed by rater and story. A test without an outcome is not passed; a story without any has no score."""
    found: dict[tuple[str, str], list[TestVerdict]] = defaultdict(list)
    for verdict in verdicts:
        if verdict.test in tests:
            found[verdict.rater, verdict.item].append(verdict)
    counts = []
    for (rater, item), given in found.items():
        outcomes, system = [verdict.passed for verdict in given], given[0].system
        if outcomes.count(None) < len(outcomes):
            passed = float(outcomes.count(True))
            counts.append(Verdict(rater, (item,), passed, (system,) if system else (), given[0].prompt))
    return counts


def _stories(verdicts: Sequence[Verdict]) -> set[str]:
    return {item for verdict in verdicts for item in verdict.items}


def _some(side: Side) -> str:
    return ", ".join(repr(item) for item in sorted(side.stories)[:3]) or "none"


# the comparison -----------------------------------------------------------------------------------------------------


def beside_people(verdicts: Sequence[Rating], people: Sequence[Rating]) -> Report:
    """The agreement of a judge's verdicts with people's ratings of the same stories.

    Raises:
        UsageError: they have no story or no question in common.
    """
    judge, human = side_of(verdicts, "the report"), side_of(people, "the ratings")
    return meta_report(compared(judge, human), judge, human)


def compared(
    judge: Side, human: Side, texts: Mapping[str, str] | None = None, *, wanted: str = "", seed: int = 1
) -> dict[str, MetaResult]:
    """The agreement of a judge with people on each common question, or on the requested question.

    Raises:
        UnknownNameError, UsageError: see `common_questions`.
    """
    questions = common_questions(judge, human, wanted)
    return {name: meta(both.judge, both.human, texts or {}, seed, both.raters) for name, both in questions.items()}


def meta_report(
    found: Mapping[str, MetaResult], judge: Side, people: Side, *, margin: float = MARGIN, seed: int = 1
) -> Report:
    """A report on a judge's agreement with people, question by question, compared with trivial baselines."""
    rows = tuple(
        Row(f.of, f"{name}: {f.what}", f.scored, baseline=f.of not in (JUDGE, PEOPLE))
        for name, result in found.items()
        for f in result.findings
    )
    notes = [*judge.notes(), *people.notes()]
    if len(judge.raters) > 1:
        notes.append(
            f"{judge.name}: the ratings of {len(judge.raters)} raters are averaged ({', '.join(judge.raters)}); "
            "--rater selects one rater."
        )
    if PASSED in found:
        notes.append(
            f"{PASSED}: the judge's tests for each story, as counted by `fabula evaluate ttcw`, compared with "
            "the majority of people on each test."
        )
    if ALL in found:
        notes.append(f"{ALL}: the mean of each story over the questions, or its share of all comparisons.")
    notes += [f"{name}: {note}" for name, result in found.items() for note in result.notes]
    how = {
        "judge": ", ".join(judge.raters),
        "people": ", ".join(people.raters),
        "seed": seed,
        **{
            f"choices of {who}": side.method(margin)
            for who, side in (("the judge", judge), ("people", people))
            if side.pairs
        },
        "accuracy": "symmetric: a tie on one side counts half; a tie on both sides counts fully for pairs, since both "
        "say the same, and not at all for stories and systems",
    }
    sentences = [f"{name}: {result.sentence}" for name, result in found.items()]
    return Report("meta", how, rows, notes=tuple(notes), details={"sentences": sentences})
