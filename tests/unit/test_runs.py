"""Long work as processes: begun, queued, followed, stopped, found again by the next server, and its numbered events."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.server.browser import Names, OwnKeys
from fabula.server.gate import AccessTokens, Bounds
from fabula.server.running import listen, listening
from fabula.server.runs.children import Runs
from fabula.server.runs.feed import Feed
from fabula.server.runs.record import RunRecord
from fabula.server.studio.application import application
from patience import SECONDS
from studio import COOKIE, TOKEN, state_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fabula.verbs.home import Project

PROGRAM = Path(__file__).parents[1] / "support" / "long_work.py"


class Shelf:
    """Projects in a folder; none is opened here."""

    def __init__(self, folder: Path) -> None:
        self.home = folder

    @property
    def names(self) -> list[str]:
        return sorted(one.name for one in self.home.iterdir() if (one / "brief.md").is_file())

    def folder(self, name: str) -> Path:
        if name not in self.names:
            raise UnknownNameError("project", name, self.names)
        return self.home / name

    def __getitem__(self, name: str) -> Project:
        raise NotImplementedError


def projects(folder: Path, *names: str) -> Shelf:
    for name in names or ("tale",):
        (folder / "shelf" / name).mkdir(parents=True, exist_ok=True)
        (folder / "shelf" / name / "brief.md").write_text("Write about Mara.")
    return Shelf(folder / "shelf")


@asynccontextmanager
async def serving(folder: Path, *names: str, **environ: str) -> AsyncIterator[Runs]:
    """The runs of a server."""
    shelf = projects(folder, *names)
    feed = Feed(folder / "state", "places", time.time)
    runs = Runs(shelf, feed, time.time, {**os.environ, **environ}, (sys.executable, str(PROGRAM)))
    async with runs.at_work():
        yield runs


async def until(runs: Runs, run: RunRecord, *states: str, project: str = "tale") -> RunRecord:
    async with asyncio.timeout(SECONDS):
        while runs.get(project, run.id).state not in states:  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    return runs.get(project, run.id)


async def at_work(runs: Runs, run: RunRecord, project: str = "tale") -> None:
    """Wait until a run's program can be stopped: before that a signal kills it."""
    await until(runs, run, "running", project=project)
    log = runs._folder(project) / ".fabula/runs" / run.id / "events.jsonl"
    async with asyncio.timeout(SECONDS):
        while not log.exists() or b"run_started" not in log.read_bytes():  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


async def heard(feed: Feed, after: int = 0, last: str = "run_ended") -> list[dict[str, Any]]:
    """The events behind a number, up to the first of a type."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(SECONDS):
        async for events in feed.follow(after, 5):
            found += [json.loads(event.data) for event in events]
            if any(event["type"] == last for event in found):
                return found
    return found


def texts(events: list[dict[str, Any]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for event in events:
        if event["type"] == "text_arrived":
            found[event["path"]] = found.get(event["path"], "") + event["text"]
    return found


def whole(roles: int, tokens: int) -> dict[str, str]:
    return {f"scene/{n}": "".join(f"{n}.{token} " for token in range(tokens)) for n in range(roles)}


async def test_a_run_goes_from_the_queue_to_its_end_and_its_events_have_numbers(tmp_path: Path) -> None:
    async with serving(tmp_path) as runs:
        began = runs.start("tale", "write", {"model": "m", "budget_usd": 2})
        assert began.state == "running"
        events = await heard(runs.feed)
        run = await until(runs, began, "finished")
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert {event["project"] for event in events} == {"tale"}
    assert {event["run"] for event in events} == {run.id}
    kinds = [event["type"] for event in events]
    assert kinds[:4] == ["run_queued", "run_begun", "command_started", "run_started"]
    assert kinds[-2:] == ["command_ended", "run_ended"]
    assert events[2]["arguments"][:3] == ["do", "write", str(tmp_path / "shelf/tale")]
    given = json.loads(events[2]["arguments"][3])
    assert {name: value for name, value in given.items() if value} == {"model": "m", "budget_usd": 2}
    assert texts(events) == whole(3, 20)
    assert (run.total.calls, run.total.prompt, run.total.cached, run.total.reply) == (3, 30, 6, 60)
    assert run.total.cost == pytest.approx(0.003)
    assert run.roles["role-1"].reply == 20
    assert run.kept == 3
    assert run.exit_code == 0


async def test_one_run_at_a_time_in_a_project_and_several_projects_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path, "tale", "other", WORK="sleep") as runs:
        first, second = runs.start("tale", "write"), runs.start("tale", "check")
        third = runs.start("other", "write")
        assert [first.state, second.state, third.state] == ["running", "queued", "running"]
        assert runs.at_work_in(runs._folder("tale")) == first.id, "before it holds the project's lock, too"
        await at_work(runs, first)
        runs.stop("tale", first.id)
        assert (await until(runs, first, "stopped", "killed")).message == "Stopped."
        assert (await until(runs, second, "running")).state == "running"
        assert [run.id for run in runs.of("tale")] == [second.id, first.id]
        for project, run in (("tale", second), ("other", third)):
            await at_work(runs, run, project)
            runs.stop(project, run.id)
            await until(runs, run, "stopped", project=project)
            assert runs.at_work_in(runs._folder(project)) == ""


async def test_a_queued_run_that_is_stopped_never_begins(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="sleep") as runs:
        first, second = runs.start("tale", "write"), runs.start("tale", "write")
        assert runs.stop("tale", second.id).state == "stopped"
        await at_work(runs, first)
        runs.stop("tale", first.id)
        await until(runs, first, "stopped")
        assert not (tmp_path / "shelf/tale/.fabula/runs" / second.id / "events.jsonl").exists()


async def test_a_folder_that_may_not_be_read_for_a_while_keeps_no_run_from_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def forbidden(_: Shelf) -> list[str]:
        raise PermissionError(13, "Permission denied", "tale")

    async with serving(tmp_path, ROLES="1", TOKENS="40", PAUSE="0.02") as runs:
        run = runs.start("tale", "write")
        names = Shelf.names
        monkeypatch.setattr("fabula.server.runs.looking.AFTER_FAILURE", 0.02)
        monkeypatch.setattr(Shelf, "names", property(forbidden))
        runs._scanned = -10.0  # the next look is due
        async with asyncio.timeout(SECONDS):
            while "Permission denied" not in caplog.text:  # noqa: ASYNC110 - a look that fails
                await asyncio.sleep(0.02)
        monkeypatch.setattr(Shelf, "names", names)
        await until(runs, run, "finished")
    assert caplog.text.count("could not be watched. The server tries again: PermissionError") == 1


async def test_what_does_not_stop_is_killed_when_it_is_asked_again(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="stubborn") as runs:
        run = runs.start("tale", "write")
        await heard(runs.feed, last="call_started")
        runs.stop("tale", run.id)
        await asyncio.sleep(0.3)
        assert runs.get("tale", run.id).state == "running"
        runs.stop("tale", run.id)
        assert (await until(runs, run, "stopped", "killed")).state == "stopped"


@pytest.mark.parametrize(
    ("work", "state", "says"),
    [
        ("fail", "failed", "The model is gone. Start it again."),
        ("wait", "waits", "plan waits."),
        (
            "crash",
            "killed",
            (
                "The process was killed before it could report a reason. Finished work is kept. To continue, "
                "start the run again. Its last messages were: Traceback: something"
            ),
        ),
    ],
)
async def test_how_a_run_ends_is_said_in_words(tmp_path: Path, work: str, state: str, says: str) -> None:
    async with serving(tmp_path, WORK=work) as runs:
        run = await until(runs, runs.start("tale", "write"), "failed", "waits", "killed")
        events = await heard(runs.feed)
    assert (run.state, run.message) == (state, says)
    assert (events[-1]["state"], events[-1]["message"]) == (state, says)
    assert run.waits_for == ("plan" if work == "wait" else "")


async def test_the_next_server_follows_what_still_runs_and_numbers_stay(tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    async with serving(tmp_path, TOKENS="400", ROLES="2", HOLD=str(hold)) as runs:
        run = runs.start("tale", "write")
        await heard(runs.feed, last="text_arrived")
        before = [one for batch in [runs.feed.after(0)] for one in batch]
        child = runs._open.popitem()[1]  # as if this server had been killed: it settles nothing
        assert isinstance(child.process, subprocess.Popen)
        child.process.returncode = 0
    async with serving(tmp_path) as runs:
        assert runs.get("tale", run.id).state == "running"
        hold.unlink()
        events = await heard(runs.feed)
        ended = await until(runs, run, "finished")
    assert [json.loads(one.data) for one in before] == events[: len(before)]
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    assert texts(events) == whole(2, 400)
    assert (ended.total.calls, ended.total.reply) == (2, 800)


async def test_the_next_server_says_that_a_run_was_killed_meanwhile(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="sleep") as runs:
        run = runs.start("tale", "write")
        await heard(runs.feed, last="run_started")
        child = runs._open.popitem()[1]
        assert isinstance(child.process, subprocess.Popen)
        child.process.send_signal(signal.SIGKILL)
        child.process.wait()
    async with serving(tmp_path) as runs:
        ended = await until(runs, run, "killed")
        assert "To continue, start the run again." in ended.message
        assert runs.again("tale", run.id).arguments == run.arguments


async def test_a_server_that_ends_in_order_leaves_its_processes_and_empties_its_queue(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="sleep") as runs:
        first, second = runs.start("tale", "write"), runs.start("tale", "write")
        await heard(runs.feed, last="run_started")
    async with serving(tmp_path) as runs:
        assert runs.get("tale", first.id).state == "running"
        assert runs.get("tale", second.id).state == "stopped"
        assert (
            runs.get("tale", second.id).message == "The run had not begun when the server stopped. No model was called."
        )
        runs.stop("tale", first.id)
        await until(runs, first, "stopped")


async def test_an_unthrottled_producer_loses_nothing_to_whoever_follows(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="burst", TOKENS="500", ROLES="12") as runs:
        followers = [asyncio.create_task(heard(runs.feed)) for _ in range(3)]
        await asyncio.sleep(0)
        runs.start("tale", "write")
        found = await asyncio.gather(*followers)
    for events in found:
        assert [event["n"] for event in events] == list(range(1, len(events) + 1))
        assert texts(events) == whole(12, 500)


async def test_whoever_comes_later_hears_all_from_any_number_on(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="burst", TOKENS="400", ROLES="12") as runs:
        await until(runs, runs.start("tale", "write"), "finished")
        everything = await heard(runs.feed)
        assert len(everything) > 4800  # more than are kept in memory
        for after in (0, 1, 17, 2600, len(everything) - 1):
            assert await heard(runs.feed, after) == everything[after:]


async def test_what_has_happened_is_given_with_each_text_in_one_piece(tmp_path: Path) -> None:
    async with serving(tmp_path, ROLES="2") as runs:
        run = await until(runs, runs.start("tale", "write"), "finished")
        await heard(runs.feed)  # its end, which is told after that
        after, events = await runs.events("tale", run.id)
    assert texts(events) == whole(2, 20)
    assert sum(event["type"] == "text_arrived" for event in events) == 2
    assert after == runs.feed.last


async def test_what_a_retried_call_says_anew_stands_behind_the_retry(tmp_path: Path) -> None:
    async with serving(tmp_path, WORK="retried") as runs:
        run = await until(runs, runs.start("tale", "write"), "finished")
        _, events = await runs.events("tale", run.id)
    told = [(event["type"], event.get("text")) for event in events if event["type"] in ("text_arrived", "call_retried")]
    assert told == [("text_arrived", "Once upon"), ("call_retried", None), ("text_arrived", "Once upon a time.")]


async def test_events_whose_log_was_removed_are_said_to_be_gone(tmp_path: Path) -> None:
    async with serving(tmp_path) as runs:
        run = await until(runs, runs.start("tale", "write"), "finished")
        last = runs.feed.last
    shutil.rmtree(tmp_path / "shelf/tale/.fabula/runs" / run.id)
    async with serving(tmp_path) as runs:
        runs.feed.tell("project_changed")
        events = await heard(runs.feed, last="project_changed")
    assert "events_gone" in [event["type"] for event in events]
    assert [event["n"] for event in events] == sorted({event["n"] for event in events})
    assert events[-1]["n"] > last


async def test_a_number_of_a_ledger_that_is_lost_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as runs:
        assert (await heard(runs.feed, 5000, last="numbers_anew"))[0]["n"] == runs.feed.last


async def test_two_servers_of_the_same_projects_have_numbers_of_their_own(tmp_path: Path) -> None:
    async with serving(tmp_path, PAUSE="0.2") as runs, serving(tmp_path) as other:
        run = runs.start("tale", "write")
        events = await heard(runs.feed)
        assert texts(events) == whole(3, 20)
        assert (await until(other, run, "finished")).total.calls == 3
        assert (await heard(other.feed))[0]["n"] == 1


async def test_a_hostile_log_and_record_do_no_harm(tmp_path: Path) -> None:
    shelf = projects(tmp_path)
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with subprocess.Popen(waits, stdin=subprocess.PIPE) as innocent:  # noqa: ASYNC220 - it is begun at once
        place = shelf.folder("tale") / ".fabula/runs/20990101-000000-aaaaaa"
        place.mkdir(parents=True)
        lines = [
            b"no json",
            b"[1]",
            b'{"type": 5}',
            b'{"type":"kept","n":99,"project":"x"}',
            b"{" * 50_000,
            b'{"type":"call_finished","usage":7}',
        ]
        (place / "events.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        RunRecord(id=place.name, verb="write", state="running", pid=innocent.pid, started=9e9).save(place)
        (place.parent / "20990101-000000-bbbbbb").mkdir()
        (place.parent / "20990101-000000-bbbbbb" / "run.json").write_text('{"id": "../../x"}')
        (place.parent / "..evil").mkdir()
        async with serving(tmp_path) as runs:
            await asyncio.sleep(0.3)
            runs.stop("tale", place.name)
            runs.stop("tale", place.name)
            await asyncio.sleep(0.2)
            assert innocent.poll() is None, "a number in a record ends nobody else's process"
            events = [json.loads(one.data) for one in runs.feed.after(0)]
            assert [event["n"] for event in events] == list(range(1, len(events) + 1))
            assert [event["type"] for event in events].count("unreadable") == 4
            assert {event["project"] for event in events} == {"tale"}
            with pytest.raises(UnknownNameError):
                runs.get("tale", "../../x")
        innocent.kill()


async def test_old_logs_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fabula.server.runs.record._MOST_KEPT", 2)
    async with serving(tmp_path, TOKENS="1", ROLES="1") as runs:
        found = [await until(runs, runs.start("tale", "write"), "finished") for _ in range(4)]
        assert len(runs.of("tale")) <= 3
        assert runs.of("tale")[0].id in {run.id for run in found}


def test_what_a_run_costs_before_its_first_answer_is_not_made_up() -> None:
    began: dict[str, Any] = {"type": "call_started", "role": "writer", "priced": False}
    ended: dict[str, Any] = {"type": "call_finished", "role": "writer"}
    run = RunRecord(id="x", verb="write")
    costs, calls = [run.total.cost], []
    for event in (
        began,
        ended | {"usage": {"prompt": 3, "reply": 4, "cost": 0.5}},  # the provider's library knew it
        began,
        ended | {"usage": {"prompt": 3, "reply": 4, "cost": None}},
    ):
        run.hear(event)
        costs.append(run.total.cost)
        calls.append(run.total.calls)
        assert run.roles["writer"].cost == run.total.cost
    assert (costs, calls) == ([0, None, 0.5, 0.5, None], [0, 1, 1, 2])
    other = RunRecord(id="y", verb="write")
    other.hear(began | {"priced": True})
    other.hear(ended | {"replayed": True})
    assert (other.total.cost, other.roles["writer"].replayed) == (0, 1)


@pytest.mark.parametrize(
    ("verb", "given", "says"),
    [
        ("dance", {}, "Unknown verb that takes long 'dance'. Known: "),
        ("pin", {"all": True}, "Unknown verb that takes long 'pin'. "),
        ("check", {"approve": "all"}, "The arguments of `check` do not fit. There is no field 'approve'. Known: "),
        (
            "write",
            {"budget_usd": -1.0},
            "The arguments of `write` do not fit. `budget_usd` must be 0 or more, not -1.0.",
        ),
        (
            "write",
            {"budget_usd": float("nan")},
            "The arguments of `write` do not fit. `budget_usd` must be a finite number",
        ),
        (
            "write",
            {"system": "./evil"},
            "'./evil' is a folder of code, which cannot be run from here. Use the name of an installed system.",
        ),
        (
            "evaluate",
            {"evaluator": "../evil"},
            "'../evil' is a folder of code, which cannot be run from here. Use the name of an installed evaluator.",
        ),
        ("evaluate", {}, "The arguments of `evaluate` do not fit. `evaluator` is missing."),
        (
            "rewrite",
            {"artefact": "x", "passage": "a-2"},
            "The arguments of `rewrite` do not fit. `passage` does not have the required form",
        ),
        ("judge", {}, "The arguments of `judge` do not fit. `against` is missing."),
        ("rank", {"beside": []}, "The arguments of `rank` do not fit. `beside` must not be empty."),
        ("judge", {"against": "none"}, "Unknown project 'none'."),
        ("rank", {"beside": ["tale", "../.."]}, "Unknown project '../..'."),
        ("learn", {"model": "m"}, "The arguments of `learn` do not fit. There is no field 'model'. "),
    ],
)
async def test_a_run_that_does_not_hold_is_refused(tmp_path: Path, verb: str, given: dict[str, Any], says: str) -> None:
    async with serving(tmp_path) as runs:
        with pytest.raises(UsageError) as error:
            runs.start("tale", verb, given)
        assert str(error.value).startswith(says)
        assert runs.of("tale") == []


async def test_other_projects_are_named_and_their_folders_are_handed_on(tmp_path: Path) -> None:
    async with serving(tmp_path, "tale", "other") as runs:
        run = runs.start("tale", "rank", {"beside": ["other", "other"]})
        assert run.arguments["beside"] == ["other", "other"], "as it was said"
        events = await heard(runs.feed)
    assert json.loads(events[2]["arguments"][3])["beside"] == [str(tmp_path / "shelf/other")]


async def test_a_client_that_does_not_read_is_let_go_and_goes_on_from_its_number(tmp_path: Path) -> None:
    bounds, environ = Bounds(unread=0.5), {"WORK": "burst", "TOKENS": "1200", "ROLES": "12", "BEFORE": "0.5"}
    state = state_of(tmp_path / "shelf", environ)
    state.runs.command = (sys.executable, str(PROGRAM))
    app = application(state, OwnKeys(AccessTokens.of([TOKEN])), Names(), COOKIE)
    with listening("127.0.0.1", 0) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        port = opened.getsockname()[1]
        async with state.at_work():
            ready = asyncio.Event()
            task = asyncio.create_task(listen(app, opened, ready.set, bounds, state.runs.feed.end))
            await ready.wait()
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=16_384)
            asked = f"GET /api/v1/events?after=0 HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
            writer.write(asked.encode())
            await reader.readuntil(b"id: 0\n")
            run = state.runs.start("sample", "write")
            everything = await heard(state.runs.feed)
            assert texts(everything) == whole(12, 1200)
            assert state.runs.get("sample", run.id).state == "finished"
            await asyncio.sleep(1.5)
            received = b""
            with suppress(ConnectionError):
                while piece := await reader.read(1_000_000):
                    received += piece
            writer.close()
            numbers = [int(found) for found in re.findall(rb"^id: (\d+)\n", received, re.MULTILINE)]
            assert 0 < len(numbers) < len(everything), "it was let go in the middle"
            rest = await heard(state.runs.feed, numbers[-2])
            assert rest == everything[numbers[-2] :]
            task.cancel()  # it ends though nobody hangs up
            async with asyncio.timeout(SECONDS):
                with suppress(asyncio.CancelledError):
                    await task


async def test_a_server_ends_at_once_though_pages_listen(tmp_path: Path) -> None:
    state = state_of(tmp_path / "shelf")
    app = application(state, OwnKeys(AccessTokens.of([TOKEN])), Names(), COOKIE)
    with listening("127.0.0.1", 0) as opened:
        async with state.at_work():
            ready = asyncio.Event()
            task = asyncio.create_task(listen(app, opened, ready.set, None, state.runs.feed.end))
            await ready.wait()
            reader, writer = await asyncio.open_connection("127.0.0.1", opened.getsockname()[1])
            asked = f"GET /api/v1/events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {TOKEN}\r\n\r\n"
            writer.write(asked.encode())
            await reader.readuntil(b"id: 0\n")
            task.cancel()  # it ends though nobody hangs up
            async with asyncio.timeout(SECONDS):
                with suppress(asyncio.CancelledError):
                    await task
            writer.close()


async def test_the_servers_own_events_do_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(tmp_path, TOKENS="1") as runs:
        await until(runs, runs.start("tale", "write"), "finished")
        everything = await heard(runs.feed)
    monkeypatch.setattr("fabula.server.runs.feed._LARGEST_OWN", 100)
    async with serving(tmp_path) as runs:
        runs.feed.tell("project_changed")
        found = await heard(runs.feed, last="project_changed")
        assert [event["type"] for event in found].count("events_gone") == 2
        kept = [event for event in found if event["type"] not in ("events_gone", "project_changed")]
        assert kept == [event for event in everything if event["type"] not in ("run_queued", "run_begun", "run_ended")]
        assert found[-1]["n"] == everything[-1]["n"] + 1
