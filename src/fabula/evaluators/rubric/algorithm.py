"""MAGNET, section 3.4: a judge sees the stories of all systems at once and scores each in every category, 0 to 100.

`evaluate` is the procedure. Its steps follow: which stories are shown together, in which orders, and one call.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.craft.levels import CATEGORIES, fractions, levels_in, passages_of, sets_of
from fabula.craft.measuring import check_numbers
from fabula.craft.raters import mark_for, reply_or_why, too_long
from fabula.engine.methods import values_of
from fabula.engine.replies import short
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.rubric.report import OVERALL, PassageSet, RubricScores, report_of
from fabula.models.base import Sampling
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from fabula.evaluators.rubric.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


ROLE: Final = "judge"
LABELS: Final = "ABCDEFGHIJKL"
HIGHEST: Final = 100
_SHORT_REPLY: Final = 2048  # tokens of a small judge's reply


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The mean score of each system, by level and category, and the effect of the place in which a text is shown.

    Raises:
        UsageError: a setting is wrong, too many systems answer a prompt, or a story has no words.
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    check(items, config)
    levels = levels_in(config.paper.levels)
    seed = config.paper.seed
    calls = []
    numbers: Counter[tuple[str, str]] = Counter()
    for stories in shown_together(items):
        prompt = stories[0].prompt

        # "across the three hierarchies": whole stories, five scenes and five sentences of each.
        for level in levels:
            at = fractions(level, 1 if level == "story" else config.paper.passages, seed, prompt)
            for passages in sets_of([passages_of(item.story, level) for item in stories], at):
                numbers[prompt, level] += 1
                shown = PassageSet(prompt, level, numbers[prompt, level], stories, passages)

                # "The evaluator is provided with all the stories in a randomized order."
                orders = orders_of(len(stories), config.paper.orders, f"{seed}/{prompt}/{level}/{shown.number}")
                calls += [score(shown, order, run, config) for order in orders]

    # "It assigns a rubric score out of 100 for each category and also assigns an overall quality score out of 100."
    found = await side_by_side(calls)
    how = values_of(config) | {"levels": ", ".join(levels), "judge": run.room(ROLE).model.identity}
    return report_of(items, levels, found, how)


def check(items: Sequence[Item], config: Config) -> None:
    """Refuse settings out of range, and more systems on a prompt than a judge can be shown at once.

    Raises:
        UsageError: a setting is out of range, or there are too many systems.
    """
    check_numbers(config, from_1=("passages", "orders", "max_tokens"), from_0=("temperature",))
    levels_in(config.paper.levels)
    for stories in shown_together(items):
        if (count := len(stories)) > len(LABELS):
            named = f"The prompt {prompt!r} has" if (prompt := stories[0].prompt) else "There are"
            raise UsageError(
                f"{named} stories by {count} systems, but a judge can see only {len(LABELS)} at once. Give fewer, or "
                "compare them in pairs with `fabula evaluate pairwise`."
            )


def shown_together(items: Sequence[Item]) -> list[tuple[Item, ...]]:
    """The stories that a judge sees at once: those on one prompt, one from each system.

    If systems wrote several stories on a prompt, with several seeds, the first ones are shown together, and so on.
    """
    found: dict[tuple[str, int], list[Item]] = {}
    written: Counter[tuple[str, str]] = Counter()
    for item in items:
        own = item.prompt, item.contender
        found.setdefault((item.prompt, written[own]), []).append(item)
        written[own] += 1
    return [tuple(stories) for stories in found.values()]


def orders_of(count: int, most: int, seed: str) -> tuple[tuple[int, ...], ...]:
    """At most `most` orders of `count` texts: all if there are no more, else rotations of seeded shuffles.

    The rotations of one shuffle have every text in every place once. If `most` is not a multiple of `count`, an
    incomplete rotation is left out unless it is the only one.
    """
    if factorial(count) <= most:
        return tuple(permutations(range(count)))
    rng = random.Random(f"{seed}/orders")  # noqa: S311 - reproducible draws are wanted, not secrets
    found: dict[tuple[int, ...], None] = {}
    wanted = most // count * count or most
    while len(found) < wanted:
        shuffled = list(range(count))
        rng.shuffle(shuffled)
        rotations = [tuple(shuffled[n:] + shuffled[:n]) for n in range(count)]
        if not found.keys() & set(rotations):
            found.update(dict.fromkeys(rotations[: wanted - len(found)]))
    return tuple(found)


async def score(shown: PassageSet, order: Sequence[int], run: Run, config: Config) -> RubricScores:
    """The scores of all texts of a set, shown in that order, or the reason why the reply cannot be read.

    Raises:
        ModelError: the judge did not answer.
        BudgetError: the cap is reached.
    """
    level = shown.level
    items = tuple(shown.items[place] for place in order)
    texts = [shown.passages[place].text for place in order]
    labels, categories = LABELS[: len(texts)], CATEGORIES[level]
    at = run.scope(shown.prompt or "stories", level, shown.number, "-".join(str(place + 1) for place in order))
    by = run.room(ROLE).model.identity

    limit = config.paper.max_tokens or run.room(ROLE).reply_tokens(short=_SHORT_REPLY)
    if why := too_long(run, ROLE, f"{len(texts)} texts of the level {level}", texts, limit):
        return RubricScores(shown, items, at.at, by, None, why_not=why)
    reply, why = await reply_or_why(
        at,
        scores_type(tuple(categories), labels),
        ROLE,
        "score",
        Sampling(temperature=config.paper.temperature, max_tokens=limit),
        texts=list(zip(labels, texts, strict=True)),
        level=level,
        categories=list(categories.items()),
        mark=mark_for(*texts),
    )
    if reply is None:
        return RubricScores(shown, items, at.at, by, None, why_not=why)
    each = [getattr(reply, label) for label in labels]
    given = tuple({name: getattr(one, _field(name)) for name in (*categories, OVERALL)} for one in each)
    return RubricScores(shown, items, at.at, by, given, tuple(one_line(one.reason) for one in each))


@remembered(16)
def scores_type(categories: tuple[str, ...], labels: str) -> type[BaseModel]:
    """The reply's type: for every label a reason, a score in each category, and one overall."""
    # Whole numbers are asked for, because engines can hold a model to their range; fractions are read too.
    number: Any = Field(ge=0, le=HIGHEST, json_schema_extra={"type": "integer"})
    scores: dict[str, Any] = {_field(name): (float, number) for name in (*categories, OVERALL)}
    one: Any = create_model("Text", reason=(Annotated[str, short(240)], ...), **scores)
    several: dict[str, Any] = dict.fromkeys(labels, (one, ...))
    return create_model("Rubric", **several)


def _field(category: str) -> str:
    return slug(category).replace("-", "_")
