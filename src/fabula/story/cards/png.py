"""Read and replace the text chunks of PNG files without decoding the picture.

According to the PNG specification (third edition), a file is a signature followed by chunks with length, type, data and
checksum. Text is stored in `tEXt` (Latin-1), `zTXt` (compressed) and `iTXt` (UTF-8, optionally compressed) chunks.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from fabula.base.errors import UsageError

SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
MAX_CHUNKS: Final = 20_000
MAX_TEXT_BYTES: Final = 12_000_000
MAX_SIDE: Final = 10_000  # pixels, so that nobody's browser unpacks more
_SHOWN: Final = (b"IHDR", b"PLTE", b"tRNS", b"IDAT", b"IEND")
_HEADER: Final = 13  # bytes
_FRAME: Final = 12  # bytes of length, type and checksum
_LONGEST_KEYWORD: Final = 79
_GREY: Final = b"\x60"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk with its four-letter type and its data."""

    kind: bytes
    data: bytes

    def packed(self) -> bytes:
        """The chunk as bytes in a file."""
        body = self.kind + self.data
        return struct.pack(">I", len(self.data)) + body + struct.pack(">I", zlib.crc32(body))


def chunks(data: bytes, where: str) -> tuple[list[Chunk], bytes]:
    """The chunks of a PNG file, and the bytes after the last chunk.

    Raises:
        UsageError: the file is not a PNG, a chunk is truncated or damaged, or there are too many chunks.
    """
    if not data.startswith(SIGNATURE):
        raise UsageError(f"{where} is not a PNG file. Use a PNG file that contains a card, or the JSON file of a card.")
    found: list[Chunk] = []
    at = len(SIGNATURE)
    while not (found and found[-1].kind == b"IEND"):
        if len(found) == MAX_CHUNKS:
            raise UsageError(f"{where} has more than {MAX_CHUNKS:,} chunks. Save the picture again.")
        chunk = _chunk(data, at, where)
        if not found and chunk.kind != b"IHDR":
            raise UsageError(f"{where} is not a valid PNG file: it begins with {chunk.kind!r}. Save the picture again.")
        found.append(chunk)
        at += _FRAME + len(chunk.data)
    return found, data[at:]


def _chunk(data: bytes, at: int, where: str) -> Chunk:
    head = data[at : at + 8]
    if len(head) < 8:  # noqa: PLR2004 - length and type
        raise UsageError(f"{where} ends within the picture because it was not copied completely. Copy it again.")
    size, kind = struct.unpack(">I4s", head)
    end = at + _FRAME + size
    if not kind.isalpha() or end > len(data):
        raise UsageError(f"{where} is truncated or damaged at byte {at:,}. Copy it again.")
    body = data[at + 4 : end - 4]
    if zlib.crc32(body) != int.from_bytes(data[end - 4 : end], "big"):
        name = kind.decode("ascii", "replace")
        raise UsageError(
            f"{where} is damaged: the checksum of its chunk {name} at byte {at:,} is wrong. Copy it again."
        )
    return Chunk(kind, body[4:])


def keyword(chunk: Chunk) -> str:
    """The keyword of a text chunk; empty for other chunks."""
    if chunk.kind not in (b"tEXt", b"zTXt", b"iTXt"):
        return ""
    word, end, _ = chunk.data[: _LONGEST_KEYWORD + 1].partition(b"\0")
    return word.decode("latin-1") if end else ""


def text_of(chunk: Chunk, where: str) -> bytes:
    """The text of a text chunk, as bytes.

    Raises:
        UsageError: the text is truncated, too large, or compressed with a method that PNG does not define.
    """
    rest = chunk.data.partition(b"\0")[2]
    packed = chunk.kind == b"zTXt"
    if chunk.kind == b"zTXt":
        method, rest = rest[:1], rest[1:]
    elif chunk.kind == b"iTXt":
        packed, method, rest = rest[:1] == b"\x01", rest[1:2], rest[2:]
        rest = rest.partition(b"\0")[2].partition(b"\0")[2]  # behind the language, and the keyword in it
    if packed:
        rest = _unpacked(rest, method, where)
    if len(rest) > MAX_TEXT_BYTES:
        raise UsageError(f"The card in {where} is larger than {MAX_TEXT_BYTES:,} bytes. Remove pictures from it.")
    return rest


def _unpacked(data: bytes, method: bytes, where: str) -> bytes:
    """What was compressed, never more than one byte beyond the limit."""
    unpacker = zlib.decompressobj()
    try:
        if method != b"\0":
            raise UsageError(f"The card in {where} is compressed with an unknown method. Save it again.")
        text = unpacker.decompress(data, MAX_TEXT_BYTES + 1)
    except zlib.error as error:
        raise UsageError(f"The compressed card in {where} is damaged ({error}). Copy the file again.") from error
    if not unpacker.eof and len(text) <= MAX_TEXT_BYTES:
        raise UsageError(f"The compressed card in {where} is truncated. Copy the file again.")
    return text


def replaced(found: Sequence[Chunk], texts: Mapping[str, bytes], gone: Sequence[str]) -> list[Chunk]:
    """The chunks with `texts` (by keyword) instead of all text chunks whose keyword is in `gone`, ignoring case.

    The new chunks are inserted at the position of the first old chunk, or before the end if there was none.
    """
    made = [Chunk(b"tEXt", name.encode("latin-1") + b"\0" + text) for name, text in texts.items()]
    out = [place for place, chunk in enumerate(found) if keyword(chunk).lower() in gone]
    at = out[0] if out else len(found) - 1
    kept = [chunk for place, chunk in enumerate(found[at:], at) if place not in set(out)]
    return [*found[:at], *made, *kept]


def packed(found: Sequence[Chunk], rest: bytes = b"") -> bytes:
    """The PNG file that consists of the chunks in `found`, followed by `rest`."""
    return SIGNATURE + b"".join(chunk.packed() for chunk in found) + rest


def picture_alone(data: bytes, where: str) -> bytes:
    """The PNG without texts, profiles, animation, and bytes after its end.

    Raises:
        UsageError: the file is not a valid PNG, or its picture is missing or too large.
    """
    found, _ = chunks(data, where)
    sides = struct.unpack(">II", found[0].data[:8]) if len(found[0].data) == _HEADER else (0, 0)
    if not all(0 < side <= MAX_SIDE for side in sides) or all(chunk.kind != b"IDAT" for chunk in found):
        raise UsageError(
            f"{where} contains no picture of at most {MAX_SIDE:,} by {MAX_SIDE:,} pixels. Save the picture again."
        )
    return packed([chunk for chunk in found if chunk.kind in _SHOWN])


def plain_picture(width: int = 240, height: int = 360) -> bytes:
    """A plain grey PNG for a card without a picture."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)  # 8 bits of grey, nothing interlaced
    rows = zlib.compress((b"\0" + _GREY * width) * height, 9)
    return packed([Chunk(b"IHDR", header), Chunk(b"IDAT", rows), Chunk(b"IEND", b"")])
