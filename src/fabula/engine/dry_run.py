"""What a dry run finds, and what stands in it where no reply was ever recorded: texts of the expected size.

How it finds what a run would ask again is in `fabula.engine.staleness`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import shake_128
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fabula.models.base import Json

_SENTENCE: Final = 12
_LETTERS: Final = 4  # of a word, beside the first one
_FEW, _MANY, _PER_WORD = 8, 120, 14  # words of a text in a typed reply; half of what its bound allows


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call that a real run would pay for; tokens are estimates, `cost` in US dollars or `None` if unknown.

    `aids` says whether it is made with the help for small models.
    """

    path: str
    role: str
    performer: str
    prompt: int
    reply: int
    cost: float | None
    aids: bool = False


@dataclass(slots=True)
class DryRun:
    """What a dry run has found.

    Attributes:
        planned: the calls that would be asked.
        replayed: how many are answered by the journal.
        reached: paths of all artefacts that are of use to a run, or would be if they were there.
        made_up: whether a typed reply was, so that what it would name is not known.
        stale: paths of the artefacts that would be made, or made again.
        shortfalls: what the author asks for and will not get, in sentences.
        of_files: what the author should know of the files, in sentences.
    """

    planned: list[PlannedCall] = field(default_factory=list)
    replayed: int = 0
    reached: set[str] = field(default_factory=set)
    made_up: bool = False
    stale: list[str] = field(default_factory=list)
    shortfalls: list[str] = field(default_factory=list)
    of_files: list[str] = field(default_factory=list)

    @property
    def cost(self) -> float | None:
        """US dollars of all planned calls, or `None` if one price is unknown."""
        costs = [call.cost for call in self.planned]
        return None if None in costs else sum(c for c in costs if c is not None)

    @property
    def tokens(self) -> int:
        """Prompt and reply tokens of all planned calls."""
        return sum(call.prompt + call.reply for call in self.planned)


def placeholder(words: int, path: str) -> str:
    """Text of `words` words whose sentences all differ, also between paths, so that no check cuts it.

    Its words are as long as English ones, since later prompts, whose tokens are estimated, hold it.
    """
    drawn = shake_128(path.encode()).digest(_LETTERS * max(words, 1))
    letters = "".join(chr(ord("a") + byte % 26) for byte in drawn)
    words_made = ["w" + letters[at : at + _LETTERS] for at in range(0, len(letters), _LETTERS)]
    lines = [" ".join(words_made[i : i + _SENTENCE]).capitalize() + "." for i in range(0, len(words_made), _SENTENCE)]
    return " ".join(lines)


def example(schema: Json, path: str = "", nth: int = 0) -> Any:  # noqa: ANN401 - JSON data of any shape
    """A smallest sensible value of a JSON schema (references inlined), for typed replies that were never asked.

    The `nth` entry of an array takes the `nth` option of what it may choose from, so that all are named.
    """
    if "const" in schema:
        return schema["const"]
    if options := schema.get("enum"):
        return options[nth % len(options)]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return example(schema[several][0], path, nth)
    kind = schema.get("type", "string")
    if kind == "object":
        return {name: example(part, f"{path}/{name}", nth) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        items = schema.get("items", {"type": "string"})
        return [example(items, f"{path}/{n}", n) for n in range(max(schema.get("minItems", 1), 1))]
    plain = {"integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": False, "null": None}
    return plain.get(kind, placeholder(_words(schema), path))


def _words(schema: Json) -> int:
    """How long a text may well be for which a schema allows so many characters."""
    return min(max(int(schema.get("maxLength", 0)) // _PER_WORD, _FEW), _MANY)
