"""A reply heard as it comes: out go whole pieces of what the turn will be, no marks and no foreign speaker's words.

Nothing is shown before it is clear that the draw is kept (`starts_well`), so that nothing need be taken back: not
before 48 letters of the message are there, or all of it. The action has to wait with it, since a draw is refused for
its message, and the next one has another action.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.events import TextArrived
from fabula.replies.dialogue import first_sentences, read_coming
from fabula.replies.turns import leaves_part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fabula.events import Event

SURE: Final = 24  # letters of a message by which it is judged


def starts_well(message: str, told: Sequence[str]) -> bool:
    """Whether a message can be kept, judged by its first 24 letters: it plays, and it does not begin as one before."""
    begin = message[:SURE].casefold()
    return (
        bool(begin.strip())
        and not leaves_part(message[: 2 * SURE])
        and all(len(begin) < SURE or not other.casefold().startswith(begin) for other in told)
    )


@dataclass
class Hearing:
    """Listens to the draws of one turn.

    Attributes:
        name: whose turn it is.
        others: the other speakers.
        told: what `name` said before.
        show: gets the pieces; together they are `(action) message`.
    """

    name: str
    others: Sequence[str]
    told: Sequence[str]
    show: Callable[[str], None]
    _raw: str = ""
    _shown: str = ""
    _open: bool = False
    _sentences: int = 0

    def begin(self, lead: str = "", sentences: int = 0) -> None:
        """A draw begins; `lead` is what the model was given of it, and `sentences` bounds its message (0: not)."""
        self._raw, self._open, self._sentences = lead, True, sentences

    def hear(self, event: Event) -> None:
        """A listener of the run."""
        if not self._open or not isinstance(event, TextArrived):
            return
        self._raw += event.text
        coming = read_coming(self._raw, self.name, self.others)
        message, settled = coming.said.message, coming.settled
        judged = coming.whole or len(message) >= 2 * SURE
        if not (judged and settled and starts_well(message, self.told)):
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
