"""What a verdict is worth: it counts only where its quotations stand in the story (specification 6.6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.evaluators.atlas.findings import Found, key_of
from fabula.evaluators.atlas.shapes import DECISIONS, ERROR
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.continuity import Passage
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.findings import Proposal
    from fabula.evaluators.atlas.grounding import Ground
    from fabula.evaluators.atlas.shapes import Verdicts, VerdictSaid

MOST_WORDS: Final = 15  # of a clause (specification 6.5)
_FEWEST_WORDS: Final = 2  # of a quotation that is to prove something
_SENTENCE_WORDS: Final = frozenset({"happens", "established"})
VERIFIER: Final = "verifier"
UNGROUNDED: Final = "ungrounded"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a proposal: a finding, a rejection and why, or no verdict that can be used and why."""

    found: Found | None = None
    rejected: str = ""
    unscored: str = ""


def sound_clause(text: str) -> str:
    """A clause for the paper's sentence on one line; empty where it is too long or brings words of the frame along."""
    told = one_line(text).strip(" .,;")
    said = told.casefold().split()
    return "" if not said or len(said) > MOST_WORDS or _SENTENCE_WORDS & set(said) else told


def weighed(one: Proposal, said: VerdictSaid | None, ground: Ground) -> Outcome:
    """The outcome of a verdict on a proposal; both quotations have to be found, and no explanation."""
    if said is None or said.decision not in DECISIONS:
        told = "gave no verdict on it" if said is None else f"decided {said.decision[:40]!r}, which is no decision"
        return Outcome(unscored=f"The verifier {told}.")
    if said.decision != ERROR:
        return Outcome(rejected=said.decision)
    before = ground.find(one.x, said.quote_x, nearly=True, least=_FEWEST_WORDS)
    after = ground.find(one.y, said.quote_y, nearly=True, least=_FEWEST_WORDS)
    if before is None or after is None:
        return Outcome(rejected=UNGROUNDED, unscored=f"Its quotation is not in scene {one.y if before else one.x}.")
    if (before.scene, before.focus) == (after.scene, after.focus):
        return Outcome(rejected=UNGROUNDED, unscored="Both quotations are the same words.")
    if _explained(one, said, ground, (before, after)):
        return Outcome(rejected="explained")
    return Outcome(_found(one, said, before, after))


def _explained(one: Proposal, said: VerdictSaid, ground: Ground, quoted: tuple[Passage, Passage]) -> bool:
    """Whether the explanation that a verdict quotes stands in the story, and is not one of the two places again."""
    if not said.explanation_quote:
        return False
    scenes = ground.between(one.x, one.y)
    where = ground.find_in(scenes, said.explanation_quote, nearly=True, least=_FEWEST_WORDS)
    return where is not None and all((where.scene, where.focus) != (part.scene, part.focus) for part in quoted)


def _found(one: Proposal, said: VerdictSaid, before: Passage, after: Passage) -> Found:
    fact, event = sound_clause(said.fact), sound_clause(said.event)
    if not (fact and event):
        fact, event = one.fact, one.event
    if one.x == one.y and before.focus > after.focus:
        before, after, fact, event = after, before, event, fact
    # What was proposed by its place keeps its key, whichever words of that place the verifier quotes this time.
    key = one.key if one.before and one.after else key_of(before.quote, after.quote)
    return Found(
        key, one.x, one.y, fact, event, one.subject,
        one_line(said.attribute) or one.category, one.category, one.source, before, after, one_line(said.reason),
    )  # fmt: skip


def record(desk: Desk, one: Proposal, outcome: Outcome, said: VerdictSaid | None, call: str) -> None:
    """Keep a verdict among the ratings, and count what came of it."""
    answer: str | None = None
    if outcome.found is not None:
        answer = ERROR
        desk.counts["confirmed"] += 1
    elif outcome.unscored:
        desk.counts["ungrounded_verdicts" if outcome.rejected else "missing_verdicts"] += 1
    else:
        answer = "no error"
        desk.counts["rejected"] += 1
        desk.counts[f"rejected_{outcome.rejected}"] += 1
    desk.rate(
        VERIFIER, one.key, call, answer=answer, unscored=outcome.unscored, shown=said.decision if said else "",
        reason=one_line(said.reason) if said else "",
    )  # fmt: skip


def closed(desk: Desk, batch: Sequence[Proposal], told: Verdicts | None, ground: Ground, call: str) -> list[Found]:
    """The findings among a batch, by the numbers (from 1) that its proposals had in the prompt.

    Where no reply could be read, each proposal is a verdict that is missing. Of two verdicts on one, the first counts.
    """
    by_number: dict[int, VerdictSaid] = {}
    for said in told.verdicts if told else ():
        by_number.setdefault(said.number, said)
    found = []
    for number, one in enumerate(batch, 1):
        outcome = weighed(one, by_number.get(number), ground)
        record(desk, one, outcome, by_number.get(number), call)
        if outcome.found is not None:
            found.append(outcome.found)
    extra = len(set(by_number) - set(range(1, len(batch) + 1)))
    if extra:
        desk.counts["verdicts_on_nothing"] += extra
    return found
