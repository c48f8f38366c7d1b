"""Who talks, what they do and say, and the cell that they are in. Values, which know nothing of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from fabula.base.errors import UsageError
from fabula.base.html import Html, joined
from fabula.base.html import text as as_markup
from fabula.craft.packing import paragraphs
from fabula.engine.replies.dialogue import read_said
from fabula.models.budget import estimate_tokens
from fabula.story.people import among

Summaries: TypeAlias = Mapping[str, str]  # what each of those who talk remembers of earlier cells, by name
Freedom: TypeAlias = Literal["rails", "guided", "loose"]
FREEDOMS: Final[tuple[Freedom, ...]] = get_args(Freedom)
_MARKS: Final = 4  # tokens of a line beside its text


@dataclass(frozen=True, slots=True)
class Parties:
    """Who talks: the player's character, and those that answer."""

    player: str
    others: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, the player first."""
        return (self.player, *self.others)

    def alike(self, other: Parties) -> bool:
        """Whether they are the same people; the others may be named in another order."""
        return self.player == other.player and sorted(self.others) == sorted(other.others)


@dataclass(frozen=True, slots=True)
class SubPlan:
    """A sub-plan: what happens, in a headline, the details, and who may know of it (`witnesses`; empty: everybody)."""

    title: str
    detail: str = ""
    witnesses: tuple[str, ...] = ()

    def known_to(self, name: str) -> bool:
        """Whether somebody may know of it."""
        return not self.witnesses or name in self.witnesses

    @property
    def text(self) -> str:
        """Both, on one line."""
        return f"{self.title} {self.detail}".strip()


def plan_text(steps: Iterable[SubPlan]) -> str:
    """A plan as SNAP's prompts show it: `#1. headline`, then a line with the details."""
    return "\n".join(
        f"#{n}. {step.title}" + (f"\n- {step.detail}" if step.detail else "") for n, step in enumerate(steps, 1)
    )


@dataclass(frozen=True, slots=True)
class PartyView:
    """What one of the parties knows when a cell begins, in addition to its memories.

    Attributes:
        segment: of the part of the narrative that the cell is about.
        persona: who it is.
        others: who the others are, as far as it knows, by name.
    """

    segment: str
    persona: str = ""
    others: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell that can be talked through.

    Attributes:
        number: from 1.
        views: what each of the parties knows of it, by name.
        steps: the plan of those who answer; empty where a system makes none.
        present: those of the others who are in it.
        player_steps: the plan of the player's character; empty where no model plays it.
    """

    number: int
    views: Mapping[str, PartyView]
    steps: tuple[SubPlan, ...] = ()
    present: tuple[str, ...] = ()
    player_steps: tuple[SubPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """What one of the parties (`name`) did and said, and the names of those who witnessed it."""

    name: str
    action: str
    message: str
    witnesses: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """`(action) message`."""
        return " ".join(part for part in (f"({self.action})" if self.action else "", self.message) if part)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange: what the player said, and the answer. `str` of it is the answer's words.

    Attributes:
        number: the turn's number, from 1.
        cell: number of the cell, from 1.
        step: number of the sub-plan that it serves; 0 where there is no plan.
        said: the player's line; "" if the character speaks unprompted.
        line: the answer; `None` if the character only ended the cell.
        ends_cell: whether the next turn starts the next cell.
        ends_story: whether the story is over.
        edited: whether its words were changed later.
    """

    number: int
    cell: int
    step: int
    said: str
    line: SpokenLine | None
    ends_cell: bool = False
    ends_story: bool = False
    edited: bool = False

    def lines(self, player: str) -> list[tuple[str, str]]:
        """The speakers and their lines, in order."""
        said = [(player, self.said)] if self.said else []
        return said if self.line is None else [*said, (self.line.name, self.line.text)]

    def __str__(self) -> str:
        return self.line.text if self.line is not None else ""

    def _repr_html_(self) -> Html:
        said = self.lines("You")
        return joined(*(Html(f"<p><b>{as_markup(name)}:</b> {as_markup(words)}</p>") for name, words in said))


@dataclass(frozen=True, slots=True)
class Where:
    """The progress of a conversation, and who is there apart from the player (`present`, `absent`).

    Attributes:
        cell: number of the part that it is in, from 1; 0 before the first.
        cells: of the story; 0 where that is not known.
        step: number of the present point of the plan; 0 where there is none.
        steps: points of the plan.
        headline: of the present point; empty where the player's character does not know of it.
        turns: that stand.
        share: of the story that has been told, 0 to 1; points count alike within their part.
        over: the story has been told to its end.
        present: those of the others who are there.
        absent: the rest of them, who learn of nothing.
        freedom: how far the player may lead away.
    """

    cell: int
    cells: int
    step: int
    steps: int
    headline: str
    turns: int
    share: float
    over: bool = False
    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    freedom: Freedom = "guided"


def freedom_of(text: str) -> Freedom:
    """A freedom by its name.

    Raises:
        UsageError: there is no such one.
    """
    for freedom in FREEDOMS:
        if freedom == text.strip().lower():
            return freedom
    raise UsageError(f"There is no freedom {text!r}. Give one of {', '.join(FREEDOMS)}.")


def witnessed(lines: Sequence[SpokenLine], name: str) -> tuple[SpokenLine, ...]:
    """Those of `lines` at which `name` was there."""
    return tuple(line for line in lines if name in line.witnesses)


def latest_lines(lines: Sequence[SpokenLine], tokens: int) -> tuple[SpokenLine, ...]:
    """The last of `lines`, about `tokens` tokens at most.

    What does not fit is dropped by the half, so that the beginning of what is left stays the same for many turns, and
    engines find it in their cache.
    """
    sizes = [estimate_tokens(line.text) + _MARKS for line in lines]
    begin = held = 0
    for n, size in enumerate(sizes):
        held += size
        if held > tokens:
            while held > tokens // 2 and begin < n:
                held -= sizes[begin]
                begin += 1
    return tuple(lines[begin:])


def dialogue_text(lines: Iterable[SpokenLine]) -> str:
    """Lines as a text that a person edits and `dialogue_of` reads: `Name: (action) message`, a paragraph each."""
    return "\n\n".join(f"{line.name}: {line.text}" for line in lines)


def remark(text: str) -> str:
    """A remark on a dialogue, as a comment that is not a word of it; one line."""
    return f"<!-- {' '.join(text.split()).replace('--', '-')} -->"


def without_remarks(text: str) -> str:
    """A dialogue's text without the remarks on it, which are paragraphs of their own."""
    parts = paragraphs(text)
    return "\n\n".join(part for part in parts if not (part.startswith("<!--") and part.endswith("-->")))


def dialogue_of(text: str, parties: Parties, witnesses: tuple[str, ...] = ()) -> tuple[SpokenLine, ...]:
    """The lines of a dialogue's text at which all `witnesses` were there.

    A paragraph without a name continues with the one before.
    """
    lines: list[SpokenLine] = []
    text = without_remarks(text)
    for part in paragraphs(text):
        before, colon, _ = part.partition(":")
        name = among(before.strip(" *[_"), parties.names) if colon else None
        if name is None and lines:
            last = lines.pop()
            lines.append(SpokenLine(last.name, last.action, f"{last.message} {part}".strip(), witnesses))
        else:
            said = read_said(part, name or parties.others[0])
            lines.append(SpokenLine(name or parties.others[0], said.action, said.message, witnesses))
    return tuple(lines)
