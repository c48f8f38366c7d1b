from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pytest

import tinygguf
from fabula.base.errors import UsageError
from fabula.models.gguf import read_metadata, read_shapes, write_gguf
from fabula.models.lora import peft_to_gguf, read_safetensors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return tinygguf.write_model(tmp_path / "base.gguf", tinygguf.weights())


def test_metadata_reads_back_without_lists(base: Path) -> None:
    metadata = read_metadata(base)
    assert metadata["general.architecture"] == "llama"
    assert metadata["llama.attention.head_count_kv"] == 2
    assert metadata["llama.attention.layer_norm_rms_epsilon"] == pytest.approx(1e-5)
    assert metadata["tokenizer.ggml.add_bos_token"] == 0
    assert "tokenizer.ggml.tokens" not in metadata


def test_the_written_adapter_says_what_it_is(base: Path, tmp_path: Path) -> None:
    folder = tinygguf.write_peft(tmp_path / "a", tinygguf.adapter(5), use_rslora=True)
    target = peft_to_gguf(folder, tmp_path / "a.gguf", base=base)
    assert read_metadata(target) == {
        "general.type": "adapter",
        "general.architecture": "llama",
        "adapter.type": "lora",
        "adapter.lora.alpha": 16.0,
    }
    assert [p.name for p in tmp_path.glob("*.gguf")].count("a.gguf") == 1
    assert not list(tmp_path.glob(".*.new"))


@pytest.mark.parametrize("cut", [0, 3, 8, 20, 60, 900])
def test_a_cut_gguf_is_refused(base: Path, tmp_path: Path, cut: int) -> None:
    short = tmp_path / "short.gguf"
    short.write_bytes(base.read_bytes()[:cut])
    with pytest.raises(UsageError, match=r"short\.gguf (is not a GGUF|cannot be read as a GGUF file: the file is cut)"):
        read_metadata(short)


def test_impossible_lengths_are_refused_at_once(tmp_path: Path) -> None:
    evil = tmp_path / "evil.gguf"
    evil.write_bytes(b"GGUF\x03\0\0\0" + b"\xff" * 16)
    with pytest.raises(UsageError, match=r"a length of 18,446,744,073,709,551,615 is more than"):
        read_metadata(evil)
    evil.write_bytes(b"GGUF\x03\0\0\0" + bytes(8) + b"\x01" + bytes(7) + b"\xff" * 8)
    with pytest.raises(UsageError, match="is more than 16,777,216"):
        read_metadata(evil)


def test_shapes_are_those_that_were_written_and_lie_within_the_file(base: Path, tmp_path: Path) -> None:
    shapes = read_shapes(base)
    assert shapes["blk.1.attn_k.weight"] == (32, 64)
    assert shapes["output_norm.weight"] == (64,)
    short = tmp_path / "short.gguf"
    short.write_bytes(base.read_bytes()[:-100])
    with pytest.raises(UsageError, match=r"short\.gguf cannot be read as a GGUF file: the file is cut short"):
        read_shapes(short)


def test_a_file_with_other_bytes_is_read_or_refused(base: Path, tmp_path: Path) -> None:
    folder = tinygguf.write_peft(tmp_path / "a", tinygguf.adapter(5))
    whole = peft_to_gguf(folder, tmp_path / "a.gguf", base=base).read_bytes()
    rng, broken = np.random.default_rng(1), tmp_path / "broken.gguf"
    for _ in range(600):
        data = bytearray(whole)
        for place in rng.integers(4, 2500, 3):
            data[place] = int(rng.integers(256))
        broken.write_bytes(data)
        with suppress(UsageError):
            read_shapes(broken)
            read_metadata(broken)


def test_kinds_of_numbers(tmp_path: Path) -> None:
    path, folder = tmp_path / "adapter.safetensors", tinygguf.adapter(5)
    name, matrix = next(iter(folder.items()))
    halves = matrix.astype("<f2")
    upper = (matrix.astype("<f4").view("<u4") >> 16).astype("<u2")
    for dtype, data in (("F32", matrix), ("F16", halves), ("BF16", upper)):
        entry = {"dtype": dtype, "shape": matrix.shape, "data_offsets": [0, data.nbytes]}
        head = json.dumps({name: entry}).encode()
        path.write_bytes(len(head).to_bytes(8, "little") + head + data.tobytes())
        np.testing.assert_allclose(read_safetensors(path)[name], matrix, rtol=0.01, atol=1e-4)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 1 << 40]},
        {"dtype": "F32", "shape": [4, 4], "data_offsets": [-64, 0]},
        {"dtype": "F32", "shape": [1 << 40, 1 << 40], "data_offsets": [0, 64]},
        {"dtype": "F32", "shape": [-4, -4], "data_offsets": [0, 64]},
        {"dtype": "F32", "shape": [16], "data_offsets": [0, 64]},
        {"dtype": "I8", "shape": [4, 4], "data_offsets": [0, 16]},
        {"dtype": "F32", "shape": "ab", "data_offsets": [0, 64]},
        {"dtype": "F32", "shape": [4.0, 4.0], "data_offsets": [0, 64]},
        {"dtype": "F32"},
        [],
        None,
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, entry: object) -> None:
    path = tmp_path / "adapter.safetensors"
    head = json.dumps({"w": entry}).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(64))
    with pytest.raises(UsageError, match=r"adapter\.safetensors cannot be read as a safetensors file"):
        read_safetensors(path)


@pytest.mark.parametrize(
    "data", [b"", b"\xff" * 8, b"\xff" * 64, (2).to_bytes(8, "little") + b"[]", b"\x09" + bytes(7)]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "adapter.safetensors"
    path.write_bytes(data)
    with pytest.raises(UsageError, match="cannot be read as a safetensors file"):
        read_safetensors(path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"use_dora": True}, "has use_dora=True, which the engine cannot apply"),
        ({"bias": "all"}, "has bias='all'"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"r": "many"}, "no positive numbers `r` and `lora_alpha`, so"),
        ({"lora_alpha": None}, "no positive numbers"),
    ],
)
def test_kinds_of_adapters_that_cannot_be_applied(
    base: Path, tmp_path: Path, config: dict[str, object], message: str
) -> None:
    folder = tinygguf.write_peft(tmp_path / "a", tinygguf.adapter(5), **config)
    with pytest.raises(UsageError, match=message):
        peft_to_gguf(folder, tmp_path / "a.gguf", base=base)
    assert not (tmp_path / "a.gguf").exists()


def test_adapters_with_other_matrices(base: Path, tmp_path: Path) -> None:
    def convert(lora: dict[str, tinygguf.Array]) -> None:
        peft_to_gguf(tinygguf.write_peft(tmp_path / "a", lora), tmp_path / "a.gguf", base=base)

    whole = tinygguf.adapter(5)
    with pytest.raises(UsageError, match=r"trains 'base_model\.model\.lm_head\.weight', but only q_proj, k_proj"):
        convert({**whole, "base_model.model.lm_head.weight": whole[next(iter(whole))]})
    with pytest.raises(UsageError, match=r"no matching lora_A and lora_B for blk\.0\.attn_q\.weight"):
        convert({name: m for name, m in whole.items() if name != next(iter(whole))})
    with pytest.raises(UsageError, match=r"contains no matrices."):
        convert({})
    odd = {name: m[:-1] if name.endswith("0.self_attn.k_proj.lora_B.weight") else m for name, m in whole.items()}
    with pytest.raises(UsageError, match="has 31 rows, which do not match 2 heads"):
        convert(odd)


def test_missing_files_and_other_architectures(base: Path, tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"adapter_config\.json cannot be read: .*Specify the folder in which PEFT saved"
    ):
        peft_to_gguf(tmp_path, tmp_path / "a.gguf", base=base)
    write_gguf(tmp_path / "other.gguf", {"general.architecture": "gemma3"}, {})
    folder = tinygguf.write_peft(tmp_path / "a", tinygguf.adapter(5))
    with pytest.raises(UsageError, match="is a gemma3 model, but adapters can be converted only for llama and qwen2"):
        peft_to_gguf(folder, tmp_path / "a.gguf", base=tmp_path / "other.gguf")
    (folder / "adapter_config.json").write_text("[" * 100_000)
    with pytest.raises(UsageError, match="cannot be read"):
        peft_to_gguf(folder, tmp_path / "a.gguf", base=base)
