"""Dramatron's hierarchy: log line, title, characters, scenes, places, dialogue; and its prompts used for stories.

"Co-Writing Screenplays and Theatre Scripts with Language Models" (CHI 2023) and its released code ("release"). From top
to bottom: the hierarchy and its levels 1 to 5, the story mode of Character Simulation (its section 4.2 and appendix
B.3), then what the levels share: the loop around the model, and lists of entries.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.base.remembering import remembered
from fabula.craft.personas import given_personas
from fabula.craft.planning import PlanOptions, given_plan, plan_for
from fabula.engine.replies.labelled import without_label
from fabula.models.base import Sampling
from fabula.story import Brief, Story, one_line, slug
from fabula.story.sentences import as_sentence
from fabula.systems.dramatron.files import Artefact, Listed, kept_in_order, labelled, places_labelled
from fabula.systems.dramatron.hierarchy import (
    END,
    CharacterEntry,
    Hierarchy,
    SceneEntry,
    SceneInput,
    characters_in,
    characters_text,
    hierarchy_of,
    logline_of,
    people_of,
    place_of,
    scenes_text,
    without_end,
)
from fabula.systems.dramatron.parsing import E, read_characters, read_place, read_scenes, read_title

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.plan import Plan
    from fabula.systems.dramatron.config import Config


RELEASE: Final = Sampling(temperature=1.0, top_p=0.95, frequency_penalty=0.23, presence_penalty=0.23)
STORY: Final = Sampling(temperature=0.9, frequency_penalty=0.2)  # Character Simulation, section 4.2.2
TRIES: Final = 4  # of a level until something of its answer can be read; the release asks for characters without bound
LOOP_TRIES: Final = 3  # (release)
_MOST_REPEATS: Final = 3  # of a block of dialogue (release)
_EXAMPLE: Final = "Example "  # where the model begins another example (release)
_T = TypeVar("_T")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The hierarchy: log line, title, characters, scenes, places, dialogue; each level from those above it.

    With a plan of the author's, only the dialogues are asked for.
    """
    if config.paper.mode == "story":
        return await write_story(brief, run, config)
    plan = await given_plan(run)
    if plan is None:
        start = await given_personas(run)
        logline, above = logline_of(brief, start), ["personas"] if start else []  # level 0, and what it was read from
        title = brief.title or await write_title(logline, run, config, above)
        characters = people_of(start) if start else await list_characters(logline, run, config)
        people = above or ["characters"]
        scenes = await list_scenes(logline, characters, run, config, people)
        places = await describe_places(logline, scenes, run, config, [*above, "scenes"])
        described = dict(zip(places, places_labelled(list(places)), strict=True))
        hierarchy = Hierarchy(title, logline, characters, scenes, places, (*people, "scenes"), described)
    else:
        hierarchy = hierarchy_of(plan, brief)
    story = Story(hierarchy.title)
    for number, dialogue in enumerate(await write_dialogues(hierarchy, run, config), 1):
        story = story.add(f"Scene {number}", dialogue)
    return story


# levels 1 to 4 ------------------------------------------------------------------------------------------------------


async def write_title(logline: str, run: Run, config: Config, reads: Sequence[str]) -> str:
    """Write level 1, the title, from the log line in one call. No other level depends on it."""
    level = Level("title", "title", "Title:", config.paper.title_tokens, config.paper.title_tokens)

    async def make(own: Run) -> str:
        return await until_read(own, level, config, {"logline": logline}, lambda said: one_line(read_title(said + END)))

    return await run.keep("title", make, folder="plan", read=lambda text: one_line(without_end(text)), reads=reads)


async def list_characters(logline: str, run: Run, config: Config) -> tuple[CharacterEntry, ...]:
    """Level 2, one call: from the log line, and not from the title."""
    level = Level("characters", "characters", "", config.paper.level_tokens, config.paper.max_paragraph)
    return await kept_list(CHARACTERS, level, {"logline": logline}, run, config, [])


async def list_scenes(
    logline: str, characters: Sequence[CharacterEntry], run: Run, config: Config, reads: Sequence[str]
) -> tuple[SceneEntry, ...]:
    """Level 3, one call: from the log line and the characters' descriptions; names are not sent by themselves."""
    level = Level("scenes", "scenes", "", config.paper.level_tokens, config.paper.max_paragraph)
    fields = {"logline": logline, "characters": [character.description for character in characters]}
    return await kept_list(SCENES, level, fields, run, config, reads)


async def describe_places(
    logline: str, scenes: Sequence[SceneEntry], run: Run, config: Config, reads: Sequence[str]
) -> dict[str, str]:
    """Level 4, one call for each distinct place, side by side: from the log line and the place's name."""
    level = Level("places", "place", "Description:", config.paper.place_tokens, config.paper.max_paragraph)

    def writer(name: str) -> Artefact:
        fields = {"logline": logline, "place": name}

        async def make(own: Run) -> str:
            return await until_read(own, level, config, fields, lambda said: one_line(read_place(said)))

        return make, None

    names = list(dict.fromkeys(scene.place for scene in scenes))
    writers = {label: writer(name) for label, name in zip(places_labelled(names), names, strict=True)}
    texts = await kept_in_order(run, writers, "plan", dict.fromkeys(writers, reads))
    return dict(zip(names, map(without_end, texts), strict=True))


# level 5: the dialogues ---------------------------------------------------------------------------------------------


async def write_dialogues(hierarchy: Hierarchy, run: Run, config: Config) -> list[str]:
    """Level 5, one call a scene, side by side; no call sees a dialogue that was written. Each is `scene-N`."""
    writers = {f"scene-{at + 1}": dialogue_of(hierarchy, at, config) for at in range(len(hierarchy.scenes))}
    places = [[hierarchy.described[one.place]] if hierarchy.described else [] for one in hierarchy.scenes]
    reads = {name: [*hierarchy.reads, *place] for name, place in zip(writers, places, strict=True)}
    return await kept_in_order(run, writers, "story", reads)


def dialogue_of(hierarchy: Hierarchy, at: int, config: Config) -> Artefact:
    """Writes and continues the script of one scene, counted from 0: its heading, what is new, and the dialogue."""
    paper, head = config.paper, heading(hierarchy, at)
    level = Level("dialogue", "dialogue", "**Dialog:**", paper.level_tokens, paper.max_paragraph, loops=True)
    fields = {"scene": scene_input(hierarchy, at)}

    async def make(own: Run) -> str:
        return f"{head}\n\n{await until_read(own, level, config, fields, lambda said: without_end(said).strip())}"

    async def more(own: Run, base: str) -> str:
        written = without_end(base).removeprefix(head).strip("\n")
        return without_end(await generate(own, level, config, fields, f"{written}\n\n")).strip()

    return make, more


def scene_input(hierarchy: Hierarchy, at: int) -> SceneInput:
    """What a dialogue is asked with: its scene, the characters whom its beat names, and the one beat before it."""
    scene = hierarchy.scenes[at]
    return SceneInput(
        place=scene.place,
        description=hierarchy.places.get(scene.place, ""),
        characters=tuple(character.description for character in people_in(hierarchy, at)),
        element=scene.element,
        summary=hierarchy.logline,
        previous=tuple(earlier.beat for earlier in hierarchy.scenes[max(at - 1, 0) : at]),
        beat=scene.beat,
    )


def people_in(hierarchy: Hierarchy, at: int) -> tuple[CharacterEntry, ...]:
    """Whom an author's plan puts into a scene, else those whose name stands in its beat, letter for letter."""
    scene = hierarchy.scenes[at]
    return scene.people or characters_in(scene.beat, hierarchy.characters)


def heading(hierarchy: Hierarchy, at: int) -> str:
    """What a script shows before anybody speaks: the heading, and places and people where they come first."""
    seen = {character.name for earlier in range(at) for character in people_in(hierarchy, earlier)}
    new = [character.named for character in people_in(hierarchy, at) if character.name not in seen]
    line = f"INT/EXT. {hierarchy.scenes[at].place.rstrip('. ')} - Scene {at + 1}"
    return "\n\n".join(filter(None, (line, hierarchy.shows_place(at), *new)))


# stories: Character Simulation, section 4.2 and appendix B.3 ----------------------------------------------------------


async def write_story(brief: Brief, run: Run, config: Config) -> Story:
    """One call a scene, in the order of telling, zero-shot, from the plan; no call sees what another one wrote."""
    plan = await plan_for(run, brief, PlanOptions(scenes=0))
    names = labelled([slug(scene.name) for scene in plan.scenes])
    writers = {name: story_scene(plan, brief, at, config) for at, name in enumerate(names)}
    story = Story(plan.title or brief.title, breaks=True)
    reads = dict.fromkeys(writers, ("plan",))
    for scene, text in zip(plan.scenes, await kept_in_order(run, writers, "story", reads), strict=True):
        story = story.add(scene.name, text)
    return story


def story_scene(plan: Plan, brief: Brief, at: int, config: Config) -> Artefact:
    """Write and continue one scene of a story. The reply is used as it is."""
    sampling = replace(STORY, max_tokens=config.paper.max_tokens)
    fields = {**story_fields(plan, at), "summary": summary(plan, brief, at, config)}

    async def make(own: Run) -> str:
        return await own.ask("writer", "scene", sampling=sampling, **fields, so_far="")

    async def more(own: Run, base: str) -> str:
        return await own.ask("writer", "scene", sampling=sampling, **fields, so_far=base)

    return make, more


def story_fields(plan: Plan, at: int) -> dict[str, Any]:
    """The fields of appendix B.3 but for the summary; everybody is there where the plan does not say who is."""
    scene = plan.scenes[at]
    place, description = place_of(scene.place)
    people = plan.people(scene) or tuple((character, "") for character in plan.characters)
    return {
        "place": place,
        "description": description,
        "characters": [character.introduction(goal) for character, goal in people],
        "element": scene.element,
        "outline": [event.text for event in scene.outline],
    }


def summary(plan: Plan, brief: Brief, at: int, config: Config) -> str:
    """What a scene is given of the whole: the conflict, or the brief where there is none; and what came before it."""
    logline = one_line(plan.conflict or plan.brief or brief.text)
    first = {"logline": at, "logline+previous": max(at - 1, 0), "logline+all": 0}[config.paper.summary]
    before = [as_sentence(event.text) for scene in plan.scenes[first:at] for event in scene.outline]
    return f"{as_sentence(logline)} Before this scene: {' '.join(before)}" if before else logline


# the loop around the model (the release's `generate`) -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the hierarchy as it is asked.

    Attributes:
        role: who is asked.
        prompt: its prompt file.
        label: the open label at the prompt's end, which a reply may repeat.
        tokens: sample length, the most tokens of one call.
        cap: "max paragraph length".
        loops: samples are watched for loops.
    """

    role: str
    prompt: str
    label: str
    tokens: int
    cap: int
    loops: bool = False


async def generate(run: Run, level: Level, config: Config, fields: Mapping[str, Any], so_far: str = "") -> str:
    """A level's answer after `so_far`, without END: sampled until it ends, starts another example, or reaches a cap.

    The cap is stated in tokens and compared with characters (release).
    """
    text = ""
    for call in range(level.cap // level.tokens + 1):
        text += await sample(run.scope("call", call + 1) if call else run, level, config, fields, so_far + text)
        for mark in (END, _EXAMPLE):
            if mark in text:
                return text.partition(mark)[0]
        if len(text) > level.cap:
            break
    return text


async def sample(run: Run, level: Level, config: Config, fields: Mapping[str, Any], so_far: str) -> str:
    """One call; where a block of it occurs more than three times, at most three others, of which the last is taken."""
    for attempt in range(LOOP_TRIES + 1):
        text = await (run.scope("loop", attempt) if attempt else run).ask(
            level.role,
            level.prompt,
            sampling=replace(RELEASE, max_tokens=level.tokens),
            **fields,
            examples=example_set(config.paper.examples),
            so_far=so_far,
        )
        text = text if so_far else without_label(text, level.label)
        if not (level.loops and is_loop(text)):
            break
    return text


def is_loop(text: str) -> bool:
    """Whether a block between blank lines occurs more than three times (release)."""
    blocks = Counter(block.strip() for block in text.split("\n\n") if block.strip())
    return max(blocks.values(), default=0) > _MOST_REPEATS


async def until_read(
    run: Run, level: Level, config: Config, fields: Mapping[str, Any], read: Callable[[str], _T]
) -> _T:
    """What `read` finds in a level's answer; asked again, a bounded number of times, until there is something.

    Raises:
        ReplyError: there never is.
    """
    run = run.tries(level.prompt)
    for attempt in range(TRIES):
        answer = await generate(run.scope("again", attempt) if attempt else run, level, config, fields)
        if found := read(answer):
            return found
    problem = f"The role {level.role!r} gave no readable {level.prompt} in {TRIES} tries."
    raise run.exhausted(level.prompt, problem, level.role, answer)


# levels that list ---------------------------------------------------------------------------------------------------

CHARACTERS: Final = Listed(
    "character", "**Character:** NAME **Description:** ONE SENTENCE", read_characters, characters_text
)
SCENES: Final = Listed(
    "scene",
    "the three lines Place: WHERE, Plot element: PART OF THE ARC and Beat: WHAT HAPPENS",
    read_scenes,
    scenes_text,
)


async def kept_list(
    listed: Listed[E], level: Level, fields: Mapping[str, Any], run: Run, config: Config, reads: Sequence[str]
) -> tuple[E, ...]:
    """The entries of a level that lists: asked, kept in the release's format, continued on request, and read.

    A continuation is parsed behind what stood there, as one text (release).
    """

    async def make(own: Run) -> str:
        return listed.text_of(
            await until_read(own, level, config, fields, lambda said: listed.entries(own, said + END))
        )

    async def more(own: Run, base: str) -> str:
        known = f"{without_end(base)}\n"
        longer = replace(level, tokens=config.paper.more_tokens)
        found = listed.entries(own, known + await generate(own, longer, config, fields, known) + END)
        new = found[len(listed.parse(known + END).entries) :]
        if not new:
            own.note(f"The continuation brought no further {listed.what}.")
        return listed.text_of(new)

    read = partial(listed.of_file, run, level.role)
    return await run.keep(level.role, make, folder="plan", more=more, read=read, reads=reads)


# example sets: few-shot prefixes, written by us from works in the public domain ---------------------------------------


FOLDER: Final = Path(__file__).parent / "examples"


@dataclass(frozen=True, slots=True)
class ExampleWork:
    """One work, through all levels; `scene` and `dialogue` are those of one of its scenes."""

    title: str
    logline: str
    characters: tuple[CharacterEntry, ...]
    scenes: tuple[SceneEntry, ...]
    places: tuple[tuple[str, str], ...]
    scene: SceneInput
    dialogue: str

    @property
    def characters_text(self) -> str:
        """Its characters as the level writes them."""
        return characters_text(self.characters)

    @property
    def scenes_text(self) -> str:
        """Its scenes as the level writes them."""
        return scenes_text(self.scenes)


@remembered(8, 100)
def example_set(name: str) -> tuple[ExampleWork, ...]:
    """The examples of a set: "classical", "three-step", or "none"."""
    if name == "none":
        return ()
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return tuple(_example(table) for table in data["examples"])


def _example(table: dict[str, Any]) -> ExampleWork:
    characters = tuple(CharacterEntry(**entry) for entry in table["characters"])
    scenes = tuple(SceneEntry(**entry) for entry in table["scenes"])
    places = tuple((entry["name"], entry["description"]) for entry in table["places"])
    at = table["dialogue"]["scene"] - 1
    shown = SceneInput(
        place=scenes[at].place,
        description=dict(places)[scenes[at].place],
        characters=tuple(c.description for c in characters_in(scenes[at].beat, characters)),
        element=scenes[at].element,
        summary=table["logline"],
        previous=tuple(scene.beat for scene in scenes[max(at - 1, 0) : at]),
        beat=scenes[at].beat,
    )
    return ExampleWork(
        table["title"], table["logline"], characters, scenes, places, shown, table["dialogue"]["text"].strip()
    )
