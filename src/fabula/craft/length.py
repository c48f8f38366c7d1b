"""Texts of the requested length: word ranges, their shares for sections, and writing until a text fits.

Ours; Agents' Room only notes that models miss length requirements (section 4.1). Improved mode uses this.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Final, overload

from fabula.base.errors import NoRoomError, UsageError
from fabula.craft.numbers import LARGEST, number
from fabula.engine.replies import left_out
from fabula.story import count_words
from fabula.story.sentences import ends_whole, sentences, spans, whole_sentences
from fabula.story.speech import OPENING, unclosed
from fabula.story.words import joined

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from fabula.craft.wording import Length, LengthsAsked
    from fabula.engine.replies.rules import RuleName
    from fabula.engine.run import Run
    from fabula.story import Brief

__all__ = [
    "LEAST_SCENES",
    "AskedLength",
    "Fitted",
    "Parts",
    "WordRange",
    "asked_length",
    "asked_range",
    "parse_range",
    "read_range",
    "revise_to_length",
    "trim",
    "words_to_follow",
    "write_to_length",
]

_ABOUT: Final = 0.10
_OPEN: Final = 0.25  # how far a range reaches beyond "at least", or below "at most"
_SECTION_SLACK: Final = 0.12  # how far a section may miss its share, since those after it make up for that
_SLACK: Final = 0.15  # the same in round numbers
_ROUNDED: Final = 50  # words; from here a target is a multiple of 5,
_COARSE: Final = 250  # and from here of 10
_TOLERANCE: Final = 0.05  # how far a text may go beyond its range before its model is asked to shorten it
_AT_THE_END: Final = 2  # sections
_LEAST_SHARE, _LAST_SHARE = 0.5, 0.85  # of its planned words, that a section gets at least, and that the last one gets
_SHORTENINGS: Final = 3
_LOOSE: Final = 0.25  # of the borders
_LEFT: Final = 0.75  # of the words wanted; a shortened text with fewer has lost too much
_LEAST_ASKED: Final = 15  # words; fewer are not worth a call's instruction
_CALLS_A_TRY: Final = 6  # continuations that help are not failed tries, but they are bounded too
_NEW_PARAGRAPH: Final = 80  # words of a paragraph after which a continuation starts a new one
_SCENES: Final = 13  # 500 words have 3 scenes, 2,000 have 5, 20,000 have 18, 80,000 have 38
_MORE, _LEAST_MORE, _MOST_MORE = 3, 150, 1000
LEAST_SCENES: Final = 3
"""Scenes that planners give a story of which no length is known."""
_OWN_WORDS: Final = 4  # shorter sentences may occur twice
_ENDING: Final = 3  # sentences of an ending that stay together where that is possible
_MIDDLE: Final = 0.55  # of a text, where a gap opens
_PARAGRAPH: Final = re.compile(r"\n\s*\n")
ONE_REPLY: Final = 3_000
"""Words that models write as one text; longer ones come out shorter than asked."""
_FLAG: Final = re.compile(
    r"(~|<=|>=|≤|≥|<|>)?\s{0,9}([\d.,]{1,12}\s{0,9}k?)(?:\s{0,9}(?:-|\u2013|\.\.|to)\s{0,9}([\d.,]{1,12}\s{0,9}k?))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WordRange:
    """How many words are wanted: `low` to `high`, best `target`; `exact` if the author drew the borders.

    As text it is what a prompt says: "about 175 words, between 160 and 190". `unit` is what a prompt calls them.
    """

    low: int
    high: int
    target: int
    exact: bool
    unit: str = "words"

    @classmethod
    def about(cls, words: int) -> WordRange:
        """`words` and 10 % to both sides."""
        return cls(max(ceil(words * (1 - _ABOUT)), 1), floor(words * (1 + _ABOUT)), words, exact=False)

    @classmethod
    def between(cls, low: int, high: int) -> WordRange:
        """`low` to `high`, the middle best."""
        return cls(low, high, (low + high) // 2, exact=True)

    @classmethod
    def band(cls, words: int, slack: int = 0) -> WordRange:
        """About `words`, as a round number in the middle of a band of 12 to 15 % to each side, or of `slack`."""
        step = 1 if words < _ROUNDED or slack else 5 if words < _COARSE else 10
        target = max(round(words / step), 1) * step
        half = slack or max(round(target * _SLACK / step), 1) * step
        if half < target * _SECTION_SLACK:
            half += step
        return cls(max(target - half, 1), target + half, target, exact=False)

    def __str__(self) -> str:
        """The target with its band, as a prompt says it."""
        if self.low == self.high and self.high >= _LEAST_ASKED:
            return f"exactly {self.high} {self.unit}"
        if self.low <= 1 or self.high < _LEAST_ASKED:
            return f"at most {max(self.high, _LEAST_ASKED)} {self.unit}"
        return f"about {self.target} {self.unit}, between {self.low} and {self.high}"

    @property
    def usual_scenes(self) -> int:
        """About how many scenes capable planners give a story of so many words."""
        scenes: float = self.target**0.55 / _SCENES
        return max(round(scenes), LEAST_SCENES)

    @property
    def roughly(self) -> str:
        """The target alone, for plans: what a part's band is in the end, those before it decide."""
        return str(self).partition(", between")[0]

    def holds(self, words: int) -> bool:
        """Whether `words` lie inside."""
        return self.low <= words <= self.high

    def accepts(self, words: int) -> bool:
        """Whether `words` lie inside, or so little above that a model is not asked to shorten its text for it."""
        return self.low <= words <= self.high * (1 + _TOLERANCE)

    @property
    def loose(self) -> WordRange:
        """The range with a quarter more to each side: for a version that is revised before anybody reads it."""
        return replace(self, low=max(floor(self.low * (1 - _LOOSE)), 1), high=ceil(self.high * (1 + _LOOSE)))

    def misses(self, words: int) -> int:
        """How many words are missing or too many; 0 inside."""
        return max(self.low - words, words - self.high, 0)

    def planned(self, weights: Sequence[float]) -> list[float]:
        """The words of sections with these weights: the weights themselves where they add up to words in this range."""
        total = sum(weights) or 1.0
        scale = 1.0 if self.holds(round(total)) else self.target / total
        return [weight * scale for weight in weights]

    def of_sections(
        self, weights: Sequence[float], written: Sequence[int], *, before: Sequence[float] = (), cut: bool = False
    ) -> WordRange:
        """The range for the next section.

        With `before` every section keeps its planned words as long as the whole then comes out in its range (a tenth to
        each side of about so many words), or in the middle half of it where the author drew the borders. Where it does
        not, all that is left gets less, or more, by the same share. The last but one makes room for an ending that
        comes half as much too long, or too short, as what is written, so that the ending does not pay alone. No section
        gets less than half of its planned words, and the last no less than 85 % where there are no borders.
        Without `before` what is left of the target is shared by weight.

        The target lies in the middle of its band of 12 to 15 % to each side, in round numbers; the last section's band
        is narrower where the whole would leave its range.

        Args:
            weights: of the sections that are still to be written, the next one first.
            written: words of the finished ones.
            before: weights of the finished ones, where they are known.
            cut: the text of a small model, which is cut where it is too long: the last section gets exactly what is
                left, in whatever numbers.
        """
        done, total = sum(written), sum(weights)
        share = weights[0] / total if total > 0 else 1 / max(len(weights), 1)
        last = len(weights) <= 1
        if cut:
            return self._rest(done) if last else _around(max(round((self.target - done) * share), 1))
        rest, fair, over = float(self.target - done), 0.0, 1.0
        if total > 0 and len(before) == len(written):
            words = self.planned([*before, *weights])
            rest, fair = sum(words[len(before) :]), words[len(before)]
            if done and len(weights) == _AT_THE_END and not self.exact:
                over = (1 + done / sum(words[: len(before)])) / 2
        margin = ((self.target - self.low) // 2, (self.high - self.target) // 2) if self.exact else (0, 0)
        least, most = self.low + margin[0] - done, self.high - margin[1] - done
        target = max(min(max(rest, least / over), most / over) * share, fair * _LEAST_SHARE, 1.0)
        if not last or self.high - done < fair / 2:
            return WordRange.band(round(target))
        return self._last(target, done) if self.exact else self._ending(fair * _LAST_SHARE, target, done)

    def _ending(self, least: float, target: float, done: int) -> WordRange:
        """The band of the last section; before its target gives way, down to `least`, its band becomes narrower."""
        low, high = self.low - done, self.high - done
        words = max(
            min(max(round(target), ceil(low / (1 - _TOLERANCE))), floor(high / (1 + _TOLERANCE))), ceil(least), 1
        )
        band, narrow = WordRange.band(words), max(floor(words * _TOLERANCE), 1)
        slack = min(band.high - band.target, max(high - words, narrow), max(words - low, narrow))
        return WordRange(words - slack, words + slack, words, exact=False) if slack < band.high - band.target else band

    def _last(self, target: float, done: int) -> WordRange:
        """The band of the last section, inside what the author's borders leave."""
        band = WordRange.band(round(target))
        slack, high, low = (
            band.high - band.target,
            floor((self.high - done) / (1 + _TOLERANCE)),
            max(self.low - done, 1),
        )
        if high - low < 2 * slack:
            return self._rest(done)
        lowest, highest = low + slack, high - slack
        lowest, highest = min(-(-lowest // 5) * 5, highest), max(highest // 5 * 5, lowest)
        return WordRange.band(min(max(band.target, lowest), highest), slack)

    def _rest(self, done: int) -> WordRange:
        """What is left of this range, exactly."""
        high = max(self.high - done, 1)
        low = min(max(self.low - done, 1), high)
        return WordRange(low, high, min(max(self.target - done, low), high), self.exact)

    def shares(self, weights: Sequence[float]) -> list[WordRange]:
        """Ranges for sections that are written side by side: by weight, so that all together are inside this one."""
        total = sum(weights) or 1
        edges = [0.0, *accumulate(weight / total for weight in weights)]
        parts = []
        for start, end in pairwise(edges):
            low, high = (max(round(n * end) - round(n * start), 1) for n in (self.low, self.high))
            parts.append(WordRange(low, max(low, high), (low + max(low, high)) // 2, self.exact))
        return parts

    def less(self, words: int) -> WordRange:
        """The range for what comes beside `words` that stand there already."""
        low, high = max(self.low - words, 1), max(self.high - words, 1)
        return WordRange(low, high, (low + high) // 2, self.exact)


def _around(target: int) -> WordRange:
    slack = max(round(target * _SECTION_SLACK), 1)
    return WordRange(max(target - slack, 1), target + slack, target, exact=False)


@dataclass(frozen=True, slots=True)
class Fitted:
    """A text, its words, how many calls it took, whether it is as long as wanted, and what rules took out of it.

    `removed` has, for each piece, the rule's name and the text.
    """

    text: str
    words: int
    tries: int
    inside: bool
    removed: tuple[tuple[RuleName, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that a brief asks for: "10 chapters of 2,000 words each".

    Attributes:
        count: how many; 0 where the brief says how long each is, and not how many.
        kind: "chapter", "scene", "letter", "act", "entry", "episode", "day" or "part", whatever the brief's language.
        each: the words of each, where the brief says them.
    """

    count: int
    kind: str
    each: WordRange | None = None


@dataclass(frozen=True, slots=True)
class AskedLength:
    """What a brief says about length: the words of the whole story, and its parts; `None` where it says nothing."""

    words: WordRange | None
    parts: Parts | None


def asked_length(brief: Brief, words: str = "") -> AskedLength:
    """The words and the parts that a story should have; the setting `words` ("1300-1350") goes before the brief's.

    Raises:
        UsageError: `words` is not a range, or the brief asks for more words than a story can have.
    """
    asked = _lengths_asked(brief.text)
    if not words and asked.too_many:
        raise UsageError(
            f"The brief asks for {asked.too_many:,} words, but a story has {LARGEST:,} at most. Ask for fewer or, if "
            "that number is not the story's length, give the length with --words."
        )
    if not words and asked.backwards:
        said, line = asked.backwards
        raise UsageError(
            f'The brief asks for "{said}" (line {line} of its text), but the first number is the larger one. Correct '
            "the brief, or give the length with --words."
        )
    whole = parse_range(words) if words else _range_of(asked.whole)
    if asked.parts is None:
        return AskedLength(whole, None)
    each = None if words and asked.parts.count else _range_of(asked.parts.each)
    return AskedLength(whole, Parts(asked.parts.count, asked.parts.kind, each))


def _lengths_asked(text: str) -> LengthsAsked:
    from fabula.craft.wording import lengths_asked  # noqa: PLC0415 - its patterns take a while

    return lengths_asked(text)


def asked_range(brief: Brief, words: str = "") -> WordRange | None:
    """The words that a story should have: those of the setting `words` ("1300-1350"), else what the brief asks for.

    Raises:
        UsageError: `words` is not a range, or the brief asks for more words than a story can have.
    """
    return asked_length(brief, words).words


def read_range(brief_text: str) -> WordRange | None:
    """The number of words that a brief asks for, or `None`.

    "between 1,300 and 1,350 words" is that range, "exactly 900 words" nothing else. "about 950 words", "950 words" and
    "a 500-word story" mean 10 % to both sides; "at least 2,000 words" 25 % upwards; "at most 500 words" 25 % downwards;
    both together a range. "10 chapters of 2,000 words each" are 20,000. A page is 400 words. Where a brief names
    several numbers, the largest is the story's and the others are about parts of it. Other languages are read as
    English is: "etwa 800 Wörter", "10 Kapitel zu je 2.000 Wörtern", "3000 mots", "三千字".
    """
    return _range_of(_lengths_asked(brief_text).whole)


@overload
def _range_of(asked: None) -> None: ...
@overload
def _range_of(asked: Length) -> WordRange: ...
@overload
def _range_of(asked: Length | None) -> WordRange | None: ...
def _range_of(asked: Length | None) -> WordRange | None:
    if asked is None:
        return None
    bounds, low, high = asked
    if bounds in {"range", "exactly"}:
        return WordRange.between(low, high)
    if bounds == "least":
        return WordRange.between(low, ceil(low * (1 + _OPEN)))
    if bounds == "most":
        return WordRange.between(max(ceil(high * (1 - _OPEN)), 1), high)
    return WordRange.about(low)


def parse_range(text: str) -> WordRange:
    """The range in a flag: "1300-1350", "~950" or "950" (10 % to both sides), "<=500", ">=2000", "2k".

    Raises:
        UsageError: it is none of these, or the borders are in the wrong order.
    """
    said = re.sub(r"(?:(?<!\s)\s++)?+words?\Z", "", text.strip(), flags=re.IGNORECASE)
    found = _FLAG.fullmatch(said)
    numbers = [number(part) for part in found.groups()[1:] if part] if found else []
    if not found or None in numbers or (found.group(1) and len(numbers) > 1):
        raise UsageError(
            f"{text!r} is not a number of words. Give 1 to {LARGEST:,} words: 1300-1350, 950 (about that), <=500 or "
            ">=2000."
        )
    low, high = (int(n) for n in (numbers[0] or 0, numbers[-1] or 0))
    if not 1 <= low <= high <= LARGEST:
        if low > high and high:
            raise UsageError(f"{text!r} is not a range of words: the smaller number comes first, as in {high}-{low}.")
        raise UsageError(
            f"{text!r} is not a length that can be written. Give 1 to {LARGEST:,} words, such as 950 or 1300-1350."
        )
    if len(numbers) > 1:
        return WordRange.between(low, high)
    sign = found.group(1) or "~"
    return _range_of(("most" if sign in "<=≤" else "least" if sign in ">=≥" else "about", low, high))


async def revise_to_length(
    write: Callable[[int], Awaitable[str]],
    extend: Callable[[str, int, int], Awaitable[str]],
    shorten: Callable[[str, int], Awaitable[str]],
    want: WordRange,
    *,
    tries: int = 4,
    join: Callable[[str, str], str] | None = None,
) -> Fitted:
    """A text with `want` words if its model can write one; no rule takes anything out of it.

    Too short, it is continued; more than 5 % too long, its model is asked to shorten it. If all tries fail, the version
    nearest to the range comes back; a shortened one with less than three quarters of the words wanted does not count.
    The same where a cap has no room for a call (`NoRoomError`).

    Args:
        write: `write(words)` gives a first version of about `words` words.
        extend: `extend(text, words, attempt)` gives only what comes after `text`; `attempt` counts all calls from 1.
        shorten: `shorten(text, attempt)` gives a shorter version of all of `text`.
        want: the range.
        tries: failed continuations allowed; helpful ones are bounded by six times this number, shortenings by three.
        join: a text and its continuation as one; by default as prose.
    """
    best = await write(max(want.target, _LEAST_ASKED))
    failed = shortened = calls = 0
    while not want.accepts(words := count_words(best)) and failed < tries and calls < tries * _CALLS_A_TRY:
        if words > want.high and shortened == _SHORTENINGS:
            break
        calls += 1
        try:
            if words > want.high:
                shortened += 1
                shorter = (await shorten(best, calls)).strip()
                version = shorter if count_words(shorter) >= want.low * _LEFT else best
            else:
                more = await extend(best, max(want.target - words, _LEAST_ASKED), calls)
                version = (join or _joined)(best, more.removeprefix(best).strip())
        except NoRoomError:
            break
        if want.misses(count_words(version)) < want.misses(words):
            best = version
        else:
            failed += 1
    return Fitted(best, words, calls + 1, want.accepts(words))


async def write_to_length(
    write: Callable[[int], Awaitable[str]],
    extend: Callable[[str, int, int], Awaitable[str]],
    want: WordRange,
    *,
    tries: int = 4,
    keep_end: bool,
) -> Fitted:
    """A text with `want` words if it can be had from a small model: continued, or cut by sentences.

    Each version ends on a whole sentence. A continuation counts only with the sentences that the text does not hold
    yet; one that brings none is a failed try. If all tries fail, the version nearest to the range comes back.

    Args:
        write: `write(words)` gives a first version of at most about `words` words.
        extend: `extend(text, words, attempt)` gives only what comes after `text`; `attempt` counts from 1.
        want: the range.
        tries: failed continuations allowed; helpful ones are bounded by six times this number.
        keep_end: the last sentences are an ending, so what is too much goes from the middle.
    """
    removed: list[tuple[RuleName, str]] = []

    def kept(rule: RuleName, before: str, after: str) -> str:
        removed.extend((rule, sentence) for sentence in left_out(before, after))
        return after

    def whole(text: str) -> str:
        return kept("fragment", text, whole_sentences(text))

    def fit(text: str) -> str:
        long = count_words(text) > want.high
        return kept("length", text, trim(text, want.high, low=want.low, keep_end=keep_end)) if long else text

    best = text = fit(whole(await write(max(want.high, _LEAST_ASKED))))
    failed = calls = 0
    while not want.holds(count_words(best)) and failed < tries and calls < tries * _CALLS_A_TRY:
        calls += 1
        missing = max(want.target - count_words(text), _LEAST_ASKED)
        try:
            more = whole(await extend(text, missing, calls))
        except NoRoomError:
            break
        new = kept("repeat", more, _new(text, more))
        if not new:
            failed += 1
            continue
        longer = fit(_joined(text, new))
        if want.misses(count_words(longer)) >= want.misses(count_words(text)):
            failed += 1
        else:
            text = longer
        best = min(best, longer, key=lambda version: want.misses(count_words(version)))
    words = count_words(best)
    return Fitted(best, words, calls + 1, want.holds(words), tuple(removed))


def _new(text: str, more: str) -> str:
    """`more` without sentences that `text` holds, and without its own repeats."""
    seen = {_key(sentence) for sentence in sentences(text)}
    kept: list[str] = []
    at = 0
    for start, end in spans(more):
        key = _key(more[start:end])
        if key not in seen or len(key) < _OWN_WORDS:
            kept.append((more[at:start] if kept else "") + more[start:end])
            seen.add(key)
        at = end
    return "".join(kept).strip() if any(len(_key(piece)) >= _OWN_WORDS for piece in kept) else ""


def trim(text: str, high: int, *, low: int, keep_end: bool) -> str:
    """`text` without some neighbouring sentences, so that at most `high` words remain, and at least `low` if any do.

    The first sentence stays. With `keep_end` the last one stays too (the last three where that is possible) and the gap
    opens in the middle; else the end goes. No quotation is torn where that is possible, and no more goes than must. A
    text that is short enough comes back as it is; where the sentences that stay are longer than `high`, the first alone
    comes back.
    """
    found = spans(text)
    sums = [0, *accumulate(count_words(text[start:end]) for start, end in found)]
    if count_words(text) <= high or not found:
        return text
    last = len(found) - keep_end
    gaps: list[tuple[int, int]] = []  # the first sentence that goes, and the first that stays behind it
    for first in range(1, last):
        least, most = (sums[first] + sums[-1] - words for words in (high, low))
        shortest = bisect_left(sums, least, first + 1)
        gaps += [(first, end) for end in range(shortest, max(bisect_right(sums, most), shortest + 1)) if end <= last]
    if not gaps:
        return text[: found[0][1]]
    torn = {at: bool(unclosed(text[: found[at - 1][1]])) for at in {at for gap in gaps for at in gap}}

    def worth(gap: tuple[int, int]) -> tuple[int, bool, bool, int, float]:
        first, end = gap
        left = sums[-1] - sums[end] + sums[first]
        ending = len(found) - end >= _ENDING if keep_end else end == len(found)
        middle = -abs(first + end - 2 * _MIDDLE * len(found)) if keep_end else first
        return min(left, low), not (torn[first] or torn[end]), ending, left, middle

    first, end = max(gaps, key=worth)
    before = text[: found[first - 1][1]]
    if end == len(found):
        return before
    after = text[found[end][0] :]
    new_paragraph = _PARAGRAPH.search(text, len(before), found[end][0])
    return f"{before}\n\n{after}" if new_paragraph else joined(before, after)


def _key(sentence: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", sentence.lower()))


def _joined(text: str, more: str) -> str:
    """`more` after `text`: a new paragraph, unless the text is a single short one and nobody begins to speak."""
    if not text or not more:
        return text or more
    several = "\n\n" in text or "\n\n" in more or count_words(text) >= _NEW_PARAGRAPH
    if ends_whole(text) and (several or more.startswith(OPENING) or text.startswith(OPENING)):
        return f"{text}\n\n{more}"
    return joined(text, more)


def words_to_follow(run: Run, text: str) -> int:
    """About how many words more the author wants after the text of the artefact that is made here.

    Where they named no number, a third of what there is, 150 at least and 1,000 at most.
    """
    decisions = run.context.journal.decisions.find(run.at.partition("/more/")[0])
    named = next((one.target for one in reversed(decisions) if one.kind == "continue"), None)
    return named or min(max(count_words(text) // _MORE, _LEAST_MORE), _MOST_MORE)
