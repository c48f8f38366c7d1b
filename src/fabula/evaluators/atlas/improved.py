"""Our method, which is not in the paper: a model reads the story and names contradictions, and each is verified.

1. Read. One call reads the whole story if it fits. Otherwise overlapping parts are read one after the other, each
   with the notes on the parts before it. Places are numbered paragraphs, and the wrong words may come first.
2. One error that was found twice is one suspicion.
3. Verify. The verifier sees the whole text if it fits. Otherwise it sees the text around both places and related text
   from the whole story. Planted suspicions that are certainly not errors show how reliable its verdicts are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, pairwise
from math import ceil, log
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from fabula.craft.packing import ELLIPSIS, overlap
from fabula.craft.raters import mark_for
from fabula.engine.run import Run, side_by_side
from fabula.evaluators.atlas.algorithm import checked_by
from fabula.evaluators.atlas.checking import LARGEST_BATCH, StoryCheck
from fabula.evaluators.atlas.config import Config, Ours
from fabula.evaluators.atlas.findings import CATEGORIES, LONG, STEM, AtlasFinding, claim_key, keyed, same_focus, stems
from fabula.evaluators.atlas.quoting import Paragraph, word_spans
from fabula.evaluators.atlas.replies import (
    ERROR,
    READER_DECISIONS,
    SURE,
    SUSPECTED,
    DecisionReply,
    NoteReply,
    PartReading,
    ReaderReply,
    SuspicionReply,
    VerifierDecisions,
)
from fabula.models.budget import estimate_tokens
from fabula.story import one_line

if TYPE_CHECKING:
    from fabula.continuity import Passage
    from fabula.measure.items import Item
    from fabula.measure.report import Report


Reads = TypeVar("Reads", bound=ReaderReply)

READ_WHOLE: Final = 160_000
"""The most tokens of text that `auto` reads in one call, or half of the window if that is less. A strong reader found
all of 32 errors planted 50 pages apart and more in 46,000 tokens, and all of 47 in 135,000 (`python -m benchmarks
planted`); parts cost nearly twice as much and found no more."""
VERIFY_WHOLE: Final = 40_000
"""The most tokens of a text that the verifier sees whole, or half of its window. It reads them once for every batch."""
UNKNOWN_WINDOW: Final = 32_768  # tokens, where a model does not say; smaller than those of most models served today
PART_TOKENS: Final = 8_000  # of text in a part: as much as a model can take complete notes of in one reply
LEDGER_TOKENS: Final = 16_000  # of notes beside a part
_PART_SHARE: Final = 0.55  # of what a small window leaves, for the part; the rest is for the notes
_INSTRUCTIONS: Final = 2_600  # tokens of a prompt beside text and notes, schema included
_LEAST_PART: Final = 500
_HOPELESS: Final = 3  # replies that could not be had, and none that could: then nothing is halved any more
_HALVED, _PAIR = 2, 2  # so often a part is halved that cannot be read; a half has at least one paragraph
_FULL: Final = 0.75  # a part that is as full as that ends with its scene
_OVERLAP, _LARGEST_OVERLAP = 0.08, 0.25  # of a part is shown again in the next one; one paragraph may be larger
_SCENE_TOKENS: Final = 1_500  # a scene as short as that is shown to the verifier whole
_AROUND_TOKENS: Final = 1_000  # else as much around each place
_RELATED_TOKENS: Final = 1_500  # of paragraphs elsewhere that speak of the same
_BATCH_TOKENS: Final = 14_000  # of the parts of a story that one call of the verifier sees
_NOTES_TOKENS: Final = 800
_MORE: Final = 3  # the share of a batch by which it may be larger: 12 become 16
_TURNS: Final = 3  # so often a reply is asked for that is broken off each time, as long as each brings something
_CONTROLS: Final = 2  # planted suspicions in a batch
_KINDS: Final = list(CATEGORIES.items())
_NAMED: Final = 0.1  # of the paragraphs at most hold a word that tells what a suspicion is about
_BETWEEN: Final = 1.5  # times as much counts a paragraph between the two places
_ALIKE: Final = 0.4
LASTING: Final = frozenset({"rule", "date", "duration", "season", "age", "life", "name", "kinship"})
_ALWAYS: Final = frozenset({"rule", "date", "season"})


async def evaluate(items: Sequence[Item], run: Run, config: Config) -> Report:
    """The contradictions in each story, also inside scenes, with both quotations. Fewer are better.

    Raises:
        UsageError: a setting or the file of known errors is wrong, or a story has no words.
        ModelError: a model did not answer.
        BudgetError: the cap is reached.
    """
    return await checked_by(reader, items, run, config)


async def reader(check: StoryCheck) -> tuple[list[AtlasFinding], dict[str, Any]]:
    """The reader's suspicions that the verifier confirms, and how the story was read.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    ledger = Ledger(check)

    # 1. Read.
    reading = (check.config.ours or Ours()).reading
    whole = reading == "whole" or (reading == "auto" and check.fits("reader", READ_WHOLE, UNKNOWN_WINDOW))
    found = await read_whole(check) if whole else None
    cut = f"{check.run.at}/read" in check.cut
    if reading == "windows" or (reading == "auto" and (found is None or cut)):
        found = [*(found or ()), *await read_parts(check, ledger)]
    elif found is None:
        check.unread.update(paragraph.number for paragraph in check.text.paragraphs)
    elif cut:
        check.counts["cut_readings"] += 1

    # 2. One error that was found twice is one suspicion.
    suspicions, repeated = united(found or ())
    check.counts["suspicions"] += len(suspicions)
    check.counts["repeated_suspicions"] += repeated
    if suspicions and check.counts["quotations_not_word_for_word"] >= 2 * len(suspicions):
        # In an estimate the reply is made up, and quotes nothing of the text.
        suspicions = check.run.context.unless_made_up(suspicions.copy, _usual(check, len(found or ())))

    # 3. Verify.
    batches = batches_of(check, suspicions)
    decided = await side_by_side(decide(check, n, batch, ledger) for n, batch in enumerate(batches, 1))
    details = {
        "paragraphs": len(check.text.paragraphs),
        "read": "whole" if whole and not ledger.parts else f"{ledger.parts} parts",
        "notes": len(ledger.notes),
        "unread": sorted(check.unread),
    }
    confirmed, repeated = united(one for of_batch in decided for one in of_batch)
    check.counts["repeated_findings"] += repeated
    return rooted(confirmed), details


async def read_whole(check: StoryCheck) -> list[AtlasFinding] | None:
    """The suspicions of a reader of the whole story, or `None` if no reply could be read.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    fields = _shown(check.text.paragraphs, len(check.text.paragraphs)) | {"ledger": [], "left_out": 0}
    reply = await _read(check, check.run, ReaderReply, part=1, of=1, notes=0, **fields)
    return None if reply is None else list(placed(check, reply.findings, "reader"))


async def _read(check: StoryCheck, at: Run, shape: type[Reads], *, notes: int, **fields: Any) -> Reads | None:  # noqa: ANN401 - fields of a prompt
    """The findings of a reader. If its reply was cut off, a second call asks for the rest.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    whole: Reads | None = None
    for turn in range(_TURNS):
        own = at.scope(f"more-{turn}") if turn else at
        known = [] if whole is None else whole.findings
        reply = await check.ask(own, shape, "reader", "read", notes=notes, known=known, kinds=_KINDS, **fields)
        if reply is None:
            break
        more = reply if whole is None else _with_more(whole, reply)
        is_new, whole = more != whole, more
        if f"{own.at}/read" not in check.cut:
            check.cut.discard(f"{at.at}/read")
            break
        if notes and isinstance(whole, PartReading):
            notes = max([notes, *(note.paragraph for note in whole.notes)])
        if not is_new:
            break
    return whole


def _with_more(whole: Reads, more: Reads) -> Reads:
    """A reading with the additional findings of another one."""
    new: dict[str, Any] = {"findings": [*whole.findings, *(one for one in more.findings if one not in whole.findings)]}
    if isinstance(whole, PartReading) and isinstance(more, PartReading):
        new["notes"] = [*whole.notes, *(one for one in more.notes if one not in whole.notes)]
    return whole.model_copy(update=new)


async def read_parts(check: StoryCheck, ledger: Ledger) -> list[AtlasFinding]:
    """The suspicions of a reader of one part after another. Notes are added to `ledger`, and unread parts are recorded.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    most, room = _rooms(check)
    parts = parts_of(check.text.paragraphs, most)
    if len(parts) == 1 and (check.counts["unreadable_read"] or check.cut):  # the whole was asked for already
        parts = list(parts[0].halves()) or parts
    ledger.parts, ledger.room = len(parts), room
    return [one for n, part in enumerate(parts, 1) for one in await read_part(check.run.scope("part", n), part, ledger)]


async def read_part(at: Run, part: ReadingWindow, ledger: Ledger) -> list[AtlasFinding]:
    """The reader's suspicions in a part, or between the part and the notes on earlier parts.

    A part without a usable reply, because a model refuses or does not stop, is tried again in halves, at most twice.
    A part whose reply was cut off is tried again in the same way, and the first words of its reply count too.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    check = ledger.check
    lines, left_out = ledger.shown(part)
    last = part.paragraphs[-1].number == len(check.text.paragraphs)
    reply = await _read(
        check,
        at,
        PartReading,
        part=part.number,
        of=ledger.parts,
        ledger=lines,
        left_out=left_out,
        notes=0 if last else part.first,
        **_shown(part.paragraphs, 0),
    )
    found = list(placed(check, reply.findings, "reader")) if reply else []
    cut = f"{at.at}/read" in check.cut
    ledger.read += reply is not None
    hopeless = not ledger.read and check.counts["unreadable_read"] >= _HOPELESS
    if (cut or reply is None) and not hopeless and (halves := part.halves()):
        for n, half in enumerate(halves, 1):
            found += await read_part(at.scope(f"half-{n}"), half, ledger)
    elif reply is None:
        check.unread.update(one.number for one in part.paragraphs if one.number >= part.first)
    else:
        ledger.add(part, reply.notes)
        check.counts["cut_readings"] += cut
    return found


async def decide(check: StoryCheck, number: int, batch: SuspicionBatch, ledger: Ledger) -> list[AtlasFinding]:
    """The suspicions of a batch that the verifier confirms, and errors that it adds.

    Raises:
        ModelError: the model did not answer.
        BudgetError: the cap is reached.
    """
    at = check.run.scope("verify", number)
    asked = [*batch.suspicions, *controls(check, batch, at)]
    at.rng.shuffle(asked)
    fields = _shown(batch.paragraphs, len(check.text.paragraphs)) | {"ledger": ledger.about(batch)}
    decided: dict[int, DecisionReply] = {}
    besides: list[SuspicionReply] = []
    left = list(range(len(asked)))
    for turn in range(_TURNS):
        own = at.scope(f"more-{turn}") if turn else at
        listed = [asked[n] for n in left]
        reply = await check.ask(own, VerifierDecisions, "verifier", "decide", suspicions=listed, kinds=_KINDS, **fields)
        for decision in reply.decisions if reply else ():
            if 1 <= decision.number <= len(left):
                decided.setdefault(left[decision.number - 1], decision)
        besides += reply.others if reply else ()
        left = [n for n in left if n not in decided]
        if not left or len(left) == len(listed) or f"{own.at}/decide" not in check.cut:
            break
    call = f"{at.at}/decide"
    found = [_outcome(check, one, decided.get(n), call) for n, one in enumerate(asked)]
    others, _ = united(placed(check, besides, "verifier"))
    for one in others:
        same = next((n for n, other in enumerate(asked) if one_error(one, other)), None)
        known = found[same] if same is not None else None
        if same is not None:
            found[same] = known and joined(known, one)
        else:
            check.counts["found_by_verifier"] += 1
            check.rate("verifier", one.key, call, answer=ERROR, shown="not on the list", reason=one.reason)
            found.append(one)
    return [one for one in found if one is not None]


# suspicions ---------------------------------------------------------------------------------------------------------


def placed(check: StoryCheck, replies: Iterable[SuspicionReply], source: str) -> Iterator[AtlasFinding]:
    """The suspicions of a reply with both passages. Those without a place in the story are dropped and counted."""
    for one in replies:
        ends = [
            (_place(check, number, quote, says), one_line(says).rstrip(" .") or one_line(quote))
            for number, quote, says in (
                (one.paragraph_x, one.quote_x, one.says_x),
                (one.paragraph_y, one.quote_y, one.says_y),
            )
        ]
        known = sorted(
            ((passage.scene, passage.focus, passage, says) for passage, says in ends if passage is not None),
            key=lambda end: end[:2],
        )
        if len(known) < len(ends):
            check.counts["dropped_without_place"] += 1
            continue
        (*_, before, first), (*_, after, second) = known
        places = check.text.paragraph_of(before), check.text.paragraph_of(after)
        last = len(check.text.paragraphs)
        yield suspected(
            (before, after),
            places,
            (first, second),
            one_line(one.why),
            one.category if one.category in CATEGORIES else "other",
            sure=one.sure if one.sure in SURE else "likely",
            source=source,
            also=tuple(sorted({number for number in one.also if 1 <= number <= last} - set(places))),
        )


def suspected(
    passages: tuple[Passage, Passage],
    places: tuple[int, int],
    says: tuple[str, str],
    why: str,
    category: str,
    *,
    sure: str = "likely",
    source: str = "reader",
    also: tuple[int, ...] = (),
) -> AtlasFinding:
    """A suspicion: two places that may contradict each other, in the order of the text, not verified yet.

    Args:
        passages: both passages, with the quoted words as focus.
        places: the numbers of their paragraphs.
        says: what each place says.
        why: why both cannot be true.
        category: one of `CATEGORIES`.
        sure: how sure the source is.
        source: who named it: "reader", "verifier", or "control" for a planted one that is certainly not an error.
        also: numbers of other paragraphs that support one of them.
    """
    before, after = passages
    key = claim_key(before, after, category, *says)
    return AtlasFinding(
        before.scene, after.scene, *says, key, category, category, source, before, after, why,
        sure=sure, places=places, also=also,
    )  # fmt: skip


def _place(check: StoryCheck, number: int, quote: str, says: str) -> Passage | None:
    """The passage of a quotation, or the sentence of the named paragraph that is most like it."""
    passage = check.text.find_near(number, quote)
    if passage is None:
        passage = check.text.likest(number, f"{quote} {says}")
        check.counts["quotations_not_word_for_word"] += passage is not None
    return passage


def united(suspicions: Iterable[AtlasFinding]) -> tuple[list[AtlasFinding], int]:
    """Suspicions or findings in the order of the text, each error once, and the number of repetitions.

    The paragraphs of repetitions are added to the first one.
    """
    kept: list[AtlasFinding] = []
    repeated = 0
    for one in suspicions:
        same = next((n for n, other in enumerate(kept) if one_error(one, other)), None)
        if same is None:
            kept.append(one)
        else:
            kept[same] = joined(kept[same], one)
            repeated += 1
    return sorted(kept, key=lambda one: (one.places[::-1], one.after.focus, one.before.focus)), repeated


def one_error(one: AtlasFinding, other: AtlasFinding) -> bool:
    """Whether two suspicions or findings name the same error.

    They do if they quote the same words of the same paragraph on one side, and the same words or the same statement
    on the other. If the other side is in another paragraph, both sides must say nearly the same. Two in the same two
    paragraphs are also the same error if they say nearly the same.
    """
    mine, its = _sides(one), _sides(other)
    kind = one.category == other.category
    return _agree(mine, its, same_kind=kind) or (kind and _agree(mine, its[::-1], same_kind=kind))


_Side: TypeAlias = "tuple[int, Passage, str]"


def _sides(one: AtlasFinding) -> tuple[_Side, _Side]:
    """The paragraph, the passage and the statement of both places."""
    return (one.places[0], one.before, one.says[0]), (one.places[1], one.after, one.says[1])


def _agree(mine: tuple[_Side, ...], its: tuple[_Side, ...], *, same_kind: bool) -> bool:
    pairs = list(zip(mine, its, strict=True))
    there = [a[0] == b[0] for a, b in pairs]
    same = [a[0] == b[0] and same_focus(a[1], b[1]) for a, b in pairs]
    alike = [overlap(stems(a[2]), stems(b[2])) >= _ALIKE for a, b in pairs]
    if not any(same):
        return all(there) and all(alike)
    if all(same):
        return same_kind or any(alike)
    return same_kind and (alike[same.index(False)] if all(there) else all(alike))


def joined(one: AtlasFinding, repeated: AtlasFinding) -> AtlasFinding:
    """A suspicion or finding with the paragraphs of another one that names the same error."""
    return replace(one, also=tuple(sorted({*one.also, *repeated.also, *repeated.places} - set(one.places))))


def controls(check: StoryCheck, batch: SuspicionBatch, at: Run) -> list[AtlasFinding]:
    """Suspicions that are not errors, worded like a reader's: pairs of sentences that agree on somebody or something.

    Both sentences contain the same two rare words in a row. Pairs that have most in common come first. If there are
    no such sentences, nothing is planted.
    """
    draw = at.scope("controls").rng
    quoted = [passage for one in batch.suspicions for passage in (one.before, one.after)]
    plain = [
        (paragraph.number, passage)
        for paragraph in batch.paragraphs
        for passage in check.text.sentences_of(paragraph)
        if _is_plain(one_line(passage.quote)) and not any(same_focus(passage, other) for other in quoted)
    ]
    draw.shuffle(plain)
    small = {word for one in batch.paragraphs for word in _words_of(one.text) if word.islower()}
    found: list[AtlasFinding] = []
    forms, used = draw.sample(_CLAIMS, len(_CLAIMS)), set[int]()
    for one, other, phrase in _agreeing(plain):
        if len(found) == _CONTROLS:
            break
        if used.isdisjoint((one[0], other[0])):
            used |= {one[0], other[0]}
            (first, before), (second, after) = sorted((one, other), key=lambda place: place[0])
            says = one_line(before.quote).rstrip("."), one_line(after.quote).rstrip(".")
            why = forms[len(found)].format(*(_clause(one, small) for one in says))
            category = draw.choice(batch.suspicions).category
            focused = _focused(before, phrase), _focused(after, phrase)
            why = why[:1].upper() + why[1:]
            found.append(suspected(focused, (first, second), says, why, category, source="control"))
    return found


_Placed: TypeAlias = "tuple[int, Passage]"


def _agreeing(plain: Sequence[_Placed]) -> list[tuple[_Placed, _Placed, str]]:
    """Pairs of sentences in different paragraphs that share two rare words in a row, with these words."""
    rows = [_words_of(one_line(passage.quote)) for _, passage in plain]
    often = Counter(stem for row in rows for stem in stems(" ".join(row)))
    most = max(2, _COMMON * len(rows))
    first: dict[tuple[str, ...], int] = {}
    pairs: list[tuple[int, int, int, str]] = []
    for n, row in enumerate(rows):
        for phrase in pairwise(row):
            key = tuple(word.casefold() for word in phrase)
            if any(len(word) <= LONG or often[word[:STEM]] > most for word in key):
                continue
            m = first.setdefault(key, n)
            if plain[m][0] != plain[n][0] and rows[m] != row:
                alike = len(stems(" ".join(rows[m])) & stems(" ".join(row)))
                pairs.append((-alike, m, n, " ".join(phrase)))
    return [(plain[m], plain[n], phrase) for _, m, n, phrase in sorted(pairs)]


def _focused(passage: Passage, phrase: str) -> Passage:
    """A sentence whose focus is these words and their neighbours."""
    words = word_spans(passage.quote)
    said = [word.casefold() for word in _words_of(passage.quote)]
    at = [" ".join(pair) for pair in pairwise(said)].index(phrase.casefold())
    low, high = words[max(0, at - _NEAR)][0], words[min(len(words) - 1, at + 1 + _NEAR)][1]
    return replace(passage, focus=(passage.start + low, passage.start + high))


def _clause(sentence: str, small: set[str]) -> str:
    """A sentence as a part of another one. Its first word keeps its capital if it is never written in lower case."""
    first = _words_of(sentence)[0]
    return sentence[:1].lower() + sentence[1:] if first.lower() in small else sentence


def _words_of(text: str) -> list[str]:
    return [text[a:b] for a, b in word_spans(text)]


def _is_plain(sentence: str) -> bool:
    """Whether a sentence is a short statement, without numbers, speech or negation."""
    said = any(sign in sentence for sign in '"\u201c\u201d\u00ab\u00bb?!:;') or any(map(str.isdigit, sentence))
    if said or not _SHORTEST <= len(sentence) <= _LONGEST or not sentence.endswith("."):
        return False
    return sentence[0].isupper() and _DENYING.isdisjoint(sentence.casefold().rstrip(".").split())


_SHORTEST, _LONGEST = 27, 120  # characters of a sentence that can be planted
_COMMON: Final = 0.04  # of the sentences hold a word that tells nothing
_NEAR: Final = 3  # words on both sides of what two sentences share
_DENYING: Final = frozenset({"no", "not", "never", "nobody", "nothing", "none", "without", "nor", "neither"})
_CLAIMS: Final = (
    "{0}, which cannot be if {1}.",
    "The text first says that {0}; that leaves no room for what comes later, where {1}.",
    "{1}. By then it should be as in the earlier place, where {0}.",
    "It is told in two ways: {0}, and afterwards {1}.",
    "If {0}, it makes no sense that {1}.",
)


def _usual(check: StoryCheck, total: int) -> list[AtlasFinding]:
    """Made-up suspicions from all over the story, to estimate the cost of verifying."""
    text = check.text
    step = max(1, len(text.paragraphs) // (total + 1))
    numbers = [min(1 + n * step, len(text.paragraphs)) for n in range(total + 1)]
    passages = [passage for number in numbers if (passage := text.likest(number, ""))]
    says = "what the one place says", "what the other says"
    return [
        suspected((a, b), (text.paragraph_of(a), text.paragraph_of(b)), says, "Both cannot be true.", "other")
        for a, b in pairwise(passages)
    ]


# verdicts -----------------------------------------------------------------------------------------------------------


def _outcome(check: StoryCheck, one: AtlasFinding, decision: DecisionReply | None, call: str) -> AtlasFinding | None:
    """The finding that the verifier's decision makes of a suspicion, if it confirms it. Every decision is kept."""
    answer, unscored = None, ""
    if decision is None or decision.decision not in READER_DECISIONS:
        did = "gave no verdict on it" if decision is None else f"decided {decision.decision[:40]!r}, which is unknown"
        unscored = f"The verifier {did}."
    else:
        answer = ERROR if decision.decision == ERROR else "no error"
    control = one.source == "control"
    check.rate(
        "verifier",
        f"control {one.key}" if control else one.key,
        call,
        answer=answer,
        unscored=unscored,
        shown=decision.decision if decision else "",
        reason=one_line(f"{decision.reason} {decision.explanation}") if decision else "",
    )
    if control:
        check.counts["controls"] += answer is not None
        check.counts["controls_called_errors"] += answer == ERROR
        return None
    if decision is None or answer is None:
        check.counts["missing_verdicts"] += 1
        check.undecided.append(replace(one, sure=SUSPECTED))
        return None
    if answer != ERROR:
        check.counts["rejected"] += 1
        check.counts[f"rejected_{decision.decision}"] += 1
        reason = one_line(f"{decision.reason} {decision.explanation}")
        check.rejected.append(replace(one, attribute=decision.decision, reason=reason))
        return None
    check.counts["confirmed"] += 1
    return confirmed(check, one, decision)


def confirmed(check: StoryCheck, one: AtlasFinding, decision: DecisionReply) -> AtlasFinding:
    """A suspicion as a finding, with the quotations and words of the verifier if they are better."""
    before = check.text.find_near(decision.paragraph_x, decision.quote_x) or one.before
    after = check.text.find_near(decision.paragraph_y, decision.quote_y) or one.after
    if (before.scene, before.focus) >= (after.scene, after.focus):
        before, after = one.before, one.after
    return replace(
        one,
        x=before.scene,
        y=after.scene,
        before=before,
        after=after,
        fact=one_line(decision.says_x).rstrip(" .") or one.fact,
        event=one_line(decision.says_y).rstrip(" .") or one.event,
        reason=one_line(decision.reason) or one.reason,
        sure=decision.sure if decision.sure in SURE else one.sure,
        places=(check.text.paragraph_of(before), check.text.paragraph_of(after)),
    )


def rooted(found: Sequence[AtlasFinding]) -> list[AtlasFinding]:
    """Findings with distinct keys. Findings that quote the same words on one side share a root cause."""
    roots: list[int] = []
    for n, one in enumerate(found):
        same = (
            roots[m]
            for m, other in enumerate(found[:n])
            if same_focus(one.before, other.before) or same_focus(one.after, other.after)
        )
        roots.append(next(same, max(roots, default=0) + 1))
    return [replace(one, root=root) for one, root in zip(keyed(found), roots, strict=True)]


# what is shown ------------------------------------------------------------------------------------------------------


def _shown(paragraphs: Sequence[Paragraph], of: int) -> dict[str, Any]:
    """Paragraphs for a prompt, with gaps marked. `of` is the number of paragraphs in the story (0: they are a part)."""
    lines: list[str] = []
    last = paragraphs[0].number - 1 if not of else 0
    for one in paragraphs:
        lines += [ELLIPSIS] if one.number > last + 1 else []
        lines.append(one.shown)
        last = one.number
    lines += [ELLIPSIS] if of and last < of else []
    return {"lines": lines, "mark": mark_for(*lines), "parts": ELLIPSIS in lines}


@dataclass(frozen=True)
class ReadingWindow:
    """Paragraphs that are read in one call. Paragraphs before `first` were read in the previous part.

    `number` counts from 1; `halved` is how often it was halved because no reply could be read.
    """

    number: int
    paragraphs: tuple[Paragraph, ...]
    first: int
    halved: int = 0

    def halves(self) -> tuple[ReadingWindow, ...]:
        """Both halves of its new paragraphs; empty if it cannot be halved again."""
        new = [one for one in self.paragraphs if one.number >= self.first]
        if self.halved == _HALVED or len(new) < _PAIR:
            return ()
        middle = len(new) // 2
        halves = new[:middle], new[middle:]
        return tuple(ReadingWindow(self.number, tuple(half), half[0].number, self.halved + 1) for half in halves)

    @cached_property
    def words(self) -> frozenset[str]:
        """The beginnings of its words."""
        return frozenset(stems(" ".join(one.text for one in self.paragraphs)))


def parts_of(paragraphs: Sequence[Paragraph], most: int) -> list[ReadingWindow]:
    """The story in parts of at most about `most` tokens, each beginning with the last paragraphs of the one before.

    A part ends at the end of a scene if it is full enough by then.
    """
    cuts, size = [0], 0
    for n, one in enumerate(paragraphs):
        begins_scene = n > 0 and one.scene != paragraphs[n - 1].scene
        if n > cuts[-1] and (size + one.tokens > most or (begins_scene and size >= most * _FULL)):
            cuts.append(n)
            size = 0
        size += one.tokens
    parts: list[ReadingWindow] = []
    for low, high in zip(cuts, [*cuts[1:], len(paragraphs)], strict=True):
        start, left = low, int(most * _OVERLAP)
        while start > 0 and (left := left - paragraphs[start - 1].tokens) >= 0:
            start -= 1
        if start == low > 0 and paragraphs[low - 1].tokens <= most * _LARGEST_OVERLAP:
            start -= 1
        parts.append(ReadingWindow(len(parts) + 1, tuple(paragraphs[start:high]), paragraphs[low].number))
    return parts


def _rooms(check: StoryCheck) -> tuple[int, int]:
    """The tokens of text in a part and of its notes that fit the reader's window."""
    left = (check.prompt_room("reader", "read") or UNKNOWN_WINDOW) - _INSTRUCTIONS
    most = max(_LEAST_PART, min(PART_TOKENS, int(left * _PART_SHARE)))
    return most, max(0, min(LEDGER_TOKENS, left - int(most * (1 + _OVERLAP))))


@dataclass(frozen=True, slots=True)
class Note:
    """A fact that later parts could contradict; `by` names whose word or belief it is, if not the story's own."""

    paragraph: int
    about: str
    fact: str
    by: str
    category: str

    @property
    def line(self) -> str:
        """The note for a prompt."""
        return (
            f"[{self.paragraph}] {self.about}{': ' if self.about else ''}{self.fact}{f' ({self.by})' * bool(self.by)}"
        )


@dataclass
class Ledger:
    """The notes on the parts read so far.

    Attributes:
        parts: the number of parts in which the story is read; 0 if it is read whole.
        room: the most tokens that notes may use next to a part.
        read: the number of replies that could be read.
    """

    check: StoryCheck
    notes: list[Note] = field(default_factory=list)
    parts: int = 0
    room: int = 0
    read: int = 0

    def add(self, part: ReadingWindow, replies: Iterable[NoteReply]) -> None:
        """Keep the notes on new paragraphs of a part. A note on any other paragraph is dropped and counted."""
        last = part.paragraphs[-1].number
        for one in replies:
            note = Note(one.paragraph, one_line(one.about), one_line(one.fact), one_line(one.by), one.category)
            if note.fact and part.first <= note.paragraph <= last:
                self.notes.append(note)
            else:
                self.check.counts["dropped_notes"] += 1

    def shown(self, part: ReadingWindow) -> tuple[list[str], int]:
        """The notes for a part, in the order of the text, and the number left out for lack of room.

        Notes that always matter are kept first, then notes about characters that the part names, then lasting notes,
        then notes that share a word with it, the latest ones first.
        """
        before = [note for note in self.notes if note.paragraph < part.paragraphs[0].number]
        kept, left = [], self.room
        for note in sorted(before, key=lambda one: (_rank(one, part.words), -one.paragraph)):
            left -= estimate_tokens(note.line) + 1
            if left < 0:
                break
            kept.append(note)
        left_out = len(before) - len(kept)
        self.check.counts["notes_left_out"] = max(self.check.counts["notes_left_out"], left_out)
        return [note.line for note in sorted(kept, key=lambda one: one.paragraph)], left_out

    def about(self, batch: SuspicionBatch) -> list[str]:
        """The lasting notes on the subjects of a batch, from paragraphs that it does not show."""
        there = {one.number for one in batch.paragraphs}
        wanted = {word for one in batch.suspicions for word in about(one)}
        left, lines = _NOTES_TOKENS, []
        for note in self.notes:
            if note.paragraph not in there and note.category in LASTING and stems(note.about) & wanted:
                left -= estimate_tokens(note.line) + 1
                if left < 0:
                    break
                lines.append(note.line)
        return lines


def _rank(note: Note, there: frozenset[str]) -> int:
    named = bool(stems(note.about) & there)
    ranks = (
        note.category in _ALWAYS,
        named and note.category in LASTING,
        named,
        note.category in LASTING,
        bool(stems(note.fact) & there),
        True,
    )
    return ranks.index(True)


@dataclass(frozen=True)
class SuspicionBatch:
    """Suspicions that are verified in one call, and the paragraphs that are shown for them."""

    suspicions: tuple[AtlasFinding, ...]
    paragraphs: tuple[Paragraph, ...]


def batches_of(check: StoryCheck, suspicions: Sequence[AtlasFinding]) -> list[SuspicionBatch]:
    """Batches of suspicions with the whole text if it fits the verifier, or else with the paragraphs that matter.

    Since each call reads the whole text, a batch may hold a third more before another is started. All batches have the
    same size.
    """
    size, paragraphs = LARGEST_BATCH, check.text.paragraphs
    if check.fits("verifier", VERIFY_WHOLE, UNKNOWN_WINDOW):
        calls = max(1, ceil(len(suspicions) / (size + size // _MORE)))
        ends = [len(suspicions) * n // calls for n in range(calls + 1)]
        return [SuspicionBatch(tuple(suspicions[low:high]), paragraphs) for low, high in pairwise(ends) if high]
    room = check.prompt_room("verifier", "decide") or UNKNOWN_WINDOW
    most = min(_BATCH_TOKENS, room - _INSTRUCTIONS)
    surroundings = Surroundings(paragraphs)
    found: list[SuspicionBatch] = []
    chosen: list[AtlasFinding] = []
    shown: set[int] = set()
    for one in suspicions:
        own = surroundings.of(one)
        tokens = sum(paragraphs[n - 1].tokens for n in shown | own)
        if chosen and (len(chosen) == size or tokens > most):
            found.append(SuspicionBatch(tuple(chosen), tuple(paragraphs[n - 1] for n in sorted(shown))))
            chosen, shown = [], set()
        chosen.append(one)
        shown |= own
    if chosen:
        found.append(SuspicionBatch(tuple(chosen), tuple(paragraphs[n - 1] for n in sorted(shown))))
    return found


def about(one: AtlasFinding) -> frozenset[str]:
    """The words that identify the subject of a suspicion."""
    return frozenset(stems(" ".join((*one.quotes, *one.says))))


class Surroundings:
    """The parts of a story that a verifier needs for a suspicion if it cannot see the whole story."""

    def __init__(self, paragraphs: Sequence[Paragraph]) -> None:
        self.paragraphs = paragraphs
        self.scenes: dict[int, list[Paragraph]] = {}
        self.sizes: Counter[int] = Counter()
        self.places: dict[str, list[int]] = {}
        for one in paragraphs:
            self.scenes.setdefault(one.scene, []).append(one)
            self.sizes[one.scene] += one.tokens
            for word in stems(one.text):
                self.places.setdefault(word, []).append(one.number)

    def of(self, one: AtlasFinding) -> set[int]:
        """The paragraphs around both places, and related paragraphs elsewhere."""
        shown = self._around(one.places[0]) | self._around(one.places[1])
        shown |= set(one.also)
        left = _RELATED_TOKENS
        for number in self._related(one):
            if number not in shown:
                left -= self.paragraphs[number - 1].tokens
                if left < 0:
                    break
                shown.add(number)
        return shown

    def _around(self, place: int) -> set[int]:
        """A short scene, or as much of a long one around the paragraph as there is room for."""
        own = self.paragraphs[place - 1].scene
        scene = self.scenes[own]
        if self.sizes[own] <= _SCENE_TOKENS:
            return {one.number for one in scene}
        numbers = range(scene[0].number, scene[-1].number + 1)
        near = chain([place], *((place - n, place + n) for n in range(1, len(scene))))
        shown, left = {place}, _AROUND_TOKENS
        for one in (self.paragraphs[number - 1] for number in near if number in numbers):
            left -= one.tokens
            if left < 0:
                break
            shown.add(one.number)
        return shown

    def _related(self, one: AtlasFinding) -> list[int]:
        """Paragraphs that share rare words with a suspicion, the most similar first.

        Paragraphs between its places count more.
        """
        total = len(self.paragraphs)
        scores: dict[int, float] = {}
        for word in sorted(about(one)):
            there = self.places.get(word, ())
            if len(there) <= max(2, _NAMED * total):
                for number in there:
                    weight = _BETWEEN if one.places[0] < number < one.places[1] else 1.0
                    scores[number] = scores.get(number, 0.0) + weight * log(total / len(there))
        return [number for number, _ in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))]
