"""The digressions of dialogues: what was said before each, and what the characters said after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fabula.base.errors import UsageError
from fabula.craft.digressions import MARK, digressions_in, utterances_of
from fabula.craft.raters import source_of
from fabula.evaluators.linearity.ground import Ground, Passage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.digressions import Utterance
    from fabula.measure.items import Item


@dataclass(frozen=True, slots=True)
class Digression:
    """The player leaves the story.

    Attributes:
        item: the dialogue.
        number: in the dialogue, from 1.
        said: the player's words, with their kind.
        before: the two turns before it.
        window: what is said from then on, to the last turn that counts: `within` turns of characters at most, and
            none after the next digression.
        turns: indices in `window` of the characters' turns.
        cut: the dialogue or the window ended before `within` turns of characters.
        passage: of the narrative, where the dialogue was.
    """

    item: Item
    number: int
    said: Utterance
    before: tuple[Utterance, ...]
    window: tuple[Utterance, ...]
    turns: tuple[int, ...]
    cut: bool
    passage: Passage

    @property
    def key(self) -> tuple[str, int]:
        """The dialogue's id and the digression's number."""
        return self.item.id, self.number

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody who speaks in it."""
        return tuple(dict.fromkeys(one.who for one in (*self.before, self.said, *self.window)))

    @property
    def answers(self) -> tuple[Utterance, ...]:
        """The characters' turns in the window."""
        return tuple(self.window[turn] for turn in self.turns)


def digressions_of(item: Item, within: int, reach: int) -> tuple[Digression, ...]:
    """The digressions of a dialogue, in order; none where nothing is marked.

    Raises:
        UsageError: it comes without its narrative, or a mark stands in a wrong place.
    """
    lines = utterances_of(item.story.text, f"dialogue {item.id}")
    starts = digressions_in(lines)
    ground = Ground.of(source_of(item))
    found: list[Digression] = []
    for number, start in enumerate(starts, 1):
        end = starts[number] if number < len(starts) else len(lines)
        found.append(_digression(item, number, lines, (start, end), within, ground.around(_told(lines, start), reach)))
    return tuple(found)


def _told(lines: Sequence[Utterance], start: int) -> list[str]:
    """What the characters said before, the latest last."""
    player = lines[start].who
    return [line.text for line in lines[:start] if line.who != player]


def _digression(
    item: Item, number: int, lines: Sequence[Utterance], part: tuple[int, int], within: int, passage: Passage
) -> Digression:
    start, end = part
    said = lines[start]
    turns = [at for at in range(start + 1, end) if lines[at].who != said.who][:within]
    last = turns[-1] if turns else start
    return Digression(
        item,
        number,
        said,
        tuple(lines[max(start - 2, 0) : start]),
        tuple(lines[start + 1 : last + 1]),
        tuple(at - start - 1 for at in turns),
        len(turns) < within,
        passage,
    )


def check_marked(items: Sequence[Item], found: Sequence[Digression]) -> None:
    """See that there is something to measure.

    Raises:
        UsageError: nobody leaves the story in any dialogue.
    """
    if not found:
        raise UsageError(
            f"In none of the {len(items)} dialogues is a digression marked. Let a simulated player leave the story "
            f"with `fabula digress`, or mark turns yourself: `Jonas {MARK}: words`."
        )
