"""A reviewed draft: who is asked for what, in which order, and what each of them is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UsageError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.models.base import Request
    from fabula.story import Story

SYSTEM = find("reviewed-draft")
BRIEF = Brief("Write about Mara, who keeps a lighthouse.", "The Lamp")
FERRY = Brief("About 900 words. It begins in 1968, goes back to 1962, and ends in 1968.")


def said(request: Request) -> str:
    """A short text that names who says it, so that it can be found again."""
    if request.path.endswith("final_reading"):
        return '{"edits": [{"paragraph": 1, "old": "tells what", "new": "tells all", "why": "Plain."}]}'
    return f"Here the {request.role} tells what it knows of Mara and her lamp."


async def written(
    brief: Brief = BRIEF,
    edits: Mapping[str, str] | None = None,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> tuple[Story, dict[str, str]]:
    """The story, and the last user message of each call by its path; `edits` are the author's own texts."""
    model = ScriptedModel(said, capabilities=Capabilities(schema=True))
    with Journal() as journal:
        for name, text in (edits or {}).items():
            journal.decisions.add(name, "edit", text)
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        story = await SYSTEM.write(brief, Run(context), SYSTEM.config("improved", config))
    return story, {request.path: request.messages[-1].content for request in model.asked}


async def test_a_draft_is_read_by_four_written_anew_revised_twice_and_read_once_more() -> None:
    story, asked = await written()
    assert list(asked) == [
        "draft/draft",
        *(f"{name}/review" for name in ("conflict", "characters", "setting", "plot")),
        "version-1/rewrite",
        "version-2/revise",
        "drafts/story/revise",
        "drafts/edits/final_reading",
    ]
    assert [scene.label for scene in story.scenes] == ["Story"]
    assert story.title == "The Lamp"
    assert "tells all it knows" in story.text
    assert asked["draft/draft"] == BRIEF.text
    assert "[Draft] Here the writer" in asked["conflict/review"]
    assert "Read it for its central conflict, as the most demanding reader" in asked["conflict/review"]
    assert "[Notes on the Setting] Here the setting" in asked["version-1/rewrite"]
    assert "revision 1 of 2" in asked["version-2/revise"]
    assert "revision 2 of 2" in asked["drafts/story/revise"]
    assert "Notes on" not in asked["drafts/story/revise"]


def test_both_presets_are_the_same_since_there_is_no_paper() -> None:
    assert SYSTEM.config("faithful") == SYSTEM.config("improved")


@pytest.mark.parametrize(("revisions", "last"), [(0, "story/rewrite"), (1, "story/revise"), (6, "story/revise")])
async def test_the_whole_is_revised_as_often_as_was_asked(revisions: int, last: str) -> None:
    _, asked = await written(revisions=revisions, final_reading=False)
    assert list(asked)[-1] == last
    assert len(asked) == 6 + revisions
    if revisions == 6:
        assert "revised it 4 times already" in asked["version-6/revise"]


async def test_only_who_follows_others_is_told_of_their_notes() -> None:
    _, asked = await written()
    assert "the notes above" not in asked["conflict/review"]
    assert "unless the notes above have said it" in asked["characters/review"]


async def test_the_last_reader_puts_all_changes_in_order_and_keeps_them_within_the_length() -> None:
    _, asked = await written(FERRY, revisions=0, final_reading=False)
    for path in ("conflict/review", "characters/review", "setting/review"):
        assert "You are the last to read the Draft" not in asked[path]
        assert "at most two things" in asked[path]
    last = asked["plot/review"]
    assert "You are the last to read the Draft. So end with one list" in last
    assert "Leave out what contradicts something better" in last
    has = f"The Draft has {len(asked['conflict/review'].partition('[Draft] ')[2].partition(chr(10))[0].split())} words"
    assert f"{has}, and the story is to have about 900 words, between 810 and 990" in last
    assert f"{has}: what you add takes the place of something that can go." in asked["story/rewrite"]


@pytest.mark.parametrize(("words", "refused"), [("5000", False), ("5100", True)])
async def test_a_story_that_is_no_single_reply_is_refused_before_anybody_is_asked(words: str, refused: bool) -> None:  # noqa: FBT001 - a parameter of the test
    if refused:
        with pytest.raises(UsageError, match=r"one reply, of 5,000 words at most; .* --system agents-room"):
            await written(words=words)
    else:
        _, asked = await written(words=words, revisions=0, final_reading=False)
        assert "at most three things" in asked["conflict/review"]


async def test_an_authors_own_note_is_what_the_writer_is_shown() -> None:
    _, asked = await written(edits={"plot": "Let the boat be lost."})
    assert "plot/review" not in asked
    assert "[Notes on the Plot] Let the boat be lost." in asked["version-1/rewrite"]
