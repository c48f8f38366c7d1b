"""Turn options (`--model`, `--adapter`, `--play`, `--set`, ...) into settings, checked before anything is created."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.beginning import FOR_SMALL_MODELS, context_of, naming_file, other_systems, with_usual_system
from fabula.app.writing import settings_as_last_time
from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.files import no_file
from fabula.cli.options import Choices, Performers
from fabula.engine.methods import Method, values_of
from fabula.engine.roles import role_key
from fabula.models.adapters import ROOM
from fabula.models.base import SAMPLING_FIELDS
from fabula.models.finding import only_model
from fabula.models.providers import OWN_KINDS
from fabula.project.brought import brought_kinds
from fabula.project.casting import KINDS as MODEL_KINDS
from fabula.project.casting import SERVERS, WHOLE_ROOM, adapters_of, full_name
from fabula.project.default_model import DefaultModel, offered_model
from fabula.project.learned import is_learned
from fabula.project.settings import ModelTable, RoleTable, Settings, difference, whole_adapter
from fabula.systems import find, system_of

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.project.folder import ProjectFolder
    from fabula.story import Brief


# A model's name starts with a kind and a colon, or is a known name; so `NAME=` without a colon before it is a role.
_ROLE: Final = re.compile(r"\A([A-Za-z][A-Za-z0-9_-]*)=(.*)", re.DOTALL)
_SHOWN: Final = 4  # roles with an adapter that a line names
_EXAMPLES: Final = {"--set": "words=900", "--sampling": "temperature=0.7", "--play": "writer=me"}
_FILES: Final = ("scripted", "replay", "embedded", "seq2seq")


@dataclass(frozen=True, slots=True)
class Casting:
    """The models given with `--model`: the model for all roles ("" if not given), and those for single roles."""

    everyone: str
    roles: Mapping[str, str]


def read_models(said: Sequence[str]) -> Casting:
    """Return the casting that the `--model` values describe.

    Raises:
        UnknownNameError: the kind or name of a model is unknown.
    """
    everyone, roles = "", {}
    for value in said:
        match = _ROLE.fullmatch(value)
        if match:
            roles[_role(match[1])] = _model(match[2])
        else:
            everyone = _model(value)
    return Casting(everyone, roles)


def named_model(value: str, base_url: str = "") -> str:
    """Return a `--model` value, with the model's name added if it names only a server (`llamacpp:`) that serves one.

    Raises:
        ModelUnavailableError: the server does not answer.
        UsageError: the server serves several models.
    """
    kind = value.strip().rpartition("=")[2].removesuffix(":")
    if not value.strip().endswith(":") or kind not in OWN_KINDS:
        return value
    return value.strip() + only_model(kind, base_url.partition(",")[0], os.environ)


def _role(name: str) -> str:
    return role_key(name)


def _model(spec: str) -> str:
    """The full name of a model. Files get absolute paths, so that a project works from any folder."""
    name = full_name(spec.strip())
    kind, _, rest = name.partition(":")
    if kind in _FILES and Path(rest).expanduser().exists():
        return f"{kind}:{Path(rest).expanduser().resolve()}"
    return name


def changes_of(choices: Choices, base: Settings, brief: Brief | None = None) -> dict[str, Any]:
    """Return the changes that the options make to the settings, as nested tables typed as in `fabula.toml`.

    With the `brief` of a new project, the system is chosen for it if none is named.

    Raises:
        UnknownNameError: a name in an option is unknown.
        ConfigError: a value does not fit.
        UsageError: an option does not have its required form.
    """
    system = {} if choices.system is None else {"system": find(choices.system).spec}
    typed, said = performers_of(choices, base, system), _said_to_system(choices)
    if brief is not None:
        flat = {_flat(name): value for name, value in said.items()}
        typed = {
            name: value
            for name, value in with_usual_system(typed | {"config": flat}, brief).items()
            if name != "config"
        }
    if said:
        settings = base.with_(typed)
        method = system_of(settings)
        with other_systems(method):
            known = values_of(method.config(settings.preset, said))
        typed["config"] = {name: known[name] for name in map(_flat, said)}
    return typed


def performers_of(choices: Performers, base: Settings, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the settings in the options for performers and sampling, as nested tables typed as in `fabula.toml`.

    Raises:
        UnknownNameError: a name in an option is unknown.
        ConfigError: a value does not fit.
        UsageError: an option does not have its required form.
    """
    casting = read_models([named_model(value, choices.base_url or "") for value in choices.model or ()])
    changes = dict(changes or {})
    changes |= {name: value for name in ("preset", "seed", "aids") if (value := getattr(choices, name)) is not None}
    changes |= _checked_names(choices)
    if casting.everyone:
        changes["model"] = casting.everyone
    elif base.names_no_model and (chosen := _unnamed()) is not None:
        changes |= chosen.changes
    roles: dict[str, dict[str, Any]] = {role: {"model": model} for role, model in casting.roles.items()}
    for role, table in roles.items():
        if base.roles.get(role, RoleTable()).play:
            table["play"] = ""  # the model that is named for a role plays it, whoever played it before
    for value in choices.play or ():
        role, player = _pair(value, "--play", "ROLE=me or ROLE=file.py:function")
        roles.setdefault(_role(role), {})["play"] = _player(player)
    changes |= _sampling(choices.sampling or (), roles)
    if roles:
        changes["roles"] = roles
    if choices.adapter:
        changes["adapters"] = dict(adapter_of(value) for value in choices.adapter)
    if choices.base_url is not None:
        changes["models"] = _addresses(choices.base_url, casting, changes.get("model", base.model))
    _find_contexts(changes, base, casting)
    return Settings.of(changes, "the command line").model_dump(exclude_unset=True)


def settings_for(project: ProjectFolder, choices: Choices, terminal: Terminal, *, forget: bool = False) -> Settings:
    """Return the settings in force: `fabula.toml`, then the additional settings of the last run, then the options.

    With `forget`, ignore the additional settings of the last run. Also tell the person which settings are not in
    `fabula.toml`.

    Raises:
        FabulaError: an option or a setting of the project is invalid.
    """
    with naming_file(project.settings_file, terminal.environ):
        settings = _in_force(project, choices, terminal, forget=forget)
        _say_brought(terminal, settings)
    return settings


def _in_force(project: ProjectFolder, choices: Choices, terminal: Terminal, *, forget: bool) -> Settings:
    stored = project.settings
    named = "" if choices.system is None else find(choices.system).spec
    before = stored if forget else settings_as_last_time(project, named)
    new = project.is_only_brief
    changes = changes_of(choices, before, project.brief if new else None)
    if new:
        say_default(terminal, choices, changes)
    elif "model" not in changes and (chosen := _default_of(project, before)) is not None:
        terminal.advise(chosen.sentence)
        changes = chosen.changes | changes
    settings = before.with_(changes)
    added = difference(settings.as_tables, before.as_tables)
    again = difference(before.as_tables, stored.as_tables)
    there = project.settings_file.exists()
    store = "--save stores them there" if there else "--save stores them in a new fabula.toml"
    if kept := [
        option for option in as_options(again) if option in as_options(difference(settings.as_tables, stored.as_tables))
    ]:
        terminal.advise(f"Same options as last time: {' '.join(kept)}. --forget uses only fabula.toml; {store}.")
    if added and settings != stored:
        terminal.advise(f"{'Overriding fabula.toml' if there else 'With'}: {' '.join(as_options(added))}. {store}.")
    return settings


def _say_brought(terminal: Terminal, settings: Settings) -> None:
    """Tell the person which parts of a project are code from installed packages other than fabula."""
    system = system_of(settings)
    said = [f"the system {system.name} from {system.source}"] if system.source and not system.by_path else []
    prefixes = sorted({name.partition(":")[0] for name in settings.cast_models if ":" in name} - set(MODEL_KINDS))
    if prefixes:
        brought = brought_kinds()
        said += [f"{name}: from {brought[name].source}" for name in prefixes if name in brought]
    if said:
        terminal.advise(f"This project uses code from installed packages: {', '.join(said)}.")


def _default_of(project: ProjectFolder, settings: Settings) -> DefaultModel | None:
    """The default model of a project that names none and was never written; a written project keeps its model."""
    with project.journal as journal:
        begun = journal.last_settings() is not None
    return None if begun or "model" in settings.model_fields_set else _unnamed()


def _unnamed() -> DefaultModel | None:
    """The default model for something new."""
    return asyncio.run(offered_model(os.environ))


def say_default(terminal: Terminal, choices: Performers, changes: Mapping[str, Any] | None = None) -> None:
    """Tell the person which default model was chosen for a new project, and which system its settings select."""
    if changes and changes.get("system") == FOR_SMALL_MODELS and isinstance(choices, Choices) and not choices.system:
        system = FOR_SMALL_MODELS
        terminal.advise(
            f"Using the system {system}, which is the best for small models. To choose another, use --system."
        )
    if all(_ROLE.fullmatch(value) for value in choices.model or ()) and (chosen := _unnamed()) is not None:
        terminal.advise(chosen.sentence)


def performing(settings: Settings) -> str:
    """Return the performers of roles that are not cast separately: the model, and the roles that have an adapter."""
    tuned = sorted(adapters_of(settings))
    if not tuned:
        return settings.model
    shown = ", ".join(tuned[:_SHOWN]) + (f" and {len(tuned) - _SHOWN} more" if len(tuned) > _SHOWN else "")
    return f"{settings.model} with adapters for {shown}"


def as_options(changes: Mapping[str, Any]) -> list[str]:
    """Return changes to settings as the options that make them."""
    found: list[str] = []
    for name, value in changes.items():
        if name == "config":
            found += [_set(field, one) for field, one in value.items()]
        elif name == "sampling":
            found += [f"--sampling {field}={_shown(one)}" for field, one in value.items()]
        elif name == "roles":
            found += [_of_role(role, field, one) for role, table in value.items() for field, one in table.items()]
        elif name == "adapters":
            found += dict.fromkeys(_of_adapter(role, one) for role, one in value.items())
        elif name == "models":
            found += [f"--base-url {_typed(table['base_url'])}" for table in value.values() if table.get("base_url")]
        else:
            found.append(f"--{name} {'(as by default)' if value is None else value}")
    return found


def _of_adapter(role: str, where: str) -> str:
    if is_learned(Path(where)):
        return f"(learned from you: {Path(where).name})"
    return f"--adapter {where}" if role == WHOLE_ROOM else f"--adapter {role}={where}"


def _set(field: str, value: object) -> str:
    return f"--words {value}" if field == "words" and value else f"--set {field}={value}"


def _of_role(role: str, field: str, value: object) -> str:
    if field in {"model", "play"}:
        return f"--{field} {role}={value}" if value else f"({role} played by the model)"
    return f"--sampling {role}.{field}={_shown(value)}"


def _shown(value: object) -> object:
    """A sampling value as typed; a list of stops has one entry."""
    return value[0] if isinstance(value, list) and value else value


def evaluator_config(choices: Performers, settings: Settings, evaluator: Method) -> Any:  # noqa: ANN401 - each method has its own
    """Return the `Config` of an evaluator or a similar method, after applying `--preset` and `--set`.

    Raises:
        UnknownNameError: the preset or field does not exist.
        ConfigError: a value does not fit its field.
        UsageError: `--set` is malformed.
    """
    said = dict(_pair(value, "--set", "FIELD=VALUE") for value in choices.set_ or ())
    said = {name.replace("-", "_"): value for name, value in said.items()}
    return evaluator.config(settings.preset, said)


def adapter_of(value: str) -> tuple[str, str]:
    """Return the role and the adapter in `--adapter`, as absolute paths; without a role, the adapter must be a room.

    Raises:
        UsageError: the value contains neither a role nor a room.
    """
    match = _ROLE.fullmatch(value.strip())
    if match and not Path(value).exists():
        return _role(match[1]), whole_adapter(match[2].strip(), Path())
    room = Path(value.strip()).expanduser()
    if not room.exists():
        raise UsageError(no_file(room, "Specify the folder of a room, or --adapter ROLE=ADAPTER.", "folder"))
    if not (room / ROOM).is_file() and room.name != ROOM:
        raise UsageError(
            f"--adapter {value!r} is neither a role nor a room: it has no {ROOM}. For the adapter of one role, use "
            f"--adapter ROLE={value}."
        )
    return WHOLE_ROOM, str(room.resolve())


def _checked_names(choices: Performers) -> dict[str, Any]:
    """Preset and prompts as they are stored, if they are given."""
    found: dict[str, Any] = {}
    if choices.preset is not None and choices.preset not in {"faithful", "improved"}:
        raise UnknownNameError("preset", choices.preset, ("faithful", "improved"))
    if choices.prompts is not None:
        found["prompts"] = str(Path(choices.prompts).expanduser().resolve())
    return found


def _pair(value: str, option: str, form: str, *, empty: bool = False) -> tuple[str, str]:
    name, equals, rest = value.partition("=")
    if not equals or not name.strip() or not (rest.strip() or empty):
        raise UsageError(f"{option} {value!r} does not have the form {form}, such as {option} {_EXAMPLES[option]}.")
    return name.strip(), rest.strip()


def _player(player: str) -> str:
    file, colon, function = player.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{function}" if colon else player


def _sampling(said: Sequence[str], roles: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The table `[sampling]`; values for one role are added to `roles`."""
    everyone: dict[str, Any] = {}
    for value in said:
        where, text = _pair(value, "--sampling", "name=value or role.name=value")
        role, dot, name = where.rpartition(".")
        if name not in SAMPLING_FIELDS:
            raise UnknownNameError("sampling value", name, SAMPLING_FIELDS)
        target = roles.setdefault(_role(role), {}) if dot else everyone
        target[name] = (text,) if name == "stop" else text
    return {"sampling": everyone} if everyone else {}


def _addresses(url: str, casting: Casting, model: str) -> dict[str, Any]:
    given = [spec for spec in (casting.everyone, *casting.roles.values()) if spec] or [full_name(model)]
    served = [spec for spec in given if _is_served(spec)]
    if not served:
        check_served(given[0])
    return {spec: {"base_url": url.split(",")} for spec in served}


def _typed(addresses: str | Sequence[str]) -> str:
    return addresses if isinstance(addresses, str) else ",".join(addresses)


def check_served(spec: str) -> None:
    """Check that `--base-url` is used only with a model on a server.

    Raises:
        UsageError: the model does not run on a server.
    """
    if not _is_served(spec):
        raise UsageError(f"--base-url is for models on a server, not for {spec}. Add --model openai-chat:NAME.")


def _is_served(spec: str) -> bool:
    kind = spec.partition(":")[0]
    return kind in SERVERS or kind in brought_kinds()


def _find_contexts(changes: dict[str, Any], base: Settings, casting: Casting) -> None:
    """Fit the limits of a model named now to the context that its server reports.

    Only your own servers are asked: those at loopback, and the address that you typed.
    """
    for spec in {changes.get("model", ""), *casting.roles.values()}:
        tables = changes.get("models", {})
        typed = _typed(tables.get(spec, {}).get("base_url", "")).partition(",")[0]
        if found := context_of(spec, typed, base.models.get(spec, ModelTable()), os.environ):
            changes["models"] = tables | {spec: tables.get(spec, {}) | {"context": found}}


def _said_to_system(choices: Choices) -> dict[str, Any]:
    """The fields of the system's `Config` in `--set` and `--words`, as they were typed."""
    said: dict[str, Any] = dict(_pair(value, "--set", "FIELD=VALUE", empty=True) for value in choices.set_ or ())
    said = {name.replace("-", "_"): value for name, value in said.items()}
    if choices.words is not None:
        said["words"] = choices.words
    if "orchestrator" in said:
        said["orchestrator"] = _player(said["orchestrator"])
    return said


def _flat(name: str) -> str:
    """The name of a setting without its group: one spelling in the file, whatever was typed."""
    return name.rpartition(".")[2]
