"""Pairs from ratings: two stories for one brief, one of which judges, people or measures preferred.

Every question has one vote on two stories. For verdicts on two stories side by side, it is each rater's verdict over
both orders; for scores, it goes to the story with the higher mean over the raters. The story with more votes is
preferred; equal votes are a tie.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

from fabula.app.verdict_files import side_of
from fabula.base.characters import readable
from fabula.base.errors import ReplyError, UnknownNameError
from fabula.craft.length import asked_range
from fabula.evaluators.pairwise.verdicts import choice_of, pair_choices
from fabula.measure.ratings import SAME, Rating
from fabula.models.base import Capabilities
from fabula.stats.comparisons import TIE
from fabula.story import count_words, plain
from fabula.systems import find
from fabula.training.asked import AskedPrompts
from fabula.training.examples import PreferencePair
from fabula.training.pairs import SAME as SAME_TEXTS
from fabula.training.pairs import FoundPairs, named, same_words

if TYPE_CHECKING:
    from fabula.engine.methods import Preset
    from fabula.measure.items import Item


SYSTEM, WRITER = "end-to-end", "writer"
TIED: Final = "equal votes on both sides, or too small a margin"
ONE_ORDER: Final = "judged in one order only"
NO_TEXT: Final = "its text is not among the stories; name them with --stories"
NO_BRIEF: Final = "the brief that it answers is not known; give projects, or stories with a `brief`"
OTHER_BRIEFS: Final = "the two stories answer different briefs"
_BOTH: Final = 2


@dataclass(frozen=True, slots=True)
class PairOptions:
    """The ratings that count, and the form of the prompts.

    Attributes:
        question: the question that counts; empty for all.
        margin: the share of the votes by which a story must lead, from 0 to 1.
        preset: the preset of the system whose prompts are used.
    """

    question: str = ""
    margin: float = 0.0
    preset: Preset = "improved"


@dataclass
class _Votes:
    """The votes on two stories, by question: above 0 for the first story. `orders`: the story shown first."""

    prompt: str
    questions: dict[str, float] = field(default_factory=dict)
    raters: set[str] = field(default_factory=set)
    orders: set[bool] = field(default_factory=set)
    one_order: bool = False

    @property
    def lead(self) -> float:
        """The share of the votes by which the first story leads; below 0 if the second leads."""
        return sum(self.questions.values()) / max(len(self.questions), 1)


async def rated_pairs(ratings: Sequence[Rating], items: Sequence[Item], name: str, wanted: PairOptions) -> FoundPairs:
    """The pairs of stories that ratings make; `name` is the name of the ratings in the pairs.

    Raises:
        UnknownNameError: nothing was rated on the requested question.
    """
    questions = {one.question for one in ratings}
    if wanted.question and wanted.question not in questions:
        raise UnknownNameError("question", wanted.question, sorted(questions))
    chosen = [one for one in ratings if wanted.question in ("", one.question)]
    known = {item.id: item for item in items}
    asked = AskedPrompts(find(SYSTEM), wanted.preset, Capabilities())
    pairs: list[PreferencePair] = []
    left_out: list[Mapping[str, Any]] = []
    for two, votes in _voted(chosen, name).items():
        one = await _pair(two, votes, known, asked, name, wanted)
        if isinstance(one, PreferencePair):
            pairs.append(one)
        else:
            left_out.append(one)
    return FoundPairs(tuple(pairs), tuple(left_out))


def _voted(ratings: Sequence[Rating], name: str) -> dict[tuple[str, str], _Votes]:
    """The votes on every two stories, with their ids in order."""
    found: dict[tuple[str, str], _Votes] = {}
    sums: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    choices = [one for one in ratings if _is_choice(one)]
    for question in dict.fromkeys(one.question for one in choices):
        for pair in pair_choices([choice_of(one) for one in choices if one.question == question]):
            votes = found.setdefault(pair.items, _Votes(pair.prompt))
            votes.raters.add(pair.rater)
            votes.orders |= {verdict.items == pair.items for verdict in pair.verdicts}
            if pair.settled:
                sums[pair.items][question].append(_sign(pair.score - TIE))
            else:
                votes.one_order = True
    for two, by_question in sums.items():
        found[two].questions = {question: _sign(sum(values)) for question, values in by_question.items()}
    for two, prompt, question, vote, raters in _scored([one for one in ratings if not _is_choice(one)], name):
        votes = found.setdefault(two, _Votes(prompt))
        votes.questions[question] = vote
        votes.raters |= raters
    return found


def _is_choice(rating: Rating) -> bool:
    return len(rating.items) == _BOTH and rating.answer in (*rating.items, SAME)


def _scored(ratings: Sequence[Rating], name: str) -> Iterator[tuple[tuple[str, str], str, str, float, set[str]]]:
    """Every two stories of one brief with scores on a question, and which has the higher mean over the raters."""
    for question, verdicts in side_of(ratings, name).questions.items():
        scores: dict[tuple[str, str], list[float]] = defaultdict(list)
        raters: dict[str, set[str]] = defaultdict(set)
        for verdict in verdicts:
            if len(verdict.items) == 1:
                scores[verdict.prompt, verdict.items[0]].append(verdict.value)
                raters[verdict.items[0]].add(verdict.rater)
        for (prompt, one), (other_prompt, other) in combinations(sorted(scores), 2):
            if prompt and prompt == other_prompt:
                means = (sum(found) / len(found) for found in (scores[prompt, one], scores[prompt, other]))
                vote = _sign(next(means) - next(means))
                yield (one, other), prompt, question, vote, raters[one] | raters[other]


def _sign(value: float) -> float:
    return float((value > 0) - (value < 0))


async def _pair(
    two: tuple[str, str], votes: _Votes, known: Mapping[str, Item], asked: AskedPrompts, name: str, wanted: PairOptions
) -> PreferencePair | Mapping[str, Any]:
    """The pair of two stories, or the reason why there is none."""
    first_wins = votes.lead > 0
    chosen, rejected = two if first_wins else two[::-1]
    source: dict[str, Any] = {
        "ratings": name,
        "prompt": readable(votes.prompt),
        "items": [readable(chosen), readable(rejected)],
        "judge": ", ".join(map(named, sorted(votes.raters))),
        "criteria": [readable(question) for question in votes.questions],
        "lead": round(abs(votes.lead), 4),
    }
    reason = _objection(two, votes, known, wanted)
    if reason:
        return {**source, "kind": "ratings", "reason": reason}
    best, other = known[chosen], known[rejected]
    texts = tuple(readable(plain(one.story.text)) for one in (best, other))
    brief = best.brief or other.brief
    assert brief is not None  # noqa: S101 - `_objection` says so
    try:
        requests = await asked.requests(brief, {WRITER: texts[0]}, _config(brief, texts[0], wanted.preset))
    except ReplyError as error:
        return {**source, "kind": "ratings", "reason": str(error)}
    first = votes.orders == {True} if first_wins else votes.orders == {False}
    return PreferencePair(
        id=f"{name}/{readable(chosen)}/{readable(rejected)}",
        agent=WRITER,
        group=f"{name}/{readable(votes.prompt)}",
        messages=requests[WRITER].messages,
        chosen=texts[0],
        rejected=texts[1],
        kind="ratings",
        chosen_first=first if len(votes.orders) == 1 else None,
        source=source,
    )


def _objection(two: tuple[str, str], votes: _Votes, known: Mapping[str, Item], wanted: PairOptions) -> str:
    """The reason why two stories are not a pair; empty if they are."""
    if not votes.questions and votes.one_order:
        return ONE_ORDER
    if not votes.lead or abs(votes.lead) < wanted.margin:
        return TIED
    if not set(two) <= set(known):
        return NO_TEXT
    briefs = [one.brief for one in (known[two[0]], known[two[1]]) if one.brief is not None]
    if not briefs:
        return NO_BRIEF
    if len({brief.text for brief in briefs}) > 1:
        return OTHER_BRIEFS
    return SAME_TEXTS if same_words(known[two[0]].story.text, known[two[1]].story.text) else ""


def _config(brief: Any, text: str, preset: Preset) -> Any:  # noqa: ANN401 - each system has its own Config
    """The system's settings; if its length can be set, it is the length of the preferred story."""
    config = find(SYSTEM).config(preset)
    if config.ours is None:
        return config
    words, want = count_words(text), asked_range(brief)
    named = {"words": f"~{words}"} if want is not None and not want.holds(words) else {}
    return replace(config, ours=replace(config.ours, chapters=False, **named))
