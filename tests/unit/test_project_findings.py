from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.findings import count_again, dismiss_finding, findings_of, mended
from fabula.app.studies import study_of_findings
from fabula.app.study_report import study_report
from fabula.base.errors import UnknownNameError, UsageError
from fabula.evaluators.atlas.dismissed import read_dismissed
from fabula.measure.ratings import read_ratings, write_ratings
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.project.folder import ProjectFolder

KEY = "dcf5212a-ae60"


@pytest.fixture
def sample(tmp_path: Path) -> ProjectFolder:
    return copy_sample(tmp_path / "sample")


def save(project: ProjectFolder, name: str, text: str) -> None:
    with project.lock(), project.journal as journal:
        project.edit(journal, name, text)


def test_a_finding_has_both_sentences_as_they_stand(sample: ProjectFolder) -> None:
    found = findings_of(sample)
    assert found.checked
    (one,) = found.left
    assert (one.key, one.kind, one.sure, one.stale) == (KEY, "possession", "certain", False)
    x, y = one.places
    assert (x.scene, y.scene, x.paragraph) == (2, 3, 34)
    assert x.quoted is not None
    assert x.quoted.part.name == "rising-action"
    assert x.quoted.sentence == x.sentence
    assert x.quoted.pieces(0)["focus"].startswith("After the New Year it was the kettle")


@pytest.mark.parametrize(
    ("field", "value"),
    [("key", None), ("passage_x", {}), ("passage_y", "A lamp."), ("category", None), ("fact", None), ("y", None)],
)
def test_a_finding_that_is_not_one_is_an_error_that_names_the_report(
    field: str, value: object, sample: ProjectFolder
) -> None:
    file = sample.folder / "evaluation" / "atlas.json"
    report = json.loads(file.read_text(encoding="utf-8"))
    (one,) = report["details"]["stories"][0]["findings"]
    one.pop(field)
    if value is not None:
        one[field] = value
    file.write_text(json.dumps(report), encoding="utf-8")
    with pytest.raises(UsageError, match=r"atlas\.json is not a report of a check"):
        findings_of(sample)


def test_mending_a_sentence_changes_it_alone_and_makes_the_finding_stale(sample: ProjectFolder) -> None:
    found = findings_of(sample)
    new = mended(found, KEY, "y", " He had brought me a mug of tea from his flask. ")
    assert (new.name, new.old.count("\n\n")) == ("climax", new.new.count("\n\n"))
    assert "from his flask.\u0020" in new.new or "from his flask. " in new.new
    save(sample, new.name, new.new)
    (one,) = findings_of(sample).findings
    assert one.stale
    assert (findings_of(sample).left, findings_of(sample).settled) == ((), (one,))
    assert "1 found, 0 dismissed, 1 settled." in findings_of(sample)._repr_html_()
    assert one.place("y").quoted is None
    assert one.place("x").quoted is not None
    with pytest.raises(UsageError, match="is no longer in the story"):
        mended(findings_of(sample), KEY, "y", "Tea.")


def test_a_sentence_that_moved_is_found_again(sample: ProjectFolder) -> None:
    before = findings_of(sample).find(KEY).place("y").quoted
    assert before is not None
    save(sample, "climax", f"It was late.\n\n{before.part.text}")
    after = findings_of(sample).find(KEY).place("y").quoted
    assert after is not None
    assert after.start == before.start + len("It was late.\n\n")
    assert after.sentence == before.sentence


@pytest.mark.parametrize(("wording", "said"), [(" \n", "is empty"), (None, "is the same as the old wording")])
def test_a_wording_has_to_be_a_new_one(sample: ProjectFolder, wording: str | None, said: str) -> None:
    found = findings_of(sample)
    now = found.find(KEY).place("x").quoted
    assert now is not None
    with pytest.raises(UsageError, match=said):
        mended(found, KEY, "x", now.sentence if wording is None else wording)
    with pytest.raises(UsageError, match="places, x and y"):
        found.find(KEY).place("z")
    with pytest.raises(UnknownNameError):
        mended(found, "nothing", "x", "Tea.")


def test_a_dismissal_is_what_the_command_line_writes_and_can_be_taken_back(sample: ProjectFolder) -> None:
    dismiss_finding(sample.folder, KEY, "He had a second kettle.")
    assert read_dismissed(sample.folder / "evaluation")[KEY].reason == "He had a second kettle."
    found = findings_of(sample)
    assert (found.left, found.findings[0].dismissed) == ((), "He had a second kettle.")
    assert "second kettle" in (sample.folder / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    count_again(sample.folder, KEY)
    assert len(findings_of(sample).left) == 1
    with pytest.raises(UnknownNameError):
        count_again(sample.folder, KEY)
    with pytest.raises(UsageError, match="is missing"):
        dismiss_finding(sample.folder, KEY, " - ")


def test_a_dismissal_is_a_rating_that_a_later_line_amends(sample: ProjectFolder, tmp_path: Path) -> None:
    file = sample.folder / "evaluation" / "ratings.jsonl"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.rstrip("\n"), encoding="utf-8")  # an editor that leaves the last end of a line out
    of_models = read_ratings(file)
    dismiss_finding(sample.folder, KEY, "He had\na second kettle.")
    dismiss_finding(sample.folder, KEY, "He had a second kettle.")  # said again, it is the same
    assert file.read_text(encoding="utf-8").startswith(before)
    *others, said = read_ratings(file)
    assert tuple(others) == of_models
    assert (said.rater, said.kind, said.items, said.prompt) == ("author", "person", (f"sample/{KEY}",), "sample")
    assert (said.question, said.answer, said.reason) == ("verdict", "grounded", "He had a second kettle.")
    assert said.started
    assert said.started == said.ended

    count_again(sample.folder, KEY)
    back = read_ratings(file)[-1]
    assert (back.answer, back.unscored, back.amends) == (None, "taken back", said.ended)
    dismiss_finding(sample.folder, KEY, "There are two.")
    dismiss_finding(sample.folder, KEY, "There are three.")
    *others, last = read_ratings(file)
    assert (tuple(others), last.answer, last.reason) == (of_models, "grounded", "There are three.")
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(of_models) + 4, "what was said first stays in the file"


def test_a_dismissal_has_the_form_of_a_rating_in_a_study(sample: ProjectFolder, tmp_path: Path) -> None:
    dismiss_finding(sample.folder, KEY, "He had a second kettle.")
    said = read_ratings(sample.folder / "evaluation" / "ratings.jsonl")[-1]
    study = study_of_findings(tmp_path / "study", "Verify", [sample.folder]).study
    (question,) = study.form.questions
    assert (said.question, said.rubric) == (question.name, study.form.rubric)
    assert said.items[0] in study.entries
    assert study.entries[said.items[0]].prompt == said.prompt
    assert said.answer in study.form.fields[0].choices
    study.ratings_file.write_text(write_ratings([said]), encoding="utf-8")
    counts = study_report(study).details["counts"]
    assert (counts[0]["story"], counts[0]["findings"], counts[0]["grounded"]) == ("sample", 1, 1)


def test_a_dismissal_of_before_there_were_ratings_is_taken_back(sample: ProjectFolder) -> None:
    folder = sample.folder / "evaluation"
    before = (folder / "ratings.jsonl").read_text(encoding="utf-8")
    (folder / "findings-dismissed.jsonl").write_text(f'{{"key": "{KEY}", "reason": "Two."}}\n', encoding="utf-8")
    count_again(sample.folder, KEY)
    assert (folder / "ratings.jsonl").read_text(encoding="utf-8") == before
    (folder / "ratings.jsonl").write_text(before + "no rating\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"ratings.jsonl, line \d+: "):
        dismiss_finding(sample.folder, KEY, "He had a second kettle.")
    assert read_dismissed(folder) == {}, "nothing is kept by halves"


def test_a_project_that_was_never_checked_says_so(sample: ProjectFolder) -> None:
    (sample.folder / "evaluation" / "atlas.json").unlink()
    found = findings_of(sample)
    assert (found.checked, found.findings) == (False, ())
    with pytest.raises(UsageError, match="Nothing was checked"):
        dismiss_finding(sample.folder, KEY, "No error.")
