"""The report: findings with their evidence, the plain judge's list for comparison, and what was dropped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from fabula.craft.matching import ErrorFinding
from fabula.craft.measuring import share_of_yes
from fabula.evaluators.atlas.checking import EVALUATOR, REPLY_TOKENS, WHOLE_FILE, StoryCheck
from fabula.evaluators.atlas.findings import AtlasFinding, Proposal
from fabula.evaluators.atlas.gold import Gold, QuotedError, accuracies, rows
from fabula.evaluators.atlas.planted import PlantedErrors, PlantedScore, Quoting, score
from fabula.evaluators.atlas.replies import SUSPECTED
from fabula.measure.report import Report, Row
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.stats.intervals import count_of
from fabula.stats.shares import share
from fabula.story import one_line
from fabula.story.language import has_capitals, language_of

if TYPE_CHECKING:
    from fabula.continuity import Scenes
    from fabula.evaluators.atlas.config import Config
    from fabula.stats.classification import Confusion


_FOREIGN: Final = "The prompts are in English, and how well a model reads other languages was not measured."
_PAIR: Final = 2
_PER: Final = 10_000
_PLACELESS: Final = ("dropped_without_place", "dropped_unknown_scene", "dropped_not_before")
_MISSED: Final = frozenset(f"unreadable_{name}" for name in REPLY_TOKENS if name not in {"read", "decide"})


@dataclass(frozen=True)
class StoryFindings:
    """A story with everything that was found in it.

    Attributes:
        found: all findings, also those inside scenes.
        baseline: what the plain judge lists; `None` if it was not asked or gave no reply.
        by: what the method was based on, for the report.
        gold: the known errors; `None` if there are none to score against.
    """

    check: StoryCheck
    found: tuple[AtlasFinding, ...]
    baseline: tuple[Proposal, ...] | None
    by: Mapping[str, Any]
    gold: Gold | None

    @property
    def across(self) -> tuple[AtlasFinding, ...]:
        """Findings between two scenes, as in the paper."""
        return tuple(one for one in self.found if one.x < one.y)

    @property
    def inside(self) -> tuple[AtlasFinding, ...]:
        """Findings inside one scene."""
        return tuple(one for one in self.found if one.x == one.y)

    @cached_property
    def score(self) -> PlantedScore | None:
        """The score on planted errors; `None` if there are no known errors or they have another form."""
        if not isinstance(self.gold, PlantedErrors):
            return None
        suspected = [one for one in (*self.found, *self.check.rejected) if one.source != "verifier"]
        return score(
            [quoting_of(self.check.split, one) for one in self.found],
            self.gold,
            [quoting_of(self.check.split, one) for one in suspected],
        )

    @property
    def worthless(self) -> bool:
        """Whether the verifier confirmed most of the planted suspicions, which are certainly not errors."""
        counts = self.check.counts
        return 2 * counts["controls_called_errors"] > counts["controls"]

    @property
    def by_small(self) -> bool:
        """Whether a small model read the story. Such models miss real errors and name false ones."""
        return not self.check.config.by_graph and self.check.run.room("reader").aids

    @property
    def partial(self) -> bool:
        """Whether anything was not read or not verified."""
        counts = self.check.counts
        return bool(self.check.unread or counts["missing_verdicts"] or counts["cut_readings"] or self.missed)

    @property
    def missed(self) -> int:
        """The number of missing replies that no other call replaced; readers and verifiers are counted separately."""
        return sum(n for what, n in self.check.counts.items() if what in _MISSED)

    @property
    def blind(self) -> str:
        """Why there is no number of findings; empty if there is one."""
        counts = self.check.counts
        asked = counts["confirmed"] + counts["rejected"] + counts["ungrounded_verdicts"]
        if len(self.check.unread) == len(self.check.text.paragraphs):
            return "nobody could read the story"
        if self.check.config.by_graph and len(self.check.scenes) < _PAIR:
            return "the paper's way compares scenes with earlier ones, and this story is one scene; take improved"
        if counts["missing_verdicts"] and not asked:
            return "the verifier gave no verdict that can be read"
        unread = counts["unreadable_events"] + counts["unreadable_propose"]
        return "nothing that the models said of the scenes could be read" if unread and not asked else ""


def report_of(stories: Sequence[StoryFindings], config: Config, how: Mapping[str, Any]) -> Report:
    """Numbers, verdicts and findings of all stories."""
    # in the order of the calls, whichever reply came first
    ratings = [rating for one in stories for rating in sorted(one.check.ratings, key=lambda rating: rating.call)]
    numbers = [row for one in stories for row in _rows(one, config)]
    if len(stories) > 1 and any(one.gold is not None for one in stories):
        numbers += _scoring_rows("all", stories)
    performers = {role: stories[0].check.performer(role) for role in _roles(config)} if stories else {}
    return Report(
        EVALUATOR,
        dict(how) | {"performers": performers},
        tuple(numbers),
        tuple(ratings),
        tuple(note for one in stories for note in _notes(one)),
        {"stories": [_data(one, config) for one in stories]},
    )


def _roles(config: Config) -> tuple[str, ...]:
    asked = ("grapher", "proposer") if config.by_graph else ("reader",)
    return (*asked, "verifier", *(["judge"] if config.paper.baseline else []))


def spans_of(numbers: Iterable[int]) -> str:
    """Numbers in words, with runs as spans: "1 to 4, 9"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs)


def _rows(one: StoryFindings, config: Config) -> Iterator[Row]:
    of, words, counts = one.check.item.id, one.check.split.words, one.check.counts
    why = one.blind
    scenes = len(one.check.scenes)
    if config.by_graph:
        yield Row(of, "findings", _count(len(one.across), scenes, why))
        yield Row(of, "root causes", _count(len({found.root for found in one.found}), scenes, why))
    else:
        yield Row(of, "findings", _count(len(one.found), scenes, why))
        yield Row(of, "of these inside one scene", _count(len(one.inside), scenes, why))
    rate = _PER * len(one.found) / max(words, 1)
    per_words = Estimate(rate, words, method="findings in 10,000 words of one story; n words")
    yield Row(of, "findings per 10,000 words", Unscored(why, words) if why else per_words)
    judged = counts["confirmed"] + counts["rejected"] + counts["ungrounded_verdicts"]
    yield Row(of, "confirmed", share(counts["confirmed"], judged, "suspicions"))
    if counts["controls"]:
        trusted = share(counts["controls_called_errors"], counts["controls"], "planted suspicions that are none")
        yield Row(of, "planted suspicions called errors", trusted)
    elif judged and not has_capitals(one.check.item.story.text):
        why = "suspicions are planted by words with capitals, which this script does not have"
        yield Row(of, "planted suspicions called errors", Unscored(why, judged))
    if config.paper.baseline:
        unread = "" if one.baseline is not None else "the judge's reply could not be had"
        yield Row(of, "findings of the plain judge", _count(len(one.baseline or ()), scenes, unread), baseline=True)
    yield from _scoring_rows(of, [one])


def _accuracies(one: StoryFindings) -> Iterator[tuple[str, dict[str, Confusion]]]:
    """The accuracies of the method and of the plain judge ("judge"), if there are known errors."""
    if one.gold is None or isinstance(one.gold, PlantedErrors):
        return
    detected = [QuotedError(ErrorFinding(f.x, f.y, f.fact, f.event), f.before.quote, f.after.quote) for f in one.found]
    yield "method", accuracies(detected, one.gold)
    if one.baseline is not None:
        plain = [QuotedError(ErrorFinding(p.x, p.y, p.fact, p.event)) for p in one.baseline]
        yield "judge", accuracies(plain, one.gold)


def _planted_rows(of: str, scores: Sequence[PlantedScore], words: int) -> Iterator[Row]:
    """The recall of planted errors, overall and by what they need, with other findings and decoys."""
    errors = [(n, one, one.id in score.found) for n, score in enumerate(scores) for one in score.planted.errors]
    yield Row(of, "recall", share_of_yes([(n, found) for n, _, found in errors], "planted errors"))
    for needs in sorted({one.needs for _, one, _ in errors} - {""}):
        own = [(n, found) for n, one, found in errors if one.needs == needs]
        yield Row(of, f"recall, needs {needs.replace('_', ' ')}", share_of_yes(own, "planted errors"))
    findings = [(n, True) for n, _, found in errors if found]
    findings += [(n, False) for n, score in enumerate(scores) for _ in score.false]
    yield Row(of, "precision", share_of_yes(findings, "findings, each planted error once"))
    by_story = [float(len(score.false)) for score in scores]
    rate = count_of(by_story, f"findings that are no planted error, over {words:,} words; n stories", _PER / words)
    yield Row(of, "other findings per 10,000 words", rate)
    decoys = [
        (n, place < len(score.called)) for n, score in enumerate(scores) for place in range(len(score.planted.decoys))
    ]
    yield Row(of, "decoys called errors", share_of_yes(decoys, "decoys"))


def quoting_of(split: Scenes, one: AtlasFinding) -> Quoting:
    """A finding in the form that is scored against planted errors, with places in characters of the story's text."""
    starts = {scene.number: scene.start or 0 for scene in split.scenes}
    parts = (one.before, one.after)
    focus = tuple((starts[part.scene] + part.focus[0], starts[part.scene] + part.focus[1]) for part in parts)
    return Quoting(one.key, one.category, focus, _spans(split, one))


def _spans(split: Scenes, found: AtlasFinding) -> tuple[tuple[int, int], ...]:
    """The positions of both passages in the story's file; empty if it is not a plain text."""
    starts = {scene.number: scene.start for scene in split.scenes}
    return tuple(
        (start + part.start, start + part.end)
        for part in (found.before, found.after)
        if (start := starts[part.scene]) is not None
    )


def _scoring_rows(of: str, stories: Sequence[StoryFindings]) -> Iterator[Row]:
    """How well findings match the known errors: over one story, or as micro averages over several."""
    scores = [one.score for one in stories if one.score is not None]
    if scores:
        yield from _planted_rows(of, scores, sum(one.check.split.words for one in stories if one.score is not None))
    by_story: dict[str, dict[str, list[Confusion]]] = {}
    for one in stories:
        for by, accuracy in _accuracies(one):
            for rule, more in accuracy.items():
                by_story.setdefault(by, {}).setdefault(rule, []).append(more)
    for by, known in by_story.items():
        yield from rows(f"{of} (plain judge)" if by == "judge" else of, known, baseline=by == "judge")


def _count(number: int, scenes: int, why: str) -> Scored:
    if why:
        return Unscored(why, scenes)
    return Estimate(float(number), scenes, method="count in one story; n scenes")


def _notes(one: StoryFindings) -> Iterator[str]:
    counts, name, split = one.check.counts, one.check.item.id, one.check.split
    yield from _missing(one)
    if one.by_small:
        yield (
            f"{name}: the reader is a small model. Such models found none of the errors planted in stories, "
            "and reported false ones, so neither findings nor their absence mean anything. Give the role `reader` a "
            "strong model."
        )
    if one.worthless:
        yield (
            f"{name}: the verifier confirmed {counts['controls_called_errors']} of {counts['controls']} planted "
            "suspicions that are not errors. Its verdicts are unreliable. Give the role `verifier` a "
            "stronger model, and treat the findings as suspicions."
        )
    if dropped := sum(counts[what] for what in _PLACELESS):
        yield (
            f"{name}: left out: {_said(dropped, 'suspicion')} without two places in this story. The role "
            f"{'proposer' if one.check.config.by_graph else 'reader'!r} named what was left out. If that is much, "
            "give it another model."
        )
    if counts["notes_left_out"]:
        yield f"{name}: up to {_said(counts['notes_left_out'], 'note')} on earlier parts did not fit next to a part."
    if sparse := counts["sparse_scenes"]:
        yield f"{name}: {_said(sparse, 'scene')} with fewer than 3 events or no entity: little can be compared there."
    if language_of(one.check.item.story.text) != "en":
        yield f"{name}: this does not look like English. {_FOREIGN}"
    if split.counts:
        listed = ", ".join(f"{what.replace('_', ' ')} {n}" for what, n in split.counts.items())
        yield f"{name}: read as {split.form}; {listed}."


def _said(number: int, one: str, several: str = "") -> str:
    """A number with its noun: "1 suspicion", "2 replies"."""
    return f"{number} {one if number == 1 else several or one + 's'}"


def _missing(one: StoryFindings) -> Iterator[str]:
    """Notes on what was not read or not verified, and how to continue."""
    counts, name = one.check.counts, one.check.item.id
    on = "Check again with another model for the role {!r}, or with another --seed. Completed work is kept."
    if one.check.unread:
        yield f"{name}: partial. Paragraphs {spans_of(one.check.unread)} were not read. {on.format('reader')}"
    if counts["missing_verdicts"]:
        missed = _said(counts["missing_verdicts"], "suspicion")
        yield f"{name}: partial. {missed} got no verdict. {on.format('verifier')}"
    if cut := counts["cut_readings"]:
        yield (
            f"{name}: partial. Cut off at the model's limit: {_said(cut, 'reply', 'replies')} of the reader. The rest "
            "is missing. Allow the role `reader` more with --sampling reader.max_tokens=16000, or give it "
            "another model."
        )
    if one.missed:
        yield f"{name}: {_said(one.missed, 'reply', 'replies')} could not be read: findings are missing."
    whys = Counter(  # one reason for many calls is said once
        rating.unscored.replace(f" at {rating.call}", "")
        for rating in one.check.ratings
        if rating.unscored and "control" not in rating.question
    )
    if one.partial and whys:
        said = " ".join(f"{why}{f' ({n} times)' if n > 1 else ''}" for why, n in whys.items())
        yield f"{name}: what was wrong with them: {said}"


def _data(one: StoryFindings, config: Config) -> dict[str, Any]:
    """Everything known about the check of a story, for JSON and for the page."""
    check = one.check
    unproven = one.worthless or one.by_small
    found = [replace(found, sure=SUSPECTED) for found in one.found] if unproven else one.found
    data: dict[str, Any] = {
        "id": check.item.id,
        "form": check.split.form,
        "words": check.split.words,
        "scenes": [{"number": scene.number, "title": scene.title} for scene in check.scenes],
        "mended": dict(check.split.counts),
        "counts": {name: n for name, n in sorted(check.counts.items()) if n},
        "by": {name: value for name, value in one.by.items() if name != "graph"},
        "findings": [found.as_data(number) | _where(one, found) for number, found in enumerate(found, 1)],
        "rejected": [found.as_data(number) | _where(one, found) for number, found in enumerate(check.rejected, 1)],
        "undecided": [
            found.as_data(number) | _where(one, found) if isinstance(found, AtlasFinding) else _listed(found)
            for number, found in enumerate(check.undecided, 1)
        ],
        "scored": bool(not one.blind),
        "partial": one.partial,
        "verifier_is_worthless": one.worthless,
    }
    if "graph" in one.by:
        data["graph"] = one.by["graph"]
    if config.paper.baseline:
        plain = one.baseline
        data["plain_judge"] = None if plain is None else [_listed(proposal) for proposal in plain]
    if one.score is not None:
        data["scoring"] = {"planted": one.score.as_data()}
    elif one.gold is not None:
        data["scoring"] = {
            by: {rule: {"tp": a.tp, "fp": a.fp, "fn": a.fn} for rule, a in accuracy.items()}
            for by, accuracy in _accuracies(one)
        }
    return data


def _where(one: StoryFindings, found: AtlasFinding) -> dict[str, Any]:
    """Both places of a finding for a writer: the chapter's title, the paragraph, and the line of the file."""
    text, paragraphs = one.check.item.story.text, one.check.text.paragraphs
    shown: dict[str, Any] = {}
    for side, part, number in zip("xy", (found.before, found.after), found.places, strict=True):
        scene = one.check.text.scenes[part.scene]
        shown[f"title_{side}"] = one_line(scene.title).strip("# ")
        own = [paragraph.number for paragraph in paragraphs if paragraph.scene == scene.number]
        heads = sum(paragraphs[n - 1].text.startswith("#") or paragraphs[n - 1].heading for n in own[:1])
        shown[f"within_{side}"] = number - own[0] + 1 - heads if number in own else 0
        if scene.start is not None and [one.label for one in one.check.item.story.scenes] == [WHOLE_FILE]:
            shown[f"line_{side}"] = text.count("\n", 0, scene.start + max(part.focus[0], 0)) + 1
    return shown


def _listed(one: Proposal) -> dict[str, Any]:
    """A proposal that was not verified, for JSON."""
    said = ErrorFinding(one.x, one.y, one.fact, one.event)
    return {"x": one.x, "y": one.y, "fact": one.fact, "event": one.event, "hallucination": str(said)}
