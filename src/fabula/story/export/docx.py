"""A story as a Word file in standard manuscript format, as William Shunn describes it (https://www.shunn.net/format/)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fabula.base.extras import require
from fabula.story import one_line
from fabula.story.export.archive import pack, unpack
from fabula.story.export.prose import StyledSpan, blocks, clean

if TYPE_CHECKING:
    from docx.document import Document
    from docx.styles.style import ParagraphStyle
    from docx.text.paragraph import Paragraph

    from fabula.story import Story
    from fabula.story.export.meta import Meta

_UNTITLED = "Untitled"
_BODY, _CENTRED, _CONTACT = "Manuscript Body", "Manuscript Centred", "Manuscript Contact"
_TITLE_AT = 4.5  # inches below the top margin: the middle of a letter page
_CONTACT_LINE = 13.8  # points: a line of 12-point Times at single spacing
_HEADER_TITLE = 30  # characters: the header has one line
_PROPERTY = 255  # characters: what Word takes in a core property
_ROUND = 100


def render(story: Story, meta: Meta, *, font: str = "Times New Roman", underline: bool = False) -> bytes:
    """A manuscript: 12 point, double-spaced, one-inch margins on letter paper, first lines indented by half an inch.

    The first page has the address block and the word count, the title in its middle, and the byline; later pages have
    a header with surname, title and page number. Scene breaks are a centred `#`; the last line is "END". Emphasis is
    italic, or underlined for markets that ask for it.

    Raises:
        UsageError: the language is no language tag, or the extra `docx` is not installed.
    """
    require("docx", "docx", "A Word file")
    from docx import Document  # noqa: PLC0415 - slow to import, and most commands export nothing

    document = Document()
    _drop_thumbnail(document)
    _set_properties(document, meta)
    _set_styles(document, font, meta.language_tag())
    _set_page(document, _header_text(meta))
    _first_page(document, meta)
    _body(document, story, underline=underline)
    target = io.BytesIO()
    document.save(target)
    # Packed again, since python-docx stamps the files inside with the present time.
    return pack(unpack(target.getvalue()), first="[Content_Types].xml")


def rounded(words: int) -> int:
    """A word count as manuscripts state it: to the nearest 100, halves upwards; below 50 as it is."""
    return (words + _ROUND // 2) // _ROUND * _ROUND or words


def _line(text: str) -> str:
    return one_line(clean(text))


def _drop_thumbnail(document: Document) -> None:
    """Take out the picture of another document that python-docx's template carries."""
    from docx.opc.constants import RELATIONSHIP_TYPE  # noqa: PLC0415 - an extra, loaded where it is used

    relations = document.part.package.rels
    for key in [key for key, relation in relations.items() if relation.reltype == RELATIONSHIP_TYPE.THUMBNAIL]:
        del relations[key]


def _set_properties(document: Document, meta: Meta) -> None:
    properties, made = document.core_properties, meta.created_utc().replace(tzinfo=None)
    properties.title = _line(meta.title)[:_PROPERTY]
    properties.subject = _line(meta.subtitle)[:_PROPERTY]
    properties.author = properties.last_modified_by = _line(meta.author)[:_PROPERTY]
    properties.language = meta.language_tag()
    properties.created = properties.modified = made
    properties.comments = ""
    properties.revision = 1


def _set_styles(document: Document, font: str, language: str) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.oxml.ns import qn  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.shared import Inches, Pt  # noqa: PLC0415 - an extra, loaded where it is used

    normal = document.styles["Normal"]
    normal.font.name, normal.font.size = font, Pt(12)
    for script in ("w:eastAsia", "w:cs"):  # else Word takes the theme's font for other scripts
        normal.element.rPr.rFonts.set(qn(script), font)
    for tag in document.styles.element.iter(qn("w:lang")):
        tag.set(qn("w:val"), language)
    spacing = normal.paragraph_format
    spacing.line_spacing, spacing.space_before, spacing.space_after = 2.0, Pt(0), Pt(0)
    spacing.widow_control = False  # each page has the same number of lines, as editors expect
    _style(document, _BODY).paragraph_format.first_line_indent = Inches(0.5)
    _style(document, _CENTRED).paragraph_format.alignment = WD_ALIGN_PARAGRAPH.CENTER
    _style(document, _CONTACT).paragraph_format.line_spacing = 1.0


def _style(document: Document, name: str) -> ParagraphStyle:
    from docx.enum.style import WD_STYLE_TYPE  # noqa: PLC0415 - an extra, loaded where it is used

    style: ParagraphStyle = document.styles.add_style(name, WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = document.styles["Normal"]
    return style


def _set_page(document: Document, header: str) -> None:
    from docx.enum.text import WD_ALIGN_PARAGRAPH  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.shared import Inches  # noqa: PLC0415 - an extra, loaded where it is used

    section = document.sections[0]
    section.page_width, section.page_height = Inches(8.5), Inches(11)
    section.left_margin = section.right_margin = section.top_margin = section.bottom_margin = Inches(1)
    section.header_distance = Inches(0.5)
    section.different_first_page_header_footer = True
    paragraph = section.header.paragraphs[0]
    paragraph.style = document.styles[_CONTACT]
    paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    paragraph.add_run(header)
    _add_page_number(paragraph)


def _add_page_number(paragraph: Paragraph) -> None:
    """Add a PAGE field; "2" shows until the reader's program counts."""
    from docx.oxml import OxmlElement  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.oxml.ns import qn  # noqa: PLC0415 - an extra, loaded where it is used

    for kind in ("begin", "instruction", "separate", "text", "end"):
        run = paragraph.add_run("2" if kind == "text" else None)
        if kind == "instruction":
            element = OxmlElement("w:instrText")
            element.text = " PAGE "
            run._r.append(element)  # noqa: SLF001 - python-docx has no call for fields
        elif kind != "text":
            element = OxmlElement("w:fldChar")
            element.set(qn("w:fldCharType"), kind)
            run._r.append(element)  # noqa: SLF001 - python-docx has no call for fields


def _header_text(meta: Meta) -> str:
    """`Surname / TITLE / `, the title cut at a word where it is long."""
    title = _line(meta.title) or _UNTITLED
    if len(title) > _HEADER_TITLE:
        title = title[:_HEADER_TITLE].rpartition(" ")[0] or title[:_HEADER_TITLE]
    surname = _line(meta.author).rpartition(" ")[2]
    return "".join(f"{part} / " for part in (surname, title.upper()) if part)


def _first_page(document: Document, meta: Meta) -> None:
    from docx.enum.text import WD_TAB_ALIGNMENT  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.shared import Inches, Pt  # noqa: PLC0415 - an extra, loaded where it is used

    lines = [line for line in map(_line, (meta.contact or meta.author).splitlines()) if line] or [""]
    lines[0] += f"\tabout {rounded(meta.words):,} words"
    for line in lines:
        paragraph = document.add_paragraph(line, _CONTACT)
        paragraph.paragraph_format.tab_stops.add_tab_stop(Inches(6.5), WD_TAB_ALIGNMENT.RIGHT)
    title = document.add_paragraph(_line(meta.title) or _UNTITLED, _CENTRED)
    above = Inches(_TITLE_AT).pt - _CONTACT_LINE * len(lines)
    title.paragraph_format.space_before = Pt(max(24, round(above)))
    if subtitle := _line(meta.subtitle):
        document.add_paragraph(subtitle, _CENTRED)
    if author := _line(meta.author):
        document.add_paragraph(f"by {author}", _CENTRED)
    document.add_paragraph("", _CENTRED)


def _body(document: Document, story: Story, *, underline: bool) -> None:
    scenes = [found for scene in story.scenes if (found := blocks(scene.text))]
    for number, scene in enumerate(scenes):
        if number and scene[0].kind != "heading":
            document.add_paragraph("#", _CENTRED)
        for block in scene:
            if block.kind == "break":
                document.add_paragraph("#", _CENTRED)
                continue
            paragraph = document.add_paragraph(style=_BODY if block.kind == "paragraph" else _CENTRED)
            if number and block is scene[0] and block.kind == "heading":
                paragraph.paragraph_format.page_break_before = True  # a chapter begins on a page of its own
            for span in block.spans:
                _add_span(paragraph, span, underline=underline)
    document.add_paragraph("END", _CENTRED)


def _add_span(paragraph: Paragraph, span: StyledSpan, *, underline: bool) -> None:
    run = paragraph.add_run(span.text)
    if span.italic:
        run.underline, run.italic = (True, None) if underline else (None, True)
    if span.bold:
        run.bold = True
