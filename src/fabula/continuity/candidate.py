"""What detectors find: two passages of a story that may not both be true."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.continuity.lexicon import CHANGE_CUES, MADE_OTHER, REPORT_CUES, SECOND_CUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fabula.continuity.book import Book, Line
    from fabula.continuity.entities import Cast

_CUES: Final = (("change", CHANGE_CUES), ("report", REPORT_CUES), ("second", SECOND_CUES))
_CUE_COST: Final = 0.04


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
    """Two passages that a detector holds against each other; no verdict.

    Attributes:
        detector: which one found it; one of `DETECTORS`.
        subject: what it is about, such as "logbook" or "elena voss".
        values: what the earlier and what the later passage say.
        before, after: the passages, in the order of telling.
        score: 0 to 1; orders candidates, and is no probability.
        tight: the detector's strict rule holds too, so that it can be reported without a model.
        cues: words near the later passage that may explain the change, as "change: moved"; evidence for a verifier,
            never a reason to drop the candidate (world_state 4.2).
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
        subject: what a reader is told that it is about.
        value: what counts when claims are compared.
        line: the sentence.
        start, end: the words that say it, in characters of the scene's text.
        owner: whose it is, where told; claims of two known owners are not compared.
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
    """The candidate of two claims, in the order of telling.

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


@dataclass(frozen=True, slots=True)
class Reading:
    """All that a detector gets."""

    book: Book
    cast: Cast


if TYPE_CHECKING:
    Detector = Callable[[Reading], Iterator[Candidate]]
