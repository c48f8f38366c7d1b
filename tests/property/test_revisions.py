"""Notes and fits in every system: what a dry run announces is asked, and once it is done nothing is left to ask."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import PlanError, ReplyError
from fabula.craft.revising import reviser
from fabula.engine.dry_run import placeholder
from fabula.engine.events import Kept
from fabula.engine.journal import Journal
from fabula.engine.making import add_fits, announced_as, notes_of
from fabula.models.base import Capabilities, Reply
from fabula.models.scripted import ScriptedModel
from harness import Case, cases, dry_run_case, run_case
from schemas import example

if TYPE_CHECKING:
    from fabula.engine.dry_run import DryRun
    from fabula.engine.events import Event
    from fabula.models.base import Request

CASES = [case for case in cases() if case.plan or case.system.name != "dramatron"]  # its replies need a form
_WORD = re.compile(r"\b[a-z]{5,}\b")
REVISIONS = ("revise_to_note", "revise_to_fit")
FIRST = {case.system.name: case for case in reversed(CASES) if case.preset == "improved"}
BRIEF = "A story."


def changed(text: str, which: int) -> str:
    """`text` with one of its words, that it has but once, made another of the same length."""
    once = [word for word, times in Counter(_WORD.findall(text)).items() if times == 1 and text.count(word) == 1]
    old = once[which % len(once)] if once else ""
    return text.replace(old, "z" * len(old)) if old else text


def reply_to(request: Request) -> str | Reply:
    """What decides where a run goes is always the same; a free text is a function of its prompt."""
    if request.choices:
        text = request.choices[0]
        return Reply(text, logprobs={text: -0.1}) if request.logprobs else text
    if request.schema is not None:
        return json.dumps(example(request.schema, request.path))
    salt = sha256("\0".join(message.content for message in request.messages).encode()).hexdigest()[:8]
    return placeholder(60, f"{request.path}{salt}{request.sampling.seed}")


def revising(request: Request) -> str | Reply:
    """A revised text has one other word; whatever else is asked depends on its prompt."""
    if not request.path.endswith(REVISIONS):
        return reply_to(request)
    return changed(request.messages[-2].content, 3)


def model() -> ScriptedModel:
    return ScriptedModel(revising, capabilities=Capabilities(schema=True, choices=True))


async def ran(case: Case, journal: Journal) -> tuple[ScriptedModel, list[Kept]]:
    asked, kept = model(), list[Kept]()

    def heard(event: Event) -> None:
        if isinstance(event, Kept):
            kept.append(event)

    await run_case(case, asked, journal, listeners=[heard], revise=reviser(BRIEF))
    return asked, kept


async def announced(case: Case, journal: Journal, **more: object) -> DryRun:
    return (await dry_run_case(case, model(), journal, revise=reviser(BRIEF), **more)).dry_run


def planned(said: DryRun) -> list[str]:
    return [call.path for call in said.planned]


@pytest.mark.parametrize("name", FIRST)
def test_a_note_to_any_text_asks_what_was_announced_and_is_met(name: str) -> None:
    case = FIRST[name]

    async def check() -> None:
        with Journal() as journal:
            _, kept = await ran(case, journal)
            made = {one.path: one for one in kept if one.waits}
            for path in list(made)[:: max(len(made) // 3, 1)][:3]:
                before = journal.artefacts.newest(path)
                journal.decisions.add(path, "revise", "darker")
                try:
                    said = await announced(case, journal)
                    model_, _ = await ran(case, journal)
                except (PlanError, ReplyError):  # the word that was changed is one by which parts find each other
                    journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
                    continue
                assert any(one.path.endswith("revise_to_note") for one in model_.asked), path
                assert journal.artefacts.newest(path) != before
                assert len(model_.asked) <= said.most, path
                assert notes_of(journal, path) == ("darker",)
                assert planned(await announced(case, journal)) == []
                journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
                assert not (await ran(case, journal))[0].asked

    asyncio.run(check())


@pytest.mark.parametrize("name", FIRST)
def test_old_texts_are_fitted_as_announced_and_then_nothing_is_stale(name: str) -> None:
    case = FIRST[name]

    async def check() -> None:
        with Journal() as journal:
            _, kept = await ran(case, journal)
            first = next(one for one in kept if one.waits and not one.path.endswith("order"))
            for which in range(5, 15):
                journal.decisions.add(first.path, "edit", changed(first.text, which))
                try:
                    plain = await announced(case, journal)
                    break
                except PlanError:  # the word was a field's name, or what other parts find this one by
                    journal.decisions.add(first.path, "undo", target=journal.decisions.find()[-1].id)
            stale = [
                one.path
                for one in {one.path: one for one in kept}.values()
                if one.suffix == "md"
                and one.folder != "role-play"
                and journal.decisions.override(one.path) is None
                and any(path.startswith(f"{one.path}/") for path in planned(plain))
            ]
            said = await announced(case, journal, to_fit={path: journal.artefacts.newest(path) or "" for path in stale})
            if stale:
                add_fits(journal, stale)
            journal.start_run(name, {})
            model_, _ = await ran(case, journal)
            journal.end_run()
            asked = [announced_as(one.path) for one in model_.asked]
            assert not set(asked) - set(planned(said))
            of_stale = [path for path in asked if any(path.startswith(f"{one}/") for one in stale)]
            assert [path for path in asked if path.endswith("revise_to_fit")] or not of_stale
            assert planned(await announced(case, journal)) == []
            assert not (await ran(case, journal))[0].asked

    asyncio.run(check())
