"""Numbers as people write them: in digits, in words of the languages that briefs are written in, or both."""

# ruff: noqa: RUF001 - dashes, signs and letters as people type them

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from fabula.base.remembering import remembered

_AND: Final = frozenset(("and", "und", "et", "y", "e", "en", "и", "و"))
HALF: Final = re.compile(
    r" (?:and|und|et|e|y|en|i|с|z) (?:an? |eine? |een )?(?:half|halb(?:es)?|halve|demie?|mezz[oa]|medi[oa]|mei[oa]|pół|"
    r"половиной)(?!\w)",
    re.IGNORECASE,
)
"""What adds a half to a number: "two and a half thousand", "deux mille et demi"."""
_NATIVE: Final = {
    name: value
    for value, names in (
        *enumerate(("", "한 하나", "두 둘", "세 셋", "네 넷", "다섯", "여섯", "일곱", "여덟", "아홉", "열")),
        *zip(range(20, 100, 10), ("스무 스물", "서른", "마흔", "쉰", "예순", "일흔", "여든", "아흔"), strict=True),
    )
    for name in names.split()
}
_EASTERN: Final = {
    name: value
    for value, names in (
        *enumerate(("〇零영", "一일", "二两兩両이", "三삼", "四사", "五오", "六육", "七칠", "八팔", "九구", "十십")),
        *((100, "百백"), (1000, "千천"), (10_000, "万萬만")),
    )
    for name in names
}
_SEVERAL: Final = re.compile(
    "([一二两兩三四五六七八일이삼사오육칠팔])([二两兩三四五六七八九이삼사오육칠팔구])(?=[十百千万萬십백천만])"
)
LARGEST: Final = 1_000_000
"""Words of a story at most."""
_TEN: Final = 10
_HUNDRED: Final = 100
_THOUSAND: Final = 1000
_MYRIAD: Final = 10_000
_TENS: Final = range(20, 100, 10)
_COUNTED_ON: Final = (60, 80)  # soixante-dix, quatre-vingt-douze
_MARKS: Final = "\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
_BLANKS: Final = " \u00a0\u202f"
_GROUPED: Final = rf"\d{{1,3}}(?:[.,'’٬{_BLANKS}]\d{{3}}){{1,3}}(?!\d)"
_DIGITS: Final = rf"{_GROUPED}|\d{{1,15}}(?:[.,]\d{{1,2}}(?!\d))?(?!\d)"
_TOKEN: Final = re.compile(
    rf"(?P<digits>(?<![\d.,A-Za-z])(?:{_DIGITS}))|"
    rf"(?P<native>(?:{'|'.join(_NATIVE)}){{1,2}})(?= ?(?:장|챕터|개|편|부|통|페이지|쪽|막|권|매|단어))|"
    rf"(?P<eastern>(?:[几幾数數](?=[十百千万萬]))?[{''.join(_EASTERN)}]{{1,12}})|"
    rf"(?P<word>(?:[^\W\d_\u3005-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[{_MARKS}])+)"
)
_JOINT: Final = re.compile("und|einhalb|ën(?:een)?half|ën|en(?=.)")  # "zweieinhalbtausend", "tweeënhalfduizend"
_POINTED: Final = re.compile(r"(?:тыс|tsd)\.", re.IGNORECASE)  # abbreviations
_ADJACENT: Final = re.compile(rf"[{_BLANKS}\t\n-]{{0,2}}\Z")
_ALONE: Final = re.compile(rf"(?P<digits>{_DIGITS})(?P<scale>[ ]?k)?", re.IGNORECASE)


@dataclass(slots=True)
class Number:
    """A number in a text, and where it stands; `digits` if it begins with some.

    Attributes:
        total: what was said up to the last "thousand" or "million".
        part: what was said since.
        scaled: whether anything made it large, such as "hundred" or "k".
        before: `part` and `end` as they were before the last word, and where that word starts.
        low: the smaller of two numbers that are said as one ("两三千": two to three thousand); 0 for a single number.
        eastern: whether a character or syllable made it large.
    """

    start: int
    end: int
    digits: bool = False
    total: float = 0
    part: float = 0
    scaled: bool = False
    before: tuple[float, int, int] = (0, 0, 0)
    low: float = 0
    eastern: bool = False

    def halve(self, end: int) -> None:
        """Add half of what was said last: "two and a half", "deux mille et demi"."""
        if self.total and not self.part:
            self.total += _THOUSAND / 2
        else:
            self.part += 0.5
        self.end = end

    @property
    def value(self) -> float:
        """What it says."""
        return self.total + self.part

    def takes(self, value: float) -> bool:
        """Whether a number that is said next continues with this one, as "hundred" does after "two"; it then does."""
        if value >= _THOUSAND:
            if self.total and (not self.part or value > self.total / _THOUSAND):
                return False
            self.total, self.part = self.total + max(self.part, 1) * value, 0
        elif value == _HUNDRED and 0 < self.part < (_TEN if self.total else _HUNDRED):
            self.part *= value
        elif value == _HUNDRED and self.part:
            return False
        elif self.part == 4 and value == _TENS[0]:  # noqa: PLR2004 - quatre-vingts
            self.part = 80
        elif self._open_to(value):
            self.part += value
            self.scaled = self.scaled or value >= _HUNDRED
            return True
        else:
            return False
        self.scaled = True
        return True

    def _open_to(self, value: float) -> bool:
        if self.digits and not self.scaled:
            return False
        rest = self.part % _HUNDRED
        if self.part and value >= _HUNDRED:
            return False
        after_tens = rest in _TENS and value < _TEN
        dix_sept = rest == _TEN and _TEN > value > 6  # noqa: PLR2004 - and dix-huit, dix-neuf
        return not rest or after_tens or dix_sept or (rest in _COUNTED_ON and _TEN <= value < 2 * _TEN)


def written(said: str) -> float:
    """The number in digits: "1,300", "2.000" and "2 000" are grouped, "1.5" and "1,5" are not."""
    return float(re.sub(r"\D", "", said)) if re.fullmatch(_GROUPED, said) else float(said.replace(",", "."))


def number(said: str) -> float | None:
    """The number in "1,300", "1.5k" or "2 k", as a flag has it, or `None`."""
    found = _ALONE.fullmatch(said.strip())
    if not found or ("," in found["digits"] and not re.fullmatch(_GROUPED, found["digits"])):
        return None
    return written(found["digits"]) * (_THOUSAND if found["scale"] else 1)


def numbers_in(text: str) -> list[Number]:
    """Every number in `text`, in order."""
    found: list[Number] = []
    at = -1  # where the last number may go on
    for token in _TOKEN.finditer(text):
        last = found[-1] if found and _ADJACENT.match(text[at : min(token.start(), at + 4)]) and at >= 0 else None
        if token.start() < at:
            continue  # a part of "and a half"
        if token["digits"]:
            _digits(token, found, last)
        elif token["eastern"]:
            _eastern(token, found, last)
        elif token["native"]:
            found.append(Number(*token.span(), part=_native_value(token[0])))
        elif last and token[0].casefold() in _AND:
            at = token.end()
            continue
        elif not _spoken(token, found, last):
            at = -1
            continue
        if half := HALF.match(text, found[-1].end):
            found[-1].halve(half.end())
        at = found[-1].end
    return found


def _digits(token: re.Match[str], found: list[Number], last: Number | None) -> None:
    """A number in digits: a new one, or what is counted behind a large one ("1万2千")."""
    value = written(token["digits"])
    if last and last.digits and last.scaled and last.eastern and value < last.value:
        last.total, last.part, last.scaled, last.end = last.value, value, False, token.end()
    else:
        found.append(Number(*token.span(), digits=True, part=value))


def _native_value(said: str) -> float:
    """What Korean numerals say: "여섯", "스물다섯"."""
    tens = next((name for name in _NATIVE if said.startswith(name)), "")
    return _NATIVE[tens] + _NATIVE.get(said.removeprefix(tens), 0)


def _eastern(token: re.Match[str], found: list[Number], last: Number | None) -> None:
    """A number in Chinese characters or Korean syllables: alone, or what a number in digits is counted in."""
    said = token[0] if token[0][0] in _EASTERN else f"三五{token[0][1:]}"  # "几百": several hundred
    if last and last.digits and not last.scaled and _EASTERN[said[0]] >= _HUNDRED:
        last.part, last.scaled, last.end = last.part * _EASTERN[said[0]], True, token.start() + 1
        last.eastern = True
        return
    if last and last.value % _MYRIAD == 0 and not last.digits and last.value and _eastern_value(said) < _MYRIAD:
        last.total, last.part, last.end = last.value, _eastern_value(said), token.end()  # "만 이천"
        return
    low, several = 0.0, _SEVERAL.search(said)
    if several:
        low, said = _eastern_value(_SEVERAL.sub(r"\1", said, count=1)), _SEVERAL.sub(r"\2", said, count=1)
    found.append(Number(*token.span(), part=_eastern_value(said), low=low))


def _eastern_value(said: str) -> float:
    """What Chinese characters or Korean syllables say."""
    total = part = digit = 0
    for value in (_EASTERN[sign] for sign in said):
        if value >= _MYRIAD:
            total, part, digit = (total + part + digit or 1) * value, 0, 0
        elif value >= _EASTERN["十"]:
            part, digit = part + max(digit, 1) * value, 0
        else:
            digit = value
    return total + part + digit


def _spoken(token: re.Match[str], found: list[Number], last: Number | None) -> bool:
    """A number in words, which continues with the last one or is new; false for another word."""
    word = token[0].casefold()
    if word == "k" and last and last.digits and not last.scaled:
        value: float | None = _THOUSAND
    else:
        value = _value(word) if len(word) <= 60 else None  # noqa: PLR2004 - longer than any number
    if value is None:
        return False
    if last and _goes_on(last, value, token.start()):
        last.end = token.end() + bool(_POINTED.match(token.string, token.start()))
        return True
    if last and value >= _HUNDRED and 0 < (said := last.part - last.before[0]) < _HUNDRED and last.scaled:
        new = Number(last.before[2], token.end(), part=said)  # "five hundred and six hundred": "six" is of the next
        last.part, last.end, _ = last.before
        found.append(new)
    else:
        found.append(Number(*token.span()))
    found[-1].takes(value)
    return True


def _goes_on(last: Number, value: float, start: int) -> bool:
    before = last.part, last.end, start
    if not last.takes(value):
        return False
    last.before = before
    return True


@cache
def _names() -> dict[str, float]:
    """The numbers that one word says."""
    table = (Path(__file__).parent / "numbers.txt").read_text(encoding="utf-8")
    return {name: float(row.split()[0]) for row in table.strip().splitlines() for name in row.split()[1:]}


@remembered(4096, 200)
def _value(word: str) -> float | None:
    """The number that a word says, also one written together, such as "zweitausendfünfhundert"."""
    known = _names()
    if word in known:
        return known[word]
    said = Number(0, 0)
    names, at, count = "", 0, 0
    while at < len(word):
        if count and (joint := _JOINT.match(word, at)):
            at = joint.end()
            if joint[0].endswith(("halb", "half")):
                said.part, count = said.part + 0.5, count + 1
            continue
        names = next((word[at:end] for end in range(min(len(word), at + 12), at, -1) if word[at:end] in known), "")
        if not names:
            return None
        value, at, count = known[names], at + len(names), count + 1
        if value in _TENS and said.part % 10 and said.part % _HUNDRED < 10:  # noqa: PLR2004 - fünf-und-zwanzig
            said.part += value
        elif not said.takes(value):
            return None
    return said.value if count > 1 else None
