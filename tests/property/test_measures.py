"""What holds of measures for any text: bounds, invariances, and a fast way that equals the slow one."""

# ruff: noqa: RUF001 - the texts hold typographic marks

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.craft.tokens import rouge_tokens
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.rouge.scoring import VARIANTS, lcs_length, scores, subsequence, union_lcs
from fabula.evaluators.surface.repetition import TokenHashes, repeated
from fabula.measure.items import Item
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate
from fabula.story import Brief, Scene, Story
from fabula.story.speech import speech
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.report import Report

TOKENS = st.lists(st.sampled_from("abcde"), max_size=25)
PROSE = st.text(st.sampled_from("ab AI.,!?'\"“”‘’«»„`\n-—"), max_size=120) | st.text(max_size=60)
SURFACE = find("surface")
# Percentages and shares have an upper bound; counts have none.
BOUNDS = {
    "article starts": 100,
    "pronoun starts": 100,
    "unique words": 100,
    "intra-story repetition": 100,
    "inter-story repetition": 100,
    "dialogue": 100,
    "prompt overlap": 1,
}


def table(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Lengths of longest common subsequences of all prefixes, cell by cell."""
    rows = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first, 1):
        for j, other in enumerate(second, 1):
            rows[i][j] = rows[i - 1][j - 1] + 1 if one == other else max(rows[i - 1][j], rows[i][j - 1])
    return rows


def walked(first: Sequence[str], second: Sequence[str]) -> list[int]:
    """The places in `first` that are read out of the table from its end, at a tie stepping in `first`."""
    rows, i, j, places = table(first, second), len(first), len(second), []
    while i and j:
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif rows[i][j - 1] > rows[i - 1][j]:
            j -= 1
        else:
            i -= 1
    return places


@given(TOKENS, TOKENS)
def test_the_fast_subsequence_is_the_slow_one(first: list[str], second: list[str]) -> None:
    assert lcs_length(first, second) == table(first, second)[-1][-1]
    assert list(subsequence(first, second)) == walked(first, second)


@given(TOKENS, st.lists(TOKENS, max_size=4))
def test_a_union_holds_every_line_s_subsequence_in_order(reference: list[str], lines: list[list[str]]) -> None:
    union = union_lcs(reference, lines)
    assert lcs_length(union, reference) == len(union)
    assert len(union) >= max((lcs_length(reference, line) for line in lines), default=0)


@given(PROSE, PROSE)
def test_rouge_is_between_0_and_1_and_its_sides_change_places(first: str, second: str) -> None:
    ours, turned = (scores(a, b, rouge_tokens, VARIANTS) for a, b in ((first, second), (second, first)))
    for variant in VARIANTS:
        assert 0 <= ours[variant].f <= 1
        assert 0 <= ours[variant].precision <= 1
        if variant != "rougeLsum":  # its unions are of lines of the reference
            assert (ours[variant].precision, ours[variant].recall) == (
                turned[variant].recall,
                turned[variant].precision,
            )
    same = scores(first, first, rouge_tokens, VARIANTS)
    assert same["rougeL"].f == pytest.approx(1.0 if rouge_tokens(first) else 0.0)


@given(st.lists(TOKENS, max_size=4), st.integers(1, 4))
def test_coded_ngrams_are_distinct_as_the_ngrams_are(texts: list[list[str]], n: int) -> None:
    codes = [TokenHashes().ngrams(text, n) for text in texts]
    pairs = [
        (c, g)
        for code, text in zip(codes, texts, strict=True)
        for c, g in zip(code.tolist(), ngrams(text, n), strict=True)
    ]
    assert len({c for c, _ in pairs}) == len({g for _, g in pairs}) == len(set(pairs))
    assert [repeated(code) for code in codes] == [
        len(list(ngrams(text, n))) - len(set(ngrams(text, n))) for text in texts
    ]


@given(PROSE)
def test_speech_is_in_order_and_inside_the_text(text: str) -> None:
    borders = [border for span in speech(text) for border in span]
    assert borders == sorted(borders)
    assert all(0 <= border <= len(text) for border in borders)


def measured(texts: Sequence[str], **config: object) -> Report:
    items = [
        Item(f"story {n}", Story("", (Scene("story", text),)), "s", f"{n % 3}", Brief("A boat came."))
        for n, text in enumerate(texts)
    ]
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(SURFACE.prompts), Cast.of(ScriptedModel({}))))
        return asyncio.run(SURFACE.evaluate(items, run, SURFACE.config("improved", config)))


@settings(max_examples=40)
@given(st.lists(PROSE, min_size=1, max_size=4))
def test_any_text_gives_numbers_within_their_bounds_or_a_reason(texts: list[str]) -> None:
    report = measured(texts, hanna=True, hanna_tokens="words")
    json.dumps(report.as_data(), allow_nan=False)
    for row in report.rows:
        if isinstance(row.scored, Estimate):
            top = (
                1
                if row.what.startswith("hanna/") and row.what != "hanna/length"
                else BOUNDS.get(row.what.removeprefix("mean/"))
            )
            assert 0 <= row.scored.value <= (float("inf") if top is None else top + 1e-9), row
        else:
            assert row.scored.reason


@settings(max_examples=25, deadline=None)  # the first call loads the sentence splitter
@given(st.lists(PROSE, min_size=2, max_size=4))
def test_the_order_of_stories_changes_no_number(texts: list[str]) -> None:
    before = measured(texts)
    turned = measured(texts[::-1])
    for what in ("mean/words", "mean/dialogue", "inter-story repetition"):
        one, other = (report.row("s", what).scored for report in (before, turned))
        assert type(one) is type(other)
        if isinstance(one, Estimate) and isinstance(other, Estimate):
            assert one.value == pytest.approx(other.value)


@settings(max_examples=25)
@given(st.lists(st.sampled_from("abc"), min_size=4, max_size=30))
def test_a_story_told_twice_repeats_itself_between_stories(tokens: list[str]) -> None:
    text = " ".join(tokens)
    once, twice = (measured([text] * n) for n in (2, 4))
    values = [report.row("s", "inter-story repetition").scored for report in (once, twice)]
    assert isinstance(values[0], Estimate)
    assert isinstance(values[1], Estimate)
    assert 50 <= values[0].value <= values[1].value <= 100
