"""Plans of a strong model, which saw its prompts alone: nothing is lost, and nobody learns what it must not.

The replies in `tests/golden/plans` were given by hand, each by somebody who saw its prompt and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabula.craft import PROMPTS
from fabula.craft.planning import PlanOptions, plan_for, plan_from_story
from fabula.craft.planning.replies import SceneTold, TellingReply
from fabula.engine.context import RunContext
from fabula.engine.events import Noted
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.plan_file import parse_plan, write_plan
from fabula.story.situation import situation_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.models.base import Request
    from fabula.story.plan import Plan

PLANS = Path(__file__).parent.parent / "golden" / "plans"


def told_at(*times: str) -> TellingReply:
    """A telling of scenes at these times."""
    return TellingReply(scenes=[SceneTold(time=time, element="climax", what="") for time in times])


async def planned(
    name: str,
    *,
    scenes: int = 0,
    **changes: Any,  # noqa: ANN401 - JSON data
) -> tuple[Plan, ScriptedModel, list[str]]:
    """The plan, the model with its requests, and the notes; `changes` replace replies by their prompts' names."""
    recorded = json.loads((PLANS / f"{name}.json").read_text(encoding="utf-8"))

    def answer(request: Request) -> str:
        known = {request.path.rpartition("/")[2], request.path} & changes.keys()
        reply = changes[known.pop()] if known else recorded["replies"][request.path]
        return reply if isinstance(reply, str) else json.dumps(reply)

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True))
    notes: list[str] = []

    def listen(event: object) -> None:
        if isinstance(event, Noted):
            notes.append(event.text)

    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model), listeners=[listen]))
        options = PlanOptions(scenes=scenes)
        plan = await plan_for(run, Brief.parse(recorded["brief"]), options)
    return plan, model, notes


def prompt(model: ScriptedModel, path: str) -> str:
    return next(request for request in model.asked if request.path == path).messages[-1].content


def texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON data
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


@pytest.mark.parametrize("name", ["ferry", "backwards", "letters"])
async def test_all_that_a_strong_planner_says_stands_in_the_plan(name: str) -> None:
    plan, model, _ = await planned(name)
    replies = json.loads((PLANS / f"{name}.json").read_text(encoding="utf-8"))["replies"]
    scenes = len(plan.scenes)
    assert len(model.asked) == 4 + scenes, "it took 5 calls and 2 for each scene"
    told = replies["plan/plan_telling"]["scenes"]
    said = set(texts(replies)) - {scene[key] for scene in told for key in ("what", "date")}
    assert not said - set(texts(asdict(plan))) - {""}
    assert parse_plan(write_plan(plan)) == plan


async def test_the_wife_who_must_never_learn_it_is_shown_nothing_of_it() -> None:
    plan, _, _ = await planned("ferry")
    order = plan.chronology()
    assert order is not None
    assert [order.index(name) + 1 for name in plan.names] == [3, 1, 2, 4]
    last = plan.scenes[-1]
    confession = next(event for event in last.outline if "it was me" in event.text)
    assert last.absent(confession) == ("Marta",)
    shared = [event.text for scene in plan.scenes for event in scene.outline if "Marta" in scene.witnesses(event)]
    assert len(shared) == 2
    own = situation_of(plan, last, "Marta")
    shown = " ".join((own.character.introduction(own.wants), own.date, own.place, *own.others, *shared))
    assert "it was me" not in shown
    assert "not his father" not in shown
    assert "Aksel (male, 52) - Personality: Slow, exact" in shown
    then = dict(zip(plan.scenes[1].present, plan.people(plan.scenes[1]), strict=True))["Aksel"][0]
    assert (then.age, then.secret, then.goal) == ("46", "", "")
    assert "tie her up for the last time" not in then.introduction()


async def test_a_scene_is_planned_in_the_order_of_telling_with_its_length_and_its_own_time() -> None:
    _, model, _ = await planned("ferry")
    shown = prompt(model, "plan/scene/2/plan_scene")
    assert "Plan scene 2 of 4 in the order of telling; it happens first in time: In the storm" in shown
    assert "It will have about 216 words, so" in shown
    assert shown.count("third person") == 3, "the brief, what the plan says, and a demand"
    assert "age_then" in shown
    assert "age_then, and then: who" not in prompt(model, "plan/scene/1/plan_scene")
    assert "as many scenes as it needs, which together have about 900 words" in prompt(model, "plan/plan_telling")
    _, model, _ = await planned("ferry", scenes=4)
    assert "in 4 scenes, which together have about 900 words" in prompt(model, "plan/plan_telling")


async def test_a_story_told_backwards_is_read_with_its_order_of_time_and_the_ages_of_then() -> None:
    recorded = json.loads((PLANS / "half.json").read_text(encoding="utf-8"))
    model = ScriptedModel(
        lambda request: json.dumps(recorded["replies"][request.path]), capabilities=Capabilities(schema=True)
    )
    with Journal() as journal:
        plan = await plan_from_story(
            Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model))), recorded["story"]
        )
    assert len(model.asked) == 3 + 4 + 1, "it took 3, 2 for each scene, and 2"
    assert plan.chronology() == ("The first tree", "The wedding", "The well", "The auction")
    assert plan.position("The first tree") == "scene 4 of 4 in the order of telling; it happens first in time"
    assert [(person.age, person.secret) for person, _ in plan.people(plan.scenes[3])] == [
        ("5", ""),
        ("7", ""),
        ("", ""),
    ]
    assert "register" in plan.character("Anselm").secret
    assert "register" not in plan.character("Anselm").setup + plan.character("Anselm").goal
    assert plan.scenes[3].outline[1].text.startswith("Their father asks"), "what was missed stands in its place"


async def test_a_planner_says_who_is_there_without_seeing_and_what_they_notice_instead() -> None:
    scene: Any = {
        "name": "Twine", "place": "The quay",
        "characters": [
            {"name": "Aksel", "goal": "", "then": "A mate.", "secret_then": "He is afraid.", "speech_then": "Quick."},
            {"name": "Ruben", "goal": ""},
            {"name": "Marta", "goal": ""},
        ],
        "events": [{"what": "Aksel speaks.", "where": "on board", "missed_by": ["Marta"], "away": ["Ruben"],
                    "notices": "that his lips move"}],
    }  # fmt: skip
    plan, model, _ = await planned("ferry", **dict[str, Any]({"plan/scene/2/plan_scene": scene}))
    event = plan.scenes[1].outline[0]
    assert (event.present, event.there, event.notices, event.place) == (
        ("Aksel",), ("Marta",), "that his lips move", "on board",
    )  # fmt: skip
    one = plan.scenes[1].characters[0]
    assert (one.then, one.secret, one.speech) == ("A mate.", "He is afraid.", "Quick.")
    shown = prompt(model, "plan/scene/2/plan_scene")
    assert "cannot know the future" in shown
    assert "secret_then" in shown
    assert "in their own terms" in prompt(model, "plan/plan_cast")
    assert "such as 19:10" in prompt(model, "plan/plan_telling")
    assert shown.startswith('Writing task, for a story called "The Night Crossing"')


def test_only_a_story_of_several_years_asks_for_who_people_were_then() -> None:
    assert not told_at("19:10", "20:40").years
    assert not told_at("1921-05-03", "1921-05-04 10:00").years
    assert told_at("1921-05-03", "1919").years
    assert told_at("1", "2").years, "what a number says of years is not known"
