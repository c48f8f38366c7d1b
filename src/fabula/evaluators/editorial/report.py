"""The report on an editor's comments: counts by story, system, level and category, with notes on their limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.levels import CATEGORIES, Level, ReadingPassage, passages_of
from fabula.craft.measuring import difference_rows, lost_note, mean_rows, story_rows
from fabula.craft.raters import rating_of
from fabula.craft.trivial import order_rows
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import count_of, share_among

if TYPE_CHECKING:
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating


RUBRIC: Final = "editorial-1"
ALL: Final = "all levels"
NOT_QUOTED: Final = "the quotation is not in the text"
_UNEQUAL: Final = 1.2  # lengths of a prompt's stories, longest to shortest, above which counts are not comparable
_FEW_QUOTED: Final = 0.8
_ID_LETTERS: Final = 10


@dataclass(frozen=True, slots=True)
class Annotation:
    """A comment that counts: its category belongs to the level, and its quotation is in the passage.

    Attributes:
        id: derived from story, passage and words. People's answers refer to it.
        item: id of the story.
        place: number of the passage among the story's passages on this level, from 1.
    """

    id: str
    item: str
    level: str
    place: int
    category: str
    comment: str
    quote: str


def annotation_id(*parts: object) -> str:
    """Ten letters derived from the parts, which do not reveal them."""
    return sha256("\0".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()[:_ID_LETTERS]


@dataclass(frozen=True, slots=True)
class PassageRead:
    """The result of a call.

    Attributes:
        at: path of the call.
        by: who read it.
        annotations: the comments that count, or `None` if the reply could not be read.
        why_not: why the reply could not be read.
        dropped: comments that do not count, by reason.
    """

    item: Item
    passage: ReadingPassage
    at: str
    by: str
    annotations: tuple[Annotation, ...] | None
    why_not: str = ""
    dropped: Counter[str] = field(default_factory=Counter)


def report_of(
    items: Sequence[Item], levels: Sequence[Level], reads: Sequence[PassageRead], how: Mapping[str, Any]
) -> Report:
    """The report on all stories."""
    measured: dict[str, list[Scored]] = {}
    for item in items:
        own = {
            level: [read for read in reads if read.item.id == item.id and read.passage.level == level]
            for level in levels
        }
        for what, scored in _measured(item, own, how["passages"]).items():
            measured.setdefault(what, []).append(scored)
    several = {what: measured[what] for what in (ALL, *levels)}
    totals = {item.id: one.value for item, one in zip(items, measured[ALL], strict=True) if isinstance(one, Estimate)}
    apart, said = difference_rows(items, several)
    rows = story_rows(items, measured)
    if len(items) > 1 and any(item.system for item in items):
        rows += mean_rows(items, several | {"words": measured["words"]}, called="")
    rows += apart
    dropped = sum((read.dropped for read in reads), Counter[str]())
    quoted = _quoted(reads)
    rows.append(Row("all", "quotations found", quoted))
    rows.append(Row("all", "constant", _constant(levels, how["passages"]), baseline=True))
    rows += order_rows(items, totals, "comments")
    return Report(
        "editorial",
        how,
        tuple(rows),
        tuple(rating for read in reads for rating in ratings_of(read)),
        (*_notes(items, reads, dropped, quoted), *said),
        {
            "levels": {level: list(CATEGORIES[level]) for level in levels},
            "stories": [_story_data(item, levels) for item in items],
            "annotations": [asdict(annotation) for read in reads for annotation in read.annotations or ()],
            "passages": [_passage_data(read) for read in reads if read.annotations],
            "dropped": dict(dropped),
        },
    )


def _quoted(reads: Sequence[PassageRead]) -> Scored:
    """The share of quotations that are in the text, clustered by story."""
    values, stories = list[float](), list[str]()
    for read in reads:
        found = [1.0] * len(read.annotations or ()) + [0.0] * read.dropped[NOT_QUOTED]
        values += found
        stories += [read.item.id] * len(found)
    if not values:
        return Unscored("there are no quotations of comments otherwise valid")
    method = "share of quotations that stand in the text, of the comments otherwise valid"
    return share_among(values, stories, method=method)


def _story_data(item: Item, levels: Sequence[Level]) -> dict[str, Any]:
    counts = {f"{level}s": len(passages_of(item.story, level)) for level in levels if level != "story"}
    return {"id": item.id, "system": item.system, "prompt": item.prompt, "words": item.story.words, **counts}


def _passage_data(read: PassageRead) -> dict[str, Any]:
    """The annotated passage, for the person who verifies the annotations."""
    return {"item": read.item.id, "level": read.passage.level, "place": read.passage.place, "text": read.passage.text}


def ratings_of(read: PassageRead) -> list[Rating]:
    """One rating for each category, with its number of comments. A call without comments has one that says why."""
    level, call = read.passage.level, f"{read.at}/annotate"
    rated = partial(
        rating_of, [read.item], read.by, evaluator="editorial", rubric=RUBRIC, call=call, unscored=read.why_not
    )
    if read.annotations is None:
        return [rated(question=level, answer=None)]
    found = []
    for category in CATEGORIES[level]:
        comments = [annotation for annotation in read.annotations if annotation.category == category]
        reason = "\n".join(f"{annotation.comment} [{annotation.quote}]" for annotation in comments)
        found.append(rated(question=f"{level}/{category}", answer=float(len(comments)), reason=reason))
    return found


# numbers --------------------------------------------------------------------------------------------------------------


def _measured(item: Item, reads: Mapping[Level, Sequence[PassageRead]], passages: int) -> dict[str, Scored]:
    """The counts of all levels together, of each level and of each category, and the words of the story."""
    found: dict[str, Scored] = {}
    for level, of_level in reads.items():
        wanted = 1 if level == "story" else passages
        found[level] = _count(of_level, "", wanted)
        found |= {f"{level}/{name}": _count(of_level, name, wanted) for name in CATEGORIES[level]}
    found["words"] = Estimate(item.story.words, 1, method="words of the story")
    return {ALL: _sum(list(reads), [found[level] for level in reads])} | found


def _count(reads: Sequence[PassageRead], category: str, wanted: int) -> Scored:
    """Comments on `wanted` passages: the count on the passages that were read, scaled up if there are fewer."""
    values = [
        sum(category in ("", annotation.category) for annotation in read.annotations)
        for read in reads
        if read.annotations is not None
    ]
    if not values:
        return Unscored(reads[0].why_not)
    passage = reads[0].passage
    method = "comments on the whole story"
    if passage.level != "story":
        method = f"comments on {len(values)} of {passage.of} {passage.level}s"
    if len(values) != wanted:
        method += f", scaled to {wanted}"
    if len(values) < len(reads):
        method += f"; {len(reads) - len(values)} replies could not be read"
    return count_of(values, method, wanted / len(values))


def _sum(levels: Sequence[Level], counts: Sequence[Scored]) -> Scored:
    """The sum of the levels' counts.

    It is empty if a count is missing, since a story must not look better because of that.
    """
    values = []
    for level, count in zip(levels, counts, strict=True):
        if isinstance(count, Unscored):
            return Unscored(f"the level {level} has no count: {count.reason}")
        values.append(count)
    n, whole = sum(count.n for count in values), sum(count.value for count in values)
    if any("scaled" in count.method for count in values):
        return Estimate(whole, n, method=f"sum of {', '.join(levels)}; no interval, because one of them is scaled")
    return replace(count_of([whole], f"sum of {', '.join(levels)}"), n=n)


def _constant(levels: Sequence[Level], passages: int) -> Estimate:
    """The number of comments from an editor who only fills in the form: one of each category everywhere."""
    count = sum(len(CATEGORIES[level]) * (1 if level == "story" else passages) for level in levels)
    return Estimate(count, count, method="comments on any story, where one of each category is found in every passage")


# what a reader must know ----------------------------------------------------------------------------------------------


def _notes(items: Sequence[Item], reads: Sequence[PassageRead], dropped: Counter[str], quoted: Scored) -> list[str]:
    notes = lost_note((read.why_not for read in reads), len(reads), "passages have no annotations")
    if dropped:
        reasons = "; ".join(f"{reason} ({count})" for reason, count in dropped.most_common())
        notes.append(f"Comments that do not count: {reasons}.")
    if isinstance(quoted, Estimate) and quoted.value < _FEW_QUOTED:
        notes.append(
            f"Only {quoted.value:.0%} of the quotations are in the text. An editor that invents quotations is "
            "too weak for this task. Use a stronger model."
        )
    notes += _saturated(reads)
    notes += _unequal(items)
    if len(items) == 1:
        notes.append("There is only one story. Compare its counts with those of other stories read by the same editor.")
    return notes


def _unequal(items: Sequence[Item]) -> list[str]:
    """Prompts whose stories are of different lengths."""
    lengths = {
        prompt: [item.story.words for item in items if item.prompt == prompt]
        for prompt in dict.fromkeys(item.prompt for item in items)
    }
    unequal = [(prompt, words) for prompt, words in lengths.items() if max(words) > _UNEQUAL * min(words)]
    if not unequal:
        return []
    prompt, words = unequal[0]
    named = f"The stories of {prompt!r}" if prompt else "The stories"
    more = f", and those of {len(unequal) - 1} more prompts differ too" if len(unequal) > 1 else ""
    note = (
        f"{named} have {min(words):,} to {max(words):,} words{more}. Longer stories give more to comment on. Compare "
        "the counts of stories of the same length."
    )
    return [note]


def _saturated(reads: Sequence[PassageRead]) -> list[str]:
    """Levels on which the editor found exactly one comment of every category everywhere, as an idle editor would."""
    found = []
    for level in dict.fromkeys(read.passage.level for read in reads):
        counts = [
            Counter(annotation.category for annotation in read.annotations)
            for read in reads
            if read.passage.level == level and read.annotations is not None
        ]
        if (
            len(counts) > 1
            and fmean(counted == dict.fromkeys(CATEGORIES[level], 1) for counted in counts) > _FEW_QUOTED
        ):
            found.append(
                f"On the level {level} nearly every passage has exactly one comment of each category. The editor only "
                "fills in its form, and the count says nothing about the stories."
            )
    return found
