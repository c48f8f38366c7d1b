"""The reference is made from the program, and is as the program is now."""

from __future__ import annotations

import sys

import generate
import pictures
import pytest
from run_page import EXAMPLES

from fabula.cli.lazy import COMMANDS
from tree import ROOT


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_page_is_not_stale(name: str) -> None:
    path = ROOT / "docs" / "reference" / name
    assert path.is_file(), "say `make docs`"
    assert path.read_text(encoding="utf-8") == generate.page(name), "say `make docs`"


def test_the_document_of_the_api_is_not_stale() -> None:
    assert generate.OPENAPI.read_text(encoding="utf-8") == generate.openapi(), "say `make docs`"


def test_there_is_no_page_without_a_source() -> None:
    assert {path.name for path in (ROOT / "docs" / "reference").glob("*.md")} == set(generate.PAGES)


@pytest.mark.skipif(sys.platform != "linux", reason="The terminal is recorded with commands as Linux has them.")
@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_is_not_stale(name: str) -> None:
    assert (pictures.PICTURES / name).read_text(encoding="utf-8") == pictures.DRAWN[name](), "say `make docs`"


def test_run_stays_small() -> None:
    assert len(EXAMPLES) <= 20, "what few systems use is no name of Run"


def test_every_command_has_its_section() -> None:
    page = generate.page("commands.md")
    assert not [name for name in COMMANDS if f"## fabula {name}\n" not in page]


def test_every_setting_is_explained_where_it_is_listed() -> None:
    assert "| `dry_multiplier` | number, ≥ 0 |  |" in generate.page("settings.md")
