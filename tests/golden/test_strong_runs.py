"""Two stories of a capable model, played again: what of their plans reaches who writes a chapter, and what is asked.

The answers were given by hand (`strong_runs` of the ground truth). Prompts have changed since, so each answer is found
by who was asked for what.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from fabula.craft import PROMPTS
from fabula.craft.packing import blocks
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
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


def as_text(plot: dict[str, Any]) -> str:
    """The plot, which was a typed reply then, as one that is free text."""
    parts = [f"Told: {plot['told']}"]
    for part in plot["parts"]:
        said = [f"{name}: {part[name]}" for name in ("when", "where", "who", "ends_with")]
        parts.append("\n".join([f"## {part['part']}", *said, *part["events"], *part["sets_up"], *part["pays_off"]]))
    return "\n\n".join(parts)


async def played(room: str, window: int | None, shares: tuple[int, ...] = ()) -> ScriptedModel:
    """The model of a room that was played again."""
    given = answers(room)

    def answer(request: Request) -> str:
        *_, name, prompt = request.path.split("/")
        if name == "plot" and prompt == "plot":
            return as_text(json.loads(given["plot/plot_by_part"]))
        if prompt == "account":
            return given.get(f"{name[-1]}/account", "Nobody is told.")
        return given[f"{name}/{prompt}"]

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, choices=True, context=window))
    system = find("agents-room")
    brief = Brief.parse(data_folder("strong_runs", f"brief{room[-1]}.md").read_text("utf-8"))
    with Journal() as journal:
        context = RunContext(journal, SystemPrompts(system.prompt_folders("improved"), common=PROMPTS), Cast.of(model))
        await system.write(brief, Run(context), system.config("improved", {"shares": shares} if shares else {}))
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
        assert all(f"\n## {part}\n" in prompt for part in ("Rising Action", "Climax", "Resolution"))
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
        assert f"## {part}\n" in plan


async def test_parts_of_one_piece_keep_their_words_and_are_parted_by_breaks() -> None:
    sections = asked(await played("roomB", None, (950, 1150, 900, 800, 700)), "section")
    assert words_asked(sections) == [950, 1150, 900, 800, 700]
    assert all("put a line with * * * alone between the paragraphs" in one for one in sections)
    assert all("its first line is a break: * * * and nothing else" in one for one in sections[1:])
