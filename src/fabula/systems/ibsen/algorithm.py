"""IBSEN: a director plans lines towards an objective, actors speak them in their own way, players step in.

The play in the order of the paper and its release:

1. Stage: actors are introduced; act groups are played one after the other, their sub-acts at the same time (`perform`).
2. In each step every player may act (`Stage.player_acts`); then every director has a turn (`Director.step`).
3. Director, next turn: outline and script of a few lines where no planned line is left (`Director.plan`), then the next
   line goes to an actor with an instruction, to a player, or as narration into the log (`Director.next_turn`).
4. Actor, a line: what comes to mind, the line, and the checks on it (`speak`).
5. What is said is heard by director and actors; full windows are summed up into memories (`Director.hear`, `memory`).
6. Director, goal check: an objective takes 5 to 9 steps (`Director.reached`).
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import NoRoomError, ReplyError
from fabula.craft.memory import Recall
from fabula.engine.replies.turns import leaves_part, repeats_earlier
from fabula.engine.roles import is_person
from fabula.engine.run import side_by_side
from fabula.models.base import Message, Sampling
from fabula.story import one_line, slug
from fabula.systems.ibsen.config import LINE_TRIES, PLAN_TRIES, SHORT
from fabula.systems.ibsen.interview import interviews
from fabula.systems.ibsen.log import Turn, Window, transcript, turns_of
from fabula.systems.ibsen.memory import Actor, Mind, Play, compact, introduce, views_of
from fabula.systems.ibsen.prose import story_of
from fabula.systems.ibsen.script import DOCUMENT, NARRATION, PlayerSheet, script_for, split_goals, stages_for
from fabula.systems.ibsen.shapes import GoalCheck, LineCheck, Outline, action_shape, script_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief, Story
    from fabula.systems.ibsen.config import Config
    from fabula.systems.ibsen.script import Script, SubAct

_FOLDER: Final = "role-play"
_MINUTES: Final = 60
_RECENT: Final = 3  # turns that say who is talked about and call memories to mind
_FOR_OUTLINE: Final = 3  # memories of each actor
_BY_INSTRUCTION, _BY_TURN = 3, 5  # memories that the instruction, and each recent turn, call to mind
_SAYINGS: Final = 3
_INSTRUCTION_WORDS, _LINE_WORDS = 40, 30  # for estimates
_FEW: Final = 3  # lines left for which nobody's memory is put in order any more (ours)
_USUAL_ROUNDS: Final = 2  # of planned lines, after which an objective is reached, as a rule
_FEWER_LINES: Final = "some scenes have fewer lines than their objectives take"
_IDLE: Final = 5  # steps in a row without a word of anybody that end the run (ours)


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Play the script; the story is the dialogue log, or prose made of it.

    Raises:
        PlanError: the author's script or plan has problems.
        ReplyError: a role gave nothing that can be read; the run goes on from there.
    """
    stage = await perform(brief, run, config)
    performed = [(director.act, director.turns, director.goals) for director in stage.performed]
    await interviews(stage.play, stage.actors, stage.hour, run)
    return await story_of(brief, stage.play, performed, run)


async def perform(brief: Brief, run: Run, config: Config) -> Stage:
    """Play the whole script, act group by act group; gives the stage as it stands at the end.

    Raises:
        PlanError: the author's script or plan has problems.
        ReplyError: a role gave nothing that can be read; the run goes on from there.
        UsageError: the sentence-embedding model cannot be opened.
    """
    script = await script_for(run, brief, config)
    run.check_cast("actor", script.names)
    play = Play(script, config, stages_for(script, brief, config), brief.titled)
    play.embedding.check()
    actors = await side_by_side([introduce(s, play, run.scope("cast", slug(s.name))) for s in script.actors])
    stage = Stage(play, run, {actor.name: actor for actor in actors}, players_of(script, config))
    for group in script.groups:
        await stage.play_group(group)
    return stage


# the stage ----------------------------------------------------------------------------------------------------------


@dataclass
class Stage:
    """The actors, the players and where they are, and the directors of the sub-acts.

    Attributes:
        places: the sub-act where each player is, by its title.
        directors: of the present act group, by the titles of their sub-acts.
        live: those of them whose sub-act is being played: it has objectives, and no person has written its log.
        performed: the directors of all sub-acts with objectives so far, in their order.
        hour: the clock; a turn takes a minute.
    """

    play: Play
    run: Run
    actors: dict[str, Actor]
    players: tuple[PlayerSheet, ...]
    places: dict[str, str] = field(init=False)
    directors: dict[str, Director] = field(default_factory=dict)
    live: list[Director] = field(default_factory=list)
    performed: list[Director] = field(default_factory=list)
    hour: float = 0.0

    def __post_init__(self) -> None:
        """Put the players where the script has them."""
        self.places = {player.name: player.place for player in self.players}

    async def play_group(self, group: Sequence[SubAct]) -> None:
        """Play the sub-acts of a group in step, until no director is active; each one's log is an artefact."""
        cast = {act.title: [self.actors[name] for name in act.actors] for act in group}
        before = tuple(_dated(director.act, goal) for director in self.performed for goal in director.goals if goal)
        documents = tuple(dict.fromkeys(text for director in self.performed for text in director.own_documents))
        directors = [Director(act, self.play, cast[act.title], self.hour, before, documents) for act in group]
        self.directors = {director.act.title: director for director in directors}
        playing = [director for director in directors if director.active]  # without goals there is nothing to play
        if not playing:
            return
        place = self.run.scope(_FOLDER)
        logs = [await place.given(slug(director.act.title), folder=_FOLDER) for director in playing]
        self.live = [director for director, log in zip(playing, logs, strict=True) if log is None]
        self.enter()
        in_step = asyncio.Barrier(max(len(self.live), 1))
        work = [
            self.play_sub_act(director, in_step) if log is None else self.live_through(director, log)
            for director, log in zip(playing, logs, strict=True)
        ]
        await side_by_side(work)
        self.performed += playing
        self.hour = max(self.hour, *(director.hour for director in playing))

    async def play_sub_act(self, director: Director, in_step: asyncio.Barrier) -> None:
        """Play one sub-act; what was said is kept, and where a person changes it, it is lived through as changed."""
        before = [actor.mind.copy() for actor in director.cast]

        async def make(own: Run) -> str:
            await director.open(own)
            while any(other.active for other in self.live):
                await self.step(director, in_step)
            return transcript(director.turns, director.goals)

        def read(text: str) -> tuple[bool, tuple[Turn, ...], list[Mind]]:
            as_played = text == transcript(director.turns, director.goals) and place.may_stand_as_made(name)
            return as_played, turns_of(text), [actor.mind for actor in director.cast]

        name, place = slug(director.act.title), self.run.scope(_FOLDER)
        as_played, turns, minds = await place.keep_as(read, name, make, folder=_FOLDER)
        for actor, mind in zip(director.cast, minds if as_played else before, strict=True):
            actor.mind = mind
        director.turns = list(turns)
        if not as_played:
            await director.live_through(turns, place.within(name))

    async def step(self, director: Director, in_step: asyncio.Barrier) -> None:
        """One step of one sub-act, which waits for the others: every player's action, the next turn, the goal check."""
        director.steps += 1
        for player in self.players:
            await in_step.wait()
            if self.is_host(director, player.name):
                await self.player_acts(player, director.steps)
        await in_step.wait()
        if director.active:
            await director.step()
        await in_step.wait()

    async def live_through(self, director: Director, log: str) -> None:
        """Take in a sub-act's log that a person wrote."""
        own = self.run.scope(_FOLDER).within(slug(director.act.title))
        await director.live_through(turns_of(log), own)

    # players: they wait, talk, and move as they like, before every line

    def enter(self) -> None:
        """Take every player to a sub-act of this group: an actor to its own, others where the last one leads."""
        leads = {act.title: act.next_act for act in self.play.script.acts}
        for player in self.players:
            own = [title for title, director in self.directors.items() if player.name in director.act.actors]
            last = self.places[player.name]
            to = own[0] if own else last if last in self.directors else leads.get(last, "")
            self.places[player.name] = to if to in self.directors else next(iter(self.directors))
            if self.can_act(player.name):
                self.directors[self.places[player.name]].players.append(player.name)

    def can_act(self, name: str) -> bool:
        """Whether a player can do anything in this group; an actor only in a sub-act of its own."""
        director = self.directors[self.places[name]]
        on_stage = name in director.act.actors or name not in self.actors
        return on_stage and self.is_open(director)

    def is_open(self, director: Director) -> bool:
        """Whether players may be in a sub-act: it is being played, or nobody plays there."""
        return director in self.live or not director.goals

    def is_host(self, director: Director, name: str) -> bool:
        """Whether a player's action is asked with this sub-act; where nobody plays, with the first that is played."""
        here = self.directors[self.places[name]]
        return self.can_act(name) and director is (here if here in self.live else self.live[0])

    async def player_acts(self, player: PlayerSheet, number: int) -> None:
        """One player waits, talks, moves, or moves and talks; whatever it is, the lines planned before are dropped."""
        director = self.directors[self.places[player.name]]
        at = director.run if director in self.live else self.run.scope("offstage", slug(director.act.title))
        kind, words, place = await self.action(player, director, at.scope("step", number, slug(player.name)))
        if kind in ("move", "move and talk") and place != director.act.title:
            await self.leave(player.name, director)
            director = self.directors[place]
            self.places[player.name] = place
            await self.arrive(player.name, director)
        if words:
            await self.interrupt(director, Turn.of(player.name, words))
        elif kind == "none" and director.awaited == player.name:
            await self.interrupt(director, Turn.of(NARRATION, f"{player.name} does nothing."))
        director.awaited = "" if director.awaited == player.name else director.awaited

    async def action(self, player: PlayerSheet, director: Director, run: Run) -> tuple[str, str, str]:
        """What a player does, says, and where they go."""
        bound = player.name in director.act.actors
        open_ = [] if bound else [title for title, other in self.directors.items() if self.is_open(other)]
        places = list(dict.fromkeys([director.act.title, *open_]))
        try:
            made = await run.ask_for(
                action_shape(places),
                player.name,
                "step_in",
                sampling=Sampling(max_tokens=run.reply_tokens(player.name, SHORT["step_in"])),
                player=player,
                act=director.act,
                background=self.play.script.scenery(director.act),
                history=self.play.shown(director.window.turns, run, player.name),
                awaited=director.awaited == player.name,
                places=places,
            )
        except ReplyError as error:
            run.note(f"{player.name} waits, as the answer could not be read: {error}")
            return "none", "", director.act.title
        talks = made.action in ("talk", "move and talk")
        return made.action, made.words.strip() if talks else "", getattr(made, "place", director.act.title)

    async def leave(self, name: str, director: Director) -> None:
        """A player leaves a sub-act, which its director has to plan anew for."""
        if director in self.live:
            director.players.remove(name)
            await self.interrupt(director, Turn.of(NARRATION, director.act.player_out))

    async def arrive(self, name: str, director: Director) -> None:
        """A player comes to a sub-act, which its director has to plan anew for."""
        if director in self.live:
            director.players.append(name)
            await self.interrupt(director, Turn.of(NARRATION, director.act.player_in))

    async def interrupt(self, director: Director, turn: Turn) -> None:
        """A turn that the director had not planned, if it has a text; where nobody plays, nobody hears it."""
        if director in self.live:
            director.interrupted = True
            if turn.text:
                await director.hear(turn)


def _dated(act: SubAct, goal: str) -> str:
    """What was played, with its date."""
    return f"{act.date}: {goal}" if act.date else goal


def players_of(script: Script, config: Config) -> tuple[PlayerSheet, ...]:
    """The players of the script, and actors whom the settings make players."""
    sheets = {player.name: player for player in script.players}
    for part in config.paper.players.split(","):
        for actor in script.actors:
            if slug(actor.name) == slug(one_line(part)):
                sheets.setdefault(actor.name, PlayerSheet(name=actor.name, description=actor.description))
    return tuple(sheets.values())


# the director -------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Director:
    """The director of one sub-act: who is there, what was said, the lines still planned, the objective in force.

    Attributes:
        cast: the actors of the sub-act.
        start: the hour at which it begins.
        before: the objectives of what was performed before it.
        documents: letters and other texts of earlier sub-acts, word for word.
        run: where its calls are made, once it is open.
        players: names of those who are here.
        turns: the dialogue log.
        queue: the planned lines that are left.
        goal: number of the objective, from 0.
        n: steps of this objective.
        rounds: how often it was asked whether this objective is reached.
        steps: steps of the whole sub-act.
        interrupted: whether something happened that was not planned.
        awaited: the player whose turn it is.
        idle: steps in a row in which neither the director nor the actor gave a line that can be read.
        idle_from: the first of them.
    """

    act: SubAct
    play: Play
    cast: list[Actor]
    start: float
    before: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    run: Run = field(init=False)
    window: Window = field(init=False)
    goals: tuple[str, ...] = field(init=False)
    players: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    queue: list[Turn] = field(default_factory=list)
    outline: Outline | None = None
    goal: int = 0
    n: int = 0
    rounds: int = 0
    steps: int = 0
    interrupted: bool = False
    awaited: str = ""
    idle: int = 0
    idle_from: int = 0

    def __post_init__(self) -> None:
        """Begin with an empty window."""
        self.window = Window(self.play.config.paper.window, self.play.config.paper.window_keep)
        self.goals = self.act.goals

    @property
    def active(self) -> bool:
        """Whether an objective is left."""
        return self.goal < len(self.goals)

    @property
    def hour(self) -> float:
        """The clock here."""
        return self.start + len(self.turns) / _MINUTES

    @property
    def present(self) -> tuple[str, ...]:
        """Names of everybody who is here."""
        return tuple(dict.fromkeys((*(actor.name for actor in self.cast), *self.players)))

    async def open(self, run: Run) -> None:
        """Begin: the objectives for the length wanted, and the opening narration."""
        self.run = run
        if self.play.stages > 1:
            self.goals = await split_goals(self.act, self.play.script.whole_background, self.play.stages, run)
        if self.act.background and self.play.config.ours.own_views and self.act.background == self.act.place:
            self.turns.append(Turn.of(NARRATION, self.act.background))  # prompts name the place by itself
        elif self.act.background:
            await self.hear(Turn.of(NARRATION, self.act.background))

    async def step(self) -> None:
        """The next turn, unless it is a player's, and then the goal check."""
        self.idle_from = self.idle_from if self.idle else self.steps
        run = self.run.tries(self._idle).scope("step", self.steps)
        turn = await self.next_turn(run)
        if turn is None:
            self.interrupted = True
        else:
            few = self.n + 1 + _FEW >= self.play.config.paper.max_steps
            await self.hear(turn, final=few and self.goal + 1 == len(self.goals))
        if await self.reached(run):
            self.queue.clear()
            self.goal, self.n, self.rounds = self.goal + 1, 0, 0

    async def next_turn(self, run: Run) -> Turn | None:
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
        return await speak(actor, self, line, instruction, run)

    def next_line(self) -> Turn | None:
        """The next planned line, without those of a player who also spoke last."""
        while self.queue:
            line = self.queue.pop(0)
            if not (line.name in self.players and self.turns and self.turns[-1].name == line.name):
                return line
        return None

    async def plan(self, run: Run) -> None:
        """Outline and script towards the objective; both anew where no line came of them, a bounded number of times.

        Raises:
            ReplyError: no plan had a line (only without `lenient_plan`).
        """
        self.queue.clear()
        run = run.tries("plan")
        for attempt in range(PLAN_TRIES):
            here = run.again(attempt, "It held no line that somebody speaks.")
            self.outline = await self.make_outline(here)
            self.queue = await self.make_script(self.outline, here)
            if self.queue:
                return
        if not self.play.config.ours.lenient_plan:
            problem = (
                f"The director planned no line at {run.at} in {PLAN_TRIES} tries. With lenient_plan=true the actor who "
                "was silent longest speaks."
            )
            raise run.no_use("plan", problem, "director", "")
        run.note(f"The director planned no line in {PLAN_TRIES} tries; the actor who was silent longest speaks.")
        self.idle += 1
        spoke = [turn.name for turn in self.turns]
        silent = min(self.cast, key=lambda a: len(spoke) - spoke[::-1].index(a.name) if a.name in spoke else 0)
        self.queue = [Turn(silent.name, self.goals[self.goal])]

    def stand_in(self, line: Turn) -> Turn:
        """The planned line itself, for an actor who spoke none.

        Raises:
            ReplyError: it is no line of the director's either, for the fifth step in a row.
        """
        if self.idle >= _IDLE:
            problem = f"Neither the director nor an actor gave a line that can be read in {_IDLE} steps."
            raise self.run.no_use(self._idle, problem, "actor", "")
        return line

    @property
    def _idle(self) -> str:
        """The place of the tries that end where nobody gives a line."""
        return f"step/{self.idle_from}/idle"

    @property
    def left(self) -> int:
        """Lines that are left for the objective."""
        return max(self.play.config.paper.max_steps - self.n, 1)

    def sheets(self) -> dict[str, str]:
        """Who is here, as the director knows them: what they hide and know of the others too."""
        if not self.play.config.ours.full_sheets:
            return dict.fromkeys(self.present, "")
        told = {actor.name: actor.sheet.at(self.act).whole for actor in self.cast}
        return {name: told.get(name, "") for name in self.present}

    @property
    def own_documents(self) -> tuple[str, ...]:
        """Letters and other texts of this sub-act, word for word, with who has read them."""
        return tuple(
            f"{turn.text} (read by {', '.join(name for name in self.present if name not in turn.unheard)})"
            for turn in self.turns
            if turn.name == DOCUMENT
        )

    async def make_outline(self, run: Run) -> Outline:
        """What has happened, and what should happen next; both empty where the reply cannot be read."""
        play, goal, ours = self.play, self.goals[self.goal], self.play.config.ours
        recent = " ".join(f"{turn.name} {turn.text}" for turn in self.window.turns[-_RECENT:])
        involved = tuple(dict.fromkeys((*self.present, *play.named_in(recent))))
        how = Recall(threshold=play.config.paper.memory_threshold)
        try:
            return await run.ask_for(
                Outline,
                "director",
                "outline",
                sampling=play.sampling(run, "director", "outline"),
                act=self.act if ours.full_sheets else None,
                background=play.script.whole_background if ours.full_sheets else "",
                brief=play.brief if ours.own_views else "",
                conflict=play.script.conflict if ours.full_sheets else "",
                telling=play.script.telling if ours.own_views else (),
                people=self.sheets(),
                relations=self.relations(),
                impressions=[
                    f"{a.name} of {view}" for a in self.cast for view in views_of(a.mind.impressions, involved)
                ],
                memories=[
                    f"{actor.name}: {one.memory.text}"
                    for actor in self.cast
                    for one in actor.mind.memories.recall(goal, self.hour, _FOR_OUTLINE, how)
                ],
                goal=goal,
                before=self.before if ours.own_views else (),
                documents=(*self.documents, *self.own_documents),
                following=self.goals[self.goal + 1] if ours.own_views and self.goal + 1 < len(self.goals) else "",
                left=self.left if ours.own_views else 0,
                history=self.history(run),
            )
        except ReplyError as error:
            run.note(f"The director's outline could not be read: {error}")
            return Outline.model_construct(previous_outline="", new_outline="")

    async def make_script(self, outline: Outline, run: Run) -> list[Turn]:
        """The next lines; none where the reply cannot be read."""
        play, own = self.play, self.play.config.ours.own_views
        lines = min(play.config.paper.planned_lines, self.left) if own else play.config.paper.planned_lines
        capable = own and not run.aids("director")
        hearers = self.present if capable and len(self.present) > 1 else ()
        roles = (*self.present, NARRATION, *((DOCUMENT,) if capable else ()))
        try:
            made = await run.ask_for(
                script_shape(roles, lines, hearers=hearers, fixed=capable),
                "director",
                "script",
                sampling=play.sampling(run, "director", "script"),
                names=self.present,
                last=self.history(run, _RECENT) if capable else (),
                documents=(*self.documents, *self.own_documents) if capable else (),
                fixed=capable,
                hearers=hearers,
                previous=outline.previous_outline,
                outline=outline.new_outline,
                goal=self.goals[self.goal] if play.config.ours.full_sheets else "",
                relations=self.relations(),
                lines=lines,
            )
        except ReplyError as error:
            run.note(f"The director's lines could not be read: {error}")
            return []
        kept = made.scripts if play.as_spoken(run, "director") else made.scripts[:lines]
        return [
            Turn.of(line.role, line.content, unheard=getattr(line, "unheard_by", ()), fixed=getattr(line, "fixed", ""))
            for line in kept
            if line.content.strip()
        ]

    def relations(self) -> list[str]:
        """How people here stand to each other: as the first actor sees it (the release), or as all do."""
        seen = self.cast if self.play.config.ours.all_relations else self.cast[:1]
        return [f"{actor.name} to {view}" for actor in seen for view in views_of(actor.mind.relations, self.present)]

    def history(self, run: Run, last: int = 0) -> tuple[str, ...]:
        """The turns in mind, or the last of them, as the director's prompts show them."""
        return self.play.shown(self.window.turns[-last:], run, "director")

    async def instruct(self, actor: Actor, line: Turn, run: Run) -> str:
        """A synopsis and acting keywords for a line, which does not give the line away."""
        fields = {
            "name": actor.name,
            "line": line.text,
            "own": self.play.config.ours.own_views,
            "actor": actor.sheet.at(self.act),
            "unheard": line.unheard,
            "fixed": line.fixed,
            "outline": self.outline.new_outline if self.outline else "",
            "history": self.history(run, _RECENT),
        }
        sampling = self.play.sampling(run, "director", "instruct")
        reply = await run.reply("director", "instruct", sampling=sampling, expect=_INSTRUCTION_WORDS, **fields)
        return self.play.tidied(reply.text, reply, run, ("director", "instruct", fields))

    async def hear(self, turn: Turn, *, final: bool = False) -> None:
        """A turn enters the log and the windows of director and actors; windows that are full are summed up.

        With `final`, when few lines are left, those that nobody needs in a later act are not (ours).
        """
        goal = min(self.goal, max(len(self.goals) - 1, 0)) if self.goals else turn.goal
        turn = replace(turn, goal=goal, scene=self.act.when_and_where, fixed="")
        self.turns.append(turn)
        windows: list[tuple[Window, Actor | None]] = [(self.window, None)]
        windows += [(actor.mind.window, actor) for actor in self.cast if actor.name not in turn.unheard]
        for window, _ in windows:
            window.turns.append(turn)
        here = self.run.scope("heard", len(self.turns))
        company = {actor.name: self.company(actor, final=final) for actor in self.cast}
        windows = [(window, who) for window, who in windows if not (final and who and not company[who.name])]
        await compact(windows, self.play, here, hour=self.hour, background=self.act.background, company=company)

    def company(self, actor: Actor, *, final: bool) -> frozenset[str]:
        """Whom an actor still has to do with: here, unless few lines are left (`final`), and in later acts."""
        script, settled = self.play.script, self.play.config
        if not settled.ours.spare_notes or settled.paper.interview.strip():
            return frozenset(script.names)
        acts = [*(() if final else (self.act,)), *script.after(self.act)]
        met = {name for act in acts if actor.name in act.actors for name in act.actors}
        return frozenset((*met, *(player.name for player in script.players))) if met else frozenset()

    async def reached(self, run: Run) -> bool:
        """Whether the objective is reached: not before `min_steps`, in `max_steps` in any case.

        With `late_checks` it is asked when no planned line is left.
        """
        paper = self.play.config.paper
        self.n += 1
        if self.n >= paper.max_steps:
            return True
        late = self.play.config.ours.late_checks and bool(self.queue)
        if self.n < paper.min_steps or late:
            return False
        self.rounds += 1
        checking = run.optional(_FEWER_LINES, part=self.rounds / _USUAL_ROUNDS)
        try:
            found = await checking.ask_for(
                GoalCheck,
                "director",
                "check_goal",
                sampling=self.play.sampling(run, "director", "check_goal"),
                expect={"completed": 0.5},
                goal=self.goals[self.goal],
                history=self.history(run, self.n),
            )
        except NoRoomError:
            return True
        except ReplyError as error:
            run.note(f"Whether the objective is reached could not be read: {error}")
            return False
        return found.completed

    async def live_through(self, turns: Sequence[Turn], run: Run) -> None:
        """Take in turns that a person wrote (ours): they are heard as if they had been played, and no line is asked.

        Turns that stand as they were played cost nothing.
        """
        self.run, self.turns = run, []
        self.window = Window(self.window.most, self.window.keep)
        stages = 1 + max((turn.goal for turn in turns), default=0)
        self.goals = (*self.goals, *("" for _ in range(stages - len(self.goals))))
        for number, turn in enumerate(turns, 1):
            self.goal = turn.goal
            await self.hear(turn, final=number + _FEW >= len(turns))
        self.goal = len(self.goals)


# an actor's line ----------------------------------------------------------------------------------------------------


async def speak(actor: Actor, director: Director, line: Turn, instruction: str, run: Run) -> Turn:
    """The actor's own line for a planned one, which it does not see; at most 4 calls, and 1 for the check.

    A line out of character is asked again; where no try has anything of use, the planned line stands in. A line much
    like an earlier one is spoken again once, with the first turn alone in mind.
    """
    play, turns = director.play, actor.mind.window.turns
    paper, as_spoken = play.config.paper, play.as_spoken(run, actor.name)
    fields = _line_fields(actor, director, line, instruction, run)
    for attempt in range(LINE_TRIES):
        here = run.again(attempt, "It was no line of this character.")
        text, own = await _line(actor, play, here, fields, turns)
        if own:
            director.idle = 0
            return replace(line, text=Turn.of(actor.name, text).text)
        if text and (as_spoken or not leaves_part(text)):
            director.idle = 0
            break
    else:
        run.note(f"{actor.name} spoke no line of use in {LINE_TRIES} tries; the director's stands in.")
        return director.stand_in(line)
    if paper.self_check:
        text = await _checked(actor, text, play, run)
    earlier = () if as_spoken else [turn.text for turn in turns]
    if paper.repeat_threshold and repeats_earlier(text, earlier, paper.repeat_threshold):
        again, _ = await _line(actor, play, run.scope("anew"), fields, turns[:1])
        text = again if again and not leaves_part(again) else text
    return replace(line, text=Turn.of(actor.name, text).text)


def _line_fields(actor: Actor, director: Director, line: Turn, instruction: str, run: Run) -> dict[str, Any]:
    """What the actor's prompt shows, but for the history."""
    play, mind = director.play, actor.mind
    last = mind.window.turns[-_RECENT:]
    first = instruction.partition("\n")[0]
    queries = [*([(first, _BY_INSTRUCTION)] if first else []), *((str(turn), _BY_TURN) for turn in last)]
    relevant, others = actor.recall(queries, play, director.hour, play.config.paper.relevant)
    named = play.named_in(" ".join(f"{turn.name} {turn.text}" for turn in last), actor.name)
    full, own = play.config.ours.full_sheets, play.config.ours.own_views
    instructed = own and instruction and not run.aids(actor.name)
    scene = director.act.background if full and not (own and director.act.background == director.act.place) else ""
    known = play.script.whole_background if run.aids(actor.name) else play.script.scenery(director.act)
    return {
        "actor": actor.sheet.at(director.act),
        "now": director.act.when_and_where,
        "own": own and not run.aids(actor.name),
        "fixed": line.fixed,
        "background": " ".join(filter(None, (known, scene))),
        "place": director.act.place if own else "",
        "date": director.act.date if own else "",
        "relations": views_of(mind.relations, named) if full else (),
        "impressions": views_of(mind.impressions, named),
        "relevant": relevant,
        "others": others,
        "sayings": _sayings(actor, last, play),
        "outline": director.outline.new_outline if director.outline and not instructed else "",
        "instruction": instruction,
    }


def _sayings(actor: Actor, last: Sequence[Turn], play: Play) -> tuple[tuple[str, str], ...]:
    """How the actor once answered something like the last turn: pairs of what was asked and what it said."""
    known = actor.sheet.sayings
    if not known or not last or last[-1].name == actor.name:
        return ()
    like = play.embedding([saying.asked for saying in known]) @ play.embedding([last[-1].text])[0]
    best = sorted(range(len(known)), key=lambda n: (-like[n], n))[:_SAYINGS]
    return tuple((known[n].asked, known[n].said) for n in best if like[n] >= play.config.paper.saying_threshold)


async def _line(actor: Actor, play: Play, run: Run, fields: dict[str, Any], turns: Sequence[Turn]) -> tuple[str, bool]:
    """A line, and whether a person wrote it, who means what they write."""
    shown, as_chat = play.shown(turns, run, actor.name), play.config.paper.chat_history
    history = shown if as_chat else play.history(turns, run, actor.name, fields["now"])
    fields = {**fields, "history": history, "as_chat": as_chat}
    chat = _as_chat(turns, shown, actor.name) if as_chat else ()
    sampling = play.sampling(run, actor.name, "act")
    reply = await run.chat(actor.name, "act", chat, sampling=sampling, expect=_LINE_WORDS, **fields)
    if is_person(reply.model):
        return reply.text, True
    said = play.turn_in(reply.text, actor.name, play.script.names, run)
    text = play.tidied(said, reply, run, (actor.name, "act", fields), kind="prose")
    if text and play.config.ours.clean_replies and run.aids(actor.name) and _is_copied(text, run, fields):
        run.removed("reply", text)
        return "", False
    return text, False


def _is_copied(text: str, run: Run, fields: dict[str, Any]) -> bool:
    """Whether a line is what the actor was told, and not what it says."""
    told = [one_line(part).casefold() for part in (fields["instruction"], fields["outline"]) if part.strip()]
    return any(part in one_line(text).casefold() for part in told) or bool(run.fault(text, "act", fields))


def _as_chat(turns: Sequence[Turn], shown: Sequence[str], name: str) -> tuple[Message, ...]:
    """The history as the turns of a chat: what `name` said is the model's, without the name; all else the user's."""
    return tuple(
        Message("assistant", text.removeprefix(f"{name}: ")) if turn.name == name else Message("user", text)
        for turn, text in zip(turns, shown, strict=True)
    )


async def _checked(actor: Actor, text: str, play: Play, run: Run) -> str:
    """The line after the actor's self-check; as it is, where the reply cannot be read."""
    try:
        found = await run.ask_for(
            LineCheck,
            "actor",
            "check_line",
            sampling=play.sampling(run, "actor", "check_line"),
            actor=actor.sheet,
            line=text,
        )
    except ReplyError as error:
        run.note(f"The line of {actor.name} could not be checked: {error}")
        return text
    revised = "" if found.result else play.turn_in(found.revised_response, actor.name, play.script.names, run)
    return revised or text
