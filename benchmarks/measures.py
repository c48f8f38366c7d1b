"""How fast stories are measured: a set of them through the command line, and ROUGE-L beside the package rouge-score."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.craft.tokens import rouge_stems, rouge_tokens
from fabula.evaluators.rouge.scoring import scores

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLE: Final = "measuring stories"
_SECONDS, _FASTER, _APART = 10.0, 20.0, 1.0
_COMMAND: Final = [sys.executable, "-m", "fabula", "measure"]
_VARIANTS: Final = ("rougeL", "rougeLsum")


@dataclass(frozen=True, slots=True)
class Sizes:
    """So many stories of so many words; pairs of them for ROUGE."""

    stories: int = 1000
    words: int = 1500
    pairs: int = 3
    rounds: int = 3


def bench(sizes: Sizes | None = None) -> Table:
    """The command on a whole set; then each pair with ours and with rouge-score in turns, where that is installed."""
    sizes = sizes or Sizes()
    rows, notes = _commands(sizes), ["Stories are drawn: words by Zipf's law, sentences, paragraphs and speech."]
    try:
        peer = import_module("rouge_score.rouge_scorer")
    except ImportError:
        notes.append("rouge-score is not installed (extra `dev`), so there is nothing to compare with.")
        return Table("measures", TITLE, tuple(rows), tuple(notes))
    for stemmed in (False, True):
        rows += _beside(peer, sizes, stemmed=stemmed)
    return Table("measures", TITLE, tuple(rows), (*notes, "Times are those of tokens and scores together, CPU."))


def _commands(sizes: Sizes) -> list[Row]:
    """The whole command, from start to end, on a file with all the stories."""
    rng = random.Random(1)  # noqa: S311 - stories, not secrets
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stories.jsonl"
        stories = (
            {"id": f"{n}", "prompt": f"{n}", "text": story(rng, sizes.words), "brief": story(rng, 100)}
            for n in range(sizes.stories)
        )
        file.write_text("".join(json.dumps(one) + "\n" for one in stories), encoding="utf-8")
        for _ in range(sizes.rounds):
            begun = perf_counter()
            subprocess.run([*_COMMAND, str(file), "--quiet"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command line
            taken.append(perf_counter() - begun)
    what = f"fabula measure, {sizes.stories:,} stories of {sizes.words:,} words: wall"
    return [Row(what, tuple(taken), "s", "start", most=_SECONDS)]


def _beside(peer: Any, sizes: Sizes, *, stemmed: bool) -> list[Row]:  # noqa: ANN401 - the oracle has no types
    """For each variant how much faster ours is, and the largest difference of precision, recall and F1."""
    rng = random.Random(2)  # noqa: S311 - as above
    tokens = rouge_stems if stemmed else rouge_tokens
    named = " with stems" if stemmed else ""
    rows, apart = [], []
    for variant in _VARIANTS:
        theirs, ratios = peer.RougeScorer([variant], use_stemmer=stemmed), []
        for _ in range(sizes.rounds):
            pairs = [(story(rng, sizes.words), story(rng, sizes.words)) for _ in range(sizes.pairs)]
            begun = process_time()
            ours = [scores(reference, text, tokens, [variant])[variant] for reference, text in pairs]
            between = process_time()
            expected = [theirs.score(reference, text)[variant] for reference, text in pairs]
            ratios.append((process_time() - between) / max(between - begun, 1e-9))
            apart.append(_apart([(one.precision, one.recall, one.f) for one in ours], expected))
        target = _FASTER if variant == "rougeL" else None
        rows.append(
            Row(
                f"{variant}{named}: times as fast as rouge-score",
                tuple(ratios),
                "",
                f"{sizes.pairs} pairs",
                least=target,
            )
        )
    worst = tuple(1e9 * max(apart[n :: sizes.rounds]) for n in range(sizes.rounds))
    return [*rows, Row(f"largest difference{named}", worst, "1e-9", "all of these", most=_APART)]


def _apart(ours: Sequence[tuple[float, ...]], theirs: Sequence[tuple[float, ...]]) -> float:
    return max(abs(a - b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True))


def story(rng: random.Random, words: int) -> str:
    """A text of so many words, drawn by Zipf's law, in sentences, some of them spoken, and paragraphs."""
    ranks = range(1, 20_001)
    drawn = rng.choices(
        [f"{_WORDS[n % len(_WORDS)]}{'' if n < len(_WORDS) else n}" for n in ranks], [1 / n for n in ranks], k=words
    )
    told, place = [], 0
    while place < words:
        size = rng.randint(4, 24)
        sentence = " ".join(drawn[place : place + size]).capitalize() + "."
        told.append(f'"{sentence}"' if rng.random() < _SPOKEN else sentence)
        told.append("\n\n" if rng.random() < _BREAKS else " ")
        place += size
    return "".join(told).strip()


_DRAWN: Final = "the a she he it and of to lamp boat harbour wind was had came went out home night letter"
_WORDS: Final = _DRAWN.split()
_SPOKEN, _BREAKS = 0.2, 0.2
