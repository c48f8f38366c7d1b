"""`import_card`: add a character card or a lorebook to a project."""

from __future__ import annotations

import base64
import binascii
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field

from fabula.app.workspace import Workspace  # noqa: TC001 - doors read it
from fabula.base.errors import UsageError
from fabula.craft.conversation.cards import write_cards, write_picture
from fabula.story.cards import MAX_FILE_BYTES, lorebook_in, parse_card
from fabula.verbs.base import verb

_LONGEST: Final = MAX_FILE_BYTES * 4 // 3 + 4


@dataclass(frozen=True, slots=True)
class ImportedCard:
    """A card or a lorebook that is now in the project.

    Attributes:
        name: the name of the character or of the lorebook.
        greetings: how many ways the character has to begin.
        entries: the number of entries in its lorebook.
        picture: whether the file contains a picture.
        notes: remarks on the file.
    """

    name: str
    greetings: int = 0
    entries: int = 0
    picture: bool = False
    notes: list[str] = field(default_factory=list)


@verb("POST", "/cards", "chats")
async def import_card(
    project: Workspace,
    card: Annotated[
        str,
        Field(
            max_length=_LONGEST,
            description="A PNG, JSON or .charx file in Base64, or the JSON itself.",
            examples=['{"name": "Mara", "description": "She keeps the lamp of the cape."}'],
        ),
    ],
    source: Annotated[str, Field(max_length=200, description="The name of the file.")] = "",
    picture_of: Annotated[
        str, Field(max_length=200, description="Who is in the picture, if the file is a PNG without a card.")
    ] = "",
) -> ImportedCard:
    """Add a character card, a lorebook or a picture to the project, in place of one with the same name.

    No model is called, and nothing in the file is fetched or run.

    Raises:
        UsageError: the file is too large or damaged, or is neither a character card nor a lorebook.
    """
    try:
        data = card.encode() if card.lstrip("\ufeff \n\r\t")[:1] == "{" else base64.b64decode(card, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"The card is neither JSON nor Base64 ({error}). Send the content of the file.") from error
    return keep_card(project, data, source, picture_of)


def keep_card(project: Workspace, data: bytes, source: str, picture_of: str = "") -> ImportedCard:
    """The card, lorebook or picture of a file, kept in the project.

    Raises:
        UsageError: the file is something else, or is too large or damaged.
    """
    if picture_of:
        write_picture(project.project().folder, picture_of, data)
        return ImportedCard(picture_of, picture=True)
    folder, source, book = project.project().folder, source or "The card", None
    if not data.startswith((b"\x89PNG", b"PK")):
        with suppress(UsageError):  # what is wrong with it is said of a card
            book = lorebook_in(data, source)
    if book is not None:
        name = source.rpartition(".")[0] or source
        write_cards(folder, [], {name: data})
        return ImportedCard(name, entries=len(book.entries))
    found = parse_card(data, source)
    write_cards(folder, [found], {})
    entries = len(found.book.entries) if found.book else 0
    return ImportedCard(found.name, len(found.greetings), entries, bool(found.picture), list(found.notes))
