"""What the readers of manuscripts leave out is counted, kind by kind; and nothing else of a file is lost with it."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from fabula.app.importing import planned_import, read_manuscript
from fabula.base.errors import UsageError
from fabula.data.story_files import said_of_left_out, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
RUN = "<w:r><w:t>{}</w:t></w:r>"
DOCX = {
    "word/document.xml": f"<w:document {W}><w:body><w:p>{RUN.format('Mara kept')}<w:r><w:footnoteReference/></w:r>"
    f"<w:r><w:endnoteReference/></w:r><w:r><w:commentReference/></w:r><w:del>{RUN.format('Gone.')}</w:del>"
    f"<w:rPr><w:del/></w:rPr><w:pic/><w:Fallback><w:pic/></w:Fallback>{RUN.format(' it.')}</w:p>"
    f"<w:p>{RUN.format('Before')}<w:txbxContent><w:p>{RUN.format('In a box.')}</w:p></w:txbxContent>"
    f"{RUN.format(' and after.')}</w:p><w:tbl><w:tr><w:tc><w:p>{RUN.format('A cell.')}</w:p></w:tc></w:tr></w:tbl>"
    f'<w:p><w:pPr><w:pStyle w:val="C"/></w:pPr>{RUN.format("One 3")}</w:p></w:body></w:document>',
    "word/styles.xml": f'<w:styles {W}><w:style w:styleId="C"><w:name w:val="toc 1"/></w:style></w:styles>',
    "word/header1.xml": f"<w:hdr {W}><w:p>{RUN.format('Quist')}</w:p></w:hdr>",
    "word/header2.xml": f"<w:hdr {W}><w:p/></w:hdr>",
    "word/footer1.xml": f"<w:ftr {W}><w:p><w:r><w:instrText>PAGE</w:instrText></w:r>{RUN.format('2')}</w:p></w:ftr>",
}
O = 'xmlns:office="urn:oasis:office" xmlns:t="t" xmlns:d="d"'  # noqa: E741 - as W
ODT = {
    "content.xml": f"<o:d xmlns:o='office' {O}><office:text><t:tracked-changes><t:changed-region><t:deletion><t:p>Gone."
    "</t:p></t:deletion></t:changed-region></t:tracked-changes><t:p>Mara kept<t:note t:note-class='footnote'><t:p>No."
    "</t:p></t:note><t:note t:note-class='endnote'><t:p>No.</t:p></t:note><office:annotation><t:p>No.</t:p>"
    "</office:annotation> it.<d:frame><d:image/></d:frame></t:p><t:table><t:p>A cell.</t:p></t:table></office:text>"
    "</o:d>",
    "styles.xml": "<s:a xmlns:s='s'><s:header>Quist <b>2</b></s:header><s:footer>2</s:footer></s:a>",
}
RTF = (
    r"{\rtf1{\stylesheet{\s1 heading 1;}}{\header Quist}\pard\s1 One\par\pard\revdttm-2015295488 Mara kept"
    r"{\super\chftn{\*\footnote\chftn\pard No.\par}}{\footnote\ftnalt No.}{\*\annotation No.}{\deleted Gone.} it."
    r"{\*\shppict{\pict{\*\x y}\bin4 }}}{}}{\nonshppict{\pict ab}}\par\trowd\intbl A\cell B\cell\row\intbl C\cell\row"
    r"\pard Out.\par\trowd\intbl D\cell\row\pard{\shp{\*\shpinst{\shptxt A box.}}}End.\par}"
)
EPUB = {
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>',
    "b.opf": '<package><manifest><item id="a" href="a.xhtml"/><item id="n" href="n.xhtml" properties="nav"/></manifest>'
    '<spine><itemref idref="n" linear="no"/><itemref idref="c" linear="no"/><itemref idref="a"/><itemref idref="gone"/>'
    "</spine></package>",
    "a.xhtml": "<html xmlns:e='e'><body><section e:type='titlepage'><h1>The Lamp</h1><p>By Mara</p></section><p>Mara"
    "<a role='doc-noteref'>1</a><a e:type='noteref'>2</a> <ruby>守<rt>まも</rt></ruby><img/><svg><image/></svg></p>"
    "<table><tr><td>A cell.</td></tr></table><section e:type='footnotes'><aside e:type='footnote'><p>No.</p></aside>"
    "</section></body></html>",
}
FDX = (
    '<FinalDraft><Content><Paragraph Type="Scene Heading"><SceneProperties><Summary><Paragraph><Text>No.</Text>'
    "</Paragraph></Summary></SceneProperties><Text>INT. A - DAY</Text></Paragraph><Paragraph Type='Action'>"
    "<ScriptNote><Paragraph><Text>No.</Text></Paragraph></ScriptNote><Text>She waits.</Text></Paragraph></Content>"
    "<HeaderAndFooter><Header><Paragraph><Text>The Lamp</Text></Paragraph></Header><Footer><Paragraph><Text>1.</Text>"
    "</Paragraph></Footer></HeaderAndFooter><Lists><Paragraph><Text>No.</Text></Paragraph></Lists></FinalDraft>"
)
SCRIV = {
    "a.scrivx": '<ScrivenerProject><Binder><BinderItem UUID="R" Type="DraftFolder"><Title>D</Title><Children>'
    '<BinderItem UUID="A" Type="Text"><Title>One</Title><MetaData><IncludeInCompile>Yes</IncludeInCompile></MetaData>'
    '</BinderItem><BinderItem UUID="B" Type="Text"><Title>Cut</Title></BinderItem></Children></BinderItem>'
    '<BinderItem UUID="X" Type="ResearchFolder"><Children><BinderItem UUID="Y" Type="PDF"/></Children></BinderItem>'
    "</Binder></ScrivenerProject>",
    "Files/Data/A/content.rtf": r"{\rtf1 Mara\{\\Scrv_annot no\\end_Scrv_annot\} came\{\\Scrv_fn=no\\end_Scrv_fn\}.}",
    "Files/Data/A/synopsis.txt": "No.",
    "Files/Data/A/notes.rtf": r"{\rtf1 No.}",
    "Files/Data/A/content.comments": '<Comments><Comment ID="1">No.</Comment><Comment Footnote="Yes"/></Comments>',
}
ITEM = '<item handle="{0}" parent="{1}" type="{2}" class="NOVEL" layout="{3}"><name active="{4}">x</name></item>'
NWX = {
    "nwProject.nwx": "<a>"
    + "".join(
        ITEM.format(*one)
        for one in (
            ("r", "", "ROOT", "", "yes"),
            ("a", "r", "FILE", "DOCUMENT", "yes"),
            ("gone", "r", "FILE", "DOCUMENT", "yes"),
            ("c", "r", "FILE", "DOCUMENT", "no"),
            ("d", "elsewhere", "FILE", "NOTE", "yes"),
        )
    )
    + "</a>",
    "content/a.nwd": "%%~name: X\n# One\n@pov: Mara\n% no\n%Footnote.f1: no\nMara.[footnote:f1]",
}
CASES: dict[str, tuple[str | Mapping[str, str], str, dict[str, int]]] = {
    "a.docx": (
        DOCX,
        "Mara kept it.\n\nIn a box.\n\nBefore and after.\n\nA cell.",
        {"footnote": 1, "endnote": 1, "comment": 1, "tracked deletion": 1, "picture": 1, "table layout": 1}
        | {"boilerplate line": 1, "page header": 1},
    ),
    "a.odt": (
        ODT,
        "Mara kept it.\n\nA cell.",
        {"footnote": 1, "endnote": 1, "comment": 1, "tracked deletion": 1, "picture": 1, "table layout": 1}
        | {"page header": 1},
    ),
    "a.rtf": (
        RTF,
        "# One\n\nMara kept it.\n\nA B\n\nC\n\nOut.\n\nD\n\nEnd.",
        {"footnote": 1, "endnote": 1, "comment": 1, "tracked deletion": 1, "picture": 1, "table layout": 2}
        | {"text box": 1, "page header": 1},
    ),
    "a.epub": (
        EPUB,
        "# The Lamp\n\nMara 守\n\nA cell.",
        {"footnote": 2, "ruby text": 1, "picture": 2, "table layout": 1, "title-page line": 1}
        | {"supplementary page": 1, "missing page": 1},
    ),
    "a.fdx": (FDX, "INT. A - DAY\n\nShe waits.", {"scene summary": 1, "note": 1, "page header": 1}),
    "a.scriv": (
        SCRIV,
        "# a\n\n## One\n\nMara came.",
        {"uncompiled document": 1, "other document": 1, "comment": 2, "footnote": 2, "index card": 1, "note": 1},
    ),
    "novel": (
        NWX,
        "# One\nMara.",
        {"tag": 1, "comment": 1, "footnote": 1, "missing document": 1, "inactive document": 1, "note": 1},
    ),
    "files": (
        {"1.md": "Mara.", "a.pdf": "x", "b.docx": "x", ".hidden.md": "x"},
        "<!-- scene: 1 -->\nMara.",
        {"other file": 2},
    ),
    "a.jsonl": (
        '{"user_name":"M"}\n{"name":"I","mes":"Mara.","swipes":["Mara.","No."]}\n{"is_system":true,"mes":"No."}',
        "**I:** Mara.",
        {"alternative": 1, "hidden message": 1},
    ),
}


def made(place: Path, content: str | Mapping[str, str]) -> Path:
    if isinstance(content, str):
        place.write_text(content, encoding="utf-8")
    elif place.suffix in {".docx", ".odt", ".epub"}:
        with zipfile.ZipFile(place, "w") as archive:
            for name, text in content.items():
                archive.writestr(name, text)
    else:
        for name, text in content.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text, encoding="utf-8")
    return place


def kinds(notice: str) -> set[str]:
    return set(notice.removeprefix("Left out: ").removesuffix(".").split(", "))


@pytest.mark.parametrize("name", CASES)
def test_each_kind_that_is_left_out_is_counted(name: str, tmp_path: Path) -> None:
    content, text, counts = CASES[name]
    file = made(tmp_path / name, content)
    assert text_of(file, 100_000) == text
    planned = planned_import(tmp_path / "x", read_manuscript(file), name, {"system": "end-to-end"})
    assert planned.to_dict()["left_out"] == counts
    (notice,) = planned.notices
    assert kinds(notice) == kinds(said_of_left_out(counts))


def test_what_was_left_out_is_said_in_one_sentence() -> None:
    assert said_of_left_out({"footnote": 3, "picture": 1, "comment": 0}) == "Left out: 3 footnotes, 1 picture."
    assert said_of_left_out({"bibliography": 2, "text box": 1_200}) == "Left out: 2 bibliographies, 1,200 text boxes."
    assert not said_of_left_out({})


def test_a_book_that_is_encrypted_is_named_so(tmp_path: Path) -> None:
    locked = '<encryption><CipherReference URI="a.xhtml"/></encryption>'
    with pytest.raises(UsageError, match=r"a\.epub is encrypted\. Give a copy without protection"):
        read_manuscript(made(tmp_path / "a.epub", {**EPUB, "META-INF/encryption.xml": locked}))
