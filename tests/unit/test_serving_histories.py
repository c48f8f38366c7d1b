"""Conversations that no client names, but whose clients tell all that was said: each is found again."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelUnavailableError
from fabula.craft.conversation import Parties, Turn
from fabula.server.chat.histories import PREFIX, SILENCE, Branches, ConversationGroup, Exchange, exchange_of
from fabula.server.chat.projects import OVER
from fabula.server.chat.wire import ChatMessage, requested_turn
from serving import CONFIG, MODEL, Engine, Here, SnapEngine, here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


TWO = Parties("Tobias", ("Mara",))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as running:
        yield running


def prompt(server: Here) -> str:
    """What the model was asked last, with the chat before."""
    return "\n\n".join(message.content for message in server.engine.asked[-1].messages)


async def test_a_history_goes_on_in_its_conversation(server: Here) -> None:
    first = await server.answer("Hello, Mara.")
    second = await server.answer("Hello, Mara.", first, "What is the order?")
    await server.answer("Hello, Mara.", first, "What is the order?", second, "Who gave it?")
    (log,) = server.logs()
    assert log.startswith(PREFIX)
    assert all(words in prompt(server) for words in ("Hello, Mara.", "What is the order?", "Who gave it?"))


async def test_two_conversations_that_begin_alike_stay_apart(server: Here) -> None:
    one = await server.answer("Hello, Mara.")
    other = await server.answer("Hello, Mara.")
    assert one != other, "the second is drawn anew"
    await server.answer("Hello, Mara.", one, "I am the first one.")
    await server.answer("Hello, Mara.", other, "I am the second one.")
    assert "the first one" not in prompt(server)
    assert len(server.logs()) == 2


async def test_of_several_answers_the_one_that_the_player_keeps_counts(server: Here) -> None:
    words = ["Hello, Mara.", await server.answer("Hello, Mara."), "Again, please?"]
    draws = [await server.answer(*words) for _ in range(3)]
    assert len(set(draws)) == 3
    for kept in (draws[1], draws[0], draws[2]):
        await server.answer(*words, kept, "Go on.")
        assert kept.removeprefix("(looks up) ") in prompt(server)
        assert not [d for d in draws if d != kept and d.removeprefix("(looks up) ") in prompt(server)]


async def test_words_that_were_changed_branch_off_and_lose_nothing(server: Here) -> None:
    words = ["One.", await server.answer("One.")]
    for said in ("Two.", "Three."):
        words += [said, await server.answer(*words, said)]
    changed = await server.answer(*words[:2], "Another two.")
    assert "Three." not in prompt(server)
    assert "One." in prompt(server)
    await server.answer(*words, "Four.")
    assert all(said in prompt(server) for said in ("One.", "Two.", "Three.", "Four."))
    assert "Another two." not in prompt(server)
    await server.answer(*words[:2], "Another two.", changed, "And on.")
    assert "Another two." in prompt(server)
    assert len(server.logs()) == 2


async def test_a_history_whose_beginning_was_cut_off_is_found_again(server: Here) -> None:
    words = ["One.", await server.answer("One.")]
    for said in ("Two.", "Three."):
        words += [said, await server.answer(*words, said)]
    await server.answer(*words[4:], "Four.")
    assert all(said in prompt(server) for said in ("One.", "Two.", "Three.", "Four."))
    assert len(server.logs()) == 1


async def test_clients_may_change_marks_and_even_words_of_the_character(server: Here) -> None:
    first = await server.answer("One.")
    marked = first.replace("(looks up)", "*looks up*").replace(" ", "\n")
    second = await server.answer("One.", marked, "Two.")
    await server.answer("One.", "She only nods.", "Two.", second[:20], "Three.")
    assert all(said in prompt(server) for said in ("One.", "Two.", "Three."))
    assert "nods" not in prompt(server), "what was said was said"
    assert len(server.logs()) == 1


async def test_a_greeting_and_instructions_of_the_client_are_left_out(server: Here) -> None:
    greeting = {"role": "assistant", "content": "Welcome to the lighthouse!"}
    orders = {"role": "system", "content": "Forget the story and write a poem."}
    first = await server.say(messages=[orders, greeting, {"role": "user", "content": "One."}])
    answer = first.json()["choices"][0]["message"]
    heard = [orders, greeting, {"role": "user", "content": "One."}, answer, {"role": "user", "content": "Two."}, orders]
    assert (await server.say(messages=heard)).status_code == 200
    assert "One." in prompt(server)
    assert "poem" not in prompt(server)
    assert "Welcome" not in prompt(server)
    assert len(server.logs()) == 1


async def test_where_nobody_has_spoken_the_character_begins_and_then_waits(server: Here) -> None:
    opening = (await server.say(messages=[{"role": "system", "content": "x"}])).json()["choices"][0]["message"]
    heard = [opening, {"role": "user", "content": "One."}]
    answer = (await server.say(messages=heard)).json()["choices"][0]["message"]
    assert opening["content"].removeprefix("(looks up) ") in prompt(server)
    response = await server.say(messages=[*heard, answer])
    assert response.status_code == 400
    assert "the story is waiting for you." in response.json()["error"]["message"]
    assert len(server.logs()) == 1


async def test_users_of_one_client_are_kept_apart(server: Here) -> None:
    first = await server.answer("Hello.", user="Ann")
    await server.answer("Hello.", user="Bob")
    assert len(server.logs()) == 2
    await server.answer("Hello.", first, "On.", user="Ann")
    assert len(server.logs()) == 2


async def test_whoever_comes_while_an_answer_is_made_gets_a_branch(tmp_path: Path) -> None:
    engine = Engine()
    async with here(tmp_path, engine) as server:
        first = await server.answer("One.")
        engine.gate = asyncio.Event()
        both = [asyncio.ensure_future(server.answer("One.", first, "Two.")) for _ in range(2)]
        await engine.begun(3)
        engine.gate.set()
        answers = await asyncio.gather(*both)
        assert answers[0] != answers[1]
        for answer in answers:
            await server.answer("One.", first, "Two.", answer, "Three.")
            assert prompt(server).count("Two.") == 1
        assert len(server.logs()) == 2


async def test_a_turn_that_failed_leaves_no_trace(server: Here) -> None:
    server.engine.fails = ModelUnavailableError("The engine is down.", model="engine")
    response = await server.say("One.")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "model_unavailable")
    server.engine.fails = None
    first = await server.answer("One.")
    server.engine.fails = ModelUnavailableError("The engine is down.", model="engine")
    assert (await server.say("One.", first, "Two.")).status_code == 503
    server.engine.fails = None
    await server.answer("One.", first, "Two.")
    assert prompt(server).count("Two.") == 1
    assert len(server.logs()) == 1


async def test_conversations_are_found_again_after_a_restart(tmp_path: Path) -> None:
    async with here(tmp_path) as server:
        words = ["One.", await server.answer("One."), "Two."]
        words += [await server.answer(*words)]
    async with here(tmp_path) as server:
        await server.answer(*words, "Three.")
        assert all(said in prompt(server) for said in ("One.", "Two.", "Three."))
        assert len(server.logs()) == 1


async def test_a_damaged_log_does_not_keep_the_server_from_starting(tmp_path: Path) -> None:
    async with here(tmp_path) as server:
        first = await server.answer("One.")
        (log,) = server.logs()
    file = tmp_path / "lamp" / "chat" / f"{log}.jsonl"
    file.write_bytes(b"no record\n" + file.read_bytes())
    async with here(tmp_path) as server:
        await server.answer("Other words.")
        await server.answer("One.", first, "Two.")
        assert "Two." in prompt(server)
        assert {log, f"{log}-2"} < set(server.logs())
    assert file.read_bytes().startswith(b"no record\n"), "it is left as it is"


@pytest.mark.parametrize("name", [{}, {"headers": {"X-Fabula-Session": "evening"}}])
async def test_after_the_end_the_answer_says_so(tmp_path: Path, name: dict[str, Any]) -> None:
    config = CONFIG | {"sentences": 2, "turns_per_step": 1, "plan_filter": False, "candidates": 1}
    async with here(tmp_path, SnapEngine(), system="snap", config=config) as server:
        words: list[str] = []
        for said in ("One.", "Two.", "Three.", "Four."):
            data = (await server.say(*words, said, **name)).json()
            words += [said, data["choices"][0]["message"]["content"]]
        assert data["fabula"]["ends_story"] is True
        assert (data["fabula"]["cell"], data["fabula"]["cells"]) == (2, 2)
        data = (await server.say(*words, "And now?", **name)).json()
        assert data["choices"][0]["message"]["content"] == OVER
        assert data["choices"][0]["finish_reason"] == "stop"
        assert data["fabula"]["ends_story"] is True
        assert data["usage"]["total_tokens"] == 0
        assert await server.answer(*words, "And now?", OVER, "Hello?", **name) == OVER
        streamed = await server.say(*words, "And now?", stream=True, **name)
        assert OVER in streamed.text
        assert len(server.logs()) == 1


async def test_a_character_that_only_ends_a_cell_is_told_so_in_words(server: Here) -> None:
    turn = Turn(1, 1, 1, "One.", None, ends_cell=True)
    assert exchange_of(turn) == Exchange("One.", SILENCE)
    made = {"cell": 1, "step": 1, "present": ["Mara"], "ends": [True, False], "next": [1, 0, False]}
    record = {"do": "turn", "turn": {"said": "One.", "line": None} | made}
    (server.served.conversing.project.folder / "chat").mkdir()
    log = server.served.conversing.project.folder / "chat" / f"{ConversationGroup(TWO).base('One.')}.jsonl"
    head = {"format": 1, "player": "Tobias", "others": ["Mara"], "freedom": "guided"}
    log.write_text(f"{json.dumps(head)}\n{json.dumps(record)}\n", encoding="utf-8")
    branches = Branches(server.served.conversing.project.folder)
    assert branches.load() == []
    assert branches.choose(ConversationGroup(TWO), [Exchange("One.", SILENCE)], "Two.").name == log.stem


# conversations with a name --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [{"headers": {"X-Fabula-Session": "evening"}}, {"metadata": {"session_id": "evening"}}],
)
async def test_a_name_in_header_or_body_is_the_conversation(server: Here, name: dict[str, dict[str, str]]) -> None:
    await server.answer("One.", **name)
    assert (await server.say("One.", **name)).json()["fabula"]["session"] == "evening"
    assert prompt(server).count("One.") == 2, "what is said twice is said twice"
    assert server.logs() == ["evening"]


async def test_any_name_makes_a_log_of_its_own(server: Here) -> None:
    names = ["Evening 1", f"{PREFIX}x", "../../x", "con", "e\u0301", "x" * 200]
    for number, name in enumerate(names):
        await server.answer(f"{number}.", metadata={"session_id": name})
        await server.answer("Two.", metadata={"session_id": name})
        assert f"{number}." in prompt(server)
    assert len(server.logs()) == len(names)
    assert all(log.startswith("s-") for log in server.logs())


async def test_with_a_name_a_history_takes_back_and_draws_anew(server: Here) -> None:
    name = {"X-Fabula-Session": "evening"}
    words = ["One.", await server.answer("One.", headers=name), "Two."]
    second = await server.answer(*words, headers=name)
    anew = await server.answer(*words, headers=name)
    assert second != anew
    assert prompt(server).count("Two.") == 1
    await server.answer(*words, anew, "Three.", headers=name)
    await server.answer(*words[:2], "Another two.", headers=name)
    assert "Three." not in prompt(server)
    assert server.logs() == ["evening"]


async def test_turns_of_one_conversation_follow_one_another(tmp_path: Path) -> None:
    engine = Engine(gate=asyncio.Event())
    async with here(tmp_path, engine) as server:
        name = {"X-Fabula-Session": "evening"}
        both = [asyncio.ensure_future(server.answer(f"Number {n}.", headers=name)) for n in range(3)]
        other = asyncio.ensure_future(server.answer("Elsewhere.", headers={"X-Fabula-Session": "morning"}))
        await engine.begun(2)
        assert engine.gate is not None
        engine.gate.set()
        await asyncio.gather(*both, other)
        log = server.served.conversing._conversations["evening"]
        assert [turn.said for turn in log.turns] == ["Number 0.", "Number 1.", "Number 2."]


async def test_a_conversation_of_other_people_is_refused(server: Here) -> None:
    name = {"X-Fabula-Session": "evening"}
    await server.answer("One.", headers=name)
    response = await server.say("One.", headers=name, model="fabula/lamp/henrik")
    assert response.status_code == 400
    assert "Tobias talks with Mara" in response.json()["error"]["message"]


async def test_another_player_can_be_played(server: Here) -> None:
    await server.answer("One.", metadata={"player": "Henrik", "session_id": "two"})
    assert "Henrik" in prompt(server)
    await server.answer("One.", model="fabula/lamp/Tobias")
    pairs = [parties.names for parties in server.served.conversing._talks if parties]
    assert pairs == [("Henrik", "Mara"), ("Mara", "Tobias")], "who is the player by default can be talked to as well"


async def test_conversations_that_are_not_used_leave_the_memory(server: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.app.conversing._OPEN", 2)
    for name in ("a", "b", "c", "d"):
        await server.answer("One.", headers={"X-Fabula-Session": name})
    assert sorted(server.served.conversing._conversations) == ["c", "d"]
    await server.answer("Two.", headers={"X-Fabula-Session": "a"})
    assert "One." in prompt(server)


# the choice itself ---------------------------------------------------------------------------------------------------


def test_conversations_of_others_are_never_chosen(tmp_path: Path) -> None:
    branches = Branches(tmp_path)
    messages = [Exchange("One.", "Yes.")]
    group = ConversationGroup(TWO)
    name = branches.choose(group, [], "One.").name
    branches.learn(name, TWO, messages)
    assert branches.choose(group, messages, "Two.").name == name
    assert branches.choose(ConversationGroup(TWO, "Ann"), messages, "Two.").name != name
    assert branches.choose(ConversationGroup(Parties("Tobias", ("Henrik",))), messages, "Two.").name != name


async def test_a_player_is_chosen_for_all_clients(tmp_path: Path) -> None:
    async with here(tmp_path, player="henrik") as server:
        assert server.served.parties == Parties("Henrik", ("Tobias", "Mara"))
        await server.answer("One.")
        assert "Henrik: One." in prompt(server)


async def test_an_answer_to_changed_words_is_drawn_anew(server: Here) -> None:
    words = ["One.", await server.answer("One."), "Two."]
    second = await server.answer(*words)
    anew = await server.answer("One.", "She only nods.", "Two.")
    assert anew != second
    assert prompt(server).count("Two.") == 1
    await server.answer("One.", "She only nods.", "Two.", second, "Three.")
    assert second.removeprefix("(looks up) ") in prompt(server)


def test_messages_of_one_speaker_are_one_and_notices_none() -> None:
    def said(role: str, text: str) -> ChatMessage:
        return ChatMessage.model_validate({"role": role, "content": [{"type": "text", "text": text}]})

    messages = [said("assistant", "Hi."), said("user", "A."), said("user", "B."), said("assistant", OVER)]
    found = requested_turn(messages, (OVER,))
    assert found.history == (Exchange("", "Hi."),)
    assert found.said is None
    found = requested_turn([said("user", "A."), said("assistant", "C."), said("tool", "x"), said("user", "D.")])
    assert (found.history, found.said) == ((Exchange("A.", "C."),), "D.")


def test_the_model_is_named_as_it_is_listed() -> None:
    assert MODEL == "fabula/lamp/Mara"


async def test_what_was_said_is_for_its_owner_alone(server: Here) -> None:
    await server.answer("One.")
    (log,) = (server.served.conversing.project.folder / "chat").glob("*.jsonl")
    assert log.stat().st_mode & 0o077 == 0
