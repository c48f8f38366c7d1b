"""`fabula text edits`: what the final reading of a story changed, and which of it the author refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.deciding import final_edits, refuse_edits
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import Common, Where, bundled
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.craft.final_reading import REFUSED, unknown_refusals
from fabula.engine.making import DRAFTS
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.craft.final_reading import Edit


@bundled
def edits(
    common: Common,
    where: Where = "",
    *,
    refuse_: Annotated[
        list[str] | None, typer.Option("--refuse", metavar="ID", help="An edit that is not to be made; repeat it.")
    ] = None,
    accept: Annotated[
        list[str] | None, typer.Option("--accept", metavar="ID", help="A refused edit that is made after all.")
    ] = None,
) -> None:
    """List what the final reading changed; refuse a change, or take it after all. Nobody is asked again."""
    terminal, project = terminal_of(common), project_of(common, where)
    with project.recorded() if refuse_ or accept else project.journal as journal:
        found, before = final_edits(journal)
        refused = refuse_edits(project, journal, refuse_ or (), accept or ()) if refuse_ or accept else before
        own = {edit.part for edit in found if journal.decisions.override(edit.part) is not None}
    terminal.say(
        "\n\n".join(_shown(edit, refused=edit.id in refused, own=edit.part in own) for edit in found)
        or "Nothing was changed."
    )
    if unknown := unknown_refusals(found, refused):
        terminal.message(
            f"{DRAFTS}/{REFUSED}.yaml names {', '.join(unknown)}, and no edit here has that id: it is mistyped, or of "
            "an edit that was asked for anew since. It refuses nothing; `--accept ID` takes it off."
        )
    if refused != before:
        changed = counted(len(refused ^ before), "edit")
        terminal.advise(f"{changed} changed. Next: `fabula update {near(project.folder)}`; it asks nobody for this.")
    elif found:
        terminal.advise("`fabula text edits --refuse ID` takes one back.")
    terminal.document(
        {
            "edits": [
                {
                    "id": edit.id,
                    "part": edit.part,
                    "old": edit.old,
                    "new": edit.new,
                    "why": edit.why,
                    "refused": edit.id in refused,
                    "own": edit.part in own,
                }
                for edit in found
            ],
            "unknown": unknown,
        }
    )


def _shown(edit: Edit, *, refused: bool, own: bool) -> str:
    """An edit; `own` says that its part is pinned or the author's own text, where nothing changes any more."""
    state = "  (that text is pinned or yours: it stays as it is)" if own else "  (refused)" if refused else ""
    lines = [f"{edit.id}  {edit.part}{state}", f"  - {one_line(edit.old)}"]
    lines += [f"  + {one_line(edit.new)}"] if edit.new else []
    return "\n".join([*lines, *([f"  {one_line(edit.why)}"] if edit.why else [])])
