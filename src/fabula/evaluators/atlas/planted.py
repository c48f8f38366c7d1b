"""Stories with planted errors: a clean text, edits that break it, decoys that look like errors and are none.

A finding is an error that was planted if what it quotes meets the words that were put in; which of the places that
clash with them it cites besides does not matter. A second finding of one error is no false one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    """An error that was put into a text: `place` is where its words stand there."""

    id: str
    kind: str
    needs: str
    place: Span


@dataclass(frozen=True, slots=True)
class PlantedErrors:
    """What is known of a text: its errors, and its decoys, each two places that look like an error and are none."""

    errors: tuple[PlantedError, ...]
    decoys: tuple[tuple[Span, Span], ...]


@dataclass(frozen=True, slots=True)
class Quoting:
    """A finding as it is scored: where its two quotations stand, and the sentences around them."""

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


def put_in(text: str, edits: Sequence[tuple[str, str]]) -> tuple[str, tuple[Span, ...]]:
    """A text with edits made, each the words that are there and those that take their place; and where these stand.

    Raises:
        ValueError: words are not in the text.
    """
    result: list[str] = []
    places: dict[int, Span] = {}
    last = length = 0
    for at, number in sorted((text.index(find), n) for n, (find, _) in enumerate(edits)):
        find, put = edits[number]
        result += [text[last:at], put]
        start = length + at - last
        length, last = start + len(put), at + len(find)
        places[number] = (start, length)
    return "".join([*result, text[last:]]), tuple(places[n] for n in range(len(edits)))


def _broken(data: Mapping[str, Any]) -> tuple[str, tuple[Span, ...]]:
    """The broken text, and where what each error puts in stands in it."""
    text, last = str(data["text"]), 0
    edits = [(error["find"], error["replace"]) for error in data["errors"]]
    for at, find in sorted((text.index(find), find) for find, _ in edits):
        if text.count(find) != 1 or at < last:
            raise ValueError(f"{find[:60]!r} stands in the text more than once, or overlaps another error")
        last = at + len(find)
    return put_in(text, edits)


def planted_in(data: Mapping[str, Any], text: str, where: str) -> PlantedErrors:
    """What of a story with planted errors stands in `text`: its broken form, its clean one, or one with some of them.

    Raises:
        UsageError: it is not of the form that it should have.
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
            f"{where}: no story with planted errors ({type(error).__name__}: {error}). Each error has `find`, which "
            "stands in `text` once, and `replace`; each decoy has quote_a and quote_b. Correct the entry."
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
    """Where words stand in a text, nearest to a place; `None` where they do not."""
    found, at = [], text.find(words)
    while at >= 0:
        found.append(at)
        at = text.find(words, at + 1)
    best = min(found, key=lambda one: abs(one - start), default=None)
    return None if best is None else (best, best + len(words))


@dataclass(frozen=True, slots=True)
class PlantedScore:
    """What came of planted errors and decoys.

    Attributes:
        found: by the id of an error, the key of the finding that is it, and whether their kinds agree.
        false: keys of findings that are no planted error.
        called: numbers (from 0) of the decoys that were called errors.
        suspected: how many suspicions a reader had, and how many of them are planted errors.
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
    """Which planted errors the findings are: the likest pairs first, each error once.

    Args:
        found: the findings.
        planted: what was planted where.
        suspected: all that was suspected on the way, for the share of errors among it.
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
    """How surely a finding is an error: it quotes some of the words put in, or its sentence does and the kind fits."""
    quoted = any(_meet(span, error.place) for span in one.focus)
    near = any(_meet(span, error.place) for span in one.sentences)
    agrees = _agrees(one, error)
    return 2 * quoted + agrees if quoted or (near and agrees) else 0


def _agrees(one: Quoting, error: PlantedError) -> bool:
    return one.category in _AGREEING.get(error.kind, frozenset()) or one.category == error.kind


def _is_decoy(one: Quoting, decoy: tuple[Span, Span]) -> bool:
    """Whether a finding holds the two places of a decoy against each other."""
    return all(any(_meet(span, place) for span in one.sentences) for place in decoy)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]
