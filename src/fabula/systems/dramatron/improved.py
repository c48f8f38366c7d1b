"""Our version of Dramatron: the same levels, read without loss, with names matched as names, and of the length asked.

Screenplays: characters and scenes are asked for as lists, places and dialogues in free text; all else is as in the
hierarchy of `algorithm`. Stories: each scene is written from those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fabula.craft.length import WordRange, asked_range, revise_to_length, words_to_follow
from fabula.craft.packing import last_of, latest
from fabula.craft.personas import given_personas
from fabula.craft.planning import PlanOptions, given_plan, plan_for
from fabula.craft.prose import NOT_AS_LONG, Prose, clean_reply, reply_fault, shorten, write_prose
from fabula.craft.settings import warn_ignored
from fabula.engine.replies import short
from fabula.engine.run import Run, in_voice, record_length
from fabula.story import Brief, Story, count_words, one_line, slug
from fabula.story.sentences import as_sentence
from fabula.systems.dramatron.algorithm import CHARACTERS, SCENES, TRIES, scene_input, story_fields
from fabula.systems.dramatron.config import Config, Ours, Paper
from fabula.systems.dramatron.files import Artefact, Listed, kept_in_order, labelled, places_labelled
from fabula.systems.dramatron.hierarchy import (
    CharacterEntry,
    Hierarchy,
    SceneEntry,
    characters_text,
    hierarchy_of,
    logline_of,
    people_of,
    scenes_text,
    with_stop,
    without_end,
)
from fabula.systems.dramatron.parsing import E, lenient_characters, lenient_scenes, lenient_title

if TYPE_CHECKING:
    from fabula.models.base import Reply


_Line: TypeAlias = Annotated[str, BeforeValidator(lambda value: one_line(value) if isinstance(value, str) else value)]


class CharacterReply(BaseModel):
    """A character of the play."""

    model_config = ConfigDict(frozen=True)
    name: Annotated[_Line, Field(min_length=1), short(30, least=2)]
    description: Annotated[_Line, Field(min_length=1), short(220, least=40)]

    @property
    def entry(self) -> CharacterEntry:
        """As the other levels have it."""
        return CharacterEntry(self.name, self.description)


class SceneReply(BaseModel):
    """A scene of the play."""

    model_config = ConfigDict(frozen=True)
    happens: Annotated[_Line, Field(min_length=1), short(220, least=40)]
    place: Annotated[_Line, Field(min_length=1), short(50, least=4)]
    element: Annotated[_Line, Field(min_length=1), short(50)]

    @property
    def entry(self) -> SceneEntry:
        """As the other levels have it."""
        return SceneEntry(with_stop(self.place), self.element, self.happens)


class CharactersReply(BaseModel):
    """The characters of the play."""

    records: Annotated[list[CharacterReply], Field(min_length=1), short(5, least=2)]


class ScenesReply(BaseModel):
    """The scenes of the play, in the order in which it shows them."""

    records: Annotated[list[SceneReply], Field(min_length=1), short(6, least=3)]


_STORY_WORDS: Final = 400  # that a scene of a story usually has
_BEATS_TOKENS: Final = 1200  # of earlier beats, for a small model
_STORY_TOKENS, _STORY_SHARE = 6_000, 0.5  # of the story so far: for a small model, and of another's window
_HEADINGS_SHARE: Final = 1 / 2  # of the words wanted; with more, headings go without the descriptions of places
_SCRIPT_LABELS: Final = ("Dialog", "Dialogue", "Script")
_LABELS: Final = ("Place", "Characters", "Plot Element", "Summary", "Outline", "Story")


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Log line, title, characters, scenes, places, dialogue; with a plan of the author's only the dialogues are asked.

    In mode "story" the scenes of a story, one after the other.
    """
    ours = config.ours or Ours()
    for setting in Paper.__slots__:
        if setting != "mode":
            warn_ignored(run, setting, "the preset improved asks in its own way. Use the preset faithful for it.")
    want = asked_range(brief, ours.words)
    if config.paper.mode == "story":
        return await write_story(brief, want, run, config)
    plan = await given_plan(run)
    if plan is None:
        start = await given_personas(run)
        logline, above = logline_of(brief, start), ["personas"] if start else []
        title = brief.title or await write_title(logline, run, above)
        characters = people_of(start) if start else await list_characters(logline, run)
        people = above or ["characters"]
        scenes = await list_scenes(logline, characters, want, run, people)
        places = await describe_places(logline, scenes, run, [*above, "scenes"])
        described = dict(zip(places, places_labelled(list(places)), strict=True))
        hierarchy = Hierarchy(title, logline, characters, scenes, places, (*people, "scenes"), described)
    else:
        hierarchy = hierarchy_of(plan, brief)
    story = Story(hierarchy.title)
    for number, dialogue in enumerate(await write_dialogues(hierarchy, want, run), 1):
        story = story.add(f"Scene {number}", dialogue)
    return story


# levels 1 to 4 ------------------------------------------------------------------------------------------------------


async def write_title(logline: str, run: Run, reads: Sequence[str]) -> str:
    """Level 1: one call."""

    async def make(own: Run) -> str:
        fields = {"logline": logline}
        return await text_of(own, "title", "title", fields, lambda _, reply: lenient_title(reply.text))

    return await run.keep("title", make, folder="plan", read=one_line, reads=reads)


async def list_characters(logline: str, run: Run) -> tuple[CharacterEntry, ...]:
    """Level 2: one call, whose reply is a list by a schema."""
    listed = Listed(CHARACTERS.what, CHARACTERS.form, lenient_characters, characters_text)

    async def ask(own: Run, so_far: str) -> tuple[CharacterEntry, ...]:
        reply = await own.ask_for(CharactersReply, "characters", "characters", logline=logline, so_far=so_far)
        return tuple(record.entry for record in reply.records)

    return await kept_list(listed, "characters", ask, run, [])


async def list_scenes(
    logline: str, characters: Sequence[CharacterEntry], want: WordRange | None, run: Run, reads: Sequence[str]
) -> tuple[SceneEntry, ...]:
    """Level 3: one call, whose reply is a list by a schema; who plans knows how long the script must be."""
    listed = Listed(SCENES.what, SCENES.form, lenient_scenes, scenes_text)
    known = [character.named for character in characters]

    async def ask(own: Run, so_far: str) -> tuple[SceneEntry, ...]:
        fields: dict[str, Any] = {"logline": logline, "characters": known, "words": want, "so_far": so_far}
        reply = await own.ask_for(ScenesReply, "scenes", "scenes", **fields)
        return tuple(record.entry for record in reply.records)

    return await kept_list(listed, "scenes", ask, run, reads)


async def kept_list(
    listed: Listed[E], name: str, ask: Callable[[Run, str], Any], run: Run, reads: Sequence[str]
) -> tuple[E, ...]:
    """The entries of a level that lists, kept in the release's format; a continuation brings those that are new."""

    async def new(own: Run, so_far: str) -> str:
        found: dict[str, Any] = {entry.key: entry for entry in listed.parse(so_far).entries}
        known = len(found)
        for entry in await ask(own, so_far):
            found.setdefault(entry.key, entry)
        if len(found) == known:
            own.note(f"The continuation brought no further {listed.what}.")
        return listed.text_of([*found.values()][known:])

    async def more(own: Run, base: str) -> str:
        return await new(own, without_end(base))

    read = partial(listed.of_file, run, name)
    return await run.keep(name, lambda own: new(own, ""), folder="plan", more=more, read=read, reads=reads)


async def describe_places(logline: str, scenes: Sequence[SceneEntry], run: Run, reads: Sequence[str]) -> dict[str, str]:
    """Level 4: one call for each distinct place, side by side."""

    def writer(name: str) -> Artefact:
        async def make(own: Run) -> str:
            fields = {"logline": logline, "place": name}
            return await text_of(own, "places", "place", fields, cleaned_line)

        return make, None

    def cleaned_line(own: Run, reply: Reply) -> str:
        return one_line(clean_reply(own, "places", reply, labels=("Description", "Place"), kind="notes"))

    names = list(dict.fromkeys(scene.place for scene in scenes))
    writers = {label: writer(name) for label, name in zip(places_labelled(names), names, strict=True)}
    texts = await kept_in_order(run, writers, "plan", dict.fromkeys(writers, reads))
    return dict(zip(names, texts, strict=True))


async def text_of(run: Run, role: str, prompt: str, fields: dict[str, Any], read: Callable[[Run, Reply], str]) -> str:
    """What `read` finds in a reply; asked again in another way, a bounded number of times, until there is a text.

    Raises:
        ReplyError: there never is one.
    """
    fault, run = "", run.tries(prompt)
    for attempt in range(TRIES):
        own = run.again(attempt, fault)
        reply = await own.reply(role, prompt, **fields)
        text = read(own, reply)
        if not text:
            fault = "It held no text."
        elif role == "dialogue":  # a title, for instance, may well look like a heading
            fault = reply_fault(own, text, prompt, fields)
        else:
            fault = ""
        if not fault:
            return text
        own.removed("reply", text)
    raise run.exhausted(prompt, f"The role {role!r} gave no usable {prompt} in {TRIES} tries.", role, reply.text)


# level 5: the dialogues ---------------------------------------------------------------------------------------------


async def write_dialogues(hierarchy: Hierarchy, want: WordRange | None, run: Run) -> list[str]:
    """Level 5: one call a scene, side by side; the words wanted, less those of the headings, are shared by weight."""
    scenes = range(len(hierarchy.scenes))
    heads = [heading(hierarchy, at) for at in scenes]
    if want and sum(map(count_words, heads)) > want.target * _HEADINGS_SHARE:
        run.note("The places' descriptions are left out of the script: they would take more than half of its words.")
        heads = [head.partition("\n\n")[0] for head in heads]
    rest = want and want.less(sum(map(count_words, heads)))
    shares: Sequence[WordRange | None] = (
        rest.shares([scene.weight for scene in hierarchy.scenes]) if rest else [None for _ in scenes]
    )
    writers = {f"scene-{at + 1}": dialogue_of(hierarchy, at, heads[at], shares[at]) for at in scenes}
    reads = [*hierarchy.reads, *hierarchy.described.values()]  # all places, since their words are taken off the whole
    return await kept_in_order(run, writers, "story", dict.fromkeys(writers, reads))


def heading(hierarchy: Hierarchy, at: int) -> str:
    """What a script shows before anybody speaks: where it is, and what the place looks like where it comes first.

    The characters' descriptions are the writer's: they tell what the play is still to show.
    """
    line = f"INT/EXT. {hierarchy.scenes[at].place.strip(' .')}".upper()
    return "\n\n".join(filter(None, (line, hierarchy.shows_place(at))))


def dialogue_of(hierarchy: Hierarchy, at: int, head: str, want: WordRange | None) -> Artefact:
    """Writes and continues the script of one scene, counted from 0, with the words wanted."""

    def cleaned(own: Run, reply: Reply) -> str:
        return without_end(clean_reply(own, "dialogue", reply, labels=_SCRIPT_LABELS, kind="notes")).strip()

    def fields_of(own: Run, words: WordRange | int | None, so_far: str = "") -> dict[str, Any]:
        last = at + 1 == len(hierarchy.scenes)
        return {**dialogue_fields(hierarchy, at, own), "words": words, "so_far": so_far, "last": last}

    async def first(own: Run) -> str:
        return await text_of(in_voice(own), "dialogue", "dialogue", fields_of(own, want), cleaned)

    async def after(own: Run, text: str, words: int) -> str:
        fields = fields_of(own, words, text)
        return cleaned(own, await in_voice(own).reply("dialogue", "dialogue", **fields))

    async def make(own: Run) -> str:
        if want is None:
            return f"{head}\n\n{await first(own)}"
        record_length(own, want.low, want.high)
        fitted = await revise_to_length(
            lambda _: first(own),
            lambda text, words, attempt: after(own.scope("extend", attempt).optional(NOT_AS_LONG), text, words),
            lambda text, attempt: shorter(own.scope("shorten", attempt).optional(NOT_AS_LONG), text),
            want,
            join=lambda text, more: f"{text}\n\n{more}" if more else text,
        )
        if not fitted.inside:
            own.note(f"The scene has {fitted.words} words; {want.low} to {want.high} were wanted.")
        return f"{head}\n\n{fitted.text}"

    async def shorter(own: Run, text: str) -> str:
        assert want is not None  # noqa: S101 - only a text with a range is too long
        fields = fields_of(own, want)
        return await shorten(own, "dialogue", text, want, labels=_SCRIPT_LABELS, kind="notes", fields=fields)

    async def more(own: Run, base: str) -> str:
        text = without_end(base).removeprefix(head).strip("\n")
        return await after(own, text, words_to_follow(own, base))

    return make, more


def dialogue_fields(hierarchy: Hierarchy, at: int, run: Run) -> dict[str, Any]:
    """What a dialogue is asked with: as in the paper, but with everybody's name, all earlier beats, the next one."""
    scene, scenes = scene_input(hierarchy, at), hierarchy.scenes
    people = scenes[at].people or hierarchy.characters
    earlier = [one.beat for one in scenes[:at]]
    return {
        "scene": scene,
        "characters": [character.named for character in people],
        "previous": latest(earlier, run.room("dialogue").prompt_tokens(short=_BEATS_TOKENS)),
        "following": " ".join(one.beat for one in scenes[at + 1 : at + 2]),
    }


# stories ------------------------------------------------------------------------------------------------------------


async def write_story(brief: Brief, want: WordRange | None, run: Run, config: Config) -> Story:
    """One call a scene, in the order of telling, each from the story so far; more where it is too short or long."""
    plan = await plan_for(run, brief, PlanOptions.of(config))
    names, weights = labelled([slug(scene.name) for scene in plan.scenes]), [float(s.importance) for s in plan.scenes]
    story = Story(plan.title or brief.title, breaks=True)
    for at, (scene, name) in enumerate(zip(plan.scenes, names, strict=True)):
        told = [one.text for one in story.scenes]
        cut = run.room("writer").aids
        share = want and want.of_sections(weights[at:], [*map(count_words, told)], before=weights[:at], cut=cut)
        prose = Prose(at + 1 == len(plan.scenes), share, _LABELS, _STORY_WORDS, previous="".join(told[-1:]))
        fields = {
            **story_fields(plan, at),
            "brief": brief.titled,
            "summary": plan.conflict,
            "how": plan,
            "when": scene.when,
            "story": last_of("\n\n".join(told), run.room("writer").prompt_tokens(_STORY_TOKENS, _STORY_SHARE)),
            "following": [as_sentence(event.text) for later in plan.scenes[at + 1 : at + 2] for event in later.outline],
            "last": prose.last,
        }
        make = partial(write_prose, role="writer", prompt="scene", prose=prose, before=told, fields=fields)
        more = partial(_continued, fields=fields)
        story = story.add(scene.name, await run.keep(name, make, folder="story", more=more))
    return story


async def _continued(run: Run, base: str, fields: dict[str, Any]) -> str:
    """What follows a scene that the author wants continued."""
    words = words_to_follow(run, base)
    reply = await in_voice(run).reply("writer", "extend", **fields, so_far=base, words=words, lead="")
    return clean_reply(run, "writer", reply, labels=_LABELS)
