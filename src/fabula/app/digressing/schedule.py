"""Which turn of a conversation does what, by seed, narrative and number of the conversation, alike for all systems."""

from __future__ import annotations

import random
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.app.digressing.kinds import KINDS, WORDS
from fabula.base.errors import UsageError
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Purpose: TypeAlias = Literal["open", "story", "digression", "after"]
_MOST: Final = 200  # letters of a sentence that is denied
# What moves a conversation on without leading it anywhere, so that it is the character who tells the story.
_STORY: Final = (
    "Go on.",
    "And what happens now?",
    "I am listening.",
    "What do we do next?",
    "Tell me more about it.",
    "What is it that you see?",
)
_AFTER: Final = ("Hm.", "I see.", "Well.", "All right.", "If you say so.")


@dataclass(frozen=True, slots=True)
class Slot:
    """A turn of the player's.

    Attributes:
        purpose: "open": the character speaks first; "story": the player goes along; "digression"; "after": the player
            neither goes back to the story nor on with the digression.
        kind: of digression, also in the turns after it that go on with it.
        says: what a scripted player says; empty where the character speaks first.
        word: that a digression demands to hear.
    """

    purpose: Purpose
    says: str = ""
    kind: str = ""
    word: str = ""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How conversations go.

    Attributes:
        kinds: of digressions; each conversation has each of them `rounds` times, in an order of its own.
        rounds: see above.
        lead: turns of the player's before each digression that go along with the story.
        within: turns of the characters that count after each digression.
        seed: of orders and words.
    """

    kinds: tuple[str, ...] = tuple(KINDS)
    rounds: int = 1
    lead: int = 2
    within: int = 3
    seed: int = 1

    def check(self) -> None:
        """See that a conversation can be made of it.

        Raises:
            UsageError: a number is too small.
        """
        for name, least in (("rounds", 1), ("lead", 1), ("within", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"{name} = {getattr(self, name)} is too few. Give {least} or more.")

    @property
    def digressions(self) -> int:
        """Of one conversation."""
        return len(self.kinds) * self.rounds

    @property
    def turns(self) -> int:
        """Of one conversation at most."""
        return 1 + self.digressions * (self.lead + self.within)

    def slots(self, narrative: str, number: int) -> tuple[Slot, ...]:
        """The turns of the `number`th conversation on a narrative."""
        digest = sha256(f"{self.seed}\0{number}\0{narrative}".encode("utf-8", "replace")).hexdigest()
        rng = random.Random(int(digest[:16], 16))  # noqa: S311 - conversations, not secrets
        return tuple(self._slots(rng, _deniable(narrative)))

    def _slots(self, rng: random.Random, told: Sequence[str]) -> Iterator[Slot]:
        yield Slot("open")
        lines = {kind: rng.sample(KINDS[kind].lines, len(KINDS[kind].lines)) for kind in self.kinds}
        words = rng.sample(WORDS, len(WORDS))
        order = [kind for _ in range(self.rounds) for kind in rng.sample(self.kinds, len(self.kinds))]
        for number, kind in enumerate(order):
            for _ in range(self.lead):
                yield Slot("story", rng.choice(_STORY))
            line = lines[kind][order[:number].count(kind) % len(lines[kind])]
            # Something that is likely to have been told by then; nobody is asked, so that all systems hear the same.
            sentence = told[number * len(told) // len(order)]
            word = words[number % len(words)] if KINDS[kind].demands else ""
            says = line.format(word=word, sentence=sentence)
            yield Slot("digression", says, kind, word)
            for _ in range(self.within - 1):
                yield Slot("after", says, kind) if KINDS[kind].lasts else Slot("after", rng.choice(_AFTER))


def _deniable(narrative: str) -> list[str]:
    """The sentences of a narrative that can be denied: short ones, without quotation marks of their own."""
    told = sentences(" ".join(narrative.split()))
    return [one for one in told if len(one) <= _MOST and '"' not in one and "\u201c" not in one] or [narrative[:_MOST]]
