"""`fabula lab reproduce` on a small data folder made here, so that it also runs where the ground truth is absent."""

from __future__ import annotations

import io
import json
from typing import IO, TYPE_CHECKING

import pytest

from fabula.data import fetching

if TYPE_CHECKING:
    from pathlib import Path

    from commandline import Cli

SNAP = {
    "nmf_first_component": [1.0, 2.0, 1.0],
    "sum_normalised": [0.25, 0.5, 0.25],
    "table4_human": {"snap": [3.5714, 3.8571, 3.5714, 4.4286], "vanilla": [2.4286, 3.0, 2.5714, 3.7143]},
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("FABULA_DATA", raising=False)
    folder = tmp_path / "data"
    (folder / "snap").mkdir(parents=True)
    write(folder, SNAP)
    return folder


def write(folder: Path, snap: object) -> None:
    (folder / "snap" / "published.json").write_text(json.dumps(snap))


def words(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_a_table_prints_published_recomputed_and_match(cli: Cli, data: Path) -> None:
    ran = cli("lab", "reproduce", "snap-table-4", "--data", str(data))
    assert ran.code == 0
    assert "Data: snap (as the paper; SNAP paper)" in ran.out
    assert ["snap,", "linearity", "4.4286", "4.4286", "yes"] in words(ran.out)
    assert "8 of 8 published numbers match." in ran.out


def test_all_tables_name_what_is_not_available(cli: Cli, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FABULA_DATA", str(data))
    ran = cli("lab", "reproduce")
    assert ran.code == 0
    assert "Not available: human_stories.jsonl or hanna_stories_annotations.csv not in" in ran.out
    assert "tables are not available: ttcw-figure-1, " in ran.out
    assert "github.com/dig-team/hanna-benchmark-asg has hanna_metric_scores.csv and rankings/" in ran.out
    assert "(made for this table and not public: rouge-score's values" in ran.out
    assert "atlas-table-11: Precision, recall, F1 with GPT-5.4 mini, Table 11" in ran.out


def test_a_number_that_differs_is_shown_and_ends_with_1(cli: Cli, data: Path) -> None:
    write(data, SNAP | {"sum_normalised": [0.25, 0.51, 0.25]})
    ran = cli("lab", "reproduce", "snap", "--data", str(data))
    assert ran.code == 1
    assert ["connectivity", "0.5100", "0.5000", "NO"] in words(ran.out)
    second = cli("lab", "reproduce", "snap", "--data", str(data), "--json")
    assert second.code == 1
    assert (second.json["matching"], second.json["differing"]) == (10, 1)
    (wrong,) = [row for table in second.json["tables"] for row in table["rows"] if row["match"] is False]
    assert (wrong["name"], wrong["published"], wrong["recomputed"], wrong["value"]) == (
        "connectivity",
        "0.5100",
        "0.5000",
        0.5,
    )
    assert len(second.json["tables"][0]["files"][0]["sha256"]) == 64


def test_a_table_that_was_named_and_is_absent_ends_with_1(cli: Cli, data: Path) -> None:
    ran = cli("lab", "reproduce", "hanna", "--data", str(data), "--json")
    assert ran.code == 1
    assert ran.json["absent"] == ["hanna-correlations", "hanna-text"]
    assert ran.json["tables"][0]["why"].startswith("human_ratings.json or hanna_metric_scores.csv, ")


def test_long_tables_are_folded_unless_asked_for(cli: Cli, data: Path) -> None:
    (data / "bradley_terry").mkdir()
    wins = [[0.0 if a == b else 1.0 for a in range(31)] for b in range(31)]
    strengths = [0.0] * 30 + [0.5]
    (data / "bradley_terry" / "synthetic_31x1.json").write_text(json.dumps({"wins": wins, "log_centred": strengths}))
    ran = cli("lab", "reproduce", "--data", str(data))
    assert ran.code == 1
    assert ["31x1", "31", "numbers", "30", "of", "31"] in words(ran.out)
    assert "45 of 46 computed numbers, which no paper prints, match" in ran.out
    assert ["31x1,", "system", "30", "0.500000", "0.000000", "NO"] in words(ran.out.replace("-0.000000", "0.000000"))
    assert "31x1, system 5 " not in ran.out
    assert "31x1, system 5 " in cli("lab", "reproduce", "--data", str(data), "--all").out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "No data folder is set. Specify"),
        (("--data", "nowhere"), "There is no data folder nowhere"),
        (("snap-table-5", "--data", "data"), "Did you mean 'snap-table-4'"),
        (("--fetch", "hana", "--data", "data"), "Unknown data set 'hana'"),
    ],
)
def test_what_cannot_be_done_is_said(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], expected: str
) -> None:
    monkeypatch.delenv("FABULA_DATA", raising=False)
    ran = cli("lab", "reproduce", *arguments)
    assert ran.code == 2
    assert expected in ran.err


def test_a_file_that_was_changed_since_it_was_pinned_costs_its_own_tables_alone(cli: Cli, data: Path) -> None:
    (data / "storysumm").mkdir()
    for name in ("storysumm.jsonl", "expected.json"):
        (data / "storysumm" / name).write_text("{}\n")
    (data / "storysumm" / "SHA256SUMS").write_text("0" * 64 + "  storysumm.jsonl\n")
    ran = cli("lab", "reproduce", "--data", str(data))
    assert ran.code == 1
    assert "storysumm/SHA256SUMS says 0000" in ran.out
    assert ["snap,", "linearity", "4.4286", "4.4286", "yes"] in words(ran.out)
    assert cli("lab", "reproduce", "storysumm", "--data", str(data)).code == 1


@pytest.mark.parametrize("snap", [{"table4_human": SNAP["table4_human"]}, SNAP | {"nmf_first_component": [1.0]}])
def test_data_that_are_not_whole_cost_their_own_table_alone(cli: Cli, data: Path, snap: object) -> None:
    write(data, snap)
    ran = cli("lab", "reproduce", "--data", str(data), "--json")
    assert ran.code == 1
    why = {table["name"]: table["why"] for table in ran.json["tables"]}
    assert not why["snap-table-4"]
    assert "snap/published" in why["snap-weights"]
    assert "snap-weights" in ran.json["absent"]


def test_fetching_shows_the_licence_and_pins_checksums(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def web(url: str) -> IO[bytes]:
        return io.BytesIO(url.encode())

    monkeypatch.setattr(fetching, "over_https", web)
    ran = cli("lab", "reproduce", "--fetch", "tell-me-a-story", "--data", str(tmp_path / "new"))
    assert ran.code == 0
    assert "Licence: CC BY 4.0" in ran.err
    assert "do not publish the plain text" in ran.err
    assert ran.out.count("(pinned now)") == 4
    second = cli("lab", "reproduce", "--fetch", "tell-me-a-story", "--data", str(tmp_path / "new"), "--json")
    assert [file["checked"] for file in second.json["files"]] == ["as at the first fetch"] * 4
