"""Pairs from MAGNET's candidates (section 4.1): two actions of a character, and a judge who saw them in both orders.

Everything stands in the project's record, so that the pairs come of it at no cost. The replies are taken as they were
given, under the one prompt that both answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from fabula.base.characters import readable
from fabula.engine.journal import Call, CallFilter, Journal
from fabula.engine.replies import ReplyProblem, read_choice
from fabula.models.base import Message
from fabula.systems.magnet.algorithm import COMPARED, SECOND, SIDES
from fabula.training.examples import PreferencePair
from fabula.training.pairs import SAME, FoundPairs, agents_of, named, same_words

if TYPE_CHECKING:
    from fabula.engine.journal.calls import Speaker
    from fabula.project.folder import ProjectFolder


CRITERIA: Final = ("grounded", "in character", "less repetitive", "fits the scene")
UNJUDGED: Final = "no judge has compared the two in both orders"
DISAGREED: Final = "the judge said otherwise in the other order"
AGAIN: Final = "a reply was asked for again, or shortened, before the judge saw it"
_ACT, _SECOND, _VERDICT = "act", "/".join(map(str, SECOND)), "compare"


def candidate_pairs(project: ProjectFolder, name: str) -> FoundPairs:
    """The pairs of candidates that a judge of a project decided on; `name` is what the project is called in them.

    Raises:
        JournalDamagedError: the journal cannot be read.
        JournalVersionError: a newer fabula wrote it.
    """
    with project.journal as journal:
        agent_of = agents_of(journal.runs())
        found = [_pair(journal, two, readable(name), agent_of) for two in _judged(journal)]
    made = [one for one in found if one is not None]
    return FoundPairs(
        tuple(m for m in made if isinstance(m, PreferencePair)),
        tuple(m for m in made if not isinstance(m, PreferencePair)),
    )


@dataclass
class _Two:
    """Two candidates at a place, and the verdicts on them, by the order in which they were shown."""

    place: str
    first: Call | None = None
    second: Call | None = None
    verdicts: dict[int, Call] = field(default_factory=dict)


def _judged(journal: Journal) -> Iterator[_Two]:
    """The candidates of a project, in the order in which they were drafted; those of a retake by themselves."""
    now: dict[str, _Two] = {}
    for reply in journal.calls.find():
        place, _, prompt = reply.path.rpartition("/")
        if prompt == _VERDICT:
            place, _, order = place.rpartition(f"/{COMPARED}/")
            if place in now and order in ("1", "2"):
                now[place].verdicts[int(order)] = reply
        elif prompt == _ACT:
            is_second = place.endswith(f"/{_SECOND}")
            place = place.removesuffix(f"/{_SECOND}")
            if place in now and now[place].verdicts:
                yield now.pop(place)
            two = now.setdefault(place, _Two(place))
            if is_second:
                two.second = reply
            else:
                two.first = reply
    yield from now.values()


def _pair(
    journal: Journal, two: _Two, name: str, agent_of: Callable[[str], str]
) -> PreferencePair | Mapping[str, Any] | None:
    """The pair of two candidates, or why there is none."""
    if two.first is None or two.second is None:
        return None
    source: dict[str, Any] = {"project": name, "path": readable(two.place), "at": two.second.at}
    messages = _prompt(journal, two.first)
    if reason := _objection(journal, two):
        return {**source, "kind": "candidates", "reason": reason}
    picked = _picked(two)
    if picked is None:
        return {**source, "kind": "candidates", "reason": DISAGREED}
    chosen, rejected = (two.first, two.second) if picked == 1 else (two.second, two.first)
    step = two.place.split("/")
    group = "/".join(step[: step.index("step") + 2]) if "step" in step else two.place
    source |= {
        "judge": named(two.verdicts[1].performer),
        "by": named(chosen.performer),
        "criteria": list(CRITERIA),
        "orders": 2,
    }
    return PreferencePair(
        id=f"{name}/{readable(two.place)}/{two.first.id}-{two.second.id}",
        agent=agent_of(two.first.role),
        group=f"{name}/{readable(group)}",
        messages=tuple(Message(who, readable(text)) for who, text in messages),
        chosen=readable(chosen.text),
        rejected=readable(rejected.text),
        kind="candidates",
        source=source,
    )


def _objection(journal: Journal, two: _Two) -> str:
    """Why two candidates are no pair, whatever the judge says; empty if they may be one."""
    assert two.first is not None  # noqa: S101 - `_pair` says so
    assert two.second is not None  # noqa: S101 - `_pair` says so
    if same_words(two.first.text, two.second.text):
        return SAME
    if set(two.verdicts) != {1, 2}:
        return UNJUDGED
    shown = "\n".join(text for _, text in _prompt(journal, two.verdicts[1]))
    if _prompt(journal, two.first) != _prompt(journal, two.second):
        return AGAIN
    return "" if all(_action(one) in shown for one in (two.first, two.second)) else AGAIN


def _prompt(journal: Journal, call: Call) -> Sequence[tuple[Speaker, str]]:
    """The messages that a call was asked with."""
    return journal.calls.find(CallFilter(number=call.id), prompts=True)[0].messages


def _action(reply: Call) -> str:
    """The action in a reply, as the judge was shown it."""
    text = reply.text
    if not reply.free or text.lstrip().startswith("{"):
        try:
            text = str(json.loads(text)["action"])
        except (ValueError, TypeError, KeyError):
            return text
    return " ".join(text.split())


def _picked(two: _Two) -> int | None:
    """Which candidate the judge took in both orders; `None` where it took one in each."""
    said = []
    for order in (1, 2):
        try:
            side = SIDES.index(read_choice(two.verdicts[order].text, options=SIDES))
        except ReplyProblem:
            return None
        said.append(side + 1 if order == 1 else 2 - side)
    return said[0] if said[0] == said[1] else None
