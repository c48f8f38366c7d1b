"""A project in three files: its journal, its brief, and a record of the contents of its other files.

The many runs of an experiment are stored like this. Opening one as a project (`ProjectFolder.open`) writes
its files, from the journal and the record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.base.files import inside, make_folder, read_text, write_atomically
from fabula.base.tomltext import toml_text
from fabula.engine.journal import Journal
from fabula.project.settings import Settings
from fabula.story import plain

RECORD: Final = "run.json"
"""The file in the folder of an experiment's run that records how the run ended and what it was given."""
JOURNAL: Final = ".fabula/journal.db"
STORY: Final = "story.md"
SETTINGS: Final = "fabula.toml"
HEADING: Final = "# The settings of this project. `fabula write --help` and docs/reference/settings.md name all fields."
LARGEST: Final = 4_000_000
"""Maximum bytes of a record."""


@dataclass(frozen=True)
class PackedRecord:
    """What a run was given: its settings as tables, and texts by their files; and how it ended."""

    settings: Mapping[str, Any]
    given: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether a folder holds a packed project, or only the record of one."""
        return (folder / RECORD).is_file() and not (folder / SETTINGS).exists()

    @classmethod
    def read(cls, folder: Path) -> PackedRecord | None:
        """The record in a folder; `None` if there is none.

        Raises:
            UsageError: the record cannot be read.
        """
        file = folder / RECORD
        if not file.is_file():
            return None
        text = read_text(file, LARGEST, links=False)
        try:
            data = json.loads(text)
            settings, given = data.pop("settings"), data.pop("given", {})
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise UsageError(
                f"{file} is no record of a run. The experiment writes the file again when it continues."
            ) from error
        if not (isinstance(settings, dict) and isinstance(given, dict) and all(type(s) is str for s in given.values())):
            raise UsageError(f"{file} lacks settings or texts. The experiment writes the file again when it continues.")
        return cls(settings, given, data)

    def write(self, folder: Path) -> None:
        """Write the record; if a power cut loses it, the journal still has everything that was paid for.

        Raises:
            ProjectError: it cannot be written.
        """
        data = {**self.ended, "settings": self.settings} | ({"given": self.given} if self.given else {})
        write_atomically(folder / RECORD, json.dumps(data, ensure_ascii=False) + "\n", sync=False)


def packed_story(folder: Path) -> str | None:
    """The story of a packed project, as it would be in `story.md`; `None` if it has none."""
    file = folder / JOURNAL
    if not file.is_file():
        return None
    with Journal(file) as journal:
        return journal.artefacts.newest(STORY)


def unpack(folder: Path) -> bool:
    """Write the files of a packed project. Returns whether there were any to write.

    Raises:
        UsageError: the record cannot be read, or names files outside of the folder.
        ProjectError: a file cannot be written.
    """
    record = PackedRecord.read(folder) if PackedRecord.is_in(folder) else None
    if record is None:
        return False
    Settings.of(dict(record.settings), str(folder / RECORD))
    texts = {file: plain(text) + "\n" for file, text in record.given.items()}
    if (folder / JOURNAL).is_file():
        with Journal(folder / JOURNAL) as journal:
            newest, places = journal.artefacts.newest_versions(), journal.artefacts.places()
        texts |= {file: plain(newest[path].text) + "\n" for path, file in places.items() if path in newest}
        if STORY in newest:
            texts[STORY] = newest[STORY].text
    for file, text in texts.items():
        place = inside(folder, file)
        if not place.exists():
            make_folder(place.parent)
            write_atomically(place, text)
    write_atomically(folder / SETTINGS, toml_text(dict(record.settings), HEADING))  # last: with it, it is no packed one
    return True
