"""A GGUF file becomes a trainable folder once, says what it said before, and is asked the same bytes as the engine."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest

import tinygguf
from fabula.base.errors import ProjectError, UsageError
from fabula.base.files import held
from fabula.models.adapters import digest_of
from fabula.models.base import Message, Request
from fabula.models.llamacpp import body_of
from fabula.training.base import Base, load, open_base, prompt_text
from fabula.training.examples import DataCard, Example, PreferencePair, write_data

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
pytest.importorskip("gguf")
xllamacpp = pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")

if TYPE_CHECKING:
    from pathlib import Path

    from tinygguf import Array

SYSTEM, USER, OPENING = (
    Message("system", "You write."),
    Message("user", "Begin — 灯台!\n\n12"),
    Message("assistant", "Once"),
)
PROMPTS = ((SYSTEM, USER), (USER,), (SYSTEM, USER, OPENING), (USER, OPENING), (USER, OPENING, USER))


def write(folder: Path, architecture: str = "llama", **weights: Array) -> Path:
    return tinygguf.write_model(
        folder / f"{architecture}.gguf",
        tinygguf.weights() | weights,
        architecture=architecture,
        tokenizer=tinygguf.like_smollm(),
    )


@pytest.fixture
def opened(tmp_path: Path) -> Base:
    return open_base(f"embedded:{write(tmp_path)}", {"XDG_CACHE_HOME": str(tmp_path / "cache")})


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
def test_a_gguf_becomes_a_folder_that_says_the_same(tmp_path: Path, architecture: str) -> None:
    bias = np.linspace(-1, 1, tinygguf.WIDTH, dtype=np.float32)
    file = write(tmp_path, architecture, **{"0.self_attn.q_proj.bias": bias})
    told: list[str] = []
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    base = open_base(f"embedded:{file}", environ, report=told.append)
    assert (base.digest, base.gguf, base.name) == (digest_of(file), file, f"embedded:{file}")
    assert (base.context, base.parameters) == (512, 107_200 + 256 * (architecture == "qwen2"))
    assert len(told) == 1
    model, tokenizer = load(base)
    if architecture == "qwen2":
        assert torch.equal(model.state_dict()["model.layers.0.self_attn.q_proj.bias"], torch.tensor(bias))
        model.model.layers[0].self_attn.q_proj.bias.data.zero_()  # what is expected is reckoned without
    ids = tokenizer("helloworld", add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        logs = torch.log_softmax(model(input_ids=ids).logits[0, -1].double(), -1)
    for sign, value in tinygguf.next_logprobs(tinygguf.weights(), "helloworld").items():
        assert float(logs[ord(sign) + 3]) == pytest.approx(value, abs=1e-4)
    assert model.dtype == torch.float32
    assert load(base, "bfloat16")[0].dtype == torch.bfloat16
    assert open_base(str(file), environ, report=told.append) == base
    assert open_base(str(base.folder), {}) == base, "the folder of the cache is known for the file that it was made of"
    assert len(told) == 1, "and it is made once"


def test_a_tokenizer_that_the_libraries_read_otherwise_is_refused(tmp_path: Path) -> None:
    file = tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())  # of bytes, as llama's: they add a blank
    with pytest.raises(
        UsageError, match=r"base\.gguf has a tokeniser that the training libraries read differently from "
    ):
        open_base(f"embedded:{file}", {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert not list((tmp_path / "cache/fabula/bases").glob("[!.]*"))


def test_what_is_broken_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    spec, environ = f"embedded:{write(tmp_path)}", {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with monkeypatch.context() as patch:
        patch.setattr(transformers.PreTrainedModel, "save_pretrained", broken)
        with pytest.raises(ProjectError, match=r"The disk or quota is full"):
            open_base(spec, environ)
    (work,) = (tmp_path / "cache/fabula/bases").iterdir()
    assert not (work / "new").exists()
    (work / "new").mkdir()  # as a kill leaves it
    (work / "new/model.safetensors").write_bytes(b"half")
    base = open_base(spec, environ)
    assert list((tmp_path / "cache/fabula/bases").iterdir()) == [base.folder]
    (base.folder / "fabula-base.json").unlink()
    with held(work, "The making"), pytest.raises(ProjectError, match=r"The making of .* is in use by process"):
        open_base(spec, environ)
    assert open_base(spec, environ) == base


def test_a_folder_gets_its_engine_s_file_by_name(tmp_path: Path, opened: Base) -> None:
    assert opened.gguf is not None
    (opened.folder / "fabula-base.json").unlink()
    bare = open_base(str(opened.folder), {})
    assert bare.gguf is None
    assert bare.digest != opened.digest
    known = open_base(str(opened.folder), {}, gguf=opened.gguf)
    assert (known.gguf, known.digest) == (opened.gguf, opened.digest)
    other = tinygguf.write_model(tmp_path / "other.gguf", tinygguf.weights())
    with pytest.raises(UsageError, match="has a tokeniser that the training libraries read otherwise"):
        open_base(str(opened.folder), {}, gguf=other)


def test_nothing_that_could_run_code_is_loaded(opened: Base) -> None:
    whole = torch.load  # pickled weights would be read by it
    weights = transformers.AutoModelForCausalLM.from_pretrained(opened.folder).state_dict()
    (opened.folder / "model.safetensors").unlink()
    torch.save(weights, opened.folder / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"The model in .* cannot be loaded: .*safetensors"):
        load(opened)
    assert torch.load is whole


def test_a_model_of_the_hub_is_looked_for_only_by_its_name_there(opened: Base, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here reaches the network: the guard of the tests would fail this one."""
    load(opened)
    with pytest.raises(UsageError, match=r"a/b could not be fetched from the hub: .* give a folder or a GGUF file"):
        open_base("hf:a/b", {})  # the tests forbid the hub's client the network
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(opened.folder))
    assert open_base("hf:a/b", {}).name == "hf:a/b"


class Applied:
    """The engine's own HTTP server, which shows what it makes of messages."""

    def __init__(self, file: Path) -> None:
        params = xllamacpp.CommonParams()
        params.model.path, params.n_ctx, params.warmup, params.verbosity = str(file), 512, False, -1
        params.n_gpu_layers, params.cpuparams.n_threads, params.ui = 0, 1, False
        self.server = xllamacpp.Server(params)

    def _said(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        return httpx.post(f"{self.server.listening_address}/{path}", json=body, trust_env=False, timeout=120).json()

    def text(self, messages: list[dict[str, str]]) -> str:
        return str(self._said("apply-template", {"messages": messages})["prompt"])

    def ids(self, text: str) -> list[int]:
        return list(self._said("tokenize", {"content": text, "parse_special": True})["tokens"])


@pytest.fixture
def applied(opened: Base) -> Applied:
    assert opened.gguf is not None
    return Applied(opened.gguf)


@pytest.mark.parametrize("messages", PROMPTS)
def test_what_is_trained_on_is_what_the_engine_is_asked(
    opened: Base, applied: Applied, messages: tuple[Message, ...]
) -> None:
    tokenizer = load(opened)[1]
    text = prompt_text(tokenizer, messages)
    assert text == applied.text(body_of(Request(messages), {}, ())["messages"])
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == applied.ids(text)
    assert "You are kind" not in text, "the template's own system prompt is kept out"


_ONLINE = """
import sys
from fabula.cli.main import main
assert main(sys.argv[1:]) == 0
from huggingface_hub import constants
sys.exit(0 if constants.HF_HUB_OFFLINE else 9)
"""


@pytest.mark.parametrize("kind", ["sft", "dpo"])
def test_a_training_keeps_the_packages_off_the_network(tiny_llama: Path, tmp_path: Path, kind: str) -> None:
    prompt = (Message("user", "Go on."),)
    lines: list[Any] = [
        PreferencePair(str(n), "character", f"g{n}", prompt, "She waits.", "She runs.", "ratings")
        if kind == "dpo"
        else Example(str(n), "climax", f"g{n}", prompt, "She waits.")
        for n in range(9)
    ]
    made: Any = {"train": lines[:8], "development": lines[8:]}
    write_data(tmp_path / "data", DataCard("pairs" if kind == "dpo" else "examples"), made)
    command = ["train", str(tmp_path / "data"), "--base", str(tiny_llama), "--out", str(tmp_path / "out")]
    environ = {name: value for name, value in os.environ.items() if not name.endswith("_OFFLINE")}
    ran = subprocess.run(
        [sys.executable, "-c", _ONLINE, *command, "--dry-run"],
        env=environ,
        check=False,
        capture_output=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr.decode()
