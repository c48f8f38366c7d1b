"""An actor's three stores (memories, views of others, the active window) and how what is heard changes them.

Before the play an actor gets its profile and first impressions. A window that is full is summed up; the points of the
summary become memories; memories change relations; impressions of those who are named are renewed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.embedding import Embedding
from fabula.craft.memory import Memories, Memory, Recall
from fabula.craft.packing import first_of
from fabula.craft.prose import clean_reply
from fabula.engine.replies.turns import read_turn
from fabula.engine.run import side_by_side
from fabula.models.base import Sampling
from fabula.story import one_line, slug
from fabula.story.people import mentioned
from fabula.systems.ibsen.config import RELEASED, SHORT
from fabula.systems.ibsen.log import Window
from fabula.systems.ibsen.shapes import impressions_shape, points_shape

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fabula.engine.replies import TextKind
    from fabula.engine.run import Run
    from fabula.models.base import Reply
    from fabula.systems.ibsen.config import Config
    from fabula.systems.ibsen.log import Turn
    from fabula.systems.ibsen.script import ActorSheet, Script

_POINTS: Final = 5
_MOST_POINTS: Final = 20  # with more points, all are summed up anew (ours)
_ANEW: Final = 8  # in so many
_LINES: Final = {"relation": 5, "impression": 3, "monologue": 2}  # lines of a note at most
_LINE_WORDS: Final = 20  # of one, for estimates
_RELATED: Final = 5  # memories for a monologue
_SHORT_TURN, _TURN_SHARE = 300, 0.1  # tokens of one turn in a prompt: with aids, else the share of the window
_LABELS: Final = ("Memories", "Instruction", "Outline", "Next line")  # what a small model may repeat of its prompt
_CLIPPED: Final = 30  # tokens of a turn that stands for its summary


@dataclass(frozen=True)
class Play:
    """What is the same all through a performance: script and settings; each objective has `stages` stages."""

    script: Script
    config: Config
    stages: int = 1
    brief: str = ""

    @property
    def embedding(self) -> Embedding:
        """What compares memories and sayings with what is said."""
        return Embedding(self.config.ours.embedder)

    def named_in(self, text: str, besides: str = "") -> tuple[str, ...]:
        """Whom a text names, other than `besides`."""
        aliases = {sheet.name: sheet.called for sheet in self.script.actors}
        aliases |= {player.name: (player.name,) for player in self.script.players if player.name not in aliases}
        return tuple(name for name in mentioned(text, aliases) if name != besides)

    def shown(self, turns: Sequence[Turn], run: Run, role: str) -> tuple[str, ...]:
        """Turns as a role's prompts show them."""
        most = run.prompt_tokens(role, _SHORT_TURN, _TURN_SHARE)
        return tuple(first_of(turn.marked if role == "director" else str(turn), most) for turn in turns)

    def history(self, turns: Sequence[Turn], run: Run, role: str, now: str = "") -> tuple[str, ...]:
        """Turns as a role's prompts show them, with date and place wherever another scene begins (ours).

        Where all are of the scene `now`, by its date and place, nothing is added.
        """
        shown = self.shown(turns, run, role)
        if not self.config.ours.own_views or {turn.scene for turn in turns if turn.scene} <= {now}:
            return shown
        lines: list[str] = []
        at = ""
        for turn, text in zip(turns, shown, strict=True):
            if turn.scene and turn.scene != at:
                at = turn.scene
                lines.append("[Now]" if at == now else f"[Earlier: {at}]" if now else f"[{at}]")
            lines.append(text)
        return tuple(lines) if at == now or not now else (*lines, "[Now; the scene begins.]")

    def as_spoken(self, run: Run, name: str) -> bool:
        """Whether a line stands as it was spoken: no rule of small models looks at it, and none refuses it (ours)."""
        return self.config.ours.long_turns and not run.aids(name)

    def sampling(self, run: Run, role: str, prompt: str) -> Sampling:
        """How a reply is drawn: as released, or as the model does by itself; short for a role with aids."""
        released = RELEASED[prompt] if self.config.paper.released_sampling else Sampling()
        return replace(released, max_tokens=run.reply_tokens(role, SHORT[prompt]) or released.max_tokens)

    def turn_in(self, text: str, name: str, others: Sequence[str], run: Run) -> str:
        """What `name` says in a reply: the first line, or all until somebody else speaks (ours, without aids)."""
        whole = self.config.ours.long_turns and not run.aids(name)
        turn = read_turn(text, name, others, whole=whole)
        run.left_out("speaker", text, turn)
        return turn

    def tidied(
        self, text: str, reply: Reply, run: Run, asked: tuple[str, str, dict[str, Any]], *, kind: TextKind = "notes"
    ) -> str:
        """What a reply says, without remarks around it (ours); with aids, also without loops and echoes of its prompt.

        Args:
            text: the part of the reply that counts.
            reply: the reply itself.
            run: where it was asked for.
            asked: role, prompt and fields of the call.
            kind: of the text.
        """
        if not self.config.ours.clean_replies:
            return text.strip()
        role, prompt, fields = asked
        if prompt in ("act", "answer") and self.as_spoken(run, role):
            return text.strip()
        echo = [run.render(prompt, **fields)] if run.aids(role) else ()
        labels = (*self.script.names, *_LABELS)
        return clean_reply(run, role, replace(reply, text=text), labels=labels, echo=echo, kind=kind)


@dataclass
class Mind:
    """What an actor knows: the active window, memories, relations to others, impressions of them."""

    window: Window
    memories: Memories = field(default_factory=Memories)
    relations: dict[str, str] = field(default_factory=dict)
    impressions: dict[str, str] = field(default_factory=dict)

    def copy(self) -> Mind:
        """The same mind, to be changed apart from this one."""
        return Mind(self.window.copy(), self.memories.copy(), dict(self.relations), dict(self.impressions))


@dataclass
class Actor:
    """An actor: who it is, and what it knows at the moment."""

    sheet: ActorSheet
    mind: Mind

    @property
    def name(self) -> str:
        """The actor's name."""
        return self.sheet.name

    def recall(
        self, queries: Sequence[tuple[str, int]], play: Play, hour: float, relevant: float
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What queries call to mind, each so many memories at most: the relevant ones, and the possibly irrelevant."""
        found = self.mind.memories.recall_all(queries, hour, Recall(threshold=play.config.paper.memory_threshold))
        if play.config.ours.own_views:  # what the window sums up is in mind already
            found = [one for one in found if one.memory.text not in self.mind.window.points]
        near = tuple(one.memory.shown for one in found if one.similarity >= relevant)
        return near, tuple(one.memory.shown for one in found if one.similarity < relevant)


def views_of(views: dict[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Relations or impressions of `names`, one line each."""
    return tuple(f"{name}: {views[name]}" for name in names if views.get(name))


# before the play ----------------------------------------------------------------------------------------------------


async def introduce(sheet: ActorSheet, play: Play, run: Run) -> Actor:
    """An actor before the play, with its profile remembered; 1 call for initial impressions, where they are wanted."""
    paper = play.config.paper
    window, memories = Window(paper.window, paper.window_keep), Memories(play.embedding)
    actor = Actor(sheet, Mind(window, memories, dict(sheet.relations)))
    for number, past in enumerate(sheet.memories, 1):
        memory = Memory(past.event, play.script.hours(past.time), past.thought)
        await _remember(actor, memory, play, run.scope("memory", number))
    others = [name for name in play.script.names if name != actor.name]
    if not paper.initial_impressions or not others:
        return actor
    try:
        made = await run.ask_for(
            impressions_shape(others),
            "memory",
            "first_impressions",
            sampling=play.sampling(run, "memory", "first_impressions"),
            actor=sheet,
            relations=views_of(actor.mind.relations, others),
            memories=tuple(memory.shown for memory in actor.mind.memories.kept),
            others=others,
        )
    except ReplyError as error:
        run.note(f"{actor.name} has no first impressions: {error}")
        return actor
    actor.mind.impressions |= {one.name: one.impression for one in made.impressions}
    return actor


# log compaction -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Summary:
    """What is to be summed up: old turns, earlier points together with them, and from whose view (empty: nobody's)."""

    old: tuple[Turn, ...]
    earlier: tuple[str, ...]
    owner: str


async def compact(
    windows: Sequence[tuple[Window, Actor | None]],
    play: Play,
    run: Run,
    *,
    hour: float,
    background: str,
    company: Mapping[str, Collection[str]],
) -> None:
    """Sum up the full windows of those who have heard a turn; a window without an actor is a director's.

    With `per_actor_summaries` that is one call a window; else one for all who have heard the same. Impressions are
    renewed of those who are in an actor's `company`.
    """
    config = play.config
    full = [(window, actor) for window, actor in windows if window.full]
    keep_old = config.ours.keep_old_summaries
    wanted: list[_Summary] = []
    first: dict[_Summary, str] = {}  # who is the first to need it, which names the place of the call
    for window, actor in full:
        name = actor.name if actor else ""
        anew = keep_old and len(window.points) + _POINTS > _MOST_POINTS
        owner = name if config.paper.per_actor_summaries else ""
        wanted.append(_Summary(window.old(keep_first=not keep_old), window.points if anew else (), owner))
        first.setdefault(wanted[-1], name or "director")
    made = await side_by_side([_sum_up(summary, play, run.scope(slug(name))) for summary, name in first.items()])
    points = dict(zip(first, made, strict=True))
    for (window, actor), summary in zip(full, wanted, strict=True):
        add = keep_old and not summary.earlier
        window.compact(points[summary], add=add, background="" if actor else background)
    await side_by_side(
        [
            _take_in(actor, points[summary], play, run.scope(slug(actor.name)), hour, company[actor.name])
            for (_, actor), summary in zip(full, wanted, strict=True)
            if actor
        ]
    )


async def _sum_up(summary: _Summary, play: Play, run: Run) -> tuple[str, ...]:
    """A summary in a few sentences; where none can be had, the turns themselves, cut short."""
    most = _ANEW if summary.earlier else _POINTS
    try:
        made = await run.ask_for(
            points_shape(most),
            "memory",
            "sum_up",
            sampling=play.sampling(run, "memory", "sum_up"),
            owner=summary.owner,
            earlier=summary.earlier,
            turns=play.history(summary.old, run, "memory"),
            dated=play.config.ours.own_views and any(act.date for act in play.script.acts),
            most=most,
        )
    except ReplyError as error:
        run.note(f"What {summary.owner or 'everybody'} heard could not be summed up: {error}")
        clipped = (first_of(str(turn), _CLIPPED) for turn in summary.old[-_POINTS:])
        return (*summary.earlier[-most:], *clipped)[-most:]
    return tuple(one_line(point).rstrip(".;") for point in made.points)


async def _take_in(
    actor: Actor, points: Sequence[str], play: Play, run: Run, hour: float, company: Collection[str]
) -> None:
    """The points of a summary become memories; then impressions of those in `company` whom they name are renewed."""
    for number, point in enumerate(points, 1):
        await _remember(actor, Memory(point, hour), play, run.scope("memory", number))
    if not play.config.paper.impressions:
        return
    for name in play.named_in(" ".join(points), actor.name):
        if name not in company:
            continue
        now = actor.mind.impressions.get(name, "")
        fields = {"actor": actor.sheet, "name": name, "now": now, "points": tuple(points)}
        actor.mind.impressions[name] = await _note(run.scope(slug(name)), "impression", fields, play)


async def _remember(actor: Actor, memory: Memory, play: Play, run: Run) -> None:
    """Add a memory; relations to those it names and its monologue are made from it, where they are wanted."""
    paper, mind = play.config.paper, actor.mind
    if paper.relation_updates:
        for name in play.named_in(memory.text, actor.name):
            fields = {"actor": actor.sheet, "name": name, "now": mind.relations.get(name, ""), "event": memory.text}
            mind.relations[name] = await _note(run.scope(slug(name)), "relation", fields, play)
    if paper.monologues and not memory.thought:
        how = Recall(threshold=paper.memory_threshold)
        fields = {
            "actor": actor.sheet,
            "event": memory.text,
            "memories": tuple(
                one.memory.shown for one in mind.memories.recall(memory.text, memory.hour, _RELATED, how)
            ),
            "relations": views_of(mind.relations, play.named_in(memory.text, actor.name)),
            "now": "",
        }
        memory = Memory(memory.text, memory.hour, await _note(run, "monologue", fields, play))
    mind.memories.add(memory)


async def _note(run: Run, prompt: str, fields: dict[str, Any], play: Play) -> str:
    """A note of a few lines; what stood there `now`, where nothing of use comes."""
    most = _LINES[prompt]
    fields = {**fields, "lines": most}
    sampling = play.sampling(run, "memory", prompt)
    reply = await run.reply("memory", prompt, sampling=sampling, expect=_LINE_WORDS * most, **fields)
    text = play.tidied(reply.text, reply, run, ("memory", prompt, fields))
    lines = [line for line in text.splitlines() if line.strip()]
    if run.aids("memory"):
        run.removed("length", "\n".join(lines[most:]))
        lines = lines[:most]
    return one_line(" ".join(lines)) or str(fields["now"])
