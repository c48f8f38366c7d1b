"""What is done with many texts, scenes or files takes linear time: steps are counted, not seconds."""

from __future__ import annotations

import sqlite3
import sys
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.craft.planning.from_story import MOST_SCENES, plan_from_story
from fabula.craft.planning.shared import FreeNames, free_name
from fabula.project.sample import copy_sample
from fabula.story import slug
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import FrameType


def _steps(work: Callable[[], object]) -> int:
    """How many functions are called."""
    found = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    "name", ["Scene", "a scene whose name is far longer than the name of a file may ever be, so long", "字", "ﬃ" * 40]
)
def test_names_are_found_in_linear_time_and_none_twice(name: str) -> None:
    def work(count: int) -> list[str]:
        names = FreeNames()
        return [names.take(name) for _ in range(count)]

    assert _steps(lambda: work(800)) < 2.5 * _steps(lambda: work(400))
    made = work(300)
    assert len({slug(one) for one in made}) == 300
    assert slug(free_name(name, made)) not in {slug(one) for one in made}


async def test_a_story_of_too_many_scenes_is_refused_in_words() -> None:
    story = "".join(f"## Scene {n}\n\n<!-- scene: s{n} -->\n\nShe went.\n\n" for n in range(MOST_SCENES))
    with pytest.raises(UsageError, match=r"The story has 2,001 scenes, but a plan can have 2,000 at most"):
        await plan_from_story(_Nobody(), story, window=500)  # type: ignore[arg-type] # nobody is asked


class _Nobody:
    def tries(self, _most: int) -> _Nobody:
        return self


def _project(folder: Path, files: int) -> Project:
    copy_sample(folder)
    for number in range(files):
        (folder / "story" / f"n{number:05d}.md").write_text(f"# Part {number}\n\nShe went {number}.\n")
    return Project(folder)


@pytest.mark.parametrize("what", ["save", "artefacts", "estimate"])
def test_many_new_files_are_taken_over_and_listed_in_linear_time(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [0]

    def counted(database: sqlite3.Connection) -> None:
        database.set_progress_handler(lambda: rows.__setitem__(0, rows[0] + 1), 100)

    connect = sqlite3.connect

    def opened(*of: object, **named: object) -> sqlite3.Connection:
        made: sqlite3.Connection = connect(*of, **named)  # type: ignore[call-overload] # as it was called
        counted(made)
        return made

    monkeypatch.setattr(sqlite3, "connect", opened)

    def steps(files: int) -> tuple[int, int]:
        workspace = _project(tmp_path / f"{files}", files)
        name = next(one.name for one in workspace.rows(marks=False) if one.file.startswith("story/0"))

        def save() -> None:
            text = workspace.text(name)
            workspace.edit(name, f"{text.text} More.", text.base)

        work: dict[str, Callable[[], object]] = {
            "save": save,
            "artefacts": lambda: workspace.rows(marks=False),
            "estimate": workspace.expected,
        }
        if what != "save":
            save()
        rows[0] = 0
        return _steps(work[what]), rows[0]

    (few, few_rows), (many, many_rows) = steps(150), steps(600)
    assert many < 4.8 * few
    assert many_rows < 6 * max(few_rows, 100)  # what the database does itself
