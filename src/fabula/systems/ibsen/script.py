"""The script that is played, `plan/stage.yaml`: its types, its file, and how one is made of a plan.

::

    title: The Last Lamp
    background: A lighthouse on a bare cape, in the autumn of 1962.
    begins: 1962-10-28 18:00          # the clock of memories; a minute passes with every line
    actors:
      - name: Mara
        description: Keeper of the lighthouse, seventy, sparing with words.
        secret: She let the lamp go out once.       # for the actor and the director
        relations: {Tobias: the boy who brings her bread}
        memories:
          - event: Mara was pulled out of the sea as a child.
            thought: They asked nobody's name before they threw the rope.
            time: 1902-11-03 04:00
        sayings:
          - {asked: Are you cold?, said: It is October.}
      - name: Tobias
      - name: Father
    players:
      - {name: A stranger, description: He came with the last ferry., place: The letter}
    acts:
      - title: The letter
        place: the lamp room
        background: Dusk. The wind has turned north-west.
        actors: [Mara, Tobias]
        goals: [Tobias brings the letter., Mara reads it and hides what it says.]
        player_in: The door opens.
        player_out: The door falls shut.
        next_act: The light
      - title: The quay
        meanwhile: yes                 # at the same time as the one before it
        actors: [Father]
        goals: [Father puts out to sea.]
      - title: The light
        actors: [Mara, Tobias, Father]
        goals: [Mara lights the lamp against the order.]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from fabula.base import yamltext
from fabula.base.yamltext import Items, MappingPairs, Node, ScalarText
from fabula.craft.personas import given_personas
from fabula.craft.planning import PlanOptions, plan_for
from fabula.story import Brief, one_line, slug
from fabula.story.sentences import as_sentence
from fabula.story.sheets import SheetProblem, read_sheet

if TYPE_CHECKING:
    from fabula.engine.run import Run
    from fabula.story.personas import Personas
    from fabula.story.plan import Character, Plan
    from fabula.systems.ibsen.config import Config


NARRATION: Final = "Narration"
BEGINS: Final = datetime(2000, 1, 1, 12)  # noqa: DTZ001 - the clock of a story has no time zone
_STAGE, _FOLDER, _SUFFIX = "stage", "plan", "yaml"
_WHERE: Final = "plan/stage.yaml"
_SECONDS: Final = 3600
_MAX_TEXT: Final = 20_000  # of a field; what a capable planner or an author writes of one person or scene
_MOST_ACTORS: Final = 50
_MOST_ACTS: Final = 500  # and goals of one
_SOMEBODY: Final = "Somebody"


# the script and the shape of its file -------------------------------------------------------------------------------


def _moment(value: object) -> object:
    """The date and time in "1962-10-28 18:00"."""
    if not isinstance(value, str) or not value:
        return value or None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError:
        what = "'{value}' is not a time. Write it as 1962-10-28 18:00"
        raise PydanticCustomError("no_time", what, {"value": value}) from None


_Text: TypeAlias = Annotated[str, Field(max_length=_MAX_TEXT)]
_Line: TypeAlias = Annotated[str, Field(max_length=200), AfterValidator(one_line)]
_Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
_Goal: TypeAlias = Annotated[str, Field(min_length=1, max_length=_MAX_TEXT)]
_Time: TypeAlias = Annotated[datetime | None, BeforeValidator(_moment)]
_or_none: Final = BeforeValidator(lambda value: value or ())
_listed: Final = BeforeValidator(lambda value: [value] if isinstance(value, str) and value else value or ())


class _Sheet(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Remembered(_Sheet):
    """One entry of an actor's profile: an event, and in the first person what the actor thinks of it."""

    event: _Goal
    thought: _Text = ""
    time: _Time = None


class Saying(_Sheet):
    """How an actor once answered: an example of its way of speaking (the release's corpus)."""

    asked: _Text
    said: _Text


class ActorSheet(_Sheet):
    """Who an actor is.

    Attributes:
        relations: one sentence for each name.
        secret: what the character hides; shown to its own actor, and to who knows all.
        knows: what the character knows of the others when the play begins; shown to the same.
    """

    name: _Name
    description: _Text = ""
    secret: _Text = ""
    knows: _Text = ""
    relations: Annotated[dict[str, _Text], BeforeValidator(lambda value: value or {})] = {}
    memories: Annotated[tuple[Remembered, ...], _or_none] = ()
    sayings: Annotated[tuple[Saying, ...], _or_none] = ()
    aliases: Annotated[tuple[_Line, ...], _listed] = ()

    @property
    def whole(self) -> str:
        """Who the actor is, with what it hides and knows, as the director and the writer know it."""
        said = (
            self.description,
            self.secret and f"Hides: {as_sentence(self.secret)}",
            self.knows and f"Knew when the story began: {as_sentence(self.knows)}",
        )
        return " ".join(filter(None, said))

    @property
    def called(self) -> tuple[str, ...]:
        """Names by which others speak of the actor: the whole one, its parts, the aliases."""
        parts = [part for part in self.name.split() if part[:1].isupper()]
        return (self.name, *parts, *self.aliases)


class PlayerSheet(_Sheet):
    """A person of the play who steps in when they like; `place` is the title of the sub-act they begin in."""

    name: _Name
    description: _Text = ""
    place: _Line = ""


class SubAct(_Sheet):
    """What happens at one place: who is there, and the ordered objectives that the director steers to.

    Attributes:
        importance: 1 (least) to 10; prose shares the words wanted by it.
        background: the opening narration.
        goals: without any the sub-act is never active; players may pass through it.
        player_in: the narration when a player comes.
        player_out: the narration when a player leaves.
        next_act: the sub-act of the next group to which its players go; the first one if empty.
        meanwhile: whether it is played at the same time as the one before it.
    """

    title: _Name
    place: _Text = ""
    importance: Annotated[int, Field(ge=1, le=10)] = 5
    background: _Text = ""
    actors: Annotated[tuple[_Line, ...], _listed] = ()
    goals: Annotated[tuple[_Goal, ...], Field(max_length=_MOST_ACTS), _listed] = ()
    player_in: _Text = ""
    player_out: _Text = ""
    next_act: _Line = ""
    meanwhile: bool = False


class Script(_Sheet):
    """A whole script; `acts` in the order of playing.

    `background` is for everybody; `conflict` and `telling` (how the story is told and what it keeps to) are for those
    who know all: in improved mode the director and the writer.
    """

    title: _Line = ""
    background: _Text = ""
    conflict: _Text = ""
    telling: Annotated[tuple[_Text, ...], _listed] = ()
    begins: _Time = None
    actors: Annotated[tuple[ActorSheet, ...], Field(min_length=1, max_length=_MOST_ACTORS)]
    players: Annotated[tuple[PlayerSheet, ...], _or_none, Field(max_length=_MOST_ACTORS)] = ()
    acts: Annotated[tuple[SubAct, ...], Field(min_length=1, max_length=_MOST_ACTS)]

    @property
    def groups(self) -> tuple[tuple[SubAct, ...], ...]:
        """The act groups: sub-acts that are played at the same time."""
        groups: list[list[SubAct]] = []
        for act in self.acts:
            if act.meanwhile and groups:
                groups[-1].append(act)
            else:
                groups.append([act])
        return tuple(map(tuple, groups))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all actors and players."""
        return tuple(dict.fromkeys([*(a.name for a in self.actors), *(p.name for p in self.players)]))

    def hours(self, time: datetime | None) -> float:
        """The hours from the script's beginning to `time`; 0 for none."""
        return (time - (self.begins or BEGINS)).total_seconds() / _SECONDS if time else 0.0


def parse_script(text: str, where: str = _WHERE) -> Script:
    """The script in a YAML file.

    Raises:
        PlanError: something is wrong; names all problems, "FILE:LINE: field: what, and what to do".
    """
    return read_sheet(
        text, where, _STAGE, Script.model_validate, lambda script: [*_name_problems(script), *_act_problems(script)]
    )


def _name_problems(script: Script) -> Iterator[SheetProblem]:
    """Names that cannot be told apart."""
    named = [(("actors", n, "name"), actor.name) for n, actor in enumerate(script.actors)]
    named += [(("players", n, "name"), player.name) for n, player in enumerate(script.players)]
    for places in (named, [(("acts", n, "title"), act.title) for n, act in enumerate(script.acts)]):
        seen: set[str] = set()
        for place, name in places:
            if slug(name) in seen:
                yield SheetProblem(place, f"Two entries are called {name!r}. Rename one of them.")
            if slug(name) == slug(NARRATION):
                yield SheetProblem(place, f"{name!r} is the name of the narration. Use another name.")
            seen.add(slug(name))


def _act_problems(script: Script) -> Iterator[SheetProblem]:
    """Sub-acts that cannot be played."""
    at = {act.title: n for n, act in enumerate(script.acts)}
    for group in script.groups:
        busy: set[str] = set()
        for act in group:
            yield from _cast_problems(script, act, at[act.title], busy)
            busy.update(act.actors)
            if act.next_act and act.next_act not in at:
                what = f"There is no sub-act {act.next_act!r}. Give a title of the next act, or leave it out."
                yield SheetProblem(("acts", at[act.title], "next_act"), what)
    for n, player in enumerate(script.players):
        if player.place and player.place not in at:
            what = f"There is no sub-act {player.place!r}. Give a title, or leave it out."
            yield SheetProblem(("players", n, "place"), what)


def _cast_problems(script: Script, act: SubAct, at: int, busy: set[str]) -> Iterator[SheetProblem]:
    """What is wrong with the actors of one sub-act; `busy` are those at another place at the same time."""
    known = [actor.name for actor in script.actors]
    if act.goals and not act.actors:
        yield SheetProblem(("acts", at, "actors"), "Goals need somebody to play them. Name one actor or more.")
    for n, name in enumerate(act.actors):
        if name not in known:
            what = f"{name!r} is not one of the actors ({', '.join(known)}). Correct the name, or add the actor."
            yield SheetProblem(("acts", at, "actors", n), what)
        elif name in busy:
            what = f"{name!r} is at another place at the same time. Remove one of the two entries."
            yield SheetProblem(("acts", at, "actors", n), what)


def write_script(script: Script) -> str:
    """The script as YAML that `parse_script` reads back; empty fields are left out."""
    return yamltext.write(_node(script))


def _node(value: object) -> Node:
    if isinstance(value, BaseModel):
        shown = {name: getattr(value, name) for name in type(value).model_fields}
        return _node({name: item for name, item in shown.items() if item})
    if isinstance(value, dict):
        return MappingPairs(tuple((ScalarText(str(key)), _node(item)) for key, item in value.items()))
    if isinstance(value, tuple):
        return Items(tuple(map(_node, value)))
    if isinstance(value, datetime):
        return ScalarText(value.isoformat(" ", "minutes"))
    return ScalarText("yes" if value is True else str(value))


# where the script comes from ----------------------------------------------------------------------------------------


async def script_for(
    run: Run, brief: Brief, config: Config, of_plan: Callable[[Plan], Script], options: PlanOptions
) -> Script:
    """The author's `plan/stage.yaml`, or one made from the author's plan, or from a plan made from the brief.

    What is made is kept, and a person can edit it. Making it from a plan (`of_plan`) costs nothing. Who is what to whom
    comes from the author's personas. The setting `players` adds those whom the script does not name.

    Raises:
        PlanError: the author's script, plan or personas have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """

    async def make(own: Run) -> str:
        del own  # the plan is an artefact beside the script, not below it
        script = of_plan(await plan_for(run, brief, options))
        return write_script(with_relations(script, await given_personas(run)))

    script = await run.keep(_STAGE, make, folder=_FOLDER, suffix=_SUFFIX, read=parse_script)
    asked = dict.fromkeys(name for part in config.paper.players.split(",") if (name := one_line(part)))
    known = {slug(name) for name in script.names}
    new = tuple(PlayerSheet(name=name) for name in asked if slug(name) not in known)
    return script.model_copy(update={"players": (*script.players, *new)})


def script_of(plan: Plan) -> Script:
    """The script of a plan: each scene is a sub-act, and its events are the objectives.

    Values are checked when the script is read, not here.
    """
    actors = tuple(_actor(character) for character in plan.characters) or (ActorSheet(name=_SOMEBODY),)
    return Script.model_construct(
        title=one_line(plan.title),
        background=" ".join(filter(None, (one_line(plan.setting), one_line(plan.conflict)))),
        actors=actors,
        acts=acts_of(plan, [actor.name for actor in actors]),
    )


def _actor(character: Character) -> ActorSheet:
    """Who somebody is, but for their part in the story as its author sees it."""
    sheet = ", ".join(filter(None, (character.gender, character.age)))
    about = (
        sheet[:1].upper() + sheet[1:],
        character.setup,
        character.personality and f"Personality: {character.personality}",
        character.speech and f"Way of speaking: {character.speech}",
        character.goal and f"Wants: {character.goal}",
    )
    return ActorSheet.model_construct(
        name=one_line(character.name),
        description=" ".join(as_sentence(one_line(part)) for part in about if part),
        secret=one_line(character.secret),
        knows=one_line(character.knows),
    )


def acts_of(plan: Plan, everybody: Sequence[str], parts: int = 0) -> tuple[SubAct, ...]:
    """The scenes of a plan as sub-acts; the events of each in `parts` objectives at most, each by itself without."""
    following = [*(one_line(scene.name) for scene in plan.scenes[1:]), ""]
    acts: list[SubAct] = []
    for scene, after in zip(plan.scenes, following, strict=True):
        events = [one_line(event.text) for event in scene.outline]
        number = min(parts, len(events)) or len(events)
        edges = [round(n * len(events) / number) for n in range(number + 1)] if events else [0]
        texts = events if number == len(events) else [*map(as_sentence, events)]
        acts.append(
            SubAct.model_construct(
                title=one_line(scene.name),
                place=one_line("; ".join(filter(None, (scene.place, scene.when)))),
                importance=scene.importance,
                background=one_line(scene.place),
                actors=tuple(map(one_line, scene.present)) or tuple(everybody),
                goals=tuple(" ".join(texts[start:end]) for start, end in pairwise(edges)),
                next_act=after,
            )
        )
    return tuple(acts)


def with_relations(script: Script, start: Personas | None) -> Script:
    """The script with what its people are to each other, and are called, by the author's personas."""
    people = {slug(persona.name): persona for persona in start.people} if start else {}
    actors = tuple(
        actor.model_copy(update={"relations": dict(own.relationships), "aliases": own.aliases})
        if (own := people.get(slug(actor.name)))
        else actor
        for actor in script.actors
    )
    return script.model_copy(update={"actors": actors})
