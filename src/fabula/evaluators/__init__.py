"""Ways of measuring stories. A folder here with a `paper.toml` is an evaluator; nothing lists them.

Others come from installed packages, by entry points of the group `fabula.evaluators`, or are given by their path.

An evaluator's module `config` holds a frozen dataclass `Config` with the presets `Config.faithful()` and
`Config.improved()`, its module `algorithm` holds `async def evaluate(items, run, config) -> Report`. One that needs no
model has no roles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.methods import Method, MethodCatalogue
from fabula.measure.report.page import report_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.measure.report.page import Section


@dataclass(frozen=True, slots=True)
class Evaluator(Method):
    """A way of measuring stories, found in its folder."""

    @property
    def reads_narrative(self) -> bool:
        """Whether it reads what an item was made from (`narrative` in `paper.toml`)."""
        return bool(self.paper.get("narrative", False))

    def alone(self) -> Evaluator:
        """The evaluator without its roles: nobody is cast, nobody is asked."""
        return replace(self, paper={**self.paper, "roles": {}})

    def sections(self, report: Report) -> list[Section]:
        """A report of it as sections of a page: as `sections_of` of its module `page` has them, else its numbers."""
        made = getattr(self.module("page"), "sections_of", None) if (self.folder / "page.py").is_file() else None
        return [report_section(report)] if made is None else list(made(report))

    def check(self, items: Sequence[Item], config: Any) -> None:  # noqa: ANN401 - each evaluator has its own Config
        """Find what `evaluate` would refuse in the number of stories or in the settings, before anything is walked.

        Only ids, systems and prompts of the items count here, so they may lack their stories. An evaluator that has
        such limits says so in a function `check` of its module `algorithm`.

        Raises:
            UsageError: these stories cannot be measured so.
        """
        with self.blamed():
            if checking := getattr(self.algorithm, "check", None):
                checking(items, config)

    async def evaluate(self, items: Sequence[Item], run: Run, config: Any) -> Report:  # noqa: ANN401 - each evaluator has its own Config
        """What this evaluator finds about `items`; what it costs is in the evaluator's README."""
        program = self.program(config)
        with self.blamed():
            report: Report = await program.evaluate(items, run, config)
            return report


CATALOGUE: Final = MethodCatalogue(Evaluator, "evaluator", Path(__file__).parent, __name__, "fabula.evaluators")


def evaluators() -> dict[str, Evaluator]:
    """All evaluators, by name: fabula's own and those of installed packages."""
    return CATALOGUE.all()


def find(name: str) -> Evaluator:
    """The evaluator of that name (underscores count as hyphens), or in the folder that `name` is the path of.

    Raises:
        UnknownNameError: there is none; the nearest is named.
        PluginError: it is somebody else's, and cannot be used.
    """
    return CATALOGUE.find(name)
