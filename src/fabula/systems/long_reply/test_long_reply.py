"""The long reply: what is asked for, and what of it is the story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ReplyError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Reply
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.models.base import Request
    from fabula.models.scripted import Script

SYSTEM = find("long-reply")


async def written(
    script: Script,
    able: Capabilities | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[str, list[Request]]:
    model = ScriptedModel(script, capabilities=able or Capabilities())
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        story = await SYSTEM.write(Brief("Mara, in 100 words."), Run(context), SYSTEM.config("improved", config))
    return story.text, model.asked


async def test_the_story_is_what_stands_below_the_last_line_that_says_so() -> None:
    reply = "I plan.\n\nSTORY\n\nA first try.\n\nNot good.\n\n## STORY\n\nMara lit the lamp.\n\nThe STORY went home."
    text, (asked,) = await written({"writer": reply})
    assert text == "Mara lit the lamp.\n\nThe STORY went home."
    assert asked.sampling.max_tokens is None
    assert "in this reply: plan it" in asked.messages[-1].content
    assert "the finished story, about 100 words" in asked.messages[-1].content


async def test_the_tokens_say_for_how_much_work_there_is_room() -> None:
    _, (asked,) = await written({"writer": "STORY\nMara lit the lamp."}, tokens=4000)
    assert asked.sampling.max_tokens is not None
    assert 3900 < asked.sampling.max_tokens < 4000
    assert "in about 28" in asked.messages[-1].content, "4,000 tokens have room for some 2,900 words beside the story"


async def test_no_more_is_asked_for_than_the_model_writes_in_one_reply() -> None:
    _, (asked,) = await written({"writer": "STORY\nMara lit the lamp."}, Capabilities(reply=2000), tokens=90_000)
    assert asked.sampling.max_tokens == 2000
    assert "in about 1400 words" in asked.messages[-1].content


async def test_a_reply_of_a_story_alone_is_the_story() -> None:
    assert (await written({"writer": "Mara lit the lamp."}))[0] == "Mara lit the lamp."


async def test_a_reply_that_breaks_off_before_the_story_is_asked_for_again_and_at_last_refused() -> None:
    cut = Reply("I plan and plan.", finish="length", model="fake")
    replies: Iterator[str | Reply] = iter([cut, "STORY\n\n", "STORY\nMara lit the lamp."])
    text, asked = await written(lambda _: next(replies))
    assert (text, len(asked)) == ("Mara lit the lamp.", 3)
    assert "It broke off before the story." in asked[1].messages[-1].content
    with pytest.raises(ReplyError, match=r"No reply of the role 'writer' at story had a story\. It broke off"):
        await written(lambda _: cut)
