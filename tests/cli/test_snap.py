"""`fabula lab snap`: weights learned from tables and projects, edited scores, and input that cannot be used."""

from __future__ import annotations

import json
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.engine.journal import Journal
from fabula.project.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

HEAD = "coherence,connectivity,personality"
PLAY = """
PLANS = {
    "1": "#1. Tobias brings Mara a letter",
    "2": "#1. Mara lights lamp 2\\n#2. The boat comes home",
    "3": "#1. Mara lights lamp 3\\n#2. The boat comes home",
}
SCORES = {"a letter": "25", "lamp 2": "43", "lamp 3": "34"}

def planner(request):
    return PLANS[request.path.split("/candidate/")[1][0]]

def judge(request):
    plan = request.messages[-1].content.split("#1. ")[1]
    (both,) = [scores for words, scores in SCORES.items() if words in plan.splitlines()[0]]
    return both["personality" in request.path]
"""
REPLIES = {
    "labeller": '{"characters": [{"name": "Mara"}, {"name": "Tobias"}]}',
    "npc": "[Mara: (counts the boats) Ten are home.] EOD",
    "player": "[Tobias: (nods) I hear you, Mara.]",
    "summariser": "Tobias brought a letter.",
}
STORY = """\
Mara kept the lamp. Tobias brought Mara a letter. Mara read it twice. The lamp was to go dark.

On Saturday the wind turned. Tobias asked Mara for the light. Mara lit the lamp. The boat came home.
"""
OPTIONS = (
    *("--system", "snap", "--preset", "faithful", "--model", "scripted:play.toml", "--quiet"),
    *("--play", "planner=play.py:planner", "--play", "judge=play.py:judge"),
    *(
        "--set",
        "sentences=4",
        "--set",
        "samples=1",
        "--set",
        "max_turns=1",
        "--set",
        "player=Tobias",
        "--set",
        "npc=Mara",
    ),
)


@pytest.fixture
def lamp(cli: Cli) -> Path:
    """A project `lamp` of two cells, each with three scored plans."""
    (cli.folder / "play.py").write_text(PLAY, encoding="utf-8")
    shown = "".join(f"{role} = {json.dumps(text)}\n" for role, text in REPLIES.items())
    (cli.folder / "play.toml").write_text(f"[replies]\n{shown}", encoding="utf-8")
    (cli.folder / "lamp.md").write_text(STORY, encoding="utf-8")
    ran = cli("write", "lamp.md", "--out", "lamp", *OPTIONS)
    assert ran.code == 0, ran.err
    return cli.folder / "lamp"


def table(path: Path, rows: int = 30, cells: int = 0, seed: int = 1) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A file of drawn scores, and the scores."""
    scores = np.random.default_rng(seed).uniform(1, 5, (rows, 3)).round(3)
    lines = [",".join(map(str, own)) + (f",{n % cells}" if cells else "") for n, own in enumerate(scores.tolist())]
    path.write_text("\n".join([HEAD + (",cell" if cells else ""), *lines]) + "\n", encoding="utf-8")
    return scores


def test_weights_of_a_table_are_told_with_what_they_rest_on(cli: Cli) -> None:
    scores = table(cli.folder / "own.csv")
    ran = cli("lab", "snap", "own.csv")
    assert ran.code == 0, ran.err
    assert "Weights of 30 plans; scores scaled to 0..1 over all plans (the paper does not say which):" in ran.out
    assert (
        "The weights are scaled to add up to 4.0151, like the published weights. Only their ratios affect the choice."
    ) in ran.out
    assert "by 30 plans; jackknife over 30 units" in ran.out
    assert "too narrow" not in ran.out
    assert "To write them to the project at -C, use `--write`." in ran.err
    data = cli("lab", "snap", "own.csv", "--json").json
    normal = (scores - scores.min(0)) / (scores.max(0) - scores.min(0))
    _, values, right = np.linalg.svd(normal)
    expected = 4.0151 * np.abs(right[0]) / np.abs(right[0]).sum()
    assert [weight["value"] for weight in data["weights"].values()] == pytest.approx(expected.tolist())
    assert [weight["published"] for weight in data["weights"].values()] == [1.1618, 1.4210, 1.4323]
    assert data["explained"]["value"] == pytest.approx(values[0] ** 2 / (values**2).sum())
    assert (data["plans"], data["cells"], data["over"], data["scale"]) == (30, None, "all", 4.0151)
    lines = ran.out.splitlines()
    assert lines[-2:] == ["[config]", f"weights = {[round(float(value), 4) for value in expected]}"]
    assert data["setting"] == lines[-1]
    name, weight, low, _, high, *_ = lines[3].split()
    assert (name, float(weight)) == ("coherence", round(float(expected[0]), 4))
    assert float(low) < float(weight) < float(high)


def test_a_table_with_cells_is_learned_from_cell_by_cell(cli: Cli) -> None:
    table(cli.folder / "own.csv", rows=31, cells=10)
    rows = [line.split(",") for line in (cli.folder / "own.csv").read_text().splitlines()]
    objects = [dict(zip(rows[0], [*map(float, row[:3]), row[3]], strict=True)) for row in rows[1:]]
    (cli.folder / "own.jsonl").write_text("\n".join(map(json.dumps, objects)), encoding="utf-8")
    data = cli("lab", "snap", "own.csv", "--json").json
    assert (data["over"], data["cells"], data["plans"]) == ("cells", 10, 31)
    assert cli("lab", "snap", "own.jsonl", "--json").json["weights"] == data["weights"]
    both = cli("lab", "snap", "own.csv", "own.csv", "own.jsonl", "--json").json
    assert (both["cells"], both["plans"]) == (20, 62), "a file that is named twice counts once; files' cells are apart"
    ran = cli("lab", "snap", "own.csv")
    assert "Weights of 31 plans in 10 cells; scores scaled to 0..1 in each cell, as in the filter:" in ran.out
    assert "This is a small number of plans, so the intervals are wide or missing." in ran.out
    assert cli("lab", "snap", "own.csv", "--over", "all", "--json").json["over"] == "all"


def test_a_projects_own_plans_are_learned_from_and_the_weights_written(cli: Cli, lamp: Path) -> None:
    data = cli("lab", "snap", "lamp", "--json").json
    assert (data["plans"], data["cells"], data["written"]) == (12, 2, None), "each with the plans of two agents"
    before = Settings.read(lamp / "fabula.toml")
    ran = cli("lab", "snap", "-C", "lamp", "--write")
    assert ran.code == 0, ran.err
    weights = [round(weight["value"], 4) for weight in data["weights"].values()]
    assert f"weights = {weights} is written to lamp/fabula.toml." in ran.out
    after = Settings.read(lamp / "fabula.toml")
    assert after.config == dict(before.config) | {"weights": weights}
    assert after.roles == before.roles
    ran = cli("update", "lamp", "--yes")
    assert ran.code == 0, ran.err
    sums = [line.split(",")[5] for line in (lamp / "plan/cell-1-plan-scores.csv").read_text().splitlines()[1:]]
    assert max(map(float, sums)) < 4.0151


def test_an_edited_score_counts_for_the_story_and_for_what_is_learned(cli: Cli, lamp: Path) -> None:
    before = cli("lab", "snap", "lamp", "--json").json["weights"]
    file = lamp / "plan/cell-1-plan-scores.csv"
    first = (lamp / "plan/cell-1-plan.md").read_text()
    lines = [line.replace(",yes,", ",,") for line in file.read_text().splitlines()]
    lines[3] = "cell-1,3,1,5,5,,yes," + lines[3].split(",", 7)[7]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert cli("lab", "snap", "lamp", "--json").json["weights"] != before
    ran = cli("update", "lamp", "--yes")
    assert ran.code == 0, ran.err
    assert "lamp 3" in (lamp / "plan/cell-1-plan.md").read_text()
    assert "lamp 3" not in first
    assert file.read_text().splitlines() == lines


def test_chat_sessions_count_and_files_without_a_journal(cli: Cli, lamp: Path) -> None:
    (lamp / "plan/narrative.md").write_text(STORY, encoding="utf-8")
    ran = cli("chat", "lamp", "--as", "Tobias", "--with", "Mara", "--quiet", stdin="Hm.\n")
    assert ran.code == 0, ran.err
    with Journal(lamp / ".fabula" / "journal.db") as journal:
        assert any(path.startswith("chat/") and path.endswith("/plan/scores") for path in journal.artefacts.paths())
    assert not list((lamp / "plan").glob("chat*"))
    assert cli("lab", "snap", "lamp", "--json").json["cells"] == 3
    rmtree(lamp / ".fabula")
    assert cli("lab", "snap", "lamp", "--json").json["cells"] == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (HEAD, "own.csv has no plans. Write one line for each scored plan."),
        (f"{HEAD}\n1,2,3", "Weights are learned from at least two plans, but there is 1."),
        (
            f"{HEAD}\n1,2,3\n2,2,4",
            "connectivity is the same in all plans, so it distinguishes none and gets no weight.",
        ),
        (f"{HEAD}\n1,-2,3", "own.csv, line 2: connectivity is '-2'. Give a number of 0 or more"),
        (f"{HEAD},coherance\n1,2,3,4", "Unknown column in own.csv: 'coherance'. Did you mean 'coherence'?"),
        (f"{HEAD}\n1;2;3", "own.csv, line 2 has 1 cells under 3 columns. Correct the line"),
        ("", "own.csv is empty. Give a table with a line coherence,connectivity,personality"),
    ],
)
def test_a_table_that_cannot_be_used_is_a_named_error(cli: Cli, text: str, expected: str) -> None:
    (cli.folder / "own.csv").write_text(text, encoding="utf-8")
    ran = cli("lab", "snap", "own.csv")
    assert ran.code == 2
    assert expected in ran.err


def test_places_that_cannot_be_used_are_named_errors(cli: Cli, project: Path) -> None:
    table(cli.folder / "own.csv")
    for arguments, code, found in (
        (
            ("lamp",),
            2,
            (
                "lamp has no scored plans. The plans of a cell are scored only if the planner proposed at "
                "least two different plans. Write"
            ),
        ),
        (("own.txt",), 2, "own.txt is not a table of scores. Specify a .csv or .jsonl file, or a project folder."),
        (("gone.csv",), 2, "There is no file gone.csv. Correct the name, or give scores (a CSV file)."),
        (("empty",), 1, "empty is not a fabula project: it has no brief.md."),
        (("own.csv", "--over", "cells"), 2, "own.csv, line 2 does not name a cell. Add a column `cell` to all lines"),
        (("own.csv", "--write", "-C", "lamp"), 2, "lamp uses agents-room, which does not have these weights."),
        (("own.csv", "--write"), 2, "fabula: . uses agents-room"),
    ):
        ran = cli("lab", "snap", *arguments)
        assert (ran.code, found in ran.err) == (code, True), ran.err
