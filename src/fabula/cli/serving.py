"""What the commands that serve have in common: packages, tokens, and how a link is shown."""

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
        help="Variable that holds the token, or several; default: a new one, shown once.",
        rich_help_panel=MORE,
    ),
]
_NEEDED: Final = ("fastapi", "nh3", "python_multipart", "uvicorn")


def check_packages(what: str) -> None:
    """See that the packages are there with which `what` is served.

    Raises:
        UsageError: some are missing.
    """
    missing = [name.replace("_", "-") for name in _NEEDED if find_spec(name) is None]
    if missing:
        shown = ", ".join(missing[:-1]) + " and " + missing[-1] if missing[1:] else missing[0]
        raise UsageError(f"{what} needs {shown}. Install them with `{installing('serve')}`.")


def tokens_of(terminal: Terminal, variable: str) -> tuple[list[str], str]:
    """The tokens that open a server, and the one that was made for it; empty where a variable holds them.

    Raises:
        UsageError: the variable holds none.
    """
    if not variable:
        made = secrets.token_urlsafe(32)
        return [made], made
    said = terminal.environ.get(variable, "").replace(",", " ").split()
    if not said:
        raise UsageError(f"The variable {variable} holds no token. Set it, or leave --token-env out for a new token.")
    return said, ""
