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
    dry_run_people,
    is_card,
    read_people,
    settings_for,
)
from fabula.app.people import people_in
from fabula.app.sources import read_story
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.cli.asked import changes_of, performing, say_default
from fabula.cli.chat import TerminalChat
from fabula.cli.help import MORE
from fabula.cli.opening import place_named, project_of, terminal_of
from fabula.cli.options import Caps, Choices, ProjectOptions, bundled
from fabula.cli.people import People
from fabula.cli.session import near
from fabula.cli.stopping import stoppable
from fabula.craft.conversation import Parties, conversations_in, log_file
from fabula.craft.conversation.cards import read_worlds, write_cards
from fabula.craft.conversation.lines import freedom_of
from fabula.craft.narratives import NOBODY, check_people
from fabula.project.folder import ProjectFolder
from fabula.project.settings import Settings
from fabula.story import slug
from fabula.story.cards import read_card

if TYPE_CHECKING:
    from fabula.cli.terminal import Terminal
    from fabula.craft.conversation import Freedom
    from fabula.story.cards import CharacterCard


@dataclass(frozen=True, slots=True)
class Talking:
    """Who talks, and which conversation it is."""

    as_: Annotated[
        str,
        typer.Option("--as", metavar="NAME", help="The character that you play; default: the next who is known."),
    ] = ""
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="NAME", help="Who answers you. Repeatable: several in one scene."),
    ] = None
    session: Annotated[
        str, typer.Option(metavar="NAME", help="The conversation; default: the last one, or a new one.")
    ] = ""
    new: Annotated[bool, typer.Option("--new", help="Begin a new conversation.")] = False
    freedom: Annotated[
        str,
        typer.Option(metavar="rails|guided|loose", help="How far you may stray from the story.", rich_help_panel=MORE),
    ] = ""
    auto: Annotated[bool, typer.Option("--auto", help="A model plays your character too.")] = False
    turns: Annotated[
        int, typer.Option(min=1, metavar="N", help="With --auto: the most turns.", rich_help_panel=MORE)
    ] = 1000
    greeting: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="The card's greeting to begin with; default: the first.", rich_help_panel=MORE
        ),
    ] = None
    world: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="A lorebook (a world file of SillyTavern), kept in the project. Repeatable.",
            rich_help_panel=MORE,
        ),
    ] = None
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="DIR", help="Project folder for a story file; default: its name, here."),
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
    """Talk with the characters of a story, who keep to it."""
    terminal = terminal_of(common)
    freedom = freedom_of(talking.freedom) if talking.freedom else None
    if choices.words is not None:
        raise UsageError("--words is for writing; a conversation is as long as you make it. Leave it out.")
    if talking.turns != Talking().turns and not talking.auto:
        raise UsageError("--turns goes with --auto: a person ends a conversation when they like.")
    card = read_card(Path(where)) if where and is_card(Path(where)) else None
    if talking.greeting is not None and card is None:
        raise UsageError("--greeting chooses among the greetings of a character card, and no card is given.")
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
    """The conversation, until the person or the story ends it."""
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
    """The player and those who answer, as far as the options say it."""
    player = talking.as_.strip()
    others = tuple(name.strip() for name in talking.with_ or () if name.strip())
    if player and not others:
        raise UsageError(f"You are {player}. Say who answers you, too: `--with NAME`.")
    if talking.session:
        log_file(Path(), talking.session)
    return player, others


def _first(terminal: Terminal, project: ProjectFolder, settings: Settings, caps: Caps) -> tuple[str, ...]:
    """Who answers where nobody is named: the first who is known; where nobody is, a model reads who is in the story.

    Raises:
        UsageError: the reading found nobody, or a person does not want it.
    """
    if not (known := people_in(project)[0]):
        bill = Bill()
        options = Options(whole=caps.budget, listeners=(bill,), environ=terminal.environ)
        expected = asyncio.run(dry_run_people(project, settings, options))
        terminal.message(f"It is not known who is in this story. A model can read that: {amount(expected)}.")
        asked = terminal.interactive and not terminal.json
        if asked and asyncio.run(terminal.choice("Read it? [y]es or [n]o: ", "yn")) != "y":
            raise UsageError(NOBODY)
        known = list(asyncio.run(read_people(project, settings, options)))
    if not known:
        raise UsageError(
            f"{performing(settings)} read the story for its people and found nobody. Name who talks: `--with NAME`, as "
            "the story writes it."
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
    """The project that is talked in, made for a story file or a card where it is not there yet."""
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
    """The project of a story file, or the one that is named."""
    file = Path(where) if where else None
    if file is not None and not file.exists():
        raise UsageError(f"There is no file or folder {where}. Give a story (a text file) or a project folder.")
    if file is None or file.is_dir():
        if talking.out:
            raise UsageError("--out goes with a story file; a project folder is talked in where it is.")
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
    """Find a misspelt name before anything is made."""
    names = [name for name in (talking.as_.strip(), *(talking.with_ or ())) if name.strip()]
    check_people(names, narrative)


def settings_of(choices: Choices, stored: Settings, terminal: Terminal) -> Settings:
    """The settings in force: the project's, as far as they fit the system, with the options on top."""
    base = settings_for(stored, choices.system or "")
    settings = base.with_(changes_of(replace(choices, system=base.system), base))
    check(settings, terminal.environ)
    return settings
