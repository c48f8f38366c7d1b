"""The notes on a book while it is written: the file, what of it a prompt shows, and what an author's edit changes."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from benchmarks.pages import Sizes, bench
from hypothesis import given
from hypothesis import strategies as st

from fabula.app.importing import import_manuscript
from fabula.app.standing import shortfalls
from fabula.app.writing import Options, dry_run_in, write_in
from fabula.continuity.parts import manuscript
from fabula.craft.so_far import Noted, SoFar, SoFarReply, read_so_far
from fabula.models.base import Capabilities
from fabula.models.budget import estimate_tokens
from fabula.models.scripted import ScriptedModel
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from growth import LINEAR, growth
from prompted import reply_to

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.dry_run import DryRun
    from fabula.models.base import Request

NAME = "program:writer"
BRIEF = "Write a novel in 14 chapters, 7,000 words, about Mara, who keeps a lighthouse."
CHAPTERS = 14


EMPTY: Final[dict[str, Any]] = {"places": [], "known": [], "opened": []}


def reply(**fields: object) -> SoFarReply:
    return SoFarReply.model_validate({"happens": "Mara waits.", **EMPTY, **fields})


def thread(text: str, due: int = 0, about: str = "Mara") -> dict[str, Any]:
    return {"about": [about], "thread": text, "due": due}


# the file -------------------------------------------------------------------------------------------------------------


def test_what_a_chapter_tells_is_added_to_what_is_known() -> None:
    first = SoFar().after(
        1,
        "1. The Letter",
        reply(
            places=[{"name": "Mara", "where": "in the lamp room"}, {"name": "key", "where": "under the step"}],
            known=[{"about": ["Mara", "Tobias"], "holds": "Mara has read the letter: Tobias has not."}],
            opened=[thread("Who cut the rope?", 2), thread("Mara will bring Tobias home.", 9)],
        ),
        (),
    )
    second = first.after(
        2,
        "2. The Storm",
        reply(places=[{"name": "MARA", "where": "on the quay"}], settled=[1, 7, 1], differs=["The boat is lost.", ""]),
        first.threads,
    )
    assert second.text == (
        "# The story after chapter 2\n\n"
        "## What happened\n\n"
        "- 1. The Letter: Mara waits. (chapter 1)\n- 2. The Storm: Mara waits. (chapter 2)\n\n"
        "## Where people and things are\n\n- key: under the step (chapter 1)\n- MARA: on the quay (chapter 2)\n\n"
        "## What is known\n\n- Mara, Tobias: Mara has read the letter: Tobias has not. (chapter 1)\n\n"
        "## Open threads\n\n- Mara: Mara will bring Tobias home. (chapter 1, due by chapter 9)\n\n"
        "## Settled\n\n- Mara: Who cut the rope? (chapter 1, due by chapter 2, settled in chapter 2)\n\n"
        "## Otherwise than planned\n\n- The boat is lost. (chapter 2)"
    )
    assert read_so_far(second.text) == second
    assert [one.text for one in second.overdue(10)] == ["Mara will bring Tobias home."]
    assert not second.overdue(9)


TEXTS = st.text(max_size=40)


@given(TEXTS, TEXTS, TEXTS, st.integers(0, 50))
def test_whatever_a_model_says_is_read_back_as_the_file_says_it(name: str, said: str, title: str, due: int) -> None:
    state = SoFar().after(
        3,
        title,
        reply(
            happens=said,
            places=[{"name": name, "where": said}],
            known=[{"about": [name, "Mara"], "holds": said}],
            opened=[thread(said, due, name)],
            differs=[said],
        ),
        (),
    )
    again = read_so_far(state.text)
    assert read_so_far(again.text) == again
    assert len(state.text.splitlines()) == len(again.text.splitlines())


def test_a_file_may_hold_an_authors_own_words_and_lose_its_title() -> None:
    state = read_so_far("My notes.\n\n## What is known\nHere:\n* Mara: She is forty.\n- \n## My own\n- nothing\n")
    assert state == SoFar(known=(Noted("She is forty.", ("Mara",)),))
    assert read_so_far("") == SoFar()


@pytest.mark.parametrize("letter", ["-", "#", "(", ":", " ", "(chapter 1", "ä", "\n- "])
def test_files_are_read_in_linear_time(letter: str) -> None:
    assert growth(read_so_far, lambda n: f"## What is known\n- {letter * n}", 40_000) < LINEAR


# what a prompt shows --------------------------------------------------------------------------------------------------


def crowded() -> SoFar:
    """A state with 400 notes on 40 people, of which two are about Iosif."""
    notes = [Noted(f"Person {n % 40} has hidden coin {n}.", (f"Person {n % 40}",), n // 8 + 1) for n in range(400)]
    notes[3] = Noted("Iosif has the key to the sluice.", ("Iosif", "key"), 1)
    threads = (Noted("Who let the water out?", ("Wanda",), 2, 51), Noted("Who sang?", ("Wanda",), 2, 90))
    where = (Noted("in Lodz", ("Iosif",), 4), Noted("at home", ("Wanda",), 4))
    happened = tuple(Noted(f"{n}. Day: Something happens. More happens.", (), n) for n in range(1, 51))
    return SoFar(50, happened, where, tuple(notes), threads)


@pytest.mark.parametrize("tokens", [300, 1_000, 3_000])
def test_a_prompt_shows_what_is_due_and_whom_the_chapter_names_within_its_room(tokens: int) -> None:
    shown = crowded().shown("Iosif goes to the mill and opens it.", 51, tokens)
    assert "Wanda: Who let the water out? (chapter 2, due by chapter 51)" in shown.threads
    assert "Iosif, key: Iosif has the key to the sluice. (chapter 1)" in shown.known
    assert "Iosif: in Lodz (chapter 4)" in shown.where
    assert shown.happened[-1] == "50. Day: Something happens. More happens."
    assert sum(estimate_tokens(line) + 2 for line in shown.lines) <= tokens


def test_names_are_found_in_scripts_without_blanks_and_not_inside_other_words() -> None:
    known = (Noted("他有钥匙", ("约瑟夫",), 1), Noted("她在家", ("玛拉",), 1), Noted("It is lost", ("ring",), 9))
    state = SoFar(9, known=known)
    assert state.shown("约瑟夫走到水闸边, during the storm", 10, 26).known == ("约瑟夫: 他有钥匙 (chapter 1)",)


def test_an_empty_state_shows_nothing() -> None:
    assert SoFar().shown("Mara waits.", 1, 500).lines == ()
    assert SoFar(threads=(Noted("Why?"),)).shown("", 1, 500).threads == ("Why?",)


def test_the_prompt_of_a_next_chapter_does_not_grow_and_holds_what_was_planted() -> None:
    table = bench(Sizes(books=1, windows=(8_192, 200_000), systems=("end-to-end",)))
    assert all(row.met is not False for row in table.rows), table.markdown()


# a book ---------------------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The end of a process."""


def writer(*, differs: int = 0, due: int = 0, fails: int = 0, stops: int = 0) -> ScriptedModel:
    """Writes 500 words a chapter, and notes what is wanted of it; stops before its call number `stops`."""

    def answer(request: Request) -> str:
        if stops and len(model.asked) >= stops:
            raise Killed
        name, number = request.path.rpartition("/")[2], int((re.findall(r"\d+", request.path) or ["0"])[0])
        if name == "so_far":
            if number == fails:
                return "I would rather not."
            other = ["The boat is lost."] if number == differs else []
            opened = [thread("Who cut the rope?", due)] if number == 2 and due else []
            return json.dumps({**EMPTY, "happens": f"Day {number}.", "opened": opened, "differs": other})
        if name == "replan":
            found = json.loads(reply_to(request))
            return json.dumps({"chapters": [one | {"happens": f"New {n}."} for n, one in enumerate(found["chapters"])]})
        if request.schema is not None:
            return reply_to(request)
        return " ".join(f"Mara counted {request.path} {n}." for n in range(125))

    able = Capabilities(schema=True, choices=True, context=8_192)
    model = ScriptedModel(answer, name=NAME, capabilities=able)
    return model


def project(folder: Path, brief: str = BRIEF, system: str = "end-to-end") -> ProjectFolder:
    config = {"final_reading": "false"} if system == "agents-room" else {}
    return ProjectFolder.create(folder, Brief.parse(brief), {"system": system, "model": NAME, "config": config})


async def write(folder: Path, model: ScriptedModel) -> list[str]:
    """The paths of the calls that a run makes."""
    opened = ProjectFolder.open(folder)
    await write_in(opened, opened.settings, Options(models={NAME: model}))
    return [one.path for one in model.asked]


async def announced(folder: Path) -> DryRun:
    opened = ProjectFolder.open(folder)
    return (await dry_run_in(opened, opened.settings, Options(models={NAME: writer()})))[0]


def text(model: ScriptedModel, path: str) -> str:
    (request,) = [one for one in model.asked if one.path == path]
    return request.messages[-1].content


@pytest.mark.parametrize("system", ["end-to-end", "agents-room"])
async def test_each_chapter_of_a_book_is_noted_once_and_its_notes_are_a_file(tmp_path: Path, system: str) -> None:
    project(tmp_path / "book", system=system)
    expected, model = await announced(tmp_path / "book"), writer()
    asked = await write(tmp_path / "book", model)
    noted = [path for path in asked if path.endswith("/so_far")]
    assert noted == [f"so-far/chapter-{n:02}/so_far" for n in range(1, CHAPTERS + 1)]
    assert {call.path for call in expected.planned} >= set(noted)
    assert not [path for path in asked if path.endswith(("/account", "/replan"))]
    file = (tmp_path / "book" / "so-far" / "chapter-13.md").read_text("utf-8")
    assert file.startswith("# The story after chapter 13\n")
    assert file.count("\n- ") == 13
    assert "Day 13." in text(model, "chapter-14/chapter")
    assert await write(tmp_path / "book", writer()) == [], "nothing is paid twice"


async def test_a_book_that_is_killed_at_any_call_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    project(tmp_path / "whole")
    whole = await write(tmp_path / "whole", writer(differs=3, due=5))
    story = (tmp_path / "whole" / "story.md").read_text("utf-8")
    project(tmp_path / "book")
    paths: list[str] = []
    for at in range(1, len(whole) + 1, 4):
        model = writer(differs=3, due=5, stops=at - len(paths) + 1)
        with pytest.raises(BaseException):  # noqa: B017, PT011 - however it comes out of the tasks
            await write(tmp_path / "book", model)
        paths += [one.path for one in model.asked][:-1]
    paths += await write(tmp_path / "book", writer(differs=3, due=5))
    assert paths == whole
    assert (tmp_path / "book" / "story.md").read_text("utf-8") == story


async def test_an_authors_edit_of_the_notes_makes_the_chapters_after_them_stale(tmp_path: Path) -> None:
    project(tmp_path / "book")
    await write(tmp_path / "book", writer())
    file = tmp_path / "book" / "so-far" / "chapter-12.md"
    file.write_text(f"{file.read_text('utf-8')}\n## What is known\n\n- Mara: She has sold the boat.\n", "utf-8")
    stale = (await announced(tmp_path / "book")).stale
    assert "chapter-13" in stale
    assert "chapter-12" not in stale
    model = writer()
    asked = await write(tmp_path / "book", model)
    assert asked[0] == "chapter-13/chapter"
    assert "- Mara: She has sold the boat." in text(model, "chapter-13/chapter")
    assert "- Mara: She has sold the boat." in (file.parent / "chapter-13.md").read_text("utf-8")


async def test_the_next_chapters_are_planned_again_where_the_story_differs_from_its_plan(tmp_path: Path) -> None:
    project(tmp_path / "book")
    model = writer(differs=9)
    asked = await write(tmp_path / "book", model)
    assert [path for path in asked if path.endswith("/replan")] == ["chapters-13/replan"]
    prompt = text(model, "chapters-13/replan")
    assert "This happened otherwise than planned:\n\n- The boat is lost. (chapter 9)" in prompt
    assert "Plan chapters 13 to 14 again" in prompt
    assert "as they were planned:\n\nWhat" not in prompt
    assert "not written yet:\n\n4. " in text(model, "so-far/chapter-03/so_far")
    assert "New 1." in text(model, "chapter-14/chapter")
    assert "## 13. " in (tmp_path / "book" / "plan" / "chapters-13.md").read_text("utf-8")
    listed = tmp_path / "book" / "plan" / "chapters.md"
    listed.write_text(listed.read_text("utf-8").replace("## 14.", "## 14. The End"), "utf-8")
    again = writer(differs=9)
    assert "chapters-13/replan" not in await write(tmp_path / "book", again), "the author's plan stands"


async def test_threads_that_are_overdue_are_said_to_the_author_and_to_the_planner(tmp_path: Path) -> None:
    project(tmp_path / "book")
    model = writer(due=5)
    await write(tmp_path / "book", model)
    line = "Mara: Who cut the rope? (chapter 2, due by chapter 5)"
    assert f"This was to be answered by now and is still open:\n\n- {line}" in text(model, "chapters-7/replan")
    assert line in text(model, "chapter-14/chapter")
    opened = ProjectFolder.open(tmp_path / "book")
    with opened.journal as journal:
        said = shortfalls(journal, opened.brief, opened.settings, 7_000)
    assert f"Threads that are overdue after chapter 14: 1, first “{line}”. See so-far/chapter-14.md." in said


async def test_a_chapter_without_notes_is_no_end_of_a_book(tmp_path: Path) -> None:
    project(tmp_path / "book")
    await write(tmp_path / "book", writer(fails=4))
    assert "begins “Mara counted chapter-4" in (tmp_path / "book" / "so-far" / "chapter-04.md").read_text("utf-8")


async def test_chapters_of_the_authors_own_are_read_several_at_once_and_announced(tmp_path: Path) -> None:
    chapters = "\n\n".join(
        f"## {n}. Day {n}\n\n" + " ".join(f"Mara counts wave {k} of day {n}." for k in range(60)) for n in range(1, 21)
    )
    settings = {"system": "end-to-end", "model": NAME}
    import_manuscript(tmp_path / "book", manuscript(f"# The Lamp\n\n{chapters}"), "novel.md", settings)
    listed = tmp_path / "book" / "plan" / "chapters.md"
    listed.write_text(f"{listed.read_text('utf-8')}\n\n## The Crossing (about 100 words)\nMara crosses.\n", "utf-8")
    expected, model = await announced(tmp_path / "book"), writer()
    asked = await write(tmp_path / "book", model)
    noted = [path for path in asked[: asked.index("the-crossing/chapter")] if path.endswith("/so_far")]
    assert 1 < len(noted) < 10
    assert asked[-1] == "so-far/the-crossing/so_far"
    said = f"Who writes “The Crossing” first reads 20 chapters and keeps notes on them in so-far/: {len(noted)} calls, "
    assert any(notice.startswith(said) for notice in expected.notices)


async def test_who_continues_a_book_is_shown_its_notes_and_pays_for_no_accounts(tmp_path: Path) -> None:
    project(tmp_path / "book")
    await write(tmp_path / "book", writer(due=14))
    opened = ProjectFolder.open(tmp_path / "book")
    with opened.recorded() as journal:
        journal.decisions.add("chapter-14", "continue", journal.artefacts.newest("chapter-14"), 100)
    model = writer(due=14)
    asked = await write(tmp_path / "book", model)
    (path,) = [one for one in asked if one.endswith("/continue")]
    assert "Mara: Who cut the rope? (chapter 2, due by chapter 14)" in text(model, path)
    assert len([one for one in asked if one.endswith("/account")]) <= 1


def test_a_state_is_the_same_however_often_it_is_read() -> None:
    state = crowded()
    assert read_so_far(state.text) == state
    assert replace(state, chapter=3).text != state.text
