"""Character Simulation: scenes are role-played in the order of time, then rewritten in the order of telling.

From top to bottom: both steps (section 3.2), the sortings (P_c and o_c), from scene to scene (M), Algorithm 1, its
director agent D, its character agents A, and the rewrite step.

Knowledge is private by construction: an agent learns of a turn only through `Agent.witness`, which is called for those
who are present. A prompt to a character is made from its own `Agent`, its sheet, the turns that were played before it
in the unit that it is in, and the director's command. With `private` the director knows nothing that they do not share.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import PlanError, ReplyError
from fabula.craft.length import parse_range, read_range
from fabula.craft.packing import around, first_of, last_of, latest
from fabula.craft.planning import PlanOptions, plan_for
from fabula.craft.prose import Prose, clean_reply, clean_text, write_prose
from fabula.engine.roles import is_person
from fabula.engine.run import side_by_side
from fabula.story import SLUG_LENGTH, Story, count_words, slug
from fabula.systems.character_simulation.replies import Spoken, direction_type, order_type, outline_type, verdict_type
from fabula.systems.character_simulation.transcript import Turn, transcript, turns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.replies import TextKind
    from fabula.engine.run import Run
    from fabula.models.base import Reply, Sampling
    from fabula.story import Brief
    from fabula.story.plan import Character, Plan, ScenePlan, Unit
    from fabula.systems.character_simulation.config import Config

AgentMap: TypeAlias = "dict[str, Agent]"
"""The map M of Algorithm 1: agents by name."""

_TOKENS_A_NAME, _TOKENS_AN_EVENT, _TOKENS_A_COMMAND = 24, 90, 140  # of replies that are to be short
_TURN_TOKENS, _MEMORY_TOKENS, _STATE_TOKENS = 160, 200, 100  # of replies that are to be short
_HISTORY_TOKENS = 4000  # of the chat history, in prompts that are to be short
_WRITER_TOKENS, _WRITER_SHARE = 6000, 0.75  # of the writer's prompt; the rest of its context is for the reply
_BRIEF, _GIST, _SCENES, _STORY, _PLAYED = 0.10, 0.05, 0.15, 0.25, 0.25  # shares of the writer's prompt
_TURN_WORDS, _MEMORY_WORDS, _SCENE_WORDS = 60, 80, 400  # for estimates
_SAME: Final = 0.9  # share of two commands' words that agree, from which on they are one command
_TRIES: Final = 3
_LEAST_WORDS: Final = 3  # a command of fewer words is none
_ROOM: Final = 6  # characters of an artefact's name that a unit's number may take
_TAKEN: Final = {"plan", "order"}  # names of other artefacts
_LABELS: Final = (
    *("Character", "Memory", "Physical state", "Last turns", "Director"),
    *("Writing prompt", "Central conflict", "Setting", "Story so far", "How it was played", "Scene to write"),
)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Both steps of section 3.2: role-play in the order of time (P_c), rewrite in the order of telling (P_p).

    Scenes without a common character are played side by side: agents learn of turns only by witnessing them, so such
    scenes cannot affect each other. A scene is rewritten as soon as it is played and the one before it is written.
    """
    options = PlanOptions.of(config)
    p_p = await plan_for(run, brief, options)
    run.check_cast("character", [character.name for character in p_p.characters])
    p_c = _units_in_time(p_p, await sort_scenes(p_p, run, config))
    of_scene: dict[str, list[TimedUnit]] = {}
    for unit in p_c:
        of_scene.setdefault(unit.scene.name, []).append(unit)
    story = Story(brief.title or p_p.title)

    async def rewrite_step() -> None:
        nonlocal story
        for scene in p_p.scenes:
            units = of_scene[scene.name]
            histories = [(await unit.outcome).history for unit in units]
            label = f"Scene {scene.name}" if slug(scene.name) in _TAKEN else scene.name
            task = RewriteTask(brief, p_p, scene, histories, story, config)
            story = story.add(label, await run.keep(slug(label), task.write, folder="story"))

    await side_by_side([*(play_unit(unit, run, config) for unit in p_c), rewrite_step()])
    return story


# the role-playing step: both sortings (section 3.2.2) -----------------------------------------------------------------


async def sort_scenes(plan: Plan, run: Run, config: Config) -> tuple[str, ...]:
    """P_c: the names of all scenes in the order in which they happen; one call, none where story times settle it.

    Raises:
        PlanError: the author's own order does not fit the plan.
        ReplyError: no order could be read (only without `lenient_order`).
    """
    if (known := plan.chronology()) is not None:
        return known

    async def make(own: Run) -> str:
        try:
            found = await own.ask_for(
                order_type(plan.names, plan.accepts),
                "sorter",
                "sort_scenes",
                sampling=_sampling(own, config, "sorter", _TOKENS_A_NAME * len(plan.names) + _TOKENS_AN_EVENT),
                scenes=plan.scenes,
                instruction_first=config.ours.instruction_first,
            )
            names = found.scenes
        except ReplyError as error:
            # The order in an estimate is made up: where it does not fit the plan, that is nobody's mistake.
            stands_in = own.unless_made_up(lambda: config.ours.lenient_order, instead=True)
            if not stands_in:
                raise
            own.note(f"No order of time could be read; the order of telling stands in. {error}")
            names = plan.assumed_chronology()
        return "\n".join(f"- {name}" for name in names)

    def read(text: str) -> list[ScenePlan]:
        order = [line if line in known_names else _bare(line) for line in map(str.strip, text.splitlines()) if line]
        if problem := plan.accepts(order):
            raise PlanError(
                (f"plan/order.md: {problem} `fabula edit order --revert` goes back to the order made for you.",)
            )
        return [plan.scene(name) for name in order]

    known_names = set(plan.names)
    return tuple(scene.name for scene in await run.keep_as(read, "order", make, folder="plan"))


def _bare(line: str) -> str:
    """A line of a list without its bullet or number."""
    head, _, rest = line.partition(" ")
    return rest.strip() if head in {"-", "*"} or (head[:-1].isdigit() and head[-1:] in {".", ")"}) else line


async def chronological_outline(unit: TimedUnit, run: Run, config: Config) -> tuple[str, ...]:
    """o_c: the unit's events in the order of time, in the present tense; one call, no event added.

    Raises:
        ReplyError: no outline could be read (only without `lenient_order`).
    """
    events = [event.text for event in unit.planned.events]
    if not unit.people:
        return tuple(events)  # nobody is there to play it
    try:
        found = await run.ask_for(
            outline_type(len(events), numbered=config.ours.numbered),
            "sorter",
            "chronological_outline",
            sampling=_sampling(run, config, "sorter", _TOKENS_AN_EVENT * (len(events) + 1)),
            scene=unit.scene,
            people=unit.people,
            events=unit.planned.events,
            private=config.ours.private,
            numbered=config.ours.numbered,
            instruction_first=config.ours.instruction_first,
        )
    except ReplyError as error:
        if not config.ours.lenient_order:
            raise
        run.note(f"No outline in the order of time could be read; the scene's own stands in. {error}")
        return tuple(events)
    if not config.ours.numbered:
        return tuple(found.points)
    return _each_once(events, [(point.event, point.text) for point in found.points])


def _each_once(events: list[str], points: list[tuple[int, str]]) -> tuple[str, ...]:
    """The points, each event's first one; one without a point comes in its own words, before the events after it."""
    order = list(dict.fromkeys(number for number, _ in points))
    texts = dict(reversed(points))  # reversed, so that an event's first point is kept
    for number in range(1, len(events) + 1):
        if number not in texts:
            after = next((at for at, other in enumerate(order) if other > number), len(order))
            order.insert(after, number)
            texts[number] = events[number - 1]
    return tuple(texts[number] for number in order)


# the role-playing step: from scene to scene (M) -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What playing a unit gives: the chat history H, and the agents as they are after it."""

    history: tuple[Turn, ...]
    agents: AgentMap


@dataclass(eq=False, slots=True)
class TimedUnit:
    """A unit of P_c at its place in time: a scene, or those of its events that happen at one time.

    Attributes:
        planned: the scene, and its events in the order of telling.
        name: of its artefact.
        people: the characters who are there, and what each of them wants in the scene.
        before: for each of them the unit that they come from, if there is one.
        outcome: is there once the unit was played.
    """

    planned: Unit
    name: str
    people: tuple[tuple[Character, str], ...]
    before: Mapping[str, TimedUnit]
    outcome: asyncio.Future[Outcome] = field(default_factory=asyncio.Future)

    @property
    def scene(self) -> ScenePlan:
        """The scene that it belongs to."""
        return self.planned.scene

    async def agents(self) -> AgentMap:
        """M for this unit (Algorithm 1, lines 5 to 9): everybody who is there, before the first turn.

        An agent that exists already comes as the last unit it was in left it (line 6); any other is new (line 8).
        """
        return {
            name: (await self.before[name].outcome).agents[name] if name in self.before else Agent(name)
            for name in self.planned.present
        }


def _units_in_time(plan: Plan, order: Sequence[str]) -> list[TimedUnit]:
    """All units in the order of time; each follows the latest ones before it that its characters are in."""
    sheets = {character.name: character for character in plan.characters}
    latest_of: dict[str, TimedUnit] = {}
    units = plan.units(order)
    timed = []
    for unit, name in zip(units, _names(plan, units), strict=True):
        people = tuple((sheets[presence.name], presence.goal) for presence in unit.characters)
        before = {who: latest_of[who] for who in unit.present if who in latest_of}
        timed.append(TimedUnit(unit, name, people, before))
        latest_of |= dict.fromkeys(unit.present, timed[-1])
    return timed


def _names(plan: Plan, units: Sequence[Unit]) -> Iterator[str]:
    """Names of the units' artefacts: the scene's, from its second unit on with a number after it; no two are alike."""
    taken = {slug(scene.name) for scene in plan.scenes}
    for unit in units:
        name = slug(unit.scene.name)
        if unit.part > 1:
            base = name[: SLUG_LENGTH - _ROOM].rstrip("-")
            name = next(label for n in count(unit.part) if (label := f"{base}-{n}") not in taken)
            taken.add(name)
        yield name


async def play_unit(unit: TimedUnit, run: Run, config: Config) -> None:
    """Play a unit, or let its characters live through a transcript that a person wrote, edited or pinned.

    Which of the two it is, the transcript says: with the very turns that were just made, the agents stay as Algorithm 1
    left them; with any others, they live through those instead (`lived_through`).
    """
    place = run.scope("role-play")
    made: Outcome | None = None

    async def make(own: Run) -> str:
        nonlocal made
        o_c = await chronological_outline(unit, run.scope("outline", unit.name), config)
        m = await unit.agents()  # waits for the units before; they are played while the outline is made
        h = await role_play(SceneInPlay(unit, o_c, own, config), m)
        made = Outcome(tuple(replace(turn, command="") for turn in h), m)  # as `turns_of` reads them: without commands
        return transcript(h)

    def read(text: str) -> tuple[tuple[Turn, ...], AgentMap | None]:
        turns = turns_of(text)
        return turns, made.agents if made is not None and made.history == turns else None

    h, m = await place.keep_as(read, unit.name, make, folder="role-play")
    if m is None:
        own = place.within(unit.name)
        m = await lived_through(h, SceneInPlay(unit, (), own, config), await unit.agents())
        m = own.passed_on(m)  # later units wait for these agents on a line of work of their own
    if not config.ours.carry_unseen:  # the paper's chat history begins anew with each scene
        m = {name: replace(agent, unseen=()) for name, agent in m.items()}
    unit.outcome.set_result(Outcome(h, m))


# Algorithm 1 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneInPlay:
    """The scene S_i as Algorithm 1 takes it, with its outline o_c, and where its calls are made."""

    unit: TimedUnit
    outline: tuple[str, ...]
    run: Run
    config: Config

    @property
    def names(self) -> tuple[str, ...]:
        """Who is there and can be chosen to speak."""
        return self.unit.planned.present


async def role_play(s_i: SceneInPlay, m: AgentMap) -> list[Turn]:
    """Algorithm 1: the chat history H of the scene; afterwards M holds everybody who was there as they are after it.

    Raises:
        ReplyError: the director or a character gave nothing that can be read; the run goes on from there.
    """
    h: list[Turn] = []  # line 1
    d = Director(s_i)  # line 2
    # Line 3. Section 5.2 bounds the iterations; where nobody is present there is nobody to choose.
    while s_i.names and len(h) < s_i.config.paper.max_turns and not await d.should_terminate(h):
        direction = await d.next_speaker_and_command(h)  # lines 4 and 10: one call, as appendix B.1.2 has it
        if direction is None:  # ours: the director goes in circles
            break
        a_i = m[direction.speaker]  # lines 5 to 9 were done before: `TimedUnit.agents` put everybody present into M
        a_i = m[a_i.name] = await update_state(a_i, s_i, len(h) + 1)  # line 11
        h_i = await get_response(a_i, h, direction, s_i)  # line 12
        h.append(h_i)  # line 13
        m |= {name: m[name].witness(h_i) for name in s_i.names}  # A.update_state's new history: all present witness h_i
    return h  # line 15


async def lived_through(h: Sequence[Turn], s_i: SceneInPlay, m: AgentMap) -> AgentMap:
    """M after turns that a person wrote, edited or pinned: everybody takes them in as if they had just been played.

    The calls are those of `role_play` without the director and the responses, so turns left as they were played cost
    nothing.
    """
    for number, turn in enumerate(h, 1):
        if turn.name in s_i.names:
            m[turn.name] = await update_state(m[turn.name], s_i, number)
        m |= {name: m[name].witness(turn) for name in s_i.names}
    return m


# the director agent D -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Direction:
    """Who speaks next, the command C_j for them, and the event that it is about ("" where that is not known)."""

    speaker: str
    command: str
    event: str = ""

    def same(self, other: Direction) -> bool:
        """Whether both give the same character much the same command."""
        words = self.command.casefold().split(), other.command.casefold().split()
        return self.speaker == other.speaker and SequenceMatcher(None, *words).ratio() >= _SAME


@dataclass
class Director:
    """D: ends one scene, selects who speaks next, and commands (section 3.2.1, appendix B.1.2)."""

    s_i: SceneInPlay
    uncovered: str = ""
    given: list[Direction] = field(default_factory=list)
    repeats: int = 0

    async def should_terminate(self, h: Sequence[Turn]) -> bool:
        """Whether `h` covers the outline; `uncovered` says which events the director misses, and whose they are."""
        s_i, ours = self.s_i, self.s_i.config.ours
        if len(h) < min(ours.min_turns, len(s_i.outline)):
            return False
        wanted = verdict_type(s_i.names, len(s_i.outline), numbered=ours.numbered)
        verdict = await self._ask(wanted, "terminate", h)
        if ours.numbered:
            missed = [f"{s_i.outline[one.event - 1]} ({one.character})" for one in verdict.uncovered]
            self.uncovered = f"Not yet covered: {'; '.join(missed)}" if missed else ""
        else:
            self.uncovered = " ".join(verdict.reasons.split())
        return bool(verdict.covered)

    async def next_speaker_and_command(self, h: Sequence[Turn]) -> Direction | None:
        """Who speaks next and the command for them; `None` where the director goes in circles.

        A command that was given before is noted. With a `repeat_limit`, the director is shown what was done and asked
        once more; after so many repeats the scene ends.
        """
        limit, direction = self.s_i.config.ours.repeat_limit, await self._direction(h)
        if any(direction.same(before) for before in self.given):
            self.repeats += 1
            missing = f" {self.uncovered}" if self.uncovered else ""
            self.s_i.run.note(f"Turn {len(h) + 1}: the director repeats a command to {direction.speaker}.{missing}")
            if limit and self.repeats >= limit:
                return None
            if limit:
                direction = await self._direction(h, done=tuple(before.command for before in self.given))
        self.given.append(direction)
        return direction

    async def _direction(self, h: Sequence[Turn], done: tuple[str, ...] = ()) -> Direction:
        s_i, ours = self.s_i, self.s_i.config.ours
        wanted = direction_type(s_i.names, len(s_i.outline), numbered=ours.numbered)
        uncovered = self.uncovered if ours.tell_uncovered else ""
        found = await self._ask(wanted, "direct", h, uncovered=uncovered, done=done, names=s_i.names)
        command = " ".join(str(found.next_command).split())
        if not (ours.numbered and s_i.run.aids("director")):
            return Direction(found.next_speaker, command)
        # A small director's commands may say nothing: the character is shown the event too, or it alone.
        command = clean_text(s_i.run, "director", command, labels=s_i.names, kind="notes")
        event = self._least_given(found.remaining)
        return Direction(found.next_speaker, command if count_words(command) >= _LEAST_WORDS else event, event)

    def _least_given(self, remaining: Sequence[int]) -> str:
        """Of the events that remain, the one that commands were least often about; the outline's where none remains."""
        given = [before.event for before in self.given]
        events = [self.s_i.outline[number - 1] for number in dict.fromkeys(remaining)] or self.s_i.outline
        return min(events, key=given.count)

    async def _ask(self, wanted: type[Any], prompt: str, h: Sequence[Turn], **fields: object) -> Any:  # noqa: ANN401 - a type made at run time
        s_i, ours = self.s_i, self.s_i.config.ours
        again = ("again",) if fields.get("done") else ()
        most = _TOKENS_A_COMMAND + _TOKENS_AN_EVENT * len(s_i.outline)
        return await s_i.run.scope("turn", len(h) + 1, *again).ask_for(
            wanted,
            "director",
            prompt,
            sampling=_sampling(s_i.run, s_i.config, "director", most),
            scene=s_i.unit.scene,
            people=s_i.unit.people,
            outline=s_i.outline,
            history=_fitting(h, s_i, "director"),
            private=ours.private,
            numbered=ours.numbered,
            instruction_first=ours.instruction_first,
            **fields,
        )


# the character agents A -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agent:
    """A: what a character carries from scene to scene: its memory, its physical state, what it has not taken in yet."""

    name: str
    memory: str = ""
    state: str = ""
    unseen: tuple[Turn, ...] = ()

    def witness(self, turn: Turn) -> Agent:
        """After a turn that was played where the agent was present."""
        return replace(self, unseen=(*self.unseen, turn))


async def update_state(agent: Agent, s_i: SceneInPlay, turn: int) -> Agent:
    """The agent after taking in what it has not yet taken in: memory and physical state, updated side by side."""
    if not agent.unseen and not s_i.config.ours.update_always:
        return agent
    memory, state = await side_by_side(_updated(agent, s_i, turn, kind) for kind in ("memory", "state"))
    return replace(agent, memory=memory, state=state, unseen=())


async def _updated(agent: Agent, s_i: SceneInPlay, turn: int, kind: str) -> str:
    """The new text of an agent's memory or physical state; the old one where nothing usable came."""
    now, most = (agent.memory, _MEMORY_TOKENS) if kind == "memory" else (agent.state, _STATE_TOKENS)
    fields = {
        "character": _sheet(agent, s_i)[0],
        "kind": "memory" if kind == "memory" else "physical state",
        "now": now,
        "unseen": _fitting(agent.unseen, s_i, "memory"),
        "instruction_first": s_i.config.ours.instruction_first,
    }
    run, sampling = s_i.run.scope("turn", turn), _sampling(s_i.run, s_i.config, "memory", most)
    reply = await run.reply("memory", kind, sampling=sampling, expect=_MEMORY_WORDS, **fields)
    if not s_i.config.ours.clean_replies:
        return reply.text
    return _cleaned(run, "memory", reply, s_i, run.render(kind, **fields), "notes") or now


async def get_response(agent: Agent, h: Sequence[Turn], direction: Direction, s_i: SceneInPlay) -> Turn:
    """The agent's turn in the third person, by its goal, physical state and memory (section 3.2.1).

    Its own name is the role that is asked, so that each character can be cast by name; everybody else is played by the
    system's open role, `character` (`open_role` in paper.toml).

    A turn in plain text is drawn again, a bounded number of times, if it is empty; then a sentence made of the
    director's command stands in.
    """
    config, command = s_i.config, direction.command
    character, wants = _sheet(agent, s_i)
    fields = {
        "character": character,
        "memory": agent.memory,
        "state": agent.state,
        "recent": _fitting(h[max(len(h) - config.paper.recent, 0) :], s_i, agent.name),
        "wants": wants,
        "command": command,
        "event": direction.event if direction.event != command else "",
        "instruction_first": config.ours.instruction_first,
    }
    run, sampling = s_i.run.scope("turn", len(h) + 1), _sampling(s_i.run, config, agent.name, _TURN_TOKENS)
    if not config.ours.plain_response:
        spoken = await run.ask_for(Spoken, agent.name, "respond", sampling=sampling, **fields)
        return Turn.of(agent.name, spoken.response, command)
    fault = ""
    for attempt in range(_TRIES):
        here = run.again(attempt, fault)
        reply = await here.reply(agent.name, "respond", sampling=sampling, expect=_TURN_WORDS, **fields)
        text = reply.text
        if config.ours.clean_replies and not is_person(reply.model):  # a person means what they write
            text = _cleaned(here, agent.name, reply, s_i, here.render("respond", **fields), "prose")
            fault = here.fault(text, "respond", fields)
        turn = Turn.of(agent.name, text, command)
        if turn.text and not fault:
            return turn
        here.removed("reply", turn.text)
    run.note(f"{agent.name} gave no turn of use in {_TRIES} tries; the director's command stands in.")
    return Turn.of(agent.name, last_of(f"{agent.name} does what the director says: {command}", _TURN_TOKENS), command)


def _sheet(agent: Agent, s_i: SceneInPlay) -> tuple[Character, str]:
    """The agent's character, and what it wants in the scene."""
    return next((sheet, wants) for sheet, wants in s_i.unit.people if sheet.name == agent.name)


def _fitting(turns: Sequence[Turn], s_i: SceneInPlay, role: str) -> tuple[Turn, ...]:
    """The last of `turns` that fit into a role's prompt."""
    if not s_i.config.ours.fit_prompts:
        return tuple(turns)
    kept = latest([str(turn) for turn in turns], s_i.run.prompt_tokens(role, _HISTORY_TOKENS))
    return tuple(turns[len(turns) - len(kept) :])


def _cleaned(run: Run, role: str, reply: Reply, s_i: SceneInPlay, echo: str, kind: TextKind) -> str:
    """A reply without chatter; possibly empty."""
    return clean_reply(run, role, reply, labels=(*s_i.names, *_LABELS), echo=[echo], kind=kind)


def _sampling(run: Run, config: Config, role: str, short: int) -> Sampling:
    """How a reply is drawn; `short` bounds its tokens for models that run on."""
    return replace(config.paper.sampling, max_tokens=run.reply_tokens(role, short))


# the rewrite step (section 3.2.3) -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RewriteTask:
    """One scene to be written: what was played of it, in the order of time, and the story so far."""

    brief: Brief
    plan: Plan
    scene: ScenePlan
    histories: Sequence[Sequence[Turn]]
    story: Story
    config: Config

    async def write(self, run: Run) -> str:
        """The scene's text by its presentation outline o_p; one call, or more where length is controlled."""
        ours, plan, last = self.config.ours, self.plan, self.scene is self.plan.scenes[-1]
        fields = self._inputs(run) | {"last": last, "instruction_first": ours.instruction_first}
        if not ours.clean_replies:
            sampling = self.config.paper.sampling
            return await run.ask(
                "writer", "rewrite", sampling=sampling, expect=_SCENE_WORDS, words=None, lead="", **fields
            )
        names = [*(scene.name for scene in plan.scenes), *(character.name for character in plan.characters)]
        written = [scene.text for scene in self.story.scenes[-3:]]
        prose = Prose(last, self._length(), (*_LABELS, *names), _SCENE_WORDS, previous=(written or [""])[-1])
        return await write_prose(run, "writer", "rewrite", prose, before=written, fields=fields)

    def _length(self) -> WordRange | None:
        """The words that this scene should have: what is left of the brief's range, shared by importance."""
        ours = self.config.ours
        if not ours.length_control:
            return None
        whole = parse_range(ours.words) if ours.words else read_range(self.brief.text)
        if whole is None:
            return None
        ahead = self.plan.scenes[self.plan.scenes.index(self.scene) :]
        return whole.of_sections([scene.importance for scene in ahead], [scene.words for scene in self.story.scenes])

    def _inputs(self, run: Run) -> dict[str, Any]:
        """The ten inputs of appendix B.2; with `fit_prompts` each within its share of the prompt."""
        plan, scene = self.plan, self.scene
        full = [f"{one.name}: {' '.join(event.text for event in one.outline)}" for one in plan.scenes]
        played = "\n\n* * *\n\n".join("\n\n".join(map(str, turns)) for turns in self.histories if turns)
        people = [(plan.character(one.name), one.goal) for one in scene.characters]
        given: dict[str, Any] = {"people": people, "scene": scene, "manner": plan.manner}
        if not self.config.ours.fit_prompts:
            texts = {"brief": self.brief.text, "conflict": plan.conflict, "setting": plan.setting}
            return given | texts | {"scenes": tuple(full), "story": self.story.text, "played": played}
        most = run.prompt_tokens("writer", _WRITER_TOKENS, _WRITER_SHARE)
        return given | {
            "brief": first_of(self.brief.text, int(most * _BRIEF)),
            "conflict": first_of(plan.conflict, int(most * _GIST)),
            "setting": first_of(plan.setting, int(most * _GIST)),
            "scenes": around(full, plan.names, plan.scenes.index(scene), int(most * _SCENES)),
            "story": last_of(self.story.text, int(most * _STORY)),
            "played": last_of(played, int(most * _PLAYED)),
        }
