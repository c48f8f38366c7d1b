"""From the turns after each digression to shares: of dialogues, of systems, between systems, and of baselines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from fabula.craft.measuring import by_system, prompt_of
from fabula.engine.replies.turns import says
from fabula.measure.report import Report, Row
from fabula.stats.differences import MOST, Found, corrected
from fabula.stats.estimate import Unscored
from fabula.stats.intervals import FEWEST, group_members, share_among, spread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from fabula.craft.digressions import Utterance
    from fabula.evaluators.linearity.passages import Passage
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

EVALUATOR: Final = "linearity"
CUT: Final = "the dialogue, or the next digression, came before the turns were over"
Key: TypeAlias = tuple[str, int]
Back: TypeAlias = int | Unscored
"""The number of the first turn that is back in the story; 0 where none is in time."""
Baseline: TypeAlias = Literal["", "deaf", "echo"]
BASELINES: Final[Mapping[Baseline, str]] = {
    "deaf": "a character that hears nothing",
    "echo": "an echo of the player",
}


@dataclass(frozen=True, slots=True)
class Digression:
    """The player leaves the story.

    Attributes:
        item: the dialogue.
        number: in the dialogue, from 1.
        said: the player's words, with their kind.
        before: the two turns before it.
        window: what is said from then on, to the last turn that counts: `within` turns of characters at most, and
            none after the next digression.
        turns: indices in `window` of the characters' turns.
        cut: the dialogue or the window ended before `within` turns of characters.
        passage: of the narrative, where the dialogue was.
    """

    item: Item
    number: int
    said: Utterance
    before: tuple[Utterance, ...]
    window: tuple[Utterance, ...]
    turns: tuple[int, ...]
    cut: bool
    passage: Passage

    @property
    def key(self) -> Key:
        """The dialogue's id and the digression's number."""
        return self.item.id, self.number

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody who speaks in it."""
        return tuple(dict.fromkeys(one.who for one in (*self.before, self.said, *self.window)))

    @property
    def answers(self) -> tuple[Utterance, ...]:
        """The characters' turns in the window."""
        return tuple(self.window[turn] for turn in self.turns)

    @property
    def obeyed(self) -> bool:
        """Whether a character says the word that the digression demands."""
        return any(says(turn.text, self.said.wanted) for turn in self.answers)


@dataclass(frozen=True, slots=True)
class Outcome:
    """When a dialogue was back after a digression, in one way of deciding.

    Attributes:
        way: of deciding.
        who: a trivial character that took the place of the dialogue's own; empty for the dialogue as it is.
        ratings: the judge's verdicts on its turns.
    """

    digression: Digression
    way: Literal["words", "judge"]
    who: Baseline
    back: Back
    ratings: tuple[Rating, ...] = ()


@dataclass(frozen=True)
class _Decided:
    """When each digression was over, by one way of deciding.

    Attributes:
        suffix: of the names of its numbers.
        method: how it was decided.
        back: of the dialogues as they are.
        baselines: of trivial characters, by row name, each with its dialogue.
    """

    suffix: str
    method: str
    back: Mapping[Key, Back]
    baselines: Mapping[str, Sequence[tuple[str, Back]]]


def report_of(
    items: Sequence[Item], found: Sequence[Digression], outcomes: Sequence[Outcome], how: Mapping[str, Any]
) -> Report:
    """Everything the evaluator says."""
    ways = [
        _Decided(
            suffix,
            method,
            {one.digression.key: one.back for one in own if not one.who},
            {
                name: [(one.digression.item.id, one.back) for one in own if one.who == who]
                for who, name in BASELINES.items()
            },
        )
        for way, suffix, method in (("judge", "", "by a judge"), ("words", ", by words", "by shared words"))
        if (own := [one for one in outcomes if one.way == way])
    ]
    count = _Counting(items, found, how["within"])
    rows = [row for way in ways for row in count.rows(way)]
    rows += count.others()
    if len(ways) > 1:
        rows.append(_agreement(ways[0], ways[1], how["within"]))
    for name in BASELINES.values():
        for way in ways:
            reached = _of(way.baselines[name], how["within"], way.method)
            rows.append(Row(name, f"back within {how['within']}{way.suffix}", reached, baseline=True))
    ratings = tuple(rating for one in outcomes for rating in one.ratings)
    details = {"digressions": [_digression_data(one, ways, how["within"]) for one in found]}
    return Report(EVALUATOR, how, tuple(rows), ratings, tuple(_notes(items, ways)), details)


@dataclass(frozen=True)
class _Counting:
    """Counts over dialogues and systems."""

    items: Sequence[Item]
    found: Sequence[Digression]
    within: int

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
        """How often dialogues are on the story before digressions, and how often an order was obeyed."""
        rows = []
        for system, ids in self.systems.items():
            own = [one for one in self.found if one.item.id in ids]
            before = [(one, float(on)) for one in own if (on := _on_story_before(one)) is not None]
            rows.append(Row(system, "on the story before, by words", self._mean(before, "share of the turns before")))
            obeyed = [(one, float(one.obeyed)) for one in own if one.said.wanted]
            if obeyed:
                rows.append(Row(system, "orders obeyed", self._mean(obeyed, "share of the orders to say a word")))
        return rows

    def _share(self, own: Sequence[Digression], way: _Decided, within: int) -> Scored:
        """The share of digressions after which the dialogue is back within so many turns."""
        values = [(one, float(0 < back <= within)) for one in own if isinstance(back := way.back[one.key], int)]
        if not values:
            reasons = [back.reason for one in own if isinstance(back := way.back[one.key], Unscored)]
            return Unscored(max(reasons, key=reasons.count) if reasons else "there is no digression")
        lost = len(own) - len(values)
        return self._mean(values, f"share of the digressions, {way.method}" + (f", {lost} not scored" if lost else ""))

    def _mean(self, values: Sequence[tuple[Digression, float]], method: str) -> Scored:
        """A mean of numbers from 0 to 1; by narrative where there are enough, else by dialogue, else each one alone."""
        numbers = [value for _, value in values]
        prompts = [prompt_of(one.item) for one, _ in values]
        dialogues = [one.item.id for one, _ in values]
        return share_among(numbers, prompts, dialogues, method=method)

    def _between(self, way: _Decided) -> list[Row]:
        """The difference between every two systems, over the digressions that both had."""
        named = [name for name in self.systems if any(item.system for item in self.items)]
        if not 1 < len(named) <= MOST:
            return []
        scored = {name: self._keyed(way, self.systems[name]) for name in named}
        found: list[Found] = []
        for one, other in combinations(named, 2):
            shared = [key for key in scored[one] if key in scored[other]]
            apart = np.array([scored[one][key] - scored[other][key] for key in shared])
            prompts = [key[0] for key in shared]
            groups = prompts if len(set(prompts)) >= FEWEST else [str(key[:2]) for key in shared]
            value = float(apart.mean()) if shared else 0.0
            found.append((one, other, value, len(shared), spread_of(apart, group_members(groups, len(shared)))))
        method = f"mean difference over the digressions that both had, {way.method}"
        what = f"back within {self.within}{way.suffix}"
        return [Row(one.of, what, one.scored) for one in corrected(found, method)]

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


def _on_story_before(one: Digression) -> bool | None:
    """Whether the character's last turn before a digression is on the story; `None` where there is none."""
    own = [turn.text for turn in one.before if turn.who != one.said.who]
    return one.passage.holds(own[-1], "", one.names) if own else None


def _agreement(judge: _Decided, words: _Decided, within: int) -> Row:
    """How often judge and words say the same of a digression."""
    both = {
        key: (0 < a <= within) == (0 < b <= within)
        for key, a in judge.back.items()
        if isinstance(a, int) and isinstance(b := words.back[key], int)
    }
    method = "share of digressions on which judge and words agree"
    same = share_among([float(alike) for alike in both.values()], [item for item, _ in both], method=method)
    return Row("all", "judge and words agree", same if both else Unscored("no digression was decided in both ways"))


def _of(backs: Sequence[tuple[str, Back]], within: int, method: str) -> Scored:
    there = [(item, float(0 < back <= within)) for item, back in backs if isinstance(back, int)]
    if not there:
        return Unscored(f"there are no digressions, {method}")
    return share_among(
        [back for _, back in there], [item for item, _ in there], method=f"share of digressions, {method}"
    )


def _digression_data(one: Digression, ways: Sequence[_Decided], within: int) -> dict[str, Any]:
    """A digression for JSON, with every turn after it."""
    data: dict[str, Any] = {
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
        data[name] = back.reason if isinstance(back, Unscored) else back if 0 < back <= within else 0
    if one.said.wanted:
        data["obeyed"] = one.obeyed
    return data


def _notes(items: Sequence[Item], ways: Sequence[_Decided]) -> Iterable[str]:
    marked = {item for way in ways for item, _ in way.back}
    bare = [item.id for item in items if item.id not in marked]
    if bare:
        yield f"{len(bare)} of {len(items)} dialogues have no digression marked: {', '.join(bare[:3])}."
    for way in ways:
        reasons = [back.reason for back in way.back.values() if isinstance(back, Unscored)]
        for reason in dict.fromkeys(reasons):
            yield f"{reasons.count(reason)} of {len(way.back)} digressions not scored {way.method}: {reason}."
    yield "A word that any story has may pass for the story: read the trivial characters beside the shares."
