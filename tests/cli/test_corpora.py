"""Many stories worked through by several processes: the same as one process finds, and nothing asked twice."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from commandline import script_of
from fabula.app.corpora.rows import ROWS, StoryRows
from fabula.app.corpora.stories import Corpus
from fabula.app.corpora.working import sendable
from fabula.app.evaluating import journal_in
from fabula.app.item_files import EVERYTHING, Selection
from fabula.app.workers.spread import ProcessChannel
from fabula.base.errors import FabulaError, ModelError, ProjectError, UnknownNameError, UsageError
from fabula.engine.journal import Journal
from fake_provider import Answer, FakeProvider
from finished import SPLIT, write_corpus

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli
    from fake_provider import Recorded

MODEL = "openai-chat:tale-1"
LIMIT, STORIES = 3, 12
TEACHER = ("--model", "scripted:teacher.toml")
WORDS = ("lamp", "boat", "fog", "wall", "rain", "key", "door", "stair", "bell", "rope", "tide", "gull", "salt", "mast")


def write_stories(folder: Path, count: int, **more: str) -> None:
    """`stories.jsonl`: two systems that answer the same prompts, each story of other words."""
    lines = []
    for number in range(count):
        drawn = [WORDS[(number * 7 + place * (1 + number % 5)) % len(WORDS)] for place in range(40 + number % 9)]
        text = f'The {" ".join(drawn[:20])}. "A {" ".join(drawn[20:])}," she said. She went {number} times.'
        line = {"id": f"s{number}", "system": "ab"[number % 2], "prompt": f"p{number // 2}", "text": text} | more
        lines.append(json.dumps(line | {"brief": f"Write of the lamp and the boat and the fog, {number // 2}."}))
    (folder / "stories.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def data_in(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}


# measuring ------------------------------------------------------------------------------------------------------------


def rows_of(found: Any) -> dict[tuple[str, str], dict[str, Any]]:  # noqa: ANN401 - JSON
    return {(row["of"], row["what"]): row for row in found["rows"]}


def test_numbers_of_all_stories_are_those_of_one_process(cli: Cli) -> None:
    write_stories(cli.folder, 250)
    options = ("measure", "stories.jsonl", "--json")
    one = cli(*options, "--csv", "one.csv").json
    many = cli(*options, "--csv", "many.csv", "--out", "numbers", "--processes", "2").json
    alone, of_all = rows_of(one["reports"]["surface"]), rows_of(many["reports"]["surface"])
    assert many["stories"] == 250
    assert len(of_all) > 20
    for name, row in of_all.items():
        wanted = alone[name]
        assert {key: row[key] for key in ("n", "method") if key in row} == {
            key: wanted[key] for key in ("n", "method") if key in wanted
        }
        for end in ("value", "low", "high", "p"):
            assert row.get(end) == (wanted.get(end) if wanted.get(end) is None else pytest.approx(wanted[end]))
    lines = [
        sorted(line for line in csv.reader((cli.folder / name).read_text().splitlines()) if line[1].startswith("s"))
        for name in ("one.csv", "many.csv")
    ]
    assert lines[0] == lines[1]
    told = [json.loads(line) for line in (cli.folder / "numbers/stories.jsonl").read_text().splitlines()]
    assert [one["id"] for one in told] == [f"s{number}" for number in range(250)]
    assert told[3]["numbers"]["surface"]["words"]["value"] == alone["s3", "words"]["value"]


def test_parts_of_a_corpus_are_put_together_without_measuring_again(cli: Cli) -> None:
    write_stories(cli.folder, 20, reference="The lamp boat fog.")
    command = ("measure", "stories.jsonl", "--json", "--out")
    whole = cli(*command, "whole").json
    for number in (1, 2, 3):
        part = cli(*command, "numbers", "--shard", f"{number}/3").json
        assert (part["stories"], part["folder"]) == (6 + (number < 3), f"numbers-{number}-of-3")
    merged = cli("data", "merge", "numbers", "--json").json
    assert merged["stories"] == {"numbers-1-of-3": 7, "numbers-2-of-3": 7, "numbers-3-of-3": 6}
    assert set(cli("data", "merge", "numbers", "--json").json["stories"].values()) == {0}
    rows = (cli.folder / "numbers" / ROWS).stat().st_mtime_ns, whole["reports"]
    assert cli(*command, "numbers").json["reports"] == rows[1]
    assert set(rows[1]) == {"surface", "rouge"}


def test_a_story_that_is_changed_or_new_is_measured_and_the_others_stay(cli: Cli) -> None:
    write_stories(cli.folder, 10)
    cli("measure", "stories.jsonl", "--out", "numbers")
    with sqlite3.connect(cli.folder / "numbers" / ROWS) as rows:
        before = rows.execute("SELECT id, key FROM row ORDER BY id").fetchall()
    write_stories(cli.folder, 12)
    found = cli("measure", "stories.jsonl", "--out", "numbers", "--json").json
    with sqlite3.connect(cli.folder / "numbers" / ROWS) as rows:
        after = rows.execute("SELECT id, key FROM row ORDER BY id").fetchall()
    assert (len(before), found["stories"], len(after)) == (10, 12, 12)
    assert after[:10] == before


def test_what_has_no_text_is_said_and_a_name_that_stands_twice_is_refused(cli: Cli) -> None:
    write_stories(cli.folder, 4)
    with (cli.folder / "stories.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "empty", "text": " "}\n')
    ran = cli("measure", "stories.jsonl", "--out", "numbers")
    assert "Left out: The story in stories.jsonl, line 5 is empty." in ran.err
    assert "1 of 5 stories have no text" in ran.err
    with (cli.folder / "stories.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "s1", "text": "Again."}\n')
    assert "Two stories have the id 's1'." in cli("measure", "stories.jsonl", "--out", "numbers").err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ("measure", "stories.jsonl", "--processes", "2"),
            "Several processes need a folder",
        ),
        (("measure", "--out", "x"), "Specify the files, folders or data sets to measure for --out."),
        (("measure", "none.jsonl", "--out", "x"), "none.jsonl"),
        (("check", "--processes", "2"), "Specify the files, folders or data sets whose stories"),
        (("check", "stories.jsonl", "--processes", "2", "--strict"), "--strict would have no effect"),
        (("measure", "stories.jsonl", "--out", "x", "--shard", "3/2"), "--shard 3/2: specify the part"),
        (("measure", "stories.jsonl", "--out", "x", "--on", "slurm"), "--on slurm: specify `ray`"),
    ],
)
def test_what_cannot_be_done_is_said(cli: Cli, command: tuple[str, ...], said: str) -> None:
    write_stories(cli.folder, 2)
    ran = cli(*command)
    assert ran.code == 2
    assert said in ran.err


# asking ---------------------------------------------------------------------------------------------------------------


def test_workers_make_the_data_of_one_process_byte_for_byte(cli: Cli) -> None:
    write_corpus(cli.folder, 45)
    command = ("data", "backtranslate", "stories.jsonl", *TEACHER, "--json", "--out")
    one = cli(*command, "one").json
    many = cli(*command, "many", "--processes", "2").json
    assert (many["asked"], one["asked"]) == (45 * 5, 45 * 5)
    assert data_in(cli.folder / "many") == data_in(cli.folder / "one")
    again = cli(*command, "many", "--processes", "2").json
    assert (again["asked"], again["replayed"]) == (0, 0)
    assert cli(*command, "many").json["replayed"] == 45 * 5, "one process finds their calls in the journal"
    more = cli(*command, "one", "--processes", "2").json
    assert (more["asked"], more["replayed"]) == (0, 45 * 5), "and they those of one process"
    assert not (cli.folder / "one/.fabula/blocks").exists()


def test_a_check_by_workers_has_the_findings_of_each_story(cli: Cli) -> None:
    write_stories(cli.folder, 25)
    finding = {"paragraph_x": 1, "quote_x": "she said", "says_x": "she spoke", "paragraph_y": 1, "quote_y": "She went",
               "says_y": "she left", "why": "Both.", "category": "object", "sure": "likely"}  # fmt: skip
    decision = {"number": 1, "decision": "error", "paragraph_x": 1, "quote_x": "she said", "paragraph_y": 1,
                "quote_y": "She went", "reason": "Both.", "sure": "certain"}  # fmt: skip
    replies = {
        "reader:read": json.dumps({"findings": [finding]}),
        "verifier:decide": json.dumps({"decisions": [decision]}),
        "judge:judge": json.dumps({"findings": []}),
    }
    (cli.folder / "atlas.toml").write_text(script_of(replies), encoding="utf-8")
    command = ("check", "stories.jsonl", "--model", "scripted:atlas.toml", "--json")
    one = cli(*command, "--out", "one").json
    many = cli(*command, "--out", "many", "--processes", "2").json
    assert many["asked"] == one["asked"]
    told = [json.loads(line) for line in (cli.folder / "many/stories.jsonl").read_text().splitlines()]
    assert [line["found"] for line in told] == one["details"]["stories"]
    means = rows_of(many["reports"]["atlas"])
    assert means["a", "mean/findings"]["n"] == 13
    assert (cli.folder / "many/ratings.jsonl").read_text() == (cli.folder / "one/ratings.jsonl").read_text()


# what is killed -------------------------------------------------------------------------------------------------------


def asked(server: FakeProvider) -> Counter[str]:
    return Counter(str(request.body["messages"]) for request in server.requests if request.method == "POST")


def answered(request: Recorded) -> Answer:
    """What the teacher says, by what it is asked."""
    text = str(request.body["messages"])
    if "begin" in text and "sections" in text:
        return Answer(SPLIT, latency=0.02)
    return Answer("Mara keeps the lamp against her father's will.", latency=0.02)


def command_for(address: str) -> list[str]:
    reached = f"--model={MODEL}", f"--base-url={address}"
    return [sys.executable, "-m", "fabula", "data", "backtranslate", "stories.jsonl", "--out", "data", *reached]


def calls_in(folder: Path) -> int:
    with Journal(folder / ".fabula/journal.db") as journal:
        return len(journal.calls.find())


def test_a_killed_driver_or_worker_costs_the_calls_on_their_way(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed three times, each time at another call; what was answered before is not asked again."""
    write_corpus(cli.folder, STORIES)
    options = ("data", "backtranslate", "stories.jsonl", *TEACHER, "--json", "--out")
    whole = cli(*options, "whole", "--processes", "1").json
    killed: list[int] = []
    opened = ProcessChannel.open

    async def remembered(environ: dict[str, str]) -> ProcessChannel:
        channel = await opened(environ)
        killed.append(channel.process.pid)
        if len(killed) == 1:
            os.kill(channel.process.pid, signal.SIGKILL)
        return channel

    monkeypatch.setattr(ProcessChannel, "open", remembered)
    found = cli(*options, "data", "--processes", "1").json
    assert len(killed) == 2
    assert found["asked"] == whole["asked"]
    assert data_in(cli.folder / "data") == data_in(cli.folder / "whole")


async def test_another_driver_goes_on_after_a_kill(tmp_path: Path) -> None:
    write_corpus(tmp_path, STORIES)

    def answer(request: Recorded) -> Answer:
        if len(server.requests) == 20:
            driver.kill()
        return answered(request)

    async with FakeProvider(answer) as server, asyncio.timeout(200):
        spread = [*command_for(server.openai_url), "--processes", "2", "--json"]
        driver = await asyncio.create_subprocess_exec(*spread, cwd=tmp_path, stdout=subprocess.DEVNULL)
        assert await driver.wait() == -signal.SIGKILL
        most, before = server.most_in_flight, len(server.requests)
        again = await asyncio.create_subprocess_exec(*spread, cwd=tmp_path, stdout=subprocess.PIPE)
        told, _ = await again.communicate()
        found = json.loads(told)
    assert before >= 20
    repeated = sum(asked(server).values()) - len(asked(server))
    assert repeated <= most
    assert found["replayed"] >= 1
    assert calls_in(tmp_path / "data") == len(asked(server))


def test_what_a_killed_session_left_is_taken_in_first(cli: Cli) -> None:
    write_corpus(cli.folder, 3)
    options = ("data", "backtranslate", "stories.jsonl", *TEACHER, "--json", "--out", "data")
    cli(*options)
    blocks = cli.folder / "data/.fabula/blocks/7"
    with journal_in(blocks) as journal:
        journal.take_calls(cli.folder / "data/.fabula/journal.db")
    (cli.folder / "data/.fabula/journal.db").unlink()
    found = cli(*options, "--processes", "1").json
    assert (found["asked"], found["replayed"]) == (0, 15)


def test_a_stopped_model_ends_it_with_its_own_words_and_the_rest_is_kept(cli: Cli) -> None:
    write_corpus(cli.folder, 45)
    options = ("data", "backtranslate", "stories.jsonl", *TEACHER, "--out", "data", "--processes", "2")
    ran = cli(*options, "--budget-tokens", "60000")
    assert ran.code != 0
    assert "budget of 60,000 tokens" in ran.err
    kept = calls_in(cli.folder / "data")
    assert 0 < kept < 45 * 5
    assert cli(*options, "--json").json["asked"] == 45 * 5 - kept


def test_a_person_cannot_be_asked_by_a_worker(cli: Cli) -> None:
    write_corpus(cli.folder, 2)
    options = ("data", "backtranslate", "stories.jsonl", *TEACHER, "--out", "data", "--play", "plot=me")
    assert (
        "A person plays a role in back-translation, but workers cannot ask a person."
        in cli(*options, "--processes", "2").err
    )


# parts of it ----------------------------------------------------------------------------------------------------------


def test_errors_go_to_another_process_as_what_they_are_or_with_their_words() -> None:
    assert type(sendable(ModelError("It is away."))) is ModelError
    unknown = sendable(UnknownNameError("measure", "wrods", ["words"]))
    assert type(unknown) is FabulaError
    assert str(unknown) == "Unknown measure 'wrods'. Did you mean 'words'?"


def test_a_draw_is_that_of_all_at_once(tmp_path: Path) -> None:
    write_stories(tmp_path, 30)
    drawn = [item.id for item in Corpus([tmp_path / "stories.jsonl"], Selection(None, 7, 3))]
    more = [item.id for item in Corpus([tmp_path / "stories.jsonl"], Selection(None, 9, 3))]
    assert len(drawn) == 7
    assert set(drawn) < set(more)
    with pytest.raises(UsageError, match="No story found in"):
        list(Corpus([], EVERYTHING))


def test_a_file_of_rows_that_is_damaged_is_said(tmp_path: Path) -> None:
    (tmp_path / ".fabula").mkdir()
    (tmp_path / ROWS).write_bytes(b"no database" * 100)
    with (
        pytest.raises(ProjectError, match=r"stories\.db cannot be used .* remove it: the models' replies"),
        StoryRows(tmp_path),
    ):
        pass
