"""Numbers of words as people write them: in a brief, and in a flag."""

# ruff: noqa: RUF001 - dashes and signs as people type them

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Bound: TypeAlias = Literal["range", "about", "least", "most", "exactly"]
Length: TypeAlias = tuple[Bound, int, int]
"""A number of words as somebody asks for it: how it is bounded, low, high."""

WORDS_A_PAGE: Final = 400
SMALLEST: Final = 20  # "in three words" speaks of something else than a story
LARGEST: Final = 1_000_000
_ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NAMES: Final = {
    **{name: number for number, name in enumerate(_ONES)},
    **{name: 10 * number for number, name in enumerate(_TENS) if name},
}
_SCALES: Final = {"hundred": 100, "thousand": 1000}
_NAME: Final = "|".join(sorted({*_NAMES, *_SCALES}, key=len, reverse=True))
_SPOKEN: Final = rf"(?:a )?(?:{_NAME})(?:[ -](?:and )?(?:{_NAME})){{0,6}}"
_WRITTEN: Final = r"\d{1,3}(?:,\d{3}){1,2}|\d{1,7}(?:\.\d{1,2})?"
_N: Final = rf"(?:{_WRITTEN}|{_SPOKEN})(?: ?k\b)?"
_TO: Final = r"(?:(?<=[\dkK])\s*(?:-|–|—|\.\.)\s*|\s+(?:-|–|—|to|and|or|until)\s+)"
_UNIT: Final = r"(?P<unit>words?|pages?)"
_ABOUT: Final = r"about|around|approximately|approx\.?|roughly|circa|ca\.|some|nearly|almost|close to|~"
_LEAST: Final = (
    r"at least|no (?:fewer|less) than|not (?:fewer|less) than|a minimum of|minimum|min\.?|over|more than|>=|≥"
)
_MOST: Final = (
    r"at most|no (?:more|longer) than|not (?:more|longer) than|not exceed(?:ing)?|a maximum of|maximum(?: of)?|max\.?|"
    r"under|below|up to|less than|fewer than|within|<=|≤"
)
_PAIR: Final = re.compile(
    rf"(?<![\w.,])(?P<low>{_N})(?:[ -]?(?:words?|pages?))?{_TO}(?:(?:{_ABOUT}) )?"
    rf"(?P<high>{_N})[ -]?{_UNIT}\b",
    re.IGNORECASE,
)
_SINGLE: Final = re.compile(
    rf"(?:(?<!\w)(?P<bound>exactly|{_LEAST}|{_MOST}|{_ABOUT})[: ]*(?:(?:of|the|a|an) )?)?"
    rf"(?<![\w.,])(?P<low>{_N})[ -]?{_UNIT}\b"
    r"(?: (?P<after>or (?:more|less|fewer)|minimum|maximum|max|min|at (?:most|least)))?",
    re.IGNORECASE,
)
_COUNTED: Final = re.compile(
    rf"\b(?:word count|number of words|words|length)(?: is| of)?\s*[:=]?\s+(?:(?:{_ABOUT}) )?"
    rf"(?P<low>{_N})(?:{_TO}(?P<high>{_N}))?(?!\s*\w)",
    re.IGNORECASE,
)
_PAGES_MEANT: Final = re.compile(
    r"\A[ -]?(?:long|short|story|tale|narrative|in length|of (?:text|prose))|\A\s*(?:[.;,)]|\Z)", re.IGNORECASE
)
_PAGES_LED: Final = re.compile(
    r"(?:\b(?:be|is|length|length:|of|run(?:s|ning)?(?: to)?|fill|write|long|cover)|\A)\W*(?:between|from)?\W*\Z",
    re.IGNORECASE,
)

_PARTS: Final = (
    r"(?:scenes?|chapters?|letters?|parts?|sections?|episodes?|entries|days?|mornings?|acts?|vignettes?|pieces?)"
)
_EACH: Final = re.compile(
    rf"[ ,]*(?:each|apiece|per \w+|(?:a|an|for each|for every|in each|in every) {_PARTS})\b", re.IGNORECASE
)
_EACH_LED: Final = re.compile(r"\b(?:each|every)\b[^.,;:\n]{0,40}\Z", re.IGNORECASE)
_IN_ALL: Final = re.compile(
    rf"(?<![\w.,])(?P<low>{_N})(?: words?)? (?:in all|in total|altogether|all told|overall)\b|"
    rf"\b(?:in all|in total|altogether|total(?: of)?)[: ]+(?:(?:{_ABOUT}) )?(?P<after>{_N})(?: words?)?\b",
    re.IGNORECASE,
)
_PARTS_BEFORE: Final = re.compile(rf"(?<![\w.,])(?P<count>{_N}) (?:\w+ ){{0,2}}?{_PARTS}\b", re.IGNORECASE)
_ANY_COUNT: Final = re.compile(
    r"(?<![\w.,])(?P<count>\d[\d,]{0,20})(?: ?(?P<scale>k|thousand|million|billion))?[ -]words?\b", re.IGNORECASE
)
_BY_NAME: Final = {"": 1, "k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_NEAR: Final = 80  # characters between a number of parts and the words of each


def number(said: str) -> float | None:
    """The number in "1,300", "1.5k", "two thousand five hundred", or `None`."""
    said = said.strip().lower()
    scale = 1
    if said.endswith("k") and not said[:1].isalpha():
        said, scale = said[:-1].strip(), 1000
    if re.fullmatch(_WRITTEN, said):
        return float(said.replace(",", "")) * scale
    total = part = 0
    for word in re.split(r"[ -]", said.removeprefix("a ")):
        if word in _SCALES:
            part = max(part, 1) * _SCALES[word]
            if word == "thousand":
                total, part = total + part, 0
        elif word in _NAMES:
            part += _NAMES[word]
        elif word != "and":
            return None
    return float(total + part)


def impossible_length(text: str) -> str:
    """The number of words that `text` asks for and no story can have, as it stands there; empty if there is none.

    Only where it asks for no other number: "not 0 words, but 300" is 300.
    """
    if lengths_in(text):
        return ""
    for match in _ANY_COUNT.finditer(text):
        count = float(match["count"].replace(",", "")) * _BY_NAME[(match["scale"] or "").lower()]
        if count == 0 or count > LARGEST:
            return match[0]
    return ""


def lengths_in(text: str) -> list[Length]:
    """Every number of words that `text` asks for: how it is bounded, low and high; pages count 400 words.

    Only numbers next to "words" or "pages" (or after "word count:") are meant, and pages only where they measure text.
    The words of each part ("four scenes of about 225 words each") count as many times as there are parts; where the
    text says how many words that makes in all, that is meant; where it says neither, they are not the story's.
    """
    found: list[Length] = []
    taken: list[tuple[int, int]] = []
    for pattern in (_PAIR, _SINGLE, _COUNTED):
        for match in pattern.finditer(text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            length = _length(text, match)
            if length is not None:
                taken.append(match.span())
                if (whole := _of_all_parts(text, match, length)) is not None:
                    found.append(whole)
    return found


def too_many_in(text: str) -> int | None:
    """A number of words that `text` asks for and that is larger than any story's; `None` where it asks for none."""
    for pattern in (_PAIR, _SINGLE, _COUNTED):
        for match in pattern.finditer(text):
            groups = match.groupdict()
            words = number(groups.get("high") or groups["low"]) or 0
            if (groups.get("unit") or "").lower().startswith("page"):
                words = words * WORDS_A_PAGE if _measures_text(text, match) else 0
            elif _EACH.match(text, match.end()):
                before = [*_PARTS_BEFORE.finditer(text, max(match.start() - _NEAR, 0), match.start())]
                words *= number(before[-1]["count"]) or 1 if before else 1
            if words > LARGEST:
                return int(words)
    return None


def _of_all_parts(text: str, match: re.Match[str], length: Length) -> Length | None:
    """The length of all parts where `length` is that of each; `length` itself where it is not; `None` if not known."""
    if not _EACH.match(text, match.end()) and not _EACH_LED.search(text, max(match.start() - _NEAR, 0), match.start()):
        return length
    if total := _IN_ALL.search(text):
        words = number(total["low"] or total["after"])
        return ("about", int(words), int(words)) if words and length[2] < words <= LARGEST else None
    before = [*_PARTS_BEFORE.finditer(text, max(match.start() - _NEAR, 0), match.start())]
    count = number(before[-1]["count"]) if before else None
    if not count or count * length[2] > LARGEST:
        return None
    return length[0], int(count * length[1]), int(count * length[2])


def _length(text: str, match: re.Match[str]) -> Length | None:
    groups = match.groupdict()
    low, high = number(groups["low"]), number(groups.get("high") or groups["low"])
    if low is None or high is None:
        return None
    if groups["low"][-1:].isdigit() and (groups.get("high") or "").lower().endswith("k") and low < high / 100:
        low *= 1000  # "1-2k words"
    if (groups.get("unit") or "").lower().startswith("page"):
        if not _measures_text(text, match):
            return None
        low, high = low * WORDS_A_PAGE, high * WORDS_A_PAGE
    if not SMALLEST <= low <= high <= LARGEST:
        return None
    return _bound(groups), int(low), int(high)


def _measures_text(text: str, match: re.Match[str]) -> bool:
    """Whether pages say how long the story is, not what is found in it."""
    before = text[max(match.start() - 40, 0) : match.start()]
    return bool(_PAGES_MEANT.match(text[match.end() : match.end() + 20]) and _PAGES_LED.search(before)) or bool(
        re.match(r"[ -](?:long|story|short story|tale|narrative|in length)\b", text[match.end() :], re.IGNORECASE)
    )


def _bound(groups: dict[str, str | None]) -> Bound:
    if groups.get("high"):
        return "range"
    said = (groups.get("after") or groups.get("bound") or "").lower()
    if said == "exactly":
        return "exactly"
    if re.fullmatch(rf"{_LEAST}|or more|min", said):
        return "least"
    if re.fullmatch(rf"{_MOST}|or less|or fewer|max", said):
        return "most"
    return "about"
