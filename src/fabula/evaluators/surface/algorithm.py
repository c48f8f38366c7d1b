"""The surface measures of Agents' Room (section 6.2, Table 2), and a few more that need no model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final

from fabula.craft.measuring import checked, measured_report
from fabula.craft.tokens import opening_word, tokeniser
from fabula.evaluators.surface.hanna import hanna
from fabula.evaluators.surface.repetition import INTRA, in_case, inter_rows, intra, overlap, trigrams
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.story.language import language_of, name_of
from fabula.story.sentences import paragraph_spans, sentences
from fabula.story.speech import spoken

if TYPE_CHECKING:
    from fabula.craft.tokens import Tokeniser
    from fabula.engine.run import Run
    from fabula.evaluators.surface.config import Config
    from fabula.measure.items import Item
    from fabula.measure.report import Report


ARTICLES: Final = frozenset({"a", "an", "the"})
_ALONE: Final = (
    "i you he she it we they me him her us them mine yours his hers ours theirs myself yourself himself herself itself "
    "ourselves yourselves themselves"
)
_OTHERS: Final = (
    "my your its our their this that these those who whom whose what which someone somebody something anyone anybody "
    "anything everyone everybody everything nobody nothing none one each both few many several another"
)
PERSONAL: Final = frozenset(_ALONE.split())
PRONOUNS: Final = PERSONAL | frozenset(_OTHERS.split())
_FEWEST: Final = 2  # sentences that have a spread
_COUNTED: Final = frozenset({"words", "paragraphs", "sentences", "sentence length", "sentence spread", "hanna/length"})
_SPLITTER: Final = "split by punkt"


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """Numbers for every story, and means of every system with intervals by prompt. Calls no model.

    Raises:
        UsageError: there is no story, two have one id, or spaCy is needed but not installed.
        UnknownNameError: there is no such tokeniser.
    """
    del run
    checked(items)
    for name in (config.tokens, config.trigram_tokens, config.overlap_tokens, *([config.hanna_tokens] * config.hanna)):
        tokeniser(name)
    measured: dict[str, Sequence[Scored]] = counted(items, config)
    codes = trigrams(items, config)
    measured[INTRA] = intra(codes, config)
    measured["prompt overlap"] = overlap(items, config)
    if config.more:
        measured["dialogue"] = dialogue(items, config)
    if config.hanna:
        measured |= hanna(items, config.hanna_tokens)
    between, notes = inter_rows(items, codes, config)
    return measured_report("surface", asdict(config), items, measured, limits, rows=between, notes=notes)


def limits(what: str) -> tuple[float, float]:
    """The range of a mean: HANNA's measures are shares, and other measures that are not counts are percentages."""
    if what in _COUNTED:
        return 0.0, math.inf
    return 0.0, 1.0 if what.startswith("hanna/") else 100.0


# counts of one story -------------------------------------------------------------------------------------------------


def counted(items: Sequence[Item], config: Config) -> dict[str, Sequence[Scored]]:
    """Words, paragraphs, sentences, their openings and lengths, and unique words, of every story."""
    stories = [_story(item.story.text, config) for item in items]
    return {what: [story[what] for story in stories] for what in stories[0]}


def _story(text: str, config: Config) -> dict[str, Scored]:
    tokens = tokeniser(config.tokens)
    words = in_case(tokens, config.fold_case)(text)
    pieces = [sentence for sentence in sentences(text) if opening_word(sentence)]
    starts = [opening_word(sentence) for sentence in pieces]
    pronouns = PERSONAL if config.pronouns == "personal" else PRONOUNS
    found: dict[str, Scored] = {
        "words": Estimate(len(words), 1, method=f"number of {config.tokens} tokens"),
        "paragraphs": Estimate(len(paragraph_spans(text)), 1, method="number of pieces between blank lines"),
    }
    if config.more:
        found["sentences"] = Estimate(len(pieces), 1, method=f"number of sentences, {_SPLITTER}")
    kind = "a personal pronoun" if config.pronouns == "personal" else "a pronoun of any kind"
    found["article starts"] = _openings(starts, ARTICLES, "an article")
    found["pronoun starts"] = _openings(starts, pronouns, kind)
    if (tag := language_of(text)) != "en":
        known = Unscored(f"these words are known in English alone, and the story is in {name_of(tag)}")
        found["article starts"] = found["pronoun starts"] = known
    case = "small letters" if config.fold_case else "case kept"
    found["unique words"] = _percent(len(set(words)), len(words), f"distinct {config.tokens} tokens, {case}", "words")
    return found | (_lengths(pieces, tokens, config) if config.more else {})


def _openings(starts: Sequence[str], wanted: frozenset[str], kind: str) -> Scored:
    hits = sum(start in wanted for start in starts)
    return _percent(hits, len(starts), f"sentences that start with {kind}, {_SPLITTER}", "sentences")


def _percent(part: int, whole: int, what: str, units: str) -> Scored:
    if not whole:
        return Unscored(f"the story has no {units}")
    return Estimate(100 * part / whole, whole, method=f"% of {units}: {what}")


def _lengths(pieces: Sequence[str], tokens: Tokeniser, config: Config) -> dict[str, Scored]:
    """Mean and sample standard deviation of the sentences' lengths."""
    sizes = [len(tokens(piece)) for piece in pieces]
    unit = f"{config.tokens} tokens a sentence, {_SPLITTER}"
    if len(sizes) < _FEWEST:
        short = Unscored("the story has fewer than two sentences", len(sizes))
        return {"sentence length": short, "sentence spread": short}
    return {
        "sentence length": Estimate(fmean(sizes), len(sizes), method=f"mean of {unit}"),
        "sentence spread": Estimate(stdev(sizes), len(sizes), method=f"sample standard deviation of {unit}"),
    }


def dialogue(items: Sequence[Item], config: Config) -> list[Scored]:
    """The share of the words in quotation marks, or behind the dashes of speech, for every story."""
    tokens, found = tokeniser(config.tokens), []
    for item in items:
        words = len(tokens(item.story.text))
        # A token with speech at both its ends counts twice inside.
        inside = min(len(tokens(spoken(item.story.text))), words)
        found.append(
            _percent(inside, words, f"{config.tokens} tokens in quotation marks or behind dashes of speech", "words")
        )
    return found
