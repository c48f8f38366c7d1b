"""The texts of the data sets by name, one at a time: every set through one door, as stories with their prompts."""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from fabula.base.errors import UnknownNameError, UsageError
from fabula.data import dialogsum, hanna, tell_me_a_story, ttcw, wikiplots, writing_prompts
from fabula.data.sets import SETS
from fabula.measure.items import Item
from fabula.story import Brief, Story, count_words, slug

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from fabula.data.dialogsum import Dialogue
    from fabula.data.sets import DataSet
    from fabula.data.wikiplots import WikiPlot
    from fabula.data.writing_prompts import PromptedStory


BY_PEOPLE: Final = ("tell-me-a-story", "writing-prompts", "hanna")
"""The sets whose stories people wrote for the prompts next to them."""


class CorpusText(NamedTuple):
    """A text of a set that is not made into a story yet, since most of a large set are never asked for.

    Attributes:
        key: what it is called in its set, the same on every machine.
        prompt: what was asked for; empty where the set does not say.
        asked: what the prompt is called wherever it is read, as a brief or with its stories; empty where there is none.
        read: gives the story.
    """

    key: str
    prompt: str
    asked: str
    read: Callable[[], Item]


def entries(data: DataSet, split: str, folder: Path) -> Iterator[CorpusText]:
    """The texts of a set, or of one of its splits, as they stand there; one at a time.

    Args:
        data: one of the sets that hold texts.
        split: one of its splits; empty for all of them, one after the other.
        folder: that holds it.

    Raises:
        UnknownNameError: it has no such split.
        UsageError: it holds no texts, or a file is absent, damaged or too large.
    """
    if data.holds == "numbers":
        known = ", ".join(name for name, one in SETS.items() if one.holds != "numbers")
        raise UsageError(
            f"{data.name} contains numbers, not stories; `fabula lab reproduce` uses it. Sets with stories: {known}."
        )
    if split and split not in data.splits:
        if not data.splits:
            raise UsageError(f"{data.name} has no splits. Use {data.name} alone.")
        raise UnknownNameError(f"split of {data.name}", split, data.splits)
    if not data.is_in(folder):
        fetch = f" or fetch it with `fabula lab reproduce --fetch {data.name}`" if data.files else ""
        raise UsageError(
            f"The data set {data.name} is not in {folder}. Put its files there ({data.source}){fetch}; --data DIR, or "
            "FABULA_DATA, names the folder of all sets."
        )
    for part in (split,) if split or not data.splits else _there(data, folder):
        yield from _READERS[data.name](folder, part)


def _there(data: DataSet, folder: Path) -> tuple[str, ...]:
    """Of a set of which all is wanted, the splits; of DialogSum, which is often had in part, those that are there."""
    return dialogsum.splits(folder) if data.name == "dialogsum" else data.splits


def prompt_id(prompt: str) -> str:
    """What a prompt is called whose set gives it no name: stories of one prompt have one."""
    return sha256(prompt.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def brief_of(prompt: str, where: str) -> Brief | None:
    """The brief in a prompt; `None` where there are no words in it."""
    return Brief.of_text(prompt, where) if count_words(prompt) else None


def _of_items(items: tuple[Item, ...]) -> Iterator[CorpusText]:
    for item in items:
        yield CorpusText(item.id, item.brief.titled if item.brief else "", item.prompt, partial(_same, item))


def _same(item: Item) -> Item:
    return item


def _tell_me_a_story(folder: Path, split: str) -> Iterator[CorpusText]:
    yield from _of_items(tell_me_a_story.stories(folder, split))  # type: ignore[arg-type] # `entries` has looked


def _ttcw(folder: Path, _: str) -> Iterator[CorpusText]:
    yield from _of_items(ttcw.stories(folder))


def _hanna(folder: Path, _: str) -> Iterator[CorpusText]:
    for story in hanna.measured_stories(folder):
        name = f"hanna/{story.number}"
        brief = brief_of(story.prompt, name)
        yield from _of_items((Item(name, Story.of_text(story.story), "Human", slug(name), brief),))


def _wikiplots(folder: Path, _: str) -> Iterator[CorpusText]:
    for number, plot in enumerate(wikiplots.plots(folder), 1):
        yield CorpusText(f"wikiplots/{number}", "", "", partial(_plot, number, plot))


def _plot(number: int, plot: WikiPlot) -> Item:
    story = Story.of_text(plot.text)
    return Item(f"wikiplots/{number}", Story(plot.title, story.scenes), "Wikipedia", str(number))


def _writing_prompts(folder: Path, split: str) -> Iterator[CorpusText]:
    for one in writing_prompts.stories(folder, split):  # type: ignore[arg-type] # `entries` has looked
        yield CorpusText(
            f"writing-prompts/{split}/{one.number}", one.prompt, _asked(one), partial(_prompted, split, one)
        )


def _prompted(split: str, one: PromptedStory) -> Item:
    name = f"writing-prompts/{split}/{one.number}"
    return Item(name, Story.of_text(one.story), "Reddit", _asked(one), brief_of(one.prompt, name))


def _asked(one: PromptedStory) -> str:
    return f"writing-prompts-{prompt_id(one.prompt)}" if one.prompt else ""


def _dialogsum(folder: Path, split: str) -> Iterator[CorpusText]:
    for one in dialogsum.dialogues(folder, split):  # type: ignore[arg-type] # `entries` has looked
        yield CorpusText(f"dialogsum/{split}/{one.id}", "", "", partial(_dialogue, split, one))


def _dialogue(split: str, one: Dialogue) -> Item:
    """A dialogue, with a person's summary as what it plays."""
    return Item(f"dialogsum/{split}/{one.id}", Story.of_text(one.dialogue), "", one.id, narrative=one.summary)


_READERS: Final[Mapping[str, Callable[[Path, str], Iterator[CorpusText]]]] = {
    "tell-me-a-story": _tell_me_a_story,
    "wikiplots": _wikiplots,
    "writing-prompts": _writing_prompts,
    "ttcw": _ttcw,
    "hanna": _hanna,
    "dialogsum": _dialogsum,
}
