"""The tables on small data made here: what is absent is a row that says so, and what differs is seen."""

from __future__ import annotations

import csv
import json
import shutil
from typing import TYPE_CHECKING, Any

from fabula.app.reproduce import tables as registry
from fabula.app.reproduce.tables import chosen, reproduce
from fabula.base.extras import installing
from fabula.data.hanna import measured_stories

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pytest

    from fabula.app.reproduce.rows import PublishedNumber, TableOutcome


def put(path: Path, data: object) -> None:
    """`data` as the file that its suffix says: one JSON document, or a list as one line each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = data if path.suffix == ".jsonl" and isinstance(data, list) else [data]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def of(folder: Path, name: str) -> TableOutcome:
    (outcome,) = reproduce(folder, chosen(name))
    return outcome


def by_name(rows: Sequence[PublishedNumber]) -> dict[str, tuple[str, str, bool | None]]:
    return {row.name: (row.published, row.recomputed, row.match) for row in rows}


def ttcw(folder: Path) -> None:
    """One plot, two tests, three experts: GPT3.5 passes none, GPT4 one, Claude both; the model has it the other way."""
    verdicts = {"GPT3.5": ("No", "No"), "GPT4": ("Yes", "No"), "Claude": ("Yes", "Yes")}
    annotations = [
        {
            "story_idx": 0,
            "story_id": f"0_{system}",
            "expert_idx": expert,
            "ttcw_idx": test,
            "binary_verdict": verdict,
            "explanation": "",
        }
        for system, given in verdicts.items()
        for test, verdict in enumerate(given, 1)
        for expert in range(3)
    ]
    put(folder / "ttcw/annotations.jsonl", annotations)
    replies = {"GPT3.5": ("Yes.", "yes"), "GPT4": ("Yes", "Not yes"), "Claude": ("No", "No")}
    lines = [
        {"id": f"story_0_{system}_test{test}", "response": reply}
        for system, given in replies.items()
        for test, reply in enumerate(given, 1)
    ]
    put(folder / "ttcw/verdicts_gpt4.jsonl", lines)
    cells = {"gpt4": [-1.0, -1.0], "cgpt": [0.5, 0.5]}
    published = {
        "figure1_spearman": cells,
        "figure2_kendall": cells,
        "figure3_accuracy": cells,
        "table1": {"baseline": {"gpt4": [-1.0, -1.0, 0.0]}, "ours": {"claude35_ours": [0.5, 0.44, 0.69]}},
    }
    put(folder / "ttcw/published_x.json", published)
    people = {
        "pass_rate_individual": {"GPT4": 0.5},
        "pass_rate_majority": {"GPT4": 0.5},
        "fleiss_kappa_per_test": {"1": 1.0},
    }
    put(folder / "ttcw/expected_human.json", people)


def test_ttcw_rows_match_differ_or_say_what_is_absent(tmp_path: Path) -> None:
    ttcw(tmp_path)
    spearman = of(tmp_path, "ttcw-figure-1")
    rows = by_name(spearman.rows)
    assert rows["gpt4, story 0"] == rows["gpt4, average"] == ("-1.00", "-1.00", True)
    assert rows["cgpt, story 0"] == ("0.50", "", None)
    assert (spearman.matching, spearman.differing, spearman.unavailable) == (2, 0, 2)
    why = "neither verdicts_cgpt.jsonl nor data/annotations_cgpt.jsonl of the release was found"
    assert {row.why for row in spearman.rows} == {"", why}
    assert by_name(of(tmp_path, "ttcw-figure-3").rows)["gpt4, story 0"] == ("-1.00", "0.00", False)
    table = of(tmp_path, "ttcw-table-1").rows
    assert by_name(table)["gpt4, accuracy"] == ("0.00", "0.00", True)
    (left_out,) = {row.why for row in table if row.name.startswith("claude35_ours")}
    assert left_out == "its replies were not released"


def test_experts_who_agree_have_a_kappa_of_1(tmp_path: Path) -> None:
    ttcw(tmp_path)
    assert {row.recomputed for row in of(tmp_path, "ttcw-kappa").rows} == {"1.000"}
    assert of(tmp_path, "ttcw-people").matching == 3


def test_a_criterion_that_the_folder_leaves_out_is_taken_from_the_paper(tmp_path: Path) -> None:
    put(
        tmp_path / "bradley_terry/seed1.json",
        {"Plot": {"wins": [[0, 1, 1]] + [[1, 0, 1]] * 2, "log_centred": [0, 0, 0]}},
    )
    rows = of(tmp_path, "bradley-terry").rows
    assert by_name(rows)["Development, Dramatron"] == ("-0.6542", "-0.6542", True)
    put(tmp_path / "bradley_terry/seed1.json", {})
    outcome = of(tmp_path, "bradley-terry")
    assert by_name(outcome.rows)["Plot, Agents' Room"] == ("-0.2775", "-0.2775", True)
    assert outcome.table.against == "computed"  # the paper prints matrices, and no strengths
    put(
        tmp_path / "bradley_terry/seed1.json",
        {"Development": {"wins": [[0, 2, 2], [0, 0, 2], [0, 0, 0]], "log_centred": [1, 0, -1]}},
    )
    found = {row.name: row.recomputed for row in of(tmp_path, "bradley-terry").rows}
    assert found["Development, Dramatron"] == "undefined"  # who wins always has no finite strength
    assert found["Plot, Dramatron"] == "-0.6307"
    assert len(found) == 15


def test_atlas_counts_come_from_detections(tmp_path: Path) -> None:
    fact = {"scene_x": 1, "scene_y": 3, "fact": "the mug is blue", "event": "the mug is red", "justification": ""}
    put(tmp_path / "atlas/gold.jsonl", [{"story": 1, "id": 1, "verdict": "correct", **fact}])
    found = "In scene 1, a blue mug was established, yet in scene 3, the mug is red happens"
    put(tmp_path / "atlas/predictions.jsonl", [{"method": "LLM", "story": 1, "id": 1, "hallucination": found}])
    shares = {"precision": 1.0, "recall": 1.0, "f1": 1.0}
    whole = {"story": 1, "method": "LLM", "tp": 1, "fp": 0, "fn": 0, **shares}
    put(tmp_path / "atlas/table10.json", [whole, whole | {"method": "ATLAS"}, whole | {"story": "Agg"}])
    assert by_name(of(tmp_path, "atlas-matching").rows) == {
        "story 1, LLM, TP / FP / FN": ("1 / 0 / 0", "1 / 0 / 0", True),
        "story 1, ATLAS, TP / FP / FN": ("1 / 0 / 0", "", None),
    }
    assert of(tmp_path, "atlas-table-10").differing == 0
    assert of(tmp_path, "atlas-table-11").matching == 26  # as printed in the paper: it needs no data


def hanna(folder: Path) -> None:
    systems = ["Human", "A", "B", "C"]
    people = [[9, 9], [1, 1], [2, 2], [3, 3]]
    put(folder / "hanna/human_ratings.json", {"systems": systems, "criteria_mean": {"X": people}})
    metric = [[0, 0], [3, 5], [2, 5], [1, 5]]  # the second prompt ties: undefined, left out
    put(folder / "hanna/metric_scores.json", {"systems": systems, "scores": {"M": metric, "Flat": [[1, 1]] * 4}})
    wanted = {f"X_{level}_{name}": 1.0 for level in ("story", "system") for name in ("pearson", "spearman", "kendall")}
    put(
        folder / "hanna/expected_correlations.json",
        {"M": wanted, "Flat": {"X_story_pearson": 0.1}, "N": {"X_story_kendall": 1.0}},
    )


def test_hanna_leaves_out_people_and_what_is_undefined(tmp_path: Path) -> None:
    hanna(tmp_path)
    outcome = of(tmp_path, "hanna-correlations")
    assert (outcome.matching, outcome.differing, outcome.unavailable) == (6, 1, 1)
    assert by_name(outcome.rows)["Flat, X, story level, pearson"] == ("0.100000000", "undefined", False)
    assert outcome.rows[-1].why == "there are no scores of N for X_story_kendall"


def test_hanna_text_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"Text length": 5, "Repetition-1": 0.25, "Novelty-2": 1.0, "Unknown": 1}
    put(tmp_path / "hanna/human_stories.jsonl", [{"i": 1, "prompt": "a", "story": "a b a c", "expected": expected}])
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    assert of(tmp_path, "hanna-text").absent == f"needs spacy: {installing('spacy')}"
    monkeypatch.setattr(registry, "find_spec", lambda name: name)
    monkeypatch.setattr(
        "fabula.evaluators.surface.hanna.tokeniser", lambda name: lambda text: text.replace("\n", " \n").split(" ")
    )
    assert [row.match for row in of(tmp_path, "hanna-text").rows] == [True, True, True, False]
    put(tmp_path / "hanna/human_stories.jsonl", [{"i": 1, "prompt": "a", "story": "", "expected": {"Novelty-3": 1}}])
    assert of(tmp_path, "hanna-text").rows[0].recomputed == "undefined"


def summary(name: str, label: int, split: str, difficulty: str = "") -> dict[str, Any]:
    return {
        "id": name,
        "label": label,
        "difficulty": difficulty,
        "split": split,
        "story": "",
        "summary": [],
        "errors": [],
        "model": "m",
    }


def test_storysumm_tunes_on_one_split_and_decides_above(tmp_path: Path) -> None:
    items = [
        summary("a", 1, "val"),
        summary("b", 0, "val", "easy"),
        summary("c", 1, "test"),
        summary("d", 0, "test", "hard"),
    ]
    put(tmp_path / "storysumm/storysumm.jsonl", items)
    right = {"cohen_kappa": 1, "pct_faithful": 50, "precision": 1, "recall": 1, "balanced_accuracy": 100}
    sides = right | {"pct_easy": 100, "pct_hard": 100}
    tuned = {"threshold": 74 / 149 + 1 / 149, "val": sides, "test": sides}
    put(tmp_path / "storysumm/expected.json", {"plain": sides, "tuned": tuned, "gone": sides})
    put(tmp_path / "storysumm/pred_plain.json", {"a": 1, "b": 0, "c": 1, "d": 0})
    put(tmp_path / "storysumm/pred_tuned.json", {"a": 0.9, "b": 0.5, "c": 0.8, "d": 0.1})
    outcome = of(tmp_path, "storysumm")
    rows = by_name(outcome.rows)
    assert rows["plain, balanced_accuracy"] == ("100.0", "100.0", True)
    assert rows["tuned, threshold"][2]  # the first step above 0.5, not the last that does as well
    assert rows["tuned, val, pct_hard"] == ("100.0", "undefined", False)
    assert rows["gone"] == ("", "", None)
    assert outcome.differing == 2


def test_dialogsum_scores_items_and_names_unknown_measures(tmp_path: Path) -> None:
    item = {"fname": "t", "summaries": ["the cat sat", "x"], "bart_output": "the cats sitting"}
    rouge = {"rouge1": 2 / 3, "rouge2": 0.5, "rougeL": 2 / 3, "rouge9": 1.0}
    put(tmp_path / "dialogsum/rouge_items.jsonl", [item | {"rouge_vs_summary1": rouge}])
    rows = by_name(of(tmp_path, "dialogsum").rows)
    assert [match for _, _, match in rows.values()] == [True, True, True, None]


# as it is published --------------------------------------------------------------------------------------------------


def put_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_ttcw_is_read_from_a_clone_of_its_release(tmp_path: Path) -> None:
    ttcw(tmp_path)
    clone = tmp_path / "clones" / "creativity_eval" / "Art_or_Artifice"
    prepared = [json.loads(line) for line in (tmp_path / "ttcw/annotations.jsonl").read_text().splitlines()]
    put(clone / "annotations/ttcw_annotations.json", prepared)
    (clone / "data").mkdir()
    shutil.copy(tmp_path / "ttcw/verdicts_gpt4.jsonl", clone / "data/annotations_gpt4.jsonl")
    shutil.copy(tmp_path / "ttcw/verdicts_gpt4.jsonl", clone / "data/annotations_claudev2.jsonl")
    outcome = of(tmp_path / "clones", "ttcw-figure-1")
    known = {row.name: row.recomputed for row in outcome.rows if row.match is not None}
    assert {name.partition(",")[0] for name in known} == {"gpt4", "claudev2"}
    assert known["gpt4, story 0"] == "-1.00"
    assert {row.why for row in outcome.rows if row.name.startswith("qwen2")} == {"its replies were not released"}
    assert of(tmp_path / "clones", "ttcw-kappa").rows
    assert "expected_human.json, which another program computed" in of(tmp_path / "clones", "ttcw-people").absent


def test_hanna_is_read_from_its_release(tmp_path: Path) -> None:
    clone = tmp_path / "hanna-benchmark-asg"
    scores = {
        "Human": ([9, 9], [0, 0], [5, 5]),
        "A": ([1, 1], [3, 5], [1, 1]),
        "B": ([2, 2], [2, 5], [1, 1]),
        "C": ([3, 3], [1, 5], [1, 1]),
    }
    text = {f"{name} ¤§": "[5, 4]" for name in ("Text length", "Repetition-1", "Repetition-2", "Repetition-3")}
    text |= {f"Novelty-{n} ¤§": "[1.0, 0.5]" for n in (1, 2, 3)}
    rows: list[dict[str, object]] = [
        {"Model": name, "Relevance": people, "M": metric, "Lost": "[nan, 1]", **text}
        for name, (people, metric, _) in scores.items()
    ]
    put_csv(clone / "hanna_metric_scores.csv", rows)
    for level in ("story", "system"):
        for name in ("pearson", "kendall", "spearman"):
            row = {"Model": "M", f"Relevance_{level}_{name}": 1.0}
            put_csv(clone / f"rankings/{level}_{name}.csv", [row, {**row, "Model": "Lost"}])
    outcome = of(tmp_path, "hanna-correlations")
    assert (outcome.matching, outcome.differing, outcome.unavailable) == (6, 0, 6)
    stories = [
        {"Story ID": number, "Prompt": "a", "Story": "a b a c", "Model": model, "Relevance": rating}
        for number, model in ((0, "Human"), (1, "Human"), (2, "A"))
        for rating in (1, 2, 3)
    ]
    put_csv(clone / "hanna_stories_annotations.csv", stories)
    read = measured_stories(clone)
    assert [(one.number, one.measures["Novelty-2"]) for one in read] == [(0, 1.0), (1, 0.5)]
    (clone / "hanna_metric_scores.csv").write_text("Model,Relevance\nHuman,[1\n", encoding="utf-8")
    assert "line 2: 'Relevance' is not a list of numbers" in of(tmp_path, "hanna-correlations").absent


def test_storysumm_is_read_from_its_release(tmp_path: Path) -> None:
    items = [summary("a", 1, "val"), summary("b", 0, "val", "easy"), summary("c", 0, "test", "hard")]
    whole = {one["id"]: {name: value for name, value in one.items() if name != "id"} for one in items}
    put(tmp_path / "storysumm/storysumm.json", whole)
    labels = tmp_path / "storysumm/evaluators/predicted_labels"
    put(labels / "mixtral/cot.json", {"a": {"label": 1, "probs": "It is."}, "b": {"label": 0}, "c": {"label": 0}})
    put(labels / "unieval.json", {"a": {"probs": 0.9}, "b": {"probs": 0.1}, "c": {"probs": 0.2}})
    rows = by_name(of(tmp_path, "storysumm").rows)
    assert rows["cot-mixtral, precision"] == ("0.39", "1.00", False)  # the paper's number, and that of these three
    assert rows["unieval, val, recall"][1] == "1.00"
    assert rows["fables-gpt-4-turbo-preview"][2] is None


def test_tables_that_need_no_data_are_computed_from_what_is_printed(tmp_path: Path) -> None:
    for name in ("bradley-terry", "snap", "magnet", "atlas-table-10", "atlas-table-11"):
        for outcome in reproduce(tmp_path, chosen(name)):
            assert not outcome.absent
            assert outcome.matching == len(outcome.rows) > 0, outcome.table.name
