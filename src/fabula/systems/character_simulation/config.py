"""Settings of Character Simulation: the paper's values, and what improved mode adds to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from fabula.engine.methods import Presets
from fabula.models.base import Sampling


@dataclass(frozen=True, slots=True)
class Paper:
    """The paper's own values.

    Attributes:
        max_turns: turns of one scene at most (section 5.2: 10 iterations); none allows two turns for each event of the
            scene's outline, and never fewer than 10.
        recent: turns that a character is shown when it responds (appendix B.1.3: up to 10).
        temperature: of all replies but the plan's (section 4.2.2); none leaves it to the model.
        frequency_penalty: of all replies but the plan's (section 4.2.2); none leaves it to the model.
    """

    max_turns: int | None = 10
    recent: int = 10
    temperature: float | None = 0.9
    frequency_penalty: float | None = 0.2

    @property
    def sampling(self) -> Sampling:
        """How all replies are drawn."""
        return Sampling(temperature=self.temperature, frequency_penalty=self.frequency_penalty)


@dataclass(frozen=True, slots=True)
class Ours:
    """What the paper does not have; with the defaults all is as in the paper.

    Attributes:
        instruction_first: what is wanted stands before what is given (appendix B); else after it.
        numbered: events are named by number instead of being repeated word for word.
        plain_response: a turn is plain text; else it is JSON with one field, as in the paper.
        clean_replies: chatter is taken out of turns, memories and the story.
        fit_prompts: prompts show as much as the model's context holds; else all, as in the paper.
        staged: players and memories are told place, date and who is there, the director what came before and how many
            turns are left, the writer what the scene is for its reader and who perceived what.
        thoughts: a turn may end with what its character thinks, which only that character and the writer learn.
        one_call: whether a scene ends, who is next and the command are one call; in the paper the first is another.
        one_memory: the physical state is part of the memory; in the paper it is a text and a call of its own.
        last_check: after the last turn that a scene may have the director is asked once more what is uncovered; the
            characters remember it as having happened, the writer tells it, and a note says so.
        private: director and sorter of events are shown of the characters only what anybody there notices (and their
            set-ups where the plan says apart from them what people hide), so that no command betrays what a character
            keeps to itself; else all that the plan says of them, as in the paper.
        tell_uncovered: what the director found uncovered enters its next command's prompt.
        min_turns: turns before the director is asked for the first time whether the scene ends (Algorithm 1, line 3);
            no more than there are events.
        repeat_limit: this many repeated commands end a scene; 0 only notes them.
        update_always: a character's memory and state are updated also where it has seen nothing new (line 11).
        carry_unseen: what a character witnessed after its last turn in a scene is taken in later; else it is lost.
        lenient_order: the order of telling stands in where no order of time could be read; else that is an error.
        final_reading: the writer reads the whole once at the end and gives small edits, each of which can be refused.
        length_control: the brief's word range is met, shared by the scenes' importance.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        scenes: how many scenes to plan where the author gives no plan; 0 leaves it to the planner.
        characters: how many characters to plan then beside those whom the brief names; 0 leaves it to the planner.
        check_plan: the planner reads a plan made from the brief once against it, and corrects what differs; a small
            model is never asked.
    """

    instruction_first: bool = True
    numbered: bool = False
    plain_response: bool = False
    clean_replies: bool = False
    fit_prompts: bool = False
    staged: bool = False
    thoughts: bool = False
    one_call: bool = False
    one_memory: bool = False
    last_check: bool = False
    private: bool = False
    tell_uncovered: bool = False
    min_turns: int = 0
    repeat_limit: int = 0
    update_always: bool = True
    carry_unseen: bool = False
    lenient_order: bool = False
    final_reading: bool = False
    length_control: bool = False
    words: str = ""
    scenes: int = 0
    characters: int = 0
    check_plan: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; `improved` names every difference from the paper."""

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: prompts that caches can reuse, no idle calls, nothing seen is lost, the length that was asked for."""
        return cls(
            Paper(max_turns=None, temperature=None, frequency_penalty=None),
            Ours(
                instruction_first=False,
                numbered=True,
                plain_response=True,
                clean_replies=True,
                fit_prompts=True,
                staged=True,
                thoughts=True,
                one_call=True,
                one_memory=True,
                last_check=True,
                private=True,
                tell_uncovered=True,
                min_turns=2,
                repeat_limit=2,
                update_always=False,
                carry_unseen=True,
                lenient_order=True,
                final_reading=True,
                length_control=True,
                check_plan=True,
            ),
        )
