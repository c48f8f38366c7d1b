"""Log-probabilities of replies under base and adapter, on a tiny random model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from fabula.models.base import Message
from fabula.training.examples import PreferencePair
from fabula.training.scoring import log_probabilities, pair_tokens, score_pairs, tokens_of
from tinychat import tiny_chat

Native: TypeAlias = Any  # what the libraries make

torch: Native = pytest.importorskip("torch", reason="training needs `pip install 'fabula[train]'`")
transformers: Native = pytest.importorskip("transformers", reason="training needs `pip install 'fabula[train]'`")
peft: Native = pytest.importorskip("peft", reason="training needs `pip install 'fabula[train]'`")

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")
PROMPT = (Message("system", "Be brief."), Message("user", "Who keeps the light?"))
PAIRS = tuple(
    PreferencePair(str(n), "character", str(n), PROMPT, "She does. " * (n + 1), "He " * (n + 2), "ratings")
    for n in range(11)
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def tokeniser(folder: Path) -> Native:
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def model(folder: Path) -> Native:
    torch.manual_seed(2)
    base = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return peft.get_peft_model(base, peft.LoraConfig(r=4, init_lora_weights=False))


def test_a_reply_is_what_the_template_puts_after_the_prompt_and_its_end(tokeniser: Native) -> None:
    found = tokens_of(tokeniser, PROMPT, "She does.")
    assert tokeniser.decode(found.prompt) == ("<s>system: Be brief.</s><s>user: Who keeps the light?</s><s>assistant: ")
    assert tokeniser.decode(found.reply) == "She does.</s>"


def test_rows_read_together_are_as_likely_as_each_alone_by_the_libraries_own_sum(
    model: Native, tokeniser: Native
) -> None:
    rows = [tokens_of(tokeniser, pair.messages, pair.chosen) for pair in PAIRS]
    together = log_probabilities(model, rows)
    for row, found in zip(rows, together, strict=True):
        ids = torch.tensor([[*row.prompt, *row.reply]])
        labels = torch.tensor([[-100] * len(row.prompt) + list(row.reply)])
        with torch.no_grad():
            loss = model.eval()(input_ids=ids, labels=labels).loss
        assert found == pytest.approx(-float(loss) * len(row.reply), abs=2e-4)


def test_the_base_is_the_model_without_its_adapter_and_the_mode_is_put_back(
    model: Native,
    tokeniser: Native,
    folder: Path,
) -> None:
    model.train()
    scored = score_pairs(model, PAIRS, [pair_tokens(tokeniser, pair) for pair in PAIRS])
    assert model.training
    alone = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    rows = [tokens_of(tokeniser, pair.messages, pair.rejected) for pair in PAIRS]
    assert [one.rejected.base for one in scored] == pytest.approx(log_probabilities(alone, rows), abs=1e-4)
    assert all(one.rejected.base != pytest.approx(one.rejected.tuned, abs=1e-3) for one in scored)
    assert [one.pair for one in scored] == list(PAIRS)


def test_sixteen_bits_are_near(model: Native, tokeniser: Native) -> None:
    rows = [tokens_of(tokeniser, pair.messages, pair.chosen) for pair in PAIRS]
    exact, near = log_probabilities(model, rows), log_probabilities(model, rows, bf16=True)
    assert near == pytest.approx(exact, rel=0.02)
    assert near != exact
