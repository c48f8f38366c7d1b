"""How an author's prose sounds: distances from samples, what is counted for a style sheet, and what a book overuses."""

# ruff: noqa: RUF001 - quotation marks and dashes as people type them

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import pytest

from fabula.base.errors import UsageError
from fabula.craft.voice import PASSAGE, WHOLE, Samples, measured_lines, passages, used_often, voice_report
from fabula.engine.journal import Journal
from fabula.measure.items import Item
from fabula.stats.estimate import Estimate
from fabula.story import Scene, Story, count_words
from fabula.systems import CATALOGUE
from fabula.testing.cases import cases_of, run_case

STORY = Story.parse(Path("examples/projects/sufficient-knowledge/story.md").read_text(encoding="utf-8")).text
SHEET = "Sentences like gravel."
PROSE = {
    *("section", "extend", "shorten", "finalizer", "final_reading", "chapter"),
    *("draft", "revise", "rewrite", "retell", "dialogue", "scene", "story", "tell"),
}


async def test_every_prompt_for_prose_has_the_style_sheet_and_no_other_prompt_has_it() -> None:
    given: dict[str, set[bool]] = {}
    for system in CATALOGUE.own().values():
        for case in (one for one in cases_of(system) if one.preset == "improved"):
            model = case.model()
            with Journal() as journal:
                await run_case(case, model, journal, voice=SHEET)
            for request in model.asked:
                has = SHEET in request.messages[0].content
                assert all(SHEET not in message.content for message in request.messages[1:])
                given.setdefault(request.path.rpartition("/")[2], set()).add(has)
    assert {prompt for prompt, has in given.items() if has == {True}} == PROSE
    assert all(len(has) == 1 for has in given.values())


async def test_the_style_sheet_is_at_the_end_of_the_first_message() -> None:
    case = next(one for one in cases_of(CATALOGUE.own()["end-to-end"]) if one.preset == "improved")
    asked = []
    for voice in ("", SHEET):
        model = case.model()
        with Journal() as journal:
            await run_case(case, model, journal, voice=voice)
        asked.append([request.messages for request in model.asked if request.path.endswith("story")])
    plain, voiced = (messages[0] for messages in asked)
    assert voiced[0].content.startswith(plain[0].content)
    assert voiced[0].content.endswith(SHEET)
    assert voiced[1:] == plain[1:]


def test_passages_have_about_200_words_of_whole_sentences() -> None:
    found = passages([STORY, "One. Two."])
    assert "".join("".join(one.text for one in found).split()) == "".join(f"{STORY}One. Two.".split())
    assert all(PASSAGE // 2 <= count_words(one.text) <= 2 * PASSAGE for one in found[:-1])
    assert found[-1].text == "One. Two."


def test_passages_are_the_authors_own_characters_without_headings_and_breaks() -> None:
    text = (
        "# One\n\n"
        + "Keep my *chair.* It is cold, and wet. " * 40
        + "\n\n* * *\n\n"
        + "No.\n\nYes, I know. " * 60
        + "\n\n## Two"
    )
    found = passages([text])
    assert all(one.text in text for one in found if "No." not in one.text or "chair" not in one.text)
    assert not any(mark in one.text for one in found for mark in ("#", "* * *", ". *"))
    assert not any(sign in one.marks for one in found for sign in "*_#")


def test_quoted_passages_begin_with_a_paragraph_and_end_before_a_heading() -> None:
    author = "\n\n".join(
        f"## Day {n}\n\nDay {n} was long. {'We went on over the ice, and said little. ' * 13}" for n in range(30)
    )
    for quoted in Samples([author]).own_passages():
        assert quoted.startswith("Day")
        assert "##" not in quoted


def test_no_passage_runs_over_the_end_of_a_chapter_that_is_not_very_short() -> None:
    days = [f"Day {n} was long. {'We went on over the ice, and said little. ' * 40}".strip() for n in range(9)]
    found = passages(["# The Ice\n\nBy me.\n\n" + "\n\n".join(f"## {n}\n\n{day}" for n, day in enumerate(days))])
    assert found[0].text.startswith("By me.\n\nDay 0")
    assert [one.text[:5] for one in found if "Day" in one.text][1:] == [f"Day {n}" for n in range(1, 9)]
    assert all(count_words(one.text) >= PASSAGE // 2 for one in found)


@pytest.mark.parametrize(
    ("told", "said"), [("I saw her and him. He went.", "first"), ("She saw him. He went.", "third")]
)
def test_a_narrator_who_tells_of_others_is_still_the_first_person(told: str, said: str) -> None:
    lines = measured_lines(Samples([" ".join(f"{told} “I know,” was said at {n} in the morning." for n in range(130))]))
    assert f"Person: {said}." in lines


def test_a_text_by_the_author_is_as_far_from_the_samples_as_their_halves_and_another_text_is_farther() -> None:
    own = passages([STORY])
    samples = Samples(one.text for one in own[::2])
    rest = "\n\n".join(one.text for one in own[1::2])
    other = "\n\n".join(["«Wer da?» rief er; niemand; nichts... «Ich!» – so, so, so!"] * 40)
    assert fmean(samples.distances(rest)[WHOLE]) == pytest.approx(1, abs=0.3)
    assert fmean(samples.distances(other)[WHOLE]) > 2


def test_the_report_has_each_distance_with_its_interval_next_to_that_of_the_halves() -> None:
    item = Item("new", Story("", (Scene("one", STORY),)))
    report = voice_report([item], Samples([STORY]))
    for kind in ("frequent words", "sentence lengths", "punctuation", "dialogue"):
        for of in ("new", "the samples' halves"):
            scored = report.row(of, kind).scored
            assert isinstance(scored, Estimate)
            assert scored.n == len(passages([STORY]))
            assert scored.low is not None
            assert "mean over passages" in scored.method
    assert "says nothing about how good" in report.notes[-1]


def test_too_few_words_are_refused_with_the_number_that_is_needed() -> None:
    with pytest.raises(UsageError, match="The samples have 2 words, and at least 800 are needed to compare one half"):
        Samples(["One. Two."])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("I saw the grey colour of the harbour. “We go,” she said. I went.", ["Person: first.", "Spelling: British."]),
        ("He saw the gray color of the harbor. “I go,” he said. He went.", ["Person: third.", "Spelling: American."]),
        ("Sie sah das Meer und ging nicht. „Komm“, sagte er, und sie kam nicht.", ["Language: German."]),
        ("Она не пошла. — Куда ты? — спросил он.\n— Домой, — сказала она и ушла.", ["Language: Russian."]),
    ],
)
def test_what_is_counted_depends_on_what_is_known_of_the_language(text: str, lines: list[str]) -> None:
    varied = "\n\n".join(f"{text} {word}." for word in "abcdefghijklmnopqrstuvwxyz" for word in (word * 3, word * 4))
    found = measured_lines(Samples([varied * 2]))
    assert found[: len(lines)] == lines
    assert not any(one.startswith(("Person", "Spelling")) for one in found[len(lines) :])


@pytest.mark.parametrize(
    ("speech", "line"),
    [
        ("“Come,” she said.", "in “…”;"),
        ("‘Come,’ she said.", "in ‘…’;"),
        ("« Viens », dit-elle.", "in «…»;"),
        ("「来て」と言った。", "in 「…」;"),
        ("— Ven —dijo ella.\n— No —dijo él.", "after —;"),
        ("‘Come,’ she said. ‘Now.’\n\n“No,” he said.", "in ‘…’ (67 %), in “…” (33 %);"),
        ("‘Come,’ she said. ‘He said “no” to me.’", "in ‘…’;"),
    ],
)
def test_the_marks_of_dialogue_are_those_of_the_samples(speech: str, line: str) -> None:
    text = "\n\n".join(f"{speech} The light number {number} went out over the sea." for number in range(120))
    assert any(one.startswith(f"Dialogue: {line}") for one in measured_lines(Samples([text])))


def test_phrases_and_openings_that_a_book_repeats_are_found_in_any_language() -> None:
    parts = [f"The lamp on the sill went out. It was {n}. Nobody in number {n} said so." for n in range(4)]
    used = used_often([*parts, STORY])
    assert ("the lamp on the sill went out", 4) in used.phrases
    assert ("the lamp on", 4) in used.begins
    assert "Phrases used often: “the lamp on the sill went out” (4)" in used.lines[0]
    chinese = "他慢慢地走进房间，把灯打开。她没有看他。他慢慢地走进房间，什么也没说。窗外下着雨。他慢慢地走进房间。"
    assert used_often([chinese]).phrases == (("他慢慢地走进房间", 3),)
    assert used_often([]).lines == used_often(["", "…"]).lines == []
