"""Systems and evaluators from outside: folders by their path, and packages that are installed."""

from __future__ import annotations

import py_compile
import re
import shutil
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ModelError, PluginError, UnknownNameError
from fabula.base.plugins import plugins
from fabula.cli.main import main
from fabula.engine.folders import digest_of, is_path, package_of
from fabula.engine.papers import problems_of
from fabula.engine.roles import own_model
from fabula.evaluators import evaluators
from fabula.evaluators import find as find_evaluator
from fabula.models.base import Message, Request
from fabula.project.brought import GROUP
from fabula.project.casting import Environment, open_model
from fabula.project.settings import ModelTable, Settings
from fabula.project.trust import TrustError
from fabula.story import Brief, Story
from fabula.story.export import Meta
from fabula.story.export import find as find_format
from fabula.systems import CATALOGUE, find, system_of, systems
from outside import PAPER, install, lay

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "path"), [("./x", True), ("~/x", True), ("a/x", True), ("a\\x", True), ("a-x", False)]
)
def test_a_path_is_told_from_a_name(name: str, path: bool) -> None:  # noqa: FBT001 - a case
    assert is_path(name) is path


def test_a_folder_is_a_system_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay(tmp_path / "my_paper")
    monkeypatch.chdir(tmp_path)
    system = find("./my_paper")
    assert (system.name, system.source, system.spec) == ("my-paper", str(folder), str(folder))
    assert system.config("faithful", {"turns": "3"}).turns == 3
    assert system.algorithm.write.__module__.endswith(".algorithm")
    assert "my-paper" not in systems()


def test_a_name_that_is_a_folder_here_says_how_its_path_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(tmp_path / "my_paper")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownNameError, match=r"Unknown system 'my_paper'. Did you mean './my_paper'"):
        find("my_paper")


def test_what_lies_compiled_is_never_run(tmp_path: Path) -> None:
    folder = lay(tmp_path / "my_paper")
    before = digest_of(folder)
    (tmp_path / "evil.py").write_text("raise SystemExit('run')\n", encoding="utf-8")
    cache = folder / "__pycache__"
    cache.mkdir()
    tag = sys.implementation.cache_tag
    for name in ("__init__", "config", "algorithm"):
        py_compile.compile(
            str(tmp_path / "evil.py"),
            str(cache / f"{name}.{tag}.pyc"),
            dfile=str(folder / f"{name}.py"),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    shutil.copy(cache / f"config.{tag}.pyc", folder / "extra.pyc")
    (cache / "__init__.py").write_text("raise SystemExit('run')\n", encoding="utf-8")
    system = find(str(folder))
    assert system.config().turns == 1
    for inner in ("extra", "__pycache__"):
        with pytest.raises(PluginError, match=f"there is no module '{inner}' here"):
            system.module(inner)
    (folder / "extra.pyc").unlink()
    assert digest_of(folder) == before


def test_another_file_is_another_digest_and_another_package(tmp_path: Path) -> None:
    folder = lay(tmp_path / "my_paper")
    before, package = digest_of(folder), package_of(folder)
    (folder / "prompts" / "story.jinja").write_text("{% block user %}Other.{% endblock %}", encoding="utf-8")
    assert digest_of(folder) != before
    assert package_of(folder) != package


def test_a_link_in_a_folder_is_refused(tmp_path: Path) -> None:
    folder = lay(tmp_path / "my_paper")
    (folder / "more.py").symlink_to(tmp_path / "elsewhere.py")
    with pytest.raises(PluginError, match="is not a plain file"):
        digest_of(folder)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("paper.toml", "title = ", "is not valid TOML"),
        ("paper.toml", PAPER.replace('title = "Mine"', ""), "title is missing: Title of the paper"),
        ("paper.toml", PAPER.replace("2026", '"2026"'), "year must be a whole number"),
        ("config.py", "import nowhere_at_all\n", "there is no module 'nowhere_at_all' here; if a package contains it,"),
        ("config.py", "1 / 0\n", r"ZeroDivisionError: division by zero \(config.py, line 1\)"),
        ("config.py", "def (:\n", "SyntaxError"),
        ("config.py", "Other = 1\n", "has no attribute 'Config'"),
    ],
)
def test_a_broken_folder_says_what_is_wrong(tmp_path: Path, file: str, text: str, said: str) -> None:
    folder = lay(tmp_path / "my_paper")
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(PluginError, match=said):
        find(str(folder)).config()


def test_a_folder_without_a_paper_or_with_a_name_of_ours_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"has no paper.toml. Give the folder of a system"):
        find(str(tmp_path))
    with pytest.raises(PluginError, match=r"has the same name as fabula's own system 'snap'. Rename the folder"):
        find(str(lay(tmp_path / "snap")))


def test_a_settings_file_names_a_folder_only_with_trust(tmp_path: Path) -> None:
    folder = lay(tmp_path / "theirs" / "my_paper")
    file = folder.parent / "fabula.toml"
    file.write_text('system = "./my_paper"\n', encoding="utf-8")
    settings = Settings.read(file).at(file.parent)
    with pytest.raises(TrustError, match=r"would run the code in .*my_paper, and you have not allowed this."):
        system_of(settings)
    typed = Settings.read(file).at(file.parent).with_({"system": str(folder)})
    assert system_of(typed).name == "my-paper"


def test_installed_packages_bring_systems_and_evaluators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, {"fabula.systems": {"My_Paper": "ours_and_more.my_paper"}})
    system = find("my-paper")
    assert (system.name, system.source, system.spec) == ("my-paper", "more-papers 1.2", "my-paper")
    assert system.config().turns == 1
    assert system.algorithm.__name__ == "ours_and_more.my_paper.algorithm"
    assert "my-paper" in systems()
    assert "my-paper" not in evaluators()
    with pytest.raises(UnknownNameError, match=r"Did you mean 'my-paper'\?"):
        find("my-papre")


def test_a_broken_package_is_named_and_harms_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(
        tmp_path,
        monkeypatch,
        {
            "fabula.systems": {
                "my-paper": "ours_and_more.my_paper",
                "gone": "ours_and_more.gone",
                "no-package": "nowhere.at_all",
                "function": "ours_and_more.my_paper:write",
                "snap": "ours_and_more.my_paper",
                "Not a name": "ours_and_more.my_paper",
            }
        },
    )
    assert set(systems()) - set(CATALOGUE.own()) == {"my-paper"}
    said = CATALOGUE.problems()
    assert "The system 'gone' of more-papers 1.2 is left out" in said["gone"]
    assert re.search(r"There is no folder .*gone\. Give the folder of a system", said["gone"])
    assert "'nowhere.at_all' is not a package that can be imported" in said["no-package"]
    assert "'ours_and_more.my_paper:write' is not a package" in said["function"]
    assert "fabula already has one with that name and uses its own. Ask the" in said["snap"]
    assert "lists 'Not a name' in its group fabula.systems, which is not a valid name." in said["not a name"]
    assert find("snap").source == ""
    with pytest.raises(PluginError, match=r"'gone' of more-papers 1.2 is left out"):
        find("gone")
    assert find_evaluator("surface").source == ""


def test_the_fault_in_an_algorithm_is_not_fabulas(tmp_path: Path) -> None:
    folder = lay(tmp_path / "my_paper")
    (folder / "algorithm.py").write_text("async def write(brief, run, config):\n    return {}['a']\n", encoding="utf-8")
    system = find(str(folder))
    with pytest.raises(PluginError, match=r"my-paper \(from .*\) failed: KeyError: 'a' \(algorithm.py, line 2\)"):
        system.write(None, None, None).send(None)  # type: ignore[arg-type] # it fails before it looks at them
    (folder / "algorithm.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    with pytest.raises(PluginError, match=r"failed: SystemExit: 0 \(algorithm.py, line 2\)"):
        find(str(folder)).algorithm  # noqa: B018 - looking imports it


def test_our_own_papers_have_no_problems() -> None:
    for kind, found in (("system", systems()), ("evaluator", evaluators())):
        for method in found.values():
            assert list(problems_of(method.paper, kind)) == [], method.name  # type: ignore[arg-type] # a literal


def test_a_mistyped_field_is_named() -> None:
    said = list(problems_of({**evaluators()["surface"].paper, "sumary": "x", "chat": True}, "evaluator"))
    assert (
        said == ["chat is a field for systems only. Remove it.", "sumary is not a field. Did you mean summary?"][::-1]
    )


TINY = """
from fabula.models.base import Capabilities, Reply

class Echo:
    def __init__(self, name, settings):
        self.last, self.parallel = name, settings.parallel

    def reply(self, prompt):
        if self.last == "broken":
            return {}["a"]
        return f"{self.last}: {prompt.splitlines()[-1]}"

class Whole:
    name = identity = "whole:one"
    capabilities = Capabilities(parallel=2)

    async def ask(self, request, on_text=None):
        return Reply("A lamp.")

    async def close(self):
        pass

def nothing(name):
    return object()
"""
MODELS = {
    "tiny": "tiny_models:Echo",
    "whole": "tiny_models:Whole",
    "none": "tiny_models:nothing",
    "gone": "tiny_models:Gone",
}
QUESTION = Request((Message("user", "What is it?"),), role="writer", path="story")


@pytest.fixture
def _tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = install(tmp_path, monkeypatch, {"fabula.models": {**MODELS, "scripted": "tiny_models:Echo"}})
    (site / "tiny_models.py").write_text(TINY, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "tiny_models", raising=False)


@pytest.mark.usefixtures("_tiny")
async def test_a_package_brings_models_under_its_prefix() -> None:
    model = open_model("tiny:lamp", ModelTable(parallel=3), Environment())
    assert (model.name, model.identity) == ("tiny:lamp", "tiny:lamp")
    reply = await model.ask(QUESTION)
    assert reply.text == "lamp: What is it?"
    assert reply.usage.reply > 0
    assert (await open_model("whole:x", ModelTable(), Environment()).ask(QUESTION)).text == "A lamp."
    problems = plugins(GROUP, {"scripted"}, "kind of model").problems
    assert "provides a kind of model 'scripted', but fabula already has one with that name" in problems["scripted"]


@pytest.mark.usefixtures("_tiny")
async def test_a_broken_model_says_whose_fault_it_is() -> None:
    with pytest.raises(ModelError, match=r"KeyError: 'a' \(tiny_models.py, line 10\)"):
        await open_model("tiny:broken", ModelTable(tries=1), Environment()).ask(QUESTION)
    with pytest.raises(
        PluginError, match=r"none:x \(from more-papers 1.2\) is not a model: it has neither `ask` nor `reply`"
    ):
        open_model("none:x", ModelTable(), Environment())
    with pytest.raises(PluginError, match=r"gone \(from more-papers 1.2\) failed: AttributeError"):
        open_model("gone:x", ModelTable(), Environment())
    with pytest.raises(UnknownNameError, match="Did you mean 'tiny:x'"):
        open_model("tinny:x", ModelTable(), Environment())


META = Meta(title="Lamp", author="", created=datetime(2026, 11, 24, tzinfo=UTC), words=3)
EXTRAS = """
import typer

def as_tale(story, meta):
    return f"{meta.title}: {story.text}"

def brief_of(path):
    return path.read_text().removeprefix("ASKED ")

def shout(word: str, code: int = 0) -> None:
    if word == "break":
        raise KeyError(word)
    print(word.upper())
    raise typer.Exit(code)
"""


@pytest.fixture
def _extras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {
        "fabula.exporters": {"tale": "extras:as_tale", "epub": "extras:as_tale"},
        "fabula.briefs": {"ask": "extras:brief_of"},
        "fabula.commands": {"shout": "extras:shout", "write": "extras:shout"},
        "fabula.models": {"loud": "extras:shout"},
        "fabula.systems": {"gone": "extras_of.gone"},
    }
    site = install(tmp_path, monkeypatch, groups)
    (site / "extras.py").write_text(EXTRAS, encoding="utf-8")
    monkeypatch.delitem(sys.modules, "extras", raising=False)


@pytest.mark.usefixtures("_extras")
def test_a_package_brings_formats_and_loaders_of_briefs(tmp_path: Path) -> None:
    made = find_format(".tale").render(Story("Lamp").add("story", "She lit it."), META)
    assert made == b"Lamp: She lit it."
    assert find_format("epub").suffix == ".epub"
    (tmp_path / "lamp.ask").write_text("ASKED # Lamp\n\nMara keeps it.\n", encoding="utf-8")
    assert Brief.read(tmp_path / "lamp.ask") == Brief("Mara keeps it.", "Lamp")


@pytest.mark.usefixtures("_extras")
def test_a_package_brings_commands_whose_errors_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shout", "lamp", "--code", "3"]) == 3
    assert capsys.readouterr().out == "LAMP\n"
    assert main(["shout"]) == 2
    assert "`fabula shout` requires " in capsys.readouterr().err
    assert main(["shout", "break"]) == 2
    assert "shout (from more-papers 1.2) failed: KeyError: 'break'" in capsys.readouterr().err
    assert main(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "From packages: shout (more-papers 1.2)." in shown
    assert "provides a command 'write', but fabula already has one with that name and uses its own. Ask the" in shown
    assert main(["doctor"]) in {0, 1}
    shown = " ".join(capsys.readouterr().out.split())
    assert "command shout from more-papers 1.2" in shown
    assert "kind of model loud from more-papers 1.2" in shown
    assert "The system 'gone' of more-papers 1.2 is left out" in shown
    assert "provides a format 'epub'" in shown


async def test_a_program_that_wants_them_is_given_the_fields_of_the_prompt() -> None:
    class Counts:
        def reply(self, prompt: str, *, fields: Mapping[str, Any] | None = None) -> str:
            return f"{len(prompt)} {sorted(fields or ())}"

    class Alone:
        def reply(self, prompt: str, temperature: float = 0.5) -> str:
            return f"{prompt} {temperature}"

    asked = replace(QUESTION, fields={"first": "A lamp.", "second": "A boat."})
    assert (await own_model(Counts()).ask(asked)).text == "11 ['first', 'second']"
    assert (await own_model(Alone()).ask(asked)).text == "What is it? 0.5"
