"""What can be counted in stories: words, openings, repetition, overlap, dialogue; ROUGE and BERTScore by references."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.item_files import sources_of
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.html import joined
from fabula.engine.methods import settings_of
from fabula.evaluators import find
from fabula.measure.report import Report, Row, csv_of
from fabula.measure.report.page import report_section
from fabula.project.settings import Settings
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pandas import DataFrame

    from fabula.app.writing import Options
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.story import Brief

NAMES: Final = ("surface", "rouge", "bertscore")


def with_brief(items: Sequence[Item], brief: Brief, where: str) -> tuple[Item, ...]:
    """The items as answers to one brief, which stands at `where`.

    Raises:
        UsageError: they answer several prompts.
    """
    prompts = {item.prompt for item in items}
    if len(prompts) > 1:
        raise UsageError(
            f"{where} is one brief, but the stories answer {len(prompts)} prompts. Give their briefs in the field "
            "`brief` of a .jsonl file."
        )
    return tuple(replace(item, brief=brief) for item in items)


def with_references(
    items: Sequence[Item], references: Sequence[Item], where: str, *, each: bool = False
) -> tuple[Item, ...]:
    """The items with the only reference, or with the one that is called as their prompt or as they are.

    Args:
        items: stories.
        references: other stories.
        where: the references stand.
        each: story has to have one; else it is enough that one has.

    Raises:
        UsageError: two references are for one prompt, or a story has none that has to.
    """
    if len(references) == 1:
        return tuple(replace(item, reference=references[0].story) for item in items)
    known = {item.prompt or item.id: item.story for item in references}
    if len(known) < len(references):
        raise UsageError(f"{where} holds two references for one prompt. Leave one of them.")
    named = [known.get(item.prompt) or known.get(item.id) for item in items]
    found = tuple(replace(item, reference=one or item.reference) for item, one in zip(items, named, strict=True))
    if each and (bare := next((item for item in found if not item.reference), None)):
        name = bare.prompt or bare.id
        raise UsageError(f"No reference is named {name!r}, as the story {bare.id} would need. Add it, or name one.")
    if not any(item.reference for item in found):
        raise UsageError(
            f"None of the {len(known)} references in {where} is for a prompt of the stories. Name the files after the "
            f"prompts: {', '.join(sorted({item.prompt or item.id for item in items})[:3])} ..."
        )
    return found


def chosen_measures(items: Sequence[Item], *, bertscore: bool) -> tuple[str, ...]:
    """The evaluators that measure `items`: those that compare need references.

    Raises:
        UsageError: BERTScore is wanted, and there is nothing to compare with.
    """
    compared = any(item.reference for item in items)
    if bertscore and not compared:
        raise UsageError("BERTScore compares with a reference. Give one with --reference PATH.")
    return ("surface", *(["rouge"] if compared else []), *(["bertscore"] if bertscore else []))


def measure_configs(preset: Preset, said: Mapping[str, object], chosen: Sequence[str]) -> dict[str, Any]:
    """The `Config` of every evaluator that runs; a setting without a name before it is for all that have it.

    Raises:
        UnknownNameError: a setting, or an evaluator before its name, is not known.
        UsageError: a setting is for an evaluator that does not run.
        ConfigError: a value does not fit.
    """
    known = {name: {setting.name for setting in settings_of(find(name).config(preset))} for name in NAMES}
    given: dict[str, dict[str, object]] = {name: {} for name in NAMES}
    for name, value in said.items():
        for owner, setting in _owners(name.replace("-", "_"), known, chosen):
            given[owner][setting] = value
    return {name: find(name).config(preset, given[name]) for name in chosen}


def _owners(name: str, known: Mapping[str, set[str]], chosen: Sequence[str]) -> list[tuple[str, str]]:
    """Which evaluators a setting is for."""
    owner, dot, setting = name.rpartition(".")
    if dot and owner not in known:
        raise UnknownNameError("evaluator of `fabula measure`", owner, known)
    owners = [owner] if dot else [evaluator for evaluator, settings in known.items() if setting in settings]
    if not owners or setting not in known[owners[0]]:
        options = known[owner] if dot else set[str]().union(*known.values())
        raise UnknownNameError(
            f"setting of {owner}" if dot else "setting of `fabula measure`", setting, sorted(options)
        )
    running = [evaluator for evaluator in owners if evaluator in chosen]
    if not running:
        raise UsageError(
            f"--set {name} is for {' and '.join(owners)}, which is not run here. Give --reference PATH"
            + (" and --bertscore." if "bertscore" in owners else ".")
        )
    return [(evaluator, setting) for evaluator in running]


@dataclass(frozen=True)
class Measured:
    """What was counted in stories.

    Attributes:
        items: the stories.
        reports: of every evaluator that ran.
        left_out: why stories are not among the items.
    """

    items: tuple[Item, ...]
    reports: tuple[Report, ...]
    left_out: tuple[str, ...] = ()

    def value(self, what: str, of: str = "") -> float | None:
        """A number: of the story or system named, else of the only story; `None` where it could not be measured.

        Raises:
            UnknownNameError: there is no such measure.
        """
        name = of or self.items[0].id
        rows = {row.what: row.scored for report in self.reports for row in report.rows if row.of == name}
        if what not in rows:
            raise UnknownNameError("measure", what, rows)
        scored = rows[what]
        return scored.value if isinstance(scored, Estimate) else None

    @property
    def csv(self) -> str:
        """Every number a line of CSV, and every story that has none."""
        rows = tuple(Row("", "story", Unscored(problem)) for problem in self.left_out)
        return csv_of([*self.reports, *([Report("", rows=rows)] if rows else [])])

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame, one a line.

        Raises:
            UsageError: pandas is not installed; `csv` does without it.
        """
        rows = tuple(row for report in self.reports for row in report.rows)
        return replace(self.reports[0], rows=rows).to_frame()

    def to_dict(self) -> dict[str, Any]:
        """The numbers and verdicts as JSON."""
        return {
            "stories": len(self.items),
            "data": [asdict(source) for source in sources_of(self.items)],
            "left_out": list(self.left_out),
            "reports": {report.evaluator: report.as_data() for report in self.reports},
        }

    def _repr_html_(self) -> str:
        return joined(*(report_section(report).body for report in self.reports))


async def measured_in(
    items: Sequence[Item], configs: Mapping[str, Any], options: Options, left_out: Sequence[str] = ()
) -> Measured:
    """The numbers of every evaluator that has a configuration; nothing is kept.

    Raises:
        FabulaError: any of its kinds.
    """
    reports = []
    for name, config in configs.items():
        reports.append((await evaluate_in(EvaluationTask(find(name), items, config), Settings(), options)).report)
    return Measured(tuple(items), tuple(reports), tuple(left_out))
