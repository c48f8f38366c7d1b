"""A long story in chapters: planned in one reply, then written one after the other, each its own text; ours.

A text of tens of thousands of words is none that one reply can give or one prompt can hold. So the story is divided
into chapters of a few thousand words (`outline`), which an author can edit in `plan/chapters.md`, or list there
(`chapters_given`), as a manuscript's are that was begun elsewhere. Who writes a chapter
is shown the plan, the last pages before it, and, of the chapters that do not stand there, accounts or excerpts
(`fabula.craft.accounts`). Where the writer's window has no room for all of the plan, it holds those persons, places and
parts of the plot whole that are most like what the chapter tells.

A book that has many chapters and that no prompt is to hold is noted down while it is written (`fabula.craft.so_far`).
Its chapters' prompts have the same size at its beginning and at its end, in windows of any size. Every few chapters the
next ones are planned again, where what was told differs from the plan.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Final, Literal

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError, UsageError
from fabula.craft import CHAPTERS, SO_FAR
from fabula.craft.accounts import SHORT, Accounts, Earlier
from fabula.craft.drafts import Draft, keep_draft
from fabula.craft.final_reading import final_reading
from fabula.craft.headings import has_number, next_heading
from fabula.craft.length import ONE_REPLY, WordRange, asked_length
from fabula.craft.packing import around, chosen, end_of, grouped, in_pieces, note_assumed_window, whole_at_end
from fabula.craft.prose import Prose, write_prose
from fabula.craft.so_far import Shown, SoFar, SoFarReply, few_enough, read_so_far
from fabula.engine.room import USUAL_WINDOW
from fabula.engine.run import Run, has_author_text
from fabula.models.budget import estimate_tokens
from fabula.story import Brief, Story, count_words, one_line, slug

LONG: Final = 5_000
"""Words from which a story has chapters, also where nobody asks for them."""
_CHAPTER: Final = 2_500  # words of a chapter where the brief names none,
_OF_WINDOW: Final = 0.14  # and at most so many for each token of its writer's window
_LEAST, _MOST = 0.4, 2.0  # of the mean, that a chapter is planned to have
_BAND: Final = 0.2  # how far a chapter may miss its words, where the brief has not asked for chapters
_PLAN, _CHAPTERS, _TEXT = 0.12, 0.12, 0.15  # shares of the window; the plan has what the others leave, too
_OUTLINED: Final = 0.5  # for the plan that is divided into chapters,
_BEFORE: Final = 0.2  # and for those that are divided already
_PROMPT: Final = 0.85  # for all of a chapter's prompt, and its text twice, as who makes it longer is shown it
_FRAME: Final = 800  # tokens of a chapter's prompt beside the texts in it
_TOKENS_A_WORD: Final = 1.4
_CHAPTER_TOKENS: Final = 200  # of a planned chapter in a reply
_MANY: Final = 12  # chapters: a story of more is a book, if it has more than
_BOOK: Final = 30_000  # words, or than a prompt of its writer can show
_BOOK_PROMPT: Final = 7_900  # tokens at most of the prompt of a book's chapter, of which
_LEAST_PROMPT: Final = 0.5  # of a small window
_STATE, _NEAR, _NOTES = 0.36, 0.12, 0.2  # are the state of the story, the chapters' plan, and the rest of the plan;
_LEAST_TEXT: Final = 0.1  # and the last pages have what is left, which is so much at least
_READ: Final = 6_000  # tokens of the author's chapters that are noted in one call,
_READ_SHARE: Final = 0.4  # and share of the window
_OPEN: Final = 0.06  # share of the window for open threads, and for the chapters that come later,
_LATER: Final = 600  # but at most so many tokens
_AHEAD: Final = 6  # chapters that are planned again at once
_SHOWN: Final = "Shown here, since a later chapter needs it:"
_HEADING: Final = re.compile(r"##\s*(?:(?P<number>\d{1,4})[.:]?(?:\s|\Z))?\s*(?P<title>[^\n]*)")
_WORDS: Final = re.compile(r"\(about (?P<words>\d{1,7}) words\)\s*\Z")
_NAMED: Final = re.compile(r"\{#(?P<name>[a-z0-9-]{1,80})\}\s*\Z")


class ChapterReply(BaseModel):
    """A chapter as it is planned."""

    title: str = Field(description="Its title, in the language of the story; empty if the task wants no titles.")
    words: int = Field(ge=1, description="About how many words it takes.")
    happens: str = Field(
        description="What happens in it, in the order in which it is told: four to eight sentences that say when and "
        "where it is, who does or says what, what changes, and what the reader is shown because a later chapter needs "
        "it."
    )
    ends_with: str = Field(description="With what it ends: an image, an act, a line.")
    plants: list[str] = Field(
        default=[],
        description="What the reader has to be shown in it because a later chapter needs it: the thing, the word or "
        "the fact, and what it is for.",
    )


@dataclass(frozen=True, slots=True)
class ChapterPart:
    """A part of the story that has chapters of its own: its name, about how many words it has, and what it is for."""

    name: str
    words: int = 0
    duty: str = ""


_WHOLE: Final = ChapterPart("")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A planned chapter: its title, what happens, its share of the words, and the part of the story that it is in.

    `name` is that of its text, where its place does not say it (`chapter-3`); `words` are those that its author wants.
    """

    title: str = ""
    happens: str = ""
    weight: float = 1.0
    part: ChapterPart = _WHOLE
    name: str = ""
    words: int = field(default=0, compare=False)

    @property
    def short(self) -> str:
        """What happens in it, in its first sentence."""
        return self.happens.partition(". ")[0].rstrip(".")


@dataclass(frozen=True, slots=True)
class ChapterDemands:
    """The chapters that a story is to have: how many, and the words of each where the brief says them.

    `listed` are those of the author's own list, which may be the first of a longer story: it ends with the chapter
    `ends`, if that is in the list, or where it has the words of the whole.
    """

    number: int
    named: bool = False
    each: WordRange | None = None
    listed: bool = False
    ends: int = 0


def chapters_wanted(
    run: Run, role: str, brief: Brief, want: WordRange | None, words: str = "", parts: Sequence[ChapterPart] = ()
) -> ChapterDemands | None:
    """The chapters of the story; `None` for one that is short enough to be one text, or five parts.

    As many as the brief asks for; else as many of about 2,500 words as the story takes, or of fewer, where the window
    of who writes them is small. Each of the `parts` has one at least.

    Args:
        run: the place of the story.
        role: who writes it.
        brief: what it must be.
        want: its words; `None` where nothing says how many.
        words: the setting that goes before what the brief says of words.
        parts: of the story, each of which has chapters of its own.

    Raises:
        UsageError: `words` is not a range.
    """
    asked = asked_length(brief, words).parts
    if asked is not None and asked.kind != "chapter":
        asked = None
    if want is None or want.target <= LONG:
        several = asked is not None and asked.count > 1 and (want is None or want.target > ONE_REPLY)
        return ChapterDemands(asked.count, named=True, each=asked.each) if several and asked else None
    if asked is not None and asked.count > 1:
        return ChapterDemands(asked.count, named=True, each=asked.each)
    if asked is not None and asked.each is not None:
        return ChapterDemands(max(round(want.target / asked.each.target), 2), named=True, each=asked.each)
    most = min(_CHAPTER, int((run.room(role).window or USUAL_WINDOW) * _OF_WINDOW))
    return ChapterDemands(max(round(want.target / most), len(parts), 2))


async def chapters_given(run: Run, brief: Brief, words: str = "") -> ChapterDemands | None:
    """The chapters that the author lists in `plan/chapters.md`, however long the story is; `None` where they do not.

    Raises:
        UsageError: `words`, the setting that goes before what the brief says of them, is not a range.
    """
    text = await run.given(CHAPTERS, folder="plan")
    if text is None:
        return None
    parts = asked_length(brief, words).parts
    ends = parts.count if parts is not None and parts.kind == "chapter" else 0
    return ChapterDemands(len(read_chapters(text)), named=True, listed=True, ends=ends)


async def outline(
    run: Run,
    role: str,
    brief: str,
    wanted: ChapterDemands,
    want: WordRange | None,
    *,
    plan: Sequence[tuple[str, str]] = (),
    parts: Sequence[ChapterPart] = (),
) -> tuple[Chapter, ...]:
    """The chapters, kept as `plan/chapters.md`; one call, none for small models, whose chapters have numbers alone.

    Args:
        run: the place of the story.
        role: who plans them.
        brief: what the story must be.
        wanted: the chapters that it is to have.
        want: words of the whole story.
        plan: what else is planned: label and text of each note, that on which most rests last.
        parts: that the chapters belong to, in order; none where the story has none.

    Raises:
        UsageError: the author's file has no chapter that can be read.
    """
    names, number = [part.name for part in parts], wanted.number

    async def make(own: Run) -> str:
        even = [Chapter(part=_part_of(n, number, parts)) for n in range(number)]
        if own.room(role).aids:
            return chapters_text(even, want)
        note_assumed_window(own, role)
        fields = {
            "brief": brief,
            "plan": chosen(plan, own.room(role).prompt_tokens(SHORT, _OUTLINED)),
            "number": number,
            "each": wanted.each.target if wanted.each else want.target // number if want else 0,
            "words": want,
            "parts": parts,
        }
        made: list[Chapter] = []
        at_once = max(own.room(role).reply_budget // _CHAPTER_TOKENS, 1)
        while len(made) < number:
            count = min(at_once, number - len(made))
            place = own.scope("from", len(made) + 1) if number > at_once else own
            try:
                made += await _planned(place, role, made, count, names, fields)
            except ReplyError as error:
                own.note(f"The chapters are not planned one by one from chapter {len(made) + 1} on: {error}")
                made += even[len(made) :]
        return chapters_text(_in_order(made, names), want)

    chapters = await run.keep(CHAPTERS, make, folder="plan", read=read_chapters)
    if not chapters:
        raise UsageError(
            "plan/chapters.md has no readable chapter. Begin each with a line like '## 1. The Letter (about "
            "2000 words)', or take the edit back with `fabula undo`."
        )
    known = [part.name for part in parts]
    for chapter in chapters:
        if parts and chapter.part.name not in known:
            raise UsageError(
                f"plan/chapters.md has a chapter in the part {chapter.part.name!r}. Put each below one of these "
                f"lines: {', '.join(f'# {name}' for name in known)}."
            )
    return chapters


def outline_type(number: int, parts: Sequence[str]) -> type[BaseModel]:
    """The form of a reply with so many chapters, each of one of the parts, if there are any."""
    one: Any = ChapterReply
    if parts:
        described = Field(description="The part of the story that it belongs to.")
        names: Any = Literal[tuple(parts)]
        one = create_model("ChapterOfPart", __base__=ChapterReply, part=(names, described))
    listed = Field(
        min_length=number, max_length=number, description="The chapters in the order in which they are told."
    )
    return create_model("Chapters", chapters=(list[one], listed))


async def _planned(
    run: Run, role: str, before: Sequence[Chapter], count: int, names: Sequence[str], fields: dict[str, Any]
) -> list[Chapter]:
    """The next `count` chapters; one call."""
    left = names[names.index(before[-1].part.name) :] if before and names else names
    full, short = ([_line(n, one, short=less) for n, one in enumerate(before, 1)] for less in (False, True))
    shown = around(full, short, len(before) - 1, run.room(role).prompt_tokens(SHORT, _BEFORE)) if before else ()
    found: Any = await run.ask_for(
        outline_type(count, left),
        role,
        "outline",
        first=len(before) + 1,
        count=count,
        before=shown,
        **fields,
    )
    return _in_order([_chapter(one) for one in found.chapters], names)


def _chapter(reply: ChapterReply) -> Chapter:
    """A chapter as it is planned in a reply."""
    happens = "\n".join([one_line(reply.happens), *_planted(reply.plants), *_ending(reply.ends_with)])
    return Chapter(one_line(reply.title), happens, reply.words, ChapterPart(getattr(reply, "part", "")))


def _in_order(chapters: Sequence[Chapter], names: Sequence[str]) -> list[Chapter]:
    """Chapters of not too different lengths, those of the first part first."""
    planned = [one.weight for one in chapters if one.happens]
    mean = sum(planned) / len(planned) if planned else 1.0
    made = [
        replace(one, weight=min(max(one.weight if one.happens else mean, _LEAST * mean), _MOST * mean))
        for one in chapters
    ]
    return sorted(made, key=lambda one: names.index(one.part.name)) if names else made


def _line(number: int, chapter: Chapter, *, short: bool) -> str:
    """A planned chapter on one line."""
    happens = chapter.short if short else chapter.happens
    return f"{number}. " + ": ".join(filter(None, (chapter.title, one_line(happens))))


def _planted(said: Sequence[str]) -> list[str]:
    lines = [f"- {one_line(one)}" for one in said if one.strip()]
    return [_SHOWN, *lines] if lines else []


def _ending(said: str) -> list[str]:
    return [f"Ends with: {one_line(said)}"] if said.strip() else []


def _part_of(n: int, number: int, parts: Sequence[ChapterPart]) -> ChapterPart:
    """The part of the chapter `n`, where all parts have as many."""
    return parts[min(n * len(parts) // number, len(parts) - 1)] if parts else _WHOLE


def chapters_text(chapters: Sequence[Chapter], want: WordRange | None, first: int = 1) -> str:
    """The chapters as text that `read_chapters` reads back; with their words where the story's are known.

    The number of the `first` is that of its place in the story.
    """
    planned = want.planned([chapter.weight for chapter in chapters]) if want else []
    shown: list[str] = []
    part = _WHOLE
    for number, chapter in enumerate(chapters, first):
        words = round(planned[number - first]) if want else 0
        words = words or chapter.words
        length, name = f"(about {words} words)" if words else "", f"{{#{chapter.name}}}" if chapter.name else ""
        count = "" if name and has_number(chapter.title) else f"{number}."
        head = " ".join(filter(None, ("##", count, chapter.title, length, name)))
        above = [f"# {chapter.part.name}\n"] if chapter.part.name != part.name else []
        part = chapter.part
        shown.append("\n".join([*above, head, *([chapter.happens] if chapter.happens else [])]))
    return "\n\n".join(shown)


def read_chapters(text: str) -> tuple[Chapter, ...]:
    """The chapters in a text: each below a line `## 1. Title (about 2000 words)`, parts of the story below `# Part`.

    A line may end with the name of the chapter's text, as in `{#the-letter}`. Where one does, the others are called
    after their titles, so that a chapter more between them leaves their names as they are. A number with which such a
    name begins is its author's, and part of the title.
    """
    found: list[tuple[Chapter, list[str]]] = []
    part = ""
    for line in text.splitlines():
        if line.startswith("# "):
            part = one_line(line[2:])
        elif head := _HEADING.fullmatch(line.strip()):
            found.append((replace(_headed(head, line.strip()[2:]), part=ChapterPart(part)), []))
        elif found:
            found[-1][1].append(line)
    named = [one.words for one, _ in found if one.words]
    usual = sum(named) / len(named) if named else 1.0
    listed = [replace(one, weight=one.words or usual, happens="\n".join(lines).strip()) for one, lines in found]
    taken = {one.name for one in listed if one.name}
    return tuple(_named(one, taken) for one in listed) if taken else tuple(listed)


def _headed(head: re.Match[str], whole: str) -> Chapter:
    """The chapter of a heading, without its number where that is not its author's."""
    number, title = head["number"], head["title"]
    found = _NAMED.search(title)
    name = found["name"] if found else ""
    if (
        name
        and number
        and (name.startswith(f"{number}-") or (name == f"chapter-{number}" and f"{number}." not in whole))
    ):
        title = whole
    title = _NAMED.sub("", title)
    said = _WORDS.search(title)
    title = one_line(title[: said.start()] if said else title)
    return Chapter(title, words=int(said["words"]) if said else 0, name=name)


def _named(chapter: Chapter, taken: set[str]) -> Chapter:
    """The chapter with a name; what was given a name is noted in `taken`."""
    if chapter.name:
        return chapter
    name = slug(chapter.title or "chapter")
    if name in taken:
        name = next(one for n in range(2, len(taken) + 3) if (one := f"{name[:50]}-{n}") not in taken)
    taken.add(name)
    return replace(chapter, name=name)


@dataclass
class Book:
    """A story that is written in chapters, as far as it is written.

    Attributes:
        brief: what it must be.
        chapters: as they are planned.
        want: words of the whole.
        plan: what is planned next to its chapters: label and text of each note.
        duties: what each part is for, by its name.
        read_at_end: its chapters are drafts, which are read and mended when all are there.
        wanted: what is asked of the chapters; where nothing is, their lengths may differ more.
        limit: tokens of a reply, where they are bounded.
        drafts: the chapters that are written.
    """

    brief: str
    chapters: Sequence[Chapter]
    want: WordRange | None = None
    plan: Sequence[tuple[str, str]] = ()
    duties: dict[str, str] = field(default_factory=dict)
    read_at_end: bool = False
    wanted: ChapterDemands = ChapterDemands(0)
    limit: int | None = None
    drafts: list[Draft] = field(default_factory=list)
    _numbers: list[int] = field(default_factory=list)  # of the chapters that are written
    _accounts: Accounts = field(init=False)
    _state: SoFar = field(default_factory=SoFar)  # after so many of the chapters that are written:
    _noted: int = 0
    _planned: int = _AHEAD  # the first chapter whose plan was not compared with what is told

    def __post_init__(self) -> None:
        """Begin without accounts of what is told."""
        self._accounts = Accounts(self.brief)

    async def write(self, run: Run, role: str, part: str | None = None) -> str:
        """Write the missing chapters of a part, or of all; each is kept as `chapter-N`. Gives what they tell.

        Costs one call or more for each chapter, and one for each account of a chapter that a later one's prompt has no
        room for.

        Raises:
            ReplyError: the role gives no usable prose.
        """
        planned: list[str] = []
        for at in range(len(self.chapters)):
            if (part is not None and self.chapters[at].part.name != part) or at + 1 in self._numbers:
                continue
            name = self._name(at)
            told: Sequence[str] | SoFar = ()
            if not has_author_text(run, name):
                told = await (self._so_far if self._is_book(run, role) else self._told)(run, role, at)
            make = partial(self._chapter, role=role, at=at, told=told)
            if self.read_at_end:
                draft = await keep_draft(run, name, make)
            else:
                draft = Draft(name, await run.keep(name, make, folder="story"))
            self._numbers.append(at + 1)
            self.drafts.append(draft)
            planned.append(self.chapters[at].happens)
        return "\n\n".join(filter(None, planned)) or "The rest of the story is told."

    def add_to(self, story: Story, texts: Sequence[str] = ()) -> Story:
        """The story with all chapters that are written, or with other `texts` in their places."""
        for number, text in zip(self._numbers, texts or [draft.text for draft in self.drafts], strict=True):
            story = story.add(self._name(number - 1).replace("-", " ").capitalize(), text)
        return story

    def _name(self, at: int) -> str:
        return self.chapters[at].name or f"chapter-{at + 1}"

    async def _told(self, run: Run, role: str, at: int) -> Sequence[str]:
        """What is known of the chapters before one that have no room in its prompt."""
        note_assumed_window(run, role)
        texts = [draft.text for draft in self.drafts]
        whole = whole_at_end(texts, self._text_room(run, role))
        parts = [
            Earlier(
                name := self._name(n - 1),
                self._titled(n - 1),
                text,
                self.chapters[n - 1].happens,
                has_author_text(run, name),
            )
            for n, text in zip(self._numbers, texts, strict=True)
        ]
        return await self._accounts.told(run, role, parts, next_one=f"“{self._called(at)}”", whole=whole)

    def _is_book(self, run: Run, role: str) -> bool:
        """Whether the story is too long to be shown, so that notes on it are kept; small models can give none."""
        room = run.room(role)
        if len(self.chapters) <= _MANY or room.aids or room.is_person:
            return False
        told = [count_words(draft.text) for draft in self.drafts]
        usual = sum(told) // len(told) if told else _CHAPTER
        left = sum(one.words or usual for n, one in enumerate(self.chapters, 1) if n not in self._numbers)
        words = self.want.target if self.want else sum(told) + left
        return words > min(_BOOK, self._text_room(run, role) / _TOKENS_A_WORD)

    async def _so_far(self, run: Run, role: str, at: int) -> SoFar:
        """The state of the story before a chapter; the plan of the next chapters is changed where it differs."""
        note_assumed_window(run, role)
        groups = self._unread(run, role)
        if (chapters := sum(map(len, groups))) > 1:
            calls = "one call" if len(groups) == 1 else f"{len(groups)} calls"
            run.note(
                f"Who writes “{self._called(at)}” first reads {chapters} chapters and keeps notes on them in "
                f"{SO_FAR}/: {calls}, paid once.",
                "notice",
            )
        await self._note_down(run, role, groups)
        if at >= self._planned and not self.wanted.listed and not has_author_text(run, CHAPTERS):
            await self._plan_ahead(run, role, at)
        return self._state

    async def _note_down(self, run: Run, role: str, groups: Sequence[Sequence[int]]) -> None:
        """Bring the state of the story up to the last of these chapters; one call for each group."""
        for group in groups:
            last = self._numbers[group[-1]]
            make = partial(self._noted_after, role=role, group=group, state=self._state)
            name = self.chapters[last - 1].name or f"chapter-{last:0{len(str(len(self.chapters)))}}"  # in their order
            state = await run.scope(SO_FAR).keep(name, make, folder=SO_FAR, read=read_so_far)
            self._state, self._noted = replace(state, chapter=last), group[-1] + 1

    def _unread(self, run: Run, role: str) -> list[list[int]]:
        """The places of the chapters that are not noted yet; several of the author's own are read in one call."""
        room = min(run.room(role).prompt_tokens(SHORT, _READ_SHARE), _READ)
        sizes = [estimate_tokens(draft.text) for draft in self.drafts]
        own = [has_author_text(run, self._name(number - 1)) for number in self._numbers[self._noted :]]
        sizes[self._noted :] = [
            size if is_own else room for size, is_own in zip(sizes[self._noted :], own, strict=True)
        ]
        return grouped(range(self._noted, len(self.drafts)), room, sizes.__getitem__)

    async def _noted_after(self, run: Run, *, role: str, group: Sequence[int], state: SoFar) -> str:
        """The state of the story after a group of chapters: one call for each piece that a prompt can show."""
        numbers, room = [self._numbers[n] for n in group], run.room(role)
        pieces = in_pieces("\n\n".join(self.drafts[n].text for n in group), room.prompt_tokens(SHORT, _READ_SHARE))
        short = self._short_lines[numbers[-1] :]
        later = around([*short], short, 0, min(room.prompt_tokens(SHORT, _OPEN), _LATER)) if short else ()
        title = self._titled(numbers[0] - 1) + (f" to {self._titled(numbers[-1] - 1)}" if len(numbers) > 1 else "")
        for nth, piece in enumerate(pieces, 1):
            threads = few_enough(state.threads, piece, min(room.prompt_tokens(SHORT, _OPEN), _LATER))
            place = run.scope("piece", nth) if len(pieces) > 1 else run
            fields: dict[str, Any] = {
                "brief": self.brief,
                "open": [one.line for one in threads],
                "plans": [self._full_lines[n - 1] for n in numbers if self.chapters[n - 1].happens],
                "later": later,
                "number": numbers[-1],
                "of": len(self.chapters),
                "text": piece,
                "begun": nth > 1,
            }
            try:
                reply = await place.ask_for(SoFarReply, role, "so_far", **fields)
            except ReplyError as error:
                run.note(f"There are no notes on chapter {numbers[-1]} but how it begins and ends: {error}")
                begins = Earlier("", "", piece).excerpt(_CHAPTER_TOKENS)
                reply = SoFarReply(happens=begins, places=[], known=[], opened=[])
            state = state.after(numbers[-1], title, reply, threads)
        return state.text

    async def _plan_ahead(self, run: Run, role: str, at: int) -> None:
        """Plan the next chapters again where what was told differs from the plan, or a thread is overdue; one call."""
        differs = [one.line for one in self._state.differs if one.chapter > at - _AHEAD]
        overdue = [one.line for one in self._state.overdue(at + 1)]
        self._planned, ends = at + _AHEAD, min(at + _AHEAD, len(self.chapters))
        if not (differs or overdue):
            return
        coming, state = self.chapters[at:ends], self._state

        async def make(own: Run) -> str:
            room = min(own.room(role).prompt_tokens(SHORT, _PROMPT), _BOOK_PROMPT)
            about = "\n".join(self._full_lines[at:ends])
            fields: dict[str, Any] = {
                "brief": self.brief,
                "plan": chosen(self.plan, int(room * _NOTES), about),
                "chapters": around([*self._short_lines], self._short_lines, at, int(room * _NEAR)),
                "coming": self._full_lines[at:ends],
                "state": state.shown(about, at + 1, int(room * _STATE)),
                "differs": differs,
                "overdue": overdue,
                "first": at + 1,
                "count": len(coming),
                "of": len(self.chapters),
            }
            try:
                found: Any = await own.ask_for(outline_type(len(coming), ()), role, "replan", **fields)
            except ReplyError as error:
                own.note(f"The chapters from {at + 1} on stay as they were planned: {error}")
                return chapters_text(coming, None, at + 1)
            return chapters_text([_chapter(one) for one in found.chapters], None, at + 1)

        again = await run.keep(f"{CHAPTERS}-{at + 1}", make, folder="plan", read=read_chapters)
        changed = [
            replace(old, title=new.title or old.title, happens=new.happens or old.happens)
            for old, new in zip(coming, again, strict=False)
        ]
        self.chapters = [*self.chapters[:at], *changed, *self.chapters[at + len(changed) :]]
        for lines in ("_full_lines", "_short_lines"):
            self.__dict__.pop(lines, None)

    def _text_room(self, run: Run, role: str) -> int:
        """Tokens for the story so far: its share, and that of the plan where there is less of one."""
        share, plan = run.room(role).prompt_tokens(SHORT, _PLAN), sum(estimate_tokens(text) for _, text in self.plan)
        return run.room(role).prompt_tokens(SHORT, _TEXT) + (0 if run.room(role).aids else max(share - plan, 0))

    def _plan_room(self, run: Run, role: str, want: WordRange | None, beside: Sequence[str]) -> int:
        """Tokens for the plan: what the other texts of a prompt leave; its share at least."""
        share = run.room(role).prompt_tokens(SHORT, _PLAN)
        if run.room(role).aids:
            return share
        taken = sum(map(estimate_tokens, (self.brief, *beside))) + _FRAME
        return max(self._prompt_room(run, role, want) - taken, share)

    def _prompt_room(self, run: Run, role: str, want: WordRange | None) -> int:
        """Tokens of a chapter's whole prompt, where who makes the chapter longer is shown it, too."""
        reply = (want.high if want else _CHAPTER) * _TOKENS_A_WORD
        return run.room(role).prompt_tokens(SHORT, _PROMPT) - 2 * int(reply)

    def _book_room(self, run: Run, role: str, want: WordRange | None) -> int:
        """Tokens of the whole prompt of a book's chapter: as many at the book's beginning as at its end."""
        least = run.room(role).prompt_tokens(SHORT, _LEAST_PROMPT)
        return min(max(self._prompt_room(run, role, want), least), _BOOK_PROMPT)

    async def finished(self, run: Run, role: str, story: Story) -> Story:
        """The story with its chapters, which `role` has read and mended where they must be read at the end.

        Of a book, it is noted what is open at its end.
        """
        if self._noted and self._is_book(run, role) and not has_author_text(run, self._name(self._numbers[-1] - 1)):
            await self._note_down(run, role, self._unread(run, role))
        if not self.read_at_end:
            return self.add_to(story)
        lines = "\n".join(self._short_lines)
        plan = chosen([*self.plan, ("", lines)], run.room(role).prompt_tokens(SHORT, _PLAN + _CHAPTERS))
        texts = await final_reading(run, role, self.drafts, brief=self.brief, plan=plan, want=self.want)
        return self.add_to(story, texts)

    async def _chapter(self, run: Run, role: str, at: int, told: Sequence[str] | SoFar) -> str:
        """A chapter's text below its title, or its number."""
        chapter = self.chapters[at]
        texts = [draft.text for draft in self.drafts]
        weights = [self.chapters[number - 1].weight for number in self._numbers]
        written = {*self._numbers, at + 1}
        left = [one.weight for n, one in enumerate(self.chapters, 1) if n not in written]
        want = self.want and self.want.of_sections(
            [chapter.weight, *left], [*map(count_words, texts)], before=weights, cut=run.room(role).aids
        )
        if self.wanted.each:
            want = self.wanted.each
        elif want and left and not self.wanted.named:
            want = WordRange.band(want.target, round(want.target * _BAND))
        elif want is None and chapter.words:
            want = WordRange.about(chapter.words)
        last = self._ends_with(chapter, want)
        fields = self._fields(run, role, at, want, told) | {"last": last}
        prose = Prose(
            last,
            want,
            (f"Chapter {at + 1}", chapter.title) if chapter.title else (f"Chapter {at + 1}",),
            _CHAPTER,
            texts[-1] if texts else "",
            extend="chapter_longer",
            shorten="chapter_shorter",
        )
        prompt = "chapter_small" if run.room(role).aids else "chapter"
        text = await write_prose(run, role, prompt, prose, self.limit, before=texts[-1:], fields=fields)
        later = [one.title for one in self.chapters[at + 1 :]]
        heading = next_heading(texts, chapter.title, later) if chapter.name else ""
        return f"{heading or f'## {chapter.title or at + 1}'}\n\n{text}"

    def _ends_with(self, chapter: Chapter, want: WordRange | None) -> bool:
        """Whether the story ends with the chapter that is told now: all are there, and no author's list is a half."""
        written = len(self.drafts)
        if written + 1 < len(self.chapters):
            return False
        if not self.wanted.listed or self.wanted.ends == written + 1:
            return True
        if self.want is None or self.wanted.ends > written:
            return False
        told = sum(count_words(draft.text) for draft in self.drafts)
        usual = told // written if written else want.target if want else 0
        return told + (chapter.words or usual) >= self.want.low

    def _fields(
        self, run: Run, role: str, at: int, want: WordRange | None, told: Sequence[str] | SoFar
    ) -> dict[str, Any]:
        """What a chapter's prompt is shown, each within its share of the window."""
        chapter, texts = self.chapters[at], [draft.text for draft in self.drafts]
        about, shown = f"{chapter.title}\n{chapter.part.name}\n{chapter.happens}", Shown()
        chapters: Sequence[str] = ()
        room = self._book_room(run, role, want) if isinstance(told, SoFar) else 0
        if any(one.happens for one in self.chapters):
            lines = int(room * _NEAR) or run.room(role).prompt_tokens(SHORT, _CHAPTERS)
            chapters = around(self._full_lines, self._short_lines, at, lines)
        if isinstance(told, SoFar):
            shown, told = told.shown(about, at + 1, int(room * _STATE)), ()
            plan = [chosen(self.plan, int(room * _NOTES), about)] if self.plan else []
            taken = (self.brief, chapter.happens, *shown.lines, *plan, *chapters)
            left = room - _FRAME - sum(estimate_tokens(one) + 2 for one in taken)
            text = end_of(texts, max(left, int(room * _LEAST_TEXT)))
        else:
            text = end_of(texts, self._text_room(run, role))
            taken = (text, *told, *chapters)
            plan = [chosen(self.plan, self._plan_room(run, role, want, taken), about)] if self.plan else []
        return {
            "brief": self.brief,
            "plan": plan,
            "chapters": chapters,
            "told": told,
            "state": shown if shown.lines else None,
            "text": text,
            "number": at + 1,
            "of": len(self.chapters),
            "title": chapter.title,
            "own": chapter.happens,
            "part": chapter.part.name,
            "duty": self.duties.get(chapter.part.name, ""),
            "begins": not self.drafts,
            "open": len(self.drafts) + 1 == len(self.chapters),
        }

    @cached_property
    def _full_lines(self) -> list[str]:
        return self._lines(short=False)

    @cached_property
    def _short_lines(self) -> list[str]:
        return self._lines(short=True)

    def _lines(self, *, short: bool) -> list[str]:
        """The plan, a line for each chapter."""
        said = [one.short if short else one_line(one.happens) for one in self.chapters]
        return [": ".join(filter(None, (self._titled(n), one))) for n, one in enumerate(said)]

    def _titled(self, at: int) -> str:
        title = self.chapters[at].title
        if self.chapters[at].name and title:  # which has a number of its own, or none
            return title
        return f"{at + 1}. {title}" if title else f"Chapter {at + 1}"

    def _called(self, at: int) -> str:
        return self.chapters[at].title or f"Chapter {at + 1}"
