"""The model that is trained on: found, made trainable where it is a GGUF file, and loaded.

A base is a folder as the training libraries keep models, a model of the hub (`hf:OWNER/NAME`; only then is the network
used), or a GGUF file: a known one by name, or `embedded:PATH`. A GGUF file is turned into such a folder once, in the
cache, by the digest of its weights. Nothing is loaded that could run code: no pickled weights, no code of the model's.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from fabula.base.characters import readable
from fabula.base.errors import UsageError
from fabula.base.files import held, make_folder, read_bytes, write_error
from fabula.models.adapters import digest_of
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel
from fabula.models.gguf import read_metadata, read_shapes
from fabula.models.known import KNOWN, cache_home, find_weights, models_home, recognise
from fabula.models.llamacpp import check_gguf
from fabula.training.libraries import allow_hub, library, silent

Dtype: TypeAlias = Literal["float32", "bfloat16", "float16"]

_RECORD: Final = "fabula-base.json"
_TOKENIZER: Final = "tokenizer_config.json"
_HUB: Final = "hf:"
_EMBEDDED: Final = "embedded"
_TRAINABLE: Final = ("llama", "qwen2")
_TOKENIZERS: Final = ("gpt2", "llama")
_LARGEST: Final = 1_000_000  # bytes of a record or of a model's settings
_UNKNOWN_LICENCE: Final = "not stated"
_FLOAT32: Final = 4
_OWN: Final[dict[str, Any]] = {"local_files_only": True, "trust_remote_code": False}
_UNREADABLE: Final = (OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError, ImportError)
_CHATML: Final = (  # what the engine takes where a file has no template
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
_PROBED_CONTEXT: Final = 1024
_PROBE: Final = (
    "In 1962, 12,345.67 people said: \u201cZo\u00eb\u2019s na\u00efve!\u201d \u2014 don't they\u2019d\u2026 "
    "\u706f\u53f0 \U0001f3ee\U0001f525 \u0437\u0438\u043c\u0430\n\n\tTwo  blanks,   three;\r\n<b>x_1 = y**2</b> end "
)
_PROBES: Final = (
    (Message("system", "You are a writer."), Message("user", _PROBE)),
    (Message("user", _PROBE[::-1]),),
    (Message("user", "Begin."), Message("assistant", "The lamp was dark when")),
)


@dataclass(frozen=True, slots=True)
class Base:
    """A model that adapters are trained on.

    Attributes:
        name: as a user names it.
        folder: the model as the training libraries keep it.
        digest: of the GGUF file's weights where it is known, else of the folder's; what adapters are recorded for.
        gguf: the same model for the embedded engine; `None` where nobody has said.
        context: tokens that it was made for.
        licence: what its maker states.
        parameters: how many it has.
    """

    name: str
    folder: Path
    digest: str
    gguf: Path | None
    context: int
    licence: str
    parameters: int


def open_base(
    spec: str,
    environ: Mapping[str, str],
    *,
    gguf: Path | None = None,
    chat: bool = True,
    report: Callable[[str], None] = lambda _sentence: None,
) -> Base:
    """The base that `spec` names; a GGUF file is made trainable first, where that has not been done.

    Args:
        spec: a folder, `hf:OWNER/NAME`, a known model's name, or `embedded:PATH`.
        environ: says where the cache is.
        gguf: for a folder or a model of the hub, the same model as a GGUF file.
        chat: whether it has to take messages; a summary model takes a text.
        report: hears a sentence before what takes long.

    Raises:
        UsageError: there is no such model, it cannot be trained, or what training needs is not installed.
        ModelUnavailableError: the GGUF file is not there.
    """
    if spec.startswith(_HUB):
        found = _hub(spec.removeprefix(_HUB), report, chat=chat)
    elif (folder := Path(spec).expanduser()).is_dir():
        found = _folder(folder, chat=chat)
    else:
        return _of_gguf(spec, environ, report)
    if gguf is None:
        return found
    _check_same(found, gguf)
    return _with_gguf(found, gguf)


def load(base: Base, dtype: Dtype = "float32") -> tuple[Any, Any]:
    """The base's model and its tokeniser.

    Raises:
        UsageError: what training needs is not installed, or the folder cannot be read.
    """
    torch, transformers, tokeniser = library("torch"), library("transformers"), tokeniser_of(base.folder)
    with silent():
        try:
            model, read = transformers.AutoModelForCausalLM.from_pretrained(
                base.folder, dtype=getattr(torch, dtype), use_safetensors=True, output_loading_info=True, **_OWN
            )
        except (library("safetensors").SafetensorError, *_UNREADABLE) as error:
            raise UsageError(f"The model in {base.folder} cannot be loaded: {_first_line(error)}") from error
    if missing := sorted(read["missing_keys"]):  # the library would draw them
        raise UsageError(
            f"The model in {base.folder} cannot be loaded: {len(missing)} of its weights are missing, such as "
            f"{missing[0]}. Fetch it again."
        )
    if tokeniser.pad_token_id is None:
        tokeniser.pad_token = tokeniser.eos_token
    return model, tokeniser


def tokeniser_of(folder: Path) -> Any:  # noqa: ANN401 - the library's own type
    """The tokeniser in a model's folder.

    Raises:
        UsageError: it cannot be read, or would run code of its own.
    """
    with silent():
        try:
            return library("transformers").AutoTokenizer.from_pretrained(folder, **_OWN)
        except _UNREADABLE as error:
            raise UsageError(
                f"The tokeniser in {folder} cannot be read: {_first_line(error)} Fetch the model again, or choose "
                "another base."
            ) from error


def prompt_text(tokeniser: Any, messages: Sequence[Message]) -> str:  # noqa: ANN401 - a tokeniser has no better type
    """The text that the embedded engine makes of a prompt, so that what is trained on is what is asked.

    A prompt without a system message gets an empty one, since some templates put words of their own there. Where the
    last message is the assistant's, the reply goes on from it.
    """
    said = [{"role": message.role, "content": message.content} for message in messages]
    if not any(message["role"] == "system" for message in said):
        said.insert(0, {"role": "system", "content": ""})
    opening = said.pop()["content"] if said[-1]["role"] == "assistant" else ""
    return in_template(tokeniser, said, opens_reply=True) + opening


def in_template(tokeniser: Any, said: Sequence[Mapping[str, str]], *, opens_reply: bool = False) -> str:  # noqa: ANN401 - as above
    """Messages in the model's chat template.

    Raises:
        UsageError: the template cannot be filled in with them.
    """
    try:
        text: str = tokeniser.apply_chat_template([*said], tokenize=False, add_generation_prompt=opens_reply)
    except (library("jinja2").TemplateError, OverflowError, *_UNREADABLE) as error:
        raise UsageError(
            f"The base's chat template cannot be filled in: {_first_line(error)} Choose another base."
        ) from error
    return text


# folders --------------------------------------------------------------------------------------------------------------


def _folder(folder: Path, *, chat: bool = True) -> Base:
    """The base in a folder; one that was made of a GGUF file is that file's."""
    settings = _json(folder / "config.json")
    if settings is None:
        raise UsageError(f"{folder} contains no model (no config.json). Give a model's folder, or `--base smollm2`.")
    template = (folder / "chat_template.jinja").is_file() or (_json(folder / _TOKENIZER) or {}).get("chat_template")
    if chat and not template:
        raise UsageError(
            f"The model in {folder} has no chat template, so it cannot play agents. Choose one that was "
            "trained to follow instructions."
        )
    if settings.get("auto_map") or (_json(folder / _TOKENIZER) or {}).get("auto_map"):
        raise UsageError(
            f"The model in {folder} comes with its own code, which fabula does not run. Choose another base."
        )
    base = Base(
        name=folder.name,
        folder=folder.resolve(),
        digest=digest_of(folder),
        gguf=None,
        context=_whole(settings.get("max_position_embeddings")),
        licence=_UNKNOWN_LICENCE,
        parameters=_parameters(folder),
    )
    made = _json(folder / _RECORD)
    if not made or not isinstance(path := made.get("gguf"), str) or not Path(path).is_file():
        return base
    return replace(_with_gguf(base, Path(path)), name=str(made.get("name")), licence=str(made.get("licence")))


def _with_gguf(base: Base, gguf: Path) -> Base:
    """The base with the same model as a GGUF file, whose digest adapters are then recorded for."""
    _check_trainable(gguf)
    return replace(base, gguf=gguf.resolve(), digest=digest_of(gguf))


def _check_same(base: Base, gguf: Path) -> None:
    """Check that a GGUF file holds the model that is in a folder, as far as shape and tokens show."""
    metadata, settings = _check_trainable(gguf), _json(base.folder / "config.json") or {}
    architecture = metadata["general.architecture"]
    for field, name in (("embedding_length", "hidden_size"), ("block_count", "num_hidden_layers")):
        mine, other = metadata.get(f"{architecture}.{field}"), settings.get(name)
        if mine != other:
            raise UsageError(f"{gguf} is another model than {base.folder}: its {name} is {mine}, not {other}.")
    with silent():
        _check_tokens(gguf, tokeniser_of(base.folder))


def _hub(name: str, report: Callable[[str], None], *, chat: bool = True) -> Base:
    """A model of the hub, fetched into the hub's own cache: settings, tokeniser and safetensors, nothing else."""
    allow_hub()
    hub = library("huggingface_hub")
    wanted = ["*.json", "*.safetensors", "*.model", "*.jinja", "merges.txt", "vocab.txt", "README.md"]
    report(f"Fetching {name} from the hub if it is not on this machine yet")
    try:
        folder = Path(hub.snapshot_download(name, allow_patterns=wanted))
    except (OSError, ValueError, RuntimeError, library("httpx").HTTPError) as error:
        raise UsageError(
            f"{name} could not be fetched from the hub: {_first_line(error)} Check the name and the network, or give "
            "a folder or a GGUF file as base."
        ) from error
    return replace(_folder(folder, chat=chat), name=f"{_HUB}{name}")


def _parameters(folder: Path) -> int:
    """How many numbers a folder's weights are, as the headers of its files say; tied ones count once."""
    total = 0
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as weights:
            length = int.from_bytes(weights.read(8), "little")
            try:
                header = json.loads(weights.read(min(length, 100 * _LARGEST)))
                shapes = [entry["shape"] for name, entry in header.items() if name != "__metadata__"]
                total += sum(map(prod, shapes))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                raise UsageError(f"{file} cannot be read as a safetensors file. Fetch the model again.") from error
    return total


# a GGUF file ----------------------------------------------------------------------------------------------------------


def _of_gguf(spec: str, environ: Mapping[str, str], report: Callable[[str], None]) -> Base:
    """The base in a GGUF file."""
    kind, colon, rest = spec.partition(":")
    name = rest if kind == _EMBEDDED and colon else spec
    if name == _EMBEDDED:
        name = next(iter(KNOWN))
    if colon and kind != _EMBEDDED and name not in KNOWN and not Path(spec).exists():
        raise UsageError(
            f"{spec} is not a model that can be trained here. Give a folder, hf:OWNER/NAME, the name of a known model "
            f"({', '.join(KNOWN)}), or embedded:PATH of a GGUF file."
        )
    path = find_weights(name, models_home(environ))
    check_gguf(path, spec)
    metadata, parameters = _check_trainable(path), sum(map(prod, read_shapes(path).values()))
    digest = digest_of(path)
    folder = cache_home(environ) / "bases" / digest
    known = recognise(path)
    licence = known.licence if known else str(metadata.get("general.license", _UNKNOWN_LICENCE))
    full_name = f"{_EMBEDDED}:{known.name if known else path.resolve()}"
    if not (folder / _RECORD).is_file():
        report(f"Making {path.name} trainable, once; this takes a minute or two")
        _check_space(path, folder.parent, parameters)
        _convert(path, folder, {"name": full_name, "gguf": str(path.resolve()), "licence": licence, "digest": digest})
    return replace(_folder(folder), name=full_name, gguf=path.resolve(), digest=digest, licence=licence)


def _check_trainable(path: Path) -> dict[str, str | float]:
    """The metadata of a GGUF file that can be trained.

    Raises:
        UsageError: it is damaged, no whole model, or of a kind that is not trained.
    """
    metadata = read_metadata(path)
    architecture = str(metadata.get("general.architecture", "nameless"))
    kind = metadata.get("general.type", "model")
    way_out = "Give a whole text model of the llama or qwen2 architecture (as smollm2)."
    if kind == "adapter":
        raise UsageError(f"{path} is an adapter, not a model. Give the model that it was trained on.")
    if kind == "mmproj" or architecture == "clip":
        raise UsageError(f"{path} is only the part of a model that reads pictures. {way_out}")
    if float(metadata.get("split.count", 1)) > 1:
        raise UsageError(
            f"{path} is one of several parts of a model, which cannot be read separately. Join them first."
        )
    if architecture not in _TRAINABLE:
        raise UsageError(f"{path} is a {architecture} model, which cannot be trained here. {way_out}")
    if (tokeniser := str(metadata.get("tokenizer.ggml.model"))) not in _TOKENIZERS:
        raise UsageError(f"{path} has a tokeniser of an unknown kind ({tokeniser}). {way_out}")
    return metadata


def _check_space(path: Path, folder: Path, parameters: int) -> None:
    make_folder(folder)
    needed, free = _FLOAT32 * parameters, shutil.disk_usage(folder).free
    if free < needed:
        raise UsageError(
            f"Making {path} trainable needs {needed / 1e9:,.1f} GB in {folder}, and {free / 1e9:,.1f} GB are free. "
            "Free some space, or set XDG_CACHE_HOME to a folder on another disk."
        )


def _convert(path: Path, folder: Path, record: dict[str, str]) -> None:
    """Turn a GGUF file into a trainable folder, whole or not at all.

    One process does it at a time; what a killed one left half-written is removed by the next.
    """
    torch, transformers = library("torch"), library("transformers")
    library("gguf")
    work = folder.with_name(f".{folder.name}")
    with held(work, f"The making of {folder}"):
        shutil.rmtree(work / "new", ignore_errors=True)
        if not (folder / _RECORD).is_file():  # nobody was first
            shutil.rmtree(folder, ignore_errors=True)
            _convert_into(work / "new", path, torch, transformers)
            (work / "new" / _RECORD).write_text(json.dumps({"version": 1, **record}, indent=2) + "\n")
            (work / "new").rename(folder)
    shutil.rmtree(work, ignore_errors=True)


def _convert_into(target: Path, path: Path, torch: Any, transformers: Any) -> None:  # noqa: ANN401 - modules have no better type
    """Write a GGUF file's model and tokeniser as the training libraries keep them."""
    try:
        with silent():
            tokeniser = transformers.AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name, **_OWN)
            tokeniser.chat_template = tokeniser.chat_template or _CHATML
            _check_tokens(path, tokeniser)
            read = transformers.AutoModelForCausalLM.from_pretrained(
                path.parent, gguf_file=path.name, dtype=torch.float32, local_files_only=True
            )
            settings = read.config
            # A model read from GGUF counts as quantised, which the library neither saves nor trains.
            if hasattr(settings, "quantization_config"):
                del settings.quantization_config
            with torch.device("meta"):  # it takes over the weights, so that memory holds them once
                model = type(read)(settings)
            model.load_state_dict(read.state_dict(), assign=True)
            model.tie_weights()
            model.save_pretrained(target, safe_serialization=True)
            tokeniser.save_pretrained(target)
    except OSError as error:
        shutil.rmtree(target, ignore_errors=True)
        raise write_error(target, error) from error
    except (ValueError, KeyError, TypeError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be made trainable: {_first_line(error)} Choose another base.") from error


def _check_tokens(path: Path, tokeniser: Any) -> None:  # noqa: ANN401 - a tokeniser has no better type
    """Check that prompts are as many tokens to the engine as to the trainer: a GGUF file does not say all of how."""
    if find_spec("xllamacpp") is None:  # nobody can say; what is trained is then for servers
        return
    here = [len(tokeniser(prompt_text(tokeniser, p), add_special_tokens=False)["input_ids"]) for p in _PROBES]
    with ThreadPoolExecutor(1) as thread:  # whoever calls may have a loop of their own
        there = thread.submit(copy_context().run, lambda: asyncio.run(_tokens_in_the_engine(path))).result()
    if here != there:
        raise UsageError(
            f"{path} has a tokeniser that the training libraries read differently from the engine does (a text is "
            f"{here[0]} tokens to them, and {there[0]} to the engine). Choose another base."
        )


async def _tokens_in_the_engine(path: Path) -> list[int]:
    model = EmbeddedModel(path, name=path.name, context=_PROBED_CONTEXT, threads=1)
    try:
        replies = [await model.ask(Request(probe, Sampling(max_tokens=1, seed=1))) for probe in _PROBES]
    finally:
        await model.close()
    return [reply.usage.prompt for reply in replies]


# small helpers --------------------------------------------------------------------------------------------------------


def _json(path: Path) -> dict[str, Any] | None:
    """The object in a file of JSON; `None` where there is no such file."""
    if not path.is_file():
        return None
    try:
        data = json.loads(read_bytes(path, _LARGEST))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read ({error}). Fetch the model again.") from error
    return data if isinstance(data, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _first_line(error: Exception) -> str:
    """What a library says, in one short sentence."""
    said = readable(str(error)).strip().partition("\n")[0][:300] or type(error).__name__
    return said if said.endswith((".", "!", "?")) else f"{said}."
