"""An actor: three stores (memories, views of others, the active window), how what is heard changes them, and its lines.

Before the play an actor gets its profile and first impressions. A window that is full is summed up; the points of the
summary become memories; memories change relations; impressions of those who are named are renewed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.embedding import Embedding
from fabula.craft.memory import Memories, Memory, Recall
from fabula.craft.packing import first_of
from fabula.engine.replies.turns import leaves_part, read_turn, repeats_earlier
from fabula.engine.roles import is_person
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Message, Reply, Sampling
from fabula.story import one_line, slug
from fabula.story.people import mentioned
from fabula.systems.ibsen.config import LINE_TRIES, RELEASED, Config
from fabula.systems.ibsen.log import ActiveWindow, PlayLine
from fabula.systems.ibsen.shapes import LineCheck, Outline, impressions_shape, points_shape

if TYPE_CHECKING:
    from fabula.systems.ibsen.script import ActorSheet, Script, SubAct


RECENT: Final = 3  # turns that say who is talked about and call memories to mind
_POINTS: Final = 5
_BY_INSTRUCTION, _BY_TURN = 3, 5  # memories that the instruction, and each recent turn, call to mind
_SAYINGS: Final = 3
_LINES: Final = {"relation": 5, "impression": 3, "monologue": 2}  # lines of a note at most
_RELATED: Final = 5  # memories for a monologue
_CLIPPED: Final = 30  # tokens of a turn that stands for its summary


@dataclass(frozen=True)
class Play:
    """What is the same all through a performance: script and settings, and how replies are drawn and read."""

    script: Script
    config: Config

    @property
    def embedding(self) -> Embedding:
        """The embedding that compares memories and sayings with what is said."""
        return Embedding(self.config.paper.embedder)

    def window(self) -> ActiveWindow:
        """An empty window."""
        return ActiveWindow(self.config.paper.window, self.config.paper.window_keep)

    def named_in(self, text: str, besides: str = "") -> tuple[str, ...]:
        """Whom a text names, other than `besides`."""
        aliases = {sheet.name: sheet.called for sheet in self.script.actors}
        aliases |= {player.name: (player.name,) for player in self.script.players if player.name not in aliases}
        return tuple(name for name in mentioned(text, aliases) if name != besides)

    def sampling(self, run: Run, role: str, prompt: str) -> Sampling:
        """How a reply is drawn."""
        del run, role
        return RELEASED[prompt]

    def text_of(self, run: Run, role: str, reply: Reply) -> str:
        """The text of a reply."""
        del run, role
        return reply.text.strip()

    def turn_in(self, text: str, name: str, others: Sequence[str], run: Run) -> str:
        """What `name` says in a reply: its first line, without the name before it (the stop that the release means)."""
        turn = read_turn(text, name, others)
        run.removed("speaker", text, turn)
        return turn


@dataclass
class Mind:
    """What an actor knows: the active window, memories, relations to others, impressions of them."""

    window: ActiveWindow
    memories: Memories = field(default_factory=Memories)
    relations: dict[str, str] = field(default_factory=dict)
    impressions: dict[str, str] = field(default_factory=dict)


@dataclass
class Recorded:
    """A mind as it is stored next to the log of a sub-act."""

    turns: list[PlayLine] = field(default_factory=list)
    points: tuple[str, ...] = ()
    opening: int = 0
    memories: list[Memory] = field(default_factory=list)
    relations: dict[str, str] = field(default_factory=dict)
    impressions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, mind: Mind) -> Recorded:
        """A mind as it is now."""
        window = mind.window
        stores = list(mind.memories.kept), dict(mind.relations), dict(mind.impressions)
        return cls(list(window.turns), window.points, window.opening, *stores)

    def mind(self, play: Play) -> Mind:
        """The mind, to continue from."""
        window = play.window()
        window.turns, window.points, window.opening = list(self.turns), self.points, self.opening
        memories = Memories(play.embedding, list(self.memories))
        return Mind(window, memories, dict(self.relations), dict(self.impressions))


@dataclass(frozen=True)
class Log:
    """What was said in a sub-act; next to it its actors' minds when it ends, and the sub-acts where players are then.

    `begun` stands for the minds with which it began: with others it must be lived through again.
    """

    text: str
    minds: dict[str, Recorded] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    begun: str = ""


@dataclass(frozen=True)
class SpeakingMoment:
    """What an actor is told when it is to speak: the sub-act, the hour, the director's outline and instruction."""

    act: SubAct
    hour: float
    outline: Outline | None = None
    instruction: str = ""


@dataclass
class Actor:
    """An actor: who it is, and what it knows at the moment."""

    sheet: ActorSheet
    play: Play
    mind: Mind = field(init=False)

    def __post_init__(self) -> None:
        """Begin with nothing but the sheet."""
        self.mind = Mind(self.play.window(), Memories(self.play.embedding), dict(self.sheet.relations))

    @property
    def name(self) -> str:
        """The actor's name."""
        return self.sheet.name

    async def introduce(self, run: Run) -> None:
        """Before the play: the profile is remembered, and 1 call gives initial impressions."""
        for number, past in enumerate(self.sheet.memories, 1):
            memory = Memory(past.event, self.play.script.hours(past.time), past.thought)
            await self.remember(memory, run.scope("memory", number))
        await self.first_impressions(run)

    async def first_impressions(self, run: Run) -> None:
        """What the actor says before the play that it thinks of all others; 1 call."""
        others = [name for name in self.play.script.names if name != self.name]
        if not others:
            return
        try:
            made = await run.ask_for(
                impressions_shape(others),
                "memory",
                "first_impressions",
                sampling=self.play.sampling(run, "memory", "first_impressions"),
                actor=self.sheet,
                relations=views_of(self.mind.relations, others),
                memories=tuple(memory.text for memory in self.mind.memories.kept),
                others=others,
            )
        except ReplyError as error:
            run.note(f"{self.name} has no first impressions: {error}")
            return
        self.mind.impressions |= {one.name: one.impression for one in made.impressions}

    async def remember(self, memory: Memory, run: Run) -> None:
        """Add a memory: the relation to each of those whom it names is made again of it, and so is its monologue."""
        named = self.play.named_in(memory.text, self.name)
        for name in named:
            fields: dict[str, Any] = {"name": name, "now": self.mind.relations.get(name, ""), "event": memory.text}
            self.mind.relations[name] = await self.note(run.scope(slug(name)), "relation", fields)
        if not memory.thought:
            like = self.mind.memories.recall(memory.text, memory.hour, _RELATED, self.recalling)
            relevant = self.play.config.paper.relevant
            fields = {
                "event": memory.text,
                "memories": tuple(one.memory.text for one in like if one.similarity >= relevant),
                "relations": views_of(self.mind.relations, named),
            }
            memory = Memory(memory.text, memory.hour, await self.note(run, "monologue", fields))
        self.mind.memories.add(memory)

    async def take_in(self, points: Sequence[str], hour: float, run: Run) -> None:
        """The points of a summary become memories; then impressions of those whom they name are renewed."""
        for number, point in enumerate(points, 1):
            await self.remember(Memory(point, hour), run.scope("memory", number))
        for name in self.play.named_in(" ".join(points), self.name):
            about = tuple(point for point in points if name in self.play.named_in(point))
            fields = {"name": name, "now": self.mind.impressions.get(name, ""), "points": about}
            self.mind.impressions[name] = await self.note(run.scope(slug(name)), "impression", fields)

    async def note(self, run: Run, prompt: str, fields: dict[str, Any]) -> str:
        """A note of a few lines; what stood there `now`, where nothing comes."""
        most = _LINES[prompt]
        sampling = self.play.sampling(run, "memory", prompt)
        fields = {**fields, "actor": self.sheet, "lines": most}
        reply = await run.reply("memory", prompt, sampling=sampling, **fields)
        return one_line(self.play.text_of(run, "memory", reply)) or str(fields.get("now", ""))

    @property
    def recalling(self) -> Recall:
        """How memories are looked for."""
        return Recall(threshold=self.play.config.paper.memory_threshold)

    def recall(
        self, queries: Sequence[tuple[str, int]], hour: float, relevant: float
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What queries call to mind, each so many memories at most: the relevant ones, and the possibly irrelevant."""
        found = self.mind.memories.recall_all(queries, hour, self.recalling)
        near = tuple(one.memory.shown for one in found if one.similarity >= relevant)
        return near, tuple(one.memory.shown for one in found if one.similarity < relevant)

    # a line

    async def speak(self, line: PlayLine, moment: SpeakingMoment, run: Run) -> PlayLine:
        """The actor's own line for a planned one, which it does not see; at most 4 calls, and 1 for the check.

        A line out of character is asked again; where no try has anything of use, the planned line stands in. A line
        much like an earlier one is spoken again once, with the first turn alone in mind.
        """
        paper, turns = self.play.config.paper, self.mind.window.turns
        fields = self.line_fields(moment)
        for attempt in range(LINE_TRIES):
            text, own = await self.line(run.again(attempt, "It was no line of this character."), fields, turns)
            if own:
                return PlayLine.of(self.name, text)
            if text and not self.leaves_part(text):
                break
        else:
            run.note(f"{self.name} spoke no usable line in {LINE_TRIES} tries, so the director's line is used.")
            return line
        if paper.self_check:
            text = await self.checked(text, run)
        if paper.repeat_threshold and repeats_earlier(text, [turn.text for turn in turns], paper.repeat_threshold):
            again, _ = await self.line(run.scope("anew"), fields, turns[:1])
            text = again if again and not self.leaves_part(again) else text
        return PlayLine.of(self.name, text)

    def leaves_part(self, text: str) -> bool:
        """Whether a line speaks as a model, or about the play."""
        return leaves_part(text)

    def line_fields(self, moment: SpeakingMoment) -> dict[str, Any]:
        """What the actor's prompt shows, but for the history."""
        play, mind = self.play, self.mind
        last = mind.window.turns[-RECENT:]
        first = moment.instruction.partition("\n")[0]
        queries = [*([(first, _BY_INSTRUCTION)] if first else []), *((str(turn), _BY_TURN) for turn in last)]
        relevant, others = self.recall(queries, moment.hour, play.config.paper.relevant)
        named = play.named_in(" ".join(f"{turn.name} {turn.text}" for turn in last), self.name)
        return {
            "actor": self.sheet,
            "background": "\n".join(filter(None, (play.script.background, moment.act.background))),
            "impressions": views_of(mind.impressions, named),
            "relevant": relevant,
            "others": others,
            "sayings": self.sayings(last),
            "outline": moment.outline.new_outline if moment.outline else "",
            "instruction": moment.instruction,
        }

    def sayings(self, last: Sequence[PlayLine]) -> tuple[tuple[str, str], ...]:
        """How the actor once answered something like the last turn: pairs of what was asked and what it said."""
        known, play = self.sheet.sayings, self.play
        if not known or not last or last[-1].name == self.name:
            return ()
        like = play.embedding([saying.asked for saying in known]) @ play.embedding([last[-1].text])[0]
        best = sorted(range(len(known)), key=lambda n: (-like[n], n))[:_SAYINGS]
        return tuple((known[n].asked, known[n].said) for n in best if like[n] >= play.config.paper.saying_threshold)

    async def line(self, run: Run, fields: dict[str, Any], turns: Sequence[PlayLine]) -> tuple[str, bool]:
        """A line, and whether a person wrote it, who means what they write; the history comes as the turns of a chat.

        What the actor said is the model's, without the name; all else is the user's.
        """
        chat = [
            Message("assistant", turn.text) if turn.name == self.name else Message("user", str(turn)) for turn in turns
        ]
        sampling = self.play.sampling(run, self.name, "act")
        reply = await run.reply(self.name, "act", chat, sampling=sampling, **fields, history=bool(turns))
        if is_person(reply.model):
            return reply.text, True
        return self.play.turn_in(
            self.play.text_of(run, self.name, reply), self.name, self.play.script.names, run
        ), False

    async def checked(self, text: str, run: Run) -> str:
        """The line after the actor's self-check, or unchanged if the reply cannot be read."""
        sampling = self.play.sampling(run, "actor", "check_line")
        try:
            found = await run.ask_for(LineCheck, "actor", "check_line", sampling=sampling, actor=self.sheet, line=text)
        except ReplyError as error:
            run.note(f"The line of {self.name} could not be checked: {error}")
            return text
        revised = (
            "" if found.result else self.play.turn_in(found.revised_response, self.name, self.play.script.names, run)
        )
        return revised or text


def views_of(views: dict[str, str], names: Sequence[str]) -> tuple[str, ...]:
    """Relations or impressions of `names`, one line each."""
    return tuple(f"{name}: {views[name]}" for name in names if views.get(name))


# log compaction -----------------------------------------------------------------------------------------------------


async def compact(
    windows: Sequence[tuple[ActiveWindow, Actor | None]], play: Play, run: Run, hour: float, background: str
) -> None:
    """Sum up the full windows of those who have heard a turn; a window without an actor is a director's.

    That is one call a window (`per_actor_summaries`), else one for all who have heard the same.
    """
    wanted: dict[
        tuple[tuple[PlayLine, ...], str], str
    ] = {}  # who is the first to need it, which names the call's place
    full = [(window, actor) for window, actor in windows if window.full]
    asked = []
    for window, actor in full:
        name = actor.name if actor else ""
        asked.append((window.old, name if play.config.paper.per_actor_summaries else ""))
        wanted.setdefault(asked[-1], name or "director")
    made = await side_by_side([sum_up(*summary, play, run.scope(slug(name))) for summary, name in wanted.items()])
    points = dict(zip(wanted, made, strict=True))
    for (window, actor), summary in zip(full, asked, strict=True):
        window.compact(points[summary], "" if actor else background)
    await side_by_side(
        [
            actor.take_in(points[summary], hour, run.scope(slug(actor.name)))
            for (_, actor), summary in zip(full, asked, strict=True)
            if actor
        ]
    )


async def sum_up(old: Sequence[PlayLine], owner: str, play: Play, run: Run) -> tuple[str, ...]:
    """A summary in a few sentences, from the view of `owner` (empty: nobody's); else the last turns, cut short."""
    try:
        made = await run.ask_for(
            points_shape(_POINTS),
            "memory",
            "sum_up",
            sampling=play.sampling(run, "memory", "sum_up"),
            owner=owner,
            turns=tuple(map(str, old)),
            most=_POINTS,
        )
    except ReplyError as error:
        run.note(f"What {owner or 'everybody'} heard could not be summed up: {error}")
        return tuple(first_of(str(turn), _CLIPPED) for turn in old[-_POINTS:])
    return tuple(one_line(point).rstrip(".;") for point in made.points)
