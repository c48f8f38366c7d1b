"""The trail of a finished run: which calls were made where, in which order, and what rules made of their replies.

To go over a story again, for a replay or to say what an update would ask, every prompt is rendered only to find its
call in the journal, and every reply is cleaned only to give the text that it gave before. With the same code, settings
and brief none of it can come out otherwise, until the run comes to an artefact about which a person has decided
something since. Up to there a run follows the trail: the next call at a path is the one that was next there. From there
on it looks for itself. A frozen run, which is to prove something, follows none.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fabula.models.base import Reply

_PACKAGE: Final = Path(__file__).parents[1]
_SOURCES: Final = (".py", ".jinja", ".toml")


@dataclass(frozen=True, slots=True)
class Step:
    """A call of a run: its key in the journal, what calls like it have in common, its role, and words put before it."""

    key: str
    like: str
    role: str
    opening: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """The trail that a finished run left.

    Attributes:
        inputs: digest of all that goes into a run beside decisions.
        decided: digest of what stood decided about each artefact.
        calls: how many calls the run was made of.
        steps: its calls, by path and number there.
        texts: what rules made of its replies, by path and purpose, and number there.
        replies: the replies of the steps, by key.
        reached: paths of the artefacts that the run made use of.
        shortfalls: what the author had asked for and did not get, in sentences.
    """

    inputs: str
    decided: Mapping[str, str]
    calls: int = 0
    steps: Mapping[tuple[str, int], Step] = field(default_factory=dict)
    texts: Mapping[tuple[str, int], str] = field(default_factory=dict)
    replies: Mapping[str, Reply] = field(default_factory=dict)
    reached: tuple[str, ...] = ()
    shortfalls: tuple[str, ...] = ()


class Trail:
    """What a run follows while it can, and what it leaves.

    Args:
        inputs: digest of all that goes into this run beside decisions.
        decided: digest of what stands decided about each artefact now.
        before: the trail of the last finished run.

    Attributes:
        followed: whether the run has come to nothing yet that may be otherwise than in the run before.
    """

    def __init__(self, inputs: str, decided: Mapping[str, str], before: Record | None = None) -> None:
        self._inputs, self._decided = inputs, decided
        self._before = before if before is not None and before.inputs == inputs else Record(inputs, {})
        self.followed = self._before is before
        known = self._before.decided
        self._changed = {path for path in decided.keys() | known.keys() if decided.get(path) != known.get(path)}
        self._steps: dict[tuple[str, int], Step] = {}
        self._texts: dict[tuple[str, int], str] = {}
        self._calls = 0
        self._numbers: Counter[str] = Counter()
        self._lines: dict[str, object] = {}
        self._shared: set[str] = set()
        self._inside = False

    @property
    def unchanged(self) -> Record | None:
        """What the run before left, where this run would be the same from its beginning to its end."""
        return self._before if self.followed and not self._changed else None

    def anew(self) -> Trail:
        """The same trail for a run that begins once more."""
        return Trail(self._inputs, self._decided, self._before)

    def come_to(self, path: str) -> None:
        """Leave the trail before anything about an artefact is read about which a person has decided something."""
        self.followed = self.followed and path not in self._changed

    # calls ----------------------------------------------------------------------------------------------------------

    def step(self, path: str) -> tuple[Step, Reply] | None:
        """The call that was next at a path in the run before, and its reply."""
        step = self._before.steps.get((path, self._numbers[path]))
        reply = self._before.replies.get(step.key) if step else None
        return None if step is None or reply is None else (step, reply)

    def took(self, step: Step, place: tuple[str, int]) -> None:
        """Remember a call."""
        self._calls += 1
        self._steps[place] = step

    def place(self, path: str) -> tuple[str, int]:
        """The next place at a path. What two tasks do at one path may come in another order next time."""
        self._numbers[path] += 1
        task = _task()
        if self._lines.setdefault(path, task) is not task:
            self._shared.add(path)
        return path, self._numbers[path] - 1

    # texts ----------------------------------------------------------------------------------------------------------

    def text(self, path: str, compute: Callable[[], str], *, old: bool) -> str:
        """What `compute` gives, or gave at this place of the trail; it must hang on nothing but what a run reads.

        `old` takes what it gave at this place in any case, for an estimate.
        """
        if self._inside:
            return compute()
        place = self.place(path)
        if (self.followed or old) and place in self._before.texts:
            text = self._before.texts[place]
        else:
            self._inside = True
            try:
                text = compute()
            finally:
                self._inside = False
        self._texts[place] = text
        return text

    # at the end -----------------------------------------------------------------------------------------------------

    def left(self, reached: Iterable[str], shortfalls: Iterable[str]) -> Record | None:
        """What the finished run leaves, with what it found; `None` where it followed the trail to its end."""
        if self.followed:
            return None
        steps = {place: step for place, step in self._steps.items() if place[0] not in self._shared}
        texts = {place: text for place, text in self._texts.items() if place[0] not in self._shared}
        return Record(
            self._inputs,
            self._decided,
            self._calls,
            steps,
            texts,
            reached=tuple(reached),
            shortfalls=tuple(shortfalls),
        )


def _task() -> object:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def digest_of(parts: Iterable[str]) -> str:
    """A digest of texts and of fabula's own code: what a run is made of beside a person's decisions."""
    whole = sha256(_code().encode())
    for part in parts:
        whole.update(f"\0{len(part)}\0{part}".encode("utf-8", "surrogatepass"))
    return whole.hexdigest()


@cache
def _code() -> str:
    """Size and time of every file of fabula: another version may go other ways."""
    files = sorted(file for file in _PACKAGE.rglob("*") if file.suffix in _SOURCES)
    found = ((file.relative_to(_PACKAGE), file.stat()) for file in files)
    return "\n".join(f"{name} {stat.st_size} {stat.st_mtime_ns}" for name, stat in found)
