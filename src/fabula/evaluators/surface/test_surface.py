"""Surface measures against the values of the papers' stories, and by hand."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.surface.hanna import hanna_text
from fabula.measure.items import Item
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate, Unscored
from fabula.story import Brief, Scene, Story
from ground_truth import data_folder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.measure.report import Report

SURFACE = find("surface")


async def measured(
    items: Sequence[Item],
    preset: Preset = "improved",
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Report:
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(SURFACE.prompts), Cast.of(ScriptedModel({}))))
        return await SURFACE.evaluate(items, run, SURFACE.config(preset, config))


def item(name: str, text: str, prompt: str = "", system: str = "", brief: str = "") -> Item:
    return Item(name, Story("", (Scene("story", text),)), system, prompt, Brief(brief) if brief else None)


def value(report: Report, of: str, what: str) -> float:
    scored = report.row(of, what).scored
    assert isinstance(scored, Estimate), scored
    return scored.value


def lines(path: Path) -> list[Any]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


async def test_the_three_human_stories_of_agents_room_have_their_published_values() -> None:
    stories = lines(data_folder("surface") / "seed000_human_stories.jsonl")
    items = [item(str(n), one["story"], str(n), brief=one["prompt"]) for n, one in enumerate(stories)]
    report = await measured(items, "faithful", overlap_tokens="whitespace")
    assert len(stories) == 3
    for n, one in enumerate(stories):
        expected = one["expected_whitespace"]
        assert value(report, str(n), "words") == expected["words"]
        assert value(report, str(n), "unique words") == pytest.approx(expected["unique_pct"], abs=1e-12)
        intra = value(report, str(n), "intra-story repetition")
        assert intra == pytest.approx(expected["intra_trigram_pct"], abs=1e-12)
        assert value(report, str(n), "prompt overlap") == pytest.approx(expected["prompt_overlap_tokens"], abs=1e-15)


async def test_eighteen_stories_of_ttcw_have_their_values_and_their_pooled_repetition() -> None:
    expected = json.loads((data_folder("surface") / "ttcw_expected_whitespace.json").read_text(encoding="utf-8"))
    texts = {one["story_id"]: one["content"] for one in lines(data_folder("ttcw") / "stories.jsonl.gz")}
    report = await measured([item(name, texts[name]) for name in expected["per_story"]], "faithful")
    assert len(expected["per_story"]) == 18
    for name, want in expected["per_story"].items():
        assert value(report, name, "words") == want["words"]
        assert value(report, name, "unique words") == pytest.approx(want["unique_pct"], abs=1e-12)
        assert value(report, name, "intra-story repetition") == pytest.approx(want["intra_trigram_pct"], abs=1e-12)
    pooled = report.row("all", "inter-story repetition").scored
    assert isinstance(pooled, Estimate)
    assert pooled.value == pytest.approx(expected["pooled_inter_pct"], abs=1e-12)
    assert (pooled.low, pooled.high) == (None, None)
    assert "no interval from fewer than 20 units" in pooled.method
    mean = value(report, "all", "mean/intra-story repetition")
    assert mean == pytest.approx(expected["mean_intra_pct"], abs=1e-12)


def test_hanna_s_stories_have_their_published_length_repetition_and_novelty() -> None:
    pytest.importorskip("spacy", reason="HANNA counts spaCy's tokens: `pip install 'fabula[spacy]'`.")
    stories = lines(data_folder("hanna") / "human_stories.jsonl.gz")
    assert len(stories) == 48
    for one in stories:
        found = hanna_text(one["story"], one["prompt"], "spacy")
        for what, want in one["expected"].items():
            name = "hanna/length" if what == "Text length" else f"hanna/{what.lower()}"
            scored = found[name]
            assert isinstance(scored, Estimate)
            assert scored.value == pytest.approx(want, abs=1e-12), (one["i"], what)


TEXT = 'The lamp was out. "She did it," said Tom. I know.\n\nA boat came home. The lamp was out again.'


async def test_every_measure_of_a_small_story_by_hand() -> None:
    report = await measured([item("x", TEXT, brief="Write that the lamp was out.")])
    assert value(report, "x", "words") == 20
    assert value(report, "x", "paragraphs") == 2
    assert value(report, "x", "sentences") == 5
    assert value(report, "x", "article starts") == pytest.approx(60)  # The, A, The
    assert value(report, "x", "pronoun starts") == pytest.approx(40)  # "She, I
    assert value(report, "x", "unique words") == pytest.approx(100 * 17 / 20)
    assert value(report, "x", "intra-story repetition") == pytest.approx(100 * 1 / 18)  # The lamp was
    assert value(report, "x", "dialogue") == pytest.approx(100 * 3 / 20)
    assert value(report, "x", "sentence length") == pytest.approx(4)
    assert value(report, "x", "sentence spread") == pytest.approx(1.224745, abs=1e-6)
    # "lamp was out" twice and "was out ." among the 26 trigrams of tokens with marks parted
    assert value(report, "x", "prompt overlap") == pytest.approx(3 / 26)


async def test_definitions_are_switched_by_name_and_named_with_the_number() -> None:
    story = item("x", TEXT, brief="Write that the lamp was out.")
    report = await measured([story], tokens="words", fold_case=True, overlap="distinct", trigram_tokens="words")
    assert value(report, "x", "words") == 28
    assert "small letters" in report.row("x", "unique words").scored.as_data()["method"]
    assert value(report, "x", "prompt overlap") == pytest.approx(3 / 24)
    assert "distinct trigrams of words tokens" in report.row("x", "prompt overlap").scored.as_data()["method"]
    assert report.how["tokens"] == "words"
    wide = await measured([item("y", "My lamp. Nobody came. The boat.")], pronouns="any")
    assert value(wide, "y", "pronoun starts") == pytest.approx(200 / 3)
    with pytest.raises(UnknownNameError, match=r"Unknown tokeniser 'word'\. Did you mean 'words'"):
        await measured([story], tokens="word")


async def test_a_story_without_prompt_or_sentences_is_unscored_with_a_reason_and_counted() -> None:
    report = await measured([item("a", "One two."), item("b", "* * *"), item("c", TEXT, brief="Lamps.")])
    assert report.row("a", "prompt overlap").scored == Unscored("the story's prompt is not known")
    assert report.row("a", "intra-story repetition").scored == Unscored("the story has fewer than three tokens")
    assert report.row("b", "article starts").scored == Unscored("the story has no sentences")
    assert "prompt overlap: 2 of 3 not scored (the story's prompt is not known)." in report.notes
    overlap = report.row("all", "mean/prompt overlap").scored
    assert isinstance(overlap, Estimate)
    assert overlap.n == 1
    assert "2 not scored" in overlap.method


async def test_an_empty_story_gives_no_share_and_no_nan() -> None:
    report = await measured([item("a", "")])
    assert value(report, "a", "words") == 0
    assert report.row("a", "unique words").scored == Unscored("the story has no words")
    json.dumps(report.as_data(), allow_nan=False)


async def test_one_story_has_no_repetition_between_stories() -> None:
    report = await measured([item("a", TEXT)])
    assert report.row("all", "inter-story repetition").scored == Unscored("this needs at least two stories", 1)


async def test_systems_of_unequal_size_are_not_to_be_compared_in_repetition() -> None:
    items = [item(name, TEXT, name, system) for name, system in (("a", "s"), ("b", "s"), ("c", "t"))]
    report = await measured(items)
    assert any("Do not compare it" in note for note in report.notes)
    assert [row.of for row in report.rows if row.what == "inter-story repetition"] == ["s", "t"]
    assert not any("Do not compare it" in note for note in (await measured(items[:2])).notes)


async def test_intervals_go_by_prompt() -> None:
    same = [item(f"{n}", "word " * (10 if n < 2 else 20 + n // 4), "pqr"[n // 2]) for n in range(6)]
    scored = (await measured(same)).row("all", "mean/words").scored
    assert isinstance(scored, Estimate)
    assert scored.n == 3
    assert scored.value == pytest.approx(17)
    assert "by 3 groups; t interval" in scored.method


async def test_no_story_and_two_of_one_name_are_named_errors() -> None:
    with pytest.raises(UsageError, match=r"no stories to measure\. Give at least one"):
        await measured([])
    with pytest.raises(UsageError, match=r"Two stories have the id 'a'\. Give each story its own id"):
        await measured([item("a", TEXT), item("a", TEXT)])
