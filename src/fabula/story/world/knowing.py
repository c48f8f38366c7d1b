"""A table that shows when each character learns each fact, which can also be drawn as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from fabula.story.timeline.letters import clean, cut
from fabula.story.world import queries
from fabula.story.world.facts import Fact, Moment

if TYPE_CHECKING:
    from fabula.story.world.state import WorldState


_INK, _PALE, _RULE, _PAPER = "#222222", "#666666", "#d8d8d8", "#ffffff"
_LEFT, _TOP, _WIDE, _ROW, _RIGHT = 330, 130, 34, 20, 110
_FACT_ROOM, _WHO_ROOM, _MOST_ROWS, _MOST_PEOPLE, _LONGEST_TITLE = 50, 20, 200, 40, 400


@dataclass(frozen=True, slots=True)
class LearnedFact:
    """A fact and the scenes in which the characters learn of it; `None` means never."""

    fact: Fact
    scenes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Knowing:
    """Who knows which facts, and since when.

    Attributes:
        people: the characters, one per column.
        rows: the facts, one per row, in the order of telling.
    """

    people: tuple[str, ...]
    rows: tuple[LearnedFact, ...]

    @classmethod
    def of(cls, state: WorldState, people: Iterable[str], facts: Iterable[Fact] | None = None) -> Knowing:
        """What each of `people` learns about `facts` and when; by default, about all facts told and not withdrawn.

        A fact that repeats another is left out, because the first fact represents both.
        """
        names = tuple(people)
        asked = state.facts() if facts is None else facts
        rows = tuple(
            LearnedFact(fact, tuple(_scene(state, fact, name) for name in names))
            for fact in asked
            if fact.restates is None and not fact.withdrawn
        )
        return cls(names, rows)

    def told_apart(self) -> Knowing:
        """Only the facts that some people know and others do not, or that people learn in different scenes."""
        return Knowing(self.people, tuple(row for row in self.rows if len(set(row.scenes)) > 1))

    def svg(self) -> str:
        """The table as a picture; each character's column shows the scenes in which the character learns the facts.

        Only the first 200 facts and 40 characters are drawn; a line shows how many are left out.
        """
        return _drawn(self)

    def _repr_svg_(self) -> str:
        return self.svg()


def _scene(state: WorldState, fact: Fact, who: str) -> int | None:
    when = queries.learned_at(state.index, fact, who, state.learned(fact.id))
    return None if when is None else Moment(*when).scene


def _drawn(knowing: Knowing) -> str:
    people, rows = knowing.people[:_MOST_PEOPLE], knowing.rows[:_MOST_ROWS]
    width, height = _LEFT + len(people) * _WIDE + _RIGHT, _TOP + len(rows) * _ROW + 40
    body = [_head(name, place) for place, name in enumerate(people)]
    body += [_line(row, row.scenes[: len(people)], place) for place, row in enumerate(rows)]
    foot = "a number: the scene in which they learn of it; no number: they do not"
    left = [f"{len(knowing.rows) - len(rows):,} more facts"] if len(knowing.rows) > len(rows) else []
    left += [f"{len(knowing.people) - len(people):,} more characters"] if len(knowing.people) > len(people) else []
    foot += f" · not drawn: {', '.join(left)}" if left else ""
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="sans-serif" font-size="11">',
            "<title>Who knows what since when</title>",
            f"<desc>{len(knowing.rows):,} facts, {len(knowing.people):,} characters</desc>",
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>',
            *body,
            f'<text x="16" y="{height - 14}" fill="{_PALE}">{escape(foot)}</text>',
            "</svg>\n",
        ]
    )


def _head(name: str, place: int) -> str:
    x = _LEFT + (place + 0.5) * _WIDE
    shown = escape(cut(name, _WHO_ROOM))
    turn = f'transform="rotate(-50 {x:g} {_TOP - 10})"'
    return f'<text x="{x:g}" y="{_TOP - 10}" {turn} fill="{_INK}">{shown}{_tip(name)}</text>'


def _line(row: LearnedFact, scenes: Sequence[int | None], place: int) -> str:
    y = _TOP + (place + 0.5) * _ROW
    said = f"{row.fact.subject}, {row.fact.slot}: {row.fact.value}"
    end = _LEFT + len(scenes) * _WIDE
    shown = f"{escape(cut(said, _FACT_ROOM))}{_tip(said)}"
    parts = [
        f'<text x="{_LEFT - 10}" y="{y + 4:g}" text-anchor="end" fill="{_INK}">{shown}</text>',
        f'<path d="M{_LEFT} {y:g}H{end}" stroke="{_RULE}" stroke-width="1"/>',
    ]
    for column, scene in enumerate(scenes):
        if scene is not None:
            x = _LEFT + column * _WIDE
            parts.append(f'<rect x="{x + 5}" y="{y - 8:g}" width="{_WIDE - 10}" height="16" rx="3" fill="{_INK}"/>')
            parts.append(
                f'<text x="{x + _WIDE / 2:g}" y="{y + 4:g}" text-anchor="middle" fill="{_PAPER}">{scene}</text>'
            )
    return "\n".join(parts)


def _tip(text: str) -> str:
    return f"<title>{escape(cut(clean(text), _LONGEST_TITLE))}</title>"
