"""MAGNET: Algorithm 1, one timestep after the other, until the story has its length.

From top to bottom: the story (section 3), the timestep with the line numbers of Algorithm 1, and what it calls in the
order of its lines. W (section 3.3) and W_c are in `state.py`; what a timestep requires and changes, with lines 9, 13,
21 and 29, is in `records.py`; the replies are in `shapes.py`. The paper prints no prompts: those in `prompts/` carry
what section 3 says of each agent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypeVar

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.personas import check_cast
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Sampling
from fabula.story import Brief, Story, one_line
from fabula.story.world import WorldState
from fabula.systems.magnet.parts import keep_part
from fabula.systems.magnet.records import (
    Attempt,
    NewGoal,
    ProposedAction,
    Selected,
    TimestepRecord,
    WorldProgress,
    begun,
)
from fabula.systems.magnet.shapes import ActionReply, Critique, CritiqueReply, NextGoal, narration_shape
from fabula.systems.magnet.start import personas_for
from fabula.systems.magnet.state import shown

if TYPE_CHECKING:
    from fabula.story.personas import Persona
    from fabula.systems.magnet.config import Config, Paper


T = TypeVar("T")
Status: TypeAlias = Literal["complete", "stalled", "domain_shift"]
Agent: TypeAlias = "Callable[[Run, Attempt], Awaitable[str]]"
Critic: TypeAlias = "Callable[[Run, str], Awaitable[CritiqueReply]]"
SECOND: Final = ("candidate", 2)
"""The place of a character's second candidate, below that of the first one."""
COMPARED: Final = "compared"
"""The place of the judge's verdicts on the two: `compared/1` in the order in which they came, `compared/2` turned."""
SIDES: Final = ("A", "B")
_TRIES: Final = 6  # for a second candidate that says something else
_OWN_ACTIONS: Final = 5  # last actions of a character that the judge is shown


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Section 3: timesteps of Algorithm 1, until the story has its words.

    Raises:
        UsageError: there are not 1 or 2 candidates.
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: the planner, or all characters in a step, gave nothing that can be read.
    """
    check_candidates(config)
    start = await personas_for(run, brief)
    check_cast(run, "character", start.names)
    story = replace(Story.of(brief), breaks=True)
    with WorldState() as world:
        now = begun(start, brief, world, config)
        while goes_on(now):
            text = await keep_part(now, run, "chapter", partial(chapter, now))
            story = story.add(f"Chapter {now.part}", text) if text else story
    if problems := now.summary():
        run.note(problems)
    return story


def check_candidates(config: Config) -> None:
    """Refuse numbers of candidates that nobody can compare.

    Raises:
        UsageError: there are not 1 or 2.
    """
    if config.paper.candidates not in (1, 2):
        raise UsageError(f"candidates = {config.paper.candidates} cannot be compared in pairs. Set it to 1 or 2.")


def goes_on(now: WorldProgress) -> bool:
    """Whether there is another timestep; the paper does not say when a story ends."""
    most = now.config.paper.max_steps
    return now.left > 0 and not (most and now.t >= most)


async def chapter(now: WorldProgress, run: Run) -> list[TimestepRecord]:
    """The timesteps of a chapter, which ends with a goal after around 2,000 words (appendix A.2.1)."""
    steps, most = list[TimestepRecord](), now.config.paper.chapter_words
    while goes_on(now) and not (most and steps and steps[-1].status and now.part_words >= most):
        steps.append(await timestep(now, run))
    return steps


async def timestep(now: WorldProgress, run: Run) -> TimestepRecord:
    """Algorithm 1: story generation for one timestep, which changes `now`.

    Costs two calls a character (three more with `candidates` = 2), as many for every revision, one for the narrator,
    and one where a goal follows.

    Raises:
        ReplyError: no character gave an action that can be read.
    """
    C, paper, run = now.characters, now.config.paper, run.scope("step", now.t + 1)  # noqa: N806 - the paper's name

    # Action Generation + Critic Revision
    asked = run.tries("actions")
    actions = await side_by_side(  # lines 1 and 7
        proposed_action(now, asked.scope(c.name), c, partial(character_agent, now, c), partial(critic, now, c))
        for c in C
    )
    given = tuple(a for a in actions if a is not None)
    if not given:
        raise run.exhausted("actions", "No character gave an action that can be read.", "character", "")

    # Narrator
    selected = await narrator(now, run, given)  # line 8

    # World-State Commit
    updates, goal_reached = list(selected.world_updates), selected.goal_reached  # line 10
    for a in selected.order:  # line 11
        updates += a.world_updates  # line 12
        goal_reached = goal_reached or a.goal_reached  # lines 15 to 17
    order = tuple(a.character for a in selected.order)
    near = now.world.near(updates)
    step = TimestepRecord(now.t + 1, given, order, selected.paragraph, tuple(updates), goal_reached, near=near)
    now.tell(step)  # lines 9 and 13
    for note in now.notes:
        run.note(note)

    # Goal Sequencing
    if status := due(now.t, now.k, paper, reached=goal_reached):  # lines 19, 22, 25
        step = replace(step, status=status, goal=await goal_generator(now, run, status))  # lines 20, 23, 26
    now.follow(step)  # lines 21, 24, 27, or 29
    return step


# Action Generation + Critic Revision: lines 2 to 6 --------------------------------------------------------------------


async def proposed_action(
    now: WorldProgress, run: Run, c: Persona, agent: Agent, critic: Critic
) -> ProposedAction | None:
    """Lines 2 to 6 for one character: an action, revised until the critic takes it; `None` where none can be read.

    An action that the critic did not take within MAX_REVISIONS is `forced`: it may happen, and then what the critic
    named with its refusal is committed, as line 6 has it. An action without a readable critique changes nothing and
    reaches no goal.
    """
    paper, attempts, found = now.config.paper, list[Attempt](), None
    for revision in range(paper.max_revisions + 1):  # line 2: repeat
        here = run.scope("again", revision) if revision else run
        a = await readable(here, drafted_action(now, here, c, agent, _last(attempts)))  # line 3
        if a is None:
            return found
        r = await readable(here, critic(here, a)) if paper.critic else None  # line 4
        revise = r is not None and r.revise
        attempts.append(Attempt(a, (r.feedback or "find another action") if r is not None and revise else ""))
        found = ProposedAction(c.name, a, forced=revise, attempts=tuple(attempts), lone=paper.critic and r is None)
        if r is not None:  # line 6
            found = now.judged(found, r)
        if not revise:  # line 5: until
            return found
    return found


def _last(attempts: Sequence[Attempt]) -> Attempt:
    return attempts[-1] if attempts else Attempt("")


async def character_agent(now: WorldProgress, c: Persona, run: Run, refused: Attempt) -> str:
    """Line 3, CHARACTERAGENT(c, g, W_c, s): what a character means to do; a refused action and why go with it."""
    paper = now.config.paper
    made = await run.ask_for(
        ActionReply,
        c.name,
        "act",
        sampling=Sampling(temperature=drafting_temperature(paper)),
        persona=c,
        goal=now.goal,
        world=[shown(variable) for variable in now.world.of_character(c, now.goal, paper.slice_max)],
        story=now.recent(paper.recent_actor),
        refused=refused,
    )
    return one_line(made.action)


async def critic(now: WorldProgress, c: Persona, run: Run, a: str) -> CritiqueReply:
    """Line 4, CRITIC(a, c, g, W): what an action changes, or why it must be revised."""
    paper = now.config.paper
    return await run.ask_for(
        Critique if paper.world_updates else CritiqueReply,
        "critic",
        "criticise" if paper.world_updates else "criticise_alone",
        sampling=Sampling(temperature=paper.critic_temperature),
        persona=c,
        action=a,
        goal=now.goal,
        world=now.variables(),
    )


# Two candidates and their judge: section 4.1 --------------------------------------------------------------------------


async def drafted_action(now: WorldProgress, run: Run, c: Persona, agent: Agent, refused: Attempt) -> str:
    """Line 3: an action; with `candidates` = 2 the better one of two, as the judge says."""
    one = other = await agent(run, refused)
    tries = _TRIES if now.config.paper.candidates == 2 else 0  # noqa: PLR2004 - a pair
    while tries and other == one:
        tries, other = tries - 1, await agent(run.scope(*SECOND), refused)
    return one if other == one else await judge(now, run, c, one, other)


async def judge(now: WorldProgress, run: Run, c: Persona, one: str, other: str) -> str:
    """The action that is more grounded, in character, less repetitive, and fits the scene better.

    Asked in both orders; the first action where the verdicts differ or cannot be read.
    """
    fields: dict[str, Any] = {
        "persona": c,
        "goal": now.goal,
        "world": now.variables(),
        "story": now.lately,
        "own": now.done.get(c.name, [])[-_OWN_ACTIONS:],
    }

    async def verdict(order: int) -> str | None:
        place, (first, second) = run.scope(COMPARED, order), (one, other) if order == 1 else (other, one)
        side = await readable(place, place.choose(SIDES, "judge", "compare", first=first, second=second, **fields))
        return None if side is None else first if side == SIDES[0] else second

    return other if await side_by_side(verdict(order) for order in (1, 2)) == [other, other] else one


def drafting_temperature(paper: Paper) -> float | None:
    """Of a character's action: appendix A.1's, or that of two candidates, which are to differ."""
    return paper.actor_temperature if paper.candidates == 1 else paper.candidates_temperature


# Narrator: lines 8 and 9 ----------------------------------------------------------------------------------------------


async def narrator(now: WorldProgress, run: Run, actions: Sequence[ProposedAction]) -> Selected:
    """Line 8, NARRATOR(actions, g, W, s): which actions happen, in which order, and the paragraph about them.

    Without a critic (section 4.4) it also names what they change, and whether the goal is reached. Where nothing can be
    read, or nothing is chosen, the first action that the critic took happens, and its words are the paragraph.
    """
    paper = now.config.paper
    made = await readable(
        run,
        run.ask_for(
            narration_shape(len(actions), critic=paper.critic, updates=paper.world_updates),
            "narrator",
            "narrate" if paper.critic else "narrate_uncriticised",
            sampling=Sampling(temperature=paper.narrator_temperature),
            proposals=actions,
            goal=now.goal,
            world=now.variables(),
            story=now.recent(paper.recent_narrator),
        ),
    )
    if made is None:
        first = first_taken(actions)
        return Selected((first,), first.action)
    own, _ = now.world.writes_of(getattr(made, "world_updates", ()), "narrator")
    order = tuple(actions[number - 1] for number in made.order)
    return Selected(order, made.paragraph, own, getattr(made, "goal_reached", False))


def first_taken(actions: Sequence[ProposedAction]) -> ProposedAction:
    """The first action that the critic took, or the first of all."""
    return next((a for a in actions if not a.forced), actions[0])


# Goal Sequencing: lines 19 to 28 --------------------------------------------------------------------------------------


def due(t: int, k: int, paper: Paper, *, reached: bool) -> Status | None:
    """Why a goal is replaced after timestep `t`, or `None`; `k` is the stall count before it.

    The first of these holds, as in Algorithm 1: a domain shift, a stall, a goal that is reached. `stall_rule` "text"
    leaves a goal in its 15th step, as section 3.1 says, "algorithm" in its 16th, as line 22 has it.
    """
    if not paper.goal_updates:  # "No Goal Shift" of section 4.4
        return None
    if paper.goal_shifts and t % paper.domain_shift_steps == 0:  # line 19
        return "domain_shift"
    steps = k + 1 if paper.stall_rule == "text" else k
    if paper.goal_shifts and steps >= paper.stall_steps:  # line 22
        return "stalled"
    return "complete" if reached else None  # line 25


async def goal_generator(now: WorldProgress, run: Run, status: Status) -> NewGoal | None:
    """GOALGENERATOR(W, g, status): the goal that follows, and its transition paragraph; `None` where none can be read.

    As section 3.2 says it is given recent paragraphs, all personas and all prior goals too.
    """
    paper = now.config.paper
    made = await readable(
        run,
        run.ask_for(
            NextGoal,
            "goal_generator",
            "set_goal",
            sampling=Sampling(temperature=paper.goals_temperature),
            personas=now.characters,
            status=status,
            goal=now.goal,
            domain=now.domain,
            prior=now.goals[:-1],
            world=now.variables(),
            story=now.recent(paper.recent_goals),
        ),
    )
    return None if made is None else NewGoal(one_line(made.goal), one_line(made.goal_domain), made.transition_paragraph)


# replies that cannot be read ------------------------------------------------------------------------------------------


async def readable(run: Run, asked: Awaitable[T]) -> T | None:
    """What is asked for, or `None`, with a note, where no reply could be read."""
    try:
        return await asked
    except ReplyError as error:
        run.note(str(error))
        return None
