"""What planning from a brief and from a story share: names made one, people put into scenes, a plan that is checked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.base.errors import ReplyError
from fabula.engine.replies import TextKind, clean_prose
from fabula.models.base import Sampling
from fabula.story import count_words, one_line, slug
from fabula.story.people import among
from fabula.story.plan import ARC, Character, Presence
from fabula.story.plan_check import check_plan
from fabula.story.plan_file import write_plan
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fabula.craft.planning.shapes import Newcomer, Sheet, There
    from fabula.engine.run import Run
    from fabula.story.plan import Element, Plan

T = TypeVar("T")

ROLE: Final = "planner"
NOTE_SENTENCES: Final = 6
NOTE_TRIES: Final = 3
NOTE_TOKENS: Final = 160
NOTE_WORDS: Final = 80  # for estimates
_LABELS: Final = ("Central Conflict", "Conflict", "Setting", "Writing Task", "Characters", "Story", "Scenes")
_WORD: Final = re.compile(r"\w+")
_ALIKE: Final = 0.8
_EXTRA: Final[tuple[int, ...]] = (1, 1, 3, 0, 1, 3, 4)  # which element gets the sixth scene, the seventh and so on


async def note(run: Run, name: str, most: int, /, **fields: object) -> str:
    """A note of at most `most` sentences, asked in free text with the prompt `name` and tidied.

    It is drawn again if nothing is left.

    Raises:
        ReplyError: no draw had anything of use.
    """
    return one_line(" ".join((await _sentences(run, name, (), fields, "notes"))[:most]))


async def outline(run: Run, name: str, told: Sequence[str], most: int, /, **fields: object) -> list[str]:
    """One to `most` events, each a sentence, asked with the prompt `name`; none says what one of `told` says.

    Events are asked in free text and not as a list in JSON: in JSON a model of 135 M parameters writes no sentences,
    but names of fields, numbers and what stood in the prompt.

    Raises:
        ReplyError: no draw had anything of use.
    """
    return (await _sentences(run, name, told, fields, "prose"))[:most]


async def _sentences(run: Run, name: str, told: Sequence[str], fields: dict[str, Any], kind: TextKind) -> list[str]:
    """The sentences of a reply that are new; where no draw has any, those of the last that had some at all."""
    raw, old = "", list[str]()
    for attempt in range(NOTE_TRIES):
        place = run.scope("again", attempt) if attempt else run
        reply = await place.reply(ROLE, name, sampling=Sampling(max_tokens=NOTE_TOKENS), expect=NOTE_WORDS, **fields)
        raw = reply.text
        echo = [place.render(name, **fields)]
        cleaned = clean_prose(raw, labels=_LABELS, last=True, echo=echo, finish=reply.finish, kind=kind)
        said = [one_line(sentence.lstrip("-*\u2022 ")) for sentence in sentences(cleaned.text)]
        if new := distinct(said, told):
            return new
        old = distinct(said) or old
    if old:
        return old
    raise ReplyError(
        f"The role {ROLE!r} gave nothing of use at {run.at}/{name} in {NOTE_TRIES} tries. Give this role a stronger "
        "model, or run again with another --seed.",
        reply=raw,
    )


def arc_of(number: int) -> tuple[Element, ...]:
    """The element of the arc that each of `number` scenes develops: the five in order, rising action most often."""
    if number < len(ARC):
        few = {1: (2,), 2: (0, 2), 3: (0, 2, 4), 4: (0, 1, 2, 4)}
        return tuple(ARC[place] for place in few[max(number, 1)])
    counts = [1] * len(ARC)
    for extra in range(number - len(ARC)):
        counts[_EXTRA[extra % len(_EXTRA)]] += 1
    return tuple(element for element, count in zip(ARC, counts, strict=True) for _ in range(count))


def unique(name: str, taken: Iterable[str]) -> str:
    """`name`, with a number behind it where it is taken already (names that make the same file name are the same)."""
    known, number = {slug(other) for other in taken}, 1
    base = made = one_line(name.replace("-->", "")) or "Scene"
    while slug(made) in known:
        number += 1
        made = f"{base} {number}"
    return made


def alike(one: str, other: str) -> bool:
    """Whether two sentences say the same in nearly the same words."""
    a, b = (set(_WORD.findall(text.casefold())) for text in (one, other))
    return bool(a and b) and len(a & b) >= _ALIKE * min(len(a), len(b))


def distinct(events: Iterable[str], told: Sequence[str] = ()) -> list[str]:
    """`events` without those that say what an earlier one, or one of `told`, says already."""
    kept: list[str] = []
    for event in events:
        if count_words(event) and not any(alike(event, other) for other in (*told, *kept)):
            kept.append(event)
    return kept


@dataclass
class People:
    """The cast as it grows, and the one spelling of each name."""

    characters: list[Character] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order in which they came."""
        return tuple(character.name for character in self.characters)

    def check_cast(self, sheets: Iterable[Sheet], most: int | None = None) -> None:
        """Add the people of `sheets`; of somebody known, only fields that are still empty are taken."""
        for sheet in sheets:
            new = Character(**sheet.model_dump())
            at = self._find(new.name)
            if at is not None:
                old = self.characters[at]
                empty = {name: getattr(new, name) for name in _FIELDS if not getattr(old, name)}
                self.characters[at] = replace(old, **empty)
            elif most is None or len(self.characters) < most:
                self.characters.append(replace(new, name=unique(new.name, self.names)))

    def knows(self, name: str) -> bool:
        """Whether somebody of that name is in the cast."""
        return self._find(name) is not None

    def present(self, there: Iterable[There], newcomers: Iterable[Newcomer] = ()) -> tuple[Presence, ...]:
        """Who is in a scene, each once; somebody whom the cast lacks is added to it (appendix B.1.1)."""
        found: dict[str, Presence] = {}
        for person in (*there, *newcomers):
            at = self._find(person.name)
            if at is None:
                role = getattr(person, "role", "")
                self.characters.append(Character(unique(person.name, self.names), role=role, goal=person.goal))
                at = len(self.characters) - 1
            name = self.characters[at].name
            found.setdefault(name, Presence(name, person.goal))
        return tuple(found.values())

    def _find(self, name: str) -> int | None:
        """The place of a name in the cast."""
        known = among(name, self.names)
        return None if known is None else self.names.index(known)


_FIELDS: Final = ("role", "gender", "age", "setup", "speech", "goal")


def checked(plan: Plan) -> Plan:
    """`plan`, if there is nothing wrong with it.

    Raises:
        ReplyError: the agents made a plan that cannot be written from; says what is wrong.
    """
    if not (problems := check_plan(plan)):
        return plan
    raise ReplyError(
        f"The role {ROLE!r} made a plan that cannot be written from: {'; '.join(map(str, problems))} Give this role a "
        "stronger model, or run again with another --seed.",
        reply=write_plan(plan),
    )
