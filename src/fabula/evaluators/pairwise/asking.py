"""Asking the judge: one pair of stories in one order, as often as the config says."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.raters import kind_of, mark_for
from fabula.engine.replies import SIDES, ReplyProblem, read_chances, read_choice, read_verdicts
from fabula.evaluators.pairwise.criteria import CRITERIA, RUBRIC, label
from fabula.measure.ratings import SAME, Rating
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.pairwise.algorithm import Config
    from fabula.evaluators.pairwise.pairs import Pair
    from fabula.measure.items import Item
    from fabula.models.base import Reply

ROLE: Final = "judge"
_ASSESSMENT_WORDS: Final = 300  # for estimates: the length of the assessment in Agents' Room appendix E
_ENDING_TOKENS: Final = 120
_WORD: Final = Sampling(temperature=0.0, max_tokens=4)


@dataclass(frozen=True)
class Judge:
    """A judge at work: what is asked, how, and the run.

    Attributes:
        weighs: verdicts are weighed by the probabilities of their first tokens.
    """

    run: Run
    config: Config
    questions: tuple[str, ...]
    weighs: bool

    async def judged(self, pairs: Sequence[Pair]) -> tuple[Rating, ...]:
        """The verdicts on all pairs: both orders of the first pair, then those of the next.

        Raises:
            ModelError: the judge did not answer.
            BudgetError: the cap is reached.
        """
        # As many at a time as the judge answers: all calls on two stories follow each other and share their beginning.
        free = asyncio.Semaphore(max(self.run.context.cast.assignment(ROLE).performer.capabilities.parallel, 1))
        samples = 1 if self.weighs else self.config.samples

        async def one(first: Item, second: Item, sample: int) -> list[Rating]:
            async with free:
                return await _Showing(self, first, second, sample).verdicts()

        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(one(*order, sample))
                for pair in pairs
                for sample in range(1, samples + 1)
                for order in (pair, pair[::-1])
            ]
        return tuple(rating for task in tasks for rating in task.result())


@dataclass(frozen=True)
class _Showing:
    """Two stories in one order, before the judge."""

    judge: Judge
    first: Item
    second: Item
    sample: int

    @property
    def run(self) -> Run:
        return self.judge.run.scope("compare", self.first.id, self.second.id, self.sample)

    @property
    def fields(self) -> dict[str, Any]:
        """What all prompts on these stories hold."""
        questions = [name for name in self.judge.questions if name in CRITERIA] or list(CRITERIA)
        texts = (self.first.story.text, self.second.story.text)
        return {
            "criteria": [(label(name), CRITERIA[name]) for name in questions],
            "first": texts[0],
            "second": texts[1],
            "mark": mark_for(*texts),
            "cautions": self.judge.config.cautions,
            "guard": self.judge.config.guard,
        }

    async def verdicts(self) -> list[Rating]:
        """One rating for each question; the assessment is the reason of the first of them."""
        labels = [label(name) for name in self.judge.questions]
        sampling = Sampling(max_tokens=self.judge.config.max_tokens)
        fields = self.fields
        reply = None
        if self.judge.config.assess or not self.judge.weighs:
            reply = await self.run.reply(
                ROLE, "compare", sampling=sampling, expect=_ASSESSMENT_WORDS, labels=labels, **fields
            )
        if self.judge.weighs:
            told = [await self._weighed(name, reply.text if reply else "", fields) for name in self.judge.questions]
        else:
            assert reply is not None  # noqa: S101 - for the type checker: it was asked above
            told = await self._written(reply, labels, fields)
        return [replace(told[0], reason=reply.text.strip() if reply else ""), *told[1:]]

    async def _written(self, reply: Reply, labels: Sequence[str], fields: dict[str, Any]) -> list[Rating]:
        """The verdicts that an assessment ends with; what cannot be read there is asked for again."""
        found, problem = _read(reply.text, labels)
        tries = 0 if self.run.context.mode == "dry" else self.run.context.repairs
        for attempt in range(tries):
            missing = [name for name in labels if name not in found]
            if not missing:
                break
            again = await self.run.scope("again", attempt + 1).reply(
                ROLE, "conclude", sampling=Sampling(max_tokens=_ENDING_TOKENS), labels=missing,
                assessment=reply.text, **fields,
            )  # fmt: skip
            more, problem = _read(again.text, missing)
            found |= more
        call = f"{self.run.at}/compare"
        return [
            self._rating(name, reply, call, said=found.get(label(name), ""), problem=problem)
            for name in self.judge.questions
        ]

    async def _weighed(self, question: str, assessment: str, fields: dict[str, Any]) -> Rating:
        """The likeliest answer to one question, with the probabilities of all three."""
        run = self.run.scope(question)
        told = {**fields, "label": label(question), "assessment": assessment}
        reply = await run.weigh(SIDES, ROLE, "verdict", sampling=_WORD, **told)
        call = f"{run.at}/verdict"
        try:
            if reply.logprobs is None:  # a person or a server that gives none: the answer itself is all there is
                return self._rating(question, reply, call, said=read_choice(reply.text, SIDES))
            shares = read_chances(reply.logprobs, SIDES)
        except ReplyProblem as problem:
            return self._rating(question, reply, call, said="", problem=str(problem))
        likeliest = max(SIDES, key=lambda side: shares[side])
        ordered = sorted(SIDES, key=lambda side: -shares[side])
        shown = ", ".join(f"{side} {shares[side]:.9f}" for side in ordered)
        return replace(self._rating(question, reply, call, said=likeliest), shown=shown)

    def _rating(self, question: str, reply: Reply, call: str, said: str, problem: str = "") -> Rating:
        answers = dict(zip(SIDES, (self.first.id, self.second.id, SAME), strict=True))
        known = bool(self.first.system and self.second.system)
        return Rating(
            rater=reply.model or ROLE,
            kind=kind_of(reply.model),
            items=(self.first.id, self.second.id),
            systems=(self.first.system, self.second.system) if known else (),
            prompt=self.first.prompt,
            question=question,
            shown=said,
            answer=answers.get(said),
            unscored="" if said else problem or "The judge gave no verdict.",
            rubric=RUBRIC,
            evaluator="pairwise",
            call=call,
        )


def _read(text: str, labels: Sequence[str]) -> tuple[dict[str, str], str]:
    """The verdicts found, and why others were not."""
    try:
        found = read_verdicts(text, labels)
    except ReplyProblem as problem:
        return {}, str(problem)
    return found, "The judge's ending has no verdict on it."
