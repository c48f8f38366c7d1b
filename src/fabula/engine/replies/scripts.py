"""Scripts out of replies: speakers on lines of their own, blank lines between turns, no loops, no half lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from fabula.engine.replies.loops import loop_start, read_sentences
from fabula.story.sentences import whole_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

_STOP: Final = re.compile(
    r"^[ \t>#*]*(?:Example[ \t]+\d+\b|(?:Place|Plot element|Previous beat|Beat|Summary|Logline|Characters|Scenes|"
    r"Dialog(?:ue)?|Description)[*_]*[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING: Final = re.compile(r"^[ \t#*]*(?:INT|EXT|INT\.?/EXT)[./ ].*$")
_NOTE: Final = re.compile(r"\A(?:\[[^\]]*\]:?|<[^>]*>)")
_END: Final = "**END**"
_TWO_MARKS: Final = 2
_CUE_LIMIT: Final = 40
_SPEAKS: Final = re.compile(r"^[ \t]*[*_]*(?P<name>[^\W\d_][^:*_\n]{0,39}?)[*_]*[ \t]*:[*_]*[ \t]*(?P<line>\S.*)$")
_CUE: Final = re.compile(r"^(?=[^a-z]*[A-Z])[^a-z:!?\n]{1,40}(?:\([^)\n]{1,30}\))?:?$")


def tidy_script(text: str, names: Sequence[str], *, before: str = "", cut: bool = False) -> str:
    """The script in a reply; possibly empty.

    Taken out are END, whatever begins another example or repeats the prompt's labels, headings (they are ours), turns
    that stand twice (also in `before`), speakers who say nothing and, where the reply was `cut`, its last half
    sentence.
    """
    text = text.replace(_END, "")
    if stop := _STOP.search(text):
        text = text[: stop.start()]
    turns: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        turns += _turns(paragraph, names)
    if cut and turns:
        turns[-1] = _whole(turns[-1])
    earlier = {_key(turn) for turn in before.split("\n\n")}
    kept = []
    for turn in map(_unquoted, _merged(turns)):
        key = _key(turn)
        if key and key not in earlier and not _is_cue(turn):
            kept.append(turn)
            earlier.add(key)
    return _before_loop("\n\n".join(kept))


def _before_loop(script: str) -> str:
    """A script up to where it begins to go in circles."""
    start = loop_start(script, read_sentences(script), notes=False)
    if start is None:
        return script
    whole = script[:start].rstrip()
    return whole.rpartition("\n")[0].rstrip() if _is_cue(whole.rpartition("\n")[2]) else whole


def _turns(paragraph: str, names: Sequence[str]) -> list[str]:
    """The turns of a paragraph: each begins with a speaker, or is a line of action."""
    turns: list[list[str]] = []
    for raw in paragraph.split("\n"):
        line = raw.strip().strip("*_").strip()
        if not line or _HEADING.match(line) or _NOTE.fullmatch(line):
            continue
        speaks = _SPEAKS.match(line)
        if speaks and _is_speaker(speaks["name"], names):
            turns.append([speaks["name"].strip().upper(), speaks["line"].strip("*_ ")])
        elif cue := _called(line, names):
            turns.append([cue])
        elif _is_cue(line) or line.startswith("(") or not turns:
            turns.append([line.rstrip(":") if _is_cue(line) else line])
        else:
            turns[-1].append(line)
    return ["\n".join(lines) for lines in turns]


def _called(line: str, names: Sequence[str]) -> str:
    """The cue for a line that is a known name in small letters, with or without an aside; empty for any other."""
    name, bracket, aside = line.rstrip(":").partition(" (")
    known = name.casefold() in {full.casefold() for full in names}
    return f"{name.upper()}{bracket}{aside}" if known and (not bracket or aside.endswith(")")) else ""


def _merged(turns: Sequence[str]) -> list[str]:
    """Turns in which a speaker who stands alone speaks what comes next."""
    kept: list[str] = []
    for turn in turns:
        if kept and _is_cue(kept[-1]) and not _is_cue(turn) and not _is_cue(turn.partition("\n")[0]):
            kept[-1] = f"{kept[-1]}\n{turn}"
        else:
            kept.append(turn)
    return kept


def _unquoted(turn: str) -> str:
    """A turn without quotation marks around all that is said: a script needs none."""
    cue, line, speech = turn.partition("\n")
    inner = speech.strip('"\u201c\u201d')
    whole = len(speech) - len(inner) == _TWO_MARKS and not set(inner) & set('"\u201c\u201d')
    return f"{cue}\n{inner}" if line and whole and _is_cue(cue) else turn


def _is_speaker(name: str, names: Sequence[str]) -> bool:
    caseless = name.strip().casefold()
    known = {part for full in names for part in (full.casefold(), *full.casefold().split())}
    return caseless in known or (name == name.upper() and len(name) <= _CUE_LIMIT)


def _is_cue(line: str) -> bool:
    return "\n" not in line and bool(_CUE.match(line)) and not line.endswith((".", "!", "?"))


def _key(turn: str) -> str:
    return " ".join(re.findall(r"\w+", turn.casefold()))


def _whole(turn: str) -> str:
    """A turn up to its last whole sentence; empty if it has none."""
    cue, line, speech = turn.partition("\n")
    if not (line and _is_cue(cue)):
        return whole_sentences(turn)
    kept = whole_sentences(speech)
    return f"{cue}\n{kept}" if kept else ""
