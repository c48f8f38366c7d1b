"""`fabula text style`, `style.md` and `voice/`: an author's style sheet, and what depends on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commandline import BY_PARTS, REPLIES, script_of
from fabula.story import Story

if TYPE_CHECKING:
    from commandline import Cli

OWN = Path("examples/projects/sufficient-knowledge/story.md").resolve()
READ = {
    "person": "first person",
    "tense": "past",
    "does": ["Ends a paragraph on a bare fact."],
    "avoids": ["shimmering", "the", "Heart pounding."],
}
REPLY = {"reader:read_voice": json.dumps(READ)}


@pytest.fixture
def lamp(cli: Cli) -> Path:
    (cli.folder / "script.toml").write_text(script_of(REPLIES | REPLY), encoding="utf-8")
    ran = cli("write", "brief.md", "--out", "lamp", "--model", "scripted:script.toml", *BY_PARTS)
    assert ran.code == 0, ran.err
    (cli.folder / "lamp" / "voice").mkdir()
    text = Story.parse(OWN.read_text(encoding="utf-8")).text
    (cli.folder / "lamp" / "voice" / "own.md").write_text(text, encoding="utf-8")
    return cli.folder / "lamp"


def test_a_sheet_is_proposed_from_samples_and_accepted_and_makes_prose_stale(cli: Cli, lamp: Path) -> None:
    assert len(cli("text", "style", "lamp", "--dry-run", "--json").json["calls"]) == 1
    proposed = cli("text", "style", "lamp", "--json").json
    assert not (lamp / "style.md").exists()
    assert "- Person and tense: first person, past." in proposed["text"]
    assert "- Ends a paragraph on a bare fact." in proposed["text"]
    assert "## Words to avoid\n\nshimmering, Heart pounding\n" in proposed["text"]
    assert proposed["samples"] == ["voice/own.md"]
    assert cli("update", "lamp", "--dry-run", "--json").json["calls"] == []
    accepted = cli("text", "style", "lamp", "--accept")
    assert accepted.code == 0, accepted.err
    assert (lamp / "style.md").read_text(encoding="utf-8") == proposed["text"] + "\n"
    coming = cli("update", "lamp", "--dry-run", "--json").json
    assert coming["calls"]
    assert {call["role"] for call in coming["calls"]}.isdisjoint({"conflict", "character", "setting", "plot"})
    (lamp / "style.md").unlink()
    assert cli("update", "lamp", "--dry-run", "--json").json["calls"] == []


def test_a_sheet_that_the_author_has_changed_is_not_replaced(cli: Cli, lamp: Path) -> None:
    (lamp / "style.md").write_text("Short sentences.", encoding="utf-8")
    ran = cli("text", "style", "lamp", "--counted", "--accept")
    assert ran.code
    assert "style.md already exists and differs from the proposal. Edit it, or rename it and try again." in ran.err
    assert (lamp / "style.md").read_text(encoding="utf-8") == "Short sentences."


def test_an_accepted_sheet_and_what_was_changed_in_it_since_are_undone_one_by_one(cli: Cli, lamp: Path) -> None:
    sheet = lamp / "style.md"
    ran = cli("text", "style", "lamp", "--counted", "--accept")
    assert "`fabula undo lamp` takes it back." in ran.err
    accepted = sheet.read_text(encoding="utf-8")
    sheet.write_text(f"{accepted}- Short sentences.\n", encoding="utf-8")
    ran = cli("undo", "lamp")
    assert ran.out.startswith("Undone: your change to Style (")
    assert "another `fabula undo lamp` undoes: edit of Style" in ran.err
    assert sheet.read_text(encoding="utf-8") == accepted
    assert cli("undo", "lamp").out.startswith("Undone: edit of Style (")
    assert not sheet.exists()
    assert cli("update", "lamp", "--dry-run", "--json").json["calls"] == []
    assert "Next: `fabula update lamp`." in cli("redo", "lamp").err, "prose is stale with it"
    assert sheet.read_text(encoding="utf-8") == accepted
    assert cli("redo", "lamp").code == 0
    assert sheet.read_text(encoding="utf-8") == f"{accepted}- Short sentences.\n"


@pytest.mark.parametrize("name", ["style.md", "brief.md"])
def test_an_edit_of_a_file_that_the_author_had_written_is_undone_and_the_file_stays(
    cli: Cli, lamp: Path, name: str
) -> None:
    (lamp / name).write_text("My own words.\n", encoding="utf-8")
    assert cli("edit", name, "--text", "Other words.", "-C", "lamp").code == 0
    assert (lamp / name).read_text(encoding="utf-8") == "Other words.\n"
    assert cli("undo", "lamp").out.startswith(f"Undone: edit of {name.removesuffix('.md').capitalize()} (")
    assert (lamp / name).read_text(encoding="utf-8") == "My own words.\n"
    assert "There is no decision to undo." in cli("undo", "lamp").err
    assert cli("redo", "lamp").code == 0
    assert (lamp / name).read_text(encoding="utf-8") == "Other words.\n"


def test_without_a_model_the_sheet_has_what_is_counted(cli: Cli, lamp: Path) -> None:
    text = cli("text", "style", "lamp", "--counted", "--json").json["text"]
    assert "- Sentences: " in text
    assert "## How it sounds" in text
    assert "What this author does" not in text
    assert cli("text", "style", "lamp", "--counted", "--dry-run", "--json").code == 0


def test_missing_samples_and_a_sheet_that_is_too_long_are_explained(cli: Cli, lamp: Path) -> None:
    (lamp / "voice" / "own.md").unlink()
    ran = cli("text", "style", "lamp")
    assert "voice has no samples of your prose. Put Markdown or text files there, or import a manuscript" in ran.err
    (lamp / "style.md").write_text("word " * 3000, encoding="utf-8")
    ran = cli("update", "lamp", "--dry-run")
    assert "style.md has 14,999 characters, and every prompt for prose contains it. Shorten it to at most" in ran.err


def test_a_suggestion_and_a_rewritten_passage_are_in_the_authors_style(cli: Cli, lamp: Path) -> None:
    (cli.folder / "script.toml").write_text(
        script_of(
            REPLIES | {"climax:rewrite_passage": "The flame went.", "climax:suggest_ideas": '{"ideas": ["A boat."]}'}
        ),
        encoding="utf-8",
    )
    (lamp / "style.md").write_text("Sentences like gravel.", encoding="utf-8")
    assert cli("text", "suggest", "-C", "lamp", "climax", "--passage", "1-20", "--count", "1").code == 0
    calls = cli("show", "--prompts", "-C", "lamp", "--json").json["calls"]
    asked = [call for call in calls if call["path"].endswith("rewrite_passage")]
    assert all("Sentences like gravel." in call["messages"][0]["text"] for call in asked)
    assert asked


def test_own_prose_that_is_imported_becomes_a_sample_and_measure_uses_it(cli: Cli) -> None:
    ran = cli("import", str(OWN), "--out", "book", "--own")
    assert ran.code == 0, ran.err
    assert (cli.folder / "book" / "voice" / "story.md").is_file()
    report = cli("measure", "book", "--json").json["reports"]["voice"]
    whole = [row for row in report["rows"] if row["of"] != "the samples' halves" and row["what"] == "all four"]
    assert whole[0]["value"] == pytest.approx(1, abs=0.2)
    ran = cli("measure", str(OWN), "--voice", str(OWN), "--out", "numbers")
    assert "--voice cannot be combined with --out. Measure the stories without --out." in ran.err


def test_who_read_the_samples_of_an_imported_book_is_not_its_writer(cli: Cli) -> None:
    (cli.folder / "script.toml").write_text(script_of(REPLIES | REPLY), encoding="utf-8")
    assert cli("import", str(OWN), "--out", "book", "--own", "--model", "scripted:script.toml").code == 0
    assert cli("text", "style", "book", "--json").code == 0
    kind = ("--kind", "continue", "--dry-run", "--json")
    assert {call["role"] for call in cli("text", "suggest", "book", "resolution", *kind).json["calls"]} == {"writer"}


def test_the_faithful_preset_keeps_the_prompts_of_the_paper(cli: Cli, lamp: Path) -> None:
    (lamp / "style.md").write_text("Sentences like gravel.", encoding="utf-8")
    settings = (lamp / "fabula.toml").read_text(encoding="utf-8")
    (lamp / "fabula.toml").write_text(f'preset = "faithful"\n{settings}', encoding="utf-8")
    before = cli("update", "lamp", "--dry-run", "--json").json
    (lamp / "style.md").unlink()
    assert cli("update", "lamp", "--dry-run", "--json").json == before
