"""Dramatron's hierarchy, level by level, and the settings of its two modes.

Sections are those of "Co-Writing Screenplays and Theatre Scripts with Language Models" where nothing else is said;
"release" is its released code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from fabula.craft.planning import given_plan
from fabula.story import Story
from fabula.systems.dramatron import levels, stories
from fabula.systems.dramatron.dialogue import dialogues
from fabula.systems.dramatron.generating import Marks, Unit  # noqa: TC001 - fields of `Config` are read at run time
from fabula.systems.dramatron.matching import Match  # noqa: TC001 - the same
from fabula.systems.dramatron.planned import script_of

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story import Brief

Mode: TypeAlias = Literal["screenplay", "story"]
Examples: TypeAlias = Literal["classical", "three-step", "none"]
Form: TypeAlias = Literal["text", "schema"]
Reading: TypeAlias = Literal["faithful", "lenient"]
Previous: TypeAlias = Literal["beat", "beats"]
Summary: TypeAlias = Literal["logline", "logline+previous", "logline+all"]


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the defaults are the paper's and its release's, `improved` names every difference.

    Attributes:
        mode: "screenplay", or "story": the baseline of Character Simulation (its section 4.2 and appendix B.3).
        examples: the set that prompts of a screenplay begin with: "classical" (nine steps), "three-step", or "none".
        form: how characters and scenes are asked for: as "text" in the release's format, or by a "schema".
        parser: how answers of a screenplay's levels are read; "faithful" loses what the release loses.
        match: who is told to the writer of a dialogue: "substring" of the beat (release), or "words" of a name.
        previous: what happened before, for the writer of a dialogue: the "beat" before (release), or all "beats".
        told_names: characters are told with their names; the release sends their descriptions alone.
        marks: what ends an answer: END and "Example " wherever they stand ("exact", release), or such lines.
        cap_unit: what `max_paragraph` is compared with: "characters" (release, by mistake), or "tokens".
        trust_stop: an answer that a model ended by itself is whole, also without END.
        tidy: scripts get speakers on lines of their own, and lose loops and half lines; stories get `clean_prose`.
        cue: models that can continue a text get the first speaker of a dialogue.
        paper_sampling: the release's sampling values, or in a story those of section 4.2, instead of the model's own.
        title_tokens: sample length of a title (release).
        place_tokens: sample length of a place (release).
        level_tokens: sample length of characters, scenes and dialogues (release).
        more_tokens: sample length where characters or scenes are continued (release).
        max_paragraph: length from which an answer is not sampled on; see `cap_unit` (release).
        tries: how often a level is asked until something of its answer can be read.
        fewest_scenes: scenes are continued, a bounded number of times, until there are so many.
        most_scenes: scenes of a screenplay beyond this number are left out; 0 is no bound.
        most_words: descriptions and beats that a model gave are cut after the last sentence within; 0 is no bound.
        summary: what a story's scene is told of the whole; appendix B.3 leaves it open.
        max_tokens: bounds a scene of a story; the paper names no value.
        scenes: of a story that has no plan yet; 0 lets the planner decide.
        characters: of such a story, at most.
        plan_tokens: bounds each reply of its planner.
        length_control: the brief's word range is met, scene by scene.
        words: a word range that stands for the brief's ("1300-1350", "~950"); empty reads it from the brief.
    """

    mode: Mode = "screenplay"
    examples: Examples = "classical"
    form: Form = "text"
    parser: Reading = "faithful"
    match: Match = "substring"
    previous: Previous = "beat"
    told_names: bool = False
    marks: Marks = "exact"
    cap_unit: Unit = "characters"
    trust_stop: bool = False
    tidy: bool = False
    cue: bool = False
    paper_sampling: bool = True
    title_tokens: int = 64
    place_tokens: int = 128
    level_tokens: int = 511
    more_tokens: int = 256
    max_paragraph: int = 1024
    tries: int = 4
    fewest_scenes: int = 1
    most_scenes: int = 0
    most_words: int = 0
    summary: Summary = "logline+previous"
    max_tokens: int = 4096
    scenes: int = 6
    characters: int = 4
    plan_tokens: int = 1024
    length_control: bool = False
    words: str = ""

    @classmethod
    def faithful(cls) -> Config:
        """The paper and its release."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: nothing that was said is lost in reading, names are matched as names, and length is kept."""
        return replace(
            cls(),
            examples="none",
            form="schema",
            parser="lenient",
            match="words",
            previous="beats",
            told_names=True,
            marks="lenient",
            cap_unit="tokens",
            trust_stop=True,
            tidy=True,
            cue=True,
            paper_sampling=False,
            fewest_scenes=3,
            most_scenes=12,
            most_words=80,
            length_control=True,
        )


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The hierarchy: logline, title, characters, scenes, places, dialogue; each level from those above it.

    With a plan of the author's, only the dialogues are asked for.
    """
    if config.mode == "story":
        return await stories.write(brief, run, config)
    plan = await given_plan(run)
    if plan is not None:
        script = script_of(plan, brief)
    else:
        logline = levels.logline_of(brief)
        title = brief.title or await levels.title(run, logline, config)
        figures = await levels.characters(run, logline, config)
        beats = await levels.scenes(run, logline, figures, config)
        places = await levels.places(run, logline, beats, config)
        script = levels.Script(title, logline, figures, beats, places)
    story = Story(script.title)
    for label, text in await dialogues(run, script, brief, config):
        story = story.add(label, text)
    return story
