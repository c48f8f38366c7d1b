"""`fabula.toml` is read strictly; an error names file, field and value."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import pytest

from fabula.base.errors import ConfigError
from fabula.models.base import Sampling
from fabula.project.settings import DEFAULT_MODEL, RoleTable, Settings, merged

if TYPE_CHECKING:
    from pathlib import Path

FULL = """
system = "end-to-end"
preset = "faithful"
seed = 7
model = "openai-chat:llama"
[config]
words = "300-320"
[sampling]
temperature = 0.9
stop = ["THE END"]
[roles.critic]
play = "me"
[models."openai-chat:llama"]
base_url = "http://localhost:8080/v1"
[prices."openai-chat:llama"]
input = 1
output = 2.5
"""


def test_a_missing_file_means_the_defaults(tmp_path: Path) -> None:
    settings = Settings.read(tmp_path / "fabula.toml")
    assert settings == Settings()
    assert (settings.system, settings.preset, settings.model) == ("agents-room", "improved", DEFAULT_MODEL)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_every_table_is_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "fabula.toml"
    file.write_text(FULL.replace("\n", "\r\n"), encoding=encoding, newline="")
    settings = Settings.read(file)
    assert settings.config == {"words": "300-320"}
    assert settings.sampling.sampling == Sampling(temperature=0.9, stop=("THE END",))
    assert settings.roles["critic"].play == "me"
    assert settings.models["openai-chat:llama"].base_url == "http://localhost:8080/v1"
    assert settings.prices["openai-chat:llama"].output == 2.5


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"seed = = 3\n", r"Cannot read .*fabula.toml: .*\. Correct the line\."),
        (b"model = 'caf\xe9'\n", r"fabula.toml is not UTF-8 text \(line 1, byte 12\)\. Save it as UTF-8"),
    ],
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, data: bytes, said: str) -> None:
    file = tmp_path / "fabula.toml"
    file.write_bytes(data)
    with pytest.raises(ConfigError, match=said):
        Settings.read(file)


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "fabula.toml").mkdir()
    with pytest.raises(ConfigError, match=r"fabula\.toml is a folder\. Give a text file\. Or delete it\."):
        Settings.read(tmp_path / "fabula.toml")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"sede": 3}, r"fabula.toml: There is no field 'sede'\. Did you mean 'seed'\?"),
        ({"seed": "three"}, r"fabula.toml: `seed` must be a whole number, not 'three'\."),
        ({"preset": "best"}, r"fabula.toml: `preset` must be 'faithful' or 'improved', not 'best'\."),
        ({"sampling": {"temperature": -1}}, r"fabula.toml: `sampling.temperature` must be 0 or more"),
        ({"roles": {"plot": {"top_p": 0}}}, r"fabula.toml: `roles.plot.top_p` must be more than 0"),
        ({"models": {"m": {"parallel": 0}}}, r"fabula.toml: `models.m.parallel` must be more than 0"),
        ({"prices": {"m": {"input": 1}}}, r"fabula.toml: `prices.m.output` is missing"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(data: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        Settings.of(data, "fabula.toml")


def test_changes_are_laid_over_and_tables_merged() -> None:
    settings = Settings.of({"seed": 7, "roles": {"plot": {"temperature": 0.5}}, "config": {"words": "300"}}, "file")
    changed = settings.with_(
        {"roles": {"plot": {"top_k": 40}, "climax": {"play": "me"}}, "config": {"final_reading": True}}
    )
    assert changed.seed == 7
    assert changed.roles["plot"] == RoleTable(temperature=0.5, top_k=40)
    assert changed.roles["climax"].play == "me"
    assert changed.config == {"words": "300", "final_reading": True}
    assert settings.config == {"words": "300"}


def test_a_wrong_change_is_laid_to_the_command_line() -> None:
    with pytest.raises(ConfigError, match=r"^the command line: `seed` must be a whole number"):
        Settings().with_({"seed": "x"})


def test_merging_replaces_what_is_no_table_in_both() -> None:
    assert merged({"a": {"b": 1}, "c": 2}, {"a": 3, "c": {"d": 4}}) == {"a": 3, "c": {"d": 4}}


def test_settings_cannot_be_changed_in_place() -> None:
    settings: Any = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.seed = 2


@pytest.mark.parametrize(
    "address",
    [
        "http://me:sk-1234@host/v1",
        "http://host/v1?api_key=sk-1234",
        "http://host/v1?key=sk-1234",
        "http://host/#sk-1234",
    ],
)
def test_an_address_that_may_hold_a_key_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(
        ConfigError, match=r"`models\.openai-chat:m\.base_url`: .* set the key in the environment"
    ) as caught:
        Settings.of({"models": {"openai-chat:m": {"base_url": address}}}, "fabula.toml")
    shown = "".join(traceback.format_exception(caught.value))
    assert "sk-1234" not in shown


SECRET = "sk-" + "1234"


@pytest.mark.parametrize("field", ["key", "api_key", "token", "auth_token", "password", "client_secret"])
def test_a_key_that_was_put_into_the_file_is_not_shown(field: str) -> None:
    with pytest.raises(ConfigError, match=rf"no field '{field}' in .* Do not store keys in a file. Set") as caught:
        Settings.of({"models": {"openai:gpt-4o": {field: SECRET}}}, "fabula.toml")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
