"""A folder with a brief and a script, the command line run there, and a project that is written."""

from __future__ import annotations

import io
import shutil
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import pytest

from commandline import BRIEF, BY_PARTS, PLAN, PLAY, REPLIES, Cli, script_of
from fabula.cli.main import main
from fabula.models.scripted import ScriptedModel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `brief.md` and `script.toml`."""
    (tmp_path / "brief.md").write_text(BRIEF, encoding="utf-8")
    (tmp_path / "script.toml").write_text(script_of(REPLIES), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    return Cli(here, capsys, monkeypatch)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a written project `lamp`, made once and copied for each test."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "brief.md").write_text(BRIEF, encoding="utf-8")
    (folder / "script.toml").write_text(script_of(REPLIES), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        patch.chdir(folder)
        script = ("--model", "scripted:script.toml", *BY_PARTS, "--quiet")
        assert main(["write", "brief.md", "--out", "lamp", *script]) == 0
    return folder


@pytest.fixture
def project(here: Path, written: Path) -> Path:
    """A project `lamp` that is written."""
    shutil.copytree(written / "lamp", here / "lamp")
    settings = here / "lamp" / "fabula.toml"
    settings.write_text(settings.read_text(encoding="utf-8").replace(str(written), str(here)), encoding="utf-8")
    return here / "lamp"


@pytest.fixture
def write_script(here: Path) -> Callable[..., None]:
    """Writes `script.toml` anew with some replies changed; `None` takes one away."""

    def write(**changes: str | None) -> None:
        replies = {role: text for role, text in {**REPLIES, **changes}.items() if text is not None}
        (here / "script.toml").write_text(script_of(replies), encoding="utf-8")

    return write


@pytest.fixture
def playhouse(here: Path) -> tuple[str, ...]:
    """`plan.yaml` and `play.toml` for a role-play of two scenes, told in another order, and the options for it."""
    (here / "play.toml").write_text(script_of(PLAY), encoding="utf-8")
    (here / "plan.yaml").write_text(PLAN, encoding="utf-8")
    return ("--system", "character-simulation", "--model", "scripted:play.toml", "--set", "max_turns=2")


@pytest.fixture
def same_model(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that is changed stays the same model, so that no reply is asked again for that."""
    read = ScriptedModel.read
    identity = read(here / "script.toml").identity

    def read_as_the_same(path: Path) -> ScriptedModel:
        model = read(path)
        model.identity = identity
        return model

    monkeypatch.setattr(ScriptedModel, "read", read_as_the_same)
