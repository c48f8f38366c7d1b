"""`systems`, `evaluators`, `system`, `evaluator`: the methods of papers that are here, and their settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping  # noqa: TC003 - doors read it
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeAlias

from pydantic import Field

from fabula import evaluators as measuring
from fabula import systems as writing
from fabula.app.shelf import Shelf  # noqa: TC001 - doors read it
from fabula.base.errors import UnknownNameError
from fabula.engine.methods import of_presets
from fabula.verbs.base import verb

if TYPE_CHECKING:
    from fabula.engine.methods import Method

MethodName: TypeAlias = Annotated[str, Field(max_length=100, description="Its name.", examples=["agents-room"])]


@dataclass(frozen=True, slots=True)
class MethodLine:
    """A system or an evaluator: what its `paper.toml` tells, and where it comes from."""

    name: str
    source: str
    paper: Mapping[str, Any]

    @classmethod
    def of(cls, method: Method) -> Self:
        """A method's line."""
        return cls(method.name, method.source or "fabula", method.paper)


@dataclass(frozen=True, slots=True)
class MethodList:
    """Systems or evaluators, and why some of others cannot be used."""

    methods: list[MethodLine]
    problems: list[str]

    @classmethod
    def of(cls, methods: Mapping[str, Method], problems: Mapping[str, str]) -> Self:
        """Methods that were found, as a list."""
        return cls([MethodLine.of(one) for one in methods.values()], list(problems.values()))


@dataclass(frozen=True, slots=True)
class SettingOfMethod:
    """A setting of a method: its group, its type, what it is for, its value in the paper and ours."""

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
        """A method with its settings."""
        settings = [
            SettingOfMethod(one.name, one.group, str(one.hint), one.about, faithful, improved)
            for one, faithful, improved in of_presets(method.settings_type)
        ]
        return cls(method.name, method.source or "fabula", method.paper, settings)


@verb("GET", "/systems", "methods")
async def systems(shelf: Shelf) -> MethodList:
    """The writing systems, as their papers tell."""
    del shelf
    return await asyncio.to_thread(lambda: MethodList.of(writing.systems(), writing.CATALOGUE.problems()))


@verb("GET", "/evaluators", "methods")
async def evaluators(shelf: Shelf) -> MethodList:
    """The ways of measuring stories, as their papers tell."""
    del shelf
    return await asyncio.to_thread(lambda: MethodList.of(measuring.evaluators(), measuring.CATALOGUE.problems()))


@verb("GET", "/systems/{name}", "methods")
async def system(shelf: Shelf, name: MethodName) -> MethodView:
    """One writing system, and what can be set.

    Raises:
        UnknownNameError: there is none of that name.
    """
    del shelf
    return await asyncio.to_thread(_of, "system", writing.systems(), name)


@verb("GET", "/evaluators/{name}", "methods")
async def evaluator(shelf: Shelf, name: MethodName) -> MethodView:
    """One evaluator, and what can be set.

    Raises:
        UnknownNameError: there is none of that name.
    """
    del shelf
    return await asyncio.to_thread(_of, "evaluator", measuring.evaluators(), name)


def _of(kind: str, known: Mapping[str, Method], name: str) -> MethodView:
    """A method by its name; no folder with code."""
    if name not in known:
        raise UnknownNameError(kind, name, known)
    return MethodView.of(known[name])
