"""Names of people: whether two names belong to the same person, and whether a text mentions a name.

The people in a text cannot be found by capital letters: in some languages only names are capitalised, in others all
nouns are, and some scripts have no capitals. People are therefore known only from a plan, cards, the world, or a model
that has read the text.

This module knows only the names of a cast. To match a reader's entry to an entity in earlier scenes,
`fabula.evaluators.atlas.graph` also uses aliases.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from fabula.base.remembering import remembered
from fabula.story.words import BLANKLESS

_WORD: Final = re.compile(r"\w+")
_OWNER: Final = re.compile(r"(?<=\w)['\u2019]s(?!\w)")
_APOSTROPHE: Final = re.compile(r"['\u2019]")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_HIS, _HERS = frozenset({"mr", "mister"}), frozenset({"mrs", "ms", "miss"})
_ADDRESS: Final = _HIS | _HERS | {"mx", "dr", "doctor"}
_SEVERAL: Final = frozenset({"and", "or"})
_LONG: Final = 4  # letters from which on a part of a name is no title
_GAP: Final = 3  # signs and blanks between two words of one name
_HANGUL: Final = re.compile("[\uac00-\ud7a3]")
# Korean has blanks between words, but these follow a name without one.
_FOLLOWS: Final = (
    "(?:은|는|이|가|을|를|의|에|에게|에게서|께|께서|께서는|한테|한테서|에서|와|과|랑|이랑|도|만|까지|부터|처럼|보다|로|으로|"
    "야|아|여|씨|씨는|씨가|님|님은|님이|라고|이라고|이라는|라는|이는|이가|이를|이의|이와|이도|이에게|네)?"
)


def same_person(one: str, other: str) -> bool:
    """Whether two names may belong to the same person: all words of one name are in the other ("Mara", "Mara Quist").

    Case, articles and forms of address do not count ("the keeper" and "Keeper"; "Mr. Krabs" and "Eugene Krabs"), but
    "Mr. Pond" is not "Mrs. Pond". A person named by a relation is someone else ("Mara's mother", "the mother of Mara"),
    and several people are not one of them ("Mara and Tobias").
    """
    a, b = _said(one), _said(other)
    if not (a and b):
        return False
    if (a & _SEVERAL) != (b & _SEVERAL) or (a & _HIS and b & _HERS) or (a & _HERS and b & _HIS):
        return False
    a, b = a - _ADDRESS or a, b - _ADDRESS or b
    return a <= b or b <= a


def strangers(names: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Those of `names` that can be the name of nobody in `known`, each once."""
    by_word: dict[str, set[str]] = {}
    for name in known:
        for word in _said(name):
            by_word.setdefault(word, set()).add(name)
    return tuple(
        name
        for name in dict.fromkeys(names)
        if not any(same_person(name, other) for word in _said(name) for other in by_word.get(word, ()))
    )


def titled(name: str) -> bool:
    """Whether a name begins with a form of address."""
    return bool(set(_words(name)[:1]) & _ADDRESS)


def among(name: str, names: Iterable[str]) -> str | None:
    """The element of `names` that equals `name`, or the only one that may be the same person; otherwise `None`.

    If there are several candidates, the only one with exactly the same words is chosen ("Mr Bennet" is "Mr. Bennet",
    not "Elizabeth Bennet"). Otherwise, it is the only one with the same words apart from forms of address.
    """
    known = list(names)
    exact = next((other for other in known if other.casefold() == name.casefold()), None)
    if exact is not None:
        return exact
    alike = [other for other in known if same_person(name, other)]
    said = _said(name)
    nearer = [other for other in alike if _said(other) == said] or [
        other for other in alike if _said(other) - _ADDRESS == said - _ADDRESS
    ]
    return next((found[0] for found in (alike, nearer) if len(found) == 1), None)


def mentioned(text: str, aliases: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The names whose aliases occur in `text` as whole words, in the order of `aliases`."""
    padded = f" {' '.join(_words(text))} "
    return tuple(name for name, own in aliases.items() if any(_stands_in(padded, text, alias) for alias in own))


def _stands_in(padded: str, text: str, name: str) -> bool:
    """Whether a name stands in a text as words of its own, where its script has blanks between words."""
    words = _words(name)
    return bool(words) and (f" {' '.join(words)} " in padded or bool(BLANKLESS.search(name) and name in text))


class NamePlace(NamedTuple):
    """A place of a text that mentions somebody or something, by its characters."""

    start: int
    end: int
    name: str


class NameFinder:
    """Finds in texts whom or what they mention, by exact names; the longest name counts, and each place only once.

    A word with a capital is not found in small letters ("Rose", "rose"), but for the first of several ("The ledger").
    Where a script has no blanks between words, a name may be part of a run of characters. The running time does not
    depend on the number of names.

    Args:
        names: whom or what to find, each with all names; a name that several have means the first of them.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        self._words: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        lengths: dict[str, set[int]] = {}  # in words, of the names that begin with a word
        self._run_on: dict[str, str] = {}
        for owner, own in names.items():
            for name in own:
                if BLANKLESS.search(name) or _HANGUL.search(name):
                    self._run_on.setdefault(name.strip(), owner)
                elif words := _words(name):
                    self._words.setdefault(tuple(words), []).append((name.strip(), owner))
                    lengths.setdefault(words[0], set()).add(len(words))
        self._lengths = {word: sorted(known, reverse=True) for word, known in lengths.items()}
        pieces = sorted(filter(None, self._run_on), key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_run_on, pieces))) if pieces else None

    def find(self, text: str) -> list[NamePlace]:
        """The places in a text, in order."""
        found = [*self._in_words(text)] if self._words else []
        if self._pattern is not None:
            found += [NamePlace(*one.span(), self._run_on[one[0]]) for one in self._pattern.finditer(text)]
            found.sort()
        return found

    def at(self, text: str, place: int) -> NamePlace | None:
        """The mention at a place of a text, also where the place is directly behind it."""
        found = self.find(text)
        one = found[max(bisect(found, (place, len(text) + 1, "")) - 1, 0)] if found else None
        return one if one and one.start <= place <= one.end else None

    def _in_words(self, text: str) -> Iterator[NamePlace]:
        words = list(_WORD.finditer(text))
        folded, free = [word[0].casefold() for word in words], 0
        for number, word in enumerate(words):
            for length in self._lengths.get(folded[number], ()) if number >= free else ():
                spans = [one.span() for one in words[number : number + length]]
                known = self._words.get(tuple(folded[number : number + length]), ())
                owner = next((owner for name, owner in known if _is_named(text, spans, name)), None)
                if owner is not None:
                    free = number + length
                    yield NamePlace(word.start(), spans[-1][1], owner)
                    break


def _run_on(name: str) -> str:
    """The pattern of a name in a script without blanks, or without blanks before particles."""
    said = re.escape(name)
    return rf"(?<!\w){said}(?={_FOLLOWS}(?!\w))" if _HANGUL.search(name) else said


def _is_named(text: str, run: list[tuple[int, int]], name: str) -> bool:
    """Whether the words of a text at these places, which are those of a name, are near each other and spelled as it."""
    if not all(after - end <= _GAP and "\n\n" not in text[end:after] for (_, end), (after, _) in pairwise(run)):
        return False
    free = 1 if len(run) > 1 else 0  # "The ledger" is also "the ledger"
    capitals = [word[:1].isupper() for word in _WORD.findall(name)]
    return not any(capital and text[a].islower() for capital, (a, _) in list(zip(capitals, run, strict=False))[free:])


def each_once(names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """The people in `names` without repetitions and without those in `others`."""
    before, found = list(others), list[str]()
    for name in names:
        if not any(same_person(name, one) for one in (*before, *found)):
            found.append(name)
    return found


def present_in(names: Iterable[str], text: str) -> tuple[str, ...]:
    """The elements of `names` that a text mentions by the whole name or by a unique part of it that is not a title."""
    parts = {name: _parts(name) for name in names}
    count = Counter(part.casefold() for own in parts.values() for part in {*own})
    return mentioned(text, {name: (name, *(p for p in own if count[p.casefold()] == 1)) for name, own in parts.items()})


def called(names: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    """The names of people, each with those parts of the name that nobody else's names contain ("Quist").

    A surname alone may be that of a relative who has no entry. In 20 stories in six languages, whose people a reader
    had marked, it was so 13 times in 114, and 4 in 104 with the reader's aliases. To count it only as an alias or
    after a title would find 14 of the 101 right ones, or 92 of 100 with aliases. An entry of the relative settles it.
    """
    given = {owner: (owner, *own) for owner, own in names.items()}
    count = Counter(word for own in given.values() for word in {word for name in own for word in _words(name)})
    return {
        owner: (*own, *(part for part in _parts(owner) if count[part.casefold()] == 1 and not titled(part)))
        for owner, own in given.items()
    }


@remembered(8192, 100)  # of names: a long book asks for the same ones with every scene
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _said(name: str) -> set[str]:
    """The words that say who is meant: without articles, owners ("Mara's") and what stands after "of"."""
    *_, owned = _OWNER.split(name)
    head = owned if _words(owned) else name  # "Mara's" alone is Mara
    words = _words(_APOSTROPHE.sub("", _OWNER.sub("", head)))
    if "of" in words[1:]:
        words = words[: words.index("of", 1)]
    return set(words) - _ARTICLES or set(words)


@remembered(8192, 100)
def _parts(name: str) -> tuple[str, ...]:
    # Small words join the parts of a name ("from", "della"); where a script has no capitals, nothing is small.
    return tuple(part for part in name.split() if len(part.strip(".")) >= _LONG and not part[:1].islower())
