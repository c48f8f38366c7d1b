"""An actor's three stores: memories, what it thinks of others, and the window of turns; and how they change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.memory import Memories, Memory
from fabula.craft.packing import first_of
from fabula.engine.replies import clean_prose
from fabula.engine.staleness import side_by_side
from fabula.story import one_line, slug
from fabula.story.people import mentioned
from fabula.systems.ibsen.log import Window
from fabula.systems.ibsen.shapes import impressions_shape, points_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.systems.ibsen.algorithm import Config
    from fabula.systems.ibsen.log import Turn
    from fabula.systems.ibsen.script import ActorSheet, Script

_POINTS: Final = 5
_MOST_POINTS: Final = 20  # with more points, all are summed up anew
_FOLDED: Final = 8  # in so many
_POINT_TOKENS: Final = 60
_RELATION_LINES, _IMPRESSION_LINES, _MONOLOGUE_LINES = 5, 3, 2
_LINE_TOKENS: Final = 50
_TEMPERATURES: Final = {"impression": 0.6, "relation": 0.1, "monologue": 0.3}
_BACKGROUND_MEMORIES: Final = 5  # related memories for a monologue
_CLIPPED: Final = 30  # tokens of a turn that stands for its summary


@dataclass(frozen=True)
class Play:
    """What is the same all through a performance."""

    script: Script
    config: Config
    goal_stages: int = 1

    def who(self, text: str, besides: str = "") -> tuple[str, ...]:
        """Whom a text names, other than `besides`."""
        aliases = {sheet.name: sheet.called for sheet in self.script.actors}
        aliases |= {player.name: (player.name,) for player in self.script.players if player.name not in aliases}
        return tuple(name for name in mentioned(text, aliases) if name != besides)

    def shown(self, turns: Sequence[Turn]) -> tuple[str, ...]:
        """Turns as prompts show them."""
        most = self.config.shown_tokens
        return tuple(first_of(str(turn), most) if most else str(turn) for turn in turns)


@dataclass
class Actor:
    """An actor as it stands: nothing here but what it was given, heard, and made of that."""

    sheet: ActorSheet
    window: Window
    memories: Memories = field(default_factory=Memories)
    relations: dict[str, str] = field(default_factory=dict)
    impressions: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The actor's name."""
        return self.sheet.name

    def copy(self) -> Actor:
        """The same actor, to be changed apart from this one."""
        stores = self.memories.copy(), dict(self.relations), dict(self.impressions)
        return Actor(self.sheet, self.window.copy(), *stores)

    def become(self, other: Actor) -> None:
        """Stand as `other` does."""
        copy = other.copy()
        self.window, self.memories = copy.window, copy.memories
        self.relations, self.impressions = copy.relations, copy.impressions


async def introduced(sheet: ActorSheet, play: Play, run: Run) -> Actor:
    """An actor before the play, with its profile remembered; 1 call for first impressions, where they are wanted."""
    config = play.config
    actor = Actor(sheet, Window(config.window, config.window_keep), relations=dict(sheet.relations))
    for number, past in enumerate(sheet.memories, 1):
        memory = Memory(past.event, play.script.hours(past.time), past.thought)
        await _remember(actor, memory, play, run.scope("memory", number))
    others = [name for name in play.script.names if name != actor.name]
    if not config.initial_impressions or not others:
        return actor
    try:
        made = await run.ask_for(
            impressions_shape(others),
            "memory",
            "first_impressions",
            sampling=config.drawn(0.6, 2000),
            actor=actor.sheet,
            relations=told(actor.relations, others),
            memories=tuple(memory.told for memory in actor.memories.kept),
            others=others,
        )
    except ReplyError as error:
        run.note(f"{actor.name} has no first impressions: {error}")
        return actor
    actor.impressions |= {one.name: one.impression for one in made.impressions}
    return actor


def told(views: dict[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """What is thought of `names`, one line each."""
    return tuple(f"{name}: {views[name]}" for name in names if views.get(name))


async def fold_windows(
    windows: Sequence[tuple[Window, Actor | None]], play: Play, run: Run, *, hour: float, background: str
) -> None:
    """Sum up what is too much in the windows of those who have heard a turn; a window without an actor is a director's.

    With `per_actor_summaries` that is one call a window; else one for all who have heard the same.
    """
    config = play.config
    due = [(window, actor) for window, actor in windows if window.due]
    jobs: dict[tuple[object, ...], tuple[Window, str]] = {}
    keys = []
    for window, actor in due:
        owner = actor.name if actor else ""
        old = window.old(keep_first=not config.keep_old_summaries)
        key = (owner if config.per_actor_summaries else "", old, _earlier(window, config))
        jobs.setdefault(key, (window, owner))
        keys.append(key)
    found = await side_by_side([_points(*job, play, run.scope(slug(job[1] or "director"))) for job in jobs.values()])
    by_key = dict(zip(jobs, found, strict=True))
    for (window, actor), key in zip(due, keys, strict=True):
        anew = bool(_earlier(window, config))
        window.fold(by_key[key], add=config.keep_old_summaries and not anew, background="" if actor else background)
    await side_by_side(
        [
            _taken_in(actor, by_key[key], play, run.scope(slug(actor.name)), hour)
            for (_, actor), key in zip(due, keys, strict=True)
            if actor
        ]
    )


def _earlier(window: Window, config: Config) -> tuple[str, ...]:
    """Points that are summed up anew together with the old turns, because there are too many of them."""
    many = len(window.points) + _POINTS > _MOST_POINTS
    return window.points if config.keep_old_summaries and many else ()


async def _points(window: Window, owner: str, play: Play, run: Run) -> tuple[str, ...]:
    """The old turns of a window in a few sentences; where none can be had, the turns themselves, cut short."""
    config = play.config
    old, earlier = window.old(keep_first=not config.keep_old_summaries), _earlier(window, config)
    most = _FOLDED if earlier else _POINTS
    try:
        made = await run.ask_for(
            points_shape(most),
            "memory",
            "sum_up",
            sampling=config.drawn(0.6, _POINT_TOKENS * (most + 1)),
            owner=owner if config.per_actor_summaries else "",
            earlier=earlier,
            turns=play.shown(old),
            most=most,
        )
    except ReplyError as error:
        run.note(f"What {owner or 'the director'} heard could not be summed up: {error}")
        return (*earlier[-most:], *(first_of(str(turn), _CLIPPED) for turn in old[-_POINTS:]))[-most:]
    return tuple(one_line(point).rstrip(".;") for point in made.points[:most])


async def _taken_in(actor: Actor, points: Sequence[str], play: Play, run: Run, hour: float) -> None:
    """The points of a summary become memories; after that impressions of those whom they name are renewed."""
    for number, point in enumerate(points, 1):
        await _remember(actor, Memory(point, hour), play, run.scope("memory", number))
    if not play.config.impressions:
        return
    for name in play.who(" ".join(points), actor.name):
        now = actor.impressions.get(name, "")
        fields = {"actor": actor.sheet, "name": name, "now": now, "points": tuple(points)}
        impression = await _noted(run.scope(slug(name)), "impression", _IMPRESSION_LINES, fields, play)
        actor.impressions[name] = impression


async def _remember(actor: Actor, memory: Memory, play: Play, run: Run) -> None:
    """Add a memory; relations to those it names and its monologue are made from it, where they are wanted."""
    config = play.config
    if config.relation_updates:
        for name in play.who(memory.text, actor.name):
            fields = {"actor": actor.sheet, "name": name, "now": actor.relations.get(name, ""), "event": memory.text}
            actor.relations[name] = await _noted(run.scope(slug(name)), "relation", _RELATION_LINES, fields, play)
    if config.monologues and not memory.thought:
        near = actor.memories.recall(memory.text, memory.hour, _BACKGROUND_MEMORIES, config.recall)
        fields = {
            "actor": actor.sheet,
            "event": memory.text,
            "memories": tuple(one.memory.told for one in near),
            "relations": told(actor.relations, play.who(memory.text, actor.name)),
            "now": "",
        }
        thought = await _noted(run, "monologue", _MONOLOGUE_LINES, fields, play)
        memory = Memory(memory.text, memory.hour, thought)
    actor.memories.add(memory)


async def _noted(run: Run, prompt: str, lines: int, fields: dict[str, Any], play: Play) -> str:
    """A note of a few lines; what stood there `now`, where nothing of use comes."""
    config = play.config
    sampling = config.drawn(_TEMPERATURES[prompt], _LINE_TOKENS * lines)
    reply = await run.reply("memory", prompt, sampling=sampling, expect=20 * lines, lines=lines, **fields)
    text = reply.text
    if config.tidy:
        echo = [run.render(prompt, lines=lines, **fields)]
        text = clean_prose(text, labels=play.script.names, last=True, echo=echo, finish=reply.finish, kind="notes").text
    kept = [line.strip() for line in text.splitlines() if line.strip()][:lines]
    return one_line(" ".join(kept)) or str(fields["now"])
