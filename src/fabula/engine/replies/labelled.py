"""Records of labelled lines in a reply (`Place: ...`, `**Name:** ...`), read as models like to write them.

Tolerated are bullets, numbering, asterisks, quotation marks, capitals or none, and several labels on one line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.story.sentences import ends_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEAD: Final = r"[ \t>*_#•\-]*(?:\d{1,2}[.)][ \t*_]*)?"
_CLOSE: Final = r"(?: \d{1,2})?[ \t]*+[*_]*+[ \t]*+:[ \t]*+[*_]*+[ \t]*+"
_SCENE: Final = r"(?:scene \d+[ \t:.,\-]*[*_]*)?"
_ENTRY: Final = re.compile(
    r"\A[ \t>•#\-*\d.)]*+[*_\[\"]*+(?P<name>[^\W\d_][^:*_\n\]]{0,60}?)[*_\]\"]*[ \t]*"
    r"(?::| [-\u2013\u2014] )[*_]*[ \t]*(?P<rest>\S.*)"
)
_CLAUSE: Final = re.compile(r"(?:(?<!\s)\s++)?+(?:[,;:(\u2013\u2014]\s*+|\.\s++|(?<=\s)-\s++)")
_ARTICLE: Final = r"\b(?:the|a|an|his|her|their|my|our|its)\s+(?:\w+\s+){0,2}?"
_ROLE: Final = re.compile(r"(?:(?:he|she|they)\s+)?(?:(?:is|was)\s+)?(?:the|a|an)\s+([^\n]+)", re.IGNORECASE)
_ROLE_ENDS: Final = re.compile(r"[,;:.()]|\b(?:who|whose|of|with|and|that|in|at|from|is|was|to)\b")


def read_labelled_line(line: str, labels: Sequence[str]) -> tuple[str, str] | None:
    """Which of `labels` a line begins with, and what stands behind it; `None` if with none."""
    for label in labels:
        found = re.match(rf"{_LEAD}{_SCENE}{re.escape(label)}{_CLOSE}", line, re.IGNORECASE)
        if found:
            return label, line[found.end() :]
    return None


def split_labels(line: str, labels: Sequence[str]) -> list[str]:
    """A line in pieces, of which each but the first begins with one of `labels`."""
    one = "|".join(re.escape(label) for label in labels)
    gap = rf"(?:(?<=[^\W\d])|(?<=[^\W\d][.,;!?\")]))[ \t]+[*_]*(?=(?:{one})[*_]*[ \t]*:)"
    return re.split(gap, line, flags=re.IGNORECASE)


def split_at_label(text: str, label: str) -> list[str]:
    """What stands before the first `label` of a line, and, if it is there, what stands behind it."""
    return re.split(
        rf"(?:(?<![ \t,;\-])[ \t,;\-]++)?+(?:(?<![*_])[*_]++)?+{re.escape(label)}{_CLOSE}",
        text,
        maxsplit=1,
        flags=re.IGNORECASE,
    )


def read_entry(line: str) -> tuple[str, str] | None:
    """A line `Mara: a keeper` or `1. **Mara** - a keeper` as name and text."""
    found = _ENTRY.fullmatch(line)
    return (found["name"], found["rest"]) if found else None


def without_label(text: str, label: str) -> str:
    """`text` without `label` at its start, and without the rest of a line that holds nothing else."""
    return re.sub(rf"\A\s*{re.escape(label.strip())}[ \t]*\n?", "", text)


def first_clause(text: str) -> tuple[str, str]:
    """The first clause, and what follows it; both without the signs between them."""
    for sign in _CLAUSE.finditer(text):
        if sign[0].startswith(".") and not ends_whole(text[: sign.start() + 1]):
            continue  # "Mrs. Aalders"
        return text[: sign.start()].rstrip("."), text[sign.end() :].strip(" )")
    return text.rstrip("."), ""


def words_in(text: str) -> list[str]:
    """The words of `text` as they are written."""
    return re.findall(r"[\w'\u2019-]+", text)


def holds_word(text: str, word: str) -> bool:
    """Whether `word` stands in `text` as a word, in the same letters."""
    return bool(re.search(rf"\b{re.escape(word)}\b", text))


def holds_called(text: str, word: str) -> bool:
    """Whether `text` speaks of "the `word`", also with up to two words between, in any letters."""
    return bool(re.search(rf"{_ARTICLE}{re.escape(word)}\b", text, re.IGNORECASE))


def role_in(description: str, name: str) -> str:
    """The noun that a description begins with: "captain" in "Ahab is the old captain of a whaler"; else empty."""
    found = _ROLE.match(description.removeprefix(name).lstrip())
    phrase = words_in(_ROLE_ENDS.split(found.group(1), maxsplit=1)[0]) if found else []
    return phrase[-1] if phrase and phrase[-1].isalpha() else ""
