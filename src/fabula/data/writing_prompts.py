"""WritingPrompts: prompts and stories from Reddit, in tokens (Fan et al. 2018)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from fabula.base.errors import UnknownNameError, UsageError
from fabula.data.archives import lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Split: TypeAlias = Literal["train", "valid", "test"]
_MAX_BYTES: Final = 4_000_000_000
_ARCHIVE: Final = "writingPrompts.tar.gz"
_NEW_LINE: Final = re.compile(r"(?:(?<!\s)\s++)?+<newline>\s*+")
_TAG: Final = re.compile(r"\[\s*(\w+)\s*\]\s*")


@dataclass(frozen=True, slots=True)
class PromptedStory:
    """A prompt and one story for it; several stories may have one prompt.

    Attributes:
        number: of the line, from 1.
        tag: the kind of prompt, as "WP"; empty where there is none.
        prompt: in tokens, as published, without its tag.
        story: in tokens, as published, with line ends where it has `<newline>`.
    """

    number: int
    tag: str
    prompt: str
    story: str


def stories(path: Path, split: Split) -> Iterator[PromptedStory]:
    """The prompts and stories of a split, from the archive or a folder of its files; one at a time.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: a file is absent, damaged or too large, or there are not as many prompts as stories.
    """
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    path = path / _ARCHIVE if (path / _ARCHIVE).is_file() else path
    targets = lines(path, f"{split}.wp_target", _MAX_BYTES)
    for number, prompt in lines(path, f"{split}.wp_source", _MAX_BYTES):
        story = next(targets, None)
        if story is None:
            raise UsageError(f"{path}: the prompt in line {number} of {split}.wp_source has no story. Fetch it again.")
        tag = _TAG.match(prompt)
        asked = prompt[tag.end() :] if tag else prompt
        yield PromptedStory(number, tag[1] if tag else "", asked.strip(), _NEW_LINE.sub("\n", story[1]).strip())
    if next(targets, None) is not None:
        raise UsageError(f"{path}: {split}.wp_target has more stories than there are prompts. Fetch it again.")
