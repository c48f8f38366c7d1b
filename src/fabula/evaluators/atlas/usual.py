"""What replies usually hold, for estimates: from one check of a script of the paper, 9 scenes of 173 words.

A scene had 12 nodes, of which 5 were events; 1,000 words had 3.2 proposals. A long scene has at most 15 events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fabula.evaluators.atlas.findings import Proposal
from fabula.story import count_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.continuity import NumberedScene

_WORDS_OF_AN_EVENT, _FEWEST_EVENTS, _MOST_EVENTS, _ENTITIES_OF_AN_EVENT, _PER_1000_WORDS = 35, 3, 15, 1.4, 3.2


def replies_on(scene: NumberedScene) -> Mapping[str, Mapping[str, float | None]]:
    """By prompt how many entries a reply on a scene has, and the words of each."""
    events = min(max(count_words(scene.text) // _WORDS_OF_AN_EVENT, _FEWEST_EVENTS), _MOST_EVENTS)
    entities = round(_ENTITIES_OF_AN_EVENT * events)
    return {
        "events": {"events": events, "description": 14, "evidence": 10},
        "entities": {"entities": entities, "events": 1, "description": 10, "evidence": 6},
        "relations": {"relations": events + entities, "evidence": 8},
        "node": {"attributes": 2, "value": 4, "evidence": 6},
    }


def proposals(scenes: Sequence[NumberedScene]) -> list[Proposal]:
    """Made-up proposals, as many for 1,000 words as we expect of a story."""
    total = sum(count_words(scene.text) for scene in scenes)
    first, last = scenes[0].number, scenes[-1].number
    return [Proposal(first, last, f"fact {n}", f"event {n}") for n in range(round(_PER_1000_WORDS * total / 1000))]
