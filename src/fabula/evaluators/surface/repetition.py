"""Trigram repetition within and between stories, and overlap with the prompt (Agents' Room, section 6.2).

The formulas are those of the code of Goldfarb-Tarrant et al. (2020), which the paper cites: within a story
100 (total - distinct) / total trigrams; between stories 100 (1 - distinct / total) over all of a system's stories.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.craft.measuring import by_system, prompt_of
from fabula.craft.ngrams import Vocabulary, ngram_codes, repeated
from fabula.craft.tokens import tokeniser
from fabula.measure.report import Row
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import jackknifed
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fabula.craft.tokens import Tokeniser
    from fabula.evaluators.surface.config import Config
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored

INTRA, INTER = "intra-story repetition", "inter-story repetition"
_N: Final = 3
_FEWEST: Final = 20  # prompts behind an interval of the repetition between stories; with fewer it is too narrow
_SHORT: Final = Unscored("the story has fewer than three tokens")
_ALONE: Final = Unscored("it takes at least two stories", 1)


def in_case(tokens: Tokeniser, fold_case: bool) -> Tokeniser:  # noqa: FBT001 - a setting handed on
    """The tokeniser, with small letters for all where that is wanted."""
    return (lambda text: [token.lower() for token in tokens(text)]) if fold_case else tokens


def intra(items: Sequence[Item], config: Config) -> tuple[Sequence[NDArray[np.int64]], list[Scored]]:
    """The trigrams of each story, equal ones as equal numbers, and how much of each story is repetition."""
    tokens, known = in_case(tokeniser(config.trigram_tokens), config.fold_case), Vocabulary()
    numbers = [known.numbers(tokens(item.story.text)) for item in items]
    codes = ngram_codes(numbers, _N, len(known))
    method = f"% of trigrams of {config.trigram_tokens} tokens that stood before in the story"
    within: list[Scored] = [
        Estimate(100 * repeated(code) / len(code), len(code), method=method) if len(code) else _SHORT for code in codes
    ]
    return codes, within


def inter_rows(
    items: Sequence[Item], codes: Sequence[NDArray[np.int64]], config: Config
) -> tuple[list[Row], tuple[str, ...]]:
    """For every system a row with the repetition between its stories, and what a reader must know about them."""
    systems = by_system(items)
    method = f"% of the trigrams of {config.trigram_tokens} tokens that are no new ones, over all stories"
    rows = [Row(system, INTER, _pooled(items, codes, members, method)) for system, members in systems.items()]
    sizes = {len(members) for members in systems.values()}
    note = f"{INTER} grows with the number of stories, which is not the same for all systems here: do not compare it."
    return rows, (note,) if len(sizes) > 1 else ()


def _pooled(items: Sequence[Item], codes: Sequence[NDArray[np.int64]], members: Sequence[int], method: str) -> Scored:
    """The pooled formula, with an interval by the jackknife over prompts.

    Drawing stories at random would draw some twice, and a story drawn twice repeats itself whole.
    """
    total = sum(len(codes[i]) for i in members)
    if len(members) == 1 or not total:
        return _ALONE if total else _SHORT
    groups: dict[str, list[int]] = {}
    for i in members:
        groups.setdefault(prompt_of(items[i]), []).append(i)
    own = [np.unique(np.concatenate([codes[i] for i in group])) for group in groups.values()]
    _, first, held = np.unique(np.concatenate(own), return_index=True, return_counts=True)
    value = 100 * (1 - len(held) / total)
    if len(groups) == 1:
        return Estimate(value, len(members), method=f"{method}; no interval from one prompt")
    borders = np.cumsum([len(group) for group in own])
    alone = np.bincount(np.searchsorted(borders, first[held == 1], side="right"), minlength=len(own))
    left = total - np.array([sum(len(codes[i]) for i in group) for group in groups.values()])
    if not left.all():
        return Estimate(value, len(members), method=f"{method}; no interval, since one prompt has all the trigrams")
    without = 100 * (1 - (len(held) - alone) / left)
    return jackknifed(value, len(members), without, method=method, limits=(0.0, 100.0), fewest=_FEWEST)


def overlap(items: Sequence[Item], config: Config) -> list[Scored]:
    """The share of each story's trigrams that its prompt holds too, between 0 and 1."""
    return [_overlap(item, config) for item in items]


def _overlap(item: Item, config: Config) -> Scored:
    if item.brief is None:
        return Unscored("the story's prompt is not known")
    tokens = in_case(tokeniser(config.overlap_tokens), config.fold_case)
    prompt = set(ngrams(tokens(item.brief.text), _N))
    words = tokens(item.story.text)
    story = set(ngrams(words, _N)) if config.overlap == "distinct" else ngrams(words, _N)
    whole = len(story) if isinstance(story, set) else len(words) - _N + 1
    if whole < 1:
        return _SHORT
    shared = sum(map(prompt.__contains__, story))
    distinct = "distinct " if config.overlap == "distinct" else ""
    method = f"share of the {distinct}trigrams of {config.overlap_tokens} tokens that are in the prompt"
    return Estimate(shared / whole, whole, method=method)
