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
        recent_narrator: paragraphs that the narrator is shown (section 3.2 says "prior"; the number is ours), and the
            critic with `critic_history`.
        recent_goals: paragraphs that the goal generator is shown (section 3.2 says "recent"; the number is ours).
        slice_max: variables of W_c (Algorithm 1, line 3); the paper does not define W_c, and the number is ours.
        strict_paper: what a refused action changes is committed too, and the critic sees no history (Algorithm 1,
            lines 4 to 6).
        critic: off is the ablation of section 4.4: the first action counts, and no goal is ever completed, since only
            the critic says that one is reached.
        world_updates: off drops all commits (section 4.4); characters are then shown no world, all others the author's.
        goal_shifts: off keeps a goal until it is reached, when it is still replaced (section 4.4).
        actor_temperature: of the characters (appendix A.1); 0 leaves it to the model.
        critic_temperature: of the critic (appendix A.1); 0 leaves it to the model.
        narrator_temperature: of the narrator (appendix A.1); 0 leaves it to the model.
        goals_temperature: of the goal generator (appendix A.1); 0 leaves it to the model.
    """

    stall_steps: int = 15
    domain_shift_steps: int = 40
    stall_rule: Literal["text", "algorithm"] = "text"
    max_revisions: int = 2
    recent_actor: int = 4
    recent_narrator: int = 3
    recent_goals: int = 3
    slice_max: int = 5
    strict_paper: bool = False
    critic: bool = True
    world_updates: bool = True
    goal_shifts: bool = True
    actor_temperature: float = 0.2
    critic_temperature: float = 0.1
    narrator_temperature: float = 0.35
    goals_temperature: float = 0.1


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have.

    The defaults are those of the preset faithful. They leave things as the paper has them, but for `critic_history` and
    `truncate_after_goal`, which are on there too.

    Attributes:
        critic_history: the critic sees recent paragraphs and the character's last actions (the paper's does not).
        truncate_after_goal: nothing is committed after a chosen action that reaches the goal. The paragraph leaves it
            out too where it is written after the choice (`plain_paragraph`), not where it came with it. `strict_paper`
            does not switch this off.
        present_only: those act who are where the story is; off, as in the paper, everybody does.
        state_max: variables of W that critic, narrator and goal generator are shown, so that prompts do not grow with
            the story; 0 shows all, as in the paper.
        max_steps: steps at most; 0 sets none.
        words: how long the story is to be ("1300-1350", "~950"); empty reads it from the brief.
        pages: how long the story is to be in pages of 400 words; 0 for `words`.
        chapter_words: a chapter ends with the first goal that ends after so many words; 0 makes one chapter.
        paragraph_words: of one step's paragraph, where length is controlled.
        length_control: the word range is met, and the story ends with a goal that closes it.
        plain_paragraph: the narrator chooses in one call and writes in another; else both come as JSON.
        plain_action: a character says its action in plain words; else as JSON.
        instruction_first: what is wanted stands before what is given; else after it. The paper prints no prompts.
        characters: how many to make where the author gives none.
    """

    critic_history: bool = True
    truncate_after_goal: bool = True
    present_only: bool = False
    state_max: int = 0
    max_steps: int = 0
    words: str = ""
    pages: int = 0
    chapter_words: int = 2000
    paragraph_words: int = 110
    length_control: bool = False
    plain_paragraph: bool = False
    plain_action: bool = False
    instruction_first: bool = True
    characters: int = 3


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of MAGNET; `improved` names every difference from the paper.

    `faithful` is the paper, as far as `paper.toml` names no deviation.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """The length asked for, an ending and prompts that do not grow."""
        return cls(
            Paper(slice_max=12, narrator_temperature=0.0),
            Ours(
                state_max=40,
                length_control=True,
                plain_paragraph=True,
                plain_action=True,
                instruction_first=False,
            ),
        )
