"""Rewriting one passage of a text: finding it, comparing its lengths, and putting the new passage into the text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.craft.suggesting import passage_spans
from fabula.project.telling import TextInFile
from fabula.story import count_words, plain

if TYPE_CHECKING:
    from fabula.project.folder import ProjectFolder


_SLACK: Final = 20  # words by which a short passage may grow without a word on it
FROM_TO: Final = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?")
"""Two numbers, or one number that is used for both."""


@dataclass(frozen=True, slots=True)
class PassageLengths:
    """The number of words of a passage before it was rewritten and in the text that was offered."""

    before: int
    after: int

    @property
    def alike(self) -> bool:
        """Whether its length is about the same, as requested unless a note asks for another length."""
        return max(self.before // 2, 1) <= self.after <= max(2 * self.before, self.before + _SLACK)

    def __str__(self) -> str:
        said = f"The passage had {self.before:,} words and now has {self.after:,}"
        return f"{said}{'' if self.alike else ', but needs about as many as before unless a note says otherwise'}."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An artefact after a passage was rewritten. `proposed` is the text that was offered, `wording` its passage."""

    artefact: str
    file: str
    words: int
    passage: PassageLengths
    proposed: str | None
    wording: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Passage(TextInFile):
    """A passage in the text of an artefact.

    Attributes:
        span: the start and the end of the passage.
    """

    span: tuple[int, int]

    @classmethod
    def of(
        cls,
        project: ProjectFolder,
        name: str,
        find: Callable[[str, str], tuple[int, int]],
        *,
        looking: bool = False,
        unsaved: str | None = None,
    ) -> Passage:
        """The passage that `find` finds in the text and file of an artefact, or in its text as it is being typed.

        Changed files are applied first, unless the caller is only `looking`, or has the `unsaved` text: whoever saves
        that applies them.

        Raises:
            UsageError: there is no such passage, or the text is pinned or is not prose.
            UnknownNameError: there is no such artefact.
        """
        with project.journal if looking or unsaved is not None else project.recorded() as journal:
            path = project.artefact(journal, name)
            text = (journal.artefacts.newest(path) or "") if unsaved is None else plain(readable(unsaved))
            file = journal.artefacts.places()[path]
            if (override := journal.decisions.override(path)) is not None and override[1] == "pinned":
                raise UsageError(f"{path} is pinned. Run `fabula text unpin {path}` first.")
        if not file.endswith(".md"):
            raise UsageError(f"{file} is not prose. Edit it yourself, or run `fabula text retake {path} --note ...`.")
        return cls(path, file, text, find(text, file))

    @property
    def words(self) -> str:
        """The words of the passage."""
        return self.text[slice(*self.span)]

    def in_(self, new: str) -> str:
        """The passage as it is in a new text that has no other changes."""
        return new[self.span[0] : len(new) - (len(self.text) - self.span[1])]

    def lengths(self, new: str) -> PassageLengths:
        """The lengths of the passage now and in a new text."""
        return PassageLengths(count_words(self.words), count_words(self.in_(new)))

    def take(self, project: ProjectFolder, new: str | None) -> Rewritten:
        """Give the artefact a new text if there is one and it differs.

        Raises:
            UsageError: the text has changed in the meantime.
        """
        changed = new is not None and new != self.text
        text = self.text if new is None else new
        if changed:
            with project.recorded() as journal:
                if journal.artefacts.newest(self.path) != self.text:
                    raise UsageError(f"{self.file} has changed in the meantime, so it was not overwritten. Try again.")
                project.edit(journal, self.path, text, "rewrite")
        return replace(self.offered(text), changed=changed, proposed=new)

    def offered(self, new: str) -> Rewritten:
        """The artefact with a new text that was offered, and not yet accepted."""
        words, lengths = count_words(new), self.lengths(new)
        return Rewritten(self.path, self.file, words, lengths, new, self.in_(new))


def place_of(text: str, passage: str, at: int | None) -> tuple[int, int]:
    """The start and end of a passage ("120-480", or its first and last words), or of the cursor after `at` characters.

    Raises:
        UsageError: the place is not in the text, or several passages have these words.
    """
    if FROM_TO.fullmatch(passage.strip()):
        return characters_of(text, passage)
    if passage.strip():
        return passage_of(text, passage, "the text")
    if at is not None and at > len(text):
        raise UsageError(f"There is no place after character {at:,}: the text has {len(text):,} characters.")
    start = len(text) if at is None else at
    return start, start


def passage_of(text: str, words: str, file: str) -> tuple[int, int]:
    """The start and end of the passage with these first and last words.

    Raises:
        UsageError: no passage of the text has these words, or several have.
    """
    found = list(passage_spans(text, words))
    if len(found) != 1:
        how = f"matches {len(found)} passages of {file}" if found else f"is not in {file}"
        raise UsageError(f"{words!r} {how}. Give the first and last words of one passage: 'The lamp ... went out.'")
    return found[0]


def characters_of(text: str, characters: str) -> tuple[int, int]:
    """The start and end of a range of characters, without spaces at its ends; the first character has number 1.

    Raises:
        UsageError: the range contains no words of the text.
    """
    match = FROM_TO.fullmatch(characters.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    passage = text[first - 1 : last] if 1 <= first <= last <= len(text) else ""
    if not passage.strip():
        raise UsageError(
            f"--characters {characters} contains no words; the text has {len(text):,} characters. Use the form "
            "--characters 120-480."
        )
    start = first - 1 + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())
