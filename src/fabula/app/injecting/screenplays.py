"""MAGNET, appendix A.3.3: screenplays with continuity errors, and the annotations that locate them.

One reply contains two files for each story. A person must look at every annotation, as the authors did (A.3.4); code
reports what it can check without reading. In the folder `.fabula/journal.db` has the call, so that it is paid for once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.app.evaluating import journal_in, journal_to_read
from fabula.app.writing import Options, PreparedMethod, recorded_run
from fabula.base.files import make_folder, write_atomically
from fabula.craft.matching import parse_finding
from fabula.engine.methods import Method
from fabula.engine.replies import ReplyProblem, read_files
from fabula.engine.run import Run
from fabula.story import count_words

if TYPE_CHECKING:
    from fabula.app.injecting.config import Config
    from fabula.engine.dry_run import DryRun
    from fabula.project.settings import Settings


Rows: TypeAlias = "tuple[Mapping[str, Any], ...]"

WRITER: Final = "writer"
METHOD: Final = Method(
    "inject",
    Path(__file__).parent,
    {
        "title": "From Personas to Plot: Character-Grounded Multi-Agent Story Generation for Long-Form Narratives "
        "(appendix A.3.3)",
        "roles": {WRITER: "writes screenplays with errors"},
    },
    "fabula.app",
)
_PAGE_WORDS: Final = 170  # of a screenplay; the scripts that the authors released have about so many a page
_SCENE_KEYS: Final = {"_id", "title", "subtitle", "content"}
_ANNOTATION_KEYS: Final = {"id", "hallucination"}


@dataclass(frozen=True, slots=True)
class Screenplay:
    """A screenplay with errors, in the paper's two files.

    Attributes:
        id: the id in the paper's format.
        script, annotations: the two files.
        wrong: the problems that code finds in them, as sentences.
    """

    id: str
    script: Rows
    annotations: Rows
    wrong: tuple[str, ...] = ()

    def files(self, folder: Path) -> tuple[Path, ...]:
        """The two files below `folder`; none if there is no script."""
        own = folder / "English" / self.id
        return (own / "script.json", own / "annotations.json") if self.script else ()


def names(stories: int) -> list[str]:
    """The ids of a set."""
    return [f"synthetic_hallucination_{number:03}" for number in range(1, stories + 1)]


async def in_one_call(run: Run, config: Config) -> tuple[Screenplay, ...]:
    """The screenplays of one reply; if a script cannot be read, its screenplay's `wrong` says so.

    Raises:
        ReplyError: none of the files can be read.
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    ids = names(config.stories)
    files = [f"English/{name}/{file}" for name in ids for file in ("script.json", "annotations.json")]
    run = run.tries("screenplays")
    reply = await run.ask(WRITER, "screenplays", ids=ids, files=files, paper=config)
    try:
        found = run.context.unless_made_up(partial(read_files, reply, files), dict[str, Any]())
    except ReplyProblem as problem:
        said = f"The screenplays could not be read: {problem}"
        raise run.exhausted("screenplays", said, WRITER, reply) from problem
    return tuple(_screenplay(name, found, config) for name in ids)


def _screenplay(name: str, files: Mapping[str, Any], config: Config) -> Screenplay:
    """A screenplay from its two files, with the problems in them."""
    script, annotations = (_rows(files.get(f"English/{name}/{file}.json")) for file in ("script", "annotations"))
    if not script:
        return Screenplay(name, (), (), ("The reply contains no readable script.json for this screenplay.",))
    return Screenplay(name, script, annotations, tuple(wrong_with(script, annotations, config)))


def _rows(value: object) -> Rows:
    return tuple(row for row in value if isinstance(row, dict)) if isinstance(value, list) else ()


def wrong_with(
    script: Sequence[Mapping[str, Any]], annotations: Sequence[Mapping[str, Any]], config: Config
) -> Iterator[str]:
    """The requirements of the appendix that the files do not meet, as far as code can check."""
    if not config.least_scenes <= len(script) <= config.most_scenes:
        yield f"It has {len(script)} scenes, not {config.least_scenes} to {config.most_scenes}."
    if not config.least_errors <= len(annotations) <= config.most_errors:
        yield f"It has {len(annotations)} annotations, not {config.least_errors} to {config.most_errors}."
    words = sum(count_words(str(row.get("content", ""))) for row in script)
    pages, asked = words / _PAGE_WORDS, f"{config.least_pages} to {config.most_pages}"
    if not config.least_pages <= pages <= config.most_pages:
        yield f"It has {words:,} words, about {pages:.0f} screenplay pages, not {asked}."
    for place, row in enumerate(script):
        if set(row) != _SCENE_KEYS or row.get("_id") != place:
            yield f"Scene {place + 1} does not have exactly _id = {place}, title, subtitle and content."
        elif "".join(takewhile(str.isdigit, str(row["title"]).lstrip())) != str(place + 1):
            yield f"The title of scene {place + 1} does not begin with its number."
    for place, row in enumerate(annotations, 1):
        if wrong := _wrong_annotation(row, place, len(script)):
            yield f"Annotation {place} {wrong}"


def _wrong_annotation(row: Mapping[str, Any], place: int, scenes: int) -> str:
    finding = parse_finding(str(row.get("hallucination", "")))
    if set(row) != _ANNOTATION_KEYS or row.get("id") != place:
        return f"does not have exactly id = {place} and hallucination."
    if finding is None:
        return "is not of the form 'In scene X, ... was established, yet in scene Y, ... happens'."
    if not 1 <= finding.x < finding.y <= scenes:
        return f"has the scenes {finding.x} and {finding.y}; X must be before Y."
    return ""


async def inject_in(folder: Path, config: Config, settings: Settings, options: Options) -> tuple[Screenplay, ...]:
    """Write screenplays with errors into a folder, and replay a recorded call.

    Raises:
        FabulaError: an error of any kind; a finished call is kept, and the same command continues from there.
    """
    prepared = PreparedMethod(settings, options, METHOD)
    make_folder(folder, "Choose another folder with --out.")
    with journal_in(folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                made = await in_one_call(Run(context), config)
    for one in made:
        for file, rows in zip(one.files(folder), (one.script, one.annotations), strict=False):
            make_folder(file.parent, "Choose another folder with --out.")
            write_atomically(file, json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")
    return made


async def dry_run_injection(folder: Path, config: Config, settings: Settings, options: Options) -> DryRun:
    """The calls and cost of `inject_in` now. It calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options, METHOD)
    with journal_to_read(folder) as journal:
        async with prepared.opened(journal, dry=True) as context:
            await in_one_call(Run(context), config)
    return context.dry_run
