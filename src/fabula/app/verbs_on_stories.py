"""The Python API: `check`, `judge`, `rank` and `measure`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.app.calling import Caller, MethodOptions, table_in, waiting
from fabula.app.checking import OUT, Checked, stories_to_check
from fabula.app.evaluating import EvaluationTask, evaluate_in
from fabula.app.judging import Judged, two_stories
from fabula.app.measuring import Measured, chosen_measures, measure_configs, measured_in, with_brief, with_references
from fabula.app.ranking import Ranked
from fabula.app.sources import BriefSource, StorySource, brief_of, items_of, project_in
from fabula.evaluators import find
from fabula.evaluators.pairwise.algorithm import pairs_of
from fabula.project.settings import Settings

if TYPE_CHECKING:
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.project.folder import ProjectFolder


async def check_async(
    *stories: StorySource,
    folder: str | Path | None = None,
    **how: Unpack[MethodOptions],
) -> Checked:
    """Find where stories contradict themselves; each finding quotes both passages.

    Args:
        *stories: files, folders, projects, texts, or results of `write` and `read`.
        folder: the folder for calls, report and page; by default `evaluation`, in the project if there is only one.
        **how: `CallOptions` (a single project has its own model), and options of the evaluator, for instance
            `config={"reading": "windows"}`.

    Raises:
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
    """
    caller = Caller.of(how)
    project = project_in(stories[0]) if len(stories) == 1 else None
    sources = stories if project is None else (project.folder,)
    items = stories_to_check(sources, caller.selection)
    where = Path(folder) if folder is not None else project.folder / OUT if project is not None else Path(OUT)
    report = await _evaluated("atlas", items, where, caller, project)
    return Checked.in_(where, report.as_data(), ["fabula", "check", *map(str, sources)], caller.bill)


async def judge_async(
    one: StorySource,
    other: StorySource,
    *,
    folder: str | Path | None = OUT,
    **how: Unpack[MethodOptions],
) -> Judged:
    """Ask a judge which of two stories is better, question by question, in both orders.

    Args:
        one: a story: its file, project or text, or a result of `write` or `read`.
        other: the other story.
        folder: the folder for calls, verdicts and report; with `None` nothing is saved.
        **how: `CallOptions`, and options of the judge, for instance `preset="faithful"` or `config={"samples": 3}`.

    Raises:
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
    """
    caller = Caller.of(how)
    items = two_stories(one, other, caller.selection)
    report = await _evaluated("pairwise", items, folder, caller)
    return Judged(*items, report, caller.bill)


async def rank_async(
    *stories: StorySource,
    folder: str | Path = OUT,
    **how: Unpack[MethodOptions],
) -> Ranked:
    """Rank systems or stories by how often a judge prefers them, with intervals.

    Args:
        *stories: folders (`SYSTEM/PROMPT.md`), files, projects, texts, or results of `write` and `read`.
        folder: the folder for calls, verdicts, report, page and pictures.
        **how: see `judge`.

    Raises:
        FabulaError: an error of any kind; finished calls are kept, and the same call continues from there.
    """
    caller = Caller.of(how)
    items = items_of(stories, caller.selection)
    pairs_of(items)  # what is wrong with the stories is said before anything is made
    report = await _evaluated("pairwise", items, folder, caller)
    return Ranked.in_(Path(folder), report.evaluator, report, caller.bill)


async def measure_async(
    *stories: StorySource,
    reference: StorySource | None = None,
    brief: BriefSource | None = None,
    bertscore: bool = False,
    preset: Preset = "improved",
    config: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Measured:
    """Count words, openings, repetition and dialogue in stories, and ROUGE if there is a reference. No model is called.

    Args:
        *stories: files, folders, projects, data sets, texts, or results of `write` and `read`.
        reference: a story with which all are compared, or a folder or file with one story per prompt.
        brief: the brief that all the stories answer.
        bertscore: add BERTScore, which needs the extra `bertscore`.
        preset: "faithful" for the papers' measures, or "improved" to add ours.
        config: settings, for instance `{"tokens": "words", "rouge.stemmer": True}`.
        environ: variables with folders; by default those of the process.

    Raises:
        FabulaError: an error of any kind.
    """
    caller = Caller.of({"environ": environ})
    items = items_of(stories, caller.selection)
    if brief is not None:
        items = with_brief(items, brief_of(brief), "`brief`")
    if reference is not None:
        items = with_references(items, items_of([reference], caller.selection), "`reference`")
    configs = measure_configs(
        preset,
        table_in({} if config is None else {"config": config}, "config"),
        chosen_measures(items, bertscore=bertscore),
    )
    return await measured_in(items, configs, caller.options)


async def _evaluated(
    name: str,
    items: Sequence[Item],
    folder: str | Path | None,
    caller: Caller,
    project: ProjectFolder | None = None,
) -> Report:
    """An evaluator's report, made with the caller's model, the project's model or the default model."""
    evaluator = find(name)
    own = project.settings if project is not None else Settings()
    taken = "model" in own.model_fields_set and own.model not in own.models
    changes, _ = caller.wanted(has_model=taken)
    settings = Settings().with_({"model": own.model, **changes} if taken else changes, "the call")
    where = None if folder is None else Path(folder)
    if where is not None:
        settings = settings.with_costs_of(where / "fabula.toml")
    config = evaluator.config(settings.preset, settings.config)
    settings = settings.model_copy(update={"config": {}})
    found = await evaluate_in(EvaluationTask(evaluator, items, config, where), settings, caller.options)
    caller.finished(settings)
    return found.report


check = waiting(check_async)
judge = waiting(judge_async)
rank = waiting(rank_async)
measure = waiting(measure_async)
