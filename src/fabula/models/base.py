"""The interface between fabula and any language model: one method takes a `Request` and returns a `Reply`.

All types here contain fabula's own plain data. Providers' types do not cross this interface, so recorded calls can be
compared and replayed whichever library called the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, TypeAlias

Json: TypeAlias = "dict[str, Any]"
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """The sampling values of a reply; `None` stands for the engine's default. All values are part of a call's identity.

    The penalties and `dry_*` prevent repetition; `min_p` removes unlikely tokens. `max_tokens` limits the reply,
    excluding the reasoning before it. `reasoning` sets how long a reasoning model thinks.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    repeat_last_n: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    dry_multiplier: float | None = None
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_penalty_last_n: int | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning: Effort | None = None

    def set_values(self) -> Json:
        """Return the values that are set, by name (an empty `stop` counts as unset)."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None and value != ()}

    def over(self, base: Sampling) -> Sampling:
        """Return these values, with unset values filled in from `base`."""
        return Sampling(**{**base.set_values(), **self.set_values()})


SAMPLING_FIELDS = frozenset(f.name for f in fields(Sampling))


@dataclass(frozen=True, slots=True)
class Request:
    """A call to a model.

    `role` and `path` are the role and the place in the run, and `ordinal` is the number of earlier identical requests
    at that path. These three are for logs, scripted models and people, and are never sent. Three more fields are never
    sent: `words` has the minimum and maximum number of words requested (0 if unspecified); `has` is the number of words
    in a text that must become shorter; and `fields` has the values of the prompt's fields, for programs that prefer a
    story to a prompt that contains it. `schema` requests JSON that matches the schema, `choices` requests one of these
    strings, and `adapter` selects a LoRA adapter (embedded engine) or a served model (servers). `logprobs` requests the
    log-probabilities of the n most likely first tokens.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    schema: Json | None = None
    choices: tuple[str, ...] = ()
    adapter: str | None = None
    logprobs: int = 0
    role: str = ""
    path: str = ""
    ordinal: int = 0
    words: tuple[int, int] = (0, 0)
    has: int = 0
    fields: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def body(self) -> Json:
        """Return everything that can affect the reply, as plain JSON data from which the journal's key is made."""
        return {
            "messages": [[m.role, m.content] for m in self.messages],
            "sampling": self.sampling.set_values(),
            "schema": self.schema,
            "choices": list(self.choices),
            "adapter": self.adapter,
            "logprobs": self.logprobs,
        }


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million prompt tokens, reply tokens, and prompt tokens from a prefix cache.

    If `cached` is `None`, cached tokens cost as much as `input`. `over` is (n, price): that price applies to all tokens
    of a prompt longer than n tokens, because some providers charge more for long contexts.
    """

    input: float
    output: float
    cached: float | None = None
    over: tuple[int, Price] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a call: prompt tokens, tokens from a prefix cache, reply tokens, seconds, and US dollars.

    `cost` is `None` if the price is unknown; fabula never guesses it. `first` is the number of seconds to the first
    token. `estimated` is the number of tokens that fabula counted because the server did not. `reasoning` is the number
    of reply tokens used for reasoning.
    """

    prompt: int = 0
    cached: int = 0
    reply: int = 0
    seconds: float = 0.0
    first: float | None = None
    cost: float | None = None
    estimated: int = 0
    reasoning: int = 0

    def values(self) -> Json:
        """All values, by name."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # `asdict` takes six times as long

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.prompt + other.prompt,
            self.cached + other.cached,
            self.reply + other.reply,
            self.seconds + other.seconds,
            None,
            cost,
            self.estimated + other.estimated,
            self.reasoning + other.reasoning,
        )


NOTHING_USED = Usage(cost=0.0)


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer.

    `finish` is "stop" (complete), "length" (cut at `max_tokens`) or "refusal". `sent` contains the sampling values
    actually sent, and `dropped` lists those that the provider does not accept. If a model omitted the beginning of a
    prompt for lack of room, `sent["unread"]` is the number of omitted tokens. `logprobs` maps the first tokens, as
    text, to natural logarithms. `reasoning` is the reasoning before the answer, if the server returns it; it is not
    part of the text.
    """

    text: str
    usage: Usage = NOTHING_USED
    finish: Literal["stop", "length", "refusal"] = "stop"
    model: str = ""
    sent: Mapping[str, Any] = field(default_factory=dict)
    dropped: tuple[str, ...] = ()
    logprobs: Mapping[str, float] | None = None
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a model can do beyond generating text, and how many calls it can handle at once.

    `context`: the maximum number of prompt and reply tokens, if known; `reply`: the maximum number of reply tokens.
    `continues`: a reply continues the assistant message that ends a request instead of answering it.
    `stands_in`: the model replaces another one, to whose identity the calls belong; the reply says who answered.
    `instructed`: the model follows the prompt; otherwise, it performs only the task that it was trained for.
    `small`: the model is known to be so small that it needs the aids of `fabula.engine.room`.
    `thinks`: the model is known to reason before it answers, so its replies get extra room.
    `price`: the price that the model reports; a price in the settings overrides it.
    """

    schema: bool = False
    continues: bool = False
    choices: bool = False
    logprobs: bool = False
    adapters: tuple[str, ...] = ()
    sampling: frozenset[str] = SAMPLING_FIELDS
    context: int | None = None
    reply: int | None = None
    parallel: int = 8
    stands_in: bool = False
    instructed: bool = True
    small: bool = False
    thinks: bool = False
    price: Price | None = None


OnText: TypeAlias = Callable[[str], None]


class Model(Protocol):
    """A protocol for anything that answers a `Request`.

    `name` is what a user types (`embedded:smollm2`); `identity` also identifies the weights and is part of the
    journal's key. `ask` can run `capabilities.parallel` times concurrently; cancelling the task frees the engine.
    """

    @property
    def name(self) -> str:
        """The name that a user types to select this model."""

    @property
    def identity(self) -> str:
        """The name of the model and, if its weights can change under that name, their digest."""

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this model."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Answer `request`, and pass pieces of text to `on_text` as they arrive.

        Raises:
            ModelError: the model did not answer; raised as a subclass, with `retryable` and `retry_after` set.
        """

    async def close(self) -> None:
        """Free the model's resources. You can call this twice."""


class Wrapper:
    """A model that wraps another model and behaves like it except for what a subclass changes."""

    model: Model

    @property
    def name(self) -> str:
        """The name that a user types to select the model."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self.model.identity

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of the model."""
        return self.model.capabilities

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply.

        Raises:
            ModelError: raised by the model.
        """
        return await self.model.ask(request, on_text)

    async def close(self) -> None:
        """Close the model, which may be shared; a later call reopens it."""
        await self.model.close()
