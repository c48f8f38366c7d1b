"""The shape of a plan's YAML file: the pydantic model that reads it, and its writing; `plan_file` shows the format."""

from __future__ import annotations

import unicodedata
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, TypeAdapter
from pydantic_core import PydanticCustomError

from fabula.base import yamltext
from fabula.base.yamltext import Items, Pairs, Text
from fabula.story import one_line, plain, readable, slug
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fabula.base.yamltext import Node
    from fabula.story.sheets import Place

_BOOLS: Final = {"yes": True, "true": True, "no": False, "false": False, "": False}
_SHOWN: Final = 60
_HEAD: Final = ("title", "brief", "conflict", "setting", "person", "tense", "form")
_LISTS: Final = ("demands", "payoffs")
_SAY_TEXT: Final = "A text is wanted here, not a list or a mapping. If it holds a colon, put it in quotes."
_SAY_PLAN: Final = "A plan has keys with texts and lists, as in 'title: ...' and 'scenes:'. Write it so."
_SAY_CHARACTER: Final = "A character has a name and more. Write '- name: ...'."
_SAY_SCENE: Final = "A scene has a name, an outline and more. Write '- name: ...'."
_SAY_PRESENCE: Final = (
    "What a character wants here is a text, or has 'goal', 'age', 'then', 'secret', 'personality' and 'speech'. "
    "If a text holds a colon, put it in quotes."
)
_SAY_EVENT: Final = (
    "An event is a text, or has 'event', 'time', 'place', 'characters', 'there' and 'notices'. "
    "If a text holds a colon, put it in quotes."
)


# reading: every value is a text, a list or a mapping; None stands for what was found wrong already ------------------


def _refuse(what: str) -> NoReturn:
    raise PydanticCustomError("said", "{what}", {"what": what})


def _text(value: object) -> str:
    return value or "" if isinstance(value, str | None) else _refuse(_SAY_TEXT)


def _name(text: str) -> str:
    """A name as plans hold it: composed (NFC), and on one line unless it has real line breaks, which are refused."""
    text = unicodedata.normalize("NFC", text)
    return text if "\n" in text else one_line(text)


def _some_name(name: str) -> str:
    return name or _refuse("An empty name stands here. Take it out.")


def _yes_or_no(value: object) -> bool:
    text = _text(value).casefold()
    return _BOOLS[text] if text in _BOOLS else _refuse(f"{text[:_SHOWN]!r} is neither yes nor no. Write one.")


def _importance(value: object) -> int:
    text = _text(value)
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10:  # noqa: PLR2004 - more is too much
        return int(text)
    return _refuse(f"{text[:_SHOWN]!r} is no whole number. Write one from 1 (least) to 10.") if text else 5


def _element(value: object) -> str:
    """A part of the arc however it is spelled; any text, as `check_plan` says what is none."""
    text = _text(value) or "rising action"
    return next((known for known in ARC if slug(known) == slug(text)), text)


def _entries(value: object, *, key: str, one: bool = False) -> list[object]:
    """The entries of a list; a single text counts as a list of one where `one` says so."""
    if isinstance(value, list):
        return value
    if isinstance(value, str | None) and (one or not value):
        return [value] if value else []
    return _refuse(f"A list is wanted here. Begin every entry of {key!r} with '- ' on a line of its own.")


def _mapping(value: object, *, wanted: str) -> object:
    return value or {} if isinstance(value, dict | None) else _refuse(wanted)


def _event(value: object) -> object:
    if isinstance(value, str | None):
        return {"event": value}
    if isinstance(value, dict) and value.keys() & _Event.model_fields.keys():
        return value
    return _refuse(_SAY_EVENT)  # most likely a text that holds a colon


def _presences(value: object) -> list[object]:
    """Who is in a scene: a mapping of names to goals (given as pairs), a list of names, or one name."""
    if isinstance(value, dict):
        return [*value.items()]
    return _entries(value, key="characters", one=True)


def _presence(value: object) -> Presence:
    if isinstance(value, tuple):
        name, wants = _name(value[0]), value[1]
        if not isinstance(wants, dict):
            return Presence(name, wants or "" if isinstance(wants, str | None) else _refuse(_SAY_PRESENCE))
        if unknown := [key for key in wants if key not in _PRESENCE]:
            _refuse(f"There is no {unknown[0][:_SHOWN]!r} here. Write one of these: {', '.join(_PRESENCE)}.")
        return Presence(name, **{key: _text(text) for key, text in wants.items()})
    name = _name(_text(value))
    return Presence(name if value is None else _some_name(name))


def _list(key: str, *, one: bool = False) -> BeforeValidator:
    return BeforeValidator(partial(_entries, key=key, one=one))


_PRESENCE: Final = ("goal", "age", "then", "secret", "personality", "speech")
_Text: TypeAlias = Annotated[str, BeforeValidator(_text)]
_Line: TypeAlias = Annotated[_Text, AfterValidator(one_line)]
_Name: TypeAlias = Annotated[_Text, AfterValidator(_name)]


class _Sheet(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Character(_Sheet):
    name: _Name = ""
    role: _Text = ""
    gender: _Text = ""
    age: _Text = ""
    setup: _Text = ""
    personality: _Text = ""
    speech: _Text = ""
    goal: _Text = ""
    secret: _Text = ""
    knows: _Text = ""
    truth: _Text = ""
    group: Annotated[bool, BeforeValidator(_yes_or_no)] = False


class _Event(_Sheet):
    event: _Text = ""
    time: _Line = ""
    place: _Text = ""
    characters: Annotated[list[Annotated[_Name, AfterValidator(_some_name)]], _list("characters", one=True)] = []
    there: Annotated[list[Annotated[_Name, AfterValidator(_some_name)]], _list("there", one=True)] = []
    notices: _Text = ""


class _Scene(_Sheet):
    name: _Name = ""
    element: Annotated[str, BeforeValidator(_element)] = "rising action"
    place: _Text = ""
    importance: Annotated[int, BeforeValidator(_importance)] = 5
    time: _Line = ""
    date: _Line = ""
    after: Annotated[list[Annotated[_Name, AfterValidator(_some_name)]], _list("after", one=True)] = []
    characters: Annotated[list[Annotated[Any, AfterValidator(_presence)]], BeforeValidator(_presences)] = []
    outline: Annotated[list[Annotated[_Event, BeforeValidator(_event)]], _list("outline", one=True)] = []


def _entry(wanted: str) -> BeforeValidator:
    return BeforeValidator(partial(_mapping, wanted=wanted))


class _Plan(_Sheet):
    title: _Line = ""
    brief: _Text = ""
    conflict: _Text = ""
    setting: _Text = ""
    person: _Line = ""
    tense: _Line = ""
    form: _Text = ""
    demands: Annotated[list[_Line], _list("demands", one=True)] = []
    payoffs: Annotated[list[_Line], _list("payoffs", one=True)] = []
    characters: Annotated[list[Annotated[_Character, _entry(_SAY_CHARACTER)]], _list("characters")] = []
    scenes: Annotated[list[Annotated[_Scene, _entry(_SAY_SCENE)]], _list("scenes")] = []


_TOP: Final = TypeAdapter(Annotated[_Plan, _entry(_SAY_PLAN)])


def fields_at(place: Place) -> Collection[str]:
    """The keys that a plan may have at a place."""
    if not place:
        return _Plan.model_fields
    inside: type[_Sheet] = _Character if place[0] == "characters" else _Event if "outline" in place else _Scene
    return inside.model_fields


def plan_of(data: Any) -> Plan:  # noqa: ANN401 - data of any kind
    """The plan in plain data.

    Raises:
        ValidationError: it has another shape.
    """
    sheet = _TOP.validate_python(data)
    return Plan(
        tuple(map(_scene_of, sheet.scenes)),
        tuple(Character(**dict(character)) for character in sheet.characters),
        **{name: getattr(sheet, name) for name in _HEAD},
        demands=tuple(sheet.demands),
        payoffs=tuple(sheet.payoffs),
    )


def _scene_of(sheet: _Scene) -> ScenePlan:
    return ScenePlan(
        sheet.name,
        tuple(map(_event_of, sheet.outline)),
        sheet.element,  # type: ignore[arg-type] # any text: `check_plan` says what is none
        sheet.place,
        sheet.importance,
        tuple(sheet.characters),
        sheet.time,
        tuple(sheet.after),
        sheet.date,
    )


def _event_of(sheet: _Event) -> Event:
    present, there = tuple(sheet.characters), tuple(sheet.there)
    return Event(sheet.event, sheet.time, present, there, sheet.notices, sheet.place)


# writing ------------------------------------------------------------------------------------------------------------


def write(plan: Plan) -> str:
    """The plan as YAML: first what is short, then characters and scenes, separated by blank lines."""
    lists = [(key, Items(tuple(map(_node, getattr(plan, key))))) for key in _LISTS]
    head = _pairs([*((key, getattr(plan, key)) for key in _HEAD), *lists])
    parts = [yamltext.write(head)] if head.pairs else []
    for key, entries in (("characters", map(_sheet, plan.characters)), ("scenes", map(_written, plan.scenes))):
        # Written one by one, as PyYAML puts no blank lines: every text but the first goes on with the list.
        alone = [yamltext.write(_pairs([(key, Items((entry,)))])) for entry in entries]
        parts += alone[:1] + [text.removeprefix(f"{key}:\n") for text in alone[1:]]
    return "\n".join(parts)


def _pairs(entries: Iterable[tuple[str, str | Node]]) -> Pairs:
    """A mapping of what is not empty."""
    nodes = ((key, _node(value) if isinstance(value, str) else value) for key, value in entries)
    return Pairs(tuple((Text(key), node) for key, node in nodes if node not in (Text(""), Items(()), Pairs(()))))


def _node(text: str) -> Text:
    """A text as it will be read."""
    return Text(plain(readable(text)).strip())


def _sheet(character: Character) -> Pairs:
    entries = [(key, getattr(character, key)) for key in _Character.model_fields if key != "group"]
    return _pairs([*entries, ("group", "yes" if character.group else "")])


def _written(scene: ScenePlan) -> Pairs:
    after = scene.after[0] if len(scene.after) == 1 else Items(tuple(map(_node, scene.after)))
    goals = tuple((_node(presence.name), _wanted(presence)) for presence in scene.characters)
    names = Items(tuple(key for key, _ in goals))
    return _pairs(
        [
            ("name", scene.name),
            ("element", scene.element),
            ("place", scene.place),
            ("importance", str(scene.importance)),
            ("time", scene.time),
            ("date", scene.date),
            ("after", after),
            ("characters", Pairs(goals) if any(goal != Text("") for _, goal in goals) else names),
            ("outline", Items(tuple(map(_happening, scene.outline)))),
        ]
    )


def _wanted(presence: Presence) -> Node:
    """What somebody wants in a scene; with their age and situation of then, where that differs from their sheet."""
    if not any(getattr(presence, key) for key in _PRESENCE[1:]):
        return _node(presence.goal)
    return _pairs([(key, getattr(presence, key)) for key in _PRESENCE])


def _happening(event: Event) -> Node:
    """An event: its text alone, where nothing else is known of it."""
    if event == Event(event.text):
        return _node(event.text)
    present, there = (Items(tuple(map(_node, names))) for names in (event.present, event.there))
    head: list[tuple[str, str | Node]] = [("event", event.text), ("time", event.time), ("place", event.place)]
    return _pairs([*head, ("characters", present), ("there", there), ("notices", event.notices)])
