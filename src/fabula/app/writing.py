"""Running a system in a project: write, rehearse, update. What the command line and notebooks call."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fabula.base.errors import FabulaError, JournalError, UsageError
from fabula.craft.planning import PROMPTS
from fabula.engine.events import CallRetried, RunFinished, RunStarted
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.engine.run import Hands, Run
from fabula.models.budget import Budget
from fabula.models.prices import Price
from fabula.project.casting import World, open_cast
from fabula.project.folder import Project
from fabula.story import Brief, Story
from fabula.systems import find

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence

    from fabula.engine.dry_run import Rehearsal
    from fabula.engine.events import Event, Kept, Listener
    from fabula.engine.methods import Method
    from fabula.engine.roles import Answer, Cast
    from fabula.engine.run import Mode
    from fabula.project.folder import Change
    from fabula.project.settings import Settings

T = TypeVar("T")


@dataclass(frozen=True)
class Wishes:
    """How a run is to be done, beyond the project's settings.

    Attributes:
        budget_tokens: cap on prompt and reply tokens of this run.
        budget_usd: cap on its cost in US dollars.
        listeners: hear every event.
        approve: see `Hands.approve`.
        person: answers for roles played by a person.
        environ: variables that hold keys and folders.
        frozen: replay only; a call that is not recorded is an error.
    """

    budget_tokens: int | None = None
    budget_usd: float | None = None
    listeners: Sequence[Listener] = ()
    approve: Callable[[Kept], Awaitable[str]] | None = None
    person: Answer | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    frozen: bool = False

    def tell(self, event: Event) -> None:
        """Hand an event to every listener."""
        for listener in self.listeners:
            listener(event)


@dataclass(frozen=True)
class Lent:
    """A cast and a budget that outlive a run; who lends them closes them."""

    cast: Cast
    budget: Budget


@dataclass(frozen=True)
class Outcome:
    """A written story and the budget that knows what this run used by role."""

    story: Story
    budget: Budget


@dataclass(frozen=True)
class Stage:
    """A method with its configuration, prompts and cast, ready to run; the system of the settings, if none is named."""

    settings: Settings
    wishes: Wishes
    other: Method | None = None

    @cached_property  # finding one reads every `paper.toml`
    def method(self) -> Method:
        """What is run."""
        return self.other or find(self.settings.system)

    def hands(self, journal: Journal, mode: Mode, cast: Cast) -> Hands:
        """What all scopes of a run share."""
        overrides = Path(self.settings.prompts) if self.settings.prompts else None
        return Hands(
            journal=journal,
            prompts=Prompts(self.method.prompts, overrides, PROMPTS),
            cast=cast,
            seed=self.settings.seed,
            mode=mode,
            listeners=self.wishes.listeners if mode != "dry" else (),
            budget=Budget(self.wishes.budget_tokens, self.wishes.budget_usd),
            prices={name: Price(p.input, p.output, p.cached) for name, p in self.settings.prices.items()},
        )

    def cast(self) -> Cast:
        """Who plays the system's roles; to be closed by who asked for it."""

        def retried(model: str, attempt: int, wait: float, reason: str) -> None:
            self.wishes.tell(CallRetried(model, attempt, wait, reason))

        world = World(self.wishes.environ, time.monotonic, retried, self.wishes.person)
        return open_cast(self.settings, self.method.roles, world, self.method.open_role)

    async def write(self, brief: Brief, hands: Hands) -> Story:
        """The story; of several errors side by side, the first of ours is raised."""
        system = find(self.settings.system)
        config = system.config(self.settings.preset, self.settings.config)
        try:
            return await system.write(brief, Run(hands), config)
        except BaseExceptionGroup as group:  # calls side by side failed; the first of ours says enough
            raise first_error(group) from group


async def write_in(project: Project, settings: Settings, wishes: Wishes, lent: Lent | None = None) -> Outcome:
    """Write the project's story, replaying what is recorded; edits found in its files are taken over first.

    Raises:
        FabulaError: any of its kinds; all finished calls are kept and the same command goes on from there.
    """
    stage, brief = Stage(settings, wishes), project.brief
    with project.lock(), project.journal as journal:
        project.take_over(journal, project.changes(journal))
        project.begin(journal)
        cast = lent.cast if lent else stage.cast()
        try:
            hands = stage.hands(journal, "frozen" if wishes.frozen else "live", cast)
            hands.on_kept = lambda kept: project.write_kept(journal, kept)
            hands.approve = wishes.approve
            if lent:
                hands.budget = lent.budget
            with recorded_run(stage, hands):
                story = await stage.write(brief, hands)
                project.write_story(journal, story)
        finally:
            if not lent:
                await cast.close()
    return Outcome(story, hands.budget)


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first of fabula's own errors in a group of errors, however deep; else the very first."""
    ours, _ = group.split(FabulaError)
    first = (ours or group).exceptions[0]
    return first_error(first) if isinstance(first, BaseExceptionGroup) else first


@contextmanager
def recorded_run(stage: Stage, hands: Hands) -> Iterator[None]:
    """The record of a run from its start to its end, however it ends; a frozen run leaves none."""
    settings, wishes, journal = stage.settings, stage.wishes, hands.journal
    recorded = hands.mode == "live"
    if recorded:
        told = settings.model_dump(mode="json", exclude_defaults=True)
        journal.start_run(stage.method.name, told | {"prompts_digest": hands.prompts.digest})
    wishes.tell(RunStarted(stage.method.name, stage.method.roles, None))
    error = "stopped"
    try:
        yield
        error = ""
    except FabulaError as problem:
        error = str(problem)
        raise
    finally:
        if recorded:
            with suppress(JournalError) if error else nullcontext():  # a broken journal has been told of already
                journal.end_run(error)
        wishes.tell(RunFinished(stage.method.name, error))


async def rehearse_in(project: Project, settings: Settings, wishes: Wishes) -> tuple[Rehearsal, list[Change]]:
    """What a run would ask and cost now, and the changed files it would take over. Asks nobody, writes nothing."""
    stage = Stage(settings, wishes)
    with project.journal as journal:
        changes = project.changes(journal)
        rehearsal = await _rehearsed(stage, journal, project.brief, {change.path: change.text for change in changes})
    return rehearsal, changes


async def rehearse(brief: Brief, settings: Settings, wishes: Wishes) -> Rehearsal:
    """What writing a new story for `brief` would ask and cost."""
    with Journal() as journal:
        return await _rehearsed(Stage(settings, wishes), journal, brief, {})


async def _rehearsed(stage: Stage, journal: Journal, brief: Brief, pending: Mapping[str, str]) -> Rehearsal:
    cast = stage.cast()
    try:
        hands = stage.hands(journal, "dry", cast)
        hands.pending = pending
        await stage.write(brief, hands)
    finally:
        await cast.close()
    return hands.rehearsal


def write(
    brief: str | Path,
    *,
    folder: str | Path,
    environ: Mapping[str, str] | None = None,
    **settings: Any,  # noqa: ANN401 - fields of `Settings`
) -> Story:
    """Write a story in a project folder and wait for it: the one synchronous entry, for notebooks and scripts.

    Where an event loop runs already, as in a notebook, the story is written in a thread beside it.

    Args:
        brief: what to write: a text, or the path of a file that holds it.
        folder: of the project; made where it does not exist, gone on with where it does.
        environ: variables that hold keys; empty by default.
        **settings: fields of `fabula.toml`, for instance `model="openai-chat:llama"`, `config={"variant": "plan"}`.

    Raises:
        FabulaError: any of its kinds.
    """
    where = Path(folder)
    asked = Brief.read(brief) if isinstance(brief, Path) else Brief.parse(brief)
    if (where / "brief.md").exists():
        project = Project.open(where)
        if project.brief.text != asked.text:
            raise UsageError(f"The project {where} has another brief. Change its brief.md, or name another folder.")
    else:
        project = Project.create(where, asked, settings)
    wishes = Wishes(environ=environ or {})
    return _waited_for(write_in(project, project.settings.with_(settings), wishes)).story


def _waited_for(work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives. An interrupt stops it, also where it runs in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    stop: list[Callable[[], object]] = []

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(1, "fabula") as thread:
        done = thread.submit(asyncio.run, stoppable())
        try:
            return done.result()
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                for end in stop:
                    end()
            raise
