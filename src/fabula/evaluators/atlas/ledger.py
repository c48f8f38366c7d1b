"""Facts as the hybrid's one extraction gives them, checked, and kept in a world state that knows which collide."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from fabula.craft.packing import words
from fabula.evaluators.atlas.entities import bare
from fabula.evaluators.atlas.findings import Proposal
from fabula.evaluators.atlas.shapes import FACT_KINDS, TOLD
from fabula.models.budget import estimate_tokens
from fabula.story import one_line
from fabula.story.world import Fact, Moment, WorldState
from fabula.story.world.facts import DURABILITIES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fabula.continuity import Passage
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.grounding import Ground
    from fabula.evaluators.atlas.pieces import Piece
    from fabula.evaluators.atlas.shapes import Facts, FactSaid
    from fabula.story.world.facts import Durability, Modality

_MOST_NAME: Final = 120
_MOST_QUOTE: Final = 2_000
_HAPPENS: Final = "does"  # the slot of events: somebody may do many things
_PRIOR: Final[Mapping[str, float]] = {"permanent": 0.6, "durable": 0.5, "transient": 0.3}
_NEAR: Final = 0.15  # less for values that share words
KNOWN_TOKENS: Final = 1_200


@dataclass
class Ledger:
    """The facts of a story, in the order of telling; made empty, closed after use.

    Attributes:
        world: all of them; subjects and slots in the form in which they are compared.
        passages: where each fact stands, by its id.
        pieces: the number of the piece that it was read in, by its id.
    """

    ground: Ground
    desk: Desk
    world: WorldState = field(default_factory=WorldState)
    passages: dict[int, Passage] = field(default_factory=dict)
    pieces: dict[int, int] = field(default_factory=dict)

    def add(self, piece: Piece, said: Facts) -> None:
        """Record the facts of a piece whose quotations stand in one of its scenes; others are dropped and counted."""
        facts, passages = [], []
        for one in said.facts:
            place = self.ground.find_in(piece.scenes, one.quote)
            if one.kind not in FACT_KINDS or one.told not in TOLD:
                self.desk.counts["dropped_unknown_kind"] += 1
            elif not (bare(one.subject) and one_line(one.slot) and one_line(one.value)):
                self.desk.counts["dropped_empty_fact"] += 1
            elif place is None:
                self.desk.counts["dropped_fact_without_quote"] += 1
            else:
                facts.append(_fact(one, place))
                passages.append(place)
        for fact, place in zip(self.world.add(facts), passages, strict=True):
            self.passages[fact.id], self.pieces[fact.id] = place, piece.number

    def collisions(self) -> Iterator[Proposal]:
        """Pairs of facts that give one slot two values, with nothing between to account for it, as proposals."""
        self.world.hold_many(_HAPPENS)
        for conflict in self.world.conflicts():
            one, other = conflict.earlier, conflict.later
            left, right = words(str(one.value)), words(str(other.value))
            if left <= right or right <= left:
                continue  # one only says it more exactly
            before, after = self.passages[one.id], self.passages[other.id]
            if (before.scene, before.start) == (after.scene, after.start):
                continue
            score = _PRIOR[min(one.durability, other.durability, key=_lasts)] - _NEAR * bool(left & right)
            yield Proposal(
                before.scene, after.scene, _clause(one), _clause(other), one.subject, _category(one), "facts",
                score, before, after,
            )  # fmt: skip

    def known(self, piece: Piece) -> list[Fact]:
        """Earlier facts about those whom a piece names, most telling first, as many as fit into its prompt."""
        there = words(piece.text)
        earlier = [
            fact
            for fact in self.world.facts()
            if self.pieces[fact.id] < piece.number and fact.restates is None and words(fact.subject) & there
        ]
        # Whole names before parts of them, what lasts before what passes, the latest first.
        earlier.sort(key=lambda f: (not words(f.subject) <= there, f.slot == _HAPPENS, _lasts(f.durability), -f.id))
        kept, left = [], KNOWN_TOKENS
        for fact in earlier:
            left -= estimate_tokens(told(fact)) + 1
            if left < 0:
                break
            kept.append(fact)
        self.desk.counts["known_facts_left_out"] += len(earlier) - len(kept)
        return sorted(kept, key=lambda fact: fact.order)


def _lasts(durability: Durability) -> int:
    return DURABILITIES.index(durability)


def _fact(one: FactSaid, place: Passage) -> Fact:
    lasts = one.lasts if one.lasts in DURABILITIES else "durable"
    slot = _HAPPENS if one.kind == "event" else one_line(one.slot).casefold()[:_MOST_NAME]
    return Fact(
        bare(one.subject)[:_MOST_NAME],
        slot,
        one_line(one.value)[:_MOST_NAME],
        Moment(place.scene, place.focus[0]),
        modality=cast("Modality", one.told),
        source=one_line(one.by)[:_MOST_NAME] if one.told != "asserted" else "",
        durability=lasts,
        quote=place.words[:_MOST_QUOTE],
        span=place.focus,
    )


def told(fact: Fact) -> str:
    """A fact as a line of a prompt, without its number."""
    who = f" ({fact.modality}{f' by {fact.source}' if fact.source else ''})" if fact.modality != "asserted" else ""
    return f"scene {fact.told.scene}: {fact.subject} | {fact.slot} | {fact.value}{who}"


def _clause(fact: Fact) -> str:
    return f"{fact.subject} having {fact.slot} {fact.value}"


def _category(fact: Fact) -> str:
    return "number" if any(sign.isdigit() for sign in str(fact.value)) else "other"
