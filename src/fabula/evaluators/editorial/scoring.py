"""From the comments of single calls to a report: counts by story, system, level and category, and their doubts."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.levels import CATEGORIES, passages_of
from fabula.craft.raters import kind_of
from fabula.craft.trivial import order_rows
from fabula.evaluators.editorial.asking import NOT_QUOTED, ROLE
from fabula.measure.ratings import Rating
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Estimate, Unscored
from fabula.stats.shares import count_estimate, share

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.levels import Level
    from fabula.evaluators.editorial.algorithm import Config
    from fabula.evaluators.editorial.asking import Read
    from fabula.measure.items import Item
    from fabula.stats.estimate import Scored

EVALUATOR: Final = "editorial"
RUBRIC: Final = "editorial-1"
ALL: Final = "all levels"
_UNEQUAL: Final = 1.2  # lengths of a prompt's stories, longest to shortest, above which counts are not comparable
_FEW_QUOTED: Final = 0.8


def report_of(
    items: Sequence[Item], levels: Sequence[Level], reads: Sequence[Read], config: Config, how: Mapping[str, Any]
) -> Report:
    """The report on all stories."""
    rows, totals = [], dict[str, float]()
    for item in items:
        mine = {
            level: [r for r in reads if (r.call.item.id, r.call.passage.level) == (item.id, level)] for level in levels
        }
        found = _story_rows(item, mine, config)
        whole = found[0].scored
        if isinstance(whole, Estimate):
            totals[item.id] = whole.value
        rows += found
    rows += _system_rows(items, levels, rows, config)
    dropped = sum((read.dropped for read in reads), Counter[str]())
    kept = sum(len(read.annotations or ()) for read in reads)
    quoted = share(
        kept, kept + dropped[NOT_QUOTED], "quotations that stand in the text, of the comments otherwise sound"
    )
    rows.append(Row("all", "quotations found", quoted))
    rows.append(Row("all", "constant", _constant(levels, config), baseline=True))
    rows += order_rows(items, totals, "comments", config.resamples)
    return Report(
        EVALUATOR,
        how,
        tuple(rows),
        tuple(rating for read in reads for rating in ratings_of(read)),
        tuple(_notes(items, reads, dropped, quoted)),
        {
            "levels": {level: list(CATEGORIES[level]) for level in levels},
            "stories": [_told(item, levels) for item in items],
            "annotations": [asdict(annotation) for read in reads for annotation in read.annotations or ()],
            "dropped": dict(dropped),
        },
    )


def _told(item: Item, levels: Sequence[Level]) -> dict[str, Any]:
    parts = {f"{level}s": len(passages_of(item.story, level)) for level in levels if level != "story"}
    return {"id": item.id, "system": item.system, "prompt": item.prompt, "words": item.story.words, **parts}


def ratings_of(read: Read) -> list[Rating]:
    """One rating for each category, the number of its comments; one for a call that gave none, which says why."""
    item, level = read.call.item, read.call.passage.level

    def rating(question: str, answer: float | None, reason: str) -> Rating:
        return Rating(
            rater=read.by or ROLE,
            kind=kind_of(read.by),
            items=(item.id,),
            systems=(item.system,) if item.system else (),
            prompt=item.prompt,
            question=question,
            shown="" if answer is None else f"{answer:g}",
            answer=answer,
            unscored=read.why_not,
            reason=reason,
            rubric=RUBRIC,
            evaluator=EVALUATOR,
            call=f"{read.at}/annotate",
        )

    if read.annotations is None:
        return [rating(level, None, "")]
    found = []
    for category in CATEGORIES[level]:
        mine = [annotation for annotation in read.annotations if annotation.category == category]
        said = "\n".join(f"{annotation.comment} [{annotation.quote}]" for annotation in mine)
        found.append(rating(f"{level}/{category}", float(len(mine)), said))
    return found


# numbers --------------------------------------------------------------------------------------------------------------


def _story_rows(item: Item, reads: Mapping[Level, Sequence[Read]], config: Config) -> list[Row]:
    """All levels together, each level, each category, and the story's words."""
    rows: list[Row] = []
    sums: list[Scored] = []
    for level, mine in reads.items():
        wanted = 1 if level == "story" else config.passages
        sums.append(_count(mine, "", wanted))
        rows.append(Row(item.id, level, sums[-1]))
        rows += [Row(item.id, f"{level}/{name}", _count(mine, name, wanted)) for name in CATEGORIES[level]]
    words = Row(item.id, "words", Estimate(item.story.words, 1, method="words of the story"))
    return [Row(item.id, ALL, _sum(list(reads), sums)), *rows, words]


def _count(reads: Sequence[Read], category: str, wanted: int) -> Scored:
    """Comments on `wanted` passages: those on the passages that were read, scaled where these are fewer."""
    values = [
        sum(category in ("", annotation.category) for annotation in read.annotations)
        for read in reads
        if read.annotations is not None
    ]
    if not values:
        return Unscored(reads[0].why_not)
    passage = reads[0].call.passage
    told = "comments on the whole story"
    if passage.level != "story":
        told = f"comments on {len(values)} of {passage.of} {passage.level}s"
    if len(values) != wanted:
        told += f", scaled to {wanted}"
    if len(values) < len(reads):
        told += f"; {len(reads) - len(values)} replies could not be read"
    return count_estimate(sum(values), len(values), told, wanted / len(values))


def _sum(levels: Sequence[Level], counts: Sequence[Scored]) -> Scored:
    """The levels' counts together; none where one is missing, since a story must not look better for that."""
    values = []
    for level, count in zip(levels, counts, strict=True):
        if isinstance(count, Unscored):
            return Unscored(f"the level {level} has no count: {count.reason}")
        values.append(count)
    n, whole = sum(count.n for count in values), sum(count.value for count in values)
    if any("scaled" in count.method for count in values):
        return Estimate(whole, n, method=f"sum of {', '.join(levels)}; no interval, because one of them is scaled")
    return count_estimate(round(whole), n, f"sum of {', '.join(levels)}")


def _system_rows(items: Sequence[Item], levels: Sequence[Level], rows: Sequence[Row], config: Config) -> list[Row]:
    """The means of each system over its stories, where there are several stories."""
    if len(items) == 1:
        return []
    known = {(row.of, row.what): row.scored for row in rows}
    found = []
    for system in dict.fromkeys(item.system for item in items if item.system):
        for what in (ALL, *levels, "words"):
            counted = [(item, known[item.id, what]) for item in items if item.system == system]
            there = [(item, scored.value) for item, scored in counted if isinstance(scored, Estimate)]
            missing = f"; {len(counted) - len(there)} without a count" if len(there) < len(counted) else ""
            scored = bootstrap_mean(
                [value for _, value in there],
                [item.prompt or item.id for item, _ in there],
                resamples=config.resamples,
                seed=config.seed,
                method=f"mean over {len(there)} stories{missing}",
            )
            found.append(Row(system, what, scored))
    return found


def _constant(levels: Sequence[Level], config: Config) -> Estimate:
    """How many comments an editor makes who fills the form: one of each category everywhere."""
    count = sum(len(CATEGORIES[level]) * (1 if level == "story" else config.passages) for level in levels)
    told = "comments on any story, where one of each category is found in every passage"
    return Estimate(count, count, method=told)


# what a reader must know ----------------------------------------------------------------------------------------------


def _notes(items: Sequence[Item], reads: Sequence[Read], dropped: Counter[str], quoted: Scored) -> list[str]:
    notes = []
    lost = [read for read in reads if read.annotations is None]
    if lost:
        reasons = Counter(read.why_not for read in lost)
        (why, _), *_ = reasons.most_common(1)
        notes.append(f"{len(lost)} of {len(reads)} passages have no annotations; most often: {why}")
    if dropped:
        told = "; ".join(f"{reason} ({count})" for reason, count in dropped.most_common())
        notes.append(f"Comments that do not count: {told}.")
    if isinstance(quoted, Estimate) and quoted.value < _FEW_QUOTED:
        notes.append(
            f"Only {quoted.value:.0%} of the quotations stand in the text. An editor that quotes what is not there is "
            "too weak for this; take a stronger one."
        )
    notes += _saturated(reads)
    notes += _unequal(items)
    if len(items) == 1:
        notes.append("One story: a count says nothing alone. Compare it with stories read by the same editor.")
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
    told = f"{named} have {min(words):,} to {max(words):,} words{more}."
    return [f"{told} Longer ones give more to comment on: compare counts of stories of one length."]


def _saturated(reads: Sequence[Read]) -> list[str]:
    """Levels on which the editor found exactly one comment of every category everywhere, as an idle editor would."""
    found = []
    for level in dict.fromkeys(read.call.passage.level for read in reads):
        mine = [read.annotations for read in reads if read.call.passage.level == level and read.annotations is not None]
        counts = [Counter(annotation.category for annotation in annotations) for annotations in mine]
        if (
            len(counts) > 1
            and fmean(counted == dict.fromkeys(CATEGORIES[level], 1) for counted in counts) > _FEW_QUOTED
        ):
            found.append(
                f"On the level {level} nearly every passage has exactly one comment of each category: the editor fills "
                "its form, and the count tells nothing of the stories."
            )
    return found
