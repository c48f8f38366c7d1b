"""Stories with planted errors: a clean text, edits that break it, and decoys that look like errors but are correct.

A finding matches a planted error if its quotation overlaps the inserted words. It may cite any of the places that
clash with them. A second finding of the same error is not a false one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabula.base.errors import UsageError

Span = tuple[int, int]

# What a reader may call an error of each planted kind.
_AGREEING: Final[Mapping[str, frozenset[str]]] = {
    "appearance": frozenset({"appearance", "body", "object", "age"}),
    "name": frozenset({"name", "attribution", "object", "kinship"}),
    "age": frozenset({"age", "date", "duration", "number", "kinship"}),
    "date_or_duration": frozenset({"date", "duration", "age", "time of day", "number", "order", "world", "season"}),
    "season_or_time_of_day": frozenset({"season", "time of day", "date", "weather or light", "world", "duration"}),
    "place_of_person": frozenset({"place of a person", "attribution", "existence", "order"}),
    "place_of_thing": frozenset({"place of a thing", "possession", "state", "object"}),
    "possession": frozenset({"possession", "place of a thing", "object", "state"}),
    "kinship_or_marriage": frozenset({"kinship", "role", "life", "name"}),
    "profession_or_rank": frozenset({"role", "ability", "attribution"}),
    "injury_or_handedness": frozenset({"body", "ability", "state", "appearance"}),
    "death": frozenset({"life", "existence", "order", "kinship"}),
    "knowledge_before_learning": frozenset({"knowledge", "order", "attribution"}),
    "world_rule": frozenset({"rule", "ability", "state", "knowledge", "world", "number", "cause", "time of day"}),
    "count_or_amount": frozenset({"number", "object", "duration", "date"}),
    "ability_or_habit": frozenset({"ability", "body", "knowledge", "rule", "world", "state", "possession"}),
    "event_order": frozenset({"order", "existence", "knowledge", "attribution", "time of day", "cause", "state"}),
    "attribution": frozenset({"attribution", "role", "existence", "possession", "cause"}),
    "weather_or_light": frozenset({"weather or light", "time of day", "season", "world", "state"}),
    "object_property": frozenset({"object", "appearance", "state", "number"}),
}
_AROUND: Final = 60  # characters on both sides of a place where words were taken out


@dataclass(frozen=True, slots=True)
class PlantedError:
    """An error that was put into a text; `place` is the position of its words."""

    id: str
    kind: str
    needs: str
    place: Span


@dataclass(frozen=True, slots=True)
class PlantedErrors:
    """The known errors of a text, and its decoys: pairs of places that look like an error but are correct."""

    errors: tuple[PlantedError, ...]
    decoys: tuple[tuple[Span, Span], ...]


@dataclass(frozen=True, slots=True)
class Quoting:
    """A finding as it is scored: the positions of its two quotations, and the sentences around them."""

    key: str
    category: str
    focus: tuple[Span, ...]
    sentences: tuple[Span, ...]


def is_planted(data: object) -> bool:
    """Whether a value from JSON is a story with planted errors."""
    return isinstance(data, dict) and isinstance(data.get("text"), str) and isinstance(data.get("errors"), list)


def broken(data: Mapping[str, Any]) -> str:
    """The text of a story with all its errors put in."""
    return _broken(data)[0]


def _broken(data: Mapping[str, Any]) -> tuple[str, tuple[Span, ...]]:
    """The broken text, and the positions of each error's words in it."""
    text, errors = str(data["text"]), data["errors"]
    result: list[str] = []
    places: dict[int, Span] = {}
    last = length = 0
    for at, number in sorted((text.index(error["find"]), n) for n, error in enumerate(errors)):
        find, put = errors[number]["find"], errors[number]["replace"]
        if text.count(find) != 1 or at < last:
            raise ValueError(f"{find[:60]!r} is in the text more than once, or overlaps another error")
        result += [text[last:at], put]
        start = length + at - last
        length, last = start + len(put), at + len(find)
        places[number] = (start, length)
    return "".join([*result, text[last:]]), tuple(places[n] for n in range(len(errors)))


def planted_in(data: Mapping[str, Any], text: str, where: str) -> PlantedErrors:
    """The planted errors in `text`, which is a story in its broken form, its clean form, or a mixture.

    Raises:
        UsageError: the entry has the wrong form.
    """
    try:
        _, places = _broken(data)
        errors = tuple(_errors(data, text, places))
        decoys = tuple(
            (a, b)
            for one in data.get("decoys") or ()
            if (a := _nearest(text, one["quote_a"], 0)) and (b := _nearest(text, one["quote_b"], len(text)))
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(
            f"{where}: not a story with planted errors ({type(error).__name__}: {error}). Each error needs `find`, "
            "which is in `text` once, and `replace`; each decoy needs quote_a and quote_b. Correct the entry."
        ) from error
    return PlantedErrors(errors, decoys)


def _errors(data: Mapping[str, Any], text: str, places: Sequence[Span]) -> Iterator[PlantedError]:
    for number, (error, (start, _)) in enumerate(zip(data["errors"], places, strict=True)):
        find, put = error["find"], error["replace"]
        if find in text and find not in put:
            continue  # the words that were there before still are
        place = _nearest(text, put, start) if put else (max(0, start - _AROUND), start + _AROUND)
        if place is not None:
            told = str(error.get("id") or number + 1), str(error.get("kind") or "other"), str(error.get("needs") or "")
            yield PlantedError(*told, place)


def _nearest(text: str, words: str, start: int) -> Span | None:
    """The position of words in a text that is nearest to a place, or `None` if they are not in it."""
    found, at = [], text.find(words)
    while at >= 0:
        found.append(at)
        at = text.find(words, at + 1)
    best = min(found, key=lambda one: abs(one - start), default=None)
    return None if best is None else (best, best + len(words))


@dataclass(frozen=True, slots=True)
class PlantedScore:
    """The score on planted errors and decoys.

    Attributes:
        found: by the id of an error, the key of the matching finding, and whether their kinds agree.
        false: keys of findings that match no planted error.
        called: numbers (from 0) of the decoys that were called errors.
        suspected: the number of a reader's suspicions, and of planted errors among them.
    """

    planted: PlantedErrors
    found: Mapping[str, tuple[str, bool]]
    false: tuple[str, ...]
    called: tuple[int, ...]
    suspected: tuple[int, int] = (0, 0)

    def as_data(self) -> dict[str, Any]:
        """The score for JSON."""
        errors = []
        for one in self.planted.errors:
            key, agrees = self.found.get(one.id, ("", False))
            errors.append({"id": one.id, "kind": one.kind, "needs": one.needs, "found": key, "kind_agrees": agrees})
        return {
            "errors": errors,
            "false": list(self.false),
            "decoys": len(self.planted.decoys),
            "decoys_called_errors": list(self.called),
            "suspicions": self.suspected[0],
            "suspicions_that_are_errors": self.suspected[1],
        }


def score(found: Sequence[Quoting], planted: PlantedErrors, suspected: Sequence[Quoting] = ()) -> PlantedScore:
    """The score of findings: which planted error each matches, with the most similar pairs first and each error once.

    Args:
        found: the findings.
        planted: the planted errors and decoys.
        suspected: all suspicions, to compute the share of errors among them.
    """
    likes = [(_like(one, error), i, j) for i, one in enumerate(found) for j, error in enumerate(planted.errors)]
    pairs = sorted((pair for pair in likes if pair[0]), key=lambda pair: (-pair[0], pair[1], pair[2]))
    taken: dict[str, tuple[str, bool]] = {}
    used: set[int] = set()
    for _, i, j in pairs:
        error = planted.errors[j]
        if error.id not in taken and i not in used:
            used.add(i)
            taken[error.id] = found[i].key, _agrees(found[i], error)
    right = {i for _, i, _ in pairs}
    false = [one for i, one in enumerate(found) if i not in right]
    called = [n for n, decoy in enumerate(planted.decoys) if any(_is_decoy(one, decoy) for one in false)]
    right_before = sum(any(_like(one, error) for error in planted.errors) for one in suspected)
    keys = tuple(one.key for one in false)
    return PlantedScore(planted, taken, keys, tuple(called), (len(suspected), right_before))


def _like(one: Quoting, error: PlantedError) -> int:
    """How well a finding matches an error: it quotes inserted words, or its sentence does and the kind fits."""
    quoted = any(_meet(span, error.place) for span in one.focus)
    near = any(_meet(span, error.place) for span in one.sentences)
    agrees = _agrees(one, error)
    return 2 * quoted + agrees if quoted or (near and agrees) else 0


def _agrees(one: Quoting, error: PlantedError) -> bool:
    return one.category in _AGREEING.get(error.kind, frozenset()) or one.category == error.kind


def _is_decoy(one: Quoting, decoy: tuple[Span, Span]) -> bool:
    """Whether a finding calls the two places of a decoy a contradiction."""
    return all(any(_meet(span, place) for span in one.sentences) for place in decoy)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
