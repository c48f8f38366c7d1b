"""How an author's prose sounds, as numbers: what a style sheet says of it, how far a text is from it, what it overuses.

Nothing here knows the words of a language, except what `_person` and `_spelling` say of English. The distance
from samples has four parts. The first is about function words: as in Burrows's Delta (2002), the most frequent words
stand for a list of them.

Every part is the distance of a passage of about 200 words from one half of the samples, and both halves count alike.
A passage of the samples is measured in the same way from the half that it is not in. The mean of these distances
shows how far apart two texts by the same author are. Design 0067 has the measurements.
"""

# ruff: noqa: RUF001 - quotation marks, dashes and apostrophes as people type them

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import inf, log, sqrt
from statistics import fmean
from typing import TYPE_CHECKING, Final

from fabula.base.errors import UsageError
from fabula.base.lazily import Module
from fabula.craft.measuring import measured_report
from fabula.craft.tokens import words_and_marks
from fabula.measure.report import Row
from fabula.stats.estimate import Unscored
from fabula.stats.intervals import mean_of
from fabula.story.language import language_of, name_of
from fabula.story.sentences import paragraph_spans, paragraphs, sentences, spans
from fabula.story.speech import speech
from fabula.story.words import count_words, joined, ngrams

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np

    from fabula.measure.items import Item
    from fabula.measure.report import Report
    from fabula.stats.estimate import Scored
else:
    np = Module("numpy")

PASSAGE: Final = 200
"""The words of a passage, as far as paragraphs allow."""
FEWEST: Final = 4
"""The passages that samples must have, so that each half has two."""
WHOLE: Final = "all four"
_MOST_WORDS: Final = 100
_WORDS, _SENTENCES, _MARKS, _SPEECH = "frequent words", "sentence lengths", "punctuation", "dialogue"
_KINDS: Final = {
    _WORDS: f"Hellinger distance of the rates of the {_MOST_WORDS} most frequent words of half of the samples",
    _SENTENCES: "mean difference of the quantiles of sentence lengths, in words",
    _MARKS: "sum of the differences of the rates of punctuation marks, per 100 words",
    _SPEECH: "difference of the shares of words in dialogue, in percentage points",
}
_QUANTILES: Final = 20
_LONGEST: Final = 10  # words of a phrase
_SHORTEST: Final = 3
_OFTEN: Final = 3  # times that a phrase or an opening occurs, if it is said
_COMMON: Final = 60  # the most frequent words of a book, of which no phrase that anybody would notice is made
_COMMON_SHARE: Final = 0.2  # of the different words of a short text
_BEGINNING: Final = 500  # characters of a part that hold its first words
_SHOWN: Final = 12
_QUOTED: Final = 3  # passages of a style sheet
_QUOTED_WORDS: Final = 130
_LEAST_WORDS: Final = 60
_EMPHASIS: Final = "*_"  # of Markdown; no punctuation
_WORD: Final = re.compile(r"\w")


@dataclass(frozen=True)
class Passage:
    """A passage of prose, about 200 words of whole sentences; `begins` says whether a paragraph begins with it."""

    text: str
    begins: bool = field(default=True, compare=False)

    @cached_property
    def tokens(self) -> list[str]:
        """Its words in small letters, and its punctuation marks."""
        return [token.casefold().replace("’", "'") for token in words_and_marks(self.text)]

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(filter(_WORD.search, self.tokens))

    @cached_property
    def size(self) -> int:
        """The number of words."""
        return max(self.words.total(), 1)

    @cached_property
    def marks(self) -> dict[str, float]:
        """The punctuation marks per 100 words. A dash between spaces differs from one between letters."""
        signs = Counter(sign for sign in self.text if unicodedata.category(sign)[0] == "P" and sign not in _EMPHASIS)
        return {sign: 100 * count / self.size for sign, count in signs.items()}

    @cached_property
    def lengths(self) -> list[int]:
        """The words of each sentence."""
        return [found for sentence in sentences(self.text) if (found := count_words(sentence))]

    @cached_property
    def spoken(self) -> float:
        """The words in dialogue, in percent."""
        inside = sum(count_words(self.text[start:end]) for start, end in speech(self.text))
        return min(100 * inside / max(count_words(self.text), 1), 100.0)


def passages(texts: Iterable[str]) -> list[Passage]:
    """The texts in passages of about 200 words: whole sentences of one chapter.

    A short rest of a chapter belongs to the passage before it, and a very short chapter to the next one.
    """
    found: list[Passage] = []
    for prose, chapters in map(_prose, texts):
        borders, own, first = {start for start, _ in paragraph_spans(prose)}, list[list[int]](), 0
        for start, end in spans(prose):
            if start in chapters and (_join_rest(own, first) or own[-1][2] >= PASSAGE // 2):
                first = len(own)
            if len(own) == first or own[-1][2] >= PASSAGE:
                own.append([start, end, 0])
            own[-1][1:] = end, own[-1][2] + count_words(prose[start:end])
        _join_rest(own, first)
        found += [Passage(prose[start:end], start in borders) for start, end, words in own if words]
    return found


def _join_rest(own: list[list[int]], first: int) -> bool:
    """Whether the last passage was short and was joined to the one before it, of those from `first` on."""
    short = len(own) - first > 1 and own[-1][2] < PASSAGE // 2
    if short:
        _, end, words = own.pop()
        own[-1][1:] = end, own[-1][2] + words
    return short


def _prose(text: str) -> tuple[str, set[int]]:
    """A text without headings and without breaks between scenes, and where chapters begin in it."""
    kept, chapters, at, headed = list[str](), set[int](), 0, False
    for one in paragraphs(text):
        if one.startswith("#"):
            headed = True
        elif count_words(one):
            if headed and kept:
                chapters.add(at)
            kept.append(one)
            at, headed = at + len(one) + 2, False
    return "\n\n".join(kept), chapters


@dataclass(frozen=True)
class _Half:
    """Half of an author's samples, with what distances from it need."""

    of: Sequence[Passage]

    @cached_property
    def _rates(self) -> dict[str, float]:
        """The rates of its most frequent words: those of the other half would be nearer to that half alone."""
        counts = sum((one.words for one in self.of), Counter[str]())
        return {word: count / counts.total() for word, count in counts.most_common(_MOST_WORDS)}

    @cached_property
    def _quantiles(self) -> np.ndarray:
        return _quantiles([length for one in self.of for length in one.lengths])

    @cached_property
    def _marks(self) -> dict[str, float]:
        whole = sum(one.size for one in self.of)
        signs = {sign for one in self.of for sign in one.marks}
        return {sign: sum(one.marks.get(sign, 0.0) * one.size for one in self.of) / whole for sign in signs}

    def distances(self, one: Passage) -> dict[str, float]:
        """The four distances of a passage from this half."""
        roots = [sqrt(one.words[word] / one.size) - sqrt(rate) for word, rate in self._rates.items()]
        signs = {*one.marks, *self._marks}
        share = fmean(passage.spoken for passage in self.of)
        return {
            _WORDS: sqrt(sum(root * root for root in roots)),
            _SENTENCES: float(np.abs(_quantiles(one.lengths) - self._quantiles).mean()),
            _MARKS: sum(abs(one.marks.get(sign, 0.0) - self._marks.get(sign, 0.0)) for sign in signs),
            _SPEECH: abs(one.spoken - share),
        }


def _quantiles(lengths: Sequence[int]) -> np.ndarray:
    return np.quantile(lengths or [0], (np.arange(_QUANTILES) + 0.5) / _QUANTILES)


class Samples:
    """Samples of an author's prose.

    Attributes:
        text: all samples.
        passages: their passages, in order.
        halves: the first half of the passages and the second.
        apart: for each kind of distance, those of all passages from the other half.

    Raises:
        UsageError: there are too few words.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        texts = list(texts)
        self.text = "\n\n".join(prose for prose, _ in map(_prose, texts))
        self.passages = list(dict.fromkeys(passages(texts)))
        if len(self.passages) < FEWEST:
            have = sum(count_words(one.text) for one in self.passages)
            raise UsageError(
                f"The samples have {have:,} words, and at least {FEWEST * PASSAGE:,} are needed to compare one half "
                "with the other. Add more of the author's prose."
            )
        middle = len(self.passages) // 2
        parts = self.passages[:middle], self.passages[middle:]
        self.halves = [_Half(part) for part in parts]
        first, second = self.halves
        found = [*(second.distances(one) for one in parts[0]), *(first.distances(one) for one in parts[1])]
        self.apart = {kind: [one[kind] for one in found] for kind in _KINDS}
        self.typical = {kind: max(fmean(values), 1e-9) for kind, values in self.apart.items()}

    def distances(self, text: str) -> dict[str, list[float]]:
        """The distances of each passage of a text from the samples, by kind; also their mean in units of `apart`."""
        found: dict[str, list[float]] = {kind: [] for kind in (*_KINDS, WHOLE)}
        for one in passages([text]):
            both = [half.distances(one) for half in self.halves]
            for kind in _KINDS:
                found[kind].append(fmean(of[kind] for of in both))
            found[WHOLE].append(fmean(found[kind][-1] / self.typical[kind] for kind in _KINDS))
        return found

    def method(self, kind: str) -> str:
        """How a distance is measured."""
        if kind == WHOLE:
            return "mean of the four distances, each divided by that between the halves of the samples"
        return _KINDS[kind]

    def own_passages(self) -> list[str]:
        """The passages that are most like all the others, cut to whole paragraphs, in the order of the samples."""
        near = sorted(self.passages, key=lambda one: fmean(self.distances(one.text)[WHOLE]))[:_QUOTED]
        return [_beginning(one) for one in self.passages if one in near]


def _beginning(passage: Passage) -> str:
    """The first paragraphs of a passage, about 60 to 130 words; the first sentences of a long paragraph.

    The rest of a paragraph that began before the passage is left out if enough is left.
    """
    whole_ones = paragraphs(passage.text)
    if not passage.begins and count_words("\n\n".join(whole_ones[1:])) >= _LEAST_WORDS:
        del whole_ones[0]
    kept: list[str] = []
    for paragraph in whole_ones:
        words = count_words("\n\n".join(kept))
        if words >= _LEAST_WORDS and words + count_words(paragraph) > _QUOTED_WORDS:
            break
        kept.append(paragraph)
    if count_words(whole := "\n\n".join(kept)) <= 2 * _QUOTED_WORDS:
        return whole
    short = ""
    for sentence in sentences(whole):
        if short and count_words(short) >= _QUOTED_WORDS:
            break
        short = joined(short, sentence)
    return short


def voice_report(items: Sequence[Item], samples: Samples) -> Report:
    """The distances of stories from an author's samples, with those between two halves of the samples."""
    measured: dict[str, list[Scored]] = {kind: [] for kind in (*_KINDS, WHOLE)}
    for item in items:
        for kind, values in samples.distances(item.story.text).items():
            measured[kind].append(_scored(values, samples.method(kind)))
    halves = [Row("the samples' halves", kind, _scored(samples.apart[kind], samples.method(kind))) for kind in _KINDS]
    how = {"samples": sum(one.size for one in samples.passages), "passage": PASSAGE}
    note = (
        f"The distances are from the author's samples. “{WHOLE}” is 1 for a text that is as near to the samples as one "
        "half of them is to the other. It says nothing about how good a text is."
    )
    return measured_report("voice", how, items, measured, (0.0, inf), beside=halves, notes=[note])


def _scored(values: Sequence[float], method: str) -> Scored:
    return (
        mean_of(values, method=f"mean over passages: {method}", limits=(0.0, inf)) if values else Unscored("no words")
    )


# the style sheet ------------------------------------------------------------------------------------------------------

_I: Final = "i me my mine myself we us our ours ourselves"
_THEY: Final = "he him his himself she her hers herself they them their theirs themselves"
_FIRST, _THIRD = frozenset(_I.split()), frozenset(_THEY.split())
_COLOUR: Final = (
    "colour colours coloured grey favour favourite honour harbour neighbour neighbours parlour rumour behaviour odour "
    "towards realise realised recognise recognised apologise apologised centre theatre metre travelled travelling "
    "plough tyre kerb jewellery pyjamas mum whilst learnt leant spelt"
)
_COLOR: Final = (
    "color colors colored gray favor favorite honor harbor neighbor neighbors parlor rumor behavior odor toward "
    "realize realized recognize recognized apologize apologized center theater meter traveled traveling plow tire "
    "curb jewelry pajamas mom gotten"
)
_BRITISH, _AMERICAN = frozenset(_COLOUR.split()), frozenset(_COLOR.split())
_MANY: Final = 3
_MOSTLY: Final = 0.8
_NARRATED, _OWN = 0.1, 0.2  # "I" among the pronouns: at most in the third person, at least in the first
_RATES: Final = 8
_BESIDE: Final = 0.05  # of all that is spoken, from which on a second way to mark it is named
_NEAR: Final = 4  # characters before a speech, among them its mark


def measured_lines(samples: Samples) -> list[str]:
    """What can be said of an author's prose without a model, as lines of a style sheet."""
    of = samples.passages
    text = samples.text
    tag = language_of(text)
    lengths = sorted(length for one in of for length in one.lengths)
    low, high = (lengths[round(share * (len(lengths) - 1))] for share in (0.25, 0.75))
    sizes = [count_words(paragraph) for paragraph in paragraphs(text)]
    words = sum((one.words for one in of), Counter[str]())
    lines = [] if tag == "en" else [f"Language: {name_of(tag)}."]
    lines += [*_person(of), *_spelling(words)] if tag == "en" else []
    lines += [
        _dialogue(text, fmean(one.spoken for one in of)),
        f"Sentences: {fmean(lengths):.0f} words on average; half have {low} to {high}, and the longest {lengths[-1]}.",
        f"Paragraphs: {fmean(sizes):.0f} words on average.",
        _punctuation(of),
    ]
    return lines


def _person(of: Sequence[Passage]) -> list[str]:
    """The person of English narration, by the pronouns outside speech; a narrator tells of others, too."""
    found = Counter[str]()
    for one in of:
        rest, at = [], 0
        for start, end in speech(one.text):
            rest.append(one.text[at:start])
            at = end
        found += Passage(" ".join([*rest, one.text[at:]])).words
    first, third = (sum(found[word] for word in words) for words in (_FIRST, _THIRD))
    share = first / max(first + third, 1)
    if max(first, third) < _MANY or _NARRATED < share < _OWN:
        return []
    return ["Person: first." if share >= _OWN else "Person: third."]


def _spelling(words: Counter[str]) -> list[str]:
    british, american = (sum(words[word] for word in known) for known in (_BRITISH, _AMERICAN))
    if max(british, american) < max(_MANY, _MOSTLY * (british + american)):
        return []
    return [f"Spelling: {'British' if british > american else 'American'}."]


def _dialogue(text: str, share: float) -> str:
    """How speech is marked, with the share of each way if there are several, and how much of the text it is."""
    found = _marks([text])
    if found and unicodedata.category(max(found, key=lambda mark: found[mark].total())) != "Pd":
        found = _marks(paragraphs(text))  # of a whole text one way counts, of each paragraph its own
    whole = sum(ends.total() for ends in found.values())
    often = sorted(found.items(), key=lambda one: -one[1].total())
    ways = [(_way(mark, ends), ends.total() / whole) for mark, ends in often if ends.total() >= _BESIDE * whole]
    if not ways:
        return "Dialogue: none that is marked."
    shown = [f"{way} ({100 * part:.0f} %)" if len(ways) > 1 else way for way, part in ways]
    return f"Dialogue: {', '.join(shown)}; {share:.0f} % of the words."


def _marks(texts: Iterable[str]) -> dict[str, Counter[str]]:
    """The marks before what is spoken, each with those behind it."""
    found: dict[str, Counter[str]] = {}
    for text in texts:
        for start, end in speech(text):
            if before := text[max(start - _NEAR, 0) : start].rstrip():
                found.setdefault(before[-1], Counter())[text[end : end + 2].strip()[:1]] += 1
    return found


def _way(mark: str, ends: Counter[str]) -> str:
    if not (kind := unicodedata.category(mark)).startswith("P"):
        return "without marks"
    return f"after {mark}" if kind == "Pd" else f"in {mark}…{ends.most_common(1)[0][0]}"


def _punctuation(of: Sequence[Passage]) -> str:
    whole = sum(one.size for one in of)
    counts: Counter[str] = Counter()
    for one in of:
        counts.update({sign: round(rate * one.size / 100) for sign, rate in one.marks.items()})
    shown = [f"`{sign}` {1000 * count / whole:.0f}" for sign, count in counts.most_common(_RATES) if count]
    never = [sign for sign in ";—–…!" if not counts[sign]]
    return f"Marks in 1,000 words: {', '.join(shown)}.{' Never: ' + ' '.join(never) + '.' if never else ''}"


# used lately ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Used:
    """What a book uses often, with how often.

    Attributes:
        phrases: groups of at least three words.
        openings: the first two words of sentences.
        begins: the first three words of parts of the book.
    """

    phrases: tuple[tuple[str, int], ...] = ()
    openings: tuple[tuple[str, int], ...] = ()
    begins: tuple[tuple[str, int], ...] = ()

    @property
    def lines(self) -> list[str]:
        """A sentence for each kind that was found."""
        kinds = {
            "Phrases used often": self.phrases,
            "Sentences often begin with": self.openings,
            "Parts often begin with": self.begins,
        }
        return [
            f"{kind}: {', '.join(f'“{words}” ({count})' for words, count in found)}."
            for kind, found in kinds.items()
            if found
        ]


def used_often(parts: Sequence[str]) -> Used:
    """The phrases, and the openings of sentences and parts, that a book repeats most."""
    whole = [
        [token for token in Passage(one).tokens if _WORD.search(token)] for part in parts for one in sentences(part)
    ]
    rates = Counter(token for sentence in whole for token in sentence)
    total = max(rates.total(), 1)
    common = {word for word, _ in rates.most_common(min(_COMMON, int(_COMMON_SHARE * len(rates))))}
    counts = Counter(
        gram
        for sentence in whole
        for n in range(_SHORTEST, _LONGEST + 1)
        for gram in ngrams(sentence, n)
        if not common.issuperset(gram)
    )
    often = {gram: count for gram, count in counts.items() if count >= _OFTEN}
    inside = {
        inner
        for gram, count in often.items()
        for inner in (gram[1:], gram[:-1])
        if often.get(inner, 0) <= count + count // 4
    }
    scores = {
        gram: often[gram] * -sum(log(rates[word] / total) for word in gram) for gram in often if gram not in inside
    }
    phrases = sorted(scores, key=lambda gram: (-scores[gram], gram))[:_SHOWN]
    openings = Counter(reduce(joined, sentence[:2]) for sentence in whole if len(sentence) > 1)
    firsts = [list(filter(_WORD.search, Passage(part[:_BEGINNING]).tokens))[:3] for part in parts]
    begins = Counter(reduce(joined, words) for words in firsts if words)
    return Used(
        tuple((reduce(joined, gram), often[gram]) for gram in phrases),
        tuple(one for one in openings.most_common(_SHOWN) if one[1] >= _OFTEN and one[1] * 50 >= len(whole)),
        tuple(one for one in begins.most_common(_SHOWN) if one[1] > 1),
    )
