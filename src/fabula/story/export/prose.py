"""The text of a scene as blocks of styled spans, read from the Markdown subset that writers use, for all formats.

The subset consists of `*emphasis*`, `_emphasis_`, `**strong**`, headings, backslash escapes and scene separators.
Everything else (HTML, links, lists, code) is plain text and stays as it was typed.
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

    from fabula.story import Scene, Story

Kind: TypeAlias = Literal["paragraph", "heading", "break"]

_BLANK_CONTROL = re.compile(r"[\x0b\x0c\x85]")
_ILLEGAL = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BREAK = re.compile(r"\A[ \t]*[#*~•⁂=_·-][ \t#*~•⁂=_·-]*")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n\s*")
_BLANK_LINES = re.compile(r"\n{3,}")
_WRAP_AT_LEAST, _WRAP_AT_MOST = 60, 120


@dataclass(frozen=True, slots=True)
class StyledSpan:
    """A span of text in one style; a line end in the span is intended by the author."""

    text: str
    italic: bool = False
    bold: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading inside a scene with its level, or a scene break (without spans)."""

    kind: Kind
    spans: tuple[StyledSpan, ...] = ()
    level: int = 0

    @property
    def text(self) -> str:
        """The text of the block without styling."""
        return "".join(span.text for span in self.spans)


def clean(text: str) -> str:
    """`text` without characters that XML forbids or discourages; vertical tabs and similar characters become spaces."""
    return _ILLEGAL.sub("", _BLANK_CONTROL.sub(" ", text))


def without_comments(story: Story) -> Story:
    """`story` without `<!-- comments -->` (notes by authors or programs); an unclosed comment is treated as text."""
    if not any("<!--" in scene.text for scene in story.scenes):
        return story
    return replace(story, scenes=tuple(replace(scene, text=_uncommented(scene.text)) for scene in story.scenes))


def comments_in(text: str) -> Iterator[tuple[int, int]]:
    """Where the comments of a text begin and end."""
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        at = end + 3
        yield start, at


def _uncommented(text: str) -> str:
    kept, at = [], 0
    for start, end in comments_in(text):
        kept.append(text[at:start])
        at = end
        alone = not kept[-1].rpartition("\n")[2].strip()
        if alone and text[at : at + 1] == "\n":
            at += 1
    return plain(_BLANK_LINES.sub("\n\n", "".join([*kept, text[at:]])))


def is_break(line: str) -> bool:
    """Whether a line consists only of scene separators: `***`, `* * *`, `---`, `#`, `~`, `⁂`."""
    return bool(_BREAK.fullmatch(line))


def paragraphs(text: str) -> list[str]:
    """The paragraphs of a text, which are separated by blank lines and otherwise unchanged."""
    return [piece for piece in _PARAGRAPHS.split(text.strip("\n")) if piece.strip()]


def unfold(paragraph: str) -> str:
    """`paragraph` without an editor's line ends; the author's own line ends are kept.

    An editor breaks a line only if the next word does not fit. A line end is therefore removed if the line and the
    first word of the next line together would be longer than the longest line of the paragraph. The longest line counts
    as at least 60 characters, and lines of more than 120 are ignored. In verse, dialogue and lists, line ends are kept.
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


def chapters(story: Story) -> list[tuple[Scene, list[Block]]]:
    """Each scene that has blocks, with these; a break at the end of a scene stays if another scene follows."""
    found = [(scene, made) for scene in story.scenes if (made := _blocks(scene.text))]
    return [*found[:-1], *((scene, _without_ending(made)) for scene, made in found[-1:])]


def blocks(text: str) -> list[Block]:
    """The blocks of a scene's text in order, without repeated breaks and without breaks at the beginning or end."""
    return _without_ending(_blocks(text))


def _without_ending(found: list[Block]) -> list[Block]:
    return found[:-1] if found and found[-1].kind == "break" else found


def _blocks(text: str) -> list[Block]:
    source = "\n\n".join(unfold(paragraph) for paragraph in paragraphs(plain(clean(text))))
    found: list[Block] = []
    for block in _read(_parser().parse(source)):
        if block.kind == "break" and (not found or found[-1].kind == "break"):
            continue
        found.append(block)
    return found


def _read(tokens: list[Token]) -> Iterator[Block]:
    kind: Kind = "paragraph"
    level = 0
    for token in tokens:
        if token.type == "hr":
            yield Block("break")
        elif token.type.endswith("_open"):
            kind = "heading" if token.type == "heading_open" else "paragraph"
            level = int(token.tag[1:]) if kind == "heading" else 0
        elif token.type == "inline":
            spans = tuple(_spans(token.children or []))
            content = "".join(span.text for span in spans)
            if is_break(content) or not content.strip():
                yield Block("break")
            else:
                yield Block(kind, spans, level)


def _spans(tokens: Iterable[Token]) -> Iterator[StyledSpan]:
    italic = bold = 0
    for token in tokens:
        if token.type in {"em_open", "em_close"}:
            italic += token.nesting
        elif token.type in {"strong_open", "strong_close"}:
            bold += token.nesting
        elif text := "\n" if token.type in {"softbreak", "hardbreak"} else token.content:
            yield StyledSpan(text, italic > 0, bold > 0)


def inline(text: str) -> tuple[StyledSpan, ...]:
    """The spans of a line of Markdown, such as a title."""
    return tuple(_spans(inline_tokens(one_line(clean(text)))))


def inline_tokens(text: str) -> list[Token]:
    """The tokens of a text without blocks."""
    return [child for token in _parser().parseInline(text) for child in token.children or []]


def title_of(text: str) -> str:
    """The heading at the beginning of a scene's text, as at the start of a chapter; empty if there is none."""
    first = plain(clean(text)).partition("\n")[0]
    found = blocks(first) if first.startswith("#") else []
    return one_line(found[0].text) if found and found[0].kind == "heading" else ""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # noqa: PLC0415 - slow to import, and most commands export nothing

    return MarkdownIt("zero").enable(["emphasis", "escape", "heading", "hr", "newline"])
