"""One test put to one story: the calls, what they answer, and the test's outcome."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError
from fabula.engine.replies import LABELS, ReplyProblem, label_of, read_label, read_yes_no
from fabula.measure.ratings import Rating
from fabula.models.base import Sampling
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.algorithm import Config
    from fabula.evaluators.ttcw.bank import CreativityTest
    from fabula.measure.items import Item
    from fabula.measure.ratings import RaterKind

Place: TypeAlias = Literal["alone", "candidate-first", "reference-first"]

EVALUATOR: Final = "ttcw"
PLAIN_IN_HYBRID: Final = "originality"  # the dimension that section 5 leaves to the plain method
REFERENCE: Final = "reference"
HALF: Final = 0.5
_NUMBERED: Final = {str(number): value for number, value in enumerate(LABELS.values(), 1)}
_CANNOT_TELL: Final = "6"
_UNCLEAR: Final = "Unclear"
_NO_STORY: Final = Story()  # never shown: where the method needs a reference, every story has one
AGAIN: Final = "_again"  # ends the path of a call in which the judge says what its text amounts to
_ANALYSIS_WORDS: Final = 180  # for estimates
_VERDICT_WORDS: Final = 4


@dataclass(frozen=True, slots=True)
class Call:
    """A test of a story, alone or beside its reference in one order; asked once for each sample."""

    item: Item
    test: CreativityTest
    place: Place


@dataclass(frozen=True, slots=True)
class Result:
    """A test's outcome for a story.

    Attributes:
        value: by reference, the order-corrected mean of the labels, -2 to 2; alone, the share of replies that say yes;
            `None` where there is none.
        passed: whether the test is passed; `None` where there is no value.
        reason: why there is no value.
        ratings: all answers.
    """

    item: Item
    test: CreativityTest
    by_reference: bool
    value: float | None
    passed: bool | None
    reason: str
    ratings: tuple[Rating, ...]

    @property
    def answered(self) -> int:
        """How many answers could be read."""
        return sum(rating.answer is not None for rating in self.ratings)


def calls_of(
    items: Sequence[Item], tests: Sequence[CreativityTest], method: str, orders: Sequence[Place]
) -> list[Call]:
    """All calls, those that share their stories one after the other, so that an engine's prefix cache hits."""
    calls = []
    for item in items:
        places: tuple[Place, ...] = ("alone",) if method == "plain" else ("alone", *orders)
        for place in places:
            calls += [Call(item, test, place) for test in tests if (place == "alone") == _plainly(test, method)]
    return calls


def _plainly(test: CreativityTest, method: str) -> bool:
    own_dimension = test.dimension.casefold() == PLAIN_IN_HYBRID
    return method == "plain" or (method == "hybrid" and own_dimension)


@dataclass(frozen=True, slots=True)
class Asking:
    """The judge of a run, asked as the configuration wants."""

    run: Run
    config: Config
    rubric: str

    async def ratings(self, call: Call) -> tuple[Rating, ...]:
        """The answers to one call, one for each sample; those that cannot be read say so.

        Raises:
            ModelError: the judge did not answer.
        """
        where = self.run.scope(call.item.id, *call.test.id.split("/"), call.place)
        several = self.config.samples > 1
        asked = [where.scope(number) if several else where for number in range(1, self.config.samples + 1)]
        ask = self._alone if call.place == "alone" else self._beside
        return tuple([await ask(call, run) for run in asked])

    async def _alone(self, call: Call, run: Run) -> Rating:
        config = self.config
        first = config.answer == "first"
        fields = {"story": self._text(call.item.story), "answer": config.answer, **self._fields(call)}
        question = _Question(
            "question",
            "question_again",
            fields,
            lambda text: float(read_yes_no(text, "start" if first else "end")),
            {"Yes": 1.0, "No": 0.0, _UNCLEAR: None},
        )
        given = await self._ask(run, question, brief=first or not config.analyse)
        shown = "" if given.value is None else "yes" if given.value else "no"
        return self._rating(call, run, given, given.value, shown)

    async def _beside(self, call: Call, run: Run) -> Rating:
        candidate_first = call.place == "candidate-first"
        texts = [self._text(call.item.story), self._text(call.item.reference or _NO_STORY)]
        a, b = texts if candidate_first else reversed(texts)
        question = _Question(
            "compare",
            "compare_again",
            {"a": a, "b": b, **self._fields(call)},
            read_label,
            {**_NUMBERED, _CANNOT_TELL: None},
        )
        given = await self._ask(run, question, brief=not self.config.analyse)
        value = None if given.value is None else given.value if candidate_first else -given.value
        shown = "" if given.value is None else label_of(int(given.value))
        return self._rating(call, run, given, value, shown)

    def _text(self, story: Story) -> str:
        """A story's text; guarded, without a line that could be taken for the end of the story."""
        return story.text.replace("===", "= = =") if self.config.guard else story.text

    def _fields(self, call: Call) -> dict[str, Any]:
        test, config = call.test, self.config
        return {
            "question": test.question,
            "background": test.background,
            "look": test.look if config.look else "",
            "analyse": config.analyse,
            "guard": config.guard,
        }

    async def _ask(self, run: Run, question: _Question, *, brief: bool) -> _Given:
        """What the judge answers; where it cannot be read, what it says the answer amounts to."""
        sampling = Sampling(temperature=self.config.temperature, max_tokens=self.config.max_tokens)
        expect = min(_VERDICT_WORDS if brief else _ANALYSIS_WORDS, self.config.max_tokens)
        reply = await run.reply("judge", question.prompt, sampling=sampling, expect=expect, **question.fields)
        try:
            return _Given(question.read(reply.text), reply.text, reply.model, question.prompt)
        except ReplyProblem as problem:
            # What a placeholder of a dry run would be asked for once more is not worth an estimate.
            if not self.config.conclude or run.context.mode == "dry":
                return _Given(None, reply.text, reply.model, question.prompt, str(problem))
        asked = {"question": question.fields["question"], "said": reply.text}
        try:
            chosen = await run.choose(
                list(question.options), "judge", question.again, sampling=Sampling(temperature=0), **asked
            )
        except ReplyError as error:
            return _Given(None, reply.text, reply.model, question.again, str(error))
        why = "The judge itself cannot say which verdict its analysis amounts to."
        value = question.options[chosen]
        return _Given(value, reply.text, reply.model, question.again, why if value is None else "")

    def _rating(self, call: Call, run: Run, given: _Given, value: float | None, shown: str) -> Rating:
        item, alone = call.item, call.place == "alone"
        shown_items, systems = [(item.id, f"{REFERENCE}:{item.prompt or item.id}"), (item.system, REFERENCE)]
        if call.place == "reference-first":
            shown_items, systems = shown_items[::-1], systems[::-1]
        return Rating(
            rater=given.by or "judge",
            kind=_kind(given.by),
            items=(item.id,) if alone else shown_items,
            systems=() if not item.system else (item.system,) if alone else systems,
            prompt=item.prompt,
            question=call.test.id,
            shown=shown,
            answer=value,
            unscored=given.why_not,
            reason=given.text,
            rubric=self.rubric,
            evaluator=EVALUATOR,
            call=f"{run.at}/{given.prompt}",
        )


@dataclass(frozen=True, slots=True)
class _Question:
    """A prompt, the one for where its reply cannot be read, how it is read, and what the judge then chooses from."""

    prompt: str
    again: str
    fields: Mapping[str, Any]
    read: Callable[[str], float]
    options: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class _Given:
    """What a judge gave: a value or why there is none, its text, who it was, and the prompt that settled it."""

    value: float | None
    text: str
    by: str
    prompt: str
    why_not: str = ""


def _kind(who: str) -> RaterKind:
    kind = who.partition(":")[0]
    return kind if kind in {"person", "program"} else "model"  # type: ignore[return-value] # one of the three


def results_of(answers: Sequence[tuple[Call, Sequence[Rating]]]) -> list[Result]:
    """The outcome of each test for each story, stories and tests in the order of the calls."""
    found: dict[tuple[str, str], list[tuple[Call, Sequence[Rating]]]] = {}
    for call, ratings in answers:
        found.setdefault((call.item.id, call.test.id), []).append((call, ratings))
    return [_result(answered) for answered in found.values()]


def _result(answers: Sequence[tuple[Call, Sequence[Rating]]]) -> Result:
    """The outcome of one test for one story, from all its answers.

    By reference, the labels of each order are averaged, and then the two orders, so that a liking for one side cancels
    out; the test is passed where this mean is not below 0 (section 3.2). Where an order has no readable label there is
    no outcome. Alone, the test is passed where more than half of the replies say yes.
    """
    call = answers[0][0]
    by_reference = call.place != "alone"
    ratings = tuple(rating for _, several in answers for rating in several)
    means, reason = [], ""
    for asked, several in answers:
        values = [float(rating.answer) for rating in several if isinstance(rating.answer, int | float)]
        if values:
            means.append(fmean(values))
        else:
            reason = f"{_WHERE[asked.place]}: {several[0].unscored}"
    if reason:
        return Result(call.item, call.test, by_reference, None, None, reason, ratings)
    value = fmean(means)
    passed = value >= 0 if by_reference else value > HALF
    return Result(call.item, call.test, by_reference, value, passed, "", ratings)


_WHERE: Final[dict[Place, str]] = {
    "alone": "the story alone",
    "candidate-first": "the story shown first",
    "reference-first": "the reference shown first",
}
