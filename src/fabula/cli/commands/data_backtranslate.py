"""`fabula data backtranslate`."""

from __future__ import annotations

from typing import Annotated

import typer

from fabula.base.errors import UsageError
from fabula.cli.options import Caps, Common, Performers, bundled


@bundled
def backtranslate(
    common: Common,
    performers: Performers,
    caps: Caps,
    out: Annotated[str, typer.Option(metavar="DIR", help="Folder for the training data and all calls.")],
    stories: Annotated[list[str], typer.Argument(metavar="STORY...", help="Stories.")],
) -> None:
    """Make training data for Agents' Room from finished stories."""
    raise UsageError(f"Not here yet: {common} {performers} {caps} {out} {stories}.")
