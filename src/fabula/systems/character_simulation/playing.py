"""Algorithm 1: a director and character agents play a scene, turn by turn."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.packing import last_of, latest
from fabula.engine.replies import clean_prose
from fabula.engine.roles import is_person
from fabula.story import count_words
from fabula.systems.character_simulation.agents import Turn
from fabula.systems.character_simulation.people import in_scene
from fabula.systems.character_simulation.shapes import Spoken, direction_shape, verdict_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.models.base import Reply
    from fabula.story.plan import Unit
    from fabula.systems.character_simulation.agents import Agent, Troupe
    from fabula.systems.character_simulation.algorithm import Config

_SAME: Final = 0.9  # share of two commands' words that agree, from which on they are one command
_VERDICT_TOKENS, _DIRECTION_TOKENS, _TOKENS_AN_EVENT = 60, 140, 40
_TRIES: Final = 3
_LEAST_WORDS: Final = 3  # a command of fewer words is none
_TURN_WORDS, _MEMORY_WORDS = 60, 80  # for estimates


@dataclass(frozen=True, slots=True)
class Stage:
    """A unit to be played: its outline in story time, and where its calls are made."""

    unit: Unit
    outline: tuple[str, ...]
    run: Run
    config: Config

    def at(self, run: Run) -> Stage:
        """This stage with calls made at `run`."""
        return replace(self, run=run)

    @property
    def names(self) -> tuple[str, ...]:
        """Who can be chosen to play."""
        return self.unit.scene.present


async def role_play(stage: Stage, m: Troupe) -> tuple[tuple[Turn, ...], Troupe]:
    """Algorithm 1: the turns H of the scene, and the map M with everybody who was there as they are after it.

    Raises:
        ReplyError: the director or a character gave nothing that can be read; the run goes on from there.
    """
    h: tuple[Turn, ...] = ()
    d = Director(stage, m)
    while stage.names and len(h) < stage.config.max_turns and not await d.should_terminate(h):
        direction = await d.next(h)
        if direction is None:
            break
        a = await _updated(m.agents[direction.speaker], stage, len(h) + 1)
        turn = await _response(a, direction, h, stage)
        h = (*h, turn)
        m = m.with_([a]).witness(stage.names, [turn])
    return h, m


async def lived_through(turns: Sequence[Turn], stage: Stage, m: Troupe) -> Troupe:
    """The map M after turns that a person wrote or keeps: everybody takes them in as if they had been played so.

    The calls are those of `role_play` without the director and the responses, so turns that stand as they were played
    cost nothing.
    """
    for number, turn in enumerate(turns, 1):
        if turn.name in stage.names:
            m = m.with_([await _updated(m.agents[turn.name], stage, number)])
        m = m.witness(stage.names, [turn])
    return m


@dataclass(frozen=True, slots=True)
class Direction:
    """Who plays next, the command for them, and the event that it is about ("" where that is not known)."""

    speaker: str
    command: str
    event: str = ""

    def same(self, other: Direction) -> bool:
        """Whether both tell the same character much the same."""
        words = self.command.casefold().split(), other.command.casefold().split()
        return self.speaker == other.speaker and SequenceMatcher(None, *words).ratio() >= _SAME


@dataclass
class Director:
    """The director agent D of one scene: says when it ends, who plays next, and what that one is to do."""

    stage: Stage
    m: Troupe
    uncovered: tuple[str, ...] = ()
    given: list[Direction] = field(default_factory=list)
    repeats: int = 0

    async def should_terminate(self, h: tuple[Turn, ...]) -> bool:
        """Whether `h` covers the outline; `uncovered` holds the events the director misses, and whose they are."""
        stage, config = self.stage, self.stage.config
        if len(h) < config.min_turns or not (h or config.check_empty):
            return False
        shape = verdict_shape(stage.names, len(stage.outline), numbered=config.numbered)
        verdict = await self._ask(shape, "terminate", len(h) + 1, h, _VERDICT_TOKENS)
        self.uncovered = tuple(f"{self._event(missed.event)} ({missed.character})" for missed in verdict.uncovered)
        return bool(verdict.covered)

    async def next(self, h: tuple[Turn, ...]) -> Direction | None:
        """Who plays next and the command for them; `None` where the director goes in circles.

        A command that was given before is noted. With a `repeat_limit`, the director is told what was done and asked
        once more; after so many repeats the scene ends.
        """
        limit, turn = self.stage.config.repeat_limit, len(h) + 1
        direction = await self._direction(h, turn)
        if any(direction.same(before) for before in self.given):
            self.repeats += 1
            missing = f" Uncovered: {'; '.join(self.uncovered)}." if self.uncovered else ""
            self.stage.run.note(f"Turn {turn}: the director repeats a command to {direction.speaker}.{missing}")
            if limit and self.repeats >= limit:
                return None
            if limit:
                direction = await self._direction(h, turn, done=tuple(before.command for before in self.given))
        self.given.append(direction)
        return direction

    async def _direction(self, h: tuple[Turn, ...], turn: int, *, done: tuple[str, ...] = ()) -> Direction:
        stage, config = self.stage, self.stage.config
        shape = direction_shape(stage.names, len(stage.outline), numbered=config.numbered)
        told = {"uncovered": self.uncovered if config.tell_uncovered else (), "done": done, "names": stage.names}
        found = await self._ask(shape, "direct", turn, h, _DIRECTION_TOKENS, **told)
        command = " ".join(str(found.next_command).split())
        if not config.numbered:
            return Direction(found.next_speaker, command)
        event = self._least_given(found.remaining)
        sound = clean_prose(command, labels=stage.names, last=True, kind="notes").text if config.tidy else command
        return Direction(found.next_speaker, sound if count_words(sound) >= _LEAST_WORDS else event, event)

    def _least_given(self, remaining: Sequence[int]) -> str:
        """Of the events that remain, the one that commands were least often about; the outline's where none remains."""
        told = [before.event for before in self.given]
        events = [self.stage.outline[number - 1] for number in dict.fromkeys(remaining)] or self.stage.outline
        return min(events, key=told.count)

    async def _ask(
        self, shape: type[Any], prompt: str, turn: int, h: tuple[Turn, ...], tokens: int, **fields: object
    ) -> Any:  # noqa: ANN401 - a type made at run time
        stage, config = self.stage, self.stage.config
        most = tokens + _TOKENS_AN_EVENT * len(stage.outline) if config.numbered else 0
        again = ("again",) if fields.get("done") else ()
        return await stage.run.scope("turn", turn, *again).ask_for(
            shape,
            "director",
            prompt,
            sampling=config.sampling(most),
            scene=stage.unit.scene,
            people=in_scene(stage.unit.scene, [agent.character for agent in self.m.agents.values()]),
            outline=stage.outline,
            history=_fitting(h, config),
            numbered=config.numbered,
            instruction_first=config.instruction_first,
            **fields,
        )

    def _event(self, event: int | str) -> str:
        return self.stage.outline[event - 1] if isinstance(event, int) else event


def _fitting(turns: tuple[Turn, ...], config: Config) -> tuple[Turn, ...]:
    """The last of `turns` that fit into half a prompt."""
    if not config.prompt_tokens:
        return turns
    kept = latest([f"{turn.name}: {turn.text}" for turn in turns], config.prompt_tokens // 2)
    return turns[len(turns) - len(kept) :]


async def _updated(agent: Agent, stage: Stage, turn: int) -> Agent:
    """The agent with memory and physical state brought up to date, side by side (Algorithm 1, line 11)."""
    if not agent.unseen and not stage.config.update_always:
        return agent
    async with asyncio.TaskGroup() as group:
        memory = group.create_task(_update(agent, stage, turn, "memory", agent.memory))
        state = group.create_task(_update(agent, stage, turn, "state", agent.state))
    return agent.updated(memory.result(), state.result())


async def _update(agent: Agent, stage: Stage, turn: int, what: str, now: str) -> str:
    """The new text of an agent's memory or physical state; the old one where nothing usable came."""
    config = stage.config
    most = config.memory_tokens if what == "memory" else config.memory_tokens // 2
    fields = {
        "character": agent.character,
        "kind": "memory" if what == "memory" else "physical state",
        "now": now,
        "unseen": _fitting(agent.unseen, config),
        "opening": "" if config.instruction_first else "I " if what == "memory" else f"{agent.name} ",
        "instruction_first": config.instruction_first,
    }
    reply = await stage.run.scope("turn", turn).reply(
        "memory", what, sampling=config.sampling(most), expect=_MEMORY_WORDS, **fields
    )
    if not config.tidy:
        return reply.text
    return _tidied(reply, stage, what, fields, kind="notes") or now


async def _response(agent: Agent, direction: Direction, h: tuple[Turn, ...], stage: Stage) -> Turn:
    """The agent's turn in the third person (`get_response`); drawn again, a bounded number of times, if it is empty."""
    config, command = stage.config, direction.command
    wants = next(presence.goal for presence in stage.unit.scene.characters if presence.name == agent.name)
    fields = {
        "character": agent.character,
        "memory": agent.memory,
        "state": agent.state,
        "recent": _fitting(h[max(len(h) - config.recent, 0) :], config),
        "wants": wants,
        "command": command,
        "event": direction.event if direction.event != command else "",
        "opening": f"{agent.name} " if config.plain_response and not config.instruction_first else "",
        "instruction_first": config.instruction_first,
    }
    run = stage.run.scope("turn", len(h) + 1)
    sampling = config.sampling(config.response_tokens)
    if not config.plain_response:
        spoken = await run.ask_for(Spoken, agent.name, "respond", sampling=sampling, **fields)
        return Turn.of(agent.name, spoken.response, command)
    for attempt in range(_TRIES):
        here = run.scope("again", attempt) if attempt else run
        reply = await here.reply(agent.name, "respond", sampling=sampling, expect=_TURN_WORDS, **fields)
        tidy = config.tidy and not is_person(reply.model)  # a person means what they write
        turn = Turn.of(agent.name, _tidied(reply, stage, "respond", fields) if tidy else reply.text, command)
        if turn.text:
            return turn
    stage.run.note(f"{agent.name} gave no turn of use in {_TRIES} tries; what the director said stands in.")
    return Turn.of(agent.name, last_of(f"{agent.name} does as told: {command}", _DIRECTION_TOKENS), command)


def _tidied(reply: Reply, stage: Stage, prompt: str, fields: dict[str, Any], *, kind: Any = "prose") -> str:  # noqa: ANN401 - a literal of `clean_prose`
    """A reply without chatter, labels, echoes of its prompt and loops; possibly empty."""
    shown = stage.run.render(prompt, **{**fields, "opening": ""})
    labels = (*stage.names, "Character", "Memory", "Physical state", "Last turns", "Director")
    return clean_prose(reply.text, labels=labels, last=True, echo=[shown], finish=reply.finish, kind=kind).text
