"""What the author makes of a story beside its parts: texts of their own in it, another title, another order.

The parts come from a system. The author may put a file of their own between them (`story/06-epilogue.md`, or a new
scene in `story.md`), give the story another title and move its scenes about there. Nobody writes any of it again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.story import Scene, count_words, slug

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.engine.journal import Journal
    from fabula.story import Story

TITLE: Final = "the title"
"""The artefact that stands for a title changed in `story.md`; no system has one of this name, as it has a blank."""
ORDER: Final = "the order of its scenes"
"""The artefact that stands for an order of scenes changed in `story.md`: their labels, one on a line."""
CHAT: Final = "chat with "
"""What the record of a conversation's run puts before the name of its system."""
NUMBER: Final = re.compile(r"^\d+[a-z]?-")
_MOVED: Final = "{0}, which was {1}, stands in the story where its name says."
_PART: Final = (
    "{0} gets its name {1} back: files are named after the parts, in the order in which they are written. To tell the "
    "parts in another order, move them in story.md."
)
_FIRST: Final = "story/01-"  # where a scene stands whose label names no file
_SAME: Final = 0.6  # share of words from which on a text is another one with changes


@dataclass(frozen=True, slots=True)
class TextInFile:
    """A text, its path in the journal, and its file."""

    path: str
    file: str
    text: str


def with_own(story: Story, own: Iterable[TextInFile], files: Mapping[str, str]) -> Story:
    """`story` with the author's own texts between its scenes, where the names of their files stand among the others.

    Args:
        story: as a system wrote it.
        own: the texts.
        files: of the scenes' artefacts, by path.
    """
    names = {slug(path): file for path, file in files.items() if file.startswith("story/")}
    rows: list[tuple[str, Scene]] = []
    for scene in story.scenes:
        rows.append((names.get(slug(scene.label), rows[-1][0] if rows else _FIRST), scene))
    for one in sorted(own, key=lambda one: one.file):
        after = [place for place, (file, _) in enumerate(rows, 1) if file <= one.file]
        label = one.path.replace("-", " ").capitalize()  # its slug is the path
        rows.insert(after[-1] if after else 0, (one.file, Scene(label, one.text)))
    return replace(story, scenes=tuple(scene for _, scene in rows))


def in_order(story: Story, labels: Sequence[str]) -> Story:
    """`story` with its scenes in the order of `labels`; a scene that is not among them stays behind the one before it.

    Scenes whose labels stand twice cannot be told apart and stay as they are.
    """
    places = {slug(label): place for place, label in enumerate(labels)}
    slugs = [slug(scene.label) for scene in story.scenes]
    if len(set(slugs)) < len(slugs):
        return story
    keys: list[tuple[int, int]] = []
    for number, one in enumerate(slugs):
        keys.append((places[one], 0) if one in places else (keys[-1][0] if keys else -1, number + 1))
    moved = sorted(zip(keys, story.scenes, strict=True), key=lambda pair: pair[0])
    return replace(story, scenes=tuple(scene for _, scene in moved))


def file_after(before: str, label: str, taken: Iterable[str]) -> str:
    """The name of a new file in `story/` for a scene that follows that of the file `before` (empty: the first one)."""
    number = NUMBER.match(Path(before).name)
    digits = re.match(r"\d+", number[0])[0] if number else "00" if not before else "99"  # type: ignore[index] # matches
    used = {Path(name).name.partition("-")[0] for name in taken}
    marks = [digits] if not before else [f"{digits}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    return f"story/{next((mark for mark in marks if mark not in used), marks[-1])}-{slug(label)}.md"


def is_likely(text: str, other: str) -> bool:
    """Whether a text is another one, perhaps with changes: most of their words are the same."""
    if text == other:
        return True
    words, others = set(text.split()), set(other.split())
    return count_words(text) > 0 and len(words & others) >= _SAME * max(len(words), len(others))


def is_own(journal: Journal, path: str, file: str) -> bool:
    """Whether a text in `story/` is the author's alone: given by them, and never written for them."""
    return journal.decisions.override(path) is not None and never_made(journal, path, file)


def imported_from(journal: Journal) -> str:
    """The file that the project's texts came from; empty where they were written in it."""
    return next((one.text or "" for one in journal.decisions.find("*") if one.kind == "import"), "")


def runs_of_chats(journal: Journal) -> frozenset[int]:
    """The numbers of the runs that were conversations."""
    return frozenset(run["id"] for run in journal.runs() if run["system"].startswith(CHAT))


def never_made(journal: Journal, path: str, file: str) -> bool:
    """Whether a text in `story/` was never written for the author."""
    if not file.startswith("story/") or Path(file).suffix != ".md":
        return False
    versions = journal.artefacts.versions(path)
    return bool(versions) and all(version.source != "made" for version in versions)


def of_empty(file: str) -> str:
    """What is said of a file that the author emptied."""
    return f"{file} is empty, which says nothing: it gets its text back when the story is written."


def of_renamed(file: str, before: str, *, own: bool) -> str:
    """What is said of a file that was called `before`: of a part of the story, or a text of the author's own."""
    return (_MOVED if own else _PART).format(file, before)
