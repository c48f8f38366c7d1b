"""What the verbs of the Python API have in common: models, environment, listeners, and waiting for results."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeAlias, TypedDict, TypeVar, cast

from fabula.app.bills import Bill
from fabula.app.item_files import Selection
from fabula.app.writing import Options
from fabula.base.errors import ConfigError, UnknownNameError, UsageError
from fabula.engine.events import Event, Noted
from fabula.engine.roles import OwnModel, own_model, role_key
from fabula.models.budget import Budget
from fabula.project.casting import PROGRAM, full_name
from fabula.project.default_model import default_model
from fabula.project.settings import Settings, merged

if TYPE_CHECKING:
    from fabula.models.base import Model


P = ParamSpec("P")
T = TypeVar("T")

Performer: TypeAlias = "str | Model | OwnModel"
"""A model: its name, an open model, or a custom object."""
Performers: TypeAlias = "Performer | Mapping[str, Performer]"
"""A model for all roles, or a model for each role; "*" stands for all other roles."""
OnEvent: TypeAlias = "Callable[[Event], object]"
EVERYBODY: Final = "*"


class CallOptions(TypedDict, total=False):
    """Models, listeners and budgets of a call.

    Attributes:
        model: a name, an opened model, an object with a method `reply(prompt)`, or a mapping from roles to these, in
            which "*" stands for all other roles. The default is the project's model, that of FABULA_MODEL, the one
            used last, or the best of fabula's own models that is installed; the result says which.
        on_event: called with every event (`fabula.events`), for instance each piece of text as it arrives.
        budget_tokens: the most tokens to use.
        budget_usd: the most US dollars to spend.
        environ: variables that hold keys and folders; the default is the environment of the process.
    """

    model: Performers | None
    on_event: OnEvent | None
    budget_tokens: int | None
    budget_usd: float | None
    environ: Mapping[str, str] | None


class MethodSettings(TypedDict, total=False):
    """How an evaluator works, under the names in `fabula.toml`; `config` holds the evaluator's own settings."""

    preset: Literal["faithful", "improved"]
    seed: int
    aids: Literal["auto", "on", "off"]
    prompts: str | Path
    config: Mapping[str, Any]
    sampling: Mapping[str, Any]
    roles: Mapping[str, Mapping[str, Any]]
    adapters: Mapping[str, str]
    models: Mapping[str, Mapping[str, Any]]
    prices: Mapping[str, Mapping[str, float]]


class SystemSettings(MethodSettings, total=False):
    """How a writing system works, under the names in `fabula.toml`."""

    system: str
    budget: Mapping[str, float]
    author: Mapping[str, str]


class MethodOptions(CallOptions, MethodSettings, total=False):
    """The options of a verb that runs an evaluator."""


class SystemOptions(CallOptions, SystemSettings, total=False):
    """The options of a verb that runs a writing system."""


@dataclass(frozen=True)
class Caller:
    """The caller of a verb, with its settings and models.

    Attributes:
        changes: settings that the caller gives, as tables.
        models: the models that were passed, by their names in the settings.
        environ: variables that hold keys, folders and the default model.
        on_event: receives every event.
        budget: what the verb may spend.
        bill: what the verb costs.
    """

    changes: dict[str, Any]
    models: Mapping[str, Model]
    environ: Mapping[str, str]
    on_event: OnEvent | None = None
    budget: Budget = field(default_factory=Budget)
    bill: Bill = field(default_factory=Bill)

    @classmethod
    def of(cls, given: MethodOptions, words: int | str | None = None) -> Caller:
        """The caller of a verb with options and settings; `words` is the length of the story.

        Raises:
            UsageError: an object given as a model is not a model.
            UnknownNameError: a setting or a model is unknown.
            ConfigError: a setting is wrong.
        """
        how = {name: given.get(name) for name in CallOptions.__annotations__}
        settings: dict[str, Any] = {name: value for name, value in given.items() if name not in how}
        config = table_in(settings, "config")
        if words is not None:
            settings["config"] = {**config, "words": str(words)}
        cast, models = _cast_of(given.get("model"))
        for name in settings:
            if name not in Settings.model_fields:
                raise UnknownNameError("setting", name, Settings.model_fields)
        tables = table_in(settings, "roles")
        roles = {name: {**table_in(tables, name), **cast["roles"].pop(name, {})} for name in tables}
        changes: dict[str, Any] = {**settings, **cast, "roles": {**roles, **cast["roles"]}}
        if "prompts" in changes:
            changes["prompts"] = str(changes["prompts"])
        known = Settings.of(changes, "the call").at(Path.cwd()).model_dump(exclude_unset=True)
        environ, budget = given.get("environ"), Budget(given.get("budget_tokens"), given.get("budget_usd"))
        return cls(known, models, os.environ if environ is None else environ, given.get("on_event"), budget)

    @property
    def selection(self) -> Selection:
        """A selection of all stories; data sets are in the folder that FABULA_DATA names."""
        data = self.environ.get("FABULA_DATA")
        return Selection(Path(data) if data else None)

    @property
    def options(self) -> Options:
        """The options of a run."""
        return Options(
            whole=self.budget,
            listeners=(self.bill,) if self.on_event is None else (self.bill, self._tell),
            environ=self.environ,
            models=self.models,
        )

    def _tell(self, event: Event) -> None:
        if self.on_event is not None:
            self.on_event(event)

    def wanted(self, *, has_model: bool) -> tuple[dict[str, Any], str]:
        """The settings that the caller gives, with the default model if neither caller nor project names one.

        The second value says why that model was chosen, which the listener is told too; it is empty if none was
        chosen.
        """
        chosen = None if has_model or "model" in self.changes else default_model(self.environ)
        if chosen is None:
            return self.changes, ""
        self._tell(Noted("", f"The model is {chosen.name}, {chosen.why}."))
        return merged(chosen.changes, self.changes), chosen.why

    def finished(self, settings: Settings) -> Bill:
        """What the verb cost; the model in its settings is remembered as the one used last."""
        self.bill.remember(settings)
        return self.bill


def table_in(settings: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The table with that name among settings; empty if there is none.

    Raises:
        ConfigError: the value with that name is not a table.
    """
    found = settings.get(name, {})
    if not isinstance(found, Mapping):
        raise ConfigError(f"{name}={found!r} is not a mapping. Pass names with their values, such as {name}={{...}}.")
    return found


def _cast_of(model: Performers | None) -> tuple[dict[str, Any], dict[str, Model]]:
    """The tables that assign the models that a caller names or passes, and the models that were passed."""
    models: dict[str, Model] = {}
    changes: dict[str, Any] = {"roles": {}}
    named = {} if model is None else model if isinstance(model, Mapping) else {EVERYBODY: model}
    for role, performer in named.items():
        name = _named(performer, models)
        if role == EVERYBODY:
            changes["model"] = name
        else:
            changes["roles"][role_key(role)] = {"model": name, "play": ""}
    return changes, models


def _named(performer: Performer, models: dict[str, Model]) -> str:
    """The name of a model in settings; a model that was passed is added to `models`."""
    if isinstance(performer, str):
        return full_name(performer)
    if inspect.isclass(performer):
        raise UsageError(f"{performer.__name__} is a class. Pass an instance of it: model={performer.__name__}().")
    opened: Model
    if hasattr(performer, "ask") and hasattr(performer, "capabilities"):
        opened = cast("Model", performer)
    elif callable(getattr(performer, "reply", None)):
        opened = own_model(performer)
    else:
        raise UsageError(
            f'{type(performer).__name__!r} is not a model. Pass a name such as "ollama:llama3.1", or an object with a '
            "method reply(prompt) that returns a text."
        )
    try:
        name = full_name(opened.name)
    except UnknownNameError:
        name = f"{PROGRAM}:{opened.identity}"
    else:
        name = opened.identity if name.startswith(f"{PROGRAM}:") else name
    if models.setdefault(name, opened) is not opened:
        raise UsageError(f"Two models have the name {name!r}. Give one of them a different `name` attribute.")
    return name


# waiting --------------------------------------------------------------------------------------------------------------


def waiting(verb: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """The synchronous form of a verb: it waits for the result of the `_async` verb with the same name.

    If an event loop is already running, as in a notebook, the work is done in another thread.
    """

    @wraps(verb)
    def waited(*args: P.args, **kwargs: P.kwargs) -> T:
        return waited_for(verb(*args, **kwargs))

    waited.__name__ = verb.__name__.removesuffix("_async")
    waited.__qualname__ = waited.__name__
    return waited


def waited_for(work: Coroutine[Any, Any, T], run: Callable[[Coroutine[Any, Any, T]], T] = asyncio.run) -> T:
    """The result of `work` when `run` runs it. An interrupt stops the work, even in its own thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run(work)
    stop: list[Callable[[], object]] = []

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        return await task

    with ThreadPoolExecutor(1, "fabula") as thread:
        done = thread.submit(run, stoppable())
        try:
            return done.result()
        except KeyboardInterrupt:
            with suppress(RuntimeError):  # the loop has ended meanwhile
                for end in stop:
                    end()
            raise
