"""SHA-256 of data files, and the file SHA256SUMS beside them, in the form that `sha256sum` reads and writes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.files import read_text, write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

NAME: Final = "SHA256SUMS"
_MAX_BYTES: Final = 1_000_000
_HEX: Final = 64


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}. Give a folder that can be read.") from error


def pinned(folder: Path) -> dict[str, str]:
    """The checksums that `SHA256SUMS` of a folder holds, by name of file; none where there is no such file.

    Raises:
        UsageError: a line is no checksum and name.
    """
    path = folder / NAME
    if not path.is_file():
        return {}
    sums = {}
    for number, line in enumerate(read_text(path, _MAX_BYTES).splitlines(), 1):
        digest, _, name = line.partition(" ")
        if line.strip():
            if len(digest) != _HEX or not name.strip():
                raise UsageError(f"{path}, line {number}: not a SHA-256 and a name. Mend the line or take it out.")
            sums[name.strip().removeprefix("*")] = digest.lower()
    return sums


def pin(folder: Path, sums: Mapping[str, str]) -> None:
    """Add checksums to `SHA256SUMS` of a folder.

    Raises:
        UsageError: a line of it is no checksum and name.
        ProjectError: it cannot be written.
    """
    told = pinned(folder) | dict(sums)
    write_atomically(folder / NAME, "".join(f"{digest}  {name}\n" for name, digest in sorted(told.items())))


def verify(paths: Iterable[Path]) -> None:
    """See that files are as the `SHA256SUMS` beside them says; those that it does not name are let pass.

    Raises:
        UsageError: one is not.
    """
    for path in paths:
        known = pinned(path.parent).get(path.name)
        if known and (found := sha256(path)) != known:
            raise UsageError(
                f"{path} has SHA-256 {found}, but {path.parent / NAME} says {known}. Fetch the file again, or, if it "
                "was changed on purpose, take its line out there."
            )
