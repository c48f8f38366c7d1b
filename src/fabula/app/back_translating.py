"""Training data for Agents' Room from finished stories, in a folder that keeps every call.

DIR/.fabula/journal.db   every call; nothing is paid for twice
DIR/data.json, *.jsonl   the training data (`fabula.training.examples`)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import journal_in, journal_to_read
from fabula.app.item_files import sources_of
from fabula.app.writing import PreparedMethod, recorded_run
from fabula.base.errors import ReplyError, UsageError
from fabula.base.files import make_folder
from fabula.craft.length import asked_range
from fabula.engine.methods import settings_of, values_of
from fabula.engine.replies.strangers import unknown_capitals
from fabula.engine.run import Run, side_by_side
from fabula.models.servers import Part
from fabula.story import count_words, plain
from fabula.systems import find, system_of
from fabula.systems.agents_room.back_translation import METHOD, LeftOutError, back_translate
from fabula.training.asked import AskedPrompts
from fabula.training.examples import DataCard, Example, held_aside, write_data

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.app.writing import Options
    from fabula.engine.dry_run import DryRun
    from fabula.engine.run import RunContext
    from fabula.measure.items import Item
    from fabula.models.base import Capabilities
    from fabula.models.budget import Budget
    from fabula.project.settings import Settings
    from fabula.story import Brief
    from fabula.systems import System
    from fabula.systems.agents_room.back_translation import BackTranslated
    from fabula.systems.agents_room.config import Config
    from fabula.training.examples import Split

__all__ = ["METHOD", "BackTranslation", "BackTranslationTask", "back_translate_in", "dry_run_back_translation"]

ROOM: Final = "agents-room"
END_TO_END: Final = "end-to-end"
UNSUPPORTED: Final = ("chapters", "final_reading")
"""Settings of improved mode under which a system asks for texts that no finished story shows."""


UNKNOWN: Final = "unknown_names"
"""In the counts of a card: how many examples hold each capitalised word that neither story nor task has."""
_MOST_UNKNOWN: Final = 50
_SIDES: Final = {"train": "train", "validation": "development", "valid": "development", "test": "test"}


@dataclass(frozen=True)
class BackTranslationTask:
    """What training data is made of, and for whom.

    Attributes:
        items: the stories.
        folder: for journal and data.
        settings: those of the system that is trained: its name, preset, `--set` and aids.
        able: what the model that is trained can do.
        learner: its name.
        development: the share of stories that is kept aside.
        ask_tasks: whether the task of a story that comes without one is asked for.
        empty: why stories that were named could not be read.
        part: of several shards, each of which asks about its own stories.
    """

    items: Sequence[Item]
    folder: Path
    settings: Settings
    able: Capabilities
    learner: str
    development: float = 0.2
    ask_tasks: bool = False
    empty: Sequence[str] = ()
    part: Part = field(default_factory=Part)

    def __post_init__(self) -> None:
        if self.settings.system not in (ROOM, END_TO_END):
            raise UsageError(
                f"Stories are back-translated for {ROOM} and {END_TO_END}, and not for {self.settings.system}."
            )
        chosen = [name for name in UNSUPPORTED if _chosen(self.settings, name)]
        if chosen:
            raise UsageError(
                f"{' and '.join(chosen)} cannot be trained from finished stories: they show no edits, no drafts and no "
                "chapters' accounts. Leave that setting out."
            )
        config = self.config
        if self.settings.system == ROOM and config.paper.orchestrator != "deterministic":
            raise UsageError("Training data follow the order of the paper: leave the setting orchestrator out.")

    @cached_property
    def system(self) -> System:
        """The system that is trained."""
        return system_of(self.settings)

    @cached_property
    def config(self) -> Any:  # noqa: ANN401 - of either system
        """The system's settings, without those that no finished story has texts for."""
        settings = self.settings
        config = self.system.config(settings.preset, settings.config)
        for setting in settings_of(config):
            if setting.name in UNSUPPORTED and setting.value:
                config = setting.set_in(config, type(setting.value)())
        return config

    @cached_property
    def variant(self) -> str:
        """The variant that is trained: plan, write, plan+write, or end-to-end."""
        return self.config.paper.variant if self.settings.system == ROOM else END_TO_END

    @cached_property
    def asking(self) -> Config:
        """The settings of the room by which the teacher is asked."""
        return self.config if self.settings.system == ROOM else find(ROOM).config(self.settings.preset)  # type: ignore[no-any-return] # the room's own

    @property
    def wants_notes(self) -> bool:
        """Whether the planning agents are trained."""
        return self.variant in ("plan", "plan+write")

    @property
    def wants_sections(self) -> bool:
        """Whether the writing agents of the five parts are trained."""
        return self.variant in ("write", "plan+write")


def _chosen(settings: Settings, name: str) -> bool:
    values = [settings.config, *(group for group in settings.config.values() if isinstance(group, dict))]
    return any(values_.get(name) for values_ in values)


@dataclass(frozen=True)
class BackTranslation:
    """The training data that was made: examples of both sides, what is left out, and the budget."""

    examples: Mapping[Split, Sequence[Example]]
    left_out: Sequence[Mapping[str, Any]]
    card: DataCard
    budget: Budget


async def back_translate_in(task: BackTranslationTask, settings: Settings, options: Options) -> BackTranslation:
    """Make the training data, replaying what is recorded.

    Raises:
        FabulaError: any of its kinds; all finished calls are kept and the same command goes on from there.
    """
    prepared = PreparedMethod(settings, options, METHOD)
    make_folder(task.folder, "Choose another with --out.")
    with journal_in(task.folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                made = await _made(task, context)
    write_data(task.folder, made.card, made.examples, made.left_out)
    return made


async def back_translate_part(task: BackTranslationTask, settings: Settings, options: Options) -> int:
    """Ask what one part of the stories needs, into the journal of its folder; how many stories these are.

    No data are written: which stories stand aside is drawn from all of them, once their calls are merged.

    Raises:
        FabulaError: any of its kinds; all finished calls are kept and the same command goes on from there.
    """
    prepared, items = PreparedMethod(settings, replace(options, turns=task.part), METHOD), _of_part(task)
    make_folder(task.folder, "Choose another with --out.")
    with journal_in(task.folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                await _each(task, context, items)
    return len(items)


async def dry_run_back_translation(task: BackTranslationTask, settings: Settings, options: Options) -> DryRun:
    """What `back_translate_in` would ask and cost now. Asks nobody, writes nothing."""
    prepared = PreparedMethod(settings, options, METHOD)
    with journal_to_read(task.folder) as journal:
        async with prepared.opened(journal, dry=True) as context:
            await _each(task, context, _of_part(task))
    return context.dry_run


def _usable(task: BackTranslationTask) -> tuple[list[Item], dict[str, str]]:
    """The stories that can be data, and why the others cannot, by id."""
    usable: list[Item] = []
    left_out: dict[str, str] = {}
    seen: dict[str, str] = {}
    sides = sides_of_sets(task.items)
    for item in task.items:
        if not count_words(item.story.text):
            left_out[item.id] = "It is empty."
        elif sides.get(item.id) == "test":
            left_out[item.id] = "It is of its set's test split, which is kept for measuring."
        elif item.brief is None and not task.ask_tasks:
            left_out[item.id] = "The task that it answers is not known. --ask-tasks has one asked for from the story."
        elif (first := seen.setdefault(" ".join(item.story.text.split()), item.id)) != item.id:
            left_out[item.id] = f"It is the same story as {first}."
        else:
            usable.append(item)
    return usable, left_out


def _of_part(task: BackTranslationTask) -> list[Item]:
    """The usable stories of the part; whether one is usable is seen among all of them."""
    return _usable(task)[0][task.part.number - 1 :: task.part.of]


async def _each(task: BackTranslationTask, context: RunContext, items: Sequence[Item]) -> list[BackTranslated | str]:
    """What came of each story, or why nothing did."""
    room = asyncio.Semaphore(max((one.performer.capabilities.parallel for one in _players(context)), default=1))
    run = Run(context)

    async def one(item: Item) -> BackTranslated | str:
        async with room:
            try:
                return await back_translate(
                    item.story.text,
                    item.brief,
                    run.scope("story", item.id),
                    task.asking,
                    notes=task.wants_notes,
                    sections=task.wants_sections,
                )
            except LeftOutError as reason:
                return str(reason)

    return await side_by_side([one(item) for item in items])


def _players(context: RunContext) -> list[Any]:
    return [context.cast.assignment(role) for role in METHOD.roles]


async def _made(task: BackTranslationTask, context: RunContext) -> BackTranslation:
    items, left_out = _usable(task)
    found = await _each(task, context, items)
    asked = _asked(task)
    of_story: dict[str, list[Example]] = {}
    unknown: Counter[str] = Counter()
    for item, one in zip(items, found, strict=True):
        if isinstance(one, str):
            left_out[item.id] = one
            continue
        try:
            of_story[item.id] = await _examples(task, asked, item, one)
        except ReplyError as error:
            left_out[item.id] = str(error)
        else:
            unknown.update(_unknown(item, one, of_story[item.id]))
    examples: dict[Split, list[Example]] = {"train": [], "development": []}
    for name, side in _divided(task, [item for item in items if item.id in of_story], context.seed).items():
        examples[side] += of_story[name]
    lines = [{"group": name, "reason": reason} for name, reason in left_out.items()]
    lines += [{"group": "", "reason": reason} for reason in task.empty]
    return BackTranslation(examples, lines, _card(task, context, examples, lines, unknown), context.budget)


def _unknown(item: Item, made: BackTranslated, examples: Sequence[Example]) -> list[str]:
    """What has a capital in the notes on a story and is neither in the story nor in its task, once for each example."""
    known = f"{made.brief.titled}\n\n{item.story.text}"
    names = dict.fromkeys(name for note in made.notes.values() for name in unknown_capitals(note, known))
    texts = ["\n".join((one.completion, *(message.content for message in one.messages))) for one in examples]
    return [name for name in names for text in texts if name in text]


def sides_of_sets(items: Sequence[Item]) -> dict[str, str]:
    """The sides that stories have in their sets, by id: train, development or test; for sets whose train side is here.

    The ids of a set with splits are `SET/SPLIT/NUMBER`.
    """
    splits = {item.id: item.id.split("/")[1] for item in items if item.source and item.id.count("/") > 1}
    trained = {item.source for item in items if splits.get(item.id) == "train"}
    return {item.id: _SIDES[splits[item.id]] for item in items if item.source in trained and splits[item.id] in _SIDES}


def _divided(task: BackTranslationTask, items: Sequence[Item], seed: int) -> dict[str, Split]:
    """The side of each story: that of its set, where it has one; else a share of all tasks stands aside.

    Stories of one task stand on one side.
    """
    own = sides_of_sets(items)
    divided = {item.source for item in items if own.get(item.id) == "development"}
    tasks = {item.id: item.brief.text if item.brief else item.id for item in items if item.source not in divided}
    aside = held_aside(tasks.values(), task.development, seed)
    aside |= {name for name, side in own.items() if side == "development" and name not in tasks}
    return {item.id: "development" if {item.id, tasks.get(item.id)} & aside else "train" for item in items}


def _asked(task: BackTranslationTask) -> AskedPrompts:
    settings = task.settings
    overrides = Path(settings.prompts) if settings.prompts else None
    return AskedPrompts(
        task.system, settings.preset, task.able, settings.aids_in_force, overrides, tuple(settings.config)
    )


async def _examples(task: BackTranslationTask, asked: AskedPrompts, item: Item, made: BackTranslated) -> list[Example]:
    """The examples of one story."""
    texts = texts_of(task, item.story.text, made)
    requests = await asked.requests(made.brief, texts, config_for(task, made.brief, texts))
    return [
        Example(f"{item.id}/{role}", role, item.id, request.messages, texts[role]) for role, request in requests.items()
    ]


ROLES_OF_PARTS: Final = ("exposition", "rising_action", "climax", "falling_action", "resolution")


def texts_of(task: BackTranslationTask, story: str, made: BackTranslated) -> dict[str, str]:
    """What each role of the variant answers."""
    if task.variant == END_TO_END:
        return {"writer": plain(story)}
    if task.variant == "plan":
        return {**made.notes, "finalizer": plain(story)}
    sections = dict(zip(ROLES_OF_PARTS, (plain(section) for section in made.sections), strict=True))
    return {**made.notes, **sections}


def config_for(task: BackTranslationTask, brief: Brief, texts: Mapping[str, str]) -> Any:  # noqa: ANN401 - of either system
    """The system's settings with the lengths that this story has, where lengths are asked for: they are true."""
    config = task.config
    if config.ours is None or not getattr(config.ours, "length_control", True):
        return config
    parts = [count_words(texts[role]) for role in ROLES_OF_PARTS if role in texts]
    words = sum(parts) or max(count_words(text) for role, text in texts.items() if role in ("finalizer", "writer"))
    want = asked_range(brief, config.ours.words)
    ours = config.ours
    if want is None or not want.holds(words):
        ours = replace(ours, words=f"~{words}")
    if parts:
        ours = replace(ours, shares=tuple(float(part) for part in parts))
    return replace(config, ours=ours)


def _published(performer: str) -> str:
    """Who answered, without the folder: a card is given to others, whom this machine does not concern."""
    kind, colon, rest = performer.partition(":")
    return f"{kind}{colon}{Path(rest).name}" if "/" in rest else performer


def _card(
    task: BackTranslationTask,
    context: RunContext,
    examples: Mapping[Split, Sequence[Example]],
    left_out: Sequence[Mapping[str, Any]],
    unknown: Counter[str],
) -> DataCard:
    settings = task.settings
    made = {
        "command": "fabula data backtranslate",
        "system": settings.system,
        "variant": task.variant,
        "preset": settings.preset,
        "settings": values_of(task.config),
        "aids": settings.aids_in_force,
        "for": task.learner,
        "seed": context.seed,
        "teachers": sorted({_published(one.performer) for one in context.journal.calls.payments()}),
        "development": task.development,
    }
    counts: dict[str, Any] = {
        split: {"stories": len({one.group for one in some}), "agents": dict(Counter(one.agent for one in some))}
        for split, some in examples.items()
    }
    counts["left_out"] = len(left_out)
    counts[UNKNOWN] = dict(unknown.most_common(_MOST_UNKNOWN))
    used = {one.group for some in examples.values() for one in some}
    return DataCard("examples", made, sources_of([item for item in task.items if item.id in used]), counts)
