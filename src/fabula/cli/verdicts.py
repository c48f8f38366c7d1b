"""From ratings files to verdicts that can be compared: which questions, which raters, what was left out."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UnknownNameError, UsageError
from fabula.measure.ratings import SAME
from fabula.stats.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.measure.ratings import Rating

ALL: Final = "all questions"
_YES: Final = {"yes": 1.0, "true": 1.0, "pass": 1.0, "no": 0.0, "false": 0.0, "fail": 0.0}
_REFERENCE: Final = "reference:"
_PAIR: Final = 2


@dataclass(frozen=True)
class Side:
    """One ratings file, read: verdicts by question.

    Attributes:
        name: of the file, for messages.
        unscored: ratings without an answer.
        unreadable: answers that are no number, no yes or no, and none of the stories shown.
    """

    name: str
    questions: dict[str, list[Verdict]] = field(default_factory=lambda: defaultdict(list))
    unscored: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)

    @property
    def raters(self) -> list[str]:
        """Everybody whose verdicts are there."""
        return sorted({verdict.rater for verdicts in self.questions.values() for verdict in verdicts})

    @property
    def stories(self) -> set[str]:
        """The stories on which there are verdicts."""
        return {item for verdicts in self.questions.values() for verdict in verdicts for item in verdict.items}

    def notes(self) -> list[str]:
        """What was left out of the comparison."""
        found = [f"{self.name}: {self.unscored} ratings have no answer and are left out."] if self.unscored else []
        if self.unreadable:
            shown = ", ".join(f"{answer!r} ({count})" for answer, count in self.unreadable.most_common(3))
            found.append(f"{self.name}: answers that are no score and no choice are left out: {shown}.")
        return found


def side_of(ratings: Sequence[Rating], name: str) -> Side:
    """The verdicts in a file's ratings. A score is a number, or yes (1) and no (0)."""
    questions: dict[str, list[Verdict]] = defaultdict(list)
    unscored, unreadable = 0, Counter[str]()
    for rating in ratings:
        if rating.answer is None:
            unscored += 1
        elif (verdict := _verdict(rating)) is None:
            unreadable[str(rating.answer)] += 1
        else:
            questions[rating.question].append(verdict)
    return Side(name, questions, unscored, unreadable)


def _verdict(rating: Rating) -> Verdict | None:
    """A rating as a verdict; one of a story beside its reference is a score of the story."""
    answer, items, systems = rating.answer, rating.items, rating.systems
    if len(items) == _PAIR and isinstance(answer, str):
        choices = {items[0]: 1.0, items[1]: 0.0, SAME: 0.5}
        if answer not in choices:
            return None
        return Verdict(rating.rater, items, choices[answer], systems, rating.prompt)
    own = [place for place, item in enumerate(items) if not item.startswith(_REFERENCE)]
    value = _YES.get(answer.strip().casefold()) if isinstance(answer, str) else answer
    if value is None or len(own) != 1:
        return None
    system = (systems[own[0]],) if systems else ()
    return Verdict(rating.rater, (items[own[0]],), float(value), system, rating.prompt)


def common_questions(judge: Side, human: Side, wanted: str = "") -> dict[str, tuple[list[Verdict], list[Verdict]]]:
    """The questions that both sides answered, with their verdicts; several are taken together too, as `ALL`.

    Raises:
        UnknownNameError: a question is wanted that one side did not answer.
        UsageError: there is no common question, or no common story.
    """
    common = [name for name in judge.questions if name in human.questions]
    if wanted and wanted not in common:
        raise UnknownNameError("common question", wanted, common)
    if not common:
        asked = (", ".join(sorted(side.questions)) or "nothing" for side in (judge, human))
        mine, theirs = asked
        raise UsageError(
            f"{judge.name} and {human.name} answer no common question: {mine} in the one, {theirs} in the other. "
            "Use one name for one question."
        )
    if not judge.stories & human.stories:
        raise UsageError(
            f"{judge.name} and {human.name} have no story in common: {_some(judge)} in the one, {_some(human)} in the "
            "other. Use one id for one story."
        )
    found = {name: (judge.questions[name], human.questions[name]) for name in ([wanted] if wanted else common)}
    found = {name: both for name, both in found.items() if _stories(both[0]) & _stories(both[1])}
    if len(found) > 1:
        found[ALL] = ([v for mine, _ in found.values() for v in mine], [v for _, them in found.values() for v in them])
    return found


def _stories(verdicts: Sequence[Verdict]) -> set[str]:
    return {item for verdict in verdicts for item in verdict.items}


def _some(side: Side) -> str:
    return ", ".join(repr(item) for item in sorted(side.stories)[:3]) or "none"
