"""A study through its pages: every rater does every task, and no answer says more than the texts and the questions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import httpx
import pytest

from fabula.app.studies import own_key
from fabula.app.study_report import study_report
from fabula.base.errors import ProjectError
from fabula.measure.ratings import read_ratings
from fabula.measure.studies import answering
from fabula.measure.studies.answering import Answers
from fabula.measure.studies.assigning import AssignmentOptions
from fabula.measure.studies.study import ORGANISER, Study
from fabula.server.study.application import prose
from fabula.stats.estimate import Estimate
from raters import HOST, QUESTIONS, SYSTEMS, People, Room, bare_pages, expected, key_in, leaks, rate_all, room_of
from raters import study_here as study_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ALL = dict.fromkeys(QUESTIONS, "A")


def _people(systems: Sequence[str]) -> People:
    return People({name: 1.2 * place / len(systems) for place, name in enumerate(systems)})


async def _begun(room: Room, name: str) -> str:
    """The key of the first task of a rater who has agreed."""
    async with room.rater(name) as rater:
        return key_in((await rater.post("/consent")).text)


async def _simulated(tmp_path: Path, systems: Sequence[str], prompts: int, wanted: AssignmentOptions) -> Room:
    room = room_of(study_of(tmp_path / "vault-quillon", systems, prompts, wanted))
    people = _people(systems)
    assert await rate_all(room, people, drafts=prompts < 20) == len(room.study.tasks)
    return room


def _check(room: Room, people: People, within: float) -> None:
    """See that what was simulated comes out, and that no answer to a rater gave anything away."""
    study = Study.open(room.folder)
    ratings = read_ratings(study.ratings_file)
    cells = Counter((one.rater, one.prompt, one.items, one.question) for one in ratings)
    planned = Counter((task.rater, task.prompt, task.items, name) for task in study.tasks for name in QUESTIONS)
    assert cells == planned
    report = study_report(study)
    strengths, kappa = expected(people)
    held = []
    for question in QUESTIONS:
        for system, truth in strengths.items():
            scored = report.row(system, f"strength/{question}").scored
            assert isinstance(scored, Estimate)
            assert scored.low is not None
            assert scored.high is not None
            held.append(scored.low <= truth <= scored.high)
        found = report.row("people", f"Fleiss' kappa/{question}").scored
        assert isinstance(found, Estimate)
        assert found.low is not None
        assert found.high is not None
        assert found.n == sum(
            count > 1 for count in Counter((t.prompt, frozenset(t.items)) for t in study.tasks).values()
        )
        held.append(found.low <= kappa <= found.high)
    assert sum(held) / len(held) >= within, held
    assert leaks(room) == []
    for heading, bare in bare_pages(room).items():
        assert len(bare) <= 2, heading  # with and without the link to the task before


async def test_a_whole_study_in_small(tmp_path: Path) -> None:
    systems = SYSTEMS[:3]
    room = await _simulated(tmp_path, systems, 12, AssignmentOptions(overlap=3))
    assert len(room.study.tasks) == 3 * 3 * 12
    _check(room, _people(systems), 0.85)


@pytest.mark.simulation
async def test_a_study_of_the_papers_size(tmp_path: Path) -> None:
    room = await _simulated(tmp_path, SYSTEMS, 55, AssignmentOptions(overlap=3, shared=150))
    study = room.study
    once = Counter((task.prompt, tuple(sorted(task.items))) for task in study.tasks)
    assert len(once) == 1980
    assert Counter(once.values()) == {1: 1830, 3: 150}
    # 36 raters for all, and beside them two each for the rows 1 and 2 and for 40 tasks of row 3.
    assert Counter(Counter(task.rater for task in study.tasks).values()) == {55: 36 + 4, 40: 2}
    _check(room, _people(SYSTEMS), 0.9)


# one rater after the other --------------------------------------------------------------------------------------------


async def test_consent_comes_first(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    async with room.rater(room.study.raters[0]) as rater:
        assert "Before you begin" in (await rater.get("/task")).text
        key = room.study.tasks_of[rater.name][0].key
        refused = await rater.get(f"/task/{key}")
        assert refused.status_code == httpx.codes.FORBIDDEN
        assert "You have not agreed to take part yet. Begin on the first page." in refused.text
        assert (await rater.post(f"/task/{key}", ALL)).status_code == httpx.codes.FORBIDDEN
        assert not (room.folder / "ratings.jsonl").exists()
        assert key_in((await rater.post("/consent")).text) == key


async def test_nothing_is_chosen_beforehand_and_clicks_come_back_after_a_reload(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        assert "checked" not in (await rater.get("/task")).text.replace('id="keys" checked', "")
        kept = await rater.post(f"/task/{key}/draft", {"plot": "B", "overall": "S"})
        assert kept.status_code == httpx.codes.NO_CONTENT
        again = room_of(Study.open(room.folder))  # the server, started anew
    async with again.rater(name) as rater:
        page = (await rater.get("/task")).text
        assert 'name="plot" value="B" checked' in page
        assert 'name="overall" value="S" checked' in page
        assert page.count(" checked>") == 3


async def test_a_missing_answer_is_named_and_nothing_is_kept(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        page = await rater.post(f"/task/{key}", {"plot": "A", "comment": "So far."})
        assert page.status_code == httpx.codes.BAD_REQUEST
        assert (
            "You have not answered Creativity of ideas, themes and topics yet. Answer it, or skip the task and give a "
            "reason." in page.text
        )
        assert "So far." in page.text
        wrong = await rater.post(f"/task/{key}", {**ALL, "plot": "C"})
        assert "Plot: &#39;C&#39; is not a valid answer. Choose one of the answers shown." in wrong.text
    assert not room.study.ratings_file.exists()
    assert not room.study.sealed


async def test_twice_sent_is_once_stored_and_another_answer_amends(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        await rater.post(f"/task/{key}", {**ALL, "comment": "Both good."})
        await rater.post(f"/task/{key}", {**ALL, "comment": "Both good."})
        assert len(read_ratings(room.study.ratings_file)) == 5
        assert len(room.study.ratings_file.read_text().splitlines()) == 5
        page = (await rater.get(f"/task/{key}")).text
        assert "you are changing an answer" in page
        assert "Both good." in page
        await rater.post(f"/task/{key}", {**ALL, "plot": "B", "poor": "yes"})
    lines = [json.loads(line) for line in room.study.ratings_file.read_text().splitlines()]
    assert len(lines) == 10
    assert {line["ended"] for line in lines[:5]} == {line["amends"] for line in lines[5:]}
    now = {one.question: one for one in read_ratings(room.study.ratings_file)}
    task = room.study.by_key[key]
    assert len(now) == 5
    assert now["plot"].answer == task.items[1]
    assert now["plot"].shown == "B"
    assert now["overall"].answer == task.items[0]
    assert now["overall"].flags == ("both poor",)
    assert now["overall"].systems == tuple(room.study.entries[item].system for item in task.items)
    again = room_of(Study.open(room.folder))
    assert again.answers.progress[name].sent[key].answers["plot"] == "B"


@pytest.mark.parametrize(
    ("seconds", "depths"),
    [
        ("nan", "[0.5]"),
        ("inf", ""),
        ("1", "[NaN, 1]"),
        ("1", "[1" + "0" * 400 + "]"),
        ("1", '{"a": 1}'),
        ("x", "[[1]]"),
    ],
)
async def test_times_that_are_none_are_not_kept(tmp_path: Path, seconds: str, depths: str) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        response = await rater.post(f"/task/{key}", {**ALL, "seconds": seconds, "depths": depths})
        assert response.status_code == 200
    for line in room.study.ratings_file.read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)
    assert len(read_ratings(room.study.ratings_file)) == 5


async def test_a_task_is_skipped_with_a_reason(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        page = await rater.post(f"/task/{key}", {"skipping": "yes", "skip": " "})
        assert "Explain in a few words why you are skipping this task." in page.text
        assert key_in((await rater.post(f"/task/{key}", {"skipping": "yes", "skip": "I know it."})).text) not in (
            "",
            key,
        )
    ratings = read_ratings(room.study.ratings_file)
    assert [one.answer for one in ratings] == [None] * 5
    assert {one.unscored for one in ratings} == {"skipped: I know it."}
    again = Answers(Study.open(room.folder), room.clock)
    assert again.progress[name].sent[key].skipped == "I know it."


async def test_enough_for_this_sitting_and_on_after_it(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon", prompts=7))
    await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        page = (await rater.get("/task")).text
        for number in range(5):
            assert f"<h1>{number + 1} of 5</h1>" in page
            page = (await rater.post(f"/task/{key_in(page)}", ALL)).text
        assert "Enough for this sitting" in page
        assert "Enough for this sitting" in (await rater.get("/task")).text
        page = (await rater.post("/go-on")).text
        assert "<h1>1 of 2</h1>" in page
        page = (await rater.post(f"/task/{key_in(page)}", ALL)).text
        assert "Thank you" in (await rater.post(f"/task/{key_in(page)}", ALL)).text
    assert '"went on"' in room.study.log_file.read_text(), "the word that logs of running studies have"


async def test_who_withdraws_takes_everything_along(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    first, second = room.study.raters[:2]
    for name in (first, second):
        key = await _begun(room, name)
        async with room.rater(name) as rater:
            await rater.post(f"/task/{key}", {**ALL, "comment": f"I am {name}."})
    talk = room.study.conversations / first
    talk.mkdir(parents=True)
    (talk / "words.json").write_text("{}")
    async with room.rater(first) as rater:
        unsure = await rater.post("/withdraw")
        assert "To delete" in unsure.text
        assert (
            "You have withdrawn, and all your answers are deleted."
            in (await rater.post("/withdraw", {"sure": "yes"})).text
        )
        assert (await rater.get(f"/task/{room.study.tasks_of[first][0].key}")).status_code == httpx.codes.FORBIDDEN
    assert not talk.exists()
    assert {one.rater for one in read_ratings(room.study.ratings_file)} == {second}
    said = (room.folder / "log.jsonl").read_text()
    assert "I am" not in said.replace(f"I am {second}.", "")
    mine = [json.loads(line) for line in said.splitlines() if json.loads(line)["rater"] == first]
    assert [line["what"] for line in mine] == ["withdrew"]
    assert room_of(Study.open(room.folder)).answers.done(first) == 0


async def test_a_rater_sees_only_the_own_tasks(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    first, second = room.study.raters[:2]
    await _begun(room, first)
    async with room.rater(first) as rater:
        other = room.study.tasks_of[second][0].key
        for path in (f"/task/{other}", "/organiser", "/task/nothing", "/openapi.json", "/docs", "/study.toml"):
            assert (await rater.get(path)).status_code == httpx.codes.NOT_FOUND, path
        assert (await rater.post(f"/task/{other}", ALL)).status_code == httpx.codes.NOT_FOUND
        assert (await rater.post("/organiser/unblind")).status_code == httpx.codes.NOT_FOUND
    assert leaks(room) == []


async def test_an_expired_link_and_a_wrong_one_say_so(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    room.clock.at += timedelta(days=31)
    async with room.rater(name) as rater:
        for asked in ("/", "/task", f"/task/{key}"):
            late = await rater.get(asked)
            assert late.status_code == httpx.codes.UNAUTHORIZED
            assert "Your link has expired: it was valid until 2026-12-01. Your answers are kept." in late.text
        assert (await rater.post(f"/task/{key}", ALL)).status_code == httpx.codes.UNAUTHORIZED
        assert not (room.folder / "ratings.jsonl").exists()
        assert 'href="/task"' not in (await rater.get("/")).text
        gone = await rater.post("/withdraw", {"sure": "yes"})  # this was promised at any time
        assert "You have withdrawn, and all your answers are deleted." in gone.text
        assert (await rater.post("/consent")).status_code == httpx.codes.UNAUTHORIZED
    assert replace(room.means, until="2027-01-31T00:00:00+00:00").ended == ""
    transport = httpx.ASGITransport(room.app)
    async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
        assert (await client.get("/login?token=guessed")).status_code == httpx.codes.UNAUTHORIZED
        assert (await client.get("/")).status_code == httpx.codes.UNAUTHORIZED
        assert (await client.get("/", headers={"host": "evil.example"})).status_code == httpx.codes.MISDIRECTED_REQUEST


async def test_what_another_site_sends_is_refused(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    async with room.rater(room.study.raters[0]) as rater:
        sent = await rater.client.post("/consent", headers={"sec-fetch-site": "cross-site"})
        assert sent.status_code == httpx.codes.FORBIDDEN
    assert not room.answers.progress[rater.name].consented


async def test_the_organiser_sees_progress_and_no_system_until_it_is_asked_for(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        await rater.post(f"/task/{key}", ALL)
    async with room.rater(ORGANISER) as organiser:
        page = (await organiser.get("/organiser")).text
        assert "1 of 18 tasks are done" in page
        assert not any(system in page for system in SYSTEMS)
        page = (await organiser.post("/organiser/unblind")).text
        assert all(system in page for system in SYSTEMS[:3])
        assert (await organiser.get("/task")).status_code == httpx.codes.FORBIDDEN
    assert json.loads((room.folder / "log.jsonl").read_text().splitlines()[-1])["what"] == "unblinded"


async def test_a_full_disk_is_said_and_the_answer_can_be_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])

    def full(*_: object, **__: object) -> None:
        raise ProjectError("Cannot write /secret/place. The disk is full.")

    async with room.rater(name) as rater:
        with monkeypatch.context() as patched:
            patched.setattr(answering, "append_synced", full)
            page = await rater.post(f"/task/{key}", ALL)
            assert page.status_code == httpx.codes.SERVICE_UNAVAILABLE
            assert "The request failed, but your answers are not lost. Send it again in a minute." in page.text
            assert page.text.count(" checked>") == 6  # what was answered, and that keys are used
            assert "/secret" not in page.text
        assert room.answers.done(name) == 0
        await rater.post(f"/task/{key}", ALL)
    assert len(read_ratings(room.study.ratings_file)) == 5


async def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    study = study_of(tmp_path / "vault-quillon")
    hostile = "<script>alert(1)</script> <img src=x onerror=alert(1)> {{ 7 * 7 }} ]]>"
    entries = {
        key: entry.model_copy(update={"text": hostile, "asked": hostile}) for key, entry in study.entries.items()
    }
    room = room_of(replace(study, entries=entries))
    await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        page = await rater.get("/task")
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "{{ 7 * 7 }}" in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert " style=" not in page.text


async def test_the_prompt_stands_in_every_task_of_it_whichever_story_came_with_it(tmp_path: Path) -> None:
    made = study_of(tmp_path / "s", SYSTEMS[:2], 2, AssignmentOptions(overlap=2))
    lines = [json.loads(line) for line in (made.folder / "items.jsonl").read_text().splitlines()]
    lines[1].pop("asked")  # the other system's story came without its brief
    (made.folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    room = room_of(Study.open(made.folder))
    tasks = [task for task in room.study.tasks if task.prompt == lines[0]["prompt"]]
    assert {task.items[0] for task in tasks} == {lines[0]["id"], lines[1]["id"]}
    for task in tasks:
        async with room.rater(task.rater) as rater:
            await rater.post("/consent")
            assert lines[0]["asked"] in (await rater.get(f"/task/{task.key}")).text
    assert len({round(room.study.minutes(task), 6) for task in tasks}) == 1


async def test_a_comment_and_a_flag_come_back_after_a_reload(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        await rater.post(f"/task/{key}/draft", {"plot": "B", "comment": "The ending </textarea>", "poor": "yes"})
    again = room_of(Study.open(room.folder))
    async with again.rater(name) as rater:
        page = (await rater.get("/task")).text
        assert "The ending &lt;/textarea&gt;</textarea>" in page
        assert 'name="poor" value="yes" checked' in page
        await rater.post(f"/task/{key}", {**ALL, "comment": "Sent."})
        await rater.post(f"/task/{key}/draft", {**ALL, "comment": "Sent, and more."})
        assert "Sent, and more.</textarea>" in (await rater.get(f"/task/{key}")).text


async def test_time_and_pay_are_said_as_people_say_them(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    file = study.folder / "study.toml"
    paid = file.read_text().replace("pay_an_hour = 0.0", "pay_an_hour = 12.5")
    file.write_text(paid.replace("words_a_minute = 230", "words_a_minute = 20"))
    room = room_of(Study.open(study.folder))
    async with room.rater(room.study.raters[0]) as rater:
        page = (await rater.get("/")).text
    assert "You are paid 12.50 EUR an hour." in page
    assert " hours. You can stop after each sitting" in page


def test_stories_are_read_as_prose_and_nothing_in_them_runs() -> None:
    said, hostile = "*Softly*, **he** said:\n- No", "    1. <img src=x onerror=alert(1)>"
    text = f"# The lamp\n\n{said}\n\n{hostile}\n\n***\n\n[a](http://b) 2 * 3"
    assert prose(text) == (
        "<h3>The lamp</h3>\n<p><em>Softly</em>, <strong>he</strong> said:\n- No</p>\n"
        "<p>1. &lt;img src=x onerror=alert(1)&gt;</p>\n<hr>\n<p>[a](http://b) 2 * 3</p>\n"
    )


def test_blanks_at_the_ends_of_lines_and_signs_that_nobody_sees_mark_no_system() -> None:
    marked = "The lamp.  \r\nIt went\u200b out. \t\r\n\r\n\r\n\r\nDark.\ufeff\u2060  \n"
    assert (
        prose(marked) == prose("The lamp.\nIt went out.\n\nDark.") == "<p>The lamp.\nIt went out.</p>\n<p>Dark.</p>\n"
    )


@pytest.mark.parametrize("how", ["deleted", "cut short"])
async def test_ratings_that_are_lost_while_a_study_is_served_come_back_and_the_organiser_hears_of_it(
    tmp_path: Path, how: str
) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    first, second = room.study.raters[:2]
    key = await _begun(room, first)
    async with room.rater(first) as rater:
        await rater.post(f"/task/{key}", ALL)
    before = read_ratings(room.study.ratings_file)
    if how == "deleted":
        room.study.ratings_file.unlink()
    else:
        room.study.ratings_file.write_text(room.study.ratings_file.read_text().split("\n")[0] + "\n")
    key = await _begun(room, second)
    async with room.rater(second) as rater:
        await rater.post(f"/task/{key}", ALL)
    after = read_ratings(room.study.ratings_file)
    assert set(before) < set(after)
    assert len(after) == 2 * len(before)
    for opened in (room, room_of(Study.open(room.folder))):  # also after the server was started again
        async with opened.rater(ORGANISER) as organiser:
            assert (
                "ratings.jsonl was deleted or truncated while the study was running."
                in (await organiser.get("/organiser")).text
            )


async def test_the_organiser_hears_of_lost_ratings_before_the_next_one_comes(tmp_path: Path) -> None:
    room = room_of(study_of(tmp_path / "vault-quillon"))
    key = await _begun(room, name := room.study.raters[0])
    async with room.rater(name) as rater:
        await rater.post(f"/task/{key}", ALL)
    room.study.ratings_file.unlink()
    async with room.rater(ORGANISER) as organiser:
        assert "5 ratings by raters were restored" in (await organiser.get("/organiser")).text
    assert len(read_ratings(room.study.ratings_file)) == 5


def test_a_study_that_came_with_a_key_gets_another_one_and_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = study_of(tmp_path / "vault-quillon")
    known = {name: made.token(name) for name in (*made.raters, ORGANISER)}  # who made it knows these
    served = Study.open(made.folder)
    assert own_key(served), "it says so"
    assert not {served.token(name) for name in known} & set(known.values())
    assert all(served.holder(token) == "" for token in known.values())
    again = Study.open(made.folder)
    assert not own_key(again)
    assert again.token(ORGANISER) == served.token(ORGANISER)
    fresh = study_of(tmp_path / "fresh")
    (fresh.folder / ".study" / "key").unlink(missing_ok=True)
    assert not own_key(Study.open(fresh.folder)), "a study without a key was given none by somebody else"
