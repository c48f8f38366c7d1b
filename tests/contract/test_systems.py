"""What every system must do, over every system of fabula's own and every case of its script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.writing import Options, Supplied, write_in
from fabula.base.files import make_folder
from fabula.engine.roles import Cast
from fabula.models.known import STRENGTHS
from fabula.project.folder import ProjectFolder
from fabula.systems import CATALOGUE
from fabula.systems.agents_room.back_translation import PROMPTS as TRAINING
from fabula.testing.rules import (
    FOLDER_RULES,
    SYSTEM_RULES,
    Rule,
    bears_odd_replies,
    goes_on_after_a_kill,
    reads_its_settings,
    uses_its_prompts,
)
from harness import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.systems import System

SYSTEMS = CATALOGUE.own()
each_system = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
@pytest.mark.parametrize("rule", SYSTEM_RULES, ids=lambda rule: rule.name.replace(" ", "-"))
async def test_every_case_keeps_the_rule(rule: Rule[Case], case: Case) -> None:
    assert not await rule.broken_by(case)


@pytest.mark.parametrize("case", [case for case in cases() if not case.edits], ids=lambda case: case.id)
async def test_no_role_is_shown_the_authors_notes(tmp_path: Path, case: Case) -> None:
    project = ProjectFolder.create(tmp_path / "p", case.brief, {"system": case.system.name, "preset": case.preset})
    files = [f"{name}.md" for name in ("brief", "chapters", "exposition", "chapter-1", "story", "scene-1", "plan")]
    make_folder(project.folder / "notes")
    for file in (*files, "status.yaml", "personas.yaml"):
        (project.folder / "notes" / file).write_text("story: A note of the author's.\n", encoding="utf-8")
    if case.plan:
        (project.folder / "plan/plan.yaml").write_text(case.plan, encoding="utf-8")
    settings, model = project.settings.with_({"config": case.config}, "the test"), case.model()
    await write_in(project, settings, Options(), Supplied(Cast.of(model)))
    assert model.asked
    assert not [one for one in model.asked if "A note of the author's" in str(one)]
    with project.journal as journal:
        assert "notes/story" in journal.artefacts.places()


@pytest.mark.simulation
@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
async def test_every_case_goes_on_wherever_it_is_killed(case: Case) -> None:
    await goes_on_after_a_kill(case, everywhere=True)


@each_system
@pytest.mark.parametrize("rule", FOLDER_RULES, ids=lambda rule: rule.name.replace(" ", "-"))
async def test_every_folder_keeps_the_rule(rule: Rule[Any], system: System) -> None:
    assert not await rule.broken_by(system)


@each_system
async def test_odd_replies_end_in_a_story_or_in_a_word(system: System) -> None:
    await bears_odd_replies(system)


@each_system
async def test_every_setting_is_read(system: System) -> None:
    await reads_its_settings(system)


@each_system
async def test_every_prompt_is_used_and_every_field_is_filled_and_read(system: System) -> None:
    await uses_its_prompts(system, but=TRAINING)


@each_system
def test_every_deviation_is_told_and_what_was_measured(system: System) -> None:
    assert all(d["where"] and d["what"] for d in system.paper["deviations"])
    assert system.paper["strength"] in STRENGTHS
    assert system.worth.endswith(".")


@each_system
def test_no_prompt_wants_a_tense_against_the_brief(system: System) -> None:
    for path in system.prompts.glob("*.jinja"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert "past tense" not in line or path.stem == "summarise", f"{path.name}: {line}"
