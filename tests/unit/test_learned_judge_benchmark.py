"""The benchmark of a learned judge: it learns what can be learned, and a set that is left out is judged without it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))  # `pytest`, unlike `python -m pytest`, does not find what lies there

import pytest
from benchmarks import learned_judge, writing_quality
from benchmarks.learned_judge import RatedPair

from fabula.base.errors import UsageError
from ground_truth import data_folder


def pairs_of(source: str, *, loud: bool) -> list[RatedPair]:
    """Pairs in which people prefer the text with exclamation marks, or the one without."""
    found = []
    for number in range(30):
        words = " ".join(f"word{number}x{index}" for index in range(number + 5))
        texts = f"{words}!", f"{words}."
        found.append(RatedPair(source, f"{source}/{number}", *(texts if loud else texts[::-1])))
    return found


def test_a_taste_is_learned_for_new_prompts_and_not_taken_from_a_set_that_is_left_out() -> None:
    pairs = [*pairs_of("one", loud=True), *pairs_of("two", loud=False)]
    features = learned_judge.features_of(sorted({text for pair in pairs for text in (pair.better, pair.worse)}))
    judge = learned_judge.learned(features["counted features"])
    assert (learned_judge.by_prompt(pairs[:30], judge) > 0).all()
    assert (learned_judge.by_source(pairs, judge) < 0).all()


def test_the_rules_read_nothing_but_length_and_words() -> None:
    pair = RatedPair("one", "one/1", "a a a a", "b c")
    margins = learned_judge.rules([pair])
    assert {name: float(found[0]) for name, found in margins.items() if name != "random"} == {
        "longer": 2.0,
        "shorter": -2.0,
        "more varied": -0.75,
    }


def test_without_the_ground_truth_it_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Set FABULA_DATA"):
        learned_judge.bench(tmp_path / "none")


def test_on_sets_left_out_the_judge_is_below_the_best_rule() -> None:
    table = learned_judge.bench(data_folder())
    values = {row.what: row.middle for row in table.rows}
    assert values["lamp: longer"] + values["lamp: shorter"] == pytest.approx(1)
    assert values["all public pairs: counted features, set left out, less shorter"] < 0


RANKED = {"batch": "1", "id": "x", "instruction": "i", "texts": {"AI-generated": "a", "Human-edited": "b"}}


def test_rankings_and_pairs_are_read_and_what_is_wrong_is_named(tmp_path: Path) -> None:
    def lines(name: str, line: object) -> None:
        (tmp_path / name).write_text(f"{json.dumps(line)}\n", encoding="utf-8")

    ranking = {"rater": "r", "order": ["Human-edited", "AI-generated"]}
    lines("lamp_rankings.jsonl", RANKED | {"rankings": [ranking]})
    assert writing_quality.lamp(tmp_path)[0].rankings[0].order[0] == "Human-edited"
    lines("lamp_rankings.jsonl", RANKED | {"rankings": [ranking | {"order": ["y"]}]})
    with pytest.raises(UsageError, match=r", line 1.*r does not rank each text once"):
        writing_quality.lamp(tmp_path)
    pair = {"id": "p", "source": "A", "paragraph1": "x", "paragraph2": "y", "reference_preference": "2"}
    lines("style_mimic_pairs.jsonl", pair)
    assert writing_quality.style_mimic(tmp_path) == (writing_quality.MimicPair("p", "A", "x", "y", 2),)
    lines("style_mimic_pairs.jsonl", pair | {"reference_preference": "3"})
    with pytest.raises(UsageError, match=r", line 1.*the preference is '3'"):
        writing_quality.style_mimic(tmp_path)
