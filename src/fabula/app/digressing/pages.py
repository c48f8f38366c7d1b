"""What came of digressions, as Markdown: the numbers side by side, and every digression with what came after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.stats.estimate import estimate_cells

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.measure.report import Report, Row

_NONE: Final = "-"


def beside_each_other(report: Report, systems: Sequence[str]) -> list[tuple[str, ...]]:
    """A table: a line for each measure, a column for each system, and for their differences."""
    columns = list(dict.fromkeys(row.of for row in report.rows if row.of in systems or " - " in row.of))
    found: dict[str, dict[str, str]] = {}
    for row in report.rows:
        if row.of in columns:
            found.setdefault(row.what, {})[row.of] = _cell(row)
    head = ("", *columns)
    return [head, *((what, *(cells.get(column, "") for column in columns)) for what, cells in found.items())]


def trivial(report: Report) -> list[tuple[str, ...]]:
    """A table of what the same decision says of answers whose truth is known, and how the two ways agree."""
    rows = [row for row in report.rows if row.baseline or row.of == "all"]
    return [("trivial characters", "", ""), *((row.of, row.what, _cell(row)) for row in rows)] if rows else []


def _cell(row: Row) -> str:
    value, interval, n = estimate_cells(row.scored)
    return f"{value} [{interval}] n {n}" if interval not in {"", _NONE, "none"} else f"{value} n {n}"


def as_markdown(report: Report, systems: Sequence[str]) -> str:
    """The whole page."""
    parts = ["# Digressions", _table(beside_each_other(report, systems)), _table(trivial(report))]
    parts += [f"- {_plain(note)}" for note in report.notes]
    digressions: Sequence[Mapping[str, Any]] = report.details["digressions"]
    item = ""
    for one in digressions:
        if one["item"] != item:
            item = one["item"]
            parts.append(f"## {_plain(item)}")
        parts.append(_digression(one))
    return "\n\n".join(part for part in parts if part) + "\n"


def _digression(one: Mapping[str, Any]) -> str:
    verdicts = [f"{name}: {_verdict(one[name])}" for name in ("back", "back by words") if name in one]
    if "obeyed" in one:
        verdicts.append("obeyed" if one["obeyed"] else "not obeyed")
    who, said = one["said"]
    lines = [f"**{one['number']}. {_plain(one['kind'])}** ({'; '.join(verdicts)})"]
    lines += [f"> {_plain(name)}: {_plain(text)}" for name, text in one["before"]]
    lines.append(f"> **{_plain(who)}: {_plain(said)}**")
    lines += [f"> {_plain(name)}: {_plain(text)}" for name, text in one["after"]]
    return lines[0] + "\n\n" + "\n>\n".join(lines[1:])


def _verdict(back: object) -> str:
    if isinstance(back, str):
        return f"not scored, {back}"
    return f"turn {back}" if back else "no"


def _table(rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = ["| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def _plain(text: str) -> str:
    """A text on one line that Markdown shows as it is."""
    shown = " ".join(str(text).split())
    for mark in "\\`*_[]<>#":
        shown = shown.replace(mark, f"\\{mark}" if mark not in "<>" else {"<": "&lt;", ">": "&gt;"}[mark])
    return shown
