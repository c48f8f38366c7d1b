"""Whether pairs teach more than trivial rules that read nothing.

A model that is trained on pairs learns whatever tells the preferred text from the other. Where that is the length, or
the place in which a judge saw it, that is what it learns. So each set of pairs is compared with trivial rules, and
pairs that teach only such a rule can be left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from rapidfuzz.distance import LCSseq

from fabula.base.characters import readable
from fabula.base.errors import PluginError, UnknownNameError
from fabula.stats.estimate import Estimate, Scored
from fabula.stats.intervals import mean_of, share_among
from fabula.story import count_words, one_line
from fabula.story.speech import spoken
from fabula.systems import find

if TYPE_CHECKING:
    from fabula.models.base import Message
    from fabula.training.examples import PreferencePair


Lesson: TypeAlias = Literal["length", "position", "near"]
LESSONS: Final[tuple[Lesson, ...]] = get_args(Lesson)
SHOWN_TOGETHER: Final = ("candidates", "ratings")  # kinds of which a judge saw both texts, one before the other
ALWAYS_LATER: Final = frozenset({"edit", "rewrite"})
"""Kinds of pairs whose chosen text is the later one however the author chooses."""
SAME = "both texts are the same but for blanks and signs"
_NEAR_SHARE, _NEAR_WORDS = 0.02, 3
_CHANCE: Final = 0.5
_POSITIONS: Final = ("first", "later")
_FOLDERS: Final = re.compile(r"(?<![\w.~-])(?:[A-Za-z]:)?~?[\\/](?:[^\\/\s:]+[\\/])*")


@dataclass(frozen=True, slots=True)
class FoundPairs:
    """Pairs, and the places that gave none, with the reasons."""

    pairs: tuple[PreferencePair, ...] = ()
    left_out: tuple[Mapping[str, Any], ...] = ()


def agents_of(runs: Sequence[Mapping[str, Any]]) -> Callable[[str], str]:
    """The agent that a role of a project is: of those that bear a character's name, the system's open role."""
    try:
        system = find(str(runs[-1]["system"])) if runs else None
    except (PluginError, UnknownNameError):  # a system of somebody else, or one that is gone
        system = None
    if system is None or not system.open_role:
        return lambda role: role
    known, open_role = set(system.roles), system.open_role
    return lambda role: role if role in known else open_role


def named(performer: str) -> str:
    """Who wrote or judged a text, without the folders of this machine that a program or a model of it is in."""
    return readable(_FOLDERS.sub("", performer))


def changed_share(old: str, new: str) -> float:
    """The share of the longer text's words that are not in the other in the same order: 0 for the same words."""
    return LCSseq.normalized_distance(old.split(), new.split())


def same_words(old: str, new: str) -> bool:
    """Whether two texts are the same but for blanks, quotation marks and dashes."""
    return _letters(old) == _letters(new)


def _letters(text: str) -> str:
    return "".join(sign for sign in one_line(text) if sign.isalnum() or sign in ".,;:!?")


def is_near(pair: PreferencePair) -> bool:
    """Whether hardly anything tells the two texts apart: 2 % of the words, or 3 words, at most."""
    old, new = pair.rejected.split(), pair.chosen.split()
    distance = LCSseq.distance(old, new)
    return distance <= max(_NEAR_WORDS, _NEAR_SHARE * max(len(old), len(new)))


def joined(pairs: Sequence[PreferencePair], units: Sequence[str]) -> list[str]:
    """The units that pairs are of, where those that have a text in common, for the same prompt, are one."""
    first: dict[tuple[tuple[Message, ...], str], str] = {}
    others: dict[str, str] = {}

    def one(unit: str) -> str:
        while others.get(unit, unit) != unit:
            unit = others[unit]
        return unit

    for pair, unit in zip(pairs, units, strict=True):
        for text in (pair.chosen, pair.rejected):
            name, other = sorted((one(unit), one(first.setdefault((pair.messages, text), unit))))
            others[other] = name
    return [one(unit) for unit in units]


# what rules that read nothing would say -------------------------------------------------------------------------------


def _by_length(pair: PreferencePair) -> float:
    return _beats(count_words(pair.chosen), count_words(pair.rejected))


def _by_dialogue(pair: PreferencePair) -> float:
    return _beats(_share_spoken(pair.chosen), _share_spoken(pair.rejected))


def _share_spoken(text: str) -> float:
    return count_words(spoken(text)) / max(count_words(text), 1)


def _beats(one: float, other: float) -> float:
    return _CHANCE if one == other else float(one > other)


RULES: Final[Mapping[str, Callable[[PreferencePair], float]]] = {
    "longer": _by_length,
    "shorter": lambda pair: 1 - _by_length(pair),
    "first": lambda pair: _CHANCE if pair.chosen_first is None else float(pair.chosen_first),
    "later": lambda pair: _CHANCE if pair.chosen_first is None else float(not pair.chosen_first),
    "more dialogue": _by_dialogue,
}
"""Of each trivial rule whether it would have preferred the chosen text: 1, or 0, or a half where it cannot tell."""


def could_tell(rule: str, pair: PreferencePair) -> bool:
    """Whether a rule could have gone either way on a pair: rules of position where the order is known and was open."""
    return rule not in _POSITIONS or (pair.chosen_first is not None and pair.kind not in ALWAYS_LATER)


def rule_shares(pairs: Sequence[PreferencePair]) -> dict[str, Scored]:
    """The share of pairs that each trivial rule decides as they were decided, a tie being a half."""
    groups = [pair.group for pair in pairs]
    return {
        name: share_among(
            [rule(pair) for pair in pairs], groups, method=f"share that the rule {name!r} decides as the pairs do"
        )
        for name, rule in RULES.items()
    }


@dataclass(frozen=True, slots=True)
class Teaching:
    """What a set of pairs would teach a model that reads nothing.

    Attributes:
        pairs: how many there are.
        words: mean words of the chosen text less those of the rejected one.
        longer: share of pairs whose chosen text is the longer one.
        first: share whose chosen text a judge saw first; of those that a judge saw side by side, in one order.
        rules: share of pairs that each trivial rule decides as they were decided.
        near: pairs whose texts hardly differ.
    """

    pairs: int
    words: Scored
    longer: Scored
    first: Scored
    rules: Mapping[str, Scored]
    near: int

    @property
    def only(self) -> tuple[Lesson, ...]:
        """What the pairs may teach by itself: shares whose interval leaves out one half."""
        found: list[Lesson] = []
        found += ["length"] if _is_one_sided(self.longer) else []
        found += ["position"] if _is_one_sided(self.first) else []
        return tuple(found)

    def as_data(self) -> dict[str, Any]:
        """The report for JSON."""
        return {
            "pairs": self.pairs,
            "words": self.words.as_data(),
            "longer": self.longer.as_data(),
            "first": self.first.as_data(),
            "rules": {name: share.as_data() for name, share in self.rules.items()},
            "near": self.near,
            "teach": list(self.only),
        }


def taught_by(pairs: Sequence[PreferencePair]) -> Teaching:
    """What pairs would teach a model that reads nothing."""
    groups = [pair.group for pair in pairs]
    words = [float(count_words(pair.chosen) - count_words(pair.rejected)) for pair in pairs]
    shown = [pair for pair in pairs if pair.kind in SHOWN_TOGETHER and pair.chosen_first is not None]
    rules = rule_shares(pairs)
    return Teaching(
        len(pairs),
        mean_of(words, groups if len(set(groups)) > 2 else None, method="mean words more"),  # noqa: PLR2004 - as `share_among`
        rules["longer"],
        share_among(
            [RULES["first"](pair) for pair in shown], [pair.group for pair in shown], method="share seen first"
        ),
        rules,
        sum(map(is_near, pairs)),
    )


def _is_one_sided(share: Scored) -> bool:
    if not isinstance(share, Estimate) or share.low is None or share.high is None:
        return False
    return share.low > _CHANCE or share.high < _CHANCE


# leaving out ----------------------------------------------------------------------------------------------------------


def without(
    pairs: Sequence[PreferencePair], lessons: Iterable[Lesson]
) -> tuple[list[PreferencePair], dict[str, Lesson]]:
    """The pairs without what only teaches some lessons, in their order, and of each other one's id the lesson.

    "near" leaves out texts that hardly differ. "length" and "position" leave out pairs of the larger side until both
    sides have as many: longer and shorter, seen first and seen second. Those go first that differ most in length,
    after that in the order of a digest of their ids; so the same pairs stay whatever order they come in.
    """
    wanted = set(lessons)
    gone: dict[str, Lesson] = {pair.id: "near" for pair in pairs if is_near(pair)} if "near" in wanted else {}
    sides: dict[Lesson, Callable[[PreferencePair], float]] = {
        "length": _by_length,
        "position": lambda pair: RULES["first"](pair) if pair.kind in SHOWN_TOGETHER else _CHANCE,
    }
    before = -1
    while before != len(gone):  # what is left out for the one may put the other out of balance
        before = len(gone)
        for lesson, side in sides.items():
            if lesson in wanted:
                gone |= dict.fromkeys(_surplus([p for p in pairs if p.id not in gone], side), lesson)
    return [pair for pair in pairs if pair.id not in gone], gone


def _surplus(pairs: Sequence[PreferencePair], side: Callable[[PreferencePair], float]) -> list[str]:
    """The ids of the pairs that the larger side has more than the other one."""
    more, less = ([pair for pair in pairs if side(pair) == value] for value in (1.0, 0.0))
    if len(more) < len(less):
        more, less = less, more
    more.sort(key=lambda pair: (-abs(count_words(pair.chosen) - count_words(pair.rejected)), _digest(pair.id)))
    return [pair.id for pair in more[: len(more) - len(less)]]


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()
