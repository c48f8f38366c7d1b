"""MAGNET's settings, and Algorithm 1 step by step until the story has its length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from fabula.story.world import WorldState
from fabula.systems.magnet.company import company_for
from fabula.systems.magnet.state import State
from fabula.systems.magnet.stepping import Play
from fabula.systems.magnet.telling import Telling

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief, Story


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's, or stand for what it leaves open; `improved` names every difference.

    Attributes:
        stall_steps: a goal that is not reached in so many steps is replaced (section 3.1: 15).
        domain_shift_steps: every so many steps the story turns to another field (section 3.1: 40).
        stall_rule: "text" (in the 15th step) or "algorithm" (in the 16th, Algorithm 1 line 22).
        max_revisions: MAX_REVISIONS of Algorithm 1; the paper gives no value.
        recent_actor: paragraphs a character is shown; the paper says "recent".
        recent_narrator: paragraphs narrator and critic are shown.
        recent_goals: paragraphs the goal generator is shown.
        recent_tokens: bound of those paragraphs in one prompt; 0 sets none.
        slice_max: variables of W_c.
        state_max: variables of W that critic, narrator and goal generator are shown; 0 shows all, as in the paper.
        critic_history: the critic sees recent paragraphs and the character's last actions (the paper's does not).
        strict_paper: what a refused action changes is committed too (Algorithm 1, line 6); the critic sees no history.
        present_only: those act who are where the story is; off, as in the paper, everybody does.
        truncate_after_goal: nothing happens after a chosen action that reaches the goal.
        critic: off is the ablation of section 4.4: the first action counts.
        world_updates: off drops all commits (section 4.4).
        goal_shifts: off keeps a goal until it is reached (section 4.4).
        actor_temperature: appendix A.1; 0 leaves it to the model.
        critic_temperature: the same.
        narrator_temperature: the same.
        goals_temperature: the same.
        max_steps: steps at most; 0 sets none.
        words: how long the story is to be ("1300-1350", "~950"); empty reads it from the brief.
        pages: the same in pages of 400 words; 0 for `words`.
        usual_words: how long it is where neither brief nor settings say.
        chapter_words: a chapter ends with the first goal that ends after so many words; 0 makes one chapter.
        paragraph_words: of one step's paragraph, where length is controlled.
        length_control: the word range is met, and the story ends with a goal that closes it.
        plain_paragraph: the narrator chooses in one call and writes in another; else both come as JSON.
        plain_action: a character tells its action in plain words; else as JSON.
        check: the detectors of continuity errors look at every paragraph, and what they find is written again once.
        tidy: chatter, echoes and loops are taken out of paragraphs.
        instruction_first: what is wanted stands before what is given; else after it.
        parallel: characters act side by side; the story is the same.
        characters: how many to make where the author gives none.
    """

    stall_steps: int = 15
    domain_shift_steps: int = 40
    stall_rule: Literal["text", "algorithm"] = "text"
    max_revisions: int = 2
    recent_actor: int = 4
    recent_narrator: int = 3
    recent_goals: int = 3
    recent_tokens: int = 0
    slice_max: int = 5
    state_max: int = 0
    critic_history: bool = True
    strict_paper: bool = False
    present_only: bool = False
    truncate_after_goal: bool = True
    critic: bool = True
    world_updates: bool = True
    goal_shifts: bool = True
    actor_temperature: float = 0.2
    critic_temperature: float = 0.1
    narrator_temperature: float = 0.35
    goals_temperature: float = 0.1
    max_steps: int = 0
    words: str = ""
    pages: int = 0
    usual_words: int = 800
    chapter_words: int = 2000
    paragraph_words: int = 110
    length_control: bool = False
    plain_paragraph: bool = False
    plain_action: bool = False
    check: bool = False
    tidy: bool = False
    instruction_first: bool = True
    parallel: bool = True
    characters: int = 3

    @classmethod
    def faithful(cls) -> Config:
        """The paper."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: bounded prompts, the length asked for, an ending, and paragraphs checked against what was told."""
        return cls(
            recent_tokens=1200,
            slice_max=12,
            state_max=40,
            narrator_temperature=0.0,
            length_control=True,
            plain_paragraph=True,
            plain_action=True,
            check=True,
            tidy=True,
            instruction_first=False,
        )


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Steps of Algorithm 1, chapter by chapter, until the story has its length."""
    company = await company_for(run, brief, config)
    run.check_cast("character", company.names)
    with WorldState() as world:
        play = Play(company, State.of(company, world, places=config.present_only), config, [company.goal])
        telling = Telling(brief, run, play)
        while telling.goes_on:
            await telling.chapter()
    if problems := play.records.told(play.t):
        run.note(problems)
    return telling.story
