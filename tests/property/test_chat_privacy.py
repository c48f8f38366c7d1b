"""SNAP and Vanilla: nobody is shown what they did not witness, however much all models gossip.

A hundred secrets over ten stories with comings and goings: in sentences, in what is said while somebody is away, in the
author's personas. Every role says all secrets that its prompt holds, also in plans, labels and summaries.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from fabula.craft import PROMPTS
from fabula.craft.conversation import Conversation, Parties, open_conversation
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find
from serving import here
from witnesses import marks_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.engine.context import Aids
    from fabula.engine.methods import Preset
    from fabula.models.base import Request

PARTIES = Parties("Ann", ("Bob", "Cyd"))
_SECRET = re.compile(r"secret-\d+")
_CELLS, _SENTENCES = 3, 5
_STORIES, _SECRETS = 10, 10


def secrets_in(text: str) -> set[str]:
    return set(_SECRET.findall(text))


@dataclass
class World:
    """A story: sentences by cell with those who witness them, personas, and what is told while somebody is away."""

    cells: list[list[tuple[str, frozenset[str]]]]
    personas: dict[str, str]
    asides: Sequence[tuple[str, tuple[str, ...]]]

    @property
    def text(self) -> str:
        return " ".join(sentence for cell in self.cells for sentence, _ in cell)

    def witnesses(self, sentence: str) -> frozenset[str]:
        return next(people for cell in self.cells for known, people in cell if known == sentence)


def world_of(seed: int, *, plain: bool) -> World:
    """A story of which ten secrets are told; with `plain` every sentence names its witnesses and nobody else."""
    rng = random.Random(seed)  # noqa: S311 - stories, not keys
    numbers = iter(range(seed * _SECRETS, (seed + 1) * _SECRETS))
    there = list(PARTIES.names)
    cells: list[list[tuple[str, frozenset[str]]]] = []
    for _ in range(_CELLS):
        cell: list[tuple[str, frozenset[str]]] = []
        for at in range(_SENTENCES):
            if at in {1, 3}:  # somebody comes or goes
                who = rng.choice(PARTIES.names)
                comes = who not in there or len(there) == 1
                there = sorted({*there, who}) if comes else [name for name in there if name != who]
                cell.append((f"{who} {'comes back in' if comes else 'goes out'}.", frozenset({who})))
            elif at == 4:
                cell.append((f"{' and '.join(there)} wait in place {len(cells)} of tale {seed}.", frozenset(there)))
            elif at == 0 or plain:
                hidden = f"secret-{next(numbers)}"
                cell.append((f"{' and '.join(there)} speak of {hidden} there.", frozenset(there)))
            else:
                own, *others = rng.sample(PARTIES.names, 3)
                hidden = f"secret-{next(numbers)}"
                cell.append((f"{own} hides {hidden} from {' and '.join(others)}.", frozenset({own})))
        cells.append(cell)
    personas = {name: f"secret-{next(numbers)}" for name in PARTIES.names[:2]}
    asides = [(f"Listen, {name}: secret-{next(numbers)}.", (name,)) for name in PARTIES.others]
    return World(cells, personas, asides)


@dataclass
class Gossips:
    """Every role says all secrets that its prompt holds; the labeller alone knows who witnesses what."""

    world: World
    asked: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> str:
        self.asked.append(request)
        text = "\n".join(message.content for message in request.messages)
        all_ = " and ".join(sorted(secrets_in(text))) or "nothing"
        match request.path.rpartition("/")[2]:
            case "witnesses":
                return marks_of(request, self.world.witnesses)
            case "label":
                people = [{"name": name, "traits": [all_], "background": f"Knows {all_}."} for name in PARTIES.names]
                return json.dumps({"characters": people})
            case "plan":
                return f"#1. They talk of {all_}\n- It is {all_}.\n#2. They go on about {all_}"
            case "connectivity" | "personality":
                return "4"
            case "summarise":
                return f"They spoke of {all_}."
            case _:
                return f"(nods) I know {all_}, at {request.path}."


@dataclass
class Watch:
    """What everybody may know, and who was shown more."""

    world: World
    script: Gossips
    knows: dict[str, set[str]] = field(init=False)
    cell: int = 0
    seen: int = 0
    checked: int = 0
    leaks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.knows = {name: secrets_in(self.world.personas.get(name, "")) for name in PARTIES.names}

    def enter(self, cell: int) -> None:
        for sentence, people in [one for cells in self.world.cells[self.cell : cell] for one in cells]:
            for name in people:
                self.knows[name] |= secrets_in(sentence)
        self.cell = max(self.cell, cell)

    def hear(self, text: str, people: Sequence[str]) -> None:
        for name in people:
            self.knows[name] |= secrets_in(text)

    def check(self, present: Sequence[str]) -> None:
        """Every prompt since the last check, by those whom it is for."""
        for request in self.script.asked[self.seen :]:
            shown = secrets_in("\n".join(message.content for message in request.messages))
            for name in self.readers(request, present):
                self.checked += 1
                if extra := shown - self.knows[name]:
                    self.leaks.append(f"{request.path}: {name} is shown {sorted(extra)}")
        self.seen = len(self.script.asked)

    def readers(self, request: Request, present: Sequence[str]) -> Sequence[str]:
        prompt = request.path.rpartition("/")[2]
        if prompt in {"answer", "play"}:
            return [request.messages[0].content.partition("You play ")[2].split()[0]]
        if prompt == "plan":
            return [PARTIES.player] if "/player-plan/" in request.path else present
        if prompt == "summarise":  # it is somebody's memory, whoever's: the one who knows most of it
            shown = secrets_in(request.messages[-1].content)
            return [min(PARTIES.names, key=lambda name: len(shown - self.knows[name]))]
        return []


def personas_of(world: World) -> str:
    people = [f"  - name: {name}\n    description: Keeps {secret}.\n" for name, secret in world.personas.items()]
    return "personas:\n" + "".join(people)


async def lived(watch: Watch, conversation: Conversation) -> None:
    """A conversation with comings and goings, and all moves that there are."""

    def settle(before: int) -> None:
        for turn in conversation.turns[before:] or conversation.turns[-1:]:
            watch.enter(turn.cell)
            there = (PARTIES.player, *conversation.state.present)
            watch.hear(turn.said, there)
            watch.check(conversation.state.present)
            watch.hear(turn.line.text if turn.line else "", there)

    cells = len(conversation.talk.segments)
    await conversation.gather()
    await conversation.begin()
    settle(0)
    for number in range(1, cells + 1):
        for said, there in watch.world.asides:
            before = len(conversation.turns)
            await conversation.set_present(there)
            await conversation.say(said)
            settle(before)
            await conversation.set_present(PARTIES.others)
            await conversation.retry()
            there_then = (PARTIES.player, *there)
            watch.check(there)
            watch.hear(conversation.turns[-1].line.text if conversation.turns[-1].line else "", there_then)
            before = len(conversation.turns)
            await conversation.say("All of you, what now?")
            settle(before)
        before = len(conversation.turns)
        await conversation.play()
        settle(before)
        shown = secrets_in(conversation.where.headline)
        assert not shown - watch.knows[PARTIES.player], "where the player is, is no news"
        while number < cells and conversation.state.cell == number:
            await conversation.gather()
            before = len(conversation.turns)
            await conversation.go_on()
            settle(before)


async def gossip(name: str, seed: int, aids: Aids, preset: Preset = "improved") -> Watch:
    system, world = find(name), world_of(seed, plain=aids == "on")
    script = Gossips(world)
    watch = Watch(world, script)
    small = {"sentences": _SENTENCES, "candidates": 2, "samples": 1} if name == "snap" else {}
    small |= {"turns_per_step": 0} if small and preset == "improved" else {}
    with Journal() as journal:
        journal.decisions.add("personas", "edit", personas_of(world))
        context = RunContext(
            journal,
            SystemPrompts(system.prompt_folders(preset), common=PROMPTS),
            Cast.of(ScriptedModel(script)),
            aids=aids,
        )
        config = system.config(preset, small)
        talk = await system.program(config).open_talk(world.text, Run(context), config, PARTIES)
        if name == "vanilla":
            watch.enter(_CELLS)
        await lived(watch, open_conversation(None, talk, context))
    return watch


@pytest.mark.parametrize("aids", ["off", "on"])
@pytest.mark.parametrize("name", ["snap", "vanilla"])
async def test_a_hundred_secrets_reach_nobody_who_did_not_witness_them(name: str, aids: Aids) -> None:
    found = [await gossip(name, seed, aids) for seed in range(_STORIES)]
    worlds = [watch.world for watch in found]
    told = set.union(*(secrets_in(f"{world.text} {world.personas} {world.asides}") for world in worlds))
    assert len(told) == _STORIES * _SECRETS
    assert sum(watch.checked for watch in found) >= (40 if name == "snap" else 9) * _STORIES
    assert [leak for watch in found for leak in watch.leaks] == []


async def test_what_the_paper_shares_is_found_out() -> None:
    assert (await gossip("snap", 1, "off", "faithful")).leaks
    assert (await gossip("vanilla", 1, "off", "faithful")).leaks


@pytest.mark.parametrize("seed", range(3))
async def test_two_agents_that_write_a_story_keep_what_is_theirs(seed: int) -> None:
    world = world_of(seed, plain=False)
    script = Gossips(world)
    watch = Watch(world, script)
    system = find("snap")
    with Journal() as journal:
        journal.decisions.add("personas", "edit", personas_of(world))
        context = RunContext(
            journal, SystemPrompts(system.prompt_folders("improved"), common=PROMPTS), Cast.of(ScriptedModel(script))
        )
        config = system.config(
            "improved", {"sentences": _SENTENCES, "candidates": 2, "samples": 1, "player": "Ann", "npc": "Bob"}
        )
        await system.write(Brief(world.text), Run(context), config)
    first = [request for request in script.asked if "cell-1/" in request.path]
    watch.enter(1)
    plans = [request for request in first if request.path.endswith("/plan")]
    assert {request.path.split("/")[1] for request in plans} == {"plan", "player-plan"}
    for request in plans:
        who = "Ann" if "/player-plan/" in request.path else "Bob"
        assert secrets_in(request.messages[-1].content) <= watch.knows[who], request.path
    opening = next(request for request in first if request.path.endswith("/turn/1/answer"))
    assert secrets_in(str(opening.messages)) <= watch.knows["Bob"]


async def test_a_server_keeps_what_is_said_behind_somebodys_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(4, plain=False)
    script = Gossips(world)
    watch = Watch(replace(world, personas={}), script)
    monkeypatch.setattr("serving.STORY", world.text)
    config = {"player": "Ann", "npc": "Bob, Cyd", "sentences": _SENTENCES, "candidates": 1}
    async with here(tmp_path, ScriptedModel(script), system="snap", config=config) as server:  # type: ignore[arg-type] # any model
        watch.enter(1)
        words: list[str] = []
        for said, there in [("Good day.", PARTIES.others), *world.asides, ("All of you?", PARTIES.others)]:
            words.append(said)
            more = {"model": "fabula/lamp/Bob+Cyd", "metadata": {"present": ", ".join(there)}}
            watch.hear(said, (PARTIES.player, *there))
            words.append(await server.answer(*words, **more))
            watch.check(there)
            watch.hear(words[-1], (PARTIES.player, *there))
        again = await server.answer(*words[:-1], model="fabula/lamp/Bob+Cyd", metadata={"present": "Bob, Cyd"})
        assert again
        watch.check(PARTIES.others)
    assert watch.checked > 5
    assert watch.leaks == []
