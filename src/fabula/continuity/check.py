"""All detectors over a story: ranked candidates, and what was counted on the way."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError
from fabula.continuity.book import Book
from fabula.continuity.detectors import amounts, looks, people, things

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabula.continuity.candidates import Candidate
    from fabula.continuity.scenes import NumberedScene

_FAMILIES: Final[Mapping[str, tuple[Callable[[Book], Iterator[Candidate]], ...]]] = {
    "name": (people.name_variants,),
    "number": (amounts.counts, amounts.beyond),
    "ordinal": (amounts.ordinals,),
    "duration": (amounts.spans_of_time,),
    "money": (amounts.money,),
    "date": (amounts.years, amounts.days),
    "age": (amounts.ages,),
    "colour": (looks.looks,),
    "side": (looks.sides,),
    "title": (people.titles,),
    "role": (people.role_fillers,),
    "kin": (people.kin,),
    "object": (things.kinds,),
    "state": (things.states,),
    "denial": (things.denials,),
    "cause": (things.causes,),
    "place": (things.levels, things.homes),
    "life": (people.deaths,),
}
DETECTORS: Final = tuple(_FAMILIES)
LEAST: Final = 60
PER_1000_WORDS: Final = 3.5
_THOUSAND: Final = 1000
_LARGEST_SHARE: Final = 0.25


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of the detectors.

    Attributes:
        candidates: best first.
        words: how many words were read.
        raised: by detector, how many candidates it raised before the list was cut.
        cut: how many were left out for length.
    """

    candidates: tuple[Candidate, ...]
    words: int
    raised: Mapping[str, int] = field(default_factory=dict)
    cut: int = 0


def check(
    scenes: Sequence[NumberedScene],
    *,
    detectors: Iterable[str] = DETECTORS,
    tight: bool = False,
    most: int | None = None,
) -> Checked:
    """What the detectors find in a story, inside its scenes as well as across them.

    Args:
        scenes: in the order of the text, as `split` gives them.
        detectors: names out of `DETECTORS`.
        tight: only candidates for which the strict rule holds, which can be reported without a model; all of them.
        most: length of the list; by default 60 and 3.5 for every 1,000 words, so that verification in batches of 10
            stays cheap: about 20 calls for 100 pages.

    Raises:
        UnknownNameError: there is no such detector.
    """
    chosen = tuple(dict.fromkeys(detectors))
    for name in chosen:
        if name not in _FAMILIES:
            raise UnknownNameError("detector", name, DETECTORS)
    book = Book.of(scenes)
    found = [one for name in chosen for detector in _FAMILIES[name] for one in detector(book)]
    kept = _ranked(_distinct(one for one in found if one.tight or not tight))
    limit = most if most is not None else LEAST + round(PER_1000_WORDS * book.words / _THOUSAND)
    shown = kept if tight and most is None else _shared(kept, limit)
    return Checked(tuple(shown), book.words, dict(Counter(one.detector for one in kept)), len(kept) - len(shown))


def candidates(
    scenes: Sequence[NumberedScene],
    *,
    detectors: Iterable[str] = DETECTORS,
    tight: bool = False,
    most: int | None = None,
) -> tuple[Candidate, ...]:
    """The candidates of `check`, best first.

    Raises:
        UnknownNameError: there is no such detector.
    """
    return check(scenes, detectors=detectors, tight=tight, most=most).candidates


def _distinct(found: Iterable[Candidate]) -> Iterator[Candidate]:
    """One candidate, the best, for every two passages and detector, and for every two scenes, subject and values."""
    seen: set[tuple[object, ...]] = set()
    for one in sorted(found, key=_order):
        passages = (one.detector, one.before.scene, one.before.start, one.after.scene, one.after.start)
        meaning = (one.detector, one.subject.rpartition(" ")[2], one.values, one.before.scene, one.after.scene)
        if passages not in seen and meaning not in seen:
            seen |= {passages, meaning}
            yield one


def _order(one: Candidate) -> tuple[object, ...]:
    return (
        not one.tight,
        -one.score,
        one.before.scene,
        one.before.start,
        one.after.scene,
        one.after.start,
        one.detector,
    )


def _ranked(found: Iterable[Candidate]) -> list[Candidate]:
    return sorted(found, key=_order)


def _shared(kept: list[Candidate], limit: int) -> list[Candidate]:
    """The first `limit` candidates; no detector has more than a quarter of them while others have any left."""
    share, taken = max(1, int(limit * _LARGEST_SHARE)), Counter[str]()
    first: list[Candidate] = []
    rest: list[Candidate] = []
    for one in kept:
        taken[one.detector] += 1
        (first if taken[one.detector] <= share else rest).append(one)
    return _ranked([*first, *rest][:limit]) if len(first) < limit else first[:limit]
