"""What a dry run says will be asked is what is asked then: every system and evaluator, after any small edit.

The model's free texts are a function of its prompt, so that whatever hangs on a changed text changes too. What decides
where a run goes (names, choices, numbers, lengths) stays as it was, since no dry run can know how that would come out.
"""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fabula.base.errors import PlanError
from fabula.engine.events import Kept
from fabula.engine.journal import Journal
from harness import Case, Measurement, cases, dry_run_case, dry_run_measure, measure_case, measurements, run_case
from prompted import assert_same, changed, model_of_prompts

if TYPE_CHECKING:
    from fabula.engine.events import Event
    from fabula.story import Story

CASES = [case for case in cases() if case.plan or case.system.name != "dramatron"]  # its replies need a form
PHASES = [Phase.explicit, Phase.generate]  # a smaller edit would tell no more


@cache
def written(case_id: str) -> tuple[Case, tuple[str, ...]]:
    """A case, and the artefacts that a person could edit in it."""
    case = next(case for case in CASES if case.id == case_id)
    kept: list[Event] = []
    with Journal() as journal:
        asyncio.run(run_case(case, model_of_prompts(), journal, listeners=[kept.append]))
    return case, tuple(dict.fromkeys(event.path for event in kept if isinstance(event, Kept) and event.waits))


async def check(case: Case, path: str, which: int) -> None:
    with Journal() as journal:
        await run_case(case, model_of_prompts(), journal)
        before = journal.artefacts.newest(path)
        assert before is not None
        after = changed(before, which)
        if after == before:
            return
        journal.decisions.add(path, "edit", after)
        try:
            planned = (await dry_run_case(case, model_of_prompts(), journal)).dry_run.planned
        except (PlanError, BaseExceptionGroup):  # the word was a field's name, or what other parts find this one by
            return
        again = model_of_prompts()
        await run_case(case, again, journal)
    # At most: of what is made again, some prompts may be in the words that they had.
    assert_same((call.path for call in planned), (request.path for request in again.asked), "/")


@pytest.mark.parametrize("case_id", [case.id for case in CASES])
@given(data=st.data(), which=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
def test_a_system_asks_what_its_dry_run_announced(case_id: str, data: st.DataObject, which: int) -> None:
    case, paths = written(case_id)
    asyncio.run(check(case, data.draw(st.sampled_from(paths)), which))


MEASUREMENTS = {case.id: case for case in measurements() if case.evaluator.roles}


def edited(case: Measurement, item: int, which: int) -> Measurement:
    """The case with one word of one of its stories changed."""
    place = item % len(case.items)
    old = case.items[place]
    scenes = tuple(replace(scene, text=changed(scene.text, which)) for scene in old.story.scenes[:1])
    story: Story = replace(old.story, scenes=(*scenes, *old.story.scenes[1:]))
    return replace(case, items=(*case.items[:place], replace(old, story=story), *case.items[place + 1 :]))


async def check_measurement(case: Measurement, after: Measurement) -> None:
    with Journal() as journal:
        await measure_case(case, model_of_prompts(), journal)
        planned = (await dry_run_measure(after, model_of_prompts(), journal)).dry_run.planned
        again = model_of_prompts()
        await measure_case(after, again, journal)
    # Facts that are asked anew may come out the same, here because nothing of them is grounded in the story; and so may
    # the names in a scene, which the next one is read with.
    in_vain = {"atlas": "/propose/", "facts": "/read"}.get(case.evaluator.name, "")
    assert_same((call.path for call in planned), (request.path for request in again.asked), in_vain)


@pytest.mark.parametrize("case_id", MEASUREMENTS)
@given(item=st.integers(0, 20), which=st.integers(0, 10_000))
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
def test_an_evaluator_asks_what_its_dry_run_announced(case_id: str, item: int, which: int) -> None:
    case = MEASUREMENTS[case_id]
    asyncio.run(check_measurement(case, edited(case, item, which)))


# what was made is given again: that gives what going over everything gives ------------------------------------------


async def told(case: Case, journal: Journal) -> tuple[Story, list[tuple[str, str]], list[str]]:
    """The story, all texts kept on the way, and the paths of what had to be asked."""
    heard: list[Event] = []
    model = model_of_prompts()
    story = await run_case(case, model, journal, listeners=[heard.append])
    texts = [(event.path, event.text) for event in heard if isinstance(event, Kept)]
    return story, sorted(texts), [request.path for request in model.asked]  # what was made comes sooner


@pytest.mark.parametrize("case_id", [case.id for case in CASES])
def test_a_replay_of_what_was_made_is_the_replay_of_its_calls(case_id: str) -> None:
    async def both() -> None:
        with Journal() as journal:
            first = await told(case, journal)
            made = {path for (path,) in journal._store.all("SELECT path FROM made")}
            given_again = await told(case, journal)
            journal._store.write(("DELETE FROM made", ()))
            looked_up = await told(case, journal)
        assert first[2]
        assert made
        assert given_again == looked_up == (*first[:2], [])

    case, _ = written(case_id)
    asyncio.run(both())


@pytest.mark.parametrize("case_id", [case.id for case in CASES])
@pytest.mark.parametrize("which", [1, 2])
def test_an_update_of_what_was_made_is_the_update_of_its_calls(case_id: str, which: int) -> None:
    async def update(path: str, *, given: bool) -> tuple[Story, list[tuple[str, str]], list[str]] | None:
        with Journal() as journal:
            await told(case, journal)
            before = journal.artefacts.newest(path) or ""
            journal.decisions.add(path, "edit", changed(before, which))
            if not given:
                journal._store.write(("DELETE FROM made", ()))
            try:
                return await told(case, journal)
            except (PlanError, BaseExceptionGroup):  # the word was a name by which other parts find this one
                return None

    case, paths = written(case_id)
    path = random.Random(f"{case_id}{which}").choice(paths)  # noqa: S311 - a sample, not a secret
    some, all_over = (asyncio.run(update(path, given=given)) for given in (True, False))
    assert some == all_over


@pytest.mark.parametrize("case_id", {c.system.name: c.id for c in reversed(CASES) if c.preset == "improved"}.values())
@pytest.mark.parametrize("which", [1, 2, 3])
def test_an_undone_edit_is_neither_announced_nor_asked(case_id: str, which: int) -> None:
    async def undone(path: str) -> None:
        with Journal() as journal:
            first = await told(case, journal)
            journal.decisions.add(path, "edit", changed(journal.artefacts.newest(path) or "", which))
            try:
                await told(case, journal)
            except (PlanError, BaseExceptionGroup):  # the word was a name by which other parts find this one
                return
            journal.decisions.add(path, "undo", target=journal.decisions.find()[-1].id)
            assert (await dry_run_case(case, model_of_prompts(), journal)).dry_run.planned == []
            assert await told(case, journal) == (*first[:2], [])

    case, paths = written(case_id)
    asyncio.run(undone(paths[min(which, len(paths)) - 1]))  # those that others hang on come first
