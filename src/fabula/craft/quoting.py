"""Whether a quotation stands in a text, when both may differ in blanks, quotation marks, dashes and capitals."""

# ruff: noqa: RUF001 - quotation marks of all kinds count as one

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fabula.story import count_words

_ALIKE: Final = str.maketrans(
    dict.fromkeys('\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a\u00ab\u00bb"`\u00b4', "'")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | {"\u2026": "...", "\u00ad": "", "\ufeff": "", "\u200b": "", "*": "", "_": ""}
)
# One sign for one sign, so that places stay where they are.
_SAME_LENGTH: Final = str.maketrans("’‘‛´`“”„‟‐‑–—\u00a0", "'''''\"\"\"\"---- ")
_EDGES: Final = " '.,;:!?-"
_LEFT_OUT: Final = "..."


def normalised(text: str) -> str:
    """`text` as quotations are compared: one kind of quotation mark and dash, single blanks, no case, no emphasis."""
    return " ".join(text.translate(_ALIKE).split()).casefold()


def same_length(text: str) -> str:
    """`text` with one kind of quotation mark, dash and blank; every character stays where it is."""
    return text.translate(_SAME_LENGTH)


def places(text: str, piece: str) -> list[int]:
    """Where a piece of a text begins, each time that it stands there; nowhere if it is empty."""
    found: list[int] = []
    at = text.find(piece) if piece else -1
    while at >= 0:
        found.append(at)
        at = text.find(piece, at + 1)
    return found


def located(text: str, quote: str) -> list[tuple[int, int]]:
    """Where a quotation stands, letter by letter; kinds of quotation marks, dashes and blanks do not count."""
    quote = same_length(quote).strip()
    return [(at, at + len(quote)) for at in places(same_length(text), quote)]


def quoted_parts(quote: str) -> list[str]:
    """What stands between the marks for words that are left out (... or [...]), normalised."""
    return normalised(quote).replace("[...]", _LEFT_OUT).replace("(...)", _LEFT_OUT).split(_LEFT_OUT)


@dataclass(frozen=True)
class Quotable:
    """A text in which quotations are looked for."""

    text: str

    @classmethod
    def of(cls, text: str) -> Quotable:
        """Ready for `has`."""
        return cls(normalised(text))

    def has(self, quote: str) -> bool:
        """Whether the words of `quote` stand there in a row; where it leaves words out (...), its parts in their order.

        Punctuation at the ends of a part does not count. A quotation without a word stands nowhere.
        """
        at = 0
        parts = [part for piece in quoted_parts(quote) if (part := piece.strip(_EDGES)) and count_words(part)]
        for part in parts:
            found = self._word(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return bool(parts)

    def _word(self, part: str, at: int) -> int:
        """Where `part` stands from `at` on, not within a longer word; -1 if nowhere."""
        while (found := self.text.find(part, at)) >= 0:
            end = found + len(part)
            before, after = self.text[found - 1 : found], self.text[end : end + 1]
            if not ((before.isalnum() and part[0].isalnum()) or (after.isalnum() and part[-1].isalnum())):
                return found
            at = found + 1
        return -1
