"""How long a person waits for `fabula --help`, and a program for `import fabula`."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.table import Row, Table

TITLE: Final = "starting up"
_SCRIPT: Final = Path(sys.executable).with_name("fabula")
_HELP: Final = [str(_SCRIPT), "--help"] if _SCRIPT.exists() else [sys.executable, "-m", "fabula", "--help"]
_COMMANDS: Final = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "import fabula": [sys.executable, "-c", "import fabula"],
    "import fabula; fabula.write": [sys.executable, "-c", "import fabula; fabula.write"],
    "fabula --help": _HELP,
}


@dataclass(frozen=True, slots=True)
class Sizes:
    """How often each command is started."""

    rounds: int = 15


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds of one start."""

    wall: float
    cpu: float


def bench(sizes: Sizes | None = None) -> Table:
    """Each command in turns with a Python that does nothing."""
    sizes = sizes or Sizes()
    found: dict[str, list[Took]] = {name: [] for name in _COMMANDS}
    for number in range(sizes.rounds + 1):
        for name, command in _COMMANDS.items():
            took = started(command)
            if number:  # the first round compiles and fills the page cache
                found[name].append(took)
    bare = found["python -c pass"]

    def above(name: str) -> tuple[float, ...]:
        return tuple(took.cpu - base.cpu for took, base in zip(found[name], bare, strict=True))

    rows = (
        Row("python -c pass: wall", tuple(took.wall for took in bare), "s", "start"),
        Row("python -c pass: CPU", tuple(took.cpu for took in bare), "s CPU", "start"),
        Row("fabula --help: wall", tuple(took.wall for took in found["fabula --help"]), "s", "start", most=0.4),
        Row("fabula --help: CPU", tuple(took.cpu for took in found["fabula --help"]), "s CPU", "start"),
        Row("import fabula: CPU above bare Python", above("import fabula"), "s CPU", "start", most=0.3),
        Row(
            "import fabula; fabula.write: CPU above bare Python", above("import fabula; fabula.write"), "s CPU", "start"
        ),
    )
    notes = (
        f"Help is asked for with `{Path(_HELP[0]).name} {' '.join(_HELP[1:])}`; bytecode and page cache are warm.",
        (
            "`import fabula` loads no other module of the package; `fabula.write` loads what writing needs, without "
            "any model's library."
        ),
    )
    return Table("startup", TITLE, rows, notes)


def started(command: list[str]) -> Took:
    """One start to its end.

    Raises:
        subprocess.CalledProcessError: the command failed.
    """
    before, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command line
    wall, after = time.perf_counter() - wall, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
