"""Tests of pages that follow each other share one Chromium; see `studio.chromium`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from studio import close_chromium

if TYPE_CHECKING:
    import pytest

HERE = Path(__file__).parent


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close it before a test that is no test of pages."""
    if nextitem is None or nextitem.path.parent != HERE:
        close_chromium()
