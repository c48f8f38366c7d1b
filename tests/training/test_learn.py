"""`fabula learn`, whole, on a tiny random model: stories by a program, an author who edits, an adapter in use."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final

import pytest

import tinygguf
from commandline import BY_PARTS, Cli
from fabula.cli.main import main
from fabula.models.adapters import read_adapter
from fabula.project.learned import place_of, places
from patience import wait_until

pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
pytest.importorskip("trl")
pytest.importorskip("peft")
pytest.importorskip("xllamacpp")

PARTS: Final = ("exposition", "rising_action", "climax", "falling_action", "resolution")
NAMES: Final = ("story-0", "story-1", "story-2")
QUICK: Final = ("--set", "samples=0", "--set", "precision=float32", "--set", "prompt_tokens=600")
PROGRAM: Final = """
import hashlib

WORDS = "lamp boat storm letter stairs bread reef glass wind rope night keeper salt door oar".split()


def play(request):
    drawn = hashlib.sha256(repr(request.messages).encode()).digest()
    words = [WORDS[byte % len(WORDS)] for byte in drawn[:18]]
    return "The " + " and the ".join(words) + " were there when she came home that evening."
"""


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a base, a program that writes, and stories that their author has edited."""
    folder = tmp_path_factory.mktemp("stories")
    weights, tokenizer = tinygguf.weights(), tinygguf.like_smollm()
    tinygguf.write_model(folder / "tiny.gguf", weights, context=4096, tokenizer=tokenizer)
    (folder / "program.py").write_text(PROGRAM)
    roles = ("conflict", "character", "setting", "plot", *PARTS)
    played = [part for role in roles for part in ("--play", f"{role}=program.py:play")]
    options = ("--model", "embedded:tiny.gguf", *played, *BY_PARTS, "--yes", "--quiet")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        patch.chdir(folder)
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        for name in NAMES:
            (folder / f"{name}.md").write_text(f"# {name}\n\nA keeper finds letters in {name}.\n")
            assert main(["write", f"{name}.md", *options]) == 0
            edit(folder / name)
            assert main(["update", name, "--yes", "--quiet"]) == 0
    return folder


def edit(project: Path) -> None:
    """The author's hidden preference: short sentences."""
    for file in (project / "story").glob("*.md"):
        head, _, text = file.read_text(encoding="utf-8").rpartition("\n\n")
        file.write_text(f"{head}\n\n{text.replace(' and the ', '. The ')}", encoding="utf-8")


@pytest.fixture
def cli(stories: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(stories)
    return Cli(stories, capsys, monkeypatch)


def test_the_whole_loop(cli: Cli) -> None:
    said = cli("learn", *NAMES, "--dry-run", "--json", *QUICK)
    assert said.code == 0, said.out
    dry: dict[str, Any] = said.json
    assert (dry["pairs"], dry["held_out"], dry["trainings"]) == (15, 15, 6)
    assert dry["memory"] > 0
    assert dry["seconds"] > 0
    assert not places({})
    ran = cli("learn", *NAMES, "--json", "--use-anyway", *QUICK, "--set", "epochs=1")
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
    played = [
        part for role in ("conflict", "character", "setting", "plot") for part in ("--play", f"{role}=program.py:play")
    ]
    options = (*played, *BY_PARTS, "--sampling", "max_tokens=8")
    new = cli("write", "new.md", "--model", "embedded:tiny.gguf", *options)
    assert "fabula writes with what it learned from you (15 pairs" in new.err
    assert "with adapters for climax, exposition, falling_action, resolution and 1 more" in new.err
    assert cli("learn", "--forget", "--yes").code == 0
    assert not adapter.exists()
    assert not places({})


def test_a_learning_that_is_killed_goes_on_to_the_same_numbers(cli: Cli) -> None:
    command = ("learn", *NAMES, "--quick", "--json", *QUICK, "--set", "epochs=3", "--set", "evaluate_every=1")
    whole = cli(*command, "--author", "Whole").json
    process = subprocess.Popen(
        [sys.executable, "-m", "fabula", *command, "--author", "Killed"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    place = place_of("Killed", os.environ)
    checkpoints = place.next / "part-1" / "adapter" / "checkpoints"
    wait_until(lambda: list(checkpoints.glob("*/whole.json")) or process.poll() is not None)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert place.read() is None
    assert "goes on" in cli("learn", "--status", "--author", "Killed").out
    killed = cli(*command, "--author", "Killed").json
    for name in ("n", "right", "tuned_above", "better"):
        assert killed[name] == whole[name]
    assert Path(killed["adapter"]).name == Path(whole["adapter"]).name, "the same weights"
    assert not place.next.exists()


def test_ctrl_c_keeps_what_is_learned_until_then(cli: Cli) -> None:
    command = ("learn", *NAMES, "--quick", *QUICK, "--set", "epochs=40", "--set", "evaluate_every=1")
    process = subprocess.Popen(
        [sys.executable, "-m", "fabula", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    checkpoints = place_of("", os.environ).next / "part-1" / "adapter" / "checkpoints"
    wait_until(lambda: list(checkpoints.glob("*/whole.json")) or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Stopped. Everything learned so far is kept. To continue, give the same command again." in said
    assert list(checkpoints.glob("*/whole.json"))
