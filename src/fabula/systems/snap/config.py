"""The settings of SNAP: those of the paper, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from fabula.craft.conversation.lines import Freedom  # noqa: TC001 - settings are read by their types
from fabula.engine.methods import Presets

PUBLISHED: Final = (1.1618, 1.4210, 1.4323)  # equation 1: coherence, connectivity, personality


@dataclass(frozen=True, slots=True)
class Paper:
    """What the paper sets, or leaves open.

    Attributes:
        player: the player's character; empty lets a model choose.
        npc: who answers, several separated by commas; empty lets a model choose.
        sentences: of a cell, about (section 3.1: 10).
        candidates: plans to choose from in a cell; the number is ours.
        plan_filter: whether the best plan is chosen (section 4.4); if false, the first.
        weights: of coherence, connectivity and personality (equation 1); `fabula lab snap` learns new ones.
        coherence: of plan and segment: "bertscore" as in the paper (extra `fabula[bertscore]`), "words" (TF-IDF), or
            "auto": BERTScore if package and model are on this machine, else words, with a note.
        coherence_model: for "bertscore": a name of the package transformers, or a folder with a model.
        coherence_embedder: "transformers", "letters" (a stand-in), or FILE.py:FUNCTION, as in the evaluator bertscore.
        coherence_fetch: whether a missing model may be fetched from its public home.
        scoring: "samples" (section 5.1), "logprobs" of one token, or "auto": logprobs if the engine gives them.
        samples: of one score (section 5.1: 20).
        plan_temperature: of planning (section 5.1).
        turn_temperature: of the agents' turns (section 5.1).
        summary_words: most words of a summary; the number is ours.
        max_turns: exchanges (player and answer) of a cell in the automatic mode; the number is ours.
    """

    player: str = ""
    npc: str = ""
    sentences: int = 10
    candidates: int = 3
    plan_filter: bool = True
    weights: tuple[float, float, float] = PUBLISHED
    coherence: Literal["auto", "bertscore", "words"] = "auto"
    coherence_model: str = "roberta-large"
    coherence_embedder: str = "transformers"
    coherence_fetch: bool = False
    scoring: Literal["samples", "logprobs", "auto"] = "samples"
    samples: int = 20
    plan_temperature: float = 0.3
    turn_temperature: float = 0.3
    summary_words: int = 80
    max_turns: int = 30

    @property
    def npc_names(self) -> tuple[str, ...]:
        """The names in `npc`."""
        return tuple(name.strip() for name in self.npc.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        freedom: how far the player may lead away: "rails", "guided" (the paper) or "loose".
        turns_per_step: exchanges after which a stalled sub-plan is left, and a last one ends its cell; half as many on
            rails, twice as many when loose. 0 leaves it to the agent, as in the paper.
    """

    freedom: Freedom = "guided"
    turns_per_step: int = 4


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of SNAP."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """Nobody knows too much, no cell is forgotten, and what cannot be read stops nothing."""
        return cls(Paper(coherence="words", scoring="auto"), Ours())
