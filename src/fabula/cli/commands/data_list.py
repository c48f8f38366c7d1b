"""`fabula data list`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from fabula.cli.opening import terminal_of
from fabula.cli.options import DATA_FOLDER, Output, bundled
from fabula.cli.terminal import table
from fabula.data.sets import SETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.data.sets import DataSet, Holds

_STORIES: Final = ("eval measure", "eval rate", "eval review", "check", "eval ttcw", "eval rank", "data backtranslate")
_USES: Final[Mapping[Holds, tuple[str, ...]]] = {
    "stories and prompts": (*_STORIES, "data choose", "lab experiment"),
    "stories": _STORIES,
    "dialogues": ("eval measure", "eval rate", "train summariser"),
    "numbers": ("lab reproduce",),
}


@bundled
def list_sets(common: Output, data: Annotated[str, DATA_FOLDER] = "") -> None:
    """List the data sets that fabula knows: what they hold, under which licence, and whether they are here."""
    terminal = terminal_of(common)
    folder = Path(data) if data else None
    rows: list[tuple[str, ...]] = [("set", "what it holds", "licence", "here", "for")]
    rows += [_row(one, folder) for one in SETS.values()]
    terminal.say(table(rows))
    terminal.advise(
        "\nA set is named as tell-me-a-story, or tell-me-a-story:test for a split. `fabula lab reproduce --fetch SET` "
        "fetches those that can be fetched; others go into DIR/SET by hand."
        + ("" if folder else " Where the sets are, --data DIR or FABULA_DATA says.")
    )
    terminal.document(
        {"folder": str(folder) if folder else None, "sets": [_data(one, folder) for one in SETS.values()]}
    )


def _row(one: DataSet, folder: Path | None) -> tuple[str, ...]:
    splits = f" ({', '.join(one.splits)})" if one.splits else ""
    size = _size(one, folder)
    fetched = "no, can be fetched" if one.files else "no"
    here = f"{size / 1_000_000:,.1f} MB" if size is not None else fetched if folder else "not known"
    uses = _USES[one.holds]
    shown = ", ".join(uses)
    if len(uses) >= len(_STORIES):
        shown = "stories: " + ", ".join(("eval measure ...", *uses[len(_STORIES) - 1 :]))
    return one.name, one.title + splits, one.licence, here, shown


def _size(one: DataSet, folder: Path | None) -> int | None:
    """How many bytes its files take; `None` where it is not there."""
    if folder is None or not one.is_in(one.folder(folder)):
        return None
    return sum(path.stat().st_size for path in one.folder(folder).rglob("*") if path.is_file())


def _data(one: DataSet, folder: Path | None) -> dict[str, Any]:
    size = _size(one, folder)
    return {
        "name": one.name,
        "title": one.title,
        "holds": one.holds,
        "splits": list(one.splits),
        "licence": one.licence,
        "source": one.source,
        "note": one.note,
        "fetched": bool(one.files),
        "folder": str(one.folder(folder)) if folder else None,
        "here": size is not None if folder else None,
        "bytes": size,
        "used_by": list(_USES[one.holds]),
    }
