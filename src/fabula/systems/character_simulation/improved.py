"""Character Simulation as we would use it: who knows what follows from who is there, and the length asked is met.

From top to bottom: both steps, a scene's units in time, the chronological outline, a turn (director, memory,
character), and the rewrite step. It differs from the paper (`algorithm.py`) in this:

- A scene's events may have times, places and witnesses of their own; those of one time before the same people are a
  *unit*, and units are played in the order of time.
- Knowledge is private by construction: an agent learns of a turn only through `Agent.witness`, which is called for
  those who are there; its prompts are made of its own sheet, its memory, the turns of its unit and the command. The
  director and the sorter of events are shown of people what anybody there notices, so that no command betrays a secret.
- A turn takes three calls instead of five: the director decides in one reply, and the memory holds the physical state.
- Prompts fit into the model's context, however long the story is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, groupby
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import NoRoomError, ReplyError
from fabula.craft.length import WordRange, asked_range
from fabula.craft.packing import around, last_of, latest
from fabula.craft.personas import check_cast
from fabula.craft.planning import PlanOptions, plan_for
from fabula.craft.prose import Prose, clean_reply, reply_fault, write_prose
from fabula.engine.roles import is_person
from fabula.engine.run import Run, WorkBranch, branches
from fabula.story import SLUG_LENGTH, Brief, Story, one_line, slug
from fabula.story.situation import Situation, known_to_all, named_in_short, place_of, situation_of
from fabula.systems.character_simulation.algorithm import label_of, sort_scenes
from fabula.systems.character_simulation.config import Config, Ours
from fabula.systems.character_simulation.replies import decision_type, numbered_outline_type
from fabula.systems.character_simulation.transcript import ChatMessage, transcript, turns_of

if TYPE_CHECKING:
    from fabula.engine.replies import TextKind
    from fabula.models.base import Reply, Sampling
    from fabula.story.plan import Plan, ScenePlan, Unit


Agents: TypeAlias = "dict[str, Agent]"

_TURN_TOKENS, _MEMORY_TOKENS = 160, 200  # of replies of a small model, which else runs on
_EARLIER_TOKENS, _HISTORY_TOKENS = 400, 4000  # of what was played, in a small model's prompts
_WRITER_TOKENS, _WRITER_SHARE = 6000, 0.75  # of the writer's prompt; the rest of its context is for the reply
_EARLIER, _SCENES, _STORY, _PLAYED = 0.05, 0.15, 0.25, 0.25  # shares of a prompt
_SCENE_WORDS: Final = 400  # that a scene usually has
_FEWER_TURNS: Final = "some scenes have fewer turns than their plan takes"
_USUAL_TURNS: Final = 1.6  # in which capable characters play an event, for estimates
_TRIES: Final = 3
_LEAST_TURNS, _TURNS_AN_EVENT = 10, 2  # of a scene where `max_turns` sets none
_ROOM: Final = 6  # characters of an artefact's name that a unit's number may take
_LABELS: Final = (
    *("Character", "Memory", "Last turns", "Director"),
    *("Writing prompt", "Central conflict", "Setting", "Story so far", "How it was played", "Scene to write"),
)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Play units in order of time, in parallel if they share no character; then write scenes in order of telling.

    Raises:
        PlanError: the author's plan or personas, or their order of the scenes, have problems.
        ReplyError: a reply could not be read; the run continues from there.
    """
    p_p = await plan_for(run, brief, PlanOptions.of(config))
    check_cast(run, "character", [character.name for character in p_p.characters])
    p_c = await sort_scenes(p_p, run, config)
    order = tuple(scene.name for scene in p_c)
    units = units_in_time(p_p, order)
    story = Story(brief.title or p_p.title, breaks=True)

    async with branches() as begin:
        for unit in units:
            unit.outcome = begin(play_unit(unit, run, config))
        for scene in p_p.scenes:
            own = [unit for unit in units if unit.scene is scene]
            played = [(unit.planned, turns_of((await unit.outcome).text)) for unit in own]
            task = RewriteTask(brief, p_p, order, scene, played, story, config)
            story = story.add(label_of(scene), await run.keep(slug(label_of(scene)), task.write, folder="story"))
    return story


# units in time --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Agent:
    """What a character carries from unit to unit: its memory, and what it has not taken in yet, each with its place."""

    name: str
    memory: str = ""
    unseen: tuple[tuple[str, str], ...] = ()

    def witness(self, what: str, at: str) -> Agent:
        """After something that happened where the agent was present."""
        return replace(self, unseen=(*self.unseen, (at, what)))


@dataclass(frozen=True)
class Played:
    """A unit that was played: its transcript, and everybody who was there as they are after it."""

    text: str
    agents: Agents = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class TimedUnit:
    """A unit of P_c at its place in time: a scene, or those of its events of one time before the same people.

    Attributes:
        planned: the scene, and its events in the order of telling.
        name: of its artefact.
        situations: of each character who is there, what it knows of the scene.
        open: whose set-up the others may know: everybody's in a plan that says apart what people hide.
        before: for each of them the unit that they come from, if there is one.
        earlier: the units of the scene before it that all of them were in.
        noticed: of each of them, what they noticed since the unit that they come from of units that they were near to.
        outcome: the playing of it, to be awaited.
    """

    planned: Unit
    name: str
    situations: Mapping[str, Situation]
    open: frozenset[str]
    before: Mapping[str, TimedUnit]
    earlier: tuple[TimedUnit, ...] = ()
    noticed: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    outcome: WorkBranch[Played] = field(init=False)

    @property
    def scene(self) -> ScenePlan:
        """The scene that it belongs to."""
        return self.planned.scene

    @property
    def names(self) -> tuple[str, ...]:
        """Who is there and can be chosen to play."""
        return self.planned.present

    @property
    def people(self) -> tuple[str, ...]:
        """Of each of them what anybody there notices and may know, on a line."""
        return tuple(one.character.seen(known=name in self.open) for name, one in self.situations.items())

    @property
    def unaware(self) -> tuple[str, ...]:
        """Names of who is there too, but neither sees nor hears it."""
        return tuple(dict.fromkeys(name for event in self.planned.events for name in self.scene.unaware(event)))

    @property
    def when(self) -> str:
        """When it happens, in words, if the plan says so; for a flashback, its own date."""
        own = self.planned.events[0].time
        return replace(self.scene, date="", time=own).when if own and own != self.scene.time else self.scene.when

    @property
    def place(self) -> str:
        """Where it happens: its events' own places, else its scene's."""
        return place_of(self.scene, self.planned.events)

    @property
    def here(self) -> str:
        """Its place and its date on one line."""
        return "; ".join(filter(None, (one_line(self.place), self.when))) or "Another place and time"

    @property
    def then(self) -> str:
        """The same, the place named in short, for those who remember it later."""
        return "; ".join(filter(None, (named_in_short(self.place), self.when))) or "Another place and time"

    async def agents(self) -> Agents:
        """Everybody who is there before the first turn: as the last unit they were in left them, or new."""
        m = {name: Agent(name) for name in self.names}
        for name, unit in self.before.items():
            m[name] = (await unit.outcome).agents.get(name, m[name])
        for name, seen in self.noticed.items():
            for at, what in seen:
                m[name] = m[name].witness(what, at)
        return m


def units_in_time(plan: Plan, order: Sequence[str]) -> list[TimedUnit]:
    """All units in the order of time; each follows the latest ones before it that its characters are in."""
    latest_of: dict[str, TimedUnit] = {}
    noticed: dict[str, tuple[tuple[str, str], ...]] = {}
    units = plan.units(order)
    timed: list[TimedUnit] = []
    for unit, name in zip(units, _names(plan, units), strict=True):
        there = unit.present
        made = TimedUnit(
            unit,
            name,
            {who: situation_of(plan, unit.scene, who, unit.events) for who in there},
            known_to_all(plan, unit.scene) & set(there),
            {who: latest_of[who] for who in there if who in latest_of},
            tuple(one for one in timed if one.scene is unit.scene and set(there) <= set(one.names)),
            {who: noticed.pop(who) for who in there if who in noticed},
        )
        made.situations = {who: replace(one, date=made.when) for who, one in made.situations.items()}
        timed.append(made)
        latest_of |= dict.fromkeys(there, made)
        for event in unit.events:
            for who in unit.scene.unaware(event) if event.notices else ():
                seen = f"Meanwhile, all that was to be noticed: {one_line(event.notices)}"
                noticed[who] = (*noticed.get(who, ()), (made.then, seen))
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


@dataclass(frozen=True, slots=True)
class InPlay:
    """A unit with its chronological outline, and where its calls are made."""

    unit: TimedUnit
    outline: tuple[str, ...]
    run: Run
    config: Config

    @property
    def most(self) -> int:
        """How many turns it may have: `max_turns`, or as many as its outline needs."""
        most = self.config.paper.max_turns
        return max(_LEAST_TURNS, _TURNS_AN_EVENT * len(self.outline)) if most is None else most

    def sampling(self, role: str, short: int | None = None) -> Sampling:
        """How a role's replies are drawn; `short` bounds their tokens for models that run on."""
        drawn = self.config.paper.sampling
        return replace(drawn, max_tokens=self.run.room(role).reply_tokens(short)) if short else drawn

    def fitting(self, texts: Sequence[str], role: str) -> tuple[str, ...]:
        """The last of `texts` that fit into a role's prompt."""
        return latest(texts, self.run.room(role).prompt_tokens(_HISTORY_TOKENS))

    def cleaned(self, run: Run, role: str, reply: Reply, echo: str, kind: TextKind) -> str:
        """A reply without chatter; possibly empty."""
        return clean_reply(run, role, reply, labels=(*self.unit.names, *_LABELS), echo=[echo], kind=kind)


async def play_unit(unit: TimedUnit, run: Run, config: Config) -> Played:
    """Play a unit, or let its characters live through a transcript that a person wrote or edited."""
    before = await unit.agents()

    async def make(own: Run) -> Played:
        m = before.copy()
        o_c = await chronological_outline(unit, run.scope("outline", unit.name), config)
        h = await role_play(InPlay(unit, o_c, own, config), m)
        return Played(transcript(h), m)

    async def again(own: Run, edited: Played) -> Played:
        in_play, m = InPlay(unit, (), own, config), before.copy()
        for number, turn in enumerate(turns_of(edited.text), 1):
            if turn.name in m:
                m[turn.name] = await update_memory(m[turn.name], in_play, number)
            _witnessed(turn, in_play, m)
        return Played(edited.text, m)

    place = run.scope("role-play")
    return await place.keep(unit.name, make, folder="role-play", again=again, shape=Played)


async def chronological_outline(unit: TimedUnit, run: Run, config: Config) -> tuple[str, ...]:
    """o_c: every event of the unit once, in the order of time; one call, none where nobody is there to play it.

    Where no outline can be read, the events stand in as they are told.
    """
    events = [event.text for event in unit.planned.events]
    if not unit.names:
        return tuple(events)
    try:
        found = await run.ask_for(
            numbered_outline_type(len(events)),
            "sorter",
            "chronological_outline",
            sampling=config.paper.sampling,
            place=unit.place,
            when=unit.when,
            people=unit.people,
            unaware=unit.unaware,
            events=events,
        )
    except ReplyError as error:
        run.note(f"No outline in the order of time could be read; the scene's own stands in. {error}")
        return tuple(events)
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


# a turn: director, memory, character ----------------------------------------------------------------------------------


async def role_play(in_play: InPlay, m: Agents) -> list[ChatMessage]:
    """The chat history of a unit (Algorithm 1); afterwards `m` holds everybody as they are after it."""
    h: list[ChatMessage] = []
    while in_play.unit.names:
        if len(h) == in_play.most:
            in_play.run.note(f"The scene ends after {len(h)} turns, as many as it may have.")
            break
        try:
            direction = await decide(in_play, h)
        except NoRoomError:
            break
        if direction is None:
            break
        name, command = direction
        m[name] = await update_memory(m[name], in_play, len(h) + 1)
        h.append(await get_response(m[name], h, command, in_play))
        _witnessed(h[-1], in_play, m)
    return h


def _witnessed(turn: ChatMessage, in_play: InPlay, m: Agents) -> None:
    """Everybody who is there has seen and heard a turn, and has not taken it in yet."""
    for name in in_play.unit.names:
        m[name] = m[name].witness(str(turn), in_play.unit.then)


async def decide(in_play: InPlay, h: Sequence[ChatMessage]) -> tuple[str, str] | None:
    """Who plays the next turn, and the command for them; `None` where the outline is covered. One call."""
    unit, run = in_play.unit, in_play.run.scope("turn", len(h) + 1)
    earlier = [str(turn) for one in unit.earlier for turn in turns_of((await one.outcome).text)]  # they are over
    part = len(h) / ceil(_USUAL_TURNS * max(len(in_play.outline), 1))
    found = await run.optional(_FEWER_TURNS, part=part).ask_for(
        decision_type(unit.names, len(in_play.outline), begun=bool(h), full=run.room("director").aids),
        "director",
        "decide",
        sampling=in_play.sampling("director"),
        place=unit.place,
        when=unit.when,
        people=unit.people,
        unaware=unit.unaware,
        earlier=latest(earlier, run.room("director").prompt_tokens(_EARLIER_TOKENS, _EARLIER)),
        outline=in_play.outline,
        history=in_play.fitting([str(turn) for turn in h], "director"),
        names=unit.names,
        turn=len(h) + 1,
        most=in_play.most,
    )
    return (found.next_speaker, " ".join(str(found.next_command).split())) if found.remaining else None


async def update_memory(agent: Agent, in_play: InPlay, turn: int) -> Agent:
    """The agent after taking in what it has not taken in yet, if there is any: as it saw it, as far as it fits."""
    if not agent.unseen:
        return agent
    run = in_play.run.scope("turn", turn)
    fitting = len(in_play.fitting([what for _, what in agent.unseen], "memory"))
    groups = groupby(agent.unseen[len(agent.unseen) - fitting :], key=lambda one: one[0])
    fields: dict[str, Any] = {
        "character": in_play.unit.situations[agent.name].character,
        "memory": agent.memory,
        "unseen": tuple((at, tuple(what for _, what in some)) for at, some in groups),
        "here": in_play.unit.here,
        "then": in_play.unit.then,
    }
    sampling = in_play.sampling("memory", _MEMORY_TOKENS)
    reply = await run.reply("memory", "memory", sampling=sampling, **fields)
    echo = run.render("memory", **fields | {"memory": ""})  # an update repeats what it updates
    return Agent(agent.name, in_play.cleaned(run, "memory", reply, echo, "notes") or agent.memory)


async def get_response(agent: Agent, h: Sequence[ChatMessage], command: str, in_play: InPlay) -> ChatMessage:
    """The agent's turn: plain text in the third person, drawn again a bounded number of times if it is none.

    Then a sentence made of the director's command stands in. The agent's own name is the role that is asked.
    """
    situation = in_play.unit.situations[agent.name]
    recent = [str(turn) for turn in h[max(len(h) - in_play.config.paper.recent, 0) :]]
    fields: dict[str, Any] = {
        "character": situation.character,
        "situation": situation,
        "wants": situation.wants,
        "memory": agent.memory,
        "recent": in_play.fitting(recent, agent.name),
        "command": command,
    }
    run, sampling = in_play.run.scope("turn", len(h) + 1), in_play.sampling(agent.name, _TURN_TOKENS)
    fault = ""
    for attempt in range(_TRIES):
        here = run.again(attempt, fault)
        reply = await here.reply(agent.name, "respond", sampling=sampling, **fields)
        text = reply.text
        if not is_person(reply.model):  # a person means what they write
            text = in_play.cleaned(here, agent.name, reply, here.render("respond", **fields), "prose")
            fault = reply_fault(here, text, "respond", fields)
        turn = ChatMessage.of(agent.name, text, command)
        if turn.text and not fault:
            return turn
        here.removed("reply", turn.text)
    run.note(f"{agent.name} gave no turn of use in {_TRIES} tries; the director's command stands in.")
    return ChatMessage.of(agent.name, f"{agent.name} does what the director says: {command}", command)


# the rewrite step -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RewriteTask:
    """One scene to be written: what was played of it, unit by unit in the order of time, and the story so far."""

    brief: Brief
    plan: Plan
    order: Sequence[str]
    scene: ScenePlan
    played: Sequence[tuple[Unit, Sequence[ChatMessage]]]
    story: Story
    config: Config

    async def write(self, run: Run) -> str:
        """The scene's text, of its share of the words that are asked for; one call, or more for the length."""
        plan, last = self.plan, self.scene is self.plan.scenes[-1]
        most = run.room("writer").prompt_tokens(_WRITER_TOKENS, _WRITER_SHARE)
        full = [f"{one.name}: {' '.join(event.text for event in one.outline)}" for one in plan.scenes]
        played = "\n\n* * *\n\n".join(filter(None, (self._as_played(*one) for one in self.played)))
        fields: dict[str, Any] = {
            "title": self.story.title,
            "brief": self.brief.text,
            "plan": plan,
            "scenes": around(full, plan.names, plan.scenes.index(self.scene), int(most * _SCENES)),
            "story": last_of(self.story.text, int(most * _STORY)),
            "people": plan.people(self.scene),
            "scene": self.scene,
            "played": last_of(played, int(most * _PLAYED)),
            "goes_back": self._goes_back(),
            "last": last,
        }
        names = [*(scene.name for scene in plan.scenes), *(character.name for character in plan.characters)]
        written = [scene.text for scene in self.story.scenes[-3:]]
        previous = (written or [""])[-1]
        prose = Prose(last, self._length(run), (*_LABELS, *names), _SCENE_WORDS, previous, quoted=("played",))
        return await write_prose(run, "writer", "rewrite", prose, before=written, fields=fields)

    def _goes_back(self) -> bool:
        """Whether the scene happens before the one that is told before it."""
        at = self.plan.scenes.index(self.scene)
        return at > 0 and self.order.index(self.scene.name) < self.order.index(self.plan.scenes[at - 1].name)

    def _length(self, run: Run) -> WordRange | None:
        """The words that this scene should have: what is left of the brief's range, shared by importance."""
        whole = asked_range(self.brief, (self.config.ours or Ours()).words)
        if whole is None:
            return None
        at, weights = self.plan.scenes.index(self.scene), [scene.importance for scene in self.plan.scenes]
        written = [scene.words for scene in self.story.scenes]
        return whole.of_sections(weights[at:], written, before=weights[:at], cut=run.room("writer").aids)

    def _as_played(self, unit: Unit, turns: Sequence[ChatMessage]) -> str:
        """A unit's turns; said before who was there, where that is not the whole scene."""
        lines = [str(turn) for turn in turns]
        if lines and len(unit.present) < len(self.scene.characters):
            lines.insert(0, f"[Only {_and(unit.present)} saw and heard this.]")
        return "\n\n".join(lines)


def _and(names: Sequence[str]) -> str:
    """Names in a row: "Ann, Bob and Cyd"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
