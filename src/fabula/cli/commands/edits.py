"""`fabula text edits`: what the final reading of a story changed, and which of it the author refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
from fabula.verbs.final_edits import NOT_READ

if TYPE_CHECKING:
    from fabula.verbs.final_edits import FinalEdit


@bundled
def edits(
    common: ProjectOptions,
    where: Where = "",
    *,
    refuse_: Annotated[
        list[str] | None, typer.Option("--refuse", metavar="ID", help="An edit to refuse. Repeatable.")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="ID", help="A refused edit to make after all.")
    ] = None,
) -> None:
    """List what the final reading changed; refuse a change, or take it after all. Nobody is asked again."""
    terminal = terminal_of(common)
    project = opened(terminal, project_of(common, where))
    before = project.final_edits()
    if not before.read:
        raise UsageError(NOT_READ)
    found = project.refuse_edits(refuse_ or (), accept or ()) if refuse_ or accept else before
    terminal.say("\n\n".join(map(_shown, found.edits)) or "Nothing was changed.")
    if found.unknown:
        terminal.message(
            f"{DRAFTS}/{REFUSED}.yaml names {', '.join(found.unknown)}, and no edit here has that id: it is mistyped, "
            "or of an edit that was asked for anew since. It refuses nothing; `--accept ID` takes it off."
        )
    if changed := len(found.refused ^ before.refused):
        said = counted(changed, "edit")
        terminal.advise(f"{said} changed. Next: `fabula update {near(project.folder)}`; it asks nobody for this.")
    elif found.edits:
        terminal.advise("`fabula text edits --refuse ID` takes one back.")
    terminal.document(found)


def _shown(edit: FinalEdit) -> str:
    state = "  (that text is pinned or yours: it stays as it is)" if edit.own else "  (refused)" if edit.refused else ""
    lines = [f"{edit.id}  {edit.part}{state}", f"  - {one_line(edit.old)}"]
    lines += [f"  + {one_line(edit.new)}"] if edit.new else []
    return "\n".join([*lines, *([f"  {one_line(edit.why)}"] if edit.why else [])])
