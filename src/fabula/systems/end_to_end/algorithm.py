"""The end-to-end baseline of Agents' Room (section 5, E2E): the brief in, the story out, one call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fabula.craft.chapters import Book, chapters_given, chapters_wanted, outline
from fabula.craft.final_reading import final_reading
from fabula.craft.length import asked_range
from fabula.craft.prose import Prose, write_prose
from fabula.engine.run import DRAFTS
from fabula.models.base import Sampling
from fabula.story import Story, count_words
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.craft.chapters import Wanted
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.end_to_end.config import Config

_STORY_WORDS: Final = 1207  # where none are asked for: the mean length of this baseline's stories in Table 2
_LABELS: Final = ("Creative Writing Task", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call with the writing task; with `revisions` one more for each, in improved mode more for the length.

    Chapters that the author lists in `plan/chapters.md` are told one by one, whatever the length; those whose texts
    are the author's own ask nothing.

    Raises:
        ReplyError: the writer gives nothing of use.
        UsageError: the setting `words` is no range.
    """
    ours, scratchpad = config.ours, Scratchpad.of(brief)
    want = asked_range(brief, ours.words) if ours.length_control else None
    wanted = await chapters_given(run, brief, ours.words)
    if wanted is None and ours.chapters:
        wanted = chapters_wanted(run, "writer", brief, want, ours.words)
    if wanted is not None:
        return await _in_chapters(wanted, want, brief, run, config)
    make = _asked("story", scratchpad, want, config)
    rounds = 0 if run.too_small_for("revisions", "writer") else ours.revisions
    for n in range(1, rounds + 1):
        draft = await run.scope(DRAFTS).keep(f"version-{n}", make, folder=DRAFTS)
        make = _asked("revise", scratchpad, want, config, draft=draft, has=count_words(draft), n=n, rounds=rounds)
    if not ours.final_reading:
        return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))
    whole = await run.draft("story", make, folder="story")
    (y,) = await final_reading(run, "writer", [whole], brief=brief.titled, want=want)
    return Story.of(brief).add("Story", y)


async def _in_chapters(wanted: Wanted, want: WordRange | None, brief: Brief, run: Run, config: Config) -> Story:
    """Ours: a long story, planned in one call and written chapter by chapter."""
    ours = config.ours
    if ours.revisions:
        run.disobeys("revisions", "a story in chapters is too long to be given anew as a whole.")
    chapters = await outline(run, "writer", brief.titled, wanted, want)
    final = ours.final_reading and not run.too_small_for("final_reading", "writer")
    limit = config.paper.max_tokens or None
    book = Book(brief.titled, chapters, want, read_at_end=final, wanted=wanted, limit=limit)
    await book.write(run, "writer")
    return await book.finished(run, "writer", Story.of(brief))


def _asked(
    prompt: str, scratchpad: Scratchpad, want: WordRange | None, config: Config, **more: object
) -> Callable[[Run], Awaitable[str]]:
    """What asks the writer for the story by a prompt; in improved mode of the length wanted."""
    limit = config.paper.max_tokens or None
    fields = {"scratchpad": scratchpad, **more}

    async def make(run: Run) -> str:
        if config.ours.clean_replies or run.aids("writer"):
            prose = Prose(last=True, want=want, labels=_LABELS, usual=_STORY_WORDS)
            before = [entry.text for entry in scratchpad.entries]
            return await write_prose(run, "writer", prompt, prose, limit, before=before, fields=fields)
        sampling = Sampling(max_tokens=limit)
        return await run.ask("writer", prompt, sampling=sampling, expect=_STORY_WORDS, words=None, **fields)

    return make
