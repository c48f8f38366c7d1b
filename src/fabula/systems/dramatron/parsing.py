"""Reading the levels' texts: as the released code does, hazards included, and leniently.

A parser gives entries and says which pieces it rejected and why. The two differ only in what they tolerate; both read
what `hierarchy` writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from fabula.engine.replies.labelled import read_entry, read_labelled_line, split_at_label, split_labels
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

if TYPE_CHECKING:
    from collections.abc import Sequence

E = TypeVar("E", CharacterEntry, SceneEntry)

_NAME_WORDS: Final = 8
_EDGES: Final = " \t*_\"'`#[]<>\u201c\u201d"
_CHARACTER_LABELS: Final = ("Character", "Name")
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
    """What stands between each `begin` and the `end` after it, stripped; a last `begin` without `end` is lost."""
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
    """What stands before END."""
    return next(iter(extract_between(f"Title: {answer}", "Title: ", END)), "")


def read_place(answer: str) -> str:
    """What stands before END."""
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
        labelled = read_labelled_line(line, ("Title",))
        title = (labelled[1] if labelled else line).strip(_EDGES).strip()
        if title and not title.endswith(":"):
            return title.rstrip(".") if title.count(".") == 1 else title
    return ""


def lenient_characters(text: str) -> Parsed[CharacterEntry]:
    """Entries that begin with a character mark; where there is none, lines `name: description`.

    Missing asterisks, END and line ends, numbering and bullets are tolerated; of two with one name the first counts.
    """
    drafts = _character_drafts(text)
    marked = bool(drafts)
    if not marked:
        found = [entry for line in without_end(text).split("\n") if (entry := read_entry(line))]
        drafts = [_Draft({"name": name, "description": about}) for name, about in found]
    made = [CharacterEntry(_name(draft.fields.get("name", "")), draft.text("description")) for draft in drafts]
    return _checked(made, [_character_fault(entry, marked=marked) for entry in made])


def lenient_scenes(text: str) -> Parsed[SceneEntry]:
    """One scene a block; a block that lacks something is rejected alone. Places that read alike are one."""
    drafts = _scene_drafts(text)
    made = [SceneEntry(draft.text("place"), draft.text("element"), draft.text("beat")) for draft in drafts]
    parsed = _checked(made, [_scene_fault(entry) for entry in made])
    places: dict[str, str] = {}
    for entry in parsed.entries:
        places.setdefault(alike(entry.place), with_stop(entry.place))
    return Parsed(tuple(replace(one, place=places[alike(one.place)]) for one in parsed.entries), parsed.rejected)


@dataclass
class _Draft:
    """The fields of an entry that is being read."""

    fields: dict[str, str] = field(default_factory=dict)
    open: str = ""

    def begin(self, name: str, text: str) -> None:
        self.fields[name], self.open = text, name

    def go_on(self, line: str) -> None:
        """Another line of the open field; a blank one ends it."""
        if not line.strip():
            self.open = "" if self.fields.get(self.open) else self.open
        elif self.open:
            self.fields[self.open] = f"{self.fields[self.open]} {line}".strip()

    def text(self, name: str) -> str:
        """A field without asterisks, on one line."""
        return one_line(self.fields.get(name, "").replace("**", "")).strip("*_ ")


def _character_drafts(text: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in without_end(text).split("\n"):
        if found := read_labelled_line(line, _CHARACTER_LABELS):
            drafts.append(_Draft())
            name, *rest = split_at_label(found[1], "Description")
            drafts[-1].begin("name", name)
            if rest:
                drafts[-1].begin("description", rest[0])
        elif drafts and "description" not in drafts[-1].fields:
            if found := read_labelled_line(line, ("Description",)):
                drafts[-1].begin("description", found[1])
        elif drafts and drafts[-1].open == "description":
            drafts[-1].go_on(line)
    return drafts


def _scene_drafts(text: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in without_end(text).split("\n"):
        for piece in split_labels(line, ("Plot element", "Beat")):
            found = read_labelled_line(piece, tuple(_SCENE_FIELDS))
            name = _SCENE_FIELDS[found[0]] if found else ""
            if name == "place" or (name and not drafts) or (name and name in drafts[-1].fields):
                drafts.append(_Draft())
            if found:
                drafts[-1].begin(name, found[1])
            elif drafts:
                drafts[-1].go_on(piece)
    return drafts


def _checked(made: Sequence[E], faults: Sequence[str]) -> Parsed[E]:
    """The entries without fault, the first of those with one key."""
    kept: dict[str, E] = {}
    rejected = []
    for entry, fault in zip(made, faults, strict=True):
        reason = fault or ("it stands there twice" if entry.key in kept else "")
        if reason:
            rejected.append(Rejected(entry.text, reason))
        else:
            kept[entry.key] = entry
    return Parsed(tuple(kept.values()), tuple(rejected))


def _character_fault(entry: CharacterEntry, *, marked: bool) -> str:
    """What is wrong with an entry; where no mark says which words are the name, it may be a sentence with a colon."""
    if not entry.name:
        return "it has no name"
    if not marked and len(entry.name.split()) > _NAME_WORDS:
        return f"its name has more than {_NAME_WORDS} words"
    return "" if entry.description else "it has no description"


def _scene_fault(entry: SceneEntry) -> str:
    lacking = [label for label, name in _SCENE_FIELDS.items() if not getattr(entry, name)]
    return f"it lacks {' and '.join(lacking)}" if lacking else ""


def _name(text: str) -> str:
    return one_line(text).strip(_EDGES).rstrip(" :,;-\u2013\u2014.*_").strip(_EDGES)
