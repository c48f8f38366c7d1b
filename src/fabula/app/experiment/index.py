"""What is known of every run of an experiment, in one append-only file, so that no journal is opened again.

The file contains only what the runs' folders contain. A line is valid as long as the files that it was read from are
unchanged. After a kill, a copy of the folder, or an edit of a run, only the journal is read again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from fabula.app.experiment.cell import UNFINISHED, CellRecord, read_cell
from fabula.base.errors import UsageError
from fabula.base.files import append_synced, text_lines
from fabula.project.packed import JOURNAL, RECORD, SETTINGS, STORY

INDEX: Final = "runs.jsonl"
NOT_BEGUN: Final = CellRecord(UNFINISHED)
_LONGEST, _LARGEST = 1_000_000, 10_000_000_000  # bytes of a line, and of the file
_FILES: Final = (RECORD, JOURNAL, f"{JOURNAL}-wal", "brief.md", SETTINGS, STORY)


@dataclass
class CellIndex:
    """The runs in the folder of an experiment, by id.

    Attributes:
        folder: the folder of the experiment.
        keeps: whether records that had to be read again are added to the file.
    """

    folder: Path
    keeps: bool = True
    _lines: dict[str, tuple[list[int], CellRecord]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        file = self.folder / INDEX
        if not file.is_file():
            return
        try:
            for _, line in text_lines(file, _LONGEST, _LARGEST):
                try:
                    data = json.loads(line)
                    self._lines[data["run"]] = data["files"], CellRecord.of(data)
                except (ValueError, KeyError, TypeError, RecursionError):  # a line that a kill cut off
                    continue
        except UsageError:  # it is read anew from the runs
            self._lines.clear()

    def known(self) -> Iterable[str]:
        """The ids of the runs in the file, including those that the experiment no longer names."""
        return self._lines.keys()

    def files_of(self, run: str) -> list[int] | None:
        """The state of the files of a finished run; `None` if the run is not finished or not known."""
        known, files = self._lines.get(run), _seen(self.folder / "runs" / run)
        return files if known is not None and known[0] == files and known[1].outcome.state == "done" else None

    def of(self, run: str) -> CellRecord:
        """What is known of a run."""
        folder = self.folder / "runs" / run
        files = _seen(folder)
        if not any(files):
            return NOT_BEGUN
        known = self._lines.get(run)
        if known is not None and known[0] == files:
            return known[1]
        record = read_cell(folder)
        if self.keeps:
            return self.add(run, record)
        self._lines[run] = files, record
        return record

    def add(self, run: str, record: CellRecord) -> CellRecord:
        """Add what is known of a run whose files are in the experiment's folder, and return the record.

        Raises:
            ProjectError: the file cannot be written.
        """
        files = _seen(self.folder / "runs" / run)
        self._lines[run] = files, record
        line = json.dumps({"run": run, "files": files, **record.as_data()}, ensure_ascii=False)
        append_synced(self.folder / INDEX, f"{line}\n".encode("utf-8", "replace"), sync=False)
        return record


def _seen(folder: Path) -> list[int]:
    """The state of the files of a run: when each was last changed, or 0 if it does not exist."""
    at, found = str(folder), []
    for name in _FILES:
        try:
            found.append(os.stat(f"{at}/{name}").st_mtime_ns)  # noqa: PTH116 - of very many files
        except OSError:
            found.append(0)
    return found
