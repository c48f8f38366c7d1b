"""Reading the levels' texts: as the released code does, hazards included, and leniently.

A parser gives entries and says which pieces it rejected and why. The two differ only in what they tolerate; both read
what `hierarchy` writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from fabula.story import one_line
from fabula.systems.dramatron.hierarchy import (
    CHARACTER,
    DESCRIPTION,
    END,
    CharacterEntry,
    SceneEntry,
    alike,
    with_stop,
    without_end,
)

E = TypeVar("E", CharacterEntry, SceneEntry)

_EDGES: Final = " \t*_\"'`#[]<>\u201c\u201d"
_SCENE_FIELDS: Final = {"Place": "place", "Plot element": "element", "Beat": "beat"}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A piece of a text that became no entry, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed(Generic[E]):
    """Entries in order, and what was rejected."""

    entries: tuple[E, ...]
    rejected: tuple[Rejected, ...] = ()


# the release's parser -----------------------------------------------------------------------------------------------


def extract_between(text: str, begin: str, end: str) -> list[str]:
    """The text between each `begin` and the next `end`, stripped. A last `begin` without an `end` is lost."""
    found, at = [], 0
    while (start := text.find(begin, at)) >= 0:
        start += len(begin)
        stop = text.find(end, start)
        if stop < 0:
            break
        found.append(text[start:stop].strip())
        at = stop + len(end)
    return found


def read_title(answer: str) -> str:
    """The text before END."""
    return next(iter(extract_between(f"Title: {answer}", "Title: ", END)), "")


def read_place(answer: str) -> str:
    """The text before END."""
    return next(iter(extract_between(f"Description: {answer}{END}", "Description: ", END)), "")


def read_characters(answer: str) -> Parsed[CharacterEntry]:
    """Lines with exactly one description mark; of two with one name the later counts, in the earlier's place.

    What stands behind the last newline is lost.
    """
    answer, found, rejected = answer.strip(), dict[str, CharacterEntry](), []
    for piece in extract_between(answer, CHARACTER, "\n"):
        parts = piece.split(DESCRIPTION)
        if len(parts) != 2:  # noqa: PLR2004 - a name and a description
            rejected.append(Rejected(piece, f"it has {len(parts) - 1} description marks, not one"))
            continue
        name, description = (part.strip() for part in parts)
        found[name] = CharacterEntry(name, description)
    _, mark, tail = answer.rpartition(CHARACTER)
    if mark and "\n" not in tail and tail.replace(END, "").strip():
        rejected.append(Rejected(tail.strip(), "no line end follows it"))
    return Parsed(tuple(found.values()), tuple(rejected))


def read_scenes(answer: str) -> Parsed[SceneEntry]:
    """Places, plot elements and beats, each read by itself and paired by number: a gap shifts the pairs."""
    places = extract_between(answer, "Place: ", "Plot element: ")
    elements = extract_between(answer, "Plot element: ", "Beat: ")
    beats = extract_between(answer, "Beat: ", "\n")
    found = tuple(SceneEntry(with_stop(p), e, b) for p, e, b in zip(places, elements, beats, strict=False))
    extra = zip(_SCENE_FIELDS, (places[len(found) :], elements[len(found) :], beats[len(found) :]), strict=True)
    return Parsed(found, tuple(Rejected(t, f"this {kind} has no partners") for kind, texts in extra for t in texts))


# ours ---------------------------------------------------------------------------------------------------------------


def lenient_title(answer: str) -> str:
    """The first line that holds text, without label and quotation marks; one that announces another is none."""
    for line in without_end(answer).split("\n"):
        title = line.replace("*", "").strip(_EDGES).removeprefix("Title:").strip(_EDGES)
        if title and not title.endswith(":"):
            return title.rstrip(".") if title.count(".") == 1 else title
    return ""


def lenient_characters(text: str) -> Parsed[CharacterEntry]:
    """A character a line, the last one too; of two with one name the first counts."""
    made = []
    for line in filter(str.strip, without_end(text).split("\n")):
        name, _, description = line.strip().removeprefix(CHARACTER.strip()).partition(DESCRIPTION.strip())
        made.append(CharacterEntry(name.strip(), description.strip()))
    return _checked(made, ["" if one.name and one.description else "it lacks name or description" for one in made])


def lenient_scenes(text: str) -> Parsed[SceneEntry]:
    """A scene from each `Place:` on; one that lacks a line is rejected alone. Places that read alike are one."""
    scenes, last = list[dict[str, str]](), ""
    for line in without_end(text).split("\n"):
        label, _, said = line.strip().partition(":")
        if label in _SCENE_FIELDS:
            if label == "Place" or not scenes:
                scenes.append(dict.fromkeys(_SCENE_FIELDS.values(), ""))
            last = _SCENE_FIELDS[label]
        if scenes:
            scenes[-1][last] += f" {said if label in _SCENE_FIELDS else line}"
    made = [SceneEntry(one_line(one["place"]), one_line(one["element"]), one_line(one["beat"])) for one in scenes]
    lacking = [[label for label, name in _SCENE_FIELDS.items() if not getattr(one, name)] for one in made]
    parsed = _checked(made, [f"it lacks {' and '.join(labels)}" if labels else "" for labels in lacking])
    places: dict[str, str] = {}
    for entry in parsed.entries:
        places.setdefault(alike(entry.place), with_stop(entry.place))
    return Parsed(tuple(replace(one, place=places[alike(one.place)]) for one in parsed.entries), parsed.rejected)


def _checked(made: Sequence[E], faults: Sequence[str]) -> Parsed[E]:
    """The entries without fault, the first of those with one key."""
    kept: dict[str, E] = {}
    rejected = []
    for entry, fault in zip(made, faults, strict=True):
        reason = fault or ("it occurs twice" if entry.key in kept else "")
        if reason:
            rejected.append(Rejected(entry.text, reason))
        else:
            kept[entry.key] = entry
    return Parsed(tuple(kept.values()), tuple(rejected))
