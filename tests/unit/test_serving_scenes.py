"""Scenes of several over HTTP: who answers, who is there, and how such a conversation is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelUnavailableError
from fabula.craft.conversation import Log, Parties, Turn
from fabula.craft.conversation.lines import SpokenLine
from fabula.server.chat.histories import SILENCE, ConversationGroup, Exchange
from fabula.server.chat.scenes import SceneChange, SceneError, spoken, unnamed
from fabula.server.chat.wire import RequestedTurn
from serving import BOTH, CONFIG, MODEL, Here, SnapEngine, here

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


THREE = Parties("Tobias", ("Henrik", "Mara"))
EVENING = {"X-Fabula-Session": "evening"}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Here]:
    async with here(tmp_path) as running:
        yield running


def prompt(server: Here) -> str:
    """What the model was asked last, with the chat before."""
    return "\n\n".join(message.content for message in server.engine.asked[-1].messages)


async def talked(server: Here, *said: str, **more: Any) -> list[str]:  # noqa: ANN401 - fields of a request
    """A conversation with both, each message with the whole history; what was said in turns."""
    words: list[str] = []
    for one in said:
        words += [one, await server.answer(*words, one, model=BOTH, **more)]
    return words


async def answered(server: Here, *words: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a request
    """The field `fabula` of the next answer."""
    response = await server.say(*words, model=BOTH, **more)
    assert response.status_code == 200, response.text
    return dict(response.json()["fabula"])


# who answers ---------------------------------------------------------------------------------------------------------


async def test_who_is_spoken_to_answers_else_who_was_silent(server: Here) -> None:
    words = await talked(server, "Good evening.", "Hm.", "Mara, is it true?", "Hm.")
    assert [answer.partition(":")[0] for answer in words[1::2]] == ["Henrik", "Mara", "Mara", "Henrik"]
    assert len(server.logs()) == 1


async def test_one_character_is_told_beside_the_text_alone(server: Here) -> None:
    response = (await server.say("One.")).json()
    assert response["choices"][0]["message"]["content"].startswith("(looks up) ")
    assert (response["fabula"]["who"], response["fabula"]["present"]) == ("Mara", ["Mara"])


async def test_the_order_of_the_names_makes_no_other_conversation(server: Here) -> None:
    words = await talked(server, "One.")
    for model in ("fabula/lamp/Mara+Henrik", "fabula/lamp/henrik+MARA", BOTH):
        words += ["On.", await server.answer(*words, "On.", model=model)]
    assert prompt(server).count("On.") == 3
    assert len(server.logs()) == 1


async def test_a_conversation_of_the_terminal_goes_on_in_its_own_order(server: Here) -> None:
    conversing = server.served.conversing
    conversation = await conversing.conversation("evening", Parties("Tobias", ("Mara", "Henrik")))
    await conversation.say("One.")
    del conversing._conversations["evening"]
    await server.answer("Two.", model=BOTH, headers=EVENING)
    assert "One." in prompt(server)
    assert (await server.say("Three.", headers=EVENING)).status_code == 400, "of one of them it is another conversation"


@pytest.mark.parametrize(
    ("names", "player", "status", "expected"),
    [
        ("Mara+Nobody", "", 404, "Unknown character 'Nobody'"),
        ("Mara+", "", 404, "Unknown model"),
        ("+", "", 404, "Unknown model"),
        ("+".join(["Mara"] * 13), "", 400, "at most 12 characters, but this model specifies 13"),
        ("Mara+Henrik+Tobias", "", 400, "There is no character left for you to play"),
        ("Mara+Henrik", "Henrik", 400, "are the same"),
    ],
)
async def test_scenes_that_cannot_be_are_told(
    server: Here, names: str, player: str, status: int, expected: str
) -> None:
    response = await server.say("One.", model=f"fabula/lamp/{names}", metadata={"player": player})
    assert response.status_code == status
    assert expected in response.json()["error"]["message"]
    assert server.logs() == []
    assert not server.engine.asked


async def test_whoever_is_left_is_played(server: Here) -> None:
    await server.answer("One.", model="fabula/lamp/Tobias+Mara")
    (log,) = server.logs()
    records = Log.of(server.served.conversing.project.folder, log).records
    assert (records[0]["player"], records[0]["others"]) == ("Henrik", ["Mara", "Tobias"])


async def test_those_of_the_project_are_listed_together(tmp_path: Path) -> None:
    async with here(tmp_path / "a", config={"player": "Henrik", "npc": "Tobias, Mara"}) as server:
        assert server.served.models[-1] == "fabula/lamp/Mara+Tobias"
    async with here(tmp_path / "b", player="Mara") as server:
        assert server.served.models[-1] == "fabula/lamp/Henrik+Tobias"


# found again ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["{0}: {1}", "**{0}:** {1}", "{0} : {1}", "{1}"])
@pytest.mark.parametrize("name", [{}, {"headers": EVENING}])
async def test_however_the_name_is_told_back_the_conversation_is_found(
    server: Here, change: str, name: dict[str, Any]
) -> None:
    words = await talked(server, "One.", "Two.", **name)
    changed = [change.format(*word.split(": ", 1)) if n % 2 else word for n, word in enumerate(words)]
    await server.answer(*changed, "Three.", model=BOTH, **name)
    assert all(said in prompt(server) for said in ("One.", "Two.", "Three."))
    assert prompt(server).count("Henrik: (looks up)") == 1
    assert len(server.logs()) == 1


@pytest.mark.parametrize("name", [{}, {"headers": EVENING}])
async def test_an_answer_of_several_is_drawn_anew_and_taken_back(server: Here, name: dict[str, Any]) -> None:
    words = [*await talked(server, "One.", **name), "Mara, and then?"]
    second, anew = [await server.answer(*words, model=BOTH, **name) for _ in range(2)]
    assert second != anew
    assert second.startswith("Mara: ")
    assert anew.startswith("Mara: ")
    await server.answer(*words, anew, "On.", model=BOTH, **name)
    assert anew.removeprefix("Mara: (looks up) ") in prompt(server)
    assert second.removeprefix("Mara: (looks up) ") not in prompt(server)
    await server.answer(*words[:2], "Another two.", model=BOTH, **name)
    assert "and then?" not in prompt(server)
    assert "One." in prompt(server)


@pytest.mark.parametrize("name", [{}, {"headers": EVENING}])
async def test_several_go_on_after_a_restart(tmp_path: Path, name: dict[str, Any]) -> None:
    async with here(tmp_path) as server:
        words = await talked(server, "One.", "Two.", **name, metadata={"present": "Mara"})
    async with here(tmp_path) as server:
        about = await answered(server, *words, "Three.", **name)
        assert (about["who"], about["present"]) == ("Mara", ["Mara"])
        assert all(said in prompt(server) for said in ("One.", "Two.", "Three."))
        assert len(server.logs()) == 1


def test_names_of_conversations_with_one_character_are_those_of_before() -> None:
    assert ConversationGroup(Parties("Tobias", ("Mara",))).base("One.") == "plain-e3b0c4-ea2ad2f07092"
    assert ConversationGroup(Parties("Tobias", ("Mara",)), "Ann").base("Hello!") == "plain-17239b-c9109d6ffd83"


def test_a_name_before_an_answer_is_left_out_once_and_only_for_several() -> None:
    heard = RequestedTurn((Exchange("One.", "Mara: Henrik: he said."), Exchange("Two.", "Note: no name.")), None)
    assert [e.answer.strip() for e in unnamed(heard, THREE).history] == ["Henrik: he said.", "Note: no name."]
    assert unnamed(heard, Parties("Tobias", ("Mara",))) == heard


def test_who_only_ends_a_cell_has_no_name_before_the_silence() -> None:
    assert spoken(Turn(1, 1, 1, "One.", None, ends_cell=True), THREE) == SILENCE
    assert spoken(Turn(1, 1, 1, "One.", SpokenLine("Mara", "nods", "Yes.")), THREE) == "Mara: (nods) Yes."


# who is there --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [{}, {"headers": EVENING}])
async def test_a_secret_told_while_one_is_away_is_not_in_that_ones_prompt(server: Here, name: dict[str, Any]) -> None:
    words = await talked(server, "Henrik, good evening.", **name)
    words += ["The key is under the stone.", ""]
    words[-1] = await server.answer(*words[:-1], model=BOTH, metadata={"present": "Mara"}, **name)
    assert words[-1].startswith("Mara: ")
    words += ["Keep it to yourself.", await server.answer(*words, "Keep it to yourself.", model=BOTH, **name)]
    assert words[-1].startswith("Mara: "), "who has left is away until he comes back"
    assert "under the stone" in prompt(server)
    about = await answered(
        server, *words, "Henrik, there you are.", metadata={"present": "tobias, Mara, henrik"}, **name
    )
    assert (about["who"], about["present"]) == ("Henrik", ["Henrik", "Mara"])
    assert "good evening" in prompt(server)
    assert "under the stone" not in prompt(server)
    assert "to yourself" not in prompt(server)
    assert len(server.logs()) == 1


async def test_what_is_as_wanted_is_not_written_again(tmp_path: Path) -> None:
    config = CONFIG | {"plan_filter": False, "candidates": 1}
    async with here(tmp_path, SnapEngine(), system="snap", config=config) as server:
        await talked(server, "One.", "Two.", headers=EVENING, metadata={"present": "Mara", "freedom": "Loose"})
        log = Log.of(server.served.conversing.project.folder, "evening").records
    assert [record["do"] for record in log[1:]] == ["present", "freedom", "turn", "turn"]


async def test_a_freedom_that_no_prompt_knows_of_is_refused(server: Here) -> None:
    response = await server.say("One.", metadata={"freedom": "loose"})
    assert response.status_code == 400
    assert "How far you may stray cannot be set to 'loose' here" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("metadata", "param", "expected"),
    [
        ({"present": "Mara, Sigrid"}, "present", "Unknown character of this scene 'Sigrid'"),
        ({"present": "Tobias"}, "present", "A conversation needs"),
        ({"present": " , "}, "present", "A conversation needs"),
        ({"freedom": "wild"}, "freedom", "no freedom 'wild'"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_scene_that_cannot_be_so_is_refused_and_leaves_no_trace(
    server: Here, metadata: dict[str, str], param: str, expected: str, *, stream: bool
) -> None:
    response = await server.say("One.", model=BOTH, metadata=metadata, stream=stream)
    error = response.json()["error"]
    assert (response.status_code, error["type"]) == (400, "invalid_request_error")
    assert (error["code"], error["param"]) == ("invalid_metadata", f"metadata.{param}")
    assert expected in error["message"]
    assert server.logs() == []


async def test_first_words_of_another_scene_are_another_conversation(server: Here) -> None:
    await server.answer("Hello.", model=BOTH, metadata={"present": "Mara"})
    about = await answered(server, "Hello.")
    assert (about["who"], about["present"]) == ("Henrik", ["Henrik", "Mara"])
    assert len(server.logs()) == 2


async def test_a_scene_that_failed_at_its_first_words_binds_nobody_else(server: Here) -> None:
    server.engine.fails = ModelUnavailableError("The engine is down.", model="engine")
    assert (await server.say("Hello.", model=BOTH, metadata={"present": "Mara"})).status_code == 503
    server.engine.fails = None
    assert (await answered(server, "Hello."))["present"] == ["Henrik", "Mara"]


async def test_who_left_later_is_there_where_the_conversation_branches_off_earlier(server: Here) -> None:
    words = await talked(server, "One.")
    words += ["Two.", await server.answer(*words, "Two.", model=BOTH, metadata={"present": "Mara"})]
    assert (await answered(server, *words, "Three."))["present"] == ["Mara"]
    assert (await answered(server, *words[:2], "Another two."))["present"] == ["Henrik", "Mara"]
    assert (await answered(server, *words, "Another three."))["present"] == ["Mara"]


async def test_words_that_were_changed_lead_back_to_a_scene_that_began_otherwise(server: Here) -> None:
    await server.answer("One.", model=BOTH)
    await server.answer("One.", "She only nods.", "Two.", model=BOTH, metadata={"present": "Mara"})
    assert "One." in prompt(server)
    assert len(server.logs()) == 1


async def test_who_is_said_to_be_away_does_not_come_back_with_the_next_cell(tmp_path: Path) -> None:
    config = CONFIG | {"sentences": 2, "turns_per_step": 1, "plan_filter": False, "candidates": 1}
    away: dict[str, Any] = {"metadata": {"present": "Mara"}, "headers": EVENING}
    async with here(tmp_path, SnapEngine(), system="snap", config=config) as server:
        for said in ("One.", "Two."):
            about = await answered(server, said, **away)
        assert (about["cell"], about["ends_cell"]) == (1, True)
        about = await answered(server, "Henrik is away; the key is under the stone.", **away)
        assert (about["cell"], about["who"], about["present"]) == (2, "Mara", ["Mara"])
        again = await answered(server, "Henrik?", metadata={"present": "Henrik, Mara"}, headers=EVENING)
        assert again["who"] == "Henrik"
        assert "under the stone" not in prompt(server)


def test_a_scene_is_read_from_two_fields() -> None:
    assert SceneChange.of("", " ", THREE) == SceneChange()
    assert SceneChange().key == ""
    scene = SceneChange.of("mara, HENRIK , Tobias", "Rails", THREE)
    assert scene == SceneChange(("Henrik", "Mara"), "rails")
    assert scene.key != SceneChange(("Henrik", "Mara")).key
    with pytest.raises(SceneError, match="no freedom"):
        SceneChange.of("", "wild", THREE)


def test_one_character_is_named_as_it_is_listed() -> None:
    assert (MODEL, BOTH) == ("fabula/lamp/Mara", "fabula/lamp/Henrik+Mara")
