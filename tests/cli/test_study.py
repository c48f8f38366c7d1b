"""`fabula study`: a study is made, shared out, served and reported; what cannot be is said in words."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fabula.measure.studies.answering import Answers, Sent
from fabula.measure.studies.study import Study
from fabula.project.folder import ProjectFolder
from fabula.story import Brief
from raters import QUESTIONS, Clock

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli


@pytest.fixture
def entries(here: Path) -> Path:
    """Three systems with four prompts."""
    for system in ("cape", "harbour", "inland"):
        (here / "entries" / system).mkdir(parents=True)
        for prompt in ("one", "two", "three", "four"):
            text = f"Mara of the {system} lit lamp {prompt}.\n\nIt burned." + " On and on." * (system == "cape")
            (here / "entries" / system / f"{prompt}.md").write_text(f"{text}\n", encoding="utf-8")
    return here / "entries"


@pytest.fixture
def rated(cli: Cli, entries: Path) -> Path:
    """A study that two raters have done: the cape is best, the first task of each a tie."""
    folder = entries.parent / "lamps"
    assert cli("study", "new", "lamps", "entries", "--title", "Lamps").code == 0
    assert cli("study", "assign", "lamps", "--overlap", "2", "--seed", "1").code == 0
    study = Study.open(folder)
    answers = Answers(study, Clock())
    best = ["cape", "harbour", "inland"]
    for rater in study.raters:
        for task in study.tasks_of[rater]:
            answers.open(rater, task)
            left, right = (best.index(entry.system) for entry in study.shown(task))
            side = "S" if task.place == 0 else "A" if left < right else "B"
            answers.send(rater, task, Sent(dict.fromkeys(QUESTIONS, side), comment="Fine."))
    return folder


def test_sides_are_drawn_with_a_seed_that_nobody_can_guess(cli: Cli, entries: Path) -> None:
    assert cli("study", "new", "lamps", "entries").code == 0

    def drawn(*said: str) -> tuple[int, list[tuple[str, ...]]]:
        assert cli("study", "assign", "lamps", *said).code == 0
        study = Study.open(entries.parent / "lamps")
        assert study.design is not None
        return study.design.seed, [task.items for tasks in study.tasks_of.values() for task in tasks]

    first, second = drawn(), drawn()
    assert first[0] != second[0]
    assert drawn("--seed", "7") == drawn("--seed", "7")
    assert drawn("--seed", str(first[0])) == first


@pytest.mark.usefixtures("entries")
def test_a_study_is_made_and_says_what_it_takes(cli: Cli) -> None:
    ran = cli("study", "new", "lamps", "entries")
    assert ran.out == "lamps is a study (pairwise, version 1): 12 items of 3 systems on 4 prompts.\n"
    assert "Check the consent text, instructions, questions and pay in lamps/study.toml" in ran.err
    again = cli("study", "new", "lamps", "entries")
    assert (again.code, again.err.strip()) == (2, "fabula: lamps already contains a study. Choose another folder.")
    assigned = cli("study", "assign", "lamps", "--overlap", "3", "--shared", "4", "--json").json
    assert (assigned["tasks"], assigned["raters"], assigned["cells"]) == (12 + 8, 5, 12)
    assert (assigned["covered"], assigned["shared"]) == (12, 4)
    said = cli("study", "assign", "lamps").out
    assert "12 tasks for 3 raters, in at most 1 sitting of 5." in said
    assert "It needs about " in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("new", "x"), "There is nothing to rate. Specify stories or projects, or another study with --from."),
        (("new", "x", "entries", "--from", "y"), "--from uses the items of another study."),
        (("new", "x", "entries", "--as", "Mara"), "--as and --with are for chat studies. Add"),
        (("new", "x", "entries", "--kind", "findings"), "Nothing was checked in entries yet."),
        (("assign", "entries"), "entries is not a study: it has no study.toml."),
        (("assign", "lamps", "--shared", "3"), "--shared sets how many tasks have several raters."),
        (("serve", "lamps"), "No rater has a task in lamps yet. Run `fabula study assign lamps` first."),
        (("report", "lamps"), "There are no ratings in lamps yet."),
    ],
)
@pytest.mark.usefixtures("entries")
def test_what_cannot_be_done_is_said(cli: Cli, words: tuple[str, ...], says: str) -> None:
    cli("study", "new", "lamps", "entries")
    ran = cli("study", *words)
    assert ran.code == 2
    assert says in ran.err.replace("\n", " ")


def test_others_are_let_in_only_if_it_is_said(cli: Cli, rated: Path) -> None:
    ran = cli("study", "serve", str(rated), "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert ran.code == 2
    assert "Add --allow-remote" in ran.err.replace("\n", " ")


def test_a_day_that_is_over_opens_no_study(cli: Cli, rated: Path) -> None:
    ran = cli("study", "serve", rated.name, "--until", "2020-01-01")
    assert (ran.code, "2020-01-01 is in the past, so no link would work." in ran.err.replace("\n", " ")) == (2, True)


def test_a_report_has_strengths_agreement_and_a_page(cli: Cli, rated: Path) -> None:
    ran = cli("study", "report", "lamps")
    assert ran.code == 0, ran.err
    heads = [line.split()[0] for line in ran.out.splitlines() if line]
    assert heads.count("strength") == 1
    assert any(line.startswith("Fleiss' kappa  ") for line in ran.out.splitlines())
    assert any(line.startswith("first position wins  ") for line in ran.out.splitlines())
    assert "lamps/report.html" in ran.err
    page = (rated / "report.html").read_text(encoding="utf-8")
    assert "How far raters agree" in page
    assert "Fine." in page
    assert "<script" not in page
    data = cli("study", "report", "lamps", "--json", "--out", "found").json
    assert data["report"]["evaluator"] == "study"
    assert (rated.parent / "found" / "report.csv").read_text(encoding="utf-8").startswith("evaluator,of,against,what")


def test_a_judge_stands_beside_people(cli: Cli, rated: Path) -> None:
    lines = [json.loads(line) for line in (rated / "ratings.jsonl").read_text(encoding="utf-8").splitlines()]
    one_each = {(tuple(line["items"]), line["question"]): line for line in lines}
    judge = [{**line, "rater": "m", "kind": "model", "started": "", "ended": ""} for line in one_each.values()]
    (rated.parent / "judge.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in judge), encoding="utf-8")
    ran = cli("study", "report", "lamps", "--judge", "judge.jsonl")
    lines = ran.out[ran.out.index("judge") :].splitlines()
    assert any(line.startswith("judge") and "spearman/systems and questions" in line and "15" in line for line in lines)
    assert any(line.startswith("pairs: accuracy") and "1 [" in line for line in lines)
    assert "A judge compared with people" in (rated / "report.html").read_text(encoding="utf-8")
    assert cli("evaluate", "pairwise", "--ratings", "lamps/ratings.jsonl").code == 0
    assert cli("lab", "meta", "judge.jsonl", "lamps/ratings.jsonl").code == 0


def test_a_changed_study_is_refused_and_goes_on_as_a_new_version(cli: Cli, rated: Path) -> None:
    file = rated / "study.toml"
    file.write_text(file.read_text(encoding="utf-8").replace("sitting = 5", "sitting = 4"), encoding="utf-8")
    for words in (("assign", "lamps"), ("serve", "lamps"), ("report", "lamps")):
        ran = cli("study", *words)
        assert ran.code == 2
        assert "study.toml of lamps changed after raters had seen the study" in ran.err.replace("\n", " ")
    made = cli("study", "new", "next", "--from", "lamps", "--json").json
    assert (made["version"], made["items"]) == (2, 12)
    assert cli("study", "assign", "next").code == 0


def test_characters_are_looked_at_before_raters_meet_them(cli: Cli, here: Path) -> None:
    for name in ("plain", "other"):
        settings = {"system": "vanilla", "model": "scripted:none.toml", "config": {"player": "Tobias", "npc": "Mara"}}
        project = ProjectFolder.create(
            here / name, Brief("Mara kept the lamp. Tobias brought Mara a letter."), settings
        )
        (project.folder / "mine.py").write_text("def play(request):\n    return 'No.'\n", encoding="utf-8")
        with (project.folder / "fabula.toml").open("a", encoding="utf-8") as file:
            file.write('\n[roles.npc]\nplay = "mine.py:play"\n')
    made = cli("study", "new", "talk", "plain", "other", "--kind", "chat", "--as", "Tobias", "--with", "Mara")
    assert "talk is a study (chat, version 1): 2 items of 2 systems on 1 prompt." in made.out
    assert cli("study", "assign", "talk").code == 0
    ran = cli("study", "serve", "talk", "--port", "0")
    assert ran.code == 2
    assert "talk/characters/1" in ran.err.replace("\n", "")
    assert "fabula trust" in ran.err.replace("\n", " ")


def test_a_study_is_served_to_its_raters_until_it_is_ended(rated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    words = ["study", "serve", str(rated), "--port", "0", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "fabula", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            text = ""
            while not text.endswith("\n}\n"):
                line = process.stdout.readline()
                assert line, process.stderr.read() if process.stderr else ""
                text += line
            said: dict[str, Any] = json.loads(text)
            assert len(said["raters"]) == 6
            link = said["raters"][0]["link"]
            with httpx.Client(trust_env=False, timeout=120) as client:
                assert client.get(link).status_code == httpx.codes.OK
                address = link.partition("/login")[0]
                assert "Before you begin" in client.get(f"{address}/").text
                assert client.get(f"{address}/api/v1/projects").status_code == httpx.codes.NOT_FOUND
            second = subprocess.run(
                [sys.executable, "-m", "fabula", *words], capture_output=True, text=True, check=False, timeout=120
            )
            assert "is in use by process" in json.loads(second.stdout)["error"]["message"]
            process.send_signal(signal.SIGINT)
            assert process.wait(120) == 130
        finally:
            process.kill()  # where anything above fails; else it has ended
    assert "https" not in (rated / ".study" / "links.csv").read_text(encoding="utf-8")
    assert (rated / ".study" / "links.csv").stat().st_mode & 0o077 == 0
