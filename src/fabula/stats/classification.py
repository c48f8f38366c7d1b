"""How well yes-or-no answers match the truth: precision, recall, F1, balanced accuracy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of answers; added up, they give micro averages (ATLAS, Tables 10 and 11).

    Attributes:
        tp: answers of yes that are right.
        fp: answers of yes that are wrong.
        fn: answers of no that are wrong.
        tn: answers of no that are right; 0 if they are not counted, as with findings in a text.
    """

    tp: int = 0
    fp: int = 0
    fn: int = 0
    tn: int = 0

    @classmethod
    def of(cls, truth: Sequence[bool], said: Sequence[bool]) -> Confusion:
        """The counts of answers compared with the truth.

        Raises:
            ValueError: there are not as many answers as truths.
        """
        if len(truth) != len(said):
            raise ValueError(f"{len(truth)} truths have {len(said)} answers; give one for each.")
        seen = Counter((bool(a), bool(b)) for a, b in zip(truth, said, strict=True))
        return cls(seen[True, True], seen[False, True], seen[True, False], seen[False, False])

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn, self.tn + other.tn)

    @property
    def precision(self) -> float | None:
        """The share of yes answers that are right, 0 to 1; `None` where nobody said yes."""
        return _ratio(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """The share of what is that was said, 0 to 1; `None` where nothing is."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> float | None:
        """The share of what is not that was not said, 0 to 1; `None` where everything is."""
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN); `None` where all three are 0."""
        return _ratio(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def accuracy(self) -> float | None:
        """The share of right answers, 0 to 1; `None` where there are none."""
        return _ratio(self.tp + self.tn, self.tp + self.fp + self.fn + self.tn)

    @property
    def balanced_accuracy(self) -> float | None:
        """The mean of recall and specificity, 0 to 1; `None` where the truth is all yes or all no."""
        recall, specificity = self.recall, self.specificity
        return None if recall is None or specificity is None else (recall + specificity) / 2


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
