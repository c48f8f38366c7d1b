from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabula.base import files
from fabula.base.errors import DiskFullError, ProjectError, UsageError
from fabula.base.files import (
    PRIVATE,
    append_synced,
    held,
    inside,
    lock,
    near_path,
    no_file,
    read_bytes,
    read_text,
    remove_leftovers,
    write_atomically,
)
from fabula.story import SLUG_LENGTH, slug


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_gets_text_as_utf8_and_bytes_as_they_are(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.md", "Zoë\n")
    write_atomically(tmp_path / "b.bin", b"\x00\xff")
    assert (tmp_path / "a.md").read_bytes() == "Zoë\n".encode()
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    assert names(tmp_path) == ["a.md", "b.bin"]


def test_half_a_character_does_not_keep_a_story_from_being_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a.md", "x\ud83dy")
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == "x\ufffdy"


def test_lines_join_none_that_was_torn_and_a_full_disk_leaves_no_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "ratings.jsonl"
    log.write_bytes(b'{"a": 1}\n{"b": ')
    append_synced(log, b'{"c": 3}\n')
    assert log.read_bytes() == b'{"a": 1}\n{"b": \n{"c": 3}\n'
    whole, calls = os.write, []

    def full(handle: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(handle, data[:4])

    before = log.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(DiskFullError):
            append_synced(log, b'{"d": 4}\n')
    assert log.read_bytes() == before
    append_synced(log, b'{"d": 4}\n')
    assert log.read_bytes() == before + b'{"d": 4}\n'


def test_an_existing_file_keeps_its_mode_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_text("x")
    old.chmod(0o640)
    write_atomically(old, "y")
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", "y")
    finally:
        os.umask(before)
    assert old.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o640


def test_a_private_file_is_its_owners_alone(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", "x", mode=PRIVATE)
    append_synced(tmp_path / "b", b"x\n")
    append_synced(tmp_path / "b", b"y\n")
    assert (tmp_path / "b").read_bytes() == b"x\ny\n"
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in "ab"] == [PRIVATE, PRIVATE]


HOLDER = """
import sys
from pathlib import Path
from fabula.base.files import held
with held(Path(sys.argv[1]), "The folder"):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("taken_away", ["nothing", "deleted", "replaced"])
def test_a_lock_that_is_deleted_or_replaced_lets_no_second_writer_in(tmp_path: Path, taken_away: str) -> None:
    lock = tmp_path / "here" / "lock"
    command = [sys.executable, "-c", HOLDER, str(lock.parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        if taken_away != "nothing":
            lock.unlink()
        if taken_away == "replaced":
            lock.write_text("1\n")
        who = {"nothing": f"process {process.pid}", "deleted": "another process", "replaced": "process 1"}[taken_away]
        with pytest.raises(ProjectError, match=rf"^It is in use by {who}\. Wait for it to finish, or stop it\."):
            held(lock.parent, "It").__enter__()
        process.communicate("\n")
    with held(lock.parent, "It"):
        pass


def test_a_lock_without_one_on_its_folder_is_looked_at_again_when_it_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, tries = lock, list[int]()

    def replacing(handle: int) -> None:
        tries.append(handle)
        if len(tries) == 1:
            raise OSError(errno.EBADF, "this disk locks no folder")
        if len(tries) == 2:
            (tmp_path / "lock").unlink()
        real(handle)

    monkeypatch.setattr("fabula.base.files.lock", replacing)
    with held(tmp_path, "It"):
        assert len(tries) == 3
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("Dear diary")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(ProjectError, match=r"lock is a link, which could point anywhere\. Remove it\."):
        held(tmp_path, "It").__enter__()
    assert (tmp_path / "mine").read_text() == "Dear diary"


def test_what_the_dead_left_half_written_goes_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".fabula-0123456789abcdef.tmp").write_text("half")
    for name in (".fabula-notes.tmp", ".fabula-0123456789abcdef.md", "a.tmp"):
        (tmp_path / name).write_text("mine")
    with files._new_file(tmp_path / ".fabula-fedcba9876543210.tmp", [b"half"], 0o666):
        remove_leftovers([tmp_path, tmp_path / "nowhere"])
        assert names(tmp_path) == [
            ".fabula-0123456789abcdef.md",
            ".fabula-fedcba9876543210.tmp",
            ".fabula-notes.tmp",
            "a.tmp",
        ]
    remove_leftovers([tmp_path])
    assert ".fabula-fedcba9876543210.tmp" not in names(tmp_path)


def test_a_link_is_replaced_and_what_it_pointed_to_stays(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_text("mine")
    link.symlink_to(other)
    write_atomically(link, "new")
    assert (other.read_text(), link.read_text(), link.is_symlink()) == ("mine", "new", False)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "Free some space"),
        (errno.EDQUOT, "Free some space"),
        (errno.EACCES, "You do not have permission to write"),
        (errno.EPERM, "You do not have permission to write"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_failure_at_any_step_keeps_the_old_file_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, says: str, step: str
) -> None:
    path = tmp_path / "story.md"
    path.write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(ProjectError) as caught:
        write_atomically(path, "new")
    monkeypatch.undo()
    message = str(caught.value)
    assert message.startswith(f"Cannot write {path}. ")
    assert says in message
    assert message.endswith(". No earlier data is lost.")
    assert (path.read_text(), names(tmp_path)) == ("old", ["story.md"])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_a_write_that_the_system_refuses_as_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "story.md"
    path.write_text("old")
    real = os.open

    def onto_full_disk(_: Path, flags: int, mode: int = 0o777) -> int:
        return real("/dev/full", flags & ~(os.O_CREAT | os.O_EXCL), mode)

    monkeypatch.setattr(os, "open", onto_full_disk)
    with pytest.raises(ProjectError, match="The disk or quota is full"):
        write_atomically(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"


def test_a_kill_in_mid_write_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "story.md", "new")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_synced_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def no_folders(path: Path, flags: int, mode: int = 0o777) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "no")
        return real(path, flags, mode)

    monkeypatch.setattr(os, "open", no_folders)
    write_atomically(tmp_path / "a", "x")
    assert (tmp_path / "a").read_text() == "x"


def test_paths_that_cannot_be_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(ProjectError, match="is a file, not a folder"):
        write_atomically(tmp_path / "file" / "a", "x")
    with pytest.raises(ProjectError, match=r"The folder does not exist. Create it"):
        write_atomically(tmp_path / "none" / "a", "x")
    with pytest.raises(ProjectError, match=r"A folder with that name already exists."):
        write_atomically(tmp_path / "folder", "x")
    assert names(tmp_path) == ["file", "folder"]


def test_read_text_takes_off_a_byte_order_mark_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"\xef\xbb\xbfZo\xc3\xab\r\n")
    assert read_text(path, 9) == "Zoë\r\n"
    with pytest.raises(UsageError, match=r"a is larger than 8 bytes. Use a smaller file."):
        read_text(path, 8)


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"ok\xff", r"is not UTF-8 text \(line 1, byte 2\)\. Save it as UTF-8"), (b"a\0b", "contains binary data")],
)
def test_read_text_names_the_file_that_is_no_text(tmp_path: Path, data: bytes, says: str) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(data)
    with pytest.raises(UsageError, match=f"a.bin {says}"):
        read_text(path, 100)


def test_read_text_of_a_missing_file_a_folder_and_one_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match=r"There is no file .*none\.md\. Correct the name, or give a text file\."):
        read_text(tmp_path / "none.md", 9)
    with pytest.raises(UsageError, match=r"is a folder\. Give a text file\."):
        read_text(tmp_path, 9)

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(
        UsageError, match=r"There is no permission to read .*a\. Correct its permissions, or give a text file that"
    ):
        read_text(tmp_path / "a", 9)


def test_a_missing_file_is_suggested_from_near_names_at_every_step(tmp_path: Path) -> None:
    (tmp_path / "story").mkdir()
    (tmp_path / "story" / "03-climax.md").touch()
    (tmp_path / ".hidden.md").touch()
    (tmp_path / "bad\nname.md").touch()

    def said(name: str) -> str:
        with pytest.raises(UsageError) as caught:
            read_bytes(tmp_path / name, 9, kind="a story")
        return str(caught.value).replace(f"{tmp_path}/", "")

    assert said("story/03-climx.md") == "There is no file story/03-climx.md. Did you mean 'story/03-climax.md'?"
    assert said("strory/03-climax.md") == (
        "There is no file strory/03-climax.md: there is no folder strory. Did you mean 'story/03-climax.md'?"
    )
    assert said("story/none.txt") == "There is no file story/none.txt. Correct the name, or give a story."
    assert said("hidden.md") == "There is no file hidden.md. Correct the name, or give a story."
    assert said("bad-name.md") == "There is no file bad-name.md. Correct the name, or give a story."
    assert len(no_file(Path("a" * 100_000), "Correct it.")) < 400
    assert near_path(Path("\0")) == ""


def test_what_else_stops_reading_is_said_in_the_words_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"Cannot read .*loop: .*\. Give a story that can be read\."):
        read_bytes(tmp_path / "loop", 9, kind="a story")


@pytest.mark.parametrize("name", ["a.md", "plan/characters.md", "..a", "a..b/c", "new/folder/é.md"])
def test_inside_gives_the_path_of_an_honest_name(tmp_path: Path, name: str) -> None:
    assert inside(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../a", "a/../../b", "/etc/passwd", "C:\\a", "C:a", "\\\\host\\a", "..\\a", "a\0b", "a\nb", "/"],
)
def test_inside_refuses_names_that_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"is not the name of a file in .* without '..'"):
        inside(tmp_path, name)


def test_inside_follows_links_and_refuses_those_that_leave(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "plan").mkdir(parents=True)
    (folder / "home").symlink_to(tmp_path)
    (folder / "near").symlink_to(folder / "plan")
    assert inside(folder, "near/a.md") == folder / "near" / "a.md"
    with pytest.raises(UsageError, match="is a link to a place outside"):
        inside(folder, "home/secret")
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    assert inside(linked, "plan/a.md") == linked / "plan" / "a.md"


def test_inside_refuses_a_circle_of_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def circle(_: Path) -> Path:
        raise RuntimeError("Symlink loop")

    monkeypatch.setattr(Path, "resolve", circle)
    with pytest.raises(UsageError, match=r"resolved. Remove the loop of links,"):
        inside(tmp_path, "a")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Rising Action", "rising-action"),
        ("  The Girl's — Café!  ", "the-girls-cafe"),
        ("The Girl\u2019s", "the-girls"),
        ("Straße, Øre & Þing", "strasse-ore-thing"),
        ("scene/3", "scene-3"),
        ("", "untitled"),
        (" \n", "untitled"),
        ("..", "t-"),
        ("CON", "x-con"),
        ("lpt1", "x-lpt1"),
        ("console", "console"),
        ("a" * 100, "a" * 60),
        ("a" * 59 + " bc", "a" * 59),
    ],
)
def test_slug(text: str, name: str) -> None:
    assert slug(text) == name or (name == "t-" and slug(text).startswith(name))


def test_slugs_of_titles_in_other_scripts_stay_apart() -> None:
    assert slug("花の道") != slug("雪の国")
    assert slug("花の道") == slug("花の道")


@given(st.text())
def test_a_slug_is_always_a_safe_file_name(text: str) -> None:
    name = slug(text)
    assert 1 <= len(name) <= SLUG_LENGTH
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert name.strip("-") == name
    assert slug(name) == name
