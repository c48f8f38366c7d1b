"""The script that is played, `plan/stage.yaml`: its types, its file, and how one is made of a plan.

::

    title: The Last Lamp
    background: A lighthouse on a bare cape, in the autumn of 1962.  # for all; `setting` is not for actors
    begins: 1962-10-28 18:00          # the clock of memories; a minute passes with every line
    actors:
      - name: Mara
        description: Keeper of the lighthouse, seventy, sparing with words.
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

from datetime import datetime
from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from fabula.base import yamltext
from fabula.base.errors import ReplyError
from fabula.base.yamltext import Items, Pairs, Text
from fabula.craft.length import asked_range
from fabula.craft.planning import PlanOptions, plan_for
from fabula.models.base import Sampling
from fabula.story import one_line, slug
from fabula.story.people import mentioned
from fabula.story.personas import Persona
from fabula.story.sentences import as_sentence
from fabula.story.sheets import SheetProblem, read_sheet
from fabula.systems.ibsen.config import SHORT
from fabula.systems.ibsen.shapes import steps_shape

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.base.yamltext import Node
    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.plan import Character, Event, Plan, ScenePlan
    from fabula.systems.ibsen.config import Config, Ours

NARRATION: Final = "Narration"
DOCUMENT: Final = "Document"  # a letter or another text, word for word
BEGINS: Final = datetime(2000, 1, 1, 12)  # noqa: DTZ001 - the clock of a story has no time zone
_STAGE, _FOLDER, _SUFFIX = "stage", "plan", "yaml"
_WHERE: Final = "plan/stage.yaml"
_SECONDS: Final = 3600
_MAX_TEXT: Final = 20_000  # of a field; what a capable planner or an author writes of one person or scene
_MOST_ACTORS: Final = 50
_MOST_ACTS: Final = 500  # and goals of one
_STAGES_A_CALL: Final = 6  # stages of an objective that one call names
_MOST_STAGES: Final = 60
_SOMEBODY: Final = "Somebody"


# the script and the shape of its file -------------------------------------------------------------------------------


def _moment(value: object) -> object:
    """The date and time in "1962-10-28 18:00"."""
    if not isinstance(value, str) or not value:
        return value or None
    try:
        return datetime.fromisoformat(value).replace(tzinfo=None)
    except ValueError:
        what = "'{value}' is no time. Write it as 1962-10-28 18:00"
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
        secret: what the character hides; shown to its own actor, the director and the writer.
        knows: what the character knows of the others when the play begins; shown to the same.
        wants: what the character wants in the sub-act that is played; shown to the same.
    """

    name: _Name
    description: _Text = ""
    secret: _Text = ""
    knows: _Text = ""
    wants: _Text = ""
    relations: Annotated[dict[str, _Text], BeforeValidator(lambda value: value or {})] = {}
    memories: Annotated[tuple[Remembered, ...], _or_none] = ()
    sayings: Annotated[tuple[Saying, ...], _or_none] = ()
    aliases: Annotated[tuple[_Line, ...], _listed] = ()

    def at(self, act: SubAct) -> ActorSheet:
        """The sheet in a sub-act: at another time somebody was another, and had not yet what they hide and know."""
        changed: dict[str, str] = {}
        if self.name in act.then:
            changed |= {"description": act.then[self.name], "secret": "", "knows": ""}
        if self.name in act.wants:
            changed |= {"wants": act.wants[self.name]}
        return self.model_copy(update=changed) if changed else self

    @property
    def whole(self) -> str:
        """Who the actor is, with what it hides and knows, as the director and the writer know it."""
        return " ".join(
            (
                *filter(None, (self.description,)),
                *((f"Hides: {as_sentence(self.secret)}",) if self.secret else ()),
                *((f"Knew when the story began: {as_sentence(self.knows)}",) if self.knows else ()),
                *((f"Wants in this scene: {as_sentence(self.wants)}",) if self.wants else ()),
            )
        )

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
        background: the opening narration.
        date: when it happens, in words.
        told: its place in the order of telling, from 1, where that is not the order of playing.
        then: of those who were others at that time than their sheets say: who they were.
        wants: what people want in it.
        importance: 1 (least) to 10; prose shares the words wanted by it.
        goals: without any the sub-act is never active; players may pass through it.
        player_in: the narration when a player comes.
        player_out: the narration when a player leaves.
        next_act: the sub-act of the next group to which its players go; the first one if empty.
        meanwhile: whether it is played at the same time as the one before it.
    """

    title: _Name
    place: _Text = ""
    date: _Text = ""
    told: int = 0
    then: Annotated[dict[str, _Text], BeforeValidator(lambda value: value or {})] = {}
    wants: Annotated[dict[str, _Text], BeforeValidator(lambda value: value or {})] = {}
    importance: Annotated[int, Field(ge=1, le=10)] = 5
    background: _Text = ""
    actors: Annotated[tuple[_Line, ...], _listed] = ()
    goals: Annotated[tuple[_Goal, ...], Field(max_length=_MOST_ACTS), _listed] = ()
    player_in: _Text = ""
    player_out: _Text = ""
    next_act: _Line = ""
    meanwhile: bool = False

    @property
    def when_and_where(self) -> str:
        """Date and place in few words: of the place what names it."""
        named = self.place
        for mark in ":;,":
            named = named.partition(mark)[0]
        return "; ".join(filter(None, (self.date.strip(), named.strip())))


class Script(_Sheet):
    """A whole script; `acts` in the order of playing.

    `conflict`, `telling` (how the story is told and what it keeps to), `setting` (times and places of the whole story)
    and `close` (to whom the story is close) are for the director and the writer alone; `background` is for everybody.
    """

    title: _Line = ""
    background: _Text = ""
    setting: _Text = ""
    conflict: _Text = ""
    telling: Annotated[tuple[_Text, ...], _listed] = ()
    close: Annotated[tuple[_Line, ...], _listed] = ()
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
    def whole_background(self) -> str:
        """The background and the setting of the whole story, as the director and the writer know them."""
        return " ".join(filter(None, (self.background, self.setting)))

    def scenery(self, act: SubAct) -> str:
        """The background as those in a sub-act know it: with the story's setting only where the sub-act has none."""
        return self.background if act.place or act.date else self.whole_background

    def after(self, act: SubAct) -> tuple[SubAct, ...]:
        """The sub-acts of later acts."""
        at = next(n for n, group in enumerate(self.groups) if act in group)
        return tuple(later for group in self.groups[at + 1 :] for later in group)

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
                yield SheetProblem(place, f"There are two called {name!r}. Rename one of them.")
            if slug(name) in (slug(NARRATION), slug(DOCUMENT)):
                what = "the narration" if slug(name) == slug(NARRATION) else "a letter in the log"
                yield SheetProblem(place, f"{name!r} is what {what} is called. Take another name.")
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
            what = f"{name!r} is none of the actors ({', '.join(known)}). Correct the name, or add the actor."
            yield SheetProblem(("acts", at, "actors", n), what)
        elif name in busy:
            what = f"{name!r} is at another place at the same time. Take one of the two out."
            yield SheetProblem(("acts", at, "actors", n), what)


def write_script(script: Script) -> str:
    """The script as YAML that `parse_script` reads back; empty fields are left out."""
    return yamltext.write(_node(script))


def _node(value: object) -> Node:
    if isinstance(value, BaseModel):
        shown = {name: getattr(value, name) for name in type(value).model_fields}
        return _node({name: item for name, item in shown.items() if item})
    if isinstance(value, dict):
        return Pairs(tuple((Text(str(key)), _node(item)) for key, item in value.items()))
    if isinstance(value, tuple):
        return Items(tuple(map(_node, value)))
    if isinstance(value, datetime):
        return Text(value.isoformat(" ", "minutes"))
    return Text("yes" if value is True else str(value))


# where the script comes from ----------------------------------------------------------------------------------------


async def script_for(run: Run, brief: Brief, config: Config) -> Script:
    """The author's `plan/stage.yaml`, or one made from the author's plan, or from a plan made from the brief.

    What is made is kept, and a person can edit it. Making it from a plan costs nothing. The setting `players` adds
    those whom the script does not name.

    Raises:
        PlanError: the author's script or plan has problems; all are named.
        ReplyError: a planner's reply could not be read.
    """

    async def make(own: Run) -> str:
        del own  # the plan is an artefact beside the script, not below it
        plan = await plan_for(run, brief, PlanOptions.of(config))
        return write_script(script_of(plan, config.ours, words_wanted(brief, config)))

    script = await run.keep_as(parse_script, _STAGE, make, folder=_FOLDER, suffix=_SUFFIX)
    asked = dict.fromkeys(name for part in config.paper.players.split(",") if (name := one_line(part)))
    known = {slug(name) for name in script.names}
    new = tuple(PlayerSheet(name=name) for name in asked if slug(name) not in known)
    return script.model_copy(update={"players": (*script.players, *new)})


def script_of(plan: Plan, ours: Ours, want: WordRange | None = None) -> Script:
    """The script of a plan: each scene is a sub-act.

    Its events are its objectives; with `scene_goals` they are one, or as many as yield the words wanted. Values are
    checked when the script is read, not here.
    """
    actors = tuple(_actor(character, ours) for character in plan.characters) or (ActorSheet(name=_SOMEBODY),)
    scenes = plan.scenes
    if ours.own_views:  # played as it happens, so that nobody knows what comes later; told as the plan has it
        scenes = tuple(plan.scene(name) for name in plan.chronology() or plan.names)
    following = [*(one_line(scene.name) for scene in scenes[1:]), ""]
    setting, conflict = one_line(plan.setting), one_line(plan.conflict)
    parts = 0  # every event by itself
    if ours.scene_goals:
        parts = ceil(want.target / (len(plan.scenes) * ours.goal_words)) if want and ours.expand_goals else 1
    return Script.model_construct(
        title=one_line(plan.title),
        background="" if ours.own_views else " ".join(filter(None, (setting, conflict))),
        setting=setting if ours.own_views else "",
        conflict=conflict if ours.own_views else "",
        telling=tuple(filter(None, map(one_line, (plan.manner, plan.form, *plan.demands, *plan.payoffs))))
        if ours.own_views
        else (),
        close=mentioned(plan.person, {actor.name: actor.called for actor in actors}) if ours.own_views else (),
        actors=actors,
        acts=tuple(
            _act(scene, plan, after, tuple(actor.name for actor in actors), parts, ours)
            for scene, after in zip(scenes, following, strict=True)
        ),
    )


def _actor(character: Character, ours: Ours) -> ActorSheet:
    persona = Persona.of(character)
    name = one_line(persona.name)
    if not ours.own_views:
        parts = (
            persona.role and f"{persona.role}.",
            persona.description,
            *(f"Wants: {goal}" for goal in persona.goals),
        )
        return ActorSheet.model_construct(name=name, description=" ".join(filter(None, parts)))
    return ActorSheet.model_construct(
        name=name,
        description=_description(character),
        secret=one_line(character.secret),
        knows=one_line(character.knows),
    )


def _description(character: Character) -> str:
    """Who somebody is, but for their part in the story as its author sees it."""
    sheet = ", ".join(filter(None, (character.gender, character.age)))
    about = (
        sheet[:1].upper() + sheet[1:],
        character.setup,
        character.personality and f"Personality: {character.personality}",
        character.speech and f"Way of speaking: {character.speech}",
        character.goal and f"Wants: {character.goal}",
    )
    return " ".join(as_sentence(one_line(part)) for part in about if part)


def _act(scene: ScenePlan, plan: Plan, after: str, everybody: tuple[str, ...], parts: int, ours: Ours) -> SubAct:
    present = tuple(map(one_line, scene.present)) or everybody
    events = [_told(event, present) if ours.own_views else one_line(event.text) for event in scene.outline]
    number = min(parts, len(events)) or len(events)
    edges = [round(n * len(events) / number) for n in range(number + 1)] if events else [0]
    return SubAct.model_construct(
        title=one_line(scene.name),
        place=one_line(scene.place),
        told=plan.names.index(scene.name) + 1 if ours.own_views and plan.chronology() not in (None, plan.names) else 0,
        date=one_line(scene.when) if ours.own_views else "",
        then={one_line(c.name): text for c, text in _then(scene, plan)} if ours.own_views else {},
        wants={one_line(one.name): one_line(one.goal) for one in scene.characters if ours.own_views and one.goal},
        importance=scene.importance if ours.own_views else 5,
        background=one_line(scene.place),
        actors=present,
        goals=tuple(" ".join(events[start:end]) for start, end in pairwise(edges)),
        next_act=after,
    )


def _then(scene: ScenePlan, plan: Plan) -> Iterator[tuple[Character, str]]:
    """Those who were others at the time of a scene, and who they were then."""
    sheets = {character.name: character for character in plan.characters}
    for character, _ in plan.people(scene):
        if character != sheets.get(character.name, character):
            yield character, _description(character)


def _told(event: Event, present: tuple[str, ...]) -> str:
    """An event, and who of those present does not witness it."""
    text = as_sentence(one_line(event.text))
    away = [name for name in present if event.present and name not in event.present]
    if not away:
        return text
    listed = f"{', '.join(away[:-1])} and {away[-1]}" if away[1:] else away[0]
    return f"{text} (Not witnessed by {listed}.)"


# objectives for a length (ours) -------------------------------------------------------------------------------------


def words_wanted(brief: Brief, config: Config) -> WordRange | None:
    """The words of the story, where it is prose and somebody says how many."""
    return asked_range(brief, config.ours.words) if config.ours.prose else None


def stages_for(script: Script, brief: Brief, config: Config) -> int:
    """Into how many stages each objective is split, so that the play yields enough for the words wanted."""
    want = words_wanted(brief, config)
    goals = sum(len(act.goals) for act in script.acts)
    if not config.ours.expand_goals or want is None or not goals:
        return 1
    return min(max(ceil(want.target / (goals * config.ours.goal_words)), 1), _MOST_STAGES)


async def split_goals(act: SubAct, background: str, number: int, run: Run) -> tuple[str, ...]:
    """The sub-act's objectives, each in `number` stages, of which the last is the objective itself.

    Costs 1 call for 6 stages of an objective. Where stages cannot be read, the objective has fewer.
    """
    goals: list[str] = []
    for place, goal in enumerate(act.goals, 1):
        steps: list[str] = []
        while len(steps) < number - 1:
            asked = min(_STAGES_A_CALL, number - 1 - len(steps))
            try:
                found = await run.scope("goal", place, "stages", len(steps) + 1).ask_for(
                    steps_shape(asked),
                    "director",
                    "split_goal",
                    sampling=Sampling(max_tokens=run.reply_tokens("director", SHORT["split_goal"])),
                    background=background,
                    act=act,
                    before=tuple(goals[-1:]),
                    steps=tuple(steps),
                    goal=goal,
                    number=asked,
                )
            except ReplyError as error:
                run.note(f"Objective {place} has {len(steps) + 1} stages instead of {number}: {error}")
                break
            steps += [one_line(step) for step in found.steps[:asked]]
        goals += [*steps, goal]
    return tuple(goals)
