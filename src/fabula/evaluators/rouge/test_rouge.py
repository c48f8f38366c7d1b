"""ROUGE against the package rouge-score and the published values of DialogSum."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UnknownNameError
from fabula.craft.tokens import rouge_stems, rouge_tokens
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.rouge.scoring import VARIANTS, Rouge, rouge_l, rouge_lsum, scores
from fabula.measure.items import Item
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate, Unscored
from fabula.story import Story
from ground_truth import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.report import Report

ROUGE = find("rouge")
DRAWN = "the The lamps lamp's lighting lighted relational naïve Café 12th — don't x\n \n\n"
WORDS = DRAWN.split(" ")


async def measured(items: Sequence[Item], **config: Any) -> Report:  # noqa: ANN401 - fields of Config
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(ROUGE.prompts), Cast.of(ScriptedModel({}))))
        return await ROUGE.evaluate(items, run, ROUGE.config("improved", config))


@pytest.mark.parametrize("stemmed", [False, True])
def test_all_variants_equal_rouge_score(stemmed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    oracle = pytest.importorskip("rouge_score.rouge_scorer", reason="rouge-score is the oracle: extra `dev`.")
    theirs = oracle.RougeScorer(list(VARIANTS), use_stemmer=stemmed)
    rng = random.Random(3)  # noqa: S311 - texts, not secrets
    for _ in range(150):
        reference, text = (" ".join(rng.choices(WORDS, k=rng.randint(0, 40))) for _ in range(2))
        ours = scores(reference, text, rouge_stems if stemmed else rouge_tokens, VARIANTS)
        for variant, want in theirs.score(reference, text).items():
            got = ours[variant]
            assert (got.precision, got.recall, got.f) == pytest.approx(tuple(want), abs=1e-9), (reference, text)


def test_the_summaries_of_dialogsum_have_their_published_values() -> None:
    with gzip.open(data_folder("dialogsum") / "rouge_items.jsonl.gz", "rt", encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    assert len(items) == 250
    for one in items:
        ours = scores(one["summaries"][0], one["bart_output"], rouge_stems, VARIANTS[:3])
        assert {v: s.f for v, s in ours.items()} == pytest.approx(one["rouge_vs_summary1"], abs=1e-9), one["fname"]


def test_known_values() -> None:
    assert rouge_l(list("abcd"), list("acde")) == Rouge(0.75, 0.75)
    # The first line has a b of one line and d of another in common: three of four.
    assert rouge_lsum([list("abcd")], [list("abx"), list("dy")]) == Rouge(3 / 5, 3 / 4)
    assert Rouge().f == 0


def test_texts_without_words_score_nothing_and_do_not_fail() -> None:
    assert set(scores("", "—", rouge_tokens, VARIANTS).values()) == {Rouge()}


async def test_rows_name_variant_tokens_and_part() -> None:
    report = await measured([Item("x", Story.parse("a b c"), reference=Story.parse("a c"))], variants="rougeL")
    assert [row.what for row in report.rows[:3]] == ["rougeL", "rougeL/precision", "rougeL/recall"]
    scored = report.row("x", "rougeL").scored
    assert isinstance(scored, Estimate)
    assert scored.value == pytest.approx(0.8)
    assert scored.method == "rougeL, F1, 0 to 1, rouge tokens, one reference"


async def test_a_story_without_reference_is_not_scored() -> None:
    report = await measured([Item("x", Story.parse("a b c"))])
    assert report.row("x", "rougeLsum").scored == Unscored("the story has no reference: give one with --reference")
    assert "1 of 1 not scored (the story has no reference: give one with --reference)." in report.notes[0]
    assert "and 8 more" in report.notes[0]


async def test_an_unknown_variant_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown variant of ROUGE 'rouge-l'\. Did you mean 'rougeL'"):
        await measured([Item("x", Story.parse("a"))], variants="rouge1, rouge-l")
