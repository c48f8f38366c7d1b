"""Long stories in chapters: how many, how they are planned, what their prompts hold, and how readers see them."""

from __future__ import annotations

import io
import re
import zipfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UsageError
from fabula.craft import PROMPTS
from fabula.craft.chapters import Chapter, ChapterDemands, ChapterPart, chapters_text, chapters_wanted, read_chapters
from fabula.craft.length import WordRange, asked_range
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Capabilities
from fabula.models.budget import prompt_tokens
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief, Story, count_words
from fabula.story.export import Meta, find
from fabula.systems import find as find_system
from prompted import reply_to

if TYPE_CHECKING:
    from fabula.models.base import Request

BRIEF = "Write a story of {} words about Mara, who keeps a lighthouse."
META = Meta(title="The Lamp", author="", words=6, created=datetime(2026, 1, 1, tzinfo=UTC))


def writer(window: int, share: float = 1.0) -> ScriptedModel:
    """A capable model that gives the words it is asked for, in sentences that all differ."""

    def reply(request: Request) -> str:
        if request.schema is not None:
            return reply_to(request)
        said = request.messages[-1].content
        found = re.findall(r"(?:Write|with) about ([\d,]+)(?: more)? words", said)
        words = round(int(found[-1].replace(",", "")) * share) if found else 100
        return " ".join(f"Mara counted {request.path} {n}." for n in range(words // 4))

    return ScriptedModel(reply, capabilities=Capabilities(schema=True, choices=True, context=window))


async def written(
    system: str, brief: str, model: ScriptedModel, journal: Journal, config: dict[str, Any] | None = None
) -> Story:
    method = find_system(system)
    context = RunContext(journal, SystemPrompts(method.prompt_folders("improved"), common=PROMPTS), Cast.of(model))
    return await method.write(Brief.parse(brief), Run(context), method.config("improved", config or {}))


def prompts_of(model: ScriptedModel, name: str) -> list[str]:
    return [one.messages[-1].content for one in model.asked if one.path.endswith(f"/{name}")]


@pytest.mark.parametrize(
    ("brief", "window", "number"),
    [
        (BRIEF.format("4,900"), 131_072, 0),
        (BRIEF.format("6,000"), 131_072, 2),
        (BRIEF.format("80,000"), 131_072, 32),
        (BRIEF.format("80,000"), 8_192, 70),
        ("Write a novel of 10 chapters of 2,000 words each about a ferry.", 131_072, 10),
        ("Write a story in 8 chapters, 6,000 words, about a ferry.", 131_072, 8),
        ("Schreibe einen Roman in zwölf Kapiteln zu je 1500 Wörtern.", 131_072, 12),
        ("Write 20,000 words in chapters of 1,000 words.", 131_072, 20),
        ("Write a story of 900 words in three chapters.", 131_072, 0),  # it fits into one reply
        ("Write a novel in twelve chapters.", 131_072, 12),
        (BRIEF.format("950"), 131_072, 0),
    ],
)
def test_long_stories_have_chapters_and_those_that_the_brief_asks_for(brief: str, window: int, number: int) -> None:
    asked = Brief.parse(brief)
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(PROMPTS), Cast.of(writer(window))))
        wanted = chapters_wanted(run, "writer", asked, asked_range(asked))
    assert (wanted.number if wanted else 0) == number


@pytest.mark.parametrize("window", [8_192, 131_072])
@pytest.mark.parametrize("system", ["end-to-end", "agents-room"])
async def test_a_book_is_a_file_a_chapter_and_its_prompts_fit_the_window(system: str, window: int) -> None:
    model = writer(window)
    with Journal() as journal:
        alone = {"final_reading": False} if system == "agents-room" else {}
        story = await written(system, BRIEF.format("20,000"), model, journal, alone)
        assert WordRange.about(20_000).holds(story.words)
        assert all(count_words(scene.text) < 3_500 for scene in story.scenes)
        assert [scene.label for scene in story.scenes] == [f"Chapter {n + 1}" for n in range(len(story.scenes))]
        assert len(story.scenes) >= 8
        assert all(journal.artefacts.newest(f"chapter-{n + 1}") for n in range(len(story.scenes)))
    assert max(map(prompt_tokens, model.asked)) < window * 0.9


async def test_a_chapter_is_shown_the_plan_what_was_told_and_the_pages_before_it() -> None:
    model = writer(8_192)
    with Journal() as journal:
        await written("end-to-end", BRIEF.format("10 chapters of 1,000"), model, journal)
    first, *_, last = prompts_of(model, "chapter")
    assert "It opens the story: nothing has been told yet." in first
    assert "What the reader has been told so far" not in first
    assert "Write chapter 10 of 10" in last
    assert "It ends the story" in last
    told = last.partition("What the reader has been told so far:")[2].partition("And this is how the story goes on")[0]
    assert "Mara counted" in told
    assert last.rstrip().endswith("The length that the task names is that of the whole story.")


async def test_each_part_of_agents_room_has_chapters_of_its_own() -> None:
    model = writer(131_072)
    with Journal() as journal:
        story = await written("agents-room", BRIEF.format("20,000"), model, journal, {"final_reading": False})
        chapters = read_chapters(journal.artefacts.newest("chapters") or "")
    assert len(chapters) == len(story.scenes) == 8
    assert list(dict.fromkeys(chapter.part.name for chapter in chapters)) == [
        "Exposition",
        "Rising Action",
        "Climax",
        "Falling Action",
        "Resolution",
    ]
    roles = {one.role for one in model.asked if one.path.endswith("/chapter")}
    assert roles == {"exposition", "rising_action", "climax", "falling_action", "resolution"}
    assert "It belongs to the part “Climax”" in "".join(prompts_of(model, "chapter"))


async def test_chapters_without_a_length_belong_to_the_parts_too() -> None:
    model = writer(131_072)
    with Journal() as journal:
        story = await written("agents-room", "Write a novel in ten chapters about a ferry.", model, journal)
        assert journal.artefacts.newest("draft") is None
    assert len(story.scenes) == 10
    assert {"exposition", "resolution"} < {one.role for one in model.asked}


async def test_who_writes_a_whole_story_writes_all_its_chapters() -> None:
    model = writer(131_072)
    with Journal() as journal:
        story = await written("agents-room", BRIEF.format("7,500"), model, journal, {"variant": "plan"})
    assert len(story.scenes) == 3
    assert {one.role for one in model.asked if one.path.endswith("/chapter")} == {"finalizer"}


async def test_chapters_get_the_words_that_the_brief_names() -> None:
    model = writer(131_072, share=0.7)
    with Journal() as journal:
        story = await written("end-to-end", "Write 4 chapters of 2,000 words each about a ferry.", model, journal)
    assert all(1_800 <= scene.words <= 2_310 for scene in story.scenes), [scene.words for scene in story.scenes]


async def test_an_authors_chapters_are_written_as_they_stand() -> None:
    text = (
        "## 1. The Letter (about 1000 words)\nA letter comes.\n\n## 2. The Storm\nThe boat is late.\nEnds with: light."
    )
    model = writer(131_072)
    with Journal() as journal:
        journal.decisions.add("chapters", "edit", text)
        story = await written("end-to-end", BRIEF.format("6,000"), model, journal)
    assert [scene.text.splitlines()[0] for scene in story.scenes] == ["## The Letter", "## The Storm"]
    assert not prompts_of(model, "outline")
    assert "2. The Storm: The boat is late. Ends with: light." in prompts_of(model, "chapter")[0]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("A letter comes.", "plan/chapters.md has no readable chapter. Begin each with a line like"),
        ("# Prologue\n\n## 1. The Letter\nA letter comes.", "plan/chapters.md has a chapter in the part 'Prologue'."),
    ],
)
async def test_chapters_that_cannot_be_read_are_an_error_that_says_what_to_do(text: str, problem: str) -> None:
    with Journal() as journal:
        journal.decisions.add("chapters", "edit", text)
        with pytest.raises(UsageError) as error:
            await written("agents-room", BRIEF.format("6,000"), writer(131_072), journal)
    assert problem in str(error.value)


def test_planned_chapters_are_read_back_as_they_were_written() -> None:
    chapters = [
        Chapter(
            "The Letter", "A letter comes. Mara hides it.\nEnds with: the drawer.", 1200, ChapterPart("Exposition")
        ),
        Chapter("", "It storms.", 1800, ChapterPart("Climax")),
    ]
    again = read_chapters(chapters_text(chapters, WordRange.about(3000)))
    assert list(again) == chapters
    assert read_chapters(chapters_text([Chapter(), Chapter()], None)) == (Chapter(), Chapter())


def test_a_chapters_text_may_have_a_name_which_stays_where_others_come_between() -> None:
    chapters = [Chapter("The Letter", name="the-letter", words=900), Chapter("", name="chapter-2")]
    text = chapters_text(chapters, None)
    assert text == "## 1. The Letter (about 900 words) {#the-letter}\n\n## 2. {#chapter-2}"
    assert [(one.title, one.name, one.words) for one in read_chapters(text)] == [
        ("The Letter", "the-letter", 900),
        ("", "chapter-2", 0),
    ]
    more = f"## The Letter\nAnother one.\n\n{text}\n\n## 3.\n"
    assert [one.name for one in read_chapters(more)] == ["the-letter-2", "the-letter", "chapter-2", "chapter"]
    assert {one.name for one in read_chapters("## 1. One\n\n## 2. Two")} == {""}


async def test_chapters_that_the_author_lists_are_told_and_texts_of_their_own_ask_nothing() -> None:
    listed = "\n\n".join(f"## {n}. Day {n} (about 100 words)" for n in range(1, 13))
    with Journal() as journal:
        journal.decisions.add("chapters", "edit", f"{listed}\n\n## 13. The End (about 200 words)\nThe lamp goes out.")
        for n in range(1, 13):
            journal.decisions.add(f"chapter-{n}", "edit", f"Mara counted day {n}.")
        model = writer(8_192)
        story = await written("end-to-end", "Write about Mara.", model, journal)
    asked = [one.path for one in model.asked]
    assert asked == ["chapter-13/chapter"], "all that went before stands in its prompt"
    assert (len(story.scenes), story.scenes[11].text) == (13, "Mara counted day 12.")
    (prompt,) = prompts_of(model, "chapter")
    assert "Write about 200 words" in prompt
    assert "The lamp goes out." in prompt


async def test_many_chapters_are_planned_in_several_replies_and_a_failed_one_is_no_end() -> None:
    def reply(request: Request) -> str:
        if request.schema is not None and any("chapters 11 to 20" in one.content for one in request.messages):
            return "I would rather not."
        return reply_to(request)

    able = Capabilities(schema=True, choices=True, context=8_192)
    model = ScriptedModel(reply, capabilities=able)
    with Journal() as journal:
        story = await written("end-to-end", "Write a novel in 24 chapters about a ferry.", model, journal)
        chapters = read_chapters(journal.artefacts.newest("chapters") or "")
    assert len(story.scenes) == len(chapters) == 24
    assert [bool(chapter.happens) for chapter in chapters] == [True] * 10 + [False] * 14
    assert "Plan chapters 1 to 10 now." in prompts_of(model, "outline")[0]


async def test_a_short_story_has_no_chapters() -> None:
    for system in ("end-to-end", "agents-room"):
        model = writer(131_072)
        with Journal() as journal:
            await written(system, BRIEF.format("950"), model, journal)
        assert not [one.path for one in model.asked if "chapter" in one.path or "outline" in one.path]


# what readers see -----------------------------------------------------------------------------------------------------

STORY = (
    Story("The Lamp")
    .add("Chapter 1", "## The Letter\n\nA letter came.")
    .add("Chapter 2", "## 2\n\nIt stormed.")
    .add("Afterword", "Thanks.")
)


def test_an_epub_has_a_file_for_each_chapter_with_its_title_in_the_contents() -> None:
    with zipfile.ZipFile(io.BytesIO(find("epub").render(STORY, META))) as book:
        contents = book.read("EPUB/nav.xhtml").decode()
        first = book.read("EPUB/scene-001.xhtml").decode()
    assert '<a href="scene-001.xhtml">The Letter</a>' in contents
    assert '<a href="scene-002.xhtml">2</a>' in contents
    assert "Chapter 1" not in contents + first
    assert "<h2>The Letter</h2>\n<p" in first


def test_other_formats_show_titles_and_no_break_before_them() -> None:
    assert find("text").render(STORY, META).decode() == (
        "The Lamp\n\n\nThe Letter\n\nA letter came.\n\n\n2\n\nIt stormed.\n\n* * *\n\nThanks.\n"
    )
    assert find("markdown").render(STORY, META).decode() == (
        "# The Lamp\n\n## The Letter\n\nA letter came.\n\n## 2\n\nIt stormed.\n\n* * *\n\nThanks.\n"
    )
    fountain = find("fountain").render(STORY, META).decode()
    assert ".THE LETTER" in fountain.upper()
    assert "CHAPTER 1" not in fountain.upper()


def test_a_manuscript_with_chapters_is_read_back() -> None:
    assert Story.parse(STORY.manuscript()) == STORY


def test_wanted_chapters_are_compared_by_what_they_say() -> None:
    assert ChapterDemands(3) != ChapterDemands(3, named=True)
