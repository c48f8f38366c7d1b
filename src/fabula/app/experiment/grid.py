"""What an experiment's file amounts to: the contenders, every run with its folder, and who measures."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.experiment.spec import EvaluatorTable, SystemTable, read_spec
from fabula.app.item_files import STORY_SUFFIXES, TABLES, Selection, named_set, notices
from fabula.app.prompt_files import read_prompts
from fabula.base.errors import ConfigError, UsageError
from fabula.base.files import read_text
from fabula.engine.folders import is_path, whole_path
from fabula.evaluators import evaluators
from fabula.evaluators import find as find_evaluator
from fabula.project.casting import Environment, full_name, open_cast
from fabula.project.folder import MAX_FILE
from fabula.project.settings import FOLDER_MODEL, Settings, merged, whole_adapter, whole_paths
from fabula.project.trust import Trust, acts_in
from fabula.story import slug
from fabula.story.personas import read_personas
from fabula.story.plan_file import read_plan
from fabula.systems import find as find_system
from fabula.systems import system_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.app.experiment.spec import ModelEntry, PromptsTable, Spec
    from fabula.app.prompt_files import WritingPrompt
    from fabula.evaluators import Evaluator
    from fabula.models.base import Request
    from fabula.story import Brief

BASELINE: Final = "end-to-end"
PLAN_FILE: Final = "plan/plan.yaml"
PERSONAS_FILE: Final = "plan/personas.yaml"
ALWAYS: Final = "surface"
_BRIEFS: Final = (*STORY_SUFFIXES, *TABLES)
_OWN: Final = frozenset({"system", "preset", "seed", "model", "config", "author"})
_FILE_MODELS: Final = ("scripted", "replay", "embedded")


@dataclass(frozen=True)
class Contender:
    """A system with its preset on a model: what an experiment compares.

    Attributes:
        label: `<system>-<preset>-<model>`, its name in every table and folder.
        settings: of its runs, but for the seed.
        baseline: it was added as the single-model baseline, and does not stand in the file.
    """

    label: str
    settings: Settings
    baseline: bool = False


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
    """

    file: Path
    folder: Path
    spec: Spec
    contenders: tuple[Contender, ...]
    trials: tuple[Trial, ...]
    measures: tuple[Measure, ...]
    data: tuple[str, ...] = ()

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

    def project(self, trial: Trial) -> Path:
        """The project folder of a run."""
        return self.folder / "runs" / trial.id

    def evaluation(self, measure: Measure) -> Path:
        """The folder of an evaluator."""
        return self.folder / "evaluation" / measure.label


def read_experiment(file: Path, environ: Mapping[str, str], folder: Path | None = None) -> Experiment:
    """The experiment of a file, with everything in it looked up; asks nobody and makes nothing.

    Args:
        file: `exp.toml`.
        environ: variables that hold keys and folders.
        folder: for what comes of it; by default the file's `out`, else its name without suffix, beside it.

    Raises:
        ConfigError: something in the file is wrong; names file and field.
        UsageError: the file, or a brief that it names, cannot be read.
        TrustError: it has a program run, or an address reached, that nobody has allowed it.
    """
    spec, base = read_spec(file), file.parent
    Trust().check(file, acts_in(spec.model_dump(), base))
    briefs = _briefs(spec, file, environ)
    reader = _Reader(file, spec, environ)
    contenders = reader.contenders()
    _check_shared(spec, file, contenders)
    seeds = spec.seeds or tuple(range(1, spec.replicates + 1))
    trials = tuple(
        Trial(name, prompt.brief, contender, seed, table.config, given)
        for model in dict.fromkeys(contender.settings.model for contender in contenders)
        for name, (prompt, table, given) in briefs.items()
        for seed in seeds
        for contender in contenders
        if contender.settings.model == model
    )
    where = folder or base / (spec.out or file.stem)
    data = notices(prompt.source for prompt, _, _ in briefs.values())
    return Experiment(file, where, spec, contenders, trials, reader.measures(), data)


def _briefs(
    spec: Spec, file: Path, environ: Mapping[str, str]
) -> dict[str, tuple[WritingPrompt, PromptsTable, Mapping[str, str]]]:
    """The briefs by id, each with what is set for it, and the texts that are given with it."""
    data = Path(environ["FABULA_DATA"]) if environ.get("FABULA_DATA") else file.parent
    places: dict[str, tuple[Path, WritingPrompt]] = {}
    found: dict[str, tuple[WritingPrompt, PromptsTable, Mapping[str, str]]] = {}
    for number, table in enumerate(spec.briefs):
        with _at(file, "briefs", number):
            selection, given = Selection(data, table.limit, table.seed), _given(file.parent, table)
            for path, prompt in _prompts(file.parent, table.prompts, selection):
                other = places.setdefault(prompt.id, (path, prompt))
                found.setdefault(prompt.id, (prompt, table, given))
                if other != (path, prompt):
                    raise ConfigError(f"{other[0]} and {path} would both be called {prompt.id!r}. Rename one.")
    return found


def _given(base: Path, table: PromptsTable) -> dict[str, str]:
    """The texts that are given with briefs, by the files that they are in a project; both are read and checked."""
    given: dict[str, str] = {}
    if table.plan:
        read_plan(base / table.plan)
        given[PLAN_FILE] = read_text(base / table.plan, MAX_FILE)
    if table.personas:
        given[PERSONAS_FILE] = read_personas(base / table.personas)[1]
    return given


def _check_shared(spec: Spec, file: Path, contenders: Sequence[Contender]) -> None:
    """See that every contender has the settings that are given with briefs, and takes the texts."""
    for number, table in enumerate(spec.briefs):
        for settings in (contender.settings for contender in contenders):
            with _at(file, "briefs", number):
                system = system_of(settings)
                if table.config:
                    system.config(settings.preset, settings.config | table.config)
                if table.plan and not system.takes_plan:
                    raise ConfigError(f"plan: `{settings.system}` writes from no plan. Leave it, or the system, out.")
                if table.personas and not system.takes_personas:
                    raise ConfigError(
                        f"personas: `{settings.system}` writes with no personas. Leave them, or the system, out."
                    )


def _prompts(base: Path, pattern: str, selection: Selection) -> Iterator[tuple[Path, WritingPrompt]]:
    """The briefs of a data set, a file, a folder, or a pattern, and where each stands."""
    alone = len(Path(pattern).parts) == 1 and not (base / pattern).exists()
    path = Path(pattern) if alone else base / pattern
    if named_set(path, selection.data):
        yield from ((path, prompt) for prompt in read_prompts([path], selection))
        return
    found = ((file, prompt) for file in _brief_files(base, pattern) for prompt in read_prompts([file]))
    yield from selection.draw((prompt.id, (file, prompt)) for file, prompt in found)


def _brief_files(base: Path, pattern: str) -> list[Path]:
    path = base / pattern
    if path.is_file():
        return [path]
    glob = sorted(path.glob("*")) if path.is_dir() else sorted(base.glob(pattern)) if pattern.strip() else []
    files = [found for found in glob if found.name.endswith(_BRIEFS) and found.is_file()]
    if not files:
        raise ConfigError(
            f"no brief is found at {path}. Give text files, .jsonl files, folders of them, patterns like *.md, or a "
            "data set."
        )
    return files


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
            for number, table in enumerate(self.spec.systems):
                with _at(self.file, "systems", number):
                    found.append(self._contender(table, entry))
            if self.spec.baseline and not any(
                contender.settings.system == BASELINE and contender.settings.model == self._model(entry)
                for contender in found
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
        label = "-".join((slug(table.label or system.name), preset, self._model_label(entry)))
        return Contender(label, settings, baseline)

    def measures(self) -> tuple[Measure, ...]:
        """The evaluators; the counted measures always come first."""
        tables = self.spec.evaluators
        found: list[Measure] = []
        if ALWAYS in evaluators() and not any(slug(table.evaluator) == ALWAYS for table in tables):
            found.append(self._measure(EvaluatorTable(evaluator=ALWAYS)))
        for number, table in enumerate(tables):
            with _at(self.file, "evaluators", number):
                found.append(self._measure(table))
        twice = _twice(measure.label for measure in found)
        if twice:
            raise ConfigError(f"{self.file}: evaluators: two of them are called {twice!r}. Give one a `label`.")
        return tuple(found)

    def _measure(self, table: EvaluatorTable) -> Measure:
        """An evaluator; from the experiment's settings it has models and prices, but not how writers are drawn."""
        evaluator = find_evaluator(self._folder(table.evaluator))
        shared = {name: value for name, value in self.spec.settings.items() if name in {"models", "prices"}}
        model = {"model": self._model_name(table.model)} if table.model else {}
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
