"""A plan taken out of a finished story: plan synthesis of Character Simulation (section 4.2.1), improved.

The paper (`synthesis`) asks for the characters, and then for all scenes in one reply. Here the paragraphs are numbered
and a scene is named with the paragraph in which it begins, so that scenes part the story by construction; each scene's
outline and details are read off its own paragraphs; missed content is its own call; and a story of any length is
read in windows that fit a prompt, each shown the cast and the scenes found so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fabula.base.errors import UsageError
from fabula.craft.packing import grouped
from fabula.craft.planning.replies import (
    MOST_IMPORTANCE,
    Missed,
    PlannedEvent,
    ReadSceneReply,
    WholeSceneReply,
    WholeStoryReply,
    borders_type,
    cast_type,
    missed_type,
    scene_type,
)
from fabula.craft.planning.shared import (
    ROLE,
    WHOLE,
    CastList,
    FreeNames,
    checked,
    note,
    outline,
    planned_events,
    says_the_same,
    typed,
)
from fabula.engine.run import Run, side_by_side
from fabula.models.budget import estimate_tokens
from fabula.story import Brief, Story, count_words, one_line
from fabula.story.plan import Plan, ScenePlan, story_time
from fabula.story.sentences import paragraphs, sentences

_SHORT_WINDOW: Final = 6000  # tokens of story in one prompt, where a small model plans
_WINDOW_SHARE: Final = 0.5  # of the planner's context
LEAST_WINDOW: Final = 200
_SHOWN: Final = 30  # scenes found so far that a prompt shows
_SHOWN_EVENTS: Final = 5
# Where a small model plans:
_SCENES_A_WINDOW: Final = 12
_WORDS_A_SCENE: Final = 80  # fewer make no scene of their own: it keeps from one scene a paragraph
_LONG_SCENE: Final = 400  # words; engines that write by the schema find no fewer scenes, small models else find one
MOST_SCENES: Final = 2_000
"""Scenes of a story that a plan is read off at most; each is a call."""
_CAST_A_WINDOW: Final = 8
_EVENTS: Final = 5
_WORDS_AN_EVENT: Final = 60
_MISSED_A_WINDOW: Final = 6
_ADDED: Final = 3  # events that the check for missed content may add to one scene


@dataclass(frozen=True)
class WindowContext:
    """What a reader of a window is shown: the brief, the cast and the scenes found so far, newest last."""

    brief: str
    cast: tuple[str, ...] = ()
    scenes: tuple[str, ...] = ()


@dataclass
class _ReadScene:
    """A scene as it is being read: its name, its paragraphs, and what was found in them."""

    name: str
    text: ParagraphStretch
    detail: ReadSceneReply | WholeSceneReply
    events: list[str]
    added: int = 0


async def plan_from_story(run: Run, story_text: str, brief: Brief | None = None, window: int | None = None) -> Plan:
    """The plan that a story (a manuscript, or any text) could have been written from; its scenes part the story.

    A manuscript's own scene marks are kept. Costs 3 calls for each window (2 where scenes are marked), 1 for each scene
    (more where a scene is longer than a window), and 1 for the story as a whole. Where a small model reads, it is 2 for
    each scene, and 2 for conflict and setting.

    Args:
        run: where the calls are made.
        story_text: the story.
        brief: what its author was asked, where that is known.
        window: tokens of story in one prompt, at least 200; by default half of what the planner's context holds.

    Raises:
        UsageError: the story has no words or too many scenes, or the window is too small.
        ReplyError: a reply could not be read, or the plan cannot be written from.
    """
    window = window or max(run.room(ROLE).prompt_tokens(_SHORT_WINDOW, _WINDOW_SHARE), LEAST_WINDOW)
    if window < LEAST_WINDOW:
        raise UsageError(f"A story cannot be read in windows of {window} tokens. Give at least {LEAST_WINDOW}.")
    manuscript = Story.parse(story_text)
    if not manuscript.words:
        raise UsageError("The story is empty. Give a text with a story in it.")
    run = run.tries(WHOLE)
    text, marks = read_story(manuscript, window)
    if len(marks) > MOST_SCENES:
        raise UsageError(
            f"The story has {len(marks):,} scenes, but a plan can have {MOST_SCENES:,} at most. Give it in several "
            "parts, or remove marks and headings that do not begin a scene."
        )
    windows = text.windows(window)
    found, cast = WindowContext(brief.text if brief else ""), CastList()
    borders = list(marks.items())
    for number, stretch in enumerate(windows, 1):
        found = await _find_cast(run.scope("window", number), stretch, found, cast)
        if not marks:
            borders += await _find_borders(run.scope("window", number), stretch, found)
            found = replace(found, scenes=tuple(name for _, name in borders[-_SHOWN:]))
    read = await _read_scenes(run, text, partition(borders, text), replace(found, scenes=()), cast.names, window)
    await _add_missed(run, windows, read, found)
    scenes = _scenes(read, cast)
    whole = await _whole(run, windows, scenes, found)
    plan = Plan(
        _in_time(scenes, whole.order),
        tuple(cast.characters),
        whole.conflict,
        whole.setting,
        manuscript.title or (brief.title if brief else ""),
        found.brief,
        whole.person,
        whole.tense,
        whole.form,
        tuple(whole.demands),
        tuple(whole.payoffs),
    )
    return checked(run, plan)


async def _find_cast(run: Run, window: ParagraphStretch, found: WindowContext, cast: CastList) -> WindowContext:
    """The characters of a window, added to the cast."""
    small = run.room(ROLE).aids
    prompt = "read_cast_small" if small else "read_cast"
    kind = cast_type(_CAST_A_WINDOW, full=not small)
    reply = await typed(run, kind, prompt, found=found, text=window.numbered)
    cast.add(reply.characters, small=small)
    return replace(found, cast=tuple(f"{one.name}: {one.role or one.setup}" for one in cast.characters))


async def _find_borders(run: Run, window: ParagraphStretch, found: WindowContext) -> list[tuple[int, str]]:
    """Where the scenes of a window begin; in a later window, paragraphs before the first belong to the scene before.

    A number outside the window is moved in.
    """
    most = len(window.paragraphs)
    if run.room(ROLE).aids:
        most = min(max(window.words // _WORDS_A_SCENE, 1), _SCENES_A_WINDOW, most)
    reply = await typed(
        run,
        borders_type(window.first, window.last, min(window.words // _LONG_SCENE + 1, most), most),
        "read_scenes",
        found=found,
        text=window.numbered,
        first=window.first,
        last=window.last,
    )
    return [(_inside(scene.begins, window), scene.name) for scene in reply.scenes[:most]]


async def _read_scenes(
    run: Run,
    text: ParagraphStretch,
    borders: Sequence[tuple[int, str]],
    found: WindowContext,
    names: tuple[str, ...],
    window: int,
) -> list[_ReadScene]:
    """The scenes between `borders`, read side by side."""
    ends = [at - 1 for at, _ in borders[1:]] + [text.last]
    every = tuple(name for _, name in borders)
    read = await side_by_side(
        _read_scene(run.scope("scene", number), number, every, text.stretch(at, end), found, names, window)
        for number, ((at, _), end) in enumerate(zip(borders, ends, strict=True), 1)
    )
    names_free = FreeNames()
    for number, scene in enumerate(read, 1):
        scene.name = names_free.take(scene.name or f"Scene {number}")
    return read


async def _read_scene(
    run: Run,
    place: int,
    every: tuple[str, ...],
    text: ParagraphStretch,
    found: WindowContext,
    names: tuple[str, ...],
    window: int,
) -> _ReadScene:
    """One scene with its outline and its details; one that is longer than a window is read piece by piece.

    `place` is its number among the scenes, whose names are `every`; the reader is shown those around it.
    """
    name, first = every[place - 1], max(place - _SHOWN // 2, 1)
    around = tuple(enumerate(every[first - 1 : first - 1 + _SHOWN], first))
    if run.room(ROLE).aids:
        return await _small_read_scene(run, name, text, found, names, window)
    pieces = text.windows(window)
    replies: list[WholeSceneReply] = []
    for number, piece in enumerate(pieces):
        events = [event.what for reply in replies for event in reply.events]
        replies.append(
            await typed(
                run.scope("piece", number + 1) if number else run,
                scene_type(WholeSceneReply, names),
                "read_scene",
                found=found,
                number=place,
                scenes=around,
                text=piece.numbered,
                before=tuple(events[-_SHOWN_EVENTS:]),
            )
        )
    people = [person for reply in replies for person in reply.characters]
    others = [person for reply in replies for person in reply.newcomers]
    told = [event for reply in replies for event in reply.events]
    detail = replies[0].model_copy(update={"characters": people, "newcomers": others, "events": told})
    return _ReadScene(name or detail.name, text, detail, [event.what for event in told])


async def _small_read_scene(
    run: Run, name: str, text: ParagraphStretch, found: WindowContext, names: tuple[str, ...], window: int
) -> _ReadScene:
    """What happens in a scene in free text, then its details."""
    events: list[str] = []
    pieces = text.windows(window)
    for number, piece in enumerate(pieces):
        events += await outline(
            run.scope("piece", number + 1) if number else run,
            "read_outline",
            events,
            short=(most := min(max(piece.words // _WORDS_AN_EVENT, 2), _EVENTS)),
            found=found,
            name=name,
            before=tuple(events[-_SHOWN_EVENTS:]),
            text=piece.numbered,
            lead=_lead(piece, names),
            most=most,
        )
    shown: dict[str, Any] = {"name": name, "events": tuple(events), "text": pieces[0].numbered}
    detail = await typed(run, scene_type(ReadSceneReply, names), "read_details", found=found, **shown)
    return _ReadScene(name or detail.name, text, detail, events)


def _lead(text: ParagraphStretch, names: Sequence[str]) -> str:
    """The first words of an outline, for models that continue from them: somebody who is named in the text."""
    return next((name for name in names if any(name in one for one in text.paragraphs)), "In this scene,")


async def _add_missed(
    run: Run, windows: Sequence[ParagraphStretch], scenes: Sequence[_ReadScene], found: WindowContext
) -> None:
    """The check that all content is covered (appendix B.1.1): what a reader finds missing is added to outlines.

    A paragraph belongs to one scene, so what is missed has its scene, and its place between the events there.
    """
    replies = await side_by_side(
        _missed(run.scope("window", number), window, scenes, found) for number, window in enumerate(windows, 1)
    )
    known, aids = [event for scene in scenes for event in scene.events], run.room(ROLE).aids
    for missed in (one for reply in replies for one in reply):
        scene = next(scene for scene in reversed(scenes) if scene.text.first <= missed.paragraph)
        full = aids and scene.added == _ADDED
        if missed.what and not full and not any(says_the_same(missed.what, event) for event in known):
            share = (missed.paragraph - scene.text.first + 0.5) / len(scene.text.paragraphs)
            scene.events.insert(round(share * len(scene.events)), missed.what)
            scene.added += 1
            known.append(missed.what)


async def _missed(
    run: Run, window: ParagraphStretch, scenes: Sequence[_ReadScene], found: WindowContext
) -> list[Missed]:
    """What the outlines of a window's scenes lack, each with a paragraph of the window."""
    here = [scene for scene in scenes if scene.text.first <= window.last and scene.text.last >= window.first]
    reply = await typed(
        run,
        missed_type(window.first, window.last, _MISSED_A_WINDOW),
        "read_missed",
        found=replace(found, scenes=()),
        text=window.numbered,
        outlines=[(scene.name, scene.text.first, scene.text.last, scene.events) for scene in here],
    )
    listed = reply.missed[:_MISSED_A_WINDOW] if run.room(ROLE).aids else reply.missed
    return [one.model_copy(update={"paragraph": _inside(one.paragraph, window)}) for one in listed]


def _inside(paragraph: int, window: ParagraphStretch) -> int:
    """The paragraph, or the nearest one of the window."""
    return min(max(paragraph, window.first), window.last)


def _scenes(read: Sequence[_ReadScene], cast: CastList) -> tuple[ScenePlan, ...]:
    """The scenes of the plan, in the order of telling."""
    words = [scene.text.words for scene in read]
    there = [cast.present(scene.detail.characters, scene.detail.newcomers) for scene in read]
    return tuple(
        ScenePlan(
            name=scene.name,
            outline=planned_events(_events(scene), here, cast),
            element=scene.detail.element,
            place=scene.detail.place,
            importance=importance(scene.detail.importance, own / (sum(words) or 1), len(read)),
            characters=here,
            time=_time(scene.detail.time, scene.text),
            date=scene.detail.date if isinstance(scene.detail, WholeSceneReply) else "",
        )
        for scene, own, here in zip(read, words, there, strict=True)
    )


def _events(scene: _ReadScene) -> list[PlannedEvent]:
    """The events of a scene, those that a second reading added among them; everybody there witnesses these."""
    known = {event.what: event for event in scene.detail.events} if isinstance(scene.detail, WholeSceneReply) else {}
    return [known.get(text) or PlannedEvent(what=text, missed_by=[]) for text in scene.events]


def _in_time(scenes: tuple[ScenePlan, ...], order: Sequence[int]) -> tuple[ScenePlan, ...]:
    """The scenes with times: those that the text gives if all have one, else their places in the `order` of time."""
    if sorted(order) != list(range(1, len(scenes) + 1)) or all(scene.time for scene in scenes):
        return scenes
    return tuple(replace(scene, time=str(order.index(number) + 1)) for number, scene in enumerate(scenes, 1))


def importance(judged: int, share: float, scenes: int) -> int:
    """The importance of a scene, 1 to 10, from a model's judgement and its share of the story's words.

    The paper wants both weighed (appendix B.1.1). A scene of average length counts 5, one of twice that 10; the mean of
    this and the judgement is rounded to the nearest number, half up.
    """
    by_words = min(max(5 * share * scenes, 1), MOST_IMPORTANCE)
    return min(max(int((judged + by_words) / 2 + 0.5), 1), MOST_IMPORTANCE)


def _time(said: str, text: ParagraphStretch) -> str:
    """A story time whose first number, the year of a date, stands in the scene; empty for anything else."""
    year = said.partition("-")[0].strip()
    known = story_time(said) is not None and any(year in paragraph for paragraph in text.paragraphs)
    return said if known and year else ""


async def _whole(
    run: Run, windows: Sequence[ParagraphStretch], scenes: Sequence[ScenePlan], found: WindowContext
) -> WholeStoryReply:
    """What holds for all of the story: from its text where that fits one prompt, else from its weightiest scenes."""
    shown = sorted(sorted(range(len(scenes)), key=lambda number: -scenes[number].importance)[:_SHOWN])
    outlines = (
        [(scenes[n].name, [event.text for event in scenes[n].outline]) for n in shown] if len(windows) > 1 else []
    )
    fields: dict[str, Any] = {"found": replace(found, scenes=()), "text": windows[0].numbered, "outlines": outlines}
    if run.room(ROLE).aids:
        notes = (note(run, name, **fields) for name in ("read_conflict", "read_setting"))
        conflict, setting = await side_by_side(notes)
        return WholeStoryReply(conflict=conflict, setting=setting)
    names = [scene.name for scene in scenes] if len(shown) == len(scenes) else []
    reply = await typed(run, WholeStoryReply, "read_whole", **fields, names=names)
    return reply if names else reply.model_copy(update={"order": []})


# the story in numbered paragraphs -------------------------------------------------------------------------------------

_LONG_WORDS: Final = 250  # a paragraph with more words and with line ends in it: a text that parts them by line ends
_LEAST_PART: Final = 4  # a paragraph takes no more than this part of a window


@dataclass(frozen=True, slots=True)
class ParagraphStretch:
    """Neighbouring paragraphs; `first` is the number of the first, counted from 1 through the whole story."""

    first: int
    paragraphs: tuple[str, ...]

    @property
    def last(self) -> int:
        """The number of the last paragraph."""
        return self.first + len(self.paragraphs) - 1

    @property
    def words(self) -> int:
        """How many words they have."""
        return sum(count_words(paragraph) for paragraph in self.paragraphs)

    @property
    def numbered(self) -> str:
        """The paragraphs, each behind its number in brackets."""
        return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(self.paragraphs, self.first))

    def stretch(self, first: int, last: int) -> ParagraphStretch:
        """The paragraphs `first` to `last` of these."""
        return ParagraphStretch(first, self.paragraphs[first - self.first : last - self.first + 1])

    def windows(self, tokens: int) -> tuple[ParagraphStretch, ...]:
        """The same paragraphs, cut into stretches of at most about `tokens` tokens, each paragraph in one of them."""
        found: list[ParagraphStretch] = []
        for group in grouped(self.paragraphs, tokens, _size):
            found.append(ParagraphStretch(found[-1].last + 1 if found else self.first, tuple(group)))
        return tuple(found)


def read_story(story: Story, tokens: int) -> tuple[ParagraphStretch, dict[int, str]]:
    """All paragraphs of a story, and the scenes that its manuscript marks: their first paragraphs and their labels.

    A paragraph that would fill more than a fourth of a window of `tokens` tokens is cut at the ends of sentences, so
    that every prompt is bounded. No word is lost or doubled. One scene alone is no division, and not marked.
    """
    most = max(tokens // _LEAST_PART, 1)
    found: list[str] = []
    marks: dict[int, str] = {}
    for scene in story.scenes:
        if pieces := [piece for text in _paragraphs(scene.text) for piece in _pieces(text, most)]:
            marks[len(found) + 1] = scene.label
            found += pieces
    return ParagraphStretch(1, tuple(found)), marks if len(marks) > 1 else {}


def _size(text: str) -> int:
    return estimate_tokens(text) + 4  # its number, and the blank line behind it


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in paragraphs(text):
        lines = paragraph.split("\n") if count_words(paragraph) > _LONG_WORDS else [paragraph]
        yield from (line for part in lines if (line := one_line(part)))


def _pieces(text: str, most: int) -> list[str]:
    """`text`, in pieces of at most about `most` tokens, cut between sentences, or words where a sentence is longer."""
    if estimate_tokens(text) <= most:
        return [text]
    parts = sentences(text)
    whole = len(parts) > 1
    groups = grouped(parts if whole else text.split(), most, lambda part: estimate_tokens(f"{part} "))
    pieces = [" ".join(group) for group in groups]
    return [piece for one in pieces for piece in _pieces(one, most)] if whole else pieces


def partition(borders: Sequence[tuple[int, str]], story: ParagraphStretch) -> list[tuple[int, str]]:
    """`borders` (first paragraph, name of the scene) corrected so that scenes part the whole story.

    Numbers outside the story are moved in, they increase, each stands once (its first name counts), and the first is 1.
    """
    inside = sorted(((min(max(at, 1), story.last), name) for at, name in borders), key=lambda border: border[0])
    once: dict[int, str] = {}
    for at, name in inside:
        once.setdefault(at, name)
    found = list(once.items())
    return [(1, found[0][1]), *found[1:]] if found else [(1, "")]
