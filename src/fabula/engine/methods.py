"""What a system and an evaluator have in common: a folder with a `paper.toml`, found by looking."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, is_dataclass, replace
from importlib import import_module
from inspect import cleandoc
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, get_args, get_origin, get_type_hints

from fabula.base.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Preset: TypeAlias = Literal["faithful", "improved"]

_HOTTEST: Final = 5.0

FORMER_NAMES = {"tidy": "clean_replies", "clean": "clean_replies"}
"""Settings by the names that they had, which older project files have still."""


class Presets:
    """What the `Config` of every method has in common: two presets. Its defaults are the paper's values."""

    __slots__ = ()

    @classmethod
    def faithful(cls) -> Self:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Self:
        """What we would use; a `Config` says here what differs from the paper."""
        return cls()


@dataclass(frozen=True, slots=True)
class Method:
    """A method from a paper, found in its folder.

    Attributes:
        name: as users type it, with hyphens.
        paper: what `paper.toml` says: title, authors, year, venue, summary, roles, deviations.
        package: the package above its folder, whose modules `config` and `algorithm` hold `Config` and function.
    """

    name: str
    folder: Path
    paper: Mapping[str, Any]
    package: str

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the roles it may call."""
        return tuple(self.paper["roles"])

    @property
    def open_role(self) -> str:
        """The role that plays the story's own people, who can be cast by name; empty if there is none."""
        return str(self.paper.get("open_role", ""))

    @property
    def prompts(self) -> Path:
        """The folder of its prompts."""
        return self.folder / "prompts"

    @property
    def algorithm(self) -> Any:  # noqa: ANN401 - a module has no better type
        """Its module `algorithm`, imported on first use."""
        return import_module(f"{self.package}.{self.folder.name}.algorithm")

    @property
    def settings_type(self) -> type[Any]:
        """The `Config` of its module `config`."""
        config: type[Any] = import_module(f"{self.package}.{self.folder.name}.config").Config
        return config

    def config(self, preset: Preset = "improved", values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - each method has its own Config
        """The method's `Config`: a preset with `values` (texts are converted to the field's type) set on top.

        A value is named by its field, also where that stands in one of the groups (`paper`, `ours`): "stall_steps" or
        "paper.stall_steps"; or all of a group in a table, `{"paper": {"stall_steps": 9}}`.

        Raises:
            UnknownNameError: there is no such field or preset.
            ConfigError: a value does not fit its field.
        """
        if preset not in get_args(Preset):
            raise UnknownNameError("preset", preset, get_args(Preset))
        return with_values(getattr(self.settings_type, preset)(), values or {}, self.name)


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a `Config`: its group ("paper", "ours", or none), its value, its type, and what is said of it."""

    name: str
    group: str
    value: Any
    hint: Any
    about: str

    @property
    def full_name(self) -> str:
        """The name with its group."""
        return f"{self.group}.{self.name}" if self.group else self.name

    def set_in(self, config: Any, value: object) -> Any:  # noqa: ANN401 - each method has its own Config
        """`config` with another value in this field."""
        if not self.group:
            return replace(config, **{self.name: value})
        return replace(config, **{self.group: replace(getattr(config, self.group), **{self.name: value})})


def with_values(config: Any, values: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - each method has its own Config
    """`config` with `values` set as `Method.config` sets them; `name` is whose settings they are, for messages.

    Raises:
        UnknownNameError: there is no such field.
        ConfigError: a value does not fit its field.
    """
    known = {setting.name: setting for setting in settings_of(config)}
    given: dict[str, str] = {}
    for said, value in _spread(values, {setting.group for setting in known.values()}):
        group, dot, last = said.rpartition(".")
        last = last if last in known else FORMER_NAMES.get(last, last)
        setting = known.get(last)
        if setting is None:
            raise UnknownNameError(f"setting of {name}", said, known)
        if f"{group}{dot}{last}" not in {setting.name, setting.full_name}:
            raise ConfigError(f"{said!r} is no setting of {name}. Write {setting.full_name} or {setting.name}.")
        if (other := given.setdefault(setting.name, said)) != said:
            raise ConfigError(f"{name}: {other!r} and {said!r} are one setting. Keep one of them.")
        config = setting.set_in(config, _converted(value, setting.hint, f"{name}.{said}"))
    return config


def _spread(values: Mapping[str, Any], groups: set[str]) -> Iterator[tuple[str, Any]]:
    """The values, those in the table of a whole group named one by one."""
    for name, value in values.items():
        if name and name in groups and isinstance(value, dict):
            yield from ((f"{name}.{inner}", one) for inner, one in value.items())
        else:
            yield name, value


def settings_of(config: Any, group: str = "") -> list[Setting]:  # noqa: ANN401 - each method has its own Config
    """The settings in a `Config`, those of its groups too, in their order."""
    hints, about = get_type_hints(type(config), include_extras=True), attributes_of(type(config))
    found: list[Setting] = []
    for field in fields(config):
        value = getattr(config, field.name)
        if is_dataclass(value) and not group:
            found += settings_of(value, field.name)
        else:
            found.append(Setting(field.name, group, value, hints[field.name], about.get(field.name, "")))
    return found


def values_of(config: object) -> dict[str, Any]:
    """Every setting of a `Config` by name, as reports and records have it."""
    return {setting.name: setting.value for setting in settings_of(config)}


def attributes_of(kind: type) -> dict[str, str]:
    """What the `Attributes:` of a class's docstring say, by name, each on one line."""
    _, _, listed = cleandoc(kind.__doc__ or "").partition("Attributes:\n")
    about: dict[str, str] = {}
    name = ""
    for line in listed.splitlines():
        if not line.strip():
            break
        if line.startswith("    ") and not line.startswith("     "):
            name, _, said = line.strip().partition(": ")
            about[name] = said
        elif name:
            about[name] += f" {line.strip()}"
    return about


def _converted(value: object, hint: Any, name: str) -> object:  # noqa: ANN401 - any annotation
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    if isinstance(value, str) and value.casefold() == "none" and type(None) in get_args(hint):
        return None
    said = str(value) if hint is str and type(value) is int else value  # words = 300
    if isinstance(value, str) and get_origin(hint) is tuple:  # "1,2,3" on the command line
        said = [part.strip() for part in value.strip("()[] ").split(",")]
    try:
        found = TypeAdapter(hint).validate_python(said)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ConfigError(f"{name} = {value!r} does not fit: {reason}.") from error
    _check_bounds(found, value, name)
    return found


def _check_bounds(found: object, value: object, name: str) -> None:
    """Refuse numbers that no setting has a meaning for: below 0, none at all, or a temperature above a model's.

    Raises:
        ConfigError: there is one.
    """
    numbers = [one for one in (found if isinstance(found, tuple) else (found,)) if type(one) in (int, float)]
    most = _HOTTEST if name.endswith("temperature") else inf
    least = -1 if isinstance(found, float) and most == inf else 0  # a likeness (a cosine) may be below 0
    if not all(least <= one <= most and isfinite(one) for one in numbers):
        bounds = f"from 0 to {most:g}" if isfinite(most) else f"{least} or more"
        raise ConfigError(f"{name} = {value!r} does not fit: it has to be a number, {bounds}.")


def folders(home: Path) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Name, folder and `paper.toml` of every method below `home`, by name."""
    for paper in sorted(home.glob("*/paper.toml")):
        name = paper.parent.name.replace("_", "-")
        yield name, paper.parent, tomllib.loads(paper.read_text(encoding="utf-8"))
