"""A story as the detectors read it: sentences with their words, speakers and places, and what its words tend to be."""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from sys import intern
from typing import TYPE_CHECKING, Final

from fabula.continuity.lexicon import DETERMINERS, FUNCTION, INDEFINITE
from fabula.story.sentences import paragraph_spans, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity.scenes import NumberedScene

_WORD: Final = re.compile(r"[^\W_]+(?:[.,:]\d+)*(?:['’\-][^\W_]+)*")
_OWN: Final = re.compile(r"['’](?:s|S)?\Z")
_CUE: Final = re.compile(r"[ \t]*@?([A-Z][A-Z0-9 .'’\-]{0,39}?)[ \t]*(?:\([^()\n]{1,40}\))?[ \t]*:?[ \t]*")
_INLINE: Final = re.compile(r"[ \t]*([A-Z][A-Z .'’\-]{1,30}):[ \t]+(?=\S)")
_HEAD: Final = re.compile(r"[ \t]*(?:\d{1,4}[.、):]?[ \t]*)?(?:INT|EXT|EST|I/E)[. ]")
_CAPS_WORDS: Final = 3
_SHORT, _LONGER = 3, 4  # letters of words whose last letters may be an ending
_NEAR: Final = 4  # sentences to either side that are a sentence's surroundings
_LONGEST_RUN: Final = 3
_ALIKE: Final = 25.0  # the sum of weights from which two surroundings are as alike as can be


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence; `text` in small letters, without the mark of the possessive.

    Attributes:
        start, end: in characters of the scene's text.
        capital: it begins with a capital letter, and is not all capitals.
        upper: it is all capitals, and longer than a letter.
        owner: it is a possessive ("Elena's").
        gap: whether a mark stands between it and the word before it.
    """

    text: str
    start: int
    end: int
    capital: bool
    upper: bool
    owner: bool
    gap: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, or a short line of a screenplay.

    Attributes:
        scene: place of its scene in the book, from 0.
        number: its place in the whole story, from 0.
        start, end: in characters of the scene's text.
        speaker: who says it, in small letters, in a screenplay; else empty.
        spoken: it is a speech, or most of it stands in quotation marks.
    """

    scene: int
    number: int
    start: int
    end: int
    text: str
    words: tuple[Word, ...]
    speaker: str
    spoken: bool

    def has(self, lexicon: frozenset[str]) -> bool:
        """Whether one of its words is in `lexicon`."""
        return any(word.text in lexicon for word in self.words)


@dataclass
class Book:
    """All sentences of a story, with what can be told from them about its words."""

    scenes: Sequence[NumberedScene]
    lines: list[Line] = field(default_factory=list)
    speakers: Counter[str] = field(default_factory=Counter)
    _contexts: dict[int, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, scenes: Sequence[NumberedScene]) -> Book:
        """The book of these scenes."""
        book = cls(scenes)
        for index, scene in enumerate(scenes):
            for start, end, speaker in _blocks(scene.text):
                book._add(index, scene.text, (start, end), speaker)
        return book

    def _add(self, index: int, text: str, block: tuple[int, int], speaker: str) -> None:
        if speaker:
            self.speakers[speaker] += 1
        for a, b in spans(text[block[0] : block[1]]):
            start, end = block[0] + a, block[0] + b
            piece = text[start:end]
            spoken = bool(speaker) or _spoken(piece)
            words = tuple(_words(piece, start))
            if words:
                self.lines.append(Line(index, len(self.lines), start, end, piece, words, speaker, spoken))

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(len(line.words) for line in self.lines)

    @cached_property
    def heads(self) -> Counter[str]:
        """How often a word ends a group of one or two words after a determiner: a sign that it is a noun."""
        found: Counter[str] = Counter()
        for line in self.lines:
            words = line.words
            for at, word in enumerate(words):
                if not word.owner and word.text not in DETERMINERS and word.text not in INDEFINITE:
                    continue
                for last in (at + 1, at + 2):
                    if last >= len(words) or words[last].text in FUNCTION or words[last].gap:
                        break
                    if last + 1 == len(words) or words[last + 1].gap or words[last + 1].text in FUNCTION:
                        found[words[last].text] += 1
        return found

    @cached_property
    def spread(self) -> Counter[str]:
        """In how many sentences each word stands, singular and plural as one."""
        return Counter(word for line in self.lines for word in {stem(w.text) for w in line.words})

    def likeness(self, one: Line, other: Line) -> float:
        """How far what is said around two sentences is about the same: 0 to 1, by the rare words that both share."""
        shared = self.context(one) & self.context(other)
        total = len(self.lines) + 1
        return min(1.0, sum(log(total / (1 + self.spread[word])) for word in shared) / _ALIKE)

    def near(self, line: Line, reach: int = _NEAR) -> list[Line]:
        """The sentences of the same scene around `line`, itself among them."""
        low, high = max(0, line.number - reach), line.number + reach + 1
        return [other for other in self.lines[low:high] if other.scene == line.scene]

    def context(self, line: Line) -> frozenset[str]:
        """The content words of a sentence and of those around it, names and speaker among them."""
        if line.number in self._contexts:
            return self._contexts[line.number]
        near = self.near(line, 2)
        found: set[str] = {
            stem(w.text) for other in near for w in other.words if w.text not in FUNCTION and len(w.text) >= _SHORT
        }
        found |= {other.speaker for other in near if other.speaker}
        self._contexts[line.number] = frozenset(found)
        return self._contexts[line.number]


def stem(word: str) -> str:
    """A word without the ending of the plural: "keys" and "key" are one."""
    if len(word) > _LONGER and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > _LONGER and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_plural(word: str) -> bool:
    """Whether a noun speaks of several."""
    return stem(word) != word or word.endswith(("children", "women", "men", "people", "feet", "teeth", "mice"))


def run_after(line: Line, at: int, book: Book) -> list[Word]:
    """The words of the noun group that goes on at word `at`: content words without a mark between them.

    A group ends before a function word, and before a word that is never the last one of a group in this story once the
    word before it is (so that "the red jeep rounds the bend" gives "jeep").
    """
    run: list[Word] = []
    for word in line.words[at : at + _LONGEST_RUN]:
        if word.text in FUNCTION or (word.gap and (run or at)):
            break
        if run and book.heads[run[-1].text] and not book.heads[word.text]:
            break
        run.append(word)
        if word.owner:
            break
    return run


def determiner(line: Line, at: int) -> str:
    """What makes the noun group that ends at word `at` (exclusive) definite: its determiner or owner; else empty."""
    for back in range(1, 4):
        if at - back < 0:
            return ""
        word = line.words[at - back]
        if word.owner or word.text in DETERMINERS or word.text in INDEFINITE:
            return word.text
        if line.words[at - back + 1].gap or word.text in FUNCTION:
            return ""
    return ""


def _spoken(text: str) -> bool:
    """Whether at least half of a sentence stands in quotation marks."""
    inside = sum(len(found[0]) for found in re.finditer(r"[“\"][^”\"]*(?:[”\"]|\Z)", text))
    return inside * 2 >= len(text) > 0 and inside > 0


def _words(text: str, offset: int) -> Iterator[Word]:
    last = 0
    for found in _WORD.finditer(text):
        raw = found[0]
        bare = _OWN.sub("", raw) if len(raw) >= _SHORT else raw
        owner = len(bare) < len(raw) and raw.lower() not in _CONTRACTED
        plain = (bare if owner else raw).replace("’", "'")
        after = text[found.end() : found.end() + 1]
        if not owner and after in ("'", "’") and plain.endswith("s") and plain[:1].isupper():
            owner = True
        between = text[last : found.start()]
        gap = bool(last) and bool(between.strip(" \t\n"))
        upper = len(plain) > 1 and plain.isupper()
        capital = plain[:1].isupper() and not upper
        yield Word(intern(plain.lower()), offset + found.start(), offset + found.end(), capital, upper, owner, gap)
        last = found.end()


_CONTRACTED: Final = frozenset(
    [
        "it's",
        "it’s",
        "that's",
        "that’s",
        "he's",
        "he’s",
        "she's",
        "she’s",
        "there's",
        "there’s",
        "what's",
        "what’s",
        "who's",
        "who’s",
        "let's",
        "let’s",
        "here's",
        "here’s",
        "where's",
        "where’s",
        "how's",
        "how’s",
    ]
)


def _blocks(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and speaker of each block of a scene: a speech, a paragraph, a line."""
    waiting = ""
    for start, end in paragraph_spans(text):
        block = text[start:end]
        if _HEAD.match(block) and "\n" not in block:
            continue  # a heading is no sentence; the scene's place is read from it elsewhere
        head, _, rest = block.partition("\n")
        name = _speaker(head)
        if name and rest.strip():
            waiting = ""
            yield start + len(head) + 1, end, name
        elif name and _HEAD.match(head) is None and len(head.split()) <= _CAPS_WORDS:
            waiting = name  # a layout that parts the name from the speech
        elif found := _INLINE.match(block):
            waiting = ""
            yield start + found.end(), end, _plain_name(found[1])
        else:
            yield start, end, waiting
            waiting = ""


def _speaker(line: str) -> str:
    """The name in a line of a screenplay that says who speaks next; empty if it is another kind of line."""
    found = _CUE.fullmatch(line)
    if found is None or _HEAD.match(line) or line.rstrip().endswith((".", "TO:", "IN:", "OUT:")):
        return ""
    return _plain_name(found[1])


def _plain_name(name: str) -> str:
    return " ".join(name.replace("’", "'").lower().removesuffix("cont'd").split())
