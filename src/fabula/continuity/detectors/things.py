"""What people have and use: kinds of objects, their state, denials, causes of injuries, and where things are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from fabula.continuity.book import SEX, determiner, singular
from fabula.continuity.candidates import Candidate, Claim, collisions, versus
from fabula.continuity.lexicon import (
    BROKEN,
    CAUSES,
    COLOURS,
    FUNCTION,
    HOT,
    INJURY,
    KIN,
    KINDS,
    MATERIALS,
    OPPOSITE_LEVEL,
    PLAIN,
    POSSESSED,
    POSSESSIVES,
    REPAIR,
    STATE_PAIRS,
    TITLES,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Book, Line
    from fabula.continuity.candidates import Candidate

_USE: Final = POSSESSED | frozenset(
    {"with", "unlocks", "locks", "unlocked", "locked", "drinks", "drank", "sips", "sipped", "buzzes", "rings"}
)
_RARE: Final = 12
_MOST: Final = 2
_NEVER: Final = frozenset(
    {"never", "no", "without", "hasn't", "haven't", "doesn't", "don't", "didn't", "can't", "cannot"}
)
_OPPOSITES: Final = STATE_PAIRS | {b: a for a, b in STATE_PAIRS.items()}
_HAVE: Final = frozenset({"is", "was", "are", "were", "stood", "stands", "remained", "stays"})
_MOST_LEVELS: Final = 4
_ALIKE: Final = 0.3
_LIVED: Final = frozenset({"born", "lives", "lived", "live", "grew", "raised", "comes", "hails"})


def owner_of_line(book: Book, line: Line, at: int) -> str:
    """Who has or does what stands at `at`: the possessive before it, else the sentence's first name or pronoun."""
    for back in range(at - 1, max(-1, at - 5), -1):
        word = line.words[back]
        if word.owner or word.text in POSSESSIVES:
            return book.names.whom(book, line, back)
    if named := book.names.named(line):
        return named[0][1]
    for place, word in enumerate(line.words):
        if word.text in SEX or word.text in ("i", "my"):
            return book.names.whom(book, line, place)
    return book.names.forms.get(line.speaker, "")


def kinds(book: Book) -> Iterator[Candidate]:
    """Two things of one kind in one person's hands: a briefcase, then a backpack."""
    claims = [claim for line in book.lines for claim in _kinds_of(book, line)]
    for pair in collisions(claims, most_values=5):
        worn = all(claim.firm for claim in pair)
        yield versus(book, "object", pair, 0.45 + 0.15 * worn + 0.1 * (pair[0].line.scene != pair[1].line.scene))


def _kinds_of(book: Book, line: Line) -> Iterator[Claim]:
    used = any(word.text in _USE for word in line.words)
    for at, word in enumerate(line.words):
        kind, thing = KINDS.get(word.text, ""), _thing(line, at)
        owned = at > 0 and (determiner(line, at) in POSSESSIVES or line.words[at - 1].owner)
        owner = owner_of_line(book, line, at) if kind and thing and (used or owned) else ""
        if owner:
            firm = used and determiner(line, at) != ""
            yield Claim(f"{kind} of {owner}", f"{owner}'s {kind}", thing, line, word.start, word.end, owner, firm=firm)


def _thing(line: Line, at: int) -> str:
    """What a word says that a thing is; the name of a kind says it together with the word before ("flip phone")."""
    word = line.words[at]
    if KINDS.get(word.text) != singular(word.text):
        return singular(word.text)
    before = line.words[at - 1] if at else None
    if before is None or word.gap or before.owner or before.text in FUNCTION or before.text in PLAIN:
        return ""
    return "" if before.text in COLOURS or before.text in MATERIALS else f"{before.text} {singular(word.text)}"


def states(book: Book) -> Iterator[Candidate]:
    """A thing that does not work, or is gone, and is used later with no word of repair; and opposite states."""
    lines = book.lines
    places: dict[str, list[Line]] = {}
    for line in lines:
        for text in {singular(word.text) for word in line.words}:
            places.setdefault(text, []).append(line)
    for line in lines:
        if line.has(BROKEN) or "out of order" in line.text.lower():
            yield from _used_later(book, line, places)
    claims = [claim for line in lines for claim in _states_of(line)]
    for pair in collisions(claims, most_values=3):
        if _OPPOSITES.get(pair[0].value) == pair[1].value:
            yield versus(book, "state", pair, 0.35)


def _used_later(book: Book, line: Line, places: dict[str, list[Line]]) -> Iterator[Candidate]:
    """Later scenes' first uses of what a sentence says to be broken."""
    for at, word in enumerate(line.words):
        whole = not word.gap or at == 0
        if not (determiner(line, at) and whole and book.heads[word.text]) or book.spread[singular(word.text)] > _RARE:
            continue
        if word.text in BROKEN or word.text in FUNCTION:
            continue
        later = [other for other in places.get(singular(word.text), ()) if other.scene > line.scene]
        if not later or any(near.has(REPAIR) for near in book.near(later[0], 1)):
            continue
        one = Claim("state", word.text, "not working", line, word.start, word.end)
        seen = next(w for w in later[0].words if singular(w.text) == singular(word.text))
        other = Claim("state", word.text, "in use", later[0], seen.start, seen.end)
        yield versus(book, "state", (one, other), 0.4 + 0.1 * (not later[0].spoken) + 0.02 * min(5, len(word.text)))


def _states_of(line: Line) -> Iterator[Claim]:
    words = line.words
    for at, word in enumerate(words):
        if word.text not in _OPPOSITES:
            continue
        if at > 1 and words[at - 1].text in _HAVE and words[at - 2].text not in FUNCTION:
            head = words[at - 2]
        elif at and at + 1 < len(words) and determiner(line, at) and words[at + 1].text not in FUNCTION:
            head = words[at + 1]
        else:
            continue
        start, end = min(head.start, word.start), max(head.end, word.end)
        yield Claim(f"state of {singular(head.text)}", head.text, word.text, line, start, end)


def denials(book: Book) -> Iterator[Candidate]:
    """What somebody is said never to have, need or do, and has, needs or does elsewhere."""
    places: dict[str, list[Line]] = {}
    for line in book.lines:
        for text in {topic for word in line.words for topic in _topics(word.text)}:
            places.setdefault(text, []).append(line)
    for line in book.lines:
        for at, word in enumerate(line.words):
            if word.text in _NEVER:
                yield from _denied(book, line, at, places)


def _topics(word: str) -> tuple[str, ...]:
    """What a word can be looked up by: itself, and its kind."""
    kind = KINDS.get(word) or KINDS.get(singular(word))
    hot = ("hot drink",) if word in HOT else ()
    return (singular(word), *((f"kind: {kind}",) if kind else ()), *hot)


def _denied(book: Book, line: Line, at: int, places: dict[str, list[Line]]) -> Iterator[Candidate]:
    owner = _denier(book, line, at)
    for place in range(at + 1, min(len(line.words), at + 7)):
        word = line.words[place]
        if word.gap and place > at + 1:
            return
        kind = KINDS.get(word.text)
        if word.text in FUNCTION or word.text in KIN or not (book.heads[word.text] or kind):
            continue
        topic = f"kind: {kind}" if kind == singular(word.text) else singular(word.text)
        topic = "hot drink" if kind == "drink" and line.words[place - 1].text == "hot" else topic
        found = [other for other in places.get(topic, ()) if other is not line and not _negated(other, topic)]
        if not 0 < len(found) <= _RARE * (4 if kind else 1):
            continue
        ranked = sorted(found, key=lambda o: (not _has(book, o, owner), o.number))
        for other in ranked[:_MOST]:
            yield _against(book, (line, word.start, word.end), other, topic, owner)


def _denier(book: Book, line: Line, at: int) -> str:
    for place in (*range(at, -1, -1), *range(at, len(line.words))):
        word = line.words[place]
        if word.text in SEX or word.text == "i":
            return book.names.whom(book, line, place)
    return owner_of_line(book, line, at)


def _has(book: Book, line: Line, owner: str) -> bool:
    """Whether a person is named in a sentence or speaks it, or a pronoun in it can mean them."""
    if not owner:
        return False
    if owner in {name for _, name in book.names.named(line)} or book.names.forms.get(line.speaker) == owner:
        return True
    return any(book.names.whom(book, line, at) == owner for at, word in enumerate(line.words) if word.text in SEX)


def _negated(line: Line, topic: str) -> bool:
    return any(word.text in _NEVER for word in line.words) and bool(topic)


def _against(book: Book, denial: tuple[Line, int, int], other: Line, topic: str, owner: str) -> Candidate:
    line, start, end = denial
    name = topic.removeprefix("kind: ")
    seen = next(word for word in other.words if topic in _topics(word.text))
    one = Claim("denial", name, "denied", line, start, end, owner)
    two = Claim("denial", name, "there", other, seen.start, seen.end, owner)
    score = 0.35 + 0.15 * _has(book, other, owner) + 0.1 * (name in KINDS or topic.startswith("kind"))
    strong = any(word.text == "never" for word in line.words)
    return versus(book, "denial", (one, two), score + 0.1 * strong + 0.1 * line.spoken)


def causes(book: Book) -> Iterator[Candidate]:
    """Two causes of one injury: a ladder, then a car accident."""
    claims = [claim for line in book.lines for claim in _causes_of(book, line)]
    for pair in collisions(claims, most_values=5):
        yield versus(book, "cause", pair, 0.5 + 0.15 * (pair[0].owner != ""))


def _causes_of(book: Book, line: Line) -> Iterator[Claim]:
    if not any(near.has(INJURY) for near in book.near(line, 3)):
        return
    found = [(word, CAUSES[word.text]) for word in line.words if word.text in CAUSES]
    if found and (line.spoken or line.has(INJURY)):
        owner = owner_of_line(book, line, 0)
        word = found[0][0]
        yield Claim(f"cause of {owner or 'somebody'}", f"{owner}'s injury" if owner else "the injury", found[-1][1],
                    line, word.start, found[-1][0].end, owner)  # fmt: skip


def levels(book: Book) -> Iterator[Candidate]:
    """Something that is upstairs in one passage and downstairs in another that speaks of the same."""
    claims = [claim for line in book.lines for claim in _levels_of(line)]
    ups, downs = ([c for c in claims if c.value == way] for way in ("up", "down"))
    found = [
        (book.likeness(a.line, b.line), a, b) for a in ups[:400] for b in downs[:400] if a.line.scene != b.line.scene
    ]
    best = sorted((row for row in found if row[0] >= _ALIKE), key=lambda row: -row[0])
    taken: defaultdict[int, int] = defaultdict(int)
    for alike, one, other in best:
        taken[other.line.scene] += 1
        if taken[other.line.scene] <= _MOST_LEVELS:
            yield versus(book, "place", (one, other), 0.25 + 0.35 * alike)


def _levels_of(line: Line) -> Iterator[Claim]:
    found = [(word, OPPOSITE_LEVEL[word.text]) for word in line.words if word.text in OPPOSITE_LEVEL]
    if found:
        ways = [way for _, way in found]
        way = max(("up", "down"), key=ways.count)
        word = next(word for word, own in found if own == way)
        yield Claim("level", "", way, line, word.start, word.end)


def homes(book: Book) -> Iterator[Candidate]:
    """Two places where a person was born, grew up or lives."""
    claims = [claim for line in book.lines for claim in _homes_of(book, line)]
    for pair in collisions(claims, most_values=4):
        yield versus(book, "place", pair, 0.5)


def _homes_of(book: Book, line: Line) -> Iterator[Claim]:
    words = line.words
    for at, word in enumerate(words):
        if word.text not in _LIVED:
            continue
        for place in range(at + 1, min(len(words) - 1, at + 4)):
            name = words[place + 1]
            if words[place].text in {"in", "from"} and name.capital and name.text not in TITLES:
                owner = owner_of_line(book, line, at)
                verb = "born" if word.text == "born" else "home"
                if owner and owner != book.names.forms.get(name.text):
                    yield Claim(f"{verb} of {owner}", f"{owner}'s home", name.text, line, word.start, name.end, owner)
