"""`fabula.toml`: what a project has settled, read and checked; flags of the command line go before it."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from fabula.base.errors import ConfigError
from fabula.models.base import Sampling
from fabula.models.prices import Price
from fabula.models.providers import may_hold_key

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_MODEL = "embedded:smollm2"
_SECRET = re.compile(r"key|token|secret|password|auth|base_url", re.IGNORECASE)  # fields whose values no error shows


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


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

    @field_validator("base_url")
    @classmethod
    def _without_key(cls, address: str) -> str:
        if may_hold_key(address):
            raise ValueError(
                "an address goes without a user (@), a query (?) and a fragment (#), which may hold a key; set the key "
                "in the environment, and name its variable in key_env"
            )
        return address


class PriceTable(_Table):
    """`[prices."NAME"]`: US dollars for a million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class BudgetTable(_Table):
    """`[budget]`: most tokens and US dollars of all runs of the project together."""

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)


class AuthorTable(_Table):
    """`[author]`: for title pages of exports."""

    name: str = ""
    contact: str = ""


class Settings(_Table):
    """All of `fabula.toml`."""

    system: str = "agents-room"
    preset: Literal["faithful", "improved"] = "improved"
    seed: int = 1
    aids: Literal["auto", "on", "off"] = "auto"
    model: str = DEFAULT_MODEL
    prompts: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    sampling: RoleTable = Field(default_factory=RoleTable)
    roles: dict[str, RoleTable] = Field(default_factory=dict)
    models: dict[str, ModelTable] = Field(default_factory=dict)
    prices: dict[str, PriceTable] = Field(default_factory=dict)
    budget: BudgetTable = Field(default_factory=BudgetTable)
    author: AuthorTable = Field(default_factory=AuthorTable)

    @property
    def known_prices(self) -> dict[str, Price]:
        """The prices that are set, by name of the model."""
        return {name: Price(table.input, table.output, table.cached) for name, table in self.prices.items()}

    @property
    def aids_in_force(self) -> Literal["auto", "on", "off"]:
        """As `aids`; but what is to be faithful to a paper has no aids that were not asked for."""
        return "off" if self.aids == "auto" and self.preset == "faithful" else self.aids

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
            first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        secret = _SECRET.search(str(first["loc"][-1])) if first["loc"] else None
        got = "" if secret else f" (got {first['input']!r})"
        raise ConfigError(
            f"{where}: {field}: {first['msg'].removeprefix('Value error, ')}{got}."
        )  # outside the block: pydantic's error holds the value

    def with_costs_of(self, path: Path) -> Settings:
        """These settings with the prices and the budget of a `fabula.toml`, where it is there.

        Raises:
            ConfigError: the file is no TOML or a field is wrong.
        """
        costs = Settings.read(path)
        return self.model_copy(update={"budget": costs.budget, "prices": {**costs.prices, **self.prices}})

    def with_(self, changes: dict[str, Any], where: str = "the command line") -> Settings:
        """These settings with `changes` (nested tables are merged) on top."""
        return Settings.of(merged(self.model_dump(), changes), where)


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` on top; tables in both are merged."""
    result = dict(base)
    for name, value in changes.items():
        old = result.get(name)
        result[name] = merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return result
