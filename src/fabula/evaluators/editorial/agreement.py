"""How many of an editor's annotations people accept, by their answers of yes or no (MAGNET, appendix A.2.2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fabula.craft.levels import LEVELS
from fabula.craft.measuring import share_of_yes
from fabula.evaluators.editorial.report import Annotation
from fabula.measure.report import Report, Row

if TYPE_CHECKING:
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored


ACCEPT: Final = "accept/"
_ANSWERS: Final = {"yes": True, "true": True, "accept": True, "no": False, "false": False, "reject": False}
_PAIR: Final = 2


def annotations_of(report: Report) -> tuple[Annotation, ...]:
    """The annotations of an editorial report."""
    return tuple(Annotation(**data) for data in report.details["annotations"])


def named(annotation: Annotation) -> str:
    """The name of the passage that an annotation is about."""
    return annotation.level if annotation.level == "story" else f"{annotation.level} {annotation.place}"


def accepted(report: Report, people: Sequence[Rating]) -> tuple[list[Row], list[str]]:
    """The share of annotations that people accept, by level and overall, and notes.

    People answer the question `accept/ID`, with the annotation's id. An annotation that several people answered is
    accepted if more than half of them say yes.
    """
    known = {one.id: one for one in annotations_of(report)}
    given, left = _answers(people, known)
    votes = {name: sum(said) * _PAIR > len(said) for name, said in given.items()}
    rows = []
    for level in LEVELS:
        own = {name: vote for name, vote in votes.items() if known[name].level == level}
        if own:
            rows.append(Row("people", f"accept/{level}", _share(own, known, f"annotations of the {level}")))
    rows.append(Row("people", "accept", _share(votes, known, "annotations that people answered")))
    several = {name: len(set(said)) == 1 for name, said in given.items() if len(said) > 1}
    if several:
        rows.append(Row("people", "of one mind", _share(several, known, "annotations with several answers")))
    return rows, _notes(known, votes, left)


def _share(votes: Mapping[str, bool], known: Mapping[str, Annotation], what: str) -> Scored:
    """The share of accepted annotations, clustered by story."""
    return share_of_yes([(known[name].item, vote) for name, vote in votes.items()], what)


def _answers(people: Sequence[Rating], known: Mapping[str, Annotation]) -> tuple[dict[str, list[bool]], Counter[str]]:
    """The answers on each annotation, and counts of unusable answers by reason."""
    given: defaultdict[str, list[bool]] = defaultdict(list)
    left: Counter[str] = Counter()
    for rating in people:
        name = rating.question.removeprefix(ACCEPT)
        if name == rating.question:
            continue
        said = _ANSWERS.get(str(rating.answer).strip().casefold())
        if name not in known:
            left["about annotations that this report does not have"] += 1
        elif rating.answer is None:
            left["open"] += 1
        elif said is None:
            left["neither yes nor no"] += 1
        else:
            given[name].append(said)
    return given, left


def _notes(known: Mapping[str, Annotation], votes: Mapping[str, bool], left: Counter[str]) -> list[str]:
    notes = []
    if len(votes) < len(known):
        notes.append(f"People answered {len(votes)} of {len(known)} annotations.")
    if left:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left.most_common())
        notes.append(f"Answers that do not count: {reasons}.")
    return notes
