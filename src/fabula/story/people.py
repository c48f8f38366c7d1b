"""Who is meant by a name: the one place that says whether two names are one person's, and who is named in a text.

These are names as people of a cast bear them, without anything else known of them. Another question is
answered elsewhere: which entity of earlier scenes a reader's entry is (`fabula.evaluators.atlas.graph`, with aliases).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from fabula.story.sentences import spans
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
_HEADINGS: Final = re.compile(r"^#{1,6}[ \t][^\n]*$", re.MULTILINE)
_NAME: Final = re.compile(
    r"(?<!\w)(?<!\w['-])(?:(?:Mr|Mrs|Ms|Mx|Dr|Prof|Rev|Capt|Lt|Sgt|Col|Gen|St)\. )?"
    r"[A-Z][\w'-]*[a-z](?: (?:(?:of|the|de|van|von|der|di|la) ){0,2}[A-Z][\w'-]*[a-z])*"
)
_OPENING: Final = "\"\u201c\u201e\u00ab\u00bb\u300c\u300e`\u2018'\u2019"
_NOT_NAMES: Final = frozenset({"I", "He", "She", "They", "The", "Then", "And", "But", "It", "You", "We", "A", "An"})
# April, May, June and August are people's names as well, and stay.
_TIMES: Final = frozenset({
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "January", "February", "March",
    "July", "September", "October", "November", "December", "Christmas", "Easter",
})  # fmt: skip
_I: Final = re.compile("I['\u2019]")  # "I'll", "I've"
_FEW: Final = 2
_LONG: Final = 4  # letters from which on a part of a name is no title


def same_person(one: str, other: str) -> bool:
    """Whether two names may be one person's: the words of one are all in the other ("Mara", "Mara Quist").

    Case, articles and forms of address do not count ("the keeper" and "Keeper"; "Mr. Krabs" and "Eugene Krabs"), but
    "Mr. Pond" is not "Mrs. Pond". Somebody's somebody is not that somebody ("Mara's mother", "the mother of Mara"), and
    several people are not one of them ("Mara and Tobias").
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
    """The one of `names` that is `name`, else the only one that may be the same person's; `None` if there is none.

    Of several, the only one that has the same words is it ("Mr Bennet" is "Mr. Bennet", and not "Elizabeth Bennet"), or
    the only one that has them beside a form of address.
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
    """Whose aliases stand in `text` as whole words, in the order of `aliases`."""
    padded = f" {' '.join(_words(text))} "
    return tuple(name for name, own in aliases.items() if any(_stands_in(padded, text, alias) for alias in own))


def _stands_in(padded: str, text: str, name: str) -> bool:
    """Whether a name stands in a text as words of its own, where its script has blanks between words."""
    words = _words(name)
    return bool(words) and (f" {' '.join(words)} " in padded or bool(BLANKLESS.search(name) and name in text))


def present_in(names: Iterable[str], text: str) -> tuple[str, ...]:
    """Those of `names` who are named in a text, by the whole name or a part of it that is theirs alone and no title."""
    parts = {name: _parts(name) for name in names}
    count = Counter(part.casefold() for own in parts.values() for part in {*own})
    return mentioned(text, {name: (name, *(p for p in own if count[p.casefold()] == 1)) for name, own in parts.items()})


def names_in(text: str) -> tuple[str, ...]:
    """What looks like a name in a text: there at least twice, capitalised within a sentence; the commonest first.

    Days, months and feasts are none, nor is what stands in headings.
    """
    text = _HEADINGS.sub("", text)
    counts: Counter[str] = Counter()
    leading: Counter[str] = Counter()
    begins = {start for start, _ in spans(text)}
    for match in _NAME.finditer(text):
        name, start = match[0].removesuffix("'s").removesuffix("\u2019s"), match.start()
        if start in begins or (start and text[start - 1] in _OPENING):  # any word begins a sentence with a capital
            leading[name] += 1
            name = name.partition(" ")[2]
        if name and name[0].isupper():
            counts[name] += 1
    for name in counts:
        counts[name] += leading[name]
    return tuple(name for name, count in counts.most_common() if count >= _FEW and _may_be_a_name(name))


def _may_be_a_name(name: str) -> bool:
    return name not in _NOT_NAMES and name not in _TIMES and not _I.match(name)


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
    return [part for part in name.split() if len(part.strip(".")) >= _LONG and part[:1].isupper()]
