"""The parts of the GGUF file format (version 3) that adapters need: reading metadata and writing a small file.

A file is little-endian: magic, version, two counts, metadata as typed key-value pairs, tensor descriptions, then the
tensors, each aligned to 32 bytes. Files are hostile input: every length is checked before it is read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import takewhile
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from fabula.base.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Value: TypeAlias = "str | int | float | bool | tuple[str, ...] | tuple[int, ...] | tuple[float, ...]"

MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_ALIGNMENT = 32
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_INT, _UINT, _FLOAT, _BOOL, _STRING, _ARRAY = 5, 4, 6, 7, 8, 9
_FLOAT32_TENSOR = 0
# Bytes of a number in each kind of tensor: float32, float16, bfloat16; quantised in blocks of 32; in blocks of 256.
_ITEM_BYTES = {
    _FLOAT32_TENSOR: 4.0,
    1: 2.0,
    30: 2.0,
    **{kind: size / 32 for kind, size in ((2, 18), (3, 20), (6, 22), (7, 24), (8, 34))},
    **{kind: size / 256 for kind, size in ((10, 84), (11, 110), (12, 144), (13, 176), (14, 210))},
}
_MOST_PAIRS, _MOST_ITEMS, _LONGEST_STRING = 10_000, 4_000_000, 1 << 24
_MOST_TENSORS, _MOST_DIMENSIONS, _LONGEST_SIDE = 100_000, 4, 1 << 32


def read_metadata(path: Path, before: str = "") -> dict[str, str | float]:
    """The single-valued metadata of a GGUF file (texts, numbers, flags); lists such as the vocabulary are skipped.

    With `before`, reading stops at the first key that begins with it, because skipping a vocabulary takes 0.2 s.

    Raises:
        UsageError: the file is not a GGUF file, is cut off, or gives impossible lengths.
    """
    with _opened(path) as (file, _):
        wanted = takewhile(lambda pair: not (before and pair[0].startswith(before)), _pairs(file))
        return {key: value for key, value in wanted if value is not None}


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of a GGUF file's tensors in numpy's order (rows first), after a check that all are within the file.

    Raises:
        UsageError: the file is not a GGUF file, is cut off, or gives impossible lengths.
    """
    with _opened(path) as (file, tensors):
        said = str(dict(_pairs(file)).get("general.alignment"))
        alignment = (int(said) if said.isdecimal() else 0) or _ALIGNMENT
        found: dict[str, tuple[int, ...]] = {}
        end = 0
        for _ in range(tensors):
            name, dimensions = _string(file), _bounded(_number(file, "I"), _MOST_DIMENSIONS)
            shape = [_bounded(_number(file, "Q"), _LONGEST_SIDE) for _ in range(dimensions)]
            size = int(prod(shape) * _ITEM_BYTES.get(int(_number(file, "I")), 0.0))
            end = max(end, int(_number(file, "Q")) + size)
            found[name] = tuple(reversed(shape))
        begin = -(-file.tell() // alignment) * alignment
        if begin + end > path.stat().st_size:
            raise EOFError("the file is cut short")
        return found


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """A GGUF file that stands before its metadata, and how many tensors it says to have."""
    try:
        with path.open("rb") as file:
            if file.read(4) != MAGIC or _number(file, "I") not in _VERSIONS:
                raise UsageError(f"{path} is not a GGUF file with version 2 or 3.")
            yield file, _bounded(_number(file, "Q"), _MOST_TENSORS)
    except (OSError, EOFError, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a GGUF file: {error}.") from error


def _pairs(file: BinaryIO) -> Iterator[tuple[str, str | float | None]]:
    """The metadata, key by key."""
    for _ in range(_bounded(_number(file, "Q"), _MOST_PAIRS)):
        yield _string(file), _value(file, int(_number(file, "I")))


def _value(file: BinaryIO, kind: int) -> str | float | None:
    """The value of that kind, the file standing after it; `None` for a list."""
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _number(file, _scalar(kind))
    item = int(_number(file, "I"))
    count = _bounded(_number(file, "Q"), _MOST_ITEMS)
    if item == _STRING:
        for _ in range(count):
            _string(file)
    else:
        file.seek(count * struct.calcsize(f"<{_scalar(item)}"), 1)
    return None


def _scalar(kind: int) -> str:
    if kind not in _SCALARS:
        raise ValueError(f"value type {kind} is not known")
    return _SCALARS[kind]


def _number(file: BinaryIO, code: str) -> float:
    data = file.read(struct.calcsize(f"<{code}"))
    if len(data) < struct.calcsize(f"<{code}"):
        raise EOFError("the file is cut short")
    number: float = struct.unpack(f"<{code}", data)[0]
    return number


def _string(file: BinaryIO) -> str:
    length = _bounded(_number(file, "Q"), _LONGEST_STRING)
    data = file.read(length)
    if len(data) < length:
        raise EOFError("the file is cut short")
    return data.decode()


def _bounded(length: float, most: int) -> int:
    if length > most:
        raise ValueError(f"a length of {length:,} is more than {most:,}")
    return int(length)


def write_gguf(path: Path, metadata: Mapping[str, Value], tensors: Mapping[str, NDArray[np.float32]]) -> None:
    """Write a GGUF file of float32 tensors, completely or not at all; shapes are in numpy's order (rows first).

    Whole numbers must be positive and fit into 32 bits. Other numbers are written as float32, and lists by the type of
    their items.
    """
    head = [MAGIC, struct.pack("<IQQ", _VERSIONS[-1], len(tensors), len(metadata))]
    head += [_packed_string(key) + _packed(value) for key, value in metadata.items()]
    offset = 0
    for name, tensor in tensors.items():
        shape = tensor.shape[::-1]  # the format counts dimensions from the fastest one
        head.append(_packed_string(name) + struct.pack(f"<I{len(shape)}Q", len(shape), *shape))
        head.append(struct.pack("<IQ", _FLOAT32_TENSOR, offset))
        offset += _aligned(tensor.nbytes)
    before = b"".join(head)
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as file:
        file.write(before.ljust(_aligned(len(before)), b"\0"))
        for tensor in tensors.values():
            data = tensor.astype("<f4", copy=False).tobytes()
            file.write(data.ljust(_aligned(len(data)), b"\0"))
    temporary.replace(path)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _packed_string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _packed(value: Value) -> bytes:
    """Type and value; the engine reads single whole numbers as unsigned and those in lists as signed."""
    if isinstance(value, tuple):
        kind, code = (_FLOAT, "f") if value and isinstance(value[0], float) else (_INT, "i")
        if not value or isinstance(value[0], str):
            kind, items = _STRING, b"".join(_packed_string(str(item)) for item in value)
        else:
            items = struct.pack(f"<{len(value)}{code}", *value)
        return struct.pack("<IIQ", _ARRAY, kind, len(value)) + items
    if isinstance(value, str):
        return struct.pack("<I", _STRING) + _packed_string(value)
    if isinstance(value, bool):
        return struct.pack("<I?", _BOOL, value)
    return struct.pack("<If", _FLOAT, value) if isinstance(value, float) else struct.pack("<II", _UINT, value)
