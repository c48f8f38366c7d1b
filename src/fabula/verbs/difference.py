"""`difference`: the differences between two versions of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.story.comparing import TextStretch, compare, word_pieces
from fabula.verbs.base import LONGEST_NAME, verb
from fabula.verbs.text import text

Number: TypeAlias = Annotated[int, Field(ge=1, le=2**31 - 1, description="The number of a version.")]


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
