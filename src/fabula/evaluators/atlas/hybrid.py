"""Ours: rules and a model propose from local facts; a model verifies in local windows.

No prompt grows with the story, as those of the paper's way do, which is why a book costs about a sixth of it.

1. Rules propose without a model.
2. The story is cut into pieces, and one call takes the facts out of each.
3. Two values of one slot propose; and so does a model that sees a piece beside what is known of those it names.
4. The best proposals are shown to a verifier, each with what stands around its two places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from fabula.continuity import Candidate, Windows
from fabula.continuity import check as detected
from fabula.craft.packing import ELLIPSIS, words
from fabula.craft.raters import mark_for
from fabula.engine.run import side_by_side
from fabula.evaluators.atlas.findings import CATEGORIES, Proposal, valid_clause
from fabula.evaluators.atlas.graph import bare
from fabula.evaluators.atlas.replies import FACT_KINDS, FACT_MODALITIES, Clashes, Facts, Verdicts
from fabula.evaluators.atlas.verdicts import confirmed
from fabula.models.budget import estimate_tokens
from fabula.story import one_line
from fabula.story.sentences import paragraph_spans, spans
from fabula.story.world import Fact, Moment, WorldState
from fabula.story.world.facts import DURABILITIES, MAX_NAME, MAX_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from fabula.continuity import NumberedScene, Passage
    from fabula.evaluators.atlas.checking import StoryCheck
    from fabula.evaluators.atlas.findings import Found
    from fabula.evaluators.atlas.replies import ClashReply, FactReply
    from fabula.story.world.facts import Durability, Modality

PIECE_TOKENS: Final = 3_300  # with the instructions and what is known, a prompt stays below 6,000
KNOWN_TOKENS: Final = 1_200  # of known facts beside a piece
WINDOW_TOKENS: Final = 4_300  # of all windows of one prompt
_ONE_WINDOW: Final = 430  # tokens; less is shown around passages that have more
_REST_TOKENS: Final = 2_400  # that instructions, known facts and schema may take beside a piece
_LEAST_PIECE: Final = 400
_FULL: Final = 0.85  # a piece that is as full as that ends with its scene
_LETTERS: Final = 2  # characters that are surely no more than a token
_REACHES: Final = (2, 1, 0)
_BETWEEN: Final = 300  # characters shown of a sentence from between
_LONGEST: Final = 1200  # characters shown of a sentence without end
_OF_MODEL: Final = 0.8  # where a model's proposal stands among the rules' scores
_BOTH: Final = 0.15  # more for what two ways of proposing agree on
_PRIOR: Final[Mapping[str, float]] = {"permanent": 0.6, "durable": 0.5, "transient": 0.3}
_NEAR: Final = 0.15  # less for values that share words
_PER_1000_WORDS: Final = 1.5  # calls of a whole check, judge included; 60 for 100 pages
_LEAST_BATCHES: Final = 6
_HAPPENS: Final = "does"  # the slot of events: somebody may do many things


async def hybrid(check: StoryCheck) -> tuple[list[Found], dict[str, Any]]:
    """What rules or the model propose and the verifier confirms, and what it went by.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    counts = check.counts

    # 1. Rules.
    detections = detected(check.scenes)
    by_rules = [Proposal.of(one) for one in detections.candidates]

    # 2. Facts of each piece, recorded in the order of the story.
    pieces = pieces_of(check.scenes, _piece_tokens(check))
    replies = await side_by_side(extract(check, piece) for piece in pieces)
    with WorldState() as world:
        facts = KnownFacts(check, world)
        for piece, reply in zip(pieces, replies, strict=True):
            facts.add(piece, reply)

        # 3. Proposals from facts that collide, and from the model.
        by_facts = list(facts.collisions())
        compared = await side_by_side(compare(check, piece, facts) for piece in pieces)
    by_model = [proposal for of_piece in compared for proposal in of_piece]
    counts["candidates_of_rules"] += len(by_rules)
    counts["candidates_of_rules_cut"] += detections.cut
    counts["candidates_of_facts"] += len(by_facts)
    counts["candidates_of_model"] += len(by_model)

    # 4. Verdicts on the best.
    ranked = united([*by_rules, *by_facts, *by_model])
    calls = 2 * len(pieces) + check.config.paper.baseline
    most = max(_LEAST_BATCHES, int(_PER_1000_WORDS * detections.words / 1000) - calls)
    batches = batched(ranked, check.scenes, check.config.ours.batch, most)
    counts["candidates_not_verified"] += len(ranked) - sum(map(len, batches))
    verified = await side_by_side(settle(check, number, batch) for number, batch in enumerate(batches, 1))
    found = [one for of_batch in verified for one in of_batch]
    return found, {"facts": len(facts.passages), "pieces": len(pieces), "raised": dict(detections.raised)}


async def extract(check: StoryCheck, piece: Piece) -> Facts | None:
    """The facts of a piece; `None` where no reply could be had.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    at = check.run.scope("facts", piece.number)
    return await check.ask(at, Facts, "grapher", "facts", text=piece.text, mark=mark_for(piece.text))


async def compare(check: StoryCheck, piece: Piece, facts: KnownFacts) -> list[Proposal]:
    """What the model sees that cannot be, in a piece or between it and what is known.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    known = facts.known(piece)
    reply = await check.ask(
        check.run.scope("compare", piece.number),
        Clashes,
        "proposer",
        "compare",
        text=piece.text,
        mark=mark_for(piece.text),
        known=[as_line(fact) for fact in known],
        categories=list(CATEGORIES.items()),
    )
    placed = [(fact.subject, facts.passages[fact.id]) for fact in known]
    proposals = (_proposal(check, clash, piece, placed) for clash in (reply.findings if reply else ()))
    return [one for one in proposals if one is not None]


async def settle(check: StoryCheck, number: int, batch: Sequence[Shown]) -> list[Found]:
    """What the verifier confirms of a batch.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    at = check.run.scope("settle", number)
    mark = mark_for(*(text for shown in batch for text in (shown.before, shown.after)))
    reply = await check.ask(at, Verdicts, "verifier", "settle", shown=batch, mark=mark)
    return confirmed(check, [shown.proposal for shown in batch], reply, f"{at.at}/settle")


# pieces of the story ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScenePart:
    """The characters of one scene from `start` to `end`."""

    scene: NumberedScene
    start: int
    end: int

    @property
    def text(self) -> str:
        """Its words, below the scene's number and title; and whether it goes on from before."""
        title = f": {self.scene.title}" if self.scene.title else ""
        more = " (goes on)" if self.start else ""
        return f"[Scene {self.scene.number}{title}]{more}\n" + self.scene.text[self.start : self.end].strip("\n")


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read in one call: parts of scenes in a row; `number` counts from 1."""

    number: int
    parts: tuple[ScenePart, ...]

    @property
    def text(self) -> str:
        """The parts, each below its scene's number and title."""
        return "\n\n".join(part.text for part in self.parts)

    @property
    def scenes(self) -> tuple[int, ...]:
        """The numbers of its scenes."""
        return tuple(part.scene.number for part in self.parts)


def pieces_of(scenes: Sequence[NumberedScene], most: int = PIECE_TOKENS) -> tuple[Piece, ...]:
    """The story in pieces of at most about `most` tokens.

    A piece ends with a scene where it is full enough by then; else the next scene is begun in it and cut at the end of
    a paragraph, so that a story of many short scenes does not need a call for each.
    """
    found: list[Piece] = []
    parts: list[ScenePart] = []
    room = most
    for scene in scenes:
        at = 0
        for start, end in _blocks(scene.text, most):
            size = estimate_tokens(scene.text[start:end])
            if size > room and (parts or start > at):
                parts += [ScenePart(scene, at, start)] if start > at else []
                found.append(Piece(len(found) + 1, tuple(parts)))
                parts, room, at = [], most, start
            room -= size
        parts.append(ScenePart(scene, at, len(scene.text)))
        if room <= most * (1 - _FULL):
            found.append(Piece(len(found) + 1, tuple(parts)))
            parts, room = [], most
    return (*found, Piece(len(found) + 1, tuple(parts))) if parts else tuple(found)


def _blocks(text: str, most: int) -> Iterator[tuple[int, int]]:
    """The paragraphs of a text; the sentences of one that is too long, and stretches of a sentence that is."""
    for start, end in paragraph_spans(text):
        if estimate_tokens(text[start:end]) <= most:
            yield start, end
            continue
        for a, b in spans(text[start:end]):
            step = most * _LETTERS if estimate_tokens(text[start + a : start + b]) > most else b - a
            yield from ((at, min(at + step, start + b)) for at in range(start + a, start + b, step))


def _piece_tokens(check: StoryCheck) -> int:
    """How many tokens of text one call may read: less where the model has little room."""
    rooms = [check.prompt_room("grapher", "facts"), check.prompt_room("proposer", "compare")]
    return max(_LEAST_PIECE, min([PIECE_TOKENS, *(room - _REST_TOKENS for room in rooms if room is not None)]))


# known facts --------------------------------------------------------------------------------------------------------


class KnownFacts:
    """The facts of a story, checked, in a world state that knows which collide.

    Attributes:
        world: all of them; subjects and slots in the form in which they are compared.
        passages: where each fact stands, by its id.
    """

    def __init__(self, check: StoryCheck, world: WorldState) -> None:
        self.check, self.world = check, world
        self.passages: dict[int, Passage] = {}
        self._pieces: dict[int, int] = {}

    def add(self, piece: Piece, reply: Facts | None) -> None:
        """Record the facts of a piece whose quotations stand in one of its scenes; others are dropped and counted."""
        facts, passages, counts = [], [], self.check.counts
        for one in reply.facts if reply else ():
            place = self.check.text.find_in(piece.scenes, one.quote)
            if one.kind not in FACT_KINDS or one.modality not in FACT_MODALITIES:
                counts["dropped_unknown_kind"] += 1
            elif not (bare(one.subject) and one_line(one.slot) and one_line(one.value)):
                counts["dropped_empty_fact"] += 1
            elif max(map(len, (one.subject, one.slot, one.by))) > MAX_NAME or len(one.value) > MAX_TEXT:
                counts["dropped_long_fact"] += 1
            elif place is None:
                counts["dropped_fact_without_quote"] += 1
            else:
                facts.append(_fact(one, place))
                passages.append(place)
        for fact, place in zip(self.world.add(facts), passages, strict=True):
            self.passages[fact.id], self._pieces[fact.id] = place, piece.number

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
            yield Proposal(
                before.scene,
                after.scene,
                f"{one.subject} having {one.slot} {one.value}",
                f"{other.subject} having {other.slot} {other.value}",
                one.subject,
                "number" if any(sign.isdigit() for sign in str(one.value)) else "other",
                "facts",
                _PRIOR[min(one.durability, other.durability, key=_lasts)] - _NEAR * bool(left & right),
                before,
                after,
            )

    def known(self, piece: Piece) -> list[Fact]:
        """Earlier facts about those whom a piece names, most important first, as many as fit into its prompt."""
        there = words(piece.text)
        earlier = [
            fact
            for fact in self.world.facts()
            if self._pieces[fact.id] < piece.number and fact.restates is None and words(fact.subject) & there
        ]
        # Whole names before parts of them, what lasts before what passes, the latest first.
        earlier.sort(key=lambda f: (not words(f.subject) <= there, f.slot == _HAPPENS, _lasts(f.durability), -f.id))
        kept, left = [], KNOWN_TOKENS
        for fact in earlier:
            left -= estimate_tokens(as_line(fact)) + 1
            if left < 0:
                break
            kept.append(fact)
        self.check.counts["known_facts_left_out"] += len(earlier) - len(kept)
        return sorted(kept, key=lambda fact: fact.order)


def _lasts(durability: Durability) -> int:
    return DURABILITIES.index(durability)


def _fact(one: FactReply, place: Passage) -> Fact:
    return Fact(
        bare(one.subject),
        _HAPPENS if one.kind == "event" else one_line(one.slot).casefold(),
        one_line(one.value),
        Moment(place.scene, place.focus[0]),
        modality=cast("Modality", one.modality),
        source=one_line(one.by) if one.modality != "asserted" else "",
        durability=one.lasts if one.lasts in DURABILITIES else "durable",
        quote=place.words[:MAX_TEXT],
        span=place.focus,
    )


def as_line(fact: Fact) -> str:
    """A fact as a line of a prompt, without its number."""
    who = f" ({fact.modality}{f' by {fact.source}' if fact.source else ''})" if fact.modality != "asserted" else ""
    return f"scene {fact.told.scene}: {fact.subject} | {fact.slot} | {fact.value}{who}"


# proposals ----------------------------------------------------------------------------------------------------------


def _proposal(
    check: StoryCheck, clash: ClashReply, piece: Piece, known: Sequence[tuple[str, Passage]]
) -> Proposal | None:
    """A clash with both its passages; `None`, counted, where one of them is not to be found.

    `known` holds subject and passage of the facts that the prompt numbered from 1.
    """
    after = check.text.find_in(piece.scenes, clash.quote_y, nearly=True)
    subject, before = "", check.text.find_in(piece.scenes, clash.quote_x, nearly=True)
    if 0 < clash.known <= len(known):
        subject, before = known[clash.known - 1]
    fact, event = valid_clause(clash.fact), valid_clause(clash.event)
    if before is None or after is None or before.focus == after.focus:
        check.counts["dropped_proposal_without_quote"] += 1
        return None
    if not (fact and event):
        check.counts["dropped_clause"] += 1
        return None
    if (before.scene, before.start) > (after.scene, after.start):
        before, after, fact, event = after, before, event, fact
    category = clash.category if clash.category in CATEGORIES else "other"
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


# windows for the verifier -------------------------------------------------------------------------------------------


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
    shown = Shown(one, "", "", ())
    if before is None or after is None:
        return shown
    candidate = Candidate(one.source, one.subject, (one.fact, one.event), before, after, 0.0, cues=one.cues)
    for reach in _REACHES:
        window = windows.around(candidate, reach)
        first = _whole(before.quote, window.before.quote)
        second = _whole(after.quote, window.after.quote)
        between = tuple((part.scene, _begun(part.quote, _BETWEEN)) for part in window.between)
        shown = Shown(one, first, second, between)
        if shown.tokens <= _ONE_WINDOW:
            break
    return shown


def _whole(passage: str, window: str) -> str:
    """The window, where it holds the passage (one of several sentences may reach further)."""
    return _begun(window if passage in window else passage, _LONGEST)


def _begun(text: str, most: int) -> str:
    """The first words of a text that has more than `most` characters, and a mark for the rest."""
    return text if len(text) <= most else f"{text[:most].rpartition(' ')[0] or text[:most]} {ELLIPSIS}"
