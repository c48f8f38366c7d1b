"""A project as pages and programs see it: looked at, changed, and never overwritten."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fabula.app.beginning import Beginning, begin
from fabula.app.saving import base_of
from fabula.base.errors import ConflictError, GoneError, LockedError, UnknownNameError, UsageError
from fabula.engine.journal.decisions import Decisions
from fabula.project.sample import copy_sample
from fabula.verbs.home import Project

if TYPE_CHECKING:
    from fabula.engine.journal import Decision

PART = "exposition"
FILE = "story/01-exposition.md"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project, copied once."""
    return copy_sample(tmp_path_factory.mktemp("sample") / "weighbridge").folder


@pytest.fixture
def space(finished: Path, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(finished, tmp_path / "weighbridge")), {})


def test_every_text_is_listed_with_what_holds_for_it(space: Project) -> None:
    rows = {one.name: one for one in space.rows()}
    assert rows["brief.md"].folder == ""
    assert (rows[PART].folder, rows[PART].file, rows[PART].suffix, rows[PART].source) == ("story", FILE, "md", "made")
    assert rows[PART].base == base_of(space.text(PART).text)
    assert not any(one.stale for one in rows.values())
    assert [branch.name for branch in space.tree()] == ["", "story", "plan", "drafts"]
    assert all(one.stale is None for one in space.rows(marks=False) if one.folder)


def test_what_was_decided_about_each_of_many_texts_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shelf of a manuscript of 300 chapters, each of them the author's own, came after 0.7 seconds."""
    text = "\n\n".join(f"# Chapter {number}\n\nRain fell on the pier." for number in range(1, 61))
    begin(Beginning(text=text, kind="manuscript", title="Rain", source="rain.md"), tmp_path / "rain", {})
    space, read = Project(tmp_path / "rain", {}), list[int]()
    whole = Decisions.find

    def counted(decisions: Decisions, path: str = "") -> list[Decision]:
        found = whole(decisions, path)
        read.append(len(found))
        return found

    monkeypatch.setattr(Decisions, "find", counted)
    assert space.overview().words == 60 * 7
    assert len([one for one in space.rows(marks=False) if one.folder == "story"]) == 60
    assert sum(read) <= 4 * 60, read


def test_who_wrote_a_version_is_said(space: Project) -> None:
    (first,) = space.versions(PART).versions
    assert (first.number, first.source, first.role, first.holds) == (1, "made", "exposition", True)


def test_a_text_that_is_saved_makes_stale_what_hangs_on_it(space: Project) -> None:
    before = space.text(PART)
    saved = space.edit(PART, f"{before.text}\n\nAnd more.", before.base)
    assert (saved.changed, saved.version, saved.file) == (True, 2, FILE)
    assert (space.folder / FILE).read_text(encoding="utf-8").endswith("And more.\n")
    stale = {one.name for one in space.rows() if one.stale}
    assert "climax" in stale
    assert PART not in stale
    assert space.expected().calls
    assert space.edit(PART, space.text(PART).text, "whatever").changed is False  # sent twice


def test_the_second_of_two_editors_sees_the_text_of_the_first(space: Project) -> None:
    read = space.text(PART)
    saved = space.edit(PART, "The first was here.", read.base)
    with pytest.raises(ConflictError, match="exposition has changed since you read it") as refused:
        space.edit(PART, "The second was here.", read.base)
    assert (refused.value.theirs, refused.value.base) == ("The first was here.", saved.base)
    assert space.text(PART).text == "The first was here."
    assert space.edit(PART, "Both were here.", refused.value.base).changed


def test_a_file_that_was_changed_outside_is_seen_and_not_overwritten(space: Project) -> None:
    read = space.text(PART)
    (space.folder / FILE).write_text("By hand.\n", encoding="utf-8")
    seen = space.text(PART)
    assert (seen.text, seen.changed, seen.version) == ("By hand.", True, 2)
    assert [change.artefact for change in space.changes().changes] == [PART]
    with pytest.raises(ConflictError) as refused:
        space.edit(PART, "In the page.", read.base)
    assert refused.value.theirs == "By hand."
    assert space.edit(PART, "In the page.", seen.base).version == 3


def test_undo_goes_across_the_page_and_the_command_line(space: Project) -> None:
    read = space.text(PART)
    space.edit(PART, "In the page.", read.base)
    assert Project.open(space.folder).undo().wording == "edit of Exposition"
    assert space.text(PART).text == read.text
    assert space.redo().wording == "edit of Exposition"
    assert space.text(PART).text == "In the page."
    undone = space.undo()
    assert (undone.artefacts, undone.further) == ((PART,), "")


def test_what_is_saved_in_one_sitting_is_taken_back_as_one(space: Project) -> None:
    read = space.text(PART)
    base = read.base
    for text in ("One.", "One. Two.", "One. Two. Three."):
        base = space.edit(PART, text, base, "sitting-1").base
    space.undo()
    assert space.text(PART).text == read.text


def test_a_pinned_text_stays_and_a_take_can_be_picked(space: Project) -> None:
    space.pin(PART)
    assert next(one for one in space.rows() if one.name == PART).pinned
    with pytest.raises(UsageError, match="exposition is pinned"):
        space.retake(PART)
    space.unpin(PART)
    read = space.text(PART)
    space.edit(PART, "Mine.", read.base)
    assert [one.number for one in space.alternatives(PART).versions] == [1]
    assert space.choose(PART, 1).words == read.words
    assert space.text(PART).text == read.text
    assert space.retake(PART, "Shorter, please.").revised
    with space.project().recorded() as journal:
        journal.artefacts.keep(PART, "It was short.", "revised")
    assert [one.note for one in space.versions(PART).versions] == ["", "", "", "Shorter, please."]


def test_a_text_of_ones_own_goes_into_the_story(space: Project) -> None:
    saved = space.edit("story/99-epilogue.md", "The end of it.", "")
    assert (saved.name, saved.version) == ("epilogue", 1)
    with pytest.raises(UsageError, match="cannot be the name of a new text"):
        space.edit("story/x.exe", "Text.", "")
    for name in ("../outside.md", "story/../../outside.md", "/etc/passwd", "nothing"):
        with pytest.raises(UnknownNameError):
            space.edit(name, "Text.", "")


def test_the_brief_and_the_whole_story_are_texts_too(space: Project) -> None:
    brief = space.text("brief.md")
    assert space.edit("brief.md", f"{brief.text}\n\nKeep it short.", brief.base).changed
    with pytest.raises(ConflictError):
        space.edit("brief.md", "# Other\n\nOther.", brief.base)
    story = space.text("story.md")
    assert space.edit("story.md", story.text.replace("My name is", "My own name is"), story.base).changed
    assert space.text(PART).text.startswith("My own name is")
    story = space.text("story.md")
    with pytest.raises(UsageError, match=r"story\.md lacks the scene"):
        space.edit("story.md", "Nothing of it.", story.base)
    assert space.text("story.md").text == story.text
    whole = space.tree(marks=False)[0].artefacts
    assert [one.name for one in whole] == ["brief.md", "story.md"]
    assert 3000 < whole[1].words < 3500


def test_scenes_that_are_told_in_another_order_stay_as_they_were_written(space: Project) -> None:
    plan = space.plan()
    names = [scene.name for scene in plan.plan.scenes]
    said = f"- name: {names[0]}"
    text = space.text("plan").text.replace(said, f"{said}  # my own remark", 1)
    assert "# my own remark" in text
    saved = space.edit("plan", text, space.text("plan").base)
    space.reorder([*names[1:], names[0]], saved.base)
    assert "# my own remark" in space.text("plan").text
    assert [scene.name for scene in space.plan().plan.scenes] == [*names[1:], names[0]]


def test_plan_world_findings_and_calls_are_shown(space: Project) -> None:
    plan = space.plan()
    assert plan.order_from == "plan"
    names = [scene.name for scene in plan.plan.scenes]
    space.reorder(names[::-1], plan.base)
    assert [scene.name for scene in space.plan().plan.scenes] == names[::-1]
    with pytest.raises(UsageError, match="does not contain each scene of the plan exactly once"):
        space.reorder(names[1:], plan.base)
    world = space.world()
    assert world.facts
    assert space.world(at="1").at == "1"
    assert space.world(of="Wendy").of == "Wendy Clabburn"
    key = space.findings().findings[0].key
    space.dismiss(key, "He had two.")
    assert space.last_check().find(key).dismissed == "He had two."
    space.count_again(key)
    assert not space.last_check().find(key).dismissed
    with pytest.raises(UnknownNameError, match="Unknown call '99999'"):
        space.call(99999)
    calls = space.calls(most=3)
    assert len(calls.calls) == 3
    assert space.calls(before=calls.older).calls[0].id < calls.calls[-1].id
    assert space.call(calls.calls[0].id).messages
    assert space.calls("Avery").calls
    assert {one.path.split("/")[0] for one in space.calls(artefact="conflict").calls} == {"conflict"}
    final = space.final_edits()
    assert space.refuse_edits([final.edits[0].id]).refused == final.refused | {final.edits[0].id}
    assert space.export("txt").words > 3000


def _hold(folder: Path, begun: multiprocessing.synchronize.Event, over: multiprocessing.synchronize.Event) -> None:
    with Project.open(folder).locked():
        begun.set()
        over.wait(60)


def test_a_project_that_a_run_holds_can_be_read_and_not_changed(space: Project) -> None:
    spawned = multiprocessing.get_context("spawn")
    begun, over = spawned.Event(), spawned.Event()
    process = spawned.Process(target=_hold, args=(space.folder, begun, over))
    process.start()
    try:
        assert begun.wait(60)
        read = space.text(PART)
        with pytest.raises(LockedError, match=rf"in use by process {process.pid}\. Wait"):
            space.edit(PART, "Now.", read.base)
    finally:
        over.set()
        process.join(60)
    assert space.edit(PART, "Now.", read.base).changed


def test_a_project_that_is_deleted_is_said_to_be_gone(space: Project) -> None:
    shutil.rmtree(space.folder)
    with pytest.raises(GoneError, match="was deleted or moved"):
        space.rows()
