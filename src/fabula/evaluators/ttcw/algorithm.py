"""Section 3.2 of the paper, its baseline (section 4.2) and its hybrid (section 5, "ours_opt").

    L+ = LLM(test, reference, candidate)    reference first: how much better the candidate is
    L- = LLM(test, candidate, reference)    candidate first: how much better the reference is
    Score = sum over tests of I[(L+ - L-) >= 0]

`evaluate` is the procedure. Its steps follow in order: the list of calls, one call, one test's outcome, one story's
score. Section 3.3 and appendix A.1 are `prompts/compare.jinja`, section 4.2 is `prompts/question.jinja`,
section 3.1 is in `making/`. The README says where the rest of the paper is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft.raters import NO_ANSWER, rating_of
from fabula.engine.methods import values_of
from fabula.engine.replies import ReplyProblem, label_of, read_label, read_yes_no
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.ttcw.bank import Bank, CreativityTest, read_bank
from fabula.evaluators.ttcw.report import Result, report_of
from fabula.evaluators.ttcw.verdicts import EVALUATOR, REFERENCE, passed, value_of
from fabula.measure.items import Item
from fabula.models.base import Reply, Sampling
from fabula.story import slug

if TYPE_CHECKING:
    from fabula.evaluators.ttcw.config import Config, MethodName, Paper
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report


# How a story is shown: "alone" by the plain method. These words are in the paths of recorded calls.
Place: TypeAlias = Literal["alone", "reference-first", "candidate-first"]

ROLE: Final = "judge"
PLAIN_IN_HYBRID: Final = "originality"  # the dimension that section 5 leaves to the plain method
ORDERS: Final[tuple[Place, ...]] = ("candidate-first", "reference-first")  # L-, L+


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The number of tests, of 14, that each story passes.

    Raises:
        UsageError: a setting or the tests' file is wrong, or a story lacks the reference that the method needs.
        ModelError: the judge did not answer.
    """
    check(items, config)
    bank = read_bank(config.paper.tests).only(config.paper.only)

    # "To minimize positional bias, the sequence of the candidate and reference texts is alternated, and each test is
    # conducted twice." The plain method asks it once.
    calls = calls_of(items, bank.tests, config.paper.method)
    answers = await side_by_side(ask(call, run, config.paper, bank.version) for call in calls)
    return scored(items, bank, dict(zip(calls, answers, strict=True)), values_of(config))


def check(items: Sequence[Item], config: Config) -> None:
    """Refuse settings out of range, and stories without a reference if the method needs one.

    Raises:
        UsageError: a setting is out of range, or a reference is missing.
    """
    config.validate()
    method, bare = config.paper.method, [item.id for item in items if item.reference is None]
    if method in ("reference", "hybrid") and bare:
        others = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        raise UsageError(
            f"The {method} method compares a story with a reference, and {bare[0]}{others} has none. Give one with "
            "--reference FILE, or judge it alone with --method plain."
        )


# which calls there are ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TestCall:
    """A test of a story, asked plainly or next to its reference in one order."""

    item: Item
    test: CreativityTest
    place: Place

    @property
    def plain(self) -> bool:
        """Whether the story is shown without its reference, and the answer is yes or no (section 4.2)."""
        return self.place == "alone"

    @property
    def prompt(self) -> str:
        """The name of its prompt: that of appendix A.1, or the plain question."""
        return "question" if self.plain else "compare"

    @property
    def items(self) -> list[Item]:
        """The story, or story and reference in the order in which they are shown."""
        item = self.item
        if self.plain or item.reference is None:
            return [item]
        system = "reference" if item.system else ""
        reference = Item(f"{REFERENCE}{item.prompt or item.id}", item.reference, system, item.prompt)
        return [item, reference] if self.place == "candidate-first" else [reference, item]

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of its prompt: the texts, and the test with its background."""
        names = ("story",) if self.plain else ("a", "b")
        texts = {name: item.story.text for name, item in zip(names, self.items, strict=True)}
        return {**texts, "question": self.test.question, "background": self.test.background}

    def at(self, run: Run) -> Run:
        """The run at the place of the call."""
        return run.scope(self.item.id, *self.test.id.split("/"), self.place)


def calls_of(items: Sequence[Item], tests: Sequence[CreativityTest], method: MethodName) -> list[TestCall]:
    """All calls. Calls with the same stories follow each other, so that an engine's prefix cache is used."""

    def plainly(test: CreativityTest) -> bool:
        return method == "plain" or (method == "hybrid" and test.dimension.casefold() == PLAIN_IN_HYBRID)

    places: tuple[Place, ...] = ("alone", *ORDERS)
    return [
        TestCall(item, test, place)
        for item in items
        for place in places
        for test in tests
        if (place == "alone") == plainly(test)
    ]


# one call -------------------------------------------------------------------------------------------------------------


async def ask(call: TestCall, run: Run, paper: Paper, rubric: str) -> Rating:
    """The answer to one call, or the reason why it cannot be read.

    Raises:
        ModelError: the judge did not answer.
    """
    at, sampling = call.at(run), Sampling(temperature=paper.temperature, max_tokens=paper.max_tokens)
    try:
        if call.plain:
            reply = await at.reply(ROLE, "question", sampling=sampling, **call.fields)
        else:  # section 3.3: first an analysis, then the label
            reply = await at.reply(ROLE, "compare", sampling=sampling, analyse=paper.analyse, **call.fields)
    except NO_ANSWER as error:
        return answered(call, at, rubric, why_not=str(error))
    return read(call, reply, at, rubric, "start")


def read(call: TestCall, reply: Reply, at: Run, rubric: str, where: Literal["start", "end"]) -> Rating:
    """The value of a reply: the label at its end from the candidate's side, or 1 for yes and 0 for no."""
    try:
        if call.plain:
            said = read_yes_no(reply.text, where)
            return answered(call, at, rubric, reply, float(said), "yes" if said else "no")
        label = read_label(reply.text)
        return answered(call, at, rubric, reply, from_candidates_side(label, call.place), label_of(label))
    except ReplyProblem as problem:
        return answered(call, at, rubric, reply, why_not=str(problem))


def from_candidates_side(label: float, place: Place) -> float:
    """How much better the candidate is, by a label that says how much better story A, the first one, is.

    With the reference first, this is L+. With the candidate first, it is L- with its sign changed, so that (L+ - L-) is
    the sum.
    """
    return float(-label if label and place == "reference-first" else label)  # a tie stays 0, and does not become -0


def answered(
    call: TestCall,
    at: Run,
    rubric: str,
    reply: Reply | None = None,
    answer: float | None = None,
    shown: str = "",
    *,
    why_not: str = "",
) -> Rating:
    """One answer as a rating."""
    return rating_of(
        call.items,
        reply.model if reply else at.room(ROLE).model.identity,
        evaluator=EVALUATOR,
        rubric=rubric,
        question=call.test.id,
        answer=answer,
        shown=shown,
        unscored=why_not,
        reason=reply.text if reply else "",
        call=f"{at.at}/{call.prompt}",
    )


# one test's outcome, and one story's score ----------------------------------------------------------------------------

_WHERE: Final[dict[Place, str]] = {
    "alone": "the story alone",
    "candidate-first": "the story shown first",
    "reference-first": "the reference shown first",
}


def scored(items: Sequence[Item], bank: Bank, answers: Mapping[TestCall, Rating], how: Mapping[str, Any]) -> Report:
    """The report: "the overall creativity score is the total number of tests passed out of the 14 binary tests"."""
    found: dict[tuple[str, str], dict[TestCall, Rating]] = {}
    for call, rating in answers.items():
        found.setdefault((call.item.id, call.test.id), {})[call] = rating
    results = [outcome(answers) for answers in found.values()]
    passes = {}
    for item in items:
        own = [result for result in results if result.item.id == item.id]
        parts = {name: [one for one in own if slug(one.test.dimension) == name] for name in bank.dimensions}
        passes[item.id] = score_of(own), {name: score_of(part) for name, part in parts.items()}
    return report_of(items, bank, results, passes, {**how, "tests": bank.version})


def outcome(answers: Mapping[TestCall, Rating]) -> Result:
    """The outcome of one test for one story, from its answers.

    By reference this is half of (L+ - L-), so that a preference for one position cancels out; the test is passed if
    it is not below 0 (section 3.2). If an order has no readable label, there is no outcome. Plainly, the test is
    passed if the reply says yes (the release of the tests).
    """
    call, ratings = next(iter(answers)), tuple(answers.values())
    value = value_of([rating] for rating in ratings)
    if value is None:
        reason = next(f"{_WHERE[one.place]}: {rating.unscored}" for one, rating in answers.items() if rating.unscored)
        return Result(call.item, call.test, not call.plain, None, None, reason, ratings)
    return Result(call.item, call.test, not call.plain, value, passed(value, plain=call.plain), "", ratings)


def score_of(results: Sequence[Result]) -> int | None:
    """Sum over tests of I[(L+ - L-) >= 0]: how many are passed (section 3.2).

    A test without an outcome counts as not passed. If no test has an outcome, there is no score. The paper says
    neither.
    """
    if all(result.passed is None for result in results):
        return None
    return sum(bool(result.passed) for result in results)
