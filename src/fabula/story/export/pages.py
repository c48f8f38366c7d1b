"""A story in William Shunn's standard manuscript format (https://www.shunn.net/format/), for all word processors.

12-point type, double-spaced, on letter paper with one-inch margins and half-inch indents. The first page has the
address block, the word count, the title in the middle of the page, and the byline. Later pages have a header with
surname, title and page number. Scene breaks are centred `#` marks, and the last line is "END". These words are in the
language of the story, and Chinese, Japanese and Korean have their own fonts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.story import Story, one_line
from fabula.story.export.prose import StyledSpan, chapters, clean, inline
from fabula.story.printed import printed

if TYPE_CHECKING:
    from fabula.story.export.meta import Meta


FONT: Final = "Times New Roman"
BODY, CENTRED, CONTACT = "Manuscript Body", "Manuscript Centred", "Manuscript Contact"
TITLE, BYLINE, END = "Manuscript Title", "Manuscript Byline", "Manuscript End"
HEADINGS: Final = tuple(f"heading {level}" for level in range(1, 7))  # Word's own, for its navigation and for others
STYLES: Final = (BODY, CENTRED, CONTACT, TITLE, BYLINE, END, *HEADINGS)
"""The names of the styles, by which `fabula import` knows headings, a title and what is no text."""
_EASTERN: Final = {
    "ja": ("MS Mincho", "ja-JP"),
    "ko": ("Batang", "ko-KR"),
    "zh": ("SimSun", "zh-CN"),
    "zh-Hant": ("PMingLiU", "zh-TW"),
}
_TITLE_AT = 4.5 * 72  # points below the top margin: the middle of a letter page
_CONTACT_LINE = 13.8  # points: a line of 12-point Times at single spacing
_HEADER_TITLE = 30  # characters: the header has one line
_ROUND = 100


@dataclass(frozen=True, slots=True)
class Line:
    """A paragraph: its style, its text, the outline level of a heading from 1, its page, and the points above it."""

    style: str
    spans: tuple[StyledSpan, ...]
    level: int = 0
    new_page: bool = False
    above: int = 0


def lines(story: Story, meta: Meta) -> Iterator[Line]:
    """The paragraphs of a manuscript."""
    yield from _first_page(meta)
    scenes = [found for _, found in chapters(story)]
    above = min((block.level for scene in scenes for block in scene if block.kind == "heading"), default=1) - 1
    for number, scene in enumerate(scenes):
        if number and scene[0].kind != "heading" and scenes[number - 1][-1].kind != "break":
            yield _line(CENTRED, "#")
        for block in scene:
            if block.kind == "break":
                yield _line(CENTRED, "#")
            elif block.kind == "paragraph":
                yield Line(BODY, block.spans)
            else:  # a chapter begins on a page of its own
                level, begins = block.level - above, number > 0 and block is scene[0]
                yield Line(HEADINGS[level - 1], block.spans, level, new_page=begins)
    yield _line(END, printed(meta.language).end)


def _line(style: str, text: str) -> Line:
    return Line(style, (StyledSpan(text),))


def _first_page(meta: Meta) -> Iterator[Line]:
    contact = [line for line in map(shown, (meta.contact or meta.author).splitlines()) if line] or [""]
    words = printed(meta.language)
    contact[0] += "\t" + words.about.format(f"{rounded(meta.words):,}".replace(",", words.comma))
    yield from (_line(CONTACT, line) for line in contact)
    title, above = inline(meta.title), max(24, round(_TITLE_AT - _CONTACT_LINE * len(contact)))
    yield Line(TITLE if title else BYLINE, title or (StyledSpan(words.untitled),), above=above)
    if subtitle := shown(meta.subtitle):
        yield _line(BYLINE, subtitle)
    if author := shown(meta.author):
        yield _line(BYLINE, words.by.format(author))
    yield _line(CENTRED, "")


def rounded(words: int) -> int:
    """A word count as usual in manuscripts: rounded to the nearest 100 (halves up), or exact if it is below 50."""
    return (words + _ROUND // 2) // _ROUND * _ROUND or words


def shown(text: str) -> str:
    """`text` on one line, of characters that XML allows."""
    return one_line(clean(text))


def header(meta: Meta) -> str:
    """`Surname / TITLE / `, before the page's number; the title is cut at a word where it is long."""
    title = meta.plain_title or printed(meta.language).untitled
    if len(title) > _HEADER_TITLE:
        title = title[:_HEADER_TITLE].rpartition(" ")[0] or title[:_HEADER_TITLE]
    surname = shown(meta.author).rpartition(" ")[2]
    return "".join(f"{part} / " for part in (surname, title.upper()) if part)


def eastern(language: str) -> tuple[str, str]:
    """The font and the full tag of a language that word processors write in a font of its own; else empty texts."""
    base = language.partition("-")[0].lower()
    traditional = base == "zh" and printed(language) == printed("zh-Hant")
    return _EASTERN.get("zh-Hant" if traditional else base, ("", ""))
