"""What is read in twelve languages without a model, on cases made by hand.

    python -m benchmarks languages

`languages.toml` has a case in each line. `=>` comes before what is to be found: `~900` is a length of about 900 words
(10 % to each side), `<900` one of at most, `>900` one of at least that; `|` divides sentences and pieces of dialogue.
`before` and `after` are chatter around a story, which must go; `stays` are lines of a story, which must not.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row, Table
from fabula.base.errors import FabulaError
from fabula.craft.length import read_range
from fabula.engine.replies import clean_prose
from fabula.engine.replies.dialogue import read_said
from fabula.story.language import language_of_brief
from fabula.story.sentences import sentences
from fabula.story.speech import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TITLE: Final = "what is read without a model in twelve languages: cases that are read wrongly"
_CASES: Final = Path(__file__).with_suffix(".toml")
_OTHER: Final = "Mara"  # who else talks in a chat


def bench() -> Table:
    """The share of wrong cases in each group, and each wrong case in the notes."""
    cases = tomllib.loads(_CASES.read_text(encoding="utf-8"))
    stories = cases.pop("stories")
    reads: dict[str, Callable[[str, str], bool]] = {
        "lengths": lambda case, _: _is_length(case),
        "sentences": _are_sentences,
        "dialogue": lambda case, _: _is_dialogue(case),
        "before": lambda case, tag: _cleaned(f"{case}\n\n{stories[tag]}") == stories[tag],
        "after": lambda case, tag: _cleaned(f"{stories[tag]}\n\n{case}") == stories[tag],
        "stays": lambda case, tag: all(one == _cleaned(one) for one in _around(case, stories[tag])),
        "chat": lambda case, _: _is_line(case),
        "briefs": lambda case, tag: language_of_brief(case).removesuffix("-Hant") == tag,
    }
    rows, wrong = list[Row](), list[str]()
    for group, by_language in cases.items():
        missed = _missed(by_language, reads[group])
        count = sum(len(text.splitlines()) for text in by_language.values())
        rows.append(Row(f"{group}: wrong of {count}", (float(len(missed)),), "", most=0))
        wrong += [f"{group}, {case}" for case in missed]
    return Table("languages", TITLE, tuple(rows), tuple(wrong))


def _missed(by_language: Mapping[str, str], reads: Callable[[str, str], bool]) -> list[str]:
    found = ((tag, case) for tag, text in by_language.items() for case in text.splitlines())
    return [f"{tag}: {case}" for tag, case in found if not reads(case, tag)]


def _is_length(case: str) -> bool:
    brief, wanted = case.rsplit(" => ", 1)
    try:
        found = read_range(brief)
    except FabulaError:
        return False
    if found is None or wanted == "None":
        return found is None and wanted == "None"
    return all(abs(a - b) <= 1 for a, b in zip((found.low, found.high), _range_of(wanted), strict=True))


def _range_of(wanted: str) -> tuple[int, int]:
    """The fewest and the most words, as `fabula.craft.length` widens one number."""
    shares = {"~": (0.9, 1.1), "<": (0.75, 1.0), ">": (1.0, 1.25)}
    if wanted[0] in shares:
        low, high = (round(share * int(wanted[1:])) for share in shares[wanted[0]])
        return low, high
    low, high = map(int, wanted.split("-"))
    return low, high


def _are_sentences(case: str, tag: str) -> bool:
    parts = case.split("|")
    return sentences(("" if tag in ("zh", "ja") else " ").join(parts)) == parts


def _is_dialogue(case: str) -> bool:
    text, wanted = case.split(" =>", 1)
    found = spoken(text.replace("\\n", "\n")).split("\n")
    return _filled(found) == _filled(wanted.split("|"))


def _filled(pieces: list[str]) -> list[str]:
    return [piece.strip() for piece in pieces if piece.strip()]


def _is_line(case: str) -> bool:
    reply, name, action, message = (one.strip() for one in case.split("=>"))
    said = read_said(reply, name, (name, _OTHER))
    return (said.action, said.message) == (action, message)


def _around(case: str, story: str) -> tuple[str, str]:
    return f"{case}\n\n{story}", f"{story}\n\n{case}"


def _cleaned(reply: str) -> str:
    return clean_prose(reply, labels=(), last=True, aids=False).text
