"""Choosing prompts: groups, near-duplicates, coverage, the same choice for the same seed, odd input."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fabula.app import choosing
from fabula.app.choosing import ChoiceOptions, choose, near_duplicates
from fabula.app.prompt_files import WritingPrompt, read_prompts
from fabula.base.errors import UsageError
from fabula.base.extras import installing
from fabula.craft.embedding import tf_idf_vectors
from fabula.stats.clusters import k_means, reduced, silhouettes
from fabula.story import Brief

if TYPE_CHECKING:
    from pathlib import Path

TOPICS = {
    "sea": "lighthouse keeper storm boat harbour wave sailor island gull tide",
    "space": "rocket planet orbit captain alien moon star engine colony signal",
    "court": "judge trial lawyer witness verdict prison oath jury crime appeal",
}
BY_WORDS = ChoiceOptions(number=6, clusters=3, embedder="tf-idf", reduction="svd")


def made(topics: dict[str, str] = TOPICS, each: int = 12) -> list[WritingPrompt]:
    """Prompts of a few topics, each with six of its topic's words."""
    rng = np.random.default_rng(5)
    found = []
    for name, words in topics.items():
        for number in range(each):
            drawn = " ".join(rng.choice(words.split(), 6, replace=False))
            found.append(WritingPrompt(f"{name}-{number}", Brief(f"Write about {drawn}.")))
    return found


def topic_of(one: choosing.ChosenPrompt) -> str:
    return one.prompt.id.partition("-")[0]


def test_each_group_has_its_share_nearest_first() -> None:
    choice = choose(made(), BY_WORDS)
    assert [cluster.size for cluster in choice.clusters] == [12, 12, 12]
    assert sorted(map(topic_of, choice.chosen)) == ["court", "court", "sea", "sea", "space", "space"]
    for cluster in choice.clusters:
        own = [one for one in choice.chosen if one.cluster == cluster.number]
        assert [one.distance for one in own] == sorted(one.distance for one in own)
        assert set(cluster.words) <= set(TOPICS[topic_of(own[0])].split())
    assert choice.how == {
        "embeddings": "TF-IDF of word stems",
        "reduction": "truncated singular value decomposition",
        "dimensions": 7,
        "seed": 0,
    }


def test_as_many_groups_as_fit_best_are_made() -> None:
    choice = choose(made(), ChoiceOptions(number=6, embedder="tf-idf", reduction="svd"))
    assert list(choice.scores) == [2, 3, 4, 5, 6]
    assert len(choice.clusters) == max(choice.scores, key=choice.scores.__getitem__)
    for cluster in choice.clusters:  # no group mixes topics
        assert len({topic_of(one) for one in choice.chosen if one.cluster == cluster.number}) == 1


def test_groups_share_in_proportion_to_their_size_and_each_has_one() -> None:
    prompts = [*made({"sea": TOPICS["sea"]}, 27), *made({"court": TOPICS["court"]}, 3)]
    choice = choose(prompts, ChoiceOptions(6, clusters=2, embedder="tf-idf", reduction="svd"))
    assert [(cluster.size, cluster.chosen) for cluster in choice.clusters] == [(27, 5), (3, 1)]
    few = choose(made(), ChoiceOptions(2, clusters=3, embedder="tf-idf", reduction="svd"))
    assert [cluster.chosen for cluster in few.clusters] == [1, 1, 0]
    whole = choose(made(each=2), ChoiceOptions(6, clusters=3, embedder="tf-idf", reduction="svd"))
    assert len({one.prompt.id for one in whole.chosen}) == 6


def test_what_differs_by_a_few_words_counts_once() -> None:
    base = (
        "Write a story about a keeper who lights the lamp each night and one night hears the sea call his name twice."
    )
    other = "Write a letter from a prisoner to the judge who sent her away, and let the judge answer it years later."
    texts = [base, base.replace("twice", "thrice"), other, base.upper(), other.replace("her", "him"), "Short one."]
    assert near_duplicates(texts, tf_idf_vectors(texts)) == [0, 0, 2, 0, 2, 5]
    short = ["Write about a lamp.", "Write about a clock.", "Write about a lamp."]
    assert near_duplicates(short, tf_idf_vectors(short)) == [0, 1, 0]
    choice = choose(
        [WritingPrompt(str(n), Brief(text)) for n, text in enumerate(texts)], ChoiceOptions(2, 2, "tf-idf", "svd")
    )
    assert (choice.prompts, choice.unlike) == (6, 3)
    assert [[prompt.id for prompt in group] for group in choice.groups] == [["0", "1", "3"], ["2", "4"], ["5"]]


@pytest.mark.parametrize(
    ("prompts", "number", "message"),
    [
        (made()[:3], 4, "There are 3 prompts, so 4 cannot be chosen. Use a smaller --n, or provide more prompts."),
        (made()[:1], 2, "There is one prompt, so 2 cannot be chosen."),
        (
            [WritingPrompt(str(n), Brief("The same words in all.")) for n in range(9)],
            2,
            "There are 9 prompts, of which 1 differ by more than a few words, so 2 cannot be chosen.",
        ),
    ],
)
def test_too_few_are_named(prompts: list[WritingPrompt], number: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose(prompts, ChoiceOptions(number, embedder="tf-idf", reduction="svd"))


def test_odd_prompts_are_chosen_from(tmp_path: Path) -> None:
    one = choose(made()[:1], ChoiceOptions(1, embedder="tf-idf", reduction="svd"))
    assert [chosen.prompt.id for chosen in one.chosen] == ["sea-0"]
    same = [WritingPrompt(str(n), Brief("The same words in all.")) for n in range(9)]
    assert choose(same, ChoiceOptions(1, embedder="tf-idf", reduction="svd")).clusters[0].size == 1
    strange = [
        WritingPrompt(f"p{n}", Brief(text)) for n, text in enumerate(("the of a", "了解 海", "🙂 x", "1234", "a b c"))
    ]
    assert len(choose(strange, ChoiceOptions(5, 9, "tf-idf", "svd")).chosen) == 5
    with pytest.raises(
        UsageError, match=r"UMAP needs more than 15 different prompts. Use --reduce svd, or provide more"
    ):
        choose(strange, ChoiceOptions(5, 2, "tf-idf", "umap"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"No prompt found in .*empty. Provide .md, .txt, .jsonl or .csv files"):
        read_prompts([tmp_path / "empty"])
    (tmp_path / "blank.md").write_text("  \n")
    with pytest.raises(UsageError, match=r"The brief .*blank.md is empty"):
        read_prompts([tmp_path / "blank.md"])


def test_what_is_not_installed_is_done_without_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "find_spec", lambda _: None)
    how = choose(made(), ChoiceOptions(3)).how
    assert how["embeddings"] == f"TF-IDF of word stems; torch is not installed (`{installing('choose')}`)"
    assert how["reduction"].endswith(f"decomposition; umap is not installed (`{installing('choose')}`)")
    for module in ("torch", "umap"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=r"needs the package torch.*pip install .*choose\]'"):
        choose(made(), ChoiceOptions(3, embedder="minilm"))
    with pytest.raises(UsageError, match=r"UMAP needs the package umap.*pip install .*choose\]'"):
        choose(made(), ChoiceOptions(3, embedder="tf-idf", reduction="umap"))


PROGRAM = """
import sys
sys.path.insert(0, {here!r})
from test_choosing import made
from fabula.app.choosing import ChoiceOptions, choose
choice = choose(made(), ChoiceOptions(5, embedder="tf-idf", reduction="svd", seed=3))
print(choice.lines(), choice.picture, choice.scores, sep="")
"""


def test_two_processes_choose_the_same() -> None:
    program = PROGRAM.format(here=os.path.dirname(__file__))  # noqa: PTH120 - a plain string goes into the program
    said = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert len(said[0]) > 1000


def test_the_picture_shows_every_prompt_and_its_group() -> None:
    prompts = [
        *made(),
        WritingPrompt("evil<script>", Brief("A hacker tries <script>alert(1)</script> in the harbour.")),
    ]
    choice = choose(prompts, BY_WORDS)
    picture = ET.fromstring(choice.picture)  # noqa: S314 - our own
    space = "{http://www.w3.org/2000/svg}"
    dots = picture.findall(f"{space}path")
    assert len(dots) == 37
    assert sum("ring" in dot.attrib["class"].split() for dot in dots) == 6
    assert "evil<script>" in "".join(dot[0].text or "" for dot in dots)
    assert "prefers-color-scheme:dark" in choice.picture
    numbers = [text.text for text in picture.findall(f"{space}text[@class='p-number']")]
    assert numbers == [str(n) for n in range(1, len(choice.clusters) + 1)]


# the arithmetic ------------------------------------------------------------------------------------------------------


def test_k_means_finds_groups_and_the_silhouette_their_number() -> None:
    rng = np.random.default_rng(0)
    middles = np.array([[0, 0], [10, 0], [0, 10], [10, 10]])
    points = np.concatenate([middle + rng.standard_normal((30, 2)) for middle in middles])
    found = k_means(points, 4, seed=1)
    assert np.bincount(found.labels).tolist() == [30, 30, 30, 30]
    assert [len(set(found.labels[at : at + 30])) for at in range(0, 120, 30)] == [1, 1, 1, 1]
    assert found.spread == pytest.approx(float((found.distances(points) ** 2).sum()))
    scores = silhouettes(points, range(2, 9), seed=1)
    assert max(scores, key=scores.__getitem__) == 4
    assert np.array_equal(found.labels, k_means(points, 4, seed=1).labels)


def test_the_silhouette_is_that_of_its_definition() -> None:
    points = np.array([[0.0], [1.0], [5.0], [6.0], [20.0]])
    # groups {0, 1}, {5, 6} and {20}, which is alone and counts 0
    by_hand = [(5.5 - 1) / 5.5, (4.5 - 1) / 4.5, (4.5 - 1) / 4.5, (5.5 - 1) / 5.5, 0.0]
    assert silhouettes(points, [3], seed=0)[3] == pytest.approx(sum(by_hand) / 5)


def test_no_more_groups_than_points_differ() -> None:
    points = np.array([[1.0, 1.0]] * 4 + [[2.0, 2.0]] * 3)
    found = k_means(points, 5, seed=0)
    assert found.labels.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert k_means(points[:1], 3, seed=0).centres.tolist() == [[1.0, 1.0]]


def test_the_decomposition_is_numpys() -> None:
    rows = np.random.default_rng(2).standard_normal((40, 30)) * np.linspace(5, 0.1, 30)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    assert np.abs(reduced(rows, 6, seed=1)) == pytest.approx(np.abs(left[:, :6] * values[:6]), abs=1e-3)
    assert reduced(rows[:3], 50, seed=1).shape == (3, 3)
