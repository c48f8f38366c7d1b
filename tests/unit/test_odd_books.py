"""Books of odd shapes come back as they were from every format that is both read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.odd_books import PROSE, SCRIPTS, kept, pairs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("suffix", [*PROSE, *SCRIPTS])
def test_books_come_back_as_they_were(suffix: str, tmp_path: Path) -> None:
    names = [name for format_, name in pairs() if format_ == suffix and name != "six hundred chapters"]
    lost = {name: why for number, name in enumerate(names) if (why := kept(name, suffix, tmp_path / str(number)))}
    assert lost == {}
