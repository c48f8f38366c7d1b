"""The judge as fabula would ask it: verdicts weighed by probabilities if the engine gives them, else three samples.

Prompts contain the cautions that Agents' Room gave to people, say that orders in a story are part of it, and ask the
question after the stories. Pairs, written verdicts and strengths are those of the papers (`algorithm.py`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.craft.raters import NO_ANSWER
from fabula.engine.replies import SIDES, ReplyProblem, read_chances, read_choice
from fabula.engine.run import apart, side_by_side
from fabula.evaluators.pairwise.algorithm import ROLE, WRITTEN, Showing, pairs_of, report_of, showings_of, written
from fabula.evaluators.pairwise.config import ADAPTIVE, SAME_SEED, Ours
from fabula.evaluators.pairwise.criteria import label, questions_in
from fabula.evaluators.pairwise.verdicts import choices_in, pair_choices
from fabula.models.base import Sampling
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.engine.run import Run
    from fabula.evaluators.pairwise.config import Config
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report

    Pair = tuple[Item, Item]

_WORD: Final = Sampling(temperature=0.0, max_tokens=4)
_UNWEIGHED: Final = (
    "The judge's server gives no log-probabilities, so verdicts are not weighed by probabilities. They are "
    "written, {samples} in each order."
)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Every pair of stories of one prompt is judged in both orders; the verdicts become strengths of their systems.

    Raises:
        UsageError: there is no pair to judge.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    ours = config.ours or Ours()
    questions = questions_in(config.paper.questions)
    pairs = pairs_of(items, int(ours.pairs) if ours.pairs.isdecimal() else None)
    judge = run.room(ROLE).model.capabilities
    # A person who stands in for a model says a verdict once, in the ending, and has no probabilities.
    able = judge.logprobs and not judge.stands_in
    wanted = ours.verdicts == "logprobs" or (ours.verdicts == "auto" and able)

    # Whether verdicts can be weighed shows in the first ones; a server may give less than its kind can.
    trial = Showing(run, config, questions, *pairs[0], 1)
    first, weighs = await apart(weighed(trial, or_written=True)) if wanted else (None, False)
    samples = 1 if weighs else config.paper.samples

    # As many at a time as the judge answers: all calls on two stories follow each other and share their beginning.
    free = asyncio.Semaphore(max(judge.parallel, 1))

    async def judged(showing: Showing) -> list[Rating]:
        async with free:
            return (await weighed(showing))[0] if weighs else await written(showing)

    async def all_judged(batch: Sequence[tuple[Item, Item]]) -> list[list[Rating]]:
        showings = showings_of(batch, run, config, questions, samples)
        done = first is not None and batch[0] == pairs[0]
        return list(await side_by_side(judged(showing) for showing in (showings[1:] if done else showings)))

    others: list[list[Rating]] = []
    if ours.pairs == ADAPTIVE:
        to_judge, asked = PairsToJudge(pairs, config), pairs[:0]
        while batch := to_judge.next(
            [*([first] if first else []), *others], whole=run.context.unless_made_up(lambda: False, instead=True)
        ):
            others += await all_judged(batch)
            asked += tuple(batch)
        pairs = asked
    else:
        others = await all_judged(pairs)
    how = {
        **({} if weighs else {"verdicts": WRITTEN}),
        "samples in each order": samples,
        "assessment first": ours.assess or not weighs,
        "pairs of stories": len(pairs),
        **({} if ours.pairs == SAME_SEED else {"pairs": ours.pairs}),
        **({"width of an interval": ours.width} if ours.pairs == ADAPTIVE else {}),
    }
    report = report_of(items, pairs, (first, *others) if first else others, config, how)
    unweighed = (_UNWEIGHED.format(samples=samples),) if wanted and not weighs else ()
    return replace(report, notes=(*unweighed, *report.notes))


async def weighed(showing: Showing, *, or_written: bool = False) -> tuple[list[Rating], bool]:
    """The likeliest answer to each question, with the probabilities of all three (ours), and true.

    With `or_written`, the written verdicts and false if the server gives no probabilities.
    """
    assess = (showing.config.ours or Ours()).assess
    try:
        said = await showing.assessment() if assess else None
    except NO_ANSWER as error:
        return showing.unanswered(str(error)), True
    text = said.text if said else ""
    found = await side_by_side(_weighed(showing, question, text) for question in showing.questions)
    if or_written and not any(given for _, given in found):
        return await written(showing, said), False
    first, *others = (rating for rating, _ in found)
    return [replace(first, reason=text.strip()), *others], True


async def _weighed(showing: Showing, question: str, assessment: str) -> tuple[Rating, bool]:
    """One verdict, and whether there were probabilities to weigh it by."""
    run = showing.run.scope(question)
    fields = {**showing.fields, "label": label(question), "assessment": assessment}
    try:
        reply = await run.weigh(SIDES, ROLE, "verdict", sampling=_WORD, **fields)
    except NO_ANSWER as error:
        (lost,) = showing.unanswered(str(error), (question,), f"{run.at}/verdict")
        return lost, True
    call, given = f"{run.at}/verdict", reply.logprobs is not None
    try:
        if reply.logprobs is None:  # now and then there are none: the answer itself is all there is
            return showing.rating(question, reply, call, read_choice(reply.text, SIDES)), given
        shares = read_chances(reply.logprobs, SIDES)
    except ReplyProblem as problem:
        return showing.rating(question, reply, call, "", why=str(problem)), given
    ordered = sorted(SIDES, key=lambda side: -shares[side])
    shown = ", ".join(f"{side} {shares[side]:.9f}" for side in ordered)
    return showing.rating(question, reply, call, ordered[0], shown=shown), given


# adaptive comparisons -------------------------------------------------------------------------------------------------
# The next pairs are those of systems whose share of wins is not known well enough yet.


LEAST: Final = 8
"""Prompts on which every two systems are compared before their interval is looked at."""
_BATCH: Final = 4  # pairs of stories that are judged of two systems before it is looked at again


class PairsToJudge:
    """Pairs of stories by their two systems, given out a few at a time.

    Pairs come from one prompt after another, and then from the next stories on the first prompt, because intervals are
    by prompt.

    Args:
        pairs: all pairs that may be judged.
        config: settings with the wanted width.
    """

    def __init__(self, pairs: Sequence[Pair], config: Config) -> None:
        self._config, self._width = config, config.ours.width if config.ours else 0.0
        turns: dict[tuple[str, str, str], int] = defaultdict(int)
        left: dict[tuple[str, str], list[tuple[int, Pair]]] = defaultdict(list)
        for pair in pairs:
            names = pair[0].contender, pair[1].contender
            turns[pair[0].prompt, *names] += 1
            left[names].append((turns[pair[0].prompt, *names], pair))
        self._left = {names: [p for _, p in sorted(own, key=lambda entry: entry[0])] for names, own in left.items()}
        self._given: dict[tuple[str, str], int] = dict.fromkeys(self._left, 0)

    def next(self, found: Iterable[Sequence[Rating]], *, whole: bool = False) -> list[Pair]:
        """The next pairs, chosen from the results so far; none if every interval is narrow enough or no pair is left.

        With `whole`, all remaining pairs, whatever the results.
        """
        widths = {} if whole else self._widths([rating for each in found for rating in each])
        batch = []
        for names, pairs in self._left.items():
            given = self._given[names]
            if given >= LEAST and widths.get(names, 1.0) <= self._width:
                continue
            upto = len(pairs) if whole else max(given + _BATCH, LEAST)
            batch += pairs[given:upto]
            self._given[names] = min(upto, len(pairs))
        return batch

    def _widths(self, ratings: Sequence[Rating]) -> dict[tuple[str, str], float]:
        """For every two systems, the width of the widest interval of the share of wins on any question."""
        scores: dict[tuple[str, tuple[str, str]], tuple[list[float], list[str]]] = defaultdict(lambda: ([], []))
        verdicts = choices_in(ratings)
        for question in {verdict.question for verdict in verdicts}:
            for pair in pair_choices([v for v in verdicts if v.question == question], self._config.margin):
                names = pair.names if pair.names in self._left else pair.names[::-1]
                score = pair.score if pair.names == names else 1 - pair.score
                scores[question, names][0].append(score)
                scores[question, names][1].append(pair.prompt)
        widest: dict[tuple[str, str], float] = {}
        for (_, names), (values, prompts) in scores.items():
            share = share_of(values, prompts)
            known = isinstance(share, Estimate) and share.low is not None and share.high is not None
            width = share.high - share.low if known else 1.0  # type: ignore[union-attr,operator]  # known
            widest[names] = max(widest.get(names, 0.0), width)
        return widest
