"""Section 3.2 of the paper, its baseline (section 4.2) and its hybrid (section 5, "ours_opt").

    L+ = LLM(test, reference, candidate)    reference first: how much better the candidate is
    L- = LLM(test, candidate, reference)    candidate first: how much better the reference is
    Score = sum over tests of I[(L+ - L-) >= 0]

Labels are stored from the candidate's side, so L+ as it is, and L- with its sign changed: (L+ - L-) is the sum of the
two stored labels. `evaluate` is the procedure. Below it stand its steps, in order: which method is meant, which calls
there are, one call, one test's outcome, one story's score.

Where the rest of the paper is: section 3.1 in `making/`; the labels of section 3.2 are read in
`engine/replies/labels.py`; section 3.3 and appendix A.1 are `prompts/compare.jinja`; section 4.1 is `data/ttcw.py`;
section 4.2 is `prompts/question.jinja`; section 4.3 (Figures 1 to 3, baselines of Table 1) is `app/reproduce/ttcw.py`
with `stats/correlation.py`; appendix A.2 is `tests.toml`; Table 2, by dimension, is made by `fabula eval meta`
(`app/verdict_files.py`), and its printed numbers are of judges whose replies are not public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.measuring import check_numbers, check_samples
from fabula.craft.raters import NO_ANSWER, performer_of, rating_of
from fabula.engine.methods import values_of
from fabula.engine.replies import LABELS, ReplyProblem, label_of, read_label, read_yes_no
from fabula.engine.run import side_by_side
from fabula.evaluators.ttcw.bank import read_bank
from fabula.evaluators.ttcw.report import AGAIN, Result, report_of
from fabula.evaluators.ttcw.verdicts import EVALUATOR, REFERENCE, passed, value_of
from fabula.measure.items import Item
from fabula.models.base import Sampling
from fabula.story import slug

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.bank import CreativityTest
    from fabula.evaluators.ttcw.config import Config, MethodName, Orders
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report

# How a story is shown: "alone" by the plain method. These words are in the paths of recorded calls.
Place: TypeAlias = Literal["alone", "reference-first", "candidate-first"]

ROLE: Final = "judge"
PLAIN_IN_HYBRID: Final = "originality"  # the dimension that section 5 leaves to the plain method
# Reference first is L+, candidate first is L-. L- is asked first; the lines of `ratings.jsonl` have this order.
ORDERS: Final[dict[Orders, tuple[Place, ...]]] = {
    "both": ("candidate-first", "reference-first"),
    "reference-first": ("reference-first",),
    "candidate-first": ("candidate-first",),
}
_SHORT_REPLY: Final = 1024  # tokens of a small judge's reply
_ANALYSIS_WORDS: Final = 180  # for estimates
_VERDICT_WORDS: Final = 4


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """How many tests each story passes, of 14.

    By reference, a test is passed where the mean of its labels from the candidate's side is not below 0; plainly, where
    the judge says yes.

    Raises:
        UsageError: a setting or the tests' file is wrong, or a story has no reference where the method needs one.
        ModelError: the judge did not answer.
    """
    check_numbers(config, from_1=("samples", "max_tokens"), from_0=("temperature",))
    check_samples(config.paper.samples, config.paper.temperature)
    method = method_for(items, config.paper.method)
    bank = read_bank(config.paper.tests).only(config.ours.only)

    # Section 3.2: each test is conducted twice, with the two texts in alternated order. The plain method asks it once.
    calls = calls_of(items, bank.tests, method, ORDERS[config.paper.orders])
    answers = await side_by_side(ask(call, run, config, bank.version) for call in calls)

    found: dict[tuple[str, str], list[tuple[Call, Sequence[Rating]]]] = {}
    for call, ratings in zip(calls, answers, strict=True):
        found.setdefault((call.item.id, call.test.id), []).append((call, ratings))
    results = [outcome(answered) for answered in found.values()]

    # Section 3.2: the score of a text is the number of tests that it passes.
    of_item = {item.id: [result for result in results if result.item.id == item.id] for item in items}
    passes = {name: passes_of(theirs, bank.dimensions) for name, theirs in of_item.items()}
    return report_of(items, bank, results, passes, values_of(config) | {"method": method, "tests": bank.version})


def method_for(items: Sequence[Item], method: MethodName) -> MethodName:
    """Resolve `auto`: "reference" where every story has a reference, else "plain". Other methods are as they are.

    Raises:
        UsageError: the method needs a reference that a story does not have.
    """
    bare = [item.id for item in items if item.reference is None]
    if method == "auto":
        return "plain" if bare else "reference"
    if method != "plain" and bare:
        others = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        raise UsageError(
            f"The {method} method compares a story with a reference, and {bare[0]}{others} has none. Give one with "
            "--reference FILE, or judge it alone with --method plain."
        )
    return method


# which calls there are ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """A test of a story, plainly or beside its reference in one order; asked once for each sample."""

    item: Item
    test: CreativityTest
    place: Place

    @property
    def plain(self) -> bool:
        """Whether the story is shown without its reference, and the answer is yes or no (section 4.2)."""
        return self.place == "alone"


def calls_of(
    items: Sequence[Item], tests: Sequence[CreativityTest], method: MethodName, orders: Sequence[Place]
) -> list[Call]:
    """All calls, those that share their stories one after the other, so that an engine's prefix cache hits."""

    def plainly(test: CreativityTest) -> bool:
        return method == "plain" or (method == "hybrid" and test.dimension.casefold() == PLAIN_IN_HYBRID)

    places: tuple[Place, ...] = ("alone",) if method == "plain" else ("alone", *orders)
    return [
        Call(item, test, place)
        for item in items
        for place in places
        for test in tests
        if (place == "alone") == plainly(test)
    ]


# one call -------------------------------------------------------------------------------------------------------------


async def ask(call: Call, run: Run, config: Config, rubric: str) -> list[Rating]:
    """The answers to one call, one for each sample; those that cannot be read say so.

    Raises:
        ModelError: the judge did not answer.
    """
    where = run.scope(call.item.id, *call.test.id.split("/"), call.place)
    samples = config.paper.samples
    numbered = [where.scope(number) for number in range(1, samples + 1)] if samples > 1 else [where]
    return await side_by_side(_sample(call, sample, config, rubric) for sample in numbered)


async def _sample(call: Call, run: Run, config: Config, rubric: str) -> Rating:
    """One answer: the prompt of appendix A.1 or the plain question, and what its reply says.

    A label is stored from the candidate's side (`from_candidates_side`), a plain yes as 1, a plain no as 0.
    """
    paper = config.paper
    prompt, fields = ("question", _question(call, config)) if call.plain else ("compare", _comparison(call, config))
    brief = not paper.analyse or (call.plain and paper.answer == "first")
    limit = paper.max_tokens or run.reply_tokens(ROLE, short=_SHORT_REPLY)
    sampling = Sampling(temperature=paper.temperature, max_tokens=limit)
    words = min(_VERDICT_WORDS if brief else _ANALYSIS_WORDS, limit or _ANALYSIS_WORDS)
    try:
        reply = await run.reply(ROLE, prompt, sampling=sampling, expect=words, **fields)
    except NO_ANSWER as error:
        return rating_of(
            _shown_items(call),
            performer_of(run, ROLE).identity,
            evaluator=EVALUATOR,
            rubric=rubric,
            question=call.test.id,
            answer=None,
            unscored=str(error),
            call=f"{run.at}/{prompt}",
        )

    def read() -> float:
        if not call.plain:
            return float(read_label(reply.text))
        return float(read_yes_no(reply.text, "start" if paper.answer == "first" else "end"))

    value: float | None
    why = ""
    try:
        value = run.unless_made_up(read, 0.0)
    except ReplyProblem as problem:
        value, why = None, str(problem)
        if config.ours.conclude:
            prompt += AGAIN
            value, why = await _conclude(call, run, prompt, reply.text)
    shown, answer = "", value
    if value is not None:
        shown = label_of(int(value)) if not call.plain else "yes" if value else "no"
        answer = value if call.plain else from_candidates_side(value, call.place)
    return rating_of(
        _shown_items(call),
        reply.model,
        evaluator=EVALUATOR,
        rubric=rubric,
        question=call.test.id,
        answer=answer,
        shown=shown,
        unscored=why,
        reason=reply.text,
        call=f"{run.at}/{prompt}",
    )


def from_candidates_side(label: float, place: Place) -> float:
    """How much better the candidate is by a label, which says how much better story A is, the one shown first.

    With the reference first this is L+, with the candidate first it is L- with its sign changed.
    """
    return -label if label and place == "reference-first" else label  # a tie stays 0, and does not become -0


def _question(call: Call, config: Config) -> dict[str, Any]:
    return {"story": _text(call.item, config), "answer": config.paper.answer, **_test_fields(call.test, config)}


def _comparison(call: Call, config: Config) -> dict[str, Any]:
    a, b = (_text(item, config) for item in _shown_items(call))
    return {"a": a, "b": b, **_test_fields(call.test, config)}


def _test_fields(test: CreativityTest, config: Config) -> dict[str, Any]:
    return {
        "question": test.question,
        "background": test.background,
        "look": test.look if config.ours.look else "",
        "analyse": config.paper.analyse,
        "guard": config.ours.guard,
    }


def _text(item: Item, config: Config) -> str:
    """A story's text; guarded, without a line that could be taken for the end of the story."""
    return item.story.text.replace("===", "= = =") if config.ours.guard else item.story.text


def _shown_items(call: Call) -> list[Item]:
    """The story, or story and reference in the order in which they are shown."""
    item = call.item
    if call.plain or item.reference is None:
        return [item]
    system = "reference" if item.system else ""
    reference = Item(f"{REFERENCE}{item.prompt or item.id}", item.reference, system, item.prompt)
    return [item, reference] if call.place == "candidate-first" else [reference, item]


_VERDICTS: Final[Mapping[str, Mapping[str, float | None]]] = {
    "question_again": {"Yes": 1.0, "No": 0.0, "Unclear": None},
    "compare_again": {str(number): value for number, value in enumerate(LABELS.values(), 1)} | {"6": None},
}
"""What the judge chooses from when it is asked which verdict its text amounts to, by prompt."""


async def _conclude(call: Call, run: Run, prompt: str, said: str) -> tuple[float | None, str]:
    """Which verdict a reply without a readable one amounts to, or why none; one call."""
    verdicts = _VERDICTS[prompt]
    try:
        chosen = await run.choose(
            list(verdicts), ROLE, prompt, sampling=Sampling(temperature=0), question=call.test.question, said=said
        )
    except (ReplyError, *NO_ANSWER) as error:
        return None, str(error)
    value = verdicts[chosen]
    return value, "" if value is not None else "The judge itself cannot say which verdict its analysis amounts to."


# one test's outcome ---------------------------------------------------------------------------------------------------

_WHERE: Final[dict[Place, str]] = {
    "alone": "the story alone",
    "candidate-first": "the story shown first",
    "reference-first": "the reference shown first",
}


def outcome(answers: Sequence[tuple[Call, Sequence[Rating]]]) -> Result:
    """The outcome of one test for one story, from all its answers.

    By reference, the labels of each order are averaged, and then the two orders, so that a preference for one position
    cancels out: half of (L+ - L-), whose sign is the formula's. The test is passed where this is not below 0 (section
    3.2). Where an order has no readable label there is no outcome. Plainly, the test is passed where the reply says yes
    (the release of the tests); of several samples more than half have to say so (ours). A sample that cannot be read is
    left out of its mean.
    """
    call = answers[0][0]
    ratings = tuple(rating for _, several in answers for rating in several)
    value = value_of(several for _, several in answers)
    if value is None:
        lost = next((asked, several) for asked, several in answers if value_of([several]) is None)
        reason = f"{_WHERE[lost[0].place]}: {lost[1][0].unscored}"
        return Result(call.item, call.test, not call.plain, None, None, reason, ratings)
    return Result(call.item, call.test, not call.plain, value, passed(value, plain=call.plain), "", ratings)


# one story's score ----------------------------------------------------------------------------------------------------


def passes_of(results: Sequence[Result], dimensions: Sequence[str]) -> tuple[int | None, dict[str, int | None]]:
    """The score of one story, and how many tests of each dimension it passes."""
    parts = {name: [result for result in results if slug(result.test.dimension) == name] for name in dimensions}
    return score_of(results), {name: score_of(part) for name, part in parts.items()}


def score_of(results: Sequence[Result]) -> int | None:
    """Sum over tests of I[(L+ - L-) >= 0]: how many are passed (section 3.2).

    A test without outcome counts as not passed; where none has an outcome there is no score (the paper says neither).
    """
    if all(result.passed is None for result in results):
        return None
    return sum(bool(result.passed) for result in results)
