"""BERTScore of stories against their references (Zhang et al., 2020; in Table 2 of Agents' Room), in windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabula.craft.bertscore.embedders import open_embedder
from fabula.craft.bertscore.scoring import Embedder, Vectors, encoded, matched
from fabula.craft.measuring import checked, measured_report
from fabula.stats.estimate import Estimate, Scored, Unscored

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.evaluators.bertscore.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


_WHATS = ("bertscore", "bertscore/precision", "bertscore/recall")


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """BERTScore of every story that has a reference, and means of every system. Calls no model.

    Raises:
        UsageError: there is no story, two have one id, or a package or the model is missing.
    """
    del run
    checked(items)
    if not any(item.reference for item in items):  # no model need be opened
        stories = [_missing("the story has no reference: give one with --reference")] * len(items)
        return _report(items, stories, config, ())
    embedder = open_embedder(config.embedder, config.model, config.layer, fetch=config.fetch)
    long: list[str] = []
    stories = [_story(item, embedder, config, long) for item in items]
    done = "cut there" if config.mode == "truncated" else "read in windows"
    note = f"{len(long)} of {2 * len(items)} texts are longer than {embedder.limit} tokens and were {done}."
    return _report(items, stories, config, (note,))


def limits(what: str) -> tuple[float, float]:
    """The lowest and highest values that the mean of a measure can have."""
    del what
    return (-1.0, 1.0)


def _story(item: Item, embedder: Embedder, config: Config, long: list[str]) -> dict[str, Scored]:
    """The numbers of one story. Names of its texts that exceed the model's limit are added to `long`."""
    if item.reference is None:
        return _missing("the story has no reference: give one with --reference")
    vectors: list[Vectors] = []
    for name, story in ((f"{item.id}, reference", item.reference), (item.id, item.story)):
        tokens = embedder.tokens(story.text)
        if len(tokens) > embedder.limit:
            long.append(name)
        vectors.append(encoded(tokens, embedder, config.overlap if config.mode == "windowed" else None))
    if not all(side.counts.any() for side in vectors):
        return _missing("one of the texts has no token")
    score = matched(*vectors)
    window = (
        f"windows of {embedder.limit} sharing {config.overlap}"
        if config.mode == "windowed"
        else (f"cut at {embedder.limit} tokens")
    )
    method = f"{embedder.name}, {window}, greedy cosine, neither idf nor rescaling"
    parts = (("F1", score.f), ("precision", score.precision), ("recall", score.recall))
    return {what: Estimate(value, 1, method=f"{p}: {method}") for what, (p, value) in zip(_WHATS, parts, strict=True)}


def _missing(reason: str) -> dict[str, Scored]:
    return dict.fromkeys(_WHATS, Unscored(reason))


def _report(
    items: Sequence[Item], stories: Sequence[dict[str, Scored]], config: Config, notes: tuple[str, ...]
) -> Report:
    measured = {what: [story[what] for story in stories] for what in _WHATS}
    return measured_report("bertscore", asdict(config), items, measured, limits, most=2.0, notes=notes)
