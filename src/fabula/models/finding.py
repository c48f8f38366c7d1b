"""The model servers that answer on this machine, the models that they serve, and why a server does not answer.

Only loopback is asked. Every server is asked at its usual address, in parallel and for a short time. Redirects are not
followed, proxies are not used, and long answers are not read, because anything may listen at such an address.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, replace
from importlib.util import find_spec
from shlex import quote
from typing import TYPE_CHECKING, Any, Final

from fabula.base.addresses import is_loopback
from fabula.base.errors import ModelUnavailableError, UsageError
from fabula.base.extras import installing
from fabula.models.known import is_small
from fabula.models.providers import KINDS, OWN_KINDS, usual_address

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import httpx2

    from fabula.models.base import Json

PATIENCE: Final = 2.0  # seconds for all that one server is asked
_LARGEST: Final = 4_000_000  # bytes of an answer
_MOST: Final = 200  # models of a server
_MOST_HOSTED: Final = 5_000  # of a provider
_LONGEST: Final = 200  # characters of a model's name
_SHOWN: Final = 8  # models that a message names
_OK: Final = 200
_REFUSED: Final = (401, 403)
_OWNERS: Final = {"vllm": "vllm", "llamacpp": "llamacpp", "library": "ollama", "organization_owner": "lmstudio"}
_LOADING: Final = 503
_OLLAMA_CONTEXT: Final = 4096
"""The default context of a model in Ollama, in tokens. Ollama silently cuts off the rest."""
_NUM_CTX: Final = re.compile(r"^num_ctx[ \t]{1,80}(\d{1,9})\b", re.MULTILINE)
_WINDOWS: Final = ("context_length", "max_context_length", "max_model_len", "context_window")
"""The names that providers use for the context length in their lists of models."""
_OLLAMA_WITH_LOGPROBS: Final = (0, 12, 11)
_NO_TEXT: Final = frozenset({"embedding", "embeddings"})


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that a server serves.

    Attributes:
        name: the name that the server uses.
        context: the tokens of prompt and reply together, according to the server.
        thinks: whether it reasons before it answers, if the server says so.
    """

    name: str
    context: int | None = None
    thinks: bool | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """A server, whether it answers or not.

    Attributes:
        kind: a name in `OWN_KINDS`, from the server's own description or else from its address.
        address: the address where it was asked.
        models: the models that it serves.
        version: the version that it reports.
        problem: why no model is available there, and what to do; empty if there is no problem.
        listens: whether anything listens there.
        usage: whether it counts tokens; `None` if that is not known.
        schema: whether it keeps to a JSON schema.
        logprobs: whether it gives log-probabilities.
    """

    kind: str
    address: str
    models: tuple[ServedModel, ...] = ()
    version: str = ""
    problem: str = ""
    listens: bool = True
    usage: bool | None = None
    schema: bool | None = None
    logprobs: bool | None = None

    @property
    def title(self) -> str:
        """The server's name, and its version if it reports one."""
        return f"{KINDS[self.kind].title} {self.version}".rstrip()

    def spec(self, model: ServedModel) -> str:
        """The value for `--model`, quoted for a shell, with `--base-url` if the address is not the usual one."""
        elsewhere = f" --base-url {self.address}" if self.address != KINDS[self.kind].address else ""
        return f"{quote(f'{self.kind}:{model.name}')}{elsewhere}"

    def context_of(self, name: str) -> int | None:
        """The tokens of context that the server reports for a model; `None` if it does not report them."""
        names = {name, f"{name}:latest"} if self.kind == "ollama" else {name}  # Ollama's users leave that tag out
        return next((model.context for model in self.models if model.name in names), None)


async def look(environ: Mapping[str, str]) -> list[Server]:
    """The present state of every kind of server that people start on their own machine."""
    return list(await asyncio.gather(*(_at_usual_address(kind, environ) for kind in OWN_KINDS)))


def best_served(servers: Sequence[Server]) -> tuple[str, str] | None:
    """The best model for writing on these servers, as a value for `--model`, and the server's title.

    Models known to be small are ignored, because a model that can be fetched is as good.
    """
    names = ((f"{server.kind}:{model.name}", server.title) for server in servers for model in server.models)
    return next(((name, title) for name, title in names if not is_small(name)), None)


async def _at_usual_address(kind: str, environ: Mapping[str, str]) -> Server:
    address = usual_address(kind, environ)
    if not is_loopback(address):
        why = f"{address} is not on this machine, so it is asked only if you name it: `fabula models check {kind}:NAME`"
        return Server(kind, address, problem=why, listens=False)
    return await ask_server(kind, address, environ)


async def ask_server(kind: str, address: str, environ: Mapping[str, str]) -> Server:
    """A server's description of itself; the caller has made sure that the address may be asked."""
    if find_spec("httpx2") is None:
        why = f"asking {address} needs the package httpx2: `{installing('providers')}`"
        return Server(kind, address, problem=why, listens=False)
    import httpx2  # noqa: PLC0415 - 0.1 s of import

    known = KINDS[kind]
    key = next((value for name in known.keys if (value := environ.get(name, "").strip())), "")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        async with (
            asyncio.timeout(PATIENCE),
            httpx2.AsyncClient(trust_env=False, timeout=PATIENCE, headers=headers) as client,
        ):
            return await _asked(kind, address, _Asking(client))
    except httpx2.ConnectError:
        why = f"nothing listens at {address}; `{known.start}` starts {known.title}"
        return Server(kind, address, problem=why, listens=False)
    except (TimeoutError, httpx2.TimeoutException):
        return Server(
            kind, address, problem=f"{address} does not answer within {PATIENCE:g} s and may be loading a model"
        )
    except (OSError, ValueError, httpx2.HTTPError, httpx2.InvalidURL) as error:
        return Server(
            kind, address, problem=f"what listens at {address} is not a model server ({type(error).__name__})"
        )


@dataclass(frozen=True, slots=True)
class _Asking:
    """Asks a server for JSON."""

    client: httpx2.AsyncClient

    async def get(self, url: str, body: Json | None = None) -> tuple[int, Any]:
        """The status and the JSON value of an answer; `None` for what is not JSON or too long."""
        came = bytearray()
        async with self.client.stream("GET" if body is None else "POST", url, json=body) as response:
            async for piece in response.aiter_bytes():
                came += piece
                if len(came) > _LARGEST:
                    return response.status_code, None
        try:
            return response.status_code, json.loads(came)
        except (ValueError, RecursionError):
            return response.status_code, None

    async def table(self, url: str, body: Json | None = None) -> Json:
        """The JSON object of an answer; empty where there is none, since a server need not have every page."""
        status, value = await self.get(url, body)
        return value if status == _OK and isinstance(value, dict) else {}


async def _asked(kind: str, address: str, asking: _Asking) -> Server:
    status, value = await asking.get(f"{address}/models")
    known = KINDS[kind]
    if status in _REFUSED:
        return Server(kind, address, problem=f"{known.title} at {address} requires a key: set {known.keys[0]}")
    rows = _models(value.get("data")) if isinstance(value, dict) else []
    if status == _LOADING:
        return Server(kind, address, problem=f"{known.title} at {address} is still loading a model or is overloaded")
    if status != _OK or not isinstance(value, dict) or not isinstance(value.get("data"), list):
        return Server(
            kind, address, problem=f"what listens at {address} is not a model server (it answers with {status})"
        )
    kind = next((_OWNERS[owner] for row in rows if (owner := _word(row.get("owned_by"))) in _OWNERS), kind)
    server = await _DETAILS.get(kind, _hosted)(Server(kind, address), rows, asking)
    if server.models:
        return server
    remedy = f"; `{KINDS[kind].fetch}` gets one" if KINDS[kind].fetch else ""
    return replace(server, problem=f"{server.title} at {address} serves no model{remedy}")


async def _ollama(server: Server, rows: list[Json], asking: _Asking) -> Server:
    root = server.address.removesuffix("/v1")
    version = _word((await asking.table(f"{root}/api/version")).get("version"))
    running = {
        _word(row.get("name")): _count(row.get("context_length"))
        for row in _tables((await asking.table(f"{root}/api/ps")).get("models"))
    }

    async def served(name: str) -> ServedModel | None:
        shown = await asking.table(f"{root}/api/show", {"model": name})
        able = shown.get("capabilities")
        able = able if isinstance(able, list) else []
        if able and "completion" not in able:
            return None
        info = shown.get("model_info")
        sizes = [v for k, v in info.items() if str(k).endswith(".context_length")] if isinstance(info, dict) else []
        trained = next(filter(None, map(_count, sizes)), None)
        context = running.get(name) or _as_ollama_loads(shown.get("parameters"), trained)
        return ServedModel(name, context, "thinking" in able if able else None)

    models = await asyncio.gather(*(served(name) for name in _names(rows)))
    return replace(
        server,
        models=tuple(model for model in models if model is not None),
        version=version,
        usage=True,
        schema=True,
        logprobs=_numbers(version) >= _OLLAMA_WITH_LOGPROBS if version else None,
    )


def _as_ollama_loads(parameters: object, trained: int | None) -> int:
    """Tokens of context that Ollama gives a model that it has not loaded yet."""
    said = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    wanted = int(said[1]) if said else _OLLAMA_CONTEXT
    return min(wanted, trained) if trained else wanted


async def _lmstudio(server: Server, rows: list[Json], asking: _Asking) -> Server:
    root = server.address.removesuffix("/v1")
    told = {row.get("id"): row for row in _models((await asking.table(f"{root}/api/v0/models")).get("data"))}

    def context(row: Json) -> int | None:
        return _count(row.get("loaded_context_length")) or _count(row.get("max_context_length"))

    models = tuple(
        ServedModel(name, context(told.get(name, {})))
        for name in _names(rows)
        if _word(told.get(name, {}).get("type")) not in _NO_TEXT
    )
    return replace(server, models=models, usage=True, schema=True)


async def _llamacpp(server: Server, rows: list[Json], asking: _Asking) -> Server:
    props = await asking.table(f"{server.address.removesuffix('/v1')}/props")
    settings = props.get("default_generation_settings")
    window = _count(settings.get("n_ctx")) if isinstance(settings, dict) else None
    trained = {row.get("id"): row["meta"].get("n_ctx_train") for row in rows if isinstance(row.get("meta"), dict)}
    models = tuple(ServedModel(name, window or _count(trained.get(name))) for name in _names(rows))
    version = _word(props.get("build_info"))
    return replace(server, models=models, version=version, usage=True, schema=True, logprobs=True)


async def _vllm(server: Server, rows: list[Json], asking: _Asking) -> Server:
    version = _word((await asking.table(f"{server.address.removesuffix('/v1')}/version")).get("version"))
    windows = {row.get("id"): _count(row.get("max_model_len")) for row in rows}
    models = tuple(ServedModel(name, windows.get(name)) for name in _names(rows))
    return replace(server, models=models, version=version, usage=True, schema=True, logprobs=True)


async def _hosted(server: Server, rows: list[Json], _: _Asking) -> Server:
    known = KINDS[server.kind]

    def window(row: Json) -> int | None:
        return next(filter(None, (_count(row.get(name)) for name in _WINDOWS)), None)

    windows = {row.get("id"): window(row) for row in rows}
    models = tuple(ServedModel(name, windows.get(name)) for name in _names(rows, _MOST_HOSTED))
    return replace(server, models=models, usage=True, logprobs=known.logprobs)


_DETAILS: Final = {"ollama": _ollama, "lmstudio": _lmstudio, "llamacpp": _llamacpp, "vllm": _vllm}


def _tables(value: object) -> list[Json]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _models(value: object) -> list[Json]:
    """What is said of each model; one whose name can be none is passed over."""
    return [row for row in _tables(value) if _word(row.get("id"))]


def _names(rows: list[Json], most: int = _MOST) -> list[str]:
    return [row["id"] for row in rows[:most]]


def _word(value: object) -> str:
    """A name or version as a server says it; empty where it is none that a person could type."""
    return value if isinstance(value, str) and len(value) <= _LONGEST and value.isprintable() else ""


def _count(value: object) -> int | None:
    return value if type(value) is int and value > 0 else None


def _numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version: "0.13.1-rc2" is (0, 13, 1)."""
    parts = version.partition("-")[0].split(".")
    return tuple(int(part) if part.isascii() and part.isdecimal() else 0 for part in parts[:3])


def only_model(kind: str, base_url: str, environ: Mapping[str, str]) -> str:
    """The name of the only model that a server serves, for a name without a model (`llamacpp:`).

    Raises:
        ModelUnavailableError: nothing answers there, or the server has no model.
        UsageError: the server has several models.
    """
    address = base_url.rstrip("/") or usual_address(kind, environ)
    server = asyncio.run(ask_server(kind, address, environ))
    if server.problem:
        raise ModelUnavailableError(f"{kind}: has no model: {server.problem}.", model=f"{kind}:")
    if len(server.models) > 1:
        names = ", ".join(quote(f"{kind}:{model.name}") for model in server.models[:_SHOWN])
        more = " and more" if len(server.models) > _SHOWN else ""
        raise UsageError(f"{server.title} serves {len(server.models)} models. Choose one: {names}{more}.")
    return server.models[0].name


def context_at(kind: str, base_url: str, model_id: str, environ: Mapping[str, str]) -> int | None:
    """The tokens of context that a server reports for a model; `None` if it does not report them or does not answer.

    The caller has made sure that the address may be asked.
    """
    server = asyncio.run(ask_server(kind, base_url.rstrip("/") or usual_address(kind, environ), environ))
    return server.context_of(model_id)
