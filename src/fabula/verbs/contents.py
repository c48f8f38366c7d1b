"""`contents`: the volumes, chapters and scenes of the book by title. `mark`: the author's status and target of one."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from fabula.app.contents import STATUS, STATUS_FILE, BookContents, TextMark, contents_of, read_marks, write_marks
from fabula.app.saving import save
from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.story import one_line
from fabula.verbs.base import ArtefactName, verb
from fabula.verbs.text import text

_LONGEST: Final = 40  # characters of a status


@verb("GET", "/contents", "story")
async def contents(project: Workspace) -> BookContents:
    """Return the volumes, chapters and scenes of the book by title, with words, target, status and synopsis."""
    return contents_of(project)


@verb("PUT", "/marks/{artefact:path}", "texts", command="text mark")
async def mark(
    project: Workspace,
    artefact: ArtefactName,
    status: Annotated[
        str | None,  # without a bound here: generated clients would make a class `Status` of it, which is another thing
        Field(description="A word such as draft, revised or done; empty: none.", examples=["revised"]),
    ] = None,
    words: Annotated[
        int | None, Field(ge=0, le=9_999_999, description="The number of words that it should have; 0: none.")
    ] = None,
) -> BookContents:
    """Note the status of a text, and how many words it should have, in `notes/status.yaml`.

    No role is shown these notes. What is left out stays as it is.

    Raises:
        UsageError: there is nothing to note, the text is not a part of the story, the status is too long, or the file
            cannot be read.
    """
    if len(status or "") > _LONGEST:
        raise UsageError(f"A status has at most {_LONGEST} characters, such as draft, revised or done.")
    stands = await text(project, artefact)
    if not stands.file.startswith("story/"):
        raise UsageError(f"{artefact!r} is not a part of the story. `fabula show --contents` lists its parts.")
    if status is None and words is None:
        raise UsageError("There is nothing to note. Specify a status, such as draft, or a number of words.")
    with project.changing() as texts:
        now = project.standing().get(STATUS, "")
        marks, problem = read_marks(now)
        if problem:
            raise UsageError(f"{problem} Correct the file first.")
        before = marks.get(stands.name, TextMark())
        said = before.status if status is None else one_line(status)
        marks[stands.name] = made = TextMark(said, before.words if words is None else words)
        if said and read_marks(write_marks(marks))[0][stands.name] != made:
            raise UsageError(f"The status {said!r} ends like a target. Set the target in words instead.")
        if any(map(str, marks.values())):
            await save(texts, STATUS if now else STATUS_FILE, write_marks(marks), None if now else "", project.options)
        elif now:
            with texts.recorded() as journal:
                texts.take_over(journal, [], withdrawn=[STATUS])
    return contents_of(project)
