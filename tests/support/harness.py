"""Runs a system or an evaluator without a folder: what the contract, property and fault tests share."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from fabula.app.item_files import item_of
from fabula.app.writing import leave_trail
from fabula.base.errors import ModelError
from fabula.craft.planning import PROMPTS
from fabula.engine.prompts import Prompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.engine.trail import Trail, digest_of
from fabula.evaluators import evaluators
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fabula.engine.journal import Journal
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.models.base import Model, OnText, Reply, Request
    from fabula.story import Story
    from fabula.systems import System


class Dying(ScriptedModel):
    """A scripted model that fails at one call, as a killed process would."""

    def __init__(self, script: dict[str, Any], dies_at: int) -> None:
        super().__init__(script)
        self.dies_at = dies_at

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        if len(self.asked) == self.dies_at:
            raise ModelError("killed here", model=self.name)
        return await super().ask(request, on_text)


@dataclass(frozen=True)
class Case:
    """A system with one preset and some settings, and its script."""

    system: System
    preset: Any
    config: dict[str, Any]
    brief: Brief
    script: dict[str, Any] = field(repr=False)
    plan: str = field(repr=False, default="")
    edits: Mapping[str, str] = field(repr=False, default_factory=dict)

    @property
    def id(self) -> str:
        settings = ",".join(f"{k}={v}" for k, v in self.config.items())
        given = f"{'-planned' if self.plan else ''}{'-edited' if self.edits else ''}"
        return f"{self.system.name}-{self.preset}-{settings}{given}"

    def given_in(self, journal: Journal) -> None:
        """Lay the case's plan and edits, if it has any, into `journal` as the author's."""
        for artefact, text in [*[("plan", self.plan)] * bool(self.plan), *self.edits.items()]:
            if journal.override(artefact) is None:
                journal.decide(artefact, "edit", text)

    def model(self) -> ScriptedModel:
        return ScriptedModel(self.script)


def cases() -> list[Case]:
    """Every case of every system found; one that says `planned` has the script's `plan` as its author's, and `edits`.

    Replies of a case stand in for those of its script.
    """
    found = []
    for system in systems().values():
        script = tomllib.loads((system.folder / "script.toml").read_text(encoding="utf-8"))
        found += [
            Case(
                system,
                case["preset"],
                case.get("config", {}),
                Brief.parse(case.get("brief", script["brief"])),
                script["replies"] | case.get("replies", {}),
                script["plan"] if case.get("planned") else "",
                case.get("edits", {}),
            )
            for case in script["cases"]
        ]
    return found


@lru_cache
def prompts_in(folder: Path) -> Prompts:
    """A system's prompts; compiled once for all tests."""
    return Prompts(folder, common=PROMPTS)


async def run_case(case: Case, model: Model, journal: Journal, **context: Any) -> Story:  # noqa: ANN401 - fields of Hands
    """The case's story, with `model` in every role."""
    prompts = context.pop("prompts", None) or prompts_in(case.system.prompts)
    case.given_in(journal)
    ready = RunContext(journal, prompts, Cast.of(model), **context)
    ready.trail = trail_of(case, model, ready)
    with ready.recording_failures():
        story = await case.system.write(case.brief, Run(ready), case.system.config(case.preset, case.config))
    leave_trail(ready)
    return story


def trail_of(case: Case, model: Model, context: RunContext) -> Trail | None:
    """The trail of the case's last finished run, as a project's runs follow it."""
    if context.mode == "frozen":
        return None
    inputs = digest_of([case.id, case.brief.write(), context.prompts.digest, model.identity, str(context.aids)])
    pending = {path: digest_of([text]) for path, text in context.pending.items()}
    return Trail(inputs, context.journal.decided() | pending, context.journal.trail())


async def dry_run_case(case: Case, model: Model, journal: Journal, **context: Any) -> RunContext:  # noqa: ANN401 - fields of Hands
    """The hands of a dry run, whose `rehearsal` says what would be asked."""
    case.given_in(journal)
    ready = RunContext(journal, prompts_in(case.system.prompts), Cast.of(model), mode="dry", **context)
    ready.trail = trail_of(case, model, ready)
    await case.system.write(case.brief, Run(ready), case.system.config(case.preset, case.config))
    return ready


@dataclass(frozen=True)
class Measurement:
    """An evaluator with one preset and some settings, its items, and its script."""

    evaluator: Evaluator
    preset: Any
    config: dict[str, Any]
    items: tuple[Item, ...] = field(repr=False)
    script: dict[str, Any] = field(repr=False)

    @property
    def id(self) -> str:
        return f"{self.evaluator.name}-{self.preset}-{','.join(f'{k}={v}' for k, v in self.config.items())}"

    def model(self) -> ScriptedModel:
        return ScriptedModel(self.script)


def measurements() -> list[Measurement]:
    """Every case of every evaluator found. Replies of a case stand in for those of its script."""
    found = []
    for evaluator in evaluators().values():
        script = tomllib.loads((evaluator.folder / "script.toml").read_text(encoding="utf-8"))
        items = tuple(item_of(item, evaluator.name) for item in script["items"])
        found += [
            Measurement(
                evaluator,
                case["preset"],
                case.get("config", {}),
                items,
                script.get("replies", {}) | case.get("replies", {}),
            )
            for case in script["cases"]
        ]
    return found


async def measure_case(case: Measurement, model: Model, journal: Journal, **context: Any) -> Report:  # noqa: ANN401 - fields of Hands
    """The case's report, with `model` in every role."""
    prompts = context.pop("prompts", None) or Prompts(case.evaluator.prompts, common=PROMPTS)
    ready = RunContext(journal, prompts, Cast.of(model), **context)
    with ready.recording_failures():
        return await case.evaluator.evaluate(case.items, Run(ready), case.evaluator.config(case.preset, case.config))


async def dry_run_measure(case: Measurement, model: Model, journal: Journal) -> RunContext:
    """The context of an evaluator's dry run, whose `dry_run` says what would be asked."""
    context = RunContext(journal, Prompts(case.evaluator.prompts), Cast.of(model), mode="dry")
    await case.evaluator.evaluate(case.items, Run(context), case.evaluator.config(case.preset, case.config))
    return context
