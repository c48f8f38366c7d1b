"""Ours (world_state 4.3): rules and a model propose from local facts; a model verifies in local windows."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.continuity import Candidate, Windows, check
from fabula.craft.raters import mark_for
from fabula.evaluators.atlas.findings import CATEGORIES, Proposal
from fabula.evaluators.atlas.graph import GRAPHER
from fabula.evaluators.atlas.ledger import Ledger, told
from fabula.evaluators.atlas.paper import PROPOSER
from fabula.evaluators.atlas.pieces import MOST, pieces_of
from fabula.evaluators.atlas.shapes import Clashes, Facts, Verdicts
from fabula.evaluators.atlas.verifying import VERIFIER, closed, sound_clause
from fabula.models.budget import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.continuity import NumberedScene
    from fabula.evaluators.atlas.algorithm import Config
    from fabula.evaluators.atlas.desk import Desk
    from fabula.evaluators.atlas.findings import Found
    from fabula.evaluators.atlas.grounding import Ground
    from fabula.evaluators.atlas.pieces import Piece
    from fabula.evaluators.atlas.shapes import ClashSaid

WINDOW_TOKENS: Final = 4_300  # of all windows of one prompt
_WINDOW: Final = 430  # of one; less is shown around its passages where it has more
_REST: Final = 2_400  # tokens that instructions, known facts and schema may take beside a piece
_LEAST_PIECE: Final = 400
_REACHES: Final = (2, 1, 0)
_OF_MODEL: Final = 0.8  # where a model's proposal stands among the rules' scores
_BOTH: Final = 0.15  # more for what two ways of proposing agree on
_PER_1000_WORDS: Final = 1.5  # calls of a whole check, judge included; 60 for 100 pages
_LEAST_BATCHES: Final = 6
_BETWEEN: Final = 300  # characters shown of a sentence from between
_LONGEST: Final = 1200  # characters shown of a sentence without end


@dataclass(frozen=True, slots=True)
class Shown:
    """A proposal as the verifier reads it: the scenes' numbers and what is quoted from them."""

    proposal: Proposal
    before: str
    after: str
    between: tuple[tuple[int, str], ...]

    @property
    def tokens(self) -> int:
        """About how many it has in the prompt."""
        texts = (self.before, self.after, *(text for _, text in self.between), self.proposal.fact, self.proposal.event)
        return sum(map(estimate_tokens, texts)) + 60 + 8 * len(self.between)


async def contradictions(
    scenes: Sequence[NumberedScene], desk: Desk, ground: Ground, config: Config
) -> tuple[list[Found], dict[str, Any]]:
    """What rules or the model propose and the verifier confirms, and what it went by.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    checked = check(scenes)
    pieces = pieces_of(scenes, _piece_tokens(desk))
    ledger = Ledger(ground, desk)
    with ledger.world:
        await _extracted(pieces, ledger, desk)
        rules = [Proposal.of(one) for one in checked.candidates]
        clashes = list(ledger.collisions())
        seen = await _proposed(pieces, ledger, desk)
        facts = len(ledger.passages)
    desk.counts["candidates_of_rules"] += len(rules)
    desk.counts["candidates_of_rules_cut"] += checked.cut
    desk.counts["candidates_of_facts"] += len(clashes)
    desk.counts["candidates_of_model"] += len(seen)
    ranked = united([*rules, *clashes, *seen])
    most = _batches_for(checked.words, 2 * len(pieces) + config.baseline)
    batches = batched(ranked, scenes, config.batch, most)
    desk.counts["candidates_not_verified"] += len(ranked) - sum(map(len, batches))
    found = await _verified(batches, desk, ground)
    return found, {"facts": facts, "pieces": len(pieces), "raised": dict(checked.raised)}


def _piece_tokens(desk: Desk) -> int:
    """How many tokens of text one call may read: less where the model has little room."""
    rooms = [desk.room(GRAPHER, "facts"), desk.room(PROPOSER, "compare")]
    return max(_LEAST_PIECE, min([MOST, *(room - _REST for room in rooms if room is not None)]))


async def _extracted(pieces: Sequence[Piece], ledger: Ledger, desk: Desk) -> None:
    """Have the facts of all pieces taken out, side by side, and recorded in the order of telling."""

    async def one(piece: Piece) -> Facts | None:
        at = desk.run.scope("facts", piece.number)
        return await desk.ask(at, Facts, GRAPHER, "facts", text=piece.text, mark=mark_for(piece.text))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(piece)) for piece in pieces]
    for piece, task in zip(pieces, tasks, strict=True):
        if said := task.result():
            ledger.add(piece, said)


async def _proposed(pieces: Sequence[Piece], ledger: Ledger, desk: Desk) -> list[Proposal]:
    """What the model sees that cannot be, in each piece or between it and what is known."""

    async def one(piece: Piece) -> list[Proposal]:
        known = ledger.known(piece)
        said = await desk.ask(
            desk.run.scope("compare", piece.number), Clashes, PROPOSER, "compare", text=piece.text,
            mark=mark_for(piece.text), known=[told(fact) for fact in known], categories=list(CATEGORIES.items()),
        )  # fmt: skip
        passages = [ledger.passages[fact.id] for fact in known]
        subjects = [fact.subject for fact in known]
        placed = (_placed(clash, piece, ledger, passages, subjects) for clash in (said.findings if said else ()))
        return [one for one in placed if one is not None]

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(piece)) for piece in pieces]
    return [one for task in tasks for one in task.result()]


def _placed(
    said: ClashSaid, piece: Piece, ledger: Ledger, known: Sequence[Any], subjects: Sequence[str]
) -> Proposal | None:
    """A clash with both its passages; `None`, counted, where one of them is not to be found."""
    ground, counts = ledger.ground, ledger.desk.counts
    after = ground.find_in(piece.scenes, said.quote_y, nearly=True)
    numbered = 0 < said.known <= len(known)
    before = known[said.known - 1] if numbered else ground.find_in(piece.scenes, said.quote_x, nearly=True)
    fact, event = sound_clause(said.fact), sound_clause(said.event)
    if before is None or after is None or before.focus == after.focus:
        counts["dropped_proposal_without_quote"] += 1
        return None
    if not (fact and event):
        counts["dropped_clause"] += 1
        return None
    if (before.scene, before.start) > (after.scene, after.start):
        before, after, fact, event = after, before, event, fact
    category = said.category if said.category in CATEGORIES else "other"
    subject = subjects[said.known - 1] if numbered else ""
    return Proposal(before.scene, after.scene, fact, event, subject, category, "model", _OF_MODEL, before, after)


def united(proposals: Iterable[Proposal]) -> list[Proposal]:
    """One proposal for every two sentences, the best; what two ways propose stands higher. Best first."""
    found: dict[tuple[object, ...], Proposal] = {}
    ways: dict[tuple[object, ...], set[str]] = {}
    for one in sorted(proposals, key=lambda p: -p.score):
        place = _place(one)
        way = one.source.partition(" ")[0]
        if way not in ways.setdefault(place, set()):
            ways[place].add(way)
            best = found.setdefault(place, one)
            if best is not one:
                found[place] = replace(best, score=best.score + _BOTH, cues=best.cues or one.cues)
    return sorted(found.values(), key=lambda p: (-p.score, _place(p)))


def _place(one: Proposal) -> tuple[object, ...]:
    if one.before is None or one.after is None:
        return (one.x, one.y, one.fact, one.event)
    return (one.x, one.before.start, one.y, one.after.start)


def _batches_for(words: int, calls: int) -> int:
    """How many verifications a story of that length may have beside `calls` others."""
    return max(_LEAST_BATCHES, int(_PER_1000_WORDS * words / 1000) - calls)


def batched(proposals: Sequence[Proposal], scenes: Sequence[NumberedScene], size: int, most: int) -> list[list[Shown]]:
    """The best proposals in at most `most` batches of at most `size`, each small enough for one prompt."""
    windows = Windows(scenes)
    batches: list[list[Shown]] = [[]]
    left = WINDOW_TOKENS
    for one in proposals:
        shown = windowed(one, windows)
        if batches[-1] and (len(batches[-1]) == size or shown.tokens > left):
            if len(batches) == most:
                break
            batches.append([])
            left = WINDOW_TOKENS
        batches[-1].append(shown)
        left -= shown.tokens
    return [batch for batch in batches if batch]


def windowed(one: Proposal, windows: Windows) -> Shown:
    """A proposal with the sentences around its passages, as many as fit, and those between that may explain it."""
    before, after = one.before, one.after
    if before is None or after is None:
        return Shown(one, "", "", ())
    candidate = Candidate(one.source, one.subject, (one.fact, one.event), before, after, 0.0, cues=one.cues)
    shown = Shown(one, "", "", ())
    for reach in _REACHES:
        window = windows.around(candidate, reach)
        first = _whole(before.quote, window.before.quote)
        second = _whole(after.quote, window.after.quote)
        between = tuple((part.scene, part.quote[:_BETWEEN]) for part in window.between)
        shown = Shown(one, first, second, between)
        if shown.tokens <= _WINDOW:
            break
    return shown


def _whole(passage: str, window: str) -> str:
    """The window, where it holds the passage (one of several sentences may reach further); cut where it never ends."""
    return (window if passage in window else passage)[:_LONGEST]


async def _verified(batches: Sequence[Sequence[Shown]], desk: Desk, ground: Ground) -> list[Found]:
    """What the verifier confirms of the batches, asked side by side."""

    async def one(number: int, batch: Sequence[Shown]) -> list[Found]:
        at = desk.run.scope("settle", number)
        mark = mark_for(*(text for shown in batch for text in (shown.before, shown.after)))
        said = await desk.ask(at, Verdicts, VERIFIER, "settle", shown=batch, mark=mark)
        return closed(desk, [shown.proposal for shown in batch], said, ground, f"{at.at}/settle")

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(n, batch)) for n, batch in enumerate(batches, 1)]
    return [found for task in tasks for found in task.result()]
