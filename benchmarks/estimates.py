"""What `fabula write --dry-run` announces, beside what writing takes: every system, four lengths, two kinds of writer.

The models are made up, but write as capable ones do: whole sentences, readable forms, sensible choices. A *terse* one
gives 85 % of the words that it is asked for and stops; a *generous* one gives 115 %. Each has two profiles: a small
window with short replies, and a large window. Neither is asked anything by the estimate, which knows of them what it
knows of any model: its window and the most tokens of a reply.
"""

from __future__ import annotations

import asyncio
import csv
import json
import random
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.app.writing import rehearsed
from fabula.base.errors import ContextLengthError, ReplyError, UsageError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Reply, Usage
from fabula.models.budget import estimate_tokens, prompt_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find, systems

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.engine.context import Mode
    from fabula.models.base import Json, Request
    from fabula.story import Story
    from fabula.systems import System

TITLE: Final = "Estimate against use"
LENGTHS: Final = (500, 2_000, 20_000, 80_000)
_OFF: Final = 25.0  # percent that an estimate may miss
_PERCENT: Final = 100.0
_PEOPLE: Final = ("Mara", "Tobias")
_BRIEF: Final = (
    "Write a story of about {} words about Mara, who keeps a lighthouse, and the boy Tobias, who waits for his "
    "father's boat. It ends with hope."
)
TALKS: Final = frozenset({"snap", "vanilla"})  # systems in which two people talk through a narrative
VOCABULARY: Final = """
lamp harbour letter window morning stair cold bread answer shoulder keeper winter boat rope silence kettle gull door
paper light stone evening father ladder coat table whisper storm sister bell shadow corner hand page tide carried waited
opened remembered listened turned counted folded burned followed promised looked rowed answered slowly again quietly
twice almost never still below above behind without under the a of in to and with that he she it was had his her on at
by for so as but not no one two sea oil wind rain who all out up down then when
"""
# Words of replies whose prompts name no number, as capable models give them.
_USUAL: Final = {
    "plan_conflict": 80, "plan_setting": 80, "conflict": 200, "characters": 60, "character": 250, "setting": 200,
    "plot": 300, "review": 380, "memory": 75, "respond": 55, "act": 30, "instruct": 42, "title": 4, "monologue": 40,
    "answer": 30, "play": 30, "plan": 50, "relation": 30, "impression": 30, "first_impressions": 60, "personality": 30,
}  # fmt: skip
_FIELDS: Final = {"name": 1, "title": 3, "place": 4, "date": 3, "time": 3, "person": 2, "tense": 1, "age": 2, "key": 1}
_WORDS_OF_A_FIELD: Final = 14
_ASKED: Final = re.compile(
    r"(?:write|with|in|for|to have|have|whole story,)\s+(?:(?P<most>at most)\s+|about\s+|exactly\s+)?(?P<n>[\d,]+)\s+"
    r"(?:more\s+)?words(?:,? between (?P<low>[\d,]+) and (?P<high>[\d,]+))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Profile:
    """What a model can take and give in one call, in tokens."""

    name: str
    context: int
    reply: int


PROFILES: Final = (Profile("8k window", 8_192, 1_024), Profile("128k window", 131_072, 8_192))
TEMPERS: Final = {"terse": 0.85, "generous": 1.15}


class Writer(ScriptedModel):
    """A capable model that gives `share` of the words it is asked for, in replies of the profile's size at most."""

    def __init__(self, share: float, profile: Profile, words: int = 1_000, seed: int = 1) -> None:
        able = Capabilities(
            schema=True, choices=True, logprobs=True, context=profile.context, reply=profile.reply, parallel=8
        )
        super().__init__(self._reply, name="writer", capabilities=able)
        self.share, self.profile, self.words, self.seed = share, profile, words, seed
        self.scenes = _scenes(words)
        self.tokens = 0
        self.calls: dict[str, tuple[int, int]] = {}  # by prompt: how many, and their tokens

    def _reply(self, request: Request) -> Reply:
        name = request.path.rpartition("/")[2]
        said = "".join(message.content for message in request.messages)
        draw = random.Random(f"{self.seed}/{request.path}/{said}")  # noqa: S311 - texts, not secrets
        text = self._said(name, request, said, draw)
        turn = re.search(r"/turn/(\d+)", request.path)
        self._turn = int(turn[1]) - 1 if turn else 0
        asked, finish = prompt_tokens(request), False
        room = min(self.profile.reply, self.profile.context - asked, request.sampling.max_tokens or self.profile.reply)
        if room < 1:
            raise ContextLengthError(f"The prompt of {request.path} has {asked:,} tokens.", model=self.name)
        if estimate_tokens(text) > room:
            text, finish = cut(text, room), True
        written = estimate_tokens(text)
        self.tokens += asked + written
        calls, tokens = self.calls.get(name, (0, 0))
        self.calls[name] = calls + 1, tokens + asked + written
        probable = {text: -0.1} if request.logprobs else None
        used = Usage(asked, 0, written, cost=0.0)
        return Reply(text, used, "length" if finish else "stop", self.identity, logprobs=probable)

    def _turn_of(self, request: Request, draw: random.Random) -> str:
        """A turn in a talk by a plan of five points; two of three exchanges deal with one."""
        own = sum(message.role == "assistant" for message in request.messages)
        fixed = random.Random(f"{self.seed}/{request.path.partition('/')[0]}/{request.role}")  # noqa: S311 - no secrets
        over = sum(fixed.random() < 0.66 for _ in range(own)) >= 5
        turn = f"[{_PEOPLE[request.role == 'player']}: {sentence(draw, round(25 * self.share))}]"
        return turn + "\nEOD" * over

    def _said(self, name: str, request: Request, said: str, draw: random.Random) -> str:  # noqa: PLR0911 - a line a kind
        if request.choices:
            return draw.choice(request.choices)
        if request.schema is not None:
            if name == "witnesses":
                numbers = re.findall(r"^(\d+)\. ", request.messages[-1].content, re.MULTILINE)
                return json.dumps({"sentences": [{"sentence": int(n), "witnesses": list(_PEOPLE)} for n in numbers]})
            return json.dumps(self._form(name, request.schema, draw))
        if name == "plan":
            return "\n".join(
                f"#{n}. {sentence(draw, 6)}\n- {sentence(draw, round(25 * self.share))}" for n in range(1, 6)
            )
        if name in {"answer", "play"} and "# Your plan" in said:
            return self._turn_of(request, draw)
        words = wanted(request.messages[-1].content, name)
        text = prose(draw, max(round(words * self.share), 2))
        if name == "title":
            return " ".join(text.split()[:4])
        if "**END**" in request.messages[-1].content:
            text += "\n\n**END**"
        return text

    def _form(self, name: str, schema: Json, draw: random.Random) -> Any:  # noqa: ANN401 - JSON data
        made = self._filled(schema, draw)
        if name in {"plan_telling", "scenes"}:
            field = "records" if name == "scenes" else "scenes"
            entry = schema["properties"][field]["items"]
            made[field] = [self._filled(entry, draw, nth=n) for n in range(self.scenes)]
        if name == "outline" and "chapters" in made:
            made["chapters"] = [one | {"words": self.words // len(made["chapters"])} for one in made["chapters"]]
            for one in made["chapters"]:
                one["happens"] = " ".join(_sentences(draw, round(180 * self.share)))
        if name == "plan_scene":
            made["events"] = [
                self._filled(schema["properties"]["events"]["items"], draw) for _ in range(draw.randint(3, 7))
            ]
            for one in made["events"]:
                one["missed_by"] = []
        if name == "decide":
            events = schema["properties"]["remaining"]["items"]
            events = len(events.get("enum", ())) or events.get("maximum", 1)
            played = sum(draw.random() < 0.6 for _ in range(self._turn))
            made["remaining"] = list(range(min(played, events) + 1, events + 1)) or ([] if self._turn else [1])
        if name == "narrative":
            made["narrative"] = prose(draw, round(self.words * self.share))
        for field, value in _sensible(name, made, draw):
            made[field] = value
        return made

    def _filled(self, schema: Json, draw: random.Random, field: str = "", nth: int = 0) -> Any:  # noqa: ANN401, PLR0911 - JSON
        if "const" in schema:
            return schema["const"]
        if options := schema.get("enum"):
            return options[nth % len(options)]
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                return self._filled(schema[several][0], draw, field, nth)
        kind = schema.get("type", "string")
        if kind == "object":
            needed = schema.get("required", ())
            parts = schema.get("properties", {}).items()
            return {name: self._filled(part, draw, name, nth) for name, part in parts if name in needed}
        if kind == "array":
            number = min(max(2, schema.get("minItems", 0)), schema.get("maxItems", 99))
            return [self._filled(schema.get("items", {}), draw, field, n) for n in range(number)]
        if kind == "integer":
            return min(schema.get("minimum", 1) + nth, schema.get("maximum", 99))
        if kind == "number":
            return float(schema.get("minimum", 1) + nth)
        if kind == "boolean":
            return False
        return self._text(schema, draw, field, nth)

    def _text(self, schema: Json, draw: random.Random, field: str, nth: int) -> str:
        if field in {"name", "names", "who", "speaker"}:
            return _PEOPLE[nth] if nth < len(_PEOPLE) else f"Keeper {nth}"
        words = max(round(_FIELDS.get(field, _WORDS_OF_A_FIELD) * self.share), 1)
        return sentence(draw, words)[: schema.get("maxLength", 10_000)]


def _sensible(name: str, made: Any, draw: random.Random) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - JSON data
    """What a model that reads decides in some forms."""
    if not isinstance(made, dict):
        return
    if name == "check_goal":
        yield "completed", draw.random() < 0.5
    if "goal_reached" in made:
        yield "goal_reached", draw.random() < 0.03
    if "revise" in made:
        yield "revise", draw.random() < 0.1
    for field in ("contradictions", "edits", "missing"):
        if field in made:
            yield field, []


def _scenes(words: int) -> int:
    """How many scenes a planner with sense gives a story."""
    return 3 if words < 1_000 else 5 if words < 5_000 else 16 if words < 50_000 else 40


def wanted(prompt: str, name: str) -> int:
    """The words that a prompt asks for, as a reader would understand it."""
    if name in _USUAL:
        return _USUAL[name]
    instruction = prompt.partition("**Dialog:**")
    found = [*_ASKED.finditer(prompt)]
    if not found:
        return _USUAL.get(name, 150)
    exact = [one for one in found if one["most"] or one["low"] or "more words" in one[0]]  # a brief names no band
    said = (exact or found)[-1]
    words = int(said["n"].replace(",", ""))
    if "more words" not in said[0]:
        words = max(words - len(instruction[2].split()), 5)
    return round(words * 0.8) if said["most"] else words


def prose(draw: random.Random, words: int) -> str:
    """About so many words in sentences that all differ, in paragraphs."""
    paragraphs: list[str] = []
    left = words
    while left > 0:
        here = min(left, draw.randint(40, 90))
        paragraphs.append(" ".join(_sentences(draw, here)))
        left -= here
    return "\n\n".join(paragraphs)


def _sentences(draw: random.Random, words: int) -> Iterator[str]:
    while words > 0:
        here = min(words, draw.randint(8, 18))
        here = words if words - here < 4 else here
        yield sentence(draw, here)
        words -= here


def sentence(draw: random.Random, words: int) -> str:
    """One sentence of so many words, about one of the people."""
    return " ".join([draw.choice(_PEOPLE), *draw.choices(VOCABULARY.split(), k=words - 1)]) + "."


def cut(text: str, tokens: int) -> str:
    """The beginning of a text that has at most so many tokens."""
    while estimate_tokens(text) > tokens:
        text = text[: int(len(text) * min(tokens / estimate_tokens(text), 0.999))]
    return text


@dataclass(frozen=True, slots=True)
class Compared:
    """What was announced for a story, and what writing it took: calls, tokens, words."""

    announced: int
    announced_calls: int
    used: int
    calls: int
    words: int
    by_prompt: dict[str, tuple[tuple[int, int], tuple[int, int]]]

    @property
    def ratio(self) -> float:
        """Percent of the tokens used that were announced."""
        return _PERCENT * self.announced / self.used


def compared(system: str, words: int, share: float, profile: Profile, preset: Any = "improved") -> Compared:  # noqa: ANN401 - a literal
    """What a dry run announces for a story of so many words, and what writing it takes."""
    model, method = Writer(share, profile, words), find(system)
    config = method.config(preset, {"player": "Tobias", "npc": "Mara"} if system in TALKS else {})
    brief = Brief.parse(_BRIEF.format(words))

    async def write(context: RunContext) -> Story:
        return await method.write(brief, Run(context), config)

    def context(journal: Journal, mode: Mode) -> RunContext:
        return RunContext(
            journal, SystemPrompts(method.prompt_folders(preset), common=PROMPTS), Cast.of(model), mode=mode
        )

    with Journal() as journal:
        dry = asyncio.run(rehearsed(context(journal, "dry"), write))
        got = asyncio.run(write(context(journal, "live"))).words
    said: dict[str, tuple[int, int]] = {}
    for call in dry.planned:
        name = call.path.rpartition("/")[2]
        calls, tokens = said.get(name, (0, 0))
        said[name] = calls + 1, tokens + call.prompt + call.reply
    names = sorted({*said, *model.calls})
    table = {name: (said.get(name, (0, 0)), model.calls.get(name, (0, 0))) for name in names}
    return Compared(dry.tokens, len(dry.planned), model.tokens, len(model.asked), got, table)


RESULTS: Final = Path(__file__).parent / "results"
METHODS: Final[dict[str, tuple[str, float, dict[str, object]]]] = {
    "end-to-end": ("short-rooms", 1.3, {}),
    "chosen-draft": ("chosen-draft-again", 1.0, {"revisions": 2}),
}
"""Systems of which stories of 900 words were recorded: where, the tokens in a unit of their cost, the settings."""


def recorded(name: str) -> dict[str, float]:
    """Percent announced of what recorded stories took that were written by a system, by brief."""
    folder, tokens, settings = METHODS[name]
    system = find(name)
    with (RESULTS / folder / "stories.csv").open(encoding="utf-8") as file:
        used = {line["brief"]: float(line["cost"]) for line in csv.DictReader(file) if line["system"] == name}
    config = system.config("improved", settings)
    model = ScriptedModel({}, name="openai-chat:writer", capabilities=Capabilities(schema=True, parallel=1))
    found = {}
    for brief, cost in used.items():
        story = Brief.read(RESULTS / folder / "briefs" / f"{brief}.md")
        with Journal() as journal:
            prompts = SystemPrompts(system.prompt_folders("improved"), common=PROMPTS)
            context = RunContext(journal, prompts, Cast.of(model), mode="dry")
            dry = asyncio.run(rehearsed(context, partial(_written, system, story, config)))
        found[brief] = _PERCENT * dry.tokens / (tokens * cost)
    return found


async def _written(system: System, brief: Brief, config: Any, context: RunContext) -> Story:  # noqa: ANN401 - a system's
    return await system.write(brief, Run(context), config)


def bench(lengths: Sequence[int] = LENGTHS, names: Sequence[str] = ()) -> Table:
    """Percent of the tokens used that were announced, over both tempers and profiles, by system and length."""
    rows: list[Row] = []
    left: list[str] = []
    for name in names or systems():
        for words in lengths:
            found: list[float] = []
            for temper, share in TEMPERS.items():
                for profile in PROFILES:
                    try:
                        found.append(compared(name, words, share, profile).ratio)
                    except (ContextLengthError, ReplyError, UsageError):
                        left.append(f"{name} with {words:,} words, {temper}, {profile.name}")
            what, least, most = f"{name}, {words:,} words", _PERCENT - _OFF, _PERCENT + _OFF
            if found:
                rows += [Row(f"{what}: lowest", (min(found),), "%", f"{len(found)} models", least=least)]
                rows += [Row(f"{what}: highest", (max(found),), "%", f"{len(found)} models", most=most)]
    for method in METHODS if not names else ():
        shares = tuple(recorded(method).values())
        for what, value in (("lowest", min(shares)), ("highest", max(shares))):
            bounds = {"least": _PERCENT - _OFF} if what == "lowest" else {"most": _PERCENT + _OFF}
            rows.append(
                Row(
                    f"{method}, recorded stories of 900 words: {what}",
                    (value,),
                    "%",
                    f"{len(shares)} stories",
                    **bounds,
                )
            )
    notes = (
        "Tokens announced / used. A terse model gives 85 % of the words asked for, a generous one 115 %.",
        f"Not written, since prompts or replies do not fit: {'; '.join(left) or 'none'}.",
    )
    return Table("estimates", TITLE, tuple(rows), notes)
