"""`plan/stage.yaml` read, checked and written; `script` shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from fabula.base import yamltext
from fabula.base.yamltext import Items, Pairs, Text
from fabula.story import one_line, slug
from fabula.story.sheets import SheetProblem, read_sheet
from fabula.systems.ibsen.script import (
    BEGINS,
    NARRATION,
    WHERE,
    ActorSheet,
    PlayerSheet,
    Remembered,
    Saying,
    Script,
    SubAct,
    moment,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fabula.base.yamltext import Node

MAX_TEXT: Final = 4_000
_MOST: Final = 500  # acts, and goals of one
_MOST_ACTORS: Final = 50


def parse_script(text: str, where: str = WHERE) -> Script:
    """The script in a YAML file.

    Raises:
        PlanError: something is wrong; names all problems, "FILE:LINE: field: what, and what to do".
    """
    return read_sheet(text, where, "stage", _script, _problems)


def _problems(script: Script) -> list[SheetProblem]:
    return [*_names(script), *_acts(script), *_times(script)]


def _names(script: Script) -> Iterator[SheetProblem]:
    """Names that cannot be told apart."""
    named = [(("actors", n, "name"), actor.name) for n, actor in enumerate(script.actors)]
    named += [(("players", n, "name"), player.name) for n, player in enumerate(script.players)]
    for places in (named, [(("acts", n, "title"), act.title) for n, act in enumerate(script.acts)]):
        seen: set[str] = set()
        for place, name in places:
            if slug(name) in seen:
                yield SheetProblem(place, f"There are two called {name!r}. Rename one of them.")
            if slug(name) == slug(NARRATION):
                yield SheetProblem(place, f"{name!r} is what the narration is called. Take another name.")
            seen.add(slug(name))


def _acts(script: Script) -> Iterator[SheetProblem]:
    """Sub-acts that cannot be played."""
    at = {act.title: n for n, act in enumerate(script.acts)}
    for group in script.groups:
        busy: set[str] = set()
        for act in group:
            yield from _actors(script, act, at[act.title], busy)
            busy.update(act.actors)
            if act.next_act and act.next_act not in at:
                told = f"There is no sub-act {act.next_act!r}. Give a title of the next act, or leave it out."
                yield SheetProblem(("acts", at[act.title], "next_act"), told)
    for n, player in enumerate(script.players):
        if player.place and player.place not in at:
            told = f"There is no sub-act {player.place!r}. Give a title, or leave it out."
            yield SheetProblem(("players", n, "place"), told)


def _actors(script: Script, act: SubAct, at: int, busy: set[str]) -> Iterator[SheetProblem]:
    """What is wrong with the actors of one sub-act; `busy` are those at another place at the same time."""
    known = [actor.name for actor in script.actors]
    if act.goals and not act.actors:
        yield SheetProblem(("acts", at, "actors"), "Goals need somebody to play them. Name one actor or more.")
    for n, name in enumerate(act.actors):
        if name not in known:
            told = f"{name!r} is none of the actors ({', '.join(known)}). Mend the name, or add the actor."
            yield SheetProblem(("acts", at, "actors", n), told)
        elif name in busy:
            told = f"{name!r} is at another place at the same time. Take one of the two out."
            yield SheetProblem(("acts", at, "actors", n), told)


def _times(script: Script) -> Iterator[SheetProblem]:
    """Times that cannot be read."""
    times: list[tuple[tuple[str | int, ...], str]] = [(("begins",), script.begins)]
    for n, actor in enumerate(script.actors):
        times += [(("actors", n, "memories", m, "time"), memory.time) for m, memory in enumerate(actor.memories)]
    for place, time in times:
        try:
            script.hours(time) if place != ("begins",) else moment(time)
        except ValueError:
            yield SheetProblem(place, f"{time!r} is no time. Write it as 1962-10-28 18:00.")


def write_script(script: Script) -> str:
    """The script as YAML that `parse_script` reads back; empty fields are left out."""

    def node(value: object) -> Node:
        if isinstance(value, tuple) and value and isinstance(value[0], tuple):
            return Pairs(tuple((Text(str(key)), node(item)) for key, item in value))
        if isinstance(value, tuple):
            return Items(tuple(node(item) for item in value))
        if hasattr(value, "__slots__"):
            return sheet((field, getattr(value, field)) for field in value.__slots__)
        return Text(("yes" if value else "no") if isinstance(value, bool) else str(value))

    def sheet(pairs: Iterable[tuple[str, object]]) -> Pairs:
        return Pairs(tuple((Text(key), node(value)) for key, value in pairs if value not in ("", (), False)))

    begins = "" if script.begins == BEGINS else script.begins
    top = (("title", script.title), ("background", script.background), ("begins", begins))
    return yamltext.write(sheet((*top, ("actors", script.actors), ("players", script.players), ("acts", script.acts))))


# the shape of the file ----------------------------------------------------------------------------------------------

_Text: TypeAlias = Annotated[str, Field(max_length=MAX_TEXT)]
_Line: TypeAlias = Annotated[str, Field(max_length=200), AfterValidator(one_line)]
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
_Goal: TypeAlias = Annotated[str, Field(min_length=1, max_length=MAX_TEXT)]
_or_none: Final = BeforeValidator(lambda v: v or [])
_listed: Final = BeforeValidator(lambda v: [v] if isinstance(v, str) and v else v or [])


class _Sheet(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Past(_Sheet):
    event: _Goal
    thought: _Text = ""
    time: _Line = ""


class _Said(_Sheet):
    asked: _Text
    said: _Text


class _Actor(_Sheet):
    name: _Name
    description: _Text = ""
    relations: Annotated[dict[str, _Text], BeforeValidator(lambda v: v or {})] = {}
    memories: Annotated[list[_Past], _or_none] = []
    sayings: Annotated[list[_Said], _or_none] = []
    aliases: Annotated[list[_Line], _listed] = []


class _Player(_Sheet):
    name: _Name
    description: _Text = ""
    place: _Line = ""


class _Act(_Sheet):
    title: _Name
    place: _Text = ""
    background: _Text = ""
    actors: Annotated[list[_Line], _listed] = []
    goals: Annotated[list[_Goal], Field(max_length=_MOST), _listed] = []
    player_in: _Text = ""
    player_out: _Text = ""
    next_act: _Line = ""
    meanwhile: bool = False


class _Top(_Sheet):
    title: _Line = ""
    background: _Text = ""
    begins: _Line = BEGINS
    actors: Annotated[list[_Actor], Field(min_length=1, max_length=_MOST_ACTORS)]
    players: Annotated[list[_Player], _or_none, Field(max_length=_MOST_ACTORS)] = []
    acts: Annotated[list[_Act], Field(min_length=1, max_length=_MOST)]


def _script(data: Any) -> Script:  # noqa: ANN401 - data of any kind
    """The script in plain data.

    Raises:
        ValidationError: it has another shape.
    """
    top = _Top.model_validate(data)
    acts = [{**act.model_dump(), "actors": tuple(act.actors), "goals": tuple(act.goals)} for act in top.acts]
    return Script(
        tuple(SubAct(**act) for act in acts),
        tuple(map(_actor, top.actors)),
        tuple(PlayerSheet(**player.model_dump()) for player in top.players),
        top.title,
        top.background,
        top.begins or BEGINS,
    )


def _actor(sheet: _Actor) -> ActorSheet:
    return ActorSheet(
        sheet.name,
        sheet.description,
        tuple(sheet.relations.items()),
        tuple(Remembered(**past.model_dump()) for past in sheet.memories),
        tuple(Saying(**said.model_dump()) for said in sheet.sayings),
        tuple(sheet.aliases),
    )
