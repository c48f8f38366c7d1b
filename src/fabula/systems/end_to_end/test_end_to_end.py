"""The end-to-end baseline against its paper: one call with the writing task; in improved mode the length asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.engine.events import Removed
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find
from shortening import shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.context import Aids
    from fabula.engine.events import Event, Listener
    from fabula.engine.methods import Preset
    from fabula.models.base import Request
    from fabula.models.scripted import Script
    from fabula.story import Story

SYSTEM = find("end-to-end")
BRIEF = Brief("Write a story of about 60 words about Mara.", "The Lamp")


async def write(
    script: Script,
    preset: Preset,
    brief: Brief = BRIEF,
    aids: Aids = "auto",
    listeners: Sequence[Listener] = (),
    given: Mapping[str, str] | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Story, list[Request]]:
    model = ScriptedModel(script)
    with Journal() as journal:
        prompts = SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS)
        for name, text in (given or {}).items():
            journal.decisions.add(name, "edit", text)
        context = RunContext(journal, prompts, Cast.of(model), aids=aids, listeners=listeners)
        return await SYSTEM.write(brief, Run(context), SYSTEM.config(preset, config)), model.asked


def sentences(request: Request) -> str:
    """Twenty-two words in two sentences that differ from call to call."""
    place = len(request.messages[-1].content)
    return " ".join(f"On day {place}{n} Mara climbed up and lit the lamp again." for n in (1, 2))


async def test_the_writing_task_is_the_whole_prompt_and_the_reply_the_whole_story() -> None:
    story, asked = await write({"writer": "Sure! Mara lit the lamp and then"}, "faithful")
    (request,) = asked
    assert [(message.role, message.content) for message in request.messages] == [("user", BRIEF.text)]
    assert request.sampling.max_tokens == 4096
    assert (story.title, [scene.label for scene in story.scenes]) == ("The Lamp", ["Story"])
    assert story.text == "Sure! Mara lit the lamp and then"


async def test_a_reply_without_a_word_is_no_story_in_the_paper_either() -> None:
    with pytest.raises(ReplyError, match="'writer' gave no text at story"):
        await write({"writer": " * * *"}, "faithful")


async def test_in_improved_mode_a_short_story_goes_on_until_it_has_its_words() -> None:
    story, asked = await write(sentences, "improved")
    assert 54 <= story.words <= 66
    assert [request.path for request in asked][:2] == ["story/story", "story/extend/1/extend"]
    first, more = (request.messages[-1].content for request in asked[:2])
    assert first.endswith("Write about 60 words, between 54 and 66, in full sentences.")
    assert first.startswith(BRIEF.text)
    assert f"On day {len(first)}1 Mara climbed up" in more
    assert "bring the story to its end" in more
    assert story.text.endswith(".")


LONG = "\n\n".join(f"You climb to step {n}. You do not count. The sea does not answer." for n in range(12))


async def test_a_story_that_is_too_long_is_shortened_by_its_writer_and_nothing_is_cut() -> None:
    story, asked = await write(lambda request: shortened(request) if "shorten" in request.path else LONG, "improved")
    assert [request.path for request in asked] == ["story/story", "story/shorten/1/shorten"]
    assert LONG in asked[1].messages[-1].content
    assert (
        f"The story that it belongs to was asked for like this:\n\n{BRIEF.text}\n\nYou have"
        in asked[1].messages[-1].content
    )
    assert "has 168 words. It should have about 60 words, between 54 and 66." in asked[1].messages[-1].content
    assert 54 <= story.words <= 66
    assert asked[0].sampling.max_tokens is asked[1].sampling.max_tokens is None


async def test_a_model_that_cannot_shorten_is_asked_three_times_and_its_story_stays_whole() -> None:
    story, asked = await write({"writer": LONG}, "improved")
    assert [request.path.rpartition("/")[2] for request in asked] == ["story", "shorten", "shorten", "shorten"]
    assert story.text == LONG


async def test_a_story_within_5_percent_is_left_as_it_is() -> None:
    text = " ".join(f"word{n}" for n in range(69))
    story, asked = await write({"writer": text}, "improved")
    assert len(asked) == 1
    assert story.text == text


async def test_a_small_models_story_is_cut_by_sentences_and_what_went_is_recorded() -> None:
    heard: list[Event] = []
    story, asked = await write({"writer": LONG}, "improved", aids="on", listeners=[heard.append])
    assert 54 <= story.words <= 66
    assert all("shorten" not in request.path for request in asked)
    assert asked[0].sampling.max_tokens == int(66 * 1.6) + 48
    assert any(isinstance(event, Removed) for event in heard)


async def test_words_of_the_settings_stand_for_those_of_the_brief() -> None:
    story, asked = await write(sentences, "improved", words="22")
    assert len(asked) == 1
    assert 20 <= story.words <= 24


async def test_a_wrong_number_of_words_is_named() -> None:
    with pytest.raises(UsageError, match=r"'some' is not a number of words\. Give 1 to 1,000,000 words: 1300-1350"):
        await write(sentences, "improved", words="some")


async def test_a_brief_without_a_number_of_words_asks_for_none() -> None:
    story, asked = await write({"writer": "Sure, here is the story:\n\nMara lit the lamp."}, "improved", Brief("Mara."))
    assert len(asked) == 1
    assert story.text == "Mara lit the lamp."
    assert "words" not in asked[0].messages[-1].content


async def test_replies_without_prose_are_an_error_that_shows_the_last() -> None:
    with pytest.raises(
        ReplyError, match=r"role 'writer' gave no usable prose at story in 4 tries, each asked in another way\. It held"
    ):
        await write({"writer": "Sure!"}, "improved")


PERSONAS = """
goal: Mara keeps the lamp burning.
setting: A cape in 1962.
world: {lamp_lit: true}
personas:
  - name: Mara
    goals: [to see the boats home]
    secret: She let the lamp go out once.
  - name: Tobias
"""
PLANNED = """
conflict: The lamp is to go dark.
person: first person, told by Mara
characters: [{name: Mara, role: protagonist}]
scenes: [{name: The light, place: The lamp room, outline: [Mara lights the lamp.]}]
"""


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_the_writer_is_given_the_personas_objective_world_and_plan_that_other_systems_get(preset: Preset) -> None:
    _, asked = await write({"writer": LONG}, preset, Brief("Mara."), given={"personas": PERSONAS, "plan": PLANNED})
    shown = asked[0].messages[-1].content
    assert shown.startswith(
        "Mara.\n\n[Objective] Mara keeps the lamp burning.\n\n[Character Descriptions] Name: Mara\n"
    )
    for said in (
        "Hides from the others: She let the lamp go out once.\n\nName: Tobias",
        "[Setting] A cape in 1962. When it begins, this is so: lamp_lit: true.",
        "[Central Conflict] The lamp is to go dark.",
        "[Characters] - Mara (protagonist)",
        "[Person and Tense] first person, told by Mara",
        "[Scenes] - The light (The lamp room): Mara lights the lamp.",
    ):
        assert said in shown, said


async def test_what_is_given_stands_also_in_chapters() -> None:
    given = {"personas": PERSONAS}
    chapter = '{"title": "", "words": 90, "happens": "She climbs.", "ends_with": ""}'
    script = {"writer": LONG, "writer:outline": f'{{"chapters": [{chapter}, {chapter}]}}'}
    _, asked = await write(script, "improved", Brief("A novel in two chapters about Mara."), given=given)
    assert asked[0].path == "chapters/outline"
    planned = [one for one in asked if one.path.rpartition("/")[2] in {"outline", "chapter"}]
    assert len(planned) == 3
    assert all("Mara keeps the lamp burning." in one.messages[-1].content for one in planned)


async def test_a_faithful_estimate_is_of_what_one_reply_can_hold_and_says_so() -> None:
    async def estimated(words: str) -> tuple[int, list[str]]:
        with Journal() as journal:
            prompts = SystemPrompts(SYSTEM.prompt_folders("faithful"), common=PROMPTS)
            context = RunContext(journal, prompts, Cast.of(ScriptedModel({})), mode="dry")
            brief = Brief(f"Write a story{words} about Mara.")
            await SYSTEM.write(brief, Run(context), SYSTEM.config("faithful"))
        (call,) = context.dry_run.planned
        return call.reply, context.dry_run.notices

    usual, quiet = await estimated("")
    asked, also_quiet = await estimated(" of 2,000 words")
    most, notices = await estimated(" of 40,000 words")
    assert quiet == also_quiet == []
    assert usual < asked < most <= 4096
    (said,) = notices
    assert said.startswith("The brief asks for 40,000 words. This is one reply, which holds about 3,072: the story")


RUSSIAN = "Мара снова поднялась наверх и зажгла лампу, потому что шторм уже начинался над морем."  # noqa: RUF001 - Cyrillic is meant


async def test_a_small_models_reply_in_another_script_is_asked_for_again_and_its_sequel_is_left_out() -> None:
    heard: list[Event] = []

    def said(request: Request) -> str:
        if request.path == "story/story":
            return RUSSIAN
        if request.path.startswith("story/extend/1/"):
            return f"{RUSSIAN} {RUSSIAN[:40]}."
        return sentences(request)

    story, asked = await write(said, "improved", aids="on", listeners=[heard.append])
    assert [request.path for request in asked][:2] == ["story/story", "story/again/1/story"]
    assert story.text.isascii()
    assert "Mara climbed up and lit the lamp again." in story.text
    assert "script" in {event.rule for event in heard if isinstance(event, Removed)}


async def test_a_story_whose_brief_asks_for_another_script_is_written_all_the_same() -> None:
    brief = Brief("Write a story of 10 to 20 words in Russian.", "Лампа")
    story, asked = await write({"writer": RUSSIAN}, "improved", brief, aids="on")
    assert story.text == RUSSIAN
    assert len(asked) <= 4
