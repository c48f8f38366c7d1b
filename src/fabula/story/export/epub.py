"""Export of a story as an EPUB 3.3 book (https://www.w3.org/TR/epub-33/), with EPUB Accessibility 1.1 metadata."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from html import escape

from fabula.story import Scene, Story, one_line
from fabula.story.export.archive import pack
from fabula.story.export.meta import Meta, title_for_readers
from fabula.story.export.prose import Block, StyledSpan, chapters, clean, inline, title_of
from fabula.story.printed import printed

_ROOT = "EPUB"
_RIGHT_TO_LEFT = frozenset({"ar", "dv", "fa", "he", "ku", "ps", "sd", "ug", "ur", "yi"})
_SUMMARY = "Text only, in reading order, with a table of contents. There are no images, sounds or animations."

_CONTAINER = """<?xml version="1.0" encoding="UTF-8"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
  <rootfiles>
    <rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/>
  </rootfiles>
</container>
"""

_CSS = """body { margin: 1em 5%; line-height: 1.5; }
p { margin: 0; text-indent: 1.5em; widows: 2; orphans: 2; }
h1 + p, h2 + p, h3 + p, hr + p, p.first { text-indent: 0; }
h1, h2, h3, h4, h5, h6 { font-weight: normal; text-align: center; line-height: 1.25; margin: 2em 0 1.5em; }
hr { border: none; margin: 1.2em 0; text-align: center; }
hr::before { content: "* * *"; letter-spacing: 0.25em; }
.title-page { text-align: center; margin-top: 30%; }
.title-page h1 { font-size: 2em; margin: 0 0 0.5em; }
.title-page p { text-indent: 0; margin: 0.5em 0; }
nav ol { list-style: none; padding-left: 0; }
"""

_PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="{lang}" xml:lang="{lang}"\
 dir="{dir}">
<head>
<title>{title}</title>
<link rel="stylesheet" type="text/css" href="style.css"/>
</head>
<body>
{body}
</body>
</html>
"""

_PACKAGE = """<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="dc-identifier" xml:lang="{lang}">
  <metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:identifier id="dc-identifier">{identifier}</dc:identifier>
{names}
    <dc:language>{lang}</dc:language>
    <dc:date>{stamp}</dc:date>
    <meta property="dcterms:modified">{stamp}</meta>
    <meta property="schema:accessMode">textual</meta>
    <meta property="schema:accessModeSufficient">textual</meta>
    <meta property="schema:accessibilityFeature">displayTransformability</meta>
    <meta property="schema:accessibilityFeature">readingOrder</meta>
    <meta property="schema:accessibilityFeature">structuralNavigation</meta>
    <meta property="schema:accessibilityFeature">tableOfContents</meta>
    <meta property="schema:accessibilityHazard">none</meta>
    <meta property="schema:accessibilitySummary" xml:lang="en">{summary}</meta>
  </metadata>
  <manifest>
    <item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
    <item id="style" href="style.css" media-type="text/css"/>
{items}
  </manifest>
  <spine page-progression-direction="{dir}">
{refs}
  </spine>
</package>
"""


def render(story: Story, meta: Meta) -> bytes:
    """A book with a title page, a table of contents and one page file per scene, which epubcheck accepts.

    The table of contents lists the scenes that have a title, which is their own heading or a label for readers.

    Raises:
        UsageError: the language is not a language tag.
    """
    lang = meta.language_tag()
    book = _Book(
        lang,
        "rtl" if lang.split("-")[0].lower() in _RIGHT_TO_LEFT else "ltr",
        meta.plain_title or printed(lang).untitled,
    )
    scenes = chapters(story)
    names = [f"scene-{number:03}" for number in range(1, len(scenes) + 1)]
    labels = [title_of(scene.text) or title_for_readers(_line(scene.label), lang) for scene, _ in scenes]
    pages = {"title": book.page(book.title, _title_page(book.title, meta))} | {
        name: book.page(label or book.title, _scene(scene, found, label))
        for name, label, (scene, found) in zip(names, labels, scenes, strict=True)
    }
    listed = [(name, label) for name, label in zip(names, labels, strict=True) if label not in ("", book.title)]
    contents = [("title", book.title), *listed]
    files = {f"{_ROOT}/{name}.xhtml": page for name, page in pages.items()}
    files |= {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        f"{_ROOT}/package.opf": book.package(meta, meta.urn(story), list(pages)),
        f"{_ROOT}/nav.xhtml": book.page(book.title, _nav(contents, book, first=(names or ["title"])[0])),
        f"{_ROOT}/style.css": _CSS,
    }
    return pack({name: content.encode() for name, content in files.items()}, first="mimetype", stored=True)


class _Book:
    """What every page of a book shares: language, direction of writing, title."""

    def __init__(self, lang: str, direction: str, title: str) -> None:
        self.lang, self.direction, self.title = lang, direction, title

    def page(self, title: str, body: str) -> str:
        """An XHTML file."""
        return _PAGE.format(lang=self.lang, dir=self.direction, title=escape(title), body=body)

    def package(self, meta: Meta, identifier: str, pages: Sequence[str]) -> str:
        """The package document with the metadata, the list of files, and the reading order."""
        item = '    <item id="{0}" href="{0}.xhtml" media-type="application/xhtml+xml"/>'
        return _PACKAGE.format(
            lang=self.lang,
            dir=self.direction,
            identifier=escape(_line(identifier)),
            names=_names(self.title, meta),
            stamp=meta.stamp(),
            summary=_SUMMARY,
            items="\n".join(item.format(name) for name in pages),
            refs="\n".join(f'    <itemref idref="{name}"/>' for name in pages),
        )


def _line(text: str) -> str:
    """`text` on one line, of characters that XML allows."""
    return one_line(clean(text))


def _names(title: str, meta: Meta) -> str:
    """The metadata elements for title, subtitle and author."""
    lines = [f'<dc:title id="dc-title">{escape(title)}</dc:title>']
    if subtitle := _line(meta.subtitle):
        lines += [
            '<meta refines="#dc-title" property="title-type">main</meta>',
            f'<dc:title id="dc-subtitle">{escape(subtitle)}</dc:title>',
            '<meta refines="#dc-subtitle" property="title-type">subtitle</meta>',
        ]
    if author := _line(meta.author):
        lines += [
            f'<dc:creator id="dc-author">{escape(author)}</dc:creator>',
            '<meta refines="#dc-author" property="role" scheme="marc:relators">aut</meta>',
        ]
    return "\n".join(f"    {line}" for line in lines)


def _title_page(title: str, meta: Meta) -> str:
    shown = "".join(map(_span, inline(meta.title)))
    name = "h1" if shown else "p"  # what stands for a missing title is none
    lines = [f"<{name}{_direction(title)}>{shown or escape(title)}</{name}>"]
    lines += [f"<p{_direction(line)}>{escape(line)}</p>" for line in (_line(meta.subtitle), _line(meta.author)) if line]
    return '<section class="title-page" epub:type="titlepage">\n' + "\n".join(lines) + "\n</section>"


def _nav(contents: Sequence[tuple[str, str]], book: _Book, first: str) -> str:
    """The table of contents for readers and for reading systems; `first` is where the story begins."""
    entry = '<li><a href="{}.xhtml">{}</a></li>'
    lines = [
        '<nav epub:type="toc" role="doc-toc">',
        f"<h1>{printed(book.lang).contents}</h1>",
        "<ol>",
        *(entry.format(name, escape(label)) for name, label in contents),
        "</ol>",
        "</nav>",
        '<nav epub:type="landmarks" hidden="hidden">',
        f'<ol><li><a epub:type="bodymatter" href="{first}.xhtml">{escape(book.title)}</a></li></ol>',
        "</nav>",
    ]
    return "\n".join(lines)


def _scene(scene: Scene, found: list[Block], label: str) -> str:
    lines = [_block(block, first=number == 0) for number, block in enumerate(found)]
    name = "" if not label or title_of(scene.text) else f' aria-label="{escape(label)}"'
    return f'<section epub:type="chapter" role="doc-chapter"{name}>\n' + "\n".join(lines) + "\n</section>"


def _block(block: Block, *, first: bool) -> str:
    if block.kind == "break":
        return "<hr/>"
    content = "".join(map(_span, block.spans))
    if block.kind == "heading":
        return f"<h{block.level}{_direction(block.text)}>{content}</h{block.level}>"
    css = ' class="first"' if first else ""
    return f"<p{css}{_direction(block.text)}>{content}</p>"


def _span(span: StyledSpan) -> str:
    content = escape(span.text, quote=False).replace("\n", "<br/>\n")
    content = f"<em>{content}</em>" if span.italic else content
    return f"<strong>{content}</strong>" if span.bold else content


def _direction(text: str) -> str:
    """An attribute that lets the reading system find the direction, for text with letters written right to left."""
    if re.search("[^\x00-\u058f]", text) and any(unicodedata.bidirectional(c) in {"R", "AL"} for c in text):
        return ' dir="auto"'
    return ""
