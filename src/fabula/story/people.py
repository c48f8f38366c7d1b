"""Names of people: whether two names belong to the same person, and whether a text mentions a name.

The people in a text cannot be found by capital letters: in some languages only names are capitalised, in others all
nouns are, and some scripts have no capitals. People are therefore known only from a plan, cards, the world, or a model
that has read the text.

This module knows only the names of a cast. To match a reader's entry to an entity in earlier scenes,
`fabula.evaluators.atlas.graph` also uses aliases.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from fabula.story.words import BLANKLESS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_WORD: Final = re.compile(r"\w+")
_OWNER: Final = re.compile(r"(?<=\w)['\u2019]s(?!\w)")
_APOSTROPHE: Final = re.compile(r"['\u2019]")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_HIS, _HERS = frozenset({"mr", "mister"}), frozenset({"mrs", "ms", "miss"})
_ADDRESS: Final = _HIS | _HERS | {"mx", "dr", "doctor"}
_SEVERAL: Final = frozenset({"and", "or"})
_LONG: Final = 4  # letters from which on a part of a name is no title


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


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _said(name: str) -> set[str]:
    """The words that say who is meant: without articles, owners ("Mara's") and what stands after "of"."""
    *_, owned = _OWNER.split(name)
    head = owned if _words(owned) else name  # "Mara's" alone is Mara
    words = _words(_APOSTROPHE.sub("", _OWNER.sub("", head)))
    if "of" in words[1:]:
        words = words[: words.index("of", 1)]
    return set(words) - _ARTICLES or set(words)


def _parts(name: str) -> list[str]:
    # Small words join the parts of a name ("from", "della"); where a script has no capitals, nothing is small.
    return [part for part in name.split() if len(part.strip(".")) >= _LONG and not part[:1].islower()]
