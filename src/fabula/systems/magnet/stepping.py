"""Algorithm 1, lines 1 to 18: actions with revisions, the narrator's choice and paragraph, the commit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.packing import latest
from fabula.craft.planning.assembling import side_by_side
from fabula.errors import ReplyError
from fabula.models.base import Sampling
from fabula.systems.magnet.shapes import Action, Critique, choice_shape, narration_shape
from fabula.systems.magnet.state import updates_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.personas import Company, Persona
    from fabula.run import Run
    from fabula.systems.magnet.algorithm import Config
    from fabula.systems.magnet.state import Update, Variable, World

_OWN_ACTIONS: Final = 5  # last actions of a character that its critic is shown
_ACTION_TOKENS, _CRITIQUE_TOKENS, _CHOICE_TOKENS = 200, 400, 60
_PARAGRAPH_TOKENS: Final = 600


@dataclass(frozen=True, slots=True)
class Proposal:
    """A character's last action of a step, and what its critic made of it; `forced` if the critic never took it."""

    character: str
    action: str
    updates: tuple[Update, ...] = ()
    goal_reached: bool = False
    forced: bool = False


@dataclass
class Play:
    """Where a story stands: its company, world W, goals, step t, stall count k, and paragraphs so far."""

    company: Company
    world: World
    config: Config
    goals: list[str]
    t: int = 0
    k: int = 0
    domain: str = ""
    told: list[str] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=dict)

    @property
    def goal(self) -> str:
        """The goal in force."""
        return self.goals[-1]

    def recent(self, paragraphs: int) -> tuple[str, ...]:
        """The last paragraphs of the story, within what a prompt may hold of them."""
        config = self.config
        shown = self.told[-paragraphs:]
        return latest(shown, config.recent_tokens) if config.recent_tokens else tuple(shown)

    def shown(self) -> list[Variable]:
        """What critic, narrator and goal generator see of W: all of it, or what matters now."""
        most = self.config.state_max
        return self.world.latest(self.goal, self.t, most) if most else list(self.world.variables.values())

    def fields(self) -> dict[str, Any]:
        """What prompts of all roles are told."""
        return {"goal": self.goal, "instruction_first": self.config.instruction_first}


async def propose(play: Play, run: Run) -> list[Proposal]:
    """Lines 1 to 7: every character's action, all from one snapshot; who gave none that can be read is absent.

    Costs two calls a character, and two more for every revision.
    """
    work = [_acted(play, persona, run.scope(persona.name)) for persona in play.company.personas]
    made = await side_by_side(work) if play.config.parallel else [await one for one in work]
    return [proposal for proposal in made if proposal is not None]


async def _acted(play: Play, persona: Persona, run: Run) -> Proposal | None:
    """Lines 2 to 6 for one character."""
    config, feedback, refused = play.config, "", ""
    proposal: Proposal | None = None
    for attempt in range(config.max_revisions + 1):
        here = run.scope("again", attempt) if attempt else run
        action = await _action(play, persona, here, feedback, refused)
        if action is None:
            return proposal
        if not config.critic:
            return Proposal(persona.name, action)
        critique = await _critique(play, persona, here, action)
        if critique is None:
            return Proposal(persona.name, action)
        updates = updates_of((change.model_dump() for change in critique.world_updates), play.company.personas)
        if not critique.revise:
            return Proposal(persona.name, action, updates, critique.goal_reached)
        strict = config.strict_paper
        proposal = Proposal(
            persona.name, action, updates if strict else (), strict and critique.goal_reached, forced=True
        )
        feedback, refused = critique.feedback, action
    return proposal


async def _action(play: Play, persona: Persona, run: Run, feedback: str, refused: str) -> str | None:
    config = play.config
    seen = play.world.of_character(persona, play.goal, play.t, config.slice_max) if config.world_updates else []
    try:
        made = await run.ask_for(
            Action,
            persona.name,
            "act",
            sampling=Sampling(temperature=config.actor_temperature or None, max_tokens=_ACTION_TOKENS),
            persona=persona,
            world=seen,
            story=play.recent(config.recent_actor),
            feedback=feedback,
            refused=refused,
            **play.fields(),
        )
    except ReplyError as error:
        run.note(f"{persona.name} is absent from step {play.t}: {error}")
        return None
    return " ".join(made.action.split())


async def _critique(play: Play, persona: Persona, run: Run, action: str) -> Critique | None:
    """Line 4; `None` where nothing could be read, which counts as accepted without updates."""
    config = play.config
    history = config.critic_history
    try:
        return await run.ask_for(
            Critique,
            "critic",
            "criticise",
            sampling=Sampling(temperature=config.critic_temperature or None, max_tokens=_CRITIQUE_TOKENS),
            persona=persona,
            action=action,
            world=play.shown(),
            story=play.recent(config.recent_narrator) if history else (),
            own=tuple(play.done.get(persona.name, ())[-_OWN_ACTIONS:]) if history else (),
            **play.fields(),
        )
    except ReplyError as error:
        run.note(f"The critic gave nothing that can be read about {persona.name} in step {play.t}: {error}")
        return None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The narrator's choice in telling order, and its paragraph where that came with it."""

    proposals: tuple[Proposal, ...]
    paragraph: str = ""


async def choose(play: Play, proposals: Sequence[Proposal], run: Run) -> Chosen:
    """Line 8: which actions happen, in which order; with `plain_paragraph` the paragraph is written by another call.

    Where nothing can be read, the first action that the critic took happens.
    """
    config = play.config
    with_text = not config.plain_paragraph
    shape = narration_shape(len(proposals)) if with_text else choice_shape(len(proposals))
    for attempt in range(2):  # an empty choice is sent back once
        try:
            made = await (run.scope("again") if attempt else run).ask_for(
                shape,
                "narrator",
                "narrate" if with_text else "choose",
                sampling=Sampling(
                    temperature=config.narrator_temperature or None,
                    max_tokens=_PARAGRAPH_TOKENS if with_text else _CHOICE_TOKENS,
                ),
                proposals=proposals,
                world=play.shown(),
                story=play.recent(config.recent_narrator),
                opening=not play.told,
                again=bool(attempt),
                **play.fields(),
            )
        except ReplyError as error:
            run.note(f"The narrator's choice in step {play.t} could not be read: {error}")
            break
        order = dict.fromkeys(number - 1 for number in made.order if 1 <= number <= len(proposals))
        if order:
            return Chosen(_until_reached([proposals[n] for n in order], config), getattr(made, "paragraph", ""))
    first = next((proposal for proposal in proposals if not proposal.forced), proposals[0])
    return Chosen((first,), first.action if with_text else "")


def _until_reached(chosen: list[Proposal], config: Config) -> tuple[Proposal, ...]:
    """Without what would happen after the goal is reached."""
    if config.truncate_after_goal:
        for place, proposal in enumerate(chosen, 1):
            if proposal.goal_reached:
                return tuple(chosen[:place])
    return tuple(chosen)


def commit(play: Play, chosen: Chosen, run: Run) -> bool:
    """Lines 10 to 18: the chosen actions' updates enter W, in order; whether one of them reached the goal."""
    reached = False
    for proposal in chosen.proposals:
        play.done.setdefault(proposal.character, []).append(proposal.action)
        if play.config.world_updates:
            for remark in play.world.commit(play.t, proposal.character, proposal.updates):
                run.note(remark)
        reached |= proposal.goal_reached
    return reached
