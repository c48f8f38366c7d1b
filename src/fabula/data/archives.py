"""Reading members of archives, line by line and bounded; nothing is ever unpacked to the disk.

An archive from elsewhere is hostile until its checksum is known: a member is found by the last part of its name and
read as a stream, so that no path of the archive is followed, and at most so many bytes are taken out of it.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from fabula.base.errors import UsageError

_CHUNK: Final = 1 << 16
_BROKEN: Final = (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError)


def _plain(path: Path) -> IO[bytes]:
    return path.open("rb")


_UNPACKED: Final[Mapping[str, Callable[[Path], Any]]] = {
    ".gz": gzip.GzipFile,
    ".tgz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


class _Bounded(io.RawIOBase):
    """A stream that ends with an error once more than `limit` bytes were read from it."""

    def __init__(self, inner: IO[bytes], limit: int, name: str) -> None:
        super().__init__()
        self._inner, self._left, self._limit, self._name = inner, limit, limit, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - a buffer of any kind
        piece = self._inner.read(min(len(buffer), _CHUNK))
        self._left -= len(piece)
        if self._left < 0:
            raise UsageError(f"{self._name} has more than {self._limit:,} bytes. It is not the expected file.")
        buffer[: len(piece)] = piece
        return len(piece)


def lines(path: Path, name: str, limit: int) -> Iterator[tuple[int, str]]:
    """The lines, with their numbers from 1, of the text `name` in a folder, or in a zip or tar file.

    Only line feeds end a line. At most `limit` bytes are read, of a tar file also those before the member.

    Raises:
        UsageError: there is no such member, it holds more bytes, is not UTF-8, or the archive is damaged.
    """
    where = f"{name} in {path}"
    with _guarded(where), ExitStack() as held:
        stream = _opened(path, name, limit, held)
        text = io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="\n")
        held.callback(text.close)
        for number, line in enumerate(text, 1):
            yield number, line.rstrip("\r\n")


def content(path: Path, name: str, limit: int) -> bytes:
    """The bytes of the member `name`, at most `limit`.

    Raises:
        UsageError: as for `lines`.
    """
    with _guarded(f"{name} in {path}"), ExitStack() as held:
        return _opened(path, name, limit, held).read()


def holds(path: Path, name: str) -> bool:
    """Whether a zip file has a member of that name.

    Raises:
        UsageError: it is damaged.
    """
    with _guarded(str(path)), zipfile.ZipFile(path) as archive:
        return any(PurePosixPath(info.filename).name == name for info in archive.infolist() if not info.is_dir())


@contextmanager
def _guarded(where: str) -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8 text. Fetch the file again.") from error
    except _BROKEN as error:
        raise UsageError(f"{where} cannot be read ({error}). Fetch the file again.") from error


def _opened(path: Path, name: str, limit: int, held: ExitStack) -> _Bounded:
    where = f"{name} in {path}"
    if path.is_dir():
        found = [file for file in (path / name, *sorted(path.glob(f"*/{name}"))) if file.is_file()]
        if not found:
            raise UsageError(f"There is no {name} in {path}. Give the folder or archive that holds the data.")
        return _Bounded(held.enter_context(found[0].open("rb")), limit, where)
    if zipfile.is_zipfile(path):
        return _Bounded(_of_zip(path, name, held), limit, where)
    return _of_tar(path, name, limit, held)


def _of_zip(path: Path, name: str, held: ExitStack) -> IO[bytes]:
    archive = held.enter_context(zipfile.ZipFile(path))
    for info in archive.infolist():
        if not info.is_dir() and PurePosixPath(info.filename).name == name:
            return held.enter_context(archive.open(info))
    raise UsageError(f"{path} does not contain {name}. Give the archive as it was published.")


def _of_tar(path: Path, name: str, limit: int, held: ExitStack) -> _Bounded:
    packed: IO[bytes] = held.enter_context(_UNPACKED.get(path.suffix, _plain)(path))
    whole = _Bounded(packed, limit, str(path))  # skipping a member unpacks it, too
    archive = held.enter_context(tarfile.open(fileobj=io.BufferedReader(whole), mode="r|"))  # noqa: SIM115 - the caller's stack closes it
    for info in archive:
        if info.isfile() and PurePosixPath(info.name).name == name:
            member = archive.extractfile(info)
            if member is not None:
                return _Bounded(member, limit, f"{name} in {path}")
    raise UsageError(f"{path} does not contain {name}. Give the archive as it was published.")
