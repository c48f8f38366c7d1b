"""An experiment on a Ray cluster of two nodes on this machine; without Ray (`fabula[ray]`) that is not tried."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ray_cluster
from fabula.app.experiment.working import How, run_experiment
from fabula.app.workers.files import files_in, put
from fabula.app.workers.spread import Spread
from fabula.base.errors import UsageError
from fabula.engine.journal import Journal
from fabula.project.packed import JOURNAL
from fabula.project.trust import Trust, acts_in
from ray_cluster import CELLS, LIMIT, SCRIPTED, written

HERE = importlib.util.find_spec("ray") is not None


@pytest.fixture(scope="module")
def came(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - what the process prints
    """What came of experiments on a cluster."""
    if not HERE:
        pytest.skip("Ray is not installed (pip install 'fabula[ray]')")
    script = Path(ray_cluster.__file__)
    environ = dict(os.environ) | {"PYTHONPATH": str(script.parent)}
    command = [sys.executable, str(script), str(tmp_path_factory.mktemp("cluster"))]
    ran = subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


def test_two_nodes_keep_to_the_limit_of_a_server(came: Any) -> None:  # noqa: ANN401 - what the process prints
    found = dict(came["two nodes"])
    assert 1 <= found.pop("most") <= LIMIT
    assert found == {"done": CELLS, "stopped": "", "asked": CELLS}


def test_two_nodes_give_what_one_process_gives_byte_for_byte(came: Any) -> None:  # noqa: ANN401 - what the process prints
    assert came["the same"]["same"]
    assert came["the same"]["length"] > 1000


def test_a_node_that_goes_costs_the_calls_on_their_way_and_no_run(came: Any) -> None:  # noqa: ANN401 - what the process prints
    assert (came["a node goes"]["done"], came["a node goes"]["stopped"]) == (CELLS, "")
    assert came["a node goes"]["asked"] <= CELLS + LIMIT


def test_stories_of_a_corpus_are_worked_through_as_on_one_machine(came: Any) -> None:  # noqa: ANN401 - what the process prints
    assert came["stories"] == {"same": True, "asked": [2 * CELLS * 5] * 2}


def test_a_cluster_that_is_not_there_is_said(came: Any) -> None:  # noqa: ANN401 - what the process prints
    assert came["not there"].startswith("No Ray cluster responds at ray://127.0.0.1:9: ")
    assert "RAY_AUTH_MODE=token" in came["not there"]


@pytest.mark.skipif(HERE, reason="Ray is installed")
async def test_without_ray_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"A cluster \(--on ray\) needs the package ray, which is not installed"):
        await run_experiment(written(tmp_path / "home", SCRIPTED), How(spread=Spread(1, "ray")))


# what goes between machines -------------------------------------------------------------------------------------------


async def test_a_run_is_handed_back_whole_also_while_its_journal_is_open(tmp_path: Path) -> None:
    found = written(tmp_path / "home", SCRIPTED)
    await run_experiment(found, How())
    folder = found.project(found.trials[0])
    with Journal(folder / JOURNAL) as journal:
        journal.decisions.add("story", "revise", "Not in the file yet, but in the log beside it.")
        files = files_in(folder)
    put(tmp_path / "copy", files)
    with Journal(tmp_path / "copy" / JOURNAL) as copied:
        assert [one.text for one in copied.decisions.find()] == ["Not in the file yet, but in the log beside it."]
        assert len(copied.calls.find()) >= 1


def test_only_variables_that_its_models_need_go_to_other_machines(tmp_path: Path) -> None:
    model = "anthropic:claude-haiku-4-5"
    text = (
        f'systems = ["end-to-end"]\nmodels = ["{model}"]\n'
        f'[settings.models."{model}"]\nkey_env = "MINE"\n[settings.roles.writer]\nmodel = "openai:gpt-5-mini"\n'
    )
    Trust().give(tmp_path / "exp.toml", acts_in({"models": {model: {"key_env": "MINE"}}}, tmp_path))
    found = written(tmp_path, text)
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MINE", "GEMINI_API_KEY", "AWS_SECRET_ACCESS_KEY", "PATH", "HOME")
    sent = Spread(1, "ray").environ(dict.fromkeys(names, "x"), [one.settings for one in found.contenders])
    assert set(sent) == {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "MINE"}
