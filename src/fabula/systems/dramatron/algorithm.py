"""Dramatron's hierarchy: log line, title, characters, scenes, places, dialogue; and the same prompts for stories.

"Co-Writing Screenplays and Theatre Scripts with Language Models" (CHI 2023) and its released code ("release"). From top
to bottom: the hierarchy and its levels 1 to 5, the story mode of Character Simulation (its section 4.2 and appendix
B.3), then what the levels share: the loop around the model, levels that list, and the order in which texts are kept.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Protocol, TypeAlias

from fabula.base.errors import FabulaError, ReplyError, UsageError
from fabula.craft.final_reading import final_reading
from fabula.craft.length import WordRange, asked_range, revise_to_length, trim, usual_scenes
from fabula.craft.packing import last_of, latest
from fabula.craft.planning import PlanOptions, given_plan, plan_for
from fabula.craft.prose import NOT_AS_LONG, Prose, clean_reply, shorten, write_prose
from fabula.engine.replies.labelled import without_label
from fabula.engine.replies.scripts import tidy_script
from fabula.engine.run import Draft, side_by_side
from fabula.models.base import Reply, Sampling
from fabula.story import Story, count_words, one_line, slug
from fabula.story.sentences import as_sentence
from fabula.systems.dramatron.examples import example_set, typical
from fabula.systems.dramatron.hierarchy import (
    END,
    CharacterEntry,
    Hierarchy,
    SceneEntry,
    SceneInput,
    alike,
    characters_text,
    hierarchy_of,
    logline_of,
    named_in,
    place_of,
    scenes_text,
    without_end,
)
from fabula.systems.dramatron.parsing import PARSERS, E, characters_shape, is_loop, length, mark_in, scenes_shape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from pydantic import BaseModel

    from fabula.engine.run import Make, More, Run
    from fabula.story import Brief
    from fabula.story.plan import Plan, ScenePlan
    from fabula.systems.dramatron.config import Config
    from fabula.systems.dramatron.parsing import Parsed

TRIES: Final = 4  # of a level until something of its answer can be read; the release asks for characters without bound
RELEASE: Final = Sampling(temperature=1.0, top_p=0.95, frequency_penalty=0.23, presence_penalty=0.23)
STORY: Final = Sampling(temperature=0.9, frequency_penalty=0.2)  # Character Simulation, section 4.2.2
LOOP_TRIES: Final = 3  # (release)
_WORDS_PER_TOKEN: Final = 0.75
_TOKENS_PER_WORD: Final = 1.6  # prose has about 1.3; names in capitals take more
_SPARE_TOKENS: Final = 48
_CALLS: Final = 3  # of an answer without a cap
_LEAD: Final = 160  # characters of what is continued; enough to go on from
_LENGTHEN_TRIES: Final = 6
_USUAL_WORDS: Final = 400  # of a story's scene, for estimates
_SCENE_WORDS: Final = 100  # of a script's scene, at least
_HEADINGS_SHARE: Final = 1 / 2  # of the words wanted; with more, headings go without the descriptions of places
_FEW_WORDS: Final = 5  # of a title
_OF_MOST: Final = 0.8  # of the words that a text may have at most, those that it usually has
_PLACES_SHARE: Final = 0.15  # of the words wanted, that a capable model is given for all places
_PLACE_WORDS: Final = 60  # of one place, at most
_FEWEST_PLACE_WORDS: Final = 15
_STORY_SHARE: Final = 0.5  # of the writer's window, for the story so far
_STORY_TOKENS: Final = 6_000  # of it, for a small model
_LABELS: Final = ("Scene Content Generation", "Place", "Characters", "Plot Element", "Summary", "Outline", "Story")
_SCRIPT_LABELS: Final = ("Dialog", "Dialogue", "Script")
# With aids: small models repeat the pattern of scenes without end, and later prompts hold all that they write.
_MOST_SCENES: Final = 12
_ENTRY_WORDS: Final = 80
_BEATS_TOKENS: Final = 1200


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """The hierarchy: log line, title, characters, scenes, places, dialogue; each level from those above it.

    With a plan of the author's, only the dialogues are asked for.
    """
    if config.paper.mode == "story":
        return await write_story(brief, run, config)
    plan, titled = await given_plan(run), config.ours.context and not run.aids("dialogue")
    if plan is None:
        logline = logline_of(brief, titled=titled)  # level 0
        title = brief.title or await write_title(logline, run, config)
        characters = await list_characters(logline, run, config)
        scenes = await list_scenes(logline, characters, run, config, _whole(brief, config))
        places = await describe_places(logline, scenes, run, config, _whole(brief, config))
        hierarchy = Hierarchy(title, logline, characters, scenes, places)
    else:
        hierarchy = hierarchy_of(plan, brief, titled=titled)
    story = Story(hierarchy.title)
    for number, dialogue in enumerate(await write_dialogues(hierarchy, brief, run, config), 1):
        story = story.add(f"Scene {number}", dialogue)
    return story


# levels 1 to 4 ------------------------------------------------------------------------------------------------------


async def write_title(logline: str, run: Run, config: Config) -> str:
    """Level 1, one call: from the log line. No other level depends on it."""
    level = Level("title", "title", "Title:", config.paper.title_tokens, config.paper.title_tokens)

    def read(answer: Answer) -> str:
        return one_line(PARSERS[config.ours.parser].title(answer.text + END, bounded=run.aids("title")))

    async def make(own: Run) -> str:
        return await _read_until_text(own, level, config, {"logline": logline}, read, "title")

    return await run.keep_as(lambda text: one_line(without_end(text)), "title", make, folder="plan")


async def list_characters(logline: str, run: Run, config: Config) -> tuple[CharacterEntry, ...]:
    """Level 2, one call: from the log line, and not from the title."""
    level = Level(
        "characters",
        "characters",
        "**Character:**",
        config.paper.level_tokens,
        config.paper.max_paragraph,
        inside=True,
    )
    listed = _ListLevel(
        level,
        {"logline": logline},
        config,
        what="character",
        form="**Character:** NAME **Description:** ONE SENTENCE",
        parse=PARSERS[config.ours.parser].characters,
        text_of=characters_text,
        shape=lambda known: characters_shape(1 if known else 2, bounded=run.aids("characters")),
        typical=typical().characters,
        usual=2,
    )
    return await listed.keep(run)


async def list_scenes(
    logline: str,
    characters: Sequence[CharacterEntry],
    run: Run,
    config: Config,
    want: WordRange | None = None,
) -> tuple[SceneEntry, ...]:
    """Level 3, one call: from the log line and what the characters are. In improved mode more, for too few scenes."""
    ours, fewest = config.ours, config.ours.fewest_scenes
    known = want if ours.context and not run.aids("scenes") else None  # who plans knows how much there is room for
    if known:
        fewest = min(fewest, max(known.target // _SCENE_WORDS, 1))
    listed = _ListLevel(
        Level("scenes", "scenes", "Place:", config.paper.level_tokens, config.paper.max_paragraph, inside=True),
        {
            "logline": logline,
            "characters": [c.shown(named=ours.told_names) for c in characters],
            "words": known,
            "present": ours.present and not run.aids("scenes"),
        },
        config,
        what="scene",
        form="the three lines Place: WHERE, Plot element: PART OF THE ARC and Beat: WHAT HAPPENS",
        parse=PARSERS[config.ours.parser].scenes,
        text_of=scenes_text,
        shape=lambda n: scenes_shape(max(fewest - n, 1), bounded=run.aids("scenes"), present=ours.present),
        typical=typical().scenes,
        fewest=fewest,
        usual=usual_scenes(want),
    )
    scenes = await listed.keep(run)
    most = ours.most_scenes or (_MOST_SCENES if run.aids("scenes") else len(scenes))
    if len(scenes) > most:
        run.note(f"The plot has {len(scenes)} scenes; the first {most} are written (most_scenes).")
    return scenes[:most]


async def describe_places(
    logline: str, scenes: Sequence[SceneEntry], run: Run, config: Config, want: WordRange | None = None
) -> dict[str, str]:
    """Level 4, one call for each distinct place: from the log line and the place's name.

    Side by side; in improved mode one after the other, each also from the time of the first scene there, and
    from the descriptions before it, since a place may come back under another name.
    """
    firsts = {scene.place: scene for scene in reversed(scenes)}
    names = list(dict.fromkeys(scene.place for scene in scenes))
    if config.ours.context and not run.aids("places"):
        return await _describe_in_order([firsts[name] for name in names], logline, run, config, want)
    writers: dict[str, _Writer] = {}
    for name in names:
        label, number = f"place-{slug(name)}", 1
        while label in writers:  # two names may make one file name
            number += 1
            label = f"place-{slug(name)}-{number}"
        writers[label] = _PlaceWriter(name, logline, config)
    texts = await _keep_in_order(run, writers, folder="plan")
    return dict(zip(names, map(without_end, texts), strict=True))


async def _describe_in_order(
    scenes: Sequence[SceneEntry], logline: str, run: Run, config: Config, want: WordRange | None
) -> dict[str, str]:
    """A description of each scene's place, as it is when that scene begins."""
    room = int(want.target * _PLACES_SHARE / len(scenes)) if want else _PLACE_WORDS
    described: dict[str, str] = {}
    labels: list[str] = []
    for scene in scenes:
        label = f"place-{slug(scene.place)}"
        labels.append(label)
        number = f"-{labels.count(label)}" if label in labels[:-1] else ""
        about = {
            "time": scene.time,
            "known": dict(described),
            "most": max(min(room, _PLACE_WORDS), _FEWEST_PLACE_WORDS),
        }
        writer = _PlaceWriter(scene.place, logline, config, about)
        text = await run.keep(f"{label}{number}", writer.make, folder="plan", more=writer.more)
        described[scene.place] = without_end(text)
    return described


@dataclass(frozen=True)
class _PlaceWriter:
    """Describes one place; `about` is what a capable model is told beyond its name (ours)."""

    name: str
    logline: str
    config: Config
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def _level(self) -> Level:
        return Level("places", "place", "Description:", self.config.paper.place_tokens, self.config.paper.max_paragraph)

    @property
    def _fields(self) -> dict[str, Any]:
        return {"logline": self.logline, "place": self.name, "time": "", "known": {}, "most": 0, **self.about}

    def _read(self, answer: Answer) -> str:
        return one_line(PARSERS[self.config.ours.parser].place(answer.text, cut=answer.cut))

    async def make(self, run: Run) -> str:
        what = f"description of {self.name!r}"
        return await _read_until_text(run, self._level, self.config, self._fields, self._read, what)

    async def more(self, run: Run, base: str) -> str:
        """More of the place; ours, the release has no such operation for places."""
        return self._read(await generate(run, self._level, self.config, self._fields, without_end(base)))


# level 5: the dialogues ---------------------------------------------------------------------------------------------


async def write_dialogues(hierarchy: Hierarchy, brief: Brief, run: Run, config: Config) -> list[str]:
    """Level 5, one call a scene, side by side: the script of every scene; each is the artefact `scene-N`.

    A scene's prompt holds the log line, its place, its characters, its beat and earlier beats, and no dialogue.
    """
    ours, weights = config.ours, [scene.weight for scene in hierarchy.scenes]
    introduced, whole = ours.introduced, _whole(brief, config)
    heads = [hierarchy.heading(at, ours.match, introduced) for at in range(len(weights))]
    if whole and introduced == "places" and sum(map(count_words, heads)) > whole.target * _HEADINGS_SHARE:
        run.note("The places' descriptions are left out of the script: they would take more than half of its words.")
        introduced = "none"
        heads = [hierarchy.heading(at, ours.match, introduced) for at in range(len(weights))]
    if whole and introduced != "all":
        ranges: list[WordRange | None] = [*whole.less(sum(map(count_words, heads))).shares(weights)]
    else:
        shares = _ranges(brief, config, weights)
        ranges = [share and share.less(count_words(head)) for share, head in zip(shares, heads, strict=True)]
    writers = {
        f"scene-{at + 1}": _DialogueWriter(hierarchy, at, head, want, config)
        for at, (head, want) in enumerate(zip(heads, ranges, strict=True))
    }
    return await _keep_in_order(run, writers, folder="story")


class _DialogueWriter:
    """Writes the script of one scene; `at` counts from 0."""

    def __init__(self, hierarchy: Hierarchy, at: int, head: str, want: WordRange | None, config: Config) -> None:
        self._hierarchy, self._at, self._head, self._want, self._config = hierarchy, at, head, want, config
        self._scene = hierarchy.scenes[at]
        self._characters = hierarchy.described(self._scene, config.ours.match)
        speakers = named_in(self._scene.beat, self._characters, config.ours.match) or self._characters
        tokens = config.paper.level_tokens
        self._level = Level(
            "dialogue",
            "dialogue",
            "**Dialog:**",
            min(tokens, _tokens(self._want.high)) if self._want else tokens,
            config.paper.max_paragraph,
            loops=True,
            cue=f"\n{speakers[0].name.upper()}:" if speakers else "",
        )

    async def make(self, run: Run) -> str:
        """The scene as a script: its heading, what is seen first, and the dialogue."""
        want = self._want
        if want is None:
            text = await self._first(run, None)
        elif run.aids("dialogue"):
            text = await self._fitted(run, await self._first(run, want), want)
        else:
            text = await self._revised(run, want)
        return f"{self._head}\n\n{text}"

    async def more(self, run: Run, base: str) -> str:
        """What follows `base`; END, which the release leaves in the middle, is taken out of it."""
        return await self._after(run, without_end(base).removeprefix(self._head).strip("\n"), None)

    async def _first(self, run: Run, words: WordRange | None) -> str:
        fields, what = self._fields(run, words), f"script of {run.at}"
        return await _read_until_text(
            run, self._level, self._config, fields, lambda answer: self._cleaned(run, answer), what
        )

    async def _after(self, run: Run, text: str, words: int | None) -> str:
        """What follows `text`, about so many words of it."""
        level = self._level
        if words is not None:
            tokens = min(level.tokens, _tokens(words))
            level = replace(level, tokens=tokens, cap=tokens)
        return self._cleaned(
            run, await generate(run, level, self._config, self._fields(run, words), f"{text}\n\n"), text
        )

    def _fields(self, run: Run, words: WordRange | int | None) -> dict[str, Any]:
        """What the prompt holds: the scene, in the release's order, and in improved mode how many words it wants."""
        scene, ours = self._scene, self._config.ours
        beats = [earlier.beat for earlier in self._hierarchy.scenes[: self._at]]
        context = ours.context and not run.aids("dialogue")
        following = [later.beat for later in self._hierarchy.scenes[self._at + 1 : self._at + 2]] if context else []
        known = run.prompt_tokens("dialogue", short=_BEATS_TOKENS)
        shown_in = self._hierarchy.first_at(scene.place) + 1
        shown = SceneInput(
            place=scene.place,
            description=self._hierarchy.places.get(scene.place, ""),
            characters=tuple(character.shown(named=ours.told_names) for character in self._characters),
            element=scene.element,
            summary=self._hierarchy.logline,
            previous=tuple(beats[-1:]) if ours.previous == "beat" else latest(beats, known),
            beat=scene.beat,
            following=" ".join(following),
            time=scene.time if context else "",
            then=scene.then if context else "",
            shown_in=shown_in if context and shown_in <= self._at else 0,
        )
        return {
            "scene": shown,
            "words": words,
            "context": context,
            "end": not context or ours.marks == "exact",
            "described": "\n\n" in self._head,
            "new": self._hierarchy.new_in(self._at, ours.match) if context else (),
            "first": self._at == 0,
            "last": self._at + 1 == len(self._hierarchy.scenes),
        }

    def _cleaned(self, run: Run, answer: Answer, before: str = "") -> str:
        if not self._config.ours.clean_replies:
            return without_end(answer.text).strip()
        if run.aids("dialogue"):
            names = [character.name for character in self._hierarchy.characters]
            script = tidy_script(answer.text, names, before=before, cut=answer.cut)
            run.left_out("loop", answer.text, script)
            return script
        reply = Reply(answer.text, finish="length" if answer.cut else "stop")
        return clean_reply(run, "dialogue", reply, labels=_SCRIPT_LABELS, kind="notes")

    async def _fitted(self, run: Run, text: str, want: WordRange) -> str:
        """A small model's script with the words wanted: continued while it is too short, cut where it is too long."""
        run.asks_words(want.low, want.high)
        for attempt in range(_LENGTHEN_TRIES):
            if count_words(text) >= want.low:
                break
            more = await self._after(run.scope("extend", attempt + 1), text, want.high - count_words(text))
            text = _joined(text, more)
        else:
            run.note(f"The scene has {count_words(text)} words where {want.low} to {want.high} were wanted.")
        fitted = trim(text, want.high, low=want.low, keep_end=self._at + 1 == len(self._hierarchy.scenes))
        run.left_out("length", text, fitted)
        return fitted

    async def _revised(self, run: Run, want: WordRange) -> str:
        """A script with the words wanted: continued where it is too short, shortened by its writer where too long."""
        run.asks_words(want.low, want.high)

        async def extend(text: str, words: int, attempt: int) -> str:
            return await self._after(run.scope("extend", attempt).optional(NOT_AS_LONG), text, words)

        async def shortened(text: str, attempt: int) -> str:
            where = run.scope("shorten", attempt).optional(NOT_AS_LONG)
            fields = self._fields(run, want)
            return await shorten(where, "dialogue", text, want, labels=_SCRIPT_LABELS, kind="notes", fields=fields)

        fitted = await revise_to_length(lambda _: self._first(run, want), extend, shortened, want, join=_joined)
        if not fitted.inside:
            run.note(f"The scene has {fitted.words} words where {want.low} to {want.high} were wanted.")
        return fitted.text


def _joined(text: str, more: str) -> str:
    """Two scripts as one."""
    return f"{text}\n\n{more}" if more else text


# stories: Character Simulation, section 4.2 and appendix B.3 ----------------------------------------------------------


async def write_story(brief: Brief, run: Run, config: Config) -> Story:
    """One call a scene, in the order of telling, zero-shot, from the plan; no call sees what another one wrote.

    In improved mode each scene is written when those before it are, and from them.
    """
    plan = await plan_for(run, brief, PlanOptions.of(config))
    ranges = _ranges(brief, config, [float(scene.importance) for scene in plan.scenes])
    names, keep = [slug(scene.name) for scene in plan.scenes], _drafted if config.ours.final_reading else _kept

    def writer(at: int, told: Sequence[str] = ()) -> _StoryWriter:
        return _StoryWriter(plan, brief, at, ranges[at], config, told)

    if config.ours.context and not run.aids("writer"):
        drafts: list[Draft] = []
        for at, name in enumerate(names):
            own = writer(at, [one.text if one.given is None else one.given for one in drafts])
            drafts.append(await keep(run, name, own.make, own.more, "story"))
    else:
        writers = {name: writer(at) for at, name in enumerate(names)}
        drafts = await _made_in_order(run, writers, keep, folder="story")
    texts = [draft.text for draft in drafts]
    if config.ours.final_reading:
        texts = await _revised_story(plan, brief, drafts, run, config)
    story = Story(plan.title or brief.title, breaks=True)
    for scene, text in zip(plan.scenes, texts, strict=True):
        story = story.add(scene.name, text)
    return story


class _StoryWriter:
    """Writes one scene of a story; `at` counts from 0, `told` are the scenes before it where it is shown them."""

    def __init__(
        self,
        plan: Plan,
        brief: Brief,
        at: int,
        want: WordRange | None,
        config: Config,
        told: Sequence[str] = (),
    ) -> None:
        scene, self._config, self._told = plan.scenes[at], config, told
        self._plan, self._brief, self._at = plan, brief, at
        self._prose = Prose(at + 1 == len(plan.scenes), want, _LABELS, want.target if want else _USUAL_WORDS)
        place, description = place_of(scene.place)
        goals = {presence.name: presence.goal for presence in scene.characters}
        # Everybody, where the plan does not say who is there.
        present = [c for c in plan.characters if c.name in goals] or plan.characters
        self._fields: dict[str, Any] = {
            "place": place,
            "description": description,
            "characters": [character.introduction(goals.get(character.name, "")) for character in present],
            "element": scene.element,
            "summary": _summary(plan, brief, at, config),
            "outline": [event.text for event in scene.outline],
            "clean": config.ours.clean_replies,
            "last": self._prose.last,
            "context": False,
            "manner": "; ".join(filter(None, (plan.manner, one_line(plan.form)))),
        }

    async def make(self, run: Run) -> str:
        """The scene: the reply as it is, or without chatter and of the length asked for."""
        if not self._config.ours.clean_replies:
            fields = {**self._fields, "words": None, "lead": ""}
            return await run.ask("writer", "scene", sampling=self._sampling(run), expect=_USUAL_WORDS, **fields)
        most = self._config.paper.max_tokens if self._config.paper.paper_sampling else None
        fields = self._fields | (self._context(run) if self._has_context(run) else {})
        return await write_prose(run, "writer", "scene", self._prose, most, before=[], fields=fields)

    async def more(self, run: Run, base: str) -> str:
        """What follows `base`, as it is."""
        context = self._context(run) if self._has_context(run) else {}
        fields = {**self._fields, **context, "so_far": base, "words": _USUAL_WORDS // 2, "lead": ""}
        return await run.ask("writer", "extend", sampling=self._sampling(run), expect=_USUAL_WORDS // 2, **fields)

    def _has_context(self, run: Run) -> bool:
        return self._config.ours.context and not run.aids("writer")

    def _context(self, run: Run) -> dict[str, Any]:
        """What a capable writer is given beyond the paper's five fields (ours).

        The story so far, as much as fits, and outlines of what comes before that; of later scenes no more than one
        event, but the next, where the plan says what is set up for them. The conflict, where no sheet says it.
        """
        plan, at = self._plan, self._at
        scene = plan.scenes[at]
        tokens = run.prompt_tokens("writer", _STORY_TOKENS, _STORY_SHARE)
        story = latest(self._told, tokens) or tuple(last_of(text, tokens) for text in self._told[-1:])
        following = [
            _events(later) if number == 1 or not plan.payoffs else as_sentence(later.outline[0].text)
            for number, later in enumerate(plan.scenes[at + 1 :], 1)
            if later.outline
        ]
        return {
            "context": True,
            "title": self._plan.title or self._brief.title,
            "brief": self._brief.text,
            "conflict": "" if any(one.goal or one.secret for one in plan.characters) else plan.conflict,
            "plan": plan,
            "how": plan,
            "scene": scene,
            "people": plan.people(scene) or tuple((character, "") for character in plan.characters),
            "position": plan.position(scene.name),
            "before": [_events(earlier) for earlier in plan.scenes[: at - len(story)]],
            "story": story,
            "first": at == 0,
            "number": at + 1,
            "after": following,
        }

    def _sampling(self, run: Run) -> Sampling:
        most = self._config.paper.max_tokens
        if self._config.paper.paper_sampling:
            return Sampling(max_tokens=most).over(STORY)
        return Sampling(max_tokens=run.reply_tokens("writer", short=most))


async def _revised_story(plan: Plan, brief: Brief, drafts: Sequence[Draft], run: Run, config: Config) -> list[str]:
    """The scenes' texts after the whole was read."""
    about, want = _for_editor(plan), _whole(brief, config)
    return await final_reading(run, "writer", drafts, brief=brief.titled, plan=about, want=want)


def _for_editor(plan: Plan) -> str:
    """The plan as text, for who reads the whole story."""
    parts = {
        "What it is about": [plan.conflict],
        "Setting": [plan.setting],
        "Characters": [f"- {character.introduction()}" for character in plan.characters],
        "Person and tense": [plan.manner],
        "Form": [plan.form],
        "What the author asks for, point by point": [f"- {demand}" for demand in plan.demands],
        "What the plan adds: set up early, and paid off later": [f"- {payoff}" for payoff in plan.payoffs],
        "Scenes": [f"{number}. {scene.name}: {_events(scene)}" for number, scene in enumerate(plan.scenes, 1)],
    }
    return "\n\n".join("\n".join((f"{name}:", *lines)) for name, lines in parts.items() if any(lines))


def _events(scene: ScenePlan) -> str:
    """What happens in a scene."""
    return " ".join(as_sentence(event.text) for event in scene.outline)


def _summary(plan: Plan, brief: Brief, at: int, config: Config) -> str:
    """What a scene is given of the whole: the conflict, or the brief where there is none; and what came before it."""
    logline = one_line(plan.conflict or plan.brief or brief.text)
    first = 0 if config.paper.summary == "logline+all" else max(at - 1, 0)
    before = [as_sentence(event.text) for scene in plan.scenes[first:at] for event in scene.outline]
    if config.paper.summary == "logline" or not before:
        return logline
    return f"{as_sentence(logline)} Before this scene: {' '.join(before)}"


# the loop around the model (the release's `generate`) -----------------------------------------------------------------

Stop: TypeAlias = Literal["end", "example", "cap", "calls", "stop"]


@dataclass(frozen=True, slots=True)
class Level:
    """A level of the hierarchy as it is asked.

    Attributes:
        role: who is asked.
        prompt: its prompt file.
        label: the open label at the prompt's end; with aids the first words of the reply.
        tokens: sample length, the most tokens of one call.
        cap: "max paragraph length".
        inside: the label is part of the answer.
        loops: samples are watched for loops.
        cue: words of the answer that follow the label, with aids.
    """

    role: str
    prompt: str
    label: str
    tokens: int
    cap: int
    inside: bool = False
    loops: bool = False
    cue: str = ""

    @property
    def calls(self) -> int:
        """The most calls of one answer."""
        return self.cap // self.tokens + 1


@dataclass(frozen=True, slots=True)
class Answer:
    """What a level answered, without END; `stop` is why it ended, `cut` whether that was in mid-text."""

    text: str
    stop: Stop
    cut: bool = False


async def generate(run: Run, level: Level, config: Config, fields: Mapping[str, Any], so_far: str = "") -> Answer:
    """A level's answer after `so_far`: sampled until it ends, starts a new example, or reaches a cap.

    Sample length and cap hold as in the release, and for models with aids; others answer as long as they can.
    """
    capped = _is_capped(run, level.role, config)
    given = {**fields, "examples": example_set(config.paper.examples)}
    text, cut = "", False
    for call in range(level.calls if capped else _CALLS):
        where = run.scope("call", call + 1) if call else run
        reply = await _sample(where, level, config, given, so_far + text)
        text = text + (reply.text.lstrip() if text[-1:].isspace() else reply.text)
        cut = reply.finish == "length"
        if (found := mark_in(text, config.ours.marks)) is not None:
            return Answer(text[: found[0]], found[1])
        if reply.finish == "stop" and (config.ours.marks == "lenient" or _ends_early(reply, level)):
            return Answer(text, "stop")
        if capped and length(text, config.ours.marks) > level.cap:
            return Answer(text, "cap", cut)
    return Answer(text, "calls", cut)


def _ends_early(reply: Reply, level: Level) -> bool:
    """Whether a dry run made up a reply shorter than a sample may be: a model that ends there has written END."""
    return not reply.model and count_words(reply.text) < int(level.tokens * _WORDS_PER_TOKEN)


async def _sample(run: Run, level: Level, config: Config, fields: Mapping[str, Any], so_far: str) -> Reply:
    """One call; where it loops, called again with another seed, a bounded number of times, then taken as it is."""
    capped = _is_capped(run, level.role, config)
    tail = so_far.rstrip()[-_LEAD:].lstrip()
    lead = tail or level.label + level.cue
    if tail and level.inside and so_far.endswith("\n"):
        lead = f"{tail}\n\n{level.label}"
    for attempt in range(LOOP_TRIES + 1):
        where = run.scope("loop", attempt) if attempt else run
        reply = await where.reply(
            level.role,
            level.prompt,
            sampling=_sampling(run, level, config),
            expect=int(level.tokens * _WORDS_PER_TOKEN) if capped else _usual_words(level, fields, so_far),
            so_far=so_far,
            lead=lead,
            **fields,
        )
        text = reply.text.removeprefix(tail)
        if not tail and not level.inside:
            text = without_label(text, level.label)
        if not (level.loops and capped and is_loop(text)):
            break
    return replace(reply, text=text)


def _usual_words(level: Level, fields: Mapping[str, Any], so_far: str) -> int:
    """How many words an answer that nothing cuts usually has, for estimates."""
    words = fields.get("words")
    if isinstance(words, WordRange):
        return max(words.target - count_words(so_far), _FEW_WORDS)
    if level.role == "title":
        return _FEW_WORDS
    most = fields.get("most")
    return int(most * _OF_MOST if most else words or level.tokens * _WORDS_PER_TOKEN)


def _is_capped(run: Run, role: str, config: Config) -> bool:
    return config.paper.paper_sampling or run.aids(role)


def _sampling(run: Run, level: Level, config: Config) -> Sampling:
    tokens = level.tokens if _is_capped(run, level.role, config) else None
    return Sampling(max_tokens=tokens).over(RELEASE if config.paper.paper_sampling else Sampling())


def _again(run: Run, config: Config, attempt: int, fault: str) -> Run:
    """Where a level is asked, and asked again: in improved mode also in another way, told what was wrong."""
    if config.ours.clean_replies:
        return run.again(attempt, fault)
    return run.scope("again", attempt) if attempt else run


async def _read_until_text(
    run: Run, level: Level, config: Config, fields: Mapping[str, Any], read: Callable[[Answer], str], what: str
) -> str:
    """What `read` finds in a level's answer; asked again, a bounded number of times, until there is some.

    In improved mode an answer that repeats its prompt, or one of its examples, is none.

    Raises:
        ReplyError: there never is.
    """
    fault, run = "", run.tries(level.prompt)
    for attempt in range(TRIES):
        answer = await generate(_again(run, config, attempt, fault), level, config, fields)
        text = read(answer)
        fault = _fault(run, level, config, fields, text)
        if not fault:
            return text
        if text:
            run.removed("reply", text)
    raise _unreadable(run, level, what, answer.text)


def _fault(run: Run, level: Level, config: Config, fields: Mapping[str, Any], text: str) -> str:
    """Why a text is no answer of a level; empty if it is one."""
    if not text:
        return "It held no text."
    if not config.ours.clean_replies:
        return ""
    said = alike(text)
    own = [t for e in example_set(config.paper.examples) for t in (e.title, e.dialogue, *(d for _, d in e.places))]
    if any(said in alike(example) for example in own):
        return "It repeated an example."
    if level.role != "dialogue":
        return ""
    shown = {**fields, "examples": (), "so_far": "", "lead": ""}
    return run.fault(text, level.prompt, shown)


def _unreadable(run: Run, level: Level, what: str, reply: str) -> ReplyError:
    problem = f"The role {level.role!r} gave no {what} that can be read in {TRIES} tries."
    return run.no_use(level.prompt, problem, level.role, reply)


# levels that list ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ListLevel(Generic[E]):
    """A level that lists entries: asked, kept in the release's format, continued where a person wants it, and read.

    Attributes:
        what: it lists, for messages.
        form: how an entry is written, for messages.
        parse: entries out of an answer.
        text_of: entries as text.
        shape: of a typed reply, where so many entries stand already.
        typical: entries that an estimate takes where none were ever written.
        fewest: entries that there should be.
        usual: entries that there are, for estimates.
    """

    level: Level
    fields: Mapping[str, Any]
    config: Config
    what: str
    form: str
    parse: Callable[..., Parsed[E]]
    text_of: Callable[[Sequence[E]], str]
    shape: Callable[[int], type[BaseModel]]
    typical: tuple[E, ...]
    fewest: int = 1
    usual: int = 3

    async def keep(self, run: Run) -> tuple[E, ...]:
        """The level's entries.

        Raises:
            ReplyError: no answer had one.
            UsageError: the author's file has none.
        """
        name = self.level.role

        def read(text: str) -> tuple[E, ...]:
            parsed = self.parse(f"{without_end(text)}\n{END}")
            self._note_rejected(run, f"A {self.what} of plan/{name}.md", parsed)
            if not parsed.entries:
                raise UsageError(
                    f"plan/{name}.md holds no {self.what} that can be read. Write {self.form}, or take the edit back "
                    "with `fabula undo`."
                )
            return parsed.entries

        return await run.keep_as(read, name, self.make, folder="plan", more=self.more)

    async def make(self, run: Run) -> str:
        """Entries as text; asked again while none can be read, and continued while there are too few."""
        entries = await self._first(run)
        for attempt in range(TRIES):
            if len(entries) >= self.fewest:
                break
            new, _ = await self._ask(run.scope("more", attempt + 1), self.level, entries)
            entries += new
        return self.text_of(entries)

    async def more(self, run: Run, base: str) -> str:
        """The entries that follow `base`, as text (the release's Continue)."""
        known = self.parse(f"{without_end(base)}\n{END}").entries
        level = replace(self.level, tokens=self.config.paper.more_tokens)
        new, _ = await self._ask(run, level, known)
        if not new:
            run.note(f"The continuation brought no further {self.what}.")
        return self.text_of(new)

    async def _first(self, run: Run) -> tuple[E, ...]:
        run = run.tries(self.level.prompt)
        for attempt in range(TRIES):
            where = _again(run, self.config, attempt, f"It held no {self.what} that can be read.")
            entries, reply = await self._ask(where, self.level, ())
            if found := entries or run.unless_made_up(lambda: (), self.typical):
                return found
        raise _unreadable(run, self.level, self.what, reply)

    async def _ask(self, run: Run, level: Level, known: Sequence[E]) -> tuple[tuple[E, ...], str]:
        """Entries that do not stand in `known`, and the reply they were read from."""
        if self.config.ours.form == "schema":
            return self._new(await self._typed(run, known), known), ""
        so_far = f"{self.text_of(known)}\n" if known else ""
        answer = await generate(run, level, self.config, {**self.fields, "form": "text"}, so_far)
        closing = f"\n{END}" if answer.text.endswith("\n") else END
        parsed = self.parse(f"{answer.text.rstrip()}{closing}", cut=answer.cut)
        self._note_rejected(run, f"A {self.what}", parsed)
        entries = self._bounded(run, parsed.entries)
        return self._new(entries, known) if known or self._examples else entries, answer.text

    async def _typed(self, run: Run, known: Sequence[E]) -> tuple[E, ...]:
        """Entries of a typed reply that hold text."""
        reply: Any = await run.ask_for(
            self.shape(len(known)),
            self.level.role,
            self.level.prompt,
            sampling=_sampling(run, replace(self.level, tokens=self.level.cap), self.config),
            expect={"records": self.usual},
            **self.fields,
            examples=(),
            form="schema",
            so_far=self.text_of(known),
            lead="",
        )
        found = [record.entry(cut=run.aids(self.level.role)) for record in reply.records if record.readable]
        if len(found) < len(reply.records):
            run.note(f"Some {self.what}s were left out, since they hold no text: {reply!r}")
        return self._bounded(run, found)

    def _bounded(self, run: Run, entries: Sequence[E]) -> tuple[E, ...]:
        if not run.aids(self.level.role):
            return tuple(entries)
        short = tuple(entry.shortened(_ENTRY_WORDS) for entry in entries)
        for entry, kept in zip(entries, short, strict=True):
            run.left_out("length", str(entry), str(kept))
        return short

    def _new(self, entries: Sequence[E], known: Sequence[E]) -> tuple[E, ...]:
        """Those of `entries` that do not stand in `known`, each once."""
        old = {entry.key for entry in known} | self._examples
        first: dict[str, E] = {}
        for entry in entries:
            if entry.key not in old:
                first.setdefault(entry.key, entry)
        return tuple(first.values())

    @property
    def _examples(self) -> set[str]:
        """What the examples' own entries have in common with copies of them; the release tells none apart."""
        examples = example_set(self.config.paper.examples) if self.config.ours.clean_replies else ()
        return {entry.key for example in examples for entry in getattr(example, self.level.role)}

    def _note_rejected(self, run: Run, what: str, parsed: Parsed[E]) -> None:
        for rejected in parsed.rejected:
            run.note(f"{what} was left out, since {rejected.reason}: {rejected.text}")


# written side by side, kept in order ----------------------------------------------------------------------------------


class _Writer(Protocol):
    """Writes the text of one artefact, and what follows a text of it."""

    async def make(self, run: Run) -> str:
        """The text."""

    async def more(self, run: Run, base: str) -> str:
        """What follows `base`."""


_Keep: TypeAlias = "Callable[[Run, str, Make, More, str], Awaitable[Draft]]"


async def _keep_in_order(run: Run, writers: Mapping[str, _Writer], *, folder: str) -> list[str]:
    """The texts of artefacts by name, written side by side, and kept (and so numbered) one after the other."""
    return [kept.text for kept in await _made_in_order(run, writers, _kept, folder=folder)]


async def _made_in_order(run: Run, writers: Mapping[str, _Writer], keep: _Keep, *, folder: str) -> list[Draft]:
    """What `keep` makes of each writer's text, made side by side, and kept one after the other.

    Where one fails, those being written are still recorded, since they are paid for; none behind it is kept.

    Raises:
        FabulaError: of the first in order that failed.
    """
    done = {name: asyncio.Event() for name in writers}
    failed: dict[str, FabulaError] = {}

    async def turn(name: str) -> None:
        for earlier in takewhile(lambda other: other != name, writers):
            await done[earlier].wait()
            if earlier in failed:
                raise failed[earlier]

    async def one(name: str, writer: _Writer) -> Draft:
        async def make(own: Run) -> str:
            text = await writer.make(own)
            await turn(name)
            return text

        async def more(own: Run, base: str) -> str:
            text = await writer.more(own, base)
            await turn(name)
            return text

        try:
            if _is_settled(run, name):
                await turn(name)  # the author's own text would be kept at once
            return await keep(run, name, make, more, folder)
        except FabulaError as error:
            failed[name] = error
            return Draft(name, "")
        finally:
            done[name].set()

    made = await side_by_side(one(name, writer) for name, writer in writers.items())
    if failed:
        raise failed[next(name for name in writers if name in failed)]
    return made


async def _kept(run: Run, name: str, make: Make, more: More, folder: str) -> Draft:
    """The text of an artefact as it stays."""
    return Draft(name, await run.keep(name, make, folder=folder, more=more))


async def _drafted(run: Run, name: str, make: Make, more: More, folder: str) -> Draft:
    """The text of an artefact before the whole is read."""
    return await run.draft(name, make, folder=folder, more=more)


def _is_settled(run: Run, name: str) -> bool:
    """Whether an artefact has a text of its author's own."""
    path = "/".join((*run.path, name))
    return run.context.override(path) is not None and not run.context.is_continued(path)


# lengths ------------------------------------------------------------------------------------------------------------


def _whole(brief: Brief, config: Config) -> WordRange | None:
    """The words that the whole should have; `None` where none are asked for."""
    return asked_range(brief, config.ours.words) if config.ours.length_control else None


def _ranges(brief: Brief, config: Config, weights: Sequence[float]) -> list[WordRange | None]:
    """The words that each scene should have; `None` where none are asked for."""
    whole = _whole(brief, config)
    return [None] * len(weights) if whole is None else [*whole.shares(weights)]


def _tokens(words: int) -> int:
    """Tokens of a sample that is to have about `words` words, and room for its last sentence."""
    return int(words * _TOKENS_PER_WORD) + _SPARE_TOKENS
