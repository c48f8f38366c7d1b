"""What a server keeps of its projects: bounded in bytes over all of them, and nothing that nobody asks for."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING

from fabula.base.kept import KEPT, KeptAnswers, weight
from fabula.project.sample import copy_sample
from fabula.server.runs import feed as feed_module
from fabula.server.runs.feed import Feed
from fabula.server.state import Watcher
from fabula.verbs.home import Home, Project

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_no_more_is_kept_than_its_bytes_and_what_was_asked_for_last_stays() -> None:
    kept = KeptAnswers(100_000)
    for number in range(100):
        kept.keep("a", number, None, "x" * 9_000)
        assert kept.get("a", 0) is not None, "it is asked for all the time"
        assert kept.weight <= 100_000
    assert 5 < len(kept) <= 11
    assert kept.get("a", 1) is None
    kept.keep("a", 0, None, "y" * 90_000)
    assert kept.get("a", 0) is None, "more than half of all is not kept, and what it stood for is no longer true"


def test_what_nobody_asks_for_goes() -> None:
    clock = _Clock()
    kept = KeptAnswers(clock=clock)
    kept.keep("a", "x", 1, "one")
    clock.now = 50
    kept.keep("b", "x", 1, "two")
    assert not kept.forget_idle(60)
    clock.now = 70
    assert kept.forget_idle(60)
    assert (kept.get("a", "x"), kept.get("b", "x")) == (None, (1, "two"))
    clock.now = 200
    assert kept.forget_idle(60)
    assert (len(kept), kept.weight) == (0, 0)


def test_what_is_weighed_counts_each_thing_once_and_stops_at_the_bound() -> None:
    text = "x" * 10_000
    assert 10_000 < weight([text] * 100) < 12_000
    assert weight([f"{n:01000}" for n in range(10_000)], 50_000) < 100_000


def test_many_projects_that_are_read_edited_and_estimated_keep_no_more_than_one_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        copy_sample(tmp_path / f"p{number}")
    shelf = Home.of([tmp_path], {})
    monkeypatch.setattr(KEPT, "_most", 2_000_000)
    KEPT.forget_idle(-1)
    for _ in range(2):
        for name in shelf.names:
            workspace = shelf[name]
            workspace.overview()
            for at in range(6):
                workspace.rows(marks=False)
                workspace.plan()
                text = workspace.text("brief.md")
                workspace.edit("brief.md", f"{text.text} More {at}.", text.base)
            workspace.rows()
            assert KEPT.weight <= 2_000_000
    assert 0 < len(KEPT) < 400
    assert KEPT.forget_idle(-1)
    assert (len(KEPT), KEPT.weight) == (0, 0)


def test_places_that_are_asked_for_and_are_not_there_leave_nothing_behind(tmp_path: Path) -> None:
    copy_sample(tmp_path / "p")
    workspace = Project(tmp_path / "p")
    for number in range(200):
        try:
            workspace.world(f"scene {number}")
        except Exception:  # noqa: BLE001, S112 - there is none of this name
            continue
    gc.collect()  # an error that was raised in an event loop holds its frames until then
    assert len(workspace._makers) == 0


def test_events_in_memory_are_bounded_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_LARGEST_RECENT", 100_000)
    monkeypatch.setattr(feed_module, "_MOST_SPANS", 10)
    feed = Feed(tmp_path, "x", lambda: 0.0)
    feed.open()
    for number in range(100):
        feed.tell("said", text=f"{number}" + "x" * 20_000)
    assert sum(len(event.data) for event in feed._recent) <= 100_000
    assert len(feed._spans) <= 21
    assert b'"text":"99x' in feed.after(99)[0].data
    assert feed.after(80)[0].n == 81, "what is not in memory is read from the disk"
    feed.close()


async def test_projects_are_not_looked_at_while_nobody_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy_sample(tmp_path / "p")
    shelf, feed = Home.of([tmp_path], {}), Feed(tmp_path / "state", "x", lambda: 0.0)
    feed.open()
    watcher, looks = Watcher(shelf, feed), []
    monkeypatch.setattr("fabula.server.state.EVERY", 0.0)

    async def look() -> None:
        looks.append(1)

    watcher.look = look  # type: ignore[method-assign] # counts
    shelf["p"]
    await watcher._look_later()
    assert looks == []
    following = feed.follow(0, 0.01)
    await anext(following)
    await watcher._look_later()
    assert looks == [1]
    await following.aclose()  # type: ignore[attr-defined] # a generator
    await watcher._look_later()
    assert looks == [1]
    feed.close()
    await asyncio.sleep(0)
