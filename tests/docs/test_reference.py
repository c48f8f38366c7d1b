"""The reference is made from the program, and is as the program is now."""

from __future__ import annotations

import generate
import pytest

from fabula.cli.lazy import COMMANDS
from tree import ROOT

PAGES = generate.pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_not_stale(name: str) -> None:
    path = ROOT / "docs" / "reference" / name
    assert path.is_file(), "say `make docs`"
    assert path.read_text(encoding="utf-8") == PAGES[name], "say `make docs`"


def test_there_is_no_page_without_a_source() -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").glob("*.md")} == set(PAGES)


def test_every_command_has_its_section() -> None:
    assert not [name for name in COMMANDS if f"## fabula {name}\n" not in PAGES["commands.md"]]


def test_every_setting_is_explained_where_it_is_listed() -> None:
    assert "| `dry_multiplier` | number, ≥ 0 |  |" in PAGES["settings.md"]
