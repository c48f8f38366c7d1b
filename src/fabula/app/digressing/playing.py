"""The conversations of a simulated player, kept as conversations of a project."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.app.conversing import conversing
from fabula.app.digressing.schedule import KINDS
from fabula.app.writing import PreparedMethod, answer_in_language_of
from fabula.craft.conversation import open_conversation
from fabula.craft.digressions import Utterance, dialogue_with_marks
from fabula.craft.packing import last_of
from fabula.engine.prompts import SystemPrompts
from fabula.engine.replies.dialogue import first_sentences, read_said
from fabula.engine.replies.turns import says
from fabula.engine.run import Run, side_by_side
from fabula.measure.items import Item
from fabula.models.base import Sampling
from fabula.story import Scene, Story

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.app.digressing.schedule import DigressionSchedule, Slot
    from fabula.app.writing import Options
    from fabula.craft.conversation import Conversation, Parties, Talk
    from fabula.engine.dry_run import DryRun
    from fabula.engine.journal import Journal
    from fabula.project.folder import ProjectFolder
    from fabula.project.settings import Settings

_PROMPTS: Final = Path(__file__).parent / "prompts"
_ROLE: Final = "player"
_PASSAGE: Final = 1200  # tokens of the story that a modelled player reads
_LINES: Final = 8
_SENTENCES: Final = 2
_TEMPERATURE: Final = 0.8
_TOKENS: Final = 80


@dataclass(frozen=True, slots=True)
class Simulation:
    """What the conversations are about, who plays, and how.

    Attributes:
        id: the narrative's id in reports.
        narrative: the narrative's text.
        modelled: whether the role `player` puts the schedule's digressions into its own words; otherwise a script
            speaks.
        conversations: how many conversations to have.
    """

    id: str
    narrative: str
    parties: Parties
    schedule: DigressionSchedule
    modelled: bool = False
    conversations: int = 2

    def names(self) -> list[str]:
        """The names of the conversations."""
        return [f"player-{number}" for number in range(1, self.conversations + 1)]


async def digress_in(
    project: ProjectFolder,
    settings: Settings,
    options: Options,
    wanted: Simulation,
    done: Callable[[Conversation], None] = lambda _: None,
) -> tuple[Item, ...]:
    """The dialogues of a system, with the digressions marked; existing conversations are continued.

    As many run at once as the model of the characters accepts; `done` gets each finished dialogue.

    Raises:
        FabulaError: an error of any kind; all turns are kept, and the same call continues from there.
    """
    async with conversing(project, settings, options) as open_:
        room = asyncio.Semaphore(max(open_.context.cast.assignment("npc").performer.capabilities.parallel, 1))
        await open_.talk(wanted.parties)

        async def made(number: int, name: str) -> Item:
            async with room:
                conversation = await open_.conversation(name, wanted.parties)
                await _converse(conversation, wanted, number)
                done(conversation)
                return item_of_conversation(conversation, wanted, number, open_.prepared.method.name)

        return tuple(await side_by_side(made(number, name) for number, name in enumerate(wanted.names(), 1)))


async def dry_run_digressions(settings: Settings, options: Options, wanted: Simulation, journal: Journal) -> DryRun:
    """The calls of `digress_in` that are not in the journal. It calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options)
    async with prepared.opened(journal, dry=True) as context:
        config = prepared.method.config(settings.preset, settings.config)
        answer_in_language_of(wanted.narrative, context, settings)
        talk: Talk = await prepared.method.program(config).open_talk(
            wanted.narrative, Run(context), config, wanted.parties
        )
        conversations = [open_conversation(None, talk, context, name=name) for name in wanted.names()]
        await side_by_side(
            _converse(conversation, wanted, number) for number, conversation in enumerate(conversations, 1)
        )
    return context.dry_run


async def _converse(conversation: Conversation, wanted: Simulation, number: int) -> None:
    """Continue a conversation to the end of its schedule, or of its story."""
    for slot in wanted.schedule.slots(wanted.narrative, number)[len(conversation.turns) :]:
        if conversation.state.over:
            return
        if slot.purpose == "open":
            await conversation.begin()
        else:
            await conversation.say(await _words(conversation, wanted, slot))


async def _words(conversation: Conversation, wanted: Simulation, slot: Slot) -> str:
    """What the player says in a turn."""
    kind = KINDS.get(slot.kind)
    if not wanted.modelled or slot.purpose == "after" or (kind is not None and kind.lasts):
        return slot.says
    own_prompts = replace(conversation.context, prompts=SystemPrompts(_PROMPTS))
    run = Run(own_prompts).scope("digress", conversation.name, len(conversation.turns) + 1)
    player = wanted.parties.player
    text = await run.ask(
        _ROLE,
        "player",
        sampling=Sampling(temperature=_TEMPERATURE, max_tokens=_TOKENS),
        expect=_TOKENS // 3,
        who=player,
        partners=wanted.parties.others,
        passage=last_of(_passage(conversation), _PASSAGE),
        lines=conversation.state.lines[-_LINES:],
        leaves="" if kind is None else kind.does.format(word=slot.word),
    )
    said = first_sentences(read_said(text, player, wanted.parties.names).message, _SENTENCES)
    return said if any(letter.isalnum() for letter in said) else slot.says  # a model that says nothing cannot digress


def _passage(conversation: Conversation) -> str:
    """The part of the narrative that the conversation has reached."""
    return conversation.talk.segments[max(conversation.state.cell - 1, 0)]


def item_of_conversation(conversation: Conversation, wanted: Simulation, number: int, system: str) -> Item:
    """A conversation as a dialogue that can be measured, with its narrative and with the digressions marked."""
    lines: list[Utterance] = []
    for turn, slot in zip(conversation.turns, wanted.schedule.slots(wanted.narrative, number), strict=False):
        if turn.said:
            word = slot.word if slot.word and says(turn.said, slot.word) else ""
            lines.append(Utterance(wanted.parties.player, turn.said, slot.kind, word))
        if turn.line is not None:
            lines.append(Utterance(turn.line.name, turn.line.text))
    text = dialogue_with_marks(lines)
    story = Story("", (Scene("dialogue", text),))
    return Item(f"{system}/{wanted.id}-{number}", story, system, wanted.id, narrative=wanted.narrative)
