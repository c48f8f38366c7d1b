"""Stories that are measured come from files, folders, projects and JSON lines; bad ones are named."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.item_files import item_of, read_all, read_items
from fabula.base.errors import UsageError
from fabula.project.folder import Project
from fabula.story import Brief

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "The lamp was dark.\n\nThen it was lit."


def put(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def project(folder: Path, system: str = "end-to-end", story: str = TEXT) -> Path:
    Project.create(folder, Brief("Write about a lamp.", "The Lamp"), {"system": system})
    if story:
        put(folder / "story.md", story)
    return folder


def test_a_text_file_is_a_story_named_after_it(tmp_path: Path) -> None:
    (item,) = read_items([put(tmp_path / "one.txt", "# Title\n\nA story.")])
    assert (item.id, item.story.title, item.story.text) == ("one", "Title", "A story.")
    assert (item.system, item.prompt, item.brief, item.reference) == ("", "", None, None)


def test_json_lines_hold_all_that_is_known(tmp_path: Path) -> None:
    values = {"id": "x/1", "text": TEXT, "system": "x", "prompt": "1", "brief": "# B\n\nA lamp.", "reference": "Ref.",
            "title": "T"}  # fmt: skip
    file = put(tmp_path / "set.jsonl", json.dumps(values) + "\n\n" + json.dumps({"id": "y", "text": "Short."}) + "\n")
    first, second = read_items([file])
    assert first.brief == Brief("A lamp.", "B")
    assert first.reference is not None
    assert (first.reference.text, first.story.title, first.system, first.prompt) == ("Ref.", "T", "x", "1")
    assert (second.id, second.reference) == ("y", None)


def test_a_folder_of_systems_names_system_and_prompt(tmp_path: Path) -> None:
    for name in ("cape/lamp.md", "cape/clock.md", "harbour/lamp.txt", "cape/notes.json", ".hidden/x.md"):
        put(tmp_path / name)
    found = read_items([tmp_path])
    assert [(item.id, item.system, item.prompt) for item in found] == [
        ("cape/clock", "cape", "clock"), ("cape/lamp", "cape", "lamp"), ("harbour/lamp", "harbour", "lamp"),
    ]  # fmt: skip


def test_projects_are_read_with_their_brief_and_system(tmp_path: Path) -> None:
    project(tmp_path / "one")
    (item,) = read_items([tmp_path / "one"])
    assert (item.id, item.system, item.prompt) == ("one", "end-to-end", "The Lamp")
    assert item.brief == Brief("Write about a lamp.", "The Lamp")
    project(tmp_path / "all" / "a")
    put(tmp_path / "all" / "b.md")
    assert [item.id for item in read_items([tmp_path / "all"])] == ["a", "b"]
    project(tmp_path / "sets" / "cape" / "lamp")
    (inner,) = read_items([tmp_path / "sets"])
    assert (inner.id, inner.system, inner.prompt) == ("cape/lamp", "cape", "lamp")
    (story,) = read_items([tmp_path / "one" / "story.md"])
    assert story.id == "one"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{", "set.jsonl, line 2: no JSON"),
        ("[" * 100_000, "set.jsonl, line 2: no JSON"),
        ("[]", "line 2: not an object with texts in id, text, system"),
        ('{"id": 3, "text": "x"}', "line 2: not an object with texts in"),
        ('{"text": "x"}', "line 2: the story has no id. Give it one."),
        ('{"id": "b", "text": " "}', "The story in .*line 2 is empty"),
        ('{"id": "b"}', "The story in .*line 2 is empty"),
        ('{"id": "b", "text": "x", "reference": "--"}', "line 2, reference is empty"),
        ('{"id": "a", "text": "x"}', "Two stories have the id 'a'. Rename one"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, expected: str) -> None:
    file = put(tmp_path / "set.jsonl", '{"id": "a", "text": "One."}\n' + line + "\n")
    with pytest.raises(UsageError, match=expected):
        read_items([file])


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"No story found in .*empty. Give .md, .txt or .jsonl files."):
        read_items([tmp_path / "empty"])
    with pytest.raises(UsageError, match="No story found in nothing"):
        read_items([])
    with pytest.raises(UsageError, match=r"The story in .*blank.md is empty. Give one with text in it."):
        read_items([put(tmp_path / "blank.md", "\n---\n")])
    with pytest.raises(UsageError, match=r"has no story yet. Write it with `fabula write"):
        read_items([project(tmp_path / "begun", story="")])
    with pytest.raises(UsageError, match=r"Cannot read .*none.md"):
        read_items([tmp_path / "none.md"])
    same = put(tmp_path / "x" / "same.md")
    with pytest.raises(UsageError, match="Two stories have the id 'same'"):
        read_items([same, same])


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [put(tmp_path / way / "same.md", f"Text {way}.") for way in ("x/a", "y/a", "y/b")]
    assert [item.id for item in read_items(files)] == ["x/a/same", "y/a/same", "y/b/same"]
    assert [item.id for item in read_items(files[1:])] == ["a/same", "b/same"]
    assert [item.id for item in read_items(files[:1])] == ["same"]
    projects = [project(tmp_path / way / "lamp") for way in ("one", "two")]
    assert [item.id for item in read_items(projects)] == ["one/lamp", "two/lamp"]
    assert [item.id for item in read_items([path / "story.md" for path in projects])] == ["one/lamp", "two/lamp"]
    for way in ("old", "new"):
        put(tmp_path / way / "cape" / "p1.md")
    assert [item.id for item in read_items([tmp_path / "old", tmp_path / "new"])] == ["old/cape/p1", "new/cape/p1"]
    lines = [put(tmp_path / f"{n}.jsonl", '{"id": "same", "text": "One."}') for n in "ab"]
    with pytest.raises(UsageError, match="Two stories have the id 'same'"):
        read_items(lines)


def test_one_empty_story_does_not_stop_the_others(tmp_path: Path) -> None:
    put(tmp_path / "all" / "a.md")
    blank = put(tmp_path / "all" / "b.md", "\n---\n")
    put(tmp_path / "all" / "set.jsonl", '{"id": "c", "text": "x"}\n{"id": "d", "text": " "}\n')
    items, problems = read_all([tmp_path / "all"])
    assert [item.id for item in items] == ["a", "c"]
    assert problems[0] == f"The story in {blank} is empty. Give one with text in it."
    assert "set.jsonl, line 2 is empty" in problems[1]
    with pytest.raises(UsageError, match="is empty"):
        read_items([tmp_path / "all"])
    with pytest.raises(UsageError, match="is empty"):
        read_all([blank])
    with pytest.raises(UsageError, match="line 1, reference is empty"):
        read_all([put(tmp_path / "r.jsonl", '{"id": "b", "text": "x", "reference": "--"}')])


@pytest.mark.parametrize("data", [None, 3, "text", [], {"id": "a", "text": ["x"]}])
def test_what_is_no_item_is_said_so(data: object) -> None:
    with pytest.raises(UsageError, match="here: not an object with texts"):
        item_of(data, "here")


def test_a_narrative_comes_with_a_line_or_a_project(tmp_path: Path) -> None:
    values = {"id": "x", "text": TEXT, "narrative": " A ferry leaves. "}
    assert item_of(values, "here").narrative == "A ferry leaves."
    folder = project(tmp_path / "ferry")
    assert read_items([folder])[0].narrative == ""
    put(folder / "plan" / "narrative.md", "The last ferry.\n")
    assert read_items([folder])[0].narrative == "The last ferry."


def test_a_conversation_of_a_project_comes_with_what_it_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path / "ferry", "snap")
    talk = put(folder / "chat" / "evening.md", "# Jonas and Elin\n\n**Elin:** A ticket.")
    (item,) = read_items([talk])
    assert (item.id, item.system, item.prompt, item.story.text) == (
        "ferry/evening", "", "The Lamp", "**Elin:** A ticket."
    )  # fmt: skip
    assert item.narrative == TEXT, "the story that was written"
    put(folder / "plan" / "narrative.md", "The last ferry.")
    monkeypatch.chdir(folder / "chat")
    (item,) = read_items([talk.relative_to(folder / "chat")])
    assert (item.id, item.narrative) == ("ferry/evening", "The last ferry.")
    (folder / "plan" / "narrative.md").unlink()
    (folder / "story.md").unlink()
    (item,) = read_items([talk])
    assert item.narrative == ""
    assert item.brief is not None
    (other,) = read_items([put(tmp_path / "chat" / "x.md")])
    assert other.id == "x", "a folder of that name that is in no project"


def test_a_project_with_conversations_alone_names_their_files(tmp_path: Path) -> None:
    folder = project(tmp_path / "ferry", story="")
    put(folder / "chat" / "evening.md")
    with pytest.raises(UsageError, match=r"no story yet.*It has conversations; give their files: .*chat/evening\.md\."):
        read_items([folder])
