"""A manuscript in parts, word for word: at its chapters, else at its breaks, and where those are far apart by length.

Each part keeps the heading or break that it begins with, so the parts one after the other are the manuscript.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.continuity.scenes import cut_by_length, is_headed, split
from fabula.story import Story, count_words, one_line, plain, slug
from fabula.story.export.prose import is_break

Way: TypeAlias = Literal["scenes", "headings", "chapters", "breaks", "length", "whole"]

LONGEST: Final = 10_000
"""Words from which on a part is cut where no heading or break cuts it."""
_CUT: Final = 5_000  # words of what it is cut into
_TITLE: Final = 200  # characters of a heading that is a title; a longer line is text
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(?=\S)(?P<title>[^\n]*)")
MOST: Final = 2_000
"""Parts that a manuscript has at most; each is a file."""
_CHAPTER: Final = re.compile(
    # What a chapter's line begins with; what follows is a number or has a capital: no "part of the way".
    r"(?:(?i:chapter|part|book|scene|act|kapitel|teil|chapitre|partie|cap[ií]tulo|capitolo|parte|hoofdstuk|deel|глава|"
    r"часть)(?:[ \t.:\u2013\u2014-]+(?=\d|[^\W_])(?P<next>[\w-]{1,30})[^\n!?]{0,80})?|"
    r"(?i:prologue|epilogue|interlude|prolog|epilog|épilogue|пролог|эпилог)(?:[ \t.:\u2013\u2014-][^\n!?]{0,80})?|"
    r"第[^\n]{1,10}[章回节][^\n]{0,40}|\d{1,3}\.?|[IVXLC]{1,8}\.?)"
)
_COUNTED: Final = re.compile(
    r"the|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|"
    r"(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w{3,6})?"
)
_SENTENCE: Final = re.compile(r"[^\W\d_]{4}[.…]\Z")  # a line that ends with a word and a full stop
_TITLE_PAGE: Final = re.compile(r"title:[ \t]*\n?[ \t]*([^\n]{1,200})", re.IGNORECASE)
_LINE_ENDS: Final = re.compile(r"\n*+")
_BLOCK: Final = re.compile(r"[^\n]+(?:\n[^\n]+)*")
_BLOCK_LINES: Final = 2
_SIGNS: Final = " \t#*=_-"
# Texts of a project that are none of its story, or places where it is written.
_TAKEN: Final = frozenset(
    {"account", "again", "brief", "chapters", "drafts", "more", "order", "outline", "plan", "status", "story"}
)


@dataclass(frozen=True, slots=True)
class ManuscriptPart:
    """A part of a manuscript: a name that no other has and that files may have, its heading, and its text with it.

    `space` are the line ends in front of it in the manuscript.
    """

    name: str
    title: str
    text: str
    space: str = "\n\n"


@dataclass(frozen=True, slots=True)
class Manuscript:
    """A text in parts.

    Attributes:
        title: of the whole; may be empty.
        parts: in their order.
        way: what it was parted by.
        cut: how many parts were too long, and are cut by length.
        encoding: in which its file was read, where that was guessed.
        left_out: how many things of each kind its file has beside the text, such as "footnote".
    """

    title: str
    parts: tuple[ManuscriptPart, ...]
    way: Way
    cut: int = 0
    encoding: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def words(self) -> int:
        """Number of words of all parts."""
        return sum(count_words(part.text) for part in self.parts)


def manuscript(text: str, *, is_screenplay: bool = False) -> Manuscript:
    """The parts of a text in Markdown or plain text, with fabula's own scene marks, or of a screenplay in Fountain.

    Raises:
        UsageError: there are no words in it.
    """
    text = plain(text)
    if is_screenplay and count_words(text):
        found = _TITLE_PAGE.match(text)
        scenes = [(one_line(scene.title), scene.text) for scene in split(text, "fountain").scenes]
        return _spaced(_of(one_line(found[1].strip("*_ \t")) if found else "", scenes, "scenes"), text)
    title, body = _titled(text)
    way, pieces = _pieces(body)
    return _spaced(_of(title, pieces, way), text, len(text.partition("\n")[0]) if title else 0)


def of_story(story: Story) -> Manuscript:
    """The parts of a story whose scenes are known; a scene that does not begin with its label gets that as a heading.

    Raises:
        UsageError: there are no words in it.
    """
    several = len(story.scenes) > 1
    texts = [(_label(readable(one.label)), plain(readable(one.text))) for one in story.scenes]
    headed = [
        (
            label,
            f"## {label}\n\n{text}"
            if several and label and not (text.startswith(label) or is_headed(text, label))
            else text,
        )
        for label, text in texts
    ]
    return _of(readable(story.title), headed, "scenes")


def _of(title: str, pieces: Sequence[tuple[str, str]], way: Way) -> Manuscript:
    kept = [(heading, plain(text)) for heading, text in pieces if plain(text)]
    if not any(count_words(text) for _, text in kept):
        raise UsageError("The manuscript is empty. Give a manuscript with words in it.")
    short = [piece for heading, text in kept for piece in _short(heading, text)]
    if len(short) > MOST:
        raise UsageError(
            f"The manuscript has {len(short):,} headings or breaks. Each becomes a file, and {MOST:,} is the limit. "
            "Remove headings that do not begin a chapter, or split the manuscript into several files."
        )
    cut = len(short) - len(kept)
    names = _names([heading for heading, _ in short])
    parts = [ManuscriptPart(name, heading, text) for name, (heading, text) in zip(names, short, strict=True)]
    return Manuscript(title, tuple(parts), "length" if way == "whole" and cut else way, cut)


def _spaced(found: Manuscript, text: str, at: int = 0) -> Manuscript:
    """A manuscript whose parts know the line ends between them; they stand in `text` from `at`."""
    parts: list[ManuscriptPart] = []
    for part in found.parts:
        start = _LINE_ENDS.match(text, at).end()  # type: ignore[union-attr] # none are line ends, too
        if not text.startswith(part.text, start):  # a scene's mark stands between two parts
            break
        parts.append(replace(part, space=text[at:start]))
        at = start + len(part.text)
    return replace(found, parts=(*parts, *found.parts[len(parts) :]))


def _short(heading: str, text: str) -> Iterator[tuple[str, str]]:
    """A piece, cut where it is too long."""
    if count_words(text) <= LONGEST:
        yield heading, text
        return
    for _, start, end in cut_by_length(text, ("", 0, len(text)), _CUT, Counter()):
        if part := plain(text[start:end]):
            yield heading, part


def _names(headings: Sequence[str]) -> list[str]:
    """A name for each part: its heading's, with a number where it stands again; else its place."""
    found: dict[str, None] = {}
    for number, heading in enumerate(headings, 1):
        name = slug(heading) if re.search("[a-z0-9]", heading, re.IGNORECASE) else f"part-{number}"
        name = f"chapter-{name}" if name.isdecimal() else name
        if name in found or name in _TAKEN:
            name = next(one for n in range(2, len(headings) + 2) if (one := f"{name[:50]}-{n}") not in found)
        found[name] = None
    return list(found)


def _titled(text: str) -> tuple[str, str]:
    """The title and the rest: a first heading that is the only one of its level, or above another one."""
    first, _, rest = text.partition("\n")
    if not first.startswith("# ") or len(first) > _TITLE:
        return "", text
    others = re.search(r"^#[ \t]+\S", rest, re.MULTILINE)
    below = plain(rest).partition("\n")[0]
    if others and not _HEADING.match(below):
        return "", text
    return one_line(first[2:]), plain(rest)


def _pieces(text: str) -> tuple[Way, list[tuple[str, str]]]:
    """Heading and text of each piece, and what it was parted by."""
    story = Story.parse(text)
    if len(story.scenes) > 1 or (story.scenes and story.scenes[0].label != "story"):
        between = "* * *\n\n" if story.breaks else ""
        return "scenes", [(_label(one.label), (between if n else "") + one.text) for n, one in enumerate(story.scenes)]
    blocks = [(match[0].strip("\n"), match.start()) for match in _BLOCK.finditer(text)]
    ways: list[tuple[Way, list[tuple[str, int]]]] = [
        ("headings", [*_at_headings(text)]),
        ("chapters", _at_chapters(blocks)),
        ("breaks", [("", at) for block, at in blocks if is_break(block)]),
    ]
    for way, found in ways:
        if found:
            return way, _between(text, found)
    scenes = split(text, scene_words=LONGEST) if count_words(text) else None
    if scenes is not None and scenes.form == "fountain":
        return "scenes", [(one_line(scene.title), scene.text) for scene in scenes.scenes]
    return "whole", [("", text)]


def _at_headings(text: str) -> Iterator[tuple[str, int]]:
    """Headings of Markdown, and where they stand; not what is fenced as code."""
    fenced, at = False, 0
    for line in text.split("\n"):
        fenced ^= line.startswith(("```", "~~~"))
        if not fenced and (found := _HEADING.match(line)):
            yield found["title"], at
        at += len(line) + 1


def _at_chapters(blocks: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Lines that say that a chapter begins, two of them at least, and where they stand."""
    found = []
    for block, at in blocks:
        lines = block.split("\n", _BLOCK_LINES)
        begins = _CHAPTER.fullmatch(lines[0].strip(_SIGNS)) if len(lines) <= _BLOCK_LINES else None
        if begins and _is_counted(begins["next"] or "") and not _SENTENCE.search(block):
            found.append((" ".join(lines), at))
    return found if len(found) > 1 else []


def _is_counted(word: str) -> bool:
    """Whether what follows "Chapter" says which one, or what it is called; nothing does so, too."""
    return not word or not word[0].islower() or bool(_COUNTED.fullmatch(word))


def _between(text: str, found: Sequence[tuple[str, int]]) -> list[tuple[str, str]]:
    """What stands before the first heading or break, and each with what follows it.

    A heading without text below it goes with the next one, and the last with the piece before.
    """
    ends = [at for _, at in found[1:]] + [len(text)]
    pieces = [("", 0)] if plain(text[: found[0][1]]) else []
    waits = -1
    for (heading, at), end in zip(found, ends, strict=True):
        waits = at if waits < 0 else waits
        if plain(text[at:end].partition("\n")[2]) or (end == len(text) and not pieces):
            pieces.append((_label(heading), waits))
            waits = -1
    starts = [at for _, at in pieces[1:]] + [len(text)]
    return [(label, text[start:end]) for (label, start), end in zip(pieces, starts, strict=True)]


def _label(heading: str) -> str:
    """A heading without the signs around it, as it can be a name; empty for one that is not a name."""
    label = one_line(heading).strip(_SIGNS)
    return "" if len(label) > _TITLE else one_line(label.replace("-->", "").replace("{#", ""))
