"""Each file of `examples/experiments` runs whole with a scripted model, and has a number beside every printed one."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from capable import Capable
from fabula.app.experiment.dry import forecast
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.published import beside_papers
from fabula.app.experiment.reporting import as_page
from fabula.app.experiment.tables import complete, failures
from fabula.app.experiment.working import How, run_experiment
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.app.experiment.grid import Experiment
    from fabula.models.base import Json, Request

FILES = sorted((ROOT / "examples" / "experiments").glob("*.toml"))
each_file = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
PROMPT = "Write a story about Mara, who keeps a lighthouse, and the boy Tobias. It should have about 150 words."
STORY = 'The letter lay on the table. Mara read it twice.\n\nTobias asked what it said. "The price of oil," she said.'
PLOT = "Mara keeps a lamp. Tobias brings her a letter. She hides it. "
VERDICT = "Both do it well.\n\nPlot: A\nCreativity: B\nDevelopment: A\nLanguage Use: A\nOverall: A"


class Anybody(Capable):
    """A model that plays every part of every table."""

    def __init__(self) -> None:
        super().__init__(
            [lambda n: f"On day {n} Mara climbed the stairs. Tobias counted {n} steps."], ["Mara", "Tobias"]
        )

    def answer(self, request: Request) -> str:
        asked = request.messages[-1].content
        if request.role in {"npc", "player"}:
            return "The lamp is out. EOD"
        if request.role == "judge" and not request.choices and request.schema is None:
            if "[[A=B]]" in asked:
                return "Alike. [[A=B]]"
            if "Overall" in asked:
                return VERDICT
            return "4" if request.sampling.max_tokens == 1 else "Yes. It does."
        return super().answer(request)

    def filled(self, schema: Json, value: Any, field: str = "") -> Any:  # noqa: ANN401 - JSON data
        return value


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Small data sets in the published layout."""
    for split, numbers in (("train", (0, 1)), ("validation", (2,)), ("test", (3, 4))):
        lines = [{"example_id": n, "inputs": f"{PROMPT} Day {n}.", "targets": f"{STORY} Day {n}."} for n in numbers]
        put(tmp_path / f"data/tell-me-a-story/tell-me-a-story-{split}.jsonl", "".join(map(line, lines)))
    put(tmp_path / "data/wikiplots/titles", "Short\nLong\nShort too\nLong too\n")
    put(tmp_path / "data/wikiplots/plots", "".join(f"{PLOT * times}\n<EOS>\n" for times in (18, 40, 19, 41)))
    return tmp_path / "data"


def line(data: object) -> str:
    return json.dumps(data) + "\n"


def put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The examples with short briefs, and a model that answers anything in the place of a script."""
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    for brief in (folder / "briefs").glob("*.md"):
        brief.write_text(re.sub(r"[\d,]+ words", "150 words", brief.read_text(encoding="utf-8")), encoding="utf-8")
    for file in (folder / "experiments").glob("*.toml"):
        text = file.read_text(encoding="utf-8").replace("#: ", "")  # with what needs an extra
        letters = 'evaluator = "bertscore"\nconfig = { embedder = "letters" }'
        text = text.replace('evaluator = "bertscore"', letters, 1).replace("baseline = false }", "scene_words = 20 }")
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(ScriptedModel, "read", classmethod(lambda _cls, _path: Anybody()))
    put(tmp_path / "anybody.toml", "")
    return folder


def small(examples: Path, file: Path, data: Path) -> Experiment:
    environ = {"FABULA_DATA": str(data)}
    out = examples.parent / "out"
    here = examples / "experiments" / file.name
    return read_experiment(here, environ, out, f"scripted:{examples.parent / 'anybody.toml'}", 2)


@each_file
async def test_a_table_runs_whole_and_every_printed_number_has_ours_beside_it(
    file: Path, examples: Path, data: Path
) -> None:
    found = small(examples, file, data)
    expected = await forecast(found, How())
    assert sum(row.calls for row in (*expected.contenders, *expected.measures)) > 0
    results = await run_experiment(found, How(now=lambda: "now"))
    assert not [*failures(results)]
    assert complete(results), results.stopped
    printed = beside_papers(results)
    assert not [(row.what, row.of, row.here) for row in printed if not isinstance(row.here, Estimate)]
    assert ("Compared with published values" in as_page(results)) == bool(found.spec.published)
