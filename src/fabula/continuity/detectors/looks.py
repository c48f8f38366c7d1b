"""Colours, materials and sides: what a thing looks like, and which of two it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.continuity.book import determiner, run_after, singular
from fabula.continuity.candidates import Candidate, Claim, collisions, versus
from fabula.continuity.lexicon import (
    COLOURED,
    COLOURS,
    FLEETING,
    FUNCTION,
    HURT,
    INDEFINITE,
    KINDS,
    MATERIALS,
    POSSESSIVES,
    SAME_COLOUR,
    SAME_MATERIAL,
    SHADES,
    SIDED,
    SIDES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Book, Line, Word
    from fabula.continuity.candidates import Candidate

_METALS: Final = frozenset({"gold", "silver", "brass", "copper", "bronze"})
_HAVE: Final = frozenset(
    {"is", "was", "are", "were", "painted", "dyed", "looked", "looks", "seemed", "remained", "stayed"}
)
_OWNED: Final = frozenset({"eye", "hair", "beard", "moustache", "mustache", "skin", "scar", "tattoo"})
_SELDOM: Final = 6
_PLAIN: Final = frozenset({"dark", "light", "old", "new", "small", "large", "big", "little", "worn", "long", "short"})


def looks(book: Book) -> Iterator[Candidate]:
    """A thing of two colours or two materials: the same word for it, a word of its kind, or "the blue one"."""
    claims = [claim for line in book.lines for claim in _looks_of(book, line)]
    for pair in collisions(claims, most_values=_SELDOM):
        yield versus(book, "colour", pair, _score(pair), tight=_tight(pair))
    yield from _kinds(book, claims)


def _looks_of(book: Book, line: Line) -> Iterator[Claim]:
    for at, word in enumerate(line.words):
        value, field = _value(word)
        fields = ("colour", "material") if value in _METALS else (field,) if value else ()
        for each in fields:
            yield from _attributive(book, line, at, (value, each))
            yield from _predicative(book, line, at, (value, each))


def _value(word: Word) -> tuple[str, str]:
    """The colour or material that a word names, and which of both it is; empty for other words."""
    text = word.text
    for suffix in COLOURED:
        text = text.removesuffix(suffix)
    head, dash, tail = text.rpartition("-")
    if dash and tail in COLOURS and (head in SHADES or head in COLOURS):
        text = tail
    if text in COLOURS:
        return SAME_COLOUR.get(text, text), "colour"
    return (SAME_MATERIAL.get(text, text), "material") if text in MATERIALS else ("", "")


def _attributive(book: Book, line: Line, at: int, value: tuple[str, str]) -> Iterator[Claim]:
    """The claims of "the blue ceramic mug"."""
    after = at + 1
    while after < len(line.words) and not line.words[after].gap and _value(line.words[after])[0]:
        after += 1
    if after >= len(line.words) or line.words[after].gap or line.words[after].text == "and":
        return
    run = run_after(line, after, book)
    if not run and line.words[after].text in {"one", "ones"}:
        yield _claim(book, line, (at, after + 1), value, "one")
    for place, word in enumerate(run):
        last = place == len(run) - 1
        yield _claim(book, line, (at, after + place + 1), value, singular(word.text), firm=last)


def _claim(
    book: Book, line: Line, words: tuple[int, int], value: tuple[str, str], head: str, *, firm: bool = True
) -> Claim:
    first, last = words
    article = determiner(line, first)
    owner = _owner(book, line, first, article)
    frame = frozenset(w.text for w in line.words[first + 1 : last - 1] if w.text not in _PLAIN and not _value(w)[0])
    steady = head not in FLEETING and singular(head) not in FLEETING and not (head in _OWNED and not owner)
    return Claim(
        f"{value[1]} of {head}",
        f"{owner}'s {head}" if owner else head,
        value[0],
        line,
        line.words[first].start,
        line.words[last - 1].end,
        owner,
        article not in INDEFINITE and bool(article),
        firm and steady and book.heads[line.words[last - 1].text] > 0,
        frame,
    )


def _owner(book: Book, line: Line, first: int, article: str) -> str:
    """Whose the group at `first` is, by its possessive; empty where the text does not say."""
    for back in range(1, 4):
        if first - back < 0:
            return ""
        word = line.words[first - back]
        if word.owner or (word.text in POSSESSIVES and word.text == article):
            known = book.names.whom(book, line, first - back)
            return known or (word.text if word.owner else "")
        if word.text in FUNCTION:
            return ""
    return ""


def _predicative(book: Book, line: Line, at: int, value: tuple[str, str]) -> Iterator[Claim]:
    """The claims of "the door was painted blue" and "It is brass"."""
    words = line.words
    ends = at + 1 == len(words) or words[at + 1].gap or words[at + 1].text in FUNCTION
    back = at - 1
    while back >= 0 and (
        words[back].text in SHADES or words[back].text in {"a", "very", "all", "once", "painted", "not"}
    ):
        back -= 1
    if not ends or back < 0 or words[back].text not in _HAVE:
        return
    subject = back - 1
    if subject >= 0 and words[subject].text in {"it", "they"}:
        yield from _pronoun(book, line, (at, at + 1), value)
    elif subject >= 0 and words[subject].text not in FUNCTION and _known(determiner(line, subject)):
        head = singular(words[subject].text)
        owner = _owner(book, line, subject, determiner(line, subject))
        key = f"{value[1]} of {head}"
        firm = head not in FLEETING and not (head in _OWNED and not owner)
        start, end = words[subject].start, words[at].end
        yield Claim(
            key, f"{owner}'s {head}" if owner else head, value[0], line, start, end, owner, definite=True, firm=firm
        )


def _known(article: str) -> bool:
    return bool(article) and article not in INDEFINITE


def _pronoun(book: Book, line: Line, words: tuple[int, int], value: tuple[str, str]) -> Iterator[Claim]:
    """A claim on each thing that the sentence before names with a determiner, and "it" may mean."""
    if not line.number or book.lines[line.number - 1].scene != line.scene:
        return
    before = book.lines[line.number - 1]
    for at, word in enumerate(before.words):
        if word.text not in FUNCTION and determiner(before, at) and book.heads[word.text] > 0:
            start, end = line.words[words[0]].start, line.words[words[1] - 1].end
            yield Claim(
                f"{value[1]} of {singular(word.text)}", singular(word.text), value[0], line, start, end, definite=True
            )


def _score(pair: tuple[Claim, Claim]) -> float:
    one, other = pair
    steady = one.key.rpartition(" of ")[2] not in FLEETING
    owned = bool(one.owner) and one.owner == other.owner
    return 0.5 + 0.2 * (one.firm and other.firm) + 0.1 * other.definite + 0.15 * owned - 0.25 * (not steady)


def _tight(pair: tuple[Claim, Claim]) -> bool:
    """The same word for a thing that the later passage takes as known, with no words that could part two things."""
    one, other = pair
    two_things = one.frame and other.frame and one.frame != other.frame
    many = one.key.endswith("s") or not one.key.startswith("colour of ")
    plural = any(_words(claim).endswith("s") for claim in pair)
    return (
        one.firm and other.firm and other.definite and not (two_things or many or plural or one.key.endswith(" of one"))
    )


def _words(claim: Claim) -> str:
    """The words of a claim."""
    return claim.line.text[claim.start - claim.line.start : claim.end - claim.line.start]


def _kinds(book: Book, claims: list[Claim]) -> Iterator[Candidate]:
    """A colour of a thing beside another colour of a thing of its kind, or of "the blue one"."""
    general: list[Claim] = []
    for claim in claims:
        field, _, head = claim.key.partition(" of ")
        kind = "*" if head == "one" else KINDS.get(head, "")
        if kind:
            general.append(_moved(claim, f"{field}: {kind}", head))
    wild = [c for c in general if c.key.endswith(": *")]
    for pair in collisions(general):
        if pair[0].frame != pair[1].frame:
            yield versus(book, "colour", pair, 0.5 + 0.1 * pair[1].definite)
    for one in wild:
        field = one.key.partition(":")[0]
        for other in general:
            if other.key.startswith(field) and other.value != one.value and other.key != one.key:
                yield versus(book, "colour", (one, other), 0.45 - 0.1 * (one.line.number < other.line.number))


def _moved(claim: Claim, key: str, head: str) -> Claim:
    return Claim(
        key, claim.subject, claim.value, claim.line, claim.start, claim.end, claim.owner, claim.definite,
        frame=frozenset({head}),
    )  # fmt: skip


def sides(book: Book) -> Iterator[Candidate]:
    """A limb, or another thing of which there are two, on the left and on the right."""
    claims = [claim for line in book.lines for claim in _sides_of(book, line)]
    for pair in collisions(claims):
        hurt = all(claim.firm for claim in pair)
        owned = bool(pair[0].owner) and pair[0].owner == pair[1].owner
        yield versus(book, "side", pair, 0.4 + 0.3 * hurt + 0.15 * owned, tight=hurt and owned)


def _sides_of(book: Book, line: Line) -> Iterator[Claim]:
    near = book.near(line, 2)
    hurt = any(word.text in HURT for other in near for word in other.words)
    for at, word in enumerate(line.words[:-1]):
        limb = line.words[at + 1]
        if word.text in SIDES and limb.text in SIDED and not limb.gap:
            owner = _owner(book, line, at, determiner(line, at))
            head = singular(limb.text)
            yield Claim(
                f"side of {head}", f"{owner}'s {head}" if owner else head, word.text, line, word.start, limb.end,
                owner or book.names.forms.get(line.speaker, ""), firm=hurt,
            )  # fmt: skip
