"""Verdicts at the end of a side-by-side assessment: `Plot: A`, `Overall: Same`.

They are read only from the ending. A judge quotes the stories, and a story may have lines that look like verdicts, so
nothing in a quotation counts, and nothing above the last block of such lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from fabula.engine.replies.problem import ReplyProblem

SIDES: Final = ("A", "B", "Same")

_I: Final = re.IGNORECASE
_SCANNED: Final = 20_000
_AFTER: Final = 4  # lines of a closing remark that may follow the verdicts
_QUOTED: Final = re.compile(r"\A[ \t]*(?:>|&gt;|[\"\u201c\u201d\u00ab\u2018'])")
_FENCE: Final = re.compile(r"\A[ \t]*(?:```|~~~)")
_LEAD: Final = r"[ \t#*_|\-\u2022]*(?:\d{1,2}[.)][ \t*_]*)?"
_CLOSE: Final = r"[ \t]*+[*_]*+[ \t]*+(?:[:=|]|-(?=[ \t*_\[(]*+(?:story|[abs]))|\u2013|\u2014)[ \t]*+[*_]*+[ \t]*+"
_BEHIND: Final = (
    r"(?=[ \t]*+[*_\])\"'}|]*[ \t]*+(?:\Z|[.,;:(\u2013\u2014|]|-[ \t]|because\b|as\b|since\b|is\b|was\b|wins\b))"
)
_VALUE: Final = re.compile(
    r"\A[ \t*_\[(\"'{|]*(?i:the[ \t]+)?(?i:(?:story|response)[ \t*_]*)?"
    r"(?P<side>[AB]|(?i:(?:about |roughly |nearly |both )?(?:the )?same|(?:a )?tied?|(?:a )?draw|(?:both |about )?"
    rf"equal|both|neither)){_BEHIND}"
)
_SIDE_IN_SMALL: Final = re.compile(r"\A[ \t*_\[(\"'{|]*(?P<side>[ab])[ \t*_\])\"'}|.]*\Z")
_LISTED: Final = re.compile(r"\b[AB]\b(?:[ \t,]*(?:or|/|\|)[ \t]*(?:\b(?:[AB]|Same)\b))+", _I)
_LEADING_IN: Final = re.compile(r"\A.*:[ \t*_]*")


def read_verdicts(text: str, labels: Sequence[str]) -> dict[str, str]:
    """The verdicts ("A", "B" or "Same") that the ending of a reply gives on `labels`, in the order of the labels.

    The ending is the last block of lines that begin with a label and hold a verdict; a short remark may follow it.
    Quoted lines are ignored, a fenced block counts only if it is the ending itself, and two different verdicts on one
    label cancel each other.

    Raises:
        ReplyProblem: the ending has no verdict.
    """
    found: dict[str, set[str]] = {}
    for line in _ending(text.strip()[-_SCANNED:], labels):
        for label, said in _said(line, labels):
            found.setdefault(label, set()).add(said)
    verdicts = {label: said for label in labels for said in found.get(label, ()) if len(found[label]) == 1}
    if verdicts:
        return verdicts
    wanted = ", ".join(f"`{label}: ...`" for label in labels)
    raise ReplyProblem(f"It does not end with verdicts. End with the lines {wanted}, each with A, B or Same.")


def _ending(text: str, labels: Sequence[str]) -> list[str]:
    """The last block of lines with verdicts."""
    block: list[str] = []
    after = 0
    for line in reversed(_unquoted(text)):
        if _said(line, labels):
            block.append(line)
        elif block and not _between(line, labels):
            break
        elif not block and line.strip():
            after += 1
            if after > _AFTER:
                break
    return block


def _between(line: str, labels: Sequence[str]) -> bool:
    """Whether a line may stand within the block: a blank one, a rule, a label without a verdict."""
    return not line.strip(" \t-=*_|:`") or any(_label(label).match(line) for label in labels)


def _unquoted(text: str) -> list[str]:
    """The lines that are the judge's own: no quotations, no fenced block but one that is the end."""
    lines = _one_each(text.splitlines())
    fences = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    inner = set[int]()
    for start, end in zip(fences[::2], [*fences[1::2], len(lines)], strict=False):
        if any(line.strip() for line in lines[end + 1 :]):
            inner |= set(range(start, end + 1))
    return [line for number, line in enumerate(lines) if number not in inner and not _QUOTED.match(line)]


def _one_each(lines: Sequence[str]) -> list[str]:
    """The lines, a label that is alone on its line joined with the verdict on the next."""
    joined: list[str] = []
    for line in lines:
        alone = bool(_VALUE.match(line) or _SIDE_IN_SMALL.match(line))
        if alone and joined and len(joined[-1]) < 40 and _LEADING_IN.fullmatch(joined[-1]):  # noqa: PLR2004 - a label
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    return joined


def _label(label: str) -> re.Pattern[str]:
    return re.compile(rf"{_LEAD}{re.escape(label)}{_CLOSE}", _I)


def _said(line: str, labels: Sequence[str]) -> list[tuple[str, str]]:
    """The labels of a line with their verdicts: one, or several one behind the other, each with its verdict."""
    longest = sorted(labels, key=len, reverse=True)
    name = "|".join(re.escape(label) for label in longest)
    pieces = re.split(rf"(?<=[A-Za-z\]])\)?[.,;]?[ \t|*_]*(?=(?:{name})[ \t*_]*[:=|])", line, flags=_I)
    found = []
    for piece in pieces:
        for label in longest:
            head = _label(label).match(piece)
            if head and (side := _side(piece[head.end() :])):
                found.append((label, side))
                break
    return found if len(found) == len(pieces) else []


def _side(said: str) -> str | None:
    if _LISTED.search(said):
        return None
    match = _VALUE.match(said) or _SIDE_IN_SMALL.match(said)
    if match is None:
        return None
    side = match["side"].upper()
    return side if side in SIDES else SIDES[2]


def read_chances(logprobs: Mapping[str, float], options: Sequence[str]) -> dict[str, float]:
    """The probability of each of `options`, from the natural logs of the first tokens' probabilities; the sum is 1.

    A token counts for the option that it begins, ignoring white space ("S" and " Same" for "Same").

    Raises:
        ReplyProblem: no option begins with one of the tokens.
    """
    shares = dict.fromkeys(options, 0.0)
    for token, value in logprobs.items():
        begun = [option for option in options if token.strip() and option.startswith(token.strip())]
        if len(begun) == 1:
            shares[begun[0]] += math.exp(value)
    whole = sum(shares.values())
    if not whole > 0:
        raise ReplyProblem(f"None of its likeliest first words begins one of {', '.join(options)}.")
    return {option: share / whole for option, share in shares.items()}
