"""Interrupts commands at every rename, fsync, commit and note, and holds what comes of it against the unbroken run.

Each command runs in a process of its own (a fork), with a scripted capable author in every role, whose replies are a
function of its prompts. At the n-th moment it is killed, or the disk is full from then on. Then the next command runs,
and files, decisions and texts have to be those of the unbroken run; only calls that were in flight may be made again.

    PYTHONPATH=tests/support python tests/support/interrupting.py --systems agents-room --operations update --full
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app import writing
from fabula.cli.main import main
from fabula.engine.roles import Cast
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.systems import find
from harness import Case, cases
from schemas import example

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from fabula.models.base import Json, Request

CHOSEN: Final = {
    "agents-room": "agents-room-improved-",
    "character-simulation": "character-simulation-improved-max_turns=2-planned",
    "dramatron": "dramatron-improved-mode=story-planned",
    "end-to-end": "end-to-end-improved-",
    "ibsen": "ibsen-improved-min_steps=2,max_steps=2",
    "magnet": "magnet-improved-paragraph_words=40,chapter_words=30",
    "snap": "snap-improved-sentences=4,turns_per_step=2,samples=2,candidates=2,player=Tobias,npc=Mara",
    "vanilla": "vanilla-improved-",
}
OPERATIONS: Final = ("write", "update", "edit", "undo", "pin", "retake", "continue", "continued", "import")
_MANUSCRIPT: Final = "# Low water\n\nMara waits for the ferry.\n\n# High water\n\nThe ferry does not come.\n"
MOMENTS: Final = ("rename", "fsync", "commit", "note")
_KILLED, _UNTYPED = 99, 70
_NAMES: Final = frozenset(
    ("name", "names", "speaker", "character", "characters", "title", "place", "places", "location", "key")
)
_WORDS: Final = ("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "night", "oil")
_WANTED: Final = re.compile(r"between ([\d,]+) and ([\d,]+)|([\d,]+) (?:to|and) ([\d,]+) words|about ([\d,]+) words")


# who plays every role -------------------------------------------------------------------------------------------------


class Author(ScriptedModel):
    """Prose of about the length that is asked for; a function of the prompt. Logs the path of each call it answers."""

    def __init__(self, log: Path) -> None:
        super().__init__(self.answer, capabilities=Capabilities(schema=True, choices=True, context=200_000))
        self.log = log

    def answer(self, request: Request) -> str:
        shown = [request.path, request.sampling.seed, *(message.content for message in request.messages)]
        draw = random.Random(sha256(repr(shown).encode()).digest())  # noqa: S311 - the same prompt, the same text
        with self.log.open("a", encoding="utf-8") as file:
            file.write(f"{request.path}\n")
        if request.choices:
            return draw.choice(request.choices)
        if request.schema is not None:
            return json.dumps(_filled(draw, request.schema, example(request.schema, request.path)))
        found = _WANTED.findall(request.messages[-1].content)
        numbers = [int(number.replace(",", "")) for number in found[-1] if number] if found else [60]
        return _prose(draw, min(sum(numbers) // len(numbers), 400))


def _prose(draw: random.Random, words: int) -> str:
    sentences: list[str] = []
    while len(" ".join(sentences).split()) < words:
        picked = draw.sample(_WORDS, 5)
        sentences.append(
            f"The {picked[0]} by the {picked[1]} took {draw.randrange(2, 999)} {picked[2]}s from {picked[3]}."
        )
    return " ".join(sentences)


def _filled(draw: random.Random, schema: Json, value: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON data
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return {key: _filled(draw, inner.get(key, {}), part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(draw, schema.get("items", {}), part, name) for part in value]
    bound = {"enum", "const", "pattern", "format", "maxLength"} & schema.keys()
    return _prose(draw, 8) if isinstance(value, str) and name not in _NAMES and not bound else value


# moments --------------------------------------------------------------------------------------------------------------


@dataclass
class Moments:
    """Counts the moments of this process, and interrupts it just before one of them, or in the midst of a note."""

    at: int = 0
    full: bool = False
    passed: list[str] = field(default_factory=list)

    def reached(self, kind: str) -> None:
        self.passed.append(kind)
        if self.at and len(self.passed) == self.at and not self.full:
            os._exit(_KILLED)
        if self.at and len(self.passed) >= self.at and self.full:
            if kind == "commit":
                raise sqlite3.OperationalError("database or disk is full")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def watch(self) -> None:
        """From here on every moment of this process counts."""
        moments, rename, fsync, write, connect = self, os.replace, os.fsync, os.write, sqlite3.connect

        class Watched(sqlite3.Connection):
            def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # noqa: ANN401 - as in sqlite3
                if sql == "COMMIT":
                    moments.reached("commit")
                return super().execute(sql, *values)

        def replaced(*names: Any, **more: Any) -> None:  # noqa: ANN401 - as in os
            self.reached("rename")
            rename(*names, **more)

        def synced(handle: int) -> None:
            self.reached("fsync")
            fsync(handle)

        def written(handle: int, data: bytes) -> int:
            if self.at == len(self.passed) + 1 and not self.full:
                write(handle, data[: len(data) // 2])  # a line that is cut off
            self.reached("note")
            return write(handle, data)

        for name, function in {"replace": replaced, "fsync": synced, "write": written}.items():
            setattr(os, name, function)
        sqlite3.connect = lambda *args, **more: connect(*args, **{"factory": Watched, **more})


# commands in processes of their own -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a command ended, and which moments it passed."""

    code: int
    moments: list[str]


def run(commands: list[list[str]], log: Path, moments: Moments | None = None) -> Ran:
    """Commands, one after the other, in a forked process."""
    moments = moments or Moments()
    told = log.with_name(f"{log.name}.moments")
    told.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        code = _UNTYPED
        try:
            quiet = os.open(log.with_name(f"{log.name}.said"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            author = Author(log)
            setattr(writing, "open_cast", lambda *_: Cast.of(author))  # noqa: B010 - in this process alone
            moments.watch()
            code = next((code for code in (main(command) for command in commands) if code), 0)
            told.write_text(json.dumps(moments.passed), encoding="utf-8")
        except BaseException:  # noqa: BLE001 - whatever it is, it is no error of ours
            traceback.print_exc()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Ran(code, json.loads(told.read_text(encoding="utf-8")) if told.exists() else [])


# what has to be the same ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """What a project holds: its files, what a person decided, and the standing texts."""

    files: dict[str, str]
    decisions: Sequence[tuple[str, str, str | None]]
    texts: dict[str, str | None]

    @classmethod
    def of(cls, folder: Path) -> State:
        files = {
            str(path.relative_to(folder)): path.read_text(encoding="utf-8")
            for path in sorted(folder.rglob("*"))
            if path.is_file() and (".fabula" not in path.parts or path.name.endswith(".tmp"))
            if path.suffix != ".db"
        }
        with ProjectFolder.open(folder).journal as journal:
            decisions = [(one.path, one.kind, one.text) for one in journal.decisions.find()]
            return cls(files, decisions, {path: journal.artefacts.newest(path) for path in journal.artefacts.places()})

    def differs(self, other: State) -> str:
        """In what another state differs; empty where it does not."""
        names = sorted(n for n in self.files | other.files if self.files.get(n) != other.files.get(n))
        texts = sorted(n for n in self.texts | other.texts if self.texts.get(n) != other.texts.get(n))
        decisions = "" if self.decisions == other.decisions else f"decisions {[d[:2] for d in self.decisions]}"
        return "; ".join(filter(None, [", ".join(names), f"texts {', '.join(texts)}" if texts else "", decisions]))


def calls_in(folder: Path) -> Counter[str]:
    """The paths of the recorded calls."""
    file = folder / ".fabula" / "journal.db"
    if not file.exists():
        return Counter()
    with ProjectFolder.open(folder).journal as journal:
        return Counter(call.path for call in journal.calls.find(prompts=True))


def answered(log: Path) -> Counter[str]:
    return Counter(log.read_text(encoding="utf-8").split()) if log.exists() else Counter()


# one system -----------------------------------------------------------------------------------------------------------


def case_of(system: str) -> Case:
    return next(case for case in cases() if case.id.startswith(CHOSEN[system]))


def made(case: Case, folder: Path) -> Path:
    """A new project of a case, with its author's plan and texts."""
    script = case.system.folder / "script.toml"
    settings = {"system": case.system.name, "config": case.config, "model": f"scripted:{script}"}
    project = ProjectFolder.create(folder, case.brief, settings)
    if case.plan:
        project.write_given("plan/plan.yaml", case.plan)
    with project.journal as journal:
        for artefact, text in case.edits.items():
            journal.decisions.add(artefact, "edit", text)
    return folder


@dataclass(frozen=True)
class Operation:
    """What a person does with a written project: first things that are never interrupted, then the command that is."""

    name: str
    change: Callable[[Path], None] | None
    before: list[list[str]]
    command: list[str]


def operation(name: str, folder: Path) -> Operation:
    """An operation on a project, on an artefact that prose can stand for, and that others are written from."""
    if name in ("write", "import"):
        return Operation(name, None, [], [name])
    with ProjectFolder.open(folder).journal as journal:
        places = journal.artefacts.places()
        kept = {path: journal.artefacts.newest(path) or "" for path in places}
    prose = [path for path, file in places.items() if file.endswith(".md") and path != "order"]
    path = max(
        [path for path in ("plan", "personas") if path in kept] or prose,
        key=lambda path: (places[path].startswith("plan/"), len(kept[path])),
    )
    parts = [p for p, file in places.items() if file.startswith(("story/", "drafts/")) and file.endswith(".md")]
    part = parts[len(parts) // 2] if parts else path
    new = _one_word_changed(kept[path])

    def changed(copy: Path) -> None:
        (copy / places[path]).write_text(new + "\n", encoding="utf-8")

    edit = ["edit", part, "--text", _one_word_changed(kept[part])]
    return {
        "update": Operation(name, changed, [], ["update", "--yes"]),
        "edit": Operation(name, None, [], edit),
        "undo": Operation(name, None, [edit, ["update", "--yes"]], ["undo"]),
        "pin": Operation(name, None, [], ["text", "pin", part]),
        "retake": Operation(name, None, [], ["text", "retake", part]),
        "continue": Operation(name, None, [], ["text", "continue"]),
        "continued": Operation(name, None, [["text", "continue"]], ["update", "--yes"]),
    }[name]


def _one_word_changed(text: str) -> str:
    """`text` with another article in its longest line that has one."""
    lines = [line for line in text.split("\n") if " the " in line.lower()]
    longest = max(lines or text.split("\n"), key=len)
    changed = re.sub(r"\b[Tt]he\b", "that", longest, count=1)
    return text.replace(longest, changed if changed != longest else f"{longest} Mara waits.")


@dataclass
class Sweep:
    """One operation on one system, interrupted at its moments, and what ended otherwise than unbroken."""

    folder: Path
    system: str
    name: str
    full: bool
    tried: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __call__(self, wanted: Callable[[int], Sequence[int]]) -> None:
        """Interrupt at those moments that are `wanted` of so many."""
        kind = {"write": "new", "import": "empty"}.get(self.name, "written")
        base, log = self.folder / kind, self.folder / "base.log"
        if kind == "empty":
            base.mkdir()
        elif not base.exists():
            made(case_of(self.system), base)
            if kind == "written":
                self._must([self._in(base, ["write"])], log)
        todo = operation(self.name, base)
        if todo.before:
            base = shutil.copytree(base, self.folder / self.name)
            self._must([self._in(base, command) for command in todo.before], log)
        then = [self.name] if self.name in ("write", "import") else ["update", "--yes"]
        ends: list[State] = []
        numbers: list[Counter[str]] = []
        moments: list[str] = []
        for commands in [[todo.command, then]] + [[then]] * (todo.command != then):  # done; or not even begun
            copy, own = self._copy(base, todo), self.folder / "unbroken.log"
            own.unlink(missing_ok=True)
            for command in commands:
                passed = self._must([self._in(copy, command)], own).moments
                moments = moments or passed
            ends.append(State.of(copy))
            numbers.append(answered(own))
        for n in wanted(len(moments)):
            self._interrupted(base, todo, then, n, moments[n - 1], ends, numbers)

    def _interrupted(
        self,
        base: Path,
        todo: Operation,
        then: list[str],
        n: int,
        kind: str,
        ends: list[State],
        numbers: list[Counter[str]],
    ) -> None:
        copy, log = self._copy(base, todo), self.folder / "own.log"
        for old in self.folder.glob("own.log*"):
            old.unlink()
        before = calls_in(copy)
        ran = run([self._in(copy, todo.command)], log, Moments(n, self.full))
        self.tried[kind] += 1
        where = f"{self.system} {self.name} {'full' if self.full else 'killed'} at {n} ({kind}): "
        if ran.code != (1 if self.full else _KILLED) and not (self.full and ran.code == 0):
            self.wrong.append(f"{where}ended with {ran.code}: {self._said(log)}")
        in_flight = answered(log) - (calls_in(copy) - before)
        code = run([self._in(copy, then)], log).code
        if code:
            self.wrong.append(f"{where}the next command ended with {code}: {self._said(log)}")
            return
        state = State.of(copy)
        differences = [state.differs(end) for end in ends]
        if all(differences):
            self.wrong.append(f"{where}{differences[0]}")
            return
        repeated = answered(log) - numbers[differences.index("")] - in_flight
        if repeated:
            self.wrong.append(f"{where}asked again {sorted(repeated)}")

    def _must(self, commands: list[list[str]], log: Path) -> Ran:
        ran = run(commands, log)
        if ran.code:
            raise RuntimeError(f"{self.system} {self.name}: {commands} ended with {ran.code}: {self._said(log)}")
        return ran

    @staticmethod
    def _said(log: Path) -> str:
        return log.with_name(f"{log.name}.said").read_text(encoding="utf-8")[-400:]

    def _in(self, folder: Path, command: list[str]) -> list[str]:
        if command == ["import"]:
            manuscript = self.folder / "manuscript.md"
            manuscript.write_text(_MANUSCRIPT, encoding="utf-8")
            return ["import", str(manuscript), "--out", str(folder), "--system", self.system, "--quiet"]
        return [command[0], *command[1:], "-C", str(folder), "--quiet"]

    def _copy(self, base: Path, todo: Operation) -> Path:
        copy = self.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(base, copy)
        if todo.change is not None:
            todo.change(copy)
        return copy


def swept(
    systems: Sequence[str], operations: Sequence[str], wanted: Callable[[int], Sequence[int]], *, full: bool
) -> Iterator[Sweep]:
    """The sweeps of systems and operations, each done."""
    for system in systems:
        with tempfile.TemporaryDirectory(prefix="fabula-") as folder:
            for name in operations:
                if name == "import" and not find(system).takes_manuscript:
                    continue
                sweep = Sweep(Path(folder), system, name, full)
                sweep(wanted)
                yield sweep


def main_of_sweeps() -> int:
    """The sweeps that the command line names; 1 where anything ended otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", nargs="*", default=list(CHOSEN))
    parser.add_argument("--operations", nargs="*", default=list(OPERATIONS))
    parser.add_argument("--most", type=int, default=0, help="moments of an operation, spread over it; default: all")
    parser.add_argument("--full", action="store_true", help="the disk is full from the moment on; default: a kill")
    given = parser.parse_args()
    wrong: list[str] = []
    draw = random.Random(",".join(given.systems))  # noqa: S311 - the same in every run

    def wanted(count: int) -> list[int]:
        return sorted(draw.sample(range(1, count + 1), min(given.most or count, count)))

    for sweep in swept(given.systems, given.operations, wanted, full=given.full):
        print(sweep.system, sweep.name, dict(sweep.tried), f"{len(sweep.wrong)} otherwise", flush=True)  # noqa: T201 - a program
        wrong += sweep.wrong
        for line in sweep.wrong:
            print("   ", line, flush=True)  # noqa: T201 - a program
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main_of_sweeps())
