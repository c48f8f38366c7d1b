"""Fetching a set's public files, only on request: over https, bounded, checked, and never partial.

Beside the files stands `SHA256SUMS`, in the form that `sha256sum` reads and writes.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import FabulaError, UsageError
from fabula.base.files import read_text, write_atomically, write_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fabula.data.sets import DataSet, PublicFile

    Opener: TypeAlias = Callable[[str], AbstractContextManager[IO[bytes]]]

SUMS: Final = "SHA256SUMS"
_MAX_SUMS_BYTES: Final = 1_000_000
_HEX: Final = 64
_CHUNK: Final = 1 << 20
_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is in place.

    Attributes:
        path: path of the file.
        size: in bytes.
        sha256: of the file.
        checked: how its checksum was checked: "known", "as at the first fetch", or "pinned now".
        new: whether it was fetched now.
    """

    path: Path
    size: int
    sha256: str
    checked: str
    new: bool


def over_https(url: str) -> AbstractContextManager[IO[bytes]]:
    """The answer to a GET request; the system's proxy settings hold, and no redirect leads away from https.

    Raises:
        OSError: there is no answer, or it is an error.
    """
    from urllib.error import URLError  # noqa: PLC0415 - 0.05 s that other commands do not need
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # noqa: PLC0415 - slow to load

    class OnlyHttps(HTTPRedirectHandler):
        def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - urllib's own signature
            if not newurl.startswith("https://"):
                raise URLError(f"{url} leads to {newurl}, which is not https")
            return super().redirect_request(req, fp, code, msg, headers, newurl)

    if not url.startswith("https://"):
        raise URLError(f"{url} is not https")
    request = Request(url, headers={"User-Agent": "fabula"})  # noqa: S310 - https was just checked
    answer: AbstractContextManager[IO[bytes]] = build_opener(OnlyHttps).open(request, timeout=_TIMEOUT)
    return answer


def fetch(data: DataSet, folder: Path, opener: Opener | None = None) -> Iterator[Fetched]:
    """Each file of the set, in `folder`; one that is there already and as its checksum says is not fetched again.

    A checksum that is not known beforehand is written into `SHA256SUMS` at the first fetch and holds from then on.
    `opener` replaces `over_https` (for tests).

    Raises:
        FabulaError: an address does not answer, gives too much, or gives a file with another checksum.
        ProjectError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(folder, error) from error
    for file in data.files:
        yield _one(file, folder, opener or over_https)


def _one(file: PublicFile, folder: Path, opener: Opener) -> Fetched:
    path, held = folder / file.name, pinned(folder).get(file.name, "")
    known, how = (file.sha256, "known") if file.sha256 else (held, "as at the first fetch")
    if known and path.is_file() and sha256(path) == known:
        return Fetched(path, path.stat().st_size, known, how, new=False)
    part = path.with_name(f".{path.name}.part")
    try:
        found = _download(file, part, opener)
        if known and found != known:
            raise FabulaError(
                f"{file.url} sent a file with SHA-256 {found}, expected {known}. Nothing was kept. If its publisher"
                f" has changed it, remove its line from {folder / SUMS}."
            )
        part.replace(path)
    except OSError as error:
        raise write_error(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    pin(folder, {file.name: found})
    return Fetched(path, path.stat().st_size, found, how if known else "pinned now", new=True)


def _download(file: PublicFile, part: Path, opener: Opener) -> str:
    """The SHA-256 of what the address gave, which is in `part`, on the disk."""
    digest, left = hashlib.sha256(), file.limit
    with part.open("wb") as out:
        for piece in _pieces(file, opener):
            left -= len(piece)
            if left < 0:
                raise FabulaError(f"{file.url} sent more than {file.limit:,} bytes. Nothing was kept.")
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _pieces(file: PublicFile, opener: Opener) -> Iterator[bytes]:
    """What the address gives; the network's errors become ours here, so that they are not taken for the disk's."""
    try:
        with opener(file.url) as answer:
            while piece := answer.read(_CHUNK):
                yield piece
    except (OSError, HTTPException) as error:
        raise FabulaError(
            f"Cannot fetch {file.url}: {error}. Check the connection, or fetch it by hand and put it next to the others"
            f" as {file.name}."
        ) from error


# checksums ------------------------------------------------------------------------------------------------------------


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}. Give a readable folder.") from error


def pinned(folder: Path) -> dict[str, str]:
    """The checksums that `SHA256SUMS` of a folder holds, by name of file; none where there is no such file.

    Raises:
        UsageError: a line is no checksum and name.
    """
    path = folder / SUMS
    if not path.is_file():
        return {}
    sums = {}
    for number, line in enumerate(read_text(path, _MAX_SUMS_BYTES).splitlines(), 1):
        digest, _, name = line.partition(" ")
        if line.strip():
            if len(digest) != _HEX or not name.strip():
                raise UsageError(f"{path}, line {number}: not a SHA-256 and a name. Correct the line or remove it.")
            sums[name.strip().removeprefix("*")] = digest.lower()
    return sums


def pin(folder: Path, sums: Mapping[str, str]) -> None:
    """Add checksums to `SHA256SUMS` of a folder.

    Raises:
        UsageError: a line of it is no checksum and name.
        ProjectError: it cannot be written.
    """
    known = pinned(folder) | dict(sums)
    write_atomically(folder / SUMS, "".join(f"{digest}  {name}\n" for name, digest in sorted(known.items())))


def verify(paths: Iterable[Path]) -> None:
    """See that files are as the `SHA256SUMS` next to them says; those that it does not name are let pass.

    Raises:
        UsageError: one is not.
    """
    for path in paths:
        known = pinned(path.parent).get(path.name)
        if known and (found := sha256(path)) != known:
            raise UsageError(
                f"{path} has SHA-256 {found}, but {path.parent / SUMS} says {known}. Fetch the file again, or, if it "
                "was changed on purpose, remove its line from that file."
            )
