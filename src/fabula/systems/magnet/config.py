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
        candidates: actions that a character drafts each time it acts. 2: a judge takes one of them, as section 4.1 made
            its preference pairs, which `fabula data preferences` takes from the project; stories are written with 1.
        critic: off is the ablation "No Critic" of section 4.4: the first action counts, and the narrator says in the
            critic's place what changes and whether the goal is reached.
        world_updates: off is the ablation "No World State" (Tables 24 to 26: "No World Updates"): nobody names updates,
            and W stays what the author made it.
        goal_shifts: off is the ablation "No Goal Shift" as Table 6 names it: no stalls and no domain shifts; a goal
            that is reached is still replaced.
        goal_updates: off is the same ablation as the text of section 4.4 and Tables 24 to 26 have it ("dynamic goal
            updates removed"): the first goal is the goal of the whole story.
        actor_temperature: of the characters (appendix A.1); none leaves it to the model.
        critic_temperature: of the critic (appendix A.1); none leaves it to the model.
        narrator_temperature: of the narrator, when it chooses and when it writes (appendix A.1); none leaves it to the
            model.
        goals_temperature: of the goal generator (appendix A.1); none leaves it to the model.
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
    critic_temperature: float | None = 0.1
    narrator_temperature: float | None = 0.35
    goals_temperature: float | None = 0.1


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have.

    The defaults are those of the preset faithful, and leave things as the paper has them.

    Attributes:
        critic_history: the critic sees recent paragraphs and the character's last actions (the paper's does not).
        forced_updates: at the last attempt the critic names the updates of an action that it refuses too, since that
            may happen all the same.
        truncate_after_goal: nothing that is chosen after an action that reaches the goal happens: it is neither told
            nor committed. Only with `plain_paragraph`, where the choice comes before the paragraph.
        true_status: the goal generator is told whether the goal was reached also where a stall (line 23) or a domain
            shift (line 20) ends it; one that is reached in the step in which it would be left as stalled is complete.
        goal_check: a goal that repeats an earlier one, or stays in its domain where that has to change, is sent back
            once; then the old goal stands for 5 more steps.
        by_meaning: a new key that means the same as one in W ("mara_eyes", "mara_eye_colour") overwrites that one.
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
        check: the critic reads every paragraph against the actions and W as it stands after the step; what contradicts
            W, or leaves an action out, is written again once. What still does not agree then yields to the text: an
            action that is not told has not happened, and W takes the value that the text has. Not where the critic has
            aids for small models, which cannot do it.
        first_goal: where the author gives no goal, the planner is asked for an end state that a critic can check, in
            one sentence that gives nobody's secret away, and where the story begins; the brief's own goal if it names
            one. Off, and for a planner with aids, the first goal is the plan's conflict or the brief.
        own_goals: a character acts for reasons of its own, and its critic refuses no action for not bringing the
            story's goal nearer; in the paper everybody works towards that goal.
        in_turn: the characters of a step act one after the other, each shown what was accepted before, and another
            one begins in every step; nobody acts after an action that reaches the goal. In the paper they act at the
            same time.
        witnessed: prompts name place and time, a character is shown the others as anybody sees them, and instead of
            the story's paragraphs what it has seen and heard of them, as the reading of `check` says; what an action
            changes is known to those who see it, by critic and reading both. Narrator and goal generator say where and
            when the next scene is, and who acts next; in the paper everybody does in every step.
        retire: an update with an empty value takes a variable out of W. Not by a role with aids.
        final_reading: the narrator reads the whole once at its end and mends small things; W stays as it was then.
        story_shown: paragraphs that the narrator who writes is shown, and a character with `witnessed`, instead of
            `recent_narrator` and `recent_actor`; 0 leaves it at those. With `witnessed` these are as many words as so
            many paragraphs have. Not with aids.
        instruction_first: what is wanted stands before what is given; else after it. The paper prints no prompts.
        characters: how many to make where the author gives none.
    """

    critic_history: bool = False
    forced_updates: bool = False
    truncate_after_goal: bool = False
    true_status: bool = False
    goal_check: bool = False
    by_meaning: bool = False
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
    check: bool = False
    first_goal: bool = False
    own_goals: bool = False
    in_turn: bool = False
    witnessed: bool = False
    retire: bool = False
    final_reading: bool = False
    story_shown: int = 0
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
        """The length asked for, an ending, people who answer each other, and a text that agrees with W."""
        return cls(
            Paper(slice_max=12, narrator_temperature=None),
            Ours(
                critic_history=True,
                forced_updates=True,
                true_status=True,
                goal_check=True,
                by_meaning=True,
                state_max=40,
                length_control=True,
                plain_paragraph=True,
                plain_action=True,
                check=True,
                first_goal=True,
                own_goals=True,
                in_turn=True,
                witnessed=True,
                retire=True,
                final_reading=True,
                story_shown=8,
                instruction_first=False,
            ),
        )
