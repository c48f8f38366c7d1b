"""`ratings.jsonl`: verdicts by people, models and programs, all in one format.

Each line is one JSON object. `shown` is the answer as the rater gave it, and `answer` is its meaning. There are three
kinds:

- a choice between two stories: two items in the order shown, and the id of the better one or "same";
- a score or a finding: one item, and a number or a word;
- a label of a story next to its reference: two items in the order shown (the reference's id begins with `reference:`),
  and a number that is above 0 if the story is better than the reference.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import read_text
from fabula.base.invalid import fault_of, sentence

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import TypeAdapter

RaterKind: TypeAlias = Literal["person", "model", "program"]
SAME: Final = "same"
MAX_RATINGS_BYTES: Final = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """A rater's verdict on a question.

    Attributes:
        rater: the name of a person or program, or the identity of a model.
        kind: the kind of rater.
        items: the ids of the judged stories, in the order in which they were shown.
        systems: the systems that wrote them, in the same order; empty if unknown.
        prompt: the id of the stories' brief; intervals are computed by brief.
        question: the name of the question, for example "plot" or "originality/theme".
        shown: the answer as the rater gave it, for example "A", "4" or "yes".
        answer: the meaning of the answer: the id of the better item or "same", a number, or a label. `None` if there is
            no answer.
        unscored: the reason why there is no answer.
        reason: the rater's explanation.
        rubric: the version of the questions.
        evaluator: the evaluator that asked, if any.
        call: the path of the call that led to the rating, in the journal next to the file.
        started: the start time in ISO 8601; empty if unknown.
        ended: the end time in ISO 8601; empty if unknown.
        amends: `ended` of the rater's earlier verdict on the same question, if this verdict replaces one.
        flags: additional remarks by the rater, for example "both poor".
    """

    rater: str
    kind: RaterKind
    items: tuple[str, ...]
    question: str
    answer: str | float | None
    shown: str = ""
    systems: tuple[str, ...] = ()
    prompt: str = ""
    unscored: str = ""
    reason: str = ""
    rubric: str = ""
    evaluator: str = ""
    call: str = ""
    started: str = ""
    ended: str = ""
    amends: str = ""
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.answer is None) != bool(self.unscored):
            raise ValueError("A rating needs an answer, or a reason in `unscored` if there is no answer.")
        if isinstance(self.answer, float | int) and not abs(self.answer) < float("inf"):
            raise ValueError(f"A rating's number must be finite, not {self.answer}.")
        if len(set(self.items)) < len(self.items):
            raise ValueError(f"A rating must compare different stories, but this one contains {self.items[0]!r} twice.")
        if self.systems and len(self.systems) != len(self.items):
            raise ValueError(
                f"There are {len(self.items)} items and {len(self.systems)} systems. Specify one system for each item."
            )


@cache
def _reader() -> TypeAdapter[Rating]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - keeps `fabula --help` fast

    return TypeAdapter(Rating)


_DEFAULTS: Final = {field.name: field.default for field in fields(Rating)}


def write_line(rating: Rating) -> str:
    """The rating as one line of JSON without a line end; fields with default values are left out."""
    data = {name: value for name, value in asdict(rating).items() if value != _DEFAULTS[name] or name == "answer"}
    return json.dumps(data, ensure_ascii=False)


def write_ratings(ratings: Iterable[Rating]) -> str:
    """The text of a ratings file with these ratings."""
    return "".join(write_line(rating) + "\n" for rating in ratings)


def parse_ratings(text: str, name: str = "ratings") -> tuple[Rating, ...]:
    """The ratings in the text of a file, without verdicts that a later verdict amends; blank lines are skipped.

    If two verdicts from the same call on the same question differ, both are kept.

    Raises:
        UsageError: a line is not a rating, or two lines are the same verdict; the message names the file and line.
    """
    from pydantic import ValidationError  # noqa: PLC0415 - keeps `fabula --help` fast

    found: dict[tuple[Any, ...], int] = {}
    ratings: dict[tuple[Any, ...], Rating] = {}
    ended: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rating = _reader().validate_json(line)
        except ValidationError as error:
            said = sentence(fault_of(error, Rating))
            raise UsageError(f"{name}, line {number}: {said} Correct the line or remove it.") from error
        place = (rating.rater, rating.items, rating.question, rating.evaluator)
        if rating.amends and (before := ended.pop((*place, rating.amends), None)) is not None:
            del ratings[before], found[before]
        key: tuple[Any, ...] = (*place, rating.call, rating.started)
        if key in found and rating.call:  # older checks gave two suspicions in the same two sentences one name
            if rating == ratings[key]:
                continue
            key = (*key, number)
        if key in found:
            raise UsageError(
                f"{name}, line {number}: line {found[key]} already contains this verdict. Remove one of them."
            )
        found[key] = number
        ratings[key] = rating
        ended[*place, rating.ended] = key
    return tuple(ratings.values())


def read_ratings(path: Path) -> tuple[Rating, ...]:
    """The ratings in a file.

    Raises:
        UsageError: the file cannot be read, or a line is not a rating.
    """
    return parse_ratings(read_text(path, MAX_RATINGS_BYTES, kind="a file of ratings (JSONL)"), str(path))
