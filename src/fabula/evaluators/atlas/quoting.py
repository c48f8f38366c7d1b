"""The places of a story: its numbered paragraphs, and the positions of exact and inexact quotations in them."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fabula.continuity import NumberedScene, Passage
from fabula.continuity.scenes import is_headed
from fabula.craft.quoting import quoted_parts
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line
from fabula.story.sentences import paragraph_spans, spans

NEARLY: Final = 0.8  # token F1 of the best window: models change a word or two when they copy
_STRETCH, _GAP = 3, 40  # words that a quotation with words left out may reach over: so many for each, and so many more
_FEWEST_NEARLY: Final = 4  # shorter quotations have to stand there word for word
_MOST_WORDS: Final = 400  # of a quotation are looked for
_LONG_PARAGRAPH: Final = 300  # words; a longer one is cut at the ends of its lines or sentences, to be named by parts
_PART: Final = 150  # words of such a part
_UNWRITTEN: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")  # signs within a word that nobody sees
_ALONE: Final = (("\u0e00", "\u0eff"), ("\u1000", "\u109f"), ("\u1780", "\u17ff"), ("\u2e80", "\U0003ffff"))


def _is_alone(sign: str) -> bool:
    """Whether a letter is compared by itself because its script does not separate words."""
    return sign >= _ALONE[0][0] and any(low <= sign <= high for low, high in _ALONE)


def _folded(word: str) -> str:
    """A word without case and accents, however the accents are encoded."""
    if word.isascii():
        return word.lower()
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(sign for sign in parts if not unicodedata.combining(sign) and sign not in _UNWRITTEN)


@dataclass(frozen=True)
class _Words:
    """The folded words of a text, and where each begins and ends."""

    words: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Words:
        found: list[tuple[str, int, int]] = []
        start = -1
        for at, sign in enumerate(f"{text} "):
            alone = _is_alone(sign)
            goes_on = sign.isalnum() or (start >= 0 and (sign in _UNWRITTEN or bool(unicodedata.combining(sign))))
            if start >= 0 and (alone or not goes_on):
                found.append((_folded(text[start:at]), start, at))
                start = -1
            if alone and sign.isalnum():
                found.append((_folded(sign), at, at + 1))
            elif not alone and goes_on and start < 0:
                start = at
        return cls(tuple(w for w, _, _ in found), tuple(a for _, a, _ in found), tuple(b for _, _, b in found))

    @cached_property
    def places(self) -> Mapping[str, Sequence[int]]:
        """The positions of each word."""
        found: dict[str, list[int]] = {}
        for at, word in enumerate(self.words):
            found.setdefault(word, []).append(at)
        return found

    def rows(self, wanted: tuple[str, ...], first: int = 0) -> Iterator[tuple[int, int]]:
        """Each run of the words `wanted` from word `first`: its first word and the word after it."""
        if not wanted:
            return
        rarest = min(range(len(wanted)), key=lambda n: len(self.places.get(wanted[n], ())))
        for place in self.places.get(wanted[rarest], ()):
            at = place - rarest
            if at >= first and self.words[at : at + len(wanted)] == wanted:
                yield at, at + len(wanted)

    def quoted(self, parts: Sequence[tuple[str, ...]]) -> Iterator[tuple[int, int]]:
        """Each place where all parts occur in order and near each other."""
        most = _STRETCH * sum(map(len, parts)) + _GAP
        for first in self.rows(parts[0]):
            last: tuple[int, int] | None = first
            for part in parts[1:]:
                last = last and next(self.rows(part, last[1]), None)
            if last is None:
                return
            if len(parts) == 1 or last[1] - first[0] <= most:
                yield first[0], last[1]

    def nearly(self, wanted: tuple[str, ...]) -> tuple[int, int] | None:
        """The run of equal length that shares the most words with `wanted`, if they are enough."""
        size = len(wanted)
        if size < _FEWEST_NEARLY or len(self.words) < size:
            return None
        need = Counter(wanted)
        if sum(min(n, len(self.places.get(word, ()))) for word, n in need.items()) < NEARLY * size:
            return None
        window = {word: self.words[:size].count(word) for word in need}  # of other words none is shared
        shared = sum(min(n, window[word]) for word, n in need.items())
        best, where = shared, 0
        for at, (out, new) in enumerate(zip(self.words, self.words[size:], strict=False), 1):
            if out in window:
                shared -= window[out] <= need[out]
                window[out] -= 1
            if new in window:
                window[new] += 1
                shared += window[new] <= need[new]
                if shared > best:
                    best, where = shared, at
        # Both have the same number of words, so that the share is precision, recall and F1 in one.
        return (where, where + size) if best >= NEARLY * size else None


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where each word of a text begins and ends."""
    words = _Words.of(text)
    return list(zip(words.starts, words.ends, strict=True))


@dataclass(frozen=True)
class Paragraph:
    """A paragraph of the story. Findings name paragraphs as their places.

    Attributes:
        number: from 1, over the whole story.
        scene: the number of its scene.
        start, end: in characters of the scene's text; below 0 for a heading before it.
        text: its words as written.
        heading: whether it is the scene's title.
    """

    number: int
    scene: int
    start: int
    end: int
    text: str
    heading: bool = False

    @property
    def shown(self) -> str:
        """The paragraph below its number, for a prompt."""
        return f"[{self.number}] {'# ' if self.heading else ''}{self.text}"

    @cached_property
    def tokens(self) -> int:
        """About how many tokens it uses in a prompt."""
        return estimate_tokens(self.text) + 4


def numbered_paragraphs(scenes: Sequence[NumberedScene]) -> tuple[Paragraph, ...]:
    """All paragraphs of the scenes. A title that is not in its scene's text becomes a paragraph before it."""
    found: list[Paragraph] = []
    for scene in scenes:
        title = one_line(scene.title)
        begins = one_line(scene.text[: len(title) + 20]).strip(".#* ").startswith(title)
        if title and not begins and not is_headed(scene.text, title):
            found.append(Paragraph(len(found) + 1, scene.number, -len(title) - 1, -1, title, heading=True))
        for start, end in _parts(scene.text):
            found.append(Paragraph(len(found) + 1, scene.number, start, end, scene.text[start:end]))
    return tuple(found)


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each paragraph, or of its parts if it is very long."""
    for start, end in paragraph_spans(text):
        if count_words(text[start:end]) <= _LONG_PARAGRAPH:
            yield start, end
        else:
            yield from _cut(text, start, end)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A long paragraph in parts of whole sentences. An endless sentence is cut at blanks."""
    pieces = [piece for a, b in spans(text[start:end]) for piece in _short(text, start + a, start + b)]
    low, last, size = start, start, 0
    for a, b in pieces:
        if size >= _PART:
            yield low, last
            low, size = a, 0
        size += max(1, count_words(text[a:b]))
        last = b
    yield low, end


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, in pieces if it is longer than a long paragraph."""
    words = _Words.of(text[start:end])
    if len(words.words) <= _LONG_PARAGRAPH:
        yield start, end
        return
    firsts = [start, *(start + words.starts[n] for n in range(_PART, len(words.words) - _PART // 2, _PART))]
    yield from zip(firsts, [*firsts[1:], end], strict=True)


class StoryText:
    """The text of a story in which quotations are searched for, built once for each story."""

    def __init__(self, scenes: Sequence[NumberedScene]) -> None:
        self.scenes = {scene.number: scene for scene in scenes}
        self._order = [scene.number for scene in scenes]
        self._words: dict[int, _Words] = {}
        self._sentences: dict[int, list[tuple[int, int]]] = {}

    @cached_property
    def paragraphs(self) -> tuple[Paragraph, ...]:
        """All paragraphs, numbered from 1."""
        return numbered_paragraphs(tuple(self.scenes.values()))

    def paragraph_of(self, passage: Passage) -> int:
        """The number of the paragraph in which a passage's quotation begins."""
        return self._paragraph_at(passage.scene, passage.focus[0])

    def find(self, scene: int, quote: str, *, nearly: bool = False, least: int = 1) -> Passage | None:
        """The sentences of a scene that contain a quotation, with the quotation as the passage's focus.

        Blanks, case, punctuation and kinds of quotation marks do not count; "..." may replace omitted words.

        Args:
            scene: its number; an unknown number gives nothing.
            quote: the quotation.
            nearly: also accept a run of equal length that shares 0.8 of the words.
            least: the least number of words in a quotation.
        """
        parts = _wanted(quote)
        if scene not in self.scenes or sum(map(len, parts)) < least or not parts:
            return None
        words = self._of(scene)
        span = next(words.quoted(parts), None)
        if span is None and nearly:
            span = words.nearly(tuple(word for part in parts for word in part))
        return None if span is None else self.around(scene, words.starts[span[0]], words.ends[span[1] - 1])

    def find_in(self, scenes: Iterable[int], quote: str, *, nearly: bool = False, least: int = 1) -> Passage | None:
        """The first place of a quotation in any of the scenes."""
        for scene in scenes:
            if found := self.find(scene, quote, nearly=nearly, least=least):
                return found
        return None

    def find_near(self, number: int, quote: str) -> Passage | None:
        """The passage of a quotation that is said to be in a paragraph.

        The search is word for word in that paragraph, then in the nearest one that has it; then for nearly the same
        words in that paragraph or next to it, and then in its scene. The number decides between repeats.
        """
        parts = _wanted(quote)
        if not parts:
            return None
        for paragraph in self.paragraphs[number - 1 : number] if number > 0 else ():
            if paragraph.heading and (found := _in_heading(paragraph, parts)):
                return found
        exact = [
            (abs(self._paragraph_at(scene, words.starts[low]) - number), scene, low, high)
            for scene in self._order
            for words in (self._of(scene),)
            for low, high in words.quoted(parts)
        ]
        if exact:
            _, scene, low, high = min(exact)
            return self.around(scene, self._of(scene).starts[low], self._of(scene).ends[high - 1])
        return self._nearly(number, tuple(word for part in parts for word in part))

    def _nearly(self, number: int, wanted: tuple[str, ...]) -> Passage | None:
        if not 1 <= number <= len(self.paragraphs):
            return None
        own = self.paragraphs[number - 1]
        beside = [self.paragraphs[n - 1] for n in (number - 1, number + 1) if 1 <= n <= len(self.paragraphs)]
        for paragraph in (own, *(one for one in beside if one.scene == own.scene)):
            words = _Words.of(paragraph.text)
            if not paragraph.heading and (span := words.nearly(wanted)):
                low, high = paragraph.start + words.starts[span[0]], paragraph.start + words.ends[span[1] - 1]
                return self.around(own.scene, low, high)
        words = self._of(own.scene)
        span = words.nearly(wanted)
        return None if span is None else self.around(own.scene, words.starts[span[0]], words.ends[span[1] - 1])

    def likest(self, number: int, said: str) -> Passage | None:
        """The sentence of a paragraph that shares the most words with a statement about it, or `None` if none does."""
        if not 1 <= number <= len(self.paragraphs):
            return None
        own = self.paragraphs[number - 1]
        if own.heading:
            return Passage(own.scene, own.start, own.end, own.text, (own.start, own.end))
        wanted = set(_Words.of(said).words)
        shared = [
            (-len(wanted & set(_Words.of(own.text[a:b]).words)), own.start + a, own.start + b)
            for a, b in spans(own.text)
        ]
        _, low, high = min(shared, default=(0, own.start, own.end))
        return Passage(own.scene, low, high, self.scenes[own.scene].text[low:high], (low, high))

    def sentences_of(self, paragraph: Paragraph) -> Iterator[Passage]:
        """The sentences of a paragraph as passages, each its own focus."""
        text = self.scenes[paragraph.scene].text
        for a, b in spans(paragraph.text) if not paragraph.heading else ():
            low, high = paragraph.start + a, paragraph.start + b
            yield Passage(paragraph.scene, low, high, text[low:high], (low, high))

    def around(self, scene: int, start: int, end: int) -> Passage:
        """The whole sentences around the characters from `start` to `end` of a scene, with these as the focus."""
        inside = [(a, b) for a, b in self._sentences_of(scene) if a < end and start < b]
        low, high = min([start, *(a for a, _ in inside)]), max([end, *(b for _, b in inside)])
        return Passage(scene, low, high, self.scenes[scene].text[low:high], (start, end))

    def between(self, x: int, y: int) -> tuple[int, ...]:
        """The numbers of the scenes from `x` to `y`, including both."""
        return tuple(number for number in self._order if x <= number <= y)

    def _of(self, scene: int) -> _Words:
        if scene not in self._words:
            self._words[scene] = _Words.of(self.scenes[scene].text)
        return self._words[scene]

    def _sentences_of(self, scene: int) -> list[tuple[int, int]]:
        if scene not in self._sentences:
            self._sentences[scene] = spans(self.scenes[scene].text)
        return self._sentences[scene]

    def _paragraph_at(self, scene: int, start: int) -> int:
        """The number of the paragraph that contains the character at `start` of a scene."""
        first, ends = self._by_scene[scene]
        return first + min(bisect_right(ends, start), len(ends) - 1)

    @cached_property
    def _by_scene(self) -> Mapping[int, tuple[int, list[int]]]:
        """The number of each scene's first paragraph, and where its paragraphs end."""
        found: dict[int, tuple[int, list[int]]] = {}
        for one in self.paragraphs:
            found.setdefault(one.scene, (one.number, []))[1].append(one.end)
        return found


def _wanted(quote: str) -> list[tuple[str, ...]]:
    """The words of a quotation, in parts if it omits words."""
    parts = [part for piece in quoted_parts(quote) if (part := _Words.of(piece).words)]
    found: list[tuple[str, ...]] = []
    left = _MOST_WORDS
    for part in parts:
        if left > 0:
            found.append(part[:left])
        left -= len(part)
    return found


def _in_heading(paragraph: Paragraph, parts: Sequence[tuple[str, ...]]) -> Passage | None:
    """A heading that contains a quotation, as a passage."""
    words = _Words.of(paragraph.text)
    span = next(words.quoted(parts), None)
    if span is None:
        return None
    focus = paragraph.start + words.starts[span[0]], paragraph.start + words.ends[span[1] - 1]
    return Passage(paragraph.scene, paragraph.start, paragraph.end, paragraph.text, focus)
