"""Every role that `fabula systems` names can be played, however its name is spelled, over all systems."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UnknownNameError
from fabula.cli.asked import performers_of
from fabula.cli.options import Choices
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Program
from fabula.engine.run import Run, RunContext
from fabula.project.casting import Environment, open_cast
from fabula.project.settings import Settings
from fabula.systems import systems
from harness import Case, cases

if TYPE_CHECKING:
    from pathlib import Path

PLAYER = """
import json
from pathlib import Path
from fabula.models.scripted import ScriptedModel

MODEL = ScriptedModel(json.loads(Path({script!r}).read_text()))

async def answer(request):
    with Path({log!r}).open("a") as log:
        log.write(request.role + "\\n")
    return (await MODEL.ask(request)).text
"""

FIRST = {case.system.name: case for case in reversed(cases()) if case.preset == "improved"}
NAMED = [(case, role) for case in FIRST.values() for role in case.system.roles]


def settings(said: str) -> Settings:
    changes = performers_of(Choices(play=[said]), Settings())
    return Settings.of(changes, "the command line")


def spelled(role: str) -> list[str]:
    return list(dict.fromkeys((role, role.replace("_", "-"), role.replace("_", " ").title())))


@pytest.mark.parametrize(("case", "role"), NAMED, ids=lambda one: one if isinstance(one, str) else one.system.name)
async def test_whoever_is_cast_for_a_role_plays_it(case: Case, role: str, tmp_path: Path) -> None:
    system, log = case.system, tmp_path / "log"
    (tmp_path / "script.json").write_text(json.dumps(case.script))
    player = tmp_path / "player.py"
    player.write_text(PLAYER.format(script=str(tmp_path / "script.json"), log=str(log)))
    for name in spelled(role):
        log.write_text("")
        said = await asyncio.to_thread(settings, f"{name}={player}:answer")  # options are read where no loop runs
        chosen = open_cast(said, system.roles, Environment(), system.open_role)
        assert isinstance(chosen.assignment(role).performer, Program), name
        model = case.model()
        cast = replace(chosen, default=Assignment(model))
        with Journal() as journal:
            case.given_in(journal)
            context = RunContext(journal, SystemPrompts(system.prompt_folders(case.preset), common=PROMPTS), cast)
            await system.write(case.brief, Run(context), system.config(case.preset, case.config))
        asked = {request.role for request in model.asked}
        assert role not in asked, f"{name}: another performer was asked in its place"
        people = set(log.read_text().split("\n")) - {""}
        assert not people & asked


@pytest.mark.parametrize("name", sorted(systems()))
def test_a_role_with_a_letter_wrong_is_refused_before_anything_is_made(name: str) -> None:
    system = systems()[name]
    for role in (role for role in system.roles if len(role) > 5):
        wrong = role[:3] + role[4:]
        with pytest.raises(UnknownNameError, match=f"Did you mean '{role}'"):
            open_cast(settings(f"{wrong}=me"), system.roles, Environment(), system.open_role)


def test_a_role_may_have_hyphens_in_the_settings_file_too() -> None:
    system = systems()["magnet"]
    said = Settings.of({"roles": {"goal-generator": {"play": f"{__file__}:spelled"}}}, "fabula.toml")
    cast = open_cast(said, system.roles, Environment(), system.open_role)
    assert isinstance(cast.assignment("goal_generator").performer, Program)
    anybody = Settings.of({"roles": {"carter": {"play": f"{__file__}:spelled"}}}, "fabula.toml")
    assert "carter" in open_cast(anybody, system.roles, Environment(), system.open_role).roles
