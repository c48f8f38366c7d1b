"""Export of a story as a Word file in William Shunn's standard manuscript format (https://www.shunn.net/format/)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from fabula.base.extras import require
from fabula.story import one_line
from fabula.story.export.archive import pack, unpack
from fabula.story.export.prose import StyledSpan, blocks, clean
from fabula.story.printed import printed

if TYPE_CHECKING:
    from docx.document import Document
    from docx.styles.style import ParagraphStyle
    from docx.text.paragraph import Paragraph

    from fabula.story import Story
    from fabula.story.export.meta import Meta

_HAN_FONTS = {"ja": "MS Mincho", "ko": "Batang", "zh": "SimSun", "zh-Hant": "PMingLiU"}
_WORD_TAGS = {"ja": "ja-JP", "ko": "ko-KR", "zh": "zh-CN", "zh-Hant": "zh-TW"}
_BODY, _CENTRED, _CONTACT = "Manuscript Body", "Manuscript Centred", "Manuscript Contact"
_TITLE, _BYLINE, _END = "Manuscript Title", "Manuscript Byline", "Manuscript End"  # by which `fabula import` knows them
_TITLE_AT = 4.5  # inches below the top margin: the middle of a letter page
_CONTACT_LINE = 13.8  # points: a line of 12-point Times at single spacing
_HEADER_TITLE = 30  # characters: the header has one line
_PROPERTY = 255  # characters: what Word takes in a core property
_ROUND = 100


def render(story: Story, meta: Meta, *, font: str = "Times New Roman", underline: bool = False) -> bytes:
    """A manuscript in 12-point type, double-spaced, on letter paper with one-inch margins and half-inch indents.

    The first page contains the address block, the word count, the title (in the middle of the page) and the byline.
    Later pages have a header with surname, title and page number. Scene breaks are centred `#` marks, and the last line
    is "END". These words are in the language of the story, and Chinese, Japanese and Korean have their own fonts.
    Emphasis is italic, or, for markets that require it, underlined.

    Raises:
        UsageError: the language is not a language tag, or the extra `docx` is not installed.
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
    document.add_paragraph(printed(meta.language).end, _END)
    target = io.BytesIO()
    document.save(target)
    # Packed again, since python-docx stamps the files inside with the present time.
    return pack(unpack(target.getvalue()), first="[Content_Types].xml")


def rounded(words: int) -> int:
    """A word count as usual in manuscripts: rounded to the nearest 100 (halves up), or exact if it is below 50."""
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
    eastern = _eastern(language)
    fonts = {"w:eastAsia": _HAN_FONTS.get(eastern, font), "w:cs": font}
    for script, name in fonts.items():  # else Word takes the theme's font for other scripts
        normal.element.rPr.rFonts.set(qn(script), name)
    for tag in document.styles.element.iter(qn("w:lang")):
        tag.set(qn("w:val"), language)
        tag.attrib.pop(qn("w:eastAsia"), None)
        if eastern:
            tag.set(qn("w:eastAsia"), _WORD_TAGS[eastern])
    spacing = normal.paragraph_format
    spacing.line_spacing, spacing.space_before, spacing.space_after = 2.0, Pt(0), Pt(0)
    spacing.widow_control = False  # each page has the same number of lines, as editors expect
    _style(document, _BODY).paragraph_format.first_line_indent = Inches(0.5)
    for name in (_CENTRED, _TITLE, _BYLINE, _END):
        _style(document, name).paragraph_format.alignment = WD_ALIGN_PARAGRAPH.CENTER
    _style(document, _CONTACT).paragraph_format.line_spacing = 1.0


def _eastern(language: str) -> str:
    """The writing of a language for which Word has other fonts; empty for all others."""
    base = language.partition("-")[0].lower()
    traditional = base == "zh" and printed(language) == printed("zh-Hant")
    return "zh-Hant" if traditional else base if base in _HAN_FONTS else ""


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
    title = _line(meta.title) or printed(meta.language).untitled
    if len(title) > _HEADER_TITLE:
        title = title[:_HEADER_TITLE].rpartition(" ")[0] or title[:_HEADER_TITLE]
    surname = _line(meta.author).rpartition(" ")[2]
    return "".join(f"{part} / " for part in (surname, title.upper()) if part)


def _first_page(document: Document, meta: Meta) -> None:
    from docx.enum.text import WD_TAB_ALIGNMENT  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.shared import Inches, Pt  # noqa: PLC0415 - an extra, loaded where it is used

    lines = [line for line in map(_line, (meta.contact or meta.author).splitlines()) if line] or [""]
    words = printed(meta.language)
    lines[0] += "\t" + words.about.format(f"{rounded(meta.words):,}".replace(",", words.comma))
    for line in lines:
        paragraph = document.add_paragraph(line, _CONTACT)
        paragraph.paragraph_format.tab_stops.add_tab_stop(Inches(6.5), WD_TAB_ALIGNMENT.RIGHT)
    title = document.add_paragraph(_line(meta.title) or words.untitled, _TITLE)
    above = Inches(_TITLE_AT).pt - _CONTACT_LINE * len(lines)
    title.paragraph_format.space_before = Pt(max(24, round(above)))
    if subtitle := _line(meta.subtitle):
        document.add_paragraph(subtitle, _BYLINE)
    if author := _line(meta.author):
        document.add_paragraph(words.by.format(author), _BYLINE)
    document.add_paragraph("", _CENTRED)


def _body(document: Document, story: Story, *, underline: bool) -> None:
    scenes = [found for scene in story.scenes if (found := blocks(scene.text))]
    ids = {name: document.styles[name].style_id for name in (_BODY, _CENTRED)}  # searched for once, which is slow
    for number, scene in enumerate(scenes):
        if number and scene[0].kind != "heading":
            document.add_paragraph("#", _CENTRED)
        for block in scene:
            if block.kind == "break":
                document.add_paragraph("#", _CENTRED)
                continue
            paragraph = document.add_paragraph()
            paragraph._p.style = ids[_BODY if block.kind == "paragraph" else _CENTRED]  # noqa: SLF001 - takes no id
            if number and block is scene[0] and block.kind == "heading":
                paragraph.paragraph_format.page_break_before = True  # a chapter begins on a page of its own
            if block.kind == "heading":
                _set_outline_level(paragraph, max(block.level - 2, 0))  # below the title's
            for span in block.spans:
                _add_span(paragraph, span, underline=underline)


def _set_outline_level(paragraph: Paragraph, level: int) -> None:
    """Make a paragraph a heading for Word's navigation, without another look."""
    from docx.oxml import OxmlElement  # noqa: PLC0415 - an extra, loaded where it is used
    from docx.oxml.ns import qn  # noqa: PLC0415 - an extra, loaded where it is used

    element = OxmlElement("w:outlineLvl")
    element.set(qn("w:val"), str(level))
    paragraph._p.get_or_add_pPr().append(element)  # noqa: SLF001 - python-docx has no call for outline levels


def _add_span(paragraph: Paragraph, span: StyledSpan, *, underline: bool) -> None:
    run = paragraph.add_run(span.text)
    if span.italic:
        run.underline, run.italic = (True, None) if underline else (None, True)
    if span.bold:
        run.bold = True
