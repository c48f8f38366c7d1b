"""Settings of Agents' Room: the paper's values, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Variant: TypeAlias = Literal["plan", "write", "plan+write"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper; improved mode changes the last two.

    Attributes:
        variant: which agents take part (section 5, "Agents' Room Variants").
        orchestrator: "deterministic" (section 4.1), "llm", or a Python function as `file.py:name`.
        max_steps: T of Algorithm 1; the paper gives no value; 20, over twice the nine it needs.
        max_tokens: target length of one reply (section 5); 0 is the model's own limit.
        instruction_first: an agent's instruction stands before the scratchpad (appendix B); else after it, which lets
            prefix caches hit.
    """

    variant: Variant = "plan+write"
    orchestrator: str = "deterministic"
    max_steps: int = 20
    max_tokens: int = 4096
    instruction_first: bool = True


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        clean_replies: what a model says around its text is taken out: greetings, titles, labels, marks of templates.
        length_control: the brief's word range is met, section by section.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
        shares: how the story's words are shared by its five parts, as "10,30,30,20,10"; empty: 20, 25, 20, 17.5, 17.5.
        plan_tokens: bounds the reply of a planning agent; 0 leaves that to `max_tokens` and the model.
        need_to_know: prompts tell an agent what it has to know beyond the paper's: how long the story is, what others
            plan, where its part stands in the order of telling, and that the reader knows nothing of what stands only
            in the plan. Order of time, person, tense and form are left to the brief, and notes are as long as they
            need. The scratchpad stands first.
        plot_by_part: the plot agent says for each part what happens, when, where and before whom, what it sets up and
            what pays off, and how many words it takes; a part that it leaves out is not written. Parts with more than
            twice the events that their words can show are planned again once. A writing agent is given its own part,
            and those to come as still to come.
        plan_check: the plot agent compares its plot with the brief once and corrects what differs; one call more
            (needs `plot_by_part`).
        draft_first: the finalizer writes a whole draft; each planning agent reads it and says, for its own side of the
            story, what to change; the last puts all changes in order; the finalizer writes the story anew. Six calls.
            Ours, and not in the paper. Not for small models, stories of more than 3,000 words, an author's plan,
            another variant or orchestrator, or where a part's writer was cast by name: there agents plan, and others
            write the parts.
        revisions: with `draft_first`, how often the finalizer then revises the whole; one call each.
        chapters: a story of more than 5,000 words has chapters, and a shorter one whose brief asks for them: the plot
            agent divides the parts into chapters, and each part's writer writes its own one after the other, with
            an account of those that are out of sight. One call for the plan, and two for each chapter.
        final_reading: the finalizer reads the whole once at the end, against the brief, the plan and itself, and gives
            small edits, each of which can be refused (`fabula text edits`); one call more.
    """

    clean_replies: bool = False
    length_control: bool = False
    words: str = ""
    shares: tuple[float, ...] = ()
    plan_tokens: int = 0
    need_to_know: bool = False
    plot_by_part: bool = False
    plan_check: bool = False
    draft_first: bool = False
    revisions: int = 0
    chapters: bool = False
    final_reading: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of a room."""

    paper: Paper = Paper()
    ours: Ours = Ours()

    @classmethod
    def improved(cls) -> Config:
        """Ours: a draft that the room reads and revises, or a plot by parts where the story is long; and its length."""
        ours = Ours(
            clean_replies=True,
            length_control=True,
            need_to_know=True,
            plot_by_part=True,
            draft_first=True,
            revisions=2,
            chapters=True,
            final_reading=True,
        )
        return cls(Paper(max_tokens=0, instruction_first=False), ours)
