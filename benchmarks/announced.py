"""Announced against done: random edits of every file of a project, in every system.

A capable made-up model writes a story, one of the project's files is edited (a word, a line, or the whole), an update
says what it will ask, and does it. It may ask for no other text that stands, and make no more calls than it said at
most.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from benchmarks.estimates import PROFILES, TALKS, Writer, sentence
from benchmarks.table import Row, Table
from fabula.app.writing import Options, Supplied, dry_run_in, write_in
from fabula.base.errors import MoreThanAnnouncedError, ReplyError, UsageError
from fabula.engine.announced import Announced
from fabula.engine.roles import Cast
from fabula.models.budget import Budget
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE: Final = "Announced against done"
EDITS: Final = 300
_TRIES: Final = 3  # edits tried for each that counts: some break a form, which is said before anything is asked
_PERCENT: Final = 100.0
_SAME: Final = 85.0  # percent of the edits after which the very texts that were announced are asked for
_FEW: Final = 3  # words of a line that is worth an edit
_LINE: Final = 14  # words of a new one
_BRIEF: Final = (
    "Write a story of about 500 words about Mara, who keeps a lighthouse, and the boy Tobias, who waits for his "
    "father's boat. It ends with hope."
)
_WORD: Final = re.compile(r"\b[a-z]{4,}\b")
How: TypeAlias = Literal["word", "line", "whole"]
Ended: TypeAlias = Literal["equal", "fewer", "within", "stopped", "other"]
_SAID: Final[dict[Ended, str]] = {
    "equal": "asked exactly what was announced",
    "fewer": "asked less than was announced, and nothing else",
    "within": "asked other calls of the announced texts, or of new ones, and at most as many as announced",
    "stopped": "stopped before more than was announced at most",
    "other": "asked more than that without stopping",
}
_NEVER: Final[tuple[Ended, ...]] = ("stopped", "other")


@dataclass(frozen=True, slots=True)
class Edited:
    """An edit, and how the update after it went.

    Attributes:
        system: the method.
        file: what was edited.
        how: how far.
        announced: paths of the calls that were announced.
        most: how many calls were announced at most.
        asked: paths of the calls that were asked.
        stopped: it stopped before it asked more.
        stood: paths of the texts that there were before.
        texts: paths of the texts that there are now.
    """

    system: str
    file: str
    how: How
    announced: Counter[str]
    most: int
    asked: Counter[str]
    stopped: bool
    stood: frozenset[str]
    texts: frozenset[str]

    @property
    def ended(self) -> Ended:
        """How the update ended, held against what was announced."""
        if self.stopped:
            return "stopped"
        if self.asked <= self.announced:
            return "equal" if self.asked == self.announced else "fewer"
        others = self._asked_for(self.asked) - self._asked_for(self.announced)
        return "other" if others & self.stood or self.asked.total() > self.most else "within"

    @property
    def same_texts(self) -> bool:
        """Whether calls were made for the texts for which calls were announced, and no others."""
        return self._asked_for(self.announced) == self._asked_for(self.asked)

    def _asked_for(self, calls: Counter[str]) -> set[str]:
        above = (
            ["/".join(parts[:n]) for n in range(len(parts), 0, -1)] for parts in (call.split("/") for call in calls)
        )
        return {next((path for path in paths if path in self.texts), paths[0]) for paths in above}


def tried(system: str, seed: int) -> Edited | None:
    """A random edit in a project of a system; `None` where it changes nothing, or breaks the file's form."""
    with TemporaryDirectory(prefix="fabula-bench-") as folder:
        return asyncio.run(_tried(system, Path(folder) / "tale", random.Random(f"{system}/{seed}")))  # noqa: S311 - edits


async def _tried(system: str, folder: Path, draw: random.Random) -> Edited | None:
    config = {"player": "Tobias", "npc": "Mara"} if system in TALKS else {}
    project = ProjectFolder.create(folder, Brief.parse(_BRIEF), {"system": system, "config": config})
    await _run(project, Options())
    file = draw.choice(_files(folder))
    how: How = draw.choice(["word", "line", "whole"])
    before = file.read_text(encoding="utf-8")
    after = edited(before, how, file.suffix, draw)
    if after == before:
        return None
    file.write_text(after, encoding="utf-8")
    try:
        dry, _ = await dry_run_in(project, project.settings, Options(), _cast(Writer(1.0, PROFILES[1])))
    except (UsageError, BaseExceptionGroup):
        return None
    stopped, model, stood = False, Writer(1.0, PROFILES[1]), _texts(project)
    try:
        await _run(project, Options(announced=Announced(dry, exact=True)), model)
    except MoreThanAnnouncedError:
        stopped = True
    except (UsageError, ReplyError):  # a new text made something impossible, as it may with any model
        return None
    announced = Counter(call.path for call in dry.planned)
    asked = Counter(request.path for request in model.asked)
    where, texts = str(file.relative_to(folder)), _texts(project)
    return Edited(system, where, how, announced, dry.most, asked, stopped, stood, texts)


def _texts(project: ProjectFolder) -> frozenset[str]:
    """The paths of all texts that there are."""
    with project.journal as journal:
        return frozenset(journal.artefacts.paths())


def _files(folder: Path) -> list[Path]:
    """What a writer can edit in a project."""
    files = [file for file in sorted(folder.rglob("*")) if file.suffix in {".md", ".yaml", ".csv"}]
    return [file for file in files if ".fabula" not in file.parts]


async def _run(project: ProjectFolder, options: Options, model: Writer | None = None) -> None:
    try:
        await write_in(project, project.settings, options, _cast(model or Writer(1.0, PROFILES[1])))
    except BaseExceptionGroup as group:  # of several side by side, the first says enough
        raise group.exceptions[0] from group


def _cast(model: Writer) -> Supplied:
    return Supplied(Cast.of(model), Budget())


def edited(text: str, how: How, suffix: str, draw: random.Random) -> str:
    """A text with one word changed, one line anew, or all of it anew; of a form, only words and lines of prose."""
    if how == "whole" and suffix == ".md" and "<!--" not in text:
        return "\n\n".join(sentence(draw, _LINE) for _ in range(max(len(text.split()) // _LINE, 1)))
    lines = text.split("\n")
    able = [n for n, line in enumerate(lines) if len(_WORD.findall(line)) >= _FEW and "<!--" not in line]
    if not able:
        return text
    at = draw.choice(able)
    if how == "word":
        word = draw.choice(_WORD.findall(lines[at]))
        lines[at] = re.sub(rf"\b{word}\b", "z" * len(word), lines[at], count=1)
    else:
        head = re.match(r"[^:]{0,30}:\s+|\W*", lines[at])
        lines[at] = (head[0] if head else "") + sentence(draw, _LINE)
    return "\n".join(lines)


def bench(edits: int = EDITS, names: Sequence[str] = ()) -> Table:
    """How updates after random edits ended, over all systems in turn."""
    names = names or list(systems())
    found: list[Edited] = []
    for seed in range(edits * _TRIES):
        one = tried(names[seed % len(names)], seed)
        found += [] if one is None else [one]
        if len(found) == edits:
            break
    rows = []
    for ended, said in _SAID.items():
        share = _PERCENT * sum(one.ended == ended for one in found) / len(found)
        rows.append(Row(said, (share,), "%", f"{len(found)} edits", most=0.0 if ended in _NEVER else None))
    planned = _PERCENT * sum(one.asked.total() <= one.announced.total() for one in found) / len(found)
    rows.append(Row("made no more calls than the texts took before", (planned,), "%", f"{len(found)} edits"))
    same = _PERCENT * sum(one.same_texts for one in found) / len(found)
    rows.append(Row("asked for the very texts that were announced", (same,), "%", f"{len(found)} edits", least=_SAME))
    notes = (f"Systems: {', '.join(names)}. What an update then announces in vain costs nothing.",)
    return Table("announced", TITLE, tuple(rows), notes)
