"""A finished story as numbered paragraphs, read in windows that fit a prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line
from fabula.story.sentences import paragraphs, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fabula.story import Story

_LONG_WORDS: Final = 250  # a paragraph with more words and with line ends in it: a text that parts them by line ends
_LEAST_PART: Final = 4  # a paragraph takes no more than this part of a window


@dataclass(frozen=True, slots=True)
class Stretch:
    """Neighbouring paragraphs; `first` is the number of the first, counted from 1 through the whole story."""

    first: int
    paragraphs: tuple[str, ...]

    @property
    def last(self) -> int:
        """The number of the last paragraph."""
        return self.first + len(self.paragraphs) - 1

    @property
    def words(self) -> int:
        """How many words they have."""
        return sum(count_words(paragraph) for paragraph in self.paragraphs)

    @property
    def numbered(self) -> str:
        """The paragraphs, each behind its number in brackets."""
        return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(self.paragraphs, self.first))

    def assignment(self, first: int, last: int) -> Stretch:
        """The paragraphs `first` to `last` of these."""
        return Stretch(first, self.paragraphs[first - self.first : last - self.first + 1])

    def windows(self, tokens: int) -> tuple[Stretch, ...]:
        """The same paragraphs, cut into stretches of at most about `tokens` tokens, each paragraph in one of them."""
        found: list[Stretch] = []
        held: list[str] = []
        first, used = self.first, 0
        for text in self.paragraphs:
            size = _size(text)
            if held and used + size > tokens:
                found.append(Stretch(first, tuple(held)))
                first, held, used = first + len(held), [], 0
            held.append(text)
            used += size
        return (*found, Stretch(first, tuple(held)))


def read_story(story: Story, tokens: int) -> tuple[Stretch, dict[int, str]]:
    """All paragraphs of a story, and the scenes that its manuscript marks: their first paragraphs and their labels.

    A paragraph that would fill more than a fourth of a window of `tokens` tokens is cut at the ends of sentences, so
    that every prompt is bounded. No word is lost or doubled. One scene alone is no division, and not marked.
    """
    most = max(tokens // _LEAST_PART, 1)
    found: list[str] = []
    marks: dict[int, str] = {}
    for scene in story.scenes:
        if pieces := [piece for text in _paragraphs(scene.text) for piece in _pieces(text, most)]:
            marks[len(found) + 1] = scene.label
            found += pieces
    return Stretch(1, tuple(found)), marks if len(marks) > 1 else {}


def _size(text: str) -> int:
    return estimate_tokens(text) + 4  # its number, and the blank line behind it


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in paragraphs(text):
        lines = paragraph.split("\n") if count_words(paragraph) > _LONG_WORDS else [paragraph]
        yield from (line for part in lines if (line := one_line(part)))


def _pieces(text: str, most: int) -> list[str]:
    """`text`, in pieces of at most about `most` tokens, cut between sentences, or words where a sentence is longer."""
    if estimate_tokens(text) <= most:
        return [text]
    parts = sentences(text)
    if len(parts) > 1:
        return [piece for group in _groups(parts, most) for piece in _pieces(group, most)]
    return list(_groups(text.split(), most))


def _groups(parts: Iterable[str], most: int) -> list[str]:
    """Neighbouring `parts`, joined as long as they have about `most` tokens together."""
    held: list[list[str]] = [[]]
    used = 0
    for part in parts:
        size = estimate_tokens(part + " ")
        if held[-1] and used + size > most:
            held.append([])
            used = 0
        held[-1].append(part)
        used += size
    return [" ".join(group) for group in held if group]


def partition(borders: Sequence[tuple[int, str]], story: Stretch) -> list[tuple[int, str]]:
    """`borders` (first paragraph, name of the scene) mended so that scenes part the whole story.

    Numbers outside the story are moved in, they increase, each stands once (its first name counts), and the first is 1.
    """
    inside = sorted(((min(max(at, 1), story.last), name) for at, name in borders), key=lambda border: border[0])
    once: dict[int, str] = {}
    for at, name in inside:
        once.setdefault(at, name)
    found = list(once.items())
    return [(1, found[0][1]), *found[1:]] if found else [(1, "")]
