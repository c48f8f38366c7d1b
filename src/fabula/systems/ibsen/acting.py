"""An actor speaks its next line: what comes to mind, the line itself, and the checks on it (section 2.5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ReplyError
from fabula.craft.memory import hashed
from fabula.engine.replies import clean_prose
from fabula.engine.replies.turns import leaves_part, read_turn, repeats
from fabula.engine.roles import is_person
from fabula.systems.ibsen.log import Turn
from fabula.systems.ibsen.remembering import told
from fabula.systems.ibsen.shapes import LineCheck

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.memory import Recalled
    from fabula.engine.run import Run
    from fabula.models.base import Reply
    from fabula.systems.ibsen.remembering import Actor, Play

_LAST: Final = 3  # turns that call memories to mind
_BY_INSTRUCTION, _BY_TURN = 3, 5  # memories that the instruction, and each of those turns, call to mind
_SAYINGS: Final = 3
_LINE_WORDS: Final = 30  # for estimates
_TEMPERATURE: Final = 0.6
_PENALTY: Final = 0.6


@dataclass(frozen=True, slots=True)
class Cue:
    """What the director wants of an actor: the planned line, the outline it belongs to, and the instruction."""

    line: Turn
    background: str
    outline: str = ""
    instruction: str = ""


async def speak(actor: Actor, cue: Cue, play: Play, run: Run, hour: float) -> Turn:
    """The actor's line. Bounded: at most `part_tries` and 2 more calls, and 1 for the check.

    Where no try has anything of use, the line as the director planned it stands in.
    """
    config, turns = play.config, actor.window.turns
    fields = _fields(actor, cue, play, hour)
    text = ""
    for attempt in range(config.part_tries + 1):
        here = run.scope("again", attempt) if attempt else run
        text, own = await _line(actor, play, here, fields, turns)
        if own:
            return Turn.of(actor.name, text)
        if text and not leaves_part(text):
            break
    else:
        run.note(f"{actor.name} spoke no line of use in {config.part_tries + 1} tries; the director's stands in.")
        return Turn.of(actor.name, cue.line.text)
    if config.self_check:
        text = await _checked(actor, text, play, run)
    if config.repeat_threshold and repeats(text, [turn.text for turn in turns], config.repeat_threshold):
        again, _ = await _line(actor, play, run.scope("anew"), fields, turns[:1])
        text = again if again and not leaves_part(again) else text
    return Turn.of(actor.name, text)


def _fields(actor: Actor, cue: Cue, play: Play, hour: float) -> dict[str, Any]:
    """What the actor's prompt shows, but for the history."""
    config, last = play.config, actor.window.turns[-_LAST:]
    relevant, others = recalled(actor, _queries(cue, last), play, hour)
    named = play.who(" ".join(f"{turn.role} {turn.text}" for turn in last), actor.name)
    return {
        "actor": actor.sheet,
        "background": cue.background,
        "relations": told(actor.relations, named),
        "impressions": told(actor.impressions, named),
        "relevant": relevant,
        "others": others,
        "sayings": _sayings(actor, last, play),
        "outline": cue.outline,
        "instruction": cue.instruction,
        "opening": f"{actor.name}:" if config.tidy else "",
    }


def _queries(cue: Cue, last: Sequence[Turn]) -> list[tuple[str, int]]:
    first = cue.instruction.partition("\n")[0]
    return [*([(first, _BY_INSTRUCTION)] if first else []), *((str(turn), _BY_TURN) for turn in last)]


def recalled(
    actor: Actor, queries: Sequence[tuple[str, int]], play: Play, hour: float
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What comes to the actor's mind, parted by likeness into relevant and possibly irrelevant memories."""
    found: list[Recalled] = actor.memories.recall_all(queries, hour, play.config.recall)
    near = tuple(one.memory.told for one in found if one.similarity >= play.config.relevant)
    return near, tuple(one.memory.told for one in found if one.similarity < play.config.relevant)


def _sayings(actor: Actor, last: Sequence[Turn], play: Play) -> tuple[tuple[str, str], ...]:
    """How the actor once answered something like the last turn: pairs of what was asked and what it said."""
    known = actor.sheet.sayings
    if not known or not last or last[-1].role == actor.name:
        return ()
    like = hashed([saying.asked for saying in known]) @ hashed([last[-1].text])[0]
    best = sorted(range(len(known)), key=lambda n: (-like[n], n))[:_SAYINGS]
    return tuple((known[n].asked, known[n].said) for n in best if like[n] >= play.config.saying_threshold)


async def _line(actor: Actor, play: Play, run: Run, fields: dict[str, Any], turns: Sequence[Turn]) -> tuple[str, bool]:
    """A line, and whether a person wrote it, who means what they write."""
    config, fields = play.config, {**fields, "history": play.shown(turns)}
    sampling = config.drawn(_TEMPERATURE, config.turn_tokens, frequency=_PENALTY)
    reply = await run.reply(actor.name, "act", sampling=sampling, expect=_LINE_WORDS, **fields)
    if is_person(reply.model):
        return reply.text, True
    said = read_turn(reply.text, actor.name, play.script.names)
    return (_tidied(said, reply, play, run.render("act", **fields)) if config.tidy else said), False


def _tidied(said: str, reply: Reply, play: Play, prompt: str) -> str:
    """A line without chatter, labels, loops and what it echoes of its prompt; possibly empty."""
    labels = (*play.script.names, "Memories", "Instruction", "Outline", "Next line")
    return clean_prose(said, labels=labels, last=True, echo=[prompt], finish=reply.finish).text


async def _checked(actor: Actor, text: str, play: Play, run: Run) -> str:
    """The line after the actor has looked at it; as it is, where that cannot be read."""
    config = play.config
    try:
        found = await run.ask_for(
            LineCheck,
            "actor",
            "check_line",
            sampling=config.drawn(_TEMPERATURE, config.turn_tokens),
            actor=actor.sheet,
            line=text,
        )
    except ReplyError as error:
        run.note(f"The line of {actor.name} could not be checked: {error}")
        return text
    revised = "" if found.result else read_turn(found.revised_response, actor.name, play.script.names)
    return revised or text
