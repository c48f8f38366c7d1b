"""A folder with a `paper.toml` is a system or an evaluator; here is what such a folder holds."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Final

import pytest
from jinja2 import Environment, meta, nodes

from fabula.craft.planning import ROLE
from fabula.engine.methods import settings_of
from fabula.evaluators import evaluators
from fabula.systems import systems
from tree import PACKAGE, length

FOLDERS: Final = sorted(
    path
    for kind in ("systems", "evaluators")
    for path in (PACKAGE / kind).glob("*/")
    if path.is_dir() and not path.name.startswith("_")
)
_PROMPT_AT: Final = {"ask": 1, "reply": 1, "sample": 2, "ask_for": 2, "choose": 2}
each = pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: f"{path.parent.name}/{path.name}")
# Those that do more than their paper, in a program of their own.
apart = pytest.mark.parametrize(
    "folder", [path for path in FOLDERS if (path / "improved.py").is_file()], ids=lambda path: path.name
)


def trees(folder: Path) -> list[ast.Module]:
    return [ast.parse(path.read_text(encoding="utf-8")) for path in folder.glob("*.py") if path.stem[:5] != "test_"]


def strings(folder: Path) -> set[str]:
    """Every text literal of the folder's code."""
    nodes = [node for tree in trees(folder) for node in ast.walk(tree)]
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def prompts(folder: Path) -> set[str]:
    return {path.stem for path in (folder / "prompts").rglob("*.jinja")}


def test_folders_are_found() -> None:
    assert {"agents_room", "end_to_end"} <= {path.name for path in FOLDERS}


@each
def test_the_folder_is_whole(folder: Path) -> None:
    wanted = ("paper.toml", "README.md", "script.toml", "algorithm.py", "__init__.py", f"test_{folder.name}.py")
    assert not [name for name in wanted if not (folder / name).is_file()]
    assert bool(prompts(folder)) == bool(tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))["roles"])


@each
def test_the_paper_is_told(folder: Path) -> None:
    paper = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))
    assert not {"title", "authors", "year", "venue", "summary", "asks", "roles"} - set(paper)
    assert all(set(deviation) == {"where", "what"} for deviation in paper.get("deviations", ()))


@each
def test_algorithm_1_fits_on_a_screen(folder: Path) -> None:
    tree = ast.parse((folder / "algorithm.py").read_text(encoding="utf-8"))
    entry = "write" if folder.parent.name == "systems" else "evaluate"
    written = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == entry]
    assert [length(node) <= 60 for node in written] == [True]


@apart
def test_the_paper_stands_alone(folder: Path) -> None:
    """Nothing of ours is asked in the paper's file."""
    code = (folder / "algorithm.py").read_text(encoding="utf-8")
    assert not re.findall(r"\bours\b|\.aids\(|too_small_for|improved", code)


def test_no_prompt_asks_in_which_preset_it_is_or_whether_a_small_model_reads_it() -> None:
    found = {
        path.relative_to(PACKAGE): names
        for path in PACKAGE.rglob("*.jinja")
        if (names := {"aids", "improved", "faithful"} & meta.find_undeclared_variables(_parsed(path)))
    }
    assert not found


def _parsed(path: Path) -> nodes.Template:
    return Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))


@apart
def test_every_addition_says_what_was_measured_of_it(folder: Path) -> None:
    method = {**systems(), **evaluators()}[folder.name.replace("_", "-")]
    fields = [setting.name for setting in settings_of(method.config("improved")) if setting.group == "ours"]
    assert sorted(method.paper.get("ours", {})) == sorted(fields)


@each
def test_roles_are_called_by_the_code(folder: Path) -> None:
    roles = set(tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))["roles"])
    code = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    shared = {ROLE} if "plan_for" in code or "begin_plan(" in code else set()
    assert not roles - strings(folder) - shared


@each
def test_the_script_is_for_roles_that_are_there(folder: Path) -> None:
    paper = tomllib.loads((folder / "paper.toml").read_text(encoding="utf-8"))
    script = tomllib.loads((folder / "script.toml").read_text(encoding="utf-8"))
    assert not {name.partition(":")[0] for name in script.get("replies", {}) if "/" not in name} - set(paper["roles"])


@each
def test_every_prompt_file_is_used(folder: Path) -> None:
    used = strings(folder) | included(folder)
    names = {node.id for tree in trees(folder) for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if "write_prose" in names:
        used |= {"extend", "shorten"}  # craft.prose asks for them by name
    if "choose_one" in names:
        used.add("choose")  # craft.whole asks for it by name
    assert not prompts(folder) - used


@each
def test_every_prompt_that_is_named_is_there(folder: Path) -> None:
    named = set()
    for tree in trees(folder):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PROMPT_AT:
                at = _PROMPT_AT[node.func.attr]
                if len(node.args) > at and isinstance(given := node.args[at], ast.Constant):
                    named.add(given.value)
    assert not (named | included(folder)) - prompts(folder) - prompts(folder.parents[1] / "craft")


def included(folder: Path) -> set[str]:
    """Prompt files that other prompt files extend or include."""
    environment = Environment(autoescape=True)
    texts = [path.read_text(encoding="utf-8") for path in (folder / "prompts").rglob("*.jinja")]
    names = {name for text in texts for name in meta.find_referenced_templates(environment.parse(text))}
    return {Path(name).stem for name in names if name}
