"""The five dialects of model servers: the form of their requests and replies.

They are chat completions, OpenAI's responses, Anthropic's messages, Google's generateContent and Bedrock's converse.
This module has only plain data: `wire` sends it, and `providers` knows the servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from urllib.parse import quote

from fabula.models.limits import THOUGHT

if TYPE_CHECKING:
    from fabula.models.base import Effort, Json, Message


_MOST_TOKENS: Final = 10_000_000  # that a call can have taken: longer than any model's window
_CUT: Final = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "continuation"}
)
_WITHHELD: Final = frozenset(
    {"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii", "model_armor"}
    | {"guardrail_intervened", "content_filtered"}
)
ANTHROPIC_VERSION: Final = "2026-10-21"
_UNBOUNDED: Final = 16_384  # tokens of a reply for which no bound is asked, at Anthropic, where there has to be one
Names: TypeAlias = "Mapping[str, str]"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request before it is put into a dialect.

    Attributes:
        kind: the kind of the provider.
        model: the name of the model there.
        compatible: whether the server uses the chat dialect but is not OpenAI's own.
        messages: the turns.
        values: the sampling values to send, by fabula's names; `max_tokens` includes the room for reasoning.
        effort: how much to reason; `None` leaves that to the model.
        schema: the schema for the reply.
        logprobs: the number of first tokens to list.
        stream: whether the reply should arrive in pieces.
    """

    kind: str
    model: str
    compatible: bool
    messages: tuple[Message, ...]
    values: Mapping[str, Any]
    effort: Effort | None = None
    schema: Json | None = None
    logprobs: int = 0
    stream: bool = False


@dataclass(slots=True)
class Received:
    """The part of a reply received so far."""

    text: list[str] = field(default_factory=list)
    thought: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    finish: str = ""
    model: str = ""
    first_token: dict[str, float] | None = None
    odd: bool = False
    """Whether the server sent an impossible count."""
    null: bool = False
    """Whether a complete reply had no content at all, not even an empty text."""

    def say(self, piece: object) -> str:
        """Keep a piece of the text, and return it."""
        self.text.append(said := _text(piece))
        return said

    def think(self, piece: object) -> None:
        """Keep a piece of the reasoning, and report it to the counter."""
        if said := _text(piece):
            self.thought.append(said)
            if (counts := THOUGHT.get()) is not None:
                counts(said)

    def ends(self, finish: object) -> None:
        """Keep the server's reason for the end of the reply."""
        self.finish = _text(finish).lower() or self.finish

    def count(self, usage: object, names: Names) -> None:
        """Keep the token counts in `usage`, found by `names`; later counts are larger."""
        for ours, path in names.items():
            value = _at(usage, path)
            number = value if type(value) is int and 0 <= value <= _MOST_TOKENS else 0
            self.odd = self.odd or (value is not None and value != number)
            self.counts[ours] = max(number, self.counts.get(ours, 0))

    def likeliest(self, tokens: object) -> None:
        """Keep the natural logs of the likeliest first tokens, from a list with an entry for each token."""
        first = _first(tokens)
        if self.first_token is None and first:
            tops = first.get("top_logprobs")
            given = [(e.get("token"), e.get("logprob")) for e in _tables(tops) or [first]]
            logs = {t: float(p) for t, p in reversed(given) if isinstance(t, str) and isinstance(p, int | float)}
            self.first_token = logs or None

    @property
    def cut(self) -> bool:
        """Whether the reply was cut at its limit."""
        return self.finish in _CUT

    @property
    def refused(self) -> bool:
        """Whether the model declined, or its provider withheld the reply."""
        return self.finish in _WITHHELD or any(self.refusal)

    @property
    def tokens(self) -> tuple[int, int, int, int]:
        """The tokens of the prompt, those read from a cache, those put into a cache, and those written.

        Reasoning counts as written, even if a server counts it separately.
        """
        of = self.counts.get
        prompt, cached, kept = of("prompt", 0) + of("fresh", 0), of("cached", 0), of("kept", 0)
        prompt += cached + kept if "fresh" in self.counts else 0
        reply, reasoned = of("reply", 0), of("reasoned", 0)
        beside = reasoned and of("total") == prompt + reply + reasoned
        return prompt, cached, kept, reply + reasoned if beside else reply


@dataclass(frozen=True)
class Dialect:
    """The dialect of one kind of server.

    Attributes:
        path: gives the path of a model below the address, streamed or not.
        turns: gives the body with the messages.
        values: the places of sampling values in the body, with their parts separated by dots.
        schema: gives the part of the body that asks for a JSON schema.
        read: keeps the contents of a reply or of one of its events, and returns the piece of text in it.
        streams: whether complete replies are streamed too, because they may take long.
    """

    path: Callable[[str, bool], str]
    turns: Callable[[Asked], Json]
    values: Names
    schema: Callable[[Asked, Json], Json]
    read: Callable[[Json, Received], str]
    streams: bool = False


def body_of(dialect: Dialect, asked: Asked) -> Json:
    """The request in its dialect."""
    body = dialect.turns(asked)
    for name, value in asked.values.items():
        for place in _compatible_names(asked, name) or (dialect.values[name],):
            body = merged(body, _placed(place, value))
    if asked.schema is not None:
        body = merged(body, dialect.schema(asked, asked.schema))
    return merged(body, reasoning_part(asked))


def merged(body: Json, more: Mapping[str, Any]) -> Json:
    """A body with more fields; nested objects are merged too."""
    joined = dict(body)
    for name, value in more.items():
        there = body.get(name)
        joined[name] = merged(there, value) if isinstance(there, dict) and isinstance(value, dict) else value
    return joined


def _placed(place: str, value: object) -> Json:
    """A value in the objects that a place names."""
    first, _, rest = place.partition(".")
    return {first: _placed(rest, value) if rest else value}


# --- reading JSON of others -------------------------------------------------------------------------------------------


def _table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _tables(value: object) -> list[Json]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _first(value: object) -> Json:
    return _table(value[0]) if isinstance(value, list) and value else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _at(value: object, path: str) -> object:
    for name in path.split("."):
        value = _table(value).get(name)
    return value


# --- chat completions -------------------------------------------------------------------------------------------------

_CHAT_VALUES: Final = {
    name: name
    for name in ("temperature", "top_p", "max_tokens", "presence_penalty", "frequency_penalty", "seed", "stop")
}
_BESIDE_OPENAIS: Final[Mapping[str, tuple[str, ...]]] = {
    "repeat_penalty": ("repetition_penalty", "repeat_penalty"),
    **{name: (name,) for name in ("top_k", "min_p", "repeat_last_n", "max_tokens")},
    **{f"dry_{name}": (f"dry_{name}",) for name in ("multiplier", "base", "allowed_length", "penalty_last_n")},
}
_CHAT_COUNTS: Final = {
    "prompt": "prompt_tokens",
    "cached": "prompt_tokens_details.cached_tokens",
    "reply": "completion_tokens",
    "reasoned": "completion_tokens_details.reasoning_tokens",
    "total": "total_tokens",
}


def _compatible_names(asked: Asked, name: str) -> tuple[str, ...]:
    """What a server that is not OpenAI's own may call a value that OpenAI calls otherwise, or does not have."""
    if not asked.compatible:
        return ()
    return ("random_seed",) if (asked.kind, name) == ("mistral", "seed") else _BESIDE_OPENAIS.get(name, ())


def _cache_key(asked: Asked) -> str:
    """Calls that begin alike share a key, and so a machine with a warm cache."""
    first = asked.messages[0].content if asked.messages else ""
    return "fabula-" + sha256(f"{asked.model}\n{first}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _roles(asked: Asked) -> list[Json]:
    return [{"role": message.role, "content": message.content} for message in asked.messages]


def _chat(asked: Asked) -> Json:
    body: Json = {"model": asked.model, "messages": _roles(asked), "stream": asked.stream}
    if asked.stream:
        body["stream_options"] = {"include_usage": True}
    if asked.logprobs:
        body |= {"logprobs": True, "top_logprobs": asked.logprobs}
    return body | (
        {"prompt_cache_key": _cache_key(asked)} if asked.kind == "openai-chat" and not asked.compatible else {}
    )


def _chat_schema(asked: Asked, schema: Json) -> Json:
    strict = {} if asked.compatible else {"strict": _is_strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, **strict}}}


def _read_chat(event: Json, got: Received) -> str:
    got.count(event.get("usage"), _CHAT_COUNTS)
    got.model = _text(event.get("model")) or got.model
    choice = _first(event.get("choices"))
    said = _table(choice.get("delta") or choice.get("message"))
    got.ends(choice.get("finish_reason"))
    got.likeliest(_table(choice.get("logprobs")).get("content"))
    got.refusal.append(_text(said.get("refusal")))
    got.think(said.get("reasoning_content") or said.get("reasoning"))
    content = said.get("content")
    if isinstance(content, list):  # Mistral's models that reason answer in parts
        for part in _tables(content):
            got.think("".join(_text(thought.get("text")) for thought in _tables(part.get("thinking"))))
        content = "".join(_text(part.get("text")) for part in _tables(content))
    got.null = content is None and "message" in choice
    return got.say(content)


# --- OpenAI's responses -----------------------------------------------------------------------------------------------

_RESPONSES_COUNTS: Final = {
    "prompt": "input_tokens",
    "cached": "input_tokens_details.cached_tokens",
    "reply": "output_tokens",
    "reasoned": "output_tokens_details.reasoning_tokens",
}


def _responses(asked: Asked) -> Json:
    body: Json = {"model": asked.model, "input": _roles(asked), "stream": asked.stream}
    body["prompt_cache_key"] = _cache_key(asked)
    if asked.logprobs:
        body |= {"include": ["message.output_text.logprobs"], "top_logprobs": asked.logprobs}
    return body


def _responses_schema(_: Asked, schema: Json) -> Json:
    form = {"type": "json_schema", "name": "reply", "schema": schema, "strict": _is_strict(schema)}
    return {"text": {"format": form}}


def _read_responses(event: Json, got: Received) -> str:
    kind = event.get("type")
    if kind == "response.output_text.delta":
        return got.say(event.get("delta"))
    if kind == "response.reasoning_summary_text.delta":
        got.think(event.get("delta"))
    elif kind == "response.output_text.done":
        got.likeliest(event.get("logprobs"))
    whole = _table(event.get("response")) if kind in {"response.completed", "response.incomplete"} else event
    if kind and whole is event:
        return ""
    got.count(whole.get("usage"), _RESPONSES_COUNTS)
    got.model = _text(whole.get("model"))
    got.ends(_at(whole, "incomplete_details.reason") or whole.get("status"))
    parts = [part for item in _tables(whole.get("output")) for part in _tables(item.get("content"))]
    got.refusal += [_text(part.get("refusal")) for part in parts]
    if not kind:
        summaries = [part for item in _tables(whole.get("output")) for part in _tables(item.get("summary"))]
        got.think("\n\n".join(_text(part.get("text")) for part in summaries))
    for part in parts if not kind else ():
        got.likeliest(part.get("logprobs"))
        got.say(part.get("text"))
    return ""


# --- Anthropic's messages ---------------------------------------------------------------------------------------------

_MESSAGES_VALUES: Final = {name: name for name in ("temperature", "top_p", "top_k", "max_tokens")} | {
    "stop": "stop_sequences"
}
_MESSAGES_COUNTS: Final = {
    "fresh": "input_tokens",
    "cached": "cache_read_input_tokens",
    "kept": "cache_creation_input_tokens",
    "reply": "output_tokens",
}


def _messages(asked: Asked) -> Json:
    """For prompt caches, the system's words are marked, and the last user turn but the final one."""
    mark = {"cache_control": {"type": "ephemeral"}}
    stable = [i for i, message in enumerate(asked.messages[:-1]) if message.role == "user"]
    turns: list[Json] = []
    for role, group in groupby(enumerate(asked.messages), lambda entry: entry[1].role):
        blocks = [
            {"type": "text", "text": message.content, **(mark if stable and i == stable[-1] else {})}
            for i, message in group
        ]
        turns.append({"role": role, "content": blocks})
    system = [block for turn in turns if turn["role"] == "system" for block in turn["content"]]
    body: Json = {
        "model": asked.model,
        "messages": [turn for turn in turns if turn["role"] != "system"],
        "max_tokens": _most_of_claude(asked.model),
        "stream": asked.stream,
    }
    return body | ({"system": [*system[:-1], system[-1] | mark]} if system else {})


def _messages_schema(_: Asked, schema: Json) -> Json:
    return {"output_config": {"format": {"type": "json_schema", "schema": _fitted(schema, _NOT_FOR_CLAUDE)}}}


def _read_messages(event: Json, got: Received) -> str:
    kind = event.get("type")
    whole = _table(event.get("message")) if kind == "message_start" else event
    got.count(whole.get("usage"), _MESSAGES_COUNTS)
    got.model = _text(whole.get("model")) or got.model
    got.ends(_at(event, "delta.stop_reason") or event.get("stop_reason"))
    blocks = (
        _tables(event.get("content"))
        if kind == "message"
        else [_table(event.get("content_block") or event.get("delta"))]
    )
    for block in blocks:
        got.think(block.get("thinking"))
    return got.say("".join(_text(block.get("text")) for block in blocks))


# --- Google's generateContent -----------------------------------------------------------------------------------------

_GOOGLE_VALUES: Final = {
    "temperature": "generationConfig.temperature",
    "top_p": "generationConfig.topP",
    "top_k": "generationConfig.topK",
    "max_tokens": "generationConfig.maxOutputTokens",
    "stop": "generationConfig.stopSequences",
    "seed": "generationConfig.seed",
    "presence_penalty": "generationConfig.presencePenalty",
    "frequency_penalty": "generationConfig.frequencyPenalty",
}
_GOOGLE_COUNTS: Final = {
    "prompt": "promptTokenCount",
    "cached": "cachedContentTokenCount",
    "reply": "candidatesTokenCount",
    "reasoned": "thoughtsTokenCount",
    "total": "totalTokenCount",
}


def _google_path(model: str, stream: bool) -> str:  # noqa: FBT001 - as the others
    doing = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/{quote(model if '/' in model else f'models/{model}', safe='/')}:{doing}"


def _parts(messages: Sequence[Message]) -> list[Json]:
    return [{"text": message.content} for message in messages]


def _turns(asked: Asked, parts: str, answers: str) -> tuple[list[Json], list[Json]]:
    """What the system says, and the turns of the others; those of one role that follow each other are one."""
    said = [message for message in asked.messages if message.role != "system"]
    turns: list[Json] = [
        {"role": answers if role == "assistant" else role, parts: _parts(list(group))}
        for role, group in groupby(said, lambda message: message.role)
    ]
    return _parts([message for message in asked.messages if message.role == "system"]), turns


def _google(asked: Asked) -> Json:
    system, turns = _turns(asked, "parts", "model")
    return {"contents": turns} | ({"systemInstruction": {"parts": system}} if system else {})


def _google_schema(_: Asked, schema: Json) -> Json:
    fitted = _fitted(schema, _NOT_FOR_GOOGLE)
    return {"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": fitted}}


def _read_google(event: Json, got: Received) -> str:
    got.count(event.get("usageMetadata"), _GOOGLE_COUNTS)
    got.model = _text(event.get("modelVersion")) or got.model
    candidate = _first(event.get("candidates"))
    got.ends(candidate.get("finishReason"))
    if _at(event, "promptFeedback.blockReason"):
        got.ends("prohibited_content")
    said = ""
    for part in _tables(_at(candidate, "content.parts")):
        if part.get("thought"):
            got.think(part.get("text"))
        else:
            said += _text(part.get("text"))
    return got.say(said)


# --- Bedrock's converse -----------------------------------------------------------------------------------------------

_BEDROCK_VALUES: Final = {
    "temperature": "inferenceConfig.temperature",
    "top_p": "inferenceConfig.topP",
    "top_k": "additionalModelRequestFields.top_k",
    "max_tokens": "inferenceConfig.maxTokens",
    "stop": "inferenceConfig.stopSequences",
}
_BEDROCK_COUNTS: Final = {
    "fresh": "inputTokens",
    "cached": "cacheReadInputTokens",
    "kept": "cacheWriteInputTokens",
    "reply": "outputTokens",
}


def _bedrock_path(model: str, stream: bool) -> str:  # noqa: FBT001 - as the others
    return f"/model/{quote(model, safe='')}/{'converse-stream' if stream else 'converse'}"


def _bedrock(asked: Asked) -> Json:
    system, turns = _turns(asked, "content", "assistant")
    return {"messages": turns, "inferenceConfig": {}} | ({"system": system} if system else {})


def _bedrock_schema(_: Asked, schema: Json) -> Json:
    form = {"name": "reply", "schema": json.dumps(_fitted(schema, _NOT_FOR_CLAUDE))}
    return {"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": form}}}}


def _read_bedrock(event: Json, got: Received) -> str:
    """A whole reply, or an event of a stream under the name of its type."""
    got.count(event.get("usage") or _at(event, "metadata.usage"), _BEDROCK_COUNTS)
    got.ends(event.get("stopReason") or _at(event, "messageStop.stopReason"))
    blocks = _tables(_at(event, "output.message.content")) or [_table(_at(event, "contentBlockDelta.delta"))]
    for block in blocks:
        thought = _table(block.get("reasoningContent"))
        got.think(_at(thought, "reasoningText.text") or thought.get("text"))
    return got.say("".join(_text(block.get("text")) for block in blocks))


def _fixed(path: str) -> Callable[[str, bool], str]:
    """A path that is the same for all models."""
    return lambda *_: path


CHAT: Final = Dialect(
    _fixed("/chat/completions"), _chat, _CHAT_VALUES | {"max_tokens": "max_completion_tokens"}, _chat_schema, _read_chat
)
RESPONSES: Final = Dialect(
    _fixed("/responses"),
    _responses,
    {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens"},
    _responses_schema,
    _read_responses,
)
MESSAGES: Final = Dialect(
    _fixed("/v1/messages"), _messages, _MESSAGES_VALUES, _messages_schema, _read_messages, streams=True
)
GOOGLE: Final = Dialect(_google_path, _google, _GOOGLE_VALUES, _google_schema, _read_google)
BEDROCK: Final = Dialect(_bedrock_path, _bedrock, _BEDROCK_VALUES, _bedrock_schema, _read_bedrock)
DIALECTS: Final = {"openai": RESPONSES, "anthropic": MESSAGES, "google": GOOGLE, "bedrock": BEDROCK}
"""The API dialects of the kinds of models that do not use chat completions."""


# --- schemas ----------------------------------------------------------------------------------------------------------

_LENGTHS: Final = frozenset(
    {"minLength", "maxLength", "minProperties", "maxProperties", "uniqueItems", "patternProperties", "propertyNames"}
)
_NOT_STRICT: Final = _LENGTHS | {"default", "oneOf", "contains", "format", "pattern"}
_NOT_FOR_CLAUDE: Final = _LENGTHS | {
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems", "default"),
}
_NOT_FOR_GOOGLE: Final = frozenset({"exclusiveMinimum", "exclusiveMaximum", "format"})
_DATA: Final = frozenset({"enum", "const", "default", "examples", "required"})
_NAMED: Final = frozenset({"properties", "$defs"})


def _inside(schema: Json) -> list[Json]:
    """The schemas right inside a schema."""
    found: list[Json] = []
    for name, value in schema.items():
        if name not in _DATA:
            values = list(value.values()) if name in _NAMED and isinstance(value, dict) else value
            found += _tables(values if isinstance(values, list) else [values])
    return found


def _is_strict(schema: Json) -> bool:
    """Whether OpenAI can hold a model to a schema: all objects are closed and whole, and nothing is beyond it."""
    if not _NOT_STRICT.isdisjoint(schema) or ("$ref" in schema and len(schema) > 1 and "$defs" not in schema):
        return False
    fields = schema.get("properties")
    if schema.get("type") == "object" or fields is not None:
        closed = schema.get("additionalProperties") is False
        if not closed or set(_table(fields)) != set(schema.get("required") or ()):
            return False
    return all(map(_is_strict, _inside(schema)))


def _fitted(schema: Json, beyond: frozenset[str]) -> Json:
    """A schema for a provider that refuses some keywords: they stand in the description instead."""
    fitted: Json = {}
    for name, value in schema.items():
        if name in beyond:
            continue
        if name == "const":
            fitted |= {"enum": [value]} | ({"type": "string"} if isinstance(value, str) else {})
        elif name in _DATA:
            fitted[name] = value
        elif name in _NAMED and isinstance(value, dict):
            fitted[name] = {key: _fitted(part, beyond) for key, part in value.items()}
        elif isinstance(value, list):
            fitted[name] = [_fitted(part, beyond) if isinstance(part, dict) else part for part in value]
        else:
            fitted[name] = _fitted(value, beyond) if isinstance(value, dict) else value
    if moved := ", ".join(f"{name}: {value}" for name, value in schema.items() if name in beyond):
        fitted["description"] = f"{schema.get('description', '')}\n\n{{{moved}}}".strip()
    return fitted


# --- what models can do -----------------------------------------------------------------------------------------------
# What providers publish of their models. A wrong line costs a request that is rejected: `providers` asks again without
# what the server named, and remembers it.

_ALWAYS_REASON: Final = re.compile(
    r"o\d|gpt-5(?![.\d]|-chat)|gpt-5\.\d-(?:chat|pro)|gpt-5\.1-codex|gpt-6-astra|gpt-6\.1-sol"
)
_USUALLY_REASON: Final = re.compile(r"gpt-5\.[5-9]|gpt-[6-9]")
_CAN_REASON: Final = re.compile(r"gpt-5\.[1-4]")
_CLAUDE: Final = r"(?:[a-z.-]{0,40}anthropic\.)?claude-"
_FIFTH: Final = r"[a-z]{1,20}-(?:[5-9]|\d\d)(?!\d)"  # "claude-opus-5", and what comes after it
_CLAUDE_WITH_SCHEMA: Final = re.compile(rf"{_CLAUDE}(?:opus-4-[1-9](?!\d)|(?:sonnet|haiku)-4-[5-9](?!\d)|{_FIFTH})")
_CLAUDE_ADAPTS: Final = re.compile(rf"{_CLAUDE}(?:(?:opus|sonnet)-4-[6-9](?!\d)|{_FIFTH}|mythos)")
_CLAUDE_WITHOUT_SAMPLING: Final = re.compile(rf"{_CLAUDE}(?:opus-4-[7-9](?!\d)|{_FIFTH})")
_CLAUDE_THINKS: Final = re.compile(rf"{_CLAUDE}(?:{_FIFTH}|mythos)")
_CLAUDE_CANNOT_STOP: Final = re.compile(rf"{_CLAUDE}(?:fable|mythos|opus-5-5)")
_CLAUDE_BETWEEN_TOOLS: Final = re.compile(rf"{_CLAUDE}sonnet-5-5")
_OLD_CLAUDE: Final = re.compile(rf"{_CLAUDE}(?:[123]|instant|(?:opus|sonnet)-4(?:-[0-4])?(?:-?20|@|$))")
_BEDROCK_WITH_SCHEMA: Final = re.compile(
    r"magistral-small|ministral-3|mistral-large-3|voxtral|qwen3|gemma-3-(?:12|27)b|zai\.|moonshot|minimax|gpt-oss|nvidia"
)
_GEMINI_WITHOUT_THOUGHT: Final = re.compile(r"gemma|gemini-1|gemini-2\.[0-4]|gemini-pro$|gemini-2\.5-flash-image")
_GEMINI_BY_BUDGET: Final = re.compile(r"gemini-2\.5")
_GEMINI_WITHOUT_MINIMAL: Final = re.compile(r"gemini-3\.[78]-flash|gemini-3(?:\.1)?-pro|gemini-4")
_BUDGETS: Final[Mapping[str, int]] = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "high": 16_384}
_GEMINI_BUDGETS: Final[Mapping[str, int]] = {"none": 0, "minimal": 128, "low": 2_048, "medium": 8_192, "high": 24_576}
_LEAST_OF_PRO: Final = 128
_REASONERS_REFUSE: Final = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})
_CLAUDES_REFUSE: Final = frozenset({"temperature", "top_p", "top_k"})


def _is_openais(kind: str, *, compatible: bool) -> bool:
    return kind == "openai" or (kind in {"openai-chat", "azure"} and not compatible)


def thinks(kind: str, model: str, *, compatible: bool) -> bool:
    """Whether a model is known to reason unless it is told not to."""
    if _is_openais(kind, compatible=compatible):
        return bool(_ALWAYS_REASON.match(model) or _USUALLY_REASON.match(model))
    if kind == "google":
        return "pro" in model and "flash" not in model and not _GEMINI_WITHOUT_THOUGHT.search(model)
    return kind in {"anthropic", "bedrock"} and bool(_CLAUDE_THINKS.match(model))


def refused_values(asked: Asked) -> frozenset[str]:
    """The sampling values that this model rejects even though its provider may accept them."""
    if asked.kind in {"anthropic", "bedrock"}:
        if asked.effort not in {None, "none"} or _CLAUDE_WITHOUT_SAMPLING.match(asked.model):
            return _CLAUDES_REFUSE
        return frozenset({"top_k"}) if asked.kind == "bedrock" and "claude" not in asked.model else frozenset()
    if not _is_openais(asked.kind, compatible=asked.compatible):
        return frozenset()
    reasons = thinks(asked.kind, asked.model, compatible=False) and asked.effort != "none"
    told_to = asked.effort not in {None, "none"} and _CAN_REASON.match(asked.model)
    return _REASONERS_REFUSE if reasons or told_to or _ALWAYS_REASON.match(asked.model) else frozenset()


def keeps_to_schemas(kind: str, model: str) -> bool:
    """Whether a model from Anthropic or at Bedrock keeps to a JSON schema."""
    return bool(_CLAUDE_WITH_SCHEMA.match(model) or (kind == "bedrock" and _BEDROCK_WITH_SCHEMA.search(model)))


def _most_of_claude(model: str) -> int:
    """The most tokens of a reply where no bound is asked; old models count it and the prompt together."""
    if _CLAUDE_ADAPTS.match(model):
        return 128_000
    if _OLD_CLAUDE.match(model):
        return 4_096
    return 64_000 if _CLAUDE_WITH_SCHEMA.match(model) else _UNBOUNDED


def reasoning_part(asked: Asked) -> Json:
    """The part of the body that sets how much a model reasons; empty if its provider has no such setting."""
    said: Json
    if asked.effort is None:
        said = {}
    elif asked.kind == "anthropic":
        said = _claudes_thinking(asked.model, asked.effort)
    elif asked.kind == "bedrock":
        claudes = _claudes_thinking(asked.model, asked.effort)
        said = {"additionalModelRequestFields": claudes} if "claude" in asked.model else {}
    elif asked.kind == "google":
        geminis = _geminis_thinking(asked.model, asked.effort)
        said = {"generationConfig": {"thinkingConfig": geminis}} if geminis else {}
    else:
        said = _chats_thinking(asked, asked.effort)
    return said


def _chats_thinking(asked: Asked, effort: Effort) -> Json:
    if _is_openais(asked.kind, compatible=asked.compatible):
        able = thinks(asked.kind, asked.model, compatible=False) or _CAN_REASON.match(asked.model)
        if not able:
            return {}
        return {"reasoning": {"effort": effort}} if asked.kind == "openai" else {"reasoning_effort": effort}
    if asked.kind == "openrouter":
        return {"reasoning": {"effort": effort}}
    if effort == "none" and asked.kind in {"llamacpp", "vllm"}:
        return {"chat_template_kwargs": {"enable_thinking": False}}
    if effort == "none" and asked.kind == "deepseek":
        return {"thinking": {"type": "disabled"}}
    return {"reasoning_effort": effort}


def _claudes_thinking(model: str, effort: Effort) -> Json:
    adaptive: Json = {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    if effort == "none":
        if _CLAUDE_CANNOT_STOP.match(model):
            return adaptive
        if _CLAUDE_BETWEEN_TOOLS.match(model):
            return {"thinking": {"type": "between_tools"}}
        return {"thinking": {"type": "disabled"}}
    if _CLAUDE_ADAPTS.match(model):
        return adaptive if effort == "minimal" else adaptive | {"output_config": {"effort": effort}}
    return {"thinking": {"type": "enabled", "budget_tokens": _BUDGETS[effort]}}


def _geminis_thinking(model: str, effort: Effort) -> Json:
    shown = {} if effort == "none" else {"includeThoughts": True}
    if _GEMINI_WITHOUT_THOUGHT.search(model):
        return {}
    if _GEMINI_BY_BUDGET.search(model):
        least = _LEAST_OF_PRO if "pro" in model else 0
        return {**shown, "thinkingBudget": max(least, _GEMINI_BUDGETS[effort])}
    level = "minimal" if effort == "none" else effort
    if level == "minimal" and _GEMINI_WITHOUT_MINIMAL.search(model):
        level = "low"
    return {**shown, "thinkingLevel": level.upper()}
