"""What texts are called where a person sees them: by titles, also chapters only planned; and what is behind."""

from __future__ import annotations

import pytest

from fabula.app.titles import Titles, is_behind

FILES = {
    "chapters": "plan/chapters.md",
    "the-letter": "story/01-the-letter.md",
    "drafts/the-letter": "drafts/the-letter.md",
    "drafts/edits": "drafts/edits.yaml",
    "cell-3-witnesses": "plan/cell-3-witnesses.yaml",
    "rising-action": "story/02-rising-action.md",
    "brief.md": "brief.md",
}
TEXTS = {
    "chapters": "## 1. The Letter (about 200 words) {#the-letter}\n\n## 2. The Church at Vardnes (about 300 words)\n",
    "the-letter": "## The Letter\n\nIosif walked.",
}


def test_texts_have_titles_and_no_names_of_files() -> None:
    titles = Titles.of(FILES, TEXTS)
    assert [titles(name) for name in FILES] == [
        "Chapters",
        "The Letter",
        "Draft of The Letter",
        "Changes of the final reading",
        "Part 3: witnesses",
        "Rising action",
        "Brief",
    ]
    assert titles("story/01-the-letter.md") == "The Letter", "a file is its text"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## The Note\n\nIosif walked.", "The Note"),
        ("## PART THREE: The Letter\n\nIosif walked.", "The Letter"),
        ("# The Letter\n\n## I\n\nIosif walked.", "The Letter"),
        ("Iosif walked.", "The Letter"),
    ],
)
def test_a_renamed_chapter_is_called_by_its_heading_and_no_longer_as_planned(text: str, title: str) -> None:
    assert Titles.of(FILES, TEXTS | {"the-letter": text})("the-letter") == title


def test_a_draft_of_no_text_of_its_name_is_called_by_its_own() -> None:
    titles = Titles.of({"drafts/draft-2": "drafts/draft-2.md", "story": "story/01-story.md"}, {})
    assert titles("drafts/draft-2") == "Draft 2"


def test_a_run_is_called_by_what_it_writes_also_what_is_only_planned() -> None:
    titles = Titles.of(FILES, TEXTS)
    named = titles.of_calls(["the-church-at-vardnes/chapter", "the-church-at-vardnes/chapter/2", "chapters/plan"])
    assert named[0] == "The Church at Vardnes"
    assert not titles.is_written("The Church at Vardnes")
    assert titles.is_written("The Letter")


@pytest.mark.parametrize("name", FILES)
def test_what_a_system_keeps_for_itself_is_behind_the_scenes(name: str) -> None:
    assert is_behind(FILES[name]) is (name.startswith("drafts/") or name == "cell-3-witnesses")
