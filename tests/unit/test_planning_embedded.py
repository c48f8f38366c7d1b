"""Planning on the embedded model, which is the smallest that has to get through it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fabula.craft import PROMPTS
from fabula.craft.planning import PlanOptions, make_plan, plan_from_story
from fabula.engine.context import RunContext
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run
from fabula.models.known import installed, models_home
from fabula.project.casting import Environment, base_sampling, open_model
from fabula.project.settings import ModelTable
from fabula.story import Brief
from fabula.story.plan_check import check_plan

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")

HOME = models_home(os.environ)
pytestmark = [
    pytest.mark.embedded,
    pytest.mark.slow,
    pytest.mark.skipif(
        not installed("smollm2", HOME), reason="the weights are not here: `fabula models pull smollm2` downloads them"
    ),
]
BRIEF = Brief("Write a short story about Mara, who keeps a lighthouse, and Tobias, a boy who is late in a storm.")
STORY = (
    "Mara kept the lighthouse on the cape. Every Sunday Tobias brought her bread from the village.\n\n"
    '"You will be late," she said, for a storm was coming. The boy laughed and ran down to the boat.\n\n'
    "At night the wind rose. Mara climbed the stairs and held the lamp with both hands until the boat came in.\n"
)


@pytest.fixture
async def run() -> AsyncIterator[Run]:
    world = Environment({"FABULA_MODELS": str(HOME)})
    model = open_model("embedded:smollm2", ModelTable(threads=1, slots=1, context=4096), world)
    with Journal() as journal:
        yield Run(
            RunContext(journal, SystemPrompts(PROMPTS), Cast(Assignment(model, base=base_sampling("embedded:smollm2"))))
        )
    await model.close()


async def test_a_small_model_plans_from_a_brief(run: Run) -> None:
    plan = await make_plan(run, BRIEF, PlanOptions(scenes=1, characters=1))
    assert not check_plan(plan)
    assert plan.characters[0].name == "Mara"
    assert plan.manner
    assert plan.chronology() is not None
    assert all(scene.outline and scene.present for scene in plan.scenes)


async def test_a_small_model_reads_a_plan_off_a_story(run: Run) -> None:
    plan = await plan_from_story(run, STORY)
    assert not check_plan(plan)
    assert plan.characters
    assert plan.conflict
    assert plan.setting
