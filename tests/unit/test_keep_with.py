"""What was made with a text outlives the author's own text in its place: `Run.keep(shape=...)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import PluginError
from fabula.craft.revising import reviser
from fabula.engine.journal import Journal
from fabula.testing import check
from fabula.testing.cases import cases_of, dry_run_case, run_case
from fabula.testing.checking import method_of
from recurrent import lay_recurrent

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.models.scripted import ScriptedModel
    from fabula.testing.cases import Case

HERS = "Mara broke the lamp with a hammer."


def case_of(folder: Path) -> Case:
    case, _ = cases_of(method_of(str(folder)))  # type: ignore[arg-type] # the folder is a system
    return case


def prompts(model: ScriptedModel, start: int) -> list[tuple[str, str]]:
    return [(request.path, request.messages[-1].content) for request in model.asked[start:]]


@pytest.mark.parametrize("way", ["kept", "again"])
async def test_such_a_system_keeps_every_rule(tmp_path: Path, way: str) -> None:
    folder = lay_recurrent(tmp_path / "recurrent", way)
    assert [outcome.broken async for outcome in check(str(folder)) if outcome.broken] == []


async def test_a_memory_that_no_artefact_holds_breaks_a_rule(tmp_path: Path) -> None:
    folder = lay_recurrent(tmp_path / "recurrent", "lost")
    said = [outcome for outcome in [one async for one in check(str(folder))] if outcome.rule.startswith("an artefact")]
    assert "with part-1 pinned as it was made, ['part-2/story'] is asked differently from before." in said[0].broken
    assert "run.keep(shape=...)" in said[0].advice


async def test_after_an_edit_the_memory_is_the_last_one(tmp_path: Path) -> None:
    case = case_of(lay_recurrent(tmp_path / "recurrent", "kept"))
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
        assert "Remembered: The lamp burns." in prompts(model, 0)[1][1]
        asked = len(model.asked)
        journal.decisions.add("part-1", "edit", HERS)
        story = await run_case(case, model, journal)
        assert prompts(model, asked) == []  # the next part's prompt shows the memory alone, which is as it was
        assert story.scenes[0].text == HERS


async def test_after_an_edit_the_memory_is_worked_out_again_and_announced(tmp_path: Path) -> None:
    case = case_of(lay_recurrent(tmp_path / "recurrent", "again"))
    model = case.model()
    with Journal() as journal:
        await run_case(case, model, journal)
        asked = len(model.asked)
        planned = (await dry_run_case(case, model, journal, pending={"part-1": HERS})).dry_run.planned
        journal.decisions.add("part-1", "edit", HERS)
        await run_case(case, model, journal)
        made = prompts(model, asked)
        assert [call.path for call in planned] == ["part-1/remember", "part-2/story", "part-3/story"]
        assert [path for path, _ in made] == ["part-1/remember", "part-2/story"]  # whose memory is as it was
        assert HERS in made[0][1]
        assert "Remembered: The lamp is broken." in made[1][1]
        asked = len(model.asked)
        await run_case(case, model, journal)
        assert prompts(model, asked) == []  # it is recorded with her text


async def test_before_a_revision_it_is_announced_that_the_memory_is_worked_out_again(tmp_path: Path) -> None:
    case = case_of(lay_recurrent(tmp_path / "recurrent", "again"))
    with Journal() as journal:
        await run_case(case, case.model(), journal)
        journal.decisions.add("part-1", "revise", "Make it darker.")
        planned = [
            call.path
            for call in (await dry_run_case(case, case.model(), journal, revise=reviser("A story."))).dry_run.planned
        ]
        assert planned[:2] == ["part-1/note/1/revise_to_note", "part-1/remember"]


async def test_a_text_that_was_there_first_has_the_defaults(tmp_path: Path) -> None:
    case = case_of(lay_recurrent(tmp_path / "recurrent", "kept"))
    model = case.model()
    with Journal() as journal:
        journal.decisions.add("part-1", "edit", HERS)
        await run_case(case, model, journal)
        assert "Remembered: nothing." in prompts(model, 0)[0][1]


async def test_a_field_without_a_default_is_named(tmp_path: Path) -> None:
    case = case_of(lay_recurrent(tmp_path / "recurrent", "bare"))
    with Journal() as journal:
        journal.decisions.add("part-1", "edit", HERS)
        with pytest.raises(PluginError, match=r"Told cannot be made from an author's own text alone: memory\."):
            await run_case(case, case.model(), journal)
