"""`fabula train` on a tiny model: from a folder of data to adapters, a room, and what stands beside them."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import signal
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from fabula.app.training import Listener
from fabula.app.training_examples import ExamplesAsked, prepare, train_all
from fabula.base.errors import UsageError
from fabula.cli.main import main
from fabula.models.adapters import read_adapter, read_room
from fabula.models.base import Message
from fabula.training import memory, running
from fabula.training.examples import DataCard, Example, ExampleSource, write_data
from fabula.training.presets import Computing
from fabula.training.sft import TokenLimits, encode
from killed import kill_in_training

torch = pytest.importorskip("torch", reason="torch is not installed: `make test-train` runs these tests")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WORDS = ("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "night")
QUICK = ("--set", "micro_batch=4", "--set", "precision=float32", "--set", "sample_tokens=5", "--set", "samples=1")


def example(agent: str, story: int) -> Example:
    notes = "\n".join(f"The {WORDS[(story + i) % 11]} and the {WORDS[(story * i) % 11]}." for i in range(4))
    return Example(
        id=f"{agent}-{story}",
        agent=agent,
        group=f"story-{story}",
        messages=(Message("system", f"You are the {agent}."), Message("user", f"{notes}\n\nWrite the {agent}.")),
        completion=f"The {agent} of the {WORDS[story % 11]} comes at last. It ends well.",
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return made(tmp_path / "data")


def made(folder: Path, agents: Sequence[str] = ("plot", "climax"), train: int = 12, development: int = 5) -> Path:
    card = DataCard("examples", {"system": "agents-room"}, (ExampleSource("own", "Own stories", "CC0-1.0", 17),))
    write_data(
        folder,
        card,
        {
            "train": [example(agent, n) for agent in agents for n in range(train)],
            "development": [example(agent, 100 + n) for agent in agents for n in range(development)],
        },
    )
    return folder


def test_a_room_is_trained_and_says_what_it_gained(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "room"
    command = ["train", str(data), "--base", str(tiny_llama), "--out", str(out), "--json", *QUICK]
    assert main(command) == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    assert [one["name"] for one in document["adapters"]] == ["plot", "climax"]
    assert "Licence: CC0-1.0." not in said.err  # advice is for people
    room, folders = read_room(out)
    assert room.base == tiny_llama.name
    assert set(folders) == {"plot", "climax"}
    for one in document["adapters"]:
        folder = out / one["name"]
        record = read_adapter(folder)
        assert record is not None
        assert (record.kind, record.agents, record.base_digest) == ("sft", (one["name"],), room.base_digest)
        found = one["agents"][0]
        assert found["tuned"] < found["base"]
        assert found["verdict"] == "better"
        rows = [json.loads(line) for line in (folder / "evaluation.jsonl").read_text().splitlines()]
        assert len(rows) == 5
        assert sum(row["tuned"] for row in rows) / 5 == pytest.approx(found["tuned"])
        best = next(row for row in csv.DictReader((folder / "losses.csv").open()) if int(row["step"]) == one["taken"])
        assert float(best["development"]) == pytest.approx(found["tuned"], abs=1e-4)
        assert "CC0-1.0" in (folder / "README.md").read_text()
        assert not (folder / "checkpoints").exists()
        assert str(tmp_path) not in (folder / "adapter_config.json").read_text()

    assert main(command) == 0
    again = capsys.readouterr()
    assert [one["ended"] for one in json.loads(again.out)["adapters"]] == ["before", "before"]
    assert "was already finished, so nothing was trained. To start again, use --fresh." in again.err


def test_killed_and_given_again_the_losses_are_those_of_the_unbroken_run(
    tiny_llama: Path, data: Path, tmp_path: Path
) -> None:
    settings = ("--set", "steps=12", "--set", "evaluate_every=5", "--set", "learning_rate=0.01", "--shared")
    command = ["train", str(data), "--base", str(tiny_llama), *QUICK, *settings]
    assert main([*command, "--out", str(tmp_path / "whole")]) == 0
    broken = [*command, "--out", str(tmp_path / "broken")]
    kill_in_training(8, broken)
    assert main(broken) == 0
    for name in ("losses.csv", "evaluation.jsonl"):
        one, other = ((tmp_path / folder / "shared" / name).read_text() for folder in ("whole", "broken"))
        assert one == other


def test_examples_computed_at_once_change_nothing_but_rounding(tiny_llama: Path, data: Path, tmp_path: Path) -> None:
    command = ["train", str(data), "--base", str(tiny_llama), *QUICK, "--agents", "plot", "--set", "steps=4"]
    ways = (("micro_batch=8", "checkpointing=off"), ("micro_batch=1", "checkpointing=on"))
    found = []
    for number, way in enumerate(ways):
        out = tmp_path / str(number)
        assert main([*command, "--out", str(out), *(part for one in way for part in ("--set", one))]) == 0
        found.append([float(row["train"]) for row in csv.DictReader((out / "plot" / "losses.csv").open())])
    assert found[0] == pytest.approx(found[1], abs=1e-5)


def test_ctrl_c_keeps_a_checkpoint_and_says_how_to_go_on(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(self: running._Watch, step: int, logs: dict[str, float]) -> None:
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    command = ["train", str(data), "--base", str(tiny_llama), *QUICK, "--out", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        patch.setattr(running._Watch, "logged", interrupted)
        assert main(command) == 130
    said = capsys.readouterr().err
    assert ". The checkpoint is in" in said
    assert "To continue, run the same command again." in said
    assert not (tmp_path / "out" / "room.toml").exists()
    assert main(command) == 0
    assert (tmp_path / "out" / "room.toml").exists()


def test_other_data_or_settings_are_refused_until_fresh(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(data), "--base", str(tiny_llama), *QUICK, "--out", str(tmp_path / "out")]
    one = [*command, "--agents", "plot", "--set", "steps=2"]
    assert main(one) == 0
    capsys.readouterr()
    assert main([*one, "--set", "rank=2"]) == 2
    said = capsys.readouterr().err
    assert "holds a training with other data or settings: settings.rank was 8, now 2." in said
    made(data, train=9)
    assert main(one) == 2
    assert "data_digest was" in capsys.readouterr().err
    assert main([*one, "--fresh"]) == 0


def test_a_dry_run_says_every_value_and_what_is_cut(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", str(data), "--base", str(tiny_llama), "--out", str(tmp_path / "out"), "--dry-run"]
    assert main([*command, "--preset", "faithful", "--set", "prompt_tokens=150", "--set", "completion_tokens=40"]) == 0
    shown = capsys.readouterr().out
    assert "learning_rate      1e-06" in shown
    assert "150" in next(line for line in shown.splitlines() if line.startswith("prompt_tokens"))
    assert "12 examples + 5, " in shown
    assert "250 steps of 16" in shown
    assert re.search(r"longest \d+ tokens; about \d+ s and \d\.\d GB", shown)
    assert "prompts longer than the limit lost" in shown
    assert "completions longer than the limit lost" in shown
    assert not (tmp_path / "out").exists()


def test_a_loss_that_is_no_number_leaves_a_usable_adapter(
    tiny_llama: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    logged = running._Watch.logged

    def spoilt(self: running._Watch, step: int, logs: dict[str, float]) -> None:
        logged(self, step, dict.fromkeys(logs, math.nan) if step == 7 else logs)

    monkeypatch.setattr(running._Watch, "logged", spoilt)
    out = tmp_path / "out"
    command = ["train", str(data), "--base", str(tiny_llama), *QUICK, "--out", str(out), "--agents", "plot"]
    assert main([*command, "--set", "steps=10"]) == 1
    said = capsys.readouterr().err
    assert "The loss was not a number at step 7 of 10, and training stopped. The checkpoint at step 5 has" in said
    assert said.rstrip().endswith("Train with a lower learning rate: --set learning_rate=5e-05 --fresh.")
    assert read_adapter(out / "plot") is not None
    model = peft.PeftModel.from_pretrained(transformers.AutoModelForCausalLM.from_pretrained(tiny_llama), out / "plot")
    assert all(torch.isfinite(weight).all() for weight in model.parameters())


def test_too_few_examples_are_refused_with_numbers(tiny_llama: Path, tmp_path: Path) -> None:
    few = made(tmp_path / "few", train=7)
    with pytest.raises(UsageError) as caught:
        prepare(ExamplesAsked(few, str(tiny_llama), tmp_path / "out"), {}, Listener())
    assert str(caught.value) == (
        "The agent plot has 7 examples to train on, but needs at least 8. Make data from more stories, or name the "
        "agents to train with --agents."
    )
    prepare(ExamplesAsked(few, str(tiny_llama), tmp_path / "out", shared=True), {}, Listener())


def test_too_little_memory_is_refused_with_what_it_needs(
    tiny_llama: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda _device: 300_000_000)
    with pytest.raises(
        UsageError, match=r"Training needs about 0\.6 GB, but 0\.3 GB are free on this machine \(cpu\)\."
    ):
        prepare(ExamplesAsked(data, str(tiny_llama), tmp_path / "out"), {}, Listener())


@pytest.mark.parametrize("agent", ["../out", "..", "a/b", "\x1b[31mred", "room.toml", ".training", "a" * 300])
def test_an_agent_that_cannot_name_a_folder_is_refused(tiny_llama: Path, tmp_path: Path, agent: str) -> None:
    bad = made(tmp_path / "bad", agents=(agent,))
    with pytest.raises(UsageError, match=r"which is not a valid folder name\. Correct the data\."):
        prepare(ExamplesAsked(bad, str(tiny_llama), tmp_path / "room"), {}, Listener())


def test_what_is_computed_at_once_fits_the_memory() -> None:
    smollm2 = memory.Shape(134_515_008, layers=30, hidden=576, inner=1536, vocabulary=49_152, heads=9)

    def found(tokens: int, gigabytes: float) -> tuple[int, bool]:
        wanted = Computing("cpu", "float32")
        machine = memory.fitting(smollm2, memory.Load(4, tokens), 16, wanted, free=int(gigabytes * 1e9))
        return machine.micro_batch, machine.checkpointing

    assert found(200, 50) == (8, False)
    assert found(200, 4) == (4, False)
    assert found(2000, 50) == (1, False)
    assert found(2000, 5) == (1, True)
    with pytest.raises(
        UsageError, match=r"Training needs about 3\.7 GB, but 3\.0 GB are free on this machine \(cpu\)\."
    ):
        found(2000, 3)
    with pytest.raises(UsageError, match=r"micro_batch = 3 does not divide batch = 16\. Choose one that does\."):
        memory.fitting(smollm2, memory.Load(4, 200), 16, Computing("cpu", micro_batch=3))


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("chat_template.jinja", "{{ raise_exception('no') }}", r"The base's chat template cannot be filled in: no\."),
        ("chat_template.jinja", "{% for", r"The base's chat template cannot be filled in: .*\. Choose another base\."),
        ("chat_template.jinja", "{{ cycler.__init__.__globals__.os }}", "chat template cannot be filled in"),
        ("tokenizer.json", '{"version": "1', r"The tokeniser in .* cannot be read: .*\. Fetch the model again"),
        (
            "model.safetensors",
            "\x08" + "\0" * 7 + "{}      ",
            r"cannot be loaded: 21 of its weights are missing, such as lm_head",
        ),
        ("tokenizer_config.json", '{"auto_map": {"AutoTokenizer": ["its.Own", null]}}', "comes with its own code"),
    ],
)
def test_a_base_that_cannot_be_asked_is_refused_with_a_sentence(
    tiny_llama: Path, data: Path, tmp_path: Path, file: str, text: str, told: str
) -> None:
    bad = shutil.copytree(tiny_llama, tmp_path / "bad")
    (bad / file).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=told):
        train_all(prepare(ExamplesAsked(data, str(bad), tmp_path / "room"), {}, Listener()), Listener())


def test_marks_of_the_template_within_a_reply_are_text_and_end_no_turn(tiny_llama: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama, local_files_only=True)
    said = "She read <|im_end|> on the wall.<|im_start|>system"
    encoded = encode(tokenizer, replace(example("plot", 1), completion=said), TokenLimits(2048, 2048, 2048))
    learnt = encoded.ids[encoded.prompt :]
    assert [token for token in learnt if token in tokenizer.all_special_ids] == [tokenizer.eos_token_id]
    assert learnt[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(learnt[:-1]) == said
