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
        player: the player's character; empty takes the first that the first cell names.
        npc: who answers; commas separate several. Empty takes the second.
        sentences: of a cell, about (section 3.1: 10); up to 30 % more or fewer, so that it ends with a paragraph.
        candidates: plans to choose from in a cell; the paper does not say how many.
        plan_filter: the best plan is chosen (section 4.4); else the first one counts.
        weights: of coherence, connectivity and personality (equation 1); `fabula lab snap fit` learns one's own.
        coherence: of plan and segment: "bertscore" as in the paper (extra `fabula[bertscore]`), "words" (TF-IDF), or
            "auto": BERTScore where package and model are on this machine, else words, and a note says so.
        coherence_model: for "bertscore": a name of the package transformers, or a folder that holds a model.
        coherence_embedder: transformers, letters (a stand-in), or FILE.py:FUNCTION, as the evaluator bertscore has it.
        coherence_fetch: a model that is not on this machine may be fetched from its public home.
        scoring: "samples" (section 5.1), "logprobs" of one token, or "auto": these where the engine gives them.
        samples: of one score (section 5.1: 20).
        plan_temperature: of planning (section 5.1).
        turn_temperature: of the agents' turns (section 5.1).
        instruction_first: the planner reads what is wanted before what is given (Table 5); else after it.
        summary_words: that a summary should have at most; the paper does not say.
        max_turns: exchanges (player and answer) of a cell in the automatic mode; in the first one the agent speaks
            alone. The paper does not say.
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
    instruction_first: bool = True
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
        turns_per_step: exchanges (player and answer) after which a sub-plan that stalls is left; 0 leaves it to the
            agent, as in the paper.
        enforce: the agent is reminded of its sub-plan, and EOD counts at the last one alone; else wherever it is
            written, but in the first turn.
        tries: draws of a turn that is not usable.
        lenient: what cannot be read is made from the segment: labels, a plan, a turn; else that is an error.
        private: a prompt holds what its character witnessed: sentences, lines, memories, its own persona, points of a
            plan that were made from these. Else everybody has the whole segment and plan, as in the paper.
        carry: what was before a cell goes on into it: a summary holds it too, prompts show the last lines of the
            dialogue beside the summary, and sheets keep what earlier cells told; else a cell has the summary of the
            dialogue before it and its own labels alone, as in the paper.
        own_progress: a reply says which points of its plan have come up, whoever brought them up, and that moves the
            dialogue through the plan; else words do (`enforce`), as they do for a reply that does not say it.
        turn_sentences: of a turn at most; the paper asks for 1, with a gesture before it, which is free from 2 on.
        apart: so many candidate plans at most, of which a later one sees the headlines of those before it and is asked
            for another way through the cell; 0 draws all `candidates` from one prompt, as do aids for small models.
        last_word: between two models, the words that end a cell are answered once before the next begins.
        at_start: labels say who somebody is when the cell begins, where it is and when; else what all of it shows.
        write_narrative: where the brief asks for a number of words, a capable planner first says whether it is a
            writing task, and writes the narrative of one; else the brief's sentences are the narrative.
        ahead: cells that are read ahead for what somebody has known from the beginning (`private`).
    """

    freedom: Freedom = "guided"
    turns_per_step: int = 0
    enforce: bool = False
    tries: int = 1
    lenient: bool = False
    private: bool = False
    carry: bool = False
    own_progress: bool = False
    turn_sentences: int = 1
    apart: int = 0
    last_word: bool = False
    at_start: bool = False
    write_narrative: bool = False
    ahead: int = 0


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of SNAP."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """The plan is kept to, nobody knows too much, no cell is forgotten, and what cannot be read stops nothing."""
        paper = Paper(coherence="words", scoring="auto", instruction_first=False)
        ours = Ours(
            turns_per_step=4,
            enforce=True,
            tries=3,
            lenient=True,
            private=True,
            carry=True,
            own_progress=True,
            turn_sentences=3,
            apart=2,
            last_word=True,
            at_start=True,
            write_narrative=True,
            ahead=8,
        )
        return cls(paper, ours)
