"""The director of one sub-act: plans a few lines, gives them to actors one by one, and checks the objective."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.engine.dry_run import STALE
from fabula.engine.replies import clean_prose
from fabula.systems.ibsen.acting import Cue, speak
from fabula.systems.ibsen.log import Turn, Window, turns_of
from fabula.systems.ibsen.remembering import fold_windows, told
from fabula.systems.ibsen.script import NARRATION
from fabula.systems.ibsen.shapes import GoalCheck, Outline, script_shape
from fabula.systems.ibsen.staging import parted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.remembering import Actor, Play
    from fabula.systems.ibsen.script import SubAct

_MEMORIES: Final = 3  # of each actor, for the outline
_RECENT: Final = 3  # turns that say who is talked about
_TEMPERATURE: Final = 0.6
_PENALTY: Final = 0.6
_OUTLINE_TOKENS, _SCRIPT_TOKENS, _INSTRUCTION_TOKENS, _CHECK_TOKENS = 2000, 1000, 150, 150
_LINE_TOKENS: Final = 90  # of a planned line
_INSTRUCTION_WORDS: Final = 40  # for estimates
_MINUTES: Final = 60


@dataclass
class Scene:
    """A sub-act as it is played: who is there, what was said, the lines still planned, and the objective in force.

    `n` counts the steps of the objective, `start` is the hour at which the act began; a turn takes a minute.
    """

    act: SubAct
    play: Play
    cast: list[Actor]
    run: Run
    start: float
    window: Window = field(init=False)
    goals: tuple[str, ...] = ()
    players: list[str] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    queue: list[Turn] = field(default_factory=list)
    outline: Outline | None = None
    goal: int = 0
    n: int = 0
    interrupted: bool = False
    awaited: str = ""

    def __post_init__(self) -> None:
        """Begin with an empty window."""
        self.window = Window(self.play.config.window, self.play.config.window_keep)
        self.goals = self.act.goals

    @property
    def active(self) -> bool:
        """Whether an objective is left."""
        return self.goal < len(self.goals)

    @property
    def hour(self) -> float:
        """The clock here."""
        return self.start + len(self.turns) / _MINUTES

    # what is heard --------------------------------------------------------------------------------------------------

    async def open(self, run: Run) -> None:
        """Begin: the objectives for the length wanted, and the opening narration."""
        self.run = run
        if self.play.goal_stages > 1:
            self.goals = await parted(self.act, self.play.script.background, self.play.goal_stages, run)
        if self.act.background:
            await self.narrate(self.act.background)

    async def narrate(self, text: str) -> None:
        """Narration enters the log."""
        await self.hear(Turn.of(NARRATION, text))

    async def hear(self, turn: Turn) -> None:
        """A turn enters the log and the windows of director and actors; windows that are too full are summed up."""
        turn = replace(turn, goal=min(self.goal, max(len(self.goals) - 1, 0)) if self.goals else turn.goal)
        self.turns.append(turn)
        windows: list[tuple[Window, Actor | None]] = [(self.window, None)]
        windows += [(actor.window, actor) for actor in self.cast]
        for window, _ in windows:
            window.turns.append(turn)
        here = self.run.scope("heard", len(self.turns))
        await fold_windows(windows, self.play, here, hour=self.hour, background=self.act.background)

    async def live_through(self, turns: Sequence[Turn], run: Run) -> None:
        """Take in turns that a person wrote: they are heard as if they had been played so, and nobody is asked for one.

        Turns that stand as they were played cost nothing.
        """
        self.run, self.turns = run, []
        self.window = Window(self.play.config.window, self.play.config.window_keep)
        stages = 1 + max((turn.goal for turn in turns), default=0)
        self.goals = (*self.goals, *("" for _ in range(stages - len(self.goals))))
        for turn in turns:
            self.goal = turn.goal
            await self.hear(turn)
        self.goal = len(self.goals)

    def mark(self, text: str) -> None:
        """In a dry run: this log would come out differently, so mark it and what is made of it."""
        self.turns = list(turns_of(text))
        for actor in self.cast:
            if actor.window.turns:
                last = actor.window.turns[-1]
                actor.window.turns[-1] = replace(last, text=last.text + STALE)

    # one step -------------------------------------------------------------------------------------------------------

    async def step(self, number: int) -> None:
        """The next turn, unless it is a player's, and then the check of the objective (section 2.3)."""
        run = self.run.scope("step", number)
        turn = await self._next(run)
        if turn is None:
            self.interrupted = True
        else:
            await self.hear(turn)
        if await self._reached(run):
            self.queue.clear()
            self.goal, self.n = self.goal + 1, 0

    async def _next(self, run: Run) -> Turn | None:
        """The next turn; `None` where a player is to have it (section 2.4)."""
        if self.interrupted or not self.queue:
            await self._plan(run)
        self.interrupted = False
        line = self._line()
        if line is None:  # all were of the player who has just spoken
            await self._plan(run.scope("replan"))
            line = self._line()
        if line is None or line.role in self.players:
            self.awaited = line.role if line else self.players[0]
            return None
        actor = next((actor for actor in self.cast if actor.name == line.role), None)
        if actor is None:
            return Turn.of(NARRATION, line.text)
        return await self._acted(actor, line, run)

    def _line(self) -> Turn | None:
        """The next planned line, without those of a player who also spoke last."""
        while self.queue:
            line = self.queue.pop(0)
            if not (line.role in self.players and self.turns and self.turns[-1].role == line.role):
                return line
        return None

    async def _acted(self, actor: Actor, line: Turn, run: Run) -> Turn:
        """The line as the actor speaks it."""
        config, outline = self.play.config, self.outline.new_outline if self.outline else ""
        background = " ".join(filter(None, (self.play.script.background, self.act.background)))
        cue = Cue(line, background, outline)
        if config.use_instruction:
            cue = replace(cue, instruction=await self._instruction(actor, line, outline, run))
        return await speak(actor, cue, self.play, run, self.hour)

    async def _instruction(self, actor: Actor, line: Turn, outline: str, run: Run) -> str:
        """A synopsis and acting keywords for a line, which does not give the line away."""
        config = self.play.config
        fields = {"name": actor.name, "line": line.text, "outline": outline, "history": self._history(_RECENT)}
        reply = await run.reply(
            "director",
            "instruct",
            sampling=config.drawn(_TEMPERATURE, _INSTRUCTION_TOKENS, presence=_PENALTY),
            expect=_INSTRUCTION_WORDS,
            **fields,
        )
        if not config.tidy:
            return reply.text.strip()
        echo = [run.render("instruct", **fields)]
        names = self.play.script.names
        return clean_prose(reply.text, labels=names, last=True, echo=echo, finish=reply.finish, kind="notes").text

    def _history(self, last: int = 0) -> tuple[str, ...]:
        return self.play.shown(self.window.turns[-last:])

    # planning -------------------------------------------------------------------------------------------------------

    async def _plan(self, run: Run) -> None:
        """Outline and script towards the objective; both anew where no line came of them, a bounded number of times.

        Raises:
            ReplyError: no plan had a line (only without `lenient_plan`).
        """
        config = self.play.config
        self.queue.clear()
        for attempt in range(config.plan_tries):
            here = run.scope("again", attempt) if attempt else run
            self.outline = await self._outlined(here)
            self.queue = await self._scripted(here)
            if self.queue:
                return
        if not config.lenient_plan:
            raise ReplyError(
                f"The director planned no line at {run.at} in {config.plan_tries} tries. Give the role 'director' a "
                "stronger model, or set lenient_plan=true, and the actor who was silent longest speaks.",
                reply="",
            )
        run.note(f"The director planned no line in {config.plan_tries} tries; who was silent longest speaks.")
        spoke = [turn.role for turn in self.turns]
        silent = min(self.cast, key=lambda a: len(spoke) - spoke[::-1].index(a.name) if a.name in spoke else 0)
        self.queue = [Turn(silent.name, self.goals[self.goal])]

    async def _outlined(self, run: Run) -> Outline:
        """What has happened, and what should happen next; both empty where that cannot be read."""
        config = self.play.config
        try:
            return await run.ask_for(
                Outline,
                "director",
                "outline",
                sampling=config.drawn(_TEMPERATURE, _OUTLINE_TOKENS if config.released_sampling else 400),
                **self._knowledge(),
            )
        except ReplyError as error:
            run.note(f"The director's outline could not be read: {error}")
            return Outline.model_construct(previous_outline="", new_outline="")

    def _knowledge(self) -> dict[str, Any]:
        """What the director plans from."""
        play, goal = self.play, self.goals[self.goal]
        recent = " ".join(f"{turn.role} {turn.text}" for turn in self.window.turns[-_RECENT:])
        involved = tuple(dict.fromkeys((*self.present, *play.who(recent))))
        memories = [
            f"{actor.name}: {one.memory.text}"
            for actor in self.cast
            for one in actor.memories.recall(goal, self.hour, _MEMORIES, play.config.recall)
        ]
        impressions = [f"{actor.name} of {view}" for actor in self.cast for view in told(actor.impressions, involved)]
        sheets = [(actor.name, actor.sheet.description if play.config.full_sheets else "") for actor in self.cast]
        return {
            "act": self.act,
            "background": play.script.background if play.config.full_sheets else "",
            "people": [*sheets, *((name, "") for name in self.players if name not in dict(sheets))],
            "relations": self._relations(),
            "impressions": impressions,
            "memories": memories,
            "goal": goal,
            "history": self._history(),
        }

    @property
    def present(self) -> tuple[str, ...]:
        """Names of everybody who is here."""
        return tuple(dict.fromkeys((*(actor.name for actor in self.cast), *self.players)))

    def _relations(self) -> list[str]:
        """How people here stand to each other: as the first actor sees it, or as all do."""
        seen = self.cast if self.play.config.all_relations else self.cast[:1]
        return [f"{actor.name} to {tie}" for actor in seen for tie in told(actor.relations, self.present)]

    async def _scripted(self, run: Run) -> list[Turn]:
        """The next lines; none where they cannot be read."""
        config, lines = self.play.config, self.play.config.planned_lines
        outline = self.outline
        try:
            made = await run.ask_for(
                script_shape((*self.present, NARRATION), lines),
                "director",
                "script",
                sampling=config.drawn(
                    _TEMPERATURE, _SCRIPT_TOKENS if config.released_sampling else _LINE_TOKENS * (lines + 1)
                ),
                names=self.present,
                previous=outline.previous_outline if outline else "",
                outline=outline.new_outline if outline else "",
                goal=self.goals[self.goal],
                relations=self._relations(),
                lines=lines,
            )
        except ReplyError as error:
            run.note(f"The director's lines could not be read: {error}")
            return []
        return [Turn.of(line.role, line.content) for line in made.scripts[:lines] if line.content.strip()]

    # the objective --------------------------------------------------------------------------------------------------

    async def _reached(self, run: Run) -> bool:
        """Whether the objective is complete: not before `min_steps`, in `max_steps` in any case (section 2.6)."""
        config = self.play.config
        self.n += 1
        if self.n >= config.max_steps:
            return True
        if self.n < config.min_steps:
            return False
        try:
            found = await run.ask_for(
                GoalCheck,
                "director",
                "check_goal",
                sampling=config.drawn(_TEMPERATURE, _CHECK_TOKENS),
                goal=self.goals[self.goal],
                history=self._history(self.n),
            )
        except ReplyError as error:
            run.note(f"Whether the objective is reached could not be read: {error}")
            return False
        return found.completed
