"""`fabula new-system`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from fabula.app.new_method import new_method
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.cli.session import near


@bundled
def new_system(
    common: Output,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new method and its folder.")],
    *,
    evaluator: Annotated[
        bool, typer.Option("--evaluator", help="Make an evaluator instead of a writing system.")
    ] = False,
) -> None:
    """Create a folder with a working example of your own system or evaluator."""
    terminal = terminal_of(common)
    home = new_method(Path(name).expanduser(), "evaluator" if evaluator else "system")
    path = near(home)
    path = shlex.quote(path if "/" in path else f"./{path}")
    terminal.say(f"{near(home)} is ready. Its README.md explains which file to change first.")
    run = f"fabula evaluate {path} story.md" if evaluator else f"fabula write brief.md --system {path}"
    terminal.advise(f"Next: `python -m fabula.testing {path}`, then `{run}`.")
    terminal.document({"folder": str(home), "kind": "evaluator" if evaluator else "system"})
