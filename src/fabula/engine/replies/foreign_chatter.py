"""Chatter around a text in twelve languages: its announcement before it, and good wishes and offers behind.

Each language has a few words of several kinds (`chatter.toml`). A line counts only if it has words of two or three
kinds in their order. `tests/unit/test_languages_chatter.py` says how many announcements and offers they find; there
they take no story's sentence. A story that begins with "Here is the story of my father:" loses that line, which is
recorded. For English, `chatter` has more.
"""

# ruff: noqa: RUF001 - marks of other scripts

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from fabula.base.remembering import remembered
from fabula.story.speech import SAYS

_TURNED: Final = "¡¿"
_BLANKLESS: Final = frozenset({"zh", "ja", "ko"})  # no border of a word that a pattern knows
_WORD, _END = r"(?<!\w)", r"(?!\w)"
_MORE: Final = r"(?: [^\s.!?,:]{1,9}){0,2}"  # "Great idea!"
_MORE_SIGNS: Final = r"[^\n，。！:：]{0,12}"
_LEAD: Final = r"[^\W\d]{1,6},? "  # "And here is"
_SENTENCE, _STOP = r"(?:[^\n.!?。！？]|\.(?=\d))", r"[.!?。！？]{0,3}\s*\Z"
_OF_NOTHING: Final = (
    r"(?! (?:de[rs]?|du|d[aeo]l?(?:la|lo|s)?|di|van|vo[mn]|of|my|meine[rs]?)(?!\w))"  # "the end of the road"
)
_TOTAL: Final = r"(?:total[ei]?|totaal|(?:ins)?gesamt|razem|łącznie|итого|всего|共计?|总计|總計|合計|총)"
# "This is the story you asked for, said Grandmother": somebody in a story says it.
_TOLD: Final = re.compile(
    rf"[,，] ?(?:(?:{SAYS}|thought|typed|wrote|dachte?|schr(?:ieb|eef)|stand|pensa|écrivit|pens(?:ó|ò|ou)|dec[ií]an?|"
    r"escribió|escreveu|dizia|diceva|scrisse|(?:pomyśl|napis)ał[ao]?|(?:подум|напис)ала?)(?!\w|-)|[他她][说說想]|"
    r"(?:[^\s,.]{1,12} ){1,3}(?:said|says|thought|typed|wrote|whispered|asked)\W*\Z)"
    r"(?! (?:mir|uns|einfach|es|gerne?|bescheid|u|het)\b)",
    re.IGNORECASE,
)
_ABOUT: Final = r"(?:[^\W\d]{1,12}\.? |cerca de |à peu près |más o menos |mais ou menos |mniej więcej |约|約|약 |~|≈)?"


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "chatter.toml").read_text(encoding="utf-8"))


@remembered(16)
def _patterns(tag: str) -> tuple[tuple[re.Pattern[str], ...], ...]:
    """What opens and what closes a reply, and what asks for an opinion, in one language; nothing if it is not known."""
    if tag not in _words():
        return (), (), ()
    words = {kind: f"(?:{forms})" for kind, forms in _words()[tag].items()}
    word, end, more, stop = (_WORD, _END, _MORE, "") if tag not in _BLANKLESS else ("", "", _MORE_SIGNS, ".。")
    begin = "" if tag in {"de", "nl"} else word  # the last part of a compound is the text: "Kurzgeschichte"
    text, here, near = begin + words["work"], words["here"] + end, r"[^\n.!?。！？:：]{0,60}?"
    thing = word + words["part"] + end + _OF_NOTHING
    change = begin + words["change"]
    long = rf"\d[\d.,]{{0,6}}[ -]?{words['words']}"  # "700 words"
    lead = rf"(?:{words['lead']}|{words['as']})[^\n.!?,:！，。：]{{0,40}}"
    yes = rf"(?:{words['yes']}{end}{more}|{lead}) ?[!,.！，。、—–-][!., ]{{0,2}}[¡¿]?"

    def says(*kinds: str) -> str:
        """Words of all these kinds in any order, in one sentence."""
        return "".join(rf"(?={_SENTENCE}{{0,200}}?{kind})" for kind in kinds)

    wished = says(f"(?:{thing}|{text}|{long})", words["as"] + r"\w{0,3}[.!:。！]\Z")
    form = rf"(?:[^\W\d_]{{1,14}} )?[^\W\d_]{{0,14}}?{text}[^\W\d_]{{0,8}}(?: [^\W\d_]{{1,9}})? ?"
    new = says(text + end + _OF_NOTHING, change)
    sorry = rf"{words['sorry']}{end}[^\n]{{0,120}}?"
    opening: tuple[str, ...] = (
        rf"(?:{yes}|{_LEAD})?{here}{near}{text}[^\n!?。！？]{{0,140}}[:：]\Z",
        rf"(?:{yes})?{near}{text}[^\n!?。！？:：]{{0,40}}?{words['follows']}[^\n!?。！？:：]{{0,12}}[:：]\Z",
        rf"{yes}[^\n:：]{{0,80}}?{text}[^\n:：]{{0,100}}[:：]\Z",
        rf"{yes}{here}{near}{text}{_SENTENCE}{{0,100}}[.!。！]\Z",
        rf"{yes}(?:{here}|{near}{words['follows']})[^\n:：]{{0,3}}[:：{stop}]\Z",
        rf"{yes}[^\n:：]{{0,120}}?{long}[^\n:：]{{0,60}}[:：]\Z",
        rf"{says(text, long)}[^\n:：]{{0,160}}[:：]\Z",
        rf"(?:{yes}|(?={here})){says(text, long)}{_SENTENCE}{{0,160}}[.!。！]\Z",
        rf"(?:{yes})?{here}{says(text, words['asked'])}{_SENTENCE}{{0,160}}[.!:。！：]\Z",
        rf"{yes}(?:(?<=[!！])|(?<=[!！] )){wished}{_SENTENCE}{{0,160}}[.!。！]\Z",
        rf"{sorry}{new}[^\n:：]{{0,120}}[:：]\Z",
        rf"{sorry}(?<=[ :：，。！]){here}{new}{_SENTENCE}{{0,120}}[.!。！]\Z",
        rf"{form}[(（\[]{_ABOUT}{long}\W{{0,6}}\Z",
    )
    if tag == "en":  # "Here is the text of the letter:" may begin a story; `chatter` reads announcements alone
        opening = opening[2:]

    offer, can = words["offer"], rf"{word}{words['can']}(?:(?<=['’])|{end})"
    asks, tell = rf"{word}(?:{offer}|{words['as']})", word + words["tell"]
    if tag in {"ja", "ko"}:  # the verb, with what it says of itself, is the last word
        can, asks = can + r"[^\n、,]{0,6}\Z", ""
    wants = rf"{word}(?:{words['want']}|{words['other']}|{words['write']})"
    hoped = says(rf"{word}(?:{words['you']}{end}|{words['meets']})", rf"(?:{text}|{word}{words['meets']})")
    number = rf"[:：][* ]{{0,3}}{_ABOUT}\d[\d.,]{{1,6}}"
    if tag in _BLANKLESS:
        number = rf"(?:{number}|{_ABOUT}{long})"
    count = rf"[(（\[*]{{0,3}}[^\d:：\n.!?。！？]{{0,24}}?{words['count']}[^\d:：\n]{{0,20}}{number}"
    note = rf"[(（\[]?[^\W\d_]{{1,14}} ?[:：]{says(text)}[^\n]{{0,60}}(?:\d{{3}}|[百千])[^\n]{{0,6}}?{words['words']}"
    closing = [
        rf"{words['wish']}[^\n]{{0,120}}\Z",
        rf"{words['hope']}{end}{hoped}[^\n]{{0,240}}\Z",
        rf"{offer}[^\n]{{0,120}}?{words['edit']}[^\n]{{0,160}}\Z",
        rf"{says(tell)}{offer}[^\n]{{0,120}}?{change}[^\n]{{0,160}}\Z",
        rf"{says(can, f'(?:{text}|{thing})', change, asks)}{_SENTENCE}{{0,240}}{_STOP}",
        rf"{says(can, thing, begin + words['write'], asks)}{_SENTENCE}{{0,240}}{_STOP}",
        rf"{says(tell, thing, wants, asks)}{_SENTENCE}{{0,240}}{_STOP}",
        rf"{offer}{says(thing, word + words['other'])}[^\n]{{0,120}}[?？]\Z",
        rf"{words['above']}{end}{says(text, words['as'])}{_SENTENCE}{{0,160}}{_STOP}",
        *(rf"(?:{_TOTAL} ?[:：] ?)?{_ABOUT}{long}[.)）\]]{{0,2}}\Z", rf"[(（\[][^\d\n]{{0,24}}{long}[.)）\]]{{1,2}}\Z"),
        *(rf"{count}[^\d\n]{{0,24}}\Z", rf"{note}[^\n]{{0,12}}\Z"),
    ]
    near = f"{_SENTENCE}{{0,60}}"
    if tag in _BLANKLESS:  # the verb is the last word of a sentence
        closing.append(rf"{near}?{words['change']}{near}?{words['tell']}{near}{_STOP}")
    if tag in {"ja", "ko"}:
        closing.append(rf"{near}?{words['hope']}{near}?{words['you']}{near}{_STOP}")
    made: list[re.Pattern[str]] = []
    for form in (*opening, *closing, words["ask"]):
        made.append(re.compile(form, re.IGNORECASE))  # noqa: PERF401 - tests find who builds a pattern by its frame
    return tuple(made[: len(opening)]), tuple(made[len(opening) : -1]), (made[-1],)


def opens(line: str, tag: str) -> bool:
    """Whether a line announces the text that follows, in the language of this tag."""
    return _says(line, tag, 0)


def closes(line: str, tag: str) -> bool:
    """Whether a line is a wish for the reader of a text, or an offer to change it, in the language of this tag."""
    return _says(line, tag, 1)


def asks(sentence: str, tag: str) -> bool:
    """Whether a sentence asks how somebody likes a text, in the language of this tag."""
    return _says(sentence, tag, 2)


def _says(line: str, tag: str, what: int) -> bool:
    said = line.lstrip(_TURNED)
    return any(p.match(said) for p in _patterns(tag.partition("-")[0])[what]) and not _TOLD.search(line)
