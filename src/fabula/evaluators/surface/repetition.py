"""Trigram repetition within and between stories, and overlap with the prompt (Agents' Room, section 6.2).

The formulas are those of the code of Goldfarb-Tarrant et al. (2020), which the paper cites: within a story
100 (total - distinct) / total trigrams; between stories 100 (1 - distinct / total) over all of a system's stories.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from fabula.craft.measuring import by_system, prompt_of
from fabula.craft.tokens import tokeniser
from fabula.measure.report import Row
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.intervals import jackknifed
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.craft.tokens import Tokeniser
    from fabula.evaluators.surface.config import Config
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored

    Codes: TypeAlias = NDArray[np.uint64]

INTRA, INTER = "intra-story repetition", "inter-story repetition"
_N: Final = 3
_FEWEST: Final = 20  # prompts behind an interval of the repetition between stories; with fewer it is too narrow
_SHORT: Final = Unscored("the story has fewer than three tokens")
_ALONE: Final = Unscored("this needs at least two stories", 1)


def in_case(tokens: Tokeniser, fold_case: bool) -> Tokeniser:  # noqa: FBT001 - a setting handed on
    """The tokeniser, ignoring case if the settings say so."""
    return (lambda text: [token.lower() for token in tokens(text)]) if fold_case else tokens


def trigrams(items: Sequence[Item], config: Config) -> list[Codes]:
    """The trigrams of each story, equal ones as equal numbers."""
    tokens, known = in_case(tokeniser(config.trigram_tokens), config.fold_case), TokenHashes()
    return [known.ngrams(tokens(item.story.text), _N) for item in items]


def intra(codes: Sequence[Codes], config: Config) -> list[Scored]:
    """The share of each story's trigrams that are repeated."""
    method = f"% of trigrams of {config.trigram_tokens} tokens that stood before in the story"
    return [
        Estimate(100 * repeated(code) / len(code), len(code), method=method) if len(code) else _SHORT for code in codes
    ]


def inter_rows(items: Sequence[Item], codes: Sequence[Codes], config: Config) -> tuple[list[Row], tuple[str, ...]]:
    """A row for every system with the repetition between its stories, and notes for the reader."""
    found: dict[str, StoriesOfSystem] = {}
    for system, members in by_system(items).items():
        found[system] = of = StoriesOfSystem()
        prompts = [of.number(prompt_of(items[i]), len(codes[i])) for i in members]
        lengths = [len(codes[i]) for i in members]
        of.add(np.concatenate([codes[i] for i in members]), np.repeat(prompts, lengths))
    return between(found, config)


def between(systems: Mapping[str, StoriesOfSystem], config: Config) -> tuple[list[Row], tuple[str, ...]]:
    """The rows and notes for systems whose trigrams are already counted."""
    method = f"% of the trigrams of {config.trigram_tokens} tokens that are no new ones, over all stories"
    rows = [Row(system, INTER, of.scored(method)) for system, of in systems.items()]
    note = f"{INTER} grows with the number of stories, which differs between systems here. Do not compare it."
    return rows, (note,) if len({of.stories for of in systems.values()}) > 1 else ()


@dataclass
class StoriesOfSystem:
    """The trigrams of all stories of a system, counted part by part so that they need not all be in memory.

    Attributes:
        stories: the number of stories.
        distinct: the number of distinct trigrams.
        own: the number of trigrams in each prompt's stories.
        alone: the number of distinct trigrams found only in the stories of one prompt, by prompt.
    """

    stories: int = 0
    distinct: int = 0
    own: list[int] = field(default_factory=list)
    alone: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    _prompts: dict[str, int] = field(default_factory=dict)

    def number(self, prompt: str, length: int) -> int:
        """The number of a story's prompt. The story, with `length` trigrams, is counted for it."""
        number = self._prompts.setdefault(prompt, len(self._prompts))
        self.own += [0] * (number == len(self.own))
        self.own[number] += length
        self.stories += 1
        return number

    def add(self, codes: Codes, prompts: NDArray[np.int64]) -> None:
        """Count trigrams of stories, each with the number of its prompt. Equal trigrams must come in the same part."""
        if not len(codes):
            return
        order = np.lexsort((prompts, codes))
        codes, prompts = codes[order], prompts[order]
        starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
        ends = np.concatenate((starts[1:], [len(codes)])) - 1
        alone = np.bincount(prompts[starts[prompts[starts] == prompts[ends]]], minlength=len(self.own))
        self.distinct += len(starts)
        self.alone = alone if not len(self.alone) else self.alone + alone

    def scored(self, method: str) -> Scored:
        """The pooled formula, with an interval by the jackknife over prompts.

        Random draws would include some stories twice, and a repeated story repeats all of its trigrams.
        """
        total = sum(self.own)
        if self.stories == 1 or not total:
            return _ALONE if total else _SHORT
        value = 100 * (1 - self.distinct / total)
        if len(self.own) == 1:
            return Estimate(value, self.stories, method=f"{method}; no interval from one prompt")
        left = total - np.array(self.own)
        if not left.all():
            why = "no interval, since one prompt has all the trigrams"
            return Estimate(value, self.stories, method=f"{method}; {why}")
        without = 100 * (1 - (self.distinct - self.alone) / left)
        return jackknifed(value, self.stories, without, method=method, limits=(0.0, 100.0), fewest=_FEWEST)


def overlap(items: Sequence[Item], config: Config) -> list[Scored]:
    """The share of each story's trigrams that are also in its prompt, between 0 and 1."""
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


# counting the n-grams of many texts: as numbers, because a thousand stories hold more than a million -----------------

_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)


class TokenHashes(dict[str, int]):
    """A number of 64 bits for each token, the same in every process."""

    def __missing__(self, token: str) -> int:
        digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[token] = number = int.from_bytes(digest, "big")
        return number

    def ngrams(self, tokens: Sequence[str], n: int) -> NDArray[np.uint64]:
        """A number of 64 bits for each n-gram of a text.

        Equal n-grams have equal ones, in all texts. Of a thousand million different ones, a pair of equal numbers is
        expected with a chance of 3 %.

        Raises:
            ValueError: n is less than 1.
        """
        if n < 1:
            raise ValueError(f"An n-gram has at least one token, not {n}.")
        numbers = np.fromiter(map(self.__getitem__, tokens), np.uint64, len(tokens))
        count = max(len(tokens) - n + 1, 0)
        codes = numbers[:count]
        for step in range(1, n):
            codes = codes * _FACTOR + numbers[step : step + count]  # modulo 2 ** 64
        return codes


def repeated(codes: NDArray[np.uint64]) -> int:
    """How many n-grams of a text stood in it before: all less the distinct ones."""
    return len(codes) - len(np.unique(codes))
