"""What `pip install fabula` without an extra can do, and what it says where a package is missing."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

import pytest

from fabula.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

EXTRAS: Final = (
    "anthropic", "cryptography", "docx", "fastapi", "genai_prices", "google.genai", "httpx2", "nh3", "openai",
    "pydantic_ai", "python_multipart", "scipy", "uvicorn", "xllamacpp",
)  # fmt: skip
_WITHOUT: Final = (
    f"import sys; sys.modules.update(dict.fromkeys({EXTRAS!r})); from fabula.cli.main import main; sys.exit(main())"
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base") / "demo"
    assert main(["sample", str(folder), "--quiet"]) == 0
    return folder


def base(sample: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command in a process in which the packages of all extras are missing."""
    command = [sys.executable, "-c", _WITHOUT, *arguments]
    return subprocess.run(command, cwd=sample, check=False, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "command",
    ["show", "show --timeline", "world", "status", "history climax", "update --dry-run", "export --format epub",
     "measure .", "models", "systems"],
)  # fmt: skip
def test_commands_that_ask_nobody_work_without_any_extra(sample: Path, command: str) -> None:
    ran = base(sample, *command.split())
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout
    assert "sorry" not in ran.stderr.lower()


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("export --format docx", "A Word file needs the package docx, which is not installed"),
        ("serve", "The server needs fastapi, nh3, python-multipart and uvicorn"),
        (
            "check story.md --model openai:gpt-5 --out found",
            "The model openai:gpt-5 needs the package pydantic_ai, which is not installed",
        ),
        (
            "check story.md --model embedded:none.gguf --out found",
            "No model file at none.gguf (No such file or directory)",
        ),
    ],
)
def test_what_is_missing_is_said_with_the_line_that_installs_it(sample: Path, command: str, message: str) -> None:
    ran = base(sample, *command.split())
    assert ran.returncode != 0
    assert f"fabula: {message}. " in ran.stderr
    assert "pip install 'fabula[" in ran.stderr


def test_a_model_that_is_not_fetched_yet_is_said_together_with_the_engine_it_needs(sample: Path) -> None:
    said = base(sample, "check", "story.md", "--model", "embedded:none.gguf", "--out", "found").stderr
    engine, weights = (
        "`pip install 'fabula[engine]'` brings the engine",
        "`fabula models pull smollm2` fetches a small one",
    )
    assert f"{engine} that it needs, and {weights}" in said
