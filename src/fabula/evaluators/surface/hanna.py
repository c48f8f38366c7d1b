"""The text measures of HANNA (Chhun et al., COLING 2022), by the procedure that gives its published numbers.

Story and prompt are tokenised with a line end behind them, case kept. Repetition-n: distinct n-grams that occur more
than once, of all distinct ones. Novelty-n: distinct n-grams that are not in the prompt, of all distinct ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fabula.craft.tokens import tokeniser
from fabula.stats.estimate import Estimate, Scored, Unscored
from fabula.story.words import ngrams

if TYPE_CHECKING:
    from fabula.measure.items import Item


_ORDERS: Final = (1, 2, 3)


def hanna(items: Sequence[Item], tokens: str) -> dict[str, Sequence[Scored]]:
    """Text length, Repetition-n and Novelty-n of every story, under "hanna/length", "hanna/repetition-1" ..."""
    stories = [hanna_text(item.story.text, item.brief.text if item.brief else None, tokens) for item in items]
    return {what: [story[what] for story in stories] for what in stories[0]}


def hanna_text(story: str, prompt: str | None, tokens: str) -> dict[str, Scored]:
    """Text length, Repetition-n and Novelty-n of one text.

    Raises:
        UnknownNameError: there is no such tokeniser.
        UsageError: the tokeniser is not installed.
    """
    cut = tokeniser(tokens)
    words, asked = cut(story + "\n"), None if prompt is None else cut(prompt + "\n")
    found: dict[str, Scored] = {"hanna/length": Estimate(len(words), 1, method=f"number of {tokens} tokens")}
    for n in _ORDERS:
        counts = Counter(ngrams(words, n))
        known = None if asked is None else set(ngrams(asked, n))
        again = sum(count > 1 for count in counts.values())
        new = None if known is None else sum(gram not in known for gram in counts)
        unit = f"distinct {n}-grams of {tokens} tokens"
        found[f"hanna/repetition-{n}"] = _share(again, counts, f"share of the {unit} that occur more than once")
        found[f"hanna/novelty-{n}"] = _share(new, counts, f"share of the {unit} that are not in the prompt")
    return found


def _share(part: int | None, counts: Counter[tuple[str, ...]], method: str) -> Scored:
    if part is None:
        return Unscored("the story's prompt is not known")
    if not counts:
        return Unscored("the story is too short")
    return Estimate(part / len(counts), len(counts), method=method)
