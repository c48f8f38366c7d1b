"""Records of training: of one adapter (`adapter.json`), and of a room with an adapter for each role.

The folder of an adapter holds the files that PEFT saves (`adapter_config.json`, `adapter_model.safetensors`),
`adapter.gguf` for the embedded engine, and `adapter.json`, which records its base model and its training. A room is a
folder with `room.toml`, which names the base and a subfolder for each role:

    version = 1
    base = "embedded:smollm2"
    base_digest = "b179c9523d0e"

    [adapters]
    climax = "climax"

Both may come from somebody else, so sizes are limited, and no path may lead out of the room's folder.
"""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from fabula.base.errors import UsageError
from fabula.base.files import inside, make_folder, read_bytes, unreadable, write_atomically
from fabula.base.invalid import fault_of, sentence
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
    """The record of one adapter.

    Attributes:
        kind: how it was trained: on examples ("sft"), on pairs ("dpo"), on several of these, or "" if unknown.
        agents: the roles that it was trained for.
        base: the model that it belongs to, as a user names it.
        base_digest: the digest of that model's weights; see `digest_of`.
        data_digest: the digest of its training data.
        preset: the preset of its training.
        settings: the settings of its training.
        version: the version of the format.
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
        base_digest: the digest of that model's weights.
        adapters: the folder of each role's adapter below the room's folder, by role.
        version: the version of the format.
    """

    base: _Name
    base_digest: _Digest
    adapters: dict[_Name, _Name] = Field(max_length=_MOST_AGENTS)


def write_adapter(folder: Path, record: AdapterRecord) -> None:
    """Write the record of the adapter in `folder`.

    Raises:
        ProjectError: the record cannot be written.
    """
    write_atomically(folder / RECORD, json.dumps(record.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n")


def read_adapter(folder: Path) -> AdapterRecord | None:
    """The record of the adapter in `folder`; `None` if another program made the adapter.

    Raises:
        UsageError: the record is damaged, or a newer fabula wrote it.
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
        UsageError: there is no such adapter.
    """
    if not (folder / CONFIG).is_file():
        raise UsageError(f"{folder} contains no adapter that a server can load: there is no {CONFIG}.")
    try:
        rank = json.loads(read_bytes(folder / CONFIG, _LARGEST)).get("r")
    except (ValueError, RecursionError, AttributeError) as error:
        raise UsageError(f"{folder / CONFIG} cannot be read ({error}). Train the adapter again.") from error
    if not isinstance(rank, int) or rank < 1:
        raise UsageError(
            f"{folder / CONFIG} has no rank (`r`), so it does not belong to a LoRA adapter. Train the adapter again."
        )
    return rank


def write_room(folder: Path, room: AdapterFolder) -> Path:
    """Write `room.toml` into `folder`, which is created if needed, and return the file.

    Raises:
        ProjectError: the file cannot be written.
    """
    make_folder(folder)
    lines = [f"version = {room.version}", f"base = {_quoted(room.base)}", f"base_digest = {_quoted(room.base_digest)}"]
    lines += ["", "[adapters]", *(f"{_quoted(role)} = {_quoted(path)}" for role, path in room.adapters.items())]
    write_atomically(folder / ROOM, "\n".join(lines) + "\n")
    return folder / ROOM


def read_room(where: Path) -> tuple[AdapterFolder, dict[str, Path]]:
    """The room of a folder or of a file `room.toml`, and the folder of each role's adapter.

    Raises:
        UsageError: there is no room, it is damaged, a newer fabula wrote it, or a path leaves its folder.
    """
    path = where / ROOM if where.is_dir() else where
    if not path.is_file():
        raise UsageError(
            f"{where} is not a room: there is no {ROOM}. To make a room, run `fabula train DATA --out DIR`."
        )
    try:
        data = parse(read_bytes(path, _LARGEST).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"Cannot read {path}: {error}. Correct the line.") from error
    room = _checked(AdapterFolder, data, path, "Correct it.")
    return room, {role: inside(path.parent, folder) for role, folder in room.adapters.items()}


def digest_of(weights: Path) -> str:
    """The first digits of a SHA-256 that identifies a model's weights, in a GGUF file or a folder of safetensors.

    For known models it is computed over the whole file, for others over the sizes and the first and last MiB.

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
        raise UsageError(unreadable(weights, error, "a model's GGUF file or folder")) from error
    if not parts:
        raise UsageError(f"{weights} has no weights (*.safetensors). Specify the folder or the GGUF file of a model.")
    return parts[0] if len(parts) == 1 else sha256("".join(parts).encode()).hexdigest()[:DIGITS]


@dataclass(frozen=True)
class Adapted(Wrapper):
    """An embedded model with one of its adapters, as a separate model whose identity includes both.

    Attributes:
        model: the model, which has the adapter loaded under its digest.
        digest: the digest of the adapter.
    """

    model: Model
    digest: str

    @property
    def identity(self) -> str:
        """The model's identity and the adapter's digest."""
        return f"{self.model.identity}+{self.digest}"

    @property
    def capabilities(self) -> Capabilities:
        """The model's capabilities, except that it gets no first words of a reply: it has learnt how replies begin."""
        return replace(self.model.capabilities, continues=False)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's reply with its adapter.

        Raises:
            ModelError: the model raises it.
        """
        return await self.model.ask(replace(request, adapter=self.digest), on_text)


# for the embedded engine ----------------------------------------------------------------------------------------------


def engine_adapter(where: Path, base: Path, name: str, cache: Path) -> Path:
    """The GGUF file of an adapter, after a check that it belongs to the model in the GGUF file `base`.

    An adapter that PEFT saved without a GGUF file is converted into `cache`.

    Args:
        where: the adapter's folder, or a GGUF file.
        base: the model; if it is not here yet, only digests are compared.
        name: the name of the model, for error messages.
        cache: the folder for converted adapters.

    Raises:
        UsageError: there is no adapter, it is damaged, a link leads out of its folder, or it belongs to another model.
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
            f"There is no adapter at {where}. Specify the folder that training made (with {GGUF} or {WEIGHTS}), or a "
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
            f"{where} was trained for {record.base} ({record.base_digest}), but the model is {name} ({here}). Choose "
            "the adapter's model with --model, or choose an adapter that was trained for this model."
        )


def _check_file(file: Path, base: Path | None) -> None:
    """Check that a GGUF file holds a whole LoRA adapter, and one that fits the model in the file `base`."""
    metadata, shapes = read_metadata(file), read_shapes(file)
    if metadata.get("adapter.type") != "lora":
        raise UsageError(
            f"{file} is not a LoRA adapter. Specify the folder of an adapter, or the GGUF file that was made from it."
        )
    if base is None:
        return
    mine, other = (str(m.get("general.architecture")) for m in (metadata, read_metadata(base, before="tokenizer.")))
    if mine != other:
        raise UsageError(
            f"{file} is an adapter for {mine} models, but {base} is a {other} model. Choose another adapter."
        )
    whole = read_shapes(base)
    for name, shape in shapes.items():
        tensor, _, side = name.rpartition(".lora_")
        rank, outer = (0, 1) if side == "a" else (1, 0)
        if len(shape) != _MATRIX or len(whole.get(tensor, ())) != _MATRIX or shape[outer] != whole[tensor][outer]:
            raise UsageError(
                f"{file} was trained on a model other than {base}: {name} is {_times(shape)}, and {tensor} is "
                f"{_times(whole.get(tensor, ()))}. Choose another adapter."
            )
        partner = shapes.get(f"{tensor}.lora_{'b' if side == 'a' else 'a'}", ())
        if len(partner) != _MATRIX or partner[1 - rank] != shape[rank]:
            raise UsageError(f"{file} has no matching lora_a and lora_b for {tensor}. Make the file again.")


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "not there"


def _converted(folder: Path, base: Path, cache: Path) -> Path:
    """The GGUF file of an adapter that PEFT saved; made where it is not in the cache."""
    from fabula.models.lora import peft_to_gguf  # noqa: PLC0415 - numpy is loaded on demand

    if not base.is_file():
        raise UsageError(
            f"The adapter in {folder} has no {GGUF}. It can be made only from {base}, which is also missing."
        )
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
        raise UsageError(
            f"{path} has version {version}, but this version of fabula reads only versions up to "
            f"{VERSION}. Update fabula."
        )
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        said = fault_of(error, kind, quote=False)
    raise UsageError(f"{path}: {sentence(said)} {way_out}")


def _quoted(text: str) -> str:
    """A string of TOML; JSON's escapes are TOML's too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
