"""What TRL's own trainers learn from a folder of ours, read as it is: the whole reply, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fabula.models.base import Message
from fabula.training.examples import DataCard, Example, PreferencePair, write_data

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
trl = pytest.importorskip("trl")
datasets = pytest.importorskip("datasets")

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = (Message("system", "You plan."), Message("user", "Plan a lamp."))


def settings(kind: Any, folder: Path, **more: Any) -> Any:  # noqa: ANN401 - TRL's own classes
    return kind(
        output_dir=str(folder / "out"),
        report_to=[],
        use_cpu=True,
        bf16=False,
        max_length=None,
        save_strategy="no",
        **more,
    )


def loaded(folder: Path) -> Any:  # noqa: ANN401 - a data set
    return datasets.load_dataset("json", data_files=str(folder / "train.jsonl"), cache_dir=str(folder / "cache"))[
        "train"
    ]


def test_sft_learns_the_reply_alone(tiny_llama: Path, tmp_path: Path) -> None:
    examples = [Example(str(n), "plot", f"story-{n}", PROMPT, f"A boat comes at {n}.") for n in range(2)]
    write_data(tmp_path, DataCard("examples"), {"train": examples, "development": []})
    tokeniser = transformers.AutoTokenizer.from_pretrained(tiny_llama)
    trainer = trl.SFTTrainer(
        model=str(tiny_llama),
        args=settings(trl.SFTConfig, tmp_path, completion_only_loss=True),
        train_dataset=loaded(tmp_path),
        processing_class=tokeniser,
    )
    batch = next(iter(trainer.get_train_dataloader()))
    learnt = [tokeniser.decode(row[row != -100]).strip() for row in batch["labels"]]
    assert sorted(learnt) == [f"A boat comes at {n}.<|im_end|>" for n in range(2)]


def test_dpo_compares_the_two_replies_to_the_whole_prompt(tiny_llama: Path, tmp_path: Path) -> None:
    pairs = [PreferencePair("a", "plot", "lamp", PROMPT, "A boat comes.", "A boat sinks.", "edit")]
    write_data(tmp_path, DataCard("pairs"), {"train": pairs, "development": []})
    tokeniser = transformers.AutoTokenizer.from_pretrained(tiny_llama)
    trainer = trl.DPOTrainer(
        model=str(tiny_llama),
        args=settings(trl.DPOConfig, tmp_path),
        train_dataset=loaded(tmp_path),
        processing_class=tokeniser,
    )
    (row,) = trainer.train_dataset
    asked = tokeniser.apply_chat_template(
        [{"role": one.role, "content": one.content} for one in PROMPT], add_generation_prompt=True, tokenize=False
    )
    shown = {name: tokeniser.decode(row[f"{name}_ids"]).strip() for name in ("prompt", "chosen", "rejected")}
    assert shown["prompt"] == asked.strip()
    assert shown["chosen"].startswith("A boat comes.")
    assert shown["rejected"].startswith("A boat sinks.")
