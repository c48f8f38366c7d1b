"""How many of an editor's annotations people accept, compared with decoys (MAGNET, appendix A.2.2).

A sheet is a ratings file with one line for each annotation, to be answered with yes or no. Some lines are decoys,
which combine a quotation with a comment on another passage. People who accept decoys would accept anything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Final

from fabula.craft.levels import LEVELS
from fabula.craft.measuring import share_of_yes
from fabula.evaluators.editorial.report import RUBRIC, Annotation, annotation_id
from fabula.measure.ratings import Rating
from fabula.measure.report import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.measure.report import Report
    from fabula.stats.estimate import Scored

ACCEPT: Final = "accept/"
OPEN: Final = "not answered yet"
EVERY: Final = 5  # a decoy for so many annotations
_ANSWERS: Final = {"yes": True, "true": True, "accept": True, "no": False, "false": False, "reject": False}
_PAIR: Final = 2


def annotations_of(report: Report) -> tuple[Annotation, ...]:
    """The annotations of an editorial report."""
    return tuple(Annotation(**data) for data in report.details["annotations"])


def named(annotation: Annotation) -> str:
    """The name of the passage that an annotation is about."""
    return annotation.level if annotation.level == "story" else f"{annotation.level} {annotation.place}"


def decoys_of(annotations: Sequence[Annotation]) -> tuple[Annotation, ...]:
    """A decoy for every fifth annotation: its quotation with the comment on another passage of the same level."""
    found = []
    for n in range(0, len(annotations), EVERY):
        one = annotations[n]
        others = chain(annotations[n + 1 :], annotations[:n])
        other = next((a for a in others if a.level == one.level and (a.item, a.place) != (one.item, one.place)), None)
        if other is not None:
            name = annotation_id("decoy", one.id, other.id)
            found.append(Annotation(name, one.item, one.level, one.place, other.category, other.comment, one.quote))
    return tuple(found)


def sheet_of(report: Report) -> tuple[Rating, ...]:
    """One open rating for each annotation and decoy, sorted by story, in an order that does not show which are decoys.

    To answer a rating, write "yes" or "no" as `answer` and a name as `rater`, and remove `unscored`.
    """
    real = annotations_of(report)
    prompts = {story["id"]: story["prompt"] for story in report.details["stories"]}
    return tuple(
        Rating(
            rater="",
            kind="person",
            items=(one.item,),
            systems=(),  # who wrote the story must not be seen
            prompt=prompts[one.item],
            question=f"{ACCEPT}{one.id}",
            answer=None,
            unscored=OPEN,
            reason=f'{named(one)}, {one.category}: {one.comment} On: "{one.quote}"',
            rubric=RUBRIC,
        )
        for one in sorted([*real, *decoys_of(real)], key=lambda one: (one.item, one.id))
    )


def accepted(report: Report, people: Sequence[Rating]) -> tuple[list[Row], list[str]]:
    """The share of annotations that people accept, by level and overall, with the share of accepted decoys and notes.

    An annotation that several people answered is accepted if more than half of them say yes.
    """
    real = annotations_of(report)
    known = {one.id: one for one in (*real, *decoys_of(real))}
    given, left = _answers(people, known)
    votes = {name: sum(said) * _PAIR > len(said) for name, said in given.items()}
    ids = {one.id for one in real}
    rows = []
    for level in LEVELS:
        own = {name: vote for name, vote in votes.items() if name in ids and known[name].level == level}
        if own:
            rows.append(Row("people", f"accept/{level}", _share(own, known, f"annotations of the {level}")))
    everything = {name: vote for name, vote in votes.items() if name in ids}
    rows.append(Row("people", "accept", _share(everything, known, "annotations that people answered")))
    lures = {name: vote for name, vote in votes.items() if name not in ids}
    rows.append(Row("decoys", "accept", _share(lures, known, "decoys that people answered"), baseline=True))
    several = {name: len(set(said)) == 1 for name, said in given.items() if len(said) > 1}
    if several:
        rows.append(Row("people", "of one mind", _share(several, known, "annotations with several answers")))
    return rows, _notes(real, votes, left)


def _share(votes: Mapping[str, bool], known: Mapping[str, Annotation], what: str) -> Scored:
    """The share of accepted annotations, clustered by story."""
    return share_of_yes([(known[name].item, vote) for name, vote in votes.items()], what)


def _answers(people: Sequence[Rating], known: dict[str, Annotation]) -> tuple[dict[str, list[bool]], Counter[str]]:
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


def _notes(real: Sequence[Annotation], votes: dict[str, bool], left: Counter[str]) -> list[str]:
    notes = []
    rated = sum(one.id in votes for one in real)
    if rated < len(real):
        notes.append(f"People answered {rated} of {len(real)} annotations.")
    if left:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left.most_common())
        notes.append(f"Answers that do not count: {reasons}.")
    return notes
