"""`fabula lab inject`."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from fabula.app.injecting.screenplays import METHOD, dry_run_injection, inject_in
from fabula.base.errors import UsageError
from fabula.cli.asked import evaluator_config, performers_of
from fabula.cli.asking import Asking
from fabula.cli.bill import say_bill
from fabula.cli.opening import terminal_of
from fabula.cli.options import Output, Performers, SpendingLimits, bundled
from fabula.cli.progress import counted
from fabula.project.settings import Settings


@bundled
def inject(
    common: Output,
    performers: Performers,
    limits: SpendingLimits,
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Folder for the screenplays and the record of the call."),
    ],
    screenplays: Annotated[
        int | None,
        typer.Option(min=1, max=50, metavar="N", help="Number of screenplays to write.", show_default="3"),
    ] = None,
) -> None:
    """Have a model write screenplays with known errors, to test checkers (MAGNET, appendix A.3.3)."""
    terminal = terminal_of(common)
    if performers.preset is not None:
        raise UsageError("--preset would have no effect: both presets are the paper's. Leave it out.")
    settings = Settings().with_(performers_of(performers, Settings()))
    given = [*(performers.set_ or ()), *([] if screenplays is None else [f"stories={screenplays}"])]
    config = evaluator_config(replace(performers, set_=given), settings, METHOD)
    config.validate()
    folder = Path(out)
    asking = Asking(terminal, METHOD, performers, settings, limits, folder)
    made = asking.run(
        "inject",
        lambda options: dry_run_injection(folder, config, settings, options),
        lambda options: inject_in(folder, config, settings, options),
    )
    for one in made:
        terminal.say(f"{one.id}: {counted(len(one.script), 'scene')}, {counted(len(one.annotations), 'error')}")
        for sentence in one.wrong:
            terminal.message(f"  {sentence}")
    terminal.advise("Have a person check each annotation, because some are wrong, as in the paper (A.3.4).")
    say_bill(terminal, asking.bill)
    terminal.document(
        {
            "files": [str(file) for one in made for file in one.files(folder)],
            "screenplays": [asdict(one) for one in made],
            **asking.bill.as_data(),
        }
    )
    if any(not one.script for one in made):
        raise typer.Exit(1)
