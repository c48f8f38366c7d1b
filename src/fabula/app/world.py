"""A project's world: the facts that a run recorded, chapter by chapter, together with the author's own facts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from fabula.app.checking import OUT
from fabula.base.errors import FabulaError, ProjectError, UnknownNameError, UsageError
from fabula.base.files import is_plain, plain_files, read_text
from fabula.project.folder import MAX_STORY, ProjectFolder
from fabula.story import Story
from fabula.story.codex import FILE as CODEX_FILE
from fabula.story.codex import codex_in
from fabula.story.world import NOW, FactConflict, Moment, WorldState
from fabula.story.world.file import MAX_BYTES, WorldFile, parse_world, read_world, write_world
from fabula.story.world.meaning import name_key

WORLD_FILE: Final = Path(".fabula") / "world.db"
READ_FILE: Final = Path(OUT) / "facts.json"
_MOST_ALSO: Final = 100  # places of a conflict that are told
_FOLDER: Final = "world"  # of what runs write


@contextmanager
def world_of(project: ProjectFolder) -> Iterator[WorldState]:
    """A project's world.

    Raises:
        ProjectError: the project has no world yet.
    """
    file, chapters, codex = project.folder / WORLD_FILE, world_files(project), _codex_world(project)
    read = None if chapters else _read(project)
    if not (file.is_file() or chapters or read or is_plain(project.folder / CODEX_FILE)):
        facts = project.folder / "world.yaml"
        raise ProjectError(
            f"{project.folder} has no world ({WORLD_FILE} is missing). Write with a system that keeps a world, or "
            f"import facts from your own file: `fabula world --import {facts if facts.is_file() else 'FILE'}`. To have "
            "a model extract facts from the story, run "
            f"`fabula evaluate facts {project.folder} --out {project.folder / OUT}`."
        )
    with ExitStack() as stack:
        own = stack.enter_context(WorldState(file)) if file.is_file() else None
        if own is not None and not (chapters or read or codex.entities):
            yield own
            return
        state = stack.enter_context(WorldState())
        if own is not None:
            parse_world(write_world(own), str(file), is_json=True).add_to(state)
        for chapter in chapters:
            read_world(chapter).add_to(state)
        if read is not None:
            read.add_to(state)
        for entity in codex.entities:
            with suppress(UsageError):  # the world has made one of its names somebody else's
                state.describe([entity])
        if codex.facts:
            state.hold_many(*codex.many)
            state.add(codex.facts)
        yield state


def _codex_world(project: ProjectFolder) -> WorldFile:
    """The author's entries as a world; what is wrong with their file, the codex itself says."""
    try:
        return codex_in(project.folder).world
    except FabulaError:
        return WorldFile()


def _read(project: ProjectFolder) -> WorldFile | None:
    """The facts that a model has extracted from the story (`fabula evaluate facts`), if there are any.

    Raises:
        UsageError: the file does not contain such facts.
    """
    file = project.folder / READ_FILE
    if not is_plain(file):
        return None
    try:
        (story,) = json.loads(read_text(file, MAX_BYTES))["details"]["stories"]
        world = json.dumps(story["world"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{file} does not contain only the facts of this story. Extract the facts again: `fabula evaluate facts`."
        ) from error
    return parse_world(world, str(file), is_json=True)


def world_files(project: ProjectFolder) -> list[Path]:
    """The files of a run's world, only for the current story's chapters: an earlier story may have had more."""
    files = sorted(plain_files(project.folder / _FOLDER, "*.json"), key=lambda file: (len(file.stem), file.stem))
    story = project.story_file
    return files[: len(Story.parse(read_text(story, MAX_STORY)).scenes)] if story.is_file() else files


def conflicts_at(state: WorldState, at: Moment) -> list[FactConflict]:
    """Facts that cannot both be true up to a moment, each with at most 100 of the places where it is repeated."""
    return [replace(one, also=one.also[:_MOST_ALSO]) for one in state.conflicts() if one.later.told <= at]


def moment_of(state: WorldState, scene: str) -> Moment:
    """The end of a scene, given by its number or title, or now if no scene is named.

    Raises:
        UnknownNameError: there is no scene of that title.
        UsageError: the story has fewer scenes.
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
    """A name as the world spells it, for anyone whom facts are about or who is a witness or a source.

    Raises:
        UnknownNameError: the world names no such person.
    """
    owner, known = state.index.owner(who), spelled(state)
    if owner not in known:
        raise UnknownNameError("name", who, known.values())
    return known[owner]


def spelled(state: WorldState) -> dict[str, str]:
    """All named people and things, by caseless name, with the world's spelling."""
    known = {state.index.owner(entity.name): entity.name for entity in state.entities()}
    for fact in state.facts():
        for name in (*(fact.witnesses or ()), *filter(None, (fact.source,))):
            known.setdefault(state.index.owner(name), state.index.called(state.index.owner(name)))
    return known
