"""Who is in a story: names, what they are also called, and whom a pronoun may mean.

This is coreference inside one text, settled by how often and where its words stand; whether two bare names are one
person's is asked of `fabula.story.people`.
"""

# ruff: noqa: RUF001 - a dash as typeset

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.continuity.lexicon import COLOURS, FUNCTION, KIN, MATERIALS, NOT_NAMES, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity.book import Book, Line, Word

SEX: Final = {"he": "m", "him": "m", "his": "m", "himself": "m", "she": "f", "her": "f", "hers": "f", "herself": "f"}
_VOTES: Final = 2
_BACK: Final = 3  # sentences that a pronoun looks back over
_SHORTEST, _LONGEST = 2, 3  # letters of a name; words of one
_RARELY_SMALL: Final = 0.15  # a name is written with a small letter no more often than this


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something with a name.

    Attributes:
        name: the longest form, in small letters.
        aliases: all forms, in small letters, the name among them.
        mentions: how often any form stands in the story.
        scene: number of the scene where it is first named.
    """

    name: str
    aliases: frozenset[str]
    mentions: int
    scene: int


@dataclass
class Cast:
    """All entities of a book; `of` finds one by any of its forms.

    Attributes:
        entities: by name.
        forms: every form, and the name of its entity.
        tokens: how often each word that is a name, or a part of one, stands as such.
        sex: "m" or "f" by name, where the pronouns around it tell.
    """

    entities: dict[str, Entity] = field(default_factory=dict)
    forms: dict[str, str] = field(default_factory=dict)
    tokens: Counter[str] = field(default_factory=Counter)
    sex: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of_book(cls, book: Book) -> Cast:
        """The cast of a book, from capitals in running text, speakers, and titles."""
        tokens = _name_words(book)
        found: Counter[str] = Counter()
        first: dict[str, int] = {}
        for line in book.lines:
            for phrase in _phrases(line, tokens):
                found[phrase] += 1
                first.setdefault(phrase, book.scenes[line.scene].number)
        forms = _merged(found)
        cast = cls(forms=forms, tokens=tokens)
        groups: defaultdict[str, set[str]] = defaultdict(set)
        for form, name in forms.items():
            groups[name].add(form)
        for name, aliases in groups.items():
            seen = [form for form in aliases if found[form]]
            scene = min(first[form] for form in seen)
            cast.entities[name] = Entity(name, frozenset(aliases), sum(found[f] for f in seen), scene)
        cast.sex = _sexes(book, cast)
        return cast

    def named(self, line: Line) -> list[tuple[int, str]]:
        """Place (in words) and entity of each name in a sentence."""
        found, at = [], 0
        while at < len(line.words):
            size = next((n for n in (3, 2, 1) if " ".join(w.text for w in line.words[at : at + n]) in self.forms), 0)
            if size and (line.words[at].capital or line.words[at].upper):
                found.append((at, self.forms[" ".join(w.text for w in line.words[at : at + size])]))
            at += max(1, size)
        return found

    def whom(self, book: Book, line: Line, at: int) -> str:
        """The entity that the word at `at` (a name or a pronoun of the third person, or "my") means; else empty."""
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


def _sexes(book: Book, cast: Cast) -> dict[str, str]:
    """Sex by name, where the pronouns of sentences that name one entity alone mostly agree."""
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in book.lines:
        names = {name for _, name in cast.named(line)}
        if len(names) == 1:
            votes[names.pop()].update(SEX[w.text] for w in line.words if w.text in SEX)
    return {
        name: sex
        for name, count in votes.items()
        for sex, n in count.most_common(1)
        if n >= _VOTES and n * 3 >= 2 * sum(count.values())
    }


def titled(words: Sequence[Word], at: int) -> bool:
    """Whether the name at `at` has a title before it ("Captain Reyes")."""
    return at > 0 and words[at - 1].text in TITLES and words[at - 1].text not in FUNCTION
