"""Whether a turn is about the story, judged without a model by words that it shares with the narrative.

A turn is about the story if at least two of its words, and a third of them, are in the passage. Names, the commonest
words and the words of the digression itself do not count. This works for English only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from fabula.base.remembering import remembered
from fabula.craft.memory import tf_idf
from fabula.craft.packing import words
from fabula.craft.stems import stem
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEAST: Final = 2
SHARE: Final = 1 / 3
_LAST: Final = 2  # turns by which it is judged where a dialogue is
_LIKE: Final = 0.1
# What is said in any conversation, about anything.
_COMMON: Final = frozenset(
    (  # noqa: SIM905 - two hundred words read better as a text
        "a an the and or but if of to in on at for with by from as into onto over under up down out off about after "
        "again against all also always am any anything are away back be because been before being both can cannot come "
        "comes could did do does doing done each else ever every everything few first get gets give go goes going good "
        "got had has have having he hear her here hers herself him himself his how i is it its itself just keep know "
        "knows last let like listen little long look looks made make makes many may maybe me mean might more most much "
        "must my myself need never next no nobody not nothing now of oh okay old on once one only other our ours own "
        "people perhaps please put really right s said same say saying says see seen shall she should so some somebody "
        "someone something sorry still such sure take tell than thank thanks that their them then there these they "
        "thing things think this those thought time to today told too until upon us use used very want was way we well "
        "went were what when where which while who whom whose why will wish with within without word words would yes "
        "yet you your yours yourself yourselves t d ll m re ve don didn doesn isn aren wasn weren won wouldn couldn "
        "shouldn haven hasn hadn can't asks ask asked answer answers answered speak speaks spoke talk talks talking "
        "story world real question questions remember smile smiles smiling nod nods nodding sigh sighs sighing shrug "
        "shrugs shrugging pause pauses stop stops wait waits turn turns turning hand hands eye eyes head face voice"
    ).split()
)


@remembered(4096, 1000)
def content(text: str) -> frozenset[str]:
    """The stems of a text's words, without the commonest words."""
    return frozenset(stem(word) for word in words(text) if word not in _COMMON and not word.isdigit())


@dataclass(frozen=True, slots=True)
class NarrativePassage:
    """The sentences of a narrative around the place that a dialogue has reached.

    Attributes:
        sentences: of the passage.
        place: index of its sentence that the dialogue has reached.
        start: index of its first sentence in the narrative.
    """

    sentences: tuple[str, ...]
    place: int
    start: int

    @property
    def text(self) -> str:
        """The passage."""
        return " ".join(self.sentences)

    def holds(self, turn: str, digression: str, names: Iterable[str]) -> bool:
        """Whether a turn is about the story, judged by its words."""
        strange = content(digression) | {stem(part) for name in names for part in words(name)}
        own = content(turn) - strange
        shared = own & content(self.text)
        return len(shared) >= LEAST and len(shared) >= SHARE * len(own)

    def coming(self, number: int) -> str:
        """The `number`th sentence after the place, from 1, starting over at the end of the passage."""
        return self.sentences[(self.place + number) % len(self.sentences)]


@dataclass(frozen=True, slots=True)
class Narrative:
    """A narrative in sentences."""

    sentences: tuple[str, ...]

    @classmethod
    def of(cls, narrative: str) -> Narrative:
        """The sentences of a text."""
        text = " ".join(narrative.split())
        return cls(tuple(sentences(text)) or (text,))

    def around(self, turns: Sequence[str], reach: int) -> NarrativePassage:
        """The passage of about `reach` sentences around the place that the last turns have reached."""
        place = self._place(turns)
        start = max(min(place - reach // 2, len(self.sentences) - reach), 0)
        return NarrativePassage(self.sentences[start : start + reach], place - start, start)

    def _place(self, turns: Sequence[str]) -> int:
        """The sentence most like the last turns, or the first sentence if none is like them."""
        for end in range(len(turns), 0, -1):
            like = tf_idf(" ".join(turns[max(end - _LAST, 0) : end]), self.sentences)
            if like.max() >= _LIKE:
                return int(np.argmax(like))
        return 0
