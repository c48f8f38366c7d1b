"""The form that people fill in (Tables 29 and 30), as ratings beside those of a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base import yamltext
from fabula.base.errors import UsageError
from fabula.base.yamltext import Items, Pairs, Text
from fabula.evaluators.snap_ratings.criteria import CRITERIA, HIGH, LOW
from fabula.measure.ratings import SAME, Rating

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fabula.base.yamltext import Node

SIDES: Final = ("A", "B")
PREFERENCE: Final = "overall"
_NOT_ANSWERED: Final = "not answered"


@dataclass(frozen=True, slots=True)
class Shown:
    """Who stood behind a letter of the form: the id of the dialogue, and its system."""

    item: str
    system: str = ""


def survey_ratings(text: str, shown: tuple[Shown, Shown], prompt: str, where: str = "form") -> tuple[Rating, ...]:
    """What a person answered: four ratings of each dialogue, and which was liked better; empty answers say so.

    Args:
        text: a copy of `examples/forms/snap-survey.yaml` with its `answers` filled in.
        shown: who A was, and who B was.
        prompt: id of the story that both played.
        where: the form's name, for messages.

    Raises:
        UsageError: it is no such form, nobody signed it, or an answer is none; names the answer.
    """
    data = _data(text, where)
    answers = data.get("answers")
    if not isinstance(answers, dict):
        raise UsageError(f"{where} has no `answers`. Fill in a copy of the form.")
    rater = _answer(answers, "rater", where)
    if not rater:
        raise UsageError(f"{where}: `rater` is empty. Write a name or a number that tells people apart.")
    ratings = [
        _rating(rater, Rated((one,), prompt, criterion.name), _number(answers, side, criterion.name, where), data)
        for side, one in zip(SIDES, shown, strict=True)
        for criterion in CRITERIA
    ]
    liked = _answer(answers, "preferred", where)
    known = {"": None, "a": shown[0].item, "b": shown[1].item, SAME: SAME}
    if liked.casefold() not in known:
        raise UsageError(f"{where}: `preferred` is {liked!r}. Write A, B or same, or leave it empty.")
    found = (liked, known[liked.casefold()])
    told = _rating(rater, Rated(shown, prompt, PREFERENCE), found, data, _answer(answers, "why", where))
    return (*ratings, told)


@dataclass(frozen=True, slots=True)
class Rated:
    """What one answer of the form is about."""

    shown: tuple[Shown, ...]
    prompt: str
    question: str


def _rating(
    rater: str, rated: Rated, said: tuple[str, str | float | None], data: Mapping[str, Any], why: str = ""
) -> Rating:
    systems = tuple(one.system for one in rated.shown)
    return Rating(
        rater=rater,
        kind="person",
        items=tuple(one.item for one in rated.shown),
        systems=systems if all(systems) else (),
        prompt=rated.prompt,
        question=rated.question,
        shown=said[0],
        answer=said[1],
        unscored="" if said[1] is not None else _NOT_ANSWERED,
        reason=why,
        rubric=_answer(data, "rubric", "form"),
    )


def _number(answers: Mapping[str, Any], side: str, question: str, where: str) -> tuple[str, float | None]:
    given = answers.get(side)
    said = _answer(given, question, where) if isinstance(given, dict) else ""
    if not said:
        return "", None
    if not (said.isascii() and said.isdigit() and LOW <= int(said[:3]) <= HIGH):
        raise UsageError(f"{where}: {side}, {question}: {said!r} is no whole number from {LOW} to {HIGH}. Mend it.")
    return said, float(said)


def _answer(answers: Mapping[str, Any], name: str, where: str) -> str:
    said = answers.get(name, "")
    if not isinstance(said, str):
        raise UsageError(f"{where}: `{name}` is no text. Write one line.")
    return said.strip()


def _data(text: str, where: str) -> Mapping[str, Any]:
    try:
        node, refused = yamltext.read(text)
    except yamltext.YamlError as error:
        raise UsageError(f"{where}, line {error.line}: {error}") from error
    if refused:
        raise UsageError(f"{where}, line {refused[0][0]}: {refused[0][1]}")
    data = _plain(node)
    if not isinstance(data, dict):
        raise UsageError(f"{where} is no form. Fill in a copy of examples/forms/snap-survey.yaml.")
    return data


def _plain(node: Node | None) -> object:
    if isinstance(node, Pairs):
        return {key.value: _plain(value) for key, value in node.pairs}
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Text) else ""
