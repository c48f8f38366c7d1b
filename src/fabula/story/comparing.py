"""Sentence-by-sentence comparison of two texts, and merging of two texts with a common origin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby, pairwise, zip_longest
from typing import Final, Literal

from fabula.story.sentences import paragraph_spans, spans
from fabula.story.words import BLANKLESS

_LINE: Final = re.compile(r"[^\n]+")
_WORD: Final = re.compile(r"\w+")
_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")
_SIGN: Final = re.compile(r"\s+|[a-zA-Z0-9]+|.", re.DOTALL)  # where no blanks stand between words
_ALIKE: Final = 0.4  # the share of common words from which one sentence counts as the other one, changed
_PAIRS: Final = 20_000  # are compared with each other at most; of more, the first goes with the first
_STEPS: Final = 200_000  # of one search for what two sequences have in common

PieceKind = Literal["same", "gone", "new"]
_Two = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that are in both texts ("same"), only in the old text ("gone") or only in the new text ("new")."""

    kind: PieceKind
    text: str


@dataclass(frozen=True, slots=True)
class TextStretch:
    """A stretch of the old text and its counterpart in the new text.

    Attributes:
        number: the number of the stretch among those that differ, counted from 1; 0 if its two texts are equal.
        start: the position in the old text at which the stretch begins.
        old: the stretch in the old text, with the preceding white space.
        new: the stretch in the new text, with the preceding white space.
    """

    number: int
    start: int
    old: str
    new: str

    @property
    def end(self) -> int:
        """The position in the old text at which the stretch ends."""
        return self.start + len(self.old)


@dataclass(frozen=True, slots=True)
class TextConflict:
    """A stretch that two people have changed in different ways.

    Attributes:
        start: the position of the stretch in the merged text, which contains `mine`.
        base: the stretch in the common origin.
        mine: the first person's version.
        theirs: the second person's version.
    """

    start: int
    base: str
    mine: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Merged:
    """A text with two people's changes, and the places where the changes conflict."""

    text: str
    conflicts: tuple[TextConflict, ...]


# what changed ---------------------------------------------------------------------------------------------------------


def compare(old: str, new: str, *, lines: bool = False) -> list[TextStretch]:
    """The two texts as stretches, in order; joined, all `old` are the old text, and all `new` are the new text.

    A stretch that differs is a sentence with its new version, or a paragraph that is in only one text. Sentences and
    paragraphs stay complete and separate, whichever changes are accepted (see `taken`).

    Args:
        old: the old text.
        new: the later version of the text.
        lines: whether to compare line by line, for tables and sheets.
    """
    if lines:
        found = _beside(_lines(old), _lines(new))
    else:
        found = _beside(_paragraphs(old), _paragraphs(new), _sentence_by_sentence)
    return list(_numbered(_from_one_start(found)))


def taken(stretches: Iterable[TextStretch], accepted: Collection[int]) -> str:
    """The old text with only those changes whose numbers are in `accepted`."""
    return "".join(one.new if one.number in accepted else one.old for one in stretches)


def word_pieces(old: str, new: str) -> list[Piece]:
    """The two texts as one list of word pieces; white space and punctuation between changes belong to the changes."""
    tokens = _SIGN if BLANKLESS.search(old) or BLANKLESS.search(new) else _TOKEN
    before, after = tokens.findall(old), tokens.findall(new)
    shown: list[tuple[str, str, str]] = []  # what both have, or what is gone and what is new
    for kind, a, b, c, d in _steps(before, after):
        gone, come = "".join(before[a:b]), "".join(after[c:d])
        if kind == "equal":
            shown.append((gone, "", ""))
        elif len(shown) > 1 and shown[-1][0] and not _WORD.search(shown[-1][0]):
            between, (_, before_gone, before_come) = shown.pop()[0], shown.pop()
            shown.append(("", before_gone + between + gone, before_come + between + come))
        else:
            shown.append(("", gone, come))
    kinds: tuple[PieceKind, ...] = ("same", "gone", "new")
    return [Piece(kind, text) for one in shown for kind, text in zip(kinds, one, strict=True) if text]


def _sentence_by_sentence(old: str, new: str) -> list[_Two]:
    """A paragraph and what became of it, in sentences."""
    return _from_one_start(_beside(_parts(old, spans(old)), _parts(new, spans(new))))


def _beside(
    before: Sequence[str], after: Sequence[str], within: Callable[[str, str], list[_Two]] | None = None
) -> list[_Two]:
    """Parts of two texts next to each other; those that became others are looked at `within`."""
    found: list[_Two] = []
    for kind, a, b, c, d in _steps(before, after):
        if kind == "equal":
            found += ((part, part) for part in before[a:b])
            continue
        for old, new, alike in _paired(before[a:b], after[c:d]):
            found += within(old, new) if within and alike else [(old, new)]
    return found


def _steps(before: Sequence[str], after: Sequence[str]) -> list[tuple[str, int, int, int, int]]:
    """How one sequence becomes the other, as `difflib` says it; in little time also for long ones of the same."""
    most = min(len(before), len(after))
    start = next((n for n in range(most) if before[n] != after[n]), most)
    end = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    inner, outer = before[start : len(before) - end], after[start : len(after) - end]
    often = Counter(outer)
    if sum(often[one] for one in inner) > _STEPS:
        steps = [("replace", 0, len(inner), 0, len(outer))]
    else:
        steps = list(SequenceMatcher(None, inner, outer, autojunk=False).get_opcodes())
    return [
        *([("equal", 0, start, 0, start)] if start else []),
        *((kind, a + start, b + start, c + start, d + start) for kind, a, b, c, d in steps),
        *([("equal", len(before) - end, len(before), len(after) - end, len(after))] if end else []),
    ]


def _paired(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """Parts with what became of them, and whether they are alike; between two such, the first goes with the first."""
    a = c = 0
    for old, new in [*_alike(before, after), (len(before), len(after))]:
        yield from ((gone, come, False) for gone, come in zip_longest(before[a:old], after[c:new], fillvalue=""))
        if old < len(before):
            yield before[old], after[new], True
        a, c = old + 1, new + 1


def _alike(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Which parts are alike: of all ways to pair them in order, the one with the most words in common."""
    if len(before) * len(after) > _PAIRS:
        return []
    olds, news = ([frozenset(_words(part)) for part in parts] for parts in (before, after))
    likeness = [[_likeness(old, new) for new in news] for old in olds]
    best = [[0.0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i in reversed(range(len(before))):
        for j in reversed(range(len(after))):
            paired = best[i + 1][j + 1] + likeness[i][j]
            best[i][j] = max(paired if likeness[i][j] else 0.0, best[i + 1][j], best[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        if likeness[i][j] and best[i][j] == best[i + 1][j + 1] + likeness[i][j]:
            found.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def _words(part: str) -> list[str]:
    return list(part) if BLANKLESS.search(part) else _WORD.findall(part.lower())


def _likeness(old: frozenset[str], new: frozenset[str]) -> float:
    """The share of words that both have; 0 where it is too small to call one the other, changed."""
    share = 2 * len(old & new) / (len(old) + len(new) or 1)
    return share if share >= _ALIKE else 0.0


def _from_one_start(found: list[_Two]) -> list[_Two]:
    """The stretches, the first ones joined so far that both texts begin in the same one.

    The part with which a text or a paragraph begins has other blanks before it than the parts behind it: with one
    beginning taken and the other not, sentences would run together, or paragraphs would.
    """
    count = 1
    while count < len(found) and not all(any(side) for side in zip(*found[:count], strict=True)):
        count += 1
    old, new = ("".join(side) for side in zip(*found[:count], strict=True)) if found else ("", "")
    return [(old, new), *found[count:]]


def _numbered(found: Iterable[_Two]) -> Iterator[TextStretch]:
    """Stretches with their numbers and places; what is the same on and on is one."""
    number = start = 0
    for same, group in groupby(found, lambda two: two[0] == two[1]):
        pairs = list(group)
        whole = "".join(old for old, _ in pairs)
        for old, new in [(whole, whole)] if same else pairs:
            if old or new:
                number += not same
                yield TextStretch(0 if same else number, start, old, new)
                start += len(old)


def _paragraphs(text: str) -> list[str]:
    return _parts(text, paragraph_spans(text))


def _lines(text: str) -> list[str]:
    return _parts(text, [found.span() for found in _LINE.finditer(text)])


def _parts(text: str, found: Sequence[tuple[int, int]]) -> list[str]:
    """A text in parts, each with the blanks before it; blanks at its end are one more."""
    ends = [0, *(end for _, end in found), len(text)]
    return [text[a:b] for a, b in pairwise(ends) if a < b]


# two who change one text ----------------------------------------------------------------------------------------------


def merge(base: str, mine: str, theirs: str, *, lines: bool = False) -> Merged:
    """A text with the changes from `base` to both `mine` and `theirs`.

    If both changed the same sentence in different ways, `mine` is kept, and a conflict is reported.
    """
    changes = sorted(
        (
            (one.start, one.end, who, one.new)
            for who, text in enumerate((mine, theirs))
            for one in compare(base, text, lines=lines)
            if one.number
        ),
        key=lambda change: change[:2],
    )
    merged, conflicts, at, length = [], [], 0, 0
    for group in _overlapping(changes):
        start, end = group[0][0], max(one[1] for one in group)
        mine_, theirs_ = (_with(base, start, end, [one for one in group if one[2] == who]) for who in (0, 1))
        of = {one[2] for one in group}
        text = theirs_ if of == {1} else mine_
        merged += [base[at:start], text]
        length += start - at
        if len(of) > 1 and mine_ != theirs_:
            conflicts.append(TextConflict(length, base[start:end], mine_, theirs_))
        length, at = length + len(text), end
    return Merged("".join([*merged, base[at:]]), tuple(conflicts))


_Changed = tuple[int, int, int, str]


def _overlapping(changes: Iterable[_Changed]) -> Iterator[list[_Changed]]:
    """Changes in groups that touch the same words, or put words in at the same place."""
    group: list[_Changed] = []
    end = 0
    for one in changes:
        inserted_too = group and group[0][0] == end == one[0] == one[1]
        if group and not inserted_too and one[0] >= end:
            yield group
            group = []
        end = max(end, one[1]) if group else one[1]
        group.append(one)
    if group:
        yield group


def _with(base: str, start: int, end: int, changes: Iterable[_Changed]) -> str:
    """A stretch of the base with one side's changes in it."""
    found = []
    for a, b, _, new in changes:
        found += [base[start:a], new]
        start = b
    return "".join([*found, base[start:end]])
