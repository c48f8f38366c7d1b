"""One level's answer: the loop around the model, its caps and its stops (the released code's `generate`)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.engine.replies.labelled import find_end, find_example, without_label
from fabula.models.base import Sampling
from fabula.story import count_words
from fabula.systems.dramatron.records import END

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.run import Run
    from fabula.models.base import Reply

Marks: TypeAlias = Literal["exact", "lenient"]
Unit: TypeAlias = Literal["characters", "tokens"]
Stop: TypeAlias = Literal["end", "example", "cap", "calls", "stop"]

PAPER: Final = Sampling(temperature=1.0, top_p=0.95, frequency_penalty=0.23, presence_penalty=0.23)
MOST_REPEATS: Final = 3  # of one block in a sample of dialogue
LOOP_TRIES: Final = 3
_WORDS_PER_TOKEN: Final = 0.75
_LEAD: Final = 160  # characters of what is continued; enough to go on from
_EXAMPLE: Final = "Example "


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the hierarchy as it is asked.

    Attributes:
        role: who is asked.
        prompt: its prompt file.
        label: the open label at the prompt's end, which models that can continue a text go on from.
        tokens: sample length, the most tokens of one call.
        cap: "max paragraph length".
        inside: the label is part of the answer.
        loops: samples are watched for loops.
        cue: words of the answer that follow the label, given to models that continue.
    """

    role: str
    prompt: str
    label: str
    tokens: int
    cap: int
    inside: bool = False
    loops: bool = False
    cue: str = ""

    @property
    def opening(self) -> str:
        """The first words of an answer for models that go on with them."""
        return self.label + self.cue

    @property
    def calls(self) -> int:
        """The most calls of one answer."""
        return self.cap // self.tokens + 1


@dataclass(frozen=True, slots=True)
class Rules:
    """How an answer's end is found; see `Config` for the fields of the same names."""

    marks: Marks = "exact"
    cap_unit: Unit = "characters"
    trust_stop: bool = False
    sampling: Sampling = PAPER


@dataclass(frozen=True, slots=True)
class Answer:
    """What a level answered, without END; `stop` is why it ended, `cut` whether that was in mid-text."""

    text: str
    stop: Stop
    cut: bool = False


async def generate(run: Run, level: Level, rules: Rules, fields: Mapping[str, Any], so_far: str = "") -> Answer:
    """A level's answer after `so_far`: sampled until it ends, starts a new example, or reaches a cap."""
    text, reply = "", None
    for call in range(level.calls):
        where = run.scope("call", call + 1) if call else run
        reply = await _sample(where, level, rules, fields, so_far + text)
        text = _joined(text, reply.text)
        if (end := _end(text, rules.marks)) is not None:
            return Answer(text[:end], "end")
        if (end := _example(text, rules.marks)) is not None:
            return Answer(text[:end], "example")
        if rules.trust_stop and reply.finish == "stop":
            return Answer(text, "stop")
        if _length(text, rules.cap_unit) > level.cap:
            return Answer(text, "cap", reply.finish == "length")
    return Answer(text, "calls", reply is not None and reply.finish == "length")


async def _sample(run: Run, level: Level, rules: Rules, fields: Mapping[str, Any], so_far: str) -> Reply:
    """One call; where it loops, called again with another seed, a bounded number of times, then taken as it is."""
    tail = so_far.rstrip()[-_LEAD:].lstrip()
    lead = f"{tail}\n\n{level.label}" if tail and level.inside and so_far.endswith("\n") else tail or level.opening
    sampling = Sampling(max_tokens=level.tokens).over(rules.sampling)
    for attempt in range(LOOP_TRIES + 1):
        where = run.scope("loop", attempt) if attempt else run
        reply = await where.reply(
            level.role,
            level.prompt,
            sampling=sampling,
            expect=int(level.tokens * _WORDS_PER_TOKEN),
            so_far=so_far,
            lead=lead,
            **fields,
        )
        text = _after(reply.text, tail, level)
        if not (level.loops and is_loop(text)):
            break
    return replace(reply, text=text)


def _after(text: str, tail: str, level: Level) -> str:
    """A reply without the words that it was led with, and without an open label that is no part of the answer."""
    if tail:
        return text.removeprefix(tail)
    if level.inside:
        return text
    return without_label(text, level.label)


def _joined(text: str, more: str) -> str:
    return text + more.lstrip() if text[-1:].isspace() else text + more


def is_loop(text: str) -> bool:
    """Whether a block between blank lines occurs more than three times."""
    blocks = Counter(block.strip() for block in text.split("\n\n") if block.strip())
    return max(blocks.values(), default=0) > MOST_REPEATS


def _end(text: str, marks: Marks) -> int | None:
    if marks == "exact":
        return at if (at := text.find(END)) >= 0 else None
    return find_end(text)


def _example(text: str, marks: Marks) -> int | None:
    """Where the model begins another example; letter for letter, a speech about an example is one too."""
    if marks == "exact":
        return at if (at := text.find(_EXAMPLE)) >= 0 else None
    return find_example(text)


def _length(text: str, unit: Unit) -> float:
    """How long `text` is: in characters, or in tokens as its words let expect."""
    return len(text) if unit == "characters" else count_words(text) / _WORDS_PER_TOKEN
