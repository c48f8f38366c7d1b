"""Agents' Room against its paper: order of agents, instructions of appendix B, orchestrators, steps and variants."""

from __future__ import annotations

import re
import tomllib
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import BudgetError, ConfigError, ReplyError, UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.scratchpad import Scratchpad
from fabula.systems import find
from fabula.systems.agents_room.algorithm import FINALIZER, PLANNING, WRITING, agents_of
from fabula.systems.agents_room.back_translation import GUIDES, RESPONSE

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset
    from fabula.models.base import Request
    from fabula.models.scripted import Script
    from fabula.story import Story

SYSTEM = find("agents-room")
BRIEF = Brief("Write about Mara, who keeps a lighthouse.", "The Lamp")
ORDER = [
    *("conflict", "character", "setting", "plot"),
    *("exposition", "rising_action", "climax", "falling_action", "resolution"),
]
PLANS = ["Central Conflict", "Character Descriptions", "Setting", "Key Plot Points"]
PARTS = ["Exposition", "Rising Action", "Climax", "Falling Action", "Resolution"]
PATHS = ("exposition", "rising-action", "climax", "falling-action", "resolution")
both_presets = pytest.mark.parametrize("preset", ["faithful", "improved"])


def said(request: Request) -> str:
    """A short text that names who says it, so that it can be found again."""
    return f"Here the {request.role.replace('_', ' ')} agent tells what it knows of Mara and her lamp."


async def room(
    script: Script = said,
    *,
    cast: Cast | None = None,
    brief: Brief = BRIEF,
    preset: Preset = "faithful",
    aids: Aids = "auto",
    plan: str = "",
    personas: str = "",
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Story, list[Request]]:
    """The story of a room, and what was asked for it; in improved mode without the reading at the end."""
    model = ScriptedModel(script, capabilities=Capabilities(schema=True, choices=True))
    config = {"final_reading": False, **config} if preset == "improved" else config
    with Journal() as journal:
        for path, text in (("plan", plan), ("personas", personas)):
            if text:
                journal.decisions.add(path, "edit", text)
        prompts = SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)
        context = RunContext(journal, prompts, cast or Cast.of(model), aids=aids)
        story = await SYSTEM.write(brief, Run(context), SYSTEM.config(preset, config))
    return story, model.asked


def prompt(request: Request) -> str:
    """All that the model reads, on one line."""
    return " ".join(" ".join(message.content for message in request.messages).split())


def by_role(asked: list[Request]) -> dict[str, str]:
    return {request.role: prompt(request) for request in asked}


# order and variants (sections 4.1 and 5) ------------------------------------------------------------------------------


async def test_planning_agents_speak_first_and_then_the_writers_in_the_papers_order() -> None:
    story, asked = await room()
    assert [request.role for request in asked] == ORDER
    assert [scene.label for scene in story.scenes] == PARTS
    assert story.title == "The Lamp"
    assert story.scenes[2].text == "Here the climax agent tells what it knows of Mara and her lamp."


@pytest.mark.parametrize(
    ("variant", "roles", "labels"),
    [("plan", [*ORDER[:4], "finalizer"], ["Story"]), ("write", ORDER[4:], PARTS), ("plan+write", ORDER, PARTS)],
)
async def test_variants_have_the_agents_of_the_paper(variant: str, roles: list[str], labels: list[str]) -> None:
    story, asked = await room(variant=variant)
    assert [request.role for request in asked] == roles
    assert [scene.label for scene in story.scenes] == labels


@pytest.mark.parametrize("note", ["", " \n", "***", "```\n```"])
@both_presets
@pytest.mark.parametrize("agent", ["conflict", "character", "setting", "plot"])
async def test_an_empty_note_is_no_plan(agent: str, preset: Preset, note: str) -> None:
    def script(request: Request) -> str:
        return note if request.role == agent else said(request)

    with pytest.raises(ReplyError, match=rf"The role '{agent}' gave no (?:note|text).*The same command asks again"):
        await room(script, preset=preset)


def test_an_unknown_variant_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown variant of agents-room 'plans'. Did you mean 'plan'\?"):
        agents_of("plans")


def test_every_role_of_the_paper_can_be_cast() -> None:
    agents = (*PLANNING, *WRITING, FINALIZER)
    assert {agent.role for agent in agents} | {"orchestrator"} == set(SYSTEM.roles)
    assert {agent.folder for agent in PLANNING} == {"plan"}
    assert {agent.folder for agent in (*WRITING, FINALIZER)} == {"story"}


async def test_each_agent_is_asked_for_at_most_the_papers_tokens() -> None:
    _, asked = await room()
    assert {request.sampling.max_tokens for request in asked} == {4096}
    _, asked = await room(max_tokens=200)
    assert {request.sampling.max_tokens for request in asked} == {200}


@both_presets
async def test_an_authors_personas_are_the_notes_on_conflict_people_and_place(preset: Preset) -> None:
    people = """
goal: Mara keeps the lamp burning until the last boat is home.
setting: A bare cape.
world: {lamp_lit: true}
personas:
  - {name: Mara, role: protagonist, description: Keeper of the lighthouse, goals: [to see the boats home]}
"""
    assert SYSTEM.takes_personas
    _, asked = await room(preset=preset, personas=people)
    assert asked[0].role == "plot"
    plot = by_role(asked)["plot"]
    assert "[Central Conflict] Mara keeps the lamp burning until the last boat is home." in plot
    assert "Keeper of the lighthouse" in plot
    assert "A bare cape. When it begins, this is so: lamp_lit: true." in plot


# T steps (Algorithm 1) ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "calls"), [(0, 0), (1, 1), (6, 6), (9, 9), (10, 9)])
async def test_at_most_t_agents_are_called(steps: int, calls: int) -> None:
    story, asked = await room(max_steps=steps)
    assert [request.role for request in asked] == ORDER[:calls]
    assert len(story.scenes) == max(calls - 4, 0)


# the scratchpad and its identifiers (appendix B.1 to B.3) -------------------------------------------------------------


async def test_every_agent_reads_the_task_and_all_that_was_said_before() -> None:
    _, asked = await room()
    labels = ["Creative Writing Task", *PLANS, *PARTS]
    for place, request in enumerate(asked):
        text = prompt(request)
        found = re.findall(r"\[([A-Z][A-Za-z ]+)\] ", text)
        assert found == labels[: place + 1]
        assert f"[Creative Writing Task] {BRIEF.text}" in text
        for role, label in zip(ORDER[:place], labels[1:], strict=False):
            assert f"[{label}] Here the {role.replace('_', ' ')} agent tells" in text


PLANNING_IDENTIFIERS = {
    "conflict": "Given a Creative Writing Task, ",
    "character": "Given a Creative Writing Task and the Central Conflict, ",
    "setting": "Given a Creative Writing Task, the Central Conflict, and the Character Descriptions, ",
    "plot": "Given a Creative Writing Task, the Central Conflict, the Character Descriptions, and the Setting, ",
}
PLAN = "the Content Plan (Central Conflict, Character Descriptions, Setting, Key Plot Points)"


async def test_planning_agents_are_given_identifiers_as_a_list() -> None:
    _, asked = await room()
    prompts = by_role(asked)
    for role, given in PLANNING_IDENTIFIERS.items():
        assert given in prompts[role]


async def test_writing_agents_are_given_identifiers_in_groups() -> None:
    prompts = by_role((await room())[1])
    assert (
        f"Given a Creative Writing Task and {PLAN}, continue the story by writing the Exposition part"
        in (prompts["exposition"])
    )
    before = "the Previous Parts of the Story (Exposition, Rising Action, Climax)"
    assert (
        f"Given a Creative Writing Task, {PLAN}, and {before}, continue the story by writing the Falling Action"
        in (prompts["falling_action"])
    )


async def test_writers_without_a_plan_are_given_no_plan() -> None:
    prompts = by_role((await room(variant="write"))[1])
    assert "Given a Creative Writing Task, continue the story" in prompts["exposition"]
    assert (
        "Given a Creative Writing Task and the Previous Parts of the Story (Exposition), " in prompts["rising_action"]
    )
    assert all("Content Plan" not in text for text in prompts.values())


# the instructions (appendix B.2 and B.3) ------------------------------------------------------------------------------

INSTRUCTIONS = {
    "conflict": [
        r"central conflict .*in detail",
        "more than five sentences",
        "protagonist want",
        "[Ww]hy",
        "in their way",
    ],
    "character": [
        "each of the characters",
        *("more than five sentences", "detailed bullet points"),
        *("sound", "talk much or little", "slang", "humour"),
        *("look", "gestures", "notice first"),
        *("drives them", "inside", "flaws", "values", "fears", "grow and change"),
    ],
    "setting": [
        *("setting in detail", "more than five sentences"),
        *("Where", "invented world", "back garden"),
        *("When", "decade", "How much time"),
    ],
    "plot": ["key plot points", "detailed bullet points"],
}
FLOW = ["flows naturally out of the ending before", "style", "vocabulary", "overall mood", "not to be explained again"]
NOT_LAST = [
    r"Write the {part} part of the story and no other",
    "after it unwritten",
    "do not bring the story to an end",
]


@pytest.mark.parametrize("role", INSTRUCTIONS)
async def test_planning_prompts_carry_every_instruction_of_the_appendix(role: str) -> None:
    text = by_role((await room())[1])[role]
    for instruction in INSTRUCTIONS[role]:
        assert re.search(instruction, text), f"{role}: {instruction!r} is missing"


@pytest.mark.parametrize("variant", ["write", "plan+write"])
async def test_writers_are_told_to_flow_from_earlier_parts_and_not_to_end_too_soon(variant: str) -> None:
    prompts = by_role((await room(variant=variant))[1])
    for role, part in zip(ORDER[4:], PARTS, strict=True):
        text = prompts[role]
        assert f"writing the {part} part" in text
        for instruction in FLOW:
            assert bool(re.search(instruction, text)) == (role != "exposition"), f"{role}: {instruction!r}"
        for instruction in NOT_LAST:
            there = bool(re.search(instruction.format(part=part), text))
            assert there == (role != "resolution"), f"{role}: {instruction!r}"


def test_the_splitter_is_given_every_instruction_of_appendix_c_and_none_of_ours() -> None:
    fields = {"sections": list(GUIDES.items()), "scratchpad": Scratchpad().add(RESPONSE, "Mara slept.", "task")}
    (message,) = SystemPrompts(SYSTEM.prompt_folders("faithful"), common=PROMPTS).render("split", fields)
    for section, instructions in {
        "Exposition": ["need to step into the world of the story", "at its beginning"],
        "Rising Action": ["lead", "choices of the main characters", "against their goals", "builds", "begins to care"],
        "Climax": ["main turning point", "building up"],
        "Falling Action": [
            "follows the climax",
            "leads to the resolution",
            "clear up",
            "ease the tension",
            "loose ends",
        ],
        "Resolution": ["end of the story", "still open in the plot", "next step in the characters' lives"],
    }.items():
        line = next(line for line in message.content.splitlines() if line.startswith(f"* [{section}]: "))
        assert [said for said in instructions if said not in line] == []
    asked = "the first sentence of that section, copied exactly from the story.\n\n[User-Written Response] Mara slept."
    assert message.content.endswith(asked)


async def test_the_finalizer_is_told_to_write_from_what_it_reads() -> None:
    text = by_role((await room(variant="plan"))[1])["finalizer"]
    assert f"Given a Creative Writing Task and {PLAN}, write a story that uses the information below." in text


async def test_in_the_papers_order_the_instruction_stands_first_and_nothing_is_added() -> None:
    _, asked = await room()
    for request in asked:
        (message,) = request.messages
        assert message.role == "user"
        assert message.content.startswith("Given a Creative Writing Task")
        assert message.content.index("[Creative Writing Task]") > message.content.index("Given a")
        assert " words, " not in message.content


async def test_faithful_prompts_are_what_they_were() -> None:
    digest = sha256()
    for variant in ("plan", "write", "plan+write"):
        for request in (await room(variant=variant))[1]:
            digest.update("\n".join(message.content for message in request.messages).encode())
    assert digest.hexdigest() == "c146fdee64b216e628594f2aa6c9f49e58091707c9e7f0932dd55a1193af60e3"


# orchestrators (section 3) --------------------------------------------------------------------------------------------


def choosing(*choices: str) -> Script:
    left = list(choices)
    return lambda request: left.pop(0) if request.role == "orchestrator" else said(request)


async def test_a_model_as_orchestrator_chooses_the_order_and_the_end() -> None:
    story, asked = await room(choosing("Setting", "Climax", "Finish"), orchestrator="llm")
    assert [request.role for request in asked if request.role != "orchestrator"] == ["setting", "climax"]
    assert [scene.label for scene in story.scenes] == ["Climax"]
    offered = [request.choices for request in asked if request.role == "orchestrator"]
    assert offered[0] == (*PLANS, *PARTS)  # no end before a part of the story stands
    assert offered[2] == tuple(x for x in (*PLANS, *PARTS, "Finish") if x not in {"Setting", "Climax"})


async def test_the_last_agent_left_needs_no_choice_before_a_story_stands() -> None:
    story, asked = await room(choosing(*PLANS), orchestrator="llm", variant="plan")
    assert [request.role for request in asked].count("orchestrator") == 4
    assert [scene.label for scene in story.scenes] == ["Story"]


async def test_a_room_in_which_all_have_spoken_is_done() -> None:
    _, asked = await room(choosing(*PARTS), orchestrator="llm", variant="write")
    assert [request.role for request in asked].count("orchestrator") == 5


async def test_an_orchestrator_that_names_nobody_is_an_error() -> None:
    with pytest.raises(ReplyError, match=r"role 'orchestrator' at orchestrator/1/orchestrator could not be read after"):
        await room(choosing("Nobody", "Somebody", "Anybody"), orchestrator="llm")


END_NOT = "do not bring the story to an end"


@both_presets
@pytest.mark.parametrize("order", [PARTS[1:], ["Climax", "Exposition", "Resolution"], ["Resolution", "Exposition"]])
async def test_the_resolution_ends_the_story_also_where_parts_before_it_are_never_called(
    order: list[str], preset: Preset
) -> None:
    _, asked = await room(choosing(*order, "Finish"), orchestrator="llm", variant="write", preset=preset)
    told = {request.role: END_NOT in prompt(request) for request in asked if request.role != "orchestrator"}
    assert told == {part.lower().replace(" ", "_"): part != "Resolution" for part in order}


OWN = """
def backwards(scratchpad, agents):
    left = [agent.label for agent in agents if not scratchpad.has(agent.label)]
    return left[-1] if left else None

async def later(scratchpad, agents):
    return None if scratchpad.has("Plot Twist") or len(scratchpad.entries) > 2 else "Setting"

def twice(scratchpad, agents):
    order = ["Setting", "Rising Action", "Setting", "Rising Action"]
    done = len(scratchpad.entries) - 1
    return order[done] if done < len(order) else None

def lost(scratchpad, agents):
    return "Settings"
"""


@pytest.fixture
def own(tmp_path: Path) -> str:
    file = tmp_path / "own.py"
    file.write_text(OWN, encoding="utf-8")
    return str(file)


async def test_a_users_function_chooses_the_order(own: str) -> None:
    story, asked = await room(orchestrator=f"{own}:backwards", variant="write")
    assert [request.role for request in asked] == ORDER[:3:-1]
    assert [scene.label for scene in story.scenes] == PARTS[::-1]


async def test_a_users_function_may_be_async_and_call_an_agent_twice(own: str) -> None:
    story, asked = await room(orchestrator=f"{own}:later")
    assert [request.role for request in asked] == ["setting", "setting"]
    assert prompt(asked[1]).count("[Setting]") == 1
    assert story.scenes == ()


@both_presets
async def test_no_text_of_an_agent_that_is_called_twice_is_lost(own: str, preset: Preset) -> None:
    count = 0

    def counting(request: Request) -> str:
        nonlocal count
        count += 1
        return f"{said(request)} This is text number {count}."

    model = ScriptedModel(counting)
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS), Cast.of(model))
        config = SYSTEM.config(preset, {"orchestrator": f"{own}:twice"})
        story = await SYSTEM.write(BRIEF, Run(context), config)
        names = ["setting", "rising-action", "setting-2", "rising-action-2"]
        assert [(journal.artefacts.newest(name) or "")[-9:] for name in names] == [
            "number 1.",
            "number 2.",
            "number 3.",
            "number 4.",
        ]
        assert [scene.label for scene in story.scenes] == ["Rising Action", "Rising Action 2"]
        assert [scene.text[-9:] for scene in story.scenes] == ["number 2.", "number 4."]
        assert "[Rising Action] Here" in prompt(model.asked[-1 if preset == "faithful" else 3])
        journal.decisions.add("rising-action", "edit", "She climbs the stairs and says nothing to anybody.")
        story = await SYSTEM.write(BRIEF, Run(context), config)
        assert story.scenes[0].text == "She climbs the stairs and says nothing to anybody."
        assert story.scenes[1].text.startswith("Here the rising action agent")


async def test_an_agent_that_a_users_function_makes_up_is_named(own: str) -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown agent that .*own.py:lost named 'Settings'. Did you mean 'Setti"
    ):
        await room(orchestrator=f"{own}:lost")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("llmm", r"Unknown orchestrator 'llmm'. Did you mean 'llm'\?"),
        (
            "missing.py:next",
            r"'missing.py:next' does not name a Python function\. There is no Python file missing\.py\. Write it as",
        ),
    ],
)
async def test_an_orchestrator_that_is_none_is_named(spec: str, told: str) -> None:
    with pytest.raises((UnknownNameError, ConfigError), match=told):
        await room(orchestrator=spec)


# performers, and an author's plan -------------------------------------------------------------------------------------


async def test_agents_may_be_played_by_different_performers() -> None:
    model, other = ScriptedModel(said), ScriptedModel(said, name="fine-tuned")
    program = Program("mine.py:f", lambda request: f"A program plays {request.role}.")
    cast = Cast(Assignment(model), {"plot": Assignment(program), "climax": Assignment(other, adapter="climax-lora")})
    story, _ = await room(cast=cast)
    assert [request.role for request in model.asked] == [role for role in ORDER if role not in {"plot", "climax"}]
    assert [(request.role, request.adapter) for request in other.asked] == [("climax", "climax-lora")]
    assert "[Key Plot Points] A program plays plot." in prompt(other.asked[0])
    assert len(story.scenes) == 5


async def test_a_budget_stops_between_agents() -> None:
    model = ScriptedModel(said)
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts), Cast.of(model), budget=Budget(tokens=1_000))
        with pytest.raises(BudgetError, match="Stopped before the budget"):
            await SYSTEM.write(BRIEF, Run(context), SYSTEM.config("faithful"))
        assert len(journal.calls) == len(model.asked) > 1


async def test_an_authors_plan_stands_in_for_the_planning_agents() -> None:
    script = tomllib.loads((SYSTEM.folder / "script.toml").read_text(encoding="utf-8"))
    _, asked = await room(script["replies"], plan=script["plan"])
    assert [request.role for request in asked] == ["setting", *ORDER[4:]]  # the plan says nothing of the setting
    shown = asked[1].messages[-1].content
    assert "The lamp is to go dark while a boat is still out." in shown
    assert "- Mara (70) - Wants: To see the boats home." in shown
    assert "- Exposition: The letter (The lamp room; there: Mara). A letter comes. Mara says nothing." in shown


GIVEN = """
conflict: He steered, and everybody thanks his father.
tense: past tense
demands: [Marta never learns it.]
payoffs: [The broken spoke of the quay is the one that breaks in the storm.]
characters: [{name: Marta}, {name: Henrik}]
scenes:
  - {name: The quay, element: exposition, place: Sund, date: 3 November 1968, outline: [Ruben threatens to tell.]}
  - name: The strait
    element: rising action
    date: six years before
    characters: [Marta, Henrik]
    outline: [{event: Henrik lets go., characters: [Henrik]}]
  - {name: The mole, element: rising action, outline: [Aksel counts the seas.]}
  - {name: The gangway, element: resolution, outline: [Marta touches the wheel.]}
"""


async def test_in_improved_mode_a_part_for_which_an_author_has_no_scene_is_not_written() -> None:
    story, asked = await room(plan=GIVEN, preset="improved")
    assert [scene.label for scene in story.scenes] == ["Exposition", "Rising Action", "Resolution"]
    shown = asked[-1].messages[-1].content
    for line in (
        "- Told: past tense\n- The task demands: Marta never learns it.\n- What is set up, and where it pays off: The",
        "- Rising Action: The strait (six years before; there: Marta, Henrik). Henrik lets go. (Marta: not there,",
        "- Resolution: The gangway. Marta touches the wheel.",
    ):
        assert line in shown
    assert len((await room(plan=GIVEN))[0].scenes) == 5


# improved mode --------------------------------------------------------------------------------------------------------

FERRY = Brief("About 900 words. It begins in 1968, goes back to 1962, and ends in 1968.")


async def test_in_our_order_each_prompt_begins_with_the_one_before_as_far_as_it_can_be_reused() -> None:
    _, asked = await room(preset="improved")
    assert len({request.messages[0] for request in asked}) == 1
    for request, later in pairwise(asked):
        scratchpad = request.messages[1].content.rpartition("]")[0]
        assert scratchpad.startswith("[Creative Writing Task")
        assert later.messages[1].content.startswith(scratchpad)


async def test_improved_prompts_name_the_length_and_the_place_of_each_part() -> None:
    _, asked = await room(brief=FERRY, preset="improved")
    shown = {request.path: request.messages[-1].content for request in asked}
    assert "Write 100 to 200 words, as much as the others need" in shown["conflict/conflict"]
    assert "Write 150 to 300 words, " in shown["characters/character"]
    assert "Write 250 to 500 words, " in shown["plot/plot"]
    assert "2. Rising Action, about 225 words: makes it harder" in shown["plot/plot"]
    assert "need not be the order in which things happen" in shown["plot/plot"]
    assert "It opens the story: nothing has been told yet." in shown["exposition/section"]
    assert "flows naturally out of the ending before" not in shown["exposition/section"]
    assert "Write the Climax, part 3 in the order in which the story is told." in shown["climax/section"]
    assert "The reader has read what stands above of Exposition, Rising Action, and nothing" in shown["climax/section"]
    assert "It ends the story: nothing comes after it." in shown["resolution/section"]
    assert all("What stands only in the plan, the reader does not know" in shown[f"{name}/section"] for name in PATHS)
    for text in shown.values():
        assert not re.search("slang|back garden|invented world|the protagonist|continue the story|past tense", text)


async def test_the_finalizer_is_given_the_whole_length_and_no_parts() -> None:
    _, asked = await room(brief=FERRY, preset="improved", variant="plan")
    shown = {request.path: request.messages[-1].content for request in asked}
    assert "Exposition" not in shown["plot/plot"]
    assert "Write about 900 words, between 810 and 990, in the person" in shown["story/finalizer"]


async def test_without_a_number_of_words_no_length_is_asked_for() -> None:
    _, asked = await room(preset="improved")
    assert not [request.path for request in asked if re.search(r"Write [\w ]*\d|will have", prompt(request))]


@pytest.mark.parametrize("words", ["", "200"])
async def test_a_number_of_words_is_shared_out(words: str) -> None:
    brief = Brief("Write about 100 words about Mara.")
    _, asked = await room(brief=brief, preset="improved", variant="write", words=words)
    first = next(prompt(request) for request in asked if request.path == "exposition/section")
    low, high = map(int, re.findall(r"Write about \d+ words, between (\d+) and (\d+)", first)[0])
    assert low < 0.2 * (200 if words else 100) < high
    assert high - low < 0.3 * high


async def test_the_author_says_how_long_each_part_is() -> None:
    _, asked = await room(brief=Brief("1000 words."), preset="improved", variant="write", shares="10,30,30,20,10")
    assert "Write about 100 words, " in prompt(asked[0])
    with pytest.raises(UsageError, match="shares is one number above 0 for each of the 5 parts"):
        await room(brief=FERRY, preset="improved", shares="1,2")


async def asked_of_parts(words: int) -> list[int]:
    """How many words each part of a story of 1,000 is asked for, where each of its writers gives `words`."""
    reply = " ".join(f"word{n}" for n in range(words))
    shares = "20,20,20,20,20"
    _, asked = await room(
        lambda _: reply, brief=Brief("1000 words."), preset="improved", variant="write", shares=shares
    )
    firsts = [
        prompt(request) for request in asked if request.path.endswith("/section") and request.path.count("/") == 1
    ]
    return [int(re.findall(r"Write about (\d+) words", text)[-1]) for text in firsts]


async def test_an_ending_is_not_squeezed_because_the_parts_before_it_ran_a_little_over() -> None:
    assert await asked_of_parts(216) == [200] * 5


async def test_what_the_first_parts_have_too_much_is_shared_by_all_that_come_after() -> None:
    # 5 % beyond a band pass in silence; the ending never pays alone: 85 % of its words at least
    assert await asked_of_parts(241) == [200, 200, 200, 170, 170]


async def test_who_shortens_a_part_sees_the_task() -> None:
    over = " ".join(f"word{n}" for n in range(300))
    _, asked = await room(lambda _: over, brief=FERRY, preset="improved", variant="write")
    text = next(prompt(request) for request in asked if request.path == "climax/shorten/1/shorten")
    assert "was asked for like this: About 900 words. It begins in 1968" in text


async def test_a_planners_chatter_is_taken_out_and_a_note_of_nothing_else_is_drawn_again_and_stays() -> None:
    said_by = {"conflict": "Sure, here is the central conflict:\n\nMara wants the lamp lit.", "character": "Sure!"}
    story, asked = await room(
        lambda request: said_by.get(request.role) or said(request), preset="improved", max_steps=3
    )
    assert [request.role for request in asked[:-1]] == ["conflict", "character", "character", "character"]
    read = prompt(asked[-1])
    assert "[Central Conflict] Mara wants the lamp lit." in read
    assert "[Character Descriptions] Sure!" in read
    assert story.scenes == ()


TALE = (
    "You climb the stairs. You do not count them.\n\nIs it late?\n\nIt is late.\n\nYou climb the stairs. You do not "
    "count them.\n\nDear Tobias,\n\nthe story began with a lamp, and {0} was\n\nMara\n\n- oil\n- bread\n\nThe End\n\n*"
)


async def test_of_a_capable_models_replies_nothing_but_chatter_is_lost() -> None:
    def writer(request: Request) -> str:
        return f"Sure! Here is the {request.role} section of the story:\n\n{TALE.format(request.role)}"

    brief = Brief("Write 225 words about Mara.")
    story, asked = await room(writer, preset="improved", brief=brief)
    assert [scene.text for scene in story.scenes] == [TALE.format(role) for role in ORDER[4:]]
    read = asked[-1].messages[-1].content
    assert all(f"[{label}] {TALE.format(role)}" in read for role, label in zip(ORDER[:4], PLANS, strict=True))


@pytest.mark.parametrize(("aids", "most"), [("on", 160), ("off", None)])
async def test_a_small_model_has_short_notes_and_no_reading_at_the_end(aids: Aids, most: int | None) -> None:
    _, asked = await room(preset="improved", aids=aids, final_reading=True)
    assert [request.sampling.max_tokens for request in asked[:4]] == [most] * 4
    assert any(request.path.endswith("final_reading") for request in asked) == (aids == "off")


async def test_what_a_small_model_copies_from_an_earlier_part_is_taken_out() -> None:
    first = "Mara carries the heavy can of oil up all the stairs of the tower."

    def copies(request: Request) -> str:
        own = f"{' '.join(f'{request.role.title()}{n}' for n in range(9))} sleeps."
        return f"{own} {first}" if request.role in {"exposition", "resolution"} else own

    story, _ = await room(copies, preset="improved", aids="on")
    assert story.manuscript().count(first) == 1


@pytest.mark.parametrize("variant", ["plan+write", "plan"])
async def test_the_finalizer_reads_the_whole_once_and_its_small_edits_are_made(variant: str) -> None:
    edit = '{"edits": [{"paragraph": 1, "old": "tells what it knows", "new": "tells all it knows", "why": "Plain."}]}'

    def script(request: Request) -> str:
        return edit if request.path.endswith("final_reading") else said(request)

    story, asked = await room(script, preset="improved", variant=variant, final_reading=True)
    (reading,) = [prompt(request) for request in asked if request.path.endswith("final_reading")]
    assert BRIEF.text in reading
    assert "What its writers had planned" in reading
    assert "agent tells all it knows of Mara" in story.scenes[0].text
    assert all("agent tells what it knows of Mara" in scene.text for scene in story.scenes[1:])


async def test_who_is_called_twice_writes_no_chapter_twice(own: str) -> None:
    chapters = ", ".join(
        f'{{"title": "", "words": 40, "happens": "Mara acts.", "ends_with": "", "part": "{part}"}}' for part in PARTS
    )

    def script(request: Request) -> str:
        return f'{{"chapters": [{chapters}]}}' if request.path.endswith("outline") else said(request)

    brief = Brief("Write a story in five chapters about Mara.")
    story, asked = await room(script, brief=brief, preset="improved", orchestrator=f"{own}:twice")
    assert [request.role for request in asked if request.path.endswith("/chapter")] == ["rising_action"]
    assert [scene.label for scene in story.scenes] == ["Chapter 2"]
