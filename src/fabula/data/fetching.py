"""Fetching a set's public files, only when asked: over https, bounded, checked, never half there."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException
from typing import IO, TYPE_CHECKING, Final, TypeAlias

from fabula.base.errors import FabulaError
from fabula.base.files import write_error
from fabula.data.checksums import pin, pinned, sha256

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from fabula.data.sets import DataSet, PublicFile

    Opener: TypeAlias = Callable[[str], AbstractContextManager[IO[bytes]]]

_CHUNK: Final = 1 << 20
_TIMEOUT: Final = 60.0


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is in place.

    Attributes:
        path: where.
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
    from urllib.request import HTTPRedirectHandler, Request, build_opener  # noqa: PLC0415 - as above

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
                f"{file.url} gave a file with SHA-256 {found}, expected {known}. Nothing was kept. If its publisher"
                f" has changed it, take its line out of {folder / 'SHA256SUMS'}."
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
                raise FabulaError(f"{file.url} gives more than {file.limit:,} bytes. Nothing was kept.")
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _pieces(file: PublicFile, opener: Opener) -> Iterator[bytes]:
    """What the address gives; the network's errors become ours here, so that the disk's are told apart."""
    try:
        with opener(file.url) as answer:
            while piece := answer.read(_CHUNK):
                yield piece
    except (OSError, HTTPException) as error:
        raise FabulaError(
            f"Cannot fetch {file.url}: {error}. Check the connection, or fetch it by hand and put it beside the others"
            f" as {file.name}."
        ) from error
