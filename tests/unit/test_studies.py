"""Studies: who gets which task, what is in the files, and what a report says."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from fabula.app.studies import assign, new_version, study_of_comments, study_of_findings, study_of_stories
from fabula.app.study_report import page_of_study, study_report
from fabula.base.errors import LockedError, UnknownNameError, UsageError
from fabula.base.files import held
from fabula.craft.quoting import located
from fabula.measure.ratings import SAME, Rating, parse_ratings, read_ratings, write_ratings
from fabula.measure.studies.answering import Answers, Seen, Sent
from fabula.measure.studies.assigning import AssignmentOptions, share_out
from fabula.measure.studies.study import KINDS, Study, StudyItem, form_of, form_text, write_study
from fabula.stats.estimate import Estimate, Unscored
from raters import QUESTIONS, SYSTEMS, Clock, stories
from raters import study_here as study_of

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 11, 1, tzinfo=UTC)
ALL = dict.fromkeys(QUESTIONS, "A")


# forms ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_begins_with_a_form_that_is_one(kind: str) -> None:
    form = form_of(form_text(kind, 'A "study"'), kind)
    assert form.kind == kind
    assert form.title == 'A "study"'
    assert form.fields
    assert all(one.choices for one in form.fields)


def test_the_survey_of_snap_asks_four_numbers_of_each_side_and_a_preference() -> None:
    fields = form_of(form_text("chat", "-"), "chat").fields
    assert [one.key for one in fields[:2]] == ["continuity/A", "continuity/B"]
    assert len(fields) == 9
    assert fields[-1].choices == ("A", "S", "B")


def test_findings_have_the_four_labels_of_the_paper() -> None:
    (one,) = form_of(form_text("findings", "-"), "findings").fields
    assert one.choices == ("confirmed", "wrong label", "grounded", "unsure")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ('kind = "pairwise"', 'kind = "rubric"'),
        ("sitting = 5", "sitting = 0"),
        ('name = "plot"', 'name = "overall"'),
        ('scale = "sides"', 'scale = "labels"'),
        ('rubric = "pairwise-people-1"', "rubric = 3"),
        ("consent", "konsent"),
    ],
)
def test_a_form_that_is_none_says_what_is_wrong(change: str, says: str) -> None:
    with pytest.raises(UsageError, match=r"study.toml: .*[.?] Correct the file\."):
        form_of(form_text("pairwise", "-").replace(change, says), "study.toml")


def test_another_kind_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="pairwise"):
        form_text("pairs", "-")


# who gets what --------------------------------------------------------------------------------------------------------


def test_the_latin_square_of_the_paper(tmp_path: Path) -> None:
    made = study_of_stories(tmp_path / "s", "pairwise", "-", stories(SYSTEMS, 55, 20)).study
    shares = share_out(made, AssignmentOptions(overlap=3, shared=150))
    cells = Counter((task.prompt, tuple(sorted(task.items))) for task in shares.tasks)
    assert (shares.cells, shares.covered, shares.shared) == (1980, 1980, 150)
    assert Counter(cells.values()) == {1: 1830, 3: 150}
    by_rater = Counter(task.rater for task in shares.tasks)
    assert shares.raters == 36 + 2 * 3
    assert max(by_rater.values()) == 55
    assert max(Counter((task.rater, task.prompt) for task in shares.tasks).values()) == 1
    assert len({task.key for task in shares.tasks}) == len(shares.tasks)
    assert share_out(made, AssignmentOptions(overlap=3, shared=150)) == shares
    assert share_out(made, AssignmentOptions(overlap=3, shared=150, seed=2)).tasks != shares.tasks


def test_either_of_two_systems_stands_left_as_often(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:4], 20)
    left: Counter[tuple[str, ...]] = Counter()
    for task in study.tasks:
        left[tuple(entry.system for entry in study.shown(task))] += 1
    assert all(abs(left[pair] - left[pair[::-1]]) <= 1 for pair in list(left))


def test_raters_of_one_task_see_it_from_both_sides(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 6, AssignmentOptions(overlap=2))
    orders: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for task in study.tasks:
        orders.setdefault(tuple(sorted(task.items)), set()).add(task.items)
    assert all(len(shown) == 2 for shown in orders.values())


def test_rows_are_divided_where_a_rater_has_no_time_for_all(tmp_path: Path) -> None:
    made = study_of_stories(tmp_path / "s", "pairwise", "-", stories(SYSTEMS[:3], 7, 20)).study
    shares = share_out(made, AssignmentOptions(most=3))
    assert shares.covered == shares.cells == 21
    assert max(Counter(task.rater for task in shares.tasks).values()) <= 3
    assert shares.raters == 9
    few = share_out(made, AssignmentOptions(raters=2))
    assert (few.raters, few.covered) == (2, 14)
    with pytest.raises(
        UsageError, match=r"There are only enough tasks for 3 raters, not 9\. Use fewer raters, .*--overlap 2"
    ):
        share_out(made, AssignmentOptions(raters=9))


def test_prompts_that_lack_a_system_have_fewer_pairs(tmp_path: Path) -> None:
    items = [item for item in stories(SYSTEMS[:3], 4, 20) if item.id != f"{SYSTEMS[0]}/item-0"]
    alone = [replace(stories(SYSTEMS[:1], 1, 20)[0], id="alone", prompt="p-alone")]
    made = study_of_stories(tmp_path / "s", "pairwise", "-", [*items, *alone])
    assert made.left_out == ("p-alone",)
    shares = share_out(made.study, AssignmentOptions())
    assert shares.covered == shares.cells == 3 * 3 + 1


def test_hours_and_pay_are_said_before(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:2], 4)
    text = (study.folder / "study.toml").read_text().replace("pay_an_hour = 0.0", "pay_an_hour = 20")
    (study.folder / "study.toml").write_text(text)
    shares = share_out(Study.open(study.folder), AssignmentOptions())
    words = sum(entry.words for entry in study.entries.values())
    assert shares.hours == pytest.approx(words / 230 / 60 + 4 * 5 * 12 / 3600, rel=0.01)
    assert shares.cost == pytest.approx(20 * shares.hours)


def test_nothing_to_compare_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No two items by different systems answer the same prompt"):
        study_of_stories(tmp_path / "s", "pairwise", "-", stories(SYSTEMS[:1], 3, 20))
    made = study_of_stories(tmp_path / "r", "rubric", "-", stories(SYSTEMS[:2], 3, 20))
    shares = share_out(made.study, AssignmentOptions())
    assert shares.covered == 6
    assert max(Counter((task.rater, task.prompt) for task in shares.tasks).values()) == 1


def test_few_raters_share_what_they_do_as_often_as_was_wanted(tmp_path: Path) -> None:
    shares = share_out(study_of(tmp_path / "s", SYSTEMS[:4], 6), AssignmentOptions(raters=6, overlap=3))
    assert (shares.raters, len(shares.tasks), shares.covered, shares.shared) == (6, 36, 12, 12)


# after the first rating -----------------------------------------------------------------------------------------------


def _sent(study: Study, clock: Clock | None = None) -> Answers:
    answers = Answers(study, clock or Clock())
    task = study.tasks[0]
    answers.consent(task.rater)
    answers.open(task.rater, task)
    answers.send(task.rater, task, Sent(ALL), Seen(120, (1.0, 1.0)))
    return answers


@pytest.mark.parametrize("name", ["study.toml", "items.jsonl", "assignments.jsonl"])
def test_a_study_that_was_changed_after_its_first_rating_is_refused(tmp_path: Path, name: str) -> None:
    study = study_of(tmp_path / "s")
    _sent(study)
    Study.open(study.folder)
    file = study.folder / name
    file.write_text(file.read_text() + "\n")
    with pytest.raises(UsageError, match=f"{name} of .* changed after raters had seen the study.*--from .* NEW_FOLDER"):
        Study.open(study.folder)
    version = new_version(tmp_path / "next", study.folder).study
    assert version.form.version == 2
    assert version.entries == study.entries
    assert version.tasks == ()


def test_tasks_stay_as_they_are_after_the_first_rating(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    before = study.token(study.raters[0])
    again, _ = assign(study, AssignmentOptions(seed=2), NOW)
    assert again.raters != study.raters
    assert again.token(again.raters[0]) != before
    _sent(again)
    with pytest.raises(UsageError, match=r"has ratings, so its tasks cannot change. To make"):
        assign(Study.open(study.folder), AssignmentOptions(seed=3), NOW)
    with pytest.raises(UsageError, match="already contains a study"):
        write_study(study.folder, "", [])


def test_what_was_rated_is_what_was_shown(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    file = study.folder / "study.toml"
    before = file.read_text()
    file.write_text(before.replace("sitting = 5", "sitting = 4"))  # a server goes on with what it has read
    _sent(study)
    with pytest.raises(UsageError, match=r"study.toml of .* changed after raters had seen the study"):
        Study.open(study.folder)
    file.write_text(before)
    assert Study.open(study.folder).form.sitting == 5


def test_tasks_are_not_shared_out_anew_while_raters_do_them(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    with (
        held(study.private, f"The study {study.folder}"),
        pytest.raises(LockedError, match="is in use"),
    ):
        assign(study, AssignmentOptions(seed=2), NOW)
    assert Study.open(study.folder).tasks == study.tasks


def test_a_report_touches_no_file_while_raters_answer(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    _sent(study)
    log = study.folder / "log.jsonl"
    with log.open("a") as file:
        file.write('{"rater": "x", "what')  # a line of which the rest is about to be written
    before = log.read_bytes()
    study_report(Study.open(study.folder))
    assert log.read_bytes() == before


def test_who_changes_an_answer_has_read_the_texts_before(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 3)
    answers, task = _sent(study), study.tasks[0]
    answers.send(task.rater, task, Sent({**ALL, "plot": "B"}), Seen(4, (0.2,)))
    for one in (answers, Answers(Study.open(study.folder), Clock())):
        assert one.progress[task.rater].seen[task.key] == Seen(120, (1.0, 1.0))


def test_what_a_power_cut_left_half_written_is_taken_out(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    _sent(study)
    for name in ("ratings.jsonl", "log.jsonl"):
        with (study.folder / name).open("a") as file:
            file.write('{"rater": "x", "what')
    answers = Answers(Study.open(study.folder), Clock())
    assert answers.done(study.tasks[0].rater) == 1
    assert len(read_ratings(study.ratings_file)) == 5
    answers.send(study.tasks[0].rater, study.tasks[0], Sent({**ALL, "plot": "S"}))
    assert len(read_ratings(study.ratings_file)) == 5


def test_a_kill_between_ratings_and_log_loses_nothing(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    _sent(study)
    log = study.folder / "log.jsonl"
    log.write_text("".join(f"{line}\n" for line in log.read_text().splitlines() if '"sent"' not in line))
    answers = Answers(Study.open(study.folder), Clock())
    task = study.tasks[0]
    assert answers.progress[task.rater].sent[task.key].answers == ALL
    assert answers.send(task.rater, task, Sent(ALL)) == "unchanged"


def test_a_folder_that_is_no_study_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"is not a study: it has no study.toml\. To make a study, run `fabula study "
        r"new`.",
    ):
        Study.open(tmp_path)
    study = study_of(tmp_path / "s")
    (study.folder / "assignments.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match=r"assignments.jsonl, line 1: this is not the design of a study."):
        Study.open(study.folder)
    hostile = study.tasks[0].model_dump_json().replace(study.tasks[0].rater, "../..")
    head = (study_of(tmp_path / "t").folder / "assignments.jsonl").read_text().partition("\n")[0]
    (study.folder / "assignments.jsonl").write_text(f"{head}\n{hostile}\n")
    with pytest.raises(UsageError, match=r"assignments.jsonl, line 2: `rater` does not have the required form"):
        Study.open(study.folder)
    (study.folder / "items.jsonl").write_text('{"id": ""}\n')
    with pytest.raises(UsageError, match=r"items.jsonl, line 1: `id` must not be empty\. Correct the line\."):
        Study.open(study.folder)


def test_an_amended_rating_is_read_once_and_stays_in_the_file() -> None:
    first = Rating(
        rater="x", kind="person", items=("a", "b"), question="plot", answer="a", started="1", ended="2", shown="A"
    )
    second = replace(first, answer="b", shown="B", ended="3", amends="2")
    third = replace(second, answer=SAME, ended="4", amends="3")
    text = write_ratings([first, second, third])
    assert parse_ratings(text) == (third,)
    assert len(text.splitlines()) == 3
    with pytest.raises(UsageError, match="already contains this verdict"):
        parse_ratings(write_ratings([first, replace(first, ended="9")]))


# reports --------------------------------------------------------------------------------------------------------------


def _rated(study: Study, kappa_noise: float, *, shown: bool) -> list[Rating]:
    """What raters who mostly agree would leave; with `shown`, as if sides were systems."""
    rng = np.random.default_rng(3)
    better = {cell: str(rng.choice(cell)) for cell in {tuple(sorted(task.items)) for task in study.tasks}}
    ratings = []
    for task in study.tasks:
        wins = better[tuple(sorted(task.items))]
        if rng.random() < kappa_noise:
            wins = str(rng.choice(sorted(task.items)))
        answer, items = wins, task.items
        if shown:  # what it would be if A were always the first in the alphabet
            items = tuple(sorted(task.items))
            answer = items[task.items.index(wins)]
        ratings.append(
            Rating(rater=task.rater, kind="person", items=items, prompt=task.prompt, question="overall", answer=answer)
        )
    return ratings


def test_agreement_is_on_systems_and_not_on_what_was_shown(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:5], 20, AssignmentOptions(overlap=3))
    found = {}
    for shown in (False, True):
        study.ratings_file.write_text(write_ratings(_rated(study, 0.3, shown=shown)))
        scored = study_report(study).row("people", "Fleiss' kappa/overall").scored
        assert isinstance(scored, Estimate)
        found[shown] = scored.value
    assert found[False] > 0.4
    assert found[True] < found[False] - 0.3


def test_one_category_has_no_alpha_and_the_report_says_why(tmp_path: Path) -> None:
    entries = [
        StudyItem(id=f"f{n}", prompt="ferry", claim="It cannot be.", passages=("One.", "Two.")) for n in range(6)
    ]
    write_study(tmp_path / "s", form_text("findings", "Verify"), entries)
    study, _ = assign(Study.open(tmp_path / "s"), AssignmentOptions(overlap=2), NOW)
    answers = Answers(study, Clock())
    for task in study.tasks:
        answers.open(task.rater, task)
        answers.send(task.rater, task, Sent({"verdict": "confirmed"}, comment="Clear."))
    report = study_report(study)
    alpha = report.row("people", "Krippendorff's alpha, nominal/verdict").scored
    assert isinstance(alpha, Unscored)
    assert alpha.reason == "all ratings are the same"
    confirmed = report.row("all", "share confirmed").scored
    assert isinstance(confirmed, Estimate)
    assert (confirmed.value, confirmed.n) == (1.0, 6)
    assert "all ratings are the same" in page_of_study(study, report)
    assert "Clear." in page_of_study(study, report)


def _checked(folder: Path, story: str = "story") -> Path:
    """What `fabula check` leaves in a folder."""
    told = "Mara's umbrella was blue. She took it along."
    one = {
        "id": 1,
        "key": "abcd1234",
        "hallucination": "In scene 1, the umbrella is blue, but in scene 2, it is red",
        "category": "appearance",
        "passage_x": {"scene": 1, "start": 0, "text": told, "focus": [0, 25]},
        "passage_y": {"scene": 2, "start": 90, "text": "Her red umbrella broke.", "focus": [0, 23]},
    }
    folder.mkdir(parents=True)
    report = {"details": {"stories": [{"id": story, "findings": [one]}]}}
    (folder / "atlas.json").write_text(json.dumps(report))
    return folder


def test_findings_come_from_what_a_check_has_left(tmp_path: Path) -> None:
    project = tmp_path / "ferry"
    _checked(project / "evaluation")
    (project / "brief.md").write_text("A ferry.")
    study = study_of_findings(tmp_path / "s", "Verify", [project, _checked(tmp_path / "other", "lamp")]).study
    assert list(study.entries) == ["ferry/abcd1234", "lamp/abcd1234"]
    one = study.entries["ferry/abcd1234"]
    assert (one.prompt, one.label) == ("ferry", "appearance")
    assert one.claim == "In scene 1, the umbrella is blue, but in scene 2, it is red"
    assert one.passages == ("**Mara's umbrella was blue.** She took it along.", "Her red umbrella broke.")
    shares = share_out(study, AssignmentOptions(overlap=2, most=1))
    assert (shares.cells, shares.shared, len(shares.tasks)) == (2, 2, 4)


def test_a_finding_of_a_project_stands_in_its_paragraphs(tmp_path: Path) -> None:
    _checked(tmp_path / "ferry" / "evaluation")
    (tmp_path / "ferry" / "brief.md").write_text("A ferry.")
    told = "Mara's umbrella was blue. She took it along."
    story = f"Far off.\n\nIt rained.\n\nAt last. {told} And away.\n\nThe ferry came.\n\nHer red umbrella broke.\n"
    (tmp_path / "ferry" / "story.md").write_text(story)
    (one,) = study_of_findings(tmp_path / "s", "Verify", [tmp_path / "ferry"]).study.entries.values()
    assert one.passages == (
        "It rained.\n\nAt last. **Mara's umbrella was blue.** She took it along. And away.\n\nThe ferry came.",
        "The ferry came.\n\n**Her red umbrella broke.**",
    )


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for place in ("a/ferry", "b/ferry"):
        _checked(tmp_path / place / "evaluation")
        (tmp_path / place / "brief.md").write_text("A ferry.")
    places = [tmp_path / "a" / "ferry", tmp_path / "b" / "ferry"]
    study = study_of_findings(tmp_path / "s", "Verify", places).study
    assert list(study.entries) == ["a-ferry/abcd1234", "b-ferry/abcd1234"]
    with pytest.raises(UsageError, match=r"Two folders are called 'a-ferry'.*Rename one of them"):
        study_of_findings(tmp_path / "t", "Verify", [places[0], places[0]])
    twice = [_checked(tmp_path / name, "lamp") for name in ("one", "two")]
    with pytest.raises(
        UsageError,
        match=r"Two of the items are called 'lamp/abcd1234'. Specify each source only "
        r"once,",
    ):
        study_of_findings(tmp_path / "t", "Verify", twice)
    assert not (tmp_path / "t").exists()


def _reviewed(folder: Path, *, comments: int = 6) -> Path:
    """What `fabula evaluate editorial` leaves in a folder: comments at three levels of one story."""
    texts = {"story": "She lit the lamp. It went out.", "chapter": "It went out.", "sentence": "She lit the lamp."}
    annotations = [
        {
            "id": f"{level[:2]}{n}{folder.name}",
            "item": "lamp",
            "level": level,
            "place": 1 + n % 2,
            "category": "clarity",
            "comment": f"Comment {n} on the {level}.",
            "quote": "lit the “lamp”" if level == "sentence" else "went out",
        }
        for level in texts
        for n in range(comments // 3)
    ]
    passages = [
        {"item": "lamp", "level": level, "place": place, "text": f"{text}{' Then it was dark.' * (place - 1)}"}
        for level, text in texts.items()
        for place in (1, 2)
    ]
    details = {"stories": [{"id": "lamp", "prompt": ""}], "annotations": annotations, "passages": passages}
    folder.mkdir(parents=True)
    (folder / "editorial.json").write_text(json.dumps({"details": details}))
    return folder


def test_an_editors_comments_are_verified_with_what_they_are_on(tmp_path: Path) -> None:
    project = tmp_path / "ferry"
    _reviewed(project / "evaluation")
    (project / "brief.md").write_text("A ferry.")
    study = study_of_comments(tmp_path / "s", "Verify", [project, _reviewed(tmp_path / "other")]).study
    groups = Counter(entry.group for entry in study.entries.values())
    assert groups == {"story": 4, "chapter": 4, "sentence": 4, "decoys": 4}
    real = {(entry.passages, entry.claim) for entry in study.entries.values() if entry.group != "decoys"}
    decoys = {(entry.passages, entry.claim) for entry in study.entries.values() if entry.group == "decoys"}
    assert {shown for shown, _ in decoys} <= {shown for shown, _ in real}
    assert not decoys & real, "a quotation with the comment on another passage"
    one = study.entries["ferry/st0evaluation"]
    assert (one.prompt, one.claim, one.label) == ("ferry", "Comment 0 on the story.", "story, clarity")
    assert one.passages == ("She lit the lamp. It **went out**.",)
    assert study.entries["ferry/ch1evaluation"].passages == ("It **went out**. Then it was dark.",)
    (question,) = study.form.fields
    assert question.choices == ("agree", "disagree", "unsure")
    assert share_out(study, AssignmentOptions(overlap=2)).shared == 16


def test_a_review_without_comments_or_passages_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Nothing has been reviewed in .*nowhere yet"):
        study_of_comments(tmp_path / "s", "-", [tmp_path / "nowhere"])
    with pytest.raises(UsageError, match="did not comment on these stories"):
        study_of_comments(tmp_path / "s", "-", [_reviewed(tmp_path / "mute", comments=0)])
    old = _reviewed(tmp_path / "old") / "editorial.json"
    details = json.loads(old.read_text())["details"]
    without: tuple[dict[str, Any], ...] = ({"passages": []}, {"passages": 3}, {"stories": []}, {"annotations": [{}]})
    for broken in (details | one for one in without):
        old.write_text(json.dumps({"details": broken}))
        with pytest.raises(UsageError, match="has no comments with the passages that they refer to"):
            study_of_comments(tmp_path / "s", "-", [tmp_path / "old"])
    old.write_text("{")
    with pytest.raises(UsageError, match="Run `fabula evaluate editorial` for this folder again"):
        study_of_comments(tmp_path / "s", "-", [tmp_path / "old"])
    assert not (tmp_path / "s").exists()


def test_comments_are_counted_level_by_level_as_in_table_7(tmp_path: Path) -> None:
    study = study_of_comments(tmp_path / "s", "Verify", [_reviewed(tmp_path / "lamp", comments=30)]).study
    study, _ = assign(study, AssignmentOptions(overlap=3), NOW)
    answers = Answers(study, Clock())
    for number, rater in enumerate(study.raters):
        for task in study.tasks_of[rater]:
            (entry,) = study.shown(task)
            wrong = entry.group == "decoys" or (entry.group == "chapter" and entry.id.startswith("lamp/ch3"))
            said = "disagree" if wrong else "unsure" if entry.id.startswith("lamp/st0") and number else "agree"
            answers.send(rater, task, Sent({"verdict": said}))
    report = study_report(study)
    assert report.details["levels"] == [
        {"level": "story", "total": 10, "disagreements": 0, "unsure": 1},
        {"level": "chapter", "total": 10, "disagreements": 1, "unsure": 0},
        {"level": "sentence", "total": 10, "disagreements": 0, "unsure": 0},
        {"level": "overall", "total": 30, "disagreements": 1, "unsure": 1},
        {"level": "decoys", "total": 6, "disagreements": 6, "unsure": 0},
    ]
    for level, rate, n in (("story", 1, 9), ("chapter", 0.9, 10), ("overall", 28 / 29, 29), ("decoys", 0, 6)):
        row = report.row(level, "agreement rate")
        assert isinstance(row.scored, Estimate)
        assert row.scored.value == pytest.approx(rate)
        assert (row.scored.n, row.baseline) == (n, level == "decoys")
        assert row.scored.low is not None
        assert row.scored.high is not None
        assert row.scored.low <= rate <= row.scored.high
    assert report.details["counts"][-1] == {"story": "all", "comments": 30, "agree": 28, "disagree": 1, "unsure": 1}
    assert "<th>disagreements</th>" in re.sub(r"(<th)[^>]*", r"\1", page_of_study(study, report))
    assert isinstance(report.row("people", "Fleiss' kappa/verdict").scored, Estimate)


def test_the_papers_own_table_7_comes_out(tmp_path: Path) -> None:
    entries = []
    for level, total in (("story", 22), ("chapter", 36), ("sentence", 17)):
        entries += [
            StudyItem(id=f"{level}{n}", prompt="s", claim="-", passages=("-",), group=level) for n in range(total)
        ]
    write_study(tmp_path / "s", form_text("comments", "Verify"), entries)
    wrong = {"story0", "story1", "chapter0", "chapter1", "chapter2", "sentence0"}
    ratings = [
        Rating(
            rater="R",
            kind="person",
            items=(one.id,),
            prompt="s",
            question="verdict",
            answer="disagree" if one.id in wrong else "agree",
        )
        for one in entries
    ]
    study = Study.open(tmp_path / "s")
    study.ratings_file.write_text(write_ratings(ratings))
    report = study_report(study)
    found = {row.of: row.scored for row in report.rows if row.what == "agreement rate"}
    rates = {level: f"{scored.value:.1%}" for level, scored in found.items() if isinstance(scored, Estimate)}
    assert rates == {"story": "90.9%", "chapter": "91.7%", "sentence": "94.1%", "overall": "92.0%"}


def test_a_judges_verdicts_may_stand_in_the_same_file(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 6)
    answers = Answers(study, Clock())
    for task in study.tasks:
        answers.send(task.rater, task, Sent(ALL))
    judge = [
        replace(one, rater="m", kind="model", ended="", evaluator="pairwise")
        for one in read_ratings(study.ratings_file)
    ]
    other = [replace(one, items=one.items[::-1], systems=one.systems[::-1]) for one in judge]
    with study.ratings_file.open("a", encoding="utf-8") as file:
        file.write(write_ratings(judge))
    one_order = study_report(study)
    assert any("90 of 90 pairs were judged in one order only" in note for note in one_order.notes)
    with study.ratings_file.open("a", encoding="utf-8") as file:
        file.write(write_ratings(other))
    report = study_report(study)
    assert len(report.ratings) == len(judge) == 90
    pairs = report.row("judge", "judge beside people/plot: pairs: accuracy").scored
    assert isinstance(pairs, Estimate)
    first = Answers(Study.open(study.folder), Clock())
    first.withdraw(study.raters[0])
    left = read_ratings(study.ratings_file)
    assert sum(one.kind == "model" for one in left) == 180
    assert study.raters[0] not in {one.rater for one in left}


def test_without_overlap_there_is_no_agreement_and_the_report_says_so(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 4)
    answers = Answers(study, Clock())
    for task in study.tasks:
        answers.send(task.rater, task, Sent({**ALL, "plot": "AB"[task.place % 2]}))
    scored = study_report(study).row("people", "agreement/plot").scored
    assert isinstance(scored, Unscored)
    assert scored.reason == "no task was done by several raters"


def test_findings_are_counted_story_by_story_by_their_majority(tmp_path: Path) -> None:
    entries = [
        StudyItem(id=f"{story}/f{n}", prompt=story, claim="-", passages=("1", "2")) for story in "xy" for n in range(3)
    ]
    write_study(tmp_path / "s", form_text("findings", "Verify"), entries)
    study, _ = assign(Study.open(tmp_path / "s"), AssignmentOptions(overlap=3), NOW)
    answers = Answers(study, Clock())
    for number, rater in enumerate(study.raters):
        for task in study.tasks_of[rater]:
            label = "grounded" if task.prompt == "y" and number != 1 else "confirmed"
            answers.send(rater, task, Sent({"verdict": label}))
    report = study_report(study)
    for story, label, share in (("x", "confirmed", 1.0), ("y", "grounded", 1.0), ("all", "confirmed", 0.5)):
        scored = report.row(story, f"share {label}").scored
        assert isinstance(scored, Estimate)
        assert scored.value == share
    assert report.details["verdicts"]["y/f1"] == "grounded"
    precision = report.row("all", "precision").scored
    assert isinstance(precision, Estimate)
    assert (precision.value, precision.n) == (0.5, 6)
    none = {"wrong label": 0, "unsure": 0}
    assert report.details["counts"] == [
        {"story": "x", "findings": 3, "confirmed": 3, "grounded": 0} | none,
        {"story": "y", "findings": 3, "confirmed": 0, "grounded": 3} | none,
        {"story": "all", "findings": 6, "confirmed": 3, "grounded": 3} | none,
    ]
    assert "<th>grounded</th>" in re.sub(r"(<th)[^>]*", r"\1", page_of_study(study, report))


def test_a_report_says_who_has_withdrawn(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 3, AssignmentOptions(overlap=2))
    answers = Answers(study, Clock())
    for task in study.tasks:
        answers.send(task.rater, task, Sent(ALL))
    answers.withdraw(study.raters[1])
    assert f"Raters who withdrew, and whose answers were deleted: {study.raters[1]}." in study_report(study).notes


def test_fast_raters_and_a_judge_stand_in_the_report(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s", SYSTEMS[:3], 10, AssignmentOptions(overlap=2))
    clock = Clock()
    answers = Answers(study, clock)
    slow, fast = study.raters[0], study.raters[1]
    order = {name: place for place, name in enumerate(SYSTEMS)}
    for rater in study.raters:
        for task in study.tasks_of[rater]:
            answers.open(rater, task)
            systems = [entry.system for entry in study.shown(task)]
            better = "A" if order[systems[0]] > order[systems[1]] else "B"
            given = dict.fromkeys(QUESTIONS, better)
            given["plot"] = "S" if task.place == 0 else better
            seconds = 20.0 if rater == fast else 900.0
            clock.at += 1000 * clock.step
            answers.send(rater, task, Sent(given, poor=task.place == 1), Seen(seconds, (1.0, 0.4)))
    judge = [
        replace(one, rater="model-x", kind="model", started="", ended="", amends="", flags=())
        for one in {(one.items, one.question): one for one in read_ratings(study.ratings_file)}.values()
    ]
    report = study_report(study, judge, "judge.jsonl")
    table = {one["rater"]: one for one in report.details["raters"]}
    assert table[fast]["too fast"] == 10
    assert table[slow]["too fast"] == 0
    assert table[slow]["read to the end"] == "0 of 10"
    assert f"Raters who answered most tasks too quickly to have read them: {fast}." in report.notes
    strengths = [report.row(name, "strength/overall").scored for name in SYSTEMS[:3]]
    values = [one.value if isinstance(one, Estimate) else None for one in strengths]
    assert values == [None] * 3 or all(one < other for one, other in pairwise(filter(None, values)))
    rho = report.row("judge", "judge beside people/systems and questions: spearman").scored
    assert isinstance(rho, Estimate)
    assert rho.value > 0.9
    assert rho.n == 15
    agreed = report.row("people", "Fleiss' kappa/overall").scored
    assert isinstance(agreed, Estimate)
    assert agreed.value == pytest.approx(1.0, abs=0.3)
    assert agreed.n == 30
    length = report.row("length", "judge beside people/overall: stories: accuracy").scored
    assert isinstance(length, Estimate)
    ties = report.row("people", "ties/plot").scored
    assert isinstance(ties, Estimate)
    assert ties.value == pytest.approx(0.1)
    assert {row.what for row in report.rows} >= {
        "first position wins/overall",
        "longer wins/overall",
        "length and wins, rho/overall",
        "tasks flagged 'both poor'",
    }
    page = page_of_study(study, report)
    assert "A judge compared with people" in page
    assert json.dumps(report.as_data(), allow_nan=False)


def test_a_report_needs_ratings(tmp_path: Path) -> None:
    study = study_of(tmp_path / "s")
    with pytest.raises(
        UsageError, match=r"There are no ratings in .* yet\. `fabula study serve .*` shows the progress of raters"
    ):
        study_report(study)


def test_quotations_are_found_whatever_their_marks() -> None:
    assert located("“It\u2019s — now”", '"It\'s - now"') == [(0, 12)]
    assert located("aaa", "") == []
