"""From the turns after each digression to shares: of dialogues, of systems, between systems, and of trivial tellers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from fabula.craft.measuring import by_system, prompt_of
from fabula.engine.replies.obeying import says
from fabula.evaluators.linearity.asking import BACK, EVALUATOR, played
from fabula.measure.report import Report, Row
from fabula.stats.bootstrap import bootstrap_mean
from fabula.stats.estimate import Unscored
from fabula.stats.shares import share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.evaluators.linearity.asking import Teller
    from fabula.evaluators.linearity.reading import Digression
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

CUT: Final = "the dialogue, or the next digression, came before the turns were over"
WORDS: Final = ", by words"
Key: TypeAlias = tuple[str, int]
TELLERS: Final[Mapping[Teller, str]] = {"deaf": "a teller that hears nothing", "echo": "an echo of the player"}
_ALIKE: Final = 2
_MOST_SYSTEMS: Final = 8  # of which every two are compared


@dataclass(frozen=True)
class Judged:
    """The verdicts on the turns of a digression, as the characters or a trivial teller had them."""

    digression: Digression
    teller: Teller
    ratings: tuple[Rating, ...]

    @cached_property
    def back(self) -> int | Unscored:
        """The number of the first turn that is back in the story; 0 where none is in time."""
        last = self.ratings[-1]
        if last.unscored:
            return Unscored(last.unscored)
        return len(self.ratings) if last.answer == BACK else Unscored(CUT) if self.digression.cut else 0


def back_by_words(digression: Digression, teller: Teller = "") -> int | Unscored:
    """As `Judged.back`, judged by shared words."""
    window = played(digression, teller)
    for number, turn in enumerate(digression.turns, 1):
        if digression.passage.holds(window[turn].text, digression.said.text, digression.names):
            return number
    return Unscored(CUT) if digression.cut else 0


@dataclass(frozen=True)
class _Decided:
    """When each digression was over, by one way of deciding.

    Attributes:
        suffix: of the names of its numbers.
        method: how it was decided.
    """

    suffix: str
    method: str
    back: Mapping[Key, int | Unscored]


def report_of(
    items: Sequence[Item], found: Sequence[Digression], judged: Sequence[Judged], how: Mapping[str, Any]
) -> Report:
    """Everything the evaluator says; `judged` is empty where no judge was asked."""
    ways = [_Decided(WORDS, "by shared words", {one.key: back_by_words(one) for one in found})]
    if judged:
        by_judge: dict[Key, int | Unscored] = {one.key: Unscored(CUT) for one in found if not one.turns}
        by_judge |= {one.digression.key: one.back for one in judged if not one.teller}
        ways.insert(0, _Decided("", "by a judge", by_judge))
    count = _Counting(items, found, how["within"], how["resamples"])
    rows = [row for way in ways for row in count.rows(way)]
    rows += count.others()
    if judged:
        rows.append(_agreement(ways[0], ways[1], how["within"]))
    rows += _tellers(found, judged, how["within"])
    ratings = tuple(rating for one in judged for rating in one.ratings)
    details = {"digressions": [_told(one, ways, how["within"]) for one in found]}
    return Report(EVALUATOR, how, tuple(rows), ratings, tuple(_notes(items, ways)), details)


@dataclass(frozen=True)
class _Counting:
    """Counts over dialogues and systems."""

    items: Sequence[Item]
    found: Sequence[Digression]
    within: int
    resamples: int

    @cached_property
    def systems(self) -> dict[str, set[str]]:
        """Each system's dialogues, by id."""
        return {name: {self.items[at].id for at in members} for name, members in by_system(self.items).items()}

    def rows(self, way: _Decided) -> list[Row]:
        """All numbers of one way of deciding."""
        top = f"back within {self.within}"
        rows = []
        for item in self.items:
            own = [one for one in self.found if one.item is item]
            rows.append(Row(item.id, top + way.suffix, self._share(own, way, self.within)))
        kinds = list(dict.fromkeys(one.said.kind for one in self.found))
        for system, ids in self.systems.items():
            own = [one for one in self.found if one.item.id in ids]
            rows += [
                Row(system, f"back within {k}{way.suffix}", self._share(own, way, k)) for k in range(1, self.within + 1)
            ]
            for kind in kinds if len(kinds) > 1 else ():
                part = [one for one in own if one.said.kind == kind]
                rows.append(Row(system, f"{top}: {kind}{way.suffix}", self._share(part, way, self.within)))
        return rows + self._between(way)

    def others(self) -> list[Row]:
        """How much the story is told before digressions, and how often an order was obeyed."""
        rows = []
        for system, ids in self.systems.items():
            own = [one for one in self.found if one.item.id in ids]
            before = [(one, _before(one)) for one in own]
            told = [(one, float(on)) for one, on in before if on is not None]
            rows.append(Row(system, "on the story before, by words", self._mean(told, "share of the turns before")))
            orders = [one for one in own if one.said.wanted]
            obeyed = [(one, float(any(says(turn.text, one.said.wanted) for turn in one.answers))) for one in orders]
            if orders:
                rows.append(Row(system, "orders obeyed", self._mean(obeyed, "share of the orders to say a word")))
        return rows

    def _share(self, own: Sequence[Digression], way: _Decided, within: int) -> Scored:
        """The share of digressions after which the dialogue is back within so many turns."""
        values = [(one, float(0 < back <= within)) for one in own if isinstance(back := way.back[one.key], int)]
        if not values:
            reasons = [back.reason for one in own if isinstance(back := way.back[one.key], Unscored)]
            return Unscored(max(reasons, key=reasons.count) if reasons else "there is no digression")
        lost = len(own) - len(values)
        told = f"share of the digressions, {way.method}" + (f", {lost} not scored" if lost else "")
        return self._mean(values, told)

    def _mean(self, values: Sequence[tuple[Digression, float]], told: str) -> Scored:
        """A mean of numbers from 0 to 1; drawn by narrative where there are several, else by dialogue."""
        numbers = [value for _, value in values]
        if len(set(numbers)) < _ALIKE:  # all or none: draws would say that this is certain
            return share(round(sum(numbers)), len(numbers), told.removeprefix("share of the "))
        prompts = [prompt_of(one.item) for one, _ in values]
        groups = prompts if len(set(prompts)) > 1 else [one.item.id for one, _ in values]
        if len(set(groups)) > 1:
            return bootstrap_mean(numbers, groups, resamples=self.resamples, method=told)
        return share(round(sum(numbers)), len(numbers), told.removeprefix("share of the "))

    def _between(self, way: _Decided) -> list[Row]:
        """The difference between every two systems, over the digressions that both had."""
        named = [name for name in self.systems if any(item.system for item in self.items)][:_MOST_SYSTEMS]
        scored = {name: self._keyed(way, self.systems[name]) for name in named}
        rows = []
        for one, other in combinations(named, 2):
            shared = [key for key in scored[one] if key in scored[other]]
            values = [scored[one][key] - scored[other][key] for key in shared]
            prompts = [key[0] for key in shared]
            groups = prompts if len(set(prompts)) > 1 else [key[:2] for key in shared]
            told = f"mean difference over {len(shared)} digressions that both had, {way.method}"
            difference = bootstrap_mean(values, groups, resamples=self.resamples, method=told)
            rows.append(Row(f"{one} - {other}", f"back within {self.within}{way.suffix}", difference))
        return rows

    def _keyed(self, way: _Decided, ids: set[str]) -> dict[tuple[str, int, int], float]:
        """Whether each digression of a system was over in time, by narrative, its dialogue, and number."""
        places: dict[str, list[str]] = {}
        for item in self.items:
            if item.id in ids:
                places.setdefault(prompt_of(item), []).append(item.id)
        found = {}
        for one in self.found:
            back = way.back[one.key]
            if one.item.id in ids and isinstance(back, int):
                prompt = prompt_of(one.item)
                found[prompt, places[prompt].index(one.item.id), one.number] = float(0 < back <= self.within)
        return found


def _before(one: Digression) -> bool | None:
    """Whether the character's last turn before a digression is on the story; `None` where there is none."""
    own = [turn.text for turn in one.before if turn.who != one.said.who]
    return one.passage.holds(own[-1], "", one.names) if own else None


def _agreement(judge: _Decided, words: _Decided, within: int) -> Row:
    """How often judge and words say the same of a digression."""
    both = [
        (0 < a <= within, 0 < b <= within)
        for key, a in judge.back.items()
        if isinstance(a, int) and isinstance(b := words.back[key], int)
    ]
    same = share(sum(a == b for a, b in both), len(both), "digressions on which judge and words agree")
    return Row("all", "judge and words agree", same)


def _tellers(found: Sequence[Digression], judged: Sequence[Judged], within: int) -> Iterable[Row]:
    """What trivial tellers reach by the same decision: near 1 and near 0, if the decision is any good."""
    for teller, name in TELLERS.items():
        verdicts = [one.back for one in judged if one.teller == teller]
        if judged:
            yield Row(name, f"back within {within}", _of(verdicts, within, "by a judge"), baseline=True)
        words = [back_by_words(one, teller) for one in found if one.turns]
        yield Row(name, f"back within {within}{WORDS}", _of(words, within, "by shared words"), baseline=True)


def _of(backs: Sequence[int | Unscored], within: int, method: str) -> Scored:
    there = [back for back in backs if isinstance(back, int)]
    return share(sum(0 < back <= within for back in there), len(there), f"digressions, {method}")


def _told(one: Digression, ways: Sequence[_Decided], within: int) -> dict[str, Any]:
    """A digression for JSON, with every turn after it."""
    told: dict[str, Any] = {
        "item": one.item.id,
        "number": one.number,
        "kind": one.said.kind,
        "before": [[line.who, line.text] for line in one.before],
        "said": [one.said.who, one.said.text],
        "after": [[line.who, line.text] for line in one.window],
        "place": one.passage.start + one.passage.place,
    }
    for way in ways:
        back = way.back[one.key]
        name = "back by words" if way.suffix else "back"
        told[name] = back.reason if isinstance(back, Unscored) else back if 0 < back <= within else 0
    if one.said.wanted:
        told["obeyed"] = any(says(turn.text, one.said.wanted) for turn in one.answers)
    return told


def _notes(items: Sequence[Item], ways: Sequence[_Decided]) -> Iterable[str]:
    marked = {item for way in ways for item, _ in way.back}
    bare = [item.id for item in items if item.id not in marked]
    if bare:
        yield f"{len(bare)} of {len(items)} dialogues have no digression marked: {', '.join(bare[:3])}."
    for way in ways:
        reasons = [back.reason for back in way.back.values() if isinstance(back, Unscored)]
        for reason in dict.fromkeys(reasons):
            yield f"{reasons.count(reason)} of {len(way.back)} digressions not scored {way.method}: {reason}."
    yield "A word that any story has may pass for the story: read the trivial tellers beside the shares."
