"""Every Python example of README and docs is typed as strictly as fabula is."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from blocks import blocks
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PART = "a part of"
"""Why a block is not run that stands in a whole file somewhere, which is checked there."""
HEAVY = ("datasets", "trl")  # which only `fabula[train]` brings


def code_of(page: Path) -> str:
    """The blocks of a page as one file, each in its line of the page."""
    lines = [""] * len(page.read_text(encoding="utf-8").splitlines())
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python" and PART not in block.not_run:
            code = block.text.splitlines()
            lines[block.line : block.line + len(code)] = code
    return "\n".join(lines).rstrip()


@pytest.mark.slow
def test_every_example_passes_strict_type_checks(tmp_path: Path) -> None:
    files: list[Path] = []
    for page in PAGES:
        if code := code_of(page):
            files.append(tmp_path / f"{page.stem.replace('-', '_')}_{len(files)}.py")
            files[-1].write_text(code + "\n", encoding="utf-8")
    assert len(files) > 10
    (tmp_path / "wrong.py").write_text("import fabula\n\nfabula.write(1)\n", encoding="utf-8")
    config = tmp_path / "mypy.ini"
    ignored = "".join(f"[mypy-{name}.*]\nignore_missing_imports = True\n" for name in HEAVY)
    config.write_text(f"[mypy]\nstrict = True\nmypy_path = {ROOT / 'src'}\n{ignored}", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(config),
        "--cache-dir",
        str(ROOT / ".mypy_cache/docs"),
    ]
    done = subprocess.run(
        [*command, *map(str, files), str(tmp_path / "wrong.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    *found, last = done.stdout.splitlines()
    assert [line for line in found if not line.startswith("wrong.py:3: error: Argument 1")] == [], done.stderr
    assert last.startswith("Found 1 error in 1 file")
