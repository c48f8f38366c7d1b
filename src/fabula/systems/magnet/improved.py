"""MAGNET as we would use it: steps of Algorithm 1, with scenes, people who know what they saw, and the length asked.

Beside the paper (`algorithm.py`), from top to bottom:

- The story comes in scenes. With its choice the narrator, and with its goal the goal generator, says where and when the
  next scene is and who acts there; W takes the places over.
- The characters of a step act one after the other and can answer each other, each for reasons of its own. A player is
  shown what its character has seen and heard, and nothing that another hides.
- What a transition tells goes into W, and so does the story time, where the story has dates.
- The paragraph is prose of its own call, of the words that the story has left for it; the last one ends the story.
- Prompts are bounded, however long the story is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.craft.length import WordRange
from fabula.craft.personas import check_cast
from fabula.craft.prose import Prose, clean_reply, reply_fault, write_prose
from fabula.engine.roles import is_person
from fabula.models.base import Sampling
from fabula.story import Brief, Story, count_words, one_line
from fabula.story.plan import story_time
from fabula.story.world import Moment, WorldState
from fabula.story.world.flat import Write
from fabula.systems.magnet.algorithm import (
    check_candidates,
    drafting_temperature,
    due,
    first_taken,
    proposed_action,
    readable,
)
from fabula.systems.magnet.config import Config, Ours
from fabula.systems.magnet.parts import keep_part
from fabula.systems.magnet.records import (
    Attempt,
    Course,
    NewGoal,
    ProposedAction,
    SectionRecord,
    Selected,
    TimestepRecord,
    WorldProgress,
    asked_words,
)
from fabula.systems.magnet.shapes import CourseReply, CritiqueReply, LedGoal, SeenCritique, choice_shape
from fabula.systems.magnet.start import personas_for
from fabula.systems.magnet.state import LOCATION, WorldGraph, key_of_persona, named, shown

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.personas import Persona, Personas


_LABELS: Final = ("Goal", "Story", "World", "Action", "Paragraph", "What happens now", "Characters")
_TRIES: Final = 3  # for an action
_OWN_ACTIONS: Final = 5  # last actions of a character that its critic is shown
_CLOSING: Final = 0.05  # share of the words that is left for the ending
_CLOSING_PARAGRAPHS: Final = 2  # and that many paragraphs at least
_TRANSITION: Final = 0.5  # words of a transition, as a share of a paragraph's
_ROOM: Final = 0.3  # of a paragraph's words, which every paragraph but the last leaves for the ending
_LEAST: Final = 25  # words without which nothing more is written
_BAND: Final = 0.4  # of a paragraph's words, by which it may be shorter or longer
_TELLING: Final = 1.4  # words in which an action is told, for each of its own
_LAST: Final = 1.6  # what is left, in paragraphs, from which on one paragraph ends the story


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Scenes of timesteps, until the story has its words and its ending.

    Raises:
        UsageError: settings do not go together.
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: the planner, or all characters in a step, gave nothing that can be read.
    """
    check_candidates(config)
    if not (config.paper.critic and config.paper.world_updates):
        raise UsageError("critic and world_updates are ablations of the paper. Use --preset faithful with them.")
    start = await personas_for(run, brief, goal_hidden=True)
    check_cast(run, "character", start.names)
    story = replace(Story.of(brief), breaks=True)
    with WorldState() as world:
        now = ImprovedTelling.begun(start, brief, world, config)
        while now.goes_on:
            text = await keep_part(now, run, "scene", partial(scene, now))
            story = story.add(f"Scene {now.part}", text) if text else story
    if problems := now.summary():
        run.note(problems)
    return story


async def scene(now: ImprovedTelling, run: Run) -> list[TimestepRecord]:
    """The timesteps of a scene: until narrator or goal generator end it, or a goal ends after a chapter's words."""
    steps, most = list[TimestepRecord](), now.config.paper.chapter_words
    while now.goes_on:
        steps.append(await timestep(now, run))
        if steps[-1].ends_scene or (most and steps[-1].status and now.part_words >= most):
            break
    return steps


async def timestep(now: ImprovedTelling, run: Run) -> TimestepRecord:
    """A timestep of Algorithm 1, which changes `now`.

    Costs two calls for each character who acts (three more with `candidates` = 2), as many for every revision, two for
    the narrator, who chooses and writes, and one where a goal follows.

    Raises:
        ReplyError: no character gave an action that can be read.
    """
    run, last = run.scope("step", now.t + 1), now.is_last
    actions = await acted(now, run.tries("actions"))
    if not actions:
        raise run.exhausted("actions", "No character gave an action that can be read.", "character", "")
    selected, course = await choose(now, run, actions, last=last)
    text = await tell(now, run, selected, course, last=last)
    updates = tuple(write for a in selected.order for write in a.world_updates)
    step = TimestepRecord(
        now.t + 1,
        actions,
        tuple(a.character for a in selected.order),
        text,
        updates,
        any(a.goal_reached for a in selected.order),
        course=course,
        last=last,
        near=now.world.near(updates),
    )
    now.tell(step)
    for note in now.notes:
        run.note(note)
    if status := now.status_of(step):
        step = replace(step, status=status, goal=await goal_generator(now, run, status, reached=step.goal_reached))
    now.follow(step)
    return step


# where the story stands -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Happened:
    """Something that can be seen or heard, when it was told, and the characters who neither see nor hear it."""

    part: int
    t: int
    text: str
    unseen_by: tuple[str, ...] = ()


@dataclass
class ImprovedTelling(WorldProgress):
    """What the paper's steps require and change, and beside that scenes, knowledge and words.

    Attributes:
        task: what the author asked for, under its title.
        setting: where and when the story takes place; `public_setting`, as everybody there knows it.
        here: where and when the story stands now; `scene_begins`, another scene has just begun there.
        turns: who acts next, and where, if that is not where the story is; empty: all.
        happened: what can be seen and heard so far.
        before: what was accepted in this step so far.
        goal_hidden_from: characters who know nothing of the goal g.
        closing: the goal g closes the story; `over`: it has ended.
    """

    task: str = ""
    setting: str = ""
    public_setting: str = ""
    here: str = ""
    scene_begins: bool = False
    turns: dict[str, str] = field(default_factory=dict)
    happened: list[Happened] = field(default_factory=list)
    before: list[ProposedAction] = field(default_factory=list)
    goal_hidden_from: tuple[str, ...] = ()
    closing: bool = False
    over: bool = False

    @classmethod
    def begun(cls, start: Personas, brief: Brief, world: WorldState, config: Config) -> ImprovedTelling:
        """Before the first timestep; `world` is empty."""
        w = WorldGraph.of(start, world, known=True)
        w.time = start.begins
        return cls(
            config,
            start.people,
            w,
            [start.goal],
            asked_words(brief, config),
            task=brief.titled,
            setting=start.setting,
            public_setting=start.public_setting or start.setting,
            here=at_time(start.opening, start.begins),
            turns=dict.fromkeys(named(start.people, start.present), ""),
            goal_hidden_from=start.goal_hidden_from,
        )

    @property
    def ours(self) -> Ours:
        """What is added to the paper."""
        return self.config.ours or Ours()

    @property
    def present(self) -> list[Persona]:
        """Who acts in this step: those whom the narrator named, or all; another one begins in every step."""
        there = [c for c in self.characters if c.name in self.turns or not self.turns]
        first = self.t % len(there)
        return there[first:] + there[:first]

    def place_of(self, c: Persona) -> str:
        """Where and when a character is who acts now."""
        return self.turns.get(c.name) or self.here

    def seen_by(self, c: Persona) -> list[str]:
        """What a character has seen and heard lately, oldest first."""
        since = self.t - self.config.paper.recent_actor
        return [one.text for one in self.happened if one.t > since and c.name not in one.unseen_by]

    def variables(self, c: Persona | None = None) -> list[str]:
        """W as critic, narrator and goal generator see it: what matters now, to `c` above all."""
        return [shown(one) for one in self.world.latest(self.goal, self.ours.state_max, c)]

    @property
    def lately(self) -> tuple[str, ...]:
        """What has been told lately, and what was accepted in this step."""
        return (*self.recent(self.config.paper.recent_narrator), *(f"{a.character}: {a.action}" for a in self.before))

    def recent(self, number: int) -> tuple[str, ...]:
        """The last paragraphs, with as many words at least as `number` usual ones have: speech has many short ones."""
        start, few = max(len(self.story) - number, 0), number * self.ours.paragraph_words
        while start and sum(map(count_words, self.story[start:])) < few:
            start -= 1
        return tuple(self.story[start:])

    def judged(self, a: ProposedAction, r: CritiqueReply) -> ProposedAction:
        """The action with what it changes, of which those learn who see or hear it."""
        unseen = named(self.characters, getattr(r, "unseen_by", ()), but=a.character)
        there = tuple(name for name in self.names if name not in unseen) if unseen else None
        made = super().judged(a, r)
        updates = tuple(replace(one, witnesses=there) for one in made.world_updates)
        return replace(made, world_updates=updates, unseen_by=unseen)

    def tell(self, step: TimestepRecord) -> None:
        """The step's paragraph joins the story, and its updates W; then the story continues as the narrator says."""
        super().tell(step)
        self.happened += self.seen_in(replace(step, goal=None))
        self.before, self.over = [], step.last
        self.go_on(step.course)

    def follow(self, step: TimestepRecord) -> None:
        """The goal that follows, with its transition, and where it leads."""
        super().follow(step)
        self.closing = self.closing or step.status == "ending"
        if (goal := step.goal) is not None:
            self.goal_hidden_from = goal.hidden_from
            self.happened += self.seen_in(replace(step, order=()))
            self.world.amend(Moment(self.part + 1) if step.course.scene else self.moment, goal.updates)
            if goal.course != Course():
                self.go_on(goal.course)

    def seen_in(self, step: TimestepRecord) -> list[Happened]:
        """What can be seen and heard in a step: its actions, and the transition to another goal."""
        acted = [Happened(self.part, step.t, f"{a.character}: {a.action}", a.unseen_by) for a in step.happened]
        return [*acted, *([Happened(self.part, step.t, step.goal.transition)] if step.goal else [])]

    def stands(self, part: SectionRecord) -> None:
        """The scene stands as it is kept; of one that its author told, all is seen and heard."""
        super().stands(part)
        self.happened = [one for one in self.happened if one.part != self.part]
        if part.edited:
            self.happened += [Happened(self.part, self.t, told) for told in self.story[self.begin :]]
        else:
            self.happened += [one for step in part.steps for one in self.seen_in(step)]

    def go_on(self, course: Course) -> None:
        """Who acts next, and, where a scene ends, where and when the next one is: in W, and in prompts."""
        self.turns, self.scene_begins = dict(course.turns), bool(course.scene)
        if course.scene:
            self.here, self.world.time = at_time(course.scene, course.time), course.time
        places = {name: place or course.scene for name, place in (self.turns or dict.fromkeys(self.names, "")).items()}
        together = tuple(name for name in places if not self.turns.get(name))
        moves = [
            Write(key_of_persona(c, LOCATION), places[c.name], "narrator", (c.name,),
                  together if c.name in together else (c.name,))
            for c in self.characters
            if places.get(c.name)
        ]  # fmt: skip
        if moves:
            self.world.amend(Moment(self.part + 1) if course.scene else self.moment, moves)

    def status_of(self, step: TimestepRecord) -> str | None:
        """Why the goal is replaced after a step, or `None`.

        Near the end the last goal closes the story; the first one, if it is not reached, stands to the end. A goal that
        is reached in the step in which it would be left as stalled is complete.
        """
        paper, target = self.config.paper, self.want.target
        ending = max(target * _CLOSING, self.ours.paragraph_words * _CLOSING_PARAGRAPHS)
        if step.last or self.closing or not paper.goal_updates:
            return None
        if self.left <= ending:
            closes = target > 2 * ending and (step.goal_reached or len(self.goals) > 1)
            return "ending" if closes else None
        status = due(self.t, self.k, paper, reached=step.goal_reached)
        return "complete" if status == "stalled" and step.goal_reached else status

    # words

    @property
    def goes_on(self) -> bool:
        """Whether there is another timestep."""
        most = self.config.paper.max_steps
        if self.over or (most and self.t >= most):
            return False
        return self.want.high - self.words >= _LEAST or self.words < self.want.low

    @property
    def is_last(self) -> bool:
        """Whether the next timestep's paragraph ends the story."""
        most = self.config.paper.max_steps
        return self.left <= self.ours.paragraph_words * _LAST or bool(most and self.t + 1 >= most)

    @property
    def pace(self) -> Pace:
        """How far the story is."""
        return Pace(self.words, self.want.target, max(round(self.left / self.ours.paragraph_words), 1))

    def words_for(self, chosen: Sequence[ProposedAction], *, last: bool) -> WordRange:
        """The words of the next paragraph: its share of what is left, more where much is said and done in it."""
        usual, low, high = self.ours.paragraph_words, self.want.low - self.words, self.want.high - self.words
        if last:
            target = max(min(self.left, 2 * usual), min(usual // 2, high))
            low, high = max(low, round(target * (1 - _BAND))), min(high, round(target * (1 + _BAND)))
            low = max(min(low, 2 * usual), 1)
            return WordRange(min(low, target), max(high, target, low), max(target, low), self.want.exact)
        needed = round(sum(count_words(a.action) for a in chosen) * _TELLING)
        most = min(needed, 2 * usual, self.left - round(usual * (1 - _BAND)))
        target = max(round(self.left / self.pace.paragraphs), most)
        slack = int(target * _BAND)
        return WordRange(
            target - slack, max(min(target + slack, high - round(usual * _ROOM)), target), target, exact=False
        )

    def paragraphs_after(self, want: WordRange) -> int:
        """How many paragraphs follow one of the words wanted, if they come out as long as those that are there."""
        usual, left = self.ours.paragraph_words, self.left - want.target
        if left <= usual * _LAST:
            return 1
        return max(round(left / max(usual, (self.words + want.target) / (self.t + 1))), 2)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the story is: words so far, words in all, and paragraphs to come, the next one among them."""

    written: int
    wanted: int
    paragraphs: int


# characters and critic ------------------------------------------------------------------------------------------------


async def acted(now: ImprovedTelling, run: Run) -> tuple[ProposedAction, ...]:
    """The actions of a step, one after the other; nobody acts after one that reaches the goal."""
    actions: list[ProposedAction] = []
    now.before = []
    for c in now.present:
        a = await proposed_action(now, run.scope(c.name), c, partial(character_agent, now, c), partial(critic, now, c))
        if a is None:
            continue
        actions.append(a)
        if not a.forced:
            now.before.append(a)
            if a.goal_reached:
                break
    return tuple(actions)


async def character_agent(now: ImprovedTelling, c: Persona, run: Run, refused: Attempt) -> str:
    """What a character does, in plain words, as its player knows the world.

    Raises:
        ReplyError: nothing of the replies can be used.
    """
    paper = now.config.paper
    fields: dict[str, Any] = {
        "persona": replace(c, location=""),
        "people": [other for other in now.characters if other is not c and other.appearance],
        "setting": now.public_setting,
        "here": now.place_of(c),
        "goal": "" if c.name in now.goal_hidden_from else now.goal,
        "world": [shown(one) for one in now.world.of_character(c, now.goal, paper.slice_max)],
        "story": now.seen_by(c),
        "before": [one for one in now.before if c.name not in one.unseen_by],
        "refused": refused,
    }
    sampling, fault, tries = Sampling(temperature=drafting_temperature(paper)), "", run.tries("act")
    for attempt in range(_TRIES):
        here = tries.again(attempt, fault)
        reply = await here.reply(c.name, "act", sampling=sampling, **fields)
        text = reply.text
        if not is_person(reply.model):
            text = clean_reply(here, c.name, reply, labels=_LABELS, last=False)
            if fault := reply_fault(here, text, "act", fields):
                here.removed("reply", text)
                continue
        if action := one_line(text):
            return action
    raise tries.exhausted("act", f"{c.name!r} gave no action in {_TRIES} tries.", "character", reply.text)


async def critic(now: ImprovedTelling, c: Persona, run: Run, a: str) -> CritiqueReply:
    """What an action changes and who does not see it, or why it must be revised."""
    return await run.ask_for(
        SeenCritique,
        "critic",
        "criticise",
        sampling=Sampling(temperature=now.config.paper.critic_temperature),
        persona=replace(c, location=""),
        setting=now.setting,
        here=now.place_of(c),
        goal=now.goal,
        world=now.variables(c),
        story=now.recent(now.config.paper.recent_narrator),
        own=now.done.get(c.name, [])[-_OWN_ACTIONS:],
        before=now.before,
        names=now.names,
        action=a,
    )


# narrator -------------------------------------------------------------------------------------------------------------


async def choose(
    now: ImprovedTelling, run: Run, actions: Sequence[ProposedAction], *, last: bool
) -> tuple[Selected, Course]:
    """Which actions happen, in which order, and how the story continues; the first one where that cannot be read."""
    if last and len(actions) == 1:
        return Selected(tuple(actions)), Course()
    paper = now.config.paper
    made = await readable(
        run,
        run.ask_for(
            choice_shape(len(actions)),
            "narrator",
            "choose",
            sampling=Sampling(temperature=paper.narrator_temperature),
            brief=now.task,
            setting=now.setting,
            here=now.here,
            goal=now.goal,
            world=now.variables(),
            story=now.recent(paper.recent_narrator),
            proposals=actions,
            pace=now.pace,
            names=now.names,
            last=last,
        ),
    )
    if made is None:
        return Selected((first_taken(actions),)), Course()
    order = tuple(actions[number - 1] for number in made.order)
    return Selected(order), Course() if last else course_of(now, made)


def course_of(now: ImprovedTelling, made: CourseReply) -> Course:
    """How the story continues, with the names of characters as they stand in their personas."""
    scene, time = one_line(made.next_scene), one_line(made.next_date)
    turns = [(name, one_line(one.elsewhere)) for one in made.acts_next for name in named(now.characters, [one.name])]
    return Course(scene, tuple(dict(turns).items()), time if scene and story_time(time) else "")


def at_time(scene: str, time: str) -> str:
    """Where and when a scene is, with its story time where that is known and not said already."""
    return scene if time in scene else ", ".join(filter(None, (scene, time)))


async def tell(now: ImprovedTelling, run: Run, selected: Selected, course: Course, *, last: bool) -> str:
    """The paragraph about what is chosen, of the length wanted."""
    want = now.words_for(selected.order, last=last)
    fields = {
        "brief": now.task,
        "personas": now.characters,
        "setting": now.setting,
        "here": now.here,
        "goal": now.goal,
        "world": now.variables(),
        "story": now.recent(now.config.paper.recent_narrator),
        "chosen": selected.order,
        "opens": not now.story,
        "scene_begins": bool(now.story) and (now.scene_begins or len(now.story) == now.begin),
        "next_scene": course.scene,
        "pace": now.pace,
        "more": now.paragraphs_after(want),
        "last": last,
    }
    prose = Prose(last, want, _LABELS, now.ours.paragraph_words, now.story[-1] if now.story else "")
    temperature = now.config.paper.narrator_temperature
    return await write_prose(
        run, "narrator", "tell", prose, before=now.story[-3:], fields=fields, temperature=temperature
    )


# goal generator -------------------------------------------------------------------------------------------------------


async def goal_generator(now: ImprovedTelling, run: Run, status: str, *, reached: bool) -> NewGoal | None:
    """The goal that follows, who knows nothing of it, its transition paragraph, and where that leads."""
    paper, most = now.config.paper, now.ours.state_max // 2
    made = await readable(
        run,
        run.ask_for(
            LedGoal,
            "goal_generator",
            "set_goal",
            sampling=Sampling(temperature=paper.goals_temperature),
            brief=now.task,
            personas=[persona.public for persona in now.characters],
            prior=now.goals[:-1][-most:],
            here=now.here,
            goal=now.goal,
            world=now.variables(),
            story=now.recent(paper.recent_goals),
            status=status,
            reached=reached,
            domain=now.domain,
            pace=now.pace,
            words=WordRange.about(round(now.ours.paragraph_words * _TRANSITION)),
        ),
    )
    if made is None:
        return None
    updates, refused = now.world.writes_of(made.world_updates, "goal_generator")
    now.counts["refused"] += len(refused)
    return NewGoal(
        one_line(made.goal),
        one_line(made.goal_domain),
        made.transition_paragraph,
        named(now.characters, made.hidden_from),
        course_of(now, made),
        updates,
    )
