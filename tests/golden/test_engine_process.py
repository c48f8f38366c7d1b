"""The embedded engine's own process: its crashes, its end, its threads. A tiny random model that the test writes."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError, OverloadedError
from fabula.models import engine_process
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.gguf import read_metadata
from fabula.models.limits import Limited
from fabula.models.llamacpp import Engine, EngineSettings, body_of
from fabula.models.tuning import SHORT, EngineSetting, ReplySpeed, Tuner, measuring
from patience import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")
pytestmark = pytest.mark.embedded

LONG = "helloworld" * 70
ENDLESS: dict[str, Any] = {"choices": ("a" * 3500,), "tokens": 3900}


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tinygguf.write_model(tmp_path_factory.mktemp("weights") / "tiny.gguf", tinygguf.weights(), 4096)


def request(text: str = "helloworld", tokens: int = 40, **more: Any) -> Request:  # noqa: ANN401 - its fields
    return Request((Message("user", text),), Sampling(max_tokens=tokens, seed=3, temperature=0.8), **more)


def tiny(weights: Path, threads: int = 1, context: int = 512) -> EmbeddedModel:
    return EmbeddedModel(weights, name="tiny", context=context, threads=threads)


def pid_of(model: EmbeddedModel) -> int:
    assert model.engine is not None
    pid = model.engine.pid
    assert pid is not None
    return pid


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has fetched does not."""
    with suppress(OSError):
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        return not stat.exists() or stat.read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    return False


def gone(pid: int) -> bool:
    return wait_until(lambda: not lives(pid))


async def test_a_crash_in_a_call_is_typed_and_the_next_call_is_answered(weights: Path) -> None:
    model = tiny(weights, context=4096)
    whole = await model.ask(request())
    crashed = pid_of(model)
    begun = asyncio.Event()
    endless = asyncio.create_task(model.ask(request(**ENDLESS), lambda _: begun.set()))
    await begun.wait()
    os.kill(crashed, signal.SIGSEGV)
    with pytest.raises(
        OverloadedError,
        match=r"engine crashed while it was answering \(signal 11.*Try again",
    ) as caught:
        await endless
    assert caught.value.retryable
    assert (await model.ask(request())).text == whole.text
    assert pid_of(model) != crashed
    await model.close()


async def test_a_run_survives_a_crash_of_its_engine(weights: Path) -> None:
    """With its limits, as a run has it, a model is asked again by itself."""

    async def at_once(_seconds: float) -> None:
        return

    model, pieces = tiny(weights), list[str]()
    limited = Limited(model, sleep=at_once)
    whole = await limited.ask(request())

    def hear(piece: str) -> None:
        if not pieces:
            os.kill(pid_of(model), signal.SIGKILL)
        pieces.append(piece)

    assert (await limited.ask(request(), hear)).text == whole.text
    await limited.close()


async def test_a_crash_between_two_calls_is_not_noticed(weights: Path) -> None:
    model = tiny(weights)
    whole = await model.ask(request())
    pid = pid_of(model)
    os.kill(pid, signal.SIGKILL)
    assert gone(pid)
    await asyncio.sleep(0.2)
    assert (await model.ask(request())).text == whole.text
    await model.close()


async def test_closing_ends_the_process(weights: Path) -> None:
    model = tiny(weights)
    await model.ask(request())
    pid = pid_of(model)
    await model.close()
    assert gone(pid)


PARENT = """
import asyncio, sys
from pathlib import Path
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
model = EmbeddedModel(Path(sys.argv[1]), name="tiny", context=4096, threads=1)

def hear(piece):
    print(model.engine.pid, flush=True)

endless = Request((Message("user", "hello"),), Sampling(max_tokens=3900, seed=1), choices=("a" * 3500,))
asyncio.run(model.ask(endless, hear))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_program_leaves_no_engine(weights: Path, how: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(weights)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert lives(pid)
        parent.send_signal(how)
    assert gone(pid)


async def test_text_and_probabilities_do_not_depend_on_threads(weights: Path) -> None:
    """Beyond 512 tokens the engine's own choice (flash attention) sums in another order with other threads."""
    seen = set()
    for threads in (1, 2, 3):
        model = tiny(weights, threads, context=2048)
        await model.ask(request(LONG, tokens=1))
        token = await model.ask(request(LONG, tokens=1, logprobs=20))  # computed as tokens are that are written
        assert token.usage.cached > 600
        assert token.logprobs is not None
        text = (await model.ask(request(LONG, tokens=60))).text
        seen.add((text, tuple(sorted(token.logprobs.items()))))
        await model.close()
    assert len(seen) == 1


class Slow(Tuner):
    """Finds the engine too slow once, after some pieces, and chooses another setting then."""

    settings: Iterator[EngineSetting] = iter(())

    def collapsed(self, pace: ReplySpeed) -> bool:
        self._fell = pace.pieces > 6 and self._setting == EngineSetting(1, SHORT, 1)
        return self._fell

    def choose(self) -> EngineSetting:
        self._fell, self._setting = False, next(self.settings)
        return self._setting

    def due(self) -> bool:
        return self._fell


def written(
    weights: Path, body: dict[str, Any], *settings: EngineSetting
) -> tuple[list[str], list[int], dict[str, Any]]:
    """The pieces of a reply, the processes that wrote it, and what it took, with these settings in turn."""
    tuner = Slow(weights)
    tuner.settings = iter(settings)
    engine = Engine(EngineSettings(weights, 1, 512, ()), tuner, "tiny")
    pieces: list[str] = []
    pids: list[int] = []
    usage: dict[str, Any] = {}

    def take(chunk: dict[str, Any]) -> None:
        pieces.extend(c["delta"]["content"] for c in chunk.get("choices", ()) if c["delta"].get("content"))
        pids.append(engine.pid or 0)
        usage.update(chunk.get("usage") or {})

    engine.stream(body, take, threading.Event())
    engine.close()
    return pieces, list(dict.fromkeys(pids)), usage


def test_a_reply_that_comes_too_slowly_goes_on_with_other_threads(weights: Path) -> None:
    body = body_of(request(tokens=200), {"max_tokens": 200, "seed": 3, "temperature": 0.8}, ())
    plain, one, took = written(weights, body, EngineSetting(2, SHORT, 2))
    moved, two, took_moved = written(weights, body, EngineSetting(1, SHORT, 1), EngineSetting(2, SHORT, 2))
    assert plain
    assert (len(one), len(two)) == (1, 2)
    assert moved[:7] == plain[:7]
    assert took_moved["completion_tokens"] <= took["completion_tokens"] == 200
    assert took_moved["prompt_tokens"] <= took["prompt_tokens"] + len("assistant") * 4


OTHER_WORDS = """
import json, os, sys
asked, told = sys.stdin, sys.stdout
def tell(line):
    told.write(json.dumps(line) + chr(10))
    told.flush()
asked.readline()
tell({"ready": True})
for line in asked:
    said = json.loads(line)
    if "stop" in said:
        tell({"id": said["stop"], "done": True, "refused": None})
        continue
    last = said["body"]["messages"][-1]
    if last["role"] == "assistant":
        words, finish = [f"[{last['content'].count('|')} of {said['body']['max_tokens']}]"], "stop"
    else:
        words, finish = [f"{os.getpid()}|"] * 8, None
    for word in words:
        tell({"id": said["id"], "chunk": {"choices": [{"delta": {"content": word}, "finish_reason": finish}]}})
    if finish:
        tell({"id": said["id"], "done": True, "refused": None})
"""


def test_a_reply_is_not_lost_where_the_next_engine_would_word_it_otherwise(
    weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no states of earlier prompts, so the same seed does not give the same words."""
    program = weights.with_name("words.py")
    program.write_text(OTHER_WORDS)
    monkeypatch.setattr("fabula.models.child._PROGRAM", program)
    body = body_of(request(tokens=200), {"max_tokens": 200, "seed": 3, "temperature": 0.8}, ())
    pieces, pids, _ = written(weights, body, EngineSetting(1, SHORT, 1), EngineSetting(2, SHORT, 2))
    assert len(pids) == 2
    come = len(pieces) - 1
    assert pieces == [*[f"{pids[0]}|"] * come, f"[{come} of {200 - come}]"]


def test_this_machine_can_be_measured(weights: Path) -> None:
    assert "llama.block_count" in read_metadata(weights, before="tokenizer.").keys() < read_metadata(weights).keys()
    with measuring(weights, (SHORT, None)) as trial:
        taken = [trial(EngineSetting(threads, spin, 1)) for threads in (1, 2) for spin in (SHORT, None)]
    assert all(seconds > 0 for seconds in taken)


async def test_an_engine_that_dies_as_it_loads_says_how(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = weights.with_name("dies.py")
    program.write_text("import os, sys\nprint('no memory', file=sys.stderr, flush=True)\nos.abort()\n")
    monkeypatch.setattr("fabula.models.child._PROGRAM", program)
    with pytest.raises(ModelUnavailableError, match=r"could not load .*tiny\.gguf \(signal 6: no memory\)"):
        await tiny(weights).ask(request())


# what the process does, in this one -----------------------------------------------------------------------------------


class Library:
    """An engine of a few lines, as the process imports it."""

    class CommonParams:
        """Takes whatever is set."""

        def __init__(self) -> None:
            self.model = self.cpuparams = self.cpuparams_batch = Any

    class llama_flash_attn_type:  # noqa: N801 - the engine's name
        """Of one value."""

        LLAMA_FLASH_ATTN_TYPE_DISABLED = 0

    def __init__(self, *, loads: bool = True) -> None:
        self.loads = loads

    def CommonAdapterLoraInfo(self, path: str, scale: float) -> tuple[str, float]:  # noqa: N802 - the engine's name
        return path, scale

    def Server(self, _params: object) -> Library:  # noqa: N802 - the engine's name
        if not self.loads:
            raise RuntimeError("it is damaged")
        return self

    def handle_completions(self, _body: dict[str, Any]) -> None:
        return

    def handle_chat_completions(self, body: dict[str, Any], on_chunk: Callable[[dict[str, Any]], bool]) -> None:
        if body.get("bad"):
            raise ValueError("a bad schema")
        on_chunk({"n": 1})


SERVE = {"path": "a.gguf", "slots": 1, "context": 64, "threads": 1, "reading": 1, "adapters": ["b.gguf"]}


def said(monkeypatch: pytest.MonkeyPatch, library: object, *lines: dict[str, Any]) -> list[dict[str, Any]]:
    monkeypatch.setitem(sys.modules, "xllamacpp", library)
    told = io.StringIO()
    engine_process.main(io.StringIO("".join(json.dumps(line) + "\n" for line in lines)), told)
    asked = sum("id" in line for line in lines)
    wait_until(lambda: told.getvalue().count('"done"') >= asked)
    return [json.loads(line) for line in told.getvalue().splitlines()]


def test_the_process_answers_each_call_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ({"id": 4, "body": {}}, {"stop": 9}, {"id": 5, "body": {"bad": True}})
    first, *answers = said(monkeypatch, Library(), {"serve": SERVE}, *calls)
    assert first == {"ready": True}
    assert [line for line in answers if line["id"] == 4] == [
        {"id": 4, "chunk": {"n": 1}},
        {"id": 4, "done": True, "refused": None},
    ]
    assert [line for line in answers if line["id"] == 5] == [{"id": 5, "done": True, "refused": "a bad schema"}]


def test_the_process_says_why_there_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, Library(loads=False), {"serve": SERVE}) == [{"failed": "it is damaged", "engine": True}]
    (none,) = said(monkeypatch, None, {"serve": SERVE})
    assert not none["engine"]
    assert "xllamacpp" in none["failed"]


def test_the_process_measures_passes(weights: Path) -> None:
    shape = {"width": 64, "hidden": 128, "keys": 32, "layers": 2, "words": 259, "kind": 0, "bytes": 9_000_000}
    told = io.StringIO()
    engine_process.main(io.StringIO(json.dumps({"measure": shape}) + '\n{"threads": 1}\n'), told)
    ready, timed = map(json.loads, told.getvalue().splitlines())
    assert ready == {"ready": True}
    assert 0 < timed["seconds"] < 10
