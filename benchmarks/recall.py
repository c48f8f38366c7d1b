"""Whether an actor of IBSEN remembers what matters: 40 sayings, each of which ought to call one of 8 memories to mind.

`FABULA_EMBEDDER` names a sentence-embedding model (a folder, or one on this machine); without it words are compared.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.recall_cases import ACTORS
from benchmarks.table import Row, Table
from fabula.craft.embedding import Embedding

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.craft.memory import Vectors

TITLE: Final = "memories of IBSEN's actors that come to mind when they ought to"
# Improved's thresholds, for words and for models; the release's for its own embeddings is 0.3.
_THRESHOLDS: Final = (0.05, 0.1, 0.3)
_MOST: Final = 3
_PERCENT: Final = 100.0


def bench(embeddings: tuple[Embedding, ...] = ()) -> Table:
    """Words, and the model that the environment names."""
    named = os.environ.get("FABULA_EMBEDDER", "")
    embeddings = embeddings or (Embedding(), *([Embedding(named)] if named else []))
    rows = [row for one in embeddings for row in rows_of(one)]
    count = sum(map(len, ACTORS))
    return Table(
        "recall",
        TITLE,
        tuple(rows),
        (
            f"{count} sayings of {len(ACTORS)} actors with 8 memories each; the cases share matter, seldom words.",
            "'At 0.05': the right memory is at least that similar; 'others' are wrong ones that are, too.",
            f"'Among the first {_MOST}' ignores the threshold; of equals half count.",
        ),
    )


def rows_of(embedding: Callable[[list[str]], Vectors]) -> list[Row]:
    """What one embedding finds."""
    name = getattr(embedding, "name", "embedding").rpartition("/")[2]
    right, wrong, firsts = [], [], []
    for actor in ACTORS:
        like = embedding([said for _, said in actor]) @ embedding([memory for memory, _ in actor]).T
        own = like.diagonal()
        above, equal = (like > own[:, None]).sum(1), (like == own[:, None]).sum(1) - 1
        firsts += [float(n) < _MOST for n in above + equal / 2]
        right += own.tolist()
        wrong += like[~np.eye(len(actor), dtype=bool)].tolist()
    rows = [Row(f"{name}: among the first {_MOST}", (_PERCENT * float(np.mean(firsts)),), "%", f"{len(right)} sayings")]
    for least in _THRESHOLDS:
        for what, values in (("the right one", right), ("others", wrong)):
            share = _PERCENT * float(np.mean(np.array(values) >= least))
            rows.append(Row(f"{name}: {what} at {least}", (share,), "%", f"{len(values)} pairs"))
    return rows
