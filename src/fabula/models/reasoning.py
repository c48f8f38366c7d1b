"""Separates reasoning from the text of a reply, for complete replies and piece by piece.

Many servers put a model's reasoning into its own field. Others leave it in the text, between the marks that the model
was trained with. Some templates add the opening mark themselves, so that the reply has only the closing one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from fabula.models.base import Sampling


_MARKS: Final = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("[think]", "[/think]"))
_BLOCK: Final = re.compile(
    r"(?:\A|(?<=\n))[ \t]{0,8}(?:<(think|thinking)>(.*?)(?:</\1>|\Z)|\[THINK\](.*?)(?:\[/THINK\]|\Z))\s{0,9}",
    re.DOTALL | re.IGNORECASE,
)
_CLOSING: Final = re.compile(r"(?:</think(?:ing)?>|\[/THINK\])\s{0,9}", re.IGNORECASE)
ROOM: Final[Mapping[str, int]] = {"none": 0, "minimal": 2_048, "low": 4_096, "medium": 12_288, "high": 24_576}
"""The tokens that each level of reasoning effort adds to the limit of a reply, more than any provider reserves."""


def room_for_reasoning(sampling: Sampling, *, thinks: bool) -> int:
    """The tokens for reasoning in addition to those of the reply; 0 if a model does not think."""
    return ROOM[sampling.reasoning or ("medium" if thinks else "none")]


def apart(text: str) -> tuple[str, str]:
    """The text without its reasoning, and the reasoning; a block that is not closed extends to the end."""
    thoughts: list[str] = []

    def take(found: re.Match[str]) -> str:
        thoughts.append((found[2] or found[3] or "").strip())
        return ""

    said = _BLOCK.sub(take, text)
    if (closing := _CLOSING.search(said)) is not None:
        thoughts.insert(0, said[: closing.start()].strip())
        said = said[closing.end() :]
    return said, "\n\n".join(thought for thought in thoughts if thought)


class Apart:
    """Takes pieces of a reply as they arrive, and passes on those that are not reasoning at its beginning."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._begun = False

    def take(self, piece: str) -> str:
        """The text that can be passed on now."""
        if self._begun:
            return piece
        self._held += piece
        while self._held:
            if self._closing:
                end = self._held.lower().find(self._closing)
                if end < 0:
                    self._held = self._held[-len(self._closing) :]
                    return ""
                self._held, self._closing = self._held[end + len(self._closing) :], ""
            begun = self._held.lstrip().lower()
            opened = next((marks for marks in _MARKS if begun.startswith(marks[0])), None)
            if opened is None:
                if not begun or any(mark.startswith(begun) for mark, _ in _MARKS):
                    return ""
                self._begun = True
                return self.rest().lstrip()
            self._held, self._closing = self._held.lstrip()[len(opened[0]) :], opened[1]
        return ""

    def rest(self) -> str:
        """The text that was held back in case it was reasoning."""
        held, self._held = "" if self._closing else self._held, ""
        return held
