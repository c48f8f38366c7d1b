"""What a strong reader replied to the check's prompts on stories with planted errors, replayed without a model."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import planted
from benchmarks.novels import names, novel

from fabula.app.evaluating import EvaluationTask, dry_run_evaluation
from fabula.app.writing import Options
from fabula.evaluators.atlas.planted import broken
from fabula.measure.items import Item
from fabula.project.settings import Settings
from fabula.story import Scene, Story

DATA = Path(os.environ.get("FABULA_DATA") or Path(__file__).parents[3] / "shared" / "data")
READERS = sorted(one.name for one in planted.REPLIES.iterdir() if one.is_dir())

pytestmark = pytest.mark.skipif(
    not (DATA / "planted").is_dir(), reason="the ground truth is not here; set FABULA_DATA to its folder"
)


@pytest.mark.parametrize("name", READERS)
def test_every_recorded_reply_is_read_and_none_is_asked_for(name: str) -> None:
    found, missed = asyncio.run(planted.outcomes(planted.Trial(name, DATA)))
    assert found
    assert not [one for one in missed if "given to another prompt" not in one]
    for one in found:
        assert not one.details["partial"], one.story


def test_a_strong_reader_finds_what_was_planted_and_nothing_else() -> None:
    found, _ = asyncio.run(planted.outcomes(planted.Trial("strong", DATA)))
    rows = {row.what: row for row in planted.table(found, (), "strong").rows}
    assert rows["planted errors found"].middle >= 0.9
    assert rows["other findings per 10,000 words, clean twins"].middle <= 1
    assert rows["decoys called errors"].middle <= 0.05
    assert rows["calls per 1,000 words"].middle <= 1


@pytest.mark.parametrize("name", names())
def test_the_novels_are_rebuilt_and_their_errors_lie_where_they_should(name: str) -> None:
    told = novel(name, DATA)
    assert len(told["text"].split()) > {"n100": 27_500, "n300": 82_500}[name]
    far = 0
    for error in told["errors"]:
        assert told["text"].count(error["find"]) == 1
        at = told["text"].index(error["find"])
        other = told["text"].index(error["contradicts"])
        far += len(told["text"][min(at, other) : max(at, other)].split()) >= 50 * 275
    assert far >= 0.75 * len(told["errors"])


def test_a_dry_run_expects_about_what_was_replied(tmp_path: Path) -> None:
    shares = []
    for file in sorted((planted.REPLIES / "strong").glob("*.json")):
        data = json.loads((DATA / "planted" / file.name).read_text(encoding="utf-8"))
        task = EvaluationTask(
            planted.EVALUATOR,
            [Item(file.stem, Story("", (Scene("story", broken(data)),)))],
            planted.EVALUATOR.config("improved"),
        )
        settings = Settings.of({"model": f"files:{tmp_path}"}, "a test")
        expected = asyncio.run(dry_run_evaluation(task, settings, Options()))
        recorded = json.loads(file.read_text(encoding="utf-8"))["broken"].values()
        shares.append(sum(call.reply for call in expected.planned) / sum(one["tokens"][1] for one in recorded))
    assert all(1 / 4 < share < 4 for share in shares), shares
    assert 1 / 2 < sum(shares) / len(shares) < 2, shares
