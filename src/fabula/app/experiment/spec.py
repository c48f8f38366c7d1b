"""`exp.toml`: what an experiment is made of, read and checked; every complaint names file and field."""

from __future__ import annotations

import tomllib
from pathlib import Path  # noqa: TC003 - part of a dataclass that others inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.base.files import read_text
from fabula.base.tomltext import parse
from fabula.project.settings import DEFAULT_MODEL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

MAX_BYTES = 1_000_000


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _named(field: str) -> BeforeValidator:
    """Lets a table with one field of interest be written as a text."""
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
    """What a system is given: as much as another one took on the same brief, with the same model and seed.

    `system` is the label or the name of that one in the same file.
    """

    system: str
    by: Literal["tokens", "calls", "usd"] = "tokens"


class SystemTable(_MethodTable):
    """A writing system."""

    system: str
    preset: Literal["faithful", "improved"] | None = None
    match: Annotated[MatchTable | None, _named("system")] = None


class PromptsTable(_Table):
    """Briefs: files, a pattern, a folder, or a data set; of many of them, as many as `limit` says are drawn.

    Attributes:
        prompts: where they are.
        plan: a file that every system writes from, as if its author had put it into the project; `{id}` in its name is
            the brief's id.
        plan_from: a model that reads such a plan off what a person wrote (Character Simulation, section 4.2.1).
        personas: a file, as `plan` is.
        people: people's stories of the data set, or of `stories`, are references of the others, and, unless this is
            "references", a contender too.
        stories: where people's stories are, if not in the set of the prompts: another data set, or files with `{id}`.
        narratives: the stories of the data set themselves, for systems that play a narrative.
        characters: fewest and most of a narrative.
        config: fields of the `Config` of every system, on top of its own: who talks in these narratives, for one.
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
    """A model: its name as `--model` takes it, or a table with a label for tables and folders."""

    model: str
    label: str = ""


class EvaluatorTable(_MethodTable):
    """An evaluator, and who judges (`model`)."""

    evaluator: str
    preset: Literal["faithful", "improved"] = "improved"
    model: str = ""


class ExperimentBudget(_Table):
    """Caps: of the whole experiment, from its first call on, and of each run."""

    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    run_tokens: int | None = Field(default=None, ge=0)
    run_usd: float | None = Field(default=None, ge=0)


class PublishedTable(_Table):
    """Numbers that a paper prints, set beside those of the experiment.

    Attributes:
        table: which paper and table.
        evaluator: label of the evaluator that measures them here; empty for words, calls, tokens, time and cost.
        measures: what it calls them, one for each number of a row.
        values: the rows, by the name or label of a system, or "people"; nan where the paper prints no number.
    """

    table: str
    evaluator: str = ""
    measures: tuple[str, ...] = Field(min_length=1)
    values: dict[str, tuple[float, ...]] = Field(min_length=1)


class Spec(_Table):
    """All of `exp.toml`. Paths in it are relative to its folder.

    `stories` are files, folders or data sets with stories that are there: those for the briefs are contenders too, each
    by the name of its system. With them there may be no `systems`: then only the evaluators are at work.
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
        """The same with one model everywhere, and with as many briefs of each entry at most; empty changes nothing."""
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
    """Settings in which no role has a model of its own."""
    if not isinstance(settings.get("roles"), dict):
        return settings
    roles = {
        name: {field: value for field, value in role.items() if field != "model"} if isinstance(role, dict) else role
        for name, role in settings["roles"].items()
    }
    return {**settings, "roles": {name: role for name, role in roles.items() if role != {}}}


_INNER: dict[str, type[_Table]] = {
    "briefs": PromptsTable,
    "systems": SystemTable,
    "models": ModelEntry,
    "evaluators": EvaluatorTable,
    "published": PublishedTable,
    "budget": ExperimentBudget,
}


def read_spec(path: Path) -> Spec:
    """The experiment in a file.

    Raises:
        ConfigError: it is no TOML, or a field is missing or wrong; names file and field.
        UnknownNameError: there is no such field; the nearest is named.
        UsageError: the file cannot be read.
    """
    try:
        data = parse(read_text(path, MAX_BYTES))
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no valid TOML: {error}. Correct the line.") from error
    try:
        spec = Spec.model_validate(data)
    except ValidationError as error:
        found = sorted(error.errors(), key=lambda one: one["type"] != "extra_forbidden")  # a misspelt field first
        raise _complaint(path, found[0]) from error
    if not spec.systems and not spec.stories:
        raise ConfigError(f"{path}: systems: this field is needed. Add it, or `stories` that are there.")
    if spec.seeds and "replicates" in data:
        raise ConfigError(f"{path}: replicates: `seeds` is given too, and says how many there are. Leave one out.")
    if len(set(spec.seeds)) < len(spec.seeds):
        raise ConfigError(f"{path}: seeds: a seed stands there twice. A run with the same seed is the same run.")
    return spec


def _complaint(path: Path, first: ErrorDetails) -> ConfigError | UnknownNameError:
    """What pydantic found, as one of our errors."""
    where = field_name(first["loc"])
    if first["type"] == "extra_forbidden":
        kind: type[_Table] = _INNER.get(str(first["loc"][0]), Spec) if len(first["loc"]) > 1 else Spec
        kind = MatchTable if "match" in first["loc"][:-1] else kind
        above = field_name(first["loc"][:-1])
        return UnknownNameError(
            f"field in {path}{f', {above}' if above else ''}:", str(first["loc"][-1]), kind.model_fields
        )
    if first["type"] == "missing":
        return ConfigError(f"{path}: {where}: this field is needed. Add it.")
    shown = first["msg"].replace("a valid tuple", "a list")
    return ConfigError(f"{path}: {where}: {shown} (got {first['input']!r}).")


def field_name(loc: Sequence[str | int]) -> str:
    """The place of a field as one would write it: `systems[1].preset`, counted from 1."""
    parts = "".join(f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in loc)
    return parts.removeprefix(".")
