"""The spoken parts of a story: text in quotation marks of any style.

The recognised marks are "straight", “curly”, „low“, «pointed», »turned«, ``typewritten'' and 「corner」 marks, and
'single' or ‘single’ marks in stories that use single marks for speech. Speech without a closing mark ends at the next
opening mark or at the end of the paragraph. This is how speech over several paragraphs is written, and it limits the
effect of a forgotten mark to one paragraph. If several lines begin with a dash, or one in a text without quotation
marks, each of them is speech, except for the narrator's words between dashes ("—No sé —dijo—. Ven.").
"""

# ruff: noqa: RUF001, RUF002 - these are about typographic quotation marks

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from fabula.story.sentences import Span, paragraph_spans

_DOUBLE: Final = re.compile(r"``|''|[\"“”„«»「」『』]")
_SINGLE: Final = re.compile(r"['‘’‚‹›]")
# What opens, and what closes it; where both are the same mark its neighbours decide.
_CLOSERS: Final = {
    '"': '"”',
    "“": '”"',
    "”": "”",
    "„": "“”",
    "«": "»",
    "»": "«»",
    "「": "」",
    "『": "』",
    "``": "''",
    "''": "",
    "」": "",
    "』": "",
    "'": "'",
    "‘": "’'",
    "’": "’",
    "‚": "‘’",
    "‹": "›",
    "›": "‹›",
}
OPENING: Final = ('"', "“", "„", "«", "»", "'", "‘", "‚", "‹", "「", "『", "—", "–")  # what speech may begin with
_SAID: Final = re.compile(r"\w")
# A line with a hyphen is speech only if it ends as a sentence does; else it is an entry of a list.
_DASHED_LINE: Final = re.compile(
    r"^[ \t]*(?:[—–―][ \t\u00a0\u202f]*(?=[\w¿¡«…])[^\n]*|-[ \t](?=[\w¿¡«…])[^\n]*[.!?…](?=\n|\Z))",
    re.MULTILINE,
)
_FEWEST_LINES: Final = 2
_ONE_SAYS: Final = re.compile(r"\A[—–―][ \t\u00a0\u202f]*[¿¡]?[^\W\d_a-zß-ɏа-я][^\n]*[.!?…]\Z")
SAYS: Final = (
    "said|says|asked|cried|shouted|whispered|replied|answered|murmured|muttered|called|yelled|"
    "sag(?:te|t)|rief|ruft|schrie|fragte?|flüsterte?|antwortete|murmelte|brüllte|meinte?|erwiderte|entgegnete|zischte|"
    "dit|disait|cri(?:a|e|ait)|hurla|demand(?:a|e|ait)|répondit|répond|murmur(?:a|e)|souffl(?:a|e)|lan(?:ça|ce)|fit|"
    "reprit|ajouta|chuchota|répéta|s['’]écria|s['’]exclama|répliqua|"
    "dijo|dice|grit(?:ó|a|ou)|preguntó|respondió|contestó|susurró|murmuró|exclamó|añadió|"
    "diss[ei]|grid(?:ò|a)|chiese|rispose|sussurrò|mormorò|esclamò|urlò|fece|"
    "perguntou|respondeu|sussurrou|murmurou|exclamou|berrou|"
    "zei|zegt|riep|vroeg|antwoordde|fluisterde|mompelde|schreeuwde|"
    "(?:powiedział|zapytał|spytał|odpowiedział|odparł|zawołał|dodał|wrzasnął|krzyknął|szepnął|mruknął)a?|"
    "(?:krzyknę|szepnę|mruknę|wrzasnę)ła|rzekł[ao]?|"
    "(?:сказал|крикнул|спросил|ответил|шепнул|прошептал|пробормотал|закричал|воскликнул|добавил|произн[её]с)а?"
)
"""Verbs that say that somebody speaks, as a pattern."""
# The narrator begins behind a dash before a small letter; in Russian, where dashes join words, only behind a mark.
# Or behind a mark with a verb of speaking, as in French: "— Tu restes ? demanda Luc."
_NARRATOR: Final = re.compile(
    r"(?<=[,.!?…»”])[ \u00a0\u202f][—–―-][ \u00a0\u202f]?(?=\w)|"
    r"[ \u00a0\u202f](?:[—–―](?P<between>[ \u00a0\u202f])?|- )(?=[a-zß-ɏ])|"
    rf"(?<=[,!?…])(?P<says>[ \u00a0\u202f])(?=(?:{SAYS})\b)"
)
_GOES_ON: Final = re.compile(r"[,.;:!?…][ \u00a0\u202f]+")
_ARTICLE: Final = (
    "the|an?|d(?:er|ie|as|em|en|es)|eine?[mnrs]?|les?|la|du|une?|el|los|las|del|il|lo|gli|una|della|dello|o|as?|os|uma?|"
    "d[ao]s?|n[ao]s?|de|het|een"
)
_NAMED_THING: Final = (  # "la novela «Rayuela»."
    r"\w{0,16}(?:novel|book|film|movie|newspaper|magazine|ship|boat|song|poem|roman|buch|zeitung|zeitschrift|schiff|boot|lied|"
    r"gedicht|livre|journal|revue|bateau|navire|chanson|poème|novela|libro|periódico|revista|barco|canción|poema|"
    r"romanzo|giornale|rivista|nave|barca|canzone|poesia|romance|livro|jornal|navio|canção|boek|krant|schip|liedje|"
    r"(?:powieś|książk|gazet|statk|łodz|piosenk|роман|книг|газет|корабл|лодк|песн)\w{0,3}) "
)
_BEFORE_NAME: Final = re.compile(
    rf"(?P<known>\b(?:{_ARTICLE}) |{_NAMED_THING})\Z|(?<!\w)(?!(?:{SAYS}) \Z)\w+ \Z", re.IGNORECASE
)
_INSIDE: Final = re.compile(r"[.,;:!?…。，！？]")
_NAMED_IN_CHINESE: Final = re.compile(
    "(?![说說道问問喊叫答])[\u4e00-\u9fff][“「『][^”」』]{1,30}[”」』][\u4e00-\u9fff]"
)
_LONGEST_WORD: Final = 32
_QUOTED_ON: Final = ("と", "って", "라고", "라며", "고 ", "하고", " 하고")
_RESUMED: Final = re.compile(
    r"[—–―-](?=[,.;:!?])[,.;:!?]+[ \u00a0\u202f]?|(?<=[,.;:!?])[ \u00a0\u202f][—–―-][ \u00a0\u202f]?"
)
_BETWEEN: Final = re.compile(rf"{_RESUMED.pattern}|[ \u00a0\u202f][—–―][ \u00a0\u202f]")
_BEFORE: Final = "([{<-–—*_/'\"‘“„`"  # may stand before an opening mark; so may white space and nothing
_EASTERN: Final = "\u3000"  # from here on letters and marks of scripts that put no space before a quotation mark
_AFTER_SPEECH: Final = ".,!?…-–—;:*_"  # speech in single marks ends in one of these; a word like "boys'" does not


def speech(text: str) -> list[Span]:
    """The start and end of each spoken part, without quotation marks, in order and without overlaps."""
    borders = paragraph_spans(text)
    dashed = [line.span() for line in _DASHED_LINE.finditer(text)]
    alone = len(dashed) == 1 and bool(_ONE_SAYS.match(text[slice(*dashed[0])].lstrip()))
    alone = alone and not any(_DOUBLE.search(around) for around in (text[: dashed[0][0]], text[dashed[0][1] :]))
    if len(dashed) >= _FEWEST_LINES or alone:
        rest = _DASHED_LINE.sub(lambda line: " " * len(line[0]), text)
        return sorted([span for line in dashed for span in _behind_dashes(text, *line)] + speech(rest))
    double = [span for border in borders for span in _in_paragraph(text, border, _DOUBLE, _closes)]
    single = [span for border in borders for span in _in_paragraph(text, border, _SINGLE, _ends_speech)]
    around = single and all(a <= one[0] and one[1] <= b for one in double for a, b in [_last_before(single, one)])
    return single if len(single) > len(double) or around else [one for one in double if not _names(text, *one)]


def _names(text: str, start: int, end: int) -> bool:
    """Whether a quotation names a thing in the narrator's sentence, such as a ship, or a book in 『』."""
    if _INSIDE.search(text, start, end):
        return False
    if _NAMED_IN_CHINESE.match(text, max(start - 2, 0), end + 2):
        return True
    before, behind = text[max(start - 1 - _LONGEST_WORD, 0) : start - 1], text[end + 1 : end + 3]
    if text[start - 1] == "『":
        return before.rstrip()[-1:].isalnum() and behind[:1].isalnum() and not text.startswith(_QUOTED_ON, end + 1)
    found = _BEFORE_NAME.search(before)
    return bool(
        found
        and (found["known"] or (text[start:end].lstrip()[:1].isupper() and behind[:1] == " " and behind[1:].islower()))
    )


def _last_before(spans: list[Span], one: Span) -> Span:
    """The last of `spans` that begins before `one`."""
    return spans[max(bisect_right(spans, one) - 1, 0)]


def _behind_dashes(text: str, start: int, end: int) -> Iterator[Span]:
    """What is said in a line that begins with a dash, without the narrator's words in it."""
    while text[start] in " \t\u00a0\u202f—–―-":
        start += 1
    while start < end:
        narrator = _NARRATOR.search(text, start, end)
        yield start, narrator.start() if narrator else end
        again = _RESUMED
        if narrator and (narrator["between"] or narrator["says"]):
            again = _BETWEEN if narrator["between"] else _GOES_ON
        resumed = again.search(text, narrator.end(), end) if narrator else None
        start = resumed.end() if resumed else end


def spoken(text: str) -> str:
    """The spoken parts of a text, with one part per line."""
    return "\n".join(text[start:end] for start, end in speech(text))


def unclosed(text: str) -> str:
    """The mark that would close open speech in the last paragraph of `text`; empty if no speech is open.

    Single marks are ignored, because they look like apostrophes.
    """
    *_, border = [(0, 0), *paragraph_spans(text)]
    opened, begin = "", 0
    for mark in _DOUBLE.finditer(text, *border):
        if opened and mark[0] in _closers(opened) and _closes(text, mark):
            opened = ""
        elif _opens(text, border, mark):
            opened, begin = mark[0], mark.end()
    if not opened or not _SAID.search(text, begin, border[1]):
        return ""
    blank = text[begin] if opened == "«" and text[begin].isspace() else ""  # French
    return blank + _closers(opened)[0]


def _in_paragraph(
    text: str, border: Span, marks: re.Pattern[str], closes: Callable[[str, re.Match[str]], bool]
) -> Iterator[Span]:
    """The spoken parts of one paragraph."""
    opened, begin = "", 0
    found = list(marks.finditer(text, *border))
    last = {mark[0]: mark.start() for mark in found}
    for mark in found:
        if opened and mark[0] in _closers(opened) and closes(text, mark):
            yield begin, mark.start()
            opened = ""
        elif (
            opened
            and marks is _DOUBLE
            and mark[0] != opened
            and any(last.get(one, 0) > mark.end() for one in _closers(opened))
        ):
            continue  # a quotation inside what is said
        elif _opens(text, border, mark):
            if opened and marks is _DOUBLE:
                yield begin, mark.start()
            opened, begin = mark[0], mark.end()
    # An apostrophe ("'tis") opens nothing; a typographic mark at the very start is speech that goes on.
    if opened and (marks is _DOUBLE or (opened == "‘" and begin == border[0] + 1)):
        yield begin, border[1]


def _closers(opened: str) -> tuple[str, ...]:
    return (_CLOSERS[opened],) if opened == "``" else tuple(_CLOSERS[opened])


def _opens(text: str, border: Span, mark: re.Match[str]) -> bool:
    """Whether a mark can open: something comes after it, and no word stands right before it."""
    start, end = mark.span()
    if end >= border[1] or not _CLOSERS[mark[0]]:
        return False
    free = start == border[0] or text[start - 1].isspace()
    follows = not text[end].isspace()
    if mark[0] in ("”", "’", "»", "›"):  # as a rule these close
        return free and follows
    if mark[0] in ("'", "‘"):
        return follows and (free or text[start - 1] in _BEFORE)
    return free or text[start - 1] in _BEFORE or text[start - 1] >= _EASTERN or mark[0] not in ('"', "“")


def _closes(text: str, mark: re.Match[str]) -> bool:
    """Whether a mark that could close does: not where it stands apart before a word, as an opening one does."""
    if mark[0] not in ('"', "“"):
        return True
    start, end = mark.span()
    apart = start == 0 or text[start - 1].isspace()
    return not (apart and end < len(text) and not text[end].isspace())


def _ends_speech(text: str, mark: re.Match[str]) -> bool:
    """Whether a single mark ends speech, and is no apostrophe."""
    start, end = mark.span()
    if mark[0] in "‹›‘":
        return True
    return text[start - 1] in _AFTER_SPEECH and (end == len(text) or not text[end].isalnum())
