"""DPO on pairs whose preference is known: how often the tuned small model prefers what was preferred, on other pairs.

It trains the packaged model on 200 pairs with MAGNET's values, on the processor, and takes minutes.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.preference_pairs import PLACES, pairs_of
from benchmarks.table import Row, Table
from fabula.app.training import Listener, TrainingAsked
from fabula.app.training_pairs import prepare_pairs, train_pairs
from fabula.models.known import DEFAULT_MODEL
from fabula.stats.estimate import Estimate
from fabula.training.examples import DataCard, write_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.engine.methods import Preset

TITLE: Final = "DPO on 200 pairs with a known preference"
_COUNTS: Final = (200, 60)  # pairs that are trained on, and held aside
_TRAINED_ON: Final = 20  # places; the others are held aside
_REWARD: Final = "implicit reward"
_RULES: Final = ("longer", "shorter", "first", "later")


def bench(
    base: str = DEFAULT_MODEL,
    preset: Preset = "faithful",
    counts: tuple[int, int] = _COUNTS,
    values: Mapping[str, Any] | None = None,
) -> Table:
    """The lower ends of the intervals of the tuned model's accuracy, and of its distance from each rule's.

    Args:
        base: that is tuned.
        preset: of the settings.
        counts: of pairs that are trained on and held aside.
        values: settings on top of the preset.

    Raises:
        UsageError: what training needs is not installed.
    """
    with tempfile.TemporaryDirectory() as place:
        data = Path(place) / "pairs"
        train = pairs_of(range(_TRAINED_ON), counts[0], seed=1)
        aside = pairs_of(range(_TRAINED_ON, PLACES), counts[1], seed=2)
        write_data(data, DataCard("pairs", {"made": "by a program"}), {"train": train, "development": aside})
        # The least that bounds the time: samples are for people, and bfloat16 is taken where it is faster.
        quick = {"samples": 0, "precision": "auto", "micro_batch": 4} | dict(values or {})
        asked = TrainingAsked(data, base, Path(place) / "adapter", preset, quick)
        began = time.monotonic()
        trained = train_pairs(prepare_pairs(asked, os.environ, Listener()), Listener())
        seconds = time.monotonic() - began
    steps = trained.work.schedule.steps
    rows = [Row("training and measuring", (seconds / 60,), "min", f"{steps} steps")]
    found = {_REWARD: trained.found["accuracies"][_REWARD]} | {
        f"{_REWARD} less {rule}": trained.found["gains"][f"{_REWARD} less {rule}"] for rule in _RULES
    }
    for name, scored in found.items():
        least = 0.5 if name == _REWARD else 0.0
        if isinstance(scored, Estimate) and scored.low is not None:
            each = f"{scored.n} pairs"
            rows.append(Row(f"accuracy, {name}", (scored.value,), each=each))
            rows.append(Row(f"accuracy, {name}: lower end of the 95 % interval", (scored.low,), each=each, least=least))
    return Table("preferences", TITLE, tuple(rows), notes=(f"preset {preset}, base {trained.work.base.name}",))
