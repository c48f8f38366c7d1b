"""One turn of a character out of a model: asked, shown while it comes, read, and drawn again where it is unusable."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import RefusalError, ReplyError
from fabula.craft.conversation.lines import latest_lines
from fabula.engine.events import TextArrived
from fabula.engine.replies.dialogue import Said, as_turn, first_sentences, read_coming, read_said, repeats_rules
from fabula.engine.replies.turns import leaves_part
from fabula.models.base import Message, Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fabula.craft.conversation.lines import Freedom, Line, Parties, Step, View
    from fabula.engine.events import Event
    from fabula.engine.run import Run

_SHARE_READ: Final = 32  # of what has come of a reply; it is read again when so much more has come
SURE: Final = 24  # characters of a message by which it is judged
_FEW: Final = 2  # words that anybody may say twice
_WORDS: Final = 25  # of a turn, for estimates
_SHORT: Final = 96  # tokens of a turn, with aids
_SENTENCES: Final = 1  # of a message, with aids
_WARMER: Final = 0.3
_OF_STORY: Final = frozenset({"persona", "other", "summary", "segment", "steps", "step"})


@dataclass(frozen=True, slots=True)
class Moment:
    """All that a character may know when its turn comes.

    Attributes:
        view: what `who` knows of the cell's part of the narrative, and of those in it.
        who: answers.
        lines: what `who` witnessed in this cell, oldest first; the player's last words are the last of them.
        summary: what `who` remembers of the cells before.
        steps: those sub-plans that `who` knows of.
        step: number of the one of them to serve, 0 where there is none.
        present: those of the others who are there.
        moved: the story has just moved on to it.
        freedom: how far the player may lead away from the plan.
        hearing: gets the words as they come.
        before: what `who` witnessed in the cell before, oldest first.
        dealt: numbers of those of `steps` that have come up.
        last: the cell is at its end, and what `who` says now is the last of it.
    """

    parties: Parties
    view: View
    who: str
    lines: tuple[Line, ...]
    summary: str
    steps: tuple[Step, ...]
    step: int
    present: tuple[str, ...]
    moved: bool = False
    freedom: Freedom = "guided"
    hearing: Hearing | None = None
    before: tuple[Line, ...] = ()
    dealt: tuple[int, ...] = ()
    last: bool = False

    @property
    def partners(self) -> tuple[str, ...]:
        """Whom `who` talks with: those who are there, the player first."""
        return tuple(name for name in (self.parties.player, *self.present) if name != self.who)

    @property
    def opposite(self) -> tuple[str, ...]:
        """Whom the user of the chat plays: the player's character; where that is `who`, those who are there."""
        return self.partners if self.who == self.parties.player else (self.parties.player,)

    @property
    def absent(self) -> tuple[str, ...]:
        """Those of the parties who are not there."""
        return tuple(name for name in self.parties.others if name not in (*self.present, self.who))

    @property
    def begins(self) -> bool:
        """Whether `who` speaks first in this cell, or spoke first."""
        return not self.lines or self.lines[0].name == self.who


def chat_of(moment: Moment, tokens: int) -> tuple[Message, ...]:
    """The dialogue as messages of a chat: what `who` said is the assistant's, what the others said the user's.

    With one partner the user's messages are its words alone; among several each has its speaker's name. Where nobody
    has spoken since, the user says a full stop, as the paper's people do (Table 29).

    Args:
        moment: holds the lines that `who` witnessed.
        tokens: that they have at most; the latest are kept.
    """
    several = len(moment.parties.others) > 1
    messages: list[Message] = []
    for line in latest_lines(moment.lines, tokens):
        own = line.name == moment.who
        text = f"[{line.name}: {line.text}]" if own or several or not messages else line.text
        messages.append(Message("assistant" if own else "user", text))
    if messages and messages[-1].role == "assistant":
        messages.append(Message("user", "."))
    return tuple(messages)


async def turn_of(
    run: Run,
    moment: Moment,
    role: str,
    prompt: str,
    fields: Mapping[str, Any],
    *,
    chat: Sequence[Message],
    temperature: float,
    tries: int = 1,
    fallbacks: Sequence[str] = (),
) -> Said:
    """What `moment.who` does and says: the first usable draw of at most `tries`.

    Args:
        run: the place of this turn.
        moment: what the character knows.
        role: who is asked.
        prompt: the name of its prompt.
        fields: of the prompt.
        chat: the dialogue so far (`chat_of`).
        temperature: of the first draw; each further one is warmer.
        tries: draws at most.
        fallbacks: what happens by the plan, the nearest first. One of them is done where no draw is usable.

    Raises:
        ReplyError: no draw has any text, and there is no fallback.
    """
    draw = Draw(moment.who, moment.parties.names, aids=run.aids(role))
    if draw.aids:
        rules = run.render(prompt, **_without_story(fields)) if tries > 1 else ""
        draw = replace(draw, before=said_before(moment.lines, moment.who), rules=rules, sentences=_SENTENCES)
    draws: list[Said] = []
    text, run = "", run.tries(prompt)
    for attempt in range(tries):
        draw = replace(draw, lead=_lead(moment, attempt) if draw.aids else "")
        if moment.hearing is not None:
            continues = run.context.cast.assignment(role).performer.capabilities.continues
            moment.hearing.begin(draw, draw.lead if continues else "")
        place = run.scope("again", attempt) if attempt else run
        sampling = Sampling(
            temperature=round(temperature + _WARMER * attempt, 2), max_tokens=run.reply_tokens(role, _SHORT)
        )
        try:
            reply = await place.chat(role, prompt, chat, sampling=sampling, expect=_WORDS, lead=draw.lead, **fields)
            text = reply.text
        except RefusalError:  # it was asked three times
            if not fallbacks:
                raise
            break
        said = draw.read(text)
        if said.ended or draw.usable(said):
            short = draw.shortened(said)
            place.left_out("length", said.message, short.message)
            place.left_out("speaker", as_turn(text, draw.lead), said.text)
            return short
        draws.append(said)
    second = _second_best(draws, moment, fallbacks)
    if second is None:
        raise ReplyError(
            f"{moment.who} gave no turn at {run.at} in {tries} draws. Say it again, in other words if you like, or "
            f"give the role {role!r} a stronger model.",
            reply=text,
            at=f"{run.at}/{prompt}",
        )
    if second.action in fallbacks:
        run.note(f"No turn of {moment.who} could be used at {run.at}; what the plan says stands in.")
    return draw.shortened(second)


def said_before(lines: Sequence[Line], who: str) -> tuple[Line, ...]:
    """What the next turn of `who` is not to repeat: the others' last words, then its own in this cell."""
    others = [line for line in lines if line.name != who]
    return (*others[-1:], *(line for line in lines if line.name == who))


def _lead(moment: Moment, attempt: int) -> str:
    """The first characters of a turn: of an action, or, where that has gone wrong, of speech alone.

    The smallest models can speak, and cannot say what they do in parentheses.
    """
    spoke = [line for line in moment.lines if line.name == moment.who and line.message]
    acts = not spoke or any(line.action for line in spoke)
    return f"[{moment.who}: (" if acts and not attempt else f'{moment.who}: "'


def _without_story(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a prompt, those that hold something of the story empty."""
    empty = {name: type(value)() for name, value in fields.items() if name in _OF_STORY}
    return {**fields, **empty, "lead": ""}


def _second_best(draws: Sequence[Said], moment: Moment, fallbacks: Sequence[str]) -> Said | None:
    """What is said where no draw was usable: what happens by the plan and has not happened yet, else the last draw."""
    done = {line.action for line in moment.lines}
    deeds = [said for said in draws if said.action and not said.message and said.action not in done]
    if deeds and not moment.steps:  # without a plan nothing better is known than what was done
        return deeds[0]
    left = [what for what in fallbacks if what not in done]
    if left:
        return Said(left[0])
    if draws and draws[-1].text:
        return draws[-1]
    return Said(fallbacks[0]) if fallbacks else None


# a draw -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Draw:
    """How a draw of a turn is read, and whether it is usable; the same while it comes and when it is there.

    Attributes:
        name: whose turn it is.
        names: of all who talk.
        aids: the model is known to be small, so that also what repeats the prompt or itself is not usable.
        lead: what the model was given of the turn.
        before: what is not to be repeated (`said_before`).
        rules: the prompt without the story, which small models repeat.
        sentences: of the message at most; 0 keeps all.
    """

    name: str
    names: Sequence[str]
    aids: bool = False
    lead: str = ""
    before: Sequence[Line] = ()
    rules: str = ""
    sentences: int = 0

    def read(self, text: str) -> Said:
        """The turn in a whole reply."""
        return read_said(as_turn(text, self.lead), self.name, self.names)

    def shortened(self, said: Said) -> Said:
        """The turn with no more sentences than it may have."""
        return replace(said, message=first_sentences(said.message, self.sentences)) if self.sentences else said

    def usable(self, said: Said) -> bool:
        """Whether a turn can be kept: it plays a part and says or does something.

        With aids it has to say something, and neither says nor does the same again. It is judged by its action and
        the first characters of its message, a short one by all of it.
        """
        begin = said.message[:SURE].casefold()
        if leaves_part(said.message[: 2 * SURE]):
            return False
        if not self.aids:
            return any(map(str.isalpha, said.text))
        return (
            any(map(str.isalpha, begin))
            and not repeats_rules(said.message, self.rules)
            and not any(_again(begin, line.message.casefold(), last=line is self.before[-1]) for line in self.before)
            and _acts(said.action, self.before[-1].action if self.before else "")
        )


def _again(begin: str, other: str, *, last: bool) -> bool:
    """Whether a message that begins so is an earlier one again; a word or two may be said again, but not at once."""
    if len(begin) < SURE:
        return begin == other and (last or len(begin.split()) > _FEW)
    return other.startswith(begin)


def _acts(action: str, before: str) -> bool:
    """Whether an action is one, and is not the last one again."""
    words = action.split()
    return not words or (
        any(len(word) > 1 and word.isalpha() for word in words) and (len(words) <= _FEW or action != before)
    )


@dataclass
class Hearing:
    """Shows a reply as it comes: whole pieces of what the turn will be, no marks and no foreign speaker's words.

    Nothing is shown before it is clear that the draw is kept, so that nothing need be taken back: not before 48
    characters of the message are there, or all of it. The action has to wait with it, since a draw is refused for its
    message, and the next one has another action.

    Attributes:
        show: gets the pieces; together they are `(action) message`.
        name: whose turn it is, once a draw has begun.
    """

    show: Callable[[str], None]
    name: str = ""
    _draw: Draw | None = None
    _raw: str = ""
    _read_at: int = 0
    _shown: str = ""

    def begin(self, draw: Draw, given: str = "") -> None:
        """A draw begins, with what the model was given of it and goes on from."""
        self.name, self._draw, self._raw, self._read_at = draw.name, draw, given, 0

    def hear(self, event: Event) -> None:
        """A listener of the run."""
        draw = self._draw
        if draw is None or not isinstance(event, TextArrived):
            return
        self._raw += event.text
        if len(self._raw) < self._read_at:
            return
        self._read_at = len(self._raw) + len(self._raw) // _SHARE_READ  # so that all reading grows as the text does
        coming = read_coming(as_turn(self._raw, draw.lead), draw.name, draw.names)
        judged = coming.whole or len(coming.said.message) >= 2 * SURE
        if judged and coming.settled and draw.usable(coming.said) and not repeats_rules(coming.settled, draw.rules):
            self._show(draw.shortened(replace(coming.said, message=coming.settled)).text)

    def end(self, text: str) -> None:
        """The turn is `text`; what of it was not shown is shown now."""
        self._draw = None
        self._show(text)

    def _show(self, text: str) -> None:
        if len(text) > len(self._shown) and text.startswith(self._shown):
            self.show(text[len(self._shown) :])
            self._shown = text
