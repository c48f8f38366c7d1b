"""The timeline for a terminal: a table with telling downwards and story time to the right, and a presence grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from fabula.story.timeline.letters import cells, clean, cut, padded, wrapped
from fabula.story.timeline.lines import KINDS, Kind, PresenceRow, Timeline, TimelineLine

if TYPE_CHECKING:
    from fabula.story.plan import Plan


MARKS: Final[dict[Kind, str]] = {"in order": "●", "flashback": "◀", "ahead": "▶"}
NARROWEST: Final = 40
_TRAIL, _ABSENT, _GAP = "╌", "·", "  "
_WIDEST_CHART, _USUAL_CHART, _SMALLEST_CHART, _NAME_ROOM = 45, 21, 12, 24
_WIDEST_TIME, _WIDEST_WHO, _GROUP = 16, 24, " (group)"
_TEN: Final = 10


def timeline_text(plan: Plan, order: Sequence[str], width: int = 100) -> str:
    """The timeline as text with lines of at most `width` columns (at least 40).

    Each row of the table is a unit, in the order of telling, with a mark at its story time; the earliest time is on the
    left. A story told in the order of events runs down to the right; flashbacks point back from the current place in
    the story, and looks ahead point forward. Below the table are the presence grid, with one column per scene, and the
    legend.

    Raises:
        UsageError: see `Timeline.of`.
    """
    timeline, width = Timeline.of(plan, order), max(width, NARROWEST)
    title = [cut(timeline.title, width)] if clean(timeline.title) else []
    parts = ["\n".join([*title, *wrapped(timeline.summary(), width, 9)])]
    if timeline.lines:
        parts += ["\n".join(_table(timeline, width)), _legend(timeline, width)]
    if timeline.rows and timeline.scenes:
        parts += ["\n\n".join(_grids(timeline, width)), f"● present{_GAP}· absent"]
    return "\n\n".join(parts)


def _legend(timeline: Timeline, width: int) -> str:
    found = [f"{mark} {KINDS[kind]}" for kind, mark in MARKS.items() if timeline.count(kind)]
    one = (_GAP * 2).join(found)
    return one if cells(one) <= width else "\n".join(cut(line, width) for line in found)


# the table ----------------------------------------------------------------------------------------------------------


def _table(timeline: Timeline, width: int) -> Iterator[str]:
    """Head and rows; columns that would be empty are left out, and the chart where there is no room for it."""
    lines = timeline.lines
    columns = [
        _column("told", [line.number for line in lines], right=True),
        _column("happens", [str(line.happens) for line in lines], right=True),
    ]
    times, names = [clean(line.time) for line in lines], [clean(line.name) for line in lines]
    kinds = ["" if line.kind == "in order" else line.kind for line in lines]
    behind = [_column("", kinds)] if any(kinds) else []
    name_room = min(_NAME_ROOM, width // 4, max(map(cells, names)))
    room = width - sum(cells(column[0]) + len(_GAP) for column in columns + behind) - name_room
    when = [_column("when", times, most=_WIDEST_TIME)] if any(times) else []
    if when and (taken := cells(when[0][0]) + len(_GAP)) <= room:
        behind, room = when + behind, room - taken
    most = min(max(4 * len(lines) - 3, _USUAL_CHART), _WIDEST_CHART) if len(lines) > 1 else 0
    chart = min(most, room - len(_GAP))
    if chart >= _SMALLEST_CHART:
        columns.append([_axis(chart), *_chart(lines, chart)])
        room -= chart + len(_GAP)
    columns += [*behind, ["scene", *(cut(name, max(room + name_room, 1)) for name in names)]]
    for row in zip(*columns, strict=True):
        yield _GAP.join(row).rstrip()


def _column(head: str, values: Sequence[str], *, right: bool = False, most: int = 1000) -> list[str]:
    """A head and its values, all of one width."""
    room = min(most, max(map(cells, [head, *values])))
    return [padded(value, room, right=right) for value in (head, *values)]


def _axis(room: int) -> str:
    """What stands over the chart."""
    words = "earliest  latest"
    if room < len(words) + 3:
        return "─" * (room - 1) + "→"
    return words.replace("  ", f" {'─' * (room - len(words))} ")


def _chart(lines: Sequence[TimelineLine], room: int) -> list[str]:
    """One row a line: its mark where it happens, and the way to it from where the story was."""
    rows, story = [], 0
    for line in lines:
        at = round((line.happens - 1) * (room - 1) / max(len(lines) - 1, 1))
        drawn = [" "] * room
        if line.kind == "flashback":
            drawn[at : story + 1] = _TRAIL * (story + 1 - at)
        elif line.kind == "ahead":
            drawn[story : at + 1] = _TRAIL * (at + 1 - story)
        else:
            story = at
        drawn[at] = MARKS[line.kind]
        rows.append("".join(drawn))
    return rows


# the presence grid --------------------------------------------------------------------------------------------------


def _grids(timeline: Timeline, width: int) -> Iterator[str]:
    """The grid, in several blocks below each other where the scenes do not fit into one."""
    who = _column("who", [_called(row, _who_room(width)) for row in timeline.rows], most=_who_room(width))
    often = _column("scenes", [f"{len(row.goals):,}" for row in timeline.rows], right=True)
    heads = [_GAP.join(pair) for pair in zip(who, often, strict=True)]
    room = width - cells(heads[0]) - len(_GAP)
    count, digits = len(timeline.scenes), len(str(len(timeline.scenes)))
    fitting = (pitch for pitch in (digits + 1, 2) if digits + (count - 1) * pitch <= room)
    pitch = next(fitting, 1)
    block = count if digits + (count - 1) * pitch <= room else max(room // _TEN, 1) * _TEN
    for start in range(1, count + 1, block):
        numbers = range(start, min(start + block, count + 1))
        yield "\n".join(_block(timeline.rows, heads, numbers, pitch))


def _who_room(width: int) -> int:
    return min(_WIDEST_WHO, width // 3)


def _called(row: PresenceRow, room: int) -> str:
    """A row's name; that of a group says so, also where it is cut."""
    return f"{cut(row.name, max(room - len(_GROUP), 1))}{_GROUP}" if row.group else row.name


def _block(rows: Sequence[PresenceRow], heads: Sequence[str], numbers: range, pitch: int) -> Iterator[str]:
    """Numbers of scenes over dots; where a number has no room over its column, tens stand over last digits."""
    digits = len(str(numbers[-1]))
    lead = len(_GAP) + (digits - 1 if pitch > digits else 0)
    if pitch > digits:
        yield heads[0] + _spread([str(number) for number in numbers], pitch, lead)
    else:
        tens = ["" if number % _TEN else str(number) for number in numbers]
        if any(tens):
            yield (" " * cells(heads[0]) + _spread(tens, pitch, lead)).rstrip()
        yield heads[0] + _spread([str(number % _TEN) for number in numbers], pitch, lead)
    for row, head in zip(rows, heads[1:], strict=True):
        yield head + _spread(["●" if number in row.goals else _ABSENT for number in numbers], pitch, lead)


def _spread(values: Sequence[str], pitch: int, lead: int) -> str:
    """Values whose last characters stand `pitch` apart, the first one behind `lead` columns."""
    line = ""
    for place, value in enumerate(values):
        line += value.rjust(lead + place * pitch + 1 - len(line)) if value else ""
    return line
