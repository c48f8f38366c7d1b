"""Who is in a cell: labels by a model, kept as files that a person edits (sections 3.1 and 4.2)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.conversation.talk import Parties
from fabula.craft.narratives import check_people
from fabula.craft.packing import first_of
from fabula.engine.dry_run import STALE
from fabula.models.base import Sampling
from fabula.story import one_line
from fabula.story.people import among, names_in, present_in, same_person
from fabula.story.personas import Persona, Personas, parse_personas, write_personas

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Run
    from fabula.systems.snap.algorithm import Config

PERSONAS: Final = "personas"
_NOBODY: Final = "# Nobody was found in this cell. Write a list `personas:` with a `name:` for each character.\n"
_TOKENS: Final = 700
_MOST: Final = 12


async def company_of(run: Run) -> tuple[Persona, ...]:
    """The author's own personas (`plan/personas.yaml`); they hold in every cell, before its labels."""
    given = await run.given(PERSONAS, folder="plan", suffix="yaml")
    return parse_personas(given).people if given else ()


@dataclass
class Labels:
    """The characters of each cell; whoever asks, a cell is labelled once."""

    cells: Sequence[str]
    config: Config
    _found: dict[int, tuple[Persona, ...]] = field(default_factory=dict)
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def of(self, run: Run, number: int) -> tuple[Persona, ...]:
        """The characters of a cell, kept as `plan/cell-N-people.yaml`; one call, the first time.

        Raises:
            PlanError: the author's labels have problems; all are named.
            ReplyError: no labels could be read (only without `lenient`).
        """
        async with self._one:
            if number not in self._found:
                self._found[number] = await self._kept(run, number)
        return self._found[number]

    async def _kept(self, run: Run, number: int) -> tuple[Persona, ...]:
        name = f"cell-{number}-people"

        async def make(own: Run) -> str:
            found = await _labelled(own, self.cells[number - 1], self.config)
            return write_personas(Personas("", tuple(found))) if found else _NOBODY

        text = (await run.keep(name, make, folder="plan", suffix="yaml")).replace(STALE, "")
        written = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        return parse_personas(text, f"plan/{name}.yaml").people if written else ()


async def _labelled(run: Run, segment: str, config: Config) -> list[Persona]:
    try:
        found = await run.ask_for(
            _shape(), "labeller", "label", sampling=Sampling(max_tokens=_TOKENS), segment=clipped(segment, config)
        )
    except ReplyError as error:
        if not config.lenient:
            raise
        run.note(f"No labels could be read; names that the segment repeats stand in. {error}")
        return [Persona(name) for name in names_in(segment)]
    people: dict[str, Persona] = {}
    for person in found.characters:
        name = one_line(person.name)
        made_up = bool(run.context.dry_run.planned)
        named = not config.check_people or made_up or present_in([name], segment)
        if name and named and not any(same_person(name, other) for other in people):
            traits = tuple(dict.fromkeys(one_line(trait) for trait in person.traits if trait.strip()))
            people[name] = Persona(name, description=one_line(person.background), personality=traits[:_MOST])
    return list(people.values())


@cache
def _shape() -> Any:  # noqa: ANN401 - a type made at run time
    from pydantic import BaseModel, Field  # noqa: PLC0415 - keeps `fabula --help` fast

    class Label(BaseModel):
        name: Annotated[str, Field(max_length=80)]
        traits: Annotated[list[Annotated[str, Field(max_length=120)]], Field(max_length=8)] = []
        background: Annotated[str, Field(max_length=600)] = ""

    class Labels(BaseModel):
        characters: Annotated[list[Label], Field(max_length=_MOST)]

    return Labels


def clipped(segment: str, config: Config) -> str:
    """A segment as prompts show it: whole, unless a single sentence of it is longer than all may be."""
    text = segment.strip()
    if not config.segment_tokens:
        return text
    short = first_of(text, config.segment_tokens)
    return short if any(letter.isalnum() for letter in short) else text[: config.segment_tokens * 3]


async def parties_for(
    labels: Labels, company: tuple[Persona, ...], run: Run, config: Config, given: Parties | None
) -> Parties:
    """Who talks: those given, those of the settings, else the first two of the first cell.

    Raises:
        UsageError: there are not two to talk with each other.
        UnknownNameError: one of them is not in the narrative.
    """
    asked = (config.player.strip(), [name.strip() for name in config.npc.split(",") if name.strip()])
    player, others = (given.player, list(given.others)) if given else asked
    known = [persona.name for persona in company]
    if not (player and others):
        known += [person.name for person in await labels.of(run, 1)]
        if config.lenient:
            known += names_in("\n".join(labels.cells))
        left = [name for name in known if among(name, [player, *others]) is None]
        player = player or (left.pop(0) if left else "")
        others = others or left[:1]
    if run.context.dry_run.planned:  # a dry run that would ask for the names has made-up ones
        return Parties(player or "the player", tuple(others) or ("the character",))
    if not (player and others):
        raise UsageError(
            "The first cell names fewer than two characters, so there is nobody to talk with. Say who talks (player "
            "and npc, or --as and --with), or write them into plan/cell-1-people.yaml."
        )
    check_people([player, *others], "\n".join(labels.cells), known)
    return Parties(player, tuple(others))
