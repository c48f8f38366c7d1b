"""Find and replace in all texts of a book, place by place."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from fabula.app import deciding
from fabula.app.arranging import assemble
from fabula.app.codex import text_in
from fabula.app.contents import STATUS, contents_of
from fabula.base.errors import UsageError
from fabula.project.folder import STYLE
from fabula.story import one_line
from fabula.story.codex import FILE as CODEX
from fabula.story.words import BLANKLESS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fabula.app.titles import Titles
    from fabula.app.workspace import Workspace

MOST: Final = 500
"""Places that are shown."""
_AROUND: Final = 60  # characters shown on each side of a place
_CALLED: Final = re.compile(r"\{#[a-z0-9-]{1,80}\}")  # the name of a text in a list of chapters
_INSIDE: Final = re.compile(r"\w\w")
_APOSTROPHES: Final = "['\u2019]"


@dataclass(frozen=True, slots=True)
class ReplacePlace:
    """A place where the words stand.

    Attributes:
        number: its number among all places, from 1.
        name: the name of the text.
        title: the title of the text.
        line: the line in the text, from 1.
        before: what stands before it.
        found: the words as they stand there.
        wording: the words that replace them.
        after: what stands after it.
    """

    number: int
    name: str
    title: str
    line: int
    before: str
    found: str
    wording: str
    after: str


@dataclass(frozen=True, slots=True)
class Replacements:
    """The places where words stand, and whether they were replaced.

    Attributes:
        places: the places, at most 500 of them.
        count: the number of all places.
        texts: the number of texts in which they are.
        replaced: the number of places that were replaced; 0 if this was a preview.
        inside: the number of places that are parts of longer words.
        base: identifies the places; see the verb `replace`.
    """

    places: tuple[ReplacePlace, ...]
    count: int
    texts: int
    replaced: int
    base: str
    inside: int = 0


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for, and what replaces it.

    White space stands for any white space, and an apostrophe for a straight or typographic one. Unless the case must be
    the same, the new words take the capitals of the old ones.
    """

    old: str
    new: str
    whole_word: bool = False
    case: bool = False

    def spans(self, text: str) -> list[re.Match[str]]:
        """The places in a text, except in the names of chapters' texts.

        Raises:
            UsageError: there is nothing to look for.
        """
        if not self.old.strip():
            raise UsageError("There is nothing to look for. Specify the words to find.")
        words = [re.sub("['\u2019]", _APOSTROPHES, re.escape(word)) for word in re.split(r"\s+", self.old)]
        found = r"\s+".join(words)
        found = found if words[0] else rf"(?<!\s){found}"
        pattern = re.compile(rf"(?<!\w){found}(?!\w)" if self.whole_word else found, 0 if self.case else re.IGNORECASE)
        taken = [match.span() for match in _CALLED.finditer(text)]
        return [
            one
            for one in pattern.finditer(text)
            if not any(start < one.end() and one.start() < end for start, end in taken)
        ]

    def is_inside(self, found: re.Match[str]) -> bool:
        """Whether a place is a part of a longer word, in a script that has blanks between words."""
        text, (start, end) = found.string, found.span()
        around = (text[max(start - 1, 0) : start + 1] if start else "", text[end - 1 : end + 1])
        return any(_INSIDE.fullmatch(pair) and not BLANKLESS.search(pair) for pair in around)

    def wording(self, found: str) -> str:
        """The new words for the old ones as they stand in a text."""
        if self.case or found == self.old:
            return self.new
        if found.isupper() and not self.old.isupper() and len(found) > 1:
            return self.new.upper()
        if found[:1].isupper() and self.old[:1].islower():
            return self.new[:1].upper() + self.new[1:]
        return self.new


def texts_of(workspace: Workspace, within: str, *, everywhere: bool) -> dict[str, str]:
    """The texts to look into, by name: those of the story, one text, or all that people see except the brief."""
    standing, project = _standing(workspace), workspace.texts()
    if within:
        with project.journal as journal:
            name = project.artefact(journal, within)
        return {name: standing[name]}
    names = [line.name for line in contents_of(workspace).lines if line.name]
    if everywhere:
        rows = workspace.rows(marks=False)
        shown = (one for one in rows if not one.behind or one.file == CODEX)
        names += [one.name for one in shown if one.name not in (*names, STATUS)]
    return {name: standing[name] for name in names if name in standing}


def _standing(workspace: Workspace) -> dict[str, str]:
    """The current texts by name, with the style sheet."""
    style = text_in(workspace.texts(), STYLE)
    return workspace.standing() | ({STYLE: style} if style else {})


def found_places(texts: Mapping[str, str], titles: Titles, search: Search) -> Replacements:
    """All places in texts, in order."""
    places: list[ReplacePlace] = []
    digest, count, within, inside = sha256(repr(search).encode("utf-8", "replace")), 0, 0, 0
    for name, text in texts.items():
        spans = search.spans(text)
        count, within = count + len(spans), within + bool(spans)
        inside += sum(map(search.is_inside, spans))
        if spans:
            digest.update(f"{name}\0{text}\0".encode("utf-8", "replace"))
        for one in spans[: max(MOST - len(places), 0)]:
            before, after = text[max(one.start() - _AROUND, 0) : one.start()], text[one.end() : one.end() + _AROUND]
            line = text.count("\n", 0, one.start()) + 1
            around = before.rpartition("\n")[2], after.partition("\n")[0]
            new = search.wording(one[0])
            places.append(
                ReplacePlace(len(places) + 1, name, titles(name), line, around[0], one_line(one[0]), new, around[1])
            )
    return Replacements(tuple(places), count, within, 0, digest.hexdigest()[:16], inside)


def check_skipped(skip: Collection[int], found: Replacements) -> None:
    """Refuse numbers that no place has.

    Raises:
        UsageError: there are some.
    """
    if (highest := max(skip, default=0)) > found.count:
        raise UsageError(
            f"There is no place {highest:,} to skip: {found.count:,} found. List the places with `--dry-run`."
        )


async def replace_all(
    workspace: Workspace, texts: Mapping[str, str], search: Search, skip: Collection[int], base: str | None
) -> Replacements:
    """Replace the words in texts, except at the places whose numbers are in `skip`; one undo takes all of it back.

    Raises:
        UsageError: the texts have changed since the places were listed, one would be empty, or a place to skip is not
            there.
        PlanError: a plan with the new words could not be used.
    """
    with workspace.decided() as (project, journal):
        found = found_places(texts, workspace.titles(), search)
        check_skipped(skip, found)
        stands = _standing(workspace)
        if base not in (None, found.base) or any(stands.get(name) != text for name, text in texts.items()):
            raise UsageError("The texts have changed since these places were listed. List them again.")
        number = replaced = 0
        changed: dict[str, str] = {}
        for name, text in texts.items():
            pieces, at = [], 0
            for one in search.spans(text):
                number += 1
                if number not in skip and (new := search.wording(one[0])) != one[0]:
                    pieces += [text[at : one.start()], new]
                    at, replaced = one.end(), replaced + 1
            if pieces:
                changed[name] = "".join([*pieces, text[at:]])
        style = changed.pop(STYLE, None)
        await deciding.edit_all(project, journal, changed, workspace.options)
        if style is not None:
            project.edit_beside(journal, STYLE, style)
        assemble(project, journal)
    return replace(found, replaced=replaced)
