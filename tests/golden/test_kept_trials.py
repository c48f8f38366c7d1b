"""The stories of kept trials are told again from the answers that were given: a run gives what was read blind."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.project.settings import Settings
from fabula.story import Brief, Story
from fabula.systems import find
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Request

GONE = {"novella"}  # its system is no longer in fabula, as its trial.toml says: read, and not told again
KEPT = sorted(
    file for file in (ROOT / "benchmarks" / "results").glob("*/answers.jsonl.gz") if file.parent.name not in GONE
)


def runs_in(file: Path) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """The answers and the story of each run, by system, settings and brief."""
    runs: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            runs.setdefault((row["system"], str(row["config"]), row["brief"]), []).append(row)
    return runs


async def told_again(file: Path, system: str, brief: str, rows: list[dict[str, Any]]) -> Story:
    """The story of the same brief and settings by today's code, with the answers of then."""
    method, given = find(system), list[str]()
    answers = {(row["path"], row["number"], row["choices"]): row["text"] for row in rows if row["path"]}

    def answer(request: Request) -> str:
        place = request.path, 1, len(request.choices)
        if place not in answers and request.path.endswith(("/shorten", "/chapter_shorter")):
            return given[-1]  # what has been asked to be shortened only since, and was not then
        given.append(str(answers[place]))
        return given[-1]

    with Journal() as journal:
        cast = Cast.of(ScriptedModel(answer, capabilities=Capabilities(choices=True)))
        prompts = SystemPrompts(method.prompts, common=PROMPTS)
        run = Run(RunContext(journal, prompts, cast, seed=Settings().seed))
        asked = Brief.read(file.parent / "briefs" / f"{brief}.md")
        return await method.write(asked, run, method.config("improved", rows[0]["config"]))


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.parent.name)
async def test_kept_answers_tell_the_story_that_was_read(file: Path) -> None:
    for (system, _, brief), rows in runs_in(file).items():
        kept = next(row["text"] for row in rows if not row["path"])
        story = await told_again(file, system, brief, rows)
        assert story.text == Story.parse(kept).text, f"{system}, {brief}"
