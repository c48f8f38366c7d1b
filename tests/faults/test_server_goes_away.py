"""A model's server goes away in the middle of an experiment: no run fails, and no judge is paid for the others."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.tables import complete
from fabula.app.experiment.working import How, run_experiment
from fabula.models.limits import Limited
from fabula.project.trust import Trust, acts_in
from fake_provider import LINE_LIMIT, Answer, FakeProvider

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.app.experiment.cell import CellOutcome
    from fabula.app.experiment.grid import Experiment, Trial
    from fake_provider import Recorded

BRIEFS, SYSTEMS = 12, 2
TURNS_AWAY_AT = 8
STORY = "The lamp was dark. Mara lit it, and the boats came home one after the other."


class Restarted(FakeProvider):
    """Goes away at one of its requests, whose connection breaks, and listens again at the same port when asked to."""

    left = 0

    def __init__(self) -> None:
        super().__init__(self._reply)

    def judged(self) -> int:
        return sum("Overall" in json.dumps(request.body) for request in self.requests)

    def _reply(self, request: Recorded) -> Answer:
        if len(self.requests) == TURNS_AWAY_AT and self._server is not None:
            self.left = self._server.sockets[0].getsockname()[1]
            self._server.close()
        if self.left:
            return Answer(cut=0, headers={"connection": "close"})
        judge = "Overall" in json.dumps(request.body)
        return Answer("Both are alike.\n\nOverall: Same" if judge else STORY, headers={"connection": "close"})

    async def come_back(self) -> None:
        port, self.left = self.left, 0
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port, limit=LINE_LIMIT)


def experiment(folder: Path, address: str) -> Experiment:
    (folder / "briefs").mkdir()
    for number in range(BRIEFS):
        (folder / "briefs" / f"{number}.md").write_text(f"Write of a lamp, number {number}.\n", encoding="utf-8")
    model = "openai-chat:tale-1"
    (folder / "exp.toml").write_text(
        'briefs = ["briefs"]\nsystems = ["end-to-end", { system = "end-to-end", label = "twin" }]\nworkers = 4\n'
        f'models = ["{model}"]\nevaluators = [{{ evaluator = "pairwise", model = "{model}", '
        'config = { questions = "overall", samples = 1, verdicts = "written" } }]\n'
        f'[settings.models."{model}"]\nbase_url = "{address}"\n',
        encoding="utf-8",
    )
    Trust().give(folder / "exp.toml", acts_in({"models": {model: {"base_url": address}}}, folder))
    return read_experiment(folder / "exp.toml", {})


async def test_an_experiment_waits_for_its_server_then_pauses_and_the_same_command_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("fabula.project.casting.Limited", partial(Limited, sleep=sleep))
    ended: list[tuple[Trial, CellOutcome]] = []
    async with Restarted() as server, asyncio.timeout(120):
        found, how = experiment(tmp_path, server.openai_url), How(ended=lambda *over: ended.append(over))
        paused = await run_experiment(found, how)
        asked = len(server.requests)
        assert not paused.of_state("failed")
        assert paused.of_state("unfinished")
        assert "cannot be reached" in paused.stopped
        assert paused.stopped.startswith("Paused: openai-chat:tale-1 ")
        assert "fabula gave up after 5 attempts" in paused.stopped
        assert (not paused.reports, server.judged()) == (True, 0), "nothing is measured before all runs are over"
        assert slept, "waited for before anything is given up"
        assert {outcome.state for _, outcome in ended} == {"done", "unfinished"}
        await server.come_back()
        whole = await run_experiment(found, how)
        assert complete(whole)
        assert len(whole.of_state("done")) == BRIEFS * SYSTEMS
        stories = len(server.requests) - server.judged()
        assert stories <= BRIEFS * SYSTEMS + 4, f"no call that was answered is made again ({asked} before)"


async def test_a_server_that_comes_back_in_time_costs_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Restarted() as server, asyncio.timeout(120):
        slept = 0.0

        async def sleep(seconds: float) -> None:
            nonlocal slept
            slept += seconds
            if server.left and slept > 5:
                await server.come_back()

        monkeypatch.setattr("fabula.project.casting.Limited", partial(Limited, sleep=sleep))
        whole = await run_experiment(experiment(tmp_path, server.openai_url), How())
    assert complete(whole)
    assert not whole.of_state("failed")


async def test_a_server_that_was_never_there_pauses_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def sleep(_: float) -> None:
        pytest.fail("an address that never answered may be wrong: nobody waits for it")

    monkeypatch.setattr("fabula.project.casting.Limited", partial(Limited, sleep=sleep))
    async with FakeProvider() as server:
        gone = server.openai_url
    paused = await run_experiment(experiment(tmp_path, gone), How())
    assert (len(paused.of_state("failed")), len(paused.of_state("unfinished"))) == (0, BRIEFS * SYSTEMS)
    assert "Start the server, or correct the address" in paused.stopped
