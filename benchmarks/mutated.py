"""What broken replies do: every system and evaluator on replies of a capable model that were damaged at random.

A round runs one case of one method with a model that damages some of its replies, in a folder of its own. Then the same
project is run again with good replies, and all that was written is looked through.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.app.item_files import item_of
from fabula.app.writing import Options, Supplied, write_in
from fabula.base.errors import FabulaError, JournalMissError, ModelError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import evaluators
from fabula.models.budget import Budget
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import Brief, Story
from fabula.systems import systems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fabula.models.base import OnText, Reply, Request

TITLE: Final = "what broken replies do"
REPLIES: Final = 10_000
_SHARE: Final = 0.25  # of the replies of a round that are damaged
_MEGABYTE: Final = 1_000_000
_LARGE_ROUNDS: Final = 25  # of so many rounds, one has a single reply of 1 MB
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SIGNS: Final = (
    *(
        "\x00",
        "\x07",
        "\x1b[31m",
        "\x1b]0;title\x07",
        "\x1bP1;2q#0\x1b\\",
        "\x85",
        "\x9b1m",
        "\x0c",
        "\u202e",
        "\u2067",
    ),
    *("\u2028", "\u200b", "\ufeff", "\ud800", "\udfff", "\ue0fb", "\U000e0041", "\u200d"),
)
_TEXTS: Final = (
    *(
        "",
        " ",
        "\n\n\n",
        "...",
        "null",
        "[]",
        "{}",
        '""',
        "NaN",
        "[[[[",
        "1e999",
        "9" * 500,
        "Yes",
        "A",
        "EOD",
        "**END**",
    ),
    *(
        "I'm sorry, but I can't help with that.",
        "Die Lampe brennt, und niemand kommt.",
        "灯塔里没有人。他来了。",
        "# A heading",
    ),
    *(
        "<!-- scene: climax -->",
        "* * *\n<!-- scene: x -->\nMore.",
        "<html><body><p>Hi</p></body></html>",
        "| a | b |\n|---|",
    ),
    *('{"a": {"b": [1, 2, {"c": null}]}}', "Sure! Here is the story you asked for:", "<think>never closed"),
)
_LARGE: Final = (
    *(
        " ",
        "\n",
        " \n",
        "\n\n ",
        '"',
        "'",
        "[",
        "{",
        "(",
        "*",
        "_",
        "a",
        "A",
        "7",
        ".",
        "-",
        "#",
        "a ",
        "Aa ",
        "A a. ",
        "- a\n",
    ),
    *(
        '{"a":',
        '[{"a": "',
        '"a": 1, ',
        "[Mara: ",
        "Mara: a\n",
        "字",
        "。",
        "\x1b",
        "\x90",
        "EOD ",
        "\\",
        "<think>",
        "```\n",
        "1. a\n",
    ),
)


def damaged(text: str, rng: random.Random) -> str:
    """`text` as a broken model, server or network would give it."""
    return rng.choice(_WAYS)(text, rng)


def _place(text: str, rng: random.Random) -> int:
    return rng.randint(0, len(text))


def _cut(text: str, rng: random.Random) -> str:
    return text[: _place(text, rng)]


def _doubled(text: str, rng: random.Random) -> str:
    at, to = sorted((_place(text, rng), _place(text, rng)))
    return text[:to] + text[at:to] * rng.choice((1, 1, 3, 40)) + text[to:]


def _swapped(text: str, rng: random.Random) -> str:
    lines = text.split("\n") if "\n" in text else text.split(" ")
    rng.shuffle(lines)
    return ("\n" if "\n" in text else " ").join(lines)


def _with_signs(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 6)):
        at = _place(text, rng)
        text = text[:at] + rng.choice(_SIGNS) + text[at:]
    return text


def _with_escapes(text: str, rng: random.Random) -> str:
    """Signs inside the strings of JSON, as escapes."""
    for _ in range(rng.randint(1, 6)):
        places = [found.end() for found in re.finditer(r'": ?"', text)] or [_place(text, rng)]
        at = rng.choice(places)
        text = text[:at] + json.dumps(rng.choice(_SIGNS))[1:-1] + text[at:]
    return text


def _with_text(text: str, rng: random.Random) -> str:
    at = _place(text, rng)
    return f"{text[:at]}\n{rng.choice(_TEXTS)}\n{text[at:]}"


def _other_types(text: str, rng: random.Random) -> str:
    try:
        data = json.loads(text)
    except ValueError:
        return json.dumps({"text": text})
    wrong: Any = rng.choice(
        (None, True, -1, 1e308, [], {}, [[]], "\x00", "", " ", "\ud800", [None], {"a": {}}, "x" * 5000)
    )
    return json.dumps(_replaced(data, wrong, rng))


def _replaced(data: Any, wrong: Any, rng: random.Random) -> Any:  # noqa: ANN401 - JSON data of any shape
    if isinstance(data, (dict, list)) and data and rng.random() < 0.8:  # mostly deep inside
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        key = rng.choice(keys)
        data[key] = _replaced(data[key], wrong, rng)
        return data
    return wrong


def _nested(text: str, rng: random.Random) -> str:
    deep = rng.choice((50, 100, 2000))
    return '{"a": ' * deep + json.dumps(text) + "}" * rng.choice((deep, deep - 1, 0))


_WAYS: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    _cut,
    _doubled,
    _swapped,
    _with_signs,
    _with_escapes,
    _with_escapes,
    _with_text,
    _other_types,
    _nested,
    lambda _, rng: rng.choice(_TEXTS),
    lambda text, rng: f"```{rng.choice(('json', '', 'python'))}\n{text}\n{rng.choice(('```', ''))}",
    lambda text, rng: text.replace('"', rng.choice(("'", "“", "\\"))),
    lambda text, rng: text + rng.choice(_LARGE) * rng.choice((10, 300)),
)


class Damaging(ScriptedModel):
    """A scripted model some of whose replies are damaged; what it does depends on its seed and on the call alone."""

    def __init__(self, script: Mapping[str, Any], seed: int, *, large: bool) -> None:
        super().__init__(script, name="scripted")
        self._seed, self._large = seed, large
        self.damaged = 0

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The scripted reply, or what is left of it."""
        reply = await super().ask(request, on_text)
        rng = random.Random(f"{self._seed} {request.path} {len(self.asked)}")  # noqa: S311 - no secrets
        if self._large and not self.damaged:
            self.damaged += 1
            seed = rng.choice(_LARGE)
            return self._counted(request, (reply.text + seed * (_MEGABYTE // len(seed)))[:_MEGABYTE])
        if self._large or rng.random() > _SHARE:
            return reply
        self.damaged += 1
        return self._counted(request, damaged(reply.text, rng))


@dataclass
class Tally:
    """What came of all rounds."""

    replies: int = 0
    untyped: Counter[str] = field(default_factory=Counter)
    control: Counter[str] = field(default_factory=Counter)
    shut: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    large: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A method with a preset and settings, and its script."""

    method: Any
    preset: str
    config: dict[str, Any]
    script: dict[str, Any] = field(repr=False)
    brief: str = ""
    items: tuple[Any, ...] = field(repr=False, default=())

    @property
    def name(self) -> str:
        """Method and preset."""
        return f"{self.method.name} {self.preset} {self.config}"


def cases() -> list[Case]:
    """Every case of every system and evaluator."""
    found: list[Case] = []
    for method in (*systems().values(), *evaluators().values()):
        script = tomllib.loads((method.folder / "script.toml").read_text(encoding="utf-8"))
        items = tuple(item_of(item, method.name) for item in script.get("items", ()))
        for case in script["cases"]:
            replies = script.get("replies", {}) | case.get("replies", {})
            brief = case.get("brief", script.get("brief", ""))
            found.append(Case(method, case["preset"], case.get("config", {}), replies, brief, items))
    return [case for case in found if case.script]


async def _write(case: Case, folder: Path, model: ScriptedModel) -> None:
    # ruff: noqa: ASYNC240 - nothing else waits meanwhile
    settings = Settings(system=case.method.name, preset=case.preset, config=case.config)  # type: ignore[arg-type] # a case's
    project = ProjectFolder.open(folder) if folder.exists() else ProjectFolder.create(folder, Brief.parse(case.brief))
    cast = Cast.of(model)
    await write_in(project, settings, Options(), Supplied(cast, Budget()))


async def _measure(case: Case, folder: Path, model: ScriptedModel) -> None:
    folder.mkdir(exist_ok=True)
    with Journal(folder / "journal.db") as journal:
        context = RunContext(
            journal, SystemPrompts(case.method.prompt_folders(case.preset), common=PROMPTS), Cast.of(model)
        )
        with context.recording_failures():
            report = await case.method.evaluate(case.items, Run(context), case.method.config(case.preset, case.config))
    (folder / "report.txt").write_text(str(report), encoding="utf-8", errors="surrogatepass")


def play_round(case: Case, seed: int, tally: Tally, *, large: bool = False) -> None:
    """One round, counted in `tally`."""
    run = _measure if case.items else _write
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp) / "project"
        model = Damaging(case.script, seed, large=large)
        start = time.process_time()
        _tried(case, f"{seed}{' large' if large else ''}", tally.untyped, lambda: asyncio.run(run(case, folder, model)))
        taken = time.process_time() - start
        tally.replies += model.damaged
        tally.seconds.append(taken / max(len(model.asked), 1))
        if large:
            tally.large[f"{case.name} {seed}"] = taken
        for name, text in _written(folder):
            if found := _CONTROL.search(text):
                tally.control[f"{case.name} {seed} {name}: {found[0]!r}"] += 1
        good = ScriptedModel(case.script, name="scripted")
        _tried(case, str(seed), tally.shut, lambda: asyncio.run(run(case, folder, good)), again=True)
        if not case.items and folder.exists():
            _tried(case, f"{seed} opened", tally.shut, lambda: _opened(folder), again=True)


def _opened(folder: Path) -> None:
    project = ProjectFolder.open(folder)
    with project.journal as journal:
        if changes := project.changes(journal):
            raise AssertionError(f"edits that nobody made: {[change.file for change in changes]}")
    if project.story_file.exists():
        Story.parse(project.story_file.read_text(encoding="utf-8"))


def _tried(case: Case, what: str, wrong: Counter[str], work: Callable[[], None], *, again: bool = False) -> None:
    """Do `work`; count in `wrong` what is no error of ours and, done `again`, what keeps a project shut."""
    try:
        work()
    except FabulaError as error:
        said = str(error)
        going_on = isinstance(error, (ModelError, JournalMissError)) or "again" in said or "anew" in said
        if again and not going_on:
            wrong[f"{case.name} {what}: {type(error).__name__}: {str(error)[:300]}"] += 1
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        wrong[f"{case.name} {what}: {type(error).__name__}: {str(error)[:300]}"] += 1


def _written(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.rglob("*")):
        if file.is_file() and ".db" not in file.name and file.name != "lock":
            yield str(file.relative_to(folder)), file.read_text(encoding="utf-8", errors="surrogateescape")


def tallied(replies: int, seed: int = 1) -> Tally:
    """What came of rounds over all cases in turn, until so many replies were damaged."""
    tally = Tally()
    for number, case in enumerate(cycle(cases()), seed):
        if tally.replies >= replies:
            return tally
        play_round(case, number, tally, large=number % _LARGE_ROUNDS == 0)
    return tally


def bench(replies: int = REPLIES) -> Table:
    """The table."""
    tally = tallied(replies)
    each = f"{tally.replies:,} damaged replies"
    for wrong in (tally.untyped, tally.control, tally.shut):
        for said in wrong:
            print(f"  {said}")
    rows = (
        Row("errors that are none of fabula's", (sum(tally.untyped.values()),), each=each, most=0),
        Row("files with control characters", (sum(tally.control.values()),), each=each, most=0),
        Row("projects that cannot be opened or gone on with", (sum(tally.shut.values()),), each=each, most=0),
        Row("CPU a call", tuple(tally.seconds), "s", each="round", most=1.0),
        Row("CPU of a run with one reply of 1 MB, the most", (max(tally.large.values(), default=0.0),), "s", most=1.0),
    )
    return Table("mutated", TITLE, rows)
