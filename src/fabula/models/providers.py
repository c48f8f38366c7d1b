"""Hosted models and compatible servers, through pydantic-ai's `direct` layer.

Kinds: `openai` (Responses API), `openai-chat` (chat completions: OpenAI's own or any server at an address),
`anthropic`, `google`, `bedrock`; and names for servers that speak chat completions, with their usual addresses and
keys: on this machine `ollama`, `lmstudio`, `llamacpp` and `vllm`, hosted `openrouter`, `mistral`, `groq`, `azure` and
the others in `KINDS`. Retries are off in every client library here; `Limited` does them. The libraries are imported
with the first call, not before.

What goes over the wire is read back from the request that left, so `Reply.sent` and `Reply.dropped` are facts and not
intentions. A compatible server is also sent the sampling values that OpenAI does not have, under the names that vLLM,
llama.cpp and OpenRouter use: `top_k`, `min_p`, `repetition_penalty` (vLLM, OpenRouter) together with `repeat_penalty`
(llama.cpp), `repeat_last_n`, `dry_*` (llama.cpp). These servers and Ollama ignore names they do not know; the few that
reject them say so in a 400, which names the field to leave out.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fabula.base.errors import (
    FabulaError,
    ModelError,
    ModelUnavailableError,
    OverloadedError,
    UnknownNameError,
    UsageError,
)
from fabula.base.extras import require
from fabula.models.base import SAMPLING_FIELDS, Capabilities, Reply, Usage
from fabula.models.known import is_small
from fabula.models.reasoning import Apart, apart, room_for_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model as LibraryModel

    from fabula.models.base import OnText, Request
    from fabula.models.provider_library import Wire

PLACEHOLDER_KEY = "no-key-needed"
DEFAULT_TIMEOUT = 600.0
_HIDDEN = "[key]"


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to talk to a provider: its usual address, the variables that may hold its key, what it takes.

    Attributes:
        title: who it is, for people.
        address: the usual one; empty where everybody has their own.
        keys: variables that may hold the key.
        sampling: values that it takes.
        logprobs: whether it gives log-probabilities.
        schemas: how the names of models begin that keep to a JSON schema.
        chat: whether it is a server of the chat dialect under a name of its own.
        start: how it is started, for a server on the user's own machine; such a one needs no key.
        fetch: how a model is got there.
        address_variable: that holds the address, or the region of it.
        signed: whether requests without a key are signed with what its users have configured for its client library.
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


def _own(title: str, port: int, key: str, start: str, fetch: str) -> Kind:
    """A server of the chat dialect on the user's own machine."""
    address = f"http://127.0.0.1:{port}/v1"
    return Kind(title, address, (key,), SAMPLING_FIELDS, logprobs=True, chat=True, start=start, fetch=fetch)


def _hosted(
    title: str,
    address: str,
    keys: str,
    sampling: frozenset[str] = _CHAT,
    *,
    logprobs: bool = False,
    schemas: tuple[str, ...] = ("",),
    address_variable: str = "",
) -> Kind:
    """A provider of the chat dialect; `keys` are the names of its variables, the one to name first."""
    names = tuple(keys.split())
    return Kind(title, address, names, sampling, logprobs, schemas, chat=True, address_variable=address_variable)


KINDS: Mapping[str, Kind] = {
    "openai": Kind("OpenAI", _OPENAI, ("OPENAI_API_KEY",), _COMMON, logprobs=True),
    "openai-chat": Kind(
        "a server of the chat dialect", _OPENAI, ("FABULA_OPENAI_CHAT_KEY", "OPENAI_API_KEY"), _CHAT, logprobs=True
    ),
    "anthropic": Kind("Anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), _COMMON | {"top_k", "stop"}),
    "google": Kind("Google", _GOOGLE, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), _CHAT | {"top_k"}),
    "bedrock": Kind(
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
_FINISHES: Mapping[str | None, Any] = {"length": "length", "content_filter": "refusal"}


def usual_address(kind: str, environ: Mapping[str, str]) -> str:
    """Where a provider or server is reached if nobody says otherwise; empty where everybody has their own address.

    Ollama's own variable moves its port, `AZURE_OPENAI_ENDPOINT` says where a resource of Azure lies, and the region
    where Bedrock is asked.
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
    """The address without a slash at its end; as the program of a server of one's own shows it, with its version."""
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


@dataclass
class _Open:
    """What is held while the model is in use: one HTTP client for one event loop, and a library model per name."""

    loop: asyncio.AbstractEventLoop
    http: httpx2.AsyncClient
    models: dict[str, LibraryModel] = field(default_factory=dict)


@dataclass
class _Listener:
    """Hands pieces of a reply on; knows when the first one came, and the listener's own error if it had one."""

    on_text: OnText | None
    clock: Callable[[], float]
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

    Replies are streamed only where someone listens (`on_text`): a streamed call costs more CPU. `Usage.first` is then
    the time to the first text, else `None`. A reply to `choices` is heard at once, since it is JSON on the way. With
    `logprobs`, choices are asked for in words, so that the first token is the choice itself.

    Attributes:
        kind: a name in `KINDS`.
        model_id: the model's name at the provider; a request's `adapter` takes its place for that request.
        address: where requests go.
        key: sent to that address and shown to nobody.
        key_names: the variables that may hold the key, for messages.
        clock: seconds, for `Usage.seconds` and `Usage.first`.
        context: tokens of prompt and reply together, where that is known.
        version: of the interface, as Azure wants it at addresses that do not end in /v1.
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
    _thinks: bool = field(default=False, init=False)
    _open: _Open | None = field(default=None, init=False)

    def __repr__(self) -> str:
        return f"ProviderModel({self.name!r}, {_shown(self.address)!r})"

    @property
    def name(self) -> str:
        """`kind:model`."""
        return f"{self.kind}:{self.model_id}"

    @property
    def identity(self) -> str:
        """The name: a provider's name stands for its weights, and an address may change without changing a reply."""
        return self.name

    @property
    def compatible(self) -> bool:
        """Whether this is a server of the chat dialect that is not OpenAI's own."""
        return self.kind in CHAT_KINDS - {"azure"} and not _is_openai(self.address)

    @property
    def capabilities(self) -> Capabilities:
        """What the provider takes. Single models may take less; a reply says in `dropped` what did not go out."""
        kind = KINDS[self.kind]
        schema = _keeps_to_schemas(self.kind, self.model_id)
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
            ModelUnavailableError: no key or a refused one, no connection, no such model, no credit.
            ModelTimeoutError: no answer in time.
            OverloadedError: 429, 5xx, a cut stream or a reply that cannot be read; `retry_after` as the server said.
            ContextLengthError: the prompt is too long.
            ModelError: the server rejected the request; its words are in the message.
            UsageError: the extra `providers` is not installed.
        """
        require("pydantic_ai", "providers", f"The model {self.name}")
        kind = KINDS[self.kind]
        if not (self.address or kind.signed):
            raise ModelUnavailableError(
                f"There is no address for {self.name}. Set {kind.address_variable} in the environment, or "
                "give --base-url.",
                model=self.name,
            )
        if not (self.key or kind.signed):
            raise ModelUnavailableError(
                f"There is no key for {self.name}. Set {' or '.join(self.key_names)} in the environment.",
                model=self.name,
            )
        from fabula.models import provider_library as library  # noqa: PLC0415 - seconds of import

        wire, heard = library.Wire(), _Listener(on_text, self.clock)
        mark = library.WIRE.set(wire)
        try:
            return await self._reply(request, None if on_text is None else heard, wire)
        except Exception as error:  # the libraries trip over what servers send in many ways
            await wire.close()
            if heard.failure is not None:
                raise heard.failure from None
            if isinstance(error, FabulaError):  # of ours, or of who counts what comes
                raise
            if library.is_filtered(error):
                taken = Usage(prompt=wire.tokens[0], reply=wire.tokens[1])
                return Reply("", taken, "refusal", self.name, library.sent(wire))
            wording = library.Wording(self.name, _shown(self.address), " or ".join(self.key_names), self._scrub)
            wording.start, wording.fetch = _how(self.kind, self.model_id)
            failure = library.ours(error, wording, wire)
        finally:
            library.WIRE.reset(mark)
        raise failure  # outside the block above, so that the library's error does not travel along with it

    async def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        held, self._open = self._open, None
        if held is not None and held.loop is asyncio.get_running_loop():
            await held.http.aclose()

    async def _reply(self, request: Request, heard: _Listener | None, wire: Wire) -> Reply:
        from fabula.models import provider_library as library  # noqa: PLC0415 - slow to load

        model, access = self._library_model(request.adapter)
        wanted = request.schema
        choosing = bool(request.choices) and not request.logprobs and library.can_schema(model)
        if choosing:
            wanted = library.choice_schema(request.choices)
        asked = library.parameters(wanted if library.can_schema(model) else None)
        self._thinks = self._thinks or library.thinks(model)
        room = room_for_reasoning(request.sampling, thinks=self._thinks)
        using = library.settings(request, model, access, self.capabilities.sampling, room)
        turns = library.messages(request, access)
        started = self.clock()
        if heard is None or choosing:
            response = await library.whole(model, turns, using, asked)
        else:
            response = await library.streamed(model, turns, using, asked, heard)
            heard.ends()
        said, thought = apart(library.text(response))
        thought = "\n\n".join(filter(None, (library.reasoning(response), thought)))
        if thought and not said.strip():
            raise self._only_reasoned(response, room, wire.tokens)
        self._thinks = self._thinks or bool(thought)
        said = said.lstrip() if thought else said
        library.check_reply(response, wire)
        said = library.chosen(said) if choosing else said
        if heard is not None and choosing:
            heard.hear(said)
        first = None if heard is None or heard.first is None or choosing else heard.first - started
        taken = library.usage(response, self.address, wire, thought)
        taken = replace(taken, seconds=self.clock() - started, first=first)
        return replace(self._read(request, response, said, taken, library.sent(wire)), reasoning=thought)

    def _only_reasoned(self, response: ModelResponse, room: int, tokens: tuple[int, int]) -> ModelError:
        """The error for a reply that is reasoning and nothing else; with more room another try may come to its end."""
        cut, had_room = response.finish_reason == "length", bool(room)
        self._thinks = True
        happened = (
            "used up its reply on reasoning, and said nothing" if cut else "gave only reasoning, and said nothing"
        )
        if cut and had_room:
            advice = "Let it think less (--sampling reasoning=low, or none), or allow more (max_tokens)."
            failure = ModelError(f"{self.name} {happened}. {advice}", model=self.name)
        else:
            advice = "" if cut else " Another --seed may help, or less of it (--sampling reasoning=low, or none)."
            failure = OverloadedError(f"{self.name} {happened}.{advice}", model=self.name)
        failure.tokens, failure.may_cost = tokens, True
        return failure

    def _read(
        self, request: Request, response: ModelResponse, said: str, taken: Usage, sent: Mapping[str, Any]
    ) -> Reply:
        """Our reply, with what was asked and could not be had."""
        from fabula.models import provider_library as library  # noqa: PLC0415 - slow to load

        chances = library.first_token(response) if request.logprobs else None
        native = library.can_schema(self._library_model(request.adapter)[0])
        missing = {
            "schema": request.schema is not None and not native,
            "choices": bool(request.choices) and (not native or bool(request.logprobs)),
            "logprobs": bool(request.logprobs) and chances is None,
        }
        return Reply(
            text=said,
            usage=taken,
            finish=_FINISHES.get(response.finish_reason, "stop"),
            model=self.name,
            sent=sent,
            dropped=(*library.dropped(request.sampling, sent), *(name for name, gone in missing.items() if gone)),
            logprobs=chances,
        )

    def _library_model(self, adapter: str | None) -> tuple[LibraryModel, Any]:
        """The library's model of that name, and how it is reached; connections belong to the running loop."""
        from fabula.models import provider_library as library  # noqa: PLC0415 - slow to load

        loop = asyncio.get_running_loop()
        if self._open is None or self._open.loop is not loop:
            self._open = _Open(loop, library.http_client(self.address, self.timeout, self.parallel))
        held = self._open
        name = adapter or self.model_id
        schema = _keeps_to_schemas(self.kind, name)
        access = library.Access(self.kind, self.address, self.key, self.compatible, held.http, self.version, schema)
        if name not in held.models:
            held.models[name] = library.build(name, access)
        return held.models[name], access

    def _scrub(self, text: str) -> str:
        return text.replace(self.key, _HIDDEN) if self.key not in ("", PLACEHOLDER_KEY) else text


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
) -> ProviderModel:
    """A hosted model or a server's, ready to be asked; nothing is imported or opened before the first call.

    A missing key is an error of the first call and not of this one, so that a recorded run replays without keys.
    OPENAI_API_KEY goes to OpenAI only: an `openai-chat` server elsewhere gets FABULA_OPENAI_CHAT_KEY or a placeholder,
    or whatever `key_env` names. The other names of servers have variables of their own; those that people start on
    their own machine need no key.

    Args:
        kind: one of `KINDS`.
        model_id: the model's name at the provider.
        base_url: another address than the provider's own; for the two OpenAI kinds it usually ends in `/v1`.
        environ: variables that may hold the key, as `os.environ`.
        key_env: the one variable to look into instead of the kind's own.
        parallel: calls at once.
        timeout: seconds without a byte from the server after which a call fails.
        context: tokens of prompt and reply together, where that is known.

    Raises:
        UnknownNameError: no such kind.
        UsageError: no model's name, an address that is none, or a key that cannot be one.
    """
    if kind not in KINDS:
        raise UnknownNameError("kind of model", kind, KINDS)
    if not model_id.strip():
        raise UsageError(f"{kind}: needs the name of a model after the colon, as in {kind}:NAME.")
    address = served_at(kind, base_url or usual_address(kind, environ or {}))
    if (address and not _usable(address)) or may_hold_key(address):
        raise UsageError(
            f"{_shown(address)!r} is no address for {kind}. Give one like http://localhost:8000/v1, without a user and "
            f"without anything after a question mark; a key goes into the environment ({_variables(kind, key_env)})."
        )
    names = (key_env,) if key_env else KINDS[kind].keys
    keyless = KINDS[kind].own or (kind == "openai-chat" and not _is_openai(address))
    if keyless and not key_env:
        names = names[:1]
    key = next((value.strip() for name in names if (value := (environ or {}).get(name))), "")
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"The key in {' or '.join(names)} holds spaces or characters that no key has. Copy it again.")
    if keyless and not key_env:
        key = key or PLACEHOLDER_KEY
    version = "" if kind != "azure" or address.endswith("/v1") else (environ or {}).get(_AZURE_VERSION, "").strip()
    return ProviderModel(
        kind, model_id.strip(), address, key, names, parallel, timeout, version=version, context=context
    )


def identity_by_address(identity: str) -> str:
    """What a model of the chat dialect is recorded as where it is named by its server's address; empty for others."""
    kind, _, rest = identity.partition(":")
    return f"openai-chat:{rest}" if kind in KINDS and KINDS[kind].chat else ""


def _how(kind: str, model_id: str) -> tuple[str, str]:
    """The commands that start a server of one's own, and that fetch a model there; empty for others."""
    known = KINDS[kind]
    return known.start.replace("NAME", model_id), known.fetch.replace("NAME", model_id)


def _keeps_to_schemas(kind: str, model_id: str) -> bool:
    """Whether a model keeps to a JSON schema natively."""
    if kind == "bedrock":
        return _bedrock_schema(model_id)
    return _anthropic_schema(model_id) if kind == "anthropic" else model_id.startswith(KINDS[kind].schemas)


def may_hold_key(address: str) -> bool:
    """Whether an address has a user, a query or a fragment, where people put keys; requests go without them."""
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


def _anthropic_schema(model_id: str) -> bool:
    """Whether a model of Anthropic's keeps to schemas; older ones do not."""
    if find_spec("pydantic_ai") is None:
        return True  # nobody is asked then
    from pydantic_ai.profiles.anthropic import anthropic_model_profile  # noqa: PLC0415 - half a second of import

    return bool((anthropic_model_profile(model_id) or {}).get("supports_json_schema_output"))


def _bedrock_schema(model_id: str) -> bool:
    """Whether a model at Bedrock keeps to schemas, as far as that is known without its client library."""
    try:
        from pydantic_ai.providers.bedrock import BedrockProvider  # noqa: PLC0415 - needs the extra
    except ImportError:
        return False
    return bool((BedrockProvider.model_profile(model_id) or {}).get("supports_json_schema_output"))


def keys_set(environ: Mapping[str, str]) -> dict[str, bool]:
    """For each variable that may hold a provider's key, whether it holds one; never what it holds."""
    names = dict.fromkeys(name for kind in KINDS.values() for name in kind.keys)
    return {name: bool(environ.get(name, "").strip()) for name in names}
