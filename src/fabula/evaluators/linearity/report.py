"""The report on the turns after each digression: shares of dialogues, systems and baselines, and differences."""

from __future__ import annotations

from dataclasses import dataclass
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
    from fabula.evaluators.linearity.passages import NarrativePassage
    from fabula.measure.items import Item
    from fabula.measure.ratings import Rating
    from fabula.stats.estimate import Scored

EVALUATOR: Final = "linearity"
CUT: Final = "the dialogue, or the next digression, came before the turns were over"
Key: TypeAlias = tuple[str, int]
Back: TypeAlias = int | Unscored
"""The number of the first turn that is back in the story, or 0 if no turn is back in time."""
Way: TypeAlias = Literal["judge", "words"]
Baseline: TypeAlias = Literal["", "deaf", "echo"]
BASELINES: Final[Mapping[Baseline, str]] = {
    "deaf": "a character that hears nothing",
    "echo": "an echo of the player",
}


@dataclass(frozen=True, slots=True)
class Digression:
    """A place in a dialogue where the player leaves the story.

    Attributes:
        item: the dialogue.
        number: its number in the dialogue, from 1.
        said: the player's words, with their kind.
        before: the two turns before it.
        window: the turns from then on, to the last turn that counts: at most `within` turns of characters, and no
            turn after the next digression.
        turns: indices in `window` of the characters' turns.
        cut: the dialogue or the window ended before `within` turns of characters.
        passage: the passage of the narrative that the dialogue had reached.
    """

    item: Item
    number: int
    said: Utterance
    before: tuple[Utterance, ...]
    window: tuple[Utterance, ...]
    turns: tuple[int, ...]
    cut: bool
    passage: NarrativePassage

    @property
    def key(self) -> Key:
        """The dialogue's id and the digression's number."""
        return self.item.id, self.number

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all speakers."""
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
class DigressionOutcome:
    """When a dialogue was back in the story after a digression, decided in one way.

    Attributes:
        way: how this was decided.
        who: the trivial character that replaced the dialogue's own; empty for the dialogue as it is.
        ratings: the judge's verdicts on its turns.
    """

    digression: Digression
    way: Way
    who: Baseline
    back: Back
    ratings: tuple[Rating, ...] = ()

    def within(self, turns: int) -> float | None:
        """1 if the dialogue was back within this many turns, 0 if not, and `None` if that was not decided."""
        return None if isinstance(self.back, Unscored) else float(0 < self.back <= turns)


# Ways of deciding: what they add to the names of their numbers, and how it is said that they decided.
_WAYS: Final[Mapping[Way, tuple[str, str]]] = {"judge": ("", "by a judge"), "words": (", by words", "by shared words")}


def report_of(
    items: Sequence[Item], found: Sequence[Digression], outcomes: Sequence[DigressionOutcome], how: Mapping[str, Any]
) -> Report:
    """The whole report."""
    within = how["within"]
    ways: dict[Way, dict[Key, DigressionOutcome]] = {}
    for one in outcomes:
        if not one.who:
            ways.setdefault(one.way, {})[one.digression.key] = one
    ways = {way: ways[way] for way in _WAYS if way in ways}
    systems = {name: {items[at].id for at in members} for name, members in by_system(items).items()}
    rows = [row for way, own in ways.items() for row in _rows(items, systems, way, list(own.values()), within)]
    for system, ids in systems.items():
        rows += _others(system, [one for one in found if one.item.id in ids])
    if len(ways) > 1:
        rows.append(_agreement(ways["judge"], ways["words"], within))
    for who, name in BASELINES.items():
        for way in ways:
            back = [(one, one.within(within)) for one in outcomes if (one.way, one.who) == (way, who)]
            values = [(one.digression.item.id, value) for one, value in back if value is not None]
            method = f"share of digressions, {_WAYS[way][1]}"
            reached: Scored = Unscored(f"there are no digressions, {_WAYS[way][1]}")
            if values:
                reached = share_among([value for _, value in values], [item for item, _ in values], method=method)
            rows.append(Row(name, f"back within {within}{_WAYS[way][0]}", reached, baseline=True))
    ratings = tuple(rating for one in outcomes for rating in one.ratings)
    details = {"digressions": [_digression_data(one, ways, within) for one in found]}
    return Report(EVALUATOR, how, tuple(rows), ratings, tuple(_notes(items, ways)), details)


def _rows(
    items: Sequence[Item], systems: Mapping[str, set[str]], way: Way, outcomes: Sequence[DigressionOutcome], within: int
) -> list[Row]:
    """All numbers of one way of deciding: of dialogues, of systems by turns and by kinds, and between systems."""
    suffix, top = _WAYS[way][0], f"back within {within}"
    rows = [
        Row(item.id, top + suffix, _share([one for one in outcomes if one.digression.item is item], within))
        for item in items
    ]
    kinds = list(dict.fromkeys(one.digression.said.kind for one in outcomes))
    for system, ids in systems.items():
        own = [one for one in outcomes if one.digression.item.id in ids]
        rows += [Row(system, f"back within {k}{suffix}", _share(own, k)) for k in range(1, within + 1)]
        for kind in kinds if len(kinds) > 1 else ():
            part = [one for one in own if one.digression.said.kind == kind]
            rows.append(Row(system, f"{top}: {kind}{suffix}", _share(part, within)))
    return rows + _between(items, systems, way, outcomes, within)


def _others(system: str, own: Sequence[Digression]) -> list[Row]:
    """How often dialogues are on the story before digressions, and how often an order was obeyed."""
    before = [(one, float(on)) for one in own if (on := _on_story_before(one)) is not None]
    rows = [Row(system, "on the story before, by words", _mean(before, "share of the turns before"))]
    obeyed = [(one, float(one.obeyed)) for one in own if one.said.wanted]
    if obeyed:
        rows.append(Row(system, "orders obeyed", _mean(obeyed, "share of the orders to say a word")))
    return rows


def _share(own: Sequence[DigressionOutcome], within: int) -> Scored:
    """The share of digressions after which the dialogue is back within this many turns."""
    values = [(one.digression, value) for one in own if (value := one.within(within)) is not None]
    if not values:
        reasons = [one.back.reason for one in own if isinstance(one.back, Unscored)]
        return Unscored(max(reasons, key=reasons.count) if reasons else "there is no digression")
    lost = len(own) - len(values)
    method = f"share of the digressions, {_WAYS[own[0].way][1]}" + (f", {lost} not scored" if lost else "")
    return _mean(values, method)


def _mean(values: Sequence[tuple[Digression, float]], method: str) -> Scored:
    """A mean of numbers from 0 to 1; by narrative where there are enough, else by dialogue, else each one alone."""
    prompts, dialogues = [prompt_of(one.item) for one, _ in values], [one.item.id for one, _ in values]
    return share_among([value for _, value in values], prompts, dialogues, method=method)


def _between(
    items: Sequence[Item], systems: Mapping[str, set[str]], way: Way, outcomes: Sequence[DigressionOutcome], within: int
) -> list[Row]:
    """The difference between every two systems, over the digressions that both had."""
    if not any(item.system for item in items) or not 1 < len(systems) <= MOST:
        return []
    scored = {name: _keyed(items, ids, outcomes, within) for name, ids in systems.items()}
    found: list[Found] = []
    for one, other in combinations(systems, 2):
        shared = [key for key in scored[one] if key in scored[other]]
        apart = np.array([scored[one][key] - scored[other][key] for key in shared])
        prompts = [key[0] for key in shared]
        groups = prompts if len(set(prompts)) >= FEWEST else [str(key[:2]) for key in shared]
        value = float(apart.mean()) if shared else 0.0
        found.append((one, other, value, len(shared), spread_of(apart, group_members(groups, len(shared)))))
    suffix, said = _WAYS[way]
    method = f"mean difference over the digressions that both had, {said}"
    return [Row(one.of, f"back within {within}{suffix}", one.scored) for one in corrected(found, method)]


def _keyed(
    items: Sequence[Item], ids: set[str], outcomes: Sequence[DigressionOutcome], within: int
) -> dict[tuple[str, int, int], float]:
    """Whether each digression of a system was over in time, by narrative, its dialogue, and number."""
    places: dict[str, list[str]] = {}
    for item in items:
        if item.id in ids:
            places.setdefault(prompt_of(item), []).append(item.id)
    found = {}
    for one in outcomes:
        item = one.digression.item
        if item.id in ids and (value := one.within(within)) is not None:
            prompt = prompt_of(item)
            found[prompt, places[prompt].index(item.id), one.digression.number] = value
    return found


def _on_story_before(one: Digression) -> bool | None:
    """Whether the character's last turn before a digression is on the story; `None` where there is none."""
    own = [turn.text for turn in one.before if turn.who != one.said.who]
    return one.passage.holds(own[-1], "", one.names) if own else None


def _agreement(judge: Mapping[Key, DigressionOutcome], words: Mapping[Key, DigressionOutcome], within: int) -> Row:
    """How often judge and words say the same of a digression."""
    both = [(key[0], one.within(within), words[key].within(within)) for key, one in judge.items()]
    alike = [(item, float(a == b)) for item, a, b in both if a is not None and b is not None]
    method = "share of digressions on which judge and words agree"
    same = share_among([value for _, value in alike], [item for item, _ in alike], method=method)
    return Row("all", "judge and words agree", same if alike else Unscored("no digression was decided in both ways"))


def _digression_data(
    one: Digression, ways: Mapping[Way, Mapping[Key, DigressionOutcome]], within: int
) -> dict[str, Any]:
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
    for way, own in ways.items():
        back = own[one.key].back
        name = "back by words" if way == "words" else "back"
        data[name] = back.reason if isinstance(back, Unscored) else back if 0 < back <= within else 0
    if one.said.wanted:
        data["obeyed"] = one.obeyed
    return data


def _notes(items: Sequence[Item], ways: Mapping[Way, Mapping[Key, DigressionOutcome]]) -> Iterable[str]:
    marked = {item for own in ways.values() for item, _ in own}
    bare = [item.id for item in items if item.id not in marked]
    if bare:
        yield f"{len(bare)} of {len(items)} dialogues have no marked digression: {', '.join(bare[:3])}."
    for way, own in ways.items():
        reasons = [one.back.reason for one in own.values() if isinstance(one.back, Unscored)]
        for reason in dict.fromkeys(reasons):
            yield f"{reasons.count(reason)} of {len(own)} digressions were not scored {_WAYS[way][1]}: {reason}."
    yield "Words of any story can count as a return. Compare the shares with those of the trivial characters."
