"""`fabula do`: run a verb in a process next to a server, with its arguments and its result as JSON."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Annotated

import typer

from fabula.base.errors import UnknownNameError, UsageError
from fabula.cli.opening import project_of, terminal_of
from fabula.cli.options import ProjectOptions, bundled
from fabula.cli.progress import ProgressDisplay
from fabula.cli.stopping import stoppable
from fabula.cli.verbs import opened
from fabula.verbs.base import every


@bundled
def do(
    common: ProjectOptions,
    verb: Annotated[str, typer.Argument(metavar="VERB", show_default=False)],
    where: Annotated[str, typer.Argument(metavar="PROJECT", show_default=False)],
    arguments: Annotated[str, typer.Argument(metavar="JSON", show_default=False)] = "{}",
) -> None:
    """Run a verb in a project."""
    terminal, verbs = terminal_of(common), every()
    if verb not in verbs:
        raise UnknownNameError("verb", verb, verbs)
    try:
        said = json.loads(arguments)
    except ValueError as error:
        raise UsageError(f"The arguments are not valid JSON: {error}.") from error
    if not isinstance(said, dict):
        raise UsageError('The arguments are not a JSON object. Name each argument, as in \'{"artefact": "climax"}\'.')
    given = verbs[verb].checked(said)
    project = opened(terminal, project_of(common, where))
    progress = ProgressDisplay(terminal, time.monotonic, ())
    terminal.aside, project.listeners = progress.aside, (progress,)
    if verb == "learn":
        from fabula.cli.training import TrainingProgress  # noqa: PLC0415 - slow, and few learn

        project.training = TrainingProgress(terminal).listener
    result = asyncio.run(stoppable(project.do_async(verbs[verb], given), "the same command"))
    terminal.document(result)
