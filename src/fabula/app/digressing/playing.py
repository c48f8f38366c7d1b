"""The conversations of a simulated player, kept as sessions of a project."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.conversing import conversing
from fabula.app.digressing.kinds import KINDS
from fabula.app.writing import Prepared, first_error
from fabula.base.errors import UsageError
from fabula.craft.conversation import Parties, SessionFiles, open_session
from fabula.craft.digressions import Utterance, dialogue_with_marks
from fabula.craft.narratives import check_people
from fabula.craft.packing import last_of
from fabula.engine.prompts import Prompts
from fabula.engine.replies.dialogue import first_sentences, read_said
from fabula.engine.replies.obeying import says
from fabula.engine.run import Run
from fabula.measure.items import Item
from fabula.models.base import Sampling
from fabula.story import Scene, Story
from fabula.story.people import names_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.app.digressing.schedule import Schedule, Slot
    from fabula.app.writing import Options
    from fabula.craft.conversation import Session, Talk
    from fabula.engine.context import RunContext
    from fabula.engine.dry_run import DryRun
    from fabula.engine.journal import Journal
    from fabula.project.folder import Project
    from fabula.project.settings import Settings

_PROMPTS: Final = Path(__file__).parent / "prompts"
_ROLE: Final = "player"
_PASSAGE: Final = 1200  # tokens of the story that a modelled player reads
_LINES: Final = 8
_SENTENCES: Final = 2
_TEMPERATURE: Final = 0.8
_TOKENS: Final = 80


@dataclass(frozen=True, slots=True)
class Conversation:
    """What is talked through, by whom, and how.

    Attributes:
        id: of the narrative, in reports.
        narrative: its text.
        modelled: the role `player` says what the schedule wants said, in words of its own; else a script does.
        sessions: so many conversations.
    """

    id: str
    narrative: str
    parties: Parties
    schedule: Schedule
    modelled: bool = False
    sessions: int = 2

    def names(self) -> list[str]:
        """Of the sessions."""
        return [f"player-{number}" for number in range(1, self.sessions + 1)]


def parties_of(narrative: str, player: str = "", others: Sequence[str] = ()) -> Parties:
    """Who talks: those named, else the two whom a narrative names most; the same for every system.

    Raises:
        UnknownNameError: somebody is not in the narrative.
        UsageError: it names nobody to talk with.
    """
    left = [name for name in names_in(narrative) if name not in (player, *others)]
    player = player or (left.pop(0) if left else "")
    others = tuple(others) or tuple(left[:1])
    if not (player and others):
        raise UsageError("The narrative names fewer than two characters. Say who talks: --as NAME and --with NAME.")
    check_people([player, *others], narrative)
    return Parties(player, tuple(others))


async def digress_in(
    project: Project,
    settings: Settings,
    options: Options,
    wanted: Conversation,
    done: Callable[[Session], None] = lambda _: None,
) -> tuple[Item, ...]:
    """The dialogues of a system, with the digressions marked; sessions that are there are gone on with.

    Side by side as many as the model of the characters takes at once; `done` is told of each that is over.

    Raises:
        FabulaError: any of its kinds; all that was said is kept, and the same call goes on from there.
    """
    async with conversing(project, settings, options) as open_:
        room = asyncio.Semaphore(max(open_.context.cast.assignment("npc").performer.capabilities.parallel, 1))
        await open_.talk(wanted.parties)

        async def made(number: int, name: str) -> Item:
            async with room:
                session = await open_.session(name, wanted.parties)
                await _converse(session, wanted, number)
                done(session)
                return item_of_session(session, wanted, number, open_.prepared.method.name)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(made(number, name)) for number, name in enumerate(wanted.names(), 1)]
    return tuple(task.result() for task in tasks)


async def dry_run_digressions(settings: Settings, options: Options, wanted: Conversation, journal: Journal) -> DryRun:
    """What `digress_in` would ask, beyond what is in the journal. Asks nobody and writes nothing."""
    prepared = Prepared(settings, options)
    cast = prepared.cast()
    try:
        context = prepared.context(journal, "dry", cast)
        config = prepared.method.config(settings.preset, settings.config)
        talk: Talk = await prepared.method.algorithm.open_talk(wanted.narrative, Run(context), config, wanted.parties)
        for number, name in enumerate(wanted.names(), 1):
            await _converse(open_session(_Unkept(Path(f"{name}.jsonl")), talk, context), wanted, number)
    except BaseExceptionGroup as group:
        raise first_error(group) from group
    finally:
        await cast.close()
    return context.dry_run


class _Unkept(SessionFiles):
    """The files of a session that is only rehearsed: its name counts, nothing is read or written."""

    __slots__ = ()

    def read(self) -> list[dict[str, Any]]:
        return []

    def append(self, record: dict[str, Any]) -> None:
        del record


async def _converse(session: Session, wanted: Conversation, number: int) -> None:
    """A conversation from where it stands to the end of its schedule, or of its story."""
    for slot in wanted.schedule.slots(wanted.narrative, number)[len(session.turns) :]:
        if session.state.over:
            return
        if slot.purpose == "open":
            await session.begin()
        else:
            await session.say(await _words(session, wanted, slot))


async def _words(session: Session, wanted: Conversation, slot: Slot) -> str:
    """What the player says in a turn."""
    kind = KINDS.get(slot.kind)
    if not wanted.modelled or slot.purpose == "after" or (kind is not None and kind.lasts):
        return slot.says
    run = Run(_our(session.context)).scope("digress", session.name, len(session.turns) + 1)
    player = wanted.parties.player
    text = await run.ask(
        _ROLE,
        "player",
        sampling=Sampling(temperature=_TEMPERATURE, max_tokens=_TOKENS),
        expect=_TOKENS // 3,
        who=player,
        partners=wanted.parties.others,
        passage=last_of(_passage(session), _PASSAGE),
        lines=session.state.lines[-_LINES:],
        told="" if kind is None else kind.told.format(word=slot.word),
    )
    said = first_sentences(read_said(text, player, wanted.parties.names).message, _SENTENCES)
    return said if any(letter.isalnum() for letter in said) else slot.says  # a model that says nothing cannot digress


def _passage(session: Session) -> str:
    """The part of the narrative that the conversation is in."""
    return session.talk.segments[max(session.state.cell - 1, 0)]


def _our(context: RunContext) -> RunContext:
    """The same hands with the player's prompts."""
    return replace(context, prompts=Prompts(_PROMPTS))


def item_of_session(session: Session, wanted: Conversation, number: int, system: str) -> Item:
    """A conversation as a dialogue to be measured, with its narrative and the digressions marked."""
    lines: list[Utterance] = []
    for turn, slot in zip(session.turns, wanted.schedule.slots(wanted.narrative, number), strict=False):
        if turn.said:
            word = slot.word if slot.word and says(turn.said, slot.word) else ""
            lines.append(Utterance(wanted.parties.player, turn.said, slot.kind, word))
        if turn.line is not None:
            lines.append(Utterance(turn.line.name, turn.line.text))
    text = dialogue_with_marks(lines)
    story = Story("", (Scene("dialogue", text),))
    return Item(f"{system}/{wanted.id}-{number}", story, system, wanted.id, narrative=wanted.narrative)
