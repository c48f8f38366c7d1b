"""The plans and turns of a dialogue, in the form that SNAP's prompts ask for (Tables 5 and 8).

#1. What happens                       [Squidward: (sighs) It is closing time.]
- the details                          EOD
"""

# ruff: noqa: RUF001 - brackets, colons and quotation marks of other scripts

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from fabula.base.remembering import remembered
from fabula.engine.replies.problem import ReplyProblem
from fabula.engine.replies.turns import called, named
from fabula.story.sentences import paragraphs, sentences, spans

_I: Final = re.IGNORECASE
_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | _I)
_HASHED: Final = re.compile(
    r"\A[ \t]*[*_]*#{1,4}[ \t]*+(?:(?:sub-?)?plan|step)?[ \t]*+(\d{1,3})[ \t]*+[.):-]?[ \t]*+(.*)", _I
)
_NUMBERED: Final = re.compile(
    r"\A(?:[ \t]{0,3}[*_]*(?:(?:sub-?)?plan|step)?[ \t]*(\d{1,3})[ \t]*[.):][*_]*[ \t]+(.*)|"
    r"[ \t]{0,3}[*_#]*(?:sub-?plan|step)[ \t]*(\d{1,3})[ \t]*[.):-]?[ \t]*(.*))",
    _I,
)
_BULLET: Final = re.compile(r"(?:(?<![ \t])[ \t]++)?+(?:[-*\u2022\u2013]|\(?[a-z]\))[ \t]++(?=\S)")
_MARKS: Final = " \t*_#"
_EOD: Final = re.compile(
    r"(?:(?<![\[({【（*_\"' \t])[\[({【（*_\"' \t]++)?+(?<![A-Za-z0-9_])E\.?O\.?D(?![A-Za-z0-9_])\.?"
    r"[\])}】）*_\"'. \t]*+(?=\n|\Z|[\[【])|\[[ \t]*+EOD[ \t]*+\]"
)
_ACTION: Final = re.compile(
    r"\A[ \t]*(?:[(（]([^()（）]*(?:[(（][^()（）]*[)）][^()（）]*)*)[)）]|\*([^*\n]+)\*)[ \t:,.：，。-]*", re.DOTALL
)
_LONGEST_UNOPENED: Final = 48  # letters; a mark further on is a stray one
_UNOPENED: Final = re.compile(rf"\A[^()\[\]（）\"“„「]{{1,{_LONGEST_UNOPENED}}}[)）]")
_OPENED: Final = ("[", "【", "［")
_INITIAL: Final = r"(?:[A-Z]|[^\W\x00-\x7f])"  # no small ASCII letter
_NEXT_TURN: Final = re.compile(rf"(?:\n|(?<![ \t\n]))[ \t]*+[\[【［][*_]*+{_INITIAL}[\w.' -]{{0,40}}[*_]*[ \t]*[:：]")
_BRACKET: Final = re.compile(r"[\[\]【】［］]")
_SPEAKER: Final = re.compile(r"#[ \t]?Person[ \t]?(\d{1,2})[ \t]?#", _I)
# What a small model copies from the form that it was shown, in place of a plan.
_FORM: Final = re.compile(
    r"(?:the )?headline(?: of the \w+ (?:point|sub-?plan))?|its details|(?:and )?so on to the last point", _I
)
# What the patterns above may find once more has come.
_ASIDE: Final = r"(?:[ \t]*[(（\[]([^()（）\[\]\n]{1,48})[)）\]])"  # behind a name: what its bearer does
_PARTS_PLAYED: Final = frozenset({"user", "player", "npc"})
_MAY_BE_NAME: Final = re.compile(
    rf"[\[【［]?[*_]{{0,6}}(?:{_INITIAL}[\w.'’ -]{{0,40}}[\]】］]?[*_]{{0,6}}[ \t]{{0,6}}"
    r"(?:[(（\[][^()（）\[\]\n]{0,48}(?:[)）\]][*_ \t]{0,6})?)?)?\Z"
)
_LONGEST_NAME: Final = 112
_LATIN: Final = "\u3040"  # from here on two signs are a name
_MAY_BE_THOUGHT: Final = re.compile(r"<\w{0,8}\Z")
_BEFORE_EOD: Final = " \t\n[({【（*_\"'"
_CLOSING: Final = re.compile('["\u201d]')
_WORD: Final = re.compile(r"[\w'\u2019]+")
_CALL, _CALLS = 2, 2
_QUOTES: Final = {
    '"': '"',
    "“": "”",
    "„": "“",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    "‘": "’",
    "‚": "‘",
    "›": "‹",
    "‹": "›",
}
_APOSTROPHE: Final = re.compile(r"(?<=\w)’(?=\w)")


@dataclass(frozen=True, slots=True)
class SpokenTurn:
    """One turn: what its speaker does and says, and whether it ends the dialogue (EOD). Any part may be missing."""

    action: str = ""
    message: str = ""
    ended: bool = False

    @property
    def text(self) -> str:
        """`(action) message`."""
        return " ".join(part for part in (f"({self.action})" if self.action else "", self.message) if part)


def read_said(text: str, name: str, others: Sequence[str] = ()) -> SpokenTurn:
    """The first turn of `name` in a reply, `[Name: (action) message]`; brackets, name and action may be missing.

    Everything from the first turn of another speaker on is left out. EOD counts at the end of a line, alone or after
    the turn.
    """
    text = _THOUGHT.sub("", text)
    turn, end, _, named = _turn_of(text, name, others)
    action, message = _parts(turn, name, named=named)
    return SpokenTurn(action, _unquoted(message), ended=end is not None)


@dataclass(frozen=True, slots=True)
class Coming:
    """A turn whose reply is still arriving.

    Attributes:
        said: the part of the turn that has arrived.
        settled: the beginning of its message, after `said.action`, that nothing still to come can change; empty while
            that is open.
        whole: whether the turn is complete, whatever follows.
        acted: whether `said.action` is complete.
    """

    said: SpokenTurn
    settled: str = ""
    whole: bool = False
    acted: bool = False


def read_coming(text: str, name: str, others: Sequence[str] = ()) -> Coming:
    """The turn that `read_said` would read, from a reply that is still arriving."""
    text = _without_next(_MAY_BE_THOUGHT.sub("", _THOUGHT.sub("", text)))
    turn, _, closed, named = _turn_of(text, name, others)
    action, message = _parts(turn, name, named=named)
    said = SpokenTurn(action, _unquoted(message))
    # EOD takes stars with it, so that what stands between them is open.
    acted = bool(action) and (closed or (turn.startswith(("(", "（")) and bool(_ACTION.match(turn))))
    if closed:
        return Coming(said, said.message, whole=True, acted=acted)
    words = message.split(" ")[:-1]  # the last one may grow
    while words and not any(map(str.isalnum, words[-1])):  # where a sentence ends is open until the next real word
        words.pop()
    settled = " ".join(words).rstrip(_BEFORE_EOD)  # EOD takes marks with it
    closer = _QUOTES.get(settled[:1])
    quoted = closer is not None and not _APOSTROPHE.sub("", settled[1:]).partition(closer)[2].strip(_BEFORE_EOD)
    # It may be the action, whose end has not come.
    acts = not action and ((len(turn) <= _LONGEST_UNOPENED and not named) or turn.startswith("*"))
    return Coming(said, "" if quoted or acts else settled, acted=acted)


def _without_next(text: str) -> str:
    """`text` without what may be the beginning of the next turn: a name on a new line, or behind a bracket."""
    start = max(len(text) - _LONGEST_NAME, 0)
    for at in range(start, len(text) + 1):
        if not _MAY_BE_NAME.match(text, at):
            continue
        before = text[:at].rstrip()
        gap = text[len(before) : at]
        if "\n" in gap:
            return text[: len(before) + gap.index("\n")]
        if text.startswith(_OPENED, at):
            return before
    return text


def as_turn(text: str, lead: str) -> str:
    """A reply that continues from `lead`, in the form for `read_said`; a quotation opened by the lead is the turn."""
    if not lead.endswith('"') or not text.startswith(lead):
        return text
    return lead[:-1] + _CLOSING.sub("]", text[len(lead) :], count=1)


def first_sentences(text: str, most: int) -> str:
    """The first `most` sentences of a message; two exclamations of a word or two ("Oh, Jonas!") do not count."""
    kept: list[str] = []
    last = 0
    for start, end in spans(text):
        counted = sum(len(_WORD.findall(one)) > _CALL for one in kept)
        if counted >= most or len(kept) >= most + _CALLS:
            break
        kept.append(text[start:end])
        last = end
    return text[:last].rstrip()


def _turn_of(text: str, name: str, others: Sequence[str]) -> tuple[str, re.Match[str] | None, bool, bool]:
    """The inner text of the first turn of `name`, where the dialogue ends, and two answers.

    The text is empty where only others speak. The answers are whether the turn's own end is there, and whether the name
    stands before it.
    """
    eod = _EOD.search(text)
    body = text[: eod.start() if eod else len(text)].strip()
    own = _label((name, *(part for part in called(name) if len(part) > 2 or part > _LATIN)))  # noqa: PLR2004 - no initials
    foreign = _label([other for other in others if other.casefold() != name.casefold()])
    named = True
    if found := own.match(body):
        body = _with_action(body[found.end() :], found[1])
    elif foreign.match(body):
        later = re.compile(rf"\n\s*{own.pattern}", _I).search(body)
        if later is None:
            return "", eod, False, False
        body = _with_action(body[later.end() :], later[1])
    else:
        named = False
        body = body.lstrip("[【［ \t\n")
    speakers = re.compile(rf"\n(?:{own.pattern}|{foreign.pattern})", _I)
    cuts = [cut.start() for cut in (_NEXT_TURN.search(body), speakers.search(body)) if cut]
    body = body[: min(cuts, default=len(body))]
    end = _closing_bracket(body)
    return body[:end].strip(), eod, bool(cuts or end is not None), named


def _parts(turn: str, name: str, *, named: bool) -> tuple[str, str]:
    """Action and message of a turn's inner text, each on one line; behind a name an action has both its marks."""
    if not named and _UNOPENED.match(turn):
        turn = f"({turn}"
    action = ""
    if found := _ACTION.match(turn):
        action, turn = found[1] or found[2] or "", turn[found.end() :]
    elif turn.startswith(("(", "（")):  # never closed: a reply that was cut off
        action, turn = turn[1:], ""
    if action.strip().casefold() == name.casefold():  # the name instead of a deed
        action = ""
    return " ".join(action.split()), " ".join(turn.split())


def with_names(text: str, speakers: Sequence[str]) -> str:
    """A DialogSum model's summary with the speakers' names in place of `#Person1#`, `#Person2#` and so on.

    A number without a speaker stays as it is.
    """
    return _SPEAKER.sub(lambda tag: speakers[n - 1] if 0 < (n := int(tag[1])) <= len(speakers) else tag[0], text)


def _closing_bracket(body: str) -> int | None:
    """Where a bracket closes that was not opened in `body`: the end of a turn that stands in brackets."""
    open_ = 0
    for bracket in _BRACKET.finditer(body):
        open_ += 1 if bracket.group() in _OPENED else -1
        if open_ < 0:
            return bracket.start()
    return None


@remembered(256)
def _labels(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(
        rf"\s*[\[【［]?[ \t]*[*_\"]*{named(names)}(?: [\w'-]+)?[*_\"]*[\]】］]?[*_]*"
        rf"(?:{_ASIDE}?[*_]*[ \t]*[:：][*_]*[ \t]*|(?=[「『]))",
        _I,
    )


def _label(names: Iterable[str]) -> re.Pattern[str]:
    """What stands before a turn of one of `names`; never matches for no names."""
    return _labels(tuple(name for name in dict.fromkeys(names) if name.strip())) if any(names) else _NOTHING


_NOTHING: Final = re.compile(r"(?!)")


def _with_action(turn: str, aside: str | None) -> str:
    """A turn with what stood in brackets behind its speaker's name as its action, before the one that it has."""
    if not aside or aside.casefold() in _PARTS_PLAYED:
        return turn
    inside = turn[1:] if turn.startswith(("(", "（")) else ""
    return f"({aside}, {inside}" if inside else f"({aside}) {turn}"


def _unquoted(message: str) -> str:
    """`message` without quotation marks around the whole."""
    closer = _QUOTES.get(message[:1])
    if message[:1] == "„" and message.rstrip(".").endswith("”"):  # Polish
        closer = "”"
    if closer is None or len(message) == 1:
        return message
    closing = _APOSTROPHE.sub("", message).count(closer)
    said = message.removesuffix(".")  # «Siéntate».
    if said.endswith(closer) and closing <= (2 if closer == '"' else 1):
        return said[1:-1].strip()
    unclosed = closing == (1 if closer == '"' else 0) and closer != "’"
    return message[1:].strip() if unclosed else message


def read_plan(text: str) -> tuple[tuple[str, str], ...]:
    """The sub-plans of a reply, each with its headline and its details on one line.

    They begin with `#1.` or with other numbers. If there are no numbers, bullets, paragraphs or sentences are taken as
    sub-plans. A sub-plan that repeats an earlier one, or only repeats the form asked for, is left out.

    Raises:
        ReplyProblem: the reply has no words.
    """
    lines = [line.rstrip() for line in _THOUGHT.sub("", text).splitlines() if line.strip(" \t*_#-`")]
    head = _HASHED if any(_HASHED.match(line) for line in lines) else _NUMBERED
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := head.match(line):
            said = next(group for group in reversed(match.groups()) if group is not None)
            found.append((said.strip(_MARKS), []))
        elif found:
            found[-1][1].append(_BULLET.sub("", line, count=1).strip(_MARKS))
    steps = [(title, " ".join(details)) for title, details in found] if found else [(one, "") for one in _loose(text)]
    points: dict[str, tuple[str, str]] = {}
    for headline, details in steps:
        title, detail = ("" if _FORM.fullmatch(part.strip(" .-")) else part for part in (headline, details))
        step = (title, detail) if title else (detail, "")
        if any(letter.isalnum() for letter in step[0]):
            points.setdefault(" ".join(step).casefold(), step)
    if not points:
        raise ReplyProblem(
            "It holds no plan. Write numbered points: `#1.` and a headline, then a line `-` with details."
        )
    return tuple(points.values())


def _loose(text: str) -> list[str]:
    """What stands for sub-plans in a reply without numbers."""
    lines = [line for line in text.splitlines() if line.strip()]
    bullets = [_BULLET.sub("", line, count=1).strip(_MARKS) for line in lines if _BULLET.match(line)]
    parts = [" ".join(part.split()) for part in paragraphs(text)]
    if len(bullets) > 1:
        return bullets
    return parts if len(parts) > 1 else sentences(" ".join(text.split()))
