"""Counts for stories: words, openings, repetition, overlap and dialogue; ROUGE and BERTScore with references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.item_files import sources_of
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.html import joined
from fabula.craft.voice import Samples, used_often, voice_report
from fabula.engine.methods import Preset, settings_of
from fabula.evaluators import find
from fabula.measure.report import Report, Row, csv_of
from fabula.measure.report.page import report_section
from fabula.project.settings import Settings
from fabula.stats.estimate import Estimate, Unscored

if TYPE_CHECKING:
    from pandas import DataFrame

    from fabula.app.writing import Options
    from fabula.measure.items import Item
    from fabula.story import Brief


NAMES: Final = ("surface", "rouge", "bertscore")


def with_brief(items: Sequence[Item], brief: Brief, where: str) -> tuple[Item, ...]:
    """The items as answers to one brief.

    Args:
        items: stories.
        brief: the brief that they answer.
        where: the option or file that gave the brief, for error messages.

    Raises:
        UsageError: the items answer several prompts.
    """
    prompts = {item.prompt for item in items}
    if len(prompts) > 1:
        raise UsageError(
            f"{where} is a single brief, but the stories answer {len(prompts)} prompts. Provide each story's "
            "brief in the field `brief` of a .jsonl file."
        )
    return tuple(replace(item, brief=brief) for item in items)


def with_references(
    items: Sequence[Item], references: Sequence[Item], where: str, *, each: bool = False
) -> tuple[Item, ...]:
    """The items with their references: the only one, or the one named after an item's prompt or the item itself.

    Args:
        items: stories.
        references: other stories.
        where: the place that holds the references, for error messages.
        each: every story needs a reference. Otherwise, one story with a reference is enough.

    Raises:
        UsageError: two references are for one prompt, or a story lacks a reference that it needs.
    """
    if len(references) == 1:
        return tuple(replace(item, reference=references[0].story) for item in items)
    known = {item.prompt or item.id: item.story for item in references}
    if len(known) < len(references):
        raise UsageError(f"{where} contains two references for one prompt. Remove one of them.")
    named = [known.get(item.prompt) or known.get(item.id) for item in items]
    found = tuple(replace(item, reference=one or item.reference) for item, one in zip(items, named, strict=True))
    if each and (bare := next((item for item in found if not item.reference), None)):
        name = bare.prompt or bare.id
        raise UsageError(f"The story {bare.id} requires a reference named {name!r}, but there is none. Add it.")
    if not any(item.reference for item in found):
        raise UsageError(
            f"None of the {len(known)} references in {where} match a prompt of the stories. Name the reference "
            f"files after the prompts: {', '.join(sorted({item.prompt or item.id for item in items})[:3])} ..."
        )
    return found


def chosen_measures(items: Sequence[Item], *, bertscore: bool) -> tuple[str, ...]:
    """The evaluators that measure `items`. Those that compare are left out if no item has a reference.

    Raises:
        UsageError: BERTScore is requested, but no item has a reference.
    """
    compared = any(item.reference for item in items)
    if bertscore and not compared:
        raise UsageError("BERTScore compares stories with references. Specify the references with --reference PATH.")
    return ("surface", *(["rouge"] if compared else []), *(["bertscore"] if bertscore else []))


def measure_configs(preset: Preset, said: Mapping[str, object], chosen: Sequence[str]) -> dict[str, Any]:
    """The `Config` of every evaluator that runs. A setting without a prefix applies to all evaluators that have it.

    Raises:
        UnknownNameError: the setting or the evaluator in its prefix is unknown.
        UsageError: a setting is for an evaluator that does not run.
        ConfigError: a value is not valid.
    """
    known = {name: {setting.name for setting in settings_of(find(name).config(preset))} for name in NAMES}
    given: dict[str, dict[str, object]] = {name: {} for name in NAMES}
    for name, value in said.items():
        for owner, setting in _owners(name.replace("-", "_"), known, chosen):
            given[owner][setting] = value
    return {name: find(name).config(preset, given[name]) for name in chosen}


def _owners(name: str, known: Mapping[str, set[str]], chosen: Sequence[str]) -> list[tuple[str, str]]:
    """The evaluators that a setting is for."""
    owner, dot, setting = name.rpartition(".")
    if dot and owner not in known:
        raise UnknownNameError("evaluator of `fabula measure`", owner, known)
    owners = [owner] if dot else [evaluator for evaluator, settings in known.items() if setting in settings]
    if not owners or setting not in known[owners[0]]:
        options = known[owner] if dot else set[str]().union(*known.values())
        raise UnknownNameError(f"{owner} setting" if dot else "setting of `fabula measure`", setting, sorted(options))
    running = [evaluator for evaluator in owners if evaluator in chosen]
    if not running:
        raise UsageError(
            f"--set {name} is for {' and '.join(owners)}, which does not run here. Give --reference PATH"
            + (" and --bertscore." if "bertscore" in owners else ".")
        )
    return [(evaluator, setting) for evaluator in running]


@dataclass(frozen=True)
class Measured:
    """Measurements of stories.

    Attributes:
        items: the measured stories.
        reports: the reports of the evaluators that ran.
        left_out: the reasons why stories were left out.
    """

    items: tuple[Item, ...]
    reports: tuple[Report, ...]
    left_out: tuple[str, ...] = ()

    def value(self, what: str, of: str = "") -> float | None:
        """The number for the named story or system, or for the only story; `None` if it could not be measured.

        Raises:
            UnknownNameError: there is no such measure, story or system.
        """
        name = of or self.items[0].id
        rows = {row.what: row.scored for report in self.reports for row in report.rows if row.of == name}
        if what not in rows:
            raise UnknownNameError("measure", what, rows)
        scored = rows[what]
        return scored.value if isinstance(scored, Estimate) else None

    @property
    def csv(self) -> str:
        """Every number as a line of CSV, with a line for each story that was not measured."""
        rows = tuple(Row("", "story", Unscored(problem)) for problem in self.left_out)
        return csv_of([*self.reports, *([Report("", rows=rows)] if rows else [])])

    def to_frame(self) -> DataFrame:
        """The numbers as a pandas data frame, one number per row.

        Raises:
            UsageError: pandas is not installed; `csv` works without it.
        """
        rows = tuple(row for report in self.reports for row in report.rows)
        return replace(self.reports[0], rows=rows).to_frame()

    def to_dict(self) -> dict[str, Any]:
        """The numbers and verdicts as JSON data."""
        return {
            "stories": len(self.items),
            "data": [asdict(source) for source in sources_of(item.source for item in self.items)],
            "left_out": list(self.left_out),
            "reports": {report.evaluator: report.as_data() for report in self.reports},
        }

    def _repr_html_(self) -> str:
        return joined(*(report_section(report).body for report in self.reports))


async def measured_in(
    items: Sequence[Item],
    configs: Mapping[str, Any],
    options: Options,
    left_out: Sequence[str] = (),
    samples: Samples | None = None,
) -> Measured:
    """The numbers of every evaluator that has a configuration. Nothing is saved.

    A report on a single story also says what the story uses often. With `samples` of an author's prose, the distances
    from them are among the numbers.

    Raises:
        FabulaError: the measurement fails.
    """
    reports = []
    for name, config in configs.items():
        reports.append((await evaluate_in(EvaluationTask(find(name), items, config), Settings(), options)).report)
    if len(items) == 1:
        often = used_often([scene.text for scene in items[0].story.scenes])
        reports[0] = replace(reports[0], notes=(*reports[0].notes, *often.lines))
    reports += [voice_report(items, samples)] if samples is not None else []
    return Measured(tuple(items), tuple(reports), tuple(left_out))
