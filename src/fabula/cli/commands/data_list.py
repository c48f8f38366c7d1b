"""`fabula data list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from fabula.cli.opening import terminal_of
from fabula.cli.options import DATA_FOLDER, Output, bundled
from fabula.cli.terminal import table
from fabula.data.sets import SETS, SetHere, SetList

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.data.sets import Holds

_STORIES: Final = ("measure", "check", "evaluate", "data backtranslate")
_USES: Final[Mapping[Holds, tuple[str, ...]]] = {
    "stories and prompts": (*_STORIES, "data choose", "lab experiment"),
    "stories": _STORIES,
    "dialogues": ("measure", "evaluate", "train"),
    "numbers": ("lab reproduce",),
}


@bundled
def list_sets(common: Output, data: Annotated[str, DATA_FOLDER] = "") -> None:
    """List the known data sets, their licences, and whether they are installed on this machine."""
    terminal = terminal_of(common)
    folder = Path(data) if data else None
    rows: list[tuple[str, ...]] = [("set", "what it holds", "licence", "here", "for")]
    sets = [SetHere.of(one, folder, _USES[one.holds]) for one in SETS.values()]
    rows += [_row(one) for one in sets]
    terminal.say(table(rows))
    terminal.advise(
        "\nWrite the name of a set as tell-me-a-story, or of a split as tell-me-a-story:test. To download a public "
        "set, run `fabula lab reproduce --fetch SET`. Put any other set into DIR/SET yourself."
        + ("" if folder else " To set the folder of the data sets, use --data DIR or FABULA_DATA.")
    )
    terminal.document(SetList(str(folder) if folder else None, sets))


def _row(found: SetHere) -> tuple[str, ...]:
    one, size, uses = found.set, found.bytes, found.used_by
    splits = f" ({', '.join(one.splits)})" if one.splits else ""
    fetched = "no, can be fetched" if one.files else "no"
    here = f"{size / 1_000_000:,.1f} MB" if size is not None else fetched if found.folder else "not known"
    shown = ", ".join(uses)
    if len(uses) >= len(_STORIES):
        shown = "stories: " + ", ".join(("measure ...", *uses[len(_STORIES) - 1 :]))
    return one.name, one.title + splits, one.licence, here, shown
