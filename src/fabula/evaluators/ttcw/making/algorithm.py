"""Section 3.1: the plot of a reference, and a candidate for that plot."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft.length import parse_range
from fabula.craft.prose import Prose, write_prose
from fabula.engine.replies import clean_prose
from fabula.measure.report import Report, Row
from fabula.models.base import Sampling
from fabula.stats.estimate import Estimate
from fabula.story import count_words, one_line
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.measure.items import Item

What: TypeAlias = Literal["plot", "candidate"]
NAME: Final = "ttcw-making"
USUAL_WORDS: Final = 1400  # of a candidate without a number of words: the stories of the tests' data have about so many
_LABELS: Final = ("Plot", "The plot", "The plot is", "Plot summary", "Summary")
_QUOTES: Final = '"\u201c\u201d '
_PLOT_SPARE: Final = 2  # tokens allowed for each word of a plot


@dataclass(frozen=True, slots=True)
class Config:
    """Settings; the paper names none of these values.

    Attributes:
        what: "plot" takes the plot out of each story, "candidate" writes a story for each plot.
        words: of a candidate ("1400", "1300-1500"); empty asks for none.
        plot_words: at most so many in a plot; plots of the tests' data have about 50.
        sentences: a plot has at most so many; 0 is no bound. One, as in the tests' data.
        length_control: a candidate that misses its words is continued or cut (ours).
        max_tokens: bounds each reply.
    """

    what: What = "plot"
    words: str = ""
    plot_words: int = 60
    sentences: int = 1
    length_control: bool = False
    max_tokens: int = 4096

    @classmethod
    def faithful(cls) -> Config:
        """One call for a plot, one for a candidate."""
        return cls()

    @classmethod
    def improved(cls) -> Config:
        """Ours: a candidate of the length asked for."""
        return replace(cls(), length_control=True)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """A plot or a candidate for each item, in `details["texts"]` by id; the rows count their words.

    Raises:
        UsageError: the number of words is none.
        ReplyError: a role gives no usable text.
    """
    if config.plot_words < 1 or config.sentences < 0 or config.max_tokens < 1:
        raise UsageError("plot_words and max_tokens are 1 or more, sentences is 0 or more. Change the setting.")
    want = parse_range(config.words) if config.words else None
    async with asyncio.TaskGroup() as group:
        tasks = {item.id: group.create_task(_made(item, run.scope(item.id), config, want)) for item in items}
    texts = {name: task.result() for name, task in tasks.items()}
    rows = tuple(Row(name, "words", Estimate(count_words(text), 1, method="words")) for name, text in texts.items())
    how: dict[str, Any] = {"what": config.what, "words": config.words, "length_control": config.length_control}
    return Report(NAME, how, rows, details={"texts": texts})


async def _made(item: Item, run: Run, config: Config, want: WordRange | None) -> str:
    if config.what == "plot":
        return await plot_of(item.story.text, run, config)
    return await candidate_from(item.story.text, run, config, want)


async def plot_of(story: str, run: Run, config: Config) -> str:
    """The plot of a story, on one line; one call.

    Raises:
        ModelError: the reader did not answer.
    """
    sampling = Sampling(temperature=0, max_tokens=min(config.plot_words * _PLOT_SPARE + 32, config.max_tokens))
    fields = {"story": story, "words": config.plot_words, "sentences": config.sentences}
    reply = await run.reply("reader", "plot", sampling=sampling, expect=config.plot_words, **fields)
    text = clean_prose(reply.text, labels=_LABELS, last=True, echo=(), finish=reply.finish).text
    told = sentences(one_line(text).strip(_QUOTES)) or [one_line(reply.text)]
    return " ".join(told[: config.sentences or None])


async def candidate_from(plot: str, run: Run, config: Config, want: WordRange | None) -> str:
    """A story for a plot; one call, more where it comes out too short and its length is controlled.

    Raises:
        ModelError: the writer did not answer.
        ReplyError: the writer gives no usable prose.
    """
    fields = {"plot": plot}
    if config.length_control:
        prose = Prose(last=True, want=want, labels=("Plot", "Story"), usual=USUAL_WORDS)
        return await write_prose(run, "writer", "candidate", prose, config.max_tokens, before=[plot], fields=fields)
    sampling = Sampling(max_tokens=config.max_tokens)
    expect = want.target if want else USUAL_WORDS
    reply = await run.reply("writer", "candidate", sampling=sampling, expect=expect, words=want, **fields)
    return reply.text.strip()
