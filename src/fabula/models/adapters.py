"""Records of what was trained: of one adapter (`adapter.json`), and of a room with an adapter for each role.

A folder with an adapter holds what PEFT saves (`adapter_config.json`, `adapter_model.safetensors`), `adapter.gguf` for
the embedded engine, and `adapter.json`: for which base it is, and from what it was made. A room is a folder with
`room.toml`, which names the base and a folder below it for each role:

    version = 1
    base = "embedded:smollm2"
    base_digest = "b179c9523d0e"

    [adapters]
    climax = "climax"

Both may come from somebody else: sizes are bounded, and no path leads out of the room's folder.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabula.base.errors import UsageError
from fabula.base.files import inside, make_folder, read_bytes, write_atomically
from fabula.base.tomltext import parse
from fabula.models.base import Wrapper
from fabula.models.gguf import read_metadata, read_shapes
from fabula.models.known import DIGITS, digest, fingerprint

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Capabilities, Model, OnText, Reply, Request

VERSION: Final = 1
RECORD: Final = "adapter.json"
ROOM: Final = "room.toml"
GGUF: Final = "adapter.gguf"
CONFIG: Final = "adapter_config.json"
WEIGHTS: Final = "adapter_model.safetensors"
_LARGEST: Final = 1_000_000  # bytes of a record
_MOST_AGENTS: Final = 200
_MATRIX: Final = 2
_Name = Annotated[str, Field(max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]
_Digest = Annotated[str, Field(max_length=64, pattern=r"^[0-9a-f]*$")]
R = TypeVar("R", bound="_Record")


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)

    version: int = VERSION


class AdapterRecord(_Record):
    """What one adapter is.

    Attributes:
        kind: how it was trained: on examples ("sft"), on pairs ("dpo"), on several of these, or "" where unknown.
        agents: the roles that it was trained for.
        base: the model that it belongs to, as a user names it.
        base_digest: of that model's weights; see `digest_of`.
        data_digest: of the data that it was trained on.
        preset: the preset of its training.
        settings: of its training.
        version: of the format.
    """

    kind: Literal["sft", "dpo", ""] = ""
    agents: tuple[_Name, ...] = Field(default=(), max_length=_MOST_AGENTS)
    base: _Name
    base_digest: _Digest
    data_digest: _Digest = ""
    preset: _Name = ""
    settings: dict[str, Any] = Field(default_factory=dict)


class AdapterFolder(_Record):
    """A folder of adapters that were trained for the roles of one system.

    Attributes:
        base: the model that all of them belong to, as a user names it.
        base_digest: of that model's weights.
        adapters: the folder of each role's adapter, by role; below the room's folder.
        version: of the format.
    """

    base: _Name
    base_digest: _Digest
    adapters: dict[_Name, _Name] = Field(max_length=_MOST_AGENTS)


def write_adapter(folder: Path, record: AdapterRecord) -> None:
    """Write the record of the adapter in `folder`.

    Raises:
        ProjectError: it cannot be written.
    """
    write_atomically(folder / RECORD, json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


def read_adapter(folder: Path) -> AdapterRecord | None:
    """The record of the adapter in `folder`; `None` where another program made the adapter.

    Raises:
        UsageError: it is damaged, or a newer fabula wrote it.
    """
    path = folder / RECORD
    if not path.is_file():
        return None
    try:
        data = json.loads(read_bytes(path, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read ({error}). Train the adapter again, or delete that file.") from error
    return _checked(AdapterRecord, data, path, "Train the adapter again, or delete that file.")


def rank_of(folder: Path) -> int:
    """The rank of the adapter that PEFT saved in `folder`.

    Raises:
        UsageError: there is none.
    """
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{folder} holds no adapter that a server can load: there is no {CONFIG}.")
    try:
        rank = json.loads(read_bytes(folder / CONFIG, _LARGEST)).get("r")
    except (ValueError, RecursionError, AttributeError) as error:
        raise UsageError(f"{folder / CONFIG} cannot be read ({error}). Train the adapter again.") from error
    if not isinstance(rank, int) or rank < 1:
        raise UsageError(f"{folder / CONFIG} has no rank (`r`); it is not a LoRA adapter's. Train the adapter again.")
    return rank


def write_room(folder: Path, room: AdapterFolder) -> Path:
    """Write `room.toml` into `folder`, made where it is not there; returns the file.

    Raises:
        ProjectError: it cannot be written.
    """
    make_folder(folder)
    lines = [f"version = {room.version}", f"base = {_quoted(room.base)}", f"base_digest = {_quoted(room.base_digest)}"]
    lines += ["", "[adapters]", *(f"{_quoted(role)} = {_quoted(path)}" for role, path in room.adapters.items())]
    write_atomically(folder / ROOM, "\n".join(lines) + "\n")
    return folder / ROOM


def read_room(where: Path) -> tuple[AdapterFolder, dict[str, Path]]:
    """The room in a folder, or of a file `room.toml`, and the folder of each role's adapter.

    Raises:
        UsageError: there is none; it is damaged; a newer fabula wrote it; or a path leaves its folder.
    """
    path = where / ROOM if where.is_dir() else where
    if not path.is_file():
        raise UsageError(f"{where} is no room: there is no {ROOM}. `fabula train DATA --out DIR` makes one.")
    try:
        data = parse(read_bytes(path, _LARGEST).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {error}. Correct the line.") from error
    room = _checked(AdapterFolder, data, path, "Correct it.")
    return room, {role: inside(path.parent, folder) for role, folder in room.adapters.items()}


def digest_of(weights: Path) -> str:
    """First digits of a SHA-256 that distinguishes a model's weights: of a GGUF file, or of a folder's safetensors.

    For known models it is that of the whole file, for others of sizes, first and last MiB.

    Raises:
        UsageError: there are no such weights.
    """
    try:
        if weights.is_dir():
            files = sorted(file for file in weights.glob("*.safetensors") if file.is_file())
            parts = [fingerprint(file) for file in files]
        else:
            return digest(weights)
    except OSError as error:
        raise UsageError(f"Cannot read the model {weights}: {error.strerror}. Give a GGUF file or a folder.") from error
    if not parts:
        raise UsageError(f"{weights} holds no weights (*.safetensors). Give a model's folder or GGUF file.")
    return parts[0] if len(parts) == 1 else sha256("".join(parts).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Adapted(Wrapper):
    """An embedded model with one of its adapters: for who asks, a model of its own, whose identity is that of both.

    Attributes:
        model: has the adapter loaded, under its digest.
        digest: of the adapter.
    """

    model: Model
    digest: str

    @property
    def identity(self) -> str:
        """The model's, and the adapter's digest."""
        return f"{self.model.identity}+{self.digest}"

    @property
    def capabilities(self) -> Capabilities:
        """The model's, but that it is not given the first words of a reply: it has learnt how replies begin."""
        return replace(self.model.capabilities, continues=False)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """As the model answers with its adapter.

        Raises:
            ModelError: as the model.
        """
        return await self.model.ask(replace(request, adapter=self.digest), on_text)


# for the embedded engine ----------------------------------------------------------------------------------------------


def engine_adapter(where: Path, base: Path, name: str, cache: Path) -> Path:
    """The GGUF file of an adapter, known to belong to the model in the GGUF file `base`.

    An adapter that PEFT saved, and nobody has made a GGUF file of, is converted into `cache`.

    Args:
        where: the adapter's folder, or a GGUF file.
        base: the model; where it is not here yet, only digests can be compared.
        name: the model's, for errors.
        cache: the folder for what is converted.

    Raises:
        UsageError: there is no adapter; it is damaged; a link leads out of its folder; or it is another model's.
    """
    folder = where if where.is_dir() else where.parent
    record = read_adapter(folder) if where.is_dir() or where.name == GGUF else None
    if record is not None:
        _check_base(where, record, base, name)
    if where.is_dir():
        for part in (GGUF, WEIGHTS, CONFIG):  # a link in a folder of somebody else may lead to what is private
            inside(where, part)
    file = where / GGUF if where.is_dir() else where
    if not file.is_file() and where.is_dir() and (where / WEIGHTS).is_file():
        file = _converted(where, base, cache)
    if not file.is_file():
        raise UsageError(
            f"There is no adapter at {where}. Give the folder that training made (with {GGUF} or {WEIGHTS}), or a "
            ".gguf file."
        )
    _check_file(file, None if record is not None or not base.is_file() else base)
    return file


def _check_base(where: Path, record: AdapterRecord, base: Path, name: str) -> None:
    try:
        here = digest(base)
    except OSError:  # whoever opens the model says that it is not there
        return
    if here != record.base_digest:
        raise UsageError(
            f"{where} was trained for {record.base} ({record.base_digest}), and the model is {name} ({here}). Choose "
            "that model with --model, or an adapter that was trained for this one."
        )


def _check_file(file: Path, base: Path | None) -> None:
    """Check that a GGUF file holds a whole LoRA adapter, and one that fits the model in the file `base`."""
    metadata, shapes = read_metadata(file), read_shapes(file)
    if metadata.get("adapter.type") != "lora":
        raise UsageError(f"{file} is no LoRA adapter. Give an adapter's folder, or the GGUF file that was made of one.")
    if base is None:
        return
    mine, other = (str(m.get("general.architecture")) for m in (metadata, read_metadata(base, before="tokenizer.")))
    if mine != other:
        raise UsageError(f"{file} is an adapter for {mine} models, and {base} is a {other} model. Choose another one.")
    whole = read_shapes(base)
    for name, shape in shapes.items():
        tensor, _, side = name.rpartition(".lora_")
        rank, outer = (0, 1) if side == "a" else (1, 0)
        if len(shape) != _MATRIX or len(whole.get(tensor, ())) != _MATRIX or shape[outer] != whole[tensor][outer]:
            raise UsageError(
                f"{file} was trained on another model than {base}: {name} is {_times(shape)}, and {tensor} is "
                f"{_times(whole.get(tensor, ()))}. Choose another adapter."
            )
        partner = shapes.get(f"{tensor}.lora_{'b' if side == 'a' else 'a'}", ())
        if len(partner) != _MATRIX or partner[1 - rank] != shape[rank]:
            raise UsageError(f"{file} has no matching lora_a and lora_b for {tensor}. Make the file anew.")


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "not there"


def _converted(folder: Path, base: Path, cache: Path) -> Path:
    """The GGUF file of an adapter that PEFT saved; made where it is not in the cache."""
    from fabula.models.lora import peft_to_gguf  # noqa: PLC0415 - numpy is loaded on demand

    if not base.is_file():
        raise UsageError(f"The adapter in {folder} has no {GGUF}, and to make it {base} is needed, which is not here.")
    try:
        parts = [fingerprint(folder / name) for name in (WEIGHTS, CONFIG)]
    except OSError as error:
        raise UsageError(f"The adapter in {folder} cannot be read: {error.filename}: {error.strerror}.") from error
    target = cache / "adapters" / f"{sha256(''.join((*parts, digest(base))).encode()).hexdigest()[:DIGITS]}.gguf"
    if not target.is_file():
        make_folder(target.parent)
        peft_to_gguf(folder, target, base=base)
    return target


def _checked(kind: type[R], data: object, path: Path, way_out: str) -> R:
    """A record of that kind."""
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version > VERSION:
        raise UsageError(f"{path} is of version {version}; this fabula reads up to {VERSION}. Update fabula.")
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    raise UsageError(f"{path}: {field or 'the record'}: {first['msg']}. {way_out}")


def _quoted(text: str) -> str:
    """A string of TOML; JSON's escapes are TOML's too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
