"""Known errors to score against, and how well findings match them by three rules, each with its interval."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.craft.matching import ErrorFinding, match_findings, parse_finding
from fabula.craft.measuring import share_of_yes
from fabula.craft.packing import overlap, words
from fabula.craft.quoting import Quotable
from fabula.craft.stems import stem
from fabula.evaluators.atlas.planted import PlantedErrors, is_planted, planted_in
from fabula.measure.report import Row
from fabula.stats.classification import Confusion
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.shares import share

MAX_BYTES: Final = 20_000_000
STRICT: Final = 0.35
_REJECTED: Final = frozenset({"rejected", "incorrect", "wrong", "no error"})
_EMPTY_WORDS: Final = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "by", "to", "and", "or", "is", "was", "being", "having", "s"}
)


@dataclass(frozen=True, slots=True)
class QuotedError:
    """A known error, or a finding as it is scored, with a quotation from each of its two places; empty if none."""

    finding: ErrorFinding
    quote_x: str = ""
    quote_y: str = ""


Gold: TypeAlias = "tuple[QuotedError, ...] | PlantedErrors"


def read_gold(path: str, stories: Mapping[str, str]) -> dict[str, Gold | None]:
    """The known errors of each story, by its id; `None` for each if no file is named.

    The file holds a JSON array or JSON lines of objects with `hallucination` (the paper's sentence) or `x`, `y`, `fact`
    and `event` (or `scene_x`, `scene_y`); if known, also `quote_x` and `quote_y`. Entries whose `verdict` rejects
    them are left out. `story` names the story if there are several. A story with planted errors (`text`, `errors`,
    `decoys`), or an array of such stories, lists its errors; those in the story that is checked count.

    Args:
        path: of the file.
        stories: their texts by their ids.

    Raises:
        UsageError: the file cannot be read, an entry is not a finding, or an entry belongs to none of these stories.
    """
    if not path:
        return dict.fromkeys(stories)
    ids = list(stories)
    found: dict[str, list[QuotedError]] = {name: [] for name in ids}
    entries = _entries(read_text(Path(path), MAX_BYTES, kind="known errors (a JSON or JSONL file)"), path)
    if entries and all(map(is_planted, entries)):
        return _planted(entries, stories, path)
    for number, entry in enumerate(entries, 1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, dict):
            raise UsageError(f"{where}: not an object with x, y, fact and event. Correct the entry or remove it.")
        if str(entry.get("verdict", "")).casefold() in _REJECTED or entry.get("error") is False:
            continue
        story = ids[0] if len(ids) == 1 else str(entry.get("story", ""))
        if story not in found:
            raise UsageError(
                f"{where}: there is no story {story!r}, only {', '.join(ids)}. Set `story` to one of them."
            )
        found[story].append(_known(entry, where))
    return {name: tuple(known) for name, known in found.items()}


def _planted(entries: Sequence[dict[str, Any]], stories: Mapping[str, str], path: str) -> dict[str, Gold | None]:
    """The planted errors of each story. A single entry belongs to the only story, whatever its id."""
    if len(entries) == len(stories) == 1:
        ((name, text),) = stories.items()
        return {name: planted_in(entries[0], text, path)}
    by_id = {str(entry.get("id", "")): entry for entry in entries}
    for name in stories:
        if name not in by_id:
            raise UsageError(f"{path} has no story {name!r}; it has {', '.join(by_id)}. Check a story by its id.")
    return {name: planted_in(by_id[name], text, f"{path}, {name}") for name, text in stories.items()}


def _entries(text: str, path: str) -> list[Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, list):
        return data
    if isinstance(data, dict) and isinstance(data.get("findings"), list):
        return list(data["findings"])
    if is_planted(data):
        return [data]
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path} is neither a JSON array nor JSON lines ({error}). Give the known errors in one of these forms."
        ) from error


def _known(entry: dict[str, Any], where: str) -> QuotedError:
    x, y = entry.get("x", entry.get("scene_x")), entry.get("y", entry.get("scene_y"))
    fact, event = entry.get("fact"), entry.get("event")
    if isinstance(x, int) and isinstance(y, int) and isinstance(fact, str) and isinstance(event, str):
        finding: ErrorFinding | None = ErrorFinding(x, y, fact, event)
    else:
        finding = parse_finding(str(entry.get("hallucination", "")))
    if finding is None:
        raise UsageError(
            f"{where}: neither x, y, fact and event nor 'In scene X, ..., yet in scene Y, ...'. Correct it."
        )
    quotes = [entry.get(name) if isinstance(entry.get(name), str) else "" for name in ("quote_x", "quote_y")]
    return QuotedError(finding, quotes[0] or "", quotes[1] or "")


def accuracies(found: Sequence[QuotedError], known: Sequence[QuotedError]) -> dict[str, Confusion]:
    """The accuracy by each rule. Each finding matches at most one known error."""
    return {
        "strict": _greedy(found, known, _strict),
        "evidence": _greedy(found, known, _evidence),
        "assignment": match_findings([one.finding for one in found], [one.finding for one in known]).counts,
    }


def _greedy(
    found: Sequence[QuotedError], known: Sequence[QuotedError], alike: Callable[[QuotedError, QuotedError], float]
) -> Confusion:
    """Pairs of findings and errors, the most similar first, each side once."""
    pairs = sorted(
        ((score, i, j) for i, one in enumerate(found) for j, other in enumerate(known) if (score := alike(one, other))),
        key=lambda pair: (-pair[0], pair[1], pair[2]),
    )
    left, right = set(range(len(found))), set(range(len(known)))
    for _, i, j in pairs:
        if i in left and j in right:
            left.discard(i)
            right.discard(j)
    hits = len(found) - len(left)
    return Confusion(hits, len(left), len(right))


def _strict(one: QuotedError, other: QuotedError) -> float:
    """The strict rule (ours, as the paper states none): the same two scenes, fact like fact and event like event."""
    if (one.finding.x, one.finding.y) != (other.finding.x, other.finding.y):
        return 0.0
    scores = _like(one.finding.fact, other.finding.fact), _like(one.finding.event, other.finding.event)
    return sum(scores) if min(scores) >= STRICT else 0.0


def _evidence(one: QuotedError, other: QuotedError) -> float:
    """Ours: the same later scene, and overlapping quotations. X may be any scene that states the fact."""
    if one.finding.y != other.finding.y:
        return 0.0
    sides = ((one.quote_x, other.quote_x, one.finding.fact, other.finding.fact),
             (one.quote_y, other.quote_y, one.finding.event, other.finding.event))  # fmt: skip
    scores = [_meets(quote, gold, clause, wanted) for quote, gold, clause, wanted in sides]
    return sum(scores) if min(scores) >= STRICT else 0.0


def _meets(quote: str, gold: str, clause: str, wanted: str) -> float:
    """How far a quotation overlaps that of the known error; without one, how far the words of both sides do."""
    if quote and gold:
        inside = Quotable.of(quote).has(gold) or Quotable.of(gold).has(quote)
        return 1.0 if inside else _like(quote, gold)
    return _like(_stems(f"{quote} {clause}"), _stems(f"{gold} {wanted}"))


def _stems(text: str) -> str:
    """The stems of a text's words, since a quotation may use the past tense and a clause a participle."""
    return " ".join(stem(word) for word in words(text) - _EMPTY_WORDS)


def _like(one: str, other: str) -> float:
    """The larger of Jaccard and containment of the words of two texts."""
    left, right = words(one) - _EMPTY_WORDS, words(other) - _EMPTY_WORDS
    contained = len(left & right) / min(len(left), len(right)) if left and right else 0.0
    return max(overlap(left, right), contained)


def rows(of: str, accuracy: Mapping[str, Sequence[Confusion]], *, baseline: bool = False) -> Iterator[Row]:
    """Precision and recall with intervals, and F1, by each rule, over one story or several."""
    for rule, stories in accuracy.items():
        found = _by_story([(one.tp, one.fp) for one in stories], "findings")
        yield Row(of, f"precision/{rule}", found, baseline)
        known = _by_story([(one.tp, one.fn) for one in stories], "known errors")
        yield Row(of, f"recall/{rule}", known, baseline)
        yield Row(of, f"f1/{rule}", _f1(sum(stories, Confusion())), baseline)


def _by_story(counts: Sequence[tuple[int, int]], what: str) -> Scored:
    """The share of hits among hits and misses, clustered by story if there are several."""
    hits = sum(hit for hit, _ in counts)
    if len(counts) == 1:
        return share(hits, sum(counts[0]), what)
    answers = ((place, hit) for place, (yes, no) in enumerate(counts) for hit in [True] * yes + [False] * no)
    return share_of_yes(answers, what)


def _f1(one: Confusion) -> Scored:
    if one.f1 is None:
        return Unscored("there are neither findings nor known errors")
    total = one.tp + one.fp + one.fn
    return Estimate(one.f1, total, method=f"harmonic mean of precision and recall; {one.tp} of both")
