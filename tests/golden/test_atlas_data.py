"""ATLAS on the annotated screenplays: the published counts, and that the reader loses nothing that is named."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.item_files import read_items
from fabula.continuity import split
from fabula.craft.matching import parse_finding
from fabula.craft.packing import words
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.atlas.gold import QuotedError, accuracies, read_gold
from fabula.evaluators.atlas.quoting import StoryText
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Scene, Story
from ground_truth import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fabula.models.base import Request

ATLAS = find("atlas")
STORIES = (1, 2)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def script(number: int) -> Path:
    return data_folder("atlas_scripts", f"story{number}")


def published() -> Iterator[tuple[int, str, list[QuotedError], dict[str, Any]]]:
    folder = data_folder("atlas")
    rows = json.loads((folder / "predictions_expected.json").read_text(encoding="utf-8"))
    data = lines(folder / "predictions.jsonl")
    for row in rows:
        said = [one["hallucination"] for one in data if (one["story"], one["method"]) == (row["story"], row["method"])]
        found = [finding for text in said if (finding := parse_finding(text)) and finding.x < finding.y]
        yield row["story"], row["method"], [QuotedError(one) for one in found], row


def test_published_detections_give_the_published_counts_by_assignment() -> None:
    compared = 0
    for number, _, shown, row in published():
        if number in STORIES:
            known = read_gold(str(script(number) / "annotations.json"), {"script": ""})["script"]
            assert isinstance(known, tuple)
            found = accuracies(shown, known)["assignment"]
            assert (found.tp, found.fp, found.fn) == (row["tp"], row["fp"], row["fn"])
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("number", STORIES)
async def test_a_reader_that_names_the_known_errors_loses_none(number: int) -> None:
    file = script(number) / "annotations.json"
    text = (script(number) / "script.json").read_text(encoding="utf-8")
    gold = [row for row in json.loads(file.read_text(encoding="utf-8")) if row["verdict"] != "rejected"]
    paragraphs = StoryText(split(text).scenes).paragraphs

    def place(scene: int, clause: str) -> dict[str, Any]:
        there = [one for one in paragraphs if one.scene == scene]
        best = max(there, key=lambda one: len(words(one.text) & words(clause)))
        return {"paragraph": best.number, "says": clause}

    def answer(request: Request) -> str:
        if request.role == "verifier":
            asked = re.findall(r"^(\d+)\. (.*)$", request.messages[-1].content, re.MULTILINE)
            return json.dumps({"decisions": [
                {"number": int(n), "decision": "error" if why.startswith("known") else "both_true"} for n, why in asked
            ]})  # fmt: skip
        found = [
            {f"{what}_{end}": value for end, side in (("x", "fact"), ("y", "event"))
             for what, value in place(row[end], row[side]).items()} | {"why": f"known {n}"}
            for n, row in enumerate(gold)
        ]  # fmt: skip
        return json.dumps({"findings": found})

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True, context=128_000))
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ATLAS.prompt_folders("improved")), Cast.of(model)))
        item = Item("script", Story("", (Scene("story", text),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("improved", {"gold": str(file)}))
    (story,) = report.details["stories"]
    assert len(model.asked) <= 3
    scored = story["scoring"]["method"]["assignment"]
    assert (scored["tp"], scored["fp"]) == (len(gold), 0), story["scoring"]
    assert story["counts"]["controls"] == 2 * (len(model.asked) - 1)
    assert not story["counts"].get("controls_called_errors")


def test_a_screenplay_in_the_papers_form_is_read_with_its_numbers() -> None:
    (item,) = read_items([script(1) / "script.json"])
    scenes = split(item.story.text).scenes
    assert [scene.number for scene in scenes] == list(range(1, len(scenes) + 1))
