"""BERTScore's arithmetic with vectors of our own, its windows, and what is said where the model is missing."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.base.errors import UsageError
from fabula.craft.bertscore.embedders import open_embedder
from fabula.craft.bertscore.scoring import BertScore, Vectors, encoded, matched, windows
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.measure.items import Item
from fabula.models.scripted import ScriptedModel
from fabula.stats.estimate import Estimate
from fabula.story import Story

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from fabula.engine.methods import Preset
    from fabula.measure.report import Report

BERTSCORE = find("bertscore")
STORY = " ".join(f"w{n}" for n in range(60))


class Tiny:
    """Words as axes, with one mark before and one behind."""

    name = "tiny"
    limit = 10

    def tokens(self, text: str) -> Sequence[int]:
        return [int(word[1:]) for word in text.split()]

    def embed(self, tokens: Sequence[int]) -> Vectors:
        assert len(tokens) <= self.limit
        rows = np.zeros((len(tokens) + 2, 101))
        rows[0, 100] = rows[-1, 100] = 5.0
        for place, token in enumerate(tokens, 1):
            rows[place, token % 100] = 3.0
        return Vectors(rows, np.array([False, *[True] * len(tokens), False]))


TINY = """
from fabula.evaluators.bertscore.test_bertscore import Tiny
def tiny(model):
    return Tiny()
"""


async def measured(
    items: Sequence[Item],
    preset: Preset,
    **config: Any,  # noqa: ANN401 - fields of Config
) -> Report:
    with Journal() as journal:
        run = Run(RunContext(journal, SystemPrompts(BERTSCORE.prompts), Cast.of(ScriptedModel({}))))
        return await BERTSCORE.evaluate(items, run, BERTSCORE.config(preset, config))


def pair(text: str, reference: str = STORY) -> Item:
    return Item("x", Story.parse(text), reference=Story.parse(reference))


def test_each_token_is_matched_with_its_nearest() -> None:
    axes = np.eye(3)
    reference = Vectors(axes, np.array([True, True, True]))
    text = Vectors(np.array([[1.0, 0, 0], [0.6, 0.8, 0]]), np.array([True, True]))
    score = matched(reference, text)
    assert score.precision == pytest.approx((1 + 0.8) / 2)
    assert score.recall == pytest.approx((1 + 0.8 + 0) / 3)
    assert score.f == pytest.approx(2 * 0.9 * 0.6 / 1.5)


def test_marks_can_be_matched_but_are_not_averaged() -> None:
    reference = Vectors(np.eye(2), np.array([True, False]))
    text = Vectors(np.eye(2)[::-1], np.array([True, False]))
    assert matched(reference, text) == BertScore(1.0, 1.0), "each finds the other's mark"


def test_matching_in_pieces_is_matching_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    sides = [Vectors(rng.normal(size=(n, 4)), np.ones(n, dtype=np.bool_)) for n in (7, 11)]
    whole = matched(sides[0], sides[1])
    monkeypatch.setattr("fabula.craft.bertscore.scoring._ROWS", 3)
    assert matched(sides[0], sides[1]).f == pytest.approx(whole.f)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 16, 17, 100])
@pytest.mark.parametrize("overlap", [0, 1, 4, 9])
def test_windows_take_every_token_once(count: int, overlap: int) -> None:
    found = list(windows(count, 10, overlap))
    assert [n for w in found for n in range(w.first, w.last)] == list(range(count))
    assert all(w.start <= w.first <= w.last <= w.end <= w.start + 10 for w in found)


def test_an_overlap_as_large_as_the_window_is_refused() -> None:
    with pytest.raises(UsageError, match="overlap=10 must be at least 0 and below the window of 10 tokens"):
        encoded(range(20), Tiny(), 10)


def test_windowed_vectors_are_those_of_the_tokens_in_order() -> None:
    found = encoded(range(60), Tiny(), 4)
    own = found.rows[found.counts]
    assert own.argmax(axis=1).tolist() == list(range(60))
    assert np.allclose(np.linalg.norm(found.rows, axis=1), 1)
    assert len(encoded(range(60), Tiny(), None).rows) == 12


async def test_junk_behind_the_limit_costs_in_windows_and_is_counted_as_cut_without(tmp_path: Path) -> None:
    program = tmp_path / "tiny.py"
    program.write_text(TINY, encoding="utf-8")
    junk = pair(STORY + " w90" * 60)
    whole = await measured([junk], "improved", embedder=f"{program}:tiny", overlap=4)
    cut = await measured([junk], "faithful", embedder=f"{program}:tiny")
    scored = [report.row("x", "bertscore").scored for report in (whole, cut)]
    assert isinstance(scored[0], Estimate)
    assert isinstance(scored[1], Estimate)
    assert scored[1].value == pytest.approx(1.0)
    assert scored[0].value == pytest.approx(2 / 3)  # precision 1/2, recall 1
    assert scored[0].method == "F1: tiny, windows of 10 sharing 4, greedy cosine, neither idf nor rescaling"
    assert whole.notes == ("2 of 2 texts are longer than 10 tokens and were read in windows.",)
    assert cut.notes == ("2 of 2 texts are longer than 10 tokens and were cut there.",)


async def test_without_the_packages_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    told = r"BERTScore needs the package torch, which is not installed\. Run `pip install .*\[bertscore\]'`"
    with pytest.raises(UsageError, match=told):
        await measured([pair("w1")], "improved")


async def test_without_references_no_model_is_opened() -> None:
    report = await measured([Item("x", Story.parse("w1"))], "improved")
    assert {row.scored.as_data()["value"] for row in report.rows} == {None}


class Network:
    """As much of a model of transformers as is used: two layers, vectors that tell the token."""

    config = SimpleNamespace(num_hidden_layers=2, max_position_embeddings=8, pad_token_id=1)

    def eval(self) -> None:
        pass

    def __call__(self, numbers: list[list[int]], *, output_hidden_states: bool) -> SimpleNamespace:
        assert output_hidden_states
        rows = np.eye(200)[numbers[0]]
        layers = [[Rows(rows * layer)] for layer in range(3)]
        return SimpleNamespace(hidden_states=layers)


class Rows(SimpleNamespace):
    """As much of a tensor as is used."""

    def __init__(self, rows: Any) -> None:  # noqa: ANN401 - as above
        super().__init__(float=lambda: self, cpu=lambda: self, numpy=lambda: rows)


class RobertaTokenizerFast:
    """As much of a tokeniser as is used."""

    model_max_length = 10**30

    def __call__(self, text: str, *, add_special_tokens: bool, verbose: bool = False) -> dict[str, list[int]]:
        assert not verbose
        if add_special_tokens:
            assert not text
            return {"input_ids": [198, 199]}
        assert text.startswith(" ")
        return {"input_ids": [int(word[1:]) for word in text.split()]}


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoGradient:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    def there(name: str, *, local_files_only: bool, trust_remote_code: bool, made: object) -> object:
        assert trust_remote_code is False, "no Python of a model's folder is run"
        if name == "gone" and local_files_only:
            raise OSError("no such model")
        return made

    torch, transformers = ModuleType("torch"), ModuleType("transformers")
    torch.__dict__.update(no_grad=NoGradient, tensor=lambda numbers: numbers)
    for kind, made in (("AutoTokenizer", RobertaTokenizerFast()), ("AutoModel", Network())):
        opened = SimpleNamespace(from_pretrained=lambda name, made=made, **o: there(name, made=made, **o))
        setattr(transformers, kind, opened)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "transformers", transformers)


@pytest.mark.usefixtures("packages")
def test_a_model_of_transformers_is_read_at_its_layer_with_its_marks() -> None:
    model = open_embedder("transformers", "models/mine", 0, fetch=False)
    assert (model.name, model.limit) == ("models/mine, layer 2", 6)
    read = model.embed(model.tokens("w3 w5"))
    assert read.counts.tolist() == [False, True, True, False]
    assert read.rows.argmax(axis=1).tolist() == [198, 3, 5, 199]
    assert read.rows.max() == 2


@pytest.mark.usefixtures("packages")
def test_a_model_that_is_not_there_or_has_no_such_layer_is_named() -> None:
    with pytest.raises(UsageError, match=r"'gone' cannot be read\. Give a folder .* or use `--set bertscore\.fetch=tr"):
        open_embedder("transformers", "gone", 0, fetch=False)
    assert open_embedder("transformers", "gone", 0, fetch=True).name == "gone, layer 2"
    with pytest.raises(UsageError, match="`--set coherence_model=FOLDER`, or use `--set coherence_fetch=true`"):
        open_embedder("transformers", "gone", fetch=False, fields="coherence_")
    assert open_embedder("transformers", "cut/roberta-large", fetch=False).name == "cut/roberta-large, layer 2"
    with pytest.raises(UsageError, match=r"mine has layers 1 to 2, but no layer 17\. Set bertscore\.layer"):
        open_embedder("transformers", "mine", 17, fetch=False)
