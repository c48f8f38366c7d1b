"""What a system and an evaluator have in common: a folder with a `paper.toml`, found by looking."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_type_hints

from fabula.base.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

Preset: TypeAlias = Literal["faithful", "improved"]


@dataclass(frozen=True, slots=True)
class Method:
    """A method from a paper, found in its folder.

    Attributes:
        name: as users type it, with hyphens.
        paper: what `paper.toml` says: title, authors, year, venue, summary, roles, deviations.
        package: the package whose module `algorithm` holds its `Config` and its function.
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

    def config(self, preset: Preset = "improved", values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - each method has its own Config
        """The method's `Config`: a preset with `values` (texts are converted to the field's type) set on top.

        Raises:
            UnknownNameError: there is no such field or preset.
            ConfigError: a value does not fit its field.
        """
        kind = self.algorithm.Config
        if preset not in get_args(Preset):
            raise UnknownNameError("preset", preset, get_args(Preset))
        base = getattr(kind, preset)()
        hints = get_type_hints(kind)
        known = {field.name: getattr(base, field.name) for field in fields(kind)}
        for name, value in (values or {}).items():
            if name not in known:
                raise UnknownNameError(f"setting of {self.name}", name, known)
            known[name] = _converted(value, hints[name], f"{self.name}.{name}")
        return kind(**known)


def _converted(value: object, hint: Any, name: str) -> object:  # noqa: ANN401 - any annotation
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ConfigError(f"{name} = {value!r} does not fit: {reason}.") from error


def folders(home: Path) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """Name, folder and `paper.toml` of every method below `home`, by name."""
    for paper in sorted(home.glob("*/paper.toml")):
        name = paper.parent.name.replace("_", "-")
        yield name, paper.parent, tomllib.loads(paper.read_text(encoding="utf-8"))
