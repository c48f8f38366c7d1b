"""ROUGE of stories against their references (Lin, 2004; in Table 2 of Agents' Room: ROUGE-L)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from fabula.base.errors import UnknownNameError
from fabula.craft.measuring import checked, measured_report
from fabula.craft.tokens import tokeniser
from fabula.evaluators.rouge.scoring import VARIANTS, scores
from fabula.stats.estimate import Estimate, Scored, Unscored

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.evaluators.rouge.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """ROUGE of every story that has a reference, and means of every system with intervals by prompt. Calls no model.

    Raises:
        UsageError: there is no story, or two have one id.
        UnknownNameError: there is no such variant.
    """
    del run
    checked(items)
    variants = [name.strip() for name in config.variants.split(",")]
    for name in variants:
        if name not in VARIANTS:
            raise UnknownNameError("variant of ROUGE", name, VARIANTS)
    measured: dict[str, list[Scored]] = {}
    for item in items:
        for what, scored in _story(item, variants, config).items():
            measured.setdefault(what, []).append(scored)
    return measured_report("rouge", asdict(config), items, measured, limits, most=1.0)


def limits(what: str) -> tuple[float, float]:
    """The lowest and highest values that the mean of a measure can have."""
    del what
    return (0.0, 1.0)


def _story(item: Item, variants: Sequence[str], config: Config) -> dict[str, Scored]:
    parts = ("precision", "recall") if config.parts else ()
    names = [(variant, part) for variant in variants for part in ("f", *parts)]
    if item.reference is None:
        missing = Unscored("the story has no reference: give one with --reference")
        return {_name(variant, part): missing for variant, part in names}
    tokens = "rouge-stems" if config.stemmer else "rouge"
    cut = tokeniser(tokens)
    if not (cut(item.reference.text) and cut(item.story.text)):
        script = Unscored("ROUGE counts words of Latin letters, and there are none")
        return {_name(variant, part): script for variant, part in names}
    found = scores(item.reference.text, item.story.text, cut, variants)
    part_names = {"f": "F1", "precision": "precision", "recall": "recall"}
    return {
        _name(variant, part): Estimate(
            getattr(found[variant], part),
            1,
            method=f"{variant}, {part_names[part]}, 0 to 1, {tokens} tokens, one reference",
        )
        for variant, part in names
    }


def _name(variant: str, part: str) -> str:
    return variant if part == "f" else f"{variant}/{part}"
