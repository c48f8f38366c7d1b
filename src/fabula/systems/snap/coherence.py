"""Coherence, the filter's first criterion: how like its segment a plan is, by words or by BERTScore (section 4.4)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from fabula.base.errors import UsageError
from fabula.base.remembering import remembered
from fabula.craft.bertscore.embedders import open_embedder
from fabula.craft.bertscore.scoring import encoded, matched
from fabula.craft.memory import tf_idf
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.craft.bertscore.scoring import Embedder, Vectors
    from fabula.craft.conversation.lines import SubPlan
    from fabula.engine.run import Run
    from fabula.systems.snap.config import Paper

_OVERLAP: Final = 64  # tokens that two windows of a long segment share
_FIELDS: Final = "coherence_"
_ONE: Final = Lock()  # models of this kind use all cores for one text; a second one is not opened meanwhile


class _Source(NamedTuple):
    """What gives the vectors."""

    embedder: str
    model: str
    fetch: bool


async def opened(run: Run, paper: Paper) -> Paper:
    """The settings with the measure of coherence, which is opened, so that a missing one is found before any call.

    With "auto" it is BERTScore where that is on this machine; else words, and a note says why.

    Raises:
        UsageError: with "bertscore" a package or the model is not on this machine; says what to do.
    """
    if paper.coherence == "words" or not paper.plan_filter or paper.candidates == 1:
        return paper
    try:
        await asyncio.to_thread(_opened, _source(paper))
    except UsageError as error:
        if paper.coherence == "bertscore":
            raise
        run.note(f"The coherence of plans is measured by words, not by BERTScore as in the paper. {error}")
        return replace(paper, coherence="words")
    return replace(paper, coherence="bertscore")


async def coherences(plans: Sequence[Sequence[SubPlan]], segment: str, run: Run, paper: Paper) -> list[float]:
    """The coherence of each plan with the segment, as the settings have it measured; made-up plans by words.

    Raises:
        UsageError: a package or the model is not on this machine; says what to do.
    """
    if run.context.unless_made_up(lambda: paper.coherence, "words") != "bertscore":
        return [by_words(plan, segment) for plan in plans]
    return await asyncio.to_thread(_by_bertscore, [_text(plan) for plan in plans], segment, _source(paper))


def by_words(plan: Sequence[SubPlan], segment: str) -> float:
    """Cosine of the TF-IDF vectors of plan and segment, 0 to 1."""
    return float(tf_idf(_text(plan), [segment, *sentences(segment)])[0])


def _text(plan: Sequence[SubPlan]) -> str:
    return " ".join(step.text for step in plan)


def _source(paper: Paper) -> _Source:
    return _Source(paper.coherence_embedder, paper.coherence_model, paper.coherence_fetch)


def _by_bertscore(texts: Sequence[str], segment: str, source: _Source) -> list[float]:
    with _ONE:
        return [_likeness(text, segment, source) for text in texts]


@remembered(512, 20_000)  # a dry run comes before a run
def _likeness(text: str, segment: str, source: _Source) -> float:
    """F1 of a text against the segment; 0 where one has no token, or the model takes them for opposites."""
    reference, own = _vectors(segment, source), _vectors(text, source)
    return max(matched(reference, own).f, 0.0) if reference.counts.any() and own.counts.any() else 0.0


@remembered(8, 50_000)  # a segment is compared with all its plans
def _vectors(text: str, source: _Source) -> Vectors:
    embedder = _embedder(source)
    return encoded(embedder.tokens(text), embedder, min(_OVERLAP, embedder.limit // 2))


def _opened(source: _Source) -> Embedder:
    with _ONE:
        return _embedder(source)


@remembered(2)
def _embedder(source: _Source) -> Embedder:
    return open_embedder(source.embedder, source.model, fetch=source.fetch, fields=_FIELDS)
