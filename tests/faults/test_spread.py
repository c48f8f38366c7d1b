"""An experiment over several processes: one limit of a server, one budget, and nothing lost with a worker or driver."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.shards import merge_parts, shard_of
from fabula.app.experiment.tables import as_csv, as_data
from fabula.app.experiment.working import How, run_experiment
from fabula.app.parts import read_part
from fabula.app.workers import pool
from fabula.app.workers.pool import WorkerError
from fabula.app.workers.spread import ProcessChannel, Spread
from fabula.base.errors import LockedError, UsageError
from fabula.base.files import held
from fabula.engine.events import CallFinished
from fabula.models.servers import Part
from fake_provider import Answer, FakeProvider

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.app.experiment.grid import Experiment
    from fabula.app.experiment.results import Results
    from fabula.engine.events import Event
    from fake_provider import Recorded

MODEL = "openai-chat:tale-1"
LIMIT, CELLS, WORKERS = 3, 12, 4
STORY = "The lamp was dark. Mara lit it, and the boats came home one after the other."


def written(home: Path, text: str, cells: int = CELLS) -> Experiment:
    (home / "briefs").mkdir(exist_ok=True)
    for number in range(cells):
        (home / "briefs" / f"{number:03}.md").write_text(f"Write of a lamp, number {number}.\n", encoding="utf-8")
    (home / "script.toml").write_text(f'[replies]\nwriter = "{STORY}"\n', encoding="utf-8")
    (home / "exp.toml").write_text(f'briefs = ["briefs"]\nsystems = ["end-to-end"]\n{text}', encoding="utf-8")
    return read_experiment(home / "exp.toml", {})


def served(address: str | list[str], more: str = "", parallel: int = LIMIT) -> str:
    reached = json.dumps(address)
    return (
        f'workers = 12\nmodels = ["{MODEL}"]\n{more}\n[settings.models."{MODEL}"]\n'
        f"base_url = {reached}\nparallel = {parallel}\n"
    )


async def do(found: Experiment, **how: Any) -> Results:  # noqa: ANN401 - fields of `How`
    async with asyncio.timeout(300):
        return await run_experiment(found, How(now=lambda: "now", **how))


def asked(server: FakeProvider) -> Counter[str]:
    """How often each brief was asked."""
    return Counter(str(request.body["messages"]) for request in server.requests if request.method == "POST")


class Full(FakeProvider):
    """Answers nothing before as many calls are here as it takes at once, or all that are still to come."""

    def __init__(self, calls: int) -> None:
        super().__init__()
        self._left, self._full = calls, asyncio.Condition()

    async def _plain(self, request: Recorded, answer: Answer, writer: asyncio.StreamWriter) -> None:
        async with self._full:
            self._full.notify_all()
            await self._full.wait_for(lambda: self.in_flight >= min(LIMIT, self._left))
            self._left -= 1
            self._full.notify_all()
        await super()._plain(request, answer, writer)


async def test_all_workers_together_use_what_a_server_takes_and_no_more(tmp_path: Path) -> None:
    heard: list[str] = []

    def hear(where: str, event: Event) -> None:
        if isinstance(event, CallFinished):
            heard.append(where)

    async with FakeProvider(Answer(latency=0.05)) as server:
        found = written(tmp_path, served(server.openai_url))
        results = await do(found, spread=Spread(WORKERS), hear=hear)
    assert (len(results.of_state("done")), results.stopped) == (CELLS, "")
    assert server.most_in_flight == LIMIT
    assert set(asked(server).values()) == {1}
    assert sorted(heard) == sorted(trial.id for trial in found.trials)


async def test_workers_give_what_one_process_gives_byte_for_byte(tmp_path: Path) -> None:
    text = 'workers = 4\nmodels = ["scripted:script.toml"]\nreplicates = 2\n'
    for name in ("one", "many"):
        (tmp_path / name).mkdir()
    one = await do(written(tmp_path / "one", text))
    many = await do(written(tmp_path / "many", text), spread=Spread(2))
    for found in (one, many):
        assert len(found.of_state("done")) == 2 * CELLS

    def without_times(results: Results, home: Path) -> str:
        shown = json.dumps(as_data(results)).replace(str(home), "")
        return "\n".join((shown, as_csv(results).replace(str(home), "")))

    assert without_times(many, tmp_path / "many") == without_times(one, tmp_path / "one")


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the workers' processes, in the order in which they are opened."""
    found: list[int] = []
    opened = ProcessChannel.open

    async def remembered(environ: dict[str, str]) -> ProcessChannel:
        channel = await opened(environ)
        found.append(channel.process.pid)
        return channel

    monkeypatch.setattr(ProcessChannel, "open", remembered)
    return found


@pytest.mark.parametrize("when", [1, 5])
async def test_what_a_killed_worker_had_is_done_by_another(tmp_path: Path, when: int, workers: list[int]) -> None:
    def answer(_: Recorded) -> Answer:
        if len(server.requests) == when:
            os.kill(workers[0], signal.SIGKILL)
        return Answer(latency=0.3)

    async with FakeProvider(answer) as server:
        text = served(server.openai_url) + "timeout = 3\n"
        results = await do(written(tmp_path, text), spread=Spread(2))
    assert (len(results.of_state("done")), results.stopped) == (CELLS, "")
    assert len(workers) >= 2
    assert len(server.requests) <= CELLS + LIMIT
    assert server.most_in_flight <= LIMIT  # the server goes on with what the killed worker asked


async def test_a_run_that_loses_three_workers_has_failed_and_the_others_go_on(
    tmp_path: Path, workers: list[int]
) -> None:
    def answer(request: Recorded) -> Answer:
        if "number 1." in str(request.body):
            os.kill(workers[-1], signal.SIGKILL)
            return Answer(hang="start")
        return Answer()

    async with FakeProvider(answer) as server:
        text = served(server.openai_url).replace("workers = 12", "workers = 1")
        results = await do(written(tmp_path, text, 4), spread=Spread(1))
    (failed,) = results.of_state("failed")
    assert failed.trial.brief_id == "001"
    assert "The worker for this run was lost three times: its process ended with code -9" in failed.outcome.error
    assert len(results.of_state("done")) == 3
    assert len(workers) == 4


async def test_a_worker_that_cannot_begin_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(WorkerError, match=r"ended 3 times before it could start: its process ended with code 1"):
        await do(written(tmp_path, 'models = ["scripted:script.toml"]\n', 2), spread=Spread(1))


async def test_a_worker_of_another_version_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "__version__", "0.0.1")
    with pytest.raises(
        WorkerError, match=r"The worker on \S+ has fabula .*, but this machine has 0\.0\.1\. Install the same"
    ):
        await do(written(tmp_path, 'models = ["scripted:script.toml"]\n', 2), spread=Spread(1))


async def test_the_budget_of_the_whole_holds_over_all_workers(tmp_path: Path) -> None:
    tokens = 421  # of a call, as the server counts
    async with FakeProvider(Answer(latency=0.05, reply_tokens=400)) as server:
        more = f"[budget]\ntokens = {8_000}"
        found = written(tmp_path, served(server.openai_url, more), 40)
        results = await do(found, spread=Spread(WORKERS))
    assert results.stopped.startswith("Stopped before the budget of 8,000 tokens")
    assert not results.of_state("failed")
    assert len(results.of_state("done")) * tokens <= 8_000 + LIMIT * tokens  # those on their way may pass it
    assert results.of_state("unfinished")


async def test_a_person_cannot_be_asked_by_a_worker(tmp_path: Path) -> None:
    found = written(tmp_path, 'models = ["scripted:script.toml"]\n[settings.roles.writer]\nplay = "me"\n', 2)
    with pytest.raises(
        UsageError, match=r"A person plays a role in .*workers cannot ask a person\. Leave out --processes"
    ):
        await do(found, spread=Spread(1))


async def test_a_lost_turn_ends_when_its_call_would_have() -> None:
    def over(most: float, longest: float | None, since: float) -> list[int]:
        given: list[int] = []
        turns = SimpleNamespace(give=lambda server, *, answered: given.append(server) if not answered else None)
        pool._Turn(pool._Dealt(turns, most, longest, lambda: 1000.0), 2, 1000.0 - since).end_when_over()
        return given

    assert over(600.0, None, 300.0) == []
    assert over(600.0, None, 600.0) == [2]
    assert over(600.0, 30.0, 30.0) == []
    assert over(600.0, 30.0, 60.0) == [2]
    assert over(40.0, 30.0, 40.0) == [2]


@pytest.mark.parametrize("on", ["slurm", "ray:", "http://head"])
def test_a_place_that_is_no_cluster_is_refused(on: str) -> None:
    with pytest.raises(
        UsageError, match=r"--on .*: specify `ray`, or the address of a cluster, as in ray://HEAD:10001"
    ):
        Spread(2, on)


# the driver -----------------------------------------------------------------------------------------------------------


async def test_a_killed_driver_leaves_no_worker_and_another_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "fabula", "lab", "experiment", "exp.toml", "--processes", "2", "--json"]

    def answer(_: Recorded) -> Answer:
        if len(server.requests) == 5:
            driver.kill()
        return Answer(latency=0.05)

    async with FakeProvider(answer) as server, asyncio.timeout(300):
        found = written(tmp_path, served(server.openai_url))
        driver = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, stdout=subprocess.DEVNULL)
        assert await driver.wait() == -signal.SIGKILL
        async with asyncio.timeout(60):
            while _holds(found):  # noqa: ASYNC110 - a worker holds its run until it has seen that its driver is gone
                await asyncio.sleep(0.05)
        before = len(server.requests)
        results = await do(found, spread=Spread(2))
    assert len(results.of_state("done")) == CELLS
    assert len(server.requests) <= CELLS + LIMIT
    assert before <= 5 + LIMIT


def _holds(found: Experiment) -> bool:
    """Whether a process holds one of the runs."""
    for trial in found.trials:
        folder = found.project(trial) / ".fabula"
        if folder.exists():
            try:
                with held(folder, "The run"):
                    pass
            except LockedError:
                return True
    return False


# parts ----------------------------------------------------------------------------------------------------------------


async def test_parts_are_put_together_and_measured_as_one(tmp_path: Path) -> None:
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    text = 'models = ["scripted:script.toml"]\nworkers = 2\n'
    whole = await do(written(tmp_path / "whole", text))
    found = written(tmp_path / "parts", text)
    for number in (1, 2, 3):
        part = read_part(f"{number}/3")
        done = await do(shard_of(found, part), part=part)
        assert len(done.of_state("done")) == CELLS // 3
        assert not done.reports
    merged = merge_parts(found, [])
    assert list(merged.parts.values()) == [4, 4, 4]
    assert (merged.over, merged.total) == (CELLS, CELLS)
    assert list(merge_parts(found, []).parts.values()) == [0, 0, 0]
    again = await do(found)
    assert as_csv(again).replace(str(tmp_path / "parts"), "") == as_csv(whole).replace(str(tmp_path / "whole"), "")


async def test_parts_have_their_part_of_a_servers_calls_and_of_the_budget(tmp_path: Path) -> None:
    async with FakeProvider(Answer(latency=0.05)) as server:
        found = written(tmp_path, served(server.openai_url, "[budget]\ntokens = 90_000"))
        parts = [read_part(f"{number}/2") for number in (1, 2)]
        both = await asyncio.gather(*(do(shard_of(found, part), part=part) for part in parts))
        assert [len(done.of_state("done")) for done in both] == [CELLS // 2] * 2
        assert server.most_in_flight == LIMIT
        short = await do(shard_of(found, parts[0]), part=parts[0], budget_tokens=10)
        assert short.stopped == ""
    with pytest.raises(UsageError, match=r"accepts 3 calls at once, which is too few for 8 shards\. Use at most 3"):
        Part(8, 8).turns(f"{MODEL} http://n1", 1, 3, (1.0, 60.0))


def test_the_parts_of_a_server_are_all_of_it() -> None:
    for of, servers, most in ((2, 1, 3), (8, 8, 1), (3, 2, 4), (5, 3, 7)):
        dealt = [Part(n, of).turns("m", servers, most, (1.0, 60.0))._servers for n in range(1, of + 1)]
        for server in range(servers):
            assert sum(part[server].most for part in dealt) == most


@pytest.mark.parametrize("said", ["0/8", "9/8", "3", "3/", "-1/8", "3/0", "a/b", "3/8/9"])
def test_a_part_that_cannot_be_is_refused(said: str) -> None:
    with pytest.raises(UsageError, match=r"--shard .*: specify the part and the number of parts, as in 3/8"):
        read_part(said)


async def test_what_is_no_part_and_one_at_work_are_said(tmp_path: Path) -> None:
    found = written(tmp_path, 'models = ["scripted:script.toml"]\n', 2)
    with pytest.raises(UsageError, match=r"No part of .*exp is next to it \(exp-1-of-8"):
        merge_parts(found, [])
    with pytest.raises(
        UsageError, match=r"briefs contains no runs\. Specify folders that `fabula lab experiment --shard`"
    ):
        merge_parts(found, [tmp_path / "briefs"])
    part = read_part("1/1")
    await do(shard_of(found, part), part=part)
    with (
        held(tmp_path / "exp-1-of-1" / ".fabula", "It"),
        pytest.raises(LockedError, match=r"The part in .*exp-1-of-1"),
    ):
        merge_parts(found, [])
    (tmp_path / "briefs" / "000.md").write_text("Write of a clock.\n", encoding="utf-8")
    with pytest.raises(UsageError, match="was started with another brief"):
        merge_parts(read_experiment(tmp_path / "exp.toml", {}), [])
