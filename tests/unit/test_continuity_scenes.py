from __future__ import annotations

import json

import pytest

from fabula.base.errors import UsageError
from fabula.continuity import scenes_of, split
from fabula.story import Story
from growth import LINEAR, growth


def array(*numbers: int | None) -> str:
    return json.dumps([{"_id": n, "title": f"T{n}", "content": f"Text of {n}."} for n in numbers])


def test_the_papers_json_has_numbers_from_1_and_keeps_its_titles() -> None:
    found = split(json.dumps([{"_id": 0, "title": "1、INT. HALL", "subtitle": "", "content": "A bell."}]))
    assert found.form == "json"
    assert [(s.number, s.title, s.text, s.start) for s in found.scenes] == [(1, "1、INT. HALL", "A bell.", None)]
    assert found.counts == {}


def test_an_unordered_list_is_ordered_and_counted() -> None:
    found = split(array(2, 0, 1))
    assert [(s.number, s.text) for s in found.scenes] == [(1, "Text of 0."), (2, "Text of 1."), (3, "Text of 2.")]
    assert found.counts == {"reordered": 1}


def test_missing_and_double_numbers_are_taken_by_place_and_counted() -> None:
    assert split(array(None, 0)).counts == {"unnumbered": 1}
    assert [s.number for s in split(array(4, 4)).scenes] == [1, 2]
    assert split(array(4, 4)).counts == {"duplicate_numbers": 1}


def test_entries_that_are_no_scenes_are_counted() -> None:
    found = split(json.dumps([{"content": "A bell."}, 7, {"title": "x"}, {"content": " "}]))
    assert found.counts == {"not_a_scene": 2, "empty": 1, "unnumbered": 1}


@pytest.mark.parametrize(
    ("text", "form", "titles"),
    [
        (
            "INT. HALL - DAY\n\nA bell rings.\n\nEXT. YARD - DAY\n\nA dog barks.",
            "fountain",
            ["INT. HALL - DAY", "EXT. YARD - DAY"],
        ),
        ("INT. HALL - DAY\n\nHe reads:\n\n18.6.\n\n19.5.\n\nEXT. BAY", "fountain", ["INT. HALL - DAY", "EXT. BAY"]),
        ("Title: X\n\n.HALL\n\nA bell.\n\n.YARD\n\nA dog.", "fountain", ["HALL", "YARD"]),
        (
            "Int. Hall - day\n\nA bell rings.\n\next. yard - day\n\nA dog barks.\n\nI/E. car - night\n\nRain.",
            "fountain",
            ["Int. Hall - day", "ext. yard - day", "I/E. car - night"],
        ),
        (
            "Chapter 1. Mr. Darcy\n\nA bell.\n\nChapter Two.\n\nA dog.\n\nPart III. Dr. Pond and St. Ives\n\nRain.",
            "prose",
            ["Chapter 1. Mr. Darcy", "Chapter Two", "Part III. Dr. Pond and St. Ives"],
        ),
        ("Part of me left.\n\nAct now. Or not.\n\nThe mill,\nest. 1921, shut.\n\nInt he sea", "prose", [""]),
        ("# One\n\nA bell.\n\n# Two\n\nA dog.", "markdown", ["One", "Two"]),
        ("A bell.\n\n***\n\nA dog.", "prose", [""]),
        ("Chapter 1\n\nA bell.\n\nChapter 2\n\nA dog.", "prose", ["Chapter 1", "Chapter 2"]),
        ("<!-- scene: a -->\nA bell.\n\n<!-- scene: b -->\nA dog.\n", "manuscript", ["a", "b"]),
    ],
)
def test_forms_are_found_out(text: str, form: str, titles: list[str]) -> None:
    found = split(text)
    assert (found.form, [s.title for s in found.scenes]) == (form, titles)
    for scene in found.scenes:
        assert scene.start is not None
        assert text[scene.start : scene.start + len(scene.text)] == scene.text


def test_long_prose_is_cut_at_the_nearest_paragraph() -> None:
    text = "\n\n".join(" ".join(["word"] * 99 + ["end."]) for _ in range(60))
    found = split(text)
    assert [len(s.text.split()) for s in found.scenes] == [2000, 2000, 2000]
    assert "".join(s.text for s in found.scenes) == text
    assert found.counts == {"cut_by_length": 2}


def test_a_story_keeps_its_scenes() -> None:
    story = Story().add("a", "A bell.").add("b", "A dog.")
    found = scenes_of(story)
    assert [(s.number, s.title) for s in found.scenes] == [(1, "a"), (2, "b")]
    assert story.text[found.scenes[1].start :] == "A dog."


@pytest.mark.parametrize("text", ["", " \n ", "--- ***"])
def test_nothing_to_read_is_said(text: str) -> None:
    with pytest.raises(UsageError, match="The story is empty"):
        split(text)


def test_json_that_is_none_is_said() -> None:
    with pytest.raises(UsageError, match="not a JSON array of scenes"):
        split("A bell.", "json")
    with pytest.raises(UsageError, match="No entry of the JSON array"):
        split('[{"content": ""}, {"text": "--"}, 7, null, "one", false]'.replace('"one"', '"-"') + " ", "json")


@pytest.mark.parametrize("stop", [". ", " "])
def test_a_text_without_paragraphs_takes_linear_time(stop: str) -> None:
    sentence = "The keeper of the red lamp went up the seven stairs and Anna saw him" + stop
    found = split(sentence * 1000)
    assert found.counts["without_paragraphs"] == 1
    assert found.counts["cut_by_length"] == len(found.scenes) - 1 > 5
    assert growth(split, lambda n: sentence * n, 4000) < LINEAR  # an eighth of it is cut by length, too
