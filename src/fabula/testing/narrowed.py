"""Whether artefacts that name what they read (`reads=`) are made of nothing else, found out by whole walks.

Each artefact in turn is edited. Whatever does not declare that it reads it must be asked for in the same words then,
and to come out the same. Where the edit changes something that it does declare, that is held as it was. A model answers
otherwise what it is asked differently from before, so that a change is seen however far behind it is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fabula.base.errors import FabulaError
from fabula.engine.journal import Journal
from fabula.testing.cases import Case, Willing, run_case
from fabula.testing.traced import Trace, said_in

if TYPE_CHECKING:
    from fabula.models.base import Reply, Request


_WORD: Final = re.compile(r"\b[a-z]{4,}\b(?!:)")  # what ends in a colon may be the name of a field
_OTHER: Final = "otherwise told"  # of two words, since some read only how long a text is
_TRIES: Final = 8  # lines that are edited alone
_LONG: Final = 4  # words in a field of a form: fewer may be a name, or one of several that are allowed
_MORE: Final = "Then the bell rang over the water."


class Reacting(Willing):
    """A scripted model that answers otherwise what is not among the prompts in `known`, once these are set."""

    known: frozenset[tuple[str, str]] | None = None

    async def _answer(self, request: Request) -> Reply:
        reply = await super()._answer(request)
        if self.known is None or (request.path, said_in(request)) in self.known or request.choices:
            return reply
        return self._counted(request, _answered_otherwise(reply.text))


def _answered_otherwise(text: str) -> str:
    """A reply with a sentence more; in a form, each text that is no mere name has it."""
    try:
        form = json.loads(text)
    except ValueError:
        return f"{text}\n\n{_MORE}"
    return json.dumps(_longer(form))


def _longer(form: Any) -> Any:  # noqa: ANN401 - JSON data
    if isinstance(form, dict):
        return {name: _longer(value) for name, value in form.items()}
    if isinstance(form, list):
        return [_longer(value) for value in form]
    return f"{form} {_MORE}" if isinstance(form, str) and len(form.split()) > _LONG else form


async def wrong_reads(case: Case) -> str:
    """Which artefact is made of another that it does not declare, as a sentence; empty where none is."""
    model, base = Reacting(case.script), Trace()
    with Journal() as journal:
        await run_case(case, model, journal, anew=True, trace=base)
        model.known = frozenset(base.asked)
        texts = {path: journal.artefacts.newest(path) or "" for path in journal.artefacts.paths()}
        proof = _Proof(case, model, journal, base, texts)
        for edited in [*(path for path in texts if path not in base.reads), *base.reads]:
            if wrong := await proof.wrong_with(edited):
                return wrong
    return ""


@dataclass(frozen=True)
class _Proof:
    """What is proved of a case: its run without an edit, and the texts of that."""

    case: Case
    model: Reacting
    journal: Journal
    base: Trace
    texts: Mapping[str, str]

    async def wrong_with(self, edited: str) -> str:
        """What is made otherwise with an artefact edited, and does not declare that it reads it."""
        behind = self._not_declaring(edited)
        for text in _edits(self.texts[edited]) if behind else ():
            walks: dict[tuple[str, ...], Trace] = {}
            try:
                first = walks[()] = await self._walk(edited, text, ())
                for path, reads in behind.items():
                    held = tuple(read for read in reads if first.versions.get(read) != self.base.versions[read])
                    if held not in walks:
                        walks[held] = await self._walk(edited, text, held)
                    if wrong := self._otherwise(walks[held], edited, path, reads):
                        return wrong
            except FabulaError:  # not every text can stand in every place
                continue
            return ""
        return ""

    def _not_declaring(self, edited: str) -> dict[str, tuple[str, ...]]:
        """Artefacts begun after another one that name what they read, and not that one; with what they name."""
        order = list(self.base.reads)
        since = order.index(edited) + 1 if edited in order else 0  # what a run of its own kept may be read by all
        later = {path: self.base.reads[path] for path in order[since:]}
        return {
            path: reads
            for path, reads in later.items()
            if reads is not None and edited not in reads and not edited.startswith(f"{path}/")
        }

    async def _walk(self, edited: str, text: str, held: Sequence[str]) -> Trace:
        """What is read and asked with an artefact edited and others held as they were."""
        trace, journal = Trace(), self.journal
        journal.decisions.add(edited, "edit", text)
        for path in held:
            journal.decisions.add(path, "pin", self.texts[path])
        try:
            await run_case(self.case, self.model, journal, anew=True, trace=trace)
        finally:
            for path in (*held, edited):
                journal.decisions.add(path, "undo", target=journal.decisions.find(path)[-1].id)
        return trace

    def _otherwise(self, walk: Trace, edited: str, path: str, reads: Sequence[str]) -> str:
        """How an artefact is made otherwise on a walk, though all that it declares is as it was; empty if it is not."""
        as_was = all(walk.versions.get(read) == self.base.versions[read] for read in reads)
        if not as_was or walk.reads.get(path) != tuple(reads):  # it says itself that it reads something else now
            return ""
        asked, before = walk.prompts(path), self.base.prompts(path)
        if asked == before and walk.versions[path] == self.base.versions[path]:
            return ""
        other = [one[0] for one in (*asked, *before) if one not in before or one not in asked]
        how = f"the prompt {other[0]} is another one" if other else "its text is another one"
        return (
            f"{self.case.id}: {path} is said to read {', '.join(reads) or 'nothing'} alone (reads=), but with {edited} "
            f"edited {how}."
        )


def _edits(text: str) -> Iterator[str]:
    """Other texts in a text's place: all plain words are others, else those of one line alone, here and there."""
    lines = text.split("\n")
    able = [n for n, line in enumerate(lines) if _WORD.search(line)]
    for changed in (able, *([n] for n in able[:: max(len(able) // _TRIES, 1)])):
        yield "\n".join(_WORD.sub(_OTHER, line) if n in changed else line for n, line in enumerate(lines))
