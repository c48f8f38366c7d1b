"""A first estimate of what an edit would ask: at once, marked as one, and nearly always what is then worked out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from benchmarks.books import ENVIRON, Book

from fabula.app import workspace as workspaces
from fabula.app.foresight import otherwise
from fabula.app.workspace import Workspace
from patience import wait_until

if TYPE_CHECKING:
    from pathlib import Path

LONG = [pytest.param(name, marks=pytest.mark.simulation) for name in ("character-simulation", "magnet")]
SYSTEMS = ("end-to-end", "agents-room", *LONG)
SCENES = {"magnet": 40}


@pytest.fixture(scope="module", params=SYSTEMS)
def book(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A written project."""
    folder: Path = tmp_path_factory.mktemp("books") / request.param
    Book(request.param, SCENES.get(request.param, 24)).write(folder)
    return folder


def foreseen(workspace: Workspace, name: str) -> None:
    """Open a text, and wait until its first estimate is there."""
    workspace.foresee(name)
    wait_until(lambda: workspace.is_foreseen(name))


def drawn(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - edits, not secrets


def with_a_change(text: str, draw: random.Random) -> str:
    words = text.split(" ")
    at = draw.randrange(len(words))
    return " ".join([*words[:at], f"{words[at]}zz", *words[at + 1 :]])


def test_a_first_estimate_is_there_at_once_and_is_what_is_worked_out_then(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "_SLOW", 0.0)
    workspace, draw = Workspace(book, ENVIRON), drawn(7)
    story = [one for one in workspace.artefacts(marks=False) if one.folder == "story"]
    alike = 0
    for one in draw.sample(story, 3):
        foreseen(workspace, one.name)
        text = workspace.text(one.name)
        workspace.save(one.name, with_a_change(text.text, draw), text.base)
        first = workspace.expected_soon()
        assert first.first
        marks = {mark.name for mark in workspace.artefacts(expected=first) if mark.stale}
        exact = workspace.expected()
        assert not exact.first
        assert len(first.calls) == pytest.approx(len(exact.calls), rel=0.05, abs=2)
        alike += first.dry.stale == exact.dry.stale
        assert marks >= {mark.name for mark in workspace.artefacts() if mark.stale}
        assert not workspace.expected_soon().first  # it is known by now
        workspace.undo()
        assert not workspace.expected_soon().calls
    assert alike == 3


def test_what_was_worked_out_is_the_first_estimate_of_the_next_change_of_the_same_text(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspaces, "_SLOW", 0.0)
    workspace, draw = Workspace(book, ENVIRON), drawn(3)
    name = next(one.name for one in workspace.artefacts(marks=False) if one.folder == "story")
    for _ in range(2):
        text = workspace.text(name)
        workspace.save(name, with_a_change(text.text, draw), text.base)
        soon, exact = workspace.expected_soon(), workspace.expected()
        assert soon.dry.stale == exact.dry.stale
    assert soon.first
    workspace.undo()
    workspace.undo()


def test_where_it_is_worked_out_quickly_nothing_is_estimated_first(book: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspaces, "_SLOW", 1000.0)
    workspace, draw = Workspace(book, ENVIRON), drawn(5)
    name = next(one.name for one in workspace.artefacts(marks=False) if one.folder == "story")
    for _ in range(2):
        text = workspace.text(name)
        workspace.save(name, with_a_change(text.text, draw), text.base)
        assert not workspace.expected_soon().first
    workspace.undo()
    workspace.undo()


def test_every_paragraph_of_prose_is_another_and_headings_stay() -> None:
    text = "## 1. The Lamp\n\nIt burned.\n\nThen it did not.\n"
    assert otherwise(text) == "## 1. The Lamp\n\nIt otherwise.\n\nThen it did otherwise."
    assert otherwise("") == ""
