"""Talking in a project: its narrative, its characters and its conversations, for the terminal and the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from fabula.app.people import narrative_in, people_in, written_or_asked
from fabula.app.writing import Options, PreparedMethod, Supplied, answer_in_language_of, first_error
from fabula.base.errors import UsageError
from fabula.craft import NARRATIVE_FILE
from fabula.craft.conversation import Conversation, Freedom, Log, Parties, Talk, open_conversation
from fabula.craft.conversation.cards import Cards, write_cards
from fabula.craft.narratives import narrative_of
from fabula.craft.revising import reviser
from fabula.engine.methods import IMPROVED
from fabula.engine.run import Run
from fabula.project.folder import ProjectFolder
from fabula.project.telling import CHAT
from fabula.story import Brief, plain
from fabula.systems import find, systems

if TYPE_CHECKING:
    from fabula.engine.context import RunContext
    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Kept
    from fabula.project.settings import Settings
    from fabula.story.cards import CharacterCard


T = TypeVar("T")
Reading: TypeAlias = "Callable[[Run, str, str], Awaitable[tuple[T, ...]]]"

DEFAULT: Final = "snap"
READER: Final = "labeller"  # says who is in a story
CARD_SYSTEM: Final = "vanilla"  # a card tells no story that could be planned
PLAYER: Final = "User"  # who talks with a card, where no name is given
_CARDS: Final = (".png", ".json", ".charx")
_OPEN: Final = 1000  # conversations in memory; of one more, the longest unused is only on disk
_TALKS: Final = 100  # held for whoever asks next; conversations hold their own


def able() -> list[str]:
    """The names of the systems that support conversations."""
    return [name for name, system in systems().items() if system.paper.get("chat")]


def settings_for(stored: Settings, system: str = "") -> Settings:
    """A project's settings for conversations: those of its own system, or of `system` (SNAP) if it has none.

    Raises:
        UnknownNameError: there is no such system.
        UsageError: the system does not support conversations.
    """
    name = find(system).name if system else stored.system if stored.system in able() else DEFAULT
    if name not in able():
        raise UsageError(f"The system `{name}` does not support conversations. These systems do: {', '.join(able())}.")
    if name == stored.system:
        return stored
    roles = {role: table for role, table in stored.roles.items() if role in find(name).roles}
    return stored.model_copy(update={"system": name, "config": {}, "roles": roles})


@dataclass
class Conversing:
    """A project that is open for conversations, in one process at a time; several conversations can run at once.

    Attributes:
        context: the context in which calls are made.
        narrative: the narrative that the conversations are about.
        config: the settings of the system.
        cards: the cards of those who talk, and lorebooks.
    """

    project: ProjectFolder
    prepared: PreparedMethod
    context: RunContext
    narrative: str
    config: Any
    cards: Cards = field(default_factory=Cards)
    _talks: dict[Parties | None, Talk] = field(default_factory=dict)
    _conversations: dict[str, Conversation] = field(default_factory=dict)
    _first: dict[Parties, asyncio.Lock] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def talk(self, parties: Parties | None = None) -> Talk:
        """The narrative, prepared for conversations of `parties` (by default, two characters that the system finds).

        Concurrent callers get the same object.

        Raises:
            UnknownNameError: one of the parties is not in the narrative.
            UsageError: there is no character to talk to.
        """
        async with self._opening:
            return await self._talk(parties)

    async def _talk(self, parties: Parties | None) -> Talk:
        if parties not in self._talks:
            talk: Talk = await self.prepared.method.program(self.config).open_talk(
                self.narrative, Run(self.context), self.config, parties, self.cards
            )
            self._talks[parties] = talk
            while len(self._talks) > _TALKS:
                del self._talks[next(iter(self._talks))]
        return self._talks[parties]

    async def conversation(
        self, name: str, parties: Parties | None = None, freedom: Freedom | None = None
    ) -> Conversation:
        """The conversation with that name, new or continued; all callers get the same object, even at the same time.

        Without `parties`, those in the log talk. The order in which the other parties are named does not matter.
        Changes that others have made in the log since then are applied.

        Raises:
            UsageError: the name is invalid, or the log is a conversation of other parties.
            UnknownNameError: one of the parties is not in the narrative.
            ProjectError: the log cannot be read.
        """
        async with self._opening:  # two that ask at once must not make two conversations of one log
            if name in self._conversations and self._conversations[name].log.is_behind:
                del self._conversations[name]
            if name not in self._conversations:
                log = Log.at(self.project.folder, name)
                known = log.parties if log.records else None
                same = known is not None and (parties is None or known.alike(parties))
                talk = await self._talk(known if same else parties)
                first = self._first.setdefault(talk.parties, asyncio.Lock())
                system = self.prepared.method.name
                self._conversations[name] = open_conversation(
                    log, talk, self.context, freedom, system=system, first=first
                )
            self._conversations[name] = self._conversations.pop(name)  # the one that was asked for last stands last
            idle = [one for one, held in self._conversations.items() if one != name and not held.is_busy]
            for one in idle[: len(self._conversations) - _OPEN]:
                del self._conversations[one]
        conversation = self._conversations[name]
        conversation.log.check_parties(name, parties)
        if freedom is not None and conversation.state.freedom != freedom:
            await conversation.set_freedom(freedom)
        return conversation

    @property
    def too_small(self) -> str:
        """A warning if the planner's model is too small for the system's plans; empty if it is not."""
        run, method = Run(self.context), self.prepared.method
        if "planner" not in method.roles or not run.room("planner").aids:
            return ""
        return (
            f"The planning model is too small for {method.name}, so its plans and turns will be poor. `--system "
            "vanilla` needs no plan and answers faster."
        )


def is_card(path: Path) -> bool:
    """Whether a file is a character card, judging by its name."""
    return path.suffix.lower() in _CARDS and path.is_file()


def card_project(
    card: CharacterCard, folder: Path, player: str, changes: Mapping[str, Any], worlds: Mapping[str, bytes]
) -> ProjectFolder:
    """The project in which you talk to a card's character, created if it does not exist.

    Its story is what the card tells about the character and the situation. By default, the whole story is in the
    prompt, and the conversation has no end.

    Raises:
        FabulaError: an error of any kind.
    """
    if (folder / "brief.md").exists():
        project = ProjectFolder.open(folder)
    else:
        system = str(changes.get("system") or CARD_SYSTEM)
        ours = system == CARD_SYSTEM and changes.get("preset", IMPROVED) == IMPROVED
        own = {"open_ended": True} if ours else {}
        config = {"player": player, "npc": card.name, **own, **changes.get("config", {})}
        brief = Brief(f"Talk with {card.name}, as {player}.", card.name)
        project = ProjectFolder.create(folder, brief, {**changes, "system": system, "config": config})
        # Then the prompt holds the card's description anyway; SNAP reads who is in a cell out of its text.
        told = [card.said(name, player) for name in ("description", "scenario") if name == "scenario" or not own]
        project.write_given(NARRATIVE_FILE, plain("\n\n".join([*filter(None, told), f"{card.name} meets {player}."])))
    write_cards(project.folder, [card], worlds)
    return project


@asynccontextmanager
async def conversing(
    project: ProjectFolder, settings: Settings, options: Options, supplied: Supplied | None = None
) -> AsyncIterator[Conversing]:
    """The project, open for conversations; edits found in its files are applied first.

    Raises:
        FabulaError: an error of any kind.
    """
    prepared = PreparedMethod(settings, options)
    with project.recorded() as journal:
        project.begin(journal)
        async with prepared.opened(journal, supplied=supplied) as context:
            context.revise = reviser(project.brief.titled)

            def on_kept(kept: Kept) -> None:
                if not kept.path.startswith("chat/"):  # what a conversation makes for itself stays in the journal
                    project.write_kept(journal, kept)

            context.on_kept = on_kept
            if context.mode == "live":
                journal.start_run(
                    f"{CHAT}{prepared.method.name}", settings.model_dump(mode="json", exclude_defaults=True)
                )
            open_ = await _opened(project, prepared, context)
            try:
                yield open_
            except BaseExceptionGroup as group:  # calls side by side failed; the first of ours says enough
                raise first_error(group) from group
            if context.mode == "live":
                journal.end_run()


async def _opened(project: ProjectFolder, prepared: PreparedMethod, context: RunContext) -> Conversing:
    narrative, settings = await _narrative(project, Run(context)), prepared.settings
    answer_in_language_of(narrative, context, settings)
    config = prepared.method.config(settings.preset, settings.config)
    known, others = people_in(project)
    cards = replace(Cards.in_(project.folder), known=(*known, *others))
    return Conversing(project, prepared, context, narrative, config, cards)


@asynccontextmanager
async def looked_at(project: ProjectFolder, settings: Settings, options: Options) -> AsyncIterator[Conversing]:
    """The project, opened only to look at its conversations: planned calls are noted in `context.dry_run`.

    It calls no model and writes nothing, so that others can work on the project at the same time.

    Raises:
        FabulaError: the problem that prevents it.
    """
    prepared = PreparedMethod(settings, options)
    with project.journal as journal:
        async with prepared.opened(journal, dry=True) as context:
            yield await _opened(project, prepared, context)


async def dry_run_beginning(
    project: ProjectFolder, settings: Settings, options: Options, parties: Parties, freedom: Freedom | None = None
) -> DryRun:
    """The calls and cost of the first turn of a new conversation. It calls no model and writes nothing.

    Raises:
        FabulaError: the problem that prevents it.
    """
    async with looked_at(project, settings_for(settings), options) as open_:
        open_.cards = replace(open_.cards, known=(*open_.cards.known, *parties.names))
        await open_conversation(None, await open_.talk(parties), open_.context, freedom).begin()
        return open_.context.dry_run


async def read_names(
    project: ProjectFolder, settings: Settings, options: Options, reading: Reading[T]
) -> tuple[T, ...]:
    """A model's `reading` of the story, such as who is in it (`people_read`); made once for each version of the story.

    Raises:
        FabulaError: an error of any kind; a finished call is kept and replayed for the same request.
    """
    narrative, prepared = narrative_in(project), PreparedMethod(settings_for(settings), options)
    with project.recorded() as journal:
        async with prepared.opened(journal) as context:
            answer_in_language_of(narrative, context, prepared.settings)
            with context.recording_failures():
                return await reading(Run(context), narrative, READER)


async def dry_run_names(project: ProjectFolder, settings: Settings, options: Options, reading: Reading[Any]) -> DryRun:
    """The calls and cost of `read_names`. It calls no model and writes nothing.

    Raises:
        FabulaError: the problem that prevents it.
    """
    async with looked_at(project, settings_for(settings), options) as open_:
        await reading(Run(open_.context), narrative_in(project), READER)
        return open_.context.dry_run


async def _narrative(project: ProjectFolder, run: Run) -> str:
    """The narrative for conversations: the author's narrative, else the written story, else the brief."""
    given = await narrative_of(run, Brief("-"))
    return given if given != "-" else written_or_asked(project)
