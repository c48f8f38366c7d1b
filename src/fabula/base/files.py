"""Reads and writes a project's files so that nothing is lost, left half-written, or read from elsewhere."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gzip
import os
import re
import secrets
import shlex
import stat
import sys
import zlib
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Final, Literal

from fabula.base.characters import binary_place, readable
from fabula.base.errors import DiskFullError, LockedError, ProjectError, UsageError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

TEMP_PREFIX: Final = ".fabula-"
BEGUN_BY: Final = "FABULA_BEGUN_BY"
"""The environment variable that names what started a process, if it was not a person: `STUDIO`."""
STUDIO: Final = "studio"
PRIVATE: Final = 0o600
"""The mode of a file that only its owner may read, such as a journal or a chat."""
_HOMES: Final = {  # below the user's own folder, and on a Mac below its `Library`
    "CACHE": (".cache", "Caches"),
    "DATA": (".local/share", "Application Support"),
    "STATE": (".local/state", "Application Support"),
}
_TEMP: Final = re.compile(rf"{re.escape(TEMP_PREFIX)}[0-9a-f]{{16}}\.tmp")
_DEVICES: Final = (("/", "dev"), ("/", "proc"))  # as in `/dev/stdin`, which a person types
_MEMORY: Final = ("/", "dev", "shm")  # a disk like any other
_MOST_NAMES: Final = 2000  # of a folder, among which a mistyped name is searched for
_LONGEST_NAME: Final = 255  # characters
_LONGEST_PATH: Final = 250  # characters that a message shows
_SURROGATE = re.compile("[\ud800-\udfff]")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_OTHER_KINDS: Final = {
    b"PK\x03\x04": "a Word, LibreOffice or ZIP file",
    b"\xd0\xcf\x11\xe0": "an old Word file",
    b"%PDF": "a PDF file",
    b"{\\rtf": "an RTF file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
}
_FULL = "The disk or quota is full. Free some space and run the command again"
_DENIED = "You do not have permission to write there. Change the permissions or choose another folder"
_CAUSES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: "The disk is read-only. Make it writable or choose another folder",
    errno.ENOTDIR: "A part of this path is a file, not a folder. Rename that file or choose another folder",
    errno.ENOENT: "The folder does not exist. Create it or choose another folder",
    errno.ENAMETOOLONG: "The name is too long. Choose a shorter name",
    errno.EISDIR: "A folder with that name already exists. Rename it or choose another name",
}


def write_atomically(path: Path, data: bytes | str | Iterable[str], *, mode: int = 0o666, sync: bool = True) -> None:
    """Replace the file at `path` by `data` in one step: a reader sees the old content or the new, never a part.

    Pieces of text are written as they come. Text is written as UTF-8; a lone surrogate, which UTF-8 cannot hold,
    becomes U+FFFD. An existing file keeps its mode, and a new one has `mode` within the user's umask; a link is
    replaced, not followed. A kill at the wrong moment leaves at most a file `.fabula-*.tmp` behind, which
    `remove_leftovers` removes. With `sync`, it is on the disk when this returns; else a power cut may leave an empty
    file.

    Raises:
        ProjectError: the disk is full or read-only, permission is missing, or the folder does not exist. The file at
            `path` is then unchanged.
    """
    content = [data] if isinstance(data, bytes) else map(_encoded, [data] if isinstance(data, str) else data)
    temp = path.parent / f"{TEMP_PREFIX}{secrets.token_hex(8)}.tmp"
    try:
        try:
            with _new_file(temp, content, mode, sync=sync):
                if (before := _mode(path)) is not None:
                    temp.chmod(before)
                temp.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temp.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(path, error) from error
    if sync:
        sync_folder(path.parent)


def _encoded(text: str) -> bytes:
    return _SURROGATE.sub("\ufffd", text).encode()


def remove_leftovers(folders: Iterable[Path]) -> None:
    """Remove what killed processes left half-written in `folders`; files of living processes are locked."""
    for folder in folders:
        try:
            left = [file for file in folder.iterdir() if _TEMP.fullmatch(file.name)]
        except OSError:
            continue
        for file in left:
            with contextlib.suppress(OSError):
                _remove_unlocked(file)


def _remove_unlocked(file: Path) -> None:
    handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    try:
        lock(handle)
        file.unlink()
    finally:
        os.close(handle)


@contextlib.contextmanager
def held(folder: Path, what: str) -> Iterator[None]:
    """Make `folder` and hold it for this process; the system releases it when the process ends, however it ends.

    Two locks are taken. The lock on the folder itself survives deletion under its holder, but some network disks do
    not support it. They support the lock on the file `lock`, whose text names the process. `what` tells others what is
    held, as the subject of a sentence.

    Raises:
        LockedError: another process holds it.
        ProjectError: it cannot be written or locked.
    """
    file = folder / "lock"
    make_folder(folder, mode=0o700)
    with _folder_held(folder, file, what):
        handle = _locked(folder, file, what)
        try:
            with contextlib.suppress(OSError):  # the number only names the process; a full disk may refuse it
                os.ftruncate(handle, 0)
                os.write(handle, " ".join((str(os.getpid()), os.environ.get(BEGUN_BY, ""))).strip().encode() + b"\n")
            yield
        finally:
            os.close(handle)


@contextlib.contextmanager
def _folder_held(folder: Path, file: Path, what: str) -> Iterator[None]:
    """Hold the folder itself, if folders can be opened and locked."""
    try:
        whole = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise ProjectError(f"Cannot write to {folder}: {error.strerror}. Check its permissions.") from error
    try:
        with contextlib.suppress(OSError):
            _lock(whole, file, what)
        yield
    finally:
        os.close(whole)


def _locked(folder: Path, file: Path, what: str) -> int:
    """The open lock file of a folder, locked; another process may just have replaced the file."""
    while True:
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, PRIVATE)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise ProjectError(f"{file} is a link, which could point anywhere. Remove it.") from error
            raise ProjectError(f"Cannot write to {folder}: {error.strerror}. Check its permissions.") from error
        try:
            _lock(handle, file, what)
            if _same(handle, file):
                return handle
        except OSError as error:
            os.close(handle)
            raise ProjectError(
                f"Cannot lock {file}: {error.strerror}. Move the folder to a disk that supports file locks."
            ) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def lock(handle: int) -> None:
    """Lock an open file or folder for this process only, or fail; the system releases it when the process ends.

    Raises:
        BlockingIOError: another process has locked it.
        OSError: its disk cannot lock files.
    """
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _lock(handle: int, file: Path, what: str) -> None:
    try:
        lock(handle)
    except BlockingIOError as error:
        number, begun_by = holder(file.parent)
        who = "another process" if number is None else f"process {number}"
        if begun_by == STUDIO:
            raise LockedError(
                f"{what} is in use by {who}, a run that was started in the studio. Wait for it to finish, or stop it "
                "in the studio."
            ) from error
        raise LockedError(f"{what} is in use by {who}. Wait for it to finish, or stop it.") from error


def holder(folder: Path) -> tuple[int | None, str]:
    """The number of the process that last held a folder, and who started it if known."""
    with contextlib.suppress(OSError, ValueError):
        reader = os.open(folder / "lock", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
        try:
            number, _, begun_by = os.read(reader, 40).decode().strip().partition(" ")
        finally:
            os.close(reader)
        return int(number), begun_by
    return None, ""


def _same(handle: int, file: Path) -> bool:
    """Whether an open file is the one with this name."""
    try:
        return os.path.samestat(os.fstat(handle), file.lstat())
    except FileNotFoundError:
        return False


def make_folder(folder: Path, way_out: str = "Choose another one.", *, mode: int = 0o777) -> None:
    """Make a folder and its parents if necessary; `way_out` says what to do if that fails.

    Raises:
        ProjectError: it cannot be created.
    """
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(f"Cannot make the folder {folder}: {error.strerror}. {way_out}") from error


def write_error(path: Path, error: OSError) -> ProjectError:
    """An `error` that occurred while writing `path`, as one that says what happened and what to do."""
    code = error.errno or 0
    cause = _CAUSES.get(
        code, f"The operating system reports: {error.strerror or error}. Fix the problem and run the command again"
    )
    kind = DiskFullError if cause == _FULL else ProjectError
    return kind(f"Cannot write {path}. {cause}. No earlier data is lost.")


def _mode(path: Path) -> int | None:
    """The permission bits of the regular file at `path`; `None` if there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


@contextlib.contextmanager
def _new_file(path: Path, content: Iterable[bytes], mode: int, *, sync: bool = True) -> Iterator[None]:
    """A new file at `path` with `content`, on the disk if `sync`, and locked as long as its writer lives."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        with contextlib.suppress(OSError):  # where a disk cannot lock, nothing is ever removed
            lock(file.fileno())
        file.writelines(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())
        yield


def append_synced(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Append lines to a private file, created if necessary; with `sync`, they are on the disk when this returns.

    Either all of `data` is kept or none; it never joins a last line that a kill has cut off.

    Raises:
        ProjectError: it cannot be written.
    """
    try:
        there = path.exists()
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, PRIVATE)
        try:
            _append(handle, data)
            if sync:
                os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise write_error(path, error) from error
    if sync and not there:
        sync_folder(path.parent)


def _append(handle: int, data: bytes) -> None:
    size = os.lseek(handle, 0, os.SEEK_END)
    if size:
        os.lseek(handle, size - 1, os.SEEK_SET)
        if os.read(handle, 1) != b"\n":
            data = b"\n" + data
    try:
        while data:
            data = data[os.write(handle, data) :]
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(handle, size)  # a full disk may have taken a part
        raise


def sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the system can (some network disks cannot)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def no_file(path: Path, advice: str, what: str = "file") -> str:
    """A message that there is no such file: it suggests a file or folder of nearly that name, or else gives `advice`.

    A missing folder above it is named, since that is where the mistake is.
    """
    lost = next((folder for folder in reversed(path.parents) if not os.path.lexists(folder)), None)
    where = f": there is no folder {str(lost)[:_LONGEST_PATH]}" if lost is not None else ""
    near = near_path(path, folders=what == "folder")
    return f"There is no {what} {str(path)[:_LONGEST_PATH]}{where}. " + (f"Did you mean {near!r}?" if near else advice)


def near_path(path: Path, *, folders: bool = False) -> str:
    """The existing file or folder that a path probably means: its names are near those typed; empty if none is.

    A name of another kind is near only if the rest is the same. With `folders`, only folders are meant.
    """
    here = Path(path.anchor)
    for part in path.parts[len(here.parts) :]:
        if len(part) > _LONGEST_NAME:
            return ""
        if not os.path.lexists(step := here / part):
            try:
                with os.scandir(here) as found:
                    names = [
                        one.name
                        for one in islice(found, _MOST_NAMES)
                        if not one.name.startswith(".") and (one.is_dir() or not folders)
                    ]
            except OSError:
                return ""
            typed = Path(part)
            alike = {Path(one).stem: one for one in names if Path(one).suffix == typed.suffix or not typed.suffix}
            same = (one for one in names if Path(one).stem.casefold() == typed.stem.casefold())
            name = alike.get(nearest(typed.stem, alike)) or next(same, "")
            step = here / name
            if not name or not name.isprintable():
                return ""
        here = step
    return str(here)


def unreadable(path: Path, error: OSError | EOFError | zlib.error, kind: str = "a text file") -> str:
    """What happened, and what to do, for an `error` while reading a file of some `kind`, such as "a JSON file"."""
    code = getattr(error, "errno", None)
    if code == errno.ENOENT:
        return no_file(path, f"Correct the name, or give {kind}.", "file" if path.suffix else "file or folder")
    if code == errno.EISDIR:
        return f"{path} is a folder. Give {kind}."
    if code == errno.EACCES:
        return f"There is no permission to read {path}. Correct its permissions, or give {kind} that you may read."
    return f"Cannot read {path}: {getattr(error, 'strerror', None) or error}. Give {kind} that can be read."


def not_utf8(path: Path, data: bytes, error: UnicodeDecodeError) -> str:
    """A message that the `data` of a file is not UTF-8 text: its kind, or the line, and how to convert it."""
    kind = next((kind for mark, kind in _OTHER_KINDS.items() if data.startswith(mark)), "")
    if kind or (b"\0" in data and data[:2] not in _UTF_16):
        return f"{path} is {kind or 'not a text file'}. Save its text as plain text or Markdown in UTF-8, and use that."
    line = data.count(b"\n", 0, error.start) + 1
    name, encoding = shlex.quote(str(path)), "UTF-16" if data[:2] in _UTF_16 else "WINDOWS-1252"
    return (
        f"{path} is not UTF-8 text (line {line}, byte {error.start}). Save it as UTF-8 in your editor, or convert it: "
        f"`iconv -f {encoding} -t UTF-8 {name} > NEW{path.suffix}`."
    )


def _is_device(path: Path) -> bool:
    """Whether a name is that of a device, or of a pipe that a shell made."""
    return path.parts[:2] in _DEVICES and path.parts[:3] != _MEMORY


def no_link(path: str, flags: int) -> int:
    """Open a file that is not a link, without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def read_bytes(path: Path, limit: int, *, links: bool = True, kind: str = "a text file") -> bytes:
    """The content of a file of at most `limit` bytes; a pipe is read only if a device's name is given.

    Without `links`, a link is not followed, even if the name has only just become one. `kind` says what the file
    should be, for messages.

    Raises:
        UsageError: the file cannot be read, is not a file, or is larger than `limit`.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir() and not _is_device(path):
            raise UsageError(
                f"{path} is not a regular file, and reading it might never end. Remove it or replace it with a file."
            )
        with path.open("rb") if links else open(path, "rb", opener=no_link) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(unreadable(path, error, kind)) from error
    if len(data) > limit:
        raise UsageError(f"{path} is larger than {limit:,} bytes. Use a smaller file.")
    return data


def read_text(path: Path, limit: int, *, links: bool = True, kind: str = "a text file") -> str:
    """The text of a UTF-8 file of at most `limit` bytes, cleaned by `readable`; the rest as in `read_bytes`.

    Raises:
        UsageError: the file cannot be read, is larger than `limit`, or is not UTF-8 text.
    """
    data = read_bytes(path, limit, links=links, kind=kind)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(not_utf8(path, data, error)) from error
    if place := binary_place(text):
        raise UsageError(f"{path} contains binary data ({place}). Use a plain text file, or remove that character.")
    return readable(text)


def text_lines(path: Path, longest: int, most: int, kind: str = "a text file") -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file one at a time, with their ends, and their numbers from 1; a `.gz` is unpacked.

    `kind` is as in `read_bytes`.

    Raises:
        UsageError: the file cannot be read, holds more than `most` bytes, or has a line that is longer than `longest`
            or not UTF-8 text; the message says which.
    """
    if path.exists() and not path.is_file() and not _is_device(path):
        raise UsageError(f"{path} is not a file. Give {kind}.")
    number = read = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            while line := file.readline(longest + 1):
                number, read = number + 1, read + len(line)
                if len(line) > longest:
                    raise UsageError(f"{path}, line {number} is longer than {longest:,} bytes. Remove or split it.")
                if read > most:
                    raise UsageError(f"{path} is larger than {most:,} bytes. Use a smaller file.")
                yield number, _decoded(line, f"{path}, line {number}", first=number == 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(unreadable(path, error, kind)) from error


def _decoded(line: bytes, where: str, *, first: bool) -> str:
    try:
        text = line.decode("utf-8-sig" if first else "utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8 text (byte {error.start}). Save the file as UTF-8 text.") from error
    if binary_place(text):
        raise UsageError(f"{where} contains binary data. Use a plain text file, or remove that line.")
    return text


def is_plain(file: Path) -> bool:
    """Whether a file exists, and is neither a pipe nor a link that leaves the project, the folder above its own."""
    try:
        if file.is_symlink():
            inside(file.parent.parent, f"{file.parent.name}/{file.name}")
        return file.is_file()
    except (UsageError, OSError):
        return False


def plain_files(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that match a pattern and are `is_plain`, in order."""
    return [file for file in sorted(folder.glob(pattern)) if is_plain(file)]


def inside(folder: Path, name: str) -> Path:
    """`folder / name`, which is in `folder` even after links are followed; it need not exist.

    `name` may have sub-folders, separated by `/`.

    Raises:
        UsageError: `name` is empty or absolute, holds `..`, or a link on its way leaves the folder.
    """
    windows = PureWindowsPath(name)
    parts = (*windows.parts, *PurePosixPath(name).parts)
    if not windows.name or windows.drive or windows.root or ".." in parts or not name.isprintable():
        raise UsageError(f"{name!r} is not the name of a file in {folder}. Use a relative path without '..'.")
    path = folder / name
    try:
        stays = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:  # RuntimeError: how Python 3.11 and 3.12 report a circle of links
        raise UsageError(f"{path} cannot be resolved. Remove the loop of links, or shorten the name.") from error
    if not stays:
        raise UsageError(f"{path} is a link to a place outside {folder}. Replace the link with the file itself.")
    return path


def user_folder(kind: Literal["CACHE", "DATA", "STATE"], environ: Mapping[str, str]) -> Path:
    """The folder `fabula` in a user folder: a cache, the user's data, or decisions made on the way.

    A relative `XDG_CACHE_HOME` (or `_DATA_`, `_STATE_`) is ignored, as the XDG base directory specification asks.
    """
    above = Path(environ.get(f"XDG_{kind}_HOME", ""))
    if not above.is_absolute():
        usual, on_mac = _HOMES[kind]
        user = Path(environ.get("HOME") or Path.home())
        above = user / "Library" / on_mac if sys.platform == "darwin" else user / usual
    return above / "fabula"
