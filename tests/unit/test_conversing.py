"""A project that is open for conversations: whoever asks for a conversation gets the same one, also side by side."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from fabula.app.conversing import conversing, settings_for
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.craft.conversation import Log, Parties
from serving import Engine, project

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from fabula.app.conversing import Conversing

TWO = Parties("Tobias", ("Mara",))


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Conversing]:
    made = project(tmp_path)
    with mock.patch("fabula.project.casting.open_model", return_value=Engine()):
        async with conversing(made, settings_for(made.settings), Options()) as open_:
            yield open_


@pytest.fixture
def slow(opened: Conversing, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Opening a talk lets others run meanwhile; what it was opened for."""
    algorithm, asked = opened.prepared.method.algorithm, []
    open_talk = algorithm.open_talk

    async def slowly(*given: Any) -> Any:  # noqa: ANN401 - what the system takes and gives
        asked.append(given[3])
        for _ in range(5):
            await asyncio.sleep(0)
        return await open_talk(*given)

    monkeypatch.setattr(algorithm, "open_talk", slowly)
    return asked


async def test_two_who_ask_at_once_get_one_conversation_with_one_log(opened: Conversing, slow: list[Any]) -> None:
    one, other = await asyncio.gather(opened.conversation("evening", TWO), opened.conversation("evening", TWO))
    assert one is other
    assert slow == [TWO]
    await asyncio.gather(one.say("One."), other.say("Two."))
    assert one.log.file is not None
    assert [record.get("do", "head") for record in Log.read(one.log.file).records] == ["head", "turn", "turn"]


async def test_two_who_ask_at_once_get_one_talk(opened: Conversing, slow: list[Any]) -> None:
    talks = await asyncio.gather(*(opened.talk(parties) for parties in (None, None, TWO, TWO)))
    assert talks[0] is talks[1]
    assert talks[2] is talks[3]
    assert slow == [None, TWO]


async def test_of_two_who_ask_at_once_for_other_people_the_second_is_told(opened: Conversing, slow: list[Any]) -> None:
    both = (opened.conversation("evening", parties) for parties in (TWO, Parties("Tobias", ("Henrik",))))
    conversation, problem = await asyncio.gather(*both, return_exceptions=True)
    assert not isinstance(conversation, BaseException)
    assert isinstance(problem, UsageError)
    assert "Tobias talks with Mara" in str(problem)
    assert len(slow) == 1


async def test_whoever_asks_goes_on_where_an_opening_failed(opened: Conversing) -> None:
    nobody = Parties("Tobias", ("Sigrid",))
    first, second = await asyncio.gather(
        opened.conversation("evening", nobody), opened.conversation("evening", TWO), return_exceptions=True
    )
    assert isinstance(first, UsageError)
    assert not isinstance(second, BaseException)
    assert second.parties == TWO


async def test_so_many_talks_are_held_and_conversations_keep_theirs(
    opened: Conversing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fabula.app.conversing._TALKS", 2)
    conversation = await opened.conversation("evening", TWO)
    people = [*(Parties("Tobias", (other,)) for other in ("Henrik", "Mara")), Parties("Henrik", ("Mara",)), None]
    for parties in people:
        await opened.talk(parties)
    assert list(opened._talks) == people[-2:]
    assert (await conversation.say("One.")).line is not None


async def test_in_which_order_the_others_are_named_does_not_matter(opened: Conversing) -> None:
    conversation = await opened.conversation("evening", Parties("Tobias", ("Mara", "Henrik")))
    assert await opened.conversation("evening", Parties("Tobias", ("Henrik", "Mara"))) is conversation
    del opened._conversations["evening"]
    again = await opened.conversation("evening", Parties("Tobias", ("Henrik", "Mara")))
    assert again.parties == conversation.parties
    with pytest.raises(UsageError, match="Tobias talks with Mara, Henrik"):
        await opened.conversation("evening", TWO)
