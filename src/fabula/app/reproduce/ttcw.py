"""TTCW: whether models' scores rank three stories as experts do (reference-based paper), and how far experts agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from fabula.app.reproduce.rows import FULL, PublishedNumber, Table, missing, number, published
from fabula.data.reading import Record, json_object, wanted
from fabula.data.ttcw import (
    EXPERTS,
    PEOPLE,
    RANKED,
    ExpertVerdict,
    experts,
    majority_scores,
    model_scores,
    models,
    verdicts,
)
from fabula.stats.agreement import fleiss_kappa
from fabula.stats.correlation import kendall_b, pairwise_accuracy, spearman

# The models of the paper whose replies are public; those of the others were never released.
PUBLIC: Final = ("claudev13", "claudev2", "claudev21", "claude3-opus", "cgpt", "gpt4", "gemini-pro")
_COLUMNS: Final = ("Spearman", "Kendall", "accuracy")


def _or_zero(value: float | None) -> float:
    """The coefficient, or 0 if it is undefined (for a constant list), as in the papers' scripts."""
    return 0.0 if value is None else value


def _figure_3(h: Sequence[float], m: Sequence[float]) -> float | None:
    return pairwise_accuracy(h, m, "legacy_fig3")


def _table_1(h: Sequence[float], m: Sequence[float]) -> float | None:
    """The accuracy of Table 1, which compares with >= and so differs from that of Figure 3."""
    return pairwise_accuracy(h, m, "legacy_table1")


Coefficient: TypeAlias = "Callable[[Sequence[float], Sequence[float]], float | None]"


@dataclass(frozen=True)
class _Judged:
    """The scores of the ranked stories: people's by plot, and those of the models whose replies are available."""

    folder: Path
    people: Mapping[int, Sequence[float]]

    @classmethod
    def of(cls, folder: Path) -> _Judged:
        scores = majority_scores(experts(folder))
        return cls(folder, {plot: _ranked(scores, plot) for plot in sorted({plot for plot, _ in scores})})

    def by_plot(self, model: str, coefficients: Sequence[Coefficient]) -> list[list[float]] | None:
        """Each coefficient of a model for each plot, in order; `None` if the model's replies are missing."""
        if model not in models(self.folder):
            return None
        scores = model_scores(verdicts(self.folder, model))
        pairs = [(people, _ranked(scores, plot)) for plot, people in self.people.items()]
        return [[_or_zero(coefficient(*pair)) for pair in pairs] for coefficient in coefficients]


def _ranked(scores: Mapping[tuple[int, str], int], plot: int) -> list[float]:
    return [float(scores.get((plot, system), 0)) for system in RANKED]


def _rows_of_model(
    model: str, printed: Record, values: Sequence[float] | None, labels: Callable[[int], Sequence[str]]
) -> Iterator[PublishedNumber]:
    """The rows of one model; `values` has one value per printed number, or is `None`."""
    cells = printed.numbers(model)
    for n, (label, cell) in enumerate(zip(labels(len(cells)), cells, strict=True)):
        name = f"{model}, {label}"
        if values is None:
            yield missing(name, f"{cell:.2f}", _why_not(model))
        else:
            yield number(name, cell, 2, values[n] if n < len(values) else None)


def _why_not(model: str) -> str:
    """Why a model's replies are missing."""
    if model not in PUBLIC:
        return "its replies were not released"
    return f"neither verdicts_{model}.jsonl nor data/annotations_{model}.jsonl of the release was found"


def _figure(key: str, coefficient: Coefficient) -> Callable[[Path], Iterator[PublishedNumber]]:
    def labels(cells: int) -> list[str]:
        return [*(f"story {n}" for n in range(cells - 1)), "average"]

    def rows(data: Path) -> Iterator[PublishedNumber]:
        printed, judged = published(data, "ttcw", "published*.json").record(key), _Judged.of(data)
        for model in printed.fields:
            found = judged.by_plot(model, [coefficient])
            values = None if found is None else [*found[0], sum(found[0]) / len(found[0])]
            yield from _rows_of_model(model, printed, values, labels)

    return rows


def _rows_of_table_1(data: Path) -> Iterator[PublishedNumber]:
    table = published(data, "ttcw", "published*.json").record("table1")
    printed, judged = table.record("baseline"), _Judged.of(data)
    ours = table.record("ours") if "ours" in table.fields else Record("", {})
    for model in printed.fields:
        found = judged.by_plot(model, [spearman, kendall_b, _table_1])
        values = None if found is None else [sum(column) / len(column) for column in found]
        yield from _rows_of_model(model, printed, values, lambda _: _COLUMNS)
    for model in ours.fields:
        yield from _rows_of_model(model, ours, None, lambda _: _COLUMNS)


# How experts agree ----------------------------------------------------------------------------------------------------


def _kappa(given: Iterable[ExpertVerdict]) -> float | None:
    """Fleiss' kappa; the items are the tests of the stories."""
    counts: dict[tuple[int, str, int], list[int]] = defaultdict(lambda: [0, 0])
    for verdict in given:
        counts[verdict.plot, verdict.system, verdict.test][verdict.passed] += 1
    return fleiss_kappa(list(counts.values()))


def _mean_kappa(given: Sequence[ExpertVerdict], key: Callable[[ExpertVerdict], Hashable]) -> float:
    groups: dict[Hashable, list[ExpertVerdict]] = defaultdict(list)
    for verdict in given:
        groups[key(verdict)].append(verdict)
    return sum(_or_zero(_kappa(group)) for group in groups.values()) / len(groups)


def _rows_of_kappa(data: Path) -> Iterator[PublishedNumber]:
    given = experts(data)
    yield number("all stories, pooled", 0.426, 3, _kappa(given))
    yield number("mean over plots", 0.414, 3, _mean_kappa(given, lambda verdict: verdict.plot))
    yield number("mean over tests", 0.401, 3, _mean_kappa(given, lambda verdict: verdict.test))
    yield number("models' stories alone", 0.141, 3, _kappa(v for v in given if v.system != PEOPLE))


def _share(given: Sequence[bool]) -> float:
    return sum(given) / len(given)


def _rows_of_people(data: Path) -> Iterator[PublishedNumber]:
    given, expected = experts(data), json_object(wanted(data, "expected_human.json"))
    yield from _pass_rates(given, expected)
    per_test = expected.record("fleiss_kappa_per_test")
    for test in per_test.fields:
        value = _kappa(v for v in given if v.test == int(test))
        yield number(f"kappa of test {test}", per_test.number(test), FULL, value)


def _pass_rates(given: Sequence[ExpertVerdict], expected: Record) -> Iterator[PublishedNumber]:
    one, most = expected.record("pass_rate_individual"), expected.record("pass_rate_majority")
    scores = majority_scores(given)
    tests = len({verdict.test for verdict in given})
    for system in one.fields:
        value = _share([v.passed for v in given if v.system == system])
        yield number(f"{system}, verdicts passed", one.number(system), FULL, value)
        passed = [score / tests for (_, writer), score in scores.items() if writer == system]
        yield number(f"{system}, tests passed by majority", most.number(system), FULL, sum(passed) / len(passed))


_PAPER: Final = "reference-based TTCW paper"
_EXPERTS: Final = "|".join(EXPERTS)
_ANSWERS: Final = (_EXPERTS, "published*.json?")
_ORIGIN: Final = "github.com/salesforce/creativity_eval has annotations/ and data/ in Art_or_Artifice"
TABLES: Final = (
    Table(
        "ttcw-figure-1",
        f"Spearman by plot, {_PAPER}, Figure 1",
        "ttcw",
        _ANSWERS,
        _figure("figure1_spearman", spearman),
        origin=_ORIGIN,
    ),
    Table(
        "ttcw-figure-2",
        f"Kendall's tau-b by plot, {_PAPER}, Figure 2",
        "ttcw",
        _ANSWERS,
        _figure("figure2_kendall", kendall_b),
        origin=_ORIGIN,
    ),
    Table(
        "ttcw-figure-3",
        f"Pairwise accuracy (>) by plot, {_PAPER}, Figure 3",
        "ttcw",
        _ANSWERS,
        _figure("figure3_accuracy", _figure_3),
        origin=_ORIGIN,
    ),
    Table(
        "ttcw-table-1",
        f"Averages, accuracy with >=, {_PAPER}, Table 1",
        "ttcw",
        _ANSWERS,
        _rows_of_table_1,
        origin=_ORIGIN,
    ),
    Table(
        "ttcw-kappa",
        "Fleiss' kappa of the TTCW experts",
        "ttcw",
        (_EXPERTS,),
        _rows_of_kappa,
        against="computed",
        origin=_ORIGIN,
    ),
    Table(
        "ttcw-people",
        "Verdicts of the TTCW experts, by writer and by test",
        "ttcw",
        (_EXPERTS, "expected_human.json"),
        _rows_of_people,
        against="computed",
        origin=f"{_ORIGIN}; expected_human.json, which another program computed from these files, is not public",
    ),
)
