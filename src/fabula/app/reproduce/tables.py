"""All tables that can be recomputed, and the code that recomputes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np

from fabula.app.reproduce import atlas, hanna, storysumm, ttcw
from fabula.app.reproduce.atlas import gold_of
from fabula.app.reproduce.rows import (
    FULL,
    PublishedNumber,
    Table,
    TableOutcome,
    counts,
    files_of,
    missing,
    number,
    published,
)
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.extras import installing
from fabula.craft.tokens import tokeniser
from fabula.data.dialogsum import scored_summaries
from fabula.data.fetching import verify
from fabula.data.reading import json_object
from fabula.data.sets import SETS
from fabula.evaluators.rouge.scoring import VARIANTS, scores
from fabula.stats.bradley_terry import bradley_terry


def tables() -> dict[str, Table]:
    """All tables by name, in the order of their papers."""
    families = (
        *(ttcw.TABLES, _BRADLEY_TERRY, atlas.TABLES, _MAGNET, _SNAP),
        *(hanna.TABLES, storysumm.TABLES, _DIALOGSUM),
    )
    return {table.name: table for family in families for table in family}


def chosen(name: str) -> tuple[Table, ...]:
    """The table of that name, or the tables whose names begin with it; all tables if the name is empty.

    Raises:
        UnknownNameError: there is no such table; the error suggests the nearest name.
    """
    known = tables()
    if name in known:
        return (known[name],)
    found = tuple(table for table in known.values() if not name or table.name.startswith(f"{name}-"))
    if not found:
        raise UnknownNameError("table", name, known)
    return found


def reproduce(folder: Path, wanted: Sequence[Table]) -> Iterator[TableOutcome]:
    """The outcome of each table, including tables whose data are missing, incomplete or do not match their checksums.

    Raises:
        UsageError: there is no such folder.
    """
    if not folder.is_dir():
        raise UsageError(
            f"There is no data folder {folder}. Specify a folder with --data, or set FABULA_DATA to its path."
        )
    for table in wanted:
        yield _outcome(folder, table)


def _outcome(data: Path, table: Table) -> TableOutcome:
    folder = SETS[table.data].folder(data)
    there, absent = files_of(table, folder)
    if absent:
        origin = f" ({table.origin})" if table.origin else ""
        return TableOutcome(table, absent=f"{', '.join(absent)} not in {folder}{origin}")
    if lacking := [module for module in table.modules if find_spec(module) is None]:
        return TableOutcome(table, absent=f"needs {', '.join(lacking)}: {installing(lacking[0])}")
    try:
        verify(there)
        return TableOutcome(table, tuple(table.rows(folder)), read=there)
    except UsageError as error:
        return TableOutcome(table, absent=str(error).removesuffix("."), broken=True)
    except (ArithmeticError, LookupError, ValueError) as error:  # a file lacks what another one speaks of
        read = ", ".join(str(path.relative_to(data)) for path in there) or "the printed numbers"
        why = f"{read} in {data} are incomplete ({type(error).__name__}: {error})"
        return TableOutcome(table, absent=why, broken=True)


# Bradley-Terry: log strengths from the win matrices of the character-simulation paper and from synthetic ones --------

_SYSTEMS: Final = ("Character Simulation", "Agents' Room", "Dramatron")


def _strengths(names: Sequence[str], wins: object, expected: Sequence[float], digits: int) -> Iterator[PublishedNumber]:
    strengths = bradley_terry(np.asarray(wins, dtype=np.float64))
    for n, (name, strength) in enumerate(zip(names, expected, strict=True)):
        value = None if strengths.log is None else float(strengths.log[n])
        yield number(name, strength, digits, value)


def _printed_strengths(folder: Path) -> Iterator[PublishedNumber]:
    given, printed = published(folder, "bradley-terry", "seed*.json"), published(folder, "bradley-terry")
    for criterion in dict.fromkeys((*given.fields, *printed.fields)):
        record = (given if criterion in given.fields else printed).record(criterion)
        names = [f"{criterion}, {system}" for system in _SYSTEMS]
        yield from _strengths(names, record.rows("wins"), record.numbers("log_centred"), 4)


def _synthetic_strengths(data: Path) -> Iterator[PublishedNumber]:
    for path in sorted(data.glob("synthetic_*.json*")):
        record = json_object(path)
        expected = record.numbers("log_centred")
        size = path.name.split(".")[0].removeprefix("synthetic_")
        yield from _strengths([f"{size}, system {n}" for n in range(len(expected))], record.rows("wins"), expected, 6)


_BRADLEY_TERRY: Final = (
    Table(
        "bradley-terry",
        "Log strengths, centred, from the win matrices of the character-simulation paper, App. A",
        "bradley-terry",
        ("seed*.json?",),
        _printed_strengths,
        against="computed",
    ),
    Table(
        "bradley-terry-synthetic",
        "Log strengths, centred, of synthetic comparisons (systems x comparisons)",
        "bradley-terry",
        ("synthetic_*.json",),
        _synthetic_strengths,
        against="computed",
        origin="made for these tables and not public: win matrices with strengths that another program computed",
    ),
)


# MAGNET: people's agreement with its judges, as sums; Tables 7 to 9 give counts with their shares --------------------

_OVERALL: Final = "overall"


def _agreement(key: str) -> Callable[[Path], Iterator[PublishedNumber]]:
    def rows(folder: Path) -> Iterator[PublishedNumber]:
        printed = published(folder, "magnet").record(key)
        levels = {name: printed.numbers(name) for name in printed.fields}
        for name, (looked_at, agreed, share) in levels.items():
            if name == _OVERALL:  # the sums of the levels
                looked, agreeing = (sum(row[n] for at, row in levels.items() if at != _OVERALL) for n in (0, 1))
                yield counts(
                    "overall, agreed / all", f"{agreed:.0f} / {looked_at:.0f}", f"{agreeing:.0f} / {looked:.0f}"
                )
            yield number(f"{name}, per cent agreed", share, 1, 100 * agreed / looked_at)

    return rows


def _confirmed(folder: Path) -> Iterator[PublishedNumber]:
    """The candidates that people confirmed in each story, which are the gold of Table 10."""
    printed = published(folder, "magnet").record("table9")
    for story in printed.fields:
        _, confirmed = printed.numbers(story)
        yield counts(f"story {story}, confirmed / gold of Table 10", f"{confirmed:.0f}", f"{gold_of(folder, story)}")


_MAGNET: Final = (
    Table(
        "magnet-table-7", "People's agreement with the editor, MAGNET paper, Table 7", "atlas", (), _agreement("table7")
    ),
    Table("magnet-table-8", "People's agreement with the rubric's judge, Table 8", "atlas", (), _agreement("table8")),
    Table("magnet-table-9", "Candidates that people confirmed, Table 9", "atlas", (), _confirmed),
)


# SNAP: Table 4 gives means of seven ratings; the weights of its filter add up to 1 -----------------------------------

_PEOPLE: Final = 7
_QUESTIONS: Final = ("continuity", "information appropriateness", "non-redundancy", "linearity")
_WEIGHED: Final = ("coherence", "connectivity", "personality")


def _snap_table_4(data: Path) -> Iterator[PublishedNumber]:
    printed = published(data, "snap", "published*.json").record("table4_human")
    for system in printed.fields:
        for question, cell in zip(_QUESTIONS, printed.numbers(system), strict=True):
            # Seven whole ratings have a whole sum: the printed mean has to be a seventh of one.
            yield number(f"{system}, {question}", cell, 4, round(cell * _PEOPLE) / _PEOPLE)


def _snap_weights(data: Path) -> Iterator[PublishedNumber]:
    printed = published(data, "snap", "published*.json")
    component = printed.numbers("nmf_first_component")
    for name, cell, value in zip(_WEIGHED, printed.numbers("sum_normalised"), component, strict=True):
        yield number(name, cell, 4, value / sum(component))


_SNAP: Final = (
    Table(
        "snap-table-4",
        "Human ratings as means of seven, SNAP paper, Table 4",
        "snap",
        ("published*.json?",),
        _snap_table_4,
    ),
    Table(
        "snap-weights",
        "Weights of the planning filter: the first component, divided by the component's sum",
        "snap",
        ("published*.json?",),
        _snap_weights,
    ),
)


# DialogSum: ROUGE of the BART baseline, item by item -----------------------------------------------------------------


def _rouge(data: Path) -> Iterator[PublishedNumber]:
    tokens = tokeniser("rouge-stems")
    for item in scored_summaries(data):
        values = scores(item.references[0], item.output, tokens, [name for name in item.rouge if name in VARIANTS])
        for name, cell in item.rouge.items():
            if name in values:
                yield number(f"{item.id}, {name}", cell, FULL, values[name].f, group=name)
            else:
                yield missing(f"{item.id}, {name}", f"{cell:.{FULL}f}", f"there is no measure {name}")


_DIALOGSUM: Final = (
    Table(
        "dialogsum-rouge",
        "ROUGE-1, -2 and -L (F, stemmed) of BART's summaries on DialogSum",
        "dialogsum",
        ("rouge_items.jsonl",),
        _rouge,
        against="computed",
        origin="made for this table and not public: rouge-score's values for Baseline/test_output.txt and "
        "DialogSum_Data/dialogsum.test.jsonl of github.com/cylnlp/dialogsum",
    ),
)
