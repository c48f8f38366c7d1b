"""The players of roles: models, people and programs, freely mixed (Agents' Room, section 3 "Agents")."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import Any, Final, Protocol, TypeAlias, cast

from fabula.base.errors import ConfigError, FabulaError, ModelError, UnknownNameError
from fabula.base.files import no_file
from fabula.base.plugins import in_one_line
from fabula.base.remembering import remembered
from fabula.models.base import Capabilities, Model, OnText, Price, Reply, Request, Sampling, Usage
from fabula.models.budget import estimate_tokens
from fabula.models.threads import in_thread, turns_of
from fabula.story import one_line

_FIELDS: Final = "fields"
_AT_ONCE: Final = 8  # calls of a user's own model that does not block
Answer: TypeAlias = Callable[[Request], Awaitable[str]]


def is_person(performer: str) -> bool:
    """Whether a recorded performer is a person."""
    return performer.startswith("person:")


class HandBackError(Exception):
    """A person hands a call, or with `for_good` all later calls too, back to the model that they replace."""

    def __init__(self, *, for_good: bool) -> None:
        super().__init__("The model continues.")
        self.for_good = for_good


@dataclass
class Person:
    """A role played by a person: `answer` shows the request and waits for the text. It is a `Model` like any other.

    With `model`, the person replaces that model: calls have the model's identity, so the replies of either are kept
    when the other takes over. The person may hand single turns or the whole role back (`HandBackError`).
    """

    who: str
    answer: Answer
    model: Model | None = None
    _handed_back: bool = False

    @property
    def name(self) -> str:
        """`person:WHO`."""
        return f"person:{self.who}"

    @property
    def identity(self) -> str:
        """The name, or the identity of the model that the person replaces."""
        return self.name if self.model is None else self.model.identity

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the model that the person replaces, but with only one call at a time."""
        if self.model is None:
            return Capabilities(parallel=1, sampling=frozenset())
        return replace(self.model.capabilities, stands_in=True)

    async def says(self, request: Request, on_text: OnText | None = None) -> Reply | None:
        """The person's text, which costs nothing; `None` if the model must answer.

        Raises:
            ModelError: the person gave no text, or handed the call back but there is no model.
        """
        if not self._handed_back:
            try:
                return _spoken(await self.answer(request), self.name, request.role, on_text)
            except HandBackError as handed:
                if self.model is None:
                    raise ModelError(
                        f"There is no model to play {request.role!r}. Write its text.", model=self.name
                    ) from handed
                self._handed_back = handed.for_good
        if self.model is None:
            raise ModelError(f"No one plays {request.role!r}. Cast the role again.", model=self.name)
        return None

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The person's text, or the model's reply if the person handed the call back.

        A run asks the two separately (`says`), because the model's reply must be paid for.

        Raises:
            ModelError: the person gave no text, or the model did not answer.
        """
        said = await self.says(request, on_text)
        if said is not None or self.model is None:
            return said or Reply("", model=self.name)
        return replace(await self.model.ask(request, on_text), model=self.model.identity)

    async def close(self) -> None:
        """Do nothing: the model is closed by its owner."""


@dataclass(frozen=True)
class Program:
    """A role played by a Python function from the rendered request to text. It is a `Model` like any other.

    `version` distinguishes programs with the same name; the command line gives a digest of the program's file. If
    `counted`, its tokens are estimated and its price is unknown, as for a model. Otherwise it uses no tokens.
    """

    what: str
    function: Callable[[Request], str | Awaitable[str]]
    version: str = ""
    capabilities: Capabilities = field(default_factory=lambda: Capabilities(sampling=frozenset()))
    counted: bool = False

    @property
    def name(self) -> str:
        """`program:WHAT`."""
        return f"program:{self.what}"

    @property
    def identity(self) -> str:
        """The name and, if given, the version, so that a changed program is asked again."""
        return f"{self.name}@{self.version}" if self.version else self.name

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The text that the function returned.

        Raises:
            ModelError: the function failed, or returned no text.
        """
        begun = monotonic()
        try:
            text = self.function(request)
            said = await text if inspect.isawaitable(text) else text
        except FabulaError:
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(
                f"{self.name}, which plays the role {request.role!r}, failed: {in_one_line(error)}. Correct it, or "
                "cast the role again; finished calls are kept.",
                model=self.identity,
            ) from error
        reply = _spoken(said, self.identity, request.role, on_text)
        if not self.counted:
            return reply
        prompt, given = estimate_tokens(as_one_text(request)), estimate_tokens(reply.text)
        took = Usage(prompt=prompt, reply=given, estimated=prompt + given, seconds=monotonic() - begun)
        return replace(reply, usage=took)

    async def close(self) -> None:
        """Nothing is held."""


class OwnModel(Protocol):
    """Your own model: any object with this method, which may be a coroutine function.

    An attribute `name` gives its name, which is otherwise the name of its class. `identity` distinguishes its versions:
    replies of one version are not replayed for another. `parallel` limits the number of simultaneous calls from all
    runs that use the object. If `reply` has a parameter `fields`, it gets the values of the prompt's fields by name: a
    judge finds the stories there and need not extract them from a prompt.
    """

    def reply(self, prompt: str, /) -> str | Awaitable[str]:
        """The reply to a prompt."""


def own_model(own: OwnModel) -> Program:
    """A user's own model as a performer. A `reply` that blocks is called in a thread, one call at a time.

    All runs that use the object together make no more simultaneous calls than its `parallel` allows.
    """
    reply: Callable[..., str | Awaitable[str]] = own.reply
    waits = not inspect.iscoroutinefunction(reply)
    wants_fields = _FIELDS in inspect.signature(reply).parameters
    said_most = getattr(own, "parallel", None)
    most = said_most if type(said_most) is int and said_most > 0 else 1 if waits else _AT_ONCE
    turns = turns_of(own, most)

    async def answer(request: Request) -> str:
        asked = partial(reply, fields=request.fields) if wants_fields else reply

        def in_turn(prompt: str) -> str | Awaitable[str]:
            try:
                return asked(prompt)
            finally:
                turns.give()  # the thread gives it when it ends, also where nobody waits for it any more

        await turns.take()
        if waits:
            said = await in_thread(in_turn, as_one_text(request))
            return await said if inspect.isawaitable(said) else said
        try:
            return await cast("Awaitable[str]", asked(as_one_text(request)))
        finally:
            turns.give()

    name, version = (one_line(str(getattr(own, field, "") or "")) for field in ("name", "identity"))
    able = Capabilities(sampling=frozenset(), parallel=most)
    return Program(name or type(own).__name__, answer, version, able, counted=True)


def as_one_text(request: Request) -> str:
    """A request as one text, for a model that takes only a text; earlier replies in it are marked as such."""
    said = (f"You answered:\n\n{m.content}" if m.role == "assistant" else m.content for m in request.messages)
    return "\n\n".join(said)


def _spoken(text: object, who: str, role: str, on_text: OnText | None) -> Reply:
    if not isinstance(text, str) or not text.strip():
        raise ModelError(f"{who} gave no text for the role {role!r}. Give a text, or cast the role again.", model=who)
    if on_text is not None:
        on_text(text)
    return Reply(text, model=who)


@remembered(256, 200)
def role_key(name: str) -> str:
    """A role's name as it is stored: both "Old Tom" and "old-tom" become "old_tom"."""
    return "_".join(name.replace("-", " ").casefold().split())


@remembered(256)
def drawn(cast: Sampling, asked: Sampling, base: Sampling) -> Sampling:
    """The sampling values of a role: the cast's override the system's, and `base` fills the rest."""
    return cast.over(asked).over(base)


@dataclass(frozen=True)
class Assignment:
    """A role's performer, the sampling values set for it, and its adapter if it has one.

    `sampling` overrides the values of a system. `base` fills in values that both leave open and a small model needs.
    """

    performer: Model
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str | None = None
    base: Sampling = field(default_factory=Sampling)

    @property
    def begins_with_words(self) -> bool:
        """Whether a small model gets the first words of its reply; with an adapter, it has learnt how to begin."""
        return self.performer.capabilities.continues and self.adapter is None


@dataclass(frozen=True)
class Cast:
    """The players of the roles; a role that is not named is played by `default`.

    `known` are a system's roles. If it has an `open_role`, other roles are the story's characters, and that role's
    performer plays the characters who are not cast by name.
    """

    default: Assignment
    roles: Mapping[str, Assignment] = field(default_factory=dict)
    known: tuple[str, ...] = ()
    open_role: str = ""

    @classmethod
    def of(cls, model: Model) -> Cast:
        """One model in every role."""
        return cls(Assignment(model))

    def assignment(self, role: str) -> Assignment:
        """Who plays `role`."""
        key = role_key(role)
        stand_in = self.roles.get(self.open_role, self.default) if key not in self.known else self.default
        return self.roles.get(key, stand_in)

    @property
    def prices(self) -> dict[str, Price]:
        """The prices that performers report themselves, by name of the performer."""
        performers = [assignment.performer for assignment in (self.default, *self.roles.values())]
        said = {performer.name: performer.capabilities.price for performer in performers}
        return {name: price for name, price in said.items() if price is not None}

    def check_cast(self, kind: str, names: Sequence[str]) -> None:
        """Check that everyone cast by name is a role of the system or among `names`.

        Raises:
            UnknownNameError: somebody is neither; `kind` says what was looked for.
        """
        people = {role_key(name) for name in names}
        for role in self.roles:
            if self.open_role and role not in self.known and role not in people:
                raise UnknownNameError(kind, role, [*people, *self.known])

    async def close(self) -> None:
        """Close every performer once."""
        performers = {id(p.performer): p.performer for p in (self.default, *self.roles.values())}
        stood_in_for = [p.model for p in performers.values() if isinstance(p, Person) and p.model is not None]
        for performer in (performers | {id(model): model for model in stood_in_for}).values():
            await performer.close()


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that no file can have
        return False


def load_function(spec: str) -> Callable[..., Any]:
    """The function named by `path/to/file.py:name`. It is the user's own code, and runs without a sandbox.

    Raises:
        ConfigError: there is no such Python file.
        UnknownNameError: the file has no such function.
    """
    file, _, name = spec.rpartition(":")
    path = Path(file)
    form, given = "Write it as path/to/file.py:function.", f"{path.name}:{name}" if path.name else spec
    refused = f"{given[:100]!r} does not name a Python function"
    if not file.endswith(".py"):
        raise ConfigError(f"{refused}: the name of the file must end in .py. {form}")
    if not _is_file(path):
        raise ConfigError(f"{refused}. {no_file(path, form, 'Python file')}")
    module = ModuleType(f"fabula_user_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses in it look for their module there
    try:
        # Its text and not what lies compiled in `__pycache__`: that may come from somebody else, and say otherwise.
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user's own
    except SyntaxError as error:
        raise ConfigError(f"{path} is not valid Python: {error.msg} (line {error.lineno}). Correct it.") from error
    function = getattr(module, name, None)
    if not callable(function):
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownNameError(f"function in {path}", name, public)
    return function  # type: ignore[no-any-return] # callable() has just said so
