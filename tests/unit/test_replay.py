"""A replayed model answers from another project's journal, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, ModelError
from fabula.engine.journal import Journal
from fabula.engine.replay import ReplayModel
from fabula.models.base import Message, Reply, Request, Usage

if TYPE_CHECKING:
    from pathlib import Path


def request(path: str = "plot/plot") -> Request:
    return Request((Message("user", "Plan."),), role="plot", path=path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".fabula").mkdir()
    with Journal(tmp_path / ".fabula" / "journal.db") as journal:
        journal.calls.record("a", request(), 0, Reply("Old.", model="m"))
        journal.calls.record("b", request(), 0, Reply("First.", Usage(prompt=9, reply=3, cost=0.1), model="m"))
        journal.calls.record("c", request(), 1, Reply("Second.", model="m"))
    return tmp_path


async def test_a_path_gets_its_newest_reply_in_turn_and_then_the_first_again(folder: Path) -> None:
    model, heard = ReplayModel(folder), list[str]()
    assert [(await model.ask(request(), heard.append)).text for _ in range(3)] == ["First.", "Second.", "First."]
    assert heard == ["First.", "Second.", "First."]
    await model.close()


async def test_usage_is_told_as_recorded(folder: Path) -> None:
    assert (await ReplayModel(folder).ask(request())).usage == Usage(prompt=9, reply=3, cost=0.1)


async def test_a_journal_file_will_do_and_what_is_recorded_is_its_identity(folder: Path) -> None:
    model = ReplayModel(folder / ".fabula" / "journal.db")
    assert model.identity == ReplayModel(folder).identity
    assert model.name.startswith("replay:")
    with Journal(folder / ".fabula" / "journal.db") as journal:
        journal.calls.record("d", request("x/y"), 0, Reply("More.", model="m"))
    assert ReplayModel(folder).identity != model.identity


async def test_a_path_that_was_not_recorded_is_named(folder: Path) -> None:
    with pytest.raises(ModelError, match=r"journal.db has no reply at climax/section\. Replay the same run that was"):
        await ReplayModel(folder).ask(request("climax/section"))


def test_a_folder_without_a_journal_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"There is no journal at .*journal.db\. Give a project folder or a journal"):
        assert ReplayModel(tmp_path / "nowhere").identity
