"""The common parts of all work: variables, a shared budget, and a place on a node's disk."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from fabula.app.experiment.sharing import SpreadBudget
from fabula.app.workers.files import NodeFolder

if TYPE_CHECKING:
    from fabula.app.workers.worker import Desk


Caps: TypeAlias = "tuple[int | None, float | None, tuple[int, float]]"
"""The token and dollar limits for the whole work, and how much of each was already spent."""


@dataclass(eq=False, kw_only=True)
class SharedWork:
    """The work of one of several workers that call models.

    Attributes:
        folder: the driver's folder.
        environ: variables with keys and folders.
        caps: the caps of the whole work.
        here: whether the worker shares a disk with the driver.
    """

    folder: Path
    environ: Mapping[str, str] = field(repr=False)
    caps: Caps
    here: bool
    _desk: Desk = field(init=False, repr=False)
    _whole: SpreadBudget = field(init=False, repr=False)
    _node: NodeFolder = field(init=False, repr=False)

    async def begin(self, desk: Desk) -> None:
        """Open what jobs share; a node's variables take precedence over the driver's."""
        self._desk, self._node = desk, NodeFolder(str(self.folder))
        self.environ = self.environ if self.here else {**self.environ, **os.environ}
        tokens, usd, spent = self.caps
        self._whole = SpreadBudget(tokens, usd)
        if self._whole.capped:
            self._whole.spend = desk.spend
        self._whole.spent_tokens, self._whole.spent_usd = spent
        desk.on_spent = self._whole.others

    async def end(self, *, over: bool) -> None:
        """Remove from this disk what the driver has."""
        if over:
            self._node.clear()
