"""The state of a long story after each of its chapters: what happened, who is where, what is known, what is open; ours.

A book of hundreds of pages fits into no prompt. So the model that writes it notes, after each chapter, what the
chapters after it have to hold to: one typed call. The notes are added to those of the chapters before, and kept as
`so-far/chapter-N.md`, which the author can read and edit. Nothing noted is lost or summed up again. Who writes the next
chapter is shown a part of the notes that does not grow with the book: threads that are due, and then what is most like
the chapter's plan, whose names count most.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field

from fabula.base.remembering import remembered
from fabula.craft.packing import ELLIPSIS, around
from fabula.models.budget import estimate_tokens
from fabula.story import one_line, plain
from fabula.story.people import present_in
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

_HAPPENED: Final = 0.3  # of the tokens of what is shown: what happened, chapter by chapter
_SOON: Final = 2  # chapters before its time that a thread is shown whatever a chapter tells
_MOST_DUE: Final = 12  # threads that are shown for their time alone: those due about now
_DUE, _PLACE, _NEW = 4.0, 0.5, 0.2  # beside 1 for the rarest name: a thread's due, where somebody is, the newest note
_TITLE: Final = re.compile(r"# The story after chapter (\d{1,5})\b")
_CHAPTER: Final = re.compile(
    r"\(chapter (\d{1,5})(?:, due by chapter (\d{1,5}))?(?:, settled in chapter (\d{1,5}))?\)\Z"
)
_ABOUT: Final = ": "


class PlaceReply(BaseModel):
    """Where somebody or something is."""

    name: str = Field(description="Their name, or that of the thing, as the story usually calls it.")
    where: str = Field(description="Where they are at the end, in what state and with what, in one short sentence.")


class KnownReply(BaseModel):
    """Something that holds from here on."""

    about: list[str] = Field(description="The names of the people, places and things that it is about.")
    holds: str = Field(description="What holds, in one sentence that can be understood by itself.")


class ThreadReply(BaseModel):
    """Something that the reader now waits for."""

    about: list[str] = Field(description="The names of the people, places and things that it is about.")
    thread: str = Field(description="The question, promise, threat or plan, in one sentence.")
    due: int = Field(
        default=0,
        ge=0,
        description="The number of the chapter by which it is to be answered, by the plan or the text; 0 if they do "
        "not say.",
    )


class SoFarReply(BaseModel):
    """What later chapters have to hold to."""

    happens: str = Field(description="When and where it is, what happens and what it changes, in at most 60 words.")
    places: list[PlaceReply] = Field(
        description="Each person and thing of weight that came, left, was moved or changed."
    )
    known: list[KnownReply] = Field(
        description="What somebody learned, hides or believes, and who does not know it; looks, ages, dates, sums, "
        "names and rules; a striking phrase or image that is used up.",
    )
    opened: list[ThreadReply] = Field(description="What was opened here and is not answered here.")
    settled: list[int] = Field(default=[], description="The numbers of the open threads that were answered here.")
    differs: list[str] = Field(
        default=[],
        description="What happened otherwise than planned, as far as later chapters rest on it. Usually nothing.",
    )


@dataclass(frozen=True, slots=True)
class Noted:
    """A line of the state: what it says, of whom, since which chapter, and until when.

    Attributes:
        text: what it says.
        about: the names of those whom it is about.
        chapter: the number of the chapter that told it; 0 if it is not known.
        due: for a thread, the chapter by which it is to be answered; 0 if nothing says.
        settled: the chapter that answered it.
    """

    text: str
    about: tuple[str, ...] = ()
    chapter: int = 0
    due: int = 0
    settled: int = 0

    @property
    def line(self) -> str:
        """As it stands in the file and in prompts."""
        since = f" (chapter {self.chapter}" if self.chapter else ""
        since += f", due by chapter {self.due}" if since and self.due else ""
        since += f", settled in chapter {self.settled}" if since and self.settled else ""
        return f"{', '.join(self.about)}{_ABOUT if self.about else ''}{self.text}{since and since + ')'}"

    @classmethod
    @remembered(8192, 1000)  # each chapter's state has the lines of the one before
    def read(cls, line: str, *, named: bool = True) -> Noted:
        """What `line` gave; without names where the kind of line has none."""
        text, found = one_line(line), _CHAPTER.search(line.rstrip())
        numbers = [int(number or 0) for number in found.groups()] if found else [0, 0, 0]
        if found:
            text = text[: text.rindex("(chapter ")].rstrip()
        names, between, said = text.partition(_ABOUT) if named else ("", "", text)
        about = tuple(one.strip() for one in names.split(",") if one.strip()) if between else ()
        return cls(said if between or not named else text, about, *numbers)


@dataclass(frozen=True, slots=True)
class SoFar:
    """The state of a story after one of its chapters.

    Attributes:
        chapter: the number of the chapter after which it holds; 0 before the first.
        happened: what happened, a line for each chapter that was noted.
        where: where people and things are.
        known: what is known and holds.
        threads: what is open.
        settled: what was open once.
        differs: what happened otherwise than planned.
    """

    chapter: int = 0
    happened: tuple[Noted, ...] = ()
    where: tuple[Noted, ...] = ()
    known: tuple[Noted, ...] = ()
    threads: tuple[Noted, ...] = ()
    settled: tuple[Noted, ...] = ()
    differs: tuple[Noted, ...] = ()

    def after(self, number: int, title: str, reply: SoFarReply, shown: Sequence[Noted]) -> SoFar:
        """The state after one chapter more; `shown` are the open threads that its reader could call settled."""
        places = (Noted(_said(one.where), _names([one.name]), number) for one in reply.places)
        moved = {one.about[0].casefold(): one for one in places if one.about and one.text}
        known = (Noted(_said(one.holds), _names(one.about), number) for one in reply.known)
        opened = (Noted(_said(one.thread), _names(one.about), number, one.due) for one in reply.opened)
        done = [shown[n - 1] for n in dict.fromkeys(reply.settled) if 0 < n <= len(shown)]
        return SoFar(
            number,
            (*self.happened, Noted(_said(f"{title}{_ABOUT}{reply.happens}"), (), number)),
            (*(one for one in self.where if "".join(one.about[:1]).casefold() not in moved), *moved.values()),
            (*self.known, *(one for one in known if one.text)),
            (*(one for one in self.threads if one not in done), *(one for one in opened if one.text)),
            (*self.settled, *(replace(one, settled=number) for one in done)),
            (*self.differs, *(Noted(said, (), number) for one in reply.differs if (said := _said(one)))),
        )

    def overdue(self, number: int) -> tuple[Noted, ...]:
        """The open threads that were to be answered before a chapter."""
        return tuple(one for one in self.threads if 0 < one.due < number)

    @property
    def text(self) -> str:
        """As `read_so_far` reads it back."""
        shown = [f"# The story after chapter {self.chapter}"]
        for heading, name in _SECTIONS.items():
            lines: tuple[Noted, ...] = getattr(self, name)
            if lines:
                shown.append(f"## {heading}\n\n" + "\n".join(f"- {one.line}" for one in lines))
        return "\n\n".join(shown)

    def shown(self, about: str, number: int, tokens: int) -> Shown:
        """What of it the writer of a chapter is shown: threads that are due, then what is most like the chapter.

        Args:
            about: what the chapter tells.
            number: its number.
            tokens: about as many as all of it may have.
        """
        happened = [one.text for one in self.happened]
        short = [sentences(one)[0] if one else "" for one in happened]
        told = around(happened, short, len(happened) - 1, int(tokens * _HAPPENED)) if happened else ()
        tokens -= sum(estimate_tokens(line) + 2 for line in told)
        notes = [*self.threads, *self.where, *self.known]
        kept: set[int] = set()
        for at in self._by_use(notes, about, number):
            takes = estimate_tokens(notes[at].line) + 2
            if takes <= tokens:
                tokens -= takes
                kept.add(at)
        places = len(self.threads), len(self.threads) + len(self.where)
        lines = [(at, notes[at].line) for at in sorted(kept)]
        return Shown(
            tuple(line for line in told if line != ELLIPSIS),
            tuple(line for at, line in lines if places[0] <= at < places[1]),
            tuple(line for at, line in lines if at >= places[1]),
            tuple(line for at, line in lines if at < places[0]),
        )

    def _by_use(self, notes: Sequence[Noted], about: str, number: int) -> list[int]:
        """The places of the notes, from the one that is needed most."""
        from fabula.craft.memory import hashed  # noqa: PLC0415 - takes numpy, which shorter stories need not

        if not notes:
            return []
        now = sorted((abs(number - one.due), at) for at, one in enumerate(notes) if 0 < one.due < number + _SOON)
        due = {at for _, at in now[:_MOST_DUE]}
        asked, *like = hashed([about, *(one.text for one in notes)])
        weights = _weights(notes, about)
        worth = [
            _DUE * (at in due)
            + _PLACE * (len(self.threads) <= at < len(self.threads) + len(self.where))
            + sum(weights.get(name, 0.0) for name in one.about) / max(len(one.about), 1) ** 0.5
            + float(like[at] @ asked)
            + _NEW * one.chapter / max(self.chapter, 1)
            for at, one in enumerate(notes)
        ]
        return sorted(range(len(notes)), key=lambda at: (-round(worth[at], 6), -at))


_SECTIONS: Final = {
    "What happened": "happened",
    "Where people and things are": "where",
    "What is known": "known",
    "Open threads": "threads",
    "Settled": "settled",
    "Otherwise than planned": "differs",
}
_NAMED: Final = ("where", "known", "threads", "settled")


@dataclass(frozen=True, slots=True)
class Shown:
    """The lines of a state that a prompt has room for."""

    happened: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.happened, *self.where, *self.known, *self.threads)


def read_so_far(text: str) -> SoFar:
    """The state in a text: a list below each of its headings; what stands elsewhere is the author's own note."""
    found: dict[str, list[Noted]] = {name: [] for name in _SECTIONS.values()}
    title, name = None, ""
    for line in text.splitlines():
        title = title or _TITLE.match(line)
        if line.startswith("#"):
            name = _SECTIONS.get(one_line(line.lstrip("#")), "")
        elif name and line.startswith(("- ", "* ")) and line[2:].strip():
            found[name].append(Noted.read(line[2:], named=name in _NAMED))
    lines: Any = {name: tuple(some) for name, some in found.items()}
    return SoFar(chapter=int(title[1]) if title else 0, **lines)


def few_enough(threads: Sequence[Noted], text: str, tokens: int) -> list[Noted]:
    """The open threads that a prompt has room for, in their order: those most like a text."""
    state = SoFar(threads=tuple(threads))
    kept: set[int] = set()
    for at in state._by_use(threads, text, 0):  # noqa: SLF001 - of this module
        takes = estimate_tokens(threads[at].line) + 4
        if takes <= tokens:
            tokens -= takes
            kept.add(at)
    return [threads[at] for at in sorted(kept)]


def _weights(notes: Sequence[Noted], query: str) -> dict[str, float]:
    """For each name in `query`, 2 if one note in all is about it, and less the more there are; at least 1."""
    counts = Counter(name for note in notes for name in set(note.about))
    if not counts:
        return {}
    most = log(1 + counts.total())
    return {name: 1 + log((1 + counts.total()) / counts[name]) / most for name in present_in(counts, query)}


def _names(said: Sequence[str]) -> tuple[str, ...]:
    """Names without the marks that part them in the file."""
    return tuple(name for one in said if (name := _said(re.sub(r"[,:()]", " ", one))))


def _said(text: str) -> str:
    return one_line(plain(text))
