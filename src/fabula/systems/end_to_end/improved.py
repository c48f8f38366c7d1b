"""The end-to-end baseline as we would use it: of the length asked for, and in chapters where wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fabula.craft.chapters import Book, ChapterDemands, chapters_given, chapters_wanted, outline
from fabula.craft.length import WordRange, asked_range
from fabula.craft.whole import material, task, whole
from fabula.story import Brief, Story
from fabula.systems.end_to_end.config import Config, Ours

if TYPE_CHECKING:
    from fabula.engine.run import Run


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task, more for the length.

    Chapters that the author lists in `plan/chapters.md` are told one by one, whatever the length; those whose texts
    are the author's own ask nothing.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        ReplyError: the writer gives nothing of use.
        UsageError: the setting `words` is not a range.
    """
    ours, given = config.ours or Ours(), await material(run)
    want, limit = asked_range(brief, ours.words), config.paper.max_tokens or None
    wanted = await chapters_given(run, brief, ours.words)
    if wanted is None and ours.chapters:
        wanted = chapters_wanted(run, "writer", brief, want, ours.words)
    if wanted is not None:
        return await in_chapters(brief, given, wanted, want, limit, run)
    make = whole("writer", "story", task(brief, given), want, limit)
    return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))


async def in_chapters(
    brief: Brief,
    given: Sequence[tuple[str, str]],
    wanted: ChapterDemands,
    want: WordRange | None,
    limit: int | None,
    run: Run,
) -> Story:
    """A long story, planned in one call and written chapter by chapter."""
    chapters = await outline(run, "writer", brief.titled, wanted, want, plan=given)
    book = Book(brief.titled, chapters, want, given, wanted=wanted, limit=limit)
    await book.write(run, "writer")
    return await book.finished(run, "writer", Story.of(brief))
