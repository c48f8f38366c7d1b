"""An edit re-asks exactly the calls whose prompt changed; a pin re-asks nothing at its own place."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fabula.engine.events import Kept
from fabula.engine.journal import Journal
from fabula.models.base import Capabilities
from fabula.models.scripted import ScriptedModel
from harness import Case, cases, dry_run_case, run_case
from schemas import example

if TYPE_CHECKING:
    from fabula.engine.events import Event
    from fabula.models.base import Request

# What a model says here has no form, so Dramatron can read it only where a plan gives it the levels.
# How long a dialogue stays at a sub-plan depends on its words, which a dry run cannot know; here it is one turn.
CASES = [
    replace(case, config=case.config | {"turns_per_step": 1}) if "turns_per_step" in case.config else case
    for case in cases()
    if case.config.get("orchestrator") is None
    and (case.plan or case.system.name != "dramatron")
    and case.system.name not in ("best-of-n", "chosen-draft")  # nor can a judge's choice be read
    and not case.config.keys() & {"tokens", "calls", "usd"}  # what an edited text took before stays counted
]
WORDS = ("lamp", "boat", "storm", "letter", "stairs", "bread", "reef", "glass", "wind", "rope", "harbour", "night")
texts = st.lists(st.sampled_from(WORDS), min_size=6, max_size=14).map(lambda w: f"{' '.join(w).capitalize()}.")


def answering(request: Request) -> str:
    """A model whose reply is a function of its prompt, as a real one's is; a sentence per draw, all different."""
    if request.schema is not None:
        return json.dumps(example(request.schema, request.path))
    number = sum(map(ord, "".join(m.content for m in request.messages))) + (request.sampling.seed or 0)
    picked = [WORDS[(number // 7**i) % len(WORDS)] for i in range(9)]
    return " ".join(f"The {word} {number % 997} {place}." for place, word in enumerate(picked))


def model_of_prompts() -> ScriptedModel:
    return ScriptedModel(answering, capabilities=Capabilities(schema=True))


def prompts_of(requests: list[Request]) -> set[tuple[str, str]]:
    return {(request.path, str(request.body())) for request in requests}


async def check_edit(case: Case, which: int, text: str, *, pin: bool) -> None:
    model = model_of_prompts()
    with Journal() as journal:
        kept: list[Event] = []
        await run_case(case, model, journal, listeners=[kept.append])
        first = prompts_of(model.asked)
        paths = sorted({event.path for event in kept if isinstance(event, Kept) and _free(event, case)})
        path = paths[which % len(paths)]
        journal.decisions.add(path, "pin" if pin else "edit", journal.artefacts.newest(path) if pin else text)
        planned = await dry_run_case(case, model_of_prompts(), journal)
        again, fresh = model_of_prompts(), model_of_prompts()
        await run_case(case, again, journal)
        newest = journal.decisions.override(path)
        assert newest is not None
        with Journal() as empty:  # the same edited project, written from nothing: what a full run would ask
            empty.decisions.add(path, "edit", newest[0])
            await run_case(case, fresh, empty)
        asked = prompts_of(again.asked)
        if pin:
            assert not asked
            return
        assert asked == prompts_of(fresh.asked) - first, "asked exactly what is new"
        if case.system.open_role:
            return  # how long a role-play goes on depends on replies that a dry run cannot know
        announced = {call.path for call in planned.dry_run.planned}
        assert _paths(asked) - _extensions(asked) == announced - _extensions(announced), "as the dry run announced"


def _free(kept: Kept, case: Case) -> bool:
    """Whether any text will do for an artefact; plans, levels and records have a form of their own."""
    return kept.suffix == "md" and (kept.folder != "plan" or case.system.name in {"agents-room", "snap"})


def _paths(asked: set[tuple[str, str]]) -> set[str]:
    return {path for path, _ in asked}


def _extensions(paths: set[str] | set[tuple[str, str]]) -> set[str]:
    """Calls that only exist because a text came out short; a dry run can only guess at them."""
    named = {path if isinstance(path, str) else path[0] for path in paths}
    return {path for path in named if re.search("/(?:extend|shorten|again)/", path)}


@given(case=st.sampled_from(CASES), which=st.integers(0, 20), text=texts)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_an_edit_asks_exactly_the_calls_whose_prompt_changed(case: Case, which: int, text: str) -> None:
    asyncio.run(check_edit(case, which, text, pin=False))


@given(case=st.sampled_from(CASES), which=st.integers(0, 20))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_pin_of_the_present_text_asks_nothing(case: Case, which: int) -> None:
    asyncio.run(check_edit(case, which, "", pin=True))


async def test_a_pinned_part_keeps_its_text_when_what_is_above_it_changes() -> None:
    case = next(c for c in CASES if c.system.name == "agents-room" and c.preset == "faithful")
    with Journal() as journal:
        before = await run_case(case, model_of_prompts(), journal)
        journal.decisions.add("climax", "pin", before.scenes[2].text)
        journal.decisions.add("conflict", "edit", "Everything is different now.")
        after = await run_case(case, model_of_prompts(), journal)
    assert after.scenes[2].text == before.scenes[2].text
    assert after.scenes[1].text != before.scenes[1].text
    assert after.scenes[3].text != before.scenes[3].text


async def test_undoing_an_edit_gives_the_first_story_back_at_no_cost() -> None:
    case = CASES[0]
    with Journal() as journal:
        before = await run_case(case, model_of_prompts(), journal)
        journal.decisions.add("conflict", "edit", "Everything is different now.")
        assert await run_case(case, model_of_prompts(), journal) != before
        journal.decisions.add("conflict", "undo", target=journal.decisions.find()[-1].id)
        model = model_of_prompts()
        assert await run_case(case, model, journal) == before
        assert not model.asked


async def test_a_retake_draws_anew_and_asks_what_follows() -> None:
    case = next(c for c in CASES if c.system.name == "agents-room" and c.preset == "faithful")
    with Journal() as journal:
        before = await run_case(case, model_of_prompts(), journal)
        journal.decisions.add("climax", "retake")
        model = model_of_prompts()
        after = await run_case(case, model, journal)
    assert after.scenes[:2] == before.scenes[:2]
    assert after.scenes[2:] != before.scenes[2:]
    assert {r.path for r in model.asked} == {"climax/section", "falling-action/section", "resolution/section"}
