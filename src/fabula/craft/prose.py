"""Story prose from a role: requested, cleaned of remarks around it, and fitted to the wanted length."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from fabula.craft.length import WordRange, revise_to_length, write_to_length
from fabula.engine.replies import TextKind, clean_prose, fault_of, without_instructions
from fabula.engine.roles import is_person
from fabula.engine.run import Run, in_voice, record_length
from fabula.models.base import Reply, Sampling
from fabula.story import count_words
from fabula.story.language import script_of
from fabula.story.sentences import sentences, spans
from fabula.story.words import ngrams

NOT_AS_LONG: Final = "some texts were left longer or shorter than was asked for"
"""What a story has whose texts are not made longer or shorter, since a cap leaves no room for it."""
TRIES: Final = 4
NOTE_TRIES: Final = 3
AIDED_TRIES: Final = 2
"""Of a small model: continuations in vain. More bring no more."""
_LITTLE: Final = 40  # words that a reply may always lose; where most was commentary, echo or loop, it is drawn again
_TOKENS_PER_WORD: Final = 1.6  # prose has about 1.3; the rest lets a sentence end
_SPARE_TOKENS: Final = 48  # added at each new draw: a piece of a few words may have come out empty
_LEAD_WORDS: Final = 40
_PHRASE: Final = 8  # tokens of its prompt that a small model may use again: an event's words, which 5 would garble
_LEAST_WORDS: Final = 2
_FEW_WORDS: Final = 10
_CIRCLES: Final = "Most of it repeated itself, or what it was told."
_IS_LIST: Final = "It was a list."
_OTHER_SCRIPT: Final = "It was not in the script of its task."
_NOTHING_NEW: Final = "It brought nothing new."


@dataclass(frozen=True, slots=True)
class Prose:
    """What is wanted: whether it ends the story, its words if they are bounded, and labels that must not be echoed.

    `usual` is how many words such a piece has where none are asked for. `previous` is the text that the piece follows:
    its end leads small models that can continue a text into the new piece. `quoted` names the prompt's fields whose
    texts the piece is made of: what it takes from them is no echo. `extend` and `shorten` are the prompts that ask for
    more of a piece that is too short, and for less of one that is too long. Of the `earlier` texts of the story a small
    model copies nothing. A `loose` piece is revised later, and is extended or shortened only where it misses the words
    wanted by more than a quarter.
    """

    last: bool
    want: WordRange | None
    labels: Sequence[str]
    usual: int = 1000
    previous: str = ""
    quoted: tuple[str, ...] = ()
    extend: str = "extend"
    shorten: str = "shorten"
    earlier: Sequence[str] = ()
    loose: bool = False


async def write_prose(
    run: Run,
    role: str,
    prompt: str,
    prose: Prose,
    max_tokens: int | None = None,
    *,
    before: Sequence[str],
    fields: Mapping[str, Any],
    temperature: float | None = None,
) -> str:
    """Prose of the wanted length, in one call, or more if it is empty, too short or too long.

    A role with aids for small models gets its text cut and cleaned by rules; any other is asked to shorten its text
    itself (prompt `shorten`), and loses nothing but chatter. What a rule takes out is recorded (`Run.removed`).

    Args:
        run: where the calls are made.
        role: who writes.
        prompt: asks for the piece; it is given `words`, a `WordRange` or none. The system also has a prompt `extend`,
            which is given `so_far` and `words`, a number, and may have one of its own for `shorten`.
        prose: what is wanted.
        max_tokens: bounds each reply; by default the model's own limit, with aids what the words wanted take.
        before: texts the prompt holds, which a small model may echo; with aids, echoes are taken out.
        fields: fill both prompts.
        temperature: of all replies; `None` leaves it to the model.

    Raises:
        ReplyError: the role gives no usable prose.
    """
    run = in_voice(run)
    writer = _Writer(run, role, prompt, prose, max_tokens, before, fields, run.room(role).aids, temperature)
    want = prose.want
    if want is None:
        return await writer.first(None)
    want = want.loose if prose.loose else want
    record_length(run, want.low, want.high)
    if writer.aids:
        tries = AIDED_TRIES
        fitted = await write_to_length(writer.first, writer.extend, want, tries=tries, keep_end=prose.last)
    else:
        fitted = await revise_to_length(writer.first, writer.extend, writer.shorten, want)
    for rule, text in fitted.removed:
        run.removed(rule, text)
    if not fitted.inside:
        run.note(f"{fitted.words} words after {fitted.tries} tries; wanted {want.low} to {want.high}.")
    return fitted.text


@dataclass(frozen=True)
class _Writer:
    """One role writing one piece; `prompt` asks for it, the prompt `extend` for more of it."""

    run: Run
    role: str
    prompt: str
    prose: Prose
    max_tokens: int | None
    before: Sequence[str]
    fields: Mapping[str, Any]
    aids: bool
    temperature: float | None = None
    asked: list[str] = field(default_factory=list)

    async def first(self, words: int | None) -> str:
        """The piece's first version; drawn again where it was commentary, echo or loop for the most part."""
        best, raw, fault = "", "", ""
        tries = self.run.tries(self.prompt)
        for attempt in range(TRIES):
            run = tries.again(attempt, fault)
            lead = "" if attempt else self._lead(self.prose.previous)  # what led into an echo would lead there again
            fields = {**self.fields, "words": self.prose.want if words else None, "lead": lead}
            sampling = self._sampling(words or self.prose.usual, attempt)
            reply = await run.reply(self.role, self.prompt, sampling=sampling, expect=self.prose.usual, **fields)
            raw = reply.text.removeprefix(lead)
            text = self._cleaned(run, reply, lead, self.prompt, fields)
            fault = ""
            if not is_person(reply.model):
                fault = reply_fault(run, text, self.prompt, fields, least=self._least)
            if not fault:
                script = script_of(self._echo(run, self.prompt, fields)) if self.aids else ""
                best = max(best, text, key=partial(self._worth, script)) if best else text
                circles = count_words(raw) > count_words(text) + max(count_words(text), _LITTLE)
                listed = self.aids and is_list(text)
                other = self.aids and script_of(text) != script
                if not self.aids or not (circles or listed or other):
                    return text
                fault = _CIRCLES if circles else _IS_LIST if listed else _OTHER_SCRIPT
            elif text:
                run.removed("reply", text)
        if best:
            return self._as_prose(best)
        problem = (
            f"The role {self.role!r} gave no usable prose at {self.run.at} in {TRIES} tries, each asked in another "
            f"way. {fault}"
        )
        raise self.run.exhausted(self.prompt, problem, self.role, raw)

    def _as_prose(self, text: str) -> str:
        """A draw that is to stand; of one that is a list its sentences."""
        if not is_list(text):
            return text
        told = told_in_sentences(text)
        self.run.removed("chatter", text, told)
        self.run.note("A list was turned into sentences because no draw contained sentences.")
        return told

    def _worth(self, script: str, text: str) -> tuple[bool, bool, int]:
        """What speaks for one of several draws: its script, that it is not a list, its words."""
        return script_of(text) == script, not is_list(text), count_words(text)

    @property
    def _least(self) -> int:
        """The words with which a piece may be one, however long it is to become; a short one may be shorter."""
        share = self.prose.want.low // 5 if self.prose.want else self.prose.usual // 400
        return min(max(share, _LEAST_WORDS), _FEW_WORDS)

    async def extend(self, so_far: str, missing: int, attempt: int) -> str:
        """What comes after `so_far`, about `missing` words of it."""
        failed = self.asked.count(so_far)  # that often nothing new came for it
        self.asked.append(so_far)
        where = self.run.scope("extend", attempt).optional(NOT_AS_LONG)
        run, lead = where.again(failed, _NOTHING_NEW), self._lead(so_far)
        fields = {**self.fields, "words": missing, "so_far": so_far, "lead": lead}
        prompt = self.prose.extend
        reply = await run.reply(self.role, prompt, sampling=self._sampling(missing), **fields)
        return self._cleaned(run, reply, lead, prompt, fields, so_far)

    async def shorten(self, text: str, attempt: int) -> str:
        """All of `text` in fewer words."""
        assert self.prose.want is not None  # noqa: S101 - only a text with a range is too long
        where = self.run.scope("shorten", attempt).optional(NOT_AS_LONG)
        return await shorten(
            where,
            self.role,
            text,
            self.prose.want,
            labels=self.prose.labels,
            last=self.prose.last,
            temperature=self.temperature,
            fields=self.fields,
            prompt=self.prose.shorten,
        )

    def _echo(self, run: Run, prompt: str, fields: Mapping[str, Any]) -> str:
        """The prompt as it would be echoed, without what the piece is made of."""
        return run.render(prompt, **{**fields, **dict.fromkeys(self.prose.quoted, "")})

    def _lead(self, text: str) -> str:
        """What a small model goes on from: the last whole sentences of a text, enough to catch the tone."""
        kept: list[str] = []
        for sentence in reversed(sentences(text)) if self.aids else ():
            kept.insert(0, sentence)
            if count_words(" ".join(kept)) >= _LEAD_WORDS:
                break
        return " ".join(kept)

    def _sampling(self, words: int, attempt: int = 0) -> Sampling:
        short = int(words * _TOKENS_PER_WORD) + _SPARE_TOKENS * (attempt + 1)
        limits = [limit for limit in (self.run.room(self.role).reply_tokens(short), self.max_tokens) if limit]
        most, back = min(limits, default=None), self.run.room(self.role).repetition_window
        phrase = _PHRASE if back else None
        return Sampling(
            temperature=self.temperature, max_tokens=most, dry_penalty_last_n=back, dry_allowed_length=phrase
        )

    def _cleaned(
        self, run: Run, reply: Reply, lead: str, prompt: str, fields: Mapping[str, Any], so_far: str = ""
    ) -> str:
        """The prose of the reply to a prompt, without its lead; with aids without what it copies of the story."""
        prose = self.prose

        def echo() -> Sequence[str]:
            return (*self.before, self._echo(run, prompt, fields))

        cleaned = clean_reply(run, self.role, reply, labels=prose.labels, last=prose.last, echo=echo, lead=lead)
        if not self.aids:
            return cleaned
        if so_far and script_of(cleaned) != script_of(so_far):
            run.removed("script", cleaned)
            return ""
        text = without_instructions(cleaned, run.context.prompts.instructions(prompt))
        run.removed("echo", cleaned, text)
        new = without_copies(text, (*prose.earlier, so_far))
        if not (new or so_far):
            return text  # a part that copies all it says is still what its writer gave
        run.removed("repeat", text, new)
        return new


async def shorten(
    run: Run,
    role: str,
    text: str,
    want: WordRange,
    *,
    labels: Sequence[str] = (),
    last: bool = True,
    kind: TextKind = "prose",
    temperature: float | None = None,
    fields: Mapping[str, Any] | None = None,
    prompt: str = "shorten",
) -> str:
    """A shorter version of a text by who wrote it; one call with the prompt `shorten`, the system's own or the shared.

    `fields` are those of the prompt that asked for the text, from which the prompt says what the text is for.
    """
    given = {**(fields or {}), "text": text, "words": want, "has": count_words(text)}
    reply = await in_voice(run).reply(role, prompt, sampling=Sampling(temperature=temperature), **given)
    return clean_reply(run, role, reply, labels=labels, last=last, kind=kind)


async def write_notes(
    run: Run,
    role: str,
    prompt: str,
    *,
    labels: Sequence[str],
    usual: int,
    max_tokens: int | None = None,
    before: Sequence[str] = (),
    objection: Callable[[str], str] | None = None,
    fields: Mapping[str, Any],
) -> str:
    """Notes from a role: a text next to the story, without what stands around it; one call, more where nothing came.

    Args:
        run: where the calls are made.
        role: who writes.
        prompt: asks for the notes.
        labels: that must not be echoed.
        usual: how many words such notes have, for estimates.
        max_tokens: bounds each reply.
        before: texts the prompt holds, which a small model may echo.
        objection: says in a sentence what is wrong with a text, or nothing.
        fields: fill the prompt.

    Raises:
        ReplyError: the role gives no notes, in a few tries.
    """
    fault, run = "", run.tries(prompt)
    for attempt in range(NOTE_TRIES):
        here = run.again(attempt, fault)
        reply = await here.reply(role, prompt, sampling=Sampling(max_tokens=max_tokens), expect=usual, **fields)
        text = clean_reply(here, role, reply, labels=labels, echo=before, kind="notes")
        fault = reply_fault(here, text, prompt, fields, objection=objection)
        if text and not fault:
            return text
    problem = f"The role {role!r} gave no note at {run.at} in {NOTE_TRIES} tries, each asked in another way."
    raise run.exhausted(prompt, f"{problem} {fault}", role, reply.text)


def reply_fault(
    run: Run,
    text: str,
    prompt: str,
    fields: Mapping[str, Any],
    *,
    least: int = 1,
    objection: Callable[[str], str] | None = None,
) -> str:
    """Why the reply to a prompt with these fields is none, as a sentence for who wrote it; empty if it is one.

    `objection` says what else is wrong with a text, or nothing. In an estimate, whose replies are made up, nothing is.
    """

    def found() -> str:
        instructions = run.context.prompts.instructions(prompt)
        fault = fault_of(text, lambda: run.render(prompt, **fields), instructions, least=least)
        return fault or (objection(text) if objection else "")

    return run.context.unless_made_up(found, "")


def clean_reply(
    run: Run,
    role: str,
    reply: Reply,
    *,
    labels: Sequence[str],
    last: bool = True,
    echo: Sequence[str] | Callable[[], Sequence[str]] = (),
    kind: TextKind = "prose",
    lead: str = "",
) -> str:
    """The prose (or notes) in a role's reply, cleaned as `clean_prose` does for this role; possibly empty.

    What a rule takes out is recorded (`Run.removed`). `echo` are texts that it may repeat, or gives them where they
    take time to put together; `lead` is what the reply continued from.
    """
    text = reply.text.removeprefix(lead)
    return clean_text(run, role, text, labels=labels, last=last, echo=echo, kind=kind, finish=reply.finish)


def clean_text(
    run: Run,
    role: str,
    text: str,
    *,
    labels: Sequence[str],
    last: bool = True,
    echo: Sequence[str] | Callable[[], Sequence[str]] = (),
    kind: TextKind = "prose",
    finish: str = "stop",
) -> str:
    """As `clean_reply`, of a text that is a part of a reply, such as a field of it."""
    aids = run.room(role).aids
    told = () if not aids else echo() if callable(echo) else echo
    found = clean_prose(text, labels=labels, last=last, echo=told, finish=finish, kind=kind, aids=aids)
    for piece in found.dropped:
        run.removed(piece.kind, piece.text)
    return found.text


# what a small model copies or lists instead of telling, found by rule -------------------------------------------------


_COPIED: Final = 8
"""Words in a row that a sentence shares with an earlier one only if it is copied."""
_BEGINNING: Final = 5
"""Words with which no two sentences begin that are not going in circles."""
_LISTED: Final = 0.25  # share of a text's words
_ITEM: Final = re.compile(r"[ \t]{0,8}(?:[-*\u2022]|\d{1,3}[.)])[ \t]{1,8}")
_HEADING: Final = re.compile(r"\*\*[^*\n]{1,80}\*\*(?:[ \t]{0,8}\([^)\n]{0,80}\))?:?")
_TWICE_WORDS: Final = 4  # of a sentence that may stand twice


def without_copies(text: str, earlier: Sequence[str]) -> str:
    """A text without the sentences that share eight words in a row with earlier texts, or with itself further up.

    Nor with those that begin with the same five words as one before them: so texts of small models go in circles.
    """
    seen = {gram for other in earlier for gram in ngrams(_words(other), _COPIED)}
    whole = {_words(other[start:end]) for other in earlier for start, end in spans(other)}
    begun = {words[:_BEGINNING] for words in whole if len(words) >= _BEGINNING}
    kept: list[str] = []
    at = 0
    for start, end in spans(text):
        words = _words(text[start:end])
        grams = set(ngrams(words, _COPIED))
        if not (grams & seen or words[:_BEGINNING] in begun or (words in whole and len(words) >= _TWICE_WORDS)):
            kept.append(text[at:end] if kept else text[start:end])
        seen |= grams
        whole.add(words)
        begun |= {words[:_BEGINNING]} if len(words) >= _BEGINNING else set()
        at = end
    return "".join(kept).strip()


def is_list(text: str) -> bool:
    """Whether a good part of a text is a list, and not told in sentences."""
    listed = sum(count_words(line) for line in text.split("\n") if _ITEM.match(line))
    return listed > _LISTED * max(count_words(text), 1)


def told_in_sentences(text: str) -> str:
    """A list as the sentences that its items are, without marks and headings."""
    kept = (line for line in text.split("\n") if not _HEADING.fullmatch(line.strip()))
    return "\n".join(_ITEM.sub("", line).replace("**", "") for line in kept).strip()


def _words(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", text.lower()))
