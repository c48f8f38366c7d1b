from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelError, PlanError, ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.planning import PlanOptions, given_plan, plan_for
from fabula.craft.planning.from_brief import arc_of
from fabula.craft.planning.replies import CastReply, CharacterReply, SceneReply, scene_type
from fabula.craft.planning.shared import CastList, events_in, free_name, without_repeats
from fabula.engine.context import RunContext
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import schema_of
from fabula.engine.roles import Cast
from fabula.engine.run import Run
from fabula.models.base import Capabilities, Request
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.plan import ARC, ordinal, story_time
from fabula.story.plan_check import check_plan
from fabula.story.plan_file import parse_plan, write_plan
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.engine.context import Aids
    from fabula.story.plan import Plan

BRIEF = Brief("An old keeper, Mara, must give up her lamp; only Tobias, a boy, keeps her company in Hald.", "The Lamp")
CAST = [
    {"name": "Mara", "gender": "female", "age": 70, "role": "protagonist", "setup": "Keeps the lamp.", "goal": "light"},
    {"name": "Tobias", "role": "helper", "setup": "A boy of ten."},
]
EVENTS = {
    1: "Mara reads the letter. Tobias asks about the lamp.",
    2: "Tobias brings bread and stays. Mara counts the ships.",
    3: "The storm breaks the window. Mara climbs the stairs.",
}
ASKED = Capabilities(schema=True, parallel=64)


def scene_of(number: int, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON data
    there = [{"name": "Mara", "goal": "to keep the light"}]
    return {"name": f"Scene of {number}", "place": "the lamp room", "characters": there, "importance": 7} | changes


def whole(number: int, *said: str, **changes: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON data
    """A scene as a capable planner plans it: `scene_of` with its events."""
    events = said or tuple(
        sentences(EVENTS.get(number, f"The {number}th boat comes home. Mara waves to number {number}."))
    )
    return scene_of(number) | {"events": [{"what": one, "missed_by": []} for one in events]} | changes


def telling(request: Request) -> str:
    """As many scenes as are asked for, told as they happen; a small model's order."""
    shown = request.messages[1].content
    if "In which order do they happen?" in shown:
        return json.dumps({"person": "first person", "tense": "present tense", "order": [2, 1, 3]})
    found = re.search(r"in (one|\d+) scenes?[.,]", shown)
    number = 3 if found is None else 1 if found[1] == "one" else int(found[1])
    arc = arc_of(number)
    scenes = [{"time": n, "element": arc[n - 1], "what": f"Thing {n} happens."} for n in range(1, number + 1)]
    return json.dumps({"person": "third person, close to Mara", "tense": "past tense", "scenes": scenes})


def planner(**changes: Any) -> Callable[[Request], str]:  # noqa: ANN401 - a text, JSON data, or a function of the request
    """A planner whose replies are known by the prompt; `changes` replace some."""

    def answer(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        number = next((int(part) for part in request.path.split("/") if part.isdigit()), 0)
        replies = {
            "plan_conflict": "Mara wants to keep her lamp, and the office will switch it off on Sunday.",
            "plan_setting": "A bare cape in the north, late in the autumn, over one week.",
            "plan_cast": {"characters": CAST},
            "plan_outline": EVENTS.get(number, f"The {number}th boat comes home. Mara waves to number {number}."),
            "plan_scene": whole(number),
            "plan_telling": telling,
        } | changes
        said = replies[prompt.removesuffix("_small")]
        said = said(request) if callable(said) else said
        return said if isinstance(said, str) else json.dumps(said)

    return answer


def run_with(model: ScriptedModel, journal: Journal, **context: Any) -> Run:  # noqa: ANN401 - fields of RunContext
    return Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(model), **context))


async def made(
    options: PlanOptions,
    brief: Brief = BRIEF,
    aids: Aids = "off",
    **changes: Any,  # noqa: ANN401 - fields of the scripted replies
) -> tuple[Plan, ScriptedModel]:
    model = ScriptedModel(planner(**changes), capabilities=ASKED)
    with Journal() as journal:
        return await plan_for(run_with(model, journal, aids=aids), brief, options), model


async def test_a_brief_becomes_a_plan_that_can_be_written_from() -> None:
    plan, model = await made(PlanOptions(scenes=3))
    assert not check_plan(plan)
    assert plan.names == ("Scene of 1", "Scene of 2", "Scene of 3")
    assert [scene.element for scene in plan.scenes] == ["exposition", "climax", "resolution"]
    assert plan.scenes[0].outline[1].text == "Tobias asks about the lamp."
    assert plan.scenes[0].characters[0].goal == "to keep the light"
    assert [scene.time for scene in plan.scenes] == ["1", "2", "3"]
    assert plan.characters[0].age == "70"
    assert (plan.title, plan.brief) == ("The Lamp", BRIEF.text)
    assert plan.manner == "third person, close to Mara; past tense"
    assert len(model.asked) == 4 + 3, "before, there were 4 and 2 for each scene"
    assert {request.role for request in model.asked} == {"planner"}


async def test_a_planner_knows_the_title_whom_the_story_calls_you_and_what_stays_empty_in_the_first_scene() -> None:
    _, model = await made(PlanOptions(scenes=3))
    shown = {request.path: request.messages[1].content for request in model.asked}
    assert all('Writing task, for a story called "The Lamp": ' in prompt for prompt in shown.values())
    cast = next(prompt for path, prompt in shown.items() if path.endswith("plan_cast"))
    assert 'this one is called "you", here and in all that is planned' in cast
    assert "own player" not in cast
    assert "what they want in secret stands in secret" in cast
    first, second = (next(prompt for path, prompt in shown.items() if f"scene/{n}/" in path) for n in (1, 2))
    assert "so age_then, then and what belongs to them stay empty" in first
    assert "so age_then, then and what belongs to them stay empty" not in second
    assert "how it escapes them" in first
    _, small = await made(PlanOptions(scenes=3), aids="on")
    assert all("The Lamp" in request.messages[1].content for request in small.asked)


async def test_every_prompt_holds_what_is_settled_before_it() -> None:
    _, model = await made(PlanOptions(scenes=3))
    third = next(request for request in model.asked if request.path == "plan/scene/3/plan_scene")
    shown = third.messages[1].content
    places = [
        shown.index(part)
        for part in (BRIEF.text, "the office will", "A bare cape", "- Mara", "Thing 3", EVENTS[1], EVENTS[2])
    ]
    assert places == sorted(places)
    assert "Plan scene 3 of 3: Thing 3 happens." in shown[places[-1] :]


async def test_of_scenes_far_back_only_the_first_event_is_shown() -> None:
    _, model = await made(PlanOptions(scenes=12), aids="on")
    shown = next(r for r in model.asked if r.path == "plan/scene/12/plan_outline").messages[1].content
    assert "Mara reads the letter." in shown
    assert "Tobias asks about the lamp." not in shown
    assert "Mara waves to number 11." in shown


async def test_the_planner_decides_on_the_number_of_scenes_within_bounds() -> None:
    plan, model = await made(PlanOptions(scenes=0))
    assert len(plan.scenes) == 3
    assert len(model.asked) == 4 + 3, "before, there were 5 and 2 for each scene"
    for words, scenes in ((600, 3), (2_000, 5), (90_000, 12)):
        options = PlanOptions(scenes=0, words=str(words))
        small, _ = await made(options, aids="on", plan_telling={"order": []})
        assert len(small.scenes) == scenes


async def test_an_unknown_character_in_a_scene_joins_the_cast() -> None:
    stranger = [{"name": "Jonas", "goal": "to put the lamp out"}, {"name": "mara"}]
    plan, _ = await made(PlanOptions(scenes=3), plan_scene=lambda _: json.dumps(whole(1, characters=stranger)))
    assert plan.scenes[0].present == ("Jonas", "Mara")
    assert [person.name for person in plan.characters] == ["Mara", "Tobias", "Jonas"]
    assert plan.scenes[0].characters[0].goal == "to put the lamp out"
    assert not plan.character("Jonas").goal, "that is what he wants in this scene"


async def test_scenes_of_one_name_get_numbers() -> None:
    plan, _ = await made(PlanOptions(scenes=3), plan_scene=whole(1, name="The Storm"))
    assert plan.names == ("The Storm", "The Storm 2", "The Storm 3")


async def test_the_cast_is_the_planners_and_nobody_is_guessed_from_the_brief() -> None:
    vampires = Brief(
        "In the Spring of Covid-19 a European vampire starves in Bergen. The Police call him Mister Night."
    )
    sheets = [
        {"name": f"Person {n}", "role": "helper", "gender": "male", "age": "300", "setup": "Lives by night.",
         "personality": "Vain, and easily bored."}
        for n in range(7)
    ]  # fmt: skip
    plan, model = await made(PlanOptions(scenes=1), vampires, plan_cast={"characters": sheets}, plan_scene=NIGHT)
    assert [person.name for person in plan.characters] == [f"Person {n}" for n in range(7)], "and nobody is left out"
    assert plan.characters[6].personality == "Vain, and easily bored."
    asked = next(request for request in model.asked if request.path.endswith("plan_cast"))
    assert "European" not in asked.messages[-1].content.replace(vampires.text, "")
    plan, _ = await made(
        PlanOptions(scenes=1, characters=2), vampires, plan_cast={"characters": sheets}, plan_scene=NIGHT
    )
    assert len(plan.characters) == 7, "what a capable planner names is kept"


NIGHT = whole(1, characters=[{"name": "Person 0"}])


NONLINEAR = {
    "Begin in medias res, with the burning bridge; only then tell how it came to that.": "4 1 2 3 5",
    "A marriage, told in reverse chronological order, from the divorce to the first look.": "5 4 3 2 1",
    "A nurse of ninety tells her grandson, in the kitchen in 1999, of the winter of 1942. End in the kitchen.": (
        "1999-02-01 1942-01 1942-02 1942-03 1999-02-01"
    ),
    "Two timelines take turns: Lisbon in 1755, on the day of the earthquake, and Lisbon now.": (
        "1755-11-01 2024-05 1755-11-01 2024-06 2024-07"
    ),
    "Open on the funeral. Then show us who he was, from boyhood on, until we stand at the grave again.": "9 1 2 3 9",
    "Each scene takes us a day further into the past, until we learn why the letter was never sent.": "0 -1 -2 -3 -4",
    "During Covid-19, The European waits at his window, and what he did in the war keeps coming back to him.": (
        "2020-04 1943 2020-05 1944 2020-06"
    ),
    "What the reader learns last is what happened first: you, the detective, reconstruct the night.": "2 3 4 5 1",
}


@pytest.mark.parametrize("text", NONLINEAR)
async def test_a_brief_that_wants_another_order_gets_it_however_it_says_so(text: str) -> None:
    times = NONLINEAR[text].split()

    def capable(request: Request) -> str:
        assert text in request.messages[-1].content
        scenes = [{"time": time, "element": "climax", "what": f"At {time}, thing {n}."} for n, time in enumerate(times)]
        return json.dumps({"person": "second person", "tense": "present tense", "scenes": scenes})

    plan, model = await made(PlanOptions(scenes=5), Brief(text), plan_telling=capable)
    assert [scene.time for scene in plan.scenes] == times
    order = sorted(range(5), key=lambda n: (story_time(times[n]), n))
    assert plan.chronology() == tuple(plan.names[n] for n in order) != plan.names
    assert (plan.person, plan.tense) == ("second person", "present tense")
    scenes = [r for r in model.asked if r.path.endswith("plan_scene")]
    for n, request in enumerate(scenes):
        shown = request.messages[-1].content
        where = f"scene {n + 1} of 5 in the order of telling; it happens {ordinal(order.index(n) + 1)} in time"
        assert f"Plan {where}: At {times[n]}, thing {n}." in shown
        assert all(f"time {time})" in shown for time in times)
    assert parse_plan(write_plan(plan)) == plan


async def test_a_time_that_is_none_is_sent_back() -> None:
    def at_last(request: Request) -> str:
        return telling(request) if len(request.messages) > 3 else json.dumps({"scenes": [SOON] * 3})

    plan, model = await made(PlanOptions(scenes=3), plan_telling=at_last)
    assert [scene.time for scene in plan.scenes] == ["1", "2", "3"]
    asked = [request for request in model.asked if request.path.endswith("plan_telling")]
    assert "give a time as a number (1, 2.5), a date" in asked[1].messages[-1].content


SOON = {"time": "soon after", "element": "climax", "what": "They leave."}


async def test_a_small_planner_is_asked_for_an_order_of_numbers_and_anything_else_is_told_as_it_happens() -> None:
    plan, _ = await made(PlanOptions(scenes=3), aids="on")
    assert plan.chronology() == ("Scene of 2", "Scene of 1", "Scene of 3")
    assert plan.manner == "first person; present tense"
    plan, _ = await made(PlanOptions(scenes=3), aids="on", plan_telling={"order": [1, 1, 9]})
    assert [scene.time for scene in plan.scenes] == ["1", "2", "3"]
    assert plan.manner == "third person; past tense"


async def test_who_comes_late_or_leaves_early_does_not_witness_the_rest() -> None:
    there = [{"name": "Mara", "goal": "to read it alone"}, {"name": "Tobias"}]
    events = [
        {"what": "Mara reads the letter.", "missed_by": ["tobias", "Nobody"]},
        {"what": "Tobias comes.", "missed_by": []},
        {"what": "The lamp goes out.", "missed_by": ["Mara", "Tobias"]},
    ]
    plan, _ = await made(PlanOptions(scenes=1), plan_scene=whole(1, characters=there, events=events))
    seen = [event.present for event in plan.scenes[0].outline]
    assert seen == [("Mara",), (), ()], "an event that nobody sees is everybody's"


async def test_a_small_planner_is_asked_for_no_more_than_its_reply_may_hold() -> None:
    _, model = await made(PlanOptions(scenes=1), aids="on", plan_telling={"order": [1]})
    asked = {request.path.rpartition("/")[2]: request for request in model.asked}
    for note in ("plan_conflict", "plan_setting"):
        assert "in three or four sentences" in asked[note].messages[1].content
        assert asked[note].sampling.max_tokens == 160
    assert "Keep each of these to at most fifteen words." in asked["plan_cast_small"].messages[1].content
    assert "secret" not in asked["plan_cast_small"].messages[1].content
    scene = asked["plan_scene_small"]
    assert "newcomers" not in json.dumps(scene.schema) + scene.messages[1].content
    assert "The story will have 1 scene, which" in asked["plan_telling_small"].messages[1].content
    assert '"default"' not in json.dumps([request.schema for request in model.asked])


async def test_a_scene_that_repeats_an_earlier_one_is_drawn_again() -> None:
    def stuck(request: Request) -> str:
        again = "/again/" in request.path
        return "Tobias mends the boat alone." if again else EVENTS[1]

    plan, model = await made(PlanOptions(scenes=3), aids="on", plan_outline=stuck)
    assert plan.scenes[1].outline[0].text == "Tobias mends the boat alone."
    assert next(r.path for r in model.asked if "/again/" in r.path) == "plan/scene/2/again/1/plan_outline"


@pytest.mark.parametrize("reply", ["no JSON at all", '{"characters": []}', '{"name": "x"}'])
async def test_a_reply_that_cannot_be_read_is_sent_back_and_then_an_error(reply: str) -> None:
    with pytest.raises(ReplyError, match="'planner' at plan/scene/1/plan_scene could not be read after 2 repairs"):
        await made(PlanOptions(scenes=1), plan_scene=reply)


async def test_a_repaired_reply_is_taken() -> None:
    def at_last(request: Request) -> str:
        return json.dumps({"characters": CAST}) if len(request.messages) > 3 else "Mara and Tobias!"

    plan, _ = await made(PlanOptions(scenes=3), plan_cast=at_last)
    assert [person.name for person in plan.characters] == ["Mara", "Tobias"]


async def test_an_outline_without_words_is_an_error_after_three_draws() -> None:
    with pytest.raises(ReplyError, match="gave nothing of use at plan/scene/1/plan_outline in 3 tries"):
        await made(PlanOptions(scenes=3), aids="on", plan_outline="***")


async def test_a_killed_run_goes_on_without_repeating_a_call(tmp_path: Path) -> None:
    whole, model = await made(PlanOptions(scenes=3))
    for kill_at in range(len(model.asked)):
        asked: list[str] = []

        def dies(request: Request, limit: int = kill_at, asked: list[str] = asked) -> str:
            if len(asked) == limit:
                raise ModelError("killed here")
            asked.append(request.path)
            return planner()(request)

        with Journal(tmp_path / f"{kill_at}.db") as journal:
            with pytest.raises(ModelError, match="killed here"):
                await plan_for(run_with(ScriptedModel(dies, capabilities=ASKED), journal), BRIEF, PlanOptions(scenes=3))
            rest = ScriptedModel(planner(), capabilities=ASKED)
            assert await plan_for(run_with(rest, journal), BRIEF, PlanOptions(scenes=3)) == whole
            assert len(asked) + len(rest.asked) == len(model.asked)


@pytest.mark.parametrize("scenes", [3, 6, 20])
async def test_a_dry_run_knows_how_many_calls_there_will_be(scenes: int) -> None:
    model = ScriptedModel(planner(), capabilities=ASKED)
    with Journal() as journal:
        run = run_with(model, journal, mode="dry")
        plan = await plan_for(run, Brief("An old keeper must give up her lamp."), PlanOptions(scenes=scenes))
        assert len(run.context.dry_run.planned) == 4 + scenes
        assert not model.asked
    assert len(plan.scenes) == scenes


async def test_a_dry_run_after_a_retake_says_that_the_plan_will_change() -> None:
    model = ScriptedModel(planner(), capabilities=ASKED)
    with Journal() as journal:
        whole = await plan_for(run_with(model, journal), BRIEF, PlanOptions(scenes=3))
        same = run_with(model, journal, mode="dry")
        assert await plan_for(same, BRIEF, PlanOptions(scenes=3)) == whole
        assert same.context.dry_run.replayed == len(model.asked)
        journal.decisions.add("plan", "retake")
        stale = run_with(model, journal, mode="dry")
        plan = await plan_for(stale, BRIEF, PlanOptions(scenes=3))
        assert len(stale.context.dry_run.planned) == len(model.asked)
    assert plan.names == whole.names
    assert plan == whole
    assert stale.context.dry_run.stale == ["plan"]


async def test_the_authors_plan_is_used_as_it_is_and_its_problems_are_named() -> None:
    model = ScriptedModel(planner(), capabilities=ASKED)
    with Journal() as journal:
        run = run_with(model, journal)
        assert await given_plan(run) is None
        journal.decisions.add("plan", "edit", "scenes:\n  - name: One\n    outline: [It rains.]\n")
        given = await given_plan(run)
        assert given is not None
        assert given.names == ("One",)
        assert await plan_for(run, BRIEF, PlanOptions()) == given
        journal.decisions.add("plan", "edit", "scenes:\n  - name: One\n    outline: []\n    importance: 11\n")
        with pytest.raises(PlanError, match=r"plan/plan.yaml:\d: scene 'One' > outline") as problem:
            await given_plan(run)
        assert len(problem.value.problems) == 2
    assert not model.asked


@dataclass(frozen=True)
class Ours:
    scenes: int = 9
    plan_tokens: int = 300


@dataclass(frozen=True)
class Config:
    ours: Ours = field(default_factory=Ours)


def test_options_are_read_off_a_systems_config_and_checked() -> None:
    assert PlanOptions.of(Config()) == PlanOptions(scenes=9)
    with pytest.raises(UsageError, match="A plan of -1 scenes and 0 characters"):
        PlanOptions(scenes=-1)


LONG = " ".join(
    f"On the {n}th morning she writes to her sister in Ebbesund, and burns what she has written." for n in range(40)
)
REFRAIN = "The light goes round, and the light comes back."
PLOT = f"{LONG} {REFRAIN} You carry the oil up, can by can. {REFRAIN}"
GOAL = "Donaudampfschifffahrtsgesellschaftskapitaenin " + "to be, after all these years, what her father was " * 6


async def test_of_a_capable_planner_nothing_is_cut_or_dropped() -> None:
    sheet = {"name": "Mara", "setup": LONG, "goal": GOAL.strip(), "role": "A", "speech": "@ll numb3rs: 1, 2, 3 = 6"}
    there = [{"name": f"Keeper number {n} of the old lighthouse on the cape of Hald", "goal": "Lena"} for n in range(9)]
    plan, model = await made(
        PlanOptions(scenes=3),
        plan_conflict=LONG,
        plan_cast={"characters": [sheet]},
        plan_scene=whole(1, LONG, REFRAIN, "You carry the oil up, can by can.", REFRAIN, characters=there, place=LONG),
    )
    assert plan.conflict == LONG
    mara = plan.characters[0]
    assert (mara.setup, mara.goal, mara.role, mara.speech) == (LONG, GOAL.strip(), "A", sheet["speech"])
    for scene in plan.scenes:
        assert " ".join(event.text for event in scene.outline) == PLOT
        assert scene.place == LONG
        assert [presence.goal for presence in scene.characters] == ["Lena"] * 9
    assert {request.sampling.max_tokens for request in model.asked} == {None}
    assert not [request for request in model.asked if "maxLength" in json.dumps(request.schema)]


def test_every_number_of_scenes_has_an_arc_in_order() -> None:
    for number in range(1, 41):
        arc = arc_of(number)
        assert len(arc) == number
        assert [ARC.index(element) for element in arc] == sorted(ARC.index(element) for element in arc)
        assert "climax" in arc
        assert number < 5 or set(arc) == set(ARC)


def test_names_are_told_apart_as_file_names_are() -> None:
    assert free_name("The Storm", ["the storm!", "The storm 2"]) == "The Storm 3"
    assert free_name(" a --> b ", []) == "a b"


def test_people_are_known_by_parts_of_their_names() -> None:
    people = CastList()
    people.add(
        [
            CharacterReply(name="Odile Brandt", role="inspector"),
            CharacterReply(name="Old Man"),
            CharacterReply(name="Young Man"),
        ]
    )
    people.add([CharacterReply(name="Odile", role="other", goal="the truth")])
    assert people.names == ("Odile Brandt", "Old Man", "Young Man")
    assert people.characters[0].role == "inspector"
    assert people.characters[0].goal == "the truth"


def test_a_family_listed_in_one_reply_stays_a_family() -> None:
    people, names = CastList(), ("Elizabeth Bennet", "Mr. Bennet", "Mrs. Bennet", "Mary", "Mary Ann")
    people.add([CharacterReply(name=name) for name in names])
    assert people.names == names
    people.add([CharacterReply(name="Mr. Bennet", goal="peace"), CharacterReply(name="Elizabeth", goal="to laugh")])
    assert people.names == names
    assert [people.characters[place].goal for place in (0, 1)] == ["to laugh", "peace"]
    small = CastList()
    small.add([CharacterReply(name="Mara Quist"), CharacterReply(name="Mara")], small=True)
    assert small.names == ("Mara Quist",), "small models list one person twice"


@pytest.mark.parametrize(
    "reply",
    [
        '1. Mara reads the letter.\n2. Dr. Cole says: "Go. Now."',
        'Here are the events:\n\n1) Mara reads the letter.\n2) Dr. Cole says: "Go. Now."',
        '**Scene 1**\n\n* **Mara reads** the letter.\n* Dr. Cole says:\n  "Go. Now."',
    ],
)
def test_events_that_come_as_a_list_are_its_items(reply: str) -> None:
    assert events_in(reply)[0] == ["Mara reads the letter.", 'Dr. Cole says: "Go. Now."']


def test_the_same_event_in_other_words_is_dropped() -> None:
    assert without_repeats(["Mara lights the lamp.", "Mara lights the lamp again.", "Jon dies."]) == [
        "Mara lights the lamp.",
        "Jon dies.",
    ]


def test_schemas_offer_known_people_and_bound_every_text() -> None:
    schema = schema_of(scene_type(SceneReply, ("Mara", "Tobias")), short=True)
    assert schema["properties"]["characters"]["items"]["properties"]["name"]["enum"] == ["Mara", "Tobias"]
    assert set(schema["required"]) == {"name", "place", "characters", "importance"}
    sheet = schema_of(CastReply, short=True)["properties"]["characters"]["items"]["properties"]
    assert all("maxLength" in field for field in sheet.values() if field["type"] == "string")
