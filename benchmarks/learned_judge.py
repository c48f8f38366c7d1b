"""Whether a small model that learned from public human ratings judges stories better than rules that read nothing.

    FABULA_DATA=DIR python -m benchmarks learned_judge

The folder holds LAMP and style mimic (`writing_quality`), StorySumm, TTCW and HANNA. The model is a logistic regression
on the differences between two texts: in counted features, and in sentence embeddings where `fabula[choose]` is
installed. It is asked about prompts that it has not seen, and about sets that it has not seen; then about this
project's own blind pairs (`results/short-rooms`), which it never learns from.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from scipy.optimize import minimize

from benchmarks import writing_quality
from benchmarks.table import Row, Table
from fabula.base.errors import UsageError
from fabula.craft.embedding import minilm_vectors
from fabula.data import storysumm, ttcw
from fabula.data.reading import json_lines, wanted
from fabula.measure.ratings import read_ratings
from fabula.stats.baselines import length, random_scores, type_token_ratio
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import mean_of, share_of
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fabula.stats.estimate import Scored

    Array: TypeAlias = NDArray[np.float64]
    Judge: TypeAlias = Callable[[Sequence["RatedPair"], Sequence["RatedPair"]], Array]

TITLE: Final = "a judge that learned from human ratings, beside rules that read nothing"
OUR_OWN: Final = "rooms"
_NEW, _LEFT_OUT = "new prompts", "set left out"
_PARTS: Final = 10
_PENALTY: Final = 100.0  # on the squares of the weights; 10 was tried too (design 0062)
_OWN: Final = Path(__file__).parent / "results" / "short-rooms"
_BESIDE: Final = Path(__file__).resolve().parents[2] / "shared" / "data"
_COMMON: Final = re.compile(
    r"the|an?|and|or|but|of|to|in|on|at|for|with|from|by|as|th(?:at|is)|it|s?he|they|i|we|you|his|her|their|my|our|your|"
    r"is|was|were|are|be|been|had|have|has|not?|so|if|then|than|into|over|under|out|up|down"
)
_COUNTED: Final = (
    *(r",", r"[;:]", r"[\u2014\u2013]|--", r'["\u201c\u201d]', r"\?", r"!", r"\n\n", r"\d", r"\b[A-Z][a-z]+"),
    *(r"\w+ly\b", r"\w+ing\b", r", \w+ing\b", r"\b(like|as if|as though)\b", r"\b(was|were|been|is|are)\b", r"\band\b"),
    *(r"n't|'(s|re|ll|d|m|ve)\b|\u2019", r"\b(I|my|me)\b"),
)


@dataclass(frozen=True, slots=True)
class RatedPair:
    """Two texts of which people prefer the first.

    Attributes:
        source: the set.
        unit: the prompt, or what else belongs together; in TTCW a plot, in style mimic a writer.
        better, worse: the texts.
    """

    source: str
    unit: str
    better: str
    worse: str


# what people preferred ------------------------------------------------------------------------------------------------


def pairs_in(data: Path) -> list[RatedPair]:
    """The pairs of all sets in a folder, each in an order that people's votes decide; ties are left out.

    Raises:
        UsageError: a set is not there.
    """
    sets = (_lamp, _mimic, _storysumm, _ttcw, _hanna)
    return [pair for one in sets for pair in one(data)]


def _ordered(source: str, unit: str, texts: tuple[str, str], lead: float) -> Iterator[RatedPair]:
    if lead:
        better, worse = texts if lead > 0 else texts[::-1]
        yield RatedPair(source, f"{source}/{unit}", better, worse)


def _lamp(data: Path) -> Iterator[RatedPair]:
    """Of each instruction three versions of a paragraph, ranked by three writers: the majority for each two."""
    for triple in writing_quality.lamp(data / "writing_quality"):
        for one, other in combinations(sorted(triple.texts), 2):
            lead = sum(math.copysign(1, r.order.index(other) - r.order.index(one)) for r in triple.rankings)
            yield from _ordered("lamp", triple.id, (triple.texts[one], triple.texts[other]), lead)


def _mimic(data: Path) -> Iterator[RatedPair]:
    for pair in writing_quality.style_mimic(data / "writing_quality"):
        yield from _ordered("style mimic", pair.author, (pair.first, pair.second), 1 if pair.person == 1 else -1)


def _storysumm(data: Path) -> Iterator[RatedPair]:
    """Of each story a faithful summary and one that is not."""
    by_story = defaultdict(list)
    for summary in storysumm.summaries(data / "storysumm"):
        by_story[summary.story].append(summary)
    for number, summaries in enumerate(by_story.values()):
        for one, other in combinations(summaries, 2):
            texts = " ".join(one.sentences), " ".join(other.sentences)
            yield from _ordered("storysumm", str(number), texts, one.faithful - other.faithful)


def _ttcw(data: Path) -> Iterator[RatedPair]:
    """Of each plot two stories of which one passes more of the fourteen tests."""
    passed = ttcw.majority_scores(ttcw.experts(data / "ttcw"))
    by_plot = defaultdict(list)
    for item in ttcw.stories(data / "ttcw"):
        by_plot[int(item.prompt.rpartition("-")[2])].append(item)
    for plot, items in by_plot.items():
        for one, other in combinations(items, 2):
            texts = one.story.text, other.story.text
            yield from _ordered("ttcw", str(plot), texts, passed[plot, one.system] - passed[plot, other.system])


def _hanna(data: Path) -> Iterator[RatedPair]:
    """People's stories, two by two, by their mean rating; there is one of each prompt, so a pair is of two prompts."""
    records = list(json_lines(wanted(data / "hanna", "human_stories.jsonl")))
    for number, (one, other) in enumerate(zip(records[::2], records[1::2], strict=False)):
        means = [fmean(record.record("human_mean").fields.values()) for record in (one, other)]
        yield from _ordered("hanna", str(number), (one.text("story"), other.text("story")), means[0] - means[1])


def our_own() -> list[RatedPair]:
    """This project's blind pairs of whole stories, by the majority of readers (sessions of a strong model)."""
    leads: Counter[tuple[str, ...]] = Counter()
    for rating in read_ratings(_OWN / "ratings.jsonl"):
        if rating.question == "overall" and len(rating.items) > 1:
            one, other = sorted(rating.items)
            leads[str(rating.prompt), one, other] += (rating.answer == one) - (rating.answer == other)
    return [
        pair
        for (brief, one, other), lead in leads.items()
        for pair in _ordered(OUR_OWN, brief, (_own_story(one), _own_story(other)), lead)
    ]


def _own_story(item: str) -> str:
    """The story without its title."""
    text = (_OWN / "stories" / f"{item}.md").read_text(encoding="utf-8")
    return text.partition("\n")[2].strip() if text.startswith("# ") else text.strip()


# judges ---------------------------------------------------------------------------------------------------------------


def counted(text: str) -> list[float]:
    """Features of a text that need no model: length, variety, sentences, marks, kinds of words."""
    words = re.findall(r"[A-Za-z']+", text.lower()) or [""]
    lengths = [len(one.split()) for one in sentences(text)] or [0]
    return [
        math.log(len(words)),
        len(set(words[:200])) / min(len(words), 200),
        len(set(words)) / math.sqrt(2 * len(words)),
        fmean(map(len, words)),
        fmean(_COMMON.fullmatch(word) is not None for word in words),
        fmean(len(word) > 8 for word in words),
        fmean(lengths),
        pstdev(lengths),
        *(len(re.findall(pattern, text)) / len(words) for pattern in _COUNTED),
    ]


def features_of(texts: Sequence[str]) -> dict[str, Mapping[str, Array]]:
    """The features of each text by the name of their kind: counted, and embedded where that is installed."""
    values = np.array([counted(text) for text in texts])
    found = {"counted features": (values - values.mean(0)) / (values.std(0) + 1e-9)}
    try:
        vectors = minilm_vectors(texts)
    except UsageError:  # the extra is not installed
        pass
    else:
        found["embeddings"] = vectors * math.sqrt(vectors.shape[1])
        found["counted features and embeddings"] = np.hstack([*found.values()])
    return {name: dict(zip(texts, rows, strict=True)) for name, rows in found.items()}


def learned(features: Mapping[str, Array]) -> Judge:
    """A judge that learns weights of these features; each set counts as much as each other one."""

    def judge(known: Sequence[RatedPair], asked: Sequence[RatedPair]) -> Array:
        apart = np.array([features[pair.better] - features[pair.worse] for pair in known])
        sizes = Counter(pair.source for pair in known)
        worth = np.array([len(known) / len(sizes) / sizes[pair.source] for pair in known])

        def loss(weights: Array) -> tuple[float, Array]:
            margins = apart @ weights
            slope = -worth / (1 + np.exp(np.clip(margins, -500, 500)))
            value = float(worth @ np.logaddexp(0, -margins) + _PENALTY / 2 * weights @ weights)
            return value, apart.T @ slope + _PENALTY * weights

        weights = minimize(loss, np.zeros(apart.shape[1]), jac=True, method="L-BFGS-B").x
        return np.array([(features[pair.better] - features[pair.worse]) @ weights for pair in asked])

    return judge


def by_prompt(pairs: Sequence[RatedPair], judge: Judge) -> Array:
    """The judge's margin for what people prefer: every prompt is asked once, of a judge that has not seen it."""
    units = sorted({pair.unit for pair in pairs}, key=lambda unit: random_scores([unit]))
    part = {unit: number % _PARTS for number, unit in enumerate(units)}
    return _apart(pairs, [str(part[pair.unit]) for pair in pairs], judge)


def by_source(pairs: Sequence[RatedPair], judge: Judge) -> Array:
    """The same where a whole set is what the judge has not seen."""
    return _apart(pairs, [pair.source for pair in pairs], judge)


def _apart(pairs: Sequence[RatedPair], parts: Sequence[str], judge: Judge) -> Array:
    margins = np.zeros(len(pairs))
    for one in set(parts):
        own = [index for index, part in enumerate(parts) if part == one]
        others = [pair for pair, part in zip(pairs, parts, strict=True) if part != one]
        margins[own] = judge(others, [pairs[index] for index in own])
    return margins


def rules(pairs: Sequence[RatedPair]) -> dict[str, Array]:
    """The margins of rules that read nothing."""
    sides = [pair.better for pair in pairs], [pair.worse for pair in pairs]
    margins = {
        name: np.array(scores(sides[0])) - np.array(scores(sides[1]))
        for name, scores in (("longer", length), ("more varied", type_token_ratio), ("random", random_scores))
    }
    return {"longer": margins["longer"], "shorter": -margins["longer"]} | margins


# the table ------------------------------------------------------------------------------------------------------------


def bench(data: Path | None = None) -> Table:
    """The share of pairs that each judge and rule decides as people did, set by set, and the judges less the rules.

    Raises:
        UsageError: the sets are not there.
    """
    folder = data or Path(os.environ.get("FABULA_DATA") or _BESIDE)
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}. Set FABULA_DATA to the folder of the ground truth.")
    pairs, own = pairs_in(folder), our_own()
    features = features_of(sorted({text for pair in (*pairs, *own) for text in (pair.better, pair.worse)}))
    margins = {name: np.concatenate(found) for name, found in _margins(pairs, own, features).items()}
    hits = {name: (np.sign(found) + 1) / 2 for name, found in margins.items()}
    rows = [
        _row(f"{source}: {name}", share_of(found[mine], units), Counter(units))
        for source in dict.fromkeys(pair.source for pair in (*pairs, *own))
        for mine, units in [_of(source, (*pairs, *own))]
        for name, found in hits.items()
        if source != OUR_OWN or _NEW not in name  # every judge is one that has not seen this set
    ]
    public, units = np.arange(len(pairs)), [pair.unit for pair in pairs]
    best = max(("longer", "shorter", "more varied"), key=lambda rule: _over_sets(hits[rule], pairs))
    for name, found in hits.items():
        if _NEW in name or _LEFT_OUT in name:
            apart = mean_of(found[public] - hits[best][public], units, limits=(-1.0, 1.0))
            rows.append(_row(f"all public pairs: {name}, less {best}", apart, Counter(units)))
    return Table("learned_judge", TITLE, tuple(rows), tuple(_notes(features)))


def _margins(
    pairs: Sequence[RatedPair], own: Sequence[RatedPair], features: Mapping[str, Mapping[str, Array]]
) -> dict[str, tuple[Array, Array]]:
    """The margins of rules and judges on the public pairs and on our own."""
    ruled, ruled_own = rules(pairs), rules(own)
    found = {name: (ruled[name], ruled_own[name]) for name in ruled}
    for kind, of_text in features.items():
        judge = learned(of_text)
        of_ours = judge(pairs, own)
        found[f"{kind}, {_NEW}"] = by_prompt(pairs, judge), of_ours
        found[f"{kind}, {_LEFT_OUT}"] = by_source(pairs, judge), of_ours
    return found


def _of(source: str, pairs: Sequence[RatedPair]) -> tuple[list[int], list[str]]:
    mine = [index for index, pair in enumerate(pairs) if pair.source == source]
    return mine, [pairs[index].unit for index in mine]


def _over_sets(found: Array, pairs: Sequence[RatedPair]) -> float:
    """The mean over sets of the share that is decided as people did."""
    return fmean(float(found[_of(source, pairs)[0]].mean()) for source in {pair.source for pair in pairs})


def _row(what: str, scored: Scored, units: Counter[str]) -> Row:
    value = scored.value if isinstance(scored, Estimate) else math.nan
    each = f"{units.total()} pairs of {len(units)} prompts"
    if isinstance(scored, Estimate) and scored.low is not None and scored.high is not None:
        each += f", 95 % {scored.low:.2f} to {scored.high:.2f}"
    return Row(what, (value,), "", each)


def _notes(features: Mapping[str, object]) -> Iterator[str]:
    yield "A pair counts as right where the judge's margin is for the text that people prefer; a margin of 0 is a half."
    yield f"{OUR_OWN}: readers are sessions of a strong model; the judge never learns from these pairs."
    if len(features) == 1:
        yield "Sentence embeddings are left out: the extra `choose` is not installed."
