"""Metadata of an exported story, which the caller supplies completely, so that equal input results in equal bytes."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from fabula.base.errors import UsageError
from fabula.story import Story, one_line
from fabula.story.export.prose import inline
from fabula.story.printed import printed

# Any fixed value does; it must never change, since the identifiers of published files are made from it.
_NAMESPACE = uuid.UUID("5b0f8a52-7a0d-5d0e-9f0b-7f3e2d6c9a41")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


_OURS: Final = re.compile(
    r"exposition|inciting incident|rising action|climax|falling action|resolution|denouement|conflict|story|dialogue|"
    r"draft|finalizer|untitled|(?:cell|step|scene|part|section|act|piece)(?:[- /]?\d{0,4}){0,2}(?:/dialogue)?|\d{1,4}",
    re.IGNORECASE,
)
_CHAPTER: Final = re.compile(r"chapter[- ](\d{1,4})", re.IGNORECASE)


def title_for_readers(label: str, language: str) -> str:
    """A scene's label if it is a title; empty if the label only names the part of the work.

    "The Letter" is a title, but "Exposition" and "Scene 3" are not. In German, "Chapter 3" becomes "Kapitel 3".
    """
    label = one_line(label)
    if _OURS.fullmatch(label):
        return ""
    chapter = _CHAPTER.fullmatch(label)
    return printed(language).chapter.format(chapter[1]) if chapter else label


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The title, author and other metadata of an exported story.

    `title` is a line of Markdown, and may be empty. `language` is a tag such as "en" or "pt-BR", `words` is the word
    count to print, `brief` is the author's brief, and `contact` contains the lines of the address block in a
    manuscript. If `created` has no time zone, it is interpreted as UTC. If `identifier` is empty, an identifier is made
    from title, author and text.
    """

    title: str
    author: str
    created: datetime
    words: int
    language: str = "en"
    identifier: str = ""
    brief: str = ""
    contact: str = ""
    subtitle: str = ""

    @property
    def plain_title(self) -> str:
        """The title without Markdown's signs."""
        return "".join(span.text for span in inline(self.title))

    def created_utc(self) -> datetime:
        """The creation time of the story in UTC, to the second."""
        aware = self.created if self.created.tzinfo else self.created.replace(tzinfo=UTC)
        return aware.astimezone(UTC).replace(microsecond=0)

    def stamp(self) -> str:
        """`created_utc` as `2026-01-31T12:00:00Z`."""
        return self.created_utc().strftime("%Y-%m-%dT%H:%M:%SZ")

    def urn(self, story: Story) -> str:
        """The identifier, or a `urn:uuid:` made from title, author and text, which is equal for equal stories."""
        if self.identifier.strip():
            return self.identifier.strip()
        content = "\0".join((self.title, self.author, *(scene.text for scene in story.scenes)))
        # Hashing bytes: a lone surrogate cannot be encoded otherwise.
        name = content.encode("utf-8", "backslashreplace").decode("utf-8")
        return uuid.uuid5(_NAMESPACE, name).urn

    def language_tag(self) -> str:
        """The language tag for export formats.

        Raises:
            UsageError: the language is not a tag such as "en" or "pt-BR".
        """
        if not _LANGUAGE.fullmatch(self.language):
            raise UsageError(f"{self.language!r} is not a language tag. Use a tag such as 'en' or 'pt-BR'.")
        return self.language
