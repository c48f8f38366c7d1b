"""Each loader on a few lines of its form, and on lines that are wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UsageError
from fabula.craft.matching import ErrorFinding
from fabula.data import atlas, dialogsum, hanna, storysumm, ttcw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def put(path: Path, rows: Sequence[object]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def annotation(story: str, verdict: str, expert: int = 1, test: int = 1) -> dict[str, Any]:
    number = int(story[0])
    return {
        "story_idx": number,
        "story_id": story,
        "expert_idx": expert,
        "ttcw_idx": test,
        "binary_verdict": verdict,
        "explanation": "",
    }


def test_ttcw_counts_majorities_and_replies_that_begin_with_yes(tmp_path: Path) -> None:
    put(
        tmp_path / "annotations.jsonl",
        [
            annotation("0_GPT4", "Yes", 1),
            annotation("0_GPT4", "No", 2),
            annotation("0_GPT4", "Yes", 3),
            annotation("0_Claude", "No", 1),
        ],
    )
    assert dict(ttcw.majority_scores(ttcw.experts(tmp_path))) == {(0, "GPT4"): 1, (0, "Claude"): 0}
    put(
        tmp_path / "verdicts_m.jsonl",
        [
            {"id": "story_0_GPT3.5_test1", "response": "Yes, it does."},
            {"id": "story_0_GPT3.5_test2", "response": "I would say yes."},
            {"id": "story_0_GPT3.5_test3", "response": "yes"},
        ],
    )
    assert ttcw.models(tmp_path) == ("m",)
    assert dict(ttcw.model_scores(ttcw.verdicts(tmp_path, "m"))) == {(0, "GPT3.5"): 2}


def test_ttcw_stories_that_are_only_linked_are_left_out(tmp_path: Path) -> None:
    story = {"story_idx": 0, "story_id": "0_Claude", "plot": "A plot.", "content": "Once.\n\nTwice."}
    linked = story | {"story_id": "0_NewYorker", "content": "https://www.newyorker.com/x"}
    put(tmp_path / "stories.jsonl", [story, linked])
    (item,) = ttcw.stories(tmp_path)
    assert (item.id, item.system, item.prompt, item.brief and item.brief.text) == (
        "0_Claude",
        "Claude",
        "ttcw-0",
        "A plot.",
    )


@pytest.mark.parametrize(
    ("name", "rows", "load", "message"),
    [
        ("annotations.jsonl", [annotation("0_A", "Maybe")], ttcw.experts, "line 1: the verdict is 'Maybe'"),
        (
            "annotations.jsonl",
            [annotation("0_A", "No"), annotation("0_A", "No")],
            ttcw.experts,
            "line 2: '0_A/1/1' is already",
        ),
        ("verdicts_m.jsonl", [{"id": "x", "response": ""}], lambda f: ttcw.verdicts(f, "m"), "the id 'x' is not"),
        (
            "gold.jsonl",
            [{"story": 1, "justification": "", "scene_x": "1"}],
            atlas.candidates,
            "'scene_x' is not a whole",
        ),
        (
            "predictions.jsonl",
            [{"hallucination": "no form"}],
            atlas.detections,
            "line 1: 'no form' is not 'In scene X",
        ),
        (
            "rouge_items.jsonl",
            [{"fname": "a", "summaries": [], "rouge_vs_summary1": {}}],
            dialogsum.scored_summaries,
            "no reference",
        ),
        ("dialogues_dev.jsonl", [{"fname": "a"}], dialogsum.dialogues, "there is no 'dialogue'"),
        (
            "storysumm.jsonl",
            [{"id": "a", "label": 2, "split": "val"}],
            storysumm.summaries,
            "the split is not val or test, or the label not 0 or 1",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, name: str, rows: Sequence[object], load: Callable[[Path], object], message: str
) -> None:
    put(tmp_path / name, rows)
    with pytest.raises(UsageError, match=r", line \d") as caught:
        load(tmp_path)
    assert message in str(caught.value)


@pytest.mark.parametrize("load", [ttcw.experts, ttcw.stories, hanna.metrics, storysumm.summaries, atlas.detections])
def test_a_file_that_is_absent_is_named(tmp_path: Path, load: Callable[[Path], object]) -> None:
    with pytest.raises(UsageError, match=r"(is not there|There is no)"):
        load(tmp_path)


def test_hanna_tables_fit_their_systems(tmp_path: Path) -> None:
    path = tmp_path / "human_ratings.json"
    path.write_text(json.dumps({"systems": ["Human", "A"], "criteria_mean": {"X": [[1, 2, 3], [4, 5, 6]]}}))
    people = hanna.criteria(tmp_path).without("Human")
    assert people.systems == ("A",)
    assert people.tables["X"].tolist() == [[4, 5, 6]]
    path.write_text(json.dumps({"systems": ["Human"], "criteria_mean": {"X": [[1], [2]]}}))
    with pytest.raises(UsageError, match="'X' is not one row for each of 1 systems"):
        hanna.criteria(tmp_path)


def test_an_atlas_label_that_was_corrected_is_gold_with_the_right_scene(tmp_path: Path) -> None:
    wrong = 'It is scene 1. The corrected hallucination should say: "In scene 1..."'
    base = {"story": 1, "scene_x": 3, "scene_y": 9, "fact": "black", "event": "golden"}
    put(
        tmp_path / "gold.jsonl",
        [
            base | {"id": 1, "verdict": "correct", "justification": ""},
            base | {"id": 2, "verdict": "incorrect", "justification": wrong},
            base | {"id": 3, "verdict": "incorrect", "justification": "It is explained."},
        ],
    )
    found = atlas.candidates(tmp_path)
    assert [(c.finding.x, c.gold) for c in found] == [(3, True), (1, True), (3, False)]
    text = "In scene 8, a, yet in scene 3, b happens"
    put(tmp_path / "predictions.jsonl", [{"method": "LLM", "story": 1, "id": 1, "hallucination": text}])
    assert atlas.detections(tmp_path)[0].finding is None
    assert ErrorFinding(8, 3, "a", "b") != atlas.detections(tmp_path)[0].finding
    assert atlas.table(tmp_path, 10) is None


def test_dialogues_are_read(tmp_path: Path) -> None:
    put(tmp_path / "dialogues_dev.jsonl", [{"fname": "d", "dialogue": "#Person1#: Hi", "summary": "s", "topic": "t"}])
    assert dialogsum.dialogues(tmp_path) == (dialogsum.Dialogue("d", "#Person1#: Hi", "s", "t"),)
