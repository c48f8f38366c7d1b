"""The studio in tests: for its application in this process, on a socket in a thread of its own, and in a browser.

async with studio_here(tmp_path) as client:          # httpx, signed in; no socket
    response = await client.get("/projects/sample/edit")

with studio_there(tmp_path) as there, browsing(there) as tab:   # chromium
    tab.open("/projects/sample/edit")
    tab.page.click("text=Save")
    tab.check()                                      # nothing broke the policy, nothing went elsewhere
"""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import httpx
import pytest

from fabula.app.writing import Options
from fabula.project.sample import copy_sample
from fabula.server.browser import Names, OwnKeys, link_to
from fabula.server.gate import AccessTokens
from fabula.server.state import StudioState
from fabula.server.studio.application import application
from fabula.server.studio.running import StudioOffer, serve_studio
from fabula.verbs.home import Home
from patience import wait_until
from threads import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Route

TOKEN: Final = "a-token-that-only-tests-know"  # noqa: S105 - of tests alone
COOKIE: Final = "fabula-tests"
SAMPLE: Final = "sample"
HOST: Final = "http://127.0.0.1"
PATIENCE: Final = 60_000
"""Milliseconds for which a test waits for what a page does, whatever it waits with: machines have other work, too."""
_ON_ITS_WAY: Final = ".htmx-request, .htmx-swapping, .htmx-settling, .htmx-added"
_FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)


def state_of(folder: Path, environ: Mapping[str, str] | None = None) -> StudioState:
    """What a studio knows that serves `folder`: a project or a folder of projects; where it is empty, the sample."""
    folder.mkdir(parents=True, exist_ok=True)
    if not any(folder.iterdir()):
        copy_sample(folder / SAMPLE)
    return StudioState(Home.of([folder]), Options(environ=dict(environ or {})))


@asynccontextmanager
async def studio_here(
    folder: Path, environ: Mapping[str, str] | None = None, *, signed_in: bool = True
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a studio that serves `folder`, in this process; `client.state` is what the studio knows."""
    state = state_of(folder, environ)
    app = application(state, OwnKeys(AccessTokens.of([TOKEN])), Names(), COOKIE)
    headers = {"authorization": f"Bearer {TOKEN}"} if signed_in else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with state.at_work(), httpx.AsyncClient(transport=transport, base_url=HOST, headers=headers) as client:
        client.state = state  # type: ignore[attr-defined] # for tests that look behind
        yield client


@dataclass
class There:
    """A studio on a socket.

    Attributes:
        address: without a slash at its end.
        link: signs a browser in.
        state: what the studio knows.
    """

    address: str
    link: str
    state: StudioState

    def client(self) -> httpx.Client:
        """A client that is signed in."""
        return httpx.Client(base_url=self.address, headers={"authorization": f"Bearer {TOKEN}"}, timeout=120)


@contextmanager
def studio_there(folder: Path, environ: Mapping[str, str] | None = None, port: int = 0) -> Iterator[There]:
    """A studio that serves `folder`, on a socket, in a thread of its own."""
    state = state_of(folder, environ)
    with serving(lambda opened, ready: serve_studio(StudioOffer(state, [TOKEN]), opened, ready), port) as served:
        yield There(link_to(served.opened).rstrip("/"), link_to(served.opened, TOKEN), state)


class Reached(Protocol):
    """A server on a socket: its address, and the link that signs a browser in."""

    address: str
    link: str


@dataclass
class Tab:
    """A browser's tab that is signed in to a studio.

    Attributes:
        page: playwright's.
        problems: what the page complained of: errors of scripts, violations of the policy, requests elsewhere.
        asked: what its scripts have asked for and not got yet, but for the stream of events.
    """

    page: Any
    address: str
    problems: list[str] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)

    def watch(self) -> None:
        """From here on note what the page complains of, and what it asks for."""
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.context.on("request", self._went)
        self.page.on("request", self._sent)
        self.page.on("requestfinished", self._answered)
        self.page.on("requestfailed", self._answered)
        self.page.on("framenavigated", self._left)

    def _said(self, message: Any) -> None:  # noqa: ANN401 - playwright's
        if message.type == "error":
            self.problems.append(message.text)

    def _went(self, request: Any) -> None:  # noqa: ANN401 - playwright's
        where = urlsplit(request.url)
        if where.scheme in ("http", "https", "ws", "wss") and where.netloc != urlsplit(self.address).netloc:
            self.problems.append(f"asked elsewhere: {request.url}")

    def _sent(self, request: Any) -> None:  # noqa: ANN401 - playwright's
        if request.resource_type in ("fetch", "xhr") and urlsplit(request.url).path != "/api/v1/events":
            self.asked.append(request)

    def _answered(self, request: Any) -> None:  # noqa: ANN401 - playwright's
        if request in self.asked:
            self.asked.remove(request)

    def _left(self, frame: Any) -> None:  # noqa: ANN401 - playwright's
        if frame == self.page.main_frame:
            self.asked.clear()  # nobody waits for what the page before has asked for

    def open(self, path: str) -> None:
        """Go to a page, and wait until it is loaded with the pieces that it fetches."""
        self.page.goto(self.address + path, wait_until="load")
        self.settled()

    def settled(self) -> None:
        """Wait until the page has all that it asked for, and has put it in its place."""
        wait_until(self._quiet, self.asked, lambda: self.page.wait_for_timeout(20))

    def _quiet(self) -> bool:
        """Whether nothing is on its way, also after the page has had its turn."""
        turn(self.page)
        return not self.asked and not self.page.locator(_ON_ITS_WAY).count()

    def type_over(self, text: str, artefact: str, file: Path, theirs: str) -> None:
        """Type a text on the Edit page whose file another program changes while it is saved.

        Changed before, the page might show the other text first, and what is typed then would go over that one.
        """

        def change(route: Route) -> None:
            if route.request.method == "PUT" and to_come:
                file.write_text(to_come.pop(), encoding="utf-8")
            route.continue_()

        to_come = [theirs]
        self.page.route(f"**/artefacts/{artefact}", change)
        self.page.locator("#text").fill(text)

    def check(self) -> None:
        """See that nothing was complained of."""
        assert not self.problems, self.problems

    def axe(self) -> list[str]:
        """What a person with an impairment meets on the page: the rules of axe-core that it breaks, with where."""
        if find_spec("axe_playwright_python") is None:
            pytest.skip("axe-playwright-python is not installed: pip install axe-playwright-python")
        axe = import_module("axe_playwright_python.sync_playwright").Axe()
        if not self.page.evaluate("typeof window.axe === 'object'"):
            self.page.evaluate(axe.axe_script)
        found = self.page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]


def turn(page: Any) -> None:  # noqa: ANN401 - playwright's
    """Let a page do what it has heard of by now: answers, and what was opened, clicked or typed."""
    from playwright.sync_api import Error  # noqa: PLC0415 - not everywhere

    try:
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    except Error as error:
        if "because of a navigation" not in error.message:  # it went on to another page
            raise


@contextmanager
def browsing(there: There, *, dark: bool = False, width: int = 1280, height: int = 900) -> Iterator[Tab]:
    """A tab with cookies of its own, signed in; skips the test where there is no browser."""
    with chromium() as browser:
        yield sign_in(browser, there, dark=dark, width=width, height=height)


_STARTED: Final[list[tuple[Any, Any]]] = []


@contextmanager
def chromium() -> Iterator[Any]:
    """Chromium, without a window; skips the test where it is missing. Its tabs are closed at the end.

    It is the same for all tests that follow each other; what is in a tab's context is not seen in another one.
    """
    browser = _STARTED[0][1] if _STARTED and _STARTED[0][1].is_connected() else _start()
    try:
        yield browser
    finally:
        for context in browser.contexts:
            context.close()


def _start() -> Any:  # noqa: ANN401 - playwright's
    if find_spec("playwright") is None:
        pytest.skip("playwright is not installed: pip install playwright")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("There is no Chromium here: apt-get install chromium")
    from playwright.sync_api import expect as expected  # noqa: PLC0415 - not everywhere
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - as above

    close_chromium()
    expected.set_options(timeout=PATIENCE)
    driver = sync_playwright().start()
    try:
        browser = driver.chromium.launch(executable_path=found, args=list(_FLAGS), timeout=2 * PATIENCE)
    except BaseException:
        driver.stop()
        raise
    _STARTED.append((driver, browser))
    return browser


def close_chromium() -> None:
    """End it, and playwright, whose event loop would be in the way of tests that have one of their own."""
    while _STARTED:
        driver, browser = _STARTED.pop()
        try:
            browser.close()
        finally:
            driver.stop()


def expect(what: Any) -> Any:  # noqa: ANN401 - playwright's
    """Playwright's `expect`: waits until a page, or what is on it, is as it should be.

    A value that is read right after another thing has come may be older than that thing; this waits for it.
    """
    from playwright.sync_api import expect as expected  # noqa: PLC0415 - not everywhere

    return expected(what)


def sign_in(
    browser: Any,  # noqa: ANN401 - playwright's
    there: Reached,
    *,
    dark: bool = False,
    width: int = 1280,
    height: int = 900,
    phone: bool = False,
) -> Tab:
    """A new tab, with cookies of its own, that is signed in; on a phone it is used with fingers.

    It is empty: what a page does by itself begins when the test opens one, after the test's own routes are there.
    """
    look = "dark" if dark else "light"
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=look,
        reduced_motion="reduce",
        is_mobile=phone,
        has_touch=phone,
    )
    context.set_default_timeout(PATIENCE)
    tab = Tab(context.new_page(), there.address)
    tab.watch()
    assert context.request.get(there.link).ok
    return tab
