"""What each command prints with `--json`: one typed document, from which its JSON schema is made.

`fabula COMMAND --json-schema` prints the schema, `docs/reference/schemas/` has all, and the tests hold every document
to its own. A field is left out where it says nothing only if it is `NotRequired` here; an unknown number is null.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired

from pydantic import ConfigDict, TypeAdapter
from typing_extensions import TypedDict, is_typeddict

from fabula.app.bills import Estimate, UsageData
from fabula.app.conversations import ChatEnded
from fabula.app.experiment.shards import Merged
from fabula.app.health import Health
from fabula.app.past_calls import AskedCall, RemovedText  # noqa: TC001 - pydantic reads them
from fabula.app.planning import MadePlan, PlanView
from fabula.app.prompts_shown import Prompted
from fabula.app.rewriting import Rewritten
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
    """A number with its n, interval and method, or why there is none."""

    value: float | None
    n: int
    low: NotRequired[float | None]
    high: NotRequired[float | None]
    level: NotRequired[float]
    method: NotRequired[str]
    unscored: NotRequired[str]
    p: NotRequired[float | None]


class Row(Number):
    """A row of a report: what of whom; a baseline says so."""

    of: str
    what: str
    baseline: NotRequired[bool]


class Report(TypedDict):
    """What an evaluator found."""

    format: int
    evaluator: str
    how: dict[str, Any]
    rows: list[Row]
    ratings: int
    unscored: int
    notes: list[str]
    details: dict[str, Any]


class Billed(TypedDict):
    """What was asked for it."""

    asked: int
    replayed: int
    bill: dict[str, UsageData]


class BilledReport(Report, Billed):
    """A report, and what was asked for it."""


class Licence(TypedDict):
    """A data set that stories are from."""

    name: str
    title: str
    licence: str
    stories: NotRequired[int]
    note: NotRequired[str]
    source: NotRequired[str]


# errors, pauses, dry runs ---------------------------------------------------------------------------------------------


class Failure(TypedDict):
    """What happened, why, and what to do."""

    kind: str
    message: str
    exit_code: int


class Failed(TypedDict):
    """A command that failed."""

    error: Failure


class Pause(TypedDict):
    """The artefact that waits for a person."""

    artefact: str
    message: str


class Paused(TypedDict):
    """A command that waits for a person."""

    paused: Pause


# a project ------------------------------------------------------------------------------------------------------------


class ImportedPart(TypedDict):
    """A part of a manuscript, and its file."""

    name: str
    file: str
    words: int


class Imported(TypedDict):
    """A project that was made of a manuscript, or would be; `before` says that it was there already."""

    project: str
    title: str
    system: str
    source: str
    divided: str
    notices: list[str]
    words: int
    parts: list[ImportedPart]
    before: bool


class CallsShown(TypedDict):
    """What was asked to make an artefact, or the story."""

    artefact: str
    calls: list[AskedCall]


class RemovedShown(TypedDict):
    """What rules took out."""

    artefact: str
    removed: list[RemovedText]


class ExportedFile(TypedDict):
    """A file of the story."""

    file: str
    format: str
    words: int
    bytes: int


# world and conversations ----------------------------------------------------------------------------------------------


WorldChanged = TypedDict(
    "WorldChanged",
    {"from": str, "to": str, "opened": list[Fact], "closed": list[Fact], "changed": list[tuple[Fact, Fact]]},
)


class WorldExported(TypedDict):
    """The world in another form, in a file or as text."""

    format: str
    facts: int
    file: str | None
    text: str | None


class WorldImported(TypedDict):
    """Facts that were taken from a file."""

    file: str
    added: int
    withdrawn: int
    kept: int
    conflicts: int


class Served(TypedDict):
    """Where a server listens; a token that was made for it is shown once."""

    address: str
    models: list[str]
    token: NotRequired[str]


class Studio(TypedDict):
    """Where the studio is open; the link signs a browser in, where its token is a new one."""

    address: str
    link: str
    projects: list[str]


# evaluators -----------------------------------------------------------------------------------------------------------


class Checked(Report):
    """Findings of a check; `left` are those that were not dismissed."""

    page: str
    dismissed: dict[str, str]
    left: int
    asked: NotRequired[int]
    replayed: NotRequired[int]
    bill: NotRequired[dict[str, UsageData]]


class Verdict(TypedDict):
    """The better of two stories, "same", or null."""

    question: str
    better: str | None


class Evaluated(Billed):
    """What evaluators found, by name; how far people agree with each, and of two stories alone which is better."""

    reports: dict[str, Report]
    agreement: dict[str, Report]
    verdicts: list[Verdict]
    files: list[str]


class Made(Billed):
    """Plots or stories that the tests of creativity are put to."""

    texts: dict[str, str]


class Measured(TypedDict):
    """What was counted, by evaluator."""

    stories: int
    data: list[Licence]
    left_out: list[str]
    reports: dict[str, Report]


class Agreement(Report):
    """A judge beside people."""

    questions: dict[str, JudgeOnQuestion]


class StudyNew(TypedDict):
    """A study that was made; `left_out` are prompts that one system alone answers."""

    study: str
    kind: str
    version: int
    items: int
    systems: list[str]
    prompts: int
    left_out: list[str]


class StudyAssigned(TypedDict):
    """Who has how much to do: cells are what could be rated, `hours` those of all raters."""

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
    """Where a study is; the links of its raters, and the organiser's."""

    study: str
    organiser: str
    raters: list[RaterLink]
    expires: str


class StudyReported(TypedDict):
    """What people found; the page is the first of the files."""

    report: Report
    files: list[str]


# the lab --------------------------------------------------------------------------------------------------------------


class Experiment(TypedDict):
    """An experiment, done or expected; see its report.json."""

    experiment: str
    contenders: list[dict[str, Any]]


class Reproduced(TypedDict):
    """Published tables beside the recomputed ones."""

    matching: int
    differing: int
    unavailable: int
    absent: list[str]
    tables: list[dict[str, Any]]


class Fetched(TypedDict):
    """A data set that was fetched."""

    set: str
    licence: str
    source: str
    files: list[Any] | dict[str, Any]


class Injected(Billed):
    """Errors that were put into a story, or screenplays with errors."""

    files: list[str]
    story: dict[str, Any] | None
    missing: int
    screenplays: list[dict[str, Any]]


class Digressed(BilledReport):
    """Digressions, and who led back."""

    folder: str


class DigressionsExpected(TypedDict):
    """A dry run of digressions."""

    digressions: int
    runs: list[dict[str, Any]]


class Fitted(TypedDict):
    """Weights of SNAP's filter."""

    sources: list[str]
    over: str
    plans: int
    weights: dict[str, Any]


# training -------------------------------------------------------------------------------------------------------------


class Chosen(TypedDict):
    """Prompts that cover a set."""

    prompts: int
    clusters: list[dict[str, Any]]
    chosen: list[dict[str, Any]]
    files: list[str]


class BackTranslated(Billed):
    """Training data from stories."""

    data: str
    card: dict[str, Any]
    left_out: list[dict[str, Any]] | dict[str, Any]


class PartAsked(Billed):
    """What was asked about one part of the stories (`--shard`); the data are made when all are merged."""

    part: str
    stories: int
    folder: str


class PartsMerged(TypedDict):
    """How many calls were taken over from each part."""

    folder: str
    parts: dict[str, int]


class Preferences(TypedDict):
    """Pairs of a preferred text and another."""

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
    """A training that ended."""

    folder: str
    ended: str
    step: int | None
    taken: int | None


class TrainedAgents(TypedDict):
    """The adapters of a room."""

    out: str
    adapters: list[dict[str, Any]]


class Swept(TypedDict):
    """A setting tried with several values."""

    setting: str
    values: list[dict[str, Any]]


class Learned(TypedDict):
    """What was learned from an author, or would be."""

    author: str
    base: str
    pairs: int


class LearnedAll(TypedDict):
    """What was learned, of each author."""

    learned: list[dict[str, Any]]


class Forgotten(TypedDict):
    """What was removed."""

    forgotten: list[str]


# setting up -----------------------------------------------------------------------------------------------------------


class Cards(TypedDict):
    """Character cards."""

    cards: list[dict[str, Any]]


class CardWritten(TypedDict):
    """Cards in another form: as text, or in a file."""

    names: list[str]
    text: str | None
    file: str | None
    left_out: list[str]


class Lorebook(TypedDict):
    """Entries of a lorebook that a message calls."""

    shown: list[dict[str, Any]]
    left_out: int
    tokens: int


class NewMethod(TypedDict):
    """The folder of a system or evaluator of one's own."""

    folder: str
    kind: str


class ModelChecked(TypedDict):
    """A model that answered, and what it can do, where it is one of a server."""

    model: str
    reply: str
    usage: UsageData
    sent: dict[str, Any]
    dropped: list[str]
    able: dict[str, Any] | None


class Adapters(TypedDict):
    """Adapters, and how a server is started with them."""

    adapters: dict[str, Any]
    serve: str


class Trusted(TypedDict):
    """What settings files may do, by file: of the one that is named, or of all."""

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
    "show": (Story, ArtefactText, CallsShown, RemovedShown, VersionList, PlanView),
    "world": (WorldView, WorldChanged, WorldExported, WorldImported),
    "export": (ExportedFile,),
    "check": (Checked, Estimate),
    "evaluate": (Evaluated, MethodList, MethodView, Made, Estimate),
    "chat": (ChatEnded,),
    "studio": (Studio,),
    "serve": (Served,),
    "text rewrite": (Rewritten, Estimate),
    "text card": (Cards, CardWritten, Lorebook),
    "measure": (Measured,),
    "lab meta": (Agreement,),
    "study new": (StudyNew,),
    "study assign": (StudyAssigned,),
    "study serve": (StudyServed,),
    "study report": (StudyReported,),
    "lab experiment": (Experiment,),
    "lab merge": (Merged,),
    "lab reproduce": (Reproduced, Fetched),
    "lab inject": (Injected, Estimate),
    "lab digress": (Digressed, DigressionsExpected),
    "lab snap": (Fitted,),
    "data list": (SetList,),
    "data choose": (Chosen,),
    "data backtranslate": (BackTranslated, PartAsked, Estimate),
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
} | {one.command: (one.result,) for one in every().values() if one.command}
"""What each command prints: one of these, or that it `Failed` or is `Paused`."""


def document_of(command: str) -> TypeAdapter[Any]:
    """What reads a command's document, and gives its schema; a command that is not listed has any object."""
    kinds = DOCUMENTS.get(command, (dict[str, Any],))
    union: Any = Failed | Paused
    for kind in reversed(kinds):
        union = kind | union
    return TypeAdapter(union)


def schema_of(command: str) -> dict[str, Any]:
    """The JSON schema of what `fabula COMMAND --json` prints."""
    made = document_of(command).json_schema(mode="serialization")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"fabula {command} --json"}
    return {**head, **made}
