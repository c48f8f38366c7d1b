"""What an author wants of an artefact beside a text of their own, and what is asked while it is made.

Two kinds of revision need no word in a system. A *note* is a wish for a text that is there: it is revised, once for
each note. A *fit* keeps a text whose prompts have changed: while it is made, old replies stand in for those that would
be asked anew, and what they made is revised to fit the new prompts. What was fitted to one change stands for that
change alone: a later one makes the text stale again.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.journal import CallFilter
from fabula.engine.journal.store import LAST
from fabula.models.base import Message
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fabula.engine.journal import Decision, Journal
    from fabula.models.base import Reply, Request

DRAFTS: Final = "drafts"
"""The folder of texts that are revised before they are the story's."""
WISHES: Final = "The author of the story wishes this of the text that you are working on:"
"""What stands behind a prompt before the wishes for the text that it asks for."""
_OWN_TEXTS: Final = ("edit", "rewrite", "continue")  # decisions that give an artefact a text of the author's
_DIGITS: Final = 8
_FITTED: Final = re.compile(rf"/fit-\d+/[0-9a-f]{{{_DIGITS}}}(?=/)")


@dataclass(frozen=True, slots=True)
class Revisions:
    """What an author wants of an artefact: wishes that stand in each prompt for it, and revisions of the finished text.

    `steps` are decisions "revise" (a note) and "fit", in order.
    """

    wishes: tuple[str, ...] = ()
    steps: tuple[Decision, ...] = ()

    @property
    def fits(self) -> tuple[Decision, ...]:
        """The decisions to revise an old text to fit."""
        return tuple(step for step in self.steps if step.kind == "fit")

    @property
    def notes(self) -> tuple[str, ...]:
        """All wishes that hold, oldest first."""
        return (*self.wishes, *(step.text or "" for step in self.steps if step.kind == "revise"))

    def after(self, decision: Decision) -> Revisions:
        """What is wanted after one more decision; a new draw turns the notes so far into wishes."""
        if decision.kind == "retake":
            return Revisions((*self.notes, *([decision.text] if decision.text else [])))
        return Revisions(self.wishes, (*self.steps, decision))


def wanted_of(decisions: Iterable[Decision], path: str, final: str = "") -> tuple[Revisions, Revisions]:
    """What is wanted of the text that was made at a path, and of the author's own text in its place.

    A draft is also what its `final` text is wanted to be, as long as that is not the author's own.
    """
    made, own = Revisions(), Revisions()
    are_own: set[str] = set()
    for decision in decisions:
        if decision.path not in (path, final):
            continue
        if decision.kind in (*_OWN_TEXTS, "unedit"):
            (are_own.discard if decision.kind == "unedit" else are_own.add)(decision.path)
            own = Revisions() if decision.path == path else own
        elif decision.kind in ("retake", "revise", "fit") and (decision.path == path or final not in are_own):
            if path in are_own:
                own = own.after(decision)
            else:
                made = made.after(decision)
    return made, own


@dataclass(frozen=True, slots=True)
class Revision:
    """A finished text that is to be revised, and what for: an author's note, or what has changed above it.

    Attributes:
        path: of the artefact.
        text: as it stands.
        role: who wrote it.
        note: what the author wishes; empty where the text is to fit what has changed.
        earlier: wishes of the author's that the text meets already.
        asked: the prompt that asked for the text; empty where several calls made it.
        before: the prompt that asked for something of the text before, where it is to fit what has changed.
        after: the same prompt now.
        read: reads the text as its artefact is read, and raises where it cannot; `None` for plain text.
        folder: of the artefact's file.
        suffix: of the artefact's file.
    """

    path: str
    text: str = ""
    role: str = ""
    note: str = ""
    earlier: tuple[str, ...] = ()
    asked: tuple[Message, ...] = ()
    before: tuple[Message, ...] = ()
    after: tuple[Message, ...] = ()
    read: Callable[[str], Any] | None = None
    folder: str = "story"
    suffix: str = "md"


@dataclass(frozen=True, slots=True)
class Continuation:
    """A part of the story that is to go on after its end.

    Attributes:
        path: of the part.
        text: as it stands.
        role: who wrote it.
        before: the parts told before it, by path.
        plan: what was planned for the story, by path.
        last: nothing comes after it.
    """

    path: str
    text: str
    role: str
    before: Mapping[str, str]
    plan: Mapping[str, str]
    last: bool


@dataclass
class Making:
    """An artefact in the making: its path, what is wanted of it, and what was asked for it so far.

    `open_fits` are the decisions to revise to fit that may still be used for the first time (`open_fits`).
    `fitting` is the decision to revise its old text, once a call has shown that it applies; `missed` is that call.
    """

    path: str
    wanted: Revisions
    wishes: tuple[str, ...] = ()
    open_fits: frozenset[int] = frozenset()
    heard: list[tuple[Request, Reply]] = field(default_factory=list)
    fitting: Decision | None = None
    missed: Request | None = None
    before: tuple[Message, ...] = ()

    def stand_in(self, request: Request, ordinal: int, journal: Journal) -> Reply | None:
        """The old reply to what would be asked anew, where an old text is to be revised instead; else `None`.

        The first such call decides: its prompt is what the text is fitted to.
        """
        if self.fitting is None and self.missed is None:
            self.missed = request
            self.fitting = self._fit_for(request, journal)
        if self.fitting is None:
            return None
        call = journal.calls.last(request.path, ordinal, self.fitting.target or LAST, prompt=True)
        if request is self.missed and call is not None:
            self.before = tuple(Message(role, text) for role, text in call.messages)
        return None if call is None else call.reply

    def _fit_for(self, request: Request, journal: Journal) -> Decision | None:
        """The newest decision under which the old text was fitted to this very prompt, or the last one if unused."""
        fits = self.wanted.fits
        for fit in reversed(fits):
            if journal.calls.find(CallFilter(under=self.place(fit, request)), most=1):
                return fit
        if not fits or fits[-1].id not in self.open_fits:
            return None
        used = journal.calls.find(CallFilter(under=f"{self.path}/fit-{fits[-1].id}"), most=1)
        return None if used else fits[-1]

    def place(self, fit: Decision, request: Request) -> str:
        """The path at which a text is fitted to a prompt."""
        said = "\0".join(f"{message.role}\0{message.content}" for message in request.messages)
        digest = sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        return f"{self.path}/fit-{fit.id}/{digest}"

    @property
    def main(self) -> Request | None:
        """The call that wrote most of the text; `None` where no free text was asked for."""
        free = [(request, reply) for request, reply in self.heard if request.schema is None and not request.choices]
        return max(free, key=lambda one: count_words(one[1].text))[0] if free else None

    @property
    def role(self) -> str:
        """Who wrote most of what was asked for; empty where nothing was."""
        words: dict[str, int] = {}
        for request, reply in self.heard:
            words[request.role] = words.get(request.role, 0) + count_words(reply.text)
        return self.main.role if self.main else max(words, key=words.__getitem__) if words else ""


def announced_as(path: str) -> str:
    """A call's path as it is announced: nobody knows before which prompt a text will be fitted to."""
    return _FITTED.sub("/fit", path)


_now: ContextVar[Making | None] = ContextVar("making", default=None)


def making_now() -> Making | None:
    """What is being made where this is called, if it is of a kind that anything is wanted of."""
    return _now.get()


def open_fits(journal: Journal) -> frozenset[int]:
    """The decisions to revise a text to fit that hold for what changes next: no run has finished since."""
    finished = max((run["id"] for run in journal.runs() if run["ended"] and not run["error"]), default=0)
    found, is_open = set(), False
    for decision in journal.decisions.find():
        if decision.kind == "fit-all":
            is_open = finished <= (decision.target or 0)
        elif decision.kind == "fit" and is_open:
            found.add(decision.id)
    return frozenset(found)


def add_fits(journal: Journal, paths: Sequence[str]) -> None:
    """Record that the newest texts of artefacts are to be revised to fit, as one decision of a person."""
    asked, runs = len(journal.calls), journal.runs()  # nothing goes, so that their numbers are how many there are
    with journal.transaction():
        journal.decisions.add("*", "fit-all", str(len(paths)), len(runs))
        for path in paths:
            journal.decisions.add(path, "fit", journal.artefacts.newest(path), asked)


@contextmanager
def made(path: str, wanted: Revisions, open_fits: frozenset[int] = frozenset()) -> Iterator[Making]:
    """An artefact in the making; wishes for what it is a part of hold for it too."""
    outer = _now.get()
    making = Making(path, wanted, (*(outer.wishes if outer else ()), *wanted.wishes), open_fits)
    token = _now.set(making)
    try:
        yield making
    finally:
        _now.reset(token)


def notes_of(journal: Journal, path: str) -> tuple[str, ...]:
    """The wishes of the author that hold for the text at a path, oldest first."""
    return notes_among(journal.decisions.find(path), path, journal.decisions.override(path))


def notes_among(decisions: Iterable[Decision], path: str, override: tuple[str, str] | None) -> tuple[str, ...]:
    """As `notes_of`, from the decisions about the text, and what stands in for it (`Journal.override`)."""
    made_, own = wanted_of(decisions, path)
    return own.notes if override is not None and override[1] != "pinned" else made_.notes
