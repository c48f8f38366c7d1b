from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import BriefError, UsageError
from fabula.story import MAX_BRIEF_BYTES, Brief, Scene, Story, count_words, one_line, plain
from growth import LINEAR, growth

if TYPE_CHECKING:
    from pathlib import Path


def test_a_brief_file_gives_title_and_text(tmp_path: Path) -> None:
    path = tmp_path / "brief.md"
    path.write_bytes(b"\xef\xbb\xbf# The  Keeper \r\n\r\nA lighthouse.  \r\nAt sea.\r\n")
    assert Brief.read(path) == Brief("A lighthouse.\nAt sea.", "The Keeper")


def test_a_brief_without_a_title() -> None:
    assert Brief.parse("#1 in a list") == Brief("#1 in a list")
    assert Brief.parse("## Only a heading\nText") == Brief("## Only a heading\nText")


@pytest.mark.parametrize("brief", [Brief("x", "T"), Brief("x\n\ny"), Brief("x", " two\nlines "), Brief("x", " ")])
def test_a_brief_reads_what_it_wrote(brief: Brief) -> None:
    assert Brief.parse(brief.write()) == Brief(brief.text, " ".join(brief.title.split()))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty. Describe what the story should be about."),
        (b" \n\n", "is empty"),
        (b"# Only a title\n", "is empty"),
        (b"...\n---\n", "is empty"),
        (b"\x89PNG\r\n\x1a\n\xff\xd8", "is an image. Save its text as plain text or Markdown in UTF-8, and use that."),
        (b"PK\x03\x04\x14\x00\xff", "is a Word, LibreOffice or ZIP file. Save its text as plain text"),
        (
            b"A story.\n\nA caf\xe9.",
            "is not UTF-8 text (line 3, byte 15). Save it as UTF-8 in your editor, or convert it: `iconv",
        ),
        (
            "Ein Café.".encode("utf-16"),
            "is not UTF-8 text (line 1, byte 0). Save it as UTF-8 in your editor, or convert it: `iconv -f UTF-16 ",
        ),
        (b"words\x00words", "contains binary data (U+0000 in line 1, character 6). Use a plain text or Markdown file"),
        (b"a\x01b\x02c words", "contains binary data"),
        (b"x" * (MAX_BRIEF_BYTES + 1), "is larger than 200 kB. Use a shorter brief."),
    ],
)
def test_what_is_no_brief_is_told_with_the_name_of_the_file(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "brief.md"
    path.write_bytes(data)
    with pytest.raises(BriefError) as caught:
        Brief.read(path)
    assert str(caught.value).startswith(f"The brief {path} {says}")
    assert caught.value.exit_code == 2


def test_a_brief_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "brief.md"
    path.write_bytes(b"x" * MAX_BRIEF_BYTES)
    assert len(Brief.read(path).text) == MAX_BRIEF_BYTES


def test_a_missing_brief_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(BriefError, match=r"There is no file .*none\.md\. Correct the name, or give a brief"):
        Brief.read(tmp_path / "none.md")
    with pytest.raises(BriefError, match=r"is a folder\. Give a brief \(a text file\)\."):
        Brief.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "words"), [("", 0), ("one", 1), ("one — two", 2), ("don't stop-start", 2), ("3 ... é!", 2), ("- _ -", 1)]
)
def test_count_words(text: str, words: int) -> None:
    assert count_words(text) == words


def test_counting_words_takes_linear_time_on_a_run_of_dashes() -> None:
    assert count_words("-" * 40_000 + " a") == 1
    assert growth(count_words, lambda n: "-" * n + " a", 40_000) < LINEAR  # a pattern that backtracks took minutes


def test_plain_and_one_line() -> None:
    assert plain("\ufeff\ufeff\n\n a \r\nb\rc\t\n\n") == " a\nb\nc"
    assert one_line(" a\n\tb\u2003c\ufeff ") == "a b c"


def test_a_story_counts_and_joins_its_scenes() -> None:
    story = Story.of(Brief("x", "T")).add("one", "\nA b.\n").add("two", "C — d.")
    assert story == Story("T", (Scene("one", "A b."), Scene("two", "C — d.")))
    assert (story.text, story.words, Story().words, Story().text) == ("A b.\n\nC — d.", 4, 0, "")


def test_the_manuscript_is_readable_markdown() -> None:
    story = Story("The Keeper").add("Exposition", "A b.\n\nC.").add("Climax", "D.")
    assert story.manuscript() == (
        "# The Keeper\n\n<!-- scene: Exposition -->\nA b.\n\nC.\n\n<!-- scene: Climax -->\nD.\n"
    )


def test_an_edited_manuscript_is_read_with_foreign_line_ends_and_a_mark_at_its_end() -> None:
    text = "\ufeff# T\r\n\r\n<!-- scene: a -->\r\nX\r\n<!-- scene: b -->"
    assert Story.parse(text) == Story("T", (Scene("a", "X"), Scene("b", "")))


def test_text_before_the_first_mark_is_a_scene_of_its_own() -> None:
    assert Story.parse("Hello.\n\n<!-- scene: a -->\nX") == Story("", (Scene("story", "Hello."), Scene("a", "X")))
    assert Story.parse("") == Story()
    assert Story.parse("# T") == Story("T")


@pytest.mark.parametrize(
    "text", ["a\n<!-- scene: x -->\nb", "<!-- scene: x -->", "<!-- scene: x --> \nb", "<!-- scene: x -->\r"]
)
def test_a_scene_that_holds_a_mark_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"Scene 'one' has a line '<!-- scene: \.\.\. -->'\. Remove it"):
        Story("T", (Scene("one", text),)).manuscript()


@pytest.mark.parametrize("label", ["a\nb", "a\rb", "a --> b", " a", "a  b"])
def test_a_label_that_cannot_stand_in_a_mark_is_refused(label: str) -> None:
    with pytest.raises(
        UsageError,
        match=r"The scene label .* must be a single line with single spaces and "
        r"without '-->'. Use another label.",
    ):
        Story("T", (Scene(label, "x"),)).manuscript()
