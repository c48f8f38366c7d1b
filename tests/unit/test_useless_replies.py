"""Replies that are none are recognised against their prompt, and drawn again in another way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ReplyError
from fabula.craft.length import WordRange
from fabula.craft.prose import Prose, write_prose
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies import fault_of, without_instructions
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.context import Aids
    from fabula.models.base import Request

INSTRUCTIONS = (
    "You play one character of a story. Say what your character does next, in two sentences. The director said to ",
    "For example: Tobias sets down the lamp and looks at the door, and says that nobody has come since Tuesday.",
    "Continue with the next event.",
)
PROMPT = (
    "A lighthouse in a storm; the keeper has lost her voice. ".join(INSTRUCTIONS)
    + "Mara: 1. Continue with the next event."
)
STORY = (
    "The keeper has lost her voice, so she rings the bell. Nobody hears it over the storm. At noon the boy comes up."
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "* * *",
        "in two sentences",
        "In two sentences.",
        "INT/EXT. On the last day - Scene 1",
        "**Scene 1**\n\n## The Lamp",
        "Tobias sets down the lamp and looks at the door, and says that nobody has come since Tuesday.",
        "Say what your character does next, in two sentences. The director said to Mara: Continue with the next event.",
        "2) paragraphem",
    ],
)
def test_a_reply_that_is_none_is_recognised_against_its_prompt(text: str) -> None:
    assert fault_of(text, PROMPT, INSTRUCTIONS, least=3)


def test_a_text_over_again_is_none() -> None:
    assert fault_of(STORY, PROMPT, INSTRUCTIONS, before=["A brief.", STORY]) == "It repeated what it was told."


@pytest.mark.parametrize(
    "text",
    [
        STORY,
        "Nobody.",
        "The keeper has lost her voice.",
        "A lighthouse in a storm; the keeper has lost her voice.",  # a refrain that the brief gives
        "INT. LIGHTHOUSE - NIGHT\n\nMara rings the bell.",
        "# The Lamp\n\nMara rings the bell. Nobody comes.",
        "Then: nothing",
    ],
)
def test_a_reply_of_its_own_words_is_one(text: str) -> None:
    assert not fault_of(text, PROMPT, INSTRUCTIONS)


async def written(folder: Path, replies: list[str], aids: Aids = "off") -> tuple[str, list[Request], list[str]]:
    """The prose that came of replies given in turn, the requests, and what is recorded as no reply."""
    (folder / "part.jinja").write_text(
        "{% block user %}Write the part, in two sentences. {{ words or '' }}{% endblock %}"
    )
    waiting = list(replies)
    model = ScriptedModel(lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0])
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(folder), Cast.of(model), aids=aids))
        try:
            text = await write_prose(
                run,
                "writer",
                "part",
                Prose(last=True, want=WordRange(15, 30, 20, exact=True), labels=()),
                before=[],
                fields={},
            )
        finally:
            removed = [one.text for one in journal.calls.removals() if one.rule == "reply"]
    return text, list(model.asked), removed


async def test_what_is_none_is_drawn_again_and_told_why(tmp_path: Path) -> None:
    text, asked, removed = await written(tmp_path, ["Write the part, in two sentences.", "paragraphem", STORY])
    assert text == STORY
    assert removed == ["Write the part, in two sentences.", "paragraphem"]
    first, second, third = asked
    assert "could not be used" not in first.messages[-1].content
    assert second.messages[-1].content.startswith(first.messages[-1].content)
    assert "It repeated what it was told." in second.messages[-1].content
    assert "It had 1 word." in third.messages[-1].content
    assert [request.sampling.temperature for request in asked] == [None, 0.85, 1.0]


async def test_a_small_model_is_drawn_again_warmer_and_not_told(tmp_path: Path) -> None:
    _, asked, _ = await written(tmp_path, ["2) paragraphem", "2) paragraphem", STORY], aids="on")
    assert len({request.messages[-1].content for request in asked[:3]}) == 1
    assert len({request.sampling.temperature for request in asked[:3]}) == 3


async def test_tries_are_bounded_and_the_error_says_how_to_go_on(tmp_path: Path) -> None:
    with pytest.raises(ReplyError, match=r"in 4 tries, .*had 2 words\. The same command .* stronger model") as failed:
        await written(tmp_path, ["2) paragraphem"])
    assert failed.value.reply == "2) paragraphem"


async def test_a_good_first_reply_is_asked_for_once(tmp_path: Path) -> None:
    text, asked, removed = await written(tmp_path, [STORY])
    assert (text, len(asked), removed) == (STORY, 1, [])


def test_sentences_that_a_small_model_copies_from_the_instructions_go() -> None:
    asked = (
        "It ends too early. Continue it from its last sentence with about more words, and bring the story to its end. "
        "Tell what happens next, and do not repeat or sum up what is already written."
    )
    story = "His words are already fading away. He asks what happens next, and nobody can tell."
    copied = (
        "It ends too early. Continue it from its last sentence without repeating or summing up what is already written."
    )
    assert without_instructions(f"{story} {copied}", [asked]) == story
    assert without_instructions(f"{copied}\n\n{story}", [asked]) == story
    assert without_instructions(story, [asked]) == story
