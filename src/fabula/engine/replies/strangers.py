"""People whom a reply names but whom the texts that it is about do not mention.

A note on a finished story that names somebody else has invented that person. A name is recognised only by its use: a
capital within a sentence, and next to it the words that surround people. Only English is read, because other languages
use capitals differently. The rule only proposes: the writer of the note is asked again and told the unknown names.
"""

# ruff: noqa: RUF001 - the patterns look for typographic quotation marks and dashes

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from fabula.base.kept import of_text
from fabula.story.language import language_of
from fabula.story.sentences import spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_LONGEST: Final = 40_000  # characters of a reply that are looked at
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_NAME: Final = re.compile(
    r"(?<![\w'’-])(?:[A-Z][^\W\d_]*\.? )?[A-Z][^\W\d_]+(?:['’-][^\W\d_]+)*(?: [A-Z][^\W\d_]+(?:['’-][^\W\d_]+)*){0,3}"
)
_PARTS: Final = re.compile(r"['’-]")
_OWNER: Final = re.compile(r"['’]s?\Z")
_MARKS: Final = re.compile(r"[*_#>`]+")
_BULLET: Final = re.compile(r"\A\s*+(?:[-•★]|\d{1,2}[.)])?\s*+")
_AFTER: Final = re.compile(r"[\s\"”’']*([^\W\d_]+(?:['’-][^\W\d_]+)*)?")
_ENDS: Final = re.compile(r"\A\s*(?:[.,;:!?)\"”]|\Z)")
_HEAD: Final = re.compile(r"\A\s*(?:\([^()\n]{0,60}\)\s*)?[:\-–—]\s*(?P<rest>.*)\Z")
_ALONE: Final = re.compile(r"\A\s*(?:\([^()\n]{0,60}\)\s*)?(?:[:\-–—].*|,\s*\d.*)?\Z")
_NAMED: Final = ("name:", "name is", "names:", "names are")
_NEAR: Final = 60  # characters before a name that hold the word before it
_IN_QUOTES: Final = "\"“‘'«("
_LEAST: Final = 3  # letters of a short form that stands for a longer name
_LIKE: Final = 80.0  # per cent of likeness of a name that is only misspelt
_HEADING: Final = 0.6  # of a line's words that have capitals in a heading

_TITLES: Final = _words(
    "mr mrs ms miss mx dr doctor professor prof captain capt colonel general sergeant lieutenant major officer "
    "detective inspector agent aunt auntie uncle grandma grandpa granny sir lady lord king queen prince princess "
    "father brother sister nurse reverend judge mayor president senator chief coach master madame madam saint"
)
_KIN: Final = _words(
    "named called friend brother sister mother father son daughter wife husband neighbor neighbour boss partner "
    "lover fiance fiancé fiancée cousin nephew niece mentor rival colleague twin boyfriend girlfriend teacher "
    "student stranger protagonist antagonist narrator character hero heroine villain child boy girl man woman "
    "mate companion assistant leader dog cat horse"
)
_PERSONAL: Final = _words(
    "wants want wanted needs needed feels felt thinks thought knows knew believes believed hopes hoped fears "
    "feared loves loved hates hated longs longed decides decided realizes realized realises realised learns "
    "learned learnt remembers remembered says said asks asked speaks spoke talks talked whispers replies answers "
    "tells told wears wore smiles smiled laughs laughed cries cried walks walked runs ran tries tried struggles "
    "struggled discovers discovered finds found sees saw hears heard meets met confronts confronted lives lived "
    "works worked returns returned arrives arrived leaves left helps helped saves saved kills killed dies died "
    "becomes became refuses refused agrees agreed promises promised admits admitted insists suspects wonders "
    "dreams worries cares trusts who whose himself herself must cannot can't doesn't didn't hasn't wasn't isn't"
)
_GOES_ON: Final = _words(
    "is was has had does did and or but to in on at with by from for as after before when while because who that "
    "then will would can could should might may are were be been also never always still now only"
)
_PLACES: Final = _words("in at near of from to around across outside into throughout within through toward towards via")
_JOINS: Final = _words("and or with by for between against beside behind about than like")
_DETERMINERS: Final = _words("a an the this that these those his her their its my our your each every some any no")
_PLACE_NOUNS: Final = _words(
    "street st road avenue lane city town village county state island islands lake river ocean sea bay mountain "
    "mountains hill hills valley forest park beach school university college academy hospital hotel inn church "
    "cathedral museum station airport bridge tower castle house hall manor square market mall store shop cafe bar "
    "restaurant company corp corporation inc university times post news war wars era age period century day days "
    "eve festival act revolution empire kingdom republic planet galaxy project protocol program system order "
    "council army navy force agency department ministry bank theory syndrome disease law prize award north south "
    "east west"
)
_KNOWN_CAPITALS: Final = _words(
    "i monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december christmas easter halloween thanksgiving ramadan hanukkah valentine god "
    "gods lord christ jesus bible heaven hell devil satan earth sun moon mars venus america americas usa uk us eu "
    "england britain scotland ireland wales france germany italy spain europe asia africa china japan india "
    "russia canada mexico australia london paris york california texas internet web tv ai dna fbi cia nasa gps "
    "wifi ok english french german spanish latin greek chinese japanese western eastern northern southern gothic "
    "victorian edwardian medieval renaissance dickensian freudian shakespearean orwellian kafkaesque catholic "
    "protestant muslim jewish buddhist hindu christian islam christianity judaism buddhism bc ad bce ce am pm "
    "instagram facebook twitter google youtube"
)
_FUNCTION_WORDS: Final = _words(
    "i he she it they we you me him her them us my his its our your their mine hers theirs ours yours himself "
    "herself itself themselves who whom whose which what when where why how that this these those there here then "
    "than as if and or but nor so yet for because since while until although though despite however therefore "
    "thus moreover furthermore meanwhile finally eventually ultimately instead overall additionally also even "
    "only just not no yes all both each every either neither some any many most few several other another such "
    "one two three four five six seven eight nine ten first second third next last once twice after before during "
    "through throughout with without within into onto over under above below between among against about around "
    "across along behind beside beyond by at in on of off up down out to from is are was were be been being am "
    "has have had does do did will would can could shall should may might must a an the let"
)
# What opens sentences of notes with a verb of people behind it.
_ABSTRACT: Final = _words(
    "nobody somebody anybody everybody everyone someone anyone nothing something everything anything people "
    "others love fear hope grief time death life fate anger guilt pride shame joy hate doubt faith trust truth "
    "greed envy loss pain family friends children parents money power war nature desire passion panic chaos "
    "luck magic music light night rain snow wind storm society humanity readers reader men women villagers "
    "dialogue tension"
)
_SUFFIXES: Final = (
    *("ian", "ese", "ish", "ism", "ist", "ity", "ness", "tion", "sion", "ment", "ship", "hood", "dom", "ure", "ogy"),
    *("ance", "ence", "ing"),
)
_HEADINGS: Final = _words(
    "exposition rising action climax falling resolution conflict central setting plot character characters "
    "description descriptions key points point protagonist antagonist motivation motivations goal goals "
    "appearance personality voice speech sound look looks gestures slang humor humour flaws values fears growth "
    "development background backstory age role name names occupation relationship relationships time place "
    "location atmosphere mood tone theme themes genre style overview summary introduction conclusion ending "
    "beginning middle note notes answer question creative writing task user-written response story narrative "
    "scene scenes chapter part section internal external physical emotional traits quirks mannerisms dialogue "
    "obstacle obstacles stakes turning duration decade era narrator habit habits clothing clothes dress attire outfit "
    "hair eyes face build height hands posture gait diction accent vocabulary catchphrase catchphrases temperament "
    "strength strengths weakness weaknesses belief beliefs secret secrets arc want wants need needs skill skills likes "
    "dislikes hobby hobbies tic tics job species gender pronouns quote quotes lines summary purpose function "
    "significance impact history family dynamic dynamics notable typical verbal physical social supporting main minor "
    "major primary secondary core speaks looks wears sounds details desire desires drive drives flaw "
    "change changes hides lacks"
)
_NO_NAMES: Final = _KNOWN_CAPITALS | _HEADINGS | _FUNCTION_WORDS | _ABSTRACT
_PERSON_NOUN: Final = re.compile(
    r"(?:an?|the|his|her|their|one of)\b[^.\n]{0,80}\b(?:who|man|woman|boy|girl|child|person|teenager|student|teacher|"
    r"sailor|soldier|doctor|detective|scientist|artist|writer|farmer|friend|mother|father|brother|sister|son|daughter|"
    r"wife|husband|neighbou?r|uncle|aunt|leader|villain|hero|heroine|protagonist|antagonist|captain|keeper|owner|boss|"
    r"worker|old|young|\d{1,2}-year-old)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Use:
    """A name as it stands in a line: what is before and behind it there, and whether it opens a sentence."""

    name: str
    before: str
    after: str
    opens: bool
    heads: bool


def strangers(text: str, known: str, *, of_people: bool = False) -> tuple[str, ...]:
    """The names of people in `text` that `known` does not mention, in order of appearance.

    Args:
        text: the text to check.
        known: the texts that it is about.
        of_people: whether the text describes people one by one, so that its headings are their names.
    """
    uses = _unknown_uses(text, known)
    counts = Counter(use.name for use in uses)
    heading = Counter(use.name for use in uses if use.heads and _ALONE.match(use.after)) if of_people else {}
    # What heads several lines is a label that stands with each person.
    return tuple(
        dict.fromkeys(
            use.name
            for use in uses
            if _is_person(use, counts[use.name])
            or (use.heads and heading.get(use.name) == 1 and _ALONE.match(use.after) is not None)
        )
    )


def unknown_capitals(text: str, known: str) -> tuple[str, ...]:
    """Words, mostly names, that have a capital within a sentence or head a line of `text` and are not in `known`."""
    return tuple(dict.fromkeys(use.name for use in _unknown_uses(text, known) if use.heads or not use.opens))


def _unknown_uses(text: str, known: str) -> list[_Use]:
    """What looks like a name and is not known; nothing where the texts are not in English."""
    text = text[:_LONGEST]
    heard = of_text("heard", known, _Heard.of)  # several notes speak of one story
    small = frozenset(word for match in _WORD.finditer(text) if (word := match[0]).islower())
    uses = list(_uses(text, lambda name: _is_known(name, heard, small)))
    return uses if uses and of_text("language", known, language_of) == "en" else []


@dataclass(frozen=True, slots=True)
class _Heard:
    """The words of the texts that a reply is about, and those of them that have a capital somewhere."""

    words: frozenset[str]
    capitals: tuple[str, ...]

    @classmethod
    def of(cls, known: str) -> _Heard:
        """The words of `known`, and the parts of words with hyphens and apostrophes."""
        found = {_OWNER.sub("", word) for word in set(_WORD.findall(known))}
        found |= {part for word in found if not word.isalpha() for part in _PARTS.split(word)}
        capitals = {word.casefold() for word in found if word[:1].isupper() and len(word) >= _LEAST}
        return cls(frozenset(word.casefold() for word in found), tuple(sorted(capitals)))

    def has_form_of(self, word: str) -> bool:
        """Whether a word is another form of one of these: a plural, a short form of a name, a misspelling."""
        if any(word.removesuffix(end) in self.words for end in ("s", "es", "n", "an")):
            return True
        if len(word) >= _LEAST and any(other.startswith(word) or word.startswith(other) for other in self.capitals):
            return True
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - few commands need it

        return process.extractOne(word, self.capitals, scorer=fuzz.ratio, score_cutoff=_LIKE) is not None


def _uses(text: str, known: Callable[[str], bool]) -> Iterator[_Use]:
    """What looks like a name and is not known, in every line but headings that are more than a name."""
    for line in text.splitlines():
        plain = _BULLET.sub("", _MARKS.sub("", line), count=1).strip()
        matches = list(_NAME.finditer(plain))
        if not plain or (_is_heading(plain) and [match[0] for match in matches] != [plain]):
            continue
        names = [(match, _OWNER.sub("", match[0])) for match in matches]
        unknown = [(match, name) for match, name in names if not known(name)]
        opening = {start for start, _ in spans(plain)} if unknown else ()  # few lines name strangers
        for match, name in unknown:
            start, end = match.span()
            opens = start in opening or (start > 0 and plain[start - 1] in _IN_QUOTES)
            opens = opens or plain[:start].rstrip().endswith((":", ";", "-", "–", "—"))
            yield _Use(name, plain[:start], plain[start + len(name) : max(end, len(plain))], opens, not start)


def _is_heading(line: str) -> bool:
    words = _WORD.findall(line)
    capitals = sum(word[0].isupper() for word in words)
    return len(words) > 1 and not re.search(r"[.!?:,]", line) and capitals > _HEADING * len(words)


def _is_known(name: str, heard: _Heard, small: frozenset[str]) -> bool:
    """Whether a name, or a part of it, is in the texts, or is no name: a word that also stands without a capital."""
    own = [word for word in map(str.casefold, _WORD.findall(name)) if word not in _TITLES]
    return not own or any(
        word in heard.words or word in small or word in _NO_NAMES or word.endswith(_SUFFIXES) or heard.has_form_of(word)
        for word in own
    )


def _is_person(use: _Use, times: int) -> bool:
    """Whether what stands around a name stands around people."""
    owns = bool(re.match(r"['’]s?\b", use.after))
    rest = re.sub(r"\A['’]s?", "", use.after)
    following = _AFTER.match(rest)
    follows = (following[1] or "").casefold() if following else ""
    words = [word.casefold() for word in _WORD.findall(use.name)]
    if words[-1] in _PLACE_NOUNS or follows in _PLACE_NOUNS:
        return False
    previous = _previous(use)
    if words[0] in _TITLES or previous in _TITLES or use.before.rstrip().casefold().endswith(_NAMED):
        return True
    if use.heads and (head := _HEAD.match(rest)) is not None:
        return bool(_PERSON_NOUN.match(head["rest"]))
    if use.opens:
        return follows in _PERSONAL or (owns and times > 1)
    if previous in _DETERMINERS or previous in _PLACES:
        return owns and times > 1 and previous in _PLACES
    joined = previous in _JOINS or previous.endswith(("s", "ed"))
    goes_on = bool(_ENDS.match(rest)) or follows in _GOES_ON
    return previous in _KIN or follows in _PERSONAL or owns or (joined and goes_on)


def _previous(use: _Use) -> str:
    """The word before a name; behind a comma only one that says who somebody is ("her brother, Tom")."""
    *_, word = ("", *use.before[-_NEAR:].rstrip(_IN_QUOTES + " ").split())
    said = word.rstrip(",").strip(_IN_QUOTES).casefold()
    return said if word[-1:].isalpha() or (word.endswith(",") and said in _KIN) else ""
