"""What every system must do, over every system that is found and every case of its script."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import JournalMissError, ModelError
from fabula.craft.planning import PROMPTS
from fabula.engine.journal import Journal
from fabula.engine.prompts import Prompts
from fabula.models.known import STRENGTHS
from fabula.systems import systems
from fabula.systems.agents_room.back_translation import PROMPTS as TRAINING
from harness import Case, Dying, cases, dry_run_case, run_case

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from fabula.models.base import Message

CASES = cases()
each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)


class Listening(Prompts):
    """Prompts that note what was rendered with which fields."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, common=PROMPTS)
        self.heard: list[tuple[str, frozenset[str]]] = []

    def render(self, name: str, fields: Mapping[str, Any], chat: Sequence[Message] = ()) -> tuple[Message, ...]:
        self.heard.append((name, frozenset(fields)))
        return super().render(name, fields, chat)


@each_case
async def test_writes_a_story_from_its_script(case: Case) -> None:
    with Journal() as journal:
        story = await run_case(case, case.model(), journal)
    assert story.words > 20
    assert all(scene.text for scene in story.scenes)


@pytest.mark.parametrize("name", systems())
async def test_every_prompt_is_used_and_every_field_is_filled_and_read(name: str) -> None:
    used: set[str] = set()
    given: dict[str, set[str]] = {}
    for case in (case for case in CASES if case.system.name == name):
        prompts = Listening(case.system.prompts)
        with Journal() as journal:
            await run_case(case, case.model(), journal, prompts=prompts)
        for prompt, fields in prompts.heard:
            used.add(prompt)
            for field in fields - {"aids"}:  # given by the run to every prompt
                given.setdefault(field, set()).add(prompt)
    folder = systems()[name].prompts
    own = set(Prompts(folder).names) - set(TRAINING)  # one of them may stand for a shared one of its name
    assert used - (set(Prompts(PROMPTS).names) - own) == own
    parts = "".join(path.read_text() for place in (folder, PROMPTS) for path in place.glob("_*.jinja"))
    for field, prompts_given in given.items():
        files = (
            next(place / f"{prompt}.jinja" for place in (folder, PROMPTS) if (place / f"{prompt}.jinja").is_file())
            for prompt in prompts_given
        )
        sources = parts + "".join(file.read_text() for file in files)
        assert re.search(rf"\b{field}\b", sources), f"no prompt that is given {field} reads it"


@each_case
async def test_replays_from_a_frozen_journal_without_asking(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        story = await run_case(case, model, journal)
        calls = len(model.asked)
        again = await run_case(case, model, journal, mode="frozen")
        assert again == story
        assert len(model.asked) == calls == journal.count()


@each_case
async def test_a_frozen_journal_names_the_call_it_lacks(case: Case) -> None:
    with Journal() as journal:
        await run_case(case, case.model(), journal)
        with pytest.raises(JournalMissError, match=r"The journal holds no reply for .* ordinal 0"):
            await run_case(case, case.model(), journal, mode="frozen", seed=2)


@each_case
async def test_the_same_seed_asks_the_same_and_another_seed_does_not(case: Case) -> None:
    bodies = []
    for seed in (1, 1, 2):
        model = case.model()
        with Journal() as journal:
            await run_case(case, model, journal, seed=seed)
        bodies.append([request.body() for request in model.asked])
    assert bodies[0] == bodies[1]
    assert bodies[0] != bodies[2]


@each_case
async def test_killed_at_every_call_and_resumed_gives_the_same_story_with_no_call_repeated(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        whole = await run_case(case, model, journal)
    total = len(model.asked)
    for dies_at in range(total):
        dying, resumed = Dying(case.script, dies_at), case.model()
        with Journal() as journal:
            with pytest.raises((ModelError, ExceptionGroup)):
                await run_case(case, dying, journal)
            story = await run_case(case, resumed, journal)
        assert story == whole
        assert len(dying.asked) + len(resumed.asked) == total


@each_case
async def test_a_dry_run_of_a_new_story_plans_calls_and_asks_nobody(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        context = await dry_run_case(case, model, journal)
        assert journal.count() == 0
    assert not model.asked
    assert context.dry_run.planned
    assert context.dry_run.cost == 0.0
    assert all(call.prompt > 0 and call.reply > 0 for call in context.dry_run.planned)


@each_case
async def test_a_dry_run_of_a_finished_story_plans_nothing(case: Case) -> None:
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
        context = await dry_run_case(case, model, journal)
        kept = set(journal.paths())
    assert context.dry_run.planned == []
    assert context.dry_run.replayed == len(model.asked)
    assert kept <= context.dry_run.reached  # else `fabula status` would say that a text is not used any more
    assert context.dry_run.stale == []


@pytest.mark.parametrize("name", systems())
def test_says_which_paper_it_is_and_how_it_deviates(name: str) -> None:
    paper = systems()[name].paper
    assert {"title", "authors", "year", "venue", "summary", "roles", "deviations", "worth"} <= set(paper)
    assert paper["strength"] in STRENGTHS
    assert paper["worth"].endswith(".")
    assert all(d["where"] and d["what"] for d in paper["deviations"])


@pytest.mark.parametrize("name", systems())
def test_no_prompt_wants_a_tense_against_the_brief(name: str) -> None:
    for path in systems()[name].prompts.glob("*.jinja"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert "past tense" not in line or path.stem == "summarise", f"{path.name}: {line}"
