"""`ratings.jsonl`: single verdicts in one format, whoever gave them: a person, a model or a program.

One JSON object a line. `shown` is the answer as it was given, `answer` what it means. There are three kinds:

- a choice between two stories: two items in the order shown, and the id of the better one or "same";
- a score or a finding: one item, and a number or a word;
- a label of a story beside its reference: two items in the order shown, of which the reference's id begins with
  `reference:`, and a number from the story's side, above 0 where the story is better.
"""

from __future__ import annotations

import json
from collections.abc import Iterable  # noqa: TC003 - pydantic reads the annotations
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from fabula.base.errors import UsageError
from fabula.base.files import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from pydantic import TypeAdapter

RaterKind: TypeAlias = Literal["person", "model", "program"]
SAME: Final = "same"
MAX_RATINGS_BYTES: Final = 200_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rating:
    """One verdict of one rater on one question.

    Attributes:
        rater: who: a person's name, a model's identity, a program's name.
        kind: of rater.
        items: ids of the stories judged, in the order in which they were shown.
        systems: who wrote them, in the same order; empty where not known.
        prompt: id of the brief they answer: what intervals are by.
        question: what was asked, for instance "plot" or "originality/theme".
        shown: the answer as it was given: "A", "4", "yes".
        answer: what it means: the id of the better item or "same"; a number; a label. `None` where there is none.
        unscored: why there is no answer.
        reason: what the rater wrote to explain it.
        rubric: version of the questions.
        evaluator: which evaluator asked, if one did.
        call: path of the call behind it, in the journal beside the file.
        started: when, ISO 8601; empty where not known.
        ended: the same, of its end.
        amends: `ended` of the rater's earlier verdict on the same question, which this one takes the place of.
        flags: what was said beside the answer, for instance "both poor".
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
            raise ValueError("A rating has an answer, or `unscored` says why it has none.")
        if isinstance(self.answer, float | int) and not abs(self.answer) < float("inf"):
            raise ValueError(f"A rating's number is finite, not {self.answer}.")
        if len(set(self.items)) < len(self.items):
            raise ValueError(f"A rating compares different stories; {self.items[0]!r} stands there twice.")
        if self.systems and len(self.systems) != len(self.items):
            raise ValueError(f"{len(self.items)} items have {len(self.systems)} systems; name one for each.")


@cache
def _reader() -> TypeAdapter[Rating]:
    from pydantic import TypeAdapter  # noqa: PLC0415 - keeps `fabula --help` fast

    return TypeAdapter(Rating)


_DEFAULTS: Final = {field.name: field.default for field in fields(Rating)}


def write_line(rating: Rating) -> str:
    """The rating as one line of JSON, without its end; fields at their default are left out."""
    data = {name: value for name, value in asdict(rating).items() if value != _DEFAULTS[name] or name == "answer"}
    return json.dumps(data, ensure_ascii=False)


def write_ratings(ratings: Iterable[Rating]) -> str:
    """The text of a ratings file."""
    return "".join(write_line(rating) + "\n" for rating in ratings)


def parse_ratings(text: str, name: str = "ratings") -> tuple[Rating, ...]:
    """The ratings of a file's text; blank lines are skipped, and so are verdicts that a later one amends.

    Two verdicts of one call on one question are both kept where they differ.

    Raises:
        UsageError: a line is no rating (names file and line), or two lines are the same verdict.
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
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = f"{where}: {first['msg']}" if where else first["msg"]
            reason = reason.removeprefix("Value error, ").rstrip(".")
            raise UsageError(f"{name}, line {number}: {reason}. Correct the line or take it out.") from error
        place = (rating.rater, rating.items, rating.question, rating.evaluator)
        if rating.amends and (before := ended.pop((*place, rating.amends), None)) is not None:
            del ratings[before], found[before]
        key: tuple[Any, ...] = (*place, rating.call, rating.started)
        if key in found and rating.call:  # older checks gave two suspicions in the same two sentences one name
            if rating == ratings[key]:
                continue
            key = (*key, number)
        if key in found:
            raise UsageError(f"{name}, line {number}: the same verdict stands in line {found[key]}. Take one out.")
        found[key] = number
        ratings[key] = rating
        ended[*place, rating.ended] = key
    return tuple(ratings.values())


def read_ratings(path: Path) -> tuple[Rating, ...]:
    """The ratings in a file.

    Raises:
        UsageError: it cannot be read, or a line is no rating.
    """
    return parse_ratings(read_text(path, MAX_RATINGS_BYTES), str(path))
