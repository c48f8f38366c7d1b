"""The people in a project's story, from its plan, cards, settings and world, or from a model that has read it.

Capital letters are no evidence: in some languages they begin names, in others all nouns, and many scripts have none. If
nobody is known, the user is told so and is offered a model's reading with its price.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from fabula.app.facts_shown import people_of
from fabula.app.world import READ_FILE, WORLD_FILE, world_files, world_of
from fabula.base.errors import FabulaError
from fabula.base.files import read_text
from fabula.base.kept import KEPT
from fabula.craft import NARRATIVE_FILE
from fabula.craft.conversation.cards import Cards
from fabula.craft.narratives import reading_of
from fabula.project.folder import MAX_FILE, MAX_STORY, ProjectFolder
from fabula.story import Story
from fabula.story.codex import FILE as CODEX_FILE
from fabula.story.people import among, each_once, present_in
from fabula.story.personas import parse_personas
from fabula.story.plan_file import parse_plan

STRANGER: Final = "Visitor"
"""The partner in a conversation if the story has only one person."""
_PERSONAS: Final = "plan/personas.yaml"
_PLAN: Final = "plan/plan.yaml"


def narrative_in(project: ProjectFolder) -> str:
    """The text that conversations in a project are about: its narrative, else its story, else its brief."""
    if (file := project.folder / NARRATIVE_FILE).is_file():
        return read_text(file, MAX_FILE)
    return written_or_asked(project)


def written_or_asked(project: ProjectFolder) -> str:
    """The written story of a project, or its brief if there is none."""
    if project.story_file.is_file():
        story = Story.parse(read_text(project.story_file, MAX_STORY))
        if story.words:
            return story.text
    return project.brief.text


def people_in(project: ProjectFolder) -> tuple[list[str], list[str]]:
    """The people who can be talked to, and other people in the plan, in the world or in a model's reading."""
    kept = Cards.in_(project.folder)
    cards = (name for name in kept.people if name != STRANGER and name not in kept.players)
    known = each_once((*_of_sheets(project), *cards, *_of_settings(project)))
    narrative = narrative_in(project)
    found = (*_of_scenes(project), *_of_world(project), *(_reading_of(project, narrative) or ()))
    named = set(present_in(dict.fromkeys(found), narrative))  # nobody else could talk in it
    others = each_once((name for name in found if name in named), known)
    return (known, others) if known else (others, [])


def of_cards(project: ProjectFolder) -> list[str]:
    """The people whom only a card names."""
    story = (*_of_sheets(project), *named_in(project), *_of_world(project))
    return [name for name in Cards.in_(project.folder).people if not among(name, story)]


def named_in(project: ProjectFolder) -> tuple[str, ...]:
    """The people whom settings, the plan's scenes and a model's reading name, with repetitions."""
    return (*_of_settings(project), *_of_scenes(project), *(reading_in(project) or ()))


def reading_in(project: ProjectFolder) -> tuple[str, ...] | None:
    """The people in the current story, as a model read it; `None` if no model has."""
    return _reading_of(project, narrative_in(project))


def _reading_of(project: ProjectFolder, narrative: str) -> tuple[str, ...] | None:
    with project.journal as journal:
        text = journal.artefacts.newest(reading_of(narrative))
    return None if text is None else tuple(filter(None, text.split("\n")))


def _of_sheets(project: ProjectFolder) -> list[str]:
    """The characters in a project's personas and plan."""
    found: list[str] = []
    readers: dict[str, Callable[[str], list[str]]] = {
        _PERSONAS: lambda text: [one.name for one in parse_personas(text).people],
        _PLAN: lambda text: [one.name for one in parse_plan(text, _PLAN).characters],
    }
    for name, read in readers.items():
        file = project.folder / name
        with suppress(FabulaError):  # the page of the plan says what is wrong with it
            found += read(read_text(file, MAX_FILE)) if file.is_file() else []
    return found


def _of_settings(project: ProjectFolder) -> list[str]:
    """The people whom the settings name as the player and as the character who answers."""
    said: list[Any] = [project.settings.config.get(name) for name in ("npc", "player")]
    return [name.strip() for one in said if isinstance(one, str) for name in one.split(",") if name.strip()]


def _of_scenes(project: ProjectFolder) -> list[str]:
    """The people in the plan's scenes."""
    with suppress(FabulaError):  # as of the sheets
        plan = parse_plan(read_text(project.folder / _PLAN, MAX_FILE), _PLAN)
        return [name for scene in plan.scenes for name in scene.present]
    return []


def _of_world(project: ProjectFolder) -> tuple[str, ...]:
    """The people who know something in the story's world; things and places know nothing."""
    files = [*(project.folder / name for name in (WORLD_FILE, READ_FILE, CODEX_FILE)), *world_files(project)]
    stamp = tuple((file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in files if file.is_file())
    with suppress(FabulaError, OSError):  # the page of the world says what is wrong with it
        make = partial(_people_of_world, project.folder)
        return KEPT.answer(str(project.folder), "people of the world", stamp, make) if stamp else ()
    return ()


def _people_of_world(folder: Path) -> tuple[str, ...]:
    """The people of a project's world; reading a world of thousands of facts takes a while."""
    with world_of(ProjectFolder.open(folder)) as state:
        return people_of(state)
