"""What the contract rule of odd replies finds in a system of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.app.new_method import new_method
from fabula.testing import check

if TYPE_CHECKING:
    from pathlib import Path


def changed(folder: Path, file: str, old: str, new: str) -> None:
    text = (folder / file).read_text(encoding="utf-8")
    assert old in text
    (folder / file).write_text(text.replace(old, new), encoding="utf-8")


async def broken_in(folder: Path) -> list[str]:
    return [outcome.broken async for outcome in check(str(folder)) if outcome.broken]


@pytest.mark.parametrize("name", ["scene", "goal", "chosen", "plot", "own"])
async def test_a_field_may_be_called_as_in_another_system(tmp_path: Path, name: str) -> None:
    folder = new_method(tmp_path / "lantern")
    changed(folder, "prompts/_part.jinja", "{{ outline }}", f"{{{{ {name} }}}}")
    changed(folder, "algorithm.py", "outline=outline,", f"{name}=outline,")
    changed(folder, "improved.py", '"outline": outline', f'"{name}": outline')
    assert await broken_in(folder) == []


async def test_a_system_that_falls_over_an_empty_reply_is_told(tmp_path: Path) -> None:
    folder = new_method(tmp_path / "lantern")
    changed(
        folder, "algorithm.py", "    story = Story.of(brief)\n", "    outline.split()[0]\n    story = Story.of(brief)\n"
    )
    [said] = await broken_in(folder)
    assert said.startswith("lantern-faithful-, with texts that are empty: PluginError: ")
    assert "IndexError" in said
