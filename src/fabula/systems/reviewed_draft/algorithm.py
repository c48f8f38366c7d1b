"""A reviewed draft, ours: a draft, four readers, the story written anew and revised, and a last reading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.drafts import keep_draft
from fabula.craft.final_reading import final_reading
from fabula.craft.prose import write_notes
from fabula.craft.whole import whole, words_in_one_reply
from fabula.engine.making import DRAFTS
from fabula.story import Story, count_words
from fabula.story.scratchpad import Scratchpad

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.systems.reviewed_draft.config import Config

WRITER: Final = "writer"


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The story of a writing task; six calls, one more for each revision and for the reading at the end.

    Raises:
        UsageError: the story is too long to be one reply, or the setting `words` is no range.
        ReplyError: a role gives nothing of use.
    """
    want = words_in_one_reply(brief, config.words, "A reviewed draft")
    s = Scratchpad.of(brief)
    text = await run.keep("draft", version("draft", s, want), folder=DRAFTS)
    s = s.add("Draft", text, "planning")
    for reader in READERS:
        s = s.add(reader.label, await run.keep(reader.name, notes_on(text, reader, s, want), folder="plan"), "planning")
    make = version("rewrite", s, want, has=count_words(text))
    for n in range(1, config.revisions + 1):
        text = await run.keep(f"version-{n}", make, folder=DRAFTS)
        about = {"draft": text, "has": count_words(text), "n": n, "rounds": config.revisions}
        make = version("revise", Scratchpad.of(brief), want, **about)
    if not config.final_reading:
        return Story.of(brief).add("Story", await run.keep("story", make, folder="story"))
    draft = await keep_draft(run, "story", make)
    (text,) = await final_reading(run, WRITER, [draft], brief=brief.titled, want=want)
    return Story.of(brief).add("Story", text)


@dataclass(frozen=True, slots=True)
class DraftReader:
    """One of the four who read the draft: its role, its notes' file and label, the side it reads for, its questions."""

    role: str
    name: str
    label: str
    side: str
    questions: tuple[str, ...]


READERS: Final = (
    DraftReader(
        "conflict",
        "conflict",
        "Notes on the Central Conflict",
        "its central conflict",
        (
            "What do those at the centre of the story want most, and why? Does the reader feel it, and from where on?",
            "What stands in their way? Is it strong enough, and does somebody have to choose?",
            "Is it decided by what somebody does, at a price, and where the reader can see it?",
        ),
    ),
    DraftReader(
        "character",
        "characters",
        "Notes on the Characters",
        "its characters",
        (
            "How do they sound? Could one tell from a line alone who is speaking?",
            "How do they look and move? Is there a gesture that is only theirs, or one that any story has?",
            "What drives them, what do they fear, what do they hide? Do they change, or show why they cannot?",
            "Does each of them know, say and notice only what they can?",
        ),
    ),
    DraftReader(
        "setting",
        "setting",
        "Notes on the Setting",
        "its setting",
        (
            "Where does each scene happen? Could it happen nowhere else, and does the place take part in it?",
            "When does it happen, and how much time goes by? Do dates, ages, hours, numbers and distances agree?",
            "Are the things that people see, hear and use the right ones, and is any of them wrong for time or place?",
        ),
    ),
    DraftReader(
        "plot",
        "plot",
        "Notes on the Plot",
        "its plot, and for all that the Creative Writing Task demands",
        (
            "Is every demand of the task met: order of telling, dates, person, tense, form, lengths, who learns what?",
            "What is set up and does not pay off? What pays off and was not set up, or is told instead of shown?",
            "Where can the reader not follow, and where are they told what they know already?",
            "Which scene has too little room, and which too much?",
            "Is the ending earned, and is its last line the right one?",
        ),
    ),
)
_LABELS: Final = ("Creative Writing Task", "Draft", *(reader.label for reader in READERS))
_USUAL: Final = 926  # words of a story where none are asked for
_SHORT: Final = 1500  # words; to a shorter draft each reader names two changes, not three
_OF_A_CHANGE: Final = 180  # words of a reader's notes for each thing that they would change
_SHORT_NOTE: Final = 160  # tokens of a small model's notes


def version(prompt: str, s: Scratchpad, want: WordRange | None, **more: object) -> Callable[[Run], Awaitable[str]]:
    """What asks the writer for a whole version of the story."""
    return whole(WRITER, prompt, s, want, labels=_LABELS, usual=_USUAL, more=more)


def notes_on(draft: str, reader: DraftReader, s: Scratchpad, want: WordRange | None) -> Callable[[Run], Awaitable[str]]:
    """What asks a reader for what to change; the last of them puts all changes in order, within the words wanted."""
    last = reader == READERS[-1]
    things = 2 if want is None or want.target < _SHORT else 3
    fields: dict[str, Any] = {
        "scratchpad": s,
        "side": reader.side,
        "questions": reader.questions,
        "first": reader == READERS[0],
        "last": last,
        "things": "two" if want is not None and want.target < _SHORT else "three",
        "has": count_words(draft),
        "whole": want,
    }

    async def make(run: Run) -> str:
        before, limit = [entry.text for entry in s.entries], run.room(reader.role).reply_tokens(_SHORT_NOTE)
        usual = _OF_A_CHANGE * (things + last)
        return await write_notes(
            run, reader.role, "review", labels=_LABELS, usual=usual, max_tokens=limit, before=before, fields=fields
        )

    return make
