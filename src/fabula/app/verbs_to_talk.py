"""The Python API: `chat`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from fabula.app.calling import Caller, SystemOptions, waiting
from fabula.app.chatting import Chat, project_for_talk
from fabula.app.conversations import conversation_for, parties_for, system_of
from fabula.app.conversing import PLAYER, card_project, is_card, settings_for
from fabula.app.sources import StorySource, first_words, path_of, project_in, story_of
from fabula.craft.narratives import check_people
from fabula.project.settings import Settings
from fabula.story import slug
from fabula.story.cards import CharacterCard, read_card

if TYPE_CHECKING:
    from fabula.craft.conversation import Freedom
    from fabula.project.folder import ProjectFolder


async def chat_async(
    story: StorySource,
    character: str = "",
    *,
    player: str = "",
    session: str = "",
    new: bool = False,
    freedom: Freedom | None = None,
    folder: str | Path | None = None,
    **how: Unpack[SystemOptions],
) -> Chat:
    """Talk with a character of a story: `chat.say("...")` returns the answer. The conversation is kept in the project.

    Args:
        story: a project, a story's file or text, a character card, or a result of `write` or `read`.
        character: the character who answers; by default the one from the last conversation.
        player: the character you play; by default the one the story names most apart from `character`, else a stranger.
        session: the name of the conversation; by default one between these two characters, or a new one.
        new: start a new conversation.
        freedom: how far you may stray from the story: "rails", "guided" or "loose".
        folder: the project for a story that has none; by default named after its file, title or first words.
        **how: see `write`; the system is SNAP if the project's own system has no conversations.

    Raises:
        FabulaError: an error of any kind.
    """
    caller = Caller.of(how)
    path = path_of(story) if isinstance(story, str | Path) else None
    if path is not None and is_card(path):
        card = read_card(path)
        character, player = character or card.name, player or PLAYER
        project, in_force, why = _project_of_card(card, player, folder, caller)
    else:
        project, in_force, why = _talked_in(story, (character, player), folder, caller)
    parties = parties_for(project, (character,) if character else (), player)
    name, parties = conversation_for(project, session, parties, new=new)
    made = system_of(project, name)
    if made not in ("", in_force.system) and "system" not in how:
        in_force = settings_for(in_force, made)
    chat = Chat(project, name, in_force, caller.options, caller.bill, why)
    await chat.open(parties, freedom)
    return chat


def _project_of_card(
    card: CharacterCard, player: str, folder: str | Path | None, caller: Caller
) -> tuple[ProjectFolder, Settings, str]:
    """The project for talking with a card's character, the settings in force, and the reason for their model."""
    where = Path(slug(card.name)) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    project = card_project(card, where, player, changes, {})
    return project, _talking(project.settings, changes), why


def _talked_in(
    source: StorySource, names: Sequence[str], folder: str | Path | None, caller: Caller
) -> tuple[ProjectFolder, Settings, str]:
    """The project for a conversation, made for a story if necessary, its settings, and the reason for their model."""
    project = project_in(source)
    if project is not None:
        stored = project.settings
        changes, why = caller.wanted(has_model="model" in stored.model_fields_set)
        return project, _talking(stored, changes), why
    story = story_of(source)
    check_people([name for name in names if name], story.text)
    path = path_of(source)
    name = path.stem if path is not None else slug(story.title or first_words(story.text))
    where = Path(name) if folder is None else Path(folder)
    changes, why = caller.wanted(has_model=(where / "brief.md").exists())
    system = settings_for(Settings(), str(changes.get("system", ""))).system
    project = project_for_talk(where, story, name, {**changes, "system": system})
    return project, _talking(project.settings, changes), why


def _talking(stored: Settings, changes: Mapping[str, Any]) -> Settings:
    """The project's settings that fit a system with conversations, with `changes` applied."""
    base = settings_for(stored, str(changes.get("system", "")))
    return base.with_({**changes, "system": base.system}, "the call")


chat = waiting(chat_async)
