"""The options of commands that can divide their work among processes or machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.parts import folder_of_part, read_part
from fabula.app.workers.spread import Spread
from fabula.cli.help import MORE
from fabula.cli.progress import counted
from fabula.cli.session import near
from fabula.models.servers import Part

if TYPE_CHECKING:
    from fabula.app.bills import Bill
    from fabula.cli.options import SpendingLimits
    from fabula.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Spreading:
    """The number of processes, where they run, and which part of the work they do."""

    processes: Annotated[
        int | None,
        typer.Option(min=1, max=256, metavar="N", help="Worker processes; default: this one.", rich_help_panel=MORE),
    ] = None
    on: Annotated[
        str,
        typer.Option(
            metavar="ray[://HEAD:PORT]",
            help="Run the workers on a Ray cluster (--processes workers, or one for each CPU).",
            rich_help_panel=MORE,
        ),
    ] = ""
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Do only part I of N. Combine the parts with `merge`.",
            rich_help_panel=MORE,
        ),
    ] = ""

    @property
    def is_asked(self) -> bool:
        """Return whether any of these options is given."""
        return bool(self.processes or self.on or self.shard)

    @property
    def spread(self) -> Spread | None:
        """Return where the workers run; `None` without workers."""
        return Spread(self.processes, self.on) if self.processes or self.on else None

    @property
    def part(self) -> Part:
        """Return the part to do; by default, all of the work.

        Raises:
            UsageError: the value is not a valid part.
        """
        return read_part(self.shard) if self.shard else Part()

    def limits(self, whole: SpendingLimits) -> SpendingLimits:
        """Return the spending limits of the part: its share of the total."""
        of, tokens, usd = self.part.of, whole.budget_tokens, whole.budget_usd
        return replace(
            whole,
            budget_tokens=None if tokens is None else tokens // of,
            budget_usd=None if usd is None else usd / of,
        )

    def folder(self, whole: Path) -> Path:
        """Return the folder of the part."""
        return folder_of_part(whole, self.part) if self.shard else whole


def say_part(terminal: Terminal, spreading: Spreading, count: int, out: str, bill: Bill) -> None:
    """Print that a part is done, and what to do next."""
    folder = spreading.folder(Path(out))
    terminal.advise(
        f"{counted(count, 'story', 'stories')} done in {near(folder)}. When all {spreading.part.of} parts are done, "
        f"run `fabula data merge {near(Path(out))}`, and then the same command without --shard."
    )
    terminal.document({"part": spreading.shard, "stories": count, "folder": str(folder), **bill.as_data()})
