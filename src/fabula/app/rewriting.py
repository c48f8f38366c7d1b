"""Writing one passage of a text anew: which one, how long it was and is, and the text with the new one in its place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.project.telling import TextInFile
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from fabula.project.folder import ProjectFolder

_SLACK: Final = 20  # words by which a short passage may grow without a word on it
FROM_TO: Final = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7}))?")
"""Two numbers, or one that stands for both."""


@dataclass(frozen=True, slots=True)
class PassageLengths:
    """Words of a passage before it was written anew, and in the text that was offered."""

    before: int
    after: int

    @property
    def alike(self) -> bool:
        """Whether it is about as long as it was, which is asked for where a note wishes no other length."""
        return max(self.before // 2, 1) <= self.after <= max(2 * self.before, self.before + _SLACK)

    def __str__(self) -> str:
        said = f"The passage: {self.before:,} words before, {self.after:,} now"
        return f"{said}{'' if self.alike else '; about as many as before are asked for, unless a note says otherwise'}."


@dataclass(frozen=True, slots=True)
class Rewritten:
    """An artefact after a passage was written anew; `proposed` is the text that was offered, `wording` its passage."""

    artefact: str
    file: str
    words: int
    passage: PassageLengths
    proposed: str | None
    wording: str = ""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Passage(TextInFile):
    """A passage of the text of an artefact.

    Attributes:
        span: where the passage begins, and where it ends.
    """

    span: tuple[int, int]

    @classmethod
    def of(
        cls, project: ProjectFolder, name: str, find: Callable[[str, str], tuple[int, int]], *, looking: bool = False
    ) -> Passage:
        """The passage that `find` finds in the text and file of an artefact.

        Files that were changed are taken over, but by who is only `looking`.

        Raises:
            UsageError: there is none, or the text is pinned or no prose.
            UnknownNameError: there is no such artefact.
        """
        with project.journal if looking else project.recorded() as journal:
            path = project.artefact(journal, name)
            text, file = journal.artefacts.newest(path) or "", journal.artefacts.places()[path]
            if (override := journal.decisions.override(path)) is not None and override[1] == "pinned":
                raise UsageError(f"{path} is pinned. Say `fabula text unpin {path}` first.")
        if not file.endswith(".md"):
            raise UsageError(f"{file} is no prose. Edit it by hand, or say `fabula text retake {path} --note ...`.")
        return cls(path, file, text, find(text, file))

    @property
    def words(self) -> str:
        """The passage itself."""
        return self.text[slice(*self.span)]

    def in_(self, new: str) -> str:
        """The passage as it is in a new text, in which nothing else has changed."""
        return new[self.span[0] : len(new) - (len(self.text) - self.span[1])]

    def lengths(self, new: str) -> PassageLengths:
        """How long the passage is, and how long in a new text."""
        return PassageLengths(count_words(self.words), count_words(self.in_(new)))

    def take(self, project: ProjectFolder, new: str | None) -> Rewritten:
        """Give the artefact a new text, if there is one and it is another.

        Raises:
            UsageError: the text was changed meanwhile.
        """
        changed = new is not None and new != self.text
        text = self.text if new is None else new
        if changed:
            with project.recorded() as journal:
                if journal.artefacts.newest(self.path) != self.text:
                    raise UsageError(f"{self.file} was changed meanwhile, and stays as it is. Say the same again.")
                project.edit(journal, self.path, text, "rewrite")
        return replace(self.offered(text), changed=changed, proposed=new)

    def offered(self, new: str) -> Rewritten:
        """A new text that the artefact may be given."""
        words, lengths = count_words(new), self.lengths(new)
        return Rewritten(self.path, self.file, words, lengths, new, self.in_(new))


def characters_of(text: str, characters: str) -> tuple[int, int]:
    """Where characters of a text stand, without the blanks at their ends; the first one has number 1.

    Raises:
        UsageError: they name no words of it.
    """
    match = FROM_TO.fullmatch(characters.strip())
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    passage = text[first - 1 : last] if 1 <= first <= last <= len(text) else ""
    if not passage.strip():
        raise UsageError(
            f"--characters {characters} names no words; the text has {len(text):,} characters. Write it as "
            "--characters 120-480."
        )
    start = first - 1 + len(passage) - len(passage.lstrip())
    return start, start + len(passage.strip())
