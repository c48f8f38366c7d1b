"""An agent's memories and their recall, by a weighted sum of recency, similarity and shared rare words.

The scoring is that of IBSEN's released actors: candidates by similarity, each measure brought to 0..1 among them, then
a weighted sum. Similarity needs no embedding model: texts are hashed into vectors by their word stems and letter
groups, which is the same on every machine. Another embedder can be handed in.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from math import log
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

import numpy as np

from fabula.base.remembering import remembered
from fabula.craft.stems import stem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.floating[Any]]
    Embed: TypeAlias = Callable[[Sequence[str]], Vectors]

__all__ = ["Memories", "Memory", "Recall", "Recalled", "content_words", "hashed", "tf_idf"]

DIMENSIONS: Final = 2048  # with fewer, different words share places too often
_LETTERS: Final = 4  # length of the letter groups
_LETTER_WEIGHT: Final = 0.35  # of a letter group, beside 1 for a word
_SPREAD: Final = 0.5  # stands for the range of a measure that is the same for all candidates
_WORD: Final = re.compile(r"\w+")
_COMMON: Final = frozenset(
    (
        *("a", "an", "the", "and", "or", "but", "if", "of", "to", "in", "on", "at", "for", "with", "by", "from", "as"),
        *("is", "are", "was", "were", "be", "been", "has", "have", "had", "do", "does", "did", "will", "would", "can"),
        *("he", "she", "it", "they", "we", "you", "i", "him", "her", "his", "its", "their", "them", "my", "your", "me"),
        *("that", "this", "there", "then", "so", "not", "no", "what", "who", "when", "out", "up", "said", "says"),
    )
)


def hashed(texts: Sequence[str]) -> Vectors:
    """One vector of length 1 for each text (0 for a text without words), hashed from stems and letter groups.

    Returns:
        An array of shape (texts, 2048). No value depends on the machine or on other texts.
    """
    return np.array([_vector(text) for text in texts], np.float32).reshape(len(texts), DIMENSIONS)


@remembered(8192, 1000)
def _vector(text: str) -> Vectors:
    vector = np.zeros(DIMENSIONS, np.float32)
    for word in _stems(text):
        _put(vector, word, 1.0)
        padded = f"_{word}_"
        for start in range(len(padded) - _LETTERS + 1):
            _put(vector, padded[start : start + _LETTERS], _LETTER_WEIGHT)
    length = float(np.linalg.norm(vector))
    vector = vector / length if length else vector
    vector.flags.writeable = False  # it is shared by all who ask
    return vector


def _put(vector: Vectors, feature: str, weight: float) -> None:
    """Add a feature; the sign keeps features that share a place from adding up."""
    code = crc32(feature.encode())
    vector[code % DIMENSIONS] += weight if code & 0x8000_0000 else -weight


@remembered(8192, 1000)
def _stems(text: str) -> tuple[str, ...]:
    return tuple(map(stem, content_words(text)))


def content_words(text: str) -> list[str]:
    """The words of a text in small letters, without the commonest words unless there are no others."""
    found = _WORD.findall(text.casefold())
    return [word for word in found if word not in _COMMON] or found


def tf_idf(query: str, texts: Sequence[str], counts: Counter[str] | None = None, of: int = 0) -> Vectors:
    """Cosine of the TF-IDF vectors of `query` and of each of `texts`, 0 to 1; shape (texts,).

    Args:
        query: what is looked for.
        texts: what is looked at.
        counts: in how many texts of the whole collection each stem stands; by default those of `texts`.
        of: how many texts the collection has.
    """
    if counts is None:
        counts, of = Counter(word for text in texts for word in set(_stems(text))), len(texts)
    wanted = _weights(query, counts, of)
    found = [_weights(text, counts, of) for text in texts]
    return np.array([_cosine(wanted, one) for one in found])


def _weights(text: str, counts: Counter[str], of: int) -> dict[str, float]:
    return {word: n * (log((1 + of) / (1 + counts[word])) + 1) for word, n in Counter(_stems(text)).items()}


def _cosine(one: dict[str, float], other: dict[str, float]) -> float:
    size = sum(v * v for v in one.values()) * sum(v * v for v in other.values())
    return sum(value * other.get(word, 0.0) for word, value in one.items()) / size**0.5 if size else 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """Something remembered: what happened, the hour of it, and what the one who remembers thought of it.

    Hours are counted from any moment that is the same for all memories of a store; earlier ones may be negative.
    """

    text: str
    hour: float = 0.0
    thought: str = ""

    @property
    def shown(self) -> str:
        """As it comes to mind: the thought, where there is one."""
        return self.thought or self.text


@dataclass(frozen=True, slots=True)
class Recalled:
    """A memory that came to mind: how like the query it is (-1 to 1), and its weighed score among the candidates."""

    memory: Memory
    similarity: float
    score: float


@dataclass(frozen=True, slots=True)
class Recall:
    """How memories are looked for; the defaults are those of IBSEN's release.

    Attributes:
        threshold: memories less similar than this do not come to mind.
        candidates: so many of the most similar ones are weighed.
        decay: what is left of a memory's recency after an hour.
        recency: weight of recency.
        similarity: weight of similarity.
        rarity: weight of shared rare words (TF-IDF).
    """

    threshold: float = 0.3
    candidates: int = 20
    decay: float = 0.99
    recency: float = 0.5
    similarity: float = 1.0
    rarity: float = 0.5


@dataclass
class Memories:
    """The memories of one agent, in the order in which they were formed; nothing is ever taken out."""

    embed: Embed = hashed
    kept: list[Memory] = field(default_factory=list)
    _vectors: list[Vectors] = field(init=False, repr=False)
    _counts: Counter[str] = field(init=False, repr=False)
    _stacked: Vectors | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Index what is remembered already."""
        self._vectors = list(self.embed([memory.text for memory in self.kept])) if self.kept else []
        self._counts = Counter(word for memory in self.kept for word in set(_stems(memory.text)))

    def __len__(self) -> int:
        return len(self.kept)

    def copy(self) -> Memories:
        """The same memories in a store of their own."""
        return Memories(self.embed, list(self.kept))

    def add(self, memory: Memory) -> None:
        """Remember one thing more."""
        self.kept.append(memory)
        self._vectors.append(self.embed([memory.text])[0])
        self._stacked = None
        self._counts.update(set(_stems(memory.text)))

    def recall(self, query: str, hour: float, most: int, how: Recall) -> list[Recalled]:
        """At most `most` memories that `query` calls to mind at `hour`, the best first; of equals the latest.

        Looking at a memory does not refresh it.
        """
        if not self.kept or not query.strip():
            return []
        if self._stacked is None:
            self._stacked = np.array(self._vectors)
        like = self._stacked @ self.embed([query])[0]
        near = sorted(np.flatnonzero(like >= how.threshold).tolist(), key=lambda n: (-like[n], -n))[: how.candidates]
        if not near:
            return []
        found = [self.kept[n] for n in near]
        ages = np.array([max(hour - memory.hour, 0.0) for memory in found])
        rare = tf_idf(query, [memory.text for memory in found], self._counts, len(self.kept))
        score = how.recency * _scaled(how.decay**ages) + how.similarity * _scaled(like[near])
        score = score + how.rarity * _scaled(rare)
        best = sorted(range(len(near)), key=lambda n: (-round(float(score[n]), 12), -near[n]))[:most]
        return [Recalled(found[n], float(like[near[n]]), float(score[n])) for n in best]

    def recall_all(self, queries: Iterable[tuple[str, int]], hour: float, how: Recall) -> list[Recalled]:
        """What several queries call to mind, each with its number of memories at most; every text once."""
        found: dict[str, Recalled] = {}
        for query, most in queries:
            for one in self.recall(query, hour, most, how):
                text = one.memory.text
                if text not in found or found[text].similarity < one.similarity:
                    found[text] = one
        return list(found.values())


def _scaled(values: Vectors) -> Vectors:
    """`values` brought to 0..1; where all are the same, 0."""
    low = values.min()
    spread = float(values.max() - low)
    scaled: Vectors = (values - low) / (spread if spread > 0 else _SPREAD)
    return scaled
