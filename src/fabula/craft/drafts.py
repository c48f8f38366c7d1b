"""Drafts: the texts of a story's parts before the whole is read and revised."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.making import DRAFTS
from fabula.engine.run import Make, More, Run, retaken


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of a part before the whole was read; `given` is the author's own text of it, which nobody revises.

    `before` is what the reader of the whole is shown of a part that continues: the part as it was.
    """

    name: str
    text: str
    given: str | None = None
    before: str | None = None

    @property
    def shown(self) -> str:
        """The text that the reader of the whole is shown."""
        return next(text for text in (self.before, self.given, self.text) if text is not None)


async def keep_draft(run: Run, name: str, make: Make, *, folder: str = "story", more: More | None = None) -> Draft:
    """The text of `name` before the whole was read, for a story whose parts are revised at its end.

    Kept as the artefact `drafts/name`, which a person can edit. Where the author edited or pinned `name` itself,
    that text stands for the draft and `make` is not called. A text that was pinned as it came out of the revision
    keeps its draft, so that what was written on from it stays as it is. A retake of `name` makes its draft again.
    A text that the author wants continued (`more`) stands as it was, with what follows it.
    """
    context, path, drafts = run.context, run.scope(name).at, retaken(run, name).scope(DRAFTS)
    of_draft, journal = drafts.scope(name).at, context.journal
    base, source = context.override(path) or ("", "")
    if source == "continued":
        text = await run.keep(name, make, folder=folder, more=more)
        made_before = any(version.text == base for version in journal.artefacts.versions(path) if version.made)
        return Draft(name, text, text, (journal.artefacts.newest(of_draft) if made_before else None) or base)
    given = await run.given(name, folder=folder)
    if given is not None and context.override(of_draft) is None:
        written = [version.text for version in journal.artefacts.versions(path) if version.made]
        before = journal.artefacts.newest(of_draft) if written and written[-1] == given else None
        return Draft(name, given, given) if before is None else Draft(name, before)
    text = await drafts.keep(name, make, folder=DRAFTS)
    context.told[path] = folder, text
    return Draft(name, text, given)
