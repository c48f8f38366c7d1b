"""The cases of a method's `script.toml`, and how they are run: without a project, with a model that has the script."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from fabula.app.item_files import item_of
from fabula.base.errors import ModelError, PluginError, UsageError
from fabula.base.files import read_text
from fabula.base.remembering import remembered
from fabula.base.tomltext import parse
from fabula.craft import PROMPTS
from fabula.engine.lines import with_code
from fabula.engine.methods import Method, Preset
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Model, OnText, Reply, Request
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story
from fabula.testing.traced import Trace, TracedRun

if TYPE_CHECKING:
    from fabula.engine.journal import Journal
    from fabula.evaluators import Evaluator
    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.systems import System


SCRIPT: Final = "script.toml"
_LARGEST: Final = 20_000_000  # bytes of a script


class FailingModel(ScriptedModel):
    """A scripted model that fails at one call, as a killed process would."""

    def __init__(self, script: Mapping[str, Any], dies_at: int) -> None:
        super().__init__(script)
        self.dies_at = dies_at

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The scripted reply, up to the call at which it fails.

        Raises:
            ModelError: it fails here.
        """
        if len(self.asked) == self.dies_at:
            raise ModelError("killed here", model=self.name)
        return await super().ask(request, on_text)


Oddity: TypeAlias = Literal["empty", "refused", "too short", "too long", "with a heading", "its own prompt"]
ODDITIES: Final[tuple[Oddity, ...]] = get_args(Oddity)
_SENTENCE: Final = "She looked at the harbour for a long time, and then she went down the stairs without a word. "
_MUCH: Final = 8  # times what was written, and more sentences than a part has


class Willing(ScriptedModel):
    """A scripted model that has some text where its script has none."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        super().__init__(script, capabilities=Capabilities(schema=True, choices=True, parallel=64))

    async def _answer(self, request: Request) -> Reply:
        try:
            return await super()._answer(request)
        except ModelError:
            if not is_free(request):
                raise
            return self._counted(request, _SENTENCE * _MUCH)


def is_free(request: Request) -> bool:
    """Whether any text can be the answer."""
    return request.schema is None and not request.choices


class Odd(Willing):
    """A scripted model whose free texts are all odd in one way."""

    def __init__(self, script: Mapping[str, Any], oddity: Oddity) -> None:
        super().__init__(script)
        self.oddity = oddity

    async def _answer(self, request: Request) -> Reply:
        reply = await super()._answer(request)
        return self._counted(request, self._odd(request, reply.text)) if is_free(request) else reply

    def _odd(self, request: Request, text: str) -> str:
        match self.oddity:
            case "empty":
                return ""
            case "refused":
                return "I'm sorry, but I can't help with that."
            case "too short":
                return " ".join(text.split()[:3])
            case "too long":
                return "\n\n".join([text, *(f"{n}. {_SENTENCE}" for n in range(_MUCH * _MUCH))])
            case "with a heading":
                return f"# The Story\n\n**Part 1**\n\n{text}"
            case "its own prompt":
                return request.messages[-1].content


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
        """What it is called in messages."""
        settings = ",".join(f"{k}={v}" for k, v in self.config.items())
        given = f"{'-planned' if self.plan else ''}{'-edited' if self.edits else ''}"
        return f"{self.system.name}-{self.preset}-{settings}{given}"

    def given_in(self, journal: Journal) -> None:
        """Put the case's plan and edits, if it has any, into `journal` as the author's."""
        for artefact, text in [*[("plan", self.plan)] * bool(self.plan), *self.edits.items()]:
            if journal.decisions.override(artefact) is None:
                journal.decisions.add(artefact, "edit", text)

    def model(self) -> ScriptedModel:
        """A model that has asked nothing yet."""
        return ScriptedModel(self.script)


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
        """What it is called in messages."""
        return f"{self.evaluator.name}-{self.preset}-{','.join(f'{k}={v}' for k, v in self.config.items())}"

    def model(self) -> ScriptedModel:
        """A model that has asked nothing yet."""
        return ScriptedModel(self.script)


def cases_of(system: System) -> list[Case]:
    """Every case of a system; one that says `planned` has the script's `plan` as its author's, and `edits`.

    Replies of a case stand in for those of its script.

    Raises:
        PluginError: the script cannot be read, or something is missing in it.
    """
    script, found = _script(system, "replies"), list[Case]()
    for case in script["cases"]:
        brief = case.get("brief", script.get("brief"))
        if not isinstance(brief, str):
            raise PluginError(f"{system.folder / SCRIPT} has no `brief`. Write one at its top, for all cases.")
        plan = script.get("plan", "") if case.get("planned") else ""
        replies = script["replies"] | case.get("replies", {})
        edits = case.get("edits", {})
        found.append(Case(system, case["preset"], case.get("config", {}), Brief.parse(brief), replies, plan, edits))
    return found


def measurements_of(evaluator: Evaluator) -> list[Measurement]:
    """Every case of an evaluator. Replies of a case stand in for those of its script.

    Raises:
        PluginError: the script cannot be read, or something is missing in it.
    """
    script = _script(evaluator, "items", *(["replies"] if evaluator.roles else []))
    try:
        items = tuple(item_of(item, evaluator.name) for item in script["items"])
    except UsageError as error:
        raise PluginError(f"{evaluator.folder / SCRIPT}: {error}") from error
    return [
        Measurement(
            evaluator,
            case["preset"],
            case.get("config", {}),
            items,
            script.get("replies", {}) | case.get("replies", {}),
        )
        for case in script["cases"]
    ]


def _script(method: Method, *needed: str) -> dict[str, Any]:
    """What a method's script says.

    Raises:
        PluginError: it cannot be read, or a table is missing in it.
    """
    file = method.folder / SCRIPT
    try:
        script = parse(read_text(file, _LARGEST))
    except UsageError as error:
        raise PluginError(f"{error} Its `brief`, [[cases]] and [replies] are what the rules are tried on.") from error
    except tomllib.TOMLDecodeError as error:
        raise PluginError(f"{file} is not valid TOML: {error}. Correct the line.") from error
    for name in ("cases", *needed):
        kind, shape = (dict, f"[{name}]") if name == "replies" else (list, f"[[{name}]]")
        if not (isinstance(found := script.get(name), kind) and found):
            raise PluginError(f"{file} has no {shape}. `fabula new-system` makes a folder that shows how.")
    if not all(isinstance(case, dict) and case.get("preset") in get_args(Preset) for case in script["cases"]):
        raise PluginError(f'{file}: each of the [[cases]] has a preset, "faithful" or "improved".')
    return script


@remembered(64)
def prompts_in(folders: tuple[Path, ...]) -> SystemPrompts:
    """A method's prompts; compiled once for all cases."""
    return SystemPrompts(folders, common=PROMPTS)


async def run_case(
    case: Case,
    model: Model,
    journal: Journal,
    *,
    anew: bool = False,
    trace: Trace | None = None,
    **context: Any,  # noqa: ANN401 - fields of RunContext
) -> Story:
    """The case's story, with `model` in every role; `anew`: nothing that was made before is given again."""
    prompts = context.pop("prompts", None) or prompts_in(case.system.prompt_folders(case.preset))
    case.given_in(journal)
    ready = RunContext(journal, prompts, Cast.of(model), **context)
    ready.inputs = None if anew else inputs_of(case, model, ready)
    config = case.system.config(case.preset, case.config)
    run = Run(ready) if trace is None else TracedRun(ready, trace=trace)
    with ready.recording_failures():
        return await case.system.write(case.brief, run, config if trace is None else trace.of(config))


def inputs_of(case: Case, model: Model, context: RunContext) -> str | None:
    """A digest of all that goes into the case's run, as a project's runs have it."""
    if context.mode == "frozen":
        return None
    return with_code(case.id, case.brief.write(), context.prompts.digest, model.identity, str(context.aids))


async def dry_run_case(case: Case, model: Model, journal: Journal, **context: Any) -> RunContext:  # noqa: ANN401 - as above
    """The context of a dry run, whose `dry_run` says what would be asked."""
    case.given_in(journal)
    ready = RunContext(
        journal, prompts_in(case.system.prompt_folders(case.preset)), Cast.of(model), mode="dry", **context
    )
    ready.inputs = inputs_of(case, model, ready)
    await case.system.write(case.brief, Run(ready), case.system.config(case.preset, case.config))
    return ready


async def measure_case(
    case: Measurement,
    model: Model,
    journal: Journal,
    *,
    trace: Trace | None = None,
    **context: Any,  # noqa: ANN401 - as above
) -> Report:
    """The case's report, with `model` in every role."""
    prompts = context.pop("prompts", None) or prompts_in(case.evaluator.prompt_folders(case.preset))
    ready = RunContext(journal, prompts, Cast.of(model), **context)
    config = case.evaluator.config(case.preset, case.config)
    with ready.recording_failures():
        return await case.evaluator.evaluate(case.items, Run(ready), config if trace is None else trace.of(config))


async def dry_run_measure(case: Measurement, model: Model, journal: Journal) -> RunContext:
    """The context of an evaluator's dry run, whose `dry_run` says what would be asked."""
    context = RunContext(journal, SystemPrompts(case.evaluator.prompt_folders(case.preset)), Cast.of(model), mode="dry")
    await case.evaluator.evaluate(case.items, Run(context), case.evaluator.config(case.preset, case.config))
    return context
