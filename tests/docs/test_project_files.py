"""CITATION.cff and the workflow of the checks are as those who read them expect."""

from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

import yaml

from fabula.cli.main import main
from fabula.evaluators import evaluators
from fabula.systems import systems
from tree import ROOT

if TYPE_CHECKING:
    import pytest

CITED: Final[dict[str, Any]] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
# Of the Citation File Format 1.2.0; those that we have.
KINDS: Final = {"article", "conference-paper", "unpublished"}
STATES: Final = {"preprint", "submitted"}


def test_the_citation_has_the_form_that_its_readers_want() -> None:
    assert CITED["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "version", "license", "references"} <= set(CITED)
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert (CITED["version"], CITED["license"]) == (project["version"], project["license"])
    for paper in CITED["references"]:
        assert (
            {"type", "title", "authors", "year"}
            <= set(paper)
            <= {"type", "title", "authors", "year", "conference", "status"}
        )
        assert paper["type"] in KINDS
        assert paper.get("status", "preprint") in STATES
        assert all(set(who) in ({"name"}, {"given-names", "family-names"}) for who in paper["authors"])
        assert 2020 <= paper["year"] <= 2026


def test_every_system_is_of_a_paper_that_is_cited_with_the_same_authors() -> None:
    cited = {paper["title"]: paper for paper in CITED["references"]}
    for method in (*systems().values(), *evaluators().values()):
        paper = cited.get(re.sub(r" \(section .*", "", method.paper["title"]))
        if paper and "name" not in paper["authors"][0]:
            names = [f"{who['given-names']} {who['family-names']}" for who in paper["authors"]]
            assert names == method.paper["authors"], method.name
    assert {s.name for s in systems().values()} - {s.name for s in systems().values() if s.paper["title"] in cited} == {
        "best-of-n",  # ours, and so are the next three without a paper
        "chosen-draft",
        "end-to-end",
        "long-reply",
        "self-revision",
        "vanilla",
    }


def test_the_workflow_runs_what_there_is() -> None:
    flow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    steps = [step["run"] for job in flow["jobs"].values() for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    asked = [target for step in steps for target in re.findall(r"make ([a-z-]+)", step)]
    assert asked == ["check", "test", "docs"]
    assert set(asked) <= targets
    with (ROOT / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["requires-python"]
    assert [str(version) for version in flow["jobs"]["test"]["strategy"]["matrix"]["python"]] == [
        "3.11",
        "3.12",
        "3.13",
    ]
    assert wanted == ">=3.11,<3.14"


def test_every_extra_is_on_the_page_that_says_what_to_install() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    table = "".join(line for line in page.splitlines() if line.startswith("|"))
    assert not [name for name in extras if f"`{name}`" not in table], "give it a line in docs/how-to/install.md"
    of_all = page.partition("| `all` |")[0]
    named = re.findall(r"\[([a-z,]+)\]", str(extras["all"]))
    assert not [name for name in ",".join(named).split(",") if name and f"`{name}`" not in of_all]


def test_the_page_on_python_shows_the_twenty_lines() -> None:
    text = (ROOT / "docs" / "how-to" / "embed-in-python.md").read_text(encoding="utf-8")
    code = (ROOT / "examples" / "twenty_lines.py").read_text(encoding="utf-8")
    assert len(code.splitlines()) <= 20
    assert code.partition("\n\n")[2] in text


def test_readme_fits_one_screen_and_has_few_links() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    assert len(re.findall(r"\]\(", text)) <= 20


def test_the_demo_reads_what_fetching_a_model_prints(capsys: pytest.CaptureFixture[str]) -> None:
    (key,) = re.findall(r'demo-model\.json"\)\)\["(\w+)"\]', (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert main(["models", "pull", "--json-schema"]) == 0
    assert key in json.loads(capsys.readouterr().out)["$defs"]["ChosenModel"]["required"]
