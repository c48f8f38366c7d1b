"""SVG pictures of estimates, as separate files or parts of a page, light and dark, with a text description."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fabula.base.html import text
from fabula.stats.estimate import Estimate, Scored

_STYLE: Final = (
    "text{font:13px system-ui,sans-serif;fill:#1d1d1f}.p-faint{fill:#6a6a70}.p-line{stroke:#dcdce0}"
    ".p-bar{stroke:#2b62a8;stroke-width:2}.p-dot,.p-cell{fill:#2b62a8}.p-zero{stroke:#6a6a70;stroke-dasharray:3 3}"
    "@media(prefers-color-scheme:dark){text{fill:#e8e8ea}.p-faint{fill:#a2a2aa}.p-line{stroke:#3a3b40}"
    ".p-bar{stroke:#7fb2f0}.p-dot,.p-cell{fill:#7fb2f0}.p-zero{stroke:#a2a2aa}}"
)
_LINES_STYLE: Final = (
    ".p-thin{fill:none;stroke:#8a8a92;stroke-width:1.2}.p-thick{fill:none;stroke:#2b62a8;stroke-width:2.2}"
    ".p-best{fill:none;stroke:#b4541a;stroke-width:2}"
    "@media(prefers-color-scheme:dark){.p-thin{stroke:#8a8a92}.p-thick{stroke:#7fb2f0}.p-best{stroke:#f0a060}}"
)
_WIDTH, _LABELS, _FIGURES, _ROW, _TOP = 760, 190, 190, 26, 34
_LEFT, _RIGHT = _LABELS + 12, _WIDTH - _FIGURES - 12
_LONGEST: Final = 26
_TICKS: Final = 5
_MANY: Final = 25
_PLANE, _EDGE = 520, 24
# Okabe and Ito's colours, told apart also by people who see few; darker on light ground, and lighter on dark.
_HUES: Final = (
    ("#b86e00", "#e69f00"),
    ("#2478ad", "#56b4e9"),
    ("#007a5a", "#2fbf95"),
    ("#8a7a00", "#f0e442"),
    ("#004f86", "#6aa8dd"),
    ("#b84a00", "#ff8c42"),
    ("#a04a7c", "#e39ac4"),
    ("#55555c", "#b4b4bc"),
)
_GROUPS: Final = (
    "".join(f".g{n}{{fill:{light};fill-opacity:.75}}" for n, (light, _) in enumerate(_HUES))
    + ".ring{fill-opacity:1;stroke:#1d1d1f;stroke-width:1.5}"
    + ".p-number,.p-halo{font-size:16px;font-weight:700}"
    + ".p-halo{fill:#fff;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
    + "@media(prefers-color-scheme:dark){"
    + "".join(f".g{n}{{fill:{dark}}}" for n, (_, dark) in enumerate(_HUES))
    + ".ring{stroke:#fff}.p-halo{fill:#1b1c1f;stroke:#1b1c1f}}"
)
_DARKEST: Final = 0.5  # so that figures on a full cell can still be read


def intervals_svg(rows: Sequence[tuple[str, Scored]], *, title: str, styled: bool = True) -> str:
    """A forest plot: each row has a name, a dot at the value, a bar for the interval, and the numbers.

    A row without a number shows the reason instead. Without `styled`, the page's own style sheet must define the
    colours.
    """
    numbers = [number for _, scored in rows for number in _reach(scored)]
    low, high, ticks = _axis(numbers)

    def x(value: float) -> float:
        return round(_LEFT + (value - low) / (high - low) * (_RIGHT - _LEFT), 1)

    bottom = _TOP + _ROW * max(len(rows), 1)
    parts = [f'<text x="0" y="16" font-weight="600">{text(title)}</text>']
    for tick in ticks if numbers else ():
        parts.append(f'<line class="p-line" x1="{x(tick)}" x2="{x(tick)}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="p-faint" x="{x(tick)}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    if numbers and low < 0 < high:
        parts.append(f'<line class="p-zero" x1="{x(0)}" x2="{x(0)}" y1="{_TOP}" y2="{bottom}"/>')
    for number, (name, scored) in enumerate(rows):
        y = _TOP + _ROW * number + _ROW // 2
        parts.append(_label(name, y + 4))
        if isinstance(scored, Estimate):
            parts += _bar([x(value) for value in _reach(scored)], y)
            parts.append(f'<text class="p-faint" x="{_RIGHT + 16}" y="{y + 4}">{_figures(scored)}</text>')
        else:
            parts.append(f'<text class="p-faint" x="{_LEFT}" y="{y + 4}">{_short(str(scored), 60)}</text>')
    if not rows:
        parts.append(f'<text class="p-faint" x="{_LEFT}" y="{_TOP + 17}">nothing to show</text>')
    description = "; ".join(f"{name}: {scored}" for name, scored in rows) or "nothing to show"
    return _svg(parts, (_WIDTH, bottom + 26), title, description, _STYLE if styled else "")


def _reach(scored: Scored) -> list[float]:
    """Value, lower and upper end, as far as they are there."""
    if not isinstance(scored, Estimate):
        return []
    return [number for number in (scored.value, scored.low, scored.high) if number is not None]


def _bar(places: Sequence[float], y: int) -> list[str]:
    value, *ends = places
    bar = [f'<line class="p-bar" x1="{min(ends)}" x2="{max(ends)}" y1="{y}" y2="{y}"/>'] if ends else []
    return [*bar, f'<circle class="p-dot" cx="{value}" cy="{y}" r="4.5"/>']


def _figures(scored: Estimate) -> str:
    if scored.low is None or scored.high is None:
        return f"{scored.value:z.2f}"
    return f"{scored.value:z.2f} [{scored.low:z.2f}, {scored.high:z.2f}]"


def _axis(numbers: Sequence[float]) -> tuple[float, float, list[float]]:
    """Ends and ticks of an axis that holds `numbers`, in steps of 1, 2 or 5 times a power of ten."""
    low, high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)
    if high - low <= 1e-9 * max(abs(low), abs(high), 1.0):
        low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
    raw = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    first, last = math.floor(low / step), math.ceil(high / step)
    return first * step, last * step, [round(n * step, 12) for n in range(first, last + 1)]


def curve_svg(
    thin: tuple[str, Sequence[tuple[float, float]]],
    thick: tuple[str, Sequence[tuple[float, float]]],
    *,
    title: str,
    across: str,
    best: tuple[float, float] | None = None,
) -> str:
    """Two lines over a common axis, such as losses over steps: a thin line, and a thick line with dots at its points.

    Args:
        thin: the name and the points (finite numbers) of the thin line.
        thick: the name and the points of the thick line.
        title: the title of the picture.
        across: the label of the horizontal axis.
        best: a point to mark.
    """
    left, right, height = 64, _WIDTH - 16, 280
    points = [*thin[1], *thick[1]]
    low, high, ticks = _axis([value for _, value in points])
    first, last, marks = _axis([at for at, _ in points])
    first, last = (min(at for at, _ in points), max(at for at, _ in points)) if points else (first, last)
    bottom = _TOP + 24 + height

    def place(at: float, value: float) -> tuple[float, float]:
        x = left + (at - first) / ((last - first) or 1) * (right - left)
        return round(x, 1), round(bottom - (value - low) / (high - low) * height, 1)

    parts = [f'<text x="0" y="16" font-weight="600">{text(title)}</text>']
    for tick in ticks:
        y = place(first, tick)[1]
        parts.append(f'<line class="p-line" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="p-faint" x="{left - 8}" y="{y + 4}" text-anchor="end">{tick:g}</text>')
    for mark in marks:
        if first <= mark <= last:
            x = place(mark, low)[0]
            parts.append(f'<text class="p-faint" x="{x}" y="{bottom + 18}" text-anchor="middle">{mark:g}</text>')
    parts.append(
        f'<text class="p-faint" x="{(left + right) // 2}" y="{bottom + 38}" text-anchor="middle">{text(across)}</text>'
    )
    for number, (kind, (name, line)) in enumerate((("p-thin", thin), ("p-thick", thick))):
        places = [place(*point) for point in line]
        if places:
            parts.append(f'<polyline class="{kind}" points="{" ".join(f"{x},{y}" for x, y in places)}"/>')
        if kind == "p-thick":
            parts += [f'<circle class="p-dot" cx="{x}" cy="{y}" r="3"/>' for x, y in places]
        x = left + 200 * number
        parts.append(f'<line class="{kind}" x1="{x}" x2="{x + 24}" y1="36" y2="36"/>')
        parts.append(f'<text class="p-faint" x="{x + 32}" y="40">{text(name)}</text>')
    if best is not None:
        x, y = place(*best)
        parts.append(f'<circle class="p-best" cx="{x}" cy="{y}" r="7"/>')
        parts.append(f'<circle class="p-best" cx="{left + 412}" cy="36" r="6"/>')
        parts.append(f'<text class="p-faint" x="{left + 426}" y="40">lowest: {best[1]:.4g} at {best[0]:g}</text>')
    description = "; ".join(
        f"{name}: " + (", ".join(f"{value:.4g} at {at:g}" for at, value in (line[0], line[-1])) if line else "none")
        for name, line in (thin, thick)
    )
    return _svg(parts, (_WIDTH, bottom + 46), title, description, _STYLE + _LINES_STYLE)


def matrix_svg(
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    title: str,
    shown: Sequence[Sequence[str]] | None = None,
) -> str:
    """A square matrix of cells; the larger a value, the more opaque its cell. A cell is empty if its value is `None`.

    Args:
        names: the names of the rows, in order; rows and columns have the same numbers.
        values: for each name, a row with one value per name; values must not be negative.
        title: the title of the picture.
        shown: the texts to show in the cells instead of the values.
    """
    side = 46 if len(names) <= _MANY else 14
    most = max((value for row in values for value in row if value is not None), default=0.0) or 1.0
    parts = [f'<text x="0" y="16" font-weight="600">{text(title)}</text>']
    left, top = _LABELS + 12, _TOP + 16
    for number, name in enumerate(names):
        y = top + side * number + side // 2 + 4
        at = left + side * number + side // 2
        parts.append(_label(name, y, f" {number + 1}"))
        parts.append(f'<text class="p-faint" x="{at}" y="{top - 6}" text-anchor="middle">{number + 1}</text>')
    description = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            if value is None:
                continue
            said = shown[i][j] if shown else f"{value:g}"
            description.append(f"{names[i]} against {names[j]}: {said}")
            parts.append(
                f'<rect class="p-cell" x="{left + side * j + 1}" y="{top + side * i + 1}" width="{side - 2}" '
                f'height="{side - 2}" fill-opacity="{0.04 + (_DARKEST - 0.04) * value / most:.3f}">'
                f"<title>{text(description[-1])}</title></rect>"
            )
            if len(names) <= _MANY:
                middle = f'x="{left + side * j + side // 2}" y="{top + side * i + side // 2 + 4}"'
                parts.append(f'<text {middle} text-anchor="middle">{text(said)}</text>')
    size = (max(left + side * len(names) + 4, _WIDTH // 2), top + side * len(names) + 4)
    return _svg(parts, size, title, "; ".join(description) or "nothing to show")


@dataclass(frozen=True, slots=True)
class Dot:
    """A point in a picture.

    Attributes:
        group: the number of the group, counted from 1.
        name: the name, shown when the pointer is over the point.
        marked: whether the point is drawn larger, with a ring.
    """

    x: float
    y: float
    group: int
    name: str
    marked: bool = False


def dots_svg(dots: Sequence[Dot], *, title: str, note: str) -> str:
    """Points in the plane; each group has its own colour and shape, and its number is shown above its centre.

    Args:
        dots: the points.
        title: the title of the picture.
        note: a line of text below the picture.
    """
    across = _scale([dot.x for dot in dots], _EDGE, _WIDTH - _EDGE)
    down = _scale([-dot.y for dot in dots], _TOP + _EDGE, _TOP + _PLANE - _EDGE)
    parts = [f'<text x="0" y="16" font-weight="600">{text(title)}</text>']
    parts.append(f'<rect class="p-line" x="0.5" y="{_TOP}" width="{_WIDTH - 1}" height="{_PLANE}" fill="none"/>')
    for dot in sorted(dots, key=lambda dot: dot.marked):
        hue = f"g{(dot.group - 1) % len(_HUES)}"
        shape = _shape(across(dot.x), down(-dot.y), (dot.group - 1) // len(_HUES), 6 if dot.marked else 3)
        ring = " ring" if dot.marked else ""
        parts.append(f'<path class="{hue}{ring}" d="{shape}"><title>{text(f"{dot.group}: {dot.name}")}</title></path>')
    groups: dict[int, list[Dot]] = {}
    for dot in dots:
        groups.setdefault(dot.group, []).append(dot)
    for number, members in sorted(groups.items()):
        x = across(sum(dot.x for dot in members) / len(members))
        y = down(-sum(dot.y for dot in members) / len(members))
        place = f'x="{x}" y="{round(y - 10, 1)}" text-anchor="middle"'
        parts.append(f'<text class="p-halo" {place} aria-hidden="true">{number}</text>')
        parts.append(f'<text class="p-number" {place}>{number}</text>')
    parts.append(f'<text class="p-faint" x="0" y="{_TOP + _PLANE + 20}">{text(note)}</text>')
    sizes = "; ".join(f"group {number}: {len(members)}" for number, members in sorted(groups.items()))
    return _svg(parts, (_WIDTH, _TOP + _PLANE + 30), title, sizes or "nothing to show", _STYLE + _GROUPS)


def _scale(values: Sequence[float], low: float, high: float) -> Callable[[float], float]:
    """From values to places between `low` and `high`; one value alone lies in the middle."""
    first, last = (min(values), max(values)) if values else (0.0, 0.0)

    def place(value: float) -> float:
        share = (value - first) / (last - first) if last > first else 0.5
        return round(low + share * (high - low), 1)

    return place


def _shape(x: float, y: float, kind: int, size: float) -> str:
    """A circle, square, triangle or diamond around a place, as a path."""
    if kind % 4 == 0:
        return f"M{x - size},{y}a{size},{size} 0 1,0 {2 * size},0a{size},{size} 0 1,0 {-2 * size},0Z"
    corners = {1: ((-1, -1), (1, -1), (1, 1), (-1, 1)), 2: ((0, -1.2), (1.1, 0.9), (-1.1, 0.9))}.get(
        kind % 4, ((0, -1.3), (1.3, 0), (0, 1.3), (-1.3, 0))
    )
    return "M" + "L".join(f"{round(x + a * size, 1)},{round(y + b * size, 1)}" for a, b in corners) + "Z"


def _svg(parts: Sequence[str], size: tuple[int, int], title: str, description: str, style: str = _STYLE) -> str:
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}"><title>{text(title)}</title><desc>{text(description)}</desc>'
        + (f"<style>{style}</style>\n" if style else "\n")
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def _label(name: str, y: int, behind: str = "") -> str:
    shown = f"{_short(name)}{behind}"
    return f'<text x="{_LABELS}" y="{y}" text-anchor="end">{shown}<title>{text(name)}</title></text>'


def _short(name: str, longest: int = _LONGEST) -> str:
    line = " ".join(name.split())
    return text(line if len(line) <= longest else line[: longest - 1] + "…")
