"""`fabula studio`."""

from __future__ import annotations

import asyncio
import threading
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.writing import Options
from fabula.base.addresses import is_loopback_host
from fabula.base.errors import UsageError
from fabula.cli.help import MORE
from fabula.cli.opening import terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.serving import TokenEnv, check_packages, tokens_of
from fabula.cli.stopping import stoppable
from fabula.server.running import listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.cli.terminal import Terminal

PORT: Final = 8731


@dataclass(frozen=True, slots=True)
class StudioListening:
    """Where the studio listens, and who can use it."""

    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 chooses a free port.")] = PORT
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link without opening a browser.")] = False
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; any address except loopback requires --allow-remote.",
            rich_help_panel=MORE,
        ),
    ] = "127.0.0.1"
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Accept connections from other machines that have the link.", rich_help_panel=MORE
        ),
    ] = False
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name of a proxy in front of the studio.", rich_help_panel=MORE),
    ] = None
    token_env: TokenEnv = ""


@bundled
def studio(
    common: ProjectOptions,
    listen: StudioListening,
    folders: Annotated[
        list[str] | None,
        typer.Argument(metavar="[DIR]...", help="Projects, or folders of projects.", show_default="this folder"),
    ] = None,
) -> None:
    """Open projects in the browser, where you can write, edit, plan, talk and measure."""
    terminal = terminal_of(common)
    check_packages("The studio")
    if folders and common.folder:
        raise UsageError(
            f"{folders[0]} and -C {common.folder} cannot be used together. Use only one, or specify "
            "several folders as arguments."
        )
    if not is_loopback_host(listen.host) and not listen.allow_remote:
        raise UsageError(
            f"{listen.host} is open to other machines. Add --allow-remote to give them access to the studio, or leave "
            "--host out."
        )
    asyncio.run(stoppable(_served(terminal, listen, folders or [common.folder or "."]), "the same command"))


async def _served(terminal: Terminal, listen: StudioListening, folders: Sequence[str]) -> None:
    """Serve until a signal comes; print the link once the server accepts requests."""
    from fabula.server.browser import link_to  # noqa: PLC0415 - a second of imports
    from fabula.server.state import StudioState  # noqa: PLC0415 - as above
    from fabula.server.studio.running import StudioOffer, serve_studio  # noqa: PLC0415 - as above
    from fabula.verbs.home import Home  # noqa: PLC0415 - as above

    shelf = Home.of([Path(folder) for folder in folders], terminal.environ)
    tokens, made = tokens_of(terminal, listen.token_env)
    state = StudioState(shelf, Options(environ=terminal.environ))
    offer = StudioOffer(state, tokens, listen.host, listen.allow_host or ())
    with listening(listen.host, listen.port) as opened:
        address = link_to(opened)
        link = link_to(opened, made) if made else address
        if not is_loopback_host(listen.host):
            terminal.message(
                f"Warning: {listen.host} is open to other machines. Texts are sent unencrypted. Put a TLS proxy in "
                "front of this server, and give the link only to people you trust."
            )

        def ready() -> None:
            _show(terminal, shelf.names, link, listen)
            terminal.document({"address": address, "link": link, "projects": shelf.names})

        try:
            await serve_studio(offer, opened, ready)
        finally:
            if running := state.runs.running:
                what = (
                    "A run continues on its own" if len(running) == 1 else f"{len(running)} runs continue by themselves"
                )
                terminal.advise(f"{what}. Open the studio again to watch or stop it.")


def _show(terminal: Terminal, projects: Sequence[str], link: str, listen: StudioListening) -> None:
    """Print which projects are open and where, and open the browser."""
    count = f"{len(projects)} projects" if len(projects) != 1 else f"the project {projects[0]}"
    terminal.say(f"The studio is open, with {count}: {link}")
    if listen.token_env:
        terminal.advise(f"Sign in with the token of {listen.token_env}: add /login?token=TOKEN to the address.")
    terminal.advise("To stop the studio, press Ctrl-C. All saved texts are kept.")
    if not listen.no_browser and not terminal.json:
        threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
