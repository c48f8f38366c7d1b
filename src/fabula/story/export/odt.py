"""Export of a story as an OpenDocument text, for LibreOffice and others (ODF 1.3, OASIS)."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from fabula.story.export import pages
from fabula.story.export.archive import pack
from fabula.story.export.prose import StyledSpan, clean

if TYPE_CHECKING:
    from fabula.story import Story
    from fabula.story.export.meta import Meta


_TYPE: Final = "application/vnd.oasis.opendocument.text"
_SPACES: Final = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{place}:1.0"'
    for name, place in (
        ("office", "office"), ("text", "text"), ("style", "style"), ("manifest", "manifest"), ("meta", "meta"),
        ("fo", "xsl-fo-compatible"), ("svg", "svg-compatible"),
    )
)  # fmt: skip
_LOOKS: Final = {
    pages.BODY: '<style:paragraph-properties fo:text-indent="0.5in"/>',
    pages.CONTACT: '<style:paragraph-properties fo:line-height="100%"><style:tab-stops><style:tab-stop '
    'style:position="6.5in" style:type="right"/></style:tab-stops></style:paragraph-properties>',
}
_CENTRED: Final = '<style:paragraph-properties fo:text-align="center"/>'
_EMPHASIS: Final = {"I": 'fo:font-style="italic"', "B": 'fo:font-weight="bold"'}
_LAYOUT: Final = (
    '<style:page-layout style:name="Letter"><style:page-layout-properties fo:page-width="8.5in" '
    'fo:page-height="11in" fo:margin-top="{top}in" fo:margin-bottom="1in" fo:margin-left="1in" fo:margin-right="1in"/>'
    '<style:header-style><style:header-footer-properties fo:min-height="0.5in"/></style:header-style>'
    "</style:page-layout>"
)
_BLANKS: Final = re.compile(r"(?<=[ \t\n]) +|\t|\n")


def render(story: Story, meta: Meta) -> bytes:
    """A manuscript as `pages` lays it out; its headings have outline levels, which the Navigator shows.

    Raises:
        UsageError: the language is not a language tag.
    """
    lines = [*pages.lines(story, meta)]
    body = "".join(_paragraph(line, number) for number, line in enumerate(lines))
    # A style of its own for each paragraph that differs from its style by its page or the space above it.
    own = "".join(_own_style(line, number) for number, line in enumerate(lines) if _differs(line, number))
    spans = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties '
        f"{' '.join(_EMPHASIS[one] for one in name)}/></style:style>"
        for name in ("I", "B", "BI")
    )
    listed = "".join(
        f'<manifest:file-entry manifest:full-path="{name}" manifest:media-type="{kind}"/>'
        for name, kind in (
            ("/", _TYPE),
            ("content.xml", "text/xml"),
            ("meta.xml", "text/xml"),
            ("styles.xml", "text/xml"),
        )
    )
    files = {
        "META-INF/manifest.xml": f'<manifest:manifest {_SPACES} manifest:version="1.3">{listed}</manifest:manifest>',
        "content.xml": _document("content", f"<office:automatic-styles>{own}{spans}</office:automatic-styles>"
                                 f"<office:body><office:text>{body}</office:text></office:body>"),
        "meta.xml": _document("meta", _about(meta)),
        "styles.xml": _document("styles", _styles(meta)),
    }  # fmt: skip
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    packed = {"mimetype": _TYPE.encode()} | {name: (head + text).encode() for name, text in files.items()}
    return pack(packed, first="mimetype", stored=True)


def _document(kind: str, content: str) -> str:
    return f'<office:document-{kind} {_SPACES} office:version="1.3">{content}</office:document-{kind}>'


def _about(meta: Meta) -> str:
    author, made = escape(pages.shown(meta.author)), meta.stamp()
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    return (
        f"<office:meta {dc}><dc:title>{escape(meta.plain_title)}</dc:title><dc:subject>"
        f"{escape(pages.shown(meta.subtitle))}</dc:subject><meta:initial-creator>{author}</meta:initial-creator>"
        f"<dc:creator>{author}</dc:creator><meta:creation-date>{made}</meta:creation-date><dc:date>{made}</dc:date>"
        f"<dc:language>{meta.language_tag()}</dc:language></office:meta>"
    )


def _styles(meta: Meta) -> str:
    language, _, country = meta.language_tag().partition("-")
    font, tag = pages.eastern(meta.language_tag())
    tongue = f'fo:language="{language}" fo:country="{country or "none"}"'
    if tag:
        tongue += f' style:language-asian="{tag[:2]}" style:country-asian="{tag[3:]}"'
    faces = "".join(
        f'<style:font-face style:name="{name}" svg:font-family="&apos;{name}&apos;"/>'
        for name in dict.fromkeys((pages.FONT, font or pages.FONT))
    )
    own = "".join(
        f'<style:style style:name="{_id(name)}" style:display-name="{_id(name).replace("_20_", " ")}" '
        f'style:family="paragraph" style:parent-style-name="Standard">{_LOOKS.get(name, _CENTRED)}</style:style>'
        for name in pages.STYLES
    )
    shown = (
        f'<text:p text:style-name="Right">{_text(pages.header(meta))}<text:page-number text:select-page="current">2'
        "</text:page-number></text:p>"
    )
    return (
        f"<office:font-face-decls>{faces}</office:font-face-decls><office:styles><style:default-style "
        'style:family="paragraph"><style:paragraph-properties fo:line-height="200%" fo:widows="0" fo:orphans="0"/>'
        f'<style:text-properties style:font-name="{pages.FONT}" style:font-name-asian="{font or pages.FONT}" '
        f'style:font-name-complex="{pages.FONT}" fo:font-size="12pt" style:font-size-asian="12pt" '
        f'style:font-size-complex="12pt" {tongue}/></style:default-style><style:style style:name="Standard" '
        f'style:family="paragraph"/>{own}</office:styles><office:automatic-styles><style:style style:name="Right" '
        f'style:family="paragraph" style:parent-style-name="{_id(pages.CONTACT)}"><style:paragraph-properties '
        f'fo:text-align="end"/></style:style>{_LAYOUT.format(top="0.5")}'
        f"{_LAYOUT.format(top='1').replace('Letter', 'First')}</office:automatic-styles><office:master-styles>"
        '<style:master-page style:name="First" style:page-layout-name="First" style:next-style-name="Standard"/>'
        f'<style:master-page style:name="Standard" style:page-layout-name="Letter"><style:header>{shown}'
        "</style:header></style:master-page></office:master-styles>"
    )


def _id(style: str) -> str:
    return style.capitalize().replace(" ", "_20_") if style in pages.HEADINGS else style.replace(" ", "_20_")


def _differs(line: pages.Line, number: int) -> bool:
    return not number or line.new_page or bool(line.above)


def _own_style(line: pages.Line, number: int) -> str:
    first = "" if number else ' style:master-page-name="First"'
    page = ' fo:break-before="page"' if line.new_page else ""
    return (
        f'<style:style style:name="P{number}" style:family="paragraph" style:parent-style-name="{_id(line.style)}"'
        f'{first}><style:paragraph-properties fo:margin-top="{line.above}pt"{page}/></style:style>'
    )


def _paragraph(line: pages.Line, number: int) -> str:
    name = f"P{number}" if _differs(line, number) else _id(line.style)
    tag, level = ("text:h", f' text:outline-level="{line.level}"') if line.level else ("text:p", "")
    return f'<{tag} text:style-name="{name}"{level}>{"".join(map(_span, line.spans))}</{tag}>'


def _span(span: StyledSpan) -> str:
    name, text = "B" * span.bold + "I" * span.italic, _text(span.text)
    return f'<text:span text:style-name="{name}">{text}</text:span>' if name else text


def _text(text: str) -> str:
    """Text whose blanks are elements where OpenDocument would take several for one."""
    return _BLANKS.sub(_blank, escape(clean(text), quote=False))


def _blank(found: re.Match[str]) -> str:
    signs = {"\t": "<text:tab/>", "\n": "<text:line-break/>"}
    return signs.get(found[0], f'<text:s text:c="{len(found[0])}"/>')
