"""Choices, scores and refusals in a model's reply."""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from fabula.engine.replies.problem import ReplyProblem
from fabula.story.sentences import sentences

_I: Final = re.IGNORECASE
_EDGE: Final = " \t\n\"'“”‘’*_`.,;:!()[]<>#"
_ANSWER: Final = re.compile(
    r"\A\s*[*_#]*(?:my |the |final )*(?:answer|choice|decision|verdict|option|selection|next agent|response)[*_]*+"
    r"(?: is)?\s*+[:=\-]?[*_]*+\s*+",
    _I,
)
_CONCLUDES: Final = re.compile(
    r"\b(?:i(?:['’]d| would| will|['’]ll)? (?:choose|pick|select|go with|conclude|decide)|(?:final |my )?(?:answer|"
    r"choice|decision|verdict)\b|therefore|thus|in conclusion|overall|hence)\b",
    _I,
)
_NEGATED: Final = re.compile(r"\b(?:not|never|neither|nor|cannot|\w+n['’]t)(?:\W+\w+){0,2}\W*\Z", _I)
_LETTER: Final = re.compile(r"\A(?:option|choice|answer|number|no\.?|response)?\s*#?([A-Za-z]|\d{1,2})\Z", _I)
_LEAD: Final = re.compile(r"\A\W*(?:(?:option|choice|answer)\s*:?\s*)?\(?([A-Za-z]|\d{1,2})[).:]\s", _I)
_DIGITS: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SCORE_WORDS: Final = {word: number for number, word in enumerate(_DIGITS)}
_NUMBER: Final = re.compile(
    rf"(?<![\w.,])(-?\d{{1,6}}(?:\.\d{{1,6}})?|{'|'.join(_SCORE_WORDS)})(?![\w%]|\.\d|,\d)"
    r"(?:[*_]*\s*(?:/|out of|of)\s*[*_]*(\d{1,6}(?:\.\d+)?))?",
    _I,
)
_RATED: Final = re.compile(r"\b(?:score|rating|grade|rate[ds]?|mark|give|overall|total)\b", _I)
_CANNOT: Final = r"(?:can['’]?t|cannot|can not|won['’]t)"
_REFUSAL: Final = re.compile(
    rf"\A[\s*_#]*(?:(?:i['’]?m|i am) (?:very |really |so )?sorry,? (?:but )?(?:i|as an)\b.{{0,30}}\b(?:{_CANNOT}|"
    rf"unable|not able)|(?:sorry,? (?:but )?|unfortunately,? )?i (?:{_CANNOT}|am unable to|am not able to|will not) "
    r"(?:help (?:you )?with (?:this|that)|assist|fulfil|provide|create|generate|write|continue (?:with )?th|comply|"
    rf"engage|produce)|as an ai\b.{{0,60}}\b(?:{_CANNOT}|unable|not able|don['’]t))",
    _I,
)
_REFUSAL_LENGTH: Final = 600
_UNCHANGED: Final = re.compile(r"no[ _-]changes?\b", _I)
_UNCHANGED_LENGTH: Final = 200
_SCANNED: Final = 20_000  # characters from the end of a reply in which a choice or score is looked for


def is_refusal(text: str) -> bool:
    """Whether a short reply begins by declining the task; "I cannot ..." in a story does not count."""
    said = text.strip()
    return 0 < len(said) <= _REFUSAL_LENGTH and bool(_REFUSAL.match(said))


def is_unchanged(text: str) -> bool:
    """Whether a short reply says NO CHANGE, the answer asked for if a text may stay as it is."""
    said = text.strip().lstrip(_EDGE)
    return len(said) <= _UNCHANGED_LENGTH and bool(_UNCHANGED.match(said))


def read_choice(text: str, options: Sequence[str]) -> str:
    """The option that a reply names, in the caller's spelling.

    These are tried in order: the whole reply (or its first or last line) is an option, its letter or its number; only
    one option is mentioned and not negated; a concluding sentence mentions only one option.

    Raises:
        ReplyProblem: no option is named, or several are and the reply does not settle on one.
    """
    text = text.strip()[-_SCANNED:]
    lines = [line for line in text.splitlines() if line.strip()]
    for line in [text, *lines[-1:], *lines[:1]]:
        if (found := _named(line, options)) is not None:
            return found
    mentioned = _mentions(text, options)
    if len(mentioned) == 1:
        return mentioned.pop()
    for sentence in reversed(sentences(text)):
        if _CONCLUDES.search(sentence) and len(found_here := _mentions(sentence, options)) == 1:
            return found_here.pop()
    known = ", ".join(repr(option) for option in options)
    said = f"It names {len(mentioned)} of them" if mentioned else "It names none of them"
    raise ReplyProblem(f"{said}: reply with exactly one of {known}.")


def _named(line: str, options: Sequence[str]) -> str | None:
    """The option that a line is: itself, or its letter or number."""
    options_by_key = {option.strip(_EDGE).casefold(): option for option in options}
    bare = line.strip(_EDGE)
    for said in (bare, _ANSWER.sub("", bare, count=1).strip(_EDGE)):
        if said.casefold() in options_by_key:
            return options_by_key[said.casefold()]
        if (mark := _LETTER.match(said)) and (found := _by_mark(mark.group(1), options)) is not None:
            return found
    lead = _LEAD.match(line)
    if lead and (found := _by_mark(lead.group(1), options)) is not None and _mentions(line, options) <= {found}:
        return found
    return None


def _by_mark(mark: str, options: Sequence[str]) -> str | None:
    """The option of a letter or number, unless options are letters or numbers themselves."""
    if any(len(option.strip(_EDGE)) <= 2 for option in options):  # noqa: PLR2004 - "A", "10": marks would be ambiguous
        return None
    place = int(mark) - 1 if mark.isdigit() else ord(mark.lower()) - ord("a")
    return options[place] if 0 <= place < len(options) else None


def _mentions(text: str, options: Sequence[str]) -> set[str]:
    """Options that stand in `text` as whole words and are not negated; a longer one hides a shorter one inside it."""
    ordered = sorted(options, key=len, reverse=True)
    by_fold = {option.casefold(): option for option in ordered}
    names = "|".join(re.escape(option) for option in ordered)
    single = any(len(option) == 1 for option in options)  # "a" as a word is no mention of "A"
    found = re.compile(rf"(?<!\w)(?:{names})(?!\w)", 0 if single else _I)
    return {
        by_fold[match.group().casefold()]
        for match in found.finditer(text)
        if not _NEGATED.search(text[max(match.start() - 40, 0) : match.start()])
    }


def read_score(text: str, low: float, high: float) -> float:
    """The score in a reply, from `low` to `high`.

    A lone number counts, and so do "7/10" and "7 out of 10" if the second number is `high`. Of several different
    numbers, the last one that follows a word like "score" or "rating" in its sentence counts.

    Raises:
        ReplyProblem: there is no score, there are several, or the score is out of range.
    """
    text = text.strip()[-_SCANNED:]
    scores = _scores(text, high)
    if len(set(scores)) > 1:
        rated = [_scores(s[found.end() :], high) for s in sentences(text) if (found := _RATED.search(s))]
        scores = next((found for found in reversed(rated) if found), scores)
        scores = scores if len(set(scores)) == 1 else scores[:1] if rated and any(rated) else scores
    if len(set(scores)) != 1:
        said = "several numbers" if scores else "no number"
        raise ReplyProblem(f"It holds {said}; reply with one number from {low:g} to {high:g}.")
    if not low <= scores[0] <= high:
        raise ReplyProblem(f"{scores[0]:g} is out of range; reply with one number from {low:g} to {high:g}.")
    return scores[0]


def _scores(text: str, high: float) -> list[float]:
    found = []
    for match in _NUMBER.finditer(text):
        said, of = match.groups()
        if of is not None and not math.isclose(float(of), high):
            continue
        found.append(float(_SCORE_WORDS.get(said.lower(), said)))
    return found
