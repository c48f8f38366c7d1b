"""DialogSum in every form in which it goes round, and dialogues of one's own."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from typing import TYPE_CHECKING

import pytest

from fabula.app.training_summaries import dialogue_source, read_dialogues
from fabula.base.errors import UnknownNameError, UsageError
from fabula.data.dialogsum import Dialogue, dialogues, splits

if TYPE_CHECKING:
    from pathlib import Path

HI = "#Person1#: Hi.\n#Person2#: It's late."


def row(name: str, dialogue: str = HI) -> dict[str, str]:
    return {"fname": name, "dialogue": dialogue, "summary": f"of {name}", "topic": "time"}


def put(path: Path, rows: list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))


def table(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\r\n").writerows([("id", "dialogue", "summary", "topic"), *rows])


def test_files_as_published_are_read_also_below_their_folder(tmp_path: Path) -> None:
    put(tmp_path / "DialogSum_Data/dialogsum.train.jsonl", [row("train_0"), row("train_1", HI + "\n#Person1#: So?")])
    put(tmp_path / "DialogSum_Data/dialogsum.dev.jsonl", [row("dev_0", "#Person1#: Dev.")])
    three = {f"{what}{n}": f"{what} {n}" for what in ("summary", "topic") for n in (1, 2, 3)}
    put(tmp_path / "DialogSum_Data/dialogsum.test.jsonl", [{"fname": "test_0", "dialogue": HI, **three}])
    assert splits(tmp_path) == ("train", "development", "test")
    assert [one.id for one in read_dialogues(tmp_path, "train")] == ["train_0", "train_1"]
    assert read_dialogues(tmp_path, "development") == (Dialogue("dev_0", "#Person1#: Dev.", "of dev_0", "time"),)
    test = read_dialogues(tmp_path, "test")[0]
    assert (test.summary, test.topic) == ("summary 1", "topic 1")
    assert test.references == ("summary 1", "summary 2", "summary 3")
    assert dialogue_source(tmp_path, 2).licence == "CC BY-NC-SA 4.0"


def test_lines_of_the_archive_are_dictionaries_of_python(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "DialogSum_Data.zip", "w") as archive:
        archive.writestr("DialogSum_Data/train.json", "".join(f"{row(f'train_{n}', f'{HI} {n}')}\n" for n in range(3)))
        archive.writestr("DialogSum_Data/dev.jsonl", json.dumps(row("dev_0", "#Person1#: It's dev.")) + "\n")
    assert [one.dialogue[-1] for one in read_dialogues(tmp_path, "train")] == ["0", "1", "2"]
    assert read_dialogues(tmp_path, "development")[0].dialogue == "#Person1#: It's dev."
    assert splits(tmp_path) == ("train", "development")


def test_no_line_of_the_archive_is_run(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text("{'fname': __import__('os').getcwd()}\n")
    with pytest.raises(UsageError, match=r"line 1: neither JSON nor a dictionary"):
        dialogues(tmp_path, "train")


def test_a_table_has_a_row_for_each_summary_of_a_test_dialogue(tmp_path: Path) -> None:
    table(tmp_path / "train.csv", [("train_0", HI.replace("\n", "\r\n"), "one", "t"), ("train_1", HI, "two", "t")])
    table(tmp_path / "validation.csv", [("dev_0", "#Person1#: Dev.", "three", "t")])
    table(tmp_path / "test.csv", [("test_0_1", HI, "a", "t"), ("test_0_2", HI, "b", "t"), ("test_1_1", HI, "c", "t")])
    assert [one.dialogue for one in dialogues(tmp_path, "train")] == [HI, HI]
    assert [one.references for one in dialogues(tmp_path, "test")] == [("a", "b"), ("c",)]
    assert [one.id for one in dialogues(tmp_path, "test")] == ["test_0", "test_1"]


def test_without_a_split_for_development_the_same_twentieth_stands_aside(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "train.jsonl.gz", "wt", encoding="utf-8") as file:
        file.write("".join(json.dumps(row(f"d{n}", f"{HI} {n}")) + "\n" for n in range(400)))
    train, aside = (read_dialogues(tmp_path, split) for split in ("train", "development"))
    assert len(train) + len(aside) == 400
    assert len(aside) == 20
    assert not {one.id for one in train} & {one.id for one in aside}
    assert dialogue_source(tmp_path, 400).licence == "not stated"


def test_dialogues_of_ones_own_need_no_names(tmp_path: Path) -> None:
    put(tmp_path / "train.jsonl", [{"dialogue": f"{HI} {n}", "summary": "s"} for n in range(2)])
    assert [one.id for one in dialogues(tmp_path, "train")] == ["line 1", "line 2"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (row("a") | {"summary": " "}, "the dialogue or its summary is empty"),
        ({"fname": "a", "dialogue": HI}, "there is no 'summary'"),
        (row("b") | {"fname": "twice"}, "'twice' is already at"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, line: dict[str, str], message: str) -> None:
    put(tmp_path / "train.jsonl", [row("twice"), line])
    with pytest.raises(UsageError, match="line 2") as caught:
        dialogues(tmp_path, "train")
    assert message in str(caught.value)


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"contains no dialogues of the split train \(dialogsum.train.jsonl, train.csv"
    ):
        read_dialogues(tmp_path, "train")
    with pytest.raises(UnknownNameError, match="dev"):
        dialogues(tmp_path, "dev")  # type: ignore[arg-type] # what a caller must not say
    put(tmp_path / "train.jsonl", [row("train_0")])
    put(tmp_path / "dev.jsonl", [row("dev_0")])
    with pytest.raises(UsageError, match=r"train_0 of the training split is dev_0 of the development split"):
        read_dialogues(tmp_path, "train")
