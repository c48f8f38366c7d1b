"""A plan taken out of a finished story: plan synthesis of Character Simulation (section 4.2.1 and appendix B.1.1).

The paper asks for the characters, then for all scenes with them, then to look for missed content; conflict and setting
as in Agents' Room. Here the paragraphs are numbered and a scene is named with the paragraph in which it begins, so that
scenes part the story by construction; each scene's outline and details are read off its own paragraphs; and a story of
any length is read in windows that fit a prompt, each told the cast and the scenes found so far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.planning.assembling import (
    NOTE_SENTENCES,
    ROLE,
    People,
    alike,
    checked,
    note,
    outline,
    unique,
)
from fabula.craft.planning.reading import partition, read_story
from fabula.craft.planning.shapes import (
    MOST_IMPORTANCE,
    borders_shape,
    cast_shape,
    missed_shape,
    read_scene_shape,
)
from fabula.engine.staleness import side_by_side
from fabula.models.base import Sampling
from fabula.story import Story
from fabula.story.plan import Event, Plan, ScenePlan, story_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.planning.reading import Stretch
    from fabula.craft.planning.shapes import Missed, ReadSceneReply
    from fabula.engine.run import Run
    from fabula.story import Brief

LEAST_WINDOW: Final = 200
_SCENES_A_WINDOW: Final = 12
_WORDS_A_SCENE: Final = 80  # fewer make no scene of their own: it keeps small models from one scene a paragraph
_LONG_SCENE: Final = 400  # words; engines that write by the schema find no fewer scenes, small models else find one
_CAST_A_WINDOW: Final = 8
_EVENTS: Final = 5
_WORDS_AN_EVENT: Final = 60
_MISSED_A_WINDOW: Final = 6
_ADDED: Final = 3  # events that the check for missed content may add to one scene
_SHOWN: Final = 30  # scenes found so far that a prompt shows
_SHOWN_EVENTS: Final = 5


@dataclass(frozen=True)
class Reading:
    """How a story is read.

    Attributes:
        window: tokens of story in one prompt, at least 200; cast, scenes and instruction come on top.
        max_tokens: bounds each reply.
    """

    window: int = 6000
    max_tokens: int = 1536

    def __post_init__(self) -> None:
        if self.window < LEAST_WINDOW or self.max_tokens < 1:
            raise UsageError(
                f"A story cannot be read in windows of {self.window} tokens with replies of {self.max_tokens}. Give "
                f"at least {LEAST_WINDOW}, and 1."
            )

    @classmethod
    def within(cls, context: int | None) -> Reading:
        """The default, with windows that take at most half of what a model's context leaves beside the reply."""
        room = cls.window if context is None else (context - cls.max_tokens) // 2
        return cls(max(min(cls.window, room), LEAST_WINDOW))

    @property
    def sampling(self) -> Sampling:
        """What replies are drawn with."""
        return Sampling(max_tokens=self.max_tokens)


@dataclass(frozen=True)
class Found:
    """What a reader of a stretch is told: the brief, the cast and the scenes found so far, newest last."""

    brief: str
    cast: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()


@dataclass
class _Part:
    """A scene as it is being read: its name, its paragraphs, and what was found in them."""

    name: str
    text: Stretch
    detail: ReadSceneReply
    events: list[str]
    added: int = 0


async def plan_from_story(run: Run, story_text: str, brief: Brief | None = None, how: Reading | None = None) -> Plan:
    """The plan that a story (a manuscript, or any text) could have been written from; its scenes part the story.

    A manuscript's own scene marks are kept. Costs 3 calls for each window (2 where scenes are marked), 2 for each scene
    (more where a scene is longer than a window), and 2 for conflict and setting.

    Raises:
        UsageError: the story has no words.
        ReplyError: a reply could not be read, or the plan cannot be written from.
    """
    how, manuscript = how or Reading(), Story.parse(story_text)
    if not manuscript.words:
        raise UsageError("The story is empty. Give a text with a story in it.")
    text, marks = read_story(manuscript, how.window)
    windows = text.windows(how.window)
    found, people = Found(brief.text if brief else ""), People()
    borders = list(marks.items())
    for number, window in enumerate(windows, 1):
        found = await _meet(run.scope("window", number), window, found, people, how)
        if not marks:
            borders += await _borders(run.scope("window", number), window, found, how)
            found = replace(found, scenes=tuple(name for _, name in borders[-_SHOWN:]))
    parts = await _parts(run, text, partition(borders, text), replace(found, scenes=()), people, how)
    await _cover(run, windows, parts, found, how)
    scenes = _scenes(parts, people)
    conflict, setting = await _about(run, windows, scenes, found)
    title = manuscript.title or (brief.title if brief else "")
    plan = Plan(scenes, tuple(people.characters), conflict, setting, title, found.brief)
    return checked(plan)


async def _meet(run: Run, window: Stretch, found: Found, people: People, how: Reading) -> Found:
    """The people of a window, added to the cast."""
    reply = await run.ask_for(
        cast_shape(_CAST_A_WINDOW), ROLE, "read_cast", sampling=how.sampling, found=found, text=window.numbered
    )
    people.check_cast(reply.characters)
    return replace(found, cast=tuple(f"{one.name}: {one.role or one.setup}" for one in people.characters))


async def _borders(run: Run, window: Stretch, found: Found, how: Reading) -> list[tuple[int, str]]:
    """Where the scenes of a window begin; in a later window, paragraphs before the first go on with the scene before.

    A number outside the window is moved in.
    """
    most = min(max(window.words // _WORDS_A_SCENE, 1), _SCENES_A_WINDOW, len(window.paragraphs))
    reply = await run.ask_for(
        borders_shape(window.first, window.last, min(window.words // _LONG_SCENE + 1, most), most),
        ROLE,
        "read_scenes",
        sampling=how.sampling,
        found=found,
        text=window.numbered,
        first=window.first,
        last=window.last,
        most=most,
    )
    return [(_inside(scene.begins, window), scene.name) for scene in reply.scenes[:most]]


async def _parts(
    run: Run, text: Stretch, borders: Sequence[tuple[int, str]], found: Found, people: People, how: Reading
) -> list[_Part]:
    """The scenes between `borders`, read side by side."""
    ends = [at - 1 for at, _ in borders[1:]] + [text.last]
    parts = await side_by_side(
        _assignment(run.scope("scene", number), name, text.assignment(at, end), found, people.names, how)
        for number, ((at, name), end) in enumerate(zip(borders, ends, strict=True), 1)
    )
    names: list[str] = []
    for number, part in enumerate(parts, 1):
        part.name = unique(part.name or f"Scene {number}", names)
        names.append(part.name)
    return parts


async def _assignment(run: Run, name: str, text: Stretch, found: Found, names: tuple[str, ...], how: Reading) -> _Part:
    """One scene with its outline and its details; one that is longer than a window is read piece by piece."""
    events: list[str] = []
    pieces = text.windows(how.window)
    for number, piece in enumerate(pieces):
        events += await outline(
            run.scope("piece", number + 1) if number else run,
            "read_outline",
            events,
            most := _most_events(piece),
            found=found,
            name=name,
            before=tuple(events[-_SHOWN_EVENTS:]),
            text=piece.numbered,
            lead=_lead(piece, names),
            most=most,
        )
    detail = await run.ask_for(
        read_scene_shape(names),
        ROLE,
        "read_scene",
        sampling=how.sampling,
        found=found,
        name=name,
        events=tuple(events),
        text=pieces[0].numbered,
    )
    return _Part(name or detail.name, text, detail, events)


def _lead(text: Stretch, names: Sequence[str]) -> str:
    """The first words of an outline, for models that go on from them: somebody who is named in the text."""
    return next((name for name in names if any(name in one for one in text.paragraphs)), "In this scene,")


def _most_events(text: Stretch) -> int:
    """How many events a stretch has at most: one for 60 words, from 2 to 5."""
    return min(max(text.words // _WORDS_AN_EVENT, 2), _EVENTS)


async def _cover(run: Run, windows: Sequence[Stretch], parts: Sequence[_Part], found: Found, how: Reading) -> None:
    """The check that all content is covered (appendix B.1.1): what a reader finds missing is added to outlines.

    A paragraph belongs to one scene, so what is missed has its scene, and its place between the events there.
    """
    replies = await side_by_side(
        _missed(run.scope("window", number), window, parts, found, how) for number, window in enumerate(windows, 1)
    )
    told = [event for part in parts for event in part.events]
    for missed in (one for reply in replies for one in reply):
        part = next(part for part in reversed(parts) if part.text.first <= missed.paragraph)
        if missed.what and part.added < _ADDED and not any(alike(missed.what, event) for event in told):
            share = (missed.paragraph - part.text.first + 0.5) / len(part.text.paragraphs)
            part.events.insert(round(share * len(part.events)), missed.what)
            part.added += 1
            told.append(missed.what)


async def _missed(run: Run, window: Stretch, parts: Sequence[_Part], found: Found, how: Reading) -> list[Missed]:
    """What the outlines of a window's scenes lack, each with a paragraph of the window."""
    here = [part for part in parts if part.text.first <= window.last and part.text.last >= window.first]
    reply = await run.ask_for(
        missed_shape(window.first, window.last, _MISSED_A_WINDOW),
        ROLE,
        "read_missed",
        sampling=how.sampling,
        found=replace(found, scenes=()),
        text=window.numbered,
        outlines=[(part.name, part.text.first, part.text.last, part.events) for part in here],
        most=_MISSED_A_WINDOW,
    )
    listed = reply.missed[:_MISSED_A_WINDOW]
    return [one.model_copy(update={"paragraph": _inside(one.paragraph, window)}) for one in listed]


def _inside(paragraph: int, window: Stretch) -> int:
    """The paragraph, or the nearest one of the window."""
    return min(max(paragraph, window.first), window.last)


def _scenes(parts: Sequence[_Part], people: People) -> tuple[ScenePlan, ...]:
    """The scenes of the plan, in the order of telling."""
    words = [part.text.words for part in parts]
    return tuple(
        ScenePlan(
            name=part.name,
            outline=tuple(Event(event) for event in part.events),
            element=part.detail.element,
            place=part.detail.place,
            importance=importance(part.detail.importance, share / (sum(words) or 1), len(parts)),
            characters=people.present(part.detail.characters, part.detail.newcomers),
            time=_time(part.detail.time, part.text),
        )
        for part, share in zip(parts, words, strict=True)
    )


def importance(judged: int, share: float, scenes: int) -> int:
    """The importance of a scene, 1 to 10, from a model's judgement and its share of the story's words.

    The paper wants both weighed (appendix B.1.1). A scene of average length counts 5, one of twice that 10; the mean of
    this and the judgement is rounded to the nearest number, half up.
    """
    by_words = min(max(5 * share * scenes, 1), MOST_IMPORTANCE)
    return min(max(int((judged + by_words) / 2 + 0.5), 1), MOST_IMPORTANCE)


def _time(said: str, text: Stretch) -> str:
    """A story time whose first number, the year of a date, stands in the scene; empty for anything else."""
    year = said.partition("-")[0].strip()
    known = story_time(said) is not None and any(year in paragraph for paragraph in text.paragraphs)
    return said if known and year else ""


async def _about(run: Run, windows: Sequence[Stretch], scenes: Sequence[ScenePlan], found: Found) -> tuple[str, str]:
    """Conflict and setting: from the text where it fits one prompt, else from the outlines of its weightiest scenes."""
    outlines: list[tuple[str, list[str]]] = []
    if len(windows) > 1:
        weighty = sorted(range(len(scenes)), key=lambda number: -scenes[number].importance)[:_SHOWN]
        outlines = [(scenes[n].name, [event.text for event in scenes[n].outline]) for n in sorted(weighty)]
    told = {"found": replace(found, scenes=()), "text": windows[0].numbered, "outlines": outlines}
    conflict, setting = await side_by_side(
        note(run, name, NOTE_SENTENCES, **told) for name in ("read_conflict", "read_setting")
    )
    return conflict, setting
