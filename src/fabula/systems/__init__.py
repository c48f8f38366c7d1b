"""Writing methods from papers. A folder here with a `paper.toml` is a system; nothing lists them.

A system's module `config` holds a frozen dataclass `Config`, whose defaults are the paper's values and which has the
presets `Config.faithful()` and `Config.improved()`; its module `algorithm` holds
`async def write(brief, run, config) -> Story`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.base.errors import UnknownNameError
from fabula.engine.methods import Method, folders

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.models.known import Strength
    from fabula.story import Brief, Story

_HOME = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class System(Method):
    """A writing method found in its folder."""

    @property
    def takes_plan(self) -> bool:
        """Whether it can write from an author's plan."""
        return bool(self.paper.get("plan", False))

    @property
    def takes_personas(self) -> bool:
        """Whether it can write with an author's personas."""
        return bool(self.paper.get("personas", False))

    @property
    def strength(self) -> Strength:
        """From how strong a model on it is worth what it costs; `worth` says why."""
        strength: Strength = self.paper.get("strength", "small")
        return strength

    @property
    def worth(self) -> str:
        """What was measured of that, in sentences."""
        return str(self.paper.get("worth", ""))

    async def write(self, brief: Brief, run: Run, config: Any) -> Story:  # noqa: ANN401 - each system has its own Config
        """The story this system writes for `brief`; what it costs is in the system's README."""
        story: Story = await self.algorithm.write(brief, run, config)
        return story


def systems() -> dict[str, System]:
    """All systems, by name, found by looking for `paper.toml`."""
    return {name: System(name, folder, paper, __name__) for name, folder, paper in folders(_HOME)}


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
