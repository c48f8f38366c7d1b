"""What a timestep leaves, and what Algorithm 1 requires and changes, as it is between two timesteps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from fabula.craft.length import WordRange, asked_range
from fabula.craft.packing import paragraphs
from fabula.story import Brief, count_words
from fabula.story.world import Moment, WorldState
from fabula.story.world.flat import RefusedUpdate, Write, conflicts_of
from fabula.systems.magnet.state import WorldGraph, shown

if TYPE_CHECKING:
    from fabula.story.personas import Persona, Personas
    from fabula.story.world.meaning import Value
    from fabula.systems.magnet.config import Config
    from fabula.systems.magnet.shapes import CritiqueReply


_USUAL_WORDS: Final = 800  # of a story for which neither brief nor settings say
_COUNTED: Final = {
    "forced": "actions that no critic took",
    "absent": "absences",
    "uncriticised": "actions without a readable critique",
    "refused": "refused keys",
    "conflicts": "keys written twice in a step",
    "near": "keys much like an earlier one",
    "goal_failed": "goals that were not found",
    "amended": "variables set after an edit",
}


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action, and what its critic wanted otherwise; `feedback` is empty where it was taken."""

    action: str
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class ProposedAction:
    """actions[c] of Algorithm 1, line 6: the action that a character proposes, and what its critic made of it.

    Attributes:
        world_updates: what it changes once it is selected.
        forced: the critic never took it.
        refused: updates that cannot be taken.
        attempts: all actions of the step, the last one too.
        lone: the critic gave nothing that can be read.
        unseen_by: characters who can neither see nor hear it (ours).
    """

    character: str
    action: str
    world_updates: tuple[Write, ...] = ()
    goal_reached: bool = False
    forced: bool = False
    refused: tuple[RefusedUpdate, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lone: bool = False
    unseen_by: tuple[str, ...] = ()

    @property
    def changes(self) -> str:
        """Its updates as prompts show them."""
        return "; ".join(map(shown, self.world_updates))


@dataclass(frozen=True, slots=True)
class Selected:
    """The narrator's choice: actions in the order in which they happen, and the paragraph.

    `world_updates` and `goal_reached` are the narrator's own, where there is no critic to name them.
    """

    order: tuple[ProposedAction, ...]
    paragraph: str = ""
    world_updates: tuple[Write, ...] = ()
    goal_reached: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """How the story continues: the next scene, if this one ends, its story time, who acts next, and where (ours)."""

    scene: str = ""
    turns: tuple[tuple[str, str], ...] = ()
    time: str = ""


@dataclass(frozen=True, slots=True)
class NewGoal:
    """A goal that follows, with its transition paragraph; who knows nothing of it, and the rest, are ours.

    Attributes:
        updates: what the transition paragraph changes in W.
    """

    goal: str
    domain: str = ""
    transition: str = ""
    hidden_from: tuple[str, ...] = ()
    course: Course = Course()
    updates: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class TimestepRecord:
    """All that a timestep changes, so that it can be gone through again without a question.

    Attributes:
        actions: actions[c] of all characters.
        order: the characters whose actions happen, in their order.
        updates: what is written into W, in that order.
        goal_reached: the goal g is complete.
        status: why g is replaced after this step; empty: it stands.
        goal: the goal that follows; none where `status` is empty, or nothing could be read.
        course: how the story continues, and `last`, it ends with this step (both ours).
        near: how many keys of `updates` are new and much like an earlier one.
    """

    t: int
    actions: tuple[ProposedAction, ...] = ()
    order: tuple[str, ...] = ()
    paragraph: str = ""
    updates: tuple[Write, ...] = ()
    goal_reached: bool = False
    status: str = ""
    goal: NewGoal | None = None
    course: Course = Course()
    last: bool = False
    near: int = 0

    @property
    def ends_scene(self) -> bool:
        """Whether another scene follows."""
        return bool(self.course.scene or (self.goal and self.goal.course.scene))

    @property
    def happened(self) -> Iterator[ProposedAction]:
        """The actions that happen, in their order."""
        by_name = {a.character: a for a in self.actions}
        return (by_name[name] for name in self.order)


@dataclass(frozen=True, slots=True)
class SectionRecord:
    """A chapter or scene, its timesteps, whether its author told it otherwise, and what that changes in W."""

    text: str
    steps: tuple[TimestepRecord, ...] = ()
    edited: bool = False
    amended: tuple[Write, ...] = ()


@dataclass
class WorldProgress:
    """What Algorithm 1 requires, and what it changes, as it is between two timesteps.

    It follows from the steps and texts that are kept (`parts.py`), and from nothing else.

    Attributes:
        characters: C.
        world: W.
        goals: every goal so far; the last one is g.
        want: how many words the story is to have.
        t: timesteps so far.
        k: stall count: timesteps of the goal g.
        story: all paragraphs so far; the last ones are s.
        done: actions that happened, by character.
        domain: of the goal g, as far as the goal generator named one.
        system: reserved keys that the next commit sets.
        part: number of the chapter or scene that is written, and `begin`, how many paragraphs stand before it.
        counts: what did not go smoothly.
        notes: what the author is to hear of the last step.
    """

    config: Config
    characters: tuple[Persona, ...]
    world: WorldGraph
    goals: list[str]
    want: WordRange
    t: int = 0
    k: int = 0
    story: list[str] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=dict)
    domain: str = ""
    system: dict[str, Value] = field(default_factory=dict)
    part: int = 0
    begin: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    _told: tuple[int, int] = (0, 0)  # paragraphs whose words are counted, and the words

    @property
    def goal(self) -> str:
        """The goal g."""
        return self.goals[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the characters."""
        return tuple(persona.name for persona in self.characters)

    @property
    def words(self) -> int:
        """Words of the story so far; those of finished parts are counted once."""
        if self._told[0] != self.begin:
            self._told = self.begin, sum(map(count_words, self.story[: self.begin]))
        return self._told[1] + self.part_words

    @property
    def part_words(self) -> int:
        """Words of the chapter or scene so far."""
        return sum(map(count_words, self.story[self.begin :]))

    @property
    def left(self) -> int:
        """Words until the target."""
        return self.want.target - self.words

    @property
    def moment(self) -> Moment:
        """The position of the last paragraph in the story."""
        return Moment(self.part, max(len(self.story) - self.begin, 1))

    def variables(self, c: Persona | None = None) -> list[str]:  # noqa: ARG002 - what matters to c comes first elsewhere
        """W as critic, narrator and goal generator see it: all of it."""
        return [shown(variable) for variable in self.world.variables.values()]

    def judged(self, a: ProposedAction, r: CritiqueReply) -> ProposedAction:
        """Algorithm 1, line 6: (a, r.world_updates, r.goal_reached)."""
        updates, refused = self.world.writes_of(getattr(r, "world_updates", ()), a.character)
        return replace(a, world_updates=updates, refused=refused, goal_reached=r.goal_reached)

    @property
    def lately(self) -> tuple[str, ...]:
        """What has been told and done lately, for who compares two actions."""
        return self.recent(self.config.paper.recent_narrator)

    def recent(self, number: int) -> tuple[str, ...]:
        """s: the last `number` paragraphs of the story."""
        return tuple(self.story[-number:]) if number else ()

    def tell(self, step: TimestepRecord) -> None:
        """Algorithm 1, lines 9 and 13: the step's paragraph joins the story, and its updates W."""
        self.t = step.t
        self.story += paragraphs(step.paragraph)
        for a in step.happened:
            self.done.setdefault(a.character, []).append(a.action)
        self._commit(step)

    def follow(self, step: TimestepRecord) -> None:
        """Algorithm 1, lines 20 to 30: the goal that follows, with its transition, and the stall count."""
        if not step.status:
            self.k += 1  # line 29
            return
        self.k = 0  # lines 21, 24, 27
        if step.goal is None:  # the old one stands for 5 more steps
            self.k = max(self.config.paper.stall_steps - 5, 0)
            self.counts["goal_failed"] += 1
        else:
            self.goals.append(step.goal.goal)
            self.domain = step.goal.domain
            self.story += paragraphs(step.goal.transition)
            self.system = {"current_goal": self.goal, "goal_domain": self.domain}

    def _commit(self, step: TimestepRecord) -> None:
        """Write the step's updates into W; count what did not go smoothly, and note what the author is to hear."""
        self.counts["absent"] += len(self.characters) - len(step.actions)
        self.counts["uncriticised"] += sum(a.lone for a in step.actions)
        self.counts["forced"] += sum(a.forced for a in step.actions)
        self.counts["refused"] += sum(len(a.refused) for a in step.actions)
        self.notes = []
        if not self.config.paper.world_updates:
            return
        self.world.commit(step.t, self.moment, step.updates, self.system)
        self.system = {}
        conflicts = conflicts_of(step.updates)
        self.counts["conflicts"] += len(conflicts)
        self.counts["near"] += step.near
        for key in conflicts:
            values = ", then ".join(f"{shown(one)} ({one.actor})" for one in step.updates if one.key == key)
            self.notes.append(f"Step {step.t} writes {key!r} more than once: {values}. The last one holds.")
        refused = (one for a in step.happened for one in a.refused)
        self.notes += [f"{one.key!r} is not written in step {step.t}: {one.why}." for one in refused]

    def retrace(self, step: TimestepRecord) -> None:
        """Go through a kept step again; one that was gone through already changes nothing."""
        if step.t > self.t:
            self.tell(step)
            self.follow(step)

    def stands(self, part: SectionRecord) -> None:
        """Use the chapter or scene as it is kept."""
        self.story[self.begin :] = paragraphs(part.text)

    def summary(self) -> str:
        """What did not go smoothly, in a sentence; empty if everything did."""
        found = [f"{self.counts[name]} {what}" for name, what in _COUNTED.items() if self.counts[name]]
        return f"In {self.t} steps: {', '.join(found)}." if found else ""


def begun(start: Personas, brief: Brief, world: WorldState, config: Config) -> WorldProgress:
    """Before the first timestep; `world` is empty."""
    return WorldProgress(config, start.people, WorldGraph.of(start, world), [start.goal], asked_words(brief, config))


def asked_words(brief: Brief, config: Config) -> WordRange:
    """How many words the story is to have."""
    return asked_range(brief, config.paper.words) or WordRange.about(_USUAL_WORDS)
