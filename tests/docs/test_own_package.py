"""A system, an evaluator and models in a package of their own, as the how-to pages make it, installed by pip."""

from __future__ import annotations

import json
import shutil
import tomllib
from typing import TYPE_CHECKING, Any, Literal

import pytest
from markdown_it import MarkdownIt

from fabula.app.new_method import new_method
from tree import ROOT
from wheels import environment_with, ran, wheel_of

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    *(ROOT / "docs/how-to" / f"own-{kind}.md" for kind in ("system", "evaluator", "provider")),
    ROOT / "docs/reference/plugin.md",
]
STORY = "The lamp was dark when Mara came home. She lit it, for a boat was late.\n"


def files_of(page: str) -> dict[str, str]:
    """The files that a page shows: blocks whose first line is a comment with the file's name."""
    blocks = [token.content for token in MarkdownIt().parse(page) if token.type == "fence"]
    named = [block.partition("\n")[0].removeprefix("# ") for block in blocks]
    return {name: block for name, block in zip(named, blocks, strict=True) if name.endswith((".py", "pyproject.toml"))}


def project_of(pages: list[str]) -> str:
    """One `pyproject.toml` with the entry points of all pages."""
    points: dict[str, Any] = {}
    for page in pages:
        points |= tomllib.loads(files_of(page)["pyproject.toml"])["project"]["entry-points"]
    tables = [
        f'[project.entry-points."{group}"]\n' + "".join(f'{name} = "{value}"\n' for name, value in of.items())
        for group, of in points.items()
    ]
    return '[project]\nname = "my-papers"\nversion = "1.0"\n' + "\n".join(tables)


@pytest.mark.parametrize("kind", ["system", "evaluator"])
def test_the_package_takes_along_what_is_no_python(tmp_path: Path, kind: Literal["system", "evaluator"]) -> None:
    project = tomllib.loads(files_of(PAGES[0].read_text(encoding="utf-8"))["pyproject.toml"])
    taken = project["tool"]["setuptools"]["package-data"]["*"]
    folder = tmp_path / "mine"
    new_method(folder, kind)
    files = {path for path in folder.rglob("*") if path.is_file()}
    assert files == {path for pattern in [*taken, "*.py"] for path in folder.glob(pattern)}
    assert f'"*" = {json.dumps(taken)}' in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_package_of_their_own_is_listed_run_and_tried(tmp_path: Path) -> None:
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    package = tmp_path / "package"
    inner = package / "my_papers"
    inner.mkdir(parents=True)
    (inner / "__init__.py").write_text("", encoding="utf-8")
    (inner / "models.py").write_text(files_of(pages[2])["my_papers/models.py"], encoding="utf-8")
    (inner / "extras.py").write_text(files_of(pages[3])["my_papers/extras.py"], encoding="utf-8")
    (package / "pyproject.toml").write_text(project_of(pages), encoding="utf-8")
    new_method(inner / "lantern")
    new_method(inner / "clarity", "evaluator")
    python = environment_with(wheel_of(package, tmp_path), tmp_path / "env")
    shutil.rmtree(package)

    here = tmp_path / "here"
    here.mkdir()
    (here / "brief.md").write_text("Write a story of about 60 words about Mara, who keeps a light.\n", encoding="utf-8")
    (here / "story.md").write_text(STORY, encoding="utf-8")

    def said(*words: str) -> Any:  # noqa: ANN401 - JSON data
        done = ran(python, here, *words, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    assert _from(said("fabula", "systems")["methods"])["lantern"] == "my-papers 1.0"
    assert _from(said("fabula", "evaluate")["methods"])["clarity"] == "my-papers 1.0"
    assert {"form": "keeper:NAME", "what": "from my-papers 1.0"} in said("fabula", "models")["kinds"]
    tried = said("fabula.testing", "lantern", "clarity", "keeper:mara")["tried"]
    assert {name: len(rules) for name, rules in tried.items()} == {"lantern": 17, "clarity": 12, "keeper:mara": 5}
    assert not [one for rules in tried.values() for one in rules if one["broken"]]
    story = said("fabula", "write", "brief.md", "--system", "lantern", "--model", "keeper:mara", "--set", "parts=2")
    assert story["words"] > 20
    evaluated = said("fabula", "evaluate", "clarity", "story.md", "brief", "--model", "keeper:mara")
    assert evaluated["reports"]["clarity"]["evaluator"] == "clarity"
    (here / "lamp.ini").write_text("[story]\ntitle = The Lamp\nabout = Mara keeps a light.\n", encoding="utf-8")
    said("fabula", "new", "lamp", "--brief", "lamp.ini")
    assert (here / "lamp" / "brief.md").read_text(encoding="utf-8") == "# The Lamp\n\nMara keeps a light.\n"
    assert said("fabula", "export", "brief", "-f", "html", "-o", "lamp.html")["format"] == "html"
    assert (here / "lamp.html").read_text(encoding="utf-8").startswith("<!doctype html><title>brief</title><section>")
    assert ran(python, here, "fabula", "longest", "brief").stdout.startswith("Part ")
    broken = ran(python, here, "fabula", "longest", "nowhere")
    blamed = "The fault is in that code" in broken.stderr
    assert (broken.returncode, blamed) == (2, False), "an error of fabula's is one"
    assert "From packages: longest (my-papers 1.0)." in ran(python, here, "fabula", "--help").stdout
    assert "This project uses code from installed packages: the system lantern from my-papers 1.0" in (
        ran(python, here, "fabula", "update", "brief").stderr
    )


def _from(found: list[dict[str, Any]]) -> dict[str, str]:
    return {one["name"]: one["source"] for one in found}
