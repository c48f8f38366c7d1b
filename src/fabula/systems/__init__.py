"""Writing methods from papers. A folder here with a `paper.toml` is a system; nothing lists them.

Others come from installed packages, by entry points of the group `fabula.systems`, or are given by their path.

A system's module `config` holds a frozen dataclass `Config`, whose defaults are the paper's values and which has the
presets `Config.faithful()` and `Config.improved()`; its module `algorithm` holds
`async def write(brief, run, config) -> Story`, which is the paper. What fabula adds, where it does, stands in a module
`improved` with a `write` of its own (`fabula.engine.methods.Presets`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.folders import is_path
from fabula.engine.methods import Method, MethodCatalogue

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.models.known import Strength
    from fabula.project.settings import Settings
    from fabula.story import Brief, Story


@dataclass(frozen=True, slots=True)
class System(Method):
    """A writing method found in its folder."""

    @property
    def takes_plan(self) -> bool:
        """Whether it can write from an author's plan."""
        return bool(self.paper.get("plan", False))

    @property
    def takes_manuscript(self) -> bool:
        """Whether it goes on from an author's own texts, as `plan/chapters.md` lists them."""
        return bool(self.paper.get("manuscript", False))

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
        program = self.program(config)
        with self.blamed():
            story: Story = await program.write(brief, run, config)
            return story


CATALOGUE: Final = MethodCatalogue(System, "system", Path(__file__).parent, __name__, "fabula.systems")


def systems() -> dict[str, System]:
    """All systems, by name: fabula's own and those of installed packages."""
    return CATALOGUE.all()


def find(name: str) -> System:
    """The system of that name (underscores count as hyphens), or in the folder that `name` is the path of.

    What settings name is found by `system_of`, which asks for the trust that a folder needs.

    Raises:
        UnknownNameError: there is none; the nearest is named.
        PluginError: it is somebody else's, and cannot be used.
    """
    return CATALOGUE.find(name)


def system_of(settings: Settings) -> System:
    """The system that settings name.

    Raises:
        UnknownNameError: there is none; the nearest is named.
        PluginError: it is somebody else's, and cannot be used.
        TrustError: a settings file names a folder whose code nobody has allowed it to run.
    """
    if is_path(settings.system):
        settings.check_folder_trusted()
    return find(settings.system)
