"""Which stories are compared with which: all unordered pairs within a prompt, never two of one system."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.items import Item

Pair: TypeAlias = "tuple[Item, Item]"


def pairs_of(items: Sequence[Item]) -> tuple[Pair, ...]:
    """All unordered pairs of stories that answer one prompt and are of different systems, by prompt and id.

    The order of `items` makes no difference.

    Raises:
        UsageError: there is no pair: fewer than two stories, one system only, or no two stories of one prompt.
    """
    prompts: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.id):
        prompts.setdefault(item.prompt, []).append(item)
    found = tuple(
        (one, other)
        for _, group in sorted(prompts.items())
        for one, other in combinations(group, 2)
        if name_of(one) != name_of(other)
    )
    if not found:
        raise UsageError(_why_none(items, prompts))
    return found


def _why_none(items: Sequence[Item], prompts: dict[str, list[Item]]) -> str:
    names = sorted({name_of(item) for item in items})
    if len(items) < 2:  # noqa: PLR2004 - a pair
        return "A comparison takes two stories. Give another one."
    if len(names) == 1:
        return (
            f"All {len(items)} stories are of one system, {names[0]}. Give stories of another one to compare it with."
        )
    told = ", ".join(repr(prompt) for prompt in sorted(prompts)[:4])
    return (
        f"No two stories answer the same prompt ({told}{', ...' if len(prompts) > 4 else ''}). "  # noqa: PLR2004 - as many as fit
        "Stories are compared within a prompt: give files of different systems the same name, or the same `prompt`."
    )


def name_of(item: Item) -> str:
    """What is ranked: the story's system, or the story itself where that is not known."""
    return item.system or item.id
