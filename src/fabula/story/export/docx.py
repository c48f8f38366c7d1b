"""Export of a story as a Word file (WordprocessingML, ECMA-376)."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from fabula.story.export import pages
from fabula.story.export.archive import pack
from fabula.story.export.prose import StyledSpan, clean

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta


_HEAD: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_W: Final = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_PARTS: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_CORE: Final = "application/vnd.openxmlformats-package.core-properties+xml"
_PROPERTY = 255  # characters: what Word takes in a core property
_CENTRED: Final = '<w:jc w:val="center"/>'
_LEVELS: Final = {name: f'<w:outlineLvl w:val="{level}"/>' for level, name in enumerate(pages.HEADINGS)}
_LOOKS: Final = {
    pages.BODY: '<w:ind w:firstLine="720"/>',
    pages.CONTACT: '<w:tabs><w:tab w:val="right" w:pos="9360"/></w:tabs><w:spacing w:line="240" w:lineRule="auto"/>',
}
_TYPES: Final = (
    f'<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{_PARTS}.document.main+xml"/>'
    f'<Override PartName="/word/styles.xml" ContentType="{_PARTS}.styles+xml"/>'
    f'<Override PartName="/word/settings.xml" ContentType="{_PARTS}.settings+xml"/>'
    f'<Override PartName="/word/header.xml" ContentType="{_PARTS}.header+xml"/>'
    f'<Override PartName="/docProps/core.xml" ContentType="{_CORE}"/></Types>'
)
_RELATIONS: Final = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{_OFFICE}/officeDocument" Target="word/document.xml"/>'
    f'<Relationship Id="r2" Type="{_PACKAGE}/relationships/metadata/core-properties" Target="docProps/core.xml"/>'
    "</Relationships>"
)
_OF_DOCUMENT: Final = (
    f'<Relationships xmlns="{_PACKAGE}/relationships">'
    + "".join(
        f'<Relationship Id="{n}" Type="{_OFFICE}/{n}" Target="{n}.xml"/>' for n in ("styles", "settings", "header")
    )
    + "</Relationships>"
)
_SETTINGS: Final = (  # else Word opens the file in a mode for older files
    f'<w:settings {_W}><w:compat><w:compatSetting w:name="compatibilityMode" '
    'w:uri="http://schemas.microsoft.com/office/word" w:val="15"/></w:compat></w:settings>'
)
_SECTION: Final = (
    '<w:sectPr><w:headerReference w:type="default" r:id="header"/><w:pgSz w:w="12240" w:h="15840"/><w:pgMar '
    'w:top="1440" w:right="1440" w:bottom="1440" w:left="1440" w:header="720" w:footer="720" w:gutter="0"/>'
    "<w:titlePg/></w:sectPr>"
)
_PAGE_NUMBER: Final = (  # "2" shows until the reader's program counts
    '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText xml:space="preserve"> PAGE </w:instrText></w:r>'
    '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>2</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
)


def render(story: Story, meta: Meta) -> bytes:
    """A manuscript as `pages` lays it out; its headings have outline levels, which Word's navigation shows.

    Raises:
        UsageError: the language is not a language tag.
    """
    body = "".join(map(_paragraph, pages.lines(story, meta)))
    files = {
        "[Content_Types].xml": _TYPES,
        "_rels/.rels": _RELATIONS,
        "docProps/core.xml": _core(meta),
        "word/_rels/document.xml.rels": _OF_DOCUMENT,
        "word/document.xml": f'<w:document {_W} xmlns:r="{_OFFICE}"><w:body>{body}{_SECTION}</w:body></w:document>',
        "word/header.xml": f'<w:hdr {_W}><w:p><w:pPr><w:pStyle w:val="{_id(pages.CONTACT)}"/><w:jc w:val="right"/>'
        f"</w:pPr>{_run(pages.header(meta))}{_PAGE_NUMBER}</w:p></w:hdr>",
        "word/settings.xml": _SETTINGS,
        "word/styles.xml": _styles(meta.language_tag()),
    }
    return pack({name: (_HEAD + text).encode() for name, text in files.items()}, first="[Content_Types].xml")


def _id(style: str) -> str:
    return style.replace(" ", "")


def _core(meta: Meta) -> str:
    title, subject, author = (
        escape(text[:_PROPERTY]) for text in (meta.plain_title, pages.shown(meta.subtitle), pages.shown(meta.author))
    )
    dates = "".join(
        f'<dcterms:{name} xsi:type="dcterms:W3CDTF">{meta.stamp()}</dcterms:{name}>' for name in ("created", "modified")
    )
    return (
        f'<cp:coreProperties xmlns:cp="{_PACKAGE}/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" '
        f'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><dc:title>{title}</dc:title><dc:subject>{subject}'
        f"</dc:subject><dc:creator>{author}</dc:creator><cp:lastModifiedBy>{author}</cp:lastModifiedBy>"
        f"<cp:revision>1</cp:revision><dc:language>{meta.language_tag()}</dc:language>{dates}</cp:coreProperties>"
    )


def _styles(language: str) -> str:
    font, tag = pages.eastern(language)
    eastern = f' w:eastAsia="{tag}"' if tag else ""
    own = "".join(
        f'<w:style w:type="paragraph" w:customStyle="{int(name not in _LEVELS)}" w:styleId="{_id(name)}"><w:name '
        f'w:val="{name}"/><w:basedOn w:val="Normal"/><w:pPr>{_LOOKS.get(name, _CENTRED)}{_LEVELS.get(name, "")}</w:pPr>'
        "</w:style>"
        for name in pages.STYLES
    )
    return (
        f'<w:styles {_W}><w:docDefaults><w:rPrDefault><w:rPr><w:rFonts w:ascii="{pages.FONT}" w:hAnsi="{pages.FONT}" '
        f'w:eastAsia="{font or pages.FONT}" w:cs="{pages.FONT}"/><w:sz w:val="24"/><w:szCs w:val="24"/>'
        f'<w:lang w:val="{language}"{eastern}/></w:rPr></w:rPrDefault></w:docDefaults>'
        '<w:style w:type="paragraph" w:default="1" w:styleId="Normal"><w:name w:val="Normal"/><w:pPr>'
        # Each page has the same number of lines, as editors expect.
        '<w:widowControl w:val="0"/><w:spacing w:before="0" w:after="0" w:line="480" w:lineRule="auto"/></w:pPr>'
        f"</w:style>{own}</w:styles>"
    )


def _paragraph(line: pages.Line) -> str:
    own = f'<w:pStyle w:val="{_id(line.style)}"/>'
    own += "<w:pageBreakBefore/>" if line.new_page else ""
    own += f'<w:spacing w:before="{20 * line.above}"/>' if line.above else ""
    return f"<w:p><w:pPr>{own}</w:pPr>{''.join(map(_span, line.spans))}</w:p>"


def _span(span: StyledSpan) -> str:
    style = "<w:b/>" * span.bold + "<w:i/>" * span.italic
    return _run(span.text, f"<w:rPr>{style}</w:rPr>" if style else "")


def _run(text: str, style: str = "") -> str:
    shown = escape(clean(text), quote=False)
    for sign, element in (("\n", "<w:br/>"), ("\t", "<w:tab/>")):
        shown = shown.replace(sign, f'</w:t>{element}<w:t xml:space="preserve">')
    return f'<w:r>{style}<w:t xml:space="preserve">{shown}</w:t></w:r>' if text else ""
