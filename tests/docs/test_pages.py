"""Every command and every Python block of README and docs runs, from the top of its page, with scripted models."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from blocks import Block, Reader, blocks, commands
from fabula.cli.lazy import full_name
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
SMALL = {"first-story.md", "edit-and-update.md"}  # the small model writes there, part by part
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
each = pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())


@each
def test_its_blocks_run(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    reader = Reader(tmp_path, small=page.name in SMALL)
    for block in blocks(page.read_text(encoding="utf-8")):
        if not block.not_run:
            try:
                reader.follow(block)
            except Exception as error:
                error.add_note(f"in the block at line {block.line} of {page}")
                raise


@each
def test_its_links_lead_somewhere(page: Path) -> None:
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    assert not [t for t in targets if "://" not in t and not (page.parent / t).exists()]


@each
def test_a_block_that_is_not_run_names_commands_that_exist(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8")):
        for command in commands(block) if block.language != "python" else ():
            words = command.split()
            if words[0] == "fabula" and not words[1].startswith("-"):
                assert full_name(words[1:]), f"line {block.line}: {command}"


def test_blocks_are_found_with_the_reason_why_they_are_not_run() -> None:
    page = (
        "```bash\nfabula status\n```\n\n<!-- not run: needs a server -->\n```console\n$ fabula write\nDone.\n```\n\n"
        "Text\n\n```python\nx = 1\n```\n\n```toml\na = 1\n```\n"
    )
    found = list(blocks(page))
    assert [(b.language, b.not_run) for b in found] == [("bash", ""), ("console", "needs a server"), ("python", "")]
    assert commands(found[1]) == ["fabula write"]


def test_a_command_of_a_page_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ended with 2"):
        Reader(tmp_path).follow(Block("bash", "fabula writte\n", 1))
    with pytest.raises(AssertionError, match="mark its block"):
        Reader(tmp_path).follow(Block("bash", "curl example.invalid\n", 1))
