"""Unions of longest common subsequences, for ROUGE-Lsum.

Which of several longest subsequences is taken decides the value, so it is the one that rouge-score reads out of its
table: from the end, where the tokens are the same they are taken, else the step is to the side with the longer
subsequence, at a tie in the reference. The table's rows are bit vectors (Hyyro, "Bit-parallel LCS-length computation
revisited", 2004): a bit of a row is 0 where the length grows by one, so two lengths differ as their counts of zeros do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
    # Tokens that the line has not are stepped over in any case. Those of the line that the reference has not are kept:
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
