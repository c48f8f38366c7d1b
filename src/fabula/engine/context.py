"""What all scopes of one run share."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from fabula.base.errors import FabulaError, ReplyError
from fabula.engine.dry_run import DryRun, Lengths
from fabula.engine.journal import CallFilter, Decision
from fabula.engine.making import DRAFTS, Revisions, open_fits, wanted_of
from fabula.models.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence

    from fabula.engine.announced import Announced
    from fabula.engine.events import Event, Kept, Listener
    from fabula.engine.journal import Journal
    from fabula.engine.making import Continuation, Revision
    from fabula.engine.prompts import SystemPrompts
    from fabula.engine.roles import Cast
    from fabula.models.base import Price, Usage

T = TypeVar("T")
Mode: TypeAlias = Literal["live", "frozen", "dry"]
Aids: TypeAlias = Literal["auto", "on", "off"]


_STEP: Final = 0.1  # of what the rest takes, after which it is worked out anew; more, where more is left
_AMPLE: Final = 2.0  # times what the rest takes
_MARGIN: Final = 1.05  # times what the rest takes, as far as that is known


@dataclass(eq=False)
class Rest:
    """What the rest of a run takes at least, worked out by a dry run over what is recorded so far.

    In it everything that can be left out is left out, and replies are as long as those that came so far suggest. Calls
    that are on their way count as still to come.

    Attributes:
        tokens: of the rest, when it was worked out.
        usd: the same in US dollars.
        spent: tokens that the run had taken by then; -1 before it was worked out.
        let_in: tokens of calls since then that could have been left out.
    """

    tokens: int = 0
    usd: float = 0.0
    spent: int = -1
    let_in: int = 0
    _step: float = field(default=0.0, repr=False)
    _working: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def allows(self, context: RunContext, wanted: Usage, part: float = 1.0) -> bool:
        """Whether the caps have room for a call, which can be left out, beside what the rest needs.

        Of turns of which only `part` of the usual number was had, as many have room as their share of what is left is.
        """
        async with self._working:
            budget = context.budget
            since = budget.spent_tokens - self.spent
            if self.spent < 0 or since > self._step:
                await self._work_out(context)
                since = 0
            tokens = _MARGIN * max(self.tokens - since + self.let_in, 0)
            usd = self.usd * tokens / self.tokens if self.tokens else 0.0
            if part < 1:
                return part < budget.share_left(tokens, usd)
            took = wanted.prompt + wanted.reply
            if budget.share_left(took + tokens, (wanted.cost or 0.0) + usd) < 1:
                return False
            self.let_in += took
            return True

    async def _work_out(self, context: RunContext) -> None:
        """Walk over the rest, on a line of its own."""
        assert context.rehearse is not None  # noqa: S101 - nobody asks otherwise
        found = DryRun(bare=True)
        walk = context.walked(found)
        walk.listeners, walk.on_kept, walk.approve, walk.announced = (), None, None, None
        try:
            await asyncio.create_task(context.rehearse(walk), context=Context())
        except FabulaError:  # the run itself will come to it, and say so
            return
        self.tokens, self.usd = found.walked, sum(call.cost or 0.0 for call in found.planned)
        self.spent, self.let_in = context.budget.spent_tokens, 0
        over = min(context.budget.share_left(_MARGIN * self.tokens, _MARGIN * self.usd), _AMPLE) - 1
        self._step = max(_STEP, over / 2) * self.tokens


@dataclass
class RunContext:
    """What all scopes of one run share.

    Attributes:
        mode: "live" asks models; "frozen" replays only; "dry" asks nobody and fills `dry_run`.
        repairs: how often an unreadable typed reply is sent back.
        aids: help for small models (see `fabula.engine.room`): "auto" gives it to models known to be small.
        on_kept: called with each kept artefact before the run goes on (the project writes its files there).
        approve: called with each made artefact; gives its text back, changed or not, or raises `PausedError`.
        go_on: gives what follows a part of the story that its system cannot continue (`fabula.craft.continuing`).
        revise: gives the revised text of an artefact (`fabula.craft.revising`); without it nothing is revised.
        chosen: names of the method's settings that were given, beside those of its preset.
        lengths: the least and most words asked of the texts that were made, by the place where they were written.
        shortfalls: what the author asked for and did not get, in sentences.
        announced: what was announced of this run; more is asked for first. `None`: nothing was.
        pending: texts of edits that are not recorded yet, by path; a dry run counts with them.
        to_fit: the same for old texts that are to be revised to fit what has changed.
        inputs: digest of all that goes into a run beside decisions; `None`: nothing that was made is given again.
        as_before: brief and settings are those of the last finished run, so that a text takes what it took then.
        rehearse: does this run's work once more in another context, which is dry: so it is known what the rest takes.
    """

    journal: Journal
    prompts: SystemPrompts
    cast: Cast
    seed: int = 1
    mode: Mode = "live"
    listeners: Sequence[Listener] = ()
    budget: Budget = field(default_factory=Budget)
    prices: Mapping[str, Price] = field(default_factory=dict)
    repairs: int = 2
    aids: Aids = "auto"
    on_kept: Callable[[Kept], None] | None = None
    approve: Callable[[Kept], Awaitable[str]] | None = None
    revise: Callable[[Any, Revision], Awaitable[str]] | None = None  # of a `Run`, which is made of this
    go_on: Callable[[Any, Continuation], Awaitable[str]] | None = None  # of a `Run` too
    announced: Announced | None = None
    pending: Mapping[str, str] = field(default_factory=dict)
    to_fit: Mapping[str, str] = field(default_factory=dict)
    chosen: Collection[str] = ()
    lengths: dict[str, tuple[int, int]] = field(default_factory=dict)
    shortfalls: list[str] = field(default_factory=list)
    ordinals: Counter[tuple[str, str]] = field(default_factory=Counter)
    dry_run: DryRun = field(default_factory=DryRun)
    inputs: str | None = None
    as_before: bool = True
    rehearse: Callable[[RunContext], Coroutine[Any, Any, object]] | None = None
    told: dict[str, tuple[str, str]] = field(default_factory=dict)  # folder and text of what was kept so far, by path
    continued: dict[str, tuple[str, bool]] = field(default_factory=dict)  # and texts that went on, and whether known
    noted: dict[str, tuple[str, bool]] = field(default_factory=dict)  # revised texts, by path, and whether known
    distrusted: set[str] = field(default_factory=set)  # names of models whose servers count what cannot be
    rest: Rest = field(default_factory=Rest)
    _decisions: dict[str, list[Decision]] | None = None
    _open_fits: frozenset[int] | None = None
    _overrides: dict[str, tuple[str, str]] | None = None
    _newest: dict[str, str] | None = None
    _decided: dict[str, str] | None = None
    versions: dict[str, tuple[str, bool]] = field(default_factory=dict)  # digest of what was read, and whether known

    @cached_property
    def lengths_given(self) -> Lengths:
        """How long replies were of what was expected, as the journal shows it."""
        return Lengths(self.journal.calls.payments())

    def unless_made_up(self, compute: Callable[[], T], instead: T) -> T:
        """What `compute` gives; `instead` in an estimate, where the texts it would look at are made up."""
        return instead if self.dry_run.planned else compute()

    def emit(self, event: Event) -> None:
        """Hand an event to every listener."""
        for listener in self.listeners:
            listener(event)

    def walked(self, found: DryRun) -> RunContext:
        """A context for a dry run over the same work, which fills `found`."""
        fresh: dict[str, Any] = {"told": {}, "continued": {}, "noted": {}, "versions": {}, "shortfalls": []}
        return replace(self, mode="dry", ordinals=Counter(), dry_run=found, rest=Rest(), **fresh)

    @contextmanager
    def recording_failures(self) -> Iterator[None]:
        """Record which tries an error gives up that ends the work within, so that the next run makes them anew."""
        try:
            yield
        except ReplyError as error:
            if self.mode == "live":
                for path in _given_up(error):
                    self.journal.calls.give_up(path)
            raise

    def override(self, path: str) -> tuple[str, str] | None:
        """What stands in for an artefact, if anything: the text, and why (pinned, edited, rewritten, continued)."""
        if path in self.pending:
            return self.pending[path], "edited"
        if self.mode != "dry":
            return self.journal.decisions.override(path)
        if self._overrides is None:  # nothing is decided while a dry run lasts
            self._overrides = self.journal.decisions.overrides()
        return self._overrides.get(path)

    def newest(self, path: str) -> str | None:
        """The newest text of an artefact."""
        if self.mode != "dry":
            return self.journal.artefacts.newest(path)
        if self._newest is None:
            self._newest = {path: one.text for path, one in self.journal.artefacts.newest_versions().items()}
        return self._newest.get(path)

    def wanted(self, path: str, final: str = "") -> tuple[Revisions, Revisions]:
        """What is wanted of the text made at a path, and of the author's own in its place (`wanted_of`)."""
        if self._decisions is None:
            self._decisions = {}
            for decision in self.journal.decisions.find():
                self._decisions.setdefault(decision.path, []).append(decision)
        of_both = [decision for name in {path, final} for decision in self._decisions.get(name, ())]
        made, own = wanted_of(sorted(of_both, key=lambda decision: decision.id), path, final)
        if path in self.to_fit:
            made = made.after(Decision(0, path, "fit", self.to_fit[path], ""))
        return made, Revisions() if path in self.pending else own

    def open_fits(self) -> frozenset[int]:
        """The decisions to revise a text to fit that hold for what changes next: no run has finished since.

        With those that a dry run counts with.
        """
        if self._open_fits is None:
            self._open_fits = open_fits(self.journal) | {0}
        return self._open_fits

    def writer_of(self, path: str) -> str:
        """Who wrote most of the text at a path: of its draft, where that has the calls; else of all there is."""
        *above, name = path.split("/")
        for under in (path, "/".join((*above, DRAFTS, name)), ""):
            wrote: dict[str, list[int]] = {}  # characters of free texts, and of all
            for call in self.journal.calls.find(CallFilter(under=under)):
                lengths = wrote.setdefault(call.role, [0, 0])
                lengths[0] += len(call.text) if call.free else 0
                lengths[1] += len(call.text)
            if wrote:
                return max(sorted(wrote), key=lambda role: wrote[role])
        return next(iter(self.cast.known), "")

    def takes(self, path: str) -> int:
        """How often a person asked for another take of an artefact."""
        return sum(one.kind == "retake" for one in self.journal.decisions.find(path))

    def decided(self, path: str) -> str:
        """A digest of what stands decided about an artefact; empty where nothing does."""
        if path in self.pending:
            return f"edit {self.pending[path]}"
        if self.mode != "dry":
            return self.journal.decisions.digests(path).get(path, "")
        if self._decided is None:
            self._decided = self.journal.decisions.digests()
        return self._decided.get(path, "") + (f"fit {self.to_fit[path]}" if path in self.to_fit else "")


def _given_up(error: ReplyError) -> set[str]:
    """Where tries were given up by an error, and by those that were raised side by side with it."""
    beside = error.__cause__.exceptions if isinstance(error.__cause__, BaseExceptionGroup) else ()
    return {one.at for one in (error, *beside) if isinstance(one, ReplyError) and one.at}
