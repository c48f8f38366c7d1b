"""ATLAS (MAGNET, section 3.5): scenes become graphs, each is held against earlier ones, findings are verified."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.continuity import scenes_of
from fabula.evaluators.atlas import bare, hybrid, paper
from fabula.evaluators.atlas.desk import Desk
from fabula.evaluators.atlas.findings import settled
from fabula.evaluators.atlas.gold import read_gold
from fabula.evaluators.atlas.grounding import Ground
from fabula.evaluators.atlas.judge import judged
from fabula.evaluators.atlas.reporting import Checked, report_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.measure.items import Item
    from fabula.measure.report import Report

MethodName: TypeAlias = Literal["paper", "hybrid", "rules"]
AttrMode: TypeAlias = Literal["scene", "node"]
_LARGEST_BATCH = 12


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's.

    Attributes:
        method: "paper" builds graphs and compares each scene with all before it (section 3.5), "hybrid" lets rules
            and a model propose from local facts and verifies in local windows (ours), "rules" asks no model and tells
            only name variants and collisions for which a strict rule holds (ours).
        attr_mode: the paper's attribute pass once for each "node" (section 3.5) or once for each "scene".
        batch: proposals verified in one call, at most 12 (the paper does not say).
        baseline: the plain judge reads the whole story in one call beside it (section 3.6).
        temperature: of all roles (appendix A.1: 0).
        gold: a file with the known errors, to score against; empty scores nothing.
        scene_words: length at which a story without scenes is cut (appendix A.2.1: chapters of about 2,000 words).
    """

    method: MethodName = "paper"
    attr_mode: AttrMode = "node"
    batch: int = 12
    baseline: bool = True
    temperature: float = 0.0
    gold: str = ""
    scene_words: int = 2000

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: the hybrid, which also looks inside scenes."""
        return replace(cls(), method="hybrid", attr_mode="scene")


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Contradictions in each story, with both quotations; fewer are better.

    Raises:
        UsageError: a setting or the file of known errors is wrong, or a story has no words.
        ModelError: a model did not answer.
        BudgetError: the cap is reached.
    """
    check(config)
    gold = read_gold(config.gold, [item.id for item in items])
    told = []
    for item in items:
        split = scenes_of(item.story, config.scene_words)
        desk = Desk(run.scope(item.id), item, config.temperature)
        ground = Ground(split.scenes)
        if config.method == "rules":
            found, by = bare.collisions(split.scenes, desk.counts)
        elif config.method == "hybrid":
            found, by = await hybrid.contradictions(split.scenes, desk, ground, config)
        else:
            found, by = await paper.contradictions(split.scenes, desk, ground, config)
        asked = config.baseline and config.method != "rules"
        baseline = await judged(split.scenes, desk) if asked else None
        told.append(Checked(item, split, settled(found), baseline, desk, by, gold[item.id]))
    return report_of(told, config, asdict(config))


def check(config: Config) -> None:
    """Find now what the checking would stumble over.

    Raises:
        UsageError: a number is out of range.
    """
    if not 1 <= config.batch <= _LARGEST_BATCH:
        raise UsageError(f"batch = {config.batch} cannot be verified in one call. Give 1 to {_LARGEST_BATCH}.")
    if config.temperature < 0:
        raise UsageError(f"temperature = {config.temperature} is below 0. Give 0 or more.")
    if config.scene_words < 1:
        raise UsageError(f"scene_words = {config.scene_words} is too few. Give 1 or more.")
