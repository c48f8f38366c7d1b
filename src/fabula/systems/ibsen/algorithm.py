"""IBSEN: a director plans lines towards an objective, actors speak them in their own way, players step in.

The play in the order of the paper and its release:

1. Stage: actors are introduced; act groups are played one after the other, their sub-acts at the same time (`Stage`).
2. In each step every player may act (`Players`); then every director has a turn (`Director.step`).
3. Director, next turn: outline and script of a few lines where no planned line is left (`Director.plan`), then the next
   line goes to an actor with an instruction, to a player, or as narration into the log (`Director.next_turn`).
4. Actor, a line: what comes to mind, the line, and the checks on it (`Actor.speak`).
5. What is said is heard by director and actors; full windows are summed up into memories (`Director.hear`, `actor`).
6. Director, goal check: an objective takes 5 to 9 steps (`Director.reached`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final, Protocol

from fabula.base.errors import ReplyError
from fabula.craft.personas import check_cast
from fabula.craft.planning import PlanOptions
from fabula.engine.run import Run, has_author_text, retaken, side_by_side
from fabula.story import Brief, Story, slug
from fabula.systems.ibsen.actor import Actor, Log, Play, Recorded, SpeakingMoment, compact, views_of
from fabula.systems.ibsen.config import PLAN_TRIES, Config
from fabula.systems.ibsen.log import ActiveWindow, Performed, PlayLine, transcript, turns_of
from fabula.systems.ibsen.script import NARRATION, ActorSheet, PlayerSheet, SubAct, script_for, script_of
from fabula.systems.ibsen.shapes import GoalCheck, Outline, action_shape, script_shape

FOLDER: Final = "role-play"
MINUTES: Final = 60
_FOR_OUTLINE: Final = 3  # memories of each actor


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Play the script; the dialogue log is the story, one scene for each sub-act.

    Raises:
        PlanError: the author's script, plan or personas have problems.
        ReplyError: a role gave nothing that can be read; the run continues from there.
        UsageError: the sentence-embedding model cannot be opened.
    """
    script = await script_for(run, brief, config, script_of, PlanOptions(scenes=0))
    stage = Stage(Play(script, config), run)
    await stage.perform()
    return await log_of(stage, brief)


async def log_of(stage: Stage, brief: Brief) -> Story:
    """The dialogue log as the story; no calls."""
    title = stage.play.script.title
    story = Story.of(brief) if brief.title or not title else Story(title)
    for one in stage.performed:
        story = story.add(one.label, await stage.run.keep(slug(one.label), one.log, folder="story"))
    return story


# the stage ----------------------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """The actors, the players and where they are, and the directors of the sub-acts.

    Attributes:
        directors: of the present act group, by the titles of their sub-acts.
        live: those of them whose sub-act is being played: it has objectives, and no person has written its log.
        hour: the clock; a turn takes a minute.
    """

    play: Play
    run: Run
    actors: dict[str, Actor] = field(default_factory=dict)
    players: Players = field(init=False)
    directors: dict[str, Director] = field(default_factory=dict)
    live: list[Director] = field(default_factory=list)
    performed: list[Performed] = field(default_factory=list)
    hour: float = 0.0

    def __post_init__(self) -> None:
        """Put the players where the script has them."""
        self.players = Players(self.play, self.run)

    def actor(self, sheet: ActorSheet) -> Actor:
        """An actor of the play."""
        return Actor(sheet, self.play)

    def director(self, act: SubAct) -> Director:
        """The director of a sub-act."""
        return Director(act, self.play, [self.actors[name] for name in act.actors], self.hour)

    async def perform(self) -> None:
        """Play the whole script: actors are introduced, then act group by act group."""
        script = self.play.script
        check_cast(self.run, "actor", script.names)
        self.play.embedding.check()
        self.actors = {sheet.name: self.actor(sheet) for sheet in script.actors}
        await side_by_side(actor.introduce(self.run.scope("cast", slug(name))) for name, actor in self.actors.items())
        for group in script.groups:
            await self.play_group(group)

    async def play_group(self, group: Sequence[SubAct]) -> None:
        """Play the sub-acts of a group, in step where there are players; each one's log is an artefact."""
        self.directors = {act.title: self.director(act) for act in group}
        playing = [one for one in self.directors.values() if one.active]  # without goals there is nothing to play
        if not playing:
            return
        place = self.run.scope(FOLDER)
        self.live = [director for director in playing if not has_author_text(place, slug(director.act.title))]
        self.players.enter(self.directors, self.live)
        in_step = asyncio.Barrier(max(len(self.live), 1) if self.players.sheets else 1)
        logs = await side_by_side(self.play_sub_act(director, in_step) for director in playing)
        for director, log in zip(playing, logs, strict=True):
            self.performed.append(Performed.of(director.act, log.text))
            for actor in director.cast:
                actor.mind = log.minds[actor.name].mind(self.play)
            if director in self.live or not self.live:
                self.players.places |= {name: self.play.script.acts[at].title for name, at in log.places.items()}
        self.hour += max(len(one.turns) for one in self.performed[-len(playing) :]) / MINUTES

    async def play_sub_act(self, director: Director, in_step: asyncio.Barrier) -> Log:
        """Play one sub-act; where a person changes what was said, it is lived through as changed."""
        before = {actor.name: Recorded.of(actor.mind) for actor in director.cast}
        begun = sha256(repr(before).encode("utf-8", "replace")).hexdigest()

        def as_it_ends(text: str) -> Log:
            titles = [act.title for act in self.play.script.acts]
            places = {player: titles.index(title) for player, title in self.players.places.items() if title in titles}
            return Log(text, {actor.name: Recorded.of(actor.mind) for actor in director.cast}, places, begun)

        async def make(own: Run) -> Log:
            await director.open(own)
            while any(one.active for one in (self.live if self.players.sheets else [director])):
                await self.step(director, in_step)
            return as_it_ends(transcript(director.turns, director.goals))

        async def again(own: Run, log: Log) -> Log:
            for actor in director.cast:
                actor.mind = before[actor.name].mind(self.play)
            await director.live_through(turns_of(log.text), own)
            return replace(as_it_ends(log.text), places=log.places)

        place, name = self.run.scope(FOLDER), slug(director.act.title)
        together = bool(self.players.sheets)  # who walk from one sub-act to another
        log = await place.keep(name, make, folder=FOLDER, again=again, together=together, shape=Log)
        return log if log.begun == begun else await again(retaken(place, name).scope(name), log)

    async def step(self, director: Director, in_step: asyncio.Barrier) -> None:
        """One step of one sub-act, which waits for the others: every player's action, the next turn, the goal check."""
        director.steps += 1
        for player in self.players.sheets:
            await in_step.wait()
            if self.players.is_host(director, player.name):
                await self.players.act(player, director.steps)
        await in_step.wait()
        if director.active:
            await director.step()
        await in_step.wait()


# the director -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Director:
    """The director of one sub-act: who is there, what was said, the lines still planned, the objective in force.

    Attributes:
        start: the hour at which it begins.
        run: where its calls are made, once it is open.
        players: names of those who are here.
        turns: the dialogue log.
        queue: the planned lines that are left.
        goal: number of the objective, from 0.
        n: steps of this objective.
        steps: steps of the whole sub-act.
        interrupted: whether something happened that was not planned.
        awaited: the player whose turn it is.
    """

    act: SubAct
    play: Play
    cast: list[Actor]
    start: float
    run: Run = field(init=False)
    window: ActiveWindow = field(init=False)
    goals: tuple[str, ...] = field(init=False)
    players: list[str] = field(default_factory=list)
    turns: list[PlayLine] = field(default_factory=list)
    queue: list[PlayLine] = field(default_factory=list)
    outline: Outline | None = None
    goal: int = 0
    n: int = 0
    steps: int = 0
    interrupted: bool = False
    awaited: str = ""

    def __post_init__(self) -> None:
        """Begin with an empty window."""
        self.window, self.goals = self.play.window(), self.act.goals

    @property
    def active(self) -> bool:
        """Whether an objective is left."""
        return self.goal < len(self.goals)

    @property
    def hour(self) -> float:
        """The clock here."""
        return self.start + len(self.turns) / MINUTES

    @property
    def present(self) -> tuple[str, ...]:
        """Names of everybody who is here."""
        return tuple(dict.fromkeys((*(actor.name for actor in self.cast), *self.players)))

    @property
    def involved(self) -> tuple[str, ...]:
        """Names of those who are here, and of those whom the turns in mind name."""
        return tuple(dict.fromkeys((*self.present, *self.play.named_in(" ".join(self.history())))))

    async def open(self, run: Run) -> None:
        """Begin with the opening narration."""
        self.run = run
        if self.act.background:
            await self.hear(PlayLine.of(NARRATION, self.act.background))

    async def step(self) -> None:
        """The next turn, unless it is a player's, and then the goal check."""
        run = self.run.scope("step", self.steps)
        turn = await self.next_turn(run)
        if turn is None:
            self.interrupted = True
        else:
            await self.hear(turn)
        if await self.reached(run):
            self.queue.clear()
            self.goal, self.n = self.goal + 1, 0

    async def next_turn(self, run: Run) -> PlayLine | None:
        """The next turn; `None` where a player is to have it."""
        if self.interrupted or not self.queue:
            await self.plan(run)
        self.interrupted = False
        line = self.next_line()
        if line is None:  # all were of the player who has just spoken; the release crashes here
            await self.plan(run.scope("replan"))
            line = self.next_line()
        if line is None or line.name in self.players:
            self.awaited = line.name if line else self.players[0]
            return None
        actor = next((actor for actor in self.cast if actor.name == line.name), None)
        if actor is None:
            return line
        instruction = await self.instruct(actor, line, run) if self.play.config.paper.use_instruction else ""
        return await actor.speak(line, SpeakingMoment(self.act, self.hour, self.outline, instruction), run)

    def next_line(self) -> PlayLine | None:
        """The next planned line, without those of a player who also spoke last."""
        while self.queue:
            line = self.queue.pop(0)
            if not (line.name in self.players and self.turns and self.turns[-1].name == line.name):
                return line
        return None

    async def plan(self, run: Run) -> None:
        """Outline and script towards the objective; both again where no line came of them, a bounded number of times.

        Raises:
            ReplyError: no plan had a line.
        """
        self.queue.clear()
        run = run.tries("plan")
        for attempt in range(PLAN_TRIES):
            here = run.again(attempt, "It held no line that somebody speaks.")
            self.outline = await self.make_outline(here)
            most = self.play.config.paper.planned_lines - (attempt > 0)  # anew for a line fewer (release)
            self.queue = await self.make_script(self.outline, here, max(most, 1))
            if self.queue:
                return
        raise run.exhausted("plan", f"The director planned no line at {run.at} in {PLAN_TRIES} tries.", "director", "")

    async def make_outline(self, run: Run) -> Outline:
        """What has happened, and what should happen next; both empty where the reply cannot be read."""
        sampling = self.play.sampling(run, "director", "outline")
        try:
            return await run.ask_for(Outline, "director", "outline", sampling=sampling, **self.outline_fields())
        except ReplyError as error:
            run.note(f"The director's outline could not be read: {error}")
            return Outline.model_construct(previous_outline="", new_outline="")

    def outline_fields(self) -> dict[str, Any]:
        """What the director knows; descriptions and background, which the release leaves empty, are left out."""
        involved, goal = self.involved, self.goals[self.goal]
        return {
            "names": self.present,
            "relations": self.relations(),
            "impressions": [
                f"{a.name} of {view}" for a in self.cast for view in views_of(a.mind.impressions, involved)
            ],
            "memories": [
                f"{actor.name}: {one.memory.text}"
                for actor in self.cast
                for one in actor.mind.memories.recall(goal, self.hour, _FOR_OUTLINE, actor.recalling)
            ],
            "goal": goal,
            "history": self.history(),
        }

    async def make_script(self, outline: Outline, run: Run, most: int) -> list[PlayLine]:
        """The next lines, `most` of them at most; none where the reply cannot be read."""
        fields = {**self.script_fields(), "previous": outline.previous_outline, "outline": outline.new_outline}
        shape, sampling = script_shape((*self.present, NARRATION), most), self.play.sampling(run, "director", "script")
        try:
            made = await run.ask_for(shape, "director", "script", sampling=sampling, lines=most, **fields)
        except ReplyError as error:
            run.note(f"The director's lines could not be read: {error}")
            return []
        return [PlayLine.of(line.role, line.content) for line in made.scripts[:most] if line.content.strip()]

    def script_fields(self) -> dict[str, Any]:
        """What the director knows, in addition to the outline, when it writes the next lines."""
        return {"names": self.present, "relations": self.relations()}

    def relations(self) -> list[str]:
        """How those involved stand to the first actor, as it sees them (the release)."""
        return [
            f"{one.name} to {view}" for one in self.cast[:1] for view in views_of(one.mind.relations, self.involved)
        ]

    def history(self, last: int = 0) -> tuple[str, ...]:
        """The turns in mind, or the last of them."""
        return tuple(map(str, self.window.turns[-last:]))

    async def instruct(self, actor: Actor, line: PlayLine, run: Run) -> str:
        """A synopsis of a line, and acting keywords, without the line itself."""
        sampling, fields = self.play.sampling(run, "director", "instruct"), self.instruct_fields(actor, line)
        reply = await run.reply("director", "instruct", sampling=sampling, **fields)
        return self.play.text_of(run, "director", reply)

    def instruct_fields(self, actor: Actor, line: PlayLine) -> dict[str, Any]:
        """What the director has before it when it instructs an actor."""
        return {
            "name": actor.name,
            "description": actor.sheet.description,
            "names": self.present,
            "relations": views_of(actor.mind.relations, self.present),
            "history": self.history(),
            "goal": self.goals[self.goal],
            "line": line.text,
        }

    async def hear(self, turn: PlayLine) -> None:
        """A turn enters the log and the windows of director and actors; windows that are full are summed up."""
        turn = replace(turn, goal=min(self.goal, max(len(self.goals) - 1, 0)) if self.goals else turn.goal)
        self.turns.append(turn)
        windows: list[tuple[ActiveWindow, Actor | None]] = [(self.window, None)]
        windows += [(actor.mind.window, actor) for actor in self.cast]
        for window, _ in windows:
            window.turns.append(turn)
        here = self.run.scope("heard", len(self.turns))
        await compact(windows, self.play, here, self.hour, self.act.background)

    async def reached(self, run: Run) -> bool:
        """Whether the objective is reached: not before `min_steps`, in `max_steps` anyway."""
        paper = self.play.config.paper
        self.n += 1
        if not paper.min_steps <= self.n < paper.max_steps:
            return self.n >= paper.max_steps
        sampling = self.play.sampling(run, "director", "check_goal")
        fields: dict[str, Any] = {"names": self.present, "goal": self.goals[self.goal], "history": self.history(self.n)}
        try:
            found = await run.ask_for(GoalCheck, "director", "check_goal", sampling=sampling, **fields)
        except ReplyError as error:
            run.note(f"Whether the objective is reached could not be read: {error}")
            return False
        return found.completed

    async def live_through(self, turns: Sequence[PlayLine], run: Run) -> None:
        """Take in turns that a person wrote: they are heard as if they had been played, and no line is asked."""
        self.run, self.turns, self.window = run, [], self.play.window()
        for turn in turns:
            self.goals, self.goal = ("",) * (turn.goal + 1), turn.goal
            await self.hear(turn)
        self.goal = len(self.goals)


# players --------------------------------------------------------------------------------------------------------------


class SubActPlace(Protocol):
    """A sub-act of the act group, as players come to it: its director."""

    act: SubAct
    run: Run
    goals: tuple[str, ...]
    players: list[str]
    awaited: str
    interrupted: bool

    def history(self) -> tuple[str, ...]:
        """The turns in mind."""

    async def hear(self, turn: PlayLine) -> None:
        """A turn enters the log."""


class Players:
    """The players of a play: who they are, and where.

    Attributes:
        sheets: who they are.
        places: in which sub-act each of them is, by its title.
        directors: of the present act group, by the titles of their sub-acts.
        live: those of them whose sub-act is being played: it has objectives, and no person has written its log.
    """

    def __init__(self, play: Play, run: Run) -> None:
        """The players of the script, and actors whom the settings make players."""
        self.play, self.run, script = play, run, play.script
        self.directors: Mapping[str, SubActPlace] = {}
        self.live: Sequence[SubActPlace] = ()
        sheets = {player.name: player for player in script.players}
        for name in map(slug, play.config.paper.players.split(",")):
            for actor in script.actors:
                if slug(actor.name) == name:
                    sheets.setdefault(actor.name, PlayerSheet(name=actor.name, description=actor.description))
        self.sheets = tuple(sheets.values())
        self.places = {player.name: player.place for player in self.sheets}

    def enter(self, directors: Mapping[str, SubActPlace], live: Sequence[SubActPlace]) -> None:
        """Take every player to a sub-act of a group: an actor to its own, others where the last one leads."""
        self.directors, self.live = directors, live
        leads = {act.title: act.next_act for act in self.play.script.acts}
        for player in self.sheets:
            own = [title for title, director in self.directors.items() if player.name in director.act.actors]
            last = self.places[player.name]
            to = own[0] if own else last if last in self.directors else leads.get(last, "")
            self.places[player.name] = to if to in self.directors else next(iter(self.directors))
            if self.can_act(player.name):
                self.directors[self.places[player.name]].players.append(player.name)

    def can_act(self, name: str) -> bool:
        """Whether a player can do anything in this group; an actor only in a sub-act of its own."""
        director = self.directors[self.places[name]]
        on_stage = name in director.act.actors or name not in {actor.name for actor in self.play.script.actors}
        return on_stage and self.is_open(director)

    def is_open(self, director: SubActPlace) -> bool:
        """Whether players may be in a sub-act: it is being played, or nobody plays there."""
        return director in self.live or not director.goals

    def is_host(self, director: SubActPlace, name: str) -> bool:
        """Whether a player's action is asked with this sub-act; where nobody plays, with the first that is played."""
        here = self.directors[self.places[name]]
        return self.can_act(name) and director is (here if here in self.live else self.live[0])

    async def act(self, player: PlayerSheet, number: int) -> None:
        """One player waits, talks, moves, or moves and talks; whatever it is, the lines planned before are dropped."""
        director = self.directors[self.places[player.name]]
        at = director.run if director in self.live else self.run.scope("offstage", slug(director.act.title))
        kind, words, place = await self.action(player, director, at.scope("step", number, slug(player.name)))
        if kind in ("move", "move and talk") and place != director.act.title:
            if director in self.live:
                director.players.remove(player.name)
                await self.interrupt(director, PlayLine.of(NARRATION, director.act.player_out))
            director = self.directors[place]
            self.places[player.name] = place
            if director in self.live:
                director.players.append(player.name)
                await self.interrupt(director, PlayLine.of(NARRATION, director.act.player_in))
        if words:
            await self.interrupt(director, PlayLine.of(player.name, words))
        elif kind == "none" and director.awaited == player.name:
            await self.interrupt(director, PlayLine.of(NARRATION, f"{player.name} does nothing."))
        director.awaited = "" if director.awaited == player.name else director.awaited

    async def action(self, player: PlayerSheet, director: SubActPlace, run: Run) -> tuple[str, str, str]:
        """A player's action, words and next place."""
        bound = player.name in director.act.actors
        open_ = [] if bound else [title for title, other in self.directors.items() if self.is_open(other)]
        places = list(dict.fromkeys([director.act.title, *open_]))
        try:
            made = await run.ask_for(
                action_shape(places),
                player.name,
                "step_in",
                sampling=self.play.sampling(run, player.name, "step_in"),
                player=player,
                act=director.act,
                background=self.play.script.background,
                history=director.history(),
                awaited=director.awaited == player.name,
                places=places,
            )
        except ReplyError as error:
            run.note(f"{player.name} waits, as the answer could not be read: {error}")
            return "none", "", director.act.title
        talks = made.action in ("talk", "move and talk")
        return made.action, made.words.strip() if talks else "", getattr(made, "place", director.act.title)

    async def interrupt(self, director: SubActPlace, turn: PlayLine) -> None:
        """A turn that the director had not planned, if it has a text; where nobody plays, nobody hears it."""
        if director in self.live:
            director.interrupted = True
            if turn.text:
                await director.hear(turn)
