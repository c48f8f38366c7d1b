"""Reading the answers of the levels: as the released code does, hazards included, leniently, and as typed replies.

A parser gives entries and says which pieces it rejected and why. The two differ only in what they tolerate; both read
what `hierarchy` writes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from fabula.engine.replies import short
from fabula.engine.replies.labelled import (
    find_end,
    find_example,
    first_sentence,
    is_heading_of,
    read_entry,
    read_labelled_line,
    reads_as_text,
    split_at_label,
    split_labels,
)
from fabula.story import count_words, one_line
from fabula.story.sentences import whole_sentences
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
    from collections.abc import Iterator, Sequence

    from fabula.systems.dramatron.config import Marks

E = TypeVar("E", CharacterEntry, SceneEntry)

_NAME_WORDS: Final = 8
_TITLE_WORDS: Final = 12
_WORDS_PER_TOKEN: Final = 0.75
_MOST_REPEATS: Final = 3
_EXAMPLE: Final = "Example "
_EDGES: Final = " \t*_\"'`#[]<>"
_OTHERS: Final = ("Logline", "Scenes", "Characters", "Dialog", "Dialogue", "Title", "End", "Summary", "Previous beat")
_HEADINGS: Final = ("Scenes", "Characters", "Title")
_CHARACTER_LABELS: Final = ("Character", "Name")
_SCENE_FIELDS: Final = {"place": "Place", "element": "Plot element", "beat": "Beat"}
_FIELD_OF: Final = {label: name for name, label in _SCENE_FIELDS.items()} | {
    "Present": "present",
    "Interior or exterior": "side",
    "Time": "time",
    "At that time": "then",
}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A piece of an answer that became no entry, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed(Generic[E]):
    """Entries in order, and what was rejected."""

    entries: tuple[E, ...]
    rejected: tuple[Rejected, ...] = ()


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


def _lost(text: str, begin: str, end: str) -> list[str]:
    """The fragment that `extract_between` loses, if it holds more than a mark."""
    _, mark, tail = text.rpartition(begin)
    return [tail.strip()] if mark and end not in tail and tail.replace(END, "").strip() else []


# where an answer ends ------------------------------------------------------------------------------------------------


def mark_in(text: str, marks: Marks) -> tuple[int, Literal["end", "example"]] | None:
    """Where an answer ends before its text does: at END, or where the model begins another example.

    Letter for letter ("exact"), a speech about an example is one too.
    """
    exact = marks == "exact"
    end = text.find(END) if exact else find_end(text)
    if end is not None and end >= 0:
        return end, "end"
    example = text.find(_EXAMPLE) if exact else find_example(text)
    return (example, "example") if example is not None and example >= 0 else None


def length(text: str, marks: Marks) -> float:
    """What the cap is compared with: characters (release, by mistake), or tokens as the words let expect."""
    return len(text) if marks == "exact" else count_words(text) / _WORDS_PER_TOKEN


def is_loop(text: str) -> bool:
    """Whether a block between blank lines occurs more than three times (release)."""
    blocks = Counter(block.strip() for block in text.split("\n\n") if block.strip())
    return max(blocks.values(), default=0) > _MOST_REPEATS


# entries ------------------------------------------------------------------------------------------------------------


class FaithfulParser:
    """The released code's reading. What stands behind the last newline is lost; scenes are three separate lists.

    `cut` tells that an answer was cut off at its end; the released code does not ask.
    """

    def title(self, answer: str, *, bounded: bool = False) -> str:
        """What stands before END."""
        del bounded
        return next(iter(extract_between(f"Title: {answer}", "Title: ", END)), "")

    def characters(self, answer: str, *, cut: bool = False) -> Parsed[CharacterEntry]:
        """Lines with exactly one description mark; of two with one name the later counts, in the earlier's place."""
        del cut
        found: dict[str, CharacterEntry] = {}
        rejected = []
        for piece in extract_between(answer.strip(), CHARACTER, "\n"):
            parts = piece.split(DESCRIPTION)
            if len(parts) != 2:  # noqa: PLR2004 - a name and a description
                rejected.append(Rejected(piece, f"it has {len(parts) - 1} description marks, not one"))
                continue
            name, description = (part.strip() for part in parts)
            found[name] = CharacterEntry(name, description)
        rejected += [Rejected(tail, "no line end follows it") for tail in _lost(answer.strip(), CHARACTER, "\n")]
        return Parsed(tuple(found.values()), tuple(rejected))

    def scenes(self, answer: str, *, cut: bool = False) -> Parsed[SceneEntry]:
        """Places, plot elements and beats, each read by itself and paired by number: a gap shifts the pairs."""
        del cut
        places = extract_between(answer, "Place: ", "Plot element: ")
        elements = extract_between(answer, "Plot element: ", "Beat: ")
        beats = extract_between(answer, "Beat: ", "\n")
        found = tuple(SceneEntry(with_stop(p), e, b) for p, e, b in zip(places, elements, beats, strict=False))
        extra = [
            (kind, items[len(found) :])
            for kind, items in zip(_SCENE_FIELDS.values(), (places, elements, beats), strict=True)
        ]
        return Parsed(found, tuple(Rejected(t, f"this {kind} has no partners") for kind, ts in extra for t in ts))

    def place(self, answer: str, *, cut: bool = False) -> str:
        """What stands before END."""
        del cut
        return next(iter(extract_between(f"Description: {answer}{END}", "Description: ", END)), "")


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
        return " ".join(self.fields.get(name, "").replace("**", "").split()).strip("*_ ")


class LenientParser:
    """Ours: reads block by block, and tolerates missing END, newlines and asterisks, numbering and bullets."""

    def title(self, answer: str, *, bounded: bool = False) -> str:
        """The first line that holds text, without label and quotation marks; one that announces another is none.

        Where it is `bounded` (small models run on), a line of more than twelve words is none, but its beginning may be.
        """
        text = "\n".join(_unlabelled(line, "Title") for line in answer.split("\n"))
        names = [line.strip(_EDGES + "\u201c\u201d").strip() for line in _lines(text)]
        titles = map(_short_title, names) if bounded else (_unstopped(name) for name in names if name[-1:] != ":")
        return next(filter(None, titles), "")

    def characters(self, answer: str, *, cut: bool = False) -> Parsed[CharacterEntry]:
        """Entries that begin with a character mark; where there is none, lines `name: description`."""
        marked = _character_drafts(answer)
        drafts = marked or _plain_drafts(answer)
        made = [CharacterEntry(_name(draft.fields.get("name", "")), draft.text("description")) for draft in drafts]
        if cut and made:
            made[-1] = replace(made[-1], description=whole(made[-1].description))
        return _checked(made, [_character_fault(entry, marked=bool(marked)) for entry in made])

    def scenes(self, answer: str, *, cut: bool = False) -> Parsed[SceneEntry]:
        """One scene a block; a block that lacks something is rejected alone. Places that read alike are one."""
        drafts = _scene_drafts(answer)
        made = [
            SceneEntry(
                draft.text("place"),
                draft.text("element"),
                draft.text("beat"),
                _names(draft.text("present")),
                side=_side(draft.text("side")),
                time=draft.text("time"),
                then=draft.text("then"),
            )
            for draft in drafts
        ]
        if cut and made:
            made[-1] = replace(made[-1], beat=whole(made[-1].beat))
        parsed = _checked(made, [_scene_fault(entry) for entry in made])
        places: dict[str, str] = {}
        for entry in parsed.entries:
            places.setdefault(alike(entry.place), with_stop(entry.place))
        named = tuple(replace(entry, place=places[alike(entry.place)]) for entry in parsed.entries)
        return Parsed(named, parsed.rejected)

    def place(self, answer: str, *, cut: bool = False) -> str:
        """The text before END or the next label."""
        kept = _Draft({"place": ""}, "place")
        for line in _lines(answer):
            if kept.fields["place"] and read_labelled_line(line, (*_FIELD_OF, *_CHARACTER_LABELS)):
                break
            kept.fields["place"] += f"{_unlabelled(line, 'Description')}\n"
        text = kept.text("place")
        return whole(text) if cut else text


PARSERS: Final[dict[str, FaithfulParser | LenientParser]] = {"faithful": FaithfulParser(), "lenient": LenientParser()}


def _lines(answer: str) -> Iterator[str]:
    """The lines of an answer up to where something else begins."""
    before, mark, _ = answer.partition(END)
    text = before if mark and before.strip() else without_end(answer)
    begun = False
    for line in text.split("\n"):
        other = (is_heading_of(line, _OTHERS) or find_example(line) is not None) and not _begins_character(line)
        if other and (begun or not is_heading_of(line, _HEADINGS)):
            return
        begun = begun or bool(line.strip())
        if not other:
            yield line


def _begins_character(line: str) -> bool:
    return read_labelled_line(line, _CHARACTER_LABELS) is not None


def _unlabelled(line: str, label: str) -> str:
    found = read_labelled_line(line, (label,))
    return found[1] if found else line


def _character_drafts(answer: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in _lines(answer):
        if found := read_labelled_line(line, _CHARACTER_LABELS):
            drafts.append(_Draft())
            name, *rest = split_at_label(found[1], "Description")
            drafts[-1].begin("name", name)
            if rest:
                drafts[-1].begin("description", rest[0])
        elif (
            drafts and "description" not in drafts[-1].fields and (found := read_labelled_line(line, ("Description",)))
        ):
            drafts[-1].begin("description", found[1])
        elif drafts and drafts[-1].open == "description":
            drafts[-1].go_on(line)
    return drafts


def _plain_drafts(answer: str) -> list[_Draft]:
    """Lines `Mara: a keeper`, numbered or with bullets, as chat models like to answer."""
    found = [entry for line in _lines(answer) if (entry := read_entry(line))]
    return [_Draft({"name": name, "description": text}) for name, text in found]


def _scene_drafts(answer: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in _lines(answer):
        for piece in split_labels(line, ("Plot element", "Beat")):
            found = read_labelled_line(piece, tuple(_FIELD_OF))
            name = _FIELD_OF[found[0]] if found else ""
            if name == "place" or (name and not drafts) or (name and name in drafts[-1].fields):
                drafts.append(_Draft())
            if found:
                drafts[-1].begin(name, found[1])
            elif drafts:
                drafts[-1].go_on(piece)
    return drafts


def _names(text: str) -> tuple[str, ...]:
    """Names in a list with commas."""
    return tuple(name for part in text.split(",") if (name := one_line(part).rstrip(".")))


def _side(text: str) -> str:
    """Inside, outside or both, as a heading begins; empty where `text` says none of these."""
    letters = text.upper()
    found = [side for side in ("INT", "EXT") if side in letters]
    return f"{'/'.join(found)}." if found else ""


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
    lacking = [label for name, label in _SCENE_FIELDS.items() if not getattr(entry, name)]
    return f"it lacks {' and '.join(lacking)}" if lacking else ""


def _short_title(name: str) -> str:
    """A title; of a long one what stands before its first colon or stop, and nothing if that is long too."""
    for title in (name, first_sentence(name)):
        if len(title.split()) <= _TITLE_WORDS:
            return _unstopped(title)
    return ""


def _unstopped(title: str) -> str:
    """A title without the only full stop in it, where that ends it."""
    return title.rstrip(".") if title.count(".") == 1 else title


def _name(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES).rstrip(" :,;-\u2013\u2014.*_").strip(_EDGES)


def whole(text: str) -> str:
    """`text` up to its last whole sentence; as it is if it has none."""
    return whole_sentences(text) or text


# typed replies ------------------------------------------------------------------------------------------------------

Element: TypeAlias = Literal[
    "Exposition",
    "Inciting incident",
    "Conflict",
    "Rising action",
    "Dilemma",
    "Climax",
    "Falling action",
    "Resolution",
    "Dénouement",
]
Line: TypeAlias = Annotated[str, BeforeValidator(lambda value: one_line(value) if isinstance(value, str) else value)]


class CharacterReply(BaseModel):
    """A character as a model fills it in."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[Line, Field(min_length=1), short(30, least=2)]
    description: Annotated[Line, Field(min_length=1), short(220, least=40)]

    @property
    def readable(self) -> bool:
        """Whether it holds text; small models fill fields with numbers and file names."""
        return reads_as_text(self.description)

    def entry(self, *, cut: bool) -> CharacterEntry:
        """As the other levels have it; `cut` where the schema's bounds may have ended it in mid-sentence."""
        name = self.name.title() if self.name == self.name.lower() else self.name
        return CharacterEntry(name, whole(self.description) if cut else self.description)


class SceneReply(BaseModel):
    """A scene as a model fills it in."""

    model_config = ConfigDict(frozen=True)

    happens: Annotated[Line, Field(min_length=1), short(220, least=40)]
    place: Annotated[Line, Field(min_length=1), short(50, least=4)]
    element: Annotated[Line, Field(min_length=1), short(50)]

    @property
    def readable(self) -> bool:
        """Whether it holds text; small models fill fields with numbers and file names."""
        return reads_as_text(self.happens)

    def entry(self, *, cut: bool) -> SceneEntry:
        """As the other levels have it; `cut` where the schema's bounds may have ended it in mid-sentence."""
        return SceneEntry(with_stop(self.place), self.element, whole(self.happens) if cut else self.happens)


class PresentSceneReply(SceneReply):
    """A scene as a capable model fills it in: it also says who is there, when it is, and who they are by then."""

    present: list[Line] = Field(default_factory=list)
    side: Annotated[Line, Field(description="INT. for a scene inside, EXT. for one outside, INT/EXT. for both")] = ""
    time: Line = ""
    then: Line = ""

    def entry(self, *, cut: bool) -> SceneEntry:
        """As the other levels have it."""
        there = tuple(dict.fromkeys(name for one in self.present if (name := one.replace(",", "").strip())))
        return replace(super().entry(cut=cut), present=there, side=_side(self.side), time=self.time, then=self.then)


class BoundSceneReply(SceneReply):
    """A scene as a small model fills it in: the part of the arc is one of nine."""

    element: Element


def characters_shape(low: int, *, bounded: bool) -> type[BaseModel]:
    """A list of characters; from small models at least `low` and at most five."""
    del bounded
    return _list_shape(CharacterReply, short(5, least=low))


def scenes_shape(low: int, *, bounded: bool, present: bool = False) -> type[BaseModel]:
    """A list of scenes, at least `low` if it can be had; where they are `bounded`, at most six."""
    least = Field(json_schema_extra={"minItems": low})
    kind = BoundSceneReply if bounded else PresentSceneReply if present else SceneReply
    return _list_shape(kind, least, short(6))


def _list_shape(kind: type[BaseModel], *bounds: Any) -> type[BaseModel]:  # noqa: ANN401 - fields have no type
    """A list under the name `records`."""
    listed: Any = list[kind]  # type: ignore[valid-type] # pydantic reads it at run time
    for bound in (Field(min_length=1), *bounds):
        listed = Annotated[listed, bound]
    return create_model("Entries", records=(listed, ...))
