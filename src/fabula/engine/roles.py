"""Who plays a role: a model, a person or a program, freely mixed (Agents' Room, section 3 "Agents")."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, cast

from fabula.base.errors import ConfigError, FabulaError, ModelError, UnknownNameError
from fabula.base.plugins import in_one_line
from fabula.base.remembering import remembered
from fabula.models.base import Capabilities, Model, Reply, Request, Sampling, Usage
from fabula.models.budget import estimate_tokens
from fabula.models.threads import in_thread, turns_of
from fabula.story import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.models.base import OnText, Price

_FIELDS: Final = "fields"
_AT_ONCE: Final = 8  # calls of a user's own model that does not block
Answer: TypeAlias = Callable[[Request], Awaitable[str]]


def is_person(performer: str) -> bool:
    """Whether a recorded performer is a person."""
    return performer.startswith("person:")


class HandBackError(Exception):
    """A person gives a call, or with `for_good` all that follow, to the model they stand in for."""

    def __init__(self, *, for_good: bool) -> None:
        super().__init__("The model plays on.")
        self.for_good = for_good


@dataclass
class Person:
    """A role played by a person: `answer` shows the request and waits for the text. A `Model` like any other.

    With `model`, the person stands in for it: calls have the model's identity, so what either of the two has said is
    kept when the other takes over, and the person may hand single turns or the whole role back (`HandBackError`).
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
        """The name, or the identity of the model that the person stands in for."""
        return self.name if self.model is None else self.model.identity

    @property
    def capabilities(self) -> Capabilities:
        """One call at a time; otherwise those of the model that the person stands in for."""
        if self.model is None:
            return Capabilities(parallel=1, sampling=frozenset())
        return replace(self.model.capabilities, stands_in=True)

    async def says(self, request: Request, on_text: OnText | None = None) -> Reply | None:
        """What the person wrote, which costs nothing; `None` where the model is to answer.

        Raises:
            ModelError: the person gave no text, or handed back to nobody.
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
            raise ModelError(f"Nobody plays {request.role!r}. Cast the role anew.", model=self.name)
        return None

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What the person wrote, or what the model did where the person handed back.

        A run asks the two apart (`says`), because the model's answer has to be paid for.

        Raises:
            ModelError: the person gave no text, or the model did not answer.
        """
        said = await self.says(request, on_text)
        if said is not None or self.model is None:
            return said or Reply("", model=self.name)
        return replace(await self.model.ask(request, on_text), model=self.model.identity)

    async def close(self) -> None:
        """Nothing is held; the model is closed by who opened it."""


@dataclass(frozen=True)
class Program:
    """A role played by a Python function from the rendered request to text. A `Model` like any other.

    `version` distinguishes programs of one name; the command line gives a digest of the program's file. Where
    `counted`, its tokens are estimated and its price is not known, as of a model; else it takes nothing.
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
        """The name and, where it is given, the version: a changed program is asked anew."""
        return f"{self.name}@{self.version}" if self.version else self.name

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """What the function returned.

        Raises:
            ModelError: it failed, or returned no text.
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
                "cast the role anew; finished calls are kept.",
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
    """A model of a user's own: any object with this one method, which may also be a coroutine function.

    An attribute `name` is what it is called, else its class is; `identity` tells versions of it apart: what one has
    said is not replayed for another. `parallel` says how often it may be asked at once, by all runs that have it. A
    `reply` with a parameter `fields` is given what the prompt's fields are filled with, by name: a judge has the
    stories there, and need not read them off a prompt.
    """

    def reply(self, prompt: str, /) -> str | Awaitable[str]:
        """What it answers to a prompt."""


def own_model(own: OwnModel) -> Program:
    """A user's own model as a performer. A `reply` that blocks is called in a thread, one call at a time.

    However many runs have the object, it is asked no more often at once than its `parallel` says.
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
    """A request as the one text that is all a model takes; what was answered before in it is said to be that."""
    said = (f"You answered:\n\n{m.content}" if m.role == "assistant" else m.content for m in request.messages)
    return "\n\n".join(said)


def _spoken(text: object, who: str, role: str, on_text: OnText | None) -> Reply:
    if not isinstance(text, str) or not text.strip():
        raise ModelError(
            f"{who} gave no text for the role {role!r}. Answer with some, or cast the role anew.", model=who
        )
    if on_text is not None:
        on_text(text)
    return Reply(text, model=who)


@remembered(256, 200)
def role_key(name: str) -> str:
    """A role's name as it is stored: "Old Tom" and "old-tom" are "old_tom"."""
    return "_".join(name.replace("-", " ").casefold().split())


@remembered(256)
def drawn(cast: Sampling, asked: Sampling, base: Sampling) -> Sampling:
    """What a role is sampled with: the cast's values go before the system's, and `base` fills what is left."""
    return cast.over(asked).over(base)


@dataclass(frozen=True)
class Assignment:
    """One role's performer, the sampling values set for it, and its adapter if it has one.

    `sampling` goes before what a system asks for; `base` fills what both leave open (values a small model needs).
    """

    performer: Model
    sampling: Sampling = field(default_factory=Sampling)
    adapter: str | None = None
    base: Sampling = field(default_factory=Sampling)

    @property
    def begins_with_words(self) -> bool:
        """Whether a small model is given the first words of its reply: one with an adapter has learnt how it begins."""
        return self.performer.capabilities.continues and self.adapter is None


@dataclass(frozen=True)
class Cast:
    """Who plays what; a role that is not named is played by `default`.

    `known` are a system's roles. Where it has an `open_role`, other roles are the story's own people, and that role's
    performer plays those of them who are not cast by name.
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
        """What performers say themselves that they cost, by their names."""
        performers = [assignment.performer for assignment in (self.default, *self.roles.values())]
        said = {performer.name: performer.capabilities.price for performer in performers}
        return {name: price for name, price in said.items() if price is not None}

    def check_cast(self, kind: str, names: Sequence[str]) -> None:
        """Check that who was cast by name, and is no role of the system, is among `names`.

        Raises:
            UnknownNameError: somebody is not; `kind` says what was looked for.
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
    """The function that `path/to/file.py:name` names. It is the user's own code and runs as such.

    Raises:
        ConfigError: there is no such Python file.
        UnknownNameError: the file has no such function.
    """
    file, _, name = spec.rpartition(":")
    path = Path(file)
    if not file.endswith(".py") or not _is_file(path):
        raise ConfigError(f"{spec[:300]!r} names no Python function. Write it as path/to/file.py:function.")
    module = ModuleType(f"fabula_user_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses in it look for their module there
    try:
        # Its text and not what lies compiled in `__pycache__`: that may come from somebody else, and say otherwise.
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), vars(module))  # noqa: S102 - the user's own
    except SyntaxError as error:
        raise ConfigError(f"{path} is no valid Python: {error.msg} (line {error.lineno}). Correct it.") from error
    function = getattr(module, name, None)
    if not callable(function):
        public = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownNameError(f"function in {path}", name, public)
    return function  # type: ignore[no-any-return] # callable() has just said so
