"""SNAP: the story in cells; in each a plan is made and chosen, talked through, and summed up (section 4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from fabula.base.errors import UsageError
from fabula.craft.cells import cells
from fabula.craft.conversation.moves import conversation, dialogue_of, dialogue_text
from fabula.craft.conversation.state import State
from fabula.craft.conversation.talk import Freedom, Parties, Place
from fabula.craft.narratives import narrative_of
from fabula.story import Story
from fabula.systems.snap.coherence import ready
from fabula.systems.snap.people import Labels, company_of, parties_for
from fabula.systems.snap.talking import SnapTalk

if TYPE_CHECKING:
    from fabula.craft.conversation.talk import Memories
    from fabula.engine.run import Run
    from fabula.story import Brief

PUBLISHED = (1.1618, 1.4210, 1.4323)  # equation 1: coherence, connectivity, personality


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's, or stand for what it leaves open; `improved` names every difference.

    Attributes:
        player: the player's character; empty takes the first that the first cell names.
        npc: who answers; several are parted by commas. Empty takes the second.
        sentences: of a cell, about (section 3.1: 10).
        candidates: plans to choose from in a cell; the paper does not say how many.
        plan_filter: the best plan is chosen (section 4.4); else the first one counts.
        weights: of coherence, connectivity and personality (equation 1); `fabula snap fit` learns one's own.
        coherence: of plan and segment: "words" (TF-IDF), or "bertscore" as in the paper (extra `fabula[bertscore]`).
        coherence_model: for "bertscore": a name of the package transformers, or a folder that holds a model.
        coherence_embedder: transformers, letters (a stand-in), or FILE.py:FUNCTION, as the evaluator bertscore has it.
        coherence_fetch: a model that is not on this machine may be fetched from its public home.
        scoring: "samples" (section 5.1), "logprobs" of one token, or "auto": these where the engine tells them.
        samples: of one score (section 5.1: 20).
        plan_temperature: of planning (section 5.1).
        turn_temperature: of the agents' turns (section 5.1).
        plan_tokens: bound of a plan.
        turn_tokens: bound of a turn.
        summary_words: bound of a summary.
        max_turns: of a cell in the automatic mode; the paper names no bound.
        freedom: how far the player may lead away: "rails", "guided" (the paper) or "loose".
        turns_per_step: turns after which a sub-plan that stalls is left; 0 leaves it to the agent, as in the paper.
        enforce: EOD counts at the last sub-plan alone; else wherever the agent writes it, but in its first turn.
        remind: the agent is told which sub-plan it is at.
        instruction_first: the planner reads what is wanted before what is given, as in the paper.
        lead: a model that can is given the first letters of a turn's or a plan's form.
        turn_sentences: of a message at most; 0 keeps what was written.
        tries: draws of a turn that cannot be used.
        lenient: what cannot be read is made from the segment: labels, a plan; else that is an error.
        most_steps: sub-plans at most; 0 keeps all.
        least_coherence: a chosen plan that is less like its segment is made from the segment; 0 keeps any.
        check_people: labels count for those alone that the segment names.
        carry: a summary holds what was before its cell too; else the cell's dialogue alone, as in the paper.
        history_tokens: bound of the dialogue in a prompt, about; 0 sets none.
        segment_tokens: the same for the segment.
    """

    player: str = ""
    npc: str = ""
    sentences: int = 10
    candidates: int = 3
    plan_filter: bool = True
    weights: tuple[float, float, float] = PUBLISHED
    coherence: Literal["words", "bertscore"] = "words"
    coherence_model: str = "roberta-large"
    coherence_embedder: str = "transformers"
    coherence_fetch: bool = False
    scoring: Literal["samples", "logprobs", "auto"] = "samples"
    samples: int = 20
    plan_temperature: float = 0.3
    turn_temperature: float = 0.3
    plan_tokens: int = 1024
    turn_tokens: int = 256
    summary_words: int = 80
    max_turns: int = 30
    freedom: Freedom = "guided"
    turns_per_step: int = 0
    enforce: bool = False
    remind: bool = False
    instruction_first: bool = True
    lead: bool = False
    turn_sentences: int = 0
    tries: int = 1
    lenient: bool = False
    most_steps: int = 0
    least_coherence: float = 0.0
    check_people: bool = False
    carry: bool = False
    history_tokens: int = 0
    segment_tokens: int = 0

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: the plan is kept to, prompts are bounded, no cell is forgotten, small models get through."""
        return cls(
            scoring="auto",
            plan_tokens=640,
            turn_tokens=96,
            turns_per_step=4,
            enforce=True,
            remind=True,
            instruction_first=False,
            lead=True,
            turn_sentences=1,
            tries=3,
            lenient=True,
            most_steps=8,
            least_coherence=0.25,  # the paper's own plans have 0.26 to 0.65 (Tables 14 to 26), prattle 0.1 to 0.2
            check_people=True,
            carry=True,
            history_tokens=1500,
            segment_tokens=1200,
        )


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The narrative as a dialogue between two agents, cell by cell (section 5.3)."""
    narrative = await narrative_of(run, brief)
    talk = await open_talk(narrative, run, config)
    state = State(freedom=config.freedom)
    memories: Memories = {}
    story = Story.of(brief)
    for number in range(1, len(talk.cells) + 1):
        here = Place(run, run.scope(f"cell-{number}"))
        chapter = await talk.chapter(here, number, memories)

        async def make(own: Run) -> str:
            opened = replace(state, turns=()).opened(chapter, memories)  # noqa: B023 - called in this round
            return dialogue_text(await conversation(talk, Place(run, own), opened, chapter, config.max_turns))  # noqa: B023 - the same

        text = await here.own.keep("dialogue", make, folder="story")
        story = story.add(f"cell-{number}/dialogue", text)
        lines = dialogue_of(text, talk.parties, chapter.present)
        if number < len(talk.cells):
            memories = await talk.remember(here, chapter, lines, memories)
    return story


async def open_talk(narrative: str, run: Run, config: Config, parties: Parties | None = None) -> SnapTalk:
    """The narrative, ready to be talked through; costs the labels of its first cell where `parties` are not given.

    Raises:
        UsageError: there is no sentence in it, nobody to talk with, or no model for a coherence by BERTScore.
        UnknownNameError: one of the parties is not in it.
    """
    parts = tuple(cells(narrative, config.sentences))
    if not parts:
        raise UsageError("The narrative has no sentence. Give a text in which somebody does something.")
    await ready(run, config)
    company, labels = await company_of(run), Labels(parts, config)
    return SnapTalk(await parties_for(labels, company, run, config, parties), company, labels, config)
