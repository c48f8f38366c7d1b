"""Labels at the end of a comparison, and answers to yes/no questions, in a model's reply."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from fabula.engine.replies.problem import ReplyProblem
from fabula.story.sentences import sentences

LABELS: Final = {"A>>B": 2, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -2}
Place: TypeAlias = Literal["start", "end"]

_I: Final = re.IGNORECASE
_SPELT: Final = {value: label for label, value in LABELS.items()}
_SIGN: Final = r"(?P<sign>>{1,3}|<{1,3}|={1,2}|\u00bb|\u00ab|\u226b|\u226a|&gt;&gt;|&gt;|&lt;&lt;|&lt;)"
_NAMED: Final = rf"(?:Story\s*)?(?P<left>[AB])\s*{_SIGN}\s*(?:Story\s*)?(?P<right>[AB])"
_BRACKETED: Final = re.compile(rf"\[{{1,2}}\s*{_NAMED}\s*\]{{1,2}}", _I)
_BARE: Final = re.compile(rf"(?<![\w\[<>]){_NAMED}(?![\w<>])", _I)
_STRONG: Final = frozenset({">>", ">>>", "<<", "<<<", "\u00bb", "\u00ab", "\u226b", "\u226a", "&gt;&gt;", "&lt;&lt;"})
_LESS: Final = frozenset({"<", "<<", "<<<", "\u00ab", "\u226a", "&lt;", "&lt;&lt;"})
_BETTER: Final = re.compile(
    r"\bStory (?P<side>[AB])\b(?: is| was|'s)?(?: the)? (?P<degree>significantly|much|far|clearly|slightly|marginally|"
    r"somewhat|a little|a bit) (?:better|stronger|more creative)\b",
    _I,
)
_TIED: Final = re.compile(r"\b(?:it is |it's |they are |both are )?(?:a tie|tied|relatively the same)\b", _I)
_DENIED: Final = re.compile(r"\b(?:not|never|neither|nor|no|cannot|\w+n't)\b", _I)
_MUCH: Final = frozenset({"significantly", "much", "far", "clearly"})
_GAP: Final = 80  # characters between the labels of one list of choices
_CHOICES: Final = tuple(LABELS.values())
_SEVERAL: Final = 3  # different labels so near to each other are a list of the choices, not a verdict
_SCANNED: Final = 20_000

_FIRST: Final = re.compile(r"\A[\s*_#>\"'(\[]*(?:(?:the |my |final )*answer\s*(?:is|:)[\s*_:\"']*)?(yes|no)\b", _I)
_SAID: Final = re.compile(
    r"\b(?:answer|verdict|conclusion)[\s*_]{0,4}(?:[:=\-]|is\b|would be\b)[\s*_:\"'(\[]{0,6}(yes|no)\b", _I
)
_ALONE: Final = re.compile(r"\A[\W_]*(yes|no)[\W_]*", _I)
_LIST: Final = re.compile(r"\byes\b['\"]?\s*(?:/|or)\s*['\"]?no\b", _I)


def read_label(text: str) -> int:
    """How much better story A is, by the last label in a reply: 2, 1, 0, -1 or -2.

    The labels are `[[A>>B]]`, `[[A>B]]`, `[[A=B]]`, `[[B>A]]` and `[[B>>A]]`. They may have single brackets, other
    signs (`A<B`, a doubled angle mark) or "Story". A list of the choices is not a verdict. If no label is in brackets,
    a label in the last line counts, or a statement in words in the last two sentences.

    Raises:
        ReplyProblem: there is no label, or only a list of them.
    """
    text = text.strip()[-_SCANNED:]
    found = [(_value(match), match.start(), match.end()) for match in _BRACKETED.finditer(text)]
    if found:
        said = _without_lists(found)
        if said:
            return said[-1]
        raise ReplyProblem(f"It lists the labels without choosing one. {_WANTED}")
    lines = [line for line in text.splitlines() if line.strip()]
    values = {_value(match) for match in _BARE.finditer(lines[-1])} if lines else set()
    values = values or set(_in_words(text))
    if len(values) == 1:
        return values.pop()
    raise ReplyProblem(f"It ends with {'several labels' if values else 'no label'}. {_WANTED}")


_WANTED: Final = f"End with exactly one of {', '.join(f'[[{label}]]' for label in LABELS)}."


def label_of(value: int) -> str:
    """The label of a value, such as "A>>B" for 2."""
    return _SPELT[value]


def _value(match: re.Match[str]) -> int:
    """How much better A is by one label; a story compared with itself counts as a tie."""
    sign, left, right = match["sign"], match["left"].upper(), match["right"].upper()
    if left == right or sign[0] == "=":
        return 0
    degree = 2 if sign in _STRONG else 1
    return degree if (left == "A") == (sign not in _LESS) else -degree


def _without_lists(found: list[tuple[int, int, int]]) -> list[int]:
    """The labels that are verdicts: all but those of a list of choices."""
    said: list[int] = []
    for near in _neighbours(found):
        rest = _without_choices(near)
        if len(set(rest)) < _SEVERAL:
            said += rest
    return said


def _without_choices(values: list[int]) -> list[int]:
    """`values` without the five choices in their order, as the instruction lists them."""
    rest, at = list[int](), 0
    while at < len(values):
        if tuple(values[at : at + len(_CHOICES)]) == _CHOICES:
            at += len(_CHOICES)
        else:
            rest.append(values[at])
            at += 1
    return rest


def _neighbours(found: list[tuple[int, int, int]]) -> Iterator[list[int]]:
    """Values of labels that stand near each other."""
    near: list[int] = []
    last = 0
    for value, start, end in found:
        if near and start - last > _GAP:
            yield near
            near = []
        near.append(value)
        last = end
    yield near


def _in_words(text: str) -> Iterator[int]:
    """What the last two sentences say without a label."""
    for sentence in sentences(text)[-2:]:
        if _DENIED.search(sentence):
            continue
        for match in _BETTER.finditer(sentence):
            degree = 2 if match["degree"].lower() in _MUCH else 1
            yield degree if match["side"].upper() == "A" else -degree
        if _TIED.search(sentence):
            yield 0


def read_yes_no(text: str, place: Place) -> bool:
    """Whether a reply says yes, in its first word ("start") or at its end.

    At the end, the last "Answer: yes" counts, otherwise a last line with only yes or no, otherwise the first word.

    Raises:
        ReplyProblem: the reply says neither in that place.
    """
    text = text.strip()[-_SCANNED:] if place == "end" else text[:_SCANNED]
    lines = [line for line in text.splitlines() if line.strip()]
    found = [one for one in _FIRST.finditer(text) if not _LIST.match(text, one.start(1))]
    if place == "end":
        ended = [one for one in _SAID.finditer(text) if not _LIST.match(text, one.start(1))]
        alone = _ALONE.fullmatch(lines[-1]) if lines else None
        found = ended or ([alone] if alone else found)
    said = found[-1][1] if found else None
    if said is None:
        wanted = "Begin with Yes or No." if place == "start" else "End with a line `Answer: Yes` or `Answer: No`."
        raise ReplyProblem(f"It says neither yes nor no there. {wanted}")
    return said.lower() == "yes"
