"""From names to performers: `open_model` reaches one model, `open_cast` gives every role its performer."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from fabula.base.errors import ConfigError, ModelUnavailableError, UnknownNameError, UsageError, hint
from fabula.engine.replay import ReplayModel
from fabula.engine.roles import Assignment, Cast, Person, Program, load_function, role_key
from fabula.models.adapters import Adapted, engine_adapter, read_room
from fabula.models.answer_files import MOST_AT_ONCE, AnswerFiles
from fabula.models.base import Sampling, Wrapper
from fabula.models.by_hand import HAND, ByHand
from fabula.models.hub import PREFIX, fetched
from fabula.models.known import (
    AGAINST_LOOPS,
    KNOWN,
    cache_home,
    find_weights,
    fingerprint,
    installed,
    is_small,
    models_home,
)
from fabula.models.limits import Limited
from fabula.models.memory import USUAL_CONTEXT, context_of
from fabula.models.outside import CLIENT, PASTE, OutsideModel
from fabula.models.providers import KINDS as PROVIDERS
from fabula.models.providers import Gateway, Likeness, provider_model
from fabula.models.scripted import ScriptedModel
from fabula.models.threads import turns_of
from fabula.project.brought import brought_kinds, brought_model
from fabula.project.learned import Forgotten, check_learned, digest_of_forgotten
from fabula.project.settings import ModelTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fabula.engine.roles import Answer
    from fabula.models.answer_files import OnWait
    from fabula.models.base import Model, OnText, Reply, Request
    from fabula.models.servers import SharedTurns
    from fabula.project.settings import RoleTable, Settings

SERVERS: Final = tuple(PROVIDERS)
_MOST_SHOWN: Final = 10  # models on this machine that an error names
_MISTYPED: Final = 0.85  # likeness from which on a name is a role with a letter wrong, and not a character's
_MOST_THREADS: Final = 512  # that the engine takes
WHOLE_ROOM: Final = "room"
"""In `[adapters]`, the name for all roles for which a room has an adapter."""
PROGRAM: Final = "program"
"""The kind of a model that a Python program passes to fabula."""
BARE: Final = (HAND, PASTE, CLIENT)
"""Models with one-word names."""
KINDS: Final = ("embedded", *SERVERS, "seq2seq", "scripted", "replay", "files", PROGRAM)


@dataclass(frozen=True)
class Environment:
    """What opening a model may use: the environment's variables, the clock, and a listener for retries.

    `person` answers for roles with `play = "me"`; `None` if there is nobody to ask. `on_wait` hears which files a
    model waits for. A program passes in `models`, by the names that settings have for them; whoever
    opened them closes them. `turns` coordinates calls to servers that other processes call too.
    """

    environ: Mapping[str, str] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    on_retry: Callable[[str, int, float, str], None] | None = None
    person: Answer | None = None
    on_wait: OnWait | None = None
    models: Mapping[str, Model] = field(default_factory=dict)
    turns: SharedTurns | None = None


@dataclass(frozen=True)
class HandedIn(Wrapper):
    """A model that a program passed in: the same model, but closed by whoever opened it.

    However many runs use it, it gets no more calls at once than its `capabilities` allow.
    """

    model: Model

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply, in turn.

        Raises:
            ModelError: as raised by the model.
        """
        turns = turns_of(self.model, self.capabilities.parallel)
        await turns.take()
        try:
            return await self.model.ask(request, on_text)
        finally:
            turns.give()

    async def close(self) -> None:
        """Do nothing: the model belongs to the program."""


_FAMILIES: Final = {
    "openai": re.compile(r"gpt-[3-9]|chatgpt-|o\d", re.IGNORECASE),
    "anthropic": re.compile(r"claude-", re.IGNORECASE),
    "google": re.compile(r"gemini-", re.IGNORECASE),
    "mistral": re.compile(r"(?:mistral|ministral|magistral)-", re.IGNORECASE),
    "deepseek": re.compile(r"deepseek-(?:chat|reasoner)", re.IGNORECASE),
    "xai": re.compile(r"grok-", re.IGNORECASE),
}
"""The naming patterns of each maker's models, to suggest the maker if it is missing."""


def full_name(spec: str) -> str:
    """The name with its kind: bare known names, hub names and `embedded` are embedded; `BARE` names have no kind.

    Raises:
        UnknownNameError: it is neither a kind nor a known model.
        UsageError: it is a maker's model without the maker (`gpt-5` for `openai:gpt-5`).
    """
    kind, colon, rest = spec.partition(":")
    if (kind in KNOWN and not colon) or (spec.startswith(PREFIX) and rest):
        return f"embedded:{spec}"
    if spec == "embedded":
        return f"embedded:{next(iter(KNOWN))}"
    if spec in BARE:
        return spec
    if not rest or (kind not in KINDS and kind not in brought_kinds()):
        if maker := next((maker for maker, family in _FAMILIES.items() if family.match(spec)), ""):
            raise UsageError(f"Unknown model {spec!r}. Did you mean '{maker}:{spec}'?")
        kinds = (*KINDS, *brought_kinds())
        if rest and (near := hint(kind, kinds)).endswith("?"):
            raise UnknownNameError("model", spec, [f"{near.split(chr(39))[1]}:{rest}"])
        raise _unknown_model(spec)
    return spec


def _unknown_model(spec: str) -> UnknownNameError:
    """The error for a name that is neither a kind of model nor a known model; it begins with the models that are here.

    The variables of this process tell where models are: a name is checked before there is an `Environment`.
    """
    home = models_home(os.environ)
    here = [*(name for name in KNOWN if installed(name, home)), *(model.name for model in fetched(home))]
    near = hint(spec, names())
    if near.endswith("?"):
        meant = near.split(chr(39))[1]
        missing = meant in KNOWN and meant not in here
        return UnknownNameError("model", spec, [meant], f"`fabula models pull {meant}` downloads it." * missing)
    found = f"On this machine: {', '.join(here[:_MOST_SHOWN])}." if here else "No model is on this machine yet."
    others = ", ".join(name for name in KNOWN if name not in here)
    pull = f" `fabula models pull NAME` downloads one: {others}, or hf:OWNER/REPO." if others else ""
    return UnknownNameError(
        "model",
        spec,
        names(),
        f"{found}{pull} A model on a server needs its provider, as in ollama:NAME or openai:NAME; "
        "`fabula models` lists the providers.",
        listed=False,
    )


def names() -> list[str]:
    """The models with names of their own, and the prefixes of all others."""
    kinds = (*(kind for kind in KINDS if kind != PROGRAM), *brought_kinds())
    return [*KNOWN, *BARE, *(f"{kind}:" for kind in kinds)]


def open_model(
    spec: str, table: ModelTable, env: Environment, adapters: Mapping[str, Path] = MappingProxyType({})
) -> Model:
    """The model that `spec` names, with its limits. It is not started: a missing file or key shows at the first call.

    An embedded model is loaded with `adapters`, by their digests.

    Raises:
        UnknownNameError: there is no such kind or known model.
        ConfigError: a script cannot be read.
        ModelUnavailableError, UsageError: a folder has no encoder-decoder, or its packages are missing.
        PluginError: it comes from an installed package, and is broken.
    """
    name = full_name(spec)
    kind, _, rest = name.partition(":")
    replicas: list[Model] = []
    if name in env.models:
        return HandedIn(env.models[name])
    if (model := _without_limits(kind, rest, table, env)) is not None:
        return model
    if kind == "embedded":
        model = _embedded(name, rest, table, env, adapters)
    elif kind in SERVERS:
        model, *replicas = _served(kind, rest, table, env)
    elif kind == "seq2seq":
        from fabula.models.seq2seq import seq2seq_model  # noqa: PLC0415 - few need it

        model = seq2seq_model(Path(rest), name)
    else:
        model = brought_model(kind, rest, table)
    limited = Limited(model, table.parallel, table.timeout, table.tries, on_retry=env.on_retry)
    if kind in SERVERS:
        limited.replicas, limited.shared = replicas, env.turns
        limited.reached = f"{name} {' '.join(table.addresses)}"
    return limited


def _without_limits(kind: str, rest: str, table: ModelTable, env: Environment) -> Model | None:
    """A model that is neither an engine nor a server, and needs no limits; `None` for any other kind."""
    what, _, version = rest.partition("@")
    opened: dict[str, Callable[[], Model]] = {
        PROGRAM: lambda: Program(what, _nobody_there, version),
        HAND: ByHand,
        "scripted": lambda: ScriptedModel.read(Path(rest)),
        "replay": lambda: ReplayModel(Path(rest)),
        "files": lambda: AnswerFiles(
            Path(rest).expanduser(), table.parallel or MOST_AT_ONCE, env.on_wait, context=table.context
        ),
    }
    opened |= {bare: partial(OutsideModel, bare, context=table.context) for bare in BARE if bare != HAND}
    return opened[kind]() if kind in opened else None


def _nobody_there(request: Request) -> str:
    raise ModelUnavailableError(
        f"The model that plays {request.role!r} belongs to a Python program and was not passed to fabula. Pass it to "
        "`fabula.write(..., model=...)` in that program, or specify another model (`--model`)."
    )


def _embedded(name: str, rest: str, table: ModelTable, env: Environment, adapters: Mapping[str, Path]) -> Model:
    from fabula.models.embedded import EmbeddedModel  # noqa: PLC0415 - the engine is loaded on demand

    weights = find_weights(rest, models_home(env.environ))
    return EmbeddedModel(
        weights,
        name=name,
        slots=table.slots,
        context=table.context or min(USUAL_CONTEXT, context_of(weights) or USUAL_CONTEXT),
        threads=table.threads or _threads(env.environ),
        cache=cache_home(env.environ),
        adapters=adapters,
    )


def _threads(environ: Mapping[str, str]) -> int | None:
    """The value of `FABULA_THREADS`: the embedded engine's threads for all models without a setting.

    Raises:
        ConfigError: it is not a number above 0.
    """
    said = environ.get("FABULA_THREADS", "").strip()
    if not said:
        return None
    if not (said.isascii() and said.isdecimal() and 0 < int(said[:6]) <= _MOST_THREADS):
        raise ConfigError(
            f"FABULA_THREADS is {said[:20]!r}, but it must be a whole number from 1 to {_MOST_THREADS}. If it is not "
            "set, fabula measures which number of threads is fastest."
        )
    return int(said)


def _served(kind: str, rest: str, table: ModelTable, env: Environment) -> list[Model]:
    """The model on each of its servers."""
    alike = Likeness()
    return [
        provider_model(
            kind,
            rest,
            base_url=address or None,
            environ=env.environ,
            key_env=table.key_env or None,
            parallel=table.parallel or 8,
            timeout=table.timeout,
            context=table.context,
            gateway=Gateway(table.headers, table.query, table.extra_body, table.json_schema),
            alike=alike,
        )
        for address in table.addresses
    ]


def base_sampling(spec: str) -> Sampling:
    """The values against loops that a known model needs, or a small one from the hub; empty for others."""
    kind, _, rest = full_name(spec).partition(":")
    if kind == "embedded" and rest.startswith(PREFIX) and is_small(rest):
        return AGAINST_LOOPS
    return KNOWN[rest].sampling if kind == "embedded" and rest in KNOWN else Sampling()


def open_cast(settings: Settings, roles: tuple[str, ...], env: Environment, open_role: str = "") -> Cast:
    """The performers of a system's roles. One engine or client serves all roles with the same model.

    Raises:
        UnknownNameError: the system does not have a role (with an `open_role`: a role is misspelt),
            or a model is unknown.
        ConfigError: a person is cast but cannot be asked, or a script or function cannot be read.
        UsageError: an adapter is missing, is damaged, or belongs to another model.
        TrustError: a settings file casts a program, or names an address, that nobody has allowed.
    """
    settings.check_trusted()
    opened: dict[str, Model] = {}
    wanted = adapters_of(settings)
    tables = {role_key(name): table for name, table in settings.roles.items()}
    named = tables | {role: settings.sampling for role in wanted if role not in tables}
    for role in named:
        mistyped = get_close_matches(role, roles, 1, _MISTYPED) if open_role else [role]
        if (
            role not in roles and mistyped
        ):  # nothing is paid yet; whose name no role's is like is looked for in the story
            raise UnknownNameError("role", role, roles)
    adapters = _found_adapters(wanted, named, settings.model, env)

    def opening(spec: str) -> Model:
        name = full_name(spec)
        if name not in opened:
            table = settings.models.get(name, settings.models.get(spec, ModelTable()))
            opened[name] = open_model(name, table, env, adapters.files.get(name, {}))
        return opened[name]

    def assigned(role: RoleTable, key: str = "") -> Assignment:
        sampling = role.sampling.over(settings.sampling.sampling)
        if ":" in role.play:
            function = load_function(role.play)
            version = sha256(Path(role.play.rpartition(":")[0]).read_bytes()).hexdigest()[:12]
            return Assignment(Program(role.play, function, version), sampling)
        spec = role.model or settings.model
        performer = opening(spec)
        if digest := adapters.digests.get(key):
            performer = Forgotten(performer, digest) if key in adapters.forgotten else Adapted(performer, digest)
        if role.play:
            check_player(role.play)
            if env.person is None:
                raise ConfigError(
                    f"{role.play!r} plays a role, but there is no terminal for questions. Assign a model to the role."
                )
            performer = Person(role.play, env.person, performer)
        return Assignment(performer, sampling, adapters.names.get(key), base_sampling(spec))

    cast = {name: assigned(role, name) for name, role in named.items()}
    everyone_cast = tables and set(tables) >= set(roles)
    first = next(iter(tables)) if everyone_cast else ""
    default = cast[first] if first and first not in wanted else assigned(tables.get(first, settings.sampling))
    return Cast(default, cast, roles, open_role)


def adapters_of(settings: Settings) -> dict[str, str]:
    """Each role's adapter: its folder or file, or its name on a server.

    Settings for a role override those of the room.

    Raises:
        UsageError: the room cannot be read.
    """
    room = settings.adapters.get(WHOLE_ROOM)
    found = {role_key(role): str(folder) for role, folder in read_room(Path(room))[1].items()} if room else {}
    found |= {role_key(role): where for role, where in settings.adapters.items() if role != WHOLE_ROOM}
    return {role: where for role, where in found.items() if where}


@dataclass(frozen=True)
class _Adapters:
    """The checked adapters of a cast.

    Attributes:
        files: the files that an embedded model is loaded with, by the model's name and their digests.
        digests: the digests of the adapters of roles that an embedded model plays.
        names: the names of the adapters of roles that a server plays, which are used as model names.
        forgotten: the roles whose adapter was learned from the author and has been removed.
    """

    files: dict[str, dict[str, Path]] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)


def _found_adapters(
    wanted: Mapping[str, str], roles: Mapping[str, RoleTable], model: str, env: Environment
) -> _Adapters:
    """The adapters that are `wanted`; `model` plays the roles without a model.

    Raises:
        UsageError: an adapter is missing, is damaged, or belongs to another model.
    """
    found = _Adapters()
    for role, where in wanted.items():
        name = full_name(roles[role].model or model)
        kind, _, rest = name.partition(":")
        if ":" in roles[role].play:  # a program plays it
            continue
        check_learned(Path(where), name, env.environ)
        if kind != "embedded":
            found.names[role] = Path(where).name if Path(where).exists() else where
            continue
        if digest := digest_of_forgotten(Path(where), env.environ):
            found.digests[role] = digest
            found.forgotten.add(role)
            continue
        base = find_weights(rest, models_home(env.environ))
        file = engine_adapter(Path(where), base, name, cache_home(env.environ))
        found.digests[role] = fingerprint(file)
        found.files.setdefault(name, {})[found.digests[role]] = file
    return found


def check_player(play: str) -> None:
    """Check that a player without a colon is a person; with one, it is a program.

    Raises:
        ConfigError: it looks like a file or a model.
    """
    if play.endswith(".py") or "/" in play or "\\" in play:
        raise ConfigError(
            f"{play!r} is a file without the name of a function. Use {play}:function, or me to play the role yourself."
        )
    if play in KNOWN:
        raise ConfigError(
            f"{play!r} is a model, not a player. Use --model ROLE={play}, or me to play the role yourself."
        )
