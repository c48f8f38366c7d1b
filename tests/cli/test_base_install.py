"""What `pip install fabula` without an extra can do, and what it says where a package is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from fabula.base.extras import installing
from fabula.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRAS: Final = (
    "botocore", "cryptography", "docx", "fastapi", "genai_prices", "httpx2", "nh3", "pygls", "python_multipart",
    "scipy", "uvicorn", "xllamacpp",
)  # fmt: skip
# In a process in which those are missing. What fails to load is tried again by the next command.
_WITHOUT: Final = f"""
import os, sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from fabula.cli.main import main
os.chdir("demo")
for number, line in enumerate(sys.argv[1:]):
    with open(f"../{{number}}.out", "w") as sys.stdout, open(f"../{{number}}.err", "w") as sys.stderr:
        code = main(line.split())
    with open(f"../{{number}}.code", "w") as file:
        file.write(str(code))
"""
WORKING: Final = (
    *(
        "show",
        "show --timeline",
        "world",
        "status",
        "show climax --versions",
        "update --dry-run",
        "export --format epub",
        "export --format docx",
    ),
    *("measure .", "models", "systems"),
)
LACKING: Final = {
    "lsp": "fabula lsp needs the package pygls, which is not installed",
    "serve": "The server needs fastapi, nh3, python-multipart and uvicorn",
    "check story.md --model openai:gpt-5 --out found": (
        "The model openai:gpt-5 needs the package httpx2, which is not installed"
    ),
    "check story.md --model embedded:none.gguf --out found": (
        "There is no model file at none.gguf (No such file or directory)"
    ),
}
Ran = subprocess.CompletedProcess[str]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Ran]:
    """All commands, one after the other, in a sample where the packages of all extras are missing."""
    folder, lines = tmp_path_factory.mktemp("base"), (*WORKING, *LACKING)
    assert main(["sample", str(folder / "demo"), "--quiet"]) == 0
    subprocess.run([sys.executable, "-c", _WITHOUT, *lines], cwd=folder, check=True, timeout=600)
    return {line: _ran(folder, number) for number, line in enumerate(lines)}


def _ran(folder: Path, number: int) -> Ran:
    code, out, err = (Path(folder, f"{number}.{name}").read_text(encoding="utf-8") for name in ("code", "out", "err"))
    return subprocess.CompletedProcess((), int(code), out, err)


@pytest.mark.parametrize("command", WORKING)
def test_commands_that_ask_nobody_work_without_any_extra(ran: Mapping[str, Ran], command: str) -> None:
    assert ran[command].returncode == 0, ran[command].stderr
    assert ran[command].stdout
    assert "sorry" not in ran[command].stderr.lower()


@pytest.mark.parametrize(("command", "message"), LACKING.items())
def test_what_is_missing_is_said_with_the_line_that_installs_it(
    ran: Mapping[str, Ran], command: str, message: str
) -> None:
    assert ran[command].returncode != 0
    assert f"fabula: {message}. " in ran[command].stderr
    assert installing("").replace("[]'", "[") in ran[command].stderr


def test_a_model_that_is_not_fetched_yet_is_said_together_with_the_engine_it_needs(ran: Mapping[str, Ran]) -> None:
    engine, weights = (
        f"`{installing('engine')}` installs the required engine",
        "`fabula models pull smollm2` downloads a small model, and",
    )
    said = ran["check story.md --model embedded:none.gguf --out found"].stderr
    assert f"{engine}, and {weights}" in said


_JUDGED: Final = """
import sys
sys.modules.update(dict.fromkeys(("scipy", "scipy.special", "scipy.stats")))
import fabula

class First:
    calls = 0

    def reply(self, prompt: str, *, fields: dict | None = None) -> str:
        First.calls += 1
        return "\\n".join(f"{label}: A" for label in fields["labels"])

stories = ["Mara lit the lamp.", "Mara lit the lamp again.", "Nobody lit it, and the boat was lost."]
print(fabula.judge(*stories[:2], model=First(), folder=None).better, First.calls)
First.calls = 0
try:
    fabula.rank(*stories, model=First())
except fabula.FabulaError as error:
    print(error, First.calls)
"""


def test_a_pair_is_judged_without_scipy_and_of_more_it_is_said_before_anybody_is_asked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _JUDGED], cwd=tmp_path, check=True, capture_output=True, text=True, timeout=600
    )
    judged, ranked = done.stdout.splitlines()
    assert judged.startswith("same ")
    assert ranked.startswith("An interval over several stories needs the package scipy")
    assert ranked.endswith(f"`{installing('measure')}`. 0")
