"""`fabula text edits`: the changes that the final reading made to a story, and those that the author refuses."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.base.errors import UsageError
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import ProjectOptions, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.cli.verbs import opened
from fabula.craft.final_reading import REFUSED
from fabula.engine.making import DRAFTS
from fabula.story import one_line
from fabula.verbs.final_edits import NOT_READ, FinalEdit


@bundled
def edits(
    common: ProjectOptions,
    where: Where = "",
    *,
    refuse_: Annotated[
        list[str] | None, typer.Option("--refuse", metavar="ID", help="Refuse an edit. Repeatable.")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="ID", help="Accept an edit that you refused. Repeatable.")
    ] = None,
) -> None:
    """List the changes of the final reading, refuse a change, or accept it again. This does not call a model."""
    terminal = terminal_of(common)
    project = opened(terminal, project_of(common, where))
    before = project.final_edits()
    if not before.read:
        raise UsageError(NOT_READ)
    found = project.refuse_edits(refuse_ or (), accept or ()) if refuse_ or accept else before
    terminal.say("\n\n".join(map(_shown, found.edits)) or "Nothing was changed.")
    if found.unknown:
        terminal.message(
            f"{DRAFTS}/{REFUSED}.yaml lists {', '.join(found.unknown)}, but no edit has that ID. Either the ID is "
            "mistyped or the edit has since been replaced. The entry has no effect. To remove it, use `--accept ID`."
        )
    if changed := len(found.refused ^ before.refused):
        said = counted(changed, "edit")
        terminal.advise(f"{said} changed. Next: `fabula update {near(project.folder)}`. It calls no model for this.")
    elif found.edits:
        terminal.advise("To undo an edit, run `fabula text edits --refuse ID`.")
    terminal.document(found)


def _shown(edit: FinalEdit) -> str:
    state = "  (that text is pinned or yours: it stays as it is)" if edit.own else "  (refused)" if edit.refused else ""
    lines = [f"{edit.id}  {edit.part}{state}", f"  - {one_line(edit.old)}"]
    lines += [f"  + {one_line(edit.new)}"] if edit.new else []
    return "\n".join([*lines, *([f"  {one_line(edit.why)}"] if edit.why else [])])
