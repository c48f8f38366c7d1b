"""An encoder-decoder in this process, such as BART fine-tuned on dialogues and their summaries (SNAP, section 4.6).

Such a model does the one thing that it was trained for, to any text, and follows no instructions
(`Capabilities.instructed`). It reads the messages of a request one after the other, or only their last lines if its
encoder is too small. It runs on the CPU, one call at a time, in its own thread. torch and transformers are imported
there, when the network is opened.
"""

from __future__ import annotations

import json
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import ModelUnavailableError, UnknownNameError
from fabula.base.extras import extra, require
from fabula.models.base import Capabilities, Json, OnText, Reply, Request, Sampling, Usage
from fabula.models.known import DIGITS, fingerprint
from fabula.models.threads import EngineSession, beside

if TYPE_CHECKING:
    import threading


# What the library reads in a model's folder.
_PARTS: Final = (".json", ".txt", ".model", ".safetensors", ".bin")
_SAMPLES: Final = 256  # 16 MiB; a merged adapter changes matrices of some MiB in every layer
# What the library takes, by our names.
TAKES: Final = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "repeat_penalty": "repetition_penalty",
    "max_tokens": "max_new_tokens",
    "seed": "",  # it goes to the generator and not to the call
}
_DRAWING: Final = ("temperature", "top_p", "top_k", "seed")  # of no use to a search for the likeliest text
_EXTRA: Final = "seq2seq"
_PACKAGES: Final = ("torch", "transformers")
_ENDLESS: Final = 1_000_000  # what tokenisers without a limit say is larger than this
_SETTINGS: Final = "config.json"
_PLACES: Final = ("max_position_embeddings", "n_positions")
_TOKENISERS: Final = ("tokenizer_config.json", "tokenizer.json", "vocab.json", "vocab.txt", "spiece.model")
_MARKS: Final = 2  # places of a reply that begin and end it
_UNSET: Final = (None, 20)  # lengths that the library has for models that name none; 20 is no summary
_LONGEST: Final = 256


@dataclass(eq=False)
class Seq2SeqModel:
    """A folder with an encoder-decoder as a `Model`; it is opened with the first call, not before.

    Attributes:
        folder: the folder as the package transformers saves it, with the tokeniser.
        name: the name that a user types.
        clock: a function that gives seconds, for the usage of a call.
    """

    folder: Path
    _: KW_ONLY
    name: str
    clock: Callable[[], float] = time.perf_counter
    _session: EngineSession[Network] | None = field(default=None, init=False, repr=False)

    @cached_property
    def identity(self) -> str:
        """The folder's own name with a digest of its files: settings, tokeniser, weights.

        The folder may be anywhere. Only the size, both ends and samples of the middle of a large file are read.

        Raises:
            ModelUnavailableError: a file cannot be read.
        """
        try:
            files = sorted(path for path in self.folder.iterdir() if path.suffix in _PARTS)
            digests = "\n".join(f"{path.name} {fingerprint(path, _SAMPLES)}" for path in files)
        except OSError as error:
            raise ModelUnavailableError(
                f"The model in {self.folder} cannot be read ({error.strerror}). Specify another folder.",
                model=self.name,
            ) from error
        return f"seq2seq:{self.folder.resolve().name}@{sha256(digests.encode()).hexdigest()[:DIGITS]}"

    @cached_property
    def rooms(self) -> Rooms:
        """The number of tokens that the model can read and write.

        Raises:
            ModelUnavailableError: there is no encoder-decoder in the folder.
        """
        return rooms_of(self.folder, self.name)

    @property
    def capabilities(self) -> Capabilities:
        """Only text, without instructions; `context` is the size of the encoder."""
        return Capabilities(sampling=frozenset(TAKES), context=self.rooms.text, parallel=1, instructed=False)

    async def ask(self, request: Request, on_text: OnText | None = None) -> Reply:
        """The model's output for the request's messages; `on_text` gets it in one piece.

        Without a temperature, the text is found by the search in the model's own settings (its beams); otherwise it is
        sampled. `Usage.seconds` does not include the wait for other calls and the opening. Cancelling stops the model
        after the present token.

        Raises:
            ModelUnavailableError: the folder has no such model, or the model was closed meanwhile.
            UsageError: torch or transformers is not installed.
            UnknownNameError: the request names an adapter, but there are none.
        """
        if request.adapter is not None:
            raise UnknownNameError("adapter", request.adapter, ())
        text = "\n\n".join(message.content for message in request.messages)
        sent = sent_values(request.sampling, self.rooms)
        session = self._session = self._session or EngineSession(
            lambda: open_network(self.folder, self.name), 1, self.name
        )

        def answer(network: Network, stop: threading.Event) -> tuple[SequenceOutput, float]:
            started = self.clock()
            written = network.write(text, sent, stop.is_set)
            return written, self.clock() - started

        written, seconds = await session.run(answer)
        if on_text is not None:
            on_text(written.text)
        return Reply(
            text=written.text,
            usage=Usage(prompt=written.read, reply=written.tokens, seconds=seconds, cost=0.0),
            finish="length" if written.cut else "stop",
            model=self.name,
            sent=sent | ({"unread": written.unread} if written.unread else {}),
            dropped=_dropped(request),
        )

    async def close(self) -> None:
        """Stop what runs and free the weights; safe to call twice. A later call starts again."""
        session, self._session = self._session, None
        if session is not None:
            await beside(session.close)


def seq2seq_model(folder: Path, name: str) -> Seq2SeqModel:
    """The model in a folder, ready for calls; its settings are checked, and nothing is imported or opened.

    The check is done now because a summary model is first called long after a run has begun.

    Raises:
        ModelUnavailableError: there is no such folder, or no encoder-decoder in it.
        UsageError: torch or transformers is not installed; the message says which extra to install.
    """
    rooms_of(folder, name)
    require_packages(name)
    return Seq2SeqModel(folder, name=name)


def _dropped(request: Request) -> tuple[str, ...]:
    """What was asked for and such a model cannot be given."""
    missing = {"schema": request.schema is not None, "choices": request.choices, "logprobs": request.logprobs}
    values = [name for name in request.sampling.set_values() if name not in TAKES]
    return (*values, *(name for name, asked in missing.items() if asked))


# the network; everything here blocks ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rooms:
    """The number of tokens that a model has room for; `None` if there is no limit.

    Attributes:
        text: the tokens that it reads, including special tokens.
        reply: the tokens that it writes.
    """

    text: int | None = None
    reply: int | None = None


@dataclass(frozen=True, slots=True)
class SequenceOutput:
    """What a network wrote: the text, tokens read, left unread at the front and written, and whether it was cut."""

    text: str
    read: int
    unread: int
    tokens: int
    cut: bool


def rooms_of(folder: Path, name: str) -> Rooms:
    """The number of tokens that a model has room for, by its own settings; nothing is imported.

    Raises:
        ModelUnavailableError: there is no such folder, no encoder-decoder in it, or no tokeniser next to it.
    """
    settings = _settings(folder / _SETTINGS, name)
    if settings.get("is_encoder_decoder") is not True:
        raise ModelUnavailableError(
            f"The model in {folder} ({settings.get('model_type') or 'of no known type'}) is not an encoder-decoder "
            "such as BART or T5. For a GGUF file, use embedded:FILE.gguf. For a model on a server, use "
            "openai-chat:NAME.",
            model=name,
        )
    if not any((folder / file).is_file() for file in _TOKENISERS):  # the library would make up an empty one
        raise ModelUnavailableError(
            f"The model in {folder} has no tokeniser. Save the tokeniser from its training there "
            "(`tokenizer.save_pretrained`).",
            model=name,
        )
    tokeniser = folder / _TOKENISERS[0]
    limit = _settings(tokeniser, name).get("model_max_length") if tokeniser.is_file() else None
    longest = limit if isinstance(limit, int) and 0 < limit < _ENDLESS else None
    places = _places(settings, "encoder")
    text = min((n for n in (places, longest) if n is not None), default=None)
    reply = _places(settings, "decoder")
    return Rooms(text, None if reply is None else max(1, reply - _MARKS))


def _places(settings: Mapping[str, Any], half: str) -> int | None:
    """Places of the encoder or decoder, in the settings of the whole or in those of that half."""
    inner = settings.get(half)
    known = {**settings, **inner} if isinstance(inner, dict) else settings
    for name in (f"max_{half}_position_embeddings", *_PLACES):
        if isinstance(known.get(name), int) and known[name] > 0:
            return int(known[name])
    return None


def _settings(file: Path, name: str) -> dict[str, Any]:
    try:
        settings: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or "no JSON"
        raise ModelUnavailableError(
            f"{name}: {file} cannot be read ({why}). Specify the folder in which the package transformers saved an "
            "encoder-decoder, with its config.json, weights and tokeniser.",
            model=name,
        ) from error
    return settings if isinstance(settings, dict) else {}


def require_packages(name: str) -> None:
    """Check that the packages are installed, without importing them.

    Raises:
        UsageError: a package is missing; the message says which extra to install.
    """
    for module in _PACKAGES:
        require(module, _EXTRA, f"The model {name}")


def open_network(folder: Path, name: str) -> Network:
    """The model in a folder, opened in some seconds; nothing is downloaded.

    Raises:
        UsageError: a package is missing; the message says which extra to install.
        ModelUnavailableError: the folder has no such model, or the model is damaged.
    """
    rooms = rooms_of(folder, name)
    torch, library = (extra(module, _EXTRA, f"The model {name}") for module in _PACKAGES)
    damaged = extra("safetensors", _EXTRA, f"The model {name}").SafetensorError
    try:
        with silent(library):
            # A folder of somebody else may hold Python files, which nobody is asked to run here.
            own: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
            tokeniser = library.AutoTokenizer.from_pretrained(str(folder), **own)
            network = library.AutoModelForSeq2SeqLM.from_pretrained(str(folder), **own)
    except (OSError, ValueError, RuntimeError, LookupError, ImportError, damaged) as error:
        why = " ".join(str(error).split())[:300]
        raise ModelUnavailableError(
            f"The model in {folder} cannot be opened ({why}). Save it and its tokeniser again with `save_pretrained`.",
            model=name,
        ) from error
    network.eval()
    return Network(torch, library, tokeniser, network, rooms)


@dataclass(frozen=True)
class Network:
    """An open encoder-decoder and its tokeniser."""

    torch: Any
    library: Any
    tokeniser: Any
    network: Any
    rooms: Rooms

    def write(self, text: str, sent: Json, stopped: Callable[[], bool]) -> SequenceOutput:
        """The model's output for a text, from its own search for the likeliest text, or sampled if `sent` asks for it.

        A text that is too long for the encoder loses lines at the front, so that the last lines are read.

        Args:
            text: the text for the encoder.
            sent: the values from `sent_values`.
            stopped: called before each token; the model stops when it returns true.
        """
        shown, unread = self._fitting(text)
        seed, values = sent.get("seed"), self._arguments(sent)
        with silent(self.library), self.torch.random.fork_rng(devices=[]), self.torch.no_grad():
            if seed is not None:
                self.torch.manual_seed(seed)
            given = self.tokeniser(
                shown, return_tensors="pt", truncation=self.rooms.text is not None, max_length=self.rooms.text
            )
            made = self.network.generate(
                input_ids=given["input_ids"],
                attention_mask=given["attention_mask"],
                stopping_criteria=self.library.StoppingCriteriaList([lambda *_, **__: stopped()]),
                **values,
            )[0].tolist()
        written = len(made) - 1  # the first one starts the decoder
        most = sent.get("max_tokens")
        cut = most is not None and written >= most and not self._ended(made)
        said = self.tokeniser.decode(made, skip_special_tokens=True).strip()
        return SequenceOutput(said, len(given["input_ids"][0]), unread, written, cut)

    def _arguments(self, sent: Json) -> Json:
        """The values by the library's names; where nothing is drawn, the model's own number of beams holds."""
        settings = self.network.generation_config
        values: Json = {TAKES[name]: value for name, value in sent.items() if TAKES[name]}
        values |= {"do_sample": True, "num_beams": 1} if _draws(sent) else {"do_sample": False}
        if getattr(settings, "max_length", None) in _UNSET and not getattr(settings, "max_new_tokens", None):
            values.setdefault("max_new_tokens", min(_LONGEST, self.rooms.reply or _LONGEST))
        least = getattr(settings, "min_length", None)  # summarisers are often set to write so many at least
        if least and "max_new_tokens" in values:
            values["min_length"] = min(least, values["max_new_tokens"])
        return values

    def _ended(self, made: list[int]) -> bool:
        """Whether the model ended by itself; some have the end mark forced on a text that is cut."""
        settings = self.network.generation_config
        ends = settings.eos_token_id if isinstance(settings.eos_token_id, list) else [settings.eos_token_id]
        return made[-1] in ends and getattr(settings, "forced_eos_token_id", None) is None

    def _fitting(self, text: str) -> tuple[str, int]:
        """As many of a text's last lines as the encoder has room for, and the number of tokens that are left out."""
        room, whole = self.rooms.text, self._count(text)
        if room is None or whole <= room:
            return text, 0
        lines = text.split("\n")
        first = bisect_left(range(len(lines)), True, key=lambda at: self._count("\n".join(lines[at:])) <= room)  # noqa: FBT003 - what is sought
        kept = "\n".join(lines[first:]).strip() if first < len(lines) else self._end_of(lines[-1], room)
        return kept, whole - min(self._count(kept), room)

    def _end_of(self, line: str, room: int) -> str:
        """The end of a line that is too long by itself."""
        numbers = self.tokeniser(line, add_special_tokens=False, verbose=False)["input_ids"]
        text: str = self.tokeniser.decode(numbers[-max(1, room - self._count("")) :]).strip()
        return text

    def _count(self, text: str) -> int:
        return len(self.tokeniser(text, verbose=False)["input_ids"])


def sent_values(sampling: Sampling, rooms: Rooms) -> Json:
    """The values that are sent, by fabula's names; values for sampling are sent only if the reply is sampled.

    A reply is sampled if the temperature is above 0, or if it is unset and `top_p` or `top_k` is set. A reply is never
    longer than the decoder allows.
    """
    values = {name: value for name, value in sampling.set_values().items() if name in TAKES}
    if not _draws(values):
        values = {name: value for name, value in values.items() if name not in _DRAWING}
    if "max_tokens" in values and rooms.reply is not None:
        values["max_tokens"] = min(values["max_tokens"], rooms.reply)
    return values


def _draws(values: Json) -> bool:
    temperature = values.get("temperature")
    return temperature > 0 if temperature is not None else bool({"top_p", "top_k"} & values.keys())


@contextmanager
def silent(library: Any) -> Iterator[None]:  # noqa: ANN401 - a module has no better type
    """A context in which the library prints no advice and no progress bars."""
    log = library.logging
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()
