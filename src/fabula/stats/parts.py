"""Where the variance of verdicts comes from: prompts, the stories on one prompt (seeds), and verdicts on one pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from fabula.base.lazily import Module
from fabula.stats.verdicts import grouped

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
else:
    np = Module("numpy")


def variance_parts(values: Sequence[float], prompts: Sequence[str], stories: Sequence[str]) -> tuple[float, ...] | None:
    """The variance between prompts, between stories on one prompt, and between verdicts on the same stories.

    Nested analysis of variance by the method of moments (Searle, Casella and McCulloch 1992, chapter 5), for unequal
    numbers too; a part that comes out below 0 is 0. `None` where a level has nothing to vary.

    Args:
        values: the verdicts as numbers.
        prompts: what each is on.
        stories: the stories that each compares, of one name on one prompt alone.
    """
    there = np.asarray(values, dtype=np.float64)
    inner, outer = grouped(stories), grouped(prompts)
    count, of_stories, of_prompts = len(there), len(inner), len(outer)
    if not count > of_stories > of_prompts > 1:
        return None
    within = sum(float(((there[own] - there[own].mean()) ** 2).sum()) for own in inner)
    apart = sum(float(((there[own] - there[own].mean()) ** 2).sum()) for own in outer) - within
    between = float(((there - there.mean()) ** 2).sum()) - within - apart
    sizes = {stories[int(own[0])]: len(own) for own in inner}
    squares = [sum(sizes[name] ** 2 for name in {stories[int(n)] for n in own}) / len(own) for own in outer]
    of_verdicts = within / (count - of_stories)
    k1 = (count - sum(squares)) / (of_stories - of_prompts)
    of_story = max((apart / (of_stories - of_prompts) - of_verdicts) / k1, 0.0)
    k2 = (sum(squares) - sum(size**2 for size in sizes.values()) / count) / (of_prompts - 1)
    k3 = (count - sum(len(own) ** 2 for own in outer) / count) / (of_prompts - 1)
    return max((between / (of_prompts - 1) - of_verdicts - k2 * of_story) / k3, 0.0), of_story, of_verdicts
