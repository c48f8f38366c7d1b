"""What systems and evaluators share: found by looking, settings read strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.engine.methods import Method, folders
from fabula.evaluators import Evaluator, evaluators, find
from fabula.systems import System
from fabula.systems import find as find_system

if TYPE_CHECKING:
    from pathlib import Path


def test_folders_with_a_paper_are_found_by_name_and_others_are_not(tmp_path: Path) -> None:
    for name in ("b_two", "a_one", "no_paper"):
        (tmp_path / name).mkdir()
    for name in ("b_two", "a_one"):
        (tmp_path / name / "paper.toml").write_text(f'title = "{name}"\n', encoding="utf-8")
    found = list(folders(tmp_path))
    assert [(name, folder.name, paper["title"]) for name, folder, paper in found] == [
        ("a-one", "a_one", "a_one"),
        ("b-two", "b_two", "b_two"),
    ]


@pytest.mark.parametrize("name", ["surface", "Surface"])
def test_an_evaluator_is_found_and_asks_nobody_or_names_its_roles(name: str) -> None:
    surface = find(name)
    assert isinstance(surface, Evaluator)
    assert surface.roles == ()
    assert surface.open_role == ""
    assert evaluators()["pairwise"].roles


def test_an_unknown_evaluator_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown evaluator 'pairwize'. Did you mean 'pairwise'\?"):
        find("pairwize")


def test_a_system_and_an_evaluator_are_methods() -> None:
    system = find_system("end-to-end")
    assert isinstance(system, System)
    assert isinstance(system, Method)
    assert system.prompts == system.folder / "prompts"
    assert system.algorithm.__name__ == "fabula.systems.end_to_end.algorithm"


def test_values_are_converted_to_the_types_of_their_fields() -> None:
    config = find("pairwise").config("improved", {"samples": "4", "assess": "false"})
    assert (config.paper.samples, config.ours.assess) == (4, False)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown preset 'best'"):
        find("pairwise").config("best")  # type: ignore[arg-type] # what a user may type
    with pytest.raises(UnknownNameError, match=r"Unknown pairwise setting 'sampels'. Did you mean 'samples'\?"):
        find("pairwise").config("faithful", {"sampels": 1})
    with pytest.raises(ConfigError, match=r"`pairwise.samples` must be a whole number, not 'many'"):
        find("pairwise").config("faithful", {"samples": "many"})


def test_a_setting_is_named_alone_with_its_group_or_in_the_table_of_its_group() -> None:
    pairwise = find("pairwise")
    for values in ({"samples": 3}, {"paper.samples": 3}, {"paper": {"samples": 3}}):
        assert pairwise.config("faithful", values).paper.samples == 3
    with pytest.raises(
        ConfigError, match=r"'ours.samples' is not a setting of pairwise. Write paper.samples or samples"
    ):
        pairwise.config("faithful", {"ours.samples": 3})
    with pytest.raises(ConfigError, match=r"'samples' and 'paper.samples' are the same setting. Keep one of them\."):
        pairwise.config("faithful", {"samples": 3, "paper.samples": 4})
    with pytest.raises(UnknownNameError, match=r"'paper.sampels'"):
        pairwise.config("faithful", {"paper": {"sampels": 3}})
