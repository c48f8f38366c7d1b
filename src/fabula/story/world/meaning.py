"""The meaning of slots and values: "Eye Colour" and "eyes" are one slot; "24" and "twenty-four" are one value.

Two texts have the same meaning if their *forms* are equal. A form is the result of general rules (for case, spelling,
articles, numbers in words, ordinals and units) and a short list of names for properties. Forms are only compared, not
shown. Text without a rule stays as it is, so that, in case of doubt, two things count as different.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Final, TypeAlias

from fabula.base.remembering import remembered
from fabula.story import one_line

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | tuple[Scalar, ...]

_CACHED: Final = 65_536
_LONG: Final = 400  # letters from which on a value is a passage, compared as it is written
NOTHING: Final = "null"  # the form of no value; its denial denies every value


@remembered(_CACHED, 100)
def name_key(name: str) -> str:
    """The normalised form of a name for comparison: a single line, in composed form, without case."""
    if name.isascii():
        return " ".join(name.split()).lower()
    return unicodedata.normalize("NFKC", one_line(name).casefold())


def value_form(value: Value, slot: str = "") -> str:
    """The normalised form of a slot's value for comparison, which is the same for 3, "3.0" and "three"."""
    if isinstance(value, str):
        return _text_form(value, slot)
    if isinstance(value, tuple):
        return "[" + ", ".join(json.dumps(value_form(item, slot)) for item in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: NOTHING, True: "true", False: "false"}[value]
    number = Fraction(repr(value))
    return _in_years(number) if slot_form(slot) == "age" else _plain(number)


def slot_form(slot: str, value: Value = None) -> str:
    """The normalised form of a slot, which is the same for "Eye Colour", "eye_color" and "colour of the eyes".

    "eyes" alone means the colour of the eyes if `value` is a colour such as "grey", but not if it is "tired".
    """
    form = _slot_form(slot)
    if form in _FEATURES and isinstance(value, str) and _is_colour(_text_form(value, slot)):
        return f"{form} color"
    return form


def slot_forms(slot: str) -> tuple[str, ...]:
    """All normalised forms that a slot can have, depending on its values."""
    form = slot_form(slot)
    return (form, f"{form} color") if form in _FEATURES else (form,)


def _ordered(words: str) -> list[str]:
    return words.split()


def _listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


# words ----------------------------------------------------------------------------------------------------------------

_TOKEN: Final = re.compile(
    r"(?P<number>(?:(?<![\w.])[+-])?\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,9})?(?![\d,])"
    r"|(?:(?<![\w.])[+-])?\d{1,18}(?:\.\d{1,9})?)(?P<th>(?:st|nd|rd|th)\b)?"
    r"|(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)*)"
    r"|(?P<sign>[^\w\s.,;:!?\"'\u2018\u2019\u201c\u201d()\[\]{}\u2010-\u2015\u2026_\-])"
)
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ARTICLES: Final = frozenset({"a", "an", "the"})
_OWNERS: Final = _listed("his her hers their theirs its my your our")

# British spellings that no rule gives, with the American one; each stands for its plural too.
_SPELLED: Final = {
    "grey": "gray", "blonde": "blond", "centre": "center", "theatre": "theater", "metre": "meter", "litre": "liter",
    "kilometre": "kilometer", "centimetre": "centimeter", "millimetre": "millimeter", "fibre": "fiber",
    "sombre": "somber", "calibre": "caliber", "lustre": "luster", "spectre": "specter", "sabre": "saber",
    "jewellery": "jewelry", "plough": "plow", "tyre": "tire", "kerb": "curb", "programme": "program",
    "licence": "license", "defence": "defense", "offence": "offense", "moustache": "mustache", "pyjama": "pajama",
    "aluminium": "aluminum", "mum": "mom", "sceptic": "skeptic", "sceptical": "skeptical", "mould": "mold",
    "cosy": "cozy", "axe": "ax", "draught": "draft", "storey": "story", "greyish": "grayish",
}  # fmt: skip
_OUR: Final = re.compile(r"(col|fav|hon|harb|neighb|lab|hum|rum|vap|parl|arm|od|sav|flav|behavi|endeav|splend|tum|vig|"
                         r"val|clam|glam|cand|ard|rig|ranc|succ|demean)our")  # fmt: skip
_ISE: Final = re.compile(r"\A(.{3,})(?:is(e[ds]?|ing|er|ers|ation))")
_DOUBLED: Final = re.compile(r"\A(.{3,}[aeiou])ll(ed|ing|er|ers)")


@remembered(_CACHED, 60)
def _spelling(word: str) -> str:
    """A word in one of its spellings, where English has two."""
    for known in (word, word.removesuffix("s")):
        if known in _SPELLED:
            return _SPELLED[known] + word[len(known) :]
    word = _OUR.sub(r"\1or", word)
    if found := _ISE.fullmatch(word):
        word = f"{found[1]}iz{found[2]}"
    if found := _DOUBLED.fullmatch(word):
        word = f"{found[1]}l{found[2]}"
    return word


def _tokens(text: str) -> list[str]:
    """A text's words, numbers, ordinals ("21th") and signs; marks that only separate are left out."""
    found = []
    for match in _TOKEN.finditer(text):
        if match["number"]:
            number = _plain(Fraction(match["number"].replace(",", "")))
            found.append(f"{number}th" if match["th"] else number)
        elif match["word"]:
            found.append(_spelling(match["word"].replace("\u2019", "'")))
        else:
            found.append(match["sign"])
    return found


# numbers --------------------------------------------------------------------------------------------------------------

_NUMERAL: Final = re.compile(r"-?\d+(?:\.\d+)?")
_ONES: Final = {
    word: number
    for number, word in enumerate(
        _ordered(
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
            "sixteen seventeen eighteen nineteen"
        )
    )
}
_TENS: Final = {
    word: 10 * number
    for number, word in enumerate(_ordered("twenty thirty forty fifty sixty seventy eighty ninety"), 2)
}
_TIMES: Final = {"thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_HUNDRED: Final = 100
_DECADES: Final = range(10, 100)
_NTH: Final = {
    word: number
    for number, word in enumerate(
        _ordered(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
            "fifteenth sixteenth seventeenth eighteenth nineteenth"
        ),
        1,
    )
} | {
    word: 10 * number
    for number, word in enumerate(
        _ordered("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth hundredth"), 2
    )
}


def _plain(number: Fraction) -> str:
    """A number in digits, without what does not count: no plus, no zeros behind a point."""
    if number.denominator == 1:
        return str(number.numerator)
    decimal = Decimal(number.numerator) / Decimal(number.denominator)
    return f"{decimal.normalize():f}"


def _below_hundred(words: Sequence[str], at: int) -> tuple[int, int, bool] | None:
    """The number from 0 to 99 that begins at a word, the place after it, and whether it is an ordinal."""
    word = words[at] if at < len(words) else ""
    following = words[at + 1] if at + 1 < len(words) else ""
    if word in _ONES:
        return _ONES[word], at + 1, False
    if word in _NTH:
        return _NTH[word], at + 1, True
    if word not in _TENS:
        return None
    if 0 < _ONES.get(following, 0) < 10:  # noqa: PLR2004 - a digit
        return _TENS[word] + _ONES[following], at + 2, False
    if 0 < _NTH.get(following, 0) < 10:  # noqa: PLR2004 - a digit
        return _TENS[word] + _NTH[following], at + 2, True
    return _TENS[word], at + 1, False


def _spelled_number(words: Sequence[str], at: int) -> tuple[str, int] | None:
    """The number in words that begins at a place, in digits, and the place after it."""
    total, part, place, nth = 0, None, at, False
    if words[at] in _ARTICLES and at + 1 < len(words) and (words[at + 1] == "hundred" or words[at + 1] in _TIMES):
        part, place = 1, at + 1
    while place < len(words) and not nth:
        word, small = words[place], _below_hundred(words, place)
        if word == "and" and place > at and words[place - 1] in {"hundred", *_TIMES}:
            if _below_hundred(words, place + 1) is None:
                break
            place += 1
        elif word == "hundred" and (part or 1) < _HUNDRED:
            part, place = (part or 1) * _HUNDRED, place + 1
        elif word in _TIMES and (part is not None or not total):
            total, part, place = total + (1 if part is None else part) * _TIMES[word], None, place + 1
        elif small is not None and (part is None or (part and part % _HUNDRED == 0)):
            part, place, nth = (part or 0) + small[0], small[1], small[2]
        elif (
            small is not None and not total and part is not None and part in _DECADES and small[0] in _DECADES
        ):  # nineteen twelve
            part, place, nth = part * _HUNDRED + small[0], small[1], small[2]
            break
        else:
            break
    if place == at or (part is None and not total):
        return None
    return f"{total + (part or 0)}{'th' * nth}", place


def _counted(words: Sequence[str]) -> list[str]:
    """Words with numbers in digits: "three thousand four hundred" is 3400."""
    found: list[str] = []
    at = 0
    while at < len(words):
        word, at = _spelled_number(words, at) or (words[at], at + 1)
        found.append(word)
    return found


# units ----------------------------------------------------------------------------------------------------------------

_UNITS: Final[dict[str, tuple[Fraction, str]]] = {
    name: (Fraction(size), base)
    for base, sizes in {
        "meter": {
            "0.001": "mm millimeter", "0.01": "cm centimeter", "1": "m meter", "1000": "km kilometer",
            "0.0254": "inch inches", "0.3048": "ft foot feet", "0.9144": "yd yard", "1609.344": "mi mile",
        },
        "second": {"1": "sec second", "60": "min minute", "3600": "hr hour", "86400": "day", "604800": "week",
                   "1209600": "fortnight"},
        "month": {"1": "month", "12": "year yr", "120": "decade", "1200": "century centuries"},
        "gram": {"0.001": "mg milligram", "1": "g gram", "1000": "kg kilogram kilo",
                 "28.349523125": "oz ounce", "453.59237": "lb"},
        "liter": {"0.001": "ml milliliter", "0.01": "cl centiliter", "1": "l liter"},
    }.items()
    for size, names in sizes.items()
    for name in names.split()
}  # fmt: skip
_SPANS: Final = _listed("minute hour day week fortnight month year decade century")  # "a year" is one year


def _unit(word: str) -> tuple[Fraction, str] | None:
    return _UNITS.get(word) or (_UNITS.get(word.removesuffix("s")) if len(word) > 2 else None)  # noqa: PLR2004 - "ms"


def _in_years(number: Fraction) -> str:
    return f"{_plain(number * 12)} month"


def _measured(words: Sequence[str]) -> list[str]:
    """Words with each quantity in one unit: "2 feet" and "24 inches" are one, "a year" and "12 months" too."""
    found: list[str] = []
    at = 0
    while at < len(words):
        taken = _quantity(words, at)
        if taken is None:
            found.append(words[at])
            at += 1
            continue
        size, base, at = taken
        while (more := _quantity(words, at + (at < len(words) and words[at] == "and"))) and more[1] == base:
            size, at = size + more[0], more[2]
        found += [_plain(size), base]
        if base in ("month", "second") and words[at : at + 1] == ["old"]:
            at += 1
        elif base in ("month", "second") and list(words[at : at + 2]) == ["of", "age"]:
            at += 2
    return found


def _quantity(words: Sequence[str], at: int) -> tuple[Fraction, str, int] | None:
    """The quantity that begins at a place: its size, its unit, and the place after it."""
    word, following = (words[at : at + 1] or [""])[0], (words[at + 1 : at + 2] or [""])[0]
    if word in _ARTICLES and following in _SPANS:
        return _UNITS[following][0], _UNITS[following][1], at + 2
    if word in ("aged", "age") and _NUMERAL.fullmatch(following) and _unit((words[at + 2 : at + 3] or [""])[0]) is None:
        return Fraction(following) * 12, "month", at + 2
    if not _NUMERAL.fullmatch(word):
        return None
    unit = _unit(following)
    return None if unit is None else (Fraction(word) * unit[0], unit[1], at + 2)


# forms ----------------------------------------------------------------------------------------------------------------

_TRUTHS: Final = {"yes": "true", "no": "false"}
_SHADES: Final = _listed("dark deep light pale bright soft warm cold pure jet snow very")
_COLOURS: Final = _listed(
    "amber auburn azure beige black blond blue bronze brown chestnut copper cream crimson fair ginger gold golden "
    "gray grayish green hazel indigo ivory khaki lavender lilac magenta maroon mauve navy ochre olive orange pink "
    "purple red rust sandy scarlet silver tan turquoise violet white yellow"
)
_FEATURES: Final = frozenset({"eye", "hair", "beard", "mustache", "skin", "fur"})
# Names of one property, each of which means the same whatever the story is about.
_PROPERTIES: Final = (
    ("age", "how old", "current age", "age in years"),
    ("job", "occupation", "profession", "trade", "employment", "line of work"),
    ("birthday", "birth date", "date of birth", "birthdate", "born on"),
    ("birthplace", "birth place", "place of birth", "born in"),
    ("surname", "last name", "family name"),
    ("first name", "given name", "forename", "christian name"),
    ("spouse", "married to"),
    ("height", "how tall", "stature"),
    ("weight", "how heavy"),
    ("gender", "sex"),
    ("location", "whereabouts", "current location"),
    ("residence", "place of residence", "lives in", "resides in"),
)


@remembered(_CACHED, 200)
def _text_form(text: str, slot: str) -> str:
    plain = name_key(text)
    if len(plain) > _LONG:
        return plain
    if slot and (shorter := _without(plain, slot)):
        plain = shorter
    words = _measured(_counted(_tokens(plain)))
    words = [word for place, word in enumerate(words) if word not in _ARTICLES or place + 1 == len(words)]
    if words[1:] and words[-1] in ("color", "colored") and words[-2] in _COLOURS:
        del words[-1]
    form = " ".join(words) or plain
    if slot and _NUMERAL.fullmatch(form) and _slot_form(slot) == "age":
        return _in_years(Fraction(form))
    return _TRUTHS.get(form, form)


def _without(text: str, slot: str) -> str:
    """A value without the words of its slot: "grey eyes", where the slot is "eyes", is "grey"."""
    named = {word.removesuffix("s") for word in _slot_form(slot).split()}
    return " ".join(word for word in text.split() if _spelling(word.strip(".,;:")).removesuffix("s") not in named)


def _is_colour(form: str) -> bool:
    words = form.split()
    return bool(words) and words[-1] in _COLOURS and all(word in _COLOURS or word in _SHADES for word in words)


@remembered(_CACHED, 100)
def _slot_form(slot: str) -> str:
    form = _slot_words(slot)
    return _properties().get(form, form)


@cache
def _properties() -> dict[str, str]:
    return {_slot_words(name): _slot_words(names[0]) for names in _PROPERTIES for name in names}


def _slot_words(slot: str) -> str:
    """A slot's words in one order and spelling, without those that say nothing."""
    plain = name_key(_CAMEL.sub(" ", one_line(slot)).replace("_", " "))
    words = [word.removesuffix("'s").removesuffix("s'") for word in _counted(_tokens(plain))]
    words = [word for word in words if word not in _ARTICLES and word not in _OWNERS] or words
    while len(words) > 1 and words[0] in ("is", "are", "has", "have"):
        del words[0]
    words = list(_inverted(words))
    words = [word.removesuffix("s") if word.removesuffix("s") in _FEATURES else word for word in words]
    return " ".join(words) or plain or slot


def _inverted(words: Sequence[str]) -> Iterator[str]:
    """Words turned around at "of": "colour of eyes" is "eyes colour". "father of", with the value behind it, stays."""
    if "of" in words[1:-1]:
        at = words.index("of", 1)
        yield from _inverted(words[at + 1 :])
        yield from words[:at]
    else:
        yield from words
