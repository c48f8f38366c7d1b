"""Projects of writing programs, screenplays, chats and folders as manuscripts; round trips; hostile files."""

# ruff: noqa: RUF001 - texts in many languages

from __future__ import annotations

import io
import os
import re
import zipfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.app.importing import KINDS as FORMS
from fabula.app.importing import READ, read_manuscript
from fabula.app.item_files import read_items
from fabula.base.errors import UsageError
from fabula.data import story_files, unpacked
from fabula.data.chat_files import chat_text
from fabula.data.project_files import folder_text, novelwriter_text, scrivener_text
from fabula.data.rtf_files import rtf_text
from fabula.data.screenplay_files import fdx_text
from fabula.data.story_files import KINDS, text_of
from fabula.data.unpacked import Unpacked, emphasised
from fabula.story import Story
from fabula.story.export import Meta, find
from fabula.story.export.prose import blocks
from growth import LINEAR, growth

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MOST = 20_000_000
META = Meta(title="The Lamp", author="Mara Quist", created=datetime(2026, 3, 1, tzinfo=UTC), words=50, contact="1 Quay")
DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "manuscript.md"


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def packed(file: Path, files: Mapping[str, str], how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file


# Scrivener ------------------------------------------------------------------------------------------------------------


def item(name: str, kind: str, title: str, *inside: str, compiled: bool = True) -> str:
    shown = "<IncludeInCompile>Yes</IncludeInCompile>" if compiled else ""
    children = f"<Children>{''.join(inside)}</Children>" if inside else ""
    return (
        f'<BinderItem UUID="{name}" Type="{kind}"><Title>{title}</Title><MetaData>{shown}<FileExtension>rtf'
        f"</FileExtension></MetaData>{children}</BinderItem>"
    )


BINDER = (
    '<?xml version="1.0" encoding="UTF-8"?><ScrivenerProject Version="2.0"><Binder>'
    + item(
        "R",
        "DraftFolder",
        "Manuscript",
        item("F", "Folder", "Chapter One", item("A", "Text", "The “Letter”"), item("B", "Text", "Cut", compiled=False)),
        item("E", "Folder", "Empty"),
        item("G", "Folder", "第二章", item("C", "Text", "")),
    )
    + item("X", "ResearchFolder", "Research", item("N", "Text", "Notes"))
    + "</Binder><LabelSettings><Title>Label</Title></LabelSettings></ScrivenerProject>"
)
LETTER = (
    r"{\rtf1\ansi{\fonttbl\f0 Times;}<$Scr_Ps::0>Mara {\i kept} the lamp.<!$Scr_Ps::0>" + "\\\n"
    r"{\i Then \{\\Scrv_annot \\color=\{\\R=1.0\} \\text=check this \\end_Scrv_annot\}she} left."
    r"\{\\Scrv_fn=a footnote\\end_Scrv_fn\}\par # * #\par}"
)
SCRIV = {
    "Novel.scrivx": BINDER,
    "Files/Data/A/content.rtf": LETTER,
    "Files/Data/B/content.rtf": r"{\rtf1 Cut.}",
    "Files/Data/C/content.rtf": r"{\rtf1 \u1513?\u1500?\u1493?\u1501? \u-27?.}",
    "Files/Data/N/content.rtf": r"{\rtf1 Notes.}",
    "Files/Data/A/synopsis.txt": "A synopsis.",
}
NOVEL = (
    "# Novel\n\n## Chapter One\n\n### The “Letter”\n\nMara *kept* the lamp.\n\n*Then she* left.\n\n# * #\n\n"
    "## Empty\n\n## 第二章\n\nשלום \uffe5."
)


def test_a_scrivener_project_is_read_in_the_order_of_its_binder(tmp_path: Path) -> None:
    folder = written(tmp_path / "Novel.scriv", SCRIV)
    assert text_of(folder, MOST) == NOVEL
    assert text_of(folder / "Novel.scrivx", MOST) == NOVEL
    archive = packed(tmp_path / "backup.zip", {f"Novel.scriv/{name}": text for name, text in SCRIV.items()})
    assert text_of(archive, MOST) == NOVEL
    found = read_manuscript(folder)
    assert (found.title, [part.title for part in found.parts]) == ("Novel", ["The “Letter”", "第二章"])
    (item,) = read_items([folder])
    assert (item.id, item.story.title) == ("Novel", "Novel")


def test_an_older_scrivener_project_is_read_whole_if_it_says_nothing_of_compiling(tmp_path: Path) -> None:
    binder = (
        '<ScrivenerProject><Binder><BinderItem ID="0" Type="DraftFolder"><Title>Draft</Title><Children>'
        '<BinderItem ID="3" Type="Text"><Title>One</Title></BinderItem></Children></BinderItem></Binder>'
        "</ScrivenerProject>"
    )
    files = {"Old.scrivx": binder, "Files/Docs/3.rtf": r"{\rtf1 Mara came.}"}
    assert text_of(written(tmp_path / "Old.scriv", files), MOST) == "# Old\n\n## One\n\nMara came."


# novelWriter ----------------------------------------------------------------------------------------------------------


def entry(name: str, above: str, order: int, kind: str = "FILE", rest: str = 'class="NOVEL" layout="DOCUMENT"') -> str:
    active = "no" if name == "old" else "yes"
    return (
        f'<item handle="{name}" parent="{above}" order="{order}" type="{kind}" {rest}><meta/><name active="{active}">'
        f"{name}</name></item>"
    )


NWX = (
    '<?xml version="1.0"?><novelWriterXML fileVersion="1.5"><project><name>The Lamp</name></project><content>'
    + entry("root", "None", 0, "ROOT", 'class="NOVEL"')
    + entry("ten", "folder", 10)
    + entry("two", "folder", 2)
    + entry("folder", "root", 1, "FOLDER", 'class="NOVEL"')
    + entry("title", "root", 0)
    + entry("old", "root", 2)
    + entry("note", "root", 3, rest='class="NOVEL" layout="NOTE"')
    + entry("people", "None", 1, "ROOT", 'class="CHARACTER"')
    + entry("mara", "people", 0)
    + "</content></novelWriterXML>"
)
HEAD = "%%~name: X\n%%~path: a/b\n%%~kind: NOVEL/DOCUMENT\n"
NOVELWRITER = {
    "nwProject.nwx": NWX,
    "content/title.nwd": HEAD + "#! The Lamp\n\n>> **By Mara** <<\n\n[newpage]\n",
    "content/two.nwd": HEAD + "## Chapter One\n\n%Synopsis: no\n@pov: Mara\n\n",
    "content/ten.nwd": HEAD
    + "### The Quay\n\n@char: Mara\n\n% no\nMara _kept_ the [i]lamp[/i].[footnote:f1]\n* * *\nEnd.",
    **{f"content/{name}.nwd": HEAD + f"{name} is not read." for name in ("old", "note", "mara")},
}


def test_a_novelwriter_project_is_read_in_order_without_comments_and_tags(tmp_path: Path) -> None:
    folder = written(tmp_path / "lamp", NOVELWRITER)
    expected = "# The Lamp\n\n**By Mara**\n\n## Chapter One\n\n### The Quay\n\nMara _kept_ the *lamp*.\n* * *\nEnd."
    assert text_of(folder, MOST) == expected
    assert text_of(folder / "nwProject.nwx", MOST) == expected
    assert text_of(packed(tmp_path / "lamp.zip", NOVELWRITER), MOST) == expected


# folders --------------------------------------------------------------------------------------------------------------


def test_a_folder_of_files_is_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    files = {
        "1 start.md": "It began.\n",
        "10 end.txt": "It ended.",
        "2.md": "# The “Middle”\n\nIt went *on*.\n\n* * *\n\nAnd on.\n",
        "3 empty.md": "\n",
        ".hidden.md": "Hidden.",
        "notes.pdf": "%PDF",
        "book/brief.md": "A project of fabula.",
        "book/story.md": "Its story.",
        "a/1.md": "An appendix.",
    }
    folder = written(tmp_path / "chapters", files)
    (folder / "zz.md").symlink_to(folder / "2.md")
    found = read_manuscript(folder)
    assert [part.name for part in found.parts] == ["start", "the-middle", "end", "chapter-1"]
    assert [part.text for part in found.parts] == [
        "It began.",
        "# The “Middle”\n\nIt went *on*.\n\n* * *\n\nAnd on.",
        "It ended.",
        "An appendix.",
    ]


def test_an_older_encoding_in_a_folder_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "chapters", {"1.txt": "It began."})
    (folder / "2.txt").write_bytes("Schöne Grüße, sagte er.".encode("cp1252"))
    found = read_manuscript(folder)
    assert (found.encoding, found.parts[1].text) == ("cp1252", "Schöne Grüße, sagte er.")


# screenplays and chats ------------------------------------------------------------------------------------------------

FDX = (
    '<?xml version="1.0" encoding="UTF-8" standalone="no" ?>\n<FinalDraft DocumentType="Script" Version="5"><Content>'
    '<Paragraph Type="Action"><Text>FADE IN:</Text></Paragraph>'
    '<Paragraph Type="Scene Heading"><SceneProperties><Summary><Paragraph><Text>No.</Text></Paragraph></Summary>'
    "</SceneProperties><Text>INT. LAMP ROOM - DAY</Text></Paragraph>"
    '<Paragraph Type="Action"><Text>Mara </Text><Text Style="Italic">kept</Text><Text> the lamp.</Text></Paragraph>'
    '<Paragraph Type="Action"><Text>THE DOOR</Text></Paragraph>'
    '<Paragraph Type="Character"><Text>Mara (V.O.)</Text></Paragraph>'
    '<Paragraph Type="Parenthetical"><Text>(softly)</Text></Paragraph>'
    '<Paragraph Type="Dialogue"><Text>Hello, </Text><Text Style="Bold+Italic">you</Text><Text>.</Text></Paragraph>'
    '<Paragraph><DualDialogue><Paragraph Type="Character"><Text>玛拉</Text></Paragraph><Paragraph Type="Dialogue">'
    "<Text>~你好</Text></Paragraph></DualDialogue></Paragraph>"
    '<Paragraph Type="Transition"><Text>CUT TO:</Text></Paragraph>'
    '<Paragraph Type="Scene Heading"><Text>Snow</Text></Paragraph><Paragraph Type="General"><Text></Text></Paragraph>'
    '<Paragraph Type="Action"><ScriptNote><Paragraph><Text>No.</Text></Paragraph></ScriptNote><Text>They wait.</Text>'
    '</Paragraph><Paragraph Type="Transition"><Text>Fade out.</Text></Paragraph>'
    '<Paragraph Type="End of Act"><Text>End of Act One</Text></Paragraph></Content>'
    "<TitlePage><Content><Paragraph><Text>The Lamp</Text></Paragraph><Paragraph><Text>Mara</Text></Paragraph></Content>"
    "</TitlePage></FinalDraft>"
)
SCREENPLAY = (
    "Title: The Lamp\nAuthor: Mara\n\n"
    "!FADE IN:\n\nINT. LAMP ROOM - DAY\n\nMara *kept* the lamp.\n\n!THE DOOR\n\nMARA (V.O.)\n"
    "(softly)\n"
    "Hello, ***you***.\n\n@玛拉\n\\~你好\n\nCUT TO:\n\n.Snow\n\nThey wait.\n\n> Fade out.\n\n> End of Act One <"
)


def test_a_final_draft_file_becomes_fountain(tmp_path: Path) -> None:
    (tmp_path / "lamp.fdx").write_text(FDX, encoding="utf-8")
    assert text_of(tmp_path / "lamp.fdx", MOST) == SCREENPLAY
    assert [part.title for part in read_manuscript(tmp_path / "lamp.fdx").parts] == ["INT. LAMP ROOM - DAY", "Snow"]
    (measured,) = read_items([tmp_path])
    assert [scene.label for scene in measured.story.scenes] == ["INT. LAMP ROOM - DAY", "Snow"]


def test_a_chat_becomes_a_conversation(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(
        '{"user_name":"Mara","character_name":"Ivan","chat_metadata":{}}\n'
        '{"name":"Ivan","is_user":false,"mes":"*waves* Hello, {{user}}.","swipes":["No."]}\n'
        '{"name":"Mara","is_user":true,"mes":"Hello, {{char}}.\\n\\nHow are you?"}\n'
        '{"name":"System","is_system":true,"mes":"Hidden."}\n\n',
        encoding="utf-8",
    )
    (part,) = read_manuscript(file).parts
    assert part.text == "**Ivan:** *waves* Hello, Mara.\n\n**Mara:** Hello, Ivan.\n\nHow are you?"
    (measured,) = read_items([tmp_path])
    assert measured.story.text == part.text


def test_the_title_of_a_screenplay_is_that_of_its_title_page(tmp_path: Path) -> None:
    file = tmp_path / "lamp.fountain"
    file.write_text("Title:\n    _**The Lamp**_\nAuthor: Mara\n\nFADE IN:\n\nINT. A - DAY\n\nMara.\n", encoding="utf-8")
    assert read_manuscript(file).title == "The Lamp"


# round trips ----------------------------------------------------------------------------------------------------------

BOOK = """\
## Part One

### Chapter One

Mara *kept* the **lamp** and ***more***: 5 \\* 3 \\* 2, a\\_b\\_c and C:\\\\d.

* * *

“Hello,” she said.
A second line.

### Empty

### Глава 2

Она *ждала*. 他在灯塔里。שלום עולם.

\\# Not a heading.

## Part Two

#### Deeper

Fin.
"""


def shown(text: str) -> list[object]:
    return [(one.kind, one.level, one.spans) for one in blocks(text)]


@pytest.mark.parametrize("name", ["epub", "docx", "odt", "rtf", "markdown"])
def test_what_is_exported_and_read_again_is_the_same(name: str, tmp_path: Path) -> None:
    format_, meta = find(name), META if name != "markdown" else replace(META, author="")
    (tmp_path / f"book{format_.suffix}").write_bytes(format_.render(Story("The Lamp").add("one", BOOK), meta))
    found = read_manuscript(tmp_path / f"book{format_.suffix}")
    assert found.title == "The Lamp"
    again = "\n\n".join(part.text for part in found.parts)
    assert shown(re.sub(r"<!--[^\n]*-->\n", "", again)) == shown(BOOK)


# odd shapes -----------------------------------------------------------------------------------------------------------


def test_odd_pages_of_a_book_keep_words_and_italics(tmp_path: Path) -> None:
    page = (
        '<html xmlns:epub="http://www.idpf.org/2007/ops"><body><section epub:type="titlepage"><h1>The Lamp</h1>'
        "<p>By Mara</p></section><h2>One</h2><p class='letter'>Dear <span class='up'>Ivan</span></p>"
        "<p style='font-style:italic'>Slanted.</p><ul><li>a<ul><li>b</li></ul></li></ul><table><tr><td>c</td>"
        "</tr></table><p>d<a epub:type='noteref'>1</a><img src='x.png' alt='no'/></p>"
        "<aside epub:type='footnote'><p>A note.</p></aside><hr/><h2></h2><p>e<br/>f</p></body></html>"
    )
    book = (
        '<package><manifest><item id="a" href="a.xhtml"/><item id="c" href="s.css" media-type="text/css"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="gone"/></spine></package>'
    )
    container = '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles></container>'
    css = "p.letter, .x { font-style: italic }\n@media print { .up { font-weight: 700 } }"
    files = {"META-INF/container.xml": container, "b.opf": book, "a.xhtml": page, "s.css": css}
    assert text_of(packed(tmp_path / "odd.epub", files), MOST) == (
        "# The Lamp\n\n## One\n\n*Dear* ***Ivan***\n\n*Slanted.*\n\na\n\nb\n\nc\n\nd\n\n* * *\n\ne\nf"
    )


def test_styles_of_opendocument_are_followed_to_those_that_they_are_based_on(tmp_path: Path) -> None:
    names = 'xmlns:o="office" xmlns:t="text" xmlns:s="style" xmlns:f="fo"'
    styles = (
        f'<o:styles {names}><s:style s:name="Emphasis"><s:text-properties f:font-style="italic"/></s:style>'
        '<s:style s:name="Loop" s:parent-style-name="Loop"/></o:styles>'
    )
    text = (
        f'<o:document {names}><s:style s:name="T1" s:parent-style-name="Emphasis"/><s:style s:name="P1" '
        's:parent-style-name="Title"/><o:body><o:text><t:p t:style-name="P1">The Lamp</t:p><t:h t:outline-level="1">'
        'One</t:h><t:p>Mara <t:span t:style-name="T1">kept</t:span> it.</t:p><t:p t:style-name="Horizontal_20_Line"/>'
        '<t:list><t:list-item><t:p t:style-name="Loop">a</t:p></t:list-item></t:list></o:text></o:body></o:document>'
    )
    file = packed(tmp_path / "novel.odt", {"content.xml": text, "styles.xml": styles})
    assert text_of(file, MOST) == "# The Lamp\n\n## One\n\nMara *kept* it.\n\n* * *\n\na"


def test_styles_of_word_are_followed_to_those_that_they_are_based_on(tmp_path: Path) -> None:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    styles = (
        f'<w:styles {w}><w:style w:styleId="Mine"><w:basedOn w:val="H"/></w:style><w:style w:styleId="H"><w:name '
        'w:val="heading 2"/></w:style><w:style w:styleId="O"><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
        '<w:style w:styleId="Em"><w:rPr><w:i/></w:rPr></w:style></w:styles>'
    )
    text = (
        f'<w:document {w}><w:p><w:pPr><w:pStyle w:val="O"/></w:pPr><w:r><w:t>One</w:t></w:r></w:p><w:p><w:pPr>'
        '<w:pStyle w:val="Mine"/></w:pPr><w:r><w:t>Two</w:t></w:r></w:p><w:p><w:pPr><w:outlineLvl w:val="9"/></w:pPr>'
        '<w:r><w:rPr><w:rStyle w:val="Em"/></w:rPr><w:t>kept</w:t></w:r></w:p></w:document>'
    )
    file = packed(tmp_path / "novel.docx", {"word/document.xml": text, "word/styles.xml": styles})
    assert text_of(file, MOST) == "## One\n\n### Two\n\n*kept*"


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([((False, False), "one * sign")], "one * sign"),
        ([((False, False), "2 * 3 * 4")], r"2 \* 3 \* 4"),
        ([((True, False), "a_b"), ((False, False), " c")], r"*a\_b* c"),
        ([((False, False), "* * *")], "* * *"),
        ([((False, False), "# 1")], r"\# 1"),
        ([((True, False), "  "), ((False, False), "")], ""),
    ],
)
def test_signs_that_markdown_would_read_are_kept_as_signs(
    pieces: list[tuple[tuple[bool, bool], str]], text: str
) -> None:
    assert emphasised(pieces) == text


# files that mean harm -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("a.scriv", {"a.scrivx": "<Binder>"}, "a.scriv cannot be read as a Scrivener project: it is damaged"),
        ("a.scriv", {"a.scrivx": "<Binder/>"}, "a.scriv cannot be read as a Scrivener project: it is damaged"),
        ("a.scriv", {"a.scrivx": '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "cannot be read as a Scrivener project"),
        ("nw", {"nwProject.nwx": "<a/>"}, "nw cannot be read as a novelWriter project: it is damaged"),
        ("pictures", {"a.png": "x"}, "pictures is a folder, but no manuscript: it has no Markdown or text files"),
        ("empty", {"a.md": "\n"}, "empty is empty. Specify a file that contains text."),
        ("lamp", {"brief.md": "A brief."}, "lamp is already a fabula project. Continue it with `fabula text"),
    ],
)
def test_folders_that_cannot_be_read_are_refused_in_a_sentence(
    name: str, files: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        read_manuscript(written(tmp_path / name, files))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.fdx", "<FinalDraft><Content>", "a.fdx cannot be read as a Final Draft file: it is damaged"),
        ("a.fdx", "Mara came.", "a.fdx cannot be read as a Final Draft file"),
        ("a.fdx", '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><FinalDraft/>', "as a Final Draft file"),
        ("a.fdx", "<FinalDraft/>", "a.fdx is empty. Specify a file that contains text."),
        ("a.rtf", "Mara came.", "a.rtf cannot be read as a Rich Text file"),
        ("a.jsonl", '{"user_name":"M"}\n[1', "a.jsonl cannot be read as a SillyTavern chat file"),
        ("a.jsonl", '{"user_name":"M"}\n' + "[" * 100_000, "a.jsonl cannot be read as a SillyTavern chat file"),
        ("a.jsonl", '{"user_name":"M"}\n7', "a.jsonl cannot be read as a SillyTavern chat file"),
    ],
)
def test_files_that_cannot_be_read_are_refused_in_a_sentence(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_manuscript(tmp_path / name)
    assert message in str(caught.value)


def test_a_binder_names_no_files_outside_its_project(tmp_path: Path) -> None:
    (tmp_path / "content.rtf").write_text(r"{\rtf1 Secret.}", encoding="utf-8")
    binder = BINDER.replace('UUID="A"', 'UUID="../../.."')
    assert "Secret" not in text_of(written(tmp_path / "Novel.scriv", SCRIV | {"Novel.scrivx": binder}), MOST)
    (tmp_path / "x.nwd").write_text("Secret.", encoding="utf-8")
    hostile = NOVELWRITER | {"nwProject.nwx": NWX.replace('handle="ten"', 'handle="../../x"')}
    assert "Secret" not in text_of(written(tmp_path / "lamp", hostile), MOST)


def test_a_link_in_a_project_is_not_followed(tmp_path: Path) -> None:
    folder = written(tmp_path / "Novel.scriv", SCRIV)
    (tmp_path / "secret.rtf").write_text(r"{\rtf1 Secret.}", encoding="utf-8")
    (folder / "Files/Data/A/content.rtf").unlink()
    (folder / "Files/Data/A/content.rtf").symlink_to(tmp_path / "secret.rtf")
    assert "Secret" not in text_of(folder, MOST)


def test_items_that_contain_each_other_are_read_once(tmp_path: Path) -> None:
    items = entry("a", "b", 0, "ROOT", 'class="NOVEL"') + entry("b", "a", 0, "ROOT", 'class="NOVEL"')
    files = {"nwProject.nwx": f"<a>{items}{entry('c', 'b', 1)}</a>", "content/c.nwd": "Mara."}
    assert text_of(written(tmp_path / "nw", files), MOST) == "Mara."


def test_what_unpacks_to_far_more_than_its_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "_SMALL", 1_000)
    file = packed(tmp_path / "bomb.zip", {f"{n}.md": "a " * 100_000 for n in range(20)})
    with pytest.raises(
        UsageError, match=r"bomb\.zip unpacks to more than [\d,]+ bytes, which is too much for a text\."
    ):
        text_of(file, MOST)
    monkeypatch.setattr(unpacked, "_MOST_FILES", 5)
    with pytest.raises(UsageError, match=r"contains more than 5 files\. Give the folder of one manuscript"):
        text_of(written(tmp_path / "many", {f"{n}.md": "a" for n in range(9)}), MOST)
    with pytest.raises(UsageError, match=r"large unpacks to more than 50 bytes|large.1\.md is larger than 50 bytes"):
        text_of(written(tmp_path / "large", {f"{n}.md": "a" * 40 for n in range(2)}), 50)


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ('<?xml version="1.0" encoding="x-unknown"?>', ""),
        ('<?xml version="1.0" encoding="rot13"?>', ""),
        ("", f'<w:x a="{"x" * 13_000_000}"/>'),
        ("", f"<!--{'x ' * 7_000_000}-->"),
        ("", "".join(f"<w:x{number}/>" for number in range(11_000))),
        ("", f"<w:x {' '.join(f'a{number}=|1|' for number in range(11_000))}/>".replace("|", '"')),
        ("", "<w:x>" * 110_000 + "</w:x>" * 110_000),
    ],
    ids=["an unknown encoding", "no encoding", "a long tag", "a long comment", "names", "attributes", "depth"],
)
def test_xml_that_would_take_memory_without_end_is_refused(head: str, body: str, tmp_path: Path) -> None:
    text = f"{head}<w:document {W}><w:p><w:r><w:t>Mara.</w:t></w:r></w:p>{body}</w:document>"
    file = packed(tmp_path / "a.docx", {"word/document.xml": text}, zipfile.ZIP_STORED)
    with pytest.raises(UsageError, match=r"a\.docx cannot be read as a Word file"):
        text_of(file, MOST)


def test_a_packed_text_that_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_files, "_LONGEST", 1_000)
    file = packed(
        tmp_path / "a.docx", {"word/document.xml": f"<d {W}><w:p><w:r><w:t>{'a ' * 900}</w:t></w:r></w:p></d>"}
    )
    with pytest.raises(UsageError, match=r"a\.docx has more than 1,000 characters, which is too much for a text"):
        text_of(file, MOST)


def test_names_in_a_chat_cannot_make_it_larger_without_end(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"user_name":"M"}\n{"name":"' + "A" * 100_000 + '","mes":"' + "{{char}}" * 100_000 + '"}', encoding="utf-8"
    )
    with pytest.raises(UsageError, match="cannot be read as a SillyTavern chat file"):
        text_of(tmp_path / "a.jsonl", MOST)


def test_raw_bytes_and_long_numbers_of_rich_text_are_no_text() -> None:
    data = rb"{\rtf1\revdttm-2015295488 Mara {\pict\bin6 {{{}\'}\bin-5 came\bin9999999999 and all that follows"
    assert rtf_text(data, Counter()) == "Mara came"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "windows-1252"])
def test_pages_of_a_book_may_be_in_other_encodings(encoding: str, tmp_path: Path) -> None:
    page = (
        f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?><html><body><p>Café&mdash;</p></body></html>'
    )
    with zipfile.ZipFile(tmp_path / "a.epub", "w") as archive:
        archive.writestr("META-INF/container.xml", '<container><rootfile full-path="b.opf"/></container>')
        archive.writestr("b.opf", '<package><item id="a" href="a.xhtml"/><itemref idref="a"/></package>')
        archive.writestr("a.xhtml", page.encode(encoding))
    assert text_of(tmp_path / "a.epub", MOST) == "Café\u2014"


@pytest.mark.parametrize(
    "head", ['<?xml version="1.0"?>\n<!-- a comment -->\n', '<?xml version="1.0" encoding="UTF-16"?>']
)
def test_a_script_is_known_by_its_root(head: str, tmp_path: Path) -> None:
    data = f"{head}{FDX.partition('?>')[2].strip()}"
    (tmp_path / "a.fdx").write_bytes(data.encode("utf-16" if "UTF-16" in head else "utf-8"))
    assert text_of(tmp_path / "a.fdx", MOST) == SCREENPLAY


def test_what_a_mac_adds_to_an_archive_is_no_text(tmp_path: Path) -> None:
    files = {"Book/1.md": "Mara.", "__MACOSX/Book/._1.md": "\0\5\x16", "Book/.2.md": "Hidden.", "../a.md": "Outside."}
    assert [part.text for part in read_manuscript(packed(tmp_path / "a.zip", files)).parts] == ["Outside.", "Mara."]


def test_a_story_in_json_has_no_characters_that_a_terminal_obeys(tmp_path: Path) -> None:
    scene = '{"label":"O\\u0007ne\\ud800","text":"Mara\\u0000\\u202e \\u001b[31mcame."}'
    (tmp_path / "a.json").write_text(f'{{"format":"fabula-story","version":1,"scenes":[{scene}]}}', encoding="utf-8")
    (part,) = read_manuscript(tmp_path / "a.json").parts
    assert (part.title, part.text) == ("One\ufffd", "Mara came.")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path / "book", {"1.md": "Mara.", "2.md": "Secret."})
    (folder / "2.md").chmod(0)
    with pytest.raises(UsageError, match=r"2\.md"):
        text_of(folder, MOST)


def inside(files: Mapping[str, str]) -> Unpacked:
    return Unpacked("x", files, lambda name: io.BytesIO(files[name].encode()), MOST)


READERS: dict[str, Callable[[int], object]] = {
    "one paragraph": lambda n: emphasised([((k % 2 == 0, False), "a*\\") for k in range(n // 4)]),
    "rtf": lambda n: rtf_text(rb"{\rtf1 " + rb"a{\i b}\'e9 " * (n // 12), Counter()),
    "fdx": lambda n: fdx_text(
        b'<FinalDraft><Content><Paragraph Type="Character"><Text>M</Text></Paragraph>'
        + b'<Paragraph Type="Dialogue"><Text>a</Text></Paragraph>' * (n // 50)
        + b"</Content></FinalDraft>",
        Counter(),
    ),
    "chat": lambda n: chat_text(b'{"user_name":"M"}\n' + b'{"name":"M","mes":"a {{user}}"}\n' * (n // 30), Counter()),
    "folder": lambda n: folder_text({f"{k}.md": "a" for k in range(n // 10)}),
    "notes": lambda n: scrivener_text(
        inside(SCRIV | {"Files/Data/A/content.rtf": r"{\rtf1 " + r"\{\\Scrv_fn=<$Scr_" * (n // 18) + "}"}),
        "Novel.scrivx",
    ),
    "nwd": lambda n: novelwriter_text(
        inside(NOVELWRITER | {"content/ten.nwd": "[footnote:< >> " * (n // 15)}), "nwProject.nwx"
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_long_files_are_read_in_linear_time(name: str) -> None:
    read = READERS[name]
    assert growth(read, lambda n: n, 200_000) < LINEAR


# one place for all kinds ----------------------------------------------------------------------------------------------


def test_help_forms_and_documentation_name_every_kind() -> None:
    page = DOCS.read_text(encoding="utf-8")
    for kind in KINDS:
        assert kind.name in READ
        assert kind.name in page
        assert f"`{kind.suffix}`" in page
        assert kind.is_project or kind.suffix in FORMS
