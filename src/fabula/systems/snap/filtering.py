"""The planning filter (section 4.4): coherence, connectivity and personality, weighed by a rank-one factorisation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.base.errors import UsageError
from fabula.craft.conversation.talk import plan_text
from fabula.engine.dry_run import STALE
from fabula.engine.events import TABLE
from fabula.engine.replies import ReplyProblem, read_chances, read_score
from fabula.models.base import Sampling
from fabula.story import slug
from fabula.systems.snap.coherence import by_words, coherences
from fabula.systems.snap.scores import CRITERIA, headlines, read_scores, rounded, write_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.talk import Step
    from fabula.engine.run import Run
    from fabula.systems.snap.algorithm import Config
    from fabula.systems.snap.scores import Matrix, Row

SCORES: Final = "scores"
_LOW, _HIGH = 1, 5
_SCORES: Final = tuple(str(score) for score in range(_LOW, _HIGH + 1))
_ONE_TOKEN: Final = Sampling(temperature=1.0, top_p=1.0, frequency_penalty=0.0, presence_penalty=0.0, max_tokens=1)
_ROUNDS, _CLOSE = 10_000, 1e-14


def min_max(scores: Matrix) -> Matrix:
    """Each column of `scores` (plans x criteria) brought to 0..1; a column of equal values is 0."""
    low, high = scores.min(axis=0), scores.max(axis=0)
    spread = high - low
    return (scores - low) / np.where(spread > 0, spread, 1.0)  # type: ignore[no-any-return] # numpy's own types


def rank_one(scores: Matrix) -> tuple[float, ...]:
    """The weight of each column by the factorisation of a non-negative matrix into one component; they add up to 1.

    The best component is the first right singular vector, which has no negative entry (section 4.4, equation 1).

    Raises:
        UsageError: the matrix holds something negative, or nothing above 0.
    """
    if scores.ndim != 2 or not scores.size or scores.min() < 0 or not scores.max() > 0:  # noqa: PLR2004 - rows and columns
        raise UsageError("Weights need a table of scores, none below 0 and not all 0. Give more, or different, plans.")
    weights, squares = np.ones(scores.shape[1]), scores.T @ scores
    for _ in range(_ROUNDS):
        better = squares @ weights
        better /= np.linalg.norm(better)
        if np.abs(better - weights).max() < _CLOSE:
            break
        weights = better
    return tuple(float(weight) for weight in weights / weights.sum())


def ranked(scores: Matrix, weights: Sequence[float]) -> Matrix:
    """The weighted sum S of each plan (equation 1), min-max among these plans; shape (plans,)."""
    return min_max(scores) @ np.asarray(weights)  # type: ignore[no-any-return] # numpy's own types


@dataclass(frozen=True)
class Filter:
    """Chooses among the plans of one cell."""

    run: Run
    config: Config
    segment: str
    persona: str

    async def best(self, plans: Sequence[tuple[Step, ...]]) -> tuple[Step, ...]:
        """The plan with the highest sum (equation 2); the first of several. One plan is not scored.

        The scores are kept as `plan/cell-N-plan-scores.csv`, and the choice is made from what stands there: who edits
        a score changes the choice, who takes a line out leaves its plan aside.

        Raises:
            UsageError: an edited table cannot be read, or is of other plans.
        """
        if len(plans) == 1 or not self.config.plan_filter:
            return plans[0]

        async def make(own: Run) -> str:
            # Calls stand at the plan's own place; another take of the scores alone counts beside the plan's takes.
            return await self._table(replace(self.run, take=self.run.take + own.take), plans)

        text = (await self.run.keep(SCORES, make, folder="plan", suffix=TABLE)).replace(STALE, "")
        rows = self._rows(text, [headlines(plan) for plan in plans])
        if not rows:
            return plans[0]
        scores = np.array([row.scores for row in rows])
        sums = ranked(scores, self.config.weights)
        best = int(np.argmax(sums))
        row = rows[best]
        told = ", ".join(f"{name} {value:.4f}" for name, value in zip(CRITERIA, row.scores, strict=True))
        self.run.note(f"Plan {row.plan} of {len(plans)} was chosen ({told}; sum {sums[best]:.4f}).")
        if not row.chosen:
            self.run.note(f"{self._file} marks another plan; its three scores and the weights decide.")
        return plans[row.plan - 1]

    def fits(self, plan: Sequence[Step]) -> bool:
        """Whether a plan is like its segment at all, by its words."""
        return bool(plan) and by_words(plan, self.segment) >= self.config.least_coherence

    @property
    def _place(self) -> str:
        return f"{self.run.at}/{SCORES}"

    @property
    def _file(self) -> str:
        return f"plan/{slug(self._place)}.{TABLE}"

    async def _table(self, run: Run, plans: Sequence[tuple[Step, ...]]) -> str:
        """The plans' scores as a table."""
        async with asyncio.TaskGroup() as group:
            near = group.create_task(coherences(plans, self.segment, run, self.config))
            tasks = [group.create_task(self._judged(run.scope("filter", n), plan)) for n, plan in enumerate(plans, 1)]
        scores = rounded([(first, *task.result()) for first, task in zip(near.result(), tasks, strict=True)])
        sums = ranked(scores, self.config.weights)
        return write_scores(self.run.at.rpartition("/")[0], plans, scores, sums.tolist())

    def _rows(self, text: str, plans: Sequence[str]) -> list[Row]:
        """The table's rows, if they are these plans'; none in a dry run that does not know what the plans will be."""
        rows = sorted(read_scores(text, self._file), key=lambda row: row.plan)
        numbers = [row.plan for row in rows]
        known = all(1 <= row.plan <= len(plans) and row.steps == plans[row.plan - 1] for row in rows)
        if rows and known and len(set(numbers)) == len(numbers):
            return rows
        if self.run.context.dry_run.planned:
            return []
        raise UsageError(
            f"{self._file} is no table of the {len(plans)} plans that there are: each line has a plan's number and its "
            f"steps as they were written, at least one and none twice. Mend the file, or have the plans scored anew: "
            f"`fabula retake {self._place}`."
        )

    async def _judged(self, run: Run, plan: Sequence[Step]) -> tuple[float, float]:
        """Connectivity and personality, 1 to 5."""
        told = plan_text(plan)
        connectivity = await self._rated(run, "connectivity", plan=told)
        fields = {"plan": told, "segment": self.segment, "persona": self.persona}
        return connectivity, await self._rated(run, "personality", **fields)

    async def _rated(self, place: Run, prompt: str, **fields: str) -> float:
        """G-Eval: the mean of samples of one token, or the expected score by the tokens' probabilities (section 5.1).

        Answers that are no score do not count; without any, the score is the lowest.
        """
        able = place.context.cast.assignment("judge").performer.capabilities.logprobs
        if self.config.scoring == "logprobs" or (self.config.scoring == "auto" and able):
            reply = await place.weigh(_SCORES, "judge", prompt, sampling=_ONE_TOKEN, **fields)
            if reply.logprobs is None:
                return _mean([reply.text])
            try:
                chances = read_chances(reply.logprobs, _SCORES)
            except ReplyProblem:
                return float(_LOW)
            return sum(int(score) * chance for score, chance in chances.items())
        async with asyncio.TaskGroup() as group:
            samples = [
                group.create_task(
                    place.scope("sample", number).ask("judge", prompt, sampling=_ONE_TOKEN, expect=1, **fields)
                )
                for number in range(1, self.config.samples + 1)
            ]
        return _mean([task.result() for task in samples])


def _mean(texts: Sequence[str]) -> float:
    """The mean of the scores in some replies."""
    found: list[float] = []
    for text in texts:
        try:
            found.append(read_score(text, _LOW, _HIGH))
        except ReplyProblem:
            continue
    return sum(found) / len(found) if found else float(_LOW)
