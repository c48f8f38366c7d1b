"""What a verifier reads to judge a candidate: both passages, and what between them may explain the change."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.continuity.book import Book, stem
from fabula.continuity.candidate import passage
from fabula.continuity.lexicon import CHANGE_CUES, FUNCTION, REPORT_CUES, SECOND_CUES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity.book import Line
    from fabula.continuity.candidate import Candidate, Passage
    from fabula.continuity.scenes import NumberedScene

MOST_BETWEEN: Final = 5
_EXPLAINING: Final = CHANGE_CUES | REPORT_CUES | SECOND_CUES


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
        whole = passage(self._book, line)
        return type(whole)(scene.number, start, end, scene.text[start:end], (line.start, line.end))

    def _between(self, candidate: Candidate, first: Line, second: Line) -> Iterator[Line]:
        """Of the explaining sentences the last ones: the change stands nearer to its outcome."""
        topics = _topics(candidate)
        found = [
            line
            for line in self._book.lines[first.number + 1 : second.number]
            if line.has(_EXPLAINING) and topics & {stem(word.text) for word in line.words}
        ]
        yield from found[-MOST_BETWEEN:]


def _topics(candidate: Candidate) -> frozenset[str]:
    """What a sentence has to name to be about the candidate: its subject, and what both passages share."""
    pieces = f"{candidate.subject} {' '.join(candidate.values)}".lower().replace("'s", " ").split()
    shared = set(_content(candidate.before.quote)) & set(_content(candidate.after.quote))
    return frozenset({stem(piece) for piece in pieces if piece not in FUNCTION} | shared)


def _content(text: str) -> Iterator[str]:
    for piece in text.lower().split():
        word = piece.strip(".,;:!?\"'()-")
        if word and word not in FUNCTION:
            yield stem(word)
