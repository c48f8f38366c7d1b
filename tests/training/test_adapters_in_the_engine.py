"""An adapter in the engine says what it said in the trainer: next-token log-probabilities, on tiny random models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import tinygguf
from fabula.models.adapters import engine_adapter
from fabula.models.base import Message, Request, Sampling
from fabula.models.embedded import EmbeddedModel

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")
pytest.importorskip("xllamacpp", reason="the embedded engine (xllamacpp) has no wheel here")

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ("helloworld", "thelampwasdark", "zq")
LINEARS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
SHAPE = {
    "vocab_size": tinygguf.VOCAB,
    "hidden_size": tinygguf.WIDTH,
    "intermediate_size": tinygguf.HIDDEN,
    "num_hidden_layers": tinygguf.LAYERS,
    "num_attention_heads": tinygguf.HEADS,
    "num_key_value_heads": tinygguf.KV_HEADS,
    "rms_norm_eps": tinygguf.EPS,
    "max_position_embeddings": 512,
    "initializer_range": 0.15,
    "tie_word_embeddings": False,
}


def tiny(architecture: str) -> Any:  # noqa: ANN401 - the library's type
    torch.manual_seed(1)
    kinds = {"llama": ("LlamaConfig", "LlamaForCausalLM"), "qwen2": ("Qwen2Config", "Qwen2ForCausalLM")}
    config, model = (getattr(transformers, name) for name in kinds[architecture])
    made = model(config(**SHAPE))
    for name, values in made.named_parameters():
        if name.endswith(".bias"):
            torch.nn.init.normal_(values, std=0.5)
    return made


def weights_of(model: Any) -> dict[str, tinygguf.Array]:  # noqa: ANN401 - as above
    """A model's weights as `tinygguf` names them."""
    names = {"model.embed_tokens.weight": "embed", "lm_head.weight": "head"}
    return {
        names.get(name, name.removeprefix("model.layers.").removesuffix(".weight")): values.detach().numpy()
        for name, values in model.named_parameters()
    }


def ids_of(text: str) -> Any:  # noqa: ANN401 - as above
    return torch.tensor([[byte + 3 for byte in text.encode()]])


def train(model: Any, steps: int) -> None:  # noqa: ANN401 - as above
    """Some steps of training on a text: enough to move every matrix of an adapter."""
    optimiser = torch.optim.AdamW([values for values in model.parameters() if values.requires_grad], lr=0.02)
    for _ in range(steps):
        ids = ids_of("shelitthelampandtheboatcamehome")
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        optimiser.zero_grad()


def in_the_trainer(model: Any, text: str) -> dict[str, float]:  # noqa: ANN401 - as above
    with torch.no_grad():
        logs = torch.log_softmax(model(input_ids=ids_of(text)).logits[0, -1].double(), -1)
    return {chr(code): float(logs[code + 3]) for code in range(1, 128)}


async def in_the_engine(model: EmbeddedModel, text: str, adapter: str | None) -> dict[str, float]:
    messages, sampling = (Message("user", text),), Sampling(max_tokens=2, seed=1)
    reply = await model.ask(Request(messages, sampling, choices=("a",), adapter=adapter, logprobs=tinygguf.VOCAB))
    return {name: value for name, value in (reply.logprobs or {}).items() if name in {chr(n) for n in range(1, 128)}}


@pytest.mark.parametrize(
    ("architecture", "rank", "alpha"), [("llama", 4, 8), ("llama", 16, 16), ("qwen2", 4, 8), ("qwen2", 16, 16)]
)
async def test_log_probabilities_are_those_of_the_trainer(
    tmp_path: Path, architecture: str, rank: int, alpha: int
) -> None:
    model = tiny(architecture)
    base = tinygguf.write_model(tmp_path / "base.gguf", weights_of(model), architecture=architecture)
    before = {text: in_the_trainer(model, text) for text in TEXTS}
    tuned = peft.get_peft_model(
        model, peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=LINEARS, task_type="CAUSAL_LM")
    )
    train(tuned, 5)
    tuned.save_pretrained(tmp_path / "peft")
    file = engine_adapter(tmp_path / "peft", base, "tiny", tmp_path / "cache")
    engine = EmbeddedModel(base, name="tiny", context=256, threads=1, adapters={"tuned": file})
    far = 0.0
    for text in TEXTS:
        after = in_the_trainer(tuned, text)
        assert await in_the_engine(engine, text, "tuned") == pytest.approx(after, abs=0.01)
        assert await in_the_engine(engine, text, None) == pytest.approx(before[text], abs=0.01)
        far = max(far, *(abs(after[sign] - before[text][sign]) for sign in after))
    await engine.close()
    assert far > 0.5, "training has moved the model"
