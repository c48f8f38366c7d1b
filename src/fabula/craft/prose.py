"""Story prose from a role: asked, tidied, and fitted to a number of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fabula.base.errors import ReplyError
from fabula.craft.length import write_to_length
from fabula.engine.replies import clean_prose
from fabula.models.base import Sampling
from fabula.story import count_words
from fabula.story.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fabula.craft.length import WordRange
    from fabula.engine.run import Run
    from fabula.models.base import Reply

TRIES = 6
_LITTLE = 40  # words that a reply may always lose; where most of it was commentary, echo or loop, it is drawn again
_TOKENS_PER_WORD = 1.6  # prose has about 1.3; the rest lets a sentence end
_SPARE_TOKENS = 48  # as many more at each new draw: a piece of a few words may have come out empty for want of room
_LEAD_WORDS = 40


@dataclass(frozen=True, slots=True)
class Prose:
    """What is wanted: whether it ends the story, its words if they are bounded, and labels that must not be echoed.

    `usual` is how many words such a piece has where none are asked for; only estimates use it. `previous` is the text
    that the piece follows: its end leads models that can continue a text into the new piece.
    """

    last: bool
    want: WordRange | None
    labels: Sequence[str]
    usual: int = 1000
    previous: str = ""


@dataclass(frozen=True)
class _Writer:
    """One role writing one piece; `prompt` asks for it, the prompt `extend` for more of it."""

    run: Run
    role: str
    prompt: str
    prose: Prose
    max_tokens: int
    before: Sequence[str]
    fields: Mapping[str, Any]

    async def first(self, words: int | None) -> str:
        """The piece's first version; drawn again where most of it was commentary, echo or loop, and the best of all."""
        want = self.prose.want
        told = (want.low, want.high) if want and words else None
        best, raw = "", ""
        for attempt in range(TRIES):
            run = self.run.scope("again", attempt) if attempt else self.run
            led_by = "" if attempt else self.prose.previous  # what led into an echo would lead there again
            fields = {**self.fields, "words": told, "lead": _tail(led_by)}
            reply = await run.reply(
                self.role,
                self.prompt,
                sampling=self._sampling(words, attempt),
                expect=words or self.prose.usual,
                **fields,
            )
            raw = reply.text
            text = self._tidy(reply, led_by, run.render(self.prompt, **fields))
            best = max(best, text, key=count_words)
            lost = count_words(raw.removeprefix(_tail(led_by))) - count_words(text)
            if text and lost <= max(count_words(text), _LITTLE):
                return text
        if best:
            return best
        raise ReplyError(
            f"The role {self.role!r} gave no usable prose in {TRIES} tries. Give this role a stronger model, or run "
            "again with another --seed.",
            reply=raw,
        )

    async def extend(self, so_far: str, missing: int, attempt: int) -> str:
        """What comes after `so_far`, about `missing` words of it."""
        fields = {**self.fields, "words": missing, "so_far": so_far, "lead": _tail(so_far)}
        reply = await self.run.scope("extend", attempt).reply(
            self.role, "extend", sampling=self._sampling(missing), expect=missing, **fields
        )
        return self._tidy(reply, so_far, self.run.render("extend", **fields))

    def _sampling(self, words: int | None, attempt: int = 0) -> Sampling:
        most = self.max_tokens
        if words:
            most = min(most, int(words * _TOKENS_PER_WORD) + _SPARE_TOKENS * (attempt + 1))
        return Sampling(max_tokens=most)

    def _tidy(self, reply: Reply, led_by: str, prompt: str) -> str:
        """The prose of a reply without its lead, and without what it echoes of its prompt."""
        return clean_prose(
            reply.text.removeprefix(_tail(led_by)),
            labels=self.prose.labels,
            last=self.prose.last,
            echo=(*self.before, prompt),
            finish=reply.finish,
        ).text


def _tail(text: str) -> str:
    """The last whole sentences of a text, about `_LEAD_WORDS` words of them: enough to catch the tone."""
    kept: list[str] = []
    for sentence in reversed(sentences(text)):
        kept.insert(0, sentence)
        if count_words(" ".join(kept)) >= _LEAD_WORDS:
            break
    return " ".join(kept)


async def write_prose(
    run: Run,
    role: str,
    prompt: str,
    prose: Prose,
    max_tokens: int,
    *,
    before: Sequence[str],
    fields: Mapping[str, Any],
) -> str:
    """Tidy prose of the length wanted; one call, more where it comes out too short or empty.

    Args:
        run: where the calls are made.
        role: who writes.
        prompt: asks for the piece; it is given `words`, a pair or none. The system also has a prompt `extend`, which
            is given `so_far` and `words`, a number.
        prose: what is wanted.
        max_tokens: bounds each reply.
        before: texts the prompt holds, which a small model may echo; echoes are taken out.
        fields: fill both prompts.

    Raises:
        ReplyError: the role gives no usable prose.
    """
    writer = _Writer(run, role, prompt, prose, max_tokens, before, fields)
    if prose.want is None:
        return await writer.first(None)
    fitted = await write_to_length(writer.first, writer.extend, prose.want, keep_end=prose.last)
    if not fitted.inside:
        run.note(f"{fitted.words} words after {fitted.tries} tries; wanted {prose.want.low} to {prose.want.high}.")
    return fitted.text
