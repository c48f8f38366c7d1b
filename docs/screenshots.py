"""`make screenshots`: every page of the studio, on the sample project, in both looks, on a wide screen and on a phone.

All of them are written to `build/screenshots`, to be looked at; the few that the documentation shows lie in
`docs/pictures/studio` too.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from fabula.project.folder import ProjectFolder  # noqa: E402 - tests/support has to be found first
from fabula.project.sample import copy_sample  # noqa: E402 - as above
from fabula.server.studio.pages import routers  # noqa: E402 - as above
from fabula.server.studio.rendering import PAGES  # noqa: E402 - as above
from fabula.story import Brief  # noqa: E402 - as above
from studio import SAMPLE, chromium, sign_in, studio_there  # noqa: E402 - as above

OUT: Final = ROOT / "build" / "screenshots"
SHOWN: Final = ROOT / "docs" / "pictures" / "studio"
_SIZES: Final = ((1280, 800), (360, 740))
_KEPT: Final = ("edit-light-1280", "plan-dark-1280", "write-dark-360")
_CHAT: Final = "joanne-starling-wendy-clabburn"  # of the sample
_SETTLED: Final = 1500  # milliseconds in which a page has fetched what it shows
_BRIEF: Final = "A lighthouse keeper finds a letter in a bottle, in her own hand, from a winter that is still to come."


def main() -> None:
    """Take the pictures."""
    OUT.mkdir(parents=True, exist_ok=True)
    SHOWN.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="fabula-screenshots-") as folder:
        home = Path(folder) / "stories"
        copy_sample(home / SAMPLE)
        ProjectFolder.create(home / "letter", Brief(_BRIEF, "The Letter"), {"model": "hand"})
        with studio_there(home) as there, chromium() as browser:
            for look in ("light", "dark"):
                for width, height in _SIZES:
                    tab = sign_in(browser, there, dark=look == "dark", width=width, height=height)
                    for name, path in addresses(there.state.shelf.names):
                        tab.open(path)
                        tab.page.wait_for_timeout(_SETTLED)
                        file = f"{name}-{look}-{width}"
                        tab.page.screenshot(path=OUT / f"{file}-whole.png", full_page=True)
                        for folder_ in (OUT, *([SHOWN] if file in _KEPT else [])):
                            tab.page.screenshot(path=folder_ / f"{file}.png")
                    tab.page.context.close()
    print(f"The pictures: {OUT}")  # noqa: T201 - of a script


def addresses(projects: list[str]) -> list[tuple[str, str]]:
    """What each page is called, and where it is."""
    name = SAMPLE if SAMPLE in projects else projects[0]
    pages = [(page, f"/projects/{name}/{page}") for page, _ in PAGES if page in routers()]
    inner = [("conversation", f"/projects/{name}/talk/{_CHAT}"), ("call", f"/projects/{name}/calls/5")]
    return [("shelf", "/"), ("new", "/new"), *pages, *inner]


if __name__ == "__main__":
    main()
