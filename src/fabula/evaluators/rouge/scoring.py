"""ROUGE of one text against another (Lin, 2004), with the same values as the package rouge-score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import LCSseq

from fabula.story.words import ngrams

if TYPE_CHECKING:
    from fabula.craft.tokens import Tokeniser


@dataclass(frozen=True, slots=True)
class Rouge:
    """Precision, recall and their harmonic mean, each between 0 and 1."""

    precision: float = 0.0
    recall: float = 0.0

    @property
    def f(self) -> float:
        """The harmonic mean, or 0 if both are 0."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both > 0 else 0.0


def lcs_length(first: Sequence[str], second: Sequence[str]) -> int:
    """The number of tokens of a longest common subsequence."""
    return int(LCSseq.similarity(first, second))


def rouge_n(reference: Sequence[str], text: Sequence[str], n: int) -> Rouge:
    """ROUGE-N: the n-grams that both texts share, counted as often as they occur in the text that has fewer of them."""
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

    A token counts at most as often as it occurs in either text.
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
    """The requested `VARIANTS` of ROUGE, for a text against its reference.

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


# Unions of longest common subsequences, for ROUGE-Lsum. Which of several longest subsequences is taken decides the
# value, so it is the one that rouge-score reads out of its table: from the end, where the tokens are the same they are
# taken, else the step is to the side with the longer subsequence, at a tie in the reference. The table's rows are bit
# vectors (Hyyro, "Bit-parallel LCS-length computation revisited", 2004): a bit of a row is 0 where the length grows by
# one, so two lengths differ as their counts of zeros do.


def union_lcs(reference: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    """The tokens of `reference`, in order, that are in its common subsequence with any of the lines."""
    own, found = set(reference), set[int]()
    for line in lines:
        if not own.isdisjoint(line):
            found.update(subsequence(reference, line))
    return [reference[index] for index in sorted(found)]


def subsequence(reference: Sequence[str], line: Sequence[str]) -> Iterator[int]:
    """The indices in `reference` of its longest common subsequence with `line`, last first."""
    places: dict[str, int] = {}
    for index, token in enumerate(line):
        places[token] = places.get(token, 0) | (1 << index)
    # Tokens that the line has not are stepped over anyway. Those of the line that the reference has not are kept:
    # at them a tie steps to another place in the reference.
    kept = [index for index, token in enumerate(reference) if token in places]
    rows = _rows([places[reference[index]] for index in kept], len(line))
    i, j = len(kept), len(line)
    while i and j:
        if reference[kept[i - 1]] == line[j - 1]:
            yield kept[i - 1]
            i, j = i - 1, j - 1
        elif _zeros(rows[i], j) > _zeros(rows[i - 1], j):  # then the length is had without this token of the line
            j -= 1
        else:
            i -= 1


def _rows(places: Sequence[int], width: int) -> list[int]:
    """One bit vector for each prefix of the reference, the empty one first, from the places of each of its tokens."""
    full = (1 << width) - 1
    rows = [full]
    for place in places:
        row = rows[-1]
        match = row & place
        rows.append((row + match | row - match) & full)
    return rows


def _zeros(row: int, width: int) -> int:
    """How many of the lowest `width` bits are 0: the length of the subsequence with that much of the line."""
    return width - (row & ((1 << width) - 1)).bit_count()
