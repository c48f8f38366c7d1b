"""Chatter around a text: greetings, offers, notes to the reader, headings, labels, template marks.

Every pattern is anchored and free of nested repeats. Words that also occur in stories ("Sure", "Here is", "I hope")
count only next to a word of the writing task, and never inside quotation marks.
"""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from fabula.base.remembering import remembered
from fabula.engine.replies import foreign_chatter
from fabula.story.speech import OPENING

_TASK: Final = (
    r"(?:story|stories|narrative|section|part|exposition|rising action|climax|falling action|resolution|continuation|"
    r"scene|passage|paragraph|draft|version|rewrite|outline|summary|plot|bullet points?|descriptions?|characters?|"
    r"conflict|setting|prompt|task|requirements?|instructions?|request|response|scratchpad|word count|example|list|"
    r"chapter|guidelines)"
)
_I: Final = re.IGNORECASE
_YES: Final = (
    r"(?:sure|sure thing|certainly|of course|absolutely|okay|ok|great|got it|understood|alright|no problem|gladly|yes)"
)
_OFFER: Final = (
    r"(?:i(?:['’]ll|['’]d| will| would| can| am| ['’]?m| have|['’]ve)|let me|let['’]s|allow me)\b.{0,40}\b"
    r"(?:continue|continued|continuing|write|written|writing|provide|help|assist|describe|create|created|try|draft|"
    r"begin|start|happy|glad|craft|crafted|expand)"
)
_HERE: Final = r"(?:here['’]s|here is|here are|below is|below are|the following (?:is|are)|following is|this is)"
_ALONE: Final = re.compile(rf"{_YES}(?: thing)?[!.,:]*\Z", _I)
_OPENING: Final = (
    re.compile(rf"(?:{_YES}[!.,]+ )?{_HERE}\b.{{0,60}}\b{_TASK}\b.{{0,200}}[:.!]\Z", _I | re.DOTALL),
    re.compile(rf"(?:{_YES}[!.,]+ )?{_OFFER}\b.{{0,80}}\b{_TASK}\b.{{0,200}}\Z", _I | re.DOTALL),
    re.compile(
        rf"(?:as requested|as you (?:asked|requested)|based on (?:the|your) (?:\w+ ){{0,3}}{_TASK}|"
        rf"given (?:the|a) (?:\w+ ){{0,3}}{_TASK}|to (?:continue|write|begin) (?:the|this) {_TASK}|"
        rf"in (?:this|the) (?:creative )?writing (?:prompt|task)|"
        rf"thank you for (?:the|your|sharing)\b.{{0,60}}\b{_TASK}|in (?:this|the) (?:\w+ ){{0,2}}{_TASK},? "
        rf"(?:we|i|the (?:author|writer|reader|story)))\b",
        _I,
    ),
)
_ABOUT: Final = re.compile(
    r"(?:the|this) (?:[\w'’]+ ){0,3}(?:story|narrative|tale|section|passage|chapter|part of the story|scene)"
    r"(?:['’]s \w+)? (?:then )?(?:"
    r"is (?:a |an |the )?(?:\w+ )?(?:reminder|testament|tale|story|metaphor|exploration|narrative|allegory)|"
    r"end(?:s|ed) (?:with|on|in)|unfold(?:s|ed)|conclude[sd]|explore[sd]|highlights|has a (?:\w+ )?ending|"
    r"serves as|delves|captures|sets (?:up|the)|"
    r"is (?:set|told|about|written|finished|complete|divided|approximately|around)|includes|introduces|showcases|"
    r"provides|cent(?:er|re)s on|revolves around|meets|adheres|follows|focuses|leaves (?:the|us)|"
    r"takes a turn|flow(?:s|ed)|will (?:end|begin|continue|be)|should (?:be|take|end|have|include))\b|"
    r"(?:the|this|our|your) (?:\w+ ){0,3}part (?:above|below|is (?:in|about|not|now)|has (?:now )?reached)\b|"
    r"the previous parts\b",
    _I,
)
_ABOUT_AT_END: Final = re.compile(
    r"(?:the|this) (?:\w+ ){0,3}(?:story|narrative|part of the story) (?:then )?(?:begins|began|starts|started|"
    r"continue[sd]|takes place|goes on|went on)\b|in (?:summary|conclusion),|"
    r"overall, (?:the|this) (?:story|narrative)|as the (?:story|narrative) "
    r"(?:comes|draws|nears|ends|unfolds|progresses)",
    _I,
)
_REMARK: Final = re.compile(
    r"\b(?:the|this) (?:(?:rest|end|beginning|ending) of the )?(?:story|narrative) "
    r"(?:(?:also|then|now|has|had|is|was|only|itself) )*(?:beg[aiu]ns?|end(?:s|ed)?|starts?|started|takes place|"
    r"took place|continue[sd]?|conclude[sd]?|features?|includes?|tells?|told|unfold(?:s|ed)?|leaves?|about|set in|"
    r"goes on|went on|revolves|explores?|showcases?|flow(?:s|ed)|shows?|follows?|focuses|introduces)\b|"
    r"\b(?:the|this) (?:next|last|final|previous|following|rising action|falling action|climax|exposition|resolution) "
    r"(?:sentence|paragraph|part|parts|section|chapter of (?:the|her|his) story|image of)\b|"
    r"\b(?:this|the) ending (?:part|is|was|feels|ends|of the story)\b|"
    r"['’]s character (?:is|was|has|as|makes?|made|decides?)\b|\bthe scratchpad\b|\bcreative writing task\b",
    _I,
)
_CLOSING: Final = (
    re.compile(
        rf"i hope (?:(?:that )?(?:this|the|my) (?:\w+ ){{0,3}}(?:{_TASK}|helps|meets|works|fits|is what|captures|was)|"
        r"you (?:enjoy|enjoyed|like|liked|find|found) (?:this|the|it|my|reading))\b",
        _I,
    ),
    re.compile(
        r"(?:please )?(?:let me know|feel free|do(?:n['’]t| not) hesitate)\b.{0,20}\b"
        r"(?:if (?:you|there|this|any)|"
        r"what you think|how|to ask|to let|to reach|to (?:modify|change|edit|adjust|continue|use|share))\b",
        _I,
    ),
    re.compile(r"(?:would you like|do you want|if you(?:['’]d| would)? (?:like|want)) (?:me|any|to see|more)\b", _I),
    re.compile(r"(?:thank you|thanks) for (?:reading|the opportunity|your (?:time|request|prompt))\b", _I),
    re.compile(r"is there anything (?:else )?(?:i|you)\b", _I),
    re.compile(
        r"i(?:['’]m| am) (?:(?:ready|here|happy) to (?:help|assist)\b|ready when you are\b)|"
        r"i can (?:assist|help)(?: you)? with your\b|i(?:['’]ll| will) (?:provide feedback|offer suggestions)\b|"
        r"(?:in my next response|i have written this text)\b|just share whatever\b",
        _I,
    ),
    re.compile(
        r"(?:author['’]?s |editor['’]?s )?(?:please )?notes?(?: to (?:the )?\w+)?(?::| that (?:the|this|i)\b)", _I
    ),
    re.compile(r"(?:total |final |approximate )?word ?(?:count|s)\b ?(?::|is\b|=|\d)", _I),
    re.compile(r"(?:approximately |about |~)?[\d,]{2,7} words\W*\Z", _I),
    re.compile(rf"(?:this|the) {_TASK} (?:is|has|contains|meets|adheres|was)\b.{{0,80}}\bwords?\b", _I),
    re.compile(rf"end of (?:the )?{_TASK}\W*\Z", _I),
)
# What no story says: these stand for themselves, so they go from the replies of any model. What is less clear than that
# goes with them where it stands in the same line or behind them, and stays where it stands alone.
_TEXT: Final = rf"(?:{_TASK}|text|reply|answer|piece|letter|poem|dialogue|turn|memory|note|rewritten|revised|shortened)"
_CLEAR_OPENING: Final = (
    re.compile(  # "Sure! Here is the text you asked for:"
        rf"{_YES}[!.,]* (?:here['’]s|here is|here are|below is|below are)\b[^.!?\n]{{0,40}}\b{_TEXT}\b"
        r"[^.!?\n]{0,120}(?::|\b(?:your?|requested|part of the story|version of the \w+)\b[^.!?\n]{0,60}[.!])\Z",
        _I,
    ),
    re.compile(
        rf"(?:here['’]s|here is|here are|below is|below are) [^.!?\n]{{0,40}}\b{_TEXT}\b(?: that)?,? "
        r"(?:(?:as )?you (?:asked|requested|wanted)|(?:as )?requested)\b.{0,80}:\Z",
        _I,
    ),
    re.compile(
        rf"(?:{_YES}[!.,]* )?(?:here['’]s|here is|here are|below is|below are|the following (?:is|are)) "
        rf"(?:(?:a|an|the|my|your|some) )?(?:[\w'’-]+ ){{0,4}}{_TASK}\b.{{0,200}}:\Z",
        _I | re.DOTALL,
    ),
    re.compile(rf"{_YES}[!,.]+ .{{0,120}}\b{_TASK}\b.{{0,120}}:\Z", _I | re.DOTALL),
    re.compile(rf"{_YES}[!,.]+ {_OFFER}\b.{{0,80}}\b{_TASK}\b.{{0,200}}\Z", _I | re.DOTALL),
    re.compile(r"(?:sure|sure thing|certainly|of course|absolutely)!\Z", _I),
    re.compile(rf"thank you for (?:the|your|sharing)\b.{{0,60}}\b{_TASK}\b", _I),
)
# A text in its new version, announced: it says so itself, names no thing of a story, and the line ends in a colon.
_NEW: Final = (
    r"(?:(?:fully|newly|slightly) )?(?:revised|rewritten|re-written|updated|edited|corrected|shortened|polished|"
    r"expanded|reworked|improved|amended|modified|adjusted|condensed)"
)
_WORK: Final = r"(?:text|version|draft|piece|passage|scene|paragraph|section|chapter|story)"
_HOW: Final = r"(?:,? (?:with|without|as|that|in which|based on|following|incorporating)\b[^.!?\n:\"“]{0,80})?"
_ANNOUNCED: Final = (
    re.compile(
        rf"(?:{_YES}[!.,]* )?(?:{_HERE}|below you will find) (?:(?:a|an|the|my|your) )?"
        rf"(?:(?:(?:full|complete|new|final) )?{_NEW} {_WORK}|(?:full|complete|final|new) text){_HOW}:\Z",
        _I,
    ),
    re.compile(rf"(?:the |my )?{_NEW} {_WORK}(?: (?:is|reads) as follows| follows)?:\Z", _I),
    re.compile(rf"(?:(?:new|final) version|here it is, {_NEW}|revised):\Z", _I),
    re.compile(rf"(?:{_YES}[!.,]* )?i(?:['’]ve| have) {_NEW} (?:the|your) {_WORK}\b[^.!?\n:\"“]{{0,80}}:\Z", _I),
)
_REVISE: Final = (
    r"(?:write|continue|revise|rewrite|adjust|edit|expand|modify|change|changes|revisions?|adjustments?|edits|"
    rf"another version|feedback|{_TASK})"
)
_CLEAR_CLOSING: Final = (
    re.compile(
        rf"i hope (?:that )?(?:this|the|my) (?:\w+ ){{0,3}}{_TASK} (?:helps|meets|works|fits|is what|captures)\b", _I
    ),
    re.compile(
        rf"i hope you (?:enjoy|enjoyed|like|liked) (?:this|the|my|reading (?:this|the|my)) (?:\w+ ){{0,3}}{_TASK}\b", _I
    ),
    re.compile(
        r"(?:please )?(?:let me know|feel free|do(?:n['’]t| not) hesitate)\b.{0,20}\b"
        rf"(?:if (?:you|there|this|any)|how|to)\b.{{0,80}}\b{_REVISE}\b",
        _I,
    ),
    re.compile(
        r"(?:would you like|do you want|if you(?:['’]d| would)? (?:like|want)) (?:me|any|to see|more)\b"
        rf".{{0,60}}\b{_REVISE}\b",
        _I,
    ),
    re.compile(
        rf"(?:author['’]?s |editor['’]?s )?notes?: .{{0,200}}\b(?:{_TASK}|words|tone|style|kept|aimed)\b",
        _I | re.DOTALL,
    ),
    re.compile(r"(?:total |final |approximate )?word ?count ?(?:is |= ?|: ?)(?:about |approximately |~)?\d", _I),
    re.compile(r"(?:approximately |about |~)?[\d,]{2,7} words\W*\Z", _I),
    re.compile(rf"(?:this|the) {_TASK} (?:is|has|contains|meets)\b.{{0,80}}\d+ words?\b", _I),
)
_CLEAR_END: Final = re.compile(rf"\A\W*\[ ?end of (?:the )?{_TASK} ?\]\W*\Z", _I)
_THE_END: Final = re.compile(r"\A\W*(?:the end|fin|finis|end of (?:the )?story|to be continued)\W*", _I)
_QUOTE: Final = OPENING
_EDGE: Final = "*_#>()[] \t"
_LONGEST: Final = 400
_TITLE_WORDS: Final = 9
_HEADING_LENGTH: Final = 120
_SMALL: Final = frozenset(
    ("a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "into", "of", "on", "or", "the", "to", "with")
)
_SCENE_BREAK: Final = re.compile(r"\W*\Z")
_RULE: Final = re.compile(r"\A[ \t]*[-*_]{3,}[ \t]*\Z")
_FRAMED: Final = re.compile(r"<<[^<>]{1,100}>>\W*\Z")
_BRACKETED: Final = re.compile(r"\[[A-Z][^\[\]\n]{0,60}\]:?\s*\Z")
_BRACKETED_LEAD: Final = re.compile(r"\[[A-Z]\w*(?: \w+){0,3}\]:?[ \t]+")
_HEADING: Final = re.compile(r"\A(?:#{1,6}\s+\S|={3,}\s|(?:\*\*|__)[^*_\n]{1,80}(?:\*\*|__):?\Z)")
_MARKED: Final = re.compile(r"#{1,6}\s+\S")
_NUMBERED: Final = re.compile(
    r"(?:part|scene|chapter|act|section) (?:\d{1,3}|[ivxl]{1,6}|one|two|three|four|five|six|seven|eight|nine|ten)\b"
    r"[^.!?\n]{0,60}\Z",
    _I,
)
_TITLE: Final = re.compile(
    r"(?:\*\*|__)?(?:(?:story )?title|titel|titre|título|titolo|tytuł|название|заголовок|标题|標題|题目|タイトル|제목)"
    r"(?:\*\*|__)?[:：]",
    _I,
)


def opens_chatter(sentence: str, *, notes: bool = False, tag: str = "en") -> bool:
    """Whether a sentence at the start of a reply addresses the reader or the task; notes may be about the story.

    English is read in replies of all languages, and with it the language of the `tag`.
    """
    said = sentence.strip(_EDGE)
    if sentence.startswith(_QUOTE) or len(said) > _LONGEST:
        return False
    chatter = any(pattern.match(said) for pattern in (_ALONE, *_OPENING, *_CLEAR_OPENING, *_ANNOUNCED))
    return chatter or foreign_chatter.opens(said, tag) or bool(not notes and _ABOUT.match(said))


def closes_chatter(sentence: str, *, notes: bool = False, tag: str = "en") -> bool:
    """Whether a sentence at the end of a reply addresses the reader or the task; notes may be about the story."""
    said = sentence.strip(_EDGE)
    if sentence.startswith(_QUOTE) or len(said) > _LONGEST:
        return False
    known = any(p.match(said) for p in (_CLOSING if notes else (*_CLOSING, _ABOUT, _ABOUT_AT_END)))
    return known or foreign_chatter.closes(said, tag)


def clearly_opens(line: str, tag: str = "en") -> bool:
    """Whether a line at the start of a reply is chatter beyond doubt: an offer, an announcement, a word of assent."""
    said = line.strip(_EDGE)
    if line.startswith(_QUOTE) or len(said) > _LONGEST:
        return False
    return any(p.match(said) for p in (*_CLEAR_OPENING, *_ANNOUNCED)) or foreign_chatter.opens(said, tag)


def clearly_closes(line: str, tag: str = "en") -> bool:
    """Whether a line at the end of a reply is chatter beyond doubt: a word count, an offer of changes, a note."""
    if line.startswith(_QUOTE) or len(line) > _LONGEST:
        return False
    said = line.strip(_EDGE)
    known = any(p.match(said) for p in _CLEAR_CLOSING) or foreign_chatter.closes(said, tag)
    return known or bool(_CLEAR_END.match(line))


def asks(sentence: str, tag: str = "en") -> bool:
    """Whether a sentence asks how somebody likes a text, which is chatter only beside more of it."""
    return foreign_chatter.asks(sentence.strip(_EDGE), tag)


def remarks_on_story(sentence: str) -> bool:
    """Whether a sentence is about the story or its parts instead of telling it; characters' speech does not count."""
    said = sentence.strip(_EDGE)
    if sentence.startswith(_QUOTE):
        return False
    return bool(_REMARK.search(said) or _ABOUT.match(said) or _ABOUT_AT_END.match(said))


def says_the_end(sentence: str) -> bool:
    """Whether a sentence is only "The End" or a similar phrase."""
    return bool(_THE_END.fullmatch(sentence))


class Labels:
    """Recognises headings and the labels that a prompt uses."""

    def __init__(self, labels: Sequence[str]) -> None:
        names = sorted({re.escape(label.strip()) for label in labels if label.strip()}, key=len, reverse=True)
        name = "|".join(names) if names else r"(?!)"
        number = r"(?:\d{1,2}[.):]\s*)?(?:part \d{1,2}[:.]?\s*)?"
        core = (
            rf"(?:the |our )?(?:{name})(?: (?:part|section|scene))?(?: \(?cont(?:inued|\.)\)?)?"
            r"(?: (?:begins|began|starts))?"
        )
        self._line = re.compile(rf"[\s#*_>\[(\-]*{number}{core}[\s*_\])]*[:.]?[\s*_\])-]*\Z", _I)
        self._prefix = re.compile(
            rf"[#*_>\s-]*(?:\[{number}{core}\][*_]*:?|{number}(?:\*\*|__){core}(?::(?:\*\*|__)|(?:\*\*|__):?)|"
            rf"{number}{core}:(?:(?:\*\*|__)(?=\s))?)[ \t]*",
            _I,
        )

    @classmethod
    @remembered(64)  # prompts are few, and asked with again and again
    def of(cls, labels: tuple[str, ...]) -> Labels:
        """The labels of a prompt."""
        return cls(labels)

    def heads(self, line: str) -> bool:
        """Whether a line is only a label."""
        return len(line) <= _LONGEST and bool(self._line.match(line))

    def prefix(self, line: str) -> int:
        """Length of the label that a line begins with, or 0."""
        found = self._prefix.match(line)
        return found.end() if found else 0


def is_heading(line: str) -> bool:
    """Whether a line is a heading of any kind: Markdown, a bold line, "Chapter 2", "Title: ..."."""
    line = line.strip()
    if len(line) > _HEADING_LENGTH:
        return False
    bare = line.strip("*_ ")
    return bool(_HEADING.match(line) or _NUMBERED.match(bare) or _TITLE.match(line))


def is_framed(line: str) -> bool:
    """Whether a line is a name in brackets, <<A Title>> or [Characters], a habit of SmolLM2."""
    return bool(_FRAMED.match(line.strip()) or _BRACKETED.match(line.strip()))


def framed_lead(line: str) -> int:
    """Length of the bracketed name that a reply's first line begins with, or 0."""
    found = _BRACKETED_LEAD.match(line)
    return found.end() if found else 0


def is_title(line: str) -> bool:
    """Whether a first line on its own looks like a story's title: few words, with the important ones capitalised."""
    words = line.strip().strip('"“”*_').split()
    if not 1 < len(words) <= _TITLE_WORDS or any(c.isdigit() for c in line):
        return False
    capital = all(word[:1].isupper() or word.lower() in _SMALL for word in words)
    return capital and words[0][:1].isupper() and words[-1][-1:].isalpha() and not line.startswith(("“", '"'))


def is_marked_title(line: str) -> bool:
    """Whether a first line is marked as a title: `# The Lamp`, `**The Lamp**`, `Title: The Lamp`."""
    line = line.strip()
    bold = line.startswith(("**", "__")) and line.endswith(("**", "__"))
    return len(line) <= _HEADING_LENGTH and bool(_MARKED.match(line) or _TITLE.match(line) or (bold and is_title(line)))


def is_rule(line: str) -> bool:
    """Whether a line is a horizontal rule, which models put between their chatter and a text."""
    return bool(_RULE.match(line))


def is_scene_break(line: str) -> bool:
    """Whether a line has no letter or digit, like "***"."""
    return bool(_SCENE_BREAK.match(line))
