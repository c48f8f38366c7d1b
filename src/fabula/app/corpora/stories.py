"""The stories of files, folders and data sets, one at a time, in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Final

from fabula.app.item_files import Selection, each_item
from fabula.base.errors import UsageError
from fabula.measure.items import Item

_DIGEST: Final = 8  # bytes by which ids are told apart


@dataclass(eq=False)
class Corpus:
    """A very large number of stories, which are read from their files on each iteration.

    Attributes:
        paths: the files, folders and data sets.
        selection: which of their stories to read.
        adapted: gives each story the text that it is compared with.
        left_out: why stories of the last iteration have no text.
    """

    paths: Sequence[Path]
    selection: Selection
    adapted: Callable[[Item], Item] = lambda item: item
    left_out: list[str] = field(default_factory=list, init=False)

    def __iter__(self) -> Iterator[Item]:
        """Each story that has a text.

        Raises:
            UsageError: there is no story, a line is not a story, or two stories have the same id.
        """
        seen: set[int] = set()
        self.left_out.clear()
        for item in each_item(self.paths, self.selection):
            if isinstance(item, Item):
                digest = int.from_bytes(blake2b(item.id.encode("utf-8", "replace"), digest_size=_DIGEST).digest())
                if digest in seen:
                    raise UsageError(f"Two stories have the id {item.id!r}. Rename one of the files, or change the id.")
                seen.add(digest)
                yield self.adapted(item)
            else:
                self.left_out.append(item)
        if not seen:
            where = ", ".join(map(str, self.paths)) or "nothing"
            raise UsageError(f"No story found in {where}. Provide text, .jsonl or .csv files, or a data set.")
