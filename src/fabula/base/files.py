"""Reading and writing a project's files so that nothing is lost, left half-written, or read from elsewhere."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path, PurePosixPath, PureWindowsPath

from fabula.base.characters import binary_place, readable
from fabula.base.errors import ProjectError, UsageError

TEMP_PREFIX = ".fabula-"
_SURROGATE = re.compile("[\ud800-\udfff]")
_FULL = "The disk or quota is full. Free some space and run the command again"
_DENIED = "There is no permission to write there. Change the permissions or choose another folder"
_CAUSES = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _DENIED,
    errno.EPERM: _DENIED,
    errno.EROFS: "The disk is read-only. Make it writable or choose another folder",
    errno.ENOTDIR: "A part of this path is a file, not a folder. Rename that file or choose another folder",
    errno.ENOENT: "Its folder does not exist. Create the folder or choose another one",
    errno.EISDIR: "A folder of that name is in the way. Rename the folder or choose another name",
}


def write_atomically(path: Path, data: bytes | str) -> None:
    """Replace the file at `path` by `data` in one step: a reader sees the old content or the new, never a part.

    Text is written as UTF-8; a lone surrogate, which UTF-8 cannot hold, becomes U+FFFD. An existing file keeps its
    mode; a link is replaced, not followed. A kill at the wrong instant leaves at most a file `.fabula-*.tmp` behind.

    Raises:
        ProjectError: the disk is full or read-only, permission is missing, or the folder is none. The file at
            `path` is then as it was.
    """
    content = _SURROGATE.sub("\ufffd", data).encode() if isinstance(data, str) else data
    temp = path.parent / f"{TEMP_PREFIX}{secrets.token_hex(8)}.tmp"
    try:
        try:
            _write_synced(temp, content, mode=_mode(path))
            temp.replace(path)
        finally:
            with contextlib.suppress(OSError):
                temp.unlink(missing_ok=True)
    except OSError as error:
        raise write_error(path, error) from error
    _sync_folder(path.parent)


def make_folder(folder: Path, way_out: str = "Choose another one.") -> None:
    """Make a folder with those above it, where it is not there; `way_out` says what to do where it cannot be.

    Raises:
        ProjectError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ProjectError(f"Cannot make the folder {folder}: {error.strerror}. {way_out}") from error


def write_error(path: Path, error: OSError) -> ProjectError:
    """`error`, met while writing `path`, as one that says what happened and what to do."""
    code = error.errno or 0
    cause = _CAUSES.get(code, f"The system says: {error.strerror or error}. Solve that and run the command again")
    return ProjectError(f"Cannot write {path}. {cause}; nothing that was there before is lost.")


def _mode(path: Path) -> int | None:
    """The permission bits of the regular file at `path`; `None` where there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else None


def _write_synced(path: Path, content: bytes, mode: int | None) -> None:
    """A new file at `path` with `content`, on the disk when this returns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o666), "wb") as file:  # 0o666: the user's umask decides, as for any new file
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can (Windows and some network disks cannot)."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def read_text(path: Path, limit: int) -> str:
    """The text of a UTF-8 file of at most `limit` bytes, as `readable` leaves it.

    Raises:
        UsageError: the file cannot be read, is larger than `limit`, or is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}. Give a text file that can be read.") from error
    if len(data) > limit:
        raise UsageError(f"{path} is larger than {limit:,} bytes. Give a smaller file.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8 text.") from error
    if place := binary_place(text):
        raise UsageError(f"{path} holds binary data ({place}). Give a plain text file, or take that character out.")
    return readable(text)


def inside(folder: Path, name: str) -> Path:
    """`folder / name`, known to lie in `folder` also when links are followed; it need not exist.

    `name` may have sub-folders, separated by `/`.

    Raises:
        UsageError: `name` is empty or absolute, holds `..`, or a link on its way leaves the folder.
    """
    windows = PureWindowsPath(name)
    parts = (*windows.parts, *PurePosixPath(name).parts)
    if not windows.name or windows.drive or windows.root or ".." in parts or not name.isprintable():
        raise UsageError(f"{name!r} is not the name of a file in {folder}. Give a relative name without '..'.")
    path = folder / name
    try:
        stays = path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError) as error:  # RuntimeError: how Python 3.11 and 3.12 report a circle of links
        raise UsageError(f"{path} cannot be followed. Remove the circle of links or the overlong name.") from error
    if not stays:
        raise UsageError(f"{path} is a link that leaves {folder}. Put the file itself there.")
    return path
