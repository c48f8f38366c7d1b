"""Our version of IBSEN: the director and the actors know more and ask less, and the play is retold as prose.

The stage, its steps, the players and the loop of planning and speaking are the paper's (`algorithm`). Here are what
differs: the script and its objectives, for the length wanted; the director; the actors and what they remember; prose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import NoRoomError, ReplyError
from fabula.craft.length import WordRange, asked_range
from fabula.craft.packing import last_of
from fabula.craft.planning import PlanOptions
from fabula.craft.prose import Prose, clean_reply, write_prose
from fabula.engine.replies.turns import read_turn
from fabula.engine.roles import is_person
from fabula.models.base import Reply, Sampling
from fabula.story import Brief, Story, count_words, one_line, slug
from fabula.systems.ibsen.actor import RECENT, Actor, Play, SpeakingMoment, views_of
from fabula.systems.ibsen.algorithm import Director, Stage, log_of
from fabula.systems.ibsen.config import Config, Ours
from fabula.systems.ibsen.log import ActiveWindow, Performed, PlayLine
from fabula.systems.ibsen.script import ActorSheet, Script, SubAct, acts_of, script_for, script_of
from fabula.systems.ibsen.shapes import steps_shape

if TYPE_CHECKING:
    from fabula.craft.memory import Memory
    from fabula.engine.run import Run
    from fabula.story.plan import Plan


_USUAL_ROUNDS: Final = 2  # of planned lines, after which an objective is reached, as a rule
_FEWER_LINES: Final = "some scenes have fewer lines than their objectives take"
_MOST_POINTS: Final = 20  # of summaries, that stay in mind
_STAGES_A_CALL: Final = 6  # stages of an objective that one call names
_MOST_STAGES: Final = 60
_FREE: Final = frozenset(("instruct", "act", "impression"))  # replies that no schema bounds
_SHORT: Final = 150  # tokens of these from a small model
_LABELS: Final = ("Writing task", "Story so far", "What was played", "Characters", "Place", "Narration", "Scene")
_STORY_TOKENS, _PLAYED_TOKENS = 700, 2000  # of a prompt, for a small model
_SHARE: Final = 0.3  # of another's window, for each of the two
_BEFORE: Final = 3  # sections that a small model may echo


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Play the script, and retell it as prose of the length asked; without `prose` the dialogue log is the story.

    Raises:
        PlanError: the author's script, plan or personas have problems.
        ReplyError: a role gave nothing that can be read; the run continues from there.
        UsageError: the sentence-embedding model cannot be opened.
    """
    ours = config.ours or Ours()
    want = asked_range(brief, ours.words) if ours.prose else None
    of_plan = partial(script_for_length, want=want, goal_words=ours.goal_words)
    script = await script_for(run, brief, config, of_plan, PlanOptions.of(config))
    objectives = sum(len(act.goals) for act in script.acts)
    stages = ceil(want.target / (objectives * ours.goal_words)) if want and objectives else 1
    play = KnowingPlay(script, config, brief.titled, min(stages, _MOST_STAGES))
    stage = KnowingStage(play, run)
    await stage.perform()
    return await retold(stage, brief, want, ours) if ours.prose else await log_of(stage, brief)


# the script, and objectives for a length ----------------------------------------------------------------------------


def script_for_length(plan: Plan, want: WordRange | None, goal_words: int) -> Script:
    """The script of a plan: a scene is one objective, or as many events of it as yield the words wanted.

    The conflict is for the director and the writer alone, who also know how the story must be told.
    """
    script, parts = script_of(plan), ceil(want.target / (len(plan.scenes) * goal_words)) if want else 1
    acts = acts_of(plan, [actor.name for actor in script.actors], parts)
    return script.model_copy(
        update={
            "background": one_line(plan.setting),
            "conflict": one_line(plan.conflict),
            "telling": tuple(filter(None, map(one_line, (plan.manner, plan.form, *plan.demands, *plan.payoffs)))),
            "acts": tuple(act.model_copy(update={"background": ""}) for act in acts),  # prompts name the place
        }
    )


async def split_goals(act: SubAct, play: KnowingPlay, run: Run) -> tuple[str, ...]:
    """The sub-act's objectives, each in so many stages as the play needs, of which the last is the objective itself.

    Costs 1 call for 6 stages of an objective. Where stages cannot be read, the objective has fewer.
    """
    goals: list[str] = []
    for place, goal in enumerate(act.goals, 1):
        steps: list[str] = []
        while len(steps) < play.stages - 1:
            asked = min(_STAGES_A_CALL, play.stages - 1 - len(steps))
            try:
                found = await run.scope("goal", place, "stages", len(steps) + 1).ask_for(
                    steps_shape(asked),
                    "director",
                    "split_goal",
                    background=play.script.background,
                    act=act,
                    before=tuple(goals[-1:]),
                    steps=tuple(steps),
                    goal=goal,
                    number=asked,
                )
            except ReplyError as error:
                run.note(f"Objective {place} has {len(steps) + 1} stages instead of {play.stages}: {error}")
                break
            steps += [one_line(step) for step in found.steps[:asked]]
        goals += [*steps, goal]
    return tuple(goals)


# the stage and the director -----------------------------------------------------------------------------------------


class AddingWindow(ActiveWindow):
    """A window whose summaries add up; with more points than stay in mind the oldest go (actors remember them)."""

    @property
    def old(self) -> tuple[PlayLine, ...]:
        """All turns but the last."""
        return tuple(self.turns[self.opening : -self.keep])

    def compact(self, points: Sequence[str], background: str = "") -> None:
        """Put `points` behind earlier ones, in place of the old turns."""
        super().compact((*self.points, *points)[-_MOST_POINTS:], background)


@dataclass(frozen=True)
class KnowingPlay(Play):
    """The play with the author's brief, and the number of stages of each objective."""

    brief: str = ""
    stages: int = 1

    def window(self) -> ActiveWindow:
        """An empty window."""
        return AddingWindow(self.config.paper.window, self.config.paper.window_keep)

    def sampling(self, run: Run, role: str, prompt: str) -> Sampling:
        """As the model does by itself."""
        return Sampling(max_tokens=run.room(role).reply_tokens(_SHORT) if prompt in _FREE else None)

    def text_of(self, run: Run, role: str, reply: Reply) -> str:
        """The text of a reply, without remarks around it."""
        return clean_reply(run, role, reply, labels=self.script.names, kind="notes")

    def turn_in(self, text: str, name: str, others: Sequence[str], run: Run) -> str:
        """What `name` says in a reply: all lines until somebody else speaks."""
        turn = read_turn(text, name, others, whole=True)
        run.removed("speaker", text, turn)
        return turn


@dataclass
class KnowingStage(Stage):
    """The stage with our director and our actors."""

    play: KnowingPlay

    def actor(self, sheet: ActorSheet) -> Actor:
        """An actor of the play."""
        return KnowingActor(sheet, self.play)

    def director(self, act: SubAct) -> Director:
        """The director of a sub-act."""
        return KnowingDirector(act, self.play, [self.actors[name] for name in act.actors], self.hour)


@dataclass(eq=False)
class KnowingDirector(Director):
    """The director, who knows brief, people and place, what comes next, and how many lines are left."""

    play: KnowingPlay
    rounds: Counter[int] = field(default_factory=Counter)  # of planned lines, by the number of the objective

    async def open(self, run: Run) -> None:
        """Begin: the objectives for the length wanted, and the opening narration."""
        if self.play.stages > 1:
            self.goals = await split_goals(self.act, self.play, run)
        await super().open(run)

    def outline_fields(self) -> dict[str, Any]:
        """What the director knows."""
        script, sheets = self.play.script, {actor.name: actor.sheet.whole for actor in self.cast}
        return {
            **super().outline_fields(),
            "people": {name: sheets.get(name, "") for name in self.present},
            "act": self.act,
            "brief": self.play.brief,
            "background": script.background,
            "conflict": script.conflict,
            "telling": script.telling,
            "following": " ".join(self.goals[self.goal + 1 : self.goal + 2]),
            "left": max(self.play.config.paper.max_steps - self.n, 1),
        }

    def script_fields(self) -> dict[str, Any]:
        """What the director knows, in addition to the outline, when it writes the next lines."""
        return {**super().script_fields(), "goal": self.goals[self.goal], "history": self.history(RECENT)}

    def instruct_fields(self, actor: Actor, line: PlayLine) -> dict[str, Any]:
        """The outline and the last lines, from which the line may have come away since it was planned."""
        outline = self.outline.new_outline if self.outline else ""
        return {"name": actor.name, "line": line.text, "outline": outline, "history": self.history(RECENT)}

    def relations(self) -> list[str]:
        """How people here stand to each other, as all of them see it."""
        return [f"{one.name} to {view}" for one in self.cast for view in views_of(one.mind.relations, self.present)]

    async def reached(self, run: Run) -> bool:
        """Whether the objective is reached; no model is called while planned lines are left.

        It is also over where a cap leaves no room for more lines.
        """
        if self.queue and self.n + 1 < self.play.config.paper.max_steps:
            self.n += 1
            return False
        self.rounds[self.goal] += 1
        try:
            return await super().reached(run.optional(_FEWER_LINES, part=self.rounds[self.goal] / _USUAL_ROUNDS))
        except NoRoomError:
            return True


class KnowingActor(Actor):
    """An actor who knows its relations and its scene, keeps memories as they were summed up, and speaks freely."""

    async def first_impressions(self, run: Run) -> None:
        """None; impressions are formed by what is heard."""

    async def remember(self, memory: Memory, run: Run) -> None:
        """Add a memory as it is."""
        del run
        self.mind.memories.add(memory)

    def recall(
        self, queries: Sequence[tuple[str, int]], hour: float, relevant: float
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What queries call to mind, and is not in the window already."""
        found = super().recall(queries, hour, relevant)
        near, others = (tuple(one for one in some if one not in self.mind.window.points) for some in found)
        return near, others

    def line_fields(self, moment: SpeakingMoment) -> dict[str, Any]:
        """What the actor's prompt shows: an instructed actor does not see the outline."""
        recent = " ".join(f"{turn.name} {turn.text}" for turn in self.mind.window.turns[-RECENT:])
        shown = {
            "background": self.play.script.background,
            "place": moment.act.place,
            "relations": views_of(self.mind.relations, self.play.named_in(recent, self.name)),
        }
        return {**super().line_fields(moment), **shown, **({"outline": ""} if moment.instruction else {})}

    def leaves_part(self, text: str) -> bool:
        """Never: a line stands as it was spoken, whatever it speaks of."""
        del text
        return False

    async def line(self, run: Run, fields: dict[str, Any], turns: Sequence[PlayLine]) -> tuple[str, bool]:
        """A line, and whether a person wrote it; the history stands in the one message that a person reads too."""
        sampling, history = self.play.sampling(run, self.name, "act"), tuple(map(str, turns))
        reply = await run.reply(self.name, "act", sampling=sampling, **fields, history=history)
        if is_person(reply.model):
            return reply.text, True
        return self.play.turn_in(reply.text, self.name, self.play.script.names, run), False


# prose --------------------------------------------------------------------------------------------------------------


async def retold(stage: KnowingStage, brief: Brief, want: WordRange | None, ours: Ours) -> Story:
    """The play as prose, one scene for each sub-act; 1 call or more for each objective."""
    title = stage.play.script.title
    story = replace(Story.of(brief) if brief.title or not title else Story(title), breaks=True)
    performed = [one for one in stage.performed if one.turns]
    weights = [weight for one in performed for weight in _weights(one)]
    for at, one in enumerate(performed):
        coming = [goal for later in performed[at + 1 : at + 2] for goal in later.goals[:1]]
        task = _Retelling(stage.play, one, coming, story, tuple(weights), want, ours.goal_words)
        story = story.add(one.label, await stage.run.keep(slug(one.label), task.write, folder="story"))
        weights = weights[len(_sections(one)) :]
    return story


def _sections(one: Performed) -> list[tuple[PlayLine, ...]]:
    """The turns of each objective."""
    goals = dict.fromkeys(turn.goal for turn in one.turns)
    return [tuple(turn for turn in one.turns if turn.goal == goal) for goal in goals]


def _weights(one: Performed) -> list[float]:
    """What the sections of a sub-act weigh: together its importance."""
    number = len(_sections(one))
    return [one.act.importance / number] * number


@dataclass(frozen=True)
class _Retelling:
    """One sub-act as prose; `weights` are those of all sections from its first one on, `coming` what follows it."""

    play: KnowingPlay
    performed: Performed
    coming: Sequence[str]
    before: Story
    weights: Sequence[float]
    want: WordRange | None
    usual: int

    async def write(self, run: Run) -> str:
        """The prose, objective by objective."""
        here: list[str] = []
        for number, section in enumerate(_sections(self.performed), 1):
            told = [*(scene.text for scene in self.before.scenes), *here]
            last = number == len(self.weights)
            cut = run.room("writer").aids
            fits = self.want and self.want.of_sections(self.weights[number - 1 :], [*map(count_words, told)], cut=cut)
            prose = Prose(last, fits, (*_LABELS, *self.play.script.names), self.usual, "".join(told[-1:]))
            fields = {**self._fields(section, told, run), "begins": number == 1, "last": last}
            own = run.scope("part", number)
            here.append(await write_prose(own, "writer", "retell", prose, before=told[-_BEFORE:], fields=fields))
        return "\n\n".join(here)

    def _fields(self, section: Sequence[PlayLine], told: Sequence[str], run: Run) -> dict[str, Any]:
        script, act, goals = self.play.script, self.performed.act, [*self.performed.goals, *self.coming]
        goal = section[0].goal
        there = {*act.actors, *(turn.name for turn in section)}
        return {
            "brief": self.play.brief,
            "background": script.background,
            "conflict": script.conflict,
            "telling": script.telling,
            "act": act,
            "goal": " ".join(goals[goal : goal + 1]),
            "following": " ".join(goals[goal + 1 : goal + 2]),
            "people": [sheet for sheet in script.actors if sheet.name in there],
            "played": last_of("\n\n".join(map(str, section)), run.room("writer").prompt_tokens(_PLAYED_TOKENS, _SHARE)),
            "story": last_of("\n\n".join(told), run.room("writer").prompt_tokens(_STORY_TOKENS, _SHARE)),
        }
