"""The context that all scopes of one run share."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from fabula.base.errors import FabulaError, ReplyError
from fabula.engine.dry_run import DryRun, Lengths
from fabula.engine.journal import CallFilter, Decision, Journal
from fabula.engine.making import DRAFTS, Continuation, Revision, Revisions, open_fits, wanted_of
from fabula.models.budget import Budget

if TYPE_CHECKING:
    from fabula.engine.announced import Announced
    from fabula.engine.events import Event, Kept, Listener
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
    """The least that the rest of a run needs, estimated by a dry run from the record so far.

    The dry run leaves out everything optional, and takes the length of replies from those received so far. Calls in
    progress count as still to come.

    Attributes:
        tokens: the tokens of the rest, at the time of the estimate.
        usd: the cost of the rest in US dollars.
        spent: the tokens that the run had used by then; -1 before the first estimate.
        let_in: the tokens of optional calls made since then.
    """

    tokens: int = 0
    usd: float = 0.0
    spent: int = -1
    let_in: int = 0
    _step: float = field(default=0.0, repr=False)
    _working: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    async def allows(self, context: RunContext, wanted: Usage, part: float = 1.0) -> bool:
        """Whether the caps have room for an optional call in addition to what the rest needs.

        `part` is the share of the usual number of turns made so far; if the budget falls short, the number of turns is
        reduced in proportion.
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
        """Walk over the rest, on its own line."""
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
    """The context that all scopes of one run share.

    Attributes:
        mode: "live" calls models; "frozen" only replays; "dry" calls no model and fills `dry_run`.
        repairs: how often an unreadable typed reply is sent back.
        aids: help for small models (see `fabula.engine.room`): "auto" gives it to models known to be small.
        on_kept: called with each kept artefact before the run continues; the project writes its files there.
        approve: called with each made artefact; returns its text, changed or not, or raises `PausedError`.
        go_on: returns what follows a part of the story that its system cannot continue (`fabula.craft.continuing`).
        revise: returns the revised text of an artefact (`fabula.craft.revising`); without it nothing is revised.
        chosen: the names of the method's settings that were given in addition to its preset.
        language: the tag of the language that roles must answer in, if it is not English.
        voice: the author's style sheet, which every call that writes prose gets (`fabula.engine.run.in_voice`).
        codex: what the author's codex adds to a prompt for prose: by place, text, what is kept (`told`), and tokens.
        lengths: the fewest and the most words asked for, by the place where the text was written.
        shortfalls: what the author asked for and did not get, in sentences.
        announced: what was announced for this run, which asks before it makes more; `None` if nothing was announced.
        pending: texts of edits that are not recorded yet, by path; a dry run takes them into account.
        to_fit: old texts that must be revised to fit what has changed and are not recorded yet, by path.
        inputs: a digest of everything that the run uses except decisions; `None` if no earlier result is used again.
        as_before: whether brief and settings are those of the last finished run, so that a text costs the same again.
        rehearse: does this run's work again in another, dry context, to estimate what the rest needs.
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
    language: str = ""
    voice: str = ""
    codex: Callable[[str, str, Mapping[str, tuple[str, str]], int], str] | None = None
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
        """How long replies were compared with what was expected, according to the journal."""
        return Lengths(self.journal.calls.payments())

    def unless_made_up(self, compute: Callable[[], T], instead: T) -> T:
        """The result of `compute`, or `instead` in an estimate whose texts are made up."""
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
        """Record the tries that an error inside gives up, so that the next run makes them again."""
        try:
            yield
        except ReplyError as error:
            if self.mode == "live":
                for path in _given_up(error):
                    self.journal.calls.give_up(path)
            raise

    def override(self, path: str) -> tuple[str, str] | None:
        """The text that replaces an artefact, if any, and why (pinned, edited, rewritten, continued)."""
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
        """The revisions wanted of the text made at a path, and of the author's own text instead (`wanted_of`)."""
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
        """The decisions to revise a text to fit that apply to the next change, because no run has finished since.

        They include the decisions that a dry run takes into account.
        """
        if self._open_fits is None:
            self._open_fits = open_fits(self.journal) | {0}
        return self._open_fits

    def writer_of(self, path: str) -> str:
        """Who wrote most of the text at a path; if it has no calls, of its draft, or else of the whole project."""
        *above, name = path.split("/")
        for under in (path, "/".join((*above, DRAFTS, name)), ""):
            wrote: dict[str, list[int]] = {}  # characters of free texts, and of all
            for call in self.journal.calls.find(CallFilter(under=under)):
                lengths = wrote.setdefault(call.role, [0, 0])
                lengths[0] += len(call.text) if call.free else 0
                lengths[1] += len(call.text)
            if not under:  # who only read a manuscript is no role of its system
                wrote = {role: lengths for role, lengths in wrote.items() if role in self.cast.known}
            if wrote:
                return max(sorted(wrote), key=lambda role: wrote[role])
        return next(iter(self.cast.known), "")

    def takes(self, path: str) -> int:
        """How often a person asked for another take of an artefact."""
        return sum(one.kind == "retake" for one in self.journal.decisions.find(path))

    def decided(self, path: str) -> str:
        """A digest of the decisions in force about an artefact; empty if there are none."""
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
