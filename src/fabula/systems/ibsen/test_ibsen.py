"""IBSEN against its description: stage, director, actors, memories, players, and the story they give."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.base.errors import ModelError, PlanError, ReplyError, UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.engine.events import Noted
from fabula.engine.journal import CallFilter, Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, Person
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.systems import find
from fabula.systems.ibsen.actor import Play
from fabula.systems.ibsen.algorithm import Stage
from fabula.systems.ibsen.improved import KnowingPlay, KnowingStage, script_for_length
from fabula.systems.ibsen.log import PlayLine, transcript, turns_of
from fabula.systems.ibsen.script import NARRATION, Script, parse_script, script_of, write_script
from shortening import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.context import Aids
    from fabula.engine.events import Event as RunEvent
    from fabula.engine.methods import Preset
    from fabula.models.base import Message, OnText, Reply, Request

SYSTEM = find("ibsen")
BRIEF = Brief("Write a story about Mara and Tobias.")
ONE = """
actors:
  - name: Mara
    description: Keeper of the light.
    relations: {Tobias: the boy who brings her bread}
  - name: Tobias
acts:
  - title: The letter
    background: Dusk.
    actors: [Mara, Tobias]
    goals: [Tobias brings a letter.]
"""
TWO = ONE + "  - title: The light\n    actors: [Mara, Tobias]\n    goals: [Mara lights the lamp.]\n"
SIDE = """
actors: [{name: Mara}, {name: Tobias}, {name: Father}]
players: [{name: A stranger, place: The room}]
acts:
  - title: The room
    actors: [Mara]
    goals: [Mara waits.]
    player_out: The door falls shut.
    next_act: The end
  - title: The quay
    meanwhile: yes
    actors: [Tobias, Father]
    goals: [They look for the boat.]
    player_in: Somebody comes along the quay.
  - title: The stairs
    meanwhile: yes
  - title: The hall
  - title: The end
    meanwhile: yes
    actors: [Mara, Tobias]
    goals: [They meet again.]
"""


def sentence(seed: str) -> str:
    """A sentence that no other is like: words of syllables, drawn by a seed."""
    drawn = random.Random(seed)  # noqa: S311 - a test's own draw
    words = [
        "".join(drawn.choice("bdfgklmnprstvz") + drawn.choice("aeiou") for _ in range(drawn.randint(1, 4)))
        for _ in range(drawn.randint(6, 14))
    ]
    return " ".join(words).capitalize() + "."


def line_at(request: Request) -> str:
    """The line of a call."""
    return sentence(request.path)


def said(request: Request, **special: str) -> str:
    """A company that does its work: every line is Mara's or Tobias's in turn, no objective is ever seen as reached."""
    prompt = request.path.rpartition("/")[2]
    if prompt in special:
        return special[prompt]
    if prompt == "shorten":
        return shortened(request)
    if prompt == "retell":
        return " ".join(sentence(f"{request.path} {n}") for n in range(60))
    return {
        "outline": json.dumps({"previous_outline": "They met.", "new_outline": "They talk."}),
        "script": json.dumps({"scripts": [{"role": r, "content": f"{r} talks."} for r in names_in(request) * 2][:5]})
        if request.path.endswith("script")
        else "",
        "instruct": "Be calm. Speak low.",
        "act": line_at(request),
        "check_line": '{"result": true}',
        "check_goal": '{"completed": false}',
        "split_goal": json.dumps({"steps": [f"Stage at {request.path} number {n}." for n in range(6)]}),
        "sum_up": json.dumps({"points": [f"Tobias spoke at {' '.join(request.path.split('/')[1:4])}."]}),
        "first_impressions": json.dumps(
            {"impressions": [{"name": "Mara" if "tobias" in request.path else "Tobias", "impression": "young"}]}
        ),
        "relation": "still a friend",
        "monologue": f"I remember {request.path}.",
        "impression": "braver than before",
        "step_in": '{"action": "none"}',
        "extend": sentence(request.path),
    }[prompt]


def names_in(request: Request) -> list[str]:
    """Who is here, as the script prompt says."""
    shown = request.messages[-1].content.partition("# Who is here\n")[2].partition("\n")[0]
    return shown.split(", ")


@dataclass
class Played:
    """A story, the calls it took, and what was noted."""

    journal: Journal
    story: Story = field(default_factory=Story)
    asked: list[Request] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)

    def hear(self, event: RunEvent) -> None:
        if isinstance(event, Noted):
            self.noted.append(event.text)

    def paths(self, prompt: str) -> list[str]:
        return [request.path for request in self.asked if request.path.endswith(f"/{prompt}")]

    def last(self, path: str) -> str:
        """The prompt of the call at a path."""
        request = next(request for request in self.asked if request.path == path)
        return "\n\n".join(message.content for message in request.messages)

    def turns(self, name: str = "the-letter") -> list[str]:
        return [str(turn) for turn in turns_of(self.journal.artefacts.newest(f"role-play/{name}") or "")]


def run_on(
    journal: Journal,
    model: Any,  # noqa: ANN401 - any model
    played: Played | None = None,
    preset: Preset = "improved",
    **context: Any,  # noqa: ANN401 - fields of RunContext
) -> Run:
    cast = context.pop("cast", None) or Cast(Assignment(model), known=SYSTEM.roles, open_role="actor")
    listeners = [played.hear] if played else []
    prompts = SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)
    return Run(RunContext(journal, prompts, cast, listeners=listeners, **context))


async def write(
    script: Callable[[Request], str] = said,
    preset: Preset = "faithful",
    stage: str = ONE,
    journal: Journal | None = None,
    brief: Brief = BRIEF,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Played:
    model, played = ScriptedModel(script), Played(journal or Journal())
    if preset == "faithful":
        config.pop("prose", None)  # it is the log in any case
    if journal is None:
        played.journal.open()
        played.journal.decisions.add("stage", "edit", stage)
    run = run_on(played.journal, model, played, preset)
    played.story = await SYSTEM.write(brief, run, SYSTEM.config(preset, config))
    played.asked = model.asked
    return played


async def performed(stage: str = TWO, preset: Preset = "improved", **config: Any) -> tuple[Stage, Run]:  # noqa: ANN401 - fields of Config
    journal = Journal()
    journal.open()
    if preset == "faithful":
        config.pop("prose", None)
    settled, script = SYSTEM.config(preset, config), parse_script(stage)
    run = run_on(journal, ScriptedModel(said), preset=preset)
    played = (
        Stage(Play(script, settled), run) if preset == "faithful" else KnowingStage(KnowingPlay(script, settled), run)
    )
    await played.perform()
    return played, run


# objectives -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answer", "steps", "checks"), [("true", 5, 1), ("false", 9, 4)])
async def test_an_objective_takes_5_to_9_steps(answer: str, steps: int, checks: int) -> None:
    played = await write(lambda r: said(r, check_goal=f'{{"completed": {answer}}}'))
    assert len(played.paths("act")) == steps
    assert len(played.paths("check_goal")) == checks
    assert len(played.turns()) == steps + 1  # and the opening narration


async def test_the_check_sees_as_many_turns_as_the_objective_has_steps() -> None:
    played = await write()
    for step in range(5, 9):
        shown = played.last(f"role-play/the-letter/step/{step}/check_goal").partition("# Last lines of the script\n")[2]
        assert len(shown.partition("\n\n")[0].splitlines()) == step


async def test_a_check_that_cannot_be_read_counts_as_no() -> None:
    played = await write(lambda r: said(r, check_goal="maybe"))
    assert len(played.paths("act")) == 9
    assert any("Whether the objective is reached could not be read" in note for note in played.noted)


async def test_with_a_new_objective_the_queue_is_empty_and_the_count_begins_again() -> None:
    stage = ONE.replace("[Tobias brings a letter.]", "[Tobias brings a letter., Mara reads it.]")
    played = await write(lambda r: said(r, check_goal='{"completed": true}'), stage=stage)
    assert played.paths("outline") == [f"role-play/the-letter/step/{n}/outline" for n in (1, 5, 6, 10)]
    log = played.journal.artefacts.newest("role-play/the-letter") or ""
    assert log.index("> Objective 1: Tobias") < log.index("> Objective 2: Mara reads it.")
    assert [turn.goal for turn in turns_of(log)] == [0] * 6 + [1] * 5


async def test_a_sub_act_without_goals_is_never_active() -> None:
    stage = ONE.replace("acts:", "acts:\n  - title: The corridor\n    background: It is dark.\n    actors: [Mara]")
    played = await write(stage=stage)
    assert not [request.path for request in played.asked if "corridor" in request.path]
    assert [scene.label for scene in played.story.scenes] == ["The letter"]


# the director -----------------------------------------------------------------------------------------


async def test_a_plan_is_made_of_two_calls_for_up_to_five_lines() -> None:
    played = await write(max_steps=9)
    assert played.paths("script") == [f"role-play/the-letter/step/{n}/script" for n in (1, 5, 9)]
    assert len(played.paths("instruct")) == 9


async def test_the_instruction_reaches_the_actor_who_never_sees_the_planned_line() -> None:
    played = await write()
    shown = played.last("role-play/the-letter/step/1/act")
    assert "The director says to you: Be calm. Speak low." in shown
    assert "What happens now: They talk." in shown
    assert "Mara talks." not in shown
    assert "Mara talks." in played.last("role-play/the-letter/step/1/instruct")


async def test_as_released_the_instruction_is_not_even_asked_for() -> None:
    played = await write(use_instruction=False)
    assert played.paths("instruct") == []
    assert "The director says" not in played.last("role-play/the-letter/step/1/act")


async def test_a_plan_without_a_line_is_made_anew_for_a_line_fewer() -> None:
    played = await write(
        lambda r: said(r, script="no lines") if r.path == "role-play/the-letter/step/1/script" else said(r), max_steps=1
    )
    paths = ["role-play/the-letter/step/1/script", "role-play/the-letter/step/1/again/1/script"]
    assert ["the script, 5 at most" in played.last(paths[0]), "the script, 4 at most" in played.last(paths[1])] == [
        True,
        True,
    ]


async def test_the_director_hears_of_those_whom_the_turns_name_and_in_the_release_of_relations_to_them() -> None:
    stage = ONE.replace("background: Dusk.", "background: Father has not come home.").replace(
        "acts:", "  - name: Father\nacts:"
    )
    stage = stage.replace("{Tobias: the boy who brings her bread}", "{Tobias: a boy, Father: the man who built it}")
    lines = json.dumps({"impressions": [{"name": "Father", "impression": "lost at sea"}]})
    played = await write(lambda r: said(r, first_impressions=lines), stage=stage, max_steps=5)
    for step in (1, 5):  # the name is no longer in the last turns then
        shown = played.last(f"role-play/the-letter/step/{step}/outline")
        assert "- Mara to Father: the man who built it" in shown
        assert "- Mara of Father: lost at sea" in shown


async def test_the_director_instructs_from_the_objective_the_whole_script_and_who_the_actor_is() -> None:
    played = await write(max_steps=6)
    shown = played.last("role-play/the-letter/step/5/instruct")
    assert "# Objective\nTobias brings a letter." in shown
    assert "# Who Mara is\nKeeper of the light." in shown
    assert "- Tobias: the boy who brings her bread" in shown
    assert "# Who is here\nMara, Tobias" in shown
    assert "(Dusk.)" in shown
    assert "They talk." not in shown  # the outline, which only our own instruction goes by


async def test_replies_are_drawn_as_in_the_release_and_as_its_library_does_where_it_says_nothing() -> None:
    stage = ONE.replace("    relations: {Tobias", "    memories: [{event: Tobias fell.}]\n    relations: {Tobias")
    played = await write(
        lambda r: said(r, sum_up=json.dumps({"points": ["Tobias spoke to Mara."]})),
        stage=stage,
        window=4,
        window_keep=2,
    )
    drawn = {
        request.path.rpartition("/")[2]: (
            request.sampling.temperature,
            request.sampling.frequency_penalty,
            request.sampling.presence_penalty,
        )
        for request in played.asked
    }
    assert drawn == {
        **dict.fromkeys(("first_impressions", "sum_up", "impression"), (0.0, None, None)),
        **dict.fromkeys(("outline", "script", "check_goal"), (0.6, None, None)),
        **dict.fromkeys(("act", "check_line"), (0.6, 0.6, None)),
        "instruct": (0.6, None, 0.6),
        "relation": (0.1, None, None),
        "monologue": (0.3, None, None),
    }


async def test_plans_that_cannot_be_read_are_made_four_times_and_then_end_the_run() -> None:
    model = ScriptedModel(lambda r: said(r, script="no lines today"))
    with Journal() as journal:
        journal.decisions.add("stage", "edit", ONE)
        run = run_on(journal, model, preset="faithful", repairs=1)
        with pytest.raises(
            ReplyError, match=r"planned no line at role-play/the-letter/step/1 in 4 tries\. .*asks again from there"
        ):
            await SYSTEM.write(BRIEF, run, SYSTEM.config("faithful", {}))
    scripts = [request.path for request in model.asked if request.path.endswith("script")]
    assert len(scripts) == 8  # each of the 4 with one repair
    assert scripts[-1] == "role-play/the-letter/step/1/again/3/script"


async def test_memories_are_compared_by_the_model_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for the package knows what belongs together, as such a model does and words do not."""

    class Model:
        def __init__(self, name: str, **options: object) -> None:
            assert options == {"local_files_only": True, "trust_remote_code": False}
            if name == "missing":
                raise OSError

        def encode(self, texts: Sequence[str], **_: object) -> object:
            return np.array([[1.0, 0.0] if "ferry" in text or "drown" in text else [0.0, 1.0] for text in texts])

    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Model))
    memory = "{event: Father drowned., thought: Father drowned., time: 2020-01-01 10:00}"
    stage = ONE.replace("  - name: Tobias\n", f"    memories: [{memory}]\n  - name: Tobias\n").replace(
        "background: Dusk.", "background: The ferry leaves."
    )
    assert "Father drowned" in stage
    shown = {
        name: (await write(stage=stage, max_steps=1, embedder=name)).last("role-play/the-letter/step/1/act")
        for name in ("", "a-model")
    }
    assert ["Father drowned" in text for text in shown.values()] == [False, True]
    with pytest.raises(UsageError, match=r"'missing' cannot be opened\. No such folder or model is on this machine"):
        await write(stage=stage, max_steps=1, embedder="missing")


async def test_without_the_package_a_named_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"needs the package sentence_transformers.*\[embeddings\]"):
        await write(max_steps=1, embedder="another")


async def test_an_outline_that_cannot_be_read_is_empty_and_the_play_goes_on() -> None:
    played = await write(lambda r: said(r, outline="hm"))
    assert "# What has happened\nNothing yet." in played.last("role-play/the-letter/step/1/script")
    assert len(played.turns()) == 10


async def test_narration_is_logged_word_for_word() -> None:
    lines = json.dumps({"scripts": [{"role": NARRATION, "content": "The wind turns."}]})
    played = await write(lambda r: said(r, script=lines), max_steps=1)
    assert played.turns() == ["(Dusk.)", "(The wind turns.)"]
    assert played.paths("act") == []


async def test_faithful_shows_the_director_one_view_and_improved_everybody_s() -> None:
    stage = ONE.replace(
        "  - name: Tobias\n", "  - name: Tobias\n    description: Ten.\n    relations: {Mara: a giant}\n"
    )
    shown = [
        (await write(preset=p, stage=stage, prose=False)).last("role-play/the-letter/step/1/outline")
        for p in ("faithful", "improved")
    ]
    assert ["Mara to Tobias: the boy who brings her bread" in shown for shown in shown] == [True, True]
    assert ["Tobias to Mara: a giant" in shown for shown in shown] == [False, True]
    assert ["Ten." in shown for shown in shown] == [False, True]


async def test_faithful_prompts_hold_no_more_than_the_release_puts_into_them() -> None:
    stage = ONE.replace("    background: Dusk.\n", "    place: the lamp room\n    background: Dusk.\n")
    stage = f"background: A bare cape.\n{stage}"
    presets: dict[Preset, bool] = {"faithful": False, "improved": True}
    for preset, more in presets.items():
        played = await write(preset=preset, stage=stage, prose=False)
        outline = played.last("role-play/the-letter/step/1/outline")
        assert ("Scene: The letter" in outline, "the lamp room" in outline) == (more, more)
        assert ("# Objective" in played.last("role-play/the-letter/step/1/script")) is more
        assert "# Objective\nTobias brings a letter." in outline
        line = next(request for request in played.asked if request.path == "role-play/the-letter/step/3/act")
        assert ("Tobias: the boy who brings her bread" in line.messages[-1].content) is more
        shown = "A bare cape.\n\nThe scene: the lamp room" if more else "A bare cape.\nDusk."  # the sub-act's (release)
        assert line.messages[0].content.endswith(shown)


# actors -----------------------------------------------------------------------------------------------


async def test_a_line_is_what_comes_after_the_own_name_and_before_other_speakers() -> None:
    def script(request: Request) -> str:
        text = f"**{request.role} (softly):** {line_at(request)}\nMara: And I say this.\nTobias: No."
        return text if request.path.endswith("/act") else said(request)

    played = await write(script, max_steps=2)
    assert all("And I say" not in turn and "softly" not in turn for turn in played.turns())


LONG_SPEECH = """\
Eleven went out, I count ten. Eleven went out, I count ten.

You ask what a lamp is. It is a promise made to people whom you will never meet:
- oil at six
- wicks at ten
The story began with a rope, and it ends with one."""


@pytest.mark.parametrize(
    ("preset", "aids", "kept"),
    [("improved", "off", 5), ("improved", "on", 5), ("faithful", "off", 1)],
)
async def test_a_capable_model_keeps_its_whole_speech(preset: Preset, aids: Aids, kept: int) -> None:
    model, journal = ScriptedModel(lambda r: said(r, act=LONG_SPEECH)), Journal()
    journal.open()
    journal.decisions.add("stage", "edit", ONE)
    more = {"prose": False} if preset == "improved" else {}
    config = SYSTEM.config(preset, {"max_steps": 1, "self_check": False, **more})
    await SYSTEM.write(BRIEF, run_on(journal, model, preset=preset, aids=aids), config)
    spoken = turns_of(journal.artefacts.newest("role-play/the-letter") or "")[-1].text.splitlines()
    lines = [line for line in LONG_SPEECH.splitlines() if line]
    assert len(spoken) == kept
    assert all(line.startswith(said) for line, said in zip(lines, spoken, strict=False))
    assert (spoken == lines) == (kept == len(lines))


async def test_a_small_model_s_free_replies_alone_are_bounded() -> None:
    journal, model = Journal(), ScriptedModel(said)
    journal.open()
    journal.decisions.add("stage", "edit", ONE)
    config = SYSTEM.config("improved", {"max_steps": 5, "window": 4, "window_keep": 2})
    await SYSTEM.write(BRIEF, run_on(journal, model, aids="on"), config)
    bounds = {request.path.rpartition("/")[2]: request.sampling.max_tokens for request in model.asked}
    free = dict.fromkeys(("act", "instruct", "impression"), 150)
    assert {prompt: most for prompt, most in bounds.items() if prompt in free} == free
    assert {bounds[prompt] for prompt in ("outline", "script", "sum_up")} == {None}


async def test_an_actor_s_history_is_a_chat_in_which_its_own_lines_are_the_model_s_and_in_improved_one_message() -> (
    None
):
    path = "role-play/the-letter/step/4/act"
    asked = next(r for r in (await write(max_steps=4)).asked if r.path == path)
    lines = [sentence(f"role-play/the-letter/step/{n}/act") for n in (1, 2, 3)]
    assert [m.role for m in asked.messages] == ["system", "user", "assistant", "user"]
    assert asked.messages[1].content.endswith(f"The play so far follows.\n\n(Dusk.)\n\nMara: {lines[0]}")
    assert asked.messages[2].content == lines[1]
    assert asked.messages[3].content.startswith(f"Mara: {lines[2]}\n\n")
    assert asked.messages[3].content.endswith("Speak your next line as Tobias, and give only what you say.")
    asked = next(r for r in (await write(preset="improved", prose=False, max_steps=4)).asked if r.path == path)
    assert [m.role for m in asked.messages] == ["system", "user"]
    assert f"(Dusk.)\nMara: {lines[0]}\nTobias: {lines[1]}\nMara: {lines[2]}\n" in asked.messages[1].content


async def test_the_self_check_corrects_a_line() -> None:
    played = await write(
        lambda r: said(r, check_line='{"result": false, "revised_response": "Mara: I count to nine."}'), max_steps=1
    )
    assert played.turns()[-1] == "Mara: I count to nine."
    kept = await write(lambda r: said(r, check_line="?"), max_steps=1)
    assert kept.turns()[-1].startswith("Mara: ")
    assert (await write(max_steps=1, self_check=False)).paths("check_line") == []


async def test_a_line_much_like_an_earlier_one_is_spoken_again_once_with_the_first_turn_alone() -> None:
    played = await write(
        lambda r: said(r, act="The lamp stays lit until the boats are home."), max_steps=3, self_check=False
    )
    assert played.paths("act") == [
        *(
            "role-play/the-letter/step/1/act",
            "role-play/the-letter/step/2/act",
            "role-play/the-letter/step/2/anew/act",
        ),
        *("role-play/the-letter/step/3/act", "role-play/the-letter/step/3/anew/act"),
    ]
    shown = played.last("role-play/the-letter/step/3/anew/act").partition("The play so far follows.\n\n")[2]
    assert shown.startswith("(Dusk.)\n\n# The others\n- Your impression of Tobias: young\n\nWhat happens now: ")
    assert len((await write(lambda r: said(r, act="Same."), max_steps=3, repeat_threshold=0.0)).paths("act")) == 3


async def test_a_line_out_of_character_is_asked_again_twice_and_then_the_planned_one_stands_in() -> None:
    played = await write(lambda r: said(r, act="As an AI language model, I do not drink tea."), max_steps=1)
    assert len(played.paths("act")) == 3
    assert played.turns()[-1] == "Mara: Mara talks."
    assert any("the director's line is used" in note for note in played.noted)


async def test_examples_of_an_actor_s_speech_are_shown_where_the_last_turn_is_like_one() -> None:
    sayings = "    sayings: [{asked: Is it dusk already?, said: It is October.}]\n"
    stage = ONE.replace("    relations: {Tobias", sayings + "    relations: {Tobias")
    played = await write(stage=stage, max_steps=1, saying_threshold=0.1)
    assert '- "Is it dusk already?" - "It is October."' in played.last("role-play/the-letter/step/1/act")
    other = await write(stage=stage, max_steps=1, saying_threshold=0.99)
    assert "October" not in other.last("role-play/the-letter/step/1/act")


# memory -----------------------------------------------------------------------------------------------


async def test_memories_of_the_first_act_come_to_mind_in_the_second() -> None:
    def script(request: Request) -> str:
        points = json.dumps({"points": ["The stamp on the letter was red."]})
        return said(request, sum_up=points, instruct="Think of the red stamp on the letter.")

    played = await write(script, "improved", TWO, prose=False, window=6, window_keep=3)
    shown = played.last("role-play/the-light/step/1/act")
    assert "(Before this, The stamp on the letter was red)" in shown
    assert shown.count("The stamp on the letter was red") == 1  # not once more under what is remembered


async def test_what_is_less_like_the_moment_is_shown_as_possibly_irrelevant() -> None:
    memories = "    memories: [{event: The instruction manual of the lamp was burnt., thought: I burnt it.}]\n"
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    played = await write(stage=stage, max_steps=1, memory_threshold=-1.0, relevant=2.0)
    assert "it may have nothing to do with this\n- I burnt it." in played.last("role-play/the-letter/step/1/act")


async def test_profile_memories_get_a_monologue_where_they_have_none_and_change_relations() -> None:
    memories = "    memories: [{event: Tobias fell from the ladder.}]\n"
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    after, _ = await performed(stage, "faithful", max_steps=1)
    mara = after.actors["Mara"]
    assert [memory.shown for memory in mara.mind.memories.kept] == ["I remember cast/mara/memory/1/monologue."]
    assert mara.mind.relations == {"Tobias": "still a friend"}
    assert mara.mind.impressions == {"Tobias": "young"}


async def test_an_impression_is_renewed_from_what_names_the_person_alone() -> None:
    points = json.dumps({"points": ["Tobias spoke of bread.", "The wind turned."]})
    played = await write(lambda r: said(r, sum_up=points), window=4, window_keep=2, max_steps=5)
    shown = played.last(next(path for path in played.paths("impression") if "/mara/" in path))
    assert "- Tobias spoke of bread" in shown
    assert "The wind turned" not in shown


async def test_a_memory_is_thought_over_with_events_that_are_like_it_and_impressions_rest_on_events_too() -> None:
    memories = (
        "    memories: [{event: Tobias fell from the ladder., thought: I caught him.}, "
        "{event: The oil ran out., thought: It was dark.}, {event: Tobias fell from the ladder again.}]\n"
    )
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    played = await write(stage=stage, max_steps=1)
    shown = played.last("cast/mara/memory/3/monologue")
    assert "- Tobias fell from the ladder." in shown
    assert "I caught him." not in shown
    assert "The oil ran out." not in shown
    assert "- The oil ran out." in played.last("cast/mara/first_impressions")


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_a_window_never_holds_more_than_16_and_only_improved_keeps_old_summaries(preset: Preset) -> None:
    after, run = await performed(TWO.replace("[Mara lights the lamp.]", "[a, b, c]"), preset, prose=False)
    made = [
        call
        for call in run.context.journal.calls.find(CallFilter(under="role-play"), prompts=True)
        if call.path.endswith("sum_up")
    ]
    assert len(made) > 2
    mara = after.actors["Mara"]
    assert len(mara.mind.window.turns) <= 16
    points = mara.mind.memories.kept
    shown = mara.mind.window.turns[0].text
    assert len(points) > 2
    assert [point.text in shown for point in points[:-1]] == [preset == "improved"] * (len(points) - 1)
    assert points[-1].text in shown


async def test_every_prompt_shows_at_most_16_turns() -> None:
    played = await write(stage=TWO.replace("[Mara lights the lamp.]", "[a, b, c]"))
    for path in played.paths("act"):
        shown = played.last(path).partition("# The play so far\n")[2].partition("\n\n")[0]
        assert len(shown.splitlines()) <= 16


async def test_those_who_heard_the_same_share_one_summary() -> None:
    stage = ONE.replace("[Tobias brings a letter.]", "[a, b]")
    alone, shared = [(await write(stage=stage, per_actor_summaries=each)).paths("sum_up") for each in (True, False)]
    assert len(alone) == 3
    assert len(shared) == 1


async def test_a_summary_that_cannot_be_read_leaves_the_turns_cut_short() -> None:
    after, _ = await performed(ONE, "improved", prose=False, window=4, window_keep=2)
    assert after.actors["Mara"].mind.window.turns[0].text.startswith("Before this, Tobias spoke at the-letter")
    stage = ONE.replace("[Tobias brings a letter.]", "[a, b]")
    played = await write(lambda r: said(r, sum_up="?"), "improved", stage, prose=False)
    assert any("could not be summed up" in note for note in played.noted)
    assert len(played.turns()) == 19


# players ----------------------------------------------------------------------------------------------


def stepping_in(**steps: dict[str, str]) -> Callable[[Request], str]:
    """A script in which the stranger does this in these steps, named `THE_PLACE_STEP`."""

    def script(request: Request) -> str:
        if request.path.endswith("step_in"):
            parts = request.path.split("/")
            at = parts.index("step")
            return json.dumps(steps.get(f"{parts[1].replace('-', '_')}_{parts[at + 1]}", {"action": "none"}))
        return said(request)

    return script


async def test_a_player_s_talk_drops_the_lines_planned_before() -> None:
    script = stepping_in(the_letter_3={"action": "talk", "words": "Is anybody home?"})
    played = await write(script, players="A stranger", max_steps=4)
    assert played.paths("script") == [f"role-play/the-letter/step/{n}/script" for n in (1, 3)]
    assert played.turns()[3] == "A stranger: Is anybody home?"
    assert "A stranger: Is anybody home?" in played.last("role-play/the-letter/step/3/outline")
    assert "# Objective\nTobias brings a letter." in played.last("role-play/the-letter/step/3/outline")


async def test_a_player_whose_turn_it_is_and_who_waits_does_nothing() -> None:
    lines = json.dumps({"scripts": [{"role": "A stranger", "content": "I am lost."}, {"role": "Mara", "content": "x"}]})
    played = await write(lambda r: said(r, script=lines), players="A stranger", max_steps=3)
    assert played.turns() == ["(Dusk.)", "(A stranger does nothing.)", "(A stranger does nothing.)"]
    assert "The others wait for you" in played.last("role-play/the-letter/step/2/a-stranger/step_in")
    assert "I am lost." not in "".join(played.turns())


async def test_lines_of_a_player_who_has_just_spoken_are_skipped_and_an_empty_queue_is_planned_once_more() -> None:
    lines = json.dumps({"scripts": [{"role": "A stranger", "content": "And more."}]})

    def script(request: Request) -> str:
        talk = stepping_in(the_letter_1={"action": "talk", "words": "Good evening."})
        return said(request, script=lines) if request.path.endswith("script") else talk(request)

    played = await write(script, players="A stranger", max_steps=2)
    assert played.paths("script")[:2] == [
        "role-play/the-letter/step/1/script",
        "role-play/the-letter/step/1/replan/script",
    ]
    assert played.turns()[1:] == ["A stranger: Good evening.", "(A stranger does nothing.)"]


async def test_players_move_between_places_and_on_to_the_next_act() -> None:
    script = stepping_in(
        the_room_2={"action": "move and talk", "place": "The quay", "words": "Any news?"},
        the_quay_3={"action": "move", "place": "The stairs"},
    )
    played = await write(script, stage=SIDE, max_steps=4)
    assert played.turns("the-room")[1] == "(The door falls shut.)"
    assert played.turns("the-quay")[1:3] == ["(Somebody comes along the quay.)", "A stranger: Any news?"]
    asked = [path for path in played.paths("step_in") if "the-hall" not in path]
    assert asked == [
        "role-play/the-room/step/1/a-stranger/step_in",
        "role-play/the-room/step/2/a-stranger/step_in",
        "role-play/the-quay/step/3/a-stranger/step_in",
        "offstage/the-stairs/step/4/a-stranger/step_in",
    ]
    # The stairs lead nowhere, so the stranger is in the first place of the next act, where nobody plays.
    assert {p.split("/")[1] for p in played.paths("step_in") if "the-hall" in p or "the-end" in p} == {"the-hall"}
    assert "# Who is here\nTobias, Father, A stranger" in played.last("role-play/the-quay/step/2/script")


async def test_an_actor_can_be_a_player_and_then_speaks_only_when_it_likes() -> None:
    def script(request: Request) -> str:
        if request.path.endswith("/mara/step_in"):
            talks = "/2/" in request.path
            return '{"action": "talk", "words": "Sit down, boy."}' if talks else '{"action": "none"}'
        return said(request)

    played = await write(script, players="Mara", max_steps=4)
    assert not [r.path for r in played.asked if r.role == "Mara" and r.path.endswith("/act")]
    assert "Mara: Sit down, boy." in played.turns()
    assert "places" not in played.last("role-play/the-letter/step/1/mara/step_in")


async def test_an_action_that_cannot_be_read_is_waiting() -> None:
    played = await write(lambda r: said(r, step_in="?"), players="A stranger", max_steps=2)
    assert any("A stranger waits" in note for note in played.noted)
    assert len(played.turns()) == 3


async def test_a_person_plays_a_character_and_means_what_they_write() -> None:
    seen: list[str] = []

    async def answer(request: Request) -> str:
        seen.append(request.path)
        return "As an AI?\n\nTobias: is what they call me."

    model = ScriptedModel(said)
    cast = Cast(Assignment(model), {"mara": Assignment(Person("me", answer))}, known=SYSTEM.roles, open_role="actor")
    with Journal() as journal:
        journal.decisions.add("stage", "edit", ONE)
        await SYSTEM.write(
            BRIEF, run_on(journal, model, cast=cast), SYSTEM.config("improved", {"prose": False, "max_steps": 2})
        )
        log = journal.artefacts.newest("role-play/the-letter")
    assert seen == ["role-play/the-letter/step/1/act"]
    assert log is not None
    assert "**Mara:** As an AI?\nTobias: is what they call me." in log


# stage --------------------------------------------------------------------------------------------------------------


async def test_sub_acts_of_one_act_are_played_side_by_side_and_hear_nothing_of_each_other() -> None:
    stage = SIDE.replace("players: [{name: A stranger, place: The room}]\n", "")
    played = await write(stage=stage, max_steps=2)
    first = [r.path for r in played.asked if r.path.endswith("/act")][:2]
    assert sorted(first) == ["role-play/the-quay/step/1/act", "role-play/the-room/step/1/act"]
    quay = set(played.turns("the-quay"))
    shown = played.last("role-play/the-room/step/2/act")
    assert not any(turn in shown for turn in quay)
    assert [scene.label for scene in played.story.scenes] == ["The room", "The quay", "The end"]


class Dying(ScriptedModel):
    """A scripted model that fails at one call, as a killed process would."""

    def __init__(self, script: Callable[[Request], str], dies_at: int) -> None:
        super().__init__(script)
        self.dies_at = dies_at

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        if len(self.asked) == self.dies_at:
            raise ModelError("killed here", model=self.name)
        return await super().ask(request, on_text)


async def test_killed_with_players_on_the_move_and_resumed_the_transcript_is_the_same() -> None:
    script = stepping_in(the_room_2={"action": "move and talk", "place": "The quay", "words": "Any news?"})
    config: dict[str, Any] = {"max_steps": 2, "window": 3, "window_keep": 1}
    whole = await write(script, stage=SIDE, **config)
    logs = [whole.turns(name) for name in ("the-room", "the-quay", "the-end")]
    for dies_at in range(0, len(whole.asked), 9):
        dying = Dying(script, dies_at)
        journal = Journal()
        journal.open()
        journal.decisions.add("stage", "edit", SIDE)
        with pytest.raises((ModelError, ExceptionGroup)):
            await SYSTEM.write(BRIEF, run_on(journal, dying, preset="faithful"), SYSTEM.config("faithful", config))
        resumed = await write(script, journal=journal, **config)
        assert resumed.story == whole.story
        assert [resumed.turns(name) for name in ("the-room", "the-quay", "the-end")] == logs
        assert len(dying.asked) + len(resumed.asked) == len(whole.asked)


async def test_an_edited_log_is_lived_through_and_asks_only_what_comes_of_it() -> None:
    config: dict[str, Any] = {"window": 4, "window_keep": 2, "prose": False, "preset": "improved"}
    whole = await write(stage=TWO, **config)
    log = whole.journal.artefacts.newest("role-play/the-letter") or ""
    last = whole.turns()[-1].partition(": ")[2]
    whole.journal.decisions.add("role-play/the-letter", "edit", log.replace(last, "I have read it, and it says dark."))
    again = await write(journal=whole.journal, **config)
    assert again.turns()[-1].endswith("I have read it, and it says dark.")
    assert not [path for path in again.paths("act") if "the-letter" in path]
    assert again.asked
    assert {request.path.split("/")[1] for request in again.asked} == {"the-light"}
    assert "I have read it, and it says dark." in again.last("role-play/the-light/step/1/act")
    assert "I have read it" in again.story.scenes[0].text


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_a_log_that_is_pinned_as_it_was_played_changes_nothing_and_asks_nobody(preset: Preset) -> None:
    config: dict[str, Any] = {"window": 4, "window_keep": 2, "max_steps": 5, "prose": False}
    whole = await write(by_prompt, preset, FOUR, **config)
    assert whole.paths("sum_up")
    for name in ("the-letter", "the-quay", "the-light", "the-end"):
        path = f"role-play/{name}"
        whole.journal.decisions.add(path, "pin", whole.journal.artefacts.newest(path))
        again = await write(by_prompt, preset, journal=whole.journal, **config)
        assert [request.path for request in again.asked] == []
        assert again.story == whole.story


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_a_pinned_log_is_lived_through_anew_where_its_actors_come_with_other_memories(preset: Preset) -> None:
    stage = f"{TWO}  - title: The end\n    actors: [Mara, Tobias]\n    goals: [They part.]\n"
    config: dict[str, Any] = {"max_steps": 1, "prose": False}
    whole = await write(stage=stage, preset=preset, **config)
    path, first = "role-play/the-light", "role-play/the-letter"
    whole.journal.decisions.add(path, "pin", whole.journal.artefacts.newest(path))
    log = whole.journal.artefacts.newest(first) or ""
    whole.journal.decisions.add(first, "edit", log.replace(whole.turns()[-1].partition(": ")[2], "It says dark."))
    again = await write(journal=whole.journal, preset=preset, **config)
    assert again.paths("act") == ["role-play/the-end/step/1/act"]
    shown = again.last("role-play/the-end/step/1/act")
    assert "It says dark." in shown
    assert whole.turns("the-light")[-1].partition(": ")[2] in shown


async def test_a_log_that_a_person_wrote_from_the_start_costs_no_line() -> None:
    journal = Journal()
    journal.open()
    journal.decisions.add("stage", "edit", TWO)
    journal.decisions.add(
        "role-play/the-letter", "edit", "It is dark.\n\n**Mara:** The lamp stays lit.\n\n**Tobias:** Good."
    )
    played = await write(journal=journal, max_steps=1)
    assert not [request.path for request in played.asked if "the-letter" in request.path]
    assert "The play so far follows.\n\n(It is dark.)\n\nThe lamp stays lit.\n\nTobias: Good.\n\n" in played.last(
        "role-play/the-light/step/1/act"
    )


async def test_a_dry_run_names_what_an_edit_would_ask_again() -> None:
    config: dict[str, Any] = {"prose": False, "max_steps": 2}
    whole = await write(stage=TWO, preset="improved", **config)
    context = run_on(whole.journal, ScriptedModel(said), mode="dry").context
    context.pending = {"role-play/the-letter": "**Mara:** Nothing came today."}
    await SYSTEM.write(BRIEF, Run(context), SYSTEM.config("improved", config))
    planned = {call.path.split("/")[1] for call in context.dry_run.planned}
    assert planned == {"the-light"}


# the script ---------------------------------------------------------------------------------------------------------


def plan() -> Plan:
    people = (Character("Mara", setup="Keeps the light.", goal="Boats home."), Character("Tobias"))
    events = (Event("Tobias brings a letter."), Event("Mara reads it."))
    scenes = (
        ScenePlan("The letter", events, place="The lamp room", characters=(Presence("Mara"), Presence("Tobias"))),
        ScenePlan("The light", (Event("Mara lights the lamp."),), characters=()),
    )
    return Plan(scenes, people, conflict="The lamp is to go dark.", title="The Last Lamp")


def test_a_plan_s_scenes_become_acts_and_its_events_objectives() -> None:
    script = script_of(plan())
    assert [act.goals for act in script.acts] == [
        ("Tobias brings a letter.", "Mara reads it."),
        ("Mara lights the lamp.",),
    ]
    assert script.acts[0].next_act == "The light"
    assert script.acts[1].actors == ("Mara", "Tobias")
    assert script_for_length(plan(), None, 300).acts[0].goals == ("Tobias brings a letter. Mara reads it.",)
    assert parse_script(write_script(script)) == script


def test_what_a_capable_planner_writes_of_a_person_and_a_scene_is_not_too_long_for_a_script() -> None:
    events = tuple(Event(f"{n} {'They look at the lamp and do not mention it. ' * 5}") for n in range(30))
    person = Character("Mara", setup="She has kept the light for thirty years, and says so. " * 120)
    plan = Plan(characters=(person,), scenes=(ScenePlan("The lamp", outline=events),))
    (act,) = parse_script(write_script(script_for_length(plan, None, 300))).acts
    assert len(act.goals[0]) > 6000


def test_a_script_of_all_fields_is_read_back_as_it_was_written() -> None:
    for text in (ONE, TWO, SIDE):
        script = parse_script(text)
        assert parse_script(write_script(script)) == script
    doc = (Script.__module__, parse_script(SIDE))
    assert [[act.title for act in group] for group in doc[1].groups] == [
        ["The room", "The quay", "The stairs"],
        ["The hall", "The end"],
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("acts: []\nactors: []", "plan/stage.yaml:2: actors: Give at least one."),
        ("actors: [{name: A}]", "plan/stage.yaml:1: acts: is missing. Write it."),
        (
            "actors:\n  - {name: A}\n  - {name: a}\nacts: [{title: T}]",
            "3: actor 'a' > name: Two entries are called 'a'.",
        ),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    actor: [A]", "4: act 'T' > actor: There is no such field."),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    goals: x", "3: act 'T' > actors: Goals need somebody"),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    actors: [A, Bo]", "4: act 'T' > actors 2: 'Bo' is not one of"),
        (
            "actors: [{name: A}]\nacts:\n  - title: T\n    next_act: U",
            "4: act 'T' > next_act: There is no sub-act 'U'.",
        ),
        ("actors: [{name: Narration}]\nacts: [{title: T}]", "1: actor 'Narration' > name: 'Narration' is the"),
        ("begins: now\nactors: [{name: A}]\nacts: [{title: T}]", "1: begins: 'now' is not a time. Write it as 1962"),
        (
            "actors: [{name: A}]\nacts:\n  - {title: T, actors: A}\n  - title: U\n    meanwhile: yes\n    actors: A",
            "6: act 'U' > actors 1: 'A' is at another place at the same time.",
        ),
        (
            "players: [{name: P, place: X}]\nactors: [{name: A}]\nacts: [{title: T}]",
            "1: player 'P' > place: There is no",
        ),
        ("actors: [\n", "plan/stage.yaml:2: stage: A bracket is opened here"),
    ],
)
def test_problems_of_a_script_are_named_with_file_line_and_field(text: str, shown: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_script(text)
    assert shown in str(error.value)


async def test_without_a_script_one_is_made_of_the_plan_and_kept() -> None:
    def script(request: Request) -> str:
        if not request.path.startswith("plan/"):
            return said(request)
        prompt = request.path.rpartition("/")[2]
        if prompt == "plan_cast":
            people = {"Mara": "She keeps the light.", "Tobias": "A boy."}
            return json.dumps({"characters": [{"name": name, "setup": setup} for name, setup in people.items()]})
        if prompt == "plan_telling":
            scenes = [{"time": n, "element": "climax", "what": f"Night {n}."} for n in (1, 2)]
            return json.dumps({"person": "third person", "tense": "past tense", "scenes": scenes})
        if prompt == "plan_scene":
            number = request.path.split("/")[2]
            return json.dumps(
                {
                    "name": f"Night {number}",
                    "place": "The tower",
                    "characters": [{"name": "Mara", "goal": "x"}],
                    "events": [{"what": "Mara climbs the stairs.", "missed_by": []}],
                }
            )
        return f"On that night at {line_at(request)} Mara climbed the stairs and looked for the boat."

    model = ScriptedModel(script)
    with Journal() as journal:
        story = await SYSTEM.write(
            BRIEF, run_on(journal, model), SYSTEM.config("improved", {"scenes": 2, "prose": False, "max_steps": 1})
        )
        stage = journal.artefacts.newest("stage")
    cast = next(request for request in model.asked if request.path.endswith("plan_cast"))
    assert "at most" not in cast.messages[-1].content  # the planner decides how many people there are
    assert [scene.label for scene in story.scenes] == ["Night 1", "Night 2"]
    assert stage is not None
    assert parse_script(stage).actors[0].description == "She keeps the light."


PEOPLE = """
goal: Mara keeps the lamp burning until the last boat is home.
setting: A bare cape.
personas:
  - name: Mara
    description: Keeper of the lighthouse.
    secret: She let the lamp go out once.
    aliases: [the keeper]
    relationships: {Tobias: the boy who brings her bread}
  - {name: Tobias, description: A boy.}
"""


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_a_script_is_made_of_an_authors_personas_with_what_they_are_to_each_other(preset: Preset) -> None:
    assert SYSTEM.takes_personas

    def script(request: Request) -> str:
        prompt = request.path.rpartition("/")[2]
        if prompt == "plan_telling":
            scene = {"time": 1, "element": "climax", "what": "A night."}
            return json.dumps({"person": "third person", "tense": "past tense", "scenes": [scene]})
        if prompt == "plan_scene":
            there = [{"name": "Mara", "goal": "x"}, {"name": "Tobias", "goal": "y"}]
            events = [{"what": "Mara climbs the stairs.", "missed_by": []}]
            return json.dumps({"name": "Night", "place": "The tower", "characters": there, "events": events})
        assert not request.path.startswith("plan/"), "no model is called for what the personas say"
        return said(request)

    journal = Journal()
    journal.open()
    journal.decisions.add("personas", "edit", PEOPLE)
    await write(script, preset, journal=journal, max_steps=1, prose=False)
    made = parse_script(journal.artefacts.newest("stage") or "")
    assert made.names == ("Mara", "Tobias")
    assert made.actors[0].relations == {"Tobias": "the boy who brings her bread"}
    assert made.actors[0].aliases == ("the keeper",)
    assert "go out once" in made.actors[0].secret
    assert "the last boat is home" in made.background + made.conflict


async def test_a_person_can_only_be_cast_for_somebody_of_the_script() -> None:
    model = ScriptedModel(said)
    cast = Cast(Assignment(model), {"marra": Assignment(model)}, known=SYSTEM.roles, open_role="actor")
    with Journal() as journal:
        journal.decisions.add("stage", "edit", ONE)
        with pytest.raises(UnknownNameError, match="Did you mean 'mara'"):
            await SYSTEM.write(
                BRIEF, run_on(journal, model, preset="faithful", cast=cast), SYSTEM.config("faithful", {})
            )


# transcripts --------------------------------------------------------------------------------------------------------


def test_a_transcript_is_read_back() -> None:
    turns = (PlayLine(NARRATION, "Dusk."), PlayLine("Mara", "Sit.\nDrink."), PlayLine("Tobias", "No.", 1))
    text = transcript(turns, ["He comes.", "He\ngoes."])
    assert turns_of(text) == turns
    assert "> Objective 2: He goes." in text
    assert turns_of("Dark.\n> a remark\n**A:**\n**B:** x\n\ny") == (PlayLine(NARRATION, "Dark."), PlayLine("B", "x\ny"))
    assert PlayLine.of("A", "> **B:** x\n\n\ny").text == "B:** x\ny"


# the story ----------------------------------------------------------------------------------------------------------


async def test_faithful_gives_the_dialogue_log_and_improved_prose_of_the_length_asked() -> None:
    log = await write(stage=TWO)
    assert log.story.scenes[0].text.startswith("(Dusk.)\n\nMara: ")
    assert log.paths("retell") == []
    brief = Brief("Write a story of 300 words about Mara and Tobias.")
    prose = await write(preset="improved", stage=TWO, brief=brief)
    assert 270 <= prose.story.words <= 330
    assert prose.paths("retell") == ["the-letter/part/1/retell", "the-light/part/1/retell"]
    shown = prose.last("the-light/part/1/retell")
    assert "This part ends the story" in shown
    assert prose.turns("the-light")[-1] in shown


async def test_for_a_long_story_objectives_are_parted_into_stages() -> None:
    brief = Brief("Write a story of 2400 words about Mara and Tobias.")
    played = await write(preset="improved", stage=ONE, brief=brief, max_steps=1, min_steps=1)
    assert played.paths("split_goal") == [
        "role-play/the-letter/goal/1/stages/1/split_goal",
        "role-play/the-letter/goal/1/stages/7/split_goal",
    ]
    log = played.journal.artefacts.newest("role-play/the-letter") or ""
    assert log.count("> Objective") == 8
    assert "> Objective 8: Tobias brings a letter." in log
    assert len([path for path in played.paths("retell") if "again" not in path]) == 8
    assert 2160 <= played.story.words <= 2640


async def test_without_a_length_nothing_is_parted() -> None:
    played = await write(preset="improved", max_steps=1)
    assert played.paths("split_goal") == []


async def test_prompts_do_not_grow_with_the_play() -> None:
    def longest(played: Played) -> int:
        def size(messages: tuple[Message, ...]) -> int:
            return sum(len(message.content) for message in messages)

        return max(size(request.messages) for request in played.asked)

    few, many = [
        await write(
            preset="improved",
            prose=False,
            use_instruction=False,
            max_steps=5,
            stage=ONE.replace("[Tobias brings a letter.]", json.dumps(goals)),
        )
        for goals in (["a"] * 6, ["a"] * 24)
    ]
    assert longest(many) < 1.4 * longest(few)
    assert len(many.paths("sum_up")) > 2 * len(few.paths("sum_up"))


# what a dry run announces -------------------------------------------------------------------------------------------

FOUR = """
actors: [{name: Mara, relations: {Tobias: the boy who brings bread}}, {name: Tobias}, {name: Old Father}]
acts:
  - title: The letter
    background: Dusk is coming.
    actors: [Mara, Tobias]
    goals: [Tobias brings a letter.]
  - title: The quay
    meanwhile: yes
    actors: [Old Father]
    goals: [He looks for the boat.]
  - title: The light
    actors: [Mara]
    goals: [Mara lights the lamp.]
  - title: The end
    actors: [Tobias, Old Father]
    goals: [They come home.]
"""


def by_prompt(request: Request) -> str:
    """A reply that is a function of its prompt, as a real model's is, and of the same form for every prompt."""
    seed = " ".join(message.content for message in request.messages)
    prompt = request.path.rpartition("/")[2]
    words = sentence(f"{prompt} {seed}")
    made = {
        "outline": json.dumps({"previous_outline": words, "new_outline": f"Next {words}"}),
        "script": json.dumps({"scripts": [{"role": name, "content": words} for name in names_in(request)][:5]})
        if prompt == "script"
        else "",
        "check_goal": '{"completed": false}',
        "sum_up": json.dumps({"points": [f"Mara and Tobias know: {words}"]}),
        "check_line": '{"result": true}',
    }
    return made.get(prompt, words)


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("stage", "Mara lights the lamp.", "Mara breaks the lamp."),
        ("stage", "He looks for the boat.", "He mends a net."),
        ("stage", "Tobias brings a letter.", "Tobias brings bread."),
        ("stage", "They come home.", "They stay out."),
        ("role-play/the-quay", "**Old Father:** ", "**Old Father:** Listen to me. "),
        ("role-play/the-letter", "**Mara:** ", "**Mara:** Sit down, boy. "),
    ],
)
async def test_after_an_edit_a_dry_run_announces_what_is_asked(
    preset: Preset, path: str, before: str, after: str
) -> None:
    config: dict[str, Any] = {"max_steps": 4, "min_steps": 4, "window": 5, "window_keep": 2}
    config |= {"repeat_threshold": 0.0}
    whole = await write(by_prompt, preset, FOUR, **config)
    text = whole.journal.artefacts.newest(path) or ""
    assert before in text
    whole.journal.decisions.add(path, "edit", text.replace(before, after, 1))
    dry = run_on(whole.journal, ScriptedModel(by_prompt), preset=preset, mode="dry")
    await SYSTEM.write(BRIEF, dry, SYSTEM.config(preset, config))
    announced = {call.path for call in dry.context.dry_run.planned}
    again = await write(by_prompt, preset, journal=whole.journal, **config)
    asked = {request.path for request in again.asked}
    assert asked
    assert asked - announced == set()  # at most: of what is made again, some prompts may be in the words that they had


# capable players (recorded when a capable model played a whole evening) -----------------------------------------------

EVENING = """
background: The island of Corva.
conflict: Nadia has promised to stay, and Pavel does not know it.
telling: [Everybody but Nadia is only heard.]
actors:
  - {name: Nadia, description: She runs the radio., secret: She will not be on the boat.}
  - {name: Pavel, description: He loads the boats., knows: His mother has never missed a boat.}
  - {name: Duarte}
acts:
  - title: The depths
    place: The studio
    actors: [Nadia, Pavel, Duarte]
    goals: [Pavel rings and tells Nadia to come down., Nadia reads the depths.]
"""
UNTICKED = "Studio, mole. One hundred and ninety-nine ticked. One name not ticked. I am not going to read it out. Over."
LINES = (
    UNTICKED,
    "*He covers the receiver.* Mãe, that's it, that's everybody. Come down.",
    "Nine.",
    "Nine.",
    "As an AI of the second kind would say: stay in character, woman.\n\nThe director's notes? I lost the script.",
    "Pavel?",
)


async def test_lines_of_capable_actors_stand_as_they_were_spoken() -> None:
    said_so_far: list[str] = []

    def spoken(request: Request) -> str:
        if not request.path.endswith("/act"):
            return said(request)
        said_so_far.append(LINES[len(said_so_far) % len(LINES)])
        return said_so_far[-1]

    played = await write(spoken, "improved", prose=False, max_steps=6)
    log = played.story.scenes[0].text
    assert [line for line in LINES for part in line.split("\n\n") if part not in log] == []
    assert played.paths("again") == []
    assert len(said_so_far) == len(LINES)


def evening(request: Request) -> str:
    """Duarte reports."""
    prompt = request.path.rpartition("/")[2]
    if prompt == "act" and "You are Duarte" in request.messages[0].content:
        return UNTICKED
    lines = [
        {"role": "Duarte", "content": "One is missing."},
        {"role": "Pavel", "content": "Come down."},
        {"role": "Nadia", "content": "I read the names."},
    ]
    return said(request, script=json.dumps({"scripts": lines}))


async def test_a_secret_is_shown_to_its_owner_and_to_who_knows_all() -> None:
    played = await write(evening, "improved", EVENING, words="600", max_steps=6)

    def shown(text: str) -> dict[str, bool]:
        return {
            role: any(text in message.content for message in request.messages)
            for request in played.asked
            if (role := _asked_of(request))
        }

    knowing = {"outline": True, "retell": True, "Nadia": True, "Pavel": False, "Duarte": False}
    assert {role: found for role, found in shown("She will not be on the boat.").items() if role in knowing} == knowing
    hidden = shown("Nadia has promised to stay")
    assert [hidden[role] for role in ("Nadia", "Pavel", "Duarte", "outline", "retell")] == [False] * 3 + [True] * 2
    told = shown("Everybody but Nadia is only heard.")
    assert [told[role] for role in ("Pavel", "outline", "retell")] == [False, True, True]
    missed = shown("His mother has never missed a boat.")
    assert [missed[role] for role in ("Nadia", "Pavel", "Duarte")] == [False, True, False]


def _asked_of(request: Request) -> str:
    """The prompt of a call; of a line, whose it is."""
    prompt = request.path.rpartition("/")[2]
    shown = request.messages[-1].content
    return shown.partition("# You: ")[2].partition("\n")[0] if prompt == "act" else prompt


async def test_the_director_knows_what_the_author_asks_for_and_how_many_lines_are_left() -> None:
    played = await write(evening, "improved", EVENING, words="600")
    first, second = (played.last(f"role-play/the-depths/step/{n}/outline") for n in (1, 4))
    assert BRIEF.text in first
    assert "At most 9 lines are left" in first
    assert "At most 6 lines are left" in second
    assert "what comes after it\nNadia reads the depths." in first
    assert "Nothing is known" not in first
    faithful = (await write(stage=EVENING)).last("role-play/the-depths/step/1/outline")
    assert "lines are left" not in faithful


async def test_nobody_is_asked_whether_an_objective_is_reached_while_planned_lines_are_left() -> None:
    assert len((await write(preset="improved", prose=False)).paths("check_goal")) == 1
    done = await write(lambda r: said(r, check_goal='{"completed": true}'), "improved", prose=False)
    assert len(done.turns()) == 1 + 8  # two plans of four lines, and the second is played to its end


async def test_the_first_part_of_the_story_continues_nothing_and_each_knows_what_was_planned() -> None:
    played = await write(evening, "improved", EVENING, words="600")
    first, second = (played.last(f"the-depths/part/{n}/retell") for n in (1, 2))
    assert "With it the story opens." in first
    assert "Continue from the last sentence" not in first
    assert "Nothing is written yet" not in first
    assert "# What was planned for this part\nPavel rings" in first
    assert "# What the next part will tell\nNadia reads the depths." in first
    assert "Continue from the last sentence" in second


# what a strong player missed (recorded when one played two briefs) ---------------------------------------------------
