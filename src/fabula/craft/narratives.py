"""The narrative that a system retells, the author's `plan/narrative.md` or the brief, and who is in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from itertools import chain, count, islice, takewhile
from typing import TYPE_CHECKING, Annotated, Any, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.craft import NARRATIVE_FILE
from fabula.craft.conversation.lines import Parties
from fabula.craft.length import asked_range
from fabula.craft.planning.from_story import LEAST_WINDOW, WindowContext, read_story
from fabula.engine.replies import short
from fabula.engine.run import Run
from fabula.story import Story, count_words, one_line
from fabula.story.codex import MAX_NAME, Codex, CodexEntry, Kind, parse_codex, write_codex
from fabula.story.people import NameFinder, among, each_once, present_in, same_person, titled

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from fabula.craft.conversation.cards import Cards
    from fabula.craft.length import WordRange
    from fabula.story import Brief

NARRATIVE: Final = "narrative"
NOBODY: Final = (
    "The characters of this story are unknown: it has no plan, no cards and no world, and no model has read it for "
    "people. Name the speakers (player and npc, or --as and --with) as the story spells their names."
)
_WORD: Final = re.compile(r"\w+")
_SHORT: Final = 3  # letters of an article, and of the ending of a word
_NEAR: Final = 0.7  # share of letters that a misspelt name and a word of the story have in common
_TASK_WORDS: Final = 1000  # a brief with more of them is no writing task
_PEOPLE: Final = "people"
_WINDOW: Final = 3000  # tokens of story in one prompt, where a small model reads
_WINDOW_SHARE: Final = 0.5
_HALF: Final = MAX_NAME // 2 - 2  # characters of a name and of what stands in brackets behind it
PROPOSED: Final = "chat/codex-"
"""The beginning of the names of artefacts that hold proposed codex entries."""


async def narrative_of(run: Run, brief: Brief) -> str:
    """The narrative, as its author put it into the project, else the brief; calls no model.

    A note says where the brief may be no narrative.
    """
    given = await run.given(NARRATIVE, folder="plan")
    if given is None and words_of_task(brief) is not None:
        run.note(
            "The brief asks for a number of words, so it may be a writing task, and its sentences are taken for the "
            f"story itself. Write the narrative that must be talked through into {NARRATIVE_FILE}."
        )
    return given or brief.text


def words_of_task(brief: Brief) -> WordRange | None:
    """The words that a brief asks for, where it may be a writing task and no narrative."""
    return asked_range(brief) if count_words(brief.text) <= _TASK_WORDS else None


def check_narrative(narrative: str) -> None:
    """Check that there is something to talk through.

    Raises:
        UsageError: there is not.
    """
    if not any(letter.isalnum() for letter in narrative):
        raise UsageError("The narrative has no sentences. Give a text in which somebody does something.")


async def who_talks(run: Run, narrative: str, wanted: Parties, cards: Cards, author: Sequence[str] = ()) -> Parties:
    """Who talks, by one rule for all systems: those wanted, else the author's people, else who matters most.

    Who matters most a model says, who reads the narrative (`people_read`); 1 call, and none where it is known.

    Args:
        run: of the story.
        narrative: that is talked through.
        wanted: the player and the others; either may be empty.
        cards: of those who may talk, and who else is known.
        author: names of those whom the author has written about, in order.

    Raises:
        UnknownNameError: somebody is not in the narrative.
        UsageError: there is nobody to talk with.
    """
    known = [*author, *cards.names(wanted.player)]
    people: Sequence[str] = (*author, *cards.known)
    if len(each_once(people, wanted.names)) < (not wanted.player) + (not wanted.others):
        people = (*people, *await people_read(run, narrative, "labeller"))
    anybody = Parties(wanted.player or "the player", wanted.others or ("the character",))
    return run.context.unless_made_up(
        lambda: parties_of(narrative, wanted.player, wanted.others, known, people), anybody
    )


def parties_of(
    narrative: str,
    player: str = "",
    others: Sequence[str] = (),
    known: Sequence[str] = (),
    people: Sequence[str] = (),
) -> Parties:
    """Who talks: those named, else the first of `people`, who are known to be in the narrative. Calls no model.

    `known` may talk without being named in it.

    Raises:
        UnknownNameError: somebody is not in the narrative.
        UsageError: there is nobody to talk with.
    """
    named = [name for name in (player, *others) if name]
    left = [name for name in people if not any(_are_one(name, other) for other in named)]
    player = player or (left.pop(0) if left else "")
    others = tuple(others) or tuple(left[:1])
    if not (player and others):
        raise UsageError(NOBODY)
    check_people([player, *others], narrative, (*known, *people))
    return Parties(player, others)


def check_people(names: Sequence[str], narrative: str, known: Iterable[str] = ()) -> None:
    """Check that those who are to talk are in the narrative, or among those that the author knows.

    Raises:
        UnknownNameError: somebody is not; names the nearest who is.
        UsageError: somebody is not, and nobody like it is known; or two of them are the same.
    """
    people = list(known)
    for name in names:
        stranger = not present_in([name], narrative) or (bool(people) and _is_word(name, narrative))
        if among(name, people) is None and stranger:
            words = {} if present_in([name], narrative) else dict.fromkeys(_WORD.findall(narrative))
            near = get_close_matches(name, dict.fromkeys((*people, *words)), n=1, cutoff=_NEAR)
            if near or people:
                raise UnknownNameError("character", name, near or dict.fromkeys(people))
            raise UsageError(f"The story does not name {name!r}. Spell the name as the story does.")
    for n, name in enumerate(names):
        twin = next((other for other in names[:n] if _are_one(name, other)), None)
        if twin is not None:
            raise UsageError(f"{name!r} and {twin!r} are the same. Give two different characters.")


def _is_word(name: str, narrative: str) -> bool:
    """Whether a name is an ordinary word of a narrative, which also has it with a small letter, as "nobody"."""
    small = name[:1].lower() + name[1:]
    return small != name and re.search(rf"(?<!\w){re.escape(small)}(?!\w)", narrative) is not None


# who is in it, as a model reads it ------------------------------------------------------------------------------------


def reading_of(narrative: str) -> str:
    """The artefact that holds who is in this version of a narrative, as a model read it."""
    return f"chat/{_PEOPLE}-{sha256(narrative.encode()).hexdigest()[:16]}"


async def people_read(run: Run, narrative: str, role: str) -> tuple[str, ...]:
    """Who is in a narrative, as a model reads it; asked once for each version of it, a call for each window.

    A name that is not in the text is dropped: nobody is talked with whom a model made up.

    Raises:
        ReplyError: a reply could not be read.
    """
    place = Run(run.context).scope("chat")

    async def make(own: Run) -> str:
        window = max(own.room(role).prompt_tokens(_WINDOW, _WINDOW_SHARE), LEAST_WINDOW)
        text, _ = read_story(Story.parse(narrative), window)
        found: list[str] = []
        for number, stretch in enumerate(text.windows(window), 1):
            reply = await own.scope(number).ask_for(
                _people(), role, "read_people", found=WindowContext("", tuple(found)), text=stretch.numbered
            )
            for name in map(one_line, reply.people):
                if name and not any(_are_one(name, other) for other in found):
                    found.append(name)
        return "\n".join(own.context.unless_made_up(lambda: present_in(found, narrative), tuple(found)))

    name = reading_of(narrative).partition("/")[2]
    return tuple(filter(None, (await place.keep(name, make, folder="chat", suffix="txt", settled=True)).split("\n")))


@cache
def _people() -> Any:  # noqa: ANN401 - a type made at run time
    from pydantic import BaseModel  # noqa: PLC0415 - keeps `fabula --help` fast

    class People(BaseModel):
        people: Annotated[list[Annotated[str, short(80)]], short(40)]

    return People


# everyone and everything with a name ---------------------------------------------------------------------------------


def entries_read_of(narrative: str) -> str:
    """The artefact that holds the codex entries that a model's reading of this version of a narrative proposes."""
    return f"{PROPOSED}{sha256(narrative.encode()).hexdigest()[:16]}"


async def entries_read(run: Run, narrative: str, role: str) -> tuple[CodexEntry, ...]:
    """The people, places, things and rules of a narrative with their names in it, as a model reads it.

    Asked once for each version of the narrative, a call for each window. Names and aliases that are not in the text
    are dropped. Each entry has a name of its own; an alias may be that of several.

    Raises:
        ReplyError: a reply could not be read.
    """
    place = Run(run.context).scope("chat")

    async def make(own: Run) -> str:
        window = max(own.room(role).prompt_tokens(_WINDOW, _WINDOW_SHARE), LEAST_WINDOW)
        text, _ = read_story(Story.parse(narrative), window)
        found, narrators = list[CodexEntry](), set[str]()
        for number, stretch in enumerate(text.windows(window), 1):
            known = tuple(
                f"{one.name} ({one.kind}): {', '.join(one.aliases) or 'no other name'}" for one in _told_apart(found)
            )
            reply = await own.scope(number).ask_for(
                _entries(), role, "read_codex", found=WindowContext(""), known=known, text=stretch.numbered
            )
            found = _with_entries(found, reply.entries)
            narrators |= {one_line(one.name)[:MAX_NAME] for one in reply.entries if one.narrator}
        made = own.context.unless_made_up(lambda: _in_text(found, narrative, narrators), tuple(found))
        return write_codex(Codex(_told_apart(made)))

    name = entries_read_of(narrative).partition("/")[2]
    return parse_codex(await place.keep(name, make, folder="chat", suffix="yaml", settled=True), proposed=True).entries


def _with_entries(found: Sequence[CodexEntry], entries: Iterable[Any]) -> list[CodexEntry]:
    """The entries found before, with what a reply adds to them, and its new ones.

    Entries of one kind with a name in common are one, but for the people of one reply: they are one only if the reply
    repeats a name without another description. Which of two people with one name was found before cannot be known.
    """
    titles, made = [one.name.casefold() for one in _told_apart(found)], [*found]
    read = [(name, one_line(one.description), one) for one in entries if (name := one_line(one.name)[:MAX_NAME])]
    people = {(name.casefold(), about) for name, about, one in read if one.kind == "person" and about}
    twins = {key for key, times in Counter(key for key, _ in people).items() if times > 1}
    for name, about, one in read:
        key, others = name.casefold(), [one_line(other)[:MAX_NAME] for other in one.aliases]
        have = [n for n, of in enumerate(made) if of.kind == one.kind and key in map(str.casefold, of.names)]
        known = [n for n, title in enumerate(titles) if title == key and found[n].kind == one.kind]
        known = known or [n for n in have if n < len(found)]
        new = [n for n in have if n >= len(found)]
        if one.kind == "person":
            known = [] if key in twins else known
            new = [n for n in new if _repeats(made[n], key, about)]
        (at, *_) = known if len(known) == 1 else new or [len(made)]
        if at == len(made):
            made.append(CodexEntry(name, one.kind, description=about))
        same = made[at]
        names = dict.fromkeys((*same.aliases, *([name] if at in have else []), *others))
        made[at] = replace(same, aliases=tuple(other for other in names if other and other != same.name))
    return made


def _repeats(one: CodexEntry, key: str, about: str) -> bool:
    """Whether an entry of the name `key` with this description says nothing that tells it apart from `one`."""
    return one.name.casefold() == key and (about in ("", one.description) or not one.description)


def _told_apart(entries: Sequence[CodexEntry]) -> tuple[CodexEntry, ...]:
    """The entries, each with a name of its own: of those with the same name, it has another name or a number behind."""
    times = Counter(name for one in entries for name in {*map(str.casefold, one.names)})
    named, number, made = Counter(one.name.casefold() for one in entries), Counter[str](), list[CodexEntry]()
    taken = set(named)
    for one in entries:
        key = one.name.casefold()
        number[key] += 1
        own = (other for other in one.aliases if times[other.casefold()] == 1 and key not in other.casefold())
        behind = chain(islice(own, 1), map(str, count(number[key])))
        titles = (f"{one.name[:_HALF]} ({other[:_HALF]})" for other in behind)
        title = next(title for title in titles if title.casefold() not in taken) if named[key] > 1 else one.name
        taken.add(title.casefold())
        made.append(replace(one, name=title, aliases=one.names) if named[key] > 1 else one)
    return tuple(made)


def _in_text(entries: Sequence[CodexEntry], narrative: str, narrators: Container[str] = ()) -> tuple[CodexEntry, ...]:
    """The entries that a text names, each with those of its names that stand there.

    The name itself may stand there in another form, or in parts ("Anna", "Frau Kern"); a rule's may be the reader's,
    and so may that of somebody who tells the story.
    """
    words = sorted(set(_WORD.findall(narrative.casefold())))
    kept: list[CodexEntry] = []
    for one in entries:
        start, _, rest = one.name.partition(" ")
        found = [name for name in one.names if NameFinder({name: [name]}).find(narrative)]
        if not found and len(start) <= _SHORT and NameFinder({rest: [rest]}).find(narrative):
            found = [rest]  # without its article, which another word may have taken in
        as_read = one.kind == "rule" or one.name in narrators
        if as_read or (found and all(_has_form(words, part) for part in _WORD.findall(one.name.casefold()))):
            found.insert(0, one.name)
        if found:
            name, *aliases = dict.fromkeys(found)
            kept.append(replace(one, name=name, aliases=tuple(aliases)))
    return tuple(kept)


def _has_form(words: Sequence[str], word: str) -> bool:
    """Whether a word, or with other letters at its end, is one of the sorted `words`."""
    stem = word if len(word) <= _SHORT else word[: max(len(word) - 2, _SHORT)]
    near = takewhile(lambda one: one.startswith(stem), words[bisect_left(words, stem) :])
    return any(one == word or (len(word) > _SHORT and len(one) <= len(word) + _SHORT) for one in near)


@cache
def _entries() -> Any:  # noqa: ANN401 - a type made at run time
    from pydantic import BaseModel, Field  # noqa: PLC0415 - keeps `fabula --help` fast

    class EntryReply(BaseModel):
        kind: Kind
        name: Annotated[str, short(80)] = Field(description="The fullest name that the story gives.")
        aliases: Annotated[list[Annotated[str, short(80)]], short(12)] = Field(
            default_factory=list, description="All other names in the story, each exactly as it is spelled there."
        )
        description: Annotated[str, short(300)] = Field(
            default="", description="Who or what it is, in one sentence, as these paragraphs first show it."
        )
        narrator: bool = Field(default=False, description="Whether this person tells the story in the first person.")

    class Entries(BaseModel):
        entries: Annotated[list[EntryReply], short(30)]

    return Entries


def _are_one(name: str, other: str) -> bool:
    """Whether two names are one person's."""
    # "Mr. Bennet" may be Elizabeth Bennet's father: only names of one kind can be told to be one person's.
    return same_person(name, other) and titled(name) == titled(other)
