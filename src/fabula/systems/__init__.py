"""Writing methods from papers. A folder here with a `paper.toml` is a system; nothing lists them.

A system's module `algorithm` holds a frozen dataclass `Config`, whose defaults are the paper's values and which has the
presets `Config.faithful()` and `Config.improved()`, and `async def write(brief, run, config) -> Story`.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_type_hints

from fabula.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.run import Run
    from fabula.story import Brief, Story

Preset: TypeAlias = Literal["faithful", "improved"]
_HOME = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class System:
    """A writing method found in its folder.

    Attributes:
        name: as users type it, with hyphens.
        paper: what `paper.toml` says: title, authors, year, venue, summary, roles, deviations.
    """

    name: str
    folder: Path
    paper: Mapping[str, Any]

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the roles it may call."""
        return tuple(self.paper["roles"])

    @property
    def open_role(self) -> str:
        """The role that plays the story's own people, who can be cast by name; empty if there is none."""
        return str(self.paper.get("open_role", ""))

    @property
    def takes_plan(self) -> bool:
        """Whether it can write from an author's plan."""
        return bool(self.paper.get("plan", False))

    @property
    def prompts(self) -> Path:
        """The folder of its prompts."""
        return self.folder / "prompts"

    def _module(self) -> Any:  # noqa: ANN401 - a module has no better type
        return import_module(f"{__name__}.{self.folder.name}.algorithm")

    def config(self, preset: Preset = "improved", values: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401 - each system has its own Config
        """The system's `Config`: a preset with `values` (texts are converted to the field's type) set on top.

        Raises:
            UnknownNameError: there is no such field or preset.
            ConfigError: a value does not fit its field.
        """
        kind = self._module().Config
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

    async def write(self, brief: Brief, run: Run, config: Any) -> Story:  # noqa: ANN401 - each system has its own Config
        """The story this system writes for `brief`; what it costs is in the system's README."""
        story: Story = await self._module().write(brief, run, config)
        return story


def _converted(value: object, hint: Any, name: str) -> object:  # noqa: ANN401 - any annotation
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise ConfigError(f"{name} = {value!r} does not fit: {reason}.") from error


def systems() -> dict[str, System]:
    """All systems, by name, found by looking for `paper.toml`."""
    found = {}
    for paper in sorted(_HOME.glob("*/paper.toml")):
        name = paper.parent.name.replace("_", "-")
        found[name] = System(name, paper.parent, tomllib.loads(paper.read_text(encoding="utf-8")))
    return found


def find(name: str) -> System:
    """The system of that name; underscores count as hyphens.

    Raises:
        UnknownNameError: there is none; the nearest is named.
    """
    known = systems()
    system = known.get(name.replace("_", "-").lower())
    if system is None:
        raise UnknownNameError("system", name, known)
    return system
