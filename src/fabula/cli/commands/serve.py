"""`fabula serve`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from fabula.app.conversing import CARD_SYSTEM, PLAYER, card_project, is_card
from fabula.app.writing import Options
from fabula.base.addresses import is_loopback_host
from fabula.base.errors import UsageError
from fabula.cli.asked import changes_of, say_default
from fabula.cli.commands.chat import settings_of
from fabula.cli.help import MORE
from fabula.cli.opening import named_or_here, project_of, terminal_of
from fabula.cli.options import Caps, Choices, ProjectOptions, bundled
from fabula.cli.serving import TokenEnv, check_packages, tokens_of
from fabula.cli.stopping import stoppable
from fabula.project.settings import Settings
from fabula.server.chat.running import Offer, base_url
from fabula.server.chat.running import serve as serve_projects
from fabula.server.gate import Bounds
from fabula.server.running import listening
from fabula.story import slug
from fabula.story.cards import read_card

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.project.folder import ProjectFolder
    from fabula.server.chat.projects import ServedProjects

PORT: Final = 8730
_BOUNDS: Final = Bounds()
_LONGEST: Final = 200  # models that are listed at the start


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens, and which requests it accepts."""

    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="Address to listen on; any address except loopback is open to other machines."
        ),
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 chooses a free port.")] = PORT
    token_env: TokenEnv = ""
    as_: Annotated[str, typer.Option("--as", metavar="NAME", help="The character that clients play.")] = ""
    rate: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="Maximum number of requests per minute for each token; 0 means no limit.",
            rich_help_panel=MORE,
        ),
    ] = _BOUNDS.rate
    parallel: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of answers at once.", rich_help_panel=MORE)
    ] = _BOUNDS.turns
    max_body: Annotated[int, typer.Option(min=1000, metavar="BYTES", help="Largest request.", rich_help_panel=MORE)] = (
        _BOUNDS.body
    )
    no_api: Annotated[
        bool,
        typer.Option(
            "--no-api",
            help="Offer only conversations, without /api/v1, so that you can share tokens.",
            rich_help_panel=MORE,
        ),
    ] = False
    allow_remote: Annotated[
        bool,
        typer.Option("--allow-remote", help="Also offer /api/v1 to other machines.", rich_help_panel=MORE),
    ] = False
    timeout: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Longest time for an answer.", rich_help_panel=MORE)
    ] = _BOUNDS.answer

    @property
    def bounds(self) -> Bounds:
        """The limits on requests."""
        return replace(_BOUNDS, rate=self.rate, turns=self.parallel, body=self.max_body, answer=self.timeout)

    @property
    def api(self) -> bool:
        """Return whether the server also serves projects."""
        return not self.no_api and (self.allow_remote or is_loopback_host(self.host))


@bundled
def serve(
    common: ProjectOptions,
    choices: Choices,
    listen: Listening,
    caps: Caps,
    projects: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROJECT]...", help="Project folders, or character cards.", show_default="this folder"),
    ] = None,
) -> None:
    """Serve the characters of projects to chat programs through the OpenAI chat completions API."""
    terminal = terminal_of(common)
    check_packages("The server")
    if choices.words is not None:
        raise UsageError("--words applies only to writing: a conversation has no set length. Leave it out.")
    folders = named_or_here(common, projects)
    opened = [_project(common, choices, folder, listen.as_.strip()) for folder in folders]
    if any(is_card(Path(folder)) for folder in folders):  # which are made into projects with the default model
        say_default(terminal, choices)
    offered = [(project, settings_of(choices, project.settings, terminal)) for project in opened]
    tokens, made = tokens_of(terminal, listen.token_env)
    offer = Offer(
        offered,
        Options(environ=terminal.environ, whole=caps.budget),
        tokens,
        listen.bounds,
        listen.as_.strip(),
        listen.api,
    )
    _ = offer.names  # two that are alike are found before anything is asked
    asyncio.run(stoppable(_served(terminal, offer, listen, made), "the same command"))


def _project(common: ProjectOptions, choices: Choices, where: str, player: str) -> ProjectFolder:
    """The project in that folder, or of a character card."""
    if not is_card(Path(where)):
        return project_of(replace(common, folder=""), where)
    card = read_card(Path(where))
    changes = changes_of(replace(choices, system=choices.system or CARD_SYSTEM), Settings())
    return card_project(card, Path(slug(card.name)), player or PLAYER, changes, {})


async def _served(terminal: Terminal, offer: Offer, listen: Listening, made: str) -> None:
    """Serve until a signal comes; print the address once the server accepts requests."""
    with listening(listen.host, listen.port) as opened:
        if not is_loopback_host(listen.host):
            terminal.message(
                f"Warning: {listen.host} is open to other machines. Conversations are sent unencrypted. Put a TLS "
                "proxy in front of this server, and give the token only to people you trust."
            )

        def ready(catalogue: ServedProjects) -> None:
            _show(terminal, base_url(opened), catalogue, made, api=offer.api)

        await serve_projects(offer, opened, ready)


def _show(terminal: Terminal, address: str, catalogue: ServedProjects, made: str, *, api: bool) -> None:
    """Print the address of the server, the characters, and the token if it is new."""
    models = catalogue.models
    terminal.say(f"Listening at {address}")
    for small in dict.fromkeys(one.conversing.too_small for one in catalogue.projects.values()):
        if small:
            terminal.advise(small)
    for model in models[:_LONGEST]:
        terminal.say(f"  {model}")
    if made:
        terminal.say(f"Token (shown once and not stored): {made}")
    if api:
        terminal.advise(
            "Anyone with the token can also read the projects and start runs at /api/v1; --no-api turns that off."
        )
    terminal.advise("To stop the server, press Ctrl-C. All conversations continue when you start it again.")
    terminal.document({"address": address, "models": models} | ({"token": made} if made else {}))
