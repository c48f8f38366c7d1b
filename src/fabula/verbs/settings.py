"""`settings`: the settings allowed in a project's `fabula.toml`."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - doors read it
from dataclasses import dataclass
from typing import Any

from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.project.settings import Settings
from fabula.verbs.base import verb


@dataclass(frozen=True, slots=True)
class SettingsForm:
    """The JSON schema of `fabula.toml`. The table `config` depends on the system; the verb `system` describes it."""

    form: Mapping[str, Any]


@verb("GET", "/settings", "methods")
async def settings(shelf: Shelf) -> SettingsForm:
    """Return the settings that a project can have, as a JSON schema."""
    del shelf
    return SettingsForm(Settings.model_json_schema())
