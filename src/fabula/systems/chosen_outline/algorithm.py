"""A chosen outline, ours: outlines unlike each other, a reader who chooses one, and chapters written with all in view.

For stories that are too long for one reply, by a model whose window holds all of it. Whoever writes a chapter has read
every word before it, and whoever revises one has read the whole, so that nothing is known by summaries. With one
outline it is what one model can do by itself, chapter by chapter.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.chapters import LONG
from fabula.craft.length import asked_length
from fabula.craft.prose import Prose, write_notes, write_prose
from fabula.craft.whole import SCENES, beginnings, choose_one, material, task
from fabula.engine.making import DRAFTS
from fabula.models.budget import estimate_tokens
from fabula.story import Story, count_words

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fabula.craft.length import AskedLength, WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.scratchpad import Scratchpad
    from fabula.systems.chosen_outline.config import Config

WRITER, READER = "writer", "reader"
_USUAL: Final = 10_000  # words of the story where none are asked for
_CHAPTER: Final = 2_500  # words
_SHORTEST: Final = 500  # words of a chapter: shorter parts, such as scenes, share one
_OUTLINE: Final = 600  # words
_TOKENS_A_WORD: Final = 1.5
_FRAME: Final = 3_000  # tokens of a prompt beside the story, with the outline


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """One call for each outline, one for the choice, and one for each chapter and each revision of it.

    Raises:
        PlanError: the author's plan or personas have problems; all are named.
        UsageError: the story does not fit the writer's window, or the setting `words` is not a range.
        ReplyError: a role gives nothing of use.
    """
    asked = asked_length(brief, config.words)
    want, number = asked.words, _chapters(asked, config)
    given = await material(run)
    s = task(brief, given)
    _check_window(run, s.entries[0].text, number, want)
    # Outlines of scenes that the author has planned could not be unlike each other.
    outlines = 1 if any(label == SCENES for label, _ in given) else max(config.outlines, 1)
    outline = await _outline(run, s, number, want, outlines)
    chapters: list[str] = []
    for n in range(1, number + 1):
        make = _chapter(s, outline, tuple(chapters), n, number, want)
        last = config.revisions == 0
        # A draft has another name than its chapter, so that a note on the one is not one on the other.
        chapters.append(await _kept(run, f"chapter-{n}" if last else f"chapter-{n}-draft", make, last=last))
    for turn in range(1, config.revisions + 1):
        before = [*map(count_words, chapters)]
        for n in range(1, number + 1):
            make = _revision(s, outline, tuple(chapters), n, before, want)
            last = turn == config.revisions
            name = f"chapter-{n}" if last else f"chapter-{n}-revised-{turn}"
            chapters[n - 1] = await _kept(run, name, make, last=last)
    story = Story.of(brief)
    for n, text in enumerate(chapters, 1):
        story = story.add(f"Chapter {n}", text)
    return story


def _chapters(asked: AskedLength, config: Config) -> int:
    """How many chapters: as set, else the parts that the brief asks for, else one for about 2,500 words."""
    if config.chapters:
        return config.chapters
    words, parts = asked.words.target if asked.words else _USUAL, asked.parts
    fits = parts is not None and (parts.kind == "chapter" or words / LONG <= parts.count <= words / _SHORTEST)
    if parts is not None and parts.count and fits:
        return parts.count
    each = parts.each.target if parts is not None and parts.kind == "chapter" and parts.each else _CHAPTER
    return max(round(words / each), 1)


def _check_window(run: Run, given: str, number: int, want: WordRange | None) -> None:
    """Refuse a story that the writer's window does not hold: the task, the whole, and a chapter in two more versions.

    Raises:
        UsageError: it does not.
    """
    words, window = want.high if want else number * _CHAPTER, run.room(WRITER).window
    needed = estimate_tokens(given) + ceil(words * (1 + 2 / number) * _TOKENS_A_WORD) + _FRAME
    if window is not None and window < needed:
        raise UsageError(
            f"A chosen outline needs a window that holds the whole story, about {needed:,} tokens; this writer has "
            f"{window:,}. Give the role another model, or use --system agents-room, which needs less."
        )


async def _outline(run: Run, s: Scratchpad, number: int, want: WordRange | None, count: int) -> str:
    """The outline that the story is written from."""
    outlines: list[str] = []
    for n in range(1, count + 1):
        fields = {"scratchpad": s, "number": number, "length": want, "others": beginnings(outlines)}

        async def make(own: Run, fields: dict[str, object] = fields) -> str:
            return await write_notes(own, WRITER, "outline", labels=("Outline",), usual=_OUTLINE, fields=fields)

        outlines.append(await run.keep(f"outline-{n}", make, folder="plan"))
    return await choose_one(run, READER, outlines, s)


async def _kept(run: Run, name: str, make: Callable[[Run], Awaitable[str]], *, last: bool) -> str:
    """A chapter: the story's own text, that an author may edit, or a draft of it."""
    if last:
        return await run.keep(name, make, folder="story")
    return await run.scope(DRAFTS).keep(name, make, folder=DRAFTS)


def _chapter(
    s: Scratchpad, outline: str, before: tuple[str, ...], n: int, number: int, want: WordRange | None
) -> Callable[[Run], Awaitable[str]]:
    """What asks for the next chapter, by the prompt that all stories in chapters have, with every word before it."""
    left = number - len(before)
    words = want and want.of_sections([1.0] * left, [*map(count_words, before)], before=[1.0] * len(before))
    fields = {
        "brief": s.entries[0].text,
        "plan": [outline],
        "chapters": (),
        "told": (),
        "text": "\n\n".join(before),
        "number": n,
        "of": number,
        "title": "",
        "own": "",
        "part": "",
        "duty": "",
        "begins": not before,
        "open": False,
        "last": n == number,
    }
    prose = Prose(n == number, words, (f"Chapter {n}",), _CHAPTER, extend="chapter_longer", shorten="chapter_shorter")

    async def make(run: Run) -> str:
        return await write_prose(run, WRITER, "chapter", prose, before=before[-1:], fields=fields)

    return make


def _revision(
    s: Scratchpad, outline: str, chapters: tuple[str, ...], n: int, before: Sequence[int], want: WordRange | None
) -> Callable[[Run], Awaitable[str]]:
    """What asks for a chapter's next version with the whole in view; `before` are the chapters' words in the last turn.

    A chapter keeps its length, as long as the whole then comes out in its range; else all share what is to change.
    """
    now, number = count_words(chapters[n - 1]), len(chapters)
    written = [*map(count_words, chapters[: n - 1])]
    words = want and want.of_sections(before[n - 1 :], written, before=before[: n - 1])
    fields = {
        "scratchpad": s,
        "brief": s.entries[0].text,
        "outline": outline,
        "chapters": chapters,
        "number": n,
        "of": number,
        "own": "",
        "has": now,
    }
    prose = Prose(n == number, words, (f"Chapter {n}",), now, extend="revise_longer", shorten="chapter_shorter")

    async def make(run: Run) -> str:
        return await write_prose(run, WRITER, "revise", prose, before=(), fields=fields)

    return make
