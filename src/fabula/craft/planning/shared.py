"""What planning from a brief and from a story share: asking the planner, the cast as it grows, checking the plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pydantic import BaseModel

from fabula.base.errors import PlanError
from fabula.craft.planning.replies import PaperSheet, PlannedCharacter, PlannedEvent, There
from fabula.craft.prose import clean_reply, reply_fault
from fabula.models.base import Sampling
from fabula.story import count_words, one_line, slug
from fabula.story.people import among
from fabula.story.personas import Personas, parse_personas, write_personas
from fabula.story.plan import Character, Event, Plan, Presence
from fabula.story.plan_check import check_plan
from fabula.story.plan_file import write_plan
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from fabula.engine.replies import TextKind
    from fabula.engine.run import Run


T = TypeVar("T", bound=BaseModel)

ROLE: Final = "planner"
TRIES: Final = 3
NOTE_SENTENCES: Final = 4
_NOTE_TOKENS, _FORM_TOKENS = 160, 1536  # of replies that are to be short
_LABELS: Final = ("Central Conflict", "Conflict", "Setting", "Writing Task", "Characters", "Story", "Scenes")
_REPEATS: Final = "It said what was planned already."
_FRONT: Final = 40  # letters of a long name that a number follows
_WORD: Final = re.compile(r"\w+")
_ITEM: Final = re.compile(r"[-*\u2022\u2013][ \t]+|\(?\d{1,3}[.):][ \t]+")
_ALIKE: Final = 0.8  # share of the shorter sentence's words that two sentences have in common if they say the same


# asking the planner ---------------------------------------------------------------------------------------------------


async def typed(run: Run, kind: type[T], prompt: str, /, **fields: object) -> T:
    """The planner's reply of a type.

    Raises:
        ReplyError: no reply could be read.
    """
    sampling = Sampling(max_tokens=run.room(ROLE).reply_tokens(_FORM_TOKENS))
    return await run.ask_for(kind, ROLE, prompt, sampling=sampling, **fields)


async def note(run: Run, prompt: str, /, **fields: object) -> str:
    """A note in free text, on one line; of four sentences at most where a small model plans.

    Raises:
        ReplyError: no draw had anything of use.
    """
    return one_line(" ".join(await _sentences(run, prompt, (), NOTE_SENTENCES, "notes", fields)))


async def outline(run: Run, prompt: str, earlier: Sequence[str], /, *, short: int, **fields: object) -> list[str]:
    """Events, each a sentence; where a small model plans, `short` at most, and none that repeats one of `earlier`.

    Events are asked in free text and not as a list in JSON: in JSON a model of 135 M parameters writes no sentences,
    but names of fields, numbers and what stood in the prompt.

    Raises:
        ReplyError: no draw had anything of use.
    """
    return await _sentences(run, prompt, earlier, short, "prose", fields)


async def _sentences(
    run: Run, prompt: str, earlier: Sequence[str], short: int, kind: TextKind, fields: dict[str, Any]
) -> list[str]:
    """The sentences of a reply, drawn again if there are none; a small model's must be new and few."""
    raw, fault, old = "", "", list[str]()
    run = run.tries(prompt)
    sampling = Sampling(max_tokens=run.room(ROLE).reply_tokens(_NOTE_TOKENS))
    for attempt in range(TRIES):
        place = run.again(attempt, fault)
        reply = await place.reply(ROLE, prompt, sampling=sampling, **fields)
        raw = reply.text
        echo = [place.render(prompt, **fields)]
        text = clean_reply(place, ROLE, reply, labels=_LABELS, echo=echo, kind=kind)
        if fault := reply_fault(place, text, prompt, fields):
            place.removed("reply", text)
            continue
        found, head = events_in(text)
        found = [one for one in found if count_words(one)]
        if head:
            place.removed("announcement", head)
        if not run.room(ROLE).aids:
            new = found
        else:
            new, old = without_repeats(found, earlier)[:short], without_repeats(found)[:short] or old
            place.removed("field", "\n\n".join(found), "\n\n".join(new or old))
        if new:
            return new
        fault = _REPEATS if found else "It held no text."
    if old:
        return old
    problem = f"The role {ROLE!r} gave nothing of use at {run.at}/{prompt} in {TRIES} tries, each asked in another way."
    raise run.exhausted(prompt, f"{problem} {fault}", ROLE, raw)


def events_in(text: str) -> tuple[list[str], str]:
    """What a reply holds: items of its lists without their marks, and sentences; and the line that announces a list."""
    found: list[str] = []
    loose: list[str] = []
    head, within = "", False
    for line in (*map(str.strip, text.splitlines()), ""):
        mark = _ITEM.match(line)
        if mark and len(loose) == 1 and not found and (loose[0].endswith(":") or loose[0][:1] in "*#"):
            head = loose.pop()
        if mark or not line:
            within = mark is not None
        if mark:
            found += sentences("\n".join(loose))
            loose = []
            found.append(line[mark.end() :])
        elif within:
            found[-1] += f" {line}"
        elif line:
            loose.append(line)
    return [one_line(one.replace("**", "").strip("-*\u2022 ")) for one in (*found, *sentences("\n".join(loose)))], head


# names and events -----------------------------------------------------------------------------------------------------


class FreeNames:
    """Names of which none is given twice; those that make the same file name are the same.

    Args:
        taken: are given already.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._known = {slug(other) for other in taken}
        self._numbers: dict[str, int] = {}  # up to which all are taken behind a name, so that none is tried twice

    def take(self, name: str) -> str:
        """`name`, with a number behind it where it is taken already; it is taken then."""
        base = made = one_line(name.replace("-->", "")) or "Scene"
        number = self._numbers.get(base, 1)
        if number > 1:
            made = _numbered(base, number)
        while slug(made) in self._known:
            number += 1
            made = _numbered(base, number)
        self._numbers[base] = number
        self._known.add(slug(made))
        return made


def _numbered(base: str, number: int) -> str:
    """A name with a number that also stands in what its file is called after, of which a long name gives the front."""
    made = f"{base} {number}"
    return made if slug(made).endswith(f"{number}") else f"{slug(base)[:_FRONT].strip('-')} {number}"


def free_name(name: str, taken: Iterable[str]) -> str:
    """`name`, with a number behind it where it is taken already; for many, one `FreeNames` is asked again and again."""
    return FreeNames(taken).take(name)


def says_the_same(one: str, other: str) -> bool:
    """Whether two sentences say the same in nearly the same words."""
    a, b = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return bool(a and b) and len(a & b) >= _ALIKE * min(len(a), len(b))


def without_repeats(events: Iterable[str], earlier: Sequence[str] = ()) -> list[str]:
    """`events` without those that say what one before them, or one of `earlier`, says already."""
    kept: list[str] = []
    for event in events:
        if not any(says_the_same(event, other) for other in (*earlier, *kept)):
            kept.append(event)
    return kept


# the cast -------------------------------------------------------------------------------------------------------------


@dataclass
class CastList:
    """The characters as they become known, and the one spelling of each name."""

    characters: list[Character] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they came."""
        return tuple(character.name for character in self.characters)

    def add(self, sheets: Sequence[PaperSheet], *, small: bool = False) -> None:
        """Add the characters of a reply; of somebody known, only fields that are still empty are taken.

        Two whom one reply lists apart are two ("Mr. Bennet", "Elizabeth Bennet"), unless a small model lists them.
        """
        before, listed = self.names, {sheet.name.casefold() for sheet in sheets}
        for sheet in sheets:
            new = Character(**sheet.model_dump())
            known = self.names if small else [one for one in before if one.casefold() not in listed]
            same = among(new.name, [one for one in self.names if one.casefold() == new.name.casefold()] or known)
            at = None if same is None else self.names.index(same)
            if at is None:
                self.characters.append(replace(new, name=free_name(new.name, self.names)))
                continue
            old = self.characters[at]
            empty = {name: getattr(new, name) for name in _FIELDS if not getattr(old, name)}
            self.characters[at] = replace(old, **empty)

    def present(self, there: Iterable[There], newcomers: Iterable[There] = ()) -> tuple[Presence, ...]:
        """Who is in a scene, each once; somebody whom the cast lacks is added to it (appendix B.1.1)."""
        found: dict[str, Presence] = {}
        for person in (*there, *newcomers):
            at = self.find(person.name)
            if at is None:
                new = Character(free_name(person.name, self.names), getattr(person, "role", ""), goal=person.goal)
                if isinstance(person, PlannedCharacter):  # what it wants in this scene is no aim of the story's
                    new = replace(new, goal="", setup=getattr(person, "setup", ""))
                self.characters.append(new)
                at = len(self.characters) - 1
            name = self.characters[at].name
            found.setdefault(name, Presence(name, person.goal, *_as_of_then(person)))
        return tuple(found.values())

    def find(self, name: str) -> int | None:
        """The place of a name in the cast, if somebody there is meant by it."""
        known = among(name, self.names)
        return None if known is None else self.names.index(known)


def planned_events(events: Sequence[PlannedEvent], there: Sequence[Presence], cast: CastList) -> tuple[Event, ...]:
    """The events of a scene, each with who witnesses it and who is there without; one that all miss is everybody's."""
    found = []
    for event in events:
        away, missing = (
            {cast.names[at] for name in names if (at := cast.find(name)) is not None}
            for names in (event.away, event.missed_by)
        )
        here = tuple(one.name for one in there if one.name not in away | missing)
        near = tuple(one.name for one in there if one.name in missing - away)
        parted = 0 < len(here) < len(there)
        found.append(
            Event(
                event.what,
                present=here if parted else (),
                there=near if parted else (),
                notices=event.notices if parted and near else "",
                place=event.where,
            )
        )
    return tuple(found)


def _as_of_then(person: There) -> tuple[str, ...]:
    """What a planned scene says of somebody's time in it."""
    if not isinstance(person, PlannedCharacter):
        return ()
    return (person.age_then, person.then, person.secret_then, person.personality_then, person.speech_then)


def checked_personas(run: Run, start: Personas, role: str = ROLE) -> str:
    """Personas as text, made by `role` in `run.tries(WHOLE)`, if they can be read again.

    Raises:
        ReplyError: the agents made some that cannot, for instance with a setting of many pages.
    """
    text = write_personas(start)
    try:
        parse_personas(text)
    except PlanError as error:
        raise run.exhausted(WHOLE, f"The personas made at {run.at} cannot be used: {error}", role, text) from error
    return text


WHOLE: Final = "whole"
"""The name of all that is asked for a plan, which is made again where it could not be written from."""
_FIELDS: Final = ("role", "gender", "age", "setup", "personality", "speech", "goal", "secret", "knows", "truth")


def checked(run: Run, plan: Plan) -> Plan:
    """`plan`, made in `run.tries(WHOLE)`, if there is nothing wrong with it.

    Raises:
        ReplyError: the agents made a plan that cannot be written from; says what is wrong.
    """
    if not (problems := check_plan(plan)):
        return plan
    problem = f"The role {ROLE!r} made a plan that cannot be used: {'; '.join(map(str, problems))}"
    raise run.exhausted(WHOLE, problem, ROLE, write_plan(plan))
