"""Somebody who answers prompts in a folder, as a process of its own or from a test, with a script by role."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def waiting(folder: Path) -> list[dict[str, Any]]:
    """What has no answer yet; the index says so, where nobody has died before writing it."""
    index = folder / "index.json"
    listed = json.loads(index.read_text())["waiting"] if index.exists() else []
    return [one for one in listed if not (folder / one["answer"]).exists()]


def answer(folder: Path, one: Mapping[str, Any], script: Mapping[str, str]) -> str:
    """Put the answer beside a prompt, in one step; gives the place that it answers."""
    asked = json.loads((folder / one["request"]).read_text())
    text = script.get(f"{asked['role']}:{asked['path'].rpartition('/')[2]}") or script[asked["role"]]
    part = folder / f"{one['answer']}.part"
    part.write_text(text)
    part.rename(folder / one["answer"])
    return str(asked["path"])


def answer_all(folder: Path, script: Mapping[str, str], log: Path) -> None:
    """Answer whatever waits, until the process is ended."""
    while True:
        for one in waiting(folder):
            with log.open("a") as file:
                file.write(f"{answer(folder, one, script)}\n")
        time.sleep(0.05)


if __name__ == "__main__":
    answer_all(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text()), Path(sys.argv[3]))
