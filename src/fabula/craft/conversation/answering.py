"""One turn of a character out of a model: asked, heard as it comes, read, and drawn again where it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import RefusalError, ReplyError
from fabula.craft.conversation.hearing import said_before, starts_well
from fabula.craft.conversation.talk import Answer
from fabula.engine.replies.dialogue import Said, as_turn, first_sentences, read_said
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.conversation.talk import Line, Moment
    from fabula.engine.run import Run

_WORDS: Final = 25  # of a turn, for estimates
_WARMER: Final = 0.3
_OF_STORY: Final = frozenset({"persona", "others", "memory", "segment", "lines", "steps", "step"})


@dataclass(frozen=True)
class Asking:
    """How a turn is asked for.

    Attributes:
        role: who is asked.
        prompt: its prompt.
        sampling: of the draw.
        tries: draws at most.
        lead: gives the model the first letters of its turn's form, where it can go on with them.
        sentences: of a message at most; 0 keeps all.
        fallbacks: what happens by the plan, the nearest first, said where no draw can be used; without any, that is an
            error.
    """

    role: str
    prompt: str
    sampling: Sampling = field(default_factory=Sampling)
    tries: int = 1
    lead: bool = False
    sentences: int = 0
    fallbacks: tuple[str, ...] = ()


async def answered(run: Run, moment: Moment, how: Asking, fields: Mapping[str, Any]) -> Answer:
    """What `moment.who` does and says.

    Raises:
        ReplyError: no draw could be used, and there is no fallback.
    """
    told = said_before(moment.lines, moment.who)
    rules = run.render(how.prompt, **_without_story(fields)) if how.tries > 1 else ""
    draws: list[Said] = []
    text = ""
    for attempt in range(how.tries):
        planned = len(run.context.dry_run.planned)
        lead = _lead(moment, attempt) if how.lead else ""
        try:
            text = await _drawn(run, moment, how, fields, (attempt, lead, rules))
        except RefusalError:  # it was asked three times
            if not how.fallbacks:
                raise
            break
        draws.append(read_said(as_turn(text, lead), moment.who, moment.parties.names))
        said = draws[-1]
        if said.ended or starts_well(said, told, rules) or len(run.context.dry_run.planned) > planned:
            return _kept(said, how.sentences)
    second = _second_best(draws, moment, how.fallbacks)
    if second is None:
        raise ReplyError(
            f"{moment.who} gave no turn at {run.at} in {how.tries} draws. Say it again in other words, or give the "
            f"role {how.role!r} a stronger model.",
            reply=text,
        )
    if second.action in how.fallbacks:
        run.note(f"No turn of {moment.who} could be used at {run.at}; what the plan says stands in.")
    return _kept(second, how.sentences)


async def _drawn(run: Run, moment: Moment, how: Asking, fields: Mapping[str, Any], draw: tuple[int, str, str]) -> str:
    """The text of a draw (its number, lead and rules), which `moment.hearing` hears."""
    attempt, lead, rules = draw
    if moment.hearing is not None:
        continues = run.context.cast.assignment(how.role).performer.capabilities.continues
        moment.hearing.begin(lead if continues else "", how.sentences, rules)
    place = run.scope("again", attempt) if attempt else run
    sampling = _warmer(how.sampling, attempt)
    return await place.ask(how.role, how.prompt, sampling=sampling, expect=_WORDS, lead=lead, **fields)


def _lead(moment: Moment, attempt: int) -> str:
    """The first letters of a turn: of an action, or, where that has gone wrong, of speech alone.

    The smallest models can speak, and cannot tell what they do in parentheses.
    """
    spoke = [line for line in moment.lines if line.who == moment.who and line.message]
    acts = not spoke or any(line.action for line in spoke)
    return f"[{moment.who}: (" if acts and not attempt else f'{moment.who}: "'


def _without_story(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a prompt, those that hold something of the story empty."""
    empty = {name: type(value)() for name, value in fields.items() if name in _OF_STORY}
    return {**fields, **empty, "lead": ""}


def _second_best(draws: Sequence[Said], moment: Moment, fallbacks: Sequence[str]) -> Said | None:
    """What is said where no draw was good: what happens by the plan and has not been told, else the last draw."""
    done = {line.action for line in moment.lines}
    deeds = [said for said in draws if said.action and not said.message and said.action not in done]
    if deeds and not moment.chapter.steps:  # without a plan nothing better is known than what was done
        return deeds[0]
    left = [what for what in fallbacks if what not in done]
    if left:
        return Said(left[0])
    if draws and draws[-1].text:
        return draws[-1]
    return Said(fallbacks[0]) if fallbacks else None


def _warmer(sampling: Sampling, attempt: int) -> Sampling:
    """The values of a draw: each further one is warmer, so that it comes out otherwise."""
    if sampling.temperature is None:
        return sampling
    return replace(sampling, temperature=round(sampling.temperature + _WARMER * attempt, 2))


def _kept(said: Said, sentences: int) -> Answer:
    return Answer(said.action, first_sentences(said.message, sentences) if sentences else said.message, said.ended)


def window(lines: Sequence[Line], tokens: int) -> tuple[Line, ...]:
    """The last of `lines`, about `tokens` tokens at most; 0 keeps all.

    What does not fit is dropped by the half, so that the beginning of what is left stands still for many turns, and
    engines find it in their cache.
    """
    if not tokens:
        return tuple(lines)
    sizes = [estimate_tokens(line.text) + 4 for line in lines]
    begin = held = 0
    for n, size in enumerate(sizes):
        held += size
        if held > tokens:
            while held > tokens // 2 and begin < n:
                held -= sizes[begin]
                begin += 1
    return tuple(lines[begin:])
