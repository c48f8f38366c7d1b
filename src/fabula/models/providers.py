"""Hosted models and compatible servers, called by fabula's own clients (`dialects`, `wire`).

The kinds are `openai` (Responses API), `openai-chat` (chat completions: OpenAI's own or any server at an address),
`anthropic`, `google` and `bedrock`. There are also names for servers that use chat completions, with their usual
addresses and keys: `ollama`, `lmstudio`, `llamacpp` and `vllm` on this machine, and `openrouter`, `mistral`, `groq`,
`azure` and the others in `KINDS` for hosted ones. One call is one try; `Limited` does retries. The HTTP library is
imported with the first call.

A compatible server also gets the sampling values that OpenAI does not have, under the names that vLLM, llama.cpp and
OpenRouter use: `top_k`, `min_p`, `repetition_penalty` (vLLM, OpenRouter) together with `repeat_penalty` (llama.cpp),
`repeat_last_n`, `dry_*` (llama.cpp). These servers and Ollama ignore unknown names. If a server rejects such a value or
a JSON schema, the call is repeated without it. `Reply.sent` lists what was sent, and `Reply.dropped` what was not.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

from fabula.base.errors import (
    FabulaError,
    ModelError,
    ModelUnavailableError,
    OverloadedError,
    UnknownNameError,
    UsageError,
)
from fabula.base.extras import require
from fabula.models.base import NOTHING_USED, SAMPLING_FIELDS, Capabilities, Reply, Usage
from fabula.models.budget import estimate_tokens
from fabula.models.dialects import (
    ANTHROPIC_VERSION,
    CHAT,
    DIALECTS,
    Asked,
    Received,
    body_of,
    keeps_to_schemas,
    merged,
    reasoning_part,
    refused_values,
    thinks,
)
from fabula.models.known import is_small
from fabula.models.prices import listed_cost
from fabula.models.prompt_text import form_wanted
from fabula.models.reasoning import Apart, apart, room_for_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import httpx2

    from fabula.models.base import Json, OnText, Request
    from fabula.models.dialects import Dialect
    from fabula.models.wire import Call

PLACEHOLDER_KEY = "no-key-needed"
DEFAULT_TIMEOUT = 600.0
_HIDDEN = "[key]"
VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]{0,99})\}")
"""The pattern of a reference to an environment variable in a setting."""
_SCHEMA_WORDS: Final = re.compile(
    r"response_?format|json_?schema|structured|output_config|grammar|textFormat|\bschema\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ProviderKind:
    """A kind of provider: its usual address, the variables that may hold its key, and what it accepts.

    Attributes:
        title: the name for people.
        address: the usual address; empty if every user has their own.
        keys: the variables that may hold the key.
        sampling: the sampling values that it accepts.
        logprobs: whether it gives log-probabilities.
        schemas: the beginnings of the names of models that keep to a JSON schema.
        chat: whether it is a server of the chat dialect under its own name.
        start: the command that starts a server on the user's own machine, which needs no key.
        fetch: the command that fetches a model there.
        address_variable: the variable that holds the address or its region.
        signed: whether requests without a key are signed with the user's configuration of its client library.
    """

    title: str
    address: str
    keys: tuple[str, ...]
    sampling: frozenset[str]
    logprobs: bool = False
    schemas: tuple[str, ...] = ("",)
    chat: bool = False
    start: str = ""
    fetch: str = ""
    address_variable: str = ""
    signed: bool = False

    @property
    def own(self) -> bool:
        """Whether it is a server that people start on their own machine."""
        return bool(self.start)


_COMMON = frozenset({"temperature", "top_p", "max_tokens", "reasoning"})
_CHAT = _COMMON | {"presence_penalty", "frequency_penalty", "seed", "stop"}
_OPEN = _CHAT | {"top_k", "min_p", "repeat_penalty"}  # of who serves open weights with vLLM or the like
_FEW = _CHAT - {"presence_penalty", "frequency_penalty"}
_GPT_OSS = ("openai/gpt-oss", "gpt-oss")
_OPENAI = "https://api.openai.com/v1"
_GOOGLE = "https://generativelanguage.googleapis.com"


def _own(title: str, port: int, key: str, start: str, fetch: str) -> ProviderKind:
    """A server of the chat dialect on the user's own machine."""
    address = f"http://127.0.0.1:{port}/v1"
    return ProviderKind(title, address, (key,), SAMPLING_FIELDS, logprobs=True, chat=True, start=start, fetch=fetch)


def _hosted(
    title: str,
    address: str,
    keys: str,
    sampling: frozenset[str] = _CHAT,
    *,
    logprobs: bool = False,
    schemas: tuple[str, ...] = ("",),
    address_variable: str = "",
) -> ProviderKind:
    """A provider of the chat dialect; `keys` are the names of its variables, the one to name first."""
    names = tuple(keys.split())
    return ProviderKind(
        title, address, names, sampling, logprobs, schemas, chat=True, address_variable=address_variable
    )


KINDS: Mapping[str, ProviderKind] = {
    "openai": ProviderKind("OpenAI", _OPENAI, ("OPENAI_API_KEY",), _COMMON, logprobs=True),
    "openai-chat": ProviderKind(
        "a server of the chat dialect", _OPENAI, ("FABULA_OPENAI_CHAT_KEY", "OPENAI_API_KEY"), _CHAT, logprobs=True
    ),
    "anthropic": ProviderKind(
        "Anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), _COMMON | {"top_k", "stop"}
    ),
    "google": ProviderKind("Google", _GOOGLE, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), _CHAT | {"top_k"}),
    "bedrock": ProviderKind(
        "Amazon Bedrock",
        "",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        _COMMON | {"top_k", "stop"},
        address_variable="AWS_REGION",
        signed=True,
    ),
    "ollama": _own("Ollama", 11434, "OLLAMA_API_KEY", "ollama serve", "ollama pull NAME"),
    "lmstudio": _own("LM Studio", 1234, "LM_API_TOKEN", "lms server start", "lms get NAME"),
    "llamacpp": _own("llama.cpp", 8080, "LLAMA_API_KEY", "llama-server -m FILE.gguf", "llama-server -m FILE.gguf"),
    "vllm": _own("vLLM", 8000, "VLLM_API_KEY", "vllm serve NAME", "vllm serve NAME"),
    "openrouter": _hosted(
        "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", SAMPLING_FIELDS, logprobs=True
    ),
    "mistral": _hosted("Mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "deepseek": _hosted(
        "DeepSeek", "https://api.deepseek.com", "DEEPSEEK_API_KEY", _CHAT - {"seed"}, logprobs=True, schemas=()
    ),
    "groq": _hosted(
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        schemas=("openai/gpt-oss", "moonshotai/kimi-k2", "meta-llama/llama-4"),
    ),
    "xai": _hosted("xAI", "https://api.x.ai/v1", "XAI_API_KEY", logprobs=True),
    "together": _hosted("Together AI", "https://api.together.xyz/v1", "TOGETHER_API_KEY", _OPEN, schemas=_GPT_OSS),
    "fireworks": _hosted("Fireworks AI", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", _OPEN),
    "cerebras": _hosted("Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", _FEW, schemas=_GPT_OSS),
    "sambanova": _hosted("SambaNova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY", _FEW, schemas=()),
    "nebius": _hosted("Nebius", "https://api.studio.nebius.com/v1", "NEBIUS_API_KEY", schemas=()),
    "moonshot": _hosted(
        "Moonshot AI", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY MOONSHOTAI_API_KEY", _FEW, schemas=()
    ),
    "alibaba": _hosted(
        "Alibaba Cloud",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY ALIBABA_API_KEY",
        _CHAT - {"frequency_penalty"},
        schemas=(),
    ),
    "zai": _hosted("Z.AI", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", _COMMON | {"stop"}, schemas=()),
    "ovhcloud": _hosted("OVHcloud", "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD_API_KEY", schemas=()),
    "huggingface": _hosted(
        "Hugging Face's providers", "https://router.huggingface.co/v1", "HF_TOKEN", _FEW, schemas=()
    ),
    "vercel": _hosted(
        "Vercel's gateway",
        "https://ai-gateway.vercel.sh/v1",
        "AI_GATEWAY_API_KEY VERCEL_AI_GATEWAY_API_KEY VERCEL_OIDC_TOKEN",
        schemas=(),
    ),
    "azure": _hosted(
        "Azure OpenAI", "", "AZURE_OPENAI_API_KEY", logprobs=True, address_variable="AZURE_OPENAI_ENDPOINT"
    ),
}
CHAT_KINDS = frozenset({"openai-chat", *(name for name, kind in KINDS.items() if kind.chat)})
OWN_KINDS = tuple(name for name, kind in KINDS.items() if kind.own)
_ROOT = 2  # slashes of an address without a path
_AZURE_VERSION = "OPENAI_API_VERSION"
_REGIONS = ("AWS_REGION", "AWS_DEFAULT_REGION")
_REGION = re.compile(r"[a-z0-9-]{1,40}")
_GIVE_LOGPROBS = frozenset({"ollama", "lmstudio", "llamacpp", "vllm", "openrouter", "deepseek", "xai", "azure"})


def usual_address(kind: str, environ: Mapping[str, str]) -> str:
    """The usual address of a provider or server; empty if every user has their own.

    Ollama's own variable changes its address, `AZURE_OPENAI_ENDPOINT` gives the address of an Azure resource, and the
    region gives the address of Bedrock.
    """
    known = KINDS[kind]
    if kind == "bedrock":
        region = next((said for name in _REGIONS if (said := environ.get(name, "").strip())), "")
        return f"https://bedrock-runtime.{region}.amazonaws.com" if _REGION.fullmatch(region) else ""
    if known.address_variable:
        address = environ.get(known.address_variable, "").strip().rstrip("/")
        versioned = environ.get(_AZURE_VERSION, "").strip() or not address or address.endswith("/v1")
        return address if versioned else f"{address}/openai/v1"
    if kind == "ollama" and (said := environ.get("OLLAMA_HOST", "").strip()):
        return _ollama_host(said) or known.address
    return known.address


def served_at(kind: str, address: str) -> str:
    """The address without a slash at its end, with the version path for a server's own address if it lacks one."""
    address = address.strip().rstrip("/")
    return f"{address}/v1" if KINDS[kind].own and address.count("/") == _ROOT else address


def _ollama_host(said: str) -> str:
    """The address that `OLLAMA_HOST` names ("0.0.0.0", "gpu:11434", "http://gpu"); empty where it is none."""
    try:
        parts = urlsplit(said if "://" in said else f"http://{said}")
        host, port = parts.hostname or "127.0.0.1", parts.port
    except ValueError:
        return ""
    host = "127.0.0.1" if host in {"0.0.0.0", "::"} else host  # noqa: S104 - what a server listens on, reached here
    host = f"[{host}]" if ":" in host else host
    usual = {"https": 443}.get(parts.scheme, 80 if "://" in said else 11434)
    return f"{parts.scheme}://{host}:{port or usual}/v1"


@dataclass(frozen=True, slots=True)
class Gateway:
    """Additions to every request, for gateways and servers that require them.

    In headers and in the query, write keys as `${NAME}`, which is replaced by the environment variable.

    Attributes:
        headers: headers that are added to those of the dialect, or replace them.
        query: the query that is appended to the address.
        body: fields that are merged into the body and override fabula's own.
        schema: whether the server is asked to keep to JSON schemas.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    schema: bool = True

    def variables(self) -> tuple[str, ...]:
        """The environment variables that the additions refer to."""
        texts = (*self.headers.values(), *self.query.values())
        return tuple(dict.fromkeys(name for text in texts for name in VARIABLE.findall(text)))


@dataclass
class Likeness:
    """A check that the replicas of a model are the same: the last part of the model name in their replies must agree.

    Attributes:
        said: the first server that answered and the name in its reply, by the name that was asked for.
        broken: why the replicas differ; empty if they do not. After that, none of them is called.
    """

    said: dict[str, tuple[str, str]] = field(default_factory=dict)
    broken: str = ""

    def check(self, model: str, asked: str = "", address: str = "", says: str = "", used: Usage = NOTHING_USED) -> None:
        """Check the name in a reply.

        Raises:
            ModelError: the replicas differ, now or earlier.
        """
        if says and not self.broken:
            first, name = self.said.setdefault(asked, (address, says))
            if address != first and _last_part(name) != _last_part(says):
                self.broken = (
                    f"The replicas of {model} do not serve the same model: {first} serves {name!r}, but {address} "
                    f"serves {says!r}. Serve the same model at both addresses, or remove one of them from `base_url`. "
                    "fabula makes no further calls."
                )
        if self.broken:
            failure = ModelError(self.broken, model=model)
            failure.tokens = (used.prompt, used.reply)
            raise failure


def _last_part(name: str) -> str:
    """A model's name without the folder that it lies in on one machine."""
    return name.rpartition("/")[2].casefold()


@dataclass
class _Listener:
    """Hands pieces of a reply on; knows when it began and its first one came, and the listener's own error if any."""

    on_text: OnText | None
    clock: Callable[[], float]
    started: float
    first: float | None = None
    failure: Exception | None = None
    _apart: Apart = field(default_factory=Apart)

    def __call__(self, piece: str) -> None:
        self.hear(self._apart.take(piece))

    def ends(self) -> None:
        """The reply has ended: what looked like the beginning of reasoning was text."""
        self.hear(self._apart.rest())

    def hear(self, piece: str) -> None:
        """Hand on a piece of text."""
        if not piece:
            return
        if self.first is None:
            self.first = self.clock()
        try:
            if self.on_text is not None:
                self.on_text(piece)
        except Exception as error:
            self.failure = error
            raise


@dataclass(eq=False, repr=False)
class ProviderModel:
    """A model at a provider or server. Build it with `provider_model`, which checks the values and finds the key.

    Replies are streamed only if someone listens (`on_text`), because a streamed call costs more CPU time. `Usage.first`
    is then the time to the first text, otherwise `None`. A reply to `choices` is passed on as a whole, because it is
    JSON in transit. With `logprobs`, choices are asked for in words, so that the first token is the choice itself.

    If a server rejects part of a request, that part is left out of all later requests: sampling values that the server
    names, and the JSON schema, which is then described in words. If a server answers a schema with something other than
    JSON, later requests also describe the form in words. The identity of a request does not change.

    Attributes:
        kind: a name in `KINDS`.
        model_id: the model's name at the provider; a request's `adapter` replaces it for that request.
        address: the address for requests.
        key: the key, which is sent only to that address and never shown.
        key_names: the variables that may hold the key, for messages.
        clock: a function that gives seconds, for `Usage.seconds` and `Usage.first`.
        context: the tokens of prompt and reply together, if known.
        version: the version of the interface, which Azure requires at addresses that do not end in /v1.
        gateway: the additions to every request.
        secrets: the values of the variables in `gateway`, which are never shown; a variable without a value is missing.
        alike: the check that its replicas share.
    """

    kind: str
    model_id: str
    address: str
    key: str
    key_names: tuple[str, ...]
    parallel: int = 8
    timeout: float = DEFAULT_TIMEOUT
    clock: Callable[[], float] = time.monotonic
    version: str = ""
    context: int | None = None
    gateway: Gateway = Gateway()
    secrets: Mapping[str, str] = field(default_factory=dict)
    alike: Likeness = field(default_factory=Likeness)
    _thinks: bool = field(default=False, init=False)
    _left_out: dict[str, frozenset[str]] = field(default_factory=dict, init=False)
    _in_words: set[str] = field(default_factory=set, init=False)
    _open: tuple[asyncio.AbstractEventLoop, httpx2.AsyncClient] | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r}, {_shown(self.address)!r})"

    @property
    def name(self) -> str:
        """`kind:model`."""
        return f"{self.kind}:{self.model_id}"

    @property
    def identity(self) -> str:
        """The name, because a provider's name determines the weights, and an address does not change a reply."""
        return self.name

    @property
    def compatible(self) -> bool:
        """Whether this server uses the chat dialect but is not OpenAI's own."""
        return self.kind in CHAT_KINDS - {"azure"} and not _is_openai(self.address)

    @property
    def capabilities(self) -> Capabilities:
        """What the provider accepts. A model may accept less; a reply lists in `dropped` what was not sent."""
        kind = KINDS[self.kind]
        schema = self._keeps_to_schemas(self.model_id)
        return Capabilities(
            schema=schema,
            choices=schema,
            logprobs=kind.logprobs,
            sampling=SAMPLING_FIELDS if self.kind == "openai-chat" and self.compatible else kind.sampling,
            context=self.context,
            parallel=self.parallel,
            small=is_small(self.model_id),
            thinks=self._thinks,
        )

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The provider's reply; a refusal and a content filter are replies with `finish` "refusal".

        Raises:
            ModelUnavailableError: the key is missing or refused, or there is no connection, model or credit.
            ModelTimeoutError: there is no answer in time.
            OverloadedError: the server sent 429, 5xx, a cut stream or an unreadable reply; `retry_after` is its value.
            ContextLengthError: the prompt is too long.
            ModelError: the server rejected the request; the message quotes it.
            UsageError: the extra `providers` is not installed.
        """
        require("httpx2", "providers", f"The model {self.name}")
        self._check_reachable()
        self.alike.check(self.name)
        name = request.adapter or self.model_id
        left_out = self._left_out.get(name, frozenset())
        while True:
            outcome, more = await self._try(request, on_text, left_out)
            if isinstance(outcome, Reply):
                self._left_out[name] = left_out
                if request.schema is not None and outcome.finish == "stop" and not _holds_json(outcome.text):
                    self._in_words.add(name)
                return outcome
            if not more - left_out:
                raise outcome
            left_out |= more

    def _check_reachable(self) -> None:
        """Raise a `ModelUnavailableError` if there is no address, no key, or no value of a variable."""
        kind = KINDS[self.kind]
        lacks = ""
        if not (self.address or kind.signed):
            lacks = f"There is no address for {self.name}. Set {kind.address_variable} in the environment, or specify "
            lacks += "--base-url."
        elif not (self.key or kind.signed):
            lacks = f"There is no key for {self.name}. "
            lacks += f"Set {' or '.join(self.key_names)} in the environment, as in `export {self.key_names[0]}=KEY`."
        elif missing := [name for name in self.gateway.variables() if not self.secrets.get(name)]:
            lacks = f"{self.name} requires the value of {' and '.join(missing)}. "
            lacks += f"Set it in the environment, as in `export {missing[0]}=VALUE`."
        if lacks:
            raise ModelUnavailableError(lacks, model=self.name)

    async def _try(
        self, request: Request, on_text: OnText | None, left_out: frozenset[str]
    ) -> tuple[Reply | ModelError, frozenset[str]]:
        """The reply to one request; or the error, and what may be left out of the next one."""
        from fabula.models import wire  # noqa: PLC0415 - 0.1 s of import

        asked = self._asked(request, left_out, streamed=on_text is not None)
        heard, got = _Listener(on_text, self.clock, self.clock()), Received()
        choosing = asked.schema is not None and request.schema is None
        try:
            call = await self._call(asked)
            listens = None if on_text is None or choosing else heard
            await wire.exchange(self._client(), call, self._dialect, got, listens)
            heard.ends()
            reply = self._reply(request, asked, got, heard)
            if choosing:
                heard.hear(reply.text)
        except Exception as error:  # servers send anything, and whoever listens may raise anything
            if heard.failure is not None:
                raise heard.failure from None
            if isinstance(error, FabulaError):
                raise
            if isinstance(error, wire.RefusedError) and wire.is_filtered(error):
                return Reply("", self._usage(got, "", heard), "refusal", self.name, _sent(asked)), frozenset()
            start, fetch = _how(self.kind, self.model_id)
            keys = " or ".join((*self.key_names, *self.gateway.variables()))
            wording = wire.Wording(self.name, _shown(self.address), keys, self._scrub, start, fetch)
            failure = wire.failure_of(error, wording, got)
            more: frozenset[str] = frozenset()
            if isinstance(error, wire.RefusedError):
                more = _rejected(failure, wire.words_of(error.said), asked)
        else:
            return reply, frozenset()
        return failure, more

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        held, self._open = self._open, None
        if held is not None and held[0] is asyncio.get_running_loop():
            await held[1].aclose()

    def _asked(self, request: Request, left_out: frozenset[str], *, streamed: bool) -> Asked:
        """The request for this model, without what it does not take."""
        name = request.adapter or self.model_id
        self._thinks = self._thinks or thinks(self.kind, name, compatible=self.compatible)
        native = self._keeps_to_schemas(name) and "schema" not in left_out
        choosing = bool(request.choices) and not request.logprobs
        schema = request.schema if request.schema is not None else _choice_schema(request.choices) if choosing else None
        messages = request.messages
        if schema is not None and (not native or name in self._in_words):
            words = f"{messages[-1].content}\n\n{form_wanted(request)}"
            messages = (*messages[:-1], replace(messages[-1], content=words))
        asked = Asked(
            kind=self.kind,
            model=name,
            compatible=self.compatible,
            messages=messages,
            values={},
            effort=None if "reasoning" in left_out else request.sampling.reasoning,
            schema=schema if native else None,
            stream=(streamed and (request.schema is not None or not (choosing and native))) or self._dialect.streams,
        )
        refused = refused_values(asked) | left_out | {"reasoning"}
        taken = self.capabilities.sampling - refused
        wanted = request.sampling.set_values().items()
        values: Json = {name: list(value) if name == "stop" else value for name, value in wanted if name in taken}
        if "max_tokens" in values:
            values["max_tokens"] += room_for_reasoning(request.sampling, thinks=self._thinks)
        able = self.kind.startswith("openai") or self.kind in _GIVE_LOGPROBS
        likeliest = request.logprobs if able and "logprobs" not in left_out and "temperature" not in refused else 0
        return replace(asked, values=values, logprobs=likeliest)

    @property
    def _dialect(self) -> Dialect:
        return DIALECTS.get(self.kind, CHAT)

    async def _call(self, asked: Asked) -> Call:
        """Where the request goes, with its headers and its body."""
        from fabula.models.wire import Call, signed, written  # noqa: PLC0415 - 0.1 s of import

        body = merged(body_of(self._dialect, asked), self.gateway.body)
        path, _, query = self._dialect.path(asked.model, asked.stream).partition("?")
        queries = dict(parse_qsl(query))
        headers = {"content-type": "application/json", "accept": "*/*"}
        address = self.address
        if self.kind == "google":
            headers["x-goog-api-key"] = self.key
        elif self.version:
            headers["api-key"], queries["api-version"] = self.key, self.version
            address += f"/openai/deployments/{quote(asked.model, safe='')}"
        elif self.key:
            headers["authorization"] = f"Bearer {self.key}"
        if self.kind == "anthropic":
            headers["anthropic-version"] = ANTHROPIC_VERSION
        headers |= {name.lower(): self._filled(text) for name, text in self.gateway.headers.items()}
        queries |= {name: self._filled(text) for name, text in self.gateway.query.items()}
        call = Call(f"{address}{path}", queries, headers, written(body))
        if self.kind == "bedrock" and not (self.key and self.address):
            return await asyncio.to_thread(signed, call, self.name)
        return call

    def _filled(self, text: str) -> str:
        return VARIABLE.sub(lambda found: self.secrets.get(found[1], ""), text)

    def _reply(self, request: Request, asked: Asked, got: Received, heard: _Listener) -> Reply:
        """Our reply, with what was asked and could not be had."""
        said, thought = apart("".join(got.text) or "".join(got.refusal))
        thought = "\n\n".join(filter(None, ("".join(got.thought).strip(), thought)))
        if thought and not said.strip():
            raise self._only_reasoned(got, room=bool(room_for_reasoning(request.sampling, thinks=self._thinks)))
        self._thinks = self._thinks or bool(thought)
        said = said.lstrip() if thought else said
        if asked.schema is not None and request.schema is None:
            said = _chosen(said)
        sent, usage = _sent(asked), self._usage(got, thought, heard)
        self.alike.check(self.name, asked.model, _shown(self.address), got.model, usage)
        missing = {
            "schema": request.schema is not None and asked.schema is None,
            "choices": bool(request.choices) and asked.schema is None,
            "logprobs": bool(request.logprobs) and got.first_token is None,
        }
        return Reply(
            text=said,
            usage=usage,
            finish="refusal" if got.refused else "length" if got.cut else "stop",
            model=self.name,
            sent=sent,
            dropped=(
                *sorted(set(request.sampling.set_values()) - set(sent)),
                *(name for name, gone in missing.items() if gone),
            ),
            logprobs=got.first_token if request.logprobs else None,
            reasoning=thought,
        )

    def _only_reasoned(self, got: Received, *, room: bool) -> ModelError:
        """The error for a reply that is reasoning and nothing else; with more room another try may come to its end."""
        self._thinks = True
        happened = (
            "used up its reply on reasoning and gave no answer" if got.cut else "gave only reasoning and no answer"
        )
        if got.cut and room:
            advice = "Reduce its reasoning (--sampling reasoning=low, or none), or allow more tokens (max_tokens)."
            failure = ModelError(f"{self.name} {happened}. {advice}", model=self.name)
        else:
            advice = "" if got.cut else " Try another --seed, or less reasoning (--sampling reasoning=low, or none)."
            failure = OverloadedError(f"{self.name} {happened}.{advice}", model=self.name)
        prompt, _, _, reply = got.tokens
        failure.tokens, failure.may_cost = (prompt, reply), True
        return failure

    def _usage(self, got: Received, thought: str, heard: _Listener) -> Usage:
        """Tokens and cost; the cost is known only where the price data knows both the address and the model."""
        prompt, cached, _, reply = got.tokens
        dollars = None if got.odd or not (prompt or reply) else listed_cost(self.address, got.model, got.tokens)
        reasoned = got.counts.get("reasoned", 0) or (estimate_tokens(thought) if thought else 0)
        return Usage(
            prompt,
            cached,
            reply,
            self.clock() - heard.started,
            None if heard.first is None else heard.first - heard.started,
            dollars,
            reasoning=min(reply, reasoned),
        )

    def _client(self) -> httpx2.AsyncClient:
        """The connections, which belong to the running loop."""
        from fabula.models.wire import http_client  # noqa: PLC0415 - 0.1 s of import

        loop = asyncio.get_running_loop()
        if self._open is None or self._open[0] is not loop:
            self._open = loop, http_client(self.address, self.timeout, self.parallel)
        return self._open[1]

    def _keeps_to_schemas(self, name: str) -> bool:
        """Whether a model keeps to a JSON schema natively."""
        if self.kind in {"anthropic", "bedrock"}:
            return self.gateway.schema and keeps_to_schemas(self.kind, name)
        return self.gateway.schema and name.startswith(KINDS[self.kind].schemas)

    def _scrub(self, text: str) -> str:
        for secret in (self.key if self.key != PLACEHOLDER_KEY else "", *self.secrets.values()):
            text = text.replace(secret, _HIDDEN) if secret else text
        return text


def _holds_json(text: str) -> bool:
    """Whether a reply may be what a schema asks for, or as much of it as there is."""
    return text.lstrip().removeprefix("```json").lstrip().startswith(("{", "["))


def _sent(asked: Asked) -> Mapping[str, Any]:
    """The sampling values of a request, under our names."""
    said = {"reasoning": asked.effort} if reasoning_part(asked) else {}
    return dict(sorted({**asked.values, **said}.items()))


def _rejected(failure: ModelError, said: str, asked: Asked) -> frozenset[str]:
    """What may be left out after a server rejected a request: the values that it names, or else the schema."""
    about_schema = asked.schema is not None and bool(_SCHEMA_WORDS.search(said))
    if type(failure) is not ModelError:
        return frozenset({"schema"} if about_schema and type(failure) is OverloadedError else ())
    named = frozenset(name for name in _sent(asked) if name != "max_tokens" and _called(name).search(said))
    named |= {"logprobs"} if asked.logprobs and "logprobs" in said else frozenset()
    return named | ({"schema"} if about_schema or (asked.schema is not None and not named) else frozenset())


def _called(name: str) -> re.Pattern[str]:
    """A sampling value as any server may call it: "top_k" and "topK", "stop" and "stop_sequences"."""
    if name == "reasoning":
        return re.compile(r"reasoning|\bthinking|\beffort\b|enable_thinking|chat_template", re.IGNORECASE)
    words = name.replace("repeat_penalty", "repe(?:at|tition)_penalty").replace("_", "_?")
    return re.compile(rf"\b{words}(?:_?sequences)?\b", re.IGNORECASE)


def _choice_schema(choices: Sequence[str]) -> Json:
    """One of the choices, as an object: that is what all providers take."""
    return {
        "type": "object",
        "properties": {"choice": {"type": "string", "enum": list(choices)}},
        "required": ["choice"],
        "additionalProperties": False,
    }


def _chosen(text: str) -> str:
    """The choice in a reply to `_choice_schema`; the text as it is where it is no such object."""
    try:
        return str(json.loads(text)["choice"])
    except (ValueError, TypeError, KeyError):
        return text


def provider_model(
    kind: str,
    model_id: str,
    *,
    base_url: str | None = None,
    environ: Mapping[str, str] | None = None,
    key_env: str | None = None,
    parallel: int = 8,
    timeout: float = DEFAULT_TIMEOUT,
    context: int | None = None,
    gateway: Gateway = Gateway(),
    alike: Likeness | None = None,
) -> ProviderModel:
    """A hosted model or a model at a server, ready for calls; nothing is imported or opened before the first one.

    A missing key is an error only at the first call, so that a recorded run replays without keys. OPENAI_API_KEY goes
    only to OpenAI. An `openai-chat` server elsewhere gets FABULA_OPENAI_CHAT_KEY, a placeholder, or the variable that
    `key_env` names. The other kinds have their own variables; servers on the user's own machine need no key.

    Args:
        kind: one of `KINDS`.
        model_id: the model's name at the provider.
        base_url: an address other than the provider's own; for the two OpenAI kinds it usually ends in `/v1`.
        environ: the variables that may hold the key, such as `os.environ`.
        key_env: the only variable to check, instead of the kind's own.
        parallel: the number of calls at once.
        timeout: the seconds without a byte from the server after which a call fails.
        context: the tokens of prompt and reply together, if known.
        gateway: the additions to every request; the values of its variables come from `environ`.
        alike: one object for all replicas of a model, which detects a replica that is another model.

    Raises:
        UnknownNameError: there is no such kind.
        UsageError: the model's name is missing, the address is not valid, or the key is impossible.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of model", kind, KINDS)
    if not model_id.strip():
        raise UsageError(f"{kind}: requires the name of a model after the colon, as in {kind}:NAME.")
    address = served_at(kind, base_url or usual_address(kind, environ or {}))
    if (address and not _usable(address)) or may_hold_key(address):
        raise UsageError(
            f"{_shown(address)!r} is not an address for {kind}. Use an address like http://localhost:8000/v1, without "
            f"a user name or a query string. Set the key in the environment ({_variables(kind, key_env)})."
        )
    names = (key_env,) if key_env else KINDS[kind].keys
    keyless = KINDS[kind].own or (kind == "openai-chat" and not _is_openai(address))
    if keyless and not key_env:
        names = names[:1]
    key = next((value.strip() for name in names if (value := (environ or {}).get(name))), "")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(
            f"The key in the environment variable {' or '.join(names)} contains a space, a quotation mark or another "
            "character that no key has. Copy it again, and run `export NAME=KEY` with that name."
        )
    if keyless and not key_env:
        key = key or PLACEHOLDER_KEY
    version = "" if kind != "azure" or address.endswith("/v1") else (environ or {}).get(_AZURE_VERSION, "").strip()
    secrets = {name: (environ or {}).get(name, "").strip() for name in gateway.variables()}
    return ProviderModel(
        kind,
        model_id.strip(),
        address,
        key,
        names,
        parallel,
        timeout,
        version=version,
        context=context,
        gateway=gateway,
        secrets=secrets,
        alike=alike or Likeness(),
    )


def identity_by_address(identity: str) -> str:
    """The recorded identity of a chat-dialect model that is named by its server's address; empty for other models."""
    kind, _, rest = identity.partition(":")
    return f"openai-chat:{rest}" if kind in KINDS and KINDS[kind].chat else ""


def _how(kind: str, model_id: str) -> tuple[str, str]:
    """The commands that start a server of one's own, and that fetch a model there; empty for others."""
    known = KINDS[kind]
    return known.start.replace("NAME", model_id), known.fetch.replace("NAME", model_id)


def may_hold_key(address: str) -> bool:
    """Whether an address has a user, a query or a fragment, where people put keys; requests leave these out."""
    return any(sign in address for sign in "@?#")


def _usable(address: str) -> bool:
    """Whether an address is one of a web server."""
    try:
        parts = urlsplit(address)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that is not closed, a port that is no number
        return False


def _variables(kind: str, key_env: str | None) -> str:
    return key_env or " or ".join(KINDS[kind].keys)


def _is_openai(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    return host == "openai.com" or host.endswith(".openai.com")


def _shown(address: str) -> str:
    """An address fit for messages: without user, password or query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "The given text"
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=host, query="", fragment="").geturl()


def keys_set(environ: Mapping[str, str]) -> dict[str, bool]:
    """Whether each variable for a provider's key holds one; the keys themselves are never returned."""
    names = dict.fromkeys(name for kind in KINDS.values() for name in kind.keys)
    return {name: bool(environ.get(name, "").strip()) for name in names}
