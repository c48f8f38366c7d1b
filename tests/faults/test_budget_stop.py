"""A budget stops a run before a call, keeps everything, and a higher cap goes on to the same story."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fabula.app.writing import Options, write_in
from fabula.base.errors import BudgetError, UsageError
from fabula.engine.events import CallFinished, CallStarted
from fabula.project.folder import Project
from fabula.story import Brief
from fabula.systems import systems

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.events import Event

SCRIPT = f"scripted:{systems()['agents-room'].folder / 'script.toml'}"
SETTINGS = {"model": SCRIPT, "preset": "faithful", "sampling": {"max_tokens": 300}}
BRIEF = Brief("Write about Mara, who keeps a lighthouse.")


def project(folder: Path, **more: object) -> Project:
    return Project.create(folder, BRIEF, SETTINGS | more)


async def test_stops_before_the_call_and_a_higher_cap_goes_on_to_the_same_story(tmp_path: Path) -> None:
    heard: list[Event] = []
    home = project(tmp_path / "tale")
    unbroken = (await write_in(project(tmp_path / "unbroken"), home.settings, Options())).story
    cap, stops, story = 400, 0, None
    while story is None:
        try:
            story = (await write_in(home, home.settings, Options(budget_tokens=cap, listeners=[heard.append]))).story
        except BudgetError as error:
            stopped = str(error)
        if story is None:
            stops, cap = stops + 1, check_stop(home, stopped, cap, len(asked(heard)))
    assert stops > 2
    assert story == unbroken
    assert len(asked(heard)) == len(set(asked(heard))) == 9


def asked(heard: list[Event]) -> list[str]:
    return [event.path for event in heard if isinstance(event, CallFinished) and not event.replayed]


def check_stop(home: Project, stopped: str, cap: int, calls: int) -> int:
    """The cap that the message names; what is replayed costs nothing, so that it always suffices for a call."""
    spent, wanted = (int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:are spent|or more)", stopped))
    assert spent <= cap < wanted
    with home.journal as journal:
        assert journal.runs()[-1]["error"] == stopped
        assert all((home.folder / file).is_file() for file in journal.places().values())
        assert journal.count() == calls
    return wanted


async def test_the_cap_is_never_passed(tmp_path: Path) -> None:
    for cap in range(0, 1000, 190):
        home = project(tmp_path / str(cap))
        with pytest.raises(BudgetError, match=rf"Stopped before the budget of {cap:,} tokens is passed"):
            await write_in(home, home.settings, Options(budget_tokens=cap))
        with home.journal as journal:
            assert sum(usage.prompt + usage.reply for usage in journal.spent().values()) <= cap


async def test_a_cap_in_dollars_stops_by_the_users_prices(tmp_path: Path) -> None:
    home = project(tmp_path / "tale", prices={SCRIPT: {"input": 1000, "output": 2000}})
    with pytest.raises(BudgetError, match=r"Stopped before the budget of \$1\.0000 is passed: .* --budget-usd") as stop:
        await write_in(home, home.settings, Options(budget_usd=1.0))
    with home.journal as journal:
        spent = sum(usage.cost or 0 for usage in journal.spent().values())
    assert 0 < spent <= 1.0
    assert f"${spent:,.4f} are spent" in str(stop.value)
    assert (await write_in(home, home.settings, Options(budget_usd=100.0))).story.words > 50


async def test_a_cap_in_dollars_needs_a_price_and_asks_nobody_without(tmp_path: Path) -> None:
    heard: list[Event] = []
    home = project(
        tmp_path / "tale", model="openai-chat:tale", models={"openai-chat:tale": {"base_url": "http://127.0.0.1:9"}}
    )
    with pytest.raises(UsageError, match=r"The price of openai-chat:tale \(role 'conflict'\) is not known"):
        await write_in(home, home.settings, Options(budget_usd=1.0, listeners=[heard.append]))
    assert not [event for event in heard if isinstance(event, CallFinished)]
    assert len([event for event in heard if isinstance(event, CallStarted)]) <= 1
