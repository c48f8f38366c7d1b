"""The end-to-end baseline as we would use it: of the length asked for, and revised or in chapters where wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.chapters import Book, chapters_given, chapters_wanted, outline
from fabula.craft.length import asked_range
from fabula.craft.prose import Prose, write_prose
from fabula.craft.settings import unsupported_by, warn_ignored
from fabula.engine.making import DRAFTS
from fabula.story import Story, count_words
from fabula.systems.end_to_end.algorithm import USUAL_WORDS, material, task
from fabula.systems.end_to_end.config import Ours

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fabula.craft.chapters import ChapterDemands
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.scratchpad import Scratchpad
    from fabula.systems.end_to_end.config import Config

_LABELS: Final = ("Creative Writing Task", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task, more for the length; with `revisions` one more for each.

    Chapters that the author lists in `plan/chapters.md` are told one by one, whatever the length; those whose texts
    are the author's own ask nothing.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        ReplyError: the writer gives nothing of use.
        UsageError: the setting `words` is no range.
    """
    ours, given = config.ours or Ours(), await material(run)
    want, limit = asked_range(brief, ours.words), config.paper.max_tokens or None
    wanted = await chapters_given(run, brief, ours.words)
    if wanted is None and ours.chapters:
        wanted = chapters_wanted(run, "writer", brief, want, ours.words)
    if wanted is not None:
        if ours.revisions:
            warn_ignored(run, "revisions", "a story in chapters is too long to be given anew as a whole.")
        return await in_chapters(brief, given, wanted, want, limit, run)
    s = task(brief, given)
    make = asked("story", s, want, limit)
    rounds = 0 if unsupported_by(run, "revisions", "writer") else ours.revisions
    for n in range(1, rounds + 1):
        draft = await run.scope(DRAFTS).keep(f"version-{n}", make, folder=DRAFTS)
        make = asked("revise", s, want, limit, draft=draft, has=count_words(draft), n=n, rounds=rounds)
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


def asked(
    prompt: str, s: Scratchpad, want: WordRange | None, limit: int | None, **more: object
) -> Callable[[Run], Awaitable[str]]:
    """What asks the writer for the story by a prompt, of the length wanted."""

    async def make(run: Run) -> str:
        prose = Prose(last=True, want=want, labels=_LABELS, usual=USUAL_WORDS)
        before = [entry.text for entry in s.entries]
        return await write_prose(run, "writer", prompt, prose, limit, before=before, fields={"scratchpad": s, **more})

    return make
