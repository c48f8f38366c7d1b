"""`FABULA_EVENTS=FILE`: what a command writes there, and what is left of it when the command is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

import forked
from fabula.base.errors import UsageError
from fabula.base.files import lock
from fabula.engine.event_log import LONGEST, EventLog
from fabula.engine.events import CallRetried, Kept, TextArrived
from fabula.systems import systems

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

SCRIPT = systems()["agents-room"].folder / "script.toml"
WRITES = ("write", "brief.md", "--out", "tale", "--system", "agents-room", "--preset", "faithful", "--yes")


def command(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    (folder / "brief.md").write_text("Write about Mara.")
    environ = {**os.environ, "FABULA_EVENTS": str(folder / "events.jsonl"), **environ}
    return forked.run(arguments, cwd=folder, env=environ)


def events(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_bytes().split(b"\n") if line]


def test_a_command_logs_its_events_from_its_start_to_its_end(tmp_path: Path) -> None:
    assert command(tmp_path, *WRITES, "--model", f"scripted:{SCRIPT}").returncode == 0
    found = events(tmp_path)
    assert found[0]["type"] == "command_started"
    assert found[0]["arguments"][:2] == ["write", "brief.md"]
    assert found[1]["type"] == "run_started"
    assert found[1]["system"] == "agents-room"
    assert found[-1] == {"type": "command_ended", "at": found[-1]["at"], "exit_code": 0}
    started = [event["path"] for event in found if event["type"] == "call_started"]
    finished = [event["path"] for event in found if event["type"] == "call_finished"]
    assert started == finished
    assert len(started) == 9
    kept = next(event for event in found if event["type"] == "kept")
    assert kept["path"] == "conflict"
    assert kept["words"] == 20
    assert "text" not in kept
    assert (tmp_path / "events.jsonl").stat().st_mode & 0o077 == 0


def test_the_end_says_why_a_command_failed(tmp_path: Path) -> None:
    assert command(tmp_path, "write", "nowhere").returncode == 2
    end = events(tmp_path)[-1]
    assert (end["exit_code"], end["kind"]) == (2, "UsageError")
    assert end["message"] == "There is no file or folder nowhere. Specify a brief (a text file) or a project folder."


def test_the_end_says_what_waits_for_a_person(tmp_path: Path) -> None:
    command(tmp_path, *WRITES, "--model", f"scripted:{SCRIPT}", "--approve", "plans")
    end = events(tmp_path)[-1]
    assert (end["exit_code"], end["kind"], end["artefact"]) == (0, "PausedError", "conflict")
    assert "waits for your approval" in end["message"]


def test_a_dry_run_logs_no_call(tmp_path: Path) -> None:
    command(tmp_path, *WRITES, "--model", f"scripted:{SCRIPT}", "--dry-run")
    assert [event["type"] for event in events(tmp_path)] == ["command_started", "command_ended"]


def test_a_log_that_cannot_be_written_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    ran = command(tmp_path, *WRITES, FABULA_EVENTS=str(tmp_path / "none" / "events.jsonl"))
    assert ran.returncode == 2
    assert "Set FABULA_EVENTS to another file, or unset it." in ran.stderr
    assert not (tmp_path / "tale").exists()


@pytest.mark.parametrize("after", [0.0003, 0.001, 0.01, 0.03, 0.051, 0.1, 0.2])
def test_a_command_killed_at_any_moment_leaves_whole_lines(tmp_path: Path, after: float) -> None:
    program = (
        "import signal, sys\nfrom pathlib import Path\n"
        "from fabula.engine.event_log import EventLog\nfrom fabula.engine.events import TextArrived, Noted\n"
        "log = EventLog(Path(sys.argv[1])); log.open()\n"
        "signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))\n"  # whose signal kills at once
        "for n in range(10**9):\n"
        "    log.hear(TextArrived(f'scene/{n % 12}', f'{n} ' * 50))\n"
        "    log.hear(Noted('a', 'b' * 3000))\n"
    )
    file = tmp_path / "events.jsonl"
    assert forked.run([str(file), str(after)], program).returncode == -signal.SIGALRM
    with file.open("rb") as opened:
        lock(opened.fileno())  # nobody holds it any more
    log = EventLog(file)  # the next command ends what stands there half-written
    log.open()
    log.tell("command_ended", exit_code=0)
    log.close()
    lines = file.read_bytes().split(b"\n")
    assert lines.pop() == b""
    broken = [line for line in lines if not line.endswith(b"}")]
    assert len(broken) <= 1
    assert all(json.loads(line) for line in lines if line not in broken)


async def test_texts_of_a_moment_become_one_line_for_each_call(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", clock=lambda: 5.0)
    log.open()
    for n in range(2600):
        log.hear(TextArrived(f"scene/{n % 2}", f"{n} "))
    await asyncio.sleep(0.1)
    log.hear(TextArrived("scene/0", "end"))
    log.close()
    found = events(tmp_path)
    assert len(found) == 4  # the first piece does not wait
    texts = ["0 ", "".join(f"{n} " for n in range(2, 2600, 2)), "end"]
    lines = [{"type": "text_arrived", "at": 5.0, "path": "scene/0", "text": text} for text in texts]
    assert [one for one in found if one["path"] == "scene/0"] == lines


def test_a_long_text_is_several_lines_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    log, text = EventLog(tmp_path / "events.jsonl"), "".join(f"{n} " for n in range(30_000))
    log.open()
    log.hear(TextArrived("a", text))
    log.close()
    found = events(tmp_path)
    assert "".join(event["text"] for event in found) == text
    assert max(len(event["text"]) for event in found) == LONGEST


def test_a_log_that_is_full_says_so_once_and_still_takes_what_is_no_text(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", largest=1000)
    log.open()
    for _ in range(100):
        log.hear(TextArrived("a", "x" * 100))
    log.hear(Kept("a", "story", "one two", "made"))
    log.close()
    found = [event["type"] for event in events(tmp_path)]
    assert found[-2:] == ["texts_left_out", "kept"]
    assert (tmp_path / "events.jsonl").stat().st_size < 2000


def test_a_key_of_the_environment_is_not_logged(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl", {"OPENAI_API_KEY": "sk-very-secret-1"})
    log.open()
    log.hear(CallRetried("m", 1, 2.0, "the key sk-very-secret-1 was refused"))
    log.close()
    assert events(tmp_path)[0]["reason"] == "the key [key] was refused"


def test_the_log_is_no_link_that_is_followed(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").symlink_to(tmp_path / "other")
    with pytest.raises(UsageError, match="Cannot write the events to"):
        EventLog(tmp_path / "events.jsonl").open()
