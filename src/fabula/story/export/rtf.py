"""Export of a story as Rich Text (RTF 1.9), which Scrivener and every word processor read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.story.export import pages
from fabula.story.export.prose import StyledSpan, clean

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta


_CENTRED: Final = r"\qc\sl480\slmult1"
_LOOKS: Final = {pages.BODY: r"\fi720\sl480\slmult1", pages.CONTACT: r"\tqr\tx9360"}
_SIGNS: Final = re.compile(r"[\\{}\n\t]|[^\x00-\x7f]")
_ESCAPED: Final = {"\n": r"\line ", "\t": r"\tab "}


def render(story: Story, meta: Meta) -> str:
    """A manuscript as `pages` lays it out; its headings have outline levels."""
    styles = "".join(f"{{{_style(name)} {name};}}" for name in pages.STYLES)
    body = "".join(map(_paragraph, pages.lines(story, meta)))
    font = pages.eastern(meta.language)[0] or pages.FONT
    made = meta.created_utc().strftime(r"{\creatim\yr%Y\mo%m\dy%d\hr%H\min%M}")
    about = f"{{\\info{{\\title {_text(meta.plain_title)}}}{{\\author {_text(pages.shown(meta.author))}}}{made}}}"
    return (
        f"{{\\rtf1\\ansi\\ansicpg1252\\uc1\\deff0{{\\fonttbl{{\\f0\\froman {font};}}}}\n"
        f"{{\\stylesheet{styles}}}\n{about}\n"
        "\\paperw12240\\paperh15840\\margl1440\\margr1440\\margt1440\\margb1440\\headery720\\titlepg\n"
        f"{{\\header\\pard\\qr\\f0\\fs24 {_text(pages.header(meta))}\\chpgn\\par}}\n{body}}}\n"
    )


def _style(name: str) -> str:
    return f"\\s{pages.STYLES.index(name) + 1}{_LOOKS.get(name, _CENTRED)}\\f0\\fs24"


def _paragraph(line: pages.Line) -> str:
    own = "\\pagebb" if line.new_page else ""
    own += f"\\sb{20 * line.above}" if line.above else ""
    own += f"\\outlinelevel{line.level - 1}" if line.level else ""
    return f"\\pard\\plain{_style(line.style)}{own} {''.join(map(_span, line.spans))}\\par\n"


def _span(span: StyledSpan) -> str:
    style = r"\b" * span.bold + r"\i" * span.italic
    return f"{{{style} {_text(span.text)}}}" if style else _text(span.text)


def _text(text: str) -> str:
    return _SIGNS.sub(_escaped, clean(text))


def _escaped(found: re.Match[str]) -> str:
    """A sign that Rich Text would read, or one beyond ASCII as its halves in UTF-16."""
    sign = found[0]
    if sign.isascii():
        return _ESCAPED.get(sign, f"\\{sign}")
    data = sign.encode("utf-16-le")
    return "".join(f"\\u{int.from_bytes(data[n : n + 2], 'little', signed=True)}\\'3f" for n in range(0, len(data), 2))
