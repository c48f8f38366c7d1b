"""Whoever goes on with a manuscript has read it: three books, a small and a capable model."""

# ruff: noqa: RUF001 - typographic marks and letters of other scripts are what is tested

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

from fabula.app.importing import import_manuscript
from fabula.app.writing import Options, dry_run_in, write_in
from fabula.continuity.parts import manuscript
from fabula.craft.chapters import read_chapters
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Request

NAME: Final = "program:reader"
BOOKS: Final = {
    "en": (
        "The Weir",
        ("The Letter", "The Mill", "High Water", "Iosif", "The Debt", "The Sluice", "The Ferry", "The Key"),
        "On day {n} Mara walks down to the weir and counts the boards of the gate. ",
        "The water stands {n} inches under the mark, and nobody has touched the crank. ",
        "She goes home by the upper path, and the {n}th lamp is out.",
        "Iosif gives her key {n} of the house, and she does not open the door.",
    ),
    "de": (
        "Das Wehr",
        ("Der Brief", "Die Mühle", "Hochwasser", "Iosif", "Die Schuld", "Die Schleuse", "Die Fähre", "Der Schlüssel"),
        "Am {n}. Tag geht Mara zum Wehr hinunter und zählt die Bretter des Schützes. ",
        "Das Wasser steht {n} Zoll unter der Marke, und niemand hat die Kurbel angerührt. ",
        "Sie geht auf dem oberen Weg nach Hause, und die Lampe Nummer {n} brennt nicht.",
        "Iosif gibt ihr den Schlüssel {n}, und sie öffnet die Tür nicht.",
    ),
    "zh": (
        "水闸",
        ("来信", "磨坊", "大水", "约瑟夫", "欠债", "闸门", "渡船", "钥匙"),
        "第{n}天，玛拉走到水闸边，数着闸门上的木板。",
        "水面离刻度还有{n}寸，没有人碰过摇柄。",
        "她从上面的小路回家，第{n}盏灯灭了。",
        "约瑟夫把第{n}把钥匙交给她，她没有打开门。",
    ),
}


def book(language: str) -> str:
    """A manuscript of eight chapters, each of which ends with a sentence of its own."""
    title, names, *body, last = BOOKS[language]
    chapters = []
    for number, name in enumerate(names, 1):
        days = range(number * 100, number * 100 + 12)
        told = "\n\n".join("".join(sentence.format(n=n) for sentence in body) for n in days)
        chapters.append(f"## {number}. {name}\n\n{told}\n\n{last.format(n=number)}")
    return f"# {title}\n\n" + "\n\n".join(chapters) + "\n"


def writer(window: int | None, *, small: bool) -> ScriptedModel:
    def reply(request: Request) -> str:
        if request.path.endswith("/account"):
            number = re.findall(r"\d+", request.messages[-1].content.rpartition("## ")[2])[0]
            return f"Account of {number}: Mara counts, and Iosif has the key."
        return " ".join(f"Mara takes the boat across in hour {n} of the night." for n in range(12))

    able = Capabilities(schema=True, choices=True, context=window, small=small)
    return ScriptedModel(reply, name=NAME, capabilities=able)


def begun(folder: Path, language: str) -> ProjectFolder:
    import_manuscript(folder, manuscript(book(language)), "novel.md", {"system": "end-to-end", "model": NAME})
    return ProjectFolder.open(folder)


def with_chapter(project: ProjectFolder) -> ProjectFolder:
    listed = project.folder / "plan" / "chapters.md"
    listed.write_text(f"{listed.read_text('utf-8')}\n\n## The Crossing (about 100 words)\nMara crosses.\n", "utf-8")
    return ProjectFolder.open(project.folder)


async def played(project: ProjectFolder, model: ScriptedModel) -> DryRun:
    """What a dry run announces, before the run is made."""
    options = Options(models={NAME: model})
    announced, _ = await dry_run_in(project, project.settings, options)
    assert not model.asked
    await write_in(project, project.settings, options)
    return announced


def prompts(model: ScriptedModel, name: str) -> list[str]:
    return ["\n\n".join(m.content for m in one.messages) for one in model.asked if one.path.endswith(f"/{name}")]


def check(prompt: str, language: str) -> None:
    """Each chapter is there: its own last sentence, or an account of it."""
    assert "(empty)" not in prompt
    assert "[...]" not in prompt.partition("What the reader has been told so far")[2].partition("\n\n")[0]
    assert not re.search(r"^- .*:\s*$", prompt, re.MULTILINE), "a line that names a chapter and says nothing of it"
    last = BOOKS[language][-1]
    for number in range(1, 9):
        assert f"Account of {number}:" in prompt or last.format(n=number) in prompt, number


@pytest.mark.parametrize("language", BOOKS)
@pytest.mark.parametrize(("window", "small"), [(8_192, True), (8_192, False), (None, False)])
async def test_who_writes_the_next_chapter_has_read_those_before_it(
    tmp_path: Path, language: str, window: int | None, *, small: bool
) -> None:
    model, project = writer(window, small=small), with_chapter(begun(tmp_path / "book", language))
    announced = await played(project, model)
    chapters, accounts = prompts(model, "chapter_small" if small else "chapter"), prompts(model, "account")
    assert chapters
    for prompt in chapters:
        check(prompt, language)
    notices = "\n".join(announced.notices)
    planned = [call.path for call in announced.planned if call.path.endswith("/account")]
    assert len(planned) == len(accounts)
    if small:
        assert not accounts
        assert "Who writes “The Crossing” is shown the parts before it" in notices
        assert "in their first and last sentences alone, since a small model cannot give an account" in notices
    elif window:
        assert accounts
        assert f"{len(accounts)} in an account of each, which it gives when it has read them: one call each" in notices
        assert [one.path for one in model.asked][: len(accounts)] == planned, "they are read first"
    else:
        assert not accounts
        assert all(sentence in chapters[0] for sentence in book(language).split("\n\n")[1:]), "it is there whole"
        assert f"The context window of {NAME} is not known, so 65,536 tokens are assumed." in notices
    again = writer(window, small=small)
    await played(project, again)
    assert not again.asked, "nothing is paid twice"


def continued(project: ProjectFolder, part: str = "") -> None:
    """Have 100 words more written after a part, by default the last one."""
    with project.recorded() as journal:
        path = (
            part
            or max((file, path) for path, file in journal.artefacts.places().items() if file.startswith("story/"))[1]
        )
        journal.decisions.add(path, "continue", journal.artefacts.newest(path), 100)


@pytest.mark.parametrize("language", BOOKS)
@pytest.mark.parametrize("small", [True, False])
async def test_who_goes_on_from_the_last_page_has_read_the_book_too(
    tmp_path: Path, language: str, *, small: bool
) -> None:
    model, project = writer(8_192, small=small), begun(tmp_path / "book", language)
    continued(project)
    announced = await played(project, model)
    for prompt in prompts(model, "continue"):
        check(prompt, language)
    assert any("Who writes what follows" in one for one in announced.notices)
    assert bool(prompts(model, "account")) is not small


async def test_accounts_are_paid_once_for_a_chapter_and_for_what_follows(tmp_path: Path) -> None:
    project = with_chapter(begun(tmp_path / "book", "en"))
    model = writer(8_192, small=False)
    await played(project, model)
    read = {one.path for one in model.asked if one.path.endswith("/account")}
    continued(ProjectFolder.open(project.folder), "the-crossing")
    more = writer(8_192, small=False)
    await played(ProjectFolder.open(project.folder), more)
    assert read
    assert not read & {one.path for one in more.asked}, "what was read for the chapter is not asked again"


def numbered(heads: Sequence[str]) -> str:
    return "\n\n".join(f"{head}\n\n{BOOKS['en'][-1].format(n=n)}" for n, head in enumerate(heads, 1))


@pytest.mark.parametrize(
    ("heads", "heading"),
    [
        (("# Chapter 1: The Letter", "# Chapter 2: The Storm"), "# Chapter 3: The Crossing"),
        (("## 1. The Letter", "## 2. The Storm"), "## 3. The Crossing"),
        (("## VIII. The Letter", "## IX. The Storm"), "## X. The Crossing"),
        (("# Prologue", "# 1", "# 2"), "# 3: The Crossing"),
        (("CHAPTER ONE", "CHAPTER TWO"), "CHAPTER THREE: The Crossing"),
        (("第一章 信", "第二章 暴风"), "第三章 The Crossing"),
        (("# 8 The Letter", "# 9 The Storm"), "# 10 The Crossing"),
        (("# I Went Home", "# Six Crows"), "# The Crossing"),
        (("# The Letter", "# The Storm"), "# The Crossing"),
    ],
)
async def test_a_new_chapter_is_headed_and_listed_as_its_author_numbers_them(
    tmp_path: Path, heads: Sequence[str], heading: str
) -> None:
    import_manuscript(tmp_path, manuscript(numbered(heads)), "novel.md", {"system": "end-to-end", "model": NAME})
    listed = (tmp_path / "plan" / "chapters.md").read_text("utf-8")
    assert not re.search(r"^## \d+\. (?:\d|Chapter \d|[VIX]+\.)", listed, re.MULTILINE), listed
    assert [one.title for one in read_chapters(listed)] == [head.lstrip("# ") for head in heads]
    project = with_chapter(ProjectFolder.open(tmp_path))
    await played(project, writer(None, small=False))
    assert (tmp_path / "story.md").read_text("utf-8").count(f"\n{heading}\n\nMara takes the boat across") == 1


@pytest.mark.parametrize(
    ("brief", "ends"),
    [
        ("", False),
        ("\n\nIt is a novel of 12 chapters.", False),
        ("\n\nIt is a novel in 9 chapters.", True),
        ("\n\nThe novel has 40,000 words.", False),
        ("\n\nThe novel has 400 words.", True),
    ],
)
async def test_the_last_chapter_of_a_list_ends_the_story_where_the_author_said_so_alone(
    tmp_path: Path, brief: str, *, ends: bool
) -> None:
    project = begun(tmp_path / "book", "en")
    project.brief_file.write_text(project.brief_file.read_text("utf-8").rstrip() + brief + "\n", "utf-8")
    model = writer(None, small=False)
    await played(with_chapter(ProjectFolder.open(project.folder)), model)
    asked = prompts(model, "chapter")[0]
    assert ("It ends the story: nothing comes after it" in asked) is ends
    assert ("unless the task or what this chapter tells says that it ends here" in asked) is not ends
