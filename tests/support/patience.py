"""Waiting for what a thread, a process or a page does: by looking again, for longer than any machine takes.

No test says with a clock how quick something is: `growth` compares, `benchmarks/` measures.
"""

from __future__ import annotations

from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
SECONDS: Final = 120.0


def wait_until(ready: Callable[[], T], what: object = "", pause: Callable[[], object] = lambda: sleep(0.02)) -> T:
    """What `ready` gives once it is true; looks again after each `pause`, in which a page can go on with its work."""
    end = monotonic() + SECONDS
    while not (found := ready()):
        assert monotonic() < end, f"it does not come: {what}"
        pause()
    return found
