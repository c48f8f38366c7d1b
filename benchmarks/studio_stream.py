"""How a room of twelve roles is watched in the browser, beside a bare event source; and what ten tabs hear of it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.base.errors import ProjectError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

TITLE: Final = "watching a room in the browser"
_SUPPORT: Final = Path(__file__).parents[1] / "tests" / "support"
_WRITE: Final = "/projects/sample/write"
_LONG_TASKS: Final = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.longest = Math.max(window.longest, one.duration);
}).observe({ type: "longtask", buffered: true });
"""
_WATCH: Final = """([heads, wanted]) => {
  window.took = null;
  let first = null;
  const look = () => {
    const letters = window.fabulaRoom.letters();
    if (letters > heads && first === null) first = performance.now();
    if (letters >= wanted) window.took = performance.now() - first;
    else requestAnimationFrame(look);
  };
  look();
}"""
_BARE: Final = b"""<!doctype html><title>bare</title><script>
let count = 0, first = 0, letters = 0;
window.took = null;
const source = new EventSource("/events");
source.onmessage = (message) => {
  if (!count) first = performance.now();
  letters += JSON.parse(message.data).text.length;
  count += 1;
  if (count === Number(location.hash.slice(1))) { window.took = performance.now() - first; source.close(); }
};
</script>"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is written, how often, and to how many tabs."""

    rounds: int = 5
    roles: int = 12
    tokens: int = 2200
    tabs: int = 10
    tokens_to_tabs: int = 400


def bench(sizes: Sizes | None = None) -> Table:
    """The room and the bare source in turns; then the tabs, with the server killed in the middle.

    Raises:
        ProjectError: there is no browser.
    """
    sizes = sizes or Sizes()
    sys.path.append(str(_SUPPORT))
    try:
        from studio_process import killable  # noqa: PLC0415 - of the tests
    except ImportError as error:
        raise ProjectError(f"The extra `serve` or the tests' own files are missing here ({error}).") from error
    rooms, bare, wrong = list[dict[str, float]](), list[float](), list[float]()
    burst = {"WORK": "burst", "ROLES": str(sizes.roles), "TOKENS": str(sizes.tokens), "BEFORE": "1.5"}
    with _browser() as browser, TemporaryDirectory(prefix="fabula-") as folder:
        for number in range(sizes.rounds + 1):
            with killable(Path(folder) / str(number), **burst) as studio:
                took = _watched(browser, studio, sizes)
            with _bare_source(sizes) as port:
                alone = _heard(browser, port, sizes)
            if number:  # the first round warms the page cache
                rooms.append(took)
                bare.append(alone)
                wrong.append(took["wrong"])
        slow = {"ROLES": "3", "TOKENS": str(sizes.tokens_to_tabs), "PAUSE": "0.02"}
        with killable(Path(folder) / "tabs", **slow) as studio:
            missing, connections = _tabs(browser, studio, sizes)
    events = f"{sizes.roles * sizes.tokens:,} one-token events of {sizes.roles} roles"
    rows = (
        Row(f"{events}: roles whose text is not as written", tuple(wrong), "", "round", most=0),
        Row(
            "longest task of the page's main thread", tuple(took["longest"] for took in rooms), "ms", "round", most=100
        ),
        Row("from the first token to the last on the page", tuple(took["took"] for took in rooms), "ms", "round"),
        Row("the same events from a bare event source", tuple(bare), "ms", "round"),
        Row(
            "the room beside the bare source",
            tuple(took["took"] / alone for took, alone in zip(rooms, bare, strict=True)),
            "x",
            "round",
            most=2,
        ),
        Row(f"{sizes.tabs} tabs: connections at once", (float(connections),), "", "run", most=1),
        Row("tabs without all tokens, after the server and the first tab ended", (float(missing),), "", "run", most=0),
    )
    notes = (
        (
            "A process writes one line for each token, as fast as it can; the server tails its log. The bare source is "
            "a server that only sends the events, each by itself, and a page that only parses them."
        ),
        "The server is killed by SIGKILL in the middle and started again; the tab with the connection is closed.",
    )
    return Table("studio_stream", TITLE, rows, notes)


@contextmanager
def _browser() -> Iterator[Any]:
    from studio import chromium, close_chromium  # noqa: PLC0415 - of the tests

    try:
        with chromium() as browser:
            yield browser
    except BaseException as error:
        if type(error).__name__ == "Skipped":  # how the tests' own helper says that there is no browser
            raise ProjectError(str(error)) from error
        raise
    finally:
        close_chromium()  # its event loop would be in the way of whatever comes next in this process


def _signed_in(browser: Any, studio: Any) -> Any:  # noqa: ANN401 - playwright's
    from studio import sign_in  # noqa: PLC0415 - of the tests

    return sign_in(browser, studio.there).page


def _start(page: Any) -> None:  # noqa: ANN401 - playwright's
    page.evaluate(
        "() => fetch('/api/v1/projects/sample/runs', {method: 'POST', headers: {'content-type': 'application/json'}, "
        "body: '{}'})"
    )


def _written(roles: int, tokens: int) -> dict[str, str]:
    return {f"role-{n}": f"[scene/{n}]\n" + "".join(f"{n}.{token} " for token in range(tokens)) for n in range(roles)}


def _watched(browser: Any, studio: Any, sizes: Sizes) -> dict[str, float]:  # noqa: ANN401 - playwright's
    """How a page showed the room."""
    wanted = _written(sizes.roles, sizes.tokens)
    page = _signed_in(browser, studio)
    page.add_init_script(_LONG_TASKS)
    page.goto(studio.address + _WRITE, wait_until="load")
    page.wait_for_selector("#expected form")
    page.evaluate("() => { window.longest = 0 }")  # what loading the page took is not meant
    heads = sum(map(len, _written(sizes.roles, 0).values()))
    page.evaluate(_WATCH, [heads, sum(map(len, wanted.values()))])
    _start(page)
    page.wait_for_function("() => window.took !== null", timeout=120_000)
    texts = page.evaluate("() => window.fabulaRoom.texts()")
    found = page.evaluate("() => ({ took: window.took, longest: window.longest })")
    page.context.close()
    return {**found, "wrong": sum(texts.get(role) != text for role, text in wanted.items())}


def _heard(browser: Any, port: int, sizes: Sizes) -> float:  # noqa: ANN401 - playwright's
    """Milliseconds in which a page heard the bare source."""
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{port}/#{sizes.roles * sizes.tokens}")
    page.wait_for_function("() => window.took !== null", timeout=120_000)
    took = float(page.evaluate("() => window.took"))
    page.close()
    return took


def _tabs(browser: Any, studio: Any, sizes: Sizes) -> tuple[int, int]:  # noqa: ANN401 - playwright's
    """How many tabs miss something in the end, and how many connections there were at once."""
    wanted = _written(3, sizes.tokens_to_tabs)
    letters = sum(map(len, wanted.values()))
    first = _signed_in(browser, studio)
    tabs = [first, *(first.context.new_page() for _ in range(sizes.tabs - 1))]
    for tab in tabs:
        tab.goto(studio.address + _WRITE, wait_until="load")
    _start(tabs[-1])
    tabs[-1].wait_for_function("wanted => window.fabulaRoom.letters() > wanted", arg=letters // 5, timeout=60_000)
    connections = studio.listening()[0]
    tabs.pop(0).close()
    tabs[-1].wait_for_function("wanted => window.fabulaRoom.letters() > wanted", arg=letters // 3, timeout=60_000)
    studio.kill()
    studio.start()
    tabs[-1].wait_for_function("wanted => window.fabulaRoom.letters() >= wanted", arg=letters, timeout=120_000)
    tabs[-1].wait_for_timeout(2_000)
    missing = sum(tab.evaluate("() => window.fabulaRoom.texts()") != wanted for tab in tabs)
    connections = max(connections, studio.listening()[0])
    first.context.close()
    return missing, connections


# the bare source ------------------------------------------------------------------------------------------------------


@contextmanager
def _bare_source(sizes: Sizes) -> Iterator[int]:
    """The port of a server that only sends the events."""
    line = [sys.executable, "-m", "benchmarks.studio_stream", str(sizes.roles), str(sizes.tokens)]
    root = Path(__file__).parents[1]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, cwd=root) as process:  # noqa: S603 - our own file
        try:
            yield int(process.stdout.readline() if process.stdout else 0)
        finally:
            process.kill()


async def _events(roles: int, tokens: int) -> AsyncIterator[bytes]:
    for token in range(tokens):
        for n in range(roles):
            number = token * roles + n + 1
            data = {"type": "text_arrived", "at": 0, "path": f"scene/{n}", "text": f"{n}.{token} ", "n": number}
            yield f"id: {number}\ndata: {json.dumps(data | {'project': 'sample', 'run': 'x'})}\n\n".encode()


def main(roles: int, tokens: int) -> None:
    """Serve the events and a page that hears them."""
    from fabula.server.running import listen, listening  # noqa: PLC0415 - for the process of the server alone

    async def app(scope: Any, _receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI's
        events = scope["path"] == "/events"
        kind = b"text/event-stream" if events else b"text/html"
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        if events:
            async for event in _events(roles, tokens):
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"" if events else _BARE})

    with listening("127.0.0.1", 0) as opened:
        print(opened.getsockname()[1], flush=True)
        asyncio.run(listen(app, opened, lambda: None))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
