"""What a writer is given of parts that its prompt does not show: accounts by the model that writes, or excerpts; ours.

Whoever continues a story has read it. A part whose text has no room in the prompt is read by the model that writes,
when the first prompt is made that does not show it: one call. Its path and its prompt hang on that part alone, so
that they are the same for whoever asks again, and it is paid once. Small models, which cannot give an account, and
people are shown how the part begins and ends. Where the parts are texts of the author's own, a sentence says so before
anything is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fabula.craft.packing import ELLIPSIS, around, in_pieces, paragraphs
from fabula.craft.prose import clean_reply
from fabula.engine.run import Run, side_by_side
from fabula.models.base import Sampling
from fabula.models.budget import estimate_tokens
from fabula.story import count_words, one_line
from fabula.story.sentences import sentences

SHORT: Final = 600
"""Tokens of each kind of text in a prompt, for small models."""
_ACCOUNTS, _READ = 0.10, 0.4  # shares of the window: for all accounts, and for a part of which one is given
_TOKENS: Final = 200  # of an account among others
_LEAST: Final = 3  # words of a sentence that says something
_MARKS: Final = "#*-_~<"  # with which headings, breaks and marks begin, and no sentence


@dataclass(frozen=True, slots=True)
class Earlier:
    """A part that was told before; `stands` says that its text is the author's own, `planned` what it was to tell."""

    name: str
    title: str
    text: str
    planned: str = ""
    stands: bool = False

    def excerpt(self, tokens: int) -> str:
        """How it begins and how it ends, in whole sentences: one of each at least."""
        found = [one for part in paragraphs(self.text) if part[0] not in _MARKS for one in sentences(part)]
        found = [one_line(one) for one in found if count_words(one) >= _LEAST] or [one_line(self.text)]
        first, last, left = found[:1], found[1:][-1:], tokens
        left -= sum(map(estimate_tokens, (*first, *last)))
        for n in range(1, len(found) - 1):
            side = first if n % 2 == 0 else last
            one = found[len(first)] if side is first else found[-len(last) - 1]
            left -= estimate_tokens(one) + 1
            if left < 0:
                break
            side.insert(len(side) if side is first else 0, one)
        begins = f"begins “{' '.join(first)}”"
        return f"{begins} and ends “{' '.join(last)}”" if last else begins

    @property
    def glimpse(self) -> str:
        """One sentence of it: of the first one and the last two, the shortest."""
        last = "".join(paragraphs(self.text)[-1:])
        found = [one_line(one) for one in sentences(last) if count_words(one) >= _LEAST]
        return f"ends “{min(found[-2:], key=len)}”" if found else self.excerpt(0)


@dataclass
class Accounts:
    """The accounts of the parts of a story.

    Attributes:
        brief: what the story must be, for who gives them.
        given: the accounts, by the names of the parts.
    """

    brief: str
    given: dict[str, str] = field(default_factory=dict)

    async def told(self, run: Run, role: str, parts: Sequence[Earlier], *, next_one: str, whole: int) -> Sequence[str]:
        """A line for each part but the last `whole` ones; asks for the accounts that are not there yet.

        Where there are more parts than a prompt can hold accounts of, the parts furthest back have a sentence each, as
        long as there is room.

        Args:
            run: the place of the story, whoever asks.
            role: who writes.
            parts: all that were told before, in their order.
            next_one: what must be written, as the author calls it.
            whole: how many of them the prompt holds whole.
        """
        room = run.room(role).prompt_tokens(SHORT, _ACCOUNTS)
        reads = not (run.room(role).aids or run.room(role).is_person)
        hidden = parts[: len(parts) - whole]
        read = hidden[-max(room // _TOKENS, 1) :] if reads else ()
        if parts and parts[0].stands:
            run.note(
                _announced(next_one, whole, len(read), len(hidden) - len(read), small=run.room(role).aids), "notice"
            )
        missing = [part for part in read if part.name not in self.given]
        found = await side_by_side(self._asked(run, role, part) for part in missing)
        self.given |= {part.name: said for part, said in zip(missing, found, strict=True)}
        return _lines([(part, self._of(part)) for part in hidden], room) if hidden else ()

    def _of(self, part: Earlier) -> str:
        return self.given.get(part.name) or one_line(part.planned)

    async def _asked(self, run: Run, role: str, part: Earlier) -> str:
        """The account of a part; of one that is longer than a prompt, one of each piece."""
        pieces, said = in_pieces(part.text, run.room(role).prompt_tokens(SHORT, _READ)), list[str]()
        for n, piece in enumerate(pieces, 1):
            place = run.scope("account", part.name, *(("piece", n) if len(pieces) > 1 else ()))
            fields: dict[str, Any] = {"brief": self.brief, "told": said, "text": piece}
            reply = await place.reply(role, "account", sampling=Sampling(), **fields)
            said.append(one_line(clean_reply(place, role, reply, labels=(), kind="notes")))
        return " ".join(filter(None, said))


def _lines(parts: Sequence[tuple[Earlier, str]], room: int) -> Sequence[str]:
    """A line for each part: what is known of it, and a sentence of those furthest back, where there is little room."""
    each = room // max(len(parts), 1)
    full = [f"{part.title}: {said}" if said else f"{part.title} {part.excerpt(each)}" for part, said in parts]
    short = [f"{part.title}: {sentences(said)[0]}" if said else f"{part.title} {part.glimpse}" for part, said in parts]
    return [line for line in around(full, short, len(parts) - 1, room) if line != ELLIPSIS]


def _announced(next_one: str, whole: int, read: int, excerpts: int, *, small: bool) -> str:
    """The sentence that says what of the story so far is read by whom, before anything is asked."""
    shown = [f"{whole} in full"] if whole else []
    if read:
        shown.append(f"{read} in an account of each, which it gives when it has read them: one call each, paid once")
    if excerpts:
        why = ", since a small model cannot give an account of a book; a stronger one reads it first (--model)"
        shown.append(f"{excerpts} in their first and last sentences alone{why if small else ''}")
    return f"Who writes {next_one} is shown the parts before it: {', '.join(shown)}."
