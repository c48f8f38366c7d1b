"""A story as the detectors read it: sentences with their words and speakers, names, and what its words tend to be."""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from math import log
from sys import intern
from typing import TYPE_CHECKING, Final

from fabula.continuity.lexicon import COLOURS, DETERMINERS, FUNCTION, INDEFINITE, KIN, MATERIALS, NOT_NAMES, TITLES
from fabula.story.sentences import paragraph_spans, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity.scenes import NumberedScene

_WORD: Final = re.compile(r"[^\W_]+(?:[.,:]\d+)*(?:['’\-][^\W_]+)*")
_OWN: Final = re.compile(r"['’](?:s|S)?\Z")
_CUE: Final = re.compile(r"[ \t]*@?([A-Z][A-Z0-9 .'’\-]{0,39}?)[ \t]*(?:\([^()\n]{1,40}\))?[ \t]*:?[ \t]*")
_INLINE: Final = re.compile(r"[ \t]*([A-Z][A-Z .'’\-]{1,30}):[ \t]+(?=\S)")
_HEAD: Final = re.compile(r"[ \t]*(?:\d{1,4}[.、):]?[ \t]*)?(?:(?:INT|EXT|EST|I/E)[. ]|(?i:int|ext|est|i/e)\.)")
_SENTENCE_END: Final = re.compile(r"(?<!\bJR)(?<!\bSR)\.\Z")
_CAPS_WORDS: Final = 3
_SHORT, _LONGER = 3, 4  # letters of words whose last letters may be an ending
_NEAR: Final = 4  # sentences to either side that are a sentence's surroundings
_LONGEST_RUN: Final = 3
_ALIKE: Final = 25.0  # the sum of weights from which two surroundings are as alike as can be
SEX: Final = {"he": "m", "him": "m", "his": "m", "himself": "m", "she": "f", "her": "f", "hers": "f", "herself": "f"}
_VOTES: Final = 2
_BACK: Final = 3  # sentences that a pronoun looks back over
_SHORTEST, _LONGEST = 2, 3  # letters of a name; words of one
_RARELY_SMALL: Final = 0.15  # a name is written with a small letter no more often than this


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
    """All sentences of a story, with what can be read from them about its words."""

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
    def names(self) -> Names:
        """Who and what has a name in the story."""
        return Names.of_book(self)

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
        return Counter(word for line in self.lines for word in {singular(w.text) for w in line.words})

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
            singular(w.text) for other in near for w in other.words if w.text not in FUNCTION and len(w.text) >= _SHORT
        }
        found |= {other.speaker for other in near if other.speaker}
        self._contexts[line.number] = frozenset(found)
        return self._contexts[line.number]


def singular(word: str) -> str:
    """A word without the ending of the plural: "keys" and "key" are one."""
    if len(word) > _LONGER and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > _LONGER and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    return word[:-1] if len(word) > _SHORT and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def is_plural(word: str) -> bool:
    """Whether a noun speaks of several."""
    return singular(word) != word or word.endswith(("children", "women", "men", "people", "feet", "teeth", "mice"))


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
    last, shortened = 0, False
    for found in _WORD.finditer(text):
        raw = found[0]
        bare = _OWN.sub("", raw) if len(raw) >= _SHORT else raw
        owner = len(bare) < len(raw) and raw.lower() not in _CONTRACTED
        plain = (bare if owner else raw).replace("’", "'")
        after = text[found.end() : found.end() + 1]
        if not owner and after in ("'", "’") and plain.endswith("s") and plain[:1].isupper():
            owner = True
        between = text[last : found.start()]
        gap = bool(last) and bool(between.strip(" \t\n")) and not (between.strip() == "." and shortened)
        upper = len(plain) > 1 and plain.isupper()
        capital = plain[:1].isupper() and not upper
        yield Word(intern(plain.lower()), offset + found.start(), offset + found.end(), capital, upper, owner, gap)
        last = found.end()
        shortened = raw in _SHORTENED or (len(raw) == 1 and raw.isupper())


_SHORTENED: Final = frozenset(
    form
    for word in ("Mr", "Mrs", "Ms", "Mx", "Dr", "St", "Prof", "Rev", "Capt", "Lt", "Sgt", "Col", "Gen")
    for form in (word, word.upper())
)
_CONTRACTED: Final = frozenset(
    f"{word}{mark}s"
    for word in ("it", "that", "he", "she", "there", "what", "who", "let", "here", "where", "how")
    for mark in ("'", "’")
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
    end = line.rstrip()
    if found is None or _HEAD.match(line) or end.endswith(("TO:", "IN:", "OUT:")) or _SENTENCE_END.search(end):
        return ""
    return _plain_name(found[1])


def _plain_name(name: str) -> str:
    return " ".join(name.replace("’", "'").lower().removesuffix("cont'd").split())


@dataclass
class Names:
    """Who and what has a name in a book, settled by how often and where its words stand.

    Whether two bare names are one person's is asked of `fabula.story.people`.

    Attributes:
        forms: every form of a name, in small letters, and the longest form of the same name.
        tokens: how often each word that is a name, or a part of one, stands as such.
        sex: "m" or "f" by name, where the pronouns around it show it.
    """

    forms: dict[str, str] = field(default_factory=dict)
    tokens: Counter[str] = field(default_factory=Counter)
    sex: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_book(cls, book: Book) -> Names:
        """The names in a book, from capitals in running text, speakers, and titles."""
        tokens = _name_words(book)
        found = Counter(phrase for line in book.lines for phrase in _phrases(line, tokens))
        names = cls(_merged(found), tokens)
        names.sex = _sexes(book, names)
        return names

    def named(self, line: Line) -> list[tuple[int, str]]:
        """Place (in words) and full form of each name in a sentence."""
        found, at = [], 0
        while at < len(line.words):
            size = next((n for n in (3, 2, 1) if " ".join(w.text for w in line.words[at : at + n]) in self.forms), 0)
            if size and (line.words[at].capital or line.words[at].upper):
                found.append((at, self.forms[" ".join(w.text for w in line.words[at : at + size])]))
            at += max(1, size)
        return found

    def whom(self, book: Book, line: Line, at: int) -> str:
        """The name of whom the word at `at` (a name or a pronoun of the third person, or "my") means; else empty."""
        word = line.words[at].text
        if word in ("my", "mine", "i", "me"):
            return self.forms.get(line.speaker, line.speaker)
        if word not in SEX:
            return next((name for place, name in self.named(line) if place <= at <= place + 2 and word in name), "")
        sex = SEX[word]
        for back in range(_BACK + 1):
            if line.number < back or (other := book.lines[line.number - back]).scene != line.scene:
                return ""
            names = [name for place, name in self.named(other) if back or place < at]
            fitting = [name for name in names if self.sex.get(name, sex) == sex]
            if fitting:
                return fitting[-1] if back == 0 else fitting[0]
        return ""


def _name_words(book: Book) -> Counter[str]:
    """Words that are names: capital within a sentence, and hardly ever small; and the speakers of a screenplay."""
    inside: Counter[str] = Counter()
    at_start: Counter[str] = Counter()
    small: Counter[str] = Counter()
    for line in book.lines:
        for at, word in enumerate(line.words):
            if word.capital:
                (inside if at and not _starts(line, at) else at_start)[word.text] += 1
            elif not word.upper:
                small[word.text] += 1
    speakers = Counter({part: n for name, n in book.speakers.items() for part in name.split() if n > 1})
    names: Counter[str] = Counter()
    for text, count in (inside + speakers).items():
        total = count + at_start[text]
        if _may_be_name(text) and small[text] <= _RARELY_SMALL * total:
            names[text] = total
    return names


def _starts(line: Line, at: int) -> bool:
    """Whether a word begins a sentence within a sentence: the first in a quotation, after a colon or a dash."""
    word = line.words[at]
    if not word.gap:
        return False
    before = line.text[line.words[at - 1].end - line.start : word.start - line.start]
    return any(mark in before for mark in '"“”:—–.!?…*(')


def _may_be_name(word: str) -> bool:
    plain = word.replace("-", "").replace("'", "")
    if not plain.isalpha() or len(plain) < _SHORTEST or word in NOT_NAMES or word in TITLES or word in KIN:
        return False
    return word not in COLOURS and word not in MATERIALS


def _phrases(line: Line, tokens: Counter[str]) -> Iterator[str]:
    """The names in a sentence, each as long as it goes, at most three words."""
    run: list[str] = []
    for word in (*line.words, None):
        fits = word is not None and word.text in tokens and (word.capital or word.upper)
        if run and (not fits or (word is not None and word.gap) or len(run) == _LONGEST):
            yield " ".join(run)
            run = []
        if fits and word is not None:
            run.append(word.text)
            if word.owner:
                yield " ".join(run)
                run = []


def _merged(found: Counter[str]) -> dict[str, str]:
    """Every form, and the fullest name it can stand for: a part of exactly one fuller name is that one."""
    full = [name for name in found if len(set(name.split())) > 1]
    owners: defaultdict[str, set[str]] = defaultdict(set)
    for name in full:
        for part in name.split():
            owners[part].add(name)
    forms: dict[str, str] = {}
    for form in found:
        fuller = owners[form] if " " not in form else set()
        best = [name for name in fuller if found[name] * 50 >= found[form]]
        forms[form] = best[0] if len(best) == 1 else form
    return forms


def _sexes(book: Book, names: Names) -> dict[str, str]:
    """Sex by name, where the pronouns of sentences that hold one name alone mostly agree."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in book.lines:
        here = {name for _, name in names.named(line)}
        if len(here) == 1:
            votes[here.pop()].update(SEX[w.text] for w in line.words if w.text in SEX)
    return {
        name: sex
        for name, count in votes.items()
        for sex, n in count.most_common(1)
        if n >= _VOTES and n * 3 >= 2 * sum(count.values())
    }
