"""One passage before the editor: the call, which of its comments count, and why others do not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, create_model

from fabula.base.errors import ReplyError
from fabula.craft.levels import CATEGORIES
from fabula.craft.quoting import Quotable, folded
from fabula.craft.raters import mark_for
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import one_line, slug

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.levels import Passage
    from fabula.engine.run import Run
    from fabula.evaluators.editorial.algorithm import Config
    from fabula.measure.items import Item

ROLE: Final = "editor"
NOT_QUOTED: Final = "the quotation is not in the text"
NO_CATEGORY: Final = "the category is none of the level's"
EMPTY: Final = "nothing is said"
REPEATED: Final = "a repetition"
OVER: Final = "over the cap"
_INSTRUCTION_TOKENS: Final = 900  # of the prompt without the passage, with room for the schema
_COMMENT_LETTERS, _QUOTE_LETTERS = 400, 300
_ID_LETTERS: Final = 10


class Said(BaseModel):
    """A comment as the editor gives it."""

    category: str
    quote: str
    comment: str


class Comments(BaseModel):
    """All comments on a passage; none is an answer too."""

    comments: list[Said]


@dataclass(frozen=True, slots=True)
class Annotation:
    """A comment that counts: its category is one of the level's, and its quotation stands in the passage.

    Attributes:
        id: fixed by story, passage and words; what people's answers name.
        place: number of the passage among the story's of this level, from 1.
    """

    id: str
    item: str
    level: str
    place: int
    category: str
    comment: str
    quote: str


@dataclass(frozen=True, slots=True)
class Call:
    """A passage of a story that is read."""

    item: Item
    passage: Passage


@dataclass(frozen=True, slots=True)
class Read:
    """What came of a call.

    Attributes:
        at: path of the call.
        by: who read it.
        annotations: the comments that count; `None` where the reply could not be read.
        why_not: why it could not.
        dropped: comments that do not count, by reason.
    """

    call: Call
    at: str
    by: str
    annotations: tuple[Annotation, ...] | None
    why_not: str = ""
    dropped: Counter[str] = field(default_factory=Counter)


@lru_cache
def comments_type(categories: tuple[str, ...], cap: int) -> type[Comments]:
    """The reply's type. Category and number are bound in its schema alone: one bad comment must not cost the others."""
    text: Any = Field(min_length=0, json_schema_extra={"maxLength": _COMMENT_LETTERS})
    quote: Any = Field(min_length=0, json_schema_extra={"maxLength": _QUOTE_LETTERS})
    names: Any = Field(json_schema_extra={"enum": list(categories)})
    comment = create_model("Comment", __base__=Said, category=(str, names), quote=(str, quote), comment=(str, text))
    several: Any = Field(json_schema_extra={"maxItems": cap})
    return create_model("EditorComments", __base__=Comments, comments=(list[comment], several))  # type: ignore[valid-type]  # made just above


@dataclass(frozen=True, slots=True)
class Editor:
    """The editor of a run, asked as the configuration wants."""

    run: Run
    config: Config

    @property
    def who(self) -> str:
        """Who reads."""
        return self.run.context.cast.assignment(ROLE).performer.identity

    async def read(self, call: Call) -> Read:
        """What the editor says of a passage; a reply that cannot be read says why.

        Raises:
            ModelError: the editor did not answer.
            BudgetError: the cap is reached.
        """
        passage = call.passage
        run = self.run.scope(call.item.id, passage.level, passage.place)
        if why := self._too_long(passage):
            return Read(call, run.at, self.who, None, why)
        categories = CATEGORIES[passage.level]
        shape = comments_type(tuple(categories), self.config.cap)
        sampling = Sampling(temperature=self.config.temperature, max_tokens=self.config.max_tokens)
        try:
            said = await run.ask_for(
                shape, ROLE, "annotate", sampling=sampling, passage=passage, categories=list(categories.items()),
                beside=self.config.beside, guard=self.config.guard,
                mark=mark_for(passage.text, passage.before, passage.after),
            )  # fmt: skip
        except ReplyError as error:
            return Read(call, run.at, self.who, None, str(error))
        kept, dropped = sifted(call, said.comments, self.config)
        return Read(call, run.at, self.who, kept, dropped=dropped)

    def _too_long(self, passage: Passage) -> str:
        """Why a passage cannot be shown to this editor; empty where it can."""
        room = self.run.window(ROLE)
        needed = estimate_tokens(passage.text) + self.config.max_tokens + _INSTRUCTION_TOKENS
        if room is None or needed <= room:
            return ""
        return (
            f"The {passage.level} and a reply need about {needed:,} tokens, and the editor has room for {room:,}. "
            "Take one with more room, or leave this level out with --set levels=chapter,sentence."
        )


def sifted(call: Call, said: Sequence[Said], config: Config) -> tuple[tuple[Annotation, ...], Counter[str]]:
    """The comments that count, and how many do not, by reason."""
    passage = call.passage
    names = {slug(name): name for name in CATEGORIES[passage.level]}
    text = Quotable.of(passage.text)
    dropped: Counter[str] = Counter()
    kept: dict[tuple[str, ...], Annotation] = {}
    for n, comment in enumerate(said):
        category = names.get(slug(comment.category), "")
        told, quote = one_line(comment.comment), one_line(comment.quote)
        key = (category, folded(quote)) if config.unique else (str(n),)
        wrong = {
            OVER: n >= config.cap,
            NO_CATEGORY: not category,
            EMPTY: not told,
            NOT_QUOTED: not text.has(quote),
            REPEATED: key in kept,
        }
        reason = next((why for why, holds in wrong.items() if holds), "")
        if reason:
            dropped[reason] += 1
            continue
        name = annotation_id(call.item.id, passage.level, passage.place, n, told, quote)
        kept[key] = Annotation(name, call.item.id, passage.level, passage.place, category, told, quote)
    return tuple(kept.values()), dropped


def annotation_id(*parts: object) -> str:
    """Ten letters fixed by the parts; they tell nobody what they stand for."""
    return sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:_ID_LETTERS]
