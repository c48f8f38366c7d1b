"""Which of two stories blind readers preferred: a row for each pair of methods, from the verdicts that are kept."""

from __future__ import annotations

import csv
import re
import tomllib
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.measure.ratings import SAME, read_ratings
from fabula.stats.comparisons import TIE, Comparison, first_position_rate
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of
from fabula.stats.shares import share

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

KEPT: Final = Path(__file__).resolve().parent.parent / "benchmarks" / "results"
ROOT: Final = KEPT.parent.parent
_CLAIMING: Final = (
    "README.md", "docs/*.md", "docs/tutorial/*.md", "docs/how-to/*.md", "src/fabula/systems/*/*.toml",
    "src/fabula/systems/*/*.md",
)  # fmt: skip
POINTER: Final = re.compile(r"\[docs/results: ([\w-]+)\]|\]\([^)]*results/README\.md#([\w-]+)\)")
_UP: Final = "../../"
_OVERALL: Final = "overall"
_MARKED: Final = "marked/"
_HEAD: Final = "| pair | verdicts | share | 95 % interval, by brief | brief by brief | cost of both | words of both |"
_LEAD: Final = """# Results

Which of two stories blind readers preferred. Each row says for the method named first how many verdicts it got (a tie
is half a verdict), its share with an interval by brief, what a story took by either method, and how long it was. The
intervals are each for their row alone. Everything is counted from the verdicts in
[`benchmarks/results`](../../benchmarks/results/README.md); `make docs` writes this page again.
[Repeat a trial](../how-to/trial.md) says how to take one with another model.

**No person read any of these stories.** Authors and readers are one strong model, which may like its own ways best.
"""


@dataclass(frozen=True, slots=True)
class PairOfMethods:
    """What readers said of the stories of two methods.

    Attributes:
        systems: the two.
        scored: the share of verdicts for the first.
        verdicts: for the first and in all, by brief.
        costs: of a story by each, on the briefs that were judged; empty where not known.
        words: the same, of its length.
    """

    trial: str
    systems: tuple[str, str]
    scored: Scored
    verdicts: Mapping[str, tuple[float, int]]
    costs: tuple[float, ...] = ()
    words: tuple[float, ...] = ()

    @property
    def id(self) -> str:
        """What leads to its row."""
        return "-".join((self.trial, *self.systems))

    @property
    def row(self) -> str:
        """Its line in the table."""
        one, other = self.systems
        got, n = (sum(column) for column in zip(*self.verdicts.values(), strict=True))
        value, interval = _figures(self.scored)
        name = f'<a id="{self.id}"></a>{one} over {other}'
        cells = (name, f"{got:g} of {n}", value, interval, self._briefs, _both(self.costs), _both(self.words))
        return f"| {' | '.join(cells)} |"

    @property
    def _briefs(self) -> str:
        shown = [f"{got:g}/{n}" for brief, (got, n) in self.verdicts.items() if brief]
        return ", ".join(shown)


@dataclass(frozen=True)
class BlindTrial:
    """A trial: `trial.toml` with what was asked and who judged, `ratings.jsonl`, and `stories.csv` with their costs.

    One that pools others has their verdicts and stories, and only `trial.toml` of its own.
    """

    name: str
    about: Mapping[str, Any]
    ratings: Sequence[Rating] = ()
    stories: Sequence[Mapping[str, str]] = ()

    @classmethod
    def read(cls, folder: Path) -> BlindTrial:
        """The trial of a folder."""
        about = tomllib.loads((folder / "trial.toml").read_text(encoding="utf-8"))
        if "counted" in about:  # verdicts that were not kept
            return cls(folder.name, about)
        if "pools" in about:
            parts = [cls.read(folder.parent / name) for name in about["pools"]]
            ratings = [one for part in parts for one in part.ratings]
            return cls(folder.name, about, ratings, [one for part in parts for one in part.stories])
        with (folder / "stories.csv").open(encoding="utf-8") as file:
            return cls(folder.name, about, read_ratings(folder / "ratings.jsonl"), tuple(csv.DictReader(file)))

    @property
    def pairs(self) -> list[PairOfMethods]:
        """The pairs of methods, as `trial.toml` orders them."""
        if counted := self.about.get("counted"):
            return [self._counted(one) for one in counted]
        found = {frozenset(rating.systems) for rating in self.choices(_OVERALL)}
        return [self._pair(pair) for pair in combinations(self.about["systems"], 2) if set(pair) in found]

    def choices(self, question: str) -> list[Rating]:
        """The verdicts on a question about two stories."""
        return [one for one in self.ratings if one.question == question and len(one.items) > 1 and not one.unscored]

    def _counted(self, counted: Mapping[str, Any]) -> PairOfMethods:
        got, n = counted["preferred"], counted["verdicts"]
        one, other = counted["systems"]
        shared = share(got, n, "verdicts")
        return PairOfMethods(self.name, (one, other), shared, {"": (got, n)}, tuple(map(float, counted["cost"])))

    def _pair(self, pair: tuple[str, str]) -> PairOfMethods:
        mine = [_comparison(one, pair[0]) for one in self.choices(_OVERALL) if set(one.systems) == set(pair)]
        briefs = list(dict.fromkeys(one.prompt for one in mine))
        verdicts = {
            brief: (sum(c.score for c in mine if c.prompt == brief), sum(c.prompt == brief for c in mine))
            for brief in briefs
        }
        scored = share_of([one.score for one in mine], [one.prompt for one in mine])
        costs, words = (self._means(pair, briefs, column) for column in ("cost", "words"))
        return PairOfMethods(self.name, pair, scored, verdicts, costs, words)

    def _means(self, pair: tuple[str, str], briefs: Sequence[str], column: str) -> tuple[float, ...]:
        of = [[float(s[column]) for s in self.stories if s["system"] == name and s["brief"] in briefs] for name in pair]
        return tuple(fmean(one) for one in of)

    @property
    def first_shown(self) -> Scored:
        """The share of verdicts for the story shown first."""
        return first_position_rate([_comparison(one, one.systems[0]) for one in self.choices(_OVERALL)])

    def page(self) -> str:
        """The trial's part of the page."""
        parts = [f"## {self.about['title']}", self.about["asked"]]
        parts.append(
            f"{self.about['date']}. **Who judged:** {self.about['judge']}. "
            f"**Cost:** {self.about['unit']}, a mean over the briefs."
        )
        parts.append("\n".join([_HEAD, "|---" * _HEAD.count(" | ") + "|---|", *(pair.row for pair in self.pairs)]))
        parts += [part for part in (self._position(), self._questions(), self._marks()) if part]
        parts.append("\n".join(f"- `{name}`: {what}." for name, what in self.about["systems"].items()))
        parts.append("What it cannot say:\n\n" + "\n".join(f"- {limit}" for limit in self.about["limits"]))
        return "\n\n".join(parts)

    def _position(self) -> str:
        if not self.ratings:
            return ""
        value, interval = _figures(self.first_shown)
        shown = f"{value} ({interval})" if interval[0].isdigit() or interval[0] == "." else value
        return f"The story shown first got {shown} of all {len(self.choices(_OVERALL))} verdicts."

    def _questions(self) -> str:
        """By question, where every verdict of the trial is on one pair."""
        if len(self.pairs) != 1:
            return ""
        one, _ = self.pairs[0].systems
        questions = dict.fromkeys(rating.question for rating in self.ratings if len(rating.items) > 1)
        lines = []
        for question in questions:
            said = [_comparison(rating, one).score for rating in self.choices(question)]
            if question != _OVERALL:
                lines.append(
                    f"{question} {said.count(1)} for `{one}`, {said.count(0)} against, {said.count(TIE)} equal"
                )
        return f"By question: {'; '.join(lines)}."

    def _marks(self) -> str:
        """How often readers marked the stories of each method."""
        marks = [rating for rating in self.ratings if rating.question.startswith(_MARKED)]
        if not marks:
            return ""
        names = list(dict.fromkeys(rating.question for rating in marks))
        lines = [
            "| what readers marked | " + " | ".join(f"`{name}`" for name in self.about["systems"]) + " |",
            "|---" * (len(self.about["systems"]) + 1) + "|",
        ]
        for name in names:
            said = {
                system: [r.answer for r in marks if r.question == name and r.systems == (system,)]
                for system in self.about["systems"]
            }
            cells = [f"{sum(one == 1 for one in answers)} of {len(answers)}" for answers in said.values()]
            lines.append(f"| {name.removeprefix(_MARKED)} | {' | '.join(cells)} |")
        return "\n".join(lines)


def trials() -> list[BlindTrial]:
    """Every trial that is kept, the newest first."""
    found = [BlindTrial.read(file.parent) for file in KEPT.glob("*/trial.toml")]
    return sorted(found, key=lambda trial: (trial.about["date"], trial.name), reverse=True)


def results() -> str:
    """The page of results, with the places that rest on it."""
    known = {pair.id for trial in trials() for pair in trial.pairs}
    places: dict[str, list[str]] = {}
    for file, _, row in claims():
        if row in known and file not in places.setdefault(row, []):
            places[row].append(file)
    said = "\n".join(
        f"- [{row}](#{row}): {', '.join(f'[{file}]({_link(file)})' for file in files)}"
        for row, files in sorted(places.items())
    )
    parts = [_LEAD.rstrip(), *(trial.page() for trial in trials())]
    return "\n\n".join([*parts, f"## What rests on these rows\n\n{said}"])


def _link(file: str) -> str:
    """From the page of results to a file; a page of the docs is linked as one."""
    return f"../{file.removeprefix('docs/')}" if file.startswith("docs/") else f"{_UP}{file}"


def claims() -> Iterator[tuple[str, str, str]]:
    """What the documentation claims of quality: the file, the sentence, and the row that it rests on."""
    for file in claiming():
        for sentence in sentences_of(file):
            for pointer in POINTER.finditer(sentence):
                yield file.relative_to(ROOT).as_posix(), sentence, pointer[1] or pointer[2]


def claiming() -> list[Path]:
    """The files that may say how good stories are, and are written by hand."""
    return sorted({file for pattern in _CLAIMING for file in ROOT.glob(pattern)})


def sentences_of(file: Path) -> list[str]:
    """The sentences of a file, each on one line; a sentence ends before a capital."""
    blocks = re.split(r"\n\s*\n|\n(?=[-|#\w]+ =|- |\| )", file.read_text(encoding="utf-8"))
    return [sentence for block in blocks for sentence in re.split(r"(?<=[.:;]) (?=[A-Z`\[])", " ".join(block.split()))]


def linked(text: str) -> str:
    """A text of `paper.toml` whose pointers to rows are links from a page of the reference."""
    return re.sub(r"\[docs/results: ([\w-]+)\]", r"([row](../results/README.md#\1))", text)


def _comparison(rating: Rating, one: str) -> Comparison:
    """A verdict from the side of a system."""
    other = next(name for name in rating.systems if name != one)
    better = TIE if rating.answer == SAME else float(rating.answer == rating.items[rating.systems.index(one)])
    return Comparison(rating.prompt, one, other, better, shown_first=rating.systems[0] == one, rater=rating.rater)


def _figures(scored: Scored) -> tuple[str, str]:
    """A share and its interval, or why it has none."""
    if not isinstance(scored, Estimate):
        return "none", scored.reason
    if scored.low is None or scored.high is None:
        return _short(scored.value), scored.method.rpartition("; ")[2]
    return _short(scored.value), f"{_short(scored.low)} to {_short(scored.high)}"


def _short(number: float) -> str:
    return f"{number:.2f}".removeprefix("0")


def _both(numbers: Sequence[float]) -> str:
    return " and ".join(f"{number:,.0f}" for number in numbers)
