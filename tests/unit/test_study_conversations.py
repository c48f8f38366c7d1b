"""A study of characters: talk with A, then with B, answer; conversations are kept with ratings and can be deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fabula.app.studies import study_of_characters
from fabula.app.study_report import study_report
from fabula.app.writing import Options
from fabula.base.errors import UsageError
from fabula.craft.conversation import Log
from fabula.measure.ratings import read_ratings
from fabula.measure.studies.study import Study
from fabula.project.folder import ProjectFolder
from fabula.server.study.conversations import RatersConversations
from fabula.stats.estimate import Estimate
from fabula.story import Brief
from raters import SAID, STORY, Room, characters_here, key_in, leaks, room_of

if TYPE_CHECKING:
    from pathlib import Path


def _room(study: Study) -> Room:
    return room_of(study, conversations=RatersConversations(study, lambda: Options(environ={})))


ANSWERS = {
    f"{name}/{side}": number
    for name in ("continuity", "non-redundancy", "information appropriateness", "linearity")
    for side, number in (("A", "4"), ("B", "2"))
} | {"overall": "A"}


async def test_a_rater_talks_with_both_and_answers(tmp_path: Path) -> None:
    study = characters_here(tmp_path)
    room = _room(study)
    name = study.raters[0]
    async with room.rater(name) as rater:
        page = (await rater.post("/consent")).text
        assert STORY in page
        assert "You play <strong>Tobias</strong> and talk with <strong>Mara</strong>." in page
        assert "Talk with A first." in page
        assert 'id="answers"' not in page
        task = study.tasks_of[name][0]
        base = f"/task/{task.key}"
        page = (await rater.post(f"{base}/talk/A", {"do": "end"})).text
        assert "You have not talked with this character yet. Say something, or skip the task." in page
        page = (await rater.post(f"{base}/talk/A", {"do": "say", "message": "<b>Is it true?</b>"})).text
        first, second = (SAID[item] for item in task.items)
        assert f"(looks up) {first}" in page
        assert "&lt;b&gt;Is it true?&lt;/b&gt;" in page
        page = (await rater.post(f"{base}/talk/A", {"do": "say", "message": ""})).text
        assert 'role="alert"' in page
        page = (await rater.post(f"{base}/talk/A", {"do": "end"})).text
        assert (await rater.post(f"{base}/talk/A", {"do": "say", "message": "More?"})).text.count(
            "This conversation has ended"
        ) >= 1
        page = (await rater.post(f"{base}/talk/B", {"do": "say", "message": "Is it true?"})).text
        assert f"(looks up) {second}" in page
        page = (await rater.post(f"{base}/talk/B", {"do": "end"})).text
        assert key_in(page) == task.key
        page = (await rater.post(base, {**ANSWERS, "comment": "A was kinder."})).text
        assert "Thank you" in page
        assert (await rater.post(f"{base}/talk/C", {"do": "end"})).status_code == httpx.codes.NOT_FOUND
    ratings = {(one.question, one.items): one for one in read_ratings(study.ratings_file)}
    assert ratings["continuity", task.items[:1]].answer == 4.0
    assert ratings["linearity", task.items[1:]].answer == 2.0
    assert ratings["overall", task.items].answer == task.items[0]
    assert ratings["overall", task.items].reason == "A was kinder."
    kept = sorted((study.conversations / name).glob("*/project"))
    assert [Log.of(folder, "conversation").state.turns[0].said for folder in kept] == [
        "<b>Is it true?</b>",
        "Is it true?",
    ]
    report = study_report(Study.open(study.folder))
    mean = report.row(study.entries[task.items[0]].system, "mean/continuity").scored
    assert isinstance(mean, Estimate)
    assert mean.value == 4.0
    assert [one for one in leaks(room) if "the number" not in one] == []
    async with room.rater(name) as rater:
        await rater.post("/withdraw", {"sure": "yes"})
    assert not (study.conversations / name).exists()
    assert "Is it true" not in "".join(
        file.read_text(errors="replace") for file in study.folder.rglob("*") if file.is_file()
    )


async def test_an_answer_that_comes_after_withdrawal_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = characters_here(tmp_path)
    room = _room(study)
    name = study.raters[0]
    conversation_of = RatersConversations._conversation

    async def slow(conversations: RatersConversations, *given: Any) -> Any:  # noqa: ANN401 - as it is called
        conversation = await conversation_of(conversations, *given)
        room.means.answers.withdraw(name)
        return conversation

    monkeypatch.setattr(RatersConversations, "_conversation", slow)
    async with room.rater(name) as rater:
        await rater.post("/consent")
        await rater.post(f"/task/{study.tasks_of[name][0].key}/talk/A", {"do": "say", "message": "Forget me."})
    assert not list((study.conversations / name).rglob("conversation.jsonl"))
    assert "Forget me" not in "".join(
        file.read_text(errors="replace") for file in study.folder.rglob("*") if file.is_file()
    )


async def test_the_order_of_the_characters_is_balanced_and_each_talk_is_its_own(tmp_path: Path) -> None:
    study = characters_here(tmp_path, raters=2)
    assert {task.items for task in study.tasks} == {tuple(SAID), tuple(SAID)[::-1]}
    room = _room(study)
    for name in study.raters:
        key = study.tasks_of[name][0].key
        async with room.rater(name) as rater:
            await rater.post("/consent")
            page = (await rater.post(f"/task/{key}/talk/A", {"do": "say", "message": f"I am {name}."})).text
            assert [f"I am {other}." in page for other in study.raters] == [name == other for other in study.raters]


async def test_a_character_that_does_not_answer_is_told_in_words(tmp_path: Path) -> None:
    study = characters_here(tmp_path)
    for name in SAID:
        (tmp_path / f"{name}.toml").unlink()
    room = _room(study)
    async with room.rater(study.raters[0]) as rater:
        await rater.post("/consent")
        key = study.tasks_of[rater.name][0].key
        page = await rater.post(f"/task/{key}/talk/A", {"do": "say", "message": "Hello?"})
        assert page.status_code >= httpx.codes.BAD_REQUEST
        assert "Hello?" in page.text
        assert str(tmp_path) not in page.text


def test_characters_of_different_stories_cannot_be_compared(tmp_path: Path) -> None:
    places = [
        ProjectFolder.create(
            tmp_path / name,
            Brief(STORY.replace("lamp", thing)),
            {"system": "vanilla", "config": {"player": "Tobias", "npc": "Mara"}},
        ).folder
        for name, thing in (("one", "lamp"), ("two", "bell"))
    ]
    with pytest.raises(UsageError, match="No two items by different systems answer the same prompt"):
        study_of_characters(tmp_path / "s", "Talk", places, "", "")
