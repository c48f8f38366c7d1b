"""MAGNET: Algorithm 1, one timestep after the other, until the story has its length.

`timestep` is the paper's Algorithm 1, line by line; what it calls stands below it in the order of the lines. Around it
are ours: where a story begins (`personas_for`), chapters, and the length that is asked for. W and W_c are in
`state.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import lru_cache, partial
from operator import ne
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UsageError
from fabula.craft.final_reading import final_reading
from fabula.craft.length import WordRange, asked_range, read_range
from fabula.craft.packing import latest, overlap, paragraphs, words
from fabula.craft.planning import PlanOptions, begin_plan, given_plan
from fabula.craft.prose import Prose, clean_reply, clean_text, write_prose
from fabula.craft.quoting import Quotable
from fabula.engine.roles import is_person
from fabula.engine.run import side_by_side
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import Story, count_words
from fabula.story.personas import Persona, Personas, parse_personas, write_personas
from fabula.story.sentences import sentences
from fabula.story.world import Moment, WorldState
from fabula.story.world.meaning import content
from fabula.systems.magnet.records import Attempt, ProposedAction, Records
from fabula.systems.magnet.shapes import (
    Account,
    ActionReply,
    Changes,
    Contradiction,
    Critique,
    FirstGoal,
    HiddenGoal,
    NextGoal,
    Reading,
    Update,
    Verdict,
    Witnessed,
    choice_shape,
    narration_shape,
)
from fabula.systems.magnet.state import WorldGraph, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.engine.run import Draft, Run
    from fabula.story import Brief
    from fabula.story.world.flat import Commit, Refused, Variable, Write
    from fabula.story.world.meaning import Value
    from fabula.systems.magnet.config import Config

Status: TypeAlias = Literal["complete", "stalled", "domain_shift", "ending"]
LABELS: Final = ("Goal", "Story", "World", "Action", "Paragraph", "What happens now", "Characters")
_WORDS_A_PAGE: Final = 400
_USUAL_WORDS: Final = 800  # of a story for which neither brief nor settings say
_ROOM: Final = 0.3  # of a paragraph's words, which every paragraph but the last leaves for the ending
_LEAST: Final = 25  # words without which nothing more is written
_BAND: Final = 0.4  # of a paragraph's words, by which it may be shorter or longer
_TELLING: Final = 1.4  # words in which an action is told, for each of its own
_CLOSING: Final = 0.05  # share of the words that is left for the ending
_CLOSING_PARAGRAPHS: Final = 2  # and that many paragraphs at least
_LAST: Final = 1.6  # what is left, in paragraphs, from which on one paragraph ends the story
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
_TRANSITION: Final = 0.5  # words of a transition, as a share of a paragraph's
_RECENT_TOKENS: Final = 1200  # of recent paragraphs, for small models


@dataclass(frozen=True, slots=True)
class Seen:
    """Something in the story that can be seen or heard, and the characters who neither see nor hear it."""

    text: str
    unseen_by: tuple[str, ...] = ()


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
        setting: where and when the story takes place; `moment`, where and when it stands now.
        accounts: what can be seen and heard in a paragraph; `away`, who neither saw nor heard what happened last.
        goal_hidden_from: characters who know nothing of the goal g.
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
    setting: str = ""
    moment: str = ""
    accounts: dict[str, tuple[Seen, ...]] = field(default_factory=dict)
    away: tuple[str, ...] = ()
    goal_hidden_from: tuple[str, ...] = ()
    records: Records = field(default_factory=Records)

    @classmethod
    def at_start(cls, brief: Brief, start: Personas, world: WorldState, config: Config) -> Progress:
        """Before the first timestep; `world` is empty."""
        ours = config.ours
        asked = WordRange.about(ours.pages * _WORDS_A_PAGE) if ours.pages else asked_range(brief, ours.words)
        graph = WorldGraph.of(start, world, places=ours.present_only or ours.witnessed, by_meaning=ours.by_meaning)
        now = cls(brief, config, start.people, graph, [start.goal], asked or WordRange.about(_USUAL_WORDS))
        if ours.witnessed:
            now.setting, now.moment = start.setting, start.opening
            now.goal_hidden_from = start.goal_hidden_from
        return now

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
        written: list[Chapter] = []
        while goes_on(now):
            written.append(await chapter(now, run))
        for number, text in enumerate(await whole_story(now, run, written), 1):
            story = story.add(f"Chapter {number}", "\n\n".join(text)) if text else story
    if problems := now.records.summary(now.t):
        run.note(problems)
    return story


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter's paragraphs, and the run in which its timesteps are; `draft` where the whole is read at the end."""

    text: list[str]
    run: Run
    draft: Draft | None = None


async def chapter(now: Progress, run: Run) -> Chapter:
    """The paragraphs of timesteps until a goal ends after a chapter's words; kept as a text that a person can edit.

    Where the text is a person's, its timesteps are gone through all the same, since they change the world; then what
    the person made otherwise changes it, and so reaches all that follows.
    """
    now.chapter, now.begin = now.chapter + 1, len(now.story)
    name, made, draft = f"chapter-{now.chapter}", False, None

    async def make(own: Run) -> str:
        nonlocal made
        made = True
        await timesteps(now, own)
        return "\n\n".join(now.story[now.begin :])

    if now.config.ours.final_reading:
        draft = await run.draft(name, make)
        text = paragraphs(draft.text if draft.given is None else draft.given)
        inner = run.within_draft(name)
    else:
        text = await run.keep_as(paragraphs, name, make, folder="story")
        inner = run.within(name)
    if not made:
        await timesteps(now, inner)
    told = now.story[now.begin :]
    edited = run.unless_made_up(lambda: bool(text) and text != told, instead=not made)
    if edited:
        await reread(now, inner, now.chapter, told, text)
    await now.records.keep_steps(run, now.chapter)
    if text:
        now.story[now.begin :] = text
    if draft is None:
        await now.records.keep_world(run, now.chapter, now.world.world)
    return Chapter(text, inner, draft)


async def whole_story(now: Progress, run: Run, written: Sequence[Chapter]) -> list[list[str]]:
    """The chapters as they stand in the story: with `final_reading` (ours) the whole is read once and mended.

    What the narrator changes there changes W too, as what a person changes does: one call for each chapter with a
    change.
    """
    drafts = [one.draft for one in written if one.draft is not None]
    if not drafts:
        return [one.text for one in written]
    lines = [f"Setting: {now.setting}"] if now.setting else []
    lines += [f"Goal: {goal}" for goal in now.goals]
    plan = "\n\n".join(["\n".join(lines), *(persona.block for persona in now.characters)])
    made = await final_reading(run, "narrator", drafts, brief=now.brief.titled, plan=plan, want=now.want)
    texts = [paragraphs(text) for text in made]
    for number, (before, text) in enumerate(zip(written, texts, strict=True), 1):
        if run.unless_made_up(partial(ne, before.text, text), instead=False):
            await reread(now, before.run, number, before.text, text)
        await now.records.keep_world(run, number, now.world.world)
    return texts


async def reread(now: Progress, run: Run, number: int, told: Sequence[str], text: Sequence[str]) -> None:
    """Ours: W takes over what was changed in a chapter, whose steps made the paragraphs `told`; one call.

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
        run.note(f"What was changed in chapter {number} could not be read: {error}")
        return
    updates, refused = writes(now, run, role, made, "edit")
    set_ = now.world.amend(Moment(number, max(len(told), len(text)) + 1), updates)
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
    actions = await proposed_actions(now, run, C, witnesses)  # lines 1 to 7

    if actions:
        # Narrator
        selected = await narrator(now, run, actions)  # line 8
        want = with_room(now, run, selected, want, last=last)
        text, selected = await paragraph(now, run, selected, want, last=last)  # line 9
        goal_reached = selected.goal_reached
        now.story += paragraphs(text)

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


async def proposed_actions(
    now: Progress,
    run: Run,
    C: Sequence[Persona],  # noqa: N803 - the paper's name
    witnesses: tuple[str, ...] | None,
) -> list[ProposedAction]:
    """Lines 1 and 7, for all characters c of C: the actions of those who gave one that can be read.

    With `in_turn` (ours) they act one after the other, and who comes later knows what was accepted before; else, as in
    the paper, side by side, and so do small models, which would repeat what they are shown.
    """
    if not now.config.ours.in_turn or any(run.aids(c.name) for c in C):
        made = await side_by_side(proposed_action(now, run.scope(c.name), c, witnesses) for c in C)
        return [a for a in made if a is not None]
    actions: list[ProposedAction] = []
    first = (now.t - 1) % len(C)
    for c in (*C[first:], *C[:first]):
        a = await proposed_action(now, run.scope(c.name), c, witnesses, [one for one in actions if not one.forced])
        actions += [a] if a is not None else []
    return actions


async def proposed_action(
    now: Progress, run: Run, c: Persona, witnesses: tuple[str, ...] | None, before: Sequence[ProposedAction] = ()
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
        a = await character_agent(now, here, c, attempts[-1] if attempts else Attempt(""), before)  # line 3
        if a is None:
            return found
        last = revision == paper.max_revisions
        r = await critic(now, here, c, a, before, last=last) if paper.critic else None  # line 4
        revise = r is not None and r.revise
        attempts.append(Attempt(a, (r.feedback or "find another action") if r is not None and revise else ""))
        found = ProposedAction(c.name, a, forced=revise, attempts=tuple(attempts), lone=paper.critic and r is None)
        if r is not None:  # line 6
            unseen = others(now, getattr(r, "unseen_by", ()), but=c.name)
            updates, refused = writes(now, run, "critic", r, c.name, known_to(now, unseen, witnesses))
            found = replace(
                found, world_updates=updates, refused=refused, goal_reached=r.goal_reached, unseen_by=unseen
            )
        if not revise:  # line 5: until
            return found
    return found


def writes(
    now: Progress, run: Run, role: str, made: object, actor: str, witnesses: tuple[str, ...] | None = None
) -> tuple[tuple[Write, ...], tuple[Refused, ...]]:
    """The world updates in a reply of `role` as writes of `actor`, and those that cannot be taken."""
    named, retire = getattr(made, "world_updates", ()), now.config.ours.retire
    return now.world.writes_of(named, actor, witnesses, aids=run.aids(role), retire=retire)


def others(now: Progress, names: Iterable[str], but: str = "") -> tuple[str, ...]:
    """The characters that a reply names, by name or alias, without `but`."""
    said = {name.casefold().strip() for name in names}
    return tuple(
        p.name for p in now.characters if p.name != but and said & {name.casefold() for name in (p.name, *p.aliases)}
    )


def known_to(now: Progress, unseen: Sequence[str], there: tuple[str, ...] | None = None) -> tuple[str, ...] | None:
    """Who learns of what happens: those who are there but the `unseen`; `None` for everybody."""
    return tuple(name for name in there or now.names if name not in unseen) if unseen else there


async def character_agent(
    now: Progress, run: Run, c: Persona, refused: Attempt, before: Sequence[ProposedAction] = ()
) -> str | None:
    """Line 3, CHARACTERAGENT(c, g, W_c, s): an action; from the second attempt on it is shown what was `refused`.

    Ours: actions accepted `before` in this step, as far as c sees them, and with `witnessed` what c saw instead of s.
    """
    paper, plain, witnessed = now.config.paper, now.config.ours.plain_action, now.config.ours.witnessed
    W_c = now.world.of_character(c, now.goal, now.t, paper.slice_max)  # noqa: N806 - the paper's name
    fields = {
        "persona": replace(c, location="") if witnessed else c,
        "people": [p for p in now.characters if p is not c and p.appearance] if witnessed else [],
        "world": [shown(variable) for variable in W_c],
        "story": seen_by(now, run, c) if witnessed else recent(now, run, c.name, paper.recent_actor),
        "before": [a for a in before if c.name not in a.unseen_by],
        "refused": refused,
        "plain": plain,
        "witnessed": witnessed,
        "setting": now.setting,
        "own_goals": now.config.ours.own_goals,
        **always(now),
    }
    if c.name in now.goal_hidden_from:
        fields["goal"] = ""
    if c.name in now.away:
        fields["moment"] = ""
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
            kept = _shortened(action) if run.aids(name) else action
            here.removed("length", action.removeprefix(kept))
            return kept
    raise ReplyError(f"{name!r} gave no action in {_TRIES} tries.", reply=reply.text)


def _shortened(action: str) -> str:
    """The first sentences of a small model's action; what somebody says is never cut in the middle."""
    most, tokens = _SHORT_ACTION
    kept: list[str] = []
    for sentence in sentences(action):
        so_far = " ".join(kept)
        whole = so_far.count('"') % 2 == 0 and so_far.count("“") <= so_far.count("”")
        if kept and whole and (len(kept) >= most or estimate_tokens(f"{so_far} {sentence}") > tokens):
            break
        kept.append(sentence)
    return " ".join(kept)


async def critic(
    now: Progress, run: Run, c: Persona, a: str, before: Sequence[ProposedAction] = (), *, last: bool
) -> Verdict | None:
    """Line 4, CRITIC(a, c, g, W): `None` where nothing can be read, which counts as accepted without updates.

    That it sees history too is ours (`critic_history`): without any it cannot judge repetition. `last`: there is no
    further attempt.
    """
    paper, ours = now.config.paper, now.config.ours
    history, seen = ours.critic_history, variables(now)
    full = Witnessed if ours.witnessed and not run.aids("critic") else Critique
    try:
        return await run.ask_for(
            full if paper.world_updates else Verdict,
            "critic",
            "criticise",
            sampling=_sampling(run, "critic", paper.critic_temperature, 400),
            persona=replace(c, location="") if ours.witnessed else c,
            action=a,
            world=[shown(variable) for variable in seen],
            keys=now.world.keys_of(c, seen, _OWN_KEYS) if ours.state_max else [],
            places=ours.present_only or (ours.witnessed and not run.aids("critic")),
            updates=paper.world_updates,
            before=before,
            names=now.names if ours.witnessed else (),
            own_goals=ours.own_goals,
            retire=ours.retire and not run.aids("critic"),
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

    With `plain_paragraph` the paragraph is written by another call, and a lone action needs no choice; with `in_turn`
    what is chosen happens in the order in which it was proposed. Where nothing can be read, or nothing is chosen
    twice, the first action that the critic took happens; without `plain_paragraph` its words are the paragraph.
    """
    paper, with_text = now.config.paper, not now.config.ours.plain_paragraph
    reached, in_turn = not paper.critic, now.config.ours.in_turn
    updates = reached and paper.world_updates
    if len(actions) == 1 and paper.critic and not with_text:
        return Selected(tuple(actions))
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
                in_turn=in_turn,
                brief=now.brief.text if in_turn else "",
                pace=pace(now) if in_turn and now.config.ours.length_control else None,
                again=bool(attempt),
                **always(now),
            )
        except ReplyError as error:
            run.note(f"The narrator's choice in step {now.t} could not be read: {error}")
            break
        if order := dict.fromkeys(number - 1 for number in made.order if 1 <= number <= len(actions)):
            own, _ = writes(now, run, "narrator", made, "narrator")
            chosen = _until_reached([actions[n] for n in (sorted(order) if in_turn else order)], now.config)
            return Selected(chosen, getattr(made, "paragraph", ""), own, getattr(made, "goal_reached", False))
    first = next((a for a in actions if not a.forced), actions[0])
    return Selected((first,), first.action if with_text else "")


def _until_reached(chosen: list[ProposedAction], config: Config) -> tuple[ProposedAction, ...]:
    """The chosen actions up to the one that reaches the goal (ours: `truncate_after_goal`); no other one happens."""
    if config.ours.truncate_after_goal:
        for place, a in enumerate(chosen, 1):
            if a.goal_reached:
                return tuple(chosen[:place])
    return tuple(chosen)


async def paragraph(
    now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool
) -> tuple[str, Selected]:
    """Line 9: the paragraph that joins the story, and what of the choice it tells.

    With `check` it is written again once where it contradicts W or leaves an action out; what still does not agree then
    yields to the text.
    """
    ours = now.config.ours
    if not ours.plain_paragraph:
        return selected.paragraph, selected
    text = await _prose(now, run, selected, want, last=last, wrong=())
    if not ours.check or run.aids("critic"):
        return text, selected
    found = await reading(now, run, selected, text, last=last)
    if wrong := found.wrong:
        run.note(f"Step {now.t} is written again: {' '.join(wrong)}")
        now.records.counts["rewritten"] += 1
        again = await _prose(now, run.scope("again"), selected, want, last=last, wrong=wrong)
        other = await reading(now, run.scope("again"), selected, again, last=last)
        if len(other.wrong) <= len(wrong):
            text, found = again, other
    if found.account is not None and text:
        first, *more = paragraphs(text)
        seen = tuple(Seen(one.what, others(now, one.unseen_by)) for one in found.account.seen)
        now.accounts |= {first: seen} | dict.fromkeys(more, ())
        now.moment = found.account.now or now.moment
        now.away = seen[-1].unseen_by if seen else ()
    return text, _agreed(now, run, selected, found)


@dataclass(frozen=True, slots=True)
class Read:
    """What the critic found in a paragraph: values other than W's, actions that it leaves out, and what can be seen."""

    contradictions: tuple[tuple[Contradiction, str], ...] = ()
    untold: tuple[ProposedAction, ...] = ()
    account: Account | None = None

    @property
    def wrong(self) -> tuple[str, ...]:
        """One sentence about each thing that does not agree."""
        return (
            *(f'It is so that {so}, and the paragraph says "{one.quote}".' for one, so in self.contradictions),
            *(f"It does not tell that {a.character} does this: {a.action}" for a in self.untold),
        )


async def reading(now: Progress, run: Run, selected: Selected, text: str, *, last: bool) -> Read:
    """Ours: what in a paragraph does not agree with the actions and W as it stands after the step; one call.

    A contradiction counts where the paragraph has the words, W has the variable, and the two values do not mean the
    same.
    """
    witnessed = now.config.ours.witnessed and not last
    after: dict[str, Variable | Write] = {variable.key: variable for variable in variables(now)}
    after |= {one.key: one for a in selected.order for one in a.world_updates}
    after |= {one.key: one for one in selected.world_updates}
    try:
        made = await run.ask_for(
            Account if witnessed else Reading,
            "critic",
            "check",
            sampling=_sampling(run, "critic", now.config.paper.critic_temperature, 400),
            paragraph=text,
            chosen=selected.order,
            names=now.names if witnessed else (),
            world=[shown(variable) for variable in after.values()],
            story=None,
            **always(now),
        )
    except ReplyError as error:
        run.note(f"The paragraph of step {now.t} could not be checked: {error}")
        return Read()
    words_of = Quotable.of(text)
    return Read(
        tuple(
            (one, shown(after[one.key]))
            for one in made.contradictions
            if one.key in after and words_of.has(one.quote) and now.world.contradicts(after[one.key], one.value)
        ),
        tuple(selected.order[number - 1] for number in sorted({*made.untold}) if 1 <= number <= len(selected.order)),
        made if isinstance(made, Account) else None,
    )


def _agreed(now: Progress, run: Run, selected: Selected, found: Read) -> Selected:
    """The choice as far as the paragraph tells it, and with the values that the paragraph has."""
    for a in found.untold:
        run.note(f"What {a.character} does in step {now.t} is not told, and so has not happened: {a.action}")
    now.records.counts["untold"] += len(found.untold)
    now.records.counts["yielded"] += len(found.contradictions)
    values = [Update(key=one.key, value=one.value) for one, _ in found.contradictions]
    own, _ = now.world.writes_of(values, "narrator")
    return replace(
        selected,
        order=tuple(a for a in selected.order if a not in found.untold),
        world_updates=(*selected.world_updates, *own),
    )


async def _prose(
    now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool, wrong: tuple[str, ...]
) -> str:
    ours = now.config.ours
    shows = ours.story_shown if not run.aids("narrator") else 0
    fields = {
        "brief": now.brief.text,
        "personas": now.characters,
        "chosen": selected.order,
        "world": [shown(variable) for variable in variables(now)],
        "story": recent(now, run, "narrator", shows or now.config.paper.recent_narrator),
        "setting": now.setting,
        "opens": not now.story,
        "pace": pace(now) if ours.length_control else None,
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
        for key in made.conflicts:
            values = [
                f"{shown(one)} ({one.actor})" for a in selected.order for one in a.world_updates if one.key == key
            ]
            run.note(f"Step {now.t} writes {key!r} more than once: {', then '.join(values)}. The last one holds.")
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
        if ours.own_goals and not reached and len(now.goals) == 1:
            return None  # the brief's own goal stands to the end
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
            now.goal_hidden_from = others(now, getattr(made, "hidden_from", ()))
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
    witnessed = now.config.ours.witnessed and not run.aids("goal_generator")
    return await run.ask_for(
        HiddenGoal if witnessed else NextGoal,
        "goal_generator",
        "set_goal",
        sampling=_sampling(run, "goal_generator", now.config.paper.goals_temperature, 500),
        personas=[persona.public for persona in now.characters],
        status=status,
        reached=reached if now.config.ours.true_status or status == "ending" else None,
        prior=prior[-_PRIOR_GOALS:] if now.config.ours.state_max else prior,
        domain=now.domain,
        world=[shown(variable) for variable in variables(now)],
        story=recent(now, run, "goal_generator", now.config.paper.recent_goals),
        reason=reason,
        brief=now.brief.text if now.config.ours.own_goals else "",
        words=WordRange.about(round(now.config.ours.paragraph_words * _TRANSITION))
        if now.config.ours.length_control
        else None,
        pace=pace(now) if now.config.ours.length_control else None,
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


def seen_by(now: Progress, run: Run, c: Persona) -> tuple[str, ...]:
    """Ours: the last paragraphs as far as a character has seen and heard what they tell, oldest first.

    A paragraph of which there is no account, as one that a person changed, is shown itself.
    """
    number = now.config.paper.recent_actor if run.aids(c.name) else now.config.ours.story_shown
    told = now.story[-(number or now.config.paper.recent_actor) :]
    known = (now.accounts.get(text, (Seen(text),)) for text in told)
    seen = [text for own in known if (text := " ".join(one.text for one in own if c.name not in one.unseen_by))]
    return latest(seen, run.prompt_tokens(c.name, _RECENT_TOKENS))


def recent(now: Progress, run: Run, role: str, number: int) -> tuple[str, ...]:
    """s: the last `number` paragraphs of the story, within what a prompt of this role may hold."""
    return latest(now.story[-number:], run.prompt_tokens(role, _RECENT_TOKENS))


def variables(now: Progress) -> list[Variable]:
    """What critic, narrator and goal generator see of W: all of it, or the `state_max` that matter now."""
    return now.world.latest(now.goal, now.t, now.config.ours.state_max)


def always(now: Progress) -> dict[str, Any]:
    """What prompts of all roles are shown."""
    return {
        "goal": now.goal,
        "instruction_first": now.config.ours.instruction_first,
        "moment": now.moment,
    }


def _sampling(run: Run, role: str, temperature: float | None, short: int) -> Sampling:
    return Sampling(temperature=temperature, max_tokens=run.reply_tokens(role, short))


# The length that is asked for (ours) ----------------------------------------------------------------------------------


def with_room(now: Progress, run: Run, selected: Selected, want: WordRange | None, *, last: bool) -> WordRange | None:
    """The words of a paragraph, more where much is said and done in it; not with aids for small models.

    What comes after it has so much less; an ending of a paragraph's length stays.
    """
    if want is None or last or run.aids("narrator"):
        return want
    usual = now.config.ours.paragraph_words
    needed = round(sum(count_words(a.action) for a in selected.order) * _TELLING)
    target = min(max(want.target, needed), 2 * usual, now.left - round(usual * (1 - _BAND)))
    if target <= want.target:
        return want
    slack = int(target * _BAND)
    high = max(target, min(target + slack, now.want.high - now.words - round(usual * _ROOM)))
    return WordRange(target - slack, high, target, exact=False)


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the story is: words so far, words in all, and paragraphs to come, the next one among them."""

    written: int
    wanted: int
    paragraphs: int


def pace(now: Progress) -> Pace:
    """How far the story is."""
    return Pace(now.words, now.want.target, max(round(now.left / now.config.ours.paragraph_words), 1))


def goes_on(now: Progress) -> bool:
    """Whether there is another timestep."""
    ours = now.config.ours
    if now.over or (ours.max_steps and now.t >= ours.max_steps):
        return False
    if not ours.length_control:
        return now.left > 0
    return now.want.high - now.words >= _LEAST or now.words < now.want.low


def next_paragraph(now: Progress) -> tuple[WordRange | None, bool]:
    """The words of this timestep's paragraph, and whether it ends the story."""
    ours = now.config.ours
    if not ours.length_control:
        return None, False
    usual, low, high = ours.paragraph_words, now.want.low - now.words, now.want.high - now.words
    if now.left <= usual * _LAST or (ours.max_steps and now.t >= ours.max_steps):
        target = max(min(now.left, 2 * usual), min(usual // 2, high))
        low, high = max(low, round(target * (1 - _BAND))), min(high, round(target * (1 + _BAND)))
        low = max(min(low, 2 * usual), 1)
        return WordRange(min(low, target), max(high, target, low), max(target, low), now.want.exact), True
    target = round(now.left / pace(now).paragraphs)
    slack = int(target * _BAND)
    return WordRange(
        target - slack, max(min(target + slack, high - round(usual * _ROOM)), target), target, exact=False
    ), False


# Where a story begins -------------------------------------------------------------------------------------------------


async def personas_for(run: Run, brief: Brief, config: Config) -> Personas:
    """The personas and the first goal, kept as `plan/personas.yaml`, which a person can write or edit.

    Made from the author's plan if there is one, else from the brief, which costs 3 calls and at most 1 for each
    character; with `first_goal` 1 more.

    Raises:
        PlanError: the author's personas or plan have problems; all are named.
        ReplyError: a planner's reply could not be read.
    """
    plan = await given_plan(run)

    async def make(own: Run) -> str:
        if plan is not None:
            return write_personas(await _with_goal(own, brief, Personas.of(plan), config))
        settled, cast = await begin_plan(own, brief, PlanOptions(characters=config.ours.characters))
        people = tuple(map(Persona.of, cast.characters))
        goal = _first_goal(settled.conflict, brief, people)
        made = Personas(goal, people, setting=settled.setting)
        return write_personas(await _with_goal(own, brief, made, config, settled.conflict))

    start = await run.keep_as(parse_personas, "personas", make, folder="plan", suffix="yaml")
    return replace(start, goal=start.goal or (plan.conflict if plan else "") or brief.text)


async def _with_goal(run: Run, brief: Brief, start: Personas, config: Config, conflict: str = "") -> Personas:
    """With `first_goal`: the personas with an end state for their goal, and where the story begins; one call."""
    if not config.ours.first_goal or run.aids("planner"):
        return start
    made = await run.ask_for(
        FirstGoal,
        "planner",
        "first_goal",
        brief=brief.text,
        setting=start.setting,
        conflict=conflict or start.goal,
        personas=start.people,
    )
    places = {one.name.casefold(): one.place for one in made.people}
    people = tuple(replace(p, location=p.location or places.get(p.name.casefold(), "")) for p in start.people)
    hidden = {one.name.casefold() for one in made.people if not one.knows_goal}
    unaware = tuple(p.name for p in people if p.name.casefold() in hidden)
    goal, opening = " ".join(made.goal.split()), " ".join(made.opening.split())
    return replace(start, goal=goal, opening=opening, people=people, goal_hidden_from=unaware)


def _first_goal(conflict: str, brief: Brief, people: Sequence[Persona]) -> str:
    """The conflict if it speaks of one of the people, else what the brief asks but its length."""
    if any(words(persona.name) & words(conflict) for persona in people):
        return conflict
    asked = [sentence for sentence in sentences(brief.text) if read_range(sentence) is None]
    return " ".join(asked) or conflict
