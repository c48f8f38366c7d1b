"""Two stories of a capable model, played again: what of their plans reaches who writes a chapter, and what is asked.

The answers were given by hand (`strong_runs` of the ground truth). Prompts have changed since, so each answer is found
by who was asked for what.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fabula.craft.packing import blocks
from fabula.craft.planning import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find
from ground_truth import data_folder

if TYPE_CHECKING:
    from fabula.models.base import Request

NOTES = ("conflict/conflict", "characters/character", "setting/setting")


def answers(room: str) -> dict[str, str]:
    """The answers by the last two names of the path that was asked for."""
    files = data_folder("strong_runs", room, "answers").glob("*.answer.md")
    return {"/".join(file.name.split("--")[1].split(".")[-2:]): file.read_text("utf-8") for file in files}


async def played(room: str, window: int | None) -> ScriptedModel:
    """The model of a room that was played again."""
    given = answers(room)

    def answer(request: Request) -> str:
        *_, name, prompt = request.path.split("/")
        if prompt == "plot_check":  # there were three times the events that are asked for now
            return '{"differences": [], "parts": []}'
        if prompt == "account":
            return given.get(f"{name[-1]}/account", "Nobody is told.")
        return given[f"{name}/{prompt}"]

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, choices=True, context=window))
    system = find("agents-room")
    brief = Brief.parse(data_folder("strong_runs", f"brief{room[-1]}.md").read_text("utf-8"))
    with Journal() as journal:
        context = RunContext(journal, Prompts(system.prompts, common=PROMPTS), Cast.of(model))
        await system.write(brief, Run(context), system.config("improved"))
    return model


def asked(model: ScriptedModel, *names: str) -> list[str]:
    return [one.messages[-1].content for one in model.asked if one.path.rpartition("/")[2] in names]


def words_asked(prompts: list[str]) -> list[int]:
    return [int(re.findall(r"Write about (\d+) words", one)[-1]) for one in prompts]


async def test_who_writes_a_chapter_has_the_whole_plan_and_nobody_is_asked_for_what_nobody_reads() -> None:
    given, model = answers("roomA"), await played("roomA", None)
    chapters = asked(model, "chapter")
    assert len(chapters) == 5
    assert not asked(model, "account"), "each chapter before stands whole in the prompt"
    for prompt in (*chapters, *asked(model, "outline")):
        assert "[...]" not in prompt
        for note in NOTES:
            assert given[note].strip() in prompt, "with its paragraphs"
        assert all(f"\n## {part} (about" in prompt for part in ("Exposition", "Rising Action", "Climax", "Resolution"))
    assert words_asked(chapters) == [1050, 1000, 940, 930, 1062], "of 1,050, 1,000, 950, 1,050 and 1,200"


async def test_in_a_small_window_a_block_of_the_plan_is_there_whole_or_not_at_all() -> None:
    given, model = answers("roomA"), await played("roomA", 16_384)
    chapters = asked(model, "chapter")
    for number, prompt in enumerate(chapters, 1):
        plan = prompt.partition("This is planned for it:")[2].partition("These are its chapters:")[0]
        assert "[...]" not in plan
        kept = [block for note in NOTES for block in blocks(given[note]) if block in plan]
        assert kept
        for note in NOTES:
            for block in blocks(given[note]):
                lines = [line for line in block.splitlines() if len(line) > 60]
                assert block in plan or not any(line in plan for line in lines)
        teller = "Aleida Voss" if number % 2 else "Pieter Lam"
        assert f"**{teller}**" in plan, "the one whose view it is"
        part = ("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution")[number - 1]
        assert f"## {part} (about" in plan, "with what it has to set up"


async def test_parts_of_one_piece_keep_their_words_and_are_parted_by_breaks() -> None:
    sections = asked(await played("roomB", None), "section")
    assert words_asked(sections) == [950, 1150, 900, 800, 700]
    assert all("put a line with * * * alone between the paragraphs" in one for one in sections)
    assert all("its first line is a break: * * * and nothing else" in one for one in sections[1:])
