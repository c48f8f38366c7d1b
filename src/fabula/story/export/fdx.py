"""Export of a story as a Final Draft script (.fdx): the elements of its Fountain, each a paragraph with its type."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from fabula.story import Story, one_line, plain
from fabula.story.export import fountain
from fabula.story.export.plain import as_written
from fabula.story.export.prose import clean, inline_tokens

if TYPE_CHECKING:
    from fabula.story.export.meta import Meta


_HIDDEN: Final = re.compile(r"/\*(?:(?!\*/|/\*).)*+\*/|\[\[(?:(?!\]\]|\[\[).)*+\]\]", re.DOTALL)
_FIELD: Final = re.compile(
    r"(?:title|credit|authors?|source|draft date|contact|notes|copyright|revision):", re.IGNORECASE
)
_BLOCKS: Final = re.compile(r"\n[ \t]*\n\s*")
_NUMBER: Final = re.compile(r"#([\w.-]{1,20})#\Z")
_ASIDE: Final = re.compile(r"\([^()\n]*\)")
_STYLES: Final = {"*": "Italic", "_": "Underline", "**": "Bold", "__": "Underline"}  # by Fountain's signs
_SIGNS: Final = ("#", "=")  # what a block begins with that Fountain does not print
_SPEAKER: Final = "Character"
_LEFT_OUT: Final = {"/": "cut passage", "[": "note", "#": "section", "=": "scene summary"}  # by their first signs


def render(story: Story, meta: Meta, *, is_fountain: bool = False) -> str:
    """A script with what Fountain prints: sections, synopses and notes are left out.

    With `is_fountain`, the texts are Fountain already.
    """
    text = as_written(story, "") if is_fountain else fountain.render(story, meta).decode()
    found = [block for block in _BLOCKS.split(plain(_HIDDEN.sub("", text))) if block]
    page = found.pop(0) if found and _FIELD.match(found[0]) else ""
    shown = [one_line(_FIELD.sub("", line)) for line in page.split("\n")]
    title = "".join(_paragraph("General", line, ' Alignment="Center"') for line in shown if line)
    script: list[str] = []
    is_speech = False  # whether the last one is a speech, beside which another one may be spoken
    for block in found:
        made = "".join(_paragraph(*one) for one in _elements(block))
        was_speech, is_speech = is_speech, made.startswith(f'<Paragraph Type="{_SPEAKER}"')
        if was_speech and is_speech and block.partition("\n")[0].endswith("^"):
            made, is_speech = f"<Paragraph><DualDialogue>{script.pop()}{made}</DualDialogue></Paragraph>", False
        script += [made] if made else []
    content = "\n".join(script)
    return (
        '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n<FinalDraft DocumentType="Script" Template="No" '
        f'Version="1">\n<Content>\n{content}\n</Content>\n<TitlePage><Content>{title}</Content></TitlePage>\n'
        "</FinalDraft>\n"
    )


def left_out(story: Story) -> Counter[str]:
    """How many things of each kind `render` leaves out of a story in Fountain."""
    text = as_written(story, "")
    blocks = [block for block in _BLOCKS.split(plain(_HIDDEN.sub("", text))) if not block.startswith("===")]
    signs = [found[0][0] for found in _HIDDEN.finditer(text)] + [block[0] for block in blocks if block[:1] in _SIGNS]
    return Counter(_LEFT_OUT[sign] for sign in signs)


def _elements(block: str) -> Iterator[tuple[str, str, str]]:
    """Type, text and attributes of the paragraphs of a block of Fountain."""
    first, *others = block.split("\n")
    rest = "\n".join(others)
    if fountain.is_heading(first) or re.match(r"\.(?!\.)", first):
        name = first.removeprefix(".").strip()
        number = _NUMBER.search(name)
        yield "Scene Heading", _NUMBER.sub("", name).strip(), f' Number="{escape(number[1])}"' if number else ""
    elif first.startswith(">"):
        is_centred = first.endswith("<")
        yield "Action" if is_centred else "Transition", first.strip("> <"), ' Alignment="Center"' * is_centred
    elif fountain.is_transition(first) and not others:
        yield "Transition", first, ""
    elif first[0] in _SIGNS:
        pass
    elif others and _is_cue(first):
        yield _SPEAKER, first.removeprefix("@").rstrip("^ "), ""
        yield from (
            ("Parenthetical" if _ASIDE.fullmatch(line) else "Dialogue", line.removeprefix("~").strip(), "")
            for line in map(str.strip, others)
            if line
        )
        return
    else:
        rest = "\n".join(line.removeprefix("!").removeprefix("~") for line in (first, *others))
    if rest:
        yield "Action", rest, ""


def _is_cue(line: str) -> bool:
    name = _ASIDE.sub("", line)
    return line.startswith("@") or (line[0] != "!" and name == name.upper() != name.lower())


def _paragraph(kind: str, text: str, attributes: str) -> str:
    return f'<Paragraph Type="{kind}"{attributes}>{"".join(_texts(text))}</Paragraph>'


def _texts(text: str) -> Iterator[str]:
    """The pieces of a paragraph, each in one style."""
    styles: list[str] = []
    for token in inline_tokens(clean(text)):
        if token.nesting and (style := _STYLES.get(token.markup)):
            styles = [*styles, style] if token.nesting > 0 else styles[:-1]
        elif content := "\n" if token.type in {"softbreak", "hardbreak"} else token.content:
            shown = "+".join(sorted({*styles}))
            named = f' Style="{shown}"' if shown else ""
            yield f"<Text{named}>{escape(content, quote=False)}</Text>"
