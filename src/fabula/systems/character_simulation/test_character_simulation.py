"""Character Simulation against its paper: both orders of time, Algorithm 1, memories, the rewrite, edits and counts."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fabula.base.errors import PlanError, ReplyError, UnknownNameError
from fabula.craft import PROMPTS
from fabula.engine.events import Noted
from fabula.engine.journal import CallFilter, Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Assignment, Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Sampling
from fabula.models.scripted import ScriptedModel
from fabula.story import SLUG_LENGTH, Brief, Story, plain
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_file import write_plan
from fabula.systems import find
from fabula.systems.character_simulation.improved import Agent
from fabula.systems.character_simulation.transcript import ChatMessage, transcript, turns_of
from shortening import shortened

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fabula.engine.context import Aids
    from fabula.engine.dry_run import DryRun
    from fabula.engine.methods import Preset
    from fabula.models.base import Reply, Request
    from fabula.models.scripted import Script

SYSTEM = find("character-simulation")
BRIEF = Brief("Write about Mara, who keeps a lighthouse.", "The Lamp")
BOTH = pytest.mark.parametrize("preset", ["faithful", "improved"])
WORDS = ("keeper", "boy", "boat", "storm", "letter", "lamp", "sister", "gull", "reef", "quay", "road", "waited", "fell",
         "sang", "slept", "rose", "slowly", "below", "before", "until")  # fmt: skip
SHEETS = (
    Character(
        "Mara", "protagonist", "female", "70", "Keeps the light.", speech="Few words.", goal="To see the boats home."
    ),
    Character(
        "Tobias", "companion", "male", "10", "Brings the bread.", speech="Asks a lot.", goal="To have his father back."
    ),
    Character("Aud", "rival", "female", "40", "Sits in the office.", speech="Long words.", goal="To save money."),
)


def scene(name: str, present: Sequence[str], *events: str | Event, time: str = "", **more: Any) -> ScenePlan:  # noqa: ANN401 - fields of ScenePlan
    """A scene whose people want something that names them and the scene."""
    outline = tuple(Event(event) if isinstance(event, str) else event for event in events)
    there = tuple(Presence(who, f"{who} wants something in {name}") for who in present)
    return ScenePlan(name, outline, place=f"The place of {name}", characters=there, time=time, **more)


LETTER = scene("The letter", ["Mara", "Tobias"], "Tobias brings a letter.", "Mara reads it.", time="2")
LIGHT = scene("The light", ["Mara", "Tobias"], "The wind turns.", "Mara lights the lamp.", time="3")
WRECK = scene("The wreck", ["Mara"], "Mara is pulled out of the sea.", time="1")
PLAN = Plan((LETTER, LIGHT, WRECK), SHEETS, "The lamp is to go dark.", "A cape in 1962.", "The Last Lamp")
ONE = replace(PLAN, scenes=(LETTER,))
UNTIMED = replace(PLAN, scenes=tuple(replace(one, time="") for one in PLAN.scenes))


def prompts(preset: Preset) -> SystemPrompts:
    """The prompts of a preset."""
    return SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)


def kind(request: Request) -> str:
    """The prompt that a request was made with."""
    return request.path.rpartition("/")[2]


def read_by(request: Request) -> str:
    """All that the model reads."""
    return "\n".join(message.content for message in request.messages)


def unit_of(request: Request) -> str:
    """The unit that a request belongs to, such as "the-letter"."""
    return request.path.split("/")[1]


def turn_of(request: Request) -> int:
    return int(request.path.split("/")[3])


def events_in(request: Request) -> list[str]:
    """The events of the outline that a sorter or director is shown."""
    return re.findall(
        r"^(?:\d+\.|-) (.+)$", read_by(request).partition("# Outline\n")[2].partition("\n\n")[0], re.MULTILINE
    )


def events_played(request: Request) -> list[str]:
    """The outline that a director is shown."""
    return re.findall(r"^\d+\. (.+)$", read_by(request).partition("# Played so far")[0], re.MULTILINE)


class Play:
    """A scripted cast. By default a scene ends after `turns` turns, and its people play in turn.

    `orders` are what is answered to the sorting of scenes; `speaker` and `command` say what the director chooses.
    """

    def __init__(self, *, turns: int = 2, numbered: bool = False, orders: Sequence[str] = ()) -> None:
        self.turns, self.numbered, self.orders = turns, numbered, [list(order.split("|")) for order in orders]
        self.plain = numbered

    def speaker(self, request: Request, names: list[str]) -> str:
        return names[(turn_of(request) - 1) % len(names)]

    def command(self, request: Request) -> str:
        number = turn_of(request)
        return f"Play part {number} of {unit_of(request)} as {'abcdefghij'[number % 10]} would in your place"

    def covered(self, request: Request) -> bool:
        return turn_of(request) > self.turns

    def __call__(self, request: Request) -> str | Reply | Awaitable[str | Reply]:
        return getattr(self, f"on_{kind(request)}")(request)  # type: ignore[no-any-return] # each gives one of these

    def on_sort_scenes(self, request: Request) -> str:
        names = re.findall(r"^## (.+)$", read_by(request), re.MULTILINE)
        return json.dumps({"scenes": self.orders.pop(0) if self.orders else names})

    def on_chronological_outline(self, request: Request) -> str:
        points: list[Any] = [f"Now: {event}" for event in events_in(request)]
        if self.numbered:
            points = [{"event": number, "text": text} for number, text in enumerate(points, 1)]
        return json.dumps({"points": points})

    def on_terminate(self, request: Request) -> str:
        covered = self.covered(request)
        return json.dumps({"reasons": "All is covered." if covered else "An event is left.", "covered": covered})

    def on_direct(self, request: Request) -> str:
        names = re.search(r"exactly one of: (.+)\. Give", read_by(request))
        assert names
        said = {"next_speaker": self.speaker(request, names[1].split(", ")), "next_command": self.command(request)}
        return json.dumps({"remaining": [1 if self.numbered else "An event that is left."], **said})

    def on_decide(self, request: Request) -> str:
        said = json.loads(self.on_direct(request))
        names = request.schema["properties"]["next_speaker"].get("enum", []) if request.schema else []
        blank = {"next_speaker": "", "next_command": ""} if "" in names else {}  # small models fill all
        return json.dumps(said | {"remaining": [], **blank} if self.covered(request) else said)

    def on_memory(self, request: Request) -> str:
        return f"I remember what was before turn {turn_of(request)} of {unit_of(request)}."

    def on_state(self, request: Request) -> str:
        return f"Tired as one is before turn {turn_of(request)} of {unit_of(request)}."

    def on_respond(self, request: Request) -> str:
        said = f"{request.role} plays turn {turn_of(request)} of {unit_of(request)}."
        return said if self.plain else json.dumps({"response": said})

    def on_rewrite(self, request: Request) -> str:
        return f"Rain fell on {request.path.split('/')[-2]}. She waited until the last of the boats was home."


async def play(
    script: Script,
    plan: Plan | None = PLAN,
    preset: Preset = "faithful",
    journal: Journal | None = None,
    cast: Cast | None = None,
    aids: Aids = "off",
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Story, list[Request]]:
    """The story of a play, and what was asked for it; the first error of a group is raised as it is."""
    model = ScriptedModel(script, capabilities=Capabilities(schema=True))
    with journal or Journal() as opened:
        if plan is not None and opened.decisions.override("plan") is None:
            opened.decisions.add("plan", "edit", write_plan(plan))
        context = RunContext(opened, prompts(preset), cast or Cast.of(model), aids=aids)
        context.listeners = [opened.hear] if isinstance(opened, Kept) else []
        try:
            story = await SYSTEM.write(BRIEF, Run(context), SYSTEM.config(preset, config))
        except BaseExceptionGroup as several:
            raise first(several) from several
    return story, model.asked


def first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = several.exceptions[0]
    return first(inner) if isinstance(inner, BaseExceptionGroup) else inner


async def estimate(plan: Plan, preset: Preset = "faithful", **config: Any) -> DryRun:  # noqa: ANN401 - fields of Config
    """What a dry run counts."""
    with Journal() as journal:
        journal.decisions.add("plan", "edit", write_plan(plan))
        context = RunContext(journal, prompts(preset), Cast.of(ScriptedModel({})), mode="dry")
        await SYSTEM.write(BRIEF, Run(context), SYSTEM.config(preset, config))
        return context.dry_run


def kinds(asked: Sequence[Request], unit: str = "") -> list[str]:
    return [kind(request) for request in asked if not unit or unit_of(request) == unit]


class Kept(Journal):
    """A journal in memory that outlives the runs made with it, and knows the remarks made in them."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def hear(self, event: object) -> None:
        if isinstance(event, Noted):
            self.notes.append(event.text)

    def __enter__(self) -> Self:
        if self._store._db is None:  # noqa: SLF001 - opened with the first story
            self.open()
        return self

    def close(self) -> None:
        """Stay open."""


# Algorithm 1 ----------------------------------------------------------------------------------------------------------

TURN = ["terminate", "direct", "memory", "state", "respond"]


async def test_a_scene_is_played_as_algorithm_1_says() -> None:
    story, asked = await play(Play(turns=2), ONE)
    assert kinds(asked) == ["chronological_outline", *TURN, *TURN, "terminate", "rewrite"]
    assert [request.role for request in asked if kind(request) == "respond"] == ["Mara", "Tobias"]
    assert [scene.label for scene in story.scenes] == ["The letter"]
    assert story.scenes[0].text == "Rain fell on the-letter. She waited until the last of the boats was home."


@pytest.mark.parametrize(("turns", "most", "played", "ended"), [(0, 9, 0, 1), (2, 9, 2, 1), (3, 3, 3, 0), (9, 2, 2, 0)])
async def test_what_the_paper_costs(turns: int, most: int, played: int, ended: int) -> None:
    _, asked = await play(Play(turns=turns), PLAN, max_turns=most)
    scenes = len(PLAN.scenes)
    assert len(asked) == scenes * (5 * played + ended + 2), "5 a turn, outline and rewrite, and who ends a scene"
    _, asked = await play(Play(turns=turns), UNTIMED, max_turns=most)
    assert len(asked) == scenes * (5 * played + ended + 2) + 1, "one more sorts the scenes"


@pytest.mark.parametrize("most", [1, 4])
async def test_a_dry_run_counts_the_same_calls_with_all_turns_played(most: int) -> None:
    found = await estimate(PLAN, max_turns=most)
    _, asked = await play(Play(turns=99), PLAN, max_turns=most)
    assert sorted(call.path for call in found.planned) == sorted(request.path for request in asked)
    assert len(found.planned) == 3 * (5 * most + 2)
    assert len((await estimate(UNTIMED, max_turns=most)).planned) == 3 * (5 * most + 2) + 1


@pytest.mark.parametrize("most", [2, 5])
async def test_the_improved_dry_run_counts_on_what_it_takes_to_play_the_events(most: int) -> None:
    found = await estimate(PLAN, "improved", max_turns=most)
    _, asked = await play(Play(turns=99, numbered=True), PLAN, "improved", max_turns=most)
    assert {call.role for call in found.planned} <= {request.role for request in asked}, "somebody speaks"
    assert len(found.planned) <= max(len(asked), 3 * (5 * most + 2))


INSTRUCTIONS = {
    "sort_scenes": [
        "a creative writer",
        "in which they happen",
        "by their outlines",
        "name of each scene exactly once",
    ],
    "chronological_outline": [
        *("strictly in the order in which things happen", "Nobody looks back", "what drives the characters"),
        *("interact in a meaningful way", "form of the outline", "present tense", "about as long", "add no event"),
    ],
    "terminate": [
        *("direct one scene of a role-playing game", "guide them so that the scene follows its outline"),
        *("what was played", "the reasons for your decision", "Be specific", "each event", "the exact character"),
        "true if the play has covered the entire outline",
    ],
    "direct": [
        *("guide them so that the scene follows its outline", "repeat exactly, word for word", "does not yet show"),
        *("choose who plays next", "exactly one of: Mara, Tobias", "the exact name", "directly", "for one turn"),
        *(
            "what to do or in which direction to talk",
            "age, gender and personality",
            "leaves the wording",
            "Be concise",
        ),
    ],
    "respond": [
        *("as an observer", "in the third person", "what the character does and what it says"),
        *("goal, age, gender and personality at all times", "must show in the turn in a logical way"),
        *("natural and realistic", "age, background, personality and way of speaking", "without any closing remark"),
        *("Stay an observer", "memory and physical state", "concise", "contradict nothing"),
    ],
    "memory": [
        *("not yet taken in", "has experienced", "learned from the conversation", "does not matter"),
        *("in the first person", "nothing else"),
    ],
    "state": ["not yet taken in", "age, gender and set-up", "make sense after these turns", "nothing else"],
    "rewrite": [
        *("a creative writer", "its part in the whole narrative arc", "how the characters realistically act and talk"),
        *("flows naturally out of the ending", "its style, its vocabulary and its overall mood"),
        *("is not explained a second time", "agrees with their traits"),
    ],
}


@pytest.mark.parametrize("prompt", INSTRUCTIONS)
async def test_the_prompts_carry_every_instruction_of_the_appendix(prompt: str) -> None:
    _, asked = await play(Play(), UNTIMED)
    shown = read_by(next(request for request in asked if kind(request) == prompt))
    assert [said for said in INSTRUCTIONS[prompt] if said not in shown] == []


async def test_the_director_sees_the_outline_in_time_and_all_that_was_played() -> None:
    _, asked = await play(Play(turns=2), ONE)
    last = read_by(asked[-2])
    assert "1. Now: Tobias brings a letter.\n2. Now: Mara reads it." in last
    assert "Mara plays turn 1 of the-letter.\nTobias plays turn 2 of the-letter." in last
    mara = (
        "- Mara (protagonist, female, 70) - Keeps the light. Way of speaking: Few words. Wants: To see the boats home."
    )
    assert f"{mara} Wants here: Mara wants something in The letter." in last
    assert mara in read_by(asked[0]), "and the outline is made with the same information"


async def test_a_character_hears_its_command_its_goal_and_the_last_turns() -> None:
    _, asked = await play(Play(turns=4), ONE, recent=2)
    responses = [read_by(request) for request in asked if kind(request) == "respond"]
    assert "The director says to Tobias: Play part 4" in responses[3]
    assert "In this scene Tobias wants: Tobias wants something in The letter" in responses[3]
    assert re.findall(r"plays turn (\d)", responses[3]) == ["2", "3"]
    assert "I remember what was before turn 4 of the-letter." in responses[3]
    assert "Tired as one is before turn 4 of the-letter." in responses[3]
    _, asked = await play(Play(turns=2), ONE, recent=0)
    assert not re.findall(r"plays turn", read_by(asked[-3]))


async def test_a_memory_takes_in_what_its_owner_has_not_seen_and_that_once() -> None:
    _, asked = await play(Play(turns=4), ONE)
    seen = [re.findall(r"plays turn (\d)", read_by(request)) for request in asked if kind(request) == "memory"]
    assert seen == [[], ["1"], ["1", "2"], ["2", "3"]]
    assert "I remember what was before turn 1" in read_by(next(r for r in asked if r.path.endswith("turn/3/memory")))


async def test_the_papers_sampling_goes_with_every_call_of_the_faithful_preset() -> None:
    _, asked = await play(Play(), PLAN)
    assert {(r.sampling.temperature, r.sampling.frequency_penalty, r.sampling.max_tokens) for r in asked} == {
        (0.9, 0.2, None)
    }


async def test_an_absent_character_is_told_of_and_then_ends_the_run_which_goes_on_with_another_director() -> None:
    class Astray(Play):
        def speaker(self, request: Request, names: list[str]) -> str:
            return "Aud" if turn_of(request) == 2 else super().speaker(request, names)

    with Kept() as journal:
        astray = ScriptedModel(Astray(), name="astray", capabilities=Capabilities(schema=True))
        with pytest.raises(ReplyError, match=r"'director' at role-play/the-letter/turn/2/direct could not be read"):
            await play({}, ONE, journal=journal, cast=Cast.of(astray))
        repairs = [read_by(request) for request in astray.asked[-2:]]
        assert all("'Mara' or 'Tobias'" in text for text in repairs)
        before = len(journal.calls)
        sound = ScriptedModel(Play(), name="sound", capabilities=Capabilities(schema=True))
        story, _ = await play({}, journal=journal, cast=Cast(Assignment(astray), {"director": Assignment(sound)}))
        assert story.scenes[0].text
        paths = {(r.path, str(r.body())) for r in astray.asked}
        assert len(paths) == len(astray.asked), "no call of the others was made twice"
        assert len(journal.calls) > before


@BOTH
async def test_the_whole_play_resumes_without_a_repeated_call(preset: Preset) -> None:
    class Cut(Play):
        """Fails at one turn, once."""

        broken = True

        def on_respond(self, request: Request) -> str:
            if self.broken and request.path == "role-play/the-light/turn/2/respond":
                raise ReplyError("cut here", reply="")
            return super().on_respond(request)

    script = Cut(numbered=preset == "improved")
    with Kept() as journal:
        with pytest.raises(ReplyError, match="cut here"):
            await play(script, PLAN, preset, journal)
        recorded = {call.path for call in journal.calls.find(prompts=True)}
        script.broken = False
        story, asked = await play(script, PLAN, preset, journal)
    assert recorded.isdisjoint(request.path for request in asked)
    assert story == (await play(Play(numbered=preset == "improved"), PLAN, preset))[0]


async def test_a_scene_without_people_is_not_played_but_told() -> None:
    empty = replace(PLAN, scenes=(scene("The sea", [], "The sea rises."),))
    story, asked = await play(Play(), empty)
    assert kinds(asked) == ["rewrite"]
    assert "It was not played." in read_by(asked[0])
    assert story.words


async def test_an_empty_turn_is_drawn_again_and_at_last_stood_in_for() -> None:
    class Mute(Play):
        def on_respond(self, request: Request) -> str:
            return "<think>What would she do?</think>" if request.role == "Mara" else super().on_respond(request)

    with Kept() as journal:
        _, asked = await play(Mute(numbered=True), ONE, "improved", journal)
        notes = journal.notes
        text = journal.artefacts.newest("role-play/the-letter")
    assert [r.path for r in asked if kind(r) == "respond" and r.role == "Mara"] == [
        f"role-play/the-letter/turn/1/{again}respond" for again in ("", "again/1/", "again/2/")
    ]
    assert notes[-1:] == ["Mara gave no turn of use in 3 tries; the director's command stands in."]
    assert text is not None
    assert "**Mara:** Mara does what the director says: Play part 1" in text


# both orders of time (section 3.2.2) ----------------------------------------------------------------------------------


async def test_scenes_are_played_in_story_time_and_told_in_the_plans_order() -> None:
    story, asked = await play(Play(), PLAN)
    played = list(dict.fromkeys(unit_of(r) for r in asked if r.path.startswith("role-play")))
    assert played == ["the-wreck", "the-letter", "the-light"]
    assert [r.path for r in asked if kind(r) == "rewrite"] == [f"the-{n}/rewrite" for n in ("letter", "light", "wreck")]
    assert [scene.label for scene in story.scenes] == ["The letter", "The light", "The wreck"]
    assert story.title == "The Lamp"


async def test_a_dry_run_counts_also_where_a_plan_knows_a_part_of_the_order() -> None:
    for preset in ("faithful", "improved"):
        assert (await estimate(AFTER_ALL, preset)).planned


async def test_known_times_need_no_sorter_and_unknown_ones_do() -> None:
    _, asked = await play(Play(), PLAN)
    assert "sort_scenes" not in kinds(asked)
    sorted_ = Play(orders=["The wreck|The light|The letter"])
    _, asked = await play(sorted_, UNTIMED)
    assert kinds(asked)[0] == "sort_scenes"
    played = list(dict.fromkeys(unit_of(r) for r in asked if r.path.startswith("role-play")))
    assert played == ["the-wreck", "the-light", "the-letter"]


AFTER_ALL = replace(UNTIMED, scenes=(replace(UNTIMED.scenes[0], after=("The wreck",)), *UNTIMED.scenes[1:]))
AFTER = replace(UNTIMED, scenes=(*UNTIMED.scenes[:2], replace(UNTIMED.scenes[2], after=("The light",))))
WRONG = {
    "The letter|The letter|The light": "more than once",
    "The wreck|The letter|The light": "happens before 'The wreck'",
}


@pytest.mark.parametrize("wrong", WRONG)
@BOTH
async def test_an_order_that_cannot_be_is_repaired(preset: Preset, wrong: str) -> None:
    script = Play(numbered=preset == "improved", orders=[wrong, "The light|The wreck|The letter"])
    with Kept() as journal:
        _, asked = await play(script, AFTER, preset, journal)
        assert journal.artefacts.newest("order") == "- The light\n- The wreck\n- The letter"
    assert kinds(asked)[:2] == ["sort_scenes", "sort_scenes"]
    assert WRONG[wrong] in asked[1].messages[-1].content


@BOTH
async def test_an_order_that_stays_wrong_is_an_error(preset: Preset) -> None:
    wrong = ["The letter|The letter|The light"] * 3
    with pytest.raises(ReplyError, match=r"'sorter' at order/sort_scenes could not be read"):
        await play(Play(orders=wrong, numbered=preset == "improved"), AFTER, preset)


async def test_a_person_may_set_the_order_and_is_told_what_is_wrong_with_it() -> None:
    with Kept() as journal:
        journal.decisions.add("order", "edit", "1. The light\n2) The wreck\n\n* The letter")
        _, asked = await play(Play(), UNTIMED, journal=journal)
        played = list(dict.fromkeys(unit_of(r) for r in asked if r.path.startswith("role-play")))
        assert played == ["the-light", "the-wreck", "the-letter"]
    with Kept() as journal:
        journal.decisions.add("order", "edit", "- The light\n- The wreck")
        with pytest.raises(PlanError, match=r"plan/order\.md: The order leaves out 'The letter'"):
            await play(Play(), UNTIMED, journal=journal)


@pytest.mark.parametrize(
    "points",
    [
        [(2, "Second."), (1, "First.")],
        [(1, "First."), (1, "First again.")],
        [(2, "Second.")],
        [(1, "First.")],
    ],
)
async def test_each_event_stands_once_in_the_outline_whatever_the_sorter_says(points: list[tuple[int, str]]) -> None:
    class Sorted(Play):
        def on_chronological_outline(self, request: Request) -> str:
            del request
            return json.dumps({"points": [{"event": n, "text": text} for n, text in points]})

    _, asked = await play(Sorted(numbered=True), ONE, "improved")
    shown = read_by(next(request for request in asked if kind(request) == "decide"))
    outline = re.findall(r"^\d\. (.+)$", shown.partition("# Played")[0], re.MULTILINE)
    meant = {1: ("First.", "Tobias brings a letter."), 2: ("Second.", "Mara reads it.")}
    assert len(outline) == 2
    assert [sum(line in meant[n] for line in outline) for n in (1, 2)] == [1, 1]


@pytest.mark.parametrize("reply", ["No outline at all.", '{"points": []}'])
async def test_an_outline_that_cannot_be_read_is_an_error_in_the_paper_and_the_scenes_own_in_ours(reply: str) -> None:
    class Dumb(Play):
        def on_chronological_outline(self, request: Request) -> str:
            del request
            return reply

    with pytest.raises(ReplyError, match=r"'sorter' at outline/the-letter/chronological_outline"):
        await play(Dumb(), ONE)
    with Kept() as journal:
        _, asked = await play(Dumb(numbered=True), ONE, "improved", journal)
        notes = journal.notes
    assert "1. Tobias brings a letter.\n2. Mara reads it." in read_by(next(r for r in asked if kind(r) == "decide"))
    assert notes[0].startswith("No outline in the order of time could be read; the scene's own stands in.")


async def test_the_paper_adds_no_event_to_an_outline() -> None:
    class Adding(Play):
        def on_chronological_outline(self, request: Request) -> str:
            return json.dumps({"points": ["One event.", "Another.", "One more."][: 3 - len(request.messages) // 3]})

    _, asked = await play(Adding(), ONE)
    assert kinds(asked).count("chronological_outline") == 2, "three points for two events are sent back"


FLASHBACK = replace(
    PLAN,
    scenes=(scene("The light", ["Mara"], Event("Mara is pulled out.", "1"), "Mara lights the lamp.", time="3"),
            scene("The light 2", ["Mara"], "Mara sleeps.", time="4"),
            scene("The letter", ["Mara"], "Mara reads a letter.", time="2")),
)  # fmt: skip


async def test_a_flashback_is_played_at_its_own_time_and_told_in_its_scene() -> None:
    _, asked = await play(Play(turns=1, numbered=True), FLASHBACK, "improved")
    played = list(dict.fromkeys(unit_of(r) for r in asked if r.path.startswith("role-play")))
    assert played == ["the-light", "the-letter", "the-light-3", "the-light-2"]
    rewritten = next(read_by(r) for r in asked if r.path == "the-light/rewrite")
    assert "Mara plays turn 1 of the-light.\n\n* * *\n\nMara plays turn 1 of the-light-3." in rewritten, (
        "both units, in story time"
    )
    assert events_in(next(r for r in asked if r.path.startswith("outline/the-light/"))) == ["Mara is pulled out."]


async def test_in_the_paper_a_scene_is_the_smallest_unit_and_its_outline_is_what_is_sorted() -> None:
    _, asked = await play(Play(turns=1), FLASHBACK)
    played = list(dict.fromkeys(unit_of(r) for r in asked if r.path.startswith("role-play")))
    assert played == ["the-letter", "the-light", "the-light-2"]
    outline = events_in(next(r for r in asked if r.path.startswith("outline/the-light/")))
    assert outline == ["Mara is pulled out.", "Mara lights the lamp."]


@BOTH
async def test_agents_persist_over_scenes_in_story_time(preset: Preset) -> None:
    _, asked = await play(Play(numbered=preset == "improved"), PLAN, preset, max_turns=2)
    by_path = {request.path: read_by(request) for request in asked}
    # The wreck is told last, but it happened first: Mara remembers it in the letter.
    assert "I remember what was before turn 2 of the-wreck." in by_path["role-play/the-letter/turn/1/memory"]
    assert "I remember what was before turn 1 of the-letter." in by_path["role-play/the-light/turn/1/memory"]
    lost = "plays turn 2 of the-wreck" not in by_path["role-play/the-letter/turn/1/memory"]
    assert lost == (preset == "faithful"), "what comes after the last update is lost with the chat history of the paper"


# side by side ---------------------------------------------------------------------------------------------------------


class Meeting(Play):
    """A script that holds requests of some kinds until `parties` of them are there at once."""

    def __init__(self, chosen: Callable[[Request], bool], parties: int) -> None:
        super().__init__()
        self.chosen, self.parties, self.waiting, self.met = chosen, parties, asyncio.Event(), 0

    async def __call__(self, request: Request) -> str | Reply:
        if self.chosen(request):
            self.met += 1
            if self.met == self.parties:
                self.waiting.set()
            await asyncio.wait_for(self.waiting.wait(), timeout=20)
        answer = super().__call__(request)
        assert isinstance(answer, str)
        return answer


async def test_memory_and_state_are_updated_side_by_side() -> None:
    places = {f"role-play/the-letter/turn/1/{what}" for what in ("memory", "state")}
    meeting = Meeting(lambda request: request.path in places, 2)
    await play(meeting, ONE)
    assert meeting.met == 2


async def test_scenes_without_a_common_character_are_played_side_by_side() -> None:
    apart = replace(PLAN, scenes=(scene("A", ["Mara"], "Mara waits."), scene("B", ["Tobias"], "Tobias runs.")))
    meeting = Meeting(lambda request: kind(request) == "respond" and turn_of(request) == 1, 2)
    await play(meeting, apart)
    assert meeting.met == 2


async def test_a_scene_is_rewritten_while_a_later_one_is_still_played() -> None:
    def chosen(request: Request) -> bool:
        return request.path in {"the-letter/rewrite", "role-play/the-light/turn/1/respond"}

    meeting = Meeting(chosen, 2)
    await play(meeting, replace(PLAN, scenes=(LETTER, LIGHT)))
    assert meeting.met == 2


# the rewrite (section 3.2.3, appendix B.2) ----------------------------------------------------------------------------


@BOTH
async def test_the_writer_is_given_the_ten_inputs(preset: Preset) -> None:
    _, asked = await play(Play(numbered=preset == "improved"), PLAN, preset)
    text = read_by([request for request in asked if kind(request) == "rewrite"][1])
    for given_ in (
        BRIEF.text,
        "The lamp is to go dark.",
        "A cape in 1962.",
        "- The wreck: Mara is pulled out of the sea.",
        "Rain fell on the-letter. She waited until the last of the boats was home.",
        "- Mara (protagonist, female, 70) - Keeps the light. Way of speaking: Few words. Wants: To see the boats home.",
        "boats home. Wants here: Mara wants something in The light.",
        "# Scene to write: The light",
        "Part of the narrative arc: rising action",
        "Place: The place of The light",
        "Outline, in the order in which it is to be told:\n- The wind turns.\n- Mara lights the lamp.",
        "Mara plays turn 1 of the-light.\n\nTobias plays turn 2 of the-light.",
    ):
        assert given_ in text, given_


async def test_in_the_paper_a_scene_that_is_written_without_a_word_ends_the_run_which_asks_for_it_anew() -> None:
    class Mute(Play):
        def on_rewrite(self, request: Request) -> str:
            del request
            return "..."

    with Kept() as journal:
        with pytest.raises(ReplyError, match="'writer' gave no text at the-letter") as failed:
            await play(Mute(), ONE, journal=journal)
        journal.calls.give_up(failed.value.at)
        _, asked = await play(Play(), None, journal=journal)
    assert kinds(asked) == ["rewrite"]


async def test_in_the_paper_the_first_scene_is_asked_for_as_all_others_and_nothing_stands_between_two() -> None:
    told = replace(PLAN, person="first person, told by Mara", demands=("It rains.",))
    story, asked = await play(Play(), told)
    first_, second, _ = [read_by(request) for request in asked if kind(request) == "rewrite"]
    assert "Begin so that your part flows naturally out of the ending of the story so far" in first_
    assert "It opens the story" not in first_
    assert f"# Story so far\n{story.scenes[0].text}\n\n# Characters" in second
    shown = "".join(map(read_by, asked))
    for ours in ("* * *", "told by Mara", "It rains"):
        assert ours not in shown + story.manuscript(), ours


@pytest.mark.parametrize("aids", ["off", "on"])
async def test_in_ours_the_story_is_told_in_the_person_and_tense_of_its_plan(aids: Aids) -> None:
    told = replace(PLAN, person="first person, told by Mara", tense="present tense")
    script = LongWriter(numbered=True)
    _, asked = await play(script, told, "improved", aids=aids, words="900-950")
    written = [read_by(request) for request in asked if request.role == "writer" and kind(request) != "shorten"]
    assert all("first person, told by Mara; present tense" in text for text in written)
    assert not [text for text in written if "past tense" in text]
    _, asked = await play(script, PLAN, "improved", aids=aids)
    assert not [request.path for request in asked if request.role == "writer" and "past tense" in read_by(request)]


async def test_whoever_comes_late_or_leaves_early_is_not_asked_and_remembers_nothing() -> None:
    events = (
        Event("Mara burns the letter.", present=("Mara",)),
        "Tobias comes in.",
        Event("Mara goes.", "", ("Tobias",)),
    )
    late = replace(PLAN, scenes=(scene("The letter", ["Mara", "Tobias"], *events),))
    _, asked = await play(Play(turns=2, numbered=True), late, "improved")
    played = {
        unit: {r.role for r in asked if kind(r) == "respond" and unit_of(r) == unit}
        for unit in ("the-letter", "the-letter-2", "the-letter-3")
    }
    assert played == {"the-letter": {"Mara"}, "the-letter-2": {"Mara", "Tobias"}, "the-letter-3": {"Tobias"}}
    first = next(r for r in asked if r.path == "role-play/the-letter-2/turn/2/memory")
    assert "the-letter." not in read_by(first), "Tobias was not there"
    assert "Tobias" not in read_by(next(r for r in asked if r.path == "role-play/the-letter/turn/1/decide"))
    told = read_by(asked[-1])
    assert all(f"plays turn 1 of {unit}." in told for unit in played), "and the writer has all of it"
    assert "- Tobias (companion, male, 10)" in told


@BOTH
async def test_no_reply_of_a_capable_model_is_capped(preset: Preset) -> None:
    _, asked = await play(Play(numbered=preset == "improved"), UNTIMED, preset)
    assert not [r.path for r in asked if "maxLength" in json.dumps(r.schema)]
    verdict = next(r.schema for r in asked if kind(r) == {"faithful": "terminate", "improved": "decide"}[preset])
    assert verdict is not None
    wanted = {"faithful": ["reasons", "covered"], "improved": ["remaining", "next_speaker", "next_command"]}
    assert list(verdict["properties"]) == wanted[preset]


async def test_in_ours_the_director_sees_of_people_what_anybody_there_notices() -> None:
    calm = replace(PLAN, characters=(replace(SHEETS[0], personality="Calm and dry."), *SHEETS[1:]))
    _, asked = await play(Play(numbered=True), calm, "improved")
    seen = [read_by(request) for request in asked if request.role in {"director", "sorter"}]
    mara = "- Mara (female, 70) - Personality: Calm and dry. Way of speaking: Few words."
    assert all(mara in text for text in seen)
    for hidden in ("protagonist", "Keeps the light", "To see the boats", "wants something", "# Scene: "):
        assert not [text for text in seen if hidden in text], hidden
    own = next(read_by(r) for r in asked if r.role == "Mara")
    assert "Personality: Calm and dry." in own
    assert "Set-up: Keeps the light." in own


@BOTH
async def test_only_the_last_scene_may_end_the_story(preset: Preset) -> None:
    _, asked = await play(Play(numbered=preset == "improved"), PLAN, preset)
    rewrites = [read_by(request) for request in asked if kind(request) == "rewrite"]
    assert ["do not write an ending" in text for text in rewrites] == [True, True, False]


async def test_the_length_asked_is_shared_by_importance() -> None:
    plan = replace(PLAN, scenes=(replace(LETTER, importance=2), replace(LIGHT, importance=6)))
    with Kept() as journal:
        model = ScriptedModel(LongWriter(numbered=True), capabilities=Capabilities(schema=True))
        journal.decisions.add("plan", "edit", write_plan(plan))
        config = SYSTEM.config("improved", {"words": "400-440"})
        story = await SYSTEM.write(BRIEF, Run(RunContext(journal, prompts("improved"), Cast.of(model))), config)
    assert 400 <= story.words <= 440
    assert story.scenes[1].words > 2 * story.scenes[0].words


class LongWriter(Play):
    """A writer of sentences that are all different."""

    def on_rewrite(self, request: Request) -> str:
        draw = random.Random(str(request.sampling.seed))  # noqa: S311 - words, not secrets
        return " ".join(f"{' '.join(draw.sample(WORDS, 9)).capitalize()}." for _ in range(40))

    on_extend = on_rewrite

    def on_shorten(self, request: Request) -> str:
        return shortened(request)


class Capable(Play):
    """A strong model: present tense, second person, a refrain, a letter, a list, speech without tags."""

    LETTER = (
        "Dear sister,\n\nthe light goes round, and the light comes back. I send you:\n\n- bread\n- oil\n- oil\n\n"
        "Yours, Mara"
    )

    def long(self, request: Request) -> str:
        number = sha256(request.path.encode()).hexdigest()[:6]
        return (
            f"You read it aloud, {number}. The light goes round, and the light comes back.\n\n{self.LETTER}\n\n"
            "\u2014 Will you stay?\n\n\u2014 No.\n\n\u2014 Will you stay?\n\nThe light goes round, and the light comes "
            f"back. The story began with a lamp, you say, and you do not say how it ends in {number}."
        )

    on_respond = on_memory = on_state = on_rewrite = long

    def command(self, request: Request) -> str:
        return f"Go on ({turn_of(request)}). " + "Read it as one reads a letter to oneself, slowly. " * 9


async def test_of_a_capable_model_nothing_is_lost() -> None:
    script = Capable(numbered=True)
    with Kept() as journal:
        story, asked = await play(script, ONE, "improved", journal)
        text, notes = str(journal.artefacts.newest("role-play/the-letter")), journal.notes
    said = {request.path: script.long(request).split() for request in asked if request.schema is None}
    assert story.text.split() == said["the-letter/rewrite"]
    for turn, name in enumerate(("Mara", "Tobias"), 1):
        played = next(one for one in turns_of(text) if one.name == name)
        assert played.text.split() == said[f"role-play/the-letter/turn/{turn}/respond"]
    last = read_by(next(request for request in asked if request.path.endswith("turn/2/respond"))).split()
    assert " ".join(said["role-play/the-letter/turn/2/memory"]) in " ".join(last)
    heard = read_by(next(request for request in asked if request.path.endswith("turn/2/respond")))
    assert "Read it as one reads a letter to oneself, slowly. " * 8 in heard
    assert not notes
    assert {request.sampling.max_tokens for request in asked} == {None}


# what the director decides, and what is left unplayed -----------------------------------------------------------------


async def test_a_story_of_three_scenes_of_five_events_takes_fewer_calls_than_it_did() -> None:
    events = [f"Something happens in place {n}." for n in range(5)]
    scenes = tuple(scene(f"Scene {c}", ["Mara", "Tobias"], *events, time=str(n)) for n, c in enumerate("abc"))
    _, asked = await play(Play(turns=5, numbered=True), replace(PLAN, scenes=scenes), "improved")
    assert len(asked) == 53, "75 with a call to terminate, a call to direct, and physical states of their own"
    assert {kind(request) for request in asked if request.role == "director"} == {"decide"}
    assert "state" not in kinds(asked)


async def test_the_bound_follows_the_outline_and_the_director_knows_it() -> None:
    long_ = replace(PLAN, scenes=(scene("The letter", ["Mara"], *[f"Event {n}." for n in range(8)]),))

    class Patient(Play):
        def on_decide(self, request: Request) -> str:
            events = len(events_played(request))
            left = list(range(min(turn_of(request), events), events + 1))
            return json.dumps(json.loads(self.on_direct(request)) | {"remaining": left})

    for plan, most in ((ONE, 10), (long_, 16)):
        with Kept() as journal:
            _, asked = await play(Patient(numbered=True), plan, "improved", journal)
            assert journal.notes == [f"The scene ends after {most} turns, as many as it may have."]
        assert kinds(asked).count("respond") == most
        shown = [read_by(request) for request in asked if kind(request) == "decide"]
        assert [f"This is turn {n} of at most {most}." in text for n, text in enumerate(shown, 1)] == [True] * most
    _, asked = await play(Patient(numbered=True), long_, "improved", max_turns=3)
    assert kinds(asked).count("respond") == 3, "what somebody sets holds"


async def test_a_director_that_ends_a_scene_at_once_is_asked_again() -> None:
    class Hasty(Play):
        def on_decide(self, request: Request) -> str:
            hasty = json.dumps({"remaining": [], "next_speaker": "", "next_command": ""})
            return hasty if len(request.messages) == 2 else super().on_decide(request)

    _, asked = await play(Hasty(numbered=True), ONE, "improved")
    assert kinds(asked).count("respond") == 1


async def test_an_event_that_is_left_needs_somebody_to_play_it() -> None:
    class Vague(Play):
        def on_decide(self, request: Request) -> str:
            vague = json.dumps({"remaining": [2], "next_speaker": "", "next_command": ""})
            return vague if turn_of(request) == 2 and len(request.messages) == 2 else super().on_decide(request)

    _, asked = await play(Vague(numbered=True), ONE, "improved")
    repaired = next(r for r in asked if r.path.endswith("turn/2/decide") and len(r.messages) > 2)
    assert "give next_speaker and next_command" in repaired.messages[-1].content


async def test_a_small_director_cannot_leave_out_who_plays() -> None:
    _, asked = await play(Play(numbered=True), ONE, "improved", aids="on")
    schema = next(r.schema for r in asked if kind(r) == "decide")
    assert schema is not None
    assert schema["properties"]["next_speaker"]["enum"] == ["Mara", "Tobias"]
    assert schema["properties"]["next_command"]["minLength"] >= 1


# what a character is shown --------------------------------------------------------------------------------------------

STORM = replace(
    scene("The storm", ["Mara", "Tobias"], Event("Mara steers.", present=("Mara",)), "Tobias comes up.", time="1"),
    date="the night of 3 November 1956",
    characters=(Presence("Mara", "to steer", "64", "A mate."), Presence("Tobias", "to sleep", "4", "A child.")),
)
HIDING = replace(
    PLAN,
    characters=(
        replace(SHEETS[0], secret="She was at the wheel.", knows="Tobias cannot swim."),
        replace(SHEETS[1], secret="He has read it."),
        SHEETS[2],
    ),
    scenes=(replace(LETTER, date="an evening in May"), STORM),
)


async def test_a_player_knows_place_date_and_who_hears_and_of_then_what_it_was_then() -> None:
    _, asked = await play(Play(numbered=True), HIDING, "improved")
    prompts = {request.path: read_by(request) for request in asked}
    alone = prompts["role-play/the-storm/turn/1/respond"]
    assert "When: the night of 3 November 1956\nWhere: The place of The storm" in alone
    assert "Nobody else is there." in alone
    assert "Age: 64\nSet-up: A mate." in alone
    assert not [later for later in ("70", "Keeps the light", "She was at the wheel", "boats home") if later in alone]
    both = prompts["role-play/the-letter/turn/1/respond"]
    assert "Who else is there, as anybody notices:\n- Tobias (male, 10) - Way of speaking: Asks a lot." in both
    assert "Hides from others: She was at the wheel.\nKnows of the others: Tobias cannot swim." in both
    assert "He has read it." not in both
    memory = prompts["role-play/the-letter/turn/1/memory"]
    assert re.findall(r"^## (.+)$", memory, re.MULTILINE) == ["The place of The storm; the night of 3 November 1956"]
    assert "# Where Mara is now\nThe place of The letter; an evening in May" in memory, "years may lie between"


async def test_the_director_is_shown_set_ups_where_secrets_stand_apart() -> None:
    _, asked = await play(Play(numbered=True), HIDING, "improved")
    prompts = {request.path: read_by(request) for request in asked}
    last = prompts["role-play/the-letter/turn/1/decide"]
    assert "- Mara (female, 70) - Way of speaking: Few words. Who they are: Keeps the light." in last
    directed = [text for path, text in prompts.items() if path.endswith("/decide")]
    for hidden in ("She was at the wheel", "cannot swim", "has read it", "A mate", "boats home", "to steer"):
        assert not [text for text in directed if hidden in text], hidden
    _, asked = await play(Play(numbered=True), PLAN, "improved")
    assert not [r.path for r in asked if r.role == "director" and "Keeps the light" in read_by(r)]


async def test_the_writer_knows_who_was_there_where_the_scene_goes_in_time_and_what_it_owes() -> None:
    plan = replace(
        HIDING, demands=("Tobias never learns it.",), payoffs=("The wheel, in both scenes.",), form="A song."
    )
    _, asked = await play(Play(numbered=True), plan, "improved")
    first_, second = [read_by(request) for request in asked if kind(request) == "rewrite"]
    assert "It opens the story" in first_
    assert "ending of the story so far" not in first_
    assert "happens before" not in first_
    assert "This scene happens before the one that was told last" in second
    assert "[Only Mara saw and heard this.]\n\nMara plays turn 1" in second
    assert "- Mara steers. (Not there, or out of hearing: Tobias.)" in second
    assert "Time: the night of 3 November 1956" in second
    for told in ("- Tobias never learns it.", "- The wheel, in both scenes.", "A song."):
        assert told in second


@pytest.mark.parametrize("aids", ["off", "on"])
async def test_a_memory_may_repeat_the_memory_and_a_scene_the_play(aids: Aids) -> None:
    known = "The letter came on Monday, and I hid it under the third stair, where nobody looks but the cat and me."
    said = "Mara says nothing for about as long as it takes to coil a line, and then she puts the lamp out by hand."

    class Quoting(Play):
        def on_memory(self, request: Request) -> str:
            return f"{known}\n\nAfter turn {turn_of(request)} I am cold. *"

        def on_respond(self, request: Request) -> str:
            return said if turn_of(request) == 1 else super().on_respond(request)

        def on_rewrite(self, request: Request) -> str:
            return f"{super().on_rewrite(request)} {said}"

    story, asked = await play(Quoting(turns=4, numbered=True), ONE, "improved", aids=aids)
    assert said in story.text
    last = read_by(next(r for r in asked if r.path == "role-play/the-letter/turn/4/respond"))
    assert known in last


# what people edit -----------------------------------------------------------------------------------------------------


@BOTH
async def test_an_edited_role_play_is_witnessed_and_told(preset: Preset) -> None:
    script = Play(numbered=preset == "improved")
    with Kept() as journal:
        _, before = await play(script, PLAN, preset, journal, max_turns=2)
        journal.decisions.add(
            "role-play/the-letter", "edit", "> A remark of mine\n\n**Mara:** Mara burns it.\n\n**Tobias:** No!"
        )
        story, asked = await play(script, PLAN, preset, journal, max_turns=2)
    assert not [request for request in asked if "the-wreck" in unit_of(request)]
    letter = [request.path for request in asked if request.path.startswith("role-play/the-letter/")]
    assert {path.rpartition("/")[2] for path in letter} <= {"memory", "state"}, "they live through it, nobody plays it"
    by_path = {request.path: read_by(request) for request in asked}
    assert "Mara burns it.\n\nTobias: No!" in by_path["the-letter/rewrite"]
    assert "A remark of mine" not in by_path["the-letter/rewrite"]
    assert "\nMara burns it." in by_path["role-play/the-letter/turn/2/memory"], "Tobias has seen it"
    assert len(asked) < len(before)
    assert story.words
    assert "chronological_outline" not in kinds(asked), "outlines do not depend on what was played"


async def test_only_the_edited_scene_is_told_anew_where_nobody_carries_it_on() -> None:
    apart = replace(PLAN, scenes=(scene("A", ["Mara"], "Mara waits."), scene("B", ["Tobias"], "Tobias runs.")))
    with Kept() as journal:
        await play(Play(), apart, journal=journal)
        journal.decisions.add("role-play/b", "edit", "**Tobias:** Tobias stops.")
        _, asked = await play(Play(), apart, journal=journal)
    assert [request.path for request in asked] == ["b/rewrite"]


class Attentive(Play):
    """Every reply depends on the whole prompt."""

    def __call__(self, request: Request) -> str:
        said, seen = super().__call__(request), sha256(read_by(request).encode()).hexdigest()[:8]
        assert isinstance(said, str)
        return (
            said.replace(" of ", f" of {seen} of ").replace("Now:", f"Now, {seen}:").replace("Rain", f"The rain {seen}")
        )


IN_TURN = replace(
    PLAN,
    scenes=(replace(LETTER, time="2"), LIGHT, WRECK, scene("The end", ["Tobias"], "Tobias leaves.", time="4"),
            scene("The office", ["Aud"], "Aud sits.", time="5")),
)  # fmt: skip
EDITS = {
    "role-play/the-wreck": "**Mara:** Mara swims home.\n\n**Mara:** She sleeps.\n\n**Mara:** She wakes.",
    "role-play/the-letter": "**Tobias:** Tobias cries.\n\n**Mara:** Mara burns it.",
    "role-play/the-light": "Nobody says anything.",
    "the-letter": "Another beginning of the story.",
    "plan": write_plan(replace(IN_TURN, characters=(replace(SHEETS[0], setup="Old and tired."), *SHEETS[1:]))),
}


@BOTH
@pytest.mark.parametrize("edited", EDITS)
async def test_a_dry_run_after_an_edit_names_every_call_that_is_made_and_no_scene_that_stands(
    preset: Preset, edited: str
) -> None:
    script = Attentive(turns=3, numbered=preset == "improved")
    with Kept() as journal:
        _, before = await play(script, IN_TURN, preset, journal, max_turns=3)
        journal.decisions.add(edited, "edit", EDITS[edited])
        nobody = ScriptedModel({}, capabilities=Capabilities(schema=True))
        context = RunContext(journal, prompts(preset), Cast.of(nobody), mode="dry")
        await SYSTEM.write(BRIEF, Run(context), SYSTEM.config(preset, {"max_turns": 3}))
        _, asked = await play(script, None, preset, journal, max_turns=3)
    found, planned = ([one.path for one in some] for some in (asked, context.dry_run.planned))
    assert Counter(found) <= Counter(planned), "at most: of what is made again, some prompts are in the words they had"
    assert {path.split("/")[1] for path in planned} == {path.split("/")[1] for path in found}
    assert 0 < len(found) <= len(planned) < len(before)


marks = st.sampled_from(
    ["**", ">", "Mara", ":**", ":", " ", "\n", "\n\n", "\x0b", "\x85", "\u2028", "\ufeff", "*", "x"]
)
texts = st.one_of(st.text(max_size=30), st.lists(marks, max_size=10).map("".join))
names_ = st.sampled_from(["Mara", "Tobias", "The fishermen", "O'Neil, Jr."])


@given(st.lists(st.builds(ChatMessage.of, names_, texts, texts)))
@example([ChatMessage.of("Mara", "a\n> ** Tobias:** b", "x\n**y:** z")])
@example([ChatMessage.of("Mara", "a\x0b**Tobias:** b")])
def test_a_transcript_is_read_as_it_was_written(turns: list[ChatMessage]) -> None:
    found = turns_of(transcript(turns))
    assert found == tuple(replace(turn, command="") for turn in turns if turn.text)
    assert turns_of(plain(transcript(found))) == found


def test_a_transcript_that_a_person_wrote_is_read() -> None:
    text = (
        "A title\n\n> The director to Mara: Go.\n\n**Mara:** Goes.\n\nAnd comes.\r\n**Aud :** \n> x\n**Tobias:**Stays. "
    )
    assert turns_of(text) == (ChatMessage("Mara", "Goes.\nAnd comes."), ChatMessage("Tobias", "Stays."))
    assert turns_of("Nobody says anything.") == ()


# who plays ------------------------------------------------------------------------------------------------------------


async def test_characters_are_cast_by_name() -> None:
    heard: list[str] = []

    def answer(request: Request) -> str:
        heard.append(request.path)
        return "Mara says what no model would."

    model = ScriptedModel(Play(numbered=True), capabilities=Capabilities(schema=True))
    roles = {"mara": Assignment(Program("mine", answer))}
    known = tuple(SYSTEM.roles)
    cast = Cast(Assignment(model), roles, known, "character")
    with Kept() as journal:
        await play({}, ONE, "improved", journal, cast)
        assert journal.artefacts.newest("role-play/the-letter") is not None
        assert "**Mara:** Mara says what no model would." in str(journal.artefacts.newest("role-play/the-letter"))
    assert heard == ["role-play/the-letter/turn/1/respond"]


async def test_a_name_that_nobody_has_is_told_before_anything_is_asked() -> None:
    model = ScriptedModel(Play())
    cast = Cast(Assignment(model), {"marta": Assignment(model)}, tuple(SYSTEM.roles), "character")
    with pytest.raises(UnknownNameError, match=r"Unknown character 'marta'. Did you mean 'mara'\?"):
        await play({}, PLAN, cast=cast)
    assert not model.asked


# agents ---------------------------------------------------------------------------------------------------------------


def test_an_agent_takes_in_what_it_has_witnessed() -> None:
    seen = ("the quay", "Mara waits.")
    aud = Agent("Aud", "I saw her.").witness("Mara waits.", "the quay")
    assert aud == Agent("Aud", "I saw her.", (seen,))
    assert aud.witness("Mara waits.", "the quay").unseen == (seen, seen)


@BOTH
async def test_a_scene_may_be_called_like_another_artefact(preset: Preset) -> None:
    named = replace(PLAN, scenes=tuple(scene(name, ["Mara"], "Mara waits.") for name in ("Plan", "Personas", "Order")))
    story, _ = await play(Play(turns=1, numbered=preset == "improved"), named, preset)
    assert [one.label for one in story.scenes] == ["Scene Plan", "Scene Personas", "Scene Order"]
    assert all(one.text.startswith("Rain fell") for one in story.scenes)


async def test_two_units_never_share_an_artefact() -> None:
    long_ = "The very long name of a scene that goes on and on beyond every bound"
    scenes = [
        scene(f"{long_[:57]} {tail}", ["Mara"], Event("Once.", str(number)), "Mara waits.", time="60")
        for number, tail in enumerate("ab")
    ]
    with Kept() as journal:
        plan = replace(PLAN, scenes=tuple(scenes))
        await play(Play(turns=1, numbered=True), plan, "improved", journal)
        kept = {call.path.split("/")[1] for call in journal.calls.find(CallFilter(under="role-play"), prompts=True)}
    assert len({name[:SLUG_LENGTH] for name in kept}) == len(kept) == 4


def test_a_temperature_of_0_is_asked_for_and_none_leaves_it_to_the_model() -> None:
    def drawn(preset: Any, **values: str) -> Sampling:  # noqa: ANN401 - a literal
        sampling: Sampling = SYSTEM.config(preset, values).paper.sampling
        return sampling

    assert drawn("faithful") == Sampling(temperature=0.9, frequency_penalty=0.2)
    assert drawn("faithful", temperature="0", frequency_penalty="0") == Sampling(temperature=0.0, frequency_penalty=0.0)
    assert drawn("faithful", temperature="none", frequency_penalty="none") == drawn("improved") == Sampling()


# what a strong player stumbled over -----------------------------------------------------------------------------------

BELL = ScenePlan(
    "The bell",
    (
        Event("Maes prays, and Jan kneels at the bell."),
        Event(
            "Griet sees the pistol behind him.",
            "",
            ("Griet",),
            ("Maes", "Jan"),
            "that Griet stands still",
            "by the cart",
        ),
        Event("Maes thanks them both."),
    ),
    place="The churchyard, between the wall and the young pear tree",
    characters=tuple(map(Presence, ("Griet", "Jan", "Maes"))),
    time="19:10",
)
BURIED = Plan(
    (BELL,),
    (
        Character("Griet", "protagonist", knows="The pistol is in the bell.", secret="She says nothing."),
        Character("Jan", "the one who hid it", setup="The mayor's son.", knows="Believes that nobody saw him."),
        Character("Maes", "the one who must not learn", truth="He is wrong about it.", knows="Trusts them."),
    ),
    person="third person, close to Griet",
)


async def bell(preset: Preset = "improved") -> tuple[Story, list[Request]]:
    return await play(Play(numbered=preset == "improved", turns=3), BURIED, preset)


async def test_no_player_and_no_memory_learns_its_role_in_the_story_or_what_it_is_wrong_about() -> None:
    _, asked = await bell()
    own = [read_by(one) for one in asked if kind(one) in {"respond", "memory", "state"}]
    assert len(own) > 6
    assert not [text for text in own if "must not learn" in text or "is wrong about" in text or "who hid it" in text]
    assert "the one who must not learn" in read_by(asked[-1]), "the writer knows"
    assert "In truth: He is wrong about it." in read_by(asked[-1])
    _, asked = await bell("faithful")
    assert any("Narrative role: the one who must not learn" in read_by(one) for one in asked)


async def test_who_is_there_without_seeing_is_there_for_the_players_and_remembers_what_was_to_be_noticed() -> None:
    _, asked = await bell()
    by_path = {one.path: read_by(one) for one in asked}
    alone = by_path["role-play/the-bell-2/turn/1/respond"]
    assert "Nobody else is there." not in alone
    assert "neither sees nor hears what is done and said now:\n- Jan" in alone
    assert "Nobody else sees or hears what is done and said." in alone
    assert "Where: by the cart" in alone
    assert "Nothing has happened here since what Griet remembers." in alone
    assert "where the memory says otherwise, the memory counts" in alone
    assert "in the third person and the present tense" in alone
    directed = by_path["role-play/the-bell-2/turn/1/decide"]
    assert "Also there, where they can be seen, but neither seeing nor hearing" in directed
    seen = "Meanwhile, all that was to be noticed: that Griet stands still"
    for who in ("Jan", "Maes"):
        memories = [one for one in asked if one.path.startswith("role-play/the-bell-3") and kind(one) == "memory"]
        assert [one for one in memories if f"Name: {who}\n" in read_by(one) and seen in read_by(one)]
    assert not [one for one in asked if "Name: Griet\n" in read_by(one) and seen in read_by(one)]


async def test_a_unit_is_directed_with_what_was_played_of_its_scene_before_it() -> None:
    _, asked = await bell()
    by_path = {one.path: read_by(one) for one in asked}
    directed = by_path["role-play/the-bell-2/turn/1/decide"]
    assert "# Played before this in the same scene\nGriet plays turn 1 of the-bell." in directed
    assert "# Played before this" not in by_path["role-play/the-bell/turn/1/decide"]
    later = by_path["role-play/the-bell-3/turn/1/decide"]
    assert "the-bell." in later
    assert "the-bell-2." not in later, "two of them missed it"
    assert "sees the pistol" not in by_path["outline/the-bell-3/chronological_outline"]


async def test_a_place_is_named_once_and_in_short_where_it_was_and_a_turn_by_its_name_once() -> None:
    _, asked = await bell()
    memories = [read_by(one) for one in asked if kind(one) == "memory" and "the-bell/" in one.path]
    assert memories
    assert {text.count("between the wall and the young pear tree") for text in memories} == {1}
    assert all("## Here and now" in text for text in memories)
    assert not [one for one in asked if "Griet: Griet" in read_by(one)]
    assert str(ChatMessage.of("Ann", "Anna goes.")) == "Ann: Anna goes."


async def test_the_writer_is_told_the_title_the_end_and_whom_the_story_is_close_to() -> None:
    story, asked = await play(Play(numbered=True), PLAN, "improved")
    first, *_, last = [read_by(one) for one in asked if kind(one) == "rewrite"]
    assert f"# Title of the story\n{BRIEF.title}" in first
    assert "It is the last scene: the story ends with it." in last
    assert "It is the last scene" not in first
    assert "tell only what that person perceives, knows and thinks at the time" in last
    assert "\n\n* * *\n\nRain fell on the-light" in last.partition("# Story so far")[2], "its reader sees a break"
    text = story.manuscript()
    assert text.count("\n* * *\n<!-- scene: ") == len(PLAN.scenes) - 1
    assert Story.parse(text) == story
    assert Story.parse(text).text == story.text
    assert Story.parse(text).words == story.words == sum(scene.words for scene in story.scenes)
