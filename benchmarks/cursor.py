"""Suggestions at the cursor in an imported book of 100,000 words: from the key until their first words are shown.

A provider's server on this machine answers as a scripted model would: after a pause, then word by word. *Alone* is the
same request sent to it without fabula. The book is open in the studio, in a browser; `typed` suggestions are asked for
while the last keys are not saved yet.

A key's time is the time for which it keeps the page at work, or waits for it: from the keystroke, as the browser got it
from the driver, until the last listener of its `input` is through, with what was already running then and with the
letter's own layout; listeners of `selectionchange`; and its frame, from the first callback to the end of painting. What
lies between is no work: a browser makes 60 frames a second, so that a key waits for up to 16.7 ms while anything moves,
and what a page posts to itself waits with it. A bare page in the same browser shows that: one `textarea` with the same
text, beside a line that gets as many words.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import httpx

from benchmarks.studio_stream import _SUPPORT, _browser
from benchmarks.table import Row, Table
from fabula.base.errors import ProjectError

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE: Final = (
    "suggestions at the cursor in a book of 100,000 words: until the first words are shown, and keys meanwhile"
)
_WORDS: Final = ("the", "lamp", "sea", "boat", "letter", "kept", "turned", "night", "glass", "wind", "stairs", "slow")
_MODEL: Final = "openai-chat:tale"
_FIRST, _KEY = 150.0, 16.0  # milliseconds
_MS: Final = 1000.0
_SETTLE: Final = 1.0  # seconds after a run in which a person reads
_TYPED: Final = "slowly "
_WATCH: Final = """() => {
  window.keys = []; window.first = null; window.asked = null;
  const list = document.getElementById("suggestions"), turn = new MessageChannel();
  let pressed = 0, frame = 0, begun = 0, spent = 0;
  turn.port1.onmessage = () => {
    const now = performance.now(); // a frame keeps messages waiting until it is made
    window.keys.push([spent + now - frame, now - pressed]);
  };
  addEventListener("keydown", (event) => {
    pressed = event.timeStamp;
    if (event.key === "Enter" && event.ctrlKey) { window.asked = event.timeStamp; window.first = null; }
  }, true);
  addEventListener("input", (event) => {
    if (event.target.id !== "text") return;
    spent = performance.now() - pressed;
    requestAnimationFrame(() => { frame = performance.now(); turn.port2.postMessage(0); });
  });
  addEventListener("selectionchange", () => { begun = performance.now(); }, true);
  addEventListener("selectionchange", () => { spent += performance.now() - begun; });
  new MutationObserver(() => {
    if (window.first !== null || !list.textContent.trim()) return;
    requestAnimationFrame(() => { window.first ??= performance.now(); });
  }).observe(list, { childList: true, subtree: true, characterData: true });
}"""
_BARE: Final = '<!doctype html><textarea id="text" rows="20" cols="80"></textarea><p id="suggestions"></p>'
_STREAM: Final = """([text, pause]) => {
  document.getElementById("text").value = text;
  setInterval(() => document.getElementById("suggestions").append("slow "), pause);
}"""
_OVER: Final = "() => !document.querySelector('#run')?.firstChild"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Chapters of the book, suggestions of each kind, keys while one is written, and the model's pauses in seconds."""

    chapters: int = 300
    rounds: int = 20
    keys: int = 210
    latency: float = 0.3
    pause: float = 0.02


def bench(sizes: Sizes | None = None) -> Table:
    """Suggestions over HTTP and in a browser, and the same requests without fabula.

    Raises:
        ProjectError: there is no browser.
    """
    sizes = sizes or Sizes()
    sys.path.append(str(_SUPPORT))
    with tempfile.TemporaryDirectory(prefix="fabula-bench-") as temporary:
        folder = Path(temporary)
        with _process([str(_SUPPORT / "fake_provider.py"), str(sizes.latency), str(sizes.pause), "6"]) as said:
            address = said.readline().strip() + "/v1"
            part = _book(folder, address, sizes)
            with httpx.Client() as client:
                alone = tuple(_alone(client, address) for _ in _counted("the model alone", sizes.rounds))
            os.environ["XDG_STATE_HOME"] = temporary
            line = ["-m", "fabula", "studio", str(folder / "book"), "--no-browser", "--port", "0", "--json"]
            with _process(line) as told, _browser() as browser:
                link = httpx.URL(_document(told)["link"])
                page = _opened(browser, link, part)
                kinds = {"over HTTP": _over_http(link, part, sizes.rounds)}
                for kind, typed in (("in the browser", ""), ("in the browser, typed", "x")):
                    kinds[kind] = [_shown(page, typed, number) for number in _counted(kind, sizes.rounds)]
                keys = _keys(page, sizes.keys)
                empty = _bare_keys(browser, page.locator("#text").input_value(), sizes)
    bare = median(alone)
    rows = [Row("the model alone: first words", alone, "ms", "request")]
    for kind, took in kinds.items():
        rows.append(Row(f"{kind}: first words", tuple(took), "ms", "suggestion"))
        rows.append(Row(f"{kind}, beside the model alone", tuple(one / bare for one in took), "x", "suggestion"))
        rows.append(Row(f"{kind}: fabula adds", tuple(one - bare for one in took), "ms", "suggestion", most=_FIRST))
    for where, found in (("", keys), (" in a bare page", empty)):
        work, until = zip(*found, strict=True)
        rows.append(Row(f"a key while a suggestion is written{where}", work, "ms", "key"))
        rows.append(Row(f"p99 of these keys{where}", (_p99(work),), "ms", most=_KEY))
        rows.append(Row(f"until the frame is made, with the wait for it{where}", until, "ms", "key"))
    (work, until), (work_bare, until_bare) = zip(*keys, strict=True), zip(*empty, strict=True)
    rows += [
        Row("a key beside the bare page", (median(work) / median(work_bare),), "x"),
        Row("p99 beside the bare page", (_p99(work) / _p99(work_bare),), "x"),
        Row("p99 until the frame is made, less the bare page's", (_p99(until) - _p99(until_bare),), "ms"),
    ]
    return Table(
        "cursor", TITLE, tuple(rows), (f"Model, server, run, browser and client share {os.cpu_count()} cores.",)
    )


def _p99(values: tuple[float, ...]) -> float:
    return sorted(values)[int(0.99 * len(values))]


def _counted(what: str, count: int) -> Iterator[int]:
    """The numbers of the rounds; says how far they are."""
    for number in range(count):
        if number % 10 == 0:
            print(f"cursor: {what}, {number} of {count}", file=sys.stderr, flush=True)
        yield number


@contextmanager
def _process(line: list[str]) -> Iterator[Any]:
    with subprocess.Popen([sys.executable, *line], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - ours
        try:
            yield process.stdout
        finally:
            process.terminate()


def _document(said: Any) -> Any:  # noqa: ANN401 - JSON data
    text = ""
    while (line := said.readline()) != "}\n":
        if not line:
            raise ProjectError("The studio did not start.")
        text += line
    return json.loads(text + line)


def _book(folder: Path, address: str, sizes: Sizes) -> str:
    """Import a book; gives the name of the chapter in its middle."""
    chance, lines = random.Random(3), ["# The lamp", ""]  # noqa: S311 - not secrets
    for number in range(1, sizes.chapters + 1):
        lines += [f"## Chapter {number}", ""]
        for _ in range(7):
            sentences = (" ".join(chance.choices(_WORDS, k=12)).capitalize() + "." for _ in range(4))
            lines += [" ".join(sentences), ""]
    (folder / "book.md").write_text("\n".join(lines), encoding="utf-8")
    line = [
        "import",
        str(folder / "book.md"),
        "--out",
        str(folder / "book"),
        "--model",
        _MODEL,
        "--base-url",
        address,
        "-q",
    ]
    subprocess.run([sys.executable, "-m", "fabula", *line], check=True)  # noqa: S603 - ours
    return f"chapter-{sizes.chapters // 2}"


def _alone(client: httpx.Client, address: str) -> float:
    """The milliseconds until the model's first words."""
    body = {"model": "tale", "stream": True, "messages": [{"role": "user", "content": "Continue."}]}
    begun = time.perf_counter()
    with client.stream("POST", f"{address}/chat/completions", json=body) as response:
        next(line for line in response.iter_lines() if "The" in line)
        return (time.perf_counter() - begun) * _MS


def _over_http(link: httpx.URL, part: str, rounds: int) -> list[float]:
    headers = {"authorization": f"Bearer {link.params['token']}"}
    took: list[float] = []
    with httpx.Client(base_url=link.copy_with(path="/api/v1/", query=None), headers=headers, timeout=60) as client:
        time.sleep(_SETTLE)
        for number in _counted("over HTTP", rounds):
            given = {"artefact": part, "kind": "continue", "at": 100, "count": 1, "note": f"note {number}"}
            with client.stream("GET", "events") as events:
                begun = time.perf_counter()
                run = client.post("projects/book/suggestions", json=given).raise_for_status().json()["id"]
                for line in events.iter_lines():
                    event = json.loads(line[5:]) if line.startswith("data:") else {}
                    if event.get("type") == "text_arrived" and len(took) == number:
                        took.append((time.perf_counter() - begun) * _MS)
                        client.post(f"projects/book/runs/{run}/stop").raise_for_status()
                    if event.get("type") == "run_ended" and event.get("run") == run:
                        break
            time.sleep(_SETTLE)
    return took


def _opened(browser: Any, link: httpx.URL, part: str) -> Any:  # noqa: ANN401 - playwright's
    page = browser.new_page()
    page.goto(str(link))
    page.goto(str(link.copy_with(path=f"/projects/book/edit/{part}", query=None)))
    page.locator("#text").focus()
    page.evaluate(_WATCH)
    return page


def _shown(page: Any, typed: str, number: int) -> float:  # noqa: ANN401 - playwright's
    """The milliseconds from the key until the first words of a suggestion are shown."""
    page.evaluate("(note) => { document.getElementById('wish').value = note; }", f"{typed}note {number}")
    page.locator("#text").evaluate("(box) => box.setSelectionRange(100, 100)")
    if typed:
        page.keyboard.type(typed)
        page.wait_for_timeout(100)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => window.first !== null", timeout=60_000)
    took = float(page.evaluate("() => window.first - window.asked"))
    page.keyboard.press("Escape")
    page.wait_for_function(_OVER)
    page.wait_for_function("() => document.getElementById('saved').textContent === 'Saved'")
    page.wait_for_timeout(_SETTLE * _MS)
    return took


def _keys(page: Any, count: int) -> list[list[float]]:  # noqa: ANN401 - playwright's
    """For each key while suggestions are written: the milliseconds of its work, and until its frame is made."""
    page.evaluate("() => { window.keys = []; }")
    for _ in _counted("suggestions while keys are typed", -(-count // len(_TYPED))):
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => window.first !== null", timeout=60_000)
        page.keyboard.type(_TYPED, delay=60)
        page.wait_for_selector("#suggestions button", timeout=60_000)
        page.keyboard.press("Escape")
    return list(page.evaluate("() => window.keys"))


def _bare_keys(browser: Any, text: str, sizes: Sizes) -> list[list[float]]:  # noqa: ANN401 - playwright's
    """The same in a page without fabula."""
    page = browser.new_page()
    page.set_content(_BARE)
    page.evaluate(_STREAM, [text, sizes.pause / 3 * _MS])
    page.locator("#text").focus()
    page.evaluate(_WATCH)
    page.locator("#text").evaluate("(box) => box.setSelectionRange(100, 100)")
    for _ in _counted("keys in a bare page", -(-sizes.keys // len(_TYPED))):
        page.keyboard.type(_TYPED, delay=60)
    page.wait_for_function("(count) => window.keys.length >= count", arg=sizes.keys)
    return list(page.evaluate("() => window.keys"))
