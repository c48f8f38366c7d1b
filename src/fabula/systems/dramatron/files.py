"""The levels' files: what a person may take again, continue or write again, and the order in which texts are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias

from fabula.base.errors import UsageError
from fabula.engine.run import Make, More, Run, has_author_text, side_by_side
from fabula.story import slug
from fabula.systems.dramatron.hierarchy import END, without_end
from fabula.systems.dramatron.parsing import E, Parsed

Artefact: TypeAlias = "tuple[Make, More | None]"
"""What makes a text, and what gives more of one, where that can be had."""


class LevelReader(Protocol[E]):
    """Reads a level's entries."""

    def __call__(self, text: str, /) -> Parsed[E]:
        """The entries of a text, and what was rejected."""


@dataclass(frozen=True)
class Listed(Generic[E]):
    """What a level lists: its name, how an entry is written by hand, and how texts of it are read and written."""

    what: str
    form: str
    parse: LevelReader[E]
    text_of: Callable[[Sequence[E]], str]

    def entries(self, run: Run, text: str, where: str = "") -> tuple[E, ...]:
        """The entries of a text; what is left out of it is noted."""
        parsed = self.parse(text)
        for rejected in parsed.rejected:
            run.note(f"A {self.what}{where} was left out, since {rejected.reason}: {rejected.text}")
        return parsed.entries

    def of_file(self, run: Run, name: str, text: str) -> tuple[E, ...]:
        """The entries of the level's file, which the author may have changed.

        Raises:
            UsageError: it has none.
        """
        found = self.entries(run, f"{without_end(text)}\n{END}", f" of plan/{name}.md")
        if not found:
            raise UsageError(
                f"plan/{name}.md has no readable {self.what}. Write {self.form}, or take the edit back with "
                "`fabula undo`."
            )
        return found


def labelled(names: Sequence[str]) -> list[str]:
    """Names of artefacts, with numbers where two would be one file."""
    return [name if (n := names[: at + 1].count(name)) == 1 else f"{name}-{n}" for at, name in enumerate(names)]


def places_labelled(names: Sequence[str]) -> list[str]:
    """Names of the artefacts that describe these places."""
    return labelled([f"place-{slug(name)}" for name in names])


async def kept_in_order(
    run: Run, artefacts: Mapping[str, Artefact], folder: str, reads: Mapping[str, Sequence[str]]
) -> list[str]:
    """The texts of artefacts by name, written side by side, and kept (and so numbered) one after the other.

    `reads` names what each of them is made of.
    """
    done = {name: asyncio.Event() for name in artefacts}
    before = dict(zip(list(artefacts)[1:], done.values(), strict=False))

    async def in_turn(name: str, text: str) -> str:
        if name in before:
            await before[name].wait()
        return text

    async def kept(name: str, make: Make, more: More | None) -> str:
        async def made(own: Run) -> str:
            return await in_turn(name, await make(own))

        if has_author_text(run, name):  # the author's own text would be kept at once
            await in_turn(name, "")
        text = await run.keep(name, made, folder=folder, more=more, reads=reads[name])
        done[name].set()
        return text

    return await side_by_side(kept(name, *artefact) for name, artefact in artefacts.items())
