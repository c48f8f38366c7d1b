"""`fabula learn`: from an author's choices to an adapter for that author, and a number that shows whether it helps.

The pairs are divided so that everything from one scene (or one project, if there are many) stays together. Each part
in turn is held out: an adapter is trained on the rest, and ranks the pairs that it has not seen. Every pair is thus
held out once. The adapter in use is then trained on all pairs. With `quick`, only the first part is held out, and the
adapter trained on the rest is the one in use.

Everything is in the author's folder (`project/learned.py`). Finished work there is not repeated: after a kill,
learning continues, and the previous adapter stays in use until the new one is complete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol

from fabula.app.learned import PACKAGES, WHAT
from fabula.app.preferences import HOW, OWN, unique
from fabula.app.training import Listener, TrainingAsked
from fabula.app.training_pairs import prepare_pairs, train_pairs
from fabula.app.writing import settings_as_last_time
from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import PRIVATE, make_folder, read_text, write_atomically
from fabula.base.html import bullets, figure, html_table, joined, paragraph
from fabula.engine.methods import with_values
from fabula.measure.report.page import Section, page
from fabula.measure.report.pictures import intervals_svg
from fabula.models.adapters import GGUF, digest_of
from fabula.models.known import KNOWN, find_weights, models_home
from fabula.project.casting import full_name
from fabula.project.learned import Learned, LearnedFolder
from fabula.stats.estimate import Estimate, Scored, estimate_cells
from fabula.training.base import load, open_base
from fabula.training.dpo import prepared_pairs
from fabula.training.examples import LEAST, DataCard, ExampleSource, PreferencePair, read_pairs, write_data
from fabula.training.held_out import (
    TUNED,
    HeldOutResult,
    Margins,
    compared,
    least_shown,
    parts,
    percent,
    said,
    units_of,
)
from fabula.training.histories import history_pairs
from fabula.training.libraries import library, quiet, require_libraries
from fabula.training.memory import device_of
from fabula.training.pairs import without
from fabula.training.presets import Dpo
from fabula.training.running import CHECKPOINTS, schedule_of
from fabula.training.scoring import score_pairs

if TYPE_CHECKING:
    from fabula.project.folder import ProjectFolder


PARTS: Final = 5
_INNER: Final = 10  # one of so many parts of what is learned from tells when to stop
_FEWEST: Final = 12  # pairs of which a fifth can be put aside, a tenth tell when to stop, and 8 be learned from
_FEWEST_UNITS: Final = 2
_NEAR: Final = "the two texts hardly differ"
_LARGEST: Final = 50_000_000
MANY: Final = 200
"""The number of pairs from which a single training suffices, because a fifth of them can show a difference."""


@dataclass(frozen=True, slots=True)
class Needs:
    """The cost of one training.

    Attributes:
        steps: the most training steps.
        seconds: the approximate time; `None` if it is unknown.
        memory: the memory in bytes; `None` if it is unknown.
    """

    steps: int
    seconds: float | None = None
    memory: int | None = None


class Trainer(Protocol):
    """Trains adapters for the base on pairs."""

    def tune(self, data: Path, out: Path) -> None:
        """Train an adapter on a folder of pairs, continuing where the training stopped."""

    def margins(self, adapter: Path, pairs: Sequence[PreferencePair]) -> dict[str, tuple[float, float]]:
        """How much likelier base and tuned model find each chosen text, per token; overlong pairs are left out."""


@dataclass(frozen=True)
class LearningProposal:
    """What would be learned, and how its effect would be measured.

    Attributes:
        author: the author of the choices; may be empty.
        base: the model to tune, as a user names it.
        base_digest: the digest of its weights.
        pairs: the pairs to learn from.
        left_out: the pairs that are left out, with the reasons.
        settings: the settings of the training.
        quick: whether only one part is held out.
    """

    author: str
    base: str
    base_digest: str
    pairs: tuple[PreferencePair, ...]
    left_out: tuple[Mapping[str, Any], ...]
    settings: Mapping[str, Any]
    quick: bool = False

    @property
    def units(self) -> list[str]:
        """The group that each pair belongs to; pairs of one group stay together."""
        return units_of(self.pairs)

    @property
    def parts(self) -> list[list[int]]:
        """The indices of the pairs that are held out together, for each part."""
        found = parts(self.units, PARTS)
        return found[:1] if self.quick else found

    def without(self, part: Sequence[int]) -> list[PreferencePair]:
        """The pairs to learn from while a part is held out."""
        aside = set(part)
        return [pair for index, pair in enumerate(self.pairs) if index not in aside]

    @property
    def trainings(self) -> int:
        """The number of adapters to train: one for each part, and one for all pairs."""
        return 1 if self.quick else len(self.parts) + 1

    @property
    def held_out(self) -> int:
        """The number of pairs that the result is based on."""
        return sum(map(len, self.parts))

    @property
    def agents(self) -> tuple[str, ...]:
        """The roles whose texts the author compared."""
        return tuple(sorted({pair.agent for pair in self.pairs}))

    @property
    def least(self) -> int | None:
        """The fewest errors that must be corrected to show an improvement; see `held_out.least_shown`."""
        units = self.units
        return least_shown(list(Counter(units[index] for part in self.parts for index in part).values()))

    @property
    def key(self) -> str:
        """A digest of everything that the learning depends on."""
        said_ = [self.author, self.base_digest, dict(self.settings), self.quick, [asdict(one) for one in self.pairs]]
        return sha256(json.dumps(said_, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()

    @property
    def could_show(self) -> str:
        """What the held-out pairs could show, in a sentence."""
        places = len({self.units[index] for part in self.parts for index in part})
        held = f"{self.held_out:,} held-out pairs from {places:,} {'place' if places == 1 else 'places'}"
        if (least := self.least) is None:
            return f"{held} cannot show an improvement, however well the tuned model ranks them. {HOW}"
        return (
            f"{held}: an improvement can be shown if the tuned model corrects at least {least:,} errors of the "
            "untuned model and makes no new ones."
        )

    def check(self) -> None:
        """Check that there is enough to learn from.

        Raises:
            UsageError: there are too few pairs; the message gives their number, and says how to get more.
        """
        count = len(self.pairs)
        if count >= _FEWEST and len(set(self.units)) < _FEWEST_UNITS:
            raise UsageError(
                f"All {count} pairs come from one place, so none can be held out to measure what was learned. {HOW}"
            )
        if count < _FEWEST or min(len(_learnt(self.without(part))[0]) for part in self.parts) < LEAST:
            has = "1 pair of texts says" if count == 1 else f"{count or 'No'} pairs of texts say"
            more = f"{_FEWEST} or more" if count < _FEWEST else f"more than {count}, from more places"
            raise UsageError(
                f"{has} what you prefer. Learning requires {more}, so that {LEAST} can be learned from and others "
                f"held out. {HOW}"
            )


def proposed(
    projects: Sequence[ProjectFolder],
    author: str,
    place: LearnedFolder,
    environ: Mapping[str, str],
    *,
    base: str = "",
    quick: bool | None = None,
    said: Mapping[str, str] | None = None,
) -> LearningProposal:
    """The proposal for learning from the choices in these projects, and in those that were learned from before.

    Args:
        projects: the projects of the author.
        author: the author of the choices; may be empty.
        place: the folder of what was learned from the author.
        environ: variables that hold folders.
        base: the model to tune; empty for the model of these projects.
        quick: whether only one part is held out; `None` decides by the number of pairs.
        said: the settings of the training that were given, by name.

    Raises:
        UsageError: the projects write with several models, or with a model whose weights are not on this machine.
        FabulaError: a project's journal cannot be read.
    """
    spec = full_name(base or base_of(projects))
    kind, _, rest = spec.partition(":")
    if kind != "embedded":
        raise UsageError(
            f"Your projects write with {spec}, whose weights are not on this machine, so it cannot be tuned. "
            f"Use --base {next(iter(KNOWN))}, or another model that runs here. New projects with that model "
            "then use what is learned."
        )
    _check_author(place, author)
    pairs: list[PreferencePair] = []
    left_out: list[Mapping[str, Any]] = []
    for project in projects:
        found = history_pairs(project, project.folder.resolve().name)
        kept, gone = without(found.pairs, ["near"])
        pairs += [of_project(project.folder, pair) for pair in kept]
        left_out += [*found.left_out, *({"id": name, "reason": _NEAR} for name in gone)]
    known, twice = with_known(place, pairs, [project.folder for project in projects])
    return LearningProposal(
        author,
        spec,
        digest_of(find_weights(rest, models_home(environ))),
        known,
        (*left_out, *twice),
        dict(said or {}),
        len(known) >= MANY if quick is None else quick,
    )


def _check_author(place: LearnedFolder, author: str) -> None:
    """Refuse to mix the choices of two authors whose names give the same folder name, such as Jörg and Jorg."""
    before = place.read()
    if before is not None and before.author.casefold() != author.casefold():
        raise UsageError(
            f"{place.folder} contains what was learned from {before.author or 'an author without a name'}, but "
            f"would also be the folder of {author or 'an author without a name'}. Give one of them another name "
            "with --author."
        )


def base_of(projects: Sequence[ProjectFolder]) -> str:
    """The one model that the projects wrote with in their last runs.

    Raises:
        UsageError: there are several models.
    """
    models = list(dict.fromkeys(full_name(settings_as_last_time(project).model) for project in projects))
    if len(models) > 1:
        raise UsageError(
            f"These projects write with {len(models)} models ({', '.join(models[:5])}). Use --base to choose "
            "the model that learns from all of them."
        )
    return models[0]


def with_known(
    place: LearnedFolder, pairs: Sequence[PreferencePair], projects: Sequence[Path]
) -> tuple[tuple[PreferencePair, ...], list[dict[str, Any]]]:
    """The current pairs of these projects, and the known pairs of the author's other projects, each pair once.

    A project that was copied, renamed or moved has pairs that are already known: the second value names these
    projects.

    Raises:
        UsageError: the known pairs cannot be read.
    """
    named = {str(project.resolve()) for project in projects}
    known = _known_pairs(place)
    others = [pair for pair in known if pair.source.get("project") not in named]
    kept, twice = unique(list({pair.id: pair for pair in (*pairs, *others)}.values()))
    return tuple(sorted(kept, key=lambda pair: pair.id)), twice


def _known_pairs(place: LearnedFolder) -> tuple[PreferencePair, ...]:
    if not (place.data / "data.json").is_file():
        return ()
    try:
        return read_pairs(place.data, "train")
    except UsageError as error:
        raise UsageError(
            f"{error} Alternatively, remove everything that was learned with `fabula learn --forget`, and learn again."
        ) from error


def of_project(project: Path, pair: PreferencePair) -> PreferencePair:
    """A pair that names its project, and has a unique id among those of all projects."""
    where = str(project.resolve())
    name = sha256(f"{where}\0{pair.id}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return replace(pair, id=name, source={**pair.source, "project": where, "pair": pair.id})


def learn(
    proposal: LearningProposal,
    place: LearnedFolder,
    trainer: Trainer,
    today: str,
    tell: Callable[[str], object],
    *,
    anyway: bool = False,
) -> Learned:
    """Learn from the proposal, continuing where it stopped, and use the adapter if it is better (or `anyway`).

    Raises:
        UsageError: there are too few pairs to learn from.
        ProjectError: the folder is in use, or cannot be written.
    """
    proposal.check()
    with place.hold():
        before = place.read()
        if before is not None and before.key == proposal.key and place.has(before):
            tell("Nothing has changed since the last time, so no training is needed.")
            return _again(place, before, anyway=anyway)
        work = _begun(place, proposal)
        rows: list[Margins] = []
        for number, part in enumerate(proposal.parts, 1):
            tell(f"Training {number} of {proposal.trainings}: without {len(part)} of {len(proposal.pairs)} pairs")
            rows += _of_part(proposal, part, work / f"part-{number}", trainer, keep=proposal.quick)
        last = work / "part-1" / "adapter"
        if not proposal.quick:
            tell(f"Training {proposal.trainings} of {proposal.trainings}: with all {len(proposal.pairs)} pairs")
            last = _tuned(list(proposal.pairs), work / "all", trainer)
        return _finished(place, proposal, compared(rows), last, today, anyway=anyway)


def _again(place: LearnedFolder, before: Learned, *, anyway: bool) -> Learned:
    if anyway and not before.in_use:
        before = replace(before, anyway=True, off=False)
        place.write(before)
    return before


def _begun(place: LearnedFolder, proposal: LearningProposal) -> Path:
    """The folder for the learning in progress; work begun with other pairs or settings is removed."""
    work, key = place.next, place.next / "key"
    if work.exists() and not (key.is_file() and read_text(key, 1000).strip() == proposal.key):
        shutil.rmtree(work)
    make_folder(work, mode=0o700)
    write_atomically(key, proposal.key + "\n", mode=PRIVATE)
    return work


def _of_part(
    proposal: LearningProposal, part: Sequence[int], folder: Path, trainer: Trainer, *, keep: bool
) -> list[Margins]:
    """How an adapter that was trained without the pairs of a part ranks them."""
    aside, units = [proposal.pairs[index] for index in part], proposal.units
    scores = folder / "scores.json"
    if not scores.is_file():
        adapter = _tuned(proposal.without(part), folder, trainer)
        found = trainer.margins(adapter, aside)
        write_atomically(scores, json.dumps(found) + "\n", mode=PRIVATE)
    if not keep:  # the adapter has said what it was for
        shutil.rmtree(folder / "adapter", ignore_errors=True)
    known = json.loads(read_text(scores, _LARGEST))
    return [
        Margins(pair, units[index], *map(float, known[pair.id]))
        for pair, index in zip(aside, part, strict=True)
        if pair.id in known
    ]


def _learnt(pairs: Sequence[PreferencePair]) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """The pairs to train on, and the few that decide when to stop; held-out pairs are not used for this."""
    units = units_of(pairs)
    inner = set(parts(units if len(set(units)) > 1 else [pair.id for pair in pairs], _INNER)[-1])
    return (
        [pair for index, pair in enumerate(pairs) if index not in inner],
        [pair for index, pair in enumerate(pairs) if index in inner],
    )


def _tuned(pairs: Sequence[PreferencePair], folder: Path, trainer: Trainer) -> Path:
    """The adapter that was trained on these pairs, in its own folder."""
    make_folder(folder, mode=0o700)
    data, out = folder / "data", folder / "adapter"
    _write_pairs(data, *_learnt(pairs))
    if not (folder / "whole").is_file():
        trainer.tune(data, out)
        write_atomically(folder / "whole", "")
    return out


def _write_pairs(
    folder: Path,
    train: Sequence[PreferencePair],
    development: Sequence[PreferencePair] = (),
    **more: Any,  # noqa: ANN401 - fields of the card
) -> None:
    counts = {"train": len(train), "development": len(development)}
    projects = sorted({Path(str(pair.source.get("project", ""))).name for pair in (*train, *development)})
    sources = tuple(ExampleSource(name, name, OWN, 1) for name in projects)
    card = DataCard("pairs", {"command": "fabula learn", **more}, sources, counts)
    write_data(folder, card, {"train": train, "development": development})
    folder.chmod(0o700)


def _finished(
    place: LearnedFolder, proposal: LearningProposal, found: HeldOutResult, adapter: Path, today: str, *, anyway: bool
) -> Learned:
    """The record of what was learned, with the adapter in its final folder; the working folder is removed."""
    mark = place.next / "adapter"
    if not mark.is_file():
        write_atomically(mark, digest_of(adapter / GGUF) + "\n", mode=PRIVATE)
    name = read_text(mark, 1000).strip()
    target = place.adapter(name)
    make_folder(target.parent, mode=0o700)
    if adapter.is_dir():
        shutil.rmtree(target, ignore_errors=True)
        for left in (CHECKPOINTS, ".training"):
            shutil.rmtree(adapter / left, ignore_errors=True)
        adapter.rename(target)
    _write_pairs(place.data, proposal.pairs, base=proposal.base)
    learned = Learned(
        author=proposal.author,
        made=today,
        key=proposal.key,
        base=proposal.base,
        base_digest=proposal.base_digest,
        agents=proposal.agents,
        pairs=len(proposal.pairs),
        adapter=name,
        better=found.better,
        anyway=anyway,
        found=found.as_data()
        | {"quick": proposal.quick, "trainings": proposal.trainings, "unread": proposal.held_out - found.n},
    )
    text = report_text(learned, found)
    write_atomically(place.report, text, mode=PRIVATE)
    write_atomically(place.page, report_page(learned, found), mode=PRIVATE)
    place.write(learned)
    shutil.rmtree(place.next)
    return learned


# training -------------------------------------------------------------------------------------------------------------


class StoppedLearningError(FabulaError):
    """A signal ended a training; finished work is kept."""

    def __init__(self, number: int) -> None:
        super().__init__("Stopped. Everything learned so far is kept. To continue, give the same command again.")
        self.exit_code = 128 + number


@dataclass
class PairTrainer:
    """Tunes the base of the proposal, by direct preference optimisation.

    Attributes:
        base: the base as a user names it.
        values: settings of the training that override the preset for small data.
        environ: variables that hold folders.
        listener: receives reports on the progress.
    """

    base: str
    values: Mapping[str, Any]
    environ: Mapping[str, str]
    listener: Listener

    def tune(self, data: Path, out: Path) -> None:
        """Train an adapter on a folder of pairs, continuing where the training stopped.

        Raises:
            UsageError: there are too few pairs that the model can read, or too little memory.
            StoppedLearningError: a signal was received.
        """
        with _for_an_author(data):
            work = prepare_pairs(TrainingAsked(data, self.base, out, values=self.values), self.environ, self.listener)
            trained = train_pairs(work, self.listener)
        if trained.outcome is not None and trained.outcome.ended == "interrupted":
            raise StoppedLearningError(trained.outcome.signal)

    def margins(self, adapter: Path, pairs: Sequence[PreferencePair]) -> dict[str, tuple[float, float]]:
        """How much likelier base and tuned model find each chosen text, per token; overlong pairs are left out."""
        with quiet():
            base = open_base(self.base, self.environ)
            model, tokeniser = load(base)
            readable = prepared_pairs(tokeniser, pairs, dpo_settings(self.values), base.context)
            tuned = library("peft").PeftModel.from_pretrained(
                model.to(device_of("auto")), str(adapter), local_files_only=True
            )
            scored = score_pairs(tuned, readable.pairs, readable.rows)
        return {one.pair.id: one.token_margins for one in scored}


@contextmanager
def _for_an_author(data: Path) -> Iterator[None]:
    """Reword errors of a training for an author, without options and folders that `fabula learn` handles itself.

    Raises:
        UsageError: the training raised an error.
    """
    try:
        yield
    except UsageError as error:
        said = str(error).replace(str(data), "What you chose").replace(" and --fresh", "")
        said = said.replace(": make more with `fabula data preferences`.", f". {HOW}")
        if "are longer than" in said:
            said += (
                " With a larger --set sequence_tokens, the model reads longer texts, up to its limit, but needs "
                "more memory."
            )
        raise UsageError(said) from error


def dpo_settings(values: Mapping[str, Any]) -> Dpo:
    """The settings for small data, overridden by the given values.

    Raises:
        UnknownNameError: a setting is unknown.
        ConfigError: a value is invalid.
    """
    config: Dpo = with_values(Dpo.improved(), values, "training")
    return config


def needs_of(proposal: LearningProposal, environ: Mapping[str, str], listener: Listener) -> Needs:
    """The cost of one training; time and memory only if the packages for training are installed.

    Raises:
        UsageError: a setting is invalid, the base cannot be tuned, or there is too little memory.
    """
    train, development = _learnt(proposal.pairs)
    settings = dpo_settings(proposal.settings)
    if any(find_spec(package) is None for package in PACKAGES):
        return Needs(schedule_of(settings, len(train)).steps)
    with TemporaryDirectory(prefix="fabula-") as folder:
        data = Path(folder) / "data"
        _write_pairs(data, train, development)
        asked = TrainingAsked(data, proposal.base, Path(folder) / "adapter", values=proposal.settings)
        with _for_an_author(data):
            work = prepare_pairs(asked, environ, listener)
    return Needs(work.schedule.steps, work.seconds_needed, work.bytes_needed)


def trainer_for(proposal: LearningProposal, environ: Mapping[str, str], listener: Listener) -> Trainer:
    """The trainer for the base of the proposal.

    Raises:
        UsageError: a package for training is not installed, or a setting is invalid.
    """
    require_libraries(PACKAGES, WHAT)
    dpo_settings(proposal.settings)
    return PairTrainer(proposal.base, proposal.settings, environ, listener)


# the report -----------------------------------------------------------------------------------------------------------


def how(learned: Learned, found: HeldOutResult) -> str:
    """How the number was measured, in one or two sentences."""
    n, places = f"{found.n:,}", f"{found.units:,} {'place' if found.units == 1 else 'places'}"
    unread = int(learned.found.get("unread", 0))
    more = (
        f" {unread:,} {'pair was' if unread == 1 else 'pairs were'} too long for the model to read." if unread else ""
    )
    if learned.found.get("quick"):
        return f"{n} pairs from {places} were held out. The adapter has seen none of them.{more}"
    return (
        f"Each of {n} pairs from {places} was held out once and ranked by an adapter that had not seen it. For this, "
        f"{learned.found['trainings'] - 1} adapters were trained. The adapter itself was trained the same way "
        f"on all pairs, so the number describes the method of training.{more}"
    )


def report_rows(found: HeldOutResult) -> list[tuple[str, ...]]:
    """A row for each way of ranking: its share of pairs ranked correctly, and the tuned model's lead over it."""
    rows: list[tuple[str, ...]] = []
    for name, right in found.right.items():
        above = found.above.get(name)
        apart = "" if above is None else f"{percent(above, '+')} {_interval(above, '+')}".strip()
        rows.append((_named(name), percent(right), _interval(right), str(right.n), apart))
    return rows


_RIGHTLY: Final = "as you did"
HEAD: Final = ("ranked by", _RIGHTLY, "95 % interval", "n", "lead of the tuned model")


def report_text(learned: Learned, found: HeldOutResult) -> str:
    """The report as plain text."""
    rows = [HEAD, *report_rows(found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*found.sentences(_RIGHTLY), "", *lines, "", how(learned, found)]) + "\n"


def report_page(learned: Learned, found: HeldOutResult) -> str:
    """The report as a page with a picture."""
    rows: list[tuple[str, Scored]] = [(_named(name), scored) for name, scored in found.right.items()]
    apart: list[tuple[str, Scored]] = [(f"tuned - {_named(name)}", scored) for name, scored in found.above.items()]
    body = joined(
        bullets(found.sentences(_RIGHTLY)),
        figure(intervals_svg(rows, title="Share of held-out pairs ranked as the author ranked them")),
        figure(intervals_svg(apart, title="How much better the tuned model ranks pairs")),
        html_table(
            ("", "value", "95 % interval", "n"), [(name, *estimate_cells(one)) for name, one in (*rows, *apart)], (1, 3)
        ),
        paragraph(how(learned, found), faint=True),
    )
    whose = f" from {learned.author}" if learned.author else ""
    return page(f"What was learned{whose}", [Section("Held-out choices", body)], lead=f"{learned.base}, {learned.made}")


def _named(name: str) -> str:
    return "the tuned model" if name == TUNED else said(name)


def _interval(scored: Scored, sign: str = "") -> str:
    if not isinstance(scored, Estimate) or scored.low is None or scored.high is None:
        return ""
    return f"{scored.low:{sign}.0%} to {scored.high:{sign}.0%}"
