"""What an agent remembers, and what of it comes to mind."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.craft.memory import Memories, Memory, Recall, hashed, tf_idf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

ANY = Recall(threshold=-1.0)
TEXTS = (
    "Tobias brought a letter with the stamp of the office.",
    "The kettle boiled dry in the kitchen.",
    "Mara lit the lamp against the order.",
    "Somebody paid forty crowns for the boat.",
)


def store(*texts: str, hours: Sequence[float] | None = None) -> Memories:
    memories = Memories()
    for number, text in enumerate(texts):
        memories.add(Memory(text, hours[number] if hours else 0.0))
    return memories


@pytest.mark.parametrize(
    ("query", "best"),
    [("Who lights the lamp?", 2), ("Letters from the offices", 0), ("the boats", 3), ("kettles are boiling", 1)],
)
def test_what_is_alike_comes_to_mind_first_whatever_the_form_of_its_words(query: str, best: int) -> None:
    assert store(*TEXTS).recall(query, 0, 4, ANY)[0].memory.text == TEXTS[best]


def test_vectors_have_length_1_and_depend_on_nothing_but_their_text() -> None:
    both, alone = hashed(TEXTS), hashed(TEXTS[2:3])
    assert both.shape == (4, 2048)
    assert np.allclose(np.linalg.norm(both, axis=1), 1, atol=1e-6)
    assert np.array_equal(both[2], alone[0])
    assert not hashed(["...", ""]).any()
    assert hashed([]).shape == (0, 2048)


def test_of_equal_memories_the_later_one_comes_first_and_looking_does_not_refresh() -> None:
    memories = store("The lamp is lit.", "The lamp is lit.", hours=[0.0, 100.0])
    for _ in range(2):
        found = memories.recall("the lamp", 100.0, 2, ANY)
        assert [one.memory.hour for one in found] == [100.0, 0.0]
        # Similarity and rarity are the same for both and count as 0; recency is scaled to 1 and 0 and weighs 0.5.
        assert [one.score for one in found] == pytest.approx([0.5, 0.0])


def test_recency_falls_by_a_hundredth_an_hour_and_measures_are_scaled_among_the_candidates() -> None:
    memories = store("lamp one", "lamp two", "lamp three", hours=[0.0, 50.0, 100.0])
    found = memories.recall("lamp", 100.0, 3, Recall(threshold=-1, similarity=0, rarity=0, recency=1))
    decays = [0.99**0, 0.99**50, 0.99**100]
    spread = decays[0] - decays[2]
    assert [one.score for one in found] == pytest.approx([1.0, (decays[1] - decays[2]) / spread, 0.0])


def test_a_lone_memory_scores_0_because_nothing_tells_it_apart() -> None:
    assert store(TEXTS[0]).recall("letter", 5.0, 3, ANY)[0].score == 0.0


def test_what_is_less_alike_than_the_threshold_does_not_come_to_mind() -> None:
    memories = store(*TEXTS)
    assert [one.memory.text for one in memories.recall("the lamp", 0, 4, Recall(threshold=0.2))] == [TEXTS[2]]
    assert memories.recall("quantum physics", 0, 4, Recall()) == []
    assert memories.recall("  ", 0, 4, ANY) == []
    assert Memories().recall("lamp", 0, 4, ANY) == []


def test_only_the_most_similar_candidates_are_weighed() -> None:
    memories = store(*TEXTS, hours=[0, 0, 0, 1000])
    found = memories.recall("the lamp", 1000, 4, Recall(threshold=-1, candidates=1, recency=100))
    assert [one.memory.text for one in found] == [TEXTS[2]]


def test_rare_words_weigh_more_than_common_ones() -> None:
    texts = [*["The boat came home."] * 3, "The reef was near the boat."]
    boat, reef = (tf_idf(query, texts) for query in ("boat", "reef"))
    assert reef[3] > boat[3] > 0
    assert reef[0] == 0
    assert tf_idf("...", texts).tolist() == [0, 0, 0, 0]
    # One word in one text of two: both vectors have that word alone.
    assert tf_idf("lamp", ["lamp", "boat"], Counter(lamp=1, boat=1), 2).tolist() == pytest.approx([1, 0])


def test_another_embedder_can_be_handed_in() -> None:
    def by_length(texts: Sequence[str]) -> NDArray[np.float64]:
        angles = [len(text) / 50 for text in texts]
        return np.array([[math.cos(angle), math.sin(angle)] for angle in angles])

    memories = Memories(by_length)
    for text in ("short", "a text of middling length", "x" * 60):
        memories.add(Memory(text))
    assert memories.recall("y" * 60, 0, 1, ANY)[0].memory.text == "x" * 60
    assert memories.copy().embed is by_length


def test_several_queries_bring_each_memory_once_with_its_best_likeness() -> None:
    memories = store(*TEXTS)
    found = memories.recall_all([("the lamp", 2), ("Who lit the lamp against the order?", 2)], 0, ANY)
    assert len({one.memory for one in found}) == len(found)
    lamp = next(one for one in found if one.memory.text == TEXTS[2])
    assert lamp.similarity == memories.recall("Who lit the lamp against the order?", 0, 1, ANY)[0].similarity


def test_a_copy_remembers_apart() -> None:
    memories = store(TEXTS[0])
    copy = memories.copy()
    copy.add(Memory("The lamp is lit.", thought="I lit it."))
    assert (len(memories), len(copy)) == (1, 2)
    assert [memory.shown for memory in copy.kept] == [TEXTS[0], "I lit it."]
    assert copy.recall("lamp", 0, 1, ANY)[0].memory.text == "The lamp is lit."
