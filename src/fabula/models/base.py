"""The seam between fabula and any language model: `Request` in, `Reply` out, one method.

Everything here is plain data of ours; no provider's type passes this line, so what is journalled can be
compared and replayed whatever library talked to the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Json: TypeAlias = "dict[str, Any]"
Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn; `None` leaves the engine's default. All values are part of a call's identity.

    Penalties and `dry_*` act against loops; `min_p` cuts the unlikely tail. `max_tokens` bounds the reply, without the
    reasoning before it. `reasoning` says how much a model that can think does so.
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
        """The values that were set, by name (an empty `stop` counts as unset)."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None and value != ()}

    def over(self, base: Sampling) -> Sampling:
        """These values, with `base` filling those that are unset."""
        return Sampling(**{**base.set_values(), **self.set_values()})


SAMPLING_FIELDS = frozenset(f.name for f in fields(Sampling))


@dataclass(frozen=True, slots=True)
class Request:
    """One call to a model.

    `role` and `path` say who asks and where in the run, and `ordinal` how many identical requests there were before at
    that path; they are for logs, scripted models and people, and are never sent. Nor are `words`, the least and the
    most that are asked for (0 where no number is), `has`, those of a text that is to become shorter, and `fields`, what
    the prompt's fields are filled with, for programs that would rather have a story than a prompt with one in it.
    `schema` asks for JSON of that shape, `choices` for one of these strings, `adapter` for a named LoRA adapter
    (embedded engine) or served model (servers); `logprobs` for the top-n first-token log-probabilities.
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
        """What can change the reply, as plain JSON data; the journal's key is made from it."""
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
    """US dollars for a million tokens: of prompt, of reply, and of prompt served from a prefix cache.

    `cached` is the price of `input` where it is `None`. `over` is (n, price): a prompt of more than n tokens pays
    that price for all its tokens, as some providers charge for long contexts.
    """

    input: float
    output: float
    cached: float | None = None
    over: tuple[int, Price] | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call took: tokens in all, tokens served from a prefix cache, tokens written, seconds, US dollars.

    `cost` is `None` where the price is not known; it is never guessed. `first` is seconds to the first token.
    `estimated` says how many of the tokens we have counted ourselves, since the server did not. `reasoning` says how
    many of those written were reasoning.
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
        """All of it, by name."""
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

    `finish` is "stop" (said all), "length" (cut at `max_tokens`) or "refusal". `sent` holds the sampling values that
    really went out, `dropped` those the provider cannot take. Where a model had no room for a prompt's beginning and
    left it out, `sent["unread"]` counts its tokens. `logprobs` maps first-token texts to natural logs. `reasoning` is
    what the model thought before it answered, where its server shows it; it is no part of the text.
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
    """What a model can do beyond text, and how many calls it serves at once.

    `context`: tokens of prompt and reply together, and `reply`: of a reply, where they are known.
    `continues`: a reply goes on with the assistant message that ends a request, instead of answering it.
    `stands_in`: the reply says who answered; the identity is that of another model, whose calls these are.
    `instructed`: it does what a prompt says; one that is not does the one thing it was trained for, to any text.
    `small`: it is known to be so small that it needs the aids of `fabula.engine.room`.
    `thinks`: it is known to reason before it answers, and its replies get room for that.
    `price`: what it costs, where it says so itself; the settings' price goes before it.
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
    """Anything that answers a `Request`.

    `name` is what a user types (`embedded:smollm2`); `identity` also distinguishes the weights and enters the
    journal's key. `ask` may be called `capabilities.parallel` times at once; cancelling the task frees the engine.
    """

    @property
    def name(self) -> str:
        """What a user types to get this model."""

    @property
    def identity(self) -> str:
        """Names the model and, where they can change under one name, its weights."""

    @property
    def capabilities(self) -> Capabilities:
        """What this model can do."""

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """Answer `request`; pieces of text go to `on_text` as they arrive.

        Raises:
            ModelError: one of its kinds, with `retryable` and `retry_after` set.
        """

    async def close(self) -> None:
        """Free what the model holds; safe to call twice."""


class Wrapper:
    """A model around another: in everything as that one, but for what a class made from this says otherwise."""

    model: Model

    @property
    def name(self) -> str:
        """What a user types to get the model."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's identity."""
        return self.model.identity

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do."""
        return self.model.capabilities

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply.

        Raises:
            ModelError: as the model.
        """
        return await self.model.ask(request, on_text)

    async def close(self) -> None:
        """Close the model, which others may share; a later call opens it again."""
        await self.model.close()
