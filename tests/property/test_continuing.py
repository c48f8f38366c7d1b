"""`continue` in every system: what is announced is asked, the text goes on, and can be undone and go on again."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from fabula.craft.continuing import continuer
from fabula.engine.events import Kept
from fabula.engine.journal import Journal
from fabula.engine.methods import values_of
from harness import Case, cases, dry_run_case, run_case
from prompted import assert_same, changed, model_of_prompts

if TYPE_CHECKING:
    from fabula.engine.events import Event
    from fabula.models.scripted import ScriptedModel
    from fabula.story import Story

CASES = [case for case in cases() if case.plan or case.system.name != "dramatron"]  # its replies need a form
GO_ON = continuer("A story.")


async def ran(case: Case, journal: Journal) -> tuple[Story, ScriptedModel, list[Kept]]:
    asked, kept = model_of_prompts(), list[Kept]()

    def heard(event: Event) -> None:
        if isinstance(event, Kept):
            kept.append(event)

    story = await run_case(case, asked, journal, listeners=[heard], go_on=GO_ON)
    return story, asked, kept


async def announced(case: Case, journal: Journal) -> list[str]:
    context = await dry_run_case(case, model_of_prompts(), journal, go_on=GO_ON)
    return [call.path for call in context.dry_run.planned]


def undone(journal: Journal) -> None:
    last = journal.decisions.find()[-1]
    journal.decisions.add(last.path, "undo", target=last.id)


# One end of each case's story, drawn; `make simulate` has the other one, too.
ENDS = [
    pytest.param(case.id, which, marks=[pytest.mark.simulation] if crc32(case.id.encode()) % 2 == -which else [])
    for case in CASES
    for which in (0, -1)
]


@pytest.mark.parametrize(("case_id", "which"), ENDS)
def test_a_part_goes_on_in_every_system(case_id: str, which: int) -> None:
    case = next(case for case in CASES if case.id == case_id)

    async def check() -> None:
        with Journal() as journal:
            first, _, kept = await ran(case, journal)
            path = [*dict.fromkeys(one.path for one in kept if one.folder == "story")][which]
            texts = [journal.artefacts.newest(path) or ""]
            for _ in range(2):
                journal.decisions.add(path, "continue", texts[-1], 70)
                said = await announced(case, journal)
                story, model, _ = await ran(case, journal)
                made = [path for path in (one.path for one in model.asked) if "/call/" not in path]
                assert_same(said, made, "/")  # at most: what follows a text that goes on need not hang on it
                assert model.asked[0].path.startswith(f"{path}/more/")
                texts.append(journal.artefacts.newest(path) or "")
                assert texts[-1].startswith(f"{texts[-2]}\n\n")
                assert any(texts[-1].split("\n\n")[-1] in scene.text for scene in story.scenes)
                assert await announced(case, journal) == []
            undone(journal)
            assert (await ran(case, journal))[1].asked == []
            assert journal.artefacts.newest(path) == texts[1]
            undone(journal)
            again, model, _ = await ran(case, journal)
            assert (again, model.asked) == (first, [])

    asyncio.run(check())


FIRST = {case.system.name: case for case in reversed(CASES) if case.preset == "improved"}


@pytest.mark.parametrize("name", FIRST)
def test_what_follows_stays_when_an_earlier_text_is_edited(name: str) -> None:
    case = FIRST[name]

    async def check() -> None:
        with Journal() as journal:
            _, _, kept = await ran(case, journal)
            parts = [*dict.fromkeys(one.path for one in kept if one.folder == "story")]
            if len(parts) == 1:
                return
            path = parts[-1]
            base = journal.artefacts.newest(path) or ""
            journal.decisions.add(path, "continue", base, 70)
            await ran(case, journal)
            journal.decisions.add(parts[0], "edit", changed(journal.artefacts.newest(parts[0]) or "", 3))
            said = await announced(case, journal)
            _, model, _ = await ran(case, journal)
            assert_same(said, (request.path for request in model.asked), "/")
            assert any(request.path.startswith(f"{path}/more/") for request in model.asked)
            assert (journal.artefacts.newest(path) or "").startswith(f"{base}\n\n")

    asyncio.run(check())


READ = [name for name, case in FIRST.items() if "final_reading" in values_of(case.system.config("improved"))]


@pytest.mark.parametrize("name", READ)
def test_the_whole_is_not_read_again_when_its_last_part_goes_on(name: str) -> None:
    case = replace(FIRST[name], config={**FIRST[name].config, "final_reading": True})

    async def check() -> None:
        with Journal() as journal:
            _, _, kept = await ran(case, journal)
            path = [one.path for one in kept if one.folder == "story"][-1]
            journal.decisions.add(path, "continue", journal.artefacts.newest(path) or "", 70)
            _, model, _ = await ran(case, journal)
            assert [one.path for one in model.asked if one.path.endswith("final_reading")] == []

    asyncio.run(check())
