"""Labels as counts, which is what Fleiss' kappa is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence


def tally(labels: Sequence[Sequence[Hashable | None]]) -> list[list[int]]:
    """How often each item (row) got each label (column); `None` is no rating."""
    columns = list(dict.fromkeys(label for row in labels for label in row if label is not None))
    return [[list(row).count(column) for column in columns] for row in labels]
