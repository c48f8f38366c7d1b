"""MAGNET against its paper: one step, the world, the goals, and the story that comes of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest

from fabula.craft.personas import Company, Persona, key_of
from fabula.craft.planning import PROMPTS
from fabula.errors import PlanError, ReplyError, UnknownNameError
from fabula.events import Noted
from fabula.journal import Journal
from fabula.models.scripted import ScriptedModel
from fabula.prompts import Prompts
from fabula.roles import Cast, Part
from fabula.run import Hands, Run
from fabula.story import Brief, Story
from fabula.systems import find
from fabula.systems.magnet.algorithm import Config
from fabula.systems.magnet.goals import due
from fabula.systems.magnet.state import Update, World, updates_of
from fabula.systems.magnet.stepping import Play, choose, commit, propose

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.events import Event
    from fabula.methods import Preset
    from fabula.models.base import Request

SYSTEM = find("magnet")
BRIEF = Brief("Write a story about Mara and Tobias.")
MARA, TOBIAS = Persona("Mara", relationships=(("Tobias", "the boy"),)), Persona("Tobias")
COMPANY = Company("The lamp burns until morning.", (MARA, TOBIAS))


def said(request: Request) -> str:
    """A company that does its work: every action accepted, the first chosen, the goal never reached."""
    prompt = request.path.rpartition("/")[2]
    at = request.path.replace("/", " ")
    return {
        "act": json.dumps({"action": f"{request.role} does what nobody did, at {at}."}),
        "criticise": json.dumps({"revise": False, "goal_reached": False, "world_updates": [changed(request)]}),
        "narrate": json.dumps({"order": [1], "paragraph": f"It was told at {at}."}),
        "choose": json.dumps({"order": [1]}),
        "tell": " ".join(f"At {at}, for the {n}th time, somebody climbed {n} stairs." for n in range(3, 15)),
        "extend": f"Nobody knew whose hand had rung the bell at {at} on that night.",
        "set_goal": json.dumps(
            {
                "goal": " ".join(f"{word}{at.split()[2]}" for word in ("find", "mend", "ring")),
                "goal_domain": at,
                "transition_paragraph": f"Then came {at}.",
            }
        ),
    }[prompt]


def changed(request: Request) -> dict[str, str]:
    step = request.path.split("/step/")[-1].split("/")
    return {"key": f"seen by {step[1]}", "value": step[0]}


def play(config: Config | None = None, company: Company = COMPANY) -> Play:
    return Play(company, World.of(company), config or Config(), [company.goal], t=1)


def run_of(script: Callable[[Request], str], journal: Journal) -> tuple[Run, ScriptedModel]:
    model = ScriptedModel(script)
    return Run(Hands(journal, Prompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))).scope("step", 1), model


@dataclass
class Written:
    """A story, the calls it took, and what was noted."""

    journal: Journal
    story: Story = field(default_factory=Story)
    asked: list[Request] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    def hear(self, event: Event) -> None:
        if isinstance(event, Noted):
            self.noted.append(event.text)


async def write(
    script: Callable[[Request], str],
    preset: Preset = "faithful",
    personas: str = "goal: The lamp burns.\npersonas:\n  - name: Mara\n  - name: Tobias\n",
    journal: Journal | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Written:
    model, written = ScriptedModel(script), Written(journal or Journal())
    if journal is None:
        written.journal.open()
        written.journal.decide("personas", "edit", personas)
    prompts = Prompts(SYSTEM.prompts, common=PROMPTS)
    run = Run(Hands(written.journal, prompts, Cast.of(model), listeners=[written.hear]))
    written.story = await SYSTEM.write(BRIEF, run, SYSTEM.config(preset, config))
    written.asked = model.asked
    return written


def paths(asked: list[Request], prompt: str) -> list[str]:
    return [request.path for request in asked if request.path.endswith(f"/{prompt}")]


# 1: commits ---------------------------------------------------------------------------------------------------------


async def test_only_chosen_actions_change_the_world_in_the_order_of_telling() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("criticise"):
            who = "mara" if "/Mara/" in request.path else "tobias"
            updates = [{"key": "lamp", "value": who}, {"key": f"only_{who}", "value": "true"}]
            return json.dumps({"revise": False, "goal_reached": False, "world_updates": updates})
        return json.dumps({"order": [2, 1, 7, 2], "paragraph": "x"}) if "narrate" in request.path else said(request)

    with Journal() as journal:
        run, _ = run_of(script, journal)
        stage = play()
        stage.world.commit(0, "author", [Update("lamp", "dark")])
        proposals = await propose(stage, run)
        chosen = await choose(stage, proposals, run)
        assert [proposal.character for proposal in chosen.proposals] == ["Tobias", "Mara"]
        commit(stage, chosen, run)
        assert stage.world.flat == {"lamp": "mara", "only_tobias": True, "only_mara": True}
        one = play()
        commit(one, type(chosen)(chosen.proposals[:1]), run)
        assert one.world.flat == {"lamp": "tobias", "only_tobias": True}
        assert [(w.key, w.old, w.new, w.actor) for w in stage.world.writes][1:] == [
            ("lamp", "dark", "tobias", "Tobias"),
            ("only_tobias", None, True, "Tobias"),
            ("lamp", "tobias", "mara", "Mara"),
            ("only_mara", None, True, "Mara"),
        ]


def test_what_happens_after_the_goal_is_reached_is_not_told() -> None:
    world = World()
    assert world.commit(1, "Mara", [Update("turn", 4), Update("Bad Key", 1), Update("door_open", value=True)]) == [
        "Mara may not write 'turn'; dropped.",
        "Mara may not write 'Bad Key'; dropped.",
    ]
    assert world.flat == {"door_open": True}
    assert world.commit(2, "Mara", [Update("open_door", value=False)]) == [
        "'open_door' is much like 'door_open', which is there already."
    ]
    assert world.commit(3, "Mara", [Update("door_open", value=False), Update("door_open", value=True)]) == [
        "'door_open' is written twice in step 3; true stands."
    ]


def test_the_world_of_any_past_step_can_be_rebuilt() -> None:
    world, seen = World(), []
    for step in range(1, 6):
        world.commit(step, "Mara", [Update("n", step), Update(f"step_{step}", value=True)])
        seen.append(dict(world.flat))
    assert [world.at(step).flat for step in range(1, 6)] == seen
    assert world.at(0).flat == {}


def test_a_persona_begins_with_its_state_and_keys_are_made_clean() -> None:
    company = Company("g", (Persona("Old Mara", state=(("tired", True),)),), (("lamp_lit", False),))
    assert World.of(company).flat == {"lamp_lit": False, "old_mara_tired": True}
    assert (key_of("Lamp is LIT!"), key_of("9 lives"), key_of("…")) == ("lamp_is_lit", "v_9_lives", "")
    told = [
        {"key": "Mara's lamp", "value": "3"},
        {"key": "…", "value": "x"},
        {"key": "door", "value": "Tobias holds it"},
    ]
    updates = updates_of(told, COMPANY.personas)
    assert [(u.key, u.value, u.about) for u in updates] == [
        ("mara_s_lamp", 3, ("Mara",)),
        ("door", "Tobias holds it", ("Tobias",)),
    ]


def test_a_character_sees_what_concerns_it_first() -> None:
    world = World()
    world.commit(
        1, "x", [Update("weather", "storm"), Update("letter", "read", ("Tobias",)), Update("cup", 1, ("Mara",))]
    )
    world.commit(30, "x", [Update("lamp", "lit")])
    assert [v.key for v in world.of_character(MARA, "the lamp burns", 30, 3)] == ["cup", "lamp", "letter"]
    assert [v.key for v in world.latest("the lamp burns", 30, 1)] == ["lamp"]


# 2: revisions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refusals", "strict", "calls", "forced", "world"),
    [
        (0, False, 2, False, {"k": 1}),
        (2, False, 6, False, {"k": 1}),
        (3, False, 6, True, {}),
        (3, True, 6, True, {"k": 1}),
    ],
)
async def test_an_action_is_revised_until_the_critic_takes_it_or_the_bound_is_reached(
    refusals: int, calls: int, world: dict[str, int], *, strict: bool, forced: bool
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

    with Journal() as journal:
        run, model = run_of(script, journal)
        stage = play(Config(strict_paper=strict), Company("g", (MARA,)))
        proposals = await propose(stage, run)
        assert (len(model.asked), proposals[0].forced) == (calls, forced)
        chosen = await choose(stage, proposals, run)
        commit(stage, chosen, run)
        assert stage.world.flat == world
    later = [request for request in model.asked if "/again/" in request.path and request.path.endswith("act")]
    assert all("It was refused: Too vague." in request.messages[-1].content for request in later)


async def test_who_gives_nothing_to_read_is_absent_and_a_silent_critic_lets_pass() -> None:
    def script(request: Request) -> str:
        if "/Mara/" in request.path and "act" in request.path:
            return "I will not."
        return "No opinion." if "criticise" in request.path else said(request)

    with Journal() as journal:
        run, _ = run_of(script, journal)
        proposals = await propose(play(), run)
    assert [(p.character, p.updates, p.forced) for p in proposals] == [("Tobias", (), False)]


async def test_side_by_side_and_one_after_the_other_give_one_story() -> None:
    stories = [(await write(said, max_steps=4, parallel=parallel)).story for parallel in (True, False)]
    assert stories[0] == stories[1]


# 3: goals -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t", "k", "reached", "rule", "status"),
    [
        (1, 0, False, "text", None),
        (1, 0, True, "text", "complete"),
        (15, 13, False, "text", None),
        (15, 14, False, "text", "stalled"),
        (15, 14, True, "text", "complete"),
        (15, 14, False, "algorithm", None),
        (16, 15, False, "algorithm", "stalled"),
        (40, 9, False, "text", "domain_shift"),
        (40, 14, True, "text", "domain_shift"),
        (80, 0, True, "algorithm", "domain_shift"),
    ],
)
def test_when_a_goal_ends(t: int, k: int, rule: Any, status: str | None, *, reached: bool) -> None:  # noqa: ANN401 - a literal
    assert due(t, k, Config(stall_rule=rule), reached=reached) == status
    off = due(t, k, Config(stall_rule=rule, goal_shifts=False), reached=reached)
    assert off == ("complete" if reached else None)


@pytest.mark.parametrize(("rule", "steps"), [("text", [15, 30, 40, 55]), ("algorithm", [16, 32, 40, 56])])
async def test_goals_follow_one_another_as_the_paper_says(rule: str, steps: list[int]) -> None:
    asked = (await write(said, stall_rule=rule, max_steps=56, words="20000", chapter_words=0)).asked
    assert paths(asked, "set_goal") == [f"chapter-01/step/{step}/set_goal" for step in steps]
    shift = next(request for request in asked if request.path == "chapter-01/step/40/set_goal")
    assert "It is time for a turn" in shift.messages[-1].content


async def test_the_transition_stands_between_the_paragraphs_and_changes_nothing() -> None:
    written = await write(said, max_steps=16, words="20000")
    story, asked = written.story, written.asked
    parts = story.text.split("\n\n")
    assert parts[14:17] == [
        "It was told at chapter-01 step 15 narrate.",
        "Then came chapter-01 step 15 set_goal.",
        "It was told at chapter-01 step 16 narrate.",
    ]
    act = next(request for request in asked if request.path == "chapter-01/step/16/Mara/act")
    assert "find15 mend15 ring15" in act.messages[-1].content.rpartition("# Goal")[2]


async def test_a_goal_that_was_there_already_is_sent_back_once_and_then_the_old_one_stands() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("set_goal"):
            return json.dumps({"goal": "The lamp burns!", "transition_paragraph": "Then."})
        return said(request)

    written = await write(script, max_steps=20, words="20000")
    story, asked = written.story, written.asked
    assert paths(asked, "set_goal") == [
        f"chapter-01/step/{at}set_goal" for at in ("15/", "15/again/", "20/", "20/again/")
    ]
    assert "Then." not in story.text
    assert any("it repeats an earlier goal (The lamp burns.)" in note for note in written.noted)


# 4: the story -------------------------------------------------------------------------------------------------------


async def test_in_improved_mode_the_story_has_its_words_and_an_ending() -> None:
    written = await write(said, "improved", words="1500-1600", paragraph_words=100)
    story, asked = written.story, written.asked
    assert 1500 <= story.words <= 1600
    last = [request for request in asked if request.path.endswith("tell")][-1].messages[-1].content
    assert "This paragraph ends the story" in last
    goals = [request for request in asked if request.path.endswith("set_goal")]
    assert "The story comes to its end" in goals[-1].messages[-1].content


async def test_prompts_do_not_grow_with_the_story() -> None:
    asked = (await write(said, "improved", words="5000", paragraph_words=150, chapter_words=1500)).asked
    sizes = [len(request.messages[-1].content) for request in asked if request.path.endswith("criticise")]
    assert max(sizes[-10:]) < 1.2 * max(sizes[10:30])


async def test_chapters_end_with_a_goal() -> None:
    story = (await write(said, max_steps=40, words="20000", chapter_words=60)).story
    assert [scene.label for scene in story.scenes] == ["Chapter 1", "Chapter 2", "Chapter 3"]
    assert story.scenes[0].text.endswith("Then came chapter-01 step 15 set_goal.")


async def test_pages_have_400_words() -> None:
    story = (await write(said, "improved", pages=2, paragraph_words=100)).story
    assert 720 <= story.words <= 880


@pytest.mark.parametrize(
    ("switch", "prompt", "times"),
    [({"critic": False}, "criticise", 0), ({"goal_shifts": False}, "set_goal", 0), ({}, "criticise", 32)],
)
async def test_ablations_of_section_4_4(switch: dict[str, bool], prompt: str, times: int) -> None:
    asked = (await write(said, max_steps=16, words="20000", **cast("dict[str, Any]", switch))).asked
    assert len(paths(asked, prompt)) == times


async def test_without_world_updates_nothing_is_written() -> None:
    asked = (await write(said, max_steps=3, words="20000", world_updates=False)).asked
    assert all("Nothing is noted yet." in request.messages[-1].content for request in asked)


async def test_a_narrator_that_chooses_nobody_is_asked_again_and_then_the_first_accepted_action_happens() -> None:
    def script(request: Request) -> str:
        return json.dumps({"order": [], "paragraph": "Nothing."}) if "narrate" in request.path else said(request)

    written = await write(script, max_steps=1, words="20000")
    story, asked = written.story, written.asked
    assert paths(asked, "narrate") == ["chapter-01/step/1/narrate", "chapter-01/step/1/again/narrate"]
    assert story.text == "Mara does what nobody did, at chapter-01 step 1 Mara act."


async def test_a_company_without_a_usable_action_is_an_error_that_says_what_to_do() -> None:
    def script(request: Request) -> str:
        return "no" if request.path.endswith("act") else said(request)

    with pytest.raises(ReplyError, match=r"No character gave an action .* in 5 steps\. Give the characters"):
        await write(script)


async def test_an_edited_chapter_changes_what_follows_and_its_steps_still_change_the_world() -> None:
    config: dict[str, Any] = {"max_steps": 20, "words": "20000", "chapter_words": 60}
    journal = (await write(said, **config)).journal
    journal.decide("chapter-01", "edit", "Nobody knew what had happened.")
    again = await write(said, journal=journal, **config)
    assert again.story.scenes[0].text == "Nobody knew what had happened."
    assert again.asked
    assert all(request.path.startswith("chapter-02/") for request in again.asked)
    first = next(request for request in again.asked if request.path.endswith("step/16/Mara/criticise"))
    assert "Nobody knew what had happened." in first.messages[-1].content
    assert "seen_by_mara = 15" in first.messages[-1].content


@pytest.mark.parametrize(
    ("personas", "told"),
    [
        ("personas:\n  - role: hero\n", "plan/personas.yaml:2: personas > 1 > name: is missing. Write it."),
        ("personas:\n  - name: A\n  - name: a\n", "Two personas are called 'a'. Rename one of them."),
        ("goal: x\n", "plan/personas.yaml:1: personas: is missing. Write it."),
    ],
)
async def test_personas_with_problems_are_named_with_their_lines(personas: str, told: str) -> None:
    with pytest.raises(PlanError, match=told.replace(".", r"\.").replace("(", r"\(")):
        await write(said, personas=personas)


async def test_a_person_can_only_be_cast_for_somebody_who_plays() -> None:
    model = ScriptedModel(said)
    company = Cast(Part(model), {"marra": Part(model)}, known=SYSTEM.roles, open_role="character")
    with Journal() as journal:
        journal.decide("personas", "edit", "personas:\n  - name: Mara\n")
        run = Run(Hands(journal, Prompts(SYSTEM.prompts, common=PROMPTS), company))
        with pytest.raises(UnknownNameError, match="Did you mean 'mara'"):
            await SYSTEM.write(BRIEF, run, SYSTEM.config("faithful", {"max_steps": 1}))
