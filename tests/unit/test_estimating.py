"""Estimates of long stories are worked out in a process of their own, and are those that would be worked out here."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, cast

import pytest
from benchmarks.books import ENVIRON, Book

from fabula.app import workspace as workspaces
from fabula.app.workspace import Workspace
from fabula.base.errors import UnknownNameError
from fabula.server.estimating import Estimator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from subprocess import Popen


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A written project with an edit."""
    folder: Path = tmp_path_factory.mktemp("books") / "book"
    Book("agents-room", 12).write(folder)
    workspace = Workspace(folder, ENVIRON)
    name = next(one.name for one in workspace.artefacts(marks=False) if one.folder == "story")
    text = workspace.text(name)
    workspace.save(name, f"{text.text}\n\nThe lamp went out.", text.base)
    return folder


@pytest.fixture
def estimator() -> Iterator[Estimator]:
    """One that is closed in the end."""
    opened = Estimator()
    yield opened
    opened.close()


def process_of(estimator: Estimator) -> Popen[bytes]:
    process = estimator._process
    assert process is not None
    return process


def test_another_process_finds_what_is_found_here(book: Path, estimator: Estimator) -> None:
    here = Workspace(book, ENVIRON)
    name = next(one.name for one in here.artefacts(marks=False) if one.folder == "story")
    for pending, fit in (({}, False), ({name: "Another beginning."}, False), ({}, True)):
        there = estimator(book, ENVIRON, pending, fit=fit)
        expected = here.work_out(pending, fit=fit)
        assert there == expected
        assert expected.calls
    assert estimator(book, ENVIRON, {"nothing": "so called"}, fit=False) is None, "which is said here"


def test_a_process_that_has_ended_is_begun_again(book: Path, estimator: Estimator) -> None:
    first = estimator(book, ENVIRON, {}, fit=False)
    process = process_of(estimator)
    cast("IO[bytes]", process.stdin).close()
    assert process.wait(60) == 0, "it ends with who began it"
    again = estimator(book, ENVIRON, {}, fit=False)
    assert again is not None
    assert again == first
    assert process_of(estimator) is not process


def test_a_process_that_is_asked_nothing_ends(book: Path) -> None:
    estimator = Estimator(idle=0.1)
    assert estimator(book, ENVIRON, {}, fit=False) is not None
    assert process_of(estimator).wait(60) == 0
    estimator.close()


def test_a_closed_one_leaves_the_work_to_who_asks(book: Path) -> None:
    estimator = Estimator()
    assert estimator(book, ENVIRON, {}, fit=False) is not None
    process = process_of(estimator)
    estimator.close()
    assert process.poll() is not None
    assert estimator(book, ENVIRON, {}, fit=False) is None


def test_only_long_stories_are_given_away_and_what_is_left_is_worked_out_here(
    book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def noted(folder: Path, environ: Mapping[str, str], pending: Mapping[str, str], *, fit: bool) -> None:
        del environ, pending, fit
        asked.append(folder)

    expected = Workspace(book, ENVIRON).expected()
    assert Workspace(book, ENVIRON, noted).expected() == expected
    assert not asked
    monkeypatch.setattr(workspaces, "_LONG", 5)
    assert Workspace(book, ENVIRON, noted).expected() == expected
    assert asked == [book]
    with pytest.raises(UnknownNameError, match="nothing"):
        Workspace(book, ENVIRON, noted).expected(pending={"nothing": "so called"})
