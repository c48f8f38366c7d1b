"""Work in independent parts, such as the tasks of a SLURM array: `--shard 3/8`.

Each part has its own folder, `<folder>-3-of-8`, so that no two tasks write to the same file on a shared disk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fabula.app.corpora.rows import ROWS, StoryRows
from fabula.app.evaluating import journal_in
from fabula.base.errors import UsageError
from fabula.base.files import held
from fabula.models.servers import Part
from fabula.project.packed import JOURNAL

_PART: Final = re.compile(r"([0-9]{1,5})/([0-9]{1,5})")


def read_part(said: str) -> Part:
    """The part given as text, such as "3/8".

    Raises:
        UsageError: the text is not a part.
    """
    found = _PART.fullmatch(said)
    number, of = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= of:
        raise UsageError(f"--shard {said[:20]}: specify the part and the number of parts, as in 3/8 (from 1/8 to 8/8).")
    return Part(number, of)


def folder_of_part(folder: Path, part: Part) -> Path:
    """The folder for one part of the work in a folder."""
    return folder.with_name(f"{folder.name}-{part.number}-of-{part.of}")


def parts_beside(folder: Path) -> list[Path]:
    """The folders of parts next to a folder, in order.

    Raises:
        UsageError: there are no such folders.
    """
    named = re.compile(re.escape(folder.name) + r"-([0-9]+)-of-[0-9]+")
    found = [(int(name[1]), path) for path in folder.parent.glob("*-of-*") if (name := named.fullmatch(path.name))]
    if not found:
        raise UsageError(
            f"No part of {folder} is next to it ({folder.name}-1-of-8, ...). Specify the folders of the parts."
        )
    return [path for _, path in sorted(found)]


@dataclass(frozen=True)
class Taken:
    """What was copied from a part."""

    calls: int
    stories: int


def merge_parts(folder: Path, folders: Sequence[Path]) -> dict[str, Taken]:
    """Copy the calls of parts, and the results for their stories, into a folder. Existing contents are not changed.

    Raises:
        UsageError: a folder is not a part.
        ProjectError: a process is using one of the folders.
        JournalError: a journal cannot be used.
    """
    parts = folders or parts_beside(folder)
    for part in parts:
        if not any((part / file).is_file() for file in (JOURNAL, ROWS)):
            raise UsageError(f"{part} contains no calls. Specify folders that a command with --shard has written.")
    taken = {}
    for part in parts:
        with ExitStack() as stack:
            calls = stories = 0
            if (part / JOURNAL).is_file():
                journal = stack.enter_context(journal_in(folder))
                stack.enter_context(held(part / ".fabula", f"The part in {part}"))
                calls = journal.take_calls(part / JOURNAL)
            else:
                for one, what in ((folder, f"The folder {folder}"), (part, f"The part in {part}")):
                    stack.enter_context(held(one / ".fabula", what))
            if (part / ROWS).is_file():
                stories = stack.enter_context(StoryRows(folder)).take(part)
            taken[str(part)] = Taken(calls, stories)
    return taken
