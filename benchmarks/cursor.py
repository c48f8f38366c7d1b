"""Suggestions at the cursor in an imported book of 100,000 words: from the key until their first words are shown.

A provider's server on this machine answers as a scripted model would: after a pause, then word by word. *Alone* is the
same request sent to it without fabula. The book is open in the studio, in a browser; `typed` suggestions are asked for
while the last keys are not saved yet. A key's time is from the keystroke until the page's scripts have dealt with it.
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
_WATCH: Final = """() => {
  window.keys = []; window.first = null; window.asked = null;
  const list = document.getElementById("suggestions"), turn = new MessageChannel();
  let pressed = 0;
  turn.port1.onmessage = () => window.keys.push(performance.now() - pressed);
  addEventListener("keydown", (event) => {
    pressed = event.timeStamp;
    if (event.key === "Enter" && event.ctrlKey) { window.asked = event.timeStamp; window.first = null; }
  }, true);
  addEventListener("input", (event) => { if (event.target.id === "text") turn.port2.postMessage(0); });
  new MutationObserver(() => {
    if (window.first !== null || !list.textContent.trim()) return;
    requestAnimationFrame(() => { window.first ??= performance.now(); });
  }).observe(list, { childList: true, subtree: true, characterData: true });
}"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Chapters of the book, suggestions of each kind, keys while one is written, and the model's pauses in seconds."""

    chapters: int = 300
    rounds: int = 50
    keys: int = 300
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
                alone = tuple(_alone(client, address) for _ in range(sizes.rounds))
            os.environ["XDG_STATE_HOME"] = temporary
            line = ["-m", "fabula", "studio", str(folder / "book"), "--no-browser", "--port", "0", "--json"]
            with _process(line) as told, _browser() as browser:
                link = httpx.URL(_document(told)["link"])
                page = _opened(browser, link, part)
                kinds = {
                    "over HTTP": _over_http(link, part, sizes.rounds),
                    "in the browser": [_shown(page, "") for _ in range(sizes.rounds)],
                    "in the browser, typed": [_shown(page, "x") for _ in range(sizes.rounds)],
                }
                keys = _keys(page, sizes.keys)
    bare = median(alone)
    rows = [Row("the model alone: first words", alone, "ms", "request")]
    for kind, took in kinds.items():
        rows.append(Row(f"{kind}: first words", tuple(took), "ms", "suggestion"))
        rows.append(Row(f"{kind}, beside the model alone", tuple(one / bare for one in took), "x", "suggestion"))
        rows.append(Row(f"{kind}: fabula adds", tuple(one - bare for one in took), "ms", "suggestion", most=_FIRST))
    p99 = sorted(keys)[int(0.99 * len(keys))]
    rows += [
        Row("a key while a suggestion is written", tuple(keys), "ms", "key"),
        Row("p99 of these keys", (p99,), "ms", most=_KEY),
    ]
    return Table(
        "cursor", TITLE, tuple(rows), (f"Model, server, run, browser and client share {os.cpu_count()} cores.",)
    )


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
        for number in range(rounds):
            given = {"artefact": part, "kind": "continue", "at": 100, "count": 1, "note": f"note {number}"}
            with client.stream("GET", "events") as events:
                begun = time.perf_counter()
                run = client.post("projects/book/suggestions", json=given).raise_for_status().json()["id"]
                for line in events.iter_lines():
                    event = json.loads(line[5:]) if line.startswith("data:") else {}
                    if event.get("type") == "text_arrived" and len(took) == number:
                        took.append((time.perf_counter() - begun) * _MS)
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


def _shown(page: Any, typed: str) -> float:  # noqa: ANN401 - playwright's
    """The milliseconds from the key until the first words of a suggestion are shown."""
    page.locator("#text").evaluate("(box) => box.setSelectionRange(100, 100)")
    page.keyboard.type(typed or "y")
    if not typed:
        page.wait_for_function("() => document.getElementById('saved').textContent === 'Saved'")
    page.wait_for_timeout(_SETTLE * _MS if not typed else 100)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("() => window.first !== null", timeout=60_000)
    took = float(page.evaluate("() => window.first - window.asked"))
    page.wait_for_selector("#suggestions button", timeout=60_000)
    page.keyboard.press("Escape")
    page.wait_for_timeout(_SETTLE * _MS)
    return took


def _keys(page: Any, count: int) -> list[float]:  # noqa: ANN401 - playwright's
    """The milliseconds that each key takes while suggestions are written."""
    page.evaluate("() => { window.keys = []; }")
    while len(page.evaluate("() => window.keys")) < count:
        page.keyboard.press("Control+Enter")
        page.wait_for_function("() => window.first !== null", timeout=60_000)
        page.keyboard.type("slowly ", delay=60)
        page.wait_for_selector("#suggestions button", timeout=60_000)
        page.keyboard.press("Escape")
    return [float(one) for one in page.evaluate("() => window.keys")]
