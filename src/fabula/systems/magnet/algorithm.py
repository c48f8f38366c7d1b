"""MAGNET: Algorithm 1, one timestep after the other, until the story has its length.

`timestep` is the paper's Algorithm 1, line by line; what it calls stands below it in the order of the lines. W and W_c
are in `state.py`. Around the algorithm, in reading order: `start.py`, where a story begins; `progress.py`, what a step
requires, changes and shows; `prose.py`, plain words and the length that is asked for; `agreement.py`, text and W agree;
`records.py`, what a step leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.errors import ReplyError, UsageError
from fabula.base.later import Later
from fabula.craft.final_reading import final_reading
from fabula.craft.length import WordRange
from fabula.craft.packing import overlap, paragraphs, words
from fabula.craft.prose import clean_text
from fabula.engine.run import side_by_side
from fabula.story import Story, count_words
from fabula.story.world import Moment, WorldState
from fabula.story.world.meaning import content
from fabula.systems.magnet.agreement import agreed, known_to, reading, reread, writes
from fabula.systems.magnet.progress import (
    LABELS,
    Progress,
    Seen,
    always,
    counted,
    go_on,
    recent,
    sampling_of,
    seen_by,
    variables,
)
from fabula.systems.magnet.prose import (
    goes_on,
    next_paragraph,
    pace,
    paragraph_prose,
    plain_action,
    with_room,
)
from fabula.systems.magnet.records import Attempt, ProposedAction, Selected
from fabula.systems.magnet.shapes import (
    ActionReply,
    Course,
    Critique,
    HiddenGoal,
    NextGoal,
    Verdict,
    Witnessed,
    choice_shape,
    narration_shape,
)
from fabula.systems.magnet.start import personas_for
from fabula.systems.magnet.state import named, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.run import Draft, Run
    from fabula.story import Brief
    from fabula.story.personas import Persona
    from fabula.story.world.flat import Commit, Write
    from fabula.systems.magnet.config import Config

Status: TypeAlias = Literal["complete", "stalled", "domain_shift", "ending"]
SECOND: Final = ("candidate", 2)
"""The place of a character's second candidate, below that of the first one."""
COMPARED: Final = "compared"
"""The place of the judge's verdicts on the two: `compared/1` in the order in which they came, `compared/2` turned."""
SIDES: Final = ("A", "B")
_CLOSING: Final = 0.05  # share of the words that is left for the ending
_CLOSING_PARAGRAPHS: Final = 2  # and that many paragraphs at least
_IDLE: Final = 5  # steps without an action, after which the story cannot go on
_OWN_ACTIONS: Final = 5  # last actions of a character that its critic is shown
_OWN_KEYS: Final = 30  # keys of a character that its critic is reminded of
_PRIOR_GOALS: Final = 20  # that a prompt is shown, where prompts are bounded
_GOALS_ALIKE: Final = 0.6  # share of common words from which on two goals are one
_GOAL_LATER: Final = 5  # steps until a goal generator that failed is asked again
_SAME_PLACE: Final = 0.5  # share of common words from which on two places are one
_TRANSITION: Final = 0.5  # words of a transition, as a share of a paragraph's


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
    if config.paper.candidates not in (1, 2):
        raise UsageError(f"candidates = {config.paper.candidates} cannot be compared in pairs. Set it to 1 or 2.")
    start = await personas_for(run, brief, config)
    run.check_cast("character", start.names)
    story = replace(Story.of(brief), breaks=True)
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
    """A chapter's paragraphs; `draft` where the whole is read at the end."""

    text: list[str]
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
    edited = run.unless_made_up(
        lambda: bool(text) and text != told, instead=not made or not run.may_stand_as_made(name)
    )
    if edited:
        await reread(now, inner, now.chapter, told, text)
    await now.records.keep_steps(run, now.chapter)
    if text:
        now.story[now.begin :] = text
    await now.records.keep_world(run, now.chapter, now.world.world)
    return Chapter(text, draft)


async def whole_story(now: Progress, run: Run, written: Sequence[Chapter]) -> list[list[str]]:
    """The chapters as they stand in the story: with `final_reading` (ours) the whole is read once and mended.

    Nothing is written after that, so W stays as the chapters left it.
    """
    drafts = [one.draft for one in written if one.draft is not None]
    if not drafts:
        return [one.text for one in written]
    lines = [f"Setting: {now.setting}"] if now.setting else []
    lines += [f"Goal: {goal}" for goal in now.goals]
    plan = "\n\n".join(["\n".join(lines), *(persona.full for persona in now.characters)])
    made = await final_reading(run, "narrator", drafts, brief=now.task, plan=plan, want=now.want)
    return [paragraphs(text) for text in made]


async def timesteps(now: Progress, run: Run) -> None:
    """The timesteps of one chapter."""
    most = now.config.ours.chapter_words
    while goes_on(now):
        goal_ended = await timestep(now, run)
        if most and goal_ended and sum(map(counted, now.story[now.begin :])) >= most:
            return


async def timestep(now: Progress, run: Run) -> bool:
    """Algorithm 1: story generation for one timestep, which changes `now`. Returns whether the goal was to be replaced.

    Costs two calls a character (three more with `candidates` = 2), as many for every revision, one for the narrator
    (two with `plain_paragraph`), and one where a goal follows.

    Raises:
        ReplyError: nobody has given an action for 5 steps (ours).
    """
    W, config, before = now.world, now.config, len(now.story)  # noqa: N806 - the paper's name
    now.t += 1
    idle = f"step/{now.t - now.idle}/idle"  # where the steps without an action began
    asked, chapter, run = run.tries(idle).scope("step", now.t), run, run.scope("step", now.t)
    want, last = next_paragraph(now)
    selected, made, goal_reached = Selected(()), None, False  # line 10
    updates: list[Write] = []

    # Action Generation + Critic Revision
    C = present(now)  # noqa: N806 - the paper's name
    here = config.ours.present_only and len(C) < len(now.characters)
    witnesses = tuple(c.name for c in C) if here else None  # of what happens; None for all
    actions = await proposed_actions(now, asked, C, witnesses)  # lines 1 to 7

    if actions:
        # Narrator
        selected = await narrator(now, run, actions, last=last)  # line 8
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
    remember(now, run, actions, selected, made, now.story[before:])
    if now.idle >= _IDLE:
        problem = f"No character gave an action that can be read in {_IDLE} steps."
        raise chapter.no_use(idle, problem, "character", "")
    now.over = last
    if last:
        return False
    go_on(now, selected.course)

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

    With `in_turn` (ours) they act one after the other, who comes later knows what was accepted before, and nobody acts
    after the goal is reached; else, as in the paper, side by side, and so do small models, which would repeat what they
    are shown.
    """
    if not now.config.ours.in_turn or any(run.aids(c.name) for c in C):
        made = await side_by_side(proposed_action(now, run.scope(c.name), c, witnesses) for c in C)
        now.records.counts["absent"] += made.count(None)
        return [a for a in made if a is not None]
    actions: list[ProposedAction] = []
    first = (now.t - 1) % len(C)
    for c in (*C[first:], *C[:first]):
        a = await proposed_action(now, run.scope(c.name), c, witnesses, [one for one in actions if not one.forced])
        if a is None:
            now.records.counts["absent"] += 1
            continue
        actions.append(a)
        if a.goal_reached and not a.forced:
            break
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
        a = await drafted_action(now, here, c, attempts[-1] if attempts else Attempt(""), before)  # line 3
        if a is None:
            return found
        last = revision == paper.max_revisions
        r = await critic(now, here, c, a, before, last=last) if paper.critic else None  # line 4
        revise = r is not None and r.revise
        attempts.append(Attempt(a, (r.feedback or "find another action") if r is not None and revise else ""))
        found = ProposedAction(c.name, a, forced=revise, attempts=tuple(attempts), lone=paper.critic and r is None)
        if r is not None:  # line 6
            unseen = named(now.characters, getattr(r, "unseen_by", ()), but=c.name)
            updates, refused = writes(now, run, "critic", r, c.name, known_to(now, unseen, witnesses))
            found = replace(
                found, world_updates=updates, refused=refused, goal_reached=r.goal_reached, unseen_by=unseen
            )
        if not revise:  # line 5: until
            return found
    return found


async def drafted_action(
    now: Progress, run: Run, c: Persona, refused: Attempt, before: Sequence[ProposedAction] = ()
) -> str | None:
    """Line 3: an action; with `candidates` = 2 (section 4.1) the better one of two, as the judge says."""
    if now.config.paper.candidates == 1:
        return await character_agent(now, run, c, refused, before)
    one, other = await side_by_side(
        character_agent(now, place, c, refused, before) for place in (run, run.scope(*SECOND))
    )
    if one is None or other is None or one == other:
        return one or other
    return await judge(now, run, c, (one, other), before)


async def judge(
    now: Progress, run: Run, c: Persona, candidates: tuple[str, str], before: Sequence[ProposedAction]
) -> str:
    """Section 4.1: the action that is more grounded, in character, less repetitive, and fits the scene better.

    Shown in both orders, side by side, which is ours; the first one where the verdicts differ or cannot be read.
    """
    fields = {
        "persona": replace(c, location="") if now.config.ours.witnessed else c,
        "setting": now.setting,
        "world": list(map(shown, variables(now))),
        "story": recent(now, run, "judge", now.config.paper.recent_narrator),
        "own": tuple(now.done.get(c.name, ())[-_OWN_ACTIONS:]),
        "before": before,
        **always(now, c),
    }

    async def verdict(order: int) -> str:
        first, second = candidates if order == 1 else candidates[::-1]
        place = run.scope(COMPARED, order)
        try:
            side = await place.choose(SIDES, "judge", "compare", first=first, second=second, **fields)
        except ReplyError as error:
            place.note(f"The judge said nothing that can be read about {c.name} in step {now.t}: {error}")
            return ""
        return first if side == SIDES[0] else second

    chosen, again = await side_by_side(verdict(order) for order in (1, 2))
    return candidates[1] if chosen == again == candidates[1] else candidates[0]


async def character_agent(
    now: Progress, run: Run, c: Persona, refused: Attempt, before: Sequence[ProposedAction] = ()
) -> str | None:
    """Line 3, CHARACTERAGENT(c, g, W_c, s): an action; from the second attempt on it is shown what was `refused`.

    Ours: actions accepted `before` in this step, as far as c sees them, and with `witnessed` what c saw instead of s.
    """
    paper, plain, witnessed = now.config.paper, now.config.ours.plain_action, now.config.ours.witnessed
    goal, t = now.goal, now.t
    W_c = Later(lambda: now.world.of_character(c, goal, t, paper.slice_max))  # noqa: N806 - the paper's name
    fields = {
        "persona": replace(c, location="") if witnessed else c,
        "people": [p for p in now.characters if p is not c and p.appearance] if witnessed else [],
        "world": Later(lambda: map(shown, W_c)),
        "story": seen_by(now, run, c) if witnessed else recent(now, run, c.name, paper.recent_actor),
        "before": [a for a in before if c.name not in a.unseen_by],
        "refused": refused,
        "plain": plain,
        "witnessed": witnessed,
        "setting": now.public_setting,
        "opens": not now.story,
        "own_goals": now.config.ours.own_goals,
        **always(now, c),
    }
    if c.name in now.goal_hidden_from:
        fields["goal"] = ""
    sampling = sampling_of(run, c.name, paper.actor_temperature, 120 if plain else 200)
    try:
        if plain:
            return await plain_action(run, c.name, sampling, fields)
        made = await run.ask_for(ActionReply, c.name, "act", sampling=sampling, **fields)
    except ReplyError as error:
        run.note(f"{c.name} is absent from step {now.t}: {error}")
        return None
    return " ".join(made.action.split())


async def critic(
    now: Progress, run: Run, c: Persona, a: str, before: Sequence[ProposedAction] = (), *, last: bool
) -> Verdict | None:
    """Line 4, CRITIC(a, c, g, W): `None` where nothing can be read, which counts as accepted without updates.

    That it sees history too is ours (`critic_history`): without any it cannot judge repetition. `last`: there is no
    further attempt.
    """
    paper, ours = now.config.paper, now.config.ours
    history, seen = ours.critic_history, Later(partial(variables, now))
    full = Witnessed if ours.witnessed and not run.aids("critic") else Critique
    try:
        return await run.ask_for(
            full if paper.world_updates else Verdict,
            "critic",
            "criticise",
            sampling=sampling_of(run, "critic", paper.critic_temperature, 400),
            persona=replace(c, location="") if ours.witnessed else c,
            setting=now.setting,
            action=a,
            world=Later(lambda: map(shown, seen)),
            keys=Later(lambda: now.world.keys_of(c, seen, _OWN_KEYS)) if ours.state_max else [],
            places=ours.present_only or (ours.witnessed and not run.aids("critic")),
            updates=paper.world_updates,
            before=before,
            names=now.names if ours.witnessed else (),
            own_goals=ours.own_goals,
            retire=ours.retire and not run.aids("critic"),
            last=last and ours.forced_updates,
            story=recent(now, run, "critic", paper.recent_narrator) if history else None,
            own=tuple(now.done.get(c.name, ())[-_OWN_ACTIONS:]) if history else (),
            **always(now, c),
        )
    except ReplyError as error:
        run.note(f"The critic gave nothing that can be read about {c.name} in step {now.t}: {error}")
        return None


def present(now: Progress) -> list[Persona]:
    """Who acts: everybody, or, with `witnessed`, those whom the narrator named.

    With `present_only` those who are where the story is, or whose place is not known.
    """
    everybody = [c for c in now.characters if c.name in now.turns or not now.turns]
    if not (now.config.ours.present_only and now.place):
        return everybody
    there = [c for c in everybody if not (own := now.world.location(c)) or _same_place(own, now.place)]
    return there or everybody


def _same_place(one: str, other: str) -> bool:
    """Whether two descriptions speak of one place: most content words of the shorter stand in the other."""
    a, b = content(one), content(other)
    return len(a & b) >= _SAME_PLACE * max(1, min(len(a), len(b)))


# Narrator: lines 8 and 9 ----------------------------------------------------------------------------------------------


async def narrator(now: Progress, run: Run, actions: Sequence[ProposedAction], *, last: bool) -> Selected:
    """Line 8, NARRATOR(actions, g, W, s): which actions happen, in which order, and the paragraph about them.

    With `plain_paragraph` the paragraph is written by another call, and a lone action needs no choice; with `witnessed`
    the narrator also says who acts next and where the next scene is, unless nobody else is there or nothing follows.
    Where nothing can be read, or nothing is chosen twice, the first action that the critic took happens; without
    `plain_paragraph` its words are the paragraph.
    """
    paper, with_text = now.config.paper, not now.config.ours.plain_paragraph
    reached, in_turn = not paper.critic, now.config.ours.in_turn
    updates = reached and paper.world_updates
    leads = now.config.ours.witnessed and not with_text and not last and len(now.characters) > 1
    leads = leads and not run.aids("narrator")
    if len(actions) == 1 and paper.critic and not with_text and not leads:
        return Selected(tuple(actions))
    shape = (
        narration_shape(len(actions), updates=updates, reached=reached)
        if with_text
        else choice_shape(len(actions), updates=updates, reached=reached, leads=leads)
    )
    most = (600 if with_text else 60) + updates * 400
    for attempt in range(2):  # an empty choice is sent back once
        here = run.scope("again") if attempt else run
        try:
            made = await here.ask_for(
                shape,
                "narrator",
                "narrate" if with_text else "choose",
                sampling=sampling_of(run, "narrator", paper.narrator_temperature, most),
                proposals=actions,
                updates=updates,
                reached=reached,
                world=Later(lambda: map(shown, variables(now))),
                story=recent(now, run, "narrator", paper.recent_narrator),
                opening=not now.story,
                in_turn=in_turn,
                brief=now.task if in_turn else "",
                setting=now.setting,
                names=now.names if leads else (),
                pace=pace(now) if in_turn and now.config.ours.length_control else None,
                again=bool(attempt),
                **always(now),
            )
        except ReplyError as error:
            run.note(f"The narrator's choice in step {now.t} could not be read: {error}")
            break
        if order := dict.fromkeys(number - 1 for number in made.order if 1 <= number <= len(actions)):
            own, _ = writes(now, run, "narrator", made, "narrator")
            chosen = _until_reached([actions[n] for n in order], now.config)
            course = Course(**made.model_dump(include=set(Course.model_fields))) if leads else Course()
            reached_now = getattr(made, "goal_reached", False)
            return Selected(chosen, getattr(made, "paragraph", ""), own, reached_now, course)
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
    text = await paragraph_prose(now, run, selected, want, last=last, wrong=())
    if not ours.check or run.aids("critic"):
        return text, selected
    found = await reading(now, run, selected, text, last=last)
    if wrong := found.wrong:
        run.note(f"Step {now.t} is written again: {' '.join(wrong)}")
        now.records.counts["rewritten"] += 1
        again = await paragraph_prose(now, run.scope("again"), selected, want, last=last, wrong=wrong, first=text)
        other = await reading(now, run.scope("again"), selected, again, last=last)
        if len(other.wrong) <= len(wrong):
            text, found = again, other
    if found.account is not None and text:
        own = paragraphs(text)  # the longest stands for all: a refrain may be a paragraph of more than one step
        seen = tuple(Seen(one.what, named(now.characters, one.unseen_by)) for one in found.account.seen)
        now.accounts |= dict.fromkeys(own, ()) | {max(own, key=len): seen}
        now.moment = found.account.now or now.moment
        now.away = seen[-1].unseen_by if seen else ()
    return text, agreed(now, run, selected, found)


# World-State Commit: lines 10 to 18 stand in `timestep`; what a step leaves -------------------------------------------


def remember(
    now: Progress,
    run: Run,
    actions: Sequence[ProposedAction],
    selected: Selected,
    made: Commit | None,
    story: Sequence[str],
) -> None:
    """Record a timestep, and keep what later ones look back to: actions that happened, and where the story is."""
    for a in selected.order:
        now.done.setdefault(a.character, []).append(a.action)
    if made is not None:
        made = replace(
            made, conflicts=tuple(key for key in made.conflicts if not _answered(now, key, actions, selected))
        )
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
    now.records.step(now.t, len(now.goals), actions, selected.order, made, story)
    now.idle = 0 if actions else now.idle + 1


def _answered(now: Progress, key: str, actions: Sequence[ProposedAction], selected: Selected) -> bool:
    """Whether who wrote a key last knew what the others wrote, as an answer knows the question."""
    turns = [a.character for a in actions]
    by = [turns.index(a.character) for a in selected.order if any(one.key == key for one in a.world_updates)]
    return now.config.ours.in_turn and by == sorted(by)


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
            now.goal_hidden_from = named(now.characters, getattr(made, "hidden_from", ()))
            if isinstance(made, Course) and (made.next_scene or made.acts_next):
                go_on(now, made)
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
        sampling=sampling_of(run, "goal_generator", now.config.paper.goals_temperature, 500),
        personas=[persona.public for persona in now.characters],
        status=status,
        reached=reached if now.config.ours.true_status or status == "ending" else None,
        prior=prior[-_PRIOR_GOALS:] if now.config.ours.state_max else prior,
        domain=now.domain,
        world=Later(lambda: map(shown, variables(now))),
        story=recent(now, run, "goal_generator", now.config.paper.recent_goals),
        reason=reason,
        leads=witnessed,
        brief=now.task if now.config.ours.own_goals else "",
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
