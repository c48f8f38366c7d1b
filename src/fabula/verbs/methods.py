"""`systems`, `evaluators`, `system`, `evaluator`: the installed methods and their settings; `settings`: a project's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula import evaluators as measuring
from fabula import systems as writing
from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError
from fabula.engine.methods import of_presets
from fabula.project.settings import Settings
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.engine.methods import Method

MethodName: TypeAlias = Annotated[str, Field(max_length=100, description="Its name.", examples=["agents-room"])]


@dataclass(frozen=True, slots=True)
class MethodLine:
    """A system or an evaluator: the data in its `paper.toml`, and where it comes from."""

    name: str
    source: str
    paper: Mapping[str, Any]

    @classmethod
    def of(cls, method: Method) -> Self:
        """Return a method's entry in the list."""
        return cls(method.name, method.source or "fabula", method.paper)


@dataclass(frozen=True, slots=True)
class MethodList:
    """Systems or evaluators, and why some from other packages cannot be used."""

    methods: list[MethodLine]
    problems: list[str]

    @classmethod
    def of(cls, methods: Mapping[str, Method], problems: Mapping[str, str]) -> Self:
        """Return the methods that were found, as a list."""
        return cls([MethodLine.of(one) for one in methods.values()], list(problems.values()))


@dataclass(frozen=True, slots=True)
class SettingOfMethod:
    """A setting of a method: its group, type and purpose, and its values in the paper and in fabula."""

    field: str
    group: str
    type: str
    about: str
    faithful: Any
    improved: Any


@dataclass(frozen=True, slots=True)
class MethodView(MethodLine):
    """A system or an evaluator with its settings."""

    settings: list[SettingOfMethod]

    @classmethod
    def of(cls, method: Method) -> Self:
        """Return a method with its settings."""
        settings = [
            SettingOfMethod(one.name, one.group, str(one.hint), one.about, faithful, improved)
            for one, faithful, improved in of_presets(method.settings_type)
        ]
        return cls(method.name, method.source or "fabula", method.paper, settings)


@verb("GET", "/systems", "methods")
async def systems(shelf: Shelf) -> MethodList:
    """List the writing systems, with data about their papers."""
    del shelf
    return await asyncio.to_thread(lambda: MethodList.of(writing.systems(), writing.CATALOGUE.problems()))


@verb("GET", "/evaluators", "methods")
async def evaluators(shelf: Shelf) -> MethodList:
    """List the evaluators, with data about their papers."""
    del shelf
    return await asyncio.to_thread(lambda: MethodList.of(measuring.evaluators(), measuring.CATALOGUE.problems()))


@verb("GET", "/systems/{name}", "methods")
async def system(shelf: Shelf, name: MethodName) -> MethodView:
    """Return a writing system with its settings.

    Raises:
        UnknownNameError: there is no system with that name.
    """
    del shelf
    return await asyncio.to_thread(_of, "system", writing.systems(), name)


@verb("GET", "/evaluators/{name}", "methods")
async def evaluator(shelf: Shelf, name: MethodName) -> MethodView:
    """Return an evaluator with its settings.

    Raises:
        UnknownNameError: there is no evaluator with that name.
    """
    del shelf
    return await asyncio.to_thread(_of, "evaluator", measuring.evaluators(), name)


def _of(kind: str, known: Mapping[str, Method], name: str) -> MethodView:
    """A method by its name; a folder of code is refused."""
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return MethodView.of(known[name])


@dataclass(frozen=True, slots=True)
class SettingsForm:
    """The JSON schema of `fabula.toml`. The table `config` depends on the system; the verb `system` describes it."""

    form: Mapping[str, Any]


@verb("GET", "/settings", "methods")
async def settings(shelf: Shelf) -> SettingsForm:
    """Return the settings that a project can have, as a JSON schema."""
    del shelf
    return SettingsForm(Settings.model_json_schema())
