from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.app.findings import count_again, dismiss_finding, findings_of, mended
from fabula.base.errors import UnknownNameError, UsageError
from fabula.evaluators.atlas.dismissed import read_dismissed
from fabula.project.sample import copy_sample

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.project.folder import Project

KEY = "dcf5212a"


@pytest.fixture
def sample(tmp_path: Path) -> Project:
    return copy_sample(tmp_path / "sample")


def save(project: Project, name: str, text: str) -> None:
    with project.lock(), project.journal as journal:
        project.edit(journal, name, text)


def test_a_finding_has_both_sentences_as_they_stand(sample: Project) -> None:
    found = findings_of(sample)
    assert found.checked
    (one,) = found.left
    assert (one.key, one.kind, one.sure, one.stale) == (KEY, "possession", "certain", False)
    x, y = one.places
    assert (x.scene, y.scene, x.paragraph) == (2, 3, 34)
    assert x.now is not None
    assert x.now.part.name == "rising-action"
    assert x.now.sentence == x.sentence
    assert x.now.pieces(0)["focus"].startswith("After the New Year it was the kettle")


def test_mending_a_sentence_changes_it_alone_and_makes_the_finding_stale(sample: Project) -> None:
    found = findings_of(sample)
    new = mended(found, KEY, "y", " He had brought me a mug of tea from his flask. ")
    assert (new.name, new.old.count("\n\n")) == ("climax", new.new.count("\n\n"))
    assert "from his flask.\u0020" in new.new or "from his flask. " in new.new
    save(sample, new.name, new.new)
    (one,) = findings_of(sample).findings
    assert one.stale
    assert one.place("y").now is None
    assert one.place("x").now is not None
    with pytest.raises(UsageError, match="does not stand in the story any more"):
        mended(findings_of(sample), KEY, "y", "Tea.")


def test_a_sentence_that_moved_is_found_again(sample: Project) -> None:
    before = findings_of(sample).find(KEY).place("y").now
    assert before is not None
    save(sample, "climax", f"It was late.\n\n{before.part.text}")
    after = findings_of(sample).find(KEY).place("y").now
    assert after is not None
    assert after.start == before.start + len("It was late.\n\n")
    assert after.sentence == before.sentence


@pytest.mark.parametrize(("wording", "said"), [(" \n", "is empty"), (None, "is the old one")])
def test_a_wording_has_to_be_a_new_one(sample: Project, wording: str | None, said: str) -> None:
    found = findings_of(sample)
    now = found.find(KEY).place("x").now
    assert now is not None
    with pytest.raises(UsageError, match=said):
        mended(found, KEY, "x", now.sentence if wording is None else wording)
    with pytest.raises(UsageError, match="places x and y"):
        found.find(KEY).place("z")
    with pytest.raises(UnknownNameError):
        mended(found, "nothing", "x", "Tea.")


def test_a_dismissal_is_what_the_command_line_writes_and_can_be_taken_back(sample: Project) -> None:
    dismiss_finding(sample.folder, KEY, "He had a second kettle.")
    assert read_dismissed(sample.folder / "evaluation") == {KEY: "He had a second kettle."}
    found = findings_of(sample)
    assert (found.left, found.findings[0].dismissed) == ((), "He had a second kettle.")
    assert "second kettle" in (sample.folder / "evaluation" / "atlas.html").read_text(encoding="utf-8")
    count_again(sample.folder, KEY)
    assert len(findings_of(sample).left) == 1
    with pytest.raises(UnknownNameError):
        count_again(sample.folder, KEY)
    with pytest.raises(UsageError, match="no reason"):
        dismiss_finding(sample.folder, KEY, " - ")


def test_a_project_that_was_never_checked_says_so(sample: Project) -> None:
    (sample.folder / "evaluation" / "atlas.json").unlink()
    found = findings_of(sample)
    assert (found.checked, found.findings) == (False, ())
    with pytest.raises(UsageError, match="Nothing was checked"):
        dismiss_finding(sample.folder, KEY, "No error.")
