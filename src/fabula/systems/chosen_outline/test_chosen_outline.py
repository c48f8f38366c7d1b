"""A chosen outline: what each outline, the reader, a chapter and a revision is shown, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from commandline import PLAN
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
    from pathlib import Path

    from fabula.models.base import Request
    from fabula.story import Story

SYSTEM = find("chosen-outline")
BRIEF = Brief("Tell it in letters.", "The Lamp")


def said(request: Request) -> str:
    place = request.path.split("/")
    if request.role == "reader":
        before = request.messages[-1].content.partition("Outline by outline-2")[0]
        return str(before.count("Outline ") - before.count("Outline by"))
    if request.path.endswith("outline"):
        return f"Outline by {place[0]}, in which Mara keeps a lamp."
    return f"{'Revised' if request.path.endswith('revise') else 'Draft'} text of {place[-2]}, in which Mara waited."


async def written(
    journal: Journal | None = None, window: int | None = None, **config: int | str
) -> tuple[Story, list[Request]]:
    model = ScriptedModel(said)
    if window:
        model.capabilities = replace(model.capabilities, context=window)
    with journal or Journal() as open_journal:
        context = RunContext(open_journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        settings = SYSTEM.config("improved", {"chapters": 3} | config)
        return await SYSTEM.write(BRIEF, Run(context), settings), model.asked


async def test_chapters_are_written_from_the_chosen_outline_with_every_word_before_them() -> None:
    story, asked = await written()
    assert [one.path for one in asked] == [
        "outline-1/outline",
        "outline-2/outline",
        "outline-3/outline",
        "choose",
        *(f"drafts/chapter-{n}-draft/chapter" for n in (1, 2, 3)),
        *(f"chapter-{n}/revise" for n in (1, 2, 3)),
    ]
    first, _, third, *_ = (one.messages[-1].content for one in asked[4:])
    assert "Outline by outline-2" in first
    assert "Outline by outline-1" not in first
    assert "Draft text of chapter-1-draft" in third
    assert "Draft text of chapter-2-draft" in third
    assert [scene.text for scene in story.scenes] == [
        f"Revised text of chapter-{n}, in which Mara waited." for n in (1, 2, 3)
    ]


async def test_each_outline_is_shown_how_those_before_it_begin() -> None:
    _, asked = await written()
    first, _, third = (one.messages[-1].content for one in asked[:3])
    assert "Others" not in first
    assert "* Outline by outline-1" in third
    assert "* Outline by outline-2" in third


async def test_who_revises_a_chapter_sees_the_whole_with_what_is_revised_already() -> None:
    _, asked = await written(outlines=1)
    second = asked[-2].messages[-1].content
    assert "Revised text of chapter-1" in second
    assert "Draft text of chapter-2-draft" in second
    assert "Draft text of chapter-3-draft" in second
    assert "Revise chapter 2." in second
    assert "Is the ending earned?" in asked[-1].messages[-1].content


async def test_one_outline_needs_no_reader_and_no_revision_leaves_the_drafts() -> None:
    story, asked = await written(outlines=1, revisions=0)
    assert [one.role for one in asked] == ["writer"] * 4
    assert story.scenes[0].text.startswith("Draft text of chapter-1,")


@pytest.mark.parametrize(
    ("brief", "words", "chapters"),
    [
        ("Tell it in letters.", "20000", 8),
        ("Tell it in letters.", "", 4),
        ("Tell it in five chapters.", "20000", 5),
        ("Tell it in chapters of 1,000 words each.", "8000", 8),
        ("Tell it in 10 letters of 2,000 words each.", "", 10),
        ("Tell it in 90 scenes.", "20000", 8),
        ("Tell it in 2 parts.", "20000", 8),
    ],
)
async def test_a_story_has_as_many_chapters_as_its_length_or_its_brief_wants(
    brief: str, words: str, chapters: int
) -> None:
    with Journal() as journal:
        cast = Cast.of(ScriptedModel(said))
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), cast, mode="dry")
        await SYSTEM.write(Brief(brief, "The Lamp"), Run(context), SYSTEM.config("improved", {"words": words}))
    assert sum(call.path.endswith("/chapter") for call in context.dry_run.planned) == chapters


async def test_one_outline_is_made_of_scenes_that_the_author_has_planned() -> None:
    with Journal() as journal:
        journal.decisions.add("plan", "edit", PLAN)
        model = ScriptedModel(said)
        context = RunContext(journal, SystemPrompts(SYSTEM.prompts, common=PROMPTS), Cast.of(model))
        await SYSTEM.write(BRIEF, Run(context), SYSTEM.config("improved", {"chapters": 1, "revisions": 0}))
    assert [one.path for one in model.asked] == ["outline-1/outline", "chapter-1/chapter"]
    assert "- The letter (The lamp room" in model.asked[0].messages[-1].content


async def test_a_story_that_the_window_does_not_hold_is_refused() -> None:
    with pytest.raises(UsageError, match=r"about 60,755 tokens; this writer has 32,000\. .*--system agents-room"):
        await written(window=32_000, words="21000")


async def test_a_recorded_story_is_not_asked_again(tmp_path: Path) -> None:
    first, asked = await written(Journal(tmp_path / "journal.db"))
    again, more = await written(Journal(tmp_path / "journal.db"))
    assert (len(asked), len(more)) == (10, 0)
    assert again == first
