"""What each rule takes out of replies, held against what a reader says is none of the text asked for.

    python -m benchmarks rules

`replies/rules/*.jsonl` holds replies of three models with the end of their prompts. A reader marked in each, sentence
by sentence, what is no part of the text asked for and why (`unwanted`), and whether the whole is of use (`useful`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.table import Row, Table
from fabula.engine.replies import clean_prose, fault_of, left_out
from fabula.stats.estimate import Estimate
from fabula.stats.intervals import share_of
from fabula.story import plain
from fabula.story.sentences import spans

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TITLE: Final = "what rules take out of replies: precision and recall against a reader's marks"
FOLDER: Final = Path(__file__).parent / "replies" / "rules"
LABELS: Final = (
    *("Creative Writing Task", "Central Conflict", "Character Descriptions", "Setting", "Key Plot Points"),
    *("Exposition", "Rising Action", "Climax", "Falling Action", "Resolution", "Story", "Content Plan"),
)
_LEAST_WORDS: Final = 3


@dataclass(frozen=True, slots=True)
class Marked:
    """A reply with a reader's marks: `unwanted` gives the reason for each sentence that is none of the text."""

    id: str
    model: str
    source: str
    kind: Any
    finish: str
    prompt: str
    lead: str
    text: str
    unwanted: dict[str, str]
    useful: bool

    @property
    def sentences(self) -> list[str]:
        """The sentences of the reply, as the marks number them."""
        text = plain(self.text)
        return [text[start:end] for start, end in spans(text)]


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence: which rule took it out (none where it stayed), and why a reader would (empty where it stays)."""

    reply: Marked
    rule: str
    reason: str


def marked() -> list[Marked]:
    """All replies that a reader marked."""
    lines = (line for file in sorted(FOLDER.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines())
    return [Marked(**json.loads(line)) for line in lines]


def hits(reply: Marked, *, aids: bool) -> Iterable[Hit]:
    """What becomes of each sentence of a reply."""
    cleaned = clean_prose(
        reply.text, labels=LABELS, last=True, echo=[reply.prompt], finish=reply.finish, kind=reply.kind, aids=aids
    )
    gone = left_out(reply.text, cleaned.text)
    for number, sentence in enumerate(reply.sentences):
        rule = ""
        if sentence in gone:
            gone.remove(sentence)
            rule = next((one.kind for one in cleaned.dropped if not left_out(sentence, one.text)), "markup")
        yield Hit(reply, rule, reply.unwanted.get(str(number), ""))


def bench() -> Table:
    """The worth of each rule, by model, with aids and without."""
    replies = marked()
    rows: list[Row] = []
    for aids in (False, True):
        setting = "with aids" if aids else "without"
        by_model: dict[str, list[Hit]] = defaultdict(list)
        for reply in replies:
            if reply.useful or reply.source != "none":
                by_model[reply.model] += hits(reply, aids=aids)
        for model, found in by_model.items():
            rows += _of_rules(f"{model}, {setting}", found)
    rows += list(_of_refusals(replies))
    sentences = sum(len(reply.sentences) for reply in replies)
    notes = (
        f"{len(replies)} replies, {sentences} sentences; intervals are of 95 %, by reply.",
        "Precision: of the sentences that a rule took out, those that a reader marked.",
        "Recall: of the sentences that a reader marked for a reason, those that any rule took out.",
        "`refused`: whole replies that would be asked for again (`fault_of`), against a reader's word on the whole.",
    )
    return Table("rules", TITLE, tuple(rows), notes)


def _of_rules(name: str, found: Sequence[Hit]) -> Iterable[Row]:
    for rule in sorted({hit.rule for hit in found} - {""}):
        took = [hit for hit in found if hit.rule == rule]
        yield _share(f"{name}: {rule}, precision", [(hit.reply.id, bool(hit.reason)) for hit in took])
    for reason in sorted({hit.reason for hit in found} - {""}):
        there = [hit for hit in found if hit.reason == reason]
        yield _share(f"{name}: {reason}, recall", [(hit.reply.id, bool(hit.rule)) for hit in there])
    good = [hit for hit in found if not hit.reason]
    yield _share(f"{name}: good sentences lost", [(hit.reply.id, bool(hit.rule)) for hit in good])


def _of_refusals(replies: Sequence[Marked]) -> Iterable[Row]:
    refused = {reply.id: bool(_fault(reply)) for reply in replies}
    for model in sorted({reply.model for reply in replies}):
        own = [reply for reply in replies if reply.model == model]
        took = [reply for reply in own if refused[reply.id]]
        if took:
            yield _share(f"{model}: refused, precision", [(reply.id, not reply.useful) for reply in took])
        if none := [reply for reply in own if not reply.useful]:
            yield _share(f"{model}: refused, recall", [(reply.id, refused[reply.id]) for reply in none])
        good = [reply for reply in own if reply.useful]
        yield _share(f"{model}: replies of use refused", [(reply.id, refused[reply.id]) for reply in good])


def _fault(reply: Marked) -> str:
    """Why a reply would be asked for again. The prompt's own sentences stand for its file's, which are not kept."""
    instructions = [reply.prompt] if reply.source == "none" else []
    return fault_of(reply.text.removeprefix(reply.lead), reply.prompt, instructions, least=_LEAST_WORDS)


def _share(what: str, answers: Sequence[tuple[str, bool]]) -> Row:
    values = [float(one) for _, one in answers]
    replies = [reply for reply, _ in answers]
    shared = share_of(values, replies if len(set(replies)) > 1 else None)
    each = f"{sum(values):.0f} of {len(values)}"
    if isinstance(shared, Estimate) and shared.low is not None and shared.high is not None:
        each += f", 95 % {shared.low:.2f} to {shared.high:.2f}"
    return Row(what, (sum(values) / len(values),), "", each)
