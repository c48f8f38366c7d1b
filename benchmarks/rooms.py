"""Which of two stories readers prefer, by how the stories were written; stories, verdicts and costs are recorded.

    python -m benchmarks rooms

`replies/rooms` holds six briefs, a story on each by every method, the readers' verdicts on pairs of them, and how many
words each method was sent and wrote. Nothing is asked.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TITLE: Final = "which story readers prefer: drafts revised, rooms by parts and one call, in blind pairs"
FOLDER: Final = Path(__file__).parent / "replies" / "rooms"
METHODS: Final = {
    "draft-first-revised-2": "the story of draft-first, after its final reading, written anew twice as a whole",
    "draft-first": "reviewed-draft, revisions=0",
    "end-to-end-revised-8": "self-revision, revisions=8; the first four are those of end-to-end-revised-4",
    "end-to-end-revised-4": "self-revision, revisions=4",
    "end-to-end": "end-to-end, one call",
    "by-parts": "agents-room; the five parts one by one, from a plot by part",
    "plan": "agents-room, variant=plan; the story in one call from the plan",
}
ASPECTS: Final = ("plot", "development", "creativity", "language")
_BESIDE: Final = ("end-to-end", "end-to-end-revised-8", "by-parts")  # whose words those of the others are divided by
_ASKED: Final = 360  # verdicts that readers were to give
_POINTS: Final = {"first": 1.0, "tie": 0.5, "second": 0.0}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one reader said of two stories on one brief: "first", "second" or "tie" for each question.

    Attributes:
        reader: a session of the model that read.
        first, second: the methods of the two stories, in the order in which they were shown.
        reason: for `overall`, in the reader's words; A is the story shown first.
    """

    reader: str
    first: str
    second: str
    brief: str
    overall: str
    plot: str
    development: str
    creativity: str
    language: str
    reason: str

    @property
    def pair(self) -> tuple[str, str]:
        """Both methods, as `METHODS` orders them."""
        one, other = sorted((self.first, self.second), key=list(METHODS).index)
        return one, other

    def for_first(self, question: str = "overall") -> float:
        """1 if the verdict is for the story shown first, 0 if it is for the other, a half if it is a tie."""
        return _POINTS[getattr(self, question)]

    def points(self, question: str) -> float:
        """1 if the verdict is for the first method of the pair, 0 if it is for the other, a half if it is a tie."""
        points = self.for_first(question)
        return points if self.first == self.pair[0] else 1 - points


def verdicts() -> list[Verdict]:
    """All verdicts."""
    lines = (FOLDER / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    return [Verdict(**json.loads(line)) for line in lines]


def briefs() -> list[str]:
    """The names of the briefs."""
    return sorted(file.stem for file in (FOLDER / "briefs").glob("*.md"))


def story(method: str, brief: str) -> str:
    """The story as readers saw it, without its title."""
    text = (FOLDER / "stories" / method / f"{brief}.md").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip() if text.startswith("# ") else text.strip()


def bench() -> Table:
    """Shares of verdicts for each pair of methods, by question and by position; words of the stories; costs."""
    found = verdicts()
    pairs = sorted({one.pair for one in found}, key=lambda pair: [list(METHODS).index(name) for name in pair])
    rows: list[Row] = []
    for pair in pairs:
        rows += _of_pair(pair, [one for one in found if one.pair == pair])
    rows.append(_share("all pairs: the story shown first", found, [one.for_first() for one in found]))
    return Table("rooms", TITLE, (*rows, *_lengths(), *_costs()), tuple(_notes(found)))


def _of_pair(pair: tuple[str, str], found: Sequence[Verdict]) -> Iterator[Row]:
    name = " over ".join(pair)
    yield _share(name, found, [one.points("overall") for one in found])
    for aspect in ASPECTS:
        yield _share(f"{name}: {aspect}", found, [one.points(aspect) for one in found])
    ahead = sum(one.first == pair[0] for one in found)
    shown = f"{pair[0]} first in {ahead}"
    yield _share(f"{name}: the story shown first", found, [one.for_first() for one in found], shown)


def _share(what: str, found: Sequence[Verdict], points: Sequence[float], besides: str = "") -> Row:
    """A share of verdicts with its interval; those on one brief are taken together."""
    by = [one.brief for one in found]
    shared = share_of(points, by)
    each = f"{sum(points):g} of {len(points)}, {len(set(by))} briefs"
    if isinstance(shared, Estimate) and shared.low is not None and shared.high is not None:
        each += f", 95 % {shared.low:.2f} to {shared.high:.2f}"
    return Row(what, (sum(points) / len(points),), "", f"{each}, {besides}" if besides else each)


def _lengths() -> Iterator[Row]:
    for method in METHODS:
        yield Row(f"{method}: words of a story", tuple(float(len(story(method, name).split())) for name in briefs()))


def _costs() -> Iterator[Row]:
    """Calls and words of each method, and its words beside those of others; one value for each brief."""
    data: dict[str, dict[str, dict[str, int]]] = json.loads((FOLDER / "costs.json").read_text(encoding="utf-8"))
    costs = {method: [data[method][name] for name in briefs()] for method in METHODS}
    words = {method: [float(one["prompt_words"] + one["reply_words"]) for one in own] for method, own in costs.items()}
    for method in METHODS:
        yield Row(f"{method}: calls", tuple(float(one["calls"]) for one in costs[method]))
        yield Row(f"{method}: words of prompts and replies", tuple(words[method]))
        for other in _BESIDE:
            if method != other:
                ratios = tuple(own / its for own, its in zip(words[method], words[other], strict=True))
                yield Row(f"{method}: the same, times {other}", ratios)


def _notes(found: Sequence[Verdict]) -> Iterator[str]:
    readers, pairs = {one.reader for one in found}, {one.pair for one in found}
    yield (
        f"{len(found)} verdicts of {len(readers)} readers on {len(pairs)} pairs of methods and {len(briefs())} briefs;"
        f" {_ASKED} were asked for, but some readers gave none. Ties count as a half."
    )
    yield "n of a share: verdicts for the method named first, or for the story shown first, of all. Other n: briefs."
    yield (
        "Intervals are of 95 %, by brief: Wilson's for as many independent answers as have the same t interval over"
        " briefs, and where all briefs are alike what so many leave open (docs/design/0015-intervals.md)."
        " Each is for its share alone, not for all pairs at once."
    )
    yield from (f"{name}: {how}." for name, how in METHODS.items())
    yield "Authors and readers are sessions of one strong model, which may like its own ways best; no person read."
    yield (
        "One story for each method and brief, so chance in one story counts as its method's."
        " draft-first and both end-to-end-revised begin with end-to-end's story."
    )
    yield (
        "draft-first-revised-2 and end-to-end-revised-8 were made, and the later pairs chosen, when first verdicts on"
        " these briefs had been given; neither was tried on others."
    )
    both, again = _repeats(found)
    yield (
        f"{both} times a reader judged one pair in both orders; {again} of {len(found)} verdicts are on a story that"
        " their reader met in another pair too. Readers were not told who wrote what."
    )
    yield "Calls and words of a method hold those of the method it goes on from. Words are counted between blanks."


def _repeats(found: Sequence[Verdict]) -> tuple[int, int]:
    """How often a reader judged one pair in both orders; how many verdicts are on a story that the reader saw twice."""
    shown = {(one.reader, one.brief, one.first, one.second) for one in found}
    both = sum((reader, brief, second, first) in shown for reader, brief, first, second in shown) // 2
    seen = Counter((one.reader, one.brief, name) for one in found for name in one.pair)
    return both, sum(any(seen[one.reader, one.brief, name] > 1 for name in one.pair) for one in found)
