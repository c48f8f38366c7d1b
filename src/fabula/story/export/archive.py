"""ZIP files whose bytes depend only on their content."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest date that a zip file can hold
_UNIX = 3
_READABLE = 0o100644 << 16


def pack(files: Mapping[str, bytes], *, first: str, stored: bool = False) -> bytes:
    """A ZIP file of `files` by name: first `first`, uncompressed if `stored`, and then the other files, sorted."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name in (first, *sorted(files.keys() - {first})):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system, info.external_attr = _UNIX, _READABLE
            info.compress_type = zipfile.ZIP_STORED if stored and name == first else zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return target.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    """The files in a ZIP file, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
