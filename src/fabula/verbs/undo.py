"""`undo` and `redo`: what was decided last, taken back and decided again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.app.deciding import OF_TEXTS, hold, restore, wording_of
from fabula.app.titles import Titles
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.journal import Done


@dataclass(frozen=True, slots=True)
class Decided:
    """What was taken back or decided again, in words, with the artefacts.

    Attributes:
        wording: what it was.
        artefacts: that it was about.
        at: when it had been decided.
        further: what the same would do once more; empty for nothing.
    """

    wording: str
    artefacts: tuple[str, ...]
    at: str
    further: str = ""

    @classmethod
    def of(cls, done: Done, titles: Mapping[str, str], before: Done | None = None) -> Decided:
        """What a command decided, and what the one `before` it did."""
        paths = tuple(dict.fromkeys(one.path for one in done.decisions if one.path != "*"))
        further = wording_of(before, titles) if before else ""
        return cls(wording_of(done, titles), paths, done.decisions[-1].at, further)


@verb("POST", "/undo", command="undo")
async def undo(project: Workspace) -> Decided:
    """Take back what was decided last, wherever that was done.

    Raises:
        UsageError: nothing was decided.
    """
    with project.decided() as (texts, journal):
        done = journal.decisions.last_done()
        if done is None:
            raise UsageError(
                "There is no decision to take back. `fabula show --versions ARTEFACT` lists earlier texts."
            )
        with journal.transaction():
            for decision in reversed(done.decisions):
                journal.decisions.add(decision.path, "undo", target=decision.id)
            for decision in reversed(done.decisions):
                if decision.kind in OF_TEXTS:
                    restore(journal, decision)
        texts.write_newest(journal, [decision.path for decision in done.decisions])
        return Decided.of(done, Titles.in_(journal).every, journal.decisions.last_done())


@verb("POST", "/redo", command="redo")
async def redo(project: Workspace) -> Decided:
    """Decide again what was taken back, as long as nothing else was decided since.

    Raises:
        UsageError: nothing was taken back, or something else was decided since.
    """
    with project.decided() as (texts, journal):
        undone = journal.decisions.last_undone()
        if undone is None:
            raise UsageError(
                "There is nothing to decide again: `fabula redo` comes after `fabula undo`, before any other decision."
            )
        with journal.transaction():
            for one in undone.decisions:
                journal.decisions.add(one.path, one.kind, one.text, one.target, found=undone.found, again=one.id)
            for decision in undone.decisions:
                if decision.kind in OF_TEXTS:
                    hold(journal, decision.path)
        texts.write_newest(journal, [decision.path for decision in undone.decisions])
        return Decided.of(undone, Titles.in_(journal).every)
