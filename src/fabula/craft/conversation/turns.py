"""One turn of a character out of a model: asked, shown while it comes, read, and drawn again where it is unusable."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import RefusalError, ReplyError
from fabula.craft.conversation.lines import latest_lines
from fabula.engine.events import TextArrived
from fabula.engine.replies.dialogue import (
    Coming,
    Said,
    as_turn,
    first_sentences,
    may_repeat_rules,
    read_coming,
    read_said,
    repeats_rules,
)
from fabula.engine.replies.turns import leaves_at
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
EXCHANGES_A_POINT: Final = 1.3
"""After how many exchanges a point of a plan has come up, for estimates."""
_SHORT: Final = 96  # tokens of a turn, with aids
_DIALOGUE: Final = 1500  # tokens of the dialogue in a prompt, with aids
_SENTENCES: Final = 1  # of a message, with aids
_WARMER, _WARMER_WITH_AIDS = 0.3, 0.6  # each further draw; a small model says the same again at less
_STOPS: Final = 4  # texts at which a reply ends; some servers take no more
_BARE: Final = re.compile(r"\w+")
_APOSTROPHE: Final = re.compile("['\u2019]")
_OF_STORY: Final = frozenset({"persona", "other", "summary", "segment", "steps"})


@dataclass(frozen=True, slots=True)
class Moment:
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
    view: View
    who: str
    lines: tuple[Line, ...]
    summary: str
    steps: tuple[Step, ...]
    present: tuple[str, ...]
    freedom: Freedom = "guided"
    hearing: Hearing | None = None
    before: tuple[Line, ...] = ()

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
    temperature: float,
    tries: int = 1,
    fallback: str = "",
) -> Said:
    """What `moment.who` does and says: the first usable draw of at most `tries`.

    What of a refused draw has passed its checks stands, since it may have been shown: the next draw goes on from there.

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
    draw = Draw(moment.who, moment.parties.names, aids=run.room(role).aids)
    chat, expect = chat_of(moment, run.room(role).prompt_tokens(_DIALOGUE)), _usual(moment)
    stop: tuple[str, ...] = ()
    warmer = _WARMER_WITH_AIDS if draw.aids else _WARMER
    if draw.aids:
        rules = run.render(prompt, **_without_story({**fields, "begun": ""})) if tries > 1 else ""
        draw = replace(draw, before=said_before(moment.lines, moment.who), rules=rules, sentences=_SENTENCES)
        # A small model plays on by itself; what would be left out need not be waited for.
        stop = ("\n\n", "\n[", *(f"\n{name}:" for name in (moment.who, *moment.partners)))[:_STOPS]
    draws: list[Said] = []
    text, run = "", run.tries(prompt)
    continues = draw.aids and run.room(role).model.capabilities.continues
    for attempt in range(tries):
        draw = replace(draw, lead=_lead(moment, attempt, draw.begun) if draw.aids else "")
        if moment.hearing is not None:
            moment.hearing.begin(draw, draw.lead if continues else "")
        place = run.scope("again", attempt) if attempt else run
        sampling = Sampling(
            temperature=round(temperature + warmer * attempt, 2),
            max_tokens=run.room(role).reply_tokens(_SHORT),
            stop=stop,
        )
        asked = {**fields, "begun": "" if continues else draw.begun.text, "lead": draw.lead}
        try:
            text = (await place.reply(role, prompt, chat, sampling=sampling, expect=expect, **asked)).text
        except RefusalError:  # it was asked three times
            if not (fallback or draw.begun.text):
                raise
            break
        said = draw.read(text)
        short = draw.shortened(said)
        # Where nothing is drawn again, a reply with words is the turn, whatever it says.
        if said.ended or draw.usable(short) or (tries == 1 and short.text and not draw.aids):
            place.removed("length", said.message, short.message)
            place.removed("speaker", as_turn(text, draw.lead), said.text)
            return short
        draws.append(short)
        draw = replace(draw, begun=draw.shortened(draw.kept(short)))
    if draw.begun.text:
        return draw.begun
    second = _second_best(draws, moment, fallback)
    if second is None:
        raise ReplyError(
            f"{moment.who} gave no turn at {run.at} in {tries} draws. Say it again, in other words if you like, or "
            f"give the role {role!r} a stronger model.",
            reply=text,
            at=f"{run.at}/{prompt}",
        )
    if second.action == fallback:
        run.note(f"No turn of {moment.who} could be used at {run.at}, so that {moment.who} {fallback}.")
    return second


def _usual(moment: Moment) -> str:
    """How a turn looks, for estimates: points of the plan come up one by one, and after the last it is over."""
    over = bool(moment.steps) and len(moment.lines) / 2 >= len(moment.steps) * EXCHANGES_A_POINT
    return f"[{moment.who}: {{{_WORDS}}}]" + ("\nEOD" if over else "")


def said_before(lines: Sequence[Line], who: str) -> tuple[Line, ...]:
    """What the next turn of `who` is not to repeat: the others' last words, then its own in this cell."""
    others = [line for line in lines if line.name != who]
    return (*others[-1:], *(line for line in lines if line.name == who))


def _lead(moment: Moment, attempt: int, begun: Said) -> str:
    """The first characters of a turn: what of it stands, else of an action, or, where that has gone wrong, of speech.

    The smallest models can speak, and cannot say what they do in parentheses.
    """
    if begun.message:
        return f"[{moment.who}: {begun.text}"
    if begun.action:
        return f'[{moment.who}: {begun.text} "'
    spoke = [line for line in moment.lines if line.name == moment.who and line.message]
    acts = not spoke or any(line.action for line in spoke)
    return f"[{moment.who}: (" if acts and not attempt else f'{moment.who}: "'


def _without_story(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a prompt, those that hold something of the story empty."""
    empty = {name: type(value)() for name, value in fields.items() if name in _OF_STORY}
    return {**fields, **empty, "lead": ""}


def _second_best(draws: Sequence[Said], moment: Moment, fallback: str) -> Said | None:
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
    return Said(fallback) if fallback else None


# a draw -------------------------------------------------------------------------------------------------------------


def bare(text: str) -> str:
    """The words of a text in small letters, separated by blanks, without marks."""
    return " ".join(_BARE.findall(_APOSTROPHE.sub("", text.casefold())))


@dataclass(frozen=True, slots=True)
class Draw:
    """How a draw of a turn is read, and how much of it can be kept; the same while it comes and when it is there.

    Attributes:
        name: whose turn it is.
        names: of all who talk.
        aids: the model is known to be small, so that also what repeats the prompt or itself is not usable.
        lead: what the model was given of the turn.
        before: what is not to be repeated (`said_before`).
        rules: the prompt without the story, which small models repeat.
        sentences: of the message at most; 0 keeps all.
        begun: what of the turn stands already, out of draws before.
    """

    name: str
    names: Sequence[str]
    aids: bool = False
    lead: str = ""
    before: Sequence[Line] = ()
    rules: str = ""
    sentences: int = 0
    begun: Said = field(default_factory=Said)

    def read(self, text: str) -> Said:
        """The turn in a whole reply, behind what of it stands."""
        said = read_said(as_turn(text, self.lead), self.name, self.names)
        return self._behind(said, led=bool(self.lead) and text.startswith(self.lead))

    def coming(self, text: str) -> Coming:
        """As `read`, of a reply that is still coming."""
        found = read_coming(as_turn(text, self.lead), self.name, self.names)
        led = bool(self.lead) and text.startswith(self.lead)
        if self.begun.text and not (led or found.whole) and self.begun.message.startswith(found.settled):
            return Coming(self.begun, self.begun.message, acted=True)  # it may be about to say again what stands
        settled = self._behind(replace(found.said, message=found.settled), led=led)
        return replace(found, said=self._behind(found.said, led=led), settled=settled.message)

    def _behind(self, said: Said, *, led: bool) -> Said:
        """A turn with what of it stands; a model that was `led` went on from there, others may say it again."""
        begun = self.begun
        if not begun.text:
            return said
        message = said.message
        if not message.startswith(begun.message):
            message = begun.message if led else f"{begun.message} {message}".strip()
        return replace(said, action=begun.action, message=message)

    def shortened(self, said: Said) -> Said:
        """The turn with no more sentences than it may have."""
        return replace(said, message=first_sentences(said.message, self.sentences)) if self.sentences else said

    def usable(self, said: Said) -> bool:
        """Whether a turn can be kept whole: it plays a part and says or does something.

        With aids it has to say something, and neither says nor does the same again.
        """
        if leaves_at(said.message) is not None or self._begins(said.message) == "refused":
            return False
        if not self.aids:
            return any(map(str.isalpha, said.text))
        return any(map(str.isalpha, said.message[:SURE])) and self._acts(said.action)

    def kept(self, said: Said, *, coming: bool = False) -> Said:
        """How a turn begins, as far as no check can refuse it; `coming`: its message goes on.

        What is kept of the beginning of a message is kept of all of it, so that it can be shown.
        """
        if not self._acts(said.action):
            return self.begun
        message = "" if self._begins(said.message, coming=coming) else said.message
        cut = leaves_at(message, coming=coming)
        if cut is not None:
            message = message[:cut] if message[:cut].endswith(" ") else message[:cut].rpartition(" ")[0]
            message = message.rstrip()
        if not any(map(str.isalpha, message)):
            message = ""
        if len(message) < len(self.begun.message):
            message = self.begun.message
        found = Said(said.action, message)
        return found if any(map(str.isalpha, found.text)) else Said()

    def _begins(self, message: str, *, coming: bool = False) -> str:
        """Whether a message begins as an earlier one or the rules of the prompt: "refused", "open", or "" for no.

        It is compared by its first words; marks and capitals do not count.
        """
        if not self.aids:
            return ""
        words = bare(message).split()
        if not any(map(str.isalpha, message[:SURE])):
            return "open" if coming and len(message) < SURE else "refused"
        found = [_again(words, line.message, last=line is self.before[-1], coming=coming) for line in self.before]
        found.append(_of_rules(message, self.rules, coming=coming))
        return "refused" if "refused" in found else "open" if "open" in found else ""

    def _acts(self, action: str) -> bool:
        """Whether an action is one, and, with aids, not the last one again."""
        words = bare(action).split()
        before = bare(self.before[-1].action) if self.before else ""
        if not action or action == self.begun.action or not self.aids:
            return True
        some = any(len(word) > 1 and word.isalpha() for word in words)
        return some and (len(words) <= _FEW or " ".join(words) != before)


def _again(words: Sequence[str], other: str, *, last: bool, coming: bool) -> str:
    """Whether a message is an earlier one again; a word or two may be said again, but not at once."""
    head: list[str] = []
    for word in words:
        head.append(word)
        if len(" ".join(head)) >= SURE:
            break
    earlier = bare(other).split()
    if not head or earlier[: len(head)] != head:
        return ""
    if len(" ".join(head)) >= SURE:
        return "refused"
    if coming:
        return "open"
    return "refused" if earlier == head and (last or len(head) > _FEW) else ""


def _of_rules(message: str, rules: str, *, coming: bool) -> str:
    """Whether a message begins with words of the prompt's rules."""
    if coming and may_repeat_rules(message, rules):
        return "open"
    return "refused" if repeats_rules(message, rules) else ""


@dataclass
class Hearing:
    """Shows a reply as it comes: whole pieces of what the turn will be, no marks and no foreign speaker's words.

    Nothing is shown that a refused draw would take back: what is shown has passed its checks (`Draw.kept`) and stands.

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
        coming = draw.coming(self._raw)
        said = replace(coming.said, message=coming.settled)
        if not coming.acted and not coming.settled:
            return  # what is done may go on
        self._show(draw.shortened(draw.kept(said, coming=not coming.whole)).text)

    def end(self, text: str) -> None:
        """The turn is `text`; what of it was not shown is shown now."""
        self._draw = None
        self._show(text)

    def _show(self, text: str) -> None:
        if len(text) > len(self._shown) and text.startswith(self._shown):
            self.show(text[len(self._shown) :])
            self._shown = text
