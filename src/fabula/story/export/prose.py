"""A scene's text as blocks of styled runs: the little Markdown that writers use, read the same way by all formats.

Read are `*emphasis*`, `_emphasis_`, `**strong**`, headings, backslash escapes and lines that part scenes. Everything
else (HTML, links, lists, code) is text and stays as it was typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from fabula.story import one_line, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    from fabula.story import Story

Kind: TypeAlias = Literal["paragraph", "heading", "break"]

_BLANK_CONTROL = re.compile(r"[\x0b\x0c\x85]")
_ILLEGAL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BREAK = re.compile(r"\A[ \t]*[#*~•⁂=_·-](?:[ \t]*[#*~•⁂=_·-])*[ \t]*")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_BLANK_LINES = re.compile(r"\n{3,}")
_WRAP_AT_LEAST, _WRAP_AT_MOST = 60, 120


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """A run of text in one style; a line end in it is one that the author meant."""

    text: str
    italic: bool = False
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading inside a scene, or a scene break (which has no spans)."""

    kind: Kind
    spans: tuple[StyledSpan, ...] = ()

    @property
    def text(self) -> str:
        """Its text without styles."""
        return "".join(span.text for span in self.spans)


def clean(text: str) -> str:
    """`text` with every character that XML forbids or discourages taken out; vertical tabs and the like are blanks."""
    return _ILLEGAL.sub("", _BLANK_CONTROL.sub(" ", text))


def without_comments(story: Story) -> Story:
    """`story` without `<!-- comments -->`, which are notes of its author and of programs; an open one is text."""
    if not any("<!--" in scene.text for scene in story.scenes):
        return story
    return replace(story, scenes=tuple(replace(scene, text=_uncommented(scene.text)) for scene in story.scenes))


def _uncommented(text: str) -> str:
    kept, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[at:start])
        at = end + 3
        alone = not kept[-1].rpartition("\n")[2].strip()
        if alone and text[at : at + 1] == "\n":
            at += 1
    return plain(_BLANK_LINES.sub("\n\n", "".join([*kept, text[at:]])))


def is_break(line: str) -> bool:
    """Whether a line holds nothing but the signs that part scenes: `***`, `* * *`, `---`, `#`, `~`, `⁂`."""
    return bool(_BREAK.fullmatch(line))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, as they stand, between blank lines."""
    return [piece for piece in _PARAGRAPHS.split(text.strip("\n")) if piece.strip()]


def unfold(paragraph: str) -> str:
    """`paragraph` with the line ends taken out that an editor put in; those that the author meant stay.

    An editor breaks a line only where the next word would not fit. So a line end is taken out if the line and the
    next line's first word are longer than the longest line of the paragraph (60 characters at least, lines above 120
    are never an editor's); it stays in verse, dialogue and lists.
    """
    lines = [line.strip() for line in paragraph.split("\n")]
    width = max([_WRAP_AT_LEAST, *(len(line) for line in lines if len(line) <= _WRAP_AT_MOST)])
    pieces = [lines[0]]
    for line, following in pairwise(lines):
        pieces += [" " if _wrapped(line, following, width) else "\n", following]
    return "".join(pieces)


def _wrapped(line: str, following: str, width: int) -> bool:
    """Whether an editor that breaks at `width` would have broken after `line`."""
    if len(line) > _WRAP_AT_MOST or is_break(line) or is_break(following) or "#" in (line[:1], following[:1]):
        return False
    return len(line) + 1 + len(following.partition(" ")[0]) > width


def blocks(text: str) -> list[Block]:
    """The blocks of a scene's text, in order; no two breaks follow each other, and none stands at an end."""
    source = "\n\n".join(unfold(paragraph) for paragraph in paragraphs(plain(clean(text))))
    tokens = _parser().parse(source)
    found: list[Block] = []
    for block in _blocks(tokens):
        if block.kind == "break" and (not found or found[-1].kind == "break"):
            continue
        found.append(block)
    while found and found[-1].kind == "break":
        found.pop()
    return found


def _blocks(tokens: list[Token]) -> Iterator[Block]:
    kind: Kind = "paragraph"
    for token in tokens:
        if token.type == "hr":
            yield Block("break")
        elif token.type.endswith("_open"):
            kind = "heading" if token.type == "heading_open" else "paragraph"
        elif token.type == "inline":
            spans = tuple(_spans(token.children or []))
            content = "".join(span.text for span in spans)
            if is_break(content) or not content.strip():
                yield Block("break")
            else:
                yield Block(kind, spans)


def _spans(tokens: Iterable[Token]) -> Iterator[StyledSpan]:
    italic = bold = 0
    for token in tokens:
        if token.type in {"em_open", "em_close"}:
            italic += token.nesting
        elif token.type in {"strong_open", "strong_close"}:
            bold += token.nesting
        elif text := "\n" if token.type in {"softbreak", "hardbreak"} else token.content:
            yield StyledSpan(text, italic > 0, bold > 0)


def title_of(text: str) -> str:
    """The heading that a scene's text begins with, as a chapter's does; empty where it begins otherwise."""
    first = plain(clean(text)).partition("\n")[0]
    found = blocks(first) if first.startswith("#") else []
    return one_line(found[0].text) if found and found[0].kind == "heading" else ""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow to import, and most commands export nothing

    return MarkdownIt("zero").enable(["emphasis", "escape", "heading", "hr", "newline"])
