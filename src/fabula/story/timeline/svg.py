"""The timeline as a picture: telling at the top, story time below, a line for each unit, and a presence grid.

The picture is plain SVG without scripts or styles, so that any viewer or page can show it; it has links only if a page
requests them. The colour of a line is repeated in its dashes and end marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from math import ceil, cos, radians, sin
from typing import TYPE_CHECKING, Final

from fabula.story.timeline.letters import cells, clean, cut, wrapped
from fabula.story.timeline.lines import KINDS, Kind, PresenceRow, Timeline, TimelineLine

if TYPE_CHECKING:
    from fabula.story.plan import Plan


# Colour, dashes, least and usual width; the colours stay apart for colour-blind readers (Okabe and Ito's palette).
_STYLES: Final[dict[Kind, tuple[str, str, tuple[float, float]]]] = {
    "in order": ("#666666", "", (0.3, 1.4)),
    "flashback": ("#c44e00", "7 3", (0.9, 2.2)),
    "ahead": ("#0072b2", "2 2.5", (0.9, 2.2)),
}
_INK, _PALE, _RULE, _PAPER = "#222222", "#666666", "#d8d8d8", "#ffffff"
_LEFT, _RIGHT, _TOP, _DROP, _ROW = 170, 40, 92, 230, 20
_NARROWEST, _USUAL, _WIDEST = 560, 900, 1800  # width of the field between the margins
_SMALLEST_STEP, _LEVEL_STEP = 14, 112  # apart enough for a slanted label, and for a level one
_FONT, _CELL = 11, 6.2  # height and width of a letter; a generic font is at most a little wider
_ANGLE, _NAME_ROOM, _TIME_ROOM = 50, 27, 16
_MOST_ROWS, _LONGEST_TITLE = 60, 400
_WHO_ROOM = 23
_NO_STOP: Final = ' tabindex="-1"'


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where things are, in pixels: `step` between two units, `upper` and `lower` the two axes, `grid` the first row.

    `link` gives the address of a scene, by its number in the telling, where pictures have links.
    """

    count: int
    step: float
    level: bool
    upper: float
    lower: float
    grid: float
    link: Callable[[int], str] | None = None

    @property
    def width(self) -> float:
        return _LEFT + self.count * self.step + self.right

    @property
    def right(self) -> float:
        """The space for the last slanted labels."""
        return _RIGHT if self.level else _RIGHT + _NAME_ROOM * _CELL * cos(radians(_ANGLE)) / 2

    @property
    def narrow(self) -> bool:
        """Whether adjacent cells are drawn as one."""
        return self.step < _SMALLEST_STEP / 2

    def x(self, place: float) -> float:
        """The centre of the unit at a position, counted from 1."""
        return _LEFT + (place - 0.5) * self.step

    def labelled(self, place: int) -> bool:
        """Whether the label at that position is shown; if units are close together, only some labels are."""
        return (place - 1) % ceil(_SMALLEST_STEP / self.step) == 0


def timeline_svg(plan: Plan, order: Sequence[str], note: str = "", link: Callable[[int], str] | None = None) -> str:
    """An SVG document with the crossing lines of the two orders above the presence grid, and `note` below the title.

    `link` returns the URL of a scene, given its number in the telling; labels, lines and cells then link to the scene.
    The labels of the upper axis can be reached with the keyboard.

    The same plan always results in the same SVG text. The picture is at most 2,100 pixels wide and about 2,000 high,
    whatever the number of scenes and characters: if units are close together, only some are labelled; adjacent cells
    are joined, and only the 60 characters with the most scenes are shown.

    Raises:
        UsageError: see `Timeline.of`.
    """
    timeline = Timeline.of(plan, order)
    frame, rows = replace(_frame(timeline), link=link), _shown(timeline.rows)
    body = [*_head(timeline, note), *_axes(timeline, frame), *_lines(timeline, frame)]
    if rows and timeline.scenes:
        body += _grid(timeline, rows, frame)
    height = frame.grid + (len(rows) * _ROW + 38 if rows else 10)
    size = f'width="{_n(frame.width)}" height="{_n(height)}" viewBox="0 0 {_n(frame.width)} {_n(height)}"'
    name = clean(timeline.title) or "Timeline"
    role = 'role="img"' if link is None else f'role="group" aria-label="{_escaped(name)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {role} font-family="sans-serif" font-size="{_FONT}">',
            f"<title>{_escaped(name)}</title>",
            f"<desc>{_escaped(timeline.summary())}</desc>",
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
            *body,
            "</svg>\n",
        ]
    )


def _frame(timeline: Timeline) -> _Frame:
    count = max(len(timeline.lines), 1)
    step = min(150.0, max(_USUAL / count, min(_SMALLEST_STEP, _WIDEST / count)))
    step = max(step, _NARROWEST / count)
    level = step >= _LEVEL_STEP
    timed = level and any(clean(line.time) for line in timeline.lines)
    above, below = (48, 68 if timed else 54) if level else (_slanted(map(f, timeline.lines)) for f in (_above, _below))
    upper = _TOP + above
    lower = upper + _DROP
    return _Frame(count, step, level, upper, lower, lower + below + 32)


def _slanted(labels: Iterable[str]) -> float:
    """How high the longest of some labels stands."""
    return 18 + max(map(cells, labels), default=0) * _CELL * sin(radians(_ANGLE))


def _shown(rows: Sequence[PresenceRow]) -> list[PresenceRow]:
    """All rows, or the most frequent ones in their order."""
    ranked = sorted(range(len(rows)), key=lambda i: (-len(rows[i].goals), i))[:_MOST_ROWS]
    return [rows[i] for i in sorted(ranked)]


# pieces of SVG ------------------------------------------------------------------------------------------------------


def _n(value: float) -> str:
    """A number with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _escaped(text: str) -> str:
    return escape(clean(text))


def _text(x: float, y: float, text: str, rest: str = "") -> str:
    """A text element; `text` is escaped already."""
    return f'<text x="{_n(x)}" y="{_n(y)}"{" " + rest if rest else ""}>{text}</text>'


def _tip(text: str) -> str:
    """What a pointer that rests on an element shows."""
    return f"<title>{escape(cut(text, _LONGEST_TITLE))}</title>"


def _linked(frame: _Frame, scene: int, inner: str, *, reached: bool = False) -> str:
    """An element that leads to its scene, where the picture has links; by keyboard one comes to what is `reached`."""
    if frame.link is None:
        return inner
    return f'<a href="{escape(frame.link(scene))}"{"" if reached else _NO_STOP}>{inner}</a>'


def _mark(kind: Kind, x: float, y: float, size: float) -> str:
    """The end of a line: a circle, or a triangle that points back or forward."""
    colour = _STYLES[kind][0]
    if kind == "in order":
        return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(size * 0.8)}" fill="{colour}"/>'
    point = -1.2 * size if kind == "flashback" else 1.2 * size
    corners = ((x + point, y), (x - point * 0.7, y - size), (x - point * 0.7, y + size))
    return f'<polygon points="{" ".join(f"{_n(a)},{_n(b)}" for a, b in corners)}" fill="{colour}"/>'


def _stroke(kind: Kind, step: float) -> str:
    colour, dashes, (least, usual) = _STYLES[kind]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'stroke="{colour}" stroke-width="{_n(max(min(usual, step / 3), least))}"{dashed}'


# the parts of the picture -------------------------------------------------------------------------------------------


def _head(timeline: Timeline, note: str) -> Iterator[str]:
    """Title, summary, note and legend."""
    title = clean(timeline.title)
    yield _text(
        16, 26, escape(cut(title, 80)) if title else "Timeline", f'font-size="16" font-weight="bold" fill="{_INK}"'
    )
    summary = timeline.summary() + (f" ({cut(note, 60)})" if clean(note) else "")
    yield _text(16, 44, escape(summary), f'fill="{_PALE}"')
    x = 16.0
    for kind, words in KINDS.items():
        if timeline.count(kind):
            yield f'<path d="M{_n(x)} 60h34" fill="none" {_stroke(kind, 99)}/>'
            yield _mark(kind, x + 17, 60, 4)
            yield _text(x + 40, 64, words, f'fill="{_INK}"')
            x += 40 + len(words) * 5.6 + 22


def _axes(timeline: Timeline, frame: _Frame) -> Iterator[str]:
    """Both axes with their names and labels; units of one scene are joined at the upper one."""
    for y, name, what in ((frame.upper, "told", "syuzhet"), (frame.lower, "happens", "fabula")):
        yield f'<path d="M{_LEFT} {_n(y)}H{_n(frame.x(frame.count + 0.5))}" stroke="{_INK}" stroke-width="1"/>'
        bold = f'<tspan font-weight="bold">{name}</tspan> ({what})'
        yield _text(_LEFT - 12, y + 4, bold, f'text-anchor="end" fill="{_INK}"')
    for _, members in groupby(timeline.lines, lambda line: line.scene):
        units = list(members)
        if len(units) > 1:
            start, end = frame.x(units[0].told), frame.x(units[-1].told)
            yield f'<path d="M{_n(start)} {_n(frame.upper)}H{_n(end)}" stroke="{_INK}" stroke-width="3.5"/>'
    for line in timeline.lines:
        if frame.labelled(line.told):
            label = "\n".join(_label(frame, line, line.told, above=True))
            yield _linked(frame, line.scene, label, reached=True)
        if frame.labelled(line.happens):
            yield _linked(frame, line.scene, "\n".join(_label(frame, line, line.happens, above=False)))


def _above(line: TimelineLine) -> str:
    """A slanted label at the upper axis."""
    return f"{line.number} {cut(line.name, _NAME_ROOM - len(line.number))}"


def _below(line: TimelineLine) -> str:
    """A slanted label at the lower axis; it is read upwards and ends at its number."""
    time = f" ({_time(line)})" if _time(line) else ""
    return f"{cut(line.name, _NAME_ROOM - 4)}{time} {line.happens}"


def _time(line: TimelineLine) -> str:
    """Story time; a bare number says that it is one."""
    time = cut(line.time, _TIME_ROOM)
    return f"t = {time}" if time.lstrip("-").replace(".", "").isdecimal() else time


def _label(frame: _Frame, line: TimelineLine, place: int, *, above: bool) -> Iterator[str]:
    """Number and name at an axis, and at the lower one the story time; the tooltip has them whole."""
    x, number, tip = frame.x(place), line.number if above else str(line.happens), _tip(_described(line))
    bold = f'<tspan font-weight="bold">{number}</tspan>'
    if not frame.level:
        y = frame.upper - 10 if above else frame.lower + 14
        small = ' font-size="9.5"' if frame.step < 1.3 * _SMALLEST_STEP else ""
        turn = f'transform="rotate(-{_ANGLE} {_n(x)} {_n(y)})" fill="{_INK}"{small}'
        if above:
            yield _text(x, y, f"{bold}{escape(_above(line).removeprefix(number))}{tip}", turn)
        else:
            yield _text(x, y, f"{escape(_below(line).removesuffix(number))}{bold}{tip}", f'text-anchor="end" {turn}')
        return
    middle, room = f'text-anchor="middle" fill="{_INK}"', int((frame.step - 6) / _CELL)
    names = wrapped(line.name, room, 2)
    first = frame.upper - 11 - 14 * len(names) if above else frame.lower + 20
    yield _text(x, first, bold, middle)
    for row, name in enumerate(names, 1):
        yield _text(x, first + 14 * row, escape(name) + tip, middle)
    if not above and (time := _time(line)):
        yield _text(x, first + 14 * (len(names) + 1), escape(cut(time, room)), f'text-anchor="middle" fill="{_PALE}"')


def _described(line: TimelineLine) -> str:
    when = f", {clean(line.time)}" if clean(line.time) else ""
    name = line.name if line.name == line.unit.scene.name else f"{line.unit.scene.name}: {line.name}"
    return f"{line.number} {clean(name)} (happens as number {line.happens}{when}): {KINDS[line.kind]}"


def _lines(timeline: Timeline, frame: _Frame) -> Iterator[str]:
    """A line a unit, those told out of order on top. Two lines cross once if their order differs, else never."""
    upper, lower = frame.upper, frame.lower
    bend, size = (upper + lower) / 2, max(min(4.0, frame.step / 3), 0.8)
    for kind in KINDS:
        yield f'<g fill="none" {_stroke(kind, frame.step)}>'
        chosen = [line for line in timeline.lines if line.kind == kind]
        for line in chosen:
            top, bottom = frame.x(line.told), frame.x(line.happens)
            path = f"M{_n(top)} {_n(upper)}C{_n(top)} {_n(bend)} {_n(bottom)} {_n(bend)} {_n(bottom)} {_n(lower)}"
            yield _linked(frame, line.scene, f'<path d="{path}">{_tip(_described(line))}</path>')
        yield "</g>"
        for line in chosen:
            yield _mark(kind, frame.x(line.told), upper, size)
            yield _mark(kind, frame.x(line.happens), lower, size)


# the presence grid --------------------------------------------------------------------------------------------------


def _grid(timeline: Timeline, rows: Sequence[PresenceRow], frame: _Frame) -> Iterator[str]:
    """A row a character over the telling's columns: a filled cell is presence, a hollow one that of a group."""
    spans = _spans(timeline)
    end = frame.x(frame.count + 0.5)
    last = -99.0
    yield _text(_LEFT - 12, frame.grid - 8, "scene", f'text-anchor="end" fill="{_PALE}"')
    for number, (first, final) in spans.items():
        x = frame.x((first + final) / 2)
        if x - last >= 8 + _CELL * len(str(number)):
            last = x
            yield _text(x, frame.grid - 8, str(number), f'text-anchor="middle" fill="{_PALE}"')
    for place, row in enumerate(rows):
        y = frame.grid + place * _ROW + _ROW / 2
        style = ' font-style="italic"' if row.group else ""
        name = escape(cut(row.name, _WHO_ROOM - 8) + " (group)" if row.group else cut(row.name, _WHO_ROOM))
        yield _text(_LEFT - 12, y + 4, name + _tip(row.name), f'text-anchor="end" fill="{_INK}"{style}')
        yield f'<path d="M{_LEFT} {_n(y)}H{_n(end)}" stroke="{_RULE}" stroke-width="1"/>'
        yield _text(end + 8, y + 4, f"{len(row.goals):,}", f'fill="{_PALE}"')
        yield from _cells(timeline, row, frame, spans, y)
    groups = "pale" if frame.narrow else "hollow"
    foot = f"filled: present · {groups}: a group is present · at the right: number of scenes"
    if hidden := len(timeline.rows) - len(rows):
        foot += f" · {hidden:,} more characters, who are in fewer scenes, are not shown"
    yield _text(_LEFT, frame.grid + len(rows) * _ROW + 22, foot, f'fill="{_PALE}"')


def _spans(timeline: Timeline) -> dict[int, tuple[int, int]]:
    """For each scene its first and last place among the units told."""
    spans: dict[int, tuple[int, int]] = {}
    for line in timeline.lines:
        spans[line.scene] = (spans.get(line.scene, (line.told, 0))[0], line.told)
    return spans


def _cells(
    timeline: Timeline, row: PresenceRow, frame: _Frame, spans: dict[int, tuple[int, int]], y: float
) -> Iterator[str]:
    """A row's cells; where columns are narrow, one cell for scenes in succession."""
    narrow = frame.narrow
    inset = 0 if narrow else min(frame.step * 0.12, 8)
    paint = f'fill="{_INK}"'
    if row.group:
        paint = 'fill="#9a9a9a"' if narrow else f'fill="{_PAPER}" stroke="{_INK}" stroke-width="1.2"'
    yield f"<g {paint}>"
    for first, final in _runs(sorted(row.goals)) if narrow else [(n, n) for n in sorted(row.goals)]:
        left, right = frame.x(spans[first][0] - 0.5) + inset, frame.x(spans[final][1] + 0.5) - inset
        goal = row.goals[first] if first == final else ""
        where = f"scene {first}, {timeline.scenes[first - 1]}" if first == final else f"scenes {first} to {final}"
        tip = _tip(f"{row.name} in {where}" + (f": {goal}" if goal else ""))
        box = f'x="{_n(left)}" y="{_n(y - 6)}" width="{_n(max(right - left, 0.5))}" height="12"'
        yield _linked(frame, first, f'<rect {box} rx="{_n(min(2.0, frame.step / 8))}">{tip}</rect>')
    yield "</g>"


def _runs(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each stretch of numbers without a gap."""
    for _, members in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in members]
        yield run[0], run[-1]
