"""Fountain: what screenwriting programs read, checked against the rules of its syntax page."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.story import Story
from fabula.story.export import Meta, find, fountain

PLAY = """INT/EXT. The lamp room - Scene 1

A bare room of wet wood.

MARA
Sit down.
If you have come to stay.

TOBIAS (out of breath)
(at the door)
I have *not*.

CUT TO:

(The wind takes the door.)"""


def meta(**changes: Any) -> Meta:  # noqa: ANN401 - any field of Meta
    made = datetime(2026, 3, 1, 23, 30, tzinfo=UTC)
    return Meta(**{"title": "The Lamp", "author": "Ada Quill", "created": made, "words": 10, **changes})


def written(text: str, label: str = "Scene 1", **changes: Any) -> str:  # noqa: ANN401 - any field of Meta
    return fountain.render(Story().add(label, text), meta(**changes)).decode()


def body(text: str, label: str = "Scene 1") -> list[str]:
    """The elements after the title page."""
    return written(text, label).rstrip("\n").split("\n\n")[1:]


def test_it_is_found_by_name_and_suffix() -> None:
    assert find("fountain").write is fountain.render
    assert find(".fountain").render is fountain.render


def test_a_script_has_its_own_heading_dialogue_transitions_and_action() -> None:
    assert body(PLAY) == [
        "INT/EXT. THE LAMP ROOM - SCENE 1",
        "A bare room of wet wood.",
        "MARA\nSit down.\nIf you have come to stay.",
        "TOBIAS (out of breath)\n(at the door)\nI have *not*.",
        "CUT TO:",
        "(The wind takes the door.)",
    ]


def test_prose_has_its_label_as_a_forced_heading() -> None:
    assert body("The lamp was dark.\n\nMara came home.", "Rising Action") == [
        ".RISING ACTION",
        "The lamp was dark.",
        "Mara came home.",
    ]
    assert body("It rained.", "...and then #2#") == [".AND THEN 2", "It rained."]
    assert body("It rained.", "***") == ["It rained."]
    assert body("It rained.", "") == ["It rained."]


@pytest.mark.parametrize("start", ["INT.", "EXT.", "EST.", "INT", "EXT", "INT./EXT.", "INT/EXT", "I/E", "int."])
def test_headings_of_the_syntax_are_known(start: str) -> None:
    assert body(f"{start} Kitchen - day\n\nRain.") == [f"{start} KITCHEN - DAY".upper(), "Rain."]


@pytest.mark.parametrize("start", ["Interior", "Exit", "Internal", "Estate"])
def test_words_that_begin_alike_are_no_headings(start: str) -> None:
    assert body(f"{start} lamp.", "One") == [".ONE", f"{start} lamp."]


def test_the_title_page_has_what_is_known_and_is_always_there() -> None:
    page = written("Rain.", subtitle="A play", contact="Ada Quill\n\n1 Mill Lane").split("\n\n")[0]
    assert page == (
        "Title: The Lamp - A play\nCredit: by\nAuthor: Ada Quill\nDraft date: 2026-03-01\n"
        "Contact:\n   Ada Quill\n   1 Mill Lane"
    )
    assert written("Note: rain.", "", title="", author="") == "Draft date: 2026-03-01\n\nNote: rain.\n"


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("MARA", "MARA"),
        ("MARA:", "MARA"),
        ("MR. WHITE", "MR. WHITE"),
        ("OLD TOM (V.O.)", "OLD TOM (V.O.)"),
        ("ЖЮЛЯ", "@ЖЮЛЯ"),
        ("@MCAVOY", "@MCAVOY"),
        ("R2D2", "R2D2"),
        ("23", ""),
        ("Mara", ""),
        ("STOP!", ""),
        ("THE DOOR SHUT.", ""),
        ('"NO', ""),
        ("CUT TO:", ""),
        ("INT. KITCHEN", ""),
    ],
)
def test_a_name_in_capitals_above_a_line_is_a_speaker(cue: str, expected: str) -> None:
    (element,) = body(f"{cue}\nHello there.", "")
    assert element.startswith(f"{expected}\n") if expected else not element.startswith(("MARA", "@"))
    assert element.endswith("Hello there.")


@pytest.mark.parametrize(
    "line",
    ["!Help", "@home", ".5 of it", "> a quotation", "~ waves", "= no synopsis", "THE DOOR", "THE DOOR SHUT.", "=== x"],
)
def test_action_that_would_be_misread_is_forced_to_be_action(line: str) -> None:
    assert body(line, "A") == [".A", f"!{line}"]


def test_action_with_one_line_to_be_forced_is_forced_in_all() -> None:
    assert body("He shouted:\n.45 calibre", "") == ["!He shouted:\n!.45 calibre"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A *soft* and **loud** ***word***.", "A *soft* and **loud** ***word***."),
        ("_Emphasis_ of Markdown.", "*Emphasis* of Markdown."),
        ("a * star and snake_case", r"a \* star and snake\_case"),
        (r"a \*star\*", r"a \*star\*"),
        ("[[no note]] and /* no comment */", r"[ [no note] ] and /\* no comment \*/"),
        ("*two\nlines*", "*two*\n*lines*"),
    ],
)
def test_emphasis_stays_and_other_signs_are_text(text: str, expected: str) -> None:
    assert body(text, "") == [expected]


def test_breaks_and_headings_inside_a_scene_are_centred() -> None:
    assert body("One.\n\n* * *\n\n## Night\n\nTwo.", "") == ["One.", "> * * * <", "> Night <", "Two."]


def test_a_line_of_a_speech_is_no_song() -> None:
    assert body("MARA\n~ la la", "") == ["MARA\n\\~ la la"]


HEADING = re.compile(r"(?:INT|EXT|EST|INT\.?/EXT|EXT\.?/INT|I/E)[. ]", re.IGNORECASE)


@settings(max_examples=150, deadline=None)
@given(st.text(), st.text(), st.text())
def test_any_text_can_be_written_and_begins_with_its_title_page(title: str, label: str, text: str) -> None:
    page = fountain.render(Story().add(label, text), meta(title=title, contact=text)).decode()
    assert "Draft date: 2026-03-01\n" in page
    assert "[[" not in page.partition("\n\n")[2]
    assert "/*" not in page.partition("\n\n")[2]
    assert page == fountain.render(Story().add(label, text), meta(title=title, contact=text)).decode()
