"""What the author makes of a story beyond its parts: their own texts in it, another title, another order.

The parts come from a system. The author may put their own file between them (`story/06-epilogue.md`, or a new
scene in `story.md`), give the story another title and reorder its scenes there. fabula rewrites none of this.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.story import Scene, Story, count_words, slug

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


TITLE: Final = "the title"
"""The artefact for a changed title in `story.md`. No system has an artefact with a space in its name."""
ORDER: Final = "the order of its scenes"
"""The artefact for a changed order of scenes in `story.md`. It contains their labels, one per line."""
CHAT: Final = "chat with "
"""The prefix of the system's name in the record of a conversation's run."""
NUMBER: Final = re.compile(r"^\d+[a-z]?-")
_MOVED: Final = "{0}, formerly {1}, is placed in the story according to its name."
_PART: Final = (
    "{0} gets its old name {1} back, because the files are named after the parts in the order of writing. To tell the "
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
    """`story` with the author's own texts between its scenes, in the order of the file names.

    Args:
        story: the story as the system wrote it.
        own: the texts.
        files: the files of the scenes' artefacts, by path.
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
    """`story` with its scenes in the order of `labels`; a scene without a label there stays after the one before it.

    Scenes whose labels occur twice cannot be told apart and stay in place.
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
    """The name of a new file in `story/` for a scene after that of the file `before` (empty: the first scene)."""
    number = NUMBER.match(Path(before).name)
    digits = re.match(r"\d+", number[0])[0] if number else "00" if not before else "99"  # type: ignore[index] # matches
    used = {Path(name).name.partition("-")[0] for name in taken}
    marks = [digits] if not before else [f"{digits}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"]
    return f"story/{next((mark for mark in marks if mark not in used), marks[-1])}-{slug(label)}.md"


def is_likely(text: str, other: str) -> bool:
    """Whether a text is probably a changed form of another: most of their words are the same."""
    if text == other:
        return True
    words, others = set(text.split()), set(other.split())
    return count_words(text) > 0 and len(words & others) >= _SAME * max(len(words), len(others))


def is_own(journal: Journal, path: str, file: str) -> bool:
    """Whether a text in `story/` is only the author's: given by them, and never written for them."""
    return journal.decisions.override(path) is not None and never_made(journal, path, file)


def imported_from(journal: Journal) -> str:
    """The file that the project's texts were imported from; empty if they were written in it."""
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
    """The message about a file that the author emptied."""
    return f"{file} is empty, but this has no effect: its text is kept, and `fabula update` writes it again."


def of_renamed(file: str, before: str, *, own: bool) -> str:
    """The message about a file that was called `before`, either a part of the story or a text of the author."""
    return (_MOVED if own else _PART).format(file, before)
