"""Who people are: titles, kin, and the names of those who fill a role."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.continuity.book import determiner, stem
from fabula.continuity.candidate import Claim, versus
from fabula.continuity.collide import collisions
from fabula.continuity.entities import SEX
from fabula.continuity.lexicon import (
    AUTHORED,
    CIVIL,
    FUNCTION,
    KIN,
    KINDS,
    POSSESSIVES,
    ROLES,
    SAME_TITLE,
    TITLES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Line, Word
    from fabula.continuity.candidate import Candidate, Reading

_PETS: Final = frozenset({"dog", "cat", "horse"})
_NO: Final = frozenset(
    {"no", "never", "without", "not", "nobody", "none", "only", "didn't", "don't", "doesn't", "hasn't", "haven't"}
)
_MOST: Final = 3


def titles(reading: Reading) -> Iterator[Candidate]:
    """One surname with two offices: "Deputy Briggs", "Chief Briggs"."""
    claims = [claim for line in reading.book.lines for claim in _titles_of(line)]
    for pair in collisions(claims, most_values=4):
        offices = all(claim.firm for claim in pair)
        yield versus(reading.book, "title", pair, 0.75 if offices else 0.3, tight=offices)


def _titles_of(line: Line) -> Iterator[Claim]:
    for title, name in zip(line.words, line.words[1:], strict=False):
        known = title.text in TITLES and title.text not in KIN
        if known and _named(title) and _named(name) and name.text not in TITLES and not _stops(line, title, name):
            value = SAME_TITLE.get(title.text, title.text)
            yield Claim(
                f"title of {name.text}", name.text.title(), value, line, title.start, name.end, firm=value not in CIVIL
            )


def _named(word: Word) -> bool:
    return word.capital or word.upper


def _stops(line: Line, title: Word, name: Word) -> bool:
    """Whether more than a full stop of an abbreviation parts a title from the name."""
    return line.text[title.end - line.start : name.start - line.start].strip() not in ("", ".")


def role_fillers(reading: Reading) -> Iterator[Candidate]:
    """Two names for who fills one role: "my editor, Claire", "Diane, my editor"; also for an animal, or an author."""
    lines = reading.book.lines
    claims = [c for line in lines for c in (*_fillers(reading, line), *_pets(reading, line), *_authors(line))]
    for pair in collisions(claims, most_values=5):
        owned = bool(pair[0].owner) and pair[0].owner == pair[1].owner
        yield versus(reading.book, "role", pair, 0.45 + 0.2 * owned + 0.15 * all(c.firm for c in pair))


def _fillers(reading: Reading, line: Line) -> Iterator[Claim]:
    """As "her sister Anna", "my editor -- Claire Munroe", "Anna, her sister"."""
    words = line.words
    for at, word in enumerate(words):
        if word.text not in ROLES and word.text not in KIN:
            continue
        article = determiner(line, at)
        if article not in POSSESSIVES and not (at and words[at - 1].owner):
            continue
        owner = reading.cast.whom(reading.book, line, at - 1)
        name = _beside(reading, line, at)
        if name is not None:
            key = f"{word.text} of {owner or 'somebody'}"
            yield Claim(key, f"{owner}'s {word.text}" if owner else word.text, name.text, line,
                        min(word.start, name.start), max(word.end, name.end), owner)  # fmt: skip


def _beside(reading: Reading, line: Line, at: int) -> Word | None:
    """The name that stands right after a role, or right before the group that it ends."""
    words = line.words
    if at + 1 < len(words) and words[at + 1].text in reading.cast.forms and _named(words[at + 1]):
        return words[at + 1]
    if at > 1 and words[at - 1].gap and words[at - 2].text in reading.cast.tokens and _named(words[at - 2]):
        return words[at - 2]
    return None


def _pets(reading: Reading, line: Line) -> Iterator[Claim]:
    """What an animal is called: beside its kind, by "name is", or as it is called to."""
    kinds = {KINDS[w.text] for near in reading.book.near(line, 2) for w in near.words if KINDS.get(w.text) in _PETS}
    if len(kinds) != 1:
        return
    kind = kinds.pop()
    own = {at for at, word in enumerate(line.words) if KINDS.get(word.text) == kind}
    for at, word in enumerate(line.words):
        after = line.text[word.end - line.start : word.end - line.start + 1]
        called = at == 0 and after == "!" and line.spoken and word.capital and word.text not in FUNCTION
        told = at > 1 and line.words[at - 1].text in {"is", "was", "named", "called"} and (
            line.words[at - 2].text == "name" or line.words[at - 1].text in {"named", "called"}
        ) and word.capital  # fmt: skip
        beside = at - 1 in own and word.gap and _named(word) and word.text in reading.cast.tokens
        if called or told or beside:
            yield Claim(
                f"name of {kind}", f"the {kind}'s name", word.text, line, word.start, word.end, firm=told or beside
            )


def _authors(line: Line) -> Iterator[Claim]:
    """As "written by Jane Doe"."""
    words = line.words
    for at in range(len(words) - 2):
        if words[at].text in AUTHORED and words[at + 1].text == "by" and _named(words[at + 2]):
            last = at + 3 if at + 3 < len(words) and _named(words[at + 3]) and not words[at + 3].gap else at + 2
            yield Claim(f"{words[at].text} by", f"{words[at].text} by", words[last].text, line,
                        words[at].start, words[last].end, firm=True)  # fmt: skip


def kin(reading: Reading) -> Iterator[Candidate]:
    """Kin that a person is said not to have, and has elsewhere: "no children", "my daughter"."""
    denied: list[Claim] = []
    told: list[Claim] = []
    for line in reading.book.lines:
        for at, word in enumerate(line.words):
            if word.text in KIN:
                claim = _kin_claim(reading, line, at)
                (denied if claim.value == "none" else told).append(claim)
    for none in denied:
        fitting = [c for c in told if c.key == none.key and c.line is not none.line and _may_share(c, none)]
        ranked = sorted(fitting, key=lambda c: (not (c.owner and c.owner == none.owner), c.line.number))
        for other in ranked[:_MOST]:
            owned = bool(other.owner) and other.owner == none.owner
            yield versus(reading.book, "kin", (none, other), 0.5 + 0.25 * owned)


def _kin_claim(reading: Reading, line: Line, at: int) -> Claim:
    word = line.words[at]
    before = [w.text for w in line.words[max(0, at - 3) : at]]
    stopped = any(w.gap for w in line.words[max(0, at - 1) : at + 1])
    none = bool(before) and (before[-1] == "no" or (bool(set(before) & (_NO - {"no", "only"})) and not stopped))
    only = bool(before) and before[-1] == "only" and KIN[word.text] == "child"
    kind = "sibling" if only else KIN[word.text]
    owner = _whose(reading, line, at)
    value = "none" if none or only else stem(word.text)
    return Claim(f"kin: {kind}", f"{owner}'s {kind}" if owner else kind, value, line, word.start, word.end, owner)


def _whose(reading: Reading, line: Line, at: int) -> str:
    """Whose kin is spoken of: the possessive's; else the subject's; "your" is whoever spoke or was spoken of before."""
    for back in range(at - 1, max(-1, at - 6), -1):
        word = line.words[back]
        if word.owner or word.text in SEX or word.text in ("my", "i"):
            return reading.cast.whom(reading.book, line, back)
        if word.text == "your":
            return _addressed(reading, line)
    return reading.cast.forms.get(line.speaker, "")


def _addressed(reading: Reading, line: Line) -> str:
    """The other speaker of a dialogue in a screenplay; empty in prose."""
    others = [near.speaker for near in reversed(reading.book.near(line, 6)) if near.speaker not in ("", line.speaker)]
    return reading.cast.forms.get(others[0], others[0]) if others and line.speaker else ""


def _may_share(one: Claim, other: Claim) -> bool:
    return not (one.owner and other.owner) or one.owner == other.owner
