"""Answers that were drawn for a turn, sessions that branch off, and what somebody knew: as the log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest import mock

import pytest

from fabula.app.chat_views import chats_in, view_of, why_of
from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options
from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft.conversation import Parties, SessionFiles
from fabula.craft.conversation.cards import write_cards
from fabula.craft.conversation.session import copy_log, drawn_answers, known_in, origin_of_log
from fabula.story.cards import Card
from serving import Engine, SnapEngine, project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.app.conversing import Conversing

TWO = Parties("Tobias", ("Mara",))
THREE = Parties("Tobias", ("Mara", "Henrik"))


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Conversing]:
    made = project(tmp_path)
    with mock.patch("fabula.project.casting.open_model", return_value=Engine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            yield open_


async def test_every_answer_is_kept_and_any_can_be_chosen(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    none_yet = session.alternatives
    assert none_yet == ()
    first = await session.say("One.")
    second, third = await session.retry(), await session.retry()
    drawn = session.alternatives
    assert [str(turn) for turn in drawn] == [str(first), str(second), str(third)]
    assert len({str(turn) for turn in drawn}) == 3
    assert await session.choose(1) == first
    assert session.turns == (first,)
    assert drawn_answers(session.records) == (drawn, 1)
    fourth = await session.retry()  # another one, and none of the three again
    assert str(fourth) not in {str(turn) for turn in drawn}
    assert drawn_answers(session.records)[1] == 4
    await opened.close_session("evening")
    again = await opened.session("evening")
    assert len(again.alternatives) == 4
    assert again.turns == (fourth,)


async def test_what_was_chosen_is_what_the_talk_goes_on_from(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    first = await session.say("One.")
    await session.retry()
    await session.choose(1)
    length = len(session.records)
    await session.choose(1)  # it stands already
    assert len(session.records) == length
    await session.say("Two.")
    assert len(session.alternatives) == 1
    assert first.line is not None
    assert session.state.lines[1].text == first.line.text
    await session.undo()
    assert len(session.alternatives) == 2


async def test_who_was_said_to_be_there_since_is_there_after_a_choice(opened: Conversing) -> None:
    session = await opened.session("evening", THREE)
    await session.say("One.")
    await session.retry()
    await session.set_present(["Henrik"])
    await session.choose(1)
    assert session.state.present == ("Henrik",)


async def test_an_answer_that_is_not_there_cannot_be_chosen(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    with pytest.raises(UsageError, match="no answer 1: 0 were drawn"):
        await session.choose(1)
    await session.say("One.")
    for number in (0, 2):
        with pytest.raises(UsageError, match="1 were drawn"):
            await session.choose(number)


async def test_a_branch_begins_with_the_turns_up_to_there_and_the_first_one_stays(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    turns = [await session.say(text) for text in ("One.", "Two.", "Three.")]
    folder = opened.project.folder
    source, target = SessionFiles.in_(folder, "evening"), SessionFiles.in_(folder, "evening-2")
    copy_log(source, 2, target)
    branch = await opened.session("evening-2")
    assert branch.turns == tuple(turns[:2])
    await branch.say("Something else.")
    assert [turn.said for turn in session.turns] == ["One.", "Two.", "Three."]
    assert origin_of_log(target.read()) == ("evening", 2)
    assert [(one.name, one.after, one.turns) for one in view_of(opened.project, "evening").branches] == [
        ("evening-2", 2, 3)
    ]
    assert view_of(opened.project, "evening-2").branched_from == "evening"
    with pytest.raises(UsageError, match=r"no turn 4 in the session 'evening': 3 stand"):
        copy_log(source, 4, target)


async def test_a_branch_without_turns_has_the_people_alone(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    await session.say("One.")
    folder = opened.project.folder
    copy_log(SessionFiles.in_(folder, "evening"), 0, SessionFiles.in_(folder, "evening-2"))
    assert (await opened.session("evening-2")).turns == ()


async def test_why_somebody_said_something_names_what_it_knew_and_the_call(tmp_path: Path) -> None:
    made = project(tmp_path, system="snap")
    with mock.patch("fabula.project.casting.open_model", return_value=SnapEngine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            session = await open_.session("evening", TWO)
            await session.begin()
            answer = await session.say("Is there light?")
            known = await session.knew(2)
            log = known_in(session.records, 2)
            with made.journal as journal:
                why = why_of(journal, session.records, "evening", 2, known)
                alone = why_of(journal, session.records, "evening", 2, None)
                call = journal.call(why.calls[0])
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
    assert why.took.prompt == 100
    assert alone.story is None
    assert alone.calls == why.calls


async def test_a_list_of_conversations_names_what_it_cannot_read(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    await session.say("One.")
    folder = opened.project.folder / "chat"
    (folder / "broken.jsonl").write_text("no JSON\n", "utf-8")
    (folder / "empty.jsonl").write_text("", "utf-8")
    found = {line.name: line for line in chats_in(opened.project).chats}
    assert "no record of a session" in found["broken"].problem
    assert found["empty"].problem == "The log is empty."
    assert found["evening"].turns == 1
    assert "the lamp stays dark" in found["evening"].last
    assert chats_in(opened.project).characters == ["Mara", "Tobias", "Henrik"]
    with pytest.raises(UnknownNameError, match="Unknown conversation 'evenin'"):
        view_of(opened.project, "evenin")


async def test_who_only_looks_mends_no_log(opened: Conversing) -> None:
    session = await opened.session("evening", TWO)
    await session.say("One.")
    assert session.files is not None
    with session.files.log.open("ab") as log:
        log.write(b'{"do": "turn", "ta')
    before = session.files.log.read_bytes()
    assert len(view_of(opened.project, "evening").turns) == 1
    assert session.files.log.read_bytes() == before


async def test_a_view_says_how_far_the_story_is_and_spoils_nothing_unasked(tmp_path: Path) -> None:
    made = project(tmp_path, system="snap")
    with mock.patch("fabula.project.casting.open_model", return_value=SnapEngine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            session = await open_.session("evening", TWO)
            await session.begin()
            cells = len(session.talk.segments)
    view = view_of(made, "evening")
    assert (view.place.cell, view.place.cells, view.place.step, view.place.steps) == (1, cells, 1, 2)
    assert view.plan is None
    assert [point.stands for point in view_of(made, "evening", plan=True).plan or ()] == ["now", "ahead"]


async def test_of_a_card_the_other_greetings_are_what_else_it_says_first(tmp_path: Path) -> None:
    made = project(tmp_path)
    data = {"name": "Mara", "description": "A keeper.", "first_mes": "Who is there?"}
    card = Card({"spec": "chara_card_v2", "spec_version": "2.0", "data": {**data, "alternate_greetings": ["Go away."]}})
    write_cards(made.folder, [card], {})
    with mock.patch("fabula.project.casting.open_model", return_value=Engine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            session = await open_.session("evening", TWO)
            await session.begin()
            heard: list[str] = []
            assert str(await session.another(heard.append)) == "Go away."
            assert "".join(heard) == "Go away."
            assert "the lamp stays dark" in str(await session.another())
            assert [str(turn) for turn in session.alternatives][:2] == ["Who is there?", "Go away."]
            assert len(session.turns) == 1
            assert str(await session.choose(2)) == "Go away."
            await session.say("It is I.")
            assert "the lamp stays dark" in str(await session.another())
            assert len(session.turns) == 2
