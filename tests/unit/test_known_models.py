from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fabula.base.errors import UnknownNameError
from fabula.models.known import KNOWN, find, find_weights, installed, local_path, models_home, recognise, strength_of


def test_both_models_are_whole_entries() -> None:
    assert list(KNOWN) == ["smollm2", "qwen2.5-coder-1.5b"]
    for model in KNOWN.values():
        assert sum(package.size for package in model.packages) == model.size
        assert len(model.sha256) == 64
        assert model.licence
        assert model.provenance.endswith(".")
        assert all("==" in package.requirement for package in model.packages)
        assert model.sampling.repeat_penalty is not None
        assert model.sampling.max_tokens is not None
    assert "not stated" in KNOWN["qwen2.5-coder-1.5b"].licence
    assert [p.member[-10:] for p in KNOWN["qwen2.5-coder-1.5b"].packages][8:11] == [
        "part09.bin",
        "part10.bin",
        "part11.bin",
    ]


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model 'smolm2'\. Did you mean 'smollm2'\?"):
        find("smolm2")


def test_how_strong_a_model_is_stands_in_its_name() -> None:
    names = ("smollm2", "llama3.2:1b", "llama3.1:8b", "llama3.3:70b", "gpt-4o", "SmolLM2-135M-Instruct.Q4_1.gguf")
    assert [strength_of(name) for name in names] == ["small", "small", "medium", "large", None, "small"]


def test_home_prefers_our_variable_then_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert models_home({"FABULA_MODELS": "/m", "XDG_CACHE_HOME": "/x"}) == Path("/m")
    assert models_home({"XDG_CACHE_HOME": "/x", "HOME": "/h"}) == Path("/x/fabula/models")
    assert models_home({"XDG_CACHE_HOME": "relative", "HOME": "/h"}) == Path("/h/.cache/fabula/models")
    assert models_home({}) == Path.home() / ".cache/fabula/models"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert models_home({"HOME": "/h"}) == Path("/h/Library/Caches/fabula/models")


def test_installed_means_whole(tmp_path: Path) -> None:
    path = local_path("smollm2", tmp_path)
    assert not installed("smollm2", tmp_path)
    path.write_bytes(b"GGUF")
    assert not installed("smollm2", tmp_path)
    assert recognise(path) is None
    with path.open("r+b") as file:
        file.truncate(find("smollm2").size)  # sparse: takes no room
    assert installed("smollm2", tmp_path)
    assert recognise(path) is find("smollm2")
    assert recognise(path.rename(tmp_path / "other.gguf")) is None


def test_weights_by_name_or_path(tmp_path: Path) -> None:
    assert find_weights("smollm2", tmp_path) == local_path("smollm2", tmp_path)
    assert find_weights("some/where/mine.gguf", tmp_path) == Path("some/where/mine.gguf")
    odd = tmp_path / "weights.bin"
    odd.write_bytes(b"GGUF")
    assert find_weights(str(odd), tmp_path) == odd
    with pytest.raises(UnknownNameError, match="Unknown model 'smollm3'"):
        find_weights("smollm3", tmp_path)
