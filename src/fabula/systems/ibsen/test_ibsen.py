"""IBSEN against its description: stage, director, actors, memories, players, interviews, and the story they give."""

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
from fabula.craft.length import WordRange
from fabula.craft.planning import PROMPTS
from fabula.engine.events import Noted
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Assignment, Cast, Person
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.systems import find
from fabula.systems.ibsen.algorithm import Stage, perform
from fabula.systems.ibsen.config import Ours
from fabula.systems.ibsen.interview import interview
from fabula.systems.ibsen.log import Turn, Window, transcript, turns_of
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
        "answer": f"Because of {line_at(request)}",
        "extend": sentence(request.path),
        "final_reading": '{"edits": []}',
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
        return [str(turn) for turn in turns_of(self.journal.newest(f"role-play/{name}") or "")]


def run_on(journal: Journal, model: Any, played: Played | None = None, **context: Any) -> Run:  # noqa: ANN401 - fields of Hands
    cast = context.pop("cast", None) or Cast(Assignment(model), known=SYSTEM.roles, open_role="actor")
    listeners = [played.hear] if played else []
    return Run(RunContext(journal, Prompts(SYSTEM.prompts, common=PROMPTS), cast, listeners=listeners, **context))


async def write(
    script: Callable[[Request], str] = said,
    preset: Preset = "faithful",
    stage: str = ONE,
    journal: Journal | None = None,
    brief: Brief = BRIEF,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Played:
    model, played = ScriptedModel(script), Played(journal or Journal())
    if journal is None:
        played.journal.open()
        played.journal.decide("stage", "edit", stage)
    run = run_on(played.journal, model, played)
    played.story = await SYSTEM.write(brief, run, SYSTEM.config(preset, config))
    played.asked = model.asked
    return played


async def performed(stage: str = TWO, preset: Preset = "improved", **config: Any) -> tuple[Stage, Run, Any]:  # noqa: ANN401 - fields of Config
    journal = Journal()
    journal.open()
    journal.decide("stage", "edit", stage)
    run, settled = run_on(journal, ScriptedModel(said)), SYSTEM.config(preset, config)
    return await perform(BRIEF, run, settled), run, settled


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
    log = played.journal.newest("role-play/the-letter") or ""
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


async def test_plans_that_cannot_be_read_are_made_four_times_and_then_end_the_run() -> None:
    model = ScriptedModel(lambda r: said(r, script="no lines today"))
    with Journal() as journal:
        journal.decide("stage", "edit", ONE)
        with pytest.raises(
            ReplyError, match=r"planned no line at role-play/the-letter/step/1 in 4 tries\. .*asks anew from there"
        ):
            await SYSTEM.write(BRIEF, run_on(journal, model, repairs=1), SYSTEM.config("faithful", {}))
    scripts = [request.path for request in model.asked if request.path.endswith("script")]
    assert len(scripts) == 8  # each of the 4 with one repair
    assert scripts[-1] == "role-play/the-letter/step/1/again/3/script"


async def test_where_planning_fails_improved_lets_those_speak_who_were_silent_longest() -> None:
    played = await write(lambda r: said(r, script="no lines today"), "improved", prose=False)
    assert [turn.partition(":")[0] for turn in played.turns()][1:5] == ["Mara", "Tobias", "Mara", "Tobias"]


@pytest.mark.parametrize("words", ["20000", "900"])
async def test_where_nobody_gives_a_line_that_can_be_read_the_run_stops_after_five_steps(words: str) -> None:
    asked: list[str] = []
    journal = Journal()
    journal.open()
    journal.decide("stage", "edit", ONE)

    def mute(request: Request) -> str:
        asked.append(request.path)
        return "" if request.path.endswith("act") else "??"

    with pytest.raises(ReplyError, match=r"Neither the director nor an actor .* in 5 steps\. The same") as failed:
        await write(mute, "improved", words=words, prose=False, journal=journal)
    steps = {path.split("/")[3] for path in asked if "/step/" in path}
    assert steps == {"1", "2", "3", "4", "5"}
    assert failed.value.at == "role-play/the-letter/step/1/idle"
    journal.give_up(failed.value.at)
    again = await write(said, "improved", words=words, prose=False, journal=journal)
    assert again.turns()
    anew = {path.split("/")[3] for request in again.asked if "/step/" in (path := request.path)}
    assert anew >= {"1", "2"}, "all steps in which nothing came are made anew"


async def test_an_actor_who_speaks_where_planning_fails_keeps_the_play_going() -> None:
    played = await write(lambda r: said(r, script="no lines today"), "improved", prose=False)
    assert len(played.turns()) == 10


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
    stage = ONE.replace(
        "  - name: Tobias\n",
        "    memories: [{event: Father drowned., time: 2020-01-01 10:00}]\n  - name: Tobias\n",
    ).replace("background: Dusk.", "background: The ferry leaves.")
    assert "Father drowned" in stage
    shown = {
        name: (await write(stage=stage, max_steps=1, monologues=False, embedder=name)).last(
            "role-play/the-letter/step/1/act"
        )
        for name in ("", "a-model")
    }
    assert ["Father drowned" in text for text in shown.values()] == [False, True]
    with pytest.raises(UsageError, match=r"'missing' cannot be opened\. No such folder or model is on this machine"):
        await write(stage=stage, max_steps=1, embedder="missing")


async def test_without_the_package_a_named_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"needs the package sentence_transformers.*fabula\[embeddings\]"):
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
        shown = "A bare cape. Dusk.\n\nThe scene: the lamp room" if more else "A bare cape."
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
    [("improved", "off", 5), ("improved", "on", 1), ("faithful", "off", 1)],
)
async def test_a_capable_model_keeps_its_whole_speech(preset: Preset, aids: Aids, kept: int) -> None:
    model, journal = ScriptedModel(lambda r: said(r, act=LONG_SPEECH)), Journal()
    journal.open()
    journal.decide("stage", "edit", ONE)
    config = SYSTEM.config(preset, {"max_steps": 1, "prose": False, "self_check": False})
    await SYSTEM.write(BRIEF, run_on(journal, model, aids=aids), config)
    spoken = turns_of(journal.newest("role-play/the-letter") or "")[-1].text.splitlines()
    lines = [line for line in LONG_SPEECH.splitlines() if line]
    assert len(spoken) == kept
    assert all(line.startswith(said) for line, said in zip(lines, spoken, strict=False))
    assert (spoken == lines) == (kept == len(lines))


async def test_only_small_models_get_short_replies_and_reminders() -> None:
    brief = Brief("Write a story of 2400 words about Mara and Tobias.")

    async def asked(aids: Aids) -> list[Request]:
        model, journal = ScriptedModel(said), Journal()
        journal.open()
        journal.decide("stage", "edit", ONE)
        config = SYSTEM.config("improved", {"max_steps": 5, "window": 4, "window_keep": 2, "interview": "Mara: Why?"})
        await SYSTEM.write(brief, run_on(journal, model, aids=aids), config)
        return model.asked

    bound = [[r.sampling.max_tokens is not None for r in await asked(aids)] for aids in ("off", "on")]
    assert not any(bound[0])
    assert all(bound[1])
    reminder = "no names before what people say"
    reminded = [any(reminder in r.messages[-1].content for r in await asked(aids)) for aids in ("off", "on")]
    assert reminded == [False, True]


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
        *("role-play/the-letter/step/1/act", "role-play/the-letter/step/2/act", "role-play/the-letter/step/2/anew/act"),
        *("role-play/the-letter/step/3/act", "role-play/the-letter/step/3/anew/act"),
    ]
    shown = played.last("role-play/the-letter/step/3/anew/act").partition("The play so far follows.\n\n")[2]
    assert shown.startswith("(Dusk.)\n\n# The others\n- Your impression of Tobias: young\n\nWhat happens now: ")
    assert len((await write(lambda r: said(r, act="Same."), max_steps=3, repeat_threshold=0.0)).paths("act")) == 3


async def test_a_line_out_of_character_is_asked_again_twice_and_then_the_planned_one_stands_in() -> None:
    played = await write(lambda r: said(r, act="As an AI language model, I do not drink tea."), max_steps=1)
    assert len(played.paths("act")) == 3
    assert played.turns()[-1] == "Mara: Mara talks."
    assert any("the director's stands in" in note for note in played.noted)


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
    released = await write(script, "improved", TWO, prose=False, window=6, window_keep=3, own_views=False)
    assert "# What you remember\n- The stamp on the letter was red\n" in released.last("role-play/the-light/step/1/act")


async def test_what_is_less_like_the_moment_is_shown_as_possibly_irrelevant() -> None:
    memories = "    memories: [{event: The instruction manual of the lamp was burnt., thought: I burnt it.}]\n"
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    played = await write(stage=stage, max_steps=1, memory_threshold=-1.0, relevant=2.0)
    assert "it may have nothing to do with this\n- I burnt it." in played.last("role-play/the-letter/step/1/act")


async def test_profile_memories_get_a_monologue_where_they_have_none_and_change_relations() -> None:
    memories = "    memories: [{event: Tobias fell from the ladder.}]\n"
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    after, _, _ = await performed(stage, "faithful", max_steps=1)
    mara = after.actors["Mara"]
    assert [memory.shown for memory in mara.mind.memories.kept] == ["I remember cast/mara/memory/1/monologue."]
    assert mara.mind.relations == {"Tobias": "still a friend"}
    assert mara.mind.impressions == {"Tobias": "young"}


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_a_window_never_holds_more_than_16_and_only_improved_keeps_old_summaries(preset: Preset) -> None:
    after, run, _ = await performed(TWO.replace("[Mara lights the lamp.]", "[a, b, c]"), preset, prose=False)
    made = [call for call in run.context.journal.calls("role-play") if call.path.endswith("sum_up")]
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
    after, _, _ = await performed(ONE, "improved", prose=False, window=4, window_keep=2)
    assert after.actors["Mara"].mind.window.turns[0].text.startswith("Before this, Tobias spoke at the-letter")
    stage = ONE.replace("[Tobias brings a letter.]", "[a, b]")
    played = await write(lambda r: said(r, sum_up="?"), "improved", stage, prose=False)
    assert any("could not be summed up" in note for note in played.noted)
    assert len(played.turns()) == 19


def test_points_add_up_until_they_are_summed_up_anew() -> None:
    window = Window(4, 2)
    window.turns = [Turn("Mara", str(n)) for n in range(5)]
    assert window.full
    assert [turn.text for turn in window.old(keep_first=False)] == ["0", "1", "2"]
    assert [turn.text for turn in window.old(keep_first=True)] == ["1", "2"]
    window.compact(["one"], add=True, background="Dusk.")
    assert [turn.text for turn in window.turns] == ["Before this, one", "Dusk.", "3", "4"]
    window.turns += [Turn("Mara", "5")]
    assert [turn.text for turn in window.old(keep_first=False)] == ["3"]
    window.compact(["two"], add=True)
    assert window.turns[0].text == "Before this, one; two"
    window.compact(["all"], add=False)
    assert window.turns[0].text == "Before this, all"


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
        journal.decide("stage", "edit", ONE)
        await SYSTEM.write(
            BRIEF, run_on(journal, model, cast=cast), SYSTEM.config("improved", {"prose": False, "max_steps": 2})
        )
        log = journal.newest("role-play/the-letter")
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
    config: dict[str, Any] = {"max_steps": 2, "window": 3, "window_keep": 1, "impressions": False, "monologues": False}
    whole = await write(script, stage=SIDE, **config)
    logs = [whole.turns(name) for name in ("the-room", "the-quay", "the-end")]
    for dies_at in range(0, len(whole.asked), 9):
        dying = Dying(script, dies_at)
        journal = Journal()
        journal.open()
        journal.decide("stage", "edit", SIDE)
        with pytest.raises((ModelError, ExceptionGroup)):
            await SYSTEM.write(BRIEF, run_on(journal, dying), SYSTEM.config("faithful", config))
        resumed = await write(script, journal=journal, **config)
        assert resumed.story == whole.story
        assert [resumed.turns(name) for name in ("the-room", "the-quay", "the-end")] == logs
        assert len(dying.asked) + len(resumed.asked) == len(whole.asked)


async def test_an_edited_log_is_lived_through_and_asks_only_what_comes_of_it() -> None:
    config: dict[str, Any] = {"window": 4, "window_keep": 2, "prose": False, "preset": "improved"}
    whole = await write(stage=TWO, **config)
    log = whole.journal.newest("role-play/the-letter") or ""
    last = whole.turns()[-1].partition(": ")[2]
    whole.journal.decide("role-play/the-letter", "edit", log.replace(last, "I have read it, and it says dark."))
    again = await write(journal=whole.journal, **config)
    assert again.turns()[-1].endswith("I have read it, and it says dark.")
    assert not [path for path in again.paths("act") if "the-letter" in path]
    assert again.asked
    assert {request.path.split("/")[1] for request in again.asked} == {"the-light"}
    assert "I have read it, and it says dark." in again.last("role-play/the-light/step/1/act")
    assert "I have read it" in again.story.scenes[0].text


async def test_a_log_that_a_person_wrote_from_the_start_costs_no_line() -> None:
    journal = Journal()
    journal.open()
    journal.decide("stage", "edit", TWO)
    journal.decide("role-play/the-letter", "edit", "It is dark.\n\n**Mara:** The lamp stays lit.\n\n**Tobias:** Good.")
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
    script = script_of(plan(), Ours())
    assert [act.goals for act in script.acts] == [
        ("Tobias brings a letter.", "Mara reads it."),
        ("Mara lights the lamp.",),
    ]
    assert script.acts[0].next_act == "The light"
    assert script.acts[1].actors == ("Mara", "Tobias")
    assert script_of(plan(), Ours(scene_goals=True)).acts[0].goals == ("Tobias brings a letter. Mara reads it.",)
    assert parse_script(write_script(script)) == script


def test_what_a_capable_planner_writes_of_a_person_and_a_scene_is_not_too_long_for_a_script() -> None:
    events = tuple(Event(f"{n} {'They look at the lamp and say nothing of it. ' * 5}") for n in range(30))
    person = Character("Mara", setup="She has kept the light for thirty years, and says so. " * 120)
    plan = Plan(characters=(person,), scenes=(ScenePlan("The lamp", outline=events),))
    (act,) = parse_script(write_script(script_of(plan, Ours(scene_goals=True)))).acts
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
            "3: actor 'a' > name: There are two called 'a'.",
        ),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    actor: [A]", "4: act 'T' > actor: There is no such field."),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    goals: x", "3: act 'T' > actors: Goals need somebody"),
        ("actors: [{name: A}]\nacts:\n  - title: T\n    actors: [A, Bo]", "4: act 'T' > actors 2: 'Bo' is none of"),
        (
            "actors: [{name: A}]\nacts:\n  - title: T\n    next_act: U",
            "4: act 'T' > next_act: There is no sub-act 'U'.",
        ),
        ("actors: [{name: Narration}]\nacts: [{title: T}]", "1: actor 'Narration' > name: 'Narration' is what"),
        ("begins: now\nactors: [{name: A}]\nacts: [{title: T}]", "1: begins: 'now' is no time. Write it as 1962"),
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
        if prompt == "plan_check":
            return json.dumps({"differences": []})
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
        stage = journal.newest("stage")
    cast = next(request for request in model.asked if request.path.endswith("plan_cast"))
    assert "at most" not in cast.messages[-1].content  # the planner decides how many people there are
    assert [scene.label for scene in story.scenes] == ["Night 1", "Night 2"]
    assert stage is not None
    assert parse_script(stage).actors[0].description == "She keeps the light."


async def test_a_person_can_only_be_cast_for_somebody_of_the_script() -> None:
    model = ScriptedModel(said)
    cast = Cast(Assignment(model), {"marra": Assignment(model)}, known=SYSTEM.roles, open_role="actor")
    with Journal() as journal:
        journal.decide("stage", "edit", ONE)
        with pytest.raises(UnknownNameError, match="Did you mean 'mara'"):
            await SYSTEM.write(BRIEF, run_on(journal, model, cast=cast), SYSTEM.config("faithful", {}))


# transcripts --------------------------------------------------------------------------------------------------------


def test_a_transcript_is_read_back() -> None:
    turns = (Turn(NARRATION, "Dusk."), Turn("Mara", "Sit.\nDrink."), Turn("Tobias", "No.", 1))
    text = transcript(turns, ["He comes.", "He\ngoes."])
    assert turns_of(text) == turns
    assert "> Objective 2: He goes." in text
    assert turns_of("Dark.\n> a remark\n**A:**\n**B:** x\n\ny") == (Turn(NARRATION, "Dark."), Turn("B", "x\ny"))
    assert Turn.of("A", "> **B:** x\n\n\ny").text == "B:** x\ny"


# interviews -------------------------------------------------------------------------------------------


async def test_an_interview_leaves_no_trace() -> None:
    after, run, _ = await performed(window=6, window_keep=3)
    mara = after.actors["Mara"]
    before = (
        list(mara.mind.window.turns),
        list(mara.mind.memories.kept),
        dict(mara.mind.relations),
        dict(mara.mind.impressions),
    )
    answers = await interview(mara, ["Why did you light it?", "Are you sure?"], after.play, after.hour, run)
    assert len(set(answers)) == 2
    assert (
        list(mara.mind.window.turns),
        list(mara.mind.memories.kept),
        dict(mara.mind.relations),
        dict(mara.mind.impressions),
    ) == before
    with pytest.raises(UnknownNameError, match="Did you mean 'Mara'"):
        await write(interview="Marra: ?", max_steps=1)


async def test_a_question_sees_the_answers_before_it_and_ten_entries_at_most() -> None:
    played = await write(preset="improved", prose=False, interview="Mara: Why? | Mara: Really? | Tobias: And you?")
    shown = played.last("role-play/interview-mara/interview/mara/2/answer").partition("# What was said\n")[2]
    lines = shown.partition("\n\n")[0].splitlines()
    assert len(lines) == 10
    assert lines[-1] == "Interviewer: Really?"
    assert lines[-2].startswith("Mara: Because of")
    assert "(The play is paused.)" in lines
    kept = played.journal.newest("role-play/interview-tobias") or ""
    assert kept.startswith("**Interviewer:** And you?\n\n**Tobias:** Because of")
    plain = await write(preset="improved", prose=False)
    assert plain.story == played.story


async def test_an_interview_has_its_own_border_between_relevant_and_irrelevant_memories() -> None:
    assert SYSTEM.config("faithful").paper.interview_relevant == 0.3
    memories = "    memories: [{event: The instruction manual of the lamp was burnt., thought: I burnt it.}]\n"
    stage = ONE.replace("    relations: {Tobias", memories + "    relations: {Tobias")
    how: dict[str, Any] = {"max_steps": 1, "memory_threshold": -1.0, "relevant": 2.0, "interview_relevant": -1.0}
    played = await write(stage=stage, interview="Mara: Why?", **how)
    assert "# What you remember\n- I burnt it." in played.last("role-play/interview-mara/interview/mara/1/answer")
    assert "it may have nothing to do with this\n- I burnt it." in played.last("role-play/the-letter/step/1/act")


async def test_a_question_without_a_name_says_how_to_write_it() -> None:
    with pytest.raises(UsageError, match=r"'Why\?' is no question\. Write interview as NAME: question"):
        await write(interview="Why?", max_steps=1)


# the story ----------------------------------------------------------------------------------------------------------


async def test_faithful_gives_the_dialogue_log_and_improved_prose_of_the_length_asked() -> None:
    log = await write(stage=TWO)
    assert log.story.scenes[0].text.startswith("(Dusk.)\n\nMara: ")
    assert log.paths("retell") == []
    brief = Brief("Write a story of 300 words about Mara and Tobias.")
    prose = await write(preset="improved", stage=TWO, brief=brief)
    assert 270 <= prose.story.words <= 330
    assert prose.paths("retell") == ["drafts/the-letter/part/1/retell", "drafts/the-light/part/1/retell"]
    shown = prose.last("drafts/the-light/part/1/retell")
    assert "This part ends the story" in shown
    assert prose.turns("the-light")[-1] in shown


async def test_for_a_long_story_objectives_are_parted_into_stages() -> None:
    brief = Brief("Write a story of 2400 words about Mara and Tobias.")
    played = await write(preset="improved", stage=ONE, brief=brief, max_steps=1, min_steps=1)
    assert played.paths("split_goal") == [
        "role-play/the-letter/goal/1/stages/1/split_goal",
        "role-play/the-letter/goal/1/stages/7/split_goal",
    ]
    log = played.journal.newest("role-play/the-letter") or ""
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
    config |= {"initial_impressions": False, "repeat_threshold": 0.0, "expand_goals": False}
    whole = await write(by_prompt, preset, FOUR, **config)
    text = whole.journal.newest(path) or ""
    assert before in text
    whole.journal.decide(path, "edit", text.replace(before, after, 1))
    dry = run_on(whole.journal, ScriptedModel(by_prompt), mode="dry")
    await SYSTEM.write(BRIEF, dry, SYSTEM.config(preset, config))
    announced = {call.path for call in dry.context.dry_run.planned}
    again = await write(by_prompt, preset, journal=whole.journal, **config)
    asked = {request.path for request in again.asked}
    assert asked
    assert asked - announced == set()
    # A summary may be announced for turns that are older than the edit: it is made after lines that will be others.
    assert {path for path in announced - asked if "/heard/" not in path} == set()


# capable players (recorded when a capable model played a whole evening) -----------------------------------------------

RADIO = Plan(
    scenes=(
        ScenePlan(
            "The depths",
            (
                Event("Pavel rings and tells Nadia to come down."),
                Event("Duarte reports that one name is not ticked", present=("Nadia", "Duarte")),
                Event("Nadia opens the microphone."),
                Event("Pavel casts off."),
            ),
            place="The studio; everybody but Nadia is heard only",
            characters=(Presence("Nadia"), Presence("Pavel"), Presence("Duarte")),
            time="2",
            date="the night of 10 March 1988",
        ),
        ScenePlan(
            "The promise",
            (Event("Nadia promises to be the last."),),
            characters=(Presence("Nadia", age="forty", then="She has just got the key"),),
            time="1",
        ),
    ),
    characters=(
        Character(
            "Nadia",
            role="protagonist",
            gender="female",
            age="fifty-three",
            setup="Runs the radio alone",
            personality="Dry, calm",
            secret="She will still be there when the last boat has left",
        ),
        Character("Pavel", knows="His mother has never missed a boat."),
        Character("Duarte"),
    ),
    conflict="Nadia has promised to stay, and Pavel does not know it.",
    setting="The island of Corva.",
    tense="past tense",
    demands=("Everybody but Nadia is only heard.",),
)
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
    date: the night of 10 March 1988
    background: The studio
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
    """Duarte's report is for Nadia alone."""
    prompt = request.path.rpartition("/")[2]
    if prompt == "act" and "You are Duarte" in request.messages[0].content:
        return UNTICKED
    lines = [
        {"role": "Duarte", "content": "One is missing.", "unheard_by": ["Pavel", "Duarte"]},
        {"role": "Pavel", "content": "Come down."},
        {"role": "Nadia", "content": "I read the names."},
    ]
    return said(request, script=json.dumps({"scripts": lines}))


async def test_who_does_not_hear_a_line_is_never_shown_it() -> None:
    played = await write(evening, "improved", EVENING, words="600", max_steps=6)
    acts = {r.path: "\n".join(m.content for m in r.messages) for r in played.asked if r.path.endswith("/act")}
    assert [UNTICKED in text for text in acts.values() if "You: Nadia" in text] == [True, True, True, True]
    assert [UNTICKED in text for text in acts.values() if "You: Pavel" in text] == [False] * 4
    later = played.last("role-play/the-depths/step/4/outline")
    assert f"Duarte: {UNTICKED} [unheard by Pavel]" in later
    log = played.journal.newest("role-play/the-depths") or ""
    assert f"**Duarte (unheard by Pavel):** {UNTICKED}" in log
    assert transcript(turns_of(log)) == "\n\n".join(p for p in log.split("\n\n") if not p.startswith(">"))
    assert turns_of(log)[1].unheard == ("Pavel",)


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


async def test_a_line_s_prompt_names_place_and_date_once_and_nothing_that_is_still_to_come() -> None:
    played = await write(evening, "improved", EVENING, words="600", max_steps=6)
    text = played.last("role-play/the-depths/step/1/act")
    assert text.count("The studio") == 1
    assert "When: the night of 10 March 1988" in text
    assert "They talk." not in text  # the outline
    uninstructed = await write(evening, "improved", EVENING, max_steps=6, use_instruction=False)
    assert "They talk." in uninstructed.last("role-play/the-depths/step/1/act")


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


async def test_improved_asks_whether_an_objective_is_reached_when_the_planned_lines_are_played() -> None:
    early, late = [await write(preset="improved", prose=False, late_checks=late) for late in (False, True)]
    assert [len(played.paths("check_goal")) for played in (early, late)] == [4, 1]
    done = await write(lambda r: said(r, check_goal='{"completed": true}'), "improved", prose=False)
    assert len(done.turns()) == 1 + 8  # two plans of four lines, and the second is played to its end


async def test_the_first_part_of_the_story_continues_nothing_and_each_knows_what_was_planned() -> None:
    played = await write(evening, "improved", EVENING, words="600")
    first, second = (played.last(f"drafts/the-depths/part/{n}/retell") for n in (1, 2))
    assert "With it the story opens." in first
    assert "Continue from the last sentence" not in first
    assert "Nothing is written yet" not in first
    assert "# What was planned for this part\nPavel rings" in first
    assert "# What the next part will tell\nNadia reads the depths." in first
    assert "Continue from the last sentence" in second


async def test_the_story_is_read_once_at_its_end() -> None:
    edits = json.dumps({"edits": [{"paragraph": 1, "old": "The boat left.", "new": "The last boat left."}]})

    def read(request: Request) -> str:
        if request.path.endswith("/retell"):
            return "The boat left. " + said(request)
        return said(request, final_reading=edits)

    played = await write(read, "improved", max_steps=5)
    assert played.story.scenes[0].text.startswith("The last boat left. ")
    assert len(played.paths("final_reading")) == 1
    assert played.paths("final_reading")[0].startswith("drafts/")
    without = await write(read, "improved", max_steps=5, final_reading=False)
    assert without.story.scenes[0].text.startswith("The boat left. ")


def test_the_script_of_a_plan_keeps_what_the_plan_says_of_people_and_time() -> None:
    script = script_of(RADIO, SYSTEM.config("improved", {}).ours, WordRange.about(1200))
    promise, depths = script.acts  # as it happens; told the other way round
    assert (promise.told, depths.told) == (2, 1)
    assert depths.date == "the night of 10 March 1988"
    assert depths.goals == (
        f"{RADIO.scenes[0].outline[0].text} Duarte reports that one name is not ticked. (Not witnessed by Pavel.)",
        "Nadia opens the microphone. Pavel casts off.",
    )
    nadia = script.actors[0]
    assert nadia.description == "Female, fifty-three. Runs the radio alone. Personality: Dry, calm."
    assert nadia.secret.startswith("She will still be there")
    assert nadia.at(promise).whole == "Female, forty. She has just got the key. Personality: Dry, calm."
    assert nadia.at(depths) == nadia
    assert "promised" not in script.background
    assert "promised" in script.conflict
    assert script.telling == ("past tense", "Everybody but Nadia is only heard.")
    assert parse_script(write_script(script)) == script


async def test_what_happens_first_is_played_first_and_told_where_the_plan_tells_it() -> None:
    stage = write_script(script_of(RADIO, SYSTEM.config("improved", {}).ours))
    played = await write(preset="improved", stage=stage, max_steps=5)
    assert played.paths("outline")[0].startswith("role-play/the-promise/")
    assert [scene.label for scene in played.story.scenes] == ["The depths", "The promise"]


async def test_a_small_model_that_repeats_its_instruction_is_asked_again_in_another_way() -> None:
    told = "Say nothing of the wheel yet, and ask her who had it that night."
    journal = Journal()
    journal.open()
    journal.decide("stage", "edit", ONE)
    model = ScriptedModel(
        lambda r: said(
            r, act=f"The director said to me: {told}" if "again" not in r.path else "Who had it?", instruct=told
        )
    )
    config = SYSTEM.config("improved", {"max_steps": 1, "prose": False})
    await SYSTEM.write(BRIEF, run_on(journal, model, aids="on"), config)
    assert turns_of(journal.newest("role-play/the-letter") or "")[-1].text == "Who had it?"
    asked = [request for request in model.asked if request.path.endswith("/act")]
    assert [request.path for request in asked][1].endswith("/again/1/act")
    assert asked[0].sampling.temperature != asked[1].sampling.temperature


# what a strong player missed (recorded when one played two briefs) ---------------------------------------------------

LETTER = "Dear Mila, no weather keeps me here, only a mistake of my own. She has always said how things are."
POST = Plan(
    title="Return to Sender",
    scenes=(
        ScenePlan(
            "Steam",
            (Event("Ada opens the letter and reads it."),),
            place="Ada's kitchen, two streets from Ropewalk Lane: a kettle, one cup",
            importance=4,
            characters=(Presence("Ada", "To know what he writes"), Presence("The villagers")),
            time="1954-11-11 20:00",
            date="the evening of Thursday, 11 November 1954",
        ),
        ScenePlan(
            "The mole",
            (Event("Mila reads the letter."), Event("Ada keeps her secret.", present=("Ada",))),
            place="the end of the mole: wet granite",
            importance=8,
            characters=(Presence("Ada"), Presence("Mila", "To know when his ship comes in")),
            time="1954-11-12 16:00",
            date="Friday, 12 November 1954",
        ),
    ),
    characters=(
        Character("Ada", knows="That Lukas is in prison"),
        Character("Mila", knows="That her father is at sea and has not written"),
        Character("Lukas", setup="Mila's father"),
        Character("The villagers", group=True),
    ),
    setting="A harbour town, from one Thursday to the Friday on which the girl learns all.",
    person="third person, close to Lukas",
    payoffs=("The sentence of the letter returns in scene 2.",),
)
POST_BRIEF = Brief("Write a story of about 300 words about a letter.", title="Return to Sender")


def post(request: Request) -> str:
    """In the first scene the letter is read, in the second it is shown to Mila alone."""
    mole = "/the-mole/" in request.path
    letter = {"role": "Document", "content": LETTER, "unheard_by": ["Ada"] if mole else []}
    says = {"role": "Mila" if mole else "Ada", "content": "He says so.", "fixed": "She has always said how things are."}
    return said(request, script=json.dumps({"scripts": [letter, says, says, says, says, says]}))


async def posted(script: Callable[[Request], str] = post, **config: Any) -> Played:  # noqa: ANN401 - fields of Config
    stage = write_script(script_of(POST, SYSTEM.config("improved", {}).ours))
    return await write(script, "improved", stage, brief=POST_BRIEF, words="280-320", **config)


async def test_actors_see_place_and_date_of_their_scene_and_not_the_setting_of_the_whole_story() -> None:
    played = await posted()
    shown = {r.path.rpartition("/")[2]: r.messages[0].content + r.messages[-1].content for r in played.asked}
    assert ["the girl learns all" in shown[prompt] for prompt in ("act", "outline", "retell")] == [False, True, True]
    first = played.last("role-play/steam/step/2/act")
    assert "The scene: Ada's kitchen" in first
    assert "When: the evening of Thursday" in first
    bare = await write(preset="improved", stage=f"setting: A bare cape.\n{ONE}", prose=False)
    assert "A bare cape." in bare.last("role-play/the-letter/step/1/act")  # where the scene itself has neither


async def test_the_writer_knows_all_who_are_in_the_scene_and_whoever_the_story_is_close_to() -> None:
    played = await posted()
    first = played.last("drafts/steam/part/1/retell")
    assert "- The villagers" in first  # they speak no line
    assert "- Lukas: Mila's father." in first
    assert "- Mila" not in first


async def test_between_scenes_what_was_heard_has_a_break_with_date_and_place() -> None:
    played = await posted()
    second = played.last("role-play/the-mole/step/2/act")
    ada = next(r for r in played.asked if "/the-mole/" in r.path and r.path.endswith("/act") and _asked_of(r) == "Mila")
    assert "[Earlier:" not in ada.messages[-1].content  # Mila was not there
    assert second == played.last(ada.path)

    def ada_speaks(request: Request) -> str:
        line = json.dumps({"scripts": [{"role": "Ada", "content": "This one did not come from the sea."}]})
        return said(request, script=line)

    shown = (await posted(ada_speaks)).last("role-play/the-mole/step/1/act")
    assert "[Earlier: the evening of Thursday, 11 November 1954; Ada's kitchen]\nAda: " in shown
    assert "[Now; the scene begins.]" in shown
    later = (await posted(ada_speaks)).last("role-play/the-mole/step/2/act")
    assert "\n[Now]\nAda: " in later
    minutes = next(r for r in (await posted(ada_speaks, window=6, window_keep=3)).asked if r.path.endswith("sum_up"))
    assert "[the evening of Thursday, 11 November 1954; Ada's kitchen]\nAda: " in minutes.messages[-1].content
    assert "say when it happened" in minutes.messages[-1].content


async def test_a_letter_stands_word_for_word_and_reaches_who_reads_it_and_nobody_else() -> None:
    played = await posted()
    assert f"Document: {LETTER}" in played.turns("steam")
    assert f"**Document (unheard by Ada):** {LETTER}" in (played.journal.newest("role-play/the-mole") or "")
    for prompt in ("outline", "script"):  # the director of the second scene has the words of the first
        shown = played.last(f"role-play/the-mole/step/1/{prompt}")
        assert f"- {LETTER} (read by Ada, The villagers)" in shown
    assert f"Document: {LETTER}" in played.last("role-play/the-mole/step/2/act")
    assert (
        "A document, and words that the author or the plan fixes, stand word for word; one that the story so far has"
        in played.last("drafts/steam/part/1/retell")
    )
    small = await write(preset="improved", stage=ONE, prose=False)
    assert small.paths("script")


async def test_what_was_learned_counts_more_than_the_sheet_of_the_beginning() -> None:
    played = await posted()
    shown = played.last("role-play/the-mole/step/2/act")
    assert (
        "has not written\nWhat you hide and know was so when the story began. Where you have learned otherwise since"
        in shown
    )
    assert "Knew when the story began: That her father" in played.last("role-play/the-mole/step/1/outline")


async def test_words_are_shared_out_as_the_plan_weighs_its_scenes() -> None:
    played = await posted()
    assert "Write about 100 words" in played.last("drafts/steam/part/1/retell")
    played = await posted(lambda r: said(r, retell=" ".join(["So it was."] * 34)) if "retell" in r.path else post(r))
    assert "about 198 words" in played.last("drafts/the-mole/part/1/retell")


async def test_fixed_words_reach_the_actor_and_what_is_meant_to_return_may_return() -> None:
    played = await posted()
    asked = played.last("role-play/steam/step/2/instruct")
    assert "which have to be said exactly as they are and which you need not repeat: She has always said how" in asked
    assert "start from what was really said" in asked
    spoken = played.last("role-play/steam/step/2/act")
    assert "These words have to stand in your line exactly as they are: She has always said how things are." in spoken
    assert "unless it is meant to return" in spoken
    assert "is meant to return may" in played.last("drafts/the-mole/part/1/retell")
    faithful = (await write(stage=ONE)).last("role-play/the-letter/step/1/act")
    assert "You never repeat what has been said" in faithful


async def test_what_somebody_wants_in_a_scene_is_for_them_the_director_and_the_writer() -> None:
    played = await posted()
    assert "What you want in this scene: To know when his ship comes in" in played.last("role-play/the-mole/step/2/act")
    assert "Wants in this scene: To know what he writes." in played.last("role-play/steam/step/1/outline")


async def test_no_prompt_makes_a_group_singular_and_each_of_them_has_the_title() -> None:
    crowd = json.dumps({"scripts": [{"role": "The villagers", "content": "Dig!"}]})
    played = await posted(lambda r: said(r, script=crowd) if "/steam/" in r.path else post(r))
    shown = played.last("role-play/steam/step/1/instruct")
    assert [
        text for text in ("villagers is", "villagers finds", "villagers sees", "villagers hides") if text in shown
    ] == []
    titled = [path for prompt in ("outline", "retell", "final_reading") for path in played.paths(prompt)]
    assert [path for path in titled if "Return to Sender" not in played.last(path)] == []


async def test_the_editor_has_the_scenes_in_the_order_of_telling() -> None:
    stage = write_script(script_of(RADIO, SYSTEM.config("improved", {}).ours))
    played = await write(preset="improved", stage=stage, max_steps=5)
    shown = played.last(played.paths("final_reading")[0])
    assert "1. The depths (the night of 10 March 1988; The studio): Pavel rings" in shown
    assert "2. The promise: Nadia promises" in shown


async def test_nothing_is_noted_of_people_who_do_not_return_or_after_the_last_line() -> None:
    def noted(request: Request) -> str:
        return said(request, sum_up=json.dumps({"points": ["Mara, Tobias and Old Father spoke of the boat."]}))

    stage = ONE.replace("  - name: Tobias\n", "  - name: Tobias\n  - name: Old Father\n")
    all_, spared = [
        await write(noted, "improved", stage, prose=False, window=5, window_keep=1, spare_notes=spare)
        for spare in (False, True)
    ]
    of = "old-father/impression"
    assert [any(path.endswith(of) for path in played.paths("impression")) for played in (all_, spared)] == [True, False]
    late = [f"role-play/the-letter/heard/{n}/" for n in range(7, 11)]
    for played, some in ((all_, True), (spared, False)):
        assert any(path.startswith(tuple(late)) and "/director/" not in path for path in played.paths("sum_up")) == some
    assert len(spared.asked) < len(all_.asked)
