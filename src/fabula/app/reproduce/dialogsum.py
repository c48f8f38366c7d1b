"""DialogSum: ROUGE of the BART baseline, item by item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.app.reproduce.rows import FULL, PublishedNumber, Table, missing, number
from fabula.craft.tokens import tokeniser
from fabula.data.dialogsum import scored_summaries
from fabula.evaluators.rouge.scoring import VARIANTS, scores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _rows(data: Path) -> Iterator[PublishedNumber]:
    tokens = tokeniser("rouge-stems")
    for item in scored_summaries(data):
        values = scores(item.references[0], item.output, tokens, [name for name in item.rouge if name in VARIANTS])
        for name, cell in item.rouge.items():
            if name in values:
                yield number(f"{item.id}, {name}", cell, FULL, values[name].f, group=name)
            else:
                yield missing(f"{item.id}, {name}", f"{cell:.{FULL}f}", f"there is no measure {name}")


TABLES: Final = (
    Table(
        "dialogsum-rouge",
        "ROUGE-1, -2 and -L (F, stemmed) of BART's summaries on DialogSum",
        "dialogsum",
        ("rouge_items.jsonl",),
        _rows,
        against="computed",
        origin="made for this table and not public: rouge-score's values for Baseline/test_output.txt and "
        "DialogSum_Data/dialogsum.test.jsonl of github.com/cylnlp/dialogsum",
    ),
)
