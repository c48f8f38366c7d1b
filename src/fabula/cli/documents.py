"""The documents that commands print with `--json`: one type for each, from which its JSON schema is generated.

`fabula COMMAND --json-schema` prints a schema, `docs/reference/schemas/` contains all of them, and the tests check
every document against its schema. Only fields marked `NotRequired` here can be missing; unknown numbers are null.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict, is_typeddict

from fabula.app.bills import Estimate, UsageData
from fabula.app.contents import BookContents
from fabula.app.conversations import ChatEnded
from fabula.app.experiment.shards import Merged
from fabula.app.health import Health
from fabula.app.past_calls import AskedCall, RemovedText  # noqa: TC001 - pydantic reads them
from fabula.app.planning import MadePlan, PlanView
from fabula.app.prompts_shown import Prompted
from fabula.app.rewriting import Rewritten
from fabula.app.snapshots import SnapshotChanges, SnapshotList
from fabula.app.writing import WrittenStory
from fabula.data.sets import SetList
from fabula.models.best_here import ChosenModel
from fabula.story import Story
from fabula.story.world import Fact
from fabula.verbs.base import every
from fabula.verbs.meta import JudgeOnQuestion  # noqa: TC001 - pydantic reads it
from fabula.verbs.methods import MethodList, MethodView
from fabula.verbs.models import ModelList
from fabula.verbs.projects import ProjectLine
from fabula.verbs.text import ArtefactText
from fabula.verbs.versions import VersionList
from fabula.verbs.world import WorldView

# what several documents hold ------------------------------------------------------------------------------------------


class Number(TypedDict):
    """A number with its n, interval and method, or the reason why it is missing."""

    value: float | None
    n: int
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    level: NotRequired[float]
    method: NotRequired[str]
    unscored: NotRequired[str]
    p: NotRequired[float | None]


class Row(Number):
    """A row of a report: a measure, what it was measured on, and whether that is a baseline."""

    of: str
    what: str
    baseline: NotRequired[bool]


class Report(TypedDict):
    """A report from an evaluator."""

    format: int
    evaluator: str
    how: dict[str, Any]
    rows: list[Row]
    ratings: int
    unscored: int
    notes: list[str]
    details: dict[str, Any]


class Billed(TypedDict):
    """The cost of the calls for a result."""

    asked: int
    replayed: int
    bill: dict[str, UsageData]


class Licence(TypedDict):
    """A data set from which stories were read."""

    name: str
    title: str
    licence: str
    stories: NotRequired[int]
    note: NotRequired[str]
    source: NotRequired[str]


# errors, pauses, dry runs ---------------------------------------------------------------------------------------------


class Failure(TypedDict):
    """An error: what happened, why, and how to fix it."""

    kind: str
    message: str
    exit_code: int


class Failed(TypedDict):
    """A command that failed."""

    error: Failure


class Pause(TypedDict):
    """The artefact that is waiting for a person."""

    artefact: str
    message: str


class Paused(TypedDict):
    """A command that is waiting for a person."""

    paused: Pause


# a project ------------------------------------------------------------------------------------------------------------


class ImportedPart(TypedDict):
    """A part of a manuscript and its file."""

    name: str
    file: str
    words: int


class Imported(TypedDict):
    """A project made from a manuscript, or expected after a dry run; `before` is true if it already existed."""

    project: str
    title: str
    system: str
    source: str
    divided: str
    notices: list[str]
    left_out: dict[str, int]
    words: int
    parts: list[ImportedPart]
    before: bool


class CallsShown(TypedDict):
    """The calls that produced an artefact or the story."""

    artefact: str
    calls: list[AskedCall]


class RemovedShown(TypedDict):
    """What rules removed."""

    artefact: str
    removed: list[RemovedText]


class ExportedFile(TypedDict):
    """An exported file of the story."""

    file: str
    format: str
    words: int
    bytes: int
    left_out: dict[str, int]


# world and conversations ----------------------------------------------------------------------------------------------


WorldChanged = TypedDict(
    "WorldChanged",
    {"from": str, "to": str, "opened": list[Fact], "closed": list[Fact], "changed": list[tuple[Fact, Fact]]},
)


class WorldExported(TypedDict):
    """The world in another format, as a file or as text."""

    format: str
    facts: int
    file: str | None
    text: str | None


class WorldImported(TypedDict):
    """The facts imported from a file."""

    file: str
    added: int
    withdrawn: int
    kept: int
    conflicts: int


class Served(TypedDict):
    """The address of a server; a newly made token is shown only once."""

    address: str
    models: list[str]
    token: NotRequired[str]


class Studio(TypedDict):
    """The address of the studio. If the token is new, the link signs the browser in."""

    address: str
    link: str
    projects: list[str]


# evaluators -----------------------------------------------------------------------------------------------------------


class Checked(Report):
    """The findings of a check; `left` is the number of findings that were not dismissed."""

    page: str
    dismissed: dict[str, str]
    left: int
    asked: NotRequired[int]
    replayed: NotRequired[int]
    bill: NotRequired[dict[str, UsageData]]


class Verdict(TypedDict):
    """Which of two stories is better: its name, "same", or null."""

    question: str
    better: str | None


class Evaluated(Billed):
    """The results of evaluators by name, their agreement with people and, for two stories, which is better."""

    reports: dict[str, Report]
    agreement: dict[str, Report]
    verdicts: list[Verdict]
    files: list[str]


class Made(Billed):
    """Plots or stories made for creativity tests."""

    texts: dict[str, str]


class Measured(TypedDict):
    """Measurements, by evaluator. With --out, a file in `folder` has the numbers for each story."""

    folder: NotRequired[str]
    stories: int
    data: list[Licence]
    left_out: list[str]
    reports: dict[str, Report]


class CheckedByWorkers(Measured, Billed):
    """The findings in many stories and their cost."""


class PartDone(Billed):
    """A finished part of the stories (`--shard`)."""

    part: str
    stories: int
    folder: str


class Agreement(Report):
    """How well a judge agrees with people."""

    questions: dict[str, JudgeOnQuestion]


class StudyNew(TypedDict):
    """A new study; `left_out` lists prompts that only one system answers."""

    study: str
    kind: str
    version: int
    items: int
    systems: list[str]
    prompts: int
    left_out: list[str]


class StudyAssigned(TypedDict):
    """The distribution of tasks: `cells` is the number of possible ratings, and `hours` is the total for all raters."""

    study: str
    tasks: int
    raters: int
    cells: int
    covered: int
    shared: int
    hours: float
    longest: float
    cost: float
    currency: str


class RaterLink(TypedDict):
    """A rater's own link."""

    rater: str
    link: str


class StudyServed(TypedDict):
    """The address of a study, its raters' links, and the organiser's link."""

    study: str
    organiser: str
    raters: list[RaterLink]
    expires: str


class StudyReported(TypedDict):
    """The results of a study; the first file is the page."""

    report: Report
    files: list[str]


# the lab --------------------------------------------------------------------------------------------------------------


class Experiment(TypedDict):
    """A finished or planned experiment; its report.json has the details."""

    experiment: str
    contenders: list[dict[str, Any]]


class Reproduced(TypedDict):
    """Published tables compared with recomputed ones."""

    matching: int
    differing: int
    unavailable: int
    absent: list[str]
    tables: list[dict[str, Any]]


class Fetched(TypedDict):
    """A downloaded data set."""

    set: str
    licence: str
    source: str
    files: list[Any] | dict[str, Any]


class Injected(Billed):
    """A story with planted errors, or screenplays with errors."""

    files: list[str]
    story: dict[str, Any] | None
    missing: int
    screenplays: list[dict[str, Any]]


class Fitted(TypedDict):
    """The learned weights of SNAP's filter."""

    sources: list[str]
    over: str
    plans: int
    weights: dict[str, Any]


# training -------------------------------------------------------------------------------------------------------------


class Chosen(TypedDict):
    """The prompts chosen to cover a set."""

    prompts: int
    clusters: list[dict[str, Any]]
    chosen: list[dict[str, Any]]
    files: list[str]


class BackTranslated(Billed):
    """Training data from stories."""

    data: str
    card: dict[str, Any]
    left_out: list[dict[str, Any]] | dict[str, Any]


class PartsMerged(TypedDict):
    """The numbers of calls and story results merged from each part."""

    folder: str
    parts: dict[str, int]
    stories: dict[str, int]


class Preferences(TypedDict):
    """Pairs of a preferred and a rejected text."""

    out: str
    pairs: int
    kinds: dict[str, int]
    train: int
    development: int


class TrainingPlanned(TypedDict):
    """A dry run of a training."""

    preset: str
    base: str
    settings: dict[str, Any]


class Trained(TypedDict):
    """A finished training."""

    folder: str
    ended: str
    step: int | None
    taken: int | None


class TrainedAgents(TypedDict):
    """The trained adapters of a room."""

    out: str
    adapters: list[dict[str, Any]]


class Swept(TypedDict):
    """The results of a sweep: a setting with several values."""

    setting: str
    values: list[dict[str, Any]]


class Learned(TypedDict):
    """The preferences learned from an author, or a dry run of learning."""

    author: str
    base: str
    pairs: int


class LearnedAll(TypedDict):
    """The learned preferences of each author."""

    learned: list[dict[str, Any]]


class Forgotten(TypedDict):
    """What was removed."""

    forgotten: list[str]


# setting up -----------------------------------------------------------------------------------------------------------


class Cards(TypedDict):
    """Character cards."""

    cards: list[dict[str, Any]]


class CardWritten(TypedDict):
    """Cards in another form, as text or as a file."""

    names: list[str]
    text: str | None
    file: str | None
    left_out: list[str]


class NewMethod(TypedDict):
    """The folder of a user's own system or evaluator."""

    folder: str
    kind: str


class ModelChecked(TypedDict):
    """A model that answered; for a model on a server, also its capabilities."""

    model: str
    reply: str
    usage: UsageData
    sent: dict[str, Any]
    dropped: list[str]
    able: dict[str, Any] | None


class Adapters(TypedDict):
    """Adapters, and the command that starts a server with them."""

    adapters: dict[str, Any]
    serve: str


class Trusted(TypedDict):
    """What settings files are allowed to do: by file, for one file or all."""

    trusted: dict[str, list[str]]


# Documents that may hold more than is said here: what a method, a model or a paper adds.
_OPEN: Final[tuple[Any, ...]] = (
    *(Experiment, Reproduced, Injected, Fitted, Chosen, BackTranslated, Preferences),
    *(TrainingPlanned, Trained, TrainedAgents, Swept, Learned, Cards),
    *(ModelChecked, Adapters),
)
for _kind in [kind for kind in globals().values() if is_typeddict(kind) and kind not in _OPEN]:
    _kind.__pydantic_config__ = ConfigDict(extra="forbid")

DOCUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "sample": (ProjectLine,),
    "new": (ProjectLine,),
    "import": (Imported,),
    "plan": (MadePlan, PlanView, Estimate),
    "write": (WrittenStory, Estimate),
    "update": (WrittenStory, Estimate),
    "show": (Story, ArtefactText, CallsShown, RemovedShown, VersionList, PlanView, BookContents),
    "world": (WorldView, WorldChanged, WorldExported, WorldImported),
    "export": (ExportedFile,),
    "check": (Checked, CheckedByWorkers, PartDone, Estimate),
    "evaluate": (Evaluated, MethodList, MethodView, Made, Estimate),
    "chat": (ChatEnded,),
    "studio": (Studio,),
    "serve": (Served,),
    "text rewrite": (Rewritten, Estimate),
    "text snapshot": (SnapshotList, SnapshotChanges),
    "text card": (Cards, CardWritten),
    "measure": (Measured, PartDone),
    "lab meta": (Agreement,),
    "study new": (StudyNew,),
    "study assign": (StudyAssigned,),
    "study serve": (StudyServed,),
    "study report": (StudyReported,),
    "lab experiment": (Experiment,),
    "lab merge": (Merged,),
    "lab reproduce": (Reproduced, Fetched),
    "lab inject": (Injected, Estimate),
    "lab snap": (Fitted,),
    "data list": (SetList,),
    "data choose": (Chosen,),
    "data backtranslate": (BackTranslated, PartDone, Estimate),
    "data merge": (PartsMerged,),
    "data preferences": (Preferences,),
    "train": (TrainedAgents, Trained, TrainingPlanned, Swept),
    "learn": (LearnedAll, Learned, Forgotten),
    "models": (ModelList,),
    "models check": (ModelChecked,),
    "models pull": (ChosenModel,),
    "models adapters": (Adapters,),
    "systems": (MethodList, MethodView, Prompted),
    "new-system": (NewMethod,),
    "doctor": (Health,),
    "trust": (Trusted,),
} | {one.command: (one.result, Estimate) if one.long else (one.result,) for one in every().values() if one.command}
"""The documents that each command can print. Every command can also print `Failed` or `Paused`."""


def document_of(command: str) -> TypeAdapter[Any]:
    """Return a validator for a command's document, with its schema; unlisted commands can print any object."""
    kinds = DOCUMENTS.get(command, (dict[str, Any],))
    union: Any = Failed | Paused
    for kind in reversed(kinds):
        union = kind | union
    return TypeAdapter(union)


def schema_of(command: str) -> dict[str, Any]:
    """Return the JSON schema of the output of `fabula COMMAND --json`."""
    made = document_of(command).json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"fabula {command} --json"}
    return {**head, **made}
