"""Every published number that needs no model, computed again where the ground truth is on this machine."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.app.reproduce.hanna import _story_level
from fabula.app.reproduce.rows import FULL, counts, missing, number
from fabula.app.reproduce.tables import chosen, reproduce, tables
from fabula.craft.matching import match_findings
from fabula.data import atlas, dialogsum, hanna, storysumm, ttcw
from fabula.data.reading import json_lines, wanted
from fabula.data.sets import SETS
from fabula.stats.correlation import COEFFICIENTS
from ground_truth import data_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.stats.correlation import Coefficient


@pytest.mark.parametrize("name", tables())
def test_every_number_is_as_published(name: str) -> None:
    table = tables()[name]
    (outcome,) = reproduce(data_folder(), [table])
    if outcome.absent:
        pytest.skip(f"{name} is not available here: {outcome.absent}.")
    assert outcome.matching > 0
    assert [row for row in outcome.rows if row.match is False] == []


@pytest.fixture(scope="module")
def clones(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ground truth laid out as the public repositories are."""
    data, folder = data_folder(), tmp_path_factory.mktemp("clones")
    release = folder / "creativity_eval/Art_or_Artifice"
    put(release / "annotations/ttcw_annotations.json", lines_of(data / "ttcw/annotations.jsonl"))
    for model in ttcw.models(data / "ttcw"):
        replies = lines_of(data / f"ttcw/verdicts_{model}.jsonl")
        put(release / f"data/annotations_{model}.jsonl", "".join(json.dumps(one) + "\n" for one in replies))
    people, metric = hanna.criteria(data / "hanna"), hanna.metrics(data / "hanna")
    tables = {**people.tables, **metric.tables}
    put_csv(
        folder / "hanna-benchmark-asg/hanna_metric_scores.csv",
        [
            {"Model": system, **{name: json.dumps(table[n].tolist()) for name, table in tables.items()}}
            for n, system in enumerate(people.systems)
        ],
    )
    for level in ("story", "system"):
        for name in ("pearson", "kendall", "spearman"):
            rows = [
                {"Model": one, **{key: value for key, value in cells.items() if key.endswith(f"{level}_{name}")}}
                for one, cells in hanna.correlations(data / "hanna").items()
            ]
            put_csv(folder / f"hanna-benchmark-asg/rankings/{level}_{name}.csv", rows)
    put(folder / "storysumm/storysumm.json", {one["id"]: one for one in lines_of(data / "storysumm/storysumm.jsonl")})
    labels = folder / "storysumm/evaluators/predicted_labels"
    for detector in storysumm.detectors(data / "storysumm"):
        method, _, model = detector.partition("-")
        alone = method in {"unieval", "minicheck"}
        said = storysumm.predictions(data / "storysumm", detector)
        field = "probs" if method == "unieval" else "label"
        file = labels / (f"{model}.json" if alone else f"{model}/{method}.json")
        put(file, {name: {field: value} for name, value in said.items()})
    return folder


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [dict(record.fields) for record in json_lines(wanted(path.parent, path.name))]


def put(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")


def put_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("ttcw-figure-1", 50),
        ("ttcw-figure-2", 50),
        ("ttcw-figure-3", 50),
        ("ttcw-table-1", 12),
        ("ttcw-kappa", 4),
        ("hanna-correlations", 1000),
        ("storysumm", 40),
    ],
)
def test_every_number_is_as_published_in_the_published_layout_too(name: str, least: int, clones: Path) -> None:
    (outcome,) = reproduce(clones, chosen(name))
    assert not outcome.absent
    assert outcome.matching >= least
    assert [row for row in outcome.rows if row.match is False] == []


@pytest.mark.parametrize("threshold", [0.2, 0.3, 0.4])
def test_the_matching_of_detections_does_not_hang_on_the_threshold(threshold: float) -> None:
    folder = data_folder("atlas")
    gold, found, printed = atlas.candidates(folder), atlas.detections(folder), atlas.table(folder, 10) or ()
    compared = 0
    for row in printed:
        known = [c.finding for c in gold if str(c.story) == row.story and c.gold]
        text = [d.finding for d in found if (str(d.story), d.method) == (row.story, row.method) and d.finding]
        if known and text:
            accuracy = match_findings(text, known, threshold).counts
            assert (accuracy.tp, accuracy.fp, accuracy.fn) == (row.tp, row.fp, row.fn)
            compared += 1
    assert compared


def test_vectorised_coefficients_are_those_of_the_statistics() -> None:
    rng = np.random.default_rng(2)
    people, metric = rng.integers(1, 4, (20, 8)).astype(float), rng.integers(1, 4, (20, 8)).astype(float)
    people[3] = 2.0  # constant: undefined, left out
    metric[5] = metric[5] * 1e-290  # too small to be squared
    names: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    for name in names:
        each = [COEFFICIENTS[name](a, b) for a, b in zip(people, metric, strict=True)]
        defined = [value for value in each if value is not None]
        mean = _story_level(people, metric, name)
        assert len(defined) == 19
        assert mean == pytest.approx(abs(sum(defined) / len(defined)), abs=1e-9)


def test_the_sets_are_read_whole() -> None:
    data = data_folder()
    assert len(ttcw.experts(data / "ttcw")) == 48 * 14 * 3
    assert {item.system for item in ttcw.stories(data / "ttcw")} == set(ttcw.RANKED)
    assert {summary.split for summary in storysumm.summaries(data / "storysumm")} == {"val", "test"}
    assert len(dialogsum.dialogues(data / "dialogsum")) >= 400


def test_every_table_names_a_set_and_families_are_found_by_their_first_word() -> None:
    assert all(table.data in SETS for table in tables().values())
    assert [table.name for table in chosen("hanna")] == ["hanna-correlations", "hanna-text"]
    assert len(chosen("")) == len(tables())


@pytest.mark.parametrize(
    ("published", "digits", "value", "match"),
    [
        (0.62, 2, 0.625, True),  # half-way: a program rounds to even, a person up
        (0.63, 2, 0.625, True),
        (0.62, 2, 0.6251, False),
        (39.0, 0, 39.4, True),
        (0.123456789, FULL, 0.123456789 + 5e-9, False),
        (0.123456789, FULL, 0.123456789, True),
        (0.5, 2, None, False),
        (0.5, 2, float("nan"), False),
    ],
)
def test_equal_at_the_published_digits(published: float, digits: int, value: float | None, match: bool) -> None:  # noqa: FBT001 - a column of the table
    row = number("x", published, digits, value)
    assert row.match is match
    assert (row.recomputed == row.published) is match


def test_rows_of_counts_and_rows_without_data() -> None:
    assert counts("x", "1 / 0 / 2", "1 / 0 / 2").match
    assert counts("x", "1 / 0 / 2", "1 / 1 / 2").match is False
    assert missing("x", "0.5", "not there").as_data() == {
        "name": "x",
        "published": "0.5",
        "match": None,
        "recomputed": None,
        "why": "not there",
    }
