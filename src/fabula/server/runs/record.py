"""What is known of one run: what was asked of it, how it stands, and what it has taken so far."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabula.app.checking import model_of
from fabula.app.planning import SOURCE
from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import PRIVATE, inside, make_folder, read_text, write_atomically
from fabula.craft.length import parse_range
from fabula.engine.folders import is_path
from fabula.evaluators import evaluators
from fabula.project.folder import Project

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

Kind: TypeAlias = Literal["write", "update", "rewrite", "plan", "check", "evaluate", "judge", "rank", "learn"]
State: TypeAlias = Literal["queued", "running", "waits", "finished", "stopped", "failed", "killed"]

NAME: Final = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
"""How a run's folder is called: when it was asked for, and something that no other has."""
RUNS: Final = ".fabula/runs"
"""The folder of a project in which each run has one of its own."""
RECORD: Final = "run.json"
OPEN: Final = ("queued", "running")
_LARGEST: Final = 1_000_000
_MOST_KEPT: Final = 30  # runs of a project whose logs are kept
_MOST: Final = 2**53  # of anything that is counted
_MOST_FILES: Final = 100  # files that are waited for, as they are shown


class Limits(BaseModel):
    """What a run may spend; nothing sets no bound but the project's own."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    tokens: int | None = Field(default=None, ge=0, le=10**12, description="Most prompt and reply tokens.")
    usd: float | None = Field(default=None, ge=0, le=10**9, description="Most US dollars.")


class Order(BaseModel):
    """What is to be done: a command, with the options that make sense for one without a terminal."""

    model_config = ConfigDict(
        extra="forbid", strict=True, json_schema_extra={"examples": [{"kind": "update", "budget": {"usd": 2.5}}]}
    )

    kind: Kind = Field(default="write", description="The command.")
    model: str = Field(default="", max_length=500, description="The model of all roles; empty: as the project says.")
    words: str = Field(
        default="", max_length=50, description="Length of the story, as 3000-4000; for `write` and `plan`."
    )
    system: str = Field(default="", max_length=200, description="The writing system by name; for `write` and `plan`.")
    approve: Literal["", "plans", "all"] = Field(
        default="", description="Wait for approval of the plan, or of every text; for `write` and `update`."
    )
    anew: bool = Field(
        default=False,
        description="For `write`: write again what stands, where other settings than before want that. For `rewrite`: "
        "take the new passage, however long it is.",
    )
    revise: bool = Field(
        default=False, description="Revise old texts to fit, instead of writing them anew; for `update`."
    )
    only: list[str] = Field(default=[], max_length=1000, description="With `revise`: these artefacts alone.")
    artefact: str = Field(default="", max_length=500, description="For `rewrite`: the text.")
    passage: str = Field(
        default="",
        pattern=r"^([1-9]\d{0,6}-[1-9]\d{0,6})?$",
        description="For `rewrite`: its first and last character, from 1, as 120-480.",
    )
    note: str = Field(default="", max_length=10_000, description="For `rewrite`: what should become of the passage.")
    evaluator: str = Field(default="", max_length=200, description="For `evaluate`: which one.")
    against: str = Field(default="", max_length=200, description="For `judge`: the other project's name.")
    beside: list[Annotated[str, Field(max_length=200)]] = Field(
        default=[],
        max_length=50,
        description="Other projects: their stories are ranked or measured too, or their choices are learned from.",
    )
    base: str = Field(default="", max_length=500, description="For `learn`: the model that is tuned.")
    quick: bool | None = Field(
        default=None, description="For `learn`: one training, or with false six; null: as many as are useful."
    )
    use_anyway: bool = Field(
        default=False, description="For `learn`: write with what was learned although it is not shown to be better."
    )
    budget: Limits = Limits()


class Tally(BaseModel):
    """What calls took, of one role or of all."""

    model_config = ConfigDict(allow_inf_nan=False)

    calls: int = 0
    replayed: int = 0
    prompt: int = 0
    cached: int = 0
    reply: int = 0
    seconds: float = 0.0
    cost: float | None = Field(default=0.0, description="US dollars; null where a price is not known.")

    def begin(self, event: dict[str, Any]) -> None:
        """Take in that a call has begun: before the first one is answered, its price may not be known."""
        if event.get("priced") is False and not self.calls:
            self.cost = None

    def count(self, event: dict[str, Any]) -> None:
        """Take in that a call was answered, or lost; from the journal it costs nothing."""
        if event.get("replayed"):
            self.replayed += 1
            return
        usage = event.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        before = self.cost if self.calls else 0.0
        self.calls += 1
        self.prompt += _whole(usage.get("prompt"))
        self.cached += _whole(usage.get("cached"))
        self.reply += _whole(usage.get("reply"))
        self.seconds += _number(usage.get("seconds")) or 0.0
        cost = _number(usage.get("cost"))
        self.cost = None if before is None or cost is None else before + cost


class Run(BaseModel):
    """One run of a project."""

    model_config = ConfigDict(allow_inf_nan=False)

    id: str
    order: Order
    state: State = "queued"
    created: float = Field(default=0.0, description="Seconds since 1970, as all times here.")
    started: float | None = None
    ended: float | None = None
    exit_code: int | None = None
    kind_of_error: str = Field(default="", description="Its name in the tree of errors.")
    message: str = Field(default="", description="Why it failed, or what it waits for.")
    waits_for: str = Field(default="", description="The artefact that waits for approval.")
    awaited: list[str] = Field(default=[], description="Files in which answers are awaited, in `awaited_in`.")
    awaited_in: str = ""
    kept: int = Field(default=0, description="Artefacts that have their texts.")
    total: Tally = Tally()
    roles: dict[str, Tally] = {}
    terminal: bool = Field(default=False, description="It is a command that a person has typed elsewhere.")
    pid: int | None = Field(
        default=None, ge=1, lt=2**31, description="Of the process, or of the server in whose queue it is."
    )

    @property
    def is_open(self) -> bool:
        """Whether something is still to come."""
        return self.state in OPEN

    def hear(self, event: dict[str, Any]) -> None:
        """Take in what has happened."""
        kind = event["type"]
        if kind == "call_started":
            self.total.begin(event)
            self.roles.setdefault(str(event.get("role", "")), Tally()).begin(event)
        elif kind in ("call_finished", "call_lost"):
            role = str(event.get("role", ""))
            self.total.count(event)
            self.roles.setdefault(role, Tally()).count(event)
        elif kind == "kept":
            self.kept += 1
        elif kind == "answers_awaited":
            files = event.get("files")
            self.awaited = [str(file) for file in files[:_MOST_FILES]] if isinstance(files, list) else []
            self.awaited_in = str(event.get("folder", ""))
        elif kind == "command_ended":
            self._ends(event)

    def _ends(self, event: dict[str, Any]) -> None:
        """Take in how the command says that it ended."""
        self.exit_code = _whole(event.get("exit_code"))
        self.kind_of_error, self.message = str(event.get("kind", "")), str(event.get("message", ""))
        self.awaited = []
        if self.kind_of_error == "PausedError":
            self.state, self.waits_for = "waits", str(event.get("artefact", ""))
        elif self.kind_of_error == "StoppedError":
            self.state = "stopped"
        else:
            self.state = "finished" if self.exit_code == 0 else "failed"

    def save(self, folder: Path) -> None:
        """Write it into its folder.

        Raises:
            ProjectError: it cannot be written.
        """
        make_folder(folder, mode=0o700)
        write_atomically(folder / RECORD, self.model_dump_json(indent=1) + "\n", mode=PRIVATE)


def new_name(now: float) -> str:
    """A name for a run that is asked for `now`, in seconds since 1970."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"


def runs_in(folder: Path) -> Iterator[str]:
    """The names of the runs in a project's folder."""
    with suppress(OSError, UsageError), os.scandir(inside(folder, RUNS)) as entries:
        for entry in entries:
            if NAME.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False):
                yield entry.name


def forget_old(folder: Path, at_work: Container[str] = ()) -> None:
    """Remove the logs of a project's oldest runs, but for those `at_work`."""
    ended = sorted(name for name in runs_in(folder) if name not in at_work)
    for name in ended[:-_MOST_KEPT]:
        shutil.rmtree(folder / RUNS / name, ignore_errors=True)


def read_run(folder: Path) -> Run | None:
    """The run whose folder this is; `None` where there is none that can be read."""
    try:
        run = Run.model_validate_json(read_text(folder / RECORD, _LARGEST, links=False))
    except (FabulaError, ValidationError):
        return None
    return run if run.id == folder.name else None


def arguments(order: Order, folder: Path, against: Path | None = None, beside: Sequence[Path] = ()) -> list[str]:
    """The command line that does what is asked, for a project's folder; `against` and `beside` are those of others.

    Raises:
        UsageError: options do not go together.
    """
    caps = [
        *([f"--budget-tokens={order.budget.tokens}"] if order.budget.tokens is not None else []),
        *([f"--budget-usd={order.budget.usd}"] if order.budget.usd is not None else []),
    ]
    given = {name: value for name in _OPTIONS if (value := getattr(order, name)) != Order.model_fields[name].default}
    stray = [name for name in given if name not in _OF_KIND[order.kind]]
    if stray:
        raise UsageError(f"`{order.kind}` takes no {' and no '.join(stray)}. Leave that out.")
    if order.words:
        parse_range(order.words)
    for what, name in (("system", order.system), ("evaluator", order.evaluator)):
        if is_path(name):
            raise UsageError(f"{name!r} is a folder of code, which is not run from here. Name an installed {what}.")
    options = [f"--{name}={value}" for name, value in given.items() if isinstance(value, str) and name in _AS_TYPED]
    options += ["--anew"] if order.anew and order.kind == "write" else []
    options += ["--revise"] if order.revise else []
    options += [f"--only={name}" for name in order.only]
    if order.kind in _JUDGED and not order.model and _asks(order) and (model := model_of(Project(folder).settings)):
        options.append(f"--model={model}")
    return [*_words(order, str(folder), against, [str(one) for one in beside]), *options, *caps, "--json"]


_OPTIONS: Final = (
    *("model", "words", "system", "approve", "anew", "revise", "only"),
    *("artefact", "passage", "note", "evaluator", "against", "beside", "base", "quick", "use_anyway"),
)
_AS_TYPED: Final = ("model", "words", "system", "approve", "base")
_JUDGED: Final = ("evaluate", "judge", "rank")  # commands that know nothing of a project's model by themselves
_OF_KIND: Final[dict[Kind, tuple[str, ...]]] = {
    "write": ("model", "words", "system", "approve", "anew"),
    "update": ("model", "approve", "revise", "only"),
    "rewrite": ("artefact", "passage", "note", "anew"),
    "plan": ("model", "words", "system"),
    "check": ("model",),
    "evaluate": ("model", "evaluator", "beside"),
    "judge": ("model", "against"),
    "rank": ("model", "beside"),
    "learn": ("beside", "base", "quick", "use_anyway"),
}


def _words(order: Order, folder: str, against: Path | None, beside: Sequence[str]) -> list[str]:
    """The command and what it is about."""
    if order.kind == "plan":
        source = (
            f"--from-story={folder}/{SOURCE}" if Path(folder, SOURCE).is_file() else f"--from-brief={folder}/brief.md"
        )
        return ["plan", source, f"--out={folder}"]
    if order.kind == "rewrite":
        if not order.artefact.strip() or order.artefact.startswith("-") or not order.passage:
            raise UsageError("Say which `artefact` and which `passage` of it, as 120-480.")
        about = [f"--characters={order.passage}", *([f"--note={order.note}"] if order.note.strip() else [])]
        return ["text", "rewrite", order.artefact, "-C", folder, *about, "--yes" if order.anew else "--if-alike"]
    if order.kind in _JUDGED:
        return [*_judged(order, folder, against, beside), f"--out={folder}/evaluation"]
    if order.kind == "learn":
        how = [] if order.quick is None else ["--quick" if order.quick else "--thorough"]
        return ["learn", folder, *beside, *how, *(["--use-anyway"] if order.use_anyway else [])]
    return [order.kind, folder, *(["--yes"] if order.kind in ("write", "update") else [])]


def _judged(order: Order, folder: str, against: Path | None, beside: Sequence[str]) -> list[str]:
    """The command that measures or judges stories, and which ones."""
    if order.kind == "evaluate":
        if not order.evaluator.strip() or order.evaluator.startswith("-"):
            raise UsageError("Say which `evaluator`; `fabula evaluate` lists them.")
        return ["evaluate", order.evaluator, folder, *beside]
    if order.kind == "rank":
        if not beside:
            raise UsageError("Say `beside` which other projects' stories this one is ranked.")
        return ["evaluate", "pairwise", folder, *beside, "--as-stories"]
    if against is None:
        raise UsageError("Say `against` which other project the story is judged.")
    return ["evaluate", "pairwise", folder, str(against)]


def _asks(order: Order) -> bool:
    """Whether a model is asked; an evaluator that is not known is refused by its command, in words."""
    evaluator = evaluators().get(order.evaluator) if order.kind == "evaluate" else None
    return evaluator is None or bool(evaluator.roles)


def _whole(value: object) -> int:
    number = _number(value)
    return 0 if number is None else int(number)


def _number(value: object) -> float | None:
    """What a log gives as a number; `None` where it is none, or more than any run can take."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        return None
    return float(value)
