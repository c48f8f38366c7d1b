"""The script that is played: actors, players, and acts with their objectives; `plan/stage.yaml`, read and written.

::

    title: The Last Lamp
    background: A lighthouse on a bare cape, in the autumn of 1962.
    begins: 1962-10-28 18:00          # the clock of memories; a minute passes with every line
    actors:
      - name: Mara
        description: Keeper of the lighthouse, seventy, sparing with words.
        relations: {Tobias: the boy who brings her bread}
        memories:
          - event: Mara was pulled out of the sea as a child.
            thought: They asked nobody's name before they threw the rope.
            time: 1902-11-03 04:00
        sayings:
          - {asked: Are you cold?, said: It is October.}
      - name: Tobias
      - name: Father
    players:
      - {name: A stranger, description: He came with the last ferry., place: The letter}
    acts:
      - title: The letter
        place: the lamp room
        background: Dusk. The wind has turned north-west.
        actors: [Mara, Tobias]
        goals: [Tobias brings the letter., Mara reads it and hides what it says.]
        player_in: The door opens.
        player_out: The door falls shut.
        next_act: The light
      - title: The quay
        meanwhile: yes                 # at the same time as the one before it
        actors: [Father]
        goals: [Father puts out to sea.]
      - title: The light
        actors: [Mara, Tobias, Father]
        goals: [Mara lights the lamp against the order.]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

WHERE: Final = "plan/stage.yaml"
NARRATION: Final = "Narration"
BEGINS: Final = "2000-01-01 12:00"
_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class Remembered:
    """One entry of an actor's profile: an event, and in the first person what the actor thinks of it."""

    event: str
    thought: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class Saying:
    """How an actor once answered: an example of its way of speaking (the release's corpus)."""

    asked: str
    said: str


@dataclass(frozen=True, slots=True)
class ActorSheet:
    """Who an actor is; `relations` are pairs of a name and one sentence."""

    name: str
    description: str = ""
    relations: tuple[tuple[str, str], ...] = ()
    memories: tuple[Remembered, ...] = ()
    sayings: tuple[Saying, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def called(self) -> tuple[str, ...]:
        """Names by which others speak of it: the whole one, its parts, its aliases."""
        parts = [part for part in self.name.split() if part[:1].isupper()]
        return (self.name, *parts, *self.aliases)


@dataclass(frozen=True, slots=True)
class PlayerSheet:
    """A person of the play who steps in when they like; `place` is the title of the sub-act they begin in."""

    name: str
    description: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class SubAct:
    """What happens at one place: who is there, and the ordered objectives that the director steers to.

    Attributes:
        background: the opening narration.
        goals: without any the sub-act is never active; players may pass through it.
        player_in: the narration when a player comes.
        player_out: the narration when a player leaves.
        next_act: the sub-act of the next act to which its players go; the first one if empty.
        meanwhile: whether it is played beside the one before it.
    """

    title: str
    place: str = ""
    background: str = ""
    actors: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    player_in: str = ""
    player_out: str = ""
    next_act: str = ""
    meanwhile: bool = False


@dataclass(frozen=True, slots=True)
class Script:
    """A whole script; `acts` in the order of playing."""

    acts: tuple[SubAct, ...]
    actors: tuple[ActorSheet, ...]
    players: tuple[PlayerSheet, ...] = ()
    title: str = ""
    background: str = ""
    begins: str = BEGINS

    @property
    def groups(self) -> tuple[tuple[SubAct, ...], ...]:
        """The acts: sub-acts that are played at the same time."""
        groups: list[list[SubAct]] = []
        for act in self.acts:
            if act.meanwhile and groups:
                groups[-1].append(act)
            else:
                groups.append([act])
        return tuple(map(tuple, groups))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all actors and players."""
        return tuple(dict.fromkeys([*(a.name for a in self.actors), *(p.name for p in self.players)]))

    def hours(self, time: str) -> float:
        """The hours from the script's beginning to `time`; 0 for none."""
        if not time:
            return 0.0
        return (moment(time) - moment(self.begins)).total_seconds() / _SECONDS

    def marked(self, mark: str) -> Script:
        """With a mark on all that prompts show of it."""
        acts = tuple(
            replace(a, goals=tuple(g + mark for g in a.goals), background=a.background + mark) for a in self.acts
        )
        return replace(self, acts=acts, background=self.background + mark)


def moment(time: str) -> datetime:
    """The date and time in "1962-10-28 18:00".

    Raises:
        ValueError: it is none.
    """
    return datetime.fromisoformat(time).replace(tzinfo=None)
