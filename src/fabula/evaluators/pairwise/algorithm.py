"""Side-by-side judging: Agents' Room section 6.2, Character Simulation section 4.3.

A judge reads two stories on one prompt, assesses them in detail, and says for each question whether A is better, B is
better, or they are the same. Every pair is shown in both orders. The verdicts become strengths of the systems
(Bradley-Terry).

`evaluate` is the procedure. Its steps up to the verdicts follow: the pairs, two stories in one order, and the written
verdicts. `report.ranked` makes the matrix of wins W and the strengths from them, in
`stats/ranking.py` (`_wins_by_prompt`, `rank_systems`) and `stats/bradley_terry.py` (`fit`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.craft.raters import NO_ANSWER, mark_for, rating_of
from fabula.engine.replies import SIDES, ReplyProblem, read_verdicts
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.pairwise.criteria import CRITERIA, OVERALL, RUBRIC, label, questions_in
from fabula.evaluators.pairwise.report import ranked
from fabula.measure.ratings import SAME, Rating
from fabula.models.base import Reply, Sampling

if TYPE_CHECKING:
    from fabula.evaluators.pairwise.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


ROLE: Final = "judge"
WRITTEN: Final = "written, read from the ending"
_SHORT_REPLY: Final = 700  # tokens of a small judge's assessment
_ENDING_TOKENS: Final = 120
_SHOWN: Final = 4  # names in a message


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Every pair of stories of one prompt is judged in both orders; the verdicts become strengths of their systems.

    Raises:
        UsageError: there is no pair to judge.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    questions = questions_in(config.paper.questions)
    pairs = pairs_of(items)

    # Character Simulation, section 4.3: each pair in both orders.
    showings = showings_of(pairs, run, config, questions, config.paper.samples)
    found = await side_by_side(written(showing) for showing in showings)

    how = {"samples in each order": config.paper.samples, "pairs of stories": len(pairs)}
    return report_of(items, pairs, found, config, {"verdicts": WRITTEN, **how})


def report_of(
    items: Sequence[Item],
    pairs: Sequence[tuple[Item, Item]],
    found: Iterable[Sequence[Rating]],
    config: Config,
    how: Mapping[str, Any],
) -> Report:
    """The win matrix of each question and the strengths from it, with notes on what could not be compared."""
    ratings = [rating for each in found for rating in each]
    report = ranked(ratings, {item.id: item.story.text for item in items}, config, how)
    return replace(report, notes=(*left_out(items, pairs), *report.notes))


# which pairs there are ------------------------------------------------------------------------------------------------


def pairs_of(items: Sequence[Item], most: int | None = None) -> tuple[tuple[Item, Item], ...]:
    """The pairs of stories by different systems on the same prompt, by prompt and id.

    If systems wrote several stories on a prompt, with several seeds, the first of one is compared with the first of
    the other, and so on; if a system wrote fewer, its first story is used again. With `most`, two systems have at
    most that many pairs on a prompt: first those pairs, then each story with the next one, and so on. The order of
    `items` makes no difference.

    Raises:
        UsageError: there is no pair, because there are fewer than two stories, only one system, or no two stories on
            one prompt.
    """
    prompts: dict[str, dict[str, list[Item]]] = {}
    for item in sorted(items, key=lambda item: item.id):
        prompts.setdefault(item.prompt, {}).setdefault(item.contender, []).append(item)
    found = tuple(
        pair
        for _, written in sorted(prompts.items())
        for one, other in combinations(written.values(), 2)
        for pair in _pairs(one, other, most)
    )
    if not found:
        raise UsageError(_why_no_pair(items, prompts))
    return found


def _pairs(one: Sequence[Item], other: Sequence[Item], most: int | None) -> Iterator[tuple[Item, Item]]:
    """At most the given number of pairs of two systems' stories on one prompt, each once.

    By default each story is in one.
    """
    longer, turned = max(len(one), len(other)), len(one) < len(other)
    for n in range(min(longer if most is None else most, len(one) * len(other))):
        at, turn = n % longer, n // longer
        yield one[(at + turn * turned) % len(one)], other[(at + turn * (not turned)) % len(other)]


def left_out(items: Sequence[Item], pairs: Sequence[tuple[Item, Item]]) -> list[str]:
    """A note on systems and stories that cannot be compared with a story of another system, if there are any."""
    used = {item.id for pair in pairs for item in pair}
    ranked_names = {item.contender for item in items if item.id in used}
    lone = sorted({item.contender for item in items} - ranked_names)
    others = sorted(item.id for item in items if item.id not in used and item.contender in ranked_names)
    notes = []
    if lone:
        notes.append(f"Left out because no other system answers their prompts: {', '.join(lone)}.")
    if others:
        shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
        notes.append(f"{len(others)} stories are left out because no other system answers their prompts: {shown}.")
    return notes


def _why_no_pair(items: Sequence[Item], prompts: Iterable[str]) -> str:
    names = sorted({item.contender for item in items})
    if len(items) < 2:  # noqa: PLR2004 - a pair
        return "A comparison needs two stories. Give another story, as in `fabula evaluate pairwise one.md two.md`."
    if len(names) == 1:
        return f"All {len(items)} stories are by one system, {names[0]}. Give stories by another system as well."
    first, more = sorted(prompts)[:_SHOWN], sorted(prompts)[_SHOWN:]
    shown = ", ".join([*map(repr, first), *(["..."] if more else [])])
    return (
        f"No two stories answer the same prompt ({shown}). "
        "Stories are compared within a prompt. Give files of different systems the same name, or the same `prompt`."
    )


# two stories in one order ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Showing:
    """Two stories shown to the judge in one order, for the `sample`th time."""

    whole: Run
    config: Config
    questions: tuple[str, ...]
    first: Item
    second: Item
    sample: int

    @property
    def run(self) -> Run:
        """The run at the place of its calls."""
        return self.whole.scope("compare", self.first.id, self.second.id, self.sample)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields that all prompts on these stories share."""
        names = [name for name in self.questions if name in CRITERIA] or list(CRITERIA)
        texts = (self.first.story.text, self.second.story.text)
        return {
            "criteria": [(label(name), CRITERIA[name]) for name in names],
            "enjoyed": OVERALL in self.questions,
            "first": texts[0],
            "second": texts[1],
            "mark": mark_for(*texts),
        }

    async def assessment(self) -> Reply:
        """The judge's assessment, which ends with its verdicts; one call."""
        short = self.run.room(ROLE).reply_tokens(short=_SHORT_REPLY)
        return await self.run.reply(
            ROLE,
            "compare",
            sampling=Sampling(max_tokens=self.config.paper.max_tokens or short),
            labels=[label(name) for name in self.questions],
            **self.fields,
        )

    def rating(self, question: str, reply: Reply, call: str, side: str, *, why: str = "", shown: str = "") -> Rating:
        """The verdict on one question: A, B, Same, or the reason why there is none."""
        meanings = dict(zip(SIDES, (self.first.id, self.second.id, SAME), strict=True))
        return rating_of(
            (self.first, self.second),
            reply.model,
            evaluator="pairwise",
            rubric=RUBRIC,
            question=question,
            answer=meanings.get(side),
            shown=shown or side,
            unscored="" if side else why or "The judge gave no verdict.",
            call=call,
        )

    def unanswered(self, why: str, questions: Sequence[str] = (), call: str = "") -> list[Rating]:
        """Ratings without a verdict, for a judge that declines or has no room; by default on all questions."""
        nothing = Reply("", model=self.whole.room(ROLE).model.identity)
        at = call or f"{self.run.at}/compare"
        return [self.rating(question, nothing, at, "", why=why) for question in questions or self.questions]


def showings_of(
    pairs: Sequence[tuple[Item, Item]], run: Run, config: Config, questions: tuple[str, ...], samples: int
) -> list[Showing]:
    """Every pair in both orders, as often as there are samples."""
    return [
        Showing(run, config, questions, *order, sample)
        for pair in pairs
        for sample in range(1, samples + 1)
        for order in (pair, pair[::-1])
    ]


async def written(showing: Showing, assessment: Reply | None = None) -> list[Rating]:
    """The verdicts at the end of an assessment. Verdicts that cannot be read are asked for again.

    There is one rating for each question. The assessment is the reason of the first one.
    """
    run, labels = showing.run, [label(name) for name in showing.questions]
    try:
        reply = assessment or await showing.assessment()
    except NO_ANSWER as error:
        return showing.unanswered(str(error))
    found, why = _read(reply.text, labels)
    for attempt in range(run.context.repairs):
        missing = [name for name in labels if name not in found]
        if not missing:
            break
        try:
            again = await run.scope("again", attempt + 1).reply(
                ROLE,
                "conclude",
                sampling=Sampling(max_tokens=_ENDING_TOKENS),
                labels=missing,
                assessment=reply.text,
                **showing.fields,
            )
        except NO_ANSWER as error:
            why = str(error)
            break
        more, why = _read(again.text, missing)
        found |= more
    call = f"{run.at}/compare"
    first, *others = [
        showing.rating(question, reply, call, found.get(label(question), ""), why=why) for question in showing.questions
    ]
    return [replace(first, reason=reply.text.strip()), *others]


def _read(text: str, labels: Sequence[str]) -> tuple[dict[str, str], str]:
    """The verdicts found, and the reasons why others are missing."""
    try:
        return read_verdicts(text, labels), "The judge's ending has no verdict on it."
    except ReplyProblem as problem:
        return {}, str(problem)
