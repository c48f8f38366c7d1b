"""What detectors find: two passages of a story that may not both be true, and what is shown of them to a verifier."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.continuity.book import Book, singular
from fabula.continuity.lexicon import CHANGE_CUES, FUNCTION, MADE_OTHER, REPORT_CUES, SECOND_CUES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabula.continuity.book import Line
    from fabula.continuity.scenes import NumberedScene

_CUES: Final = (("change", CHANGE_CUES), ("report", REPORT_CUES), ("second", SECOND_CUES))
_CUE_COST: Final = 0.04
MOST_VALUES: Final = 8  # a slot with more values than this is no slot that has one value at a time
_MOST_PAIRS: Final = 12
MOST_BETWEEN: Final = 5
_EXPLAINING: Final = CHANGE_CUES | REPORT_CUES | SECOND_CUES


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a scene, and the words in it that are in question.

    Attributes:
        scene: number of the scene.
        start, end: of the sentence, in characters of the scene's text.
        quote: the sentence as it stands there: `scene.text[start:end]`.
        focus: start and end of the words in question, in characters of the scene's text.
    """

    scene: int
    start: int
    end: int
    quote: str
    focus: tuple[int, int]

    @property
    def words(self) -> str:
        """The words in question."""
        return self.quote[self.focus[0] - self.start : self.focus[1] - self.start]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Two passages that a detector compares; no verdict.

    Attributes:
        detector: which one found it; one of `DETECTORS`.
        subject: what it is about, such as "logbook" or "elena voss".
        values: what the earlier and what the later passage say.
        before, after: the passages, in the order of the text.
        score: 0 to 1; orders candidates, and is no probability.
        tight: the detector's strict rule holds too, so that it can be reported without a model.
        cues: words near the later passage that may explain the change, as "change: moved"; evidence for a verifier,
            never a reason to drop the candidate, since such words also stand where nothing is explained.
    """

    detector: str
    subject: str
    values: tuple[str, str]
    before: Passage
    after: Passage
    score: float
    tight: bool = False
    cues: tuple[str, ...] = ()

    @property
    def fact(self) -> str:
        """The earlier statement as a clause, in the paper's manner."""
        return f"{self.subject} being {self.values[0]}" if self.subject else self.values[0]

    @property
    def event(self) -> str:
        """The later statement as a clause."""
        return f"{self.subject} being {self.values[1]}" if self.subject else self.values[1]

    @property
    def inside(self) -> bool:
        """Whether both passages lie in one scene, which the paper leaves out."""
        return self.before.scene == self.after.scene


@dataclass(frozen=True, slots=True)
class Claim:
    """A value that a sentence gives to a slot.

    Attributes:
        key: the slot, such as "colour of logbook".
        subject: what it is about, as a reader is shown it.
        value: what counts when claims are compared.
        line: the sentence.
        start, end: the words that say it, in characters of the scene's text.
        owner: whose it is, where known; claims of two known owners are not compared.
        definite: it speaks of a known thing ("the", "her", a name).
        firm: it can take part in a tight candidate.
        frame: other words of the group; claims with other frames may speak of other things.
    """

    key: str
    subject: str
    value: str
    line: Line
    start: int
    end: int
    owner: str = ""
    definite: bool = False
    firm: bool = False
    frame: frozenset[str] = frozenset()


def passage(book: Book, line: Line, focus: tuple[int, int] | None = None) -> Passage:
    """A sentence as a passage; all of it is in question where no focus is given."""
    number = book.scenes[line.scene].number
    return Passage(number, line.start, line.end, line.text, focus or (line.start, line.end))


def cues_near(book: Book, line: Line, reach: int = 1) -> tuple[str, ...]:
    """What near a sentence may explain a change, as "kind: word", each word once."""
    found = {f"{kind}: {w.text}": None for near in book.near(line, reach) for w in near.words
             for kind, words in _CUES if w.text in words}  # fmt: skip
    return tuple(found)


def versus(book: Book, detector: str, pair: tuple[Claim, Claim], score: float, *, tight: bool = False) -> Candidate:
    """The candidate of two claims, in the order of the text.

    Cues near the later one lower its score a little; a word that says outright that something was made other than it
    was keeps it from being tight, since without a model nobody would read the explanation.
    """
    one, other = sorted(pair, key=lambda claim: (claim.line.number, claim.start))
    cues = cues_near(book, other.line)
    tight = tight and not any(cue.startswith("change: ") and cue[8:] in MADE_OTHER for cue in cues)
    lowered = max(0.01, min(1.0, score - _CUE_COST * min(3, len(cues))))
    return Candidate(
        detector,
        other.subject or one.subject,
        (one.value, other.value),
        passage(book, one.line, (one.start, one.end)),
        passage(book, other.line, (other.start, other.end)),
        round(lowered, 4),
        tight,
        cues,
    )


def by_key(claims: Iterable[Claim]) -> dict[str, list[Claim]]:
    """Claims by slot, in the order of the text."""
    found: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        found[claim.key].append(claim)
    return {key: sorted(group, key=lambda c: (c.line.number, c.start)) for key, group in found.items()}


def collisions(claims: Iterable[Claim], *, most_values: int = MOST_VALUES) -> Iterator[tuple[Claim, Claim]]:
    """Pairs of claims on one slot whose values differ.

    Each distinct value is compared with the first statement of every earlier value, and each statement with the
    one before it, once for every two values in that order. Claims of two known owners never
    meet. A slot with more than `most_values` values gives nothing.
    """
    for group in by_key(claims).values():
        if len({claim.value for claim in group}) > most_values:
            continue
        yield from list(_pairs(group))[:_MOST_PAIRS]


def _pairs(group: list[Claim]) -> Iterator[tuple[Claim, Claim]]:
    firsts: dict[tuple[str, str], Claim] = {}
    seen: set[tuple[str, str]] = set()
    last: Claim | None = None
    for claim in group:
        known = (claim.value, claim.owner)
        if known not in firsts:
            others = [c for c in firsts.values() if _meet(c, claim)]
            yield from ((other, claim) for other in others)
            firsts[known] = claim
            seen |= {(other.value, claim.value) for other in others}
        if last is not None and (last.value, claim.value) not in seen and _meet(last, claim):
            seen.add((last.value, claim.value))
            yield last, claim
        last = claim


def _meet(one: Claim, other: Claim) -> bool:
    if one.value == other.value or one.line is other.line:
        return False
    return not (one.owner and other.owner) or one.owner == other.owner


@dataclass(frozen=True, slots=True)
class Window:
    """A candidate with its surroundings.

    Attributes:
        candidate: the two passages.
        before, after: each passage with the sentences around it; verbatim pieces of the scenes.
        between: sentences from between them that speak of the subject and hold a word of change; at most five.
    """

    candidate: Candidate
    before: Passage
    after: Passage
    between: tuple[Passage, ...]

    @property
    def words(self) -> int:
        """Number of words that a verifier reads."""
        return sum(len(part.quote.split()) for part in (self.before, self.after, *self.between))


class Windows:
    """Windows of one story; made once, used for all its candidates."""

    def __init__(self, scenes: Sequence[NumberedScene]) -> None:
        self._book = Book.of(scenes)
        self._starts = [(self._book.scenes[line.scene].number, line.start) for line in self._book.lines]

    def around(self, candidate: Candidate, reach: int = 2) -> Window:
        """The window of a candidate, with `reach` sentences to either side of its passages."""
        first, second = self._line(candidate.before), self._line(candidate.after)
        between = tuple(passage(self._book, line) for line in self._between(candidate, first, second))
        return Window(candidate, self._wide(first, reach), self._wide(second, reach), between)

    def _line(self, part: Passage) -> Line:
        return self._book.lines[bisect_left(self._starts, (part.scene, part.start))]

    def _wide(self, line: Line, reach: int) -> Passage:
        near = self._book.near(line, reach)
        start, end = near[0].start, near[-1].end
        scene = self._book.scenes[line.scene]
        return Passage(scene.number, start, end, scene.text[start:end], (line.start, line.end))

    def _between(self, candidate: Candidate, first: Line, second: Line) -> Iterator[Line]:
        """Of the explaining sentences the last ones: the change stands nearer to its outcome."""
        topics = _topics(candidate)
        found = [
            line
            for line in self._book.lines[first.number + 1 : second.number]
            if line.has(_EXPLAINING) and topics & {singular(word.text) for word in line.words}
        ]
        yield from found[-MOST_BETWEEN:]


def _topics(candidate: Candidate) -> frozenset[str]:
    """What a sentence has to name to be about the candidate: its subject, and what both passages share."""
    pieces = f"{candidate.subject} {' '.join(candidate.values)}".lower().replace("'s", " ").split()
    shared = set(_content(candidate.before.quote)) & set(_content(candidate.after.quote))
    return frozenset({singular(piece) for piece in pieces if piece not in FUNCTION} | shared)


def _content(text: str) -> Iterator[str]:
    for piece in text.lower().split():
        word = piece.strip(".,;:!?\"'()-")
        if word and word not in FUNCTION:
            yield singular(word)
