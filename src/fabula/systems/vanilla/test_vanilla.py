"""Vanilla against Table 9: one prompt with the whole narrative and nine rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ReplyError, UnknownNameError, UsageError
from fabula.craft import PROMPTS
from fabula.craft.conversation import Conversation, Parties, open_conversation
from fabula.craft.conversation.cards import Cards
from fabula.craft.narratives import reading_of
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.systems import find
from witnesses import all_witness

if TYPE_CHECKING:
    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset

SYSTEM = find("vanilla")
STORY = "One night Mara kept the lamp. Then Tobias came, and Mara read the letter of Tobias. " * 20


_TWO = Parties("Mara", ("Tobias",))


async def conversation_of(
    said: str, preset: Preset, parties: Parties | None = _TWO, aids: Aids = "auto"
) -> tuple[Conversation, ScriptedModel]:
    model = ScriptedModel(
        {
            "npc": said,
            "player": "[Tobias: (nods) Yes.] EOD",
            "labeller": all_witness("Mara", "Tobias") if parties else said,
        }
    )
    journal = Journal()
    journal.open()
    context = RunContext(
        journal, SystemPrompts(SYSTEM.prompt_folders(preset), None, PROMPTS), Cast.of(model), aids=aids
    )
    config = SYSTEM.config(preset)
    talk = await SYSTEM.program(config).open_talk(STORY, Run(context), config, parties)
    return open_conversation(None, talk, context), model


async def test_the_whole_narrative_and_nine_rules_are_in_every_prompt() -> None:
    conversation, model = await conversation_of("[Mara: (looks) You ran.]", "faithful", Parties("Tobias", ("Mara",)))
    await conversation.begin()
    prompt = model.asked[0].messages[-1].content
    assert STORY.strip() in prompt
    assert [f"\n{n}. " in prompt for n in range(1, 11)] == [True] * 9 + [False]
    assert "You speak first." in prompt
    assert model.asked[0].sampling.temperature == 0.3
    assert conversation.where.cells == 1
    assert conversation.plan == ()


async def test_the_agent_alone_ends_the_story() -> None:
    conversation, _ = await conversation_of("[Mara: (nods) So it was. EOD]", "faithful")
    assert not (await conversation.begin()).ends_story
    turn = await conversation.say("And then?")
    assert (turn.step, turn.ends_story) == (0, True)
    with pytest.raises(UsageError, match="The story is over"):
        await conversation.say("And then?")


async def test_where_nobody_is_named_a_model_reads_who_is_in_it_once() -> None:
    conversation, model = await conversation_of('{"people": ["Mara", "Batman", "Tobias"]}', "faithful", None)
    assert conversation.parties == Parties("Mara", ("Tobias",)), "nobody whom the story does not name"
    assert [request.path for request in model.asked] == [f"{reading_of(STORY)}/1/read_people"]


async def test_the_second_agent_has_the_nine_rules_too() -> None:
    conversation, model = await conversation_of("[Mara: (looks) You ran.]", "faithful", Parties("Tobias", ("Mara",)))
    await conversation.begin()
    turn = await conversation.play()
    system, prompt = model.asked[-1].messages
    assert system.content == "You play Tobias in a story, and the player plays Mara."
    assert [f"\n{n}. " in prompt.content for n in range(1, 11)] == [True] * 9 + [False]
    assert prompt.content.endswith("[Mara: (looks) You ran.]")
    assert (turn.said, turn.line, turn.ends_story) == ("(nods) Yes.", None, True)


async def test_silence_is_an_error_or_a_turn() -> None:
    conversation, _ = await conversation_of("", "faithful")
    with pytest.raises(ReplyError, match="Tobias gave no turn"):
        await conversation.begin()
    conversation, _ = await conversation_of("", "improved")
    turn = await conversation.begin()
    assert turn.line is not None
    assert turn.line.text == "(says nothing)"


async def test_a_deed_without_words_is_more_than_silence_once() -> None:
    conversation, model = await conversation_of("[Tobias: (reads the letter)]", "improved", aids="on")
    turns = [await conversation.begin(), await conversation.say("And?")]
    assert [turn.line.text for turn in turns if turn.line] == ["(reads the letter)", "(says nothing)"]
    assert len(model.asked) == 6, "words were asked for first"
    conversation, model = await conversation_of("[Tobias: (reads the letter)]", "improved")
    turns = [await conversation.begin(), await conversation.say("And?")]
    assert [turn.line.text for turn in turns if turn.line] == ["(reads the letter)", "(reads the letter)"]
    assert [request.role for request in model.asked] == ["labeller", "npc", "npc"], "without aids a turn may be a deed"


async def test_who_is_not_there_cannot_talk() -> None:
    with pytest.raises(UsageError, match="Batman"):
        await conversation_of("", "faithful", Parties("Batman", ("Mara",)))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(SYSTEM.prompts), Cast.of(ScriptedModel({}))))
        two = Parties("Batman", ("Mara",))
        with pytest.raises(UnknownNameError, match="Unknown character 'Batman'"):
            await SYSTEM.algorithm.open_talk(STORY, run, SYSTEM.config("faithful"), two, Cards(known=("Mara",)))
        with pytest.raises(UsageError, match="has no sentence"):
            await SYSTEM.algorithm.open_talk("...", run, SYSTEM.config("faithful"))
