"""What an edit would ask, said at once where working it out takes seconds.

A run goes over the whole story to find what an edit changes; for a long story of a room with many calls that takes some
seconds. Which texts hang on which does not, as a rule, depend on what exactly was changed in one of them. So what was
found when the same texts had been changed otherwise is a first estimate, until it is worked out for what stands there
now. For a text that was only just opened it is worked out as if each of its paragraphs ended with another word.
"""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.kept import KEPT

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.app.writing import Expected
    from fabula.engine.journal import Journal
    from fabula.project.folder import Change

_PARAGRAPHS: Final = re.compile(r"\n\s*\n")
_NOT_PROSE: Final = ("#", "<!--", "|", "---")
_ANOTHER: Final = "otherwise."

Changed: TypeAlias = tuple[object, frozenset[tuple[str, str]]]
"""The last finished run, and which texts were changed since, each with what was decided about it last."""


@dataclass
class Foresight:
    """First estimates of one project, by what was changed.

    Attributes:
        owner: of what is kept.
        slow: working out what a run would ask has taken so long that a first estimate is worth having.
        wanted: the text that was opened last; only for it a first estimate is still to be worked out.
        working: held while one is worked out.
    """

    owner: str = ""
    slow: bool = True
    wanted: str = ""
    working: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, changed: Changed, found: Expected) -> None:
        """Keep what was found, for the next change of the same texts."""
        KEPT.keep(self.owner, changed, None, replace(found, first=True))

    def first(self, changed: Changed) -> Expected | None:
        """What was found when the same texts had been changed otherwise."""
        found = KEPT.get(self.owner, changed)
        return None if found is None else found[1]


def changed_in(journal: Journal, changes: Iterable[Change], also: str = "") -> Changed:
    """What was changed since the last finished run, counting an edit of `also`."""
    last, decided = journal.finished(), journal.decided()
    known = last.decided if last else {}
    kinds = {one.path: one.kind for one in journal.decisions()}
    paths = {path for path in decided.keys() | known.keys() if decided.get(path) != known.get(path)}
    found = {path: kinds.get(path, "undone") for path in paths}
    found |= dict.fromkeys((change.path for change in changes), "edit") | ({also: "edit"} if also else {})
    run = (last.inputs, last.calls, tuple(sorted(known.items()))) if last else journal.count()
    return run, frozenset(found.items())


def otherwise(text: str) -> str:
    """A text of as many words of which each paragraph of prose is another."""
    return "\n\n".join(
        part if part.lstrip().startswith(_NOT_PROSE) else _another(part) for part in _PARAGRAPHS.split(text)
    )


def _another(part: str) -> str:
    """A paragraph with another last word."""
    whole = part.rstrip()
    at = max(whole.rfind(" "), whole.rfind("\n")) + 1
    return f"{whole[:at]}{_ANOTHER}" if whole else part
