"""Answers that were drawn for a turn, conversations that branch off, and what somebody knew: as the log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from fabula.app.conversations import chats_in, view_of, why_of
from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Log, Parties, log_file
from fabula.craft.conversation.cards import write_cards
from fabula.engine.journal import CallFilter
from fabula.story.cards import CharacterCard
from serving import Engine, SnapEngine, project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.app.conversing import Conversing
    from fabula.craft.conversation import Conversation, Turn

TWO = Parties("Tobias", ("Mara",))
THREE = Parties("Tobias", ("Mara", "Henrik"))


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Conversing]:
    made = project(tmp_path)
    with mock.patch("fabula.project.casting.open_model", return_value=Engine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            yield open_


def chosen(conversation: Conversation, number: int) -> Turn:
    """The answer that stands once it was chosen in the log."""
    conversation.log.choose(number)
    conversation.state = conversation.log.state
    return conversation.turns[-1]


async def test_every_answer_is_kept_and_any_can_be_chosen(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    none_yet = conversation.log.answers[0]
    assert none_yet == ()
    first = await conversation.say("One.")
    second, third = await conversation.retry(), await conversation.retry()
    drawn = conversation.log.answers[0]
    assert [str(turn) for turn in drawn] == [str(first), str(second), str(third)]
    assert len({str(turn) for turn in drawn}) == 3
    assert chosen(conversation, 1) == first
    assert conversation.turns == (first,)
    assert conversation.log.answers == (drawn, 1)
    fourth = await conversation.retry()  # another one, and none of the three again
    assert str(fourth) not in {str(turn) for turn in drawn}
    assert conversation.log.answers[1] == 4
    del opened._conversations["evening"]
    again = await opened.conversation("evening")
    assert len(again.log.answers[0]) == 4
    assert again.turns == (fourth,)


async def test_what_was_chosen_is_what_the_talk_goes_on_from(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    first = await conversation.say("One.")
    await conversation.retry()
    chosen(conversation, 1)
    length = len(conversation.log.records)
    chosen(conversation, 1)  # it stands already
    assert len(conversation.log.records) == length
    await conversation.say("Two.")
    assert len(conversation.log.answers[0]) == 1
    assert first.line is not None
    assert conversation.state.lines[1].text == first.line.text
    await conversation.undo()
    assert len(conversation.log.answers[0]) == 2


async def test_who_was_said_to_be_there_since_is_there_after_a_choice(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", THREE)
    await conversation.say("One.")
    await conversation.retry()
    await conversation.set_present(["Henrik"])
    chosen(conversation, 1)
    assert conversation.state.present == ("Henrik",)


async def test_an_answer_that_is_not_there_cannot_be_chosen(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    with pytest.raises(UsageError, match="no answer 1: 0 were drawn"):
        chosen(conversation, 1)
    await conversation.say("One.")
    for number in (0, 2):
        with pytest.raises(UsageError, match="1 were drawn"):
            chosen(conversation, number)


async def test_a_branch_begins_with_the_turns_up_to_there_and_the_first_one_stays(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    turns = [await conversation.say(text) for text in ("One.", "Two.", "Three.")]
    folder = opened.project.folder
    source, target = Log.of(folder, "evening"), log_file(folder, "evening-2")
    source.branched(2, target)
    branch = await opened.conversation("evening-2")
    assert branch.turns == tuple(turns[:2])
    await branch.say("Something else.")
    assert [turn.said for turn in conversation.turns] == ["One.", "Two.", "Three."]
    assert Log.read(target).origin == ("evening", 2)
    assert [(one.name, one.branched_after, one.turns) for one in view_of(opened.project, "evening").branches] == [
        ("evening-2", 2, 3)
    ]
    assert view_of(opened.project, "evening-2").branched_from == "evening"
    with pytest.raises(UsageError, match=r"no turn 4 in the conversation 'evening': 3 stand"):
        source.branched(4, target)


async def test_a_branch_without_turns_has_the_people_alone(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    await conversation.say("One.")
    folder = opened.project.folder
    Log.of(folder, "evening").branched(0, log_file(folder, "evening-2"))
    assert (await opened.conversation("evening-2")).turns == ()


async def test_why_somebody_said_something_names_what_it_knew_and_the_call(tmp_path: Path) -> None:
    made = project(tmp_path, system="snap")
    with mock.patch("fabula.project.casting.open_model", return_value=SnapEngine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            conversation = await open_.conversation("evening", TWO)
            await conversation.begin()
            answer = await conversation.say("Is there light?")
            known = await conversation.knew(2)
            log = conversation.log.known(2)
            with made.journal as journal:
                why = why_of(journal, conversation.log, "evening", known)
                alone = why_of(journal, conversation.log, "evening", log)
                (call,) = journal.calls.find(CallFilter(number=why.calls[0]), prompts=True)
    assert known.view is not None
    assert "Mara" in known.view.segment
    assert log.view is None
    assert [line.name for line in known.lines] == ["Mara", "Tobias"]
    assert why.who == "Mara"
    assert why.headline == "Tobias brings Mara a letter"
    assert [point.stands for point in why.plan] == ["now", "ahead"]
    assert why.heard[-1] == "Tobias: Is there light?"
    assert call is not None
    assert answer.line is not None
    assert answer.line.message in call.reply.text
    assert why.took is not None
    assert why.took.prompt == 400
    assert alone.story is None
    assert alone.calls == why.calls


async def test_a_list_of_conversations_names_what_it_cannot_read(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    await conversation.say("One.")
    folder = opened.project.folder / "chat"
    (folder / "broken.jsonl").write_text("no JSON\n", "utf-8")
    (folder / "empty.jsonl").write_text("", "utf-8")
    found = {line.name: line for line in chats_in(opened.project).chats}
    assert "not a record of a conversation" in found["broken"].problem
    assert found["empty"].problem == "The log is empty."
    assert found["evening"].turns == 1
    assert "the lamp stays dark" in found["evening"].last
    assert chats_in(opened.project).characters == ["Mara", "Tobias"], "no model read of Henrik, whom the story names"
    with pytest.raises(UnknownNameError, match="Unknown conversation 'evenin'"):
        view_of(opened.project, "evenin")


async def test_who_only_looks_mends_no_log(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", TWO)
    await conversation.say("One.")
    assert conversation.log.file is not None
    with conversation.log.file.open("ab") as log:
        log.write(b'{"do": "turn", "ta')
    before = conversation.log.file.read_bytes()
    assert len(view_of(opened.project, "evening").turns) == 1
    assert conversation.log.file.read_bytes() == before


async def test_a_view_says_how_far_the_story_is_and_spoils_nothing_unasked(tmp_path: Path) -> None:
    made = project(tmp_path, system="snap")
    with mock.patch("fabula.project.casting.open_model", return_value=SnapEngine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            conversation = await open_.conversation("evening", TWO)
            await conversation.begin()
            cells = len(conversation.talk.segments)
    view = view_of(made, "evening")
    assert (view.place.cell, view.place.cells, view.place.step, view.place.steps) == (1, cells, 1, 2)
    assert view.plan is None
    assert [point.stands for point in view_of(made, "evening", plan=True).plan or ()] == ["now", "ahead"]


async def test_of_a_card_the_other_greetings_are_what_else_it_says_first(tmp_path: Path) -> None:
    made = project(tmp_path)
    data = {"name": "Mara", "description": "A keeper.", "first_mes": "Who is there?"}
    card = CharacterCard(
        {"spec": "chara_card_v2", "spec_version": "2.0", "data": {**data, "alternate_greetings": ["Go away."]}}
    )
    write_cards(made.folder, [card], {})
    with mock.patch("fabula.project.casting.open_model", return_value=Engine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            conversation = await open_.conversation("evening", TWO)
            await conversation.begin()
            heard: list[str] = []
            assert str(await conversation.another(heard.append)) == "Go away."
            assert "".join(heard) == "Go away."
            assert "the lamp stays dark" in str(await conversation.another())
            assert [str(turn) for turn in conversation.log.answers[0]][:2] == ["Who is there?", "Go away."]
            assert len(conversation.turns) == 1
            assert str(chosen(conversation, 2)) == "Go away."
            await conversation.say("It is I.")
            assert "the lamp stays dark" in str(await conversation.another())
            assert len(conversation.turns) == 2
