"""A tiny random llama for tests: its weights, its GGUF file, a PEFT adapter for it, and what it must answer.

Tokens are the 256 bytes and three specials, so a prompt's token ids are known without a tokenizer: byte + 3 (a space
becomes three bytes, so use none). Its chat template writes the messages' contents one after the other, nothing else.
`next_logprobs` is a plain numpy forward pass in the training libraries' convention (halves rotated), which the GGUF
file's is not: both agree only if rows are moved right.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from fabula.models.adapters import AdapterFolder, AdapterRecord, digest_of, write_adapter
from fabula.models.adapters import write_room as write_record
from fabula.models.gguf import write_gguf
from fabula.models.lora import peft_to_gguf

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from fabula.models.gguf import Value

    Array = NDArray[np.float32]

WIDTH, HEADS, KV_HEADS, HIDDEN, LAYERS, VOCAB, EPS = 64, 4, 2, 128, 2, 259, 1e-5
HEAD = WIDTH // HEADS
SHAPES = {
    "self_attn.q_proj": (WIDTH, WIDTH),
    "self_attn.k_proj": (KV_HEADS * HEAD, WIDTH),
    "self_attn.v_proj": (KV_HEADS * HEAD, WIDTH),
    "self_attn.o_proj": (WIDTH, WIDTH),
    "mlp.gate_proj": (HIDDEN, WIDTH),
    "mlp.up_proj": (HIDDEN, WIDTH),
    "mlp.down_proj": (WIDTH, HIDDEN),
}
NAMES = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def weights(seed: int = 1) -> dict[str, Array]:
    """All matrices of the model, named as the training libraries do."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Array:
        return (rng.standard_normal(shape) * 0.25).astype(np.float32)

    made = {"embed": draw(VOCAB, WIDTH), "head": draw(VOCAB, WIDTH)}
    made |= {f"{i}.{name}": draw(*shape) for i in range(LAYERS) for name, shape in SHAPES.items()}
    return made


def adapter(seed: int, rank: int = 4) -> dict[str, Array]:
    """Random LoRA matrices for every projection, named as PEFT saves them."""
    rng = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for i in range(LAYERS):
        for name, (rows, columns) in SHAPES.items():
            stem = f"base_model.model.model.layers.{i}.{name}"
            made[f"{stem}.lora_A.weight"] = (rng.standard_normal((rank, columns)) * 0.2).astype(np.float32)
            made[f"{stem}.lora_B.weight"] = (rng.standard_normal((rows, rank)) * 0.2).astype(np.float32)
    return made


def merged(base: dict[str, Array], lora: dict[str, Array], scale: float) -> dict[str, Array]:
    """The weights with the adapter added, for `next_logprobs`."""
    made = dict(base)
    for i in range(LAYERS):
        for name in SHAPES:
            stem = f"base_model.model.model.layers.{i}.{name}"
            made[f"{i}.{name}"] = base[f"{i}.{name}"] + scale * (
                lora[f"{stem}.lora_B.weight"] @ lora[f"{stem}.lora_A.weight"]
            )
    return made


def next_logprobs(model: dict[str, Array], text: str) -> dict[str, float]:
    """Log-probabilities of the token after `text`, for the tokens that are ASCII characters."""
    x = model["embed"][[byte + 3 for byte in text.encode()]]
    for i in range(LAYERS):
        x = x + _attention(_norm(x), model, i)
        h = _norm(x)
        gate = h @ model[f"{i}.mlp.gate_proj"].T
        x = x + (gate / (1 + np.exp(-gate)) * (h @ model[f"{i}.mlp.up_proj"].T)) @ model[f"{i}.mlp.down_proj"].T
    logits = (_norm(x[-1:]) @ model["head"].T)[0].astype(np.float64)
    logs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    return {chr(code): float(logs[code + 3]) for code in range(128)}


def _norm(x: Array) -> Array:
    return np.asarray(x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS), np.float32)


def _attention(h: Array, model: dict[str, Array], i: int) -> Array:
    n = len(h)
    q = _rotated((h @ model[f"{i}.self_attn.q_proj"].T).reshape(n, HEADS, HEAD))
    k = _rotated((h @ model[f"{i}.self_attn.k_proj"].T).reshape(n, KV_HEADS, HEAD)).repeat(HEADS // KV_HEADS, 1)
    v = (h @ model[f"{i}.self_attn.v_proj"].T).reshape(n, KV_HEADS, HEAD).repeat(HEADS // KV_HEADS, 1)
    scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(HEAD) + np.triu(np.full((n, n), -np.inf), 1)
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    mixed = np.einsum("hqk,khd->qhd", share, v).reshape(n, WIDTH)
    return np.asarray(mixed @ model[f"{i}.self_attn.o_proj"].T, np.float32)


def _rotated(x: Array) -> Array:
    angles = np.arange(len(x))[:, None] / 10000 ** (np.arange(0, HEAD, 2) / HEAD)
    cos, sin = (np.concatenate([f(angles)] * 2, -1)[:, None, :] for f in (np.cos, np.sin))
    half = np.concatenate([-x[..., HEAD // 2 :], x[..., : HEAD // 2]], -1)
    return np.asarray(x * cos + half * sin, np.float32)


def _of_bytes() -> dict[str, Value]:
    """A tokenizer of bytes, and a template that only joins."""
    tokens = ("<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)))
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": tuple(0.0 for _ in tokens),
        "tokenizer.ggml.token_type": (2, 3, 3, *[6] * 256),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_eos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": TEMPLATE,
    }


def like_smollm() -> dict[str, Value]:
    """A tokenizer of the kind that SmolLM2 has, whose tokens are the bytes all the same, and a template with marks.

    Like SmolLM2's, the template puts in a system prompt of its own where there is none.
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    signs = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    tokens = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *(signs[byte] for byte in range(256)))
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": (3, 3, 3, *[1] * 256),
        "tokenizer.ggml.merges": (),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": (
            "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
            "{{ '<|im_start|>system\\nYou are kind.<|im_end|>\\n' }}{% endif %}"
            "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
        ),
    }


def write_model(
    path: Path,
    model: dict[str, Array],
    context: int = 512,
    architecture: str = "llama",
    tokenizer: dict[str, Value] | None = None,
) -> Path:
    """The model as a GGUF file of some 400 kB, with the context that it was trained for.

    As qwen2, it has biases ("0.self_attn.q_proj.bias"), zero where `model` has none, and no rows are moved. For the
    training libraries, `tokenizer` has to be `like_smollm()`.
    """
    metadata: dict[str, Value] = {
        "general.architecture": architecture,
        f"{architecture}.block_count": LAYERS,
        f"{architecture}.context_length": context,
        f"{architecture}.embedding_length": WIDTH,
        f"{architecture}.feed_forward_length": HIDDEN,
        f"{architecture}.attention.head_count": HEADS,
        f"{architecture}.attention.head_count_kv": KV_HEADS,
        f"{architecture}.attention.layer_norm_rms_epsilon": EPS,
        f"{architecture}.rope.dimension_count": HEAD,
        f"{architecture}.rope.freq_base": 10000.0,
        f"{architecture}.vocab_size": VOCAB,
        **(tokenizer or _of_bytes()),
    }
    ones = np.ones(WIDTH, np.float32)
    tensors = {"token_embd.weight": model["embed"], "output.weight": model["head"], "output_norm.weight": ones}
    for i in range(LAYERS):
        tensors |= {f"blk.{i}.attn_norm.weight": ones, f"blk.{i}.ffn_norm.weight": ones}
        for name, short in zip(SHAPES, NAMES, strict=True):
            heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(short) if architecture == "llama" else None
            tensors[f"blk.{i}.{short}.weight"] = _paired(model[f"{i}.{name}"], heads)
            if architecture == "qwen2" and short in {"attn_q", "attn_k", "attn_v"}:
                bias = model.get(f"{i}.{name}.bias", np.zeros(SHAPES[name][0], np.float32))
                tensors[f"blk.{i}.{short}.bias"] = bias
    write_gguf(path, metadata, tensors)
    return path


def _paired(matrix: Array, heads: int | None) -> Array:
    """Row 2j of each head from row j of its first half, row 2j+1 from row j of its second half."""
    if heads is None:
        return matrix
    size = len(matrix) // heads
    order = [h * size + (j // 2) + (j % 2) * (size // 2) for h in range(heads) for j in range(size)]
    return matrix[order]


def write_room(folder: Path, base: Path, seeds: Mapping[str, int]) -> Path:
    """A room of random adapters for a base, one for each role, as training leaves them; returns its folder."""
    digest = digest_of(base)
    for role, seed in seeds.items():
        tuned = write_peft(folder / role, adapter(seed))
        peft_to_gguf(tuned, tuned / "adapter.gguf", base=base)
        record = AdapterRecord(kind="sft", agents=(role,), base=f"embedded:{base}", base_digest=digest)
        write_adapter(tuned, record)
    room = AdapterFolder(base=f"embedded:{base}", base_digest=digest, adapters={role: role for role in seeds})
    write_record(folder, room)
    return folder


def write_peft(folder: Path, lora: dict[str, Array], **config: object) -> Path:
    """An adapter folder as PEFT saves it."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "bias": "none", **config}
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, matrix in lora.items():
        header[name] = {
            "dtype": "F32",
            "shape": list(matrix.shape),
            "data_offsets": [len(data), len(data) + matrix.nbytes],
        }
        data += matrix.astype("<f4").tobytes()
    head = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + data)
    return folder
