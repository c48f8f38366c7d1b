"""Records of adapters and rooms: written, read, and refused in a sentence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import tinygguf
from fabula.base.errors import UsageError
from fabula.models.adapters import (
    AdapterFolder,
    AdapterRecord,
    digest_of,
    read_adapter,
    read_room,
    write_adapter,
    write_room,
)

if TYPE_CHECKING:
    from pathlib import Path

RECORD = AdapterRecord(
    kind="sft",
    agents=("climax",),
    base="embedded:smollm2",
    base_digest="b179c9523d0e",
    data_digest="0123456789ab",
    preset="improved",
    settings={"rank": 4, "rate": 1e-4},
)
ROOM = AdapterFolder(
    base="embedded:smollm2", base_digest="b179c9523d0e", adapters={"climax": "climax", "old tom": "tom/ü"}
)


def test_a_record_reads_back(tmp_path: Path) -> None:
    assert read_adapter(tmp_path) is None
    write_adapter(tmp_path, RECORD)
    assert read_adapter(tmp_path) == RECORD


def test_a_room_reads_back_by_folder_and_by_file(tmp_path: Path) -> None:
    file = write_room(tmp_path / "room", ROOM)
    folders = {"climax": tmp_path / "room/climax", "old tom": tmp_path / "room/tom/ü"}
    assert read_room(file) == read_room(tmp_path / "room") == (ROOM, folders)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"adapter\.json cannot be read \(.*\)\. Train the adapter again, or delete that file\."),
        ("[" * 100_000, "cannot be read"),
        ("[]", "adapter.json: It must be a table of fields"),
        (
            '{"version": 2}',
            (
                r"adapter\.json has version 2, but this version of fabula reads only versions up to 1\. "
                r"Update fabula\."
            ),
        ),
        ('{"base": "b"}', "adapter.json: `base_digest` is missing"),
        ('{"base": "b\\u001b[2J", "base_digest": "0"}', "adapter.json: `base` does not have the required form"),
        ('{"base": "b", "base_digest": "no"}', "adapter.json: `base_digest` does not have the required form"),
        ('{"base": "b", "base_digest": "0", "kind": "magic"}', "adapter.json: `kind` must be 'sft', 'dpo'"),
        (json.dumps({"base": "b" * 1_000_001}), r"adapter\.json is larger than 1,000,000 bytes"),
    ],
)
def test_records_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "adapter.json").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_adapter(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "version = 2",
            (
                r"room\.toml has version 2, but this version of fabula reads only versions up to 1\. Update "
                r"fabula\."
            ),
        ),
        ("= 1", r"Cannot read .*room\.toml: .*Correct the line\."),
        ("version = 1", r"room\.toml: `base` is missing\. Correct it\."),
        ('base = "b"\nbase_digest = "0"\n[adapters]\nclimax = "../other"', r"'\.\./other' is not the name of a file"),
        ('base = "b"\nbase_digest = "0"\n[adapters]\nclimax = "/etc"', "'/etc' is not the name of a file in"),
        ('base = "b"\nbase_digest = "0"\n[adapters]\nclimax = "out"', "is a link to a place outside"),
    ],
)
def test_rooms_that_are_refused(tmp_path: Path, text: str, message: str) -> None:
    room = tmp_path / "room"
    room.mkdir()
    (room / "out").symlink_to(tmp_path)
    (room / "room.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_room(room)


def test_a_folder_that_is_no_room(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"is not a room: there is no room\.toml\. To make a room, run `fabula train DATA --out DIR`"
    ):
        read_room(tmp_path)


def test_digests_of_weights(tmp_path: Path) -> None:
    gguf = tinygguf.write_model(tmp_path / "a.gguf", tinygguf.weights())
    assert digest_of(gguf) != digest_of(tinygguf.write_model(tmp_path / "b.gguf", tinygguf.weights(2)))
    with pytest.raises(UsageError, match=r"There is no file .*none\.gguf\. .*or give a model's GGUF file or folder\."):
        digest_of(tmp_path / "none.gguf")
    folder = tmp_path / "model"
    folder.mkdir()
    with pytest.raises(UsageError, match=r"has no weights \(\*\.safetensors\)"):
        digest_of(folder)
    (folder / "model-1.safetensors").write_bytes(b"one")
    one = digest_of(folder)
    (folder / "model-2.safetensors").write_bytes(b"two")
    assert digest_of(folder) not in {one, digest_of(gguf)}
