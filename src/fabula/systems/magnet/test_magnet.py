"""MAGNET against its paper: one step, the world, the goals, and the story that comes of them."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, cast

import pytest

from fabula.base.errors import PlanError, ReplyError, UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.engine.dry_run import placeholder, usual
from fabula.engine.events import Kept, Noted
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import schema_of
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.story.personas import Persona, Personas
from fabula.story.world import Fact, Moment, WorldState, flat
from fabula.story.world.flat import Write
from fabula.systems import find
from fabula.systems.magnet.algorithm import due, timestep
from fabula.systems.magnet.config import Config, Paper
from fabula.systems.magnet.records import TimestepRecord, WorldProgress, begun
from fabula.systems.magnet.shapes import Critique, Update
from shortening import shortened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fabula.engine.events import Event
    from fabula.engine.methods import Preset
    from fabula.models.base import Capabilities, Request

SYSTEM = find("magnet")
BRIEF = Brief("Write a story about Mara and Tobias.")
MARA, TOBIAS = Persona("Mara", relationships=(("Tobias", "the boy"),)), Persona("Tobias")
PERSONAS = Personas("The lamp burns until morning.", (MARA, TOBIAS))


def said(request: Request) -> str:
    """Every role does its work: every action accepted, the first chosen, the goal never reached."""
    prompt = request.path.rpartition("/")[2]
    at = request.path.replace("/", " ")
    if prompt == "shorten":
        return shortened(request)
    acted = f"{request.role} does what nobody did, at {at}."
    return {
        "act": json.dumps({"action": acted}) if "JSON" in request.messages[-1].content else acted,
        "criticise": json.dumps({"revise": False, "goal_reached": False, "world_updates": [changed(request)]}),
        "criticise_alone": json.dumps({"revise": False, "goal_reached": False}),
        "narrate": json.dumps({"order": [1], "paragraph": f"It was told at {at}."}),
        "narrate_uncriticised": json.dumps({"order": [1], "goal_reached": False, "paragraph": f"It was told at {at}."}),
        "choose": json.dumps({"order": [1]}),
        "tell": placeholder(100, at),
        "reread": json.dumps({"world_updates": []}),
        "extend": placeholder(30, at),
        "set_goal": json.dumps(
            {
                "goal": " ".join(f"{word}{''.join(at.split()[2:3])}" for word in ("find", "mend", "ring")),
                "goal_domain": at,
                "transition_paragraph": f"Then came {at}.",
            }
        ),
    }[prompt]


def who(request: Request) -> str:
    """Whose action a critic judges."""
    return request.path.split("step/")[1].split("/")[1].lower()


def changed(request: Request) -> dict[str, str]:
    step = [*request.path.split("/step/")[-1].split("/"), ""]
    return {"key": f"seen by {step[1]}", "value": step[0]}


def accepted(updates: dict[str, str], *, reached: bool = False) -> str:
    made = [{"key": key, "value": value} for key, value in updates.items()]
    return json.dumps({"revise": False, "goal_reached": reached, "world_updates": made})


class Staged(Protocol):
    """Gives a story before its first step."""

    def __call__(self, config: Config | None = None, start: Personas = PERSONAS) -> WorldProgress: ...


@pytest.fixture
def stage() -> Iterator[Staged]:
    with ExitStack() as stack:

        def made(config: Config | None = None, start: Personas = PERSONAS) -> WorldProgress:
            now = begun(start, BRIEF, stack.enter_context(WorldState()), config or Config())
            now.part = 1
            return now

        yield made


def prompts(preset: Preset) -> SystemPrompts:
    return SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)


async def step(now: WorldProgress, script: Callable[[Request], str]) -> tuple[TimestepRecord, list[Request]]:
    """One timestep, and the calls it took."""
    model = ScriptedModel(script)
    with Journal() as journal:
        made = await timestep(now, Run(RunContext(journal, prompts("faithful"), Cast.of(model))))
    return made, model.asked


@dataclass
class Written:
    """A story, the calls it took, and what was noted."""

    journal: Journal
    story: Story = field(default_factory=Story)
    asked: list[Request] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)

    def hear(self, event: Event) -> None:
        if isinstance(event, Noted):
            self.noted.append(event.text)
        if isinstance(event, Kept):
            self.kept[event.path] = event.text


TWO = "goal: The lamp burns.\npersonas:\n  - name: Mara\n  - name: Tobias\n"


def planned(personas: str = TWO) -> Journal:
    """A journal with an author's personas."""
    journal = Journal()
    journal.open()
    journal.decisions.add("personas", "edit", personas)
    return journal


async def write(
    script: Callable[[Request], str | Awaitable[str]],
    preset: Preset = "faithful",
    personas: str = TWO,
    journal: Journal | None = None,
    capabilities: Capabilities | None = None,
    brief: Brief = BRIEF,
    inputs: str | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Written:
    """A story."""
    model, written = ScriptedModel(script, capabilities=capabilities), Written(journal or planned(personas))
    run = Run(RunContext(written.journal, prompts(preset), Cast.of(model), listeners=[written.hear], inputs=inputs))
    written.story = await SYSTEM.write(brief, run, SYSTEM.config(preset, config))
    written.asked = model.asked
    return written


def paths(asked: list[Request], prompt: str) -> list[str]:
    return [request.path for request in asked if request.path.endswith(f"/{prompt}")]


# 1: commits ---------------------------------------------------------------------------------------------------------


async def test_only_chosen_actions_change_the_world_in_the_order_of_telling(stage: Staged) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            who = "mara" if "/Mara/" in request.path else "tobias"
            return accepted({"lamp": who, f"only_{who}": "true"})
        return json.dumps({"order": [2, 1, 7, 2], "paragraph": "x"}) if "narrate" in request.path else said(request)

    now = stage(start=replace(PERSONAS, world=(("lamp", "dark"),)))
    made, _ = await step(now, script)
    assert now.world.flat == {"lamp": "mara", "only_tobias": True, "only_mara": True}
    assert made.order == ("Tobias", "Mara")
    assert [(one.key, one.value, one.actor) for one in made.updates] == [
        ("lamp", "tobias", "Tobias"),
        ("only_tobias", True, "Tobias"),
        ("lamp", "mara", "Mara"),
        ("only_mara", True, "Mara"),
    ]
    one = stage()
    await step(one, lambda request: script(request).replace("[2, 1, 7, 2]", "[2]"))
    assert one.world.flat == {"lamp": "tobias", "only_tobias": True}, "Mara's action was not selected"


async def test_all_that_is_chosen_is_told_and_committed_also_after_the_goal_is_reached(stage: Staged) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({f"by_{who(request)}": "1"}, reached="/Tobias/" in request.path)
        if request.path.endswith("narrate"):
            return json.dumps({"order": [2, 1], "paragraph": "Tobias acted, and then Mara did."})
        return said(request)

    now = stage()
    made, _ = await step(now, script)
    assert now.story[0] == "Tobias acted, and then Mara did."
    assert now.world.flat == {"by_tobias": 1, "by_mara": 1}
    assert list(now.done) == ["Tobias", "Mara"]
    assert made.status == "complete"


async def test_reserved_and_impossible_keys_are_refused_and_counted(stage: Staged) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({"turn": "4", "9 lives": "1", "Goal History": "x", "door_open": "true"})
        return said(request)

    now = stage()
    made, _ = await step(now, script)
    assert now.world.flat == {"door_open": True}
    assert [(one.key, one.why) for a in made.happened for one in a.refused] == [
        ("turn", "the key is reserved"),
        ("9 lives", "a key has 1 to 64 letters, digits and _, a letter first"),
        ("Goal History", "the key is reserved"),
    ]
    assert now.summary() == "In 1 steps: 6 refused keys."


async def test_two_values_in_a_step_and_keys_much_alike_are_recorded(stage: Staged) -> None:
    said_of = {1: {"door_open": "true"}, 2: {"open_door": "false"}, 3: {"door_open": "false"}}

    def script(request: Request) -> str:
        if not request.path.endswith("criticise"):
            return said(request).replace("[1]", "[1, 2]")
        t = int(request.path.split("step/")[1].split("/")[0])
        return accepted({"door_open": "true"} if t == 3 and who(request) == "tobias" else said_of[t])

    now = stage()
    made = [(await step(now, script))[0] for _ in said_of]
    assert [one.near for one in made] == [0, 1, 0]
    assert (now.counts["conflicts"], now.world.flat["door_open"]) == (1, True)
    assert now.summary() == "In 3 steps: 1 keys written twice in a step, 1 keys much like an earlier one."


async def test_a_story_that_is_there_makes_no_w_and_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    committed: list[int] = []
    commit = flat.commit

    def watched(world: WorldState, step: int, *args: Any, **options: Any) -> None:  # noqa: ANN401 - as they are
        committed.append(step)
        commit(world, step, *args, **options)

    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({"open_door" if "step/2/" in request.path else "door_open": "true"})
        return said(request)

    monkeypatch.setattr(flat, "commit", watched)
    first = await write(script, inputs="the same", max_steps=16, words="20000")
    assert committed == list(range(17)), "each prompt shows W, and the last chapter's world is kept"
    committed.clear()
    again = await write(script, journal=first.journal, inputs="the same", max_steps=16, words="20000")
    assert (again.asked, committed) == ([], [])
    assert (again.story, again.noted, again.kept) == (first.story, first.noted[-1:], first.kept)
    assert first.noted[-1] == "In 16 steps: 1 keys much like an earlier one."
    first.journal.decisions.add("chapter-1", "edit", "The lamp burns.")
    await write(script, journal=first.journal, inputs="the same", max_steps=16, words="20000")
    assert committed == list(range(17)), "what an author wrote otherwise is read against W"


def test_the_world_of_any_past_step_can_be_rebuilt(stage: Staged) -> None:
    world, seen = stage().world, []
    for step in range(1, 6):
        own = [Write("n", step, "Mara"), Write(f"step_{step}", value=True, actor="Mara", about=("Tobias",))]
        world.commit(step, Moment(1, step), own, {"current_goal": f"goal {step}"})
        seen.append(dict(world.flat))
    store = world.world
    for step, view in enumerate(seen, 1):
        past = flat.flat(store, step=step)
        assert past["current_goal"] == f"goal {step}"
        assert {key: value for key, value in past.items() if key not in flat.RESERVED} == view
    assert tuple(world.variables.values()) == tuple(v for v in flat.variables(store) if v.key not in flat.RESERVED)


def test_w_is_a_directed_graph_of_world_characters_and_variables(stage: Staged) -> None:
    nan = Persona("Nan", relationships=(("the boy", "grandmother"), ("Ole", "widow of")), state=(("awake", True),))
    boy = Persona("Tobias", aliases=("the boy",), relationships=(("Nan", "grandson"),))
    w = stage(start=Personas("The lamp burns.", (nan, boy, Persona("Idle")), (("lamp", "dark"),))).world
    for t, (key, value) in enumerate([("lamp", "lit"), ("tobias_holds", "the oil"), ("lamp", "dark again")], 1):
        w.commit(t, Moment(1, t), [Write(key, value, "Nan", w.named(key, value))], {"current_goal": "x"})
    nodes = {node.id: node.attributes.get("value") for node in w.graph.nodes if node.kind in ("world", "character")}
    assert list(nodes) == ["world", "character:nan", "character:tobias", "character:idle"]
    edges = {(edge.source, edge.relation, edge.target): edge.attributes.get("value") for edge in w.graph.edges}
    assert edges["character:nan", "relationship to the boy", "character:tobias"] == "grandmother", "an alias is known"
    assert edges["character:tobias", "relationship to Nan", "character:nan"] == "grandson"
    assert ("world", "has_state", "state:lamp") in edges
    assert ("state:tobias_holds", "about", "character:tobias") in edges
    assert ("world", "contains", "character:idle") in edges
    states = {node.label: node.attributes["value"] for node in w.graph.nodes if node.kind == "state"}
    assert {key: value for key, value in states.items() if key not in flat.RESERVED} == w.flat
    assert w.flat == {"lamp": "dark again", "nan_awake": True, "tobias_holds": "the oil"}
    known = {who: {one.fact.slot for one in w.world.known_to(who)} for who in ("Nan", "Tobias")}
    assert "relationship to the boy" in known["Nan"] - known["Tobias"], "what one is to another is in one's own persona"


def test_w_is_kept_once(stage: Staged) -> None:
    w = stage(start=replace(PERSONAS, world=(("lamp", "dark"),))).world
    w.world.add([Fact("world", "lamp", "lit", Moment(2))])  # behind its back
    w.amend(Moment(3), [])
    assert w.flat == {"lamp": "lit"}


def test_a_persona_begins_with_its_state_and_updates_are_read(stage: Staged) -> None:
    old = Persona("Old Mara", state=(("tired", True),), aliases=("she",))
    start = Personas("g", (old, Persona("Tobias", aliases=("she",), location="quay")), (("lamp_lit", False),))
    assert stage(start=start).world.flat == {"lamp_lit": False, "old_mara_tired": True}
    world = stage(start=start).world
    assert [e.aliases for e in world.world.entities() if e.kind == "character"] == [(), ()], "she is nobody's alone"
    updates = [("Old Mara's lamp", "3"), ("…", "x"), ("door", "Tobias holds it"), ("k" * 70, "true")]
    writes, refused = world.writes_of([Update(key=key, value=value) for key, value in updates], "Tobias")
    assert [(w.key, w.value, w.about) for w in writes] == [
        ("old_maras_lamp", 3, ("Old Mara",)),
        ("door", "Tobias holds it", ("Tobias",)),
        ("k" * 64, True, ()),
    ]
    assert [one.key for one in refused] == ["…"]


def test_a_dry_run_fills_the_world_as_a_run_does(stage: Staged) -> None:
    made = usual(schema_of(Critique), "chapter-1/step/1/Mara/criticise", {"world_updates": 1})["world_updates"]
    writes, refused = stage().world.writes_of([Update(**one) for one in made], "Mara")
    assert (len(writes), refused) == (1, ()), "else prompts, and what they cost, would be estimated too small"


def test_a_character_sees_what_concerns_it_first(stage: Staged) -> None:
    world = stage().world
    early = [
        Write("weather", "storm", "x"),
        Write("letter", "read", "x", ("Tobias",)),
        Write("cup", 1, "x", ("Mara",)),
        Write("secret", 1, "x", ("Mara",), ("Tobias",)),
    ]
    world.commit(1, Moment(1, 1), early, {})
    world.commit(30, Moment(1, 2), [Write("lamp", "lit", "x")], {"current_goal": "the lamp burns"})
    assert [v.key for v in world.of_character(MARA, "the lamp burns", 3)] == ["cup", "lamp", "letter"]
    assert [v.key for v in world.latest("the lamp burns", 1)] == ["lamp"]
    assert [v.key for v in world.latest("the lamp burns", 2, MARA)] == ["cup", "secret"], "also what she does not know"
    assert len(world.latest("", 9)) == 5


# 2: revisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refusals", "calls", "forced"),
    [(0, 2, False), (2, 6, False), (3, 6, True)],
)
async def test_an_action_is_revised_until_the_critic_takes_it_or_the_bound_is_reached(
    stage: Staged, refusals: int, calls: int, *, forced: bool
) -> None:
    def script(request: Request) -> str:
        if not request.path.endswith("criticise"):
            return said(request)
        attempt = int(request.path.split("/again/")[1].split("/")[0]) if "/again/" in request.path else 0
        refused = attempt < refusals
        updates = [{"key": "k", "value": "1"}]
        return json.dumps(
            {"revise": refused, "feedback": "Too vague.", "goal_reached": False, "world_updates": updates}
        )

    now = stage(start=Personas("g", (MARA,)))
    taken, asked = await step(now, script)
    made = taken.actions[0]
    assert (len(asked) - 1, made.forced, len(made.attempts)) == (calls, forced, calls // 2)
    assert now.world.flat == {"k": 1}, "Algorithm 1, line 6: what the critic named, and the text may tell it"
    assert now.counts["forced"] == forced
    later = [request for request in asked if "/again/" in request.path and request.path.endswith("act")]
    assert all("It was refused: Too vague." in request.messages[-1].content for request in later)
    critics = [request.messages[-1].content for request in asked if request.path.endswith("criticise")]
    assert not any("# Story" in content for content in critics), "in the paper the critic sees none"


async def test_the_critic_sees_no_history_in_the_paper_and_is_not_told_that_the_story_begins() -> None:
    asked = (await write(said, max_steps=2, words="20000")).asked
    last = next(request for request in asked if request.path.endswith("step/2/Mara/criticise"))
    assert "It was told at" not in last.messages[-1].content
    assert "The story begins now" not in last.messages[-1].content


async def test_who_gives_nothing_to_read_is_absent_and_a_silent_critic_lets_pass(stage: Staged) -> None:
    def script(request: Request) -> str:
        if "/Mara/" in request.path and "act" in request.path:
            return "I will not."
        return "No opinion." if "criticise" in request.path else said(request)

    now = stage()
    made, _ = await step(now, script)
    assert [(a.character, a.forced) for a in made.actions] == [("Tobias", False)]
    assert not made.updates, "without a critique nothing changes"
    assert (now.counts["absent"], now.counts["uncriticised"]) == (1, 1)


async def test_where_a_revised_action_cannot_be_read_the_refused_one_stands(stage: Staged) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return json.dumps({"revise": True, "feedback": "Too vague.", "goal_reached": False})
        return "I will not." if "/again/" in request.path else said(request)

    now = stage(start=Personas("g", (MARA,)))
    taken, asked = await step(now, script)
    made = taken.actions[0]
    assert (made.forced, len(made.attempts), len(paths(asked, "criticise"))) == (True, 1, 1)
    assert now.story, "the narrator may still choose it"


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_in_the_paper_all_know_the_world_and_the_goal(preset: Preset) -> None:
    """Section 3.2 hides nothing from a character; only improved mode does."""
    hiding = (
        TWO + "    state: {tired: true}\n    secret: He sold it.\n"
        "world: {lamp_sold: true}\nworld_hidden_from: {lamp_sold: [Mara]}\ngoal_hidden_from: [Mara]\n"
    )
    asked = (await write(said, preset, hiding, max_steps=1, words="400")).asked
    mara, tobias = (
        next(r.messages[-1].content for r in asked if r.path.endswith(f"step/1/{name}/act"))
        for name in ("Mara", "Tobias")
    )
    told = [text in mara for text in ("lamp_sold = true", "tobias_tired = true", "The lamp burns.")]
    assert told == [preset == "faithful"] * 3
    assert ("He sold it." in tobias, "He sold it." in mara) == (True, False), "of a persona its own player alone"


async def test_whoever_answers_first_story_and_record_are_the_same() -> None:
    async def late(request: Request) -> str:
        await asyncio.sleep(0.002 if "/Mara/" in request.path else 0)
        return said(request)

    made = [await write(script, max_steps=4, words="20000") for script in (said, late)]
    assert made[0].story == made[1].story
    assert made[0].kept == made[1].kept
    steps = json.loads(made[0].kept["steps/steps-1"])
    assert [step["t"] for step in steps] == [1, 2, 3, 4]
    assert [a["character"] for a in steps[0]["actions"]] == ["Mara", "Tobias"]


async def test_without_a_critic_the_narrator_names_the_updates() -> None:
    def script(request: Request) -> str:
        if "narrate" in request.path:
            update = {"key": "lamp", "value": "lit"}
            reached = "step/2" in request.path
            return json.dumps({"order": [2], "paragraph": "x", "world_updates": [update], "goal_reached": reached})
        return said(request)

    written = await write(script, max_steps=2, words="20000", critic=False)
    assert paths(written.asked, "set_goal") == ["chapter-1/step/2/set_goal"], (
        "somebody has to say that a goal is reached"
    )
    updates = json.loads(written.kept["steps/steps-1"])[0]["updates"]
    assert [(one["key"], one["value"], one["actor"]) for one in updates[:1]] == [("lamp", "lit", "narrator")]
    act = next(request for request in written.asked if request.path.endswith("step/2/Mara/act"))
    assert "lamp = lit" in act.messages[-1].content


# 3: goals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "k", "reached", "rule", "status"),
    [
        (1, 0, False, "text", None),
        (1, 0, True, "text", "complete"),
        (15, 13, False, "text", None),
        (15, 14, False, "text", "stalled"),
        (15, 14, True, "text", "stalled"),
        (15, 14, False, "algorithm", None),
        (16, 15, False, "algorithm", "stalled"),
        (40, 9, False, "text", "domain_shift"),
        (40, 14, True, "text", "domain_shift"),
        (80, 0, True, "algorithm", "domain_shift"),
    ],
)
def test_when_a_goal_ends(t: int, k: int, rule: Any, status: str | None, *, reached: bool) -> None:  # noqa: ANN401 - a literal
    assert due(t, k, Paper(stall_rule=rule), reached=reached) == status, "Algorithm 1 has line 22 before line 25"
    off = due(t, k, Paper(stall_rule=rule, goal_shifts=False), reached=reached)
    assert off == ("complete" if reached else None)
    assert due(t, k, Paper(stall_rule=rule, goal_updates=False), reached=reached) is None


@pytest.mark.parametrize(("rule", "steps"), [("text", [15, 30, 40, 55]), ("algorithm", [16, 32, 40, 56])])
async def test_goals_follow_one_another_as_the_paper_says(rule: str, steps: list[int]) -> None:
    asked = (await write(said, stall_rule=rule, max_steps=56, words="20000", chapter_words=0)).asked
    assert paths(asked, "set_goal") == [f"chapter-1/step/{step}/set_goal" for step in steps]
    shift = next(request for request in asked if request.path == "chapter-1/step/40/set_goal")
    assert "It is time for a turn. As the goal above is left behind" in shift.messages[-1].content, (
        "line 20 says nothing of its state"
    )


async def test_prompts_point_at_nothing_above_that_stands_below() -> None:
    personas = f"{TWO}    location: the quay\n"
    script = two_drafts(lambda _a, _b: "A")
    asked = (await write(script, personas=personas, max_steps=16, words="20000", candidates=2)).asked
    asked += (await write(said, personas=personas, max_steps=16, words="20000", critic=False)).asked
    pointing = [one for one in (request.messages[-1].content for request in asked) if " above" in one]
    assert pointing
    assert all(one.index("\n# Goal\n") < one.index(" above") for one in pointing)


async def test_a_goal_without_a_transition_paragraph_is_asked_for_again() -> None:
    def script(request: Request) -> str:
        empty = request.path.endswith("set_goal") and len(request.messages) < 4
        return json.dumps({"goal": "They find the boat.", "goal_domain": "sea"}) if empty else said(request)

    written = await write(script, max_steps=16, words="20000")
    assert len(paths(written.asked, "set_goal")) == 2
    assert "Then came chapter-1 step 15 set_goal." in written.story.text


async def test_w_says_nothing_of_a_goal_that_is_left_beside_the_new_one(stage: Staged) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            return accepted({"goal_reached": "true"}, reached=True)
        return said(request)

    now = stage()
    await step(now, script)
    await step(now, script)
    w = flat.flat(now.world.world)
    assert (w["current_goal"], w.get("goal_completed")) == (now.goals[1], None)
    assert "goal_reached" not in w, "the critic's field is no variable of the story's world"


async def test_the_transition_stands_between_the_paragraphs_and_changes_nothing() -> None:
    written = await write(said, max_steps=16, words="20000")
    story, asked = written.story, written.asked
    parts = story.text.split("\n\n")
    assert parts[14:17] == [
        "It was told at chapter-1 step 15 narrate.",
        "Then came chapter-1 step 15 set_goal.",
        "It was told at chapter-1 step 16 narrate.",
    ]
    steps = json.loads(written.kept["steps/steps-1"])
    assert steps[14]["status"] == "stalled"
    assert steps[14]["goal"]["goal"] == "find15 mend15 ring15"
    assert steps[14]["goal"]["transition"] == "Then came chapter-1 step 15 set_goal."
    facts = [fact for fact in json.loads(written.kept["world/world-1"])["facts"] if fact.get("scene")]
    assert {fact["slot"] for fact in facts if fact["step"] == 16} - {"seen_by_mara", "seen_by_tobias"} == {
        "current_goal",
        "goal_domain",
    }, "the transition itself changes nothing"
    act = next(request for request in asked if request.path == "chapter-1/step/16/Mara/act")
    assert "find15 mend15 ring15" in act.messages[-1].content.rpartition("# Goal")[2]


# 4: the story -------------------------------------------------------------------------------------------------------


async def test_in_improved_mode_the_story_has_its_words_and_an_ending() -> None:
    def script(request: Request) -> str:
        reached = request.path.endswith("step/3/Mara/criticise")
        return accepted({}, reached=True) if reached else said(request)

    written = await write(script, "improved", words="1500-1600", paragraph_words=100)
    story, asked = written.story, written.asked
    assert 1500 <= story.words <= 1600
    last = [request for request in asked if request.path.endswith("tell")][-1].messages[-1].content
    assert "This paragraph ends the story" in last
    goals = [request for request in asked if request.path.endswith("set_goal")]
    assert "story is coming to its end" in goals[-1].messages[-1].content


async def test_the_last_paragraph_of_a_long_story_is_a_paragraph() -> None:
    asked = (await write(said, "improved", words="~6000", paragraph_words=100)).asked
    last = [request for request in asked if request.path.endswith("tell")][-1].messages[-1].content
    assert "This paragraph ends the story" in last
    bounds = re.findall(r"about (\d+) words, between (\d+) and (\d+)", last)[-1]
    assert all(40 <= int(words) <= 250 for words in bounds), "not all that is left of the story's range"


async def test_prompts_do_not_grow_with_the_story() -> None:
    asked = (await write(said, "improved", words="5000", paragraph_words=150, chapter_words=1500)).asked
    sizes = [len(request.messages[-1].content) for request in asked if request.path.endswith("criticise")]
    assert max(sizes[-10:]) < 1.2 * max(sizes[10:30])


async def test_chapters_end_with_a_goal() -> None:
    story = (await write(said, max_steps=40, words="20000", chapter_words=60)).story
    assert [scene.label for scene in story.scenes] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert story.scenes[0].text.endswith("Then came chapter-1 step 15 set_goal.")


@pytest.mark.parametrize(
    ("switch", "prompt", "times"),
    [
        ({"critic": False}, "criticise", 0),
        ({"goal_shifts": False}, "set_goal", 0),
        ({"goal_updates": False}, "set_goal", 0),
        ({}, "criticise", 32),
        ({}, "set_goal", 1),
    ],
)
async def test_ablations_of_section_4_4(switch: dict[str, bool], prompt: str, times: int) -> None:
    asked = (await write(said, max_steps=16, words="20000", **cast("dict[str, Any]", switch))).asked
    assert len(paths(asked, prompt)) == times


async def test_without_world_updates_nobody_names_any_and_all_see_the_world_before_the_story() -> None:
    personas = "goal: g\nworld: {lamp: dark}\npersonas:\n  - name: Mara\n"
    asked = (await write(said, max_steps=3, words="20000", personas=personas, world_updates=False)).asked
    assert all("- lamp = dark" in request.messages[-1].content for request in asked)
    critics = [request for request in asked if request.path.endswith("criticise")]
    assert not any("world updates" in request.messages[-1].content for request in critics)
    assert not any("world_updates" in f"{request.messages[-1].content} {request.schema}" for request in critics)


async def test_goals_that_are_reached_follow_one_another_unless_goals_are_not_updated() -> None:
    def script(request: Request) -> str:
        return accepted({}, reached=True) if request.path.endswith("criticise") else said(request)

    for switch, goals in (({}, 3), ({"goal_shifts": False}, 3), ({"goal_updates": False}, 0)):
        asked = (await write(script, max_steps=3, words="20000", **cast("dict[str, Any]", switch))).asked
        assert len(paths(asked, "set_goal")) == goals


def two_drafts(verdict: Callable[[str, str], str]) -> Callable[[Request], str]:
    """Characters draft two different actions, and a judge says of the two that it is shown which is the better one."""

    def script(request: Request) -> str:
        if request.path.endswith("/compare"):
            asked = "".join(message.content for message in request.messages)
            a, b = (asked.split(f"# Action {side}\n")[1].split("\n")[0] for side in "AB")
            return verdict(a, b)
        return said(request)

    return script


def second(action: str) -> bool:
    return "candidate 2" in action


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize(
    ("verdict", "which"),
    [
        (lambda a, _: "A" if second(a) else "B", True),  # the second draft, wherever it stands
        (lambda a, _: "B" if second(a) else "A", False),
        (lambda _a, _b: "A", False),  # whatever stands first: no agreement, so that the first draft is taken
        (lambda _a, _b: "B", False),
        (lambda _a, _b: "I cannot say.", False),
    ],
)
async def test_of_two_candidates_the_one_goes_on_that_the_judge_takes_in_both_orders(
    verdict: Callable[[str, str], str],
    which: bool,  # noqa: FBT001 - a parameter of the test
    preset: Preset,
) -> None:
    config: dict[str, Any] = {"max_steps": 1, "words": "400", "candidates": 2}
    written = await write(two_drafts(verdict), preset, **config)
    critics = [request.messages[-1].content for request in written.asked if request.path.endswith("/criticise")]
    assert len(critics) == 2
    assert all(second(prompt.partition("# Proposed action of")[2]) == which for prompt in critics)
    assert len(paths(written.asked, "act")) == 4
    compared = [request for request in written.asked if request.path.endswith("/compare")]
    assert {request.path.split("/compared/")[1] for request in compared} >= {"1/compare", "2/compare"}
    assert len({request.messages[-1].content for request in compared if request.role == "judge"}) >= 4
    for criterion in ("grounded", "in character", "repetitive", "fits the scene"):
        assert all(criterion in request.messages[-1].content for request in compared if len(request.messages) < 4)


async def test_two_drafts_that_are_the_same_are_not_compared_and_one_draft_has_no_judge() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("/act"):
            return json.dumps({"action": f"{request.role} waits."})
        return said(request)

    asked = (await write(script, max_steps=1, words="400", candidates=2)).asked
    assert (len(paths(asked, "act")), paths(asked, "compare")) == (2 * 7, []), "six tries for another one"
    asked = (await write(said, max_steps=1, words="400")).asked
    assert (len(paths(asked, "act")), paths(asked, "compare")) == (2, [])
    with pytest.raises(UsageError, match="candidates = 3 cannot be compared in pairs"):
        await write(said, candidates=3)


async def test_an_estimate_counts_the_second_draft_and_both_verdicts() -> None:
    counts = []
    for candidates in (1, 2):
        context = RunContext(planned(), prompts("faithful"), Cast.of(ScriptedModel(said)), mode="dry")
        config = SYSTEM.config("faithful", {"max_steps": 1, "words": "400", "candidates": candidates})
        await SYSTEM.write(BRIEF, Run(context), config)
        counts.append(len(context.dry_run.planned))
    assert counts[1] - counts[0] == 2 * 3  # of each of two characters one draft and two verdicts more


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_temperatures_are_the_papers_or_what_is_asked_for_nought_included(preset: Preset) -> None:
    def drawn(asked: list[Request]) -> dict[str, set[float | None]]:
        found: dict[str, set[float | None]] = {}
        for request in asked:
            found.setdefault(request.path.rpartition("/")[2], set()).add(request.sampling.temperature)
        return found

    own = drawn((await write(said, preset, max_steps=16, words="3000")).asked)
    own.pop("extend", None)
    papers = {"act": {0.2}, "criticise": {0.1}, "set_goal": {0.1}}
    two = drawn((await write(two_drafts(lambda _a, _b: "A"), preset, max_steps=2, words="3000", candidates=2)).asked)
    assert two["act"] == {0.8}, "so that they differ (section 4.1 gives none)"
    assert own == papers | ({"narrate": {0.35}} if preset == "faithful" else {"choose": {None}, "tell": {None}})
    names = ("actor_temperature", "critic_temperature", "narrator_temperature", "goals_temperature")
    noughts: dict[str, Any] = dict.fromkeys(names, "0")
    nones: dict[str, Any] = dict.fromkeys(names, "none")
    zero = drawn((await write(said, preset, max_steps=15, words="3000", **noughts)).asked)
    assert set().union(*zero.values()) == {0.0}, "prose too"
    none = drawn((await write(said, preset, max_steps=2, words="3000", **nones)).asked)
    assert set().union(*none.values()) == {None}


async def test_a_narrator_that_chooses_nobody_is_asked_again_and_then_the_first_accepted_action_happens() -> None:
    def script(request: Request) -> str:
        return json.dumps({"order": [], "paragraph": "Nothing."}) if "narrate" in request.path else said(request)

    written = await write(script, max_steps=1, words="20000")
    story, asked = written.story, written.asked
    assert paths(asked, "narrate") == ["chapter-1/step/1/narrate"] * 3
    assert story.text == "Mara does what nobody did, at chapter-1 step 1 Mara act."


async def test_characters_without_a_usable_action_are_an_error_that_says_what_to_do() -> None:
    def script(request: Request) -> str:
        return "no" if request.path.endswith("act") else said(request)

    journal = planned()
    with pytest.raises(ReplyError, match=r"No character gave an action that can be read\. The same") as failed:
        await write(script, journal=journal)
    assert failed.value.at == "chapter-1/step/1/actions"
    journal.calls.give_up(failed.value.at)
    again = await write(said, journal=journal)
    assert again.story.scenes
    assert again.asked[0].path == "chapter-1/step/1/Mara/act"


async def test_where_actions_stop_later_the_same_command_goes_on_from_where_they_stopped() -> None:
    def script(request: Request) -> str:
        late = request.path.endswith("act") and int(request.path.split("/")[2]) >= 3
        return "no" if late else said(request)

    journal = planned()
    with pytest.raises(ReplyError) as failed:
        await write(script, words="20000", journal=journal)
    assert failed.value.at == "chapter-1/step/3/actions"
    journal.calls.give_up(failed.value.at)
    again = await write(said, words="20000", max_steps=6, journal=journal)
    assert {request.path.split("/")[2] for request in again.asked if "/step/" in request.path} == {"3", "4", "5", "6"}


async def test_an_edited_chapter_changes_what_follows_and_its_steps_still_change_the_world() -> None:
    config: dict[str, Any] = {"max_steps": 20, "words": "20000", "chapter_words": 60}
    journal = (await write(said, **config)).journal
    journal.decisions.add("chapter-1", "edit", "Nobody knew what had happened.")
    again = await write(said, journal=journal, **config)
    assert again.story.scenes[0].text == "Nobody knew what had happened."
    assert again.asked[0].path == "chapter-1/reread"
    assert again.asked[1:]
    assert all(request.path.startswith("chapter-2/") for request in again.asked[1:])
    first = next(request for request in again.asked if request.path.endswith("step/16/narrate"))
    assert "Nobody knew what had happened." in first.messages[-1].content
    assert "seen_by_mara = 15" in first.messages[-1].content


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_an_edited_middle_paragraph_of_an_early_chapter_reaches_what_follows(preset: Preset) -> None:
    def script(request: Request) -> str:
        if request.path.endswith("reread"):
            old, _, new = request.messages[-1].content.partition("# Now it says")
            assert "paragraph 2" not in old.partition("# It said")[2].split("\n")[1]
            green = "green" in new
            updates = [{"key": "lantern", "value": "green"}, {"key": "seen by Mara", "value": "9"}] * green
            return json.dumps({"world_updates": updates})
        return said(request)

    kind = {"faithful": "chapter", "improved": "scene"}[preset]
    config: dict[str, Any] = {"max_steps": 24, "words": "20000", "chapter_words": 60, "stall_steps": 8}
    first = await write(script, preset, **config)
    text = first.story.scenes[0].text
    parts = text.split("\n\n")
    parts[3] = "The lantern was green now."
    first.journal.decisions.add(f"{kind}-1", "edit", "\n\n".join(parts))
    again = await write(script, preset, journal=first.journal, **config)
    assert again.asked[0].path == f"{kind}-1/reread"
    later = [request for request in again.asked[1:] if request.path.endswith(("narrate", "choose", "criticise"))]
    assert {request.path.split("/")[0] for request in later} == {f"{kind}-2", f"{kind}-3"}
    assert all("lantern = green" in request.messages[-1].content for request in later)
    assert "seen_by_mara = 9" in later[0].messages[-1].content
    assert [f["value"] for f in json.loads(again.kept["world/world-1"])["facts"] if f["slot"] == "lantern"] == ["green"]
    first.journal.decisions.add(f"{kind}-1", "edit", text.replace("It was told", "It is told", 1) + " ")
    wording = await write(script, preset, journal=first.journal, **config)
    assert [request.path for request in wording.asked] in ([f"{kind}-1/reread"], []), "only the wording changed"


MEEK = "goal: The lamp burns.\npersonas:\n  - name: Mara\n  - {name: Tobias, description: A meek boy.}\n"
"""Changes what is asked of all, from the first step on."""


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize(
    ("artefact", "text"),
    [("personas", MEEK), ("1", "Nobody knew what had happened."), ("2", "Nobody knew.\n\n\nNobody.")],
)
async def test_a_dry_run_after_an_edit_names_the_calls_that_are_made(artefact: str, text: str, preset: Preset) -> None:
    def script(request: Request) -> str:  # as a model's, its prose depends on all it is shown
        mark = f"({sha256(request.messages[-1].content.encode()).hexdigest()[:6]})"
        reply = said(request)
        for name in ("action", "paragraph", "transition_paragraph", "what"):
            reply = reply.replace(f'"{name}": "', f'"{name}": "{mark} ')
        return reply if reply.startswith("{") else f"{mark} {reply}"

    config: dict[str, Any] = {"max_steps": 22, "words": "20000", "chapter_words": 60, "stall_steps": 5}
    journal = (await write(script, preset, **config)).journal
    kind = {"faithful": "chapter", "improved": "scene"}[preset]
    journal.decisions.add(artefact if artefact == "personas" else f"{kind}-{artefact}", "edit", text)
    dry = RunContext(journal, prompts(preset), Cast.of(ScriptedModel(script)), mode="dry")
    await SYSTEM.write(BRIEF, Run(dry), SYSTEM.config(preset, config))
    again = await write(script, preset, journal=journal, **config)
    assert again.asked
    assert sorted(call.path for call in dry.dry_run.planned) == sorted(request.path for request in again.asked)


@pytest.mark.parametrize(
    ("personas", "told"),
    [
        ("personas:\n  - role: hero\n", "plan/personas.yaml:2: persona 1 > name: is missing. Write it."),
        ("personas:\n  - name: A\n  - name: a\n", "Two personas are called 'a'. Rename one of them."),
        ("goal: x\n", "plan/personas.yaml:1: personas: is missing. Write it."),
    ],
)
async def test_personas_with_problems_are_named_with_their_lines(personas: str, told: str) -> None:
    with pytest.raises(PlanError, match=told.replace(".", r"\.").replace("(", r"\(")):
        await write(said, personas=personas)


async def test_a_person_can_only_be_cast_for_somebody_who_plays() -> None:
    model = ScriptedModel(said)
    cast = Cast(Assignment(model), {"marra": Assignment(model)}, known=SYSTEM.roles, open_role="character")
    with Journal() as journal:
        journal.decisions.add("personas", "edit", "personas:\n  - name: Mara\n")
        run = Run(RunContext(journal, prompts("faithful"), cast))
        with pytest.raises(UnknownNameError, match="Did you mean 'mara'"):
            await SYSTEM.write(BRIEF, run, SYSTEM.config("faithful", {"max_steps": 1}))
