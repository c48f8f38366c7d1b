"""One turn of a character out of a model: asked, heard as it comes, read, and drawn again where it cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.chatting.hearing import starts_well
from fabula.chatting.talk import Answer
from fabula.errors import RefusalError, ReplyError
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.replies.dialogue import Said, first_sentences, read_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.chatting.talk import Line, Moment
    from fabula.run import Run

_WORDS: Final = 25  # of a turn, for estimates
_WARMER: Final = 0.3


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
        fallback: what happens by the plan, said where no draw can be used; empty makes that an error.
    """

    role: str
    prompt: str
    sampling: Sampling = field(default_factory=Sampling)
    tries: int = 1
    lead: bool = False
    sentences: int = 0
    fallback: str = ""


async def answered(run: Run, moment: Moment, how: Asking, fields: Mapping[str, Any]) -> Answer:
    """What `moment.who` does and says.

    Raises:
        ReplyError: no draw could be used, and there is no fallback.
    """
    told = [line.message for line in moment.lines if line.who == moment.who]
    lead = f"[{moment.who}: (" if how.lead else ""
    said, text = Said(), ""
    for attempt in range(how.tries):
        planned = len(run.hands.rehearsal.planned)
        place = run.scope("again", attempt) if attempt else run
        if moment.hearing is not None:
            continues = run.hands.cast.part(how.role).performer.capabilities.continues
            moment.hearing.begin(lead if continues else "", how.sentences)
        try:
            text = await place.ask(
                how.role, how.prompt, sampling=_warmer(how.sampling, attempt), expect=_WORDS, lead=lead, **fields
            )
        except RefusalError:  # it was asked three times
            if not how.fallback:
                raise
            break
        said = read_said(text, moment.who, moment.parties.names)
        if said.ended or starts_well(said.message, told) or len(run.hands.rehearsal.planned) > planned:
            return _kept(said, how.sentences)
    if said.text and (not how.fallback or any(line.action == how.fallback for line in moment.lines)):
        return _kept(said, how.sentences)
    if not how.fallback:
        raise ReplyError(
            f"{moment.who} gave no turn at {run.at} in {how.tries} draws. Say it again in other words, or give the "
            f"role {how.role!r} a stronger model.",
            reply=text,
        )
    run.note(f"No turn of {moment.who} could be used at {run.at}; what the plan says stands in.")
    return Answer(how.fallback, "")


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
