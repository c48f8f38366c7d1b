"""The site is built offline, every link of it leads somewhere, and it can be used by everybody who reads it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

import pytest

from studio import PATIENCE
from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEADS: Final = {"a": "href", "link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src"}
_FETCHED: Final = ("link", "script", "img", "iframe", "source")
_IN_STYLES: Final = re.compile(r"(?:url\(|@import)\s*[\"']?(https?:)?//")
# Those of the pages that are unlike each other; `make simulate` tries all.
DIFFERENT: Final = (
    "index.html",
    "sample.html",
    "tutorial/first-story.html",
    "how-to/models.html",
    "reference/choosing.html",
    "reference/commands.html",
    "reference/systems.html",
    "design/index.html",
    "repository/examples/mixed_room.py.html",
    "repository/examples/projects/sufficient-knowledge/story.html",
    "architecture.html",
    "repository/SECURITY.html",
)


class Page(HTMLParser):
    """The ids of a page and where it leads: tag and address."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.leads: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        if (where := given.get(_LEADS.get(tag, ""))) is not None and given.get("rel") != "canonical":
            self.leads.append((tag, where))


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed: pip install 'fabula[docs]'")
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)]
    # A proxy where nobody listens: a build that asked the network would fail.
    environ = os.environ | {
        "NO_MKDOCS_2_WARNING": "1",
        "https_proxy": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr
    return built


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_link_leads_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    dead = [
        f"{path.relative_to(site)}: {where}"
        for path, page in pages.items()
        for _, where in page.leads
        if not urlsplit(where).scheme and not _there(site, path, where, pages)
    ]
    assert not dead
    assert len(pages) > 80
    assert sum(len(page.leads) for page in pages.values()) > 5000


def _there(site: Path, origin: Path, where: str, pages: dict[Path, Page]) -> bool:
    link = urlsplit(where)
    if link.path.startswith("/"):  # only the page for addresses that are not there has such links
        target = site / link.path.lstrip("/")
    else:
        target = (origin.parent / unquote(link.path)).resolve() if link.path else origin
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    return not link.fragment or target.suffix != ".html" or unquote(link.fragment) in pages[target].ids | {"__top"}


def test_nothing_is_fetched_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    fetched = {
        where for page in pages.values() for tag, where in page.leads if tag in _FETCHED and urlsplit(where).netloc
    }
    assert not fetched
    styles = [path.name for path in site.rglob("*.css") if _IN_STYLES.search(path.read_text(encoding="utf-8"))]
    assert not styles


def test_what_stands_in_the_repository_can_be_read_in_the_site(pages: dict[Path, Page], site: Path) -> None:
    for name in ("CHANGELOG.html", "CONTRIBUTING.html", "CITATION.cff.html", "examples/own_orchestrator.py.html"):
        assert site / "repository" / name in pages


@pytest.fixture  # for each test anew: as long as one is open, its event loop keeps others from running
def browser() -> Iterator[Any]:
    if find_spec("playwright") is None or find_spec("axe_playwright_python") is None:
        pytest.skip("playwright and axe-playwright-python are not installed, which look at pages as a browser does.")
    from playwright.sync_api import Error, sync_playwright  # noqa: PLC0415 - an optional package

    with sync_playwright() as player:
        try:
            browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        except Error:
            pytest.skip("There is no Chromium: `playwright install chromium`, or one of the system.")
        yield browser
        browser.close()


WAYS: Final = tuple(product((1280, 360), ("light", "dark")))


@pytest.mark.slow
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.simulation)], ids=["some", "all"])
def test_pages_have_no_barriers(site: Path, browser: Any, *, every: bool) -> None:  # noqa: ANN401 - of an optional package
    """Each page in one of four ways in turn: wide or on a phone, light or dark; `make simulate` tries all."""
    axe = import_module("axe_playwright_python.sync_playwright").Axe()
    names = sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html")) if every else DIFFERENT
    page, found = browser.new_page(), []
    for number, name in enumerate(names):
        for width, look in WAYS if every else [WAYS[number % len(WAYS)]]:
            page.emulate_media(color_scheme=look)
            page.set_viewport_size({"width": width, "height": 900})
            page.goto((site / name).as_uri())
            for violation in axe.run(page).response["violations"]:
                nodes = [node["html"][:160] for node in violation["nodes"]]
                found += [f"{name}, {width} {look}: {violation['id']}: {node}" for node in nodes]
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"{name}, {width} {look}: wider than the window")
    page.close()
    assert not found, "\n".join(found)


ASKED: Final = {
    "reading on a kobo": "how-do-i-export-to-epub",  # a word that only docs/finding.py has
    "write custom agent plugin": "how-do-i-add-my-own-agent",  # which pages have as "plug-in"
    "prose sounds like AI": "why-does-the-prose",  # though "prose" is the heading of others
    "which system should I use": "which-system",
    "choose a system": "reference/choosing",
    "does multi-agent beat one prompt": "is-it-better-than-chatgpt",
    "reproduce Re3 or DOC baseline": "which-published-papers",
    "rename a character everywhere": "how-do-i-rename",
}


@pytest.mark.slow
def test_search_works_from_files(site: Path, browser: Any) -> None:  # noqa: ANN401 - of an optional package
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("flashback")
    page.wait_for_selector(".md-search-result__link[href*='pictures-of-time']", timeout=PATIENCE, state="attached")
    for question, found in ASKED.items():
        page.keyboard.press("Control+a")
        page.keyboard.type(question)
        first = f".md-search-result__item:first-child .md-search-result__link[href*='{found}']"
        page.wait_for_selector(first, timeout=PATIENCE, state="attached")
    # What a section lacks is shown as it was typed, not as the stem that is looked for.
    page.wait_for_selector(f"{first} .md-search-result__terms:has-text('everywhere')", timeout=PATIENCE)
    page.close()


def test_every_column_of_a_table_has_a_name(site: Path) -> None:
    nameless = [path.name for path in site.rglob("*.html") if "<th></th>" in path.read_text(encoding="utf-8")]
    assert not nameless, "a table's first line names each column"
