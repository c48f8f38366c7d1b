"""The experiment file of SNAP's Tables 2 and 3."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.spec import read_spec
from fabula.base.errors import UsageError
from fabula.craft import PROMPTS
from fabula.craft.conversation import Parties
from fabula.engine.journal import Journal
from fabula.engine.prompts import SystemPrompts
from fabula.engine.roles import Cast
from fabula.engine.run import Run, RunContext
from fabula.evaluators import find
from fabula.models.scripted import ScriptedModel
from fabula.story import Brief
from fabula.systems import find as find_system
from tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from fabula.engine.methods import Preset

FILE = ROOT / "examples" / "experiments" / "snap-short-long.toml"
SNAP = find("snap-ratings")


def test_it_has_both_systems_and_short_and_long_narratives() -> None:
    spec = read_spec(FILE)
    assert [table.system for table in spec.systems] == ["snap", "vanilla"]
    assert {table.evaluator for table in spec.evaluators} == {SNAP.name}
    found = [path for table in spec.briefs for path in FILE.parent.glob(table.prompts)]
    sizes = {path.stem: len(Brief.read(path).text) for path in found}
    assert len(sizes) >= 4
    for table in spec.evaluators:
        config = SNAP.config(table.preset, table.config)
        long = {name for name, size in sizes.items() if size >= config.paper.long_from}
        assert long == {name for name in sizes if "long" in name}


def test_it_can_be_run() -> None:
    experiment = read_experiment(FILE, {})
    assert [measure.label for measure in experiment.measures] == ["surface", "number-alone", "with-reasons"]
    assert len(experiment.trials) == 8


def test_the_same_two_people_talk_in_both_systems_and_are_in_the_narrative() -> None:
    talking: dict[str, set[tuple[str, str]]] = {}
    for trial in read_experiment(FILE, {}).trials:
        config = trial.settings.config
        talking.setdefault(trial.brief_id, set()).add((config["player"], config["npc"]))
        assert all(name in trial.brief.text for name in (config["player"], config["npc"]))
        assert trial.stored()["config"] == config
    assert [len(pairs) for pairs in talking.values()] == [1] * 4


def test_what_a_system_does_not_know_cannot_be_set_for_briefs(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("Mara kept the lamp.", encoding="utf-8")
    file = tmp_path / "exp.toml"
    file.write_text('briefs = { prompts = "one.md", config = { npc = "Mara" } }\nsystems = ["vanilla", "end-to-end"]\n')
    with pytest.raises(UsageError, match=r"briefs\[1\]: Unknown end-to-end setting 'npc'"):
        read_experiment(file, {})


@pytest.mark.parametrize("preset", ["faithful", "improved"])
async def test_where_nobody_is_named_the_same_two_people_talk_in_both_systems(preset: Preset) -> None:
    labels = [{"name": "Tobias"}, {"name": "Mara"}]  # in another order than that of whoever matters most
    people = {"people": ["Mara", "Henrik", "Tobias"], "characters": labels, "sentences": []}
    found = []
    for system in (find_system("snap"), find_system("vanilla")):
        with Journal() as journal:
            prompts = SystemPrompts(system.prompt_folders(preset), common=PROMPTS)
            context = RunContext(journal, prompts, Cast.of(ScriptedModel(lambda _: json.dumps(people))))
            config = system.config(preset)
            talk = await system.program(config).open_talk("Tobias found Mara. Henrik came.", Run(context), config)
        found.append(talk.parties)
    assert found == [Parties("Mara", ("Henrik",))] * 2
