"""MAGNET's settings: what the paper says, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper, or ours for what it leaves open.

    Attributes:
        stall_steps: an unreached goal is replaced after so many steps (section 3.1: 15).
        domain_shift_steps: the story turns to another domain every so many steps (section 3.1: 40).
        stall_rule: "text" (in the 15th step, section 3.1) or "algorithm" (in the 16th, Algorithm 1, line 22).
        max_revisions: MAX_REVISIONS (Algorithm 1, line 5); the number is ours.
        recent_actor: paragraphs that a character sees (section 3.2: "recent"); the number is ours.
        recent_narrator: paragraphs that the narrator sees (section 3.2: "prior"); the number is ours.
        recent_goals: paragraphs that the goal generator sees (section 3.2: "recent"); the number is ours.
        slice_max: variables of W_c (Algorithm 1, line 3); the number is ours.
        candidates: actions that a character drafts each time it acts. With 2 a judge takes one, which makes the
            preference pairs of section 4.1 (`fabula data preferences`); stories are written with 1.
        critic: false is the ablation "No Critic" of section 4.4: the first action counts, and the narrator names
            changes and reached goals. Only in the preset faithful.
        world_updates: false is the ablation "No World State" (Tables 24 to 26: "No World Updates"): W stays as the
            author made it. Only in the preset faithful.
        goal_shifts: false is the ablation "No Goal Shift" of Table 6: no stalls and no domain shifts; a goal that is
            reached is still replaced.
        goal_updates: false is the same ablation in the text of section 4.4 and Tables 24 to 26 ("dynamic goal updates
            removed"): the first goal is the only one.
        actor_temperature: of the characters (appendix A.1); none leaves it to the model, here and below.
        candidates_temperature: of the characters if they draft 2 actions; section 4.1 gives none.
        critic_temperature: of the critic (appendix A.1).
        narrator_temperature: of the narrator's choice and text (appendix A.1).
        goals_temperature: of the goal generator (appendix A.1).
        words: replaces the brief's word range ("1300-1350", "~950"); empty keeps it. The paper's stories have 2, 20 and
            100 pages; it does not say when one ends.
        max_steps: most steps; 0 sets no bound.
        chapter_words: a chapter, or a scene that the narrator does not end, ends with the first goal after so many
            words (appendix A.2.1: around 2,000); 0 makes one chapter.
    """

    stall_steps: int = 15
    domain_shift_steps: int = 40
    stall_rule: Literal["text", "algorithm"] = "text"
    max_revisions: int = 2
    recent_actor: int = 4
    recent_narrator: int = 3
    recent_goals: int = 3
    slice_max: int = 5
    candidates: int = 1
    critic: bool = True
    world_updates: bool = True
    goal_shifts: bool = True
    goal_updates: bool = True
    actor_temperature: float | None = 0.2
    candidates_temperature: float | None = 0.8
    critic_temperature: float | None = 0.1
    narrator_temperature: float | None = 0.35
    goals_temperature: float | None = 0.1
    words: str = ""
    max_steps: int = 0
    chapter_words: int = 2000


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have.

    Attributes:
        paragraph_words: words of one step's paragraph.
        state_max: variables of W that critic, narrator and goal generator see; of earlier goals half as many.
    """

    paragraph_words: int = 110
    state_max: int = 40


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of MAGNET: `faithful` is the paper, except for the deviations in `paper.toml`."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """The length asked for, an ending, scenes, and people who answer each other and know what they saw."""
        return cls(Paper(recent_actor=8, recent_narrator=8, slice_max=12, narrator_temperature=None), Ours())
