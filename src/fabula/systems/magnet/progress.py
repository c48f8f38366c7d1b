"""What Algorithm 1 requires and changes, as it stands between two timesteps, and what prompts are shown of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.remembering import remembered
from fabula.craft.length import WordRange, asked_range
from fabula.craft.packing import latest
from fabula.models.base import Sampling
from fabula.story import count_words, one_line
from fabula.story.world import Moment, WorldState
from fabula.story.world.flat import Write
from fabula.systems.magnet.records import Records
from fabula.systems.magnet.state import LOCATION, WorldGraph, key_of_persona, named

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.personas import Persona, Personas
    from fabula.story.world.flat import Variable
    from fabula.story.world.meaning import Value
    from fabula.systems.magnet.config import Config
    from fabula.systems.magnet.shapes import Course

LABELS: Final = ("Goal", "Story", "World", "Action", "Paragraph", "What happens now", "Characters")
_WORDS_A_PAGE: Final = 400
_USUAL_WORDS: Final = 800  # of a story for which neither brief nor settings say
_RECENT_TOKENS: Final = 1200  # of recent paragraphs, for small models


@dataclass(frozen=True, slots=True)
class Seen:
    """Something in the story that can be seen or heard, and the characters who neither see nor hear it."""

    text: str
    unseen_by: tuple[str, ...] = ()


@dataclass
class Progress:
    """What Algorithm 1 requires, and what it changes, as it stands between two timesteps.

    Attributes:
        characters: C.
        world: W.
        goals: every goal so far; the last one is g.
        t: timesteps so far.
        k: stall count: timesteps of the goal g.
        story: all paragraphs so far; the last ones are s.
        done: selected actions by character.
        want: how many words the story is to have.
        domain: of the goal g, as far as the goal generator named one.
        place: where the story is, as far as it matters who is there; else empty.
        system: reserved keys that the next commit sets.
        idle: steps since there was an action.
        chapter: number of the chapter that is written, and `begin`, how many paragraphs stand before it.
        closing: the goal g closes the story; `over`: it has ended.
        setting: where and when the story takes place; `public_setting`, as everybody there knows it.
        moment: where and when the story stands now; `scene_begins`, another scene has just begun there.
        turns: who acts next, and where, if that is not where the story is; empty: all.
        accounts: what can be seen and heard in a paragraph; `away`, who neither saw nor heard what happened last.
        goal_hidden_from: characters who know nothing of the goal g.
    """

    brief: Brief
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
    place: str = ""
    system: dict[str, Value] = field(default_factory=dict)
    idle: int = 0
    chapter: int = 0
    begin: int = 0
    closing: bool = False
    over: bool = False
    setting: str = ""
    public_setting: str = ""
    moment: str = ""
    scene_begins: bool = False
    turns: dict[str, str] = field(default_factory=dict)
    accounts: dict[str, tuple[Seen, ...]] = field(default_factory=dict)
    away: tuple[str, ...] = ()
    goal_hidden_from: tuple[str, ...] = ()
    records: Records = field(default_factory=Records)
    _told: tuple[int, int] = (0, 0)  # where this chapter begins, and the words before it

    @classmethod
    def at_start(cls, brief: Brief, start: Personas, world: WorldState, config: Config) -> Progress:
        """Before the first timestep; `world` is empty."""
        ours = config.ours
        asked = WordRange.about(ours.pages * _WORDS_A_PAGE) if ours.pages else asked_range(brief, ours.words)
        places, by_meaning = ours.present_only or ours.witnessed, ours.by_meaning
        graph = WorldGraph.of(start, world, places=places, by_meaning=by_meaning, witnessed=ours.witnessed)
        now = cls(brief, config, start.people, graph, [start.goal], asked or WordRange.about(_USUAL_WORDS))
        if ours.witnessed:
            now.setting, now.moment = start.setting, start.opening
            now.public_setting = start.public_setting or start.setting
            now.goal_hidden_from = start.goal_hidden_from
            now.turns = dict.fromkeys(named(start.people, start.present), "")
        return now

    @property
    def goal(self) -> str:
        """The goal g."""
        return self.goals[-1]

    @property
    def task(self) -> str:
        """What the author asked for, under its title."""
        return titled(self.brief).text

    @property
    def words(self) -> int:
        """Words of the story so far; those of whole chapters are counted once."""
        if self._told[0] != self.begin:
            self._told = self.begin, sum(map(counted, self.story[: self.begin]))
        return self._told[1] + sum(map(counted, self.story[self.begin :]))

    @property
    def left(self) -> int:
        """Words until the target."""
        return self.want.target - self.words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the characters."""
        return tuple(persona.name for persona in self.characters)


def titled(brief: Brief) -> Brief:
    """The brief as prompts show it: its text under its title."""
    return replace(brief, text=f"Title: {brief.title}\n\n{brief.text}") if brief.title else brief


counted = remembered(20_000, 1000)(count_words)  # the whole story is counted at every step


def seen_by(now: Progress, run: Run, c: Persona) -> tuple[str, ...]:
    """Ours: the last paragraphs as far as a character has seen and heard what they tell, oldest first.

    A paragraph of which there is no account, as one that a person changed, is shown itself.
    """
    number = 0 if run.aids(c.name) else now.config.ours.story_shown
    told = last_paragraphs(now, run, c.name, number or now.config.paper.recent_actor)
    known = (now.accounts.get(text, (Seen(text),)) for text in told)
    seen = [text for own in known if (text := " ".join(one.text for one in own if c.name not in one.unseen_by))]
    return latest(seen, run.prompt_tokens(c.name, _RECENT_TOKENS))


def recent(now: Progress, run: Run, role: str, number: int) -> tuple[str, ...]:
    """s: the last `number` paragraphs of the story, within what a prompt of this role may hold."""
    return latest(last_paragraphs(now, run, role, number), run.prompt_tokens(role, _RECENT_TOKENS))


def last_paragraphs(now: Progress, run: Run, role: str, number: int) -> list[str]:
    """The last `number` paragraphs; with `witnessed` as many words at least: a speech of a line counts for a line."""
    start, few = max(len(now.story) - number, 0), number * now.config.ours.paragraph_words
    if now.config.ours.witnessed and not run.aids(role):
        while start and sum(map(counted, now.story[start:])) < few:
            start -= 1
    return now.story[start:]


def variables(now: Progress) -> list[Variable]:
    """What critic, narrator and goal generator see of W: all of it, or the `state_max` that matter now."""
    return now.world.latest(now.goal, now.t, now.config.ours.state_max)


def always(now: Progress, c: Persona | None = None) -> dict[str, Any]:
    """What prompts of all roles are shown; with `c`, where and when that character is."""
    moment = now.moment
    if c is not None and now.config.ours.witnessed:
        away = now.world.location(c) if c.name in now.away and c.name not in now.turns else moment
        moment = now.turns.get(c.name) or away
    return {"goal": now.goal, "instruction_first": now.config.ours.instruction_first, "moment": moment}


def sampling_of(run: Run, role: str, temperature: float | None, short: int) -> Sampling:
    """How a role's reply is drawn; `short` bounds a small model's."""
    return Sampling(temperature=temperature, max_tokens=run.reply_tokens(role, short))


def go_on(now: Progress, course: Course) -> None:
    """Ours: who acts next, and, where a scene ends, where and when the next one is: in W and in the prompts."""
    scene, turns = one_line(course.next_scene), course.acts_next
    now.turns = {name: one_line(one.elsewhere) for one in turns for name in named(now.characters, [one.name])}
    now.scene_begins = bool(scene)
    if scene:
        now.moment, now.away = scene, ()
    here = tuple(name for name, place in now.turns.items() if not place)
    moved = {name: place or scene for name, place in now.turns.items() if place or scene}
    now.world.amend(
        Moment(now.chapter, max(len(now.story) - now.begin, 1)),
        [
            Write(
                key_of_persona(c, LOCATION), moved[c.name], "narrator", (c.name,), here if c.name in here else (c.name,)
            )
            for c in now.characters
            if c.name in moved
        ],
    )
