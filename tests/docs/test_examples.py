"""Every example runs."""

from __future__ import annotations

import runpy
from typing import TYPE_CHECKING

import pytest

from fabula.craft.length import read_range
from fabula.story import Brief, count_words
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = ROOT / "examples"
BRIEFS = sorted((EXAMPLES / "briefs").glob("*.md"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_it_runs_as_a_command(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FABULA_MODEL", f"scripted:{EXAMPLES / 'scripts' / 'twenty_lines.toml'}")
    runpy.run_path(str(path), run_name="__main__")
    assert "Mara" in capsys.readouterr().out or path.stem == "write_from_python"


def test_twenty_lines_write_judge_check_and_talk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = EXAMPLES / "twenty_lines.py"
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 20
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FABULA_MODEL", f"scripted:{EXAMPLES / 'scripts' / 'twenty_lines.toml'}")
    runpy.run_path(str(script), run_name="__main__")
    shown = capsys.readouterr().out
    assert "On Monday Tobias brought Mara a letter" in shown
    asked = [line.partition(":")[0] for line in shown.splitlines() if line.startswith("[")]
    assert {"[judge", "[reader", "[verifier"} < set(asked), "also who is asked in a check is seen"
    better = "The better one: chosen-draft"
    assert (
        f"136 and 148 words, by scripted:{EXAMPLES / 'scripts' / 'twenty_lines.toml'}. {better}" in shown.splitlines()
    )
    finding = '"in her grey coat" against "buttoned her blue coat"\n'
    assert "\n[labeller: " in shown.partition(finding)[2], "also who is asked for the answer is seen"
    assert shown.endswith("\nMara: (folds the letter twice) That I am to sleep at nine, and the lamp too.\n")
    assert (tmp_path / "chosen-draft" / "chat" / "visitor-mara.jsonl").is_file(), (
        "nobody else is known to talk with her"
    )


def test_a_changed_character_sheet_costs_its_dependants_only(tmp_path: Path) -> None:
    main = runpy.run_path(str(EXAMPLES / "write_from_python.py"))["main"]
    asked = main(tmp_path / "story")
    parts = ("setting/setting", "plot/plot", "exposition/section", "rising-action/section", "climax/section")
    assert asked == [*parts, "falling-action/section", "resolution/section"]


def test_program_and_person_are_heard(tmp_path: Path) -> None:
    story = runpy.run_path(str(EXAMPLES / "mixed_room.py"))["main"](tmp_path / "story")
    assert "put the letter into the stove" in story.text
    assert "north-west, force" in (tmp_path / "story" / "plan" / "setting.md").read_text(encoding="utf-8")


def test_the_room_follows_the_function(tmp_path: Path) -> None:
    story = runpy.run_path(str(EXAMPLES / "own_orchestrator.py"))["main"](tmp_path / "story")
    assert [scene.label for scene in story.scenes] == ["Climax", "Exposition", "Resolution"]


@pytest.mark.parametrize("path", BRIEFS, ids=lambda path: path.stem)
def test_a_brief_states_its_length(path: Path) -> None:
    brief = Brief.read(path)
    assert brief.title
    assert 75 <= count_words(brief.text) <= 125
    assert read_range(brief.text) is not None


def test_there_are_briefs_to_choose_from() -> None:
    assert len(BRIEFS) >= 3
