"""A chosen draft: what each draft is shown of the others, what the reader is shown, and what is revised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UsageError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fabula.models.base import Request
    from fabula.story import Story

SYSTEM = find("chosen-draft")
BRIEF = Brief("Tell it in letters.", "The Lamp")
ORDINALS = ("first", "second", "third", "fourth")


def number_of(request: Request, ordinal: str) -> str:
    """The number under which the reader is shown a draft."""
    before = request.messages[-1].content.partition(f"The {ordinal} draft")[0]
    return str(before.count("Story "))


async def written(
    reader: Callable[[Request], str], journal: Journal | None = None, **config: int | str
) -> tuple[Story, list[Request]]:
    def said(request: Request) -> str:
        if request.role == "reader":
            return reader(request)
        if request.path.endswith("revise"):
            return f"Revised at {request.path}: {request.messages[-1].content.partition('already:')[2][:80]}"
        return f"The {ORDINALS[int(request.path.split('/')[1][-1]) - 1]} draft of it, which Mara began."

    model = ScriptedModel(said)
    with journal or Journal() as open_journal:
        context = RunContext(open_journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        return await SYSTEM.write(BRIEF, Run(context), SYSTEM.config("improved", config)), model.asked


@pytest.mark.parametrize("best", ORDINALS[:3])
async def test_the_draft_that_the_reader_chose_is_revised(best: str) -> None:
    story, asked = await written(lambda request: number_of(request, best), revisions=2)
    assert [one.path for one in asked] == [
        "drafts/draft-1/draft",
        "drafts/draft-2/draft",
        "drafts/draft-3/draft",
        "choose",
        "drafts/version-1/revise",
        "drafts/version-2/revise",
    ]
    assert f"The {best} draft" in asked[4].messages[-1].content
    assert not any(f"The {other} draft" in asked[4].messages[-1].content for other in ORDINALS if other != best)
    assert story.text.startswith("Revised at drafts/version-2/revise")


async def test_each_draft_is_shown_how_those_before_it_begin_and_the_reader_sees_all_in_another_order() -> None:
    _, asked = await written(lambda _: "1")
    first, second, third, choice = (one.messages[-1].content for one in asked[:4])
    assert "Others" not in first
    assert "* The first draft" in second
    assert "* The first draft" in third
    assert "* The second draft" in third
    assert all(f"The {ordinal} draft" in choice for ordinal in ORDINALS[:3])
    assert "Answer with its number and nothing else: 1, 2, 3." in choice


async def test_only_the_last_version_is_held_to_the_length() -> None:
    _, asked = await written(lambda _: "1", words="4-12")
    mended = [one.path.split("/")[1] for one in asked if "shorten" in one.path or "extend" in one.path]
    assert set(mended) <= {"version-2"}
    _, asked = await written(lambda _: "1", words="40", revisions=0)
    assert "drafts/draft-1/extend" in asked[1].path, "no revision comes after it"


async def test_one_draft_needs_no_reader() -> None:
    story, asked = await written(lambda _: "", drafts=1, revisions=0)
    assert [one.role for one in asked] == ["writer"]
    assert story.text.startswith("The first draft")


async def test_a_recorded_choice_is_not_asked_again(tmp_path: Path) -> None:
    first, asked = await written(lambda _: "2", Journal(tmp_path / "journal.db"))
    again, more = await written(lambda _: "3", Journal(tmp_path / "journal.db"))
    assert (len(asked), len(more)) == (6, 0)
    assert again == first


async def test_a_story_that_is_no_single_reply_is_refused() -> None:
    with pytest.raises(UsageError, match=r"A chosen draft writes one reply of at most 5,000 words"):
        await written(lambda _: "1", words="6000")
