"""ROUGE of one text against another (Lin, 2004), equal to what the package rouge-score gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import LCSseq

from fabula.craft.ngrams import ngrams
from fabula.evaluators.rouge.unions import union_lcs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.craft.tokens import Tokeniser


@dataclass(frozen=True, slots=True)
class Rouge:
    """Precision, recall and their harmonic mean, each between 0 and 1."""

    precision: float = 0.0
    recall: float = 0.0

    @property
    def f(self) -> float:
        """The harmonic mean; 0 where both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both > 0 else 0.0


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of tokens of a longest common subsequence."""
    return int(LCSseq.similarity(first, second))


def rouge_n(reference: Sequence[str], text: Sequence[str], n: int) -> Rouge:
    """ROUGE-N: the n-grams that both have, each as often as the one that has it less often."""
    wanted, there = Counter(ngrams(reference, n)), Counter(ngrams(text, n))
    hits = (wanted & there).total()
    return Rouge(hits / max(there.total(), 1), hits / max(wanted.total(), 1))


def rouge_l(reference: Sequence[str], text: Sequence[str]) -> Rouge:
    """ROUGE-L: the longest common subsequence of the whole texts, line ends ignored."""
    if not reference or not text:
        return Rouge()
    common = lcs_length(reference, text)
    return Rouge(common / len(text), common / len(reference))


def rouge_lsum(reference: Sequence[Sequence[str]], text: Sequence[Sequence[str]]) -> Rouge:
    """ROUGE-Lsum of texts in lines: for each line of the reference the union of its subsequences with every line.

    A token counts at most as often as either text has it.
    """
    wanted, there = (Counter(token for line in lines for token in line) for lines in (reference, text))
    sizes = wanted.total(), there.total()
    if not all(sizes):
        return Rouge()
    hits = 0
    for line in reference:
        for token in union_lcs(line, text):
            if wanted[token] and there[token]:
                hits += 1
                wanted[token] -= 1
                there[token] -= 1
    return Rouge(hits / sizes[1], hits / sizes[0])


def scores(reference: str, text: str, tokens: Tokeniser, variants: Sequence[str]) -> dict[str, Rouge]:
    """Each of the `VARIANTS` asked for, of a text against its reference.

    Raises:
        KeyError: there is no such variant.
    """
    words = tokens(reference), tokens(text)
    whole: dict[str, Callable[[], Rouge]] = {
        "rouge1": lambda: rouge_n(*words, 1),
        "rouge2": lambda: rouge_n(*words, 2),
        "rougeL": lambda: rouge_l(*words),
        "rougeLsum": lambda: rouge_lsum(_lines(reference, tokens), _lines(text, tokens)),
    }
    return {variant: whole[variant]() for variant in variants}


VARIANTS: Final = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def _lines(text: str, tokens: Tokeniser) -> list[list[str]]:
    return [tokens(line) for line in text.split("\n") if line]
