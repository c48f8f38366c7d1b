"""Dramatron against its release: formats, parsers, the loop around the model, what depends on what, stories."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shortening
from fabula.base.errors import ModelError, ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.length import WordRange
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.story.export.fountain import render as fountain_of
from fabula.story.export.meta import Meta
from fabula.systems import find
from fabula.systems.dramatron.algorithm import FOLDER, Level, example_set, generate
from fabula.systems.dramatron.hierarchy import (
    CharacterEntry,
    SceneEntry,
    characters_in,
    characters_text,
    logline_of,
    place_of,
    scenes_text,
    without_end,
)
from fabula.systems.dramatron.parsing import (
    extract_between,
    lenient_characters,
    lenient_scenes,
    lenient_title,
    read_characters,
    read_place,
    read_scenes,
    read_title,
)
from harness import cases, dry_run_case, run_case

if TYPE_CHECKING:
    from fabula.engine.events import Event
    from fabula.engine.methods import Preset
    from fabula.models.base import Request
    from fabula.models.scripted import Script
    from fabula.story import Story

SYSTEM = find("dramatron")
READERS = ((read_title, read_characters, read_scenes), (lenient_title, lenient_characters, lenient_scenes))
BRIEF = Brief("Mara keeps a lighthouse, and a boat is late")
FIGURES = """
**Character:** Mara **Description:** Mara is a keeper of seventy.
**Character:** Tobias **Description:** Tobias is a boy of ten.
**Character:** Al **Description:** Al is the captain of the late boat.
**END**"""
SCENES = """
Place: The lamp room.
Plot element: Beginning
Beat: Mara gets a letter.

Place: The quay
Plot element: Middle
Beat: Tobias waits for the captain. Also, the wind turns.

Place: The lamp room.
Plot element: Middle
Beat: Mara lights the lamp for Tobias.

Place: The quay
Plot element: Conclusion
Beat: Al comes home.
**END**"""
RECORDS = {
    "characters": [
        {"name": "Mara", "description": "Mara is a keeper of seventy."},
        {"name": "Tobias", "description": "Tobias is a boy of ten."},
        {"name": "Al", "description": "Al is the captain of the late boat."},
    ],
    "scenes": [
        {"place": "The lamp room.", "element": "Beginning", "happens": "Mara gets a letter."},
        {"place": "The quay", "element": "Middle", "happens": "Tobias waits for the captain. Also, the wind turns."},
        {"place": "The lamp room.", "element": "Middle", "happens": "Mara lights the lamp for Tobias."},
        {"place": "The quay", "element": "Conclusion", "happens": "Al comes home."},
    ],
}
PLAN = """
title: The Last Lamp
conflict: Mara's lamp is to go dark, and a boat is late.
setting: A bare cape.
characters:
  - name: Mara
    role: protagonist
    age: '70'
    setup: She has kept the light for thirty years
    speech: Few words.
    goal: To leave without a debt.
  - name: Tobias
    setup: He brings her bread.
scenes:
  - name: The letter
    place: The lamp room, at the top of a white tower, before dusk
    element: exposition
    importance: 2
    characters: {Mara: to light the lamp as on any other day}
    outline: [Mara reads the letter, She lights the lamp.]
  - name: The storm
    place: The quay
    element: climax
    importance: 6
    characters: {Mara: to be seen, Tobias: to find his father}
    outline: [The wind turns., Tobias comes running.]
  - name: The morning
    place: The lamp room, in grey light
    element: resolution
    importance: 2
    characters: [Tobias]
    outline: [The boat comes home.]
"""


def answer_of(request: Request) -> str:
    """What a model answers that keeps to the formats; scripts and places say which scene they are of."""
    n = len(request.messages[-1].content)
    if request.schema is not None:
        return json.dumps({"records": RECORDS[request.role]})
    fixed = {"title": " The Beam**END**", "characters": FIGURES, "scenes": SCENES}
    if request.role == "places":
        return f"A place with {n} windows.**END**"
    if request.role == "dialogue":
        return f"MARA\nNumber {n} of {request.path.replace('/', ' ')} is secret.\n\nTOBIAS\nI hear you at {n}.\n**END**"
    if request.role == "writer":
        return f"Mara wrote {n} into the book at {request.path.replace('/', ' ')}. Then she went down."
    return fixed[request.role]


@dataclass
class Session:
    """A model, a journal, and what a person has edited; `write` gives the story and what was asked for it."""

    script: Script = answer_of
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(schema=True))
    edits: dict[str, str] = field(default_factory=dict)
    journal: Journal = field(default_factory=Journal)
    events: list[Event] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    async def write(
        self,
        preset: Preset = "faithful",
        brief: Brief = BRIEF,
        how: Any = "live",  # noqa: ANN401 - a mode of the hands
        **config: Any,  # noqa: ANN401 - fields of Config
    ) -> tuple[Story, list[Request]]:
        if self.journal._store._db is None:  # noqa: SLF001 - opened with the first story
            self.journal.open()
        model = ScriptedModel(self.script, capabilities=self.capabilities)
        context = RunContext(
            self.journal,
            SystemPrompts(SYSTEM.prompt_folders(preset), None, PROMPTS),
            Cast.of(model),
            mode=how,
            listeners=[self.events.append],
            pending=self.edits,
            on_kept=lambda kept: self.kept.append(kept.path),
        )
        self.context = context
        self.kept.clear()
        story = await SYSTEM.write(brief, Run(context), SYSTEM.config(preset, config))
        return story, model.asked

    def notes(self) -> str:
        return "\n".join(getattr(event, "text", "") for event in self.events)


async def written(preset: Preset = "faithful", **config: Any) -> tuple[Story, list[Request]]:  # noqa: ANN401 - fields of Config
    return await Session().write(preset, **config)


def prompt(request: Request) -> str:
    return request.messages[0].content


def of_role(asked: list[Request], role: str) -> list[str]:
    return [prompt(request) for request in asked if request.role == role]


# parsers --------------------------------------------------------------------------------------------------------


def test_extract_between_loses_a_beginning_without_an_end() -> None:
    assert extract_between("a[ b ]c[d] [e", "[", "]") == ["b", "d"]
    assert extract_between("", "[", "]") == []


GLUED = "**Character:** Mara **Description:** A keeper.\n**Character:** Tobias **Description:** A boy.**END**"
MARKED = "**Character:** Mara **Description:** She wrote **Description:** on it.\n**END**"
GAP = (
    "Place: The lamp room.\nPlot element: Beginning\n\nPlace: The quay\nPlot element: Middle\nBeat: A wave.\n\n"
    "Place: The sea\nPlot element: End\nBeat: A boat.\n**END**"
)
TWICE = (
    "**Character:** Mara **Description:** One.\n**Character:** Tobias **Description:** A boy.\n"
    "**Character:** Mara **Description:** Two.\n**END**"
)


def test_vector_a_the_last_record_glued_to_end_is_lost_faithfully_and_read_leniently() -> None:
    lost = read_characters(GLUED)
    assert [figure.name for figure in lost.entries] == ["Mara"]
    assert lost.rejected[0].reason == "no line end follows it"
    assert [figure.description for figure in lenient_characters(GLUED).entries] == ["A keeper.", "A boy."]
    scenes = SCENES.replace("\n**END**", "**END**")
    assert [len(read(scenes).entries) for read in (read_scenes, lenient_scenes)] == [3, 4]


def test_vector_b_a_description_with_the_mark_in_it_is_lost_faithfully_and_kept_leniently() -> None:
    lost = read_characters(MARKED)
    assert lost.entries == ()
    assert lost.rejected[0].reason == "it has 2 description marks, not one"
    assert lenient_characters(MARKED).entries == (CharacterEntry("Mara", "She wrote **Description:** on it."),)


def test_vector_c_a_scene_without_a_beat_shifts_the_pairs_faithfully_and_is_left_out_leniently() -> None:
    shifted = read_scenes(GAP)
    assert [(beat.place, beat.beat) for beat in shifted.entries] == [
        ("The lamp room.", "A wave."),
        ("The quay.", "A boat."),
    ]
    assert "has no partners" in shifted.rejected[0].reason
    read = lenient_scenes(GAP)
    assert [(beat.place, beat.beat) for beat in read.entries] == [("The quay.", "A wave."), ("The sea.", "A boat.")]
    assert [rejected.reason for rejected in read.rejected] == ["it lacks Beat"]


def test_vector_d_of_two_characters_with_one_name_the_later_counts_faithfully_and_the_first_leniently() -> None:
    assert read_characters(TWICE).entries == (CharacterEntry("Mara", "Two."), CharacterEntry("Tobias", "A boy."))
    read = lenient_characters(TWICE)
    assert read.entries == (CharacterEntry("Mara", "One."), CharacterEntry("Tobias", "A boy."))
    assert [rejected.reason for rejected in read.rejected] == ["it occurs twice"]


def test_vector_e_a_place_gets_a_full_stop_where_it_has_none() -> None:
    text = "".join(
        f"Place: {p}\nPlot element: a\nBeat: {n}.\n" for n, p in enumerate(["Quay", "Quay.", "St. Ives", "QUAY"])
    )
    assert [beat.place for beat in read_scenes(text).entries] == ["Quay.", "Quay.", "St. Ives", "QUAY."]
    assert [beat.place for beat in lenient_scenes(text).entries] == ["Quay.", "Quay.", "St. Ives", "Quay."]


@pytest.mark.parametrize("readers", READERS)
@pytest.mark.parametrize("answer", ["", "**END**", "\n \n**END**", "Sure! I will.\n**END**"])
def test_vector_f_an_empty_answer_has_no_records(readers: Any, answer: str) -> None:  # noqa: ANN401 - functions
    title, characters, scenes = readers
    assert characters(answer).entries == ()
    assert scenes(answer).entries == ()
    if "Sure" not in answer:
        assert title(answer) == ""
        assert read_place(answer.replace("**END**", "")) == ""


def test_a_scene_that_a_person_writes_over_several_lines_is_one() -> None:
    told = "Scenes:\nPlace: The quay\nPlot element: Middle\nBeat: A wave,\nand another.**END**"
    assert lenient_scenes(told).entries == (SceneEntry("The quay.", "Middle", "A wave, and another."),)


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        (' "The Beam."', "The Beam"),
        ("\n**Title:** The Beam\n**END**", "The Beam"),
        ("The Beam\nLogline: Another", "The Beam"),
    ],
)
def test_titles_are_read_leniently(answer: str, title: str) -> None:
    assert lenient_title(answer) == title


@pytest.mark.parametrize(
    "title",
    [
        "The Keeper Who Would Not Go: Being an Account of the Last Winter of the Lamp, in Nine Letters",
        "Doctor Strangehand, or: How I Learned to Stop Sailing and Love the Rock",
    ],
)
def test_a_capable_models_long_title_is_kept_whole(title: str) -> None:
    assert lenient_title(f"Here is a title for your play:\n\n**Title:** {title}\n**END**") == title


def test_a_character_without_a_name_or_a_description_is_rejected_with_a_reason() -> None:
    read = lenient_characters(
        "**Character:** Mara\n**Character:** **Description:** y\nAnd here is what she did: she left"
    )
    assert [r.reason for r in read.rejected] == ["it lacks name or description"] * 3


async def test_by_schema_a_capable_models_characters_and_scenes_are_bound_by_nothing() -> None:
    _, asked = await Session(filled, capabilities=Capabilities(schema=True)).write("improved")
    shown = {r.role: json.dumps(r.schema) for r in reversed(asked) if r.schema}  # the first of each
    bounds = {role: sorted(set(re.findall(r"m(?:ax|in)\w+\": \d+|enum", text))) for role, text in shown.items()}
    assert bounds == {"characters": ['minItems": 1', 'minLength": 1'], "scenes": ['minItems": 1', 'minLength": 1']}


LINES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1).map(
    lambda text: f"x{' '.join(text.replace('*', '').replace(':', '').split())}x"
)


@settings(deadline=None)
@given(st.lists(st.tuples(LINES, LINES, LINES), min_size=1, max_size=4))
def test_scenes_come_back_from_what_is_written_of_them(rows: list[tuple[str, str, str]]) -> None:
    beats = tuple(SceneEntry(f"{place}.", element, f"{n} {text}.") for n, (place, element, text) in enumerate(rows))
    assert read_scenes(f"{scenes_text(beats)}\n").entries == beats
    read = lenient_scenes(scenes_text(beats)).entries
    assert [(b.element, b.beat) for b in read] == [(b.element, b.beat) for b in beats]


@settings(deadline=None)
@given(st.lists(LINES, min_size=1, max_size=4))
def test_characters_come_back_from_what_is_written_of_them(rows: list[str]) -> None:
    figures = tuple(CharacterEntry(f"Name {chr(97 + n)}", text) for n, text in enumerate(rows))
    for read in (read_characters, lenient_characters):
        assert read(f"{characters_text(figures)}\n**END**").entries == figures


@settings(deadline=None)
@given(st.text())
def test_no_answer_breaks_a_parser(answer: str) -> None:
    for read in (*(one for readers in READERS for one in readers), read_place):
        read(answer)


def test_end_is_taken_out_wherever_a_continuation_left_it() -> None:
    assert without_end("One.\n**END**\n\nTwo.\n**END**") == "One.\n\n\nTwo."
    assert len(lenient_scenes(without_end(SCENES.replace("\n\n", "\n**END**\n\n", 1))).entries) == 4


# the loop around the model --------------------------------------------------------------------------------------


async def sampled(level: Level, *pieces: str) -> tuple[str, list[Request]]:
    """The answer of a level whose calls give `pieces` in turn."""
    left = list(pieces)
    model = ScriptedModel(lambda _: left.pop(0) if len(left) > 1 else left[0])
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(SYSTEM.prompts), Cast.of(model)))
        answer = await generate(run, level, SYSTEM.config("faithful"), {"logline": "A keeper."})
    return answer, model.asked


TITLE = Level("title", "title", "Title:", 64, 64)
LONG = Level("title", "title", "Title:", 511, 1024)


async def test_end_stops_and_what_follows_is_cut() -> None:
    answer, asked = await sampled(LONG, "The Beam**END** and more")
    assert (answer, len(asked)) == ("The Beam", 1)


async def test_a_new_example_stops_also_inside_a_sentence() -> None:
    answer, _ = await sampled(LONG, "The Beam\nExample 2. Logline")
    assert answer == "The Beam\n"
    answer, _ = await sampled(LONG, "Take this: Example of courage.")
    assert answer == "Take this: "


async def test_the_cap_is_compared_with_characters_so_that_one_sample_passes_it() -> None:
    answer, asked = await sampled(LONG, "word " * 300)
    assert (len(asked), len(answer)) == (1, 1500)


async def test_short_answers_without_end_are_asked_on_until_the_most_calls() -> None:
    answer, asked = await sampled(LONG, "One.", " Two.", " Three.")
    assert answer == "One. Two. Three."
    assert [request.path for request in asked] == ["title", "call/2/title", "call/3/title"]
    assert prompt(asked[2]).endswith("Title: One. Two.")
    answer, asked = await sampled(TITLE, "Short.", " More.")
    assert (answer, len(asked)) == ("Short. More.", 2)
    _, asked = await sampled(Level("places", "title", "", 128, 1024), "Short.")
    assert len(asked) == 9


LOOP = "MARA\nNo.\n\n" * 4


async def test_a_sample_of_dialogue_that_loops_is_drawn_again_three_times_and_then_taken() -> None:
    level = Level("title", "title", "Title:", 511, 1024, loops=True)
    answer, asked = await sampled(level, LOOP, LOOP, "MARA\nYes.**END**")
    assert (answer, len(asked)) == ("MARA\nYes.", 3)
    _, asked = await sampled(level, LOOP, LOOP, LOOP, f"{LOOP}**END**")
    assert len(asked) == 4
    assert len({request.sampling.seed for request in asked}) == 4
    _, asked = await sampled(LONG, f"{LOOP}**END**")
    assert len(asked) == 1


async def test_sampling_is_that_of_the_release_and_in_improved_mode_the_models_own() -> None:
    _, asked = await written()
    first = asked[0].sampling
    assert (first.temperature, first.top_p, first.frequency_penalty, first.presence_penalty) == (1.0, 0.95, 0.23, 0.23)
    assert {r.role: r.sampling.max_tokens for r in asked} == {
        "title": 64,
        "characters": 511,
        "scenes": 511,
        "places": 128,
        "dialogue": 511,
    }
    session = Session()
    _, asked = await session.write("improved", examples="three-step")
    assert {request.sampling.temperature for request in asked} == {None}


# the hierarchy --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_the_calls_are_three_and_one_for_each_place_and_each_scene(preset: Preset) -> None:
    story, asked = await written(preset)
    assert Counter(request.role for request in asked) == {
        "title": 1,
        "characters": 1,
        "scenes": 1,
        "places": 2,
        "dialogue": 4,
    }
    assert story.title == "The Beam"
    assert [scene.label for scene in story.scenes] == ["Scene 1", "Scene 2", "Scene 3", "Scene 4"]


async def test_a_full_stop_is_put_behind_a_logline_that_holds_none() -> None:
    assert logline_of(Brief("A keeper")) == "A keeper."
    assert logline_of(Brief("Mr. Ames\nwaits")) == "Mr. Ames waits"


async def test_a_title_in_the_brief_is_that_level_done_by_hand() -> None:
    story, asked = await Session().write(brief=Brief(BRIEF.text, "My Play"))
    assert story.title == "My Play"
    assert of_role(asked, "title") == []


async def test_the_title_goes_into_no_other_prompt_and_descriptions_alone_into_the_plot() -> None:
    _, asked = await written()
    assert not [request for request in asked if "The Beam" in prompt(request)]
    (plot,) = of_role(asked, "scenes")
    assert plot.endswith(
        "**Logline:** Mara keeps a lighthouse, and a boat is late.\nMara is a keeper of seventy.\n"
        "Tobias is a boy of ten.\nAl is the captain of the late boat.\n**Scenes:**"
    )


async def test_no_prompt_holds_dialogue_that_was_written() -> None:
    for preset in ("faithful", "improved"):
        _, asked = await written(preset)
        assert not [request for request in asked if "secret" in prompt(request)]


async def test_a_dialogue_is_asked_for_with_its_lines_in_the_releases_order() -> None:
    _, asked = await written()
    second = of_role(asked, "dialogue")[1]
    block = second.rpartition("in the same way.\n\n")[2]
    assert [line.partition(":")[0] for line in block.split("\n") if ":" in line] == [
        *("Place", "Description", "Characters", "Plot element", "Summary", "Previous beat", "Beat"),
        "**Dialog",
    ]
    assert "Summary: Mara keeps a lighthouse, and a boat is late.\n" in block
    assert block.endswith("\n\n**Dialog:**")
    assert "Previous beat" not in of_role(asked, "dialogue")[0].rpartition("in the same way.\n\n")[2]


async def test_faithfully_al_is_found_in_also_and_the_captain_is_nobody() -> None:
    _, asked = await written()
    second = of_role(asked, "dialogue")[1].rpartition("in the same way.\n\n")[2]
    assert (
        "Characters: Tobias is a boy of ten.\nAl is the captain of the late boat.\nPlot element" in second
    )  # for "Also"
    figures = [CharacterEntry("Al", "Al is the captain of it."), CharacterEntry("Alice", "A girl.")]
    assert [f.name for f in characters_in("Alice runs.", figures)] == ["Al", "Alice"]
    assert characters_in("The captain runs.", figures) == ()


async def test_improved_everybody_is_told_to_a_dialogue() -> None:
    _, asked = await written("improved")
    dialogues = of_role(asked, "dialogue")
    assert all(all(f"{name} is" in one for name in ("Mara", "Tobias", "Al")) for one in dialogues)


async def test_improved_a_dialogue_is_told_all_earlier_beats() -> None:
    _, asked = await written("improved")
    last = of_role(asked, "dialogue")[-1]
    assert "Previous beats: Mara gets a letter. Tobias waits for the captain. Also, the wind turns. Mara lights" in last


@pytest.mark.parametrize(("examples", "count"), [("classical", 1), ("three-step", 2), ("none", 0)])
async def test_prompts_begin_with_the_examples_that_are_wanted(examples: str, count: int) -> None:
    _, asked = await written(examples=examples)
    for request in asked:
        assert len(re.findall(r"^Example \d\.$", prompt(request), re.MULTILINE)) == count
    assert len(example_set(examples)) == count
    assert all("**END**" in prompt(request) for request in asked)


@pytest.mark.parametrize("examples", ["classical", "none"])
async def test_each_level_is_asked_from_the_label_that_the_release_has_and_titles_as_it_wants_them(
    examples: str,
) -> None:
    _, asked = await written(examples=examples)
    for role, label in (("title", ""), ("characters", "**"), ("scenes", "**"), ("places", "**")):
        lines = [line for line in of_role(asked, role)[0].split("\n") if "Logline:" in line]
        assert [line.partition("Logline:")[0] for line in lines] == [label] * (2 if examples == "classical" else 1)
    assert "original and descriptive title" in of_role(asked, "title")[0]


def test_the_examples_keep_to_the_formats_and_their_arcs() -> None:
    assert {path.stem for path in FOLDER.glob("*.toml")} == {"classical", "three-step"}
    for name, steps in (("classical", 9), ("three-step", 3)):
        for example in example_set(name):
            assert len(example.scenes) == steps
            assert read_characters(f"{example.characters_text}\n**END**").entries == example.characters
            assert read_scenes(f"{example.scenes_text}\n").entries == example.scenes
            assert {beat.place for beat in example.scenes} == {place for place, _ in example.places}
            assert all(figure.name in figure.description for figure in example.characters)


async def test_models_that_go_on_with_a_text_are_given_the_open_label() -> None:
    session = Session(capabilities=Capabilities(continues=True, small=True))
    _, asked = await session.write()
    opened = {request.role: request.messages[-1] for request in asked}
    assert {role: message.content for role, message in opened.items()} == {
        "title": "Title:",
        "characters": "**Character:**",
        "scenes": "Place:",
        "places": "Description:",
        "dialogue": "**Dialog:**",
    }
    assert {message.role for message in opened.values()} == {"assistant"}


# scripts --------------------------------------------------------------------------------------------------------------


async def test_a_script_has_its_heading_and_shows_places_and_people_when_they_come_first() -> None:
    story, _ = await written()
    first, second, third = (scene.text.split("\n\n") for scene in story.scenes[:3])
    assert first[0] == "INT/EXT. The lamp room - Scene 1"
    assert first[1].startswith("A place with")
    assert first[2] == "Mara is a keeper of seventy."
    assert first[3].startswith("MARA\nNumber")
    assert second[2:4] == ["Tobias is a boy of ten.", "Al is the captain of the late boat."]
    assert third[0] == "INT/EXT. The lamp room - Scene 3"
    assert third[1].startswith("MARA\n")
    assert "END" not in story.text


# a person's hand: edit, continue, plan --------------------------------------------------------------------------------


async def again(session: Session, preset: Preset = "faithful", **config: Any) -> set[str]:  # noqa: ANN401 - fields of Config
    """What is asked when the story is written once more."""
    _, asked = await session.write(preset, **config)
    return {request.path for request in asked}


async def test_an_edited_beat_is_told_to_its_dialogue_and_the_next_alone() -> None:
    session = Session()
    await session.write()
    session.edits["scenes"] = session.journal.artefacts.newest("scenes").replace("Tobias waits", "Tobias still waits")  # type: ignore[union-attr] # written above
    assert await again(session) == {"scene-2/dialogue", "scene-3/dialogue"}
    assert await again(session) == set()


async def test_with_all_beats_told_an_edited_one_goes_into_all_later_dialogues() -> None:
    session = Session()
    await session.write("improved")
    session.edits["scenes"] = session.journal.artefacts.newest("scenes").replace("Tobias waits", "Tobias still waits")  # type: ignore[union-attr] # written above
    dialogues = {f"scene-{number}/dialogue" for number in range(1, 5)}  # the one before it is told what follows
    assert await again(session, "improved") == dialogues


async def test_an_edited_place_is_told_to_the_dialogues_there_alone() -> None:
    session = Session()
    await session.write()
    session.edits["place-the-quay"] = "A wet stone."
    assert await again(session) == {"scene-2/dialogue", "scene-4/dialogue"}


async def test_an_edited_character_changes_the_plot_and_whom_it_is_told_to() -> None:
    session = Session()
    await session.write()
    session.edits["characters"] = session.journal.artefacts.newest("characters").replace("of ten", "of eleven")  # type: ignore[union-attr] # written above
    assert await again(session) == {"scenes/scenes", "scene-2/dialogue", "scene-3/dialogue"}


async def test_a_dry_run_of_a_retaken_level_counts_all_that_may_change() -> None:
    session = Session()
    await session.write()
    session.journal.decisions.add("scenes", "retake")
    await session.write(how="dry")
    assert {call.path for call in session.context.dry_run.planned} == {
        "scenes/scenes",
        *(f"place-{p}/place" for p in ("the-lamp-room", "the-quay")),
        *(f"scene-{n}/dialogue" for n in (1, 2, 3, 4)),
    }


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("title", "Beam", "Lamp"),
        ("scenes", "Mara gets a letter", "Mara gets a parcel for Al"),
        ("scenes", "Tobias waits for the captain", "Nobody waits"),
        ("place-the-quay", "windows", "boats"),
        ("scene-2", "secret", "open"),
    ],
)
async def test_a_dry_run_announces_what_is_asked_after_an_edit(preset: Preset, path: str, old: str, new: str) -> None:
    session = Session()
    await session.write(preset)
    session.edits[path] = (session.journal.artefacts.newest(path) or "").replace(old, new)
    await session.write(preset, how="dry")
    announced = {call.path for call in session.context.dry_run.planned}
    assert announced == await again(session, preset)


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@pytest.mark.parametrize(("path", "old", "new"), [("characters", "Tobias", "Tom"), ("scenes", "The quay", "The pier")])
async def test_a_dry_run_announces_at_least_what_is_asked_after_an_edit_of_names(
    preset: Preset, path: str, old: str, new: str
) -> None:
    session = Session()
    await session.write(preset)
    session.edits[path] = (session.journal.artefacts.newest(path) or "").replace(old, new)
    await session.write(preset, how="dry")
    announced = {call.path for call in session.context.dry_run.planned}
    assert announced >= await again(session, preset)


async def test_scenes_are_kept_in_the_order_of_telling_whichever_is_written_first() -> None:
    session = Session(edits={"scene-3": "MARA\nMine.", "place-the-quay": "Wet."})
    story, _ = await session.write()
    assert session.kept[3:] == ["place-the-lamp-room", "place-the-quay", "scene-1", "scene-2", "scene-3", "scene-4"]
    assert story.scenes[2].text == "MARA\nMine."


async def test_a_scene_that_fails_keeps_back_those_behind_it_and_what_was_asked_is_not_asked_again() -> None:
    def failing(request: Request) -> str:
        if request.path == "scene-2/dialogue":
            raise ModelError("Gone.")
        return answer_of(request)

    session = Session(failing)
    with pytest.raises(ModelError, match=r"Gone\."):
        await session.write()
    assert session.kept[-1] == "scene-1"
    session.script = answer_of
    asked = await again(session)
    assert "scene-2/dialogue" in asked
    assert "scene-1/dialogue" not in asked


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        (
            "characters",
            "Nobody.",
            r"plan/characters\.md has no readable character\. Write \*\*Character:\*\* NAME",
        ),
        ("scenes", "Place: x", r"plan/scenes\.md has no readable scene\. Write the three lines Place: WHERE"),
    ],
)
async def test_an_edit_that_cannot_be_read_is_told_with_the_form(path: str, text: str, told: str) -> None:
    for preset in ("faithful", "improved"):
        with pytest.raises(UsageError, match=told):
            await Session(edits={path: text}).write(preset)


async def test_an_edit_without_end_keeps_its_last_record_in_faithful_mode_too() -> None:
    session = Session(edits={"characters": "**Character:** Mara **Description:** Mara is old."})
    _, asked = await session.write()
    assert "Mara is old.\n**Scenes:**" in of_role(asked, "scenes")[0]


@pytest.mark.parametrize(
    ("role", "told"),
    [
        ("title", r"The role 'title' gave no readable title in 4 tries\. The same command asks"),
        ("characters", r"The role 'characters' gave no readable characters in 4 tries"),
        ("scenes", r"The role 'scenes' gave no readable scenes in 4 tries"),
        ("places", r"The role 'places' gave no readable place in 4 tries"),
    ],
)
async def test_a_level_that_gives_nothing_is_asked_again_and_then_an_error(role: str, told: str) -> None:
    session = Session(lambda request: "**END**" if request.role == role else answer_of(request))
    with pytest.raises(ReplyError, match=told) as caught:
        await session.write()
    assert caught.value.reply == ""


async def test_improved_asks_again_for_a_script_that_is_none_and_takes_a_title_that_looks_like_a_heading() -> None:
    def script(request: Request) -> str:
        if request.role == "title":
            return "Chapter One"
        return "INT. THE LAMP ROOM" if request.path == "scene-1/dialogue" else answer_of(request)

    story, asked = await Session(script).write("improved")
    assert story.title == "Chapter One"
    assert [request.path for request in asked if request.path.startswith("scene-1/")][1:] == [
        "scene-1/again/1/dialogue"
    ]
    assert "INT. THE LAMP ROOM" not in story.text.replace("INT/EXT. THE LAMP ROOM", "")


async def test_what_was_rejected_is_noted() -> None:
    session = Session(
        lambda request: FIGURES.replace("\n**END**", "**END**") if request.role == "characters" else answer_of(request)
    )
    await session.write()
    assert "A character was left out, since no line end follows it: Al **Description:**" in session.notes()


async def test_levels_are_continued_without_an_end_in_their_middle() -> None:
    session = Session()
    await session.write()

    def further(request: Request) -> str:
        if request.role == "characters":
            return (
                "\n**Character:** Eva **Description:** Eva is late.\n**Character:** Mara **Description:** M.\n**END**"
            )
        return "EVA\nWait for me.\n**END**" if request.role == "dialogue" else answer_of(request)

    session.script = further
    session.journal.decisions.add("characters", "continue", session.journal.artefacts.newest("characters"))
    _, asked = await session.write()
    (more,) = [request for request in asked if request.role == "characters"]
    assert "**END**" not in prompt(more).rpartition("in the same way.")[2]
    assert more.sampling.max_tokens == 256
    told = session.journal.artefacts.newest("characters") or ""
    assert [f.name for f in read_characters(f"{told}\n**END**").entries] == ["Mara", "Tobias", "Al", "Eva"]
    session.journal.decisions.add("scene-1", "continue", session.journal.artefacts.newest("scene-1"))
    story, asked = await session.write()
    assert story.scenes[0].text.endswith("I hear you at " + story.scenes[0].text.split()[-5] + "\n\nEVA\nWait for me.")
    (more,) = asked
    assert "INT/EXT" not in prompt(more).rpartition("in the same way.")[2]


async def test_a_continuation_that_brings_nothing_is_noted() -> None:
    session = Session()
    await session.write()
    session.journal.decisions.add("characters", "continue", session.journal.artefacts.newest("characters"))
    before = session.journal.artefacts.newest("characters")
    await session.write()
    assert "The continuation brought no further character." in session.notes()
    assert session.journal.artefacts.newest("characters") == before


async def test_a_given_plan_leaves_only_the_dialogues_to_be_asked_for() -> None:
    session = Session(edits={"plan": PLAN})
    story, asked = await session.write()
    assert [request.path for request in asked] == [f"scene-{n}/dialogue" for n in (1, 2, 3)]
    assert story.title == "The Last Lamp"
    block = prompt(asked[0]).rpartition("in the same way.\n\n")[2]
    assert block.startswith(
        "Place: The lamp room.\nDescription: At the top of a white tower, before dusk\nCharacters: Mara ("
    )
    assert "Tobias" not in block
    assert "Beat: Mara reads the letter. She lights the lamp.\n" in block
    assert story.scenes[0].text.startswith("INT/EXT. The lamp room - Scene 1\n\nAt the top of a white tower")


PEOPLE = """
goal: Mara keeps the lamp burning until the last boat is home.
setting: A bare cape.
world: {lamp_lit: true}
personas:
  - {name: Mara, role: protagonist, description: Keeper of the lighthouse, goals: [to see the boats home]}
  - {name: Tobias, description: He brings her bread.}
"""


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_an_authors_personas_are_the_characters_and_their_goal_stands_in_the_log_line(preset: Preset) -> None:
    assert SYSTEM.takes_personas
    _, asked = await Session(edits={"personas": PEOPLE}).write(preset)
    assert "characters" not in {request.role for request in asked}
    (plot,) = of_role(asked, "scenes")
    assert "Mara (protagonist) - Keeper of the lighthouse. Wants: to see the boats home." in plot
    assert "until the last boat is home. A bare cape. When it begins, this is so: lamp_lit: true." in plot
    assert "Tobias - He brings her bread." in of_role(asked, "dialogue")[2]


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("The quay", ("The quay", "")),
        ("The lamp room, at the top", ("The lamp room", "At the top")),
        ("A hut (burnt)", ("A hut", "Burnt")),
        ("St. Ives", ("St. Ives", "")),
        ("", ("Somewhere", "")),
    ],
)
def test_a_place_of_a_plan_is_named_by_its_first_clause(place: str, told: tuple[str, str]) -> None:
    assert place_of(place) == told


# length ---------------------------------------------------------------------------------------------------------------


def sentences(request: Request) -> str:
    """A script whose turns differ from call to call."""
    if request.role != "dialogue":
        return answer_of(request)
    n = len(prompt(request))
    turns = [f"{who}\nI saw {n * k} of them." for k, who in enumerate(["MARA", "AL"][n % 2 :][:1], 3)]
    return "\n\n".join(turns) + "\n**END**"


@pytest.mark.parametrize("words", ["300-340", "150-200"])
async def test_scenes_share_the_words_that_are_wanted(words: str) -> None:
    session = Session(sentences)
    story, _ = await session.write("improved", words=words)
    low, high = map(int, words.split("-"))
    assert low <= story.words <= high


def test_shares_add_up_to_the_whole() -> None:
    parts = WordRange.between(301, 347).shares([1, 2, 3, 1])
    assert (sum(p.low for p in parts), sum(p.high for p in parts)) == (301, 347)
    assert parts[2].low > 2 * parts[0].low


async def test_a_scene_that_stays_too_short_is_noted() -> None:
    session = Session()
    await session.write("improved", words="4000")
    assert re.search(r"The scene has \d+ words; \d+ to \d+ were wanted", session.notes())


# a capable model ------------------------------------------------------------------------------------------------------

REFRAIN = "CHORUS (off)\nThe lamp, the lamp, the lamp goes round."
PLAY = "\n\n".join(
    [
        "MARA",
        "You come late. The light is yours now, and the sea is the sea\u2019s.",
        *[f"{REFRAIN}\n\nTOBIAS\nI counted {n} boats, and not one of them was ours." for n in range(1, 7)],
        "[She reads.]\nSummary: nothing of note.\n- two crates of oil\n- a letter from the board, unopened",
        "INT. THE SAME, LATER",
        ("You stand at the glass. You do not speak. " * 60).strip(),
        REFRAIN,
        "MARA\nPlease let me know if",
    ]
)


async def test_nothing_of_a_capable_models_reply_is_lost_but_chatter() -> None:
    long = "Mara is a keeper. " + "She counts what she has, and what she has not she counts twice. " * 12 + "So be it"
    scenes = [
        {
            "place": f"Room {n}, above the sea and below the lamp, where the stairs end",
            "element": "Climax",
            "happens": long,
        }
        for n in range(15)
    ]

    def capable(request: Request) -> str:
        if request.role == "characters":
            return json.dumps({"records": [{"name": f"Mara {n}", "description": long} for n in range(8)]})
        if request.role == "scenes":
            return json.dumps({"records": [s | {"happens": f"{n}. {long}"} for n, s in enumerate(scenes)]})
        if request.role == "dialogue":
            return f"Here is the script of the scene:\n\n{PLAY}\n**END**\n"
        return answer_of(request)

    session = Session(capable, Capabilities(schema=True))
    story, asked = await session.write("improved")
    assert [scene.text.endswith(f"\n\n{PLAY}") for scene in story.scenes] == [True] * 15
    assert "Here is the script" not in story.text
    assert session.journal.artefacts.newest("characters").count(long) == 8  # type: ignore[union-attr] # written above
    assert session.journal.artefacts.newest("scenes").count(long) == 15  # type: ignore[union-attr] # written above
    assert {request.sampling.max_tokens for request in asked} == {None}
    assert not [request for request in asked if "maxLength" in json.dumps(request.schema)]
    assert of_role(asked, "dialogue")[-1].count(long) == 8 + 15  # all characters, all beats


async def test_nothing_of_a_capable_models_prose_is_lost_either() -> None:
    prose = (
        "You climb. You count.\n\n" + "The lamp goes round.\n\n" * 6 + "- oil\n- bread\n\nThe story began with a lamp"
    )
    story, asked = await Session(lambda _: prose, edits={"plan": PLAN}).write("improved", mode="story")
    assert [scene.text for scene in story.scenes] == [prose] * 3
    assert {request.sampling.max_tokens for request in asked} == {None}
    assert not [request for request in asked if "past tense" in prompt(request)]


# the schema form ------------------------------------------------------------------------------------------------------

CAST = '{"records": [{"name": "Mara", "description": "Mara keeps the lamp."}, {"name": "Tobias", "description": "T."}]}'
SCENE = '{"records": [{"place": "The quay", "element": "Climax", "happens": "Mara and Tobias wait. Day %d."}]}'


def filled(request: Request) -> str:
    """What a model answers that fills in schemas."""
    if request.role == "characters":
        return CAST
    return SCENE % len(prompt(request)) if request.role == "scenes" else answer_of(request)


async def test_by_schema_the_lists_are_typed_and_the_files_are_as_ever() -> None:
    session = Session(filled, capabilities=Capabilities(schema=True, small=True))
    story, asked = await session.write("improved")
    assert [bool(request.schema) for request in asked[:4]] == [False, True, True, False]
    assert session.journal.artefacts.newest("characters") == (
        "**Character:** Mara **Description:** Mara keeps the lamp.\n**Character:** Tobias **Description:** T."
    )
    assert len(story.scenes) == 1
    assert not [request for request in asked[1:3] if "**" in prompt(request)]


async def test_by_schema_a_level_is_continued_with_what_is_new() -> None:
    session = Session(filled)
    await session.write("improved")
    session.journal.decisions.add("characters", "continue", session.journal.artefacts.newest("characters"))
    session.script = lambda r: CAST.replace("Tobias", "Eva") if r.role == "characters" else filled(r)
    await session.write("improved")
    told = session.journal.artefacts.newest("characters") or ""
    assert [figure.name for figure in lenient_characters(told).entries] == ["Mara", "Tobias", "Eva"]


async def test_by_schema_a_reply_that_cannot_be_read_is_repaired_and_then_an_error() -> None:
    session = Session(lambda request: "No." if request.role == "scenes" else filled(request))
    with pytest.raises(ReplyError, match=r"role 'scenes' at scenes/scenes could not be read after 2 repairs"):
        await session.write("improved")


# stories --------------------------------------------------------------------------------------------------------


async def write_story(preset: Preset = "faithful", **config: Any) -> tuple[Story, list[Request]]:  # noqa: ANN401 - fields of Config
    return await Session(edits={"plan": PLAN}).write(preset, mode="story", **config)


async def test_a_story_is_one_call_a_scene_and_the_reply_as_it_is() -> None:
    story, asked = await write_story()
    assert [request.path for request in asked] == [f"the-{name}/scene" for name in ("letter", "storm", "morning")]
    assert (story.scenes[0].label, story.scenes[0].text) == ("The letter", answer_of(asked[0]))
    assert story.title == "The Last Lamp"
    assert {request.sampling.temperature for request in asked} == {0.9}
    assert {request.sampling.frequency_penalty for request in asked} == {0.2}


async def test_its_prompt_has_the_five_fields_and_no_example_and_nothing_else() -> None:
    _, asked = await write_story()
    assert prompt(asked[1]) == (
        "Scene Content Generation\n\nWrite the content of a scene from the description below.\n\nPlace: The quay\n"
        "Characters: Mara (protagonist, 70) - She has kept the light for thirty years. Way of speaking: Few words. "
        "Wants: To leave without a debt. Wants here: to be seen.\n"
        "Tobias - He brings her bread. Wants here: to find his father.\nPlot Element: climax\n"
        "Summary: Mara's lamp is to go dark, and a boat is late. Before this scene: Mara reads the letter. "
        "She lights the lamp.\nOutline: The wind turns.\nTobias comes running."
    )
    assert "Place: The lamp room\nIn grey light\nCharacters: Tobias" in prompt(asked[2])


@pytest.mark.parametrize(
    ("summary", "before"),
    [
        ("logline", ""),
        ("logline+previous", "The wind turns. Tobias comes running."),
        ("logline+all", "Mara reads the letter. She lights the lamp. The wind turns. Tobias comes running."),
    ],
)
async def test_what_a_scene_is_told_of_the_whole_is_a_setting(summary: str, before: str) -> None:
    _, asked = await write_story(summary=summary)
    logline = "Mara's lamp is to go dark, and a boat is late."
    assert f"Summary: {logline}{f' Before this scene: {before}' if before else ''}\n" in prompt(asked[2])
    assert f"Summary: {logline}\n" in prompt(asked[0])


def prose(request: Request) -> str:
    """Sentences that differ from call to call and inside a reply."""
    if request.path.endswith("/shorten"):
        return shortening.shortened(request)
    n = len(prompt(request))
    return " ".join(f"On day {n}{k} Mara went down to the quay and counted {k} boats of {n * k}." for k in range(1, 9))


async def test_in_improved_mode_scenes_get_words_by_their_importance() -> None:
    story, asked = await Session(prose, edits={"plan": PLAN}).write("improved", mode="story", words="300-330")
    assert 300 <= story.words <= 330
    assert story.scenes[1].words > 2 * story.scenes[0].words
    first, last = (next(prompt(r) for r in asked if r.path == f"the-{name}/scene") for name in ("letter", "morning"))
    assert "Write about 65 words, between 55 and 75." in first
    assert "do not bring the story to an end" in first
    assert "do not bring the story to an end" not in last
    assert asked[0].sampling.temperature is None


async def test_a_scene_of_a_story_is_continued() -> None:
    session = Session(edits={"plan": PLAN})
    story, _ = await session.write(mode="story")
    session.journal.decisions.add("the-storm", "continue", session.journal.artefacts.newest("the-storm"))
    longer, asked = await session.write(mode="story")
    assert [request.path.rpartition("/")[2] for request in asked] == ["scene"]
    assert longer.scenes[1].text.startswith(f"{story.scenes[1].text}\n\nMara wrote")
    assert prompt(asked[0]).endswith(f"Go on from its last sentence:\n\n{story.scenes[1].text}")


async def test_an_edited_outline_is_told_to_its_scene_and_the_next_alone() -> None:
    session = Session(edits={"plan": PLAN})
    await session.write(mode="story")
    session.edits["plan"] = PLAN.replace("She lights the lamp", "She lights the big lamp")
    assert await again(session, mode="story") == {"the-letter/scene", "the-storm/scene"}


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_without_a_plan_the_planner_decides_how_many_people_a_story_has(preset: Preset) -> None:
    asked: list[Request] = []

    def planner(request: Request) -> str:
        asked.append(request)
        return "No list." if request.path.endswith("plan_cast") else "Mara wants the lamp lit, and nobody helps her."

    with pytest.raises(ReplyError):
        await Session(planner).write(preset, mode="story")
    cast = next(r.messages[-1].content for r in asked if r.path.endswith("plan_cast"))
    assert "at most" not in cast


# what a capable player was not told, and the audience was (from an evening that one played) ---------------------------

HEIST = (
    ("Brandt", "Brandt, seventy-one, plans the theft down to the minute."),
    ("Odile", "Odile, sixty-eight, drives anything with wheels."),
    ("Wim", "Wim, sixty-six and afraid of dogs, has sold the cheese to a collector in Ghent."),
)
THEFT = (
    ("Odile's van, outside the museum", "Wim rings Ghent and begs for the cheese."),
    ("The entrance hall", "The porter lets them in, and her dog takes to Wim."),
    ("The cemetery", "She sets the wheel down, and no one lets him finish."),
)
VAN = "A van that once delivered bread, two wheels on the kerb. One window of the museum is lit."


def thieves(request: Request) -> str:
    """A capable model: it answers the schema, and writes as many words of dialogue as it is asked for."""
    if request.role == "characters":
        return json.dumps({"records": [{"name": name, "description": text} for name, text in HEIST]})
    if request.role == "scenes":
        records = [{"happens": beat, "place": place, "element": "Climax"} for place, beat in THEFT]
        return json.dumps({"records": records})
    if request.role == "places":
        return VAN
    found = re.search(r"about (\d+) words", prompt(request))
    words = int(found[1]) if found else 20
    return "WIM\n" + " ".join(["dog"] * (words - 1))


async def robbed(**config: Any) -> tuple[Story, list[Request], Session]:  # noqa: ANN401 - fields of Config
    session = Session(thieves)
    brief = Brief("A play of about 600 words. The audience learns who sold the cheese before the other two do.")
    story, asked = await session.write("improved", brief, **config)
    return story, asked, session


async def test_a_script_gives_nothing_away_before_it_is_played_and_scenes_have_room() -> None:
    story, _, _ = await robbed()
    assert "Ghent" not in story.text
    assert story.scenes[0].text.startswith(f"INT/EXT. ODILE'S VAN, OUTSIDE THE MUSEUM\n\n{VAN}\n\nWIM\n")
    lengths = [len(re.findall("dog", scene.text)) for scene in story.scenes]
    assert max(lengths) - min(lengths) <= 5
    assert 540 <= story.words <= 660


async def test_headings_of_a_very_short_script_go_without_descriptions_and_a_note_says_so() -> None:
    session = Session(thieves)
    story, _ = await session.write("improved", Brief("A play of 100 to 120 words."))
    assert "delivered bread" not in story.text
    assert 100 <= story.words <= 120
    assert "descriptions are left out of the script" in session.notes()


async def test_who_plans_scenes_knows_the_length_and_who_writes_one_knows_what_comes_next() -> None:
    _, asked, _ = await robbed()
    plan = next(prompt(request) for request in asked if request.role == "scenes")
    assert "In all, the script is to have about 600 words, between 540 and 660" in plan
    first, second, last = (
        next(prompt(request) for request in asked if request.path == f"scene-{n}/dialogue") for n in (1, 2, 3)
    )
    assert f"Next scene: {THEFT[1][1]}" in first
    assert "With this scene the play ends." not in second
    assert "With this scene the play ends." in last
    assert "Next scene:" not in last


STEPS = "You count the steps again, and there are still forty-one."
STAIRS = """
title: Forty-One Steps
conflict: You want to leave with a clear conscience.
setting: A house without a lift, in November.
person: second person
tense: present tense
form: Each scene ends with the same sentence.
demands: [The widow never learns what was in the piano.]
payoffs: [The pencil of scene 1 is given away in scene 2.]
characters:
  - {name: you, age: fifty-six, setup: A piano tuner, secret: You have it in your case.}
  - {name: Mrs. Aalders, setup: A widow}
scenes:
  - name: The lever
    place: The drawing room of Mrs. Aalders's flat, and the stairs
    date: a Thursday in November
    characters: [you, Mrs. Aalders]
    outline: [You climb the stairs., She tells you about the waltz.]
  - name: The pencil
    place: The drawing room
    characters: {you: {age: twenty, then: You learn the trade}, Mrs. Aalders: to ask}
    outline: [She asks whether there was anything inside., You say that there was a pencil.]
"""
CLIMB = f"Forty-one steps. You wait for your breath.\n\n\u201cYou\u2019re the tuner,\u201d says Mrs. Aalders. {STEPS}"
PENCIL = (
    f"\u201cDust,\u201d you say. \u201cAnd a pencil.\u201d\n\nShe finds the tooth marks. *His*, she thinks. {STEPS}"
)


def tuner(request: Request) -> str:
    return CLIMB if "the-lever" in request.path else PENCIL


async def stairs(preset: Preset = "improved", **config: Any) -> tuple[Story, list[Request]]:  # noqa: ANN401 - fields of Config
    brief = Brief(f'A story in the second person. Each scene ends with the same sentence: "{STEPS}"')
    return await Session(tuner, edits={"plan": STAIRS}).write(preset, brief, mode="story", **config)


async def test_a_scene_of_a_story_is_written_from_the_brief_the_plan_and_the_story_so_far() -> None:
    story, asked = await stairs()
    assert [scene.text for scene in story.scenes] == [CLIMB, PENCIL]
    first, second = map(prompt, asked)
    assert STEPS in first
    assert first.count("second person; present tense") == 1
    for told in ("Each scene ends with", "The widow never learns", "The pencil of scene 1", "A house without a lift"):
        assert told in first
    assert "When: a Thursday in November" in first
    assert "With it the story opens" in first
    assert "and this one does not: She asks whether" in first
    assert f"The story so far:\n\n{CLIMB}\n" in second
    assert "You climb the stairs." not in second
    assert "you (twenty) - You learn the trade." in second
    assert "You have it in your case." not in second
    assert "It ends the story." in second
    _, faithful = await stairs("faithful")
    assert STEPS not in prompt(faithful[0])
    session = Session(tuner, edits={"plan": STAIRS, "the-lever": "You wait below."})
    _, asked = await session.write("improved", mode="story")
    assert "The story so far:\n\nYou wait below." in prompt(asked[0])


# a screenplay as a strong player writes it --------------------------------------------------------------------------

BELL = Brief(
    "A story of some length in three scenes, third person, past tense. In 1944 the bell of the village is dug up "
    "again; the second scene is the night of 1940 when Griet, Father Maes and Jan buried it, and Jan put a pistol "
    "inside. Father Maes must never learn it.",
    "The Bell of Sint Joris",
)
DIGGERS = ["Griet", "Father Maes", "Jan"]
DIGGING = [
    {
        "happens": "Diggers strike bronze, and Father Maes says that he will empty the bell himself.",
        "place": "The orchard behind the bakery",
        "element": "exposition",
    },
    {
        "happens": "While Father Maes prays, Jan pushes the pistol into the bell, and Griet sees it and says nothing.",
        "place": "The orchard behind the bakery",
        "element": "rising action",
    },
    {
        "happens": "Griet has everybody shut their eyes for a prayer, and takes the bundle out under her bread.",
        "place": "The bakery door",
        "element": "climax",
    },
]
ORCHARD = "Six old apple trees. Between the third and the fourth, a pit of wet clay and a rope on a tripod."
DOOR = "Flour on the step. From here the pit can be seen, and all the village round it."
SPEECHES = (
    """GRIET, fifty, the baker, holds a covered basket. FATHER MAES, the old priest, bends over the pit. JAN,
twenty-one, the mayor's son, has the rope.

FATHER MAES
Slowly! That was bronze. Whatever we packed her with, I take out with my own two hands.

Jan looks at Griet. She lays her palm on the cloth.

GRIET
(to the priest)
You'll spoil your cuffs.""",
    """No leaves, no moon; a lantern under a bucket. The bell lies on a sledge.

FATHER MAES
De profundis clamavi ad te, Domine.

Behind his back Jan puts a pistol into the bell, up to the shoulder. Griet sees it. She stuffs her flour sacks in after
it.

FATHER MAES
Amen. What knocked?

GRIET
The clapper.""",
    """LISE, ten, Griet's girl, counts loaves.

GRIET
Hats off, all of you, and eyes shut.

Every eye is shut but Jan's. Under the bread goes the bundle. The rope tightens; the bell is up.

FATHER MAES
(rapping it with his knuckle)
Nothing in her but her own voice.""",
)


def playwright(request: Request) -> str:
    """A strong player's replies."""
    if request.role == "characters":
        known = [(name, f"{name} is one of those who buried the bell.") for name in (*DIGGERS, "Lise")]
        return json.dumps({"records": [{"name": name, "description": text} for name, text in known]})
    if request.role == "scenes":
        return json.dumps({"records": DIGGING})
    if request.role == "places":
        return DOOR if "bakery-door" in request.path else ORCHARD
    if not request.path.startswith("scene-"):
        raise AssertionError(request.path)
    return SPEECHES[int(request.path[len("scene-")]) - 1]


async def dug(**config: Any) -> tuple[Story, list[Request], Session]:  # noqa: ANN401 - fields of Config
    session = Session(playwright)
    story, asked = await session.write("improved", BELL, **config)
    return story, asked, session


async def test_every_sentence_of_a_strong_player_stands_in_the_script_under_a_heading_as_editors_have_them() -> None:
    story, asked, _ = await dug()
    first, second, last = (scene.text for scene in story.scenes)
    assert first == f"INT/EXT. THE ORCHARD BEHIND THE BAKERY\n\n{ORCHARD}\n\n{SPEECHES[0]}"
    assert second == f"INT/EXT. THE ORCHARD BEHIND THE BAKERY\n\n{SPEECHES[1]}"
    assert last == f"INT/EXT. THE BAKERY DOOR\n\n{DOOR}\n\n{SPEECHES[2]}"
    assert len(asked) == 1 + 1 + 2 + 3


async def test_a_scripts_action_is_action_for_screenwriting_programs() -> None:
    story, _, _ = await dug()
    fountain = fountain_of(
        story, Meta(title="The Bell", author="", created=datetime(2026, 3, 1, tzinfo=UTC), words=story.words)
    ).decode()
    assert "\n\nINT/EXT. THE ORCHARD BEHIND THE BAKERY\n\nNo leaves, no moon" in fountain
    assert "\n\nJan looks at Griet. She lays her palm on the cloth.\n\nGRIET\n(to the priest)\nYou'll" in fountain


async def test_sheets_of_a_scene_of_other_years_are_as_the_plan_has_them_then() -> None:
    session = Session(lambda _: "YOU\nDust.", edits={"plan": STAIRS})
    story, asked = await session.write("improved", BELL)
    first, second = (next(prompt(r) for r in asked if r.path == f"scene-{n}/dialogue") for n in (1, 2))
    assert "You have it in your case." in first
    assert "you (twenty) - You learn the trade." in second
    assert "You have it in your case." not in second
    assert story.scenes[0].text.startswith("INT/EXT. THE DRAWING ROOM OF MRS. AALDERS'S FLAT")


def test_an_abbreviated_title_does_not_end_the_name_of_a_place() -> None:
    assert place_of("The flat of Mrs. Aalders, by the door") == ("The flat of Mrs. Aalders", "By the door")
    assert place_of("The flat. A door stands open.") == ("The flat", "A door stands open.")


# what is made of what -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "places"), [("faithful", (3, 2)), ("improved", (4, 4))])
async def test_another_title_is_announced_alone_and_another_place_with_the_scenes_that_read_it(
    preset: str, places: tuple[int, int]
) -> None:
    """In an improved script the words of all places are taken off those of every scene."""
    case = next(case for case in cases() if (case.system.name, case.preset) == ("dramatron", preset) and not case.plan)
    with Journal() as journal:
        await run_case(case, case.model(), journal)
        announced = []
        for path in ("title", "place-the-lamp-room", "place-the-landing-stage"):
            journal.decisions.add(path, "retake")
            announced.append(len((await dry_run_case(case, case.model(), journal)).dry_run.planned))
            journal.decisions.add(path, "undo", target=journal.decisions.find(path)[-1].id)
    assert announced == [1, *places]
