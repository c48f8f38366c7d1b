"""Decisions about single texts: another draw, a wish, and taking back what the last command decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.final_reading import REFUSED
from fabula.engine.events import RECORD, TABLE
from fabula.engine.making import notes_of
from fabula.engine.run import DRAFTS
from fabula.project.telling import is_own
from fabula.story import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.journal import Decision, Done, Journal
    from fabula.project.folder import Project

_REFUSED: Final = f"{DRAFTS}/{REFUSED}"
OF_TEXTS: Final = frozenset({"edit", "rewrite", "unedit", "continue", "pin", "unpin"})


def authored(journal: Journal) -> dict[str, str]:
    """The files of the artefacts that a person may want to read, by path; records of a run are none of them."""
    return {path: file for path, file in journal.places().items() if not file.endswith(f".{RECORD}")}


@dataclass(frozen=True, slots=True)
class Retake:
    """A text that will be written again.

    Attributes:
        path: of the artefact.
        revised: its old text is revised as the author wishes, instead of being written from nothing.
        before: what the author wished of it earlier, which still holds.
    """

    path: str
    revised: bool
    before: tuple[str, ...]


def retake(project: Project, name: str, note: str | None = None, *, anew: bool = False) -> Retake:
    """Have an artefact written anew, with another draw; or revised, as a note wishes (from nothing with `anew`).

    Raises:
        UsageError: the note is empty, the text is pinned, or nobody writes it.
        UnknownNameError: there is no such artefact.
    """
    wish = plain(note or "").strip()
    if note is not None and not wish:
        raise UsageError("The note is empty. Say what you wish of the text, or leave --note out for another draw.")
    with project.recorded() as journal:
        path = project.artefact(journal, name)
        check_unpinned(journal, path)
        _check_written_by_a_role(journal, path, wish)
        revise = bool(wish) and not anew
        with journal.transaction():
            if not revise and journal.override(path) is not None:
                journal.decide(path, "unedit")
            journal.decide(path, "revise" if revise else "retake", wish or None)
        notes = notes_of(journal, path)
    return Retake(path, revise, tuple(notes[:-1] if wish else notes))


def check_unpinned(journal: Journal, path: str) -> None:
    """Check that somebody else than the author may write an artefact.

    Raises:
        UsageError: it is pinned, or a text of the author's own.
    """
    if source_of(journal, path) == "pinned":
        raise UsageError(f"{path} is pinned. Say `fabula text unpin {path}` first.")
    last = journal.trail()
    if last is not None and path not in last.reached and is_own(journal, path, journal.places()[path]):
        raise UsageError(f"{path} is a text of your own, which nobody else writes. Change its file, or delete it.")


def _check_written_by_a_role(journal: Journal, path: str, note: str) -> None:
    """Raise a `UsageError` if nobody is asked for the artefact, or nobody who could follow a note."""
    file = journal.places()[path]
    if path == _REFUSED:
        raise UsageError(
            f"{file} is your own list of edits that are not made, so nobody writes it anew. "
            "`fabula text edits --accept ID` takes an edit off it."
        )
    if note and file.endswith((f".{RECORD}", f".{TABLE}")):
        raise UsageError(f"{file} is no text that a role could revise, so a note says nothing to it. Leave --note out.")


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What the last command decided, taken back.

    Attributes:
        done: its decisions.
        before: what the command before it decided, if anything.
        older: an older fabula wrote the story, and pins alone keep it.
        places: the files of artefacts.
    """

    done: Done
    before: Done | None
    older: bool
    places: Mapping[str, str]


def take_back(project: Project) -> TakenBack:
    """Take back what the last command decided.

    Raises:
        UsageError: nothing was decided.
    """
    with project.recorded() as journal:
        done = journal.last_done()
        if done is None:
            raise UsageError("There is no decision to take back. `fabula text history ARTEFACT` lists earlier texts.")
        with journal.transaction():
            for decision in reversed(done.decisions):
                journal.decide(decision.path, "undo", target=decision.id)
            for decision in reversed(done.decisions):
                if decision.kind in OF_TEXTS:
                    _restore(journal, decision)
        project.write_newest(journal, [decision.path for decision in done.decisions])
        return TakenBack(done, journal.last_done(), bool(journal.older), journal.places())


def _restore(journal: Journal, undone: Decision) -> None:
    """Give the artefact the text that holds without the decision."""
    if undone.kind != "continue":
        hold(journal, undone.path)
    elif undone.text:  # it was recorded with the text that it was to go on from
        source = source_of(journal, undone.path)
        journal.keep(undone.path, undone.text, source if source in ("edited", "rewritten") else "made")


def hold(journal: Journal, path: str) -> None:
    """Give the artefact the text that the decisions which stand about it want."""
    text, source = journal.override(path) or ("", "made")
    made = [version.text for version in journal.versions(path) if version.made]
    if source == "continued":
        text, source = next((more for more in reversed(made) if more.startswith(text)), text), "made"
    elif source == "made":
        text = made[-1] if made else ""
    if text:
        journal.keep(path, text, source)


def source_of(journal: Journal, path: str) -> str:
    """Why a text stands in for the artefact's own; empty if none does."""
    override = journal.override(path)
    return "" if override is None else override[1]
