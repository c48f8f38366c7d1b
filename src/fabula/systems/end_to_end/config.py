"""Settings of the end-to-end baseline: the paper's values, and what improved mode adds."""

from __future__ import annotations

from dataclasses import dataclass

from fabula.engine.methods import Presets


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper.

    Attributes:
        max_tokens: target length of the reply (section 5); 0 is the model's own limit.
    """

    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds.

    Attributes:
        clean_replies: what a model says around its story is taken out: greetings, titles, labels, marks of templates.
        length_control: the brief's word range is met.
        words: a word range that stands for the brief's; empty reads it from the brief.
        revisions: how often the writer is given the brief and its story and gives the whole again, with what it can
            better changed and the rest left standing; each is one call more. Not in the paper.
        chapters: a story of more than 5,000 words has chapters, and a shorter one whose brief asks for them: one call
            for the plan, and two for each chapter. Not in the paper.
        final_reading: the writer reads the story once more at the end, against the brief and itself, and gives small
            edits, each of which can be refused (`fabula text edits`); one call more. Not in the paper.
    """

    clean_replies: bool = False
    length_control: bool = False
    words: str = ""
    revisions: int = 0
    chapters: bool = False
    final_reading: bool = False


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings of the baseline."""

    paper: Paper = Paper()
    ours: Ours = Ours()

    @classmethod
    def improved(cls) -> Config:
        """Ours: a story without chatter, of the length asked for, and no limit but the model's."""
        return cls(Paper(max_tokens=0), Ours(clean_replies=True, length_control=True, chapters=True))
