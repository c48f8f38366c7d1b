"""Telling weights apart without reading all of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_EDGE: Final = 1 << 20
_SAMPLE: Final = 1 << 16
DIGITS: Final = 12


def fingerprint(path: Path, samples: int = 0) -> str:
    """First digits of sha256 over a file's size, first and last MiB: enough to tell weights apart, and instant.

    Args:
        path: the file.
        samples: of 64 KiB each, evenly spread over the file, that count too: for weights of which training may have
            changed only some in the middle.

    Raises:
        OSError: the file cannot be read.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.sha256(size.to_bytes(8, "little") + file.read(_EDGE))
        file.seek(max(0, size - _EDGE))
        digest.update(file.read(_EDGE))
        for n in range(samples if size > 2 * _EDGE else 0):
            file.seek(_EDGE + n * (size - 2 * _EDGE) // samples)
            digest.update(file.read(_SAMPLE))
    return digest.hexdigest()[:DIGITS]
