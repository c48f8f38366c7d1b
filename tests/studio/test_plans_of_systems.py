"""The Plan page over what each system leaves in a project."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.project.folder import ProjectFolder
from fabula.systems import CATALOGUE
from fabula.testing.cases import run_case
from harness import cases
from studio import studio_here

if TYPE_CHECKING:
    from pathlib import Path

    from harness import Case

FIRSTS = {case.system.name: case for case in reversed(cases())}
PLANNED = {case.system.name: case for case in reversed(cases()) if case.plan}


async def pages(case: Case, folder: Path) -> tuple[str, str]:
    """The Plan page and its picture, of a project that a case has written."""
    project = ProjectFolder.create(folder / "tale", case.brief, {"system": case.system.name, "preset": case.preset})
    with project.journal as journal:
        project.begin(journal)
        story = await run_case(case, case.model(), journal, on_kept=lambda kept: project.write_kept(journal, kept))
        project.write_story(journal, story)
    async with studio_here(folder) as client:
        page, rails, world = [await client.get(f"/projects/tale/{path}") for path in ("plan", "plan/rails", "world")]
    assert [page.status_code, rails.status_code, world.status_code] == [200, 200, 200]
    return page.text, rails.text


@pytest.mark.parametrize("name", CATALOGUE.own())
async def test_each_system_has_cards_or_says_why_not(tmp_path: Path, name: str) -> None:
    html, rails = await pages(FIRSTS[name], tmp_path)
    titles = re.findall(r'data-title="([^"]*)"', html)
    assert titles, html
    if "data-cards" in html:
        assert "Drag a card" in html
    else:
        assert "plans in its own texts" in html or "writes without a plan" in html
        assert "no plan with scenes," in rails


@pytest.mark.parametrize("name", PLANNED)
async def test_an_authors_plan_has_cards_whatever_system_writes_from_it(tmp_path: Path, name: str) -> None:
    html, rails = await pages(PLANNED[name], tmp_path)
    assert "data-cards" in html
    assert "<svg" in rails


def test_systems_that_list_scenes_have_cards_to_move() -> None:
    assert {"agents-room", "character-simulation", "dramatron", "end-to-end", "ibsen", "magnet", "snap"} <= set(FIRSTS)
