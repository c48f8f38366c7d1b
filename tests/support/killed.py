"""A program that writes a project with a scripted model and kills its own process, for tests of what is left then.

Its arguments: the project, the script, a file that gets the path of every call it answers, the moment (`asked`, or the
name of an event), and the number of the call at which it dies. At the moment `rename` it renames the project and lives.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CHILD = """
import asyncio, os, signal, sys
from pathlib import Path
from fabula.app import writing as authoring
from fabula.app.writing import Options, write_in
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.engine.roles import Cast

folder, script, log, moment, dies_at = *map(Path, sys.argv[1:4]), sys.argv[4], int(sys.argv[5])
calls = 0

class Killed(ScriptedModel):
    async def ask(self, request, on_text=None):
        global calls
        calls += 1
        if moment == "asked" and calls == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if moment == "rename" and calls == dies_at:
            folder.rename(folder.with_name("renamed"))
        reply = await super().ask(request, on_text)
        with log.open("a") as file:
            file.write(request.path + "\\n")
        return reply

def listen(event):
    if moment == type(event).__name__ and calls == dies_at:
        os.kill(os.getpid(), signal.SIGKILL)

model = Killed.read(script)
authoring.open_cast = lambda settings, roles, world, open_role: Cast.of(model)
project = ProjectFolder.open(folder)
asyncio.run(write_in(project, project.settings, Options(listeners=[listen])))
"""

_TRAINING = """
import os, signal, sys
from fabula.training import running
from fabula.cli.main import main

logged, at = running._Watch.logged, int(sys.argv[1])

def dying(self, step, logs):
    logged(self, step, logs)
    if step == at and "loss" in logs:
        os.kill(os.getpid(), signal.SIGKILL)

running._Watch.logged = dying
sys.exit(main(sys.argv[2:]))
"""


def kill_in_training(step: int, command: Sequence[str]) -> None:
    """Give a command of `fabula train` to a process of its own, which is killed once this step is done."""
    child = subprocess.run(
        [sys.executable, "-c", _TRAINING, str(step), *command], capture_output=True, check=False, timeout=120
    )
    assert child.returncode == -signal.SIGKILL, child.stderr.decode()


_WRITING = """
import os, signal, sys

rename, left = os.replace, int(sys.argv[1])

def dying(source, target, **how):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    return rename(source, target, **how)

os.replace = dying
from fabula.cli.main import main
sys.exit(main(sys.argv[2:]))
"""


def kill_in_writing(files: int, command: Sequence[str], folder: Path) -> bool:
    """Give a command to a process that is killed once it has written so many files; whether it was, or ended before."""
    child = subprocess.run(
        [sys.executable, "-c", _WRITING, str(files), *command],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert child.returncode in (0, -signal.SIGKILL), child.stderr.decode()
    return child.returncode != 0
