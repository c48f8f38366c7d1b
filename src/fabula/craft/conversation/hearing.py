"""A reply heard as it comes: out go whole pieces of what the turn will be, no marks and no foreign speaker's words.

Nothing is shown before it is clear that the draw is kept (`starts_well`), so that nothing need be taken back: not
before 48 letters of the message are there, or all of it. The action has to wait with it, since a draw is refused for
its message, and the next one has another action.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.engine.events import TextArrived
from fabula.engine.replies.dialogue import as_turn, first_sentences, read_coming, repeats
from fabula.engine.replies.turns import leaves_part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.craft.conversation.talk import Line
    from fabula.engine.events import Event
    from fabula.engine.replies.dialogue import Said

SURE: Final = 24  # letters of a message by which it is judged
_FEW: Final = 2  # words that anybody may say twice


def starts_well(said: Said, told: Sequence[Line], rules: str = "") -> bool:
    """Whether a turn can be kept: it plays a part, says something, and neither says nor does the same again.

    It is judged by its action and the first 24 letters of its message, a short one by all of it.

    Args:
        said: the turn.
        told: see `said_before`.
        rules: the prompt without the story, which small models repeat.
    """
    begin = said.message[:SURE].casefold()
    return (
        any(map(str.isalpha, begin))
        and not leaves_part(said.message[: 2 * SURE])
        and not repeats(said.message, rules)
        and not any(_again(begin, line.message.casefold(), last=line is told[-1]) for line in told)
        and _acts(said.action, told[-1].action if told else "")
    )


def said_before(lines: Sequence[Line], who: str) -> tuple[Line, ...]:
    """What the next turn of `who` is not to repeat: the others' last words, then its own in this cell."""
    others = [line for line in lines if line.who != who]
    return (*others[-1:], *(line for line in lines if line.who == who))


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
    """Listens to the draws of one turn.

    Attributes:
        name: whose turn it is.
        others: the other speakers.
        told: what is not to be repeated, see `said_before`.
        show: gets the pieces; together they are `(action) message`.
    """

    name: str
    others: Sequence[str]
    told: Sequence[Line]
    show: Callable[[str], None]
    _raw: str = ""
    _shown: str = ""
    _open: bool = False
    _lead: str = ""
    _sentences: int = 0
    _rules: str = ""

    def begin(self, lead: str = "", sentences: int = 0, rules: str = "") -> None:
        """A draw begins.

        Args:
            lead: what the model was given of it.
            sentences: bound its message; 0 does not.
            rules: see `starts_well`.
        """
        self._raw, self._open = lead, True
        self._lead, self._sentences, self._rules = lead, sentences, rules

    def hear(self, event: Event) -> None:
        """A listener of the run."""
        if not self._open or not isinstance(event, TextArrived):
            return
        self._raw += event.text
        coming = read_coming(as_turn(self._raw, self._lead), self.name, self.others)
        settled = coming.settled
        judged = coming.whole or len(coming.said.message) >= 2 * SURE
        if not (judged and settled and starts_well(coming.said, self.told)) or repeats(settled, self._rules):
            return
        if self._sentences:
            settled = first_sentences(settled, self._sentences)
        self._tell(replace(coming.said, message=settled).text)

    def end(self, text: str) -> None:
        """The turn is `text`; what of it was not shown is shown now."""
        self._open = False
        self._tell(text)

    def _tell(self, text: str) -> None:
        if len(text) > len(self._shown) and text.startswith(self._shown):
            self.show(text[len(self._shown) :])
            self._shown = text
