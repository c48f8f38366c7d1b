"""After an edit, an update asks no more than it announced: every system, edits of every file of a project.

`python -m benchmarks announced` does it with 300 edits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fabula.systems import systems

sys.path.append(str(Path(__file__).parents[2]))  # as in test_benchmarks.py

from benchmarks import announced


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("system", systems())
def test_no_more_is_asked_than_was_announced(system: str, seed: int) -> None:
    tried = announced.tried(system, seed)
    if tried is not None:
        assert tried.ended in {"equal", "fewer", "within"}, tried


@pytest.mark.parametrize(
    ("system", "seed", "file", "asks"),
    [
        ("character-simulation", 1, "brief.md", "role-play/mara/turn/9/memory"),  # a scene takes another turn
        ("ibsen", 265, "role-play/mara-4.md", "role-play/mara-5/heard/9/mara/sum_up"),  # an objective takes longer
        ("magnet", 86, "plan/personas.yaml", "scene-1/step/1/Tobias/again/1/act"),  # a critic wants it otherwise
        ("dramatron", 20, "plan/characters.md", "place-mara-hand-shoulder-shoulder/place"),  # a new plan, new places
    ],
)
def test_what_hangs_on_new_replies_does_not_stop_an_update(system: str, seed: int, file: str, asks: str) -> None:
    tried = announced.tried(system, seed)
    assert tried is not None
    assert (tried.file, tried.ended) == (file, "within")
    assert asks in tried.asked - tried.announced
    assert tried.asked.total() <= tried.most


@pytest.mark.parametrize("system", ["ibsen", "magnet"])  # whose texts are there for any length, with more calls each
def test_a_brief_that_asks_for_more_words_is_announced_with_more_calls(
    system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announced, "_files", lambda folder: [folder / "brief.md"])
    monkeypatch.setattr(announced, "edited", lambda before, *_: before.replace("500 words", "2,500 words"))
    tried = announced.tried(system, 0)
    assert tried is not None
    assert tried.ended in {"fewer", "within"}
    assert tried.asked.total() < 1.2 * tried.announced.total()


def test_most_edits_end_as_announced() -> None:
    table = announced.bench(edits=6, names=("end-to-end", "dramatron", "agents-room"))
    found = {row.what: row.middle for row in table.rows}
    assert found["asked exactly what was announced"] >= 80
    assert found["asked more than that without stopping"] == 0
    assert found["asked for the very texts that were announced"] >= 80
