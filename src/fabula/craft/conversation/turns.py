"""One turn of a character from a model: asked, streamed, read, and drawn again if it is unusable."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import RefusalError, ReplyError
from fabula.craft.conversation.lines import Freedom, Parties, PartyView, SpokenLine, SubPlan, latest_lines
from fabula.engine.events import Event, TextArrived
from fabula.engine.replies.dialogue import SpokenTurn, as_turn, first_sentences, read_coming, read_said
from fabula.engine.replies.turns import leaves_at
from fabula.models.base import Message, Sampling

if TYPE_CHECKING:
    from fabula.engine.run import Run


_SHARE_READ: Final = 32  # of what has come of a reply; it is read again when so much more has come
SURE: Final = 24  # characters of a message by which it is judged
_FEW: Final = 2  # words that anybody may say twice
_WORDS: Final = 25  # of a turn, for estimates
EXCHANGES_A_POINT: Final = 1.3
"""After how many exchanges a point of a plan has come up, for estimates."""
_SHORT: Final = 96  # tokens of a turn, with aids
_DIALOGUE: Final = 1500  # tokens of the dialogue in a prompt, with aids
_SENTENCES: Final = 1  # of a message, with aids
_WARMER, _WARMER_WITH_AIDS = 0.3, 0.6  # each further draw; a small model says the same again at less
_STOPS: Final = 4  # texts at which a reply ends; some servers take no more
_BARE: Final = re.compile(r"\w+")
_APOSTROPHE: Final = re.compile("['\u2019]")


@dataclass(frozen=True, slots=True)
class TurnKnowledge:
    """All that a character may know when its turn comes.

    Attributes:
        view: what `who` knows of the cell's part of the narrative, and of those in it.
        who: answers.
        lines: what `who` witnessed in this cell, oldest first; the player's last words are the last of them.
        summary: what `who` remembers of the cells before.
        steps: those sub-plans that `who` knows of.
        present: those of the others who are there.
        freedom: how far the player may lead away from the plan.
        hearing: gets the words as they come.
        before: what `who` witnessed in the cell before, oldest first.
    """

    parties: Parties
    view: PartyView
    who: str
    lines: tuple[SpokenLine, ...]
    summary: str
    steps: tuple[SubPlan, ...]
    present: tuple[str, ...]
    freedom: Freedom = "guided"
    hearing: Hearing | None = None
    before: tuple[SpokenLine, ...] = ()

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


def chat_of(moment: TurnKnowledge, tokens: int) -> tuple[Message, ...]:
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
    moment: TurnKnowledge,
    role: str,
    prompt: str,
    fields: Mapping[str, Any],
    *,
    temperature: float,
    tries: int = 1,
    fallback: str = "",
) -> SpokenTurn:
    """The turn of `moment.who`: the first usable draw of at most `tries`.

    A draw that leaves its part ("As an AI ...") ends there, as what came before may have been shown; where nothing came
    before, another is drawn. A small model's turn is shown when it is whole and can be used.

    Args:
        run: the place of the turn.
        moment: what `who` knows; its `hearing` shows the words as they come.
        role: who is asked, with `prompt`.
        prompt: to the role.
        fields: of the prompt; the dialogue so far follows it as a chat (`chat_of`).
        temperature: of the first draw; each further one is warmer.
        tries: draws at most; with one, and without aids, any words are the turn.
        fallback: what anybody may do, where no draw is usable; nothing of the plan, which may be another's deed.

    Raises:
        ReplyError: no draw has any text, and there is no fallback.
    """
    aids, names = run.room(role).aids, moment.parties.names
    chat, expect = chat_of(moment, run.room(role).prompt_tokens(_DIALOGUE)), _usual(moment)
    before, stop = said_before(moment.lines, moment.who), tuple[str, ...]()
    if aids:
        # A small model plays on by itself; what would be left out need not be waited for.
        stop = ("\n\n", "\n[", *(f"\n{name}:" for name in (moment.who, *moment.partners)))[:_STOPS]
    draws: list[SpokenTurn] = []
    text, lead, run = "", "", run.tries(prompt)
    for attempt in range(tries):
        lead = _lead(moment, attempt) if aids else ""
        if moment.hearing is not None:
            moment.hearing.begin(moment.who, names, silent=aids)
        place = run.scope("again", attempt) if attempt else run
        sampling = Sampling(
            temperature=round(temperature + (_WARMER_WITH_AIDS if aids else _WARMER) * attempt, 2),
            max_tokens=run.room(role).reply_tokens(_SHORT),
            stop=stop,
        )
        try:
            text = (await place.reply(role, prompt, chat, sampling=sampling, expect=expect, **fields, lead=lead)).text
        except RefusalError:  # it was asked three times
            if not fallback:
                raise
            break
        whole = as_turn(text, lead)
        said = read_said(whole, moment.who, names)
        short = replace(said, message=first_sentences(said.message, _SENTENCES)) if aids else said
        turn = _standing(short, before, aids=aids, again=tries > 1)
        if turn is not None:
            place.removed("length", said.message, short.message)
            place.removed("chatter", short.message, turn.message)
            place.removed("speaker", whole, said.text)
            return turn
        draws.append(short)
    second = _second_best(draws, moment, fallback)
    if second is None:
        raise ReplyError(
            f"{moment.who} gave no turn at {run.at} in {tries} draws. Send your message again, perhaps reworded, or "
            f"give the role {role!r} a stronger model.",
            reply=text,
            at=f"{run.at}/{prompt}",
        )
    if second.action == fallback:
        run.note(f"No turn of {moment.who} could be used at {run.at}, so that {moment.who} {fallback}.")
    return second


def _standing(said: SpokenTurn, before: Sequence[SpokenLine], *, aids: bool, again: bool) -> SpokenTurn | None:
    """What of a draw is the turn; `None` where nothing is, and, if it can be, another is drawn."""
    if said.ended or (said.text and not again and not aids):
        return said  # where nothing is drawn again, a reply with words is the turn, whatever it says
    part = in_part(said)
    if aids:
        return said if part == said and is_new(said, before) else None
    return part if part.text else None


def _usual(moment: TurnKnowledge) -> str:
    """How a turn looks, for estimates: points of the plan come up one by one, and after the last it is over."""
    over = bool(moment.steps) and len(moment.lines) / 2 >= len(moment.steps) * EXCHANGES_A_POINT
    return f"[{moment.who}: {{{_WORDS}}}]" + ("\nEOD" if over else "")


def said_before(lines: Sequence[SpokenLine], who: str) -> tuple[SpokenLine, ...]:
    """What the next turn of `who` is not to repeat: the others' last words, then its own in this cell."""
    others = [line for line in lines if line.name != who]
    return (*others[-1:], *(line for line in lines if line.name == who))


def _lead(moment: TurnKnowledge, attempt: int) -> str:
    """The first characters of a turn: those of an action, or, where that has gone wrong, of speech.

    The smallest models can speak, and cannot say what they do in parentheses.
    """
    spoke = [line for line in moment.lines if line.name == moment.who and line.message]
    acts = not spoke or any(line.action for line in spoke)
    return f"[{moment.who}: (" if acts and not attempt else f'{moment.who}: "'


def _second_best(draws: Sequence[SpokenTurn], moment: TurnKnowledge, fallback: str) -> SpokenTurn | None:
    """What is done where no draw was usable: what somebody did without a word, else what anybody may do.

    Twice running that is worse than the last draw, unless it leaves its part.
    """
    done = {bare(line.action) for line in moment.lines}
    deeds = [said for said in draws if said.action and not said.message and bare(said.action) not in done]
    if deeds and not moment.steps:  # without a plan nothing better is known than what was done
        return deeds[0]
    last = next((line.action for line in reversed(moment.lines) if line.name == moment.who), "")
    left = [said for said in draws if said.text and leaves_at(said.message) is None]
    if left and (last == fallback or not fallback):
        return left[-1]
    return SpokenTurn(fallback) if fallback else None


# a draw -------------------------------------------------------------------------------------------------------------


def bare(text: str) -> str:
    """The words of a text in small letters, separated by blanks, without marks."""
    return " ".join(_BARE.findall(_APOSTROPHE.sub("", text.casefold())))


def in_part(said: SpokenTurn, *, coming: bool = False) -> SpokenTurn:
    """A turn up to where its speaker leaves its part ("As an AI ..."); empty without a letter. `coming`: more."""
    message, cut = said.message, leaves_at(said.message, coming=coming)
    if cut is not None:
        message = message[:cut] if message[:cut].endswith(" ") else message[:cut].rpartition(" ")[0]
        message = message.rstrip()
    found = said if message == said.message else SpokenTurn(said.action, message)
    return found if any(map(str.isalpha, found.text)) else SpokenTurn()


def is_new(said: SpokenTurn, before: Sequence[SpokenLine]) -> bool:
    """Whether a small model's turn says something, and no line of `before` again."""
    words, deed = bare(said.message).split(), bare(said.action)
    if not any(map(str.isalpha, said.message[:SURE])) or any(
        _again(words, line.message, last=line is before[-1]) for line in before
    ):
        return False
    if not said.action:
        return True
    some = any(len(word) > 1 and word.isalpha() for word in deed.split())
    return some and (len(deed.split()) <= _FEW or not before or deed != bare(before[-1].action))


def _again(words: Sequence[str], other: str, *, last: bool) -> bool:
    """Whether a message begins as an earlier one; a word or two may be said again, but not at once."""
    head: list[str] = []
    for word in words:
        head.append(word)
        if len(" ".join(head)) >= SURE:
            break
    earlier = bare(other).split()
    if not head or earlier[: len(head)] != head:
        return False
    return len(" ".join(head)) >= SURE or (earlier == head and (last or len(head) > _FEW))


@dataclass
class Hearing:
    """Shows a reply as it comes: whole pieces of what the turn will be, no marks and no foreign speaker's words.

    Attributes:
        show: gets the pieces; together they are `(action) message`.
        name: whose turn it is, once a draw has begun.
    """

    show: Callable[[str], None]
    name: str = ""
    _names: Sequence[str] = ()
    _silent: bool = True
    _raw: str = ""
    _read_at: int = 0
    _shown: str = ""

    def begin(self, name: str, names: Sequence[str], *, silent: bool = False) -> None:
        """A draw of one of those who talk begins; `silent`, nothing of it is shown before `end`."""
        self.name, self._names, self._silent, self._raw, self._read_at = name, names, silent, "", 0

    def hear(self, event: Event) -> None:
        """A listener of the run."""
        if self._silent or not isinstance(event, TextArrived):
            return
        self._raw += event.text
        if len(self._raw) < self._read_at:
            return
        self._read_at = len(self._raw) + len(self._raw) // _SHARE_READ  # so that all reading grows as the text does
        coming = read_coming(self._raw, self.name, self._names)
        if coming.acted or coming.settled:  # else what is done may go on
            self._show(in_part(replace(coming.said, message=coming.settled), coming=not coming.whole).text)

    def end(self, text: str) -> None:
        """The turn is `text`; what of it was not shown is shown now."""
        self._silent = True
        self._show(text)

    def _show(self, text: str) -> None:
        if len(text) > len(self._shown) and text.startswith(self._shown):
            self.show(text[len(self._shown) :])
            self._shown = text
