"""The report of an experiment: its pages, what they lead to, and the same numbers as tables, data and logs."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote
from zipfile import ZipFile

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.reporting import as_page, write_report
from fabula.app.experiment.tables import as_csv, as_data, as_parquet, lines, paper_tables
from fabula.app.experiment.working import How, run_experiment
from fabula.base.errors import UsageError
from fabula.measure.report.formats import PaperTable, latex_of, markdown_of
from small_experiment import BASE, STORY, small_experiment

if TYPE_CHECKING:
    from fabula.app.experiment.results import Results


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with two briefs and a script."""
    return small_experiment(tmp_path)


async def do(home: Path, text: str = BASE) -> Results:
    (home / "exp.toml").write_text(text, encoding="utf-8")
    return await run_experiment(read_experiment(home / "exp.toml", {}), How(now=lambda: "now"))


JUDGED = BASE.replace('["end-to-end"]', '["end-to-end", { system = "end-to-end", label = "twin" }]') + (
    'evaluators = [{ evaluator = "pairwise", model = "scripted:judge.toml" }]\n'
)
_HREF = re.compile(r'href="([^"]+)"')


def judged(home: Path) -> str:
    """An experiment whose judge finds all stories alike."""
    (home / "judge.toml").write_text('[replies]\njudge = "Both <b>alike</b>.\\n\\nOverall: Same"\n', encoding="utf-8")
    return JUDGED


async def test_the_report_leads_to_stories_transcripts_and_verdicts(home: Path) -> None:
    results = await do(home, judged(home))
    written = write_report(results)
    folder = results.experiment.folder
    pages = {file.relative_to(folder): file.read_text("utf-8") for file in (folder / "report").glob("*.html")}
    pages[Path("report.html")] = written["html"].read_text("utf-8")
    assert {file.name for file in pages} == {
        "report.html", "runs-001.html", "verdicts-pairwise-001.html", "calls-pairwise-001.html",
    }  # fmt: skip
    for name, page in pages.items():
        for target in _HREF.findall(page):
            file, _, anchor = target.partition("#")
            found = (folder / name.parent / unquote(file)).resolve() if file else (folder / name).resolve()
            assert found.exists(), target
            if anchor:
                assert f'id="{anchor}"' in pages[found.relative_to(folder.resolve())], target
    run = results.runs[0]
    shown = pages[Path("report/runs-001.html")]
    assert f"<blockquote>{STORY}</blockquote>" in shown
    assert all(call.path in shown for call in run.calls)
    assert "verdicts-pairwise-001.html#verdict-0" in shown
    assert "Both &lt;b&gt;alike&lt;/b&gt;." in pages[Path("report/verdicts-pairwise-001.html")]
    assert json.dumps(as_data(results), allow_nan=False)


async def test_pages_of_runs_are_written_again_only_where_something_changed(home: Path) -> None:
    results = await do(home, judged(home))
    write_report(results)
    pages = {file: file.stat().st_ino for file in (results.experiment.folder / "report").iterdir()}
    write_report(await do(home, judged(home)))
    assert {file: file.stat().st_ino for file in pages} == pages
    (first, *_) = (file for file in pages if file.name.startswith("runs"))
    first.unlink()
    write_report(results)
    assert first.is_file()
    fewer = await do(home, BASE)
    write_report(fewer)
    assert sorted(file.name for file in first.parent.iterdir()) == ["pages.json", "runs-001.html"]


async def test_a_page_that_names_files_elsewhere_takes_none_of_them_away(home: Path) -> None:
    results = await do(home)
    write_report(results)
    kept = results.experiment.folder / "kept.html"
    kept.write_text("mine", encoding="utf-8")
    known = results.experiment.folder / "report" / "pages.json"
    known.write_text(json.dumps({"../kept.html": "x", "runs-009.html": "y"}), encoding="utf-8")
    write_report(results)
    assert kept.is_file()
    known.write_text("[1]", encoding="utf-8")
    write_report(results)
    assert "runs-001.html" in known.read_text("utf-8")


async def test_numbers_of_runs_stand_in_the_page_and_no_text_ends_its_script(home: Path) -> None:
    results = await do(home)
    page = as_page(results)
    data = json.loads(page.partition('id="runs-data">')[2].partition("</script>")[0])
    assert [data["contenders"][row[0]] for row in data["runs"]] == [r.trial.contender.label for r in results.runs]
    assert [row[4] for row in data["runs"]] == [run.words for run in results.runs]
    evil = replace(results.runs[0].trial, brief_id="</script><b>")
    shown = as_page(replace(results, runs=(replace(results.runs[0], trial=evil), *results.runs[1:])))
    assert "</script><b>" not in shown
    assert page.count("<script") == 2
    assert "script-src 'sha256-" in page


async def test_tables_for_papers_have_differences_first_and_nothing_breaks_them(home: Path) -> None:
    results = await do(home, judged(home))
    tables = list(paper_tables(results))
    assert [table.caption.partition(":")[0] for table in tables][:2] == ["pairwise", "surface"]
    evil = PaperTable("50 % & more", ("of|this", "$x_1$"), [("a\nb", "\\input{/etc/passwd}"), ("~^", "<{#}>")])
    markdown = markdown_of([evil])
    assert "| of\\|this | $x_1$ |" in markdown
    assert "| a b |" in markdown
    latex = latex_of([evil])
    assert r"50 \% \& more" in latex
    assert r"\textbackslash{}input\{/etc/passwd\}" in latex
    assert r"\textasciitilde{}\textasciicircum{} & \textless{}\{\#\}\textgreater{} \\" in latex


async def test_differences_have_both_systems_and_runs_brief_and_seed_in_columns(home: Path) -> None:
    results = await do(home, judged(home))
    read = list(csv.DictReader(io.StringIO(as_csv(results))))
    apart = [line for line in read if line["against"]]
    assert {(line["contender"], line["against"]) for line in apart} == {
        ("end-to-end-improved-small", "twin-improved-small")
    }
    assert not [line for line in read if line["what"].startswith("difference/")]
    single = [line for line in read if line["brief"]]
    assert {line["seed"] for line in single} == {"1"}
    assert {line["system"] for line in single} == {"end-to-end"}


async def test_parquet_has_the_lines_of_the_csv_or_says_what_to_install(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = await do(home)
    if find_spec("pyarrow") is not None:
        found = import_module("pyarrow.parquet").read_table(io.BytesIO(as_parquet(results))).to_pylist()
        assert found == lines(results)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pyarrow, which is not installed.*\[parquet\]"):
        write_report(results, ["parquet"])
    assert (results.experiment.folder / "report.html").is_file()


async def test_logs_have_a_sample_for_each_run_with_its_calls_and_numbers(home: Path) -> None:
    results = await do(home, judged(home) + "replicates = 2\n")
    folder = write_report(results, ["eval"])["eval"]
    assert sorted(file.name for file in folder.iterdir()) == [
        "end-to-end-improved-small.eval",
        "twin-improved-small.eval",
    ]
    with ZipFile(folder / "twin-improved-small.eval") as log:
        header = json.loads(log.read("header.json"))
        assert (header["version"], header["status"]) == (2, "success")
        assert header["results"]["completed_samples"] == 4
        runs = results.of(results.experiment.contenders[1])
        for run in runs:
            sample = json.loads(log.read(f"samples/{run.trial.brief_id}_epoch_{run.trial.seed}.json"))
            assert [event["metadata"]["path"] for event in sample["events"]] == [call.path for call in run.calls]
            assert sample["scores"]["surface/words"]["value"] == run.words
            assert sample["metadata"]["verdicts"]
            assert sample["output"]["completion"] == STORY
        assert len(json.loads(log.read("summaries.json"))) == len(runs)
