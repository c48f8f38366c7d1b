"""The verdicts that count: their quotations must be in the story, so that none is made up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.evaluators.atlas.findings import AtlasFinding, claim_key, clause_of
from fabula.evaluators.atlas.replies import DECISIONS, ERROR
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.continuity import Passage
    from fabula.evaluators.atlas.checking import StoryCheck
    from fabula.evaluators.atlas.findings import Proposal
    from fabula.evaluators.atlas.quoting import StoryText
    from fabula.evaluators.atlas.replies import VerdictReply, Verdicts

_FEWEST_WORDS: Final = 2  # of a quotation that is to prove something
UNGROUNDED: Final = "ungrounded"


@dataclass(frozen=True, slots=True)
class ProposalOutcome:
    """The outcome of a proposal: a finding, a rejection with its reason, or why there is no usable verdict."""

    found: AtlasFinding | None = None
    rejected: str = ""
    unscored: str = ""


def confirmed(check: StoryCheck, batch: Sequence[Proposal], reply: Verdicts | None, call: str) -> list[AtlasFinding]:
    """The findings in a batch, by the numbers (from 1) of its proposals in the prompt.

    If no reply could be read, the verdict on each proposal is missing. Of two verdicts on a proposal, the first counts.
    """
    by_number: dict[int, VerdictReply] = {}
    for verdict in reply.verdicts if reply else ():
        by_number.setdefault(verdict.number, verdict)
    found = []
    for number, proposal in enumerate(batch, 1):
        outcome = outcome_of(proposal, by_number.get(number), check.text)
        _record(check, proposal, outcome, by_number.get(number), call)
        if outcome.found is not None:
            found.append(outcome.found)
    if extra := len(set(by_number) - set(range(1, len(batch) + 1))):
        check.counts["verdicts_on_nothing"] += extra
    return found


def outcome_of(proposal: Proposal, verdict: VerdictReply | None, text: StoryText) -> ProposalOutcome:
    """The outcome of a verdict on a proposal; both quotations must be found, and no explanation may be."""
    if verdict is None or verdict.decision not in DECISIONS:
        did = "gave no verdict on it" if verdict is None else f"decided {verdict.decision[:40]!r}, which is no decision"
        return ProposalOutcome(unscored=f"The verifier {did}.")
    if verdict.decision != ERROR:
        return ProposalOutcome(rejected=verdict.decision)
    before = text.find(proposal.x, verdict.quote_x, nearly=True, least=_FEWEST_WORDS)
    after = text.find(proposal.y, verdict.quote_y, nearly=True, least=_FEWEST_WORDS)
    if before is None or after is None:
        scene = proposal.y if before else proposal.x
        return ProposalOutcome(rejected=UNGROUNDED, unscored=f"Its quotation is not in scene {scene}.")
    if (before.scene, before.focus) == (after.scene, after.focus):
        return ProposalOutcome(rejected=UNGROUNDED, unscored="Both quotations are the same words.")
    if _is_explained(proposal, verdict, text, (before, after)):
        return ProposalOutcome(rejected="explained")
    return ProposalOutcome(_found(proposal, verdict, before, after))


def _is_explained(proposal: Proposal, verdict: VerdictReply, text: StoryText, quoted: tuple[Passage, Passage]) -> bool:
    """Whether the explanation that a verdict quotes is in the story, and is not one of the two places."""
    if not verdict.explanation_quote:
        return False
    scenes = text.between(proposal.x, proposal.y)
    where = text.find_in(scenes, verdict.explanation_quote, nearly=True, least=_FEWEST_WORDS)
    return where is not None and all((where.scene, where.focus) != (part.scene, part.focus) for part in quoted)


def _found(proposal: Proposal, verdict: VerdictReply, before: Passage, after: Passage) -> AtlasFinding:
    fact, event = clause_of(verdict.fact), clause_of(verdict.event)
    if not (fact and event):
        fact, event = proposal.fact, proposal.event
    return AtlasFinding(
        proposal.x,
        proposal.y,
        fact,
        event,
        claim_key(before, after, verdict.attribute, fact, event),
        one_line(verdict.attribute),
        "",
        "proposer",
        before,
        after,
        one_line(verdict.reason),
    )


def _record(
    check: StoryCheck, proposal: Proposal, outcome: ProposalOutcome, verdict: VerdictReply | None, call: str
) -> None:
    """Keep a verdict among the ratings, and count its outcome."""
    answer: str | None = None
    if outcome.found is not None:
        answer = ERROR
        check.counts["confirmed"] += 1
    elif outcome.unscored:
        check.undecided += [] if outcome.rejected else [proposal]
        check.counts["ungrounded_verdicts" if outcome.rejected else "missing_verdicts"] += 1
    else:
        answer = "no error"
        check.counts["rejected"] += 1
        check.counts[f"rejected_{outcome.rejected}"] += 1
    check.rate(
        "verifier",
        proposal.key,
        call,
        answer=answer,
        unscored=outcome.unscored,
        shown=verdict.decision if verdict else "",
        reason=one_line(verdict.reason) if verdict else "",
    )
