"""An author's personas, as every system may take them: as they are given, as characters of a plan, and in a prompt."""

from __future__ import annotations

import json

import pytest

from fabula.base.errors import PlanError
from fabula.craft import PROMPTS
from fabula.craft.personas import characters_of, given_personas, labelled
from fabula.craft.planning import PlanOptions, plan_for
from fabula.engine.context import RunContext
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run
from fabula.models.base import Capabilities, Request
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.personas import parse_personas

PERSONAS = """
goal: Mara keeps the lamp burning until the last boat is home.
setting: A lighthouse on a bare cape.
opening: the lamp room, at dusk
world: {lamp_lit: true, boats_out: 3}
personas:
  - name: Mara
    role: protagonist
    description: Keeper of the lighthouse.
    personality: [patient, stubborn]
    goals: [to see the boats home]
    abilities: [reads the weather]
    relationships: {Tobias: the boy who brings her bread}
    location: the lamp room
    fears: [the dark]
    secret: She let the lamp go out once.
    knows: Tobias saw it.
    believes: The last boat is home
    state: {tired: true}
    aliases: [the keeper]
    appearance: a tall old woman
  - name: Tobias
"""
SCENE = {
    "name": "Dusk",
    "place": "the lamp room",
    "characters": [{"name": "Mara", "goal": "to watch"}],
    "events": [{"what": "Mara lights the lamp.", "missed_by": []}],
}
TELLING = {"person": "third person", "scenes": [{"time": 1, "element": "climax", "what": "The lamp is lit."}]}


def planner(request: Request) -> str:
    """Answers only what personas leave open."""
    replies = {"plan_telling": TELLING, "plan_scene": SCENE}
    return json.dumps(replies[request.path.rpartition("/")[2]])


def run_with(journal: Journal, model: ScriptedModel) -> Run:
    return Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model), aids="off"))


async def test_a_plan_is_made_for_the_authors_people_goal_setting_and_world_and_asks_nobody_for_them() -> None:
    model = ScriptedModel(planner, capabilities=Capabilities(schema=True, parallel=8))
    with Journal() as journal:
        journal.decisions.add("personas", "edit", PERSONAS)
        plan = await plan_for(run_with(journal, model), Brief("A story of a lamp."), PlanOptions(scenes=1))
    assert [request.path for request in model.asked] == ["plan/plan_telling", "plan/scene/1/plan_scene"]
    assert plan.conflict == "Mara keeps the lamp burning until the last boat is home."
    assert plan.setting == (
        "A lighthouse on a bare cape. The story begins here: the lamp room, at dusk. When it begins, this is so: "
        "lamp_lit: true; boats_out: 3."
    )
    assert [person.name for person in plan.characters] == ["Mara", "Tobias"]
    assert "Mara (protagonist)" in model.asked[0].messages[-1].content


async def test_personas_that_cannot_be_read_are_named_before_anybody_is_asked() -> None:
    model = ScriptedModel(planner)
    with Journal() as journal:
        journal.decisions.add("personas", "edit", "personas: [{role: hero}]")
        with pytest.raises(PlanError, match=r"plan/personas\.yaml:1: persona 1 > name: is missing"):
            await plan_for(run_with(journal, model), Brief("A lamp."), PlanOptions(scenes=1))
    assert not model.asked


async def test_without_personas_of_the_author_there_are_none() -> None:
    with Journal() as journal:
        assert await given_personas(run_with(journal, ScriptedModel(planner))) is None


def test_everything_that_a_persona_says_is_in_the_character_and_in_the_texts() -> None:
    start = parse_personas(PERSONAS)
    mara, tobias = characters_of(start)
    said = (
        "protagonist", "Keeper of the lighthouse", "patient", "stubborn", "to see the boats home", "reads the weather",
        "the boy who brings her bread", "the lamp room", "the dark", "She let the lamp go out once", "Tobias saw it",
        "The last boat is home", "tired", "the keeper", "a tall old woman",
    )  # fmt: skip
    whole = mara.introduction()
    assert [text for text in said if text not in whole] == []
    assert "It is not so, as believed, that: The last boat is home" in mara.truth
    assert tobias.introduction() == "Tobias"
    texts = dict(labelled(start))
    assert list(texts) == ["Objective", "Character Descriptions", "Setting"]
    assert [text for text in said if text not in texts["Character Descriptions"]] == []
    assert "boats_out: 3" in texts["Setting"]
    assert labelled(parse_personas("personas: [{name: Ann}]")) == (("Character Descriptions", "Name: Ann"),)
