"""Encoder-decoders as models, with as much of torch and transformers as is used; the real ones are an extra."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from contextlib import contextmanager, nullcontext
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelUnavailableError, UnknownNameError, UsageError
from fabula.engine.roles import Person
from fabula.models.base import Message, Reply, Request, Sampling
from fabula.models.limits import Limited
from fabula.models.prices import FREE, price_of
from fabula.models.seq2seq import Rooms, Seq2SeqModel, rooms_of, seq2seq_model
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

END, START = 1, 2


class Numbers(list[int]):
    """As much of a tensor as is used."""

    def tolist(self) -> list[int]:
        return list(self)


class Tokeniser:
    """Words by number, with an end mark; a line end is not a token."""

    def __init__(self) -> None:
        self.words = ["", "</s>", "<s>"]

    def __call__(self, text: str, *, add_special_tokens: bool = True, **how: Any) -> dict[str, Any]:  # noqa: ANN401 - what the library takes
        for word in text.split():
            if word not in self.words:
                self.words.append(word)
        numbers = [self.words.index(word) for word in text.split()]
        numbers += [END] if add_special_tokens else []
        if how.get("return_tensors"):
            assert how["return_tensors"] == "pt"
            return {"input_ids": [numbers[: how["max_length"]]], "attention_mask": [[1] * len(numbers)]}
        return {"input_ids": numbers}

    def decode(self, numbers: list[int], *, skip_special_tokens: bool = False) -> str:
        return " ".join(self.words[n] for n in numbers if n > START or not skip_special_tokens)


class Network:
    """Says its input again, so that a test sees what was read, as long as it may and nobody stops it."""

    def __init__(self) -> None:
        self.generation_config = SimpleNamespace(
            eos_token_id=END, forced_eos_token_id=None, max_length=20, max_new_tokens=None, min_length=0
        )
        self.asked: list[dict[str, Any]] = []
        self.gate: threading.Event | None = None
        self.begun = threading.Event()

    def eval(self) -> None: ...

    def generate(self, **how: Any) -> list[Numbers]:  # noqa: ANN401 - what the library takes
        self.asked.append(how)
        self.begun.set()
        stopped = how["stopping_criteria"][0]
        if self.gate is not None:
            while not self.gate.wait(0.001) and not stopped(None, None):
                continue
        wanted = [*how["input_ids"][0][:-1], END][: how.get("max_new_tokens")]
        return [Numbers([START, *wanted])]


class Library(ModuleType):
    """As much of transformers as is used."""

    def __init__(self, network: Network) -> None:
        super().__init__("transformers")
        self.opened: list[tuple[str, bool]] = []
        self.notes: list[str] = []
        self.fails: Exception | None = None
        self.StoppingCriteriaList = list
        self.AutoTokenizer = SimpleNamespace(from_pretrained=self._open(Tokeniser()))
        self.AutoModelForSeq2SeqLM = SimpleNamespace(from_pretrained=self._open(network))
        self.logging = SimpleNamespace(
            get_verbosity=lambda: 30,
            is_progress_bar_enabled=lambda: True,
            set_verbosity_error=lambda: self.notes.append("error"),
            set_verbosity=lambda level: self.notes.append(str(level)),
            disable_progress_bar=lambda: self.notes.append("no bar"),
            enable_progress_bar=lambda: self.notes.append("bar"),
        )

    def _open(self, made: object) -> Any:  # noqa: ANN401 - whatever is opened
        def from_pretrained(folder: str, *, local_files_only: bool, trust_remote_code: bool) -> object:
            assert trust_remote_code is False, "no Python of a model's folder is run"
            if self.fails:
                raise self.fails
            self.opened.append((folder, local_files_only))
            return made

        return from_pretrained


class Damaged(Exception):  # noqa: N818 - the library's own is called SafetensorError
    """What the library raises of weights that are cut off."""


@pytest.fixture
def network() -> Network:
    return Network()


@pytest.fixture
def seeds() -> list[int]:
    return []


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch, network: Network, seeds: list[int]) -> Library:
    @contextmanager
    def fork_rng(*, devices: list[int]) -> Iterator[None]:
        assert devices == []
        yield

    torch, library, safetensors = ModuleType("torch"), Library(network), ModuleType("safetensors")
    random = SimpleNamespace(fork_rng=fork_rng)
    torch.__dict__.update(random=random, no_grad=nullcontext, manual_seed=seeds.append)
    safetensors.__dict__["SafetensorError"] = Damaged
    for module in (torch, library, safetensors):
        module.__spec__ = ModuleSpec(module.__name__, None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return library


def saved(folder: Path, **settings: Any) -> Path:  # noqa: ANN401 - any JSON
    folder.mkdir(exist_ok=True)
    values = {"model_type": "bart", "is_encoder_decoder": True, "max_position_embeddings": 12} | settings
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 1000000000000000019884624838656}')
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "bart")


@pytest.fixture
def model(folder: Path, library: Library) -> Seq2SeqModel:
    return seq2seq_model(folder, f"seq2seq:{folder}")


def request(*texts: str, **sampling: Any) -> Request:  # noqa: ANN401 - any of its values
    return Request(tuple(Message("user", text) for text in texts), Sampling(**sampling), role="summariser")


async def test_it_reads_all_messages_and_writes_one_piece(
    model: Seq2SeqModel, library: Library, network: Network, folder: Path
) -> None:
    assert library.opened == [], "opened with the first call"
    pieces: list[str] = []
    ticks = iter((10.0, 12.5))
    model.clock = lambda: next(ticks)
    reply = await model.ask(request("Mara: Hello.", "Tobias: Go.", max_tokens=9), pieces.append)
    assert reply == Reply(
        "Mara: Hello. Tobias: Go.", reply.usage, "stop", f"seq2seq:{folder}", {"max_tokens": 9}, (), None
    )
    assert pieces == [reply.text]
    assert (reply.usage.prompt, reply.usage.reply, reply.usage.seconds, reply.usage.cost) == (5, 5, 2.5, 0.0)
    model.clock = lambda: 0.0
    await model.ask(request("Again.", max_tokens=9))
    assert library.opened == [(str(folder), True)] * 2, "tokeniser and network, once, from this machine"
    assert library.notes[-2:] == ["30", "bar"], "the library speaks as before"
    await model.close()
    await model.close()


async def test_without_a_temperature_the_models_own_search_holds(
    model: Seq2SeqModel, network: Network, seeds: list[int]
) -> None:
    for sampling in ({}, {"temperature": 0.0, "top_p": 0.9}):
        reply = await model.ask(request("Mara: Hello.", seed=7, max_tokens=5, repeat_penalty=1.2, **sampling))
        asked = network.asked[-1]
        assert asked["do_sample"] is False
        assert asked.keys().isdisjoint({"num_beams", "temperature", "top_p"}), "its number of beams is its own"
        assert (asked["max_new_tokens"], asked["repetition_penalty"]) == (5, 1.2)
        assert reply.sent == {"max_tokens": 5, "repeat_penalty": 1.2}
    assert seeds == []
    await model.close()


@pytest.mark.parametrize("sampling", [{"temperature": 0.7}, {"top_k": 40}, {"top_p": 0.9, "temperature": 1.5}])
async def test_a_draw_has_its_seed_and_one_beam(
    model: Seq2SeqModel, network: Network, seeds: list[int], sampling: dict[str, Any]
) -> None:
    reply = await model.ask(request("Mara: Hello.", seed=7, max_tokens=5, **sampling))
    assert seeds == [7]
    asked = network.asked[-1]
    assert (asked["do_sample"], asked["num_beams"]) == (True, 1)
    assert {name: asked[name] for name in sampling} == sampling
    assert reply.sent == {"max_tokens": 5, "seed": 7} | sampling
    await model.close()


async def test_what_it_cannot_be_given_is_told(model: Seq2SeqModel) -> None:
    asked = Request((Message("user", "Hello."),), Sampling(min_p=0.1, stop=("x",)), schema={}, choices=("a",))
    assert (await model.ask(asked)).dropped == ("min_p", "stop", "schema", "choices")
    with pytest.raises(UnknownNameError, match="Unknown adapter 'plot'"):
        await model.ask(Request((Message("user", "Hello."),), adapter="plot"))
    await model.close()


async def test_a_text_that_is_too_long_loses_whole_lines_at_the_front_and_says_how_much(model: Seq2SeqModel) -> None:
    lines = [f"Mara: line number {n}" for n in range(6)]
    reply = await model.ask(request("\n".join(lines), max_tokens=9))
    assert reply.text == "Mara: line number 4 Mara: line number 5", "two lines of four and an end mark fit into twelve"
    assert (reply.usage.prompt, reply.sent["unread"]) == (9, 16)
    alone = await model.ask(request(" ".join(f"w{n}" for n in range(20)), max_tokens=10))
    assert alone.text == " ".join(f"w{n}" for n in range(9, 19)), "of a lone line the end is read, and ten are written"
    assert (alone.sent["unread"], alone.finish) == (9, "length")
    fits = await model.ask(request("\n".join(lines[:2]), max_tokens=9))
    assert "unread" not in fits.sent
    await model.close()


async def test_lengths_keep_to_what_the_model_can_do(model: Seq2SeqModel, network: Network) -> None:
    reply = await model.ask(request("Mara: Hello.", max_tokens=500))
    assert reply.sent == {"max_tokens": 10}, "twelve places less the marks"
    await model.ask(request("Mara: Hello."))
    assert network.asked[-1]["max_new_tokens"] == 10, "the library's own twenty is no summary"
    network.generation_config.max_length, network.generation_config.min_length = 142, 56
    await model.ask(request("Mara: Hello."))
    assert "max_new_tokens" not in network.asked[-1], "the model has its own length"
    await model.ask(request("Mara: Hello.", max_tokens=5))
    assert network.asked[-1]["min_length"] == 5
    network.generation_config.forced_eos_token_id = END
    assert (await model.ask(request("one two three", max_tokens=4))).finish == "length", "the end may be forced"
    network.generation_config.forced_eos_token_id, network.generation_config.eos_token_id = None, [END]
    assert (await model.ask(request("one two three", max_tokens=4))).finish == "stop"
    await model.close()


async def test_a_cancelled_call_stops_the_model_and_the_next_one_is_answered(
    model: Seq2SeqModel, network: Network
) -> None:
    network.gate = threading.Event()
    task = asyncio.create_task(model.ask(request("Mara: Hello.", max_tokens=5)))
    await asyncio.to_thread(network.begun.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    network.gate = None
    assert (await asyncio.wait_for(model.ask(request("again", max_tokens=5)), 10)).text == "again"
    await model.close()


async def test_closing_ends_the_running_call_and_those_that_wait_with_an_error(
    model: Seq2SeqModel, network: Network
) -> None:
    network.gate = threading.Event()
    tasks = [asyncio.create_task(model.ask(request("Mara: Hello.", max_tokens=5))) for _ in range(2)]
    await asyncio.to_thread(network.begun.wait, 10)
    await model.close()
    ends = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
    assert [type(end) for end in ends] == [ModelUnavailableError] * 2
    assert "was closed during a call." in str(ends[1])
    network.gate = None
    assert (await model.ask(request("anew", max_tokens=5))).text == "anew"
    await model.close()


def test_its_identity_tells_settings_tokeniser_and_weights_apart(model: Seq2SeqModel, folder: Path) -> None:
    first = model.identity
    assert first.startswith("seq2seq:bart@"), "wherever it lies"

    def anew() -> str:
        return Seq2SeqModel(folder, name=model.name).identity

    (folder / "README.md").write_text("A model.")
    assert anew() == first
    (folder / "model.safetensors").write_bytes(b"other weights")
    second = anew()
    (folder / "generation_config.json").write_text('{"num_beams": 4}')
    assert len({first, second, anew()}) == 3
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()
    with pytest.raises(ModelUnavailableError, match=r"cannot be read \(Is a directory\)\. Specify another folder\."):
        anew()


def test_weights_that_differ_in_the_middle_alone_are_told_apart(model: Seq2SeqModel, folder: Path) -> None:
    found = set()
    for changed in (None, 3 << 20, 5 << 20):
        weights = bytearray(8 << 20)
        if changed is not None:
            weights[changed : changed + (1 << 16)] = b"x" * (1 << 16)
        (folder / "model.safetensors").write_bytes(weights)
        found.add(Seq2SeqModel(folder, name=model.name).identity)
    assert len(found) == 3


def test_what_it_can_do_is_passed_on_by_who_stands_before_it(model: Seq2SeqModel) -> None:
    async def answer(_: Request) -> str:
        return "x"

    able = model.capabilities
    assert (able.instructed, able.context, able.parallel, able.schema) == (False, 12, 1, False)
    assert not Limited(model, parallel=4).capabilities.instructed
    assert not Person("me", answer, model).capabilities.instructed
    assert Person("me", answer).capabilities.instructed


@pytest.mark.parametrize(
    ("settings", "rooms"),
    [
        ({}, Rooms(12, 10)),
        ({"max_position_embeddings": 9000}, Rooms(9000, 8998)),
        ({"max_position_embeddings": None}, Rooms(None, None)),
        ({"max_position_embeddings": None, "n_positions": 512}, Rooms(512, 510)),
        ({"max_encoder_position_embeddings": 16384, "max_decoder_position_embeddings": 1024}, Rooms(16384, 1022)),
        ({"max_position_embeddings": None, "encoder": {"max_position_embeddings": 512}}, Rooms(512, None)),
    ],
)
def test_the_room_of_each_half_is_read_from_its_settings(
    tmp_path: Path, settings: dict[str, Any], rooms: Rooms
) -> None:
    assert rooms_of(saved(tmp_path / "m", **settings), "seq2seq:m") == rooms


def test_a_tokeniser_may_read_less_than_the_encoder(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 8}')
    assert rooms_of(folder, "seq2seq:m") == Rooms(8, 10)
    (folder / "tokenizer_config.json").unlink()
    (folder / "vocab.json").write_text("{}")
    assert rooms_of(folder, "seq2seq:m") == Rooms(12, 10)


@pytest.mark.usefixtures("library")
def test_a_spec_opens_it_behind_limits_and_it_is_free(folder: Path) -> None:
    model = open_model(f"seq2seq:{folder}", ModelTable(), Environment())
    assert isinstance(model, Limited)
    assert (model.name, model.capabilities.instructed) == (f"seq2seq:{folder}", False)
    assert price_of(model.name, {}) == FREE
    with pytest.raises(UnknownNameError, match=r"Unknown model 'seq2seq'\. Did you mean 'seq2seq:'"):
        open_model("seq2seq", ModelTable(), Environment())


@pytest.mark.usefixtures("library")
def test_a_folder_that_holds_no_such_model_is_told_before_anything_is_asked(tmp_path: Path, folder: Path) -> None:
    def opened(place: Path) -> None:
        open_model(f"seq2seq:{place}", ModelTable(), Environment())

    with pytest.raises(
        ModelUnavailableError, match=r"gone/config\.json cannot be read \(No such file.*Specify the folder"
    ):
        opened(tmp_path / "gone")
    with pytest.raises(
        ModelUnavailableError, match=r"\(gpt2\) is not an encoder-decoder such as BART or T5.*embedded:FILE"
    ):
        opened(saved(tmp_path / "gpt", model_type="gpt2", is_encoder_decoder=False))
    (folder / "tokenizer_config.json").unlink()
    with pytest.raises(ModelUnavailableError, match=r"has no tokeniser\. Save the tokeniser from its training there"):
        opened(folder)
    (folder / "config.json").write_text("[")
    with pytest.raises(ModelUnavailableError, match=r"config\.json cannot be read \(no JSON\)"):
        opened(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(ModelUnavailableError, match=r"\(of no known type\) is not an encoder-decoder"):
        opened(folder)


@pytest.mark.parametrize("package", ["torch", "transformers"])
@pytest.mark.usefixtures("library")
def test_without_the_packages_the_extra_to_install_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    message = rf"needs the package {package}, which is not installed\. Run `pip install .*\[seq2seq\]'`"
    with pytest.raises(UsageError, match=message):
        open_model(f"seq2seq:{folder}", ModelTable(), Environment())


@pytest.mark.parametrize("error", [OSError("no weights"), Damaged("no weights"), ImportError("no weights")])
async def test_a_damaged_model_is_told_with_the_librarys_words(
    model: Seq2SeqModel, library: Library, error: Exception
) -> None:
    library.fails = error
    with pytest.raises(ModelUnavailableError, match=r"cannot be opened \(no weights\)\. Save it and its"):
        await model.ask(request("Hello."))
    library.fails = None
    assert (await model.ask(request("Hello.", max_tokens=5))).text == "Hello.", "once it is mended it is asked"
    await model.close()
