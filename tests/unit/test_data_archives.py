"""Archives that are hostile, damaged or not what they should be; and the corpora that are read from archives."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import UnknownNameError, UsageError
from fabula.data.archives import content, lines
from fabula.data.corpora import wikiplots, writing_prompts

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def zipped(path: Path, members: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def tarred(path: Path, members: Mapping[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


def test_a_path_of_an_archive_is_never_followed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    path = zipped(folder / "a.zip", {"../../evil": "x", "/etc/plots": "a\r\nb\n"})
    assert list(lines(path, "plots", 100)) == [(1, "a"), (2, "b")]
    assert content(path, "evil", 100) == b"x"
    assert [file.name for file in tmp_path.rglob("*")] == ["data", "a.zip"]


def test_links_of_a_tar_file_are_no_members(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("plots")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        archive.addfile(link)
    with pytest.raises(UsageError, match="does not contain plots"):
        content(path, "plots", 100_000)


@pytest.mark.parametrize("before", [False, True])
def test_a_bomb_is_stopped(tmp_path: Path, before: bool) -> None:  # noqa: FBT001 - a case of the table
    big = "0" * 5_000_000
    for path in (
        zipped(tmp_path / "a.zip", {"plots": big}),
        tarred(tmp_path / "a.tar.gz", {"x" if before else "plots": big, "plots": big}),
    ):
        with pytest.raises(UsageError, match="has more than 100,000 bytes"):
            list(lines(path, "plots", 100_000))


def test_damaged_archives_are_named(tmp_path: Path) -> None:
    path = tarred(tmp_path / "a.tar.gz", {"plots": "line\n" * 10_000})
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UsageError, match=r"plots in .*a\.tar\.gz cannot be read"):
        list(lines(path, "plots", 1_000_000))
    packed = zipped(tmp_path / "b.zip", {"plots": "line\n" * 1000})
    data = bytearray(packed.read_bytes())
    data[45] ^= 0xFF
    packed.write_bytes(bytes(data))
    with pytest.raises(UsageError, match=r"b\.zip cannot be read"):
        list(lines(packed, "plots", 1_000_000))
    (tmp_path / "plots").write_bytes(b"\xff\n")
    with pytest.raises(UsageError, match="is not UTF-8 text"):
        list(lines(tmp_path, "plots", 1_000_000))
    (tmp_path / "c.txt").write_text("no archive")
    with pytest.raises(UsageError, match="cannot be read"):
        content(tmp_path / "c.txt", "plots", 100)
    with pytest.raises(UsageError, match=r"There is no titles in"):
        content(tmp_path, "titles", 100)


def test_wikiplots_are_titles_with_sentences(tmp_path: Path) -> None:
    members = {"plots": "One.\nTwo.\n<EOS>\nThree.\n<EOS>\n", "titles": "A\nB\n"}
    zipped(tmp_path / "plots.zip", members)
    for path in (tmp_path, tmp_path / "plots.zip"):
        found = list(wikiplots(path))
        assert [(plot.title, plot.text) for plot in found] == [("A", "One. Two."), ("B", "Three.")]
    folder = tmp_path / "plain"
    folder.mkdir()
    for name, text in members.items():
        (folder / name).write_text(text)
    assert len(list(wikiplots(folder))) == 2


@pytest.mark.parametrize(
    ("plots", "titles", "expected"),
    [
        ("One.\n<EOS>\n", "", "the plot that ends in line 2 of 'plots' has no title"),
        ("One.\n<EOS>\n", "A\nB\n", "the title in line 2 of 'titles' has no plot"),
        ("One.\n<EOS>\nTwo.\n", "A\n", "'plots' ends in line 3 within a plot"),
    ],
)
def test_wikiplots_that_do_not_fit_are_named(tmp_path: Path, plots: str, titles: str, expected: str) -> None:
    zipped(tmp_path / "plots.zip", {"plots": plots, "titles": titles})
    with pytest.raises(UsageError, match=expected):
        list(wikiplots(tmp_path))


def test_writing_prompts_are_pairs_of_lines(tmp_path: Path) -> None:
    source = "[ WP ] A door opens .\n[ EU ] Another .\nNo tag\n"
    # U+2028 ends a line for str.splitlines, and would shift every later story.
    target = "He went in . <newline> <newline> Dark .\nB\u2028b\nC\n"
    tarred(
        tmp_path / "writingPrompts.tar.gz",
        {"writingPrompts/test.wp_source": source, "writingPrompts/test.wp_target": target},
    )
    found = list(writing_prompts(tmp_path, "test"))
    assert [(pair.tag, pair.prompt) for pair in found] == [
        ("WP", "A door opens ."),
        ("EU", "Another ."),
        ("", "No tag"),
    ]
    assert [pair.story for pair in found] == ["He went in .\n\nDark .", "B\u2028b", "C"]
    with pytest.raises(UnknownNameError, match=r"'tests'\. Did you mean 'test'"):
        list(writing_prompts(tmp_path, "tests"))


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [("a\nb\n", "x\n", "line 2 of .* has no story"), ("a\n", "x\ny\n", "more stories than")],
)
def test_writing_prompts_that_do_not_fit_are_named(tmp_path: Path, source: str, target: str, expected: str) -> None:
    (tmp_path / "valid.wp_source").write_text(source)
    (tmp_path / "valid.wp_target").write_text(target)
    with pytest.raises(UsageError, match=expected):
        list(writing_prompts(tmp_path, "valid"))
