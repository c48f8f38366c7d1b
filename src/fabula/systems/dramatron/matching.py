"""Who is told to the writer of a scene: the characters that its beat names (the released code's rule, and ours)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.engine.dry_run import STALE
from fabula.engine.replies.labelled import holds_called, holds_word, role_in, words_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.systems.dramatron.records import Figure

Match: TypeAlias = Literal["substring", "words"]

_TITLES: Final = frozenset(
    (
        "a",
        "an",
        "and",
        "the",
        "of",
        "de",
        "von",
        "van",
        "mr",
        "mrs",
        "ms",
        "miss",
        "dr",
        "sir",
        "lady",
        "lord",
        "old",
        "young",
    )
)


def named(figures: Sequence[Figure], beat: str, match: Match) -> tuple[Figure, ...]:
    """The characters that `beat` names.

    "substring": those whose name stands in it, letter for letter, also inside another word. "words": those of whom a
    word of the name stands in it as a word, or who are called by what they are ("the captain").
    """
    if match == "substring":
        return tuple(figure for figure in figures if figure.name in beat)
    return tuple(figure for figure in figures if _named(figure, beat))


def matched(figures: Sequence[Figure], beat: str, match: Match) -> tuple[Figure, ...]:
    """As `named`; where the beat names nobody, "words" gives all."""
    found = named(figures, beat, match)
    return found or (tuple(figures) if match == "words" else ())


def _named(figure: Figure, beat: str) -> bool:
    words = [word for word in words_in(figure.name) if word.casefold() not in _TITLES]
    if any(holds_word(beat, word) for word in words):
        return True
    role = role_in(figure.description.replace(STALE, ""), figure.name)
    called = [*(words if len(words) > 1 else ()), *([role] if role else ())]
    return any(holds_called(beat, word) for word in called)
