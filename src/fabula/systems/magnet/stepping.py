"""Algorithm 1, lines 1 to 18: actions with revisions, the narrator's choice and paragraph, the commit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.continuity.lexicon import FUNCTION
from fabula.craft.packing import ELLIPSIS, first_of, latest, words
from fabula.engine.replies import clean_prose
from fabula.engine.roles import is_person
from fabula.engine.staleness import side_by_side
from fabula.models.base import Sampling
from fabula.story.sentences import sentences
from fabula.story.world.facts import START
from fabula.systems.magnet.records import Records
from fabula.systems.magnet.shapes import Action, Critique, choice_shape, narration_shape
from fabula.systems.magnet.state import told

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.story.personas import Company, Persona
    from fabula.story.world import Moment
    from fabula.story.world.facts import Value
    from fabula.story.world.flat import Refused, Variable, Write
    from fabula.systems.magnet.algorithm import Config
    from fabula.systems.magnet.shapes import Change
    from fabula.systems.magnet.state import State

_OWN_ACTIONS: Final = 5  # last actions of a character that its critic is shown
_OWN_KEYS: Final = 30  # keys of a character that its critic is reminded of
_SAME_PLACE: Final = 0.5  # share of common words from which on two places are one
_ACTION_TOKENS, _CRITIQUE_TOKENS, _CHOICE_TOKENS = 200, 400, 60
_PARAGRAPH_TOKENS: Final = 600
_PLAIN_TOKENS: Final = 120
_ACTION_WORDS: Final = 28  # of a plain action, for estimates
_MOST_TOKENS: Final = 80  # of an action: about 60 words
_SENTENCES: Final = 2  # of a plain action; what a small model says beyond is another one
_TRIES: Final = 3
LABELS: Final = ("Goal", "Story", "World", "Action", "Paragraph", "What happens now", "Characters")
_OTHER: Final = "find another action"


@dataclass(frozen=True, slots=True)
class Attempt:
    """An action, and what its critic wanted otherwise; `feedback` is empty where it was taken."""

    action: str
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A character's last action of a step, and what its critic made of it; `forced` if the critic never took it.

    Attributes:
        updates: what it changes once it is chosen.
        refused: updates that cannot be taken.
        attempts: all actions of the step, the last one too.
        lone: the critic gave nothing that can be read.
    """

    character: str
    action: str
    updates: tuple[Write, ...] = ()
    goal_reached: bool = False
    forced: bool = False
    refused: tuple[Refused, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    lone: bool = False

    @property
    def changes(self) -> str:
        """Its updates as prompts show them."""
        return "; ".join(map(told, self.updates))


@dataclass
class Play:
    """Where a story stands: its company, world W, goals, step t, stall count k, and paragraphs so far.

    Attributes:
        place: where the story is, as far as it matters who is there; else empty.
        system: reserved keys that the next commit sets.
    """

    company: Company
    world: State
    config: Config
    goals: list[str]
    t: int = 0
    k: int = 0
    domain: str = ""
    place: str = ""
    told: list[str] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=dict)
    system: dict[str, Value] = field(default_factory=dict)
    records: Records = field(default_factory=Records)

    @property
    def goal(self) -> str:
        """The goal in force."""
        return self.goals[-1]

    def begin_goal(self, goal: str, domain: str, *, reached: bool) -> None:
        """Set the goal that follows; the next commit writes it into W."""
        self.goals.append(goal)
        self.domain, self.place = domain, ""
        self.system = {"current_goal": goal, "goal_domain": domain, "goal_completed": reached}

    def recent(self, paragraphs: int) -> tuple[str, ...]:
        """The last paragraphs of the story, within what a prompt may hold of them."""
        config = self.config
        shown = self.told[-paragraphs:]
        return latest(shown, config.recent_tokens) if config.recent_tokens else tuple(shown)

    def shown(self) -> list[str]:
        """What critic, narrator and goal generator see of W: all of it, or what matters now."""
        return [told(variable) for variable in self._shown()]

    def _shown(self) -> list[Variable]:
        return self.world.latest(self.goal, self.t, self.config.state_max)

    def keys_of(self, persona: Persona) -> list[str]:
        """Keys of a character that are not shown to its critic anyway."""
        return self.world.keys_of(persona, self._shown(), _OWN_KEYS) if self.config.state_max else []

    def present(self) -> list[Persona]:
        """Who acts: everybody; with `present_only` those who are where the story is, or whose place is not known."""
        everybody = list(self.company.personas)
        if not (self.config.present_only and self.place):
            return everybody
        there = [p for p in everybody if not (own := self.world.location(p)) or _same_place(own, self.place)]
        return there or everybody

    def fields(self) -> dict[str, Any]:
        """What prompts of all roles are told."""
        return {"goal": self.goal, "instruction_first": self.config.instruction_first}


def _same_place(one: str, other: str) -> bool:
    """Whether two descriptions speak of one place: most content words of the shorter stand in the other."""
    a, b = words(one) - FUNCTION, words(other) - FUNCTION
    return len(a & b) >= _SAME_PLACE * max(1, min(len(a), len(b)))


async def propose(play: Play, run: Run) -> list[Proposal]:
    """Lines 1 to 7: every character's action, all from one snapshot; who gave none that can be read is absent.

    Costs two calls a character, and two more for every revision.
    """
    personas = play.present()
    seen = None if len(personas) == len(play.company.personas) else tuple(persona.name for persona in personas)
    work = [_acted(play, persona, run.scope(persona.name), seen) for persona in personas]
    made = await side_by_side(work) if play.config.parallel else [await one for one in work]
    found = [proposal for proposal in made if proposal is not None]
    play.records.counts["absent"] += len(made) - len(found)
    play.records.counts["uncriticised"] += sum(proposal.lone for proposal in found)
    return found


async def _acted(play: Play, persona: Persona, run: Run, seen: tuple[str, ...] | None) -> Proposal | None:
    """Lines 2 to 6 for one character; `seen` are the witnesses of what it changes, `None` for everybody."""
    config, attempts = play.config, list[Attempt]()
    proposal: Proposal | None = None
    for attempt in range(config.max_revisions + 1):
        here = run.scope("again", attempt) if attempt else run
        action = await _action(play, persona, here, attempts[-1] if attempts else Attempt(""))
        if action is None:
            return proposal
        critique = await _critique(play, persona, here, action) if config.critic else None
        revise = critique is not None and critique.revise
        attempts.append(Attempt(action, (critique.feedback or _OTHER) if critique and revise else ""))
        proposal = Proposal(
            persona.name, action, forced=revise, attempts=tuple(attempts), lone=config.critic and critique is None
        )
        if critique is not None and (config.strict_paper or not revise):
            writes, refused = play.world.writes_of(_pairs(critique.world_updates), persona.name, seen)
            proposal = replace(proposal, updates=writes, refused=refused, goal_reached=critique.goal_reached)
        if not revise:
            return proposal
    return proposal


def _pairs(changes: Sequence[Change]) -> list[tuple[str, str]]:
    return [(change.key, change.value) for change in changes]


async def _action(play: Play, persona: Persona, run: Run, refused: Attempt) -> str | None:
    """Line 3; `None` where nothing could be read."""
    config = play.config
    seen = play.world.of_character(persona, play.goal, play.t, config.slice_max) if config.world_updates else []
    fields = {
        "persona": persona,
        "world": [told(variable) for variable in seen],
        "story": play.recent(config.recent_actor),
        "refused": refused,
        "plain": config.plain_action,
        **play.fields(),
    }
    most = _PLAIN_TOKENS if config.plain_action else _ACTION_TOKENS
    sampling = Sampling(temperature=config.actor_temperature or None, max_tokens=most)
    try:
        if config.plain_action:
            return await _plain_action(run, persona.name, sampling, fields)
        made = await run.ask_for(Action, persona.name, "act", sampling=sampling, **fields)
    except ReplyError as error:
        run.note(f"{persona.name} is absent from step {play.t}: {error}")
        return None
    return " ".join(made.action.split())


async def _plain_action(run: Run, name: str, sampling: Sampling, fields: Mapping[str, Any]) -> str:
    """An action told in plain words, tidied and cut to its bound.

    Raises:
        ReplyError: nothing of the replies can be used.
    """
    for attempt in range(_TRIES):
        here = run.scope("anew", attempt) if attempt else run
        reply = await here.reply(name, "act", sampling=sampling, expect=_ACTION_WORDS, **fields)
        text = reply.text
        if not is_person(reply.model):
            echo = (here.render("act", **fields), *fields["story"])
            text = clean_prose(text, labels=LABELS, last=False, echo=echo, finish=reply.finish).text
        if told_first := sentences(" ".join(text.split()))[:_SENTENCES]:
            return first_of(" ".join(told_first), _MOST_TOKENS).removesuffix(ELLIPSIS).strip() or told_first[0]
    raise ReplyError(f"{name!r} told no action in {_TRIES} tries.", reply=reply.text)


async def _critique(play: Play, persona: Persona, run: Run, action: str) -> Critique | None:
    """Line 4; `None` where nothing could be read, which counts as accepted without updates."""
    config = play.config
    history = config.critic_history and not config.strict_paper
    try:
        return await run.ask_for(
            Critique,
            "critic",
            "criticise",
            sampling=Sampling(temperature=config.critic_temperature or None, max_tokens=_CRITIQUE_TOKENS),
            persona=persona,
            action=action,
            world=play.shown(),
            keys=play.keys_of(persona),
            places=config.present_only,
            story=play.recent(config.recent_narrator) if history else (),
            own=tuple(play.done.get(persona.name, ())[-_OWN_ACTIONS:]) if history else (),
            **play.fields(),
        )
    except ReplyError as error:
        run.note(f"The critic gave nothing that can be read about {persona.name} in step {play.t}: {error}")
        return None


@dataclass(frozen=True, slots=True)
class Chosen:
    """The narrator's choice in telling order, its paragraph where that came with it, and updates of its own."""

    proposals: tuple[Proposal, ...]
    paragraph: str = ""
    updates: tuple[Write, ...] = ()


async def choose(play: Play, proposals: Sequence[Proposal], run: Run) -> Chosen:
    """Line 8: which actions happen, in which order; with `plain_paragraph` the paragraph is written by another call.

    Without a critic the narrator names the world updates. Where nothing can be read, the first action that the critic
    took happens.
    """
    config = play.config
    with_text, updates = not config.plain_paragraph, not config.critic and config.world_updates
    shape = (narration_shape if with_text else choice_shape)(len(proposals), updates=updates)
    most = (_PARAGRAPH_TOKENS if with_text else _CHOICE_TOKENS) + updates * _CRITIQUE_TOKENS
    for attempt in range(2):  # an empty choice is sent back once
        try:
            made = await (run.scope("again") if attempt else run).ask_for(
                shape,
                "narrator",
                "narrate" if with_text else "choose",
                sampling=Sampling(temperature=config.narrator_temperature or None, max_tokens=most),
                proposals=proposals,
                updates=updates,
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
            writes, _ = play.world.writes_of(_pairs(getattr(made, "world_updates", ())), "narrator")
            chosen = _until_reached([proposals[n] for n in order], config)
            return Chosen(chosen, getattr(made, "paragraph", ""), writes)
    first = next((proposal for proposal in proposals if not proposal.forced), proposals[0])
    return Chosen((first,), first.action if with_text else "")


def _until_reached(chosen: list[Proposal], config: Config) -> tuple[Proposal, ...]:
    """Without what would happen after the goal is reached."""
    if config.truncate_after_goal:
        for place, proposal in enumerate(chosen, 1):
            if proposal.goal_reached:
                return tuple(chosen[:place])
    return tuple(chosen)


def commit(play: Play, proposals: Sequence[Proposal], chosen: Chosen, run: Run, at: Moment = START) -> bool:
    """Lines 10 to 18: the chosen actions' updates enter W, in order; whether one of them reached the goal.

    The step's record is begun.
    """
    made = None
    for proposal in chosen.proposals:
        play.done.setdefault(proposal.character, []).append(proposal.action)
    if play.config.world_updates:
        writes = [write for proposal in chosen.proposals for write in proposal.updates]
        made = play.world.commit(play.t, at, [*writes, *chosen.updates], play.system)
        play.system = {}
        for refused in (*(one for p in chosen.proposals for one in p.refused), *made.refused):
            run.note(f"{refused.key!r} is not written in step {play.t}: {refused.why}.")
    if play.config.present_only and chosen.proposals:
        first = next(p for p in play.company.personas if p.name == chosen.proposals[0].character)
        play.place = play.world.location(first)
    play.records.step(play.t, len(play.goals), proposals, chosen.proposals, made)
    return any(proposal.goal_reached for proposal in chosen.proposals)
