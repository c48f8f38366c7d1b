"""Prompts and replies in a project: a list that can be searched, and single calls with all their details."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from fabula.engine.journal import CallFilter
from fabula.engine.journal.store import LAST
from fabula.engine.replies.rules import why
from fabula.models.base import Usage  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fabula.engine.journal import Call, Journal

MOST: Final = 50  # calls of one page
LONGEST: Final = 200  # characters that are sought
_AGAIN: Final = "again"  # the scope of what was asked once more
_CHAT: Final = "chat/"
_SAME: Final = 200  # calls for the same text that are looked through
_OPENING: Final = 200  # characters of a reply that a list shows
_SENTENCE: Final = 20  # characters of a text that is found in another one not by chance
_AROUND: Final = 80  # characters on either side of what was sought


@dataclass(frozen=True, slots=True)
class CallHead:
    """A call, the model that answered, how the call ended ("stop", "length" or "refusal") and what it cost."""

    id: int
    path: str
    role: str
    model: str
    at: str
    finish: str
    took: Usage


@dataclass(frozen=True, slots=True)
class FoundCall(CallHead):
    """A call in a list. `found` is the text around the match of a search."""

    opening: str
    found: str


@dataclass(frozen=True, slots=True)
class CallRole:
    """A role, the models that performed it, and the number of its calls."""

    role: str
    model: str
    calls: int


@dataclass(frozen=True, slots=True)
class CallList:
    """A page of calls, newest first. `older` is the value of `before` for the next page; null on the last page."""

    calls: list[FoundCall]
    total: int
    askers: list[CallRole]
    older: int | None


@dataclass(frozen=True, slots=True)
class PromptMessage:
    """A message of a prompt."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class RemovedText:
    """A piece that a rule removed from a reply, the reason for the rule, and the artefact that the call was for."""

    path: str
    artefact: str
    rule: str
    why: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class OtherCall:
    """Another call for the same text.

    Attributes:
        kind: "repair" if a reply could not be read, "again" if a reply could not be used, "take" otherwise.
        opening: the beginning of its reply.
    """

    id: int
    kind: str
    at: str
    opening: str


@dataclass(frozen=True, slots=True)
class PromptSource:
    """An artefact whose text is part of a prompt."""

    artefact: str
    version: int


@dataclass(frozen=True, slots=True)
class CallTurn:
    """The turn that a call was made for, with the name of its conversation; 0 for preparations for its cell."""

    name: str
    cell: int
    turn: int


@dataclass(frozen=True, slots=True)
class AskedCall(CallHead):
    """A call with its prompt and its unchanged reply.

    Attributes:
        run: the run in which the call was made.
        reasoning: what the model thought before it answered, if its server shows that.
        form: the JSON schema that the reply had to match.
        sampling: the sampling settings that were sent; `dropped` lists those that could not be sent.
    """

    run: int
    messages: list[PromptMessage]
    reply: str
    reasoning: str
    form: dict[str, Any] | None
    sampling: dict[str, Any]
    dropped: list[str]


@dataclass(frozen=True, slots=True)
class WholeCall(AskedCall):
    """A call with everything that belongs to it.

    Attributes:
        removed: what rules removed from the reply.
        beside: other calls for the same text.
        sources: artefacts whose texts are part of the prompt.
        artefact: the artefact that the call was for; empty if there is none.
        chat: the turn that the call was for.
        older: the previous call in the list; `newer` is the next one.
    """

    removed: list[RemovedText]
    beside: list[OtherCall]
    sources: list[PromptSource]
    artefact: str
    chat: CallTurn | None
    older: int | None
    newer: int | None


def calls_of(journal: Journal, wanted: CallFilter, *, before: int | None = None, most: int = MOST) -> CallList:
    """A page of a project's calls, newest first."""
    found = journal.calls.find(wanted, prompts=bool(wanted.text), most=most + 1, before=before or LAST)[::-1]
    paid = Counter((one.role, one.performer) for one in journal.calls.payments() if one.key)
    askers = [CallRole(*asker, calls) for asker, calls in sorted(paid.items())]
    older = found[most - 1].id if len(found) > most else None
    return CallList([_line(one, wanted.text) for one in found[:most]], len(journal.calls), askers, older)


def _head(call: Call) -> tuple[int, str, str, str, str, str, Usage]:
    return call.id, call.path, call.role, call.performer, call.at, call.reply.finish, call.reply.usage


def _line(call: Call, sought: str) -> FoundCall:
    """A call in a list. If text is `sought`, the call has its prompt, too."""
    texts = (call.text, *(text for _, text in reversed(call.messages)))
    return FoundCall(*_head(call), _opening(call), _excerpt(texts, sought) if sought else "")


def asked_call(call: Call) -> AskedCall:
    """A call that was found with its prompt."""
    return AskedCall(
        *_head(call),
        call.run,
        [PromptMessage(role, text) for role, text in call.messages],
        call.reply.text,
        call.reply.reasoning,
        dict(call.schema) if call.schema else None,
        dict(call.reply.sent),
        list(call.reply.dropped),
    )


def removed_texts(journal: Journal, under: str = "") -> list[RemovedText]:
    """What rules removed from replies at or below a path."""
    artefacts = journal.artefacts.paths()
    return [
        RemovedText(one.path, artefact_of(artefacts, one.path), one.rule, why(one.rule), one.text, one.at)
        for one in journal.calls.removals(under)
    ]


def call_of(journal: Journal, number: int, among: CallFilter | None = None) -> WholeCall | None:
    """One call, with its neighbours `among` the wanted calls; `None` if no call has this number."""
    call = next(iter(journal.calls.find(CallFilter(number=number), prompts=True)), None)
    if call is None:
        return None
    wanted = among or CallFilter()
    older, newer = journal.calls.find(wanted, most=1, before=number), journal.calls.find(wanted, most=1, after=number)
    prompt = "\n\n".join(text for _, text in call.messages)
    asked = asked_call(call)
    return WholeCall(
        **{one.name: getattr(asked, one.name) for one in fields(asked)},
        removed=[one for one in removed_texts(journal, call.path) if one.path == call.path],
        beside=_beside(journal, call),
        sources=_sources(journal, prompt),
        artefact=artefact_of(journal.artefacts.paths(), call.path),
        chat=spoken_at(call.path),
        older=older[0].id if older else None,
        newer=newer[0].id if newer else None,
    )


def call_for(journal: Journal, artefact: str, version: int | None = None) -> int | None:
    """The number of the call that produced a version (by default the newest) of an artefact; `None` if no call did."""
    versions = journal.artefacts.versions(artefact)
    if not versions or not 0 < (version or 1) <= len(versions):
        return None
    made = versions[version - 1 if version else -1]
    calls = [call for call in journal.calls.find(CallFilter(under=artefact), prompts=True) if call.at <= made.at]
    own = [call for call in calls if call.run == made.run] or calls
    same = [call for call in own if made.text.strip() and made.text.strip() in call.reply.text]
    last = same or own
    return last[-1].id if last else None


def _sources(journal: Journal, prompt: str) -> list[PromptSource]:
    """The newest version of each artefact whose whole text is in a prompt, if it is longer than a word."""
    found = {
        version.path: version.number
        for version in journal.artefacts.versions()
        if len(version.text) >= _SENTENCE and version.text.strip(" \n") in prompt
    }
    return [PromptSource(*one) for one in sorted(found.items())]


def _opening(call: Call) -> str:
    return " ".join(call.text.split())[:_OPENING]


def _excerpt(texts: Sequence[str], sought: str) -> str:
    """The text around the first match of `sought` in the first text that has one, on one line."""
    for text in texts:
        at = text.lower().find(sought.lower())
        if at >= 0:
            begin, end = max(at - _AROUND, 0), at + len(sought) + _AROUND
            return f"{'…' if begin else ''}{' '.join(text[begin:end].split())}{'…' if end < len(text) else ''}"
    return ""


def artefact_of(artefacts: Sequence[str], path: str) -> str:
    """The artefact that a call at a path is for; empty if there is none."""
    above = (name for name in artefacts if path == name or path.startswith(f"{name}/"))
    return max(above, key=len, default="")


def spoken_at(path: str) -> CallTurn | None:
    """The turn of a conversation that a path belongs to."""
    if not path.startswith(_CHAT):
        return None
    name, _, rest = path.removeprefix(_CHAT).partition("/")
    cell, _, within = rest.partition("/")
    kind, _, place = within.partition("/")
    turn = place.partition("/")[0] if kind == "turn" else ""
    return CallTurn(name, _number(cell.removeprefix("cell-")), _number(turn))


def _number(text: str) -> int:
    return int(text[:9]) if text.isascii() and text.isdigit() else 0


def _place(path: str) -> tuple[str, str]:
    """The place of a call and the name of its prompt, without the number of the attempt."""
    place, _, prompt = path.rpartition("/")
    head, mark, last = place.rpartition(f"/{_AGAIN}/")
    return (head, prompt) if mark and last.isdigit() else (place, prompt)


def _beside(journal: Journal, call: Call) -> list[OtherCall]:
    """Other calls for the same text, oldest first."""
    place, prompt = _place(call.path)
    found = journal.calls.find(CallFilter(under=place), prompts=True, most=_SAME)
    others = [one for one in found if one.id != call.id and _place(one.path) == (place, prompt)]
    return [OtherCall(one.id, _kind(call, one), one.at, _opening(one)) for one in others]


def _kind(call: Call, other: Call) -> str:
    """How another call came about: the later call contains the reply of the earlier one, or was made elsewhere."""
    if other.path != call.path:
        return "again"
    early, late = (call, other) if call.id < other.id else (other, call)
    repaired = len(late.messages) > len(early.messages) and late.messages[len(early.messages)][1] == early.reply.text
    return "repair" if repaired else "take"
