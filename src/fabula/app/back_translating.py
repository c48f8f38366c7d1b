"""Training data for Agents' Room, made from finished stories in a folder that keeps every call.

DIR/.fabula/journal.db   every call; nothing is paid for twice
DIR/data.json, *.jsonl   the training data (`fabula.training.examples`)
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, Final

from fabula.app.evaluating import journal_in, journal_to_read
from fabula.app.item_files import sources_of
from fabula.app.writing import Options, PreparedMethod, recorded_run
from fabula.base.errors import ReplyError, UsageError
from fabula.base.files import make_folder
from fabula.craft.length import asked_range
from fabula.engine.methods import Method, settings_of, values_of
from fabula.engine.replies.strangers import unknown_capitals
from fabula.engine.run import Run, RunContext, side_by_side
from fabula.models.base import Capabilities, Message
from fabula.story import Brief, count_words, plain
from fabula.systems import System, find, system_of
from fabula.systems.agents_room.back_translation import METHOD, BackTranslated, LeftOutError, back_translate
from fabula.training.asked import AskedPrompts
from fabula.training.examples import DataCard, Example, Split, held_aside, write_data

if TYPE_CHECKING:
    from fabula.app.corpora.rows import StoryRows
    from fabula.engine.dry_run import DryRun
    from fabula.measure.items import Item
    from fabula.project.settings import Settings
    from fabula.systems.agents_room.config import Config


ROOM: Final = "agents-room"
END_TO_END: Final = "end-to-end"
UNSUPPORTED: Final = ("chapters", "final_reading")
"""Settings of improved mode with which a system writes texts that a finished story does not contain."""


UNKNOWN: Final = "unknown_names"
"""The key for the number of examples that contain each capitalised word found in neither the story nor the task.
"""
_MOST_UNKNOWN: Final = 50
_SIDES: Final = {"train": "train", "validation": "development", "valid": "development", "test": "test"}


@dataclass(frozen=True)
class BackTranslationTask:
    """What training data is made of, and for which model.

    Attributes:
        items: the stories.
        folder: the folder for journal and data.
        settings: the settings of the system that is trained: its name, preset, `--set` and aids.
        able: the capabilities of the model that is trained.
        learner: the name of that model.
        development: the share of stories that is held out.
        ask_tasks: whether a model writes the task of a story that has none.
        empty: why some of the named stories could not be read.
    """

    items: Sequence[Item]
    folder: Path
    settings: Settings
    able: Capabilities
    learner: str
    development: float = 0.2
    ask_tasks: bool = False
    empty: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.settings.system not in (ROOM, END_TO_END):
            raise UsageError(
                f"Back-translation of stories is only available for {ROOM} and {END_TO_END}, not for "
                f"{self.settings.system}."
            )
        chosen = [name for name in UNSUPPORTED if _chosen(self.settings, name)]
        if chosen:
            raise UsageError(
                f"{' and '.join(chosen)} cannot be trained on finished stories, which contain no edits, drafts "
                "or chapter summaries. Remove that setting."
            )
        config = self.config
        if self.settings.system == ROOM and config.paper.orchestrator != "deterministic":
            raise UsageError("Training data follows the order in the paper. Remove the setting `orchestrator`.")

    @cached_property
    def system(self) -> System:
        """The system that is trained."""
        return system_of(self.settings)

    @cached_property
    def config(self) -> Any:  # noqa: ANN401 - of either system
        """The system's settings, without those that require texts that a finished story does not contain."""
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
        """The settings with which Agents' Room calls the teacher."""
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
    """The training data that was made, and what was left out."""

    left_out: Sequence[Mapping[str, Any]]
    card: DataCard


@dataclass(frozen=True)
class StoryData:
    """The result for one story: its examples, or why there are none.

    Attributes:
        side: the side of the split that its set assigns; empty if the set assigns none.
        task: the task that the story answers, or the task's name.
        unknown: for each example, capitalised words in the notes that are in neither the story nor its task.
    """

    id: str
    source: str
    side: str
    task: str
    reason: str = ""
    examples: tuple[Example, ...] = ()
    unknown: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> StoryData:
        """The object that `asdict` turned into this data."""
        examples = [
            Example(**{**one, "messages": tuple(Message(**message) for message in one["messages"])})
            for one in data["examples"]
        ]
        return cls(**{**data, "examples": tuple(examples), "unknown": tuple(data["unknown"])})


async def back_translate_in(task: BackTranslationTask, settings: Settings, options: Options) -> BackTranslation:
    """Make the training data, and replay the recorded calls.

    Raises:
        FabulaError: an error of any kind; all finished calls are kept, and the same command continues from there.
    """
    prepared = PreparedMethod(settings, options, METHOD)
    make_folder(task.folder, "Choose another folder with --out.")
    usable = Usable(task)
    with journal_in(task.folder) as journal:
        async with prepared.opened(journal) as context:
            with recorded_run(prepared, context):
                found = await story_data(task, context, usable.sides(task.items))
        return write_stories(task, found, usable.left_out, context.seed, journal.calls.performers())


@dataclass(frozen=True)
class BackTranslating:
    """Back-translation story by story, as workers do it.

    Attributes:
        task: the task without its stories.
        sides: decides which stories can be data, and to which side their sets assign them.
    """

    task: BackTranslationTask
    sides: Usable
    size: int = 20

    @property
    def method(self) -> Method:
        """The method whose roles are called."""
        return METHOD

    @property
    def of(self) -> str:
        """Everything other than the stories that affects the result."""
        task = self.task
        return repr((task.settings, task.able, task.ask_tasks, sorted(self.sides.trained)))

    def usable(self, items: Iterator[Item]) -> Iterator[Item]:
        """The stories that can be data."""
        return (item for item, _ in self.sides.sides(items))

    def place(self, item: Item) -> str:
        """The place where the calls for a story are recorded."""
        return f"story/{item.id}"

    async def rows(self, items: Sequence[Item], context: RunContext) -> list[tuple[Any, bytes]]:
        """The result for each story."""
        sides = [(item, self.sides.side(item)) for item in items]
        return [(asdict(one), b"") for one in await story_data(self.task, context, sides)]


async def dry_run_back_translation(task: BackTranslationTask, settings: Settings, options: Options) -> DryRun:
    """The calls and cost of `back_translate_in` now. It calls no model and writes nothing."""
    prepared = PreparedMethod(settings, options, METHOD)
    with journal_to_read(task.folder) as journal:
        async with prepared.opened(journal, dry=True) as context:
            await _each(task, context, [item for item, _ in Usable(task).sides(task.items)])
    return context.dry_run


class Usable:
    """Decides which stories can be data, and to which side their sets assign them.

    Attributes:
        trained: the sets whose train side is here.
        left_out: why stories cannot be data, by id, for the stories read last.
    """

    def __init__(self, task: BackTranslationTask, items: Iterable[Item] | None = None) -> None:
        self.trained = frozenset(
            item.source for item in (task.items if items is None else items) if _split_of(item) == "train"
        )
        self.left_out: dict[str, str] = {}
        self._ask_tasks = task.ask_tasks

    def side(self, item: Item) -> str:
        """The side that the story's set assigns: train, development or test; empty if the train side is not here."""
        return _SIDES.get(_split_of(item), "") if item.source in self.trained else ""

    def sides(self, items: Iterable[Item]) -> Iterator[tuple[Item, str]]:
        """The stories that can be data, each with the side that its set assigns."""
        self.left_out.clear()
        seen: dict[bytes, str] = {}
        for item in items:
            side = self.side(item)
            if not count_words(item.story.text):
                self.left_out[item.id] = "It is empty."
            elif side == "test":
                self.left_out[item.id] = "The story is in the test split of its set, which is reserved for measuring."
            elif item.brief is None and not self._ask_tasks:
                self.left_out[item.id] = (
                    "The story's task is unknown. With --ask-tasks, a model writes a task from the story."
                )
            elif (first := seen.setdefault(_digest(item), item.id)) != item.id:
                self.left_out[item.id] = f"The story is the same as {first}."
            else:
                yield item, side


def _digest(item: Item) -> bytes:
    return sha256(" ".join(item.story.text.split()).encode("utf-8", "replace")).digest()


def _split_of(item: Item) -> str:
    """The split of a story; the ids of a set with splits are `SET/SPLIT/NUMBER`."""
    return item.id.split("/")[1] if item.source and item.id.count("/") > 1 else ""


async def _each(task: BackTranslationTask, context: RunContext, items: Sequence[Item]) -> list[BackTranslated | str]:
    """The result for each story, or why it has none."""
    players = [context.cast.assignment(role).performer for role in METHOD.roles]
    room = asyncio.Semaphore(max(one.capabilities.parallel for one in players))
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


async def story_data(
    task: BackTranslationTask, context: RunContext, usable: Iterable[tuple[Item, str]]
) -> list[StoryData]:
    """The result for each story."""
    stories = list(usable)
    found = await _each(task, context, [item for item, _ in stories])
    asked, made = _asked(task), []
    for (item, side), one in zip(stories, found, strict=True):
        data = StoryData(item.id, item.source, side, item.brief.text if item.brief else item.id)
        if isinstance(one, str):
            made.append(replace(data, reason=one))
            continue
        try:
            examples = await _examples(task, asked, item, one)
        except ReplyError as error:
            made.append(replace(data, reason=str(error)))
        else:
            made.append(replace(data, examples=tuple(examples), unknown=tuple(_unknown(item, one, examples))))
    return made


def write_stories(
    task: BackTranslationTask,
    stories: Iterable[StoryData],
    left_out: Mapping[str, str],
    seed: int,
    performers: Sequence[str],
) -> BackTranslation:
    """Write the results as training data.

    Args:
        task: the task that the stories belong to.
        stories: the results, which are read several times, one at a time.
        left_out: why other stories cannot be data, by id.
        seed: the seed for drawing the stories that are held out.
        performers: the models that were paid for.
    """
    left_out, unknown, made, agents = dict(left_out), Counter[str](), list[StoryData](), list[tuple[str, ...]]()
    for one in stories:
        if one.reason:
            left_out[one.id] = one.reason
        else:
            made.append(replace(one, examples=(), unknown=()))
            agents.append(tuple(intern(example.agent) for example in one.examples))
            unknown.update(one.unknown)
    aside = _aside(made, task.development, seed)

    def of_side(side: Split) -> Iterator[Example]:
        for one in stories:
            if (one.id in aside) == (side == "development"):
                yield from one.examples

    lines = [{"group": name, "reason": reason} for name, reason in left_out.items()]
    lines += [{"group": "", "reason": reason} for reason in task.empty]
    counts: dict[str, Any] = {}
    for side in ("train", "development"):
        some = [own for one, own in zip(made, agents, strict=True) if (one.id in aside) == (side == "development")]
        counts[side] = {"stories": sum(map(bool, some)), "agents": dict(Counter(chain.from_iterable(some)))}
    counts |= {"left_out": len(lines), UNKNOWN: dict(unknown.most_common(_MOST_UNKNOWN))}
    sources = sources_of(one.source for one, own in zip(made, agents, strict=True) if own)
    card = DataCard("examples", _how(task, seed, performers), sources, counts)
    write_data(task.folder, card, {"train": of_side("train"), "development": of_side("development")}, lines)
    return BackTranslation(lines, card)


@dataclass(frozen=True)
class StoriesOf:
    """The results for stories, read from their rows on each iteration."""

    rows: StoryRows

    def __iter__(self) -> Iterator[StoryData]:
        return (StoryData.of(data) for data, _ in self.rows)


def _unknown(item: Item, made: BackTranslated, examples: Sequence[Example]) -> list[str]:
    """For each example, capitalised words of the notes that are in neither the story nor its task."""
    known = f"{made.brief.titled}\n\n{item.story.text}"
    names = dict.fromkeys(name for note in made.notes.values() for name in unknown_capitals(note, known))
    texts = ["\n".join((one.completion, *(message.content for message in one.messages))) for one in examples]
    return [name for name in names for text in texts if name in text]


def _aside(made: Sequence[StoryData], share: float, seed: int) -> set[str]:
    """The stories that are held out: those that their sets assign, or else those of a share of all tasks.

    All stories of one task are on the same side.
    """
    divided = {one.source for one in made if one.side == "development"}
    tasks = held_aside((one.task for one in made if one.source not in divided), share, seed)
    return {one.id for one in made if (one.side == "development" if one.source in divided else one.task in tasks)}


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
    """The answer of each role of the variant."""
    if task.variant == END_TO_END:
        return {"writer": plain(story)}
    if task.variant == "plan":
        return {**made.notes, "finalizer": plain(story)}
    sections = dict(zip(ROLES_OF_PARTS, (plain(section) for section in made.sections), strict=True))
    return {**made.notes, **sections}


def config_for(task: BackTranslationTask, brief: Brief, texts: Mapping[str, str]) -> Any:  # noqa: ANN401 - of either system
    """The system's settings; if they ask for lengths, with the true lengths of this story."""
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
    """The model's name without its folder: the card is published, and the folder concerns only this machine."""
    kind, colon, rest = performer.partition(":")
    return f"{kind}{colon}{Path(rest).name}" if "/" in rest else performer


def _how(task: BackTranslationTask, seed: int, performers: Sequence[str]) -> dict[str, Any]:
    """How the data was made, for its card."""
    settings = task.settings
    return {
        "command": "fabula data backtranslate",
        "system": settings.system,
        "variant": task.variant,
        "preset": settings.preset,
        "settings": values_of(task.config),
        "aids": settings.aids_in_force,
        "for": task.learner,
        "seed": seed,
        "teachers": sorted({_published(one) for one in performers}),
        "development": task.development,
    }
