"""Character Simulation: nobody knows what they have not witnessed, however much everybody gossips (section 3.2.2).

What was said in turns stays among those who were there: in `faithful` all who are in the scene, in `improved` those who
witness the event. What the plan alone says (who somebody is, what they want, what they hide and know, an event before
some of those in a scene) and what the writer makes of a scene stays with whom it concerns in `improved`; in `faithful`
the director is shown all that the plan says, as in the paper (section 6 says that it enforces no privacy).
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabula.craft import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, slug
from fabula.story.plan import Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_file import write_plan
from fabula.systems import find
from fabula.systems.character_simulation.improved import Agent, TimedUnit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset
    from fabula.models.base import Request

SYSTEM = find("character-simulation")
PEOPLE = ("Ann", "Bob", "Cyd", "Dov")
_SECRET = re.compile(r"secret-[\w-]*\w")
_WHO = re.compile(r"^Name: (\w+)$", re.MULTILINE)
RAIN = ("boat", "storm", "letter", "lamp", "sister", "gull", "reef", "quay", "road", "waited", "fell", "sang", "slept")
TIMES = st.one_of(st.just(""), st.integers(0, 6).map(str))


@st.composite
def plans(draw: st.DrawFn) -> tuple[Plan, tuple[str, ...]]:
    """A plan of scenes with random people, times and flashbacks, and an order of time that it allows."""
    number = draw(st.integers(1, 5))
    scenes = []
    for at in range(number):
        present = draw(st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True))
        some = st.lists(st.sampled_from(present), unique=True).map(tuple)
        events = draw(st.lists(st.builds(Event, st.just("Something happens."), TIMES, some), min_size=1, max_size=3))
        there = tuple(Presence(name) for name in present)
        scenes.append(ScenePlan(f"Scene {at}", tuple(events), characters=there, time=draw(TIMES)))
    plan = Plan(tuple(scenes), tuple(Character(name) for name in PEOPLE))
    orders = st.permutations([scene.name for scene in scenes]).map(tuple)
    known = plan.chronology()
    if known is not None:
        return plan, known
    order = draw(orders)
    if plan.accepts(order):  # contradicts a known time: take the times out, which leaves the flashbacks
        plan = replace(plan, scenes=tuple(replace(scene, time="") for scene in plan.scenes))
    return plan, plan.chronology() or order


def secrets_in(text: str) -> set[str]:
    return set(_SECRET.findall(text))


def turn_at(path: str) -> str:
    """The turn that a call belongs to, also where it is asked for again."""
    return path.rpartition("/")[0].partition("/again/")[0]


@dataclass
class Gossips:
    """A model of which every agent says all secrets that its prompt holds; each turn adds one of its own.

    `speakers` says who plays which turn, `said` what was heard in each turn, by path.
    """

    order: tuple[str, ...]
    speakers: list[int]
    numbered: bool
    said: dict[str, set[str]] = field(default_factory=dict)

    def __call__(self, request: Request) -> str:
        prompt = "\n".join(message.content for message in request.messages)
        known = secrets_in(prompt)
        gossip = " and ".join(sorted(known))
        match request.path.rpartition("/")[2]:
            case "sort_scenes":
                said: object = {"scenes": self.order}
            case "chronological_outline":
                text = "Something happens."
                said = {"points": [{"event": 1, "text": text} if self.numbered else text]}
            case "terminate":
                said = {"reasons": f"Nobody has said {gossip}.", "covered": False}
            case "direct" | "decide":
                remaining = [1] if self.numbered else []
                said = {"remaining": remaining, **self.direction(request, prompt, gossip)}
            case "respond":
                place = turn_at(request.path)
                own = f"secret-{len(self.said)}"
                self.said[place] = self.said.get(place, set()) | known | {own}
                shown = f"{request.role} says {own} and {gossip}."
                said = shown if self.numbered else {"response": shown}
            case "rewrite":
                draw = random.Random(str(request.sampling.seed))  # noqa: S311 - words, not secrets of ours
                said = f"{' '.join(draw.sample(RAIN, 12)).capitalize()} secret-writer-{len(self.said)}."
            case _:
                said = f"I know {gossip}."
        return said if isinstance(said, str) else json.dumps(said)

    def direction(self, request: Request, prompt: str, gossip: str) -> dict[str, str]:
        names = re.search(r"exactly one of: (.+)\. Give", prompt)
        assert names
        known = names[1].split(", ")
        turn, own = int(request.path.split("/")[3]), sha256(request.path.encode()).hexdigest()
        place = " ".join(own[at : at + 4] for at in range(0, len(own), 4))  # no two commands are alike
        chosen = self.speakers[(turn + len(self.said)) % len(self.speakers)] % len(known)
        return {"next_speaker": known[chosen], "next_command": f"Say all now, {place}: {gossip}"}


def played(plan: Plan, order: tuple[str, ...], preset: Preset) -> list[tuple[str, tuple[str, ...]]]:
    """What is played in one go, in the order of time, and who is there: scenes in the paper, units in ours."""
    if preset == "faithful":
        return [(slug(name), plan.scene(name).present) for name in order]
    units = plan.units(order)
    return [(slug(one.scene.name) + (f"-{one.part}" if one.part > 1 else ""), one.present) for one in units]


def allowed(
    units: Iterable[tuple[str, tuple[str, ...]]], said: dict[str, set[str]], turns: int
) -> dict[str, dict[str, set[str]]]:
    """By the path of a turn, what each of those who are there may know before it: what they witnessed until then."""
    knows: dict[str, set[str]] = {name: set() for name in PEOPLE}
    found = {}
    for name, present in units:
        for turn in range(1, turns + 1):
            place = f"role-play/{name}/turn/{turn}"
            found[place] = {who: set(knows[who]) for who in present}
            for who in present:
                knows[who] |= said[place]
    return found


async def gossip(plan: Plan, order: tuple[str, ...], speakers: list[int], preset: Preset) -> list[str]:
    """The leaks of a play: places where somebody is shown what they did not witness, or is not shown what they did."""
    turns, ours = 3, preset == "improved"
    script = Gossips(order, speakers, ours)
    model = ScriptedModel(script, capabilities=Capabilities(schema=True))
    with Journal() as journal:
        journal.decisions.add("plan", "edit", write_plan(plan))
        context = RunContext(journal, SystemPrompts(SYSTEM.prompt_folders(preset), common=PROMPTS), Cast.of(model))
        config = SYSTEM.config(preset, {"max_turns": turns})
        await SYSTEM.write(Brief("Write a story."), Run(context), config)
    may = allowed(played(plan, order, preset), script.said, turns)
    wrong = []
    for request in model.asked:
        place, _, prompt = request.path.rpartition("/")
        if prompt not in {"memory", "state", "respond"}:
            continue
        text = "\n".join(message.content for message in request.messages)
        who = _WHO.findall(text)
        assert len(who) == 1, text
        assert prompt != "respond" or request.role == who[0]
        shown, known = secrets_in(text), may[place][who[0]]
        if shown - known or (ours and prompt == "respond" and shown != known):
            wrong.append(f"{request.path} ({who[0]}): {sorted(shown)} instead of {sorted(known)}")
    return wrong


@pytest.mark.parametrize("preset", ["faithful", "improved"])
@given(planned=plans(), speakers=st.lists(st.integers(0, 5), min_size=1, max_size=7))
@settings(max_examples=20)
def test_nobody_is_shown_what_they_did_not_witness(
    preset: Preset, planned: tuple[Plan, tuple[str, ...]], speakers: list[int]
) -> None:
    assert asyncio.run(gossip(*planned, speakers, preset)) == []


def test_a_scene_that_everybody_hears_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, str]] = []
    witness, agents = Agent.witness, TimedUnit.agents

    def overheard(self: Agent, what: str, at: str) -> Agent:
        heard.append((at, what))
        return witness(self, what, at)

    async def listening(self: TimedUnit) -> dict[str, Agent]:
        here = await agents(self)
        return {name: replace(agent, unseen=(*agent.unseen, *heard)) for name, agent in here.items()}

    plan = Plan(
        (
            ScenePlan("Scene 0", (Event("Ann is alone."),), characters=(Presence("Ann"),), time="1"),
            ScenePlan("Scene 1", (Event("Bob is alone."),), characters=(Presence("Bob"), Presence("Cyd")), time="2"),
            ScenePlan("Scene 2", (Event("They meet."),), characters=(Presence("Cyd"), Presence("Ann")), time="3"),
        ),
        tuple(Character(name) for name in PEOPLE),
    )
    order = plan.chronology()
    assert order is not None
    presets: tuple[Preset, ...] = ("faithful", "improved")
    for preset in presets:
        assert not asyncio.run(gossip(plan, order, [0, 1], preset))
    with monkeypatch.context() as patched:
        patched.setattr(Agent, "witness", overheard)
        patched.setattr(TimedUnit, "agents", listening)
        assert asyncio.run(gossip(plan, order, [0, 1], "improved")), "what Ann said alone is heard by Cyd"


# secrets that the plan alone holds ------------------------------------------------------------------------------------

STORIES, LEAST_SECRETS = [3, pytest.param(10, marks=pytest.mark.simulation)], 100


class Teller:
    """A plan in which each text holds a secret of its own, and whose secret it is: that of those who are there.

    With `apart` the plan says of each character what it hides and what it knows of the others; who they are is then no
    secret. In half of its scenes they are as they were at another time.
    """

    def __init__(self, seed: int, *, apart: bool = False) -> None:
        self.draw = random.Random(seed)  # noqa: S311 - plans, not secrets of ours
        self.own: dict[str, set[str]] = {name: set() for name in PEOPLE}
        self.shared: dict[str, tuple[str, ...]] = {}
        self.count = 0
        self.apart = apart
        sheets = tuple(
            Character(
                name,
                role=self.secret(f"of-{name}-role", name),
                setup=f"{name} lives here." if apart else self.secret(f"of-{name}-setup", name),
                goal=self.secret(f"of-{name}-goal", name),
                secret=self.secret(f"of-{name}-hidden", name) if apart else "",
                knows=self.secret(f"of-{name}-known", name) if apart else "",
            )
            for name in PEOPLE
        )
        self.plan = Plan(tuple(map(self.scene, range(8))), sheets, self.secret("conflict"), self.secret("setting"))

    def secret(self, about: str, *whose: str) -> str:
        """A new secret, that only they may know."""
        self.count += 1
        made = f"secret-{about}-{self.count}"
        self.shared[made] = whose
        for name in whose:
            self.own[name].add(made)
        return made

    def scene(self, number: int) -> ScenePlan:
        """People come, go and return; some events come before some of them only; some are told long after."""
        here = self.draw.sample(PEOPLE, self.draw.randint(1, 4))
        events = []
        for at in range(self.draw.randint(2, 5)):
            some = tuple(sorted(self.draw.sample(here, self.draw.randint(1, len(here)))))
            witnesses = some if self.draw.random() < 0.5 else tuple(here)
            time = str(self.draw.randint(-3, 9)) if self.draw.random() < 0.3 else ""
            text = f"Now {self.secret(f'event-{number}-{at}', *witnesses)} happens."
            events.append(Event(text, time, () if witnesses == tuple(here) else witnesses))
        goals = tuple(
            Presence(
                name,
                self.secret(f"goal-{number}-{name}", name),
                then=self.secret(f"then-{number}-{name}", name) if self.apart and number % 2 else "",
            )
            for name in here
        )
        time = str(self.draw.choice([8 - number, number]))
        return ScenePlan(self.secret(f"scene-{number}"), tuple(events), characters=goals, time=time)


@dataclass
class Discreet(Gossips):
    """As they, but characters keep what they know to themselves; director and sorter do not."""

    def __call__(self, request: Request) -> str:
        kind = request.path.rpartition("/")[2]
        if kind == "chronological_outline":
            prompt = "\n".join(message.content for message in request.messages)
            count = len(re.findall(r"^\d+\. ", prompt, re.MULTILINE))
            gossip = " and ".join(sorted(secrets_in(prompt)))
            return json.dumps({"points": [{"event": n, "text": f"{gossip} happens."} for n in range(1, count + 1)]})
        if kind != "respond":
            return super().__call__(request)
        self.said[turn_at(request.path)] = set()
        return f"{request.role} says nothing of it."


class Loud(Discreet):
    """As they, but characters say all that they know."""

    def __call__(self, request: Request) -> str:
        return (Gossips if request.path.endswith("/respond") else Discreet).__call__(self, request)


async def betrayed(teller: Teller, kind: type[Gossips], aids: Aids) -> tuple[list[str], int]:
    """Where a character is shown what it may not know, and how many prompts of characters there were."""
    plan, turns = teller.plan, 3
    order = plan.chronology()
    assert order is not None
    script = kind(order, [teller.draw.randint(0, 5) for _ in range(5)], numbered=True)
    model = ScriptedModel(script, capabilities=Capabilities(schema=True))
    with Journal() as journal:
        journal.decisions.add("plan", "edit", write_plan(plan))
        read = SystemPrompts(SYSTEM.prompt_folders("improved"), common=PROMPTS)
        context = RunContext(journal, read, Cast.of(model), aids=aids)
        await SYSTEM.write(Brief("Write a story."), Run(context), SYSTEM.config("improved", {"max_turns": turns}))
    prompts = [r for r in model.asked if r.path.rpartition("/")[2] in {"memory", "state", "respond"}]
    may = permitted(teller, order, script.said)
    wrong = []
    for request in prompts:
        text = "\n".join(message.content for message in request.messages)
        (who,) = _WHO.findall(text)
        if leaked := secrets_in(text) - may[turn_at(request.path)][who]:
            wrong.append(f"{request.path} ({who}): {sorted(leaked)}")
    return wrong, len(prompts)


def permitted(teller: Teller, order: tuple[str, ...], said: dict[str, set[str]]) -> dict[str, dict[str, set[str]]]:
    """By the path of a turn, what each of those who are there may know: its own, what it is in, and what it heard."""
    knows = {name: {one for one in own if "-event-" not in one} for name, own in teller.own.items()}
    names: dict[str, str] = {}
    found = {}
    for unit in teller.plan.units(order):
        scene = slug(unit.scene.name)
        names[scene] = f"{scene}-{unit.part}" if unit.part > 1 else scene
        for who in unit.present:
            knows[who] |= {one for event in unit.events for one in secrets_in(event.text)}
        for turn in range(1, 4):
            place = f"role-play/{names[scene]}/turn/{turn}"
            found[place] = {who: set(knows[who]) for who in unit.present}
            for who in unit.present:
                knows[who] |= said.get(place, set())
    return found


@pytest.mark.parametrize("stories", STORIES)
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("aids", ["off", "on"])
@pytest.mark.parametrize("kind", [Discreet, Loud])
def test_no_secret_stands_in_a_prompt_of_a_character_who_did_not_witness_it(
    kind: type[Gossips],
    aids: Aids,
    apart: bool,  # noqa: FBT001 - a parameter of the test
    stories: int,
) -> None:
    tellers = [Teller(seed, apart=apart) for seed in range(stories)]
    assert sum(teller.count for teller in tellers) > LEAST_SECRETS
    assert any(event.present for teller in tellers for scene in teller.plan.scenes for event in scene.outline)
    assert all(teller.plan.chronology() != teller.plan.names for teller in tellers), "they are told out of order"
    for teller in tellers:
        wrong, prompts = asyncio.run(betrayed(teller, kind, aids))
        assert wrong == []
        assert prompts
