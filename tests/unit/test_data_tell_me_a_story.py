from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

from fabula.base.errors import UnknownNameError, UsageError
from fabula.data.corpora import tell_me_a_story

if TYPE_CHECKING:
    from pathlib import Path

ROWS: list[dict[str, Any]] = [
    {"example_id": "7", "inputs": "Write about a lamp.", "targets": "The lamp was dark.\n\nThen it was lit."},
    {"example_id": 8, "inputs": "Write about the sea.", "targets": "The sea was calm."},
]
PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def pem(key: Any) -> bytes:  # noqa: ANN401 - keys of two kinds
    return bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def sealed(folder: Path, rows: list[dict[str, Any]], split: str = "test") -> Path:
    """A folder as one that holds the published files: a split, and the keys in their zip file."""
    secret = Fernet.generate_key()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / f"tell-me-a-story-{split}_encrypted.jsonl").write_bytes(Fernet(secret).encrypt(text.encode()))
    oaep = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
    with zipfile.ZipFile(folder / "keys.zip", "w") as keys:
        keys.writestr("keys/private_key.pem", pem(PRIVATE))
        keys.writestr("keys/skey.key", PRIVATE.public_key().encrypt(secret, oaep))
    return folder


def test_stories_are_decrypted_in_memory(tmp_path: Path) -> None:
    first, second = tell_me_a_story(sealed(tmp_path, ROWS), "test")
    assert (first.id, first.system, first.prompt) == ("tell-me-a-story/test/7", "Humans", "tell-me-a-story-test-7")
    assert first.brief
    assert first.brief.text == "Write about a lamp."
    assert first.story.text == "The lamp was dark.\n\nThen it was lit."
    assert second.prompt == "tell-me-a-story-test-8"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["keys.zip", "tell-me-a-story-test_encrypted.jsonl"]


def test_keys_may_lie_unpacked_and_stories_plain(tmp_path: Path) -> None:
    sealed(tmp_path, ROWS)
    with zipfile.ZipFile(tmp_path / "keys.zip") as keys:
        for name in ("private_key.pem", "skey.key"):
            (tmp_path / name).write_bytes(keys.read(f"keys/{name}"))
    (tmp_path / "keys.zip").unlink()
    assert len(tell_me_a_story(tmp_path, "test")) == 2
    (tmp_path / "tell-me-a-story-train.jsonl").write_text(json.dumps(ROWS[0]) + "\n")
    assert len(tell_me_a_story(tmp_path, "train")) == 1


def test_other_keys_do_not_fit(tmp_path: Path) -> None:
    sealed(tmp_path, ROWS)
    path = tmp_path / "tell-me-a-story-test_encrypted.jsonl"
    path.write_bytes(Fernet(Fernet.generate_key()).encrypt(b"x"))
    with pytest.raises(UsageError, match="do not fit the keys"):
        tell_me_a_story(tmp_path, "test")
    with zipfile.ZipFile(tmp_path / "keys.zip", "w") as keys:
        keys.writestr("private_key.pem", "no key")
    with pytest.raises(UsageError, match="cannot be used"):
        tell_me_a_story(tmp_path, "test")
    with zipfile.ZipFile(tmp_path / "keys.zip", "w") as keys:
        keys.writestr("private_key.pem", pem(ec.generate_private_key(ec.SECP256R1())))
    with pytest.raises(UsageError, match="is not an RSA key"):
        tell_me_a_story(tmp_path, "test")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"inputs": "a", "targets": "b"}], "line 1: there is no 'example_id'"),
        ([ROWS[0], ROWS[0]], "line 2: '7' is already"),
        ([{**ROWS[0], "targets": " "}], "line 1: the story is empty"),
        ([{**ROWS[0], "targets": 3}], "line 1: 'targets' is not a text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, rows: list[dict[str, Any]], expected: str) -> None:
    with pytest.raises(UsageError, match="tell-me-a-story-test") as caught:
        tell_me_a_story(sealed(tmp_path, rows), "test")
    assert expected in str(caught.value)


def test_what_is_absent_is_named_with_what_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="fabula lab reproduce --fetch tell-me-a-story"):
        tell_me_a_story(tmp_path, "test")
    with pytest.raises(UnknownNameError, match="'valid'"):
        tell_me_a_story(tmp_path, "valid")
