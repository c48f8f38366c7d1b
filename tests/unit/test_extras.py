"""How to get a missing package is said as it works where fabula was installed from."""

from __future__ import annotations

import json
from importlib import metadata
from importlib.metadata import PackageNotFoundError
from typing import TYPE_CHECKING

import pytest

from fabula.base.extras import installing

if TYPE_CHECKING:
    from collections.abc import Callable


class Installed:
    """What the environment knows of an installed package."""

    def __init__(self, origin: str | None) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        return self.origin if name == "direct_url.json" else None


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'fabula[serve]'"),
        ('{"url": "https://packages.example/fabula.whl", "archive_info": {}}', "pip install 'fabula[serve]'"),
        ('{"url": "file:///clones/a%20b/fabula", "dir_info": {}}', "pip install '/clones/a b/fabula[serve]'"),
        (
            json.dumps({"url": "file:///clones/a/fabula", "dir_info": {"editable": True}}),
            "pip install -e '/clones/a/fabula[serve]'",
        ),
        ("not JSON", "pip install 'fabula[serve]'"),
    ],
)
def test_an_extra_is_installed_from_where_fabula_came(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, command: str
) -> None:
    found: Callable[[str], Installed] = lambda _name: Installed(origin)  # noqa: E731 - typed
    monkeypatch.setattr(metadata, "distribution", found)
    assert installing("serve") == command


def test_without_an_installation_the_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> Installed:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", none)
    assert installing("serve") == "pip install 'fabula[serve]'"
