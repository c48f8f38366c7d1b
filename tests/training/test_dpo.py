"""`fabula train` on a tiny model: from a folder of pairs to an adapter that prefers what was preferred."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks import preferences

from fabula.app.training import Listener, TrainingAsked
from fabula.app.training_pairs import prepare_pairs, train_pairs
from fabula.base.errors import UsageError
from fabula.cli.main import main
from fabula.models.adapters import read_adapter
from fabula.models.base import Message
from fabula.training import running
from fabula.training.base import load, open_base
from fabula.training.examples import VERSION, DataCard, ExampleSource, PreferencePair, write_data
from fabula.training.libraries import library, quiet
from fabula.training.scoring import pair_tokens, score_pairs
from killed import kill_in_training

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
pytest.importorskip("transformers")
pytest.importorskip("peft")
pytest.importorskip("trl")

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMES = ("Mara", "Ilse", "Oren", "Tove", "Rune", "Lars", "Edda", "Finn", "Nils", "Vera", "Olga", "Karl")
VERBS = ("rows", "waits", "reads", "sings", "mends", "walks", "talks", "calls")
QUICK = {"precision": "float32", "samples": "1", "sample_tokens": "5", "micro_batch": "4"}


def pair(number: int, *, group: str = "") -> PreferencePair:
    """Two replies with as many words and letters: the preferred one has short sentences."""
    one, other = NAMES[number % 12], NAMES[(number * 5 + 1) % 12]
    verbs = [VERBS[(number * 3 + at) % 8] for at in range(3)]
    prompt = (Message("system", "You write."), Message("user", f"Go on with {one}."))
    chosen = f"{one} {verbs[0]}. {other} {verbs[1]}. Nobody {verbs[2]}."
    rejected = f"{other} {verbs[1]}, {one} {verbs[2]}, nobody {verbs[0]}."
    return PreferencePair(
        f"p{number}", "character", group or f"scene-{number // 3}", prompt, chosen, rejected, "ratings", number % 2 == 0
    )


def made(folder: Path, train: Sequence[PreferencePair], development: Sequence[PreferencePair]) -> Path:
    card = DataCard("pairs", {"system": "magnet"}, (ExampleSource("own", "Own choices", "CC0-1.0", 4),))
    write_data(folder, card, {"train": train, "development": development})
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made(tmp_path / "data", [pair(n) for n in range(24)], [pair(n) for n in range(300, 360)])


def asked(data: Path, base: Path, out: Path, **values: Any) -> TrainingAsked:  # noqa: ANN401 - any setting
    return TrainingAsked(data, str(base), out, "improved", QUICK | values)


def test_a_known_preference_is_learnt_beyond_what_any_rule_knows(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "adapter"
    sets = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
    command = ["train", str(data), "--base", str(tiny_llama), "--out", str(out), "--json", *sets]
    command += ["--set", "learning_rate=3e-3", "--set", "evaluate_every=4"]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)
    reward = said["accuracies"]["implicit reward"]
    assert reward["n"] == 20, "60 pairs of 20 groups, over which the interval is"
    assert reward["low"] > 0.5
    for rule in ("longer", "shorter", "first", "later"):
        assert said["accuracies"][f"rule: {rule}"]["value"] == 0.5
        assert said["gains"][f"implicit reward less {rule}"]["low"] > 0
    assert said["ended"] in {"steps", "early"}
    assert said["verdict"]["n"] == 60
    assert set(said["verdict"]["tuned_above"]) == {"base", "longer", "shorter", "later"}

    record = read_adapter(out)
    assert record is not None
    assert (record.kind, record.agents, record.preset) == ("dpo", ("character",), "improved")
    assert record.settings["beta"] == 0.1
    rows = list(csv.DictReader((out / "losses.csv").open()))
    best = next(row for row in rows if int(row["step"]) == said["taken"])
    assert float(best["development"]) < 0.6931
    assert float(best["development_accuracy"]) == pytest.approx(reward["value"]), (
        "the library's own measure says so too"
    )
    assert float(rows[0]["margin"]) == pytest.approx(0.0, abs=1e-6)
    scored = [json.loads(line) for line in (out / "evaluation.jsonl").read_text().splitlines()]
    margins = sum(one["margin"] for one in scored) / len(scored)
    assert margins * 0.1 == pytest.approx(float(best["development_margin"]), rel=1e-3)
    card = (out / "README.md").read_text()
    assert "implicit reward" in card
    assert ("\n\nBetter. The tuned model ranks" in card) is said["verdict"]["better"]
    assert ("\n\nNot better. " in card) is not said["verdict"]["better"]
    assert "CC0-1.0" in card
    assert "margins.svg" in card
    assert all((out / f"{name}.svg").read_text().startswith("<svg") for name in ("losses", "margins", "accuracy"))
    assert not (out / "checkpoints").exists()
    assert str(tmp_path) not in (out / "adapter_config.json").read_text()

    base = open_base(str(tiny_llama), os.environ)
    with quiet():
        model, tokeniser = load(base)
        tuned = library("peft").PeftModel.from_pretrained(model, str(out))
        pairs = [pair(n) for n in range(300, 360)]
        again = score_pairs(tuned, pairs, [pair_tokens(tokeniser, one) for one in pairs], bf16=False)
    assert [one.margin for one in again] == pytest.approx([one["margin"] for one in scored], abs=1e-4)

    assert main(command) == 0
    finished = capsys.readouterr()
    again_said = json.loads(finished.out)
    assert {name: again_said[name] for name in ("accuracies", "gains", "verdict")} == {
        name: said[name] for name in ("accuracies", "gains", "verdict")
    }
    assert json.loads(finished.out)["ended"] == "before"
    assert "was already finished, so nothing was trained. To start again, use --fresh." in finished.err


def test_killed_and_given_again_the_losses_are_those_of_the_unbroken_run(
    tiny_llama: Path, data: Path, tmp_path: Path
) -> None:
    sets = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
    sets += ["--set", "learning_rate=1e-3", "--set", "evaluate_every=3", "--set", "epochs=4", "--set", "patience=0"]
    made(data, [pair(n) for n in range(24)], [pair(n) for n in range(300, 306)])
    command = ["train", str(data), "--base", str(tiny_llama), *sets, "--out"]
    assert main([*command, str(tmp_path / "whole")]) == 0
    broken = [*command, str(tmp_path / "broken")]
    kill_in_training(8, broken)
    assert main(broken) == 0
    whole, mended = (
        [
            [float(cell) if cell else None for cell in row]
            for row in list(csv.reader((tmp_path / name / "losses.csv").open()))[1:]
        ]
        for name in ("whole", "broken")
    )
    assert len(whole) == 12
    for mine, other in zip(mended, whole, strict=True):
        assert mine == pytest.approx(other, abs=1e-6)
    evaluations = [(tmp_path / name / "evaluation.jsonl").read_text() for name in ("whole", "broken")]
    assert evaluations[0] == evaluations[1]


def test_the_papers_preset_takes_the_last_weights_after_one_epoch(tiny_llama: Path, data: Path, tmp_path: Path) -> None:
    wanted = replace(asked(data, tiny_llama, tmp_path / "adapter"), preset="faithful")
    trained = train_pairs(prepare_pairs(wanted, os.environ, Listener()), Listener())
    assert trained.outcome is not None
    assert (trained.outcome.step, trained.outcome.taken) == (3, 3), "24 pairs in steps of 8"
    assert trained.work.schedule.warmup == 2, "no warm-up is longer than the training"


def test_a_loss_that_is_no_number_keeps_the_checkpoint_before(
    tiny_llama: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    logged = running._Watch.logged

    def broken(self: Any, step: int, logs: Any) -> None:  # noqa: ANN401 - as the library calls it
        logged(self, step, {**logs, "loss": float("nan")} if step == 5 and "loss" in logs else logs)

    monkeypatch.setattr(running._Watch, "logged", broken)
    sets = [word for name, value in QUICK.items() for word in ("--set", f"{name}={value}")]
    command = ["train", str(data), "--base", str(tiny_llama), *sets, "--set", "evaluate_every=2", "--out"]
    assert main([*command, str(tmp_path / "adapter")]) == 1
    assert "The loss was not a number at step 5 of 12" in capsys.readouterr().err
    assert (tmp_path / "adapter" / "adapter_model.safetensors").is_file()


def test_long_prompts_lose_their_middle_and_pairs_that_teach_nothing_are_left_out_and_counted(
    tiny_llama: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "\n".join(f"Line {n} of the scene so far." for n in range(90))
    train = [pair(n) for n in range(9)]
    train[0] = replace(train[0], messages=(*train[0].messages[:1], Message("user", f"{long}\nGo on.")))
    train += [replace(pair(20), rejected=pair(20).chosen), replace(pair(21), chosen="word " * 500)]
    folder = made(tmp_path / "data", train, [pair(300)])
    work = prepare_pairs(asked(folder, tiny_llama, tmp_path / "out"), os.environ, Listener())
    counts = work.counts()
    assert (counts["pairs"], counts["prompts cut"]) == (9, 1)
    assert counts["left out: both replies are the same"] == 1
    assert counts["left out: prompt and reply are longer than 2,048 tokens"] == 1
    assert len(work.train.rows[0].prompt) <= 1024
    command = ["train", str(folder), "--base", str(tiny_llama), "--out", str(tmp_path / "out"), "--dry-run"]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "1 prompt longer than the limit lost" in said
    assert "1 left out: both replies are the same" in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("train", "development", "message"),
    [
        (7, 3, r"has 7 pairs to train on\. Training needs at least 8, and hundreds to learn a preference"),
        (9, 0, r"has no development pairs, so nothing would show whether training helps"),
    ],
)
def test_too_little_is_refused(tiny_llama: Path, tmp_path: Path, train: int, development: int, message: str) -> None:
    folder = made(tmp_path / "data", [pair(n) for n in range(train)], [pair(n) for n in range(300, 300 + development)])
    with pytest.raises(UsageError, match=message):
        prepare_pairs(asked(folder, tiny_llama, tmp_path / "out"), os.environ, Listener())


def test_examples_are_no_pairs_and_newer_data_is_refused(tiny_llama: Path, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "examples"
    write_data(folder, DataCard("examples"), {"train": [], "development": []})
    with pytest.raises(UsageError, match="holds examples, and pairs are needed here"):
        prepare_pairs(asked(folder, tiny_llama, tmp_path / "out"), os.environ, Listener())
    card = json.loads((data / "data.json").read_text())
    (data / "data.json").write_text(json.dumps(card | {"version": VERSION + 1}))
    newer = f"is training data of version {VERSION + 1}; this fabula reads up to {VERSION}"
    with pytest.raises(UsageError, match=newer):
        prepare_pairs(asked(data, tiny_llama, tmp_path / "out"), os.environ, Listener())


def test_the_benchmark_runs_on_a_tiny_model(tiny_llama: Path) -> None:
    values = {"epochs": 1, "precision": "float32"}
    table = preferences.bench(str(tiny_llama), "improved", (16, 12), values)
    assert "accuracy, implicit reward" in [row.what for row in table.rows]
    assert "DPO on 200 pairs" in table.markdown()
