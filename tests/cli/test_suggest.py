"""`fabula text suggest`: suggestions for a place of a text, which stays as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, REPLIES, script_of
from fabula.craft.suggesting import joins, put

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli
    from fabula.craft.suggesting import Amount

IDEAS = ["Jonas wakes and takes the matches away.", "A boat answers the light with a flare."]
SAID = {
    "climax/suggest/1/rewrite_passage": "She lost the flame.",
    "climax/suggest/2/rewrite_passage": "The flame went out.",
    "climax/suggest/3/rewrite_passage": "She lost the flame.",
    "climax:suggest": "The wind dropped.",
    "climax:suggest_ideas": json.dumps({"ideas": IDEAS}),
}


@pytest.fixture
def lamp(cli: Cli) -> Path:
    (cli.folder / "script.toml").write_text(script_of(REPLIES | SAID), encoding="utf-8")
    ran = cli("write", "brief.md", "--out", "lamp", "--model", "scripted:script.toml", *BY_PARTS)
    assert ran.code == 0, ran.err
    return cli.folder / "lamp"


def prompts(cli: Cli) -> list[str]:
    calls = cli("show", "--prompts", "-C", "lamp", "--json").json["calls"]
    return [call["messages"][-1]["text"] for call in calls if "/suggest/" in call["path"]]


def test_other_wordings_of_a_passage_are_each_given_once_and_the_text_stays(cli: Cli, lamp: Path) -> None:
    before = (lamp / "story/03-climax.md").read_text(encoding="utf-8")
    ran = cli("text", "suggest", "lamp", "climax", "--passage", "Mara held ... hands.", "--json").json
    assert (ran["kind"], ran["texts"]) == ("reword", ["She lost the flame.", "The flame went out."])
    assert before[ran["start"] : ran["end"]] == "Mara held the flame with both her hands."
    assert (lamp / "story/03-climax.md").read_text(encoding="utf-8") == before
    assert cli("update", "lamp", "--json").json["asked"] == 0


def test_the_same_place_costs_nothing_the_second_time_and_skip_gives_others(cli: Cli, lamp: Path) -> None:
    line = ("text", "suggest", "lamp", "climax", "--kind", "continue", "--count", "2")
    before = cli("status", "lamp", "--json").json["calls"]
    assert cli(*line, "--dry-run", "--json").json["total_calls"] == 2
    cli(*line)
    assert cli("status", "lamp", "--json").json["calls"] == before + 2
    cli(*line)
    assert cli("status", "lamp", "--json").json["calls"] == before + 2
    cli(*line, "--skip", "2")
    assert cli("status", "lamp", "--json").json["calls"] == before + 4


def test_a_suggestion_is_taken_into_the_text_and_taken_back(cli: Cli, lamp: Path) -> None:
    file = lamp / "story/03-climax.md"
    before = file.read_text(encoding="utf-8")
    line = ("text", "suggest", "lamp", "climax", "--passage", "Mara held ... hands.")
    assert "`--take 1` puts the first into the text" in cli(*line).err
    ran = cli(*line, "--take", "2")
    assert "has suggestion 2. `fabula undo lamp` takes it back." in ran.err
    new = before.replace("Mara held the flame with both her hands.", "The flame went out.")
    assert file.read_text(encoding="utf-8") == new != before
    assert cli("undo", "lamp").code == 0
    assert file.read_text(encoding="utf-8") == before
    ran = cli("text", "suggest", "lamp", "climax", "--kind", "continue", "--count", "1", "--take", "1")
    assert ran.code == 0, ran.err
    assert file.read_text(encoding="utf-8").rstrip().endswith(f"{before.rstrip()[-20:]} The wind dropped.")
    assert "There is no suggestion 3: 2 came." in cli(*line, "--count", "2", "--take", "3").err
    assert "An idea is no text of the story" in cli(*line, "--kind", "ideas", "--take", "1").err


@pytest.mark.parametrize(
    ("before", "after", "amount", "made"),
    [
        ("She rose.", "He sat.", "sentence", " It rained. "),
        ("She rose. ", " He sat.", "sentence", "It rained."),
        ("She rose.", "", "paragraph", "\n\nIt rained."),
        ("She rose.\n\n", "He sat.", "paragraph", "It rained.\n\n"),
        ("", "", "scene", "It rained."),
        ("She said, “", "” He sat.", "sentence", "It rained."),
        ("“No.”", "“Yes.”", "sentence", " It rained. "),
        ("„Nein.“", ", und", "sentence", " It rained."),
    ],
)
def test_words_stand_apart_from_the_text_around_them(before: str, after: str, amount: Amount, made: str) -> None:
    assert put("It rained.", before, after, amount) == made
    assert put("下雨了。", "天黑了。", "他坐下。", "sentence") == "下雨了。"
    assert joins("It rained.", "She rose.", "", "paragraph") == ("\n\n", " ", "")


def test_a_suggestion_is_about_the_text_that_is_being_typed_and_saves_nothing(cli: Cli, lamp: Path) -> None:
    before = (lamp / "story/03-climax.md").read_text(encoding="utf-8")
    line = (
        "text",
        "suggest",
        "lamp",
        "climax",
        "--kind",
        "continue",
        "--count",
        "1",
        "--unsaved",
        "She sat.\x1b[2J  \n",
    )
    made = cli(*line, "--at", "8", "--json").json
    assert (made["texts"], made["start"], made["joins"]) == (["The wind dropped."], 8, [[" ", " ", ""]])
    prompt = prompts(cli)[-1]
    assert "She sat." in prompt
    assert before.strip() not in prompt
    assert (lamp / "story/03-climax.md").read_text(encoding="utf-8") == before
    assert "the text has 8 characters" in cli(*line, "--at", "9").err
    assert "Save the text before" in cli(*line, "--take", "1").err
    assert "--unsaved" not in cli("text", "suggest", "--help-all").out, "only a page has a use for it"


def test_ideas_come_with_numbers_and_a_short_note_stands_for_a_wish(cli: Cli, lamp: Path) -> None:
    ran = cli("text", "suggest", "lamp", "climax", "--kind", "ideas", "--note", "less")
    assert "1. Jonas wakes and takes the matches away.\n\n2. A boat" in ran.out
    assert "story/03-climax.md is unchanged." in ran.err
    (asked,) = prompts(cli)
    assert "leave to the reader what can be understood" in asked


def test_the_cursor_divides_the_story_into_before_and_after(cli: Cli, lamp: Path) -> None:
    cli("text", "suggest", "lamp", "climax", "--kind", "describe", "--count", "1", "--at", "28")
    (asked,) = prompts(cli)
    before, _, after = asked.partition("What stands after the place:")
    assert "She took the matches" in before
    assert "The storm broke the window." in before
    assert after.strip().startswith("Mara held the flame")
    assert "One ship turned away" in after


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), 'Select the passage to reword: --passage "The lamp ... went out."'),
        (("--passage", "No such words"), "'No such words' is not in the text."),
        (("--passage", "the"), "'the' matches 2 passages of the text."),
        (
            ("--kind", "continue", "--at", "9999"),
            "There is no place after character 9,999: the text has 68 characters.",
        ),
    ],
)
def test_a_place_that_is_not_there_is_an_error(cli: Cli, lamp: Path, options: tuple[str, ...], message: str) -> None:
    ran = cli("text", "suggest", str(lamp), "climax", *options)
    assert ran.code == 2
    assert message in ran.err


def test_a_length_in_words_takes_the_place_of_a_sentence_or_scene(cli: Cli, lamp: Path) -> None:
    line = ("text", "suggest", "lamp", "climax", "--kind", "continue", "--count", "1")
    ran = cli(*line, "--words", "100-140", "--note", "In 30 words.")
    assert ran.code == 0, ran.err
    assert "You asked for about 120 words, between 100 and 140; suggestion 1 has 3.\n" in ran.err
    said = prompts(cli)[-1]
    assert "Write on from this place: about 120 words, between 100 and 140, and stop there" in said
    assert "If the wish names another length, write about 120 words, between 100 and 140 all the same." in said
    assert "end where this scene has done" not in said
    assert "the wish counts" not in said
    assert not cli(*line, "--words", "4", "--json").json["off_length"], "a word less is near enough"
    assert "'many' is not a number of words." in cli(*line, "--words", "many").err
    cli("text", "suggest", "lamp", "climax", "--kind", "describe", "--count", "1", "--words", "30")
    assert "at this place of the story: about 30 words, between 27 and 33, in sentences that notice" in prompts(cli)[-1]
    ran = cli(*line, "--amount", "scene", "--words", "100-140")
    assert ran.code == 2
    assert "--amount and --words both say how much to write. Leave one of them out." in ran.err
    cli(*line, "--amount", "scene", "--note", "Eighty words.")
    assert "end where this scene has done" in prompts(cli)[-1]
    assert "If the wish says how long it should be or where it should end, the wish counts" in prompts(cli)[-1]
    said = cli("text", "suggest", "lamp", "climax", "--passage", "Mara held ... hands.", "--words", "9").err
    assert "--words is the length of a continuation or description. For reword, say it in --note." in said
