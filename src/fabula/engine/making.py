"""The author's wishes for an artefact, and the calls that are made for it.

Two kinds of revision need no code in a system. A *note* is a wish for an existing text, which is revised once for each
note. A *fit* keeps a text whose prompts have changed: while the text is made, the old replies are used instead of new
ones, and the result is revised to fit the new prompts. A fit holds only for one change. A later change makes the text
stale again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from fabula.engine.journal import CallFilter, Decision, Journal
from fabula.engine.journal.store import LAST
from fabula.models.base import Message, Reply, Request
from fabula.story import count_words

DRAFTS: Final = "drafts"
"""The folder of texts that are revised before they become part of the story."""
WISHES: Final = "The author of the story wishes this of the text that you are working on:"
"""The words between a prompt and the wishes for the text that it asks for."""
_OWN_TEXTS: Final = ("edit", "rewrite", "continue")  # decisions that give an artefact a text of the author's
_DIGITS: Final = 8
_FITTED: Final = re.compile(rf"/fit-\d+/[0-9a-f]{{{_DIGITS}}}(?=/)")


@dataclass(frozen=True, slots=True)
class Revisions:
    """An author's wishes for an artefact: those added to each prompt for it, and revisions of the finished text.

    `steps` are the decisions "revise" (a note) and "fit", in order.
    """

    wishes: tuple[str, ...] = ()
    steps: tuple[Decision, ...] = ()

    @property
    def fits(self) -> tuple[Decision, ...]:
        """The decisions to revise an old text to fit."""
        return tuple(step for step in self.steps if step.kind == "fit")

    @property
    def notes(self) -> tuple[str, ...]:
        """All wishes in force, oldest first."""
        return (*self.wishes, *(step.text or "" for step in self.steps if step.kind == "revise"))

    def after(self, decision: Decision) -> Revisions:
        """The wishes after one more decision; a retake turns the notes so far into wishes."""
        if decision.kind == "retake":
            return Revisions((*self.notes, *([decision.text] if decision.text else [])))
        return Revisions(self.wishes, (*self.steps, decision))


def wanted_of(decisions: Iterable[Decision], path: str, final: str = "") -> tuple[Revisions, Revisions]:
    """The wishes for the text made at a path, and those for the author's own text in its place.

    The wishes for the `final` text also hold for its draft, as long as the final text is not the author's own.
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
    """A finished text that must be revised, and the reason: an author's note, or a change before it.

    Attributes:
        path: the path of the artefact.
        text: the present text.
        role: the role that wrote it.
        note: what the author wishes; empty if the text must fit what has changed.
        earlier: the author's wishes that the text already meets.
        asked: the prompt that asked for the text; empty if several calls made it.
        before: the earlier prompt for the text, if the text must fit what has changed.
        after: the same prompt as it is now.
        read: reads the text like its artefact, and raises an error if it cannot; `None` for plain text.
        folder: the folder of the artefact's file.
        suffix: the suffix of the artefact's file.
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
    """A part of the story that must continue after its end.

    Attributes:
        path: the path of the part.
        text: the present text.
        role: the role that wrote it.
        before: the parts told before it, by path.
        plan: the plans of the story, by path.
        last: whether it is the last part.
    """

    path: str
    text: str
    role: str
    before: Mapping[str, str]
    plan: Mapping[str, str]
    last: bool


@dataclass
class Making:
    """An artefact in the making: its path, the wishes for it, and the calls made for it so far.

    `open_fits` are the decisions to revise to fit that may still be used for the first time (see the function
    `open_fits`). `fitting` is the decision to revise its old text, once a call has shown that it applies; `missed` is
    that call.
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
        """The old reply to a call that would be made again, if an old text must be revised instead; otherwise `None`.

        The first such call decides: the text is fitted to its prompt.
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
        """The call that wrote most of the text; `None` if no free text was asked for."""
        free = [(request, reply) for request, reply in self.heard if request.schema is None and not request.choices]
        return max(free, key=lambda one: count_words(one[1].text))[0] if free else None

    @property
    def role(self) -> str:
        """The role that wrote most of the replies; empty if there were none."""
        words: dict[str, int] = {}
        for request, reply in self.heard:
            words[request.role] = words.get(request.role, 0) + count_words(reply.text)
        return self.main.role if self.main else max(words, key=words.__getitem__) if words else ""


def announced_as(path: str) -> str:
    """A call's path for an announcement, when the prompt that a text will be fitted to is not known yet."""
    return _FITTED.sub("/fit", path)


_now: ContextVar[Making | None] = ContextVar("making", default=None)


def making_now() -> Making | None:
    """The artefact that is being made here, if authors can have wishes for its kind."""
    return _now.get()


def open_fits(journal: Journal) -> frozenset[int]:
    """The decisions to revise a text to fit that apply to the next change, because no run has finished since."""
    finished = max((run["id"] for run in journal.runs() if run["ended"] and not run["error"]), default=0)
    found, is_open = set(), False
    for decision in journal.decisions.find():
        if decision.kind == "fit-all":
            is_open = finished <= (decision.target or 0)
        elif decision.kind == "fit" and is_open:
            found.add(decision.id)
    return frozenset(found)


def add_fits(journal: Journal, paths: Sequence[str]) -> None:
    """Record that the newest texts of artefacts must be revised to fit, as one decision of a person."""
    asked, runs = len(journal.calls), journal.runs()  # nothing goes, so that their numbers are how many there are
    with journal.transaction():
        journal.decisions.add("*", "fit-all", str(len(paths)), len(runs))
        for path in paths:
            journal.decisions.add(path, "fit", journal.artefacts.newest(path), asked)


@contextmanager
def made(path: str, wanted: Revisions, open_fits: frozenset[int] = frozenset()) -> Iterator[Making]:
    """An artefact in the making; wishes for an artefact around it also apply to it."""
    outer = _now.get()
    making = Making(path, wanted, (*(outer.wishes if outer else ()), *wanted.wishes), open_fits)
    token = _now.set(making)
    try:
        yield making
    finally:
        _now.reset(token)


def notes_of(journal: Journal, path: str) -> tuple[str, ...]:
    """The author's wishes in force for the text at a path, oldest first."""
    return notes_among(journal.decisions.find(path), path, journal.decisions.override(path))


def notes_among(decisions: Iterable[Decision], path: str, override: tuple[str, str] | None) -> tuple[str, ...]:
    """The result of `notes_of`, from the decisions about the text and its replacement (`Decisions.override`)."""
    made_, own = wanted_of(decisions, path)
    return own.notes if override is not None and override[1] != "pinned" else made_.notes
