"""Tables for papers (Markdown, LaTeX) and numbers for programs (Parquet)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fabula.base.characters import readable
from fabula.base.extras import extra

_LATEX: Final = str.maketrans(
    {
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_NUMBERS: Final = frozenset({"value", "low", "high", "level", "p"})
_COUNTS: Final = frozenset({"n", "seed"})


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table with its caption; the first `names` columns contain words, and the others contain numbers."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    names: int = 1


def markdown_of(tables: Iterable[PaperTable]) -> str:
    """The tables as Markdown."""
    parts = []
    for table in tables:
        lines = [table.head, ["---"] * table.names + ["--:"] * (len(table.head) - table.names), *table.rows]
        shown = ("| " + " | ".join(_one_line(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
        parts.append(f"**{table.caption}**\n\n" + "\n".join(shown) + "\n")
    return "\n".join(parts)


def latex_of(tables: Iterable[PaperTable]) -> str:
    """The tables in LaTeX, for the package booktabs."""
    parts = ["% \\usepackage{booktabs}\n"]
    for table in tables:
        columns = "l" * table.names + "r" * (len(table.head) - table.names)
        lines = [
            f"\\begin{{table}}\n\\centering\n\\caption{{{_latex(table.caption)}}}",
            f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{_latex_line(table.head)} \\\\\n\\midrule",
            *(f"{_latex_line(row)} \\\\" for row in table.rows),
            "\\bottomrule\n\\end{tabular}\n\\end{table}\n",
        ]
        parts.append("\n".join(lines))
    return "\n".join(parts)


def parquet_of(lines: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> bytes:
    """The lines as a Parquet file with one column per name.

    Raises:
        UsageError: pyarrow is not installed.
    """
    arrow = extra("pyarrow", "parquet", "A Parquet file")
    files = extra("pyarrow.parquet", "parquet", "A Parquet file")
    kinds = {
        name: arrow.float64() if name in _NUMBERS else arrow.int64() if name in _COUNTS else arrow.string()
        for name in columns
    }
    kinds |= {"baseline": arrow.bool_()}
    data = {name: arrow.array([line[name] for line in lines], kinds[name]) for name in columns}
    out = io.BytesIO()
    files.write_table(arrow.table(data), out)
    return out.getvalue()


def _one_line(cell: str) -> str:
    return " ".join(readable(cell).split())


def _latex(cell: str) -> str:
    return _one_line(cell).translate(_LATEX)


def _latex_line(cells: Sequence[str]) -> str:
    return " & ".join(map(_latex, cells))
