"""MAGNET: Algorithm 1, one timestep after the other, until the story has its length.

`timestep` is the paper's Algorithm 1, line by line; what it calls stands below it in the order of the lines. Around it
are ours: where a story begins (`personas_for`), chapters, and the length that is asked for. W and W_c are in
`state.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.length import WordRange, asked_range, read_range
from fabula.craft.packing import ELLIPSIS, first_of, latest, overlap, paragraphs, words
from fabula.craft.planning import PlanOptions, begin_plan, given_plan
from fabula.craft.prose import Prose, clean_reply, clean_text, write_prose
from fabula.craft.quoting import Quotable
from fabula.engine.roles import is_person
from fabula.engine.run import side_by_side
from fabula.models.base import Sampling
from fabula.story import Story, count_words
from fabula.story.personas import Persona, Personas, parse_personas, write_personas
from fabula.story.sentences import sentences
from fabula.story.world import Moment, WorldState
from fabula.story.world.meaning import content
from fabula.systems.magnet.records import Attempt, ProposedAction, Records
from fabula.systems.magnet.shapes import (
    ActionReply,
    Changes,
    Critique,
    NextGoal,
    Reading,
    Verdict,
    choice_shape,
    narration_shape,
)
from fabula.systems.magnet.state import WorldGraph, shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.engine.run import Run
    from fabula.story import Brief
    from fabula.story.world.flat import Commit, Variable, Write
    from fabula.story.world.meaning import Value
    from fabula.systems.magnet.config import Config

Status: TypeAlias = Literal["complete", "stalled", "domain_shift", "ending"]
LABELS: Final = ("Goal", "Story", "World", "Action", "Paragraph", "What happens now", "Characters")
_WORDS_A_PAGE: Final = 400
_USUAL_WORDS: Final = 800  # of a story for which neither brief nor settings say
_CLOSING: Final = 0.05  # share of the words that is left for the ending
_CLOSING_PARAGRAPHS: Final = 2  # and that many paragraphs at least
_LAST: Final = 1.6  # what is left, in paragraphs, from which on one paragraph ends the story
_LITTLE: Final = 40  # words that are too few for an ending, where the story is long enough without
_SLACK: Final = 0.3  # of a paragraph's words
_IDLE: Final = 5  # steps without an action, after which the story cannot go on
_OWN_ACTIONS: Final = 5  # last actions of a character that its critic is shown
_OWN_KEYS: Final = 30  # keys of a character that its critic is reminded of
_PRIOR_GOALS: Final = 20  # that a prompt is shown, where prompts are bounded
_GOALS_ALIKE: Final = 0.6  # share of common words from which on two goals are one
_GOAL_LATER: Final = 5  # steps until a goal generator that failed is asked again
_SAME_PLACE: Final = 0.5  # share of common words from which on two places are one
_TRIES: Final = 3
_ACTION_WORDS: Final = 28  # of a plain action, for estimates
_SHORT_ACTION: Final = (2, 80)  # sentences and tokens of a small model's action; what it says beyond is another one
_RECENT_TOKENS: Final = 1200  # of recent paragraphs, for small models


@dataclass
class Progress:
    """What Algorithm 1 requires, and what it changes, as it stands between two timesteps.

    Attributes:
        characters: C.
        world: W.
        goals: every goal so far; the last one is g.
        t: timesteps so far.
        k: stall count: timesteps of the goal g.
        story: all paragraphs so far; the last ones are s.
        done: selected actions by character.
        want: how many words the story is to have.
        domain: of the goal g, as far as the goal generator named one.
        place: where the story is, as far as it matters who is there; else empty.
        system: reserved keys that the next commit sets.
        idle: steps since there was an action.
        chapter: number of the chapter that is written, and `begin`, how many paragraphs stand before it.
        closing: the goal g closes the story; `over`: it has ended.
    """

    brief: Brief
    config: Config
    characters: tuple[Persona, ...]
    world: WorldGraph
    goals: list[str]
    want: WordRange
    t: int = 0
    k: int = 0
    story: list[str] = field(default_factory=list)
    done: dict[str, list[str]] = field(default_factory=dict)
    domain: str = ""
    place: str = ""
    system: dict[str, Value] = field(default_factory=dict)
    idle: int = 0
    chapter: int = 0
    begin: int = 0
    closing: bool = False
    over: bool = False
    records: Records = field(default_factory=Records)

    @classmethod
    def at_start(cls, brief: Brief, start: Personas, world: WorldState, config: Config) -> Progress:
        """Before the first timestep; `world` is empty."""
        ours = config.ours
        asked = WordRange.about(ours.pages * _WORDS_A_PAGE) if ours.pages else asked_range(brief, ours.words)
        graph = WorldGraph.of(start, world, places=ours.present_only, by_meaning=ours.by_meaning)
        return cls(brief, config, start.people, graph, [start.goal], asked or WordRange.about(_USUAL_WORDS))

    @property
    def goal(self) -> str:
        """The goal g."""
        return self.goals[-1]

    @property
    def words(self) -> int:
        """Words of the story so far."""
        return sum(map(_counted, self.story))

    @property
    def left(self) -> int:
        """Words until the target."""
        return self.want.target - self.words

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the characters."""
        return tuple(persona.name for persona in self.characters)


_counted = lru_cache(maxsize=20_000)(count_words)  # the whole story is counted at every step


async def write(brief: Brief, run: Run, config: Config) -> Story:
    """Timesteps of Algorithm 1, chapter by chapter, until the story has its length.

    Raises:
        UsageError: settings do not go together.
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: the planner, or in 5 steps all characters, gave nothing that can be read.
    """
    if config.ours.truncate_after_goal and not config.ours.plain_paragraph:
        raise UsageError(
            "truncate_after_goal needs plain_paragraph: a paragraph that comes with the choice may tell what would be "
            "left out. Set both, or neither."
        )
    start = await personas_for(run, brief, config)
    run.check_cast("character", start.names)
    story = Story.of(brief)
    with WorldState() as world:
        now = Progress.at_start(brief, start, world, config)
        while goes_on(now):
            if text := await chapter(now, run):
                story = story.add(f"Chapter {now.chapter}", "\n\n".join(text))
    if problems := now.records.summary(now.t):
        run.note(problems)
    return story


async def chapter(now: Progress, run: Run) -> list[str]:
    """The paragraphs of timesteps until a goal ends after a chapter's words; kept as a text that a person can edit.

    Where the text is a person's, its timesteps are gone through all the same, since they change the world; then what
    the person made otherwise changes it, and so reaches all that follows.
    """
    now.chapter, now.begin = now.chapter + 1, len(now.story)
    name, made = f"chapter-{now.chapter}", False

    async def make(own: Run) -> str:
        nonlocal made
        made = True
        await timesteps(now, own)
        return "\n\n".join(now.story[now.begin :])

    text = await run.keep_as(paragraphs, name, make, folder="story")
    if not made:
        await timesteps(now, run.within(name))
    told = now.story[now.begin :]
    edited = run.unless_made_up(lambda: bool(text) and text != told, instead=not made)
    if edited:
        await reread(now, run.within(name), told, text)
    await now.records.keep(run, now.chapter, now.world.world)
    if text:
        now.story[now.begin :] = text
    return text


async def reread(now: Progress, run: Run, told: Sequence[str], text: Sequence[str]) -> None:
    """Ours: W takes over what a person changed in a chapter, whose steps made the paragraphs `told`; one call.

    Costs nothing where nobody changed anything.
    """
    config, role = now.config, "critic" if now.config.paper.critic else "narrator"
    if not config.paper.world_updates:
        return
    old, new = _changed(told, text)
    try:
        made = await run.ask_for(
            Changes,
            role,
            "reread",
            sampling=_sampling(run, role, config.paper.critic_temperature, 400),
            old=old,
            new=new,
            world=[shown(variable) for variable in variables(now)],
            story=None,
            **always(now),
        )
    except ReplyError as error:
        run.note(f"What was changed in chapter {now.chapter} could not be read: {error}")
        return
    updates, refused = now.world.writes_of(made.world_updates, "edit", aids=run.aids(role))
    set_ = now.world.amend(Moment(now.chapter, max(len(told), len(text)) + 1), updates)
    now.records.counts["amended"] += len(set_)
    now.records.counts["refused"] += len(refused)


def _changed(told: Sequence[str], text: Sequence[str]) -> tuple[list[str], list[str]]:
    """The paragraphs that are no longer there, and those that stand instead of them."""
    parts = SequenceMatcher(a=told, b=text, autojunk=False).get_opcodes()
    other = [part for part in parts if part[0] != "equal"]
    return [p for part in other for p in told[part[1] : part[2]]], [
        p for part in other for p in text[part[3] : part[4]]
    ]


async def timesteps(now: Progress, run: Run) -> None:
    """The timesteps of one chapter."""
    most = now.config.ours.chapter_words
    while goes_on(now):
        goal_ended = await timestep(now, run)
        if most and goal_ended and sum(map(_counted, now.story[now.begin :])) >= most:
            return


async def timestep(now: Progress, run: Run) -> bool:
    """Algorithm 1: story generation for one timestep, which changes `now`. Returns whether the goal was to be replaced.

    Costs two calls a character, two more for every revision, one for the narrator (two with `plain_paragraph`), and one
    where a goal follows.
    """
    W, config, before = now.world, now.config, len(now.story)  # noqa: N806 - the paper's name
    now.t += 1
    run = run.scope("step", now.t)
    want, last = next_paragraph(now)
    selected, made, goal_reached = Selected(()), None, False  # line 10
    updates: list[Write] = []

    # Action Generation + Critic Revision
    C = present(now)  # noqa: N806 - the paper's name
    witnesses = None if len(C) == len(now.characters) else tuple(c.name for c in C)  # of what happens; None for all
    proposed = await side_by_side(proposed_action(now, run.scope(c.name), c, witnesses) for c in C)  # 1 to 7
    actions = [a for a in proposed if a is not None]  # who gave none that can be read is absent

    if actions:
        # Narrator
        selected = await narrator(now, run, actions)  # line 8
        goal_reached = selected.goal_reached
        now.story += paragraphs(await paragraph(now, run, selected, want, last=last))  # line 9

        # World-State Commit
        for a in selected.order:  # line 11
            updates += a.world_updates  # line 12
            goal_reached = goal_reached or a.goal_reached  # lines 15 to 17
        if config.paper.world_updates:
            at = Moment(now.chapter, max(len(now.story) - now.begin, 1))
            made = W.commit(now.t, at, [*updates, *selected.world_updates], now.system)  # line 13
            now.system = {}
    remember(now, run, actions, selected, made, now.story[before:], absent=len(C) - len(actions))
    now.over = last
    if last:
        return False

    # Goal Sequencing
    status = goal_ends(now, reached=goal_reached)  # lines 19, 22, 25
    if status is None:
        now.k += 1  # line 29
        return False
    await goal_generator(now, run, status, reached=goal_reached)  # lines 20 and 21, 23 and 24, 26 and 27
    return True


# Action Generation + Critic Revision: lines 1 to 7 --------------------------------------------------------------------


async def proposed_action(
    now: Progress, run: Run, c: Persona, witnesses: tuple[str, ...] | None
) -> ProposedAction | None:
    """Lines 2 to 6 for one character: an action, revised until the critic takes it; `None` where none can be read.

    An action that the critic did not take within MAX_REVISIONS is `forced`: it may happen, and then what the critic
    named with its refusal is committed, as line 6 has it (with `forced_updates` the critic is asked to name it). An
    action without a readable critique changes nothing and reaches no goal.
    """
    paper, attempts = now.config.paper, list[Attempt]()
    found: ProposedAction | None = None
    for revision in range(paper.max_revisions + 1):  # line 2: repeat
        here = run.scope("again", revision) if revision else run
        a = await character_agent(now, here, c, attempts[-1] if attempts else Attempt(""))  # line 3
        if a is None:
            return found
        last = revision == paper.max_revisions
        r = await critic(now, here, c, a, last=last) if paper.critic else None  # line 4
        revise = r is not None and r.revise
        attempts.append(Attempt(a, (r.feedback or "find another action") if r is not None and revise else ""))
        found = ProposedAction(c.name, a, forced=revise, attempts=tuple(attempts), lone=paper.critic and r is None)
        if r is not None:  # line 6
            named = getattr(r, "world_updates", ())
            updates, refused = now.world.writes_of(named, c.name, witnesses, aids=run.aids("critic"))
            found = replace(found, world_updates=updates, refused=refused, goal_reached=r.goal_reached)
        if not revise:  # line 5: until
            return found
    return found


async def character_agent(now: Progress, run: Run, c: Persona, refused: Attempt) -> str | None:
    """Line 3, CHARACTERAGENT(c, g, W_c, s): an action; from the second attempt on it is shown what was `refused`."""
    paper, plain = now.config.paper, now.config.ours.plain_action
    W_c = now.world.of_character(c, now.goal, now.t, paper.slice_max)  # noqa: N806 - the paper's name
    fields = {
        "persona": c,
        "world": [shown(variable) for variable in W_c],
        "story": recent(now, run, c.name, paper.recent_actor),
        "refused": refused,
        "plain": plain,
        **always(now),
    }
    sampling = _sampling(run, c.name, paper.actor_temperature, 120 if plain else 200)
    try:
        if plain:
            return await _plain_action(run, c.name, sampling, fields)
        made = await run.ask_for(ActionReply, c.name, "act", sampling=sampling, **fields)
    except ReplyError as error:
        run.note(f"{c.name} is absent from step {now.t}: {error}")
        return None
    return " ".join(made.action.split())


async def _plain_action(run: Run, name: str, sampling: Sampling, fields: Mapping[str, Any]) -> str:
    """An action in plain words, without chatter; with aids without echoes too, and not longer than an action is.

    Raises:
        ReplyError: nothing of the replies can be used.
    """
    fault = ""
    for attempt in range(_TRIES):
        here = run.again(attempt, fault)
        reply = await here.reply(name, "act", sampling=sampling, expect=_ACTION_WORDS, **fields)
        text = reply.text
        if not is_person(reply.model):
            echo = (here.render("act", **fields), *fields["story"])
            text = clean_reply(here, name, reply, labels=LABELS, last=False, echo=echo)
            if fault := here.fault(text, "act", fields):
                here.removed("reply", text)
                continue
        if action := " ".join(text.split()):
            return _shortened(here, action) if run.aids(name) else action
    raise ReplyError(f"{name!r} gave no action in {_TRIES} tries.", reply=reply.text)


def _shortened(run: Run, action: str) -> str:
    """The first sentences of a small model's action."""
    most, tokens = _SHORT_ACTION
    first = sentences(action)[:most]
    short = first_of(" ".join(first), tokens).removesuffix(ELLIPSIS).strip() or first[0]
    run.removed("length", action.removeprefix(short).strip())
    return short


async def critic(now: Progress, run: Run, c: Persona, a: str, *, last: bool) -> Verdict | None:
    """Line 4, CRITIC(a, c, g, W): `None` where nothing can be read, which counts as accepted without updates.

    That it sees history too is ours (`critic_history`): without any it cannot judge repetition. `last`: there is no
    further attempt.
    """
    paper, ours = now.config.paper, now.config.ours
    history, seen = ours.critic_history, variables(now)
    try:
        return await run.ask_for(
            Critique if paper.world_updates else Verdict,
            "critic",
            "criticise",
            sampling=_sampling(run, "critic", paper.critic_temperature, 400),
            persona=c,
            action=a,
            world=[shown(variable) for variable in seen],
            keys=now.world.keys_of(c, seen, _OWN_KEYS) if ours.state_max else [],
            places=ours.present_only,
            updates=paper.world_updates,
            last=last and ours.forced_updates,
            story=recent(now, run, "critic", paper.recent_narrator) if history else None,
            own=tuple(now.done.get(c.name, ())[-_OWN_ACTIONS:]) if history else (),
            **always(now),
        )
    except ReplyError as error:
        run.note(f"The critic gave nothing that can be read about {c.name} in step {now.t}: {error}")
        return None


def present(now: Progress) -> list[Persona]:
    """Who acts: everybody; with `present_only` those who are where the story is, or whose place is not known."""
    everybody = list(now.characters)
    if not (now.config.ours.present_only and now.place):
        return everybody
    there = [c for c in everybody if not (own := now.world.location(c)) or _same_place(own, now.place)]
    return there or everybody


def _same_place(one: str, other: str) -> bool:
    """Whether two descriptions speak of one place: most content words of the shorter stand in the other."""
    a, b = content(one), content(other)
    return len(a & b) >= _SAME_PLACE * max(1, min(len(a), len(b)))


# Narrator: lines 8 and 9 ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selected:
    """The narrator's choice: actions in the order in which they happen, the paragraph where it came with the choice.

    `world_updates` and `goal_reached` are the narrator's own, where there is no critic to name them.
    """

    order: tuple[ProposedAction, ...]
    paragraph: str = ""
    world_updates: tuple[Write, ...] = ()
    goal_reached: bool = False


async def narrator(now: Progress, run: Run, actions: Sequence[ProposedAction]) -> Selected:
    """Line 8, NARRATOR(actions, g, W, s): which actions happen, in which order, and the paragraph about them.

    With `plain_paragraph` the paragraph is written by another call. Where nothing can be read, or nothing is chosen
    twice, the first action that the critic took happens; without `plain_paragraph` its words are the paragraph.
    """
    paper, with_text = now.config.paper, not now.config.ours.plain_paragraph
    reached = not paper.critic
    updates = reached and paper.world_updates
    shape = (narration_shape if with_text else choice_shape)(len(actions), updates=updates, reached=reached)
    most = (600 if with_text else 60) + updates * 400
    for attempt in range(2):  # an empty choice is sent back once
        here = run.scope("again") if attempt else run
        try:
            made = await here.ask_for(
                shape,
                "narrator",
                "narrate" if with_text else "choose",
                sampling=_sampling(run, "narrator", paper.narrator_temperature, most),
                proposals=actions,
                updates=updates,
                reached=reached,
                world=[shown(variable) for variable in variables(now)],
                story=recent(now, run, "narrator", paper.recent_narrator),
                opening=not now.story,
                again=bool(attempt),
                **always(now),
            )
        except ReplyError as error:
            run.note(f"The narrator's choice in step {now.t} could not be read: {error}")
            break
        if order := dict.fromkeys(number - 1 for number in made.order if 1 <= number <= len(actions)):
            named = getattr(made, "world_updates", ())
            writes, _ = now.world.writes_of(named, "narrator", aids=run.aids("narrator"))
            chosen = _until_reached([actions[n] for n in order], now.config)
            return Selected(chosen, getattr(made, "paragraph", ""), writes, getattr(made, "goal_reached", False))
    first = next((a for a in actions if not a.forced), actions[0])
    return Selected((first,), first.action if with_text else "")


def _until_reached(chosen: list[ProposedAction], config: Config) -> tuple[ProposedAction, ...]:
    """The chosen actions up to the one that reaches the goal (ours: `truncate_after_goal`); no other one happens."""
    if config.ours.truncate_after_goal:
        for place, a in enumerate(chosen, 1):
            if a.goal_reached:
                return tuple(chosen[:place])
    return tuple(chosen)


async def paragraph(now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool) -> str:
    """Line 9: the paragraph that joins the story; with `check` written again once where it contradicts W."""
    ours = now.config.ours
    if not ours.plain_paragraph:
        return selected.paragraph
    text = await _prose(now, run, selected, want, last=last, wrong=())
    if not ours.check or run.aids("critic") or not (wrong := await objections(now, run, selected, text)):
        return text
    run.note(f"Step {now.t} is written again: {' '.join(wrong)}")
    now.records.counts["rewritten"] += 1
    again = await _prose(now, run.scope("again"), selected, want, last=last, wrong=wrong)
    still = await objections(now, run.scope("again"), selected, again)
    return text if len(still) > len(wrong) else again


async def objections(now: Progress, run: Run, selected: Selected, text: str) -> tuple[str, ...]:
    """Ours: what in a paragraph contradicts W as it stands after the step, one sentence each; one call of the critic.

    What the critic names counts where the paragraph has the words, W has the variable, and the two values do not mean
    the same.
    """
    after: dict[str, Variable | Write] = {variable.key: variable for variable in variables(now)}
    after |= {one.key: one for a in selected.order for one in a.world_updates}
    after |= {one.key: one for one in selected.world_updates}
    if not after:
        return ()
    try:
        made = await run.ask_for(
            Reading,
            "critic",
            "check",
            sampling=_sampling(run, "critic", now.config.paper.critic_temperature, 400),
            paragraph=text,
            world=[shown(variable) for variable in after.values()],
            story=None,
            **always(now),
        )
    except ReplyError as error:
        run.note(f"The paragraph of step {now.t} could not be checked: {error}")
        return ()
    words_of = Quotable.of(text)
    return tuple(
        f'It is so that {shown(after[one.key])}, and the paragraph says "{one.quote}".'
        for one in made.contradictions
        if one.key in after and words_of.has(one.quote) and now.world.contradicts(after[one.key], one.value)
    )


async def _prose(
    now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool, wrong: tuple[str, ...]
) -> str:
    ours = now.config.ours
    fields = {
        "brief": now.brief.text,
        "personas": now.characters,
        "chosen": selected.order,
        "world": [shown(variable) for variable in variables(now)],
        "story": recent(now, run, "narrator", now.config.paper.recent_narrator),
        "last": last,
        "wrong": wrong,
        **always(now),
    }
    previous = now.story[-1] if now.story else ""
    labels = (*LABELS, *now.names) if run.aids("narrator") else LABELS
    prose = Prose(last, want, labels, ours.paragraph_words, previous)
    temperature = now.config.paper.narrator_temperature
    return await write_prose(
        run, "narrator", "tell", prose, before=now.story[-3:], fields=fields, temperature=temperature
    )


# World-State Commit: lines 10 to 18 stand in `timestep`; what a step leaves -------------------------------------------


def remember(
    now: Progress,
    run: Run,
    actions: Sequence[ProposedAction],
    selected: Selected,
    made: Commit | None,
    story: Sequence[str],
    *,
    absent: int,
) -> None:
    """Record a timestep, and keep what later ones look back to: actions that happened, and where the story is.

    Raises:
        ReplyError: nobody has given an action for 5 steps.
    """
    for a in selected.order:
        now.done.setdefault(a.character, []).append(a.action)
    if made is not None:
        for refused in (*(one for a in selected.order for one in a.refused), *made.refused):
            run.note(f"{refused.key!r} is not written in step {now.t}: {refused.why}.")
    if now.config.ours.present_only and selected.order:
        first = next(c for c in now.characters if c.name == selected.order[0].character)
        now.place = now.world.location(first)
    now.records.step(now.t, len(now.goals), actions, selected.order, made, story, absent)
    now.idle = 0 if actions else now.idle + 1
    if now.idle >= _IDLE:
        raise ReplyError(
            f"No character gave an action that can be read in {_IDLE} steps. Give the characters a stronger model "
            "(--model character=...), or run again with another --seed.",
            reply="",
        )


# Goal Sequencing: lines 19 to 30 --------------------------------------------------------------------------------------


def goal_ends(now: Progress, *, reached: bool) -> Status | None:
    """Why the goal g is replaced after this timestep, or `None`; near the end the last goal closes the story (ours)."""
    if now.closing or not now.config.paper.goal_updates:
        return None
    ours, target = now.config.ours, now.want.target
    ending = max(target * _CLOSING, ours.paragraph_words * _CLOSING_PARAGRAPHS)
    if ours.length_control and now.left <= ending:
        now.closing = True
        return "ending" if target > 2 * ending else None  # a short story ends with the goal it has
    return due(now.t, now.k, now.config, reached=reached)


def due(t: int, k: int, config: Config, *, reached: bool) -> Status | None:
    """Why a goal is replaced after timestep `t`, or `None`; `k` is the stall count before it.

    The first of these holds, as in Algorithm 1: a domain shift, a stall, a goal that is reached. With `true_status`
    (ours) a goal that is reached in the very step in which it would be left as stalled is "complete". `stall_rule`
    "text" leaves a goal in its 15th step, as section 3.1 says, "algorithm" in its 16th, as line 22 has it.
    """
    paper = config.paper
    if paper.goal_shifts and t % paper.domain_shift_steps == 0:  # line 19
        return "domain_shift"
    steps = k + 1 if paper.stall_rule == "text" else k
    if paper.goal_shifts and steps >= paper.stall_steps and not (reached and config.ours.true_status):  # line 22
        return "stalled"
    return "complete" if reached else None  # line 25


async def goal_generator(now: Progress, run: Run, status: Status, *, reached: bool) -> None:
    """GOALGENERATOR(W, g, status), and k = 0: the goal that follows, whose transition paragraph joins the story.

    With `goal_check` a goal that repeats an earlier one is sent back once. Where no goal is found, or none that can be
    read, the old one stands for 5 more steps.
    """
    now.k, reason, transition = 0, "", ""
    for attempt in range(2):
        try:
            made = await _next_goal(now, run.scope("again") if attempt else run, status, reason, reached=reached)
        except ReplyError as error:
            reason = str(error)
            break
        reason = _objection(now, made, status)
        if not reason:
            goal, transition = " ".join(made.goal.split()), made.transition_paragraph
            now.goals.append(goal)
            now.domain, now.place = " ".join(made.goal_domain.split()), ""
            now.system = {"current_goal": goal, "goal_domain": now.domain, "goal_completed": reached}
            break
    if reason:
        run.note(f"No new goal in step {now.t}: {reason}")
        now.records.counts["goal_failed"] += 1
        now.k = max(now.config.paper.stall_steps - _GOAL_LATER, 0)
    now.records.goal(status, now.goal, transition)
    if run.aids("goal_generator"):  # what a small model writes beyond a paragraph has left the transition
        transition = clean_text(run, "goal_generator", transition, labels=(*LABELS, *now.names), last=False)
        if count_words(transition) > now.config.ours.paragraph_words:
            run.removed("field", transition)
            transition = ""
    now.story += paragraphs(transition)


async def _next_goal(now: Progress, run: Run, status: Status, reason: str, *, reached: bool) -> NextGoal:
    prior = now.goals[:-1]
    return await run.ask_for(
        NextGoal,
        "goal_generator",
        "set_goal",
        sampling=_sampling(run, "goal_generator", now.config.paper.goals_temperature, 500),
        personas=now.characters,
        status=status,
        reached=reached if now.config.ours.true_status or status == "ending" else None,
        prior=prior[-_PRIOR_GOALS:] if now.config.ours.state_max else prior,
        domain=now.domain,
        world=[shown(variable) for variable in variables(now)],
        story=recent(now, run, "goal_generator", now.config.paper.recent_goals),
        reason=reason,
        **always(now),
    )


def _objection(now: Progress, made: NextGoal, status: Status) -> str:
    """What is wrong with a new goal; empty if nothing is."""
    if status == "ending" or not now.config.ours.goal_check:
        return ""
    for prior in now.goals:
        if overlap(words(made.goal), words(prior)) > _GOALS_ALIKE:
            return f"it repeats an earlier goal ({prior})."
    if status == "domain_shift" and now.domain and made.goal_domain.casefold() == now.domain.casefold():
        return f"its domain is still {now.domain}."
    return ""


# What prompts are shown -----------------------------------------------------------------------------------------------


def recent(now: Progress, run: Run, role: str, number: int) -> tuple[str, ...]:
    """s: the last `number` paragraphs of the story, within what a prompt of this role may hold."""
    return latest(now.story[-number:], run.prompt_tokens(role, _RECENT_TOKENS))


def variables(now: Progress) -> list[Variable]:
    """What critic, narrator and goal generator see of W: all of it, or the `state_max` that matter now."""
    return now.world.latest(now.goal, now.t, now.config.ours.state_max)


def always(now: Progress) -> dict[str, Any]:
    """What prompts of all roles are shown."""
    return {"goal": now.goal, "instruction_first": now.config.ours.instruction_first}


def _sampling(run: Run, role: str, temperature: float | None, short: int) -> Sampling:
    return Sampling(temperature=temperature, max_tokens=run.reply_tokens(role, short))


# The length that is asked for (ours) ----------------------------------------------------------------------------------


def goes_on(now: Progress) -> bool:
    """Whether there is another timestep."""
    ours = now.config.ours
    if now.over or (ours.max_steps and now.t >= ours.max_steps):
        return False
    if not ours.length_control:
        return now.left > 0
    return now.words < now.want.low or now.left > _LITTLE


def next_paragraph(now: Progress) -> tuple[WordRange | None, bool]:
    """The words of this timestep's paragraph, and whether it ends the story."""
    ours = now.config.ours
    if not ours.length_control:
        return None, False
    usual = ours.paragraph_words
    if now.left <= usual * _LAST or (ours.max_steps and now.t >= ours.max_steps):
        left = now.want.of_sections([1.0], [now.words])  # of a long story's range far more than a paragraph
        return replace(left, high=min(left.high, max(2 * usual, left.low, left.target))), True
    slack = int(usual * _SLACK)
    return WordRange(usual - slack, usual + slack, usual, exact=False), False


# Where a story begins -------------------------------------------------------------------------------------------------


async def personas_for(run: Run, brief: Brief, config: Config) -> Personas:
    """The personas and the first goal, kept as `plan/personas.yaml`, which a person can write or edit.

    Made from the author's plan if there is one, else from the brief, which costs 3 calls and at most 1 for each
    character.

    Raises:
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    plan = await given_plan(run)

    async def make(own: Run) -> str:
        if plan is not None:
            return write_personas(Personas.of(plan))
        settled, cast = await begin_plan(own, brief, PlanOptions(characters=config.ours.characters))
        people = tuple(map(Persona.of, cast.characters))
        return write_personas(Personas(_first_goal(settled.conflict, brief, people), people))

    start = await run.keep_as(parse_personas, "personas", make, folder="plan", suffix="yaml")
    return replace(start, goal=start.goal or (plan.conflict if plan else "") or brief.text)


def _first_goal(conflict: str, brief: Brief, people: Sequence[Persona]) -> str:
    """The conflict if it speaks of one of the people, else what the brief asks but its length."""
    if any(words(persona.name) & words(conflict) for persona in people):
        return conflict
    asked = [sentence for sentence in sentences(brief.text) if read_range(sentence) is None]
    return " ".join(asked) or conflict
