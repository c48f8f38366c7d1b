"""The experiment file of SNAP's Tables 2 and 3."""

from __future__ import annotations

from fabula.app.experiment.grid import read_experiment
from fabula.app.experiment.spec import read_spec
from fabula.evaluators import find
from fabula.story import Brief
from tree import ROOT

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
        long = {name for name, size in sizes.items() if size >= config.ours.long_from}
        assert long == {name for name in sizes if "long" in name}


def test_it_can_be_run() -> None:
    experiment = read_experiment(FILE, {})
    assert [measure.label for measure in experiment.measures] == ["surface", "number-alone", "with-reasons"]
    assert len(experiment.trials) == 8
