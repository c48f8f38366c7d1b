"""`fabula mcp`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from fabula.base.errors import UsageError
from fabula.base.extras import require
from fabula.base.files import no_file
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, bundled
from fabula.models.outside import CLIENT
from fabula.project.casting import full_name
from fabula.project.folder import BRIEF


@bundled
def mcp(
    common: Output,
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Folder that holds the projects.")] = ".",
    model: Annotated[
        str, typer.Option("--model", "-m", help="Model for projects without one; `client` uses the client's model.")
    ] = CLIENT,
) -> None:
    """Offer the projects in a folder to a program that uses the Model Context Protocol, over stdin and stdout."""
    terminal = terminal_of(common)
    require("mcp", "mcp", "fabula mcp")
    root = Path(folder).resolve()
    if not root.is_dir():
        advice = "Create it, or specify the folder of your projects."
        raise UsageError(
            f"{folder} is not a folder. {advice}" if root.exists() else no_file(Path(folder), advice, "folder")
        )
    if (root / BRIEF).is_file():
        raise UsageError(f"{folder} is a project. Specify its parent folder, in which clients create new projects.")
    from fabula.server.mcp_server import server  # noqa: PLC0415 - a second of imports
    from fabula.server.mcp_tools import Projects  # noqa: PLC0415 - as above

    if terminal.interactive:
        terminal.advise(
            f"Serving {root} over stdin and stdout. MCP clients start this command themselves. To stop it, press "
            "Ctrl-C."
        )
    asyncio.run(server(Projects(root, terminal.environ, full_name(model)), terminal.shown).run_stdio_async())
