"""How much of what was planted in stories a check finds, what it finds besides, and what it asks.

    python -m benchmarks planted                                   # replays the recorded replies; asks nobody
    python -m benchmarks.planted --as NAME                         # one reader's alone, with every kind of error
    python -m benchmarks.planted --as NAME --play reader=FILE.py:FUNCTION --play verifier=FILE.py:FUNCTION
    python -m benchmarks.planted --as NAME --model openai:MODEL --stories a1,a3
    python -m benchmarks.planted --as NAME --model openai:MODEL --stories n100 --forms broken --set reading=windows

Every story is checked twice: with all its errors in it, and clean. `n100` and `n300` are long novels (`novels`). What
the roles replied is kept in one file for each reader and story, by the path of the call: replies alone, never a story
or a prompt. A call whose reply is there, given to this very prompt, is replayed; so a trial that was stopped goes on
where it was.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.novels import names as novel_names
from benchmarks.novels import novel
from benchmarks.table import Row, Table
from fabula.base.errors import FabulaError, ModelError, UsageError
from fabula.cli.asked import performers_of
from fabula.cli.options import Performers
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast, Program
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.evaluators.atlas.planted import broken
from fabula.measure.items import Item
from fabula.models.base import Capabilities, Reply, Usage
from fabula.models.budget import estimate_tokens, prompt_tokens
from fabula.project.casting import Environment, open_cast
from fabula.project.settings import Settings
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import count_of, share_of
from fabula.story import Scene, Story

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabula.engine.roles import Assignment
    from fabula.models.base import Model, OnText, Request

TITLE: Final = "planted errors found, false findings, and what a check asks"
EVALUATOR: Final = find("atlas")
REPLIES: Final = Path(__file__).parent / "replies" / "planted"
FORMS: Final = ("broken", "clean")
_BESIDE: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
_AT_ONCE: Final = 64
_DIGEST: Final = 12
_PER, _THOUSAND = 10_000, 1000
_RECALL, _FALSE, _DECOYS, _CALLS, _RIGHT = 0.9, 1.0, 0.05, 1.0, 0.5


@dataclass(frozen=True)
class Trial:
    """What is checked, and by whom.

    Attributes:
        name: of the reader, for its files.
        data: folder of the stories.
        stories: ids; where none is named all short ones, or those that the reader has replied to.
        forms: in which they are checked: with errors, or clean.
        replies: folder of the recorded replies.
        players: who plays the roles; `None` replays only.
        values: settings of the evaluator.
    """

    name: str
    data: Path
    stories: tuple[str, ...] = ()
    forms: tuple[str, ...] = FORMS
    replies: Path = REPLIES
    players: Settings | None = None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass
class Replies:
    """The recorded replies of one reader to one story.

    Attributes:
        data: as in the file: `values`, the settings of the check; `able` by role (what its performer can do, which
            shapes prompts); and by form and call the prompt's digest, the reply, and the tokens of both.
        stale: calls whose recorded reply was given to another prompt.
    """

    file: Path
    data: dict[str, Any] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, file: Path) -> Replies:
        """What the file holds; nothing where there is none."""
        return cls(file, json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {})

    def keep(self, form: str, call: str, entry: dict[str, Any]) -> None:
        """Add a reply, and write the file."""
        self.data.setdefault(form, {})[call] = entry
        self.file.parent.mkdir(parents=True, exist_ok=True)
        part = self.file.with_suffix(".part")
        part.write_text(json.dumps(self.data, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
        part.replace(self.file)


class Recorded:
    """A role's performer whose replies are kept and replayed. A `Model` like any other."""

    def __init__(self, replies: Replies, form: str, role: str, inner: Model | None, pool: ThreadPoolExecutor) -> None:
        self.replies, self.form, self.role, self.inner, self.pool = replies, form, role, inner, pool
        self.seen: Counter[str] = Counter()
        if inner is not None:
            can = inner.capabilities
            able = {"schema": can.schema, "context": can.context, "small": can.small}
            replies.data.setdefault("able", {})[role] = able
        able = replies.data.get("able", {}).get(role, {})
        self.capabilities = Capabilities(**able, parallel=_AT_ONCE)
        self.name = self.identity = f"recorded:{role}"

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The recorded reply, or a new one that is recorded.

        Raises:
            ModelError: there is none, and nobody plays the role.
        """
        del on_text
        call = request.path.partition("/")[2]
        self.seen[call] += 1
        call += f" ({self.seen[call]})" * (self.seen[call] > 1)
        digest = sha256("\0".join(one.content for one in request.messages).encode()).hexdigest()[:_DIGEST]
        entry = self.replies.data.get(self.form, {}).get(call)
        if entry is not None and entry["prompt"] != digest:
            self.replies.stale.append(f"{self.form}/{call}")
            entry = None if self.inner else entry
        if entry is None:
            entry = await self._new(request, digest)
            self.replies.keep(self.form, call, entry)
        prompt, reply = entry["tokens"]
        return Reply(entry["reply"], Usage(prompt=prompt, reply=reply), model=self.identity)

    async def _new(self, request: Request, digest: str) -> dict[str, Any]:
        inner = self.inner
        if inner is None:
            raise ModelError(f"Nothing is recorded for {self.form}/{request.path}, and nobody plays {self.role!r}.")
        if isinstance(inner, Program):  # it may wait for somebody; the others go on meanwhile
            loop = asyncio.get_running_loop()
            reply = await loop.run_in_executor(self.pool, lambda: asyncio.run(inner.ask(request)))
        else:
            reply = await inner.ask(request)
        tokens = [reply.usage.prompt or prompt_tokens(request), reply.usage.reply or estimate_tokens(reply.text)]
        return {"prompt": digest, "reply": reply.text, "tokens": tokens}

    async def close(self) -> None:
        """Close whom it stands for."""
        if self.inner is not None:
            await self.inner.close()


@dataclass(frozen=True)
class Outcome:
    """One check of one story in one form."""

    story: str
    form: str
    words: int
    details: dict[str, Any]
    tokens: tuple[tuple[int, int], ...]


async def outcomes(trial: Trial) -> tuple[list[Outcome], list[str]]:
    """All checks of a trial, and what could not be done.

    Raises:
        UsageError: there are no stories, or nothing is recorded for a reader that nobody plays.
    """
    stories = _stories(trial)
    done: list[Outcome] = []
    missed: list[str] = []

    async def one(data: dict[str, Any], form: str, replies: Replies) -> None:
        try:
            done.append(await _checked(trial, data, form, replies, pool))
        except FabulaError as error:
            missed.append(f"{data['id']}, {form}: {error}")

    kept = {one["id"]: Replies.read(trial.replies / trial.name / f"{one['id']}.json") for one in stories}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        async with asyncio.TaskGroup() as group:
            for data in stories:
                for form in trial.forms if trial.players else [f for f in FORMS if f in kept[data["id"]].data]:
                    group.create_task(one(data, form, kept[data["id"]]))
    missed += [f"{name}, {call}: given to another prompt" for name, own in kept.items() for call in own.stale]
    return sorted(done, key=lambda found: (found.story, found.form)), sorted(missed)


def _stories(trial: Trial) -> list[dict[str, Any]]:
    """The stories of a trial, as they lie in the ground truth."""
    there = trial.data / "planted"
    chosen = trial.stories
    if not chosen and trial.players:
        chosen = tuple(sorted(file.stem for file in there.glob("*.json")))
    if not chosen:
        chosen = tuple(sorted(file.stem for file in (trial.replies / trial.name).glob("*.json")))
    found = []
    for name in chosen:
        if name in novel_names():
            found.append(novel(name, trial.data))
        elif (there / f"{name}.json").is_file():
            found.append(json.loads((there / f"{name}.json").read_text(encoding="utf-8")))
        else:
            raise UsageError(
                f"There is no story {name!r} in {there}. Set FABULA_DATA to the folder of the ground truth."
            )
    if not found:
        raise UsageError(f"Nothing is recorded for the reader {trial.name!r} in {trial.replies}.")
    return found


async def _checked(
    trial: Trial, data: dict[str, Any], form: str, replies: Replies, pool: ThreadPoolExecutor
) -> Outcome:
    text = broken(data) if form == "broken" else data["text"]
    settings = trial.players
    values = trial.values
    if settings is None:
        values = {**replies.data.get("values", {}), **values}
    else:
        replies.data["values"] = values
    if settings is None:
        roles = {role: Recorded(replies, form, role, None, pool) for role in replies.data.get("able", {})}
        if not roles:
            raise UsageError(f"Nothing is recorded in {replies.file}.")
        assigned = {role: _assignment(model) for role, model in roles.items()}
        cast = Cast(next(iter(assigned.values())), assigned, known=EVALUATOR.roles)
    else:
        opened = open_cast(settings, EVALUATOR.roles, Environment(os.environ))
        assigned = {
            role: replace(opened.assignment(role), performer=Recorded(replies, form, role, _inner(opened, role), pool))
            for role in ("reader", "verifier")
        }
        cast = replace(opened, roles={**opened.roles, **assigned})
    with Journal() as journal, TemporaryDirectory() as folder:
        gold = Path(folder) / f"{data['id']}.json"
        gold.write_text(json.dumps(data), encoding="utf-8")
        config = EVALUATOR.config("improved", {**values, "gold": str(gold)})
        run = Run(RunContext(journal, SystemPrompts(EVALUATOR.prompt_folders("improved")), cast))
        report = await EVALUATOR.evaluate((Item(data["id"], Story("", (Scene("story", text),))),), run, config)
    (details,) = report.details["stories"]
    own = replies.data.get(form, {})
    tokens = tuple((entry["tokens"][0], entry["tokens"][1]) for entry in own.values())
    return Outcome(data["id"], form, details["words"], details, tokens)


def _assignment(model: Model) -> Assignment:
    return Cast.of(model).default


def _inner(cast: Cast, role: str) -> Model:
    return cast.assignment(role).performer


def table(found: Sequence[Outcome], missed: Sequence[str], name: str) -> Table:
    """The measures of one reader, with those of every kind of error."""
    notes = (*_about(found, name), *_NOTES, *(f"Missing: {one}" for one in missed))
    return Table("planted", TITLE, tuple(_rows(found, kinds=True)), notes)


_NOTES: Final = (
    "An error is found if a finding quotes some of the words put in (or their sentence, and the kinds agree).",
    "A finding on a clean twin counts as false also where it names a slip that the story itself has.",
    "Intervals take what is on one story together; those of a single story take each error alone.",
)


def _about(found: Sequence[Outcome], name: str) -> Iterator[str]:
    for form, what in (("broken", "stories with errors"), ("clean", "clean twins")):
        if own := [one for one in found if one.form == form]:
            yield f"{name}: {len(own)} {what}, {_words(own):,} words."


def _rows(found: Sequence[Outcome], *, kinds: bool) -> Iterator[Row]:
    hurt = [one for one in found if one.form == "broken"]
    calm = [one for one in found if one.form == "clean"]
    errors = [(one.story, error) for one in hurt for error in one.details["scoring"]["planted"]["errors"]]
    yield from _recalls(errors, kinds=kinds)
    yield from _false(hurt, calm)
    yield from _costs(found)


def _words(found: Iterable[Outcome]) -> int:
    return sum(one.words for one in found)


def _recalls(errors: Sequence[tuple[str, dict[str, Any]]], *, kinds: bool) -> Iterator[Row]:
    """`errors` are pairs of a story and one of its errors."""
    if not errors:
        return
    yield _share("planted errors found", [(story, bool(one["found"])) for story, one in errors], least=_RECALL)
    found = [(story, one) for story, one in errors if one["found"]]
    if found and kinds:
        yield _share("of these, the kind agrees", [(story, one["kind_agrees"]) for story, one in found])
    for field_, word in (("needs", "needs "), ("kind", "")) if kinds else ():
        for value in sorted({one[field_] for _, one in errors}):
            own = [(story, bool(one["found"])) for story, one in errors if one[field_] == value]
            yield _share(f"found, {word}{value.replace('_', ' ')}", own)


def _share(
    what: str, answers: Sequence[tuple[str, bool]], *, least: float | None = None, most: float | None = None
) -> Row:
    """A share of answers, each with its story; what is on one story is taken together, where there are some."""
    values = [float(one) for _, one in answers]
    stories = [story for story, _ in answers]
    shared = share_of(values, stories if len(set(stories)) > 1 else None)
    each = f"{sum(values):.0f} of {len(values)}"
    if isinstance(shared, Estimate) and shared.low is not None and shared.high is not None:
        each += f", 95 % {shared.low:.2f} to {shared.high:.2f}"
    return Row(what, (sum(values) / len(values),), "", each, least=least, most=most)


def _false(hurt: Sequence[Outcome], calm: Sequence[Outcome]) -> Iterator[Row]:
    for name, group, most in (("clean twins", calm, _FALSE), ("broken stories", hurt, None)):
        if group:
            counts = [float(len(one.details["scoring"]["planted"]["false"])) for one in group]
            rate = count_of(counts, name, _PER / _words(group))
            each = f"{sum(counts):.0f} in {_words(group):,} words"
            if rate.low is not None and rate.high is not None:
                each += f", 95 % {rate.low:.2f} to {rate.high:.2f}"
            yield Row(f"other findings per 10,000 words, {name}", (rate.value,), "", each, most=most)
    scores = [(one.story, one.details["scoring"]["planted"]) for one in (*hurt, *calm)]
    decoys = [(story, n in score["decoys_called_errors"]) for story, score in scores for n in range(score["decoys"])]
    if decoys:
        yield _share("decoys called errors", decoys, most=_DECOYS)
    suspected = [
        (one.story, n < one.details["scoring"]["planted"]["suspicions_that_are_errors"])
        for one in hurt
        for n in range(one.details["scoring"]["planted"]["suspicions"])
    ]
    if suspected:
        yield _share("suspicions in broken stories that are errors", suspected, least=_RIGHT)
    controls = [
        (one.story, n < one.details["counts"].get("controls_called_errors", 0))
        for one in (*hurt, *calm)
        for n in range(one.details["counts"].get("controls", 0))
    ]
    if controls:
        yield _share("planted suspicions called errors", controls)


def _costs(found: Sequence[Outcome]) -> Iterator[Row]:
    if not found:
        return
    words = _words(found) / _THOUSAND
    calls = sum(len(one.tokens) for one in found)
    prompts, replies = (sum(pair[n] for one in found for pair in one.tokens) for n in (0, 1))
    yield Row("calls per 1,000 words", (calls / words,), "", f"{calls} calls", most=_CALLS)
    yield Row("prompt tokens per 1,000 words", (prompts / words,), "tokens", f"{prompts:,} tokens")
    yield Row("reply tokens per 1,000 words", (replies / words,), "tokens", f"{replies:,} tokens")


def bench(trial: Trial | None = None) -> Table:
    """The measures of a trial; of the recorded replies of all readers, where none is given.

    Raises:
        UsageError: nothing is recorded, or the stories are not there.
    """
    if trial is not None:
        return table(*asyncio.run(outcomes(trial)), trial.name)
    known = sorted(one.name for one in REPLIES.iterdir() if one.is_dir()) if REPLIES.is_dir() else []
    if not known:
        raise UsageError(f"No replies are recorded in {REPLIES}. Take some with `python -m benchmarks.planted`.")
    rows: list[Row] = []
    notes: list[str] = []
    for name in known:
        found, missed = asyncio.run(outcomes(Trial(name, _folder())))
        rows += [replace(row, what=f"{name}: {row.what}") for row in _rows(found, kinds=False)]
        notes += [*_about(found, name), *(f"{name} lacks {one}" for one in missed)]
    return Table("planted", TITLE, tuple(rows), (*notes, *_NOTES))


def _folder() -> Path:
    return Path(os.environ.get("FABULA_DATA") or _BESIDE)


def main(words: Sequence[str] | None = None) -> int:
    """Take or replay a trial, and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__.partition("\n")[0])
    parser.add_argument("--as", dest="name", required=True, metavar="NAME", help="the reader's name, for its files")
    parser.add_argument("--play", action="append", metavar="ROLE=FILE.py:FUNCTION", help="who plays reader, verifier")
    parser.add_argument("--model", action="append", metavar="[ROLE=]SPEC", help="model of all roles, or of one")
    parser.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="a setting of the check")
    parser.add_argument("--stories", default="", metavar="ID,ID", help="which; all if none is named")
    parser.add_argument("--forms", default=",".join(FORMS), metavar="FORM,FORM", help="with errors, clean, or both")
    parser.add_argument("--data", type=Path, default=_folder(), metavar="DIR", help="folder of the ground truth")
    parser.add_argument("--replies", type=Path, default=REPLIES, metavar="DIR", help="where replies are kept")
    parser.add_argument("--json", action="store_true", help="print every story's findings as JSON")
    asked = parser.parse_args(words)
    players = None
    if asked.play or asked.model:
        players = Settings().with_(performers_of(Performers(play=asked.play, model=asked.model), Settings()))
    values = dict(one.partition("=")[::2] for one in asked.set)
    chosen = tuple(one for one in asked.stories.split(",") if one)
    forms = tuple(one for one in FORMS if one in asked.forms.split(","))
    trial = Trial(asked.name, asked.data, chosen, forms, asked.replies, players, values)
    try:
        found, missed = asyncio.run(outcomes(trial))
    except FabulaError as error:
        print(error, file=sys.stderr)
        return 1
    if asked.json:
        data = [{"story": one.story, "form": one.form, **one.details} for one in found]
        print(json.dumps({"missed": missed, "checks": data}, indent=1, ensure_ascii=False))
    else:
        print(table(found, missed, trial.name).markdown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
