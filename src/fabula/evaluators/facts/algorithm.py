"""What a story says about its world, read scene by scene: `evaluate` is the procedure, and its steps follow."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field

from fabula.continuity import NumberedScene, scenes_of
from fabula.craft.measuring import check_numbers, checked
from fabula.craft.quoting import located
from fabula.craft.raters import mark_for, rating_of, reply_or_why
from fabula.engine.methods import values_of
from fabula.engine.replies import short
from fabula.engine.run import Run, side_by_side
from fabula.measure.report import Report, Row
from fabula.models.base import Sampling
from fabula.stats.estimate import Unscored
from fabula.stats.intervals import count_of
from fabula.stats.shares import share
from fabula.story import one_line
from fabula.story.world import Entity, Fact, Moment, WorldState
from fabula.story.world.facts import MAX_NAME, MAX_TEXT
from fabula.story.world.file import write_world

if TYPE_CHECKING:
    from fabula.evaluators.facts.config import Config
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


EVALUATOR: Final = "facts"
RUBRIC: Final = "facts-1"
ROLE: Final = "reader"
_SAID: Final = ("asserted", "reported", "believed", "planned")
_SHORT_REPLY: Final = 1_200  # tokens of a small reader's list
_MOST_NAMES: Final = 200  # of earlier scenes that are shown
_MOST_FACTS: Final = 1_000  # of one scene
_SHOWN: Final = 200  # letters of why a scene is not read


class FactReply(BaseModel):
    """A fact that the scene states."""

    about: Annotated[str, short(60)] = Field(default="", description="Whom or what it is about, by name.")
    property: Annotated[str, short(40)] = Field(default="", description="Which property of it, in a word or two.")
    value: Annotated[str, short(110)] = Field(default="", description="What it is, in a few words.")
    concerns: Annotated[list[Annotated[str, short(60)]], short(4)] = Field(
        default_factory=list, description="Names of further people, things or places that the value names."
    )
    quote: Annotated[str, short(180)] = Field(
        default="", description="The words of the scene that state it, copied exactly."
    )
    said: Annotated[str, Field(json_schema_extra={"enum": list(_SAID)})] = Field(
        default="asserted", description="Stated by the story, or only reported, believed or planned by somebody."
    )
    by: Annotated[str, short(60)] = Field(default="", description="Who reports, believes or plans it; else empty.")
    known_to: Annotated[list[Annotated[str, short(60)]], short(8)] = Field(
        default_factory=list, description="Names of the characters who learn of it here; none where nobody does."
    )


class SceneFacts(BaseModel):
    """What a scene states."""

    characters: Annotated[list[Annotated[str, short(60)]], short(15)] = Field(
        default_factory=list, description="Names of the people of this scene, each in its fullest form."
    )
    facts: Annotated[list[FactReply], short(25)] = Field(default_factory=list)


@dataclass
class FactReading:
    """The part of a story that has been read.

    Attributes:
        facts: by the number of their scene.
        names: who and what was named, in order.
        unread: numbers of scenes whose facts could not be read; `ratings` give the reasons.
        counts: quotations that are in their scene, quotations that are not, and facts that name nothing.
    """

    item: Item
    scenes: Sequence[NumberedScene]
    facts: dict[int, list[Fact]] = field(default_factory=dict)
    characters: dict[str, int] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)
    ratings: list[Rating] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The facts of all stories, with counts of facts, of quotations in their scene, and of contradictions.

    Raises:
        UsageError: a setting is wrong, or a story has no words.
        ModelError: the reader did not answer.
        BudgetError: the cap is reached.
    """
    check_numbers(config, from_1=("scene_words",), from_0=("temperature",))
    checked(items)
    readings = await side_by_side(read_story(item, run.scope(item.id), config) for item in items)
    worlds = [_world(reading) for reading in readings]
    told = list(zip(readings, worlds, strict=True))
    numbers = tuple(row for reading, (_, conflicts) in told for row in _rows(reading, conflicts))
    stories = [{"id": reading.item.id, "world": world, "unread": reading.unread} for reading, (world, _) in told]
    how = values_of(config) | {"read by": run.room(ROLE).model.identity}
    ratings = tuple(rating for reading in readings for rating in reading.ratings)
    return Report(EVALUATOR, how, numbers, ratings, tuple(_notes(readings)), {"stories": stories})


async def read_story(item: Item, run: Run, config: Config) -> FactReading:
    """The facts of one story, scene by scene: each scene is read with the names of those before it."""
    reading = FactReading(item, scenes_of(item.story, config.scene_words).scenes)
    for scene in reading.scenes:
        at = run.scope(scene.number)
        known = list(reading.names)[-_MOST_NAMES:]
        sampling = Sampling(temperature=config.temperature, max_tokens=at.room(ROLE).reply_tokens(short=_SHORT_REPLY))
        reply, why = await reply_or_why(
            at, SceneFacts, ROLE, "read", sampling, scene=scene, known=known, mark=mark_for(scene.text)
        )
        if reply is None:
            reading.unread.append(scene.number)
            reading.ratings.append(_unread(item, at, why))
            continue
        for name in filter(None, map(_name, reply.characters)):
            reading.characters.setdefault(name, scene.number)
        reading.facts[scene.number] = facts_of(reply, scene, reading.counts)
        for fact in reading.facts[scene.number]:
            reading.names |= dict.fromkeys((fact.subject, *fact.about))
    return reading


def _unread(item: Item, at: Run, why: str) -> Rating:
    """A rating that says why nothing is known about a scene."""
    return rating_of(
        [item],
        at.room(ROLE).model.identity,
        evaluator=EVALUATOR,
        rubric=RUBRIC,
        question=f"scene {at.at.rpartition('/')[2]}",
        answer=None,
        call=f"{at.at}/read",
        unscored=one_line(why)[:_SHOWN],
    )


def facts_of(reply: SceneFacts, scene: NumberedScene, counts: Counter[str]) -> list[Fact]:
    """The facts of a reply, in the order of their words. Facts that name nothing are left out and counted."""
    found: list[Fact] = []
    for one in reply.facts[:_MOST_FACTS]:
        subject, slot, value = _name(one.about), _name(one.property), one_line(one.value)[:MAX_TEXT]
        if not (subject and slot and value):
            counts["empty"] += 1
            continue
        places = located(scene.text, one.quote)
        counts["quoted" if places else "unquoted"] += 1
        span = places[0] if places else None
        said = one.said if one.said in _SAID else "asserted"
        fact = Fact(
            subject,
            slot,
            value,
            Moment(scene.number, span[0] if span else 0),
            modality=said,  # type: ignore[arg-type] # one of `_SAID`
            source=_name(one.by) if said != "asserted" else "",
            witnesses=tuple(dict.fromkeys(filter(None, map(_name, one.known_to)))),
            about=tuple(dict.fromkeys(filter(None, map(_name, one.concerns)))),
            quote=scene.text[slice(*span)] if span else "",
            span=span,
        )
        found.append(fact)
    return sorted(found, key=lambda fact: fact.told)


def _name(said: str) -> str:
    return one_line(said)[:MAX_NAME].strip()


def _world(reading: FactReading) -> tuple[dict[str, Any], int]:
    """The facts of a story in the form of a world file, and the number that contradict earlier facts."""
    with WorldState() as world:
        world.describe(Entity(name, "character", scene=scene) for name, scene in reading.characters.items())
        for scene in reading.scenes:
            world.put_scene(scene.number, scene.title)
        world.add(fact for facts in reading.facts.values() for fact in facts)
        data: dict[str, Any] = json.loads(write_world(world))
        return data, len(world.conflicts())


def _rows(reading: FactReading, conflicts: int) -> Iterator[Row]:
    of, read = reading.item.id, len(reading.scenes) - len(reading.unread)
    if not read:
        why = Unscored("nothing that the reader said could be read", len(reading.scenes))
        yield Row(of, "facts", why)
        return
    counts = [float(len(facts)) for facts in reading.facts.values()]
    yield Row(of, "facts", count_of(counts, "facts of one story; n scenes"))
    quoted = reading.counts["quoted"]
    yield Row(of, "quotations found", share(quoted, quoted + reading.counts["unquoted"], "facts"))
    yield Row(of, "facts that contradict earlier ones", share(conflicts, int(sum(counts)), "facts"))


def _notes(readings: Sequence[FactReading]) -> Iterator[str]:
    for reading in readings:
        if reading.unread:
            listed = ", ".join(map(str, reading.unread))
            yield f"{reading.item.id}: scenes {listed} were not read. Run the command again, or use another reader."
        if empty := reading.counts["empty"]:
            yield f"{reading.item.id}: {empty} of the reader's notes are left out because they name nothing."
