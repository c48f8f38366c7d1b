"""What an experiment's file defines: the contenders, every run with its folder, and the evaluators."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.experiment.spec import (
    EvaluatorTable,
    MatchTable,
    ModelEntry,
    PromptsTable,
    Spec,
    SystemTable,
    example_of,
    read_spec,
)
from fabula.app.item_files import STORY_SUFFIXES, TABLES, Selection, named_set, notices, read_items, story_in
from fabula.app.planning import SYSTEM as PLANNING
from fabula.app.prompt_files import Wanted, WritingPrompt, read_prompts, stories_for
from fabula.base.errors import ConfigError, UnknownNameError, UsageError
from fabula.base.files import no_file, read_text
from fabula.engine.folders import is_path, whole_path
from fabula.engine.methods import settings_of
from fabula.evaluators import Evaluator, evaluators
from fabula.evaluators import find as find_evaluator
from fabula.measure.items import Item
from fabula.project.casting import Environment, full_name, open_cast
from fabula.project.folder import MAX_FILE
from fabula.project.settings import FOLDER_MODEL, Settings, merged, whole_adapter, whole_paths
from fabula.project.trust import Trust, acts_in
from fabula.story import Brief, Story, slug
from fabula.story.personas import read_personas
from fabula.story.plan_file import read_plan
from fabula.systems import find as find_system
from fabula.systems import system_of, systems

if TYPE_CHECKING:
    from fabula.models.base import Request


BASELINE: Final = "end-to-end"
PLAN_FILE: Final = "plan/plan.yaml"
PERSONAS_FILE: Final = "plan/personas.yaml"
PEOPLE: Final = "people"
"""The contender that represents stories by people."""
ID: Final = "{id}"
ALWAYS: Final = "surface"
COPY: Final = "experiment.toml"  # in an experiment's folder: its file, as it was last
_BRIEFS: Final = (*STORY_SUFFIXES, *TABLES)
_RESULTS: Final = ("report.md", "report.csv", "runs.jsonl")
_OWN: Final = frozenset({"system", "preset", "seed", "model", "config", "author"})
_FILE_MODELS: Final = ("scripted", "replay", "embedded")


@dataclass(frozen=True)
class Contender:
    """A system with a preset and a model: what an experiment compares.

    Attributes:
        label: `<system>-<preset>-<model>`, its name in every table and folder.
        settings: the settings of its runs, without the seed.
        baseline: whether it was added as the single-model baseline, and is not in the file.
        after: the label of the contender that it is matched with: each of its runs may use as much as that contender's
            run.
        by: the unit in which they are matched.
        called: the system's name in the file: its label there, or else the name of the system.
    """

    label: str
    settings: Settings
    baseline: bool = False
    after: str = ""
    by: str = ""
    called: str = ""


@dataclass(frozen=True)
class Trial:
    """One run: a contender with one seed on one brief, and with the file's settings for that brief (`config`).

    `given` contains the texts of the plan and the personas that all systems write from, by their files in a project.
    """

    brief_id: str
    brief: Brief
    contender: Contender
    seed: int
    config: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """`<brief>/<contender>-<seed>`, its folder below `runs/`."""
        return f"{self.brief_id}/{self.contender.label}-{self.seed}"

    @property
    def after(self) -> str:
        """The id of the run that must be over before this one begins; empty if there is none."""
        return f"{self.brief_id}/{self.contender.after}-{self.seed}" if self.contender.after else ""

    @property
    def asked(self) -> str:
        """The key that identifies the brief, the settings and the given texts."""
        return asked_digest(self.brief, self.settings, digests(self.given))

    @property
    def settings(self) -> Settings:
        """All settings of the run."""
        settings = self.contender.settings
        own = {"config": {**settings.config, **self.config}} if self.config else {}
        return settings.model_copy(update={"seed": self.seed, **own})

    def stored(self) -> dict[str, Any]:
        """The content of the project's `fabula.toml`: system, preset, seed, model, and all other given settings."""
        shown = self.settings.model_dump(mode="json", exclude_defaults=True)
        named = {"system": self.settings.system, "preset": self.settings.preset, "seed": self.seed}
        return named | {"model": self.settings.model} | shown


def digests(given: Mapping[str, str]) -> dict[str, str]:
    """Digests of texts that are given with a brief, by their files."""
    return {file: sha256(text.encode()).hexdigest() for file, text in given.items()}


def asked_digest(brief: Brief, settings: Settings, given: Mapping[str, str]) -> str:
    """The key that identifies a brief, its settings and the digests of given texts."""
    shown = json.dumps([brief.write(), settings.what_is_asked, dict(given)], sort_keys=True)
    return sha256(shown.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class PlanToRead:
    """A plan that a model extracts from a person's text for a brief, before any system writes from it."""

    brief: Brief
    story: str
    settings: Settings


@dataclass(frozen=True)
class Measure:
    """An evaluator with its settings; `label` is its folder below `evaluation/`."""

    label: str
    evaluator: Evaluator
    config: Any
    settings: Settings


@dataclass(frozen=True)
class Experiment:
    """An experiment, read and checked.

    Attributes:
        file: the file that it was read from.
        folder: the folder for all its results.
        trials: every run, in order. The runs of one model come together, so that its engine is started once. Within a
            model, all systems on one brief come together, so that a stopped experiment can already be compared.
        data: the data sets that the briefs are from, with their licences.
        given: stories that are compared with those of the runs: people's, as another contender, and those of other
            systems.
        references: people's stories by brief, for evaluators that compare each story with one.
        plans: the plans that are extracted from people's stories, by brief.
    """

    file: Path
    folder: Path
    spec: Spec
    contenders: tuple[Contender, ...]
    trials: tuple[Trial, ...]
    measures: tuple[Measure, ...]
    data: tuple[str, ...] = ()
    given: tuple[Item, ...] = ()
    references: Mapping[str, Story] = field(default_factory=dict)
    plans: Mapping[str, PlanToRead] = field(default_factory=dict)

    @cached_property
    def trial_of(self) -> Mapping[str, Trial]:
        """The runs by id."""
        return {trial.id: trial for trial in self.trials}

    @cached_property
    def contender_of(self) -> Mapping[str, Contender]:
        """The contenders by label."""
        return {contender.label: contender for contender in self.contenders}

    @property
    def title(self) -> str:
        """The experiment's name, or that of its file."""
        return self.spec.name or self.file.stem

    @property
    def labels(self) -> tuple[str, ...]:
        """Everyone that is compared, by the names in tables."""
        written = (contender.label for contender in self.contenders)
        return tuple(dict.fromkeys((*written, *(item.system for item in self.given))))

    def item(self, trial: Trial, story: Story) -> Item:
        """A story of a run in the form that evaluators take."""
        reference = self.references.get(trial.brief_id)
        return Item(trial.id, story, trial.contender.label, trial.brief_id, trial.brief, reference)

    def plan_folder(self, brief: str) -> Path:
        """The project in which the plan for a brief is extracted from a story."""
        return self.folder / "plans" / brief

    def plans_missing(self) -> dict[str, PlanToRead]:
        """The plans that are still to be extracted, by brief."""
        return {name: one for name, one in self.plans.items() if not (self.plan_folder(name) / PLAN_FILE).is_file()}

    def with_plans(self) -> Experiment:
        """The same experiment, with the extracted plans given to its runs."""
        there = {
            name: read_text(self.plan_folder(name) / PLAN_FILE, MAX_FILE)
            for name in self.plans.keys() - self.plans_missing().keys()
        }
        trials = tuple(
            replace(trial, given={**trial.given, PLAN_FILE: there[trial.brief_id]})
            if trial.brief_id in there
            else trial
            for trial in self.trials
        )
        return replace(self, trials=trials)

    def project(self, trial: Trial) -> Path:
        """The project folder of a run."""
        return self.folder / "runs" / trial.id

    def evaluation(self, measure: Measure) -> Path:
        """The folder of an evaluator."""
        return self.folder / "evaluation" / measure.label


def read_experiment(
    file: Path, environ: Mapping[str, str], folder: Path | None = None, model: str = "", limit: int | None = None
) -> Experiment:
    """The experiment in a file, with everything in it looked up; it calls no model and creates nothing.

    Args:
        file: `exp.toml`.
        environ: variables that hold keys and folders.
        folder: the folder for results; by default the file's `out`, or else its name without suffix, next to it.
        model: the model that writes and judges instead of those in the file.
        limit: the most briefs of each entry.

    Raises:
        ConfigError: something in the file is wrong; the message names file and field.
        UsageError: the file, or a brief that it names, cannot be read.
        TrustError: the file runs a program or connects to an address that is not allowed.
    """
    spec, base = read_spec(file).tried(model, limit), file.parent
    Trust().check(file, acts_in(spec.model_dump(), base))
    briefs = _briefs(spec, file, environ)
    written = {name: one.written for name, one in briefs.items() if one.written}
    reader = _Reader(file, spec, environ)
    contenders = reader.contenders()
    _check_shared(spec, file, contenders)
    seeds = spec.seeds or tuple(range(1, spec.replicates + 1))
    trials = tuple(
        Trial(name, one.prompt.brief, contender, seed, one.table.config, one.given)
        for model in dict.fromkeys(contender.settings.model for contender in contenders)
        for name, one in briefs.items()
        for seed in seeds
        for contender in sorted(contenders, key=lambda contender: bool(contender.after))
        if contender.settings.model == model
    )
    measures = reader.measures()
    given = (
        *(
            replace(item, id=f"{name}/{PEOPLE}", system=PEOPLE, prompt=name, brief=briefs[name].prompt.brief)
            for name, item in written.items()
            if briefs[name].table.people is True
        ),
        *_others(spec, file, environ, briefs),
    )
    _check_published(spec, file, contenders, given, measures)
    where = folder or base / (spec.out or file.stem)
    data = notices(one.prompt.source for one in briefs.values())
    references = {name: item.story for name, item in written.items()}
    plans = reader.plans(briefs)
    found = Experiment(file, where, spec, contenders, trials, measures, data, given, references, plans)
    return found.with_plans()


@dataclass(frozen=True)
class _Asked:
    """A brief, its settings, the texts that are given with it, and what a person wrote for it."""

    prompt: WritingPrompt
    table: PromptsTable
    given: Mapping[str, str]
    written: Item | None = None


def _briefs(spec: Spec, file: Path, environ: Mapping[str, str]) -> dict[str, _Asked]:
    """The briefs by id."""
    data = _data(file, environ)
    places: dict[str, Path] = {}
    found: dict[str, _Asked] = {}
    for number, table in enumerate(spec.briefs):
        with _at(file, "briefs", number):
            prompts = list(_prompts(file.parent, table, Selection(data, table.limit, table.seed)))
            written = _written(file.parent, table, {prompt.id for _, prompt in prompts}, data)
            for path, prompt in prompts:
                asked = _Asked(prompt, table, _given(file.parent, table, prompt.id), written.get(prompt.id))
                other = places.setdefault(prompt.id, path)
                if found.setdefault(prompt.id, asked).prompt != prompt or other != path:
                    raise ConfigError(f"{other} and {path} would both be named {prompt.id!r}. Rename one of them.")
    return found


def _data(file: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the data sets."""
    return Path(environ["FABULA_DATA"]) if environ.get("FABULA_DATA") else file.parent


def _others(spec: Spec, file: Path, environ: Mapping[str, str], briefs: Mapping[str, _Asked]) -> Iterator[Item]:
    """The existing stories for the briefs, with the names of their authors."""
    if not spec.stories:
        return
    with _at(file, "stories"):
        paths = [_place(file.parent, path) for path in spec.stories]
        found = [item for item in read_items(paths, Selection(_data(file, environ))) if item.prompt in briefs]
        if not found:
            raise ConfigError(
                f"none of them is for one of the briefs. Name stories after briefs, such as {next(iter(briefs))}."
            )
        for item in found:
            system = slug(item.system or "given")
            yield replace(
                item, id=f"{item.prompt}/{slug(item.id)}", system=system, brief=briefs[item.prompt].prompt.brief
            )


def _given(base: Path, table: PromptsTable, name: str) -> dict[str, str]:
    """The texts that are given with a brief, by their files in a project; both are read and checked."""
    given: dict[str, str] = {}
    if table.plan:
        plan = base / table.plan.replace(ID, name)
        read_plan(plan)
        given[PLAN_FILE] = read_text(plan, MAX_FILE)
    if table.personas:
        given[PERSONAS_FILE] = read_personas(base / table.personas.replace(ID, name))[1]
    return given


def _written(base: Path, table: PromptsTable, names: Collection[str], data: Path) -> Mapping[str, Item]:
    """What people wrote for the briefs, by the briefs' ids."""
    if table.plan and table.plan_from:
        raise ConfigError("plan and plan_from: a brief can have only one plan. Remove one of them.")
    if not table.people:
        for field in [name for name in ("stories", "plan_from") if getattr(table, name)]:
            raise ConfigError(f'`{field}` requires `people`. Add people = true, or people = "references".')
        return {}
    named = named_set(_place(base, table.stories or table.prompts), data)
    if named is not None:
        found = stories_for(named, names)
    elif ID in table.stories:
        files = {name: base / table.stories.replace(ID, name) for name in names}
        found = {name: Item(name, story_in(file)) for name, file in files.items()}
    else:
        raise ConfigError(
            f"people: {table.stories or table.prompts} is not a data set. Name the one that has the stories, such as "
            f"stories = "
            '"tell-me-a-story", or files by the ids of briefs, such as stories = "FOLDER/{id}.md".'
        )
    if lacking := sorted(set(names) - set(found)):
        raise ConfigError(f"people: there is no story by a person for {lacking[0]}. Remove `people` or that brief.")
    return found


def _check_shared(spec: Spec, file: Path, contenders: Sequence[Contender]) -> None:
    """Check that every contender has the settings that are given with briefs, and accepts the texts."""
    for number, table in enumerate(spec.briefs):
        for settings in (contender.settings for contender in contenders):
            with _at(file, "briefs", number):
                system = system_of(settings)
                if table.config:
                    system.config(settings.preset, settings.config | table.config)
                if (table.plan or table.plan_from) and not system.takes_plan:
                    raise ConfigError(
                        f"plan: `{settings.system}` does not write from a plan. Remove the plan or the system."
                    )
                if table.personas and not system.takes_personas:
                    raise ConfigError(
                        f"personas: `{settings.system}` does not use personas. Remove the personas or the system."
                    )


def _prompts(base: Path, table: PromptsTable, selection: Selection) -> Iterator[tuple[Path, WritingPrompt]]:
    """The briefs of a data set, a file, a folder, or a pattern, and the place of each."""
    path = _place(base, table.prompts)
    if named_set(path, selection.data):
        wanted = Wanted(table.narratives, table.characters)
        yield from ((path, prompt) for prompt in read_prompts([path], selection, wanted))
        return
    if table.narratives or table.characters:
        raise ConfigError(
            "narratives and characters apply only to data sets. Remove them: a file is already a narrative."
        )
    found = ((file, prompt) for file in _brief_files(base, table.prompts) for prompt in read_prompts([file]))
    yield from selection.draw((prompt.id, (file, prompt)) for file, prompt in found)


def _check_published(
    spec: Spec, file: Path, contenders: Sequence[Contender], given: Sequence[Item], measures: Sequence[Measure]
) -> None:
    """Check that published numbers are for systems and evaluators in the file, and that rows have the right length."""
    names = {PEOPLE, *(contender.called for contender in contenders), *(item.system for item in given)}
    labels = {"", *(measure.label for measure in measures)}
    for number, table in enumerate(spec.published):
        with _at(file, "published", number):
            if table.evaluator not in labels:
                raise UnknownNameError("evaluator", table.evaluator, labels)
            for name, values in table.values.items():
                if name not in names:
                    raise UnknownNameError("system", name, names)
                if len(values) != len(table.measures):
                    raise ConfigError(
                        f"values.{name}: there are {len(values)} numbers for {len(table.measures)} measures. Write nan "
                        "for each number that the paper does not print."
                    )


def _place(base: Path, pattern: str) -> Path:
    """The place of the briefs: the name of a data set, or a path relative to the file's folder."""
    alone = len(Path(pattern).parts) == 1 and not (base / pattern).exists()
    return Path(pattern) if alone else base / pattern


def _brief_files(base: Path, pattern: str) -> list[Path]:
    path = base / pattern
    if path.is_file():
        return [path]
    glob = sorted(path.glob("*")) if path.is_dir() else sorted(base.glob(pattern)) if pattern.strip() else []
    files = [found for found in glob if found.name.endswith(_BRIEFS) and found.is_file() and not _is_result(found)]
    if not files:
        advice = "Give text files, .jsonl files, folders of them, patterns such as *.md, or a data set."
        empty = path.is_dir() or "*" in pattern
        raise ConfigError(f"there is no brief in {path}. {advice}" if empty else no_file(path, advice, "brief"))
    return files


def _is_result(file: Path) -> bool:
    """Whether an experiment wrote the file, since its folder may be that of its briefs."""
    return file.name in _RESULTS and (file.parent / COPY).is_file()


@contextmanager
def _at(file: Path, field: str = "", number: int | None = None) -> Iterator[None]:
    """Add to an error the place in the file where it occurred."""
    try:
        yield
    except UsageError as error:
        where = field if number is None else f"{field}[{number + 1}]"
        raise ConfigError(": ".join(part for part in (str(file), where, str(error)) if part)) from error


@dataclass(frozen=True)
class _Reader:
    """Turns the tables of a file into the objects that they name."""

    file: Path
    spec: Spec
    environ: Mapping[str, str]

    def contenders(self) -> tuple[Contender, ...]:
        """Every system on every model, with the baseline if it is wanted and missing."""
        with _at(self.file):
            self._settings(_shared(self.spec.settings))
        found: list[Contender] = []
        labels = []
        for place, entry in enumerate(self.spec.models):
            with _at(self.file, "models", place):
                self._model(entry)
            labels.append(self._model_label(entry))
        self._check_apart("models", labels)
        for entry in self.spec.models:
            of_model = []
            for number, table in enumerate(self.spec.systems):
                with _at(self.file, "systems", number):
                    of_model.append((table, self._contender(table, entry)))
            with _at(self.file, "systems"):
                found += _matched_contenders(of_model)
            if (
                self.spec.baseline
                and self.spec.systems
                and not any(
                    contender.settings.system == BASELINE and contender.settings.model == self._model(entry)
                    for contender in found
                )
            ):
                with _at(self.file, "baseline"):
                    found.append(self._contender(SystemTable(system=BASELINE), entry, baseline=True))
        self._check_apart("systems", [contender.label for contender in found])
        return tuple(found)

    def _check_apart(self, field: str, labels: Sequence[str]) -> None:
        """Check that the entries of a field have different names."""
        twice = next((name for name, count in Counter(labels).items() if count > 1), "")
        if twice:
            raise ConfigError(
                f"{self.file}: {field}: two of them are named {twice!r}. Remove one, or give one its own "
                f"`label`.{example_of(field)}"
            )

    def _contender(self, table: SystemTable, entry: ModelEntry, *, baseline: bool = False) -> Contender:
        system = find_system(self._folder(table.system))
        preset = table.preset or self.spec.preset
        system.config(preset, table.config)
        above = merged(_shared(self.spec.settings), _shared(table.settings))
        named = {"system": system.spec, "preset": preset, "model": self._model(entry)}
        settings = self._settings(above | named | ({"config": table.config} if table.config else {}))
        if settings.prompts and not Path(settings.prompts).is_dir():
            raise ConfigError(
                f"settings.prompts: {settings.prompts} is not a folder. Specify a folder of .jinja files."
            )
        open_cast(settings, system.roles, Environment(self.environ, person=_nobody), system.open_role)
        name = slug(table.label or system.name)
        return Contender("-".join((name, preset, self._model_label(entry))), settings, baseline, called=name)

    def measures(self) -> tuple[Measure, ...]:
        """The evaluators; measures that call no model always come first."""
        tables = self.spec.evaluators
        found: list[Measure] = []
        if ALWAYS in evaluators() and not any(slug(table.evaluator) == ALWAYS for table in tables):
            found.append(self._measure(EvaluatorTable(evaluator=ALWAYS)))
        for number, table in enumerate(tables):
            with _at(self.file, "evaluators", number):
                found += [self._measure(one) for one in self._panel(table)]
        self._check_apart("evaluators", [measure.label for measure in found])
        return tuple(found)

    def plans(self, briefs: Mapping[str, _Asked]) -> dict[str, PlanToRead]:
        """The plans that are extracted from what people wrote, by brief."""
        found = {}
        for number, table in enumerate(self.spec.briefs):
            if not table.plan_from:
                continue
            with _at(self.file, "briefs", number):
                named = {"system": PLANNING, "preset": self.spec.preset, "model": self._model_name(table.plan_from)}
                settings = self._settings(self._models() | named)
                open_cast(settings, system_of(settings).roles, Environment(self.environ, person=_nobody))
            for name, one in briefs.items():
                if one.table is table and one.written:
                    found[name] = PlanToRead(one.prompt.brief, one.written.story.text, settings)
        return found

    def _panel(self, table: EvaluatorTable) -> list[EvaluatorTable]:
        """The evaluator once for each of its judges, with its label and the judge's name."""
        if isinstance(table.model, str):
            return [table]
        if not table.model:
            raise ConfigError("a panel needs at least one judge. Name it in `model`.")
        named = {model: self._model_label(ModelEntry(model=model)) for model in table.model}
        label = table.label or table.evaluator
        return [table.model_copy(update={"model": model, "label": f"{label}-{name}"}) for model, name in named.items()]

    def _models(self) -> dict[str, Any]:
        """Models and prices from the experiment's settings, but not the sampling of writers."""
        return {name: value for name, value in self.spec.settings.items() if name in {"models", "prices"}}

    def _measure(self, table: EvaluatorTable) -> Measure:
        """An evaluator, with models and prices from the experiment's settings."""
        evaluator = find_evaluator(self._folder(table.evaluator))
        shared = self._models()
        model = {"model": self._model_name(str(table.model))} if table.model else {}
        settings = self._settings(merged(shared, _shared(table.settings)) | model | {"preset": table.preset})
        if evaluator.roles and not (model or "roles" in table.settings):
            raise ConfigError(f'{evaluator.name} calls a model, but no model is specified. Add model = "..." to it.')
        config = evaluator.config(table.preset, whole_paths(table.config, self.file.parent))
        open_cast(settings, evaluator.roles, Environment(self.environ, person=_nobody))
        return Measure(slug(table.label or evaluator.name), evaluator, config, settings)

    def _settings(self, data: Mapping[str, Any]) -> Settings:
        """Settings whose files have absolute paths, so that a project works from any folder."""
        settings = Settings.of(dict(data), "settings")
        roles = {name: self._assignment(role.model_dump(exclude_unset=True)) for name, role in settings.roles.items()}
        models = {
            self._model_name(name): table.model_dump(exclude_unset=True) for name, table in settings.models.items()
        }
        whole = settings.model_dump(exclude_unset=True)
        changes: dict[str, Any] = {}
        changes |= {"roles": roles} if roles else {}
        changes |= {"models": models} if models else {}
        if settings.adapters:
            changes["adapters"] = {k: whole_adapter(v, self.file.parent) for k, v in settings.adapters.items()}
        changes |= {"prompts": self._path(settings.prompts)} if settings.prompts else {}
        changes |= {"sampling": self._assignment(whole["sampling"])} if "sampling" in whole else {}
        changes |= {"config": whole_paths(settings.config, self.file.parent)} if settings.config else {}
        return Settings.of(whole | changes, "settings")

    def _assignment(self, role: dict[str, Any]) -> dict[str, Any]:
        shown = dict(role)
        if shown.get("model"):
            shown["model"] = self._model_name(shown["model"])
        if ":" in shown.get("play", ""):
            script, _, function = shown["play"].rpartition(":")
            shown["play"] = f"{self._path(script)}:{function}"
        return shown

    def _model(self, entry: ModelEntry) -> str:
        return self._model_name(entry.model)

    def _model_name(self, spec: str) -> str:
        name = full_name(spec.strip())
        kind, _, rest = name.partition(":")
        return f"{kind}:{self._path(rest)}" if self._is_path(kind, rest) else name

    def _model_label(self, entry: ModelEntry) -> str:
        """A model's name for folders: without its kind if that is "embedded", and without the folders of a file."""
        kind, _, rest = full_name(entry.model.strip()).partition(":")
        name = Path(rest).stem if self._is_path(kind, rest) else rest
        return slug(entry.label or (name if kind == "embedded" else f"{kind} {name}"))

    def _is_path(self, kind: str, name: str) -> bool:
        """Whether a path names the model; the folder of a model that is answered in files need not exist yet."""
        return kind == FOLDER_MODEL or (kind in _FILE_MODELS and (self.file.parent / Path(name).expanduser()).exists())

    def _folder(self, name: str) -> str:
        """The name of a method, or the absolute path of its folder."""
        return whole_path(name, self.file.parent) if is_path(name) else name

    def _path(self, name: str) -> str:
        return str((self.file.parent / Path(name).expanduser()).resolve())


def _matched_contenders(found: Sequence[tuple[SystemTable, Contender]]) -> list[Contender]:
    """The contenders of one model, each with the label of the contender that it is matched with, if any.

    Raises:
        ConfigError: no contender has that name, or several have it, it is matched itself, or it cannot be given an
            amount.
    """
    names: dict[str, list[tuple[SystemTable, Contender]]] = defaultdict(list)
    for table, contender in found:
        for name in {slug(table.label or contender.settings.system), contender.label}:
            names[name].append((table, contender))
    return [
        contender if table.match is None else _matched(contender, table.match, names.get(slug(table.match.system), []))
        for table, contender in found
    ]


def _matched(contender: Contender, wanted: MatchTable, leaders: Sequence[tuple[SystemTable, Contender]]) -> Contender:
    name, of = contender.settings.system, repr(wanted.system)
    if not leaders:
        raise ConfigError(
            f"{contender.label}: match: this file contains no other system named {of}. Add the system, or a label."
        )
    if len(leaders) > 1:
        raise ConfigError(
            f"{contender.label}: match: several systems are named {of}. Give one of them a `label`, and use the "
            "label here."
        )
    (table, leader) = leaders[0]
    if leader is contender or table.match is not None:
        raise ConfigError(f"{contender.label}: match: {of} is itself matched. Use a system that is not.")
    if not _takes(contender, wanted.by):
        able = [one for one, system in systems().items() if _has(system.config("improved"), wanted.by)]
        raise ConfigError(
            f"{contender.label}: match: {name} does not accept an amount of {wanted.by}. Systems that can: "
            f"{', '.join(able)}."
        )
    if wanted.by in contender.settings.config:
        raise ConfigError(f"{contender.label}: match: `config` also sets {wanted.by}. Remove one of them.")
    return replace(contender, after=leader.label, by=wanted.by)


def _takes(contender: Contender, by: str) -> bool:
    settings = contender.settings
    return _has(system_of(settings).config(settings.preset, settings.config), by)


def _has(config: object, name: str) -> bool:
    return any(setting.name == name for setting in settings_of(config))


def _shared(settings: dict[str, Any]) -> dict[str, Any]:
    """Fields of `fabula.toml` that apply to several runs.

    Raises:
        ConfigError: one of them has its own field in an experiment.
    """
    for name in _OWN & set(settings):
        raise ConfigError(f"settings.{name}: an experiment has its own field for this. Remove it from here.")
    return settings


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at
