"""MAGNET, section 3.4: an editor annotates the whole story, five of its scenes and five of its sentences.

`evaluate` is the procedure. Its steps follow: one call, and the choice of the comments that count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.remembering import remembered
from fabula.craft.levels import CATEGORIES, ReadingPassage, drawn, fractions, levels_in, passages_of
from fabula.craft.measuring import check_numbers
from fabula.craft.quoting import Quotable, normalised
from fabula.craft.raters import mark_for, reply_or_why, too_long
from fabula.engine.methods import values_of
from fabula.engine.replies import short
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.editorial.report import NOT_QUOTED, Annotation, PassageRead, annotation_id, report_of
from fabula.models.base import Sampling
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from fabula.evaluators.editorial.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


ROLE: Final = "editor"
_SHORT_REPLY: Final = 2000  # tokens of a small editor's reply


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The number of comments on each story, by level and category, whose quotations are in the text. Fewer are better.

    Raises:
        UsageError: a setting is wrong, or a story has no words.
        ModelError: the editor did not answer.
        BudgetError: the cap is reached.
    """
    check_numbers(config, from_1=("passages", "cap", "max_tokens"), from_0=("temperature",))
    levels = levels_in(config.paper.levels)
    found = {(item.id, level): passages_of(item.story, level) for item in items for level in levels}

    # The editor is "provided the whole story", "5 randomly selected scenes" and "5 randomly selected sentences".
    chosen = [
        (item, passage)
        for item in items
        for level in levels
        for passage in drawn(
            found[item.id, level], fractions(level, config.paper.passages, config.paper.seed, item.prompt)
        )
    ]

    # "The LLM evaluator is asked to produce editorial annotations."
    reads = await side_by_side(annotate(item, passage, run, config) for item, passage in chosen)

    # "The resulting annotation counts are aggregated to produce quantitative statistics for each generated story."
    how = values_of(config) | {"levels": ", ".join(levels), "editor": run.room(ROLE).model.identity}
    return report_of(items, levels, reads, how)


async def annotate(item: Item, passage: ReadingPassage, run: Run, config: Config) -> PassageRead:
    """The editor's comments on a passage, or the reason why its reply cannot be read.

    Raises:
        ModelError: the editor did not answer.
        BudgetError: the cap is reached.
    """
    at = run.scope(item.id, passage.level, passage.place)
    by = run.room(ROLE).model.identity
    limit = config.paper.max_tokens or run.room(ROLE).reply_tokens(short=_SHORT_REPLY)
    if why := too_long(run, ROLE, f"The {passage.level}", [passage.text], limit):
        return PassageRead(item, passage, at.at, by, None, why)
    categories = CATEGORIES[passage.level]
    reply, why = await reply_or_why(
        at,
        comments_type(tuple(categories)),
        ROLE,
        "annotate",
        Sampling(temperature=config.paper.temperature, max_tokens=limit),
        passage=passage,
        categories=list(categories.items()),
        mark=mark_for(passage.text, passage.before, passage.after),
    )
    if reply is None:
        return PassageRead(item, passage, at.at, by, None, why)
    annotations, dropped = valid_comments(item, passage, reply.comments, config)
    return PassageRead(item, passage, at.at, by, annotations, dropped=dropped)


def valid_comments(
    item: Item, passage: ReadingPassage, comments: Sequence[Comment], config: Config
) -> tuple[tuple[Annotation, ...], Counter[str]]:
    """The comments that count, and the number of others by reason.

    A comment counts if its category belongs to the level, it is not empty, and its quotation is in the passage. A
    second comment of the same category on the same words is a repetition.
    """
    names = {slug(name): name for name in CATEGORIES[passage.level]}
    text = Quotable.of(passage.text)
    dropped: Counter[str] = Counter()
    kept: dict[tuple[str, str], Annotation] = {}
    for n, one in enumerate(comments):
        category = names.get(slug(one.category), "")
        comment, quote = one_line(one.comment), one_line(one.quote)
        key = category, normalised(quote)
        wrong = {
            "over the cap": n >= config.paper.cap,
            "the category is none of the level's": not category,
            "nothing is said": not comment,
            NOT_QUOTED: not text.has(quote),
            "a repetition": key in kept,
        }
        if reason := next((why for why, holds in wrong.items() if holds), ""):
            dropped[reason] += 1
        else:
            name = annotation_id(item.id, passage.level, passage.place, n, comment, quote)
            kept[key] = Annotation(name, item.id, passage.level, passage.place, category, comment, quote)
    return tuple(kept.values()), dropped


class Comment(BaseModel):
    """A comment as the editor gives it."""

    category: str
    quote: Annotated[str, short(300)]
    comment: Annotated[str, short(400)]


class Comments(BaseModel):
    """All comments on a passage; none is an answer too."""

    comments: Annotated[list[Comment], short(40)]


@remembered(16)
def comments_type(categories: tuple[str, ...]) -> type[Comments]:
    """The reply's type. The category is bound in its schema alone: one bad comment must not cost the others."""
    names: Any = Field(json_schema_extra={"enum": list(categories)})
    comment: Any = create_model("LevelComment", __base__=Comment, category=(str, names))
    return create_model("LevelComments", __base__=Comments, comments=(Annotated[list[comment], short(40)], ...))
