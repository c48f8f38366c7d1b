"""Projects of long stories for benchmarks of the studio: written by scripted models, opened as anybody's.

Their calls are recorded as those of a provider's model that can be opened without being asked, so that what a run would
ask next is worked out of the settings alone, as for every project.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.estimates import Profile, Writer
from benchmarks.long import Roles, personas_of
from benchmarks.schedule import SkippingLoop
from benchmarks.theatre import Company, plan_of
from fabula.app.writing import Options, Supplied, write_in
from fabula.engine.roles import Cast
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.project.casting import Environment, open_cast
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief
from fabula.story.plan_file import write_plan
from fabula.systems import find

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Model

MODEL: Final = "openai:gpt-4o-mini"
ENVIRON: Final = {"OPENAI_API_KEY": "nobody-is-asked"}
_NOVEL: Final = (
    "Write a novel of {words:,} words in {scenes} chapters about Mara, who keeps a lighthouse, and the boy Tobias, who "
    "waits for his father's boat."
)
_LAMP: Final = "Write a story about a lamp that is to go dark, and about those who see it from the sea."
_WORDS_A_SCENE = 334
_PEOPLE: Final = 8
_EARLY: Final = 0.3  # how likely a played scene ends before each of its turns


@dataclass(frozen=True, slots=True)
class Book:
    """A long story of a system: so many scenes, of about 330 words each."""

    system: str
    scenes: int = 300

    def write(self, folder: Path) -> ProjectFolder:
        """The project, written in `folder`; what is there is used."""
        if (folder / "story.md").exists():
            return ProjectFolder.open(folder)
        project = ProjectFolder.create(folder, self._brief, self._settings)
        if self.system == "magnet":
            (folder / "plan" / "personas.yaml").write_text(personas_of(_PEOPLE), encoding="utf-8")
        if self.system == "character-simulation":
            plan = plan_of(self.scenes, _PEOPLE, random.Random(1))  # noqa: S311 - plans, not secrets
            (folder / "plan" / "plan.yaml").write_text(write_plan(plan), encoding="utf-8")
        self.replay(project)
        return project

    def replay(self, project: ProjectFolder) -> float:
        """Write the story, or go over what is written; the CPU seconds that it took."""
        supplied, begun = Supplied(Cast.of(self._model), Budget()), time.process_time()
        with asyncio.Runner(loop_factory=SkippingLoop) as runner:
            runner.run(write_in(project, project.settings, Options(), supplied))
        return time.process_time() - begun

    @property
    def _settings(self) -> dict[str, Any]:
        config: dict[str, Any] = {}
        if self.system == "magnet":
            config = {"words": f"~{self.scenes * _WORDS_A_SCENE}"}
        return {"system": self.system, "model": MODEL} | ({"config": config} if config else {})

    @property
    def _brief(self) -> Brief:
        if self.system in ("end-to-end", "agents-room"):
            return Brief.parse(_NOVEL.format(words=self.scenes * _WORDS_A_SCENE, scenes=self.scenes))
        return Brief.parse(_LAMP)

    @property
    def _model(self) -> Model:
        words = self.scenes * _WORDS_A_SCENE
        if self.system == "magnet":
            model = ScriptedModel(Roles(1, _PEOPLE).answer)
        elif self.system == "character-simulation":
            model = ScriptedModel(Company(1, _EARLY).answer)
        else:
            model = Writer(1.0, Profile("128k window", 131_072, 16_384), words)
        method = find(self.system)
        cast = open_cast(Settings.of(self._settings, "a benchmark"), method.roles, Environment(ENVIRON, time.monotonic))
        opened = cast.assignment(method.roles[0]).performer
        return _Standing(model, opened)


class _Standing:
    """A scripted model whose calls are those of another."""

    def __init__(self, scripted: ScriptedModel, other: Model) -> None:
        self.name, self.identity, self.capabilities = other.name, other.identity, other.capabilities
        self.ask, self.close = scripted.ask, scripted.close
