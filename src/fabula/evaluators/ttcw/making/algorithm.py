"""Section 3.1: the plot of a reference, and a candidate for that plot.

plot = LLM_extract(reference)    candidate = LLM(plot)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.craft.length import parse_range
from fabula.craft.prose import clean_reply
from fabula.engine.run import side_by_side
from fabula.measure.report import Report, Row
from fabula.models.base import Sampling
from fabula.stats.estimate import Estimate
from fabula.story import count_words, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.making.config import Config
    from fabula.measure.items import Item

    Writer: TypeAlias = Callable[[str, Run, Config, WordRange | None], Coroutine[Any, Any, str]]

NAME: Final = "ttcw-making"
USUAL_WORDS: Final = 1400  # of a candidate without a number of words: the stories of the tests' data have about so many
_LABELS: Final = ("Plot", "The plot", "The plot is", "Plot summary", "Summary")
_QUOTES: Final = '"\u201c\u201d '


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """A plot or a candidate for each item, in `details["texts"]` by id; the rows count their words.

    Raises:
        UsageError: the number of words is not valid.
        ModelError: a role did not answer.
    """
    return await made_by(candidate_from, items, run, config)


async def made_by(write: Writer, items: Sequence[Item], run: Run, config: Config) -> Report:
    """The report on the plots, or on the candidates that `write` makes.

    Raises:
        UsageError: the number of words is not valid.
        ModelError: a role did not answer.
    """
    if config.plot_words < 1 or (config.max_tokens or 1) < 1:
        raise UsageError("plot_words and max_tokens must be 1 or more. Change the setting.")
    want = parse_range(config.words) if config.words else None
    make = plot_of if config.what == "plot" else write
    made = await side_by_side(make(item.story.text, run.scope(item.id), config, want) for item in items)
    texts = {item.id: text for item, text in zip(items, made, strict=True)}
    rows = tuple(Row(name, "words", Estimate(count_words(text), 1, method="words")) for name, text in texts.items())
    return Report(NAME, {"what": config.what, "words": config.words}, rows, details={"texts": texts})


async def plot_of(story: str, run: Run, config: Config, want: WordRange | None = None) -> str:
    """The plot of a story, on one line, in one call. Only the length in `config` applies to it.

    Raises:
        ModelError: the reader did not answer.
    """
    del want
    sampling = Sampling(temperature=0, max_tokens=config.max_tokens)
    reply = await run.reply("reader", "plot", sampling=sampling, story=story, words=config.plot_words)
    text = clean_reply(run, "reader", reply, labels=_LABELS)
    return one_line(text).strip(_QUOTES) or one_line(reply.text)


async def candidate_from(plot: str, run: Run, config: Config, want: WordRange | None) -> str:
    """A story for a plot, in one call.

    Raises:
        ModelError: the writer did not answer.
    """
    sampling = Sampling(max_tokens=config.max_tokens)
    reply = await run.reply("writer", "candidate", sampling=sampling, words=want, plot=plot)
    return reply.text.strip()
