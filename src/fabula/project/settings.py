"""`fabula.toml`: the settings of a project, read and checked; options of the command line override it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from fabula.base.errors import ConfigError, UsageError, hint
from fabula.base.files import not_utf8, read_bytes
from fabula.base.invalid import fault_of, sentence
from fabula.base.keys import looks_like_key
from fabula.base.tomltext import parse
from fabula.engine.folders import is_path, whole_path
from fabula.models.base import Effort, Price, Sampling
from fabula.models.providers import VARIABLE, may_hold_key
from fabula.project.trust import Act, Trust, acts_in, typed_acts

DEFAULT_MODEL = "embedded:smollm2"
_LARGEST: Final = 2_000_000  # bytes of a file
FILE_MODELS: Final = ("scripted", "replay", "embedded", "seq2seq")  # what comes after the colon may be a file
FOLDER_MODEL: Final = "files"  # what comes after the colon is a folder
_SHOWN: Final = 60  # characters of a value in an error
# whose values no error shows, and no settings file holds
_NO_KEYS: Final = (
    "Do not store keys in a file. Set the key in the environment, and write the name of the variable in `key_env`."
)
_SECRET: Final = re.compile(r"key|token|secret|password|auth|cookie|signature|base_url|headers|query", re.IGNORECASE)
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_SENT_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_NOT_SENT: Final = frozenset({"host", "content-length", "transfer-encoding", "connection"})


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RoleTable(_Table):
    """`[roles.NAME]`: who plays a role, and how its replies are drawn.

    `play` casts a person ("me") or a program ("file.py:function") instead of a model.
    """

    model: str = ""
    play: str = ""
    temperature: float | None = Field(default=None, ge=0, le=5)
    top_p: float | None = Field(default=None, gt=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    min_p: float | None = Field(default=None, ge=0, le=1)
    repeat_penalty: float | None = Field(default=None, gt=0)
    repeat_last_n: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    dry_multiplier: float | None = Field(default=None, ge=0)
    dry_base: float | None = None
    dry_allowed_length: int | None = None
    dry_penalty_last_n: int | None = None
    max_tokens: int | None = Field(default=None, gt=0)
    seed: int | None = None
    reasoning: Effort | None = None
    stop: tuple[str, ...] = ()

    @property
    def sampling(self) -> Sampling:
        """The sampling values that are set."""
        return Sampling(**self.model_dump(exclude={"model", "play"}))


class ModelTable(_Table):
    """`[models."NAME"]`: how to reach a model."""

    base_url: str | tuple[str, ...] = ""
    key_env: str = ""
    parallel: int | None = Field(default=None, gt=0)
    timeout: float = Field(default=600.0, gt=0)
    tries: int = Field(default=5, gt=0)
    slots: int = Field(default=1, gt=0)
    threads: int | None = Field(default=None, gt=0, le=512)
    context: int | None = Field(default=None, ge=256)
    json_schema: bool = True
    headers: dict[str, str] = Field(default_factory=dict)
    query: dict[str, str] = Field(default_factory=dict)
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("key_env")
    @classmethod
    def _a_variable(cls, name: str) -> str:
        must = "must be the name of an environment variable, such as OPENAI_API_KEY"
        if looks_like_key(name):
            raise ValueError(
                f"{must}, but looks like a key (not shown). Remove it from the file, and set the key in the "
                "environment, as in `export OPENAI_API_KEY=KEY`"
            )
        if name and not _VARIABLE_NAME.fullmatch(name):
            raise ValueError(must)
        return name

    @field_validator("headers", "query")
    @classmethod
    def _without_keys(cls, sent: dict[str, str]) -> dict[str, str]:
        for name, value in sent.items():
            if not _SENT_NAME.fullmatch(name) or name.lower() in _NOT_SENT or not value.isprintable():
                raise ValueError(
                    f"{name[:_SHOWN]!r} cannot be sent: it is not a valid name, or the HTTP library sets it"
                )
            if _SECRET.search(name) and not VARIABLE.search(value):
                raise ValueError(
                    f"{name!r} may contain a key: put the key in an environment variable and refer to it here, as in "
                    f'{name} = "${{GATEWAY_KEY}}"'
                )
        return sent

    @field_validator("base_url")
    @classmethod
    def _without_key(cls, given: str | tuple[str, ...]) -> str | tuple[str, ...]:
        addresses = [given] if isinstance(given, str) else [address.strip().rstrip("/") for address in given]
        if any(map(may_hold_key, addresses)):
            raise ValueError(
                "an address must not have a user (@), a query (?) or a fragment (#), which may hold a key; set the key "
                "in the environment, and name its variable in key_env"
            )
        if not addresses:
            raise ValueError("the list has no address; leave base_url out for the usual address")
        if len(addresses) > 1 and not all(addresses):
            raise ValueError("one of the addresses is empty")
        if len(set(addresses)) < len(addresses):
            raise ValueError("an address occurs twice: `parallel` says how many calls go to each server at once")
        return addresses[0] if len(addresses) == 1 else tuple(addresses)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of its servers, which are replicas of one model; one empty text for the usual address."""
        return (self.base_url,) if isinstance(self.base_url, str) else self.base_url


class PriceTable(_Table):
    """`[prices."NAME"]`: US dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class BudgetTable(_Table):
    """`[budget]`: maximum tokens and US dollars of all runs of the project together."""

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)


class AuthorTable(_Table):
    """`[author]`: for title pages of exports. `language` is a tag such as "de"; empty, it is read from the text."""

    name: str = ""
    language: str = ""
    contact: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    """The source of settings; settings with the same values are equal, whatever their source.

    Attributes:
        file: the file that they come from; `None` for a person or a program.
        typed: what the person's additions to them could do.
    """

    file: Path | None = field(default=None, compare=False)
    typed: frozenset[Act] = field(default=frozenset(), compare=False)


class Settings(_Table):
    """All of `fabula.toml`."""

    system: str = "agents-room"
    preset: Literal["faithful", "improved"] = "improved"
    seed: int = Field(default=1, ge=-(2**63), lt=2**63)
    aids: Literal["auto", "on", "off"] = "auto"
    model: str = DEFAULT_MODEL
    prompts: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    sampling: RoleTable = Field(default_factory=RoleTable)
    roles: dict[str, RoleTable] = Field(default_factory=dict)
    adapters: dict[str, str] = Field(default_factory=dict)
    models: dict[str, ModelTable] = Field(default_factory=dict)
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    budget: BudgetTable = Field(default_factory=BudgetTable)
    author: AuthorTable = Field(default_factory=AuthorTable)
    _said: _Said = PrivateAttr(default_factory=_Said)

    @property
    def known_prices(self) -> dict[str, Price]:
        """The prices that are set, by name of the model."""
        return {name: Price(table.input, table.output, table.cached) for name, table in self.prices.items()}

    @property
    def aids_in_force(self) -> Literal["auto", "on", "off"]:
        """The value of `aids`, except that a preset faithful to a paper has only aids that were asked for."""
        return "off" if self.aids == "auto" and self.preset == "faithful" else self.aids

    @property
    def as_tables(self) -> dict[str, Any]:
        """The values that differ from the defaults, as nested tables of JSON data."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @property
    def what_is_asked(self) -> dict[str, Any]:
        """The settings that can change a prompt, a reply or its model, as nested tables of JSON data without defaults.

        Addresses, limits and prices cannot; the size of a model's context can, since prompts are made to fit.
        """
        said = self.model_dump(mode="json", exclude_defaults=True, exclude={"models", "prices", "budget", "author"})
        windows = {name: t.context for name, t in self.models.items() if t.context and name in self.cast_models}
        return said | ({"context": windows} if windows else {})

    @classmethod
    def read(cls, path: Path) -> Settings:
        """The settings in a file, with paths relative to its folder; the defaults if there is no file.

        Raises:
            ConfigError: the file is not TOML or a field is wrong; the message names file and field.
        """
        if not path.exists():
            return cls()
        try:
            raw = read_bytes(path, _LARGEST)  # not `read_text`, which changes separators inside of values
            data = parse(raw.decode("utf-8-sig").replace("\r\n", "\n"))
        except UnicodeDecodeError as error:
            raise ConfigError(not_utf8(path, raw, error)) from error
        except UsageError as error:
            raise ConfigError(f"{error} Or delete it.") from error
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"Cannot read {path}: {error}. {_toml_advice(error)}") from error
        return cls._from(cls.of(data, str(path)), _Said(path))

    @classmethod
    def of(cls, data: dict[str, Any], where: str) -> Settings:
        """The settings in `data`; `where` names the source in errors.

        Raises:
            ConfigError: a field is unknown or its value is wrong.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            secret = any(_SECRET.search(str(part)) for one in error.errors() for part in one["loc"])
            said = fault_of(error, cls, quote=not secret)
            unknown = any(one["type"] == "extra_forbidden" and one["loc"][0] == "models" for one in error.errors())
            advice = f" {_NO_KEYS}" if secret and unknown else _advice(error)
        raise ConfigError(f"{where}: {sentence(said)}{advice}")  # outside the block: pydantic's error holds the value

    def with_costs_of(self, path: Path) -> Settings:
        """These settings with the prices and the budget of a `fabula.toml`, if it exists.

        Raises:
            ConfigError: the file is not TOML or a field is wrong.
        """
        costs = Settings.read(path)
        return self.model_copy(update={"budget": costs.budget, "prices": {**costs.prices, **self.prices}})

    def with_(self, changes: dict[str, Any], where: str = "the command line") -> Settings:
        """These settings with `changes` on top, typed by a person (nested tables are merged)."""
        typed = self._said.typed | typed_acts(changes, Path())
        return self._from(Settings.of(merged(self.model_dump(), changes), where), _Said(self._said.file, typed))

    def said_by(self, file: Path) -> Settings:
        """These settings as the settings of a file: what they could do needs the trust that the file was given."""
        return self._from(self, _Said(file))

    def said_like(self, other: Settings) -> Settings:
        """These settings with the source of `other`: what they could do is trusted as there."""
        return self._from(self, other._said)

    @property
    def file(self) -> Path | None:
        """The file that these settings come from; `None` if a person or a program gave all of them."""
        return self._said.file

    @property
    def typed(self) -> frozenset[Act]:
        """What the person's additions to a file's settings could do."""
        return self._said.typed

    @classmethod
    def _from(cls, settings: Settings, said: _Said) -> Settings:
        settings._said = said
        return settings

    def at(self, base: Path) -> Settings:
        """These settings with whole paths, which were relative to `base`."""
        said = self.model_dump(exclude_unset=True)
        for role in (said.get("sampling", {}), *said.get("roles", {}).values()):
            role |= {name: whole_paths(role[name], base) for name in ("play", "model") if role.get(name)}
        if "adapters" in said:
            said["adapters"] = {role: whole_adapter(path, base) for role, path in self.adapters.items()}
        said |= {"prompts": whole_path(self.prompts, base)} if self.prompts else {}
        said |= {"system": whole_path(self.system, base)} if is_path(self.system) else {}
        said |= {name: whole_paths(said[name], base) for name in ("model", "config") if name in said}
        if "models" in said:
            said["models"] = {whole_paths(name, base): table for name, table in said["models"].items()}
        return self._from(Settings.of(said, str(self._said.file or "the command line")), self._said)

    @property
    def names_no_model(self) -> bool:
        """Whether no model is named anywhere."""
        return self._said.file is None and "model" not in self.model_fields_set

    @property
    def cast_models(self) -> frozenset[str]:
        """The models with which roles are cast, as they are named."""
        return frozenset({self.model, *(role.model for role in (self.sampling, *self.roles.values()))})

    def check_trusted(self) -> None:
        """Check that a file runs no program, and reaches no address, without permission.

        Only models with which a role is cast count.

        Raises:
            TrustError: it runs or reaches one.
        """
        if self._said.file is None:
            return
        cast = self.cast_models
        said = self.model_dump() | {"models": {n: t.model_dump() for n, t in self.models.items() if n in cast}}
        Trust().check(self._said.file, acts_in(said, self._said.file.parent) - self._said.typed)

    def check_folder_trusted(self) -> None:
        """Check that a file does not run the code of a system in a folder without permission.

        Raises:
            TrustError: it runs such code.
        """
        if self._said.file is not None:
            acts = acts_in({"system": self.system}, self._said.file.parent)
            Trust().check(self._said.file, acts - self._said.typed)


def _toml_advice(error: ValueError) -> str:
    """What to do about a line that is not TOML."""
    if "Cannot overwrite" in str(error) or "Cannot declare" in str(error):
        return "The same name is used in an earlier line. Remove one of the lines."
    return "Correct the line."


def _advice(error: ValidationError) -> str:
    """Where a setting belongs that is in the wrong place, or in the wrong form; empty for other faults."""
    for one in error.errors():
        loc, value = one["loc"], one["input"]
        if one["type"] == "extra_forbidden" and len(loc) == 1 and hint(str(loc[0]), Settings.model_fields)[-1] != "?":
            if loc[0] in {one.name for one in fields(Sampling)}:
                return " Put its line under the line [sampling]."
            return f" If {loc[0]!r} is a setting of the system, put its line under the line [config]."
        if len(loc) == 2 and loc[0] in ("roles", "models") and isinstance(value, str):  # noqa: PLR2004 - `roles.NAME`
            shown = json.dumps(value[:_SHOWN], ensure_ascii=False)
            return f" Write the line [roles.{loc[1]}] and, under it, `model = {shown}`."
    return ""


_MISSING: Final = object()


def carried_over(used: dict[str, Any], then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The tables `now` with what a run `used` beyond the tables of `then`; changes since `then` take precedence."""
    result = dict(now)
    for name in dict.fromkeys((*used, *then)):
        mine, before, today = used.get(name, _MISSING), then.get(name, _MISSING), now.get(name, _MISSING)
        if any(isinstance(one, dict) for one in (mine, before, today)):
            tables = [one if isinstance(one, dict) else {} for one in (mine, before, today)]
            if inner := carried_over(*tables):
                result[name] = inner
        elif mine != before and today == before:
            result[name] = mine
    return {name: value for name, value in result.items() if value is not _MISSING}


def difference(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The values of the tables `new` that differ from those of `old`; `None` for a value that only `old` has."""
    result: dict[str, Any] = {}
    for name in dict.fromkeys((*old, *new)):
        mine, before = new.get(name), old.get(name)
        if isinstance(mine, dict) or isinstance(before, dict):
            if inner := difference(mine or {}, before or {}):
                result[name] = inner
        elif mine != before:
            result[name] = mine
    return result


def changes_said(then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The values of nested tables that have changed, by their dotted names, with both; empty if none has."""
    before, after = _flat(then), _flat(now)
    return "; ".join(
        f"{name} was {_short(before.get(name))}, now {_short(after.get(name))}"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    )


def _flat(tables: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tables.items():
        found |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def _short(value: object) -> str:
    shown = "not set" if value is None else json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top; tables in both are merged."""
    result = dict(base)
    for name, value in changes.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result


def whole_paths(value: Any, base: Path) -> Any:  # noqa: ANN401 - a setting of any type
    """A setting in which programs (`file.py:function`) and models in files have whole paths from `base`."""
    if isinstance(value, dict):
        return {name: whole_paths(inner, base) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(whole_paths(inner, base) for inner in value)
    if not isinstance(value, str):
        return value
    file, _, function = value.rpartition(":")
    kind, _, rest = value.partition(":")
    if file.endswith(".py"):
        return f"{whole_path(file, base)}:{function}"
    if not rest or kind not in (FOLDER_MODEL, *FILE_MODELS):
        return value
    path = whole_path(rest, base)
    return f"{kind}:{path}" if kind == FOLDER_MODEL or _exists(path) else value  # the folder need not be there yet


def whole_adapter(path: str, base: Path) -> str:
    """An adapter with its whole path if it is a file or folder there; a name on a server stays unchanged."""
    return whole if path and _exists(whole := whole_path(path, base)) else path


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # a name that no file can have
        return False
