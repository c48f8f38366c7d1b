"""Work in parts that know nothing of each other, as the tasks of a SLURM array: `--shard 3/8`.

Each part has a folder of its own, `<folder>-3-of-8`, so that no two tasks write to one file of a shared disk.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import journal_in
from fabula.base.errors import UsageError
from fabula.base.files import held
from fabula.models.servers import Part

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PART: Final = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")


def read_part(said: str) -> Part:
    """A part as it is typed: "3/8".

    Raises:
        UsageError: it is none.
    """
    found = _PART.fullmatch(said)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"--shard {said[:20]}: give the part and how many there are, as in 3/8 (from 1/8 to 8/8).")
    return Part(number, of)


def folder_of_part(folder: Path, part: Part) -> Path:
    """Where a part of the work in a folder is done."""
    return folder.with_name(f"{folder.name}-{part.number}-of-{part.of}")


def parts_beside(folder: Path) -> list[Path]:
    """The folders of parts beside a folder, in order.

    Raises:
        UsageError: there is none.
    """
    named = re.compile(re.escape(folder.name) + r"-([0-9]+)-of-[0-9]+")
    found = [(int(name[1]), path) for path in folder.parent.glob("*-of-*") if (name := named.fullmatch(path.name))]
    if not found:
        raise UsageError(f"No part of {folder} is beside it ({folder.name}-1-of-8, ...). Name the folders of parts.")
    return [path for _, path in sorted(found)]


def merge_calls(folder: Path, folders: Sequence[Path]) -> dict[str, int]:
    """Copy the calls of parts into a folder's journal, and how many are new from each; what is there stays.

    Raises:
        UsageError: there is no part.
        ProjectError: a process is at work in one of the folders.
        JournalError: a journal cannot be used.
    """
    parts = folders or parts_beside(folder)
    for part in parts:
        if not (part / ".fabula" / "journal.db").is_file():
            raise UsageError(f"{part} holds no calls. Name folders that a command with --shard has written.")
    taken = {}
    for part in parts:
        with journal_in(folder) as journal, held(part / ".fabula", f"The part in {part}"):
            taken[str(part)] = journal.take_calls(part / ".fabula" / "journal.db")
    return taken
