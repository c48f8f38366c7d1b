"""Who people are: variants of their names, titles, kin, who fills a role, and who is still alive."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import DamerauLevenshtein

from fabula.continuity.book import SEX, determiner, singular
from fabula.continuity.candidates import Candidate, Claim, collisions, cues_near, passage, versus
from fabula.continuity.lexicon import (
    AUTHORED,
    CIVIL,
    DETERMINERS,
    FUNCTION,
    KIN,
    KINDS,
    LIVES,
    NOT_NAMES,
    POSSESSIVES,
    RECALLED,
    ROLES,
    SAME_TITLE,
    SPELLING,
    TITLES,
)
from fabula.continuity.numbers import VALUES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Book, Line, Word

_SHORTEST: Final = 4
_LONG: Final = 6  # names from this length on may differ by two letters
_TWO: Final = 2
_MOST_RARE: Final = 3
_TIMES: Final = 3  # the frequent form stands at least so many times as often; twice for long names
_SOUNDING: Final = 10  # a name that often, for a slip that only sounds like it
_SILENT: Final = str.maketrans("", "", "aeiouhwy")
_SUFFIXES: Final = (
    "s", "es", "n", "an", "ian", "ish", "ese", "ic", "er", "ers", "ite", "y", "ly", "ns", "ans", "ians", "i", "ed",
    "ing",
)  # fmt: skip
_MOST_NAMES: Final = 4000
_PETS: Final = frozenset({"dog", "cat", "horse"})
_NO: Final = frozenset(
    {"no", "never", "without", "not", "nobody", "none", "only", "didn't", "don't", "doesn't", "hasn't", "haven't"}
)
_MOST_KIN: Final = 3
_DEAD: Final = frozenset({"died", "dead", "drowned", "perished", "deceased", "murdered", "executed", "slain"})
_GONE: Final = frozenset({"funeral", "grave", "killed", "death", "corpse", "body", "tombstone", "widow", "widower"})
_MOST_ACTS: Final = 2


@dataclass
class _Seen:
    """Where a capitalised word stands."""

    count: int = 0
    small: int = 0
    inside: int = 0
    known: int = 0
    places: list[tuple[Line, Word]] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)


def name_variants(book: Book) -> Iterator[Candidate]:
    """A capitalised word that stands at most three times, one or two letters away from one that stands often.

    Not taken: plurals and adjectives of a name, short forms ("Dan" of "Daniel"), words that the story also writes
    small, and two words that stand in one sentence, which are two names.
    """
    seen = _capitals(book)
    frequent = {word: one for word, one in seen.items() if one.count > _MOST_RARE and _is_name(one)}
    if len(frequent) > _MOST_NAMES:
        ranked = sorted(frequent, key=lambda word: -frequent[word].count)[:_MOST_NAMES]
        frequent = {word: frequent[word] for word in ranked}
    buckets: defaultdict[int, list[str]] = defaultdict(list)
    for word in frequent:
        buckets[len(word)].append(word)
    for rare, one in seen.items():
        if one.count <= _MOST_RARE and not one.small and len(rare) >= _SHORTEST:
            near = [w for size in range(len(rare) - 2, len(rare) + 3) for w in buckets[size] if _variant(w, rare)]
            near = [w for w in near if _fits(one, frequent[w]) and _often(w, frequent[w], rare, one)]
            if near:
                best = max(near, key=lambda word: frequent[word].count)
                yield _candidate(book, (best, frequent[best]), (rare, one))


def _capitals(book: Book) -> dict[str, _Seen]:
    """Every capitalised word that may be a name, with its places."""
    seen: defaultdict[str, _Seen] = defaultdict(_Seen)
    small: Counter[str] = Counter()
    for line in book.lines:
        for at, word in enumerate(line.words):
            if not word.capital:
                small[word.text] += not word.upper
            elif not _no_name(word.text):
                one = seen[word.text]
                one.count += 1
                one.inside += at > 0 and not word.gap
                one.known += at > 0 and line.words[at - 1].text in DETERMINERS
                one.lines.add(line.number)
                one.places.append((line, word))
    for text, one in seen.items():
        one.small = small[text]
    return dict(seen)


def _no_name(word: str) -> bool:
    drawn_out = any(letter * 3 in word for letter in set(word))  # a cry: "Maaarta!"
    return (
        drawn_out
        or not word.isalpha()
        or word in VALUES
        or word in NOT_NAMES
        or word in FUNCTION
        or word in TITLES
        or word in KIN
    )


def _is_name(one: _Seen) -> bool:
    return one.inside > 0 and one.small * 10 <= one.count


def _variant(known: str, rare: str) -> bool:
    """Whether `rare` looks like a slip in writing `known`."""
    if _derived(known, rare) or _derived(rare, known):
        return False
    distance = DamerauLevenshtein.distance(known, rare, score_cutoff=_TWO)
    if distance == 1:
        return len(known) >= _SHORTEST
    if _sounds_alike(known, rare):
        return True
    return distance == _TWO and min(len(known), len(rare)) >= _LONG - 1 and known[:3] == rare[:3] and max(
        len(known), len(rare)
    ) >= _LONG  # fmt: skip


def _sounds_alike(known: str, rare: str) -> bool:
    """Whether two short names differ by two letters, all of them vowels or silent ("Neil", "Neal" and "Niall")."""
    return (
        known[0] == rare[0]
        and known.translate(_SILENT) == rare.translate(_SILENT)
        and DamerauLevenshtein.distance(known, rare, score_cutoff=_TWO) == _TWO
    )


def _derived(word: str, longer: str) -> bool:
    """Whether `longer` is a plural, an adjective or the long form of `word`."""
    for root in (word, word[:-1]):
        if any(longer == root + suffix for suffix in _SUFFIXES) and len(longer) >= len(word):
            return root == word or longer.endswith(("an", "ian", "ish", "ese", "ic", "ies", "ans", "ians"))
    return longer.startswith(word) and len(longer) - len(word) > 1


def _fits(rare: _Seen, known: _Seen) -> bool:
    """Whether the one can be a slip for the other: much rarer, never in one sentence with it.

    A word that only ever begins sentences may be none but a verb, so it counts beside the name of a person alone (a
    name that hardly ever has an article).
    """
    person = known.known * 4 <= known.count
    return known.count > 2 * rare.count and not rare.lines & known.lines and (person or rare.inside > 0)


def _often(word: str, known: _Seen, rare: str, one: _Seen) -> bool:
    """Whether the known form stands often enough beside the rare one."""
    if _sounds_alike(word, rare):
        return known.count >= _SOUNDING and one.count == 1
    return known.count >= (2 if len(word) >= _LONG else _TIMES) * one.count


def _candidate(book: Book, known: tuple[str, _Seen], rare: tuple[str, _Seen]) -> Candidate:
    line, word = rare[1].places[0]
    places = known[1].places
    before = next(((there, name) for there, name in reversed(places) if there.number < line.number), places[0])
    pair = sorted([(before[0], before[1], known[0]), (line, word, rare[0])], key=lambda part: part[0].number)
    distance = DamerauLevenshtein.distance(known[0], rare[0])
    score = 0.95 - 0.15 * (distance - 1) - 0.1 * (rare[1].count - 1) - 0.1 * (rare[1].inside == 0)
    first, second = ((there, (name.start, name.end), text) for there, name, text in pair)
    return Candidate(
        "name",
        known[0].title(),
        (first[2].title(), second[2].title()),
        passage(book, first[0], first[1]),
        passage(book, second[0], second[1]),
        round(max(0.05, score), 4),
        tight=not line.has(SPELLING),
        cues=cues_near(book, line, 0),
    )


def titles(book: Book) -> Iterator[Candidate]:
    """One surname with two offices: "Deputy Briggs", "Chief Briggs"."""
    claims = [claim for line in book.lines for claim in _titles_of(line)]
    for pair in collisions(claims, most_values=4):
        offices = all(claim.firm for claim in pair)
        yield versus(book, "title", pair, 0.75 if offices else 0.3, tight=offices)


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


def role_fillers(book: Book) -> Iterator[Candidate]:
    """Two names for who fills one role: "my editor, Claire", "Diane, my editor"; also for an animal, or an author."""
    lines = book.lines
    claims = [c for line in lines for c in (*_fillers(book, line), *_pets(book, line), *_authors(line))]
    for pair in collisions(claims, most_values=5):
        owned = bool(pair[0].owner) and pair[0].owner == pair[1].owner
        yield versus(book, "role", pair, 0.45 + 0.2 * owned + 0.15 * all(c.firm for c in pair))


def _fillers(book: Book, line: Line) -> Iterator[Claim]:
    """As "her sister Anna", "my editor -- Claire Munroe", "Anna, her sister"."""
    words = line.words
    for at, word in enumerate(words):
        if word.text not in ROLES and word.text not in KIN:
            continue
        article = determiner(line, at)
        if article not in POSSESSIVES and not (at and words[at - 1].owner):
            continue
        owner = book.names.whom(book, line, at - 1)
        name = _beside(book, line, at)
        if name is not None:
            key = f"{word.text} of {owner or 'somebody'}"
            yield Claim(key, f"{owner}'s {word.text}" if owner else word.text, name.text, line,
                        min(word.start, name.start), max(word.end, name.end), owner)  # fmt: skip


def _beside(book: Book, line: Line, at: int) -> Word | None:
    """The name that stands right after a role, or right before the group that it ends."""
    words = line.words
    if at + 1 < len(words) and words[at + 1].text in book.names.forms and _named(words[at + 1]):
        return words[at + 1]
    if at > 1 and words[at - 1].gap and words[at - 2].text in book.names.tokens and _named(words[at - 2]):
        return words[at - 2]
    return None


def _pets(book: Book, line: Line) -> Iterator[Claim]:
    """What an animal is called: beside its kind, by "name is", or as it is called to."""
    kinds = {KINDS[w.text] for near in book.near(line, 2) for w in near.words if KINDS.get(w.text) in _PETS}
    if len(kinds) != 1:
        return
    kind = kinds.pop()
    own = {at for at, word in enumerate(line.words) if KINDS.get(word.text) == kind}
    for at, word in enumerate(line.words):
        after = line.text[word.end - line.start : word.end - line.start + 1]
        called = at == 0 and after == "!" and line.spoken and word.capital and word.text not in FUNCTION
        named = at > 1 and line.words[at - 1].text in {"is", "was", "named", "called"} and (
            line.words[at - 2].text == "name" or line.words[at - 1].text in {"named", "called"}
        ) and word.capital  # fmt: skip
        beside = at - 1 in own and word.gap and _named(word) and word.text in book.names.tokens
        if called or named or beside:
            yield Claim(
                f"name of {kind}", f"the {kind}'s name", word.text, line, word.start, word.end, firm=named or beside
            )


def _authors(line: Line) -> Iterator[Claim]:
    """As "written by Jane Doe"."""
    words = line.words
    for at in range(len(words) - 2):
        if words[at].text in AUTHORED and words[at + 1].text == "by" and _named(words[at + 2]):
            last = at + 3 if at + 3 < len(words) and _named(words[at + 3]) and not words[at + 3].gap else at + 2
            yield Claim(f"{words[at].text} by", f"{words[at].text} by", words[last].text, line,
                        words[at].start, words[last].end, firm=True)  # fmt: skip


def kin(book: Book) -> Iterator[Candidate]:
    """Kin that a person is said not to have, and has elsewhere: "no children", "my daughter"."""
    denied: list[Claim] = []
    stated: list[Claim] = []
    for line in book.lines:
        for at, word in enumerate(line.words):
            if word.text in KIN:
                claim = _kin_claim(book, line, at)
                (denied if claim.value == "none" else stated).append(claim)
    for none in denied:
        fitting = [c for c in stated if c.key == none.key and c.line is not none.line and _may_share(c, none)]
        ranked = sorted(fitting, key=lambda c: (not (c.owner and c.owner == none.owner), c.line.number))
        for other in ranked[:_MOST_KIN]:
            owned = bool(other.owner) and other.owner == none.owner
            yield versus(book, "kin", (none, other), 0.5 + 0.25 * owned)


def _kin_claim(book: Book, line: Line, at: int) -> Claim:
    word = line.words[at]
    before = [w.text for w in line.words[max(0, at - 3) : at]]
    stopped = any(w.gap for w in line.words[max(0, at - 1) : at + 1])
    none = bool(before) and (before[-1] == "no" or (bool(set(before) & (_NO - {"no", "only"})) and not stopped))
    only = bool(before) and before[-1] == "only" and KIN[word.text] == "child"
    kind = "sibling" if only else KIN[word.text]
    owner = _whose(book, line, at)
    value = "none" if none or only else singular(word.text)
    return Claim(f"kin: {kind}", f"{owner}'s {kind}" if owner else kind, value, line, word.start, word.end, owner)


def _whose(book: Book, line: Line, at: int) -> str:
    """Whose kin is spoken of: the possessive's; else the subject's; "your" is whoever spoke or was spoken of before."""
    for back in range(at - 1, max(-1, at - 6), -1):
        word = line.words[back]
        if word.owner or word.text in SEX or word.text in ("my", "i"):
            return book.names.whom(book, line, back)
        if word.text == "your":
            return _addressed(book, line)
    return book.names.forms.get(line.speaker, "")


def _addressed(book: Book, line: Line) -> str:
    """The other speaker of a dialogue in a screenplay; empty in prose."""
    others = [near.speaker for near in reversed(book.near(line, 6)) if near.speaker not in ("", line.speaker)]
    return book.names.forms.get(others[0], others[0]) if others and line.speaker else ""


def _may_share(one: Claim, other: Claim) -> bool:
    return not (one.owner and other.owner) or one.owner == other.owner


def deaths(book: Book) -> Iterator[Candidate]:
    """A person who is dead in one passage and acts in a later one."""
    dead: dict[str, Line] = {}
    for line in book.lines:
        for name in _dead_in(book, line):
            dead.setdefault(name, line)
    acts: defaultdict[str, list[Line]] = defaultdict(list)
    for line in book.lines:
        for at, name in book.names.named(line):
            last = at + 1
            if name in dead and dead[name].number < line.number and _acts(line, at, last) and not _recalled(book, line):
                acts[name].append(line)
    for name, lines in acts.items():
        for line in lines[:_MOST_ACTS]:
            one = Claim("life", name, "dead", dead[name], dead[name].start, dead[name].end, name)
            yield versus(book, "life", (one, Claim("life", name, "alive", line, line.start, line.end, name)), 0.55)


def _dead_in(book: Book, line: Line) -> Iterator[str]:
    """Who is said to be dead: a name before "died" or "is dead", or a name that owns a grave."""
    words = line.words
    if any(
        word.text in {"not", "if", "could", "might", "would", "thought", "never", "almost", "nearly"} for word in words
    ):
        return
    for at, name in book.names.named(line):
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


def _recalled(book: Book, line: Line) -> bool:
    return any(near.has(RECALLED) for near in book.near(line, 1))
