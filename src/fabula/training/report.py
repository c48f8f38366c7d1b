"""The files next to a trained adapter: losses under base and tuned model, the curve, and the model card."""

from __future__ import annotations

import html
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.characters import readable
from fabula.measure.report.pictures import curve_svg
from fabula.stats.estimate import Estimate, Scored, figures
from fabula.stats.intervals import LEVEL, mean_of

if TYPE_CHECKING:
    from fabula.training.examples import DataCard
    from fabula.training.running import Point


# What Markdown would obey: signs anywhere, an underscore at the edge of a word, a sign or number that begins a line.
_MARKS: Final = re.compile(r"([\\`*\[\]|~]|(?<!\w)_|_(?!\w)|^[#+=-]|(?<=^\d)[.)](?=\s))")


@dataclass(frozen=True, slots=True)
class MeasuredExample:
    """A development example under base and tuned model: mean loss of a token of its completion, in nats."""

    id: str
    agent: str
    group: str
    tokens: int
    base: float
    tuned: float


@dataclass(frozen=True, slots=True)
class Sample:
    """The same prompt, answered by base and tuned model with the same seed."""

    agent: str
    prompt: str
    base: str
    tuned: str


@dataclass(frozen=True, slots=True)
class LossDifference:
    """How far an agent's development loss fell: below 0 is better.

    Attributes:
        agent: whose.
        base: mean loss of the base.
        tuned: of the tuned model.
        fell: tuned less base, with its interval over stories.
    """

    agent: str
    base: float
    tuned: float
    fell: Scored

    @property
    def verdict(self) -> str:
        """One of "better", "worse", and "not better" where the interval holds 0 or there is none."""
        if isinstance(self.fell, Estimate) and self.fell.low is not None and self.fell.high is not None:
            return "better" if self.fell.high < 0 else "worse" if self.fell.low > 0 else "not better"
        return "not better"


def difference_of(
    values: Sequence[float],
    groups: Sequence[str] | None,
    method: str,
    tried: int = 1,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Scored:
    """The mean of differences that were measured on the texts by which the best of `tried` checkpoints was chosen.

    The chosen one looks too good on them, so its interval is wider: design 0033 has how often it then holds.
    """
    level = 1 - (1 - LEVEL) / math.sqrt(tried)
    found = mean_of(values, groups, method=method, level=level, limits=limits)
    if tried == 1 or not isinstance(found, Estimate):
        return found
    return replace(found, level=LEVEL, method=f"{found.method} and for the choice among {tried} checkpoints")


def differences(rows: Sequence[MeasuredExample], tried: int = 1) -> tuple[LossDifference, ...]:
    """One for each agent, in the order in which they stand; several examples of one story count as one unit.

    Args:
        rows: development examples.
        tried: checkpoints of which these examples chose the best.
    """
    found = []
    for agent in dict.fromkeys(row.agent for row in rows):
        own = [row for row in rows if row.agent == agent]
        fell = difference_of(
            [row.tuned - row.base for row in own], [row.group for row in own], "mean difference of losses", tried
        )
        count = len(own)
        found.append(LossDifference(agent, sum(r.base for r in own) / count, sum(r.tuned for r in own) / count, fell))
    return tuple(found)


def evaluation_lines(rows: Sequence[MeasuredExample]) -> str:
    """`evaluation.jsonl`."""
    keys = ("id", "agent", "group", "tokens", "base", "tuned")
    return "".join(json.dumps({key: getattr(row, key) for key in keys}, ensure_ascii=False) + "\n" for row in rows)


def losses_svg(points: Sequence[Point], base: float | None, best: int, title: str) -> str:
    """The curve of a training; the base's development loss stands at step 0."""
    train = [(float(p.step), p.train) for p in points if p.train is not None and _plottable(p.train)]
    measured = [
        (float(p.step), p.development) for p in points if p.development is not None and _plottable(p.development)
    ]
    if base is not None and _plottable(base):
        measured.insert(0, (0.0, base))
    lowest = next((point for point in measured if point[0] == best), None) if best else None
    return curve_svg(
        ("loss of the step", train), ("development loss", measured), title=title, across="step", best=lowest
    )


def _plottable(value: float) -> bool:
    return value == value and abs(value) < 1e6  # noqa: PLR0124, PLR2004 - a number that is itself, and no overflow


# the card -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CardFacts:
    """The contents of a model card.

    Attributes:
        agents: that the adapter is for.
        base: name and digest of the base.
        base_digest: of its weights.
        licence: of the base.
        data: what the data is.
        data_digest: of the examples.
        counts: of examples and tokens, and what was cut.
        preset: of the settings.
        settings: all of them, by name.
        machine: what it was computed on.
        minutes: how long it took.
        ended: a sentence: how training ended, and which checkpoint this is.
        differences: of the development losses.
        samples: answers.
        engine: whether `adapter.gguf` is there.
        how: a sentence on how it was trained, where that was not on examples.
        results: a section on what was measured, where that is not `differences`.
        use: a section on how it is used, where it is not an adapter.
        limits: a section on what its numbers do not say.
    """

    agents: Sequence[str]
    base: str
    base_digest: str
    licence: str
    data: DataCard
    data_digest: str
    counts: Mapping[str, Any]
    preset: str
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    minutes: float
    ended: str
    differences: Sequence[LossDifference]
    samples: Sequence[Sample]
    engine: bool
    how: str = ""
    results: str = ""
    use: str = ""
    limits: str = ""


def escaped(said: object) -> str:
    """Text of somebody else as Markdown shows it letter by letter, on one line."""
    line = " ".join(readable(str(said)).split())
    return _MARKS.sub(r"\\\1", html.escape(line, quote=False)).replace("://", ":&#47;&#47;")


def quoted(said: str) -> str:
    """Text of somebody else as a quotation that keeps its paragraphs."""
    paragraphs = [escaped(part) for part in readable(said).split("\n") if part.strip()]
    return "\n>\n".join(f"> {part}" for part in paragraphs) or "> (nothing)"


def model_card(facts: CardFacts) -> str:
    """`README.md` of an adapter."""
    agents = ", ".join(escaped(agent) for agent in facts.agents)
    how = facts.how or f"Trained with fabula on examples of what {agents} should say (supervised fine-tuning, LoRA)."
    parts = [
        f"# {'A model' if facts.use else 'An adapter'} for {agents}",
        f"{how} {facts.ended}",
        facts.results or _losses(facts.differences),
        "![losses](losses.svg)",
        facts.use or _use(facts),
        _data(facts),
        _base(facts),
        f"## Settings\n\nPreset `{escaped(facts.preset)}`.\n\n"
        + table_of(("setting", "value"), _pairs(facts.settings)),
        f"## Made on\n\nIn {facts.minutes:.1f} minutes.\n\n" + table_of(("", ""), _pairs(facts.machine)),
        _samples(facts.samples),
        facts.limits or _LIMITS,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


_LIMITS: Final = """## Limits

- The losses show how well the adapter predicts texts like those it was trained on. They do not show that its
  stories are better. Let a judge or people compare them (`fabula evaluate pairwise`, `fabula evaluate snap-ratings`).
- It may repeat passages of the stories that it was trained on.
- It works only with this base. With another base its output has no meaning."""


def _losses(rows: Sequence[LossDifference]) -> str:
    cells = [
        (
            escaped(row.agent),
            figures(row.base),
            figures(row.tuned),
            escaped(row.fell)
            if isinstance(row.fell, Estimate)
            else f"{figures(row.tuned - row.base)} ({escaped(row.fell)})",
            row.verdict,
        )
        for row in rows
    ]
    method = next((row.fell.method for row in rows if isinstance(row.fell, Estimate)), "")
    return "\n\n".join(
        (
            "## Development loss",
            "Mean over examples of the mean loss of a completion's token, in nats, on stories that it has not seen.",
            table_of(("agent", "base", "tuned", "difference", ""), cells),
            f"95 % intervals: {escaped(method)}." if method else "There are too few stories for intervals.",
        )
    )


def _use(facts: CardFacts) -> str:
    agent, base = (shlex.quote(" ".join(readable(said).split())) for said in (facts.agents[0], facts.base))
    lines = [
        "## Use\n",
        f"    fabula write BRIEF --model {base} --adapter {agent}=THIS_FOLDER\n"
        if facts.engine
        else "There is no `adapter.gguf` (the base was not a GGUF file), so it works only on servers.\n",
        f"On a vLLM server, whose BASE must be {escaped(facts.base)} (digest `{escaped(facts.base_digest)}`):\n",
        f"    vllm serve BASE --enable-lora --lora-modules {agent}=THIS_FOLDER",
        f"    fabula write BRIEF --base-url http://localhost:8000/v1 --model {agent}=openai-chat:{agent}",
    ]
    return "\n".join(lines)


def _data(facts: CardFacts) -> str:
    rows = [
        (escaped(one.title or one.name), escaped(one.licence or "not stated"), str(one.stories))
        for one in facts.data.sources
    ]
    sources = table_of(("set", "licence", "stories"), rows) if rows else "The data does not name its sets."
    counts = table_of(("", ""), _pairs(facts.counts))
    made = table_of(("made with", ""), _pairs(facts.data.made)) if facts.data.made else ""
    return "\n\n".join(
        part for part in (f"## Data\n\nDigest `{escaped(facts.data_digest)}`.", sources, counts, made) if part
    )


def _base(facts: CardFacts) -> str:
    return (
        f"## Base\n\n{escaped(facts.base)} (digest `{escaped(facts.base_digest)}`). Licence: {escaped(facts.licence)}. "
        "That licence limits the use of the adapter."
    )


def _samples(samples: Sequence[Sample]) -> str:
    if not samples:
        return ""
    parts = ["## Samples\n\nThe shortest development prompts, answered by both with the same seed."]
    for number, one in enumerate(samples, 1):
        end = one.prompt[-600:]
        parts += [
            f"### {number}. {escaped(one.agent)}",
            f"The prompt's end:\n\n{quoted(end)}",
            f"Base:\n\n{quoted(one.base)}",
            f"Tuned:\n\n{quoted(one.tuned)}",
        ]
    return "\n\n".join(parts)


def _pairs(fields: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(escaped(name), escaped(_said(value))) for name, value in fields.items()]


def _said(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown; cells are taken as they are."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
