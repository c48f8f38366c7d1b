from __future__ import annotations

import contextlib

from hypothesis import example, given
from hypothesis import strategies as st

from fabula.base.errors import BriefError, UsageError
from fabula.story import Brief, Scene, Story, count_words, one_line, plain, without_marks

# Fragments that a manuscript's reader might trip over, beside any text at all.
TRAPS = st.sampled_from(
    ["# ", "#", "\n", "\n\n", "\r", "\r\n", " ", "\ufeff", "<!-- scene: a -->", "<!-- scene:  -->", "-->", "<!--", "x",
     "\u2028", "\x0b", "\x85", "---", "é", "* * *", "* * *\n"]
)  # fmt: skip
texts = st.one_of(st.text(), st.lists(TRAPS, max_size=12).map("".join))
labels = texts.filter(lambda label: "-->" not in label)
scenes = st.lists(st.tuples(labels, texts), max_size=5)


def story_of(title: str, pieces: list[tuple[str, str]], *, breaks: bool = False) -> Story:
    story = Story(title, breaks=breaks)
    for label, text in pieces:
        story = story.add(label, text)
    return story


@given(texts, scenes, st.booleans())
@example("a\nb", [("a\rb", "x")], False)  # noqa: FBT003 - with and without breaks
@example(" ", [("a", "# no title")], True)  # noqa: FBT003 - with and without breaks
@example("T", [("", ""), ("", "\ufeff\ufeffx")], False)  # noqa: FBT003 - with and without breaks
@example("T", [("a", "x\n\n* * *"), ("b", "* * *\n\ny")], False)  # noqa: FBT003 - with and without breaks
@example("T", [("a", "x\n\n* * *"), ("b", "* * *\n\ny")], True)  # noqa: FBT003 - with and without breaks
def test_a_story_reads_back_from_its_manuscript_as_it_was(
    title: str,
    pieces: list[tuple[str, str]],
    breaks: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    story = story_of(title, pieces, breaks=breaks)
    try:
        manuscript = story.manuscript()
    except UsageError:
        assert any("<!-- scene:" in scene.text for scene in story.scenes)
        return
    assert Story.parse(manuscript) == Story(one_line(title), story.scenes)
    assert Story.parse(manuscript).breaks == (breaks and len(pieces) > 1)


@given(texts)
def test_any_text_at_all_is_a_manuscript_and_settles_at_once(text: str) -> None:
    story = Story.parse(text)
    assert Story.parse(story.manuscript()) == story


@given(texts, scenes)
def test_windows_line_ends_and_blanks_at_line_ends_change_nothing(title: str, pieces: list[tuple[str, str]]) -> None:
    with contextlib.suppress(UsageError):
        manuscript = story_of(title, pieces).manuscript()
        assert Story.parse(manuscript.replace("\n", " \r\n")) == Story.parse(manuscript)


@given(texts)
def test_plain_and_one_line_settle_at_once(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert one_line(one_line(text)) == one_line(text)


@given(texts, texts)
def test_words_add_up_over_a_blank(one: str, two: str) -> None:
    assert count_words(f"{one} {two}") == count_words(one) + count_words(two)


@given(scenes)
def test_a_story_has_the_words_of_its_text(pieces: list[tuple[str, str]]) -> None:
    story = story_of("", pieces)
    assert story.words == count_words(story.text)


@given(texts)
def test_a_brief_reads_what_it_wrote(text: str) -> None:
    with contextlib.suppress(BriefError):
        brief = Brief.parse(text)
        assert Brief.parse(brief.write()) == brief


@given(texts)
def test_adding_a_scene_keeps_its_words(text: str) -> None:
    scene = Story().add("a", text).scenes[0]
    assert isinstance(scene, Scene)
    assert scene.words == count_words(without_marks(plain(text)))
