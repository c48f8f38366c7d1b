"""A project's world: what a run recorded of it, chapter by chapter, and what its author set down, in one."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.app.checking import OUT
from fabula.base.errors import ProjectError, UnknownNameError, UsageError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.project.folder import MAX_STORY, ProjectFolder
from fabula.story import Story
from fabula.story.world import NOW, Moment, WorldState
from fabula.story.world.file import MAX_BYTES, parse_world, read_world, write_world
from fabula.story.world.meaning import name_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.story.world import FactConflict
    from fabula.story.world.file import WorldFile

WORLD_FILE: Final = Path(".fabula") / "world.db"
READ_FILE: Final = Path(OUT) / "facts.json"
_MOST_ALSO: Final = 100  # places of a conflict that are told
_FOLDER: Final = "world"  # of what runs write


@contextmanager
def world_of(project: ProjectFolder) -> Iterator[WorldState]:
    """A project's world.

    Raises:
        ProjectError: it has none yet.
    """
    file, chapters = project.folder / WORLD_FILE, world_files(project)
    read = None if chapters else _read(project)
    if not (file.is_file() or chapters or read):
        raise ProjectError(
            f"{project.folder} has no world yet. A system that keeps one makes it, or take facts from a file of "
            "yours: `fabula world --import FILE`. A model reads them off the story with `fabula evaluate facts "
            f"{project.folder} --out {project.folder / OUT}`."
        )
    with ExitStack() as stack:
        own = stack.enter_context(WorldState(file)) if file.is_file() else None
        if own is not None and not (chapters or read):
            yield own
            return
        state = stack.enter_context(WorldState())
        if own is not None:
            parse_world(write_world(own), str(file), is_json=True).add_to(state)
        for chapter in chapters:
            read_world(chapter).add_to(state)
        if read is not None:
            read.add_to(state)
        yield state


def _read(project: ProjectFolder) -> WorldFile | None:
    """What a model has read off the story (`fabula evaluate facts`), where that is there.

    Raises:
        UsageError: the file is no such reading.
    """
    file = project.folder / READ_FILE
    if not is_plain(file):
        return None
    try:
        (story,) = json.loads(read_text(file, MAX_BYTES))["details"]["stories"]
        world = json.dumps(story["world"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{file} is no reading of this story alone. Read it anew: `fabula evaluate facts`.") from error
    return parse_world(world, str(file), is_json=True)


def world_files(project: ProjectFolder) -> list[Path]:
    """The files of a run's world, those of the story's chapters alone: an earlier story may have been longer."""
    files = sorted(plain_files(project.folder / _FOLDER, "*.json"), key=lambda file: (len(file.stem), file.stem))
    story = project.story_file
    return files[: len(Story.parse(read_text(story, MAX_STORY)).scenes)] if story.is_file() else files


def conflicts_at(state: WorldState, at: Moment) -> list[FactConflict]:
    """What cannot both be true up to a moment, each with at most 100 of the places where it is told again."""
    return [replace(one, also=one.also[:_MOST_ALSO]) for one in state.conflicts() if one.later.told <= at]


def moment_of(state: WorldState, scene: str) -> Moment:
    """The end of a scene, named by its number or title; now, where none is named.

    Raises:
        UnknownNameError: there is no scene of that title.
        UsageError: there are fewer scenes.
    """
    if not scene:
        return NOW
    titles = {name_key(row.title): row.no for row in state.scenes() if row.title}
    if name_key(scene) in titles:
        return Moment.end(titles[name_key(scene)])
    if not (scene.isascii() and scene.isdigit() and len(scene) < 8):  # noqa: PLR2004 - no story has ten million scenes
        raise UnknownNameError("scene", scene, [row.title for row in state.scenes() if row.title])
    last = max((*(row.no for row in state.scenes()), *(fact.told.scene for fact in state.facts())), default=0)
    if last < int(scene):
        raise UsageError(f"There is no scene {int(scene)}: the story has {last} so far.")
    return Moment.end(int(scene))


def person_of(state: WorldState, who: str) -> str:
    """A name as the world spells it: of somebody whom facts are about, or who is named as a witness or source.

    Raises:
        UnknownNameError: there is nobody of that name.
    """
    owner, known = state.index.owner(who), spelled(state)
    if owner not in known:
        raise UnknownNameError("name", who, known.values())
    return known[owner]


def spelled(state: WorldState) -> dict[str, str]:
    """Everybody and everything that is named, by the caseless name of each: as the world spells it."""
    known = {state.index.owner(entity.name): entity.name for entity in state.entities()}
    for fact in state.facts():
        for name in (*(fact.witnesses or ()), *filter(None, (fact.source,))):
            known.setdefault(state.index.owner(name), state.index.called(state.index.owner(name)))
    return known
