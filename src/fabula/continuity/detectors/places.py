"""Where things are, and who is still alive."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from fabula.continuity.candidate import Claim, versus
from fabula.continuity.collide import collisions
from fabula.continuity.detectors.things import owner_of_line
from fabula.continuity.lexicon import LIVES, OPPOSITE_LEVEL, RECALLED, TITLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Line
    from fabula.continuity.candidate import Candidate, Reading

_MOST_LEVELS: Final = 4
_ALIKE: Final = 0.3
_LIVED: Final = frozenset({"born", "lives", "lived", "live", "grew", "raised", "comes", "hails"})
_DEAD: Final = frozenset({"died", "dead", "drowned", "perished", "deceased", "murdered", "executed", "slain"})
_GONE: Final = frozenset({"funeral", "grave", "killed", "death", "corpse", "body", "tombstone", "widow", "widower"})
_MOST: Final = 2


def levels(reading: Reading) -> Iterator[Candidate]:
    """Something that is upstairs in one passage and downstairs in another that speaks of the same."""
    book = reading.book
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


def homes(reading: Reading) -> Iterator[Candidate]:
    """Two places where a person was born, grew up or lives."""
    claims = [claim for line in reading.book.lines for claim in _homes_of(reading, line)]
    for pair in collisions(claims, most_values=4):
        yield versus(reading.book, "place", pair, 0.5)


def _homes_of(reading: Reading, line: Line) -> Iterator[Claim]:
    words = line.words
    for at, word in enumerate(words):
        if word.text not in _LIVED:
            continue
        for place in range(at + 1, min(len(words) - 1, at + 4)):
            name = words[place + 1]
            if words[place].text in {"in", "from"} and name.capital and name.text not in TITLES:
                owner = owner_of_line(reading, line, at)
                verb = "born" if word.text == "born" else "home"
                if owner and owner != reading.cast.forms.get(name.text):
                    yield Claim(f"{verb} of {owner}", f"{owner}'s home", name.text, line, word.start, name.end, owner)


def deaths(reading: Reading) -> Iterator[Candidate]:
    """A person who is dead in one passage and acts in a later one."""
    book = reading.book
    dead: dict[str, Line] = {}
    for line in book.lines:
        for name in _dead_in(reading, line):
            dead.setdefault(name, line)
    acts: defaultdict[str, list[Line]] = defaultdict(list)
    for line in book.lines:
        for at, name in reading.cast.named(line):
            last = at + 1
            if (
                name in dead
                and dead[name].number < line.number
                and _acts(line, at, last)
                and not _recalled(reading, line)
            ):
                acts[name].append(line)
    for name, lines in acts.items():
        for line in lines[:_MOST]:
            one = Claim("life", name, "dead", dead[name], dead[name].start, dead[name].end, name)
            yield versus(book, "life", (one, Claim("life", name, "alive", line, line.start, line.end, name)), 0.55)


def _dead_in(reading: Reading, line: Line) -> Iterator[str]:
    """Who is said to be dead: a name before "died" or "is dead", or a name that owns a grave."""
    words = line.words
    if any(
        word.text in {"not", "if", "could", "might", "would", "thought", "never", "almost", "nearly"} for word in words
    ):
        return
    for at, name in reading.cast.named(line):
        size = len(name.split()) if " ".join(w.text for w in words[at : at + len(name.split())]) == name else 1
        after = [word.text for word in words[at + size : at + size + 3]]
        owner = words[min(len(words), at + size) - 1].owner
        if (
            (after[:1] and after[0] in _DEAD - {"dead"})
            or (
                after[:1]
                and after[0] in {"is", "was", "were", "had", "has", "lay"}
                and set(after[1:]) & (_DEAD | {"killed"})
            )
            or (owner and after[:1] and after[0] in _GONE)
        ):
            yield name


def _acts(line: Line, at: int, last: int) -> bool:
    return any(word.text in LIVES for word in line.words[last : last + 2]) or bool(line.speaker and at < 0)


def _recalled(reading: Reading, line: Line) -> bool:
    return any(near.has(RECALLED) for near in reading.book.near(line, 1))
