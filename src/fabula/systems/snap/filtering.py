"""The planning filter (section 4.4): coherence, connectivity and personality, weighed by a rank-one factorisation."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.chatting.talk import plan_text
from fabula.craft.memory import tf_idf
from fabula.craft.sentences import sentences
from fabula.errors import UsageError
from fabula.models.base import Sampling
from fabula.replies import ReplyProblem, read_chances, read_score

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from fabula.chatting.talk import Step
    from fabula.run import Run
    from fabula.systems.snap.algorithm import Config

    Matrix: TypeAlias = NDArray[np.float64]

CRITERIA: Final = ("coherence", "connectivity", "personality")
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
    weights = np.ones(scores.shape[1])
    for _ in range(_ROUNDS):
        rows = scores @ weights
        better = scores.T @ rows
        better /= np.linalg.norm(better)
        if np.abs(better - weights).max() < _CLOSE:
            break
        weights = better
    return tuple(float(weight) for weight in weights / weights.sum())


def fit(scores: Matrix) -> tuple[float, ...]:
    """The weights learned from plans that were scored (plans x criteria): min-max, then `rank_one`.

    Raises:
        UsageError: no column tells the plans apart.
    """
    return rank_one(min_max(scores))


def ranked(scores: Matrix, weights: Sequence[float]) -> Matrix:
    """The weighted sum S of each plan (equation 1); shape (plans,)."""
    return min_max(scores) @ np.asarray(weights)  # type: ignore[no-any-return] # numpy's own types


@dataclass(frozen=True)
class Filter:
    """Chooses among the plans of one cell."""

    run: Run
    config: Config
    segment: str
    persona: str

    async def best(self, plans: Sequence[tuple[Step, ...]]) -> tuple[Step, ...]:
        """The plan with the highest sum (equation 2); the first of several. One plan is not scored."""
        if len(plans) == 1 or not self.config.plan_filter:
            return plans[0]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._scores(n, plan)) for n, plan in enumerate(plans, 1)]
        scores = np.array([task.result() for task in tasks])
        sums = ranked(scores, self.config.weights)
        chosen = int(np.argmax(sums))
        told = ", ".join(f"{name} {value:.4f}" for name, value in zip(CRITERIA, scores[chosen], strict=True))
        self.run.note(f"Plan {chosen + 1} of {len(plans)} was chosen ({told}; sum {sums[chosen]:.4f}).")
        return plans[chosen]

    def fits(self, plan: Sequence[Step]) -> bool:
        """Whether a plan is like its segment at all."""
        return bool(plan) and self._coherence(plan) >= self.config.least_coherence

    def _coherence(self, plan: Sequence[Step]) -> float:
        """Cosine of the TF-IDF vectors of plan and segment, 0 to 1."""
        text = " ".join(step.text for step in plan)
        parts = [self.segment, *sentences(self.segment)]
        return float(tf_idf(text, parts)[0])

    async def _scores(self, number: int, plan: Sequence[Step]) -> tuple[float, float, float]:
        told, place = plan_text(plan), self.run.scope("filter", number)
        fields = {"plan": told, "segment": self.segment, "persona": self.persona}
        connectivity = await self._rated(place, "connectivity", plan=told)
        return self._coherence(plan), connectivity, await self._rated(place, "personality", **fields)

    async def _rated(self, place: Run, prompt: str, **fields: str) -> float:
        """G-Eval: the mean of samples of one token, or the expected score by the tokens' probabilities (section 5.1).

        Answers that are no score do not count; without any, the score is the lowest.
        """
        able = place.hands.cast.part("judge").performer.capabilities.logprobs
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
