"""No cap is ever passed by more than one call: any system, any cast, calls side by side, servers that count or do not.

The till knows what every call really took. A server's own counts, where it gives any, are right; where it gives none,
its tokens are up to a fifth more or fewer than our estimate.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fabula.base.errors import BudgetError, ModelError, OverloadedError, UsageError
from fabula.engine.journal import Journal
from fabula.engine.roles import Assignment, Cast, HandBackError, Person, Program
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities, Price, Reply, Usage
from fabula.models.budget import Budget, estimate_tokens, prompt_tokens
from fabula.models.limits import Limited
from fabula.models.prices import cost, priced
from harness import Case, cases, prompts_in

if TYPE_CHECKING:
    from fabula.models.base import Model, OnText, Request
    from fabula.models.scripted import ScriptedModel

CASES = cases()
PRICES = {"openai-chat:dear": Price(3.0, 15.0), "openai-chat:cheap": Price(0.5, 2.0, 0.1)}
RUNS = 3


@dataclass
class Till:
    """What was really paid: tokens and US dollars of each call, its failed tries included."""

    tokens: Counter[int] = field(default_factory=Counter)
    usd: Counter[int] = field(default_factory=Counter)
    asked: list[Request] = field(default_factory=list)  # so that no two have one id

    def pay(self, request: Request, usage: Usage, price: Price) -> None:
        self.asked.append(request)
        self.tokens[id(request)] += usage.prompt + usage.reply
        self.usd[id(request)] += cost(price, usage)  # type: ignore[assignment] # a Counter of dollars


@dataclass
class Server:
    """A server that charges for what it says; now and then it fails at a price, declines, or thinks for long."""

    name: str
    script: ScriptedModel
    till: Till
    rng: random.Random
    counts: bool
    capabilities: Capabilities = field(default_factory=Capabilities)

    @property
    def identity(self) -> str:
        return self.name

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        for _ in range(self.rng.randrange(6)):
            await asyncio.sleep(0)
        said = await self.script.ask(request, on_text)
        temper = 1.0 if self.counts else self.rng.uniform(0.8, 1.2)
        written = int(estimate_tokens(said.text) * temper) + self.rng.choice([0, 0, 300, 9_000]) * self.counts
        written = min(written, request.sampling.max_tokens or written)
        taken = Usage(prompt=int(prompt_tokens(request) * temper), reply=written)
        self.till.pay(request, taken, PRICES.get(self.name, Price(1.0, 1.0)))
        luck = self.rng.random()
        if luck < 0.04 and self.counts:
            error = OverloadedError("broke off", model=self.name)
            error.tokens = taken.prompt, taken.reply
            raise error
        return replace(said, usage=taken if self.counts else Usage(), finish="refusal" if luck > 0.97 else "stop")

    async def close(self) -> None:
        return


async def at_once(_: float) -> None:
    return


def performer(kind: str, case: Case, till: Till, rng: random.Random) -> Model:
    """Somebody for a role: a server that counts or does not, a person who may hand back to it, a program."""
    name = f"openai-chat:{rng.choice(['dear', 'cheap'] if kind != 'unpriced' else ['unpriced'])}"
    script = case.model()
    server = Server(name, script, till, random.Random(rng.random()), counts=kind != "silent")  # noqa: S311 - a test
    model = Limited(server, tries=3, sleep=at_once)
    if kind == "program":
        return Program("p.py:f", lambda request: _said(script, request))
    if kind != "person":
        return model

    async def answer(request: Request) -> str:
        if rng.random() < 0.6:
            raise HandBackError(for_good=rng.random() < 0.2)
        return await _said(script, request)

    return Person("me", answer, model)


async def _said(script: ScriptedModel, request: Request) -> str:
    return (await script.ask(request)).text or "-"


@st.composite
def bets(draw: st.DrawFn) -> tuple[Case, int, list[str], dict[str, Any], bool]:
    kinds = draw(st.lists(st.sampled_from(["counts", "silent", "person", "program"]), min_size=1, max_size=4))
    if draw(st.integers(0, 9)) == 0:
        kinds.append("unpriced")
    cap: dict[str, Any] = {}
    if draw(st.booleans()):
        cap["usd"] = draw(st.floats(0.003, 0.3))
    if not cap or draw(st.booleans()):
        cap["tokens"] = draw(st.integers(500, 30_000))
    return draw(st.sampled_from(CASES)), draw(st.integers(0, 2**30)), kinds, cap, draw(st.booleans())


async def check(case: Case, seed: int, kinds: list[str], cap: dict[str, Any], *, project: bool) -> str:
    """Run a case up to three times under a cap, of each run or of all together; says how the last one ended."""
    rng, till, ended = random.Random(seed), Till(), ""  # noqa: S311 - a test's own
    with Journal() as journal:
        case.given_in(journal)
        for _ in range(RUNS):
            before = Counter(till.tokens), Counter(till.usd)
            budget = Budget(**cap)
            if project:
                for one in journal.calls.payments():
                    budget.charge(priced(one.usage, one.performer, PRICES))
                budget = Budget(whole=budget)
            roles = {role: Assignment(performer(rng.choice(kinds), case, till, rng)) for role in case.system.roles}
            cast = Cast(Assignment(performer(kinds[0], case, till, rng)), roles, case.system.roles)
            context = RunContext(
                journal, prompts_in(case.system.prompt_folders(case.preset)), cast, budget=budget, prices=PRICES
            )
            try:
                await case.system.write(case.brief, Run(context), case.system.config(case.preset, case.config))
                ended = "whole"
            except (BudgetError, ModelError, UsageError) as error:
                ended = type(error).__name__
            assert budget.held_tokens == 0
            tokens, usd = (till.tokens, till.usd) if project else (till.tokens - before[0], till.usd - before[1])
            within(tokens, cap.get("tokens"))
            within(usd, cap.get("usd"))
            if ended == "whole":
                break
    return ended


def within(paid: Counter[int], cap: float | None) -> None:
    """Whether a cap was passed by no more than the dearest call."""
    assert cap is None or paid.total() <= cap + max(paid.values(), default=0) + 1e-9


@given(bets())
@settings(
    max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)
def test_no_cap_is_passed_by_more_than_one_call(bet: tuple[Case, int, list[str], dict[str, Any], bool]) -> None:
    case, seed, kinds, cap, project = bet
    asyncio.run(check(case, seed, kinds, cap, project=project))
