"""The settings of Vanilla: those of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets, or leaves open.

    Attributes:
        player: the player's character; empty lets a model choose.
        npc: who answers, several separated by commas; empty lets a model choose.
        turn_temperature: of the turns; that of SNAP's agents (section 5.1), as the paper names none for Vanilla.
        max_turns: exchanges (player and answer) in the automatic mode; the number is ours.
    """

    player: str = ""
    npc: str = ""
    turn_temperature: float = 0.3
    max_turns: int = 30

    @property
    def npc_names(self) -> tuple[str, ...]:
        """The names in `npc`."""
        return tuple(name.strip() for name in self.npc.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        open_ended: the conversation leads to no end, as with a card, which tells no story.
    """

    open_ended: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of Vanilla."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Turns that are not usable are drawn again, and nobody knows too much."""
        return cls(ours=Ours())
