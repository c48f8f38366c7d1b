"""A story in pieces of about the same size, whatever its scenes are: what one call of the hybrid reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.models.budget import estimate_tokens
from fabula.story.sentences import paragraph_spans, spans

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fabula.continuity import NumberedScene

MOST: Final = 3300  # tokens of a piece: with the instructions and what is known, a prompt stays below 6,000
_ENOUGH: Final = 0.85  # a piece that is as full as that ends with its scene
_LETTERS: Final = 2  # characters that are surely no more than a token


@dataclass(frozen=True, slots=True)
class Part:
    """The characters of one scene from `start` to `end`."""

    scene: NumberedScene
    start: int
    end: int

    @property
    def text(self) -> str:
        """Its words."""
        return self.scene.text[self.start : self.end].strip("\n")

    @property
    def title(self) -> str:
        """What is said above it: the scene, and whether it goes on from before."""
        more = " (goes on)" if self.start else ""
        told = f": {self.scene.title}" if self.scene.title else ""
        return f"[Scene {self.scene.number}{told}]{more}"


@dataclass(frozen=True, slots=True)
class Piece:
    """What is read in one call: parts of scenes in a row; `number` counts from 1."""

    number: int
    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The parts, each below its scene's number and title."""
        return "\n\n".join(f"{part.title}\n{part.text}" for part in self.parts)

    @property
    def scenes(self) -> tuple[int, ...]:
        """The numbers of its scenes."""
        return tuple(part.scene.number for part in self.parts)


def pieces_of(scenes: Sequence[NumberedScene], most: int = MOST) -> tuple[Piece, ...]:
    """The story in pieces of at most about `most` tokens.

    A piece ends with a scene where it is full enough by then; else the next scene is begun in it and cut at the end of
    a paragraph, so that a story of many short scenes does not need a call for each.
    """
    found: list[Piece] = []
    parts: list[Part] = []
    room = most
    for scene in scenes:
        at = 0
        for start, end in _blocks(scene.text, most):
            size = estimate_tokens(scene.text[start:end])
            if size > room and (parts or start > at):
                parts += [Part(scene, at, start)] if start > at else []
                found.append(Piece(len(found) + 1, tuple(parts)))
                parts, room, at = [], most, start
            room -= size
        parts.append(Part(scene, at, len(scene.text)))
        if room <= most * (1 - _ENOUGH):
            found.append(Piece(len(found) + 1, tuple(parts)))
            parts, room = [], most
    return (*found, Piece(len(found) + 1, tuple(parts))) if parts else tuple(found)


def _blocks(text: str, most: int) -> Iterator[tuple[int, int]]:
    """The paragraphs of a text; the sentences of one that is too long, and stretches of a sentence that is."""
    for start, end in paragraph_spans(text):
        if estimate_tokens(text[start:end]) <= most:
            yield start, end
            continue
        for a, b in spans(text[start:end]):
            step = most * _LETTERS if estimate_tokens(text[start + a : start + b]) > most else b - a
            yield from ((at, min(at + step, start + b)) for at in range(start + a, start + b, step))
