"""`versions`, `alternatives`, `difference`: the versions of an artefact, who wrote each, and how two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fabula.app.saving import BRIEF
from fabula.app.workspace import ArtefactVersion, Workspace
from fabula.engine.journal import CallFilter, Journal, Version
from fabula.engine.making import DRAFTS, notes_of
from fabula.project.folder import STORY
from fabula.project.telling import imported_from
from fabula.story import count_words
from fabula.story.comparing import TextStretch, compare, word_pieces
from fabula.verbs.base import LONGEST_NAME, ArtefactName, verb
from fabula.verbs.text import text

Number: TypeAlias = Annotated[int, Field(ge=1, le=2**31 - 1, description="The number of a version.")]


@dataclass(frozen=True, slots=True)
class VersionList:
    """The versions of an artefact.

    `notes` are the author's notes, which apply until the author withdraws them or edits the text.
    """

    artefact: str
    versions: list[ArtefactVersion]
    notes: tuple[str, ...] = ()


@verb("GET", "/versions/{artefact:path}", "texts")
async def versions(
    project: Workspace,
    artefact: ArtefactName,
    texts: Annotated[bool, Field(description="Also return the text of each version.")] = False,  # noqa: FBT002 - doors name it
) -> VersionList:
    """List the versions of a text, oldest first, with the writer of each."""
    if artefact == BRIEF:
        return VersionList(artefact, [])
    opened = project.texts()
    with opened.journal as journal:
        path = STORY if artefact == STORY else opened.artefact(journal, artefact)
        found = journal.artefacts.versions(path)
        makers = _makers(journal, path, found)
        notes, holding = _notes(journal, path, found), notes_of(journal, path)
    made = [replace(_made(one, makers, notes), holds=one is found[-1]) for one in found]
    if texts:
        made = [replace(one, text=version.text) for one, version in zip(made, found, strict=True)]
    return VersionList(path, made, tuple(holding))


@verb("GET", "/alternatives/{artefact:path}")
async def alternatives(project: Workspace, artefact: ArtefactName) -> VersionList:
    """List the versions of a text that were written for the author, newest first; the author can choose one."""
    found = (await versions(project, artefact)).versions
    return VersionList(artefact, [one for one in reversed(found) if one.source in ("made", "revised")])


def _made(version: Version, makers: Mapping[int, tuple[str, str]], notes: Mapping[int, str]) -> ArtefactVersion:
    role, performer = makers.get(version.number, ("", "")) if version.made else ("", "")
    return ArtefactVersion(
        version.number,
        version.source,
        version.at,
        count_words(version.text),
        version.run,
        role,
        performer,
        note=notes.get(version.number, ""),
    )


def _makers(journal: Journal, path: str, versions: Sequence[Version]) -> dict[int, tuple[str, str]]:
    """Role and performer of the last call for each version of an artefact, or for its draft, by number."""
    found: dict[int, tuple[str, str]] = {}
    for under in (f"{DRAFTS}/{path}", path):
        calls = journal.calls.find(CallFilter(under=under))[::-1]
        for version in versions:
            before = [call for call in calls if call.at <= version.at]
            call = next((one for one in before if one.run == version.run), before[0] if before else None)
            if call is not None:
                found[version.number] = call.role, call.performer
    return found


def _notes(journal: Journal, path: str, versions: Sequence[Version]) -> dict[int, str]:
    """The author's notes on the versions that were made, by number: the newest note since the version before.

    For imported versions, the file that they came from.
    """
    wishes = [one for one in journal.decisions.find(path) if one.kind in ("retake", "revise") and one.text]
    source = imported_from(journal)
    found: dict[int, str] = {one.number: source for one in versions if one.source == "imported"}
    for wish in wishes:
        made = next((one for one in versions if one.source in ("made", "revised") and one.at >= wish.at), None)
        if made is not None and made.number > 1:
            found[made.number] = str(wish.text)
    return found


@dataclass(frozen=True, slots=True)
class Words:
    """Words that are in both texts ("same"), only in the old text ("gone"), or only in the new text ("new")."""

    kind: Literal["same", "gone", "new"]
    text: str


@dataclass(frozen=True, slots=True)
class ChangedPlace(TextStretch):
    """A passage in the old and new texts, with the words marked if the passages differ."""

    words: list[Words]


@dataclass(frozen=True, slots=True)
class TextDifference:
    """Two versions of a text: the `old` parts together form the old one, the `new` parts the new one."""

    artefact: str
    old: int
    new: int
    places: list[ChangedPlace]


@verb("GET", "/diff", "texts")
async def difference(
    project: Workspace,
    artefact: Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, description="The artefact.")],
    old: Number,
    new: Annotated[
        int | None, Field(ge=1, le=2**31 - 1, description="The number of a version; default: the latest version.")
    ] = None,
) -> TextDifference:
    """Compare two versions of a text, sentence by sentence, and mark the words in each changed sentence.

    Tables and sheets are compared line by line.

    Raises:
        UnknownNameError: the artefact or version does not exist.
    """
    before, after = await text(project, artefact, old), await text(project, artefact, new)
    places = [
        ChangedPlace(
            one.number,
            one.start,
            one.old,
            one.new,
            [Words(piece.kind, piece.text) for piece in word_pieces(one.old, one.new)] if one.number else [],
        )
        for one in compare(before.text, after.text, lines=not before.file.endswith(".md"))
    ]
    return TextDifference(before.name, before.version, after.version, places)
