"""The form that people fill in (Tables 29 and 30), as ratings beside those of a judge."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base import yamltext
from fabula.base.errors import UsageError
from fabula.base.yamltext import Items, Pairs, Text
from fabula.evaluators.snap_ratings.criteria import CRITERIA, HIGH, LOW
from fabula.measure.ratings import SAME, Rating

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.base.yamltext import Node

FORM: Final = Path(__file__).with_name("survey.yaml")
SIDES: Final = ("A", "B")
PREFERENCE: Final = "overall"
_STORY: Final = 'story: ""\n'
_ROLES: Final = 'roles: "You play one of the people in the story, and talk with another."\n'
_NOT_ANSWERED: Final = "not answered"


@dataclass(frozen=True, slots=True)
class Shown:
    """Who stood behind a letter of the form: the id of the dialogue, and its system."""

    item: str
    system: str = ""


def survey_form(story: str, player: str, partner: str) -> str:
    """The form to be filled in, for a story and the two who talk in it (Table 29)."""
    quoted = json.dumps(f"You play {player} in the story, and talk with {partner}.", ensure_ascii=False)
    told = "".join(f"  {line}\n" if line.strip() else "\n" for line in story.strip().splitlines())
    form = FORM.read_text(encoding="utf-8").replace(_STORY, f"story: |-\n{told}")
    return form.replace(_ROLES, f"roles: {quoted}\n")


def survey_ratings(text: str, shown: tuple[Shown, Shown], prompt: str, where: str = "form") -> tuple[Rating, ...]:
    """What a person answered: four ratings of each dialogue, and which was liked better; empty answers say so.

    Args:
        text: of a form (`survey_form`) with its `answers` filled in.
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
    if "signature" in answers and not _answer(answers, "signature", where):
        raise UsageError(f"{where}: `signature` is empty. Only answers that somebody stands for are counted.")
    ratings = []
    for side, one in zip(SIDES, shown, strict=True):
        for criterion in CRITERIA:
            written, value = _number(answers, side, criterion.name, where)
            ratings.append(_rating(data, rater, [one], prompt, criterion.name, written, value))
    liked = _answer(answers, "preferred", where)
    known = {"": None, "a": shown[0].item, "b": shown[1].item, SAME: SAME}
    if liked.casefold() not in known:
        raise UsageError(f"{where}: `preferred` is {liked!r}. Write A, B or same, or leave it empty.")
    preferred = _rating(data, rater, shown, prompt, PREFERENCE, liked, known[liked.casefold()])
    reasons = filter(None, (_answer(answers, name, where) for name in ("why", "feedback")))
    return (*ratings, replace(preferred, reason=" ".join(reasons)))


def _rating(
    data: Mapping[str, Any],
    rater: str,
    shown: Sequence[Shown],
    prompt: str,
    question: str,
    written: str,
    answer: str | float | None,
) -> Rating:
    systems = tuple(one.system for one in shown)
    return Rating(
        rater=rater,
        kind="person",
        items=tuple(one.item for one in shown),
        systems=systems if all(systems) else (),
        prompt=prompt,
        question=question,
        shown=written,
        answer=answer,
        unscored="" if answer is not None else _NOT_ANSWERED,
        rubric=_answer(data, "rubric", "form"),
    )


def _number(answers: Mapping[str, Any], side: str, question: str, where: str) -> tuple[str, float | None]:
    """What was written, and the number that it is; `None` for an empty answer."""
    given = answers.get(side)
    written = _answer(given, question, where) if isinstance(given, dict) else ""
    if not written:
        return "", None
    if written not in map(str, range(LOW, HIGH + 1)):
        raise UsageError(
            f"{where}: {side}, {question}: {written!r} is no whole number from {LOW} to {HIGH}. Correct it."
        )
    return written, float(written)


def _answer(answers: Mapping[str, Any], name: str, where: str) -> str:
    text = answers.get(name, "")
    if not isinstance(text, str):
        raise UsageError(f"{where}: `{name}` is no text. Write one line.")
    return text.strip()


def _data(text: str, where: str) -> Mapping[str, Any]:
    try:
        node, refused = yamltext.read(text)
    except yamltext.YamlError as error:
        raise UsageError(f"{where}, line {error.line}: {error}") from error
    if refused:
        raise UsageError(f"{where}, line {refused[0][0]}: {refused[0][1]}")
    data = _plain(node)
    if not isinstance(data, dict):
        raise UsageError(f"{where} is no form. Fill in one that `fabula lab snap form` makes.")
    return data


def _plain(node: Node | None) -> object:
    if isinstance(node, Pairs):
        return {key.value: _plain(value) for key, value in node.pairs}
    if isinstance(node, Items):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Text) else ""
