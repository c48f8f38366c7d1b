"""Character agents, the turns they play, and the map M that keeps them from scene to scene (section 3.2.1).

Knowledge is private by construction: an agent learns of a turn through `Troupe.witness` alone, and that gives a turn to
those who are present. A prompt to a character is made from its own `Agent` and from the scene it stands in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.story import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fabula.story.plan import Character, Plan

_NAME: Final = "**"
_NAMED: Final = ":**"
_REMARK: Final = ">"


@dataclass(frozen=True, slots=True)
class Turn:
    """What one character did and said, and the director's command for it."""

    name: str
    text: str
    command: str = ""

    @classmethod
    def of(cls, name: str, text: str, command: str = "") -> Turn:
        """A turn whose text can stand in a transcript: no blank lines, no mark of another turn."""
        lines = [_unmarked(line) for line in plain(text).splitlines()]
        return cls(name, "\n".join(line for line in lines if line), " ".join(command.split()))


def transcript(turns: Iterable[Turn]) -> str:
    """Turns as Markdown that a person can read and edit; `turns_of` reads it."""
    told = [
        (f"{_REMARK} The director to {turn.name}: {turn.command}\n\n" if turn.command else "")
        + f"{_NAME}{turn.name}{_NAMED} {turn.text}"
        for turn in turns
    ]
    return "\n\n".join(told)


def turns_of(text: str) -> tuple[Turn, ...]:
    """The turns in a transcript. Lines that begin with `>` are remarks; text before the first name is nobody's."""
    turns: list[tuple[str, list[str]]] = []
    for line in plain(text).split("\n"):
        name, named, said = line.strip().removeprefix(_NAME).partition(_NAMED)
        if line.lstrip().startswith(_NAME) and named and name.strip():
            turns.append((name.strip(), [said]))
        elif turns and not line.lstrip().startswith(_REMARK):
            turns[-1][1].append(line)
    found = (Turn.of(name, "\n".join(lines)) for name, lines in turns)
    return tuple(turn for turn in found if turn.text)


def _unmarked(line: str) -> str:
    """`line` without what a transcript would take for a mark at its beginning."""
    line = line.strip()
    while line.startswith((_NAME, _REMARK)):
        line = line.removeprefix(_NAME).removeprefix(_REMARK).lstrip()
    return line


@dataclass(frozen=True, slots=True)
class Agent:
    """A character in the play: its sheet, what it remembers, its body's state, and what it has not taken in yet."""

    character: Character
    memory: str = ""
    state: str = ""
    unseen: tuple[Turn, ...] = ()

    @property
    def name(self) -> str:
        """The character's name."""
        return self.character.name

    def updated(self, memory: str, state: str) -> Agent:
        """After taking in all it had not."""
        return replace(self, memory=memory, state=state, unseen=())


@dataclass(frozen=True, slots=True)
class Troupe:
    """The map M of Algorithm 1: agents by name, as they stand after what was played."""

    agents: Mapping[str, Agent]

    @classmethod
    def of(cls, plan: Plan) -> Troupe:
        """An agent for each character of the plan, before anything was played."""
        return cls({character.name: Agent(character) for character in plan.characters})

    def only(self, names: Iterable[str]) -> Troupe:
        """The agents of these names."""
        return Troupe({name: self.agents[name] for name in names})

    def with_(self, agents: Iterable[Agent]) -> Troupe:
        """With these agents in place of those of their names."""
        return Troupe({**self.agents, **{agent.name: agent for agent in agents}})

    def witness(self, present: Iterable[str], turns: Iterable[Turn]) -> Troupe:
        """After those who are present have seen `turns`."""
        seen = tuple(turns)
        agents = (self.agents[name] for name in present)
        return self.with_(replace(agent, unseen=(*agent.unseen, *seen)) for agent in agents)

    def forgetful(self) -> Troupe:
        """Without what nobody has taken in yet: the paper's chat history begins anew with each scene."""
        return Troupe({name: replace(agent, unseen=()) for name, agent in self.agents.items()})

    def marked(self, mark: str) -> Troupe:
        """With a mark on every memory."""
        return Troupe({name: replace(agent, memory=agent.memory + mark) for name, agent in self.agents.items()})
