"""The settings of Vanilla: those of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - settings are read by their types
from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets, or leaves open.

    Attributes:
        player: the player's character; empty takes the name that the narrative repeats most.
        npc: who answers; commas separate several. Empty takes the name that comes next.
        turn_temperature: of the turns (section 5.1).
        max_turns: exchanges (player and answer) in the automatic mode; in the first one the agent speaks alone. The
            paper does not say.
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
        freedom: is noted in conversations; the baseline's prompt does not know it.
        tries: draws of a turn that is not usable.
        private: a prompt holds what its character witnessed; else everybody has the whole narrative, as in the paper.
        lenient: a turn that is not usable is silence; else that is an error.
        turn_sentences: of a turn at most; the paper asks for 1, with a gesture before it, which is free from 2 on.
        open_ended: there is no end that the conversation leads to, as with a card, which tells no story.
        last_word: between two models, the words that end the dialogue are answered once more.
    """

    freedom: Freedom = "guided"
    tries: int = 1
    lenient: bool = False
    private: bool = False
    turn_sentences: int = 1
    open_ended: bool = False
    last_word: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of Vanilla."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Turns that are not usable are drawn again, and nobody knows too much."""
        return cls(ours=Ours(tries=3, lenient=True, private=True, turn_sentences=3, last_word=True))
