"""Story prose and planning notes from replies, without chatter, echoes, loops and half sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from fabula.base.lazily import Module
from fabula.engine.replies.echoes import Echoes
from fabula.engine.replies.loops import loop_start, read_sentences
from fabula.story import plain
from fabula.story.language import in_other_scripts, language_of
from fabula.story.printed import heads_foreign_chapter
from fabula.story.sentences import ends_whole, paragraph_spans, spans
from fabula.story.speech import unclosed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.replies import chatter
    from fabula.engine.replies.rules import RuleName
    from fabula.story.sentences import Span
else:
    chatter = Module("fabula.engine.replies.chatter")  # its patterns take 0.02 s


TextKind: TypeAlias = Literal["prose", "notes"]

_THOUGHT: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_STOP_MARK: Final = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end|end_of_text)\|>|<end_of_turn>|</s>|\[/?INST\]|<\|im_start\|>(?:user|system)|"
    r"^(?:#{1,4} ?)?human:|^#{1,4} ?(?:user|instruction|input):",
    re.IGNORECASE | re.MULTILINE,
)
_STOP_TOKEN: Final = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|end|end_of_text)\|>|<end_of_turn>|</s>|\[/?INST\]|<\|im_start\|>(?:user|system)|"
    r"^#{1,4} ?(?:human|user|instruction|input):",
    re.IGNORECASE | re.MULTILINE,
)
_START_MARK: Final = re.compile(
    r"(?:<\|im_start\|>(?:assistant)?|<\|(?:assistant|start_header_id|end_header_id|begin_of_text)\|>|<start_of_turn>"
    r"(?:model)?|<s>|<bos>)[ \t]*\n?",
    re.IGNORECASE,
)
_HASHES: Final = re.compile(r"(?<=[^\s#])#{2,}[ \t]*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*```[^\n]*$\n?", re.MULTILINE)
_SPEAKER: Final = re.compile(r"\A\s*(?:assistant|ai|model)\s*(?::|\n)\s*", re.IGNORECASE)
_WORD: Final = re.compile(r"\w")
_BULLET: Final = re.compile(r"\A\s*(?:[-*•]|\d{1,3}[.)])\s")
_REMARKS: Final = 2
_ROUNDS: Final = 12
_PAIR: Final = 2
_EDGE_SENTENCES: Final = 8
_EDGE: Final = 4_000  # characters that hold them: a sentence of chatter has 400 at most
_WRAPPED_SENTENCES: Final = 3


@dataclass(frozen=True, slots=True)
class Dropped:
    """A piece that was removed, and why."""

    kind: RuleName
    text: str


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The rest of a reply, and the pieces that were removed from it."""

    text: str
    dropped: tuple[Dropped, ...]


def clean_prose(
    text: str,
    *,
    labels: Sequence[str],
    last: bool,
    echo: Sequence[str] = (),
    finish: str = "stop",
    kind: TextKind = "prose",
    aids: bool,
) -> Cleaned:
    """The prose (or notes) in a reply; possibly empty.

    For every model, this removes chatter that clearly is not part of the text, the prompt's `labels`, marked titles,
    marks of chat templates, a code fence around the whole text, and the last half sentence of a reply that was cut off.

    With the aids for small models, the text also ends on a whole sentence. The aids remove everything that looks like
    chatter at both ends, headings of any kind, repeats of the `echo` texts, and quotation marks around the whole text.
    They remove "The End" at the end of a reply, and anything after "The End" if the story ends here. They also remove
    repeated sentences, sentences that are about the story instead of telling it (if there are several), sentences with
    words in a script that neither the text nor an `echo` text uses, and everything from the start of a loop.

    Args:
        text: the reply.
        labels: the prompt's names for parts, such as "Rising Action".
        last: whether the story may end here.
        echo: texts from the prompt.
        finish: "length" if the reply was cut off.
        kind: "notes" keeps bullets, headings not from the prompt, remarks about the story and entries without a full
            stop.
        aids: whether the model gets help for small models (`Run.aids`).
    """
    known, echoes, cut = chatter.Labels.of(tuple(labels)), Echoes(echo if aids else ()), finish == "length"
    draft = _Draft(text, kind, aids=aids, known=echo)
    for _ in range(_ROUNDS):  # what a rule leaves may be what another takes out: cleaned again, a text stays as it is
        draft.text = before = plain(draft.text).strip()
        if aids:
            draft.with_aids(known, echoes, last=last)
        else:
            draft.without_aids(known)
        uncut = draft.text
        if aids or cut:
            draft.fragment(cut=cut)
        if aids or draft.text != uncut:
            draft.close_quotation()
        if draft.text == before:
            break
    return Cleaned(plain(draft.text).strip(), tuple(draft.dropped))


class _Draft:
    """A text being cleaned, and what was dropped from it."""

    def __init__(self, text: str, kind: TextKind, *, aids: bool, known: Sequence[str]) -> None:
        self.text, self.notes, self._aids, self._known = text, kind == "notes", aids, known
        self._tag = language_of(text)
        self.dropped: list[Dropped] = []
        self._split: dict[str, list[Span]] = {}

    def _inside(self, paragraph: str) -> list[Span]:
        """The sentences of a paragraph, split once: most rules change nothing, and splitting takes longest of all."""
        if paragraph not in self._split:
            self._split[paragraph] = spans(paragraph)
        return self._split[paragraph]

    def _sentences(self) -> list[Span]:
        """The sentences of the text as it is now."""
        parts = paragraph_spans(self.text)
        return [(start + a, start + b) for start, end in parts for a, b in self._inside(self.text[start:end])]

    def with_aids(self, labels: chatter.Labels, echoes: Echoes, *, last: bool) -> None:
        """Remove from a small model's reply everything that is not text of the kind asked for."""
        self.template_marks(_STOP_MARK)
        self.markup()
        self.lines(labels)
        self.opening()
        self.the_end(last=last)
        self.closing()
        self.echoes(echoes)
        self.remarks()
        self.scripts()
        self.loops()
        self.opening()
        self.closing()

    def without_aids(self, labels: chatter.Labels) -> None:
        """Remove only what surrounds the text, line by line from both ends."""
        self.template_marks(_STOP_TOKEN)
        self.lines_after()
        self.lines_before(labels)
        self.fence()

    def _drop(self, found: Sequence[tuple[Span, RuleName]]) -> None:
        """Take out pieces, given in order, and the gaps that they leave."""
        at, kept = 0, []
        for (start, end), kind in found:
            self.dropped.append(Dropped(kind, self.text[start:end]))
            kept.append(self.text[at:start])
            at = end
        if found:
            left = "".join((*kept, self.text[at:]))
            self.text = _tight(left) if self._aids else re.sub(r"\n{3,}", "\n\n", left).strip()

    def _cut(self, start: int, kind: RuleName) -> None:
        if start < len(self.text):
            self._drop([((start, len(self.text)), kind)])

    def template_marks(self, stop: re.Pattern[str]) -> None:
        """Drop thoughts and marks of chat templates, and everything after a mark that ends a turn."""
        self._drop([(m.span(), "markup") for m in _THOUGHT.finditer(self.text)])
        self._drop([(m.span(), "markup") for m in _START_MARK.finditer(self.text)])
        stops = stop.finditer(self.text)
        self._drop([(m.span(), "markup") for m in stops if not self.text[: m.start()].strip()])
        if found := stop.search(self.text):
            self._cut(found.start(), "markup")

    def markup(self) -> None:
        """Drop code fences, number signs at line ends, a speaker's name, and quotation marks around the whole text."""
        for mark in (_FENCE, _HASHES):
            self._drop([(m.span(), "markup") for m in mark.finditer(self.text)])
        if speaker := _SPEAKER.match(self.text):
            self._drop([(speaker.span(), "markup")])
        self._unwrap()

    def lines_before(self, labels: chatter.Labels) -> None:
        """Drop the lines before the text: chatter, a title, a label, and the scene break that ends them."""
        found: list[tuple[Span, RuleName]] = []
        at = 0
        for line in self.text.split("\n"):
            kind: RuleName | None = None
            if chatter.clearly_opens(line, self._tag) or (found and chatter.is_rule(line)):
                kind = "chatter"
            elif labels.heads(line) or (
                not self.notes and (chatter.is_marked_title(line) or heads_foreign_chapter(line))
            ):
                kind = "label"
            if line.strip() and kind is None:
                if length := labels.prefix(line):
                    found.append(((at, at + length), "label"))
                break
            if kind is not None:
                found.append(((at, at + len(line)), kind))
            at += len(line) + 1
        self._drop(found)

    def lines_after(self) -> None:
        """Drop the lines after the text, from the first one that is clearly chatter if only chatter follows."""
        start = end = len(self.text)
        for line in reversed(self.text.split("\n")):
            at = end - len(line)
            if chatter.is_rule(line):
                start = at if start < len(self.text) else start
            elif line.strip():
                story, clear = self._chatter_at_end(line)
                start = at + story if clear else start
                if story:
                    break
            end = at - 1
        self._cut(start, "chatter")

    def _chatter_at_end(self, line: str) -> tuple[int, bool]:
        """Where the chatter at the end of a line begins, and whether any of it is that beyond doubt."""
        if chatter.clearly_closes(line, self._tag):
            return 0, True
        begin, clear, tag = len(line), False, self._tag
        for start, stop in reversed(spans(line)):
            said = line[start:stop]
            known = chatter.clearly_closes(said, tag)
            if not (known or chatter.closes_chatter(said, notes=True, tag=tag) or (clear and chatter.asks(said, tag))):
                break
            begin, clear = start, clear or known
        return begin, clear

    def fence(self) -> None:
        """Drop a code fence around the whole text."""
        fences = [m.span() for m in _FENCE.finditer(self.text)]
        if len(fences) == _PAIR and fences[0][0] == 0 and fences[1][1] == len(self.text):
            self._drop([(span, "markup") for span in fences])

    def _unwrap(self) -> None:
        """Quotation marks around the whole, where they can be no one's speech."""
        for left, right in ('""', "“”", "„“", "«»", "»«", "「」"):
            inner = self.text[1:-1]
            if not (len(self.text) > 2 and self.text[0] == left and self.text[-1] == right):  # noqa: PLR2004 - two marks
                continue
            if left not in inner and right not in inner and len(spans(inner)) >= _WRAPPED_SENTENCES:
                self.text = inner.strip()
                self.dropped.append(Dropped("markup", left + right))

    def lines(self, labels: chatter.Labels) -> None:
        """Drop headings and labels, alone on a line or before a line's text."""
        found: list[tuple[Span, RuleName]] = []
        at, first = 0, True
        lines = self.text.split("\n")
        for number, line in enumerate(lines):
            alone = number + 1 == len(lines) or not lines[number + 1].strip()
            if length := self._label(line, labels, first=first, alone=alone):
                found.append(((at, at + length), "label"))
            first = first and length >= len(line)
            at += len(line) + 1
        self._drop(found)

    def _label(self, line: str, labels: chatter.Labels, *, first: bool, alone: bool) -> int:
        """Length of the label or heading that a line begins with; all of it if the line is nothing else.

        Notes keep headings that give them order; only what stands first, or in the prompt's brackets, goes.
        """
        if not line.strip():
            return 0
        if chatter.is_framed(line):
            return len(line)
        if self.notes and not first and not line.startswith("["):
            return 0
        foreign = not self.notes and (
            chatter.is_heading(line) or heads_foreign_chapter(line) or (first and alone and chatter.is_title(line))
        )
        if foreign or labels.heads(line):
            return len(line)
        return labels.prefix(line) or (chatter.framed_lead(line) if first else 0)

    def opening(self) -> None:
        """Drop chatter at the start, sentence by sentence, and a scene break at the start."""
        found: list[tuple[Span, RuleName]] = []
        for start, end in self._edge(last=False):
            piece = self.text[start:end]
            if chatter.is_scene_break(piece) or chatter.opens_chatter(piece, notes=self.notes, tag=self._tag):
                found.append(((start, end), "chatter"))
            else:
                break
        self._drop(found)

    def _edge(self, *, last: bool) -> list[Span]:
        """Sentences near one end, with all that stands there before the first word or behind the last one."""
        word = _WORD.search(self.text[::-1] if last else self.text)
        size = _EDGE + (word.start() if word else len(self.text))
        offset = max(len(self.text) - size, 0) if last else 0
        found = [(a + offset, b + offset) for a, b in spans(self.text[offset : offset + size])]
        return found[-_EDGE_SENTENCES:] if last else found[:_EDGE_SENTENCES]

    def closing(self) -> None:
        """Drop chatter at the end, from the first of the last sentences after which there is only chatter."""
        start = None
        for a, b in reversed(self._edge(last=True)):
            piece = self.text[a:b]
            if (
                chatter.is_scene_break(piece)
                or chatter.closes_chatter(piece, notes=self.notes, tag=self._tag)
                or chatter.says_the_end(piece)
            ):
                start = a
            else:
                break
        if start is not None:
            self._cut(start, "chatter")

    def the_end(self, *, last: bool) -> None:
        """Drop a line "The End", and everything after it if the story ends here."""
        found: list[tuple[Span, RuleName]] = []
        at = 0
        for line in self.text.split("\n"):
            if chatter.says_the_end(line) and line.strip():
                if last and self.text[:at].strip():
                    self._drop([*found, ((at, len(self.text)), "ending")])
                    return
                found.append(((at, at + len(line)), "ending"))
            at += len(line) + 1
        self._drop(found)
        parts = spans(self.text[-200:])
        offset = max(len(self.text) - 200, 0)
        if parts and chatter.says_the_end(self.text[offset + parts[-1][0] :]):
            self._cut(offset + parts[-1][0], "ending")

    def remarks(self) -> None:
        """Drop sentences about the story; a single one stays, because a character may tell that story."""
        if self.notes:
            return
        found: list[tuple[Span, RuleName]] = [
            ((start, end), "chatter")
            for start, end in self._sentences()
            if chatter.remarks_on_story(self.text[start:end])
        ]
        if len(found) >= _REMARKS:
            self._drop(found)

    def scripts(self) -> None:
        """Drop sentences with words in another script, if it is known which scripts the author has used."""
        if self._known and not self.text.isascii():
            self._drop([(span, "script") for span in in_other_scripts(self.text, self._sentences(), self._known)])

    def echoes(self, echoes: Echoes) -> None:
        """Drop paragraphs of the prompt, and in prose also its long sentences and pairs of short sentences."""
        found: list[tuple[Span, RuleName]] = []
        for start, end in paragraph_spans(self.text):
            if echoes.paragraph(self.text[start:end]):
                found.append(((start, end), "echo"))
            elif not self.notes:
                inner = [(start + a, start + b) for a, b in self._inside(self.text[start:end])]
                known = {span for span in inner if echoes.sentence(self.text[slice(*span)])}
                for one, other in pairwise(inner):
                    known |= {one, other} if echoes.pair(self.text[one[0] : other[1]]) else set()
                found += [(span, "echo") for span in inner if span in known]
        self._drop(found)

    def loops(self) -> None:
        """Cut the text where a loop begins, and drop repeated sentences."""
        found = read_sentences(self.text, self._sentences())
        start = loop_start(self.text, found)
        if start is not None:
            self._cut(start, "loop")
            found = read_sentences(self.text, self._sentences())
        repeated: list[tuple[Span, RuleName]] = [(s.span, "repeat") for s in found if s.is_repeat]
        if not self.notes:
            self._drop(repeated)

    def fragment(self, *, cut: bool) -> None:
        """Cut the text after its last whole sentence, or notes of a cut-off reply after their last whole entry."""
        if self.notes and not cut:
            return
        pieces = self._sentences()
        keep = len(pieces)
        while keep and not ends_whole(self.text[pieces[keep - 1][0] : pieces[keep - 1][1]]):
            if self.notes and keep < len(pieces) and _BULLET.match(self.text[pieces[keep - 1][0] :]):
                break
            keep -= 1
        if keep < len(pieces):
            self._cut(pieces[keep - 1][1] if keep else 0, "fragment")

    def close_quotation(self) -> None:
        """Give the last paragraph the closing quotation mark that it lost in a cut."""
        if not self.notes:
            self.text += unclosed(self.text)


def _tight(text: str) -> str:
    """`text` without the gaps that dropped pieces leave: no double blanks, no runs of blank lines."""
    text = re.sub(r"(?<=[^\s])[ \t]{2,}(?=\S)", " ", text)
    text = re.sub(r"(?<![ \t])[ \t]++\n", "\n", text)
    text = re.sub(r"\n[ \t]+(?=[^\s\-*•\d])", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()
