"""Systems or stories in the order of a judge's preference: the report, its page and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.base.files import make_folder, write_atomically
from fabula.base.html import bullets, figure, html_table, joined
from fabula.evaluators.pairwise.page import page_of, questions_of, rows_on, strengths_picture
from fabula.evaluators.pairwise.report import ranked
from fabula.measure.ratings import read_ratings
from fabula.measure.report import Report, csv_of
from fabula.stats.estimate import Estimate, estimate_cells
from fabula.story import slug

if TYPE_CHECKING:
    from fabula.app.bills import Bill
    from fabula.evaluators.pairwise.config import Config
    from fabula.measure.items import Item


def ranked_by(file: Path, items: Sequence[Item], config: Config) -> Report:
    """The ranking from existing verdicts. The stories only give texts, to measure their length and similar things.

    Raises:
        UsageError: the file cannot be read, or a line of it is not a rating.
    """
    texts = {item.id: item.story.text for item in items}
    return ranked(read_ratings(file), texts, config, {"from": file.name})


def as_stories(items: Sequence[Item]) -> tuple[Item, ...]:
    """The stories as answers to one prompt, each as its own system, so that stories are ranked and not systems."""
    prompts = {item.prompt for item in items}
    prompt = prompts.pop() if len(prompts) == 1 else ""
    return tuple(replace(item, prompt=prompt, system="") for item in items)


@dataclass(frozen=True)
class Ranked:
    """A ranking of systems or stories.

    Attributes:
        report: every number and verdict.
        files: the page first, then the numbers, and a picture for each question.
        bill: the cost.
    """

    report: Report
    files: tuple[Path, ...]
    bill: Bill

    @classmethod
    def in_(cls, folder: Path, name: str, report: Report, bill: Bill) -> Ranked:
        """The ranking, after its page, numbers and pictures are written into `folder`."""
        make_folder(folder)
        shown = {f"{name}.html": page_of(report), f"{name}.csv": csv_of([report])}
        for question in questions_of(report):
            shown[f"{name}-{slug(question)}.svg"] = strengths_picture(report, question)
        for file, content in shown.items():
            write_atomically(folder / file, content)
        return cls(report, tuple(folder / file for file in shown), bill)

    @property
    def strengths(self) -> dict[str, dict[str, float]]:
        """The strength of each system or story by question, strongest first, as log strengths centred at 0."""
        return {
            question: {
                row.of: row.scored.value
                for row in rows_on(self.report, question, what="strength")
                if isinstance(row.scored, Estimate)
            }
            for question in questions_of(self.report)
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers and verdicts as JSON data."""
        files = [str(file) for file in self.files]
        return {"report": self.report.as_data(), "files": files, **self.bill.as_data()}

    def _repr_svg_(self) -> str:
        return strengths_picture(self.report, questions_of(self.report)[0])

    def _repr_html_(self) -> str:
        rows = [
            (question, row.of, *estimate_cells(row.scored))
            for question in questions_of(self.report)
            for row in rows_on(self.report, question, what="strength")
        ]
        table = html_table(("question", "system", "strength", "95 % interval", "prompts"), rows, right=(2, 4))
        return joined(figure(self._repr_svg_()), table, bullets(self.report.notes))
