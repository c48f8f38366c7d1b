"""A character's turn in a reply, and checks whether it repeats an earlier turn, leaves the play, or says a word."""

# ruff: noqa: RUF001 - titles, brackets and colons of other scripts

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MARKS: Final = " \t*_>#-•"
_ASIDE: Final = r"(?:[ \t]*[(\[（［【][^)\]）］】\n]{1,60}[)\]）］】])?"
_KNOWN: Final = tomllib.loads((Path(__file__).parent / "titles.toml").read_text(encoding="utf-8"))
_TITLES, _HONOUR = ("|".join(_KNOWN[where].split()) for where in ("before", "behind"))
_ARTICLES: Final = r"(?:(?:the|der|die|la|le|el|il|lo|o|a|de|het) |l['’] ?)"
_TITLE: Final = re.compile(rf"(?:{_TITLES})\.?", re.IGNORECASE)
_EASTERN_NAME: Final = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]{2,5}|[\uac00-\ud7a3]{2,4}")
_MODEL: Final = re.compile(
    r"\b(?:as an? (?:ai\b|language model|assistant|large language)|i(?:['\u2019]m| am) (?:just |only )?an? (?:ai\b|"
    r"language model|virtual assistant)|openai|chatgpt|my training data)",
    re.IGNORECASE,
)
_SORRY: Final = re.compile(
    r"\A\W*(?:i(?:['\u2019]m| am) (?:very |so )?sorry|i apologi[sz]e|apologies)\b.{0,60}\b(?:confusion|assist|request|"
    r"role[- ]?play|character|script|conversation)\b",
    re.IGNORECASE | re.DOTALL,
)
_STAGE: Final = re.compile(
    r"\b(?:the director(?:['\u2019]s)? (?:guidance|instructions?|notes?)|(?:my|the|this|next) (?:script|dialogue) "
    r"lines?|(?:stay|remain|staying) in character|(?:this|the) role[- ]?play|(?:the|your) prompt)\b",
    re.IGNORECASE,
)
# How what the patterns above find may begin, at the end of a text that goes on.
_LEAVING: Final = re.compile(
    r"\b(?:as(?: an?(?: large)?)?|i(?:['\u2019]m| am)?(?: just| only| very| so)?(?: an?)?|my(?: training)?|"
    r"stay|remain|staying|(?:the|this|next|my)(?: director(?:['\u2019]s)?| script| dialogue| role)?|"
    r"(?:stay|remain|staying) in|your|(?:as an?|(?:i['\u2019]m|i am)(?: just| only)? an?) (?:language|virtual)|"
    r"open|chat)\Z",
    re.IGNORECASE,
)
_APOLOGY: Final = re.compile(
    r"\A\W*(?:i(?:['\u2019]m| am) (?:very |so )?sorry|i apologi[sz]e|apologies)\b", re.IGNORECASE
)
_OPENING, _SORRY_LETTERS = 48, 120  # letters of a turn in which it leaves its part, and by which an apology is judged


def read_turn(text: str, name: str, others: Sequence[str], *, whole: bool = False) -> str:
    """The turn of `name` in a reply, without the name before it; possibly empty.

    Everything from the first turn of another speaker on is left out.

    Args:
        text: the reply.
        name: the name of the speaker.
        others: the names of others who may speak in the reply.
        whole: whether to return all lines of the turn; otherwise only the first, the useful part of a small model's
            reply.
    """
    own = _label(called(name))
    foreign = _label([other for other in others if other.casefold() != name.casefold()])
    turn: list[str] = []
    for raw in text.splitlines():
        line = raw.strip().lstrip(_MARKS)
        if foreign is not None and foreign.match(line):
            break
        said = own.sub("", line, count=1).strip() if own is not None else line
        if said.strip(_MARKS):
            turn.append(said if said != line or not (turn or whole) else raw.strip())
            if not whole:
                break
        elif turn:
            turn.append("")
    return "\n".join(turn).strip()


def _label(names: Sequence[str]) -> re.Pattern[str] | None:
    """What stands before a speech of one of `names`."""
    known = named(names)
    return re.compile(rf"[*_]*{known}[*_]*{_ASIDE}[*_]*[ \t]*[:：][*_]*[ \t]*", re.IGNORECASE) if known else None


def called(name: str) -> tuple[str, ...]:
    """What may stand for a name before its bearer's speech: the name itself, and each of its parts but titles.

    The parts of an East Asian name, which no blank divides, are what it may begin and end with, of two signs or more.
    """
    if _EASTERN_NAME.fullmatch(name):
        parts = [name[:at] for at in range(2, len(name))] + [name[-at:] for at in range(2, len(name))]
    else:
        *first, last = name.split() or [""]
        parts = [*(part for part in first if not _TITLE.fullmatch(part)), last] if first else []  # "Kate Bishop"
    return (name, *parts)


def named(names: Iterable[str]) -> str:
    """A pattern for one of `names`, with titles before it or behind it or without one; empty for no names.

    A family name of one sign stands there only with a title.
    """
    every = {name for name in names if name.strip()}
    known = "|".join(sorted(map(re.escape, every), key=len, reverse=True))
    first = "".join(sorted({name[0] for name in every if _EASTERN_NAME.fullmatch(name)}))
    short = rf"|[老小阿]?[{first}](?=[ \t]?(?:{_HONOUR}))|[老小阿][{first}](?![\w])" if first else ""
    before = rf"(?:{_ARTICLES}?(?:(?:{_TITLES})(?:\.ª? ?| )){{1,3}})?"
    return rf"{before}(?:{known}{short})[ \t]?(?:{_HONOUR})?" if known else ""


def leaves_part(text: str) -> bool:
    """Whether a turn speaks as a model or about the play, instead of as the character."""
    return bool(_MODEL.search(text) or _SORRY.match(text) or _STAGE.search(text))


def leaves_at(text: str, *, coming: bool = False) -> int | None:
    """Where a turn leaves its part in its first words; with `coming`, also where it may turn out to do so."""
    if _SORRY.match(text):
        return 0
    if coming and len(text) < _SORRY_LETTERS and _APOLOGY.match(text):
        return 0
    found = [match.start() for pattern in (_MODEL, _STAGE) if (match := pattern.search(text))]
    if coming and (open_ := _LEAVING.search(text[-_OPENING:])):
        found.append(max(len(text) - _OPENING, 0) + open_.start())
    first = min(found, default=_OPENING)
    return first if first < _OPENING else None


def repeats_earlier(text: str, earlier: Iterable[str], threshold: float) -> bool:
    """Whether the similarity of `text` to one of `earlier`, by Levenshtein distance, exceeds `threshold` (0 to 1)."""
    from rapidfuzz.distance import Levenshtein  # noqa: PLC0415 - needed by one system alone

    said = text.casefold()
    return any(Levenshtein.normalized_similarity(said, other.casefold()) > threshold for other in earlier)


def says(text: str, word: str) -> bool:
    """Whether `word` (or a run of words) occurs in a text as a whole word, ignoring case."""
    wanted = " ".join(word.split())
    alone = re.compile(rf"(?<!\w){re.escape(wanted)}(?!\w)", re.IGNORECASE)
    return bool(wanted) and alone.search(" ".join(text.split())) is not None
