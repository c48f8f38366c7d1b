"""Ways of measuring stories. Each folder here with a `paper.toml` is an evaluator; there is no list to maintain.

Others come from installed packages, through entry points of the group `fabula.evaluators`, or are named by their path.

An evaluator's module `config` holds a frozen dataclass `Config` with the presets `Config.faithful()` and
`Config.improved()`, its module `algorithm` holds `async def evaluate(items, run, config) -> Report`. One that needs no
model has no roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.methods import Method, MethodCatalogue
from fabula.measure.report.page import Section, report_section

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report


@dataclass(frozen=True, slots=True)
class Evaluator(Method):
    """A way of measuring stories, found in its folder."""

    @property
    def reads_narrative(self) -> bool:
        """Whether it reads the narrative that an item was made from (`narrative` in `paper.toml`)."""
        return bool(self.paper.get("narrative", False))

    def alone(self) -> Evaluator:
        """The evaluator without its roles, so that it calls no model."""
        return replace(self, paper={**self.paper, "roles": {}})

    def sections(self, report: Report) -> list[Section]:
        """Its report as sections of a page: those of `sections_of` in its module `page`, if any, else the numbers."""
        made = getattr(self.module("page"), "sections_of", None) if (self.folder / "page.py").is_file() else None
        return [report_section(report)] if made is None else list(made(report))

    def check(self, items: Sequence[Item], config: Any) -> None:  # noqa: ANN401 - each evaluator has its own Config
        """Check whether `evaluate` would refuse the number of stories or the settings, before any call is planned.

        Only the ids, systems and prompts of the items are used, so they may lack their stories. An evaluator with
        such limits has a function `check` in its module `algorithm`.

        Raises:
            UsageError: these stories cannot be measured with these settings.
        """
        with self.blamed():
            if checking := getattr(self.algorithm, "check", None):
                checking(items, config)

    async def evaluate(self, items: Sequence[Item], run: Run, config: Any) -> Report:  # noqa: ANN401 - each evaluator has its own Config
        """The evaluator's report on `items`. Its README lists the costs."""
        program = self.program(config)
        with self.blamed():
            report: Report = await program.evaluate(items, run, config)
            return report


CATALOGUE: Final = MethodCatalogue(Evaluator, "evaluator", Path(__file__).parent, __name__, "fabula.evaluators")


def evaluators() -> dict[str, Evaluator]:
    """All evaluators, by name: fabula's own and those of installed packages."""
    return CATALOGUE.all()


def find(name: str) -> Evaluator:
    """The evaluator with that name (underscores count as hyphens), or the one in the folder at the path `name`.

    Raises:
        UnknownNameError: there is no such evaluator; the message suggests the nearest name.
        PluginError: the evaluator comes from another package or folder and cannot be used.
    """
    return CATALOGUE.find(name)
