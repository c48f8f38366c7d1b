"""Bases that cannot be trained are refused in a sentence, before anything heavy is loaded."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from fabula.base.errors import ModelUnavailableError, UnknownNameError, UsageError
from fabula.models.base import Message
from fabula.models.gguf import write_gguf
from fabula.training.base import open_base, prompt_text

if TYPE_CHECKING:
    from pathlib import Path


def opened(spec: str, home: Path, gguf: Path | None = None) -> None:
    open_base(spec, {"XDG_CACHE_HOME": str(home / "cache"), "FABULA_MODELS": str(home)}, gguf=gguf)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({"general.architecture": "gemma3"}, r"is a gemma3 model, which cannot be trained here\. Give a whole text"),
        ({}, "is a nameless model, which cannot be trained here"),
        ({"general.architecture": "llama", "general.type": "adapter"}, r"is an adapter, not a model\. Give the model"),
        ({"general.architecture": "clip", "general.type": "mmproj"}, "is only the part of a model that reads pictures"),
        (
            {"general.architecture": "llama", "split.count": 3},
            r"is one of several parts of a model, which cannot be read separately",
        ),
        ({"general.architecture": "llama", "tokenizer.ggml.model": "rwkv"}, r"a tokeniser of an unknown kind \(rwkv\)"),
    ],
)
def test_a_gguf_that_cannot_be_trained(tmp_path: Path, metadata: dict[str, Any], message: str) -> None:
    file = tmp_path / "model.gguf"
    write_gguf(file, metadata, {})
    with pytest.raises(UsageError, match=rf"model\.gguf {message}|model\.gguf has {message}"):
        opened(f"embedded:{file}", tmp_path)
    with pytest.raises(UsageError, match=message):
        opened(str(file), tmp_path)
    assert not (tmp_path / "cache").exists()


def test_a_damaged_gguf(tmp_path: Path) -> None:
    whole = tinygguf.write_model(tmp_path / "whole.gguf", tinygguf.weights()).read_bytes()
    (tmp_path / "model.gguf").write_bytes(whole[:3000])
    with pytest.raises(UsageError, match=r"model\.gguf cannot be read as a GGUF file: the file is cut short"):
        opened(f"embedded:{tmp_path}/model.gguf", tmp_path)
    (tmp_path / "model.gguf").write_bytes(whole[:-3000])
    with pytest.raises(UsageError, match=r"model\.gguf cannot be read as a GGUF file: the file is cut short"):
        opened(f"embedded:{tmp_path}/model.gguf", tmp_path)


def test_a_disk_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tinygguf.write_model(tmp_path / "model.gguf", tinygguf.weights())
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100_000))
    with pytest.raises(UsageError, match=r"model\.gguf trainable needs 0\.0 GB in .*/bases, and 0\.0 GB are fr"):
        opened(f"embedded:{file}", tmp_path)


def test_names_that_are_no_base(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'smollm'\. Did you mean 'smollm2'\?"):
        opened("smollm", tmp_path)
    with pytest.raises(ModelUnavailableError, match="fabula models pull smollm2"):
        opened("smollm2", tmp_path)
    with pytest.raises(UsageError, match=r"openai:gpt is not a model that can be trained here\. Give a folder, hf:OWN"):
        opened("openai:gpt", tmp_path)


def folder(tmp_path: Path, **settings: object) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text(json.dumps({"max_position_embeddings": 512, **settings}))
    (made / "chat_template.jinja").write_text("{{ messages }}")
    header = json.dumps({"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}).encode()
    (made / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(24))
    return made


def test_a_folder_is_read_without_being_loaded(tmp_path: Path) -> None:
    base = open_base(str(folder(tmp_path)), {})
    assert (base.name, base.context, base.parameters, base.gguf, base.licence) == ("model", 512, 6, None, "not stated")


def test_folders_that_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"contains no model \(no config\.json\)\. Give a model's folder, or `--base smol"
    ):
        opened(str(tmp_path), tmp_path)
    model = folder(tmp_path, auto_map={"AutoModel": "evil.Model"})
    with pytest.raises(UsageError, match="comes with its own code, which fabula does not run"):
        opened(str(model), tmp_path)
    (model / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"config\.json cannot be read"):
        opened(str(model), tmp_path)
    (model / "config.json").write_text("{}")
    whole = (model / "model.safetensors").read_bytes()
    (model / "model.safetensors").write_bytes(whole[:20])
    with pytest.raises(UsageError, match=r"model\.safetensors cannot be read as a safetensors file"):
        opened(str(model), tmp_path)
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(UsageError, match=r"has no weights \(\*\.safetensors\)"):
        opened(str(model), tmp_path)
    (model / "chat_template.jinja").unlink()
    with pytest.raises(UsageError, match="has no chat template, so it cannot play agents"):
        opened(str(model), tmp_path)


def test_a_gguf_of_another_model_than_the_folder_s(tmp_path: Path) -> None:
    gguf = tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())
    model = folder(tmp_path, hidden_size=96, num_hidden_layers=2)
    with pytest.raises(UsageError, match=r"base\.gguf is another model than .*: its hidden_size is 64, not 96\."):
        opened(str(model), tmp_path, gguf)


class Tokenizer:
    """Stands for the library's: shows what it is given."""

    def apply_chat_template(self, said: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize
        assert add_generation_prompt
        return "".join(f"[{one['role']}:{one['content']}]" for one in said) + "[assistant:"


def test_a_prompt_gets_the_system_message_that_the_engine_gives_it() -> None:
    user, system = Message("user", "Begin."), Message("system", "Be brief.")
    assert prompt_text(Tokenizer(), (user,)) == "[system:][user:Begin.][assistant:"
    assert prompt_text(Tokenizer(), (system, user)) == "[system:Be brief.][user:Begin.][assistant:"
    assert prompt_text(Tokenizer(), (user, Message("assistant", "The lamp"))) == (
        "[system:][user:Begin.][assistant:The lamp"
    )
