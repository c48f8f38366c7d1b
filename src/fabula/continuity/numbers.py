"""Numbers in running words: cardinals, ordinals, years, times of day, sums of money."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.continuity.lexicon import JOINED_TO_NUMBERS, NUMBERS_BELOW_20, ORDINALS_BELOW_20, TENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fabula.continuity.book import Line, Word

Kind: TypeAlias = Literal["cardinal", "ordinal", "year", "time"]
_ONES: Final = {word: value for value, word in enumerate(NUMBERS_BELOW_20)}
_TENS: Final = {word: 10 * n for n, word in enumerate(TENS, 2)}
_SMALL: Final = _ONES | _TENS
_SCALES: Final = {"hundred": 100, "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000}
_ORDINALS: Final = {word: value for value, word in enumerate(ORDINALS_BELOW_20, 1)} | {
    "twentieth": 20, "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "hundredth": 100,
}  # fmt: skip
_SPECIAL: Final = {"dozen": 12, "couple": 2, "single": 1, "once": 1, "twice": 2, "thrice": 3, "double": 2}
_DIGITS: Final = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,12}(?:\.\d+)?")
_DIGIT_ORDINAL: Final = re.compile(r"(\d{1,4})(?:st|nd|rd|th)")
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})")
_TEN, _TWENTY, _HUNDRED, _LONG = 10, 20, 100, 10_000
_YEARS: Final = range(1000, 2300)
VALUES: Final = frozenset(_SMALL) | frozenset(_SCALES) | frozenset(_ORDINALS) | frozenset(_SPECIAL)
NAMES: Final = {value: word for word, value in _SMALL.items()}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a sentence: its value, and the words (first, and after the last) that say it."""

    value: float
    first: int
    last: int
    kind: Kind


def quantities(line: Line) -> Iterator[Quantity]:
    """All numbers of a sentence, from left to right; "one" alone is none, and a lone "second" neither."""
    at = 0
    while at < len(line.words):
        found = _at(line.words, at)
        if found is None:
            at += 1
        else:
            yield found
            at = found.last


def _at(words: tuple[Word, ...], at: int) -> Quantity | None:
    text = words[at].text
    if text[0].isdigit():
        return _digits(words, at)
    if text in _ORDINALS and text != "second":
        return Quantity(_ORDINALS[text], at, at + 1, "ordinal")
    if text == "second" and at and words[at - 1].text in {"the", "his", "her", "my", "your", "our", "their", "act"}:
        return Quantity(2, at, at + 1, "ordinal")
    return _spelled(words, at)


def _digits(words: tuple[Word, ...], at: int) -> Quantity | None:
    text = words[at].text
    if clock := _CLOCK.fullmatch(text):
        return Quantity(int(clock[1]) + int(clock[2]) / 60, at, at + 1, "time")
    if ordinal := _DIGIT_ORDINAL.fullmatch(text):
        return Quantity(int(ordinal[1]), at, at + 1, "ordinal")
    number, _, tail = text.partition("-")
    if _DIGITS.fullmatch(number) is None or (tail and not tail[0].isalpha()):
        return None
    value = float(number.replace(",", ""))
    last = at + 1
    if not tail and last < len(words) and words[last].text in _SCALES:
        value, last = value * _SCALES[words[last].text], last + 1
    year = last == at + 1 and "," not in number and value in _YEARS and not tail
    return Quantity(value, at, last, "year" if year else "cardinal")


def _spelled(words: tuple[Word, ...], at: int) -> Quantity | None:
    """A number in words, as "one hundred and forty" or "a dozen"."""
    whole, last = _sum(words, at)
    if last == at:
        return _special(words, at)
    if last == at + 1 and words[at].text == "one":
        return None
    ordinal = _then_ordinal(words, last, whole)
    if ordinal is not None:
        return Quantity(ordinal, at, last + 1, "ordinal")
    return Quantity(whole, at, last, "cardinal")


def _sum(words: tuple[Word, ...], at: int) -> tuple[float, int]:
    """The value of the number words from `at` on, and where they end."""
    total, part, last = 0.0, 0.0, at
    while last < len(words) and not (last > at and words[last].gap):
        text = words[last].text
        value = _small(text)
        if value is not None:
            part += value
        elif text in _SCALES and (part or _article(words, at)):
            part = max(part, 1) * _SCALES[text]
            if _SCALES[text] > _HUNDRED:
                total, part = total + part, 0.0
        elif not (text == "and" and _goes_on(words, last)):
            break
        last += 1
    return total + part, last


def _small(text: str) -> int | None:
    """The value of "seven" or "twenty-five", also where a unit is joined to it ("forty-year-old")."""
    if text in _SMALL:
        return _SMALL[text]
    head, dash, tail = text.partition("-")
    if not dash or head not in _SMALL:
        return None
    second = tail.partition("-")[0]
    if head in _TENS and second in _ONES:
        return _TENS[head] + _ONES[second]
    return _SMALL[head] if tail.split("-")[0] in JOINED_TO_NUMBERS else None


def _article(words: tuple[Word, ...], at: int) -> bool:
    return at > 0 and words[at - 1].text in {"a", "an"}


def _goes_on(words: tuple[Word, ...], at: int) -> bool:
    """Whether "and" joins two parts of one number: "two hundred and six"."""
    return (
        at > 0
        and at + 1 < len(words)
        and words[at - 1].text in _SCALES
        and _small(words[at + 1].text) is not None
        and not words[at + 1].gap
    )


def _then_ordinal(words: tuple[Word, ...], last: int, value: float) -> float | None:
    """The value of "twenty first" written apart."""
    if last < len(words) and value in _TENS.values() and not words[last].gap:
        ones = _ORDINALS.get(words[last].text)
        if ones is not None and ones < _TEN:
            return value + ones
    return None


def _special(words: tuple[Word, ...], at: int) -> Quantity | None:
    text = words[at].text
    if text not in {"dozen", "couple"}:
        return None
    half = at > 1 and words[at - 2].text == "half" and text == "dozen"
    return Quantity(6 if half else _SPECIAL[text], at, at + 1, "cardinal")


def spell(value: int) -> str:
    """A whole number below a hundred, or of hundreds below a thousand, in words; another in digits."""
    if value in NAMES:
        return NAMES[value]
    tens, ones = divmod(value, 10)
    if _TWENTY < value < _HUNDRED:
        return f"{NAMES[tens * 10]}-{NAMES[ones]}"
    hundreds, below = divmod(value, 100)
    if not below and 0 < hundreds < _TEN:
        return f"{NAMES[hundreds]} hundred"
    return f"{value:,}" if value >= _LONG else str(value)
