"""Reading the answers of the levels: as the released code does, hazards included, and leniently.

A parser gives records and says which pieces it rejected and why. The two differ only in what they tolerate; both read
what `records` writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from fabula.engine.replies.labelled import (
    find_example,
    first_sentence,
    is_heading_of,
    read_entry,
    read_label,
    split_at_label,
    split_labels,
)
from fabula.engine.replies.loops import words_of
from fabula.story import count_words
from fabula.story.sentences import ends_whole, spans
from fabula.systems.dramatron.records import CHARACTER, DESCRIPTION, END, Beat, Figure, without_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

R = TypeVar("R")

_NAME_WORDS: Final = 8
_PLACE_WORDS: Final = 30
_TITLE_WORDS: Final = 12
_EDGES: Final = " \t*_\"'`#[]<>"
_OTHERS: Final = ("Logline", "Scenes", "Characters", "Dialog", "Dialogue", "Title", "End", "Summary", "Previous beat")
_HEADINGS: Final = ("Scenes", "Characters", "Title")
_CHARACTER_LABELS: Final = ("Character", "Name")
_SCENE_FIELDS: Final = {"place": "Place", "element": "Plot element", "text": "Beat"}
_FIELD_OF: Final = {label: name for name, label in _SCENE_FIELDS.items()}


@dataclass(frozen=True, slots=True)
class Rejected:
    """A piece of an answer that became no record, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed(Generic[R]):
    """Records in order, and what was rejected."""

    records: tuple[R, ...]
    rejected: tuple[Rejected, ...] = ()


class Parser(Protocol):
    """Reads the answers of the levels; `cut` tells that the answer was cut off at its end."""

    def title(self, answer: str) -> str:
        """The title; empty if there is none."""

    def figures(self, answer: str, *, cut: bool = False) -> Parsed[Figure]:
        """The characters."""

    def beats(self, answer: str, *, cut: bool = False) -> Parsed[Beat]:
        """The scenes; their place names are the keys of the places."""

    def place(self, answer: str, *, cut: bool = False) -> str:
        """A place's description; empty if there is none."""


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


def place_key(name: str) -> str:
    """A place's name as the released code has it: with a full stop if it holds none anywhere."""
    return name if "." in name else f"{name}."


class FaithfulParser:
    """The released code's reading. What stands behind the last newline is lost; scenes are three separate lists."""

    def title(self, answer: str) -> str:
        """What stands before END."""
        return next(iter(extract_between(f"Title: {answer}", "Title: ", END)), "")

    def figures(self, answer: str, *, cut: bool = False) -> Parsed[Figure]:
        """Lines with exactly one description mark; of two with one name the later counts, in the earlier's place."""
        del cut
        found: dict[str, Figure] = {}
        rejected = []
        for piece in extract_between(answer.strip(), CHARACTER, "\n"):
            parts = piece.split(DESCRIPTION)
            if len(parts) != 2:  # noqa: PLR2004 - a name and a description
                rejected.append(Rejected(piece, f"it has {len(parts) - 1} description marks, not one"))
                continue
            name, description = (part.strip() for part in parts)
            found[name] = Figure(name, description)
        rejected += [Rejected(tail, "no line end follows it") for tail in _lost(answer.strip(), CHARACTER, "\n")]
        return Parsed(tuple(found.values()), tuple(rejected))

    def beats(self, answer: str, *, cut: bool = False) -> Parsed[Beat]:
        """Places, plot elements and beats, each read by itself and paired by number: a gap shifts the pairs."""
        del cut
        places = extract_between(answer, "Place: ", "Plot element: ")
        elements = extract_between(answer, "Plot element: ", "Beat: ")
        beats = extract_between(answer, "Beat: ", "\n")
        found = tuple(Beat(place_key(p), e, b) for p, e, b in zip(places, elements, beats, strict=False))
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
    """The fields of a record that is being read."""

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


class LenientParser:
    """Ours: reads block by block, and tolerates missing END, newlines and asterisks, numbering and bullets."""

    def title(self, answer: str) -> str:
        """The first line that holds text, without label and quotation marks."""
        told = "\n".join(_unlabelled(line, "Title") for line in answer.split("\n"))
        names = [line.strip(_EDGES + "\u201c\u201d").strip() for line in _lines(told)]
        return next((short for name in names if (short := _short(name))), "")

    def figures(self, answer: str, *, cut: bool = False) -> Parsed[Figure]:
        """Records that begin with a character mark; where there is none, lines `name: description`."""
        drafts = _figure_drafts(answer) or _plain_figures(answer)
        made = [(d, Figure(_name(d.fields.get("name", "")), _text(d.fields.get("text", "")))) for d in drafts]
        if cut and made:
            made[-1] = (made[-1][0], Figure(made[-1][1].name, whole(made[-1][1].description)))
        return _checked([figure for _, figure in made], _figure_fault, key=lambda f: f.name.casefold())

    def beats(self, answer: str, *, cut: bool = False) -> Parsed[Beat]:
        """One scene a block; a block that lacks something is rejected alone. Places that read alike are one."""
        made = [_beat(draft) for draft in _scene_drafts(answer)]
        if cut and made:
            made[-1] = Beat(made[-1].place, made[-1].element, whole(made[-1].text))
        parsed = _checked(made, _beat_fault, key=lambda b: alike(b.text))
        keys: dict[str, str] = {}
        named = tuple(
            Beat(keys.setdefault(alike(b.place), place_key(b.place)), b.element, b.text) for b in parsed.records
        )
        return Parsed(named, parsed.rejected)

    def place(self, answer: str, *, cut: bool = False) -> str:
        """The text before END or the next label."""
        kept: list[str] = []
        for line in _lines(answer):
            if kept and read_label(line, (*_FIELD_OF, *_CHARACTER_LABELS)):
                break
            kept.append(_unlabelled(line, "Description"))
        text = _text("\n".join(kept))
        return whole(text) if cut else text


PARSERS: Final[dict[str, Parser]] = {"faithful": FaithfulParser(), "lenient": LenientParser()}


def _lines(answer: str) -> Iterator[str]:
    """The lines of an answer up to where something else begins."""
    before, mark, _ = answer.partition(END)
    text = before if mark and before.strip() else without_end(answer)
    begun = False
    for line in text.split("\n"):
        other = (is_heading_of(line, _OTHERS) or find_example(line) is not None) and not _begins_figure(line)
        if other and (begun or not is_heading_of(line, _HEADINGS)):
            return
        begun = begun or bool(line.strip())
        if not other:
            yield line


def _begins_figure(line: str) -> bool:
    return read_label(line, _CHARACTER_LABELS) is not None


def _unlabelled(line: str, label: str) -> str:
    found = read_label(line, (label,))
    return found[1] if found else line


def _figure_drafts(answer: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in _lines(answer):
        if found := read_label(line, _CHARACTER_LABELS):
            drafts.append(_Draft())
            name, *rest = split_at_label(found[1], "Description")
            drafts[-1].begin("name", name)
            if rest:
                drafts[-1].begin("text", rest[0])
        elif drafts and "text" not in drafts[-1].fields and (found := read_label(line, ("Description",))):
            drafts[-1].begin("text", found[1])
        elif drafts and drafts[-1].open == "text":
            drafts[-1].go_on(line)
    return drafts


def _plain_figures(answer: str) -> list[_Draft]:
    """Lines `Mara: a keeper`, numbered or with bullets, as chat models like to answer."""
    found = [entry for line in _lines(answer) if (entry := read_entry(line))]
    return [_Draft({"name": name, "text": text}) for name, text in found]


def _scene_drafts(answer: str) -> list[_Draft]:
    drafts: list[_Draft] = []
    for line in _lines(answer):
        for piece in split_labels(line, ("Plot element", "Beat")):
            found = read_label(piece, tuple(_FIELD_OF))
            name = _FIELD_OF[found[0]] if found else ""
            if name == "place" or (name and not drafts) or (name and name in drafts[-1].fields):
                drafts.append(_Draft())
            if found:
                drafts[-1].begin(name, found[1])
            elif drafts:
                drafts[-1].go_on(piece)
    return drafts


def _checked(made: list[R], fault: Callable[[R], str], *, key: Callable[[R], str]) -> Parsed[R]:
    """The records without fault, the first of those with one key."""
    kept: dict[str, R] = {}
    rejected = []
    for record in made:
        reason = fault(record) or ("it stands there twice" if key(record) in kept else "")
        if reason:
            rejected.append(Rejected(str(record), reason))
        else:
            kept[key(record)] = record
    return Parsed(tuple(kept.values()), tuple(rejected))


def _figure_fault(figure: Figure) -> str:
    if not figure.name:
        return "it has no name"
    if len(figure.name.split()) > _NAME_WORDS:
        return f"its name has more than {_NAME_WORDS} words"
    return "" if figure.description else "it has no description"


def _beat(draft: _Draft) -> Beat:
    place, element, text = (_text(draft.fields.get(name, "")) for name in _SCENE_FIELDS)
    return Beat(place, element, text)


def _beat_fault(beat: Beat) -> str:
    lacking = [label for name, label in _SCENE_FIELDS.items() if not getattr(beat, name)]
    if not lacking and len(beat.place.split()) > _PLACE_WORDS:
        return f"the name of its place has more than {_PLACE_WORDS} words"
    return f"it lacks {' and '.join(lacking)}" if lacking else ""


def _short(name: str) -> str:
    """A title; of a long one what stands before its first colon or stop, and nothing if that is long too."""
    for title in (name, first_sentence(name)):
        if len(title.split()) <= _TITLE_WORDS:
            return title.rstrip(".") if title.count(".") == 1 else title
    return ""


def _name(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES).rstrip(" :,;-\u2013\u2014.*_").strip(_EDGES)


def _text(text: str) -> str:
    return " ".join(text.replace("**", "").split()).strip("*_ ")


def alike(text: str) -> str:
    """The words of `text` alone, in small letters: what two texts that read alike have in common."""
    return " ".join(words_of(text))


def bounded(text: str, words: int) -> str:
    """`text`, or as many of its first sentences as have at most `words` words together; at least one. 0 is no bound."""
    if not words or count_words(text) <= words:
        return text
    ends = [stop for _, stop in spans(text)]
    fitting = [stop for stop in ends if count_words(text[:stop]) <= words]
    return text[: max(fitting, default=ends[0])].strip()


def whole(text: str) -> str:
    """`text` up to its last whole sentence; as it is if it has none."""
    pieces = spans(text)
    while pieces and not ends_whole(text[slice(*pieces[-1])]):
        pieces.pop()
    return text[: pieces[-1][1]].strip() if pieces else text
