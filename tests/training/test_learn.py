"""`fabula learn`, whole, on a tiny random model: stories by a program, an author who edits, an adapter in use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tinygguf
from commandline import BY_PARTS, Cli
from fabula.models.adapters import read_adapter
from fabula.project.learned import places

pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
pytest.importorskip("trl")
pytest.importorskip("peft")

PARTS = ("exposition", "rising_action", "climax", "falling_action", "resolution")
STORIES = 3
QUICK = ("--set", "epochs=1", "--set", "samples=0", "--set", "precision=float32", "--set", "learning_rate=0.01")
PROGRAM = """
import hashlib

WORDS = "lamp boat storm letter stairs bread reef glass wind rope night keeper salt door oar".split()


def play(request):
    drawn = hashlib.sha256(repr(request.messages).encode()).digest()
    words = [WORDS[byte % len(WORDS)] for byte in drawn[:18]]
    return ("The " + " and the ".join(words) + " were there when she came home that evening.")
"""


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A folder with a base, a program that writes, and stories that their author has edited."""
    monkeypatch.chdir(tmp_path)
    tinygguf.write_model(tmp_path / "tiny.gguf", tinygguf.weights(), context=4096)
    (tmp_path / "program.py").write_text(PROGRAM)
    run = Cli(tmp_path, capsys, monkeypatch)
    roles = ("conflict", "character", "setting", "plot", *PARTS)
    played = [part for role in roles for part in ("--play", f"{role}=program.py:play")]
    for number in range(STORIES):
        (tmp_path / f"story-{number}.md").write_text(f"# Story {number}\n\nA keeper finds {number} letters.\n")
        model = ("--model", "embedded:tiny.gguf")
        ran = run("write", f"story-{number}.md", *model, *played, *BY_PARTS, "--yes", "--quiet")
        assert ran.code == 0, ran.err
        edit(tmp_path / f"story-{number}")
        assert run("update", f"story-{number}", "--yes", "--quiet").code == 0
    return run


def edit(project: Path) -> None:
    """The author's hidden preference: short sentences."""
    for file in (project / "story").glob("*.md"):
        head, _, text = file.read_text(encoding="utf-8").rpartition("\n\n")
        file.write_text(f"{head}\n\n{text.replace(' and the ', '. The ')}", encoding="utf-8")


def names() -> list[str]:
    return [f"story-{number}" for number in range(STORIES)]


def test_the_whole_loop(cli: Cli) -> None:
    said = cli("learn", *names(), "--dry-run", "--json", *QUICK)
    assert said.code == 0, said.out
    dry: dict[str, Any] = said.json
    assert (dry["pairs"], dry["held_out"], dry["trainings"]) == (15, 15, 6)
    assert dry["memory"] > 0
    assert dry["seconds"] > 0
    assert not places({})
    ran = cli("learn", *names(), "--json", "--use-anyway", *QUICK)
    assert ran.code == 0, ran.out
    found = ran.json
    assert found["n"] == 15
    assert set(found["right"]) == {"tuned", "base", "longer", "shorter", "later"}
    assert sorted(found["roles"]) == sorted(PARTS)
    adapter = Path(found["adapter"])
    record = read_adapter(adapter)
    assert record is not None
    assert record.base_digest == found["base_digest"]
    (cli.folder / "new.md").write_text("# New\n\nA keeper finds a door.\n")
    fresh = cli("write", "new.md", "--model", "embedded:tiny.gguf", *BY_PARTS, "--sampling", "max_tokens=8")
    assert "Writes with what it learned from you (15 pairs" in fresh.err
    assert cli("learn", "--forget", "--yes").code == 0
    assert not adapter.exists()
    assert not places({})
