"""Character Simulation: scenes are role-played in the order of time, then rewritten in the order of telling.

From top to bottom: both steps (section 3.2), the sortings (P_c and o_c), from scene to scene (M), Algorithm 1, its
director agent D, its character agents A, and the rewrite step.

Knowledge is private by construction: an agent learns of a turn only through `Agent.witness`, which is called for those
who are present. A prompt to a character is made from its own `Agent`, its sheet, the turns that were played before it
in the unit that it is in, without what others thought in them, and the director's command. With `private` the director
knows nothing that they do not share.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import reduce
from itertools import count, groupby, starmap
from math import ceil
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import NoRoomError, PlanError, ReplyError
from fabula.craft.final_reading import final_reading
from fabula.craft.length import asked_range
from fabula.craft.packing import around, first_of, last_of, latest
from fabula.craft.planning import PlanOptions, plan_for
from fabula.craft.prose import Prose, clean_reply, clean_text, write_prose
from fabula.engine.replies import thought_in
from fabula.engine.roles import is_person
from fabula.engine.run import side_by_side
from fabula.story import SLUG_LENGTH, Story, count_words, one_line, slug
from fabula.story.situation import known_to_all, named_in_short, place_of, situation_of
from fabula.systems.character_simulation.replies import (
    Spoken,
    decision_type,
    direction_type,
    order_type,
    outline_type,
    verdict_type,
)
from fabula.systems.character_simulation.transcript import Turn, transcript, turns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.replies import TextKind
    from fabula.engine.run import Draft, Run
    from fabula.models.base import Reply, Sampling
    from fabula.story import Brief
    from fabula.story.plan import Character, Plan, ScenePlan, Unit
    from fabula.story.situation import Situation
    from fabula.systems.character_simulation.config import Config

AgentMap: TypeAlias = "dict[str, Agent]"
"""The map M of Algorithm 1: agents by name."""

_TOKENS_A_NAME, _TOKENS_AN_EVENT, _TOKENS_A_COMMAND = 24, 90, 140  # of replies that are to be short
_TURN_TOKENS, _MEMORY_TOKENS, _STATE_TOKENS = 160, 200, 100  # of replies that are to be short
_BEFORE_TOKENS = 400  # of what came before a scene, in prompts that are to be short
_HISTORY_TOKENS = 4000  # of the chat history, in prompts that are to be short
_WRITER_TOKENS, _WRITER_SHARE = 6000, 0.75  # of the writer's prompt; the rest of its context is for the reply
_BRIEF, _GIST, _SCENES, _STORY, _PLAYED = 0.10, 0.05, 0.15, 0.25, 0.25  # shares of a prompt
_TURN_WORDS, _MEMORY_WORDS, _SCENE_WORDS = 60, 80, 400  # for estimates
_SAME: Final = 0.9  # share of two commands' words that agree, from which on they are one command
_TRIES: Final = 3
_LEAST_WORDS: Final = 3  # a command of fewer words is none
_ENDS_A_SCENE: Final = ("decide", "terminate")  # prompts that ask whether a scene is over
_FEWER_TURNS: Final = "some scenes have fewer turns than their plan takes"
_USUAL_TURNS: Final = 1.6  # in which capable characters play an event, for estimates
_LEAST_TURNS, _TURNS_AN_EVENT = 10, 2  # of a scene where `max_turns` sets none
_ROOM: Final = 6  # characters of an artefact's name that a unit's number may take
_TAKEN: Final = {"plan", "order", "drafts", "edits", "refused"}  # names of other artefacts
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
    order = await sort_scenes(p_p, run, config)
    p_c = _units_in_time(p_p, order, config)
    of_scene: dict[str, list[TimedUnit]] = {}
    for unit in p_c:
        of_scene.setdefault(unit.scene.name, []).append(unit)
    story = Story(brief.title or p_p.title, breaks=True)

    async def rewrite_step() -> None:
        nonlocal story
        drafts: list[Draft] = []
        for scene in p_p.scenes:
            played = [(unit.planned, (await unit.outcome).history) for unit in of_scene[scene.name]]
            task = RewriteTask(brief, p_p, order, scene, played, story, config)
            if config.ours.final_reading:
                drafts.append(await run.draft(slug(_label(scene)), task.write))
                story = story.add(_label(scene), drafts[-1].text)
            else:
                story = story.add(_label(scene), await run.keep(slug(_label(scene)), task.write, folder="story"))
        if drafts:
            want = asked_range(brief, config.ours.words) if config.ours.length_control else None
            texts = await final_reading(run, "writer", drafts, brief=brief.titled, plan=_planned(p_p), want=want)
            story = story.with_texts(texts)

    await side_by_side([*(play_unit(unit, run, config) for unit in p_c), rewrite_step()])
    return story


def _label(scene: ScenePlan) -> str:
    """What a scene is called in the story."""
    return f"Scene {scene.name}" if slug(scene.name) in _TAKEN else scene.name


def _planned(plan: Plan) -> str:
    """The plan as whoever reads the whole at the end is shown it."""
    cast = "\n".join(f"- {character.introduction()}" for character in plan.characters)
    scenes = "\n".join(
        f"{number}. {scene.name} ({scene.when or scene.place}): {' '.join(event.text for event in scene.outline)}"
        for number, scene in enumerate(plan.scenes, 1)
    )
    parts = {
        "Conflict": plan.conflict,
        "Setting": plan.setting,
        "Person and tense": plan.manner,
        "Form": plan.form,
        "What the story must keep to": "\n".join(f"- {one}" for one in plan.demands),
        "What is set up where, and pays off where": "\n".join(f"- {one}" for one in plan.payoffs),
        "Characters": cast,
        "Scenes, in the order of telling": scenes,
    }
    return "\n\n".join(f"{name}:\n{text}" for name, text in parts.items() if text)


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
            open=unit.open,
            when=unit.when if config.ours.staged else "",
            place=unit.place if config.ours.staged else unit.scene.place,
            unaware=unit.unaware if config.ours.staged else (),
            leading=unit.leading if config.ours.staged else "",
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
        situations: of each character who is there, what it knows of the scene.
        before: for each of them the unit that they come from, if there is one.
        shared: earlier units that all of them were in.
        open: whose set-up others may know: everybody's in a plan that says apart what people hide.
        noticed: of each of them, what they noticed since the unit that they come from: units that they were near to.
        leading: the event of the same moment directly before, if everybody here witnessed it.
        outcome: is there once the unit was played.
    """

    planned: Unit
    name: str
    situations: Mapping[str, Situation]
    before: Mapping[str, TimedUnit]
    shared: tuple[TimedUnit, ...] = ()
    open: frozenset[str] = frozenset()
    noticed: Mapping[str, tuple[Turn, ...]] = field(default_factory=dict)
    leading: str = ""
    outcome: asyncio.Future[Outcome] = field(default_factory=asyncio.Future)

    @property
    def scene(self) -> ScenePlan:
        """The scene that it belongs to."""
        return self.planned.scene

    @property
    def people(self) -> tuple[tuple[Character, str], ...]:
        """The characters who are there, and what each of them wants in the scene."""
        return tuple((one.character, one.wants) for one in self.situations.values())

    @property
    def when(self) -> str:
        """When it happens, in words, where the plan says so; a flashback's own date."""
        own = self.planned.events[0].time
        return replace(self.scene, date="", time=own).when if own and own != self.scene.time else self.scene.when

    @property
    def place(self) -> str:
        """Where it happens: its events' own places, else its scene's."""
        return place_of(self.scene, self.planned.events)

    @property
    def unaware(self) -> tuple[str, ...]:
        """Names of who is there too, but neither sees nor hears it."""
        return tuple(dict.fromkeys(name for event in self.planned.events for name in self.scene.unaware(event)))

    @property
    def where_and_when(self) -> str:
        """Its place, named in short, and its date on one line."""
        return "; ".join(filter(None, (named_in_short(self.place), self.when))) or "Another place and time"

    def goes_on_for(self, name: str) -> bool:
        """Whether somebody who is there was already in an earlier unit of the scene."""
        before = self.before.get(name)
        return before is not None and before.scene is self.scene

    async def agents(self) -> AgentMap:
        """M for this unit (Algorithm 1, lines 5 to 9): everybody who is there, before the first turn.

        An agent that exists already comes as the last unit it was in left it (line 6); any other is new (line 8). What
        it noticed of units that it was only near to, it has not taken in yet.
        """
        m = {
            name: (await self.before[name].outcome).agents[name] if name in self.before else Agent(name)
            for name in self.planned.present
        }
        return {name: reduce(Agent.witness, self.noticed.get(name, ()), agent) for name, agent in m.items()}


def _units_in_time(plan: Plan, order: Sequence[str], config: Config) -> list[TimedUnit]:
    """All units in the order of time; each follows the latest ones before it that its characters are in."""
    latest_of: dict[str, TimedUnit] = {}
    noticed: dict[str, tuple[Turn, ...]] = {}
    units = plan.units(order)
    timed: list[TimedUnit] = []
    for unit, name in zip(units, _names(plan, units), strict=True):
        situations = {who: situation_of(plan, unit.scene, who, unit.events) for who in unit.present}
        if not config.ours.private:  # the paper's characters know their narrative role
            people = {person.name: person for person, _ in plan.people(unit.scene)}
            situations = {who: replace(one, character=people[who]) for who, one in situations.items()}
        before = {who: latest_of[who] for who in unit.present if who in latest_of}
        shared = tuple(one for one in timed if set(unit.present) <= set(one.planned.present))
        open_ = known_to_all(plan, unit.scene) & set(unit.present)
        new = {who: noticed.pop(who) for who in unit.present if who in noticed}
        timed.append(TimedUnit(unit, name, situations, before, shared, open_, new, _leading(unit)))
        latest_of |= dict.fromkeys(unit.present, timed[-1])
        if config.ours.staged:
            for who, turn in _noticed_of(timed[-1]):
                noticed[who] = (*noticed.get(who, ()), turn)
    return timed


def _noticed_of(unit: TimedUnit) -> Iterator[tuple[str, Turn]]:
    """What those notice of a unit who are there, but neither see nor hear it."""
    for event in unit.planned.events:
        for who in unit.scene.unaware(event):
            if event.notices:
                yield who, replace(Turn.noticed(event.notices), at=unit.where_and_when)


def _leading(unit: Unit) -> str:
    """The event of the scene directly before a unit, at its time, if all who are in the unit witness it.

    What comes after it is not shown: commands would tell characters what is to come.
    """
    if not unit.first:
        return ""
    event, own = unit.scene.outline[unit.first - 1], unit.events[0].time or unit.scene.time
    known = set(unit.present) <= set(unit.scene.witnesses(event))
    return event.text if known and (event.time or unit.scene.time) == own else ""


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
        as_played = made is not None and made.history == turns and place.may_stand_as_made(unit.name)
        return turns, made.agents if made is not None and as_played else None

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

    @property
    def most(self) -> int:
        """How many turns it may have (section 5.2: 10); where no number is set, as many as its outline needs."""
        most = self.config.paper.max_turns
        return max(_LEAST_TURNS, _TURNS_AN_EVENT * len(self.outline)) if most is None else most

    def witnessed(self, turn: Turn, m: AgentMap) -> AgentMap:
        """Those who are present after a turn, which all of them witness."""
        turn = replace(turn, at=self.unit.where_and_when if self.config.ours.staged else "")
        return {name: m[name].witness(turn) for name in self.names}


async def role_play(s_i: SceneInPlay, m: AgentMap) -> list[Turn]:
    """Algorithm 1: the chat history H of the scene; afterwards M holds everybody who was there as they are after it.

    Raises:
        ReplyError: the director or a character gave nothing that can be read; the run goes on from there.
    """
    h: list[Turn] = []  # line 1
    d = Director(s_i)  # line 2
    # Line 3. The director keeps to the bound of section 5.2; where nobody is present there is nobody to choose.
    while s_i.names and not await ended(d, h):
        direction = await d.next_speaker_and_command(h)  # lines 4 and 10: one call, as appendix B.1.2 has it
        if direction is None:  # ours: the director goes in circles
            break
        a_i = m[direction.speaker]  # lines 5 to 9 were done before: `TimedUnit.agents` put everybody present into M
        a_i = m[a_i.name] = await update_state(a_i, s_i, len(h) + 1)  # line 11
        h_i = await get_response(a_i, h, direction, s_i)  # line 12
        h.append(h_i)  # line 13
        m |= s_i.witnessed(h_i, m)  # A.update_state's new history: all present witness h_i
    for missed in d.not_played:  # ours: what the outline has and the play has not, happened all the same
        h.append(missed)
        m |= s_i.witnessed(missed, m)
    return h  # line 15


async def ended(d: Director, h: Sequence[Turn]) -> bool:
    """Whether the director ends the scene, or (ours) a cap leaves no room for more turns."""
    try:
        return await d.should_terminate(h)
    except NoRoomError:
        return True


async def lived_through(h: Sequence[Turn], s_i: SceneInPlay, m: AgentMap) -> AgentMap:
    """M after turns that a person wrote, edited or pinned: everybody takes them in as if they had just been played.

    The calls are those of `role_play` without the director and the responses, so turns left as they were played cost
    nothing.
    """
    for number, turn in enumerate(h, 1):
        if turn.name in s_i.names:
            m[turn.name] = await update_state(m[turn.name], s_i, number)
        m |= s_i.witnessed(turn, m)
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
    """D: ends one scene, selects who speaks next, and commands (section 3.2.1, appendix B.1.2).

    With `one_call` one reply says all of it: it is asked for where the algorithm asks whether to terminate, and `next`
    keeps the direction in it. Models with aids are asked in two calls, as in the paper.
    """

    s_i: SceneInPlay
    uncovered: tuple[int, ...] = ()
    reasons: str = ""
    next: Direction | None = None
    given: list[Direction] = field(default_factory=list)
    repeats: int = 0

    async def should_terminate(self, h: Sequence[Turn]) -> bool:
        """Whether `h` covers the outline, or the scene has as many turns as it may have (section 5.2).

        `uncovered` says which events the director misses, with `numbered`; else its `reasons` do.
        """
        s_i, ours, over = self.s_i, self.s_i.config.ours, len(h) >= self.s_i.most
        if over and not ours.last_check:
            return True
        if self.in_one_call and not over:
            return await self._decides(h)
        if len(h) < min(ours.min_turns, len(s_i.outline), s_i.most):
            return False
        covered = await self._judges(h)
        if over and not covered:
            s_i.run.note(f"The scene ends after {len(h)} turns, as many as it may have. {self.missing}")
        return covered or over

    @property
    def in_one_call(self) -> bool:
        """Whether one reply says if the scene ends and, if not, who is next and what to do."""
        return self.s_i.config.ours.one_call and not self.s_i.run.too_small_for("one_call", "director")

    @property
    def missing(self) -> str:
        """What the director last found uncovered, in one sentence; empty if nothing."""
        if self.reasons or not self.uncovered:
            return self.reasons
        return f"Not yet covered: {'; '.join(self.s_i.outline[number - 1] for number in self.uncovered)}"

    @property
    def not_played(self) -> list[Turn]:
        """The events that the scene left uncovered; none is known where no last check is made."""
        if not (self.s_i.config.ours.last_check and self.s_i.config.ours.numbered):
            return []
        return [Turn.not_played(self.s_i.outline[number - 1]) for number in self.uncovered]

    async def _judges(self, h: Sequence[Turn]) -> bool:
        """Whether the outline is covered, by a call that asks for nothing else."""
        wanted = verdict_type(self.s_i.names, len(self.s_i.outline), numbered=self.s_i.config.ours.numbered)
        verdict = await self._ask(wanted, "terminate", h)
        covered = bool(verdict.covered)
        if self.s_i.config.ours.numbered:
            self.uncovered = () if covered else tuple(sorted({one.event for one in verdict.uncovered}))
        else:
            self.reasons = " ".join(verdict.reasons.split())
        return covered

    async def _decides(self, h: Sequence[Turn], done: tuple[str, ...] = ()) -> bool:
        """Whether the outline is covered; if not, `next` is the direction that goes on."""
        wanted = decision_type(self.s_i.names, len(self.s_i.outline), begun=bool(h))
        left = max(ceil(len(self.s_i.outline) - len(h) / _USUAL_TURNS), 0)
        expect = {"remaining": left}
        found = await self._ask(wanted, "decide", h, expect, done=done, names=self.s_i.names, turn=len(h) + 1)
        self.uncovered = tuple(sorted(set(found.remaining)))
        self.next = Direction(found.next_speaker, " ".join(found.next_command.split())) if self.uncovered else None
        return not self.uncovered

    async def next_speaker_and_command(self, h: Sequence[Turn]) -> Direction | None:
        """Who speaks next and the command for them; `None` where the director goes in circles.

        A command that was given before is noted. With a `repeat_limit`, the director is shown what was done and asked
        once more; after so many repeats the scene ends.
        """
        limit, direction = self.s_i.config.ours.repeat_limit, self.next or await self._direction(h)
        if any(direction.same(before) for before in self.given):
            self.repeats += 1
            missing = f" {self.missing}" if self.missing else ""
            self.s_i.run.note(f"Turn {len(h) + 1}: the director repeats a command to {direction.speaker}.{missing}")
            if limit and self.repeats >= limit:
                return None
            if limit:
                direction = await self._again(h) or direction
        self.given.append(direction)
        return direction

    async def _again(self, h: Sequence[Turn]) -> Direction | None:
        """Another direction, by a director who is shown what was done."""
        done = tuple(before.command for before in self.given)
        if not self.in_one_call:
            return await self._direction(h, done)
        await self._decides(h, done)
        return self.next

    async def _direction(self, h: Sequence[Turn], done: tuple[str, ...] = ()) -> Direction:
        s_i, ours = self.s_i, self.s_i.config.ours
        helped = ours.numbered and s_i.run.aids("director")
        wanted = direction_type(s_i.names, len(s_i.outline), numbered=ours.numbered, chosen=helped)
        uncovered = self.missing if ours.tell_uncovered else ""
        found = await self._ask(wanted, "direct", h, uncovered=uncovered, done=done, names=s_i.names, chosen=helped)
        command = " ".join(str(found.next_command).split())
        if not helped:
            return Direction(found.next_speaker, command)
        # A small director's commands may say nothing, or the same event over and over: then the event is the command.
        event, open_ = s_i.outline[found.event - 1], self._least_given(found.remaining)
        cleaned = clean_text(s_i.run, "director", command, labels=s_i.names, kind="notes")
        if self._times(event) > self._times(open_) or count_words(cleaned) < _LEAST_WORDS:
            return Direction(found.next_speaker, open_, open_)
        return Direction(found.next_speaker, cleaned, event)

    def _least_given(self, remaining: Sequence[int]) -> str:
        """Of the events that remain, the one that commands were least often about; the outline's where none remains."""
        events = [self.s_i.outline[number - 1] for number in dict.fromkeys(remaining)] or self.s_i.outline
        return min(events, key=self._times)

    def _times(self, event: str) -> int:
        """How many commands were about an event."""
        return sum(before.event == event for before in self.given)

    async def _ask(
        self,
        wanted: type[Any],
        prompt: str,
        h: Sequence[Turn],
        expect: Mapping[str, float] | None = None,
        **fields: object,
    ) -> Any:  # noqa: ANN401 - a type made at run time
        s_i, ours = self.s_i, self.s_i.config.ours
        again = ("again",) if fields.get("done") else ()
        most = _TOKENS_A_COMMAND + _TOKENS_AN_EVENT * len(s_i.outline)
        run = s_i.run.scope("turn", len(h) + 1, *again)
        if prompt in _ENDS_A_SCENE and not again:
            run = run.optional(_FEWER_TURNS, part=len(h) / ceil(_USUAL_TURNS * max(len(s_i.outline), 1)))
        return await run.ask_for(
            wanted,
            "director",
            prompt,
            sampling=_sampling(s_i.run, s_i.config, "director", most),
            expect=expect,
            scene=s_i.unit.scene,
            when=s_i.unit.when if ours.staged else "",
            place=s_i.unit.place if ours.staged else s_i.unit.scene.place,
            people=s_i.unit.people,
            open=s_i.unit.open,
            unaware=s_i.unit.unaware if ours.staged else (),
            leading=s_i.unit.leading if ours.staged else "",
            earlier=await _earlier(s_i) if ours.staged else (),
            before=_before(s_i) if ours.staged else (),
            outline=s_i.outline,
            history=_fitting([str(turn) for turn in h], s_i, "director"),
            most=s_i.most if ours.staged else 0,
            private=ours.private,
            numbered=ours.numbered,
            instruction_first=ours.instruction_first,
            **fields,
        )


def _before(s_i: SceneInPlay) -> tuple[str, ...]:
    """What everybody who is there has been through with the others in other scenes: places, dates and events."""
    lines = [
        f"{unit.where_and_when}: {' '.join(event.text for event in unit.planned.events)}"
        for unit in s_i.unit.shared
        if unit.scene is not s_i.unit.scene
    ]
    if not s_i.config.ours.fit_prompts:
        return tuple(lines)
    return latest(lines, s_i.run.prompt_tokens("director", _BEFORE_TOKENS, _GIST))


async def _earlier(s_i: SceneInPlay) -> tuple[str, ...]:
    """What was played of the scene before this unit and in front of everybody who is there, as far as it fits."""
    played = [await unit.outcome for unit in s_i.unit.shared if unit.scene is s_i.unit.scene]  # they are over
    turns = [str(turn) for one in played for turn in one.history]
    return latest([text for text in turns if text], s_i.run.prompt_tokens("director", _BEFORE_TOKENS, _GIST))


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
    kinds = ("memory",) if _in_one(s_i) else ("memory", "state")
    memory, *state = await side_by_side(_updated(agent, s_i, turn, kind) for kind in kinds)
    return replace(agent, memory=memory, state="".join(state), unseen=())


def _in_one(s_i: SceneInPlay) -> bool:
    """Whether the physical state is part of the memory; models with aids keep two texts, as in the paper."""
    return s_i.config.ours.one_memory and not s_i.run.too_small_for("one_memory", "memory")


async def _updated(agent: Agent, s_i: SceneInPlay, turn: int, kind: str) -> str:
    """The new text of an agent's memory or physical state; the old one where nothing usable came."""
    now, most = (agent.memory, _MEMORY_TOKENS) if kind == "memory" else (agent.state, _STATE_TOKENS)
    fields = {
        "character": s_i.unit.situations[agent.name].character,
        "kind": "memory" if kind == "memory" else "physical state",
        "now": now,
        "unseen": _taken_in(agent, s_i),
        "staged": s_i.config.ours.staged,
        "here": "; ".join(filter(None, (one_line(s_i.unit.place), s_i.unit.when))) or "Another place and time",
        "now_at": s_i.unit.where_and_when,
        "with_state": _in_one(s_i),
        "instruction_first": s_i.config.ours.instruction_first,
    }
    run, sampling = s_i.run.scope("turn", turn), _sampling(s_i.run, s_i.config, "memory", most)
    reply = await run.reply("memory", kind, sampling=sampling, expect=_MEMORY_WORDS, **fields)
    if not s_i.config.ours.clean_replies:
        return reply.text
    echo = run.render(kind, **fields | {"now": ""})  # an update repeats what it updates
    return _cleaned(run, "memory", reply, s_i, echo, "notes") or now


def _taken_in(agent: Agent, s_i: SceneInPlay) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What an agent has witnessed and not yet taken in, as it saw it: by place and time, as far as it fits."""
    seen = [(turn.at, turn.seen_by(agent.name)) for turn in agent.unseen]
    fitting = len(_fitting([text for _, text in seen], s_i, "memory"))
    groups = groupby(seen[len(seen) - fitting :], key=lambda one: one[0])
    return tuple((at, tuple(text for _, text in some if text)) for at, some in groups)


async def get_response(agent: Agent, h: Sequence[Turn], direction: Direction, s_i: SceneInPlay) -> Turn:
    """The agent's turn in the third person, by its goal, physical state and memory (section 3.2.1).

    Its own name is the role that is asked, so that each character can be cast by name; everybody else is played by the
    system's open role, `character` (`open_role` in paper.toml).

    A turn in plain text is drawn again, a bounded number of times, if it is empty; then a sentence made of the
    director's command stands in.
    """
    config, command = s_i.config, direction.command
    fields = _given_to(agent, h, direction, s_i)
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
        shown, thought = thought_in(text) if config.ours.thoughts else (text, "")
        turn = Turn.of(agent.name, shown, command, thought)
        if turn.text and not fault:
            return turn
        here.removed("reply", turn.text)
    run.note(f"{agent.name} gave no turn of use in {_TRIES} tries; the director's command stands in.")
    return Turn.of(agent.name, f"{agent.name} does what the director says: {command}", command)


def _given_to(agent: Agent, h: Sequence[Turn], direction: Direction, s_i: SceneInPlay) -> dict[str, Any]:
    """What an agent is shown when it responds: nothing that its character has not, does not witness or is not."""
    ours, situation = s_i.config.ours, s_i.unit.situations[agent.name]
    recent = [turn.seen_by(agent.name) for turn in h[max(len(h) - s_i.config.paper.recent, 0) :]]
    return {
        "character": situation.character,
        "staged": ours.staged,
        "situation": replace(situation, date=s_i.unit.when),
        "memory": agent.memory,
        "state": agent.state,
        "with_state": _in_one(s_i),
        "recent": _fitting([seen for seen in recent if seen], s_i, agent.name),
        "goes_on": ours.staged and s_i.unit.goes_on_for(agent.name),
        "wants": situation.wants,
        "command": direction.command,
        "event": direction.event if direction.event != direction.command else "",
        "thoughts": ours.thoughts and not s_i.run.too_small_for("thoughts", agent.name),
        "instruction_first": ours.instruction_first,
    }


def _fitting(texts: Sequence[str], s_i: SceneInPlay, role: str) -> tuple[str, ...]:
    """The last of `texts` that fit into a role's prompt."""
    if not s_i.config.ours.fit_prompts:
        return tuple(texts)
    return latest(texts, s_i.run.prompt_tokens(role, _HISTORY_TOKENS))


def _cleaned(run: Run, role: str, reply: Reply, s_i: SceneInPlay, echo: str, kind: TextKind) -> str:
    """A reply without chatter; possibly empty."""
    return clean_reply(run, role, reply, labels=(*s_i.names, *_LABELS), echo=[echo], kind=kind)


def _sampling(run: Run, config: Config, role: str, short: int) -> Sampling:
    """How a reply is drawn; `short` bounds its tokens for models that run on."""
    return replace(config.paper.sampling, max_tokens=run.reply_tokens(role, short))


# the rewrite step (section 3.2.3) -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RewriteTask:
    """One scene to be written: what was played of it, unit by unit in the order of time, and the story so far."""

    brief: Brief
    plan: Plan
    order: Sequence[str]
    scene: ScenePlan
    played: Sequence[tuple[Unit, Sequence[Turn]]]
    story: Story
    config: Config

    async def write(self, run: Run) -> str:
        """The scene's text by its presentation outline o_p; one call, or more where length is controlled."""
        ours, plan, last = self.config.ours, self.plan, self.scene is self.plan.scenes[-1]
        fields = self._inputs(run) | {
            "last": last,
            "staged": ours.staged,
            "title": self.story.title if ours.staged else "",
            "earlier": ours.staged and self._goes_back(),
            "missing": [turn.text for _, turns in self.played for turn in turns if not turn.name],
            "instruction_first": ours.instruction_first,
        }
        if not ours.clean_replies:
            sampling = self.config.paper.sampling
            return await run.ask(
                "writer", "rewrite", sampling=sampling, expect=_SCENE_WORDS, words=None, lead="", **fields
            )
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
        ours = self.config.ours
        if not ours.length_control:
            return None
        whole = asked_range(self.brief, ours.words)
        if whole is None:
            return None
        at, weights = self.plan.scenes.index(self.scene), [scene.importance for scene in self.plan.scenes]
        written = [scene.words for scene in self.story.scenes]
        return whole.of_sections(weights[at:], written, before=weights[:at], cut=run.aids("writer"))

    def _inputs(self, run: Run) -> dict[str, Any]:
        """The ten inputs of appendix B.2; with `fit_prompts` each within its share of the prompt."""
        plan, scene, aids = self.plan, self.scene, run.aids("writer")
        full = [f"{one.name}: {' '.join(event.text for event in one.outline)}" for one in plan.scenes]
        played = "\n\n* * *\n\n".join(filter(None, starmap(self._as_played, self.played)))
        given: dict[str, Any] = {"people": plan.people(scene), "scene": scene, "plan": plan}
        texts = {"brief": self.brief.text, "conflict": plan.conflict, "setting": plan.setting}
        if not self.config.ours.fit_prompts:
            return given | texts | {"scenes": tuple(full), "story": self.story.text, "played": played}
        most = run.prompt_tokens("writer", _WRITER_TOKENS, _WRITER_SHARE)
        if aids:
            texts = {
                "brief": first_of(self.brief.text, int(most * _BRIEF)),
                "conflict": first_of(plan.conflict, int(most * _GIST)),
                "setting": first_of(plan.setting, int(most * _GIST)),
            }
        return (
            given
            | texts
            | {
                "scenes": around(full, plan.names, plan.scenes.index(scene), int(most * _SCENES)),
                "story": last_of(self.story.text, int(most * _STORY)),
                "played": last_of(played, int(most * _PLAYED)),
            }
        )

    def _as_played(self, unit: Unit, turns: Sequence[Turn]) -> str:
        """A unit's turns, with all that was thought; said before who was there, where that is not the whole scene."""
        lines = [turn.whole for turn in turns if turn.name]
        if lines and self.config.ours.staged and len(unit.present) < len(self.scene.characters):
            lines.insert(0, f"[Only {_and(unit.present)} saw and heard this.]")
        return "\n\n".join(lines)


def _and(names: Sequence[str]) -> str:
    """Names in a row: "Ann, Bob and Cyd"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
