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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fabula.base.remembering import remembered

if TYPE_CHECKING:
    from collections.abc import Mapping

_TURNED: Final = "¡¿"
_NEVER: Final = "(?!)"
_BLANKLESS: Final = frozenset({"zh", "ja", "ko"})  # no border of a word that a pattern knows
_NUMBERED: Final = r"[(（]?[^\W\d][^\d()（）:：\n]{1,24}[:：] ?\d[\d.,]{2,6}[)）]?\Z"  # "(Wortzahl: 512)"


@cache
def _words() -> Mapping[str, Mapping[str, str]]:
    return tomllib.loads((Path(__file__).parent / "chatter.toml").read_text(encoding="utf-8"))


@remembered(16)
def _patterns(tag: str) -> tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    """What opens and what closes a reply in one language; nothing for a language that is not known."""
    if tag not in _words():
        return (), ()
    words = {kind: f"(?:{forms})" for kind, forms in _words()[tag].items()}
    begin, end, more = ("", "", r"[^\n，。！:：]{0,8}") if tag in _BLANKLESS else (r"(?<!\w)", r"(?!\w)", "")
    if tag in {"de", "nl"}:  # the last part of a compound is the text: "Kurzgeschichte"
        begin = ""
    text, here, near = begin + words["work"], words["here"] + end, r"[^\n.!?。！？:：]{0,60}?"
    yes = rf"{words['yes']}{end}{more} ?[!,.！，。、][!., ]{{0,2}}[¡¿]?"
    opening: tuple[str, ...] = (
        rf"(?:{yes})?{here}{near}{text}[^\n!?。！？]{{0,140}}[:：]\Z",
        rf"(?:{yes})?{near}{text}[^\n!?。！？:：]{{0,40}}?{words['follows']}[^\n!?。！？:：]{{0,12}}[:：]\Z",
        rf"{yes}[^\n:：]{{0,80}}?{text}[^\n:：]{{0,100}}[:：]\Z",
        rf"{yes}{here}{near}{text}[^\n!?。！？:：]{{0,100}}[.!。！]\Z",
    )

    def says(forms: str) -> str:
        return rf"(?=[^\n]{{0,200}}?{forms})"

    if tag == "en":  # "Here is the text of the letter:" may begin a story; `chatter` reads announcements alone
        opening = opening[2:]

    offer, changed = words["offer"], rf"[^\n]{{0,120}}?{words['change']}[^\n]{{0,160}}\Z"
    goal = rf"(?:{text}|{begin}{words.get('meets', _NEVER)})"
    mark = rf"[(（\[]?(?:[^\W\d]{{1,12}}\.? |约|約|약 |~|≈)?\d[\d.,]{{1,6}} ?{words['words']}[.)）\]]{{0,2}}\Z"
    note = rf"[(（\[]?[^\W\d_]{{1,14}} ?[:：]{says(text)}[^\n]{{0,60}}(?:\d{{3}}|[百千])[^\n]{{0,6}}?{words['words']}"
    closing = [
        rf"{words['wish']}[^\n]{{0,120}}\Z",
        rf"{words['hope']}{end}{says(begin + words['you'] + end)}[^\n]{{0,120}}?{goal}[^\n]{{0,160}}\Z",
        rf"{offer}[^\n]{{0,120}}?{words['edit']}[^\n]{{0,160}}\Z",
        rf"{says(words['tell'])}{offer}{changed}",
        rf"{says(begin + words.get('can', _NEVER) + end)}{says(text + end)}{offer}{changed}",
        *(_NUMBERED, mark, rf"{note}[^\n]{{0,12}}\Z"),
    ]
    if tag in _BLANKLESS:  # the verb is the last word of a sentence
        closing.append(rf"[^\n]{{0,60}}?{words['change']}[^\n]{{0,60}}?{words['tell']}[^\n]{{0,60}}\Z")
    if tag in {"ja", "ko"}:
        closing.append(rf"[^\n]{{0,60}}?{words['hope']}[^\n]{{0,60}}?{words['you']}[^\n]{{0,60}}\Z")
    made: list[re.Pattern[str]] = []
    for form in (*opening, *closing):
        made.append(re.compile(form, re.IGNORECASE))  # noqa: PERF401 - tests find who builds a pattern by its frame
    return tuple(made[: len(opening)]), tuple(made[len(opening) :])


def opens(line: str, tag: str) -> bool:
    """Whether a line announces the text that follows, in the language of this tag."""
    return any(pattern.match(line.lstrip(_TURNED)) for pattern in _patterns(tag.partition("-")[0])[0])


def closes(line: str, tag: str) -> bool:
    """Whether a line is a wish for the reader of a text, or an offer to change it, in the language of this tag."""
    return any(pattern.match(line.lstrip(_TURNED)) for pattern in _patterns(tag.partition("-")[0])[1])
