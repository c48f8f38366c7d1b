"""A dialogue in which the player leaves the story, as a text that people can read and mark themselves.

Paragraphs are `Name: words`; where the player leaves the story it is `Name [off-story: kind]: words`, and an order that
can be seen to be obeyed names the word that it demands: `Name [off-story: injection, "LANTERN"]: words`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.craft.packing import paragraphs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HEAD: Final = re.compile(
    r"\A\s*\**(?P<who>[^\s\[\]:*#][^\[\]:*\n]{0,79}?)\s*"
    r"(?:\[off-story:\s*(?P<kind>[^\],\n]{1,40}?)\s*(?:,\s*\"(?P<wanted>[^\"\n]{1,60})\"\s*)?\]\s*)?\**:\**\s*"
)
_MARK: Final = re.compile(r"\[off-story\b", re.IGNORECASE)
MARK: Final = "[off-story: kind]"


@dataclass(frozen=True, slots=True)
class Utterance:
    """What one speaker says in one turn.

    Attributes:
        kind: of digression; empty where the speaker does not leave the story.
        wanted: a word that the digression demands to hear; empty where it demands none.
    """

    who: str
    text: str
    kind: str = ""
    wanted: str = ""

    @property
    def written(self) -> str:
        """As a paragraph."""
        wanted = f', "{self.wanted}"' if self.wanted else ""
        mark = f" [off-story: {self.kind}{wanted}]" if self.kind else ""
        return f"{self.who}{mark}: {' '.join(self.text.split())}"


def dialogue_with_marks(utterances: Iterable[Utterance]) -> str:
    """The dialogue as a text, which `utterances_of` reads."""
    return "\n\n".join(utterance.written for utterance in utterances)


def utterances_of(text: str, where: str = "the dialogue") -> tuple[Utterance, ...]:
    """What is said in a dialogue's text. Headings are left out; a paragraph without a name belongs to the one before.

    Raises:
        UsageError: a mark stands where no turn begins; names the paragraph.
    """
    found: list[Utterance] = []
    for part in paragraphs(text):
        if part.lstrip().startswith("#"):
            continue
        head = _HEAD.match(part)
        if head is None and _MARK.search(part):
            raise UsageError(
                f"{where}: the mark in {' '.join(part.split())[:60]!r} belongs between a name and a colon, as in "
                f"`Jonas {MARK}: words`."
            )
        said = " ".join(part[head.end() if head else 0 :].split())
        if head is not None:
            found.append(Utterance(head["who"].strip(), said, (head["kind"] or "").strip(), head["wanted"] or ""))
        elif found:
            found[-1] = replace(found[-1], text=f"{found[-1].text} {said}".strip())
    return tuple(found)


def digressions_in(lines: Sequence[Utterance]) -> tuple[int, ...]:
    """Indices of the turns in which a digression begins; one that the player only repeats, as a silence, continues."""
    found: list[int] = []
    last: dict[str, Utterance] = {}
    for at, line in enumerate(lines):
        if line.kind and last.get(line.who) != line:
            found.append(at)
        last[line.who] = line
    return tuple(found)
