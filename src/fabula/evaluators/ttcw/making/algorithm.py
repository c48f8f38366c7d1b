"""Section 3.1: the plot of a reference, and a candidate for that plot.

plot = LLM_extract(reference)    candidate = LLM(plot)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import UsageError
from fabula.craft.length import parse_range
from fabula.craft.prose import Prose, clean_reply, write_prose
from fabula.engine.run import side_by_side
from fabula.measure.report import Report, Row
from fabula.models.base import Sampling
from fabula.stats.estimate import Estimate
from fabula.story import count_words, one_line
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.evaluators.ttcw.making.config import Config
    from fabula.measure.items import Item

NAME: Final = "ttcw-making"
USUAL_WORDS: Final = 1400  # of a candidate without a number of words: the stories of the tests' data have about so many
_LABELS: Final = ("Plot", "The plot", "The plot is", "Plot summary", "Summary")
_QUOTES: Final = '"\u201c\u201d '
_PLOT_SPARE: Final = 2  # tokens of a small model's reply for each word of a plot


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """A plot or a candidate for each item, in `details["texts"]` by id; the rows count their words.

    Raises:
        UsageError: the number of words is none.
        ReplyError: a role gives no usable text.
    """
    if config.plot_words < 1 or config.sentences < 0 or (config.max_tokens or 1) < 1:
        raise UsageError("plot_words and max_tokens are 1 or more, sentences is 0 or more. Change the setting.")
    want = parse_range(config.words) if config.words else None
    make = plot_of if config.what == "plot" else candidate_from
    made = await side_by_side(make(item.story.text, run.scope(item.id), config, want) for item in items)
    texts = {item.id: text for item, text in zip(items, made, strict=True)}
    rows = tuple(Row(name, "words", Estimate(count_words(text), 1, method="words")) for name, text in texts.items())
    how: dict[str, Any] = {"what": config.what, "words": config.words, "length_control": config.length_control}
    return Report(NAME, how, rows, details={"texts": texts})


async def plot_of(story: str, run: Run, config: Config, want: WordRange | None = None) -> str:
    """The plot of a story, on one line; one call. No length but that of `config` counts for it.

    Of a small model's reply only as many sentences are kept as are asked for: what it says beyond is about the story.

    Raises:
        ModelError: the reader did not answer.
    """
    del want
    short = run.reply_tokens("reader", short=config.plot_words * _PLOT_SPARE + 32)
    sampling = Sampling(temperature=0, max_tokens=min(filter(None, (short, config.max_tokens)), default=None))
    fields = {"story": story, "words": config.plot_words, "sentences": config.sentences}
    reply = await run.reply("reader", "plot", sampling=sampling, expect=config.plot_words, **fields)
    text = clean_reply(run, "reader", reply, labels=_LABELS)
    plot = one_line(text).strip(_QUOTES) or one_line(reply.text)
    return " ".join(sentences(plot)[: config.sentences or None]) if run.aids("reader") else plot


async def candidate_from(plot: str, run: Run, config: Config, want: WordRange | None) -> str:
    """A story for a plot; one call, more where it misses its words and its length is controlled.

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
