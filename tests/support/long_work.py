"""A program that stands in for `fabula` where long work is tested: it logs events as a command does.

Its variables: `WORK` is what it does ("tokens", "sleep", "fail", "wait", "burst"), `ROLES` and `TOKENS` how many,
`BEFORE` and `PAUSE` the seconds before the first token and between two; while the file `HOLD` is there, it stays at its
first. It goes on when its server is killed, as long
work does, but not for ever: a minute after that it ends, so that tests that are killed leave nothing behind.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from fabula.engine.event_log import EventLog
from fabula.engine.events import CallFinished, CallRetried, CallStarted, Kept, RunStarted, TextArrived
from fabula.models.base import Usage

ALONE = 60  # seconds for which it goes on without its server


def end_alone(server: int) -> None:
    """End some time after the server that started this has ended."""
    while os.getppid() == server:
        time.sleep(1)
    time.sleep(ALONE)
    os._exit(1)


def stopped(_number: int, _frame: object) -> None:
    """End as Ctrl-C does."""
    log.tell("command_ended", exit_code=130, kind="StoppedError", message="Stopped.")
    sys.exit(130)


threading.Thread(target=end_alone, args=[os.getppid()], daemon=True).start()
log = EventLog(Path(os.environ["FABULA_EVENTS"]), os.environ)
log.open()
signal.signal(signal.SIGINT, stopped)
log.tell("command_started", pid=os.getpid(), arguments=sys.argv[1:])
roles, tokens = int(os.environ.get("ROLES", "3")), int(os.environ.get("TOKENS", "20"))
pause = float(os.environ.get("PAUSE", "0.002"))
hold = Path(os.environ["HOLD"]) if "HOLD" in os.environ else None
log.hear(RunStarted("test", tuple(f"role-{n}" for n in range(roles))))


def say(text: str, number: int) -> bytes:
    """A line as an unbatched log has it: one token."""
    data = {"type": "text_arrived", "at": round(time.time(), 3), "path": f"scene/{number}", "text": text}
    return json.dumps(data).encode() + b"\n"


work = os.environ.get("WORK", "tokens")
if work in ("tokens", "burst"):
    for n in range(roles):
        log.hear(CallStarted(f"scene/{n}", f"role-{n}", "model", 100))
    time.sleep(float(os.environ.get("BEFORE", "0")))
    handle = os.open(os.environ["FABULA_EVENTS"], os.O_WRONLY | os.O_APPEND)
    for token in range(tokens):
        for n in range(roles):
            os.write(handle, say(f"{n}.{token} ", n))
        while hold is not None and hold.exists():
            time.sleep(0.02)
        if work == "tokens":
            time.sleep(pause)
    for n in range(roles):
        log.hear(
            CallFinished(f"scene/{n}", f"role-{n}", "model", Usage(10, 2, tokens, 0.5, None, 0.001), replayed=False)
        )
        log.hear(Kept(f"scene-{n}", "story", "one two three", "made"))
elif work == "retried":
    log.hear(CallStarted("a", "writer", "tale-1@abc", 100))
    log.hear(TextArrived("a", "Once upon"))
    log.hear(CallRetried("tale-1", 1, 1.0, "The stream broke off."))
    log.hear(TextArrived("a", "Once upon a time."))
    log.flush()
elif work == "hostile":
    nasty = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    log.hear(CallStarted(nasty, nasty, nasty, 100))
    log.hear(TextArrived(nasty, nasty + "</div></script>\r\ndata: {}\n\n\u2028"))
    log.hear(Kept(nasty, nasty, nasty, nasty))
    log.tell("command_ended", exit_code=1, kind=nasty, message=nasty)
    sys.exit(1)
elif work == "unpriced":
    log.hear(CallStarted("scene/0", "writer", "openai-chat:tale", 100, priced=False))
    log.flush()
    time.sleep(600)
elif work == "sleep":
    time.sleep(600)
elif work == "stubborn":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    log.hear(CallStarted("deaf", "writer", "model", 100))
    time.sleep(600)
elif work == "wait":
    log.tell("command_ended", exit_code=0, kind="PausedError", message="plan waits.", artefact="plan")
    sys.exit(0)
elif work == "fail":
    sys.stderr.write("fabula: the model is gone\n")
    log.tell("command_ended", exit_code=1, kind="ModelUnavailableError", message="The model is gone. Start it again.")
    sys.exit(1)
elif work == "crash":
    sys.stderr.write("Traceback: something\n")
    os._exit(9)
log.tell("command_ended", exit_code=0)
log.close()
