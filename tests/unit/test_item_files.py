"""Stories that are measured come from files, folders, projects and JSON lines; bad ones are named."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from fabula.app.item_files import MOST, Selection, item_of, notices, read_all, read_items, sources_of
from fabula.base.errors import UsageError
from fabula.data.corpora import prompt_id
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from fabula.training.examples import ExampleSource
from small_sets import small_sets

TEXT = "The lamp was dark.\n\nThen it was lit."


def put(path: Path, text: str = TEXT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def project(folder: Path, system: str = "end-to-end", story: str = TEXT) -> Path:
    ProjectFolder.create(folder, Brief("Write about a lamp.", "The Lamp"), {"system": system})
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


def test_a_text_that_is_one_line_with_a_hash_is_no_title(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text(
        '{"id": "a", "text": "# tells Anna the way.", "reference": "# Person tells Anna."}\n'
        '{"id": "b", "text": "# The way\\n\\nAnna goes.", "title": ""}\n'
        '{"id": "c", "title": "T", "text": "# one line", "brief": "# Write it."}\n',
        encoding="utf-8",
    )
    a, b, c = read_items([tmp_path / "out.jsonl"])
    assert (a.story.title, a.story.text) == ("", "# tells Anna the way.")
    assert a.reference is not None
    assert a.reference.text == "# Person tells Anna."
    assert (b.story.title, b.story.text) == ("The way", "Anna goes.")
    assert (c.story.title, c.story.text) == ("T", "# one line")
    assert c.brief is not None
    assert c.brief.text == "Write it."


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
        ("{", "set.jsonl, line 2: not valid JSON"),
        ("[" * 100_000, "set.jsonl, line 2: not valid JSON"),
        ("[]", "line 2: expected an object with text in the fields id, text, system"),
        ('{"id": "c", "text": 3}', "line 2: expected an object with text in"),
        ('{"id": "b", "text": " "}', "The story in .*line 2 is empty"),
        ('{"id": "b"}', "line 2 has no story in a known field: `text`, or `prompt` and `completion`"),
        ('{"id": "b", "text": "x", "reference": "--"}', "line 2, reference is empty"),
        ('{"id": "a", "text": "x"}', "Two stories have the id 'a', in .*set.jsonl. Rename one"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, expected: str) -> None:
    file = put(tmp_path / "set.jsonl", '{"id": "a", "text": "One."}\n' + line + "\n")
    with pytest.raises(UsageError, match=expected):
        read_items([file])


def test_stories_under_the_names_that_others_use(tmp_path: Path) -> None:
    lines = [
        {"inputs": "Write of a lamp.", "targets": "One."},
        {"prompt": "Write of a lamp.", "completion": "Two.", "example_id": 7},
        {"prompt": "Write of a clock.", "story": "Three.", "id": "c"},
        {"text": "Four."},
        {"text": "Five.", "prompt": "Write a long story about a lamp that nobody lit."},
        {"text": "Six.", "prompt": "lamp", "more": [1]},
    ]
    items = read_items([put(tmp_path / "own.jsonl", "".join(json.dumps(line) + "\n" for line in lines))])
    assert [item.id for item in items] == ["own/1", "7", "c", "own/4", "own/5", "own/6"]
    assert [item.story.text for item in items] == ["One.", "Two.", "Three.", "Four.", "Five.", "Six."]
    assert [item.brief and item.brief.text for item in items] == [
        "Write of a lamp.", "Write of a lamp.", "Write of a clock.", None,
        "Write a long story about a lamp that nobody lit.", None,
    ]  # fmt: skip
    assert items[0].prompt == items[1].prompt != items[2].prompt
    assert [item.prompt for item in items[3:]] == [
        "",
        prompt_id("Write a long story about a lamp that nobody lit."),
        "lamp",
    ]
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write(json.dumps({"text": "Packed."}) + "\n")
    assert read_items([tmp_path / "packed.jsonl.gz"])[0].id == "packed/1"


def test_a_table_has_a_story_in_each_row(tmp_path: Path) -> None:
    file = put(tmp_path / "own.csv", '\ufeffprompt,story\r\n"A lamp, lit.","One.\n\nTwo."\r\n,Three.\r\n')
    first, second = read_items([tmp_path])
    assert (first.id, first.story.text, first.brief) == ("own/4", "One.\n\nTwo.", Brief("A lamp, lit."))
    assert (second.story.text, second.brief) == ("Three.", None)
    put(file, 'prompt,story\na,"not closed\n')
    with pytest.raises(UsageError, match=r"own.csv, line 2: not valid comma-separated values .unexpected end of data"):
        read_items([file])
    put(file, "prompt,story\na,b,c\n")
    with pytest.raises(UsageError, match=r"own.csv, line 2: there are more cells than column names in the first line"):
        read_items([file])


def test_what_was_asked_stands_beside_the_story(tmp_path: Path) -> None:
    put(tmp_path / "all" / "lamp.md")
    put(tmp_path / "all" / "lamp.brief.txt", "# B\n\nWrite of a lamp.")
    put(tmp_path / "systems" / "cape" / "lamp.txt")
    put(tmp_path / "systems" / "cape" / "lamp.brief.md", "Write of a cape.")
    (item,) = read_items([tmp_path / "all"])
    assert (item.id, item.brief) == ("lamp", Brief("Write of a lamp.", "B"))
    (item,) = read_items([tmp_path / "systems"])
    assert (item.id, item.brief) == ("cape/lamp", Brief("Write of a cape."))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{"text": "a"}\n{"text": "\xff"}\n', r"own.jsonl, line 2 is not UTF-8 text \(byte 10\). Save the file"),
        (b'{"text": "a"}\n\x00\x00\x00\n', r"own.jsonl, line 2 contains binary data. Use a plain text file,"),
        (
            b'{"text": "' + b"a" * 20_000_000 + b'"}',
            r"own.jsonl, line 1 is longer than 20,000,000 bytes. Remove or split it",
        ),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "own.jsonl").write_bytes(content)
    with pytest.raises(UsageError, match=expected):
        read_items([tmp_path / "own.jsonl"])


def test_a_draw_is_the_same_wherever_the_stories_lie_and_grows(tmp_path: Path) -> None:
    for home in ("a", "b"):
        put(tmp_path / home / "own.jsonl", "".join(json.dumps({"text": f"Story {n}."}) + "\n" for n in range(200)))
        put(tmp_path / home / "one.md")
    drawn = [read_items([tmp_path / home], Selection(limit=20, seed=3)) for home in ("a", "b")]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 20
    more = read_items([tmp_path / "a"], Selection(limit=40, seed=3))
    assert {item.id for item in drawn[0]} < {item.id for item in more}
    numbers = [int(item.id.partition("/")[2] or 201) for item in more]
    assert sorted(numbers) in (numbers, [*numbers[1:], numbers[0]])  # in the order of the files
    assert {item.id for item in read_items([tmp_path / "a"], Selection(limit=20, seed=4))} != {i.id for i in drawn[0]}
    assert len(read_items([tmp_path / "a"], Selection(limit=1000))) == 201


def test_a_set_that_is_too_large_asks_for_a_limit(tmp_path: Path) -> None:
    file = put(tmp_path / "own.jsonl", '{"text": "Short."}\n' * (MOST + 1))
    with pytest.raises(
        UsageError, match=r"There are more than 20,000 texts. Limit the number drawn with --limit N, or with `limit`"
    ):
        read_items([file])
    assert len(read_items([file], Selection(limit=5))) == 5


# data sets -----------------------------------------------------------------------------------------------------------


def test_sets_are_named_the_same_everywhere(tmp_path: Path) -> None:
    data = small_sets(tmp_path / "data")
    here = Selection(data)
    items = read_items([Path("tell-me-a-story:test")], here)
    assert [(item.id, item.prompt) for item in items] == [
        (f"tell-me-a-story/test/{n}", f"tell-me-a-story-test-{n}") for n in range(3)
    ]
    assert read_items([data / "tell-me-a-story:test"]) == items  # the folder with the name
    assert items[0].brief == Brief("Write of 0.")
    assert {item.source for item in items} == {"tell-me-a-story"}
    plots = read_items([data / "wikiplots"])  # the folder itself is recognised
    assert [(item.id, item.story.title, item.story.text) for item in plots] == [
        ("wikiplots/1", "Lamp", "It burns. It dies."), ("wikiplots/2", "Clock", "It ticks."),
    ]  # fmt: skip
    first, second, third = read_items([Path("writing-prompts:test")], here)
    assert first.prompt == second.prompt != third.prompt
    assert (second.story.text, second.brief) == ("It dies .\nSo .", Brief("A lamp ."))
    (talk,) = read_items([Path("dialogsum")], here)
    assert (talk.id, talk.story.text, talk.narrative) == ("dialogsum/development/d", "#A#: Hi", "s")
    everything = [*items, *plots, talk, *read_items([put(tmp_path / "own.md")])]
    assert notices(item.source for item in everything) == (
        "3 from tell-me-a-story: CC BY 4.0 (github.com/google-deepmind/tell_me_a_story)",
        "2 from wikiplots: CC BY-SA 3.0 (text of Wikipedia) (github.com/markriedl/WikiPlots)",
        "1 from dialogsum: CC BY-NC-SA 4.0 (github.com/cylnlp/dialogsum)",
    )
    assert sources_of(item.source for item in everything)[-1] == ExampleSource(
        "own", "texts of one's own", "not stated", 1
    )
    assert sources_of(item.source for item in everything)[0].licence == "CC BY 4.0"


def test_a_folder_of_ones_own_that_is_called_like_a_set_is_read_as_it_is(tmp_path: Path) -> None:
    put(tmp_path / "hanna" / "lamp.md")
    assert [(item.id, item.source) for item in read_items([tmp_path / "hanna"])] == [("lamp", "")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tell-me-a-stroy:test", "Unknown data set 'tell-me-a-stroy'. Did you mean 'tell-me-a-story'?"),
        ("tell-me-a-story:tset", "Unknown split of tell-me-a-story 'tset'. Did you mean 'test'?"),
        ("wikiplots:test", "wikiplots has no splits. Use wikiplots alone."),
        (
            "snap",
            "snap contains numbers, not stories; `fabula lab reproduce` uses it. Sets with stories: tell-me-a-story,",
        ),
        (
            "hanna",
            "set hanna is not in .*hanna. Put its files there .github.com/dig-team/hanna-benchmark-asg.; --data DIR",
        ),
        ("tell-me-a-story", "There is no tell-me-a-story-train_encrypted.jsonl"),
    ],
)
def test_what_is_no_set_is_said(tmp_path: Path, name: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        read_items([Path(name)], Selection(small_sets(tmp_path / "data")))


def test_what_cannot_be_measured_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        UsageError, match=r"No story found in .*empty. Provide text, .jsonl or .csv files, or a data set."
    ):
        read_items([tmp_path / "empty"])
    with pytest.raises(UsageError, match="No story found in nothing"):
        read_items([])
    with pytest.raises(UsageError, match=r"The story in .*blank.md is empty. Provide a story that contains text."):
        read_items([put(tmp_path / "blank.md", "\n---\n")])
    with pytest.raises(UsageError, match=r"has no story yet. Write it with `fabula write"):
        read_items([project(tmp_path / "begun", story="")])
    with pytest.raises(UsageError, match=r"There is no file .*none\.md\. .* or give a manuscript"):
        read_items([tmp_path / "none.md"])
    same = put(tmp_path / "x" / "same.md")
    with pytest.raises(UsageError, match=r"The story .*same\.md is given twice\. Give each story once\."):
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
    with pytest.raises(UsageError, match=r"Two stories have the id 'same', in .*a\.jsonl and .*b\.jsonl\. Rename"):
        read_items(lines)


def test_one_empty_story_does_not_stop_the_others(tmp_path: Path) -> None:
    put(tmp_path / "all" / "a.md")
    blank = put(tmp_path / "all" / "b.md", "\n---\n")
    put(tmp_path / "all" / "set.jsonl", '{"id": "c", "text": "x"}\n{"id": "d", "text": " "}\n')
    items, problems = read_all([tmp_path / "all"])
    assert [item.id for item in items] == ["a", "c"]
    assert problems[0] == f"The story in {blank} is empty. Provide a story that contains text."
    assert "set.jsonl, line 2 is empty" in problems[1]
    with pytest.raises(UsageError, match="is empty"):
        read_items([tmp_path / "all"])
    with pytest.raises(UsageError, match="is empty"):
        read_all([blank])
    with pytest.raises(UsageError, match="line 1, reference is empty"):
        read_all([put(tmp_path / "r.jsonl", '{"id": "b", "text": "x", "reference": "--"}')])


@pytest.mark.parametrize("data", [None, 3, "text", [], {"id": "a", "text": ["x"]}])
def test_what_is_no_item_is_said_so(data: object) -> None:
    with pytest.raises(UsageError, match="here: expected an object with text"):
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
    assert other.id == "x", "a folder with that name that is in no project"


def test_a_project_with_conversations_alone_names_their_files(tmp_path: Path) -> None:
    folder = project(tmp_path / "ferry", story="")
    put(folder / "chat" / "evening.md")
    with pytest.raises(
        UsageError,
        match=r"no story yet.*The folder contains conversations. To read them, specify their files: "
        r".*chat/evening\.md\.",
    ):
        read_items([folder])


def run_of(folder: Path, story: str = TEXT) -> Path:
    """The project of a run of an experiment, whose brief has no title."""
    ProjectFolder.create(folder, Brief(f"Write about the {folder.parent.name}."), {"system": "end-to-end"})
    put(folder / "run.json", "{}")
    if story:
        put(folder / "story.md", story)
    return folder


def test_projects_of_other_briefs_without_titles_answer_other_prompts(tmp_path: Path) -> None:
    ProjectFolder.create(tmp_path / "a", Brief("Write about a lamp."), {})
    ProjectFolder.create(tmp_path / "b", Brief("Write about a clock."), {})
    ProjectFolder.create(tmp_path / "c", Brief("Write about a lamp."), {})
    lamp, clock, again = read_items([put(tmp_path / name / "story.md").parent for name in "abc"])
    assert lamp.prompt == again.prompt == prompt_id("Write about a lamp.") != clock.prompt


def test_runs_of_an_experiment_keep_its_systems_and_prompts(tmp_path: Path) -> None:
    put(tmp_path / "experiment.toml", "")
    runs = [
        run_of(tmp_path / "runs" / prompt / f"{label}-1") for prompt in ("clock", "lamp") for label in ("big", "small")
    ]
    expected = [
        ("clock/big-1", "big", "clock"), ("clock/small-1", "small", "clock"),
        ("lamp/big-1", "big", "lamp"), ("lamp/small-1", "small", "lamp"),
    ]  # fmt: skip
    for paths in ([tmp_path], [tmp_path / "runs"], runs):
        assert [(item.id, item.system, item.prompt) for item in read_items(paths)] == expected


def test_runs_without_a_story_are_left_out(tmp_path: Path) -> None:
    done, failed = run_of(tmp_path / "lamp" / "big-1"), run_of(tmp_path / "lamp" / "small-1", "")
    assert [item.id for item in read_items([done, failed])] == ["lamp/big-1"]
    assert [item.id for item in read_items([tmp_path])] == ["lamp/big-1"]
    with pytest.raises(UsageError, match=r"small-1 has no story yet\. Write it with"):
        read_items([failed])
