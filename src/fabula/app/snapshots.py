"""Named points in the history of a book: which version each text had. The texts themselves are in their history."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from fabula.app.arranging import assemble
from fabula.app.deciding import authored
from fabula.app.titles import Titles, is_behind
from fabula.base.errors import UnknownNameError, UsageError
from fabula.project.folder import FileChange, ProjectFolder
from fabula.project.telling import never_made
from fabula.story import count_words, one_line, plain

if TYPE_CHECKING:
    from fabula.engine.journal import Journal


_LONGEST: Final = 80  # characters of a name


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A named point in the history of a book.

    Attributes:
        number: its number, from 1.
        name: the author's name for it.
        at: when it was taken.
    """

    number: int
    name: str
    at: str


@dataclass(frozen=True, slots=True)
class SnapshotList:
    """The snapshots of a book, oldest first."""

    snapshots: tuple[Snapshot, ...]


@dataclass(frozen=True, slots=True)
class SnapshotChange:
    """A text that is not as it was.

    Attributes:
        name: the name of the text.
        title: its title.
        change: whether it has changed, was added since, or is no longer there.
        before: its number of words in the snapshot.
        now: its number of words now.
        version: its version in the snapshot; 0 if it was added since.
    """

    name: str
    title: str
    change: Literal["changed", "added", "gone"]
    before: int
    now: int
    version: int


@dataclass(frozen=True, slots=True)
class SnapshotChanges:
    """The texts that differ from a snapshot, and whether they were restored."""

    snapshot: Snapshot
    changes: tuple[SnapshotChange, ...]
    restored: bool = False


@dataclass(frozen=True, slots=True)
class _Then:
    """A text in a snapshot: its file, its version, and that version's text."""

    file: str
    version: int
    text: str


def take(journal: Journal, name: str) -> None:
    """Record the version that each text has now. Undoing later decisions does not remove it.

    Raises:
        UsageError: the name is empty or too long.
    """
    name = one_line(name)
    if not name:
        raise UsageError("The snapshot has no name. Give it one, such as `before the cut`.")
    if len(name) > _LONGEST:
        raise UsageError(f"The name of a snapshot has at most {_LONGEST} characters; this one has {len(name)}.")
    newest = journal.artefacts.newest_versions()
    lines = [json.dumps((newest[path].number, path, file)) for path, file in _seen(journal).items() if path in newest]
    journal.decisions.add("*", "snapshot", "\n".join([name, *lines]), lasting=True)


def taken(journal: Journal) -> list[tuple[Snapshot, Mapping[str, _Then]]]:
    """The snapshots, oldest first, with their texts by path."""
    found: list[tuple[Snapshot, Mapping[str, _Then]]] = []
    made = [one for one in journal.decisions.find("*") if one.kind == "snapshot"]
    texts: dict[str, list[str]] = {}
    for version in journal.artefacts.versions() if made else ():
        texts.setdefault(version.path, []).append(version.text)
    for number, one in enumerate(made, 1):
        name, *lines = (one.text or "").split("\n")
        then: dict[str, _Then] = {}
        for line in lines:
            version, path, file = json.loads(line)
            if version <= len(texts.get(path, ())):  # a journal may have lost its end
                then[path] = _Then(file, version, plain(texts[path][version - 1]))
        found.append((Snapshot(number, name, one.at), then))
    return found


def compared(journal: Journal, number: int) -> tuple[SnapshotChanges, Mapping[str, _Then]]:
    """The texts that differ from a snapshot, and the texts of the snapshot.

    Raises:
        UnknownNameError: there is no such snapshot.
    """
    every = taken(journal)
    if not 1 <= number <= len(every):
        raise UnknownNameError("snapshot", str(number), [str(one.number) for one, _ in every])
    snapshot, then = every[number - 1]
    titles, here = Titles.in_(journal), _seen(journal)
    changes = []
    for path in dict.fromkeys((*then, *here)):
        now = plain(journal.artefacts.newest(path) or "") if path in here else ""
        before = then[path].text if path in then else ""
        if now != before:
            change: Literal["changed", "added", "gone"] = "changed" if now and before else "added" if now else "gone"
            version = then[path].version if path in then else 0
            title = titles(path if path in here else then[path].file)
            changes.append(SnapshotChange(path, title, change, count_words(before), count_words(now), version))
    return SnapshotChanges(snapshot, tuple(changes)), then


def restore(project: ProjectFolder, journal: Journal, number: int, name: str) -> SnapshotChanges:
    """Give all texts, or one, the versions of a snapshot; returns what changed. One undo takes it back.

    A text that was written for the author since the snapshot stays.

    Raises:
        UnknownNameError: there is no such snapshot or text.
    """
    found, then = compared(journal, number)
    wanted = name if name in then or not name else project.artefact(journal, name)  # one that is there now, or was then
    changes = [one for one in found.changes if one.name == wanted or not name]
    here = _seen(journal)
    new = [FileChange(one.name, here.get(one.name, then[one.name].file), then[one.name].text)
           for one in changes if one.name in then]  # fmt: skip
    added = [one.name for one in changes if one.name not in then]
    withdrawn = [path for path in added if never_made(journal, path, here[path]) or here[path].startswith("notes/")]
    project.take_over(journal, new, withdrawn=withdrawn)
    assemble(project, journal)
    done = tuple(one for one in changes if one.name in then or one.name in withdrawn)
    return SnapshotChanges(found.snapshot, done, restored=bool(done))


def _seen(journal: Journal) -> dict[str, str]:
    """The files of the texts that a writer wants to see, by path."""
    return {path: file for path, file in authored(journal).items() if not is_behind(file)}
