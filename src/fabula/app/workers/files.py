"""The files of work on another machine: written to the disk of its node, and returned while the work continues.

A journal in use cannot be on a network disk.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import make_folder, write_atomically
from fabula.project.packed import JOURNAL, RECORD

if TYPE_CHECKING:
    from fabula.app.workers.worker import Desk

Files: TypeAlias = "dict[str, bytes]"
_FILES: Final = ("brief.md", JOURNAL, RECORD)  # in the order of writing: the record of a run says that it is over
_OFTEN: Final = 1.0  # seconds between two times that work is handed back


@dataclass(eq=False)
class NodeFolder:
    """The place where a node keeps its work for the driver's folder `of`."""

    of: str
    _used: set[Path] = field(default_factory=set, init=False)

    def put(self, name: str, files: Files) -> Path:
        """The folder of one job. The driver's files replace a shorter journal on this disk.

        Raises:
            UsageError: the folder belongs to another user.
            ProjectError: the folder cannot be written.
        """
        home = Path(tempfile.gettempdir()) / f"fabula-{os.getuid()}"
        make_folder(home, mode=0o700)
        if home.stat().st_uid != os.getuid() or home.is_symlink():
            raise UsageError(f"{home} belongs to another user. Remove it, or set TMPDIR on the nodes.")
        folder = home / sha256(self.of.encode()).hexdigest()[:16] / name
        if len(files.get(JOURNAL, b"")) > len(files_in(folder).get(JOURNAL, b"")):
            put(folder, files)
        self._used.add(folder)
        return folder

    def clear(self) -> None:
        """Remove from this disk what the driver has."""
        for folder in self._used:
            rmtree(folder, ignore_errors=True)


@dataclass(eq=False)
class Handing:
    """Returns a run's files while it is in progress: after calls, and at most once per second."""

    desk: Desk
    folder: Path
    _task: asyncio.Task[None] | None = field(default=None, init=False)

    def soon(self) -> None:
        """Note that a call is finished."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._hand())

    def stop(self) -> None:
        """Note that the run is over."""
        if self._task is not None:
            self._task.cancel()

    async def _hand(self) -> None:
        await asyncio.sleep(_OFTEN)
        self.desk.keep(await asyncio.to_thread(files_in, self.folder))


def files_in(folder: Path) -> Files:
    """The files of a run, with the journal in its current state, even while it is written."""
    found: Files = {}
    for name in _FILES:
        file = folder / name
        if not file.is_file():
            continue
        if name == JOURNAL:
            with closing(sqlite3.connect(file)) as journal:
                found[name] = journal.serialize()
        else:
            found[name] = file.read_bytes()
    return found


def put(folder: Path, files: Files) -> None:
    """Write the files of a run, each completely or not at all.

    Raises:
        ProjectError: the files cannot be written.
    """
    make_folder((folder / JOURNAL).parent, mode=0o700)
    if (folder / f"{JOURNAL}-wal").exists():  # of the journal that was there before, and would be read into this one
        with closing(sqlite3.connect(folder / JOURNAL)) as journal:
            journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for rest in (f"{JOURNAL}-wal", f"{JOURNAL}-shm"):
            (folder / rest).unlink(missing_ok=True)
    for name in _FILES:
        if name in files:
            write_atomically(folder / name, files[name])
