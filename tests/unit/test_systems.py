"""Systems are found by looking, and their settings are read strictly."""

from __future__ import annotations

from typing import Any

import pytest

from fabula.base.errors import ConfigError, UnknownNameError
from fabula.engine.methods import settings_of
from fabula.systems import find, systems


def test_a_folder_with_a_paper_is_a_system() -> None:
    found = systems()
    assert {"agents-room", "end-to-end"} <= set(found)
    for name, system in found.items():
        assert system.name == name
        assert (system.folder / "paper.toml").is_file()
        assert system.prompts.is_dir()
        assert system.roles


@pytest.mark.parametrize("name", ["agents-room", "agents_room", "Agents-Room"])
def test_a_system_is_found_by_its_name(name: str) -> None:
    assert find(name).name == "agents-room"


def test_an_unknown_system_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown system 'agent-rooms'. Did you mean 'agents-room'\?"):
        find("agent-rooms")


def test_presets_differ_and_values_are_set_on_top() -> None:
    system = find("agents-room")
    faithful, improved = system.config("faithful"), system.config()
    assert faithful != improved
    assert improved == system.config("improved", {})
    assert system.config("faithful", {"max_steps": 3}).paper.max_steps == 3


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("max_tokens", "512", 512),
        ("final_reading", "true", True),
        ("final_reading", "no", False),
        ("variant", "plan", "plan"),
    ],
)
def test_texts_of_the_command_line_become_values(field: str, text: str, value: object) -> None:
    settings = settings_of(find("agents-room").config("improved", {field: text}))
    assert {setting.name: setting.value for setting in settings}[field] == value


def test_an_unknown_preset_names_the_nearest() -> None:
    preset: Any = "faithfull"
    with pytest.raises(UnknownNameError, match=r"Unknown preset 'faithfull'. Did you mean 'faithful'\?"):
        find("agents-room").config(preset)


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown end-to-end setting 'max_token'. Did you mean 'max_tokens'"):
        find("end-to-end").config("improved", {"max_token": 3})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"max_tokens": "many"}, r"`agents-room.max_tokens` must be a whole number, not 'many'"),
        ({"variant": "planning"}, r"`agents-room.variant` must be 'plan', 'write' or"),
        ({"final_reading": "perhaps"}, r"`agents-room.final_reading` must be true or false"),
    ],
)
def test_a_value_that_does_not_fit_is_named(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        find("agents-room").config("faithful", values)


def test_a_setting_is_named_alone_or_with_its_group_but_not_both() -> None:
    system = find("agents-room")
    alone, whole = {"final_reading": False}, {"ours.final_reading": False}
    assert system.config("improved", alone) == system.config("improved", whole)
    with pytest.raises(ConfigError, match="are the same setting"):
        system.config("improved", alone | whole)
