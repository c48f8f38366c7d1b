"""`fabula train` on a tiny random BART made on the fly, and SNAP's summary role answered by the result."""

from __future__ import annotations

import csv
import json
import os
from typing import TYPE_CHECKING

import pytest

from fabula.app.training import Listener, TrainingAsked
from fabula.app.training_summaries import prepare_summaries
from fabula.base.errors import ModelUnavailableError, UsageError
from fabula.cli.main import main
from fabula.engine.journal import Journal
from fabula.engine.roles import Assignment, Cast
from fabula.engine.run import Run, RunContext
from fabula.models.base import Message, Request
from fabula.models.seq2seq import seq2seq_model
from fabula.training.examples import DataCard, write_data
from harness import cases, prompts_in
from killed import kill_in_training

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.base import Model

WORDS = ("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "night", "key")
QUICK = ("--set", "precision=float32", "--set", "micro_batch=4", "--set", "batch=4", "--set", "beams=1")


@pytest.fixture(scope="session")
def tiny_bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a BART of two and two layers, and a tokeniser that was learnt from the words of the dialogues."""
    folder = tmp_path_factory.mktemp("tiny-bart")
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=specials,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator([f"{line['dialogue']} {line['summary']}" for line in lines(0, 60)], trainer)
    inner.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokeniser = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        mask_token="<mask>",
        model_max_length=128,
    )
    torch.manual_seed(1)
    config = transformers.BartConfig(
        vocab_size=len(tokeniser),
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=128,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=2,
        forced_eos_token_id=2,
    )
    transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    tokeniser.save_pretrained(folder)
    return folder


def lines(first: int, last: int) -> list[dict[str, str]]:
    return [
        {
            "fname": f"d_{n}",
            "dialogue": f"#Person1#: Where is the {WORDS[n % 12]}?\n#Person2#: By the {WORDS[n * 7 % 11]}, number {n}.",
            "summary": f"#Person1# asks for the {WORDS[n % 12]}.",
            "topic": "things",
        }
        for n in range(first, last)
    ]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made(tmp_path / "dialogues", 40, 10)


def made(folder: Path, train: int, development: int) -> Path:
    folder.mkdir(exist_ok=True)
    for name, own in (("train", lines(0, train)), ("dev", lines(100, 100 + development))):
        (folder / f"dialogsum.{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in own))
    return folder


async def test_a_tiny_bart_is_trained_and_answers_for_snaps_summary_role(
    tiny_bart: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "summariser"
    command = ["train", str(data), "--base", str(tiny_bart), "--out", str(out), "--json", *QUICK]
    command += ["--set", "learning_rate=3e-3", "--set", "epochs=6", "--set", "warmup=5", "--set", "evaluate_every=20"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["loss"]["loss, tuned less base"]["high"] < 0
    assert said["rouge"]["rouge1, tuned less base"]["low"] > 0
    assert said["rouge"]["rougeL, tuned"]["n"] == 10
    assert "rougeL, first three turns" in said["rouge"]
    card = (out / "README.md").read_text()
    assert "CC BY-NC-SA" in card
    assert "summariser=seq2seq:THIS_FOLDER" in card
    assert not (out / "checkpoints").exists()
    assert [path.suffix for path in out.glob("*.bin")] == []

    model = seq2seq_model(out, f"seq2seq:{out}")
    try:
        reply = await model.ask(Request((Message("user", lines(100, 101)[0]["dialogue"]),), role="summariser"))
        told = await told_by_snap(model)
    finally:
        await model.close()
    assert len(told) == 1, "the last cell is not summed up"
    assert "asks for the" in told[0]
    assert reply.text.startswith("#Person1# asks")
    assert reply.text == json.loads((out / "training.json").read_text())["tuned_summaries"]["d_100"]

    assert main(command) == 0
    again = capsys.readouterr()
    assert json.loads(again.out)["rouge"] == said["rouge"]
    assert "was already finished, so nothing was trained" in again.err


async def told_by_snap(model: Model) -> list[str]:
    """The summaries that stand in the prompts of a story by SNAP whose summary role the model plays."""
    case = next(case for case in cases() if case.system.name == "snap" and case.preset == "faithful")
    with Journal() as journal:
        cast = Cast(Assignment(case.model()), {"summariser": Assignment(model)}, tuple(case.system.roles))
        context = RunContext(journal, prompts_in(case.system.prompt_folders(case.preset)), cast)
        await case.system.write(case.brief, Run(context), case.system.config(case.preset, case.config))
        return [journal.artefacts.newest(path) or "" for path in journal.artefacts.paths() if path.endswith("summary")]


def test_killed_and_given_again_the_losses_are_those_of_the_unbroken_run(
    tiny_bart: Path, data: Path, tmp_path: Path
) -> None:
    command = ["train", str(data), "--base", str(tiny_bart), *QUICK, "--set", "epochs=2"]
    command += ["--set", "evaluate_every=6", "--set", "measured=2", "--set", "learning_rate=1e-3", "--out"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    broken = [*command, str(tmp_path / "broken")]
    kill_in_training(15, broken)
    assert main(broken) == 0
    whole, mended = (
        [
            [float(cell) if cell else None for cell in row]
            for row in list(csv.reader((tmp_path / name / "losses.csv").open()))[1:]
        ]
        for name in ("whole", "broken")
    )
    assert len(whole) == 20
    for mine, other in zip(mended, whole, strict=True):
        assert mine == pytest.approx(other, abs=1e-6)


def test_what_is_cut_is_counted_and_a_dry_run_names_the_authors_values(
    tiny_bart: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(data), "--base", str(tiny_bart), "--out", str(tmp_path / "out"), "--dry-run"]
    command += ["--preset", "faithful"]
    assert main([*command, "--set", "dialogue_tokens=10", "--set", "summary_tokens=5", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)["counts"]
    assert (counts["dialogues cut"], counts["summaries cut"]) == (50, 50)
    assert counts["longest in tokens"] == 10
    assert main(command) == 0
    said = capsys.readouterr().out
    for name, value in (("learning_rate", "3e-05"), ("epochs", "5"), ("batch", "16"), ("dialogue_tokens", "256")):
        row = next(line.split() for line in said.splitlines() if line.startswith(name))
        assert row[1] == value
    assert not (tmp_path / "out").exists()


def test_other_data_and_other_models_are_refused(tiny_bart: Path, tiny_llama: Path, data: Path, tmp_path: Path) -> None:
    def prepared(data: Path, base: Path) -> None:
        prepare_summaries(TrainingAsked(data, str(base), tmp_path / "out"), os.environ, Listener())

    pairs = tmp_path / "pairs"
    write_data(pairs, DataCard("pairs"), {"train": [], "development": []})
    with pytest.raises(UsageError, match="holds pairs, but dialogues are required here"):
        prepared(pairs, tiny_bart)
    with pytest.raises(ModelUnavailableError, match="is no encoder-decoder, as BART and T5 are"):
        prepared(data, tiny_llama)
    with pytest.raises(UsageError, match="There is no folder smollm2"):
        prepare_summaries(TrainingAsked(data, "smollm2", tmp_path / "out"), os.environ, Listener())
    with pytest.raises(UsageError, match="has 7 dialogues to train on, and 8 are the fewest"):
        prepared(made(tmp_path / "few", 7, 2), tiny_bart)
