"""Tell Me A Story: writing prompts with people's stories (Huot et al. 2024, section 4.3), decrypted in memory.

The files are published encrypted, with their keys, to keep them from scrapers: each file is a Fernet token; its key is
encrypted with RSA (OAEP, SHA-256), and the private key lies next to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from fabula.base.errors import UnknownNameError, UsageError
from fabula.base.extras import require
from fabula.data.archives import content
from fabula.data.reading import Record, find, parse_lines, read_bounded, unique
from fabula.measure.items import Item
from fabula.story import Brief, Story, slug

if TYPE_CHECKING:
    from pathlib import Path

Split: TypeAlias = Literal["train", "validation", "test"]
_MAX_BYTES: Final = 20_000_000
_MAX_KEY: Final = 100_000
_WRITER: Final = "Humans"


def stories(folder: Path, split: Split) -> tuple[Item, ...]:
    """The stories of a split, with their prompts as briefs.

    `folder` holds `tell-me-a-story-SPLIT_encrypted.jsonl` with `keys.zip` (or `skey.key` and `private_key.pem`), or
    the decrypted `tell-me-a-story-SPLIT.jsonl`. Nothing is written.

    Raises:
        UnknownNameError: there is no such split.
        UsageError: a file is absent, does not fit its key, or a line is not a story or occurs twice.
    """
    if split not in get_args(Split):
        raise UnknownNameError("split", split, get_args(Split))
    text, name = _text(folder, split)
    records = list(parse_lines(text, name))
    unique([(str(record.fields.get("example_id")), record) for record in records])
    return tuple(_item(record, split) for record in records)


def _text(folder: Path, split: Split) -> tuple[str, str]:
    stem = f"tell-me-a-story-{split}"
    if plain := find(folder, f"{stem}.jsonl"):
        return read_bounded(plain, _MAX_BYTES), str(plain)
    if not (folder / f"{stem}_encrypted.jsonl").is_file():
        raise UsageError(
            f"There is no {stem}_encrypted.jsonl in {folder}. Fetch it with `fabula lab reproduce --fetch "
            f"tell-me-a-story`."
        )
    data = content(folder, f"{stem}_encrypted.jsonl", _MAX_BYTES)
    return _decrypted(data, folder), str(folder / f"{stem}_encrypted.jsonl")


def _decrypted(data: bytes, folder: Path) -> str:
    require("cryptography", "data", "Tell Me A Story, which is published encrypted,")
    from cryptography.fernet import Fernet, InvalidToken  # noqa: PLC0415 - 0.1 s that only this needs
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - an extra
    from cryptography.hazmat.primitives.asymmetric import padding, rsa  # noqa: PLC0415 - an extra

    keys = folder / "keys.zip" if (folder / "keys.zip").is_file() else folder
    try:
        private = serialization.load_pem_private_key(content(keys, "private_key.pem", _MAX_KEY), password=None)
        if not isinstance(private, rsa.RSAPrivateKey):
            raise UsageError(f"The key private_key.pem in {keys} is not an RSA key. Fetch the keys again.")
        oaep = padding.OAEP(mgf=padding.MGF1(algorithm=hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
        secret = private.decrypt(content(keys, "skey.key", _MAX_KEY), oaep)
        return Fernet(secret).decrypt(data).decode("utf-8-sig")
    except InvalidToken as error:
        raise UsageError(f"The stories in {folder} do not fit the keys in {keys}. Fetch both again.") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"The keys in {keys} cannot be used ({error}). Fetch them again.") from error


def _item(record: Record, split: Split) -> Item:
    number = str(record.fields["example_id"]) if "example_id" in record.fields else record.text("example_id")
    text = record.text("targets")
    if not text.strip():
        raise UsageError(f"{record.where}: the story is empty. Fetch the file again.")
    brief = Brief.of_text(record.text("inputs"), record.where)
    name = f"tell-me-a-story/{split}/{number}"
    return Item(name, Story.of_text(text), _WRITER, slug(name), brief)
