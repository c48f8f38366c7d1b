"""The texts of one prompt before the judge, all at once, in one order of labels."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError
from fabula.craft.levels import CATEGORIES
from fabula.craft.raters import mark_for
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fabula.craft.levels import Level, Passage
    from fabula.engine.run import Run
    from fabula.evaluators.rubric.algorithm import Config
    from fabula.measure.items import Item

ROLE: Final = "judge"
OVERALL: Final = "overall"
LABELS: Final = "ABCDEFGHIJKL"
MOST: Final = len(LABELS)
HIGHEST: Final = 100
_REASON_LETTERS: Final = 240
_INSTRUCTION_TOKENS: Final = 900  # of the prompt without the texts, with room for the schema


@dataclass(frozen=True, slots=True)
class Group:
    """Passages that are compared: one of each story of a prompt, at the same fraction of each.

    Attributes:
        number: of the group among those of its prompt and level, from 1.
    """

    items: tuple[Item, ...]
    passages: tuple[Passage, ...]
    number: int

    @property
    def level(self) -> Level:
        """Which kind of passages these are."""
        return self.passages[0].level

    @property
    def id(self) -> tuple[str, str, int]:
        """Prompt, level and number."""
        return self.items[0].prompt, self.level, self.number


@dataclass(frozen=True, slots=True)
class Call:
    """A group in one order: `order` has the places of its items as they are shown."""

    group: Group
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """What came of a call.

    Attributes:
        at: path of the call.
        by: who judged.
        given: for each text in the order shown, its scores by category and `OVERALL`; `None` where there are none.
        reasons: what was said of each.
        why_not: why there are none.
    """

    call: Call
    at: str
    by: str
    given: tuple[Mapping[str, float], ...] | None
    reasons: tuple[str, ...] = ()
    why_not: str = ""

    @property
    def shown(self) -> tuple[Item, ...]:
        """The items in the order shown."""
        return tuple(self.call.group.items[place] for place in self.call.order)


def groups_of(items: Sequence[Item], sets: Sequence[Sequence[Passage]]) -> list[Group]:
    """The groups of one prompt and level."""
    return [Group(tuple(items), tuple(passages), number) for number, passages in enumerate(sets, 1)]


def orders_of(count: int, most: int, seed: str) -> tuple[tuple[int, ...], ...]:
    """At most `most` orders of `count` texts: all, where there are not more; else turns of seeded shuffles.

    Turns of one shuffle have every text in every place once. Where `most` is not a multiple of `count`, what does not
    make a whole turn is left out, unless it is all there is.
    """
    if factorial(count) <= most:
        return tuple(permutations(range(count)))
    rng = random.Random(f"{seed}/orders")  # noqa: S311 - reproducible draws are wanted, not secrets
    found: dict[tuple[int, ...], None] = {}
    wanted = most // count * count or most
    while len(found) < wanted:
        shuffled = list(range(count))
        rng.shuffle(shuffled)
        turns = [tuple(shuffled[n:] + shuffled[:n]) for n in range(count)]
        if not found.keys() & set(turns):
            found.update(dict.fromkeys(turns[: wanted - len(found)]))
    return tuple(found)


@lru_cache
def scores_type(categories: tuple[str, ...], labels: str) -> type[BaseModel]:
    """The reply's type: for every label a reason, a score in each category, and one overall."""
    told: Any = Field(json_schema_extra={"maxLength": _REASON_LETTERS})
    # Whole numbers are asked for, because engines can hold a model to their range; fractions are read too.
    score: Any = Field(ge=0, le=HIGHEST, json_schema_extra={"type": "integer"})
    named: dict[str, Any] = {_field(name): (float, score) for name in (*categories, OVERALL)}
    one: Any = create_model("Text", reason=(str, told), **named)
    several: dict[str, Any] = dict.fromkeys(labels, (one, ...))
    return create_model("Rubric", **several)


def _field(category: str) -> str:
    return slug(category).replace("-", "_")


@dataclass(frozen=True, slots=True)
class Judge:
    """The judge of a run, asked as the configuration wants."""

    run: Run
    config: Config

    @property
    def who(self) -> str:
        """Who judges."""
        return self.run.context.cast.assignment(ROLE).performer.identity

    def calls(self, group: Group) -> Iterator[Call]:
        """The group in each of its orders."""
        seed = "/".join(map(str, (self.config.seed, *group.id)))
        for order in orders_of(len(group.items), self.config.orders, seed):
            yield Call(group, order)

    async def scores(self, call: Call) -> Scores:
        """The scores of all texts shown; a reply that cannot be read says why.

        Raises:
            ModelError: the judge did not answer.
            BudgetError: the cap is reached.
        """
        group = call.group
        texts = [group.passages[place].text for place in call.order]
        shown = "-".join(str(place + 1) for place in call.order)
        run = self.run.scope(group.items[0].prompt or "stories", group.level, group.number, shown)
        if why := self._too_long(group):
            return Scores(call, run.at, self.who, None, why_not=why)
        labels = LABELS[: len(texts)]
        categories = CATEGORIES[group.level]
        sampling = Sampling(temperature=self.config.temperature, max_tokens=self.config.max_tokens)
        try:
            said = await run.ask_for(
                scores_type(tuple(categories), labels), ROLE, "score", sampling=sampling,
                texts=list(zip(labels, texts, strict=True)), level=group.level, categories=list(categories.items()),
                guard=self.config.guard, mark=mark_for(*texts),
            )  # fmt: skip
        except ReplyError as error:
            return Scores(call, run.at, self.who, None, why_not=str(error))
        each = [getattr(said, label) for label in labels]
        given = tuple({name: getattr(one, _field(name)) for name in (*categories, OVERALL)} for one in each)
        return Scores(call, run.at, self.who, given, tuple(one_line(one.reason) for one in each))

    def _too_long(self, group: Group) -> str:
        """Why the texts cannot be shown to this judge together; empty where they can."""
        room = self.run.window(ROLE)
        texts = sum(estimate_tokens(passage.text) for passage in group.passages)
        needed = texts + self.config.max_tokens + _INSTRUCTION_TOKENS
        if room is None or needed <= room:
            return ""
        return (
            f"{len(group.passages)} texts of the level {group.level} and a reply need about {needed:,} tokens, and the "
            f"judge has room for {room:,}. Take one with more room, or leave this level out with --set "
            "levels=chapter,sentence."
        )
