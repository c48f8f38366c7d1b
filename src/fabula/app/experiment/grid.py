"""What an experiment's file amounts to: the contenders, every run with its folder, and who measures."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.experiment.spec import EvaluatorTable, ModelEntry, SystemTable, read_spec
from fabula.app.item_files import STORY_SUFFIXES, TABLES, Selection, named_set, notices, read_items, story_in
from fabula.app.planning import SYSTEM as PLANNING
from fabula.app.prompt_files import Wanted, read_prompts, stories_for
from fabula.base.errors import ConfigError, UnknownNameError, UsageError
from fabula.base.files import read_text
from fabula.engine.folders import is_path, whole_path
from fabula.engine.methods import settings_of
from fabula.evaluators import evaluators
from fabula.evaluators import find as find_evaluator
from fabula.measure.items import Item
from fabula.project.casting import Environment, full_name, open_cast
from fabula.project.folder import MAX_FILE
from fabula.project.settings import FOLDER_MODEL, Settings, merged, whole_adapter, whole_paths
from fabula.project.trust import Trust, acts_in
from fabula.story import slug
from fabula.story.personas import read_personas
from fabula.story.plan_file import read_plan
from fabula.systems import find as find_system
from fabula.systems import system_of, systems

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from fabula.app.experiment.spec import MatchTable, PromptsTable, Spec
    from fabula.app.prompt_files import WritingPrompt
    from fabula.evaluators import Evaluator
    from fabula.models.base import Request
    from fabula.story import Brief, Story

BASELINE: Final = "end-to-end"
PLAN_FILE: Final = "plan/plan.yaml"
PERSONAS_FILE: Final = "plan/personas.yaml"
PEOPLE: Final = "people"
"""The contender that people's stories are."""
ID: Final = "{id}"
ALWAYS: Final = "surface"
COPY: Final = "experiment.toml"  # in an experiment's folder: its file, as it was last
_BRIEFS: Final = (*STORY_SUFFIXES, *TABLES)
_RESULTS: Final = ("report.md", "report.csv", "runs.jsonl")
_OWN: Final = frozenset({"system", "preset", "seed", "model", "config", "author"})
_FILE_MODELS: Final = ("scripted", "replay", "embedded")


@dataclass(frozen=True)
class Contender:
    """A system with its preset on a model: what an experiment compares.

    Attributes:
        label: `<system>-<preset>-<model>`, its name in every table and folder.
        settings: of its runs, but for the seed.
        baseline: it was added as the single-model baseline, and does not stand in the file.
        after: the label of the contender that it is matched with: each of its runs may take what that one's took.
        by: in which unit.
        called: what the file calls the system: its label there, else its name.
    """

    label: str
    settings: Settings
    baseline: bool = False
    after: str = ""
    by: str = ""
    called: str = ""


@dataclass(frozen=True)
class Trial:
    """One run: a contender with one seed on one brief, and with what the file sets for that brief (`config`).

    `given` are the texts of the plan and the personas that all systems write from, by their files in a project.
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
        """The id of the run that has to be over before this one begins; empty where there is none."""
        return f"{self.brief_id}/{self.contender.after}-{self.seed}" if self.contender.after else ""

    @property
    def asked(self) -> str:
        """What tells the brief, the settings and the given texts from any others."""
        return asked_digest(self.brief, self.settings, digests(self.given))

    @property
    def settings(self) -> Settings:
        """All settings of the run."""
        settings = self.contender.settings
        own = {"config": {**settings.config, **self.config}} if self.config else {}
        return settings.model_copy(update={"seed": self.seed, **own})

    def stored(self) -> dict[str, Any]:
        """What the project's `fabula.toml` holds: what the experiment is about always, the rest where it is set."""
        shown = self.settings.model_dump(mode="json", exclude_defaults=True)
        named = {"system": self.settings.system, "preset": self.settings.preset, "seed": self.seed}
        return named | {"model": self.settings.model} | shown


def digests(given: Mapping[str, str]) -> dict[str, str]:
    """Digests of texts that are given with a brief, by their files."""
    return {file: sha256(text.encode()).hexdigest() for file, text in given.items()}


def asked_digest(brief: Brief, settings: Settings, given: Mapping[str, str]) -> str:
    """What tells a brief, what settings ask, and digests of given texts from any others."""
    shown = json.dumps([brief.write(), settings.what_is_asked, dict(given)], sort_keys=True)
    return sha256(shown.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True)
class PlanToRead:
    """A plan that a model reads off what a person wrote for a brief, before any system writes from it."""

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
        file: it was read from.
        folder: for everything that comes of it.
        trials: every run, in the order of doing: one model after the other, so that its engine is started once; and
            within a model all systems on one brief, so that an experiment that is stopped can be compared so far.
        data: what data sets the briefs are from, with their licences.
        given: stories that are compared with those of the runs: people's, as one contender more, and those of others.
        references: people's stories by brief, for evaluators that compare a story with one.
        plans: that are read off people's stories, by brief.
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
        """The runs by their ids."""
        return {trial.id: trial for trial in self.trials}

    @cached_property
    def contender_of(self) -> Mapping[str, Contender]:
        """The contenders by their labels."""
        return {contender.label: contender for contender in self.contenders}

    @property
    def title(self) -> str:
        """Its name, or that of its file."""
        return self.spec.name or self.file.stem

    @property
    def labels(self) -> tuple[str, ...]:
        """Everybody who is compared, by the names in tables."""
        written = (contender.label for contender in self.contenders)
        return tuple(dict.fromkeys((*written, *(item.system for item in self.given))))

    def item(self, trial: Trial, story: Story) -> Item:
        """A story of a run as evaluators take it."""
        reference = self.references.get(trial.brief_id)
        return Item(trial.id, story, trial.contender.label, trial.brief_id, trial.brief, reference)

    def plan_folder(self, brief: str) -> Path:
        """The project in which the plan for a brief is read off a story."""
        return self.folder / "plans" / brief

    def plans_missing(self) -> dict[str, PlanToRead]:
        """The plans that are still to be read, by brief."""
        return {name: one for name, one in self.plans.items() if not (self.plan_folder(name) / PLAN_FILE).is_file()}

    def with_plans(self) -> Experiment:
        """The same, with the plans that are there given to its runs."""
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
    """The experiment of a file, with everything in it looked up; asks nobody and makes nothing.

    Args:
        file: `exp.toml`.
        environ: variables that hold keys and folders.
        folder: for what comes of it; by default the file's `out`, else its name without suffix, beside it.
        model: writes and judges in the place of those that the file names.
        limit: briefs of each entry at most.

    Raises:
        ConfigError: something in the file is wrong; names file and field.
        UsageError: the file, or a brief that it names, cannot be read.
        TrustError: it has a program run, or an address reached, that nobody has allowed it.
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
    """A brief, what is set for it, the texts that are given with it, and what a person wrote for it."""

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
                    raise ConfigError(f"{other} and {path} would both be called {prompt.id!r}. Rename one.")
    return found


def _data(file: Path, environ: Mapping[str, str]) -> Path:
    """The folder of the data sets."""
    return Path(environ["FABULA_DATA"]) if environ.get("FABULA_DATA") else file.parent


def _others(spec: Spec, file: Path, environ: Mapping[str, str], briefs: Mapping[str, _Asked]) -> Iterator[Item]:
    """The stories that are there for the briefs, with the names of those who wrote them."""
    if not spec.stories:
        return
    with _at(file, "stories"):
        paths = [_place(file.parent, path) for path in spec.stories]
        found = [item for item in read_items(paths, Selection(_data(file, environ))) if item.prompt in briefs]
        if not found:
            raise ConfigError(
                f"none of them is for one of the briefs. Name stories after briefs: {next(iter(briefs))}."
            )
        for item in found:
            system = slug(item.system or "given")
            yield replace(
                item, id=f"{item.prompt}/{slug(item.id)}", system=system, brief=briefs[item.prompt].prompt.brief
            )


def _given(base: Path, table: PromptsTable, name: str) -> dict[str, str]:
    """The texts that are given with a brief, by the files that they are in a project; both are read and checked."""
    given: dict[str, str] = {}
    if table.plan:
        plan = base / table.plan.replace(ID, name)
        read_plan(plan)
        given[PLAN_FILE] = read_text(plan, MAX_FILE)
    if table.personas:
        given[PERSONAS_FILE] = read_personas(base / table.personas.replace(ID, name))[1]
    return given


def _written(base: Path, table: PromptsTable, names: Collection[str], data: Path) -> Mapping[str, Item]:
    """What people wrote for briefs, by their ids."""
    if table.plan and table.plan_from:
        raise ConfigError("plan and plan_from: a brief has one plan. Leave one of them out.")
    if not table.people:
        for field in [name for name in ("stories", "plan_from") if getattr(table, name)]:
            raise ConfigError(f'`{field}` goes with `people`. Add people = true, or people = "references".')
        return {}
    named = named_set(_place(base, table.stories or table.prompts), data)
    if named is not None:
        found = stories_for(named, names)
    elif ID in table.stories:
        files = {name: base / table.stories.replace(ID, name) for name in names}
        found = {name: Item(name, story_in(file)) for name, file in files.items()}
    else:
        raise ConfigError(
            f"people: {table.stories or table.prompts} is no data set. Name the one that has the stories, as stories = "
            '"tell-me-a-story", or files by the ids of briefs, as stories = "FOLDER/{id}.md".'
        )
    if lacking := sorted(set(names) - set(found)):
        raise ConfigError(f"people: there is no story by a person for {lacking[0]}. Leave `people` out, or that brief.")
    return found


def _check_shared(spec: Spec, file: Path, contenders: Sequence[Contender]) -> None:
    """See that every contender has the settings that are given with briefs, and takes the texts."""
    for number, table in enumerate(spec.briefs):
        for settings in (contender.settings for contender in contenders):
            with _at(file, "briefs", number):
                system = system_of(settings)
                if table.config:
                    system.config(settings.preset, settings.config | table.config)
                if (table.plan or table.plan_from) and not system.takes_plan:
                    raise ConfigError(f"plan: `{settings.system}` writes from no plan. Leave it, or the system, out.")
                if table.personas and not system.takes_personas:
                    raise ConfigError(
                        f"personas: `{settings.system}` writes with no personas. Leave them, or the system, out."
                    )


def _prompts(base: Path, table: PromptsTable, selection: Selection) -> Iterator[tuple[Path, WritingPrompt]]:
    """The briefs of a data set, a file, a folder, or a pattern, and where each stands."""
    path = _place(base, table.prompts)
    if named_set(path, selection.data):
        wanted = Wanted(table.narratives, table.characters)
        yield from ((path, prompt) for prompt in read_prompts([path], selection, wanted))
        return
    if table.narratives or table.characters:
        raise ConfigError(
            "narratives and characters are for data sets. Leave them out: a file is a narrative as it is."
        )
    found = ((file, prompt) for file in _brief_files(base, table.prompts) for prompt in read_prompts([file]))
    yield from selection.draw((prompt.id, (file, prompt)) for file, prompt in found)


def _check_published(
    spec: Spec, file: Path, contenders: Sequence[Contender], given: Sequence[Item], measures: Sequence[Measure]
) -> None:
    """See that printed numbers are of systems and evaluators in the file, and that rows are as long as they should."""
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
                        f"values.{name}: it has {len(values)} numbers for {len(table.measures)} measures. Write nan "
                        "where the paper prints none."
                    )


def _place(base: Path, pattern: str) -> Path:
    """Where briefs are: the name of a data set alone, or a path from the file's folder."""
    alone = len(Path(pattern).parts) == 1 and not (base / pattern).exists()
    return Path(pattern) if alone else base / pattern


def _brief_files(base: Path, pattern: str) -> list[Path]:
    path = base / pattern
    if path.is_file():
        return [path]
    glob = sorted(path.glob("*")) if path.is_dir() else sorted(base.glob(pattern)) if pattern.strip() else []
    files = [found for found in glob if found.name.endswith(_BRIEFS) and found.is_file() and not _is_result(found)]
    if not files:
        raise ConfigError(
            f"no brief is found at {path}. Give text files, .jsonl files, folders of them, patterns like *.md, or a "
            "data set."
        )
    return files


def _is_result(file: Path) -> bool:
    """Whether an experiment wrote the file: its folder may be that of its briefs."""
    return file.name in _RESULTS and (file.parent / COPY).is_file()


@contextmanager
def _at(file: Path, field: str = "", number: int | None = None) -> Iterator[None]:
    """Say where in the file a complaint belongs."""
    try:
        yield
    except UsageError as error:
        where = field if number is None else f"{field}[{number + 1}]"
        raise ConfigError(": ".join(part for part in (str(file), where, str(error)) if part)) from error


@dataclass(frozen=True)
class _Reader:
    """From the tables of a file to what they name."""

    file: Path
    spec: Spec
    environ: Mapping[str, str]

    def contenders(self) -> tuple[Contender, ...]:
        """Every system on every model, with the baseline where it is wanted and missing."""
        with _at(self.file):
            self._settings(_shared(self.spec.settings))
        found: list[Contender] = []
        for place, entry in enumerate(self.spec.models):
            with _at(self.file, "models", place):
                self._model(entry)
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
        twice = _twice(contender.label for contender in found)
        if twice:
            raise ConfigError(f"{self.file}: systems: two of them are called {twice!r}. Give one a `label`.")
        return tuple(found)

    def _contender(self, table: SystemTable, entry: ModelEntry, *, baseline: bool = False) -> Contender:
        system = find_system(self._folder(table.system))
        preset = table.preset or self.spec.preset
        system.config(preset, table.config)
        above = merged(_shared(self.spec.settings), _shared(table.settings))
        named = {"system": system.spec, "preset": preset, "model": self._model(entry)}
        settings = self._settings(above | named | ({"config": table.config} if table.config else {}))
        if settings.prompts and not Path(settings.prompts).is_dir():
            raise ConfigError(f"settings.prompts: {settings.prompts} is not a folder. Give a folder of .jinja files.")
        open_cast(settings, system.roles, Environment(self.environ, person=_nobody), system.open_role)
        name = slug(table.label or system.name)
        return Contender("-".join((name, preset, self._model_label(entry))), settings, baseline, called=name)

    def measures(self) -> tuple[Measure, ...]:
        """The evaluators; the counted measures always come first."""
        tables = self.spec.evaluators
        found: list[Measure] = []
        if ALWAYS in evaluators() and not any(slug(table.evaluator) == ALWAYS for table in tables):
            found.append(self._measure(EvaluatorTable(evaluator=ALWAYS)))
        for number, table in enumerate(tables):
            with _at(self.file, "evaluators", number):
                found += [self._measure(one) for one in self._panel(table)]
        twice = _twice(measure.label for measure in found)
        if twice:
            raise ConfigError(f"{self.file}: evaluators: two of them are called {twice!r}. Give one a `label`.")
        return tuple(found)

    def plans(self, briefs: Mapping[str, _Asked]) -> dict[str, PlanToRead]:
        """The plans that are read off what people wrote, by brief."""
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
        """The evaluator once for each of its judges, by its label and the judge's name."""
        if isinstance(table.model, str):
            return [table]
        if not table.model:
            raise ConfigError("a panel has a judge or more. Name one in `model`.")
        named = {model: self._model_label(ModelEntry(model=model)) for model in table.model}
        label = table.label or table.evaluator
        return [table.model_copy(update={"model": model, "label": f"{label}-{name}"}) for model, name in named.items()]

    def _models(self) -> dict[str, Any]:
        """Models and prices of the experiment's settings, but not how writers are drawn."""
        return {name: value for name, value in self.spec.settings.items() if name in {"models", "prices"}}

    def _measure(self, table: EvaluatorTable) -> Measure:
        """An evaluator; from the experiment's settings it has models and prices."""
        evaluator = find_evaluator(self._folder(table.evaluator))
        shared = self._models()
        model = {"model": self._model_name(str(table.model))} if table.model else {}
        settings = self._settings(merged(shared, _shared(table.settings)) | model | {"preset": table.preset})
        if evaluator.roles and not (model or "roles" in table.settings):
            raise ConfigError(f'{evaluator.name} asks a model, but names none. Add model = "..." to it.')
        config = evaluator.config(table.preset, whole_paths(table.config, self.file.parent))
        open_cast(settings, evaluator.roles, Environment(self.environ, person=_nobody))
        return Measure(slug(table.label or evaluator.name), evaluator, config, settings)

    def _settings(self, data: Mapping[str, Any]) -> Settings:
        """Settings in which files have absolute paths, so that a project works from any folder."""
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
        """A model's name for folders: without its kind where that is "embedded", without the folders of a file."""
        kind, _, rest = full_name(entry.model.strip()).partition(":")
        name = Path(rest).stem if self._is_path(kind, rest) else rest
        return slug(entry.label or (name if kind == "embedded" else f"{kind} {name}"))

    def _is_path(self, kind: str, name: str) -> bool:
        """Whether a model is named by a path; the folder of one that is answered in files need not be there yet."""
        return kind == FOLDER_MODEL or (kind in _FILE_MODELS and (self.file.parent / Path(name).expanduser()).exists())

    def _folder(self, name: str) -> str:
        """The name of a method, or the whole path of its folder."""
        return whole_path(name, self.file.parent) if is_path(name) else name

    def _path(self, name: str) -> str:
        return str((self.file.parent / Path(name).expanduser()).resolve())


def _matched_contenders(found: Sequence[tuple[SystemTable, Contender]]) -> list[Contender]:
    """The contenders of one model, each with the label of the one that it is matched with, if any.

    Raises:
        ConfigError: none of that name is there, or several, or it is matched itself, or nothing can be given.
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
        raise ConfigError(f"{contender.label}: match: no other system of this file is called {of}. Add it, or a label.")
    if len(leaders) > 1:
        raise ConfigError(
            f"{contender.label}: match: several systems are called {of}. Give one a `label`, and name it."
        )
    (table, leader) = leaders[0]
    if leader is contender or table.match is not None:
        raise ConfigError(f"{contender.label}: match: {of} is matched itself. Name a system that is not.")
    if not _takes(contender, wanted.by):
        able = [one for one, system in systems().items() if _has(system.config("improved"), wanted.by)]
        raise ConfigError(
            f"{contender.label}: match: {name} cannot be given an amount of {wanted.by}. "
            f"Systems that can: {', '.join(able)}."
        )
    if wanted.by in contender.settings.config:
        raise ConfigError(f"{contender.label}: match: `config` says {wanted.by} too. Leave one out.")
    return replace(contender, after=leader.label, by=wanted.by)


def _takes(contender: Contender, by: str) -> bool:
    settings = contender.settings
    return _has(system_of(settings).config(settings.preset, settings.config), by)


def _has(config: object, name: str) -> bool:
    return any(setting.name == name for setting in settings_of(config))


def _shared(settings: dict[str, Any]) -> dict[str, Any]:
    """Fields of `fabula.toml` that go for several runs.

    Raises:
        ConfigError: one of them has a place of its own in an experiment.
    """
    for name in _OWN & set(settings):
        raise ConfigError(f"settings.{name}: an experiment says this with a field of its own. Take it out of here.")
    return settings


def _twice(names: Iterator[str] | Sequence[str]) -> str:
    """A name that is there more than once, or nothing."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


async def _nobody(request: Request) -> str:
    return request.role  # never called: the cast is only looked at
