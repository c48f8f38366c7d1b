"""What planning agents reply where a form is wanted: pydantic models whose JSON schemas keep a small model inside them.

Bounds on lengths stand in the schema alone. An engine that writes by the schema cannot pass them; a model that only
reads it may say more, and what it says is taken. What must not be missing is demanded of both. Small models fill fields
with noise when they have nothing to say; such a field counts as empty.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from fabula.story import one_line
from fabula.story.plan import ARC, Element
from fabula.story.sentences import ends_whole, spans

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_IMPORTANCE: Final = 10
_NAME, _WORD, _PHRASE, _SENTENCE, _STORY_TIME = 40, 24, 120, 200, 40
_OVERLONG: Final = 4  # times the length told: no reply that answers the question
_NOISE: Final = re.compile(r"[_{}\[\]<>|=`\\@#]|//|\)\)")
_SELDOM: Final = frozenset({"group", "newcomers", "time"})
_LONGEST_WORD, _FEW_WORDS, _LETTERS = 24, 5, 0.8


def _said(value: object) -> object:
    """A scalar as text on one line; lists of texts are joined."""
    if value is None:
        return ""
    if isinstance(value, list):
        return one_line("; ".join(str(part) for part in value))
    return one_line(str(value)) if isinstance(value, (str, int, float)) else value


def _whole(text: str, most: int) -> str:
    """`text` as it is, unless it was cut at `most` characters: then up to its last whole sentence, else whole word."""
    if len(text) > _OVERLONG * most:
        text = text[: _OVERLONG * most]
    elif len(text) < most - 1 or ends_whole(text):
        return text
    ends = [end for _, end in spans(text) if ends_whole(text[:end])]
    if ends and ends[-1] >= len(text) // 3:
        return text[: ends[-1]]
    return text.rpartition(" ")[0].rstrip(" ,;:-") or text


def _sane(text: str) -> str:
    """`text`, or nothing where it is no language: signs and digits for words, words glued together, one word again."""
    words = text.casefold().split()
    known = sum(character.isalnum() or character.isspace() for character in text)
    numbers = sum(not any(character.isalpha() for character in word) for word in words)
    glued = any(len(word) > _LONGEST_WORD for word in words)
    stuck = len(words) > _FEW_WORDS and len(set(words)) * 2 < len(words)
    noise = _NOISE.search(text) or known < _LETTERS * len(text) or numbers * 2 > len(words)
    return "" if glued or stuck or noise else text.lstrip(" ,;:.-})]")


def _element(value: object) -> object:
    """An element of the arc in the paper's spelling, from "Rising_Action" or "rising-action"."""
    return value.strip().lower().replace("_", " ").replace("-", " ") if isinstance(value, str) else value


def _all_required(schema: dict[str, Any]) -> None:
    """Engines write every field but those that are seldom wanted; readers do without any that has a default."""
    schema["required"] = [name for name in schema.get("properties", ()) if name not in _SELDOM]


def _told(low: int, high: int) -> Any:  # noqa: ANN401 - what `Field` gives has no type of its own
    return Field(json_schema_extra={"minLength": low, "maxLength": high})


def _needed(low: int, high: int) -> Any:  # noqa: ANN401 - as above
    return Field(min_length=1, json_schema_extra={"minLength": low, "maxLength": high})


def _text(most: int) -> Any:  # noqa: ANN401 - as above
    return AfterValidator(partial(_tidy, most=most))


def _tidy(text: str, most: int) -> str:
    return _sane(_whole(text, most))


def _aim(text: str) -> str:
    """`text`, unless half of its words or more have capitals: a name or a title is nobody's goal."""
    words = text.split()
    return "" if 2 * sum(word[:1].isupper() for word in words) >= max(len(words), 2) else text


def _word(text: str) -> str:
    """`text` if it holds nothing but words and numbers."""
    return text if all(part.isalnum() for part in re.split(r"[ ,'\u2019-]+", text) if part) else ""


Name: TypeAlias = Annotated[str, BeforeValidator(_said), _needed(2, _NAME)]
Title: TypeAlias = Annotated[str, BeforeValidator(_said), _text(_NAME), _told(4, _NAME)]
Word: TypeAlias = Annotated[str, BeforeValidator(_said), AfterValidator(_word), _told(0, _WORD)]
Phrase: TypeAlias = Annotated[str, BeforeValidator(_said), _text(_PHRASE), _told(4, _PHRASE)]
Goal: TypeAlias = Annotated[str, BeforeValidator(_said), _text(_PHRASE), AfterValidator(_aim), _told(8, _PHRASE)]
Sentence: TypeAlias = Annotated[str, BeforeValidator(_said), _text(_SENTENCE), _told(20, _SENTENCE)]
Moment: TypeAlias = Annotated[str, BeforeValidator(_said), _told(0, _STORY_TIME)]
Importance: TypeAlias = Annotated[int, Field(ge=1, le=MOST_IMPORTANCE)]
ArcElement: TypeAlias = Annotated[Element, BeforeValidator(_element)]


class _Shape(BaseModel):
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, json_schema_extra=_all_required)


class Sheet(_Shape):
    """A character as section 3.2.1 of Character Simulation has it."""

    name: Name
    gender: Word = ""
    age: Word = ""
    role: Phrase = ""
    setup: Phrase = ""
    speech: Phrase = ""
    goal: Phrase = ""
    group: bool = False


class CastReply(_Shape):
    """The people of a story."""

    characters: Annotated[list[Sheet], Field(min_length=1)]


class CountReply(_Shape):
    """How many scenes a story needs."""

    scenes: Annotated[int, Field(ge=1)]


class OrderReply(_Shape):
    """Numbers of scenes in the order in which they happen."""

    order: list[int]


class There(_Shape):
    """Somebody in a scene, and what they want there."""

    name: Name
    goal: Goal = ""


class Newcomer(There):
    """Somebody in a scene whom the cast does not have yet."""

    role: Phrase = ""


class SceneReply(_Shape):
    """What a scene has beside its outline."""

    name: Title = ""
    place: Phrase = ""
    characters: list[There]
    newcomers: list[Newcomer] = []
    importance: Importance = 5

    @model_validator(mode="after")
    def _somebody(self) -> Self:
        """A scene that nobody is in cannot be played."""
        if not self.characters and not self.newcomers:
            raise ValueError("name at least one character who is in the scene")
        return self


class ReadSceneReply(SceneReply):
    """The details of a scene that is written already."""

    element: ArcElement = ARC[1]
    time: Moment = ""


class Border(_Shape):
    """Where a scene begins: the number of its first paragraph."""

    begins: int
    name: Title = ""


class BordersReply(_Shape):
    """The scenes of a stretch of story."""

    scenes: Annotated[list[Border], Field(min_length=1)]


class Missed(_Shape):
    """Content of a paragraph that no outline has."""

    paragraph: int
    what: Sentence


class MissedReply(_Shape):
    """What outlines lack; nothing if they have it all."""

    missed: list[Missed] = []


def cast_shape(most: int) -> type[CastReply]:
    """A cast of at most `most` people."""
    return create_model("Cast", __base__=CastReply, characters=(_list_of(Sheet, 1, most), ...))


def count_shape(low: int, high: int) -> type[CountReply]:
    """A number of scenes from `low` to `high`."""
    return create_model("Count", __base__=CountReply, scenes=(_number(low, high), ...))


def order_shape(scenes: int) -> type[OrderReply]:
    """All numbers from 1 to `scenes`."""
    return create_model(
        "Order", __base__=OrderReply, order=(_list_of(_number(1, scenes), scenes, scenes, needed=0), ...)
    )


def scene_shape(names: Sequence[str]) -> type[SceneReply]:
    """A planned scene whose people are chosen from `names`; others are taken too where an engine lets them pass."""
    return create_model("Scene", __base__=SceneReply, **_people(names, newcomers=0))


def read_scene_shape(names: Sequence[str]) -> type[ReadSceneReply]:
    """A scene read from a story; whoever `names` lacks has a place of their own."""
    return create_model("Scene", __base__=ReadSceneReply, **_people(names, newcomers=2))


def borders_shape(first: int, last: int, low: int, most: int) -> type[BordersReply]:
    """From `low` to `most` scenes that begin in the paragraphs `first` to `last`."""
    border = create_model("Border", __base__=Border, begins=(_number(first, last), ...))
    return create_model("Borders", __base__=BordersReply, scenes=(_list_of(border, low, most), ...))


def missed_shape(first: int, last: int, most: int) -> type[MissedReply]:
    """At most `most` pieces of content, in the paragraphs `first` to `last`."""
    missed = create_model("Missed", __base__=Missed, paragraph=(_number(first, last), ...))
    return create_model("Missing", __base__=MissedReply, missed=(_list_of(missed, 0, most, needed=0), ...))


def _number(low: int, high: int) -> Any:  # noqa: ANN401 - an annotation
    """A number that should lie in the range; one outside is moved in later, which costs no call."""
    return Annotated[int, Field(json_schema_extra={"minimum": low, "maximum": high})]


def _list_of(kind: Any, low: int, high: int, needed: int = 1) -> Any:  # noqa: ANN401 - annotations
    """A list that should have `low` to `high` entries, and must have `needed`."""
    return Annotated[list[kind], Field(min_length=needed, json_schema_extra={"minItems": low, "maxItems": high})]


def _people(names: Sequence[str], newcomers: int) -> dict[str, Any]:
    """The fields for who is there."""
    known = Annotated[
        str,
        BeforeValidator(_said),
        Field(min_length=1, json_schema_extra={"enum": list(names)} if names else {"maxLength": _NAME}),
    ]
    there = create_model("There", __base__=There, name=(known, ...))
    return {
        "characters": (_list_of(there, 1, max(min(len(names), 6), 1), needed=0), ...),
        "newcomers": (_list_of(Newcomer, 0, newcomers, needed=0), ()),
    }
