"""Marks of ours in what a model wrote, endless blanks, and replies without measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Sampling
from fabula.models.scripted import ScriptedModel
from fabula.story import Story, without_marks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARKED = "The lamp is lit.\n<!-- scene: climax -->\nNobody comes."


@pytest.fixture
def journal() -> Iterator[Journal]:
    with Journal() as journal:
        yield journal


def run_with(reply: str, journal: Journal, folder: Path) -> Run:
    (folder / "say.jinja").write_text("{% block user %}Say something.{% endblock %}", encoding="utf-8")
    return Run(RunContext(journal, SystemPrompts(folder), Cast.of(ScriptedModel({"poet": reply}))))


@pytest.mark.parametrize("mark", ["<!-- scene: x -->", "<!--scene: x-->", "* * *\n<!-- scene: x y -->"])
def test_a_scene_mark_in_a_text_does_not_end_the_scene(mark: str) -> None:
    story = Story("T").add("one", f"First.\n{mark}\nSecond.").add("two", f"{mark}\nThird.")
    assert [scene.text.split() for scene in story.scenes] == [["First.", "Second."], ["Third."]]
    assert Story.parse(story.manuscript()) == story
    revised = story.with_texts([MARKED, "Third."])
    assert Story.parse(revised.manuscript()) == revised
    assert without_marks("<!-- a note --> stays") == "<!-- a note --> stays"


async def test_a_mark_in_a_reply_is_taken_out_and_recorded(journal: Journal, tmp_path: Path) -> None:
    assert await run_with(MARKED, journal, tmp_path).ask("poet", "say") == "The lamp is lit.\nNobody comes."
    (removal,) = journal.calls.removals()
    assert (removal.rule, "<!-- scene: climax -->" in removal.text) == ("markup", True)


async def test_endless_blanks_are_one_gap(journal: Journal, tmp_path: Path) -> None:
    text = f"The lamp{' ' * 32_000}is lit.{chr(10) * 5000}Nobody comes."
    assert await run_with(text, journal, tmp_path).ask("poet", "say") == "The lamp is lit.\n\nNobody comes."


@pytest.mark.parametrize(
    ("tokens", "most"), [(10, 20_000), (1000, 32_000), (20_000, 200_000), (30_000, 240_000), (None, 200_000)]
)
async def test_a_reply_without_measure_is_cut_and_what_goes_is_recorded(
    tokens: int | None, most: int, journal: Journal, tmp_path: Path
) -> None:
    run = run_with("word " * 200_000, journal, tmp_path)
    reply = await run.reply("poet", "say", sampling=Sampling(max_tokens=tokens))
    assert (len(reply.text), reply.finish) == (most, "length")
    (removal,) = journal.calls.removals()
    assert removal.rule == "size"
    assert len(removal.text) == 1_000_000 - most
