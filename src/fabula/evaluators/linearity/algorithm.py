"""Linearity (SNAP, section 5), counted: how often a dialogue is back in its story soon after a digression.

Section 5: linearity is "the dialogue's ability to return to its original flow or focus after any deviations or
digressions". `evaluate` is the procedure. Its steps follow: finding the digressions, and the two ways of deciding
which turn is back in the story, by shared words and by a judge.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.digressions import MARK, digressions_in, utterances_of
from fabula.craft.measuring import check_numbers, checked
from fabula.craft.raters import mark_for, rating_of, source_of
from fabula.engine.methods import values_of
from fabula.engine.replies import ReplyProblem, read_chances, read_choice
from fabula.engine.run import side_by_side
from fabula.evaluators.linearity.passages import Narrative
from fabula.evaluators.linearity.report import BASELINES, CUT, EVALUATOR, Digression, DigressionOutcome, report_of
from fabula.models.base import Sampling
from fabula.stats.estimate import Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.digressions import Utterance
    from fabula.engine.run import Run
    from fabula.evaluators.linearity.config import Config
    from fabula.evaluators.linearity.report import Back, Baseline
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.measure.report import Report

ROLE: Final = "judge"
RUBRIC: Final = "linearity-1"
AWAY: Final = "elsewhere"
BACK: Final = "story"
OPTIONS: Final = (AWAY, BACK)  # an estimate takes the first, which asks for most calls
_SHORT_REPLY: Final = 8  # tokens of a small judge's one word
_EVEN: Final = 0.5
_SHOWN: Final = 200  # letters


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The shares of digressions after which dialogues are back in the story, by kind and system, with differences.

    Raises:
        UsageError: a setting is wrong, a dialogue lacks its narrative, or no digression is marked.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    check_numbers(config, from_1=("within", "reach"), from_0=("checks",))
    checked(items)

    # Where the player leaves the story, and what the characters say next.
    found = [one for item in items for one in digressions_of(item, config.within, config.reach)]
    if not found:
        raise UsageError(
            f"No digression is marked in any of the {len(items)} dialogues. Let a simulated player leave the story "
            f"with `fabula lab digress`, or mark turns yourself: `Jonas {MARK}: words`."
        )
    answered = [one for one in found if one.turns]

    # Which turn is the first that is back, by shared words; of two trivial characters too, of whom the truth is known.
    outcomes = [DigressionOutcome(one, "words", "", back_by_words(one)) for one in found]
    outcomes += [DigressionOutcome(one, "words", who, back_by_words(one, who)) for who in BASELINES for one in answered]
    how = values_of(config)

    # The same as a judge says.
    if config.judge:
        step = max(len(answered) // config.checks, 1) if config.checks else 1
        tried = answered[::step][: config.checks]
        asked: list[tuple[Digression, Baseline]] = [(one, "") for one in found]
        asked += [(one, who) for who in BASELINES for one in tried]
        outcomes += await side_by_side(back_by_judge(one, who, run) for one, who in asked)
        how |= {"judged by": run.room(ROLE).model.identity}
    return report_of(items, found, outcomes, how)


# finding the digressions ----------------------------------------------------------------------------------------------


def digressions_of(item: Item, within: int, reach: int) -> tuple[Digression, ...]:
    """The marked digressions of a dialogue, in order.

    Each comes with the next `within` turns of characters before the digression after it, and with the `reach` sentences
    of the narrative around the place that the dialogue had reached.

    Raises:
        UsageError: the dialogue lacks its narrative, or a mark is in a wrong place.
    """
    lines = utterances_of(item.story.text, f"dialogue {item.id}")
    starts = digressions_in(lines)
    narrative = Narrative.of(source_of(item))
    found: list[Digression] = []
    for number, start in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(lines)
        said = lines[start]
        turns = [at for at in range(start + 1, end) if lines[at].who != said.who][:within]
        last = turns[-1] if turns else start
        digression = Digression(
            item,
            number,
            said,
            before=tuple(lines[max(start - 2, 0) : start]),
            window=tuple(lines[start + 1 : last + 1]),
            turns=tuple(at - start - 1 for at in turns),
            cut=len(turns) < within,
            passage=narrative.around([line.text for line in lines[:start] if line.who != said.who], reach),
        )
        found.append(digression)
    return tuple(found)


def window_of(digression: Digression, who: Baseline = "") -> Sequence[Utterance]:
    """The turns after a digression, with the characters' own turns or those of a trivial character.

    One trivial character hears nothing and continues with the narrative ("deaf"). The other repeats the player
    ("echo").
    """
    window = list(digression.window)
    for number, turn in enumerate(digression.turns, 1):
        if who:
            text = digression.passage.coming(number) if who == "deaf" else digression.said.text
            window[turn] = replace(window[turn], text=text)
    return window


# which turn is back ---------------------------------------------------------------------------------------------------


def back_by_words(digression: Digression, who: Baseline = "") -> Back:
    """The number of the first turn that shares words with the narrative; or 0 if none does in time."""
    window = window_of(digression, who)
    for number, turn in enumerate(digression.turns, 1):
        if digression.passage.holds(window[turn].text, digression.said.text, digression.names):
            return number
    return Unscored(CUT) if digression.cut else 0


async def back_by_judge(digression: Digression, who: Baseline, run: Run) -> DigressionOutcome:
    """The number of the first turn that a judge calls back.

    The judge is asked turn by turn, until it says so or gives an unusable verdict.

    Raises:
        ModelError: the judge did not answer.
    """
    found: list[Rating] = []
    back: Back = Unscored(CUT) if digression.cut else 0
    for number in range(1, len(digression.turns) + 1):
        found.append(await _verdict(digression, who, number, run))
        if found[-1].answer != AWAY:
            back = Unscored(found[-1].unscored) if found[-1].unscored else number
            break
    return DigressionOutcome(digression, "judge", who, back, tuple(found))


async def _verdict(digression: Digression, who: Baseline, number: int, run: Run) -> Rating:
    """Whether one turn is back, after the fourth question of Table 30."""
    at = run.scope(digression.item.id, digression.number, *([who] if who else []), number)
    window = window_of(digression, who)[: digression.turns[number - 1] + 1]
    passage = digression.passage.text
    lines = (*digression.before, digression.said, *window)
    reply = await at.weigh(
        OPTIONS,
        ROLE,
        "back",
        sampling=Sampling(temperature=0.0, max_tokens=at.room(ROLE).reply_tokens(short=_SHORT_REPLY)),
        passage=passage,
        lines=lines,
        who=window[-1].who,
        player=digression.said.who,
        mark=mark_for(passage, *(line.text for line in lines)),
        options=OPTIONS,
    )
    answer, shown, why = _read(reply.text, reply.logprobs)
    question = (f"digression {digression.number}", digression.said.kind, f"turn {number}", who)
    return rating_of(
        [digression.item],
        run.room(ROLE).model.identity,
        evaluator=EVALUATOR,
        rubric=RUBRIC,
        question="/".join(part for part in question if part),
        answer=answer,
        call=f"{at.at}/back",
        shown=shown,
        unscored=why,
        reason="" if answer else reply.text.strip()[:_SHOWN],
    )


def _read(text: str, logprobs: Mapping[str, float] | None) -> tuple[str | None, str, str]:
    """The meaning of a reply, the words shown for it (with the chance of "story" if known), or why it is unusable."""
    try:
        if logprobs is None:
            return read_choice(text, OPTIONS), text.strip()[:_SHOWN], ""
        chance = read_chances(logprobs, OPTIONS)[BACK]
    except ReplyProblem as problem:
        return None, "", str(problem)
    return BACK if chance >= _EVEN else AWAY, f"{chance:.3f}", ""
