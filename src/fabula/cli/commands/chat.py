"""`fabula chat`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fabula.app.beginning import check
from fabula.app.bills import Bill, amount
from fabula.app.chatting import project_for_talk
from fabula.app.conversations import conversation_for, parties_for, system_of
from fabula.app.conversing import (
    CARD_SYSTEM,
    PLAYER,
    card_project,
    conversing,
    dry_run_names,
    is_card,
    read_names,
    settings_for,
)
from fabula.app.people import people_in
from fabula.app.sources import read_story
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.base.files import no_file
from fabula.cli.asked import changes_of, performing, say_default
from fabula.cli.chat import TerminalChat
from fabula.cli.help import MORE
from fabula.cli.opening import place_named, project_of, terminal_of
from fabula.cli.options import Caps, Choices, ProjectOptions, bundled
from fabula.cli.people import People
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.craft.conversation import Freedom, Parties, conversations_in, log_file
from fabula.craft.conversation.cards import read_worlds, write_cards
from fabula.craft.conversation.lines import freedom_of
from fabula.craft.narratives import NOBODY, check_people, people_read
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import slug
from fabula.story.cards import CharacterCard, read_card

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal


@dataclass(frozen=True, slots=True)
class Talking:
    """Who takes part, and in which conversation."""

    as_: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="The character that you play; default: the next known character."),
    ] = ""
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="The character that answers. Repeatable."),
    ] = None
    session: Annotated[
        str, typer.Option(metavar="NAME", help="The conversation to continue; default: the last one, or a new one.")
    ] = ""
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False
    freedom: Annotated[
        str,
        typer.Option(metavar="rails|guided|loose", help="How far you may stray from the story.", rich_help_panel=MORE),
    ] = ""
    auto: Annotated[bool, typer.Option("--auto", help="Let a model play your character too.")] = False
    turns: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --auto: the maximum number of turns.", rich_help_panel=MORE)
    ] = 1000
    greeting: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="The greeting of the card with which to begin; default: the first.",
            rich_help_panel=MORE,
        ),
    ] = None
    world: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A lorebook (a SillyTavern world file) to store in the project. Repeatable.",
            rich_help_panel=MORE,
        ),
    ] = None
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Project folder for a story file; default: a folder here, named after the file.",
        ),
    ] = ""


@bundled
def chat(
    common: ProjectOptions,
    choices: Choices,
    talking: Talking,
    caps: Caps,
    where: Annotated[
        str,
        typer.Argument(
            metavar="[STORY]", help="A story file, a character card, or a project folder.", show_default="this folder"
        ),
    ] = "",
) -> None:
    """Talk with the characters of a story."""
    terminal = terminal_of(common)
    freedom = freedom_of(talking.freedom) if talking.freedom else None
    if choices.words is not None:
        raise UsageError("--words applies only to writing: a conversation has no set length. Leave it out.")
    if talking.turns != Talking().turns and not talking.auto:
        raise UsageError("--turns requires --auto: without it, you decide when the conversation ends.")
    card = read_card(Path(where)) if where and is_card(Path(where)) else None
    if talking.greeting is not None and card is None:
        raise UsageError("--greeting chooses a greeting of a character card, but you gave no card.")
    if card is not None:
        talking = replace(talking, as_=talking.as_.strip() or PLAYER, with_=talking.with_ or [card.name])
    player, others = _who_talks(talking)
    project = _project(choices, talking, common, where, terminal, card)
    settings = settings_of(choices, project.settings, terminal)
    if not (others or conversations_in(project.folder) or settings.config.get("npc")):
        others = _first(terminal, project, settings, caps)
    named = parties_for(project, others, player)
    name, parties = conversation_for(project, talking.session, named, new=talking.new)
    if not choices.system and (made := system_of(project, name)):
        settings = settings_of(replace(choices, system=made), project.settings, terminal)
    again = f"`fabula chat {near(project.folder)} --session {name}`"
    asyncio.run(stoppable(_talk(terminal, project, settings, talking, caps, (name, parties, freedom)), again))


async def _talk(
    terminal: Terminal,
    project: ProjectFolder,
    settings: Settings,
    talking: Talking,
    caps: Caps,
    wanted: tuple[str, Parties | None, Freedom | None],
) -> None:
    """Hold the conversation until the person or the story ends it."""
    bill = Bill()
    name, parties, freedom = wanted
    chat_ = TerminalChat(terminal, project, bill, talking.greeting or 0)
    options = Options(
        whole=caps.budget,
        listeners=(chat_.hear, bill),
        environ=terminal.environ,
        person=People(terminal, project.folder).answer,
    )
    async with conversing(project, settings, options) as open_:
        chat_.conversation = await open_.conversation(name, parties, freedom)
        if open_.too_small:
            terminal.advise(open_.too_small)
        await chat_.run(talking.turns if talking.auto else 0)


def _who_talks(talking: Talking) -> tuple[str, tuple[str, ...]]:
    """The player and the characters that answer, if the options name them."""
    player = talking.as_.strip()
    others = tuple(name.strip() for name in talking.with_ or () if name.strip())
    if player and not others:
        raise UsageError(f"You play {player}. Specify who answers with `--with NAME`.")
    if talking.session:
        log_file(Path(), talking.session)
    return player, others


def _first(terminal: Terminal, project: ProjectFolder, settings: Settings, caps: Caps) -> tuple[str, ...]:
    """The character that answers if nobody is named: the first known one, or the first that a model finds in the story.

    Raises:
        UsageError: the model found nobody, or the person declines.
    """
    if not (known := people_in(project)[0]):
        bill = Bill()
        options = Options(whole=caps.budget, listeners=(bill,), environ=terminal.environ)
        expected = asyncio.run(dry_run_names(project, settings, options, people_read))
        terminal.message(f"fabula does not know the characters yet. A model can find them: {amount(expected)}.")
        asked = terminal.interactive and not terminal.json
        if asked and asyncio.run(terminal.choice("Find them? [y]es or [n]o: ", "yn")) != "y":
            raise UsageError(NOBODY)
        known = list(asyncio.run(read_names(project, settings, options, people_read)))
    if not known:
        raise UsageError(
            f"{performing(settings)} read the story and found no characters. Specify one with `--with NAME`, spelled "
            "as in the story."
        )
    return (known[0],)


def _project(
    choices: Choices,
    talking: Talking,
    common: ProjectOptions,
    where: str,
    terminal: Terminal,
    card: CharacterCard | None = None,
) -> ProjectFolder:
    """The project of the conversation, created for a story file or a card if it does not exist yet."""
    worlds = read_worlds(talking.world or ())
    if card is None:
        project = _project_of_story(choices, talking, common, where, terminal)
        write_cards(project.folder, [], worlds)
        return project
    changes = changes_of(replace(choices, system=choices.system or CARD_SYSTEM), Settings())
    check(Settings().with_(changes), terminal.environ)
    say_default(terminal, choices)
    folder = Path(place_named(common, talking.out, "--out") or slug(card.name))
    return card_project(card, folder, talking.as_, changes, worlds)


def _project_of_story(
    choices: Choices, talking: Talking, common: ProjectOptions, where: str, terminal: Terminal
) -> ProjectFolder:
    """The project of a story file, or the named project."""
    file = Path(where) if where else None
    if file is not None and not file.exists():
        raise UsageError(no_file(file, "Specify a story (a text file) or a project folder.", "file or folder"))
    if file is None or file.is_dir():
        if talking.out:
            raise UsageError("--out requires a story file. A conversation with a project is stored in that project.")
        return project_of(common, where)
    story = read_story(file)
    folder = Path(place_named(common, talking.out, "--out") or file.stem)
    there = ProjectFolder.open(folder).settings if (folder / "brief.md").exists() else None
    settings = settings_of(choices, there or Settings(), terminal)
    _check_names(talking, story.text)
    changes = {} if there else changes_of(replace(choices, system=settings.system), Settings())
    if there is None:
        say_default(terminal, choices)
    return project_for_talk(folder, story, file.stem, changes)


def _check_names(talking: Talking, narrative: str) -> None:
    """Find a misspelt name before anything is created."""
    names = [name for name in (talking.as_.strip(), *(talking.with_ or ())) if name.strip()]
    check_people(names, narrative)


def settings_of(choices: Choices, stored: Settings, terminal: Terminal) -> Settings:
    """Return the settings in force: the project's settings that fit the system, overridden by the options."""
    base = settings_for(stored, choices.system or "")
    settings = base.with_(changes_of(replace(choices, system=base.system), base))
    check(settings, terminal.environ)
    return settings
