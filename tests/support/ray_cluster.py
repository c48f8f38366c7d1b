"""Experiments on a Ray cluster of two nodes on this machine: prints as JSON what came of each.

`python ray_cluster.py FOLDER`, from an environment that has Ray. The tests' guard of processes does not let Ray start.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import finished
from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.tables import as_csv, as_data
from fabula.app.experiment.working import How, run_experiment
from fabula.app.workers.pool import WorkerError
from fabula.app.workers.spread import Spread
from fake_provider import Answer, FakeProvider

if TYPE_CHECKING:
    from fabula.app.experiment.grid import Experiment
    from fabula.app.experiment.results import Results
    from fake_provider import Recorded

CELLS, LIMIT = 10, 4
MODEL = "openai-chat:tale-1"
SCRIPTED = 'systems = ["end-to-end"]\nworkers = 4\nmodels = ["scripted:script.toml"]\n'


def written(home: Path, text: str) -> Experiment:
    (home / "briefs").mkdir(parents=True)
    for number in range(CELLS):
        (home / "briefs" / f"{number:03}.md").write_text(f"Write of a lamp, number {number}.\n", encoding="utf-8")
    (home / "script.toml").write_text('[replies]\nwriter = "The lamp was dark. Mara lit it."\n', encoding="utf-8")
    (home / "exp.toml").write_text(f'briefs = ["briefs"]\n{text}', encoding="utf-8")
    return read_experiment(home / "exp.toml", {})


def served(address: str) -> str:
    return (
        f'systems = ["end-to-end"]\nbaseline = false\nworkers = 8\nmodels = ["{MODEL}"]\n'
        f'[settings.models."{MODEL}"]\nbase_url = {json.dumps(address)}\nparallel = {LIMIT}\n'
    )


async def do(found: Experiment, spread: Spread | None) -> Results:
    return await run_experiment(found, How(spread=spread, now=lambda: "now"))


def came(results: Results, server: FakeProvider) -> dict[str, Any]:
    asked = Counter(json.dumps(request.body) for request in server.requests)
    done = len(results.of_state("done"))
    return {"done": done, "stopped": results.stopped, "most": server.most_in_flight, "asked": asked.total()}


async def two_nodes(home: Path) -> dict[str, Any]:
    async with FakeProvider(Answer(latency=0.05)) as server:
        return came(await do(written(home, served(server.openai_url)), Spread(2, "ray")), server)


async def the_same(home: Path) -> dict[str, Any]:
    shown = []
    for name, spread in (("one", None), ("many", Spread(2, "ray"))):
        found = await do(written(home / name, SCRIPTED), spread)
        shown.append((json.dumps(as_data(found)) + as_csv(found)).replace(str(home / name), ""))
    return {"same": shown[0] == shown[1], "length": len(shown[0])}


async def a_node_goes(home: Path, cluster: Any) -> dict[str, Any]:  # noqa: ANN401 - Ray's
    node = cluster.add_node(num_cpus=1)

    def answer(_: Recorded) -> Answer:
        if len(server.requests) == CELLS // 2:
            cluster.remove_node(node, allow_graceful=False)
        return Answer(latency=0.3)

    async with FakeProvider(answer) as server:
        return came(await do(written(home, served(server.openai_url)), Spread(3, "ray")), server)


def stories(home: Path) -> dict[str, Any]:
    """Back-translates a corpus by workers here and there; whether the data are the same, and what was asked."""
    home.mkdir()
    finished.write_corpus(home, 2 * CELLS)
    asked, made = [], []
    for name, on in (("here", []), ("there", ["--on", "ray"])):
        command = [sys.executable, "-m", "fabula", "data", "backtranslate", "stories.jsonl", "--out", name, *on]
        command += ["--processes", "2", "--json", "--model", "scripted:teacher.toml"]
        told = subprocess.run(command, cwd=home, stdout=subprocess.PIPE, check=True).stdout
        asked.append(json.loads(told)["asked"])
        made.append((home / name / "train.jsonl").read_text(encoding="utf-8"))
    return {"same": made[0] == made[1] != "", "asked": asked}


async def not_there(home: Path) -> str:
    try:
        await do(written(home, SCRIPTED), Spread(1, "ray://127.0.0.1:9"))
    except WorkerError as error:
        return str(error)
    return ""


def main(home: Path) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray, utils = importlib.import_module("ray"), importlib.import_module("ray.cluster_utils")
    found: dict[str, Any] = {}
    cluster = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        os.environ["RAY_ADDRESS"] = cluster.address
        found["two nodes"] = asyncio.run(two_nodes(home / "two"))
        found["the same"] = asyncio.run(the_same(home / "same"))
        found["a node goes"] = asyncio.run(a_node_goes(home / "goes", cluster))
        found["stories"] = stories(home / "stories")
        ray.shutdown()
        found["not there"] = asyncio.run(not_there(home / "away"))
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(json.dumps(found))  # noqa: T201 - it is read by a test


if __name__ == "__main__":
    main(Path(sys.argv[1]))
