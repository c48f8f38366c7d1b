"""ATLAS on the annotated screenplays: the published counts, and what the hybrid can reach at most."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.item_files import read_items
from fabula.continuity import check, split
from fabula.craft.matching import parse_finding
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.atlas.findings import Proposal
from fabula.evaluators.atlas.gold import Detected, accuracies, read_gold
from fabula.evaluators.atlas.hybrid import batched, united
from fabula.measure.items import Item
from fabula.models.base import Capabilities
from fabula.models.budget import prompt_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Scene, Story
from ground_truth import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from fabula.models.base import Request

ATLAS = find("atlas")
STORIES = (1, 2)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def script(number: int) -> Path:
    return data_folder("atlas_scripts", f"story{number}")


def published() -> Iterator[tuple[int, str, list[Detected], dict[str, Any]]]:
    folder = data_folder("atlas")
    rows = json.loads((folder / "predictions_expected.json").read_text(encoding="utf-8"))
    data = lines(folder / "predictions.jsonl")
    for row in rows:
        said = [one["hallucination"] for one in data if (one["story"], one["method"]) == (row["story"], row["method"])]
        found = [finding for text in said if (finding := parse_finding(text)) and finding.x < finding.y]
        yield row["story"], row["method"], [Detected(one) for one in found], row


def test_published_detections_give_the_published_counts_by_assignment() -> None:
    compared = 0
    for number, _, shown, row in published():
        if number in STORIES:
            known = read_gold(str(script(number) / "annotations.json"), ["script"])["script"]
            assert known is not None
            found = accuracies(shown, known)["assignment"]
            assert (found.tp, found.fp, found.fn) == (row["tp"], row["fp"], row["fn"])
            compared += 1
    assert compared >= 3


@pytest.mark.parametrize("number", STORIES)
def test_candidates_of_the_rules_all_reach_the_verifier(number: int) -> None:
    scenes = split((script(number) / "script.json").read_text(encoding="utf-8")).scenes
    found = check(scenes).candidates
    batches = batched(united(Proposal.of(one) for one in found), scenes, 12, 6)
    assert sum(map(len, batches)) >= 0.9 * len(found)


@pytest.mark.parametrize(("number", "least"), [(1, 12), (2, 11)])
async def test_a_verifier_that_confirms_everything_shows_what_the_rules_can_reach(number: int, least: int) -> None:
    """Recall has a ceiling: what no rule proposes is left to the model's proposals, which are none here."""
    file = script(number) / "annotations.json"
    text = (script(number) / "script.json").read_text(encoding="utf-8")
    proposals = [Proposal.of(one) for one in check(split(text).scenes).candidates]

    def answer(request: Request) -> str:
        if request.path.endswith("/settle"):
            return json.dumps({"verdicts": list(_confirmed(request.messages[-1].content, proposals))})
        return json.dumps({"facts": [], "findings": []})

    model = ScriptedModel(answer, capabilities=Capabilities(schema=True))
    with Journal() as journal:
        run = Run(RunContext(journal, Prompts(ATLAS.prompts), Cast.of(model)))
        item = Item("script", Story("", (Scene("story", text),)))
        report = await ATLAS.evaluate((item,), run, ATLAS.config("improved", {"gold": str(file)}))
    (story,) = report.details["stories"]
    assert max(prompt_tokens(request) for request in model.asked) <= 6000
    assert len(model.asked) <= 10
    assert story["scoring"]["method"]["assignment"]["tp"] >= least, story["scoring"]
    assert story["counts"].get("ungrounded_verdicts", 0) <= 1  # a sentence of one word quotes too little


def _confirmed(shown: str, proposals: Sequence[Proposal]) -> Iterator[dict[str, Any]]:
    """Every proposal of a prompt confirmed, with its own passages as quotations."""
    lines_ = shown.splitlines()
    scenes = [(at, int(line.split()[1].rstrip(":"))) for at, line in enumerate(lines_) if line.startswith("Scene ")]
    for at, line in enumerate(lines_):
        number, dot, found = line.partition(". ")
        if not (dot and number.isdigit()):
            continue
        x, y = [scene for place, scene in scenes if place > at][:2]
        for one in proposals:
            if found.endswith(f"{one.fact} / {one.event}") and (one.x, one.y) == (x, y) and one.before and one.after:
                said = {"number": int(number), "attribute": one.key, "decision": "error"}
                yield said | {"quote_x": one.before.quote, "quote_y": one.after.quote}
                break


def test_a_screenplay_in_the_papers_form_is_read_with_its_numbers() -> None:
    (item,) = read_items([script(1) / "script.json"])
    scenes = split(item.story.text).scenes
    assert [scene.number for scene in scenes] == list(range(1, len(scenes) + 1))
