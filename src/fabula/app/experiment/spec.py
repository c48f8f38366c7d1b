"""`exp.toml`: the definition of an experiment, read and checked; errors name the file and the field."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fabula.base.errors import ConfigError
from fabula.base.files import read_text
from fabula.base.invalid import fault_of, sentence
from fabula.base.tomltext import parse
from fabula.project.settings import DEFAULT_MODEL

MAX_BYTES = 1_000_000
_SHALLOW: Final = 2  # parts of the place of a list or of one of its entries, which an example shows
_KIND: Final = "an experiment (a TOML file)"
EXAMPLES: Final = {
    "briefs": 'briefs = ["brief.md", "briefs/*.md"]',
    "systems": 'systems = ["agents-room", { system = "snap", preset = "faithful", label = "snap-paper" }]',
    "stories": 'stories = ["stories"]',
    "models": 'models = ["smollm2", { model = "openai:gpt-5", label = "gpt" }]',
    "evaluators": 'evaluators = ["rouge", { evaluator = "ttcw", model = "openai:gpt-5", label = "tests" }]',
    "seeds": "seeds = [1, 2, 3]",
    "replicates": "replicates = 3",
    "workers": "workers = 4",
    "budget": "budget = { tokens = 1_000_000, run_usd = 0.5 }",
}
"""How fields are written, for messages."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _named(field: str) -> BeforeValidator:
    """Let a table with one main field be written as a string."""
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


class _MethodTable(_Table):
    """A system or an evaluator: its name, or a table.

    `label` distinguishes two entries of one method; `config` holds fields of its `Config`; `settings` any other fields
    of `fabula.toml` (roles, sampling, prompts), on top of the experiment's.
    """

    label: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)


class MatchTable(_Table):
    """What a system may use: as much as another one used on the same brief, with the same model and seed.

    `system` is the label or the name of the other system in the same file.
    """

    system: str
    by: Literal["tokens", "calls", "usd"] = "tokens"


class SystemTable(_MethodTable):
    """A writing system."""

    system: str
    preset: Literal["faithful", "improved"] | None = None
    match: Annotated[MatchTable | None, _named("system")] = None


class PromptsTable(_Table):
    """Briefs: files, a pattern, a folder, or a data set; if there are more than `limit`, that many are drawn.

    Attributes:
        prompts: where the briefs are.
        plan: a file that every system writes from, as if its author had put it into the project; `{id}` in its name
            stands for the brief's id.
        plan_from: a model that extracts such a plan from a person's text (Character Simulation, section 4.2.1).
        personas: a file of personas, used in the same way as `plan`.
        people: whether people's stories, from the data set or from `stories`, are references for the others and also a
            contender. With "references", they are not a contender.
        stories: where people's stories are, if not in the set of the prompts: another data set, or files with `{id}`.
        narratives: whether the stories of the data set are themselves the narratives, for systems that play a
            narrative.
        characters: the fewest and the most characters of a narrative.
        config: fields of the `Config` of every system, added to its own, for example who talks in these narratives.
    """

    prompts: str
    plan: str = ""
    plan_from: str = ""
    personas: str = ""
    people: bool | Literal["references"] = False
    stories: str = ""
    narratives: bool = False
    characters: tuple[int, int] | None = None
    limit: int | None = Field(default=None, ge=1)
    seed: int = 0
    config: dict[str, Any] = Field(default_factory=dict)


class ModelEntry(_Table):
    """A model: its name as in `--model`, or a table with a label for tables and folders."""

    model: str
    label: str = ""


class EvaluatorTable(_MethodTable):
    """An evaluator, and its judge (`model`); a list is a panel whose judges each judge everything independently."""

    evaluator: str
    preset: Literal["faithful", "improved"] = "improved"
    model: str | tuple[str, ...] = ""


class ExperimentBudget(_Table):
    """Caps on the whole experiment, from its first call, and on each run."""

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    run_tokens: int | None = Field(default=None, ge=0)
    run_usd: float | None = Field(default=None, ge=0)


class PublishedTable(_Table):
    """Numbers that a paper prints, shown next to those of the experiment.

    Attributes:
        table: the paper and its table.
        evaluator: the label of the evaluator that measures them here; empty for words, calls, tokens, time and cost.
        measures: the evaluator's names for the measures, one for each number in a row.
        values: the rows, by the name or label of a system, or "people"; nan for a number that the paper does not
            print.
    """

    table: str
    evaluator: str = ""
    measures: tuple[str, ...] = Field(min_length=1)
    values: dict[str, tuple[float, ...]] = Field(min_length=1)


class Spec(_Table):
    """The content of `exp.toml`. Paths in it are relative to its folder.

    `stories` are files, folders or data sets with existing stories. Those for the briefs are also contenders, each
    under the name of its system. With them, `systems` may be empty: then only the evaluators run.
    """

    name: str = ""
    out: str = ""
    briefs: Annotated[
        tuple[Annotated[PromptsTable, _named("prompts")], ...],
        BeforeValidator(lambda value: [value] if isinstance(value, str | dict) else value),
    ] = Field(min_length=1)
    systems: tuple[Annotated[SystemTable, _named("system")], ...] = ()
    stories: tuple[str, ...] = ()
    models: tuple[Annotated[ModelEntry, _named("model")], ...] = Field(
        default=(ModelEntry(model=DEFAULT_MODEL),), min_length=1
    )
    preset: Literal["faithful", "improved"] = "improved"
    replicates: int = Field(default=1, ge=1, le=1000)
    seeds: tuple[int, ...] = ()
    baseline: bool = True
    evaluators: tuple[Annotated[EvaluatorTable, _named("evaluator")], ...] = ()
    published: tuple[PublishedTable, ...] = ()
    workers: int = Field(default=1, ge=1, le=256)
    settings: dict[str, Any] = Field(default_factory=dict)
    budget: ExperimentBudget = ExperimentBudget()

    def tried(self, model: str, limit: int | None) -> Spec:
        """The same definition with one model everywhere and a limit on the briefs of each entry, if these are given."""
        changes: dict[str, Any] = {}
        if model:
            changes["models"] = (ModelEntry(model=model),)
            changes["briefs"] = tuple(
                one.model_copy(update={"plan_from": model}) if one.plan_from else one for one in self.briefs
            )
            changes["systems"] = tuple(_without_models(one) for one in self.systems)
            changes["evaluators"] = tuple(
                _without_models(one).model_copy(update={"model": model}) if one.model else _without_models(one)
                for one in self.evaluators
            )
            changes["settings"] = _roles_without_models(self.settings)
        if limit:
            changes["briefs"] = tuple(
                one.model_copy(update={"limit": min(limit, one.limit or limit)})
                for one in changes.get("briefs", self.briefs)
            )
        return self.model_copy(update=changes)


_Method = TypeVar("_Method", bound=_MethodTable)


def _without_models(table: _Method) -> _Method:
    return table.model_copy(update={"settings": _roles_without_models(table.settings)})


def _roles_without_models(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings in which no role has its own model."""
    if not isinstance(settings.get("roles"), dict):
        return settings
    roles = {
        name: {field: value for field, value in role.items() if field != "model"} if isinstance(role, dict) else role
        for name, role in settings["roles"].items()
    }
    return {**settings, "roles": {name: role for name, role in roles.items() if role != {}}}


def read_spec(path: Path) -> Spec:
    """The experiment in a file.

    Raises:
        ConfigError: it is not valid TOML, or a field is missing, unknown or wrong; the message names file and field.
        UsageError: the file cannot be read.
    """
    try:
        data = parse(read_text(path, MAX_BYTES, kind=_KIND))
    except tomllib.TOMLDecodeError as error:
        advice = "Correct the line." if path.suffix == ".toml" else f"Give {_KIND}."
        raise ConfigError(f"{path} is not valid TOML: {error}. {advice}") from error
    try:
        spec = Spec.model_validate(data)
    except ValidationError as error:
        loc = error.errors(include_url=False)[0]["loc"]
        field = str(loc[0]) if 0 < len(loc) <= _SHALLOW else ""
        raise ConfigError(f"{path}: {sentence(fault_of(error, Spec))}{example_of(field)}") from error
    if not spec.systems and not spec.stories:
        raise ConfigError(
            f"{path}: no system is named, and there are no existing `stories` to measure.{example_of('systems')}"
        )
    if spec.seeds and "replicates" in data:
        raise ConfigError(
            f"{path}: replicates: `seeds` is also given, and determines the number. Remove one of the two fields."
        )
    if len(set(spec.seeds)) < len(spec.seeds):
        raise ConfigError(
            f"{path}: seeds: a seed occurs twice. Remove one of the two, because runs with the "
            "same seed are the same run."
        )
    return spec


def example_of(field: str) -> str:
    """A sentence, after a space, that shows how a field is written; empty for fields without an example."""
    return f" Write it like this: {EXAMPLES[field]}" if field in EXAMPLES else ""
