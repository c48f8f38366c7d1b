"""MAGNET's settings: what the paper says, and what is ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper, or values that stand for what it leaves open.

    Attributes:
        stall_steps: a goal that is not reached in so many steps is replaced (section 3.1: 15).
        domain_shift_steps: every so many steps the story turns to another domain (section 3.1: 40).
        stall_rule: "text" (in the 15th step, section 3.1) or "algorithm" (in the 16th, Algorithm 1, line 22).
        max_revisions: MAX_REVISIONS (Algorithm 1, line 5); the paper gives no value.
        recent_actor: paragraphs that a character is shown (section 3.2 says "recent"; the number is ours).
        recent_narrator: paragraphs that the narrator is shown (section 3.2 says "prior"; the number is ours).
        recent_goals: paragraphs that the goal generator is shown (section 3.2 says "recent"; the number is ours).
        slice_max: variables of W_c (Algorithm 1, line 3); the paper does not define W_c, and the number is ours.
        candidates: actions that a character drafts each time it acts. 2: a judge takes one of them, as section 4.1 made
            its preference pairs, which `fabula data preferences` takes from the project; stories are written with 1.
        critic: off is the ablation "No Critic" of section 4.4: the first action counts, and the narrator says in the
            critic's place what changes and whether the goal is reached. Only in the preset faithful.
        world_updates: off is the ablation "No World State" (Tables 24 to 26: "No World Updates"): nobody names updates,
            and W stays what the author made it. Only in the preset faithful.
        goal_shifts: off is the ablation "No Goal Shift" as Table 6 names it: no stalls and no domain shifts; a goal
            that is reached is still replaced.
        goal_updates: off is the same ablation as the text of section 4.4 and Tables 24 to 26 have it ("dynamic goal
            updates removed"): the first goal is the goal of the whole story.
        actor_temperature: of the characters (appendix A.1); none leaves it to the model.
        candidates_temperature: of the characters where they draft 2 actions; section 4.1 gives none. none leaves it to
            the model.
        critic_temperature: of the critic (appendix A.1); none leaves it to the model.
        narrator_temperature: of the narrator, when it chooses and when it writes (appendix A.1); none leaves it to the
            model.
        goals_temperature: of the goal generator (appendix A.1); none leaves it to the model.
        words: how long the story is to be ("1300-1350", "~950"); empty reads it from the brief. The paper, whose
            stories have 2, 20 and 100 pages, does not say when one ends.
        max_steps: steps at most; 0 sets none.
        chapter_words: a chapter ends with the first goal that ends after so many words (appendix A.2.1: around 2,000),
            and so does a scene that nobody ends; 0 makes one chapter.
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
        paragraph_words: of one step's paragraph; the story's last ones end it within the words that are asked for.
        state_max: variables of W that critic, narrator and goal generator are shown, and earlier goals, half as many,
            so that prompts do not grow with the story.
    """

    paragraph_words: int = 110
    state_max: int = 40


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of MAGNET: `faithful` is the paper, as far as `paper.toml` names no deviation."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours | None = None

    @classmethod
    def improved(cls) -> Config:
        """The length asked for, an ending, scenes, and people who answer each other and know what they saw."""
        return cls(Paper(recent_actor=8, recent_narrator=8, slice_max=12, narrator_temperature=None), Ours())
