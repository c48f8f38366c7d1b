"""Putting errors into stories in a folder that keeps every call.

DIR/.fabula/journal.db   every call; nothing is paid for twice
DIR/planted.json         the clean text, the errors as edits of it, the decoys; `fabula check --gold` reads it
DIR/story.*, clean.*     the text with the errors, and its twin without
DIR/script.json, annotations.json   a screenplay and its annotations in the paper's format, one folder for each
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.app.evaluating import journal_in, journal_to_read
from fabula.app.injecting.editing import edit
from fabula.app.injecting.screenplays import as_file, in_one_call, one_by_one
from fabula.app.writing import PreparedMethod, recorded_run
from fabula.base.files import make_folder, write_atomically
from fabula.engine.methods import Method
from fabula.engine.run import Run

if TYPE_CHECKING:
    from fabula.app.injecting.config import Config
    from fabula.app.injecting.editing import Edited, EditedStory
    from fabula.app.injecting.screenplays import Screenplay
    from fabula.app.writing import Options
    from fabula.engine.dry_run import DryRun
    from fabula.project.settings import Settings

METHOD: Final = Method(
    "inject",
    Path(__file__).parent,
    {
        "title": "From Personas to Plot: Character-Grounded Multi-Agent Story Generation for Long-Form Narratives "
        "(appendix A.3.3)",
        "roles": {
            "editor": "changes a few words of a story so that they contradict it, and names decoys",
            "proofreader": "says whether each change really is a contradiction",
            "writer": "writes screenplays with errors (faithful), or without (improved)",
        },
    },
    "fabula.app",
)


@dataclass(frozen=True)
class InjectionTask:
    """What errors are put into, and how.

    Attributes:
        config: the settings.
        folder: the folder for journal and results.
        story: the story; if there is none, screenplays are written.
        suffix: the suffix of the story's file.
    """

    config: Config
    folder: Path
    story: EditedStory | None = None
    suffix: str = ".md"


@dataclass(frozen=True)
class Injection:
    """The result: a story with its errors, or screenplays, and the files that were written."""

    story: Edited | None
    screenplays: tuple[Screenplay, ...]
    files: tuple[Path, ...]


async def inject_in(task: InjectionTask, settings: Settings, options: Options) -> Injection:
    """Put errors into stories, and replay the recorded calls.

    Raises:
        FabulaError: an error of any kind; all finished calls are kept, and the same command continues from there.
    """
    prepared = PreparedMethod(settings, options, METHOD)
    make_folder(task.folder, "Choose another folder with --out.")
    with journal_in(task.folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                made = await _made(task, Run(context))
    return Injection(made.story, made.screenplays, tuple(_written(task, made)))


async def dry_run_injection(task: InjectionTask, settings: Settings, options: Options) -> DryRun:
    """The calls and cost of `inject_in` now. It calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options, METHOD)
    with journal_to_read(task.folder) as journal:
        async with prepared.opened(journal, dry=True) as context:
            await _made(task, Run(context))
    return context.dry_run


async def _made(task: InjectionTask, run: Run) -> Injection:
    config = task.config
    if task.story is not None:
        return Injection(await edit(task.story, config.ours, run), (), ())
    return Injection(None, await (one_by_one if config.ours.one_by_one else in_one_call)(run, config), ())


def _written(task: InjectionTask, made: Injection) -> list[Path]:
    """The files, with the erroneous text first."""
    files = [] if made.story is None else _story_files(task.folder, made.story, task.suffix)
    for one in made.screenplays:
        if not one.script:
            continue
        folder = task.folder / "English" / one.id
        make_folder(folder, "Choose another folder with --out.")
        files += [folder / "script.json", folder / "annotations.json"]
        write_atomically(files[-2], as_file(one.script))
        write_atomically(files[-1], as_file(one.annotations))
        if one.edited is not None:
            files += _story_files(folder, one.edited, ".fountain")
    return files


def _story_files(folder: Path, work: Edited, suffix: str) -> list[Path]:
    planted = work.planted
    told = {"missing": work.missing, "refused": work.refused}
    contents = {
        f"story{suffix}": planted.broken,
        f"clean{suffix}": planted.text,
        "planted.json": json.dumps(planted.data(), indent=1, ensure_ascii=False) + "\n",
        "injected.json": json.dumps(told, indent=2, ensure_ascii=False) + "\n",
    }
    for name, text in contents.items():
        write_atomically(folder / name, text)
    return [folder / name for name in contents]
