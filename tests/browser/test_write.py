"""The Write page in a browser: the room while it writes, reloads, tabs, the server killed and started again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from studio import browsing, chromium, sign_in, studio_there

if TYPE_CHECKING:
    from collections.abc import Iterator

    from studio import There

PROGRAM = Path(__file__).parents[1] / "support" / "long_work.py"
WRITE = "/projects/sample/write"
TEXTS = "() => window.fabulaRoom.texts()"


def whole(roles: int, tokens: int) -> dict[str, str]:
    """What each pane shows in the end."""
    return {f"role-{n}": f"[scene/{n}]\n" + "".join(f"{n}.{token} " for token in range(tokens)) for n in range(roles)}


def working(there: There) -> There:
    """A studio whose runs are done by the program that stands in for `fabula`."""
    there.state.runs.command = (sys.executable, str(PROGRAM))
    return there


def start(there: There) -> dict[str, Any]:
    with there.client() as client:
        return dict(client.post("/api/v1/projects/sample/runs", json={}).raise_for_status().json())


def ends(tab: Any, roles: int, tokens: int) -> None:  # noqa: ANN401 - playwright's
    """Wait until a page shows all of every role's text, and nothing else."""
    wanted = whole(roles, tokens)
    tab.wait_for_function(
        "wanted => { const has = window.fabulaRoom?.texts() ?? {}; return Object.keys(wanted).every((r) => has[r]?.length >= wanted[r].length) }",
        arg=wanted,
        timeout=30_000,
    )
    assert tab.evaluate(TEXTS) == wanted


@pytest.fixture
def there(tmp_path: Path) -> Iterator[There]:
    environ = {"ROLES": "4", "TOKENS": "150", "PAUSE": "0.01"}
    with studio_there(tmp_path / "shelf", environ) as found:
        yield working(found)


def test_the_room_is_watched_and_is_the_same_after_a_reload_in_the_middle(there: There) -> None:
    with browsing(there) as tab:
        tab.open(WRITE)
        start(there)
        tab.page.wait_for_function("() => (window.fabulaRoom.texts()['role-3'] ?? '').length > 100", timeout=20_000)
        tab.page.reload()
        ends(tab.page, 4, 150)
        tab.page.wait_for_selector("#run[data-state=finished]")
        assert tab.page.locator("#scratchpad li").count() == 4
        assert "600 tokens" not in tab.page.inner_text("#run")
        assert "640" in tab.page.inner_text("#run")
        tab.check()
