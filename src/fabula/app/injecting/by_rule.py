"""Errors that a rule puts in: pairs of sentences of our own. For tests of plumbing only.

No reader should be measured on them. They stand out from any story, they are all of the same few kinds, and what finds
them says nothing about errors in a story's own words.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fabula.app.injecting.editing import Edited
from fabula.app.injecting.planted import Error, words_between
from fabula.base.errors import UsageError
from fabula.story.sentences import paragraph_spans

if TYPE_CHECKING:
    from fabula.app.injecting.config import Ours
    from fabula.app.injecting.editing import Source

# Kind; a value, and another one; a sentence that establishes the value; one that takes it up again.
_PAIRS: Final = (
    ("object_property", "green", "red",
     "The biscuit tin on the sill was {}.",
     "Somebody put the {} biscuit tin back."),
    ("count_or_amount", "nine", "four",
     "There were {} spoons in the drawer by the door.",
     "All {} spoons from the drawer by the door were there."),
    ("appearance", "brown", "blue",
     "The postman Ambrose Tully had {} eyes.",
     "Ambrose Tully's {} eyes looked tired."),
    ("age", "seven", "twelve",
     "The postman's niece had turned {} that spring.",
     "At {}, since the spring, the postman's niece was tall for her age."),
    ("injury_or_handedness", "left", "right",
     "The milkman limped on his {} leg.",
     "The milkman, whose {} leg was the lame one, went by."),
    ("date_or_duration", "1931", "1948",
     "The old calendar was from {}.",
     "It was still the calendar of {} that hung there."),
    ("profession_or_rank", "dentist", "tailor",
     "The lodger upstairs was a {}.",
     "A {} by trade, the lodger upstairs was seldom in."),
    ("place_of_thing", "behind the clock", "under the mat",
     "The spare key hung {}.",
     "The spare key was {}, where it had always been."),
    ("kinship_or_marriage", "sister", "wife",
     "The baker's {} was called Hester Blythe.",
     "Hester Blythe, the baker's {}, said good morning."),
    ("name", "Gregory", "Horace",
     "The grey parrot next door was called {}.",
     "The grey parrot next door, {}, said nothing."),
    ("weather_or_light", "rain", "drought",
     "There had been {} all through the week of the fair.",
     "Nobody forgot the {} in the week of the fair."),
    ("possession", "sexton", "grocer",
     "It was the {} who owned the only ladder.",
     "They borrowed the ladder, the only one, from the {}, who owned it."),
)  # fmt: skip


def by_rule(source: Source, ours: Ours, seed: int) -> Edited:
    """A story with sentences of ours in pairs, the second of each clashing with the first in the broken text.

    The clean text, the twin, has the same sentences without a clash.

    Raises:
        UsageError: the story has too few paragraphs, or no two are as far apart as is wanted.
    """
    rng = random.Random(seed)  # noqa: S311 - draws of test stories, no secrets
    spans = paragraph_spans(source.text)
    ends = [end for _, end in spans]
    far = [(a, b) for a in range(len(ends)) for b in range(a + 1, len(ends))
           if words_between(source.text, (0, ends[a]), (ends[b], ends[b])) >= ours.distance]  # fmt: skip
    wanted = [pair for pair in _PAIRS if pair[0] in source.kinds and pair[3].partition("{")[0] not in source.text]
    wanted = rng.sample(wanted, min(ours.errors, len(wanted)))
    if not far or not wanted:
        raise UsageError(
            f"{source.id} has no two paragraphs with {ours.distance:,} words between them, or none of the kinds can be "
            "put in by rule. Give a longer story, a smaller --distance or other --kinds."
        )
    added: dict[int, list[str]] = {}
    errors = []
    for number, (kind, value, other, first, second) in enumerate(wanted, 1):
        early, late = far[rng.randrange(len(far))]
        says, again, clash = first.format(value), second.format(value), second.format(other)
        added.setdefault(early, []).append(says)
        added.setdefault(late, []).append(again)
        why = f"It says {value} first, then {other}."
        errors.append(Error(f"{source.id}-{number}", kind, again, clash, says, why, "lookup", says[:-1], clash[:-1]))
    pieces, at = [], 0
    for n, end in enumerate(ends):
        pieces += [source.text[at:end], *(f" {sentence}" for sentence in added.get(n, ()))]
        at = end
    text = "".join([*pieces, source.text[at:]])
    work = Edited(replace(source, text=text), ours, errors)
    work.missing = ours.errors - len(errors)
    return work
