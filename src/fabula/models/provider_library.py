"""What is done with pydantic-ai: its models, our requests as its, its responses and errors as ours.

Imported with the first call only.

Nothing of the library leaves this module but what `providers` hands back to it.
"""

from __future__ import annotations

import errno
import json
import logging
import re
import ssl
import warnings
from contextlib import aclosing, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpx2
from genai_prices import calc_price
from pydantic_ai import exceptions as theirs
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    CachePoint,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition

from fabula.base.addresses import is_loopback
from fabula.base.errors import (
    ContextLengthError,
    ModelError,
    ModelTimeoutError,
    ModelUnavailableError,
    OverloadedError,
    UnreachableError,
    UnreadableReplyError,
)
from fabula.base.extras import extra
from fabula.models.base import SAMPLING_FIELDS, Usage
from fabula.models.budget import estimate_tokens
from fabula.models.limits import THOUGHT

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

    from pydantic_ai.messages import ModelMessage, ModelResponseStreamEvent
    from pydantic_ai.models import Model
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.settings import ModelSettings

    from fabula.models.base import Effort, Json, OnText, Request, Sampling

WIRE: ContextVar[Wire | None] = ContextVar("fabula_wire", default=None)
_CONNECT = 10.0
_CUT = "the stream ended before the reply did"
_NO_OBJECT = "what came is no JSON object"
_NO_REPLY = "at {address} sent something that is no reply."
_NO_TEXT = "the reply holds no text"
_SETTINGS = {name: name for name in ("temperature", "top_p", "top_k", "max_tokens", "seed")} | {
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "stop": "stop_sequences",
}
_EXTRA: Mapping[str, tuple[str, ...]] = {
    "top_k": ("top_k",),
    "min_p": ("min_p",),
    "repeat_penalty": ("repetition_penalty", "repeat_penalty"),
    "repeat_last_n": ("repeat_last_n",),
    "dry_multiplier": ("dry_multiplier",),
    "dry_base": ("dry_base",),
    "dry_allowed_length": ("dry_allowed_length",),
    "dry_penalty_last_n": ("dry_penalty_last_n",),
}
_ON_THE_WIRE: Mapping[str, tuple[str, ...]] = {name: (name,) for name in SAMPLING_FIELDS} | {
    "top_p": ("top_p", "topP"),
    "top_k": ("top_k", "topK"),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens"),
    "stop": ("stop", "stop_sequences", "stopSequences"),
    "seed": ("seed", "random_seed"),
    "reasoning": ("effort",),
    "presence_penalty": ("presence_penalty", "presencePenalty"),
    "frequency_penalty": ("frequency_penalty", "frequencyPenalty"),
}
# Models that reason reject these: OpenAI's, and Anthropic's newer ones. The library drops them too, with a warning.
_NOT_WHILE_REASONING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})
_NOT_FOR_ANTHROPIC = frozenset({"temperature", "top_p", "top_k"})
# The libraries warn of counts and fields that a server sends wrongly; what matters of it is an error of ours.
warnings.filterwarnings("ignore", module=r"pydantic_ai\.|pydantic\.main|google\.genai")
LIBRARY_ERRORS = (theirs.AgentRunError, theirs.UserError)
_LONGEST = 300
LARGEST: Final = 64_000_000
"""Bytes of a reply as it comes: many times what a stream of the longest one takes."""
# llama.cpp's own type; the library knows the words of the others
_CONTEXT_TYPES = frozenset({"exceed_context_size_error"})
# What servers say of a prompt that is too long, of too little memory, of a model that they are loading, and of a key,
# where neither a code nor a status of theirs does. These are a server's words, never a model's.
_CONTEXT_WORDS = (
    *("context length", "context size", "context window", "maximum prompt length", "prompt is too long"),
    *("input is too long", "when context the overflows", "when context overflows"),
)
_MEMORY_WORDS = (
    *("more system memory", "insufficient system resources", "out of memory", "not enough memory"),
    *("unable to allocate", "failed to allocate", "not enough resources to load"),
)
_LOADING_WORDS = ("loading model", "model is loading", "currently loading", "still loading")
_KEY_WORDS = ("incorrect api key", "invalid api key", "api key not valid")
_LOADS = 15.0  # seconds after which a server that loads a model is asked again
_FILTERED_CODES = frozenset({"content_filter", "content_policy_violation"})
_TRY_AGAIN = frozenset({408, 409, 425, 429})
_SERVER_FAILED = 500
_GAVE_UP = frozenset({408, 504, 524})  # statuses of servers that waited in vain for what may have been working
_REJECTED = range(400, _SERVER_FAILED)
_NO_WORD = 3  # tokens that a model may have written where it said nothing: marks of a reply's end
_MOST_TOKENS = 10_000_000  # that a call can have taken: longer than any model's window
_GIVE_LOGPROBS = frozenset({"ollama", "lmstudio", "llamacpp", "vllm", "openrouter", "deepseek", "xai", "azure"})
_REGION = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")
_AWS_HELP = "Set AWS_BEARER_TOKEN_BEDROCK and AWS_REGION in the environment, or say `aws configure`."
_WITH_CACHE_KEYS = frozenset({"openai", "openai-chat"})
_THINKING_SETTING = frozenset({"anthropic", "google", "bedrock"})
_NO_MARKS = ("\0", "\0")
_ENDED_BADLY = ("error", "response.failed")


class Wire:
    """What went over the wire in one call: the bodies of requests, and what came back, decoded.

    The libraries pass over events of a stream that they do not understand, and with them a piece of the text or an
    error; so what came is looked at here too.
    """

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.answered = self.rejected = self.too_long = False
        self._reading: list[AsyncGenerator[bytes, None]] = []
        self._came = bytearray()
        self._streamed = False

    def begins(self, response: httpx2.Response) -> None:
        """Keep a copy of the decoded body of a response, as it is read."""
        self.answered, self.rejected = True, response.is_error
        self._streamed = "event-stream" in response.headers.get("content-type", "")
        self._came.clear()
        read = response.aiter_bytes

        async def copied(chunk_size: int | None) -> AsyncGenerator[bytes, None]:
            async with aclosing(read(chunk_size)) as pieces:
                async for piece in pieces:
                    self._came += piece
                    if len(self._came) > LARGEST:
                        self.too_long = True
                        self._came.clear()
                        raise OSError(errno.EFBIG, "the reply does not end")
                    yield piece

        def reading(chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
            self._reading.append(copied(chunk_size))
            return self._reading[-1]

        response.aiter_bytes = reading  # type: ignore[method-assign] # there is no hook for decoded bodies

    async def close(self) -> None:
        """End the reading of responses that a library has left in the middle."""
        for reading in self._reading:
            with suppress(RuntimeError, OSError, httpx2.HTTPError):  # the connection is broken, or has been given back
                await reading.aclose()

    @property
    def events(self) -> list[Any]:
        """The JSON values that came: the body, or the data of each event; what is no JSON is `None`."""
        text = self._came.decode("utf-8", "replace").strip()
        if not self._streamed:
            return [_json(text)] if text else []
        datas = [
            "\n".join(line[5:].strip() for line in event.splitlines() if line.startswith("data:"))
            for event in _EVENT_END.split(text)
        ]
        return [_json(data) for data in datas if data not in ("", "[DONE]")]

    @property
    def problem(self) -> str | None:
        """Why what came is no reply, in the server's words where it has some; `None` where nothing is wrong."""
        for event in self.events:
            if not isinstance(event, dict) or not (event or self._streamed):  # `{}` keeps some streams alive
                return ""
            if event.get("error") or event.get("type") in _ENDED_BADLY:
                return _words_of(event)
        return None

    @property
    def status(self) -> int | None:
        """The HTTP status that an error in the body or the stream names."""
        for event in self.events:
            error = event.get("error") if isinstance(event, dict) else None
            code = error.get("code") if isinstance(error, dict) else None
            if isinstance(code, int | str) and str(code).isascii() and str(code).isdigit():
                return int(str(code)[:4])
        return None

    @property
    def says_nothing(self) -> bool:
        """Whether a whole reply of the chat dialect came with no content at all, not even an empty text."""
        for event in self.events if not self._streamed else ():
            choices = event.get("choices") if isinstance(event, dict) else None
            message = choices[0].get("message") if isinstance(choices, list) and choices else None
            if isinstance(message, dict):
                return message.get("content") is None and not message.get("refusal")
        return False

    @property
    def total(self) -> int:
        """Tokens in all that the server says it has counted; 0 where it does not."""
        return max((token_count(counts.get("total_tokens")) for e in self.events for counts in _usages(e)), default=0)

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens of prompt and reply that the server says it has counted; 0 where it does not."""
        prompt = reply = 0
        for event in self.events:
            for counts in _usages(event):
                prompt = max(prompt, *(token_count(counts.get(name)) for name in _PROMPT_COUNTS))
                reply = max(reply, *(token_count(counts.get(name)) for name in _REPLY_COUNTS))
        return prompt, reply


_EVENT_END = re.compile(r"\r?\n\r?\n|\r\r")
_PROMPT_COUNTS = ("prompt_tokens", "input_tokens", "promptTokenCount")
_REASONING_COUNTS = ("reasoning_tokens", "thoughts_tokens", "thinking_tokens")
_REPLY_COUNTS = ("completion_tokens", "output_tokens", "candidatesTokenCount")


def _json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _words_of(event: Json) -> str:
    """What a server says of an error in a body or an event."""
    response = event.get("response")
    inner = event.get("error") or event.get("message") or (isinstance(response, dict) and response.get("error")) or ""
    said = inner.get("message") or inner if isinstance(inner, dict) else inner
    return said if isinstance(said, str) else json.dumps(said)


def _usages(event: Any) -> Iterator[Json]:  # noqa: ANN401 - any JSON value
    """The counts of tokens in a body or an event, also where they stand one level down."""
    if isinstance(event, dict):
        for holder in (event, event.get("message"), event.get("response")):
            for name in ("usage", "usageMetadata"):
                if isinstance(holder, dict) and isinstance(counts := holder.get(name), dict):
                    yield counts


def token_count(value: object) -> int:
    """A count of tokens that can be one; 0 for anything else that a server sends."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else 0


@dataclass(frozen=True, slots=True)
class Access:
    """How a provider is reached.

    Attributes:
        kind: of the provider.
        address: where it is.
        key: sent there.
        compatible: whether it is a server of the chat dialect that is not OpenAI's own.
        http: the client for it.
        version: of the interface, where the address does not say it (Azure).
        schema: whether the model keeps to a JSON schema, where the library does not know.
    """

    kind: str
    address: str
    key: str
    compatible: bool
    http: httpx2.AsyncClient
    version: str = ""
    schema: bool = True


def http_client(address: str, timeout: float, parallel: int) -> httpx2.AsyncClient:
    """A client that keeps copies of what goes and comes in `WIRE`; loopback is never reached through a proxy."""
    local = is_loopback(address)
    # Reading the certificates takes 40 ms. A context without any trusts nobody, and plain http needs none.
    plain = local and urlsplit(address).scheme == "http"
    return httpx2.AsyncClient(
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
        timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT), pool=None),
        limits=httpx2.Limits(max_connections=max(parallel, 100), max_keepalive_connections=max(parallel, 20)),
        trust_env=not local,
        event_hooks={"request": [_keep_body], "response": [_keep_answer]},
    )


async def _keep_body(request: httpx2.Request) -> None:
    kept = WIRE.get()
    if kept is not None:
        kept.bodies.append(request.content)


async def _keep_answer(response: httpx2.Response) -> None:
    kept = WIRE.get()
    if kept is not None:
        kept.begins(response)


# --- building -------------------------------------------------------------------------------------------------------


def build(model_id: str, access: Access) -> Model:
    """The library's model; its client makes one try only."""
    return _BUILDERS.get(access.kind, _openai)(model_id, access)


def load(kind: str) -> None:
    """Import what models of a kind need, as their first call does otherwise: a second in which nothing else is done."""
    address = "http://localhost"
    build("none", Access(kind, address, "none", True, http_client(address, _CONNECT, 1)))  # noqa: FBT003 - a record


def _openai(model_id: str, access: Access) -> Model:
    from openai import AsyncOpenAI  # noqa: PLC0415 - each SDK costs most of a second; only the one in use is loaded
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel  # noqa: PLC0415 - loads the SDK
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415 - loads the SDK
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - loads the SDK

    client = AsyncOpenAI(
        api_key=access.key,
        base_url=access.address,
        max_retries=0,
        timeout=access.http.timeout,
        http_client=access.http,
    )
    provider = OpenAIProvider(openai_client=client)
    if access.kind == "openai":
        return OpenAIResponsesModel(model_id, provider=provider)
    if not access.compatible:
        return OpenAIChatModel(model_id, provider=provider)
    # A name like o3-mini on a server of one's own says nothing about what it can; schemas go out as they are, with
    # the bounds on lengths that small models need.
    profile = OpenAIModelProfile(
        openai_chat_supports_max_completion_tokens=False,
        openai_supports_reasoning=False,
        openai_supports_strict_tool_definition=False,
        supports_json_schema_output=access.schema,
        thinking_tags=_NO_MARKS,  # `apart` finds reasoning in the text, also where it is not closed
        json_schema_transformer=None,
    )
    return OpenAIChatModel(model_id, provider=provider, profile=profile)


def _azure(model_id: str, access: Access) -> Model:
    from openai import AsyncAzureOpenAI, AsyncOpenAI  # noqa: PLC0415 - only the SDK in use is loaded
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - loads the SDK
    from pydantic_ai.providers.azure import AzureProvider  # noqa: PLC0415 - loads the SDK
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - loads the SDK

    if not access.version:
        client = AsyncOpenAI(
            api_key=access.key,
            base_url=access.address,
            max_retries=0,
            timeout=access.http.timeout,
            http_client=access.http,
        )
        profile = AzureProvider.model_profile(model_id)
        return OpenAIChatModel(model_id, provider=OpenAIProvider(openai_client=client), profile=profile)
    dated = AsyncAzureOpenAI(
        api_key=access.key,
        azure_endpoint=access.address,
        api_version=access.version,
        max_retries=0,
        timeout=access.http.timeout,
        http_client=access.http,
    )
    return OpenAIChatModel(model_id, provider=AzureProvider(openai_client=dated))


def _anthropic(model_id: str, access: Access) -> Model:
    from anthropic import AsyncAnthropic  # noqa: PLC0415 - only the SDK in use is loaded
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - only the SDK in use is loaded
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - only the SDK in use is loaded

    client = AsyncAnthropic(
        api_key=access.key,
        base_url=access.address,
        max_retries=0,
        timeout=access.http.timeout,
        http_client=access.http,
    )
    return AnthropicModel(model_id, provider=AnthropicProvider(anthropic_client=client))


def _google(model_id: str, access: Access) -> Model:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - only the SDK in use is loaded
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - only the SDK in use is loaded

    provider = GoogleProvider(api_key=access.key, base_url=access.address, http_client=access.http)
    return GoogleModel(model_id, provider=provider)


def _bedrock(model_id: str, access: Access) -> Model:
    failures = _aws("botocore.exceptions")
    from pydantic_ai.models.bedrock import BedrockConverseModel  # noqa: PLC0415 - only the SDK in use is loaded
    from pydantic_ai.providers.bedrock import BedrockProvider  # noqa: PLC0415 - only the SDK in use is loaded

    try:
        client = _bedrock_client(access)
    except failures.BotoCoreError as error:
        client, said = None, str(error)
    if client is None:
        name = f"bedrock:{model_id}"
        raise ModelUnavailableError(f"{name} cannot be asked: {said.rstrip('.')}. {_AWS_HELP}", model=name)
    return BedrockConverseModel(model_id, provider=BedrockProvider(bedrock_client=client))


def _aws(module: str) -> Any:  # noqa: ANN401 - a module has no better type
    return extra(module, "bedrock", "A model at Amazon Bedrock")


def _bedrock_client(access: Access) -> Any:  # noqa: ANN401 - boto3 makes its classes as it runs
    """A client that makes one try, signs with the key or with what is configured for AWS, and fills `WIRE`."""
    session = _aws("botocore.session").Session()
    options: Json = {
        "retries": {"total_max_attempts": 1},
        "read_timeout": access.http.timeout.read,
        "connect_timeout": access.http.timeout.connect,
    }
    if is_loopback(access.address):
        options["proxies"] = {}
    if access.key:
        options["signature_version"] = _aws("botocore").UNSIGNED
    elif session.get_credentials() is None:
        raise _aws("botocore.exceptions").NoCredentialsError
    named = _REGION.match(urlsplit(access.address).hostname or "")
    region = named[1] if named else session.get_config_variable("region")
    region = region or ("us-east-1" if access.address else None)  # an address of one's own needs none
    made = _aws("boto3").Session(botocore_session=session, region_name=region)
    config = _aws("botocore.config").Config(**options)
    client = made.client("bedrock-runtime", config=config, endpoint_url=access.address or None)

    def leaves(request: Any, **_: object) -> None:  # noqa: ANN401 - boto3's requests have no types
        if access.key:
            request.headers["Authorization"] = f"Bearer {access.key}"
        if (kept := WIRE.get()) is not None:
            kept.bodies.append(bytes(request.body or b""))
            kept.answered = True

    logging.getLogger("botocore").setLevel(logging.INFO)  # below that it logs requests and replies as they are
    client.meta.events.register("before-send.bedrock-runtime", leaves)
    return client


_BUILDERS: Mapping[str, Callable[[str, Access], Model]] = {
    "azure": _azure,
    "anthropic": _anthropic,
    "google": _google,
    "bedrock": _bedrock,
}


# --- asking ---------------------------------------------------------------------------------------------------------


def refused_sampling(profile: ModelProfile) -> frozenset[str]:
    """Sampling values that this very model rejects, whatever its provider takes."""
    known = cast("Mapping[str, Any]", profile)
    if known.get("anthropic_disallows_sampling_settings") or known.get("bedrock_disallows_sampling_settings"):
        return _NOT_FOR_ANTHROPIC
    if not known.get("openai_supports_reasoning"):
        return frozenset()
    efforts = known.get("openai_reasoning_efforts")
    can_stop = known.get("openai_supports_reasoning_effort_none") if efforts is None else "none" in efforts
    return frozenset() if can_stop and not known.get("thinking_enabled_by_default") else _NOT_WHILE_REASONING


def can_schema(model: Model) -> bool:
    """Whether the model keeps to a JSON schema natively."""
    return bool(model.profile.get("supports_json_schema_output"))


def thinks(model: Model) -> bool:
    """Whether the library knows that a model reasons if nobody asks it not to."""
    return bool(model.profile.get("thinking_enabled_by_default") or model.profile.get("thinking_always_enabled"))


def _let_reason(built: Json, effort: Effort | None, room: int, model: Model, access: Access) -> None:
    """Put into settings how much a model is to reason, and the room for it."""
    if "max_tokens" in built:
        built["max_tokens"] += room
    said = {} if effort is None else _reasoning(effort, model, access)
    if "extra_body" in said:
        built["extra_body"] = {**built.get("extra_body", {}), **said.pop("extra_body")}
    built |= said


def _reasoning(effort: Effort, model: Model, access: Access) -> Json:
    """How much a model is to reason, as its provider wants it said; nothing where it cannot be said."""
    if access.kind in _THINKING_SETTING:
        return {"thinking": effort if effort != "none" else False} if model.profile.get("supports_thinking") else {}
    if not access.compatible:
        able = model.profile.get("supports_thinking") or cast("Any", model.profile).get("openai_supports_reasoning")
        return {"openai_reasoning_effort": effort} if able else {}
    if access.kind == "openrouter":
        return {"extra_body": {"reasoning": {"effort": effort}}}
    if effort == "none" and access.kind in {"llamacpp", "vllm", "deepseek"}:
        off: Json = {"chat_template_kwargs": {"enable_thinking": False}}
        return {"extra_body": {"thinking": {"type": "disabled"}} if access.kind == "deepseek" else off}
    return {"openai_reasoning_effort": effort}


def settings(request: Request, model: Model, access: Access, able: frozenset[str], room: int) -> ModelSettings:
    """The request's sampling values as the library's settings, and the marks for prompt caches.

    `room` is what a reply may have beyond its bound, for reasoning.
    """
    values = {name: value for name, value in request.sampling.set_values().items() if name in able}
    values = {name: value for name, value in values.items() if name not in refused_sampling(model.profile)}
    if access.kind in {"anthropic", "bedrock"} and request.sampling.reasoning not in (None, "none"):
        values = {name: value for name, value in values.items() if name not in _NOT_FOR_ANTHROPIC}
    built: Json = {_SETTINGS[name]: value for name, value in values.items() if name in _SETTINGS}
    if "stop" in values:
        built["stop_sequences"] = list(values["stop"])
    if access.compatible:
        built.pop("top_k", None)
        built["extra_body"] = {wire: values[name] for name in values for wire in _EXTRA.get(name, ())}
        if access.kind == "mistral" and "seed" in built:
            built["extra_body"]["random_seed"] = built.pop("seed")
    elif access.kind in _WITH_CACHE_KEYS:
        built["openai_prompt_cache_key"] = _cache_key(request, str(model.model_name))
    elif access.kind == "anthropic":
        built["anthropic_cache_instructions"] = any(message.role == "system" for message in request.messages)
    _let_reason(built, request.sampling.reasoning, room, model, access)
    if wants_logprobs(request, model, access):
        built |= {"openai_logprobs": True, "openai_top_logprobs": request.logprobs}
    return cast("ModelSettings", built)


def wants_logprobs(request: Request, model: Model, access: Access) -> bool:
    """Whether log-probabilities are asked for and can be had: not while a model reasons, not from all providers."""
    able = access.kind.startswith("openai") or access.kind in _GIVE_LOGPROBS
    return bool(request.logprobs) and able and not refused_sampling(model.profile)


def _cache_key(request: Request, model_name: str) -> str:
    """Calls that begin alike share a key, and so a machine with a warm cache."""
    first = request.messages[0].content if request.messages else ""
    return "fabula-" + sha256(f"{model_name}\n{first}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def parameters(schema: Json | None) -> ModelRequestParameters:
    """Ask for text, or for JSON of a schema."""
    if schema is None:
        return ModelRequestParameters()
    wanted = OutputObjectDefinition(json_schema=schema, name="reply")
    return ModelRequestParameters(output_mode="native", output_object=wanted)


def choice_schema(choices: Sequence[str]) -> Json:
    """One of the choices, as an object: that is what all providers take."""
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def chosen(text: str) -> str:
    """The choice in a reply to `choice_schema`; the text as it is where it is no such object."""
    try:
        return str(json.loads(text)["choice"])
    except (ValueError, TypeError, KeyError):
        return text


def messages(request: Request, access: Access) -> list[ModelMessage]:
    """Our turns as the library's. For Anthropic, the last user turn but the final one ends a cached prefix."""
    marked = None
    if access.kind == "anthropic":
        stable = [i for i, message in enumerate(request.messages[:-1]) if message.role == "user"]
        marked = stable[-1] if stable else None
    built: list[ModelMessage] = []
    for i, message in enumerate(request.messages):
        if message.role == "assistant":
            built.append(ModelResponse(parts=[TextPart(message.content)]))
            continue
        if message.role == "system":
            part: SystemPromptPart | UserPromptPart = SystemPromptPart(message.content)
        else:
            part = UserPromptPart([message.content, CachePoint()] if i == marked else message.content)
        last = built[-1] if built else None
        if isinstance(last, ModelRequest):
            last.parts = [*last.parts, part]
        else:
            built.append(ModelRequest(parts=[part]))
    return built


async def whole(
    model: Model, turns: list[ModelMessage], using: ModelSettings, asked: ModelRequestParameters
) -> ModelResponse:
    """One request, answered at once.

    Raises:
        UnexpectedModelBehavior: the reply is not whole. Anthropic's is a stream under the hood and may be cut.
    """
    response = await model_request(model, turns, model_settings=using, model_request_parameters=asked)
    if model.system == "anthropic" and not _ended(response):
        raise theirs.UnexpectedModelBehavior(_CUT)
    return response


async def streamed(
    model: Model,
    turns: list[ModelMessage],
    using: ModelSettings,
    asked: ModelRequestParameters,
    on_text: OnText,
) -> ModelResponse:
    """One request, its text handed on as it comes; leaving early, by error or cancellation, closes the connection.

    Raises:
        UnexpectedModelBehavior: the stream ended before the reply did.
    """
    async with model_request_stream(model, turns, model_settings=using, model_request_parameters=asked) as stream:
        async for event in stream:
            if piece := _piece(event):
                on_text(piece)
            elif (thought := _thought(event)) and (counts := THOUGHT.get()) is not None:
                counts(thought)
        response = stream.get()
    if not _ended(response):
        raise theirs.UnexpectedModelBehavior(_CUT)
    return response


def _piece(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _thought(event: ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, ThinkingPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, ThinkingPartDelta):
        return event.delta.content_delta or ""
    return ""


def check_reply(response: ModelResponse, wire: Wire) -> None:
    """Refuse what the library took for a reply and is none: an error, an odd event, or nothing at all.

    A text of no words is a reply where the server says that the model ended so and wrote hardly a token.

    Raises:
        UnexpectedModelBehavior: it is none.
    """
    if wire.problem is not None:
        raise theirs.UnexpectedModelBehavior(wire.problem or _NO_OBJECT)
    refused = response.finish_reason in {"length", "content_filter"} or (response.provider_details or {}).get("refusal")
    written = token_count(response.usage.output_tokens)
    silent = not any(isinstance(part, TextPart) and part.content for part in response.parts)
    if silent and not refused and (wire.says_nothing or not _ended(response) or written > _NO_WORD):
        raise theirs.UnexpectedModelBehavior(_NO_TEXT)


def _ended(response: ModelResponse) -> bool:
    """Whether the server itself said how the reply ended; the library assumes a good end where it did not."""
    details = response.provider_details or {}
    return bool(details.get("finish_reason") or details.get("refusal"))


# --- reading --------------------------------------------------------------------------------------------------------


def text(response: ModelResponse) -> str:
    """What the model said; where it declined, its words for that."""
    said = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return said or str((response.provider_details or {}).get("refusal") or "")


def reasoning(response: ModelResponse) -> str:
    """What the model thought, where its server shows it apart from the text."""
    thoughts = (part.content for part in response.parts if isinstance(part, ThinkingPart))
    return "\n\n".join(thought.strip() for thought in thoughts if thought and thought.strip())


def usage(response: ModelResponse, address: str, wire: Wire, thought: str) -> Usage:
    """Tokens and cost; the cost is known only where the price data knows both the address and the model.

    Counts that cannot be are 0, as of a server that gives none. Reasoning that was `thought` is counted among what was
    written, also where a server counts it beside that.
    """
    counted = response.usage
    given = counted.input_tokens, counted.cache_read_tokens, counted.output_tokens
    prompt, cached, reply = map(token_count, given)
    dollars: float | None = None
    if (prompt or reply) and (prompt, cached, reply) == given:
        with suppress(LookupError, ValueError):
            dollars = float(calc_price(counted, response.model_name or "", provider_api_url=address).total_price)
    reasoned = max(token_count(counted.details.get(name)) for name in _REASONING_COUNTS)
    if reasoned and wire.total == prompt + reply + reasoned:  # beside what was written, as xAI counts
        reply, dollars = reply + reasoned, None
    return Usage(
        prompt,
        cached,
        reply,
        cost=dollars,
        reasoning=min(reply, reasoned or (estimate_tokens(thought) if thought else 0)),
    )


def first_token(response: ModelResponse) -> Mapping[str, float] | None:
    """Natural logs of the likeliest first tokens, or `None` where the provider gave none."""
    found = (response.provider_details or {}).get("logprobs")
    for part in response.parts:
        if not found and isinstance(part, TextPart):
            found = (part.provider_details or {}).get("logprobs")
    if not found:
        return None
    result: dict[str, float] = {}
    for entry in found[0].get("top_logprobs") or found[:1]:
        result.setdefault(entry["token"], float(entry["logprob"]))
    return result


def sent(wire: Wire) -> Mapping[str, Any]:
    """The sampling values in the request that left, under our names."""
    if not wire.bodies:
        return {}
    body = json.loads(wire.bodies[-1] or b"{}")
    for inner in ("generationConfig", "inferenceConfig", "additionalModelRequestFields"):
        body |= body.get(inner) or {}
    body |= {"effort": said} if (said := _effort(body)) is not None else {}
    return {name: body[wire] for name, wires in sorted(_ON_THE_WIRE.items()) for wire in wires if wire in body}


def _effort(body: Json) -> object:
    """How much reasoning a request asks for, wherever its provider wants that to stand."""
    for holder in ("reasoning", "thinking", "thinkingConfig", "output_config", "chat_template_kwargs"):
        if isinstance(inner := body.get(holder), dict) and inner:
            return inner.get("effort") or inner.get("thinkingLevel") or json.dumps(inner, sort_keys=True)
    return body.get("reasoning_effort")


def dropped(sampling: Sampling, went: Mapping[str, Any]) -> tuple[str, ...]:
    """Sampling values that were set and did not leave."""
    return tuple(sorted(set(sampling.set_values()) - set(went)))


# --- failing ----------------------------------------------------------------------------------------------------------


class Wording:
    """Words about one model for the messages of its errors.

    `scrub` takes the key out of any text; `keys` names the variables that may hold it. `start` and `fetch` are the
    commands for a server of one's own, empty for others.
    """

    start = fetch = ""

    def __init__(self, name: str, address: str, keys: str, scrub: Callable[[str], str]) -> None:
        self.name, self.address, self.keys, self.scrub = name, address, keys, scrub


def ours(error: Exception, wording: Wording, wire: Wire) -> ModelError:
    """Our error for one that came out of the library; its words are the server's, without the key.

    It is to be raised outside the `except` block: the library's error, and the key it may hold, must not travel along.
    """
    problem = wire.problem
    if wire.too_long:
        kind, happened, said = ModelError, f"at {{address}} sent more than {LARGEST // 10**6} MB as one reply.", ""
    elif isinstance(error, LIBRARY_ERRORS) and (wire.rejected or not problem or type(error) not in _UNEXPECTED):
        kind, happened = _kind(error)
        happened += _advice(error, wording)
        said = _said(error)
    elif not wire.answered:
        kind, happened, said = ModelError, "could not be asked: the client library failed.", _cut(repr(error))
    else:
        rejected = wire.status in _REJECTED and wire.status not in _TRY_AGAIN
        failed = OverloadedError if problem else UnreadableReplyError
        kind, happened = (ModelError, "rejected the request.") if rejected else (failed, _NO_REPLY)
        said = _cut(problem or "")
    happened, said = happened.format(address=wording.address, keys=wording.keys), wording.scrub(said)
    after = getattr(error, "retry_after", None)
    after = _LOADS if after is None and kind is OverloadedError and _said_class(error) is BlockingIOError else after
    failure = kind(
        f"{wording.name} {happened}" + (f" It said: {said}" if said else ""),
        model=wording.name,
        retry_after=after if isinstance(after, int | float) and isfinite(after) and after >= 0 else None,
    )
    failure.tokens = wire.tokens
    failure.may_cost = failure.may_cost or _may_cost(error, wire)
    return failure


def _may_cost(error: Exception, wire: Wire) -> bool:
    """Whether a server may have worked on a reply that did not come: it broke off, gave up, or sent too much."""
    broke_off = isinstance(error, theirs.ModelConnectionError) and getattr(error, "phase", None) != "connect"
    return broke_off or wire.too_long or str(error) == _CUT or getattr(error, "status_code", None) in _GAVE_UP


def _advice(error: Exception, wording: Wording) -> str:
    """The command that helps with a server of one's own; empty for others."""
    if isinstance(error, theirs.ModelConnectionError) and wording.start and getattr(error, "phase", None) == "connect":
        return f" `{wording.start}` starts it; `fabula models` lists what answers on this machine."
    if isinstance(error, theirs.ModelNotFoundError) and wording.name.startswith("azure:"):
        return " At Azure this is the name of your deployment."
    if isinstance(error, theirs.ModelNotFoundError) and wording.fetch:
        return f" Say `{wording.fetch}`; `fabula models` lists what is served here."
    return ""


def is_filtered(error: Exception) -> bool:
    """Whether the provider withheld the reply for its content: a refusal, not a failure."""
    if isinstance(error, theirs.ContentFilterError):
        return True
    inner = _inner(getattr(error, "body", None))
    if isinstance(metadata := inner.get("metadata"), dict) and metadata.get("reasons"):  # OpenRouter's moderation
        return True
    return isinstance(error, theirs.ModelAPIError) and error.provider_error_code in _FILTERED_CODES


def _kind(error: Exception) -> tuple[type[ModelError], str]:
    """Our class and what happened; the first line of the table that fits counts."""
    if isinstance(error, theirs.ModelAPIError) and error.provider_error_type in _CONTEXT_TYPES:
        error_class: type[Exception] = theirs.ModelContextWindowExceededError
    else:
        error_class = _said_class(error) or type(error)
    if error_class is MemoryError:
        return ModelUnavailableError, _NO_MEMORY
    if error_class is BlockingIOError:
        return OverloadedError, "is still being loaded by its server."
    if issubclass(error_class, theirs.ModelConnectionError) and getattr(error, "phase", None) == "connect":
        return UnreachableError, (
            "cannot be reached at {address}. Start the server, or correct the address (--base-url), or check the "
            "network."
        )
    if str(error) == _CUT:
        return OverloadedError, _NO_REPLY
    for theirs_class, our_class, happened in _TABLE:
        if issubclass(error_class, theirs_class):
            return our_class, happened
    return _by_status(error)


def _said_class(error: Exception) -> type[Exception] | None:
    """The class of an error whose server says in words what no code and no status of its own says."""
    if not isinstance(error, theirs.ModelHTTPError) or error.status_code in (401, 402, 403, 404, 429):
        return None
    said = _said(error).lower()
    for words, error_class in _SAID:
        if any(word in said for word in words):
            return error_class
    return None


_SAID: tuple[tuple[tuple[str, ...], type[Exception]], ...] = (
    (_MEMORY_WORDS, MemoryError),
    (_CONTEXT_WORDS, theirs.ModelContextWindowExceededError),
    (_LOADING_WORDS, BlockingIOError),
    (_KEY_WORDS, theirs.ModelAuthenticationError),
)
_NO_MEMORY = (
    "does not fit into the memory of its server. Take a smaller model or quantisation, give it a shorter context "
    "there, or free memory."
)
_TABLE: tuple[tuple[type[Exception], type[ModelError], str], ...] = (
    (theirs.ModelTimeoutError, ModelTimeoutError, "at {address} did not answer in time."),
    (theirs.ModelRequestTimeout, ModelTimeoutError, "at {address} did not answer in time."),
    (theirs.ModelConnectionError, OverloadedError, "at {address} broke off before the reply was whole."),
    (
        theirs.ModelContextWindowExceededError,
        ContextLengthError,
        "cannot take this prompt: it is longer than its context. Use a model with a longer one, or shorten the plan.",
    ),
    (theirs.ModelAuthenticationError, ModelUnavailableError, "refused the key at {address}. Check {keys}."),
    (
        theirs.ModelNotFoundError,
        ModelUnavailableError,
        "was not found at {address} (404). Check the model's name and the address, which often has to end in /v1.",
    ),
    (theirs.ModelQuotaExceededError, ModelUnavailableError, "has no credit or quota left on this account."),
    (theirs.ModelRateLimitError, OverloadedError, "asks for fewer calls (429)."),
    (theirs.ModelUnavailableError, OverloadedError, "is overloaded or down for now."),
    (theirs.ModelServerError, OverloadedError, "failed on the server's side."),
    (theirs.UserError, ModelError, "cannot be asked this way."),
    (theirs.UnexpectedModelBehavior, UnreadableReplyError, _NO_REPLY),
)
_UNEXPECTED = frozenset({theirs.UnexpectedModelBehavior, theirs.ModelAPIError, theirs.ModelHTTPError})


def _by_status(error: Exception) -> tuple[type[ModelError], str]:
    """By the HTTP status, where the library has no class for it."""
    status = getattr(error, "status_code", None)
    if status is None:
        return UnreadableReplyError, _NO_REPLY
    if status in _TRY_AGAIN or status >= _SERVER_FAILED:
        return OverloadedError, f"is busy or failed ({status})."
    return ModelError, f"rejected the request ({status})."


def _said(error: Exception) -> str:
    """The server's own words, cut to a readable length; nothing where no server spoke."""
    if isinstance(error, theirs.ModelConnectionError | theirs.ModelRequestTimeout):
        return ""
    body = getattr(error, "body", None)
    inner = _inner(body)
    words = [text for name in ("message", "Message", "error", "detail") if isinstance(text := inner.get(name), str)]
    if isinstance(metadata := inner.get("metadata"), dict) and metadata.get("raw"):  # what OpenRouter's provider said
        words.append(str(metadata["raw"]))
    if not words:
        words = [body if isinstance(body, str) and body else str(body or error)]
    return _cut(" ".join(words))


def _inner(body: object) -> Json:
    """The object of an error's body that says what happened; empty where there is none."""
    if not isinstance(body, dict):
        return {}
    inner = body.get("error") or body.get("Error")
    return inner if isinstance(inner, dict) else body


def _cut(text: str) -> str:
    """A text on one line, cut to a readable length."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
