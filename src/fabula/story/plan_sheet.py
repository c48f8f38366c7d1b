"""The format of a plan's YAML file: the pydantic model that reads it, and its writer; `plan_file` has an example."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import fields
from functools import partial
from typing import Annotated, Any, Final, NoReturn, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, TypeAdapter
from pydantic_core import PydanticCustomError

from fabula.base import yamltext
from fabula.base.yamltext import Items, MappingPairs, Node, ScalarText
from fabula.story import one_line, plain, readable, slug
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan
from fabula.story.sheets import Place, read_as

_BOOLS: Final = {"yes": True, "true": True, "no": False, "false": False, "": False}
_SHOWN: Final = 60
_HEAD: Final = ("title", "brief", "conflict", "setting", "person", "tense", "form")
_LISTS: Final = ("demands", "payoffs")
_SAY_TEXT: Final = "A text is expected here, not a list or a mapping. If the text contains a colon, put it in quotes."
_SAY_PLAN: Final = "A plan must have keys with texts and lists, such as 'title: ...' and 'scenes:'."
_SAY_CHARACTER: Final = "A character must have a name. Write '- name: ...'."
_SAY_SCENE: Final = "A scene must have a name and an outline. Write '- name: ...'."
_SAY_PRESENCE: Final = (
    "A character's goal here must be a text, or have 'goal', 'age', 'then', 'secret', 'personality' and "
    "'speech'. If a text contains a colon, put it in quotes."
)
_SAY_EVENT: Final = (
    "An event must be a text, or have 'event', 'time', 'place', 'characters', 'there' and 'notices'. If a text "
    "contains a colon, put it in quotes."
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
    return name or _refuse("This name is empty. Remove it.")


def _yes_or_no(value: object) -> bool:
    text = _text(value).casefold()
    return _BOOLS[text] if text in _BOOLS else _refuse(f"{text[:_SHOWN]!r} is neither yes nor no. Write yes or no.")


def _importance(value: object) -> int:
    text = _text(value)
    if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 10:  # noqa: PLR2004 - more is too much
        return int(text)
    return _refuse(f"{text[:_SHOWN]!r} is not a whole number. Write a number from 1 (lowest) to 10.") if text else 5


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
    return _refuse(f"A list is expected here. Begin every entry of {key!r} with '- ' on a separate line.")


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


_Names: TypeAlias = tuple[Annotated[_Name, AfterValidator(_some_name)], ...]


class _Event(BaseModel):
    model_config = ConfigDict(extra="forbid")
    event: _Text = ""
    time: _Line = ""
    place: _Text = ""
    characters: Annotated[_Names, _list("characters", one=True)] = ()
    there: Annotated[_Names, _list("there", one=True)] = ()
    notices: _Text = ""


def _event_of(sheet: _Event) -> Event:
    return Event(sheet.event, sheet.time, sheet.characters, sheet.there, sheet.notices, sheet.place)


def _entry(kind: Any, wanted: str) -> Any:  # noqa: ANN401 - annotations
    return Annotated[kind, BeforeValidator(partial(_mapping, wanted=wanted))]


_CHARACTER: Any = _entry(
    read_as(Character, _Text, name=(_Name, ""), group=Annotated[bool, BeforeValidator(_yes_or_no)]), _SAY_CHARACTER
)
_SCENE: Any = _entry(
    read_as(
        ScenePlan,
        _Text,
        name=(_Name, ""),
        outline=(
            Annotated[
                tuple[Annotated[_Event, BeforeValidator(_event), AfterValidator(_event_of)], ...],
                _list("outline", one=True),
            ],
            (),
        ),
        element=Annotated[str, BeforeValidator(_element)],  # any text: `check_plan` says what is none
        importance=Annotated[int, BeforeValidator(_importance)],
        characters=Annotated[tuple[Annotated[Any, AfterValidator(_presence)], ...], BeforeValidator(_presences)],
        time=_Line,
        after=Annotated[_Names, _list("after", one=True)],
        date=_Line,
    ),
    _SAY_SCENE,
)
_PLAN: Any = read_as(
    Plan,
    _Text,
    scenes=(Annotated[tuple[_SCENE, ...], _list("scenes")], ()),
    characters=Annotated[tuple[_CHARACTER, ...], _list("characters")],
    **dict.fromkeys(("title", "person", "tense"), _Line),
    **{key: Annotated[tuple[_Line, ...], _list(key, one=True)] for key in _LISTS},
)
_TOP: Final = TypeAdapter[Plan](_entry(_PLAN, _SAY_PLAN))


def fields_at(place: Place) -> Collection[str]:
    """The keys that are allowed at a place in a plan."""
    if "outline" in place:
        return _Event.model_fields
    inside = Plan if not place else Character if place[0] == "characters" else ScenePlan
    return [one.name for one in fields(inside)]


def plan_of(data: Any) -> Plan:  # noqa: ANN401 - data of any kind
    """The plan that plain data describes.

    Raises:
        ValidationError: the data does not have the format of a plan.
    """
    return _TOP.validate_python(data)


# writing ------------------------------------------------------------------------------------------------------------


def write(plan: Plan) -> str:
    """The plan as YAML: the short fields first, then the characters and scenes, separated by blank lines."""
    lists = [(key, Items(tuple(map(_node, getattr(plan, key))))) for key in _LISTS]
    head = _pairs([*((key, getattr(plan, key)) for key in _HEAD), *lists])
    parts = [yamltext.write(head)] if head.pairs else []
    for key, entries in (("characters", map(_sheet, plan.characters)), ("scenes", map(_written, plan.scenes))):
        # Written one by one, as PyYAML puts no blank lines: every text but the first goes on with the list.
        alone = [yamltext.write(_pairs([(key, Items((entry,)))])) for entry in entries]
        parts += alone[:1] + [text.removeprefix(f"{key}:\n") for text in alone[1:]]
    return "\n".join(parts)


def _pairs(entries: Iterable[tuple[str, str | Node]]) -> MappingPairs:
    """A mapping of what is not empty."""
    nodes = ((key, _node(value) if isinstance(value, str) else value) for key, value in entries)
    return MappingPairs(
        tuple(
            (ScalarText(key), node) for key, node in nodes if node not in (ScalarText(""), Items(()), MappingPairs(()))
        )
    )


def _node(text: str) -> ScalarText:
    """A text as it will be read."""
    return ScalarText(plain(readable(text)).strip())


def _sheet(character: Character) -> MappingPairs:
    entries = [(one.name, getattr(character, one.name)) for one in fields(Character) if one.name != "group"]
    return _pairs([*entries, ("group", "yes" if character.group else "")])


def _written(scene: ScenePlan) -> MappingPairs:
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
            ("characters", MappingPairs(goals) if any(goal != ScalarText("") for _, goal in goals) else names),
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
