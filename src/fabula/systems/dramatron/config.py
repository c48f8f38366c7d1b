"""The settings of Dramatron's two modes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fabula.engine.methods import Presets

Mode: TypeAlias = Literal["screenplay", "story"]
Examples: TypeAlias = Literal["classical", "three-step", "none"]
Summary: TypeAlias = Literal["logline", "logline+previous", "logline+all"]
Form: TypeAlias = Literal["text", "schema"]
Reading: TypeAlias = Literal["faithful", "lenient"]
Marks: TypeAlias = Literal["exact", "lenient"]
Match: TypeAlias = Literal["substring", "words"]
Previous: TypeAlias = Literal["beat", "beats"]
Introduced: TypeAlias = Literal["all", "places", "none"]


@dataclass(frozen=True, slots=True)
class Paper:
    """Values of the paper and its released code; in a story those of Character Simulation.

    Attributes:
        mode: "screenplay", or "story": the baseline of Character Simulation (its section 4.2 and appendix B.3).
        examples: The set that prompts of a screenplay begin with: "classical" (nine steps), "three-step", or "none".
        paper_sampling: Sampling and limits are the release's (in a story those of section 4.2.2), else the model's own.
        title_tokens: Sample length of a title (release).
        place_tokens: Sample length of a place (release).
        level_tokens: Sample length of characters, scenes and dialogues (release).
        more_tokens: Sample length where a person has characters or scenes continued (release).
        max_paragraph: Length from which an answer is not sampled on (release, "max paragraph length").
        summary: What a story's scene is given of the whole; appendix B.3 leaves it open.
        max_tokens: Bounds a scene of a story; the paper names no value.
    """

    mode: Mode = "screenplay"
    examples: Examples = "classical"
    paper_sampling: bool = True
    title_tokens: int = 64
    place_tokens: int = 128
    level_tokens: int = 511
    more_tokens: int = 256
    max_paragraph: int = 1024
    summary: Summary = "logline+previous"
    max_tokens: int = 4096


@dataclass(frozen=True, slots=True)
class Ours:
    """What improved mode adds; the defaults are the release's ways.

    Attributes:
        form: How characters and scenes are asked for: as "text" in the release's format, or by a "schema".
        parser: How the levels' answers are read; "faithful" loses what the release loses.
        marks: What ends an answer: END and "Example " wherever they stand, and a cap that compares characters with
            tokens ("exact", release); or lines of that kind, the model's own end, and tokens ("lenient").
        match: Whose descriptions a dialogue is given: names that are a "substring" of its beat (release), or "words".
        previous: What a dialogue is given of earlier scenes: the "beat" before (release), or all "beats".
        told_names: Characters are shown with their names; the release shows their descriptions alone.
        present: The plan of a scene names who is there, and its dialogue is given them, whether the beat names them or
            not; it also says whether the scene is inside, when it happens, and who they are if that is years away.
        introduced: What a script shows under a scene's heading where it comes first: "all" (the release: the place and
            the characters, with all that their descriptions give away), the "places", or "none".
        context: Who plans scenes knows the length of the whole; who writes one knows whether it opens or ends the whole
            and what comes next, in a script also who is new and how action is written, in a story the author's brief,
            the setting, the date and the story so far: its scenes are then written one after the other.
        final_reading: A story is read once at its end against brief, plan and itself, and small edits come of it, each
            of which can be refused; one more call.
        clean_replies: Chatter is taken out of scripts and stories, and a story's prompt says how long a scene is to be.
        fewest_scenes: Scenes are continued, a bounded number of times, until there are so many.
        most_scenes: Scenes of a screenplay beyond this number are left out; 0 is no bound (12 with aids).
        scenes: Of a story that has no plan yet; 0 lets the planner decide.
        characters: Of such a story, beside those whom the brief names; 0 lets the planner decide.
        check_plan: The planner reads such a story's plan once against the brief, and corrects what differs; a small
            model is never asked.
        length_control: The brief's word range is met, scene by scene.
        words: A word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
    """

    form: Form = "text"
    parser: Reading = "faithful"
    marks: Marks = "exact"
    match: Match = "substring"
    previous: Previous = "beat"
    told_names: bool = False
    present: bool = False
    introduced: Introduced = "all"
    context: bool = False
    final_reading: bool = False
    clean_replies: bool = False
    fewest_scenes: int = 1
    most_scenes: int = 0
    scenes: int = 0
    characters: int = 0
    check_plan: bool = False
    length_control: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Config(Presets):
    """Settings; `improved` names every difference from the paper and its release.

    `faithful` is the paper and its release.

    Attributes:
        paper: Values of the paper and its release.
        ours: What improved mode adds.
    """

    paper: Paper = field(default_factory=Paper)
    ours: Ours = field(default_factory=Ours)

    @classmethod
    def improved(cls) -> Config:
        """Ours: nothing that was said is lost in reading, names are matched as names, and length is kept."""
        ours = Ours(
            form="schema",
            parser="lenient",
            marks="lenient",
            match="words",
            previous="beats",
            told_names=True,
            present=True,
            introduced="places",
            context=True,
            final_reading=True,
            clean_replies=True,
            fewest_scenes=3,
            length_control=True,
            check_plan=True,
        )
        return cls(Paper(examples="none", paper_sampling=False), ours)
