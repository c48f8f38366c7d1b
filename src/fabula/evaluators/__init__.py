"""Ways of measuring stories. A folder here with a `paper.toml` is an evaluator; nothing lists them.

An evaluator's module `config` holds a frozen dataclass `Config` with the presets `Config.faithful()` and
`Config.improved()`, its module `algorithm` holds `async def evaluate(items, run, config) -> Report`. One that needs no
model has no roles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.base.errors import UnknownNameError
from fabula.engine.methods import Method, folders

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report

_HOME = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Evaluator(Method):
    """A way of measuring stories, found in its folder."""

    @property
    def rates(self) -> bool:
        """Whether a judge needs nothing but the items, so that `fabula rate` can run it (`rate` in `paper.toml`)."""
        return bool(self.paper.get("rate", False))

    @property
    def reads_narrative(self) -> bool:
        """Whether it reads what an item was made from (`narrative` in `paper.toml`)."""
        return bool(self.paper.get("narrative", False))

    def alone(self) -> Evaluator:
        """The evaluator without its roles: nobody is cast, nobody is asked."""
        return replace(self, paper={**self.paper, "roles": {}})

    async def evaluate(self, items: Sequence[Item], run: Run, config: Any) -> Report:  # noqa: ANN401 - each evaluator has its own Config
        """What this evaluator finds about `items`; what it costs is in the evaluator's README."""
        report: Report = await self.algorithm.evaluate(items, run, config)
        return report


def evaluators() -> dict[str, Evaluator]:
    """All evaluators, by name, found by looking for `paper.toml`."""
    return {name: Evaluator(name, folder, paper, __name__) for name, folder, paper in folders(_HOME)}


def find(name: str) -> Evaluator:
    """The evaluator of that name; underscores count as hyphens.

    Raises:
        UnknownNameError: there is none; the nearest is named.
    """
    known = evaluators()
    evaluator = known.get(name.replace("_", "-").lower())
    if evaluator is None:
        raise UnknownNameError("evaluator", name, known)
    return evaluator
