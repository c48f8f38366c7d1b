"""`fabula import`: a manuscript becomes a project, word for word, and everything that writers do works on it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.app import importing
from fabula.app.importing import import_manuscript, read_manuscript
from fabula.base.errors import UsageError
from fabula.continuity.parts import manuscript
from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from commandline import Cli

NOVEL = """\
# The Lamp

## Chapter 1: The Letter

The letter had lain on the table since Monday. Mara knew it by heart.

* * *

Ivan came at noon.

## Chapter 2: The Storm

On Saturday the wind turned, and *the boat* was late.

## Chapter 3: The Boat

In the morning the boat came home. Nobody asked Mara who had kept the light.
"""
SCRIPT = """\
[replies]
"writer:account" = "It is Monday. Mara has told nobody."
"writer:rewrite_passage" = "Ivan did not come."
writer = "Mara went down to the quay. Ivan took the rope from her hand, and neither of them spoke of the letter."
"""


@pytest.fixture
def lamp(cli: Cli) -> Path:
    """The project `lamp`, made of `novel.md`."""
    (cli.folder / "novel.md").write_text(NOVEL, encoding="utf-8")
    (cli.folder / "script.toml").write_text(SCRIPT, encoding="utf-8")
    assert cli("import", "novel.md", "--out", "lamp", "--model", "scripted:script.toml").code == 0
    return cli.folder / "lamp"


def told(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.startswith("<!-- scene:")]


def test_its_chapters_become_the_parts_of_the_story_word_for_word(cli: Cli, lamp: Path) -> None:
    ran = cli("import", "novel.md", "--out", "other", "--json")
    assert [part["file"] for part in ran.json["parts"]] == [
        "story/01-chapter-1-the-letter.md",
        "story/02-chapter-2-the-storm.md",
        "story/03-chapter-3-the-boat.md",
    ]
    assert (ran.json["title"], ran.json["system"], ran.json["divided"]) == ("The Lamp", "end-to-end", "by its headings")
    assert (ran.json["words"], ran.json["before"]) == (55, False)
    assert (lamp / "story/02-chapter-2-the-storm.md").read_text() == (
        "## Chapter 2: The Storm\n\nOn Saturday the wind turned, and *the boat* was late.\n"
    )
    assert told((lamp / "story.md").read_text()) == told(NOVEL)
    assert "story.md has 55 words, imported from novel.md." in cli("status", "lamp").out
    assert re.search(r"Chapter 2: The Storm +chapter-2-the-storm +14 +1 +imported\n", cli("status", "lamp").out)
    assert "yours, from novel.md" in cli("show", "lamp", "chapter-2-the-storm", "--versions").out
    assert (
        cli("show", "lamp", "chapter-2-the-storm", "--json", "--versions").json["versions"][0]["source"] == "imported"
    )


@pytest.mark.parametrize("format_", ["markdown", "text"])
@pytest.mark.parametrize(
    "text",
    [
        NOVEL,
        "# The Lamp\n\nMara.\n\n***\n\nIvan.\n\n***\n\nNobody.\n",
        "# The Lamp\n\nChapter One\n\nMara.\n\n~\n\nNobody.\n\nChapter Two\n\nIvan.\n",
        "# The Lamp\n\n" + "\n\n".join(f"Mara lit lamp {n} and went down to the sea." for n in range(2_000)) + "\n",
    ],
)
def test_what_is_exported_is_what_was_imported(cli: Cli, text: str, format_: str) -> None:
    (cli.folder / "novel.md").write_text(text, encoding="utf-8")
    assert cli("import", "novel.md").code == 0
    assert cli("export", "novel", "--format", format_, "--out", "out.txt").code == 0
    out = (cli.folder / "out.txt").read_text()
    assert re.sub(r"[#\s]+", " ", out).split() == re.sub(r"[#\s]+", " ", text).split()
    if format_ == "markdown":
        assert told(out) == told(text)


def test_a_screenplay_is_exported_as_it_was_imported(cli: Cli) -> None:
    text = (
        "Title: The Lamp\nAuthor: Mara\n\nFADE IN:\n\nINT. LAMP ROOM - DAY\n\n@McAvoy\n(softly)\nHello, **you**.\n\n"
        "!THE DOOR\n\n.SNOW\n\n~Row, row.\n\n> FIN <\n\nEXT. QUAY - NIGHT\n\nShe leaves.\n\n===\n\n> CUT TO:\n"
    )
    (cli.folder / "lamp.fountain").write_text(text, encoding="utf-8")
    assert "3 parts, divided by its scenes" in cli("import", "lamp.fountain").out
    assert cli("export", "lamp", "--format", "fountain", "--out", "out.fountain").code == 0
    assert (cli.folder / "out.fountain").read_text() == text


def test_a_project_is_never_made_in_the_folder_of_its_manuscript(cli: Cli) -> None:
    (cli.folder / "chapters").mkdir()
    (cli.folder / "chapters" / "1.md").write_text("Mara came.", encoding="utf-8")
    assert "chapters-project would be made: 2 words" in cli("import", "chapters", "--dry-run").out
    assert not (cli.folder / "chapters-project").exists()
    assert cli("import", "chapters").code == 0
    assert [file.name for file in (cli.folder / "chapters").iterdir()] == ["1.md"]


def test_nobody_is_asked_and_an_update_changes_nothing(cli: Cli, lamp: Path) -> None:
    before = {file.name: file.read_text() for file in lamp.rglob("*.md")}
    assert "No call is needed" in cli("update", "lamp", "--dry-run").err + cli("update", "lamp", "--dry-run").out
    ran = cli("update", "lamp", "--json")
    assert (ran.code, ran.json["asked"], ran.json["replayed"]) == (0, 0, 0)
    assert {file.name: file.read_text() for file in lamp.rglob("*.md")} == before
    refused = cli("write", "lamp", "--preset", "faithful")
    assert refused.code == 2
    assert "plan/chapters.md lists the chapters of a manuscript" in refused.err
    assert "Everything is up to date" in cli("status", "lamp").out


def test_no_model_has_to_be_there(cli: Cli) -> None:
    (cli.folder / "novel.md").write_text(NOVEL, encoding="utf-8")
    ran = cli("import", "novel.md")
    assert ran.code == 0
    assert cli("show", "novel").out.startswith("The Lamp\n\n## Chapter 1")


def test_it_is_written_on_from_its_end_and_taken_back(cli: Cli, lamp: Path) -> None:
    end = "who had kept the light."
    assert cli("text", "continue", "lamp", "--words", "22").code == 0
    assert cli("update", "lamp", "--yes").code == 0
    text = (lamp / "story.md").read_text()
    assert told(text)[: len(told(NOVEL))] == told(NOVEL)
    assert text.partition(end)[2].startswith("\n\nMara went down to the quay.")
    asked = [call for call in cli("show", "lamp", "--prompts", "--json").json["calls"] if "/more/" in call["path"]]
    assert "do not bring the story to an end" in asked[0]["messages"][-1]["text"]
    assert "Shorter or longer than asked" not in cli("status", "lamp").out
    assert cli("undo", "lamp").code == 0
    assert cli("update", "lamp", "--yes").code == 0
    assert told((lamp / "story.md").read_text()) == told(NOVEL)


def test_a_new_chapter_is_written_where_the_author_lists_it(cli: Cli, lamp: Path) -> None:
    file = lamp / "plan" / "chapters.md"
    listed = file.read_text()
    assert listed.startswith("## Chapter 1: The Letter (about ")
    assert "{#chapter-2-the-storm}" in listed
    new = "## The Quay (about 20 words)\nMara goes down to the quay.\n\n"
    file.write_text(listed.replace("## Chapter 3", f"{new}## Chapter 3"))
    planned = cli("update", "lamp", "--dry-run", "--json").json
    assert planned["calls"][0]["path"] == "the-quay/chapter"
    said = "Who writes “The Quay” is shown the parts before it: 2 in full."
    assert said in planned["notices"]
    assert said in cli("update", "lamp", "--dry-run").err
    assert cli("update", "lamp", "--yes").code == 0
    assert [one.name for one in sorted((lamp / "story").iterdir())] == [
        "01-chapter-1-the-letter.md",
        "02-chapter-2-the-storm.md",
        "03-the-quay.md",
        "04-chapter-3-the-boat.md",
    ]
    assert (lamp / "story" / "03-the-quay.md").read_text().startswith("## The Quay\n\nMara went down to the quay.")
    assert (lamp / "story" / "04-chapter-3-the-boat.md").read_text() in NOVEL


def test_one_passage_is_written_anew_where_the_author_asks(cli: Cli, lamp: Path) -> None:
    wish = ("--passage", "Ivan came at noon.", "--note", "He does not come.", "--yes")
    assert cli("text", "rewrite", "lamp", "chapter-1-the-letter", *wish).code == 0
    assert told((lamp / "story" / "01-chapter-1-the-letter.md").read_text()) == [
        line.replace("Ivan came at noon.", "Ivan did not come.") for line in told(NOVEL)[1:5]
    ]
    assert cli("undo", "lamp").code == 0
    assert (lamp / "story" / "01-chapter-1-the-letter.md").read_text() in NOVEL


def test_what_the_project_begins_with_is_not_taken_back(cli: Cli, lamp: Path) -> None:
    ran = cli("undo", "lamp")
    assert (ran.code, "There is no decision to undo" in ran.err) == (2, True)
    file = lamp / "story" / "02-chapter-2-the-storm.md"
    file.write_text(file.read_text().replace("Saturday", "Sunday"))
    assert cli("update", "lamp").code == 0
    assert "On Sunday the wind" in (lamp / "story.md").read_text()
    assert cli("undo", "lamp").code == 0
    assert told((lamp / "story.md").read_text()) == told(NOVEL)
    assert cli("update", "lamp").code == 0
    assert told((lamp / "story.md").read_text()) == told(NOVEL)
    assert cli("undo", "lamp").code == 2


def test_a_dry_run_makes_nothing(cli: Cli) -> None:
    (cli.folder / "novel.md").write_text(NOVEL, encoding="utf-8")
    ran = cli("import", "novel.md", "--dry-run", "--json")
    assert (ran.code, len(ran.json["parts"])) == (0, 3)
    assert "novel would be made: 55 words of “The Lamp” in 3 parts" in cli("import", "novel.md", "--dry-run").out
    assert not (cli.folder / "novel").exists()


def test_the_same_command_again_says_that_it_is_there(cli: Cli, lamp: Path) -> None:
    (lamp / "story" / "02-chapter-2-the-storm.md").write_text("## Chapter 2: The Storm\n\nIt was still.\n")
    ran = cli("import", "novel.md", "--out", "lamp", "--json")
    assert (ran.code, ran.json["before"]) == (0, True)
    assert "It was still." in (lamp / "story.md").read_text()
    (cli.folder / "novel.md").write_text(NOVEL.replace("Monday", "Tuesday"), encoding="utf-8")
    other = cli("import", "novel.md", "--out", "lamp")
    assert (
        other.code,
        "lamp was made from another manuscript, or from an earlier version of this one" in other.err,
    ) == (
        2,
        True,
    )
    cli("new", "brief", "--text", "A lamp.", "--model", "scripted:script.toml")
    assert "brief already contains another project" in cli("import", "novel.md", "--out", "brief").err


@pytest.mark.parametrize("dies", ["before its texts are recorded", "before its files are written"])
def test_a_killed_import_is_finished_by_the_same_command(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dies: str
) -> None:
    class KilledError(BaseException):
        pass

    def die(*_: object) -> None:
        raise KilledError

    found, folder = manuscript(NOVEL), tmp_path / "lamp"
    name = "begin_with" if dies.startswith("before its texts") else "go_on_beginning"
    with monkeypatch.context() as patch:
        patch.setattr(ProjectFolder, name, die)
        with pytest.raises(KilledError):
            import_manuscript(folder, found, "novel.md", {"system": "end-to-end"})
    assert not (folder / "story.md").exists()
    import_manuscript(folder, found, "novel.md", {"system": "end-to-end"})
    assert told((folder / "story.md").read_text()) == told(NOVEL)
    assert len([*(folder / "story").iterdir()]) == 3
    assert cli("update", str(folder), "--dry-run", "--json").json["calls"] == []


def test_four_hundred_chapters_stand_in_their_order(cli: Cli) -> None:
    text = "# The Book\n\n" + "".join(f"## Chapter {n}\n\nMara lit lamp {n}.\n\n" for n in range(1, 401))
    (cli.folder / "book.txt").write_text(text, encoding="utf-8")
    (cli.folder / "script.toml").write_text(SCRIPT, encoding="utf-8")
    assert cli("import", "book.txt", "--model", "scripted:script.toml").code == 0
    assert cli("update", "book", "--json").json["asked"] == 0
    files = sorted(file.name for file in (cli.folder / "book" / "story").iterdir())
    assert (files[0], files[99], files[-1]) == ("001-chapter-1.md", "100-chapter-100.md", "400-chapter-400.md")
    assert told((cli.folder / "book" / "story.md").read_text()) == told(text)
    assert cli("text", "continue", "book", "--words", "22").code == 0
    assert cli("update", "book", "--dry-run", "--json").json["calls"][0]["path"].startswith("chapter-400/more/")
    cli("undo", "book")
    with (cli.folder / "book" / "plan" / "chapters.md").open("a") as file:
        file.write("\n\n## The End\nMara puts the lamp out.\n")
    planned = [call["path"] for call in cli("update", "book", "--dry-run", "--json").json["calls"]]
    assert "the-end/chapter" in planned
    assert len(planned) < 70  # accounts of the last chapters alone


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "The manuscript novel.md is empty. Specify a file that contains text."),
        (b"# The Lamp\n", "The manuscript is empty. Give a manuscript with words in it."),
        (b"Mara \xb5\xb6\xb7 noir", "novel.md is text in an unknown encoding. Save it as UTF-8 text."),
        (bytes(range(32)) * 9, "novel.md contains binary data"),
        (b"{\\rtf1 \\par}", "The manuscript novel.md is empty. Specify a file that contains text."),
        (b"%PDF-1.7 Mara", "novel.md is a PDF file."),
        (
            b"PK\x03\x04\0\0\0",
            "novel.md cannot be read as an archive: it is damaged or has another format.",
        ),
        (b"<html><p>Mara", "novel.md is a web page."),
    ],
)
def test_what_is_no_manuscript_is_refused_in_words(cli: Cli, content: bytes, said: str) -> None:
    (cli.folder / "novel.md").write_bytes(content)
    ran = cli("import", "novel.md")
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert not (cli.folder / "novel").exists()


def test_files_that_are_not_there_or_too_large_are_refused(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        "There is no file nothing.md. Correct the name, or give a manuscript (Markdown, plain"
        in cli("import", "nothing.md").err
    )
    assert ". is already a fabula project. Continue it with `fabula text continue .`." in cli("import", ".").err
    (cli.folder / "novel.md").write_text(NOVEL)
    with monkeypatch.context() as patch:
        patch.setattr(importing, "MAX_STORY", 100)
        assert "novel.md is larger than 100 bytes. Use a smaller file." in cli("import", "novel.md").err
    with monkeypatch.context() as patch:
        patch.setattr(importing, "MAX_FILE", 70)
        with pytest.raises(UsageError, match=r"Chapter 1: The Letter of novel.md is larger than 70 bytes\. Divide it"):
            import_manuscript(cli.folder / "x", read_manuscript(Path("novel.md")), "novel.md", {})


def test_line_ends_marks_and_control_characters_of_other_systems_go(cli: Cli) -> None:
    (cli.folder / "novel.txt").write_bytes(b"\xef\xbb\xbfMara\x1b[31m lit.\r\n\r\n***\r\n\r\nIvan came.\r\n")
    assert cli("import", "novel.txt").code == 0
    assert (cli.folder / "novel" / "story" / "01-part-1.md").read_bytes() == b"Mara lit.\n"
    assert (cli.folder / "novel" / "story" / "02-part-2.md").read_bytes() == b"***\n\nIvan came.\n"


def test_a_system_that_plans_its_own_parts_does_not_fit(cli: Cli) -> None:
    (cli.folder / "novel.md").write_text(NOVEL, encoding="utf-8")
    ran = cli("import", "novel.md", "--system", "agents-room")
    assert ran.code == 2
    assert "agents-room divides a story into parts according to its own plan" in ran.err
    assert "Import with end-to-end, which keeps the parts unchanged. For the other systems" in ran.err
    assert "Unknown system 'end-to-ned'" in cli("import", "novel.md", "--system", "end-to-ned").err


def test_scenes_in_json_are_imported_with_their_titles(cli: Cli) -> None:
    scenes = [{"title": "The Letter", "content": "It came."}, {"title": "The Storm", "content": "It blew."}]
    (cli.folder / "novel.json").write_text(json.dumps(scenes))
    assert cli("import", "novel.json").code == 0
    assert (cli.folder / "novel" / "story" / "02-the-storm.md").read_text() == "## The Storm\n\nIt blew.\n"


def test_a_command_that_is_advised_can_be_typed_as_it_stands_where_a_name_has_blanks(cli: Cli) -> None:
    (cli.folder / "The Salt Ledger.md").write_text(NOVEL, encoding="utf-8")
    made = cli("import", "The Salt Ledger.md")
    assert "`fabula check 'The Salt Ledger'`" in made.err
    assert "`fabula export 'The Salt Ledger' --format epub`" in cli("status", "The Salt Ledger").out
    (cli.folder / "new one").mkdir()
    assert "`fabula new 'new one' --brief FILE`" in cli("status", "new one").err
    (cli.folder / "Ängste.md").write_text(NOVEL, encoding="utf-8")
    assert "`fabula check Ängste`" in cli("import", "Ängste.md").err


def test_a_manuscript_of_one_word_has_one_word(cli: Cli) -> None:
    (cli.folder / "one.md").write_text("Rain.", encoding="utf-8")
    assert "one is ready: 1 word in 1 part, " in cli("import", "one.md").out


def test_a_reading_that_finds_nobody_is_not_called_one_that_was_never_made(cli: Cli, lamp: Path) -> None:
    script = SCRIPT.replace("[replies]\n", "[replies]\nlabeller = '{\"people\": []}'\n")
    (cli.folder / "script.toml").write_text(script, encoding="utf-8")
    ran = cli("chat", "lamp")
    assert ran.code == 2
    assert "read the story and found no characters. Specify one with `--with NAME`," in ran.err


def test_an_older_encoding_that_was_guessed_is_said(cli: Cli) -> None:
    (cli.folder / "old.txt").write_bytes("Schöne Grüße, sagte er über die Straße.".encode("cp1252"))
    for more in (("--dry-run",), (), ("--json",)):
        ran = cli("import", "old.txt", *more)
        assert ran.code == 0
        assert "old.txt is not UTF-8. It was read as cp1252, which fits its letters best. If letters are" in ran.err
    (cli.folder / "new.txt").write_text("Schöne Grüße, sagte er über die Straße.", encoding="utf-8")
    assert "UTF-8" not in cli("import", "new.txt").err


def test_what_is_left_out_is_said_before_anything_is_written(cli: Cli) -> None:
    (cli.folder / "old.rtf").write_text(r"{\rtf1 Mara{\footnote a}{\footnote b} came.{\pict 00}}", encoding="ascii")
    for more in (("--dry-run",), ("--json",)):
        ran = cli("import", "old.rtf", *more)
        assert ran.code == 0
        assert "Left out: 2 footnotes, 1 picture." in ran.err
    assert ran.json["left_out"] == {"footnote": 2, "picture": 1}
    (cli.folder / "taken").write_text("A file.", encoding="utf-8")
    ran = cli("import", "old.rtf", "--out", "taken")
    assert ran.code != 0
    assert "Left out: 2 footnotes, 1 picture." in ran.err


def test_an_export_says_what_it_leaves_out(cli: Cli) -> None:
    (cli.folder / "s.fountain").write_text(
        "INT. A - DAY\n\n# Act One\n\n= They meet.\n\nShe waits. [[why?]]\n\nEXT. B - DAY\n\nRain.\n", encoding="utf-8"
    )
    assert cli("import", "s.fountain").code == 0
    ran = cli("export", "s", "--format", "fdx", "--json")
    assert ran.json["left_out"] == {"note": 1, "section": 1, "scene summary": 1}
    assert "Left out: 1 note, 1 section, 1 scene summary." in ran.err
    assert "Left out" not in cli("export", "s", "--format", "fountain").err


@pytest.mark.parametrize("suffix", ["md", "txt"])
def test_blank_lines_come_back_as_they_were(suffix: str, cli: Cli) -> None:
    text = "# The Lamp\n\n\n\n## One\n\n\nMara came.\n\n\n\n\n## Two\nShe left.\n## Three\n\nFin.\n"
    (cli.folder / f"lamp.{suffix}").write_text(text, encoding="utf-8")
    assert cli("import", f"lamp.{suffix}").code == 0
    assert cli("export", "lamp", "--format", suffix, "--out", "-").out == text
    (cli.folder / "lamp/story/02-two.md").write_text("## Two\n\nShe stayed.\n", encoding="utf-8")
    assert cli("update", "lamp", "--yes").code == 0
    changed = text.replace("## Two\nShe left.", "## Two\n\nShe stayed.")
    assert cli("export", "lamp", "--format", suffix, "--out", "-").out == changed


def test_the_chapters_of_ones_own_prose_stay_apart_in_the_sample(cli: Cli) -> None:
    (cli.folder / "gut.txt").write_text("CHAPTER I\n\nIt was dark.\n\nCHAPTER II\n\nIt was light.\n", encoding="utf-8")
    assert cli("import", "gut.txt", "--out", "own", "--own").code == 0
    sample = (cli.folder / "own/voice/gut.md").read_text(encoding="utf-8")
    assert sample == "# CHAPTER I\n\nIt was dark.\n\n# CHAPTER II\n\nIt was light.\n"


def test_an_export_as_json_is_imported_with_its_title_and_each_heading_once(cli: Cli, lamp: Path) -> None:
    assert cli("export", "lamp", "--format", "json", "--out", "lamp.json").code == 0
    ran = cli("import", "lamp.json", "--out", "again", "--json")
    assert ran.json["title"] == "The Lamp"
    assert (cli.folder / "again/brief.md").read_text(encoding="utf-8").startswith("# The Lamp\n")
    assert told((cli.folder / "again/story.md").read_text(encoding="utf-8")) == told(NOVEL)


def test_no_model_is_written_into_a_project_unless_it_is_named(
    cli: Cli, lamp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FABULA_MODEL", "openai-chat:tale")
    ran = cli("import", "novel.md", "--out", "bare", "--author", "Nora Vance")
    assert ran.code == 0, ran.err
    assert (cli.folder / "bare/fabula.toml").read_text(encoding="utf-8").partition("\n")[2] == (
        'system = "end-to-end"\n\n[author]\nname = "Nora Vance"\n'
    )
    assert cli("status", "bare").out.startswith("The Lamp: end-to-end (improved), openai-chat:tale\n")
    assert cli("check", "bare", "--dry-run", "--json").json["calls"][0]["performer"].startswith("openai-chat:tale")
