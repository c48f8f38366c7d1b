"""The three levels at which editors read (MAGNET, section 3.4), their categories, and seeded passages of each.

Passages of different stories are drawn at the same fractions of each story, so that an opening meets an opening.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from fabula.base.errors import UsageError
from fabula.continuity.scenes import scenes_of
from fabula.story import Story, count_words
from fabula.story.sentences import sentences

Level: TypeAlias = Literal["story", "chapter", "sentence"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)
# Names from the paper (section 3.4, tables 15 to 20); what they mean, in our words, since it prints no prompt.
CATEGORIES: Final[Mapping[Level, Mapping[str, str]]] = {
    "story": {
        "logical consistency": "events follow from each other; facts, times, places and motives agree throughout",
        "thematic coherence": "what the story is about is set up, carried through its scenes, and arrives somewhere",
        "character arc completion": "the main characters want something, are changed or fail to change, and end there",
    },
    "chapter": {
        "goal-conflict-outcome": "somebody wants something here, something stands against it, and it turns out one way",
        "hook and close": "the opening draws the reader in; the close leaves a question, a turn or a resting place",
        "chapter necessity": "without this chapter the story would lack an event, a change or a discovery",
    },
    "sentence": {
        "rhythm": "length, stress and pauses fit what happens, and read aloud well",
        "clarity": "one reading is enough to know who does what; no word is in the way",
        "syntax variety": "the construction is chosen for its place, and is not the easiest pattern again",
    },
}


@dataclass(frozen=True, slots=True)
class ReadingPassage:
    """What is read in one go.

    Attributes:
        level: which kind of passage.
        place: its number among the story's passages of this level, from 1.
        of: how many of them the story has.
        text: its words.
        before: the sentence before it, for a sentence; else empty.
        after: the sentence after it.
    """

    level: Level
    place: int
    of: int
    text: str
    before: str = ""
    after: str = ""


def levels_in(names: str) -> tuple[Level, ...]:
    """The levels in a list with commas, in the order of `LEVELS`.

    Raises:
        UsageError: one is none, or none is named.
    """
    wanted = [name.strip().casefold() for name in names.split(",") if name.strip()]
    unknown = [name for name in wanted if name not in LEVELS]
    if unknown or not wanted:
        raise UsageError(f"levels = {names!r}: give one or more of {', '.join(LEVELS)}, separated by commas.")
    return tuple(level for level in LEVELS if level in wanted)


def passages_of(story: Story, level: Level) -> tuple[ReadingPassage, ...]:
    """All passages of a level: the whole story, its scenes (cut near 2,000 words where it has none), its sentences.

    Raises:
        UsageError: there are no words in the story.
    """
    if level == "story":
        return (ReadingPassage(level, 1, 1, story.text),)
    if level == "chapter":
        texts = [scene.text for scene in scenes_of(story).scenes]
        return tuple(ReadingPassage(level, n, len(texts), text) for n, text in enumerate(texts, 1))
    texts = [sentence for sentence in sentences(story.text) if count_words(sentence)]
    around = ["", *texts, ""]
    return tuple(
        ReadingPassage(level, n, len(texts), text, around[n - 1], around[n + 1]) for n, text in enumerate(texts, 1)
    )


def fractions(level: Level, count: int, seed: int, prompt: str = "") -> tuple[float, ...]:
    """`count` numbers from 0 to below 1, fixed by level, seed and prompt alone: where passages are drawn."""
    rng = random.Random(f"{seed}/{level}/{prompt}")  # noqa: S311 - reproducible draws are wanted, not secrets
    return tuple(sorted(rng.random() for _ in range(count)))


def drawn(there: Sequence[ReadingPassage], at: Sequence[float]) -> tuple[ReadingPassage, ...]:
    """The passages at the fractions `at`, none twice, in the story's order; all where there are not more.

    Where a fraction meets a passage that is taken, the nearest free one stands in, the earlier of two.
    """
    if len(there) <= len(at):
        return tuple(there)
    free = set(range(len(there)))
    for fraction in at:
        wanted = int(fraction * len(there))
        free.remove(min(free, key=lambda n: (abs(n - wanted), n)))
    return tuple(passage for n, passage in enumerate(there) if n not in free)


def sets_of(stories: Sequence[Sequence[ReadingPassage]], at: Sequence[float]) -> tuple[tuple[ReadingPassage, ...], ...]:
    """Sets of one passage of each story, at the same fractions; as many as the story with the fewest passages has.

    Where every story has as many as are asked for, these are the passages that `drawn` gives.
    """
    fewest = min(len(there) for there in stories)
    if fewest >= len(at):
        return tuple(zip(*(drawn(there, at) for there in stories), strict=True))
    middles = [(n + 0.5) / fewest for n in range(fewest)]
    return tuple(zip(*(drawn(there, middles) for there in stories), strict=True))
