"""Code shared by the commands that start a server: packages, tokens, and the links that are shown."""

from __future__ import annotations

import secrets
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from fabula.base.errors import UsageError
from fabula.base.extras import installing
from fabula.cli.help import MORE

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal

TokenEnv: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Environment variable with one or more tokens; default: a new token, which is shown once.",
        rich_help_panel=MORE,
    ),
]
_NEEDED: Final = ("fastapi", "nh3", "python_multipart", "uvicorn")


def check_packages(what: str) -> None:
    """Check that the packages needed for serving `what` are installed.

    Raises:
        UsageError: a package is missing.
    """
    missing = [name.replace("_", "-") for name in _NEEDED if find_spec(name) is None]
    if missing:
        shown = ", ".join(missing[:-1]) + " and " + missing[-1] if missing[1:] else missing[0]
        raise UsageError(f"{what} needs {shown}. Install them with `{installing('serve')}`.")


def tokens_of(terminal: Terminal, variable: str) -> tuple[list[str], str]:
    """Return the tokens of a server, and the newly made token (empty if a variable contains the tokens).

    Raises:
        UsageError: the variable contains no token.
    """
    if not variable:
        made = secrets.token_urlsafe(32)
        return [made], made
    said = terminal.environ.get(variable, "").replace(",", " ").split()
    if not said:
        raise UsageError(
            f"The environment variable {variable} does not contain a token. Set it, or leave --token-env "
            "out to get a new token."
        )
    return said, ""
