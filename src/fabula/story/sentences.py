"""Sentences and paragraphs of prose, including dialogue, as spans of a text."""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fabula.base.remembering import remembered
from fabula.story.language import COMMON_WORDS, language_of
from fabula.story.story import one_line
from fabula.story.words import CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterator

_BREAK: Final = re.compile(r"\n[ \t]*\n\s*")
# What ends a sentence, in Latin and in other scripts (of these no abbreviation is made); what may stand behind it.
_EASTERN_STOPS: Final = "。！？｡．।॥؟۔።៕។။"
_STOPS: Final = f".!?…{_EASTERN_STOPS}"
_CLOSERS: Final = "\"”“’‘'»«›‹」』）】》〉〕］｝\\])*_"
_LINE: Final = re.compile(
    rf"(?<=[{_STOPS}\"”“»«」』’*:])[ \t]*+\n[^\S\n]*+|\n[^\S\n]*+(?=(?:[-*•]|\d{{1,3}}[.)])[ \t])"
)
_SPEECH: Final = (
    "said|says|asked|asks|cried|shouted|whispered|replied|answered|murmured|muttered|called|yelled|added|snapped|"
    "sighed|laughed|exclaimed|demanded|agreed|began|continued|repeated|growled|hissed|admitted|insisted|breathed"
)
# Tried only where the sentence before ends in a closing quotation mark.
_TAG: Final = re.compile(rf"\b(?:[A-Z]\w* (?:[A-Z]\w* )?|[Tt]he \w+ )(?:{_SPEECH})\b")
# The same in Chinese and Japanese: a few characters, and the word that says that somebody spoke.
_EASTERN_TAG: Final = re.compile(
    r"(?![没沒无無不])[^\s。！？「“]{0,8}?(?:说|說|道[：，。]|问|問|喊|叫|答)|と|"
    r"(?:[^\s.!?“]{1,10} ){1,4}?(?:말[했하한]|물었|물으|묻|외[쳤치]|대답[했하]|"
    r"속삭|중얼|소리쳤|소리를? 질|생각[했하한]|덧붙|되물|불렀)[^\s.!?“]{0,8}\."
)
_DASHED: Final = re.compile(r"[—–-][ \u00a0\u202f]?")  # "— Куда? — спросил он."
_QUOTED_END: Final = ('"', "”", "“", "’", "'", "»", "«", "」", "』")
# A mark at a sentence's start that closes the one before it; some marks open in one language and close in another.
_SHUT: Final = re.compile(r"(?:[»”’」』]|(?<=\S)[«“])[ \n](?=\S)")
_CLOSING: Final = re.compile(r"(?:[»”’」』]|(?<=\S)[«“])(?=[\s,.;:—–)]|\Z)|[”’](?=[가-힣])")
# An ellipsis, or points that stand for left-out letters: "e.g.", "p.m."; a small letter after them goes on.
_MID_END: Final = re.compile(r"(?:(?:\.\.\.|…)[\"”’']?|\b\w\.\w\.|\betc\.|\bvs\.|\bapprox\.)\Z")
# Small letters with points between them: "m.in.", "o.a."; not those of an hour, of an era, and "and so on".
_POINTED: Final = (
    r"(?![ap]\. ?m|[ad]\. ?C|n\. ?e|н\. ?э|т\. ?[дп]|e\. ?d|a\.u|s\.v)[^\W\d_A-Z](?:\. ?[^\W\d_]{1,2}){1,3}"
)
_DOUBLED: Final = re.compile(r"([A-Z])\1\. ([A-Z])\2\.")  # "EE. UU."
_COUNTING: Final = ("str", "séc", "aprox")  # and these, also at the end of a compound
_LANGUAGES: Final = ("english", "german", "french", "spanish", "italian", "portuguese", "dutch", "polish", "russian")
_NUMBER: Final = re.compile(r"\d|№|[Nn]r?[.º°]|[IVXLC]{2,}\b")
_WORD: Final = re.compile(r"[^\W\d_]")
_LAST_WORD: Final = re.compile(r"([^\W\d_]{1,8})\.\Z")
_FOREIGN_LETTER: Final = re.compile(r"[^\W\d_a-zA-Z]")
# "Am 3. Mai", "im 19. Jahrhundert"; in English the word before such a number is another one.
_ORDINAL: Final = re.compile(
    r"(?:(?<![\w'’])(?:(?<!\bI )[Aa]m|[Vv]om|[Zz]um|[Zz]ur|[Bb]is|[Dd]e[rmns]|[Ss]eit|[Aa]b|[Ii]m|[Uu]nd) \d{1,2}|"
    r"(?<![\w.])\d{1,2}\. (?:[Uu]nd|[Bb]is|oder) \d{1,2})\.\Z"
)
_ANOTHER: Final = re.compile(r"(?:Dann|Da|Er|Sie|Es|Ich|Wir|Und|Aber|Doch|Als|Nun|Jetzt|Die|Der|Das|Eine?)\b")
_LETTER_END: Final = re.compile(r"(?:\A|(?<=[\s(\"“„«»—]))[^\W\d_A-Z]\.\Z")  # the first half of "z. B."
_LETTER: Final = re.compile(r"[^\W\d_]\.")
_MONTH: Final = re.compile(r"(?:Januar|Jänner|Februar|März|Mai|Juni|Juli|Oktober|Dezember|Stock|Jahrhundert)\b")
_DAY: Final = re.compile(r"(?<![\w.,])\d{1,2}\.\Z")
# Two or three numbers with points: "1998. 3. 2. 아침에", "am 3. 5. 1945"; as CLDR has the dates of many languages.
_DATE: Final = re.compile(r"(?<![\w.,])(?:\d{1,4}\. )?\d{1,2}\. \d{1,2}\.\Z")
_DATE_PARTS: Final = re.compile(r"(?<![\w.,])\d{1,4}\. \d{1,2}\.(?= )")
# Ends that the tokenizer does not know: in other scripts (six points only behind more than a stammer, and before what
# can begin a sentence), and behind the unit of a number.
_EASTERN_END: Final = re.compile(
    rf"(?:[{_EASTERN_STOPS}]++|(?<=[\u4e00-\u9fff]{{4}})……(?=(?![但可然而却卻又也还還就才都并並则則便仍最终終])[\u4e00-\u9fff]))"
    rf"(?:[{_CLOSERS.replace('“', '').replace('‘', '')}]|[“‘](?=\s|\Z))*+|"
    r"(?<=[\dIVX] )(?:h|min|k?[gm]|cm|l|гг?|вв?|ч)\.(?= [^\W\d_a-zß-ÿа-я])|(?:(?<=до )н\. ?э|J\.-C)\.(?= [A-ZÀ-ÞА-Я])|"
    r"\.\.\.(?= (?:El|Il|L[aeo]s?|Gli|Un[ae]?|Um[ao]?|[AO]s?|De|Het|Een) [a-zß-ÿ])"
)
_AT_ENDS: Final = _CLOSERS.replace("\\", "") + " \u00a0\u202f"
_BARE_ENDS: Final = ("」", "』")  # Japanese speech has no full stop at its end
_THAI: Final = re.compile(r"[\u0e01-\u0eff]\Z")  # Thai and Lao sentences end without a sign
_HINDI: Final = re.compile(r"[\u0900-\u097f]\Z")
_HAN: Final = re.compile(rf"[{CHARACTERS}]\Z")
_OPENERS: Final = "«“„"
_PAIR: Final = 2
_TAIL: Final = 24
_ABBREVIATED: Final = re.compile(r"(?:\A|[\s(\"“])(?:St|No|[A-Z])\.\Z")
_DECISIONS: Final = 1 << 15  # remembered
_SHORT_CONTEXT: Final = 40  # characters
_SHORT_TEXT: Final = 1000  # characters

Span = tuple[int, int]


@cache
def _tokenizer() -> Any:  # noqa: ANN401 - the package has no types we may import early
    from punkt import PunktSentenceTokenizer, load_model  # noqa: PLC0415 - reads a model file

    class Remembering(PunktSentenceTokenizer):
        """A tokenizer that remembers its decisions, because short contexts recur and texts are read repeatedly."""

        @lru_cache(maxsize=_DECISIONS)  # noqa: B019 - there is one tokenizer
        def _short(self, context: str) -> bool:
            return bool(super()._context_has_sentbreak(context))

        def _context_has_sentbreak(self, context: str) -> bool:
            known = len(context) <= _SHORT_CONTEXT
            return self._short(context) if known else bool(super()._context_has_sentbreak(context))

    model = load_model("english")
    words = model.abbrev_types & {*_table()["words"].split()}
    return Remembering(replace(model, abbrev_types=model.abbrev_types - words, numeric_abbrev_types=words))


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "short_forms.toml").read_text(encoding="utf-8"))


def _tag_of(text: str) -> str:
    """The language whose doubtful short forms count; "*" for any but English."""
    return language_of(text, "*" if _FOREIGN_LETTER.search(text) else "")


@cache
def _short_forms(tag: str) -> re.Pattern[str]:
    """The end of a text that is a short form, with the doubtful ones of this language."""
    rows = _table()["before_names"].items()
    forms = " ".join(f"{sure} {doubtful if tag in {one, '*'} else ''}" for one, (sure, doubtful) in rows).split()
    small = "|".join(form for form in forms if form == form.lower())
    large = "|".join(form for form in forms if form != form.lower())
    return re.compile(rf"(?:\A|(?<=[\s(\"“„«»—'’]))(?:(?i:{small})|{large}|{_POINTED})\.\Z")


@cache
def _before_numbers() -> frozenset[str]:
    """What ends no sentence before a number: the tokenizer's own lists, of all languages that briefs are written in."""
    from punkt.model.prefixes import curated_abbreviations, nonbreaking_prefixes  # noqa: PLC0415 - not for all texts

    found = set[str]()
    for language in _LANGUAGES:
        always, counting = nonbreaking_prefixes(language)
        found |= (always - COMMON_WORDS) | counting | curated_abbreviations(language)[1]
    return frozenset(found)


def _counts(tail: str) -> bool:
    """Whether a text ends with what stands before a number, such as "No." or "séc."."""
    found = _LAST_WORD.search(tail)
    word = found[1].casefold() if found else ""
    return word in _before_numbers() or word.endswith(_COUNTING)


def paragraph_spans(text: str) -> list[Span]:
    """The start and end of each paragraph, without surrounding white space; blank lines separate paragraphs."""
    borders = [0]
    for found in _BREAK.finditer(text):
        borders += [found.start(), found.end()]
    borders.append(len(text))
    trimmed = (_trim(text, a, b) for a, b in zip(borders[::2], borders[1::2], strict=True))
    return [span for span in trimmed if span[0] < span[1]]


def paragraphs(text: str) -> list[str]:
    """The paragraphs of `text`, without surrounding white space."""
    return [text[a:b] for a, b in paragraph_spans(text)]


def spans(text: str) -> list[Span]:
    """The start and end of each sentence; spans are separated only by white space.

    The end of a paragraph always ends a sentence. The end of a line ends a sentence only after a mark that can end one,
    or before a list mark. A quotation and its speech tag count as one sentence.
    """
    return list(_spans(text))


@remembered(256, _SHORT_TEXT)  # readers of a reply look at its lines one after the other
def _spans(text: str) -> list[Span]:
    return list(each_span(text))


def each_span(text: str) -> Iterator[Span]:
    """`spans`, found one paragraph at a time."""
    tag = _tag_of(text)
    return (span for start, end in paragraph_spans(text) for span in _in_paragraph(text, start, end, tag))


def spans_at(text: str, low: int, high: int) -> list[Span]:
    """The start and end of each sentence that contains something between two places."""
    tag = _tag_of(text)
    touched = [(start, end) for start, end in paragraph_spans(text) if start < high and low < end]
    return [(a, b) for one in touched for a, b in _in_paragraph(text, *one, tag) if a < high and low < b]


def sentences(text: str) -> list[str]:
    """The sentences of `text`, in order, without surrounding white space."""
    return [text[a:b] for a, b in spans(text)]


def ends_whole(text: str) -> bool:
    """Whether `text` ends at a possible end of a sentence."""
    tail = text.rstrip()[-_TAIL:]
    said = tail.rstrip(_AT_ENDS)
    stopped = said.endswith((*_STOPS, *(("—", "–", "-") if said != tail else ())))
    return (
        (stopped and not (_ABBREVIATED.search(tail) or _short_forms("").search(tail)))
        or tail.endswith(_BARE_ENDS)
        or bool(_THAI.search(said))
    )


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - (len(piece) - len(piece.rstrip()))


def _in_paragraph(text: str, start: int, end: int, tag: str) -> Iterator[Span]:
    borders = [start, *(m.end() for m in _LINE.finditer(text, start, end)), end]
    for a, b in pairwise(borders):
        pieces = [(a + s, a + e) for s, e in _tokenizer().span_tokenize(text[a:b])]
        if _EASTERN_END.search(text, a, b):
            pieces = [part for piece in pieces for part in _at_eastern_ends(text, *piece)]
        yield from _joined(text, list(_opened(text, pieces)), tag)


def _opened(text: str, pieces: list[Span]) -> Iterator[Span]:
    """Pieces without white space around them, each with the mark that opens it: a French one stands apart from both."""
    opened = None
    for piece in pieces:
        start, end = _trim(text, *piece)
        start = start if opened is None else opened
        apart = end - start > _PAIR and text[end - 1] in _OPENERS and text[end - 2].isspace()
        opened = end - 1 if apart and piece is not pieces[-1] else None
        yield (start, end) if opened is None else _trim(text, start, opened)


def _at_eastern_ends(text: str, start: int, end: int) -> Iterator[Span]:
    """A piece parted where a sentence ends in a script whose full stops the tokenizer does not know."""
    for stop in _EASTERN_END.finditer(text, start, end):
        yield start, stop.end()
        start = stop.end()
    yield start, end


def _joined(text: str, pieces: list[Span], tag: str) -> Iterator[Span]:
    """Pieces with those put together again that belong to one sentence."""
    current: Span | None = None
    for start, end in pieces:
        if start >= end:
            continue
        at = start
        if current and _SHUT.match(text, start, end):
            current, at = (current[0], start + 1), start + 2
        if current is None:
            current = (at, end)
        elif _belongs(text, current, at, tag):
            current = (current[0], end)
        else:
            yield current
            current = (at, end)
    if current is not None:
        yield current


def _belongs(text: str, before: Span, start: int, tag: str) -> bool:
    """Whether what starts at `start` continues with the sentence before it."""
    dash = _DASHED.match(text, start)
    at = dash.end() if dash else start
    small = text[at : at + 1].islower()
    if _CLOSING.match(text, start):
        return True
    if text.endswith(_QUOTED_END, before[0], before[1]):
        return small or bool(_TAG.match(text, start) or _EASTERN_TAG.match(text, start))
    tail = text[max(before[0], before[1] - _TAIL) : before[1]]
    return bool(
        _short_forms(tag).search(tail)
        or (_NUMBER.match(text, start) and _counts(tail))
        or _DOUBLED.match(text, before[1] - 3)
        or _DATE.search(tail)
        or _DATE_PARTS.match(text, max(before[0], text.rfind(" ", before[0], before[1]) + 1))
        or (_LETTER_END.search(tail) and _LETTER.match(text, start))
        or (_DAY.search(tail) and _MONTH.match(text, start))
        or (_ORDINAL.search(tail) and not _ANOTHER.match(text, start))
        # "usw. und", "— Qui ? dit-il"
        or (small and text[before[1] - 1] in ".?!" and (first := _WORD.search(text, *before)) and first[0].isupper())
        or (small and (dash or _MID_END.search(tail[-8:])))
    )


def as_sentence(text: str) -> str:
    """`text` on one line, with a full stop added if the text has none."""
    line = one_line(text)
    if line.endswith((*_STOPS, *_QUOTED_END)):
        return line
    return line + ("।" if _HINDI.search(line) else "。" if _HAN.search(line) else "" if _THAI.search(line) else ".")


def whole_sentences(text: str) -> str:
    """`text` up to the end of its last complete sentence; empty if there is none."""
    pieces = spans(text)
    while pieces and not ends_whole(text[slice(*pieces[-1])]):
        pieces.pop()
    return text[: pieces[-1][1]].strip() if pieces else ""
