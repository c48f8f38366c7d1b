"""Export of a story as a Fountain screenplay (syntax 1.1, fountain.io/syntax), plain text for screenwriting programs.

Each scene becomes a scene heading followed by the scene's text. A text with its own heading (`INT.`, `EXT/INT` and
similar) keeps that heading; otherwise the scene's label becomes a forced heading. A paragraph whose first line is a
speaker's name in capitals is dialogue. All other text is action, forced or escaped if Fountain would interpret it
differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeAlias

from fabula.story import Story, one_line, plain
from fabula.story.export.meta import Meta, title_for_readers
from fabula.story.export.prose import Block, StyledSpan, blocks, title_of
from fabula.story.printed import printed

Line: TypeAlias = "list[StyledSpan]"

_HEADING: Final = re.compile(r"(?:INT\.?/EXT|EXT\.?/INT|INT|EXT|EST|I/E)[. ]\s*[^\W_].*", re.IGNORECASE)
_CUE: Final = re.compile(r"(?P<name>[^a-z()^:!?\n]{1,40}?)\s*(?P<aside>\([^()\n]{1,40}\))?:?")
_STOP: Final = re.compile(r"[.\u2026,;][\"'\u2019\u201d]?$")
_ABBREVIATED: Final = re.compile(r"\b(?:MR|MRS|MS|DR|ST|JR|SR|[A-Z])\.$")
_MARKED: Final = re.compile(r"[!@.>~=#]")  # a first character that makes something else of a line
_TRANSITION: Final = re.compile(r"\A[^a-z\n]*\bTO:")
_SIGNS: Final = re.compile(r"[\\*_]")


def render(story: Story, meta: Meta) -> bytes:
    """A title page, scene headings, action and dialogue in UTF-8, with one blank line between elements.

    Emphasis is kept; characters that would turn plain text into emphasis, notes or comments are escaped.
    """
    parts = [_title_page(meta)]
    for scene in story.scenes:
        parts += _scene(title_for_readers(scene.label, meta.language), plain(scene.text))
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _title_page(meta: Meta) -> str:
    """The fields that have a value. There always is one, so that no program takes the first lines for it."""
    title = one_line(" - ".join(text for text in (meta.title, meta.subtitle) if text.strip()))
    author = one_line(meta.author)
    fields = {
        "Title": title,
        "Credit": printed(meta.language).by.format("").strip() if author else "",
        "Author": author,
        "Draft date": meta.created_utc().strftime("%Y-%m-%d"),
        "Contact": plain(meta.contact),
    }
    return "\n".join(_field(name, value) for name, value in fields.items() if value.strip())


def _field(name: str, value: str) -> str:
    """A field of the title page; a value of several lines is indented below the field's name."""
    lines = [one_line(line) for line in value.split("\n") if line.strip()]
    return f"{name}: {lines[0]}" if len(lines) == 1 else "\n".join([f"{name}:", *(f"   {line}" for line in lines)])


def _scene(label: str, text: str) -> Iterator[str]:
    """The elements of a scene, its heading first: that of its text, or its label for readers."""
    found, title = blocks(text), title_of(text)
    shown = title or label
    if not (found and is_heading(found[0].text)) and (name := _forced(shown)):
        yield name
        found = found[1:] if title else found
    for block in found:
        yield _element(block)


def _forced(label: str) -> str:
    """A label as a forced heading: a dot, and a letter or digit after it; empty if it has none."""
    name = re.sub(r"\A[\W_]+", "", one_line(label).replace("#", ""))
    return f".{name.upper()}" if name else ""


def is_heading(text: str) -> bool:
    """Whether a line is a scene heading."""
    return bool(_HEADING.fullmatch(text.strip()))


def is_transition(line: str) -> bool:
    """Whether a line of capitals is a transition: `CUT TO:`."""
    return bool(_TRANSITION.fullmatch(line))


def _element(block: Block) -> str:
    """A block as Fountain has it."""
    if block.kind == "break":
        return "> * * * <"
    lines = _lines(block)
    if block.kind == "heading":
        return f"> {' '.join(map(_written, lines))} <"
    texts = ["".join(span.text for span in line) for line in lines]
    if len(texts) == 1 and (is_heading(texts[0]) or is_transition(texts[0])):
        return texts[0].upper()
    if len(texts) > 1 and (cue := _cue(texts[0])):
        return "\n".join([cue, *(_speech(_written(line)) for line in lines[1:])])
    force = "!" if any(map(is_misread, texts)) else ""
    return "\n".join(force + _written(line) for line in lines)


def _lines(block: Block) -> list[Line]:
    """The lines of a block that hold text, without blanks at either end; emphasis never goes over a line's end."""
    lines: list[Line] = [[]]
    for span in block.spans:
        first, *others = span.text.split("\n")
        for number, text in enumerate((first, *others)):
            if number:
                lines.append([])
            if text:
                lines[-1].append(StyledSpan(text, span.italic, span.bold))
    trimmed = [_trimmed(line) for line in lines]
    return [line for line in trimmed if line]


def _trimmed(line: Line) -> Line:
    whole = "".join(span.text for span in line)
    left, right = len(whole) - len(whole.lstrip()), len(whole.rstrip())
    kept, at = [], 0
    for span in line:
        text = span.text[max(left - at, 0) : max(right - at, 0)]
        at += len(span.text)
        if text:
            kept.append(StyledSpan(text, span.italic, span.bold))
    return kept


def _written(line: Line) -> str:
    """A line with Fountain's signs for emphasis, and its own signs escaped."""
    return "".join(_emphasised(span) for span in line)


def _emphasised(span: StyledSpan) -> str:
    text = _SIGNS.sub(lambda sign: f"\\{sign.group()}", span.text).replace("[[", "[ [").replace("]]", "] ]")
    sign = "*" * (span.italic + 2 * span.bold)
    inner = text.strip()
    return text.replace(inner, f"{sign}{inner}{sign}", 1) if inner and sign else text


def _cue(line: str) -> str:
    """A character cue for a line that names a speaker in capitals; empty for any other."""
    found = _CUE.fullmatch(line)
    name = found["name"].strip() if found else ""
    loud = name == name.upper() and name != name.lower()
    if not found or not loud or is_heading(line) or is_transition(line) or name[0] in "\"'\u201c\u2018":
        return ""
    if _STOP.search(name) and not _ABBREVIATED.search(name):
        return ""
    cue = f"{name} {found['aside']}" if found["aside"] else name
    # A cue has a letter from A to Z, and none of the signs first; behind an @ any name is one.
    return cue if re.search("[A-Z]", name) and not _MARKED.match(name) else f"@{cue.lstrip('@')}"


def _speech(line: str) -> str:
    """A line of dialogue; a tilde would make it a line of a song."""
    return f"\\{line}" if line.startswith("~") else line


def is_misread(line: str) -> bool:
    """Whether a line of action needs a `!` to be one: it has a sign first, or is loud as cues and headings are."""
    return bool(_MARKED.match(line)) or is_heading(line) or (line == line.upper() and line != line.lower())
