"""Where the ground truth of the papers' tables lies, which is not part of this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"


def data_folder(*parts: str) -> Path:
    """The folder (or a part) that `FABULA_DATA` names, else the one beside the project; skips where it is absent."""
    folder = Path(os.environ.get("FABULA_DATA") or _BESIDE).joinpath(*parts)
    if not folder.exists():
        pytest.skip(f"The ground truth {'/'.join(parts) or 'folder'} is not on this machine; set FABULA_DATA to it.")
    return folder
