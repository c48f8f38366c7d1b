"""Where a quotation stands in a story: word for word, or nearly so where that is asked for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from fabula.continuity import Passage
from fabula.continuity.book import Book
from fabula.craft.quoting import quoted_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.continuity import NumberedScene
    from fabula.continuity.book import Line

NEARLY: Final = 0.8  # token F1 of the best window: models change a word or two when they copy
_STRETCH, _GAP = 3, 40  # words that a quotation with words left out may reach over: so many for each, and so many more
_FEWEST_NEARLY: Final = 4  # shorter quotations have to stand there word for word


@dataclass(frozen=True)
class _Words:
    """The words of a scene, folded, and where each begins and ends."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Words:
        found: list[tuple[str, int, int]] = []
        start = -1
        for at, sign in enumerate(f"{text} "):
            if sign.isalnum():
                start = at if start < 0 else start
            elif start >= 0:
                found.append((text[start:at].casefold(), start, at))
                start = -1
        return cls(tuple(w for w, _, _ in found), tuple(a for _, a, _ in found), tuple(b for _, _, b in found))

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """Where each word stands."""
        found: dict[str, list[int]] = {}
        for at, word in enumerate(self.words):
            found.setdefault(word, []).append(at)
        return found

    def row(self, wanted: tuple[str, ...], first: int = 0) -> tuple[int, int] | None:
        """The words `wanted` in a row, from word `first` on: the first word and the one after the last."""
        for at in self.places.get(wanted[0], ()) if wanted else ():
            if at >= first and self.words[at : at + len(wanted)] == wanted:
                return at, at + len(wanted)
        return None

    def nearly(self, wanted: tuple[str, ...]) -> tuple[int, int] | None:
        """The run of as many words that shares most with `wanted`, where that is enough."""
        size = len(wanted)
        if size < _FEWEST_NEARLY or len(self.words) < size:
            return None
        need, window = Counter(wanted), Counter(self.words[:size])
        shared = sum((need & window).values())
        best, where = shared, 0
        for at in range(1, len(self.words) - size + 1):
            out, new = self.words[at - 1], self.words[at + size - 1]
            shared -= window[out] <= need[out]
            window[out] -= 1
            window[new] += 1
            shared += window[new] <= need[new]
            if shared > best:
                best, where = shared, at
        # Both have the same number of words, so that the share is precision, recall and F1 in one.
        return (where, where + size) if best >= NEARLY * size else None


class StoryText:
    """The text of a story in which quotations are looked for; made once for a story."""

    def __init__(self, scenes: Sequence[NumberedScene]) -> None:
        self.scenes = {scene.number: scene for scene in scenes}
        self._order = [scene.number for scene in scenes]
        self._words: dict[int, _Words] = {}

    @cached_property
    def _book(self) -> Book:
        return Book.of(list(self.scenes.values()))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of the story that are names, or parts of one, in small letters."""
        return frozenset(self._book.names.tokens)

    @cached_property
    def lines(self) -> Mapping[int, Sequence[Line]]:
        """The sentences of each scene, as the detectors see them."""
        found: dict[int, list[Line]] = {}
        for line in self._book.lines:
            found.setdefault(self._order[line.scene], []).append(line)
        return found

    def find(self, scene: int, quote: str, *, nearly: bool = False, least: int = 1) -> Passage | None:
        """The sentences of a scene that hold a quotation, which is the passage's focus.

        Blanks, case, punctuation and kinds of quotation marks do not count; "..." may stand for what is left out.

        Args:
            scene: its number; one that the story lacks holds nothing.
            quote: what is looked for.
            nearly: a run of as many words will do that shares 0.8 of them.
            least: words that a quotation has to have.
        """
        if scene not in self.scenes:
            return None
        words = self._of(scene)
        parts = [part for piece in quoted_parts(quote) if (part := _Words.of(piece).words)]
        if sum(map(len, parts)) < least or not parts:
            return None
        span = self._rows(words, parts)
        if span is None and nearly:
            span = words.nearly(tuple(word for part in parts for word in part))
        return None if span is None else self.around(scene, words.starts[span[0]], words.ends[span[1] - 1])

    def find_in(self, scenes: Iterable[int], quote: str, *, nearly: bool = False, least: int = 1) -> Passage | None:
        """The first place of a quotation in any of the scenes."""
        for scene in scenes:
            if found := self.find(scene, quote, nearly=nearly, least=least):
                return found
        return None

    def around(self, scene: int, start: int, end: int) -> Passage:
        """The whole sentences in which the characters from `start` to `end` of a scene lie, these being the focus."""
        text, lines = self.scenes[scene].text, self.lines.get(scene, ())
        inside = [line for line in lines if line.start < end and start < line.end]
        if not inside:  # a heading, say; the sentence after it goes with it, or the one before
            after = [line for line in lines if line.start >= end][:1]
            inside = after or [line for line in lines if line.end <= start][-1:]
        low = min([start, *(line.start for line in inside)])
        high = max([end, *(line.end for line in inside)])
        return Passage(scene, low, high, text[low:high], (start, end))

    def between(self, x: int, y: int) -> tuple[int, ...]:
        """The numbers of the scenes from `x` to `y`, both among them."""
        return tuple(number for number in self._order if x <= number <= y)

    def _of(self, scene: int) -> _Words:
        if scene not in self._words:
            self._words[scene] = _Words.of(self.scenes[scene].text)
        return self._words[scene]

    @staticmethod
    def _rows(words: _Words, parts: Sequence[tuple[str, ...]]) -> tuple[int, int] | None:
        """All parts in their order and near each other: the first one's first word, and the word after the last."""
        most = _STRETCH * sum(map(len, parts)) + _GAP
        at = 0
        while first := words.row(parts[0], at):
            last: tuple[int, int] | None = first
            for part in parts[1:]:
                last = last and words.row(part, last[1])
            if last is None:
                return None
            if len(parts) == 1 or last[1] - first[0] <= most:
                return first[0], last[1]
            at = first[0] + 1
        return None
