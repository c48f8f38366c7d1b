"""`fabula.toml`: what a project has settled, read and checked; flags of the command line go before it."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabula.base.errors import ConfigError
from fabula.models.base import Sampling

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_MODEL = "embedded:smollm2"


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class RoleTable(_Table):
    """`[roles.NAME]`: who plays a role, and how its replies are drawn.

    `play` casts a person ("me") or a program ("file.py:function") instead of a model.
    """

    model: str = ""
    play: str = ""
    adapter: str = ""
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
    stop: tuple[str, ...] = ()

    @property
    def sampling(self) -> Sampling:
        """The sampling values that are set."""
        return Sampling(**self.model_dump(exclude={"model", "play", "adapter"}))


class ModelTable(_Table):
    """`[models."NAME"]`: how a model is reached."""

    base_url: str = ""
    key_env: str = ""
    parallel: int | None = Field(default=None, gt=0)
    timeout: float = Field(default=600.0, gt=0)
    tries: int = Field(default=5, gt=0)
    slots: int = Field(default=1, gt=0)
    threads: int | None = Field(default=None, gt=0)
    context: int = Field(default=8192, ge=256)
    adapters: dict[str, str] = Field(default_factory=dict)


class PriceTable(_Table):
    """`[prices."NAME"]`: US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class AuthorTable(_Table):
    """`[author]`: for title pages of exports."""

    name: str = ""
    contact: str = ""


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
    models: dict[str, ModelTable] = Field(default_factory=dict)
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    author: AuthorTable = Field(default_factory=AuthorTable)

    @property
    def aids_in_force(self) -> Literal["auto", "on", "off"]:
        """As `aids`; but what is to be faithful to a paper has no aids that were not asked for."""
        return "off" if self.aids == "auto" and self.preset == "faithful" else self.aids

    @property
    def as_tables(self) -> dict[str, Any]:
        """What differs from the defaults, as nested tables of JSON data."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @classmethod
    def read(cls, path: Path) -> Settings:
        """The settings in a file; the defaults where there is none.

        Raises:
            ConfigError: the file is no TOML or a field is wrong; names file and field.
        """
        if not path.exists():
            return cls()
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"Cannot read {path}: {error}. Correct the line or delete the file.") from error
        return cls.of(data, str(path))

    @classmethod
    def of(cls, data: dict[str, Any], where: str) -> Settings:
        """The settings in `data`; `where` names the source in errors.

        Raises:
            ConfigError: a field is unknown or its value is wrong.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise ConfigError(f"{where}: {field}: {first['msg']} (got {first['input']!r}).") from error

    def with_(self, changes: dict[str, Any], where: str = "the command line") -> Settings:
        """These settings with `changes` (nested tables are merged) on top."""
        return Settings.of(merged(self.model_dump(), changes), where)


_MISSING: Final = object()


def carried_over(used: dict[str, Any], then: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """The tables `now` with what a run `used` beyond the tables of `then`; what changed since `then` goes before it."""
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
    """The values of the tables `new` that differ from those of `old`; `None` for one that only `old` has."""
    result: dict[str, Any] = {}
    for name in dict.fromkeys((*old, *new)):
        mine, before = new.get(name), old.get(name)
        if isinstance(mine, dict) or isinstance(before, dict):
            if inner := difference(mine or {}, before or {}):
                result[name] = inner
        elif mine != before:
            result[name] = mine
    return result


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top; tables in both are merged."""
    result = dict(base)
    for name, value in changes.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
