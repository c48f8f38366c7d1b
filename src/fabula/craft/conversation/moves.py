"""One move of a conversation: who answers, what it may know, and the state after it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fabula.craft.conversation.hearing import said_before
from fabula.craft.conversation.talk import Line, Moment, Place
from fabula.craft.packing import paragraphs
from fabula.engine.replies.dialogue import read_said
from fabula.story.people import among, mentioned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.conversation.hearing import Hearing
    from fabula.craft.conversation.state import State
    from fabula.craft.conversation.talk import Chapter, Memories, Parties, Talk


def witnessed(lines: Sequence[Line], who: str) -> tuple[Line, ...]:
    """Those of `lines` at which `who` was there."""
    return tuple(line for line in lines if who in line.witnesses)


def next_speaker(parties: Parties, state: State, said: str) -> str:
    """Who answers: who is spoken to by name, else whom the sub-plan names, else who has been silent longest."""
    there = [name for name in parties.others if name in state.present] or list(parties.others)
    if len(there) == 1:
        return there[0]
    names = {name: (name, *(part for part in name.split() if len(part) > 2)) for name in there}  # noqa: PLR2004 - no "Mr"
    spoken_to = mentioned(said, names)
    if spoken_to:
        return spoken_to[0]
    spoke = {line.who: n for n, line in enumerate(state.lines)}
    planned = mentioned(state.steps[state.step - 1].text, names) if 0 < state.step <= len(state.steps) else ()
    return min(planned or there, key=lambda name: spoke.get(name, -1))


async def opened(talk: Talk, place: Place, state: State, chapter: Chapter | None) -> tuple[State, Chapter]:
    """The state at the beginning of the next cell, and that cell; `chapter` is the one that ended."""
    memories: Memories = state.memories
    if chapter is not None and state.lines:
        memories = await talk.remember(_at(place, state.cell), chapter, state.lines, memories)
    ready = await talk.chapter(_at(place, state.cell + 1), state.cell + 1, memories)
    return state.opened(ready, memories), ready


async def turned(
    talk: Talk,
    place: Place,
    state: State,
    chapter: Chapter,
    said: str,
    *,
    take: int = 0,
    hearing: Hearing | None = None,
) -> State:
    """The state after the player said something ("" lets the character speak by itself) and was answered.

    Raises:
        FabulaError: any of its kinds; the state before it stands.
    """
    return await _turned(talk, _at(place, state.cell), state, chapter, said, take=take, hearing=hearing)


async def _turned(
    talk: Talk, own: Place, state: State, chapter: Chapter, said: str, *, take: int = 0, hearing: Hearing | None = None
) -> State:
    who = next_speaker(talk.parties, state, said)
    there = (talk.parties.player, *state.present)
    heard = (*state.lines, Line(talk.parties.player, "", said, there)) if said else state.lines
    if hearing is not None:
        hearing.name = who
        hearing.told = said_before(witnessed(heard, who), who)
    moment = Moment(
        talk.parties,
        replace(chapter, present=state.present, steps=state.steps),
        who,
        witnessed(heard, who),
        state.memories.get(who, ""),
        state.step,
        moved=state.moved,
        freedom=state.freedom,
        take=take,
        turn=state.place_in_cell,
        hearing=hearing,
    )
    answer = await talk.answer(own, moment)
    return state.answered(talk.parties, who, said, answer, (len(talk.cells), talk.pace))


async def played(talk: Talk, place: Place, state: State, chapter: Chapter) -> str:
    """What the player's character says next, played by a model."""
    return await _played(talk, _at(place, state.cell), state, chapter)


async def _played(talk: Talk, own: Place, state: State, chapter: Chapter) -> str:
    player = talk.parties.player
    moment = Moment(
        talk.parties,
        replace(chapter, present=state.present, steps=state.steps),
        player,
        witnessed(state.lines, player),
        state.memories.get(player, ""),
        state.step,
        freedom=state.freedom,
        turn=state.place_in_cell,
    )
    return await talk.play(own, moment)


async def conversation(talk: Talk, own: Place, state: State, chapter: Chapter, most: int) -> State:
    """A whole cell between two models: the character first, then in turns, until it ends or has `most` turns.

    `own` is the place of this cell; `state` stands at its beginning.
    """
    state = await _turned(talk, own, state, chapter, "")
    while not state.waits and state.place_in_cell <= most:
        said = await _played(talk, own, state, chapter)
        state = await _turned(talk, own, state, chapter, said)
    return state


def _at(place: Place, cell: int) -> Place:
    return Place(place.story, place.own.scope(f"cell-{cell}"))


def dialogue_text(state: State) -> str:
    """What was said in a state's cell, as a text that a person edits and `dialogue_of` reads."""
    return "\n\n".join(f"{line.who}: {line.text}" for line in state.lines)


def dialogue_of(text: str, parties: Parties, present: Sequence[str]) -> tuple[Line, ...]:
    """The lines of a dialogue's text; a paragraph without a name goes on with what was said before."""
    there = (parties.player, *present)
    lines: list[Line] = []
    for part in paragraphs(text):
        name, colon, _ = part.partition(":")
        who = among(name.strip(" *[_"), parties.names) if colon else None
        if who is None and lines:
            lines[-1] = replace(lines[-1], message=f"{lines[-1].message} {part}".strip())
        else:
            said = read_said(part, who or parties.others[0])
            lines.append(Line(who or parties.others[0], said.action, said.message, there))
    return tuple(lines)
