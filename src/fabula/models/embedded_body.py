"""From our `Request` to the engine's body, and from its stream of chunks to our `Reply`; plain data on both sides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal

from fabula.base.errors import ContextLengthError, ModelError, OverloadedError, UnknownNameError, UsageError
from fabula.models.base import Reply, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.models.base import Json, Request, Sampling

# The engine reads seeds as 32 bits, and the highest one as "draw a seed".
_SEEDS = 2**32 - 1
# With `choices`, the engine reports this many candidates of the first token, so that each choice is among them.
_CANDIDATES = 1000
_SERVER_FAULT = 500
# Only streams can be cancelled; with progress reports also while the prompt is read.
_STREAM = {"stream": True, "stream_options": {"include_usage": True}, "return_progress": True}


def sent_values(sampling: Sampling) -> Json:
    """The sampling values as the engine gets them.

    `repeat_last_n` is also the window of DRY (the engine's own is 64 tokens, shorter than a looping paragraph), and a
    seed is brought into the engine's range.
    """
    values = sampling.set_values()
    if "stop" in values:
        values["stop"] = list(values["stop"])
    if "seed" in values:
        values["seed"] %= _SEEDS
    if "repeat_last_n" in values and "dry_multiplier" in values:
        values.setdefault("dry_penalty_last_n", values["repeat_last_n"])
    return values


def body_of(request: Request, sent: Json, adapters: Sequence[str]) -> Json:
    """The engine's body for a request; `adapters` are the loaded ones in the order of their ids.

    A request without a system prompt gets an empty one, because some chat templates (SmolLM2's, Qwen2.5's) put words
    of their own there otherwise. Once any adapter is loaded each one's scale is sent, also 0: the engine would else
    answer from the key-value cache that another adapter filled.

    Raises:
        UnknownNameError: the request names an adapter that is not loaded.
        UsageError: the request asks for both a schema and choices.
    """
    if request.adapter is not None and request.adapter not in adapters:
        raise UnknownNameError("adapter", request.adapter, adapters)
    messages = [{"role": m.role, "content": m.content} for m in request.messages]
    if not any(m["role"] == "system" for m in messages):
        messages.insert(0, {"role": "system", "content": ""})
    body: Json = {"messages": messages, **_STREAM, **sent, **_shape_of(request)}
    if adapters:
        body["lora"] = [{"id": i, "scale": float(name == request.adapter)} for i, name in enumerate(adapters)]
    return body


def _shape_of(request: Request) -> Json:
    """The fields that bound what may be written, and those that ask for probabilities."""
    if request.schema is not None and request.choices:
        raise UsageError("A request asks for JSON of a schema or for one of several choices, not for both.")
    shape: Json = {}
    if request.schema is not None:
        shape["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": request.schema}}
    if request.choices:
        shape["grammar"] = "root ::= " + " | ".join(_literal(choice) for choice in request.choices)
    if request.logprobs > 0:
        wanted = max(request.logprobs, _CANDIDATES) if request.choices else request.logprobs
        shape |= {"logprobs": True, "top_logprobs": wanted, "timings_per_token": True}
    return shape


def _literal(text: str) -> str:
    """A string literal of the engine's grammars; it knows JSON's escapes for what cannot stand in one line."""
    return json.dumps(text, ensure_ascii=False)


class ReplyReader:
    """Takes the chunks of one call as they come and makes a `Reply` of them; `clock` gives seconds.

    The engine holds a token back until its characters are whole, so pieces never split one.
    """

    def __init__(self, clock: Callable[[], float], forward: Callable[[str], None]) -> None:
        self._clock, self._forward = clock, forward
        self._begun = clock()
        self._first: float | None = None
        self._pieces: list[str] = []
        self._finish: str | None = None
        self._usage: Json = {}
        self._first_token: Json | None = None
        self.error: Json | None = None

    def take(self, chunk: Json) -> None:
        """Read one chunk; its text goes on at once. The caller is the engine's thread, so this must not raise."""
        if "error" in chunk:
            self.error = chunk["error"] if isinstance(chunk["error"], dict) else {"message": str(chunk["error"])}
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            self._finish = choice.get("finish_reason") or self._finish
            self._take_probabilities(choice, chunk.get("timings") or {})
            if piece := choice.get("delta", {}).get("content"):
                if self._first is None:
                    self._first = self._clock() - self._begun
                self._pieces.append(piece)
                self._forward(piece)

    def _take_probabilities(self, choice: Json, timings: Json) -> None:
        """Keep those of the first token; the engine does not send them when it holds that token back."""
        tokens = (choice.get("logprobs") or {}).get("content")
        if tokens and timings.get("predicted_n") == 1:
            self._first_token = tokens[0]

    def reply(self, request: Request, sent: Json, model: str) -> Reply:
        """The whole reply; `logprobs` is `None` also where the first token was no whole character.

        Raises:
            OverloadedError: the stream ended without saying why; worth another try.
        """
        if self._finish is None:
            raise OverloadedError("The embedded engine ended a reply early. Ask again.", model=model)
        finish: Literal["length", "stop"] = "length" if self._finish == "length" else "stop"
        usage = Usage(
            prompt=int(self._usage.get("prompt_tokens", 0)),
            cached=int((self._usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)),
            reply=int(self._usage.get("completion_tokens", 0)),
            seconds=self._clock() - self._begun,
            first=self._first,
            cost=0.0,
        )
        logprobs = None
        if request.logprobs > 0 and self._first_token is not None:
            logprobs = first_token_logprobs(self._first_token, request.logprobs, request.choices)
        return Reply("".join(self._pieces), usage, finish, model, sent, (), logprobs)


def first_token_logprobs(token: Json, top: int, choices: Sequence[str]) -> dict[str, float]:
    """Texts of the likeliest `top` first tokens with natural logs of their probabilities, before any constraint.

    With `choices`, a candidate that begins one of them is kept as well if it is among the likeliest 1,000 or was drawn.
    Of tokens with the same text (pieces of a character) the likeliest counts.
    """
    best: dict[str, float] = {}
    for candidate in sorted([*token.get("top_logprobs", ()), token], key=lambda c: -float(c["logprob"])):
        best.setdefault(str(candidate["token"]), float(candidate["logprob"]))
    return {
        text: value
        for rank, (text, value) in enumerate(best.items())
        if rank < top or (text and any(choice.startswith(text) for choice in choices))
    }


def raised(error: Json, context: int, model: str) -> ModelError:
    """The engine's `{"code", "type", "message", ...}` as one of our errors."""
    if error.get("type") == "exceed_context_size_error":
        tokens, room = error.get("n_prompt_tokens", "too many"), error.get("n_ctx", context)
        return ContextLengthError(
            f"The prompt has {tokens} tokens and the context of {model} is {room}. Shorten what goes into the prompt, "
            "or open the model with a larger context.",
            model=model,
        )
    said = f"The embedded engine refused the request: {error.get('message', error)}"
    if int(error.get("code") or 0) >= _SERVER_FAULT:
        return OverloadedError(f"{said}. Ask again.", model=model)
    return ModelError(f"{said}. Check the request's schema, choices and sampling values.", model=model)
