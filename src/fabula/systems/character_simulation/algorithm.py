"""Character Simulation: scenes are role-played in the order of time, then rewritten in the order of telling.

This is the paper, from top to bottom: both steps of section 3.2, the sortings (P_c and o_c), Algorithm 1, its director
agent D, its character agents A, and the rewrite step. What fabula adds is its own program next to it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.base.errors import PlanError, ReplyError
from fabula.craft.personas import check_cast
from fabula.craft.planning import PlanOptions, plan_for
from fabula.engine.run import Run, WorkBranch, branches, side_by_side
from fabula.story import Brief, Story, count_words, slug
from fabula.systems.character_simulation.replies import EndVerdict, Spoken, direction_type, order_type, outline_type
from fabula.systems.character_simulation.transcript import ChatMessage, transcript, turns_of

if TYPE_CHECKING:
    from fabula.story.plan import Character, Plan, ScenePlan
    from fabula.systems.character_simulation.config import Config


AgentMap: TypeAlias = "dict[str, Agent]"
"""The map M of Algorithm 1: agents by name."""

_TAKEN: Final = {"plan", "personas", "order"}  # names of other artefacts


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Both steps of section 3.2: role-play in the order of time (P_c), rewrite in the order of telling (P_p).

    What cannot affect each other is done side by side: scenes without a common character, and the rewrite of a scene
    that is played and follows a written one.

    Raises:
        PlanError: the author's plan, or their order of its scenes, has problems.
        ReplyError: a reply could not be read, or a scene has no text; the run continues from there.
    """
    p_p = await plan_for(run, brief, PlanOptions(scenes=0))
    check_cast(run, "character", [character.name for character in p_p.characters])
    p_c = await sort_scenes(p_p, run, config)
    played: dict[str, WorkBranch[Played]] = {}
    story = Story(brief.title or p_p.title)
    async with branches() as begin:
        for at, s_i in enumerate(p_c):  # the role-playing step
            played[s_i.name] = begin(play(s_i, p_p, partial(agents_before, p_c, at, played), run, config))
        for scene in p_p.scenes:  # the rewrite step
            h = turns_of((await played[scene.name]).text)
            text = partial(rewrite_to_story, brief, p_p, scene, h, story, config)
            story = story.add(label_of(scene), await run.keep(slug(label_of(scene)), text, folder="story"))
    return story


def label_of(scene: ScenePlan) -> str:
    """What a scene is called in the story."""
    return f"Scene {scene.name}" if slug(scene.name) in _TAKEN else scene.name


# the role-playing step (section 3.2.2): both sortings -----------------------------------------------------------------


async def sort_scenes(p_p: Plan, run: Run, config: Config) -> list[ScenePlan]:
    """P_c: the scenes in the order in which they happen; one call, none where the plan's story times settle it.

    Raises:
        PlanError: the author's own order does not fit the plan.
        ReplyError: no order could be read.
    """
    if (known := p_p.chronology()) is not None:
        return [p_p.scene(name) for name in known]

    async def make(own: Run) -> str:
        wanted = order_type(p_p.names, p_p.accepts)
        try:
            sampling = config.paper.sampling
            names = (await own.ask_for(wanted, "sorter", "sort_scenes", sampling=sampling, scenes=p_p.scenes)).scenes
        except ReplyError:
            # The order in an estimate is made up: where it does not fit the plan, that is nobody's mistake.
            if not (names := own.context.unless_made_up(tuple, p_p.assumed_chronology())):
                raise
        return "\n".join(f"- {name}" for name in names)

    def read(text: str) -> list[ScenePlan]:
        known_names = set(p_p.names)
        order = [line if line in known_names else _bare(line) for line in map(str.strip, text.splitlines()) if line]
        if problem := p_p.accepts(order):
            raise PlanError(
                (f"plan/order.md: {problem} `fabula edit order --revert` goes back to the order made for you.",)
            )
        return [p_p.scene(name) for name in order]

    return await run.keep("order", make, folder="plan", read=read)


def _bare(line: str) -> str:
    """A line of a list without its bullet or number."""
    head, _, rest = line.partition(" ")
    return rest.strip() if head in {"-", "*"} or (head[:-1].isdigit() and head[-1:] in {".", ")"}) else line


async def chronological_outline(s_i: ScenePlan, p_p: Plan, run: Run, config: Config) -> tuple[str, ...]:
    """o_c: the events of o_p in the order of time, reworded so that they can be played; one call (appendix B.1.2)."""
    found = await run.ask_for(
        outline_type(len(s_i.outline)),
        "sorter",
        "chronological_outline",
        sampling=config.paper.sampling,
        scene=s_i,
        people=p_p.people(s_i),
    )
    return tuple(found.points)


# the role-playing step: from scene to scene ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Played:
    """A scene that was played: the transcript of its chat history H, and M as it is after it."""

    text: str
    agents: AgentMap = field(default_factory=dict)


async def play(
    s_i: ScenePlan, p_p: Plan, m_before: Callable[[], Awaitable[AgentMap]], run: Run, config: Config
) -> Played:
    """Algorithm 1 for a scene; a transcript that a person wrote or edited stands for it, and is lived through."""
    place, name, before = run.scope("role-play"), slug(s_i.name), await m_before()

    async def make(own: Run) -> Played:
        m = {agent.name: replace(agent) for agent in before.values()}
        o_c = await chronological_outline(s_i, p_p, run.scope("outline", name), config) if s_i.present else ()
        h = await role_play(SceneInPlay(s_i, p_p, o_c, own, config), m)
        return Played(transcript(h), m)

    async def again(own: Run, edited: Played) -> Played:
        m = {agent.name: replace(agent) for agent in before.values()}
        await lived_through(turns_of(edited.text), SceneInPlay(s_i, p_p, (), own, config), m)
        return Played(edited.text, m)

    return await place.keep(name, make, folder="role-play", again=again, shape=Played)


async def agents_before(p_c: Sequence[ScenePlan], at: int, played: Mapping[str, WorkBranch[Played]]) -> AgentMap:
    """M as far as a scene needs it: agents that exist already, as the last scene that they were in left them.

    The chat history begins again with each scene, so nothing of it has been seen.
    """
    m: AgentMap = {}
    for name in p_c[at].present:
        last = next((earlier for earlier in reversed(p_c[:at]) if name in earlier.present), None)
        if last is not None and (agent := (await played[last.name]).agents.get(name)):
            m[name] = Agent(name, agent.memory, agent.state)
    return m


# Algorithm 1 ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SceneInPlay:
    """The scene S_i as Algorithm 1 takes it, with its outline o_c, and where its calls are made."""

    scene: ScenePlan
    plan: Plan
    outline: tuple[str, ...]
    run: Run
    config: Config

    @property
    def people(self) -> dict[str, tuple[Character, str]]:
        """The characters who are there, by name, and what each of them wants in the scene."""
        return {character.name: (character, goal) for character, goal in self.plan.people(self.scene)}


async def role_play(s_i: SceneInPlay, m: AgentMap) -> list[ChatMessage]:
    """Algorithm 1: the chat history H of the scene; afterwards M holds its agents as they are after it."""
    h: list[ChatMessage] = []  # line 1
    d = Director(s_i)  # line 2
    while not await d.should_terminate(h):  # line 3
        next_speaker, c_j = await d.next_speaker_and_command(h)  # lines 4 and 10: one call, as appendix B.1.2 has it
        a_i = m.setdefault(next_speaker, Agent(next_speaker))  # lines 5 to 9
        await a_i.update_state(h, s_i)  # line 11
        h_i = await a_i.get_response(h, c_j, s_i)  # line 12
        h.append(h_i)  # line 13
    return h  # line 15


async def lived_through(h: Sequence[ChatMessage], s_i: SceneInPlay, m: AgentMap) -> None:
    """M after turns that a person wrote or edited: line 11 for each of them, as if they had just been played."""
    for at, turn in enumerate(h):
        if turn.name in s_i.people:
            await m.setdefault(turn.name, Agent(turn.name)).update_state(h[:at], s_i)


@dataclass(frozen=True, slots=True)
class Director:
    """D: ends one scene, selects who speaks next, and commands (section 3.2.1, appendix B.1.2)."""

    s_i: SceneInPlay

    async def should_terminate(self, h: Sequence[ChatMessage]) -> bool:
        """Whether `h` covers the outline; section 5.2 allows 10 iterations. Without characters there is no play."""
        if len(h) == self.s_i.config.paper.max_turns or not self.s_i.people:
            return True
        return bool((await self._asked(EndVerdict, "terminate", h)).covered)

    async def next_speaker_and_command(self, h: Sequence[ChatMessage]) -> tuple[str, str]:
        """Who plays the next turn, and the command C_j for them."""
        names = list(self.s_i.people)
        wanted = direction_type(names, len(self.s_i.outline))
        found = await self._asked(wanted, "direct", h, names=names)
        return found.next_speaker, " ".join(str(found.next_command).split())

    async def _asked(self, wanted: type[Any], prompt: str, h: Sequence[ChatMessage], **more: Any) -> Any:  # noqa: ANN401 - a type made at run time
        s_i = self.s_i
        return await s_i.run.scope("turn", len(h) + 1).ask_for(
            wanted,
            "director",
            prompt,
            sampling=s_i.config.paper.sampling,
            scene=s_i.scene,
            people=tuple(s_i.people.values()),
            outline=s_i.outline,
            history=h,
            **more,
        )


@dataclass(slots=True)
class Agent:
    """A: a character with its memory, its physical state, and how much of the chat history it has taken in."""

    name: str
    memory: str = ""
    state: str = ""
    seen: int = 0

    async def update_state(self, h: Sequence[ChatMessage], s_i: SceneInPlay) -> None:
        """Memory and physical state, each updated with the turns that the agent has not seen before (B.1.3)."""
        run, new = s_i.run.scope("turn", len(h) + 1), h[self.seen :]
        character, _ = s_i.people[self.name]
        ask = partial(run.ask, "memory", sampling=s_i.config.paper.sampling)
        updated = (
            ask("memory", character=character, unseen=new, memory=self.memory),
            ask("state", character=character, unseen=new, state=self.state),
        )
        self.memory, self.state = await side_by_side(updated)
        self.seen = len(h)

    async def get_response(self, h: Sequence[ChatMessage], c_j: str, s_i: SceneInPlay) -> ChatMessage:
        """The agent's turn in the third person, by its goal, physical state, memory and the command (section 3.2.1).

        Its own name is the role that is asked, so that each character can be cast by name; everybody else is played by
        the system's open role, `character`.
        """
        character, wants = s_i.people[self.name]
        spoken = await s_i.run.scope("turn", len(h) + 1).ask_for(
            Spoken,
            self.name,
            "respond",
            sampling=s_i.config.paper.sampling,
            character=character,
            wants=wants,
            memory=self.memory,
            state=self.state,
            recent=h[max(len(h) - s_i.config.paper.recent, 0) :],
            command=c_j,
        )
        return ChatMessage.of(self.name, spoken.response, c_j)


# the rewrite step (section 3.2.3) -------------------------------------------------------------------------------------


async def rewrite_to_story(
    brief: Brief, p_p: Plan, scene: ScenePlan, h: Sequence[ChatMessage], story: Story, config: Config, run: Run
) -> str:
    """The scene's text by its presentation outline o_p, from the ten inputs of appendix B.2; one call.

    Raises:
        ReplyError: the writer gives no text.
    """
    run = run.tries("rewrite")
    text = await run.ask(
        "writer",
        "rewrite",
        sampling=config.paper.sampling,
        brief=brief.text,
        conflict=p_p.conflict,
        setting=p_p.setting,
        scenes=p_p.scenes,
        story=story.text,
        people=p_p.people(scene),
        scene=scene,
        played=h,
        last=scene is p_p.scenes[-1],
    )
    if not count_words(text):
        raise run.exhausted("rewrite", f"The role 'writer' gave no text at {run.at}.", "writer", text)
    return text
