"""`undo` and `redo`: undo the last decision, or redo it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.app.arranging import assemble
from fabula.app.deciding import OF_TEXTS, hold, restore, wording_of
from fabula.app.remarks import check_record
from fabula.app.titles import Titles
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.journal import Done


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision that was undone or redone, in words, with its artefacts.

    Attributes:
        wording: the decision in words.
        artefacts: the artefacts that it concerned.
        at: the time of the decision.
        further: what the next undo or redo would do; empty if nothing remains.
    """

    wording: str
    artefacts: tuple[str, ...]
    at: str
    further: str = ""

    @classmethod
    def of(cls, done: Done, titles: Mapping[str, str], before: Done | None = None) -> Decided:
        """Return what a command decided, and what the command `before` it decided."""
        paths = tuple(dict.fromkeys(one.path for one in done.decisions if one.path != "*"))
        further = wording_of(before, titles) if before else ""
        return cls(wording_of(done, titles), paths, done.decisions[-1].at, further)


@verb("POST", "/undo", command="undo")
async def undo(project: Workspace) -> Decided:
    """Undo the last decision, regardless of the door it was made through.

    Raises:
        UsageError: there is no decision to undo.
    """
    check_record(project.project())
    with project.decided() as (texts, journal):
        done = journal.decisions.last_done()
        if done is None:
            raise UsageError("There is no decision to undo. `fabula show --versions ARTEFACT` lists earlier texts.")
        titles = Titles.in_(journal).every
        with journal.transaction():
            for decision in reversed(done.decisions):
                journal.decisions.add(decision.path, "undo", target=decision.id)
            for decision in reversed(done.decisions):
                if decision.kind in OF_TEXTS:
                    restore(journal, decision)
        texts.write_decided(journal, [decision.path for decision in done.decisions], found=bool(done.found))
        assemble(texts, journal)
        return Decided.of(done, titles | Titles.in_(journal).every, journal.decisions.last_done())


@verb("POST", "/redo", command="redo")
async def redo(project: Workspace) -> Decided:
    """Redo the decision that was undone, unless a new decision was made since.

    Raises:
        UsageError: nothing was undone, or a new decision was made since.
    """
    with project.decided() as (texts, journal):
        undone = journal.decisions.last_undone()
        if undone is None:
            raise UsageError(
                "There is nothing to redo: `fabula redo` must follow `fabula undo` before any other decision."
            )
        with journal.transaction():
            for one in undone.decisions:
                journal.decisions.add(one.path, one.kind, one.text, one.target, found=undone.found, again=one.id)
            for decision in undone.decisions:
                if decision.kind in OF_TEXTS:
                    hold(journal, decision.path)
        texts.write_decided(journal, [decision.path for decision in undone.decisions])
        assemble(texts, journal)
        return Decided.of(undone, Titles.in_(journal).every)
