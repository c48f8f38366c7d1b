"""MAGNET, appendix A.3.3: screenplays with continuity errors, and the annotations that locate them.

`in_one_call` is the paper's method: one reply contains two files for each story. A person must look at every
annotation, as the authors did (A.3.4); code reports what it can check without reading. `one_by_one` is our method:
each screenplay is written without errors, scene by scene, and then edited, so that there is a twin on which to count
false alarms.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, Field

from fabula.app.injecting.editing import EditedStory, edit
from fabula.base.errors import RefusalError, ReplyError
from fabula.craft.matching import parse_finding
from fabula.engine.replies import ReplyProblem, read_files, short
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.app.injecting.config import Config
    from fabula.app.injecting.editing import Edited
    from fabula.engine.run import Run

Rows: TypeAlias = "tuple[Mapping[str, Any], ...]"

WRITER: Final = "writer"
_PAGE_WORDS: Final = 170  # of a screenplay; the scripts that the authors released have about so many a page
_SHORT_REPLY: Final = 900  # tokens of a small writer's reply
_SCENE_KEYS: Final = {"_id", "title", "subtitle", "content"}
_NO_FILES: Final[tuple[Rows, Rows]] = ((), ())
_ANNOTATION_KEYS: Final = {"id", "hallucination"}


@dataclass(frozen=True, slots=True)
class Screenplay:
    """A screenplay with errors, in the paper's two files.

    Attributes:
        id: the id in the paper's format.
        script, annotations: the two files.
        wrong: the problems that code finds in them, as sentences.
        edited: the edited story, if the screenplay was written clean first.
    """

    id: str
    script: Rows
    annotations: Rows
    wrong: tuple[str, ...] = ()
    edited: Edited | None = None


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
    ids = names(config.paper.stories)
    files = [f"English/{name}/{file}" for name in ids for file in ("script.json", "annotations.json")]
    run = run.tries("screenplays")
    reply = await run.ask(WRITER, "screenplays", ids=ids, files=files, paper=config.paper)
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
    paper = config.paper
    if not paper.least_scenes <= len(script) <= paper.most_scenes:
        yield f"It has {len(script)} scenes, not {paper.least_scenes} to {paper.most_scenes}."
    if not paper.least_errors <= len(annotations) <= paper.most_errors:
        yield f"It has {len(annotations)} annotations, not {paper.least_errors} to {paper.most_errors}."
    words = sum(count_words(str(row.get("content", ""))) for row in script)
    pages, asked = words / _PAGE_WORDS, f"{paper.least_pages} to {paper.most_pages}"
    if not paper.least_pages <= pages <= paper.most_pages:
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


# ours ---------------------------------------------------------------------------------------------------------------


class PlannedScene(BaseModel):
    """A scene of the outline."""

    heading: Annotated[str, short(60)] = Field(description='as in "INT. LIGHTHOUSE KITCHEN - DAY"')
    events: Annotated[str, short(300)] = Field(description="what happens, in two to four sentences")
    establishes: Annotated[list[Annotated[str, short(100)]], short(6)] = Field(
        description="facts that are said or shown here and hold from then on"
    )
    uses: Annotated[list[Annotated[str, short(100)]], short(6)] = Field(
        description="facts of earlier scenes that are spoken of or shown again here"
    )


class ScreenplayPlan(BaseModel):
    """The plan of a screenplay."""

    title: Annotated[str, short(60)]
    cast: Annotated[list[Annotated[str, short(200)]], short(6)] = Field(
        description="each recurring character in a sentence: name, age, looks, work, relations, habits"
    )
    scenes: Annotated[list[PlannedScene], Field(min_length=1), short(10)]


async def one_by_one(run: Run, config: Config) -> tuple[Screenplay, ...]:
    """Screenplays that were written clean and then edited.

    Raises:
        ReplyError: there is no screenplay; if only some fail, `wrong` says why.
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    made: list[Screenplay] = []
    titles: list[str] = []
    for name in names(config.paper.stories):
        at = run.scope(name)
        try:
            outline = await at.ask_for(ScreenplayPlan, WRITER, "outline", paper=config.paper, before=titles)
            titles.append(one_line(outline.title))
            made.append(await _edited(at, name, outline, await _scenes(at, outline, config), config))
        except (RefusalError, ReplyError) as error:  # one that fails does not sink the others
            made.append(Screenplay(name, (), (), (str(error),)))
    if made and not any(one.script for one in made):
        run.context.unless_made_up(partial(_none, made[0].wrong), None)
    return tuple(made)


def _none(why: Sequence[str]) -> None:
    """Report that there is no screenplay.

    Raises:
        ReplyError: always.
    """
    raise ReplyError(" ".join(why), reply="")


async def _scenes(at: Run, outline: ScreenplayPlan, config: Config) -> list[str]:
    """The scenes, each written with the earlier ones in the prompt."""
    pages = (config.paper.least_pages + config.paper.most_pages) / 2 / max(1, len(outline.scenes))
    written: list[str] = []
    for number, scene in enumerate(outline.scenes, 1):
        text = await at.scope("scene", number).ask(
            WRITER,
            "scene",
            expect=round(pages * _PAGE_WORDS),
            outline=outline,
            scene=scene,
            number=number,
            before=written,
            words=round(pages * _PAGE_WORDS),
        )
        written.append(f"{_heading(scene)}\n\n{_body(text, scene)}")
    return written


def _heading(scene: PlannedScene) -> str:
    return one_line(scene.heading).upper() or "INT. SOMEWHERE - DAY"


def _body(text: str, scene: PlannedScene) -> str:
    """A scene without a code fence or its own heading at the beginning."""
    lines = [line.rstrip() for line in text.strip().splitlines() if not line.startswith("```")]
    while lines and (not lines[0].strip() or lines[0].strip().upper().endswith(_heading(scene))):
        lines.pop(0)
    return "\n".join(lines).strip()


async def _edited(at: Run, name: str, outline: ScreenplayPlan, scenes: Sequence[str], config: Config) -> Screenplay:
    """The screenplay with errors in later scenes, in the paper's files."""
    text, starts = "", []
    for scene in scenes:
        starts.append(len(text))
        text += f"{scene}\n\n"
    source = EditedStory(name, one_line(outline.title), "fountain", text, scenes=tuple(starts), later=True)
    work = await edit(source, config.ours, at, config.paper.least_errors)
    script, annotations = at.context.unless_made_up(
        lambda: (_script(work, starts, outline), _annotations(work)), _NO_FILES
    )
    return Screenplay(name, script, annotations, tuple(wrong_with(script, annotations, config)), work)


def _script(work: Edited, starts: Sequence[int], outline: ScreenplayPlan) -> Rows:
    """The script with errors, cut at the scenes of the clean one."""
    planted = work.planted
    shifts = sorted((planted.text.index(one.find), len(one.replace) - len(one.find)) for one in planted.errors)
    moved = [start + sum(by for at, by in shifts if at < start) for start in starts] + [len(planted.broken)]
    rows = []
    for n, scene in enumerate(outline.scenes):
        content = planted.broken[moved[n] : moved[n + 1]].strip()
        title = f"{n + 1}, {_heading(scene).rstrip('.')}."
        rows.append(
            {"_id": n, "title": title, "subtitle": "", "content": content.removeprefix(_heading(scene)).strip()}
        )
    return tuple(rows)


def _annotations(work: Edited) -> Rows:
    """The paper's sentence for each error, in the order of the text."""
    source = work.source
    found = []
    for one in sorted(work.errors, key=lambda one: source.text.index(one.find)):
        y, at = source.scene(source.text.index(one.find)), -1
        places = []
        while (at := source.text.find(one.contradicts, at + 1)) >= 0:
            places.append(source.scene(at))
        found.append((min(x for x in places if x < y), y, one))
    return tuple(
        {"id": n, "hallucination": f"In scene {x}, {one.fact} was established, yet in scene {y}, {one.event} happens"}
        for n, (x, y, one) in enumerate(found, 1)
    )


def as_file(rows: Sequence[Mapping[str, Any]]) -> str:
    """A file in the paper's format."""
    return json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n"
