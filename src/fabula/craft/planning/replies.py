"""The typed replies of planning agents.

What must not be missing is demanded of every model. Bounds on lengths hold for models that need short replies alone.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from fabula.base.remembering import remembered
from fabula.craft.length import WordRange
from fabula.engine.replies import short
from fabula.story import one_line
from fabula.story.plan import ARC, Element, Plan, ScenePlan, story_time
from fabula.story.plan_check import MAX_DATE

MOST_IMPORTANCE: Final = 10
_PHRASE, _SENTENCE = 120, 200
_OF_THEN: Final = ("age_then", "then", "secret_then", "personality_then", "speech_then")
_SELDOM: Final = frozenset({"group", "newcomers", "time", *_OF_THEN, "where", "notices", "away"})


def _said(value: object) -> object:
    """A scalar as text on one line; lists of texts are joined."""
    if value is None:
        return ""
    if isinstance(value, list):
        return one_line("; ".join(str(part) for part in value))
    return one_line(str(value)) if isinstance(value, (str, int, float)) else value


def _element(value: object) -> object:
    """An element of the arc in the paper's spelling, from "Rising_Action" or "rising-action"."""
    return value.strip().lower().replace("_", " ").replace("-", " ") if isinstance(value, str) else value


def _moment(text: str) -> str:
    """A story time.

    Raises:
        ValueError: it is none.
    """
    if story_time(text) is None:
        raise ValueError(
            "give a time as a number (1, 2.5), a date (1921, 1921-05-03, 1921-05-03 14:30) or a time of day (19:10)"
        )
    return text


def _date(text: str) -> str:
    """When a scene happens, in words.

    Raises:
        ValueError: it is not a date, but a story.
    """
    if len(text) > MAX_DATE:
        raise ValueError(f"say in at most {MAX_DATE} characters when it happens")
    return text


_Said: TypeAlias = Annotated[str, BeforeValidator(_said)]
Name: TypeAlias = Annotated[_Said, Field(min_length=1), short(40, least=2)]
Title: TypeAlias = Annotated[_Said, short(40, least=4)]
Word: TypeAlias = Annotated[_Said, short(24)]
Phrase: TypeAlias = Annotated[_Said, short(_PHRASE, least=4)]
Goal: TypeAlias = Annotated[_Said, short(_PHRASE, least=8)]
Sentence: TypeAlias = Annotated[_Said, short(_SENTENCE, least=20)]
Moment: TypeAlias = Annotated[_Said, short(40)]
Time: TypeAlias = Annotated[
    _Said, AfterValidator(_moment), WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string"}]})
]
Date: TypeAlias = Annotated[_Said, AfterValidator(_date)]
Line: TypeAlias = _Said
Lines: TypeAlias = Annotated[list[Line], AfterValidator(lambda lines: [*filter(None, lines)])]
Importance: TypeAlias = Annotated[int, Field(ge=1, le=MOST_IMPORTANCE)]
ArcElement: TypeAlias = Annotated[Element, BeforeValidator(_element)]


def _all_required(schema: dict[str, Any]) -> None:
    """Engines write every field but those that are seldom wanted; readers do without any that has a default.

    What a field is where it is left out is nothing that a model has to read.
    """
    for field in schema.get("properties", {}).values():
        field.pop("default", None)
    needed = schema.get("required", ())
    schema["required"] = [name for name in schema.get("properties", ()) if name in needed or name not in _SELDOM]


class _Reply(BaseModel):
    # Each is made ready when it is first asked for, since most runs ask for few of them.
    model_config = ConfigDict(frozen=True, str_strip_whitespace=True, json_schema_extra=_all_required, defer_build=True)


class PaperSheet(_Reply):
    """A character as section 3.2.1 of Character Simulation has it."""

    name: Name
    gender: Word = ""
    age: Word = ""
    role: Phrase = ""
    setup: Phrase = ""
    speech: Phrase = ""
    goal: Phrase = ""
    group: bool = False


class CharacterReply(PaperSheet):
    """A character whose personality has its own field."""

    personality: Phrase = ""


class FullSheet(CharacterReply):
    """A character with what only its own player and roles that know all may see."""

    secret: Phrase = ""
    knows: Phrase = ""
    truth: Phrase = ""


class CastReply(_Reply):
    """The people of a story."""

    characters: Annotated[list[CharacterReply], Field(min_length=1)]


class PaperCastReply(_Reply):
    """The people of a story, with the fields of section 3.2.1 of Character Simulation."""

    characters: Annotated[list[PaperSheet], Field(min_length=1)]


class SceneTold(_Reply):
    """A scene at its place in the telling."""

    time: Time
    date: Date = ""
    element: ArcElement
    importance: Importance = 5
    what: Sentence


class SceneAsked(SceneTold):
    """The same, with the words that it is to have."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    words: WordRange | None = None


class TellingReply(_Reply):
    """How a story is told: what the brief demands of it, person, tense and form, and which scene comes when."""

    demands: Lines = []
    person: Phrase = ""
    tense: Phrase = ""
    form: Line = ""
    scenes: Annotated[list[SceneTold], Field(min_length=1)]
    payoffs: Lines = []

    @property
    def years(self) -> bool:
        """Whether its scenes may lie years apart: dates of one year and times of one day do not."""
        times = [time for told in self.scenes if (time := story_time(told.time))]
        return any(len(time) == 1 or time[0] != times[0][0] for time in times)

    def position(self, number: int) -> str:
        """The place of a scene in both orders (`Plan.position`)."""
        scenes = (ScenePlan(str(n), (), time=told.time) for n, told in enumerate(self.scenes, 1))
        return Plan(tuple(scenes)).position(str(number))


class SmallTellingReply(_Reply):
    """The same, as a small model can say it: numbers of scenes in the order in which they happen."""

    person: Literal["third person", "first person", "second person"] = "third person"
    tense: Literal["past tense", "present tense"] = "past tense"
    order: list[int]


class There(_Reply):
    """Somebody in a scene, and what they want there."""

    name: Name
    goal: Goal = ""


class Newcomer(There):
    """Somebody in a scene whom the cast lacks."""

    role: Phrase = ""


class PlannedCharacter(There):
    """Somebody in a planned scene; with their age and situation of then, where it is a scene of other years."""

    age_then: Line = ""
    then: Line = ""
    secret_then: Line = ""
    personality_then: Line = ""
    speech_then: Line = ""


class PlannedNewcomer(PlannedCharacter):
    """Somebody in a planned scene whom the cast lacks."""

    role: Phrase = ""
    setup: Line = ""


class PlannedEvent(_Reply):
    """An event of a scene, and who of those in the scene neither sees nor hears it."""

    what: Line
    where: Line = ""
    missed_by: list[Line]
    notices: Line = ""
    away: list[Line] = []


_Scene = TypeVar("_Scene", bound="PlannedSceneReply | SceneReply")
_Planned = TypeVar("_Planned", bound="PlannedSceneReply")


def _with_somebody(scene: _Scene) -> _Scene:
    """The scene, if somebody is in it.

    Raises:
        ValueError: nobody is; such a scene cannot be played.
    """
    if not scene.characters and not scene.newcomers:
        raise ValueError("name at least one character who is in the scene")
    return scene


def _with_events(scene: _Planned) -> _Planned:
    """The scene, if something happens in it.

    Raises:
        ValueError: all its events are blank.
    """
    if not any(event.what for event in scene.events):
        raise ValueError("say what happens in the scene")
    return scene


class PlannedSceneReply(_Reply):
    """A whole scene: what happens, where, and before whom."""

    name: Title = ""
    date: Date = ""
    place: Line = ""
    characters: list[PlannedCharacter]
    newcomers: list[PlannedNewcomer] = []
    events: Annotated[list[PlannedEvent], Field(min_length=1)]

    _somebody = model_validator(mode="after")(_with_somebody)
    _something = model_validator(mode="after")(_with_events)


class SceneReply(_Reply):
    """What a scene has next to its outline; no model is called for newcomers."""

    name: Title = ""
    place: Phrase = ""
    characters: list[There]
    newcomers: SkipJsonSchema[list[Newcomer]] = []
    importance: Importance = 5

    _somebody = model_validator(mode="after")(_with_somebody)


class ReadSceneReply(SceneReply):
    """The details of a scene that is written already."""

    newcomers: Annotated[list[Newcomer], short(2)] = []
    element: ArcElement = ARC[1]
    time: Moment = ""


class WholeSceneReply(PlannedSceneReply):
    """All that is read of a scene, or of a piece of one."""

    importance: Importance = 5
    element: ArcElement = ARC[1]
    time: Moment = ""


class WholeStoryReply(_Reply):
    """What is read of a story as a whole."""

    conflict: Annotated[Line, Field(min_length=1)]
    setting: Annotated[Line, Field(min_length=1)]
    demands: Lines = []
    person: Phrase = ""
    tense: Phrase = ""
    form: Line = ""
    payoffs: Lines = []
    order: list[int] = []


class Extracted(_Reply):
    """A scene as appendix B.1.1 of Character Simulation has it."""

    name: Title
    outline: Annotated[list[Annotated[_Said, Field(min_length=1)]], Field(min_length=1)]
    element: ArcElement
    place: Phrase
    importance: Importance
    characters: list[There]


class ExtractedReply(_Reply):
    """All scenes of a story."""

    scenes: Annotated[list[Extracted], Field(min_length=1)]


class Border(_Reply):
    """Where a scene begins: the number of its first paragraph."""

    begins: int
    name: Title = ""


class BordersReply(_Reply):
    """The scenes of a stretch of story."""

    scenes: Annotated[list[Border], Field(min_length=1)]


class Missed(_Reply):
    """Content of a paragraph that no outline has."""

    paragraph: int
    what: Sentence


class MissedReply(_Reply):
    """What outlines lack; nothing if they have it all."""

    missed: list[Missed] = []


def cast_type(most: int, *, full: bool) -> type[CastReply]:
    """A cast; where a small model plans, of at most `most` people. `full`: with what they hide and know."""
    sheet = FullSheet if full else CharacterReply
    return create_model("Cast", __base__=CastReply, characters=(_list_of(sheet, 1, most), ...))


def telling_type(scenes: int) -> type[TellingReply]:
    """So many scenes in the order in which they are told; 0 lets the planner decide."""
    if not scenes:
        return TellingReply
    every = Annotated[list[SceneTold], Field(min_length=scenes, max_length=scenes)]
    return create_model("Telling", __base__=TellingReply, scenes=(every, ...))


def small_telling_type(scenes: int) -> type[SmallTellingReply]:
    """All numbers from 1 to `scenes`, for small models; what is not an order is taken too, which costs no call."""
    every = Field(json_schema_extra={"minItems": scenes, "maxItems": scenes})
    numbers: Any = Annotated[list[_number(1, scenes)], every]  # type: ignore[misc] # a type made at run time
    return create_model("Telling", __base__=SmallTellingReply, order=(numbers, ...))


@remembered(8)  # all scenes of a story have one
def scene_type(kind: type[_Scene], names: tuple[str, ...]) -> type[_Scene]:
    """A scene whose people are chosen from `names`; whom these lack has a place of their own, if `kind` asks for it.

    A name that is none of these passes where an engine lets it.
    """
    known = Annotated[_Said, Field(min_length=1, json_schema_extra={"enum": list(names)} if names else {}), short(40)]
    there = create_model(
        "There", __base__=PlannedCharacter if issubclass(kind, PlannedSceneReply) else There, name=(known, ...)
    )
    some = Annotated[list[there], short(max(min(len(names), 6), 1), least=1)]  # type: ignore[valid-type] # made at run time
    return create_model("Scene", __base__=kind, characters=(some, ...))


def borders_type(first: int, last: int, low: int, most: int) -> type[BordersReply]:
    """From `low` to `most` scenes that begin in the paragraphs `first` to `last`."""
    border = create_model("Border", __base__=Border, begins=(_number(first, last), ...))
    return create_model("Borders", __base__=BordersReply, scenes=(_list_of(border, low, most), ...))


def missed_type(first: int, last: int, most: int) -> type[MissedReply]:
    """Content in the paragraphs `first` to `last`."""
    missed = create_model("Missed", __base__=Missed, paragraph=(_number(first, last), ...))
    return create_model("Missing", __base__=MissedReply, missed=(_list_of(missed, 0, most), ...))


def _number(low: int, high: int) -> Any:  # noqa: ANN401 - an annotation
    """A number that should lie in the range; one outside is moved in later, which costs no call."""
    return Annotated[int, Field(json_schema_extra={"minimum": low, "maximum": high})]


def _list_of(kind: Any, low: int, high: int) -> Any:  # noqa: ANN401 - annotations
    """A list of one entry or more (any number if `low` is 0); for short replies one of `low` to `high` entries."""
    return Annotated[list[kind], Field(min_length=min(low, 1)), short(high, least=low)]
