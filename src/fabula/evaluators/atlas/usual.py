"""What replies usually hold, for estimates: from one check of a script of the paper, 9 scenes of 173 words.

A scene had 12 nodes, of which 5 were events; 1,000 words had 3.2 proposals. A long scene has at most 15 events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from fabula.evaluators.atlas.findings import Proposal
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.continuity import NumberedScene

_WORDS_OF_AN_EVENT, _FEWEST_EVENTS, _MOST_EVENTS, _ENTITIES_OF_AN_EVENT, _PER_1000_WORDS = 35, 3, 15, 1.4, 3.2
# As a strong reader replied: suspicions in each 1,000 words, fewer in those after the first 4,000; notes in each 1,000
# words; and the words of an entry.
_SUSPICIONS_PER_1000, _FIRST, _SUSPICIONS_PER_1000_MORE, _NOTES_PER_1000 = 2.5, 4_000, 0.8, 10
_ENTRY: Final[Mapping[str, float | None]] = dict.fromkeys(("quote_x", "says_x", "quote_y", "says_y"), 10) | {
    "why": 20,
    **dict.fromkeys(("paragraph_x", "paragraph_y", "category", "sure", "also")),
}


def expected(prompt: str, fields: Mapping[str, Any]) -> Mapping[str, float | None]:
    """By the names of its fields how many entries a reply to a prompt has, and how many words each of their texts.

    What their prompts' files say of the others is not said here.
    """
    if prompt == "read":
        length = count_words(" ".join(fields["lines"]))
        notes = {"notes": round(_NOTES_PER_1000 * length / 1000), "about": 2, "fact": 17, "by": 1}
        return {"findings": suspicions_in(length), **_ENTRY, **notes}
    if prompt == "decide":
        return {"decisions": len(fields["suspicions"]), **_ENTRY, "reason": _ENTRY["why"], "others": 0}
    if prompt not in ("events", "entities"):
        return {}
    events = min(max(count_words(fields["scene"].text) // _WORDS_OF_AN_EVENT, _FEWEST_EVENTS), _MOST_EVENTS)
    if prompt == "events":
        return {"events": events, "description": 14, "evidence": 10}
    return {"entities": round(_ENTITIES_OF_AN_EVENT * events), "events": 1, "description": 10, "evidence": 6}


def suspicions_in(words: int) -> int:
    """How many suspicions a reader may have in so many words."""
    first, more = min(words, _FIRST), max(words - _FIRST, 0)
    return max(1, round((_SUSPICIONS_PER_1000 * first + _SUSPICIONS_PER_1000_MORE * more) / 1000))


def proposals(scenes: Sequence[NumberedScene]) -> list[Proposal]:
    """Made-up proposals, as many for 1,000 words as we expect of a story."""
    total = sum(count_words(scene.text) for scene in scenes)
    first, last = scenes[0].number, scenes[-1].number
    return [Proposal(first, last, f"fact {n}", f"event {n}") for n in range(round(_PER_1000_WORDS * total / 1000))]
