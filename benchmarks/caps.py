"""Stories under a cap of a tenth more than was announced, and under providers that misbehave.

The writers are made up. Each has a temper: terse and generous ones give 85 % and 115 % of the words that they are asked
for, a mixed one now this and now that, a chatty one talks around its texts, a wordy one writes notes and forms half as
long again. Each reply is some share longer or shorter than that, and a plan has a scene more or fewer than usual. A
till knows what was really paid; a provider may say something else.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from benchmarks.estimates import PROFILES, TALKS, Writer
from benchmarks.table import Row, Table
from fabula.app.writing import rehearsed
from fabula.base.errors import BudgetError, FabulaError, ModelTimeoutError, OverloadedError, UnreadableReplyError
from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Reply, Usage, Wrapper
from fabula.models.budget import Budget, prompt_tokens
from fabula.models.limits import Limited
from fabula.story import Brief
from fabula.systems import find, systems

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.engine.context import Mode
    from fabula.models.base import Model, OnText, Request
    from fabula.story import Story

TITLE: Final = "Stories under a cap"
STORIES: Final = 60
_MARGIN: Final = 1.1  # times what was announced
_ENOUGH: Final = 90.0  # percent of the stories that have to be finished
_PERCENT: Final = 100.0
_SPREAD: Final = 0.06  # of the lengths of replies, as a logarithm; of 24 recorded stories of 900 words it is .04
_TEMPERS: Final = {"even": 1.0, "terse": 0.85, "generous": 1.15, "mixed": 1.0, "chatty": 1.03, "wordy": 1.0}
_LEAST_SCENES: Final = 3  # of a plan
_WORDY: Final = 1.5  # times the words of notes and forms
_LENGTHS: Final = (500, 1_200, 2_500)
_LONG_TEXT: Final = 500  # letters of a text that some models surround with chatter
_CHATTER: Final = "Certainly! Here is what you asked for.\n\n", "\n\nLet me know if I should change anything!"
_BRIEFS: Final = (
    "Write a story of about {} words about Mara, who keeps a lighthouse, and the boy Tobias, who waits for a boat.",
    "Write a story of about {} words. Mara sells her mother's shop to Tobias, who does not know what is in its cellar.",
    "Tell in about {} words how Tobias learns to bake from Mara, the winter before the road came. It must be funny.",
)
Way: TypeAlias = Literal[
    "claims millions", "endless", "counts nothing", "counts below zero", "counts one", "cut", "late", "far too long",
    "unreadable", "killed",
]  # fmt: skip
WAYS: Final[tuple[Way, ...]] = (
    *("claims millions", "endless", "counts nothing", "counts below zero", "counts one", "cut", "late"),
    *("far too long", "unreadable", "killed"),
)
_NO_COUNT: Final = {
    "claims millions": (10_000_000, 10_000_000), "counts nothing": (0, 0), "counts below zero": (-5, -5),
    "counts one": (1, 1),
}  # fmt: skip


class Varied(Writer):
    """A writer of a temper, of whose replies each is a little longer or shorter than that."""

    def __init__(self, temper: str, words: int, seed: int) -> None:
        super().__init__(_TEMPERS[temper], PROFILES[1], words, seed)
        self.name = self.identity = "openai-chat:writer"
        self.temper, self.usual = temper, self.share
        more = random.Random(f"{seed}/scenes").choice((-1, 0, 0, 1))  # noqa: S311 - a plan, no secret
        self.scenes = max(self.scenes + more, _LEAST_SCENES)

    def _reply(self, request: Request) -> Reply:
        draw = random.Random(f"{self.seed}/{request.path}/{request.sampling.seed}")  # noqa: S311 - texts, not secrets
        self.share = self.usual * draw.lognormvariate(0, _SPREAD)
        if self.temper == "mixed":
            self.share *= draw.choice((_TEMPERS["terse"], _TEMPERS["generous"]))
        if self.temper == "wordy" and request.words == (0, 0):
            self.share *= _WORDY
        reply = super()._reply(request)
        if self.temper == "chatty" and len(reply.text) > _LONG_TEXT and request.schema is None:
            text = reply.text.join(_CHATTER)
            reply = replace(reply, text=text, usage=replace(reply.usage, reply=reply.usage.reply + 20))
        return reply


@dataclass
class Till(Wrapper):
    """A provider that is paid for what really went to and fro; now and then it misbehaves in one way."""

    model: Model
    way: Way | None = None
    rng: random.Random = field(default_factory=random.Random)
    tokens: int = 0
    kill: Callable[[], object] = lambda: None  # ends the whole story, whatever is asked beside

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The reply, and what is said of its tokens.

        Raises:
            ModelError: one that this way of misbehaving ends in.
        """
        reply = await self.model.ask(request, None)
        bad = self.way if self.way is not None and self.rng.random() < (1.0 if self.way in _NO_COUNT else 0.2) else None
        text = reply.text * 40 if bad in ("endless", "far too long") else reply.text
        self.tokens += prompt_tokens(request)
        per_letter = reply.usage.reply / max(len(reply.text), 1)
        if on_text is not None and bad != "far too long":
            pieces = [text[at : at + 40] for at in range(0, len(text), 40)]
            for number, piece in enumerate(pieces):
                if bad == "cut" and number > len(pieces) // 2:
                    raise OverloadedError("The stream ended before the reply did.", model=self.name)
                self.tokens += round(per_letter * len(piece))
                on_text(piece)
        else:
            self.tokens += round(per_letter * len(text))
        if bad == "late":
            raise ModelTimeoutError("It did not answer in time.", model=self.name)
        if bad == "unreadable":
            raise UnreadableReplyError("What came is no reply.", model=self.name)
        if bad == "killed":
            self.kill()
            await asyncio.Event().wait()  # until what was cancelled has come down to here
        said = _NO_COUNT.get(bad or "", (reply.usage.prompt, round(per_letter * len(text))))
        return replace(reply, text=text, usage=Usage(prompt=said[0], reply=said[1]))


@dataclass(frozen=True, slots=True)
class Ended:
    """How a story ended: what was announced, what its cap was, what was really paid, what was said and left out."""

    system: str
    announced: int
    cap: int
    paid: int
    finished: bool
    said: str
    left_out: tuple[str, ...] = ()

    @property
    def unsaid(self) -> bool:
        """Whether the cap was passed without a word."""
        return self.paid > self.cap and not self.said


async def _no_wait(_: float) -> None:
    return


async def capped(
    system: str, temper: str, words: int, seed: int, way: Way | None = None, cap: float = _MARGIN
) -> Ended:
    """A story under `cap` times what was announced of it."""
    method, writer = find(system), Varied(temper, words, seed)
    config = method.config("improved", {"player": "Tobias", "npc": "Mara"} if system in TALKS else {})
    brief = Brief.parse(_BRIEFS[seed % len(_BRIEFS)].format(words))
    till = Till(writer, way, random.Random(seed))  # noqa: S311 - no secrets

    async def write(context: RunContext) -> Story:
        return await method.write(brief, Run(context), config)

    with Journal() as journal:

        def context(mode: Mode, budget: Budget) -> RunContext:
            cast = Cast.of(Limited(till, sleep=_no_wait))
            prompts = SystemPrompts(method.prompt_folders("improved"), common=PROMPTS)
            return RunContext(
                journal, prompts, cast, mode=mode, budget=budget, listeners=[lambda _: None], rehearse=write
            )

        announced = (await rehearsed(context("dry", Budget()), write)).tokens
        budget, said, finished = Budget(tokens=round(cap * announced)), "", False
        live = context("live", budget)
        writing = asyncio.create_task(write(live))
        till.kill = writing.cancel
        try:
            await writing
            finished, said = True, budget.passed
        except BaseExceptionGroup as errors:
            stopped = errors.split(BudgetError)[0]
            said = budget.passed or str(stopped or "")
        except BudgetError as stop:
            said = str(stop)
        except (FabulaError, asyncio.CancelledError):
            said = budget.passed
    left_out = tuple(one for one in live.shortfalls if one.startswith("To keep within the budget"))
    return Ended(system, announced, round(cap * announced), till.tokens, finished, said, left_out)


def stories(number: int = STORIES, names: Sequence[str] = ()) -> list[Ended]:
    """Stories by all systems, tempers, lengths and briefs in turn, under a cap of a tenth more than was announced."""
    names, tempers = names or list(systems()), list(_TEMPERS)
    return [
        asyncio.run(capped(names[n % len(names)], tempers[n // len(names) % len(tempers)], _LENGTHS[n % 3], n))
        for n in range(number)
    ]


def misbehaving(number: int = STORIES, names: Sequence[str] = ()) -> list[Ended]:
    """Stories by all systems under providers that misbehave in ten ways, under caps that may or may not suffice."""
    names = names or list(systems())
    return [
        asyncio.run(capped(names[n % len(names)], "even", 500, n, WAYS[n % len(WAYS)], cap=(0.6, 1.0, 2.0)[n % 3]))
        for n in range(number)
    ]


def bench(number: int = STORIES) -> Table:
    """How many stories are finished, and how many caps are passed without a word."""
    good, bad = stories(number), misbehaving(number)
    finished = _PERCENT * sum(one.finished for one in good) / len(good)
    without = _PERCENT * sum(one.finished and bool(one.left_out) for one in good) / len(good)
    passed = sum(one.paid > one.cap for one in bad)
    count = f"{len(good)} stories"
    rows = (
        Row("finished under a cap of 1.1 times what was announced", (finished,), "%", count, least=_ENOUGH),
        Row("of all: finished without what can be left out, which was said", (without,), "%", count),
        Row("caps passed without a word, good providers", (sum(one.unsaid for one in good),), "", count, most=0.0),
        Row("the same, providers that misbehave in ten ways", (sum(one.unsaid for one in bad),), "", count, most=0.0),
    )
    stopped = ", ".join(sorted({one.system for one in good if not one.finished})) or "none"
    notes = (f"Stopped by the cap: {stopped}. Providers that misbehave passed {passed} caps, and each was said.",)
    return Table("caps", TITLE, rows, notes)
