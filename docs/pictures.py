"""Draws docs/pictures: how fabula is built, and what it draws of the sample project. `make docs` calls it."""

from __future__ import annotations

import contextlib
import io
import tempfile
import tomllib
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Final

from record import recorded

from fabula.cli.main import main as fabula
from fabula.measure.ratings import read_ratings, write_ratings
from fabula.story.plan_file import read_plan
from fabula.story.timeline import timeline_svg
from fabula.story.world import Moment, WorldState
from fabula.story.world.file import read_world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"
SAMPLE: Final = ROOT / "examples" / "projects" / "sufficient-knowledge"
VERDICTS: Final = ROOT / "benchmarks" / "results" / "short-rooms" / "ratings.jsonl"
# What a room of the package holds, in a few words. A room that is missing here, or gone, stops the drawing.
_PUBLIC: Final = ("errors", "events", "plugin")  # public names of what is below, and no rooms
ROOMS: Final = {
    "testing": "rules that authors of systems, evaluators and providers can try",
    "cli": "one file a command: parses, calls app, prints",
    "server": "chats, projects, studio and studies over HTTP",
    "verbs": "what can be done with a project: one file a verb",
    "app": "writing, planning, judging, checking, chatting, experiments",
    "training": "fine-tuning of local models",
    "systems": "one folder a paper: its algorithm, prompts, deviations",
    "evaluators": "ways of measuring, one folder each",
    "data": "public data sets",
    "craft": "what systems share: length, memory, planning, conversation",
    "measure": "items, ratings, reports",
    "continuity": "scenes and passages",
    "project": "the folder, settings, who plays what",
    "engine": "run, journal, prompts, replies, dry runs",
    "story": "brief, plan, world, cards, formats",
    "models": "one seam to every language model",
    "stats": "estimates and intervals",
    "base": "errors, files, optional packages",
}
_STYLE: Final = (
    "text{font:14px system-ui,sans-serif;fill:#1d1d1f}.name{font-weight:600}.small{font-size:12px;fill:#55555c}"
    ".box{fill:#f1f4f8;stroke:#7d8fa6}.thing{fill:#f8f3e8;stroke:#a08a55}.line{fill:none;stroke:#7d8fa6}"
    ".head{fill:#7d8fa6}"
    "@media(prefers-color-scheme:dark){text{fill:#e8e8ea}.small{fill:#b4b4bc}.box{fill:#222a35;stroke:#7d93b0}"
    ".thing{fill:#2d2819;stroke:#a5915c}.line{stroke:#8fa3bd}.head{fill:#8fa3bd}}"
)


def drawn() -> dict[str, str]:
    """Name and text of every picture."""
    return {name: draw() for name, draw in DRAWN.items()}


def _svg(parts: Sequence[str], width: float, height: float, title: str, about: str) -> str:
    size = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = f"<title>{escape(title)}</title>\n<desc>{escape(about)}</desc>\n<style>{_STYLE}</style>"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', head, *parts, "</svg>", ""])


# how it is built --------------------------------------------------------------------------------------------------

_WIDE, _HIGH, _GAP, _BETWEEN = 880, 46, 10, 22


def floors() -> list[list[str]]:
    """The rooms of the package, floor by floor from the top, as `lint-imports` holds them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    found = [[room.strip() for room in layer.split("|")] for layer in layers]
    found = [
        floor
        for floor in (
            [room for room in floor if room not in ("__main__", "errors", "events", "plugin")] for floor in found
        )
        if floor
    ]
    if odd := {room for floor in found for room in floor} ^ set(ROOMS):
        raise SystemExit(f"docs/pictures.py: say in ROOMS what is in {', '.join(sorted(odd))}, or remove it")
    return found


def architecture() -> str:
    """The rooms of the package, each floor importing only those below it."""
    parts = []
    found = floors()
    y = 1.0
    for number, floor in enumerate(found):
        width = (_WIDE - 2 - _GAP * (len(floor) - 1)) / len(floor)
        lines = {room: wrap(ROOMS[room], int(width / 6.6)) for room in floor}
        high = _HIGH + 15 * (max(len(said) for said in lines.values()) - 1)
        for place, room in enumerate(floor):
            x = 1 + place * (width + _GAP)
            kind = "thing" if room in {"systems", "evaluators"} else "box"
            parts.append(f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{high}" rx="6"/>')
            parts.append(f'<text class="name" x="{x + 12:g}" y="{y + 19:g}">{room}</text>')
            for row, said in enumerate(lines[room]):
                parts.append(f'<text class="small" x="{x + 12:g}" y="{y + 36 + 15 * row:g}">{escape(said)}</text>')
        y += high
        if number < len(found) - 1:
            middle = _WIDE / 2
            parts.append(f'<path class="line" d="M{middle:g} {y + 3:g}v{_BETWEEN - 11}"/>')
            parts.append(f'<path class="head" d="M{middle - 4:g} {y + 12:g}h8l-4 7z"/>')
            y += _BETWEEN
    about = "Floors from the top: " + "; ".join(", ".join(floor) for floor in found) + ". Imports go down only."
    return _svg(parts, _WIDE, y + 1, "How fabula is built", about)


# the sample project -----------------------------------------------------------------------------------------------


def timeline() -> str:
    """The sample's two orders of time, and who is where."""
    plan = read_plan(SAMPLE / "plan" / "plan.yaml")
    return timeline_svg(plan, plan.chronology() or plan.assumed_chronology()) + "\n"


_NAMES, _PART, _LINE, _HEAD = 250, 166, 30, 34


def world() -> str:
    """What the sample's story says is true at the end of each of its parts.

    A row for what is said of a thing, with a bar for each value, as long as it holds.
    """
    with WorldState() as state:
        read_world(SAMPLE / "world.yaml").add_to(state)
        titles = [scene.title for scene in state.scenes()]
        ends = [state.snapshot(Moment.end(number)) for number in range(1, len(titles) + 1)]
    rows: dict[str, list[str]] = {}
    for number, facts in enumerate(ends):
        for fact in facts:
            row = rows.setdefault(f"{fact.subject}: {fact.slot}", [""] * len(titles))
            said = f"{fact.value}{'' if fact.real else '?'}"
            row[number] = f"{row[number]}, {said}" if row[number] else said
    width = _NAMES + _PART * len(titles)
    parts = [
        f'<text class="small" x="{_NAMES + _PART * number + 4}" y="20">{number + 1} {escape(title)}</text>'
        for number, title in enumerate(titles)
    ]
    for at, (name, values) in enumerate(rows.items()):
        y = _HEAD + _LINE * at
        parts.append(f'<text x="0" y="{y + 18}">{escape(shorten(name, 34, placeholder="…"))}</text>')
        parts += _bars(values, y)
    about = "; ".join(f"{name}: {', then '.join(v for v, _ in groupby(values) if v)}" for name, values in rows.items())
    title = "What the story says is true, part by part; ? is reported or believed"
    return _svg(parts, width, _HEAD + _LINE * len(rows) + 4, title, about)


def _bars(values: Sequence[str], y: int) -> Iterator[str]:
    begin = 0
    for value, same in groupby(values):
        long = len(list(same))
        if value:
            x, width = _NAMES + _PART * begin, _PART * long - 4
            said = escape(shorten(value, width // 7, placeholder="…"))
            yield f'<rect class="box" x="{x}" y="{y}" width="{width}" height="{_LINE - 5}" rx="4"/>'
            yield f'<text class="small" x="{x + 8}" y="{y + 17}">{said}</text>'
        begin += long


# verdicts ---------------------------------------------------------------------------------------------------------


def ranking() -> str:
    """The strengths that `fabula evaluate pairwise --ratings` draws from the verdicts of an experiment that is kept."""
    with tempfile.TemporaryDirectory() as folder:
        ratings = Path(folder, "verdicts.jsonl")
        overall = [one for one in read_ratings(VERDICTS) if one.question == "overall"]
        ratings.write_text(write_ratings(overall), encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = fabula(["evaluate", "pairwise", "--ratings", str(ratings), "--out", f"{folder}/ranked", "--quiet"])
        if code:
            raise SystemExit(f"docs/pictures.py: fabula evaluate pairwise ended with {code}: {said.getvalue()}")
        return Path(folder, "ranked", "verdicts-overall.svg").read_text(encoding="utf-8").rstrip() + "\n"


DRAWN: Final[Mapping[str, Callable[[], str]]] = {
    "architecture.svg": architecture,
    "timeline.svg": timeline,
    "world.svg": world,
    "ranking.svg": ranking,
    "terminal.svg": recorded,
}
