"""From names to performers: `open_model` reaches one model, `open_cast` gives every role its performer."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.engine.replay import ReplayModel
from fabula.engine.roles import Assignment, Cast, Person, Program, load_function, role_key
from fabula.models.base import Sampling
from fabula.models.known import KNOWN, cache_home, models_home
from fabula.models.limits import Limited
from fabula.models.scripted import ScriptedModel
from fabula.project.settings import ModelTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from fabula.engine.roles import Answer
    from fabula.models.base import Model
    from fabula.project.settings import RoleTable, Settings

SERVERS: Final = ("openai", "openai-chat", "anthropic", "google")
_MISTYPED: Final = 0.85  # likeness from which on a name is a role with a letter wrong, and not a character's
_MOST_THREADS: Final = 512  # that the engine takes
KINDS: Final = ("embedded", *SERVERS, "seq2seq", "scripted", "replay")


@dataclass(frozen=True)
class Environment:
    """What opening a model may touch: the environment's variables, the clock, and who hears of retries.

    `person` answers for roles that are cast with `play = "me"`; `None` where nobody can be asked.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    on_retry: Callable[[str, int, float, str], None] | None = None
    person: Answer | None = None


def full_name(spec: str) -> str:
    """The name with its kind: a bare known name is embedded, and `embedded` alone is the default model.

    Raises:
        UnknownNameError: neither a kind nor a known model.
    """
    kind, colon, rest = spec.partition(":")
    if kind in KNOWN and not colon:
        return f"embedded:{kind}"
    if spec == "embedded":
        return f"embedded:{next(iter(KNOWN))}"
    if kind not in KINDS or not rest:
        raise UnknownNameError("model", spec, [*KNOWN, *(f"{k}:" for k in KINDS)])
    return spec


def open_model(spec: str, table: ModelTable, env: Environment) -> Model:
    """The model that `spec` names, with its limits; nothing is started yet, so a missing file or key shows when asked.

    Raises:
        UnknownNameError: no such kind or known model.
        ConfigError: a script cannot be read.
        ModelUnavailableError, UsageError: there is no encoder-decoder in a folder, or the packages for it are missing.
    """
    name = full_name(spec)
    kind, _, rest = name.partition(":")
    if kind == "scripted":
        return ScriptedModel.read(Path(rest))
    if kind == "replay":
        return ReplayModel(Path(rest))
    if kind == "seq2seq":
        model = _seq2seq(name, rest)
    else:
        model = _embedded(name, rest, table, env) if kind == "embedded" else _server(kind, rest, table, env)
    return Limited(model, parallel=table.parallel, timeout=table.timeout, tries=table.tries, on_retry=env.on_retry)


def _embedded(name: str, rest: str, table: ModelTable, env: Environment) -> Model:
    from fabula.models.embedded import EmbeddedModel, find_weights  # noqa: PLC0415 - the engine is loaded on demand

    return EmbeddedModel(
        find_weights(rest, models_home(env.environ)),
        name=name,
        slots=table.slots,
        context=table.context,
        threads=table.threads or _threads(env.environ),
        cache=cache_home(env.environ),
        adapters={adapter: Path(path) for adapter, path in table.adapters.items()},
    )


def _threads(environ: Mapping[str, str]) -> int | None:
    """What `FABULA_THREADS` says of the embedded engine's threads, for all models that say nothing themselves.

    Raises:
        ConfigError: it is no number above 0.
    """
    said = environ.get("FABULA_THREADS", "").strip()
    if not said:
        return None
    if not (said.isascii() and said.isdecimal() and 0 < int(said[:6]) <= _MOST_THREADS):
        raise ConfigError(
            f"FABULA_THREADS is {said[:20]!r}, and has to be a whole number from 1 to {_MOST_THREADS}. Without it, "
            "fabula measures how many threads are fastest."
        )
    return int(said)


def _seq2seq(name: str, rest: str) -> Model:
    from fabula.models.seq2seq import seq2seq_model  # noqa: PLC0415 - few need it

    return seq2seq_model(Path(rest), name)


def _server(kind: str, rest: str, table: ModelTable, env: Environment) -> Model:
    from fabula.models.providers import provider_model  # noqa: PLC0415 - the client libraries are loaded on demand

    return provider_model(
        kind,
        rest,
        base_url=table.base_url or None,
        environ=env.environ,
        key_env=table.key_env or None,
        parallel=table.parallel or 8,
        timeout=table.timeout,
    )


def load_servers(kinds: Collection[str]) -> None:
    """Import now what models of servers need, for who cannot let others wait for it at the first call."""
    for kind in sorted(set(kinds) & set(SERVERS)):
        from fabula.models.provider_library import load  # noqa: PLC0415 - a second of imports

        load(kind)


def base_sampling(spec: str) -> Sampling:
    """The values against loops that a known model needs; none for others."""
    kind, _, rest = full_name(spec).partition(":")
    return KNOWN[rest].sampling if kind == "embedded" and rest in KNOWN else Sampling()


def open_cast(settings: Settings, roles: tuple[str, ...], env: Environment, open_role: str = "") -> Cast:
    """Who plays each role of a system. One engine or client serves all roles that name the same model.

    Raises:
        UnknownNameError: a role that the system does not have (with an `open_role`, only one that is spelled much like
            a role), or an unknown model.
        ConfigError: a person is cast where nobody can be asked, or a script or function cannot be read.
        TrustError: a settings file casts a program, or names an address, that nobody has allowed it.
    """
    settings.check_trusted()
    opened: dict[str, Model] = {}

    def opening(spec: str) -> Model:
        name = full_name(spec)
        if name not in opened:
            opened[name] = open_model(name, settings.models.get(name, settings.models.get(spec, ModelTable())), env)
        return opened[name]

    def assigned(role: RoleTable) -> Assignment:
        sampling = role.sampling.over(settings.sampling.sampling)
        if ":" in role.play:
            return Assignment(_program(role.play), sampling)
        spec = role.model or settings.model
        performer = opening(spec)
        if role.play:
            check_player(role.play)
            performer = _person(role.play, performer, env)
        return Assignment(performer, sampling, role.adapter or None, base_sampling(spec))

    named = {role_key(name): table for name, table in settings.roles.items()}
    for role in named:
        mistyped = get_close_matches(role, roles, 1, _MISTYPED) if open_role else [role]
        if (
            role not in roles and mistyped
        ):  # nothing is paid yet; whose name no role's is like is looked for in the story
            raise UnknownNameError("role", role, roles)
    cast = {name: assigned(role) for name, role in named.items()}
    everyone_cast = cast and set(cast) >= set(roles)
    return Cast(next(iter(cast.values())) if everyone_cast else assigned(settings.sampling), cast, roles, open_role)


def check_player(play: str) -> None:
    """Check that who is to play is a person, where no colon makes it a program.

    Raises:
        ConfigError: it looks like a file or a model.
    """
    if play.endswith(".py") or "/" in play or "\\" in play:
        raise ConfigError(f"{play!r} names a file and no function in it. Write {play}:function, or me for yourself.")
    if play in KNOWN:
        raise ConfigError(
            f"{play!r} is a model, not a player. Give it with --model ROLE={play}, or write me for yourself."
        )


def _version_of(play: str) -> str:
    """The first digits of a SHA-256 over the program's file."""
    return sha256(Path(play.rpartition(":")[0]).read_bytes()).hexdigest()[:12]


def _program(play: str) -> Model:
    """A program, "file.py:function"."""
    return Program(play, load_function(play), _version_of(play))


def _person(who: str, model: Model, env: Environment) -> Model:
    """A person ("me" or any name) who stands in for `model`."""
    if env.person is None:
        raise ConfigError(f"A role is to be played by {who!r}, but there is no terminal to ask at. Cast a model.")
    return Person(who, env.person, model)
