"""A plan from the tree of a YAML file and back; `plan_file` documents the format."""

from __future__ import annotations

import unicodedata
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fabula.base import yamltext
from fabula.base.yamltext import Items, Pairs, Refused, Text
from fabula.story import one_line, plain, readable, slug
from fabula.story.plan import ARC, Character, Event, Plan, Presence, ScenePlan
from fabula.story.plan_check import check_plan, nearest, where

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from fabula.base.yamltext import Node
    from fabula.story.plan_check import Path

_T = TypeVar("_T")
_PLAN: Final = ("title", "brief", "conflict", "setting", "characters", "scenes")
_CHARACTER: Final = tuple(field.name for field in fields(Character))
_SCENE: Final = ("name", "element", "place", "importance", "time", "after", "characters", "outline")
_EVENT: Final = ("event", "time")
_BOOLS: Final = {"yes": True, "true": True, "no": False, "false": False, "": False}
_IMPORTANCE: Final = 5
_SAY_PLAN: Final = "A plan has keys with texts and lists, as in 'title: ...' and 'scenes:'. Write it so."
_SAY_CHARACTER: Final = "A character has a name and more. Write '- name: ...'."
_SAY_SCENE: Final = "A scene has a name, an outline and more. Write '- name: ...'."
_SAY_EVENT: Final = "An event is a text, or has 'event' and 'time'. If a text holds a colon, put it in quotes."


def read(node: Node | None) -> tuple[Plan, tuple[tuple[int, str], ...]]:
    """The plan, with defaults where a value is wrong; and all problems as pairs of line and text."""
    reader = _Reader()
    plan = reader.plan(node)
    return plan, tuple((line, f"{where(plan, path)}: {what}") for line, path, what in reader.problems(plan))


def name_of(text: str) -> str:
    """A name as plans hold it: composed (NFC), and on one line unless it has real line breaks, which are refused."""
    text = unicodedata.normalize("NFC", _tidy(text))
    return text if "\n" in text else one_line(text)


def _tidy(text: str) -> str:
    return plain(readable(text)).strip()


class _Reader:
    """Collects lines and problems while it makes a plan."""

    def __init__(self) -> None:
        self._lines: dict[Path, int] = {}
        self._found: list[tuple[int, Path, str]] = []
        self._spoilt: set[Path] = set()  # places of which a problem is told: what follows from it is not told again

    def plan(self, node: Node | None) -> Plan:
        """The plan; it has as many scenes and characters as the file, so that places agree."""
        got = self._mapping(node or Pairs((), 1), (), _PLAN, _SAY_PLAN)
        return Plan(
            scenes=self._list(got, (), "scenes", self._scene),
            characters=self._list(got, (), "characters", self._character),
            conflict=self._text(got, (), "conflict"),
            setting=self._text(got, (), "setting"),
            title=one_line(self._text(got, (), "title")),
            brief=self._text(got, (), "brief"),
        )

    def problems(self, plan: Plan) -> list[tuple[int, Path, str]]:
        """Those of the file's shape and those of the plan itself, in the order of lines."""
        found = list(self._found)
        for problem in check_plan(plan):
            path = problem.path
            if not any(path[:end] in self._spoilt for end in range(len(path) + 1)):
                found.append((self._line(path), path, problem.what))
        return sorted(found, key=lambda problem: problem[0])

    def _line(self, path: Path) -> int:
        """The line of a place, or of the nearest thing around it that the file has."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)

    def _character(self, node: Node, path: Path) -> Character:
        got = self._mapping(node, path, _CHARACTER, _SAY_CHARACTER)
        texts = {key: self._text(got, path, key) for key in _CHARACTER if key not in ("name", "group")}
        told = self._text(got, path, "group").casefold()
        if told not in _BOOLS:
            self._refuse(
                self._line((*path, "group")), (*path, "group"), f"{told[:60]!r} is neither yes nor no. Write one."
            )
        return Character(name_of(self._text(got, path, "name")), **texts, group=_BOOLS.get(told, False))

    def _scene(self, node: Node, path: Path) -> ScenePlan:
        got = self._mapping(node, path, _SCENE, _SAY_SCENE)
        element: Any = self._text(got, path, "element") or "rising action"  # any text: `check_plan` tells what is none
        return ScenePlan(
            name=name_of(self._text(got, path, "name")),
            outline=self._list(got, path, "outline", self._event, one=True),
            element=next((known for known in ARC if slug(known) == slug(element)), element),
            place=self._text(got, path, "place"),
            importance=self._importance(got, path),
            characters=self._presences(got, path),
            time=one_line(self._text(got, path, "time")),
            after=self._list(got, path, "after", self._name, one=True),
        )

    def _event(self, node: Node, path: Path) -> Event:
        if not isinstance(node, Pairs):
            return Event(self._scalar(node, path, _SAY_EVENT))
        if not {key.value for key, _ in node.pairs} & set(_EVENT):
            self._refuse(node.line, path, _SAY_EVENT)  # most likely a text that holds a colon
            return Event("")
        got = self._mapping(node, path, _EVENT, _SAY_EVENT)
        return Event(self._text(got, path, "event"), one_line(self._text(got, path, "time")))

    def _importance(self, got: dict[str, Node], path: Path) -> int:
        path, told = (*path, "importance"), self._text(got, path, "importance")
        if told.isascii() and told.removeprefix("-").isdigit() and len(told) < 10:  # noqa: PLR2004 - more is too much
            return int(told)
        if told:
            self._refuse(self._line(path), path, f"{told[:60]!r} is no whole number. Write one from 1 (least) to 10.")
        return _IMPORTANCE

    def _presences(self, got: dict[str, Node], path: Path) -> tuple[Presence, ...]:
        """Who is in a scene: a mapping of names to goals, a list of names, or one name."""
        node = got.get("characters")
        if not isinstance(node, Pairs):
            return tuple(map(Presence, self._list(got, path, "characters", self._name, one=True)))
        presences = []
        for index, (key, value) in enumerate(node.pairs):
            place = (*path, "characters", index)
            self._lines[place] = key.line
            presences.append(Presence(name_of(key.value), self._scalar(value, place)))
        return tuple(presences)

    def _name(self, node: Node, path: Path) -> str:
        name = name_of(self._scalar(node, path))
        if not name and path not in self._spoilt:
            self._refuse(node.line, path, "An empty name stands here. Take it out.")
        return name

    def _mapping(self, node: Node, path: Path, known: Sequence[str], shape: str) -> dict[str, Node]:
        """The values of known keys; unknown and repeated keys are told, and `shape` where it is no mapping."""
        self._lines[path] = node.line
        got: dict[str, Node] = {}
        if not isinstance(node, Pairs):
            self._refuse(node.line, path, shape if not isinstance(node, Refused) else "")
            return got
        strange: list[Text] = []
        for key, value in node.pairs:
            place = (*path, key.value)
            if key.value not in known:
                strange.append(key)
            elif key.value in got:
                self._found.append((key.line, place, f"{key.value!r} stands here twice. Keep one."))
            else:
                self._lines[place] = key.line
                got[key.value] = value
        for key in strange:
            self._strange(key, path, known, got)
        return got

    def _strange(self, key: Text, path: Path, known: Sequence[str], got: Collection[str]) -> None:
        """Tell of an unknown key; what it was likely meant for is not told to be missing as well."""
        hint = nearest(key.value, known)
        self._found.append((key.line, path, f"There is no {one_line(key.value)[:60]!r} here. {hint}"))
        self._spoilt |= {(*path, one) for one in known if one not in got and hint == f"Did you mean {one!r}?"}

    def _list(
        self, got: dict[str, Node], path: Path, key: str, make: Callable[[Node, Path], _T], *, one: bool = False
    ) -> tuple[_T, ...]:
        """What `make` makes of each entry; a single text counts as a list of one where `one` says so."""
        node, path = got.get(key, Text("")), (*path, key)
        if isinstance(node, Text) and (one or not node.value.strip()):
            return (make(node, path),) if node.value.strip() else ()
        if not isinstance(node, Items):
            shape = f"A list is wanted here. Begin every entry of {key!r} with '- ' on a line of its own."
            self._refuse(node.line, path, "" if isinstance(node, Refused) else shape)
            return ()
        made = []
        for index, item in enumerate(node.items):
            self._lines[*path, index] = item.line
            made.append(make(item, (*path, index)))
        return tuple(made)

    def _text(self, got: dict[str, Node], path: Path, key: str) -> str:
        return self._scalar(got[key], (*path, key)) if key in got else ""

    def _scalar(self, node: Node, path: Path, shape: str = "") -> str:
        if isinstance(node, Text):
            return _tidy(node.value)
        shape = shape or "A text is wanted here, not a list or a mapping. If it holds a colon, put it in quotes."
        self._refuse(node.line, path, "" if isinstance(node, Refused) else shape)
        return ""

    def _refuse(self, line: int, path: Path, what: str) -> None:
        self._spoilt.add(path)
        if what:
            self._found.append((line, path, what))


def write(plan: Plan) -> str:
    """The plan as YAML: first what is short, then characters and scenes, parted by blank lines."""
    head = _pairs((key, getattr(plan, key)) for key in ("title", "brief", "conflict", "setting"))
    parts = [yamltext.write(head)] if head.pairs else []
    for key, entries in (("characters", map(_sheet, plan.characters)), ("scenes", map(_written, plan.scenes))):
        # Written one by one, as PyYAML puts no blank lines: every text but the first goes on with the list.
        alone = [yamltext.write(_pairs([(key, Items((entry,)))])) for entry in entries]
        parts += alone[:1] + [text.removeprefix(f"{key}:\n") for text in alone[1:]]
    return "\n".join(parts)


def _pairs(entries: Iterable[tuple[str, str | Node]]) -> Pairs:
    """A mapping of what is not empty."""
    nodes = ((key, _text(value) if isinstance(value, str) else value) for key, value in entries)
    return Pairs(tuple((Text(key), node) for key, node in nodes if node not in (Text(""), Items(()), Pairs(()))))


def _text(text: str) -> Text:
    """A text as it will be read."""
    return Text(_tidy(text))


def _sheet(character: Character) -> Pairs:
    entries = [(key, getattr(character, key)) for key in _CHARACTER if key != "group"]
    return _pairs([*entries, ("group", "yes" if character.group else "")])


def _written(scene: ScenePlan) -> Pairs:
    after = scene.after[0] if len(scene.after) == 1 else Items(tuple(map(_text, scene.after)))
    goals = tuple((_text(presence.name), _text(presence.goal)) for presence in scene.characters)
    names = Items(tuple(key for key, _ in goals))
    outline = (_pairs([("event", e.text), ("time", e.time)]) if e.time else _text(e.text) for e in scene.outline)
    return _pairs(
        [
            ("name", scene.name),
            ("element", scene.element),
            ("place", scene.place),
            ("importance", str(scene.importance)),
            ("time", scene.time),
            ("after", after),
            ("characters", Pairs(goals) if any(goal.value for _, goal in goals) else names),
            ("outline", Items(tuple(outline))),
        ]
    )
